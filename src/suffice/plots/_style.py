"""How plots look: one colour, marker and hatch per class, legends beside the axes, and the door to Matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from .._arrays import Array, Codes, np
from ._view import Axis

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

# The eight of Okabe & Ito (2008), Color Universal Design; then colours as far as possible from all before them, in
# OKLab, as seen with and without red-green blindness.
COLORS: tuple[str, ...] = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442"),
    *("#880044", "#0000FF", "#00EEBB", "#6600AA", "#9966FF", "#775500", "#BB2288", "#99BB99"),
    *("#BBCCFF", "#FF4477", "#DD00CC", "#995555", "#444466", "#DDCC88", "#00CC55", "#FF77CC"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d", "*")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "ooo", "+++")
INK = "#333333"
MOST_POINTS = 1500
FEW_VALUES = 30  # whole numbers, up to which their points are drawn apart


def pyplot() -> ModuleType:
    """Return matplotlib.pyplot; an ImportError that says what to install where it is not there."""
    try:
        return import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("Plots need Matplotlib, which is not installed. Next: pip install 'suffice[plot]'") from error


def new_axes(ax: Axes | None, figsize: tuple[float, float] = (6.4, 4.6)) -> Axes:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=figsize, layout="constrained")[1]


def color(c: int) -> str:
    """Return the colour of class number `c`."""
    return COLORS[c % len(COLORS)]


def marker(c: int) -> str:
    """Return the marker of class number `c`."""
    return MARKERS[c % len(MARKERS)]


def hatch(c: int) -> str:
    """Return the hatch of class number `c`: none for the first eight classes."""
    return HATCHES[(c // 8) % len(HATCHES)]


def rgb(c: int) -> Array:
    """Return the colour of class number `c` as red, green and blue from 0 to 1."""
    code = color(c)
    return np.array([int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def brief(label: object, most: int = 24) -> str:
    """Return a label as text, its end left out where it is long."""
    text = str(label)
    return text if len(text) <= most else text[: most - 1] + "…"


def name_axis(ax: Axes, which: str, axis: Axis) -> None:
    """Label the "x" or "y" axis with the name of its column, and its categories."""
    write_label(ax, which, axis.label)
    place = ax.xaxis if which == "x" else ax.yaxis
    if axis.levels is not None:
        texts = [brief(level, 18) for level in axis.levels]
        crowded = which == "x" and sum(map(len, texts)) > 44
        turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        place.set_ticks(axis.at, texts, parse_math=False, **turned)
    elif axis.whole:
        from matplotlib.ticker import MaxNLocator

        place.set_major_locator(MaxNLocator(integer=True))
    (ax.set_xlim if which == "x" else ax.set_ylim)(axis.low, axis.high)


def write_label(ax: Axes, which: str, text: str) -> None:
    """Label an axis with a text that may be long and hold any character."""
    wrapped = textwrap.fill(text, 48) if len(text) > 48 else text
    (ax.set_xlabel if which == "x" else ax.set_ylabel)(wrapped, parse_math=False)


def class_legend(owner: Axes | Figure, classes: Sequence[object], shape: str = "point") -> Legend:
    """Put a legend of all classes to the right of axes, or of a whole figure; `shape` is "point", "line" or "patch"."""
    from matplotlib.figure import FigureBase
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Artist] = []
    for c in range(len(classes)):
        if shape == "point":
            style: dict[str, object] = {"marker": marker(c), "linestyle": "", "markersize": 6}
            handles.append(Line2D([], [], color=color(c), markeredgecolor=INK, markeredgewidth=0.5, **style))
        elif shape == "line":
            handles.append(Line2D([], [], color=color(c), linestyle=line(c), linewidth=2))
        else:
            handles.append(Patch(facecolor=color(c), edgecolor=INK, linewidth=0.5, hatch=hatch(c)))
    texts = [brief(label) for label in classes]
    beside: dict[str, object] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    if isinstance(owner, FigureBase):
        beside = {"loc": "outside right upper"}
    legend = owner.legend(
        handles,
        ["class"] * len(handles),  # the texts follow: as labels, some characters would mean something
        **beside,
        frameon=False,
        fontsize="medium" if len(handles) <= 12 else "small",
        ncols=1 + (len(handles) - 1) // 22,
    )
    for entry, text in zip(legend.get_texts(), texts, strict=True):
        entry.set_parse_math(False)
        entry.set_text(text)
    return legend


def line(c: int) -> str | tuple[int, tuple[float, ...]]:
    """Return the line style of class number `c`: solid for the first eight."""
    return ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)))[(c // 8) % 4]


def scatter(ax: Axes, points: Sequence[Array], codes: Codes, k: int, size: float = 22.0) -> list[Artist]:
    """Draw points (x and y, n each) in the colour and marker of their class, crosses where it is not known.

    Return the artists. At most MOST_POINTS of them, always the same ones.
    """
    x, y = points
    index = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if len(index) > MOST_POINTS:
        index = np.sort(np.random.RandomState(0).permutation(index)[:MOST_POINTS])
    size *= 1.0 if len(index) < 400 else 0.6
    found = []
    for c in range(-1, k):
        own = index[codes[index] == c]
        if len(own):
            look: dict[str, object] = {"color": color(c), "marker": marker(c), "edgecolors": INK, "linewidths": 0.4}
            if c < 0:
                look = {"color": INK, "marker": "x", "linewidths": 0.7}
            found.append(ax.scatter(x[own], y[own], s=size, alpha=0.9, zorder=3, **look))
    return found


def spread_out(axes: Sequence[Axis], cells: Sequence[Array]) -> list[Array]:
    """Return the cells of each axis as they are drawn."""
    return [spread(axis, own, seed=i) for i, (axis, own) in enumerate(zip(axes, cells, strict=True))]


def spread(axis: Axis, cells: Array, reach: float = 0.28, seed: int = 0) -> Array:
    """Return cells as they are drawn: categories and few whole numbers are spread about their place."""
    if axis.levels is None and not axis.whole:
        seen = np.unique(cells[np.isfinite(cells)])
        if len(seen) > FEW_VALUES or (seen != np.round(seen)).any() or len(cells) < 3 * len(seen):
            return cells
    return np.asarray(cells + np.random.RandomState(seed).uniform(-reach, reach, len(cells)))


def tidy(ax: Axes) -> None:
    """Take away the frame's upper and right side."""
    ax.spines[["top", "right"]].set_visible(False)
