"""Rows of which less is known than usual: members of the pool have other weights there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss

from suffice import GenerativeClassifier
from suffice._arrays import log_softmax
from suffice.automatic.pool import mix_with_prior
from suffice.automatic.weighing import FewKnown
from suffice.export.lower import lower


def copies(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes whose columns are nearly copies of one another: each says about as much as all of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    common = (2 * y - 1) + rng.normal(size=n)
    return common[:, None] + 0.3 * rng.normal(size=(n, d)), y


def hiding(X: np.ndarray, left: int, seed: int) -> np.ndarray:
    """Return the rows, of each only so many cells, which chance decides."""
    order = np.random.default_rng(seed).random(X.shape).argsort(axis=1)
    out = X.copy()
    out[order >= left] = np.nan
    return out


def by_own_weights(model: GenerativeClassifier, X: object) -> np.ndarray:
    """Return log posteriors under the weights of the stack, however little is known of a row."""
    fitted = model._fitted
    return replace(fitted.pool, sample=None).log_posterior(fitted._read(fitted.rows(X)))


@pytest.fixture(scope="module")
def model(penguins) -> GenerativeClassifier:
    return GenerativeClassifier().fit(*penguins)


def test_shares_of_the_weights() -> None:
    """The stack's own at 16 of 16 cells and more, others at 4 = √16 and 1, by the log of their number between."""
    few = FewKnown(16, np.zeros((2, 3)))
    assert_allclose(few.shares(np.array([16, 20, 4, 1])), [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], atol=1e-15)
    assert_allclose(few.shares(np.array([8, 2])), [[0.5, 0.5, 0], [0, 0.5, 0.5]], atol=1e-15)
    assert_allclose(few.shares(np.arange(17)).sum(axis=1), 1.0, atol=1e-15)


def test_rows_of_which_as_much_is_known_as_usual_have_the_stacks_weights() -> None:
    X, y = load_wine(return_X_y=True)
    model = GenerativeClassifier().fit(X, y)
    fitted = model._fitted
    reading, pool = fitted._read(fitted.rows(X)), fitted.pool
    parts = [own.member.scores(reading) for own in pool.members] + pool.single_columns(reading)
    bare = log_softmax(pool.stack.scores(parts, np.tile(pool.log_prior, (len(X), 1))))
    assert_allclose(
        model.predict_log_proba(X), mix_with_prior(bare, pool.log_prior, pool.floor), rtol=1e-12, atol=1e-12
    )
    assert pool.usual == X.shape[1]
    mixed = np.vstack([X, hiding(X, 3, 0)])
    assert_allclose(model.predict_proba(mixed)[: len(X)], model.predict_proba(X), rtol=0, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "copies"])
def test_fresh_rows_with_few_cells_lose_less_than_by_the_stacks_weights(name: str) -> None:
    """On rows that had no part in the weights; and less than the class shares, which need no cell at all."""
    X, y = load_wine(return_X_y=True) if name == "wine" else copies(300, 20, 0)
    order = np.random.default_rng(1).permutation(len(y))
    half = len(y) // 2
    own, other = order[:half], order[half:]
    model = GenerativeClassifier().fit(X[own], y[own])
    shares = np.log(np.bincount(y[own]) / half)
    for left in (1, 2, 5, 10):
        new, before = [], []
        for seed in range(3):
            rows = hiding(X[other], left, seed)
            new.append(log_loss(y[other], model.predict_proba(rows)))
            before.append(log_loss(y[other], np.exp(by_own_weights(model, rows))))
        assert np.mean(new) < np.mean(before) + 0.01
        assert np.mean(new) < -shares[y[other]].mean()


def test_an_island_alone_says_about_what_it_says_in_the_table(penguins, model) -> None:
    """Of a penguin from Biscoe nothing but that is known: the share of Gentoos there is .74.

    To .12, as one weight serves all columns, numbers too; under the weights of whole rows it is off by .23.
    """
    rows, species = penguins
    for island in ("Biscoe", "Dream", "Torgersen"):
        row = pd.DataFrame([{name: island if name == "island" else None for name in rows}])
        shares = (species[rows["island"] == island].value_counts() / (rows["island"] == island).sum()).reindex(
            model.classes_, fill_value=0.0
        )
        assert_allclose(model.predict_proba(row)[0], shares, atol=0.12)


def test_a_released_model_keeps_them(penguins, model, read_back) -> None:
    rows, _ = penguins
    few = rows.where(np.random.default_rng(1).random(rows.shape) < 0.3, other=None)
    released = model.release()
    assert released._fitted.pool.few_known is not None
    assert_array_equal(read_back(released).predict_proba(few), released.predict_proba(few))
    assert abs(released.predict_proba(few) - model.predict_proba(few)).mean() < 0.05


@pytest.mark.parametrize("d", [1, 2])
def test_one_and_two_columns(d: int) -> None:
    X, y = load_wine(return_X_y=True)
    model = GenerativeClassifier().fit(X[:, :d], y)
    assert (model._fitted.pool.few_known is None) == (d == 1)
    assert len(lower(model._fitted).stack.weight) == (1 if d == 1 else 3)
    assert np.isfinite(model.predict_log_proba(hiding(X[:, :d], 1, 0))).all()
