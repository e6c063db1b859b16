"""The checks of statistics find broken ones: each law has a statistic that breaks it, and it is named."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from statistic_laws import assert_same_statistics, check_statistics


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


class RawMoments(Right):
    """Σ x² − n m²: cancels far from the origin."""

    def summarize(self, rows, codes, k, weight):
        stats = super().summarize(rows, codes, k, weight)
        w = np.ones(len(rows)) if weight is None else weight
        squares = np.bincount(codes, weights=w * rows**2, minlength=k)
        return replace(stats, scatter=squares - stats.weight * stats.mean**2)


class DividedMoments(Moments):
    def merge(self, other):
        merged = super().merge(other)
        share = other.weight / np.where(merged.weight > 0, merged.weight, 1.0)
        return replace(merged, scatter=(1 - share) * self.scatter + share * other.scatter)


class DivisorInside(Right):
    """A variance in place of a scatter, averaged when merged: what lies between the means is lost."""

    state = DividedMoments

    def summarize(self, rows, codes, k, weight):
        stats = super().summarize(rows, codes, k, weight)
        return replace(stats, scatter=stats.scatter / np.where(stats.weight > 0, stats.weight, 1.0))


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


class Restless(Moments):
    def merge(self, other):
        merged = super().merge(other)
        return replace(merged, weight=merged.weight + 1e-6)


class NoIdentity(Right):
    state = Restless


class IgnoresWeights(Right):
    def summarize(self, rows, codes, k, weight):
        return super().summarize(rows, codes, k, None)


class Unplaced(Moments):
    def place(self, index, k):
        return super().place(range(len(self.weight)), k)


class IgnoresPlaces(Right):
    state = Unplaced


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
    ("broken", "law", "offset", "tolerance"),
    [
        (RawMoments, "(commutes|associates|parts)", 1e8, 1e-8),
        (DivisorInside, "(associates|parts)", 0.0, 1e-10),
        (DropsOneRowParts, "parts", 0.0, 1e-10),
        (LastWriteWins, "commutes", 0.0, 1e-10),
        (UnweightedAverage, "associates", 0.0, 1e-10),
        (NoIdentity, "identity", 0.0, 1e-10),
        (IgnoresWeights, "weights", 0.0, 1e-10),
        (IgnoresPlaces, "places", 0.0, 1e-10),
        (LosesAField, "saves", 0.0, 1e-10),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_broken_statistic_is_caught_and_its_law_named(broken, law, offset, tolerance):
    with pytest.raises(AssertionError, match=f"^{law}: "):
        check_statistics(broken(), ROWS + offset, CODES, 2, tolerance=tolerance)


def test_raw_moments_pass_near_the_origin():
    """The offset is what breaks them, not something else in the class above."""
    check_statistics(RawMoments(), ROWS, CODES, 2, tolerance=1e-8)


def test_differences_are_reported_by_field():
    a = Right().summarize(ROWS, CODES, 2, None)
    assert_same_statistics(a, a, 0.0)
    with pytest.raises(AssertionError, match="mean differs by"):
        assert_same_statistics(replace(a, mean=a.mean + 1e-6), a)
    with pytest.raises(AssertionError, match="scatter: shape"):
        assert_same_statistics(replace(a, scatter=a.scatter[:1]), a)
    with pytest.raises(AssertionError, match="mean differs by nan"):
        assert_same_statistics(replace(a, mean=a.mean * np.nan), a)
