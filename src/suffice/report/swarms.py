"""What the cells of many rows say, on the page: a dot for each row, in a line for each of some columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._arrays import Array, Codes, np
from ..plots._reasons import choose_sides, explained
from ..plots._style import brief, ticks
from ..plots._view import View
from ..schema import Kind, Level, column_name
from .effects import number_text

MOST_SWARMS = 4  # classes
MOST_COLUMNS = 10
MOST_LEVELS = 6  # with a colour of their own
SHADES = 7  # of numbers, from low to high
BINS = 100  # places for dots along a line
STRIP = 1000.0, 48.0  # width and height of a line of dots


def collect_swarms(view: View) -> list[dict[str, Any]] | None:
    """Return what the cells of some of the rows kept say, for the second of two classes, or for the commonest ones.

    None where no rows are kept, of one class, and of forests, which would take a second for each row.
    """
    if len(view.classes) < 2 or view.fitted.statistics.sample is None or not view.fitted.explains_soon:
        return None
    order = np.argsort(-np.asarray(view.estimator.priors_), kind="stable").tolist()
    shown = [1] if len(view.classes) == 2 else order[:MOST_SWARMS]
    return [_swarm(view, view.classes[c]) for c in shown]


def _swarm(view: View, label: Level) -> dict[str, Any]:
    """Return the lines of a class, the columns first whose contributions are largest on average."""
    sides, found = choose_sides(view, label, None), explained(view)
    nats = sides.of(found.contributions)
    size = np.abs(np.where(np.isfinite(nats), nats, 0.0)).mean(axis=0) + np.isinf(nats).any(axis=0) * 1e6
    by_name = np.argsort(np.argsort([str(name) for name in view.schema.names]))
    positions = np.lexsort((by_name, -np.round(size, 12)))[:MOST_COLUMNS].tolist()
    low, high = _ends(nats[:, positions])
    return {
        "sides": sides.words(view.classes),
        "rows": len(nats),
        "lines": [_line(view, p, view.cells(found.rows, p), nats[:, p], low, high) for p in positions],
        "marks": [{"at": 100 * (x - low) / (high - low), "text": number_text(x)} for x in ticks(low, high, 5)],
        "left_out": len(view.schema) - len(positions),
    }


def _ends(nats: Array) -> tuple[float, float]:
    """Return the range of contributions drawn, with zero and a margin."""
    seen = nats[np.isfinite(nats)]
    low, high = float(seen.min(initial=0.0)), float(seen.max(initial=0.0))
    margin = 0.06 * (high - low or 1.0)
    return low - margin, high + margin


def _line(view: View, position: int, values: Array, nats: Array, low: float, high: float) -> dict[str, Any]:
    """Return the dots of a column: `values` (n,), numbers or numbers of levels, at what they contribute (n,)."""
    levels, column = view.levels(position), view.schema.columns[position]
    if levels is None and column.kind is Kind.BOOLEAN:
        levels = (False, True)
    shown = [] if levels is None else _commonest(values, levels)[:MOST_LEVELS]
    chips = [{"name": brief(levels[own], 18), "kind": f"k{i}"} for i, own in enumerate(shown)] if levels else []
    zero = STRIP[0] * (0.0 - low) / (high - low)
    dots = "".join(_dots(np.clip(nats, low, high), _kinds(values, levels, shown), low, high))
    strip = f'<path class="zero" d="M{zero:.1f} 0V{STRIP[1]:.0f}"/>{dots}'
    name = column_name(column.name)
    return {"name": name, "strip": strip, "chips": chips, "missing": int(np.isnan(values).sum())}


def _commonest(values: Array, levels: Sequence[Level]) -> list[int]:
    """Return the numbers of the categories that occur, the commonest first."""
    counts = np.bincount(values[np.isfinite(values)].astype(np.intp), minlength=len(levels))
    found: list[int] = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
    return found


def _kinds(values: Array, levels: Sequence[Level] | None, shown: Sequence[int]) -> list[str]:
    """Return the class in the style sheet of each dot: by rank, by category, or missing."""
    if levels is None:
        rank = np.minimum((np.nan_to_num(ranks(values)) * SHADES).astype(np.intp), SHADES - 1)
        return ["gone" if value != value else f"v{place}" for value, place in zip(values, rank, strict=True)]
    of = {level: f"k{i}" for i, level in enumerate(shown)}
    return ["gone" if value != value else of.get(int(value), "kx") for value in values]


def ranks(values: Array) -> Array:
    """Return the ranks of numbers from 0 to 1, the mean of equal ones; 0.5 if all are equal, NaN where missing."""
    out = np.full(len(values), np.nan)
    known = np.isfinite(values)
    levels, code = np.unique(values[known], return_inverse=True)
    counts = np.bincount(code, minlength=len(levels))
    middle = np.cumsum(counts) - (counts + 1) / 2
    spread = middle[-1] - middle[0] if len(levels) > 1 else 0.0
    out[known] = (middle[code] - middle[0]) / spread if spread else 0.5
    return out


def _dots(x: Array, kinds: Sequence[str], low: float, high: float) -> Iterator[str]:
    """Yield a path for each kind of dots: lines of no length, whose round ends are dots at any width of the page."""
    width, height = STRIP
    across = np.round(width * (x - low) / (high - low)).astype(np.intp)
    up = np.round(height / 2 + swarm(x, low, high) * 0.44 * height).astype(np.intp)
    groups: dict[str, list[int]] = {}
    for i, kind in enumerate(kinds):
        groups.setdefault(kind, []).append(i)
    for kind in sorted(groups):
        index: Codes = np.array(groups[kind])
        d = "".join(f"M{a} {b}h0" for a, b in zip(across[index].tolist(), up[index].tolist(), strict=True))
        yield f'<path class="dots {kind}" d="{d}"/>'


def swarm(x: Array, low: float, high: float) -> Array:
    """Return how far above or below their line dots stand, from −1 to 1, so that those near each other are apart."""
    place = np.clip(((x - low) / max(high - low, 1e-300) * BINS).astype(np.intp), 0, BINS - 1)
    order = np.lexsort((x, place))
    first = np.concatenate([[True], np.diff(place[order]) > 0]) if len(x) else np.zeros(0, dtype=bool)
    start = np.maximum.accumulate(np.where(first, np.arange(len(x)), 0))
    turn = np.arange(len(x)) - start  # 0, 1, 2, … within a bin
    offset = np.zeros(len(x))
    offset[order] = np.where(turn % 2 == 1, 1.0, -1.0) * ((turn + 1) // 2)
    tallest = np.abs(offset).max(initial=0.0)
    return np.asarray(offset / max(tallest, 5.0))  # few dots stay near their line
