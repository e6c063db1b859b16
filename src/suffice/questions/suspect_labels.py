"""How probable it is that the label of a learned row is wrong: a noisy channel from true classes to given labels.


The label of a row is taken to have passed a channel Q[j, l] = p(given j | true l) that does not look at the row
(class-conditional noise; Angluin & Laird 1988, doi:10.1007/BF00116829). With posteriors p(l | x) of the true class,

    p(given j | x) = Σ_l Q[j, l] p(l | x),    p(true l | x, given j) = Q[j, l] p(l | x) / Σ_m Q[j, m] p(m | x).

A model that has learned wrong labels doubts too much and counts the classes as they were given. Its posteriors p̂ are
put right by a temperature and a bias of each class, p(l | x) ∝ exp(t log p̂(l | x) + b_l), which is all there is to mend
where the classes' log densities keep their form. Q, t and b are what makes the given labels most likely: Q and b by EM,
t on a grid. Classes that overlap make p(l | x) doubtful without any channel; what tells wrong labels from overlap are
rows whose label is contradicted however far they are from the other classes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from .._arrays import Array, Codes, Flags, np
from ..densities import Rows
from ..fitted import Fitted
from ..stats.dependent_rows import as_judged
from ..stats.rows import take_blocks
from ..table.labels import read_weights
from .held_out import left_out_kept
from .leave_one_out import Leaves, known_codes, leaves_with
from .sample import read_share

REST = 1e-9  # share of a class's weight below which nothing of it is left


class JudgedLabels(NamedTuple):
    """Given labels as class numbers (n,), −1 where missing, and p(true class | row, given label), (n, k)."""

    codes: Codes
    posterior: Array

    @property
    def wrong(self) -> Array:
        """p(the given label is wrong) of each row (n,); 0 where none is given."""
        own = self.posterior[np.arange(len(self.codes)), self.codes]
        return np.where(self.codes < 0, 0.0, np.clip(1.0 - own, 0.0, 1.0))

    def likeliest_other(self) -> Codes:
        """Return the likeliest class (n,) beside the given one; −1 where no label is given or there is no other."""
        others = self.posterior.copy()
        others[np.arange(len(self.codes)), self.codes] = -1.0
        known = (self.codes >= 0) & (others.shape[1] > 1)
        return np.where(known, others.argmax(axis=1), -1)


def suspect_labels(
    fitted: Fitted, X: object, y: object, sample_weight: object, fdr: object = None, groups: object = None
) -> Array:
    """Return p(wrong) of the labels of learned rows (n,); 0 for those not flagged at a rate `fdr`, if one is given."""
    wrong = judge_labels(fitted, X, y, sample_weight, groups).wrong
    return wrong if fdr is None else np.where(flag_labels(wrong, fdr), wrong, 0.0)


def flag_labels(wrong: Array, fdr: object) -> Flags:
    """Return which rows (n,) to flag so that a share `fdr` of them is expected to be right after all."""
    return flag(wrong, read_share(fdr, "fdr", "of rows flagged at 0.1, a tenth is right"))


def judge_labels(fitted: Fitted, X: object, y: object, sample_weight: object, groups: object = None) -> JudgedLabels:
    """Return the given labels and the posteriors of the true ones."""
    fitted = fitted.with_priors(None)  # labels come as often as they do among the rows learned
    fitted.check_leaving()
    rows, n = fitted.encoded(X)
    weight = read_weights(sample_weight, n)
    codes = known_codes(fitted, y, n, missing="any")
    given = np.flatnonzero(codes >= 0)
    leaves = leaves_with(fitted, rows, codes, weight, groups)[given]
    posterior = np.zeros((n, len(fitted.statistics.classes)))
    posterior[given, codes[given]] = 1.0
    if posterior.shape[1] > 1 and len(given):
        amount = np.ones(len(given)) if weight is None else weight[given]
        posterior[given] = _posterior(fitted, take_blocks(rows, given), codes[given], amount, leaves)
    return JudgedLabels(codes, posterior)


def _posterior(fitted: Fitted, rows: Rows, codes: Codes, weight: Array, leaves: Leaves) -> Array:
    """Return p(true class | row, given label), (n, k); the label itself where no other row is of its class."""
    posterior = np.eye(len(fitted.statistics.classes))[codes]
    leaving = weight if leaves.weight is None else leaves.weight
    told = np.flatnonzero(_others(fitted, codes, leaving))
    if not len(told):
        return posterior
    own, amount = codes[told], weight[told]
    some = replace(leaves, weight=leaving)[told]
    left_out = some.left_out(fitted, take_blocks(rows, told), own, partial(_left_out, fitted))
    learned = np.flatnonzero(amount)
    channel = _channel(fitted, left_out[learned], own[learned], amount[learned], leaves.group is None)
    posterior[told] = true_posterior(channel, left_out, own)
    return posterior


def _left_out(fitted: Fitted, rows: Rows, codes: Codes, weight: Array | None) -> Array:
    """Return log posteriors (n, k) of learned rows, each left out; of those kept by folds where that takes long."""
    if fitted.judges is None or fitted.leaves_soon:
        return fitted.left_out_unseen(rows, codes, weight)
    place = fitted.reservoir.locate(rows, codes, fitted.statistics.classes)
    found, others = left_out_kept(fitted)[place], np.flatnonzero(place < 0)
    if len(others):
        own = None if weight is None else weight[others]
        found[others] = fitted.left_out_unseen(take_blocks(rows, others), codes[others], own)
    return found


def _others(fitted: Fitted, codes: Codes, weight: Array) -> Flags:
    """Return whether other rows are of the class of each row (n,)."""
    return fitted.statistics.weight[codes] * (1.0 - REST) > weight


def _channel(fitted: Fitted, log_posterior: Array, codes: Codes, weight: Array, alike: bool) -> Channel:
    """Return the channel of labels, by those kept, or by these rows where they are more."""
    kept = 0.0 if fitted.judges is None else float(fitted.judges.copies.sum())
    if kept > len(codes) or ((alike or fitted.copies_leave_together) and kept == len(codes)):
        return fitted.memoize(_channel_of_kept)
    total = float(weight.sum())  # weights are copies of rows, unless they add up to less than the rows
    return find_channel(log_posterior, codes, weight * max(1.0, len(codes) / total) if total else weight)


def _channel_of_kept(fitted: Fitted) -> Channel:
    """Return the channel of labels by the rows that are kept; weights are copies, and copies of a row are one row."""
    sample, of_class = fitted.reservoir, fitted.statistics.weight
    weight = sample.represented(of_class)
    rows = as_judged(replace(sample, copies=np.maximum(sample.copies, sample.weight)))
    weight *= float(rows.copies.sum() / weight.sum())
    told = np.flatnonzero(_others(fitted, sample.codes, sample.row_weight()))
    return find_channel(left_out_kept(fitted)[told], sample.codes[told], weight[told])


TEMPERATURES = 2.0 ** np.arange(-4.0, 4.5, 0.5)
SPREAD = 1.0  # standard deviation of log t before rows are seen
STILL = 10.0  # 1 / variance of a bias before rows are seen
RIGHT = 5.0  # rows of each class with the right label that are added, so that what rows leave open is no noise
ALIKE = 10.0  # rows of each class that speak for the rate of wrong labels that all classes have together
ANY = 1.0  # wrong labels of each class that speak for all other classes alike
BEGIN = 0.1  # rate of wrong labels that EM begins with
MIXED = 0.04  # of that mixed in between temperatures, so that no entry begins at 0
STEPS, ENOUGH = 200, 1e-3  # of EM, and nats that a step must bring
FAR = 10.0  # nats below the likeliest temperature, beyond which no other is tried
LONGEST = 1.0  # step of a bias
MOST_ROWS = 20_000  # that the channel is estimated from
TINY = 1e-300
ROUNDING = 1e-12  # by which a mean of probabilities may be above the rate that it keeps


class Channel(NamedTuple):
    """Temperatures (m,) with their shares, which add up to 1, biases (m, k), and channels Q[given, true] (m, k, k)."""

    temperature: Array
    share: Array
    bias: Array
    given: Array

    @property
    def confusion(self) -> Array:
        """The mean channel (k, k): columns are true classes, and add up to 1."""
        return np.asarray(np.einsum("m,mij->ij", self.share, self.given))


class _Climbed(NamedTuple):
    """Where EM ends at one temperature: the channel, the biases, and the log of likelihood times prior."""

    given: Array
    bias: Array
    value: float


def find_channel(log_posterior: Array, codes: Codes, weight: Array) -> Channel:
    """Return the channels under which the given labels are most likely, each temperature by how likely it makes them.

    `log_posterior` (n, k) are log p̂(class | x) in nats of rows that the model has not seen, `codes` (n,) the given
    labels, `weight` (n,) how many rows each stands for. Temperatures share out as L(t) N(log t; 0, 1), with L the
    likelihood at the best Q and b: of few rows many are likely, and none is picked. Of more than 20,000 rows every so
    many stand for the others, counted from the least to the most probable label of each class.
    """
    k = log_posterior.shape[1]
    log_posterior, codes, weight = _thinned(log_posterior, codes, weight)
    groups = [np.flatnonzero(codes == j) for j in range(k)]
    rows = [(log_posterior[own], weight[own]) for own in groups if len(own)]
    labels = [j for j, own in enumerate(groups) if len(own)]
    begin = np.full((k, k), BEGIN / max(k - 1, 1))
    np.fill_diagonal(begin, 1.0 - BEGIN if k > 1 else 1.0)
    middle = int(np.argmin(np.abs(np.log(TEMPERATURES))))
    found: dict[int, _Climbed] = {}
    for direction in (range(middle, len(TEMPERATURES)), range(middle - 1, -1, -1)):
        given = begin if middle not in found else found[middle].given
        for i in direction:
            own = _climb(rows, labels, float(TEMPERATURES[i]), (1.0 - MIXED) * given + MIXED * begin)
            found[i], given = own, own.given
            if own.value < max(other.value for other in found.values()) - FAR:
                break
    best = max(own.value for own in found.values())
    some = sorted(i for i, own in found.items() if own.value >= best - FAR)
    share = np.exp([found[i].value - best for i in some])
    bias, given = np.stack([found[i].bias for i in some]), np.stack([found[i].given for i in some])
    return Channel(TEMPERATURES[some], share / share.sum(), bias, given)


def _thinned(log_posterior: Array, codes: Codes, weight: Array) -> tuple[Array, Codes, Array]:
    """Return about `MOST_ROWS` rows in the order of how probable their labels are, that weigh as much as all."""
    step = len(codes) // MOST_ROWS
    if step < 2:
        return log_posterior, codes, weight
    some = np.lexsort((log_posterior[np.arange(len(codes)), codes], codes))[step // 2 :: step]
    return log_posterior[some], codes[some], weight[some] * (weight.sum() / weight[some].sum())


def _climb(rows: list[tuple[Array, Array]], labels: list[int], temperature: float, given: Array) -> _Climbed:
    """Return where EM ends that begins with a channel; log posteriors and weights are grouped by the labels given.

    A bias takes one step of Newton's method to where the expected number of rows of its class is what the channel makes
    of the labels, less its prior (generalised iterative scaling, Darroch & Ratcliff 1972, doi:10.1214/aoms/1177692379).
    """
    posterior = [sharpened(own, temperature) for own, _ in rows]
    bias, before, value = np.zeros(len(given)), -np.inf, -np.inf
    prior = -0.5 * (np.log(temperature) / SPREAD) ** 2
    for _ in range(STEPS):
        counts, value = np.zeros_like(given), prior - 0.5 * STILL * float(bias @ bias)
        value += RIGHT * float(np.log(np.maximum(given.diagonal(), TINY)).sum())
        held = np.zeros(len(given))
        for j, own, (_, weight) in zip(labels, posterior, rows, strict=True):
            p = np.maximum(own @ given[j], TINY)
            value += float(weight @ np.log(p))
            counts[j] = given[j] * ((weight / p) @ own)
            held += weight @ own
        if value - before < ENOUGH:
            break
        before, given = value, _channel_of_counts(counts)
        step = (counts.sum(axis=0) - held - STILL * bias) / (held + STILL)
        step = np.clip(step, -LONGEST, LONGEST)
        bias = bias + step
        for own in posterior:
            own *= np.exp(step)
            own /= own.sum(axis=1, keepdims=True)
    return _Climbed(given, bias, value)


def _channel_of_counts(counts: Array) -> Array:
    """Return the channel of such counts; classes of few rows take the rate of all, and their labels any other."""
    k = len(counts)
    if k == 1:
        return np.ones((1, 1))
    others = 1.0 - np.eye(k)
    wrong, total = (counts * others).sum(axis=0), counts.sum(axis=0)
    rate = (wrong + ALIKE * wrong.sum() / max(float(total.sum()), TINY)) / (total + ALIKE + RIGHT)
    where = (counts + ANY / (k - 1)) * others / (wrong + ANY)
    return np.asarray(where * rate + np.diag(1.0 - rate))


def sharpened(log_posterior: Array, temperature: float, bias: Array | float = 0.0) -> Array:
    """Return exp(t log p̂ + b) (n, k), normalised over the classes."""
    scaled = temperature * (log_posterior - log_posterior.max(axis=1, keepdims=True)) + bias
    scaled -= scaled.max(axis=1, keepdims=True)
    np.exp(scaled, out=scaled)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def true_posterior(channel: Channel, log_posterior: Array, codes: Codes) -> Array:
    """Return p(true class | x, given label), (n, k): the mean over the temperatures by their shares."""
    found = np.zeros(log_posterior.shape)
    for t, share, bias, given in zip(*channel, strict=True):
        both = given[codes] * sharpened(log_posterior, float(t), bias)
        total = both.sum(axis=1, keepdims=True)
        impossible = total[:, 0] < TINY  # under every class: the label is what there is to go by
        found += share * np.where(impossible[:, None], np.eye(len(given))[codes], both / np.maximum(total, TINY))
    return found


def flag(wrong: Array, fdr: float) -> Flags:
    """Return which rows (n,) to flag: the largest set of the likeliest whose mean of 1 − p(wrong) is at most `fdr`.

    Rows of the same probability are flagged together or not at all, so that their order does not matter.
    """
    order = np.argsort(-wrong, kind="stable")
    ranked = wrong[order]
    missed = np.cumsum(1.0 - ranked) / np.arange(1, len(ranked) + 1)
    last = np.append(ranked[1:] < ranked[:-1], True)[: len(ranked)]
    fits = np.flatnonzero((missed <= fdr * (1.0 + ROUNDING)) & last & (ranked > 0))
    flagged = np.zeros(len(wrong), dtype=np.bool_)
    flagged[order[: fits[-1] + 1 if len(fits) else 0]] = True
    return flagged
