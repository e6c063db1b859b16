"""`compare --time` and `score --time`: the figures of Python, and of refits by scikit-learn."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianDiscriminant, NaiveBayes

from .test_compare import logistic


@pytest.fixture
def turning() -> pd.DataFrame:
    """Two classes whose boundary turns from one quarter to the next, in no order, with dates in three notations."""
    rng = np.random.default_rng(0)
    n = 180
    quarter, X = np.arange(n) * 3 // n, rng.normal(size=(n, 2))
    score = X[:, 0] * np.cos(0.6 * quarter) + X[:, 1] * np.sin(0.6 * quarter) + 0.3 * rng.normal(size=n)
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(n), "D")
    table = pd.DataFrame(
        {"a": X[:, 0], "b": X[:, 1], "y": np.where(score > 0, "above", "below"), "quarter": quarter + 1}
    )
    table = table.assign(day=day.strftime("%d.%m.%Y"), iso=day.strftime("%Y-%m-%d"), stamp=day)
    return table.iloc[rng.permutation(n)].reset_index(drop=True)


def told(cli, *words):
    return json.loads(cli(*words, "--json").ok().out)


def test_models_are_compared_by_the_periods_to_come(cli, write, turning) -> None:
    data = write("turning.csv", turning[["a", "b", "y", "quarter"]].to_csv(index=False))
    found = told(cli, "compare", data, "--target", "y", "--time", "quarter")
    models = {own["model"]: own for own in found["models"]}
    X, y, time = turning[["a", "b"]], turning["y"].to_numpy(), turning["quarter"].to_numpy()
    for name, model in {"full": GaussianDiscriminant(), "nb": NaiveBayes()}.items():
        plain = model.validate_forward(X, y, time=time).to_dict()
        assert {key: models[name][key] for key in plain} == plain
    peer = logistic(["a", "b"], [])
    for t, own in enumerate(models["logistic"]["periods"], start=2):
        peer.fit(X[time < t], y[time < t])
        p = peer.predict_proba(X[time == t])[np.arange((time == t).sum()), np.searchsorted(peer.classes_, y[time == t])]
        assert own["log_loss"] == pytest.approx(-np.log(p).mean(), rel=1e-6)
        assert own["said"] is None
    lines = cli("compare", data, "--target", "y", "--time", "quarter").out
    assert "best of last" in lines
    assert f"{models['full']['log_loss']:.3f}" in lines


def test_a_model_is_judged_by_each_period_as_it_is_and_updated(cli, write, tmp_path, turning) -> None:
    table = turning[["a", "b", "y", "quarter"]]
    first, rest = table[table["quarter"] == 1], table[table["quarter"] > 1]
    model, before = tmp_path / "m.suffice", write("first.csv", first.to_csv(index=False))
    cli("fit", before, "--target", "y", "--model", "full", "--drop", "quarter", "-o", model).ok()
    data = write("rest.csv", rest.to_csv(index=False))
    found = told(cli, "score", model, data, "--time", "quarter")
    whole = GaussianDiscriminant().validate_forward(table[["a", "b"]], table["y"], time=table["quarter"])
    assert [own["since"] for own in found["periods"]] == ["2", "3"]
    for name in ("log_loss", "said", "unchanged", "coverage", "learned"):
        assert [own[name] for own in found["periods"]] == pytest.approx(getattr(whole, name).tolist(), abs=1e-10)
    assert "never updated" in cli("score", model, data, "--time", "quarter").out
    assert "rows that the model has learned" in cli("score", model, before, "--time", "quarter").err
    others = write("others.csv", rest.assign(y="other").to_csv(index=False))
    assert "rows of a class that no period before has" in cli("score", model, others, "--time", "quarter").out


def test_what_cannot_be_is_refused_in_words_of_options(cli, write, tmp_path, turning) -> None:
    holes = turning[["a", "b", "y", "iso"]].copy()
    holes.loc[3, "iso"] = None
    data, model = write("t.csv", holes.iloc[:90].to_csv(index=False)), tmp_path / "m.suffice"
    done = cli("compare", data, "--target", "y", "--time", "iso")
    assert "1 of 90 rows has no time (the first is row 4)" in done.complaint
    for words, expected in {
        ("--time", "nope"): "'nope' for --time",
        ("--time", "y"): "--target and --time are both",
        ("--time", "iso", "--curve"): "--time judges",
        ("--periods", 3): "--periods",
    }.items():
        assert expected in cli("compare", data, "--target", "y", *words).err
    cli("fit", data, "--target", "y", "--model", "nb", "--drop", "iso", "-o", model).ok()
    assert "--positive" in cli("score", model, data, "--time", "iso", "--positive", "above").complaint
    one = write("one.csv", turning[["a", "b", "y"]].assign(day="01.02.2026").to_csv(index=False))
    done = cli("compare", one, "--target", "y", "--time", "day")
    assert "one period (2026-02-01 to 2026-02-01)" in done.complaint
    assert [own["learned"] for own in told(cli, "score", model, one, "--time", "day")["periods"]] == [90]
