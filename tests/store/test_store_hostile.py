"""Model files whose parts are each well formed and have the right digests, but do not fit together."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes, load
from suffice.errors import ModelFileError


def npy(values):
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=values.dtype.hasobject)
    return buffer.getvalue()


@pytest.fixture
def gaussian(blobs, tmp_path, packed):
    return packed(GaussianDiscriminant().fit(*blobs), tmp_path / "gaussian.suffice")


@pytest.fixture
def patterns(holed, tmp_path, packed):
    return packed(GaussianDiscriminant().fit(*holed), tmp_path / "patterns.suffice")


@pytest.fixture
def diagonal(blobs, tmp_path, packed):
    return packed(GaussianDiscriminant("diagonal").fit(*blobs), tmp_path / "diagonal.suffice")


@pytest.fixture
def words(tmp_path, packed):
    X = np.array([["a", "x"], ["b", "y"], ["b", None], ["c", "x"]], dtype=object)
    return packed(NaiveBayes().fit(X, [0, 1, 1, 0]), tmp_path / "words.suffice")


@pytest.fixture
def thin(rng, tmp_path, packed):
    return packed(GaussianDiscriminant().fit(rng.normal(size=(9, 200)), np.arange(9) % 2), tmp_path / "thin.suffice")


def refuses(file, match=None, **options):
    file.pack(**options)
    with pytest.raises(ModelFileError, match=match) as caught:
        load(file.path)
    assert str(file.path) in str(caught.value)


@pytest.mark.parametrize("name", ["gaussian", "patterns", "diagonal", "words", "thin"])
def test_a_file_packed_again_loads(request, name):
    """Packing breaks nothing by itself, and neither does another spelling of the same JSON."""
    file = request.getfixturevalue(name)
    file.pack(text=json.dumps(file.document, indent=4, sort_keys=True))
    assert load(file.path).classes_ is not None


# --- the automatic classifier, which keeps rows ---


@pytest.fixture
def automatic(tmp_path, packed):
    X = np.array([[i / 7.0, i * i % 11 / 3.0, "xyz"[i % 3]] for i in range(30)], dtype=object)
    return packed(GenerativeClassifier().fit(X, np.arange(30) % 2), tmp_path / "automatic.suffice")


def test_kept_rows_of_other_columns(automatic):
    automatic.document["sample"]["blocks"] = 1
    refuses(automatic, "the sample of rows has other columns")


@pytest.mark.parametrize("numbers", [1, 0, 3, -1, 10**9])
def test_members_of_other_columns(automatic, numbers):
    members = automatic.document["blocks"][-1]["family"]
    assert members["members"] == 2
    members["members"] = numbers
    refuses(automatic)


def test_members_of_columns_that_are_not_there(automatic):
    automatic.document["blocks"][-1]["positions"] = [0, 1, 5]
    refuses(automatic, "the members do not cover the columns")


# --- the document ---


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "has format version 2; this suffice reads up to 1. Next: upgrade"),
        ({"version": 10**30}, "upgrade"),
        ({"version": 0}, "version 0 is not known"),
        ({"version": "1"}, "version '1' is not known"),
        ({"version": None}, "version None"),
        ({"format": "other-model"}, "not written by suffice"),
        ({"format": None}, "not written by suffice"),
        ({"sha256": None}, "lists no arrays"),
        ({"sha256": []}, "lists no arrays"),
        ({"sha256": {}}, None),
        ({"estimator": "GaussianMixture"}, None),
        ({"estimator": "os.system"}, None),
        ({"estimator": ["GaussianDiscriminant"]}, None),
        ({"settings": {"covariance": "round"}}, None),
        ({"settings": {"shrinkage": 7}}, None),
        ({"settings": {"unknown": 1}}, None),
        ({"settings": []}, None),
        ({"settings": {"priors": {"list": [0.5, 0.5, 0.5]}}}, None),
        ({"settings": {"priors": {"exec": "boom"}}}, None),
        ({"settings": {"priors": {}}}, None),
        ({"settings": {"priors": {"dict": [[{"list": []}, 1]]}}}, None),
        ({"blocks": []}, None),
        ({"blocks": [{"family": {"family": "gaussian"}, "positions": [0, 1, 2, 3]}]}, None),
        ({"blocks": [{"family": {"gaussian": ["full", False]}, "positions": [0, 1, 2]}]}, None),
        ({"blocks": [{"family": {"gaussian": ["full", False]}, "positions": [0, 1, 2, 2]}]}, None),
        ({"blocks": [{"family": {"gaussian": ["full", False]}, "positions": [0, 1, 2, 9]}]}, None),
        ({"blocks": [{"family": {"gaussian": ["cubic", False]}, "positions": [0, 1, 2, 3]}]}, None),
        ({"blocks": [{"family": {"family": "categorical"}, "positions": [0, 1, 2, 3]}]}, None),
        ({"blocks": "blocks"}, None),
        ({"schema": {}}, None),
        ({"schema": {"named": True, "columns": []}}, None),
        ({"schema": {"named": True, "columns": [{"name": ["a"], "kind": "numeric"}] * 4}}, None),
        ({"schema": {"named": True, "columns": [{"name": "a", "kind": "round"}] * 4}}, None),
        ({"schema": {"named": True, "columns": [{"name": "a", "kind": "numeric"}] * 3}}, None),
        ({"classes": []}, None),
        ({"classes": ["a", "b"]}, None),
        ({"classes": ["a", "a", "b"]}, None),
        ({"classes": [["a"], "b", "c"]}, None),
        ({"classes": [None, "b", "c"]}, None),
        ({"rows": None}, None),
        ({"rows": "many"}, None),
        ({"rows": float("inf")}, None),
        ({"rows": float("nan")}, None),
        ({"statistics": []}, None),
        ({"statistics": [{"type": "CategoricalStats", "plain": {"levels": []}}]}, None),
        ({"statistics": [{"type": "Pickle", "plain": {}}]}, None),
        ({"statistics": [{"type": "PatternStats", "plain": {}}]}, None),
        ({"object_labels": {}}, "ok"),
    ],
    ids=str,
)
def test_a_document_that_does_not_fit(gaussian, change, message):
    gaussian.document.update(change)
    if message == "ok":
        gaussian.pack()
        load(gaussian.path)
        return
    refuses(gaussian, message, digests="sha256" not in change)


@pytest.mark.parametrize("half", [0xD83D, 0xDE00])
def test_text_that_is_not_unicode_is_refused(gaussian, half):
    gaussian.document["classes"][0] = "half " + chr(half)
    refuses(gaussian, "model.json is not JSON")


def test_pairs_of_surrogates_are_characters(gaussian):
    gaussian.document["classes"][2] = "🦉\\ud83d"  # the second is six characters of text
    gaussian.pack()
    assert load(gaussian.path).classes_[2] == "🦉\\ud83d"


@pytest.mark.parametrize(
    "key",
    [
        "format",
        "version",
        "sha256",
        "estimator",
        "settings",
        "blocks",
        "schema",
        "classes",
        "rows",
        "statistics",
        "object_labels",
    ],
)
def test_a_document_without_a_part(gaussian, key):
    del gaussian.document[key]
    refuses(gaussian, digests=key != "sha256")


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '"suffice-model"', "[" * 100_000, "{}".encode("utf-16"), b"\xff\xfe"]
)
def test_a_document_that_is_none(gaussian, text):
    refuses(gaussian, text=text)


# --- the arrays ---


def test_a_part_that_is_missing_or_another(gaussian):
    saved = dict(gaussian.members)
    name = next(name for name in saved if name.endswith("mean"))
    del gaussian.members[name]
    refuses(gaussian, "is missing", digests=False)
    gaussian.members = {**saved, name: npy(gaussian.array(next(iter(gaussian.members))) + 1)}
    refuses(gaussian, "not the one that was saved", digests=False)
    gaussian.members = {k: v for k, v in saved.items() if k != name}
    refuses(gaussian)  # with digests that fit: the array is not even listed


def test_compressed_parts_are_refused(gaussian):
    """A stored part cannot be larger than the file; a compressed one could fill the memory."""
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refuses(gaussian, "claims a size", compression=compression)


def test_no_memory_is_spent_on_a_bomb(gaussian):
    gaussian.put("huge", np.zeros(20_000_000))
    gaussian.pack(compression=zipfile.ZIP_DEFLATED)
    assert gaussian.path.stat().st_size < 1_000_000
    del gaussian.members["huge"]
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            load(gaussian.path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("sizes", [(20, 24), (20,), (24,)], ids=["both", "stored", "unpacked"])
def test_a_part_cannot_claim_more_than_its_file(gaussian, sizes):
    """The directory says a gigabyte follows where there are a few bytes; none of it may be set aside."""
    gaussian.pack()
    data = bytearray(gaussian.path.read_bytes())
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(b"weight.npy"))
    for size in sizes:
        data[entry + size : entry + size + 4] = (1 << 30).to_bytes(4, "little")
    gaussian.path.write_bytes(bytes(data))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="claims a size"):
            load(gaussian.path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def header(shape, descr="'<f8'", order="False", body=b"\x00" * 24):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        b"not an array at all",
        header("(1000000000000,)"),
        header("(10000000000000000000000000,)"),
        header("(-3,)"),
        header("(-1, -3)"),
        header("(2,)"),
        header("3"),
        header("(3, 'a')"),
        header("(3,)", "'|O'"),
        header("(3,)", "'<U2'"),
        header("(3,)", "'<c16'", body=b"\x00" * 48),
        header("(3,)", "'<M8[s]'"),
        header("(3,)", "[('a', '<f8')]"),
        header("(3,)", "'<f2'", body=b"\x00" * 6),
        header("(1, 3)", order="True"),
        header("(3,)", "__import__('os').system('true')"),
        header("(" * 3000 + ")" * 3000),
        header("(3,)", body=np.array([1.0, np.nan, 2.0]).tobytes()),
        header("(3,)", body=np.array([1.0, np.inf, 2.0]).tobytes()),
        npy(np.array([{"a": 1}], dtype=object)),
    ],
    ids=range(22),
)
def test_arrays_that_are_none(gaussian, data):
    gaussian.members["weight"] = data
    refuses(gaussian, "weight")


CHANGES = [
    ("gaussian", "weight", lambda a: a[:2]),
    ("gaussian", "weight", lambda a: -a),
    ("gaussian", "weight", lambda a: a[:, None]),
    ("gaussian", "block0_weight", lambda a: a[:2]),
    ("gaussian", "block0_weight", lambda a: -a),
    ("gaussian", "block0_mean", lambda a: a[:, :3]),
    ("gaussian", "block0_mean", lambda a: a[:2]),
    ("gaussian", "block0_mean", lambda a: a.ravel()),
    ("gaussian", "block0_scatter", lambda a: a[:, :3]),
    ("gaussian", "block0_scatter", lambda a: a[:2]),
    ("gaussian", "block0_scatter", lambda a: a[0]),
    ("gaussian", "block0_scatter", lambda a: -a),
    ("diagonal", "block0_weight", lambda a: a[:, 0]),
    ("diagonal", "block0_scatter", lambda a: a[:, :2]),
    ("diagonal", "block0_scatter", lambda a: -a),
    ("words", "block0_c0", lambda a: a[:, :2]),
    ("words", "block0_c0", lambda a: np.column_stack([a, a])),
    ("words", "block0_c0", lambda a: a[:1]),
    ("words", "block0_c0", lambda a: -a),
    ("words", "block0_c1", lambda a: a.ravel()),
    ("words", "block0_missing", lambda a: a[:, :1]),
    ("words", "block0_missing", lambda a: a[:1]),
    ("patterns", "block0_p0_present", lambda a: a + 7),
    ("patterns", "block0_p0_present", lambda a: a * 0 - 1),
    ("patterns", "block0_p0_weight", lambda a: a[:-1]),
    ("patterns", "block0_p0_weight", lambda a: -a),
    ("patterns", "block0_p0_mean", lambda a: np.column_stack([a, a])),
    ("patterns", "block0_p0_scatter", lambda a: a[:, :0]),
    ("thin", "block0_owner", lambda a: a + 2),
    ("thin", "block0_owner", lambda a: -a - 1),
    ("thin", "block0_owner", lambda a: a[:-1]),
    ("thin", "block0_scatter", lambda a: a[:, :-1]),
]


@pytest.mark.parametrize(
    ("name", "array", "change"), CHANGES, ids=[f"{n} {a} {i}" for i, (n, a, _) in enumerate(CHANGES)]
)
def test_arrays_that_do_not_fit(request, name, array, change):
    file = request.getfixturevalue(name)
    file.put(array, change(file.array(array)))
    refuses(file)


@pytest.mark.parametrize(
    "levels",
    [
        [["a", "b"], ["x", "y"]],
        [["a", "b", "c", "d"], ["x", "y"]],
        [["a", "a", "b"], ["x", "y"]],
        [["a", "b", ["c"]], ["x", "y"]],
        [["a", "b", None], ["x", "y"]],
        [["a", "b", "c"]],
        "abc",
    ],
    ids=str,
)
def test_levels_that_do_not_fit(words, levels):
    words.document["statistics"][0]["plain"]["levels"] = levels
    refuses(words)


@pytest.mark.parametrize("pattern", [[0, 1, 99], [-1, 0, 1], [0, 0, 1], [], [0], ["a"], None], ids=str)
def test_patterns_that_do_not_fit(patterns, pattern):
    entry = next(e for e in patterns.document["statistics"][0]["plain"]["incomplete"] if len(e["pattern"]) == 3)
    entry["pattern"] = pattern
    refuses(patterns)


def test_two_members_of_one_name(gaussian):
    """zipfile reads the last; whichever is read, the digest decides."""
    gaussian.pack()
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(gaussian.path, "a") as archive:
        archive.writestr("weight.npy", npy(np.ones(3)))
    with pytest.raises(ModelFileError, match="not the one that was saved"):
        load(gaussian.path)
