"""Save and load a model as one file: a zip of `model.json` and plain `.npy` arrays. No pickle, nothing executable.

The file holds the statistics and the settings; the model is estimated from them again when it is loaded, so a loaded
model can be updated and merged. Members are stored as they are: a file asks for a small multiple of its own size in
memory. Arrays of many cells are packed column by column (`archive.packed`) and deflated; they take no more memory than
`_arrays.budget`; one that equals an earlier one is not written again, and hashes of many rows are left out where they
are those of these rows.

`model.json` lists the SHA-256 of every array, and `model.sha256` holds that of `model.json`, so that no byte of a file
can change unnoticed. That finds damage and careless edits. It stops no forger, who can compute the sums again: what a
file says is believed only as far as it was written by someone you trust, however well its parts fit together.

What rows chose stands beside the model, and saves time: answers do not depend on it. `choice.json` names the
`model.json` that it is of by its digest, and so the settings and every array of statistics; it lists the digests of its
own arrays, `choice_NAME.npy`, and `choice.sha256` holds that of `choice.json`. Where any of this is missing or does not
fit, there is no choice, and the rows are asked again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from .._arrays import Array, budget, np
from .._files import whole_file
from ..errors import ModelFileError
from ..schema import Column, Kind, Level, Schema, check_text, sort_levels
from ..stats import (
    ByClass,
    CategoricalStats,
    CompletedStats,
    GaussianStats,
    MixtureStats,
    PatternStats,
    Reservoir,
    Statistic,
    SumStats,
    TextStats,
    ValueStats,
)
from ..stats.reservoir import NAMELESS
from ..stats.statistic import Fields, Plain, amounts, at_most, grouped, levels as levels_of
from ..table import CONTAINERS
from .archive import (
    PACKED,
    PACKED_PARTS,
    READABLE,
    Archive,
    DamagedArchive,
    array_parts,
    as_npy,
    open_archive,
    read_array,
)

FORMAT = "suffice-model"
# From 2 on a file has a model.sha256, and holds nothing that saving it again would not write; from 3 on it may hold
# what its rows chose; from 4 on it may hold packed and deflated arrays, and whoever needs none of that writes 3.
FORMAT_VERSION = 4
MAX_JSON = 256 << 20
MOST_ROWS = 1 << 53  # whole numbers are exact up to here, as weights are numbers in floating point
CHOICE, CHOICE_SUM, CHOICE_PREFIX = "choice.json", "choice.sha256", "choice_"
CHOICE_FORMAT = 1
MOST_JSON = 64 << 20  # bytes of a choice
SMALL: Mapping[str, tuple[int, ...]] = MappingProxyType({**READABLE, "u": (1, 8)})
FilePath = str | os.PathLike[str]
Written = tuple[Fields, Any]  # arrays, and values of JSON


STATISTICS: dict[str, type[Statistic]] = {
    t.__name__: t
    for t in (
        GaussianStats,
        PatternStats,
        CompletedStats,
        CategoricalStats,
        MixtureStats,
        SumStats,
        TextStats,
        ValueStats,
    )
}


def write_model(
    path: FilePath,
    state: Mapping[str, object],
    schema: Schema,
    statistics: ByClass,
    check: Callable[[Path], None] | None = None,
    choice: Written | None = None,
) -> None:
    """Write a model file: `state` (JSON values: estimator, settings, blocks), schema, statistics and what rows chose.

    The file is written beside `path` under a temporary name, synced, and renamed over it: a failure leaves the old
    file as it was. So does an error of `check`, which is called with the complete file before it goes to its place.
    """
    document, arrays = describe_model(state, schema, statistics)
    text = json.dumps(document, allow_nan=False, indent=1).encode()
    parts = {"model.json": text, "model.sha256": hashlib.sha256(text).hexdigest().encode()}
    parts |= _array_parts(arrays, document["sha256"])
    parts |= {} if choice is None else _choice_parts(choice, text)
    with whole_file(path, check) as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            large = document["version"] > 3 and name.endswith(".npy") and len(data) > PACKED
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED if large else zipfile.ZIP_STORED)


def describe_model(
    state: Mapping[str, object], schema: Schema, statistics: ByClass
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return `model.json`, which has a digest of every array and so tells models apart, and the arrays by name."""
    document, arrays = describe(state, schema, statistics)
    document["sha256"] = {name: hashlib.sha256(as_npy(values)).hexdigest() for name, values in arrays.items()}
    return document, arrays


def _array_parts(arrays: Mapping[str, Array], digests: Mapping[str, str]) -> dict[str, bytes]:
    """Return the parts of an archive that hold arrays, of large ones that are equal only the first."""
    parts, there = dict[str, bytes](), set[str]()
    for name, values in arrays.items():
        if values.size < PACKED or digests[name] not in there:
            there.add(digests[name])
            parts |= array_parts(name, values)
    return parts


def describe(
    state: Mapping[str, object], schema: Schema, statistics: ByClass
) -> tuple[dict[str, object], dict[str, Array]]:
    """Return what a model file holds: the document, without the sums, and the arrays by name."""
    arrays: dict[str, Array] = {"weight": statistics.weight}
    blocks = []
    for number, stats in enumerate(statistics.blocks):
        fields, plain = stats.arrays()
        arrays |= {f"block{number}_{name}": values for name, values in fields.items()}
        blocks.append({"type": type(stats).__name__, "plain": plain})
    for kind, kept in (("sample", statistics.sample), ("unlabelled", statistics.unlabelled)):
        if kept is not None:
            fields, plain = kept.arrays()
            if len(kept.codes) >= PACKED:
                own = kept.hashes(kept.rows, kept.codes, _labels(kind, statistics.classes), kept.group)
                told = all(np.array_equal(values, fields[name]) for name, values in own.items())
                fields = {name: values for name, values in fields.items() if not (told and name in own)}
            arrays |= {f"{kind}_{name}": values for name, values in fields.items()}
            state = {**state, kind: plain}
    document = {
        "format": FORMAT,
        "version": 3 + any(values.size >= PACKED for values in arrays.values()),
        "written_by": dict(_versions()),
        **state,
        "schema": {
            "named": schema.named,
            "container": schema.container,
            "columns": [
                {"name": own.name, "kind": own.kind.value}
                | ({"order": list(own.order)} if own.order else {})
                | ({"form": own.form} if own.form else {})
                for own in schema.columns
            ],
        },
        "classes": list(statistics.classes),
        "rows": statistics.rows,
        "heaviest": statistics.heaviest,
        "statistics": blocks,
    }
    return document, arrays


def _labels(kind: str, classes: Sequence[Level]) -> Sequence[Level]:
    """Return the classes of the rows that are kept under a name."""
    return classes if kind == "sample" else NAMELESS


@cache
def _versions() -> Mapping[str, str]:
    """Return the versions of what writes the file; looking one up takes as long as reading a small model."""
    return {name: version(name) for name in ("suffice", "numpy", "scipy", "scikit-learn")}


def fingerprint(path: FilePath) -> str | None:
    """Return a digest of what a model file says it holds, None for what is no model file."""
    try:
        with Path(path).open("rb") as file, open_archive(file) as archive:
            return hashlib.sha256(archive.read("model.json")).hexdigest()
    except (DamagedArchive, OSError):
        return None


def holds_model(path: FilePath) -> bool:
    """Return whether a file begins as model files do, however damaged the rest may be."""
    with Path(path).open("rb") as file:
        head = file.read(64)
    return head.startswith(b"PK\x03\x04") and head[30:].startswith(b"model.json")


def read_model(
    path: FilePath, more: Mapping[str, type[Statistic]] = MappingProxyType({})
) -> tuple[Plain, Schema, ByClass, Written | None]:
    """Return (document, schema, statistics, choice) of a model file; ModelFileError says what is wrong with it.

    `more` are types of statistics, by name, beside those of `suffice.stats`. The choice is what rows chose, None where
    the file holds none that is of these statistics; nothing can be wrong with it.
    """
    try:
        with Path(path).open("rb") as file, open_archive(file) as archive:
            document = _read_document(path, archive)
            arrays = _read_arrays(archive, document)
            choice = None
            with contextlib.suppress(Exception):  # whatever is wrong with it, the rows know better
                choice = _read_choice(archive)
    except DamagedArchive as error:
        raise ModelFileError.unreadable(path, str(error)) from error
    try:
        _refuse_gone(path, document)
        with np.errstate(all="ignore"):  # numbers that overflow are refused by name
            schema = _schema(document["schema"])
            return document, schema, _statistics(document, schema, arrays, {**STATISTICS, **more}), choice
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, ArithmeticError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError.unreadable(path, f"its contents do not fit together ({error!r})") from error


def _refuse_gone(path: FilePath, document: Plain) -> None:
    """Raise ModelFileError where the file holds what earlier versions learned and this one cannot."""
    families = [block["family"] for block in document["blocks"]]
    if any(isinstance(family, dict) and family.get("family") == "student_t" for family in families):
        raise ModelFileError.gone(path, "Student t columns", 'fit it again with "laplace" columns')
    if any(saved["type"] == "FourthMomentStats" for saved in document["statistics"]):
        raise ModelFileError.gone(path, "the fourth moments of Ledoit-Wolf shrinkage", "fit it again")


def check_whole(document: Plain, state: Mapping[str, object], schema: Schema, statistics: ByClass) -> None:
    """Raise ValueError unless saving what was read would write this very document.

    So nothing in it is of another type than it should be, unknown, or understood in some other way than it stands
    there. Files of format 1 may be older than some of what is written today, and are taken as they are.
    """
    if document["version"] < 2:
        return
    again, _ = describe(state, schema, statistics)
    for part in ("written_by", "version"):
        again[part] = document[part]
    unlike = sorted(
        key
        for key in again.keys() | (document.keys() - {"sha256"})
        if key not in again or key not in document or _text(again[key]) != _text(document[key])
    )
    if unlike:
        raise ValueError(f"{', '.join(map(repr, unlike))} would not be written like this")


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _read_document(path: FilePath, archive: Archive) -> Plain:
    data = archive.read("model.json")
    if len(data) > MAX_JSON:
        raise DamagedArchive("model.json is larger than that of any model")
    try:
        document = json.loads(data, parse_constant=_no_number)
        if b"\\ud" in data.lower():  # an escaped surrogate: pairs of them are characters, half a pair is none
            json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise DamagedArchive("model.json is not JSON") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DamagedArchive("it was not written by suffice")
    found = document.get("version")
    if type(found) is not int or found < 1:
        raise DamagedArchive(f"its format version {found!r} is not known")
    if found > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {found}; this suffice reads up to {FORMAT_VERSION}. Next: upgrade suffice."
        )
    if found > 1 and archive.read("model.sha256") != hashlib.sha256(data).hexdigest().encode():
        raise DamagedArchive("model.json is not the one that was saved")
    released = document.get("released")
    if isinstance(released, dict):
        for gone in ("cost", "unknown"):  # what older files say a release costs
            released.pop(gone, None)
    return document


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _read_arrays(archive: Archive, document: Plain) -> dict[str, Array]:
    digests = document.get("sha256")
    if not isinstance(digests, dict):
        raise DamagedArchive("it lists no arrays")
    known = {"model.json"} | ({"model.sha256"} if document["version"] > 1 else set())
    if document["version"] > 2:
        known |= {CHOICE, CHOICE_SUM}
        known |= {name for name in archive.names if name.startswith(CHOICE_PREFIX) and name.endswith(".npy")}
    known |= {f"{name}.npy" for name in digests}
    if document["version"] > 3:
        known |= {f"{name}.{part}.npy" for name in digests for part in PACKED_PARTS}
    strange = archive.names - known
    if strange:
        raise DamagedArchive(f"it holds {min(strange)!r}, which is no part of a model")
    arrays, there, room = dict[str, Array](), dict[str, Array](), budget()
    for name, digest in digests.items():
        if digest in there and not archive.names & {f"{name}.npy", f"{name}.form.npy"}:
            arrays[name] = there[digest]
            continue
        try:
            arrays[name] = read_array(archive, name, digest, room, READABLE)
        except DamagedArchive:
            raise
        except ValueError as error:
            raise DamagedArchive(f"the array {name!r} {error}") from error
        room -= arrays[name].nbytes
        if document["version"] > 3:
            there[digest] = arrays[name]
    return arrays


def _schema(saved: Plain) -> Schema:
    columns = tuple(
        Column(own["name"], Kind(own["kind"]), levels_of(own.get("order", [])), own.get("form", ""))
        for own in saved["columns"]
    )
    if any(type(own.form) is not str or (own.form and own.kind is not Kind.DATE) for own in columns):
        raise ValueError("the form of dates")
    if any(own.order and own.kind.is_number and own.kind is not Kind.EMPTY for own in columns):
        raise ValueError("the order of numbers")
    named = bool(saved["named"])
    names = [column.name for column in columns]
    if not columns or len(set(names)) != len(names) or not all(type(name) is (str if named else int) for name in names):
        raise ValueError("columns")
    container = saved.get("container", "pandas" if named else "numpy")  # older files do not say
    if container not in CONTAINERS:
        raise ValueError("container")
    return Schema(columns, named, container)


def _statistics(
    document: Plain, schema: Schema, arrays: dict[str, Array], kinds: Mapping[str, type[Statistic]]
) -> ByClass:
    classes, rows = tuple(document["classes"]), document["rows"]
    weight = arrays["weight"]
    k = len(classes)
    plain = all(type(label) in (str, int, bool, float) for label in classes)
    if not plain or classes != sort_levels(classes) or len({type(label) is str for label in classes}) != 1:
        raise ValueError("classes")
    if not all(isinstance(label, str) or math.isfinite(label) for label in classes):
        raise ValueError("classes")
    check_text(classes, None)
    if type(rows) is not int or not 0 <= rows <= MOST_ROWS:
        raise ValueError(f"{rows!r} rows")
    if not amounts(weight, k).any():
        raise ValueError("weights of the classes")
    blocks = []
    groups = grouped(arrays, "block")
    for number, saved in enumerate(document["statistics"]):
        fields = groups[str(number)]
        if saved["plain"].get("k", k) != k:
            raise ValueError(f"block {number} has another number of classes")
        stats = kinds[saved["type"]].from_arrays(fields, saved["plain"])
        observed = stats.column_weight() + (stats.missing if isinstance(stats, CategoricalStats) else 0.0)
        if len(observed) != k or not at_most(observed, weight[:, None]):
            raise ValueError(f"block {number} has other classes")
        blocks.append(stats)
    heaviest = document.get("heaviest")  # older files do not say
    if heaviest is not None and (type(heaviest) not in (int, float) or not 0 < heaviest < np.inf):
        raise ValueError("the weight of the heaviest row")
    sample, nameless = _sample(document, arrays, k, len(blocks)), _reservoir(document, arrays, "unlabelled")
    if nameless is not None:
        known = len(nameless.codes) and len(nameless.limit) == 1 and len(nameless.rows) <= len(blocks)
        if not known or not nameless.is_of(NAMELESS):
            raise ValueError("rows without a label")
    return ByClass(classes, weight, tuple(blocks), rows, sample, heaviest, nameless)


def _reservoir(document: Plain, arrays: dict[str, Array], name: str) -> Reservoir | None:
    if name not in document:
        return None
    prefix = f"{name}_"
    fields = {key.removeprefix(prefix): v for key, v in arrays.items() if key.startswith(prefix)}
    return Reservoir.from_arrays(fields, document[name], _labels(name, document["classes"]))


def _sample(document: Plain, arrays: dict[str, Array], k: int, blocks: int) -> Reservoir | None:
    sample = _reservoir(document, arrays, "sample")
    if sample is None:
        return None
    if len(sample.limit) != k or len(sample.rows) > blocks:
        raise ValueError("the sample of rows has other classes or blocks")
    if not at_most(np.bincount(sample.codes, weights=sample.weight, minlength=k), arrays["weight"]):
        raise ValueError("the sample of rows weighs more than all rows")
    if "sample_identity" in arrays and document["version"] > 1 and not sample.is_of(document["classes"]):
        raise ValueError("the hashes of the sample of rows are those of other rows or classes")
    return sample


# --- what rows chose --------------------------------------------------------------------------------------------------


def _choice_parts(choice: Written, model: bytes) -> dict[str, bytes]:
    """Return the parts of an archive by name; `model` is the text of `model.json`."""
    fields, plain = choice
    digests = {name: hashlib.sha256(as_npy(values)).hexdigest() for name, values in fields.items()}
    document = {"format": CHOICE_FORMAT, "of": hashlib.sha256(model).hexdigest(), "choice": plain, "sha256": digests}
    text = json.dumps(document, allow_nan=False).encode()
    parts = {CHOICE: text, CHOICE_SUM: hashlib.sha256(text).hexdigest().encode()}
    for name, values in fields.items():
        parts |= array_parts(f"{CHOICE_PREFIX}{name}", values)
    return parts


def _read_choice(archive: Archive) -> Written | None:
    """Return the choice in an archive whose model is read already; None where there is none that can be its own."""
    if CHOICE not in archive.names:
        return None
    text = archive.read(CHOICE)
    if len(text) > MOST_JSON or archive.read(CHOICE_SUM) != hashlib.sha256(text).hexdigest().encode():
        return None
    document = json.loads(text)
    if document["format"] != CHOICE_FORMAT or document["of"] != hashlib.sha256(archive.read("model.json")).hexdigest():
        return None
    fields, room = dict[str, Array](), budget()
    for name, digest in document["sha256"].items():
        fields[name] = read_array(archive, f"{CHOICE_PREFIX}{name}", digest, room, SMALL)
        room -= fields[name].nbytes
    return fields, document["choice"]
