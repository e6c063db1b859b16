"""What there is to say of each column of a table, as plain values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from ..._arrays import np
from ...schema import Kind, Level
from .bars import Palette, brief, draw_levels, draw_normal, draw_numbers, number
from .seen import SeenColumn, SeenTable

NAMED_LEVELS = 3  # in a line
MOST_BY_CLASS = 100  # columns, up to which each is told by class
FREE = 50  # levels, above which a column may be free text
FREE_SHARE = 0.5  # of the cells that have a level of their own
LOOKED_AT = 300  # levels by which dates are known
MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
TIME = r"([T ]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*([ap]m|z|[+-]\d{2}:?\d{2})?)?"
DATE = re.compile(
    rf"\s*(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}\.?[ -]({MONTHS})[a-z]*\.?[ -]\d{{2,4}}|({MONTHS})[a-z]*\.? \d{{1,2}},? \d{{4}}){TIME}\s*",
    re.IGNORECASE,
)


def told_column(column: SeenColumn, table: SeenTable, palette: Palette, by_class: bool) -> dict[str, Any]:
    """Return what there is to say of a column; see `collect_profile`."""
    missing, facts = column.missing_share, column.facts
    distinct, exact = distinct_values(column, table)
    entry: dict[str, Any] = {
        "position": column.position,
        "name": column.name,
        "kind": kind_of(column, table),
        "missing": missing,
        "distinct": distinct,
        "distinct_exact": exact,
        "says": says(column),
        "importance": None,
        "modelled": False,
    }
    if facts.levels is not None and facts.counts is not None:
        ordered = bool(column.order) or column.kind in (Kind.NUMERIC, Kind.BOOLEAN)
        rank = {level: i for i, level in enumerate(column.order)}
        place = sorted(range(len(facts.levels)), key=lambda i: rank.get(facts.levels[i], len(rank)))  # type: ignore[index]
        levels = [facts.levels[i] for i in place]
        entry["picture"] = draw_levels(levels, facts.counts[:, place], palette, facts.missing, ordered)
    elif facts.values is not None:
        entry["picture"] = draw_numbers(column, table, palette)
    else:
        entry["picture"] = draw_normal(column, table, palette)
        entry["modelled"] = entry["picture"] is not None
    entry["by_class"] = _by_class(column, table, palette) if by_class else None
    return entry


def kind_of(column: SeenColumn, table: SeenTable) -> str:
    """Return number, whole number, yes or no, category, ordered, text, date or empty."""
    facts = column.facts
    if column.order:
        return "ordered"
    if column.kind is Kind.EMPTY:
        return "empty"
    if column.kind is Kind.BOOLEAN:
        return "yes or no"
    if column.kind.is_label:
        levels = facts.levels or ()
        if are_dates(levels):
            return "date"
        return "text" if is_free_text(column, table) else "category"
    if facts.levels is not None:
        whole = all(isinstance(level, int | float) and level == int(level) for level in facts.levels)
    else:
        seen = None if facts.values is None else facts.values[column.present]
        whole = seen is not None and len(seen) > 0 and bool((seen == np.rint(seen)).all())
    return "whole number" if whole else "number"


def are_dates(levels: Sequence[Level]) -> bool:
    """Return whether nearly all of these levels are written as dates."""
    texts = [level for level in islice(levels, LOOKED_AT) if isinstance(level, str) and level.strip()]
    return len(texts) > 1 and sum(DATE.fullmatch(text) is not None for text in texts) >= 0.95 * len(texts)


def is_free_text(column: SeenColumn, table: SeenTable) -> bool:
    """Return whether cells seldom repeat, or are sentences."""
    facts = column.facts
    if facts.levels is None or facts.counts is None or len(facts.levels) <= FREE:
        return False
    return len(facts.levels) >= FREE_SHARE * float(facts.counts.sum()) or are_sentences(facts.levels)


def are_sentences(levels: Sequence[Level]) -> bool:
    """Return whether levels have four words or more on average."""
    some = [len(str(level).split()) for level in islice(levels, LOOKED_AT)]
    return sum(some) >= 4 * len(some) > 0


def distinct_values(column: SeenColumn, table: SeenTable) -> tuple[int | None, bool]:
    """Return how many different values a column has, and whether that is all there are, or those of the rows kept."""
    facts = column.facts
    if facts.levels is not None and facts.counts is not None:
        return int((facts.counts.sum(axis=0) > 0).sum()), True
    if facts.values is None:
        return None, False
    return len(np.unique(facts.values[column.present])), table.is_whole


def says(column: SeenColumn) -> str:
    """Return the range of a column, or its most common levels."""
    facts = column.facts
    if facts.levels is not None and facts.counts is not None:
        total = facts.counts.sum(axis=0)
        whole = float(total.sum()) + float(np.nansum(facts.missing))
        order = np.argsort(-total, kind="stable")
        order = order[total[order] > 0]
        texts = [f"{brief(facts.levels[int(i)], 30)} {share(total[i] / whole)}" for i in order[:NAMED_LEVELS]]
        more = len(order) - NAMED_LEVELS
        return ", ".join(texts) + (f" and {more:,} more" if more > 0 else "")
    if facts.values is not None:
        seen = facts.values[column.present]
        if not len(seen):
            return ""
        low, middle, high = float(seen.min()), float(np.median(seen)), float(seen.max())
        return number(low) if low == high else f"{number(low)} to {number(high)}, median {number(middle)}"
    moments = facts.moments
    if moments is None or not moments.weight.any():
        return ""
    pooled = moments.pooled()
    sd = float(np.sqrt(pooled.scatter[0, 0] / pooled.weight[0, 0]))
    return f"about {number(float(f'{pooled.mean[0, 0]:.4g}'))} ± {number(float(f'{sd:.3g}'))}"


def share(p: float) -> str:
    """Return a share in whole per cent, never rounded to none or all."""
    if 0 < p < 0.005:
        return "< 1 %" if p >= 0.001 else "< 0.1 %"
    return f"{100 * p:.1f} %" if 0.995 < p < 1 else f"{100 * p:.0f} %"


def nats(value: float) -> str:
    """Return a difference of losses in nats, to the third decimal."""
    return "about 0 nats" if abs(value) < 0.0005 else f"{value:.3f} nats".replace("-", "−")


def _by_class(column: SeenColumn, table: SeenTable, palette: Palette) -> list[dict[str, Any]]:
    """Return for each class with a colour of its own the share of missing cells, and its mean or most common level."""
    facts, found = column.facts, []
    for c in palette.shown:
        seen, missing = float(facts.seen[c]), float(facts.missing[c])
        total = seen + missing
        entry: dict[str, Any] = {"missing": missing / total if total > 0 else None, "says": "–"}
        if facts.counts is not None and facts.levels is not None and len(facts.levels) and facts.counts[c].any():
            best = int(facts.counts[c].argmax())
            entry["says"] = f"{brief(facts.levels[best], 30)} {share(facts.counts[c, best] / total)}"
        elif facts.moments is not None and facts.moments.weight[c, 0] > 0:
            entry["says"] = number(float(f"{facts.moments.mean[c, 0]:.4g}"))
        elif facts.values is not None:
            own = column.present & (table.codes == c)
            if own.any():
                entry["says"] = number(float(f"{np.average(facts.values[own], weights=table.weight[own]):.4g}"))
        found.append(entry)
    return found
