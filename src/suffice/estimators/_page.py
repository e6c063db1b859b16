"""`to_html`: the model as one web page."""

from __future__ import annotations

import os

from sklearn.utils.validation import check_is_fitted


class Page:
    """The verb `to_html`, for the bases of an estimator."""

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained page about the model: how good it is, its classes, columns, pictures and repairs.

        Quality and pictures come from the rows that the statistics keep (`keep_rows`), quality by leave-one-out.
        The page has no script and is forbidden to load anything, in light and dark, and can be printed.

        ImportError where Matplotlib or Jinja2 is not installed: `pip install 'suffice[report]'`.
        """
        check_is_fitted(self, "statistics_")
        from ..report import write_page

        write_page(self, path)
