"""The estimators that laws are checked for, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from suffice import (
    RDA,
    GaussianDiscriminant,
    GenerativeClassifier,
    GenerativeForest,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
)

KINDS: dict[str, Callable[..., Any]] = {
    "full": GaussianDiscriminant,
    "shared": partial(GaussianDiscriminant, shared=True),
    "diagonal": partial(GaussianDiscriminant, "diagonal"),
    "diagonal shared": partial(GaussianDiscriminant, "diagonal", shared=True),
    "spherical": partial(GaussianDiscriminant, "spherical"),
    "spherical shared": partial(GaussianDiscriminant, "spherical", shared=True),
    "unbiased": partial(GaussianDiscriminant, divisor="unbiased"),
    "shared unbiased": partial(GaussianDiscriminant, shared=True, divisor="unbiased"),
    "oas": partial(GaussianDiscriminant, shrinkage="oas"),
    "ledoit-wolf": partial(GaussianDiscriminant, shrinkage="ledoit-wolf"),
    "loo": partial(GaussianDiscriminant, shrinkage="loo"),
    "shared loo": partial(GaussianDiscriminant, shared=True, shrinkage="loo"),
    "rda": partial(GaussianDiscriminant, shrinkage=RDA()),
    "shrunk": partial(GaussianDiscriminant, shrinkage=0.1),
    "half shared": partial(GaussianDiscriminant, shrinkage=RDA(shared=0.5, amount=0.1)),
    "prior": partial(GaussianDiscriminant, prior=NormalInverseWishart()),
    "naive bayes": NaiveBayes,
    "uniform": partial(NaiveBayes, priors="uniform"),
    "gaussian": partial(NaiveBayes, "gaussian"),
    "laplace": partial(NaiveBayes, "laplace"),
    **{name: partial(NaiveBayes, name) for name in ("bernoulli", "categorical", "multinomial", "poisson")},
    "mixture": partial(MixtureDiscriminant, 2, n_init=1, random_state=0),
    "tied mixture": partial(MixtureDiscriminant, 2, shared=True, n_init=1, random_state=0),
    "single components": partial(MixtureDiscriminant, 1),
    "automatic": GenerativeClassifier,
    "generative": partial(GenerativeClassifier, members="generative"),
    "forest": GenerativeForest,
}


def kinds(names: str) -> dict[str, Callable[..., Any]]:
    """Return the makers of these kinds, of which the names stand between commas."""
    return {name: KINDS[name] for name in names.split(", ")}
