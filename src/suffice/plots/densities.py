"""What each column looks like in each class: densities of numbers, bars of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from .._arrays import Array, Codes, np
from ..schema import Level, Name
from . import _style as style
from ._view import MOST_PANELS, Axis, View

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


MOST_LEVELS = 10
NARROW = 1e-300  # of a bar: densities over it would leave the range of floats
FEW_CLASSES = 4  # up to which the rows themselves are shown behind the curves


@dataclass(eq=False, repr=False)
class ClassDensitiesDisplay(style.Display):
    """p(cell | class) of each column, a panel per column: curves for numbers, bars for categories and counts.

    Build it with `from_estimator`.

    Attributes
    ----------
    densities : list with one array (m, k) per column, per unit of the column for numbers.
    axes : the columns drawn.
    axes_ : list of Matplotlib axes; ax_ the first of them; figure_ the figure.
    lines_ : per column the lines (k), bars_ : per column the bar containers; empty lists for the other kind.
    """

    axes: tuple[Axis, ...]
    densities: list[Array]
    classes: list[Level]
    cells: list[Array]
    codes: Codes

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        columns: Sequence[Name] | Name | None = None,
        grid: int = 200,
        ax: Axes | None = None,
        **options: bool,
    ) -> Self:
        """Read the marginal density of each column by class and draw it.

        Parameters
        ----------
        estimator : a fitted model; of a `GenerativeClassifier`, its joint model is drawn
        X, y : rows (n, d) and their labels, whose histograms are drawn behind the curves of up to 4 classes; by default
            the rows that the model keeps
        columns : names or positions; by default all, or the 12 that tell most about the class
        grid : int
            Points of a curve.
        ax : Matplotlib axes, optional
            For one column only.
        **options : passed to `plot`

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> from suffice.plots import ClassDensitiesDisplay
        >>> X = [["red", 1.0], ["red", 2.0], ["blue", 7.0], ["blue", 8.0]]
        >>> display = ClassDensitiesDisplay.from_estimator(NaiveBayes().fit(X, ["a", "a", "b", "b"]))
        >>> [axes.get_xlabel() for axes in display.axes_]
        ['column 0', 'column 1']
        """
        view = View(estimator)
        rows, positions, axes = view.look(X, y, columns, MOST_PANELS, grid)
        densities = [np.exp(view.log_density([axis])) for axis in axes]
        cells, codes = view.drawn(rows, positions)
        return cls(tuple(axes), densities, view.classes, cells, codes).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, rows: bool = True, legend: bool = True) -> Self:
        """Draw on a new figure, or one column on `ax`; `rows` draws histograms of rows behind the curves."""
        self.axes_ = style.panels(len(self.axes), ax)
        self.ax_ = self.axes_[0]
        self.lines_: list[list[Artist]] = []
        self.bars_: list[list[Artist]] = []
        for i, panel in enumerate(self.axes_):
            own = self.cells[i] if rows and self.cells else None
            self._plot_column(panel, self.axes[i], self.densities[i], own)
        if legend:
            owner = self.figure_ if ax is None else ax
            style.class_legend(owner, self.classes, "patch" if not any(self.lines_) else "line")
        return self

    def _plot_column(self, panel: Axes, axis: Axis, density: Array, cells: Array | None) -> None:
        style.tidy(panel)
        if axis.levels is not None:
            self.lines_.append([])
            self.bars_.append(self._plot_bars(panel, axis, density))
            return
        style.name_axis(panel, "x", axis, cells)
        if not axis.whole and not axis.dated:
            panel.locator_params(axis="x", nbins=4 if max(abs(axis.low), abs(axis.high)) >= 1e4 else 6)
        tallest = 0.0
        if cells is not None and len(self.classes) <= FEW_CLASSES:
            edges = np.linspace(axis.low, axis.high, 25)
            for c in range(len(self.classes)):
                own = cells[(self.codes == c) & (cells >= axis.low) & (cells <= axis.high)]
                if len(own) > 1 and not axis.whole and np.diff(edges).min() > NARROW:
                    heights, *_ = panel.hist(own, edges, density=True, color=style.color(c), alpha=0.22)
                    tallest = max(tallest, float(heights.max()))
        lines = []
        for c in range(len(self.classes)):
            look = {"color": style.color(c), "linestyle": style.line(c), "linewidth": 1.8}
            if axis.whole:
                look |= {"drawstyle": "steps-mid"}
            lines += panel.plot(axis.at, density[:, c], **look)
        self.lines_.append(lines)
        self.bars_.append([])
        tops = np.sort(density.max(axis=0))  # a class that hardly varies may be cut off where others would vanish
        top = float(min(tops[-1], 4.0 * np.median(tops)) if np.median(tops) > 0 else tops[-1])
        panel.set_ylim(0.0, max(1.08 * top, min(tallest * 1.03, 1.6 * top)) if top > 0 else 1.0)
        panel.set_yticks([])
        panel.set_ylabel("p(cell | class)" if axis.whole else "density")

    def _plot_bars(self, panel: Axes, axis: Axis, p: Array) -> list[Artist]:
        """Draw bars by level and class; of many levels the most probable ones, and the rest together."""
        assert axis.levels is not None
        texts = [style.brief(level, 14) for level in axis.levels]
        if len(texts) > MOST_LEVELS:
            order = np.sort(np.argsort(-p.mean(axis=1), kind="stable")[: MOST_LEVELS - 1])
            rest = np.setdiff1d(np.arange(len(texts)), order)
            texts = [texts[i] for i in order] + [f"{len(rest)} others"]
            p = np.concatenate([p[order], p[rest].sum(axis=0, keepdims=True)])
        k, at = len(self.classes), np.arange(len(texts), dtype=np.float64)
        width = 0.84 / k
        bars = []
        for c in range(k):
            look = {"color": style.color(c), "hatch": style.hatch(c), "edgecolor": style.INK, "linewidth": 0.3}
            bars.append(panel.bar(at + (c - (k - 1) / 2) * width, p[:, c], width, **look))
        style.write_levels(panel, "x", at, texts)
        panel.set_xlim(-0.55, len(texts) - 0.45)
        panel.set_ylim(0.0, 1.0 if p.max() > 0.6 else 1.15 * p.max())
        style.write_label(panel, "x", axis.label)
        panel.set_ylabel("p(cell | class)")
        return bars
