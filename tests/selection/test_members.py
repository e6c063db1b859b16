"""Members of the automatic classifier: leave-one-out against statistics made again without the row."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from suffice.automatic.judge import HoldoutScorer
from suffice.automatic.members.dependence import OneDependence, count_pairs
from suffice.automatic.members.subclasses import Split, choose_split
from suffice.leave_one_out.by_columns import marginal_left_out, marginals, marginals_but_one
from suffice.leave_one_out.wishart import LeftOut, Removal, WishartClasses
from suffice.stats import FullScatter, GaussianStats

EXACT = 1e-10  # nats: rank-one formulas beside refits, densities of a few nats a column


@pytest.fixture
def table(rng):
    y = np.r_[np.repeat(np.arange(3), 14), rng.integers(0, 3, 30)]
    X = rng.normal(size=(72, 5)) @ rng.normal(size=(5, 5)) + rng.normal(size=(3, 5))[y]
    return X / X.std(axis=0), y, np.where(np.arange(72) % 2, 1.0, 2.5)


def without(i, n):
    return np.arange(n) != i


def wishart(X, y, weight, tau=0.0):
    return WishartClasses(GaussianStats.summarize(X, y, 3, weight, FullScatter), tau)


def textbook(member, rows, strength, sphere):
    """The predictive log density written out: Student t with A = a B + S, (1 − γ) W / ν + γ τ I = B."""
    stats, p = member.stats, rows.shape[1]
    base = (1 - sphere) * member.within / member.freedom + (sphere * member.tau + 1e-10) * np.eye(p)
    out = np.empty((len(rows), 3))
    for c, n in enumerate(stats.weight):
        endless = np.isinf(strength)
        matrix = base * member.freedom if endless else strength * base + stats.scatter.values[c]
        df = member.freedom + 1 if endless else strength + n + 1
        shift = rows - stats.mean[c]
        q = np.einsum("ij,jk,ik->i", shift, np.linalg.inv(matrix), shift)
        constant = gammaln((df + p) / 2) - gammaln(df / 2) - 0.5 * p * np.log(np.pi * (1 + 1 / n))
        out[:, c] = constant - 0.5 * np.linalg.slogdet(matrix)[1] - 0.5 * (df + p) * np.log1p(q * n / (n + 1))
    return out


@pytest.mark.parametrize("strength", [1.0, 30.0, 3000.0, np.inf])
@pytest.mark.parametrize("sphere", [1e-4, 0.1, 1.0])
def test_gaussians_under_a_prior(table, strength, sphere):
    X, y, weight = table
    member = wishart(X, y, weight)
    expected = textbook(member, X, strength, sphere)
    assert_allclose(member.density(strength, sphere).log_density(X), expected, atol=EXACT)
    ((_, _, again),) = member.new_rows_path(X, (strength,), (sphere,))
    assert_allclose(again, expected, atol=EXACT)
    ((_, _, left),) = member.path(LeftOut(X, y, weight, weight), (strength,), (sphere,), balanced=False)
    for i in range(0, 72, 5):
        kept = without(i, 72)
        refit = wishart(X[kept], y[kept], weight[kept], member.tau)
        assert_allclose(left[i], textbook(refit, X[[i]], strength, sphere)[0], atol=EXACT)


@pytest.mark.parametrize("strength", [3.0, np.inf])
def test_gaussians_of_some_columns_left_out(table, strength):
    """Marginals: own classes and a shared covariance exactly, other classes balanced to first order."""
    X, y, weight = table
    member, seen = wishart(X, y, weight), np.array([0, 2, 3])
    left = LeftOut(X[:, seen], y, weight, weight)
    removal = Removal.of(member.stats.weight, left)
    found = marginal_left_out(member, left, removal, np.tile(seen, (72, 1)), strength, 0.1)[..., 0]
    ((_, _, exact),) = member.restricted(seen).path(left, (strength,), (0.1,), balanced=False)
    ((_, _, balanced),) = member.restricted(seen).path(left, (strength,), (0.1,))
    own = np.arange(72), y
    assert_allclose(found[own], exact[own], atol=EXACT)
    if np.isinf(strength):
        assert_allclose(found, exact, atol=EXACT)
    else:
        assert np.abs(found - balanced).max() < 0.3 * np.abs(exact - balanced).max()
    holes = np.where(np.arange(72)[:, None] % 7 == np.arange(X.shape[1]), np.nan, X)
    for j, but_one in enumerate(marginals_but_one(member, LeftOut(holes, y, weight, weight), strength, 0.1)):
        holed = LeftOut(np.where(np.arange(X.shape[1]) == j, np.nan, holes), y, weight, weight)
        assert_allclose(but_one, marginals(member, holed, strength, 0.1), atol=EXACT)


def test_one_dependence_of_many_levels(rng):
    """Where a row's own pairs are few beside all: counted and looked up one by one, as by whole tables."""
    starts = (0, 300, 310, 700)
    levels = np.column_stack([rng.integers(low, high, 90) for low, high in pairwise(starts)])
    levels[rng.random(levels.shape) < 0.1] = -1
    y, weight = rng.integers(0, 2, 90), np.where(np.arange(90) % 2, 1.0, 2.0)

    def member(kept):
        return OneDependence(count_pairs(levels[kept], 700, y[kept], 2, weight[kept]), starts, 4.0)

    hot = np.vstack([np.eye(700), np.zeros(700)])[levels].sum(axis=1)
    whole = member(np.ones(90, dtype=bool))
    assert_allclose(whole.pairs, np.einsum("n,nk,nu,nv->kuv", weight, np.eye(2)[y], hot, hot, optimize=True))
    by_table = np.column_stack([whole._score(levels, tables) for tables in whole.tables])
    assert_allclose(whole.scores(levels), by_table, atol=EXACT)
    left = whole.left_out(levels, y, weight, 4.0)
    for i in range(0, 90, 9):
        again = member(without(i, 90))
        assert_allclose(left[i], [again._score(levels[[i]], tables)[0] for tables in again.tables], atol=EXACT)


def test_one_dependence_by_hand():
    """Two columns of two levels, one class: the mean over the two parents, from the formula of the module."""
    levels = np.array([[0, 2], [0, 3], [1, 3], [0, 2]])
    member = OneDependence(count_pairs(levels, 4, np.zeros(4, int), 1, None), (0, 2, 4), 1.0)
    share = {0: 3.5 / 5.5, 2: 2.5 / 5.5}  # (n + ½) / (N + 3 / 2), a spare level counted
    alone = {0: (3 + share[0]) / 5, 2: (2 + share[2]) / 5}
    forward, back = alone[0] * (2 + alone[2]) / (3 + 1), alone[2] * (2 + alone[0]) / (2 + 1)
    assert_allclose(np.exp(member.scores(np.array([[0, 2]]))), [[(forward + back) / 2]], rtol=1e-6)


def test_parts_find_what_one_gaussian_cannot(rng):
    """A class in two clumps on either side of the other."""
    y = np.repeat([0, 1], 400)
    X = rng.normal(size=(800, 2)) + np.where(y == 1, 0, 6 * rng.choice([-1, 1], 800))[:, None]
    order = rng.permutation(800)
    X, y = X[order], y[order]

    def loss(F):
        return -(F - np.logaddexp.reduce(F, axis=1, keepdims=True))[np.arange(800), y].mean()

    judge = HoldoutScorer(y, np.zeros((800, 2)), np.ones(800), np.ones(800))
    place = rng.integers(5, size=800)
    parts, strength, sphere, held_out = choose_split(X, y, np.ones(800), 2, judge, place)
    density = Split.of(X, y, np.ones(800), 2, parts).density(strength, sphere)
    assert loss(held_out) < 0.02
    own = np.arange(800), y
    assert np.median(np.abs(density.log_density(X)[own] - held_out[own])) < 0.3
