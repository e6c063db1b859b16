"""Zip archives and the arrays in them, read without trusting their headers.

A zip file names its parts twice, in front of each and in a directory at the end, and nothing forces the two to agree:
parts may overlap, repeat a name, lie in each other, or claim sizes that their file does not have. Here the parts must
lie one after the other from the first byte to the directory. They are stored as they are, so that all of them together
are no larger than the file, but for arrays, which may be deflated: those together take at most `_arrays.budget` in
memory, and none is inflated beyond the size that it claims.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO

from .._arrays import Array, budget, np, parallel_map
from ..stats.statistic import Stored

HEADER = struct.Struct("<4s5H3I2H")  # in front of each part
ENCRYPTED = 0x1
PACKED = 1 << 13  # cells of an array that is packed
PACKED_PARTS = ("form", "levels", "codes")  # of such an array
READABLE: Mapping[str, tuple[int, ...]] = MappingProxyType({"b": (1,), "i": (4, 8), "u": (8,), "f": (8,)})


class DamagedArchive(ValueError):
    """The file is no archive, or not one as it was written; the message is a clause."""


@dataclass(frozen=True)
class Archive:
    """An archive whose parts have been looked over: their names, and where in the file the data of each begin."""

    names: Set[str]
    _starts: Mapping[str, int]
    _file: IO[bytes]
    _zip: zipfile.ZipFile

    def read(self, name: str) -> bytes:
        """Return the bytes of a part; DamagedArchive if it is not there, or not the one that was written."""
        if name not in self.names:
            raise DamagedArchive(f"the part {name!r} is missing")
        info = self._zip.getinfo(name)
        with _refusals(), self._zip.open(name) as part:  # whose header names the same part
            if info.compress_type == zipfile.ZIP_STORED:
                return part.read()
            self._file.seek(self._starts[name])
            stream = zlib.decompressobj(-zlib.MAX_WBITS)
            data = stream.decompress(self._file.read(info.compress_size), info.file_size + 1)
            whole = stream.eof and not stream.unused_data and len(data) == info.file_size
            if not whole or zlib.crc32(data) != info.CRC:
                raise zipfile.BadZipFile(f"{name!r} is not what it claims to be")
            return data


@contextmanager
def open_archive(file: IO[bytes]) -> Iterator[Archive]:
    """Give the archive in an open file; DamagedArchive says why it is none, or none of ours."""
    size = os.fstat(file.fileno()).st_size
    with _refusals():
        archive = zipfile.ZipFile(file)
    with archive:
        with _refusals():
            starts = _starts(file, archive, size)
        yield Archive(starts.keys(), starts, file, archive)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn whatever zipfile raises for bytes that are no archive into one error."""
    try:
        yield
    except DamagedArchive:
        raise
    except (
        zipfile.BadZipFile,
        EOFError,
        NotImplementedError,  # a method of compression
        RuntimeError,  # a password
        OSError,
        ValueError,  # names that do not decode, places before the beginning
        OverflowError,
        struct.error,
        zlib.error,
        MemoryError,
    ) as error:
        raise DamagedArchive(f"it is no zip file that can be read ({error})") from error


def _starts(file: IO[bytes], archive: zipfile.ZipFile, size: int) -> dict[str, int]:
    """Return where the data of each part begin; DamagedArchive unless the parts lie one after the other."""
    parts = sorted(archive.infolist(), key=lambda info: info.header_offset)
    if len({info.filename for info in parts}) < len(parts):
        raise DamagedArchive("two of its parts have one name")
    starts, end, room = dict[str, int](), 0, budget()
    for info in parts:
        name, stored = info.filename, info.compress_type == zipfile.ZIP_STORED
        room -= 0 if stored else info.file_size
        deflated = info.compress_type == zipfile.ZIP_DEFLATED and name.endswith(".npy") and room >= 0
        if not 0 <= info.compress_size <= size or not (info.file_size == info.compress_size if stored else deflated):
            raise DamagedArchive(f"the part {name!r} claims a size its file does not have")
        if info.flag_bits & ENCRYPTED or info.header_offset != end:
            raise DamagedArchive(f"the part {name!r} does not lie where the one before it ends")
        file.seek(end)
        head = HEADER.unpack(file.read(HEADER.size))
        starts[name] = end + HEADER.size + head[-2] + head[-1]
        end = starts[name] + info.compress_size
    if end != archive.start_dir:
        raise DamagedArchive("it holds bytes that belong to no part")
    return starts


def as_npy(values: Stored) -> bytes:
    """Return the bytes of a .npy file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(values), allow_pickle=False)
    return buffer.getvalue()


def array_parts(name: str, values: Stored) -> dict[str, bytes]:
    """Return the parts of an archive that hold an array: packed where it is large and that takes a tenth off."""
    few = packed(values) if values.size >= PACKED else None
    each = {name: values} if few is None else {f"{name}.{part}": own for part, own in few.items()}
    return {f"{part}.npy": as_npy(own) for part, own in each.items()}


def packed(values: Stored) -> dict[str, Array] | None:
    """Return the parts of an array of one or two dimensions by name, None where they are not smaller by a tenth.

    Column by column, `levels` are its distinct values in the order of their bits, and `codes` the numbers of the cells
    among these: the low bytes of the whole column, then the high ones where there are more than 256 levels. A column of
    more than 65,536 levels is in `codes` as it is, byte by byte in the same way. `form` is the number of rows, of
    columns (0 for an array of one dimension), and of the levels of each column, 0 where it is as it is.
    """
    if values.dtype.itemsize not in (1, 8) or values.ndim > 2:
        return None
    kind = np.uint64 if values.dtype.itemsize == 8 else np.uint8
    columns = np.ascontiguousarray(values.reshape(len(values), -1).T).view(kind)
    found = list(parallel_map(_packed_column, columns, cost=100.0 * columns.size))
    levels = np.concatenate([own for own, _ in found]).view(values.dtype)
    form = np.array([len(values), *(values.shape[1:] or (0,)), *(len(own) for own, _ in found)], dtype=np.int64)
    parts = {"form": form, "levels": levels, "codes": np.concatenate([own for _, own in found])}
    return parts if sum(own.nbytes for own in parts.values()) < 0.9 * values.nbytes else None


def _packed_column(cells: Array) -> tuple[Array, Array]:
    """Return the levels and the codes of a column."""
    levels, codes = np.unique(cells, return_inverse=True)
    few = len(levels) <= 1 << 16
    kept = codes.astype(f"u{_width(len(levels), cells.itemsize)}") if few else cells
    return levels if few else levels[:0], np.asarray(kept.view(np.uint8).reshape(len(cells), -1).T.ravel())


def _width(levels: int, itemsize: int) -> int:
    """Return how many bytes a cell takes in a column of so many levels, or of cells as they are."""
    return itemsize if not levels else 1 if levels <= 1 << 8 else 2


def unpacked(form: Array, levels: Array, codes: Array, most: int) -> Array:
    """Return the array of these parts, of at most so many bytes.

    ValueError, whose message follows its name, where they do not fit together or it would take more.
    """
    if form.dtype != np.int64 or form.ndim != 1 or len(form) < 3 or (form < 0).any():
        raise ValueError("has no form")
    m, width, *counts = form.tolist()
    size = levels.dtype.itemsize
    if m * len(counts) * size > most:
        raise ValueError(f"would take {m * len(counts) * size:,} bytes, more than a model may have here")
    widths = [_width(own, size) for own in counts]
    right = len(counts) == max(width, 1) and codes.dtype == np.uint8
    if not right or codes.shape != (m * sum(widths),) or levels.shape != (sum(counts),):
        raise ValueError("has parts that do not fit together")
    columns = np.empty((len(counts), m), dtype=levels.dtype)
    begin, first = m * np.cumsum([0, *widths]), np.cumsum([0, *counts])
    for j, (column, own) in enumerate(zip(columns, counts, strict=True)):
        cells = codes[begin[j] : begin[j + 1]].reshape(widths[j], m).T.copy().view(f"u{widths[j]}")[:, 0]
        if own and m and cells.max() >= own:
            raise ValueError("has cells of no level")
        column[:] = levels[first[j] : first[j + 1]][cells] if own else cells.view(levels.dtype)
    return np.ascontiguousarray(columns.T) if width else columns[0]


def read_array(archive: Archive, name: str, digest: str, most: int, readable: Mapping[str, tuple[int, ...]]) -> Array:
    """Return an array of an archive by its digest, of at most so many bytes where it is packed.

    DamagedArchive where it is not there, ValueError, whose message follows its name, where it is not the one.
    """
    if f"{name}.form.npy" in archive.names:
        form, levels, codes = (archive.read(f"{name}.{part}.npy") for part in PACKED_PARTS)
        small = {**readable, "u": (1, 8)}
        data = as_npy(unpacked(read_npy(form), read_npy(levels, readable), read_npy(codes, small), most))
    else:
        data = archive.read(f"{name}.npy")
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError("is not the one that was saved")
    return read_npy(data, readable)


def read_npy(data: bytes, readable: Mapping[str, tuple[int, ...]] = READABLE) -> Array:
    """Return the array in the bytes of a .npy file, having checked that its header asks for exactly what follows.

    `readable` are the sizes of types by their kind. ValueError, whose message follows the name of the array.
    """
    stream = io.BytesIO(data)
    try:
        major, _ = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read_header(stream)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("has no valid header") from error
    if dtype.itemsize not in readable.get(dtype.kind, ()) or dtype.str[0] == ">" or fortran:
        raise ValueError(f"has the type {dtype}")
    rest = data[stream.tell() :]
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError(f"is {len(rest)} bytes, not the {shape} it claims")
    if dtype.kind == "b" and rest.translate(None, b"\0\1"):
        raise ValueError("holds truth values that are neither")
    values = np.frombuffer(rest, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))
    if not np.isfinite(values).all():
        raise ValueError("holds NaN or infinity")
    return np.asarray(values)
