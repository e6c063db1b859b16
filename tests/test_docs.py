"""The documents: every command and public name is in them, their commands are commands, their links lead somewhere.

The Python examples are run by `make test`, see conftest.py; here it is checked that none escapes that.
"""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from suffice.__main__ import main
from suffice.cli.app import COMMANDS, build
from suffice.datasets import penguins_path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)],
    key=lambda path: path.as_posix(),
)
# Python blocks are run, commands are parsed; the others are no code that could go wrong.
LANGUAGES = {"python", "console", "sh", "sql", "text", "py"}  # make arrays runs the "py" of docs/embeddings.md
NOT_RUN = {"CHANGELOG.md", "CONTRIBUTING.md"}  # conftest.py runs the others
FENCE = re.compile(r"^( *)(`{3,}|:{3,})([^\n`]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    path: Path
    line: int
    language: str
    text: str


@cache
def blocks() -> list[Block]:
    """Fenced blocks of every document; directives such as {toctree} are not among them."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            language = match[3].strip()
            if match[2][0] == "`" and not language.startswith("{"):
                found.append(Block(path, text.count("\n", 0, match.start()) + 1, language, match[4]))
    return found


@cache
def prose() -> str:
    """What the pages of the site say, but for the reference, which is made of docstrings."""
    return "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS if "reference" not in path.parts)


def commands() -> list[tuple[str, str]]:
    """(place, command line) of every command that a document shows."""
    found = []
    for block in blocks():
        if block.language not in ("console", "sh"):
            continue
        text = re.sub(r"\\\n\s*", " ", block.text)
        for words in re.findall(r"^(?:[\w-]*\$ )?(suffice .+)$", text, re.MULTILINE):
            found.append((f"{block.path.relative_to(ROOT)}:{block.line}", words))
    return found


def test_every_block_is_run_or_is_no_python() -> None:
    strange = {
        f"{block.path.relative_to(ROOT)}:{block.line}: {block.language or 'no language'}"
        for block in blocks()
        if block.language not in LANGUAGES
        or (block.language != "python" and ">>> " in block.text)
        or (block.language == "python" and block.path.name in NOT_RUN)
    }
    assert strange == set()
    assert sum(block.language == "python" for block in blocks()) > 100


def test_no_example_is_skipped_without_a_reason() -> None:
    skipped = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in DOCUMENTS
        for found in re.findall(r"(?:skip: \w+(?!.*[\"(]).*|doctest: *\+SKIP.*)", path.read_text(encoding="utf-8"))
    ]
    assert skipped == []


def test_every_command_is_in_the_documents() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"| `suffice {name}`" not in page] == []


@pytest.mark.parametrize(("place", "line"), commands())
def test_commands_in_the_documents_parse(place: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    build().parse_args(words, exit_on_error=False, print_error=False)


MODULES = ["suffice", "suffice.plots", "suffice.testing", "suffice.datasets", *filter(find_spec, ["suffice.drop_in"])]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_documents(module: str) -> None:
    names = getattr(import_module(module), "__all__", None) or ["penguins_path"]
    assert [name for name in names if not re.search(rf"\b{name}\b", prose())] == []


CLASSIFIERS = ["GenerativeClassifier", "GenerativeForest", "GaussianDiscriminant", "NaiveBayes", "MixtureDiscriminant"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_method_is_in_the_documents(name: str) -> None:
    owner = getattr(import_module("suffice"), name)
    ours = [
        method
        for method, value in inspect.getmembers(owner)
        if not method.startswith("_")
        and (getattr(value, "__module__", None) or getattr(getattr(value, "fget", None), "__module__", "")).startswith(
            "suffice."
        )
    ]
    assert len(ours) > 20
    text = prose() + (inspect.getdoc(owner) or "")
    assert [method for method in ours if not re.search(rf"\b{method}\b", text)] == []
    rows = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert [method for method in ours if callable(getattr(owner, method)) and f"`{method}(" not in rows] == []


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_have_whole_docstrings(name: str) -> None:
    text = inspect.getdoc(getattr(import_module("suffice"), name)) or ""
    for section in ("Parameters", "Attributes", "See Also", "References", "Examples"):
        assert re.search(rf"^{section}\n-+$", text, re.MULTILINE), f"{name} has no section {section}"
    parameters = inspect.signature(getattr(import_module("suffice"), name)).parameters
    stated = re.split(r"\n[A-Z]\w+\n-+\n", text)[1]
    assert [key for key in parameters if not re.search(rf"^(.*, )?{key}\b.*", stated, re.MULTILINE)] == []


def documented() -> list[tuple[str, str]]:
    """(name, docstring) of every public function, class and method of ours."""
    found = {}
    for module in (import_module(name) for name in MODULES):
        for name in getattr(module, "__all__", None) or ["penguins_path"]:
            value = getattr(module, name)
            methods = inspect.getmembers(value, callable) if inspect.isclass(value) else []
            for key, each in [(name, value), *((f"{name}.{key}", method) for key, method in methods if key[0] != "_")]:
                if (getattr(each, "__module__", None) or "").startswith("suffice"):
                    found.setdefault(inspect.getdoc(each) or "", f"{module.__name__}.{key}")
    return sorted((name, text) for text, name in found.items())


@pytest.mark.parametrize(("name", "text"), documented(), ids=lambda value: value if "\n" not in value else "")
def test_docstrings_list_parameters_by_name(name: str, text: str) -> None:
    """A sentence among the parameters would be shown as the name of one."""
    assert text, f"{name} has no docstring"
    parts = re.split(r"^([A-Z][\w ]+)\n-{3,}\n", text, flags=re.MULTILINE)
    for section, body in zip(parts[1::2], parts[2::2], strict=True):
        if section in ("Parameters", "Attributes"):
            strange = [
                line
                for line in body.splitlines()
                if line and line[0] != " " and not re.match(r"\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?$", line)
            ]
            assert strange == [], f"{section} of {name}"


def test_every_error_has_a_docstring() -> None:
    errors = import_module("suffice.errors")
    public = [value for key, value in vars(errors).items() if inspect.isclass(value) and key.endswith("Error")]
    assert len(public) > 5
    assert all(value.__dict__.get("__doc__") for value in public)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    drawn_by_the_build = ROOT / "docs" / "plots"
    broken = []
    for target in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", text):
        found = (path.parent / target).resolve()
        if not found.exists() and found.parent != drawn_by_the_build:
            broken.append(target)
    assert broken == []


def test_search_sends_people_to_pages_that_have_the_word() -> None:
    text = (ROOT / "docs" / "_static" / "search.js").read_text(encoding="utf-8")
    table = text.partition("const ABOUT = {")[2].partition("};")[0]
    about = dict(re.findall(r'(\w+): "([\w/-]+)"', table))
    assert len(about) > 30
    wrong = []
    for word, page in about.items():
        path = ROOT / "docs" / f"{page}.md"
        if not path.exists() or word not in path.read_text(encoding="utf-8").lower():
            wrong.append((word, page))
    assert wrong == []


def test_pictures_that_the_build_draws_are_saved_by_an_example() -> None:
    shown = set(re.findall(r"\]\((?:\.\./)?plots/([\w-]+\.svg)\)", prose()))
    saved = set(re.findall(r"savefig\(\"([\w-]+\.svg)\"\)", prose()))
    assert shown == saved


def test_the_first_steps_work_as_shown(tmp_path: Path, monkeypatch, capsys) -> None:
    """The commands of the page on starting, but for `compare`, which has tests of its own."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(penguins_path(), "penguins.csv")
    header = "island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year"
    Path("new.csv").write_text(f"{header}\nDream,43.5,,195,3700,male,2009\n,,14.2,217,,,2008\n")
    page = [block for block in blocks() if block.path.name == "start.md"]
    lines = [words for place, words in commands() if place.startswith("docs/start.md")]
    assert len(lines) == 4
    for line in lines[1:]:
        capsys.readouterr()
        assert main(shlex.split(line)[1:]) == 0
    assert Path("answers.csv").read_text().splitlines()[1].startswith("Adelie,")
    assert capsys.readouterr().out == next(block.text for block in page if block.text.startswith("1: Adelie"))


# --- what the documents for developers name -------------------------------------------------------------------------

FOR_DEVELOPERS = ["ARCHITECTURE.md", "CONTRIBUTING.md"]


@cache
def developers_names(pattern: str) -> list[tuple[str, ...]]:
    """What a pattern finds in the documents for developers."""
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in FOR_DEVELOPERS)
    return sorted({found for text in texts for found in re.findall(pattern, text)})


@pytest.mark.parametrize(("path", "name"), developers_names(r"`(tests/[\w/]+\.py)::(\w+)`"))
def test_tests_that_are_named_are_there(path: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_files_that_are_named_are_there() -> None:
    """By their path in the repository or in the package; `NAME` stands for what a newcomer writes."""
    places = [ROOT, ROOT / "src" / "suffice"]
    named = [path for path, _ in developers_names(r"`((?:\w+/)*\w+(?:\.py|/))`()") if "NAME" not in path]
    assert len(named) > 30
    named += [path for path, _ in developers_names(r"`(tests/[\w/]+)`()")]
    alone = {path.name for place in places for path in place.rglob("*.py")}
    assert [path for path in named if not any((place / path).exists() for place in places) and path not in alone] == []


def test_the_map_of_the_code_names_every_folder() -> None:
    tree = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    named = set(re.findall(r"^  (\w+)/ ", tree, re.MULTILINE))
    package = ROOT / "src" / "suffice"
    assert named == {path.name for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    alone = [path.name for path in package.glob("*.py") if path.name[0] != "_"]
    assert [name for name in alone if name not in tree] == []


@pytest.mark.parametrize("path", ["docs/compared.md", "paper/paper.md"])
def test_figures_are_those_of_the_benchmarks(path: str) -> None:
    measured = "\n".join(
        (ROOT / name).read_text() for name in ("README.md", "docs/results.md", "benchmarks/RESULTS.md")
    )
    figures = set(re.findall(r"(?<![\w.])\d*\.\d{2,}\b|\d+e-\d+|\d+,\d{3}\b", (ROOT / path).read_text()))
    assert len(figures) > 10
    assert {figure for figure in figures if not re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", measured)} == set()
