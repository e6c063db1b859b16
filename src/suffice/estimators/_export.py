"""`to_sql` and `to_onnx`: the model in other languages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ._onnx import write_onnx
from ._sql import write_sql
from ._states import question


class Export:
    """The verbs `to_sql` and `to_onnx`, for the bases of an estimator."""

    @question
    def to_sql(
        self,
        dialect: str = "duckdb",
        table: str | Sequence[str] = "rows",
        *,
        keep: Sequence[str] = (),
        missing: str = "exact",
        check: Any = None,
    ) -> str:
        """Return the model as one SELECT that scores the rows of a table where they are.

        One row out per row of the table: the columns `keep`, the model's columns, `label`, a column `p_CLASS` with the
        posterior of each class in the order of `classes_`, and `log_density` in nats, NULL where the density is zero.
        A name that the table has already becomes `predicted_…`. Missing cells are NULL, NaN and numbers beyond 1e150
        (which Python refuses), and are integrated out exactly as in Python; a category never seen is scored as in
        Python too. `priors` are those that the model was fitted with.

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
        check_is_fitted(self, "statistics_")
        return write_sql(self, dialect, table, keep, missing, check)

    @question
    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64", check: Any = None) -> Any:
        """Return the model as an `onnx.ModelProto`, and write it to `path` if given.

        Inputs have the names of the columns, each a tensor (n, 1): numbers and truth values are floats, and so are
        categories that are no text; a missing cell is NaN. Categories of text are strings; a missing cell is "", or
        where that is a level the word that the file's metadata `columns` gives. A model of an array without names has
        one input `X` (n, d). A column that has no name, or that of an output, is `column_3`, by its position.

        Outputs are `label` (n,), text, 64-bit integers, truth values or floats as `classes_`; `probabilities` (n, k),
        the posteriors in the order of `classes_`; and `log_density` (n,), log p(x) of the known cells in nats. Cells
        are integrated out exactly whatever a row misses, and categories never seen are scored as in Python. `priors`
        are those that the model was fitted with. The automatic classifier runs whole: all members and their stack.

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
        check_is_fitted(self, "statistics_")
        return write_onnx(self, path, dtype, check)
