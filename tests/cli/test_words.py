"""What is said at the command line is said in its own words: no keyword, class or value of Python in any message."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import suffice
from suffice.cli.app import COMMAND_LINE
from suffice.datasets import penguins_path
from suffice.errors import SingularCovarianceError, a_model, either, setting, worded_for

PYTHON = re.compile(
    r"""(?x)
    (?<![\w/.-]) [a-z][a-z_]* = (?= ["'\[{(] | \.?\d | [A-Z] )      # name="value", name=3, name=None
    | \b(?: GaussianDiscriminant | NaiveBayes | MixtureDiscriminant | GenerativeClassifier | GenerativeForest
        | NormalInverseWishart | DataFrame | ndarray | sklearn | isinstance | kwargs? | estimator | callable
        | keep_rows | sample_weight | partial_fit | fit_table | predict_table | predict_proba | score_samples
        | random_state | n_components | leave_one_out | outlier_pvalues | classes_ | notes_
        | None | True | False | NaN | nan | int | float | bool | dict | tuple | NoneType | dtypes? )\b
    | \b\w+\(\) | \b[XY]\b | \by\ (?:has|holds|mixes) | <class | Traceback | <\w[\w.]*\ object
    """
)
OWN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|--[a-z-]+(?: (?:float|int)\d+)?|(?:[\w.-]*/)+[\w.*-]*")
TABLE = penguins_path()


def python_in(text: str) -> list[str]:
    """The words of Python in a text, outside the users' own names and values."""
    return PYTHON.findall(OWN.sub(" ", text))


# Each line is a command that fails, or says a note; M is a model of each kind in turn, D the penguins.
EVERY_MODEL = """
predict M D --priors Adelie=0.5
predict M D --priors some
predict M D --set 0.1
predict M D --interval 0.9
predict M D --reject 0
predict M D --reject nothing
predict M D --costs Adelie:Emperor=2
predict M infinite.csv
predict D M
predict M D -o x.suffice
score M D --target island
score M D --weight sex
score M D --positive Emperor
explain M few.csv
explain M D --interval 2
report M --interval .9
outliers M D --below 2
next M D --costs sex=-1
columns M --within -1
columns M
drift M D --target island
sample M -n 3 --label Emperor
sample M -n 3 --given island=Nowhere
sample M -n 3 --given bill_length_mm=inf
show M
update M few.csv --target species
update M D --target species --decay 2
update M D --target bill_length_mm
forget M other.csv --target species
merge M M -o x.suffice
merge M other.suffice -o x.suffice
drop-class M Emperor
drop-class M Adelie Gentoo Chinstrap -o x.suffice
rename-class M Emperor=King
release M -o x.suffice --least 1
release M -o x.suffice
export M --to sql --dialect klingon
export M --to sql --dtype float32
export M --to onnx --dtype float32 --check -o x.onnx
report M -o x.csv
"""


KINDS = ("nb", "full", "shared", "mixture", "forest", "auto")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of every kind, and tables with something wrong."""
    from suffice.__main__ import main

    place = tmp_path_factory.mktemp("words")
    table = pd.read_csv(TABLE)[::6].reset_index(drop=True)  # the first of them misses cells
    table.to_csv(place / "D.csv", index=False)
    for kind in KINDS:
        told = ["--target", "species", "--model", kind, "-o", str(place / f"{kind}.suffice"), "--quiet"]
        assert main(["fit", str(place / "D.csv"), *told]) == 0
    infinite, few = table.copy(), table.drop(columns="body_mass_g")
    infinite.loc[3, "bill_length_mm"] = float("inf")
    for name, own in {
        "infinite": infinite,
        "few": few[few.columns[::-1]],
        "other": table.assign(bill_length_mm=table["bill_length_mm"] + 100),
    }.items():
        own.to_csv(place / f"{name}.csv", index=False)
    (place / "other.suffice").write_bytes((place / "nb.suffice").read_bytes()[:-100])
    return place


def said(cli, folder, monkeypatch, line: str, model: str = "nb") -> str:
    monkeypatch.chdir(folder)
    words = [{"M": f"{model}.suffice", "D": "D.csv"}.get(word, word) for word in shlex.split(line)]
    before = (folder / f"{model}.suffice").read_bytes()
    done = cli(*words)
    (folder / f"{model}.suffice").write_bytes(before)  # what an edit that succeeds has changed
    assert "unexpected error" not in done.err, (line, done.err)
    return done.err + (done.out if words[0] == "show" else "")


@pytest.mark.slow
@pytest.mark.parametrize("model", KINDS)
def test_no_command_says_a_word_of_python(cli, folder, monkeypatch, model) -> None:
    heard = {line: said(cli, folder, monkeypatch, line, model) for line in EVERY_MODEL.strip().splitlines()}
    assert {line: (python_in(text), text) for line, text in heard.items() if python_in(text)} == {}
    assert sum(map(bool, heard.values())) > 20  # they do say something


# ── every text of the library, whether a command meets it or not ──────────────────────────────────────────────

# Said where only Python comes: attributes, devices, settings that no option gives, the insides of damaged files.
ONLY_PYTHON = {
    *("plots/", "testing.py", "drop_in/", "datasets/", "cli/", "_arrays_api.py", "engines/", "export/onnx/file.py"),
    *("stats/statistic.py", "files/model_file.py"),
    *(
        "report/summary.py",
        "questions/frames.py",
        "questions/linear.py",
        "estimate/priors.py",
        "estimate/predictive.py",
        "table/__init__.py",
        "table/arrays.py",
    ),
    *("files/archive.py", "report/explorer.py"),
}


def texts() -> Iterator[tuple[str, str]]:
    """Every message in the source, with a number in place of what is filled in; of `either` what is for a command."""
    source = Path(suffice.__file__).parent
    for path in sorted(source.rglob("*.py")):
        relative = path.relative_to(source).as_posix()
        if relative.startswith(tuple(ONLY_PYTHON)):
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        skip = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "either":
                skip |= {id(part) for part in ast.walk(node.args[0])}
        for node in nodes:
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in skip:
                parts = node.values if isinstance(node, ast.JoinedStr) else [node]
                skip |= {id(part) for part in parts}
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in parts)
                if re.search(r"[a-z]{2} .* ", text) and not ("\n" in text or "in Python: " in text):
                    yield f"{relative}:{node.lineno}", text


def test_every_text_of_the_library_has_words_for_the_command_line() -> None:
    found = dict(texts())
    assert len(found) > 300
    assert {place: (python_in(text), text) for place, text in found.items() if python_in(text)} == {}


def test_a_front_end_has_words_of_its_own() -> None:
    def said() -> list[str]:
        words = [
            setting("keep_rows", 2000),
            setting("covariance", "diagonal"),
            setting("priors"),
            setting("base", None),
        ]
        return [*words, a_model("NaiveBayes"), either("partial_fit", "suffice update")]

    python = ["keep_rows=2000", "covariance='diagonal'", "priors", "base=None", "a NaiveBayes", "partial_fit"]
    assert said() == python
    with worded_for(COMMAND_LINE):
        assert said() == [
            *("--keep-rows 2000", "--model diagonal", "--priors", "base None"),
            *("a naive Bayes model", "suffice update"),
        ]
        error = SingularCovarianceError.for_class("keep_rows=3 of NaiveBayes", ["x"], 1, 2)
    assert "Class 'keep_rows=3 of NaiveBayes'" in str(error)  # names are of users
    assert "--shrinkage 0.0 forbids repair" in str(error)
    assert said() == python
