"""How good a model is: calibration, learning curve, what columns are worth, outlier p-values, and the next periods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from .._arrays import Array, Codes, np
from ..errors import DataError, SettingError, quoted
from ..questions.learning_curve import LearningCurve
from ..questions.tally import NORMAL, wilson
from ..schema import Level, column_name
from . import _style as style
from ._view import View, check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..questions.forward import ForwardValidation


MOST = 30  # columns drawn
FEW = 0.01  # p-value below which rows are counted
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


class CalibrationCurveDisplay(style.Display):
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


class LearningCurveDisplay(style.Display):
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
        self.ax_, self.lines_ = ax, []
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


class ImportanceDisplay(style.Display):
    """What leaving each column unknown costs in nats of leave-one-out log-loss, the dearest column on top.

    Lines are 95 % intervals of the mean. A bar to the left of zero is of a column without which the model does better.

    Build it with `from_estimator`.

    Attributes
    ----------
    importance : what `importance()` of the model returned.
    shown : the numbers of the columns drawn, from the top.
    ax_, figure_ : Matplotlib axes and figure; bars_ the bars.
    """

    def __init__(self, importance: Any, most: int = MOST) -> None:
        self.importance = importance
        self.shown = importance.order[:most]

    @classmethod
    def from_estimator(cls, estimator: object, *, most: int = MOST, ax: Axes | None = None) -> Self:
        """Ask a fitted model what its columns are worth and draw it.

        Parameters
        ----------
        estimator : a fitted model that keeps rows
        most : int
            So many columns are drawn at most, those that are worth most.
        ax : Matplotlib axes, optional

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import ImportanceDisplay
        >>> from sklearn.datasets import load_iris
        >>> model = GaussianDiscriminant(shared=True).fit(*load_iris(return_X_y=True))
        >>> ImportanceDisplay.from_estimator(model).shown.tolist()
        [2, 3, 1, 0]
        """
        return cls(check_model(estimator).importance(), most).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        found, shown = self.importance, self.shown
        self.ax_ = style.new_axes(ax, (6.4, 1.2 + 0.32 * len(shown)))
        place = np.arange(len(shown))[::-1]
        mean, half = found.mean[shown], NORMAL * np.nan_to_num(found.standard_error[shown])
        self.bars_ = self.ax_.barh(place, mean, 0.7, color=style.color(0), zorder=2)
        self.ax_.hlines(place, mean - half, mean + half, color=style.ink(), linewidth=1.2, zorder=3)
        self.ax_.axvline(0.0, color=style.ink(), linewidth=0.8, zorder=1)
        names = [found.columns[j] for j in shown.tolist()]
        words = [style.brief(column_name(name)) for name in names]
        self.ax_.set_yticks(place, words, parse_math=False)
        self.ax_.set_ylim(-0.6, len(shown) - 0.4)
        style.write_label(self.ax_, "x", "nats that leaving the column unknown costs")
        left_out = len(found.columns) - len(shown)
        title = f"log-loss {found.loss:.3f} with all columns" + (f"; {left_out} worth less" if left_out else "")
        style.say(self.ax_, title)
        style.tidy(self.ax_)
        return self


class OutlierPValuesDisplay(style.Display):
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
        n, bins = len(self.pvalues), len(self.counts)
        flat = n / bins
        half = NORMAL * np.sqrt(flat * (1.0 - 1.0 / bins))
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


# ── How good models are at each next period: what they lose, beside what they said, and how often their sets hold ─────


MOST_TICKS = 8


class ForwardValidationDisplay(style.Display):
    """The log-loss of each period by the model of those before it, and below it shares of rows.

    Bars are a standard error. Beside the loss stand what each model said of itself, and the loss of the first model,
    never updated; below are the rows given their true class, the mean probability of the answers, and the rows whose
    class is in their set, with a dotted line where these are to be.

    Build it with `from_estimator`, which learns every period, or with `from_validation`.

    Attributes
    ----------
    validation : what `validate_forward` returned.
    ax_, figure_ : Matplotlib axes and figure; lines_ the lines by name; shares_ax_ the axes below, None on axes given.
    """

    def __init__(self, validation: ForwardValidation) -> None:
        self.validation = validation

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: object, y: object, *, time: object, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Validate models with the settings of an estimator, fitted or not, and draw it.

        Parameters
        ----------
        estimator : an estimator of suffice; it stays as it is
        X, y, time : rows (n, d), their labels, and when they were seen
        ax : Matplotlib axes, optional
            Given axes show the losses alone.
        **options : passed to `validate_forward`

        Examples
        --------
        >>> import numpy as np
        >>> from suffice import GaussianDiscriminant
        >>> from suffice.plots import ForwardValidationDisplay
        >>> rng = np.random.default_rng(0)
        >>> X, year = rng.normal(size=(300, 2)), np.arange(300) // 60
        >>> y = X[:, 0] + rng.normal(size=300) > 0
        >>> display = ForwardValidationDisplay.from_estimator(GaussianDiscriminant(), X, y, time=year)
        >>> list(display.lines_)
        ['log_loss', 'said', 'unchanged', 'accuracy', 'confidence', 'coverage']
        """
        return cls(estimator.validate_forward(X, y, time=time, **options)).plot(ax=ax)

    @classmethod
    def from_validation(cls, validation: ForwardValidation, *, ax: Axes | None = None) -> Self:
        """Draw what `validate_forward` returned."""
        return cls(validation).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        self.shares_ax_: Axes | None = None
        if ax is None:
            look = {"figsize": (6.4, 5.6), "layout": "constrained", "sharex": True, "height_ratios": [3, 2]}
            _, (ax, self.shares_ax_) = style.pyplot().subplots(2, 1, **look)
        self.ax_, self.lines_ = ax, dict[str, Any]()
        found, place = self.validation, np.arange(len(self.validation.since))
        ax.errorbar(place, found.log_loss, found.log_loss_error, fmt="none", color=style.color(0), linewidth=1.4)
        self._draw(ax, {"log_loss": "next period", "said": "said of itself", "unchanged": "first model, never updated"})
        style.write_label(ax, "y", "log-loss, in nats")
        ax.set_ylim(bottom=0.0)
        if self.shares_ax_ is not None:
            names = {"accuracy": "right", "confidence": "said to be right", "coverage": "class in its set"}
            self._draw(self.shares_ax_, names)
            self.shares_ax_.axhline(found.level, color=style.ink(), linestyle=":", linewidth=1)
            style.write_label(self.shares_ax_, "y", "share of rows")
            self.figure_.align_ylabels()
        below = ax if self.shares_ax_ is None else self.shares_ax_
        shown = place[:: -(-len(place) // MOST_TICKS)]
        below.set_xticks(shown, [style.brief(found.until[t]) for t in shown.tolist()], parse_math=False)
        style.write_label(below, "x", "period judged, by its last time")
        return self

    def _draw(self, ax: Axes, names: dict[str, str]) -> None:
        for i, (name, title) in enumerate(names.items()):
            look = {"color": style.color(i), "marker": style.MARKERS[i], "markersize": 5, "linewidth": 1.6}
            place = np.arange(len(self.validation.since))
            (self.lines_[name],) = ax.plot(place, getattr(self.validation, name), label=title, **look)
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderaxespad=0.2, frameon=False)
        style.tidy(ax)
