"""A table that lacks columns: refused, or asked as if every cell there were missing."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.__main__ import main
from suffice.errors import SchemaError, SettingError, SourceError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.repeat(["low", "high"], 60)
    level = np.where(y == "low", 0.0, 1.5)
    X = pd.DataFrame(
        {
            "size": rng.normal(level),
            "mass": rng.normal(level),
            "kind": rng.choice(["a", "b"], 120),
            "old": rng.random(120) < 0.4 + 0.1 * level,
        }
    )
    return X, y


@pytest.fixture(scope="module", params=[NaiveBayes, GenerativeClassifier])
def model(request, table):
    return request.param().fit(*table)


def emptied(X, names):
    return X.assign(**{name: None if name in ("kind", "old") else np.nan for name in names})


@pytest.mark.parametrize("names", [["mass"], ["kind", "old"]])
def test_every_answer_is_that_of_the_same_table_without_a_value_there(model, table, names):
    X, y = table
    less, holed = X.drop(columns=names), emptied(X, names)
    asked = {"missing_columns": "missing"}
    with pytest.warns(UserWarning, match="not in the table: every cell there was taken as missing") as told:
        found = model.predict_proba(less, **asked)
    assert len(told) == 1
    assert np.array_equal(found, model.predict_proba(holed))
    verbs = ("predict", "predict_log_proba", "predict_joint_log_proba", "decision_function", "score_samples", "explain")
    for verb in (*verbs, "adapt_priors", "predict_set", "outlier_pvalues", "information_gain"):
        with pytest.warns(UserWarning, match="not in the table"):
            found = getattr(model, verb)(less, **asked)
        assert np.array_equal(found, getattr(model, verb)(holed)), verb
    with pytest.warns(UserWarning, match="not in the table"):
        assert model.assess(less, y, **asked).log_loss == model.assess(holed, y).log_loss
    with pytest.warns(UserWarning, match="not in the table"):
        filled = model.impute(less, **asked)
    expected = model.impute(holed)
    assert filled.columns.tolist() == [*less.columns, *names]
    for name in X.columns:
        assert filled[name].tolist() == expected[name].tolist(), name


@pytest.mark.parametrize("container", [pl.from_pandas, pa.Table.from_pandas])
def test_tables_of_other_libraries(model, table, container):
    X, _ = table
    with pytest.warns(UserWarning, match="'kind', 'size' are|'size', 'kind' are"):
        found = model.predict_proba(container(X[["old", "mass"]]), missing_columns="missing")
    assert np.array_equal(found, model.predict_proba(emptied(X, ["size", "kind"])))


def test_the_default_refuses_and_names_the_keyword(model, table):
    X, _ = table
    with pytest.raises(SchemaError, match=r"it lacks 'mass'.*missing_columns='missing'"):
        model.predict(X.drop(columns="mass"))
    with pytest.raises(SchemaError, match="does not know 'more'"):
        model.predict(X.assign(more=1.0), missing_columns="missing")
    with pytest.raises(SchemaError, match="several columns named 'size'"):
        model.predict(X[["size", "size"]], missing_columns="missing")
    with pytest.raises(SettingError, match="missing_columns"):
        model.predict(X, missing_columns="ignore")


def test_columns_without_names_cannot_be_missed():
    X = np.arange(12.0).reshape(6, 2) % 5
    model = GaussianDiscriminant(shared=True).fit(X, [0, 0, 0, 1, 1, 1])
    with pytest.raises(SchemaError, match="features"):
        model.predict(X[:, :1], missing_columns="missing")


def test_tables_in_parts(model, table, tmp_path):
    X, _ = table
    with pytest.raises(SourceError, match=r"no column 'mass' which the model needs.*missing_columns"):
        model.predict_table(X.drop(columns="mass"), tmp_path / "no.parquet")
    with pytest.warns(UserWarning, match="'mass' is not in the table"):
        model.predict_table(X.drop(columns="mass"), tmp_path / "out.parquet", missing_columns="missing")
    found = pd.read_parquet(tmp_path / "out.parquet")
    expected = model.predict_proba(emptied(X, ["mass"]))
    assert np.array_equal(found[[f"p_{label}" for label in model.classes_]].to_numpy(), expected)


def test_on_the_command_line(table, tmp_path, capsys):
    X, y = table
    X.assign(y=y).to_csv(tmp_path / "all.csv", index=False)
    X.drop(columns="mass").to_csv(tmp_path / "less.csv", index=False)
    X.assign(mass="").to_csv(tmp_path / "holed.csv", index=False)
    model, less, holed = (str(tmp_path / name) for name in ("m.suffice", "less.csv", "holed.csv"))
    assert main(["fit", str(tmp_path / "all.csv"), "--target", "y", "--model", "nb", "-o", model]) == 0
    assert main(["predict", model, less]) == 1
    assert "'mass' which the model needs" in (said := capsys.readouterr().err)
    assert "--missing-columns missing" in said
    for command in (["predict"], ["explain", "--json"], ["outliers"], ["next"], ["impute"]):
        assert main([*command, model, less, "--missing-columns", "missing"]) == 0
        found = capsys.readouterr()
        assert found.err.count("'mass' is not in the table") == 1
        assert main([*command, model, holed]) == 0
        expected = capsys.readouterr().out
        if command != ["impute"]:
            assert found.out == expected
            continue
        columns = [pd.read_csv(StringIO(out)) for out in (found.out, expected)]
        pd.testing.assert_frame_equal(columns[0][list(X)], columns[1][list(X)])
