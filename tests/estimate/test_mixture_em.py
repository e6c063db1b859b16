"""EM for mixtures: the likelihood of what was observed never falls, and the statistics keep the laws of merging."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import multivariate_normal
from statistic_laws import check_statistics

from suffice.densities import STRUCTURES
from suffice.densities.mixture import sum_within
from suffice.errors import MergeError
from suffice.estimate import Settings
from suffice.estimate.families import GaussianFamily
from suffice.estimate.mixture import MixtureFamily
from suffice.estimate.mixture_em import Job, Rows, climb_mixture
from suffice.estimate.mixture_starts import Search, fit_mixtures, join_rows
from suffice.stats import MixtureStats

FAMILIES = {
    f"{name}, shared={shared}": MixtureFamily(
        inner=GaussianFamily(structure=structure, shared=shared is True), within=shared == "class"
    )
    for name, structure in STRUCTURES.items()
    for shared in (False, "class", True)
}


def told(d):
    return Settings(classes=("a", "b"), columns=tuple(range(d)))


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES.keys())
def family(request):
    return request.param


# --- the likelihood ---------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(20, 60),
    d=st.integers(1, 4),
    m=st.integers(2, 3),
    name=st.sampled_from(sorted(FAMILIES)),
    missing=st.sampled_from([0.0, 0.2]),
    unlabelled=st.sampled_from([0.0, 0.5]),
)
def test_the_likelihood_never_falls(seed, n, d, m, name, missing, unlabelled):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(2, d))[rng.integers(2, size=n)]
    X = np.where(rng.random(X.shape) < missing, np.nan, X)
    codes = np.arange(n) % 2
    X[:4] = rng.normal(size=(4, d))
    codes = np.where((rng.random(n) < unlabelled) & (np.arange(n) >= 10), -1, codes)
    weight = rng.choice([0.5, 1.0, 3.0], size=n)
    rows, owner = Rows.of(X, codes, weight), np.repeat([0, 1], m)
    job = Job.start(rows, 2, FAMILIES[name].under(told(d)), max_iter=60, tol=0.0)
    share = rng.random((n, 2 * m)) * ((codes[:, None] == owner) | (codes < 0)[:, None])
    reached = climb_mixture(rows, owner, share / share.sum(axis=1, keepdims=True), job)
    assert (np.diff(reached.trace) >= 0).all()
    # the trace is the likelihood of the observed cells and labels under the density that comes back
    weights = np.bincount(reached.stats.owner, weights=reached.stats.weight)
    log_joint = reached.mixture.log_density(X) + np.log(weights / weights.sum())
    known = codes >= 0
    own = weight[known] @ log_joint[known, codes[known]]
    rest = weight[~known] @ np.logaddexp.reduce(log_joint[~known], axis=1)
    np.testing.assert_allclose(own + rest, reached.likelihood, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_plain_em_climbs_the_likelihood_times_the_prior(rng, structure):
    """log p(X | θ) − ½ ν Σ_m (log|Σ_m| + tr(T Σ_m⁻¹)), T the covariance of all rows over m^(2/d), by SciPy."""
    X = np.concatenate([rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) @ np.diag([1.0, 2.0, 0.5]) + 2.0])
    family = MixtureFamily(inner=GaussianFamily(structure=STRUCTURES[structure]), prior=2.5)
    rows, owner = Rows.of(X, np.zeros(120, dtype=int), None), np.array([0, 0])
    job = Job.start(rows, 1, family.under(Settings(classes=("a",), columns=(0, 1, 2))), max_iter=60, tol=0.0)
    reached = climb_mixture(rows, owner, np.eye(2)[(np.arange(120) >= 40).astype(int)], job)
    assert len(reached.trace) > 10
    assert (np.diff(reached.trace) >= 0).all()
    means, sigmas = reached.mixture.components.means, reached.mixture.components.covariance.dense()
    target = np.cov(X.T, bias=True) / 2 ** (2 / 3)
    target = target if structure == "full" else np.diag(np.diag(target))
    each = [multivariate_normal(mean, sigma).logpdf(X) for mean, sigma in zip(means, sigmas, strict=True)]
    likelihood = np.logaddexp.reduce(np.array(each) + reached.mixture.log_weight[:, None], axis=0).sum()
    prior = sum(np.linalg.slogdet(sigma)[1] + np.trace(np.linalg.solve(sigma, target)) for sigma in sigmas)
    np.testing.assert_allclose(reached.likelihood, likelihood - 0.5 * 2.5 * prior, rtol=1e-10)


def test_a_fixed_prior_stays_fixed(rng):
    X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(60, 2)) + 4])
    codes = np.repeat([0, 1], [100, 60])
    codes[20:140] = -1
    family, search = MixtureFamily(), Search([2, 2], 0)
    known = codes >= 0
    stats = fit_mixtures(X[known], codes[known], 2, None, family.under(told(2)), search)
    assert not stats.is_single
    with np.errstate(divide="ignore"):
        prior = np.log([1.0, 0.0])
    joined = join_rows(X, codes, None, stats, family.under(told(2)), search, prior)
    weight = np.bincount(joined.owner, weights=joined.weight)
    assert weight[1] == pytest.approx(20.0)


# --- densities --------------------------------------------------------------------------------------------------------


@given(hnp.arrays(np.float64, (4, 5), elements=st.floats(-800, 800)))
def test_sums_within_classes_keep_their_scale(scores):
    owner = np.array([0, 0, 1, 1, 1])
    expected = np.stack([np.logaddexp.reduce(scores[:, owner == c], axis=1) for c in range(2)], axis=1)
    np.testing.assert_allclose(sum_within(scores, owner), expected, rtol=1e-12, atol=1e-12)


# --- statistics -------------------------------------------------------------------------------------------------------


def test_statistics_of_single_components_keep_the_laws(rng, family):
    X = rng.normal(size=(30, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    codes = rng.integers(3, size=30)

    class Single:
        from_arrays = MixtureStats.from_arrays

        @staticmethod
        def zero():
            return family.zero(3, 3)

        @staticmethod
        def summarize(rows, codes, k, weight=None):
            return family.summarize(rows, codes, k, weight)

    check_statistics(Single, X, codes, 3)


def test_statistics_of_several_components_move_and_save_but_do_not_merge(rng):
    X = np.concatenate([rng.normal(size=(50, 2)) + c for c in (0, 9, 20)])
    codes, family = np.repeat([0, 0, 1], 50), MixtureFamily()
    stats = fit_mixtures(X, codes, 2, None, family.under(told(2)), Search([2, 1], 0))
    density, _ = family.estimate(stats, told(2))
    moved, _ = family.estimate(stats.place([2, 0], 4), Settings(classes=tuple("abcd"), columns=(0, 1)))
    np.testing.assert_allclose(moved.log_density(X)[:, [2, 0]], density.log_density(X), rtol=1e-12)
    fields, plain = stats.arrays()
    again, _ = family.estimate(MixtureStats.from_arrays(fields, plain), told(2))
    np.testing.assert_array_equal(again.log_density(X), density.log_density(X))
    with pytest.raises(MergeError, match="fit on all rows"):
        stats.merge(stats)
