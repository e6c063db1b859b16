"""The multivariate Student t against SciPy, and its Gaussian limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from suffice.densities import Diagonal, Full, Gaussian, LowRank, MultivariateT, Spherical
from suffice.densities.student import log_t_constant

D, K = 5, 3
RNG = np.random.default_rng(4)
ROWS = RNG.normal(size=(40, D)) * 3.0
LOCATION = RNG.normal(size=(K, D))
DF = np.array([1.0, 4.5, 130.0])
INFLATION = np.array([1.0, 1.25, 2.0])


def positive_definite(g: int) -> np.ndarray:
    roots = RNG.normal(size=(g, D, D + 2))
    return roots @ roots.transpose(0, 2, 1) / D + 0.1 * np.eye(D)


def low_rank(g: int) -> LowRank:
    return LowRank.factor([RNG.normal(size=(2, D)) for _ in range(g)], RNG.random((g, D)) + 0.5, np.full(g, 0.3))


SCALES = {
    "full": Full.factor(positive_definite(K)),
    "full shared": Full.factor(positive_definite(1)),
    "full divided": Full.factor(positive_definite(K), np.array([2.0, 0.5, 3.0])),
    "diagonal": Diagonal(RNG.random((K, D)) + 0.2),
    "diagonal shared": Diagonal(RNG.random((1, D)) + 0.2),
    "spherical": Spherical.of(RNG.random(K) + 0.2, D),
    "low rank": low_rank(K),
    "low rank shared": low_rank(1),
}
EVERY = tuple(range(D))


def expected(scale, rows, columns):
    matrices = np.broadcast_to(scale.dense(), (K, D, D))
    part = np.ix_(columns, columns)
    return np.stack(
        [
            stats.multivariate_t(LOCATION[c][columns], INFLATION[c] * matrices[c][part], df=DF[c]).logpdf(
                rows[:, columns]
            )
            for c in range(K)
        ],
        axis=-1,
    ).reshape(len(rows), K)


@pytest.mark.parametrize("name", SCALES)
def test_equals_scipy(name: str) -> None:
    density = MultivariateT(LOCATION, SCALES[name], EVERY, DF, INFLATION)
    np.testing.assert_allclose(density.log_density(ROWS), expected(SCALES[name], ROWS, list(EVERY)), rtol=1e-11)


@pytest.mark.parametrize("name", SCALES)
def test_missing_cells_are_integrated_out(name: str) -> None:
    density = MultivariateT(LOCATION, SCALES[name], EVERY, DF, INFLATION)
    holed = ROWS.copy()
    holed[:10, 0], holed[5:20, 3], holed[20] = np.nan, np.nan, np.nan
    found = density.log_density(holed)
    for columns, rows in (([1, 2, 3, 4], slice(0, 5)), ([1, 2, 4], slice(5, 10)), ([0, 1, 2, 4], slice(10, 20))):
        np.testing.assert_allclose(found[rows], expected(SCALES[name], ROWS[rows], columns), rtol=1e-11)
    assert not found[20].any()
    some = [4, 1]
    np.testing.assert_allclose(
        density.marginal(some).log_density(ROWS[:, some]), expected(SCALES[name], ROWS, some), rtol=1e-11
    )


@pytest.mark.parametrize("df", [1e12, 1e18, 1e300, np.inf])
@pytest.mark.parametrize("name", SCALES)
def test_many_degrees_of_freedom_are_a_gaussian(name: str, df: float) -> None:
    t = MultivariateT(LOCATION, SCALES[name], EVERY, np.full(K, df), np.ones(K))
    gaussian = Gaussian(LOCATION, SCALES[name], EVERY)
    np.testing.assert_allclose(t.log_density(ROWS), gaussian.log_density(ROWS), rtol=1e-8)


@pytest.mark.parametrize("df", [0.5, 3.0, 39.9, 40.0, 41.0, 200.0, 1e4, 1e8, 1e12, 1e16])
@pytest.mark.parametrize("d", [2, 10, 400])
def test_constant(df: float, d: int) -> None:
    """For even d, Γ((ν + d) / 2) / (Γ(ν / 2) (ν / 2)^(d / 2)) is the product of 1 + 2 j / ν over j < d / 2."""
    product = math.fsum(np.log1p(2.0 * np.arange(d // 2) / df))
    assert log_t_constant(np.array([df]), d)[0] == pytest.approx(product, rel=1e-13, abs=4e-15 * d)


@pytest.mark.parametrize(("g", "d"), [(3, 5), (1, 5), (3, 23), (1, 24)])
def test_rows_of_many_patterns_equal_each_by_itself(g: int, d: int) -> None:
    """Rows that miss different cells are scored together where they are few of each, and must not notice."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(g, d, 2 * d)) * 10.0 ** rng.integers(-5, 5, d)[:, None]
    scale = Full.factor(mixing @ mixing.transpose(0, 2, 1))
    df, inflation = np.array([2.5, 900.0, np.inf]), np.array([1.0, 1.2, 1.4])
    density = MultivariateT(rng.normal(size=(3, d)), scale, tuple(range(d)), df, inflation)
    rows = rng.normal(size=(60, d)) * np.sqrt(scale.variance[0])
    rows[rng.random(rows.shape) < np.linspace(0.0, 1.0, 60)[:, None]] = np.nan  # from all cells to none
    alone = np.concatenate([density.log_density(np.repeat(row[None], 150, axis=0))[:1] for row in rows])
    np.testing.assert_allclose(density.log_density(rows), alone, rtol=1e-11, atol=1e-11)
