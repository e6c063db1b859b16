"""What cells say, on the page: effect curves, lines of dots, and the telling words of each class, in its colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate
from typing import Any

from .._arrays import Array, cumcount, np, rankdata, xlogy
from ..plots import EffectDisplay
from ..plots._style import are_whole, brief, ticks
from ..plots._view import Axis, View, in_words
from ..plots.reasons import MOST_CURVES, choose_sides, explained
from ..schema import Kind, Level, column_name
from ..stats.texts import TEXTS, TextStats
from ..table.dates import date_ticks
from .drawing import class_color

MOST_COLUMNS = 30  # with a curve; the first of them are open
OPEN = 9
MOST_POINTS = 6_000  # of all curves
WIDE, HIGH, LEFT, FOOT = 240.0, 132.0, 30.0, 104.0  # of a drawing; where its curves begin, and where they end
MOST_SWARMS = 4  # classes
MOST_LINES = 10  # columns
MOST_LEVELS = 6  # with a colour of their own
SHADES = 7  # of numbers, from low to high
BINS = 100  # places for dots along a line
STRIP = 1000.0, 48.0  # width and height of a line of dots


def collect_effects(view: View) -> dict[str, Any] | None:
    """Return what the values of each column say, the columns that tell most first; None of one class."""
    if len(view.classes) < 2:
        return None
    positions = view.informative(MOST_COLUMNS, view.rows())
    if not positions:  # no column can be drawn by itself
        return None
    curves = min(len(view.classes), MOST_CURVES)
    found = EffectDisplay.of(view, positions, grid=int(np.clip(MOST_POINTS // (curves * len(positions)), 24, 60)))
    range_of = [float(np.ptp(np.where(np.isfinite(own), own, 0.0), axis=0).max(initial=0.0)) for own in found.effects]
    order = np.argsort([-round(own, 9) for own in range_of], kind="stable").tolist()
    panels = [_panel(found, i) for i in order]
    sides = found.chosen
    return {
        "panels": panels[:OPEN],
        "more": panels[OPEN:],
        "left_out": len(view.schema) - len(positions),
        "curves": [{"label": brief(view.classes[own.label]), "color": class_color(own.label)} for own in sides],
        "others": sides[0].against is None,
        "against": sides[0].other(view.classes),
    }


def _panel(found: EffectDisplay, i: int) -> dict[str, Any]:
    axis, curves, cells = found.axes[i], found.curves[i], found.cells[i] if found.cells else np.zeros(0)
    colors, limits = [class_color(side.label) for side in found.chosen], found.limits()
    if axis.levels is None:
        drawing, high = _number_curves(axis, curves, cells, colors, limits), HIGH
    else:
        drawing, high = _level_lines(axis, curves, colors, limits), 18.0 * len(axis.levels) + 20.0
    return {
        "name": axis.label,
        "missing": found.missing[i] if found.missing else 0.0,
        "text": _peaks_in_words(axis, curves, [brief(found.classes[side.label]) for side in found.chosen]),
        "svg": f'<svg viewBox="0 0 {WIDE:.0f} {high:.0f}" aria-hidden="true">{"".join(drawing)}</svg>',
    }


def _peaks_in_words(axis: Axis, curves: Array, names: Sequence[str]) -> str:
    """Return at which value each class is spoken for most."""
    said = []
    for s, name in enumerate(names[:3]):
        values = np.where(np.isfinite(curves[:, s]), curves[:, s], -np.inf)
        best = int(values.argmax())
        if np.isfinite(values[best]):
            at = axis.levels[best] if axis.levels is not None else axis.says(float(axis.at[best]))
            said.append(f"{name} most at {brief(at, 18)} ({values[best]:+.1f})".replace("(-", "(−"))
    return "; ".join(said)


def _number_curves(
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
    whole = bool(len(cells)) and are_whole(cells)
    for x in date_ticks(axis.low, axis.high, 2) if axis.dated else ticks(axis.low, axis.high, 4, whole):
        if axis.low <= x <= axis.high:
            anchor = "end" if across(x) > WIDE - 16 else "middle"
            text = axis.says(x) if axis.dated else number_text(x)
            yield f'<text x="{across(x):.1f}" y="{FOOT + 15:.0f}" text-anchor="{anchor}">{text}</text>'
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


def _level_lines(axis: Axis, curves: Array, colors: Sequence[str], limits: tuple[float, float]) -> Iterator[str]:
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
        yield f'<text x="{left - 8:.0f}" y="{y + 3.5:.1f}" text-anchor="end">{escape(_short(level))}</text>'
        for s, color in enumerate(colors):
            value = float(curves[i, s])
            if np.isfinite(value):
                at = y + (s - (len(colors) - 1) / 2) * min(4.0, 12.0 / len(colors))
                yield f'<path class="curve" style="stroke:{color}" d="M{across(0):.1f} {at:.1f}H{across(value):.1f}"/>'
                yield f'<circle cx="{across(value):.1f}" cy="{at:.1f}" r="2.4" style="fill:{color}"/>'


def _short(level: object) -> str:
    """Return a level cut to the room in front of its line, 9.2 times the size of letters: capitals are wide."""
    letters = (1.0 if c in "MWmw@%" or ord(c) > 0x2E7F else 0.75 if c.isupper() else 0.61 for c in str(level))
    return brief(level, sum(width <= 9.2 for width in accumulate(letters)))


def number_text(x: float) -> str:
    """Return a number in few letters, with a true minus."""
    return in_words(round(x, 12)).replace("-", "−")


# --- a line of dots for each column ---


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
    positions = np.lexsort((by_name, -np.round(size, 12)))[:MOST_LINES].tolist()
    seen = nats[:, positions][np.isfinite(nats[:, positions])]
    low, high = float(seen.min(initial=0.0)), float(seen.max(initial=0.0))
    margin = 0.06 * (high - low or 1.0)
    low, high = low - margin, high + margin
    return {
        "sides": sides.words(view.classes),
        "rows": len(nats),
        "lines": [_line(view, p, view.cells(found.rows, p), nats[:, p], low, high) for p in positions],
        "marks": [{"at": 100 * (x - low) / (high - low), "text": number_text(x)} for x in ticks(low, high, 5)],
        "left_out": len(view.schema) - len(positions),
    }


def _line(view: View, position: int, values: Array, nats: Array, low: float, high: float) -> dict[str, Any]:
    """Return the dots of a column: `values` (n,), numbers or numbers of levels, at what they contribute (n,).

    The class of a dot in the style sheet is its category, or of numbers the rank.
    """
    levels, column = view.levels(position), view.schema.columns[position]
    if levels is None and column.kind is Kind.BOOLEAN:
        levels = (False, True)
    missing, chips = np.isnan(values), list[dict[str, str]]()
    kinds = np.full(len(values), "gone")
    if levels is None:
        rank = np.minimum((np.nan_to_num(ranks(values)) * SHADES).astype(np.intp), SHADES - 1)
        kinds = np.where(missing, "gone", np.char.add("v", rank.astype(str)))
    else:
        codes = values[~missing].astype(np.intp)
        counts = np.bincount(codes, minlength=len(levels))
        shown = np.argsort(-counts, kind="stable")[: min(np.count_nonzero(counts), MOST_LEVELS)].tolist()
        chips = [{"name": brief(levels[own], 18), "kind": f"k{i}"} for i, own in enumerate(shown)]
        of = {level: f"k{i}" for i, level in enumerate(shown)}
        kinds[~missing] = [of.get(code, "kx") for code in codes.tolist()]
    width, height = STRIP
    nats = np.clip(nats, low, high)
    across = np.round(width * (nats - low) / (high - low)).astype(np.intp)
    up = np.round(height / 2 + swarm(nats, low, high) * 0.44 * height).astype(np.intp)
    strip = f'<path class="zero" d="M{width * (0.0 - low) / (high - low):.1f} 0V{height:.0f}"/>'
    for kind in np.unique(kinds).tolist():  # lines of no length, whose round ends are dots at any width of the page
        own = kinds == kind
        d = "".join(f"M{a} {b}h0" for a, b in zip(across[own].tolist(), up[own].tolist(), strict=True))
        strip += f'<path class="dots {kind}" d="{d}"/>'
    return {"name": column_name(column.name), "strip": strip, "chips": chips, "missing": int(missing.sum())}


def ranks(values: Array) -> Array:
    """Return the ranks of numbers from 0 to 1, the mean of equal ones; 0.5 if all are equal, NaN where missing."""
    out = np.full(len(values), np.nan)
    known = np.isfinite(values)
    place = rankdata(values[known])
    spread = np.ptp(place) if len(place) else 0.0
    out[known] = (place - place.min()) / spread if spread else 0.5
    return out


def swarm(x: Array, low: float, high: float) -> Array:
    """Return how far above or below their line dots stand, from −1 to 1, so that those near each other are apart."""
    place = np.clip(((x - low) / max(high - low, 1e-300) * BINS).astype(np.intp), 0, BINS - 1)
    order = np.lexsort((x, place))
    turn, offset = cumcount(place[order]), np.zeros(len(x))
    offset[order] = np.where(turn % 2 == 1, 1.0, -1.0) * ((turn + 1) // 2)
    tallest = np.abs(offset).max(initial=0.0)
    return np.asarray(offset / max(tallest, 5.0))  # few dots stay near their line


# ── The telling words of each class, on the page: of every column of texts those that the class has more often ────────


MOST_WORDS = 12
MOST_CLASSES = 12
TELLING = 10.8  # of G², which a word that tells nothing has beyond once in a thousand


def collect_words(view: View) -> list[dict[str, Any]] | None:
    """Return by column of texts the words that tell most of each class; None where there is no column of texts.

    They are ranked by G² (Dunning 1993, aclanthology.org/J93-1003) of the texts of the class and of the others that
    have them, and shown with the shares of these.
    """
    fitted, found = view.fitted, list[dict[str, Any]]()
    for block, stats in zip(fitted.blocks, fitted.statistics.blocks, strict=True):
        if not isinstance(stats, TextStats):
            continue
        for j, position in enumerate(block.positions):
            words = stats.words[j]
            if words:
                classes = _telling_words(view, words, stats.counts[j][:, TEXTS], stats.seen[:, j])
                found.append({"name": column_name(view.schema.names[position]), "classes": classes})
    return found or None


def _telling_words(view: View, words: tuple[str, ...], texts: Array, seen: Array) -> list[dict[str, Any]]:
    found = []
    for c in np.argsort(-seen, kind="stable")[:MOST_CLASSES].tolist():
        own, others, n, rest = texts[c], texts.sum(axis=0) - texts[c], seen[c], seen.sum() - seen[c]
        share, other = own / max(n, 1e-300), others / max(rest, 1e-300)
        score = np.where(share > other, keyness(own, others, n, rest), 0.0)
        best = [i for i in np.argsort(-score, kind="stable")[:MOST_WORDS].tolist() if score[i] >= TELLING]
        told = [{"word": brief(words[i], 30), "share": float(share[i]), "others": float(other[i])} for i in best]
        found.append({"label": str(view.classes[c]), "words": told})
    return found


def keyness(own: Array, others: Array, n: float, rest: float) -> Array:
    """Return G² = 2 Σ O log(O / E) of texts that have words or not, (w,), in a class of n and in the rest."""
    have = (own + others) / max(n + rest, 1e-300)
    total = np.zeros_like(own)
    for count, size in ((own, n), (others, rest)):
        for seen, expected in ((count, size * have), (size - count, size * (1.0 - have))):
            total += 2.0 * (xlogy(seen, seen) - xlogy(seen, np.maximum(expected, 1e-300)))
    return total
