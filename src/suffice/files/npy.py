"""Plain `.npy` arrays of a few types."""

from __future__ import annotations

import io
from collections.abc import Mapping
from types import MappingProxyType

from .._arrays import Array, np
from ..stats._checks import Stored

READABLE: Mapping[str, tuple[int, ...]] = MappingProxyType({"b": (1,), "i": (4, 8), "u": (8,), "f": (8,)})


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
    count = 1
    for length in shape:
        count *= length
    rest = data[stream.tell() :]
    if any(length < 0 for length in shape) or count * dtype.itemsize != len(rest):
        raise ValueError(f"is {len(rest)} bytes, not the {shape} it claims")
    if dtype.kind == "b" and rest.translate(None, b"\0\1"):
        raise ValueError("holds truth values that are neither")
    values = np.frombuffer(rest, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))
    if not np.isfinite(values).all():
        raise ValueError("holds NaN or infinity")
    return np.asarray(values)
