"""How good a model is, by its answers to rows that it had not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._arrays import Array, Codes, NDArray, cross_sums, distinct, np
from .._derived import has_made
from ..errors import DataError, count, quoted
from ..fitted import Fitted
from ..losses import LEAST_PROBABILITY, LabelledRows, error_of_choice
from ..schema import Level
from ..stats.rows import take_blocks
from .frames import plain
from .held_out import left_out_kept, some_rows
from .tally import BINS


def quality(fitted: Fitted) -> Quality:
    """Return how good answers to the rows kept are, each left out; made once for what was learned."""
    return fitted.memoize(_quality)


def is_known(fitted: Fitted) -> bool:
    """Return whether that was asked before."""
    return has_made(fitted, _quality)


def _quality(fitted: Fitted) -> Quality:
    statistics, sample = fitted.statistics, fitted.judges
    if len(statistics.classes) < 2:
        raise DataError(
            "This model knows a single class, so every answer is right, and there is nothing to judge. "
            "Next: fit it to rows of two classes or more."
        )
    if fitted.past.released is not None:
        raise DataError.released("judge itself", "ask the model it was made from, or judge it by rows with labels")
    if sample is None:
        raise DataError.without_rows(otherwise=", or judge it by rows with labels")
    closed = fitted.leaves_soon
    index = some_rows(sample, fitted.most_judged)
    part = fitted.reservoir.part(index)
    if closed and len(index) < len(sample.codes):
        rows = take_blocks(fitted.sampled_rows(), index)
        log_posterior = fitted.left_out_unseen(rows, part.codes, part.row_weight())
    else:
        log_posterior = left_out_kept(fitted)[index]
    weight, k = part.represented(statistics.weight), len(statistics.classes)
    judged = LabelledRows(part.codes, weight, part.copies, k, part.units.groups)
    how, chosen = LEFT_OUT if closed else FOLDS, closed and fitted.chosen_by_sample
    whole = max(round(statistics.rows), round(float(sample.copies.sum())))
    return judge_answers(statistics.classes, log_posterior, judged, judged_by=how, chosen=chosen, of_rows=whole)


SURE = 2.0  # standard errors beyond which a difference is called one
MOSTLY = 0.75  # of the rows, of one class
BRIEF = 40  # characters of a class name in a sentence


@dataclass(frozen=True, eq=False)
class Quality:
    """How good a model's answers to rows of known class are. `str` of it is one plain sentence.

    Means are weighted by what each row stands for. Standard errors take a row that was learned c times as c rows that
    come each by itself: √(n / (n − 1) Σ (w_i / W)² (x_i − x̄)² / c_i).

    Attributes
    ----------
    classes : tuple
        Labels (k,).
    accuracy, accuracy_error : float
        The share of rows given their true class, and its standard error, in which one more row is right or wrong, so
        that it is not 0 where all are right: the root of the sum of squares of the error above and 1 / (n + 1).
    log_loss, log_loss_error : float
        The mean of −log p(true class) in nats, p at least 1e-15, and its standard error; of a model that these rows
        chose, that of `error_of_choice`.
    commonest, commonest_accuracy : label, float
        The class that most rows are of, and the accuracy of always naming it.
    baseline : float
        The log-loss of the shares of the classes alone, −Σ s_k log s_k in nats: that of a model without any column.
    lead, lead_error : float
        `accuracy − commonest_accuracy`, and the standard error of the difference by row, with one row more as above.
    gain, gain_error : float
        `baseline − log_loss` in nats, and the standard error of the difference by row.
    recall : array (k,)
        The share of each class's rows that are given it; not a number where no row is of it.
    calibration_error : float
        Σ over 15 equally wide bins of (share of rows) · |mean confidence − share right|.
    confusion : array (k, k) of int
        Rows judged, by true class (in rows) and class given.
    rows, right : int
        How many rows were judged, and how many of them are right.
    of_rows : int
        Of how many rows with a label those judged are.
    counted : bool
        Whether every row counts as 1, so that `accuracy` is `right / rows`.
    judged_by : str
        How the rows were kept from the model: "leave-one-out", "cross-validation", or "rows given".
    groups : int or None
        Of how many groups the rows are, which were kept from the model whole. None without.
    """

    classes: tuple[Level, ...]
    accuracy: float
    accuracy_error: float
    log_loss: float
    log_loss_error: float
    commonest: Level
    commonest_accuracy: float
    baseline: float
    lead: float
    lead_error: float
    gain: float
    gain_error: float
    recall: Array = field(repr=False)
    calibration_error: float
    confusion: NDArray[np.int64] = field(repr=False)
    rows: int
    right: int
    of_rows: int
    counted: bool
    judged_by: str
    groups: int | None

    @property
    def answers_better(self) -> bool:
        """Whether answers are right more often than the commonest class is, by over two standard errors."""
        return self.lead > SURE * self.lead_error

    @property
    def tells_more(self) -> bool:
        """Whether probabilities lose less than the shares of the classes, by over two standard errors."""
        return self.gain > SURE * self.gain_error

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the names of the attributes, as JSON holds them, and `sentence`, which is `str`.

        A number that is not known is None.
        """
        return plain(vars(self)) | {"sentence": str(self)}

    def figures(self) -> Mapping[str, str]:
        """Return accuracy, log_loss, their errors, commonest_accuracy and baseline as they are shown everywhere."""
        return {
            "accuracy": in_percent(self.accuracy),
            "accuracy_error": in_percent(self.accuracy_error),
            "log_loss": in_nats(self.log_loss),
            "log_loss_error": in_nats(self.log_loss_error),
            "commonest_accuracy": in_percent(self.commonest_accuracy),
            "baseline": in_nats(self.baseline),
        }

    @property
    def how(self) -> str:
        """How many rows were judged, and in what way, as a line below the figures."""
        some = "" if self.rows == self.of_rows else f"{self.rows:,} of "
        each = {
            LEFT_OUT: "By leave-one-out over {}: each is judged by the model of all others.",
            FOLDS: "By cross-validation over {}: each is judged by a model of other parts of the table.",
        }.get(self.judged_by, "Over {} with a label.")
        whole = "" if self.groups is None else f" in {count(self.groups, 'group')}, which leave whole"
        return each.format(f"{some}{count(self.of_rows, 'row')}{whole}")

    def __str__(self) -> str:
        shown = self.figures()
        some = "" if self.rows == self.of_rows else f" ({self.rows:,} of {self.of_rows:,})"
        head = {LEFT_OUT: "Judged on rows it had not seen", FOLDS: "Judged on rows it had not seen"}.get(
            self.judged_by, "Judged on these rows"
        )
        right = f"{self.right:,} of {self.rows:,}, " if self.counted else ""
        name = _brief(self.commonest)
        return (
            f"{head}{some}: {shown['accuracy']} right ({right}± {shown['accuracy_error']}), log-loss "
            f"{shown['log_loss']} nats; always naming the commonest class, {name}, would be right for "
            f"{shown['commonest_accuracy']}{self._verdict()}.{self._seldom_found()}"
        )

    __repr__ = __str__

    def _seldom_found(self) -> str:
        """Return what becomes of the rarest class where one class is most of the table, which `accuracy` hides."""
        if self.commonest_accuracy < MOSTLY:
            return ""
        own = self.confusion.sum(axis=1)
        rarest = min(np.flatnonzero(own), key=lambda c: (own[c], c), default=None)
        if rarest is None or self.classes[rarest] == self.commonest:
            return ""
        found = int(self.confusion[rarest, rarest])
        return f" Of the {count(own[rarest], 'row')} of {_brief(self.classes[rarest])} it names {found:,} so."

    def _verdict(self) -> str:
        """Return what follows the figure of the commonest class where the model is not plainly better."""
        losses = f"log-loss {in_nats(self.log_loss)} nats, {in_nats(self.baseline)} by the shares of the classes"
        if self.answers_better and self.tells_more:
            return ""
        if self.tells_more:
            return f", not surely less often. Its probabilities do tell more: {losses} alone"
        if self.answers_better and self.gain < -SURE * self.gain_error:
            return f". Its probabilities are far too sure: {losses} alone"
        if self.answers_better:
            return f". Its probabilities tell no more than the shares of the classes: {losses} alone"
        return ", and these rows do not show that it does better"


LEFT_OUT, FOLDS, GIVEN = "leave-one-out", "cross-validation", "rows given"


def judge_answers(
    classes: Sequence[Level],
    log_posterior: Array,
    judged: LabelledRows,
    judged_by: str = GIVEN,
    of_rows: int | None = None,
    chosen: bool = False,
) -> Quality:
    """Return how good log posteriors (n, k) of rows of known class are; see `Quality`.

    At least one row has to be there. `chosen` says whether settings and weights of the model were chosen by these rows.
    """
    (n, k), codes, weight, copies = log_posterior.shape, judged.codes, judged.weight, judged.copies
    answer = log_posterior.argmax(axis=1)
    right = (answer == codes).astype(np.float64)
    lost = -np.log(np.clip(np.exp(log_posterior[np.arange(n), codes]), LEAST_PROBABILITY, 1.0))
    share = np.bincount(codes, weight, k) / weight.sum()
    commonest = int(share.argmax())
    shares_lost = -np.log(share[codes])
    lead, rows = right - (codes == commonest), float(copies.sum())
    loss, gain = float(judged.mean(lost)), float(judged.mean(shares_lost - lost))
    errors = _error(judged, lost), _error(judged, shares_lost - lost)
    if chosen:
        errors = tuple(error_of_choice(np.array(errors), gain, rows, judged.one_more(lost)).tolist())
    confusion = cross_sums(codes, answer, (k, k), copies)
    means = {"accuracy": float(judged.mean(right)), "log_loss": loss, "lead": float(judged.mean(lead))}
    return Quality(
        classes=tuple(classes),
        **means,
        accuracy_error=_with_one_more(judged, right, rows),
        log_loss_error=errors[0],
        commonest=classes[commonest],
        commonest_accuracy=float(share[commonest]),
        baseline=float(judged.mean(shares_lost)),
        lead_error=_with_one_more(judged, lead, rows),
        gain=gain,
        gain_error=errors[1],
        recall=judged.by_class(right),
        calibration_error=calibration_error(np.exp(log_posterior.max(axis=1)), right, weight),
        confusion=np.rint(confusion).astype(np.int64),
        rows=round(rows),
        right=round(float(right @ copies)),
        of_rows=round(rows) if of_rows is None else of_rows,
        counted=bool(np.allclose(weight, copies, rtol=1e-9, atol=0.0)),
        judged_by=judged_by,
        groups=None if judged.group is None else len(distinct(judged.group)),
    )


def _error(judged: LabelledRows, values: Array) -> float:
    """Return the standard error of a mean; infinity of one row, which says nothing of another."""
    return float(judged.error(values)) if judged.copies.sum() > 1.0 else np.inf


def _with_one_more(judged: LabelledRows, values: Array, rows: float) -> float:
    return float(np.hypot(_error(judged, values), 1.0 / (rows + 1.0)))


def calibration_error(confidence: Array, right: Array, weight: Array) -> float:
    """Return Σ over bins of (share of rows) · |mean confidence − share right|, with equally wide bins from 0 to 1."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gap = np.bincount(bins, weights=weight * (confidence - right), minlength=BINS)
    return float(np.abs(gap).sum() / weight.sum())


def in_percent(share: float) -> str:
    """Return a share in percent with one digit; never 0 or 100 where it is not, as far as four digits tell."""
    if not np.isfinite(share):
        return "unknown"
    if share in (0.0, 1.0):
        return f"{100.0 * share:.0f} %"
    texts = [f"{100.0 * share:.{digits}f}" for digits in (1, 2, 3, 4)]
    return f"{next((text for text in texts if float(text) not in (0.0, 100.0)), texts[-1])} %"


def in_whole_percent(share: float) -> str:
    """Return a share in percent without a digit after the point; never 0 where it is not."""
    return "<1 %" if 0.0 < share < 0.005 else f"{100.0 * share:.0f} %"


def in_nats(loss: float) -> str:
    """Return a loss in nats with three digits after the point, or two that count where it is below 0.01."""
    if not np.isfinite(loss):
        return "unknown"
    return f"{loss:.3f}" if abs(loss) >= 0.00995 or not loss else f"{loss:.2g}"


def _brief(label: Level) -> str:
    text = quoted([label])
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 2]}…{text[-1]}"


LEVEL = 0.95
DRAWS = 4000  # of which the 95 % quantile is known to 2 % of itself


class BestOf(NamedTuple):
    """The number of the model that loses least, and by how many nats each loses more (m,), from `low` to `high` (m,).

    The intervals hold all at once in 95 of 100 tables, whichever model comes out best. `cost` is by how much the least
    loss is too small for being the least.
    """

    best: int
    above: Array
    low: Array
    high: Array
    cost: float


def best_of(losses: Array, place: Codes) -> BestOf:
    """Return which of m models loses least, of losses (m, n) in nats of the same n rows; `place` (n,) are their folds.

    Differences are paired by row, and their intervals those of all pairs of models together: the quantile of the
    largest of their standardised differences under a normal law of the same covariance, as Tukey's method has it. The
    cost of choosing is what rows of a fold lose by the model that the others find best, less what they lose by the one
    that all find best, on average and at least 0 (nested judgement, as in Varma & Simon 2006,
    doi:10.1186/1471-2105-7-91).
    """
    mean, n = losses.mean(axis=1), losses.shape[1]
    best = int(np.argmin(mean))
    above = mean - mean[best]
    error = np.sqrt(np.maximum(np.var(losses - losses[best], axis=1), 0.0) / max(n - 1, 1))
    half = _quantile(losses) * error
    others = [mean * n - losses[:, place == v].sum(axis=1) for v in range(int(place.max(initial=0)) + 1)]
    chosen = np.array([int(np.argmin(total)) for total in others])[place]
    cost = float((losses[chosen, np.arange(n)] - losses[best]).mean())
    return BestOf(best, above, above - half, above + half, max(cost, 0.0))


def _quantile(losses: Array) -> float:
    """Return how many standard errors the farthest of all pairs of means differ from the truth in 5 of 100 tables."""
    one, two = np.triu_indices(len(losses), 1)
    covariance = np.atleast_2d(np.cov(losses))
    spread = np.sqrt(np.maximum(covariance[one, one] + covariance[two, two] - 2.0 * covariance[one, two], 0.0))
    told = spread > 1e-12 * np.sqrt(max(float(np.trace(covariance)), 1e-300))
    if not told.any():
        return 0.0
    sizes, directions = np.linalg.eigh(covariance)
    normal = np.random.RandomState(0).standard_normal((DRAWS, len(losses)))
    means = normal @ (directions * np.sqrt(np.maximum(sizes, 0.0))).T
    farthest = np.max(np.abs(means[:, one] - means[:, two])[:, told] / spread[told], axis=1)
    return float(np.quantile(farthest, LEVEL))
