"""What values say, on the page: effect curves as small drawings that follow its colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from .._arrays import Array, np
from ..plots import EffectDisplay
from ..plots._cells import in_words
from ..plots._style import COLORS, are_whole, brief, ticks
from ..plots._view import Axis, View
from ..plots.effects import MOST_CURVES

MOST_COLUMNS = 30  # with a curve; the first of them are open
OPEN = 9
MOST_POINTS = 6_000  # of all curves
WIDE, HIGH, LEFT, FOOT = 240.0, 132.0, 30.0, 104.0  # of a drawing; where its curves begin, and where they end


def collect_effects(view: View, colors: Sequence[str]) -> dict[str, Any] | None:
    """Return what the values of each column say, the columns that tell most first; None of one class.

    `colors` are those of the classes.
    """
    if len(view.classes) < 2:
        return None
    positions = _by_range(view, view.informative(MOST_COLUMNS, view.rows()))
    if not positions:  # no column can be drawn by itself
        return None
    curves = min(len(view.classes), MOST_CURVES)
    grid = int(np.clip(MOST_POINTS // (curves * len(positions)), 24, 60))
    found = EffectDisplay.of(view, positions, grid=grid)
    limits, shown = found.limits(), [class_color(side.label, colors) for side in found.chosen]
    panels = [_panel(found, i, shown, limits) for i in range(len(positions))]
    return {
        "panels": panels[:OPEN],
        "more": panels[OPEN:],
        "left_out": len(view.schema) - len(positions),
        "curves": [
            {"label": brief(view.classes[side.label]), "color": color}
            for side, color in zip(found.chosen, shown, strict=True)
        ],
        "others": found.chosen[0].against is None,
        "against": found.chosen[0].other(view.classes),
    }


def _by_range(view: View, positions: list[int]) -> list[int]:
    """Return columns by the range of what their values say, the widest first."""
    effects = EffectDisplay.of(view, positions, grid=24).effects if positions else []
    size = [float(np.ptp(np.where(np.isfinite(own), own, 0.0), axis=0).max(initial=0.0)) for own in effects]
    return [positions[i] for i in np.argsort(-np.round(size, 9), kind="stable").tolist()]


def class_color(c: int, colors: Sequence[str]) -> str:
    """Return the colour of a class as a style sheet says it."""
    return f"var(--c{c % len(COLORS)}, {colors[c]})"


def _panel(found: EffectDisplay, i: int, colors: Sequence[str], limits: tuple[float, float]) -> dict[str, Any]:
    axis, curves, cells = found.axes[i], found.curves[i], found.cells[i] if found.cells else np.zeros(0)
    if axis.levels is None:
        drawing, high = "".join(_numbers(axis, curves, cells, colors, limits)), HIGH
    else:
        drawing, high = "".join(_levels(axis, curves, colors, limits)), 18.0 * len(axis.levels) + 20.0
    return {
        "name": axis.label,
        "missing": found.missing[i] if found.missing else 0.0,
        "text": _in_words(axis, curves, [brief(found.classes[side.label]) for side in found.chosen]),
        "svg": f'<svg viewBox="0 0 {WIDE:.0f} {high:.0f}" aria-hidden="true">{drawing}</svg>',
    }


def _in_words(axis: Axis, curves: Array, names: Sequence[str]) -> str:
    """Return at which value each class is spoken for most."""
    said = []
    for s, name in enumerate(names[:3]):
        values = np.where(np.isfinite(curves[:, s]), curves[:, s], -np.inf)
        best = int(values.argmax())
        if np.isfinite(values[best]):
            at = axis.levels[best] if axis.levels is not None else in_words(float(axis.at[best]))
            said.append(f"{name} most at {brief(at, 18)} ({values[best]:+.1f})".replace("(-", "(−"))
    return "; ".join(said)


def _numbers(
    axis: Axis, curves: Array, cells: Array, colors: Sequence[str], limits: tuple[float, float]
) -> Iterator[str]:
    """Yield a drawing of curves over a number, above the shares of the rows."""
    low, high = limits

    def across(x: Any) -> Any:
        return LEFT + (np.asarray(x) - axis.low) / (axis.high - axis.low) * (WIDE - LEFT - 4)

    def up(y: Any) -> Any:
        return 5 + (high - np.asarray(y)) / (high - low) * (FOOT - 5)

    edges = np.linspace(axis.low, axis.high, 25)
    counts = np.histogram(cells[np.isfinite(cells)], edges)[0] if len(cells) else np.zeros(24)
    tops = FOOT - 14 * counts / max(counts.max(), 1)
    width = (WIDE - LEFT - 4) / 24 * 0.9
    bars = "".join(
        f"M{x:.1f} {FOOT:.0f}V{y:.1f}h{width:.1f}V{FOOT:.0f}"
        for x, y in zip(across(edges), tops, strict=False)
        if y < FOOT
    )
    yield f'<path class="shares" d="{bars}"/>'
    for y in ticks(low, high, 4):
        kind = "zero" if y == 0 else "grid"
        yield f'<path class="{kind}" d="M{LEFT:.0f} {up(y):.1f}H{WIDE - 4:.0f}"/>'
        yield f'<text x="{LEFT - 4:.0f}" y="{up(y) + 3.5:.1f}" text-anchor="end">{number_text(y)}</text>'
    for x in ticks(axis.low, axis.high, 4, bool(len(cells)) and are_whole(cells)):
        if axis.low <= x <= axis.high:
            anchor = "end" if across(x) > WIDE - 16 else "middle"
            yield f'<text x="{across(x):.1f}" y="{FOOT + 15:.0f}" text-anchor="{anchor}">{number_text(x)}</text>'
    for s, color in enumerate(colors):
        yield f'<path class="curve" style="stroke:{color}" d="{_path(across(axis.at), up(curves[:, s]))}"/>'


def _path(x: Array, y: Array) -> str:
    """Return a line through points as a path, with a gap where there is none."""
    out, pen = [], "M"
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if b != b or abs(b) == np.inf:
            pen = "M"
            continue
        out.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L"
    return "".join(out)


def _levels(axis: Axis, curves: Array, colors: Sequence[str], limits: tuple[float, float]) -> Iterator[str]:
    """Yield a drawing of a line for each category, with a point for each class."""
    low, high = limits
    left = 96.0

    def across(x: float) -> float:
        return left + (x - low) / (high - low) * (WIDE - left - 6)

    foot = 18.0 * len(axis.levels or ()) + 4
    for x in ticks(low, high, 3):
        kind = "zero" if x == 0 else "grid"
        yield f'<path class="{kind}" d="M{across(x):.1f} 2V{foot:.0f}"/>'
        yield f'<text x="{across(x):.1f}" y="{foot + 12:.0f}" text-anchor="middle">{number_text(x)}</text>'
    for i, level in enumerate(axis.levels or ()):
        y = 18.0 * i + 12
        yield f'<text x="{left - 8:.0f}" y="{y + 3.5:.1f}" text-anchor="end">{escape(brief(level, 15))}</text>'
        for s, color in enumerate(colors):
            value = float(curves[i, s])
            if np.isfinite(value):
                at = y + (s - (len(colors) - 1) / 2) * min(4.0, 12.0 / len(colors))
                yield f'<path class="curve" style="stroke:{color}" d="M{across(0):.1f} {at:.1f}H{across(value):.1f}"/>'
                yield f'<circle cx="{across(value):.1f}" cy="{at:.1f}" r="2.4" style="fill:{color}"/>'


def number_text(x: float) -> str:
    """Return a number in few letters, with a true minus."""
    return in_words(round(x, 12)).replace("-", "−")
