"""A time limit: what it leaves out, that it is kept to, and that an ample one changes nothing."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification

from suffice import GenerativeClassifier
from suffice.automatic import choose
from suffice.errors import SettingError
from suffice.notes import Kind
from suffice.progress import EXPECTED, listen

TINY = 1e-3  # seconds


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(1000, 8, n_informative=5, n_classes=3, random_state=0)


def test_an_ample_limit_changes_no_bit(rows) -> None:
    X, y = rows
    without, ample = GenerativeClassifier().fit(X, y), GenerativeClassifier(time_limit=1e6).fit(X, y)
    assert ample.members_ == without.members_
    np.testing.assert_array_equal(ample.predict_proba(X[:200]), without.predict_proba(X[:200]))
    assert [str(note) for note in ample.notes_] == [str(note) for note in without.notes_]


def test_what_the_time_does_not_suffice_for_is_left_out_and_said(rows) -> None:
    X, y = rows
    model = GenerativeClassifier(time_limit=TINY).fit(X, y)
    names = {own["name"] for own in model.members_}
    assert names
    assert "boosted trees" not in names
    left_out = [note for note in model.notes_ if "time_limit" in note.why]
    assert [note.kind for note in left_out] == [Kind.LEFT_OUT]
    assert "'boosted trees'" in left_out[0].what
    assert model.score(X, y) > 0.4  # three classes


def test_the_limit_is_kept_to_after_edits_and_in_files(rows, read_back) -> None:
    X, y = rows
    model = GenerativeClassifier(time_limit=TINY).fit(X, y)
    again = read_back(model)
    assert again.time_limit == TINY
    np.testing.assert_array_equal(again.predict_proba(X[:50]), model.predict_proba(X[:50]))
    half = GenerativeClassifier(time_limit=TINY).fit(X[:600], y[:600])
    for edited in (
        GenerativeClassifier(time_limit=TINY).fit(X[:600], y[:600]).partial_fit(X[600:], y[600:]),
        GenerativeClassifier(time_limit=TINY).fit(X[600:], y[600:]).merge(half),
        model.forget(X[:10], y[:10]),
    ):
        assert "boosted trees" not in {own["name"] for own in edited.members_}


def test_trees_are_cut_short_rather_than_left_out(rows) -> None:
    X, y = rows
    began = time.perf_counter()
    GenerativeClassifier(members="generative").fit(X, y)
    took = time.perf_counter() - began
    model = GenerativeClassifier(time_limit=3.0 * took + 0.2).fit(X, y)
    assert "boosted trees" in {own["name"] for own in model.members_}


def test_members_that_very_wide_tables_do_not_have_take_no_time(monkeypatch, rng) -> None:
    costs, told = choose._costs, list[dict]()
    monkeypatch.setattr(choose, "_costs", lambda *given: told.append(costs(*given)) or told[0])
    GenerativeClassifier(time_limit=1e6).fit(rng.normal(size=(70, 500)), np.arange(70) % 2)
    expected = {kind.kinds[0] for kind, seconds in told[0].items() if kind and seconds}
    assert expected == {"gaussian", "hats", "forest", "boosted trees"}  # which are the kinds of its members


def test_a_long_fit_is_told_beforehand(monkeypatch) -> None:
    monkeypatch.setattr("suffice.automatic.choose.LONG", 0.0)
    told = list[str]()
    with listen(told.append):
        GenerativeClassifier().fit(*load_breast_cancer(return_X_y=True))
    assert told[0].startswith(f"{EXPECTED} about")


def test_it_is_a_setting_like_others(rows) -> None:
    model = clone(GenerativeClassifier(time_limit=7.5))
    assert model.get_params()["time_limit"] == 7.5
    assert model.set_params(time_limit=None).time_limit is None
    for wrong in (0, -1.0, np.inf, np.nan, "60", True):
        with pytest.raises(SettingError, match="number of seconds above 0"):
            GenerativeClassifier(time_limit=wrong).fit(*rows)
