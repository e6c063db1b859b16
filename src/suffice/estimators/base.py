"""The base class of all estimators."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import SufficeError
from ..files.saving import save_checked
from ..fitted import Fitted
from ..questions import to_onnx, to_sql
from ..report import Summary, summarize, summarize_at_hand, write_page
from ._tables import Tables


class GenerativeEstimator(Tables):
    """Base of all estimators: statistics in, joint model out, every answer read off the model."""

    # --- in a notebook ------------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Return what the model has learned, in a few lines: classes, how good it is, columns, members and notes.

        Printed it is text, and a notebook shows it as tables. Quality is that of `quality`, and what columns are worth
        that of `importance`, where that needs no models of folds; both are computed here if they were not yet. A
        notebook that shows the model itself has the same below scikit-learn's diagram, as far as it is known at once.

        Returns
        -------
        Summary
            `classes`, `quality`, `importance`, `members`, `notes`, and `details`, the number of notes that ask for
            nothing.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(GaussianDiscriminant(shared=True).fit(X, y).summary())
        GaussianDiscriminant: learned from 150 rows, 4 columns, 3 classes
        <BLANKLINE>
        Judged on rows it had not seen: 98.0 % right (147 of 150, ± 1.3 %), log-loss
        0.054 nats; always naming the commonest class, 0, would be right for 33.3 %.
        <BLANKLINE>
        class  share
        0       33 %
        1       33 %
        2       33 %
        <BLANKLINE>
        column is worth       nats  ± error
        petal length (cm)  +0.0602   0.0435
        petal width (cm)   +0.0435   0.0244
        sepal width (cm)   +0.0113   0.0138
        sepal length (cm)  +0.0042   0.0200
        """
        return summarize(self._fitted, type(self).__name__)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """HTML for notebooks: scikit-learn's diagram, and below it what was learned; AttributeError as scikit-learn's.

        A pipeline draws its own diagram, in which this is not asked.
        """
        diagram: Callable[[], str] = super()._repr_html_
        return lambda: diagram() + self._learned_html()

    def _repr_mimebundle_(self, **told: object) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**told)
        if "text/html" in bundle:
            bundle["text/html"] += self._learned_html()
        return bundle

    def _learned_html(self) -> str:
        """Return what was learned as HTML; nothing where nothing was, or settings changed since forbid an estimate."""
        if self._learned is None:
            return ""
        try:
            return summarize_at_hand(self._fitted, type(self).__name__)._repr_html_()
        except SufficeError:
            return ""

    # --- as files ----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model with its statistics to one file; see `suffice.load`.

        What was written is loaded and compared, and then appears under its name: on any error an old file stays as it
        was. A model that `load` brought back replaces its own file only while that is as it was loaded, or as this
        model last saved it: what others have written meanwhile is never undone. Remove a file first to have it replaced
        all the same. Threads and processes that save to one name do so one after the other.

        Raises
        ------
        ModelChangedError
            The model was loaded from this file, and others have written it since. Load it again, and repeat the edit.
        ModelFileError
            The file holds something other than a model, or what was written would not give the same model again.
        OSError
            The file or its folder cannot be written: it is read-only, belongs to another user, or has other names (hard
            links). TimeoutError where others have been writing it for ten minutes.
        """
        self._save(path)

    def to_html(
        self, path: str | os.PathLike[str], X: object = None, y: object = None, *, name: str = "the table"
    ) -> None:
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
        >>> "<h1>target</h1>" in page.read_text(encoding="utf-8")
        True
        """
        write_page(self._still(), path, X, y, name=name)

    def to_sql(
        self,
        dialect: str = "duckdb",
        table: str | Sequence[str] = "rows",
        *,
        keep: Sequence[str] = (),
        missing: str = "exact",
        check: object = None,
    ) -> str:
        """Return the model as one SELECT that scores the rows of a table where they are.

        One row out per row of the table: the columns `keep`, the model's columns, `label`, a column `p_CLASS` with the
        posterior of each class in the order of `classes_`, and `log_density` in nats, NULL where the density is zero.
        A name that the table has already becomes `predicted_…`. Missing cells are NULL, NaN and numbers beyond 1e150
        (which Python refuses), and are integrated out exactly as in Python; a category never seen is scored as in
        Python too. Where a database reads text as another type than was learned, the query takes the one level that can
        be meant, or fails and names the column. `priors` are those that the model was fitted with. An automatic
        classifier whose joint density is a forest's has no `log_density`, as that has no short form; a
        `GenerativeForest` is refused.

        Parameters
        ----------
        dialect : str
            Any that sqlglot writes. The tests run DuckDB, SQLite (3.35 or newer) and PostgreSQL; others are written by
            the same rules and not run.
        table : str, or (schema, name), or (catalog, schema, name)
            The table to read. Columns of a model fitted without names are read as x0, x1, ….
        keep : list of str
            Further columns of the table to pass on, such as a key.
        missing : {"exact", "null"}
            "exact" scores a row whatever cells it misses. Full covariances then take d³ / 6 expressions per covariance,
            in d stages; up to 60 000 numbers in all (30 columns and 10 classes, say) are written. "null" takes d² / 2
            and gives NULL to rows that miss a cell of a full covariance.
        check : None, False, True or a table
            Rows that the query is tried on in DuckDB, in whose dialect the same program is then written: posteriors and
            log densities (relative to their size) must agree within 1e-9, else ExportError. None draws 200 rows from
            the model, many with cells missing, if DuckDB is installed; True insists on it; False leaves it out.

        Raises
        ------
        SettingError for an unknown dialect; ExportError for a density of a family that does not come with suffice, a
        query too large, or a failed check; ImportError without sqlglot: `pip install 'suffice[sql]'`.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> model = GaussianDiscriminant().fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"])
        >>> query = model.to_sql("duckdb", table="measured")
        >>> import duckdb
        >>> found = duckdb.sql("CREATE TABLE measured AS SELECT 0.2 AS x0")
        >>> duckdb.sql(f"SELECT label, round(p_low, 6) FROM ({query})").fetchall()
        [('low', 1.0)]
        """
        return to_sql.write_sql(self._fitted, dialect, table, keep, missing, check)

    def to_onnx(
        self, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64", check: object = None
    ) -> Any:
        """Return the model as an `onnx.ModelProto`, and write it to `path` if given.

        Inputs have the names of the columns, each a tensor (n, 1): numbers and truth values are floats, and so are
        categories that are no text; a missing cell is NaN. Categories of text are strings; a missing cell is "", or
        where that is a level the word that the file's metadata `columns` gives. A model of an array without names has
        one input `X` (n, d). A column that has no name, or that of an output, is `column_3`, by its position.

        Outputs are `label` (n,), text, 64-bit integers, truth values or floats as `classes_`; `probabilities` (n, k),
        the posteriors in the order of `classes_`; and `log_density` (n,), log p(x) of the known cells in nats. Cells
        are integrated out exactly whatever a row misses, and categories never seen are scored as in Python. `priors`
        are those that the model was fitted with. The automatic classifier runs whole: all members and their stack; if
        its joint density is a forest's there is no `log_density`, as that has no short form. A `GenerativeForest` is
        refused.

        Parameters
        ----------
        path : path, optional
            File to write. It appears under its name when it is complete: on any error an old one stays as it was.
        dtype : {"float64", "float32"}
            Floats of inputs, outputs and arithmetic; what is left of a row with missing cells is computed in float64.
        check : None, False, True or a table
            Rows that the file is tried on with onnxruntime: posteriors, and log densities relative to their size, must
            agree within 1e-9 (float32: 1e-4), else ExportError. None draws 200 rows from the model, many with cells
            missing, if onnxruntime is installed; True insists on it; False leaves it out.

        Raises
        ------
        SettingError for another dtype; ExportError for a density of a family that does not come with suffice, for
        labels or levels that ONNX cannot hold, and for a failed check; ImportError without onnx:
        `pip install 'suffice[onnx]'`.

        Notes
        -----
        Opset 21 and `ai.onnx.ml` 4, IR version 10: onnxruntime 1.20 or newer. Memory grows with rows × classes only;
        what is larger is made in chunks. A full covariance of d columns takes about 8 d nodes.

        Examples
        --------
        >>> import onnxruntime
        >>> from suffice import GaussianDiscriminant
        >>> model = GaussianDiscriminant().fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"])
        >>> session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
        >>> label, probabilities, log_density = session.run(None, {"X": [[0.2], [float("nan")]]})
        >>> label.tolist(), probabilities[1].tolist()
        (['low', 'high'], [0.5, 0.5])
        """
        return to_onnx.write_onnx(self._fitted, path, dtype, check)

    def _save(self, path: str | os.PathLike[str], over_anything: bool = False) -> None:
        """Write the model; over a file that holds none only if `over_anything`."""
        fitted, params = self._current(), self.get_params(deep=False)
        origin = save_checked(path, fitted, params, over_anything)
        if fitted.past.origin is not None and fitted.past.origin[0] == origin[0]:
            self._edit_past(origin=origin)

    def _edit_past(self, **told: Any) -> None:
        """Tell something else of the model, which changes nothing that it has learned."""

        def retold(old: Fitted | None) -> Fitted:
            assert old is not None
            return old.with_past(**told)

        self._learn(retold)
