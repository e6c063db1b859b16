"""How sure the pooled probability of a class is: what models of other rows, and rows held out, leave open of it.

On the scale of log-odds, one class against the rest, three things add to an interval about what the pool says:

- s², how much the rows decide: K models are learned, each without one fold of the rows (delete-a-group jackknife, Kott
  2001), and s² = (K − 1) / K Σ (their log-odds − the pool's)², about the pool rather than about their mean, so that a
  bias that falls with the rows counts as well.
- τ², what no member sees: with r the residuals of rows left out, w = p (1 − p) their variances and R a kernel of half
  the root-mean-square distance of two rows, Q = Σ r_i r_j R_ij over pairs has the mean τ² D if the true log-odds differ
  from those told by a Gaussian process of variance τ² and correlation R, where D = Σ w_i w_j R_ij²; and a variance of
  2 D if they do not (le Cessie & van Houwelingen 1991, Biometrics 47). τ² is the upper limit of Q / D.
- where a score is calibrated: the Venn-Abers pair of the rows left out (Vovk & Petej 2014, arXiv 1211.0025), which goes
  down to 0 where no row of a score as low is of the class.

The interval holds t √(s² + τ²) to either side, t of K − 1 degrees of freedom, and the Venn-Abers pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .._arrays import Array, Codes, Flags, cumcount, ndtri, np, parallel_map, row_chunks, rows_within, stdtrit
from ..densities import Rows
from ..errors import DataError
from ..fitted import NOTHING
from ..progress import tell
from ..stats.by_class import Batch
from ..stats.reservoir import ALL
from ..stats.rows import deal, deal_groups, mixed, numbered
from .columns import RAW, SCORES
from .folds import content
from .pool import mix_with_prior
from .sample import Sample
from .train import check_judges, table_rows

FOLDS = 8
ENDS = np.concatenate([[0.0], 1.0 / (1.0 + np.exp(-np.linspace(-14.0, 14.0, 281))), [1.0]])  # of Venn-Abers pairs
NEAR = 0.4  # of the root-mean-square distance of two rows: at .5 intervals of 50 rows covered .84 at level .9
ROUNDING = 1e-16  # of a probability


@dataclass(frozen=True, eq=False)
class Doubt:
    """What tells how sure the pooled probabilities of a `value`, a `PooledFitted`, are.

    `folds` are models without each fold, and their classes among all; `ratio` (k,) is Q / D and `error` (k,) its
    standard error; `scores` (k, n) are the log posteriors of the rows left out, ascending, and `pairs` (k, n + 1, 2)
    the Venn-Abers pairs between these.
    """

    value: Any
    folds: Sequence[tuple[Any, Codes]]
    ratio: Array
    error: Array
    scores: Array
    pairs: Array

    @classmethod
    def of(cls, value: Any) -> Doubt:
        """Return that of a model which keeps its rows; DataError where too few are left of those it judged by."""
        if value.holds_no_rows:
            raise DataError.without_rows(released=value.past.released is not None)
        check_judges(value.judged)
        value = value.with_priors(None)
        sample, log_p = value.pool.sample, value.pool.left_out_posterior
        assert sample is not None
        copies = np.rint(value.reservoir.copies).astype(np.int64)
        tell(f"learning {FOLDS} models without a part of the rows each")
        left = _left(copies, sample, value.reservoir.units.groups)
        folds = list(parallel_map(partial(_without, value), left.T))
        hit = sample.codes[:, None] == np.arange(log_p.shape[1])
        ratio, error = _unexplained(sample, copies, hit - np.exp(log_p), np.exp(log_p) * -np.expm1(log_p))
        order = [np.lexsort((~own, score)) for own, score in zip(hit.T, log_p.T, strict=True)]
        pairs = [_venn_abers(own[at], copies[at]) for own, at in zip(hit.T, order, strict=True)]
        scores = [score[at] for score, at in zip(log_p.T, order, strict=True)]
        return cls(value, folds, ratio, error, np.array(scores), np.array(pairs))

    def ends(self, value: Any, rows: Rows, level: float) -> Array:
        """Return the ends (n, k, 2) of intervals around p(class | row) under the priors of a value of the same rows.

        They are as far on the scale of log-odds from what is told as under the priors learned.
        """
        told = self.value.bare(rows)
        log_odds, squares = _log_odds(told), np.zeros_like(told)
        for model, classes in self.folds:
            found = np.full_like(told, -np.inf)
            found[:, classes] = model.bare((model.shown(rows[-1]),))
            squares += (_log_odds(found) - log_odds) ** 2
        side, last = 0.5 + level / 2.0, len(self.folds) - 1
        unexplained = np.maximum(self.ratio, 0.0) + ndtri(side) * self.error
        reach = stdtrit(last, side) * np.sqrt(last / (last + 1.0) * squares + unexplained)
        out: Array = np.stack([-reach, reach], axis=2)
        placed = mix_with_prior(told, self.value.pool.log_prior, self.value.pool.floor)  # as the scores have it
        with np.errstate(divide="ignore", over="ignore"):
            for c, (scores, pairs) in enumerate(zip(self.scores, self.pairs, strict=True)):
                low = pairs[np.searchsorted(scores, placed[:, c]), 0]
                high = pairs[np.searchsorted(scores, placed[:, c], "right"), 1]
                out[:, c, 0] = np.minimum(out[:, c, 0], np.log(low) - np.log1p(-low) - log_odds[:, c])
                out[:, c, 1] = np.maximum(out[:, c, 1], np.log(high) - np.log1p(-high) - log_odds[:, c])
            out += _log_odds(value.bare(rows))[:, :, None]
            return np.asarray(1.0 / (1.0 + np.exp(-out)))


def _log_odds(log_p: Array) -> Array:
    return np.asarray(log_p - np.log(-np.expm1(np.minimum(log_p, -ROUNDING))))


def _left(copies: Codes, sample: Sample, groups: Codes | None) -> Codes:
    """Return how many copies of each row (n, folds) are in models without each fold; rows of a group leave together."""
    left, own = np.repeat(copies[:, None], FOLDS, axis=1), content(sample.rows)
    if groups is not None:
        return np.where(deal_groups(groups, sample.codes, own, FOLDS)[:, None] == np.arange(FOLDS), 0, left)
    every = np.repeat(np.arange(len(copies)), copies)
    keys = mixed(mixed(own)[every] + cumcount(every).astype(np.uint64))
    np.subtract.at(left, (every, deal(keys, sample.codes[every], FOLDS)), 1)
    return left


def _without(value: Any, left: Codes) -> tuple[Any, Codes]:
    """Return the model that learns from so many copies (n,) of the rows kept, and its classes among all."""
    sample, statistics = value.reservoir, value.statistics
    weight = sample.represented(statistics.weight) * left / sample.copies
    sample = replace(sample, copies=left.astype(np.float64), weight=weight, limit=np.full_like(sample.limit, ALL))
    sample = sample.part(np.flatnonzero(left))
    present = np.unique(sample.codes)
    classes = tuple(statistics.classes[c] for c in present)
    sample = sample.regroup(numbered(present, len(statistics.classes)), classes)
    batch = Batch(classes, sample.codes, [*sample.rows, table_rows(sample.rows)], sample.weight)
    begun = replace(value, statistics=NOTHING, priors=None, chosen=None)
    found = begun.summarize(batch, 0)
    model = begun.with_statistics(replace(found, sample=sample, unlabelled=statistics.unlabelled))
    model.train()
    return model, present


def _unexplained(sample: Sample, copies: Codes, residual: Array, variance: Array) -> tuple[Array, Array]:
    """Return Q / D and its standard error (k,)."""
    kind = SCORES if SCORES in sample.rows.columns.center else RAW
    cells = np.nan_to_num(sample.rows.gaussian(kind))
    squared, alone = (cells**2).sum(axis=1), sample.held**2 / copies
    r, w = sample.held[:, None] * residual, sample.held[:, None] * variance
    q, d = -(alone @ residual**2), -(alone @ variance**2)
    wide = max(4.0 * NEAR**2 * float(np.var(cells, axis=0).sum()), 1e-300)  # two rows differ by twice the variances
    for part in row_chunks(len(r), rows_within(24 * len(r))):
        apart = squared[part, None] + squared - 2.0 * cells[part] @ cells.T
        kernel = np.exp(-np.maximum(apart, 0.0) / wide)
        q += (r[part] * (kernel @ r)).sum(axis=0)
        d += (w[part] * (kernel**2 @ w)).sum(axis=0)
    d = np.maximum(d, 1e-300)
    return q / d, np.sqrt(2.0 / d)


def _venn_abers(hit: Flags, copies: Codes) -> Array:
    """Return the calibrated probabilities (n + 1, 2) of a score between rows in their order, as a miss and as a hit.

    With N and S the sums of rows and of hits up to each place, isotonic regression with one row of label y more at a
    place is at least λ there where min (S − λ N) from there on + y − λ ≥ min (S − λ N) up to there.
    """
    rows, hits = np.append(0.0, np.cumsum(copies)), np.append(0.0, np.cumsum(copies * hit))
    out = np.zeros((len(rows), 2))
    for level, above in zip(ENDS, np.append(ENDS[1:], 1.0), strict=True):
        line = hits - level * rows
        room = np.minimum.accumulate(line[::-1])[::-1] - np.minimum.accumulate(line) - level
        out[room >= -ROUNDING, 0] = level
        out[room + 1.0 >= -ROUNDING, 1] = above
    return out
