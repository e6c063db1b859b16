"""Tell copies of a row from equal rows that few possible values make.

A copied row must leave with all of its copies wherever rows are held out: a member that memorises a row would otherwise
be judged by a row it has seen. Where columns take few values, as yes and no, equal rows are to be expected, and each is
a row of its own. The table itself decides. Its distinct rows and their classes give a tree of dependences (Chow & Liu
1968, doi:10.1109/TIT.1968.1054142); with p the probability of a row under the others, n p more rows equal to it are
expected among n. Rows are copies where over four times as many distinct rows are repeated as that explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._arrays import Array, Codes, NDArray, is_sparse, np
from .counts import CodedColumns
from .reservoir import Reservoir

ENOUGH = 500  # distinct rows that tell which columns depend on each other
MOST_COLUMNS = 64  # whose dependences are looked for; of more, columns depend on the class alone
EXCESS = 4.0  # times as many repeated rows as expected: up to 3.2 of votes, mushrooms and scores, over 5 once copied


def as_judged(sample: Reservoir) -> Reservoir:
    """Return the sample in which copies of a row are one row with the weight of all; other equal rows stay as many."""
    if not are_copies(sample):
        return sample
    return replace(sample, copies=np.where(_are_natural(sample), sample.copies, 1.0))


def are_copies(sample: Reservoir) -> bool:
    """Return whether more rows of a sample are repeated than its columns make equal by chance."""
    repeated = (sample.copies > 1.0) & ~_are_natural(sample)
    if not repeated.any():
        return False
    return float(repeated.sum()) > EXCESS * float(_expected(sample).sum())


def _are_natural(sample: Reservoir) -> NDArray[np.bool_]:
    """Return which rows (m,) are equal whatever others are: those without a cell, and those of a constant class.

    A class is constant whose only distinct row is there more often than any of other classes.
    """
    lone = np.bincount(sample.codes)[sample.codes] == 1
    constant: NDArray[np.bool_] = lone & (sample.copies > sample.copies[~lone].max(initial=1.0))
    empty = np.ones(len(sample.codes), dtype=np.bool_)
    for part in sample.rows:
        if isinstance(part, CodedColumns):
            for column in part.codes:
                empty &= column < 0
        elif is_sparse(part):
            empty[:] = False
        else:
            empty &= np.isnan(part).all(axis=1)
    return constant | empty


def _expected(sample: Reservoir) -> Array:
    """Return the probability (m,) that a row that was seen was seen more than once, under the model of the others."""
    columns = _columns(sample.rows, sample.codes)
    if columns is None:
        return np.zeros(len(sample.codes))
    return _more_than_once(float(sample.copies.sum()) * _probability(columns))


def _more_than_once(mean: Array) -> Array:
    """Return P(count > 1 | count > 0) for Poisson counts of these means (m,)."""
    there = -np.expm1(-mean)
    return np.where(mean > 1e-9, 1.0 - mean * np.exp(-mean) / np.where(there > 0, there, 1.0), 0.5 * mean)


def _columns(rows: Sequence[Any], codes: Codes) -> list[Codes] | None:
    """Return the class and every column as numbers (m,) of their values; None where there are too many to compare."""
    found: list[Any] = [codes]
    for part in rows:
        if is_sparse(part):
            return None
        found += part.codes if isinstance(part, CodedColumns) else list(part.T)
    return [np.unique(column, return_inverse=True)[1].reshape(-1) for column in found]


def _probability(columns: Sequence[Codes]) -> Array:
    """Return the probability of each row (m,) under the tree of the others: it is left out of the counts.

    One more row is shared out among the values of a column, and one by their shares under each value of its parent.
    """
    total = np.zeros(len(columns[0]))
    for own, parent in zip(columns, _parents(columns), strict=True):
        count = np.bincount(own)
        share = (count[own] - 1.0 + 1.0 / len(count)) / len(own)
        if parent >= 0:
            given = columns[parent]
            _, both, pairs = np.unique(own * (int(given.max()) + 1) + given, return_inverse=True, return_counts=True)
            share = (pairs[both.reshape(-1)] - 1.0 + share) / np.bincount(given)[given]
        total += np.log(share)
    return np.exp(total)


def _parents(columns: Sequence[Codes]) -> list[int]:
    """Return on which other column each depends, −1 for the first: the class, or the tree of most information."""
    if len(columns) > MOST_COLUMNS + 1:
        return [-1, *[0] * (len(columns) - 1)]
    few = [np.unique(column[:ENOUGH], return_inverse=True)[1].ravel() for column in columns]
    parents, best = [-1] * len(few), np.full(len(few), -np.inf)
    best[0], left = np.inf, set(range(len(few)))
    while left:
        new = max(left, key=lambda j: (best[j], -j))
        left.remove(new)
        for j in left:
            told = _information(few[new], few[j])
            if told > best[j]:
                best[j], parents[j] = told, new
    return parents


def _information(a: Codes, b: Codes) -> float:
    """Return the mutual information of two columns in nats, less what as many values tell by chance."""
    both = a * (int(b.max()) + 1) + b
    counts = [np.unique(own, return_counts=True)[1] for own in (a, b, both)]
    alone, other, together = (-float((own / len(a)) @ np.log(own / len(a))) for own in counts)
    chance = (len(counts[0]) - 1) * (len(counts[1]) - 1) / (2.0 * len(a))
    return alone + other - together - chance
