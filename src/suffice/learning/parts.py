"""Learn from tables of any size: in parts, by an engine, with statistics that merge."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import DataError, SettingError, SourceError, quoted
from ..fitted import Fitted
from ..notes import Kind, Note
from ..schema import Level, Name, Schema, check_listed
from ..stats.patterns import TooManyPatternsError
from ..table import read_schema
from .checkpoint import Checkpoint
from .kernels import Learned, Summary
from .memory import check_observed
from .opening import check_choice, engine_for, explained, open_table, remark_spaces
from .passes import Passes
from .pushdown import push_down
from .two_passes import freeze_columns
from .unlabelled import estimating, joined_notes

if TYPE_CHECKING:
    from ..engines import Progress, Source

F = TypeVar("F", bound=Fitted)


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
    checkpoint: str | os.PathLike[str] | None,
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
        run = engine_for(engine, source)
    kernel = Summary(begun.counted(), target, weight, unlabelled, samples=begun.is_climbing, groups=groups)
    passes = Passes(kernel, begun.blocks, opened, read, run, progress)
    learned = _learn(passes, engine, checkpoint)
    assert learned.statistics is not None
    check_observed(learned.statistics)
    fitted = _climb(begun.with_statistics(passes.complete(learned.statistics)), learned, passes, target)
    for position, column in enumerate(fitted.schema.columns):
        if ordered and column.order:
            known = fitted.known_levels.get(position, {})
            check_listed(column.name, [level for level in known if level not in column.order], column.order)
    _ = fitted.joint  # what cannot be estimated is said here
    remark_spaces(opened, may_keep=True)
    return fitted.with_past(unlabelled=learned.unlabelled, dialect=opened.dialect, target=target)


def _climb(fitted: F, learned: Learned, passes: Passes, target: str) -> F:
    """Return what is learned from all rows after the passes that EM makes, from what the labelled rows taught."""
    statistics, joined = fitted.climb(learned, passes)
    if joined is None and learned.unlabelled_weight:
        passes.check("EM over rows without a label")
        joined = passes.join(statistics, learned.unlabelled_weight, learned.holed, estimating(fitted))
        joined = fitted.with_steps(joined)
        statistics = replace(joined.statistics, sample=statistics.sample)
    chosen = None if joined is None else fitted.choices
    found = fitted.with_statistics(statistics, chosen=chosen)
    if joined is None:
        kept = found.statistics.unlabelled is not None
        return found.with_past(notes=() if kept else tuple(_left_out(learned, target)))
    return found.with_past(joined=True, steps=joined.steps, notes=tuple(joined_notes(joined, learned.unlabelled)))


def _left_out(learned: Learned, target: str) -> list[Note]:
    """Return what became of rows without a label."""
    if not learned.unlabelled:
        return []
    left_out = f"left out {learned.unlabelled} row{'' if learned.unlabelled == 1 else 's'} without a label"
    return [Note(left_out, f"{target!r} is empty there", kind=Kind.LEFT_OUT)]


def _learn(passes: Passes, engine: object, checkpoint: str | os.PathLike[str] | None) -> Learned:
    """Return what the passes before any EM find."""
    kernel, source, read = passes.summary, passes.source, passes.read
    begun = kernel.fitted
    if begun.is_climbing:
        passes.check(begun.who)
    if checkpoint is not None and (begun.is_climbing or engine not in ("auto", "local")):
        why = "models that read the rows once or twice" if begun.is_climbing else f"engine='local', not {engine!r}"
        raise SettingError(f"checkpoint is for {why}. Next: leave one of them out.")
    if begun.freezes_columns:
        if kernel.unlabelled == "em" and not begun.keeps_unlabelled:
            kernel = replace(kernel, unlabelled="error")
        kernel = freeze_columns(kernel, source, read, passes.run, begun.settings.keep_rows, passes.progress)
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


def _checked(learned: Learned | None, source: Source, target: str) -> Learned:
    """Return what is learned from all rows; DataError where that is nothing."""
    if learned is None or learned.rows == 0:
        raise SourceError.no_rows(source.name)
    if learned.statistics is None:
        raise DataError(
            f"No row of {source.name} has a label in {target!r} and a weight above 0. Next: check the column."
        )
    return learned
