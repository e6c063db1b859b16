"""What there is to say of each column of a table, as plain values: words, and small pictures of bars by class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from ..._arrays import Array, Codes, np
from ...errors import spaced
from ...plots import _style as style
from ...plots._view import bulk
from ...schema import Kind, Level
from ...table import are_sentences, are_texts
from ...table.dates import about, length_in_words
from .table import ProfiledColumn, ProfiledTable

BARS = 20
MOST_LEVELS = 12  # of a column that have a bar of their own
MOST_CLASSES = 10  # that have a colour of their own; of more the heaviest, but two
MOST_DECIMALS = 6
HEIGHTS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LONGEST = 60  # letters of a level
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


def describe_column(column: ProfiledColumn, table: ProfiledTable, palette: Palette, by_class: bool) -> dict[str, Any]:
    """Return what there is to say of a column; see `collect_profile`."""
    facts, weight = column.facts, column.level_weight
    distinct, exact = None, False
    if weight is not None and facts.counts is not None:
        ordered = bool(column.order) or column.kind in (Kind.NUMERIC, Kind.BOOLEAN)
        rank = {level: i for i, level in enumerate(column.order)}
        place = sorted(range(len(column.levels)), key=lambda i: rank.get(column.levels[i], len(rank)))
        levels = [column.levels[i] for i in place]
        picture = draw_levels(levels, facts.counts[:, place], palette, facts.missing, ordered)
        distinct, exact = int((weight > 0).sum()), True
    elif column.has_cells:
        picture = draw_numbers(column, table, palette)
        distinct, exact = len(np.unique(column.known)), table.is_whole
    else:
        picture = draw_normal(column, palette)
    return {
        "position": column.position,
        "name": column.name,
        "kind": _kind(column),
        "missing": column.missing_share,
        "distinct": distinct,
        "distinct_exact": exact,
        "says": _says(column),
        "importance": None,
        "modelled": weight is None and not column.has_cells and picture is not None,
        "picture": picture,
        "by_class": _by_class(column, table, palette) if by_class else None,
    }


# --- words ------------------------------------------------------------------------------------------------------------


def _kind(column: ProfiledColumn) -> str:
    """Return number, whole number, yes or no, category, ordered, text, date or empty."""
    if column.order:
        return "ordered"
    if column.kind is Kind.EMPTY:
        return "empty"
    if column.kind is Kind.BOOLEAN:
        return "yes or no"
    if column.kind is Kind.DATE:
        return "date"
    if column.kind.is_label:
        if are_dates(column.levels):
            return "date"
        return "text" if _is_free_text(column) else "category"
    if column.facts.levels is not None:
        whole = all(isinstance(level, int | float) and level == int(level) for level in column.levels)
    else:
        whole = style.are_whole(column.known)
    return "whole number" if whole else "number"


def are_dates(levels: Sequence[Level]) -> bool:
    """Return whether nearly all of these levels are written as dates."""
    texts = [level for level in islice(levels, LOOKED_AT) if isinstance(level, str) and level.strip()]
    return len(texts) > 1 and sum(DATE.fullmatch(text) is not None for text in texts) >= 0.95 * len(texts)


def is_text(column: ProfiledColumn) -> bool:
    """Return whether a column is one of texts, whose words models read one by one."""
    weight = column.level_weight
    if weight is None or column.kind not in (Kind.STRING, Kind.TEXT):
        return False
    return column.kind is Kind.TEXT or are_texts(column.levels, float(weight.sum()))


def _is_free_text(column: ProfiledColumn) -> bool:
    """Return whether cells seldom repeat, or are sentences."""
    levels, weight = column.levels, column.level_weight
    if weight is None or len(levels) <= FREE:
        return False
    return len(levels) >= FREE_SHARE * float(weight.sum()) or are_sentences(levels)


def _says(column: ProfiledColumn) -> str:
    """Return the range of a column, or its most common levels."""
    weight, moments = column.level_weight, column.facts.moments
    if weight is not None and is_text(column) and len(weight):
        return f"texts, read word by word, such as {brief(column.levels[int(np.argmax(weight))], 40)}"
    if weight is not None:
        whole = float(weight.sum()) + float(np.nansum(column.facts.missing))
        order = np.argsort(-weight, kind="stable")
        order = order[weight[order] > 0]
        texts = [f"{brief(column.levels[i], 30)} {share(weight[i] / whole)}" for i in order[:NAMED_LEVELS].tolist()]
        more = len(order) - NAMED_LEVELS
        return ", ".join(texts) + (f" and {more:,} more" if more > 0 else "")
    if column.has_cells:
        seen = column.known
        if not len(seen):
            return ""
        low, middle, high = float(seen.min()), float(np.median(seen)), float(seen.max())
        words = partial(value_text, column, spread=high - low)
        return words(low) if low == high else f"{words(low)} to {words(high)}, median {words(middle)}"
    if moments is None or not moments.weight.any():
        return ""
    pooled = moments.pooled()
    sd = float(np.sqrt(pooled.scatter[0, 0] / pooled.weight[0, 0]))
    if column.kind is Kind.DATE:
        return f"about {about(float(pooled.mean[0, 0]), sd)} ± {length_in_words(sd)}"
    return f"about {number(float(f'{pooled.mean[0, 0]:.4g}'))} ± {number(float(f'{sd:.3g}'))}"


def _by_class(column: ProfiledColumn, table: ProfiledTable, palette: Palette) -> list[dict[str, Any]]:
    """Return for each class with a colour of its own the share of missing cells, and its mean or most common level."""
    facts, found = column.facts, []
    for c in palette.shown:
        seen, missing = float(facts.seen[c]), float(facts.missing[c])
        total, says = seen + missing, "–"
        if facts.counts is not None and column.levels and facts.counts[c].any():
            best = int(facts.counts[c].argmax())
            says = f"{brief(column.levels[best], 30)} {share(facts.counts[c, best] / total)}"
        elif facts.moments is not None and facts.moments.weight[c, 0] > 0:
            says = _mean_text(column, float(facts.moments.mean[c, 0]))
        elif column.has_cells and (own := column.present & (table.codes == c)).any():
            says = _mean_text(column, float(np.average(column.cells[own], weights=table.weight[own])))
        found.append({"missing": missing / total if total > 0 else None, "says": says})
    return found


def _mean_text(column: ProfiledColumn, mean: float) -> str:
    return about(mean, 86_400.0) if column.kind is Kind.DATE else number(float(f"{mean:.4g}"))


def value_text(column: ProfiledColumn, value: float, spread: float) -> str:
    """Return a number as a person would write it, or a date no finer than a spread asks for."""
    return about(value, spread) if column.kind is Kind.DATE else number(value)


def share(p: float) -> str:
    """Return a share in whole per cent, never rounded to none or all."""
    if 0 < p < 0.005:
        return "< 1 %" if p >= 0.001 else "< 0.1 %"
    return f"{100 * p:.1f} %" if 0.995 < p < 1 else f"{100 * p:.0f} %"


def nats(value: float) -> str:
    """Return a difference of losses in nats, to the third decimal."""
    return "about 0 nats" if abs(value) < 0.0005 else f"{value:.3f} nats".replace("-", "−")


def brief(level: object, most: int = LONGEST) -> str:
    """Return a level as text on one line, its end left out where it is long; what holds nothing to see is quoted."""
    text = spaced(" ".join(str(level).splitlines())) if str(level).strip() else repr(str(level))
    return style.brief(text, most)


def number(value: float) -> str:
    """Return a number as a person would write it: whole as it is, others with about four digits."""
    if value == 0 or not np.isfinite(value):
        return f"{value + 0.0:g}"
    size = abs(value)
    if value == round(value) and size < 1e12:
        return f"{value:.0f}" if size < 1e4 else f"{value:,.0f}"
    if size < 1e-4 or size >= 1e9:
        return f"{value:.4g}"
    decimals = max(0, 3 - int(np.floor(np.log10(size))))
    text = f"{value:,.{decimals}f}" if size >= 1e4 else f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# --- pictures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Palette:
    """Which classes have a colour of their own, and what is drawn in grey: all others, and rows without a label."""

    shown: Sequence[int]
    entries: list[dict[str, Any]]
    rest: tuple[int, ...]

    @classmethod
    def of(cls, table: ProfiledTable) -> Palette:
        """Return the palette of a table: all its classes, or the heaviest of many."""
        k, weight = table.k, table.class_weight
        shown = list(range(k))
        if k > MOST_CLASSES:
            shown = sorted(np.argsort(-weight[:k], kind="stable")[: MOST_CLASSES - 2].tolist())
        others = tuple(c for c in range(k) if c not in set(shown))
        entries = [{"label": str(table.classes[c]), "color": style.color(c), "weight": float(weight[c])} for c in shown]
        rest = others + ((k,) if weight[k] > 0 or not k else ())
        if rest:
            words = [f"{len(others):,} other classes"] if others else []
            words += ["without a label"] if weight[k] > 0 and k else []
            label = ", ".join(words) or "all rows"
            entries.append({"label": label, "color": None, "weight": float(weight[list(rest)].sum())})
        return cls(shown, entries, rest)

    def fold(self, counts: Array) -> Array:
        """Return counts by class (k + 1, r) by entry."""
        own = counts[list(self.shown)]
        return np.vstack([own, counts[list(self.rest)].sum(axis=0)]) if self.rest else own

    def heights(self, counts: Array) -> dict[str, Any]:
        """Return bars (k + 1, r) by entry: a digit to the base 62 for each, in parts of the entry's highest `most`."""
        counts = self.fold(counts)
        most = counts.max(axis=1, initial=0.0)
        top = len(HEIGHTS) - 1
        scaled = np.where(counts > 0, np.maximum(np.rint(top * counts / np.where(most > 0, most, 1.0)[:, None]), 1), 0)
        bars = ["".join(HEIGHTS[int(height)] for height in row) for row in scaled]
        return {"bars": bars, "most": [float(f"{own:.4g}") for own in most]}


class Bins(NamedTuple):
    """Equal bars over numbers, from `low` to `high`; those of a column that is counted stand for whole steps."""

    low: float
    high: float
    number: int
    step: float | None

    def place(self, values: Array) -> Codes:
        """Return the bar of each number (n,), −1 for what lies beyond."""
        with np.errstate(invalid="ignore"):
            found = np.floor((values - self.low) / (self.high - self.low) * self.number)
            found = np.where(values == self.high, self.number - 1, found)
            inside = (values >= self.low) & (values <= self.high)
        return np.where(inside, np.clip(found, 0, self.number - 1), -1).astype(np.int64)


def step_of(values: Array) -> float | None:
    """Return the widest decimal step that lies between all of these distinct, ascending numbers; None if there is none.

    1 for whole numbers without a wider one, 0.1 for tenths.
    """
    if len(values) < 2 or np.abs(values).max() >= 1e12:
        return None
    for decimals in range(MOST_DECIMALS + 1):
        tens = 10.0**decimals
        scaled = values * tens
        whole = np.rint(scaled)
        steps = np.diff(whole)  # none of 0: numbers that are far below 1 would all be near the same
        if (np.abs(scaled - whole) <= 1e-9 * np.maximum(np.abs(scaled), 1.0)).all() and steps.all():
            return float(np.gcd.reduce(steps.astype(np.int64)) / tens)
    return None


def bins_of(values: Array, weight: Array) -> Bins | None:
    """Return the bars of a column of numbers (n,), NaN where missing: of the bulk, as a few far ones would hide it."""
    own = values[np.isfinite(values) & (weight > 0)]
    if not len(own):
        return None
    low, high = bulk(own)
    distinct = np.unique(own)
    step = step_of(distinct)
    if len(distinct) == 1 or high <= low:
        half = 0.5 * (step or max(abs(low), 1.0) * 0.1)
        return Bins(low - half, low + half, 1, step)
    if step is None or (high - low) / step > 1e6:
        return Bins(low, high, BARS, None)
    count = round((high - low) / step) + 1
    wide = -(-count // BARS)  # steps of a bar, so that each holds as many
    number = -(-count // wide)
    return Bins(low - step / 2, low - step / 2 + number * wide * step, number, step)


def draw_numbers(column: ProfiledColumn, table: ProfiledTable, palette: Palette) -> dict[str, Any] | None:
    """Return the bars of a column of numbers over the rows there are, None where they have no cell."""
    values, present, size = column.cells, column.present, table.k + 1
    bins = bins_of(values, table.weight)
    if bins is None:
        return None
    place = bins.place(values)
    inside = place >= 0
    # what the cell of each row stands for, so that they add up to the cells of the class in all rows
    held = np.bincount(table.codes[present], weights=table.weight[present], minlength=size)
    seen = np.where(np.isnan(column.facts.seen), held, column.facts.seen)
    stands = table.weight * (seen / np.where(held > 0, held, 1.0))[table.codes]
    cell = table.codes[inside] * bins.number + place[inside]
    counts = np.bincount(cell, weights=stands[inside], minlength=size * bins.number)
    first = bins.low + (bins.step or 0.0) / 2  # the ends are values that occur, not edges between them
    last = min(float(np.nanmax(np.where(inside, values, np.nan))), bins.high)
    return palette.heights(counts.reshape(size, bins.number).astype(np.float64)) | {
        "ends": [value_text(column, end, last - first) for end in (first, last)],
        "low": bins.low,
        "high": bins.high,
        "beyond": round(float(table.copies[present & ~inside].sum())),
        "apart": bins.step is not None and (bins.high - bins.low) / bins.number < 1.5 * bins.step,  # a value each
    }


def draw_normal(column: ProfiledColumn, palette: Palette) -> dict[str, Any] | None:
    """Return bars of the normal law with the mean and variance of each class, where no rows are there to be counted."""
    moments = column.facts.moments
    if moments is None or not (moments.weight > 0).any():
        return None
    weight, mean = moments.weight[:, 0], moments.mean[:, 0]
    sd = np.sqrt(np.maximum(moments.scatter[:, 0], 0.0) / np.where(weight > 0, weight, 1.0))
    some = weight > 0
    low, high = float((mean - 3 * sd)[some].min()), float((mean + 3 * sd)[some].max())
    if not high > low:
        return None
    edges = np.linspace(low, high, BARS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    wide = np.maximum(sd, (high - low) / BARS)[:, None]
    density = np.exp(-0.5 * ((middle - mean[:, None]) / wide) ** 2) / wide
    counts = np.where(some[:, None], weight[:, None] * density, 0.0) * (high - low) / BARS / np.sqrt(2 * np.pi)
    ends = [value_text(column, end, high - low) for end in (low, high)]
    return palette.heights(counts) | {"ends": ends, "low": low, "high": high, "beyond": 0, "apart": False}


def draw_levels(
    levels: Sequence[Level], counts: Array, palette: Palette, missing: Array, ordered: bool
) -> dict[str, Any] | None:
    """Return a bar for each of the most common levels, the commonest first, or as they are where they have an order.

    `shares` are those of all cells, and end with that of the `rest`, where there are more levels.
    """
    total = counts.sum(axis=0)
    if not total.any():
        return None
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0]
    shown, rest = order[:MOST_LEVELS], order[MOST_LEVELS:]
    if ordered and not len(rest):
        shown = np.sort(shown)
    own = np.append(total[shown], total[rest].sum() if len(rest) else [])
    return palette.heights(counts[:, shown]) | {
        "levels": [brief(levels[int(i)]) for i in shown],
        "rest": len(rest),
        "apart": True,
        "shares": [float(f"{part:.3g}") for part in own / (total.sum() + float(np.nansum(missing)))],
    }
