"""An ONNX file run by onnxruntime answers as the model it was made from, whatever the table, its names and holes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from compare import has_density
from fitted_models import CASES, case, mixed, numbers
from sklearn.datasets import load_breast_cancer

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.errors import ExportError, SettingError
from suffice.export.lower import lower
from suffice.export.onnx import graph
from suffice.export.onnx.file import build, check, feeds
from suffice.fitted import Fitted
from suffice.table import read_table

POSTERIOR = {"float64": 1e-9, "float32": 1e-4}
DENSITY = {"float64": 1e-9, "float32": 2e-6}  # of its size; float32 has 24 bits and sums run over tens of terms


def session(model: onnx.ModelProto) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def inputs(model: Any, rows: Any, dtype: str = "float64") -> dict[str, Any]:
    table = read_table(rows)
    return feeds(lower(model._fitted), table, model._fitted.align(table), dtype)


def agree(model: Any, rows: Any, dtype: str = "float64", counts: Sequence[int] = ()) -> None:
    """Assert that the file gives the model's posteriors, log densities and labels (where these are not tied).

    Of the first so many rows by themselves it must give the same.
    """
    program = lower(model._fitted)
    made = build(program, dtype)
    onnx.checker.check_model(made, full_check=True)
    table = read_table(rows)
    run, feed = session(made), feeds(program, table, model._fitted.align(table), dtype)
    label, posterior, *density = run.run(None, feed)
    assert len(density) == has_density(model)
    expected = model.predict_proba(rows)
    assert {part.dtype for part in (posterior, *density)} == {np.dtype(dtype)}
    np.testing.assert_allclose(posterior, expected, rtol=0, atol=POSTERIOR[dtype])
    for own in density:
        np.testing.assert_allclose(own, model.score_samples(rows), rtol=DENSITY[dtype], atol=DENSITY[dtype])
    top = np.sort(expected, axis=1)[:, -2:]
    clear = top[:, -1] - top[:, 0] > POSTERIOR[dtype]
    assert (label == model.predict(rows))[clear].all()
    for n in counts:
        some = run.run(None, {key: cells[:n] for key, cells in feed.items()})
        assert [part.shape for part in some] == [(n,), (n, len(program.classes)), *[(n,) for _ in density]]
        np.testing.assert_allclose(some[1], posterior[:n], rtol=0, atol=POSTERIOR[dtype] / 100)
        for part, own in zip(some[2:], density, strict=True):
            np.testing.assert_allclose(part, own[:n], rtol=DENSITY[dtype], atol=DENSITY[dtype])


# One or more terms of each kind are in the files of the other automatic classifiers, so one width will do for these.
TERMS_AGAIN = ("automatic: few", "automatic: few numbers", "automatic: priors", "automatic: joint forest, priors")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in CASES for dtype in POSTERIOR if dtype == "float64" or name not in TERMS_AGAIN],
)
def test_file_answers_as_the_model(name: str, dtype: str) -> None:
    """On many rows, on one or a few, and on none."""
    model, rows = case(name)
    agree(model, rows, dtype, (0, 1, 3))


@pytest.mark.parametrize(
    "name", ["gaussian: full, own", "naive: all families", "mixture: diagonal", "automatic: mixed"]
)
def test_large_batches_go_in_chunks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the chunks, the answers are the same; a chunk has at least 64 rows."""
    model, rows = case(name)
    rows = pd.concat([rows] * 5, ignore_index=True)
    monkeypatch.setattr(graph, "IN_MEMORY", 1)
    agree(model, rows)


# --- tables people have -----------------------------------------------------------------------------------------------


def some_missing(X: Any, share: float = 0.2, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    out = X.copy()
    if isinstance(out, pd.DataFrame):
        for column in out.columns:
            out.loc[rng.random(len(out)) < share, column] = None
    else:
        out[rng.random(out.shape) < share] = np.nan
    return out


def test_breast_cancer() -> None:
    """30 columns of very different units, correlated to 0.998."""
    X, y = load_breast_cancer(return_X_y=True)
    for model in (GaussianDiscriminant(), GaussianDiscriminant(shared=True), MixtureDiscriminant(2, random_state=0)):
        agree(model.fit(X, y), np.vstack([X, some_missing(X)[::5]]))


@pytest.mark.slow
def test_automatic_classifier_on_breast_cancer() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    agree(GenerativeClassifier().fit(X, y), np.vstack([X, some_missing(X)]))


# --- names and labels -------------------------------------------------------------------------------------------------

NAMES = [
    "",
    "label",
    "probabilities",
    "log_density",
    "v1",
    "v2",
    'a "b"',
    "o'x",
    "Größe",
    "列",
    "column_0",
    "X",
    "a\nb",
]


def test_hostile_names() -> None:
    """Names are data: those of outputs, of nothing, of other columns, or with quotes leave every answer as it was."""
    X, y = numbers(len(NAMES) - 1, 90)
    X["text"] = np.array(['";--', "<b>", "\\", "naïve"])[np.arange(90) % 4]
    model = NaiveBayes().fit(X, y)
    expected = session(build(lower(model._fitted))).run(None, inputs(model, X))
    renamed = X.set_axis(NAMES, axis=1)
    again = NaiveBayes().fit(renamed, y)
    made = build(lower(again._fitted))
    onnx.checker.check_model(made, full_check=True)
    found = session(made).run(None, inputs(again, renamed))
    for part, same in zip(found, expected, strict=True):
        assert part.tolist() == same.tolist()
    facts = {fact["name"]: fact for fact in json.loads({p.key: p.value for p in made.metadata_props}["columns"])}
    assert [facts[name]["input"] for name in NAMES] == [i.name for i in made.graph.input]
    assert facts["Größe"]["input"] == "Größe"
    assert facts[""]["input"] == "column_0_"


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["no", "yes", "maybe"], onnx.TensorProto.STRING),
        ([7, -3, 2**40], onnx.TensorProto.INT64),
        ([False, True], onnx.TensorProto.BOOL),
        ([0.5, 1.5, -2.0], onnx.TensorProto.DOUBLE),
    ],
)
def test_labels_keep_their_type(labels: list[Any], kind: int) -> None:
    X, _ = numbers(2, 60, holes=0.0)
    y = np.array([labels[i % len(labels)] for i in range(60)], dtype=object)
    model = GaussianDiscriminant().fit(X, y)
    made = build(lower(model._fitted), "float32")
    assert made.graph.output[0].type.tensor_type.elem_type == kind
    assert session(made).run(["label"], inputs(model, X, "float32"))[0].tolist() == model.predict(X).tolist()


def test_categories_of_any_type() -> None:
    """Numbers, truth values and text with an empty level; levels never met, and missing ones, as in Python."""
    X, y = mixed()
    X["wing"] = X["wing"].astype("category")
    X["half"] = pd.Categorical(np.array([0.5, 1.25, 7.0])[np.arange(len(X)) % 3])
    model = NaiveBayes({"smoker": "categorical", "visits": "categorical"}).fit(X, y)
    rows = X.iloc[:40].copy()
    rows.loc[3:9, ["wing", "half", "smoker", "visits", "town"]] = None
    rows.loc[10, "visits"], rows.loc[11, "town"] = 77, "never met"
    agree(model, rows)
    facts = json.loads({p.key: p.value for p in build(lower(model._fitted)).metadata_props}["columns"])
    town = next(fact for fact in facts if fact["name"] == "town")
    assert (town["missing"], town["levels"]) == ("<missing>", ["", "Aix", "Bonn", "O'Hara"])


def test_facts_in_the_file() -> None:
    model, _ = case("naive: automatic families")
    made = build(lower(model._fitted), "float32")
    facts = {p.key: p.value for p in made.metadata_props}
    assert (made.producer_name, made.ir_version) == ("suffice", 10)
    assert {(o.domain, o.version) for o in made.opset_import} == {("", 21), ("ai.onnx.ml", 4)}
    assert facts["estimator"] == "NaiveBayes"
    assert json.loads(facts["classes"]) == model.classes_.tolist()
    assert facts["dtype"] == "float32"
    assert "NaN" in made.doc_string


# --- what cannot be ---------------------------------------------------------------------------------------------------


def test_labels_beyond_64_bits_are_refused() -> None:
    X, _ = numbers(1, 30, holes=0.0)
    model = GaussianDiscriminant().fit(X, np.array([2**63 + 1, 1] * 15, dtype=np.uint64))
    with pytest.raises(ExportError, match=r"9223372036854775809.*64-bit.*Next: make the labels text"):
        build(lower(model._fitted))


def test_levels_that_float32_cannot_tell_apart_are_refused() -> None:
    X = np.array([[2**24, 1], [2**24 + 1, 2]] * 20)
    model = NaiveBayes("categorical").fit(X, ["a", "b"] * 20)
    agree(model, X)
    with pytest.raises(ExportError, match=r"16777216, 16777217.*column 0.*dtype='float64'"):
        build(lower(model._fitted), "float32")


# --- the check --------------------------------------------------------------------------------------------------------


def test_check_finds_a_difference() -> None:
    model, rows = case("gaussian: full, own")
    data = build(lower(model._fitted)).SerializeToString()
    feed = inputs(model, rows)
    right = model.predict(rows), model.predict_proba(rows), model.score_samples(rows)
    apart, off = check(data, feed, "float64", right)
    assert max(apart, off) < 1e-12
    for wrong in (
        (right[0], right[1] + np.eye(len(rows), 3) * 1e-8, right[2]),
        (right[0], right[1], right[2] * (1.0 + 1e-8)),
        (right[0][::-1], right[1], right[2]),
    ):
        with pytest.raises(ExportError, match="does not answer as the model does"):
            check(data, feed, "float64", wrong)
    with pytest.raises(ExportError, match="cannot run this file"):
        check(data[:-100], feed, "float64", right)


# --- the verb ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def small() -> Any:
    return GaussianDiscriminant().fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"])


@pytest.mark.parametrize("name", ["gaussian: full, own", "naive: words", "naive: all families", "automatic: mixed"])
def test_to_onnx_checks_and_writes(name: str, tmp_path: Path) -> None:
    model, rows = case(name)
    made = model.to_onnx(tmp_path / "model.onnx", check=True)
    assert (tmp_path / "model.onnx").read_bytes() == made.SerializeToString(deterministic=True)
    assert model.to_onnx(check=rows) == made
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_a_failed_check_leaves_the_old_file(small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    path.write_text("old")
    monkeypatch.setattr(Fitted, "log_density", lambda self, rows: np.zeros(len(rows[0])))
    with pytest.raises(ExportError, match=r"log densities by \d.*check=False"):
        small.to_onnx(path)
    assert path.read_text() == "old"
    small.to_onnx(path, check=False)
    assert onnx.load(path).producer_name == "suffice"


def test_a_place_that_cannot_be_written(small: Any, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"nowhere.*cannot be written: there is no folder.*Next: "):
        small.to_onnx(tmp_path / "nowhere" / "model.onnx")


@pytest.mark.parametrize("dtype", ["float16", None])
def test_dtypes(dtype: Any, small: Any) -> None:
    with pytest.raises(SettingError, match=r"dtype=.*'float64', 'float32'"):
        small.to_onnx(dtype=dtype)


def test_single_precision_that_is_not_enough() -> None:
    """A floor of 1e-6 under the eigenvalues needs more digits than float32 has."""
    model, _ = case("gaussian: more columns than rows")
    with pytest.raises(ExportError, match="Next: use dtype='float64'"):
        model.to_onnx(dtype="float32")
    assert model.to_onnx(dtype="float32", check=False).ByteSize() < 1e5


def test_missing_packages_are_named(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without onnxruntime only a check that was asked for fails."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ExportError, match="pip install onnxruntime"):
        small.to_onnx(check=True)
    monkeypatch.setattr("suffice.questions.exports.find_spec", lambda name: None)
    small.to_onnx()
    for name in [name for name in sys.modules if name.startswith("suffice.export.onnx")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install ".*\[onnx\]"'):
        small.to_onnx(check=False)
