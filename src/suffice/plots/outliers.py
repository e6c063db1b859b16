"""Are rows like those learned: the histogram of their outlier p-values, flat if they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from .._arrays import Array, np
from ..errors import DataError
from . import _style as style
from ._model import check_model
from ._view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 0.01


class OutlierPValuesDisplay:
    """The histogram of outlier p-values, against the flat line that rows of the model give.

    A peak at the left are rows unlike any seen; a slope to the right, rows closer to the centres than the model thinks.
    The grey band holds each bar of rows of the model in 95 of 100 cases.

    Build it with `from_estimator`.

    Attributes
    ----------
    pvalues : (n,); counts : rows in each bin.
    ax_, figure_ : Matplotlib axes and figure; bars_ the bars, line_ the flat line.
    """

    def __init__(self, pvalues: Array, n_bins: int) -> None:
        self.pvalues = pvalues
        self.counts, self.edges = np.histogram(pvalues, np.linspace(0.0, 1.0, n_bins + 1))

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        n_bins: int = 20,
        ax: Axes | None = None,
        **options: bool,
    ) -> Self:
        """Ask a fitted model for the p-values of rows and draw them.

        Parameters
        ----------
        estimator : a fitted model
        X : new rows (n, d); by default the rows that the model keeps, each judged without itself
        y : labels (n,), only if these are rows the model has learned; see `outlier_pvalues`
        n_bins : int
        ax : Matplotlib axes, optional
        **options : passed to `plot`

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import OutlierPValuesDisplay
        >>> from sklearn.datasets import load_iris
        >>> model = GaussianDiscriminant().fit(*load_iris(return_X_y=True))
        >>> int(OutlierPValuesDisplay.from_estimator(model).counts.sum())
        150
        """
        weight = None
        if X is None:
            X, y, sample = View(estimator).kept()
            weight = np.asarray(sample.copies, dtype=np.int64)
        pvalues = np.asarray(check_model(estimator).outlier_pvalues(X, y))
        if not len(pvalues):
            raise DataError("There is no row to draw. Next: give at least one.")
        return cls(pvalues if weight is None else np.repeat(pvalues, weight), n_bins).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> Self:
        """Draw on `ax`, or on a new figure."""
        self.ax_ = style.new_axes(ax, (6.0, 4.0))
        self.figure_ = self.ax_.figure
        n, bins = len(self.pvalues), len(self.counts)
        flat = n / bins
        half = 1.959964 * np.sqrt(flat * (1.0 - 1.0 / bins))
        self.ax_.axhspan(max(flat - half, 0.0), flat + half, color="#999999", alpha=0.25, linewidth=0, zorder=0)
        step = 1.0 / bins
        self.bars_ = self.ax_.bar(
            self.edges[:-1], self.counts, step, align="edge", color=style.color(0), edgecolor="white", zorder=2
        )
        below = int((self.pvalues < FEW).sum())
        text = f"uniform: {flat:.3g} rows in each bar"
        self.line_ = self.ax_.axhline(flat, color=style.color(1), linewidth=1.8, label=text, zorder=3)
        self.ax_.set_xlim(0.0, 1.0)
        self.ax_.set_ylim(0.0, 1.22 * max(float(self.counts.max()), flat + half))
        self.ax_.set_xlabel("outlier p-value")
        self.ax_.set_ylabel("rows")
        style.say(self.ax_, f"{below:,} of {n:,} rows below {FEW} ({FEW * n:.3g} expected)")
        self.ax_.yaxis.get_major_locator().set_params(integer=True)
        if legend:
            self.ax_.legend(loc="upper right", frameon=False)
        style.tidy(self.ax_)
        return self
