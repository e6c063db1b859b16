"""What the cells of many rows say: a dot for each row, in a line for each of the columns that tell most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from .._arrays import Array, Codes, np
from ..schema import Kind, Level, Name, column_name
from . import _style as style
from ._reasons import choose_sides, explained
from ._view import View

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST = 10  # columns drawn
LOW, MIDDLE, HIGH = "#0072B2", "#b4b4b4", "#D55E00"  # of numbers
LEVELS = ("#1b8a68", "#c0508f", "#a0701a", "#7468c8", "#5a8f22", "#3f86a8")  # of the commonest categories
PLAIN = "#7a7a88"  # of the others
BINS = 110  # places for dots along the line
CROWDED = 10  # dots on one side of a line, beyond which they touch
LETTER = 0.0145  # of the width of the axes, that a letter of a name takes
REACH = 0.42  # of dots above and below their line
LIFT = 0.12  # of the dots of categories, whose names stand below


@dataclass(eq=False, repr=False)
class BeeswarmDisplay:
    """How much each cell of many rows speaks for a class against another: a dot a row, a line a column.

    A dot stands at the contribution of its cell, c_ja − c_jb as `explain` has it, or c_ja, which is less the mean over
    all classes. The columns whose contributions are largest on average, whatever their sign, come first. The colour is
    the rank of a number in its column, from blue (lowest) to orange (highest); the names of categories stand below
    their dots, in their colour. Missing cells are hollow, at 0. A class that is ruled out is a triangle at the edge.

    Build it with `from_estimator`.

    Attributes
    ----------
    contributions : (n, s) in nats, of the columns shown.
    values : (n, s), numbers or numbers of categories, NaN where missing.
    columns : names (s,) of the columns shown, from the top; left_out : how many there are besides.
    sides : who is held against whom.
    ax_, figure_ : Matplotlib axes and figure; dots_ : per column the artist of its dots.
    """

    contributions: Array
    values: Array
    columns: list[str]
    levels: list[Sequence[Level] | None]
    sides: str
    left_out: int

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        *,
        columns: Sequence[Name] | Name | None = None,
        label: Level | None = None,
        against: Level | None = None,
        most: int = MOST,
        rows: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Explain some rows of a table and draw what their cells say.

        Parameters
        ----------
        estimator : a fitted model
        X : table (n, d); by default the rows that the model keeps
        columns : names or positions; by default those that tell most
        label, against : classes, optional
            Who is held against whom: by default the second of two classes against the first, or the commonest against
            all on average.
        most : int
            So many columns are drawn at most.
        rows : int, optional
            So many rows are explained at most, taken at even steps; by default up to 200, and fewer of many columns or
            classes. A `GenerativeForest` takes a second for each.
        ax : Matplotlib axes, optional

        Raises
        ------
        SettingError
            There is no such class, or it is held against itself.
        DataError
            There is no row, or the model has one class only.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import BeeswarmDisplay
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = GaussianDiscriminant(shared=True).fit(X, y)
        >>> display = BeeswarmDisplay.from_estimator(model, X, label=2, against=1)
        >>> display.columns[0], display.contributions.shape
        ('petal width (cm)', (150, 4))
        """
        view = View(estimator)
        return cls.of(view, X, columns=columns, label=label, against=against, most=most, rows=rows).plot(ax=ax)

    @classmethod
    def of(
        cls,
        view: View,
        X: object = None,
        *,
        columns: Sequence[Name] | Name | None = None,
        label: Level | None = None,
        against: Level | None = None,
        most: int = MOST,
        rows: int | None = None,
    ) -> Self:
        """Return what there is to draw, not drawn yet; see `from_estimator`."""
        sides = choose_sides(view, label, against)
        found = explained(view, X, rows)
        nats = sides.of(found.contributions)
        if columns is None:
            size = np.abs(np.where(np.isfinite(nats), nats, 0.0)).mean(axis=0) + np.isinf(nats).any(axis=0) * 1e6
            shown = _largest(size, [str(name) for name in view.schema.names])[:most]
        else:
            shown = view.positions(columns)[:most]
        values = np.stack([view.cells(found.rows, p) for p in shown], axis=1)
        return cls(
            nats[:, shown],
            values,
            [column_name(view.schema.names[p]) for p in shown],
            [_levels(view, p) for p in shown],
            sides.words(view.classes),
            len(view.schema) - len(shown),
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        count = len(self.columns)
        self.ax_ = ax = style.new_axes(ax, (7.4, 1.5 + 0.58 * count))
        self.figure_ = ax.figure
        self.dots_: list[Artist] = []
        low, high = self.edges()
        ax.axvline(0.0, color=style.ink(), linewidth=0.8, zorder=1)
        ax.set_xlim(low, high)
        ax.set_ylim(0.55 - count, 0.6)
        for s in range(count):
            ax.axhline(-s, color="#8a8a93", linewidth=0.4, alpha=0.5, zorder=0)
            self._plot_column(s, low, high)
        ax.set_yticks(-np.arange(count), [style.brief(name) for name in self.columns], parse_math=False)
        ax.tick_params(axis="y", length=0)
        style.write_label(ax, "x", f"contribution to the log-odds of {self.sides}, in nats")
        more = "1 column that tells" if self.left_out == 1 else f"{self.left_out} columns that tell"
        title = f"{len(self.values):,} rows" + (f"; {more} less left out" if self.left_out else "")
        style.say(ax, title)
        if any(levels is None for levels in self.levels):
            self._plot_key(ax)
        style.tidy(ax)
        return self

    def edges(self) -> tuple[float, float]:
        """Return the range of contributions drawn, with zero and a margin."""
        seen = self.contributions[np.isfinite(self.contributions)]
        low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
        low, high = min(low, 0.0), max(high, 0.0)
        margin = 0.06 * (high - low or 1.0)
        return low - margin, high + margin

    def _plot_column(self, s: int, low: float, high: float) -> None:
        x, values = self.contributions[:, s], self.values[:, s]
        ruled, x = np.isinf(x), np.clip(x, low, high)
        known, levels = np.isfinite(values), self.levels[s]
        lift = 0.0 if levels is None else LIFT
        apart = swarm(x, low, high, BINS)
        y = lift - s + apart * (REACH - 1.5 * lift)
        rim = 0.0 if np.abs(apart[apart != 0.0]).min(initial=1.0) < 1.0 / CROWDED else 0.3  # a white one each
        colors = shades(values) if levels is None else np.array(level_colors(values, values, levels), dtype=object)
        for some, look in (
            (known & ~ruled, {"s": 15.0, "c": colors, "linewidths": rim, "edgecolors": "white"}),
            (~known, {"s": 13.0, "facecolors": "none", "linewidths": 0.8, "edgecolors": style.ink()}),
            (ruled, {"s": 28.0, "c": colors, "marker": "<" if (x[ruled] < 0).any() else ">", "clip_on": False}),
        ):
            if some.any():
                own = {key: value[some] if isinstance(value, np.ndarray) else value for key, value in look.items()}
                dots = self.ax_.scatter(x[some], y[some], zorder=3, **own)
                self.dots_ += [dots] if some is not ruled else []
        if levels is not None:
            self._name_levels(s, x, values, (low, high))

    def _name_levels(self, s: int, x: Array, values: Array, ends: tuple[float, float]) -> None:
        """Write the names of the commonest categories near their dots, side by side."""
        shown = commonest(values, self.levels[s] or ())[: len(LEVELS)]
        shown.sort(key=lambda level: float(np.median(x[values == level])))
        colors = level_colors(np.array(shown, dtype=np.float64), values, self.levels[s] or ())
        texts = [style.brief((self.levels[s] or ())[level], 16) for level in shown]
        widths = np.array([LETTER * (ends[1] - ends[0]) * (len(text) + 1) for text in texts])
        places = side_by_side(np.array([float(np.median(x[values == level])) for level in shown]), widths, ends)
        for place, text, color in zip(places, texts, colors, strict=True):
            look = {"ha": "center", "va": "top", "fontsize": "small", "fontweight": "bold", "color": color, "zorder": 4}
            self.ax_.text(place, -s - 0.16, text, parse_math=False, **look)

    def _plot_key(self, ax: Axes) -> None:
        """Put the scale of colours at the right."""
        from matplotlib.cm import ScalarMappable

        bar = ax.figure.colorbar(ScalarMappable(cmap=_colormap()), ax=ax, aspect=30, pad=0.02, fraction=0.03)
        bar.set_ticks([0.0, 1.0], labels=["low", "high"])
        bar.set_label("value, by rank in its column", labelpad=-14)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)


def _levels(view: View, position: int) -> Sequence[Level] | None:
    """Return the categories of a column, or both truth values; None of numbers."""
    found = view.levels(position)
    return (False, True) if found is None and view.schema.columns[position].kind is Kind.BOOLEAN else found


def _largest(size: Array, names: list[str]) -> list[int]:
    """Return the numbers of the columns, largest first, equal ones in order of their names."""
    found: list[int] = np.lexsort((np.argsort(np.argsort(names)), -np.round(size, 12))).tolist()
    return found


def swarm(x: Array, low: float, high: float, bins: int) -> Array:
    """Return how far above or below their line dots stand, from −1 to 1, so that those near each other are apart."""
    place = np.clip(((x - low) / max(high - low, 1e-300) * bins).astype(np.intp), 0, bins - 1)
    order = np.lexsort((x, place))
    first = np.concatenate([[True], np.diff(place[order]) > 0]) if len(x) else np.zeros(0, dtype=bool)
    start = np.maximum.accumulate(np.where(first, np.arange(len(x)), 0))
    turn = np.arange(len(x)) - start  # 0, 1, 2, … within a bin
    offset = np.zeros(len(x))
    offset[order] = np.where(turn % 2 == 1, 1.0, -1.0) * ((turn + 1) // 2)
    tallest = np.abs(offset).max(initial=0.0)
    return np.asarray(offset / max(tallest, 5.0))  # few dots stay near their line


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


def shades(values: Array) -> Codes:
    """Return the colour (n, 4) of each number by its rank."""
    found: Codes = _colormap()(np.nan_to_num(ranks(values), nan=0.5))
    return found


def commonest(values: Array, levels: Sequence[Level]) -> list[int]:
    """Return the numbers of the categories that occur, the commonest first."""
    counts = np.bincount(values[np.isfinite(values)].astype(np.intp), minlength=len(levels))
    found: list[int] = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
    return found


def level_colors(cells: Array, values: Array, levels: Sequence[Level]) -> list[str]:
    """Return the colour of cells by their category; those of the categories commonest in `values` differ."""
    of = dict(zip(commonest(values, levels), LEVELS, strict=False))
    return [of.get(int(cell), PLAIN) if cell == cell else PLAIN for cell in cells]


def side_by_side(centers: Array, widths: Array, ends: tuple[float, float]) -> Array:
    """Return where the centres of ascending boxes stand that do not overlap, near where they should and within `ends`.

    Boxes that are together wider than that go beyond the right end.
    """
    left = centers - widths / 2
    for i in range(len(left) - 2, -1, -1):  # none reaches beyond the end ...
        left[i + 1] = min(left[i + 1], ends[1] - widths[i + 1 :].sum())
    if len(left):
        left[0] = max(min(left[0], ends[1] - widths.sum()), ends[0])
    for i in range(1, len(left)):  # ... or into the one before
        left[i] = max(left[i], left[i - 1] + widths[i - 1])
    return np.asarray(left + widths / 2)


def _colormap() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("value", [LOW, MIDDLE, HIGH])
