"""`suffice show` of models that the command line does not fit: columns of other families, few rows left to judge by."""

import json

import numpy as np
import pytest

from suffice import GenerativeClassifier, NaiveBayes
from suffice.cli.show import plus_minus

PRINTED = {
    "poisson": ["rate"],
    "laplace": ["location", "scale"],
    "multinomial": ["share"],
    "bernoulli": ["True", "False"],
}


@pytest.mark.parametrize("family", PRINTED)
def test_parameters_are_shown(cli, tmp_path, rng, family):
    X = rng.integers(0, 2 if family == "bernoulli" else 9, (30, 3)).astype(float)
    model = NaiveBayes(family).fit(X, np.arange(30) % 2)
    model.save(tmp_path / "model.suffice")
    done = cli("show", tmp_path / "model.suffice")
    assert (done.status, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    for name in PRINTED[family]:
        assert sum(line[:1] == [name] for line in lines) == 3
    column = json.loads(cli("show", tmp_path / "model.suffice", "--json").out)["columns"][1]
    assert column["family"] == family
    if family != "bernoulli":
        assert column["parameters"] == {name: values.tolist() for name, values in model.parameters_[1].items()}


def test_a_classifier_with_too_few_rows_to_judge_itself_by(cli, tmp_path, rng):
    """Most of the rows that it kept were forgotten: what it would say of its loss is not said."""
    y = np.arange(600) % 2
    X = rng.normal(size=(600, 3)) + y[:, None]
    GenerativeClassifier(keep_rows=200).partial_fit(X, y).forget(X[90:], y[90:]).save(tmp_path / "model.suffice")
    done = cli("show", tmp_path / "model.suffice")
    assert (done.status, done.err) == (0, "")
    assert any(line.split()[-2:] == ["not", "known"] for line in done.out.splitlines() if "all, pooled" in line)
    assert "still kept of the 90 learned" in done.out
    assert json.loads(cli("show", tmp_path / "model.suffice", "--json").out)["loss"] is None


def test_many_columns_are_not_judged_one_by_one(cli, tmp_path, rng):
    NaiveBayes().fit(rng.normal(size=(30, 101)), np.arange(30) % 2).save(tmp_path / "model.suffice")
    assert "`suffice columns` says what each of 101 columns is worth" in cli("show", tmp_path / "model.suffice").out


def test_a_mean_that_rounds_to_0_has_no_sign():
    assert (plus_minus(-0.0012, 0.14), plus_minus(-0.012, 0.014)) == ("0.00 ± 0.14", "-0.012 ± 0.014")
