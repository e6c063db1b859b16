"""Where the rows of each class lie: ellipses, or contours of the density, over two columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from .._arrays import Array, Codes, np
from ..densities import Gaussian, MultivariateT
from ..errors import SettingError
from ..schema import Level, Name
from . import _style as style
from ._view import Axis, View
from .regions import check_axes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class ClassEllipsesDisplay:
    """The regions that hold 68 % and 95 % of each class over two numeric columns, all others integrated out.

    Under a Gaussian (or Student t) these are ellipses, exactly, whose axes are the eigenvectors of the covariance. Of
    any other density they are the contours of equal density that hold as much. One column alone is drawn as intervals
    of highest density, a line per class.

    Build it with `from_estimator`.

    Attributes
    ----------
    shapes : (centers (k, 2), matrices (k, 2, 2), degrees of freedom (k,)), or None where densities are not elliptic.
    levels : the shares held.
    ax_, figure_ : Matplotlib axes and figure.
    ellipses_ : per class the ellipses, one per level; contours_, points_ : lists of artists.
    """

    axes: tuple[Axis, ...]
    shapes: tuple[Array, Array, Array] | None
    density: Array
    classes: list[Level]
    cells: list[Array]
    codes: Codes
    levels: tuple[float, ...]

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        columns: Sequence[Name] | Name | None = None,
        levels: Sequence[float] = (0.68, 0.95),
        grid: int = 160,
        ax: Axes | None = None,
        **options: bool,
    ) -> Self:
        """Read the class densities of a fitted model and draw them.

        Parameters
        ----------
        estimator : a fitted model; of a `GenerativeClassifier`, its joint model is drawn
        X, y : rows (n, d) to draw, and their labels, both optional; by default those that the model keeps
        columns : two numeric columns, or one; by default the two that tell most about the class
        levels : shares of a class between 0 and 1
        grid : int
            Cells along each axis, for contours.
        ax : Matplotlib axes, optional
        **options : passed to `plot`

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import ClassEllipsesDisplay
        >>> from sklearn.datasets import load_iris
        >>> model = GaussianDiscriminant().fit(*load_iris(return_X_y=True))
        >>> display = ClassEllipsesDisplay.from_estimator(model, columns=[2, 3])
        >>> [len(ellipses) for ellipses in display.ellipses_]
        [2, 2, 2]
        """
        if not levels or not all(0.0 < level < 1.0 for level in levels):
            raise SettingError(f"levels={levels!r} must lie between 0 and 1. Next: levels=(0.68, 0.95).")
        view = View(estimator)
        rows = view.rows(X, y)
        if columns is None:
            positions = view.informative(2, rows, numbers=True, apart=True)
        else:
            positions = view.positions(columns)
        axes = [view.axis(p, rows, grid) for p in positions]
        if not axes or any(axis.levels is not None for axis in axes):
            bad = [axis.label for axis in axes if axis.levels is not None]
            raise SettingError(f"An ellipse needs numbers, not categories: {bad}. Next: see ClassDensitiesDisplay.")
        axes = check_axes(axes)
        shapes = elliptic(view, positions)
        axes = [_reach(axis, shapes, i) for i, axis in enumerate(axes)]
        density = np.exp(view.log_density(axes[::-1]))
        cells, codes = view.drawn(rows, positions)
        return cls(tuple(axes), shapes, density, view.classes, cells, codes, tuple(sorted(levels))).plot(
            ax=ax, **options
        )

    def plot(self, ax: Axes | None = None, *, points: bool = True, legend: bool = True, fill: bool = False) -> Self:
        """Draw on `ax`, or on a new figure; `fill` shades the densities."""
        self.ax_ = style.new_axes(ax)
        self.figure_ = self.ax_.figure
        self.ellipses_: list[list[Artist]] = []
        self.contours_: list[Artist] = []
        self.points_: list[Artist] = []
        style.name_axis(self.ax_, "x", self.axes[0])
        if len(self.axes) == 1:
            self._plot_intervals(points)
        else:
            style.name_axis(self.ax_, "y", self.axes[1])
            self._plot_plane(points, fill)
            if legend:
                style.class_legend(self.ax_, self.classes)
        style.tidy(self.ax_)
        return self

    def _plot_plane(self, points: bool, fill: bool) -> None:
        x, y = self.axes
        k = len(self.classes)
        if points and self.cells:
            drawn = style.spread_out(self.axes, self.cells)
            self.points_ = style.scatter(self.ax_, drawn, self.codes, k, 16.0)
            for artist in self.points_:
                artist.set_alpha(0.55)
        for c in range(k):
            if fill or self.shapes is None:
                self._contour(c, x, y, fill)
            if self.shapes is not None:
                centers, matrices, df = self.shapes
                look = {"edgecolor": style.color(c), "linestyle": style.line(c), "zorder": 4}
                own = ellipses(centers[c], matrices[c], float(df[c]), self.levels, **look)
                self.ellipses_.append([self.ax_.add_patch(patch) for patch in own])
                self.ax_.plot(*centers[c], "+", color=style.ink(), markersize=9, markeredgewidth=1.6, zorder=5)

    def _contour(self, c: int, x: Axis, y: Axis, fill: bool) -> None:
        heights = holding(self.density[..., c], self.levels)
        if fill:
            held = holding(self.density[..., c], (*self.levels, 0.4, 0.15))
            bounds = np.unique([*held, self.density[..., c].max() * 1.01])
            if len(bounds) > 1:
                colors = [(*style.rgb(c), a) for a in np.linspace(0.1, 0.55, len(bounds) - 1)]
                self.ax_.contourf(x.at, y.at, self.density[..., c], levels=bounds, colors=colors, zorder=1)
        if self.shapes is None and len(np.unique(heights)) == len(heights):
            look = {"colors": style.color(c), "linestyles": [style.line(c)] if c >= 8 else "-", "zorder": 4}
            found = self.ax_.contour(
                x.at, y.at, self.density[..., c], levels=heights, linewidths=np.linspace(1.1, 2.0, len(heights)), **look
            )
            self.contours_.append(found)

    def _plot_intervals(self, points: bool) -> None:
        x = self.axes[0]
        for c in range(len(self.classes)):
            for level, height in zip(self.levels[::-1], holding(self.density[:, c], self.levels), strict=True):
                inside = np.flatnonzero(self.density[:, c] >= height)
                for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
                    ends = [x.at[run[0]] - x.step / 2, x.at[run[-1]] + x.step / 2]
                    width = 2.0 if level == self.levels[-1] else 6.0
                    self.contours_ += self.ax_.plot(
                        ends, [c, c], color=style.color(c), linewidth=width, solid_capstyle="butt", zorder=2
                    )
        if points and self.cells:
            at = self.codes + np.random.RandomState(0).uniform(0.15, 0.35, len(self.codes))
            at = np.where(self.codes < 0, np.nan, at)
            self.points_ = style.scatter(self.ax_, (style.spread(x, self.cells[0]), at), self.codes, len(self.classes))
        texts = [style.brief(label) for label in self.classes]
        self.ax_.set_yticks(range(len(texts)), texts, parse_math=False)
        self.ax_.set_ylim(len(texts) - 0.5, -0.5)


def elliptic(view: View, positions: Sequence[int]) -> tuple[Array, Array, Array] | None:
    """Return (centers, matrices, degrees of freedom) of the columns by class, None where densities are not elliptic.

    The matrix is the covariance of a Gaussian, whose degrees of freedom are ∞, and the shape matrix of a Student t.
    """
    k, size = len(view.classes), len(positions)
    blocks: dict[int, list[int]] = {}
    for i, p in enumerate(positions):
        blocks.setdefault(view.place[p][0], []).append(i)
    centers, matrices, df = np.zeros((k, size)), np.zeros((k, size, size)), np.full(k, np.inf)
    for block, own in blocks.items():
        density = view.model.density.blocks[block]
        if not isinstance(density, Gaussian | MultivariateT) or (
            isinstance(density, MultivariateT) and len(own) < size
        ):
            return None
        part = density.marginal([view.place[positions[i]][1] for i in own])
        if len(part.used) < len(own):
            return None
        if isinstance(part, MultivariateT):
            centers[:, own], df = part.location, part.df
            inner = part.scale.dense() * part.inflation[:, None, None]
        else:
            centers[:, own], inner = part.means, part.covariance.dense()
        matrices[np.ix_(range(k), own, own)] = inner
    return centers, matrices, df


def radius(level: float, df: float) -> float:
    """Return the Mahalanobis distance within which a share `level` of a Gaussian, or t, in the plane lies.

    Gaussian: r² = −2 log(1 − level), the χ² quantile for 2 degrees of freedom; t: r² = ν ((1 − level)^(−2/ν) − 1).
    """
    if np.isinf(df):
        return float(np.sqrt(-2.0 * np.log1p(-level)))
    return float(np.sqrt(df * np.expm1(-2.0 / df * np.log1p(-level))))


def ellipses(center: Array, matrix: Array, df: float, levels: Sequence[float], **look: object) -> list[Artist]:
    """Return the ellipses that hold these shares: half axes r √λ along the eigenvectors of the matrix."""
    from matplotlib.patches import Ellipse

    spread, axes = np.linalg.eigh(matrix)
    angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
    found = []
    for i, level in enumerate(levels):
        long, short = 2.0 * radius(level, df) * np.sqrt(np.maximum(spread[::-1], 0.0))
        drawn = look | {"angle": angle, "facecolor": "none", "linewidth": 2.0 if i == 0 else 1.2}
        found.append(Ellipse((float(center[0]), float(center[1])), long, short, **drawn))
    return found


def holding(density: Array, levels: Sequence[float]) -> list[float]:
    """Return the heights of density above which these shares of the grid's mass lie, ascending."""
    heights = np.sort(density.ravel())[::-1]
    mass = np.cumsum(heights)
    total = mass[-1] if mass[-1] > 0 else 1.0
    place = [min(int(np.searchsorted(mass, level * total)), len(heights) - 1) for level in levels]
    return sorted(float(heights[i]) for i in place)


def _reach(axis: Axis, shapes: tuple[Array, Array, Array] | None, i: int) -> Axis:
    """Return the axis, widened where the ellipses of 95 % reach beyond it, but to no more than twice its length."""
    if axis.whole:
        return axis
    margin, length = 0.02 * (axis.high - axis.low), axis.high - axis.low
    if shapes is None:  # so that what lies beyond the rows counts as well
        low, high = axis.low - length / 4, axis.high + length / 4
    else:
        centers, matrices, df = shapes
        r = np.array([radius(0.95, own) for own in df]) * np.sqrt(matrices[:, i, i])
        low = max(min(axis.low, float((centers[:, i] - r).min()) - margin), axis.low - length / 2)
        high = min(max(axis.high, float((centers[:, i] + r).max()) + margin), axis.high + length / 2)
    edges = np.linspace(low, high, len(axis.at) + 1)
    at = (edges[1:] + edges[:-1]) / 2
    return Axis(axis.position, axis.label, at, at, low, high)
