"""What has moved between the rows a model has learned and new ones: column by column, in class shares, and at all."""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import Array, Codes, gammaincc, logsumexp, np
from ..errors import DataError, SchemaError, SettingError
from ..fitted import Fitted
from ..schema import sort_levels
from .decide import adapt_priors
from .drift_answer import SD, VARIATION, ClassShares, ColumnDrift, Drift
from .drift_columns import (
    Posteriors,
    category_effect,
    compare_pairs,
    left,
    marginal,
    number_effect,
    pair_scores,
    within,
)
from .drift_density import Judged, compare_densities, judge, posteriors
from .drift_sides import Pair, learned_side, table_side
from .two_samples import combine, compare_counts, p_of_scores

NO_ROWS = "means and counts by statistics, as no rows are kept"


def drift(fitted: Fitted, given: object, y: object, sample_weight: object) -> Drift:
    """Return what has moved between the rows of a model and those of a table, or of another model."""
    pair = _pair(fitted, given, y, sample_weight)
    judged = judge(fitted, pair)
    told = None if pair.new.classes else _posteriors(fitted, pair, judged)
    shares = _known_shares(pair) if told is None else _estimated_shares(fitted, pair, told)
    columns, scores = list[ColumnDrift](), list[Array | None]()
    for j in range(len(fitted.schema)):
        found, own = _column(fitted, pair, j, told, shares)
        columns.append(found)
        scores.append(own)
    pairs, most = compare_pairs(pair, scores)
    density = compare_densities(fitted, pair, judged)
    names = fitted.schema.names
    joint = combine(
        np.array(
            [
                combine(np.array([own.either for own in columns])),
                shares.p_value if shares.labelled else combine(np.array([own.within_p_value for own in columns])),
                pairs,
                density,
            ]
        )
    )
    return Drift.of_columns(
        columns,
        class_shares=shares,
        pairs_p_value=pairs,
        pair=None if most is None else (names[most[0]], names[most[1]]),
        density_p_value=density,
        joint_p_value=1.0 if np.isnan(joint) else joint,
        rows=(pair.old.total, pair.new.total),
        compared=_compared(pair),
        container=fitted.schema.container,
    )


def _column(
    fitted: Fitted, pair: Pair, j: int, told: Posteriors | None, shares: ClassShares
) -> tuple[ColumnDrift, Array | None]:
    """Return what has moved in one column, and its scores in the rows of both sides."""
    name = fitted.schema.names[j]
    old, new = pair.old.column(j, name), pair.new.column(pair.order[j], name)
    if old.is_number != new.is_number:
        raise SchemaError.kind_differs(name, *("numeric" if own.is_number else "string" for own in (old, new)))
    kind, size = (SD, number_effect(old, new)) if old.is_number else (VARIATION, category_effect(old, new))
    if told is None:
        by_class, inside = within(pair, old, new)
    else:
        by_class, inside = None, left(pair, old, new, told, shares.after)
    gone = old.missing_share, new.missing_share
    found = ColumnDrift(name, kind, *size, gone, marginal(pair, old, new), inside, by_class)
    return found, pair_scores(pair, old, new)


def _pair(fitted: Fitted, given: object, y: object, sample_weight: object) -> Pair:
    old = learned_side(fitted)
    if isinstance(given, Fitted):
        if y is not None or sample_weight is not None:
            raise SettingError(
                "y and sample_weight go with a table of rows; another model knows its own labels and weights. "
                "Next: leave them out."
            )
        order: Sequence[int] = fitted.schema.align(given.schema, fitted.who)
        new = learned_side(given)
    else:
        new = table_side(fitted, given, y, sample_weight)
        order = range(len(fitted.schema))
    if len({isinstance(label, str) for label in (*old.classes, *new.classes)}) > 1:
        raise DataError(
            "The classes of the two models are text on one side and numbers on the other. Next: fit both with labels "
            "of one kind."
        )
    classes = sort_levels([*old.classes, *new.classes])
    return Pair(old, new, order, classes)


def _compared(pair: Pair) -> str:
    """Return in words what was compared with what."""
    if pair.old.rows is None or pair.new.rows is None:
        return NO_ROWS
    kept, count = len(pair.old.codes), float(pair.old.count.sum())
    some = f"numbers by ranks among {kept:,} different rows kept"
    return f"{some} of {pair.old.total:,.0f}" if count < pair.old.total * (1 - 1e-6) else some


def _known_shares(pair: Pair) -> ClassShares:
    a, b = (pair.of(side, side.class_weight) for side in (pair.old, pair.new))
    p = compare_counts(a, b)
    before, after = (own / max(float(own.sum()), 1e-300) for own in (a, b))
    return ClassShares(pair.classes, before, after, 1.0 if p is None else p, True)


def _posteriors(fitted: Fitted, pair: Pair, judged: Judged | None) -> Posteriors:
    """Return posteriors of both sides: where rows are judged by models of the others, by these."""
    assert pair.new.rows is not None
    rows = fitted.recoded(pair.new.rows)
    uniform = fitted.log_posterior(rows, "uniform")
    if judged is not None:
        return Posteriors(posteriors(judged.old), posteriors(judged.new), uniform)
    new = np.exp(fitted.log_posterior(rows, leading=True))
    if pair.old.rows is None:
        return Posteriors(np.zeros((0, new.shape[1])), new, uniform)
    return Posteriors(np.exp(fitted.log_posterior(fitted.recoded(pair.old.rows), leading=True)), new, uniform)


def _estimated_shares(fitted: Fitted, pair: Pair, found: Posteriors) -> ClassShares:
    weight = fitted.statistics.weight
    before = weight / weight.sum()
    likelihood = np.repeat(found.uniform, _copies(pair.new.count), axis=0)
    after = adapt_priors(fitted, likelihood)
    if not len(found.old):
        p = _likelihood_ratio(likelihood, before, after, pair)
    else:
        scores = np.concatenate([found.old, found.new])
        count = np.concatenate([pair.old.count, pair.new.count])
        later = np.arange(len(scores)) >= len(found.old)
        p, apart = p_of_scores(scores, count, later)
        p = 1.0 if apart is None else p
    return ClassShares(pair.old.classes, before, after, p, False)


def _likelihood_ratio(likelihood: Array, before: Array, after: Array, pair: Pair) -> float:
    """Return Wilks' p-value of the old shares, as right as the model; both sides' shares are estimates."""
    with np.errstate(divide="ignore"):
        first, second = (logsumexp(likelihood + np.log(shares), axis=1) for shares in (before, after))
    gain = float((second - first).sum())
    free = int((before > 0).sum()) - 1
    known = pair.old.total / (pair.old.total + pair.new.total)
    return float(gammaincc(0.5 * free, max(gain, 0.0) * known)) if free else 1.0


def _copies(count: Array) -> Codes:
    """Return how often each row stands (n,), 1 for each where weights are no whole numbers."""
    whole = np.rint(count)
    few = (np.abs(whole - count) < 1e-9).all() and whole.sum() <= 4 * len(count) + 1000
    return whole.astype(np.int64) if few else (count > 0).astype(np.int64)
