"""`make each`: targets are tried in copies of the tracked files, apart from each other, and all of them."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LACKING = [name for name in ("make", "git") if shutil.which(name) is None]
needs_make = pytest.mark.skipif(bool(LACKING), reason=f"needs {' and '.join(LACKING)}")


@pytest.fixture
def each():
    spec = spec_from_file_location("each", ROOT / "scripts" / "each.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKEFILE = """\
good: ## Fine
\t@test "$(MAKELEVEL)$(CHEAP)" = 0
\t@test -f tracked && test ! -f left && test ! -f untracked && touch left
bad: ## Not fine
\t@echo "the reason"; exit 3
last: ## Tried all the same, and without what `good` has left
\t@test ! -f left
each: ## This one
"""


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    (root / "Makefile").write_text(MAKEFILE)
    for name in ("tracked", "untracked"):
        (root / name).touch()
    for command in (["init", "-q"], ["add", "Makefile", "tracked"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


@needs_make
def test_each_target_has_a_copy_of_its_own_and_all_are_tried(each, project, capsys, monkeypatch):
    monkeypatch.setenv("CHEAP", "1")  # as an outer `make each CHEAP=1` hands it on
    monkeypatch.setenv("MAKELEVEL", "1")
    assert each.main([], project) == 1
    said = capsys.readouterr().out.splitlines()
    told = [tuple(line.split()[::3]) for line in said if " min " in line]
    assert told == [("good", "passed"), ("bad", "failed"), ("last", "passed")]
    assert "    the reason" in said
    assert said[-1] == "3 tried, 1 failed: bad"
    assert sorted(path.name for path in project.glob("[!.]*")) == ["Makefile", "tracked", "untracked"]


def test_the_lists_name_targets_of_the_makefile(each, monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", "w")  # `make test` hands on what makes this one tell where it enters and leaves
    known = each.targets(ROOT / "Makefile")
    assert {*each.CHEAP, *each.SHORT, *each.LEFT_OUT} <= set(known)
    if shutil.which("make"):
        alone = each.environment()
        listed = subprocess.run(
            ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True, env=alone
        ).stdout
        assert [line.split()[1] for line in listed.splitlines()] == known
