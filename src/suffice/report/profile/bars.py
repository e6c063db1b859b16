"""Small pictures of columns as plain values: how many rows of each class hold a level, or lie between two numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..._arrays import Array, Codes, np
from ...plots import _style as style
from ...schema import Level
from .seen import SeenColumn, SeenTable

BARS = 20
MOST_LEVELS = 12  # of a column that have a bar of their own
MOST_CLASSES = 10  # that have a colour of their own; of more the heaviest, but two
MOST_DECIMALS = 6
HEIGHTS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LONGEST = 60  # letters of a level


@dataclass(frozen=True)
class Palette:
    """Which classes have a colour of their own, and what is drawn in grey: all others, and rows without a label."""

    shown: Sequence[int]
    entries: list[dict[str, Any]]
    rest: tuple[int, ...]

    @classmethod
    def of(cls, table: SeenTable) -> Palette:
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
    seen = np.isfinite(values) & (weight > 0)
    own = values[seen]
    if not len(own):
        return None
    low, high = np.quantile(own, [0.005, 0.995])
    reach = (high - low) / 2
    low, high = float(max(own.min(), low - reach)), float(min(own.max(), high + reach))
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


def draw_numbers(column: SeenColumn, table: SeenTable, palette: Palette) -> dict[str, Any] | None:
    """Return the bars of a column of numbers over the rows there are, None where they have no cell."""
    values = column.facts.values
    assert values is not None
    bins = bins_of(values, table.weight)
    if bins is None:
        return None
    place, size = bins.place(values), table.k + 1
    inside = place >= 0
    stands = _stands(column, table)
    cell = table.codes[inside] * bins.number + place[inside]
    counts = np.bincount(cell, weights=stands[inside], minlength=size * bins.number)
    beyond = float(table.copies[column.present & ~inside].sum())
    first = bins.low + (bins.step or 0.0) / 2  # the ends are values that occur, not edges between them
    last = min(float(np.nanmax(np.where(inside, values, np.nan))), bins.high)
    drawn = _heights(palette.fold(counts.reshape(size, bins.number).astype(np.float64)))
    apart = bins.step is not None and (bins.high - bins.low) / bins.number < 1.5 * bins.step  # a value each
    ends = [number(first), number(last)]
    return drawn | {"ends": ends, "low": bins.low, "high": bins.high, "beyond": round(beyond), "apart": apart}


def _stands(column: SeenColumn, table: SeenTable) -> Array:
    """Return what the cell of each row stands for (m,), so that they add up to the cells of the class in all rows."""
    held = np.bincount(table.codes[column.present], weights=table.weight[column.present], minlength=table.k + 1)
    seen = np.where(np.isnan(column.facts.seen), held, column.facts.seen)
    return np.asarray(table.weight * (seen / np.where(held > 0, held, 1.0))[table.codes])


def draw_normal(column: SeenColumn, table: SeenTable, palette: Palette) -> dict[str, Any] | None:
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
    drawn = _heights(palette.fold(counts))
    return drawn | {"ends": [number(low), number(high)], "low": low, "high": high, "beyond": 0, "apart": False}


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
    return _heights(palette.fold(counts[:, shown])) | {
        "levels": [brief(levels[int(i)]) for i in shown],
        "rest": len(rest),
        "apart": True,
        "shares": [float(f"{part:.3g}") for part in own / (total.sum() + float(np.nansum(missing)))],
    }


def _heights(counts: Array) -> dict[str, Any]:
    """Return bars by entry of the palette: a digit to the base 62 for each, in parts of the entry's highest `most`."""
    most = counts.max(axis=1, initial=0.0)
    top = len(HEIGHTS) - 1
    scaled = np.where(counts > 0, np.maximum(np.rint(top * counts / np.where(most > 0, most, 1.0)[:, None]), 1), 0)
    bars = ["".join(HEIGHTS[int(height)] for height in row) for row in scaled]
    return {"bars": bars, "most": [float(f"{own:.4g}") for own in most]}


def brief(level: object, most: int = LONGEST) -> str:
    """Return a level as text on one line, its end left out where it is long; what holds nothing to see is quoted."""
    text = " ".join(str(level).split()) if str(level).strip() else repr(str(level))
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
