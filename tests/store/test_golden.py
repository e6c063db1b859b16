"""Files of every format version still load, and answer as they did when they were written; see golden/write.py."""

import json
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from suffice import drop_in, load  # noqa: F401  a file of a drop-in class loads once its module is imported
from suffice.errors import ModelFileError
from suffice.files.model_file import FORMAT_VERSION, STATISTICS

GOLDEN = Path(__file__).with_name("golden")
GONE = {  # what this version refuses, and says which does not
    "bayes_joint": "Student t columns.*suffice 0.2.*laplace",
    "gaussian_ledoit_wolf": "fourth moments of Ledoit-Wolf.*suffice 0.2",
}
EVERY = sorted(GOLDEN.glob("v*/*.suffice"))
FILES = [path for path in EVERY if path.stem not in GONE]


def rows_of(answers):
    if answers["columns"] is not None:
        table = pd.DataFrame(answers["rows"], columns=answers["columns"], dtype=object)
        if "on" not in table:
            return table
        return table.astype(dict.fromkeys(answers["columns"][:2], "float64") | {"on": "boolean"})
    return np.array(answers["rows"], dtype=np.float64)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_a_file_answers_as_it_did(path):
    """To 1e-9: loading estimates the model anew from its sums, which another BLAS or processor rounds otherwise.

    Such roundings are of 1e-16 relative to a sum, and inverting the covariances of these tables, whose condition
    numbers are below 1e4, or further steps of EM make up to 1e-11 of them. The covariances of the wide table are shrunk
    until their condition number is some 1e6, so that they are held to 1e-6.

    The automatic classifier chooses anew from the sums and rows of a file, by the rules of the version that loads it,
    which may be better ones by then: probabilities within .15 of those it gave. They are compared between the second
    and the third class, which miss cells alike: only rows of the first miss their length, which counts by now.
    """
    tolerance = {"gaussian_wide": 1e-6, "automatic": 0.15}.get(path.stem, 1e-9)
    answers = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model, rows = load(path), rows_of(answers)
    assert model.classes_.tolist() == answers["classes"]
    np.testing.assert_allclose(model.score_samples(rows), answers["log_density"], rtol=tolerance, atol=tolerance)
    found, expected = model.predict_proba(rows), np.array(answers["posterior"])
    if path.stem == "automatic":
        found, expected = (each[:, 1:] / each[:, 1:].sum(axis=1, keepdims=True) for each in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    assert found.argmax(axis=1).tolist() == expected.argmax(axis=1).tolist()


@pytest.mark.parametrize("path", [path for path in EVERY if path.stem in GONE], ids=lambda path: path.parent.name)
def test_what_is_no_longer_there_is_refused_by_name(path):
    with pytest.raises(ModelFileError, match=GONE[path.stem]):
        load(path)


@pytest.mark.parametrize("version", sorted({path.parent.name for path in FILES if path.stem == "automatic"}))
def test_an_automatic_classifier_of_a_file_is_that_of_its_table(version):
    """Whatever its rules are by now, they find in the file what they find in the table: to rounding, 1e-6.

    From format 3 on a file holds what its rows chose. Who changes what is chosen raises `automatic.kept.RULES`, so that
    the choice of older files is made anew. The file was written on another machine, and one-dependence judges its
    settings by products in single precision, which every BLAS and processor adds up in another order: temperatures
    differ by some 1e-8, and the posteriors with them.
    """
    made = run_path(str(GOLDEN / "write.py"))
    X, y = made["mixed"](), made["labels"](60)
    model, fitted = load(GOLDEN / version / "automatic.suffice"), clone(made["GOLDEN"]["automatic"].model).fit(X, y)
    for answer in ("predict_proba", "score_samples"):
        ours, theirs = getattr(model, answer)(X), getattr(fitted, answer)(X)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_a_file_still_learns(path, read_back):
    model = load(path)
    if not hasattr(model, "partial_fit") or path.stem == "gaussian_swept":  # what cannot be added to, and says so
        return
    rows = rows_of(json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
    before = model.statistics_.rows
    model.partial_fit(rows, [model.classes_[i % 3] for i in range(len(rows))])
    assert model.statistics_.rows == before + len(rows)
    expected = model.predict_proba(rows)
    np.testing.assert_array_equal(read_back(model).predict_proba(rows), expected)


def test_every_format_version_has_golden_files(opened):
    """Whoever raises `FORMAT_VERSION` runs golden/write.py, once, and commits the new folder beside the old ones.

    From 3 on a file is of the first version that can read it: these hold every kind of statistic together.
    """
    for version in range(1, FORMAT_VERSION + 1):
        found = [path for path in FILES if path.parent.name == f"v{version}"]
        assert found, f"golden/v{version} is missing. Next: python tests/store/golden/write.py"
        assert {opened(path).document["version"] for path in found} == {version}
    late = [path for path in FILES if int(path.parent.name[1:]) > 2]
    kinds = {stats["type"] for path in late for stats in opened(path).document["statistics"]}
    assert kinds >= set(STATISTICS), set(STATISTICS) - kinds
    assert all(path.stat().st_size < 64_000 for path in FILES)
