"""Answers as data frames: the same numbers as the arrays, in the library that is asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from suffice import GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.errors import SettingError

MODELS = {"nb": NaiveBayes, "auto": GenerativeClassifier, "forest": GenerativeForest}


@pytest.fixture
def table(rng):
    y = rng.choice(["calm", "row"], 60)
    X = pd.DataFrame(rng.normal(size=(60, 2)) + (y == "row")[:, None], columns=["height", "depth"])
    X["color"] = rng.choice(["red", "blue"], 60)
    return X.set_index(pd.Index(range(100, 160))), y


@pytest.mark.parametrize("kind", MODELS)
def test_frames_hold_what_arrays_hold(table, kind) -> None:
    X, y = table
    model = MODELS[kind]().fit(X, y)
    some = X[:5].copy()
    some.iloc[2, 0] = np.nan
    p = model.predict_proba(some, as_frame=True)
    assert list(p.columns) == ["calm", "row"]
    assert list(p.index) == list(some.index)
    np.testing.assert_array_equal(p.to_numpy(), model.predict_proba(some))
    gain = model.information_gain(some, as_frame=True)
    assert list(gain.columns) == list(X.columns)
    np.testing.assert_array_equal(gain.to_numpy(), model.information_gain(some))
    odds = model.explain(some, as_frame=True)
    assert list(odds.columns) == ["row", "column", "calm", "class row"]
    whole = model.explain(some)
    for i, name in enumerate(some.index):
        for j, column in enumerate(X.columns):
            own = odds[(odds["row"] == name) & (odds["column"] == column)]
            np.testing.assert_array_equal(own[["calm", "class row"]].to_numpy()[0], whole[i, j])


@pytest.mark.parametrize(("name", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)])
def test_the_library_is_that_of_the_rows_or_the_one_named(table, name, kind) -> None:
    X, y = table
    model = NaiveBayes().fit(X, y)
    assert isinstance(model.predict_proba(X, as_frame=name), kind)
    plain = X.reset_index(drop=True)
    rows = {"pandas": plain, "polars": pl.from_pandas(plain), "pyarrow": pa.Table.from_pandas(plain)}[name]
    for found in (model.predict_proba(rows, as_frame=True), model.explain(rows, as_frame=True)):
        assert isinstance(found, kind)
    assert isinstance(model.information_gain(X, as_frame=name), kind)


def test_names_that_are_no_text_become_text(table) -> None:
    X, y = table
    model = NaiveBayes().fit(X.to_numpy(dtype=object), y == "row")
    p = model.predict_proba(X.to_numpy(dtype=object), as_frame=True)
    assert list(p.columns) == ["False", "True"]
    assert list(model.explain(X.to_numpy(dtype=object)[:1], as_frame=True)["column"]) == ["0", "1", "2"]


@pytest.mark.parametrize("wanted", ["spark", 1, None])
def test_what_is_no_choice_is_refused(table, wanted) -> None:
    X, y = table
    model = NaiveBayes().fit(X, y)
    for ask in (model.predict_proba, model.explain, model.information_gain):
        with pytest.raises(SettingError, match="as_frame="):
            ask(X, as_frame=wanted)
