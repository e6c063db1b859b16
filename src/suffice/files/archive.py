"""Zip archives and the arrays in them, read without trusting their headers.

A zip file names its parts twice, in front of each and in a directory at the end, and nothing forces the two to agree:
parts may overlap, repeat a name, lie in each other, or claim sizes that their file does not have. Here the parts must
lie one after the other from the first byte to the directory, stored as they are, so that all of them together are no
larger than the file.
"""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO

from .._arrays import Array, np
from ..stats._checks import Stored

HEADER = struct.Struct("<4s5H3I2H")  # in front of each part
ENCRYPTED = 0x1
READABLE: Mapping[str, tuple[int, ...]] = MappingProxyType({"b": (1,), "i": (4, 8), "u": (8,), "f": (8,)})


class DamagedArchive(ValueError):
    """The file is no archive, or not one as it was written; the message is a clause."""


@dataclass(frozen=True)
class Archive:
    """An archive whose parts have been looked over: their names, and what reads one of them."""

    names: frozenset[str]
    _zip: zipfile.ZipFile

    def read(self, name: str) -> bytes:
        """Return the bytes of a part; DamagedArchive if it is not there, or not the one that was written."""
        if name not in self.names:
            raise DamagedArchive(f"the part {name!r} is missing")
        with _refusals():
            return self._zip.read(name)


@contextmanager
def open_archive(file: IO[bytes]) -> Iterator[Archive]:
    """Give the archive in an open file; DamagedArchive says why it is none, or none of ours."""
    size = os.fstat(file.fileno()).st_size
    with _refusals():
        archive = zipfile.ZipFile(file)
    with archive:
        with _refusals():
            _check_parts(file, archive, size)
        yield Archive(frozenset(info.filename for info in archive.infolist()), archive)


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
        MemoryError,
    ) as error:
        raise DamagedArchive(f"it is no zip file that can be read ({error})") from error


def _check_parts(file: IO[bytes], archive: zipfile.ZipFile, size: int) -> None:
    """Raise DamagedArchive unless the parts lie one after the other and say the same in both places."""
    parts = sorted(archive.infolist(), key=lambda info: info.header_offset)
    if len({info.filename for info in parts}) < len(parts):
        raise DamagedArchive("two of its parts have one name")
    end = 0
    for info in parts:
        name = info.filename
        if info.compress_type != zipfile.ZIP_STORED or not 0 <= info.file_size == info.compress_size <= size:
            raise DamagedArchive(f"the part {name!r} claims a size its file does not have")
        if info.flag_bits & ENCRYPTED or info.header_offset != end:
            raise DamagedArchive(f"the part {name!r} does not lie where the one before it ends")
        file.seek(end)
        head = HEADER.unpack(file.read(HEADER.size))
        end += HEADER.size + head[-2] + head[-1] + info.file_size
    if end != archive.start_dir:
        raise DamagedArchive("it holds bytes that belong to no part")


def as_npy(values: Stored) -> bytes:
    """Return the bytes of a .npy file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(values), allow_pickle=False)
    return buffer.getvalue()


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
