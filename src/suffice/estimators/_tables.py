"""Learn from tables of any size and answer for them: in parts, by an engine, with statistics that merge."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._arrays import np
from ..errors import DataError, SettingError, quoted
from ..estimate import Block, Note
from ..joint import JointModel
from ..schema import Schema
from ..selection.member_family import MemberFamily
from ..stats import ByClass
from ..table import Table, read_schema, read_table
from ..tasks import classify
from ._checkpoint import Checkpoint
from ._observed import check_observed
from ._two_passes import freeze_columns, summarize_frozen

if TYPE_CHECKING:
    from ..engines import Progress, Source

ENGINES = ("auto", "local", "dask", "spark")


@dataclass(frozen=True)
class Learned:
    """What is learned from some rows: their statistics (None without a labelled row), and how many had no label."""

    statistics: ByClass | None
    rows: int
    unlabelled: int

    def merge(self, other: Learned) -> Learned:
        """Return what is learned from both."""
        if self.statistics is None or other.statistics is None:
            statistics = other.statistics if self.statistics is None else self.statistics
        else:
            statistics = self.statistics.merge(other.statistics)
        return Learned(statistics, self.rows + other.rows, self.unlabelled + other.unlabelled)


@dataclass(frozen=True)
class Summary:
    """The kernel of a fit: from a batch of a table to what is learned from it. It can be sent to another process."""

    estimator: Any  # with the settings alone
    schema: Schema
    plan: tuple[Block, ...]
    target: str
    weight: str | None
    unlabelled: str
    columns: Any = None  # as frozen by a first pass

    def __call__(self, table: Any, rows_only: bool = False) -> Learned:
        """Summarise a pyarrow table; `rows_only` does without the statistics that a first pass does not need."""
        from ..engines import LabelledRows

        names = [str(name) for name in self.schema.names]
        rows = LabelledRows.of(table, names, self.target, self.weight)
        if rows.unlabelled and self.unlabelled == "error":
            raise DataError(
                f"{self.target!r} has no label in {rows.unlabelled} of {table.num_rows} rows. Next: leave them out "
                'with unlabelled="skip"; fit, given all rows at once, can use them as they are.'
            )
        if not len(rows.labels):
            return Learned(None, table.num_rows, rows.unlabelled)
        columns = read_table(rows.columns)
        order = self.schema.align(columns.schema, type(self.estimator).__name__)
        batch = self.estimator._read(columns, order, self.plan, rows.labels, rows.weight)
        if rows_only:
            k = len(batch.classes)
            part = self.plan[-1].family.summarize(batch.rows[-1], batch.codes, k, batch.weight)
            return Learned(ByClass(batch.classes, np.zeros(k), (part,)), table.num_rows, rows.unlabelled)
        statistics = self.estimator._summarize(batch, self.plan)
        if self.columns is not None:
            statistics = summarize_frozen(statistics, self.columns)
        return Learned(statistics, table.num_rows, rows.unlabelled)


@dataclass(frozen=True)
class Answers:
    """The kernel of a prediction: from a batch of a table to a table of answers."""

    estimator: Any
    priors: Any
    reject: float | None
    keep: tuple[str, ...]
    columns: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        """Answer for the rows of a pyarrow table."""
        from ..engines import answers_table

        rows = table.select(list(self.columns))
        log_posterior = self.estimator.predict_log_proba(rows, priors=self.priors)
        choice = classify.decide(log_posterior, None, self.reject)
        labels = self.estimator.classes_.tolist()
        columns = [(f"p_{label}", p) for label, p in zip(labels, np.exp(log_posterior).T, strict=True)]
        columns.append(("log_density", self.estimator.score_samples(rows)))
        return answers_table(labels, choice, columns, table.select(list(self.keep)) if self.keep else None)


class Tables:
    """The verbs that take tables too large for memory."""

    keep_rows: int
    _schema: Schema
    _model: JointModel | None
    _notes: list[Note]
    _holds_unlabelled: bool
    classes_: Any
    _validate_settings: Callable[[], None]
    _plan: Callable[[Schema], tuple[Block, ...]]
    _remember: Callable[[Schema, Sequence[Block], ByClass, Any], None]
    _estimate: Callable[..., tuple[JointModel, list[Note]]]
    _set_steps: Callable[[Any], None]
    _align: Callable[[Table], Sequence[int]]

    def fit_table(
        self,
        source: Any,
        target: str,
        *,
        weight: str | None = None,
        engine: Any = "auto",
        columns: Sequence[str] | None = None,
        unlabelled: str = "error",
        progress: Callable[[Progress], None] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the model to a table of any size, forgetting any earlier fit; memory does not grow with the rows.

        The rows are read once, in parts (row groups of Parquet files, else batches), and statistics are merged in the
        order of the parts: the model equals `fit` on the whole table to rounding, and the same parts give the same
        bits whatever the engine and the number of threads. `GenerativeClassifier` reads them twice: first for the rows
        by which it freezes its columns.

        Parameters
        ----------
        source : path, pattern or folder; pyarrow, polars, DuckDB, Dask or Spark table
            Parquet, Arrow or CSV files (by name, by pattern such as ``"data/*.parquet"``, a folder, hive partitions
            too, or a list of names); a pyarrow dataset, table or stream, an iterator of record batches; a polars
            LazyFrame; a DuckDB relation, or ``(connection, "SELECT …")``; any frame in memory; a Dask or a Spark
            DataFrame. A CSV of more than 16 MiB is read once more before, to settle the types of its columns.
        target : str
            Column of class labels.
        weight : str, optional
            Column of row weights: k means k copies of the row, 0 that it is as if absent.
        engine : {"auto", "local", "dask", "spark"}, a Dask client, its address or a Spark session
            What does the work. "auto" is this machine's threads, or the engine whose table `source` is. "dask" starts
            a cluster on this machine; "tcp://…" is the address of one.
        columns : sequence of str, optional
            Columns to learn from; all but target and weight if not given. No other is read.
        unlabelled : {"error", "skip"}
            What to do with rows without a label.
        progress : callable, optional
            Called after each part with an object that has `rows`, `total` and `seconds_left` (None where unknown).
        checkpoint : path, optional
            File that keeps what is learned so far, every half minute and when interrupted; the same call resumes from
            it, and removes it at the end. For files and the local engine.

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
        self._check_parts()
        _check_choice("unlabelled", unlabelled, ("error", "skip"))
        opened = _open(source)
        names, schema = _columns(opened, target, weight, columns)
        plan = self._plan(schema)
        fresh = clone(self)
        fresh._schema = schema
        kernel = Summary(fresh, schema, plan, target, weight, unlabelled)
        read = [*names, target, *([] if weight is None else [weight])]
        with _explained():
            run = _engine(engine, source)
        if isinstance(plan[-1].family, MemberFamily):
            kernel = freeze_columns(kernel, opened, read, run, int(self.keep_rows))
        if checkpoint is None:
            learned = run(opened, read, kernel, progress=progress)
        else:
            if engine not in ("auto", "local"):
                raise SettingError(f"checkpoint is for engine='local', not {engine!r}. Next: leave one of them out.")
            learned = Checkpoint(Path(checkpoint), kernel, opened, read).run(progress)
        statistics = _checked(learned, opened, target)
        check_observed(statistics, plan, schema)
        model, notes = self._estimate(statistics, plan, schema)
        self._remember(schema, plan, statistics, ())
        if learned.unlabelled:
            left_out = f"left out {learned.unlabelled} row{'' if learned.unlabelled == 1 else 's'} without a label"
            notes = [Note(left_out, f"{target!r} is empty there"), *notes]
        self._model, self._notes, self._holds_unlabelled = model, notes, False
        self._unlabelled_rows = learned.unlabelled
        self._set_steps(None)
        return self

    def _check_parts(self) -> None:
        """Raise an error where the model cannot be learned from parts."""

    def predict_table(
        self,
        source: Any,
        output: str | os.PathLike[str],
        *,
        priors: Any = None,
        reject: float | None = None,
        keep: Sequence[str] = (),
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
            Class priors in place of those learned, as for `predict`.
        reject : float, optional
            Leave `label` empty where the most probable class is wrong with a probability above this.
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

        opened = _open(source, [str(column.name) for column in self._schema.columns if column.kind.is_label])
        names = [str(name) for name in self._schema.names] if self._schema.named else list(opened.schema.names)
        opened.check_columns(names, "which the model needs")
        opened.check_columns(list(keep), "to keep")
        kernel = Answers(self, priors, reject, tuple(keep), tuple(names))
        read = list(dict.fromkeys([*names, *keep]))
        width = len(self.classes_) + 2
        return write_tables(Path(output), answer(opened, read, kernel, width=width, progress=progress))


def _check_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise SettingError.choice(name, value, allowed)


def _open(source: Any, text: Sequence[str] = ()) -> Source:
    """Return a source in parts; `text` names columns of a CSV that are text whatever they look like."""
    with _explained():
        from ..engines import open_source

        return open_source(source, text)


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
    if name == "local":
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


def _checked(learned: Learned | None, source: Source, target: str) -> ByClass:
    """Return the statistics of all rows; DataError where there are none."""
    from ..errors import SourceError

    if learned is None or learned.rows == 0:
        raise SourceError.no_rows(source.name)
    if learned.statistics is None:
        raise DataError(
            f"No row of {source.name} has a label in {target!r} and a weight above 0. Next: check the column."
        )
    return learned.statistics
