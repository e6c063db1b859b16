"""Single columns in the stack, judged in folds: which are telling, and how much, is not asked of the rows they judge.

The columns that say most of some rows say more of these than of new ones (Hastie, Tibshirani & Friedman, The Elements
of Statistical Learning, section 7.10.2). So the rows are dealt into five folds; for each, counts lose its rows, columns
are chosen and weighted on the others, and the fold is scored by what comes of that. The penalty on column weights that
loses least then holds for all rows together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import heappush, heapreplace
from typing import Any

from .._arrays import Array, Codes, np
from .costs import most_weighted
from .folds import deal
from .scorers import HatScorer, LevelScorer, Sample
from .stack import Judge, Stack

LEAST_ROWS = 10  # for each column: of fewer, columns are judged in folds
LEAST_POWER = 0.5
Pool = Callable[[Sequence[Any], Sequence[Array], Judge, Sequence[float]], Stack]
Column = tuple[str, int, Array]  # kind, number and scores (n, k)


def power_of_rows(sample: Sample, judge: Judge) -> float:
    """Return to which power of their likelihood rows count in the stack: max(½, n / (n + 10 d)).

    The held-out score of a row is made with the labels of the others, and theirs with its own, so that what two rows
    say together is said twice: under all of the likelihood, columns of noise get weights that new rows do not bear out.
    That matters the more, the more columns there are for the rows. At ½ there are fewer than ten rows for each, and
    choosing and weighting columns is judged in folds.
    """
    count = sample.rows.numbers.shape[1] + len(sample.rows.levels)
    rows = float(judge.weight.sum())
    return max(LEAST_POWER, float(rows / (rows + LEAST_ROWS * count)))


def judge_in_folds(
    additive: Sequence[Any],
    members: Sequence[Any],
    sample: Sample,
    judge: Judge,
    penalties: Sequence[float],
    pool: Pool,
) -> tuple[tuple[float, ...], Array]:
    """Return the penalty that loses least, and scores (n, k) of each row by a stack of others, offsets included.

    `additive` are the scorers of single columns, if there are any; `pool` fits a stack to members, columns, a judge and
    penalties to choose from.
    """
    place = deal(sample.rows, sample.codes)
    scores = np.empty((len(penalties), *judge.offset.shape))
    for v in range(int(place.max(initial=0)) + 1):
        own, rest = np.flatnonzero(place == v), np.flatnonzero(place != v)
        scores[:, own] = judge.offset[own]
        if not len(rest):
            continue
        inner = Judge(judge.codes[rest], judge.offset[rest], judge.weight[rest], judge.single[rest])
        old, new = _columns_without([one for one in additive if one is not None], sample[own], sample[rest], inner)
        theirs = [_judged_by(inner, member, rest) for member in members]
        mine = [member.held_out[own] for member in members] + new
        for i, penalty in enumerate(penalties):
            scores[i, own] = pool(theirs, old, inner, (penalty,)).scores(mine, judge.offset[own])
    losses = [judge.loss(part - judge.offset) for part in scores]
    best = int(np.argmin(losses))
    return (penalties[best],), scores[best]


def _judged_by(judge: Judge, member: Any, rows: Codes) -> Any:
    """Return a member with its loss and temperature on some of the rows."""
    held_out = member.held_out[rows]
    loss, temperature = judge.temperature(held_out)
    return replace(member, held_out=held_out, loss=loss, temperature=temperature)


def _columns_without(
    additive: Sequence[Any], out: Sample, rest: Sample, judge: Judge
) -> tuple[list[Array], list[Array]]:
    """Return scores of the columns that tell most of the rows `rest`, each left out, and the same of rows `out`.

    Both are by counts that have none of the rows `out`.
    """
    found, models = list[Column](), dict[str, tuple[Any, Any]]()
    for scorer in additive:
        if isinstance(scorer, HatScorer):
            kind, hats, cells = "hat", scorer.model, out.rows.numbers
            counts = hats.hats.count(cells, out.codes, len(hats.counts), out.held)
            models[kind] = replace(hats, counts=np.maximum(hats.counts - counts, 0.0)), cells
            count, fewer = cells.shape[1], HatScorer(models[kind][0]).left_out_columns(rest)
        else:
            assert isinstance(scorer, LevelScorer)
            kind, levels, coded = "cat", scorer.model, out.rows.levels
            pairs = zip(levels.counts, coded, strict=True)
            models[kind] = replace(levels, counts=tuple(_less(own, column, out) for own, column in pairs)), coded
            count, fewer = len(coded), LevelScorer(models[kind][0]).left_out_columns(rest)
        found += telling(kind, fewer, count, judge)
    chosen = most_telling(found, judge)
    new = list[Array]()
    for kind, (model, cells) in models.items():
        new += model.columns(cells, [j for own, j, _ in chosen if own == kind])
    return [part for *_, part in chosen], new


def _less(counts: Array, column: Codes, out: Sample) -> Array:
    """Return the counts (k, levels) of a column without some rows."""
    left, seen = counts.copy(), (column >= 0) & (column < counts.shape[1])
    np.subtract.at(left, (out.codes[seen], column[seen]), out.held[seen])
    return np.maximum(left, 0.0)


def most_telling(columns: list[tuple[str, int, Array]], judge: Judge) -> list[tuple[str, int, Array]]:
    """Return the columns whose scores by themselves lose least, in their order, if there are very many."""
    most = most_weighted(*judge.offset.shape)
    if len(columns) <= most:
        return columns
    losses = [judge.loss(part) for *_, part in columns]
    return [columns[int(i)] for i in np.sort(np.argsort(losses, kind="stable")[:most])]


def telling(kind: str, columns: Iterator[Array], count: int, judge: Judge) -> list[tuple[str, int, Array]]:
    """Return the columns, or of very many those that lose least, without holding the scores of all at once."""
    most = most_weighted(*judge.offset.shape)
    if count <= most:
        return [(kind, j, part) for j, part in enumerate(columns)]
    best: list[tuple[float, int, Array]] = []  # a heap: first what loses most
    for j, part in enumerate(columns):
        entry = -judge.loss(part), -j, part
        if len(best) < most:
            heappush(best, entry)
        elif entry[:2] > best[0][:2]:
            heapreplace(best, entry)
    return sorted((kind, -j, part) for _, j, part in best)
