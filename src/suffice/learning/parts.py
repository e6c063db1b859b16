"""Learn from tables of any size: in parts, by an engine, with statistics that merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import DataError, SourceError, quoted
from ..fitted import Fitted
from ..notes import Kind, Note
from ..schema import Level, Name, Schema, check_listed
from ..stats.patterns import TooManyPatternsError
from ..table import read_schema
from . import memory
from .kernels import Finding, Gathered, Gathering, Learned, Smallest, Summary
from .opening import check_choice, engine_for, explained, open_table, remark_spaces

if TYPE_CHECKING:
    from ..engines import Progress, Source

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
    opened = open_table(source, target=target, as_is=_unread(columns, target, weight, groups), **how)
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
    """Return what is learned, and how many rows had no label: by statistics that merge, or by EM of rows in memory."""
    if begun.needs_all_rows:
        return _learn_at_once(begun, kernel, source, run)
    if begun.freezes_columns:
        if source.once:
            raise SourceError.read_once(begun.who, "twice")
        if kernel.unlabelled == "em" and not begun.keeps_unlabelled:
            kernel = replace(kernel, unlabelled="error")
        found: Smallest | None = run(Finding(kernel, begun.settings.keep_rows))
        kernel = replace(kernel, columns=found.frozen() if found is not None and found.beyond else None)
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
    memory.check_observed(learned.statistics)
    fitted = begun.with_statistics(learned.statistics)
    _ = fitted.joint  # what cannot be estimated is said here
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
    return memory.learn(begun, batch), absent


def _no_label(source: Source, target: str) -> DataError:
    return DataError(f"No row of {source.name} has a label in {target!r} and a weight above 0. Next: check the column.")


def _unread(
    columns: Sequence[str] | None, target: str, weight: str | None, groups: str | None
) -> Callable[[str], bool] | None:
    """Return what says of a column that nobody learns from it; None where all are learned from."""
    if columns is None:
        return None
    used = {*map(str, columns), target, weight, groups}
    return lambda name: name not in used


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
            raise DataError(f"columns={quoted(names)} holds the target {target!r}. Next: leave it out.")
    if not names:
        raise DataError(f"{source.name} has no column beside {target!r}. Next: give at least one column to learn from.")
    return names, read_schema(source.declared(names))
