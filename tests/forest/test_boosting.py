"""Boosted trees against scikit-learn's, and sums of whole numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from in_numpy import GRADIENTS, HESSIANS, derivatives
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from sklearn.ensemble import HistGradientBoostingClassifier

from suffice.forest.boosting import Boosting, MeanBoosting, TreeSettings, read_trees, written_trees
from suffice.kernels import growing as kernels
from suffice.stats.rows import fingerprints, mixed

FLOATS = 1e-4  # scikit-learn's gradients are of 24 bits: 4e-5 in 12 rounds, over 360 tables


def table(rng, n, d, k, cells=60, missing=0.0):
    """Return cells (n, d), classes and weights: cells tell, and so does a missing one in the first column."""
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    place = (rng.normal(size=(n, d)) + y[:, None] * rng.normal(size=d)) / 8 + 0.5
    X = np.clip(place * cells, 0, cells - 1).astype(np.int16)
    X[rng.random((n, d)) < missing] = -1
    if missing:
        X[(y == 0) & (rng.random(n) < 0.3), 0] = -1
    return X, y, rng.choice([0.5, 1.0, 3.0], n)


def boosted(X, y, w, rounds, inside=None, along=(), **settings):
    inside, keys = np.arange(len(X)) if inside is None else inside, mixed(fingerprints(X.astype(np.float64)))
    along = np.asarray(along, dtype=np.int64)
    found = Boosting(X, y, w, int(y.max()) + 1, inside, along, TreeSettings(**settings), keys)
    found.grow(rounds)
    return found


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("cells", [2, 20, 200])
def test_scores_are_those_of_scikit_learn(rng, cells, k, missing, monkeypatch):
    monkeypatch.setattr(kernels, "TABLES", 0 if k == 3 else 1 << 26)  # sums kept of no leaf, or of all
    X, y, _ = table(rng, 900, 5, k, cells, missing)
    w = rng.uniform(0.5, 3.0, 900)  # no two splits are worth the same
    peer = HistGradientBoostingClassifier(max_iter=12, early_stopping=False)
    told = peer.fit(np.where(X < 0, np.nan, X), y, w).decision_function(np.where(X < 0, np.nan, X))
    found = boosted(X, y, w, 12).grown(12).scores(X)
    if k == 2:
        assert_allclose(found[:, 1] - found[:, 0], told, atol=FLOATS)
    else:
        assert_allclose(found, told, atol=FLOATS)


@pytest.mark.parametrize("rounds", [1, 7])
def test_rows_sent_along_are_scored_as_any_rows(rng, rounds):
    X, y, w = table(rng, 500, 4, 3, missing=0.1)
    inside, along = np.arange(0, 500, 2), np.arange(1, 500, 2)
    found = boosted(X, y, w, rounds, inside, along)
    assert_allclose(found.along, found.grown(rounds).scores(X[along]), atol=1e-12)
    assert_allclose(found.along, boosted(X[inside], y[inside], w[inside], rounds).grown(rounds).scores(X[along]))


def test_fewer_rounds_are_the_first_of_more(rng):
    X, y, w = table(rng, 300, 3, 3)
    assert_array_equal(boosted(X, y, w, 9).grown(4).scores(X), boosted(X, y, w, 4).grown(4).scores(X))


@pytest.mark.parametrize("k", [2, 3])
def test_a_tree_is_a_newton_step_of_its_leaves(rng, k):
    """In every leaf of the first trees, −rate G / H of its rows as their probabilities and weights give them."""
    X, y, w = table(rng, 400, 3, k, missing=0.1)
    found = boosted(X, y, w, 1, rate=0.3).grown(1)
    share = np.bincount(y, weights=w) / w.sum()
    leaves, own = found.trees.packed.leaves_of(X, 0, len(found.trees)).T, found.values.copy()
    begin = np.log(share) - np.log(share).mean()
    for t in range(1 if k == 2 else k):
        c = 1 if k == 2 else t
        values = own - begin if t == 0 else own
        step = values[:, 1] - values[:, 0] if k == 2 else values[:, c]
        for leaf in np.unique(leaves[:, t]):
            rows = leaves[:, t] == leaf
            g, h = (w * (share[c] - (y == c)))[rows].sum(), (w * share[c] * (1 - share[c]))[rows].sum()
            assert_allclose(step[leaf], -0.3 * g / h, rtol=1e-6, atol=1e-9)
            assert rows.sum() >= TreeSettings().rows
        assert len(np.unique(leaves[:, t])) <= TreeSettings().leaves


def test_the_first_split_is_the_best_of_all(rng):
    """Every threshold, missing cells on either side, tried one by one."""
    for _ in range(20):
        X, y, w = table(rng, 90, 3, 2, cells=8, missing=0.2)
        tree = boosted(X, y, w, 1).grown(1).trees
        p = w[y == 1].sum() / w.sum()
        g, h = w * (p - y), w * p * (1 - p)

        def worth(left, g=g, h=h):
            sides = [left, ~left]
            if min(side.sum() for side in sides) < TreeSettings().rows:
                return -np.inf
            return sum(g[side].sum() ** 2 / h[side].sum() for side in sides)

        tried = []
        for x in X.T:
            for threshold in range(-1, 8):
                tried += [worth((x <= threshold) & (x >= 0)), worth(x <= threshold)]
        left = X[:, tree.column[0]] <= tree.threshold[0]
        left &= (X[:, tree.column[0]] >= 0) | ~tree.missing_right[0]
        assert_allclose(worth(left), max(tried), rtol=1e-9)


def test_no_order_of_rows_makes_other_trees(rng):
    X, y, w = table(rng, 600, 4, 3, missing=0.1)
    first = boosted(X, y, w, 6).grown(6).scores(X)
    order = rng.permutation(600)
    assert_array_equal(boosted(X[order], y[order], w[order], 6).grown(6).scores(X), first)
    assert_array_equal(boosted(X, y, w, 6, inside=order).grown(6).scores(X), first)


DRAWN = {"leaves": 8, "rows": 5, "l2": 3.0, "row_share": 0.7, "column_share": 0.6, "drawn": True}


def test_what_is_drawn_goes_by_contents(rng, monkeypatch):
    """No order of rows, no names of classes and no way to sum make other trees; a round has some rows and columns."""
    X, y, w = table(rng, 400, 6, 3, missing=0.1)
    found = boosted(X, y, w, 9, **DRAWN)
    scores, order, other = found.grown(9).scores(X), rng.permutation(400), np.array([2, 0, 1])
    assert_array_equal(boosted(X[order], y[order], w[order], 9, **DRAWN).grown(9).scores(X), scores)
    assert_allclose(boosted(X, other[y], w, 9, **DRAWN).grown(9).scores(X)[:, other], scores, atol=1e-9)
    with monkeypatch.context() as patch:
        patch.setattr(kernels, "TABLES", 0)  # all sums are made column by column
        assert_array_equal(boosted(X, y, w, 9, **DRAWN).grown(9).scores(X), scores)
    covers = np.bincount(found.grown(9).trees.leaf_tree, weights=found.grown(9).cover)
    assert ((covers > 0.6 * 400) & (covers < 0.8 * 400)).all()
    (made,) = found._trees
    trees = np.split(made.column, np.cumsum(made.sizes)[:-1])
    asked = [set(column[column >= 0].tolist()) for column in trees]
    assert max(map(len, asked)) <= 4
    assert len(set.union(*asked)) == 6


@pytest.mark.parametrize("k", [2, 3])
def test_several_settings_score_their_mean(rng, k):
    X, y, w = table(rng, 200, 4, k)
    inside, along, each = np.arange(150), np.arange(150, 200), (DRAWN, {"leaves": 20, "rate": 0.05})
    beside = MeanBoosting([boosted(X, y, w, 0, inside, along, **own) for own in each])
    told = [boosted(X, y, w, 8, inside, along, **own).grown(8).scores(X) for own in each]
    assert_allclose(beside.grow(8)[-1], np.mean(told, axis=0)[along], atol=1e-12)
    assert_allclose(beside.grown(8).scores(X), np.mean(told, axis=0), atol=1e-12)
    written = written_trees(beside.grown(8), (60,) * 4, cover=True)
    assert_allclose(read_trees(written, k, (60,) * 4).scores(X), np.mean(told, axis=0), atol=1e-12)


def test_a_penalty_is_added_to_the_hessian(rng):
    """A tree of one split: leaves are −rate G / (H + λ), in rows of mean weight."""
    X, y, w = table(rng, 200, 1, 2, cells=2)
    found = boosted(X, y, w, 1, leaves=2, l2=7.0).grown(1)
    p, own = np.average(y, weights=w), found.scores(X)
    for cell in (0, 1):
        rows = X[:, 0] == cell
        g, h = (w * (p - y))[rows].sum(), (w * p * (1 - p))[rows].sum() + 7.0 * w.mean()
        assert_allclose(np.diff(own[rows]), np.log(p / (1 - p)) - 0.1 * g / h, rtol=1e-6)


def test_the_unit_of_weights_does_not_matter(rng):
    X, y, w = table(rng, 600, 4, 3)
    assert_array_equal(boosted(X, y, 1024.0 * w, 5).grown(5).scores(X), boosted(X, y, w, 5).grown(5).scores(X))


def test_it_learns_and_noise_is_not_split(rng):
    X, y, w = table(rng, 2000, 4, 3)
    losses = []
    for rounds in (1, 20):
        scores = boosted(X, y, w, rounds, np.arange(1000), np.arange(1000, 2000)).along
        losses.append(-log_softmax(scores, axis=1)[np.arange(1000), y[1000:]].mean())
    assert losses[1] < 0.7 * losses[0]
    same = np.zeros((100, 2), dtype=np.int16)
    assert_array_equal(boosted(same, np.arange(100) % 2, np.ones(100), 3).grown(3).scores(same), 0.0)


def test_few_rows_and_classes_that_are_not_there(rng):
    X, y, w = table(rng, 30, 2, 3)
    few = boosted(X, y, w, 2, inside=np.arange(10))  # no leaf could have its rows
    share = np.log(np.maximum(np.bincount(y[:10], weights=w[:10], minlength=3) / w[:10].sum(), 1e-6))
    assert_allclose(log_softmax(few.grown(2).scores(X), axis=1)[0], share, atol=0.5)
    absent = boosted(X, np.where(y == 2, 0, y), w, 2)
    assert np.isfinite(absent.grown(2).scores(X)).all()


# ── loops ───────────────────────────────────────────────────────────────────────────────────────────────────


EVERY = kernels.Drawn(None, np.arange(2, dtype=np.int32)[None], np.zeros(1, dtype=np.int64))  # a round of all


def test_sums_are_exact(rng):
    """Of gradients near the most that may be added up, as whole numbers of Python add them."""
    X = table(rng, 1000, 3, 2)[0]
    starts = np.concatenate([[0], np.cumsum(X.max(axis=0).astype(np.int64) + 2)])
    codes, heavy, scores = rng.integers(0, 2, 1000), np.full(1000, 1e-3), rng.normal(size=(1, 1000))
    gradient, hessian = derivatives(codes, heavy, scores)[0]
    grower, before = kernels.Grower(X.T, starts, codes, heavy, most=31, rows=20, hessian=1), scores.copy()
    tree = grower.grow(scores, 1.0, EVERY)[0]
    added = np.round(scores - before, 12)[0]
    assert len(np.unique(added)) > 20
    for value in tree.value[tree.column < 0]:
        rows = added == np.round(value, 12)
        g, h = sum(map(int, gradient[rows])), sum(map(int, hessian[rows]))
        assert value == -(g / GRADIENTS) / (h / HESSIANS)


def test_what_loops_cannot_read_is_refused():
    X, starts = np.zeros((2, 30), dtype=np.int16), np.array([0, 2, 4])
    good = {"most": 31, "rows": 20, "hessian": 1}

    def grower(cells=X, starts=starts, count=30, weights=30, **other):
        return kernels.Grower(cells, starts, np.zeros(count, np.int64), np.full(weights, 0.1), **good | other)

    for bad in ({"most": 0}, {"rows": 0}, {"hessian": 0}, {"l2": -1}, {"count": 0}, {"count": 31}, {"weights": 29}):
        with pytest.raises(ValueError, match="leaves of"):
            grower(**bad)
    with pytest.raises(ValueError, match="columns"):
        grower(starts=starts[:2])
    for cell in (-2, 1):
        with pytest.raises(ValueError, match="cells beyond"):
            grower(np.full_like(X, cell))
    for scores in (np.zeros((1, 29)), np.zeros((30, 2)).T, np.zeros((1, 30), np.float32)):
        with pytest.raises(ValueError, match=r"scores|no contiguous float64"):
            grower().grow(scores, 0.1, EVERY)
    for columns in (np.zeros((1, 0)), [[2]], [[-1]], [[0], [1]]):
        with pytest.raises(ValueError, match="columns"):
            grower().grow(np.zeros((1, 30)), 0.1, EVERY._replace(columns=np.array(columns, np.int32)))
    for some in (np.zeros((1, 30), np.bool_), np.ones((1, 29), np.bool_)):
        with pytest.raises(ValueError, match="0 rows"):
            grower().grow(np.zeros((1, 30)), 0.1, EVERY._replace(rows=some))


# ── in a file ────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(30, 400),
    d=st.integers(1, 5),
    k=st.integers(2, 5),
    cells=st.sampled_from([1, 2, 7, 150, 700]),
    missing=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_trees_are_read_as_they_were_written(seed, n, d, k, cells, missing):
    """In ten bytes or so for each node; a split of missing cells from all others keeps its threshold beyond these."""
    X, y, w = table(np.random.default_rng(seed), n, d, k, cells, missing)
    found, sizes = boosted(X, y, w, 5).grown(5), (cells,) * d
    fields = written_trees(found, sizes, cover=True)
    again = read_trees(fields, k, sizes)
    for name in ("column", "threshold", "left", "right", "missing_right", "roots"):
        assert_array_equal(getattr(again.trees, name), getattr(found.trees, name))
    for name in ("values", "cover", "base"):
        assert_array_equal(getattr(again, name), getattr(found, name))
    if len(fields["away"]):
        with pytest.raises(ValueError, match="trees"):
            read_trees(fields | {"away": np.zeros_like(fields["away"])}, k, sizes)


def test_other_trees_are_not_written(rng):
    X, y, w = table(rng, 300, 3, 3)
    found = boosted(X, y, w, 2).grown(2)
    with pytest.raises(ValueError, match="not boosted"):
        written_trees(replace(found, values=found.values + 1.0), (60,) * 3, cover=False)
