"""What models that have not seen them say of old rows and new ones: are the new ones as likely, and of which class."""

from __future__ import annotations

from typing import NamedTuple

from .._arrays import Array, Codes, log_softmax, logsumexp, np
from ..densities import Rows
from ..fitted import Fitted
from ..stats.rows import Keys, compact, fingerprints, mixed
from .drift_sides import Pair
from .held_out import hold_out
from .leave_one_out import taken
from .two_samples import p_of_scores, rank_scores

FEWEST = 10  # rows kept, below which no models of the others are made


class Judged(NamedTuple):
    """log p(x, k) of the rows kept (m, k) and of the new ones (n, k), and the fold of each.

    The rows kept are parted into folds, and the new ones dealt out to these; the rows of a fold, old and new, are
    judged by one model of all other rows, which has seen neither.
    """

    old: Array
    new: Array
    old_fold: Codes
    new_fold: Codes


def judge(fitted: Fitted, pair: Pair) -> Judged | None:
    """Return what models of the folds say of the rows of both sides; None where too few are kept."""
    kept, new = pair.old.rows, pair.new.rows
    if kept is None or new is None or len(pair.old.codes) < FEWEST or not _alike(pair):
        return None
    asked, held = fitted.joint_value, fitted.memoize(hold_out, whatever_priors=True)
    old_fold = np.zeros(len(pair.old.codes), dtype=np.int64)
    for number, fold in enumerate(held.folds):
        old_fold[fold.index] = number
    density = [logsumexp(held.log_density + asked.joint.log_prior, axis=1), asked.log_density(asked.recoded(new))]
    keys = [_keys(rows, len(fitted.reservoir.rows)) for rows in (kept, new)]
    labels = [pair.codes(side) for side in (pair.old, pair.new)]
    same = [mixed(own + c.astype(np.uint64)) for own, c in zip(keys, labels, strict=True)]
    if (labels[1] < 0).any():  # without labels the likeliest class: where classes are small, the row left out is missed
        labels = [pair.old.codes, asked.log_posterior(asked.recoded(new), leading=True).argmax(axis=1)]
        same = keys
    groups = [same, keys, [c.astype(np.uint64) for c in labels], [np.zeros_like(own) for own in keys]]
    new_fold = _dealt(groups, density, keys, pair.old.count, old_fold)
    k = len(fitted.statistics.classes)
    found = Judged(np.full((len(old_fold), k), -np.inf), np.full((len(new_fold), k), -np.inf), old_fold, new_fold)
    for number, fold in enumerate(held.folds):
        mine = np.flatnonzero(new_fold == number)
        for rows, index, out in ((kept, fold.index, found.old), (new, mine, found.new)):
            if len(index):
                log_joint = fold.model.log_joint(fold.read(taken(rows, index)))
                out[np.ix_(index, fold.classes)] = np.nan_to_num(log_joint, nan=-np.inf, posinf=1e300, neginf=-np.inf)
    return found


def _dealt(groupings: list[list[Keys]], density: list[Array], keys: list[Keys], count: Array, fold: Codes) -> Codes:
    """Return the fold of each new row (n,), where kept rows count for `count` (m,) and are in folds `fold` (m,).

    All else is of the rows kept and of the new ones. A new row goes where kept rows of its group are, by the first of
    the groupings in which there are some: with the same contents, so that a row that was learned meets no model of
    itself, or of its class, as often as these, from near to far out.
    """
    out = np.full(len(keys[1]), -1, dtype=np.int64)
    for groups in groupings:
        left = np.flatnonzero(out < 0)
        left = left[np.lexsort((keys[1][left], density[1][left], groups[1][left]))]
        order = np.lexsort((keys[0], fold, density[0], groups[0]))
        sought, start, size = np.unique(groups[1][left], return_index=True, return_counts=True)
        first = np.searchsorted(groups[0][order], sought, side="left")
        last = np.searchsorted(groups[0][order], sought, side="right")
        for s, n, low, high in zip(start, size, first, last, strict=True):
            if high > low:
                place = np.cumsum(count[order[low:high]])
                at = np.searchsorted(place, (np.arange(n) + 0.5) / n * place[-1])
                out[left[s : s + n]] = fold[order[low:high][at]]
    return out


def _keys(rows: Rows, blocks: int) -> Keys:
    """Return a number for each row (n,) that depends on its contents alone."""
    parts = [fingerprints(compact(part)) for part in rows[:blocks]]
    return np.asarray(sum((mixed(part + np.uint64(i)) for i, part in enumerate(parts)), np.zeros_like(parts[0])))


def posteriors(log_joint: Array) -> Array:
    """Return p(class | x) (n, k) of log joint densities; where every class makes a row impossible, all are alike."""
    impossible = log_joint.max(axis=1, keepdims=True) == -np.inf
    return np.exp(log_softmax(np.where(impossible, 0.0, log_joint)))


def compare_densities(fitted: Fitted, pair: Pair, judged: Judged | None) -> float:
    """Return the p-value that new rows are as likely as old ones, by log p(x), or log p(x, y) where all have labels.

    Rows are ranked within their fold. NaN where no rows are judged.
    """
    if judged is None:
        return float("nan")
    classes = {label: c for c, label in enumerate(fitted.statistics.classes)}
    codes = pair.codes(pair.new)
    if (codes >= 0).all():
        own = np.array([classes.get(label, -1) for label in pair.classes])[codes]
        picked = judged.new[np.arange(len(own)), own]
        values = judged.old[np.arange(len(judged.old)), pair.old.codes], np.where(own < 0, -np.inf, picked)
    else:
        values = logsumexp(judged.old, axis=1), logsumexp(judged.new, axis=1)
    value, fold = np.concatenate(values), np.concatenate([judged.old_fold, judged.new_fold])
    count = np.concatenate([pair.old.count, pair.new.count])
    scores = np.empty((len(value), 2))
    for number in range(int(fold.max()) + 1):
        mine = np.flatnonzero(fold == number)
        scores[mine] = rank_scores(value[mine], count[mine])
    return p_of_scores(scores, count, np.arange(len(value)) >= len(judged.old))[0]


def _alike(pair: Pair) -> bool:
    """Return whether rows of both sides are encoded by the same blocks of columns."""
    old, new = pair.old.blocks, pair.new.blocks
    if list(pair.order) != list(range(len(pair.order))):
        return False
    return len(old) == len(new) and all(
        a.positions == b.positions and type(a.family) is type(b.family) for a, b in zip(old, new, strict=True)
    )
