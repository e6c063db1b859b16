"""All laws of models hold for every estimator, and the one that a broken one breaks is named."""

import numpy as np
import pytest
from kinds import kinds
from model_laws import check_shipped_model
from sklearn.datasets import load_iris

from suffice import (
    RDA,
    GaussianDiscriminant,
    GenerativeClassifier,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
)

NUMBERS = kinds("full, shared unbiased, generative, prior") | {
    "diagonal": lambda: GaussianDiscriminant("diagonal", priors="uniform"),
    "rda": lambda: GaussianDiscriminant(shrinkage=RDA(shared=0.5, amount=0.2)),
    "mixture": lambda: MixtureDiscriminant(2, n_init=1, tol=1e-3, random_state=0),
    "prior, diagonal": lambda: GaussianDiscriminant("diagonal", prior=NormalInverseWishart(strength=5.0)),
    "naive": lambda: NaiveBayes({(0, 1): "gaussian", 2: "laplace"}),
}


@pytest.mark.parametrize(
    ("name", "holes"),
    [*((name, False) for name in NUMBERS), ("full", True), ("shared unbiased", True), ("naive", True)],
)
def test_estimators_of_numbers(name, holes, rng):
    X, y = load_iris(return_X_y=True)
    X, y = X[::2] + rng.normal(scale=0.01, size=X[::2].shape), y[::2]  # so that medians are not ties
    if holes:
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    # EM with missing cells stops at a tolerance, not at rounding
    check_shipped_model(NUMBERS[name]().fit(X, y), X, y, tolerance=1e-4 if holes else 1e-8)


def test_mixed_columns(rng):
    n = 48
    y = np.array(["a", "b", "c"])[np.arange(n) % 3]
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = rng.normal(size=n) + np.arange(n) % 3
    X[:, 1] = np.array(["red", "green", "blue"])[(np.arange(n) + (rng.random(n) < 0.5)) % 3]
    X[:, 2] = rng.random(n) < 0.3 + 0.2 * (np.arange(n) % 3)
    X[:, 3] = rng.poisson(2 + np.arange(n) % 3)
    X[rng.random(X.shape) < 0.1] = None
    for estimator in (NaiveBayes({3: "poisson"}), GenerativeClassifier(members="generative")):
        check_shipped_model(estimator.fit(X, y), X, y, tolerance=1e-6)


def test_columns_of_zeros_and_ones(rng):
    y = np.arange(90) % 3
    X = (rng.random((90, 4)) < 0.2 + 0.3 * y[:, None]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    check_shipped_model(NaiveBayes("bernoulli").fit(X, y), X, y)


def test_more_columns_than_rows(rng):
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 40)) + y[:, None]
    check_shipped_model(GaussianDiscriminant(shared=True, shrinkage=0.3).fit(X, y), X, y)


def test_counts_that_share_a_total(rng):
    shares = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    y = np.arange(60) % 2
    X = np.stack([rng.multinomial(20, shares[c]) for c in y])
    check_shipped_model(NaiveBayes("multinomial").fit(X, y), X, y)


WRONG = {
    "bayes": ("score_samples", lambda found: found + 1e-3),
    "nothing_known": ("predict_proba", lambda found: found[:, ::-1]),
    "conditionals": ("impute", lambda found: [table * 1.01 for table in found]),
    "observed_cells_stay": ("impute", lambda found: [table + 1e-9 for table in found]),
    "sets": ("predict_set", lambda found: found ^ found[:1]),
    "reasons": ("explain", lambda found: found * (1.0 + 1e-6)),
    "one_by_one": ("predict_joint_log_proba", lambda found: found - found[0, 0] * 1e-6),
    "learns_in_any_order": ("merge", lambda found: found.partial_fit([[0.0, 0.0]], ["b"])),
    "draws": ("sample", lambda found: (found[0] * 3.0, found[1])),
}


def wrong(answer, by):
    """An estimator with one answer that is off."""

    class Wrong(GaussianDiscriminant):
        pass

    setattr(
        Wrong, answer, lambda self, *args, **kwargs: by(getattr(GaussianDiscriminant, answer)(self, *args, **kwargs))
    )
    return Wrong


@pytest.mark.parametrize("law", WRONG)
def test_what_is_broken_is_named(law, rng):
    X, y = rng.normal(size=(60, 2)), np.array(["a", "b"])[np.arange(60) % 3 % 2]
    X[y == "b"] += 1.0
    model = wrong(*WRONG[law])().fit(X, y)
    named = "bayes" if law == "one_by_one" else law  # joint densities that are off contradict the row's density first
    with pytest.raises(AssertionError, match=f"^{named}:"):
        check_shipped_model(model, X, y)
