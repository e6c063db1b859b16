"""Learned before, judged after: each step equals a fit to the rows of the periods before it."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant, NaiveBayes
from suffice.errors import DataError, SettingError

LEAST = 1e-15  # the probability that losses are of at least
LEVEL = 0.9


def turning(n: int, periods: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes whose boundary turns by half a radian from one period to the next."""
    rng = np.random.default_rng([3, seed])
    time, X = np.repeat(np.arange(periods), n // periods), rng.normal(size=(n, 2))
    score = X[:, 0] * np.cos(0.5 * time) + X[:, 1] * np.sin(0.5 * time)
    return X, np.where(score + 0.3 * rng.normal(size=n) > 0, "above", "below"), time


def mixed(n: int, periods: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers and categories with missing cells; a class and a level come late, and the rows are in no order."""
    rng = np.random.default_rng([4, seed])
    time, code = np.arange(n) * periods // n, rng.integers(0, 3, n)
    code[(code == 2) & (time < 2)] = 0
    level = np.where(rng.random(n) < 0.6, code, rng.integers(0, 4, n))
    level[(level == 3) & (time < 3)] = 1
    columns = {"x": code + rng.normal(size=n), "z": rng.normal(size=n) * (1 + code), "c": np.array(list("pqrs"))[level]}
    X = pd.DataFrame(columns)
    X.loc[rng.random(n) < 0.1, "x"] = np.nan
    X.loc[rng.random(n) < 0.1, "c"] = None
    order = rng.permutation(n)
    return X.iloc[order].reset_index(drop=True), np.array(["one", "two", "late"])[code][order], time[order]


def refitted(model, X, y, time, start, stop, weight=None):
    """The model of the rows of some periods, and what it says of those of the next: log p of the own class, or -inf."""
    before, here = (time >= start) & (time < stop), time == stop
    model.fit(X[before], y[before], None if weight is None else weight[before])
    found = model.predict_log_proba(X[here])
    place = {label: c for c, label in enumerate(model.classes_.tolist())}
    own = np.array([found[i, place[label]] if label in place else -np.inf for i, label in enumerate(y[here])])
    known = np.array([label in place for label in y[here]])
    return model, X[here], own, known, found, place


MODELS = [
    GaussianDiscriminant(),
    GaussianDiscriminant(shared=True),
    GaussianDiscriminant(shrinkage="loo"),
    GaussianDiscriminant(covariance="diagonal", priors="uniform"),
    NaiveBayes(),
    MixtureDiscriminant(n_components=1),
    GenerativeForest(),
    GenerativeClassifier(),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_each_step_equals_a_fit_to_the_periods_before_it(model):
    slow = isinstance(model, GenerativeClassifier | GenerativeForest)
    X, y, time = turning(120, 3) if slow else turning(300, 5)
    found = model.validate_forward(X, y, time=time, windows=[2])
    for t in range(1, len(found.since) + 1):
        again, rows, own, _, _, place = refitted(model, X, y, time, 0, t)
        lost = -np.maximum(own, np.log(LEAST))
        assert_allclose(found.log_loss[t - 1], lost.mean(), atol=1e-10)
        assert_allclose(found.log_loss_error[t - 1], lost.std(ddof=1) / np.sqrt(len(lost)), rtol=1e-9)
        assert_allclose(found.said[t - 1], again.quality().log_loss, atol=1e-10)
        sets, truth = again.predict_set(rows, alpha=1 - LEVEL), [place[label] for label in y[time == t]]
        assert_allclose(found.coverage[t - 1], sets[np.arange(len(rows)), truth].mean(), atol=1e-12)
        assert_allclose(found.set_size[t - 1], sets.sum(axis=1).mean(), atol=1e-12)
        posterior = again.predict_proba(rows)
        assert_allclose(found.confidence[t - 1], posterior.max(axis=1).mean(), atol=1e-10)
        assert_allclose(found.accuracy[t - 1], (again.predict(rows) == y[time == t]).mean(), atol=1e-12)
    assert_array_equal(found.learned, np.cumsum(np.bincount(time))[:-1])


LATE = [*product((NaiveBayes(), GaussianDiscriminant()), (False, True)), (GenerativeForest(), True)]


@pytest.mark.parametrize(("model", "weighted"), LATE, ids=str)
def test_classes_and_levels_that_come_late_are_as_in_a_fit_before_them(model, weighted):
    X, y, time = mixed(120, 4)
    X = X[["x", "z"]] if isinstance(model, GaussianDiscriminant) else X
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    found = model.validate_forward(X, y, weight, time=time, windows=())
    copies = np.ones(len(y)) if weight is None else weight
    for t in range(1, 4):
        _, _, own, known, posterior, _ = refitted(model, X, y, time, 0, t, weight)
        w = copies[time == t]
        assert_allclose(
            found.log_loss[t - 1], np.average(-np.maximum(own[known], np.log(LEAST)), weights=w[known]), atol=1e-10
        )
        right = np.isfinite(own) & (own >= posterior.max(axis=1))
        assert_allclose(found.accuracy[t - 1], np.average(right, weights=w), atol=1e-12)
        assert found.new[t - 1] == (~known & (w > 0)).sum()
        assert found.rows[t - 1] == (w > 0).sum()
    assert found.new.any()


def test_windows_equal_fits_to_the_last_periods():
    X, y, time = turning(300, 6)
    model = GaussianDiscriminant()
    found = model.validate_forward(X, y, time=time)
    assert found.windows == (1, 2, 4, 5)
    lost = np.array(
        [np.concatenate([-refitted(model, X, y, time, max(t - m, 0), t)[2] for t in range(1, 6)]) for m in (1, 2, 4, 5)]
    )
    assert_allclose(found.window_loss, lost.mean(axis=1), atol=1e-10)
    assert_allclose(found.window_above, (lost - lost[-1]).mean(axis=1), atol=1e-10)
    assert_allclose(found.window_error, (lost - lost[-1]).std(axis=1, ddof=1) / np.sqrt(250), rtol=1e-8, atol=1e-12)
    first = model.fit(X[time == 0], y[time == 0])
    stale = [
        -first.predict_log_proba(X[time == t])[np.arange(50), (y[time == t] == "below").astype(int)].mean()
        for t in range(1, 6)
    ]
    assert_allclose(found.unchanged, stale, atol=1e-10)
    assert found.best_window == 1


def test_a_boundary_that_turns_is_seen_and_one_that_stays_is_not():
    X, y, time = turning(1200, 6)
    found = GaussianDiscriminant().validate_forward(X, y, time=time)
    assert found.mean("log_loss") > found.mean("said") + 0.2
    assert found.mean("coverage") < LEVEL - 0.1
    assert "alone loses" in str(found)
    still = GaussianDiscriminant().validate_forward(X, y, time=np.random.default_rng(0).permutation(time))
    assert abs(still.mean("log_loss") - still.mean("said")) < 0.1
    assert abs(still.mean("coverage") - LEVEL) < 0.05
    assert "as well as fewer" in str(still)


def test_what_a_model_has_learned_can_be_the_period_before_all():
    X, y, time = mixed(120, 3)
    for model in (NaiveBayes(), GenerativeForest()):
        whole = model.validate_forward(X, y, time=time, windows=[1])
        model.fit(X[time == 0], y[time == 0])
        kept = model.statistics_
        found = model.validate_forward(X[time > 0], y[time > 0], time=time[time > 0], windows=[1], learned=True)
        assert model.statistics_ is kept
        for name in ("log_loss", "said", "unchanged", "coverage", "accuracy", "window_loss", "new"):
            assert_allclose(getattr(found, name), getattr(whole, name), atol=1e-10)


# --- periods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda days: [dt.date(2026, 1, 1) + dt.timedelta(int(d)) for d in days],
        lambda days: np.datetime64("2026-01-01") + days.astype("timedelta64[D]"),
        lambda days: pd.Series(pd.Timestamp("2026-01-01", tz="Europe/Paris") + pd.to_timedelta(days, "D")),
        lambda days: pl.Series([dt.datetime(2026, 1, 1) + dt.timedelta(int(d)) for d in days]),
        lambda days: pa.chunked_array([pa.array([dt.date(2026, 1, 1) + dt.timedelta(int(d)) for d in days])]),
        lambda days: [(dt.date(2026, 1, 1) + dt.timedelta(int(d))).isoformat() for d in days],
        lambda days: [str(d) for d in days],
        lambda days: pd.array(days, dtype="Int64"),
        lambda days: pd.period_range("2026-01", periods=400, freq="D")[days].astype(str).to_list(),
    ],
)
def test_times_of_any_kind_make_the_same_periods(make):
    X, y, _ = turning(120, 4)
    days = np.random.default_rng(0).integers(0, 300, 120)
    found, plain = (
        GaussianDiscriminant().validate_forward(X, y, time=own, periods=4, windows=()) for own in (make(days), days)
    )
    assert_array_equal(found.rows, plain.rows)
    assert_allclose(found.log_loss, plain.log_loss, rtol=0, atol=0)


def test_equal_times_stay_in_one_period_and_the_others_hold_about_as_many_rows():
    X, y, _ = turning(400, 4)
    time = np.random.default_rng(0).permutation(np.append(np.zeros(160), np.arange(1, 241)))
    found = GaussianDiscriminant().validate_forward(X, y, time=time, periods=5, windows=())
    assert found.learned[0] == 160
    assert_array_equal(found.learned[-1] + found.rows[-1], 400)
    assert found.rows.min() >= 70


def test_the_order_of_rows_and_the_units_of_time_do_not_matter():
    X, y, time = turning(300, 5)
    order = np.random.default_rng(0).permutation(300)
    one = NaiveBayes().validate_forward(X, y, time=time)
    two = NaiveBayes().validate_forward(X[order], y[order], time=1e6 + 7.0 * time[order])
    for name in ("log_loss", "said", "coverage", "window_loss", "calibration_error"):
        assert_allclose(getattr(one, name), getattr(two, name), atol=1e-10)


# --- groups -----------------------------------------------------------------------------------------------------------


def test_rows_of_groups_known_before_are_not_judged():
    X, y, time = turning(240, 4)
    groups = np.arange(240) % 90
    found = GaussianDiscriminant().validate_forward(X, y, groups=groups, time=time)
    for t in range(1, 4):
        new = ~np.isin(groups[time == t], groups[time < t])
        assert found.rows[t - 1] == new.sum()
    model = GaussianDiscriminant().fit(X[time < 1], y[time < 1])
    lost = -model.predict_log_proba(X[time == 1])[np.arange(60), (y[time == 1] == "below").astype(int)]
    assert_allclose(found.log_loss[0], lost[~np.isin(groups[time == 1], groups[time < 1])].mean(), atol=1e-10)
    with pytest.raises(DataError, match=r"No row can be judged.*leave groups out"):
        GaussianDiscriminant().validate_forward(X, y, groups=np.arange(240) % 60, time=time)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (np.zeros(80), "one period"),
        (np.append(np.arange(79.0), np.nan), r"1 of 80 rows has no time \(the first is row 79\)"),
        ([None, *range(79)], "first is row 0"),
        (np.arange(70), "80 rows and 70 times"),
        ([f"{d % 28 + 1:02}.03.2026" for d in range(80)], r"'01.03.2026' are dates that do not sort"),
        ([dt.date(2026, 1, 1), *range(79)], "all of one kind"),
    ],
)
def test_times_that_cannot_be_are_refused(time, words):
    X, y, _ = turning(80, 4)
    with pytest.raises(DataError, match=words):
        GaussianDiscriminant().validate_forward(X, y, time=time)


@pytest.mark.parametrize(
    "told", [{"periods": 1}, {"periods": 2.5}, {"windows": [0]}, {"level": 1.0}, {"level": "much"}]
)
def test_settings_that_cannot_be_are_refused(told):
    X, y, time = turning(80, 4)
    with pytest.raises(SettingError, match=next(iter(told))):
        GaussianDiscriminant().validate_forward(X, y, time=time, **told)


def test_a_first_period_of_one_class_and_models_without_rows_say_nothing_of_themselves():
    X, y, time = turning(80, 4)
    y = np.where(time == 0, "above", y)
    found = GaussianDiscriminant().validate_forward(X, y, time=time)
    assert np.isnan(found.said[0])
    assert found.log_loss[0] == 0.0
    assert found.new[0] == (y[time == 1] == "below").sum()
    bare = GaussianDiscriminant(keep_rows=0).validate_forward(X, y, time=time)
    assert np.isnan(bare.said).all()
    assert np.isnan(bare.coverage).all()
    assert_allclose(bare.log_loss, found.log_loss, atol=1e-12)
    assert "hold the class" not in str(bare)


def test_tables_and_plain_values():
    X, y, time = turning(300, 6)
    found = GaussianDiscriminant().validate_forward(pd.DataFrame(X, columns=["a", "b"]), y, time=time, windows=[1])
    frame = found.to_frame()
    assert list(frame["since"]) == ["1", "2", "3", "4", "5"]
    assert_allclose(frame["log_loss"], found.log_loss)
    assert list(found.to_frame("windows")["periods"]) == [1, 5]
    plain = found.to_dict()
    assert plain["best_window"] == found.best_window
    assert plain["periods"][2]["log_loss"] == found.log_loss[2]
    assert_allclose(plain["log_loss"], np.average(found.log_loss, weights=found.weight))
    with pytest.raises(SettingError, match="what"):
        found.to_frame("rows")
    assert "alone" not in str(replace(found, window_loss=np.array([np.nan, 0.3])))  # one period was too few rows
