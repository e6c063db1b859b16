"""Learn from tables of any size and answer for them: in parts, by an engine, with statistics that merge."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, np
from .._dialect import Dialect
from ..automatic.member_family import MemberFamily
from ..errors import DataError, SettingError, SourceError, quoted
from ..estimate import Block, Note
from ..joint import JointModel
from ..schema import Schema
from ..stats import ByClass
from ..stats.patterns import TooManyPatternsError
from ..table import Table, read_schema
from ._checkpoint import Checkpoint
from ._observed import check_observed
from ._passes import Passes
from ._pushdown import push_down
from ._states import begin_anew, edit, question
from ._summary import Answers, Learned, Posteriors, Summary
from ._two_passes import freeze_columns
from ._unlabelled import Joined, joined_notes

if TYPE_CHECKING:
    from ..engines import Progress, Source

ENGINES = ("auto", "local", "dask", "spark", "duckdb")


class Tables:
    """The verbs that take tables too large for memory."""

    keep_rows: int
    _schema: Schema
    _model: JointModel | None
    _notes: list[Note]
    _holds_unlabelled: bool
    _loaded_from: tuple[str, str] | None
    _dialect: Dialect | None
    classes_: Any
    _validate_settings: Callable[[], None]
    _plan: Callable[[Schema], tuple[Block, ...]]
    _remember: Callable[[Schema, Sequence[Block], ByClass, Any], None]
    _estimate: Callable[..., tuple[JointModel, list[Note]]]
    _set_steps: Callable[[Any], None]
    _align: Callable[[Table], Sequence[int]]
    _adapt: Callable[[Array], Array]
    _left_out_posterior: Callable[[JointModel], Array]

    @edit
    def fit_table(
        self,
        source: Any,
        target: str,
        *,
        weight: str | None = None,
        engine: Any = "auto",
        columns: Sequence[str] | None = None,
        unlabelled: str = "em",
        progress: Callable[[Progress], None] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        missing_text: Sequence[str] = (),
    ) -> Self:
        """Fit the model to a table of any size, forgetting any earlier fit; memory does not grow with the rows.

        The rows are read once, in parts (row groups of Parquet files, else batches), and statistics are merged in the
        order of the parts: the model equals `fit` on the whole table to rounding, and the same parts give the same
        bits whatever the engine and the number of threads. `GenerativeClassifier` reads them twice: first for the rows
        by which it freezes its columns. EM reads them once for every step: for `MixtureDiscriminant`, which starts from
        a sample of the rows of each class (a class of which the sample holds every row is fitted as by `fit`, others
        may come to rest at another maximum); for rows without a label; and for cells missing in more patterns than
        statistics can hold.

        Parameters
        ----------
        source : path, pattern or folder; pyarrow, polars, DuckDB, Dask or Spark table
            Parquet, Arrow or CSV files (by name, by pattern such as ``"data/*.parquet"``, a folder, hive partitions
            too, or a list of names); a pyarrow dataset, table or stream, an iterator of record batches; a polars
            LazyFrame; a DuckDB relation, or ``(connection, "SELECT …")``; any frame in memory; a Dask or a Spark
            DataFrame. A CSV is read once more before, to settle from all cells what its columns hold; what had to be
            guessed is a warning (`suffice.engines.Remark`), and the model remembers it for what `predict_table` reads.
        target : str
            Column of class labels; in a CSV they are text as it stands, and only an empty cell is missing.
        weight : str, optional
            Column of row weights: k means k copies of the row, 0 that it is as if absent.
        engine : {"auto", "local", "dask", "spark", "duckdb"}, a Dask client, its address or a Spark session
            What does the work. "auto" is this machine's threads, or the engine whose table `source` is. "dask" starts
            a cluster on this machine; "tcp://…" is the address of one. "duckdb" has a DuckDB relation add up Gaussian,
            Bernoulli and categorical columns inside the database, up to 30 columns of numbers; equal to rounding, not
            to the bit. `keep_rows` above 0 then reads the rows for that sample alone. What sums do not do for (cells
            missing in a full covariance, other families, EM) is read as by "local".
        columns : sequence of str, optional
            Columns to learn from; all but target and weight if not given. No other is read.
        unlabelled : {"em", "skip", "error"}
            What to do with rows without a label: let them join by EM, as `fit` does, leave them out, or refuse them.
            `GenerativeClassifier` cannot use them and refuses them.
        progress : callable, optional
            Called after each part, in every pass, with an object that has `rows`, `total` (from the files' own
            metadata), `share` (how much of a CSV is read) and `seconds_left`; None where unknown.
        checkpoint : path, optional
            File that keeps what is learned so far, every half minute and when interrupted; the same call resumes from
            it, and removes it at the end. For files and the local engine, and for the passes that are not EM.
        missing_text : sequence of str
            Texts of a CSV that mean a missing cell, in the target as well, beside an empty cell and, in columns to
            learn from, the usual NA, NaN, null, ? and the like.

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
        begin_anew(self)
        _check_choice("unlabelled", unlabelled, ("em", "skip", "error"))
        opened = _open(source, target=target, blank=tuple(missing_text), as_is=_unread(columns, target, weight))
        _check_classes(opened, target)
        names, schema = _columns(opened, target, weight, columns)
        plan = self._plan(schema)
        fresh = clone(self)
        fresh._schema = schema
        read = [*names, target, *([] if weight is None else [weight])]
        with _explained():
            run = _engine(engine, source)
        first = self._first_plan(plan)
        kernel = Summary(fresh, schema, first, target, weight, unlabelled, samples=self._is_climbing)
        passes = Passes(kernel, plan, opened, read, run, progress)
        learned = self._learn(passes, engine, checkpoint)
        statistics = learned.statistics
        assert statistics is not None
        check_observed(statistics, plan, schema)
        statistics, joined = self._climb(passes.complete(statistics), learned, passes)
        model, notes = self._estimate(statistics, plan, schema)
        self._remember(schema, plan, statistics, ())
        self._model, self._notes = model, [*_notes(learned, joined, target), *notes]
        self._holds_unlabelled = joined is not None
        self._unlabelled_rows = learned.unlabelled
        self._dialect = None if opened.csv is None else opened.csv.dialect
        self._set_steps(joined)
        self._loaded_from = None
        return self

    def _learn(self, passes: Passes, engine: Any, checkpoint: str | os.PathLike[str] | None) -> Learned:
        """Return what the passes before any EM find."""
        kernel, source, read = passes.summary, passes.source, passes.read
        if self._is_climbing:
            passes.check(type(self).__name__)
        if checkpoint is not None and (self._is_climbing or engine not in ("auto", "local")):
            why = "models that read the rows once or twice" if self._is_climbing else f"engine='local', not {engine!r}"
            raise SettingError(f"checkpoint is for {why}. Next: leave one of them out.")
        if isinstance(kernel.plan[-1].family, MemberFamily):
            kernel = replace(kernel, unlabelled="error" if kernel.unlabelled == "em" else kernel.unlabelled)
            kernel = freeze_columns(kernel, source, read, passes.run, int(self.keep_rows), passes.progress)
        if engine == "duckdb":
            if source.relation is None:
                raise SettingError(
                    f"engine='duckdb' adds up inside DuckDB, and {source.name} is no relation of it. Next: give a "
                    "relation, or (connection, query); or leave out engine."
                )
            summed = push_down(kernel, source, read, passes.run, passes.progress)
            if summed is not None:
                return summed
        try:
            if checkpoint is not None:
                found = Checkpoint(Path(checkpoint), kernel, source, read).run(passes.progress)
            else:
                found = passes.run(source, read, kernel, progress=passes.progress)
        except TooManyPatternsError:
            found = passes.observe()
        return _checked(found, source, kernel.target)

    @property
    def _is_climbing(self) -> bool:
        """Whether more passes are needed even where every row has a label and every cell is there."""
        return False

    def _first_plan(self, plan: Sequence[Block]) -> tuple[Block, ...]:
        """Return the blocks as the first pass counts them."""
        return tuple(plan)

    def _climb(self, statistics: ByClass, learned: Learned, passes: Passes) -> tuple[ByClass, Joined | None]:
        """Return the statistics of all rows after the passes that EM makes, from those of the labelled rows."""
        if not learned.unlabelled_weight:
            return statistics, None
        passes.check("EM over rows without a label")
        plan, schema = passes.plan, passes.summary.schema

        def estimate(found: ByClass) -> tuple[JointModel, list[Note]]:
            return self._estimate(found, plan, schema, divisor="mle")

        joined = passes.join(statistics, learned.unlabelled_weight, learned.holed, estimate)
        return replace(joined.statistics, sample=statistics.sample), joined

    @question
    def predict_table(
        self,
        source: Any,
        output: str | os.PathLike[str],
        *,
        priors: Any = None,
        reject: float | None = None,
        keep: Sequence[str] = (),
        alpha: float | None = None,
        progress: Callable[[Progress], None] | None = None,
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
        reject : float, optional
            Leave `label` empty where the most probable class is wrong with a probability above this.
        alpha : float, optional
            Add a column `in_CLASS` per class: whether it is in the set of `predict_set(rows, alpha)`.
        keep : sequence of str
            Columns of the source to copy in front of the answers; an answer of the same name is then `predicted_…`.
        progress : callable, optional
            As for `fit_table`.

        Raises
        ------
        SourceError
            A file that cannot be read or written, or a column that is not there.
        """
        check_is_fitted(self, "statistics_")
        from ..engines import answer, write_tables

        opened, names = self._opened(source)
        opened.check_columns(list(keep), "to keep")
        kept = {name: opened.written(name) if _as_text(output, name, names) else name for name in keep}
        if isinstance(priors, str) and priors == "adapt":
            priors = self._adapted(opened, progress)
        if alpha is not None:
            self._left_out_posterior(cast(Any, self).model_)  # once for all parts
        kernel = Answers(self, priors, reject, kept, tuple(names), alpha)
        read = list(dict.fromkeys([*names, *kept.values()]))
        width = len(self.classes_) * (1 if alpha is None else 2) + 2
        return write_tables(Path(output), answer(opened, read, kernel, width=width, progress=progress))

    def _opened(self, given: Any) -> tuple[Source, list[str]]:
        """Return a source of rows to be answered for, and the model's columns in it."""
        opened = _open(given, self._schema, self._dialect)
        names = [str(name) for name in self._schema.names] if self._schema.named else list(opened.schema.names)
        opened.check_columns(names, "which the model needs")
        return opened, names

    def _adapted(self, given: Any, progress: Any) -> Array:
        """Return the class priors under which the rows of a source are most likely."""
        from ..engines import answer

        source, names = self._opened(given)
        if source.once:
            raise SourceError.read_once('predict_table with priors="adapt"', "twice")
        kernel = Posteriors(self, tuple(names))
        parts = list(answer(source, names, kernel, width=len(self.classes_), progress=progress))
        if not parts:
            raise SourceError.no_rows(source.name)
        return self._adapt(np.concatenate(parts))


def _check_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise SettingError.choice(name, value, allowed)


def _open(source: Any, schema: Schema | None = None, dialect: Dialect | None = None, **known: Any) -> Source:
    """Return a source in parts, its CSV files read for the columns of a schema, and by what is known of them."""
    with _explained():
        from ..engines import Reading, open_source

        reading = Reading(**known) if schema is None else Reading.of(schema, dialect, **known)
        return open_source(source, reading)


def _unread(columns: Sequence[str] | None, target: str, weight: str | None) -> Callable[[str], bool] | None:
    """Return what says of a column that nobody learns from it; None where all are learned from."""
    if columns is None:
        return None
    used = {*map(str, columns), target, weight}
    return lambda name: name not in used


def _check_classes(source: Source, target: str) -> None:
    """Raise DataError where the target of a CSV holds measurements or dates."""
    held = None if source.csv is None else source.csv.measured
    if held is not None:
        raise DataError(
            f"Column {target!r} of {source.name} holds {held}, and labels are classes. Next: cut them into classes, or "
            "give the table as a data frame with labels of text."
        )


def _as_text(output: Any, name: str, used: Sequence[str]) -> bool:
    """Return whether a column is kept cell by cell as it was written: in a CSV, and wherever the model has no use."""
    from .._files import format_of

    return name not in used or format_of(Path(output)) == "CSV"


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Say how to install a package that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        extra = {"pyarrow": "parquet", "distributed": "dask", "dask": "dask", "pyspark": "spark", "pandas": "spark"}
        if package not in extra:
            raise
        message = f"This needs {package}, which is not installed. Next: pip install 'suffice[{extra[package]}]'."
        raise DataError(message) from error


def _engine(engine: Any, source: Any) -> Callable[..., Any]:
    """Return what learns from a source: run(source, columns, kernel, progress=…)."""
    from ..engines import engine_of, learn

    if isinstance(engine, str) and "://" not in engine:
        _check_choice("engine", engine, ENGINES)
    library = type(engine).__module__.split(".")[0]
    known = {"distributed": "dask", "pyspark": "spark", "builtins": "dask"}  # a client, a session, an address
    name = engine if engine in ENGINES else known.get(library)
    if name == "auto":
        name = engine = engine_of(source)
    if name in ("local", "duckdb"):
        return learn
    if name == "dask":
        from ..engines.dask import learn as learn_by_dask

        return partial(learn_by_dask, engine=engine)
    if name == "spark":
        from ..engines.spark import learn as learn_by_spark

        return partial(learn_by_spark, engine=engine)
    raise SettingError.choice("engine", engine, ENGINES)


def _columns(
    source: Source, target: str, weight: str | None, columns: Sequence[str] | None
) -> tuple[list[str], Schema]:
    """Return the names of the columns to learn from, and their kinds as the types of the source declare them."""
    source.check_columns([target], "to be the target")
    source.check_columns([] if weight is None else [weight], "to be the weight")
    if columns is None:
        names = [name for name in source.schema.names if name not in (target, weight)]
    else:
        names = [str(name) for name in columns]
        source.check_columns(names, "to learn from")
        if target in names:
            raise DataError(f"columns={quoted(names)} holds the target {target!r}. Next: leave it out.")
    if not names:
        raise DataError(f"{source.name} has no column beside {target!r}. Next: give at least one column to learn from.")
    return names, read_schema(source.declared(names))


def _notes(learned: Learned, joined: Joined | None, target: str) -> list[Note]:
    """Return what became of rows without a label."""
    if joined is not None:
        return joined_notes(joined, learned.unlabelled)
    if not learned.unlabelled:
        return []
    left_out = f"left out {learned.unlabelled} row{'' if learned.unlabelled == 1 else 's'} without a label"
    return [Note(left_out, f"{target!r} is empty there")]


def _checked(learned: Learned | None, source: Source, target: str) -> Learned:
    """Return what is learned from all rows; DataError where that is nothing."""
    if learned is None or learned.rows == 0:
        raise SourceError.no_rows(source.name)
    if learned.statistics is None:
        raise DataError(
            f"No row of {source.name} has a label in {target!r} and a weight above 0. Next: check the column."
        )
    return learned
