"""Model files with changes at random: raw bytes, and parts whose sums are made again so that they are looked at.

A file that was only damaged must be refused, or answer exactly as before (some bytes of a zip archive mean nothing).
A file whose sums fit may hold anything; it is refused by name, or the model answers every question, or refuses it by
name, with probabilities that are probabilities and with labels in the order of their columns.

The changes are plain seeded ones that know the structure (paths into the JSON, cells, shapes and types of arrays).
Coverage-guided tools such as Atheris watch Python lines, and almost all of the judging here is one line of NumPy, so
that they would find their way no better, and their builds lag behind Python's.
"""

from __future__ import annotations

import copy
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
from model_file import File, npy

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
from suffice._dialect import Dialect
from suffice.errors import ModelFileError, SufficeError


def numbers() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3)) + np.repeat([[0.0], [2.0], [5.0]], 10, axis=0)
    X[::7, 1] = np.nan
    return X, np.repeat(["a", "b", "c"], 10)


def complete() -> tuple[Any, Any]:
    X, y = numbers()
    return np.nan_to_num(X), y


def mixed() -> tuple[Any, Any]:
    X, y = numbers()
    table = np.array(X, dtype=object)
    table[:, 2] = [None if i % 9 == 4 else "xyz"[i % 3] for i in range(len(X))]
    return table, y


def counts() -> tuple[Any, Any]:
    return np.random.default_rng(2).poisson(1.0 + np.arange(30)[:, None] % 3, size=(30, 3)), np.arange(30) % 3


def wide() -> tuple[Any, Any]:
    return np.random.default_rng(5).normal(size=(8, 140)), np.arange(8) % 2


class Released:
    """Fits a model and returns what may be passed on of it."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> Any:
        return self.model.fit(X, y).release(least=3)


class OfAFile:
    """Fits a model as the command line does, which remembers how a CSV was written."""

    def fit(self, X: Any, y: Any) -> Any:
        model = NaiveBayes().fit(X, y)
        model._edit_past(dialect=Dialect(",", {"x0": ",", "x1": "."}, {"x2": "-"}, ("?",)))
        return model


MODELS = {
    "full": (lambda: GaussianDiscriminant(), numbers),
    "shared": (lambda: GaussianDiscriminant(shared=True, shrinkage=0.1), numbers),
    "diagonal": (lambda: GaussianDiscriminant("diagonal", priors=[0.2, 0.3, 0.5]), numbers),
    "rda": (lambda: GaussianDiscriminant(shrinkage=RDA(0.2, 0.1)), complete),
    "wishart": (lambda: GaussianDiscriminant(prior=NormalInverseWishart()), complete),
    "ledoit": (lambda: GaussianDiscriminant(shrinkage="ledoit-wolf"), complete),
    "wide": (lambda: GaussianDiscriminant(keep_rows=0), wide),
    "mixed": (lambda: NaiveBayes(), mixed),
    "families": (lambda: NaiveBayes({0: "laplace", 1: "gaussian", 2: "categorical"}), mixed),
    "poisson": (lambda: NaiveBayes("poisson"), counts),
    "dirichlet": (lambda: NaiveBayes(smoothing=Dirichlet(2.0)), mixed),
    "mixture": (lambda: MixtureDiscriminant(n_components=2), complete),
    "automatic": (lambda: GenerativeClassifier(), mixed),
    "of a file": (lambda: OfAFile(), mixed),
    "released": (lambda: Released(GaussianDiscriminant()), numbers),
    "released mixed": (lambda: Released(NaiveBayes()), mixed),
    "released automatic": (lambda: Released(GenerativeClassifier()), mixed),
}
SLOW = {"automatic": 0.02, "released automatic": 0.2, "mixture": 0.5, "families": 0.5}  # how often, beside the others
RARE = {"outlier_pvalues": 0.02, "to_sql": 0.05}  # questions that take long


def change(file: File, pick: random.Random) -> None:
    """Change one value or array of the model, or of what its rows chose."""
    beside = file.choice is not None and pick.random() < 0.5
    document, members = (file.choice, file.chosen) if beside else (file.document, file.members)
    if pick.random() < 0.5:
        change_document(document, pick)
        return
    name = pick.choice(sorted(members))
    members[name] = npy(change_array(np.load(io.BytesIO(members[name])), pick)[0])


# --- changes ---------------------------------------------------------------------------------------------------------

VALUES = [
    None, True, False, 0, 1, -1, 2, 10**9, 10**30, -(2**63), 0.5, -0.5, 1e308, 1e-308, float("nan"), float("inf"), "",
    "a", "0", "é\x00", "../../x", "\ud800", [], [0], [1.0, 2.0], [[]], {}, {"a": 1}, [None] * 3, "categorical",
    "gaussian", "inf", float(2**53), "full", "pooled", "diagonal", "thin", "auto", "bic", "loo", "uniform",
]  # fmt: skip
WILD = [0, -1, 1, 2, 5, 1e300, -1e300, 1e150, 1e-300, 1e18, -(2**62), 0.5, np.nan, np.inf, 2**53, 2**63 - 1]


def changed_bytes(data: bytes, pick: random.Random) -> bytes:
    """Return a file with some of its bytes changed, as disks, networks and editors do."""
    out, at = bytearray(data), pick.randrange(len(data))
    kind = pick.choice(["flip", "flip", "cut", "insert", "drop", "zero", "swap", "tail"])
    if kind == "flip":
        for _ in range(pick.choice([1, 1, 8])):
            out[pick.randrange(len(out))] ^= 1 << pick.randrange(8)
    elif kind == "cut":
        del out[at:]
    elif kind == "insert":
        out[at:at] = pick.randbytes(pick.choice([1, 4, 100]))
    elif kind == "drop":
        del out[at : at + pick.choice([1, 4, 100])]
    elif kind == "zero":
        out[at : at + 16] = bytes(len(out[at : at + 16]))
    elif kind == "swap":
        other = pick.randrange(len(out))
        out[at : at + 8], out[other : other + 8] = out[other : other + 8], out[at : at + 8]
    else:  # the directory at the end, where the archive says what it holds
        at = len(out) - pick.randrange(1, min(len(out), 1200))
        out[at] = pick.choice([0, 1, 0x7F, 0x80, 0xFF, out[at] ^ (1 << pick.randrange(8))])
    return bytes(out)


def places(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """Every path into a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def change_document(document: Any, pick: random.Random) -> str:
    """Change one value of a document in place; return what was done."""
    path = pick.choice([p for p in places(document) if p and p[0] != "sha256"])
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    kind = pick.choice(["value", "value", "value", "delete", "repeat", "wrap", "reverse", "near", "add"])
    old = inner[path[-1]]
    if kind == "delete":
        del inner[path[-1]]
    elif kind == "repeat" and isinstance(inner, list):
        inner.append(old)
    elif kind == "reverse" and isinstance(old, list):
        old.reverse()
    elif kind == "near" and type(old) in (int, float):
        inner[path[-1]] = pick.choice([old + 1, old - 1, -old, old * 2, float(old), 1e6 * old])
    elif kind == "add" and isinstance(old, dict):
        old[pick.choice(["x", "k", "own", "with"])] = copy.deepcopy(pick.choice(VALUES))
    elif kind == "wrap":
        inner[path[-1]] = [old]
    else:
        inner[path[-1]] = copy.deepcopy(pick.choice(VALUES))
    return f"{kind} {path}"


def change_array(values: Any, pick: random.Random) -> tuple[Any, str]:
    """Return an array with a cell, its shape, its type or its order changed, and what was done."""
    kind = pick.choice(["cell", "cell", "cell", "scaled", "all", "shape", "short", "long", "type", "order"])
    with np.errstate(all="ignore"):
        if kind in ("cell", "all", "scaled") and values.size:
            flat, at = values.copy().ravel(), pick.randrange(values.size)
            if kind == "scaled":
                flat[at] = flat[at] * np.asarray(pick.choice([2, 3, 10, 1000])).astype(flat.dtype)
            elif kind == "all":
                flat[:] = np.array(pick.choice(WILD)).astype(flat.dtype)
            else:
                flat[at] = np.array(pick.choice(WILD)).astype(flat.dtype)
            return flat.reshape(values.shape), f"{kind} {at}"
        if kind == "shape":
            return values.reshape(pick.choice([(-1,), (1, *values.shape), (*values.shape, 1)])), kind
        if kind == "short" and values.ndim:
            return values[:-1], kind
        if kind == "long" and values.ndim and len(values):
            return np.concatenate([values, values[-1:]]), kind
        if kind == "type":
            new = pick.choice(["f4", "i8", "u8", "?", "i1", "f8", ">f8"])
            return values.astype(new), f"{kind} {new}"
    return np.ascontiguousarray(values.T if values.ndim == 2 else values[::-1] if values.ndim else values), "order"


# --- questions -------------------------------------------------------------------------------------------------------


def _posteriors(model: Any, rows: Any) -> Any:
    found = model.predict_proba(rows)
    assert found.shape == (len(rows), len(model.classes_)), "posteriors of other classes"
    assert np.isfinite(found).all(), "posteriors that are no numbers"
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-9)
    return found


VERBS = {
    "predict": lambda m, X, y, path: m.predict(X[:4]),
    "score_samples": lambda m, X, y, path: m.score_samples(X[:4]),
    "explain": lambda m, X, y, path: m.explain(X[:2]),
    "impute": lambda m, X, y, path: m.impute(X[:4]),
    "sample": lambda m, X, y, path: m.sample(3, random_state=0),
    "outlier_pvalues": lambda m, X, y, path: m.outlier_pvalues(X[:1]),
    "predict_set": lambda m, X, y, path: m.predict_set(X[:2]),
    "adapt_priors": lambda m, X, y, path: m.adapt_priors(X[:6]),
    "leave_one_out": lambda m, X, y, path: m.leave_one_out(X[:6], y[:6]),
    "partial_fit": lambda m, X, y, path: m.partial_fit(X[:6], y[:6]),
    "forget": lambda m, X, y, path: m.forget(X[:2], y[:2]),
    "merge": lambda m, X, y, path: m.merge(load(path)),
    "drop_class": lambda m, X, y, path: m.drop_class(m.classes_.tolist()[0]),
    "rename_classes": lambda m, X, y, path: m.rename_classes({m.classes_.tolist()[0]: m.classes_.tolist()[-1]}),
    "to_sql": lambda m, X, y, path: m.to_sql(),
    "save": lambda m, X, y, path: (m.save(path), load(path)),
    "notes_": lambda m, X, y, path: [str(note) for note in m.notes_],
}


class ModelFiles:
    """Tries one changed model file at a time, half of them with sums that fit."""

    ending = ".suffice"

    def __init__(self, folder: Path) -> None:
        self.path, self.again = folder / "model.suffice", folder / "again.suffice"
        self.saved, self.table, self.answers, self.input = {}, {}, {}, b""
        for name, (make, data) in MODELS.items():
            X, y = self.table[name] = data()
            make().fit(X, y).save(self.path)
            self.saved[name] = self.path.read_bytes()
            model = load(self.path)
            self.answers[name] = _posteriors(model, X[:4]), model.classes_.tolist()

    def try_one(self, pick: random.Random) -> str:
        """Change a file and judge what becomes of it; any exception that leaves here is a finding."""
        name = pick.choices(list(MODELS), [SLOW.get(name, 1.0) for name in MODELS])[0]
        signed = pick.random() < 0.5
        self.input = self._signed(name, pick) if signed else changed_bytes(self.saved[name], pick)
        return self.judge(self.input, name, pick, signed)

    def _signed(self, name: str, pick: random.Random) -> bytes:
        file = File(self.saved[name])
        for _ in range(pick.choice([1, 1, 1, 2, 3])):
            change(file, pick)
        try:
            return file.packed()
        except TypeError:  # the document is no longer an object that holds sums
            return self.saved[name]

    def judge(self, data: bytes, name: str, pick: random.Random, signed: bool = True) -> str:
        """Load a file, and ask the model, if it is one."""
        self.path.write_bytes(data)
        X, y = self.table[name]
        try:
            model = load(self.path)
        except ModelFileError as error:
            assert str(self.path) in str(error), "the message does not name the file"  # noqa: PT017
            return "signed: refused" if signed else "raw: refused"
        before, classes = self.answers[name]
        try:
            posteriors = _posteriors(model, X[:4])
        except SufficeError:
            assert signed, "a damaged file was read"
            return "signed: loaded, a question refused"
        if not signed:
            assert model.classes_.tolist() == classes, "labels changed"
            np.testing.assert_array_equal(posteriors, before)
            return "raw: loaded, nothing changed"
        known = model.classes_.tolist()
        assert known == sorted(known, key=lambda label: (isinstance(label, str), label)), "labels out of order"
        return self._ask(model, X, y, pick)

    def _ask(self, model: Any, X: Any, y: Any, pick: random.Random) -> str:
        refused = 0
        for verb in pick.sample(sorted(VERBS), 3):
            if not hasattr(model, verb) or pick.random() > RARE.get(verb, 1.0):
                continue
            path = self.again if verb == "save" else self.path
            try:
                VERBS[verb](model, X, y, path)
            except SufficeError:
                refused += 1
            except Exception as error:
                raise AssertionError(f"{verb}: {error!r}") from error
        return "signed: loaded, a question refused" if refused else "signed: loaded, all answered"
