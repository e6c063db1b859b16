"""Mixtures by passes over batches against the same climb over all rows in memory, from the same starting point.

Tolerance 1e-9: sums over batches are rounded differently from sums over all rows, and the steps of EM carry that along.
"""

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suffice.densities import STRUCTURES, Full
from suffice.em import mixture_passes
from suffice.em.mixture import Job, Rows, ascend, climb, expect
from suffice.em.mixture_passes import ALL, LABELLED, Pass, join_by_passes, sweep, together
from suffice.em.starts import Search, join_rows
from suffice.estimate.families import GaussianFamily, Settings
from suffice.estimate.mixture import MixtureFamily
from suffice.estimate.shrinkage import Shrinkage

CLOSE = 1e-9


def told():
    return Settings(divisor="mle", shrinkage=Shrinkage(None), columns=(0, 1, 2))


@pytest.fixture
def table(rng):
    """Two classes of two clusters each, some cells missing."""
    codes = np.repeat([0, 1], 200)
    centers = np.array([[0.0, 0.0, 0.0], [3.0, 3.0, 0.0], [0.0, 4.0, 2.0], [-4.0, 0.0, 1.0]])
    X = rng.normal(size=(400, 3)) + centers[2 * codes + rng.integers(0, 2, 400)]
    return np.where(rng.random(X.shape) < 0.1, np.nan, X), codes


class Counted:
    """Passes over an array in seven batches; says how many there were."""

    def __init__(self, X, codes, weight, rng):
        self.parts = np.array_split(rng.permutation(len(X)), 7)
        self.X, self.codes, self.weight, self.count = X, codes, weight, 0

    def __call__(self, work):
        self.count += 1
        found = [sweep(self.X[own], self.codes[own], self.weight[own], work) for own in self.parts]
        return [
            reduce(lambda a, b: a.merge(b), (v for v in values if v is not None)) for values in zip(*found, strict=True)
        ]


def converse(run, ascent, first):
    return mixture_passes._side_by_side([mixture_passes._converse(ascent, first)], run)[0]


def assert_same(one, other):
    assert one.owner.tolist() == other.owner.tolist()
    assert_allclose(one.weight, other.weight, rtol=CLOSE)
    for name, values in one.inner.arrays()[0].items():
        assert_allclose(values, other.inner.arrays()[0][name], rtol=CLOSE, atol=CLOSE, err_msg=name)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("structure", STRUCTURES.values())
def test_a_climb_by_passes_is_the_climb_in_memory(table, rng, structure, within):
    X, codes = table
    weight = rng.integers(1, 4, 400).astype(float)
    family = MixtureFamily(inner=GaussianFamily(structure=structure), within=within)
    own = np.flatnonzero(codes == 1)
    rows = Rows.of(X[own], np.zeros(len(own), dtype=int), weight[own])
    job = Job.start(rows, 1, family, told(), tol=1e-7)
    owner = np.zeros(2, dtype=int)
    share = ((np.nan_to_num(X[own, 0]) > -2.0)[:, None] == [False, True]).astype(float)
    start = climb(rows, owner, share, Job.start(rows, 1, family, told(), max_iter=1)).mixture
    expected = climb(rows, owner, expect(rows, start, np.zeros(1))[1], job, start.components)
    run = Counted(X, codes, weight, rng)
    found = converse(run, ascend(owner, job), Pass(1, 1, family, owner, (start,), np.zeros(1)))
    assert found.steps == expected.steps > 1
    assert run.count == expected.steps + 1  # one pass for each step, and one for where it begins
    assert_allclose(found.trace, expected.trace, rtol=1e-12)
    assert_same(found.stats, expected.stats)


def test_a_component_that_collapses_is_dropped_in_both(table, rng):
    X, codes = table
    own = np.flatnonzero(codes == 0)
    family = MixtureFamily(inner=GaussianFamily(structure=Full))
    rows = Rows.of(X[own], np.zeros(len(own), dtype=int), None)
    job, owner = Job.start(rows, 1, family, told(), max_iter=8), np.zeros(3, dtype=int)
    share = rng.dirichlet([1.0, 1.0, 1.0], len(own))
    mixture = climb(rows, owner, share, Job.start(rows, 1, family, told(), max_iter=2)).mixture
    start = replace(mixture, log_weight=np.log([0.5, 0.499, 0.001]))  # the last one has too few rows
    expected = climb(rows, owner, expect(rows, start, np.zeros(1))[1], job, start.components)
    assert len(expected.stats.owner) == 2
    run = Counted(X, codes, np.ones(400), rng)
    found = converse(run, ascend(owner, job), Pass(0, 1, family, owner, (start,), np.zeros(1)))
    assert found.steps == expected.steps
    assert_same(found.stats, expected.stats)


def test_components_dropped_by_a_pass_leave_their_rows_to_the_others(table, rng):
    X, codes = table
    family = MixtureFamily(inner=GaussianFamily(structure=Full))
    rows = Rows.of(X, codes, None)
    job = Job.start(rows, 2, family, told())
    owner = np.array([0, 0, 1, 1])
    share = np.stack([(codes == c) * s for c in (0, 1) for s in (0.3, 0.7)], axis=1)
    mixture = climb(rows, owner, share, job).mixture
    kept = np.array([True, False, True, True])
    asked = Pass(LABELLED, 2, family, mixture.owner, (mixture,), np.log([0.5, 0.5]), (kept,))
    (found,) = Counted(X, codes, np.ones(400), rng)([asked])
    first = codes == 0
    assert found.stats.owner.tolist() == [0, 1, 1]
    assert_allclose(found.stats.weight[0], first.sum(), rtol=1e-12)  # all rows of the first class are the one's left


@pytest.mark.parametrize("shared", [False, True])
def test_rows_without_a_label_join_as_in_memory(table, rng, shared):
    X, codes = table
    few = np.where(rng.random(400) < 0.6, -1, codes)
    family = MixtureFamily(inner=GaussianFamily(structure=Full, shared=shared))
    search = Search([2, 2], [1, 2])
    known = np.flatnonzero(few >= 0)
    rows = Rows.of(X[known], few[known], None)
    owner = np.array([0, 0, 1, 1])
    share = np.stack([(few[known] == c) * s for c in (0, 1) for s in (0.3, 0.7)], axis=1)
    stats = climb(rows, owner, share, Job.start(rows, 2, family, told(), max_iter=5)).stats
    expected = join_rows(X, few, None, stats, family, told(), search, None)
    single = family.apart().summarize(X[known], few[known], 2, None)
    run = Counted(X, few, np.ones(400), rng)
    assert_same(join_by_passes(run, single, stats, 400.0, family, told(), search, None), expected)


def test_statistics_counted_apart_are_those_of_the_family(table):
    X, codes = table
    family = MixtureFamily(inner=GaussianFamily(structure=Full, shared=True))
    one = together(family.apart().summarize(X, codes, 2, None), family)
    other = family.summarize(X, codes, 2, None)
    for name, values in one.inner.arrays()[0].items():
        assert_allclose(values, other.inner.arrays()[0][name], rtol=1e-12, atol=1e-12, err_msg=name)
    assert one.inner.arrays()[1] == other.inner.arrays()[1]


def test_only_the_rows_asked_for_count(table, rng):
    X, codes = table
    few = np.where(np.arange(400) % 4 == 0, -1, codes)
    family = MixtureFamily(inner=GaussianFamily(structure=Full))
    mixture = family.estimate(family.summarize(X, codes, 2, None), told())[0]
    asked = [Pass(of, 2, family, mixture.owner, (mixture,), np.log([0.5, 0.5])) for of in (LABELLED, ALL)]
    labelled, everyone = Counted(X, few, np.ones(400), rng)(asked)
    assert_allclose(labelled.stats.weight.sum(), 300.0)
    assert_allclose(everyone.stats.weight.sum(), 400.0)
