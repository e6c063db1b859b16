"""Do probabilities come true: the reliability curve, from leave-one-out posteriors where rows have been learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from .._arrays import Array, np
from ..errors import DataError, SettingError, quoted
from ..schema import Level
from . import _style as style
from ._view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Bins(NamedTuple):
    """What fell into each bin that holds a row: mean probability, share that came true, and weight (b,)."""

    probability: Array
    share: Array
    weight: Array


class CalibrationCurveDisplay:
    """How often the answer of a model is right, against how probable the model says it is.

    Rows are put into bins of equal width by the probability of the most probable class (or of the class `label`). On
    the diagonal probabilities come true; below it the model is too sure. Bars are 95 % intervals (Wilson) of the share,
    and the lower panel counts rows.

    Without rows, those that the model keeps are judged by their exact leave-one-out posteriors, so no row is judged by
    a model that has seen it. Rows that are given are taken to be new; say `leave_one_out=True` if they were learned.

    Build it with `from_estimator`.

    Attributes
    ----------
    bins : probability, share and weight of each bin that holds a row.
    error : the expected calibration error: how far share and probability are apart, on average over rows.
    ax_, figure_ : Matplotlib axes and figure; counts_ax_ the axes of the lower panel, None where `ax` was given.
    line_ : the curve.
    """

    def __init__(self, bins: Bins, edges: Array, source: str, label: Level | None = None) -> None:
        self.bins = bins
        self.edges = edges
        self.source = source
        self.label = label
        gap = np.abs(bins.share - bins.probability)
        self.error = float((bins.weight * gap).sum() / bins.weight.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        label: Level | None = None,
        n_bins: int = 15,
        leave_one_out: bool | None = None,
        ax: Axes | None = None,
        **options: bool,
    ) -> Self:
        """Bin the posteriors of a fitted model and draw how often they came true.

        Parameters
        ----------
        estimator : a fitted model
        X, y : rows (n, d) and their labels; by default those that the model keeps
        label : a class, optional
            Judge the probability of this class, instead of that of the most probable one.
        n_bins : int
        leave_one_out : bool, optional
            Judge every row by the model of all others, which needs rows that were learned. By default only where no
            rows are given.
        ax : Matplotlib axes, optional
        **options : passed to `plot`

        Notes
        -----
        Guo et al. (2017), On calibration of modern neural networks, equation 3, for the error.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import CalibrationCurveDisplay
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> display = CalibrationCurveDisplay.from_estimator(GaussianDiscriminant(shared=True).fit(X, y))
        >>> display.source, float(display.bins.weight.sum())
        ('leave-one-out', 150.0)
        """
        view = View(estimator)
        weight: Array | None = None
        copies: Array | float = 1.0
        told = X is None if leave_one_out is None else leave_one_out
        if X is None:
            X, y, sample = view.kept()
            weight, copies = sample.row_weight(), sample.copies
        elif y is None:
            raise DataError("Whether probabilities come true can be told from labels only. Next: give y as well as X.")
        model = view.estimator
        log_p = model.leave_one_out(X, y, sample_weight=weight) if told else model.predict_log_proba(X)
        codes = view.rows(X, y).codes  # type: ignore[union-attr]
        p = np.exp(log_p)
        if label is None:
            chosen, hit = p.max(axis=1), p.argmax(axis=1) == codes
        elif label in view.classes:
            c = view.classes.index(label)
            chosen, hit = p[:, c], codes == c
        else:
            raise SettingError(f"label={label!r} is not a class. Next: use one of {quoted(view.classes)}.")
        known = codes >= 0
        weights = np.broadcast_to(copies if weight is None else weight * copies, (len(p),))[known]
        edges = np.linspace(0.0, 1.0, n_bins + 1)
        bins = reliability(chosen[known], hit[known], weights, edges)
        source = "leave-one-out" if told else "predictions"
        return cls(bins, edges, source, label).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> Self:
        """Draw on `ax`, or on a new figure with the numbers of rows below."""
        self.counts_ax_: Axes | None = None
        if ax is None:
            look = {"figsize": (5.6, 5.6), "layout": "constrained", "sharex": True, "height_ratios": [4, 1]}
            _, (ax, self.counts_ax_) = style.pyplot().subplots(2, 1, **look)
        self.ax_ = ax
        self.figure_ = ax.figure
        p, share, weight = self.bins
        low, high = wilson(share, weight)
        ax.plot([0, 1], [0, 1], color=style.INK, linestyle=(0, (4, 3)), linewidth=1, label="probabilities come true")
        ax.vlines(p, low, high, color=style.color(0), linewidth=1.4)
        text = f"{self.source}, calibration error {self.error:.3f}"
        (self.line_,) = ax.plot(p, share, color=style.color(0), marker="o", markersize=5, linewidth=1.6, label=text)
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(-0.02, 1.03)
        which = "the most probable class" if self.label is None else style.brief(self.label)
        below = f"probability of {which}"
        right = "share that is right" if self.label is None else f"share of {which}"
        style.write_label(ax, "y", right)
        style.tidy(ax)
        if self.counts_ax_ is not None:
            centers = (self.edges[1:] + self.edges[:-1]) / 2
            place = np.clip(np.searchsorted(self.edges, p, side="right") - 1, 0, len(centers) - 1)
            self.counts_ax_.bar(centers[place], weight, 0.92 * np.diff(self.edges)[0], color=style.color(0), alpha=0.6)
            self.counts_ax_.set_ylabel("rows")
            style.tidy(self.counts_ax_)
            self.figure_.align_ylabels()
        style.write_label(self.ax_ if self.counts_ax_ is None else self.counts_ax_, "x", below)
        if legend:
            ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, frameon=False)
        return self


def reliability(p: Array, hit: Array, weight: Array, edges: Array) -> Bins:
    """Return mean probability, share of hits and weight of the bins [e_i, e_{i+1}) that hold rows; 1 is in the last."""
    place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, len(edges) - 2)
    bins = len(edges) - 1
    total, came, said = (
        np.bincount(place, part, bins).astype(np.float64) for part in (weight, weight * hit, weight * p)
    )
    held = total > 0
    return Bins(said[held] / total[held], came[held] / total[held], total[held])


def wilson(share: Array, n: Array, z: float = 1.959964) -> tuple[Array, Array]:
    """Return the ends of Wilson's 95 % interval of a share of n (Wilson 1927, doi:10.1080/01621459.1927.10502953)."""
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.clip(center - half, 0.0, 1.0), np.clip(center + half, 0.0, 1.0)
