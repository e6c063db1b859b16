"""The joint model of the automatic classifier where cells are missing: every class keeps its own correlations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suffice import GenerativeClassifier
from suffice.automatic import joint_choice
from suffice.automatic.members.forest import LeafWeights
from suffice.automatic.pooled import PooledFitted
from suffice.forest import FrozenForest
from suffice.leave_one_out.wishart import SPHERES, STRENGTHS, LeftOut, WishartClasses
from suffice.stats import FullScatter, GaussianStats

CORRELATION = 0.9


def opposite(rng, n):
    """Return complete rows of two classes whose columns 0 and 1, 2 and 3 have correlations of ± CORRELATION."""
    y = rng.integers(2, size=n)
    sign, X = np.where(y == 1, CORRELATION, -CORRELATION), rng.normal(size=(n, 4))
    for j in (0, 2):
        X[:, j + 1] = sign * X[:, j] + np.sqrt(1.0 - CORRELATION**2) * X[:, j + 1]
    return X, y


def test_classes_with_opposite_correlations_are_completed_apart(rng):
    """Against the truth: its correlations, and cells imputed by its conditional means.

    The error of estimating from 300 rows adds a few thousandths to that of the truth; one step of EM under one
    covariance for all classes finds correlations of ± 0.5 and adds a tenth.
    """
    (X, y), missing = opposite(rng, 300), 0.3
    model = GenerativeClassifier().fit(np.where(rng.random(X.shape) < missing, np.nan, X), y)
    for c, sigma in enumerate(model.joint_.density.blocks[0].covariance.dense()):
        scale = np.sqrt(np.diag(sigma))
        assert_allclose((sigma / scale / scale[:, None])[[0, 2], [1, 3]], [CORRELATION, -CORRELATION][1 - c], atol=0.05)
    new, label = opposite(rng, 2000)
    holes = rng.random(new.shape) < missing
    filled = model.impute(np.where(holes, np.nan, new), label)
    other = new[:, [1, 0, 3, 2]] * np.where(label == 1, CORRELATION, -CORRELATION)[:, None]
    truth = np.where(holes[:, [1, 0, 3, 2]], 0.0, other)
    ours, best = (np.sqrt(((guess - new)[holes] ** 2).mean()) for guess in (filled, truth))
    assert ours < 1.03 * best


def test_cells_left_out_score_as_after_a_refit(rng):
    """Exact up to rounding, for every setting: statistics without the row, and its cells' marginal density."""
    X, y = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4)), rng.integers(3, size=40)
    member = WishartClasses(GaussianStats.summarize(X, y, 3))
    seen = np.sort(np.argsort(rng.random((40, 4)), axis=1)[:, :2], axis=1)
    cells = np.take_along_axis(X, seen, axis=1)
    found = list(member.own_left_out(LeftOut(cells, y, np.ones(40), np.ones(40)), seen))
    assert {(sphere, strength) for sphere, strength, _ in found} == {(g, a) for g in SPHERES for a in STRENGTHS}
    for i in (0, 7, 23):
        others = np.arange(40) != i
        rest = WishartClasses(GaussianStats.summarize(X[others], y[others], 3), member.tau)
        row = np.full((1, 4), np.nan)
        row[0, seen[i]] = cells[i]
        refits = [rest.density(strength, sphere).log_density(row)[0, y[i]] for sphere, strength, _ in found]
        assert_allclose([scores[i] for *_, scores in found], refits, rtol=1e-9)


def test_rows_left_out_of_their_own_class_alone_score_as_under_all(rng):
    """For every setting, also where rows weigh differently and a class has none of the rows."""
    X, y = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)), rng.integers(3, size=60)
    weight = rng.choice([1.0, 2.0, 3.5], 60)
    member = WishartClasses(GaussianStats.summarize(X, y, 3, weight, FullScatter))
    some = np.flatnonzero(y > 0)
    left = LeftOut(X[some], y[some], weight[some], weight[some])
    under_all = member.path(left, balanced=False, rough=True)
    for found, expected in zip(member.own_path(left), under_all, strict=True):
        assert found[:2] == expected[:2]
        assert_allclose(found[2], expected[2][np.arange(len(some)), y[some]], rtol=1e-12)


@pytest.mark.parametrize("clear", [0.0, 5.0, np.inf])
def test_not_all_folds_are_asked_where_a_joint_model_is_far_ahead(rng, monkeypatch, clear):
    """The model chosen is the one that all folds choose; where the first rows are clear, no more are asked."""
    asked, judged = [], []
    forest_of, is_clear = joint_choice._forest_of, joint_choice._is_clear
    monkeypatch.setattr(joint_choice, "_forest_of", lambda *given: asked.append(0) or forest_of(*given))
    monkeypatch.setattr(joint_choice, "_is_clear", lambda *given: judged.append(len(given[0])) or is_clear(*given))
    monkeypatch.setattr(joint_choice, "AT_A_TIME", 30)
    monkeypatch.setattr(joint_choice, "CLEAR", clear)
    y = rng.integers(2, size=400)
    ring = np.column_stack([np.cos(t := rng.uniform(0, 2 * np.pi, 400)), np.sin(t)]) * (1.0 + y[:, None])
    for X, forest in (
        (rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4)) + y[:, None], False),
        (ring + 0.02 * rng.normal(size=(400, 2)), True),
    ):
        asked.clear()
        judged.clear()
        model = GenerativeClassifier(members="generative").fit(X, y)
        assert any("a forest of" in note.what for note in model.notes_) == forest
        assert (len(asked) < joint_choice.FOLDS_OF_FEW) == (clear < np.inf)
        assert (judged[-1] == 400) == (clear == np.inf)
        assert len(judged) == 1 or clear > 0.0
        assert max(np.diff([0, *judged])) <= 30


def test_folds_of_joint_gaussians_are_made_of_their_rows_alone(rng, monkeypatch):
    """Outlier p-values need no trees and no members of the folds, and are those of models that have them."""
    y = rng.integers(3, size=300)
    X = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5)) + y[:, None]
    X[::7, 2] = np.nan
    models = [GenerativeClassifier().fit(X, y) for _ in range(2)]
    assert any("Gaussians and categories" in str(note) for note in models[0].notes_)
    monkeypatch.setattr(PooledFitted, "_joint_statistics", property(lambda self: self.frozen_statistics))
    expected = models[1].outlier_pvalues(X[:40])
    monkeypatch.undo()
    _ = models[0].joint_
    monkeypatch.setattr(FrozenForest, "freeze", lambda *_, **__: pytest.fail("grew trees"))
    monkeypatch.setattr(LeafWeights, "summarize", lambda *_, **__: pytest.fail("made statistics of members"))
    assert_allclose(models[0].outlier_pvalues(X[:40]), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", [1, 5, 9, 17])
def test_a_class_of_little_weight_is_drawn_by_what_all_classes_share(seed: int) -> None:
    """A prior worth some rows is not cut to the few thousandths of a row that the class weighs."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 2)) + y[:, None]
    X[rng.random(X.shape) < 0.4] = np.nan
    model = GenerativeClassifier(members="generative").fit(X, y, np.where(y == 0, 1e-3, 1.0) * rng.random(60))
    drawn = model.impute(np.full((20, 2), np.nan), np.zeros(20), draws=20, random_state=seed)
    assert np.abs(drawn).max() < 100.0  # the half row that it counts as has a standard error of 1.4 deviations


@pytest.mark.parametrize(("n", "d", "digits"), [(1500, 5, 9), (400, 2, 0)])
def test_neither_names_nor_units_choose_the_joint_density(n: int, d: int, digits: int) -> None:
    """Of more rows than judge it, and of rows that are equal to rows of other classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    X = rng.standard_t(4, size=(n, 5)) + y[:, None] * [1.0, 0.0, 0.5, 0.0, 0.0]
    X = np.where(rng.random((n, d)) < 0.15, np.nan, X[:, :d].round(digits))
    unit = np.array([4.0, 0.125, 1024.0, 1.0, 0.5])[:d]
    log_unit = (~np.isnan(X)) @ np.log(unit)
    model = GenerativeClassifier(members="generative")
    expected = model.fit(X, np.array(["a", "b", "c"])[y]).score_samples(X)
    renamed = model.fit(X[:, ::-1], np.array(["z", "b", "a"])[y]).score_samples(X[:, ::-1])
    assert_allclose(renamed, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(model.fit(X * unit, y).score_samples(X * unit) + log_unit, expected, rtol=1e-9, atol=1e-9)
