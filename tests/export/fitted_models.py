"""Fitted models for the tests of exports: every estimator, structure and family, on tables with missing cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from suffice import (
    RDA,
    Dirichlet,
    GaussianDiscriminant,
    GenerativeClassifier,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
)
from suffice.datasets import penguins_path

LABELS: dict[str, list[Any]] = {"text": ["low", "mid", "high"], "integers": [3, 10, -2], "truths": [False, True]}


def numbers(d: int = 4, n: int = 90, labels: str = "text", holes: float = 0.15, seed: int = 0) -> tuple[Any, Any]:
    """Return a frame of d numbers with missing cells, classes apart, and labels."""
    rng = np.random.default_rng(seed)
    known = LABELS[labels]
    codes = np.arange(n) % len(known)
    mixing = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
    X = rng.normal(size=(n, d)) @ mixing * (1.0 + 0.3 * codes[:, None]) + codes[:, None] * 1.2
    X[:, 0] = X[:, 0] * 1e3 + 5e4  # units and offsets differ
    X[rng.random(X.shape) < holes] = np.nan
    return pd.DataFrame(X, columns=[f"size {j}" for j in range(d)]), np.array([known[c] for c in codes])


def mixed(n: int = 120, seed: int = 1, labels: str = "text") -> tuple[Any, Any]:
    """Return a frame of numbers, counts, truth values and categories, each with missing cells, and labels."""
    rng = np.random.default_rng(seed)
    X, y = numbers(3, n, labels, seed=seed)
    shift = pd.factorize(y)[0]
    X["visits"] = np.where(rng.random(n) < 0.1, np.nan, rng.poisson(1.0 + 2.0 * shift))
    X["smoker"] = pd.array(rng.random(n) < 0.2 + 0.2 * shift, dtype="boolean")
    X.loc[rng.random(n) < 0.1, "smoker"] = pd.NA
    X["town"] = np.array(["Aix", "Bonn", "O'Hara", ""])[np.minimum(rng.integers(0, 3, n) + shift // 2, 3)]
    X.loc[rng.random(n) < 0.1, "town"] = None
    X["wing"] = rng.integers(0, 3, n) * 10
    return X, y


def unseen(X: Any, n: int = 40, seed: int = 5) -> Any:
    """Return rows like those of a table, with more cells missing, none known, levels never met and far cells."""
    rng = np.random.default_rng(seed)
    rows = X.iloc[rng.integers(0, len(X), n)].reset_index(drop=True).copy()
    for name in rows.columns:
        rows.loc[rng.random(n) < 0.25, name] = None if rows[name].dtype == object else pd.NA
    if "town" in rows:
        rows.loc[[2, 7], "town"] = ["Zürich", "'; DROP TABLE rows; --"]
    if "wing" in rows:
        rows["wing"] = rows["wing"].astype(float)
        rows.loc[3, "wing"] = 70
    first = rows.columns[0]
    if rows[first].dtype.kind == "f":
        rows.loc[4, first] = rows[first].max() * 3.0
        rows.loc[5, first] = -rows[first].max()
    rows.iloc[0] = None
    return rows.astype({name: X[name].dtype for name in rows.columns if name != "wing"})


Case = tuple[Any, Any]  # a fitted model and rows to score


def _fit(model: Any, table: tuple[Any, Any], rows: Any = None) -> Case:
    return model.fit(*table), unseen(table[0]) if rows is None else rows


GAUSSIAN: dict[str, Callable[[], Case]] = {
    f"{structure}, {'shared' if shared else 'own'}{note}": lambda s=structure, h=shared, o=told: _fit(
        GaussianDiscriminant(s, shared=h, **o), numbers()
    )
    for structure in ("full", "diagonal", "spherical")
    for shared in (False, True)
    for note, told in (("", {}), (", prior", {"prior": NormalInverseWishart()}))
}
GAUSSIAN |= {
    "rda": lambda: _fit(GaussianDiscriminant(shrinkage=RDA(0.3, 0.4)), numbers()),
    "no missing at fit": lambda: _fit(GaussianDiscriminant(priors="uniform"), numbers(holes=0.0)),
    "integers": lambda: _fit(GaussianDiscriminant(), numbers(labels="integers")),
    "truths": lambda: _fit(GaussianDiscriminant(shared=True), numbers(labels="truths")),
    "more columns than rows": lambda: _fit(GaussianDiscriminant(), numbers(14, 24, holes=0.0)),
    "shared, more columns than rows": lambda: _fit(GaussianDiscriminant(shared=True), numbers(16, 12, holes=0.0)),
    "one column": lambda: _fit(GaussianDiscriminant(), numbers(1)),
    "constant column": lambda: _fit(GaussianDiscriminant(), (numbers()[0].assign(flat=7.0), numbers()[1])),
    "prior of zero": lambda: _fit(GaussianDiscriminant(priors={"low": 0.0, "mid": 0.4, "high": 0.6}), numbers()),
}

COUNTS = {"visits": "poisson", "smoker": "bernoulli", "wing": "categorical"}
NAIVE: dict[str, Callable[[], Case]] = {
    "automatic families": lambda: _fit(NaiveBayes(), mixed()),
    "all families": lambda: _fit(NaiveBayes({"size 0": "laplace", **COUNTS}), mixed()),
    "block of numbers": lambda: _fit(NaiveBayes({("size 0", "size 2"): "gaussian", **COUNTS}), mixed(labels="truths")),
    "prior": lambda: _fit(NaiveBayes(prior=NormalInverseWishart()), mixed(labels="integers")),
    "dirichlet": lambda: _fit(NaiveBayes(COUNTS, smoothing=Dirichlet(2.0, base="pooled")), mixed()),
    "no smoothing": lambda: _fit(NaiveBayes(COUNTS, smoothing=0.0), mixed(40)),
    "words": lambda: _fit(NaiveBayes("multinomial", smoothing=0.0), words(), texts()),
    "words or not": lambda: _fit(
        NaiveBayes("bernoulli", smoothing=0.0), (words()[0].clip(upper=1), words()[1]), texts(holes=0.2).clip(upper=1)
    ),
    "rare counts": lambda: _fit(NaiveBayes("poisson", smoothing=0.0), words(), texts(holes=0.2)),
}


def words() -> tuple[Any, Any]:
    """Return counts in which some never occur in a class."""
    rng = np.random.default_rng(3)
    rate = np.array([[2.0, 1.0, 0.0, 3.0], [0.0, 2.0, 1.0, 0.5], [1.0, 0.0, 1.0, 1.0]])
    codes = np.arange(45) % 3
    X = pd.DataFrame(rng.poisson(rate[codes]).astype(float), columns=list("abcd"))
    return X, np.array(LABELS["text"])[codes]


def texts(holes: float = 0.0) -> Any:
    """Return counts of which some rows are impossible in every class."""
    rng = np.random.default_rng(4)
    rows = rng.poisson(1.0, size=(40, 4)).astype(float)
    rows[:3] = [[0, 0, 0, 0], [2, 1, 3, 1], [30, 0, 0, 41]]
    rows[rng.random(rows.shape) < holes] = np.nan
    return pd.DataFrame(rows, columns=list("abcd"))


MIXTURE: dict[str, Callable[[], Case]] = {
    "two components": lambda: _fit(MixtureDiscriminant(2, n_init=1, random_state=0), numbers(3, 150)),
    "one component": lambda: _fit(MixtureDiscriminant(1), numbers(3, 90)),
    "chosen, shared": lambda: _fit(MixtureDiscriminant(3, shared=True, n_init=1, random_state=0), numbers(2, 150)),
    "diagonal": lambda: _fit(MixtureDiscriminant(2, covariance="diagonal", n_init=1, random_state=0), numbers(3, 150)),
}

AUTOMATIC: dict[str, Callable[[], Case]] = {
    "numbers": lambda: _fit(GenerativeClassifier(), numbers(2, 150)),
    "mixed": lambda: _fit(GenerativeClassifier(), *with_empty_column(mixed(150))),
    "categories only": lambda: _fit(GenerativeClassifier(), (mixed(150)[0][["town", "smoker"]], mixed(150)[1])),
    "priors": lambda: _fit(
        GenerativeClassifier(priors=[0.2, 0.3, 0.5]), (mixed(100)[0][["size 1", "town"]], mixed(100)[1])
    ),
    "parts": lambda: _fit(GenerativeClassifier(), rings()),
    "independent": lambda: _fit(GenerativeClassifier(), spreads()),
    "penguins": lambda: _fit(GenerativeClassifier(), penguins()),
    "few numbers": lambda: _fit(GenerativeClassifier(), numbers(2, 90)),  # too few rows for a forest as joint model
    "few": lambda: _fit(
        GenerativeClassifier(), (mixed(90)[0].drop(columns=["size 0", "size 2", "wing"]), mixed(90)[1])
    ),
    "joint forest": lambda: _fit(GenerativeClassifier(), steps()),
    "joint forest, priors": lambda: _fit(GenerativeClassifier(priors=[0.2, 0.3, 0.5]), steps()),
    "trees": lambda: _fit(GenerativeClassifier(), stripes()),
}


def with_empty_column(table: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return a table with a column in which no row has a value, and rows to score that have one there."""
    X = table[0].drop(columns=["size 0", "size 2", "wing"])
    return (X.assign(none=np.nan), table[1]), unseen(X).assign(none=5.0)


def penguins() -> tuple[Any, Any]:
    """Return the penguins table: numbers and categories, some cells missing."""
    table = pd.read_csv(penguins_path()).astype({"year": float})
    return table.drop(columns="species"), table["species"].to_numpy()


def steps(n: int = 600) -> tuple[Any, Any]:
    """Return whole numbers, repeated values and categories, all of two hidden levels: a forest is their joint model."""
    rng = np.random.default_rng(11)
    level, other = rng.integers(0, 4, n), rng.integers(0, 6, n)
    X = pd.DataFrame({"rooms": 2.0 * level + rng.integers(0, 2, n)})
    X["rate"] = np.array([0.0, 0.0, 2.5, 9.9, 12.0, 12.5])[(other + (rng.random(n) < 0.2)) % 6]
    X["town"] = np.array(["Aix", "Bonn", "O'Hara", ""], dtype=object)[(level + (rng.random(n) < 0.1)) % 4]
    score = (level > 1) * (other % 2) + (X["rate"] > 5.0) * (X["rooms"] % 3) + 0.3 * rng.normal(size=n)
    codes = np.clip(np.round(score), 0, 2).astype(int)
    X["smoker"] = pd.array(rng.random(n) < 0.2 + 0.3 * (codes > 0), dtype="boolean")
    return X.mask(rng.random(X.shape) < 0.06), np.array(LABELS["text"])[codes]


def stripes() -> tuple[Any, Any]:
    """Return such a table with a number in stripes besides, which change the class: a sharp rule of two columns."""
    X, y = steps(900)
    area = np.random.default_rng(12).random(900)
    X["area"] = area
    moved = (np.floor(11 * area) + (X["rate"].fillna(0.0) > 5.0)) % 2 == 1
    return X, np.where(moved, np.roll(LABELS["text"], 1)[np.searchsorted(np.sort(LABELS["text"]), y)], y)


def rings() -> tuple[Any, Any]:
    """Return classes that are each several Gaussians, with rows enough for parts."""
    rng = np.random.default_rng(8)
    centre = np.array([[0, 0], [6, 6], [0, 6], [6, 0]])[np.arange(840) % 4]
    X = pd.DataFrame(centre + rng.normal(size=(840, 2)), columns=["u", "v"])
    X.loc[rng.random(840) < 0.05, "u"] = np.nan
    return X, np.array(["same", "other"])[np.arange(840) % 4 // 2]


def spreads() -> tuple[Any, Any]:
    """Return classes whose columns are independent and differ in spread, which no covariance need be learned for."""
    rng = np.random.default_rng(9)
    y = np.arange(120) % 2
    X = pd.DataFrame(rng.normal(size=(120, 6)) * (1.0 + y[:, None]), columns=list("uvwxyz"))
    return X.mask(rng.random(X.shape) < 0.03), np.array(["narrow", "wide"])[y]


CASES = {
    f"{kind}: {name}": make
    for kind, cases in (("gaussian", GAUSSIAN), ("naive", NAIVE), ("mixture", MIXTURE), ("automatic", AUTOMATIC))
    for name, make in cases.items()
}


@cache
def case(name: str) -> Case:
    """Return the fitted model and the rows of a case, made once."""
    return CASES[name]()
