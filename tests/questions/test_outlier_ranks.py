"""Outlier p-values as ranks among rows held out: against refits of each fold, and on fresh rows of known tables."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, kstest

from suffice import (
    GaussianDiscriminant,
    GenerativeClassifier,
    GenerativeForest,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
)
from suffice.drop_in import MultinomialNB
from suffice.errors import DataError
from suffice.questions import outlier_ranks
from suffice.questions.held_out import hold_out

LEVEL = 1e-3


def truth(rng, k, d, apart=1.0):
    """Return a function that draws rows of Gaussian classes, given their numbers."""
    means, factors = apart * rng.normal(size=(k, d)), np.eye(d) + 0.5 * rng.normal(size=(k, d, d)) / np.sqrt(d)
    return lambda codes: means[codes] + np.einsum("nij,nj->ni", factors[codes], rng.normal(size=(len(codes), d)))


# what had p-values far from uniform: shares of p ≤ 0.05 were, in this order, 1, 0.1, 0.93, 0.65, 0.18 and 0.25
CASES = {
    "fewer rows than columns": (GaussianDiscriminant, 1, 20, 30),
    "shrunken": (lambda: GaussianDiscriminant(shrinkage=0.1), 3, 100, 20),
    "prior": (lambda: GaussianDiscriminant(prior=NormalInverseWishart()), 1, 20, 20),
    "prior, two classes": (lambda: GaussianDiscriminant(prior=NormalInverseWishart()), 2, 40, 20),
    "mixture of one class": (lambda: MixtureDiscriminant(2, n_init=1, random_state=0), 1, 60, 4),
    "mixtures": (lambda: MixtureDiscriminant(2, n_init=1, random_state=0), 2, 60, 4),
    "wrong family": (lambda: NaiveBayes("laplace"), 2, 60, 5),
    "automatic": (GenerativeClassifier, 2, 60, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_shares_of_small_pvalues_on_fresh_rows(name, holes):
    make, k, n, d = CASES[name]
    tables, each = (5 if name == "automatic" or "mixture" in name else 12), 8
    found = []
    for repeat in range(tables):
        rng = np.random.default_rng([repeat, n, d, k])
        draw, y = truth(rng, k, d), np.arange(n) % k
        X, new = draw(y), draw(rng.integers(k, size=each))
        for part in (new[:4], new[4:]):  # two patterns of cells
            part[:, rng.random(d) < holes] = np.nan
        found.append(make().fit(X, y).outlier_pvalues(new))
    p = np.concatenate(found)
    assert ((p > 0) & (p <= 1)).all()
    for alpha in (0.01, 0.05, 0.2):  # rows of one table share its error: as if they were half as many
        most = binom.ppf(1 - LEVEL, len(p) // 2, alpha) / (len(p) // 2)
        assert (p <= alpha).mean() <= most, (alpha, (p <= alpha).mean())
    assert 0.3 <= (p <= 0.5).mean() <= 0.7
    assert p.max() > 0.8


@pytest.mark.parametrize("make", [lambda: GaussianDiscriminant(shrinkage=0.1), lambda: NaiveBayes("laplace")])
def test_one_class_is_the_rank_of_each_row_under_refits_without_each_fold(make, rng):
    X, new, y = rng.standard_t(4, size=(43, 3)), 1.5 * rng.standard_t(4, size=(30, 3)), np.zeros(43, dtype=int)
    model = make().fit(X, y)
    sample = model.statistics_.sample
    beyond = np.zeros(30)
    for fold in hold_out(model._fitted).folds:
        held = sample.rows[0][fold.index]
        others = X[~(X[:, None] == held).all(axis=2).any(axis=1)]
        assert len(others) == 43 - len(held)
        refit = make().fit(others, np.zeros(len(others), dtype=int))
        beyond += (refit.score_samples(held)[:, None] <= refit.score_samples(new)).sum(axis=0)
    p = model.outlier_pvalues(new)
    ranked = beyond > 0
    assert ranked.sum() > 0
    np.testing.assert_allclose(p[ranked], (1 + beyond[ranked]) / 44, rtol=1e-9)
    assert (p[~ranked] <= 1 / 44).all()


def test_learned_rows_rank_among_those_of_their_class(rng):
    X, y = rng.standard_t(4, size=(60, 2)) + np.repeat([0, 5], 30)[:, None], np.repeat(["a", "b"], 30)
    model = NaiveBayes().fit(X, y)  # sums of squares of two columns have a law, but not one for their own rows
    p = model.outlier_pvalues(X, y)
    for label in ("a", "b"):
        np.testing.assert_allclose(np.sort(p[y == label]), np.arange(1, 31) / 30)
    X[3, 1], few = np.nan, np.arange(60) < 11
    p = NaiveBayes().fit(X, few).outlier_pvalues(X, few)  # sums of weights round
    assert 0 < p.min() <= p.max() <= 1
    far = np.concatenate([X, [[90.0, 90.0]]])
    own = np.append(y, "a")
    for model in (NaiveBayes(), MixtureDiscriminant(2, n_init=1, random_state=0), GenerativeClassifier()):
        p = model.fit(far, own).outlier_pvalues(far, own)  # the missing cell included
        assert p[-1] == p[own == "a"].min() == pytest.approx(1 / 31)


@pytest.mark.parametrize("make", [NaiveBayes, GenerativeClassifier, partial(GaussianDiscriminant, shrinkage=0.1)])
def test_rows_learned_with_weight_0_are_new(make, rng):
    X, y = np.r_[rng.normal(size=(40, 2)), [[9.0, 9.0], [0.0, 0.0]]], np.arange(42) % 2
    p = make().fit(X, y, np.arange(42) < 40).outlier_pvalues(X, y)
    assert p[40] == pytest.approx(1 / 21)
    assert p[41] > 0.9


def test_far_rows_go_on_below_the_least_rank(rng):
    X = rng.normal(size=(50, 3))
    model = GaussianDiscriminant(shrinkage=0.1).fit(X, np.zeros(50, dtype=int))
    p = model.outlier_pvalues(np.array([[4.0], [8.0], [16.0]]) * np.ones(3))
    assert 1 / 51 >= p[0] > p[1] > p[2] > 0
    assert outlier_ranks._Tail(np.ones(20), np.ones(20)).beyond(np.array([1e300])) == 0.0


def test_a_class_of_one_row_and_a_table_of_one(rng):
    X, y = np.concatenate([rng.normal(size=(30, 2)), [[9.0, 9.0]]]), ["many"] * 30 + ["one"]
    for model in (NaiveBayes(), GaussianDiscriminant(shrinkage=0.1), GenerativeClassifier()):
        p = model.fit(X, y).outlier_pvalues([[0.0, 0.0], [9.0, 9.0], [-50.0, 50.0]])
        assert p[0] > 0.2 > p[2]
    with pytest.raises(DataError, match="a single row"):
        NaiveBayes("laplace").fit([[1.0]], ["a"]).outlier_pvalues([[1.0]])


def test_without_rows_or_a_law_there_is_no_pvalue(rng):
    with pytest.raises(DataError, match="keeps no rows"):
        MultinomialNB().fit([[1, 2], [3, 4]], ["a", "b"]).outlier_pvalues([[1, 2]])
    X = rng.normal(size=(40, 2))
    with pytest.raises(DataError, match="keep_rows=2000"):
        GaussianDiscriminant(shrinkage=0.1, keep_rows=0).fit(X, np.arange(40) % 2).outlier_pvalues(X)


def test_what_was_compared_is_said(rng):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    assert "Hotelling" in GaussianDiscriminant().fit(X, 0 * y).outlier_reference_
    said = GaussianDiscriminant().fit(X, y).outlier_reference_
    assert "40 rows held out" in said
    assert "below 0.024 " in said  # 1 / 41
    assert "within each class (Hotelling" in GaussianDiscriminant(keep_rows=0).fit(X, y).outlier_reference_
    assert "60 rows" in GenerativeClassifier().fit(rng.normal(size=(60, 2)), np.arange(60) % 2).outlier_reference_


def nearly_one(rng, n, complete):
    """Return n rows of columns that are nearly one; all but a share miss either half of their cells."""
    X = rng.normal(size=(n, 1)) + 0.2 * rng.normal(size=(n, 8))
    half = (np.arange(8) < 4) == (rng.random((n, 1)) < 0.5)
    return np.where(half & (rng.random((n, 1)) >= complete), np.nan, X)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "complete"), [(200, 0.4), (60, 0.0)], ids=["with complete rows", "in own cells"])
def test_cells_that_are_drawn_do_not_rank(n, complete):
    """For a model of independent columns rows with drawn cells look likelier than real ones.

    New rows are complete where enough training rows are.
    """
    found = []
    for repeat in range(80):
        rng = np.random.default_rng([repeat, n])
        X, new = nearly_one(rng, n, complete), nearly_one(rng, 3, 1.0 if complete else 0.0)
        found.append(NaiveBayes().fit(X, np.arange(n) % 2).outlier_pvalues(new))
    assert kstest(np.concatenate(found), "uniform").pvalue > LEVEL


def test_a_mixture_has_them_where_a_class_has_no_row_in_a_fold():
    X, y = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) < 3
    p = MixtureDiscriminant(random_state=0, keep_rows=30).fit(X, y).outlier_pvalues(X)
    assert ((p > 0) & (p <= 1)).all()


@pytest.mark.slow
# many complete, none complete, beyond those kept
@pytest.mark.parametrize(("n", "kept", "complete"), [(400, 2000, 0.4), (60, 2000, 0.0), (300, 100, 0.0)])
def test_drawn_cells_do_not_rank_learned_rows(n, kept, complete):
    """P-values of six rows of each table are uniform, and so are those of six complete rows where these are many."""
    found, whole = [], []
    for repeat in range(80):
        rng = np.random.default_rng([repeat, n, kept])
        X, y = nearly_one(rng, n, complete), np.arange(n) % 2
        p = NaiveBayes(keep_rows=kept).fit(X, y).outlier_pvalues(X, y)
        found.append(p[:6])
        whole.append(p[~np.isnan(X).any(axis=1)][:6])
    for p in (found, whole)[: 2 if complete else 1]:
        assert kstest(np.concatenate(p), "uniform").pvalue > LEVEL


@pytest.mark.parametrize("most", [outlier_ranks.MOST_MEASURED, 0], ids=["all measured", "few measured"])
@pytest.mark.parametrize("make", [NaiveBayes, GenerativeForest])
def test_learned_rows_with_holes_have_each_rank_once(rng, monkeypatch, make, most):
    """Also where few rows of each class are measured in all ways; the row that is far out comes last."""
    monkeypatch.setattr(outlier_ranks, "MOST_MEASURED", most)
    X, y = rng.normal(size=(120, 4)), np.arange(120) % 2
    X[rng.random(X.shape) < 0.2] = np.nan
    X[6] = 90.0, 90.0, np.nan, 90.0
    model = make().fit(X, y)
    p = model.outlier_pvalues(X, y)
    for c in (0, 1):
        known = ~np.isnan(X[y == c]).all(axis=1)
        np.testing.assert_allclose(np.sort(p[y == c][known]), np.arange(1, known.sum() + 1) / 60, rtol=1e-9)
    assert p[6] == pytest.approx(1 / 60)
    np.testing.assert_array_equal(model.outlier_pvalues(X[6:20], y[6:20]), p[6:20])


def test_counts_of_words_stay_where_numbers_miss(rng):
    """Of counts of words, which are sparse, no cell can be missing beside numbers that are."""
    texts = np.array(["free prize now", "call me later", "win a prize", "see you later"], dtype=object)
    X = np.column_stack([rng.normal(size=(80, 1)), texts[rng.integers(0, 4, 80)]]).astype(object)
    y = np.arange(80) % 2
    model = NaiveBayes(families={0: "gaussian", 1: "text"}).fit(X, y)
    X[:9, 0] = np.nan
    p = model.outlier_pvalues(X[:9])
    assert ((p > 0.0) & (p <= 1.0)).all()


def test_a_forest_measures_all_ways_to_miss_cells_together(rng, monkeypatch):
    """P-values are those of one way after another."""
    y = rng.integers(0, 2, 120)
    X = np.column_stack([rng.normal(size=(120, 6)) + y[:, None], rng.integers(0, 3, 120)])
    X[rng.random(X.shape) < 0.3] = np.nan
    model, new = GenerativeForest().fit(X[:80], y[:80]), X[80:]
    assert len(np.unique(np.isnan(new), axis=0)) > outlier_ranks.FEW_WAYS
    together = [model.outlier_pvalues(new), model.outlier_pvalues(new, by_class=True)]
    monkeypatch.setattr(outlier_ranks, "FEW_WAYS", np.inf)
    model.fit(X[:80], y[:80])
    np.testing.assert_allclose(model.outlier_pvalues(new), together[0], rtol=1e-12)
    np.testing.assert_allclose(model.outlier_pvalues(new, by_class=True), together[1], rtol=1e-12)


def test_fewer_held_out_rows_say_as_much(rng):
    """Ranks among a sample of the held-out rows: within Dvoretzky, Kiefer and Wolfowitz's bound of those among all.

    Classes keep their shares, and each has rows, however few there are.
    """
    y = np.repeat(["a", "b", "c"], [700, 290, 10])
    X = rng.normal(size=(1000, 3)) + (y == "b")[:, None]
    model = GaussianDiscriminant(shrinkage=0.1).fit(X, y)
    held = hold_out(model._fitted)
    few = held.thinned(100)
    assert 100 <= len(few.codes) <= 130
    assert sorted(np.concatenate([fold.index for fold in few.folds])) == list(range(len(few.codes)))
    assert few.thinned(1000) is few
    assert held.thinned(len(held.codes)) is held
    shares = [np.bincount(own.codes, own.weight, minlength=3) for own in (held, few)]
    np.testing.assert_allclose(shares[1], shares[0], rtol=1e-12)
    assert np.bincount(few.codes).min() >= 5
    for fold, whole in zip(few.folds, held.folds, strict=True):
        kept = {row.tobytes() for row in np.asarray(whole.rows[0])}
        assert len(fold.index)
        assert all(row.tobytes() in kept for row in np.asarray(fold.rows[0]))
    new = rng.normal(size=(400, 3)) + (rng.random(400) < 0.3)[:, None]
    prior, read = model._fitted.joint.log_prior, model._fitted.rows(new)
    every, some = (outlier_ranks.rank_pvalues(own, read, read, prior) for own in (held, few))
    assert np.abs(every - some).max() <= np.sqrt(np.log(2.0 / LEVEL) / 2.0 / len(few.codes))


@pytest.mark.parametrize("settings", [{}, {"shared": True}, {"covariance": "diagonal"}])
def test_a_row_that_holds_nearly_all_of_a_sum_of_squares_leaves_no_rounding(settings):
    """Of 1e24 a spread of 1 is the rounding: without that row the other rows kept say what is left."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 2)) + 3.0 * y[:, None]
    X[7, 0] = 1e12
    model = GaussianDiscriminant(**settings, keep_rows=60).fit(X, y)
    spike = np.flatnonzero(model.statistics_.sample.rows[0][:, 0] > 1e6)
    assert len(spike) == 1, "the row is not among those kept"
    (fold,) = [own for own in hold_out(model._fitted).folds if spike[0] in own.index]
    variance = np.diagonal(fold.model.density.blocks[0].covariance.dense(), axis1=1, axis2=2)
    assert ((variance > 0.5) & (variance < 2.0)).all()
