"""Model files whose parts are each well formed and have the right digests, but do not fit together."""

import hashlib
import io
import json
import struct
import zipfile
import zlib

import numpy as np
import pytest
from memory import memory_below
from numpy.testing import assert_array_equal

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


def refused_within(path, most, match=None):
    """Loading a file is refused, and takes no more memory than so many bytes."""
    with memory_below(most), pytest.raises(ModelFileError, match=match):
        load(path)


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
    refuses(automatic, "the sample of rows")


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
        ({"version": 5}, "has format version 5; this suffice reads up to 4. Next: upgrade"),
        ({"version": True}, "version True is not known"),
        ({"version": 0}, "version 0 is not known"),
        ({"version": "1"}, "version '1' is not known"),
        ({"format": "other-model"}, "not written by suffice"),
        ({"sha256": None}, "lists no arrays"),
        ({"sha256": {}}, None),
        ({"estimator": "os.system"}, None),
        ({"estimator": ["GaussianDiscriminant"]}, None),
        ({"settings": {"covariance": "round"}}, None),
        ({"settings": {"shrinkage": 7}}, None),
        ({"settings": []}, None),
        ({"settings": {"priors": {"list": [0.5, 0.5, 0.5]}}}, None),
        ({"settings": {"priors": {"exec": "boom"}}}, None),
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
        ({"classes": ["a", "a", "b"]}, None),
        ({"classes": [["a"], "b", "c"]}, None),
        ({"rows": "many"}, None),
        ({"rows": float("nan")}, None),
        ({"statistics": [{"type": "CategoricalStats", "plain": {"levels": []}}]}, None),
        ({"statistics": [{"type": "Pickle", "plain": {}}]}, None),
        ({"statistics": [{"type": "PatternStats", "plain": {}}]}, None),
        ({"object_labels": {}}, "'object_labels' would not be written like this"),
        ({"holds_unlabelled": "no"}, "'holds_unlabelled' would not be written like this"),
        ({"unknown": 1}, "'unknown' would not be written like this"),
        ({"rows": -5}, "-5 rows"),
        ({"rows": True}, "True rows"),
        ({"rows": 90.0}, "90.0 rows"),
        ({"classes": [2, 1, 0]}, "classes"),
        ({"classes": [0, 1, 2]}, "hashes of the sample"),
        ({"classes": [0, 1, float("nan")]}, "model.json is not JSON"),
        ({"classes": [0, 1, "2"]}, "classes"),
        ({"classes": [0, 1, True]}, "classes"),
    ],
    ids=str,
)
def test_a_document_that_does_not_fit(gaussian, change, message):
    gaussian.document.update(change)
    refuses(gaussian, message, digests="sha256" not in change)


@pytest.mark.parametrize("half", [0xD83D, 0xDE00])
def test_text_that_is_not_unicode_is_refused(gaussian, half):
    gaussian.document["classes"][0] = "half " + chr(half)
    refuses(gaussian, "model.json is not JSON")


def test_pairs_of_surrogates_are_characters(gaussian):
    del gaussian.document["sample"]  # which holds hashes of the labels
    gaussian.members = {name: data for name, data in gaussian.members.items() if not name.startswith("sample_")}
    gaussian.document["classes"][2] = "🦉\\ud83d"  # the second is six characters of text
    gaussian.pack()
    assert load(gaussian.path).classes_[2] == "🦉\\ud83d"


@pytest.mark.parametrize(
    "key",
    [
        *("format", "version", "sha256", "estimator", "settings", "blocks"),
        *("schema", "classes", "rows", "statistics", "object_labels"),
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


@pytest.fixture
def large(rng, tmp_path, packed):
    X = rng.integers(0, 100, (9001, 2)).astype(float)
    X[:, 1] += 100 * np.arange(9001)  # distinct rows
    return packed(GaussianDiscriminant(keep_rows="all").fit(X, np.arange(9001) % 3), tmp_path / "large.suffice")


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("form", lambda own: own + np.array([1 << 45, 0, 0, 0]), "would take .* bytes, more than"),
        ("form", lambda own: own + np.array([8, 0, 0, 0]), "parts that do not fit together"),
        ("form", lambda own: -own, "has no form"),
        ("form", lambda own: own[:3], "parts that do not fit together"),
        ("codes", lambda own: own[:-1], "parts that do not fit together"),
        ("codes", lambda own: own | np.uint8(255), "cells of no level"),
        ("codes", lambda own: own.astype(np.int64), "parts that do not fit together"),
        ("levels", lambda own: own + 1.0, "is not the one that was saved"),
        ("levels", lambda own: own * np.inf, "holds NaN or infinity"),
        ("levels", None, "is missing"),
    ],
)
def test_packed_arrays_that_do_not_fit(large, part, change, message):
    """No more memory is taken than a model may have, whatever the parts claim, and the digest is of the cells."""
    name = f"sample_x0.{part}"
    own, _ = large.array(name), large.members.pop(name)
    if change is not None:
        with np.errstate(invalid="ignore"):
            large.put(name, change(own))
    refuses(large, f"'?sample_x0.*{message}", digests=False)


def test_compressed_parts_are_refused(gaussian):
    """A stored part cannot be larger than the file; text that is compressed could fill the memory."""
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refuses(gaussian, "claims a size", compression=compression)


@pytest.mark.parametrize("claimed", [160_000_128, 1000])
def test_no_memory_is_spent_on_a_bomb(gaussian, monkeypatch, claimed):
    """A deflated array takes no more than a model may have, nor than it claims, whatever it would inflate to."""
    monkeypatch.setattr("suffice.files.archive.budget", lambda: 100_000_000)
    gaussian.put("weight", np.zeros(20_000_000))
    gaussian.pack(deflated=["weight"])
    data = gaussian.path.read_bytes()
    assert len(data) < 1_000_000
    gaussian.path.write_bytes(data.replace(struct.pack("<I", 160_000_128), struct.pack("<I", claimed)))
    gaussian.members.clear()
    refused_within(gaussian.path, 20_000_000, "claims a size" if claimed > 1000 else "no zip file")


def test_a_deflated_part_is_one_whole_stream(gaussian):
    """Damage is told like any other, and no bytes hide behind it; the last part is followed by the directory."""
    gaussian.pack(deflated=[[*gaussian.members][-1]])
    with zipfile.ZipFile(gaussian.path) as archive:
        last, end = archive.infolist()[-1], archive.start_dir
    saved = gaussian.path.read_bytes()
    longer = saved.replace(struct.pack("<I", last.compress_size), struct.pack("<I", last.compress_size + 6))
    longer = longer[:end] + b"hidden" + longer[end:-6] + struct.pack("<IH", end + 6, 0)
    damaged = [saved[:i] + bytes([saved[i] ^ 255]) + saved[i + 1 :] for i in range(end - last.compress_size, end)]
    for data in (longer, *damaged):
        gaussian.path.write_bytes(data)
        with pytest.raises(ModelFileError, match="no zip file that can be read"):
            load(gaussian.path)


def test_large_arrays_are_deflated_and_may_as_well_be_stored(large):
    """And text is stored, so that no document takes more than a multiple of its file."""
    with zipfile.ZipFile(large.path) as file:
        method = {info.filename: info.compress_type for info in file.infolist()}
    assert method["sample_x0.codes.npy"] == zipfile.ZIP_DEFLATED
    assert method["model.json"] == method["weight.npy"] == zipfile.ZIP_STORED
    size, rows = large.path.stat().st_size, load(large.path).statistics_.sample
    large.pack(digests=False)
    assert large.path.stat().st_size > 1.1 * size
    assert_array_equal(load(large.path).statistics_.sample.identity, rows.identity)


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "factor"), [("[],", 30), ("{},", 32), ("[[[[]]]],", 46), ("1e9,", 14)])
def test_a_document_takes_a_small_multiple_of_its_size(gaussian, unit, factor):
    """Empty lists in lists take most: 56 bytes and a place in another list, for two letters each."""
    gaussian.pack(text='{"format": "suffice-model", "version": 2, "x": [' + unit * ((1 << 20) // len(unit)) + "0]}")
    refused_within(gaussian.path, factor * gaussian.path.stat().st_size)


@pytest.mark.parametrize("sizes", [(20, 24), (20,), (24,)], ids=["both", "stored", "unpacked"])
def test_a_part_cannot_claim_more_than_its_file(gaussian, sizes):
    """The directory says a gigabyte follows where there are a few bytes; none of it may be set aside."""
    gaussian.pack()
    data = bytearray(gaussian.path.read_bytes())
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(b"weight.npy"))
    for size in sizes:
        data[entry + size : entry + size + 4] = (1 << 30).to_bytes(4, "little")
    gaussian.path.write_bytes(bytes(data))
    refused_within(gaussian.path, 20_000_000, "claims a size")


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


def broken_scatter(a):
    a = a.copy()
    a[0, 0, 1] = a[0, 1, 0] = 2.0 * np.sqrt(a[0, 0, 0] * a[0, 1, 1])
    return a


def three_opposed(a):
    """Each pair of three columns has a correlation of −0.9, which no three columns can have."""
    a = a.copy()
    root = np.sqrt(np.diagonal(a[0])[:3])
    a[0, :3, :3] = np.where(np.eye(3, dtype=bool), 1.0, -0.9) * np.outer(root, root)
    return a


def asymmetric(a):
    a = a.copy()
    a[0, 0, 1] *= 0.5
    return a


CHANGES = [
    ("gaussian", "weight", lambda a: a[:2]),
    ("gaussian", "weight", lambda a: -a),
    ("gaussian", "weight", lambda a: a[:, None]),
    ("gaussian", "block0_weight", lambda a: -a),
    ("gaussian", "block0_mean", lambda a: a[:, :3]),
    ("gaussian", "block0_mean", lambda a: a.ravel()),
    ("gaussian", "block0_scatter", lambda a: a[:, :3]),
    ("gaussian", "block0_scatter", lambda a: -a),
    ("diagonal", "block0_weight", lambda a: a[:, 0]),
    ("words", "block0_c0", lambda a: a[:, :2]),
    ("words", "block0_c0", lambda a: np.column_stack([a, a])),
    ("words", "block0_c0", lambda a: -a),
    ("words", "block0_c1", lambda a: a.ravel()),
    ("words", "block0_missing", lambda a: a[:, :1]),
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
    # numbers that no rows have
    ("gaussian", "block0_scatter", broken_scatter),
    ("gaussian", "block0_scatter", three_opposed),
    ("gaussian", "block0_scatter", asymmetric),
    ("gaussian", "block0_scatter", lambda a: a.astype(np.float32)),
    ("gaussian", "block0_scatter", lambda a: a.astype(">f8")),
    ("gaussian", "block0_mean", lambda a: a.astype(np.int64)),
    ("gaussian", "block0_mean", lambda a: a + 1e200),
    ("gaussian", "weight", lambda a: a.astype(np.int64)),
    ("gaussian", "weight", lambda a: a / 2),
    ("gaussian", "weight", lambda a: a * 0 + 1e308),
    ("gaussian", "sample_weight", lambda a: a * 1e3),
    ("gaussian", "sample_copies", lambda a: a - 1),
    ("gaussian", "sample_priority", lambda a: a | np.uint64(2**63)),
    ("diagonal", "block0_scatter", lambda a: a * 0 + 1.7e308),
    ("words", "block0_c0", lambda a: a * 100),
    ("words", "block0_missing", lambda a: a + 100),
    ("thin", "block0_owner", lambda a: a.astype(np.int32)),
    ("thin", "block0_root_weight", lambda a: a * 2),
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
    gaussian.pack()
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(gaussian.path, "a") as archive:
        archive.writestr("weight.npy", npy(np.ones(3)))
    with pytest.raises(ModelFileError, match="two of its parts have one name"):
        load(gaussian.path)


# --- the archive -----------------------------------------------------------------------------------------------------


def rezipped(file, change=None, tail=b""):
    """Write the archive by hand; `change` is told the name of a part and the fields of its directory entry."""
    file.pack()
    with zipfile.ZipFile(file.path) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    body, directory = bytearray(), bytearray()
    for name, data in parts.items():
        entry = {"offset": len(body), "size": len(data), "crc": zlib.crc32(data), "name": name.encode(), "flags": 0}
        shared = [20, 0, 0, 0, 33, entry["crc"], entry["size"], entry["size"], len(name), 0]
        body += struct.pack("<4s5H3I2H", b"PK\3\4", *shared) + name.encode() + data
        entry = change(dict(entry), parts) if change else entry
        fields = [20, 20, entry["flags"], 0, 0, 33, entry["crc"], entry["size"], entry["size"], len(entry["name"])]
        directory += struct.pack("<4s6H3I5H2I", b"PK\1\2", *fields, 0, 0, 0, 0, 0, entry["offset"]) + entry["name"]
    body += tail
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(parts), len(parts), len(directory), len(body), 0)
    file.path.write_bytes(bytes(body + directory + end))


def test_an_archive_written_by_hand_loads(gaussian):
    """What the next tests change is then what is refused."""
    rezipped(gaussian)
    assert load(gaussian.path).classes_.tolist() == ["ash", "birch", "cedar"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("offset", 0), ("name", b"\xff\xfe"), ("name", b"model.json"), ("flags", 1), ("size", 10), ("size", 1 << 31)],
)
def test_a_directory_that_says_something_else(gaussian, field, value):
    def change(entry, parts):
        return (
            {**entry, field: value, **({"flags": 0x800} if value == b"\xff\xfe" else {})} if entry["offset"] else entry
        )

    rezipped(gaussian, change)
    with pytest.raises(ModelFileError, match=r"gaussian\.suffice"):
        load(gaussian.path)


def test_bytes_between_the_parts(gaussian):
    rezipped(gaussian, tail=b"hidden")
    with pytest.raises(ModelFileError, match="holds bytes that belong to no part"):
        load(gaussian.path)


def test_parts_on_top_of_each_other_fill_no_memory(gaussian):
    """Thousands of names for the same megabyte would take as many megabytes, were each of them read."""
    data = npy(np.zeros(1 << 17))
    names = [f"extra{number}.npy" for number in range(1500)]
    gaussian.document["sha256"] |= {name.removesuffix(".npy"): hashlib.sha256(data).hexdigest() for name in names}
    text = json.dumps(gaussian.document).encode()
    parts = {"model.json": text, "model.sha256": hashlib.sha256(text).hexdigest().encode(), "": data}
    body, directory, place = bytearray(), bytearray(), {}
    for name, part in parts.items():
        own, place[name] = name or "extra0.npy", len(body)
        shared = [20, 0, 0, 0, 33, zlib.crc32(part), len(part), len(part), len(own), 0]
        body += struct.pack("<4s5H3I2H", b"PK\3\4", *shared) + own.encode() + part
    for name in ["model.json", "model.sha256", *names]:
        part, at = parts.get(name, data), place.get(name, place[""])
        fields = [20, 20, 0, 0, 0, 33, zlib.crc32(part), len(part), len(part), len(name)]
        directory += struct.pack("<4s6H3I5H2I", b"PK\1\2", *fields, 0, 0, 0, 0, 0, at) + name.encode()
    count = len(names) + 2
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    gaussian.path.write_bytes(bytes(body + directory + end))
    size = gaussian.path.stat().st_size
    assert size < 1_500_000
    refused_within(gaussian.path, 20 * size)


@pytest.mark.parametrize("name", ["README", "extra.npy", "../out.npy", "/out.npy", "model.json/x", "C:\\out.npy"])
def test_parts_that_no_model_has(gaussian, name, tmp_path):
    before = set(tmp_path.iterdir())
    gaussian.pack()
    with zipfile.ZipFile(gaussian.path, "a") as archive:
        archive.writestr(name, b"out")
    with pytest.raises(ModelFileError, match="no part of a model"):
        load(gaussian.path)
    assert set(tmp_path.iterdir()) == before


# --- sums, and numbers that sums do not protect ----------------------------------------------------------------------


def test_an_edited_document_is_noticed(gaussian):
    """Classes in another order would swap their labels; the arrays, and so their sums, are untouched by that."""
    gaussian.document["classes"].reverse()
    refuses(gaussian, r"model\.json is not the one that was saved", sealed=False)


def test_labels_cannot_change_places(gaussian):
    """Not even where all sums are made again: classes stand in sorted order."""
    gaussian.document["classes"].reverse()
    refuses(gaussian, "classes")


def test_a_sum_cannot_be_left_out(gaussian):
    gaussian.pack()
    with zipfile.ZipFile(gaussian.path) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(gaussian.path, "w") as archive:
        for name, data in parts.items():
            if name != "model.sha256":
                archive.writestr(name, data)
    with pytest.raises(ModelFileError, match=r"'model\.sha256' is missing"):
        load(gaussian.path)


def test_a_file_cannot_claim_to_be_older_than_it_is(gaussian):
    """Files of format 1 had no sum of model.json, so they do not hold one."""
    gaussian.document["version"] = 1
    gaussian.pack()
    with zipfile.ZipFile(gaussian.path, "a") as archive:
        archive.writestr("model.sha256", hashlib.sha256(archive.read("model.json")).hexdigest())
    with pytest.raises(ModelFileError, match=r"'model\.sha256', which is no part of a model"):
        load(gaussian.path)


def test_truth_values_that_are_neither(automatic):
    name = next(name for name in automatic.members if name.startswith("sample_n"))
    data = bytearray(automatic.members[name])
    data[-1] = 7
    automatic.members[name] = bytes(data)
    refuses(automatic, "truth values")


@pytest.mark.parametrize("kind", ["shrunk", "lost", "", None, 3, ["given up"]])
def test_a_released_model_gave_up_what_a_release_gives_up(blobs, tmp_path, packed, kind):
    file = packed(GaussianDiscriminant(shared=True).fit(*blobs).release(least=5), tmp_path / "released.suffice")
    notes = file.document["released"]["given_up"]
    assert {note["kind"] for note in notes} <= {"given up", "pooled"}
    assert notes
    notes[0]["kind"] = kind
    refuses(file)
    del notes[0]["kind"]
    refuses(file)
