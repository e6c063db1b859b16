"""Would more rows help: log-loss on rows held out by the number of rows learned from, and on to more of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from .._arrays import np
from ..errors import SettingError
from ..questions.learning_curve import LearningCurve
from . import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LearningCurveDisplay:
    """How the log-loss of models falls with the rows they learn from, and where it is going.

    Points are mean losses on rows held out, with bars of a standard error; from the last point on the line is what is
    expected of more rows, in a band of 90 %. The dotted line is the loss of the classes' shares. Rows are on a
    logarithmic scale, so that equal steps are equal factors.

    Build it with `from_estimator`, which fits 20 models for each draw, or with `from_curves`.

    Attributes
    ----------
    curves : {title: LearningCurve}
    ax_, figure_ : Matplotlib axes and figure; lines_ the projected curves.
    """

    def __init__(self, curves: Mapping[str, LearningCurve], times: float = 4.0) -> None:
        if not curves:
            raise SettingError("There is no curve to draw. Next: give at least one, {title: curve}.")
        if not times > 1.0:
            raise SettingError(
                f"times={times!r} must be above 1: how many times the rows to look ahead. Next: times=4."
            )
        self.curves = dict(curves)
        self.times = float(times)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: object,
        y: object,
        sample_weight: object = None,
        *,
        draws: int = 2,
        random_state: int = 0,
        times: float = 4.0,
        ax: Axes | None = None,
        **options: bool,
    ) -> Self:
        """Measure the curve of models with the settings of an estimator, fitted or not, and draw it.

        Parameters
        ----------
        estimator : an estimator of suffice; it stays as it is
        X, y, sample_weight : rows (n, d), their labels and weights
        draws, random_state : as for the estimators' `learning_curve`
        times : float
            How many times the rows there are to look ahead.
        ax : Matplotlib axes, optional
        **options : passed to `plot`

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import LearningCurveDisplay
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> display = LearningCurveDisplay.from_estimator(GaussianDiscriminant(shared=True), X, y)
        >>> display.curves["GaussianDiscriminant"].total
        150
        """
        curve = estimator.learning_curve(X, y, sample_weight, draws=draws, random_state=random_state)
        return cls({type(estimator).__name__: curve}, times).plot(ax=ax, **options)

    @classmethod
    def from_curves(
        cls, curves: Mapping[str, LearningCurve], *, times: float = 4.0, ax: Axes | None = None, **options: bool
    ) -> Self:
        """Draw curves that were measured already, {title: curve}."""
        return cls(curves, times).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> Self:
        """Draw on `ax`, or on a new figure."""
        if ax is None:
            _, ax = style.pyplot().subplots(figsize=(6.4, 4.4), layout="constrained")
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, []
        for i, (title, curve) in enumerate(self.curves.items()):
            look = {"color": style.color(i)}
            ax.errorbar(curve.rows, curve.loss, curve.error, fmt="o-", markersize=5, linewidth=1.6, capsize=0, **look)
            ahead = np.geomspace(curve.rows[-1], self.times * curve.total, 30)
            value, low, high = np.array([curve.project(float(rows)) for rows in ahead]).T
            (line,) = ax.plot(ahead, value, linestyle=(0, (4, 3)), linewidth=1.6, label=style.brief(title, 40), **look)
            ax.fill_between(ahead, low, high, alpha=0.15, linewidth=0, **look)
            self.lines_.append(line)
        chance = next(iter(self.curves.values())).chance
        if chance > 0.0:
            ax.axhline(chance, color=style.ink(), linestyle=":", linewidth=1, label="the classes' shares")
        style.count_scale(ax)
        ax.set_ylim(bottom=0.0)
        style.write_label(ax, "x", "rows learned from")
        style.write_label(ax, "y", "log-loss on rows held out, in nats")
        style.tidy(ax)
        if legend:
            ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, frameon=False)
        return self
