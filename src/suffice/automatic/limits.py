"""Limits of the automatic classifier in bytes, rows and time, and what follows from them for given sizes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Self

from .._arrays import np
from ..forest import Boosting, TreeSettings

MOST_PARENTS = 70  # columns of a one-dependence estimator
PAIR_BYTES = 1 << 28  # of the counts of pairs for one number of bins: beyond, they are left out
MOST_WEIGHTED = 100  # columns with a weight of their own
COLUMN_BYTES = 1 << 28  # of the scores of single columns that get a weight of their own: beyond, fewer do
MOST_SCORES = 1 << 27  # by row, class and column, that settings of splines are compared by
FEWEST_ROWS = 300  # to compare them on
ENOUGH_ROWS = 4000  # to compare settings on, however little work more would be
FEWEST_KEPT, KEPT_BYTES = 2000, 1 << 28  # of rows kept
MOST_JUDGED, JUDGED_BYTES = 20_000, 1 << 25  # of rows that judge
MANY_ROWS, JUDGES_OF_MANY = 50_000, 10_000  # from so many on fewer judge: a share of them that trees can go without
BOOSTED_CELLS = 2e7  # cells × trees of a round that are boosted
MOST_BOOSTED = 2**20 - 1  # rows, as kernels count them


def rows_kept(d: int) -> int:
    """Return how many rows of d columns are kept: as many as fit."""
    return max(FEWEST_KEPT, KEPT_BYTES // (8 * max(d, 1)))


def rows_judged(d: int, n: int = 0) -> int:
    """Return how many of n rows of d columns judge members, at most, and say how columns are read."""
    most = max(FEWEST_KEPT, min(MOST_JUDGED, JUDGED_BYTES // (8 * max(d, 1))))
    return min(most, JUDGES_OF_MANY) if n >= MANY_ROWS else most


def rows_boosted(d: int, k: int) -> int:
    """Return how many rows of d columns and k classes trees are boosted on, at most."""
    return int(min(MOST_BOOSTED, BOOSTED_CELLS / (d * (1 if k == 2 else k))))


def counts_pairs(k: int, size: int) -> bool:
    """Return whether the counts of pairs of so many levels in `k` classes take little enough to be kept."""
    return 8 * k * size * size <= PAIR_BYTES


def most_weighted(n: int, k: int) -> int:
    """Return how many columns may have a weight of their own for n judged rows of k classes."""
    return min(max(COLUMN_BYTES // max(8 * n * k, 1), 1), MOST_WEIGHTED)


def step_of_rows(n: int, k: int, d: int) -> int:
    """Return s so that settings of `d` columns are compared on every s-th of n rows, some thousands at most.

    Where there are very many columns or classes, they are compared on fewer.
    """
    return max(1, n // ENOUGH_ROWS, min(n * k * d // MOST_SCORES, n // FEWEST_ROWS))


# ── How much of a time limit is left, and how fast this machine is now ────────────────────────────────────────────────


TRIAL = 0.029  # CPU seconds that `pace` boosts on the core on which `Member.seconds` were measured


@dataclass(frozen=True)
class Clock:
    """When training is to end, in seconds of `time.perf_counter`, and the names of members that it has `cut` short."""

    end: float = np.inf
    cut: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, seconds: float | None) -> Self:
        """Return a clock on which so many seconds are left; None for no limit."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        """How many seconds are left."""
        return self.end - time.perf_counter()

    def stops(self, name: str) -> bool:
        """Whether none are left, by which a member of this name is cut short."""
        over = self.left <= 0.0
        if over and name not in self.cut:
            self.cut.append(name)
        return over

    def less(self, seconds: float) -> Clock:
        """Return a clock on which so many seconds less are left."""
        return Clock(self.end - seconds, self.cut)

    def part(self, share: float) -> Clock:
        """Return a clock on which a share of them is left."""
        return Clock(self.end - (1.0 - share) * self.left if self.end < np.inf else np.inf, self.cut)


def pace() -> float:
    """Return how many times as long as where members were measured it takes to boost some trees here and now."""
    rng, n = np.random.RandomState(0), 4000
    cells, every = rng.randint(64, size=(n, 8)).astype(np.int16), np.arange(n)
    codes = (cells[:, 0] > rng.randint(64, size=n)).astype(np.int64)
    trial = Boosting(cells, codes, np.ones(n), 2, every, every[:0], TreeSettings())
    began = time.perf_counter()
    trial.grow(100)
    return (time.perf_counter() - began) / TRIAL
