"""Rows that break a linear rule which all others keep: a scatter gives them away, a released one does not."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.disclosure import MinCount
from suffice.questions.release import anonymize

MAKE = {
    "own": lambda d: GaussianDiscriminant(),
    "shared": lambda d: GaussianDiscriminant(shared=True),
    "block": lambda d: NaiveBayes({tuple(range(d)): "gaussian"}),
    "automatic": lambda d: GenerativeClassifier(),
}


def planted(seed: int):
    """Rows of two classes, a rule of 2 to 6 columns that row 0 alone breaks, exact or rounded; the rule's direction."""
    rng, m, n = np.random.default_rng(seed), 2 + seed % 5, (120, 300, 600)[seed % 3]
    y = np.arange(n) % 2
    X = rng.lognormal(3.0, 0.5, size=(n, m + 2)) * (1.0 + 0.3 * y[:, None])
    X[:, m - 1] = X[:, : m - 1].sum(axis=1)
    X = X if seed % 2 else X.round(1)
    X[0] = rng.lognormal(4.0, 1.0, size=m + 2)
    rule = np.zeros(m + 2)
    rule[: m - 1], rule[m - 1] = 1.0, -1.0
    return X, y, rule


def released(model, least=5):
    """The statistics that `release` passes on, without the models of folds by which it makes sets."""
    return anonymize(model._fitted, MinCount(least, model.statistics_.max_row_weight), None)[0].statistics


def moments(statistics):
    """The mean of class 0 and every scatter it has part in, of the numbers as they are."""
    for block in statistics.blocks:
        stats, used = getattr(block, "complete", block), None
        if hasattr(block, "learned"):
            columns = block.columns
            stats, used = block.learned["gaussian"].versions["raw"].complete, columns.used["raw"]
        if not hasattr(stats, "scatter"):
            continue
        dense = stats.dense()
        mean, scatter = np.asarray(dense.mean)[0], np.asarray(dense.scatter.values)
        scatter = scatter if scatter.ndim == 2 else scatter[0]
        if scatter.shape != (len(mean), len(mean)):
            continue  # variances alone
        if used is not None:
            center, scale = columns.center["raw"][used], columns.scale["raw"][used]
            mean, scatter = mean * scale + center, scatter * scale[:, None] * scale
        yield mean, scatter


def told(mean, scatter, row, rule) -> float:
    """The squared error of the best guess mean ± S v / √(vᵀ S v), in that of the mean, over the rule and all axes.

    With the sign that is right, which an attacker would have to guess; 0 where one row has all of the variance along v.
    """
    size = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
    size = np.where(size > 0, size, 1.0)
    axes = np.linalg.eigh(scatter / size[:, None] / size)[1].T / size
    apart, best = (mean - row) / size, np.inf
    for v in [*([rule] if len(rule) == len(mean) else []), *axes]:
        variance = v @ scatter @ v
        if variance <= 1e-12 * (np.abs(v) @ np.abs(scatter) @ np.abs(v)):
            continue
        step = scatter @ v / np.sqrt(variance) / size
        best = min(best, *(float(((apart + sign * step) ** 2).sum()) for sign in (1.0, -1.0)))
    return best / float((apart**2).sum())


@pytest.mark.parametrize("kind", MAKE)
def test_what_a_release_tells_of_a_row_that_breaks_a_rule_is_no_more_than_chance(kind) -> None:
    """At least a fifth of the squared error stays; of similar rows that are in no table a tenth does, at the least."""
    for seed in range(3) if kind == "automatic" else range(15):
        X, y, rule = planted(seed)
        model = MAKE[kind](X.shape[1]).fit(X, y)
        if kind != "automatic":
            before = min(told(*own, X[0], rule) for own in moments(model.statistics_))
            assert before < 0.05, "it is given away where nothing is released"
        for least in (5, 50):
            for mean, scatter in moments(released(model, least)):
                assert told(mean, scatter, X[0], rule) > 0.2


@pytest.mark.parametrize("share", ["alone", "two"])
def test_what_was_left_out_is_said(share) -> None:
    X, y, _ = planted(4)
    if share == "two":
        X[2] = X[0] * 1.1
    model = GaussianDiscriminant().fit(X, y).release(least=5)
    assert any("combination of columns" in str(note) for note in model.notes_)
    rng = np.random.default_rng(0)
    plain = GaussianDiscriminant().fit(rng.normal(size=(200, 4)), np.arange(200) % 2).release(least=5)
    assert not any("combination of columns" in str(note) for note in plain.notes_)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.2])
def test_missing_cells_hide_no_row_that_breaks_a_rule(share) -> None:
    """EM expects of a row that misses a cell of the rule what the one row shows that breaks it; that is no company."""
    for seed in range(15):
        X, y, rule = planted(seed)
        gone = np.random.default_rng(100 + seed).random(X.shape) < share
        gone[0] = False
        for mean, scatter in moments(released(GaussianDiscriminant().fit(np.where(gone, np.nan, X), y))):
            assert told(mean, scatter, X[0], rule) > 0.2


def test_a_row_that_breaks_a_rule_that_others_nearly_keep_has_at_most_half_of_its_variance() -> None:
    """Of what it has beyond that, S v / √(vᵀ S v) would tell its cells: it counts for less, others as before."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 4)) + y[:, None]
    X[:, 2] = X[:, 0] + X[:, 1] + 0.05 * rng.normal(size=400)
    X[0, 2] += 1.4  # two thirds of the variance along the rule
    rule = np.array([1.0, 1.0, -1.0, 0.0])
    scatter = released(GaussianDiscriminant(shared=True).fit(X, y)).blocks[0].complete.scatter.values
    others = np.delete(X, 0, axis=0) - [X[1:][y[1:] == c].mean(axis=0) for c in np.delete(y, 0)]
    of_others = ((others @ rule) ** 2).sum()
    assert 1.5 * of_others < rule @ scatter @ rule < 2.1 * of_others


def test_rows_of_any_class_stand_for_rows_that_were_left_out() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 3)) * (1.0 + y[:, None])
    X[y == 0, 2] = X[y == 0, 0]
    X[0, 2] += 3.0
    stats = released(GaussianDiscriminant().fit(X, y)).blocks[0].complete
    first, second = X[(y == 0) & (np.arange(200) > 0)], X[y == 1]
    own = np.cov(first.T, bias=True) * 100.0, np.cov(second.T, bias=True) * 100.0
    expected = 0.95 * own[0] + 0.05 * 100.0 * (own[0] + own[1]) / 200.0
    np.testing.assert_allclose(stats.dense().scatter.values[0], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(stats.dense().scatter.values[1], own[1], rtol=1e-9, atol=1e-9)
