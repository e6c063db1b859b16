"""The discriminant plane: the directions in which classes of one shared covariance differ most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from .._arrays import Array, Codes, log_softmax, np
from ..errors import DataError, SettingError
from ..schema import Level
from . import _style as style
from ._view import View
from .ellipses import ellipses, radius
from .regions import draw_boundaries, shade

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class DiscriminantPlaneDisplay:
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
        model: Any = view.estimator
        priors = view.estimator.priors_
        try:
            transform, class_means = model.transform, model.means_
        except AttributeError:
            raise SettingError(
                "Discriminant coordinates exist where all classes share one covariance. "
                "Next: fit GaussianDiscriminant(shared=True)."
            ) from None
        centers = view.table({p: class_means[:, p] for p in range(len(view.schema))})
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
        self.figure_ = self.ax_.figure
        self.points_: list[Artist] = []
        self.circles_: list[Artist] = []
        self.boundaries_: list[Artist] = []
        for which, share in zip("xy", self.shares[: self.means.shape[1]], strict=False):
            number = "12"["xy".index(which)]
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
        (x0, x1), (y0, y1) = self._limits()
        k = len(self.classes)
        if regions:
            x, y = (low + (np.arange(200) + 0.5) * (high - low) / 200 for low, high in ((x0, x1), (y0, y1)))
            at = np.stack(np.meshgrid(x, y), axis=-1)
            with np.errstate(divide="ignore"):
                score = np.log(self.priors) - 0.5 * ((at[:, :, None] - self.means) ** 2).sum(axis=-1)
            posterior = np.exp(log_softmax(score.reshape(-1, k))).reshape(score.shape)
            look = {"extent": (x0, x1, y0, y1), "origin": "lower", "aspect": "auto", "interpolation": "nearest"}
            self.surface_ = self.ax_.imshow(shade(posterior), zorder=0, **look)
            self.boundaries_ = draw_boundaries(self.ax_, x, y, posterior)
        if points and len(self.coordinates):
            self.points_ = style.scatter(self.ax_, list(self.coordinates.T), self.codes, k, 16.0)
        for c in range(k):
            edge: dict[str, object] = {"edgecolor": style.color(c), "linestyle": style.line(c), "zorder": 4}
            for patch in ellipses(self.means[c], np.eye(2), np.inf, (0.68, 0.95), **edge) if k <= 8 else ():
                self.circles_.append(self.ax_.add_patch(patch))
            self.ax_.plot(*self.means[c], "+", color=style.INK, markersize=10, markeredgewidth=1.8, zorder=5)
        self.ax_.set_xlim(x0, x1)
        self.ax_.set_ylim(y0, y1)
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
