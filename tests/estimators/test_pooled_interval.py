"""Intervals of pooled class probabilities against true probabilities that are known, and the laws that they keep."""

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import isotonic_regression

from suffice import GenerativeClassifier
from suffice.automatic import doubt
from suffice.errors import DataError

LEVEL = 0.9


def ring(rng, n):
    X = rng.normal(size=(n, 3))
    return X, [np.zeros(n), 2.0 - 1.2 * (X[:, :2] ** 2).sum(axis=1) + X[:, 2]]


def mixed(rng, n):
    """The slope of a number is another in each category."""
    x, level = rng.normal(size=(n, 2)), rng.randint(3, size=n)
    table = pd.DataFrame({"a": x[:, 0], "b": np.exp(x[:, 1]), "c": np.array(["u", "v", "w"])[level]})
    return table, [np.zeros(n), np.array([1.5, -1.0, 0.0])[level] * x[:, 0] + x[:, 1]]


def four(rng, n):
    X = rng.standard_t(4, size=(n, 3))
    return X, [np.zeros(n), 2.0 * np.tanh(X[:, 0]), 2.0 * np.tanh(X[:, 1]), np.tanh(X[:, 2]) - 1.0]


def drawn(truth, seed, n, new=150):
    """Return rows to learn with their labels, new rows, and the probabilities of these."""
    rng = np.random.RandomState(seed)
    X, scores = truth(rng, n + new)
    p = np.exp(np.column_stack(scores) - np.logaddexp.reduce(scores)[:, None])
    y = (rng.uniform(size=(n + new, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return X[new:], y[new:], X[:new], p[:new]


def covered(truth, n, seeds):
    """Return the share of true probabilities within the intervals of each draw, and the mean width."""
    share, width = [], []
    for seed in seeds:
        X, y, new, p = drawn(truth, seed, n)
        ends = GenerativeClassifier().fit(X, y).predict_proba_interval(new, LEVEL)
        share.append(((ends[:, :, 0] <= p) & (p <= ends[:, :, 1])).mean())
        width.append((ends[:, :, 1] - ends[:, :, 0]).mean())
    return np.array(share), np.mean(width)


def test_they_hold_the_true_probability_and_narrow():
    wide = []
    for n, draws in ((60, 2), (400, 1)):
        share, width = covered(ring, n, range(draws))
        assert share.mean() > LEVEL - 0.05, n  # rows of a fit go together: draws differ by .03
        wide.append(width)
    assert wide[1] < 0.65 * wide[0]


@pytest.mark.slow
@pytest.mark.parametrize("truth", [mixed, four])
def test_they_do_over_a_grid(truth):
    wide = []
    for n, draws in ((50, 4), (300, 2)):
        share, width = covered(truth, n, range(100, 100 + draws))
        assert share.mean() > LEVEL - 0.02 - 2.0 * 0.06 / draws**0.5, (n, share)  # .06 from draw to draw
        wide.append(width)
    assert wide[0] > 1.3 * wide[1]


@pytest.fixture
def few_folds(monkeypatch):
    """Two models of other rows, for laws that hold of any number."""
    monkeypatch.setattr(doubt, "FOLDS", 2)


@pytest.fixture(scope="module")
def learned():
    X, y, _, _ = drawn(ring, 7, 90)
    return X, y, GenerativeClassifier(members="generative").fit(X, y)


def test_they_stay_the_same(learned, few_folds, read_back):
    X, y, model = learned
    ends = model.predict_proba_interval(X)
    p, last, log_odds = model.predict_proba(X), np.argsort(X[:, 0]), {}
    assert ((ends[:, :, 0] <= p) & (p <= ends[:, :, 1])).all()
    np.testing.assert_allclose(ends[:, 0], 1.0 - ends[:, 1, ::-1], atol=1e-9)
    np.testing.assert_array_equal(ends, read_back(model).predict_proba_interval(X))
    other = GenerativeClassifier(members="generative").fit(X[last][:, ::-1], 1 - y[last])
    np.testing.assert_allclose(other.predict_proba_interval(X[:, ::-1])[:, ::-1], ends, atol=1e-8)
    halves = [GenerativeClassifier(members="generative").partial_fit(X[own], y[own]) for own in (last[:40], last[40:])]
    np.testing.assert_allclose(halves[0].merge(halves[1]).predict_proba_interval(X), ends, atol=1e-8)
    known = ((ends > 0.0) & (ends < 1.0)).all(axis=(1, 2))
    for priors in ("uniform", [0.1, 0.9]):  # as far away on the scale of log-odds
        told = model.predict_proba_interval(X[known], priors=priors)
        log_odds[str(priors)] = np.ptp(np.log(told) - np.log1p(-told), axis=2)
    np.testing.assert_allclose(*log_odds.values(), rtol=1e-6)
    assert (model.predict_proba_interval(X, 0.5)[:, :, 0] >= ends[:, :, 0]).all()


def test_what_holds_no_rows_is_refused(learned):
    with pytest.raises(DataError, match="keeps no rows"):
        learned[2].release(least=5).predict_proba_interval(learned[0])


def test_tables_of_other_kinds(rng, few_folds):
    """Groups, missing cells, texts, a class of one row, and one class alone."""
    X, y, _, _ = drawn(ring, 8, 48)
    X[::5, 1] = np.nan
    texts = pd.DataFrame({"t": [f"{('free', 'call')[own]} prize of word{i % 17}" for i, own in enumerate(y)]})
    told = {"groups": np.arange(48) // 4, "sample_weight": rng.uniform(0.5, 2.0, 48)}
    for table, labels in ((texts, y), (X, np.zeros(48)), (X[:, :2], np.where(np.arange(48) == 3, 2, y))):
        text = ["t"] if table is texts else []
        model = GenerativeClassifier(members="generative", text=text).fit(table, labels, **told)
        p, ends = model.predict_proba(table), model.predict_proba_interval(table)
        assert ((ends[:, :, 0] <= p) & (p <= ends[:, :, 1])).all()
    assert (ends[:, 2, 1] > 0.9).all()  # models without that row know of no such class


def test_venn_abers_pairs_are_isotonic_regressions(rng):
    hit = rng.uniform(size=60) < np.linspace(0.1, 0.7, 60)
    copies = rng.integers(1, 4, size=60)
    pairs = doubt._venn_abers(hit, copies)
    for place in (0, 1, 17, 40, 60):
        for label in (0, 1):
            y, w = np.insert(hit.astype(float), place, label), np.insert(copies, place, 1)
            p = isotonic_regression(y, sample_weight=w)[place]
            step = p * (1.0 - p) * 0.11 + 1e-6  # of the grid, outwards
            assert (-1e-9 if label else -step) <= pairs[place, label] - p <= (step if label else 1e-9)


def test_variance_that_no_member_sees(learned):
    """Residuals without structure have a mean ratio of 0 and the error told; those of a process its variance."""
    sample, rng = learned[2]._fitted.pool.sample, np.random.RandomState(0)
    copies = np.ones(len(sample), dtype=int)
    cells = sample.rows.gaussian("scores")
    apart = ((cells[:, None] - cells[None]) ** 2).sum(axis=2)
    kernel = np.exp(-apart / (2.0 * (doubt.NEAR**2) * 2.0 * cells.var(axis=0).sum()))
    variance, draws = np.full((len(cells), 2000), 0.2), 2000
    noise = rng.normal(size=(len(cells), draws)) * 0.2**0.5
    ratio, error = doubt._unexplained(sample, copies, noise, variance)
    assert abs(ratio.mean()) < 4.0 * ratio.std() / draws**0.5
    assert ratio.std() == pytest.approx(error[0], rel=0.1)
    process = np.linalg.cholesky(kernel + 1e-9 * np.eye(len(cells))) @ rng.normal(size=(len(cells), draws))
    ratio, _ = doubt._unexplained(sample, copies, noise + 0.2 * 1.5 * process, variance)
    assert ratio.mean() == pytest.approx(1.5**2, abs=4.0 * ratio.std() / draws**0.5)
