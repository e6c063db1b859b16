"""EM for missing cells against closed forms, and against a log likelihood written out row by row.

Tolerances: EM ends at its fixed point to rounding, which slow directions of the likelihood magnify; the tables here are
in units near 1, so a parameter is compared to 1e-8 unless it needs no iteration.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from suffice import GaussianDiscriminant
from suffice.densities import Full
from suffice.densities.covariance import USABLE
from suffice.em import cells as em
from suffice.em.accelerated_em import watch
from suffice.em.step import nearest_spd
from suffice.errors import DataError, SingularCovarianceError
from suffice.estimate import Settings, Shrinkage
from suffice.estimate.families import GaussianFamily
from suffice.stats import FullScatter, PatternStats, PooledScatter

CLOSE = 1e-8
SHARED = pytest.mark.parametrize("shared", [False, True])


def estimate(stats, shared, shrinkage=None):
    settings = Settings(shrinkage=Shrinkage(shrinkage), classes=tuple(range(stats.k)), columns=tuple(range(stats.d)))
    return GaussianFamily(structure=Full, shared=shared).estimate(stats, settings)


def fit(X, codes, shared=False, weight=None):
    k = int(codes.max()) + 1
    family = GaussianFamily(structure=Full, shared=shared)
    density, notes = estimate(family.summarize(X, codes, k, weight), shared)
    return density.means, density.covariance.dense(), notes


def log_likelihood(X, codes, means, covariances):
    """Return Σ log p(observed cells of the row | its class), a row at a time by scipy."""
    total = 0.0
    for row, c in zip(X, codes, strict=True):
        seen = ~np.isnan(row)
        if seen.any():
            matrix = covariances[min(c, len(covariances) - 1)][np.ix_(seen, seen)]
            total += multivariate_normal(means[c][seen], matrix).logpdf(row[seen])
    return total


@pytest.fixture
def table(rng):
    codes = np.repeat([0, 1], [50, 40])
    X = rng.normal(size=(90, 4)) @ (rng.normal(size=(4, 4)) + np.eye(4)) + codes[:, None] * 1.5
    return np.where(rng.random(X.shape) < 0.25, np.nan, X), codes


@SHARED
@pytest.mark.parametrize("fraction", [0.1, 0.6])
@pytest.mark.parametrize("flipped", [False, True])
def test_monotone_pattern_has_a_closed_form(rng, shared, fraction, flipped):
    """Two columns, the second missing in some rows: regress it on the first over the complete rows.

    Factor p(x, y) = p(x) p(y | x): x over all rows, slope, intercepts and residual variance over the complete ones
    (Little & Rubin, section 7.2). Shared: one slope and one residual variance, an intercept per class.
    """
    codes = np.repeat([0, 1], [70, 50])
    x = rng.normal(size=120) * 2 + codes
    y = 0.7 * x + rng.normal(size=120) - 2 * codes + 3
    gone = rng.random(120) < np.where(x > 1, fraction, fraction / 4)  # depends on what is observed: missing at random
    X = np.column_stack([x, np.where(gone, np.nan, y)])
    groups = [(codes == c) for c in range(2)]
    mean_x = np.array([x[g].mean() for g in groups])
    dx, complete = x - mean_x[codes], ~gone
    centre = np.array([[x[g & complete].mean(), y[g & complete].mean()] for g in groups])
    cx, cy = x - centre[codes, 0], y - centre[codes, 1]
    expected = []
    for members in [np.full(120, True)] if shared else groups:
        own, used = members, members & complete
        slope = (cx[used] @ cy[used]) / (cx[used] @ cx[used])
        rest = ((cy[used] - slope * cx[used]) ** 2).mean()
        var_x = (dx[own] ** 2).mean()
        expected.append([[var_x, slope * var_x], [slope * var_x, rest + slope**2 * var_x]])
    slopes = [matrix[0][1] / matrix[0][0] for matrix in expected]
    mean_y = centre[:, 1] + np.array(slopes) * (mean_x - centre[:, 0])
    order = [1, 0] if flipped else [0, 1]
    means, covariances, _ = fit(X[:, order], codes, shared)
    assert_allclose(means, np.column_stack([mean_x, mean_y])[:, order], rtol=0, atol=CLOSE)
    assert_allclose(covariances, np.array(expected)[:, order][:, :, order], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("seed", [4, 9, 10, 13, 21])
def test_likelihood_never_falls_where_extrapolation_overshoots(seed, monkeypatch):
    """Half of the cells missing: unguarded leaps leave the maximum, or the positive definite matrices, far behind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))
    X, codes = np.where(rng.random(X.shape) < 0.5, np.nan, X), np.zeros(40, dtype=int)
    reached = []
    for steps in [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 60, 1000]:
        monkeypatch.setattr(em, "MAX_STEPS", steps)
        means, covariances, notes = fit(X, codes)
        if any("usable" in note.what for note in notes):  # the maximum is singular, and kept from it by a penalty
            break
        reached.append(log_likelihood(X, codes, means, covariances))
    assert len(reached) > 10
    assert (np.diff(reached) > -1e-9 * abs(reached[-1])).all()


@SHARED
def test_the_estimate_is_a_maximum(table, rng, shared):
    """Moving any parameter a little, in 20 random directions, lowers the likelihood."""
    X, codes = table
    means, covariances, notes = fit(X, codes, shared)
    assert notes == []
    best = log_likelihood(X, codes, means, covariances)
    for _ in range(20):
        for size in (1e-3, 1e-2):
            turn = np.eye(4) + size * rng.normal(size=(len(covariances), 4, 4))
            moved = turn @ covariances @ turn.transpose(0, 2, 1)
            assert log_likelihood(X, codes, means + size * rng.normal(size=means.shape), moved) < best


def test_a_class_with_its_own_covariance_is_estimated_from_its_own_rows(rng):
    """Also where so few rows show so little that their likelihood has several maxima."""
    for _ in range(20):
        few = rng.normal(size=(8, 3)) @ (np.eye(3) + rng.normal(size=(3, 3)))
        few[3:] = np.where(rng.random((5, 3)) < 0.4, np.nan, few[3:])
        others = rng.normal(size=(12, 3)) * [0.3, 1.0, 4.0] + 1.0
        codes = np.repeat([0, 1], [8, 12])
        means, covariances, _ = fit(np.concatenate([few, others]), codes)
        again, once_more, _ = fit(np.concatenate([few, others[3:] * [9.0, 0.2, 1.0]]), codes[:-3])
        assert_allclose(again[0], means[0], rtol=CLOSE, atol=CLOSE)
        assert_allclose(once_more[0], covariances[0], rtol=CLOSE, atol=CLOSE)


@SHARED
def test_order_of_columns_and_classes(table, shared):
    X, codes = table
    means, covariances, _ = fit(X, codes, shared)
    columns = [2, 0, 3, 1]
    moved = fit(X[:, columns], 1 - codes, shared)
    assert_allclose(moved[0], means[::-1][:, columns], atol=CLOSE)
    assert_allclose(moved[1], covariances[::-1][:, columns][:, :, columns], atol=CLOSE)


def test_a_pattern_of_its_own_is_used_exactly(rng):
    """Columns never seen together: each keeps its own mean and variance (their correlation has no information)."""
    X = np.full((80, 2), np.nan)
    X[:50, 0], X[50:, 1] = rng.normal(size=50) * 3 + 1, rng.normal(size=30) - 4
    means, covariances, _ = fit(X, np.zeros(80, dtype=int))
    assert_allclose(means[0], np.nanmean(X, axis=0), atol=CLOSE)
    assert_allclose(np.diag(covariances[0]), np.nanvar(X, axis=0), atol=10 * CLOSE)


@SHARED
def test_rows_without_any_cell_change_nothing(table, shared):
    X, codes = table
    a = fit(X, codes, shared)
    b = fit(np.concatenate([X, np.full((9, 4), np.nan)]), np.append(codes, [0] * 9), shared)
    assert_allclose(b[0], a[0], atol=CLOSE)
    assert_allclose(b[1], a[1], atol=CLOSE)


def test_a_class_that_never_shows_a_column_is_recorded(rng):
    """It takes the mean and the spread of that column in the other classes, and a note says so."""
    codes = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 2)) + np.array([0, 10])
    X[codes == 0, 1] = np.nan
    means, covariances, notes = fit(X, codes)
    assert means[0, 1] == pytest.approx(np.nanmean(X[:, 1]), abs=CLOSE)
    assert covariances[0, 1, 1] == pytest.approx(np.nanvar(X[:, 1]), rel=0.2)
    assert {(note.label, note.columns) for note in notes} == {(0, (1,))}
    assert any("spread" in note.what for note in notes)


def test_a_class_that_shows_a_column_once_is_no_spike(rng):
    codes = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 2))
    X[1:40, 1] = np.nan
    _, covariances, notes = fit(X, codes)
    assert covariances[0, 1, 1] > 0.1
    assert any(note.label == 0 and note.columns == (1,) for note in notes)
    assert not any(note.what == "stopped EM early" for note in notes)


def test_collinear_columns_with_missing_cells(rng):
    """A repair, not a failure: the covariance stays usable and a note tells of it."""
    X = rng.normal(size=(300, 5))
    X[:, 3:] = np.column_stack([np.zeros(300), X[:, 0] + X[:, 1]])
    X[rng.random((300, 5)) < 0.4] = np.nan
    means, covariances, notes = fit(X, rng.choice(3, 300))
    assert not means[:, 3].any()  # where it never varies: a mean of 1e-19 would be a spread beside it
    sd = np.sqrt(np.diag(covariances[0]))
    assert np.linalg.eigvalsh(covariances[0] / sd[:, None] / sd)[0] >= 0.9e-6
    assert any(note.what == "kept the covariance usable while filling missing cells" for note in notes)


def test_too_many_columns_at_once_are_refused(rng, monkeypatch):
    monkeypatch.setattr(em, "MAX_COLUMNS", 3)
    X = rng.normal(size=(20, 4))
    X[0, 0] = np.nan
    with pytest.raises(DataError, match=r"4 × 4 matrices.*covariance='diagonal'"):
        em.complete(PatternStats.summarize(X, np.zeros(20, dtype=int), 1))
    complete = PatternStats.summarize(X[1:], np.zeros(19, dtype=int), 1, None, PooledScatter)
    assert em.complete(complete) is complete.complete


def test_a_class_without_a_maximum_has_a_weak_prior_wherever_em_came_from(rng):
    """Six rows of three columns: the likelihood has no end, and which way EM goes depends on rounding."""
    X = rng.normal(size=(6, 3)) @ rng.normal(size=(3, 3)) + 5.0
    X[0, :2] = X[1, 0] = X[2, 1] = X[3, 2] = np.nan
    codes, order, units = np.zeros(6, dtype=int), rng.permutation(6), np.array([1.0, 1e3, 1e-3])
    means, covariances, notes = fit(X, codes)
    assert [note.what for note in notes] == [em.SECURED]
    again, turned, _ = fit(X[order], codes)
    assert_allclose(again, means, rtol=1e-9)
    assert_allclose(turned, covariances, rtol=1e-9, atol=1e-9)
    assert_allclose(fit(X * units, codes)[1], covariances * np.outer(units, units), rtol=1e-8)


def test_no_shrinkage_forbids_that_prior(rng):
    X = rng.normal(size=(60, 3))
    X[:, 2] = X[:, 0] + X[:, 1]
    X[rng.random((60, 3)) < 0.2] = np.nan
    with pytest.raises(SingularCovarianceError, match="'a': the covariance becomes singular while missing cells"):
        GaussianDiscriminant(shrinkage=0.0).fit(X, np.repeat(["a", "b"], 30)).predict(X)


MURRAY = np.array(
    [[1, 1], [1, -1], [-1, 1], [-1, -1], *[[x, np.nan] for x in (2, 2, -2, -2)], *[[np.nan, x] for x in (2, 2, -2, -2)]]
)


@pytest.mark.parametrize("form", [FullScatter, PooledScatter])
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("units", [[1.0, 1.0], [1e-3, 50.0]])
@pytest.mark.parametrize("centers", [[0.0], [0.0, 10.0, -7.0]])
def test_a_saddle_is_left(form, by_rows, units, centers):
    """Murray's data (1977): a saddle at correlation 0 and variance 5/2, maxima at ±1/2 and 8/3, one of which is taken.

    Whatever the order of the rows and their units, and in each of several classes of such rows, or all together.
    """
    rng, codes, k = np.random.default_rng(0), np.repeat(np.arange(len(centers)), 12), len(centers)
    rows = np.concatenate([rng.permutation(MURRAY) + center for center in centers]) * units
    seen: list[tuple[int, float]] = []
    with watch(lambda *step: seen.append(step)):
        if by_rows:
            stats = em.complete_rows(rows, codes, k, None, form).complete
        else:
            stats = em.complete(PatternStats.summarize(rows, codes, k, None, form))
    sigma = stats.scatter.values.reshape(-1, 2, 2) / (12 if form is FullScatter else 12 * k) / np.outer(units, units)
    assert_allclose(stats.mean / units, np.array(centers)[:, None] * [1.0, 1.0], atol=1e-6)
    assert_allclose(sigma, [[[8 / 3, 4 / 3], [4 / 3, 8 / 3]]] * len(sigma), rtol=1e-6)
    assert [step for step, _ in seen] == list(range(1, len(seen) + 1))
    assert (np.diff([likelihood for _, likelihood in seen]) > -1e-9).all()


def test_symmetric_cells_without_a_saddle_stay_where_they_are():
    """A square of complete rows and few others: the maximum has no correlation, exactly."""
    rows = np.array([[x, y] for x in (1.0, -1.0) for y in (1.0, -1.0)] * 3 + [[2.0, np.nan], [-2.0, np.nan]])
    sigma = em.complete(PatternStats.summarize(rows)).scatter.values[0]
    assert sigma[0, 1] == 0.0


def test_covariances_that_cannot_be_are_mended_to_ones_that_can(rng):
    """Differences of large sums leave variances below 0 and correlations far beyond 1: the least eigenvalue says so."""
    far = rng.normal(size=(4, 5, 5)) * 10.0 ** rng.integers(-12, 12, size=(4, 5, 5))
    mended, flags = nearest_spd(far + far.transpose(0, 2, 1))
    scale = np.sqrt(np.diagonal(mended, axis1=1, axis2=2))
    assert flags.all()
    assert (scale > 0).all()
    assert np.linalg.eigvalsh(mended / scale[:, :, None] / scale[:, None, :]).min() > 0.9 * USABLE
