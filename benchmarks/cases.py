"""What is measured against what: pairs of calls on the same data, and the limit of their ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from data import categorical_table, clumped_table, gaussian_table
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice._arrays import workers

Call = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A call of ours and a peer's; ours may take `limit` times the peer's time (a tenth: ten times faster)."""

    row: int
    what: str
    peer_name: str
    ours: Call
    peer: Call
    limit: float
    slow_peer: bool = False  # called once
    only_over_a_second: bool = False  # the limit is for sizes at which the peer takes longer than that


def fit_sizes(quick: bool) -> list[tuple[int, int, int, float]]:
    """Return n, d, k and the limit against one product of the table with itself."""
    sizes = [
        (200_000, 200, 10, 2.0),
        (50_000, 784, 10, 2.0),
        (100_000, 512, 100, 2.5),
        (200_000, 50, 10, 2.5),
        (500_000, 10, 5, 8.0),
    ]
    return [(n // 10, d, k, limit) for n, d, k, limit in sizes if d <= 200] if quick else sizes


def fit_cases(quick: bool) -> Iterator[list[Case]]:
    """Rows 1 to 3: fitting, against one product of the table with itself and against scikit-learn."""
    for n, d, k, limit in fit_sizes(quick):
        X, y = gaussian_table(n, d, k)
        product = Product(X)
        cases = []
        for shared in (True, False):
            name = "scikit-learn LDA(svd)" if shared else "scikit-learn QDA"
            peer = LinearDiscriminantAnalysis("svd") if shared else QuadraticDiscriminantAnalysis()
            what = f"fit {'shared' if shared else 'full'}, n={n:,} d={d} k={k}"
            fit, theirs = Fit(GaussianDiscriminant(shared=shared), X, y), Fit(peer, X, y)
            cases.append(Case(1 if d >= 200 else 2, what, "X.T @ X", fit, product, limit))
            cases.append(Case(3, what, name, fit, theirs, 1 / 10, slow_peer=True, only_over_a_second=True))
        yield cases


def shrunk_cases(quick: bool) -> Iterator[list[Case]]:
    """Row 12: fitting with a shrinkage estimated from few rows."""
    n, d = (400, 128) if quick else (1_000, 512)
    for k in (2, 100):
        X, y = gaussian_table(n, d, k)
        fit = Fit(GaussianDiscriminant(shared=True, shrinkage="ledoit-wolf"), X, y)
        yield [Case(12, f"fit shared, Ledoit-Wolf, n={n:,} d={d} k={k}", "X.T @ X", fit, Product(X), 2.5)]


def full_cases(quick: bool) -> Iterator[list[Case]]:
    """Row 4: posteriors of a model with full covariances."""
    n, d, k = 20_000 if quick else 200_000, 200, 10
    X, y = gaussian_table(n, d, k)
    ours = Posteriors(GaussianDiscriminant().fit(X, y), X)
    theirs = Posteriors(QuadraticDiscriminantAnalysis().fit(X, y), X)
    factors, result = np.random.default_rng(0).standard_normal((k, d, d)), np.empty((n, d))

    def products() -> None:
        for factor in factors:
            np.matmul(X, factor, out=result)

    what = f"predict_proba full, n={n:,} d={d} k={k}"
    yield [
        Case(4, what, "the ten products it needs", ours, products, 1.5),
        Case(4, what, "scikit-learn QDA", ours, theirs, 1 / 6),
    ]


def diagonal_cases(quick: bool) -> Iterator[list[Case]]:
    """Row 5: posteriors of a model with diagonal covariances."""
    n, d, k = 5_000 if quick else 100_000, 512, 100
    X, y = gaussian_table(n, d, k)
    ours = Posteriors(GaussianDiscriminant("diagonal").fit(X, y), X)
    theirs = Posteriors(GaussianNB().fit(X, y), X)
    what = f"predict_proba diagonal, n={n:,} d={d} k={k}"
    yield [Case(5, what, "scikit-learn GaussianNB", ours, theirs, 1 / 15, slow_peer=True)]


def categorical_cases(quick: bool) -> Iterator[list[Case]]:
    """Row 6: categories."""
    n, columns, k = 100_000 if quick else 1_000_000, 20, 5
    X, y = categorical_table(n, columns, k)
    model, peer = NaiveBayes("categorical").fit(X, y), CategoricalNB().fit(X, y)
    size, name = f"n={n:,} columns={columns} k={k}", "scikit-learn CategoricalNB"
    fit, their_fit = Fit(NaiveBayes("categorical"), X, y), Fit(CategoricalNB(), X, y)
    yield [
        Case(6, f"fit categorical, {size}", name, fit, their_fit, 1 / 8),
        Case(6, f"predict_proba categorical, {size}", name, Posteriors(model, X), Posteriors(peer, X), 1 / 8),
    ]


def leave_one_out_cases(quick: bool) -> Iterator[list[Case]]:
    """Row 7: exact leave-one-out of every row, against one fit and one pass of scoring."""
    n, d, k = 20_000, 50, 5
    X, y = gaussian_table(n, d, k)
    for name, shared in (("full", False), ("full", True), ("diagonal", False), ("diagonal", True)):
        model = GaussianDiscriminant(name, shared=shared)
        what = f"exact LOO {name}{' shared' if shared else ''}, n={n:,} d={d} k={k}"
        left_out = LeaveOneOut(GaussianDiscriminant(name, shared=shared).fit(X, y), X, y)
        yield [Case(7, what, "fit + predict_log_proba", left_out, FitAndScore(model, X, y), 3.0)]


def automatic_cases(quick: bool) -> Iterator[list[Case]]:
    """Rows 8 and 9: the automatic classifier against boosted trees with their defaults, on as many threads.

    At most 100,000 new rows are predicted.
    """
    from lightgbm import LGBMClassifier

    sizes = [
        (2_000, 20, 3, 5.0, 2.0),
        (100_000, 20, 3, 1.0, 1.0),
        (1_000_000, 20, 2, 1.0, 1.0),
        (100_000, 50, 10, 1.0, 1.0),
    ]
    for n, d, k, fits, predicts in sizes[:1] if quick else sizes:
        X, y = clumped_table(n + min(n, 100_000), d, k)
        new, X, y = X[n:], X[:n], y[:n]
        peer, size = LGBMClassifier(n_jobs=workers(), verbose=-1), f"n={n:,} d={d} k={k}"
        model, theirs = GenerativeClassifier().fit(X, y), LGBMClassifier(n_jobs=workers(), verbose=-1).fit(X, y)
        yield [
            Case(
                8,
                f"fit automatic, {size}",
                "LightGBM",
                Fit(GenerativeClassifier(), X, y),
                Fit(peer, X, y),
                fits,
                slow_peer=n > 10**5,
            ),
            Case(
                9,
                f"predict_proba automatic, {size}",
                "LightGBM",
                Posteriors(model, new),
                Posteriors(theirs, new),
                predicts,
            ),
        ]


def forest_cases(quick: bool) -> Iterator[list[Case]]:
    """Row 10: the forest against boosted trees with their defaults, on as many threads."""
    from lightgbm import LGBMClassifier

    n, d, k = (2_000 if quick else 20_000), 20, 3
    X, y = clumped_table(n, d, k)
    peer = LGBMClassifier(n_jobs=workers(), verbose=-1)
    yield [
        Case(10, f"fit forest, n={n:,} d={d} k={k}", "LightGBM", Fit(GenerativeForest(), X, y), Fit(peer, X, y), 2.0)
    ]


def explain_cases(quick: bool) -> Iterator[list[Case]]:
    """Row 11: why one row was given its answer, by a pool with trees; what all rows have in common is made before."""
    n, d, k = 1_000 if quick else 2_000, 30, 3
    X, y = gaussian_table(n, d, k)
    y = np.where((X[:, 0] > 0) ^ (X[:, 1] > 0), y, (y + 1) % k)  # so that trees are of use
    model = GenerativeClassifier().fit(X, y)
    one = X[:1]
    model.explain(one)
    what = f"explain one row, automatic, n={n:,} d={d} k={k}"
    yield [Case(11, what, "predict_proba of it", Explained(model, one), Posteriors(model, one), 12.0)]


@dataclass(frozen=True)
class Fit:
    """A call that fits a model."""

    model: Any
    X: Any
    y: Any

    def __call__(self) -> Any:
        return self.model.fit(self.X, self.y)


@dataclass(frozen=True)
class Posteriors:
    """A call that predicts with a model."""

    model: Any
    X: Any

    def __call__(self) -> Any:
        return self.model.predict_proba(self.X)


@dataclass(frozen=True)
class Explained:
    """A call that tells how much each column speaks for each class."""

    model: Any
    X: Any

    def __call__(self) -> Any:
        return self.model.explain(self.X)


@dataclass(frozen=True)
class LeaveOneOut:
    """A call that scores every row by the model of all others."""

    model: Any
    X: Any
    y: Any

    def __call__(self) -> Any:
        return self.model.leave_one_out(self.X, self.y)


@dataclass(frozen=True)
class FitAndScore:
    """A call that fits a model and scores its own rows."""

    model: Any
    X: Any
    y: Any

    def __call__(self) -> Any:
        return self.model.fit(self.X, self.y).predict_log_proba(self.X)


@dataclass(frozen=True)
class Product:
    """A call that multiplies a table by itself, with as many BLAS threads as the BLAS takes by default."""

    X: Any

    def __call__(self) -> Any:
        return self.X.T @ self.X


GROUPS: dict[Callable[[bool], Iterator[list[Case]]], set[int]] = {
    fit_cases: {1, 2, 3},
    shrunk_cases: {12},
    full_cases: {4},
    diagonal_cases: {5},
    categorical_cases: {6},
    leave_one_out_cases: {7},
    automatic_cases: {8, 9},
    forest_cases: {10},
    explain_cases: {11},
}
