"""What is known of each column: its kind, its levels and their order, whole numbers, steps and bounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from .._arrays import np
from ..fitted import Fitted
from ..schema import Kind, Level, Name
from ..table.dates import as_text
from .recorded import recorded


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What a model knows of a column.

    `kind` is "numeric", "boolean", "categorical", "string", "text", "date" or "empty". Of a number: whether it is
    `whole`, the `step` in which it was recorded, with so many `decimals`, and the ends `low` and `high` that it keeps
    to; None where nothing is known, as of a model that keeps no rows. Of dates the step is in seconds, and the ends are
    text. Of a category: its `levels`, from the lowest if `ordered`.
    """

    name: Name
    kind: str
    whole: bool = False
    step: float | None = None
    decimals: int | None = None
    low: float | str | None = None
    high: float | str | None = None
    levels: tuple[Level, ...] | None = None
    ordered: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the facts as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        """Return in a few words what values it takes, "" where nothing is known."""
        if self.ordered:
            return "ordered"
        words = "whole" if self.whole and self.step in (None, 1.0) else f"steps of {self.step:g}" if self.step else ""
        words = "" if self.kind == Kind.DATE.value else words
        # of moments the days, which tell them apart
        days = len({str(end)[:10] for end in (self.low, self.high)}) > 1
        texts = [f"{end:g}" if isinstance(end, float) else end for end in (self.low, self.high)]
        ends = [text and text[:10] if days and self.kind == Kind.DATE.value else text for text in texts]
        if ends[0] is not None and ends[1] is not None:
            span = f"{ends[0]} to {ends[1]}"
        else:
            span = f"from {ends[0]}" if ends[0] is not None else f"to {ends[1]}" if ends[1] is not None else ""
        return ", ".join(filter(None, (words, span)))


def column_facts(fitted: Fitted) -> list[ColumnFacts]:
    """Return what is known of each column, in their order; from the rows kept and from what families promise."""
    return fitted.memoize(_of_columns, whatever_priors=True)


def _of_columns(fitted: Fitted) -> list[ColumnFacts]:
    known = fitted.known_levels
    found = {
        p: ColumnFacts(
            column.name,
            column.kind.value,
            levels=column.in_order(known[p]) if p in known else column.order or None,
            ordered=bool(column.order),
        )
        for p, column in enumerate(fitted.schema.columns)
    }
    asked = fitted.joint_value
    kept = recorded(asked) or [None] * len(asked.blocks)
    for block, own in zip(asked.blocks, kept, strict=True):
        for j, p in enumerate(block.positions):
            column = found[p]
            if column.levels is not None or column.kind == Kind.BOOLEAN.value:
                continue
            if own is not None:
                told = (own.step[j], own.decimals[j], own.low[j], own.high[j])
                found[p] = _number(column, bool(own.whole[j]), *map(float, told))
            if block.family.support in ("counts", "shares"):
                found[p] = _number(column, True, 1.0, 0, 0.0, float("inf"))
    return [found[p] for p in sorted(found)]


def _number(column: ColumnFacts, whole: bool, step: float, decimals: float, low: float, high: float) -> ColumnFacts:
    known = np.isfinite(step)
    if column.kind == Kind.DATE.value:
        ends = [as_text(end) if np.isfinite(end) else None for end in (low, high)]
        return replace(column, step=step if known else None, low=ends[0], high=ends[1])
    return ColumnFacts(
        column.name,
        column.kind,
        whole,
        step if known else None,
        int(decimals) if known and decimals >= 0 else None,
        low if np.isfinite(low) else None,
        high if np.isfinite(high) else None,
    )
