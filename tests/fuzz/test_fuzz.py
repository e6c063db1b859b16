"""A brief run of every fuzz target, and the inputs that once went wrong. `make fuzz` runs longer."""

import contextlib
import random
from pathlib import Path

import fuzz_tables
import numpy as np
import pytest
from fuzz import BRIEF, run
from fuzz_models import MODELS, VERBS, ModelFiles
from legal_tables import draw
from memory import memory_below

from suffice import load
from suffice.errors import ModelFileError, SettingError, SufficeError

CORPUS = sorted(Path(__file__).with_name("corpus").iterdir())
ROOM = 64 << 20  # bytes: reading a file of at most 100 kB should never take as much


@pytest.mark.slow
@pytest.mark.parametrize(("target", "count"), [("models", 150), ("csv", 60), ("arrow", 40)])
def test_a_brief_run_finds_nothing(target, count, tmp_path):
    outcomes, findings = run(target, seed=7, count=count, keep=tmp_path / "found")
    assert findings == []
    assert sum(outcomes.values()) == count
    assert len(outcomes) > 1, "all cases end alike, so that the target tries nothing"


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 50, 100])
def test_legal_tables_fit_and_answer(first, tmp_path):
    """`make tables` tries larger ones, all estimators and more questions."""
    outcomes, findings = run(BRIEF, seed=7, count=50, first=first, keep=tmp_path / "found")
    assert findings == []
    assert outcomes["all answered"] > 33, "what is refused everywhere is not tried"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [136780375, 1072209434, 913411991])
@pytest.mark.parametrize("name", ["forest", "naive", "full", "oas", "automatic"])
def test_tables_that_once_failed_are_answered(tmp_path, seed, name):  # raises what it finds
    fuzz_tables.LegalTables(tmp_path).ask(draw(seed, large=0.02), {name: ["suspect_cells", "groups="]})


@pytest.mark.slow
def test_draws_of_a_column_that_varies_by_rounding_in_a_class(tmp_path):
    verbs = {"automatic": ["impute(draws=)", "predict_proba_interval"]}
    assert fuzz_tables.LegalTables(tmp_path).ask(draw(1484413495, large=0.02), verbs) == [0]


def test_a_verb_or_a_fit_that_fails_is_a_finding(tmp_path, monkeypatch):
    """The judge of tables is not blind either: not to warnings, nor to errors of ours in a fit."""
    for fault in (lambda *a: np.log(np.zeros(1)), lambda *a: 1 / 0):
        monkeypatch.setattr("fuzz_tables.VERBS", {"predict": fault})
        assert run(BRIEF, count=1, keep=tmp_path / "found")[1]
    monkeypatch.setattr("fuzz_tables.VERBS", {"predict": Refusing().fit})
    assert run(BRIEF, count=1, keep=tmp_path / "found")[0]["some questions refused"] == 1
    monkeypatch.setattr("fuzz_tables.MODELS", {"automatic": Refusing, "forest": Refusing})
    assert "SettingError" in run(BRIEF, count=1, keep=tmp_path / "found")[1][0]


class Refusing:
    def fit(self, *table):
        raise SettingError("no")


class Blind(ModelFiles):
    def __init__(self, folder):
        self.path, self.again, self.input = folder / "model.suffice", folder / "again.suffice", b"no model"

    def try_one(self, pick):
        self.table = {"full": (None, None)}
        return self.judge(self.input, "full", pick)


def test_a_finding_is_reported_and_kept(tmp_path, monkeypatch):
    """The judge is not blind: a loader that lets through what it should not is found, with the input beside it."""
    monkeypatch.setattr("fuzz_models.load", lambda path: 1 / 0)
    monkeypatch.setattr("fuzz.make_target", lambda name, folder: Blind(folder))
    outcomes, findings = run("models", seed=3, count=2, keep=tmp_path / "found")
    assert outcomes["FOUND"] == 2
    assert "ZeroDivisionError" in findings[0]
    assert (tmp_path / "found" / "models-3-1.suffice").read_bytes() == b"no model"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that no table has
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_once_went_wrong(path, tmp_path):
    """A model file that loads answers every question or refuses it by name; its name begins with that of the model."""
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    X, y = MODELS[path.stem.partition("-")[0].replace("_", " ")][1]()
    for verbs in [(verb,) for verb in sorted(VERBS)] + [("partial_fit", "leave_one_out")]:
        try:
            model = load(copy)
        except ModelFileError:
            return
        for verb in verbs:
            with contextlib.suppress(SufficeError):
                if hasattr(model, verb):
                    VERBS[verb](model, X, y, tmp_path / "again.suffice" if verb == "save" else copy)


def test_no_changed_file_takes_much_memory(tmp_path):
    target = ModelFiles(tmp_path)
    for number in range(40):
        pick = random.Random(f"memory {number}")
        with memory_below(ROOM), contextlib.suppress(ModelFileError):
            target.path.write_bytes(target._signed("full", pick))
            load(target.path)
