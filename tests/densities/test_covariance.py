"""Conditionals and draws of every density, against matrix formulas, numerical integration and known distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from suffice.densities import (
    Bernoulli,
    Categorical,
    Diagonal,
    Full,
    Gaussian,
    Laplace,
    LowRank,
    Mixture,
    Multinomial,
    MultivariateT,
    Poisson,
    Spherical,
)

LEVEL = 1e-3  # of every goodness-of-fit test below; seeds are fixed
OBSERVED, MISSING = [0, 3], [1, 2, 4]


def structures():
    r = np.random.default_rng(5)
    square = r.normal(size=(3, 5, 5))
    full = square @ square.transpose(0, 2, 1) + 0.3 * np.eye(5)
    thin = [r.normal(size=(2, 5)) for _ in range(3)]
    return {
        "full": Full.factor(full * 7.0, np.array([7.0, 7.0, 7.0])),
        "shared": Full.factor(full[:1]),
        "diagonal": Diagonal(r.uniform(0.5, 2.0, size=(3, 5))),
        "spherical": Spherical.of(r.uniform(0.5, 2.0, size=3), 5),
        "low rank": LowRank.factor(thin, r.uniform(0.5, 2.0, size=(3, 5)), np.array([0.1, 0.2, 0.3])),
    }


STRUCTURES = structures()


@pytest.mark.parametrize("observed", [OBSERVED, [], [0, 1, 2, 3]], ids=["some", "none", "all but one"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_conditional_law_is_the_schur_complement(name, observed, rng) -> None:
    covariance = STRUCTURES[name]
    missing = [j for j in range(5) if j not in observed]
    for i in range(covariance.g):
        sigma = covariance.dense()[i]
        law = covariance.conditional(i, observed, missing)
        inverse = np.linalg.inv(sigma[np.ix_(observed, observed)])
        slopes = sigma[np.ix_(missing, observed)] @ inverse
        z = rng.normal(size=(4, len(observed)))
        np.testing.assert_allclose(law.mean(z), z @ slopes.T, atol=1e-12)
        # the noise is linear in standard normal numbers; unit vectors in their place give its factor
        factor = noise_factor(law, len(missing))
        expected = sigma[np.ix_(missing, missing)] - slopes @ sigma[np.ix_(observed, missing)]
        np.testing.assert_allclose(factor.T @ factor, expected, atol=1e-12)


def noise_factor(law, m: int):
    """The matrix F of noise = Fᵀ z, from a generator that hands out unit vectors, block after block."""

    class Units:
        def __init__(self) -> None:
            self.widths: list[int] = []
            self.on = -1

        def standard_normal(self, shape):
            block = np.zeros(shape)
            if self.on >= 0:
                start = sum(self.widths)
                rows = np.arange(start, start + shape[1])
                block[rows, rows - start] = 1.0
            self.widths.append(shape[1])
            return block

    units = Units()
    law.noise(1, units)
    total, units.widths, units.on = sum(units.widths), [], 0
    return law.noise(total, units)


def test_columns_that_never_vary_keep_their_constant(rng) -> None:
    means = np.array([[0.0, 7.1, 1.0], [2.0, 7.1, 3.0]])
    density = Gaussian(means, Diagonal(np.ones((2, 2))), (0, 2))
    rows = np.array([[np.nan, np.nan, 0.5], [1.0, np.nan, np.nan]])
    assert density.condition(rows, np.array([[0.3, 0.7], [0.9, 0.1]]))[:, 1].tolist() == [7.1, 7.1]
    assert density.sample(rows, np.array([0, 1]), np.random.RandomState(0))[:, 1].tolist() == [7.1, 7.1]
    laplace = Laplace(means, np.ones((2, 3)), (0, 2))
    assert laplace.condition(rows, np.array([[0.3, 0.7], [0.9, 0.1]]))[:, 1].tolist() == [7.1, 7.1]
    assert laplace.sample(rows, np.array([0, 1]), np.random.RandomState(0))[:, 1].tolist() == [7.1, 7.1]


@pytest.fixture
def mixture():
    means = np.array([[0.0, 0.0], [3.0, 1.0], [-1.0, 2.0]])
    s = np.array([[[1.0, 0.5], [0.5, 1.0]], [[0.5, -0.2], [-0.2, 1.0]], [[2.0, 0.3], [0.3, 0.4]]])
    return Mixture(Gaussian(means, Full.factor(s), (0, 1)), np.array([0, 0, 1]), np.log([0.3, 0.7, 1.0]))


def test_mixture_condition_by_numerical_integration(mixture) -> None:
    """E[x₁ | x₀, class] = ∫ x₁ p(x₀, x₁) dx₁ / ∫ p(x₀, x₁) dx₁."""
    for x0 in (-1.0, 1.2, 3.0):

        def density(x1: float, x0: float = x0) -> np.ndarray:
            return np.exp(mixture.log_density(np.array([[x0, x1]]))[0])

        total = integrate.quad_vec(density, -12, 12, epsabs=1e-12)[0]
        moment = integrate.quad_vec(lambda x1: x1 * density(x1), -12, 12, epsabs=1e-12)[0]
        row = np.array([[x0, np.nan], [x0, np.nan]])
        np.testing.assert_allclose(mixture.condition(row, np.eye(2))[:, 1], moment / total, atol=1e-9)


def test_mixture_with_impossible_cells_takes_its_weights(mixture) -> None:
    far = np.array([[1e200, np.nan]])  # densities underflow in every component, log densities overflow
    assert np.isfinite(mixture.sample(far, np.array([0]), np.random.RandomState(0))).all()
    assert mixture.condition(np.array([[np.nan, np.nan]]), np.array([[1.0, 0.0]]))[0] == pytest.approx([2.1, 0.7])


N = 5000
CODES = np.repeat([0, 1], N)


def empty(d):
    return np.full((2 * N, d), np.nan)


@pytest.mark.parametrize("name", ["full", "shared", "diagonal", "low rank"])
def test_multivariate_t_draws(name, rng) -> None:
    """Squared distances of t draws over their number of columns follow F(m, ν + o), for marginals and conditionals."""
    scale, location, inflation = STRUCTURES[name], rng.normal(size=(3, 5)), np.array([1.2, 1.0, 1.5])
    df = np.array([3.0, np.inf, 8.0])
    density = MultivariateT(location, scale, tuple(range(5)), df, inflation)
    codes = np.repeat([0, 1, 2], 2000)
    whole = density.sample(np.full((6000, 5), np.nan), codes, np.random.RandomState(7))
    x = np.where(np.isin(np.arange(5), OBSERVED), 2.7, np.nan)
    part = density.sample(np.tile(x, (6000, 1)), codes, np.random.RandomState(8))
    for c in range(3):
        sigma = np.broadcast_to(scale.dense(), (3, 5, 5))[c] * inflation[c]
        z = whole[codes == c] - location[c]
        law = stats.f(5, df[c]) if np.isfinite(df[c]) else stats.chi2(5, scale=1 / 5)
        assert stats.kstest(np.einsum("ni,ni->n", z, np.linalg.solve(sigma, z.T).T) / 5, law.cdf).pvalue > LEVEL
        far = 2.7 - location[c, OBSERVED]
        inner = np.linalg.solve(sigma[np.ix_(OBSERVED, OBSERVED)], sigma[np.ix_(OBSERVED, MISSING)])
        left = sigma[np.ix_(MISSING, MISSING)] - sigma[np.ix_(MISSING, OBSERVED)] @ inner
        q = far @ np.linalg.solve(sigma[np.ix_(OBSERVED, OBSERVED)], far)
        left = left * (df[c] + q) / (df[c] + 2) if np.isfinite(df[c]) else left
        z = part[codes == c][:, MISSING] - location[c, MISSING] - far @ inner
        law = stats.f(3, df[c] + 2) if np.isfinite(df[c]) else stats.chi2(3, scale=1 / 3)
        assert stats.kstest(np.einsum("ni,ni->n", z, np.linalg.solve(left, z.T).T) / 3, law.cdf).pvalue > LEVEL
    found = density.condition(x[None], np.array([[1.0, 0.0, 0.0]]))[0, MISSING]
    s = np.broadcast_to(scale.dense(), (3, 5, 5))[0]
    slopes = np.linalg.solve(s[np.ix_(OBSERVED, OBSERVED)], s[np.ix_(OBSERVED, MISSING)])
    np.testing.assert_allclose(found, location[0, MISSING] + (2.7 - location[0, OBSERVED]) @ slopes, atol=1e-12)


def chi_square(counts, probabilities):
    return stats.chisquare(counts, probabilities * counts.sum()).pvalue


def test_levels_of_probability_zero_are_never_drawn() -> None:
    log_p = np.array([[-np.inf, 0.0, -np.inf, -np.inf]])
    density = Categorical((("a", "b", "c"),), (log_p,), (log_p,))
    assert set(density.sample((np.full(500, -1),), np.zeros(500, dtype=int), np.random.RandomState(0))[0]) == {1}


def test_multinomial_rows_have_poisson_totals_and_shares(rng) -> None:
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    density = Multinomial(p, p, size=np.array([6.0, 20.0]))
    drawn = density.sample(empty(3), CODES, np.random.RandomState(2))
    for c, size in enumerate((6.0, 20.0)):
        own = drawn[c == CODES]
        assert chi_square(own.sum(axis=0), p[c]) > LEVEL
        total = own.sum(axis=1)
        assert abs(total.mean() - size) < 4 * np.sqrt(size / N)
        assert abs(total.var() / size - 1) < 4 * np.sqrt(2 / N + 1 / (size * N))
    with pytest.raises(ValueError, match="share out a total"):
        density.sample(np.array([[1.0, np.nan, 2.0]]), np.array([0]), np.random.RandomState(0))


def test_best_values_of_discrete_columns() -> None:
    p = np.array([[0.2, 0.5], [0.9, 0.5]])
    posterior = np.array([[0.5, 0.5], [0.9, 0.1]])
    nothing = np.full((2, 2), np.nan)
    truths = Bernoulli(p, 1 - p, p, 1 - p).condition(nothing, posterior)
    assert truths.tolist() == [[1.0, 0.0], [0.0, 0.0]]  # ½ is a tie, which false wins
    rate = np.array([[1.0, 4.0], [3.0, 8.0]])
    np.testing.assert_allclose(Poisson(rate, rate).condition(nothing, posterior), [[2.0, 6.0], [1.2, 4.4]])
    log_p = np.log([[0.4, 0.4, 0.2, 0.1], [0.0001, 0.4, 0.5999, 0.1]])
    density = Categorical((("a", "b", "c"),), (log_p,), (log_p,))
    found = density.condition((np.array([-1, -1, 2, 3]),), np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0], [1.0, 0.0]]))
    assert found[0].tolist() == [0, 1, 2, 3]  # a tie goes to the first level; observed and unknown levels stay
