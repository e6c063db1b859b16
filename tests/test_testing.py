"""The checks of statistics find broken ones: each law has a statistic that breaks it, and it is named."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from statistic_laws import check_statistics


@dataclass(frozen=True)
class Moments:
    """A right statistic of one column by class, small enough to be broken in one line."""

    weight: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other):
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0, weight, 1.0)
        shift = other.mean - self.mean
        return replace(
            self,
            weight=weight,
            mean=self.mean + share * shift,
            scatter=self.scatter + other.scatter + self.weight * share * shift**2,
        )

    def place(self, index, k):
        placed = [np.zeros(k) for _ in range(3)]
        for new, old in zip(placed, (self.weight, self.mean, self.scatter), strict=True):
            new[list(index)] = old
        return type(self)(*placed)

    def arrays(self):
        return {"weight": self.weight, "mean": self.mean, "scatter": self.scatter}, {"form": "moments"}

    @classmethod
    def from_arrays(cls, fields, plain):
        return cls(**fields)


class Right:
    state = Moments
    k = 2

    def zero(self):
        return self.state(np.zeros(self.k), np.zeros(self.k), np.zeros(self.k))

    def summarize(self, rows, codes, k, weight):
        w = np.ones(len(rows)) if weight is None else weight
        total, mean, scatter = np.zeros(k), np.zeros(k), np.zeros(k)
        for c in np.unique(codes):
            own = codes == c
            total[c] = w[own].sum()
            mean[c] = w[own] @ rows[own] / total[c]
            scatter[c] = w[own] @ (rows[own] - mean[c]) ** 2
        return self.state(total, mean, scatter)


class DropsOneRowParts(Right):
    def summarize(self, rows, codes, k, weight):
        return super().summarize(rows, codes, k, weight) if len(rows) > 1 else self.zero()


class LastWrite(Moments):
    def merge(self, other):
        merged = super().merge(other)
        return replace(merged, mean=np.where(other.weight > 0, other.mean, self.mean))


class LastWriteWins(Right):
    state = LastWrite


class Averaged(Moments):
    def merge(self, other):
        merged = super().merge(other)
        both = (self.weight > 0) & (other.weight > 0)
        return replace(merged, mean=np.where(both, (self.mean + other.mean) / 2, merged.mean))


class UnweightedAverage(Right):
    """Symmetric, with an identity, and wrong: the mean of means depends on the grouping."""

    state = Averaged


class IgnoresWeights(Right):
    def summarize(self, rows, codes, k, weight):
        return super().summarize(rows, codes, k, None)


class Forgetful(Moments):
    @classmethod
    def from_arrays(cls, fields, plain):
        return cls(fields["weight"], fields["mean"], np.zeros_like(fields["scatter"]))


class LosesAField(Right):
    state = Forgetful


ROWS = np.random.default_rng(5).normal(size=40) * 3 + 1
CODES = np.arange(40) % 2


def test_a_right_statistic_passes():
    check_statistics(Right(), ROWS, CODES, 2)
    check_statistics(Right(), ROWS + 1e8, CODES, 2, tolerance=1e-8)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (DropsOneRowParts, "parts"),
        (LastWriteWins, "commutes"),
        (UnweightedAverage, "associates"),
        (IgnoresWeights, "weights"),
        (LosesAField, "saves"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_broken_statistic_is_caught_and_its_law_named(broken, law):
    with pytest.raises(AssertionError, match=f"^{law}: "):
        check_statistics(broken(), ROWS, CODES, 2)
