"""`suffice show` of models whose columns have other families than the command line fits."""

import json

import numpy as np
import pytest

from suffice import NaiveBayes

PRINTED = {
    "poisson": ["rate"],
    "laplace": ["location", "scale"],
    "student_t": ["location", "scale", "df"],
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
