"""Parameters drawn from posteriors, against Beta, Gamma and inverse chi-square laws of counts made by hand."""

import numpy as np
import pytest
from scipy import stats

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.em.filling import can_augment
from suffice.questions.proba_interval import posteriors

LEVEL, DRAWS = 1e-3, 1500  # of every goodness-of-fit test below; seeds are fixed


def drawn(model, ask):
    (draw,), rng = posteriors(model._fitted), np.random.RandomState(0)
    return np.array([ask(draw(rng)) for _ in range(DRAWS)])


@pytest.mark.parametrize(
    ("family", "cells", "ask", "law"),
    [
        ("categorical", ["x", "x", "x", "y"], lambda d: np.exp(d.log_p[0][0, 0]), stats.beta(4, 2)),
        ("bernoulli", [1.0, 1.0, 1.0, 0.0], lambda d: d.p[0, 0], stats.beta(4, 2)),
        ("poisson", [2.0, 5.0, 3.0, 2.0], lambda d: d.rate[0, 0], None),
        ("gaussian", [1.0, 2.0, 2.5, 6.0], lambda d: 3 / d.covariance.variance[0, 0], None),
    ],
)
def test_one_column_of_four_rows(family, cells, ask, law) -> None:
    """Smoothing counts as it does in the estimate; Gaussian columns have Jeffreys' prior: s² (n − 1) / σ² ~ χ²₃."""
    x = np.array(cells)
    model = NaiveBayes(family).fit(x[:, None], ["a"] * 4)
    if family == "poisson":
        added = model._fitted.joint.density.blocks[0].pseudo
        law = stats.gamma(x.sum() + added[0, 0], scale=1 / (4 + added[1, 0]))
    if family == "gaussian":
        law = stats.chi2(3, scale=1 / x.var(ddof=1))
    assert stats.kstest(drawn(model, ask), law.cdf).pvalue > LEVEL


@pytest.mark.parametrize("shared", [False, True])
def test_covariances_of_complete_rows(rng, shared) -> None:
    """Under Jeffreys' prior Σ ~ IW(S, m), m = n − 1, or N − K if shared: the variance of a sum is S_u / χ²(m − 2)."""
    X, y = rng.normal(size=(24, 3)), np.repeat(["a", "b"], 12)
    model = GaussianDiscriminant(shared=shared).fit(X, y)
    assert not can_augment(model._fitted.statistics.blocks[0])
    u = np.ones(3)
    found = drawn(model, lambda d: u @ d.covariance.dense()[0] @ u)
    apart = np.stack([X[y == c] - X[y == c].mean(axis=0) for c in "ab"])
    square = ((apart if shared else apart[:1]) @ u) ** 2
    df = (22 if shared else 11) - 2
    assert stats.kstest(square.sum() / found, stats.chi2(df).cdf).pvalue > LEVEL
