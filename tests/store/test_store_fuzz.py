"""Model files changed at random: a file either loads into a model that answers, or gives ModelFileError.

Three kinds of change: bytes of the file as they lie there; any value of the document; any array, with digests that fit.
`SUFFICE_FUZZ=20000` tries that many of each kind instead of a few.
"""

import io
import json
import os
import random
import tracemalloc
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from suffice import (
    RDA,
    Dirichlet,
    GaussianDiscriminant,
    GenerativeClassifier,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
    load,
)
from suffice.errors import ModelFileError, SufficeError

TRIES = int(os.environ.get("SUFFICE_FUZZ", "0")) or 25
ROOM = 64 << 20  # bytes: reading a file of at most 100 kB should never take as much


def numbers():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3)) + np.repeat([[0.0], [2.0], [5.0]], 10, axis=0)
    X[::7, 1] = np.nan
    return X, np.repeat(["a", "b", "c"], 10)


def mixed():
    X, y = numbers()
    table = np.array(X, dtype=object)
    table[:, 2] = [None if i % 9 == 4 else "xyz"[i % 3] for i in range(len(X))]
    return table, y


MODELS = {
    "full": (lambda: GaussianDiscriminant(), numbers),
    "shared": (lambda: GaussianDiscriminant(shared=True, shrinkage=0.1), numbers),
    "diagonal": (lambda: GaussianDiscriminant("diagonal", priors=[0.2, 0.3, 0.5]), numbers),
    "rda": (lambda: GaussianDiscriminant(shrinkage=RDA(0.2, 0.1)), numbers),
    "wishart": (lambda: GaussianDiscriminant(prior=NormalInverseWishart()), numbers),
    "mixed": (lambda: NaiveBayes(), mixed),
    "families": (lambda: NaiveBayes({0: "laplace", 1: "student_t", 2: "categorical"}), mixed),
    "dirichlet": (lambda: NaiveBayes(smoothing=Dirichlet(2.0)), mixed),
    "mixture": (lambda: MixtureDiscriminant(n_components=2), numbers),
    "automatic": (lambda: GenerativeClassifier(), mixed),
}


@cache
def saved(name, folder):
    """The bytes of a small model file, and rows to ask it about."""
    make, data = MODELS[name]
    X, y = data()
    path = Path(folder) / f"{name}.suffice"
    make().fit(X, y).save(path)
    return path.read_bytes(), X[:4]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("fuzz"))


def judge(path, rows, what):
    """Load the file and ask the model, if it is one, everything that reads its parameters."""
    before = set(path.parent.iterdir())
    tracemalloc.start()
    try:
        model = load(path)
    except ModelFileError as error:
        assert str(path) in str(error), what  # noqa: PT017
        return "refused"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < ROOM, (what, peak)
        assert set(path.parent.iterdir()) == before, what
    try:
        posterior = model.predict_proba(rows)
        model.score_samples(rows)
    except SufficeError:
        return "an error with a name"
    assert np.isfinite(posterior).all(), what
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, atol=1e-9, err_msg=str(what))
    return "answered"


# --- changes ---------------------------------------------------------------------------------------------------------

VALUES = [
    None, True, False, 0, 1, -1, 2, 10**9, 10**30, -(2**63), 0.5, -0.5, 1e308, 1e-308, "", "a", "0", "é\x00", "../../x",
    [], [0], [1.0, 2.0], [[]], {}, {"a": 1}, [None] * 3, "categorical", "gaussian", "inf", float(2**53),
]  # fmt: skip


def changed_bytes(data, pick):
    data, at = bytearray(data), pick.randrange(len(data))
    kind = pick.choice(["flip", "cut", "insert", "drop", "zero", "swap"])
    if kind == "flip":
        for _ in range(pick.choice([1, 1, 8])):
            data[pick.randrange(len(data))] ^= 1 << pick.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "insert":
        data[at:at] = pick.randbytes(pick.choice([1, 4, 100]))
    elif kind == "drop":
        del data[at : at + pick.choice([1, 4, 100])]
    elif kind == "zero":
        data[at : at + 16] = bytes(len(data[at : at + 16]))
    else:
        other = pick.randrange(len(data))
        data[at : at + 8], data[other : other + 8] = data[other : other + 8], data[at : at + 8]
    return bytes(data), f"{kind} at {at}"


def places(value, path=()):
    """Every path into a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def change_document(document, pick):
    path = pick.choice([p for p in places(document) if p and p[0] != "sha256"])
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    kind = pick.choice(["value", "value", "delete", "repeat", "wrap"])
    if kind == "value":
        inner[path[-1]] = pick.choice(VALUES)
    elif kind == "delete":
        del inner[path[-1]]
    elif kind == "repeat" and isinstance(inner, list):
        inner.append(inner[path[-1]])
    else:
        inner[path[-1]] = [inner[path[-1]]]
    return path, kind, inner


def change_array(values, pick):
    kind = pick.choice(["cell", "cell", "cell", "all", "shape", "short", "long", "type", "order"])
    if kind in ("cell", "all") and values.size:
        wild = [0, -1, 1, 2, 5, 1e300, -1e300, 1e-300, 1e18, -(2**62), 0.5, np.nan, np.inf]
        new = pick.choice(wild)
        flat = values.copy().ravel()
        with np.errstate(all="ignore"):
            changed = np.array(new).astype(flat.dtype)
        if kind == "all":
            flat[:] = changed
        else:
            flat[pick.randrange(flat.size)] = changed
        return flat.reshape(values.shape), f"{kind} {new}"
    if kind == "shape":
        return values.reshape(pick.choice([(-1,), (1, *values.shape), (*values.shape, 1)])), kind
    if kind == "short" and values.ndim:
        return values[:-1], kind
    if kind == "long" and values.ndim and len(values):
        return np.concatenate([values, values[-1:]]), kind
    if kind == "type":
        new = pick.choice(["f4", "i8", "u8", "?", "i1", "f8"])
        with np.errstate(all="ignore"):
            return values.astype(new), f"{kind} {new}"
    return np.ascontiguousarray(values.T if values.ndim == 2 else values[::-1] if values.ndim else values), "order"


# --- tests -----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_bytes(name, folder, tmp_path):
    data, rows = saved(name, folder)
    pick = random.Random(f"bytes {name}")
    path = tmp_path / "model.suffice"
    for number in range(TRIES):
        other, what = changed_bytes(data, pick)
        path.write_bytes(other)
        judge(path, rows, (number, what))


@pytest.mark.filterwarnings("ignore:.*feature names:UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_documents(name, folder, tmp_path, opened):
    data, rows = saved(name, folder)
    pick = random.Random(f"documents {name}")
    path = tmp_path / "model.suffice"
    for number in range(TRIES):
        path.write_bytes(data)
        file = opened(path)
        what = change_document(file.document, pick)
        file.pack(digests=False)
        judge(path, rows, (number, what))


@pytest.mark.parametrize("name", MODELS)
def test_arrays(name, folder, tmp_path, opened):
    data, rows = saved(name, folder)
    pick = random.Random(f"arrays {name}")
    path = tmp_path / "model.suffice"
    for number in range(TRIES):
        path.write_bytes(data)
        file = opened(path)
        array = pick.choice(sorted(file.members))
        values, what = change_array(file.array(array), pick)
        file.put(array, values)
        file.pack()
        judge(path, rows, (number, array, what))


@pytest.mark.parametrize("inside", ["../out.npy", "/out.npy", "a/../../out.npy", "C:\\out.npy", "model.json/x"])
def test_members_with_other_names_go_nowhere(folder, tmp_path, inside):
    """Parts are read by name and never extracted, so a name that leads elsewhere is only a part nobody asks for."""
    data, rows = saved("full", folder)
    path = tmp_path / "inner" / "model.suffice"
    path.parent.mkdir()
    path.write_bytes(data)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(inside, b"out")
    assert judge(path, rows, inside) == "answered"
    assert list(tmp_path.iterdir()) == [path.parent]
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
    document["sha256"][inside.removesuffix(".npy")] = "0" * 64
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(buffer, "w") as other:
        other.writestr("model.json", json.dumps(document))
        for info in archive.infolist()[1:]:
            other.writestr(info.filename, archive.read(info))
    path.write_bytes(buffer.getvalue())
    assert judge(path, rows, inside) == "refused"
