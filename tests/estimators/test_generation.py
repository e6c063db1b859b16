"""impute and sample on every estimator and every kind of table, against regressions, hand counts and known laws."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from model_file import File
from scipy import sparse, stats
from sklearn.base import clone

from suffice import (
    GaussianDiscriminant,
    GenerativeClassifier,
    GenerativeForest,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
    load,
)
from suffice.engines import Remark
from suffice.errors import DataError, ModelFileError, SchemaError, SettingError

LEVEL = 1e-3  # of every goodness-of-fit test below; seeds are fixed
NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def least_squares(X, j):
    """Coefficients of column j on an intercept and the others, by numpy."""
    others = np.column_stack([np.ones(len(X)), np.delete(X, j, axis=1)])
    return np.linalg.lstsq(others, X[:, j], rcond=None)[0]


def regress(coefficients, X, j):
    return np.column_stack([np.ones(len(X)), np.delete(X, j, axis=1)]) @ coefficients


# --- impute is regression ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("j", range(4))
def test_one_gaussian_class_is_least_squares(blobs, j) -> None:
    X, _ = blobs
    model = GaussianDiscriminant().fit(X, ["all"] * len(X))
    hole = X.copy()
    hole[:, j] = np.nan
    np.testing.assert_allclose(model.impute(hole)[:, j], regress(least_squares(X, j), X, j), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("j", [0, 2])
def test_several_classes_are_regressions_weighted_by_their_posterior(blobs, j) -> None:
    X, y = blobs
    model = GaussianDiscriminant().fit(X, y)
    hole = X.copy()
    hole[:, j] = np.nan
    each = np.column_stack([regress(least_squares(X[y == c], j), X, j) for c in model.classes_])
    rest = np.delete(X, j, axis=1)
    joint = np.column_stack(
        [
            np.mean(y == c)
            * stats.multivariate_normal(rest[y == c].mean(axis=0), np.cov(rest[y == c].T, bias=True)).pdf(rest)
            for c in model.classes_
        ]
    )
    expected = (each * joint).sum(axis=1) / joint.sum(axis=1)
    np.testing.assert_allclose(model.impute(hole)[:, j], expected, rtol=1e-8, atol=1e-8)
    # with labels: the regression of the class alone; where one is missing, as without labels
    labels = [None if i % 3 == 0 else label for i, label in enumerate(y)]
    own = each[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    expected = np.where(np.arange(len(y)) % 3 == 0, expected, own)
    np.testing.assert_allclose(model.impute(hole, labels)[:, j], expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(model.impute(hole, [None] * len(y)), model.impute(hole))


def test_naive_bayes_category_by_hand() -> None:
    """Counts by class, smoothing 1: p(shape | colour red) ∝ Σ_k π_k p(red | k) p(shape | k)."""
    X = [["red", "round"]] * 3 + [["red", "flat"]] + [["blue", "flat"]] * 4
    y = ["a"] * 3 + ["b"] * 5
    model = NaiveBayes().fit(X, y)
    # class a (3 of 8): red 4/5, round 4/5; class b (5 of 8): red 2/7, round 1/7
    a, b = 3 / 8 * 4 / 5, 5 / 8 * 2 / 7
    assert a * 4 / 5 + b * 1 / 7 > a * 1 / 5 + b * 6 / 7
    assert model.impute([["red", None], [None, None]]).tolist() == [["red", "round"], ["blue", "flat"]]
    assert model.impute([["red", None]], ["b"]).tolist() == [["red", "flat"]]
    drawn = np.array([table[0, 1] for table in model.impute([["red", None]], draws=600, random_state=0)])
    share = (a * 4 / 5 + b * 1 / 7) / (a + b)
    assert stats.binomtest(int((drawn == "round").sum()), 600, share).pvalue > LEVEL


def test_an_unseen_category_counts_as_at_prediction_and_is_left_alone(penguins) -> None:
    X, y = penguins
    model = NaiveBayes().fit(X, y)
    row = X.iloc[[200]].copy()
    row["island"], row["sex"] = "Anvers", None
    assert model.impute(row)["island"].tolist() == ["Anvers"]
    row["body_mass_g"] = np.nan
    by_class = pd.concat([model.impute(row, [c], as_recorded=False) for c in model.classes_])["body_mass_g"]
    weight = model.predict_proba(row)[0]
    found = model.impute(row, as_recorded=False)["body_mass_g"]
    np.testing.assert_allclose(found, weight @ by_class, rtol=1e-12)


def test_draws_of_one_row_belong_together(rng) -> None:
    """Two columns that are equal within classes far apart stay equal in each draw."""
    x = np.concatenate([rng.normal(size=50), rng.normal(size=50) + 100])
    model = GaussianDiscriminant().fit(np.column_stack([x, x + rng.normal(size=100) * 1e-3]), np.repeat([0, 1], 50))
    tables = model.impute([[np.nan, np.nan]], draws=50, random_state=0)
    pairs = np.concatenate(tables)
    assert np.abs(pairs[:, 0] - pairs[:, 1]).max() < 0.01
    assert 10 < (pairs[:, 0] > 50).sum() < 40


# --- laws -------------------------------------------------------------------------------------------------------------


def test_more_columns_than_rows(rng) -> None:
    X = rng.normal(size=(30, 200)) + np.repeat([0, 1], 15)[:, None]
    model = GaussianDiscriminant(shared=True, shrinkage=0.2).fit(X, np.repeat([0, 1], 15))
    holes = X.copy()
    holes[3, 5:9] = np.nan
    sigma, o = model.covariances_, np.delete(np.arange(200), range(5, 9))
    slopes = np.linalg.solve(sigma[np.ix_(o, o)], sigma[np.ix_(o, range(5, 9))])
    expected = model.means_[0, 5:9] + (X[3, o] - model.means_[0, o]) @ slopes
    np.testing.assert_allclose(model.impute(holes, [0] * 15 + [1] * 15)[3, 5:9], expected, rtol=1e-9, atol=1e-9)
    assert model.sample(5, random_state=0)[0].shape == (5, 200)


def test_many_rows_are_answered_in_parts(monkeypatch, blobs, rng) -> None:
    X, y = blobs
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    model = GaussianDiscriminant().fit(X, y)
    whole = model.impute(holes)
    monkeypatch.setattr("suffice.questions.impute.IN_MEMORY", 1)
    np.testing.assert_allclose(model.impute(holes), whole, rtol=1e-12)
    monkeypatch.setattr("suffice.questions.given.IN_MEMORY", 1)
    assert model.sample(200, random_state=0)[0].shape == (200, 4)


# --- sample -----------------------------------------------------------------------------------------------------------


def test_given_cells_are_held_and_the_rest_follows_them(blobs) -> None:
    """Against rejection: unconditional draws whose column 0 is close to the given value."""
    X, y = blobs
    model = GaussianDiscriminant().fit(X, y)
    rows, labels = model.sample(4000, given={0: 0.5}, random_state=0)
    assert (rows[:, 0] == 0.5).all()
    posterior = model.predict_proba([[0.5, np.nan, np.nan, np.nan]])[0]
    seen = [(labels == c).sum() for c in model.classes_]
    assert stats.chisquare(seen, 4000 * posterior).pvalue > LEVEL
    free = model.sample(100_000, random_state=1)[0]
    near = np.abs(free[:, 0] - 0.5) < 0.02
    for j in (1, 2, 3):
        assert stats.ks_2samp(rows[:, j], free[near, j]).pvalue > LEVEL
    one, own = model.sample(3000, label="birch", given={0: 0.5, 3: 1.0}, random_state=0)
    assert set(own) == {"birch"}
    assert (one[:, [0, 3]] == [0.5, 1.0]).all()
    center = model.impute([[0.5, np.nan, np.nan, 1.0]], ["birch"])[0]
    assert np.abs(one.mean(axis=0) - center).max() < 5 * one.std(axis=0).max() / np.sqrt(3000)


HEAVY = {"body_mass_g": (4000, 4500)}
LONG = HEAVY | {"flipper_length_mm": (195, None)}
LIGHT = {"island": {"Dream", "Biscoe"}, "body_mass_g": (None, 3600)}


@pytest.mark.parametrize(
    ("model", "given", "tried", "as_recorded"),
    [
        (GaussianDiscriminant(), HEAVY, False, True),
        (GaussianDiscriminant(), LONG, True, False),
        (GaussianDiscriminant("diagonal", prior=NormalInverseWishart()), LONG, False, True),
        (GaussianDiscriminant(prior=NormalInverseWishart()), LONG, True, True),
        (MixtureDiscriminant(2, n_init=1, random_state=0), HEAVY, False, False),
        (NaiveBayes(), LIGHT, False, True),
        (NaiveBayes({"body_mass_g": "laplace"}), LIGHT, True, False),
        (GenerativeForest(), LIGHT | LONG, False, True),
        (GenerativeClassifier(), LIGHT, False, False),
    ],
)
def test_rows_within_ranges_are_the_others_left_out(penguins, model, given, tried, as_recorded) -> None:
    """Against unconditional draws that happen to lie there. Only ranges without a closed form are tried."""
    X, y = penguins
    X = X if "island" in given or isinstance(model, GenerativeForest) else X[NUMBERS]
    model.fit(X, y)
    with pytest.warns(Remark, match=r"Of .* rows drawn") if tried else contextlib.nullcontext():
        rows, labels = model.sample(800, given=given, random_state=2, as_recorded=as_recorded)
    free, own = model.sample(10_000, random_state=1, as_recorded=as_recorded)
    for table in (rows, free):
        table["there"] = True
        for name, (low, high) in ((n, v) for n, v in given.items() if isinstance(v, tuple)):
            table["there"] &= (table[name] >= (low or -np.inf)) & (table[name] <= (high or np.inf))
        table["there"] &= table["island"].isin(given["island"]) if "island" in given else True
    assert rows["there"].all()
    free, own = free[free["there"]], own[free["there"]]
    for name in NUMBERS:
        assert stats.ks_2samp(rows[name], free[name]).pvalue > LEVEL
    seen = np.array([[(some == c).sum() for c in model.classes_] for some in (labels, own)])
    assert stats.chi2_contingency(seen[:, seen.any(axis=0)]).pvalue > LEVEL


def test_rows_of_a_class_of_the_pool_within_a_range(penguins) -> None:
    X, y = penguins
    model = GenerativeClassifier().fit(X, y)
    free, own = model.sample(4000, random_state=1)
    for given in ({"flipper_length_mm": (195, 205)}, pd.Series({"island": "Dream"})):
        rows, labels = model.sample(300, label="Adelie", given=given, random_state=0)
        there = free["island"].eq("Dream") if "island" in given else free["flipper_length_mm"].between(195, 205)
        assert set(labels) == {"Adelie"}
        for name in NUMBERS:
            assert stats.ks_2samp(rows[name], free[name][there & (own == "Adelie")]).pvalue > LEVEL


def test_recorded_numbers_within_a_range(rng) -> None:
    """Whole numbers, many of them 0: the range is one of the values that a table can hold."""
    x = np.maximum(rng.normal(2.0, 3.0, size=400).round(), 0.0)
    model = NaiveBayes().fit(pd.DataFrame({"n": x, "z": rng.normal(size=400)}), np.repeat(["a", "b"], 200))
    free = model.sample(100_000, random_state=1)[0]["n"]
    for low, high in ((0.5, 3.9), (None, 2), (-4, 0)):
        found = model.sample(2000, given={"n": (low, high)}, random_state=0)[0]["n"]
        own = free[(free >= (-np.inf if low is None else low)) & (free <= high)]
        values = sorted(set(own))
        assert sorted(set(found)) == values
        seen = [[(part == value).sum() for value in values] for part in (found, own)]
        assert len(values) == 1 or stats.chi2_contingency(seen).pvalue > LEVEL
    with pytest.raises(SettingError, match=r"'n' from 1.2 to 1.8.*no value.*as_recorded=False"):
        model.sample(3, given={"n": (1.2, 1.8)})


def test_counts_and_sparse_matrices() -> None:
    words = sparse.csr_array(np.random.RandomState(0).poisson(1.0, size=(40, 6)))
    y = np.repeat(["law", "sport"], 20)
    for family in ("multinomial", "poisson"):
        model = NaiveBayes(family).fit(words, y)
        rows, labels = model.sample(300, random_state=0)
        assert sparse.issparse(rows)
        assert rows.shape == (300, 6)
        assert rows.dtype.kind == "i"
        assert set(labels) == {"law", "sport"}
        same = model.impute(words)
        assert sparse.issparse(same)
        assert (same != words).nnz == 0
    dense = NaiveBayes("poisson").fit(words.toarray(), y)
    assert dense.sample(3, random_state=0)[0].dtype.kind == "i"
    expected = dense.model_.density.blocks[0].rate
    nothing = [[np.nan] * 6] * 2
    np.testing.assert_allclose(dense.impute(nothing, ["law", "sport"], as_recorded=False), expected, rtol=1e-12)


LIBRARIES = [(NaiveBayes(), own) for own in ("pandas", "polars", "pyarrow", "array")]


@pytest.mark.parametrize(
    ("model", "kind"), [*LIBRARIES, (GenerativeForest(), "pandas"), (GenerativeClassifier(), "pandas")]
)
def test_cells_are_missing_as_often_and_together_as_in_the_rows_kept(model, kind) -> None:
    rng, n = np.random.default_rng(0), 300
    y = np.repeat(["a", "b"], n // 2)
    X = pd.DataFrame({"u": rng.normal(size=n), "v": rng.integers(0, 9, n), "w": rng.choice(["x", "z"], n)})
    X["t"] = X["u"] > 0
    together, alone = rng.random(n) < np.where(y == "a", 0.1, 0.5), rng.random(n) < 0.2
    X = X.astype({"v": "float64", "t": object})
    X.loc[together, ["u", "w", "t"]] = None
    X.loc[alone, "v"] = None
    table = {"pandas": X, "polars": pl.from_pandas(X), "pyarrow": pa.Table.from_pandas(X), "array": X.to_numpy()}[kind]
    model = clone(model).fit(table, y)
    rows, labels = model.sample(2000, missing=True, random_state=0)
    rows = pd.DataFrame(rows) if kind == "array" else rows if kind == "pandas" else rows.to_pandas()
    gone = rows.isna().to_numpy()
    assert (gone[:, 0] == gone[:, 2]).all()
    assert (gone[:, 0] == gone[:, 3]).all()
    for label in "ab":
        for seen, known in ((gone[:, 0], together), (gone[:, 1], alone), (gone[:, 0] & gone[:, 1], together & alone)):
            own = seen[labels == label]
            assert stats.binomtest(int(own.sum()), len(own), known[y == label].mean()).pvalue > LEVEL
    if kind == "pandas":
        assert model.sample(200, given={"v": (2, 5)}, missing=True, random_state=0)[0]["v"].notna().all()


def test_models_without_rows_know_no_holes(blobs) -> None:
    X, y = blobs
    with pytest.raises(DataError, match=r"keeps no rows that show which cells are missing.*keep_rows"):
        GaussianDiscriminant(keep_rows=0).fit(X, y).sample(3, missing=True)
    assert not np.isnan(GaussianDiscriminant().fit(X, y).sample(50, missing=True, random_state=0)[0]).any()


# --- tables -----------------------------------------------------------------------------------------------------------


def test_every_kind_of_table_comes_back_as_it_came(penguins, read_back) -> None:
    X, y = penguins
    X = X.assign(heavy=(X["body_mass_g"] > 4200).astype("boolean"), island=X["island"].astype("category"))
    X.loc[5, "heavy"] = pd.NA
    X.loc[7, "island"] = None
    expected = NaiveBayes().fit(X, y).impute(X)
    assert expected.isna().sum().sum() == 0
    assert expected.dtypes.tolist() == X.dtypes.tolist()
    plain = [[v.item() if hasattr(v, "item") else v for v in row] for row in expected.to_numpy(dtype=object).tolist()]
    cells = X.astype(object).where(X.notna(), None)
    arrow = pa.table({name: pa.array(cells[name].tolist()) for name in X.columns})
    dictionaries = arrow.set_column(0, "island", arrow["island"].dictionary_encode())
    kinds = {
        "pyarrow": (dictionaries, pa.Table, lambda t: [list(row.values()) for row in t.to_pylist()]),
        "polars": (pl.from_arrow(dictionaries), pl.DataFrame, lambda t: [list(row) for row in t.rows()]),
        "numpy": (cells.to_numpy(dtype=object), np.ndarray, lambda t: t.tolist()),
    }
    for name, (table, kind, listed) in kinds.items():
        model = NaiveBayes().fit(table, y)
        found = model.impute(table)
        assert isinstance(found, kind)
        for mine, theirs in zip(listed(found), plain, strict=True):
            assert mine == [pytest.approx(v, rel=1e-9) if isinstance(v, float) else v for v in theirs]
        for fitted in (model, read_back(model)):
            rows, labels = fitted.sample(50, random_state=0)
            assert isinstance(rows, kind)
            assert len(labels) == 50
            listed_types = [{type(v) for v in column} for column in zip(*listed(rows), strict=True)]
            whole = {float} if name == "numpy" else {int}
            assert listed_types == [{str}, {float}, {float}, whole, whole, {str}, whole, {bool}]
        if name == "pyarrow":
            assert rows.schema.field("island").type == dictionaries.schema.field("island").type


def test_a_model_answers_in_the_table_it_is_asked_with(penguins) -> None:
    X, y = penguins
    model = GaussianDiscriminant().fit(X[NUMBERS], y)
    found = model.impute(pl.from_pandas(X[NUMBERS[::-1]]))
    assert isinstance(found, pl.DataFrame)
    assert found.columns == NUMBERS[::-1]
    np.testing.assert_allclose(found.to_numpy()[:, ::-1], model.impute(X[NUMBERS]), rtol=1e-12)


def rewrite(path, change) -> None:
    """Change the schema of a model file in place, and make it one of format 1, which may say less."""
    file = File(path.read_bytes())
    file.document["version"] = 1
    change(file.document["schema"])
    path.write_bytes(file.packed())


def test_files_that_do_not_say_the_kind_of_table(penguins, blobs, tmp_path) -> None:
    """Named columns then come as pandas, unnamed ones as an array; a kind nobody knows is refused."""
    X, y = penguins
    path = tmp_path / "m.suffice"
    NaiveBayes().fit(pl.from_pandas(X), y).save(path)
    assert isinstance(load(path).sample(2)[0], pl.DataFrame)
    rewrite(path, lambda schema: schema.pop("container"))
    assert isinstance(load(path).sample(2)[0], pd.DataFrame)
    rewrite(path, lambda schema: schema.update(container="spreadsheet"))
    with pytest.raises(ModelFileError):
        load(path)
    GaussianDiscriminant().fit(*blobs).save(path)
    rewrite(path, lambda schema: schema.pop("container"))
    assert isinstance(load(path).sample(2)[0], np.ndarray)


# --- refusals ---------------------------------------------------------------------------------------------------------


GIVEN = [
    ({"island": 3}, r"'island' is 3.*string"),
    ({"year": "late"}, r"'year' is 'late'.*numeric"),
    ({"island": "Anvers"}, r"'island'.*never seen.*'Biscoe'"),
    ({"year": None}, r"'year'.*leave it out"),
    ({"year": 2008, 6: 2009}, "twice"),
    *(
        ({"year": wrong}, r"'year' is .* no range of numbers")
        for wrong in ((5, 4), (1, 2, 3), (None, None), ("a", 3), ())
    ),
    ({"island": ("Biscoe", "Dream")}, r"'island' is the range .*string.*a set of values"),
    ({"year": set()}, "empty set"),
    ({"island": {"Anvers", "Dream"}}, r"'island'.*never seen.*'Biscoe'"),
    ({"year": set(range(2000))}, r"1,000 choices"),
    ({"year": (90_000, None)}, r"No row.*'year' from 90000"),
]


def test_refusals_name_what_is_wrong(penguins) -> None:
    X, y = penguins
    model = NaiveBayes().fit(X, y)
    for given, said in GIVEN:
        with pytest.raises(SettingError, match=said):
            model.sample(2, given=given, as_recorded=False)
    for n in (0, -1, 2.5, "3", True, None):
        with pytest.raises(SettingError, match=r"n=.*whole number of at least 1"):
            model.sample(n)
    with pytest.raises(SettingError, match="draws=0"):
        model.impute(X, draws=0)
    with pytest.raises(SettingError, match=r"'Emperor'.*'Adelie'"):
        model.sample(2, label="Emperor")
    with pytest.raises(DataError, match=r"'Emperor'.*'Adelie'"):
        model.impute(X, ["Emperor"] * len(X))
    with pytest.raises(SchemaError, match="'colour'"):
        model.sample(2, given={"colour": "red"})
    with pytest.raises(DataError, match="'body_mass_g'"):
        model.sample(2, given={"body_mass_g": np.inf})


def test_ranges_that_hardly_any_row_lies_in_are_refused(rng) -> None:
    z = rng.normal(size=(300, 1))
    X = np.hstack([z, z + 0.1 * rng.normal(size=(300, 1))])
    model = GaussianDiscriminant().fit(X, ["a"] * 300)
    with pytest.raises(SettingError, match=r"Of 100,000 rows drawn, 0 \(0\).*0 from 1 and 1 to -1.*widen the ranges"):
        model.sample(5, given={0: (1, None), 1: (None, -1)}, random_state=0)


def test_multinomial_columns_refuse_holes_and_half_given_rows() -> None:
    X = np.array([[2.0, 0, 1], [1, 0, 0], [0, 3, 1], [0, 1, 2]])
    model = NaiveBayes("multinomial").fit(X, ["a", "a", "b", "b"])
    with pytest.raises(DataError, match="Column 1 misses a count"):
        model.impute([[1.0, np.nan, 2.0]])
    with pytest.raises(SettingError, match="share out a total"):
        model.sample(2, given={0: 1})
    rows, _ = model.sample(2, given={0: 1, 1: 0, 2: 4})
    assert rows.tolist() == [[1, 0, 4], [1, 0, 4]]


def test_rows_of_wide_classes_that_do_not_vary():
    """More columns than rows, and every row of a class the same: what is drawn is that row, to the least variance."""
    rows = np.random.default_rng(4).normal(size=(2, 140))
    model = GaussianDiscriminant().fit(rows[[0, 1, 0, 1, 0, 1]], [0, 1, 0, 1, 0, 1])
    drawn, labels = model.sample(20, random_state=0)
    np.testing.assert_allclose(drawn, rows[labels], atol=1e-3)  # six deviations of √1e-9 of the whole are 2e-4
