"""Models of arrays of other libraries: answers are those of NumPy, and lie where the rows do."""

import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from kinds import kinds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes, _arrays_api as door
from suffice.errors import DataError

MODELS = kinds("full, shared, ledoit-wolf, loo, prior") | {
    "unbiased": lambda: GaussianDiscriminant(shared=True, divisor="unbiased", priors="uniform"),
    "shrunk": lambda: GaussianDiscriminant(shrinkage=0.2),
    "oas": lambda: GaussianDiscriminant(shared=True, shrinkage="oas"),
    "ledoit-wolf shared": lambda: GaussianDiscriminant(shared=True, shrinkage="ledoit-wolf"),
}
VERBS = (
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "decision_function",
    "score_samples",
    "predict",
)


@pytest.fixture
def table(rng):
    X = rng.normal(size=(120, 5)) @ rng.normal(size=(5, 5)) + 3.0
    y = rng.integers(0, 4, 120)
    return X + y[:, None], y, rng.integers(1, 4, 120).astype(float)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(door, "BLOCK_CELLS", 200)


def same(library, model, there, X, rows, atol=1e-10, rtol=1e-10):
    """Compare every answer for rows X of NumPy and of the library."""
    for verb in VERBS + (("transform",) if getattr(model, "shared", False) else ()):
        found = getattr(there, verb)(rows)
        assert library.is_mine(found), verb
        assert_allclose(door.fetch(found), getattr(model, verb)(X), atol=atol, rtol=rtol, err_msg=verb)


@pytest.mark.parametrize("name", MODELS)
def test_answers(library, dispatch, table, name):
    X, y, w = table
    rows = library.array(X)
    there = MODELS[name]().fit(rows, library.array(y), library.array(w))
    same(library, MODELS[name]().fit(X, y, w), there, X, rows)


@pytest.mark.parametrize("name", ["full", "shared"])
def test_narrow_rows(library, dispatch, table, name):
    """float32 rows are worked on in float64; on a device without it answers have seven digits, less some."""
    X, y, _ = table
    X = X.astype(np.float32)
    rows = library.array(X, narrow=True)
    wide = door.has_float64(rows)
    there = MODELS[name]().fit(rows, y)
    same(library, MODELS[name]().fit(X, y), there, X, rows, atol=1e-10 if wide else 2e-3)
    found = there.predict_proba(rows)
    assert found.dtype == (library.xp.float64 if wide else library.xp.float32)


@pytest.mark.parametrize("name", ["full", "shared"])
def test_classes_far_apart(library, dispatch, rng, name):
    """Distances are then not expanded into products, which would cancel."""
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 1e7 * y[:, None]
    rows = library.array(X)
    model, there = MODELS[name]().fit(X, y), MODELS[name]().fit(rows, y)
    near = rng.normal(size=(20, 4)) + 1e7
    expected = model.predict_joint_log_proba(near)[:, 1]
    found = door.fetch(there.predict_joint_log_proba(library.array(near)))[:, 1]
    assert_allclose(found, expected, rtol=1e-6)


def test_any_array_can_be_asked(library, dispatch, table, read_back):
    """Statistics live on the CPU: rows may come from anywhere, whatever the model was fitted on."""
    X, y, _ = table
    rows = library.array(X)
    here, there = GaussianDiscriminant().fit(X, y), GaussianDiscriminant().fit(rows, y)
    assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-12)
    assert library.is_mine(here.predict_proba(rows))
    assert_allclose(read_back(there).predict_proba(X), here.predict_proba(X), atol=1e-12)
    again = pickle.loads(pickle.dumps(there))
    assert_allclose(door.fetch(again.predict_proba(rows)), here.predict_proba(X), atol=1e-12)


def test_labels(library, dispatch, table):
    X, y, _ = table
    rows = library.array(X)
    names = np.array(["ash", "elm", "fir", "oak"])
    text = GaussianDiscriminant().fit(rows, names[y])
    assert isinstance(text.predict(rows), np.ndarray)
    numbers = GaussianDiscriminant().fit(rows, library.array(y))
    assert_array_equal(names[door.fetch(numbers.predict(rows))], text.predict(rows))
    truths = GaussianDiscriminant().fit(rows, library.array(y > 1))
    assert_array_equal(door.fetch(truths.predict(rows)), GaussianDiscriminant().fit(X, y > 1).predict(X))
    costs = [[0, 1, 5, 1], [1, 0, 1, 1], [1, 1, 0, 9], [1, 1, 1, 0]]
    here = GaussianDiscriminant().fit(X, y)
    assert_array_equal(door.fetch(numbers.predict(rows, costs=costs)), here.predict(X, costs=costs))
    assert_array_equal(numbers.predict(rows, reject=0.3), here.predict(X, reject=0.3))
    priors = [0.1, 0.2, 0.3, 0.4]
    assert_allclose(door.fetch(numbers.predict_proba(rows, priors=priors)), here.predict_proba(X, priors=priors))


def test_parts_equal_the_whole(library, dispatch, table):
    """Batches from the CPU and from elsewhere merge, and the statistics are those of one table."""
    X, y, w = table
    for make in (MODELS["full"], MODELS["oas"], MODELS["ledoit-wolf shared"]):
        whole, parts = make().fit(X, y, w), make()
        for i in range(0, 120, 30):
            rows = X[i : i + 30] if i == 30 else library.array(X[i : i + 30])
            parts.partial_fit(rows, y[i : i + 30], sample_weight=w[i : i + 30])
        assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), atol=1e-10)
        assert_array_equal(parts.statistics_.sample.identity, whole.statistics_.sample.identity)
        parts.forget(library.array(X[:7]), y[:7], w[:7])
        assert_allclose(parts.predict_log_proba(X), make().fit(X[7:], y[7:], w[7:]).predict_log_proba(X), atol=1e-8)


def test_other_verbs_answer_in_numpy(library, dispatch, table):
    X, y, _ = (values[:60] for values in table)
    X[5, 1] = np.nan
    rows, model = library.array(X), GaussianDiscriminant().fit(X, y)
    assert_allclose(model.impute(rows), model.impute(X))
    assert_allclose(model.explain(rows), model.explain(X))
    one = GaussianDiscriminant().fit(X[6:], np.zeros(54, dtype=int))  # its law is known, others are ranked
    assert_allclose(one.outlier_pvalues(rows[6:, ...]), one.outlier_pvalues(X[6:]))
    assert_array_equal(model.predict_set(rows), model.predict_set(X))
    assert_allclose(model.adapt_priors(rows[6:, ...]), model.adapt_priors(X[6:]), atol=1e-9)
    assert_allclose(model.leave_one_out(rows[:9, ...], y[:9]), model.leave_one_out(X[:9], y[:9]))
    counts = np.abs(X[:, :2] // 1)
    counts[5] = 0.0
    here, there = (NaiveBayes("poisson").fit(values, y) for values in (counts, library.array(counts)))
    assert_allclose(there.predict_proba(library.array(counts)), here.predict_proba(counts))


BAD = {
    "no rows": (lambda X: X[:0], "0 sample"),
    "no columns": (lambda X: X[:, :0], "0 feature"),
    "one axis": (lambda X: X[:, 0], "Expected 2D array, got 1D"),
    "complex": (lambda X: X + 0j, "Complex"),
    "infinity": (lambda X: np.where(X[3, 1] == X, np.inf, X), r"infinity.*1|1.*infinit"),
    "huge": (lambda X: np.where(X[3, 1] == X, 1e200, X), "1e150"),
    "missing": (lambda X: np.where(X[3, 1] == X, np.nan, X), r"missing \(NaN\) in 1, .*NumPy"),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(library, dispatch, table, name):
    spoil, message = BAD[name]
    X, y, _ = table
    model = GaussianDiscriminant().fit(library.array(X), y)
    before = model.means_.copy()
    rows = library.array(spoil(X))
    for call in (GaussianDiscriminant().fit, model.partial_fit, lambda X, y: model.predict(X)):
        with pytest.raises(DataError, match=message):
            call(rows, y)
    assert_array_equal(model.means_, before)


def test_other_refusals(library, dispatch, table):
    X, y, _ = table
    model = GaussianDiscriminant()
    with pytest.raises(DataError, match="120 rows and 7 labels"):
        model.fit(library.array(X), library.array(y[:7]))
    with pytest.raises(ValueError, match="3 features"):
        model.fit(library.array(X), y).predict(library.array(X[:, :3]))


def test_large_answers_come_in_parts(library, dispatch, table, monkeypatch):
    """`predict` never holds the posteriors of all rows, here or elsewhere."""
    X, y, _ = table
    model = GaussianDiscriminant().fit(X, y)
    expected = model.predict(X)
    monkeypatch.setattr("suffice.questions.decide.MOST_POSTERIORS", 50)
    assert_array_equal(model.predict(X), expected)
    assert_array_equal(door.fetch(model.predict(library.array(X))), expected)


# --- without dispatch, as scikit-learn starts ---


def test_arrays_become_numpy_unless_scikit_learn_dispatches(library, table):
    X, y, _ = table
    model = GaussianDiscriminant().fit(library.array(X), library.array(y))
    found = model.predict_proba(library.array(X))
    assert isinstance(found, np.ndarray)
    assert_array_equal(found, GaussianDiscriminant().fit(X, y).predict_proba(X))


def test_arrays_that_the_cpu_cannot_read_are_refused(library, table, monkeypatch):
    X, y, _ = table
    monkeypatch.setattr("suffice.table.is_on_cpu", lambda array: False)
    with pytest.raises(DataError, match="array_api_dispatch=True"):
        GaussianDiscriminant().fit(library.array(X), y)


def test_a_real_other_device_is_refused(table):
    strict = pytest.importorskip("array_api_strict")
    X, y, _ = table
    rows = strict.asarray(X, device=strict.Device("device1"))
    with pytest.raises(DataError, match="device1"):
        GaussianDiscriminant().fit(rows, y)


@pytest.mark.parametrize(
    "make",
    [GenerativeClassifier, NaiveBayes, lambda: GaussianDiscriminant("diagonal")],
    ids=["all", "naive", "diagonal"],
)
def test_other_models_convert(library, dispatch, table, make):
    X, y, _ = table
    X = np.where(X[3, 1] == X, np.nan, X)
    model = make().fit(library.array(X), library.array(y))
    found = model.predict_proba(library.array(X))
    assert isinstance(found, np.ndarray)
    assert_allclose(found, make().fit(X, y).predict_proba(X))


class TestTorch:
    """What only PyTorch has."""

    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch", reason="make arrays installs PyTorch")

    def test_strides_and_gradients(self, torch, dispatch, table):
        X, y, _ = table
        expected = GaussianDiscriminant().fit(X, y).predict_proba(X)
        turned = torch.asarray(X.T.copy()).T
        stepped = torch.asarray(np.repeat(X, 2, axis=1))[:, ::2]
        learned = torch.asarray(X).requires_grad_()
        for rows in (turned, stepped, learned):
            model = GaussianDiscriminant().fit(rows, torch.asarray(y))
            found = model.predict_proba(rows)
            assert_allclose(found.numpy(), expected, atol=1e-12)
            assert not found.requires_grad

    def test_gradients_without_dispatch(self, torch, table):
        X, y, _ = table
        rows = torch.asarray(X).requires_grad_()
        here, there = GaussianDiscriminant().fit(X, y), GaussianDiscriminant().fit(rows, y)
        assert_array_equal(there.predict(rows), here.predict(X))

    def test_half_precision(self, torch, dispatch, table):
        X, y, _ = table
        for kind in (torch.float16, torch.bfloat16):
            rows = torch.asarray(X).to(kind)
            plain = rows.to(torch.float64).numpy()
            here, there = (GaussianDiscriminant(shared=True).fit(values, y) for values in (plain, rows))
            found = there.predict_proba(rows)
            assert found.dtype == torch.float64
            assert_allclose(found.numpy(), here.predict_proba(plain), atol=1e-9)


def test_the_example_of_the_documents_runs(tmp_path, monkeypatch, rng):
    """The block of `docs/embeddings.md` that needs PyTorch, on the CPU where there is no GPU."""
    torch = pytest.importorskip("torch", reason="make arrays installs PyTorch")
    if not os.environ.get("SCIPY_ARRAY_API"):
        pytest.skip("make arrays sets SCIPY_ARRAY_API")
    text = (Path(__file__).parents[2] / "docs" / "embeddings.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    X, y = torch.tensor(rng.normal(size=(60, 4))), torch.arange(60) % 3
    torch.save(X, "features.pt")
    torch.save(y, "labels.pt")
    there = {}
    with config_context():
        exec(code if torch.cuda.is_available() else code.replace(".cuda()", ""), there)
        found = there["model"].predict_proba(X)
    assert isinstance(found, torch.Tensor)
    want = GaussianDiscriminant(shared=True, shrinkage="oas").fit(X.numpy(), y.numpy()).predict_proba(X.numpy())
    assert_allclose(found.numpy(), want, rtol=1e-9, atol=1e-12)
