"""The verbs that take tables too large for memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from ..learning import parts
from ..questions import answer_table
from ..schema import Level, Name
from ._edits import Edits

if TYPE_CHECKING:
    from ..engines import Progress


class Tables(Edits):
    """Learning from tables of any size, and answering for them."""

    def fit_table(
        self,
        source: object,
        target: str,
        *,
        weight: str | None = None,
        groups: str | None = None,
        engine: object = "auto",
        columns: Sequence[str] | None = None,
        unlabelled: str = "em",
        progress: Callable[[Progress], None] | None = None,
        missing_text: Sequence[str] = (),
        keep_spaces: bool = False,
        sheet: str | int | None = None,
        ordered: Mapping[Name, Sequence[Level]] | None = None,
    ) -> Self:
        """Fit the model to a table of any size, forgetting any earlier fit; memory does not grow with the rows.

        The rows are read once, in parts (row groups of Parquet files, else batches), and statistics are merged in the
        order of the parts: the model equals `fit` on the whole table to rounding, and the same parts give the same
        bits whatever the engine and the number of threads. `GenerativeClassifier` reads them twice: first for the rows
        by which it freezes its columns. What EM does, no statistics that merge do: `MixtureDiscriminant` of several
        components, rows without a label, and cells missing in more patterns than statistics can hold. All rows are
        then gathered and learned from as by `fit`; more than memory holds are refused with their size.

        Parameters
        ----------
        source : path, pattern or folder; pyarrow, polars, DuckDB, Dask or Spark table
            Parquet, Arrow, CSV, JSON lines or Excel files (by name, by pattern such as ``"data/*.parquet"``, a folder,
            hive partitions too, or a list of names); a pyarrow dataset, table or stream, an iterator of record batches;
            a polars LazyFrame; a DuckDB relation, or ``(connection, "SELECT …")``; any frame in memory; a Dask or a
            Spark DataFrame. A CSV is read once more before, to settle from all cells what its columns hold; what had to
            be guessed is a warning (`suffice.engines.Remark`), and the model remembers it for what `predict_table`
            reads.
        target : str
            Column of class labels; in a CSV they are text as it stands, and only an empty cell is missing.
        weight : str, optional
            Column of row weights: k means k copies of the row, 0 that it is as if absent.
        groups : str, optional
            Column that says which rows belong together; see `fit`.
        engine : {"auto", "local", "dask", "spark"}, a Dask client, its address or a Spark session
            What does the work. "auto" is this machine's threads, or the engine whose table `source` is. "dask" starts
            a cluster on this machine; "tcp://…" is the address of one.
        columns : sequence of str, optional
            Columns to learn from; all but target, weight and groups if not given. No other is read.
        unlabelled : {"em", "skip", "error"}
            What to do with rows without a label: let them join by EM, as `fit` does, leave them out, or refuse them.
            `GenerativeClassifier` keeps 2,000 of them, without another pass; `GenerativeForest` refuses them.
        progress : callable, optional
            Called after each part, in every pass, with an object that has `rows`, `total` (from the files' own
            metadata), `share` (how much of a CSV is read) and `seconds_left`; None where unknown.
        missing_text : sequence of str
            Texts of a CSV that mean a missing cell, in the target as well, beside an empty cell and, in columns to
            learn from, the usual NA, NaN, null, ? and the like.
        keep_spaces : bool, default False
            Of files: keep spaces around labels, levels and names of columns, no-break and other spaces of Unicode too,
            as part of them. Otherwise they are taken away, which a warning (`suffice.engines.Remark`) says with counts,
            and `predict_table` reads its files likewise. Tables in memory are learned as they are.
        sheet : str or int, optional
            Name of the sheet of a workbook, or its number from 1; the first if not given.
        ordered : dict {column: levels}, optional
            The order of a column's categories, from the lowest: ``{"risk": ["Low", "Medium", "High"]}``.

        Returns
        -------
        self

        Raises
        ------
        SourceError
            A file that cannot be read, or whose columns differ from the others'; it is named.
        DataError
            As for `fit`, with the file and row group; nothing is learned then.

        Examples
        --------
        >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, os
        >>> from suffice import GaussianDiscriminant
        >>> path = os.path.join(tempfile.mkdtemp(), "trees.parquet")
        >>> table = pa.table({"height": [1.0, 2.0, 8.0, 9.0], "kind": ["shrub", "shrub", "tree", "tree"]})
        >>> pq.write_table(table, path, row_group_size=2)
        >>> GaussianDiscriminant(shared=True).fit_table(path, "kind").means_.tolist()
        [[1.5], [8.5]]
        """
        self._validate_settings()
        return self._learn(
            lambda _: parts.fit_table(
                self._begin,
                source,
                target,
                weight=weight,
                groups=groups,
                engine=engine,
                columns=columns,
                unlabelled=unlabelled,
                progress=progress,
                missing_text=missing_text,
                keep_spaces=keep_spaces,
                sheet=None if sheet is None else str(sheet),
                ordered=ordered,
            )
        )

    def predict_table(
        self,
        source: object,
        output: str | os.PathLike[str],
        *,
        priors: object = None,
        costs: object = None,
        reject: float | None = None,
        keep: Sequence[str] = (),
        alpha: float | None = None,
        by_class: bool = False,
        progress: Callable[[Progress], None] | None = None,
        sheet: str | int | None = None,
    ) -> int:
        """Write the label, the posteriors and the log density of every row of a table to a file; return their number.

        One row out per row in, in order: `label`, a column `p_CLASS` per class, and `log_density` in nats. Rows are
        read and written in batches, so that memory does not grow with them. The file, Parquet, Arrow or CSV by its
        ending, appears under its name when it is complete: after an error, an interruption or a full disk there is
        none, and an old one is as it was.

        Parameters
        ----------
        source : as for `fit_table`
            A table with the model's columns; others are not read.
        output : path
            File to write.
        priors : optional
            Class priors in place of those learned, as for `predict`; or "adapt", those of `adapt_priors` for these
            rows, which are then read twice (k numbers a row are held in memory).
        costs : array-like (k, k), optional
            What answers cost, as for `predict`: `label` is then that of least expected cost.
        reject : float, optional
            Leave `label` empty where the most probable class is wrong with a probability above this, or where the
            least expected cost is above it.
        alpha : float, optional
            Add a column `in_CLASS` per class: whether it is in the set of `predict_set(rows, alpha)`.
        by_class : bool, default False
            Let each class be in the sets of 1 − α of its own rows, as for `predict_set`.
        keep : sequence of str
            Columns of the source to copy in front of the answers; an answer of the same name is then `predicted_…`.
        progress : callable, optional
            As for `fit_table`.
        sheet : str or int, optional
            As for `fit_table`.

        Raises
        ------
        SourceError
            A file that cannot be read or written, or a column that is not there.
        """
        return answer_table.predict_table(
            self._fitted,
            source,
            output,
            priors=priors,
            costs=costs,
            reject=reject,
            keep=keep,
            alpha=alpha,
            by_class=by_class,
            progress=progress,
            sheet=None if sheet is None else str(sheet),
        )
