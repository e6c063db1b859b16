"""What is known of columns: the order of levels, whole numbers and bounds; and levels never seen."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from suffice import GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.errors import SchemaError, UnseenLevelWarning
from suffice.notes import Kind

ORDER = ("Low", "Medium", "High")  # which sorting would turn into High, Low, Medium


def cells(n: int = 120) -> tuple[list[str | None], np.ndarray, list[str]]:
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=n)
    risk = [None if rng.random() < 0.05 else ORDER[int(np.clip(rng.normal(0.6 + 0.8 * k, 0.7), 0, 2))] for k in y]
    return risk, rng.poisson(2 + 2 * y).astype(float), np.where(y, "bad", "good").tolist()


def frame(library: str, ordered: bool = True):
    risk, visits, y = cells()
    if library == "pandas":
        own = pd.Categorical(risk, categories=ORDER, ordered=ordered)
        return pd.DataFrame({"risk": own, "visits": visits}), y
    if library == "polars":
        return pl.DataFrame({"risk": pl.Series(risk, dtype=pl.Enum(ORDER)), "visits": visits}), y
    codes = pa.array([None if own is None else ORDER.index(own) for own in risk], pa.int32())
    coded = pa.DictionaryArray.from_arrays(codes, list(ORDER), ordered=ordered)
    return pa.table({"risk": coded, "visits": visits}), y


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("model", [NaiveBayes(), GenerativeForest()])
def test_the_order_is_taken_kept_and_drawn(read_back, library, model) -> None:
    X, y = frame(library)
    model.fit(X, y)
    for own in (model, read_back(model)):
        facts = own.columns_[0]
        assert (facts.name, facts.levels, facts.ordered) == ("risk", ORDER, True)
        assert str(facts) == "ordered"
        drawn = own.sample(20, random_state=1)[0]
        if library == "pandas":
            assert drawn["risk"].dtype == X["risk"].dtype
        elif library == "polars":
            assert drawn["risk"].dtype == pl.Enum(ORDER)
        else:
            assert drawn["risk"].type.ordered
            assert drawn["risk"].chunk(0).dictionary.to_pylist() == list(ORDER)
        assert set(drawn["risk"].to_list() if library != "pyarrow" else drawn["risk"].to_pylist()) <= set(ORDER)
    filled, was = model.impute(X)["risk"], X["risk"]
    if library == "pyarrow":
        assert (filled.type, filled.null_count) == (was.type, 0)
    else:
        assert filled.dtype == was.dtype
        assert None not in filled.to_list()


def test_without_an_order_levels_are_sorted() -> None:
    facts = NaiveBayes().fit(*frame("pandas", ordered=False)).columns_[0]
    assert (facts.levels, facts.ordered) == (tuple(sorted(ORDER)), False)


def test_a_level_met_later_stands_behind_the_order() -> None:
    X, y = frame("pandas")
    model = NaiveBayes().fit(X, y)
    more = pd.DataFrame({"risk": pd.Categorical(["Extreme", "Low"]), "visits": [1.0, 2.0]})
    model.partial_fit(more, ["bad", "good"])
    assert model.columns_[0].levels == (*ORDER, "Extreme")
    assert model.sample(5, random_state=0)[0]["risk"].cat.categories.tolist() == [*ORDER, "Extreme"]


def test_fit_table_takes_an_order_and_refuses_what_it_does_not_list(tmp_path) -> None:
    risk, visits, y = cells()
    table = pa.table({"risk": risk, "visits": visits, "class": y})
    model = NaiveBayes().fit_table(table, "class", ordered={"risk": ORDER})
    assert model.columns_[0].levels == ORDER
    for order, why in (
        ({"risk": ORDER[:2]}, "'High'"),
        ({"visits": ORDER}, "in order already"),
        ({"r": ORDER}, "no column"),
    ):
        with pytest.raises(SchemaError, match=why):
            NaiveBayes().fit_table(table, "class", ordered=order)
    with pytest.raises(SchemaError, match="each once"):
        NaiveBayes().fit_table(table, "class", ordered={"risk": ("Low", "Low")})


def test_whole_numbers_steps_and_bounds() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "visits": rng.poisson(3, 200),
            "tenths": rng.integers(-400, 400, 200) / 10,
            "percent": np.append(rng.integers(0, 101, 199), 100),
            "any": rng.normal(size=200),
        }
    )
    y = np.arange(200) % 2
    for model in (NaiveBayes(), GenerativeClassifier(), GenerativeForest()):
        visits, tenths, percent, free = model.fit(X, y).columns_
        assert (visits.whole, visits.step, visits.low, visits.high) == (True, 1.0, 0.0, None)
        assert (tenths.whole, tenths.step, tenths.decimals, tenths.low) == (False, 0.1, 1, None)
        assert (percent.low, percent.high, str(percent)) == (0.0, 100.0, "whole, 0 to 100")
        assert (free.whole, free.low, free.high, str(free)) == (False, None, None, "")
    assert NaiveBayes(keep_rows=0).fit(X, y).columns_[0].step is None
    assert NaiveBayes({"visits": "poisson"}, keep_rows=0).fit(X, y).columns_[0].whole


@pytest.mark.parametrize(
    "model", [NaiveBayes(), GenerativeClassifier(), GenerativeForest(), GenerativeForest(keep_rows=50)]
)
def test_unseen_levels_are_counted_and_those_alike_warned_of(model) -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=200)
    X = pd.DataFrame({"x": rng.normal(y), "c": np.where(rng.random(200) < 0.3 + 0.4 * y, "Yes", "No")})
    model.fit(X, y)
    new = pd.DataFrame({"x": [0.0] * 6, "c": ["yes", "yes", "No", None, "never", "Yes "]})
    found = model.unseen_levels(new)
    assert [(own.column, own.level, own.rows, own.like) for own in found] == [
        ("c", "yes", 2, ("Yes",)),
        ("c", "Yes ", 1, ("Yes",)),
        ("c", "never", 1, ()),
    ]
    assert set(found[0].known) == {"Yes", "No"}
    with pytest.warns(
        UnseenLevelWarning, match=r"3 rows: c 'yes' \(2 rows\), 'Yes ' \(1 row\), never seen by the model, known"
    ):
        model.predict_proba(new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_proba(new.iloc[2:5])  # a level that is merely new is no reason to warn
    assert model.unseen_levels(X) == []


def test_unseen_levels_that_differ_by_type_are_warned_of() -> None:
    numbers = pd.DataFrame({"c": pd.Categorical([1, 2])})
    model = NaiveBayes().fit(numbers, ["left", "stayed"])
    with pytest.warns(UnseenLevelWarning, match="'1' differs from 1 by type only"):
        model.predict(numbers.astype(str))


def test_levels_and_classes_that_differ_by_case_are_noted_with_their_counts() -> None:
    X = [["Yes"], ["yes"], ["Yes"], ["No"], ["no "]] * 4
    y = ["bad", "Bad", "bad", "good", "good"] * 4
    for model in (NaiveBayes(), GenerativeForest()):
        told = [note for note in model.fit(X, y).notes_ if note.kind is Kind.ALIKE]
        assert "'Bad' (4 rows) and 'bad' (8 rows)" in str(told[0])
        assert "'Yes' (8 rows) and 'yes' (4 rows), 'No' (4 rows) and 'no␣' (4 rows)" in str(told[1])
        assert told[1].columns == (0,)
        merged = model.rename_classes({"Bad": "bad"})
        assert [note.columns for note in merged.notes_ if note.kind is Kind.ALIKE] == [(0,)]
    heavy = NaiveBayes().fit(X, y, sample_weight=np.full(20, 0.5))
    assert "'Bad' (weight 2)" in str(next(note for note in heavy.notes_ if note.kind is Kind.ALIKE))
