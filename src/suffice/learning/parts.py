"""Learn from tables of any size: in parts, by an engine, with statistics that merge.

A kernel makes of a batch of a table what merges with that of another: statistics (`Summary`), the rows that freeze
columns (`Finding`), or the rows themselves (`Gathering`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .._arrays import check_bytes, np
from .._dialect import Dialect
from ..automatic.held import HeldFitted
from ..automatic.statistics import Columns, MemberRows
from ..automatic.table_rows import hashes_of, smallest_distinct
from ..errors import DataError, SettingError, SourceError, either, pip_install, setting
from ..fitted import Fitted
from ..notes import Kind, Note
from ..schema import Level, Name, Schema, check_listed
from ..stats import ByClass
from ..stats.by_class import Batch
from ..stats.patterns import TooManyPatternsError
from ..stats.rows import Keys
from ..table import read_schema, read_table
from . import fit

if TYPE_CHECKING:
    from ..engines import Progress, Source
    from ..engines.arrow import Table

ENGINES = ("auto", "local", "dask", "spark")
F = TypeVar("F", bound=Fitted)
Run = Callable[[Any], Any]  # what a kernel makes of all rows, merged: one pass over them


def fit_table(
    begin: Callable[[Schema], F],
    source: object,
    target: str,
    *,
    weight: str | None,
    groups: str | None,
    engine: object,
    columns: Sequence[str] | None,
    unlabelled: str,
    progress: Callable[[Progress], None] | None,
    missing_text: Sequence[str],
    keep_spaces: bool,
    sheet: str | None,
    ordered: Mapping[Name, Sequence[Level]] | None,
) -> F:
    """Return what is learned from a table; `begin` gives the value of a schema that has learned nothing yet."""
    check_choice("unlabelled", unlabelled, ("em", "skip", "error"))
    how: dict[str, Any] = {"blank": tuple(missing_text), "sheet": sheet, "trim": not keep_spaces}
    used = None if columns is None else {*map(str, columns), target, weight, groups}
    opened = open_table(source, target=target, as_is=None if used is None else lambda name: name not in used, **how)
    _check_classes(opened, target)
    names, schema = _columns(opened, target, weight, groups, columns)
    begun = begin(schema.with_orders(ordered or {}))
    read = [*names, target, *(name for name in (weight, groups) if name is not None)]
    with explained():
        run = partial(engine_for(engine, source), opened, read, progress=progress)
    fitted, absent = _learn(begun, Summary(begun, target, weight, groups, unlabelled), opened, run)
    for position, column in enumerate(fitted.schema.columns):
        if ordered and column.order:
            known = fitted.known_levels.get(position, {})
            check_listed(column.name, [level for level in known if level not in column.order], column.order)
    remark_spaces(opened, may_keep=True)
    if absent and not fitted.past.joined and fitted.statistics.unlabelled is None:
        left_out = f"left out {absent} row{'' if absent == 1 else 's'} without a label"
        fitted = fitted.with_past(notes=(Note(left_out, f"{target!r} is empty there", kind=Kind.LEFT_OUT),))
    return fitted.with_past(unlabelled=absent, dialect=opened.dialect, target=target)


def _learn(begun: F, kernel: Summary, source: Source, run: Run) -> tuple[F, int]:
    """Return what is learned, and how many rows had no label: by statistics that merge, or by EM of rows in fit."""
    if begun.needs_all_rows:
        return _learn_at_once(begun, kernel, source, run)
    if begun.freezes_columns:
        if source.once:
            raise SourceError.read_once(begun.who, "twice")
        if kernel.unlabelled == "em" and not begun.keeps_unlabelled:
            kernel = replace(kernel, unlabelled="error")
        assert isinstance(begun, HeldFitted)
        found: Smallest | None = run(Finding(kernel, begun.most_read))
        beyond = found is not None and found.rows > begun.settings.keep_rows
        kernel = replace(kernel, columns=found.frozen() if found is not None and beyond else None)
    try:
        learned: Learned | None = run(kernel)
    except TooManyPatternsError:
        return _learn_at_once(begun, kernel, source, run, "EM for cells that miss in so many patterns")
    if learned is not None and learned.unlabelled and kernel.unlabelled == "em" and not begun.keeps_unlabelled:
        return _learn_at_once(begun, kernel, source, run, "EM over rows without a label")
    if learned is None or learned.rows == 0:
        raise SourceError.no_rows(source.name)
    if learned.statistics is None:
        raise _no_label(source, kernel.target)
    fit.check_observed(learned.statistics)
    fitted = begun.with_statistics(kernel.unfrozen(learned.statistics))
    fitted.train()  # what cannot be estimated is said here
    return fitted, learned.unlabelled


def _learn_at_once(begun: F, kernel: Summary, source: Source, run: Run, found_by: str | None = None) -> tuple[F, int]:
    """Return what is learned from all rows together, as `fit` does; `found_by` says why a pass before did not do."""
    if found_by is not None and source.once:
        raise SourceError.read_once(found_by, "twice")
    found: Gathered | None = run(Gathering(source.rows))
    if found is None or found.rows == 0:
        raise SourceError.no_rows(source.name)
    batch, absent = kernel.read(found.checked().table())  # this machine may hold less than a worker does
    if batch is None or not batch.classes:
        raise _no_label(source, kernel.target)
    return fit.learn(begun, batch), absent


def _no_label(source: Source, target: str) -> DataError:
    return DataError(f"No row of {source.name} has a label in {target!r} and a weight above 0. Next: check the column.")


def _check_classes(source: Source, target: str) -> None:
    """Raise DataError where the target of a CSV holds measurements or dates."""
    held = None if source.csv is None else source.csv.measured
    if held is not None:
        raise DataError(
            f"Column {target!r} of {source.name} holds {held}, and labels are classes. Next: cut them into classes, or "
            "give the table as a data frame with labels of text."
        )


def _columns(
    source: Source, target: str, weight: str | None, groups: str | None, columns: Sequence[str] | None
) -> tuple[list[str], Schema]:
    """Return the names of the columns to learn from, and their kinds as the types of the source declare them."""
    source.check_columns([target], "to be the target")
    source.check_columns([] if weight is None else [weight], "to be the weight")
    source.check_columns([] if groups is None else [groups], "to say which rows belong together")
    if columns is None:
        names = [name for name in source.schema.names if name not in (target, weight, groups)]
    else:
        names = [str(name) for name in columns]
        source.check_columns(names, "to learn from")
        if target in names:
            raise DataError(f"{setting('columns', names)} holds the target {target!r}. Next: leave it out.")
    if not names:
        raise DataError(f"{source.name} has no column beside {target!r}. Next: give at least one column to learn from.")
    return names, read_schema(source.declared(names))


def open_table(source: object, schema: Schema | None = None, dialect: Dialect | None = None, **known: Any) -> Source:
    """Return a source in parts, its CSV files read for the columns of a schema, and by what is known of them."""
    with explained():
        from ..engines import Reading, open_source

        reading = Reading(**known) if schema is None else Reading.of(schema, dialect, **known)
        return open_source(source, reading)


def remark_spaces(source: Source, may_keep: bool) -> None:
    """Say where spaces around texts were taken away in the Parquet or Arrow files read; of a CSV its first pass did."""
    from ..engines import of_spaces

    if source.spaces is not None:
        paths = list(dict.fromkeys(Path(part.path) for part in source.files))
        of_spaces(paths, source.spaces, may_keep)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Say how to install a package that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        extra = {"pyarrow": "parquet", "distributed": "dask", "dask": "dask", "pyspark": "spark", "pandas": "spark"}
        if package not in extra:
            raise
        message = f"This needs {package}, which is not installed. Next: {pip_install(extra[package])}."
        raise DataError(message) from error


def engine_for(engine: object, source: object) -> Callable[..., Any]:
    """Return what learns from a source.

    That is run(source, columns, kernel, progress=…): what the kernel makes of all rows, merged.
    """
    from ..engines import engine_of, learn

    if isinstance(engine, str) and "://" not in engine:
        check_choice("engine", engine, ENGINES)
    library = type(engine).__module__.split(".")[0]
    known = {"distributed": "dask", "pyspark": "spark", "builtins": "dask"}  # a client, a session, an address
    name = engine if isinstance(engine, str) and engine in ENGINES else known.get(library)
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


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise SettingError for a value that is none of those allowed."""
    if value not in allowed:
        raise SettingError.choice(name, value, allowed)


@dataclass(frozen=True)
class Learned:
    """What is learned from some rows: statistics, None without a row to learn from, and how many rows had no label."""

    statistics: ByClass | None
    rows: int
    unlabelled: int

    def merge(self, other: Learned) -> Learned:
        """Return what is learned from both."""
        both = [own.statistics for own in (self, other) if own.statistics is not None]
        statistics = both[0].merge(both[1]) if len(both) == 2 else both[0] if both else None
        return Learned(statistics, self.rows + other.rows, self.unlabelled + other.unlabelled)


@dataclass(frozen=True)
class Summary:
    """From a batch of a table to what is learned from it. It can be sent to another process, as every kernel can."""

    fitted: Fitted  # with settings and blocks, before anything is learned
    target: str
    weight: str | None
    groups: str | None  # the column that says which rows belong together
    unlabelled: str
    columns: Columns | None = None  # as frozen by a first pass

    def __call__(self, table: Table) -> Learned:
        """Summarise a pyarrow table."""
        batch, absent = self.read(table)
        if batch is None:
            return Learned(None, table.num_rows, absent)
        known, unknown = (batch, None) if batch.is_labelled else batch.split()
        k = len(known.classes)
        pairs = zip(self.fitted.blocks, known.rows, strict=True)
        blocks = tuple(block.family.count(part, known.codes, k, known.weight) for block, part in pairs)
        sample = self.fitted.sample_of(known)
        statistics = ByClass(known.classes, known.class_weight, blocks, len(known.codes), sample, known.heaviest)
        if unknown is not None and self.fitted.keeps_unlabelled:
            statistics = replace(statistics, unlabelled=self.fitted.unlabelled_of(unknown))
        if self.fitted.freezes_columns and self.columns is None:
            statistics = self._without_rows(statistics)
        elif self.columns is not None:
            rows = blocks[-1]
            assert isinstance(rows, MemberRows)
            statistics = replace(statistics, blocks=(*blocks[:-1], rows.frozen(self.columns)))
        return Learned(statistics, table.num_rows, absent)

    def _without_rows(self, statistics: ByClass) -> ByClass:
        """Return the statistics without rows but those of the sample, which has them all."""
        last = self.fitted.blocks[-1]
        none = last.family.zero(len(statistics.classes), len(last.positions))
        return replace(statistics, blocks=(*statistics.blocks[:-1], none))

    def unfrozen(self, statistics: ByClass) -> ByClass:
        """Return the statistics of rows where there were more of them than are kept, but no more distinct ones."""
        whole = self.columns is not None and statistics.sample is not None and statistics.sample.is_whole
        return self._without_rows(statistics) if whole else statistics

    def read(self, table: Table) -> tuple[Batch | None, int]:
        """Return the rows of a pyarrow table, None if there are none, and how many have no label.

        These are refused, left out, or numbered −1.
        """
        from ..engines import LabelledRows

        names = [str(name) for name in self.fitted.schema.names]
        rows = LabelledRows.of(table, names, self.target, self.weight, self.unlabelled == "em", self.groups)
        if rows.unlabelled and self.unlabelled == "error":
            raise DataError(
                f"{self.target!r} has no label in {rows.unlabelled} of {table.num_rows} rows. Next: leave them out "
                'with unlabelled="skip", or let them join with unlabelled="em" where the model can learn from them.'
            )
        if not len(rows.labels):
            return None, rows.unlabelled
        columns = read_table(rows.columns)
        order = self.fitted.schema.align(columns.schema, self.fitted.who)
        batch = self.fitted.batch(columns, order, rows.labels, rows.weight, "any", rows.groups)
        return batch, rows.unlabelled


@dataclass(frozen=True)
class Gathered:
    """Tables of some rows as they were read, in order, of a source that holds `total` rows if that is known."""

    tables: tuple[Table, ...]
    rows: int
    bytes: int
    total: int | None

    def merge(self, other: Gathered) -> Gathered:
        """Return the rows of both; DataError where memory does not hold them all."""
        both = self.rows + other.rows, self.bytes + other.bytes
        return Gathered((*self.tables, *other.tables), *both, self.total).checked()

    def checked(self) -> Gathered:
        """Return the same rows; DataError if these, or all rows of the source at this size, take too much memory."""
        least = self.bytes * max(self.total or 0, self.rows) // max(self.rows, 1)
        many = f"{self.total:,}" if self.total else f"The first {self.rows:,}"
        joined = either(
            f"MixtureDiscriminant; {setting('unlabelled', 'skip')} where labels are missing", "--model mixture"
        )
        advice = (
            f"give fewer rows or columns, or a model whose statistics merge (not {joined}; diagonal covariances where "
            "cells are)"
        )
        check_bytes(least, f"{many} rows, which EM needs in memory together,", advice)
        return self

    def table(self) -> Table:
        """Return the rows as one table."""
        from ..engines.arrow import together

        return together(self.tables)


@dataclass(frozen=True)
class Gathering:
    """From a batch of a table to the batch itself: for what no statistics that merge do."""

    total: int | None

    def __call__(self, table: Table) -> Gathered:
        """Return the rows of a pyarrow table."""
        return Gathered((table,), table.num_rows, table.nbytes, self.total).checked()


@dataclass(frozen=True)
class Smallest:
    """The distinct rows with the smallest hashes `keys` (m,), at most `bound`, in the order of these: the one block.

    The automatic classifier freezes its columns by these rows. They are found part by part, as the smallest of all are
    among the smallest of each, so that `fit` and `fit_table` see the same knots, bins and categories.
    `total` is the weight of all rows, `squares` the sum of its squares, row by row: together they say how many rows
    these are.
    """

    statistics: ByClass
    keys: Keys
    bound: int
    total: float
    squares: float

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return self.statistics.rows

    def merge(self, other: Smallest) -> Smallest:
        """Return the smallest of both."""
        both, keys = self.statistics.merge(other.statistics), np.concatenate([self.keys, other.keys])
        return Smallest(both, keys, self.bound, self.total + other.total, self.squares + other.squares).reduced()

    def reduced(self) -> Smallest:
        """Return each distinct row of a class once, the `bound` smallest of them; categories keep all their levels."""
        held = self.statistics.block(0, MemberRows)
        few, weight = smallest_distinct(self.keys, held.codes, held.weight, self.bound)
        some = replace(held, rows=held.rows[few], codes=held.codes[few], copies=held.copies[few], weight=weight)
        return replace(self, statistics=replace(self.statistics, blocks=(some,)), keys=self.keys[few])

    def frozen(self) -> Columns:
        """Return the columns that these rows freeze."""
        held, unit = self.statistics.block(0, MemberRows), self.total / self.squares
        return held.freeze(held.rows, held.codes, held.k, held.weight * unit, for_good=True)


@dataclass(frozen=True)
class Finding:
    """From a batch of a table to its smallest rows."""

    summary: Summary
    bound: int

    def __call__(self, table: Table) -> Smallest | None:
        """Return the smallest rows with a label of a pyarrow table."""
        batch, _ = self.summary.read(table)
        if batch is None:
            return None
        known, fitted = batch if batch.is_labelled else batch.split()[0], self.summary.fitted
        assert isinstance(fitted, HeldFitted)
        held = fitted.held_as.summarize(fitted.dated(known.rows[-1]), known.codes, len(known.classes), known.weight)
        found = ByClass(known.classes, known.class_weight, (held,), table.num_rows)
        squares = float((held.weight**2).sum())
        return Smallest(found, hashes_of(held.rows), self.bound, float(held.weight.sum()), squares).reduced()
