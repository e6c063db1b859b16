"""Every command and option is explained, and explaining loads nothing heavy."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys

import pytest

from suffice import __version__
from suffice.cli.app import COMMANDS, build, command as function_of, examples, summary

NAMES = {command: function_of(command) for command in COMMANDS}
# what is written differs; fit knows no rows yet whose proportions to adapt to; cells cost by column, answers by class
OF_ITS_OWN = ("--output", "--priors", "--costs", "--keep")  # --keep: columns to learn from; cells in the answer
HEAVY = ("numpy", "scipy", "sklearn", "pyarrow", "narwhals", "joblib")


def test_the_top_lists_every_command(cli) -> None:
    done = cli("--help").ok()
    assert done.err == ""
    for name in NAMES:
        assert re.search(rf"│ {name} +\w", done.out), f"{name} has no help text"


@pytest.mark.parametrize("command", NAMES)
def test_the_list_says_what_the_command_says(command) -> None:
    assert summary(command) == inspect.getdoc(NAMES[command]).splitlines()[0]


@pytest.mark.parametrize("command", NAMES)
def test_every_option_has_help_text(cli, command) -> None:
    text = cli(command, "--help").out
    assert plain(inspect.getdoc(NAMES[command]).splitlines()[0]) in plain(text)
    arguments = build()[command].assemble_argument_collection(parse_docstring=True)
    arguments = [argument for argument in arguments if argument.name != "*"]  # the holder of the shared options
    assert {"--json", "--quiet"} < {argument.name for argument in arguments}
    for argument in arguments:
        name = argument.name.strip("-")
        assert argument.parameter.help, f"{name} of {command} has no help text"
        assert re.search(rf"(--)?{name}\b", text)
        assert plain(argument.parameter.help.split(".")[0])[:15] in plain(text)


@pytest.mark.parametrize("command", NAMES)
def test_every_help_text_shows_its_examples(cli, command) -> None:
    lines = examples(NAMES[command])
    assert lines
    text = cli(command, "--help").out
    for line in lines:
        assert shlex.split(line, comments=True)[:2] == ["suffice", command]
        assert line in text, "shown on one line, to be pasted"


def test_one_option_has_one_spelling_everywhere() -> None:
    """The same name takes the same kind of value, under the same placeholder and other names."""
    app = build()
    spellings: dict[str, dict[tuple, str]] = {}
    for command in NAMES:
        for argument in app[command].assemble_argument_collection(parse_docstring=True):
            if argument.name.startswith("--") and argument.name not in OF_ITS_OWN:
                shape = (argument.names, argument.parameter.metavar)
                spellings.setdefault(argument.name, {})[shape] = command
    assert {name: found for name, found in spellings.items() if len(found) > 1} == {}


def plain(text: str) -> str:
    """Text without boxes, marks and line breaks."""
    return re.sub(r"[^\w.,:]", "", text)


def test_no_command_prints_the_help(cli) -> None:
    assert cli().out == cli("--help").out


@pytest.mark.parametrize("words", [["--keep-rows", "5"], ["--keep-rows", "x"], ["--sheet"]])
def test_what_to_do_next_is_said_once(cli, words) -> None:
    done = cli("fit", "t.csv", "--target", "y", "-o", "m.suffice", *words)
    assert done.complaint.count("Next:") == 1


def test_version(cli) -> None:
    assert cli("--version").out.strip() == f"suffice {__version__}"


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["--version"], ["fit"]])
def test_help_loads_nothing_heavy(words) -> None:
    """The budget is three times `import numpy`; it holds as long as no such package is imported."""
    code = f"""
import sys
from suffice.__main__ import main
main({words!r})
print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


HIDE = """
import sys
from importlib.abc import MetaPathFinder

class Hide(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {name!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hide())
from suffice.__main__ import main
sys.exit(main({words!r}))
"""


@pytest.mark.parametrize("name", ["cyclopts", "pyarrow"])
def test_a_missing_package_of_the_extra(name, model) -> None:
    from suffice.datasets import penguins_path

    code = HIDE.format(name=name, words=["predict", str(model), str(penguins_path())])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert re.search(r'pip install ".*\[cli\]"', done.stderr)
    assert len(done.stderr.splitlines()) == 1
