"""How plots look: one colour, marker and hatch per class, legends beside the axes, and the door to Matplotlib."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from .._arrays import Array, Codes, np
from ..errors import DataError, pip_install
from ..table.dates import date_ticks
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
GREY = "#8a8a93"
OWN: WeakSet[Any] = WeakSet()  # figures that were made here, so that they may be made wider
LEGEND = 1.4  # inches that their width has for a legend
MOST_POINTS = 1500
FEW_VALUES = 30  # whole numbers, up to which their points are drawn apart


class Display:
    """What every picture has that is drawn: its axes, the first of them where there are several, and its figure."""

    ax_: Axes

    @property
    def figure_(self) -> Any:
        """The figure that the axes are on."""
        return self.ax_.figure


def pyplot() -> ModuleType:
    """Return matplotlib.pyplot; an ImportError that says what to install where it is not there."""
    try:
        return import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError(f"Plots need Matplotlib, which is not installed. Next: {pip_install('plot')}") from error


def new_axes(ax: Axes | None, figsize: tuple[float, float] = (6.4, 4.6)) -> Axes:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    figure, found = pyplot().subplots(figsize=figsize, layout="constrained")
    OWN.add(figure)
    return found


def panels(
    count: int, ax: Axes | None, size: tuple[float, float] = (3.2, 2.5), *, sharex: bool = False, sharey: bool = False
) -> list[Axes]:
    """Return the axes given, or so many of a new figure, in rows of two or three; DataError of none."""
    if not count:
        raise DataError("There is no column that can be drawn by itself. Next: see what the model says of whole rows.")
    if ax is not None:
        return [ax]
    wide = min(count, 3 if count not in (2, 4) else 2)
    high = -(-count // wide)
    look = {"figsize": (max(size[0] * wide, 5.0) + 1.4, max(size[1] * high, 3.2)), "layout": "constrained"}
    figure, grid = pyplot().subplots(high, wide, squeeze=False, sharex=sharex, sharey=sharey, **look)
    OWN.add(figure)
    found: list[Axes] = list(grid.ravel())
    for panel in found[count:]:
        panel.set_axis_off()
    return found[:count]


def color(c: int) -> str:
    """Return the colour of class number `c`, grey in place of black where the style sheet has a dark background."""
    found = COLORS[c % len(COLORS)]
    return GREY if found == "#000000" and on_dark() else found


def marker(c: int) -> str:
    """Return the marker of class number `c`."""
    return MARKERS[c % len(MARKERS)]


def hatch(c: int) -> str:
    """Return the hatch of class number `c`: none for the first eight classes."""
    return HATCHES[(c // 8) % len(HATCHES)]


def rgb(code: str) -> Array:
    """Return a colour as red, green and blue from 0 to 1."""
    return np.array([int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def brief(label: object, most: int = 24) -> str:
    """Return a label as text, its end left out where it is long."""
    text = str(label)
    return text if len(text) <= most else text[: most - 1] + "…"


def ticks(low: float, high: float, count: int, whole: bool = False) -> list[float]:
    """Return round numbers within a range, about so many."""
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(count, integer=whole).tick_values(low, high)
    return [float(x) for x in found if low <= x <= high]


def signed(nats: float) -> str:
    """Return a number of nats with its sign and as many digits as matter."""
    return "+∞" if nats == np.inf else "−∞" if nats == -np.inf else f"{nats:+.2f}".replace("-", "−")


def on_dark() -> bool:
    """Return whether Matplotlib is loaded and draws on a dark background."""
    if "matplotlib" not in sys.modules:
        return False
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(rcParams["axes.facecolor"])
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.3)


def part(texts: Sequence[Any]) -> None:
    """Move texts that would cover each other down, until none does."""
    if not texts:
        return
    figure = texts[0].figure
    figure.draw_without_rendering()  # so that the axes have their place
    done: list[Any] = []
    for text in sorted(texts, key=lambda own: (-own.get_position()[1], own.get_position()[0])):
        box = text.get_window_extent().padded(2.0)
        for other in sorted(done, key=lambda own: -own.y1):
            if box.overlaps(other):
                box = box.translated(0.0, other.y0 - box.y1)
        x = text.axes.transData.transform(text.get_position())[0]
        text.set_position(text.axes.transData.inverted().transform((x, (box.y0 + box.y1) / 2)))
        done.append(box)


def count_scale(ax: Axes) -> None:
    """Give the x axis a logarithmic scale of counts, which are written out."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def say(ax: Axes, text: str) -> None:
    """Say above the axes, at the left, what is shown."""
    ax.set_title(text, fontsize="medium", loc="left", parse_math=False)


def ink() -> str:
    """Return the colour of lines and edges: a dark grey, or that of the text where a style sheet has another."""
    from matplotlib import rcParams

    text = str(rcParams["text.color"])
    return INK if text == "black" else text


def name_axis(ax: Axes, which: str, axis: Axis, cells: Array | None = None) -> None:
    """Label the "x" or "y" axis with the name of its column, and its categories.

    Where all the `cells` that are known are whole numbers, so are the ticks.
    """
    write_label(ax, which, axis.label)
    place = ax.xaxis if which == "x" else ax.yaxis
    if axis.levels is not None:
        write_levels(ax, which, axis.at, [brief(level, 18) for level in axis.levels])
    elif axis.dated:
        from matplotlib.ticker import FixedLocator, FuncFormatter

        place.set_major_locator(FixedLocator(date_ticks(axis.low, axis.high, 3)))
        place.set_major_formatter(FuncFormatter(lambda x, _: axis.says(x)))
    elif axis.whole or (cells is not None and are_whole(cells)):
        from matplotlib.ticker import MaxNLocator

        place.set_major_locator(MaxNLocator(integer=True))
    (ax.set_xlim if which == "x" else ax.set_ylim)(axis.low, axis.high)


def write_levels(ax: Axes, which: str, at: Array, texts: Sequence[str]) -> None:
    """Write the names of categories at an axis, turned where they would cover each other."""
    longest, place = max(map(len, texts), default=0), ax.xaxis if which == "x" else ax.yaxis
    crowded = which == "x" and letter(10.0) * (longest + 1) > length(ax, "x") / max(len(texts), 1)
    turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    place.set_ticks(at, texts, parse_math=False, **turned)


def length(ax: Axes, which: str) -> float:
    """Return about how long an axis is, in inches, before a layout has been made."""
    box = ax.get_position()
    width, height = ax.figure.get_size_inches()
    return float(box.width * width if which == "x" else box.height * height)


def are_whole(cells: Array) -> bool:
    """Return whether all cells that are known are whole numbers."""
    seen = cells[np.isfinite(cells)]
    return bool(len(seen) and (seen == np.round(seen)).all())


def write_label(ax: Axes, which: str, text: str) -> None:
    """Label an axis with a text that may be long, in lines as long as the axis, and hold any character."""
    letters = max(int(length(ax, which) / letter(10.0)), 12)
    wrapped = textwrap.fill(brief(text, 3 * letters), letters)
    (ax.set_xlabel if which == "x" else ax.set_ylabel)(wrapped, parse_math=False)


def class_legend(
    owner: Axes | Figure, classes: Sequence[object], shape: str = "point", shown: Sequence[int] | None = None
) -> Legend:
    """Put a legend to the right of axes, or of a whole figure; `shape` is "point", "line" or "patch".

    It has all classes, or those whose numbers are `shown`.
    """
    from matplotlib.figure import FigureBase
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Artist] = []
    numbers = range(len(classes)) if shown is None else shown
    for c in numbers:
        if shape == "point":
            style: dict[str, object] = {"marker": marker(c), "linestyle": "", "markersize": 6}
            handles.append(Line2D([], [], color=color(c), markeredgecolor=INK, markeredgewidth=0.5, **style))
        elif shape == "line":
            handles.append(Line2D([], [], color=color(c), linestyle=line(c), linewidth=2))
        else:
            handles.append(Patch(facecolor=color(c), edgecolor=INK, linewidth=0.5, hatch=hatch(c)))
    texts, columns = [brief(classes[c]) for c in numbers], 1 + (len(handles) - 1) // 22
    beside: dict[str, object] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    if isinstance(owner, FigureBase):
        beside = {"loc": "outside right upper"}
    legend = owner.legend(
        handles,
        ["class"] * len(handles),  # the texts follow: as labels, some characters would mean something
        **beside,
        frameon=False,
        fontsize="medium" if len(handles) <= 12 else "small",
        ncols=columns,
    )
    for entry, text in zip(legend.get_texts(), texts, strict=True):
        entry.set_parse_math(False)
        entry.set_text(text)
    size, figure = legend.get_texts()[0].get_fontsize(), owner if owner in OWN else owner.figure
    inches = columns * (0.6 + letter(size) * max(map(len, texts)))
    if figure in OWN and inches > LEGEND:  # a figure of our own is made wider by what a legend needs beyond what it has
        figure.set_figwidth(figure.get_figwidth() + inches - LEGEND)
    return legend


def letter(points: float) -> float:
    """Return about how wide a letter of so many points is, in inches."""
    return 0.6 * points / 72.0


def line(c: int) -> str | tuple[int, tuple[float, ...]]:
    """Return the line style of class number `c`: solid for the first eight."""
    return ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)))[(c // 8) % 4]


def scatter(
    ax: Axes, points: Sequence[Array], codes: Codes, k: int, size: float = 22.0, alpha: float = 0.9
) -> list[Artist]:
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
            found.append(ax.scatter(x[own], y[own], s=size, alpha=alpha, zorder=3, **look))
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
