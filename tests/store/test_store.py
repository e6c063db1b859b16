"""Model files: what is saved comes back bit for bit, and a damaged or hostile file is one readable error."""

import hashlib
import io
import json
import os
import pickle
import random
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from suffice import GaussianDiscriminant, GenerativeForest, NaiveBayes, _files, load
from suffice.densities import Diagonal, Full
from suffice.errors import ModelFileError
from suffice.estimate.families import GaussianFamily
from suffice.estimate.mixture import MixtureFamily
from suffice.files.archive import packed, unpacked
from suffice.files.saving import MemberFamily, plain, unplain

NUMBERS = {
    "full": GaussianDiscriminant(),
    "full shared": GaussianDiscriminant(shared=True, divisor="unbiased", priors="uniform"),
    "diagonal": GaussianDiscriminant("diagonal", shrinkage=0.1, priors=[0.2, 0.3, 0.5]),
    "diagonal shared": GaussianDiscriminant("diagonal", shared=True, priors={"ash": 0.5, "birch": 0.25, "cedar": 0.25}),
    "spherical": GaussianDiscriminant("spherical", priors=np.array([0.2, 0.3, 0.5])),
    "spherical shared": GaussianDiscriminant("spherical", shared=True, missing="error", shrinkage=np.float64(0.25)),
    "naive Bayes": NaiveBayes(),
    "naive Bayes joint": NaiveBayes({(0, 2): "gaussian"}, smoothing=0.5, divisor="unbiased"),
}


def fresh(name):
    return clone(NUMBERS[name])


def texts(X):
    """Return the same table with two more columns, of text and of truth values, with missing cells."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["größe"] = np.where(X[:, 0] > 1, None, np.where(X[:, 1] > 0, "", "groß"))
    return frame.assign(on=pd.array(np.where(X[:, 2] > 1, None, X[:, 2] > 0).tolist(), dtype="boolean"))


@pytest.mark.parametrize("name", NUMBERS)
def test_round_trip(blobs, read_back, name):
    X, y = blobs
    model = fresh(name).fit(X, y)
    other = read_back(model)
    assert type(other) is type(model)
    for ask in ("predict_log_proba", "predict_joint_log_proba", "score_samples", "predict", "decision_function"):
        assert_array_equal(getattr(other, ask)(X), getattr(model, ask)(X))
    assert_array_equal(other.classes_, model.classes_)
    assert other.classes_.dtype == model.classes_.dtype
    assert_array_equal(other.covariances_, model.covariances_)
    assert [str(note) for note in other.notes_] == [str(note) for note in model.notes_]
    assert other.n_features_in_ == 4
    assert not hasattr(other, "feature_names_in_")
    for setting, value in model.get_params().items():
        if isinstance(value, np.ndarray):
            assert_array_equal(other.get_params()[setting], value)
        else:
            assert other.get_params()[setting] == value


@pytest.mark.parametrize(
    "family",
    [
        GaussianFamily(structure=Diagonal, shared=True),
        MixtureFamily(inner=GaussianFamily(structure=Full, shared=True), within=True, prior=2.5),
        MemberFamily(numbers=3, texts=1),
    ],
    ids=lambda family: type(family).__name__,
)
def test_all_settings_of_a_family_are_written(family):
    changed = [f.name for f in fields(family) if f.init and f.name != "name"]
    required = {GaussianFamily: {"structure": Full}, MemberFamily: {"numbers": 0}, MixtureFamily: {}}
    defaults = type(family)(**required[type(family)])
    assert all(getattr(family, name) != getattr(defaults, name) for name in changed)  # this test knows all of them
    assert unplain(json.loads(json.dumps(plain(family)))) == family


@pytest.mark.parametrize(
    "families", ["auto", {("x0", "x3"): "gaussian", "on": "categorical"}, {0: "categorical"}], ids=str
)
def test_round_trip_of_mixed_columns(blobs, read_back, families):
    X, y = blobs
    table = texts(X)
    model = NaiveBayes(families).fit(table, pd.Categorical(y))
    other = read_back(model)
    assert_array_equal(other.predict_log_proba(table), model.predict_log_proba(table))
    assert other.feature_names_in_.tolist() == list(table)
    assert_array_equal(other.predict(table), model.predict(table))


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 1, 0],
        [True, False, True, False],
        ["", "é 🦉", "", "é 🦉"],
        np.array(["b", "a", "b", "a"], dtype=object),
        [-(2**62), 2**62, 5, 5],
        np.array([1.0, 2.0, 1.0, 2.0]),
    ],
    ids=["int", "bool", "unicode", "object", "large", "float"],
)
def test_labels_survive(read_back, y):
    X = [[0.0], [1.0], [2.5], [3.0]]
    model = GaussianDiscriminant("diagonal").fit(X, y)
    other = read_back(model)
    assert other.classes_.dtype == model.classes_.dtype
    assert other.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("name", NUMBERS)
def test_a_loaded_model_learns_on(blobs, read_back, name):
    X, y = blobs
    model = fresh(name).fit(X[:50], y[:50])
    other = read_back(model)
    model.partial_fit(X[50:], y[50:])
    assert_array_equal(other.partial_fit(X[50:], y[50:]).predict_log_proba(X), model.predict_log_proba(X))
    first = read_back(fresh(name).fit(X[:50], y[:50]))
    second = read_back(fresh(name).fit(X[50:], y[50:]))
    assert_array_equal(first.merge(second).predict_log_proba(X), model.predict_log_proba(X))


def test_the_file_is_a_zip_of_json_and_plain_arrays(holed, tmp_path):
    """Anyone can read it without this library: no pickle, nothing compressed, every array named with its digest."""
    X, y = holed
    GaussianDiscriminant().fit(X, y).save(tmp_path / "m.suffice")
    with zipfile.ZipFile(tmp_path / "m.suffice") as archive:
        document = json.loads(archive.read("model.json"))
        names = set(archive.namelist())
        assert names == {"model.json", "model.sha256", *(f"{name}.npy" for name in document["sha256"])}
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
        for name, digest in document["sha256"].items():
            data = archive.read(f"{name}.npy")
            assert hashlib.sha256(data).hexdigest() == digest
            np.load(io.BytesIO(data), allow_pickle=False)
        assert hashlib.sha256(archive.read("model.json")).hexdigest() == archive.read("model.sha256").decode()
    assert document["format"] == "suffice-model"
    assert document["version"] == 3
    assert {"suffice", "numpy", "scipy", "scikit-learn"} <= set(document["written_by"])


CELLS = {
    "numbers": lambda rng: rng.normal(size=(9000, 2)),
    "few levels": lambda rng: rng.integers(-5, 300, (3000, 3)).astype(float),
    "signs of zero": lambda rng: np.where(rng.random((9000, 1)) < 0.5, -0.0, 0.0),
    "both": lambda rng: np.column_stack([rng.normal(size=70_000), np.arange(70_000.0) % 2]),
    "truth": lambda rng: rng.random((9001, 2)) < 0.1,
    "constant": lambda rng: np.full(9000, -1, dtype=np.int64),
    "hashes": lambda rng: rng.integers(0, 2**63, 9000).astype(np.uint64) * np.uint64(2),
}


@pytest.mark.parametrize("name", CELLS)
def test_packed_arrays_come_back_to_the_bit(rng, name):
    """And take a byte a cell up to 256 levels of its column, two up to 65,536."""
    cells = CELLS[name](rng)
    parts = packed(cells)
    if parts is None:
        assert name in ("numbers", "hashes", "truth")
        return
    again = unpacked(*parts.values(), cells.nbytes)
    assert (again.dtype, again.shape, again.tobytes()) == (cells.dtype, cells.shape, cells.tobytes())
    levels = [len({v.tobytes() for v in column}) for column in cells.reshape(len(cells), -1).T]
    width = sum(8 if own > 1 << 16 else 1 + (own > 256) for own in levels)
    assert len(parts["codes"]) == width * len(cells)


def test_a_file_of_rows_is_no_larger_than_their_table(rng, tmp_path):
    """Rows stand there once, though a forest holds them twice, and without their hashes: 1.3 times the Parquet."""
    X = pd.DataFrame({"a": rng.normal(size=9000), "b": rng.integers(0, 40, 9000), "c": rng.choice(["u", "v"], 9000)})
    X.assign(label=rng.integers(0, 2, 9000)).to_parquet(tmp_path / "t.parquet", index=False)
    model = GenerativeForest().fit_table(tmp_path / "t.parquet", "label")
    model.save(tmp_path / "model.suffice")
    other = load(tmp_path / "model.suffice")
    assert_array_equal(other.predict_log_proba(X[:50]), model.predict_log_proba(X[:50]))
    sample, read = model.statistics_.sample, other.statistics_.sample
    assert_array_equal(read.identity, sample.identity)
    assert_array_equal(read.priority, sample.priority)
    assert (tmp_path / "model.suffice").stat().st_size < 1.3 * (tmp_path / "t.parquet").stat().st_size


def test_equal_models_make_equal_files(blobs, tmp_path):
    for name in ("a", "b"):
        GaussianDiscriminant().fit(*blobs).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# --- saving fails ---


@pytest.fixture
def saved(blobs, tmp_path):
    """Return a model and the file it was saved to."""
    model = GaussianDiscriminant("diagonal").fit(*blobs)
    path = tmp_path / "old.suffice"
    model.save(path)
    return model, path


FAILURES = {
    "fsync": (os, "fsync"),
    "interrupt": (os, "fsync"),
    "rename": (Path, "replace"),
    "chmod": (Path, "chmod"),
    "archive": (zipfile.ZipFile, "writestr"),
    "temporary file": (_files.tempfile, "mkstemp"),
}


@pytest.mark.parametrize("where", FAILURES)
def test_a_failed_save_leaves_the_old_file(saved, monkeypatch, where):
    model, path = saved
    before, listed = path.read_bytes(), sorted(path.parent.iterdir())
    model.set_params(divisor="unbiased")

    def fail(*args, **kwargs):
        raise KeyboardInterrupt if where == "interrupt" else OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(*FAILURES[where], fail)
        with pytest.raises(KeyboardInterrupt if where == "interrupt" else OSError):
            model.save(path)
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == listed
    model.save(path)
    assert path.read_bytes() != before


def test_other_places_that_cannot_be_saved_to(saved, tmp_path):
    model, path = saved
    (tmp_path / "folder").mkdir()
    for target in (tmp_path / "folder", tmp_path / "nowhere" / "m.suffice", path / "below.suffice"):
        with pytest.raises(OSError):  # noqa: PT011  the kind differs between systems
            model.save(target)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "old.suffice"]


def test_settings_that_no_file_can_hold(blobs, tmp_path):
    class Own:
        encode = summarize = estimate = recode = zero = None

    model = NaiveBayes().fit(*blobs).set_params(families=Own())
    with pytest.raises(ValueError, match="cannot be written"):
        model.save(tmp_path / "m.suffice")
    assert list(tmp_path.iterdir()) == []


# --- files that are none ---


def refuses(path, match=None):
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.suffice")
    with pytest.raises(OSError):  # noqa: PT011  IsADirectoryError, or PermissionError on Windows
        load(tmp_path)


def test_truncated_at_any_length(saved):
    _, path = saved
    data = path.read_bytes()
    for length in [*range(0, len(data), max(1, len(data) // 150)), *range(len(data) - 60, len(data))]:
        path.write_bytes(data[:length])
        refuses(path)
    path.write_bytes(data)
    load(path)


@pytest.mark.slow
def test_a_flipped_byte_is_noticed_or_harmless(saved, blobs):
    """Every part has a checksum; only bytes nobody reads (times, attributes) may differ, and then nothing else does."""
    model, path = saved
    data, expected = path.read_bytes(), model.predict_log_proba(blobs[0])
    numbers = random.Random(3)
    flips = [(place, 1 << numbers.randrange(8)) for place in numbers.sample(range(len(data)), 800)]
    directory = range(data.rindex(b"PK\x01\x02"), len(data))  # the last entry of the directory and where all of it is
    for place, bit in [*flips, *((place, 1 << b) for place in directory for b in range(8))]:
        damaged = bytearray(data)
        damaged[place] ^= bit
        path.write_bytes(bytes(damaged))
        try:
            found = load(path)
        except ModelFileError:
            continue
        assert_array_equal(found.predict_log_proba(blobs[0]), expected)


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04", b"hello", pickle.dumps({"model": 1}), b"\x00" * 5000, b"{}", b"PK\x05\x06" + b"\x00" * 18],
    ids=["empty", "start", "text", "pickle", "zeros", "json", "empty zip"],
)
def test_other_files(tmp_path, content):
    path = tmp_path / "m.suffice"
    path.write_bytes(content)
    refuses(path)


class Trap:
    def __reduce__(self):
        return (os.system, ("touch trap-was-run",))


def test_a_pickle_is_never_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.suffice").write_bytes(pickle.dumps(Trap()))
    refuses(Path("m.suffice"))
    assert not Path("trap-was-run").exists()


def test_any_characters_and_links_to_files(tmp_path):
    owl = "🦉\0\r"
    model = NaiveBayes().fit(np.array([[owl], ["whole"]], dtype=object), np.array([owl, "b"], dtype=object))
    (tmp_path / "link").symlink_to(tmp_path / "target")
    model.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "target").predict(np.array([[owl]], dtype=object)).tolist() == [owl]
