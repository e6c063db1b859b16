"""How much of a time limit is left, and how fast this machine is now."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Self

from .._arrays import np
from ..forest import Boosting, TreeSettings

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
