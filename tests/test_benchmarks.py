"""The benchmarks of accuracy and of drawn rows: scores, comparisons and reports of made-up results."""

import importlib
import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from suffice.progress import tell

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
MODULES = (
    *("measures", "runs", "splits", "tables", "holes", "drawn_rows"),
    *("accuracy_summary", "accuracy_report", "accuracy_curves", "generation_report"),
)


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


# --- scores ----------------------------------------------------------------------------------------------------------


def test_log_loss_is_scikit_learns():
    from measures import scores

    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(3), 500), rng.integers(0, 3, 500)
    assert scores(p, y)["loss"] == pytest.approx(log_loss(y, p), rel=1e-12)
    assert scores(p, y)["error"] == pytest.approx(np.mean(p.argmax(axis=1) != y), rel=1e-12)


def test_a_posterior_of_nothing_costs_what_the_clip_says():
    from measures import CLIP, scores

    assert scores(np.array([[1.0, 0.0]]), np.array([1]))["loss"] == pytest.approx(-np.log(CLIP), rel=1e-9)


def test_calibration_error_of_posteriors_that_promise_too_much():
    from measures import scores

    y = np.array([0] * 7 + [1] * 3)  # .7 are right
    assert scores(np.tile([0.9, 0.1], (10, 1)), y)["calibration"] == pytest.approx(0.2, abs=1e-12)
    assert scores(np.tile([0.7, 0.3], (10, 1)), y)["calibration"] == pytest.approx(0.0, abs=1e-12)


# --- results kept, calls with a limit ----------------------------------------------------------------------------


def test_a_run_goes_on_where_it_stopped(tmp_path):
    from runs import Kept

    path = tmp_path / "runs" / "a.jsonl"
    first = Kept(path, ("table", "model"))
    first.add({"table": "a", "model": "x", "loss": 0.5})
    first.add({"table": "a", "model": "y", "loss": 0.6})
    again = Kept(path, ("table", "model"))
    assert {"table": "a", "model": "x"} in again
    assert {"table": "b", "model": "x"} not in again
    again.forget(model=["x"], table=["b"])
    assert {"table": "a", "model": "x"} in again
    again.forget(model=["x"], table=["a"])
    last = Kept(path, ("table", "model"))
    assert [line["model"] for line in last.lines] == ["y"]
    assert {"table": "a", "model": "x"} not in last


def fails():
    raise ValueError("no  such\nthing")


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # newer Pythons, where a test runner has threads
def test_failures_are_results():
    from runs import within

    assert within(60, dict, {"loss": 1.0}) == {"loss": 1.0}
    assert within(60, fails) == {"failed": "ValueError: no such thing"}
    assert within(60, dies) == {"failed": f"its process ended with status {-signal.SIGKILL}"}
    assert within(0.2, time.sleep, 60)["failed"].startswith("not done after")


def test_a_section_replaces_the_one_before_and_nothing_else(tmp_path):
    from runs import place

    path = tmp_path / "page.md"
    path.write_text("head\n\n<!-- a -->\nold\n<!-- end of a -->\n\ntail\n", encoding="utf-8")
    place(path, "a", "new")
    place(path, "b", "more")
    text = path.read_text(encoding="utf-8")
    assert text == "head\n\n<!-- a -->\nnew\n<!-- end of a -->\n\ntail\n\n<!-- b -->\nmore\n<!-- end of b -->\n"


# --- rows to learn and to test on ------------------------------------------------------------------------------------


def made_up_table(n):
    from tables import Table

    y = np.repeat([0, 1, 2], [n // 2, n // 4, n - n // 2 - n // 4])
    return Table("made", "here", pd.DataFrame({"x": np.arange(float(n))}), y)


def test_fewer_rows_to_learn_are_among_the_more_and_none_is_tested_on():
    from splits import SIZES, fewer, whole

    table = made_up_table(30_000)
    _, train, test = whole(table)
    assert len(train) + len(test) == 20_000
    assert not set(train) & set(test)
    kept = set(train)
    for size, (_, part, tested) in zip(sorted(SIZES, reverse=True), fewer(table), strict=True):
        assert len(part) == len(set(part)) == size
        assert set(part) <= kept
        assert np.array_equal(tested, test)
        shares = np.bincount(table.y[part]) / size
        assert shares == pytest.approx(np.bincount(table.y[train]) / len(train), abs=2 / size)
        kept = set(part)


# --- comparisons -----------------------------------------------------------------------------------------------------


def folds(table, model, *losses, part="small", **given):
    told = {"error": 0.1, "calibration": 0.05, "seconds": 1.0, "predict_seconds": 0.1, "learned": 80}
    label = {"part": part, "table": table, "rows": 1000, "repeat": 0, "model": model, "clip": 1e-15}
    return [{**label, "fold": i, **told, "loss": loss, **given} for i, loss in enumerate(losses)]


def compared():
    """Three small tables: iris won, wine lost by a factor of 2, crabs tied; "other" fails in one fold of tae."""
    lines = [
        *folds("iris", "suffice", 0.1, 0.3),
        *folds("iris", "other", 0.4, 0.4),
        *folds("wine", "suffice", 0.4, 0.4),
        *folds("wine", "other", 0.2, 0.2),
        *folds("crabs", "suffice", 0.3, 0.3),
        *folds("crabs", "other", 0.3001, 0.3001),
        *folds("tae", "suffice", 0.9, 0.9),
        *folds("tae", "other", 0.1),
    ]
    failed = {key: value for key, value in folds("tae", "other", 0.0)[0].items() if key != "loss"}
    return [*lines, {**failed, "fold": 1, "failed": "ValueError: why"}]


def test_wins_ties_losses_and_failures():
    from accuracy_summary import duel, failures, judged, losses, ratio

    loss = judged(compared()).loss
    assert duel(loss, "other") == (1, 1, 1)  # nothing is won against who fails
    turned = loss.rename(columns={"suffice": "other", "other": "suffice"})
    assert duel(turned, "other") == (1, 1, 2)  # but where suffice itself fails it has lost
    assert ratio(loss, "other") == pytest.approx((2.0 * 0.5 * 0.3001 / 0.3) ** (1 / 3))  # where neither failed
    assert losses(loss) == (["wine 2.00 (other)"], ["crabs"])
    assert failures(compared()) == ["other on tae (1×): ValueError: why"]


def test_a_table_that_not_all_were_measured_on_is_named_and_left_out():
    from accuracy_summary import complete

    lines = [*compared(), *folds("penguins", "suffice", 0.1, 0.1)]
    found, left_out = complete(lines)
    assert left_out == ["penguins"]
    assert {line["table"] for line in found} == {"iris", "wine", "crabs", "tae"}


def test_reports_name_what_is_lost_and_what_failed():
    from accuracy_report import page, report, short

    lines = [line for line in compared() if line["table"] in ("iris", "wine")]
    lines += [{**line, "table": "breast_cancer"} for line in compared() if line["table"] == "tae"]
    text = report(lines, None)
    assert "### Small (at most 300 rows): 2 tables" in text
    assert "### Medium (301 to 1,000 rows, or as many of more): 1 tables" in text
    assert "wine 2.00 (other)" in text
    assert "- other on breast_cancer (1×): ValueError: why" in text
    assert "| other | 0.300 (1.00×), 1 / 0 / 1 | failed, 0 / 0 / 0 |" in page(lines, None)
    rows = short(lines).split("\n\n")[1].splitlines()
    assert rows[0] == "| classifier | small, 2 tables | medium, 1 tables | suffice is better on |"
    assert [row.split(" | ")[0] for row in rows[2:]] == ["| suffice", "| other"]
    assert rows[3].endswith("| failed | 1 of 3 |")  # and nothing is won against who fails


# --- drawn rows ------------------------------------------------------------------------------------------------------


def mixed(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n) + shift
    b = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 9, n).astype(float))
    c = pd.Categorical(np.where(a > 0, "up", "down"))
    return pd.DataFrame({"a": a, "b": b, "c": c})


def test_rows_of_one_distribution_are_not_told_apart_and_of_others_are():
    from drawn_rows import told_apart

    # the standard error of an AUC of 300 and 300 rows is sqrt(601 / (12 · 300²)) = 0.024
    assert told_apart(mixed(300, 1), mixed(300, 2)) == pytest.approx(0.5, abs=0.1)
    assert told_apart(mixed(300, 1, shift=20.0), mixed(300, 2)) == pytest.approx(1.0, abs=1e-3)


def test_distances_of_columns_by_hand():
    from drawn_rows import compared

    real = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.nan], "c": pd.Categorical(["x", "x", "y", None])})
    drawn = pd.DataFrame({"c": ["x", "y", "y", "y"], "a": [1.0, 2.5, 4.0, 5.0]})
    found = compared(drawn, real, real)
    assert found["ks"] == pytest.approx(1 / 2)  # at 3: all of the real ones, and half of the drawn
    assert found["tv"] == pytest.approx(1 / 2)  # of x 2/4 and 1/4, of y 1/4 and 3/4, missing 1/4 and 0
    assert found["holes"] == pytest.approx(1 / 4)
    assert found["whole"] == 0.0
    assert found["within"] == pytest.approx(1 / 2)
    assert found["copies"] == pytest.approx(1 / 4)  # (1, x)
    assert compared(real, real, real)["copies"] == 1.0


def test_holes_come_back():
    from holes import with_holes, without_holes

    table = mixed(50, 3)
    table.loc[:4, "c"] = None
    whole = without_holes(table)
    assert not whole.isna().any(axis=None)
    back = with_holes(whole, table)
    assert np.array_equal(back["a"], table["a"])
    assert np.array_equal(back["b"], table["b"], equal_nan=True)
    assert list(back["c"].dropna()) == list(table["c"].dropna())
    assert np.array_equal(back["c"].isna(), table["c"].isna())


# --- the wrapper for TabArena, with a stand-in for AutoGluon's interface ---------------------------------------------


class Interface:
    """What the wrapper takes from AutoGluon's AbstractModel."""

    model = None

    def preprocess(self, X, **kwargs):
        return X

    def _get_model_params(self):
        return {}

    def _predict_proba(self, X, **kwargs):
        return self.model.predict_proba(X), os.environ["OMP_NUM_THREADS"]


class Pool:
    """A classifier that knows how probable the first class is, by its members, and what time it is after a fit."""

    known, clock = {}, [0.0]

    def __init__(self, members):
        self.members = members

    def fit(self, X, y):
        self.clock[0] += 10
        tell("judging a member")
        self.learned, self.threads, self.classes_ = len(X), os.environ["OMP_NUM_THREADS"], np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile([self.known[self.members], 1 - self.known[self.members]], (len(X), 1))


@pytest.fixture
def wrapped(monkeypatch):
    """A wrapper to fit, and the error that it raises without time."""
    late = type("TimeLimitExceeded", (Exception,), {})
    for name, holds in {"core": {}, "core.models": {"AbstractModel": Interface}, "core.utils": {}}.items():
        monkeypatch.setitem(sys.modules, f"autogluon.{name}", SimpleNamespace(**holds))
    monkeypatch.setitem(sys.modules, "autogluon.core.utils.exceptions", SimpleNamespace(TimeLimitExceeded=late))
    monkeypatch.syspath_prepend(str(BENCHMARKS / "tabarena"))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    monkeypatch.setattr("suffice.GenerativeClassifier", Pool)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    model = importlib.import_module("model")
    monkeypatch.setattr(model, "time", SimpleNamespace(monotonic=lambda: Pool.clock[0]))
    yield model.SufficeModel(), late
    sys.modules.pop("model")


ROWS = {"X": pd.DataFrame({"a": range(6)}), "y": pd.Series([0, 1] * 3), "num_cpus": 3, "num_gpus": 0}
HELD = {"X_val": pd.DataFrame({"a": range(4)}), "y_val": pd.Series([0] * 4)}


@pytest.mark.parametrize(
    ("generative", "given", "kept"),
    [
        *[(0.6, HELD, "all"), (0.9, HELD, "generative"), (0.9, {}, "all")],
        *[(0.6, HELD | {"time_limit": limit}, name) for limit, name in ((15, "generative"), (30, "all"))],
        (0.9, {"time_limit": 15}, "generative"),
    ],
)
def test_validation_rows_and_the_time_left_say_which_pool_is_kept(wrapped, generative, given, kept):
    model, _ = wrapped
    Pool.known = {"generative": generative, "all": 0.8}
    model._fit(**ROWS, **given)
    assert (model.model.members, model.model.learned) == (kept, 6)
    assert (model.model.threads, os.environ["OMP_NUM_THREADS"]) == ("3", "7")
    assert model._predict_proba(ROWS["X"])[1] == "3"


def test_without_time_for_the_first_pool_the_wrapper_says_so(wrapped):
    model, late = wrapped
    with pytest.raises(late):
        model._fit(**ROWS, time_limit=5)
    assert model.model is None
