"""What is measured against what: pairs of calls on the same data, and the ratio each may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from suffice import GaussianDiscriminant, NaiveBayes


@dataclass(frozen=True)
class Case:
    """`ours` against `peer`: the time of ours must be at most `limit` times the peer's, or 1/`limit` for a speed-up."""

    row: int
    what: str
    peer_name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    most: float | None = None  # ours / peer at most
    least: float | None = None  # peer / ours at least
    slow_peer: bool = False  # one repeat is enough


def gaussian_table(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in no order of classes, with correlated columns and class means about two standard deviations apart."""
    rng = np.random.default_rng(n + d + k)
    y = rng.integers(0, k, n)
    X = rng.standard_normal((n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    X += rng.standard_normal((k, d))[y]
    return X, y


def counted_table(n: int, columns: int, k: int, levels: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Integer codes whose distribution depends on the class."""
    rng = np.random.default_rng(n + columns)
    y = rng.integers(0, k, n)
    X = (rng.integers(0, levels, (n, columns)) + (rng.random((n, columns)) < 0.3) * y[:, None]) % levels
    return X, y


def fit_cases() -> Iterator[list[Case]]:
    """Rows 1 to 3: fitting, against one product of the table with itself and against scikit-learn."""
    sizes = [
        (200_000, 200, 10, 2.0, (True, False)),
        (50_000, 784, 10, 2.0, (True, False)),
        (100_000, 512, 100, 2.5, (True,)),
        (200_000, 50, 10, 3.0, (True, False)),
        (500_000, 10, 5, 8.0, (True, False)),
    ]
    for n, d, k, most, shapes in sizes:
        X, y = gaussian_table(n, d, k)
        name = f"n={n:,} d={d} k={k}"
        cases = []
        for shared in shapes:
            model = GaussianDiscriminant(shared=shared)
            kind = "shared" if shared else "full"
            row = 1 if d >= 200 else 2

            def fit(model: GaussianDiscriminant = model, X: np.ndarray = X, y: np.ndarray = y) -> Any:
                return model.fit(X, y)

            cases.append(Case(row, f"fit {kind}, {name}", "X.T @ X", fit, lambda X=X: X.T @ X, most=most))
            peer = LinearDiscriminantAnalysis("svd") if shared else QuadraticDiscriminantAnalysis()
            cases.append(
                Case(
                    3,
                    f"fit {kind}, {name}",
                    "scikit-learn LDA(svd)" if shared else "scikit-learn QDA",
                    fit,
                    lambda peer=peer, X=X, y=y: peer.fit(X, y),
                    least=10.0,
                    slow_peer=True,
                )
            )
        yield cases


def predict_cases() -> Iterator[list[Case]]:
    """Rows 4 and 5: posteriors of full and of diagonal models."""
    X, y = gaussian_table(200_000, 200, 10)
    full = GaussianDiscriminant().fit(X, y)
    factors = np.random.default_rng(0).standard_normal((10, 200, 200))

    def needed() -> None:
        for factor in factors:
            X @ factor

    qda = QuadraticDiscriminantAnalysis().fit(X, y)
    what = "predict_proba full, n=200,000 d=200 k=10"
    yield [
        Case(4, what, "the ten products it needs", lambda: full.predict_proba(X), needed, most=1.5),
        Case(
            4,
            what,
            "scikit-learn QDA",
            lambda: full.predict_proba(X),
            lambda: qda.predict_proba(X),
            least=5.0,
            slow_peer=True,
        ),
    ]
    Z, labels = gaussian_table(100_000, 512, 100)
    diagonal = GaussianDiscriminant("diagonal").fit(Z, labels)
    peer = GaussianNB().fit(Z, labels)
    yield [
        Case(
            5,
            "predict_proba diagonal, n=100,000 d=512 k=100",
            "scikit-learn GaussianNB",
            lambda: diagonal.predict_proba(Z),
            lambda: peer.predict_proba(Z),
            least=15.0,
            slow_peer=True,
        )
    ]


def categorical_cases() -> Iterator[list[Case]]:
    """Row 6: categories."""
    X, y = counted_table(1_000_000, 20, 5)
    model, peer = NaiveBayes("categorical"), CategoricalNB()
    model.fit(X, y)
    peer.fit(X, y)
    size = "n=1,000,000 columns=20 k=5"
    name = "scikit-learn CategoricalNB"
    yield [
        Case(6, f"fit categorical, {size}", name, lambda: model.fit(X, y), lambda: peer.fit(X, y), least=8.0),
        Case(
            6,
            f"predict_proba categorical, {size}",
            name,
            lambda: model.predict_proba(X),
            lambda: peer.predict_proba(X),
            least=8.0,
        ),
    ]


GROUPS: tuple[Callable[[], Iterator[list[Case]]], ...] = (fit_cases, predict_cases, categorical_cases)
