"""Columns in which no row has a value: they count for nothing, and say nothing of their kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from kinds import kinds

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.errors import DataError, MergeError, SchemaError
from suffice.notes import Kind

ROWS = 80
NUMBERS = kinds("full, shared, diagonal, rda, laplace, single components")
MIXED = kinds("naive bayes, generative, forest") | {"named": lambda: NaiveBayes({"number": "laplace"})}
KINDS = ("number", "text", "truth")
LONG = [("generative", "number"), ("generative", "text"), ("forest", "truth")]
CASES = [*((name, "number") for name in (*NUMBERS, "named")), *(("naive bayes", kind) for kind in KINDS), *LONG]


@pytest.fixture(scope="module")
def table():
    return made(ROWS)


def made(rows):
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, rows)
    X = pd.DataFrame(
        {
            "plain": rng.normal(size=rows) + codes,
            "number": rng.normal(size=rows) - codes,
            "text": rng.choice(["u", "v", "w"], rows),
            "truth": (rng.random(rows) < 0.3 + 0.2 * codes).astype(object),
            "other": rng.choice(["left", "right"], rows),
        }
    )
    return X, np.array(["a", "b", "c"])[codes]


def parts(name, kind, table, tmp_path):
    """Return what makes the model, and both halves of the table, the first without a value in a column."""
    X, y = table
    X = X[["plain", "number"]].copy() if name in NUMBERS else X.copy()
    half = np.arange(len(y)) < len(y) // 2
    X.loc[half, kind] = None
    return (NUMBERS | MIXED)[name], X, y, [(X[own].reset_index(drop=True), y[own]) for own in (half, ~half)]


def by_file(make, sides, tmp_path):
    for number, (X, y) in enumerate(sides):
        X.assign(label=y).to_parquet(tmp_path / f"{number}.parquet")
    return make().fit_table(tmp_path, "label")


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case != ("generative", "text")])
def test_parts_without_a_value_merge_in_any_order(name, kind, table, tmp_path):
    make, X, y, (empty, full) = parts(name, kind, table, tmp_path)
    whole = make().fit(X, y)
    ways = {
        "merge": make().partial_fit(*full).merge(make().partial_fit(*empty)),
        "merge into it": make().partial_fit(*empty).merge(make().partial_fit(*full)),
        "file": by_file(make, (empty, full), tmp_path),
    }
    if name != "generative":  # whose batches are parts that merge, as all are
        ways["batch"] = make().partial_fit(*full).partial_fit(*empty)
        ways["first batch"] = make().partial_fit(*empty).partial_fit(*full)
    for way, model in ways.items():
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-10, err_msg=way)
        np.testing.assert_allclose(model.score_samples(X), whole.score_samples(X), rtol=1e-9, err_msg=way)
        assert not any(kind in note.columns for note in model.notes_ if note.kind is Kind.LEFT_OUT), way
    left = ways["merge into it"].forget(*full)
    np.testing.assert_allclose(left.predict_proba(empty[0]), make().fit(*empty).predict_proba(empty[0]), atol=1e-9)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_column_without_a_value_counts_for_nothing(name, kind, table, tmp_path, read_back):
    make, X, y, (empty, _) = parts(name, kind, table, tmp_path)
    model = make().fit(*empty)
    told = [note for note in model.notes_ if note.columns == (kind,)]
    assert [note.kind for note in told] == [Kind.LEFT_OUT]
    there = empty[0].assign(**{kind: 5.0})
    np.testing.assert_allclose(model.predict_proba(there), model.predict_proba(empty[0]), atol=1e-12)
    np.testing.assert_allclose(model.score_samples(there), model.score_samples(empty[0]), rtol=1e-12)
    if name not in ("generative", "forest", "named"):  # whose choices go by the number of columns, or name it
        without = make().fit(empty[0].drop(columns=kind), empty[1])
        asked = without.predict_proba(empty[0].drop(columns=kind))
        np.testing.assert_allclose(model.predict_proba(empty[0]), asked, atol=1e-12)
    with pytest.raises(DataError, match=f"has a value in '{kind}'"):
        model.impute(empty[0])
    again = read_back(model)
    np.testing.assert_array_equal(again.predict_proba(empty[0]), model.predict_proba(empty[0]))
    assert again.merge(make().partial_fit(X, y)).statistics_.rows == ROWS * 3 // 2


@pytest.mark.parametrize(("name", "kind"), LONG)
def test_frozen_columns_are_read_again_from_the_rows_kept(name, kind, tmp_path):
    """The first part is more than is kept: members learn it from its sample, and the joint statistics are exact."""
    _, X, y, (empty, full) = parts(name, kind, made(2 * ROWS), tmp_path)
    make = {"generative": GenerativeClassifier, "forest": GenerativeForest}[name]
    few = make(keep_rows=50).partial_fit(*empty)
    for model in (few, make(keep_rows=50).partial_fit(*empty).merge(make(keep_rows=50).partial_fit(*full))):
        if model is few:
            model.partial_fit(*full)
        assert model.statistics_.rows == len(y)
        np.testing.assert_allclose(model.statistics_.weight, np.unique(y, return_counts=True)[1])
        assert (model.predict(X) == y).mean() > 0.6
        assert any("from a sample" in str(note) for note in model.notes_)


def test_released_models_hold_no_rows_to_read_again(table):
    X, y = table
    empty, full = (
        GenerativeClassifier(members="generative").fit(own[["plain", "text"]], y).release()
        for own in (X.assign(text=None), X)
    )
    with pytest.raises(MergeError, match=r"'text'.*Next: leave these columns out"):
        empty.merge(full)


def test_text_is_none_of_a_gaussian(table):
    X, y = table
    model = GaussianDiscriminant().fit(X[["plain"]].assign(text=None), y)
    before = model.predict_proba(X[["plain"]].assign(text=None))
    with pytest.raises(SchemaError, match="'text'"):
        model.partial_fit(X[["plain", "text"]], y)
    np.testing.assert_array_equal(model.predict_proba(X[["plain"]].assign(text=None)), before)
