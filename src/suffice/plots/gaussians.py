"""Where classes lie: ellipses or contours, the components of mixtures, and the discriminant plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from .._arrays import Array, Codes, by_key, log_of, log_softmax, np
from ..densities import Gaussian, Mixture, MultivariateT
from ..errors import DataError, SettingError
from ..schema import Kind, Level, Name
from ..table import NewColumn, make_table
from . import _style as style
from ._view import Axis, View
from .regions import check_axes, draw_boundaries, paint, shade

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


MOST_TEXTS = 12  # components whose shares are written


@dataclass(eq=False, repr=False)
class ClassEllipsesDisplay(style.Display):
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
        rows, positions, axes = view.look(X, y, columns, 2, grid, numbers=True, apart=True)
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
            self.points_ = style.scatter(self.ax_, drawn, self.codes, k, 16.0, alpha=0.55)
        for c in range(k):
            if fill or self.shapes is None:
                self._contour(c, x, y, fill)
            if self.shapes is not None:
                centers, matrices, df = self.shapes
                self.ellipses_.append(ellipses(self.ax_, c, centers[c], matrices[c], float(df[c]), self.levels))
                self.ax_.plot(*centers[c], "+", color=style.ink(), markersize=9, markeredgewidth=1.6, zorder=5)

    def _contour(self, c: int, x: Axis, y: Axis, fill: bool) -> None:
        heights = holding(self.density[..., c], self.levels)
        if fill:
            held = holding(self.density[..., c], (*self.levels, 0.4, 0.15))
            bounds = np.unique([*held, self.density[..., c].max() * 1.01])
            if len(bounds) > 1:
                colors = [(*style.rgb(style.color(c)), a) for a in np.linspace(0.1, 0.55, len(bounds) - 1)]
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
    centers, matrices, df = np.zeros((k, size)), np.zeros((k, size, size)), np.full(k, np.inf)
    for block, own in by_key((view.place[p][0], i) for i, p in enumerate(positions)).items():
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


def ellipses(ax: Axes, c: int, center: Array, matrix: Array, df: float, levels: Sequence[float]) -> list[Artist]:
    """Draw the ellipses that hold these shares of class c: half axes r √λ along the eigenvectors of the matrix."""
    from matplotlib.patches import Ellipse

    spread, axes = np.linalg.eigh(matrix)
    angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
    found = []
    for i, level in enumerate(levels):
        long, short = 2.0 * radius(level, df) * np.sqrt(np.maximum(spread[::-1], 0.0))
        look: dict[str, Any] = {"edgecolor": style.color(c), "linestyle": style.line(c), "facecolor": "none"}
        look |= {"angle": angle, "linewidth": 2.0 if i == 0 else 1.2, "zorder": 4}
        found.append(ax.add_patch(Ellipse((float(center[0]), float(center[1])), long, short, **look)))
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
    return axis.between(low, high, len(axis.at))


@dataclass(eq=False, repr=False)
class MixtureComponentsDisplay(style.Display):
    """The Gaussians that make up each class of a `MixtureDiscriminant`, over two columns or one.

    In the plane every component is the ellipse that holds 68 % of it, with its share of its class written at its
    centre. Over one column it is a thin curve, weighted by its share, below the density of the class.

    Build it with `from_estimator`.

    Attributes
    ----------
    weights : (m,) shares within the class; centers : (m, 1 or 2); covariances : (m, 1 or 2, 1 or 2);
    owner : (m,) class numbers.
    ax_, figure_ : Matplotlib axes and figure; ellipses_ : one artist per component; texts_, points_ : lists of artists.
    """

    axes: tuple[Axis, ...]
    parts: tuple[Array, Array, Array]
    owner: Codes
    classes: list[Level]
    cells: list[Array]
    codes: Codes

    def __post_init__(self) -> None:
        self.weights, self.centers, self.covariances = self.parts

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        columns: Sequence[Name] | Name | None = None,
        ax: Axes | None = None,
        **options: bool,
    ) -> Self:
        """Read the components of a fitted mixture and draw them.

        Parameters
        ----------
        estimator : a fitted `MixtureDiscriminant`
        X, y : rows (n, d) to draw and their labels, both optional; by default those that the model keeps
        columns : two columns, or one; by default the two that tell most about the class
        ax : Matplotlib axes, optional
        **options : passed to `plot`

        Raises
        ------
        SettingError
            The model is no mixture.

        Examples
        --------
        >>> from suffice import MixtureDiscriminant
        >>> from suffice.plots import MixtureComponentsDisplay
        >>> from sklearn.datasets import load_iris
        >>> model = MixtureDiscriminant(2, random_state=0).fit(*load_iris(return_X_y=True))
        >>> len(MixtureComponentsDisplay.from_estimator(model).ellipses_)
        6
        """
        view = View(estimator)
        mixture = view.model.density.blocks[0]
        if not isinstance(mixture, Mixture):
            raise SettingError(
                f"{type(estimator).__name__} has one density per class, no components. Next: see ClassEllipsesDisplay."
            )
        rows, positions, axes = view.look(X, y, columns, 2, 300)
        axes = check_axes(axes)
        part = mixture.components.marginal([view.place[p][1] for p in positions])
        cells, codes = view.drawn(rows, positions)
        covariances = np.broadcast_to(part.covariances(), (len(part.means), 2, 2))
        parts = np.exp(mixture.log_weight), part.means, covariances
        return cls(tuple(axes), parts, mixture.owner, view.classes, cells, codes).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, points: bool = True, legend: bool = True) -> Self:
        """Draw on `ax`, or on a new figure."""
        self.ax_ = style.new_axes(ax)
        self.ellipses_: list[Artist] = []
        self.texts_: list[Artist] = []
        self.points_: list[Artist] = []
        style.name_axis(self.ax_, "x", self.axes[0])
        if len(self.axes) == 1:
            self._plot_line()
        else:
            self._plot_plane(points)
        if legend:
            style.class_legend(self.ax_, self.classes, "line" if len(self.axes) == 1 else "point")
        style.tidy(self.ax_)
        return self

    def _plot_plane(self, points: bool) -> None:
        style.name_axis(self.ax_, "y", self.axes[1])
        if points and self.cells:
            drawn = style.spread_out(self.axes, self.cells)
            self.points_ = style.scatter(self.ax_, drawn, self.codes, len(self.classes), 14.0, alpha=0.4)
        for m, c in enumerate(self.owner.tolist()):
            self.ellipses_ += ellipses(self.ax_, c, self.centers[m], self.covariances[m], np.inf, (0.68,))
            if len(self.owner) > MOST_TEXTS:
                continue
            box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": style.color(c), "alpha": 0.9}
            text = f"{100 * self.weights[m]:.0f} %"
            look = {"ha": "center", "va": "center", "fontsize": "small", "zorder": 5, "bbox": box, "color": style.INK}
            self.texts_.append(self.ax_.text(*self.centers[m], text, clip_on=True, **look))
        style.part(self.texts_)
        shares = ", and its share of its class" if self.texts_ else ""
        style.say(self.ax_, f"68 % of each component{shares}")

    def _plot_line(self) -> None:
        x, edges = self.axes[0].at, np.linspace(self.axes[0].low, self.axes[0].high, 31)
        sd = np.sqrt(self.covariances[:, 0, 0])
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (x[:, None] - self.centers[:, 0]) / sd
            curves = np.nan_to_num(self.weights * np.exp(-0.5 * z**2) / (sd * np.sqrt(2.0 * np.pi)))
        for m, c in enumerate(self.owner.tolist()):
            self.ellipses_ += self.ax_.plot(x, curves[:, m], color=style.color(c), linewidth=0.9)
        for c in range(len(self.classes)):
            whole = curves[:, self.owner == c].sum(axis=1)
            self.ax_.plot(x, whole, color=style.color(c), linestyle=style.line(c), linewidth=2.2)
            if self.cells:
                own = self.cells[0][(self.codes == c) & np.isfinite(self.cells[0])]
                if len(own) > 1 and len(self.classes) <= 4:
                    self.ax_.hist(own, edges, density=True, color=style.color(c), alpha=0.18)
        self.ax_.set_ylim(bottom=0.0)
        self.ax_.set_ylabel("density")


@dataclass(eq=False, repr=False)
class DiscriminantPlaneDisplay(style.Display):
    """Rows, class means and decision regions in the first two discriminant coordinates of a shared covariance.

    Within every class the coordinates are uncorrelated with variance 1, so each class is the same circle, drawn where
    it holds 68 % and 95 % of the rows. Regions are exact for three classes; with more, the other coordinates are
    integrated out. Two classes have one coordinate, drawn as a curve and a histogram per class.

    Build it with `from_estimator`.

    Attributes
    ----------
    coordinates : (n, 1 or 2) of the rows; means : (k, 1 or 2) of the class means.
    shares : how much of the variance between classes each coordinate holds, of all coordinates.
    ax_, figure_ : Matplotlib axes and figure; points_, circles_, boundaries_ : lists of artists.
    """

    coordinates: Array
    means: Array
    shares: Array
    priors: Array
    classes: list[Level]
    codes: Codes

    @classmethod
    def from_estimator(
        cls, estimator: object, X: object = None, y: object = None, *, ax: Axes | None = None, **options: bool
    ) -> Self:
        """Transform rows by a fitted `GaussianDiscriminant(shared=True)` and draw them.

        Parameters
        ----------
        estimator : a fitted model with `transform`
        X, y : rows (n, d) and their labels; by default those that the model keeps. Rows with a missing cell have no
            coordinates and are left out.
        ax : Matplotlib axes, optional
        **options : passed to `plot`

        Raises
        ------
        SettingError
            The model has no shared covariance.
        DataError
            The model has one class, or no column that varies.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import DiscriminantPlaneDisplay
        >>> from sklearn.datasets import load_iris
        >>> model = GaussianDiscriminant(shared=True).fit(*load_iris(return_X_y=True))
        >>> DiscriminantPlaneDisplay.from_estimator(model).ax_.get_xlabel()
        'discriminant 1 (99 % between classes)'
        """
        view = View(estimator)
        priors = view.estimator.priors_
        try:
            transform, class_means = view.estimator.transform, view.estimator.means_
        except AttributeError:
            raise SettingError(
                "Discriminant coordinates exist where all classes share one covariance. "
                "Next: fit GaussianDiscriminant(shared=True)."
            ) from None
        columns = [
            NewColumn(own.name, Kind.NUMERIC if own.kind is Kind.BOOLEAN else own.kind, center, form=own.form)
            for own, center in zip(view.schema.columns, class_means.T, strict=True)
        ]
        centers = make_table(view.schema.container, view.schema.named, columns)
        means = np.asarray(transform(centers), dtype=np.float64)
        if not means.shape[1]:
            raise DataError(
                "There is no direction in which classes differ: the model has one class, or no column that varies. "
                "Next: take a ClassDensitiesDisplay."
            )
        spread = (priors[:, None] * means**2).sum(axis=0)
        rows = view.rows(X, y)
        if X is None and rows is not None:
            X = view.kept()[0]
        coordinates = np.zeros((0, means.shape[1])) if X is None else np.asarray(transform(X), dtype=np.float64)
        shares = spread / spread.sum() if spread.sum() > 0 else spread
        _, codes = view.drawn(rows, ())
        return cls(coordinates[:, :2], means[:, :2], shares, priors, view.classes, codes).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, points: bool = True, regions: bool = True, legend: bool = True) -> Self:
        """Draw on `ax`, or on a new figure."""
        self.ax_ = style.new_axes(ax)
        self.points_: list[Artist] = []
        self.circles_: list[Artist] = []
        self.boundaries_: list[Artist] = []
        for which, number, share in zip("xy", "12", self.shares[: self.means.shape[1]], strict=False):
            style.write_label(self.ax_, which, f"discriminant {number} ({100 * share:.0f} % between classes)")
        if self.means.shape[1] > 1 and len(self.classes) <= 8:
            style.say(self.ax_, "circles hold 68 % and 95 % of a class")
        if self.means.shape[1] == 1:
            self._plot_line()
        else:
            self._plot_plane(points, regions)
        if legend:
            style.class_legend(self.ax_, self.classes, "line" if self.means.shape[1] == 1 else "point")
        return self

    def _limits(self) -> list[tuple[float, float]]:
        reach = radius(0.95, np.inf)
        low, high = self.means.min(axis=0) - reach, self.means.max(axis=0) + reach
        seen = self.coordinates[np.isfinite(self.coordinates).all(axis=1)]
        if len(seen):
            low = np.minimum(low, np.quantile(seen, 0.002, axis=0))
            high = np.maximum(high, np.quantile(seen, 0.998, axis=0))
        margin = 0.04 * (high - low)
        if len(low) == 2:  # of equal units, and not too flat
            margin = np.maximum(margin, (0.6 * (high - low).max() - (high - low)) / 2)
        return list(zip((low - margin).tolist(), (high + margin).tolist(), strict=True))

    def _plot_plane(self, points: bool, regions: bool) -> None:
        x, y = (Axis.over(i, "", low, high, 200) for i, (low, high) in enumerate(self._limits()))
        k = len(self.classes)
        if regions:
            at = np.stack(np.meshgrid(x.at, y.at), axis=-1)
            score = log_of(self.priors) - 0.5 * ((at[:, :, None] - self.means) ** 2).sum(axis=-1)
            posterior = np.exp(log_softmax(score.reshape(-1, k))).reshape(score.shape)
            self.surface_ = paint(self.ax_, x, y, shade(posterior))
            self.boundaries_ = draw_boundaries(self.ax_, x.at, y.at, posterior)
        if points and len(self.coordinates):
            self.points_ = style.scatter(self.ax_, list(self.coordinates.T), self.codes, k, 16.0)
        for c in range(k):
            if k <= 8:
                self.circles_ += ellipses(self.ax_, c, self.means[c], np.eye(2), np.inf, (0.68, 0.95))
            self.ax_.plot(*self.means[c], "+", color=style.INK, markersize=10, markeredgewidth=1.8, zorder=5)
        self.ax_.set_xlim(x.low, x.high)
        self.ax_.set_ylim(y.low, y.high)
        self.ax_.set_aspect("equal")

    def _plot_line(self) -> None:
        ((low, high),) = self._limits()
        at, edges = np.linspace(low, high, 300), np.linspace(low, high, 40)
        for c in range(len(self.classes)):
            own = self.coordinates[self.codes == c, 0]
            own = own[np.isfinite(own)]
            if len(own):
                self.ax_.hist(own, edges, density=True, color=style.color(c), alpha=0.25)
            curve = np.exp(-0.5 * (at - self.means[c, 0]) ** 2) / np.sqrt(2.0 * np.pi)
            self.circles_ += self.ax_.plot(at, curve, color=style.color(c), linewidth=2)
        if len(self.classes) == 2:
            first, second = self.means[:, 0]
            with np.errstate(divide="ignore", invalid="ignore"):
                border = (first + second) / 2 + np.log(self.priors[0] / self.priors[1]) / (second - first)
            if np.isfinite(border):
                self.boundaries_.append(self.ax_.axvline(border, color=style.INK, linewidth=1.0))
        self.ax_.set_xlim(low, high)
        self.ax_.set_ylim(bottom=0.0)
        self.ax_.set_ylabel("density")
        style.tidy(self.ax_)
