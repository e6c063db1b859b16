"""Single columns in the stack, judged in folds: which are telling, and how much, is not asked of the rows they judge.

The columns that say most of some rows say more of these than of new ones (Hastie, Tibshirani & Friedman, The Elements
of Statistical Learning, section 7.10.2). So the rows are dealt into five folds; for each, counts lose its rows, columns
are chosen and weighted on the others, and the fold is scored by what comes of that. The penalty on column weights that
loses least then holds for all rows together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .._arrays import Array, Codes, np
from .folds import deal
from .members.hats import HatMember
from .members.levels import LevelMember
from .scorers import Sample
from .stacking import Judge, Stack

MOST_COLUMNS = 100  # with a weight of their own
LEAST_ROWS = 10  # for each such column: of fewer, columns are judged in folds
Pool = Callable[[Sequence[Array], Sequence[Array], Judge, float], Stack]


@dataclass(frozen=True)
class Candidates:
    """The members whose columns may have weights of their own, and their scores (n, k), each row left out."""

    hats: HatMember | None
    levels: LevelMember | None
    names: tuple[tuple[str, int], ...]
    scores: tuple[Array, ...]

    def without(self, out: Sample, sample: Sample) -> tuple[list[Array], list[Array]]:
        """Return each column's scores of rows `out`, by counts that these are not in, and of the sample left.

        Of the sample, which has none of them, each row is left out as well.
        """
        new, old = list[Array](), list[Array]()
        if self.hats is not None:
            k, rows = len(self.hats.counts), out.rows.numbers
            counts = np.maximum(self.hats.counts - self.hats.hats.count(rows, out.codes, k, out.held), 0.0)
            hats = replace(self.hats, counts=counts)
            new += list(hats.columns(rows))
            strength = (hats.strength,)
            old += [own[0] for own in hats.left_out(sample.rows.numbers, sample.codes, sample.removed, strength)]
        if self.levels is not None:
            pairs = zip(self.levels.counts, out.rows.levels, strict=True)
            levels = replace(self.levels, counts=tuple(_less(counts, column, out) for counts, column in pairs))
            new += list(levels.columns(out.rows.levels))
            strength = (levels.strength,)
            old += [own[0] for own in levels.left_out(sample.rows.levels, sample.codes, sample.removed, strength)]
        return new, old


def _less(counts: Array, column: Codes, out: Sample) -> Array:
    left, seen = counts.copy(), (column >= 0) & (column < counts.shape[1])
    np.subtract.at(left, (out.codes[seen], column[seen]), out.held[seen])
    return np.maximum(left, 0.0)


def most_telling(columns: Sequence[Array], judge: Judge) -> list[int]:
    """Return the numbers of the columns whose scores by themselves lose least, in order, if there are very many."""
    if len(columns) <= MOST_COLUMNS:
        return list(range(len(columns)))
    losses = [judge.loss(part) for part in columns]
    return np.sort(np.argsort(losses, kind="stable")[:MOST_COLUMNS]).tolist()  # type: ignore[no-any-return]


def is_wide(candidates: Candidates, judge: Judge) -> bool:
    """Return whether the columns are so many beside the rows that choosing and weighting them reads the labels."""
    c = len(candidates.names)
    return c > MOST_COLUMNS or 0 < float(judge.weight.sum()) < LEAST_ROWS * c


def judge_in_folds(
    candidates: Candidates,
    members: Sequence[Array],
    sample: Sample,
    judge: Judge,
    penalties: Sequence[float],
    pool: Pool,
) -> tuple[float, Array]:
    """Return the penalty that loses least, and scores (n, k) of rows by a stack of other rows, offsets included.

    `pool` fits a stack to scores of members and columns with a penalty.
    """
    place = deal(sample.rows, sample.codes)
    scores = np.empty((len(penalties), *judge.offset.shape))
    for v in range(int(place.max(initial=0)) + 1):
        own, rest = np.flatnonzero(place == v), np.flatnonzero(place != v)
        if not len(rest):
            scores[:, own] = judge.offset[own]
            continue
        new, old = candidates.without(sample[own], sample[rest])
        inner = Judge(judge.codes[rest], judge.offset[rest], judge.weight[rest], judge.single[rest])
        chosen = most_telling(old, inner)
        theirs, kept = [part[rest] for part in members], [old[j] for j in chosen]
        mine = [part[own] for part in members] + [new[j] for j in chosen]
        for i, penalty in enumerate(penalties):
            stack = pool(theirs, kept, inner, penalty)
            scores[i, own] = stack.scores(mine, judge.offset[own])
    losses = [judge.loss(part - judge.offset) for part in scores]
    best = int(np.argmin(losses))
    return penalties[best], scores[best]
