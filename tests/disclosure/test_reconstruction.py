"""The attacks that read rows off a model file find none in a released one, and do in the one it was made from."""

from __future__ import annotations

import attacks
import numpy as np
import pandas as pd
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.drop_in import GaussianNB, LinearDiscriminantAnalysis

LEAST = 5
NUMBERS = [f"x{j}" for j in range(6)]


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Rows with all that gives rows away: single patterns of missing cells, a flag that one row has, a name each."""
    rng = np.random.default_rng(7)
    y = np.array(["big"] * 150 + ["mid"] * 70 + ["tiny"] * 20)
    code = np.repeat([0, 1, 2], [150, 70, 20])
    X = pd.DataFrame(rng.normal(size=(len(y), 6)) + 0.8 * code[:, None], columns=NUMBERS)
    X = X.mask(rng.random(X.shape) < 0.2)
    X.loc[code == 2, "x5"] = np.nan
    X.loc[221, "x5"] = 0.123456789  # the only row of its class in which the cell is known
    X["flag"] = (rng.random(len(y)) < 0.4) & (code == 0)
    X.loc[160, "flag"] = True  # one of 70
    X["visits"] = rng.poisson(3.0, len(y)).astype(float)
    X["name"] = [f"patient-{i:04d}" for i in range(len(y))]
    ward = np.array(["north", "south", "west"])[rng.integers(0, 3, len(y))]
    ward[:2] = "cellar"
    X["ward"] = ward
    order = rng.permutation(len(y))
    return X.iloc[order].reset_index(drop=True), y[order]


GAUSSIAN = [*NUMBERS, "flag"]
EVERY = [*GAUSSIAN, "visits", "name", "ward"]
FAMILIES = {
    ("x0", "x1", "x2"): "gaussian",
    "x3": "laplace",
    "x4": "laplace",
    "x5": "gaussian",
    "flag": "bernoulli",
    "visits": "poisson",
    "name": "categorical",
    "ward": "categorical",
}
MODELS = {
    "full": (lambda: GaussianDiscriminant(keep_rows=0), GAUSSIAN),
    "full, rows kept": (lambda: GaussianDiscriminant(), GAUSSIAN),
    "loo": (lambda: GaussianDiscriminant(shrinkage="loo"), GAUSSIAN),
    "shared": (lambda: GaussianDiscriminant(shared=True, keep_rows=0), GAUSSIAN),
    "shared, rows kept": (lambda: GaussianDiscriminant(shared=True), GAUSSIAN),
    "diagonal": (lambda: GaussianDiscriminant("diagonal", keep_rows=0), GAUSSIAN),
    "spherical": (lambda: GaussianDiscriminant("spherical", shared=True, keep_rows=0), GAUSSIAN),
    "naive Bayes": (lambda: NaiveBayes(keep_rows=0), EVERY),
    "laplace": (lambda: NaiveBayes("laplace", keep_rows=0), NUMBERS),
    "all families": (lambda: NaiveBayes(FAMILIES), EVERY),
    "one component": (lambda: MixtureDiscriminant(n_components=1, keep_rows=0), GAUSSIAN),
    "mixture": (lambda: MixtureDiscriminant(n_components=2, random_state=0), NUMBERS[:2]),
    "automatic": (lambda: GenerativeClassifier(), ["x0", "x5", "flag", "name", "ward"]),
    "automatic, beyond the sample": (lambda: GenerativeClassifier(keep_rows=100), ["x0", "x1", "visits", "ward"]),
    "drop-in GaussianNB": (lambda: GaussianNB(), ["x0", "x1"]),
    "drop-in LDA": (lambda: LinearDiscriminantAnalysis(), ["x0", "x1"]),
}


def _loot(model, path):
    model.save(path)
    return attacks.Loot.of(path)


def _found(loot, cells, names) -> dict[str, object]:
    found = {
        "cells": attacks.cells_in_sight(loot, cells),
        "differences": attacks.cells_by_difference(loot, cells),
        "flags": attacks.rows_of_flags(loot, cells),
        "pairs": attacks.rows_of_pairs(loot, cells),
        "counts": attacks.small_counts(loot, LEAST),
        "names": attacks.names_in_sight(loot, names),
    }
    return {what: own for what, own in found.items() if own}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_no_attack_finds_a_row_in_a_released_file(name, table, tmp_path) -> None:
    make, columns = MODELS[name]
    X, y = table[0][columns], table[1]
    if name.startswith("drop-in"):  # which refuses holes and has no small class to tell of: a class of two
        X, y = X.iloc[:60].fillna(0.5), np.array(["a"] * 30 + ["b"] * 28 + ["c"] * 2)
    model = make().fit(X, y)
    cells = X[[own for own in columns if own in NUMBERS]].to_numpy(dtype=float)
    cells = cells[cells != 0.5]
    names = X["name"].tolist() if "name" in columns else []

    before = _found(_loot(model, tmp_path / "model.suffice"), cells, names)
    assert before, "the attacks must be able to find something"
    if name.startswith("drop-in"):
        model.drop_class("c")
    released = model.release(least=LEAST)
    assert _found(_loot(released, tmp_path / "released.suffice"), cells, names) == {}
    assert np.isfinite(released.predict_proba(X)).all()


def test_a_flag_that_one_row_has_gives_that_row_away(tmp_path) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 4)), np.repeat(["a", "b"], 40)
    X[:, 3] = 0.0
    X[5, 3] = 1.0
    X[40:, 3] = rng.random(40) < 0.5
    for shared in (False, True):
        model = GaussianDiscriminant(shared=shared, keep_rows=0).fit(X, y)
        before, after = (_loot(own, tmp_path / "m.suffice") for own in (model, model.release(least=LEAST)))
        if not shared:
            assert attacks.rows_of_flags(before, X[5, :3]) == 3
        else:
            own = before.arrays["block0_own"][0, 3, :3] + before.arrays["block0_mean"][0, :3]
            np.testing.assert_allclose(own, X[5, :3], atol=1e-12)
            assert "block0_own" not in after.arrays
        assert attacks.rows_of_flags(after, X[5, :3]) == 0
        assert not np.allclose(after.arrays["block0_mean"][0, 3], 1 / 40)


def test_a_number_that_one_row_has_beside_a_common_one_is_not_told(tmp_path) -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(90, 3)), np.repeat(["a", "b"], 45)
    X[:45, 2] = 7.0
    X[3, 2] = 31.4159
    model = GaussianDiscriminant().fit(X, y)
    mean, scatter = (_loot(model, tmp_path / "m").arrays[f"block0_{what}"] for what in ("mean", "scatter"))
    value = 7.0 + 45 * (mean[0, 2] - 7.0)  # 45 rows, 44 of them 7
    np.testing.assert_allclose(value, 31.4159, rtol=1e-12)
    np.testing.assert_allclose(mean[0, 0] + scatter[0, 2, 0] / (value - 7.0), X[3, 0], rtol=1e-9)
    released = _loot(model.release(), tmp_path / "r").arrays
    assert abs(7.0 + 45 * (released["block0_mean"][0, 2] - 7.0) - 31.4159) > 1.0
    assert released["block0_scatter"][0, 2, 0] == 0.0


@pytest.mark.parametrize("shift", [0.0, 1.0], ids=["0 and 1", "1 and 2"])
def test_pairs_of_flags_that_one_row_has_are_not_counted(shift) -> None:
    X, y = np.zeros((60, 2)), np.repeat(["a", "b"], 30)
    X[:10, 0] = X[9:20, 1] = 1.0  # one row of a has both
    X[30:45, 0] = X[38:52, 1] = 1.0  # seven rows of b have
    stats = GaussianDiscriminant().fit(X + shift, y).release().statistics_.blocks[0].complete
    ones = stats.mean - shift
    both = stats.scatter.values[:, 0, 1] + stats.weight * ones[:, 0] * ones[:, 1]
    np.testing.assert_allclose(both, [30 * (10 / 30) * (11 / 30), 7.0], rtol=1e-12)  # a: as if independent


@pytest.mark.parametrize("shared", [False, True])
def test_a_scatter_of_no_more_rows_than_columns_is_not_told(shared) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(16, 12)), np.repeat(["a", "b"], 8)
    stats = GaussianDiscriminant(shared=shared).fit(X, y).release().statistics_.blocks[0].complete
    values = np.atleast_3d(stats.scatter.values.reshape(-1, 12, 12))
    for own in values:  # the Gram matrix of eight rows is these rows, but for a rotation
        np.testing.assert_array_equal(own, np.diag(np.diagonal(own)))


def test_classes_without_enough_rows_take_what_others_share_not_what_is_left_of_a_total() -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(127, 4)), np.repeat(["a", "b", "c"], [60, 60, 7])
    model = GaussianDiscriminant().fit(X, y)
    own = model.statistics_.blocks[0].complete.scatter.values
    found = model.release().statistics_.blocks[0].complete.scatter.values
    np.testing.assert_allclose(found[:2], own[:2], rtol=1e-12)
    np.testing.assert_allclose(found[2], 7 * (own[0] + own[1]) / 120, rtol=1e-12)


def test_wide_tables_hold_rows_until_released(tmp_path) -> None:
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(40, 150)), np.repeat(["a", "b"], 20)
    model = GaussianDiscriminant(shared=True, keep_rows=0).fit(X, y)
    assert model.rows_held_.kept == 40
    arrays = _loot(model, tmp_path / "m").arrays
    rows = arrays["block0_scatter"] + arrays["block0_mean"][arrays["block0_owner"]]
    np.testing.assert_allclose(rows, X, atol=1e-12)
    released = model.release()
    assert released.rows_held_.kept == 0
    assert released.statistics_.blocks[0].complete.scatter.values.shape == (150, 150)
