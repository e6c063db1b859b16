"""What models that have not seen them say of old rows and new ones: are the new ones as likely, and of which class."""

from __future__ import annotations

from typing import NamedTuple

from .._arrays import Array, Codes, NDArray, log_softmax, logsumexp, np
from ..densities import Rows
from ..fitted import Fitted
from ..stats.rows import compact, fingerprints, mixed
from ..tasks.two_samples import p_of_scores, rank_scores
from .drift_sides import Pair
from .held_out import hold_out
from .leave_one_out import taken

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
    asked, held = fitted.joint_value, fitted.made(hold_out, whatever_priors=True)
    old_fold = np.zeros(len(pair.old.codes), dtype=np.int64)
    for number, fold in enumerate(held.folds):
        old_fold[fold.index] = number
    density = asked.log_density(asked.recoded(new))
    new_fold = _dealt(kept, new, len(fitted.reservoir.rows), old_fold, density, len(held.folds))
    k = len(fitted.statistics.classes)
    found = Judged(np.full((len(old_fold), k), -np.inf), np.full((len(new_fold), k), -np.inf), old_fold, new_fold)
    for number, fold in enumerate(held.folds):
        mine = np.flatnonzero(new_fold == number)
        for rows, index, out in ((kept, fold.index, found.old), (new, mine, found.new)):
            if len(index):
                log_joint = fold.model.log_joint(fold.read(taken(rows, index)))
                out[np.ix_(index, fold.classes)] = np.nan_to_num(log_joint, nan=-np.inf, posinf=1e300, neginf=-np.inf)
    return found


def _dealt(kept: Rows, new: Rows, blocks: int, old_fold: Codes, density: Array, folds: int) -> Codes:
    """Return the fold of each new row (n,): of a row that is kept, as it is, its own; else each has some near and far.

    So no row is judged by a model of itself, as long as all rows are kept.
    """
    first, second = (_keys(rows, blocks) for rows in (kept, new))
    known = dict(zip(first.tolist(), old_fold.tolist(), strict=True))
    found = np.array([known.get(key, -1) for key in second.tolist()], dtype=np.int64)
    rest = np.flatnonzero(found < 0)
    order = rest[np.lexsort((second[rest], density[rest]))]
    found[order] = np.arange(len(order)) % folds
    return found


def _keys(rows: Rows, blocks: int) -> NDArray[np.uint64]:
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
