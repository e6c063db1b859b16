"""The choice of RDA settings: its criterion against exact leave-one-out, and choices where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from suffice import RDA, GaussianDiscriminant
from suffice.densities import Full
from suffice.errors import SettingError
from suffice.estimate import Settings, Shrinkage
from suffice.estimate.families import GaussianFamily
from suffice.leave_one_out import gaussian_leave_one_out
from suffice.leave_one_out.rda import Judges, _Problem, undecided

CONSTANT = 0.5 * np.log(2.0 * np.pi)  # per column, which the criterion leaves out


def problem(rows, codes, k, rule, shared):
    family = GaussianFamily(structure=Full, shared=shared)
    stats = family.summarize(rows, codes, k, None)
    ones = np.ones(len(rows))
    return stats, _Problem.of(stats.complete, Judges(rows, codes, ones, ones), list(range(rows.shape[1])), shared, rule)


def coded(blobs):
    return blobs[0], np.unique(blobs[1], return_inverse=True)[1]


@pytest.mark.parametrize("rule", ["mle", "unbiased"])
@pytest.mark.parametrize("amount", [0.0, 1.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0, "shared"])
def test_own_class_is_left_out_exactly(rule, amount, share, blobs):
    """At both ends of the amount nothing is left to first order."""
    rows, codes = coded(blobs)
    shared = share == "shared"
    share = 0.0 if shared else share
    stats, judged = problem(rows, codes, 3, rule, shared)
    told = Settings(rule, Shrinkage(RDA(share, amount or None)), classes=(0, 1, 2), columns=(0, 1, 2, 3))
    family = GaussianFamily(structure=Full, shared=shared)
    exact = gaussian_leave_one_out(rows, stats, codes, None, family, told) + CONSTANT * rows.shape[1]
    for c in range(3):
        found = judged._log_density(c, share, amount)
        which = np.full(len(rows), True) if shared else codes == c
        np.testing.assert_allclose(found[which], exact[which, c], rtol=1e-9)


@pytest.mark.parametrize("amount", [0.05, 0.4])
def test_between_the_ends_it_is_close(amount, blobs):
    rows, codes = coded(blobs)
    stats, judged = problem(rows, codes, 3, "mle", shared=False)
    told = Settings("mle", Shrinkage(RDA(0.2, amount)), classes=(0, 1, 2), columns=(0, 1, 2, 3))
    family = GaussianFamily(structure=Full)
    exact = gaussian_leave_one_out(rows, stats, codes, None, family, told) + CONSTANT * 4
    whole = family.estimate(stats, told)[0].log_density(rows) + CONSTANT * 4
    found = judged._log_density(0, 0.2, amount)[codes == 0]
    missed, moved = found - exact[codes == 0, 0], whole[codes == 0, 0] - exact[codes == 0, 0]
    assert np.abs(missed).max() < 0.02 * np.abs(moved).max()


@pytest.mark.parametrize("size", [25, 40])
def test_other_classes_lose_an_average_row_of_theirs(size, rng):
    """To first order: the mean, over the rows of a class, of the log density without that row."""
    d, codes = 10, np.arange(2).repeat(size)
    rows = rng.normal(size=(2 * size, d)) + codes[:, None]
    _, judged = problem(rows, codes, 2, "mle", shared=False)
    family, told = GaussianFamily(structure=Full), Settings(classes=(0,), columns=tuple(range(d)))
    own, others = rows[codes == 0], rows[codes == 1]
    whole, *each = (
        family.estimate(family.summarize(part, np.zeros(len(part), dtype=int), 1, None), told)[0].log_density(others)
        for part in (own, *(np.delete(own, j, axis=0) for j in range(size)))
    )
    effect = np.mean(each, axis=0)[:, 0] - whole[:, 0]
    found = judged._log_density(0, 0.0, 0.0)[codes == 1] - CONSTANT * d - whole[:, 0]
    assert np.abs(found - effect).mean() < 0.25 * np.abs(effect).mean()


def test_noise_in_many_columns_is_not_mistaken_for_classes(rng):
    """Where classes have about as many rows as columns, plain leave-one-out would find them easy to tell apart."""
    d, size = 20, 26
    X, y = rng.normal(size=(2 * size, d)), np.arange(2).repeat(size)
    fresh, truth = rng.normal(size=(400, d)), np.arange(2).repeat(200)
    losses = {}
    for name, model in {"loo": GaussianDiscriminant(shrinkage="loo"), "qda": GaussianDiscriminant()}.items():
        losses[name] = -model.fit(X, y).predict_log_proba(fresh)[np.arange(400), truth].mean()
    assert losses["loo"] < 0.2 * losses["qda"]
    assert losses["loo"] < 1.5


@pytest.mark.parametrize("alike", [True, False])
def test_is_as_good_as_the_better_of_shared_and_separate(alike, rng):
    factors = rng.normal(size=(2, 4, 4))
    factors[1] = factors[0] if alike else factors[1]
    y = np.arange(2).repeat(700)
    X = np.einsum("nd,nde->ne", rng.normal(size=(1400, 4)), factors[y]) + y[:, None]
    train = np.arange(1400) % 14 == 0
    models = GaussianDiscriminant(shared=True), GaussianDiscriminant(), GaussianDiscriminant(shrinkage="loo")
    linear, quadratic, chosen = (
        -m.fit(X[train], y[train]).predict_log_proba(X[~train])[np.arange(1300), y[~train]].mean() for m in models
    )
    # a hundred rows do not tell sharing a little more from the best, which costs hundredths of what the wrong end does
    assert chosen < min(linear, quadratic) + 0.03 * max(linear, quadratic)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, GaussianDiscriminant(shrinkage="loo").fit(X, y)


def test_the_choice_is_told(iris):
    assert 0.0 < iris[2].shrinkage_.shared <= 1.0
    one = GaussianDiscriminant(shared=True, shrinkage="loo").fit(*iris[:2])
    assert "one covariance for all classes" in str(one.notes_[0])
    for model in (iris[2], one):
        assert "leave-one-out" in str(model.notes_[0])
        told = GaussianDiscriminant(shared=model.shared, shrinkage=model.shrinkage_).fit(*iris[:2])
        np.testing.assert_array_equal(told.predict_proba(iris[0]), model.predict_proba(iris[0]))


def test_rows_without_a_label_and_missing_cells(iris):
    X, y = iris[0].copy(), iris[1].astype(object)
    X[::9, 1] = np.nan
    y[::5] = None
    model = GaussianDiscriminant(shrinkage="loo").fit(X, y)
    assert isinstance(model.shrinkage_, RDA)
    assert (model.predict(iris[0]).astype(int) == iris[1]).mean() > 0.95


def test_refusals(iris):
    X, y, model = iris
    with pytest.raises(SettingError, match="covariance='diagonal' has none"):
        GaussianDiscriminant("diagonal", shrinkage="loo").fit(X, y)
    with pytest.raises(SettingError, match="keep_rows=0"):
        GaussianDiscriminant(shrinkage="loo", keep_rows=0).fit(X, y)
    holes = X.copy()
    holes[np.arange(len(X)), np.arange(len(X)) % 4] = np.nan
    with pytest.raises(SettingError, match="every row misses a cell"):
        GaussianDiscriminant(shrinkage="loo").fit(holes, y)
    with pytest.raises(AttributeError, match="shrinkage_"):
        _ = GaussianDiscriminant().fit(X, y).shrinkage_
    assert not hasattr(GaussianDiscriminant(shrinkage="loo"), "shrinkage_")
    assert model.shrinkage_.target == "diagonal"


@pytest.mark.parametrize("seed", [0, 3])
def test_what_one_row_decides_is_not_decided(seed):
    """Of two classes with one covariance, a row between them costs the shared one dear; fresh rows say it is right.

    Settings that share less look better by the loss of that row alone, by one standard error of it.
    """
    rng, y = np.random.default_rng(seed), np.arange(2).repeat(30)
    X = rng.normal(size=(60, 4)) + 6.0 * y[:, None] * (np.arange(4) == 0)
    X[0] = [5.0, 0.0, 0.0, 0.0]
    chosen = GaussianDiscriminant(shrinkage="loo").fit(X, y)
    assert chosen.shrinkage_.shared == 1.0
    truth = np.arange(2).repeat(2000)
    fresh = rng.normal(size=(4000, 4)) + 6.0 * truth[:, None] * (np.arange(4) == 0)
    shared = GaussianDiscriminant(shared=True).fit(X, y)
    losses = [-m.predict_log_proba(fresh)[np.arange(4000), truth].mean() for m in (chosen, shared)]
    assert losses[0] < losses[1] + 0.01


def test_settings_are_compared_by_paired_errors():
    """One row of ten: a mean difference of 0.3, and an error of √(2.7² + 9 · 0.3²) / 10 = 0.285; ten alike, none."""
    best, one, all_rows = np.zeros(10), np.r_[3.0, np.zeros(9)], np.full(10, 0.3)
    told = undecided(np.stack([best, one, all_rows, best]), np.ones(10), 1.5)
    assert told.tolist() == [True, True, False, True]
    assert undecided(np.stack([best, one]), np.ones(10), 1.0).tolist() == [True, False]
    heavy = undecided(np.stack([best, one]), np.r_[100.0, np.ones(9)], 1.5)  # a row that stands for most of all
    assert heavy.tolist() == [True, False]
