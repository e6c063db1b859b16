"""Families, statistics and densities that inherit nothing of ours have every verb once they are in."""

import copy
import pickle

import numpy as np
import pytest
from family_laws import check_shipped_family

from suffice import NaiveBayes
from suffice.densities import Density
from suffice.errors import MergeError
from suffice.estimate import FAMILIES, Settings
from suffice.estimate.families import Block, Family, as_family, lacking
from suffice.stats import Statistic, SumStats, as_statistic


class Rates:
    """A statistic that can be merged and written, and no more."""

    def __init__(self, inner):
        self.inner = inner

    def merge(self, other):
        return Rates(self.inner.merge(other.inner))

    def place(self, index, k):
        return Rates(self.inner.place(index, k))

    def column_weight(self):
        return self.inner.column_weight()

    def arrays(self):
        return self.inner.arrays()

    @classmethod
    def from_arrays(cls, fields, plain):
        return cls(SumStats.from_arrays(fields, plain))


class Exponential:
    """Independent columns of waiting times, p(x) = rate · exp(−rate x)."""

    def __init__(self, rate):
        self.rate = rate

    def log_density(self, rows):
        each = np.log(self.rate)[:, None] - self.rate[:, None] * rows
        return np.where(np.isnan(rows), 0.0, each).sum(axis=2).T


class ExponentialFamily:
    """What a user may write: six names and nothing else."""

    name = "exponential"

    def __eq__(self, other):
        return type(other) is ExponentialFamily

    def __hash__(self):
        return 7

    def __repr__(self):
        return "ExponentialFamily()"

    def encode(self, table, positions):
        return table.numeric(positions)

    def recode(self, rows, stats):
        assert isinstance(stats, Rates)
        return rows

    def zero(self, k, columns):
        return Rates(SumStats.zero(k, columns))

    def summarize(self, rows, codes, k, weight):
        return Rates(SumStats.summarize(rows, codes, k, weight))

    def estimate(self, stats, settings):
        assert isinstance(stats, Rates)
        return Exponential((stats.inner.weight + 1.0) / (stats.inner.total + 1.0)), []


@pytest.fixture
def waits(rng):
    y = np.repeat(["slow", "fast"], 30)
    return rng.exponential(np.where(y == "slow", 5.0, 1.0), (2, 60)).T, y


def test_a_family_is_what_was_given():
    given = ExponentialFamily()
    family = as_family(given)
    assert isinstance(family, Family)
    assert family == given
    assert family == as_family(ExponentialFamily())
    assert family != FAMILIES["poisson"]
    assert hash(family) == hash(given)
    assert repr(family) == "ExponentialFamily()"
    assert family.name == "exponential"
    for again in (pickle.loads(pickle.dumps(family)), copy.deepcopy(family), as_family(family)):
        assert again == family


def test_what_it_leaves_out_is_there(waits):
    X, y = waits
    family = Block(ExponentialFamily(), (0, 1)).family
    assert (family.takes_missing, family.support, family.fills) == (True, None, False)
    assert family.joint() is None
    assert family.component() is family
    assert not family.misses(X)
    stats = family.count(X, (y == "slow").astype(int), 2, None)
    assert isinstance(stats, Statistic)
    family.check_possible(stats)
    assert family.leave_one_out_limit(X, stats, (y == "slow").astype(int), None, Settings()) is None
    density, notes = family.estimate(stats, Settings())
    assert isinstance(density, Density)
    assert notes == []
    assert density.kind == "Exponential"
    assert (density.can_condition, density.can_sample) == (False, False)
    order, score = density.limit(X)
    assert not order.any()
    np.testing.assert_array_equal(score, density.log_density(X))
    assert (density.marginal([0]), density.center(), density.limit_terms(X)) == (None, None, None)
    assert (density.log_prior(), density.parameters(0), density.column_levels(0)) == (0.0, {}, None)


def test_verbs_that_are_missing_are_named():
    assert lacking(ExponentialFamily()) == []
    assert lacking(object()) == ["encode", "recode", "zero", "summarize", "estimate"]


def test_statistics_of_another_make(rng):
    own = Rates(SumStats.summarize(rng.poisson(3.0, (9, 2)).astype(float), np.arange(9) % 3, 3))
    stats = as_statistic(own)
    assert as_statistic(stats) is stats
    assert stats.edits == frozenset()
    assert stats.inner is own.inner
    assert stats.parts() == (stats,)
    assert isinstance(stats.merge(stats), Statistic)
    with pytest.raises(MergeError, match="Rates have no 'scale'"):
        stats.scale(0.5)
    assert SumStats.zero(1, 1).edits == {"subtract", "scale", "regroup"}


def test_a_model_of_them(waits):
    """Rows are answered, batches merge, reasons are there, and what cannot be done is refused by name."""
    X, y = waits
    model = NaiveBayes({0: ExponentialFamily(), 1: "gaussian"}).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.7
    parts = [NaiveBayes({0: ExponentialFamily(), 1: "gaussian"}).fit(X[i::2], y[i::2]) for i in (0, 1)]
    np.testing.assert_allclose(parts[0].merge(parts[1]).predict_proba(X), model.predict_proba(X), rtol=1e-9)
    assert model.explain(X).shape == (60, 2, 2)
    assert isinstance(model.model_.density.blocks[0], Density)
    assert model.model_.density.blocks[0].rate.shape == (2, 1)
    assert list(model.parameters_) == []
    assert model.leave_one_out(X, y).shape == (60, 2)
    with pytest.raises(MergeError, match="Rates have no 'scale'"):
        model.decay(0.5)


def test_a_density_that_says_what_it_does_not_do_is_found(waits):
    class Tells(Exponential):
        def limit(self, rows):
            return np.zeros((len(rows), 2)), self.log_density(rows) + 1e-3

    class Liar(ExponentialFamily):
        def estimate(self, stats, settings):
            return Tells(super().estimate(stats, settings)[0].rate), []

    with pytest.raises(AssertionError, match=r"^says_what_it_does: the limit"):
        check_shipped_family(Liar(), *waits)
