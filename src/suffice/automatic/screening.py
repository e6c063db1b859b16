"""Screen single columns for the stack, in folds.

The columns that say most of some rows say more of these than of new ones (Hastie, Tibshirani & Friedman, The Elements
of Statistical Learning, section 7.10.2). So the rows are dealt into five folds; for each, counts lose its rows, columns
are chosen and weighted on the others, and the fold is scored by what comes of that. The penalty on column weights that
loses least then holds for all rows together. Few rows are judged so whatever the columns: there settings are chosen by
the others, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import heappush, heapreplace

from .._arrays import Array, Codes, np
from .budget import most_weighted
from .folds import dealt
from .judge import HoldoutScorer
from .judged import JudgedMember
from .member import Member
from .sample import Sample
from .stack import Stack

LEAST_ROWS = 10  # for each column: of fewer, columns are judged in folds
LEAST_POWER = 0.5
Pool = Callable[[Sequence[JudgedMember], Sequence[Array], HoldoutScorer, Sequence[float]], Stack]
Column = tuple[str, int, Array]  # what its member calls columns, which it is, and scores (n, k)


def power_of_rows(sample: Sample, judge: HoldoutScorer) -> float:
    """Return to which power of their likelihood rows count in the stack: max(½, n / (n + 10 d)).

    The left-out score of a row is made with the labels of the others, and theirs with its own, so that what two rows
    say together is said twice: under all of the likelihood, columns of noise get weights that new rows do not bear out.
    That matters the more, the more columns there are for the rows. At ½ there are fewer than ten rows for each, and
    choosing and weighting columns is judged in folds.
    """
    count = sample.rows.numbers.shape[1] + len(sample.rows.levels)
    rows = float(judge.weight.sum())
    if sample.folds is not None and sample.units is not None:  # rows of a group say much the same
        rows = float(len(np.unique(sample.units.number)))
    return max(LEAST_POWER, float(rows / (rows + LEAST_ROWS * count)))


def judge_in_folds(
    additive: Sequence[Member],
    members: Sequence[JudgedMember],
    sample: Sample,
    judge: HoldoutScorer,
    penalties: Sequence[tuple[float, ...]],
    pool: Pool,
) -> tuple[tuple[float, ...], Array]:
    """Return the penalties that lose least, and scores (n, k) of each row by a stack of others, offsets included.

    `additive` are the members of single columns, if there are any; `pool` fits a stack to members, columns, a judge and
    penalties of which the most evident is taken. Members have the settings that the other rows choose: what the best of
    many settings loses on the rows that chose it is too little (Tibshirani & Tibshirani 2009, doi:10.1214/08-AOAS224).
    """
    place = dealt(sample)
    scores = np.empty((len(penalties), *judge.offset.shape))
    for v in range(int(place.max(initial=0)) + 1):
        own, rest = np.flatnonzero(place == v), np.flatnonzero(place != v)
        scores[:, own] = judge.offset[own]
        if not len(rest):
            continue
        inner = judge[rest]
        old, new = _columns_without(additive, sample[own], sample[rest], inner)
        theirs = [_judged_by(inner, member, v, rest) for member in members]
        mine = [member.for_fold(v)[own] for member in members] + new
        for i, each in enumerate(penalties):
            scores[i, own] = pool(theirs, old, inner, each).scores(mine, judge.offset[own])
    losses = [judge.loss(part - judge.offset) for part in scores]
    best = int(np.argmin(losses))
    return penalties[best], scores[best]


def _judged_by(judge: HoldoutScorer, member: JudgedMember, fold: int, rows: Codes) -> JudgedMember:
    """Return a member with its loss and temperature on the rows outside a fold."""
    scores = member.for_fold(fold)[rows]
    loss, temperature = judge.temperature(scores)
    return replace(member, left_out=scores, loss=loss, temperature=temperature, by_others=())


def _columns_without(
    additive: Sequence[Member], out: Sample, rest: Sample, judge: HoldoutScorer
) -> tuple[list[Array], list[Array]]:
    """Return scores of the columns that tell most of the rows `rest`, each left out, and the same of rows `out`.

    Both are by counts that have none of the rows `out`.
    """
    if rest.folds is not None:
        chosen = most_telling([column for member in additive for column in telling(member, rest, judge)], judge)
        every = {(own.column_kind, j): part for own in additive for j, part in enumerate(own.held_out_columns(out))}
        return [part for *_, part in chosen], [every[own, j] for own, j, _ in chosen]
    fewer = [member.without(out) for member in additive]
    chosen = most_telling([column for member in fewer for column in telling(member, rest, judge)], judge)
    new = list[Array]()
    for member in fewer:
        new += member.columns(out.rows, [j for own, j, _ in chosen if own == member.column_kind])
    return [part for *_, part in chosen], new


def most_telling(columns: list[Column], judge: HoldoutScorer) -> list[Column]:
    """Return the columns whose scores by themselves lose least, in their order, if there are very many."""
    most = most_weighted(*judge.offset.shape)
    if len(columns) <= most:
        return columns
    losses = [judge.loss(part) for *_, part in columns]
    return [columns[int(i)] for i in np.sort(np.argsort(losses, kind="stable")[:most])]


def telling(member: Member, sample: Sample, judge: HoldoutScorer) -> Iterator[Column]:
    """Yield a member's columns, or of very many those that lose least, without holding the scores of all at once."""
    most = most_weighted(*judge.offset.shape)
    columns = enumerate(member.held_out_columns(sample))
    if member.width <= most:
        yield from ((member.column_kind, j, part) for j, part in columns)
        return
    best: list[tuple[float, int, Array]] = []  # a heap: first what loses most
    for j, part in columns:
        entry = -judge.loss(part), -j, part
        if len(best) < most:
            heappush(best, entry)
        elif entry[:2] > best[0][:2]:
            heapreplace(best, entry)
    yield from sorted((member.column_kind, -j, part) for _, j, part in best)
