"""Settings of priors, refused where they cannot work, and Dirichlet smoothing against its formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from suffice import Dirichlet, GaussianDiscriminant, MixtureDiscriminant, NaiveBayes, NormalInverseWishart
from suffice.errors import SettingError

NAN = float("nan")
WORDS = pd.DataFrame(
    {
        "colour": ["red", "red", "blue", "green", "blue", "red", None, "blue"],
        "size": ["s", "m", "m", "m", "s", "s", "m", None],
        "ripe": [True, False, True, None, True, True, False, False],
    }
)
LABELS = np.array(["a", "a", "a", "b", "b", "b", "b", "b"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"strength": -1}, r"strength=-1 must be a number of at least 0"),
        ({"strength": NAN}, r"strength=nan must be"),
        ({"strength": "weak"}, r"strength='weak' is not one of .*'jeffreys'"),
        ({"strength": None}, r"strength=None must be"),
        ({"strength": True}, r"strength=True must be"),
        ({"pooled": 1.5}, r"pooled=1.5 is no number from 0 to 1"),
        ({"pooled": "all"}, r"pooled='all' is no number"),
        ({"mean_strength": np.inf}, r"mean_strength=inf must be .*finite"),
        ({"mean_strength": -0.1}, r"mean_strength=-0.1 must be"),
        ({"target": "identity"}, r"target='identity' is not one of 'total', 'within'"),
        ({"mean": [0.0]}, r"mean=...\) has no effect with mean_strength=0"),
        ({"mean": [NAN], "mean_strength": 1}, r"mean=.* one finite number per column"),
        ({"mean": [[0.0]], "mean_strength": 1}, r"mean=.* one finite number per column"),
        ({"scale": "one"}, r"scale='one' must be"),
        ({"scale": [[1.0, 2.0], [2.0, 1.0]]}, r"not positive definite"),
        ({"scale": [[1.0, 1.0], [1.0, 1.0]]}, r"not positive definite"),
        ({"scale": [[1.0, 0.5], [0.4, 1.0]]}, r"not symmetric"),
        ({"scale": [[1.0, 0.5]]}, r"square"),
        ({"scale": [1.0, 0.0]}, r"variances above 0"),
        ({"scale": [1.0], "strength": "jeffreys"}, r"no part in strength=.jeffreys"),
    ],
)
def test_a_prior_that_cannot_work_is_refused_when_it_is_made(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        NormalInverseWishart(**settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"strength": -1.0}, r"Dirichlet\(strength=-1.0 must be"),
        ({"strength": np.inf}, r"finite"),
        ({"strength": NAN}, r"nan"),
        ({"base": "flat"}, r"base='flat' is not one of 'uniform', 'pooled'"),
    ],
)
def test_a_dirichlet_that_cannot_work_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        Dirichlet(**settings)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (GaussianDiscriminant(prior=3.0), r"prior=3.0 is neither None nor a NormalInverseWishart"),
        (GaussianDiscriminant(prior=Dirichlet()), r"neither None nor"),
        (NaiveBayes(prior="vague"), r"prior='vague' is neither"),
        (GaussianDiscriminant(prior=NormalInverseWishart(), shrinkage=0.1), r"both say how .*Next: give one"),
        (GaussianDiscriminant(prior=NormalInverseWishart(scale=np.eye(3))), r"scale=...\) has 3 columns .* about 2"),
        (
            GaussianDiscriminant(prior=NormalInverseWishart(mean=[0.0], mean_strength=1.0)),
            r"mean=...\) has 1 columns .* about 2",
        ),
        (GaussianDiscriminant(priors=Dirichlet(1.0, base="pooled")), r'classes are the shares.*base="uniform"'),
        (NaiveBayes(smoothing=-1.0), r"smoothing=-1.0 must be a number of at least 0"),
        (NaiveBayes(smoothing={0: NAN}), r"smoothing=nan must be"),
        (NaiveBayes(smoothing={"weight": 1.0}), r"weight"),
    ],
)
def test_estimators_refuse_at_fit_and_stay_unfitted(model: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        model.fit([[0.0, 1.0], [1.0, 0.5], [2.0, 2.0]], ["a", "b", "b"])
    assert not hasattr(model, "statistics_")


def test_priors_compare_hash_and_clone() -> None:
    prior = NormalInverseWishart(2.0, mean_strength=1.0, mean=np.zeros(2), scale=np.eye(2))
    assert prior == NormalInverseWishart(2.0, mean_strength=1.0, mean=[0, 0], scale=[[1, 0], [0, 1]])
    assert hash(prior) == hash(clone(GaussianDiscriminant(prior=prior)).prior)
    assert prior != NormalInverseWishart(2.0)


# --- Dirichlet -------------------------------------------------------------------------------------------------------


def shares(column: str, levels: list[Any], t: float, *, spare: bool) -> dict[Any, list[float]]:
    """p(l | k) = (n_kl + t π_l) / (n_k + t) with π_l = (n_l + ½) / (N + ½ L), counted one by one."""
    cells = list(zip(WORDS[column], LABELS, strict=True))
    seen = [cell for cell in cells if pd.notna(cell[0])]
    size, found = len(levels) + spare, {}
    for level in [*levels, *(["never seen"] if spare else [])]:
        pi = (sum(value == level for value, _ in seen) + 0.5) / (len(seen) + 0.5 * size)
        found[level] = [
            (sum(cell == (level, k) for cell in seen) + t * pi) / (sum(label == k for _, label in seen) + t)
            for k in ("a", "b")
        ]
    return found


@pytest.mark.parametrize("t", [0.5, 2.0, 32.0])
def test_pooled_smoothing(t: float) -> None:
    model = NaiveBayes(smoothing=Dirichlet(t, base="pooled"), priors="uniform").fit(WORDS, LABELS)
    for column, levels in (("colour", ["blue", "green", "red"]), ("size", ["m", "s"])):
        expected = shares(column, levels, t, spare=True)
        for level in levels:
            np.testing.assert_allclose(model.probabilities_[column][level], expected[level], rtol=1e-13)
        new = pd.DataFrame({"colour": [None], "size": [None], "ripe": [None]}, dtype=object)
        new[column] = ["never seen"]
        log_p = model.predict_joint_log_proba(new)[0] + np.log(2)
        np.testing.assert_allclose(np.exp(log_p), expected["never seen"], rtol=1e-13)
        np.testing.assert_allclose(sum(np.array(p) for p in expected.values()), 1.0, rtol=1e-13)
    for level, p in shares("ripe", [False, True], t, spare=False).items():
        np.testing.assert_allclose(model.probabilities_["ripe"][level], p, rtol=1e-13)


def test_a_number_and_its_dirichlet_are_the_same() -> None:
    counts = np.array([[2, 0, 1], [0, 0, 3], [1, 1, 0], [0, 4, 0]])
    for families in ("multinomial", "poisson"):
        number = NaiveBayes(families, smoothing=0.3).fit(counts, [0, 0, 1, 1])
        named = NaiveBayes(families, smoothing=Dirichlet(0.3)).fit(counts, [0, 0, 1, 1])
        np.testing.assert_array_equal(number.predict_joint_log_proba(counts), named.predict_joint_log_proba(counts))
    number, named = (NaiveBayes(smoothing=s).fit(WORDS, LABELS) for s in (0.3, Dirichlet(0.3)))
    np.testing.assert_array_equal(number.predict_joint_log_proba(WORDS), named.predict_joint_log_proba(WORDS))


@pytest.mark.parametrize("base", ["uniform", "pooled"])
def test_multinomial_shares(base: str) -> None:
    counts = np.array([[2, 0, 1], [0, 0, 3], [1, 1, 0], [0, 4, 0]])
    model = NaiveBayes("multinomial", smoothing=Dirichlet(1.5, base=base)).fit(counts, [0, 0, 1, 1])
    total = np.array([counts[:2].sum(axis=0), counts[2:].sum(axis=0)])
    overall = counts.sum(axis=0)
    added = 1.5 * (np.ones(3) if base == "uniform" else (overall + 0.5) / (overall.sum() + 1.5))
    expected = (total + added) / (total.sum(axis=1, keepdims=True) + added.sum())
    found = np.stack([model.parameters_[j]["share"] for j in range(3)], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("smoothing", [Dirichlet(0.0, base="pooled"), Dirichlet(0.0)])
def test_no_strength_is_maximum_likelihood_with_its_limit(smoothing: Dirichlet) -> None:
    """A row that every class gives probability zero is answered by the limit for vanishing strength."""
    none = NaiveBayes(smoothing=smoothing).fit(WORDS, LABELS)
    little = NaiveBayes(smoothing=Dirichlet(1e-9, base=smoothing.base)).fit(WORDS, LABELS)
    new = pd.DataFrame({"colour": ["green", "never", "red"], "size": ["m", "never", None], "ripe": [True, None, None]})
    np.testing.assert_allclose(none.predict_proba(new), little.predict_proba(new), atol=1e-8)


def test_class_priors_with_pseudo_counts() -> None:
    X = np.array([[0.0], [1.0], [5.0]])
    model = GaussianDiscriminant(shared=True, priors=Dirichlet(0.5)).fit(X, ["a", "a", "b"])
    np.testing.assert_allclose(model.priors_, [2.5 / 4, 1.5 / 4], rtol=1e-15)
    given = model.predict_joint_log_proba(X) - np.log(model.priors_)
    posterior = np.exp(given) * [3 / 5, 2 / 5]
    np.testing.assert_allclose(
        model.predict_proba(X, priors=Dirichlet(1.0)), posterior / posterior.sum(axis=1, keepdims=True), rtol=1e-12
    )
    mixture = MixtureDiscriminant(n_components=1, priors=Dirichlet(0.5)).fit(X, ["a", "a", "b"])
    np.testing.assert_allclose(mixture.priors_, model.priors_, rtol=1e-15)
