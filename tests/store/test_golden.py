"""Files of every format version still load, and answer as they did when they were written; see golden/write.py."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from suffice import drop_in, load  # noqa: F401  a file of a drop-in class loads once its module is imported
from suffice.store import FORMAT_VERSION, STATISTICS

GOLDEN = Path(__file__).with_name("golden")
FILES = sorted(GOLDEN.glob("v*/*.suffice"))


def rows_of(answers):
    if answers["columns"] is not None:
        table = pd.DataFrame(answers["rows"], columns=answers["columns"], dtype=object)
        return table.astype(dict.fromkeys(answers["columns"][:2], "float64") | {"on": "boolean"})
    return np.array(answers["rows"], dtype=np.float64)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_a_file_answers_as_it_did(path):
    """To 1e-9: loading estimates the model anew from its sums, which another BLAS or processor rounds otherwise.

    Such roundings are of 1e-16 relative to a sum, and inverting the covariances of these tables, whose condition
    numbers are below 1e4, or further steps of EM make up to 1e-11 of them. The covariances of the wide table are shrunk
    until their condition number is some 1e6, and the weights of the automatic classifier are where an optimiser stops:
    kernels of other processors move these by 1e-8, so that they are held to 1e-6.
    """
    tolerance = 1e-6 if path.stem in ("gaussian_wide", "automatic") else 1e-9
    answers = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model, rows = load(path), rows_of(answers)
    assert model.classes_.tolist() == answers["classes"]
    np.testing.assert_allclose(model.score_samples(rows), answers["log_density"], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(model.predict_proba(rows), answers["posterior"], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_a_file_still_learns(path, tmp_path):
    model = load(path)
    if not hasattr(model, "partial_fit") or path.stem == "gaussian_swept":  # what cannot be added to, and says so
        return
    rows = rows_of(json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
    before = model.statistics_.rows
    model.partial_fit(rows, [model.classes_[i % 3] for i in range(len(rows))])
    assert model.statistics_.rows == before + len(rows)
    model.save(tmp_path / "again.suffice")
    np.testing.assert_array_equal(load(tmp_path / "again.suffice").predict_proba(rows), model.predict_proba(rows))


def test_every_format_version_has_golden_files(opened):
    """Whoever raises `FORMAT_VERSION` runs golden/write.py, once, and commits the new folder beside the old ones."""
    for version in range(1, FORMAT_VERSION + 1):
        found = [path for path in FILES if path.parent.name == f"v{version}"]
        assert found, f"golden/v{version} is missing. Next: python tests/store/golden/write.py"
        assert {opened(path).document["version"] for path in found} == {version}
    kinds = {stats["type"] for path in found for stats in opened(path).document["statistics"]}
    assert kinds >= set(STATISTICS), set(STATISTICS) - kinds
    assert all(path.stat().st_size < 60_000 for path in FILES)
