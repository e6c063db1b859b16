"""Normal-inverse-Wishart predictives against SciPy, integration, the marginal likelihood and published results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, multigammaln
from sklearn.datasets import load_iris

from suffice import GaussianDiscriminant, NaiveBayes, NormalInverseWishart
from suffice.densities import Covariance, Diagonal, Full, Spherical
from suffice.errors import SettingError, SingularCovarianceError
from suffice.estimate import Settings
from suffice.estimate.families import GaussianFamily
from suffice.estimate.predictive import complete_under
from suffice.stats import FullScatter, GaussianStats, PatternStats

STRUCTURES = {"full": Full, "diagonal": Diagonal, "spherical": Spherical}


def parts(X: np.ndarray, y: np.ndarray) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """(n, mean, scatter) of each class in order."""
    found = []
    for label in np.unique(y):
        own = X[y == label]
        found.append((len(own), own.mean(axis=0), (own - own.mean(axis=0)).T @ (own - own.mean(axis=0))))
    return found


def prior_scale(X: np.ndarray, y: np.ndarray, pooled: float, target: str = "total") -> np.ndarray:
    """B written out: in columns of total variance 1, (1 − γ) W / ν + γ τ I with τ = tr W / (ν p)."""
    total = X.var(axis=0)
    W = sum(s for _, _, s in parts(X, y)) / (len(X) - len(np.unique(y)))
    T = np.diag(np.diag(W)) if target == "within" else np.diag(total) * np.trace(W / np.sqrt(np.outer(total, total)))
    return pooled * W + (1 - pooled) * (T if target == "within" else T / X.shape[1])


def fit(X: Any, y: Any, prior: NormalInverseWishart, **settings: Any) -> GaussianDiscriminant:
    return GaussianDiscriminant(prior=prior, priors="uniform", **settings).fit(X, y)


def log_densities(model: Any, rows: Any) -> np.ndarray:
    """log p(x | k): the log joint less the equal class priors."""
    return model.predict_joint_log_proba(rows) + np.log(len(model.classes_))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kappa", [0.0, 0.7])
@pytest.mark.parametrize(("a", "pooled", "target"), [(4.0, 0.8, "total"), (0.5, 0.0, "within"), (100.0, 1.0, "total")])
def test_full_covariances_equal_scipy(
    blobs: Any, a: float, pooled: float, target: str, shared: bool, kappa: float
) -> None:
    X, y = blobs
    p = X.shape[1]
    model = fit(X, y, NormalInverseWishart(a, pooled, mean_strength=kappa, target=target), shared=shared)
    B, m0, own = prior_scale(X, y, pooled, target), X.mean(axis=0), parts(X, y)
    pulls = [kappa * n / (kappa + n) * np.outer(m - m0, m - m0) for n, m, _ in own]
    found = log_densities(model, X)
    for c, (n, m, S) in enumerate(own):
        A = a * B + (sum(s for _, _, s in own) + sum(pulls) if shared else S + pulls[c])
        freedom = a + p + 1 + ((len(X) if kappa else len(X) - 3) if shared else (n if kappa else n - 1))
        df, k = freedom - p + 1, kappa + n
        t = stats.multivariate_t((kappa * m0 + n * m) / k, A * (1 + 1 / k) / df, df=df)
        np.testing.assert_allclose(found[:, c], t.logpdf(X), rtol=1e-10)
        np.testing.assert_allclose(model.means_[c], (kappa * m0 + n * m) / k, rtol=1e-12)
        covariance = model.covariances_ if shared else model.covariances_[c]
        np.testing.assert_allclose(covariance, stats.invwishart(freedom, A).mean(), rtol=1e-11)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("strength", [0.0, 4.0, np.inf, "jeffreys"])
def test_a_diagonal_structure_is_one_such_model_per_column(blobs: Any, strength: Any, shared: bool) -> None:
    X, y = blobs
    prior = NormalInverseWishart(strength, pooled=1.0, mean_strength=0.3)
    alone = [fit(X[:, [j]], y, prior, shared=shared) for j in range(X.shape[1])]
    joint = fit(X, y, prior, shared=shared, covariance="diagonal")
    total = sum(log_densities(model, X[:, [j]]) for j, model in enumerate(alone))
    np.testing.assert_allclose(log_densities(joint, X), total, rtol=1e-10)
    variances = np.concatenate([np.atleast_3d(model.covariances_.reshape(-1, 1, 1)) for model in alone], axis=1)[
        :, :, 0
    ]
    found = np.diagonal(np.atleast_3d(joint.covariances_.reshape(-1, 4, 4)), axis1=1, axis2=2)
    np.testing.assert_allclose(found, variances, rtol=1e-10)
    if not shared:
        naive = NaiveBayes(prior=prior, priors="uniform").fit(X, y)
        np.testing.assert_allclose(log_densities(naive, X), total, rtol=1e-10)
        np.testing.assert_allclose(naive.means_, joint.means_, rtol=1e-13)
        np.testing.assert_allclose(naive.covariances_, joint.covariances_, rtol=1e-13)


@pytest.mark.parametrize("kappa", [0.0, 1.5])
@pytest.mark.parametrize("strength", [2.0, "jeffreys"])
@pytest.mark.parametrize("covariance", STRUCTURES)
def test_one_column_equals_integration_over_the_posterior(kappa: float, strength: Any, covariance: str) -> None:
    """p(new | x) is the integral of its density times prior times likelihood over mean and log standard deviation."""
    x, b, m0 = np.array([0.2, 1.1, 1.9, -0.4]), 0.8, 0.3
    settings: dict[str, Any] = {} if strength == "jeffreys" else {"scale": [b]}
    settings |= {"mean": [m0], "mean_strength": kappa} if kappa else {}
    prior = NormalInverseWishart(strength, **settings)
    model = fit(x[:, None], ["a"] * len(x), prior, covariance=covariance)
    log_sd, z = np.linspace(-6.0, 12.0, 1801)[:, None], np.linspace(-7.0, 7.0, 281)
    sd, weight = np.exp(log_sd), len(x) + kappa
    mean = (x.sum() + kappa * m0) / weight + sd * z / np.sqrt(weight)
    log_prior = -2.0 * log_sd if strength == "jeffreys" else stats.invgamma(strength / 2 + 1, scale=b).logpdf(sd**2)
    log_joint = log_prior + 3.0 * log_sd + stats.norm(mean[..., None], sd[..., None]).logpdf(x).sum(axis=-1)
    log_joint += stats.norm(m0, sd / np.sqrt(kappa)).logpdf(mean) if kappa else 0.0  # dσ² d mean = 2 σ³ d log σ dz
    total = np.exp(log_joint).sum()
    for value in (0.5, 3.0, -4.0):
        expected = (np.exp(log_joint) * stats.norm(mean, sd).pdf(value)).sum() / total
        # sums over a smooth peak on an even grid converge faster than any power of its step
        assert np.exp(log_densities(model, [[value]]))[0, 0] == pytest.approx(expected, rel=1e-7)


def log_marginal(X: np.ndarray, a: float, kappa: float, m0: np.ndarray, B: np.ndarray, groups: Any) -> float:
    """Log marginal likelihood of rows whose classes share one covariance: Murphy (2007), equation 266, K means."""
    n, d = X.shape
    start, A, counts = a + d + 1, a * B, []
    for index in groups:
        own, mean = X[index], X[index].mean(axis=0)
        counts.append(len(own))
        A = A + (own - mean).T @ (own - mean)
        A = A + kappa * len(own) / (kappa + len(own)) * np.outer(mean - m0, mean - m0)
    result = -n * d / 2 * np.log(np.pi) + multigammaln((start + n) / 2, d) - multigammaln(start / 2, d)
    result += start / 2 * np.linalg.slogdet(a * B)[1] - (start + n) / 2 * np.linalg.slogdet(A)[1]
    return float(result + d / 2 * sum(np.log(kappa / (kappa + count)) for count in counts))


def predict_one_by_one(
    X: np.ndarray, codes: np.ndarray, structure: type[Covariance], shared: bool, prior: NormalInverseWishart
) -> float:
    """Σ log p(x_i, given its class | x_1 … x_{i−1}), from no rows at all."""
    family, k = GaussianFamily(structure=structure, shared=shared), int(codes.max()) + 1
    settings = Settings(prior=prior, classes=tuple(range(k)), columns=tuple(range(X.shape[1])))
    state, total = family.zero(k, X.shape[1]), 0.0
    for row, code in zip(X, codes, strict=True):
        density, notes = family.estimate(state, settings)
        assert not notes
        total += float(density.log_density(row[None])[0, code])
        state = state.merge(family.summarize(row[None], np.array([code]), k, None))
    return total


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("structure", [Full, Diagonal])
def test_predictions_one_by_one_multiply_to_the_marginal_likelihood(structure: Any, shared: bool, rng: Any) -> None:
    X, codes, a, kappa = rng.normal(size=(12, 3)), np.arange(12) % 2, 1.7, 0.4
    m0, B = np.array([0.1, -0.3, 0.5]), np.cov(rng.normal(size=(9, 3)).T)
    B = B if structure is Full else np.diag(np.diag(B))
    prior = NormalInverseWishart(a, mean_strength=kappa, mean=m0, scale=B)
    groups = [[codes == 0, codes == 1]] if shared else [[codes == 0], [codes == 1]]
    expected = 0.0
    for group in groups:
        rows = np.concatenate([np.flatnonzero(index) for index in group])
        local = [np.isin(rows, np.flatnonzero(index)) for index in group]
        for columns in [[0, 1, 2]] if structure is Full else [[0], [1], [2]]:
            part = np.ix_(rows, columns)
            expected += log_marginal(X[part], a, kappa, m0[columns], B[np.ix_(columns, columns)], local)
    assert predict_one_by_one(X, codes, structure, shared, prior) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("shared", [False, True])
def test_one_variance_for_all_columns_multiplies_to_its_marginal_likelihood(shared: bool, rng: Any) -> None:
    """σ² ~ Inv-χ²: the same formula for cells, n d of them, and one mean for each class and column."""
    X, codes, a, kappa, b = rng.normal(size=(10, 2)), np.arange(10) % 2, 1.3, 0.6, 0.9
    m0, d = np.array([0.2, -0.1]), 2
    prior = NormalInverseWishart(a, mean_strength=kappa, mean=m0, scale=[b, b])
    expected = 0.0
    for group in [[0, 1]] if shared else [[0], [1]]:
        rows, start, squares = X[np.isin(codes, group)], a * d + 2, a * d * b
        for c in group:
            own, mean = X[codes == c], X[codes == c].mean(axis=0)
            squares += ((own - mean) ** 2).sum() + kappa * len(own) / (kappa + len(own)) * ((mean - m0) ** 2).sum()
            expected += d / 2 * np.log(kappa / (kappa + len(own)))
        expected += -rows.size / 2 * np.log(np.pi) + gammaln((start + rows.size) / 2) - gammaln(start / 2)
        expected += start / 2 * np.log(a * d * b) - (start + rows.size) / 2 * np.log(squares)
    assert predict_one_by_one(X, codes, Spherical, shared, prior) == pytest.approx(expected, rel=1e-11)


IRIS = load_iris()
# Log joint densities of three rows of iris under the predictives of Geisser (1964), with empirical class priors,
# as tabulated independently of this library (a reference table of textbook multivariate t predictives).
PUBLISHED_ROWS = [0, 70, 149]
PUBLISHED = {
    "lda": [
        [-0.00567005881056315, -37.34415520395242, -60.8219980886159],
        [-46.290927523421786, -4.021779877946037, -3.0057090050884376],
        [-52.09217959152533, -5.549297218792944, -1.7752400582657752],
    ],
    "qda": [
        [1.4122668623776795, -29.285996571629425, -38.91060452943182],
        [-57.52415682462416, -3.393401098330223, -2.9107225461604758],
        [-60.52873702434512, -4.067160955815029, -1.745331517752852],
    ],
}


@pytest.mark.parametrize("shared", [False, True])
def test_jeffreys_prior_equals_the_textbook_predictive(shared: bool) -> None:
    X, y = IRIS.data, IRIS.target
    model = GaussianDiscriminant(prior=NormalInverseWishart("jeffreys"), shared=shared).fit(X, y)
    own, p = parts(X, y), X.shape[1]
    W, free = sum(S for _, _, S in own), len(X) - 3
    found = model.predict_joint_log_proba(X)
    for c, (n, m, S) in enumerate(own):
        df = free - p + 1 if shared else n - p
        t = stats.multivariate_t(m, (W if shared else S) * (1 + 1 / n) / df, df=df)
        np.testing.assert_allclose(found[:, c], t.logpdf(X) + np.log(n / len(X)), rtol=1e-10)
    np.testing.assert_allclose(found[PUBLISHED_ROWS], PUBLISHED["lda" if shared else "qda"], rtol=0, atol=1e-8)


# --- missing cells, wide tables, few rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["diagonal", "spherical"])
@pytest.mark.parametrize("kappa", [0.0, 0.5])
def test_independent_columns_count_their_own_cells(holed: Any, covariance: str, kappa: float) -> None:
    X, y = holed
    prior = NormalInverseWishart(2.0, scale=np.ones(4), mean=np.zeros(4) if kappa else None, mean_strength=kappa)
    model = fit(X, y, prior, covariance=covariance)
    rows = np.nan_to_num(X[:9])
    found = log_densities(model, rows)
    for c, label in enumerate(model.classes_):
        own = X[y == label]
        n, m = (~np.isnan(own)).sum(axis=0), np.nanmean(own, axis=0)
        squares = (
            ((own - m) ** 2)[~np.isnan(own)].sum() if covariance == "spherical" else np.nansum((own - m) ** 2, axis=0)
        )
        pull = kappa * n / (kappa + n) * m**2
        location, scale = n * m / (kappa + n), 1 + 1 / (kappa + n)
        if covariance == "diagonal":
            df = 2.0 + n + (2 if kappa else 1)
            sd = np.sqrt((2.0 + squares + pull) / df * scale)
            expected = stats.t(df, location, sd).logpdf(rows).sum(axis=1)
        else:
            df = 2.0 * 4 + 2 + n.sum() - (0 if kappa else 4)
            shape = np.diag((2.0 * 4 + squares + pull.sum()) / df * scale)
            expected = stats.multivariate_t(location, shape, df=df).logpdf(rows)
            assert model.covariances_[c] == pytest.approx((8.0 + squares + pull.sum()) / (df - 2) * np.eye(4))
        np.testing.assert_allclose(found[:, c], expected, rtol=1e-11)


@pytest.mark.parametrize("shared", [False, True])
def test_joint_columns_are_completed_at_the_prior_s_own_estimate(holed: Any, shared: bool) -> None:
    """The completed scatter is the fixed point of EM on the rows and a more, at the maximum-likelihood means."""
    X, y = holed
    a, B = 6.0, np.diag([0.5, 1.0, 1.5, 2.0])
    model = fit(X, y, NormalInverseWishart(a, scale=B), shared=shared)
    assert any("completed missing cells by EM" in note.what for note in model.notes_)
    kept = ~np.isnan(X).all(axis=1)
    X, codes, k = X[kept], np.unique(y[kept], return_inverse=True)[1], 3
    n, plain = np.bincount(codes), GaussianDiscriminant(shared=shared).fit(X, y[kept]).means_
    more = a * n / n.sum() if shared else np.full(k, a)
    # E[Σ] = (a B + S) / (a + n − 1), or a + N − K shared
    freedom = np.array([a + n.sum() - k]) if shared else a + n - 1
    scatter = model.covariances_.reshape(-1, 4, 4) * freedom[:, None, None] - a * B
    apart = model.means_ - plain
    drift = (n * more / (n + more))[:, None, None] * apart[:, :, None] * apart[:, None, :]
    if shared:
        drift, totals = drift.sum(axis=0, keepdims=True), np.array([n.sum() + a])
    else:
        totals = n + a
    covariance = (scatter + a * B + drift) / totals[:, None, None]
    mean = (n[:, None] * model.means_ + more[:, None] * plain) / (n + more)[:, None]
    again, filled = np.zeros_like(scatter), X.copy()
    for i, (row, c) in enumerate(zip(X, codes, strict=True)):
        S = covariance[0 if shared else c]
        seen, gone = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        slope = S[np.ix_(gone, seen)] @ np.linalg.inv(S[np.ix_(seen, seen)])
        filled[i, gone] = mean[c][gone] + slope @ (row - mean[c])[seen]
        again[0 if shared else c][np.ix_(gone, gone)] += S[np.ix_(gone, gone)] - slope @ S[np.ix_(seen, gone)]
    for c in range(k):
        own = filled[codes == c] - model.means_[c]
        again[0 if shared else c] += own.T @ own
    np.testing.assert_allclose(again, scatter, atol=1e-7 * np.abs(scatter).max())


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("strength", [2.0, np.inf])
@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_more_columns_than_rows(shared: bool, strength: float, kappa: float, rng: Any) -> None:
    """Never a d × d matrix in the library; here the same from one."""
    X, y = rng.normal(size=(30, 140)) * 3.0, np.arange(30) % 3
    prior = NormalInverseWishart(strength, 0.9, mean_strength=kappa)
    model = fit(X, y, prior, shared=shared)
    B, own, m0 = prior_scale(X, y, 0.9), parts(X, y), X.mean(axis=0)
    new = rng.normal(size=(4, 140))
    for c, (n, m, _) in enumerate(own):
        every = range(3) if shared else [c]
        A, df, k = 2.0 * B, 4.0, kappa + n
        for g in every:
            size, mean, scatter = own[g]
            A = A + scatter + kappa * size / (kappa + size) * np.outer(mean - m0, mean - m0)
            df += size - (kappa == 0)
        if strength == np.inf:
            A, df = 27.0 * B, 28.0
        t = stats.multivariate_t((kappa * m0 + n * m) / k, A * (1 + 1 / k) / df, df=df)
        np.testing.assert_allclose(log_densities(model, new)[:, c], t.logpdf(new), rtol=1e-9)
        found = model.covariances_ if shared else model.covariances_[c]
        np.testing.assert_allclose(found, A / (df - 2), rtol=1e-9, atol=1e-12)
    with pytest.raises(SettingError, match="must add a diagonal"):
        _ = fit(X, y, NormalInverseWishart(2.0, 1.0)).model_


@pytest.mark.parametrize("strength", [0.0, "jeffreys"])
def test_a_vague_prior_refuses_what_it_cannot_settle(strength: Any) -> None:
    X, y = np.random.default_rng(1).normal(size=(20, 3)), np.array(["few"] * 2 + ["many"] * 18)
    with pytest.raises(SingularCovarianceError, match=r"'few'.*Next: .*strength"):
        _ = fit(X, y, NormalInverseWishart(strength))
    X[:, 2] = 2.0 * X[:, 0]
    with pytest.raises(SingularCovarianceError, match=r"The covariance of all classes.* 0, 2\."):
        _ = fit(X, y, NormalInverseWishart(strength), shared=True)


def test_repairs_are_noted() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), np.repeat(["a", "b"], 20)
    X[:, 2] = X[:, 1] * 2.0
    collinear = fit(X, y, NormalInverseWishart(5.0, pooled=1.0))
    assert {note.label for note in collinear.notes_ if note.what == "shrunk the correlations"} == {"a", "b"}
    assert not fit(X, y, NormalInverseWishart(5.0)).notes_  # the diagonal part of B is enough
    X[:, 2] = np.where(y == "a", 0.0, 1.0)
    flat = fit(X, y, NormalInverseWishart(5.0, pooled=1.0))
    assert [note.columns for note in flat.notes_] == [(2,), (2,)]
    assert np.isfinite(log_densities(flat, X)).all()
    X[:, 2] = 7.0
    constant = fit(X, y, NormalInverseWishart(5.0))
    assert [note.what for note in constant.notes_] == ["left out"]
    assert not constant.covariances_[:, 2].any()


def test_a_posterior_mean_that_does_not_exist_is_infinite() -> None:
    X, y = np.array([[0.0], [1.0], [0.5], [2.0], [3.0]]), np.array([0, 0, 1, 1, 1])
    model = fit(X, y, NormalInverseWishart("jeffreys"))
    assert np.isinf(model.covariances_[:, 0, 0]).tolist() == [True, True]  # ν = 1 and 2
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("strength", [0.5, 1.0, 3.0])
def test_a_prior_tells_the_spread_of_a_column_that_a_class_never_shows(strength):
    """Worth a row or less, too: what is filled in follows the regression of B, and S = n (B₁₁ − β B₀₁) + β² S₀₀."""
    rng, base = np.random.default_rng(3), np.array([[1.5, 0.9], [0.9, 2.0]])
    rows = np.column_stack([rng.normal(size=7), np.full(7, np.nan)])
    cells = PatternStats.summarize(rows, np.zeros(7, dtype=np.int64), 1)
    mean = np.array([[rows[:, 0].mean(), 4.0]])
    first = GaussianStats(np.array([7.0]), mean, FullScatter(np.zeros((1, 2, 2))))
    found = complete_under(cells, first, base, strength)
    slope, own = base[0, 1] / base[0, 0], 7.0 * rows[:, 0].var()
    left = 7.0 * (base[1, 1] - slope * base[0, 1])
    expected = [[own, slope * own], [slope * own, left + slope**2 * own]]
    np.testing.assert_allclose(found.scatter.values[0], expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.mean, mean, atol=1e-6)
