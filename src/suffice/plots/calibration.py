"""Do probabilities come true: the reliability curve, from leave-one-out posteriors where rows have been learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from .._arrays import Array, Codes, np
from ..errors import DataError, SettingError, quoted
from ..questions.tally import wilson
from ..schema import Level
from . import _style as style
from ._view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LEAST_ROWS = 20.0  # in a bin, whose interval is then no wider than 0.4


class Bins(NamedTuple):
    """What fell into each bin that holds a row: mean probability, share that came true, and weight (b,)."""

    probability: Array
    share: Array
    weight: Array


class JudgedRows(NamedTuple):
    """Posteriors (n, k) of rows, their class numbers (n,), −1 where unknown, their weight (n,), and where from."""

    probability: Array
    codes: Codes
    weight: Array
    source: str


class CalibrationCurveDisplay:
    """How often the answer of a model is right, against how probable the model says it is.

    Rows are put into bins of equal width by the probability of the most probable class (or of the class `label`), and
    bins that hold few are merged with their neighbours until each says something. On the diagonal probabilities come
    true; below it the model is too sure. Bars are 95 % intervals (Wilson) of the share; the lower panel counts rows.

    Without rows, those that the model keeps are judged by their exact leave-one-out posteriors, so no row is judged by
    a model that has seen it. Rows that are given are taken to be new; say `leave_one_out=True` if they were learned.

    Build it with `from_estimator`.

    Attributes
    ----------
    bins : probability, share and weight of each bin that is drawn; `edges` their ends.
    error : the expected calibration error: how far share and probability are apart, on average over rows, in bins
        before any are merged.
    ax_, figure_ : Matplotlib axes and figure; counts_ax_ the axes of the lower panel, None where `ax` was given.
    line_ : the curve.
    """

    def __init__(
        self, bins: Bins, edges: Array, source: str, label: Level | None = None, least: float = LEAST_ROWS
    ) -> None:
        self.bins, self.edges = merged(bins, edges, least)
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
        least: float = LEAST_ROWS,
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
        least : float
            Rows that a bin has to hold, else it is merged with the next; 0 merges none.
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
        weights = np.broadcast_to(copies if weight is None else weight * copies, (len(codes),))
        judged = JudgedRows(np.exp(log_p), codes, weights, "leave-one-out" if told else "predictions")
        return cls.of(view, judged, label=label, n_bins=n_bins, least=least).plot(ax=ax, **options)

    @classmethod
    def of(
        cls, view: View, judged: JudgedRows, *, label: Level | None = None, n_bins: int = 15, least: float = LEAST_ROWS
    ) -> Self:
        """Bin posteriors that are known already."""
        p, codes = judged.probability, judged.codes
        if label is None:
            chosen, hit = p.max(axis=1), p.argmax(axis=1) == codes
        elif label in view.classes:
            c = view.classes.index(label)
            chosen, hit = p[:, c], codes == c
        else:
            raise SettingError(f"label={label!r} is not a class. Next: use one of {quoted(view.classes)}.")
        known, edges = codes >= 0, np.linspace(0.0, 1.0, n_bins + 1)
        bins = reliability(chosen[known], hit[known], judged.weight[known], edges)
        return cls(bins, edges, judged.source, label, least)

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
        ax.plot([0, 1], [0, 1], color=style.ink(), linestyle=(0, (4, 3)), linewidth=1, label="probabilities come true")
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
            left, width = self.edges[:-1], np.diff(self.edges)
            look = {"color": style.color(0), "alpha": 0.6, "align": "edge", "edgecolor": "white"}
            self.counts_ax_.bar(left, weight, width, **look)
            self.counts_ax_.set_ylabel("rows")
            style.tidy(self.counts_ax_)
            self.figure_.align_ylabels()
        style.write_label(self.ax_ if self.counts_ax_ is None else self.counts_ax_, "x", below)
        if legend:
            ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, frameon=False)
        return self


def merged(bins: Bins, edges: Array, least: float) -> tuple[Bins, Array]:
    """Return the bins merged with their neighbours until each holds rows of this weight, and their edges.

    A bin that is too light takes in the next; what is left at the upper end joins the last.
    """
    place = np.clip(np.searchsorted(edges, bins.probability, side="right") - 1, 0, len(edges) - 2)
    groups, ends = [[0]], [float(edges[place[0]])]
    for b in range(1, len(bins.weight)):
        if bins.weight[groups[-1]].sum() >= max(least, 1e-300):
            ends.append(float(edges[place[b]]))
            groups.append([])
        groups[-1].append(b)
    if len(groups) > 1 and bins.weight[groups[-1]].sum() < least:
        last = groups.pop()
        groups[-1] += last
        ends.pop()
    weight = np.array([bins.weight[own].sum() for own in groups])
    p, share = (np.array([(bins.weight[own] * part[own]).sum() for own in groups]) / weight for part in bins[:2])
    return Bins(p, share, weight), np.array([*ends, float(edges[-1])])


def reliability(p: Array, hit: Array, weight: Array, edges: Array) -> Bins:
    """Return mean probability, share of hits and weight of the bins [e_i, e_{i+1}) that hold rows; 1 is in the last."""
    place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, len(edges) - 2)
    bins = len(edges) - 1
    total, came, said = (
        np.bincount(place, part, bins).astype(np.float64) for part in (weight, weight * hit, weight * p)
    )
    held = total > 0
    return Bins(said[held] / total[held], came[held] / total[held], total[held])
