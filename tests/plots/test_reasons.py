"""Waterfalls and effects: the numbers behind them against Bayes' rule, and tables as people have them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from suffice import (
    GaussianDiscriminant,
    GenerativeForest,
    MixtureDiscriminant,
    NaiveBayes,
)
from suffice.errors import DataError, SchemaError, SettingError
from suffice.plots import ClassDensitiesDisplay, EffectDisplay, WaterfallDisplay

# --- the waterfall --------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 7, -1])
def test_a_waterfall_goes_from_the_priors_to_the_posterior(model, mixed, row):
    X, _ = mixed
    display = WaterfallDisplay.from_estimator(model, X, row=row, most=2)
    log_p = model.predict_log_proba(X.iloc[[row]])[0]
    best, second = np.argsort(-log_p)[:2]
    assert [display.label, display.against] == [model.classes_[best], model.classes_[second]]
    assert_allclose(display.start, np.log(model.priors_[best] / model.priors_[second]))
    assert_allclose(display.end, log_p[best] - log_p[second])
    assert_allclose(display.start + sum(step.nats for step in display.steps), display.end, rtol=1e-9, atol=1e-12)
    sizes = [abs(step.nats) for step in display.steps if step.column is not None]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) <= 3
    # the bars are the steps: each begins where the one before it ended
    widths = [bar.get_width() for bar in display.bars_[1:-1]]
    assert_allclose(widths, [abs(step.nats) for step in display.steps], atol=1e-12)
    ends = display.start + np.cumsum([step.nats for step in display.steps])
    lows = [bar.get_x() for bar in display.bars_[1:-1]]
    assert_allclose(lows, np.minimum(ends, np.concatenate([[display.start], ends[:-1]])), atol=1e-12)


def test_a_waterfall_names_cells_and_sums_up_the_rest(mixed):
    X, y = mixed
    X = X.copy()
    X.loc[3, "where"] = None
    model = NaiveBayes().fit(X, y)
    display = WaterfallDisplay.from_estimator(model, X, row=3, label="c", against="a")
    told = model.explain(X.iloc[[3]])[0]
    by_name = dict(zip(X.columns, told[:, 2] - told[:, 0], strict=True))
    for step in display.steps:
        if step.column is not None:
            assert_allclose(step.nats, by_name[step.column])
            cell = X.loc[3, step.column]
            assert step.cell == (
                cell if isinstance(cell, str) else f"{cell:.4g}" if abs(cell) < 1e5 else f"{cell:,.0f}"
            )
    assert "where" not in [step.column for step in display.steps]
    assert display.steps[-1].column is None
    assert display.steps[-1].nats == 0.0
    assert "unknown" in display.steps[-1].cell
    turned = WaterfallDisplay.from_estimator(model, X, row=3, label="a", against="c")
    assert_allclose(turned.end, -display.end)
    assert_allclose([step.nats for step in turned.steps], [-step.nats for step in display.steps])


def test_a_class_that_is_ruled_out_goes_to_the_edge():
    X = [["red", 1.0], ["red", 2.0], ["blue", 7.0], ["blue", 8.0]]
    model = NaiveBayes(smoothing=0).fit(X, ["a", "a", "b", "b"])
    display = WaterfallDisplay.from_estimator(model, [["red", 1.5]])
    assert (display.label, display.against, display.end) == ("a", "b", np.inf)
    assert display.steps[0].nats == np.inf
    low, high = display.ax_.get_xlim()
    assert all(low <= bar.get_x() <= bar.get_x() + bar.get_width() <= high for bar in display.bars_)
    assert "rules b out" in [text.get_text() for text in display.ax_.texts]


def test_waterfalls_refuse_what_they_cannot_say(blobs):
    X, y = blobs
    model = NaiveBayes().fit(X, y)
    for told, error, match in (
        ({"row": len(X)}, DataError, "counted from 0"),
        ({"label": "oak"}, SettingError, "label='oak' is not a class"),
        ({"label": "ash", "against": "ash"}, SettingError, "against itself"),
    ):
        with pytest.raises(error, match=match):
            WaterfallDisplay.from_estimator(model, X, **told)
    with pytest.raises(SchemaError):
        WaterfallDisplay.from_estimator(model, X[:, :1])
    with pytest.raises(DataError, match="one class"):
        WaterfallDisplay.from_estimator(NaiveBayes().fit(X, ["a"] * len(X)), X)


# --- effects --------------------------------------------------------------------------------------------


def test_effects_of_naive_bayes_are_its_terms(mixed):
    """What a value says by itself is what it adds to every row that has it."""
    X, y = mixed
    model = NaiveBayes().fit(X, y)
    display = EffectDisplay.from_estimator(model, columns=list(X))
    told = model.explain(X)
    for j, (axis, effect) in enumerate(zip(display.axes, display.effects, strict=True)):
        name = X.columns[j]
        cells = X[name]
        if axis.levels is not None:
            for level, own in zip(axis.levels, effect, strict=True):
                has = np.array([cell is not pd.NA and cell == level for cell in cells], dtype=bool)
                assert_allclose(told[has, j], np.broadcast_to(own, (has.sum(), 3)), atol=1e-12)
            continue
        rows = X.iloc[np.full(len(axis.at), 5)].reset_index(drop=True)  # whatever the other cells hold
        rows[name] = axis.at
        assert_allclose(model.explain(rows)[:, j], effect, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "estimator", [GaussianDiscriminant(), MixtureDiscriminant(2, n_init=1, random_state=0), GenerativeForest()]
)
def test_effects_are_the_odds_of_a_row_of_which_nothing_else_is_known(estimator, blobs):
    X, y = blobs
    model = estimator.fit(X, y)
    display = EffectDisplay.from_estimator(model, columns=[1], label="ash", against="cedar", grid=20)
    rows = np.full((20, X.shape[1]), np.nan)
    rows[:, 1] = display.axes[0].at
    odds = model.predict_log_proba(rows)
    a, b = (model.classes_.tolist().index(name) for name in ("ash", "cedar"))
    wanted = odds[:, a] - odds[:, b] - np.log(model.priors_[a] / model.priors_[b])
    assert_allclose(display.curves[0][:, 0], wanted, rtol=1e-7, atol=1e-9)


def test_effects_know_neither_units_nor_order_nor_priors(blobs):
    X, y = blobs
    one = EffectDisplay.from_estimator(GaussianDiscriminant().fit(X, y), columns=[2, 0])
    turn = np.random.default_rng(1).permutation(len(X))
    scaled = GaussianDiscriminant(priors=[0.8, 0.1, 0.1]).fit(1000.0 * X[turn][:, ::-1] - 3.0, y[turn])
    d = X.shape[1]
    other = EffectDisplay.from_estimator(scaled, columns=[d - 3, d - 1])
    for a, b in zip(one.effects, other.effects, strict=True):
        assert_allclose(a, b, rtol=1e-6, atol=1e-8)
    new = {"ash": "z", "birch": "y", "cedar": "x"}
    named = EffectDisplay.from_estimator(
        GaussianDiscriminant().fit(X, [new[name] for name in y.tolist()]), columns=[2, 0]
    )
    for a, b in zip(one.effects, named.effects, strict=True):
        assert_allclose(a, b[:, ::-1], rtol=1e-9, atol=1e-12)


def test_two_classes_have_one_curve_and_many_those_of_the_commonest():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    display = EffectDisplay.from_estimator(NaiveBayes().fit(X + y[:, None], y))
    assert display.sides == ["1 against 0"]
    assert_allclose(display.curves[0][:, 0], display.effects[0][:, 1] - display.effects[0][:, 0])
    codes = np.concatenate([np.arange(30), np.repeat([3, 7, 9], 20), np.arange(30)])
    many = EffectDisplay.from_estimator(NaiveBayes().fit(rng.normal(size=(120, 2)) + codes[:, None], codes))
    assert len(many.sides) == 8
    assert {"3 against all on average", "7 against all on average", "9 against all on average"} <= set(many.sides)
    assert [line.get_text() for line in many.figure_.legends[0].get_texts()] == [side.split()[0] for side in many.sides]


def test_missing_cells_have_a_place_of_their_own(mixed):
    X, y = mixed
    display = EffectDisplay.from_estimator(NaiveBayes().fit(X, y), rows=True, label="a")
    said = [[text.get_text() for text in panel.texts] for panel in display.axes_]
    for name, own in zip((axis.label for axis in display.axes), said, strict=True):
        assert own == [f"missing, {100 * X[name].isna().mean():.0f} %"]


# --- tables as people have them -------------------------------------------------------------------------


def test_awkward_tables():
    rng = np.random.default_rng(0)
    n = 90
    codes = np.arange(n) % 30
    table = pd.DataFrame(
        {
            "$x_{1}$ & <b>": rng.normal(size=n) + codes,
            "always the same": 1.0,
            "a name that goes on and on and on and is much too long for any axis at all": rng.choice(list("äöü$_^"), n),
            "on": rng.random(n) < 0.5,
            "id": [f"row {i}" for i in range(n)],
            "huge": 10.0 ** rng.uniform(-140, 140, n),
        }
    )
    model = NaiveBayes().fit(table, [f"class $_{c}$ with a long name" for c in codes])
    EffectDisplay.from_estimator(model, rows=True).figure_.canvas.draw()
    WaterfallDisplay.from_estimator(model, table, row=4).figure_.canvas.draw()


def test_columns_that_share_out_a_total_have_no_picture_of_their_own():
    counts = np.random.default_rng(0).poisson(2.0, size=(40, 6)).astype(float)
    model = NaiveBayes("multinomial").fit(counts, np.arange(40) % 2)
    for display in (EffectDisplay, ClassDensitiesDisplay):
        with pytest.raises(DataError, match="no column that can be drawn by itself"):
            display.from_estimator(model)
    display = WaterfallDisplay.from_estimator(model, counts)
    assert_allclose(display.start + sum(step.nats for step in display.steps), display.end)
