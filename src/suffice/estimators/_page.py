"""`to_html`: the model as one web page."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ._states import question


class Page:
    """The verb `to_html`, for the bases of an estimator."""

    @question
    def to_html(self, path: str | os.PathLike[str], X: Any = None, y: Any = None, *, name: str = "the table") -> None:
        """Write one self-contained page about the model: how good it is, its classes, columns, pictures and repairs.

        The page answers questions: cells typed into its form are scored in the browser, from the model's parameters,
        as `predict_proba`, `impute` and `explain` score them. It is forbidden to load or send anything, is made for
        light and dark, and can be printed. Quality and pictures come from the rows that the statistics keep
        (`keep_rows`), quality by leave-one-out.

        Parameters
        ----------
        path : file to write
        X : table (n, d), optional
            The page also says what the model makes of these rows: answers by class, and the most unusual rows, whose
            cells are then on the page.
        y : labels (n,), optional
            Labels of these rows, which the model has not learned from; they may be missing.
        name : str
            What the table is called on the page.

        Raises
        ------
        ImportError
            If Matplotlib or Jinja2 is not installed; it says what to install.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> page = Path(tempfile.mkdtemp()) / "iris.html"
        >>> GaussianDiscriminant().fit(X, y).to_html(page)
        >>> "<h1>GaussianDiscriminant</h1>" in page.read_text(encoding="utf-8")
        True
        """
        check_is_fitted(self, "statistics_")
        from ..report import write_page

        write_page(self, path, X, y, name=name)
