"""The components of a mixture: each an ellipse in the colour of its class, with its weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from .._arrays import Array, Codes, np
from ..densities import Mixture
from ..errors import SettingError
from ..schema import Level, Name
from . import _style as style
from ._view import Axis, View
from .ellipses import ellipses
from .regions import check_axes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


MOST_TEXTS = 12  # components whose shares are written


@dataclass(eq=False, repr=False)
class MixtureComponentsDisplay:
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
        rows = view.rows(X, y)
        positions = view.informative(2, rows) if columns is None else view.positions(columns)
        axes = check_axes([view.axis(p, rows, 300) for p in positions])
        part = mixture.components.marginal([view.place[p][1] for p in positions])
        m = len(mixture.owner)
        covariances = np.zeros((m, len(positions), len(positions)))
        covariances[np.ix_(range(m), part.used, part.used)] = part.covariance.dense()
        cells, codes = view.drawn(rows, positions)
        parts = np.exp(mixture.log_weight), part.means, covariances
        return cls(tuple(axes), parts, mixture.owner, view.classes, cells, codes).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, points: bool = True, legend: bool = True) -> Self:
        """Draw on `ax`, or on a new figure."""
        self.ax_ = style.new_axes(ax)
        self.figure_ = self.ax_.figure
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
            self.points_ = style.scatter(self.ax_, drawn, self.codes, len(self.classes), 14.0)
            for artist in self.points_:
                artist.set_alpha(0.4)
        for m, c in enumerate(self.owner.tolist()):
            look: dict[str, object] = {"edgecolor": style.color(c), "linestyle": style.line(c), "zorder": 4}
            (patch,) = ellipses(self.centers[m], self.covariances[m], np.inf, (0.68,), **look)
            self.ellipses_.append(self.ax_.add_patch(patch))
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
