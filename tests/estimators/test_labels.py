"""Labels: text, integers, truth values, categories of any library; missing and mixed ones are refused."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.errors import DataError, SufficeError

X = np.array([[0.0], [1.0], [4.0], [5.5], [9.0], [11.0]])
CODES = [1, 1, 0, 0, 1, 1]
WORDS = ["yes", "yes", "no", "no", "yes", "yes"]
CHUNKS = pa.chunked_array([pa.array(WORDS[:2]).dictionary_encode(), pa.array(WORDS[2:]).dictionary_encode()])

TEXT = {
    "list": WORDS,
    "tuple": tuple(WORDS),
    "numpy": np.array(WORDS),
    "object": np.array(WORDS, dtype=object),
    "StringDType": np.array(WORDS, dtype=np.dtypes.StringDType()),
    "pandas": pd.Series(WORDS),
    "pandas index": pd.Series(WORDS, index=[5, 4, 3, 2, 1, 0]),
    "pandas object": pd.Series(WORDS, dtype=object),
    "pandas string": pd.Series(WORDS, dtype="string"),
    "pandas category": pd.Series(pd.Categorical(WORDS, categories=["maybe", "yes", "no"])),
    "pandas Categorical": pd.Categorical(WORDS, categories=["maybe", "yes", "no"]),
    "polars": pl.Series(WORDS),
    "polars Categorical": pl.Series(WORDS, dtype=pl.Categorical),
    "polars Enum": pl.Series(WORDS, dtype=pl.Enum(["yes", "maybe", "no"])),
    "pyarrow": pa.array(WORDS),
    "pyarrow chunks": CHUNKS,
}
NUMBERS = {
    "list": CODES,
    "range of numpy": np.array(CODES),
    "int8": np.array(CODES, dtype=np.int8),
    "uint64": np.array(CODES, dtype=np.uint64),
    "float": np.array(CODES, dtype=float),
    "long double": np.array(CODES, dtype=np.longdouble),
    "object": np.array(CODES, dtype=object),
    "Int64": pd.Series(CODES, dtype="Int64"),
    "pandas float": pd.Series(CODES, dtype=float),
    "category": pd.Categorical(CODES, categories=[2, 1, 0]),
    "polars": pl.Series(CODES),
    "pyarrow": pa.array(CODES),
}
TRUTH = {
    "list": [bool(c) for c in CODES],
    "numpy": np.array(CODES, dtype=bool),
    "boolean": pd.Series(CODES, dtype="boolean"),
    "object": np.array([bool(c) for c in CODES], dtype=object),
    "polars": pl.Series([bool(c) for c in CODES]),
    "pyarrow": pa.array([bool(c) for c in CODES]),
}


KINDS = {"text": (TEXT, ["no", "yes"], "U"), "numbers": (NUMBERS, [0, 1], "i"), "truth": (TRUTH, [False, True], "b")}


@pytest.mark.parametrize(("kind", "container"), [(kind, own) for kind in KINDS for own in KINDS[kind][0]])
def test_labels_in_any_container(kind, container):
    """Declared categories that no row has are no classes."""
    tables, classes, letter = KINDS[kind]
    y = tables[container]
    for model in (GaussianDiscriminant(), NaiveBayes()):
        model.fit(X, y)
        assert model.classes_.tolist() == classes
        expected = GaussianDiscriminant("diagonal").fit(X, CODES)
        assert_array_equal(model.predict_proba(X).argmax(axis=1), expected.predict(X))
        assert_array_equal(model.predict(X), model.classes_[expected.predict(X)])
        assert model.score(X, y, CODES) == expected.score(X, CODES, CODES)
        assert kind == "text" or model.classes_.dtype.kind == ("O" if container == "object" else letter)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array([-100, -100, 100, 100, -100, -100], dtype=np.int8), [-100, 100]),
        (np.array([2**63 + 6, 2**63 + 6, 5, 5, 2**63 + 6, 2**63 + 6], dtype=np.uint64), [5, 2**63 + 6]),
        ([-5, -5, 10**15, 10**15, -5, -5], [-5, 10**15]),
        (["", "", "é 🦉", "é 🦉", "", ""], ["", "é 🦉"]),
        (["nan", "nan", "None", "None", "nan", "nan"], ["None", "nan"]),
    ],
    ids=["int8", "uint64", "large", "unicode", "words for nothing"],
)
def test_labels_at_the_edge(y, classes):
    model = GaussianDiscriminant().fit(X, y)
    assert model.classes_.tolist() == classes
    assert set(model.predict(X).tolist()) <= set(classes)


def test_a_column_of_labels_is_flattened_with_a_warning():
    from sklearn.exceptions import DataConversionWarning

    for y in (np.array(WORDS)[:, None], pd.DataFrame({"y": WORDS})):
        with pytest.warns(DataConversionWarning, match="column-vector y"):
            model = GaussianDiscriminant().fit(X, y)
        assert model.classes_.tolist() == ["no", "yes"]


def test_a_refit_starts_from_its_own_labels():
    model = GaussianDiscriminant()
    for y, letter in ((TEXT["object"], "O"), (CODES, "i"), (WORDS, "U")):
        assert model.fit(X, y).classes_.dtype.kind == letter


# --- refused ---


MISSING = {
    "None": ["a", None, "b", "b", "a", "a"],
    "nan in text": ["a", float("nan"), "b", "b", "a", "a"],
    "nan": [0, float("nan"), 1, 1, 0, 0],
    "object": np.array(["a", None, "b", "b", "a", "a"], dtype=object),
    "float array": np.array([0, np.nan, 1, 1, 0, 0]),
    "masked": np.ma.masked_equal([0, 2, 1, 1, 0, 0], 2),
    "masked text": np.ma.masked_equal(["a", "?", "b", "b", "a", "a"], "?"),
    "string": pd.Series(["a", pd.NA, "b", "b", "a", "a"], dtype="string"),
    "Int64": pd.Series([0, pd.NA, 1, 1, 0, 0], dtype="Int64"),
    "category": pd.Categorical(["a", None, "b", "b", "a", "a"]),
    "polars": pl.Series(["a", None, "b", "b", "a", "a"]),
    "polars int": pl.Series([0, None, 1, 1, 0, 0]),
    "arrow": pa.array(["a", None, "b", "b", "a", "a"]),
    "chunks": pa.chunked_array([pa.array(own).dictionary_encode() for own in (["a", None], ["b", "b", "a", "a"])]),
}


@pytest.mark.parametrize("y", MISSING.values(), ids=MISSING)
def test_missing_labels_are_counted(y):
    with pytest.raises(DataError, match=r"y has no label in 1 of 6 rows \(the first is row 1\)"):
        GaussianDiscriminant().partial_fit(X, y)
    assert GaussianDiscriminant().fit(X, y).n_iter_ >= 1  # given all rows at once, EM can do without


NO_LABELS = {
    "None": (None, "requires y to be passed, but the target y is None"),
    "short": (WORDS[:5], "6 rows and 5 labels"),
    "continuous": ([0.5, 1.5, 2.5, 3.5, 4.5, 5.5], "continuous"),
    "2-D": (np.ones((6, 2)), "1d array"),
    "lists": ([[1], [2], [3], [4], [5], [6, 7]], "type list"),
    "complex": (np.array(CODES) * 1j, "type complex"),
    "infinite": (np.array([0, 1, np.inf, 0, 1, 0]), "infinity"),
    "infinite object": (np.array([0, 1, np.inf, 0, 1, 0], dtype=object), "infinity"),
    "mixed list": (["a", 1] * 3, "y mixes text and numbers: 1, 'a'"),
    "mixed object": (np.array(["a", 1] * 3, dtype=object), "y mixes text and numbers: 1, 'a'"),
    "mixed pandas": (pd.Series(["a", 1] * 3), "y mixes text and numbers: 1, 'a'"),
    "M8": (np.array(["2020-01-01", "2020-01-02"] * 3, dtype="M8[D]"), "dates or times"),
    "dates": ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)] * 3, "dates or times|type date"),
    "datetime": (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"] * 3)), "dates or times"),
    "scalar": (5, "1d array"),
    "dictionary": (dict.fromkeys(range(6), "a"), "1d array"),  # whose keys are no labels
}


@pytest.mark.parametrize(("y", "message"), NO_LABELS.values(), ids=NO_LABELS)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_labels_that_are_none(y, message, learn):
    with pytest.raises(SufficeError, match=message):
        getattr(GaussianDiscriminant(), learn)(X, y)


def test_later_labels_of_another_kind_are_refused():
    """Joined in one array the numbers would become text."""
    for first, second in ((WORDS, CODES), (CODES, WORDS)):
        before = (model := GaussianDiscriminant().fit(X, first)).classes_.tolist()
        with pytest.raises(SufficeError, match="text and numbers"):
            model.partial_fit(X, second)
        assert model.classes_.tolist() == before
    assert len(GaussianDiscriminant().fit(X, TRUTH["numpy"]).partial_fit(X, CODES).classes_) == 2  # True is 1
