"""How good a model is at rows of known class that it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._arrays import Array, Codes, np, places_of
from ..densities import Rows
from ..errors import DataError, SourceError, quoted
from ..fitted import Fitted
from ..joint import decide
from ..schema import Level, sort_levels
from ..stats.rows import group_keys, take_blocks
from ..table import add_missing
from ..table.labels import read_groups, read_labels, read_weights
from .assessment import Assessment
from .decide import check_costs
from .leave_one_out import check_one_kind
from .tally import BINS, FINE, NORMAL, Ranking, Tally, wilson

if TYPE_CHECKING:
    from ..engines import Source, Watcher
    from ..engines.arrow import Table


ENOUGH, MOST_BINS = 20, 10  # rows of a bin of calibration, and how many bins
TOP = 0.1  # the share of rows, highest probabilities first, for which the lift is told
SURE = 3.0  # standard deviations beyond which rows are recognised too often for chance
FEW = 3  # rows recognised, up to which nothing is said


def assess(
    fitted: Fitted, X: object, y: object, sample_weight: object, groups: object, priors: object, costs: object
) -> Assessment:
    """Return how good the model is at the rows of a table; DataError where no row is of a class it knows."""
    tally = _judge(fitted, X, y, sample_weight, groups, priors, _matrix(fitted, costs))
    return conclude(fitted, tally, priors, costs)


def assess_table(fitted: Fitted, source: Source, judge: JudgedParts, watch: Watcher | None = None) -> Assessment:
    """Return how good the model is at the rows of a table in parts, read once."""
    from ..engines import Fold, answer

    fold, sums = Fold(), len(judge.columns)
    for tally in answer(source, judge.read, judge, width=sums + len(fitted.labels), progress=watch):
        fold.push(tally)
    found = fold.result()
    if found is None:
        raise SourceError.no_rows(source.name)
    assert isinstance(found, Tally)
    return conclude(fitted, found, judge.priors, judge.costs)


@dataclass(frozen=True)
class JudgedParts:
    """The kernel that judges some rows of a table: from a pyarrow table to the sums of its rows.

    `columns` are those of the model, `labels`, `weights` and `belonging` make of the other columns what they hold.
    """

    fitted: Fitted
    columns: tuple[str, ...]
    target: str
    weight: str | None
    groups: str | None
    labels: Callable[[Any], object]
    weights: Callable[[Any], Array]
    belonging: Callable[[Any], object]
    priors: object = None
    costs: object = None

    @property
    def read(self) -> list[str]:
        """The names of all columns that are read."""
        also = (name for name in (self.weight, self.groups) if name is not None)
        return list(dict.fromkeys([*self.columns, self.target, *also]))

    def __call__(self, table: Table) -> Tally:
        """Return the sums of the rows of a pyarrow table."""
        weight = None if self.weight is None else self.weights(table.column(self.weight))
        groups = None if self.groups is None else self.belonging(table.column(self.groups))
        labels = self.labels(table.column(self.target))
        costs = _matrix(self.fitted, self.costs)
        rows = add_missing(table.select(list(self.columns)), self.fitted.schema)
        return _judge(self.fitted, rows, labels, weight, groups, self.priors, costs)


def _judge(
    fitted: Fitted, X: object, y: object, sample_weight: object, groups: object, priors: object, costs: Array | None
) -> Tally:
    rows, n = fitted.encoded(X)
    weight = np.ones(n) if sample_weight is None else _weights(sample_weight, n)
    codes, unknown, unlabelled = _codes(fitted, y, n, weight)
    told = np.flatnonzero((codes >= 0) & (weight > 0))
    kept, own, amount = take_blocks(rows, told), codes[told], weight[told]
    k = len(fitted.statistics.classes)
    log_p = fitted.log_posterior(fitted.recoded(kept), priors) if len(told) else np.zeros((0, k))
    keys = group_keys(read_groups(groups, n), fitted.schema.names)
    group = None if keys is None else keys[told]
    found = Tally.of(np.asarray(log_p), own, amount, np.asarray(decide(log_p, costs)), costs, group)
    recognised = _recognised(fitted, kept, own, amount)
    return replace(found, recognised=recognised, unlabelled=unlabelled, unknown=unknown)


def _weights(given: object, n: int) -> Array:
    values = np.asarray(given, dtype=np.float64)
    if values.shape == (n,) and not values.any():
        return values  # a part of a table may hold none of the weight
    found = read_weights(given, n)
    return np.ones(n) if found is None else found


def _codes(fitted: Fitted, y: object, n: int, weight: Array) -> tuple[Codes, Counter[Level], int]:
    """Return class numbers (n,), −1 for rows that cannot be judged, how many of them have which label, or none."""
    levels, codes = read_labels(y, n, fitted.who, missing="any")
    known = fitted.statistics.classes
    check_one_kind(known, levels)
    there = weight > 0
    counts = np.bincount(codes[there & (codes >= 0)], minlength=len(levels))
    unknown = Counter({level: int(c) for level, c in zip(levels, counts, strict=True) if level not in known and c})
    return np.append(places_of(levels, known), -1)[codes], unknown, int((there & (codes < 0)).sum())


def _recognised(fitted: Fitted, rows: Rows, codes: Codes, weight: Array) -> float:
    """Return the weight of the rows that are, with their label, among those the model keeps."""
    sample = fitted.judges
    if sample is None or not len(sample.codes) or not len(codes):
        return 0.0
    place = sample.locate(rows[: len(sample.rows)], codes, fitted.statistics.classes)
    return float(weight[place >= 0].sum())


def _share_learned(fitted: Fitted, tally: Tally) -> float | None:
    """Return the share of judged rows that the model has learned, or None where chance explains what is recognised.

    A fresh row equals one kept with probability f (1 − s / m), s of the m rows kept being there once (Good 1953,
    doi:10.1093/biomet/40.3-4.237) and f the share of the rows learned that is kept.
    """
    sample, total = fitted.judges, float(tally.confusion.sum())
    if sample is None or not len(sample.codes) or tally.recognised <= FEW:
        return None
    kept = float(sample.copies.sum())
    share = min(1.0, kept / max(float(fitted.statistics.rows), 1.0))
    chance = share * (1.0 - float((sample.copies == 1).sum()) / kept)
    spread = np.sqrt(chance * (1.0 - chance) * (1.0 / total + 1.0 / kept))
    seen = tally.recognised / total
    if seen <= chance + SURE * spread + FEW / total:
        return None
    return float(min(1.0, (seen - chance) / max(share - chance, 1e-9)))


def _matrix(fitted: Fitted, costs: object) -> Array | None:
    return None if costs is None else check_costs(costs, fitted.statistics.classes)


def conclude(fitted: Fitted, tally: Tally, priors: object, costs: object) -> Assessment:
    """Return the figures of sums; DataError where they are of no row."""
    classes, matrix = fitted.statistics.classes, _matrix(fitted, costs)
    if not tally.rows:
        raise DataError(_nothing(classes, tally))
    total = float(tally.confusion.sum())
    support, answered = tally.confusion.sum(axis=1), tally.confusion.sum(axis=0)
    right, most = float(np.trace(tally.confusion)) / total, int(support.argmax())
    loss, groups = tally.loss / total, tally.groups
    error, told, z = float(np.sqrt(max(tally.loss_squares / total - loss**2, 0.0) / total)), total, NORMAL
    if groups is not None:
        if len(groups.key) < 2:
            raise DataError(
                "All rows judged are of one group, which does not tell how groups differ. Next: give rows of more "
                "groups, or leave groups out."
            )
        error, told, z = groups.error(groups.loss), groups.rows_told, groups.quantile
    low, high = wilson(np.array(right), np.array(told), z)
    prior = fitted.log_prior_of(priors)
    log_prior = np.maximum(prior, np.log(1e-15))
    recall, precision, f1 = _by_class(tally.confusion)
    constant = None if matrix is None else support @ matrix / total
    return Assessment(
        classes=tuple(classes),
        rows=tally.rows,
        weight=total,
        unlabelled=tally.unlabelled,
        unknown={label: tally.unknown[label] for label in sort_levels(list(tally.unknown))},
        accuracy=right,
        accuracy_interval=(float(low), float(high)),
        balanced_accuracy=float(np.nanmean(recall)),
        log_loss=loss,
        log_loss_error=error,
        impossible=tally.impossible,
        brier_score=tally.brier / total / (2.0 if len(classes) == 2 else 1.0),
        calibration_error=_calibration_error(tally.calibration),
        calibration=_calibration(tally.calibration, told / total, z),
        confusion=tally.confusion,
        support=support,
        answered=answered,
        recall=recall,
        precision=precision,
        f1=f1,
        roc_auc=np.array([_area(own, "roc") for own in tally.rankings]),
        roc_auc_error=max(own.doubt for own in tally.rankings),
        pr_auc=np.array([_area(own, "pr") for own in tally.rankings]),
        lift=np.array([_lift(own.own, own.others) for own in tally.rankings]),
        commonest=classes[most],
        commonest_accuracy=float(support[most] / total),
        shares_log_loss=-float(support @ log_prior / total),
        expected_accuracy=1.0 - tally.expected / total if matrix is None else None,
        costs=matrix,
        realised_cost=None if matrix is None else float((tally.confusion * matrix).sum() / total),
        expected_cost=None if matrix is None else tally.expected / total,
        constant=None if constant is None else classes[int(constant.argmin())],
        constant_cost=None if constant is None else float(constant.min()),
        learned=_share_learned(fitted, tally),
        rankings=tally.rankings,
        container=fitted.schema.container,
        groups=None if groups is None else len(groups.key),
    )


def _nothing(classes: Sequence[Level], tally: Tally) -> str:
    if tally.unknown:
        return (
            f"No row has a label that the model knows: they are {quoted(sort_levels(list(tally.unknown)))}, and its "
            f"classes {quoted(classes)}. Next: correct the labels, or name the column that holds these classes."
        )
    if not tally.unlabelled:
        return "No row has a weight above 0, so there is nothing to judge by. Next: give positive weights."
    return "No row has a label, so there is nothing to judge by. Next: give rows with their classes."


def _by_class(confusion: Array) -> tuple[Array, Array, Array]:
    """Return recall, precision and F1 (k,); NaN for a class without a row, and the precision of one never answered."""
    hit, support, answered = np.diagonal(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    there = np.where(support > 0, support, np.nan)
    return hit / there, hit / np.where(answered > 0, answered, np.nan), 2.0 * hit / (there + answered)


def _area(ranking: Ranking, kind: str) -> float:
    """Return the area under the ROC curve, or the average precision; NaN where all rows are on one side."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    m = len(ranking.odds)
    if not ranking.own.any() or not ranking.others.any():
        return float("nan")
    truth, score = np.repeat([1, 0], m), np.tile(ranking.odds, 2)
    area = roc_auc_score if kind == "roc" else average_precision_score
    return float(area(truth, score, sample_weight=np.concatenate([ranking.own, ranking.others])))


def _lift(own: Array, others: Array) -> float:
    """Return how many times as many of a class are among the tenth of rows where it is most probable as among all."""
    if not own.any():
        return float("nan")
    flagged = np.append(0.0, np.cumsum((own + others)[::-1]))
    hit = np.append(0.0, np.cumsum(own[::-1]))
    return float(np.interp(TOP * flagged[-1], flagged, hit) / hit[-1] / TOP)


def _calibration_error(fine: Array) -> float:
    weight, confidence, right = fine.reshape(3, BINS, FINE).sum(axis=2)
    return float(np.abs(confidence - right).sum() / weight.sum())


def _calibration(fine: Array, told: float, z: float) -> dict[str, Array]:
    """Return bins of the confidence with enough rows in each: steps are put together until there are.

    Rows in groups count `told` for as many that are drawn each by itself, as they do over all bins.
    """
    enough = max(ENOUGH, float(fine[0].sum()) / MOST_BINS)
    parts, sums, end = list[tuple[int, int, Array]](), np.zeros(3), fine.shape[1]
    for step in reversed(range(fine.shape[1])):  # from the top, where most rows are
        sums = sums + fine[:, step]
        if sums[0] >= enough or step == 0:
            parts.append((step, end, sums))
            sums, end = np.zeros(3), step
    if len(parts) > 1 and parts[-1][2][0] < ENOUGH:
        (_, last, one), (first, _, two) = parts[-2:]
        parts[-2:] = [(first, last, one + two)]
    parts.reverse()
    weight, confidence, right = np.array([own for _, _, own in parts]).T
    share = right / weight
    low, high = wilson(share, weight * told, z)
    held = np.flatnonzero(fine[0])
    edges = [(max(a, int(held[0])), min(b, int(held[-1]) + 1)) for a, b, _ in parts]
    return {
        "from": np.array([a for a, _ in edges]) / fine.shape[1],
        "to": np.array([b for _, b in edges]) / fine.shape[1],
        "rows": weight,
        "probability": confidence / weight,
        "right": share,
        "low": low,
        "high": high,
    }
