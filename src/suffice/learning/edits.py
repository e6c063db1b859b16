"""Edits of a fitted value: add, merge, forget and decay rows; drop and rename classes.

Every edit makes a new value of what was learned, and leaves the old one as it was. Columns in which no row so far has a
value are read as numbers until rows with values tell their kind (`settled`): their statistics hold nothing but rows
that miss them, so that they can be made for any other kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from .._arrays import Array, is_number, np
from ..automatic.held import HeldFitted, MemberFamily
from ..automatic.statistics import MemberRows, MemberStats
from ..automatic.table_rows import TableRows
from ..automatic.train import rows_of_sample
from ..errors import (
    DataError,
    MergeError,
    NotLearnedError,
    RepeatedRowsWarning,
    SchemaError,
    SettingError,
    a_model,
    either,
    quoted,
    setting,
)
from ..estimate import Block
from ..estimate.families import CategoricalFamily, TextFamily
from ..fitted import Fitted
from ..released import Release
from ..schema import Kind, Level, Name, Schema, check_text, sort_levels
from ..stats import ByClass, CategoricalStats, DiagonalScatter, GaussianStats, Reservoir, Statistic, SumStats, TextStats
from ..stats._downdate import FAINT
from ..stats.counts import CodedColumns, TextColumns
from ..stats.dependent_rows import count_shared
from ..stats.reservoir import NAMELESS
from ..table import Table, check_filled, read_table, take_in
from ..table.labels import check_label_kinds, label_name, read_labels

F = TypeVar("F", bound=Fitted)


def add(
    fitted: F,
    table: Table,
    y: object,
    classes: Sequence[object] | None,
    sample_weight: object,
    decay: float | None,
    groups: object = None,
) -> F:
    """Return what is learned once rows join; what was learned before counts for `decay` of it."""
    factor = 1.0 if decay is None else _check_decay(decay)
    order = fitted.align(table)
    known = bool(fitted.statistics.blocks)
    missing = ("any" if known else "em") if fitted.keeps_unlabelled else "error"
    batch = fitted.summarize(fitted.batch(table, order, y, sample_weight, missing, groups))
    if classes is not None:
        told = read_labels(classes, len(classes), fitted.who)[0]
        unknown = [label for label in batch.classes if label not in told]
        if unknown:
            raise DataError(
                either(
                    f"The target label(s) {quoted(unknown)} in y do not exist in the initial classes, the list "
                    "`classes`. Next: add to `classes` or correct the labels.",
                    f"The labels {quoted(unknown)} are none of the classes. Next: correct the labels.",
                )
            )
        batch = batch.with_classes(sort_levels([*batch.classes, *told]))
    if known:
        check_label_kinds(fitted.statistics.classes, batch.classes)
        batch = (fitted.statistics if factor == 1.0 else _decayed(fitted, factor)).merge(batch)
    released = fitted.past.released
    past = replace(
        fitted.past,
        object_labels=isinstance(y, np.ndarray) and y.dtype == object,
        target=fitted.past.target or label_name(y),
        released=None if released is None else released.with_rows(),
    )
    return fitted.with_statistics(batch, schema=fitted.schema.settle(table.schema, order), past=past)


def merge(fitted: F, other: F, distinct: bool = False) -> F:
    """Return what both have learned; MergeError where columns, kinds or families differ.

    Of rows kept that both have learned a warning tells, or if they are to be `distinct` MergeError.
    """
    if type(other) is not type(fitted) or other.who != fitted.who:
        raise MergeError(
            f"Models of two kinds: {a_model(fitted.who)} cannot take in {a_model(other.who)}. Next: fit both alike."
        )
    _check_same_columns(fitted.schema, other.schema)
    if columns := treated_otherwise(fitted, other.blocks):
        raise MergeError(f"The two models treat {quoted(columns)} differently. Next: fit both with equal settings.")
    fitted, other = fitted.before_merge(other)
    past = replace(
        fitted.past,
        released=Release.of_both(fitted.past.released, other.past.released),
        joined=fitted.past.joined or other.past.joined,
        dialect=fitted.past.dialect or other.past.dialect,
        target=fitted.past.target or other.past.target,
    )
    statistics = fitted.statistics.merge(other.statistics)
    _tell_shared(statistics.sample, fitted.statistics.sample, other.statistics.sample, distinct)
    return _changed(fitted, statistics, past=past)


def treated_otherwise(fitted: Fitted, blocks: Sequence[Block]) -> list[Name]:
    """Return the columns that other `blocks` model otherwise than those of a value."""
    differing = [block for block in (*fitted.blocks, *blocks) if (block in fitted.blocks) != (block in blocks)]
    return [fitted.schema.names[p] for p in sorted({p for block in differing for p in block.positions})]


def _tell_shared(merged: Reservoir | None, one: Reservoir | None, two: Reservoir | None, distinct: bool) -> None:
    if merged is None or one is None or two is None:
        return
    shared, kept = count_shared(merged, one, two)
    if not shared:
        return
    told = f"{shared:,} of the {kept:,} rows kept of the other model are among those of this one too"
    if distinct:
        raise MergeError(f"{told}. Next: fit models of different rows.")
    step = either(
        "forget(…) them once, or merge(…, distinct=True), which refuses",
        "`suffice forget` takes them out once; --distinct refuses such models",
    )
    warnings.warn(f"{told}, and count twice now. Next: {step}.", RepeatedRowsWarning, stacklevel=8)


def forget(fitted: F, X: object, y: object, sample_weight: object, groups: object = None) -> F:
    """Return what is left without rows that were learned; NotLearnedError where they cannot have been."""
    if fitted.past.released is not None:
        raise DataError.released("forget rows", "merge the released models that shall stay anew")
    table = read_table(take_in(X, False))
    check_filled(table, fitted.who)
    missing = "any" if fitted.keeps_unlabelled else "forget"
    rows = fitted.batch(table, fitted.align(table), y, sample_weight, missing, groups)
    batch = fitted.summarize(rows, 0 if fitted.statistics.sample is None else len(rows.codes))
    try:
        statistics = fitted.statistics.subtract(batch)
        _check_possible(fitted, statistics)
    except NotLearnedError as error:
        names = [fitted.schema.names[fitted.blocks[error.block].positions[j]] for j in error.columns]
        raise error.named(names) from None
    return _changed(fitted, statistics, "These are all the rows that the model has learned")


def drop_class(fitted: F, label: object) -> F:
    """Return what is left without a class."""
    found = _known_class(fitted, label)
    names = {own: None if own == found else own for own in fitted.statistics.classes}
    return _changed(fitted, fitted.statistics.regroup(names), f"Class {found!r} is the last one")


def rename_classes(fitted: F, names: Mapping[object, object]) -> F:
    """Return the same rows with other labels, {old: new}; classes given one label become one class."""
    if not isinstance(names, Mapping):
        raise SettingError(f"{setting('names', names)} is no mapping. Next: give {{old label: new label}}.")
    given = {_known_class(fitted, old): _plain_label(new) for old, new in names.items()}
    renamed: dict[Level, Level | None] = {own: given.get(own, own) for own in fitted.statistics.classes}
    labels = [label for label in renamed.values() if label is not None]
    check_label_kinds((), labels)
    check_text(labels, "y")
    return _changed(fitted, fitted.statistics.regroup(renamed))


def decay(fitted: F, factor: float) -> F:
    """Return the same rows, each with its weight multiplied by the factor."""
    return _changed(fitted, _decayed(fitted, _check_decay(factor)))


def _changed(fitted: F, statistics: ByClass, otherwise: str = "No row would be left", **changed: Any) -> F:
    """Return the value of other statistics, or refuse where there is nothing left."""
    if not statistics.weight.any():
        raise DataError(f"{otherwise}, so nothing would be left of it. Next: fit another model instead.")
    found = fitted.with_statistics(statistics, **changed)
    if statistics.classes != fitted.statistics.classes:
        found.log_prior_of(found.priors)  # given by label, they may not fit these classes
    return found


def _decayed(fitted: Fitted, factor: float) -> ByClass:
    """Return the statistics with their weights multiplied; DataError where that leaves next to nothing."""
    statistics = fitted.statistics
    if statistics.total * factor < FAINT:
        raise DataError(
            f"{setting('decay', factor)} would leave all rows learned so far a weight of {statistics.total * factor:g} "
            f"together, and less than {FAINT:g} is as good as none. Next: let new rows come, or fit another model."
        )
    return statistics.scale(factor)


def _known_class(fitted: Fitted, label: object) -> Level:
    """Return the class of this label; DataError if there is none."""
    for own in fitted.statistics.classes:
        if isinstance(own, str) == isinstance(label, str) and own == label:
            return own
    raise DataError(
        f"There is no class {label!r}; the classes are {quoted(fitted.statistics.classes)}. Next: name one of these."
    )


def _check_possible(fitted: Fitted, statistics: ByClass) -> None:
    """Raise NotLearnedError where a family knows that no rows have such statistics."""
    for number, (block, stats) in enumerate(zip(fitted.blocks, statistics.blocks, strict=True)):
        try:
            block.family.check_possible(stats)
        except NotLearnedError as error:
            label = None if error.code is None else statistics.classes[error.code]
            raise error.placed(label, number) from None


def _check_decay(factor: object) -> float:
    if not is_number(factor) or not 0.0 < float(factor) <= 1.0:
        raise SettingError(
            f"{setting('decay', factor)} must be a number above 0 and at most 1. Next: 0.99, say; 1 is no decay."
        )
    return float(factor)


def _plain_label(label: object) -> Level:
    """Return a label as a plain value; DataError for what cannot be one."""
    plain: object = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int) or type(plain) not in (str, int, bool):
        raise DataError(f"{label!r} cannot be the label of a class. Next: give text, an integer or a truth value.")
    return plain


def _check_same_columns(mine: Schema, theirs: Schema) -> None:
    if mine.names == theirs.names and mine.named == theirs.named:
        for a, b in zip(mine.columns, theirs.columns, strict=True):
            if not (a.kind.reads(b.kind) and b.kind.reads(a.kind)):
                raise MergeError(str(SchemaError.kind_differs(a.name, a.kind.value, b.kind.value)))
        return
    own, other = set(mine.names), set(theirs.names)
    missing = [name for name in mine.names if name not in other]
    extra = [name for name in theirs.names if name not in own]
    if missing or extra:
        raise MergeError(str(SchemaError.columns_differ(missing, extra, "the first model")))
    raise MergeError(
        "The two models have the same columns in different orders. Next: fit both on equally ordered tables."
    )


# --- columns whose kind becomes known ---------------------------------------------------------------------------------


def settled(fitted: F, begun: F) -> F:
    """Return what was learned in the blocks of `begun`, whose schema knows the kinds of more columns."""
    statistics = fitted.statistics
    pairs = zip(fitted.schema.columns, begun.schema.columns, strict=True)
    columns = [p for p, (own, other) in enumerate(pairs) if own.kind is Kind.EMPTY is not other.kind]
    last = statistics.blocks[-1] if statistics.blocks else None
    if isinstance(last, MemberStats):  # in columns that were frozen before these had a value
        statistics = _rows_again(fitted, statistics, [begun.schema.names[p] for p in columns])
    elif fitted.blocks == begun.blocks:
        return replace(fitted, schema=begun.schema)
    moves = [_Move(fitted.blocks, block, columns) for block in begun.blocks]
    blocks = tuple(move.statistic(statistics) for move in moves)
    kept = [move for move in moves if not isinstance(move.block.family, MemberFamily)]

    def reread(sample: Reservoir | None, classes: Sequence[Level]) -> Reservoir | None:
        if sample is None:
            return None
        return sample.with_rows([move.rows(sample.rows, len(sample.codes)) for move in kept], classes)

    sample, unlabelled = reread(statistics.sample, statistics.classes), reread(statistics.unlabelled, NAMELESS)
    found = replace(statistics, blocks=blocks, sample=sample, unlabelled=unlabelled)
    return begun.with_statistics(found, past=fitted.past)


def _rows_again(fitted: Fitted, statistics: ByClass, names: Sequence[object]) -> ByClass:
    """Return the statistics with the rows kept, which stand for all, in the place of frozen columns."""
    if statistics.sample is None or not isinstance(fitted, HeldFitted):
        raise MergeError(
            f"No row of a model that holds no rows has a value in {quoted(names)}, so that its columns cannot be read "
            "again. Next: leave these columns out, or merge before rows are given up."
        )
    rows = rows_of_sample(statistics, fitted.held_as).as_sample()
    return replace(statistics, blocks=(*statistics.blocks[:-1], rows))


class _Move:
    """How a block of columns is made of those before, in which some of its columns were not known or not there."""

    def __init__(self, before: Sequence[Block], block: Block, changed: Sequence[int]) -> None:
        self.block = block
        self.number = next((i for i, own in enumerate(before) if _are_alike(own, block)), None)
        known = () if self.number is None else before[self.number].positions
        place = {p: j for j, p in enumerate(known) if p not in changed}
        self.index = [place.get(p, -1) for p in block.positions]
        self.stays = self.number is not None and before[self.number] == block and not set(changed) & set(known)

    def statistic(self, statistics: ByClass) -> Statistic:
        """Return the statistics of the block."""
        k, weight, index = len(statistics.classes), statistics.weight, self.index
        own = self.block.family.zero(k, 0) if self.number is None else statistics.blocks[self.number]
        if self.stays:
            return own
        if isinstance(own, MemberRows):
            return replace(own, rows=self._table_rows(own.rows, len(own.codes)))
        if isinstance(own, CategoricalStats):
            levels = tuple(own.levels[j] if j >= 0 else () for j in index)
            counts = tuple(own.counts[j] if j >= 0 else np.zeros((k, 0)) for j in index)
            return CategoricalStats(levels, counts, _taken(own.missing, index, weight[:, None]))
        if isinstance(own, TextStats):
            return own.columns(index)
        if isinstance(own, SumStats):
            return SumStats(_taken(own.weight, index), _taken(own.total, index))
        assert isinstance(own, GaussianStats)
        scatter = DiagonalScatter(_taken(own.scatter.values, index))
        return replace(own, weight=_taken(own.weight, index), mean=_taken(own.mean, index), scatter=scatter)

    def rows(self, blocks: Sequence[Any], n: int) -> Any:
        """Return n rows of the block."""
        before = None if self.number is None else blocks[self.number]
        if self.stays:
            return before
        if isinstance(self.block.family, CategoricalFamily | TextFamily):
            none = CodedColumns((), ()) if isinstance(self.block.family, CategoricalFamily) else TextColumns((), ())
            return _coded(none if before is None else before, self.index, n)
        return _taken(np.zeros((n, 0)) if before is None else before, self.index, np.nan)

    def _table_rows(self, rows: TableRows, n: int) -> TableRows:
        assert isinstance(self.block.family, MemberFamily)
        numbers, width = self.block.family.numbers, rows.numbers.shape[1]
        coded = [j - width if j >= 0 else -1 for j in self.index[numbers:]]
        filled = _taken(rows.numbers, self.index[:numbers], np.nan)
        return TableRows(filled, _coded(rows.coded, coded, n), self.block.family.texts)


def _are_alike(one: Block, other: Block) -> bool:
    """Return whether blocks differ in their columns alone."""
    both = one.family, other.family
    return both[0] == both[1] or all(isinstance(family, MemberFamily) for family in both)


def _taken(values: Array, index: Sequence[int], otherwise: Any = 0.0) -> Array:
    """Return these columns (n, len(index)) of an array, another value where the index is −1."""
    wider = np.column_stack([values, np.broadcast_to(otherwise, (len(values), 1))])
    return np.ascontiguousarray(wider[:, list(index)])


def _coded(rows: CodedColumns, index: Sequence[int], n: int) -> CodedColumns:
    """Return these columns of n categorical rows, all cells missing where the index is −1."""
    absent = np.full(n, -1, dtype=np.int64)
    pairs = [(rows.levels[j], rows.codes[j]) if j >= 0 else ((), absent) for j in index]
    return rows._replace(levels=tuple(levels for levels, _ in pairs), codes=tuple(codes for _, codes in pairs))
