"""What the values of a column say: log-odds of the classes by the cell alone, over all its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from .._arrays import Array, Codes, np
from ..schema import Level, Name
from . import _style as style
from ._reasons import Sides, choose_sides, effect, explained
from ._view import MOST_PANELS, Axis, View

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_LEVELS = 10
MOST_CURVES = 8
FOOT = 0.13  # of a panel's height, where the rows are


@dataclass(eq=False, repr=False)
class EffectDisplay:
    """What each value of a column says for the classes, by itself: log-odds over its values, a panel per column.

    The curve is what the cell adds to the log-odds of a row of which nothing else is known: its weight of evidence,

        e_j(v) = log p(x_j = v | a) − log p(x_j = v | b),   or log p(x_j = v | a) less its mean over all classes,

    with the other columns integrated out. So e_j(v) + log π_a / π_b are the log-odds over all rows of the model that
    have this value, whatever goes along with it. Under naive Bayes it is the very term that the cell adds to any row.
    Where columns depend on each other it also says what the value tells of the others, and what the cell adds to a row
    whose other cells are known differs from it: `rows=True` draws that as dots. Of a `GenerativeClassifier` the curves
    are those of its joint model, as in the other pictures of densities, and the dots are of the pool.

    It is not causal: it does not say what would happen if a cell were changed. It is no partial dependence either,
    which joins values to rows that do not have them.

    Grey bars at the foot are the shares of the rows. A missing cell has a place of its own, where it says nothing: 0.

    Build it with `from_estimator`.

    Attributes
    ----------
    effects : list with one array (m, k) per column: e_jc less its mean over classes, in nats.
    curves : list with one array (m, s) per column: what is drawn, of each of the sides.
    axes : the columns drawn; sides : who is held against whom, as text.
    axes_ : list of Matplotlib axes; ax_ the first of them; figure_ the figure; lines_ : per column its curves.
    """

    axes: tuple[Axis, ...]
    effects: list[Array]
    classes: list[Level]
    chosen: tuple[Sides, ...]
    cells: list[Array]
    missing: list[float]
    contributions: list[Array]
    explained: list[Array]

    def __post_init__(self) -> None:
        self.sides = [side.words(self.classes) for side in self.chosen]
        self.curves = [np.stack([side.of(own) for side in self.chosen], axis=1) for own in self.effects]

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        *,
        columns: Sequence[Name] | Name | None = None,
        label: Level | None = None,
        against: Level | None = None,
        rows: bool = False,
        grid: int = 80,
        ax: Axes | None = None,
        **options: bool,
    ) -> Self:
        """Ask a fitted model for each column alone, and draw what it says.

        Parameters
        ----------
        estimator : a fitted model
        X : rows (n, d), from which the range of each axis, the bars at the foot and the dots are taken; by default
            those that the model keeps
        columns : names or positions; by default all, or the 12 that tell most about the class
        label : a class, optional
            Draw the curve of this class alone. By default the second of two classes, or each of up to eight, the
            commonest ones.
        against : a class, optional
            Against which class; by default the other one of two, or all on average.
        rows : bool
            Draw the contributions to up to 200 rows as dots, of the first of the curves. This takes an `explain` of
            them, seconds for a `GenerativeForest`.
        grid : int
            Points of a curve.
        ax : Matplotlib axes, optional
            For one column only.
        **options : passed to `plot`

        Raises
        ------
        SettingError
            There is no such class, or it is held against itself.
        DataError
            The model has one class only.

        Notes
        -----
        Good (1950), Probability and the weighing of evidence, for log p(v | a) / p(v | b).

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> from suffice.plots import EffectDisplay
        >>> X = [["red", 1.0], ["red", 2.0], ["blue", 7.0], ["blue", 8.0]]
        >>> display = EffectDisplay.from_estimator(NaiveBayes().fit(X, ["a", "a", "b", "b"]), columns=[0])
        >>> display.sides, display.curves[0].round(3).tolist()  # log (3/4 : 1/4) for blue
        (['b against a'], [[1.099], [-1.099]])
        """
        view = View(estimator)
        seen = view.rows(X)
        positions = view.informative(MOST_PANELS, seen) if columns is None else view.positions(columns)
        found = cls.of(view, positions, X, label=label, against=against, rows=rows, grid=grid)
        return found.plot(ax=ax, **options)

    @classmethod
    def of(
        cls,
        view: View,
        positions: Sequence[int],
        X: object = None,
        *,
        label: Level | None = None,
        against: Level | None = None,
        rows: bool = False,
        grid: int = 80,
    ) -> Self:
        """Return what there is to draw of some columns, not drawn yet; see `from_estimator`."""
        seen = view.rows(X)
        axes = [view.readable(view.axis(p, seen, grid), MOST_LEVELS) for p in positions]
        drawn, _ = view.drawn(seen, positions)
        cells = [axis.on(own) for axis, own in zip(axes, drawn, strict=False)]
        missing = [float(np.isnan(own).mean()) if len(own) else 0.0 for own in drawn]
        at, found = [], []
        if rows:
            some = explained(view, X)
            at = [axis.on(view.cells(some.rows, p)) for axis, p in zip(axes, positions, strict=True)]
            found = [some.contributions[:, p] for p in positions]
        effects = [effect(view, axis) for axis in axes]
        chosen = _chosen(view, label, against)
        return cls(tuple(axes), effects, view.classes, chosen, cells, missing, found, at)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> Self:
        """Draw on a new figure, or one column on `ax`."""
        self.axes_ = style.panels(len(self.axes), ax, sharey=True)
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        self.lines_: list[list[Artist]] = []
        limits = self.limits()
        for i, panel in enumerate(self.axes_):
            self._plot_column(panel, i, limits)
        if len(self.chosen) == 1:
            words = f"log-odds of {self.sides[0]}, in nats"
            if ax is None:
                self.figure_.supylabel(words, fontsize="medium", parse_math=False)
            else:
                style.write_label(ax, "y", words)
        elif legend:
            owner = self.figure_ if ax is None else ax
            style.class_legend(owner, self.classes, "line", [side.label for side in self.chosen])
            words = f"log-odds against {self.chosen[0].other(self.classes)}, in nats"
            self.figure_.supylabel(words, fontsize="medium", parse_math=False) if ax is None else style.write_label(
                ax, "y", words
            )
        return self

    def limits(self) -> tuple[float, float]:
        """Return the range of log-odds drawn: the curves, most of the dots, zero, and room for the foot."""
        seen = np.concatenate([own.ravel() for own in self.curves])
        ends = [0.0, *seen[np.isfinite(seen)].tolist()]
        for own in self.contributions:
            dots = self.chosen[0].of(own)
            if np.isfinite(dots).any():
                ends += np.quantile(dots[np.isfinite(dots)], [0.01, 0.99]).tolist()
        low, high = min(ends), max(ends)
        margin = 0.06 * (high - low or 1.0)
        return low - margin - FOOT / (1 - FOOT) * (high - low + 2 * margin), high + margin

    def _plot_column(self, panel: Axes, i: int, limits: tuple[float, float]) -> None:
        axis, curves = self.axes[i], self.curves[i]
        style.tidy(panel)
        panel.axhline(0.0, color=style.ink(), linewidth=0.7, zorder=1)
        drawn = np.where(np.isfinite(curves), curves, np.nan)  # a class ruled out has no place
        self._dots(panel, axis, i)
        for s, side in enumerate(self.chosen):
            self._plot_curve(panel, axis, drawn[:, s], side.label, s)
        style.name_axis(panel, "x", axis, self.cells[i] if self.cells else None)
        panel.set_ylim(*limits)
        if self.cells:
            self._plot_foot(panel, axis, self.cells[i])
            self._plot_missing(panel, axis, self.missing[i])
        if not axis.levels and not axis.whole:
            panel.locator_params(axis="x", nbins=4 if max(abs(axis.low), abs(axis.high)) >= 1e4 else 6)

    def _plot_curve(self, panel: Axes, axis: Axis, values: Array, c: int, s: int) -> None:
        look: dict[str, object] = {"color": style.color(c), "zorder": 3}
        if axis.levels is not None:
            count = len(self.chosen)
            at = axis.at + (s - (count - 1) / 2) * min(0.14, 0.6 / count)
            panel.vlines(at, 0.0, values, linewidth=1.6, **look)
            self.lines_[-1] += panel.plot(at, values, linestyle="", marker=style.marker(c), markersize=5, **look)
            return
        look |= {"linestyle": style.line(c), "linewidth": 2.0} | ({"drawstyle": "steps-mid"} if axis.whole else {})
        self.lines_[-1] += panel.plot(axis.at, values, **look)

    def _dots(self, panel: Axes, axis: Axis, i: int) -> None:
        """Draw the contributions to rows."""
        self.lines_.append([])
        if not self.explained:
            return
        dots = self.chosen[0].of(self.contributions[i])
        at = style.spread(axis, self.explained[i], 0.18)
        look = {"s": 7.0, "color": style.color(self.chosen[0].label), "alpha": 0.35, "linewidths": 0.0, "zorder": 2}
        panel.scatter(at, np.where(np.isfinite(dots), dots, np.nan), **look)

    def _plot_foot(self, panel: Axes, axis: Axis, cells: Array) -> None:
        """Draw the shares of the rows at the foot."""
        if axis.levels is None and not axis.whole:
            edges = np.linspace(axis.low, axis.high, 31)
        else:
            edges = np.concatenate([axis.at - axis.step / 2, [axis.at[-1] + axis.step / 2]])
        counts, _ = np.histogram(cells[np.isfinite(cells)], edges)
        heights = 0.8 * FOOT * counts / max(counts.max(), 1)
        look = {"color": "#8a8a93", "alpha": 0.55, "linewidth": 0, "zorder": 0}
        panel.bar(
            (edges[1:] + edges[:-1]) / 2, heights, np.diff(edges) * 0.92, transform=panel.get_xaxis_transform(), **look
        )

    def _plot_missing(self, panel: Axes, axis: Axis, missing: float) -> None:
        """Give missing cells a place of their own, where they say nothing."""
        if not missing:
            return
        place = axis.high + 0.09 * (axis.high - axis.low)
        panel.set_xlim(axis.low, axis.high + 0.15 * (axis.high - axis.low))
        panel.axvline(axis.high + 0.03 * (axis.high - axis.low), color="#8a8a93", linewidth=0.6, linestyle=":")
        panel.plot([place], [0.0], "o", color=style.ink(), markerfacecolor="none", markersize=5, zorder=4)
        low, high = panel.get_ylim()
        up = -low < 0.5 * (high - low)
        words = {"rotation": 90, "ha": "center", "va": "top" if up else "bottom", "fontsize": "x-small"}
        text = f"missing, {max(100 * missing, 1):.0f} %"
        panel.text(place, 0.98 if up else 0.03, text, transform=panel.get_xaxis_transform(), **words)


def _chosen(view: View, label: Level | None, against: Level | None) -> tuple[Sides, ...]:
    """Return who is held against whom: one class, or of more than two each of the commonest."""
    first = choose_sides(view, label, against)
    if label is not None or len(view.classes) == 2:
        return (first,)
    order = np.argsort(-np.asarray(view.estimator.priors_), kind="stable").tolist()
    shown: Codes = np.sort([c for c in order if c != first.against][:MOST_CURVES])
    return tuple(Sides(int(c), first.against) for c in shown)
