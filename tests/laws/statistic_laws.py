"""The laws our statistics keep.

Each check raises AssertionError naming the law that is broken. States are made by `summarize` and `merge` only, so
what is tested is what can be reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from suffice._arrays import Array, Codes
from suffice.errors import NotLearnedError
from suffice.stats import Statistic, as_statistic

Random = np.random.Generator
Take = Callable[[Any, Codes], Any]  # rows, in whatever form, and numbers of some of them → these


class Settled(Protocol):
    """A type of statistics with everything but the rows settled."""

    def zero(self) -> object:
        """Return the statistics of no rows."""

    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> object:
        """Return the statistics of a batch."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows to check laws on: `rows` in whatever form the statistic reads, class numbers, and how to take a part."""

    rows: Any
    codes: Codes
    k: int
    take: Take = lambda rows, index: rows[index]

    def __len__(self) -> int:
        return len(self.codes)


def check_statistics(
    statistic: Settled,
    rows: Any,
    codes: Codes,
    k: int,
    *,
    take: Take = lambda rows, index: rows[index],
    tolerance: float = 1e-10,
    seed: int = 0,
) -> None:
    """Check that a statistic keeps the laws of merging on these rows; AssertionError names the law that fails.

    Parameters
    ----------
    statistic : object with `zero()` and `summarize(rows, codes, k, weight)`
        A statistic type of `suffice.stats`, with everything but the rows settled; `zero()` takes no arguments.
    rows, codes, k
        At least four rows, their class numbers (n,) below k.
    take : callable
        Returns the rows with the given numbers; the default suits arrays.
    tolerance : float
        Largest difference allowed, relative to the largest entry of each array.

    Notes
    -----
    Laws: merging with nothing changes nothing; order and grouping of merges do not matter; parts (halves, single rows,
    an empty part) merge to the whole; weight 2 is the row twice; classes can be renumbered, put together and left
    out (`regroup`); what was merged can be subtracted again, all of it leaves exactly nothing, and more than all is a
    NotLearnedError (`subtract`); multiplied statistics are those of multiplied weights (`scale`); the arrays written
    to a file give the statistic back. The laws of methods that a statistic does not have are passed over.
    """
    sample = Sample(rows, np.asarray(codes), k, take)
    rng = np.random.default_rng(seed)
    for law in (_identity, _commutes, _associates, _parts, _weights, _places, _saves, _subtracts, _scales, _regroups):
        try:
            law(statistic, sample, rng, tolerance)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__.strip('_')}: {error}") from error


def assert_same_statistics(actual: object, expected: object, tolerance: float = 1e-10) -> None:
    """Assert that two statistics agree: equal plain fields, arrays within `tolerance` of their largest entry.

    Rows kept as they are (a thin scatter) are compared by the matrices they stand for.
    """
    arrays, plain = as_statistic(actual).dense().arrays()
    others, other_plain = as_statistic(expected).dense().arrays()
    assert plain == other_plain, f"{plain} differs from {other_plain}"
    assert set(arrays) == set(others), f"{set(arrays)} differs from {set(others)}"
    for name, values in arrays.items():
        assert values.shape == others[name].shape, f"{name}: shape {values.shape} is not {others[name].shape}"
        scale = np.abs(others[name]).max(initial=0.0) or 1.0
        gap = np.abs(values - others[name]).max(initial=0.0) / scale
        assert gap <= tolerance, f"{name} differs by {gap:.3g} of its largest entry"


def _summary(statistic: Settled, sample: Sample, index: Codes | None = None, weight: Array | None = None) -> Statistic:
    if index is None:
        return as_statistic(statistic.summarize(sample.rows, sample.codes, sample.k, weight))
    return as_statistic(statistic.summarize(sample.take(sample.rows, index), sample.codes[index], sample.k, weight))


def _identity(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    whole, nothing = _summary(statistic, sample), as_statistic(statistic.zero())
    assert_same_statistics(whole.merge(nothing), whole, 0.0)
    assert_same_statistics(nothing.merge(whole), whole, 0.0)


def _split(sample: Sample, rng: Random, parts: int) -> list[Codes]:
    return [np.sort(index) for index in np.array_split(rng.permutation(len(sample)), parts)]


def _commutes(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    a, b = (_summary(statistic, sample, index) for index in _split(sample, rng, 2))
    assert_same_statistics(a.merge(b), b.merge(a), tolerance)


def _associates(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    a, b, c = (_summary(statistic, sample, index) for index in _split(sample, rng, 3))
    assert_same_statistics(a.merge(b).merge(c), a.merge(b.merge(c)), tolerance)


def _parts(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    whole = _summary(statistic, sample)
    empty = np.zeros(0, dtype=np.int64)
    for parts in (_split(sample, rng, 2), [*_split(sample, rng, 7), empty], list(np.arange(len(sample))[:, None])):
        merged = as_statistic(statistic.zero())
        for index in parts:
            merged = merged.merge(_summary(statistic, sample, index))
        assert_same_statistics(merged, whole, tolerance)


def _weights(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    copies = rng.integers(0, 3, len(sample))
    copies[0] = 2
    kept = np.flatnonzero(copies)
    weighted = _summary(statistic, sample, kept, copies[kept].astype(np.float64))
    repeated = _summary(statistic, sample, np.repeat(np.arange(len(sample)), copies))
    assert_same_statistics(weighted, repeated, tolerance)


def _places(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    order = rng.permutation(sample.k + 2)[: sample.k]
    moved = statistic.summarize(sample.rows, order[sample.codes], sample.k + 2, None)
    assert_same_statistics(_summary(statistic, sample).place(order.tolist(), sample.k + 2), moved, tolerance)


def _saves(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    whole = _summary(statistic, sample)
    assert_same_statistics(whole.read_back(*whole.arrays()), whole, 0.0)


def _subtracts(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    whole, nothing = _summary(statistic, sample), as_statistic(statistic.zero())
    if "subtract" not in whole.edits:
        return
    assert_same_statistics(whole.subtract(whole), nothing, 0.0)
    assert_same_statistics(whole.subtract(nothing), whole, 0.0)
    for index in (*_split(sample, rng, 2), np.arange(1)):
        rest = np.setdiff1d(np.arange(len(sample)), index)
        part, left = _summary(statistic, sample, index), _summary(statistic, sample, rest)
        if not whole.is_rounded:
            assert_same_statistics(whole.subtract(part), left, 10.0 * tolerance)
        assert_same_statistics(whole.subtract(part).merge(part), whole, tolerance)
        try:
            left.subtract(whole)
        except NotLearnedError:
            continue
        assert_same_statistics(part, nothing, 0.0)  # else more was subtracted than there is


def _scales(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    everything = np.arange(len(sample))
    if "scale" not in _summary(statistic, sample).edits:
        return
    lighter = _summary(statistic, sample, everything, np.full(len(sample), 0.25))
    assert_same_statistics(_summary(statistic, sample).scale(0.25), lighter, tolerance)


def _regroups(statistic: Settled, sample: Sample, rng: Random, tolerance: float) -> None:
    target = rng.integers(-1, 2, sample.k)
    target[sample.codes[0]] = 0
    kept = np.flatnonzero(target[sample.codes] >= 0)
    if "regroup" not in _summary(statistic, sample).edits:
        return
    again = statistic.summarize(sample.take(sample.rows, kept), target[sample.codes[kept]], 2, None)
    assert_same_statistics(_summary(statistic, sample).regroup(target, 2), again, tolerance)
