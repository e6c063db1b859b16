"""What has moved: p-values under no change, power, units and order, tables that are hard, and every kind of model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant, NaiveBayes
from suffice.errors import DataError, SchemaError, SettingError

CLASSES = np.array(["a", "b", "c"])
DRAWS = 24  # tables; `levels` allows for as many


def table(
    rng: np.random.Generator, n: int, shares: tuple[float, ...] = (0.5, 0.3, 0.2), holes: float = 0.1
) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with heavy tails and ties, categories with a rare level, and holes."""
    c = rng.choice(3, n, p=shares)
    frame = pd.DataFrame(
        {
            "size": c + rng.normal(size=n),
            "tails": rng.standard_t(2, n) * (1 + c),
            "count": rng.poisson(1 + c).astype(float),
            "kind": np.where(rng.random(n) < 0.02, "rare", rng.choice(["p", "q"], n)),
        }
    )
    frame.loc[rng.random(n) < holes, "tails"] = np.nan
    return frame, CLASSES[c]


def levels(p: list[float], most: float = 3.5) -> None:
    """At most α of p-values are up to α, within 3.5 standard errors."""
    found = np.array([own for own in p if own == own])
    for level in (0.05, 0.2):
        assert (found <= level).mean() <= level + most * np.sqrt(level * (1 - level) / len(found))


@pytest.mark.parametrize(("m", "n", "labels", "sigma"), [(100, 10, True, 0), (300, 200, False, 0), (300, 200, True, 1)])
def test_p_values_hold_their_level_where_nothing_moved(m: int, n: int, labels: bool, sigma: float) -> None:
    rng = np.random.default_rng(1)
    joint, least, within, shares = [], [], [], []
    for _ in range(DRAWS):
        model = NaiveBayes().fit(*table(rng, m), sample_weight=rng.lognormal(sigma=sigma, size=m))
        X, y = table(rng, n)
        found = model.drift(X, y if labels else None, sample_weight=rng.lognormal(sigma=sigma, size=n))
        joint.append(found.joint_p_value)
        least.append(float(found.adjusted_p_value.min()))
        within += found.within_p_value.tolist()
        shares.append(found.class_shares.p_value)
    for own in (joint, least, within, shares):
        levels(own)


def test_statistics_alone_hold_their_level() -> None:
    rng = np.random.default_rng(2)
    joint, within = [], []
    for _ in range(DRAWS):
        one, other = (NaiveBayes(keep_rows=0).fit(*table(rng, 300)) for _ in range(2))
        found = one.drift(other)
        assert "no rows" in found.compared
        joint.append(found.joint_p_value)
        within += found.within_p_value.tolist()
    levels(joint)
    levels(within)
    truths, new = rng.integers(0, 2, (2, 300, 4))  # whose sums tell the squares as well: p were three times too large
    models = (NaiveBayes("bernoulli", keep_rows=kept).fit(truths, np.arange(300) % 2) for kept in (2000, 0))
    # ranks of two values come to Student's t, means to Welch's: of as many rows the same, but for degrees of freedom
    np.testing.assert_allclose(*(model.drift(new).p_value for model in models), rtol=1e-3)


def test_class_shares_are_told_from_the_rest() -> None:
    rng = np.random.default_rng(3)
    within: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(DRAWS):
        model = NaiveBayes().fit(*table(rng, 400))
        X, y = table(rng, 300, (0.2, 0.2, 0.6))
        for labels, own in within.items():
            found = model.drift(X, y if labels else None)
            assert found.class_shares.p_value < 1e-3
            assert found.adjusted_p_value[0] < 1e-4
            assert found.class_shares.labelled is labels
            own += found.within_p_value.tolist()
    for own in within.values():
        levels(own)


MOVES: dict[str, tuple[str, Callable[[pd.Series, np.random.Generator], Any]]] = {
    "mean": ("size", lambda cells, rng: cells + 0.8),
    "scale": ("tails", lambda cells, rng: cells * 2.5),
    "category": ("kind", lambda cells, rng: cells.mask(rng.random(len(cells)) < 0.3, "p")),
    "unseen": ("kind", lambda cells, rng: cells.mask(rng.random(len(cells)) < 0.05, "new")),
    "missing": ("count", lambda cells, rng: cells.mask(rng.random(len(cells)) < 0.1)),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_planted_shift_is_found_where_it_is(name: str) -> None:
    rng = np.random.default_rng(4)
    column, moved = MOVES[name]
    model = NaiveBayes().fit(*table(rng, 800))
    X, y = table(rng, 400)
    X[column] = moved(X[column], rng)
    for found in (model.drift(X), model.drift(X, y)):
        assert found.moved(0.01)[0] == column
        j = found.columns.index(column)
        assert found.within_p_value[j] < 0.01
        assert found.joint_p_value < 0.01
        if name == "missing":
            assert found.missing[j, 0] == 0.0
            assert found.missing[j, 1] == pytest.approx(X[column].isna().mean())


def test_a_shift_within_one_class_is_found_there() -> None:
    rng = np.random.default_rng(5)
    model = NaiveBayes().fit(*table(rng, 800))
    X, y = table(rng, 500)
    X.loc[y == "c", "size"] += 1.2
    found = model.drift(X, y)
    assert found.by_class_p_value is not None
    p = found.by_class_p_value[0]
    assert p[2] < 1e-4
    assert p[:2].min() > 0.001
    assert found.within_p_value[0] < 1e-3


def test_a_correlation_is_found_by_pairs() -> None:
    rng = np.random.default_rng(6)
    z = rng.normal(size=(1500, 5))
    y = (rng.random(1500) < 0.4).astype(int)
    new = rng.normal(size=(500, 5))
    new[:, 3] = 0.6 * new[:, 1] + 0.8 * new[:, 3]
    found = NaiveBayes().fit(z, y).drift(new)
    assert found.pairs_p_value < 1e-6
    assert found.pair == (1, 3)
    assert found.joint_p_value < 1e-5
    assert found.adjusted_p_value.min() > 0.01


def test_effects_are_what_they_are_called() -> None:
    rng = np.random.default_rng(7)
    X, y = table(rng, 500, holes=0.0)
    Z, _ = table(rng, 200, (0.1, 0.1, 0.8), holes=0.0)
    found = NaiveBayes().fit(X, y).drift(Z)
    for j, name in enumerate(["size", "tails", "count"]):
        assert found.effect[j] == pytest.approx((Z[name].mean() - X[name].mean()) / X[name].std(), rel=1e-9)
        assert found.spread[j] == pytest.approx(Z[name].std() / X[name].std(), rel=1e-9)
    share = [own["kind"].value_counts(normalize=True).reindex(["p", "q", "rare"]).fillna(0) for own in (X, Z)]
    assert found.effect[3] == pytest.approx(0.5 * np.abs(share[1] - share[0]).sum())
    assert list(found.kind) == ["sd", "sd", "sd", "total variation"]
    level = found.level[3]
    assert found.before[3] == pytest.approx(share[0][level])
    assert found.after[3] == pytest.approx(share[1][level])


def test_a_sample_of_the_rows_counts_as_a_sample() -> None:
    """Of 3,000 rows 300 are kept: p-values hold their level all the same."""
    rng = np.random.default_rng(16)
    joint, p = [], []
    for _ in range(DRAWS):
        X = np.round(rng.normal(size=(3000, 2)), 1)  # many rows are equal
        y = (rng.random(3000) < 0.05).astype(int)
        found = GaussianDiscriminant(keep_rows=300).fit(X, y).drift(np.round(rng.normal(size=(500, 2)), 1))
        p += found.p_value.tolist()
        joint.append(found.joint_p_value)
    levels(p)
    levels(joint)


def numbers(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + y[:, None], y


@pytest.mark.parametrize(
    "model",
    [
        GaussianDiscriminant(),
        GaussianDiscriminant(shared=True),
        GaussianDiscriminant(covariance="spherical", shrinkage="ledoit-wolf"),
        NaiveBayes(families="laplace"),
        NaiveBayes(families="laplace", keep_rows=0),
        MixtureDiscriminant(n_components=2, n_init=1, random_state=0),
        MixtureDiscriminant(n_components=2, n_init=1, random_state=0, keep_rows=0),
        GenerativeForest(),
        GenerativeClassifier(),
    ],
    ids=str,
)
def test_every_kind_of_model(model: Any) -> None:
    rng = np.random.default_rng(17)
    model.fit(*numbers(rng, 150))
    X, y = numbers(rng, 60)
    moved = X + np.array([0.0, 3.0, 0.0])
    for labels in (None, y):
        assert model.drift(moved, labels).moved() == [1]
        assert model.drift(moved, labels).joint_p_value < 1e-6
        assert model.drift(X, labels).joint_p_value > 1e-3
    X[3, 1] = np.nan
    assert model.drift(X).joint_p_value > 1e-3


@pytest.mark.parametrize("model", [GaussianDiscriminant(), NaiveBayes(), GenerativeClassifier(members="generative")])
def test_released_models(model: Any) -> None:
    rng = np.random.default_rng(18)
    X, y = numbers(rng, 300)
    X[rng.random(X.shape) < 0.05] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released = model.fit(X, y).release()
    Z, z = numbers(rng, 100)
    Z[rng.random(Z.shape) < 0.05] = np.nan
    same_rows = released.drift(Z, z)
    assert same_rows.joint_p_value > 1e-3  # cells that a release filled are not taken for a change
    assert released.drift(Z + np.array([0, 2, 0]), z).moved(1e-3) == [1]
    assert released.drift(Z + np.array([0, 2, 0])).moved(1e-3) == [1]
    assert released.drift(released).joint_p_value > 0.5


def test_hard_tables_answer() -> None:
    rng = np.random.default_rng(19)
    X, y = numbers(rng, 60)
    model = GaussianDiscriminant().fit(X, y)
    one = model.drift(X[:1] + 0.1)
    assert 0 < one.joint_p_value <= 1
    assert np.isfinite(one.p_value).all()
    nothing = model.drift(np.full((4, 3), np.nan))
    assert nothing.joint_p_value < 0.01  # all cells are missing
    assert np.isnan(nothing.effect).all()
    flat = GaussianDiscriminant().fit(np.column_stack([X, np.ones(60)]), y)
    assert flat.drift(np.column_stack([X, np.ones(60)])).p_value[3] == 1.0
    assert flat.drift(np.column_stack([X, np.full(60, 2.0)])).p_value[3] < 1e-6
    single = GaussianDiscriminant().fit(X, np.zeros(60, dtype=int)).drift(X[:20], np.zeros(20, dtype=int))
    assert single.class_shares.p_value == 1.0
    strange = model.drift(X[:20], np.full(20, 7))  # a class the model does not know
    assert strange.class_shares.after.tolist() == [0.0, 0.0, 1.0]
    assert strange.class_shares.p_value < 1e-6
    assert np.isnan(strange.within_p_value).all()
    some = model.drift(X[:20], [0.0, 1.0, *[np.nan] * 18])
    assert some.class_shares.labelled
    holed = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    told = [GaussianDiscriminant().fit(unit * holed[:40], y[:40]).drift(unit * holed[40:]) for unit in (1.0, 1e3)]
    assert told[0].density_p_value == pytest.approx(told[1].density_p_value, rel=1e-9)
    few = GaussianDiscriminant().fit(X[:4], [0, 0, 1, 1]).drift(X[4:10])
    assert np.isnan(few.density_p_value)
    assert 0 < few.joint_p_value <= 1


def test_rows_that_were_learned_are_not_judged_by_a_model_of_themselves() -> None:
    rng = np.random.default_rng(23)
    X, y = table(rng, 300)
    for model in (NaiveBayes().fit(X, y), GaussianDiscriminant().fit(X[["size", "tails"]], y)):
        assert model.drift(model).density_p_value > 0.5
        assert model.drift(X[list(model.feature_names_in_)]).joint_p_value > 0.5


def test_classes_of_a_few_rows_are_not_missed() -> None:
    """Of a class of six rows a fold leaves out one or two: new rows have to meet a model that misses as many."""
    rng = np.random.default_rng(25)
    centers = rng.normal(size=(20, 3)) * 4
    p: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(DRAWS):
        y, z = np.repeat(np.arange(20), 6), rng.integers(0, 20, 150)
        model = GaussianDiscriminant(shared=True).fit(centers[y] + rng.normal(size=(120, 3)), y)
        new = centers[z] + rng.normal(size=(150, 3))
        for labels, own in p.items():
            own.append(model.drift(new, z if labels else None).density_p_value)
    for own in p.values():
        levels(own)


def test_a_rare_hole_in_few_rows_is_no_proof() -> None:
    """One of three new rows misses a cell that one learned row in 150 misses: 2 % of such tables do."""
    rng = np.random.default_rng(24)
    X, y = numbers(rng, 300)
    X[:2, 0] = np.nan
    Z, z = numbers(rng, 3)
    Z[0, 0] = np.nan
    model = GaussianDiscriminant().fit(X, y)
    for found in (model.drift(Z), model.drift(Z, z)):
        assert found.p_value[0] > 0.005
        assert not found.within_p_value[0] < 0.005
        assert found.joint_p_value > 0.005


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(20)
    X, Z = rng.normal(size=(40, 300)), rng.normal(size=(30, 300))
    model = GaussianDiscriminant(shared=True).fit(X, np.arange(40) % 2)
    assert model.drift(Z).joint_p_value > 1e-3
    Z[:, 17] += 2.5
    found = model.drift(Z)
    assert found.moved() == [17]
    assert found.joint_p_value < 0.01


def test_it_refuses_by_name() -> None:
    rng = np.random.default_rng(21)
    X, y = table(rng, 60)
    model = NaiveBayes().fit(X, y)
    with pytest.raises(SchemaError, match="kind"):
        model.drift(X.drop(columns="kind"))
    with pytest.raises(DataError, match="minimum of 1"):
        model.drift(X[:0])
    with pytest.raises(SettingError, match="Next"):
        model.drift(NaiveBayes().fit(X, y), y)
    with pytest.raises(DataError, match="text and numbers"):
        model.drift(X, np.arange(60) % 2)
    with pytest.raises(DataError, match="one kind"):
        model.drift(NaiveBayes().fit(X, np.arange(60) % 2))


def test_it_prints_and_is_plain_values() -> None:
    rng = np.random.default_rng(22)
    model = NaiveBayes().fit(*table(rng, 100))
    X, y = table(rng, 50)
    found = model.drift(X, y)
    text = str(found)
    assert all(name in text for name in X.columns)
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["column"].tolist() == list(X.columns)
    np.testing.assert_array_equal(frame["p_value"], found.p_value)
    plain = found.to_dict()
    assert [own["column"] for own in plain["columns"]] == list(X.columns)
    assert plain["joint_p_value"] == found.joint_p_value
    import json

    json.dumps(plain, allow_nan=False)
