"""The base class of all estimators: learning, unlearning, and what is kept in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from ..errors import MergeError, SettingError
from ..files.saving import save_checked
from ..fitted import Fitted
from ..learning import edits, fit, parts
from ..questions import answer_table, release
from ..released import Release, RowsHeld
from ..schema import Level, Name
from ._answers import Answers
from ._state import MISSING_COLUMNS

if TYPE_CHECKING:
    from ..engines import Progress


class GenerativeEstimator(Answers):
    """Base of all estimators: statistics in, joint model out, every answer read off the model."""

    def fit(self, X: object, y: object, sample_weight: object = None, groups: object = None) -> Self:
        """Fit the model to rows `X` and labels `y`, forgetting any earlier fit.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
            Null and NaN cells are missing. Infinity is a DataError that names the column. PyTorch and CuPy arrays are
            worked on where they live under `sklearn.set_config(array_api_dispatch=True)`, see docs/embeddings.md.
        y : array-like (n,)
            Class labels: text, integers or truth values. Rows whose label is missing (None, NaN, pandas.NA) join by EM:
            each counts in every class by its posterior, until the likelihood of all rows no longer rises.
            `GenerativeClassifier` keeps them as rows, and `GenerativeForest` refuses them.
        sample_weight : array-like (n,), optional
            k means k copies of the row; rows of weight 0 are as if absent. Others weigh at least 1e-50, and all rows
            that a model learns at most 1e50; DataError names the one that does not.
        groups : array-like (n,), optional
            Which rows belong together: the number or name of a patient, a household, a session. Rows of one group leave
            together wherever rows are held out, so that what the model says of itself holds for new groups. A missing
            group is a row by itself. A salted hash of the group is kept beside each row.

        Returns
        -------
        self
        """
        self._validate_settings()
        table = self._table(X)
        return self._learn(lambda _: fit.fit(self._begin_of(table), table, y, sample_weight, groups))

    def partial_fit(
        self,
        X: object,
        y: object,
        classes: Sequence[object] | None = None,
        sample_weight: object = None,
        *,
        decay: float | None = None,
        groups: object = None,
    ) -> Self:
        """Add rows to those already learned; after any batches the model equals one fit on all rows.

        The first batch fixes the columns. A class or category may appear in any batch. `classes`, optional, lists
        labels that may come. `decay` λ, above 0 and at most 1, first multiplies the weight of every row learned so far
        by λ, for streams that drift; see `decay`. `groups` are as for `fit`. If anything is wrong with the batch, an
        error is raised and nothing has changed.
        """
        self._validate_settings()
        table = self._table(X)

        def add(old: Fitted | None) -> Fitted:
            known = self._begin_of(table) if old is None else self._settled(self._refreshed(old), table.schema)
            return edits.add(known, table, y, classes, sample_weight, decay, groups)

        return self._learn(add)

    def merge(self, other: Self, *, distinct: bool = False) -> Self:
        """Add everything another fitted model has learned; the result equals one fit on the rows of both.

        The notes of `GenerativeClassifier` and `GenerativeForest`, whose columns and trees are frozen, say how far this
        holds. Rows that both have learned count twice. Rows kept tell: RepeatedRowsWarning says how many there are, if
        more than chance makes equal, and with `distinct` it is a MergeError.

        MergeError, leaving both models as they were, if the columns, kinds or families of the two differ. A column of
        which one of them has seen no value is of any kind.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if not isinstance(other, GenerativeEstimator):
            raise MergeError(f"A {type(self).__name__} cannot take in a {type(other).__name__}. Next: fit both alike.")
        theirs = other._fitted

        def merge(own: Fitted) -> Fitted:
            return edits.merge(self._settled(own, theirs.schema), other._settled(theirs, own.schema), distinct)

        return self._edit(merge)

    def forget(self, X: object, y: object, sample_weight: object = None, groups: object = None) -> Self:
        """Remove rows that were learned; the model equals a fit on the others.

        Give the rows as they were learned, with their labels, weights and groups (after a decay: with what is left of
        their weights). A class without a row left leaves the model, and so does a category that no row shows any more,
        even one that the type of its column declares (a fit on the others would keep it); false and true both stay.
        A column whose sum of squares falls by a factor f keeps 16 − log10 f digits.

        NotLearnedError, a DataError that names the class, if the rows cannot have been among those learned: a weight
        or count would fall below 0, a value, category or pattern of missing cells was never there, what is left of a
        scatter would not be positive semi-definite (to 1e-10 on the correlation scale), or a row is not among those
        kept of a class that is kept whole (see `keep_rows`). Of larger classes only sums are known: rows that were
        never learned but leave possible sums cannot be told from others. Rows without a label are refused: EM has
        spread them over the classes in a way that depends on all rows; where such rows have joined a model, they go on
        counting in each class as they did. `GenerativeClassifier` keeps them as rows, and forgets them by a missing
        label.
        After any error nothing has changed.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X, y = [[0.0], [1.0], [90.0], [4.0], [6.0]], ["low", "low", "low", "high", "high"]
        >>> GaussianDiscriminant().fit(X, y).forget([[90.0]], ["low"]).means_.tolist()
        [[5.0], [0.5]]
        """
        return self._edit(lambda own: edits.forget(own, X, y, sample_weight, groups))

    def drop_class(self, label: object) -> Self:
        """Remove a class with all its rows; the model equals a fit without them.

        DataError, and nothing has changed, if there is no such class or no other. MergeError where a shared covariance
        was summed over too many classes to keep what each adds: more than 2²⁰ / d² of them.
        """
        return self._edit(lambda own: edits.drop_class(own, label))

    def rename_classes(self, names: Mapping[Any, Any]) -> Self:
        """Give classes other labels, {old: new}, all at once; classes given one label become one class.

        Their rows are then those of one class: the model equals a fit with the labels replaced (a mixture instead keeps
        the components of both). A label may be that of a class that is there already. Classes stay in sorted order.

        DataError, and nothing has changed, for an unknown class, a missing label, or text beside numbers; SchemaError
        for text that is not Unicode.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> model = NaiveBayes().fit([[1.0], [2.0], [7.0]], ["a", "b", "c"])
        >>> model.rename_classes({"a": "low", "b": "low", "c": "high"}).classes_.tolist()
        ['high', 'low']
        """
        return self._edit(lambda own: edits.rename_classes(own, names))

    def decay(self, factor: float) -> Self:
        """Multiply the weight of every row learned so far by `factor` λ, above 0 and at most 1.

        Weights become λ w, scatters λ S and counts λ n; means and covariances by maximum likelihood stay, and rows to
        come count for more. With a decay before each batch a row learned t batches ago weighs λᵗ: half after
        ln 2 / −ln λ batches (λ = 0.99: 69), and all rows together at most as much as 1 / (1 − λ) batches. The number
        of rows read, `statistics_.rows`, stays what it was.

        Smoothing, unbiased divisors and priors see the decayed weights. A class that is left with a weight below
        1e-100 (for λ = 0.5 after some 330 batches without a row of it) stays as a class without rows, and a row or
        category of another class fades below 1e-200. SettingError for any other factor, DataError where all rows
        together would weigh less than 1e-100.
        """
        return self._edit(lambda own: edits.decay(own, factor))

    def release(self, *, least: int = 5, like: Self | None = None) -> Self:
        """Return a model for others, without rows and without a number that sums over fewer than `least` rows.

        It answers as any model does, merges with other released models, and can be saved and updated; leave-one-out,
        forgetting and what else needs rows it refuses. This model stays as it is. What the other one gave up is in its
        `notes_`; what that costs, `score` of both says on rows that neither has seen.

        - Missing cells of joint Gaussians are filled by EM, once for all; no pattern of missing cells is left.
        - A covariance of no more rows than columns and `least` is taken from other classes; a shared one no longer
          knows what each class adds to it.
        - Small counts of levels are rounded to 0 or `least`; levels of few rows become missing cells.
        - Values of Laplace columns are means of groups of at least `least` neighbours.
        - Components of mixtures that are of few rows join others.
        - A column in which fewer than `least` rows of a class differ from all its others is taken from other classes.
          Where no rows are kept this can be told of columns of 0 and 1 alone.
        - `GenerativeClassifier` keeps its Gaussians of numbers, its piecewise linear densities (by histograms on a
          round grid) and its categories, weighted anew; pairs of columns and parts of classes go.

        This is a promise about single rows in one file. It is no differential privacy, and no promise about the
        difference of two files, about what all rows of a class have in common, or about what rows of whole numbers fit
        sums of few rows: see docs/editing.md.

        Parameters
        ----------
        least : int, at least 2
            How many rows a sum must have. They are counted as rows: no weight makes one row several.
        like : a released model of the same kind, optional
            For `GenerativeClassifier`: read columns (knots, vocabularies) and weigh members as that model does, so that
            the two merge exactly. Other models need no such thing, and take no notice of it.

        Raises
        ------
        DataError
            A class has fewer rows than that; the weights of the rows are not known (models of older versions, or
            weights that a database summed); or a kind of statistics cannot be released.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> X, y = [[i / 4.0, "ab"[i % 2]] for i in range(40)], ["low"] * 20 + ["high"] * 20
        >>> model = NaiveBayes().fit(X, y).release()
        >>> print(model.rows_held_)
        holds no rows, and no sums of fewer than 5 rows (released)
        """
        own = self._current()
        told: object = like
        if told is not None and not (isinstance(told, GenerativeEstimator) and told.__sklearn_is_fitted__()):
            raise SettingError(
                f"like must be a {type(self).__name__} that was released. Next: release the other model first."
            )
        found = release.release(own, least, None if like is None else like._fitted)
        passed = {
            name: value for name, value in release.settings_to_pass_on(own, found).items() if name in self.get_params()
        }
        other = type(self)(**{**self.get_params(deep=False), **passed})
        other._learned = found
        return other

    @property
    def released_(self) -> Release:
        """What was given up when the model was released; AttributeError for any other model."""
        released = self._fitted.past.released
        if released is None or released.joined:
            raise AttributeError("released_ exists in models that `release` returned.")
        return released

    @property
    def rows_held_(self) -> RowsHeld:
        """How many rows the model, and a file of it, holds as they were, and whether it was released."""
        return release.rows_held(self._fitted)

    # --- tables larger than memory ------------------------------------------------------------------------------------

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
            Name of the sheet of a workbook, or its number from 1; the first that holds such a table if not given.
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
        interval: float | None = None,
        progress: Callable[[Progress], None] | None = None,
        sheet: str | int | None = None,
        missing_columns: str = "error",
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
        interval : float, optional
            Add columns `low_CLASS` and `high_CLASS` per class: the ends of `predict_proba_interval(rows, interval)`.
        keep : sequence of str
            Columns of the source to copy in front of the answers; an answer of the same name is then `predicted_…`.
        progress : callable, optional
            As for `fit_table`.
        sheet : str or int, optional
            As for `fit_table`.
        missing_columns : {"error", "missing"}
            As for `predict`.

        Raises
        ------
        SourceError
            A file that cannot be read or written, or a column that is not there.
        """
        MISSING_COLUMNS("missing_columns", missing_columns)
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
            interval=interval,
            progress=progress,
            sheet=None if sheet is None else str(sheet),
            missing_columns=missing_columns,
        )

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
