"""Intervals of class probabilities against true parameters and posteriors that are known in closed form."""

import numpy as np
import pytest
from scipy import stats

from suffice import (
    Dirichlet,
    GaussianDiscriminant,
    GenerativeForest,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
)
from suffice.errors import DataError, SettingError
from suffice.questions import proba_interval

LEVEL = 0.9


def gaussian(rng, n, d=3):
    """Rows of two classes, their labels and their true p(class | row)."""
    means, roots = rng.normal(size=(2, d)), rng.normal(size=(2, d, d)) / np.sqrt(d) + np.eye(d)
    y = rng.permutation(n) % 2
    X = means[y] + np.einsum("nij,nj->ni", roots[y], rng.normal(size=(n, d)))
    log_p = [stats.multivariate_normal(m, r @ r.T).logpdf(X) for m, r in zip(means, roots, strict=True)]
    return X, y, np.exp(log_p - np.logaddexp.reduce(log_p, axis=0)).T


def categorical(rng, n, d=4):
    """The same of categories whose probabilities are drawn from the prior that is taken."""
    p = rng.dirichlet(np.full(6, 0.5), size=(2, d))
    y = rng.permutation(n) % 2
    X = (rng.uniform(size=(n, d, 1)) > p[y].cumsum(axis=2)[:, :, :5]).sum(axis=2)
    log_p = np.log(p[:, np.arange(d), X]).sum(axis=2)
    return X, y, np.exp(log_p - np.logaddexp.reduce(log_p, axis=0)).T


MAKERS = {
    "full": (gaussian, lambda: GaussianDiscriminant(priors="uniform")),
    "chosen prior": (gaussian, lambda: GaussianDiscriminant(prior=NormalInverseWishart(), priors="uniform")),
    "categorical": (categorical, lambda: NaiveBayes("categorical", priors="uniform")),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_they_hold_the_true_probability_and_narrow(kind, monkeypatch):
    monkeypatch.setattr(proba_interval, "DRAWS", 299)
    truth, make = MAKERS[kind]
    found = {}
    for n in (50, 400):
        share, width = [], []
        for seed in range(8):
            X, y, p = truth(np.random.RandomState(seed), n + 60)
            ends = make().fit(X[60:], y[60:]).predict_proba_interval(X[:60], LEVEL)
            share.append(((ends[:, 0, 0] <= p[:60, 0]) & (p[:60, 0] <= ends[:, 0, 1])).mean())
            width.append((ends[:, 0, 1] - ends[:, 0, 0]).mean())
        found[n] = np.mean(width)
        assert abs(np.mean(share) - LEVEL) < 3 * np.std(share) / 8**0.5, n  # rows of a fit go together
        assert np.std(share) < 0.2
    assert 0.25 < found[400] / found[50] < 0.5  # √(50 / 400) = .35


def test_their_ends_are_quantiles_of_the_posterior(rng):
    """Two classes, one binary column: p(class | 1) is p₁ / (p₁ + p₂) of two Beta variables."""
    X = np.repeat([1, 0, 1, 0], [12, 8, 5, 15])[:, None]
    model = NaiveBayes("bernoulli", priors="uniform", smoothing=Dirichlet(2.0)).fit(X, np.repeat([0, 1], 20))
    p = rng.beta([14, 7], [10, 17], size=(200_000, 2))
    rank = stats.beta(np.array([0.05, 0.95]) * 400, np.array([0.95, 0.05]) * 400)  # of order statistics of 399 draws
    low, high = model.predict_proba_interval([[1]], LEVEL)[0, 0]
    share = np.array([(p[:, 0] / p.sum(axis=1) <= end).mean() for end in (low, high)])
    assert ((rank.ppf(0.0005) < share) & (share < rank.ppf(0.9995))).all()
    wide = model.predict_proba_interval([[1]], 0.99)[0, 0]
    assert wide[0] < low < high < wide[1]


def test_where_all_rows_are_equal_they_are_those_of_the_class_shares():
    """The share of a class of 3 of 12 rows under half a row each is a Beta(3.5, 9.5) variable."""
    model = GaussianDiscriminant().fit(np.ones((12, 1)), [0] * 3 + [1] * 9)
    share = stats.beta(3.5, 9.5).cdf(model.predict_proba_interval([[1.0]], LEVEL)[0, 0])
    np.testing.assert_allclose(share, [0.05, 0.95], atol=3.5 * np.sqrt(0.05 * 0.95 / 399))


def test_they_hold_what_is_told_and_stay_the_same(rng, read_back, monkeypatch):
    monkeypatch.setattr(proba_interval, "DRAWS", 99)
    X, y, _ = gaussian(rng, 80)
    model = GaussianDiscriminant().fit(X, y)
    ends, p = model.predict_proba_interval(X), model.predict_proba(X)
    assert ((ends[:, :, 0] <= p) & (p <= ends[:, :, 1])).all()
    np.testing.assert_array_equal(ends[40:], model.predict_proba_interval(X[40:]))
    np.testing.assert_array_equal(ends, read_back(model).predict_proba_interval(X))
    model.partial_fit(X[:5] + 1.0, y[:5]).forget(X[:5] + 1.0, y[:5])
    np.testing.assert_allclose(ends, model.predict_proba_interval(X), atol=1e-6)
    assert np.isfinite(model.release(least=5).predict_proba_interval(X)).all()
    told = model.predict_proba_interval(X, priors=[0.1, 0.9])
    assert (told[:, 0].mean(axis=0) < ends[:, 0].mean(axis=0)).all()


@pytest.mark.parametrize(("missing", "atol"), [(False, 1e-10), (True, 1e-6)])  # where cells miss, as EM ends
def test_halves_merge_to_the_whole(rng, missing, atol, monkeypatch):
    monkeypatch.setattr(proba_interval, "DRAWS", 99)
    X, y, _ = gaussian(rng, 80)
    X[::7, 1] = np.nan if missing else X[::7, 1]
    whole = GaussianDiscriminant().fit(X, y).predict_proba_interval(X)
    merged = GaussianDiscriminant().fit(X[:40], y[:40]).merge(GaussianDiscriminant().fit(X[40:], y[40:]))
    np.testing.assert_allclose(merged.predict_proba_interval(X), whole, atol=atol)


TEXTS = [["free prize now"], ["call me later"], ["win a prize"], ["see you later"]] * 5


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (GenerativeForest(), "of the family forest"),
        (MixtureDiscriminant(2), "of the family mixture"),
        (NaiveBayes("laplace"), "0, 1, 2 of the family laplace"),
        (GaussianDiscriminant(shrinkage=0.2), "covariances are shrunk"),
    ],
)
def test_what_has_no_such_posterior_is_refused(model, why, rng):
    X, y, _ = gaussian(rng, 120)
    with pytest.raises(SettingError, match=why):
        model.fit(X, y).predict_proba_interval(X)


def test_other_refusals(rng):
    X, y, _ = gaussian(rng, 60)
    with pytest.raises(SettingError, match="0 of the family text"):
        NaiveBayes("text").fit(TEXTS, [0, 1, 0, 1] * 5).predict_proba_interval(TEXTS)
    with pytest.raises(SettingError, match=r"class 1 has too few rows.*\(drop_class leaves one out\)"):
        GaussianDiscriminant().fit(X[:5], [0, 0, 0, 1, 1]).predict_proba_interval(X)
    holed = np.array([[np.nan, -3.6, 20], [24, 38, np.nan], [49, -210, 3], [np.nan, -134, 26], [18, -34, np.nan]] * 2)
    holed[5:] = [[30, -80, np.nan], [45, -63, 19], [np.nan, 45, 22], [np.nan, 72, np.nan], [np.nan, 71, np.nan]]
    with pytest.raises(DataError, match="cells are missing"):
        GaussianDiscriminant(shared=True).fit(holed, [0, 1, 2, 3, 4, 2, 1, 1, 1, 1]).predict_proba_interval(holed)
    with pytest.raises(SettingError, match="joined it by EM"):
        GaussianDiscriminant().fit(X, [None if i < 9 else str(y[i]) for i in range(60)]).predict_proba_interval(X)
    for level in (0, 1, "high", None):
        with pytest.raises(SettingError, match="level"):
            GaussianDiscriminant().fit(X, y).predict_proba_interval(X, level)
