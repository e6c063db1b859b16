"""Save and load a model as one file: a zip of `model.json` and plain `.npy` arrays. No pickle, nothing executable.

The file holds the statistics and the settings; the model is estimated from them again when it is loaded, so a loaded
model can be updated and merged. Members are stored uncompressed: a file cannot ask for more memory than its own size.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ._arrays import Array, np
from ._files import whole_file
from .errors import ModelFileError
from .schema import Column, Kind, Schema
from .stats import (
    ByClass,
    CategoricalStats,
    CompletedStats,
    FourthMomentStats,
    GaussianStats,
    MixtureStats,
    PatternStats,
    Reservoir,
    SumStats,
    ValueStats,
)
from .table import CONTAINERS

FORMAT = "suffice-model"
FORMAT_VERSION = 1
MAX_JSON = 256 << 20
STATISTICS: dict[str, Any] = {
    t.__name__: t
    for t in (
        GaussianStats,
        PatternStats,
        CompletedStats,
        FourthMomentStats,
        CategoricalStats,
        MixtureStats,
        SumStats,
        ValueStats,
    )
}
READABLE = {
    "b": (1,),
    "i": (1, 2, 4, 8),
    "u": (1, 2, 4, 8),
    "f": (4, 8),
}  # dtype kinds and sizes of stored arrays


def write_model(path: str | os.PathLike[str], state: dict[str, Any], schema: Schema, statistics: ByClass) -> None:
    """Write a model file: `state` (JSON values: estimator, settings, blocks), schema and statistics.

    The file is written beside `path` under a temporary name, synced, and renamed over it: a failure leaves the old
    file as it was.
    """
    arrays: dict[str, Array] = {"weight": statistics.weight}
    blocks = []
    for number, stats in enumerate(statistics.blocks):
        fields, plain = stats.arrays()
        arrays |= {f"block{number}_{name}": values for name, values in fields.items()}
        blocks.append({"type": type(stats).__name__, "plain": plain})
    if statistics.sample is not None:
        fields, plain = statistics.sample.arrays()
        arrays |= {f"sample_{name}": values for name, values in fields.items()}
        state = {**state, "sample": plain}
    members = {name: _npy(values) for name, values in arrays.items()}
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "written_by": {name: version(name) for name in ("suffice", "numpy", "scipy", "scikit-learn")},
        **state,
        "schema": {
            "named": schema.named,
            "container": schema.container,
            "columns": [{"name": column.name, "kind": column.kind.value} for column in schema.columns],
        },
        "classes": list(statistics.classes),
        "rows": statistics.rows,
        "heaviest": statistics.heaviest,
        "statistics": blocks,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    _write(path, document, members)


def _npy(values: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(values), allow_pickle=False)
    return buffer.getvalue()


def _write(path: str | os.PathLike[str], document: dict[str, Any], members: dict[str, bytes]) -> None:
    text = json.dumps(document, allow_nan=False, indent=1).encode()
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("model.json"), text)
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data)


def read_model(
    path: str | os.PathLike[str], more: Mapping[str, Any] = MappingProxyType({})
) -> tuple[dict[str, Any], Schema, ByClass]:
    """Return (document, schema, statistics) of a model file; ModelFileError says what is wrong with it.

    `more` are types of statistics, by name, beside those of `suffice.stats`.
    """
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                size = os.fstat(file.fileno()).st_size
                document = _read_document(path, archive, size)
                arrays = _read_arrays(path, archive, document, size)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise ModelFileError.unreadable(path, f"it is no zip file that can be read ({error})") from error
    try:
        schema = _schema(document["schema"])
        return document, schema, _statistics(document, schema, arrays, {**STATISTICS, **more})
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError.unreadable(path, f"its contents do not fit together ({error!r})") from error


def _member(path: Any, archive: zipfile.ZipFile, name: str, size: int) -> bytes:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise ModelFileError.unreadable(path, f"the part {name!r} is missing") from None
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > size or info.compress_size != info.file_size:
        raise ModelFileError.unreadable(path, f"the part {name!r} claims a size its file does not have")
    return archive.read(info)


def _read_document(path: Any, archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    data = _member(path, archive, "model.json", min(size, MAX_JSON))
    try:
        document = json.loads(data)
        if b"\\ud" in data.lower():  # an escaped surrogate: pairs of them are characters, half a pair is none
            json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ModelFileError.unreadable(path, "model.json is not JSON") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError.unreadable(path, "it was not written by suffice")
    found = document.get("version")
    if not isinstance(found, int) or found < 1:
        raise ModelFileError.unreadable(path, f"its format version {found!r} is not known")
    if found > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {found}; this suffice reads up to {FORMAT_VERSION}. Next: upgrade suffice."
        )
    return document


def _read_arrays(path: Any, archive: zipfile.ZipFile, document: dict[str, Any], size: int) -> dict[str, Array]:
    digests = document.get("sha256")
    if not isinstance(digests, dict):
        raise ModelFileError.unreadable(path, "it lists no arrays")
    arrays = {}
    for name, digest in digests.items():
        data = _member(path, archive, f"{name}.npy", size)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ModelFileError.unreadable(path, f"the array {name!r} is not the one that was saved")
        arrays[name] = _array(path, name, data)
    return arrays


def _array(path: Any, name: str, data: bytes) -> Array:
    """Return the array in a .npy member, having checked that its header asks for exactly the bytes that follow."""
    stream = io.BytesIO(data)
    try:
        major, _ = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read_header(stream)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ModelFileError.unreadable(path, f"the array {name!r} has no valid header") from error
    if dtype.itemsize not in READABLE.get(dtype.kind, ()) or fortran:
        raise ModelFileError.unreadable(path, f"the array {name!r} has the type {dtype}")
    count = 1
    for length in shape:
        count *= length
    rest = data[stream.tell() :]
    if any(length < 0 for length in shape) or count * dtype.itemsize != len(rest):
        raise ModelFileError.unreadable(path, f"the array {name!r} is {len(rest)} bytes, not the {shape} it claims")
    values = np.frombuffer(rest, dtype=dtype).reshape(shape).copy()
    if not np.isfinite(values).all():
        raise ModelFileError.unreadable(path, f"the array {name!r} holds NaN or infinity")
    return np.asarray(values)


def _schema(saved: dict[str, Any]) -> Schema:
    columns = tuple(Column(column["name"], Kind(column["kind"])) for column in saved["columns"])
    if not columns or not all(isinstance(column.name, str | int) for column in columns):
        raise ValueError("columns")
    named = bool(saved["named"])
    container = saved.get("container", "pandas" if named else "numpy")  # older files do not say
    if container not in CONTAINERS:
        raise ValueError("container")
    return Schema(columns, named, container)


def _statistics(
    document: dict[str, Any], schema: Schema, arrays: dict[str, Array], kinds: Mapping[str, Any]
) -> ByClass:
    classes = tuple(document["classes"])
    weight = arrays["weight"]
    k = len(classes)
    if not all(isinstance(label, str | int | float) for label in classes):
        raise ValueError("classes")
    if weight.shape != (k,) or k == 0 or len(set(classes)) != k or (weight < 0).any() or not weight.sum() > 0:
        raise ValueError("classes and weights")
    blocks = []
    for number, saved in enumerate(document["statistics"]):
        prefix = f"block{number}_"
        fields = {name.removeprefix(prefix): v for name, v in arrays.items() if name.startswith(prefix)}
        if saved["plain"].get("k", k) != k:
            raise ValueError(f"block {number} has another number of classes")
        stats = kinds[saved["type"]].from_arrays(fields, saved["plain"])
        if stats.column_weight().shape[0] != k:
            raise ValueError(f"block {number} has other classes")
        blocks.append(stats)
    heaviest = document.get("heaviest")  # older files do not say
    if heaviest is not None and (type(heaviest) not in (int, float) or not 0 < heaviest < np.inf):
        raise ValueError("the weight of the heaviest row")
    sample = _sample(document, arrays, k, len(blocks))
    return ByClass(classes, weight, tuple(blocks), int(document["rows"]), sample, heaviest)


def _sample(document: dict[str, Any], arrays: dict[str, Array], k: int, blocks: int) -> Reservoir | None:
    if "sample" not in document:
        return None
    prefix = "sample_"
    fields = {name.removeprefix(prefix): v for name, v in arrays.items() if name.startswith(prefix)}
    sample = Reservoir.from_arrays(fields, document["sample"])
    if len(sample.limit) != k or len(sample.rows) > blocks:
        raise ValueError("the sample of rows has other classes or blocks")
    return sample
