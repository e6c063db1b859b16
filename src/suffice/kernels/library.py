"""Load the compiled library, which must match the source beside it."""

from __future__ import annotations

import ctypes
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .._arrays import Codes, NDArray, np

FOLDER = Path(__file__).parent
NAMES = ("_kernels.so", "_kernels.dll")

# What each function takes: "n" a whole number, "f" any number, else arrays, of which it writes to those in capitals.
FUNCTIONS = {
    "suffice_leaves": "plinnsnnL",
    "suffice_add_values": "plinsnniddnD",
    "suffice_count_leaves": "plinsnnldnD",
    "suffice_sum_leaves": "plinsnnldnnD",
    "suffice_left_out_shares": "llbnndnldddnDD",
    "suffice_in_ways": "ddbbnnnnDD",
    "suffice_cells": "pnnnndlnS",
    "suffice_normal_scores": "pnnnnddldnD",
    "suffice_count_splines": "pnnnndlldnD",
    "suffice_count_pairs": "lnnlldnD",
    "suffice_shares_in_orders": "ddblnnnnDD",
    "suffice_between_knots": "pnndndnD",
    "suffice_spline_ratios": "pnnnndldddnlddnDD",
    "suffice_blend": "Ddnnnn",
    "suffice_mean_over_parents": "lnndpnnDD",
    "suffice_invert": "DnnDD",
    "suffice_fill": "dblldnlldbnddddnDDDDDL",
    "suffice_take_out": "DdDdnnddd",
    "suffice_shapley": "plinsnndidndnnDLD",
    "suffice_add_in_orders": "dndndnnnlbnnnddddlnDLDD",
    "suffice_student": "Ddnndlddd",
    "suffice_tempered": "dddlDDnnf",
    "suffice_standardize": "dddnnnnD",
    "suffice_observed": "dDdbnnnddndDLDD",
    "suffice_grow": "snnnUnnnnIIILSUIUIDL",
    "suffice_boost": "snnilldnnDfnblnnnnnDpIIpppIDIIppDLD",
}
OF_ARRAYS = {"d": np.float64, "l": np.int64, "i": np.int32, "s": np.int16, "b": np.bool_, "u": np.uint64, "p": None}


@dataclass(frozen=True)
class Taken:
    """An array as a function takes it, one number of this `type` after the other; None for any, as they lie.

    It is made so, or refused where it is `written` to. Without an array there is none.
    """

    type: Any
    written: bool

    def __call__(self, array: Any) -> Any:
        """Return it so."""
        if array is None or self.type is None:
            return array
        own = np.asarray(array, dtype=self.type, order="C")
        if self.written and ((own is not array and own.ctypes.data != array.ctypes.data) or not own.flags.writeable):
            raise ValueError(f"an array to write to, {array.dtype} {array.shape}, that is no contiguous {own.dtype}")
        return own


ARRAYS: dict[str, Taken] = {letter: Taken(of, False) for letter, of in OF_ARRAYS.items()}
ARRAYS |= {letter.upper(): Taken(of, True) for letter, of in OF_ARRAYS.items()}
NUMBERS: dict[str, Any] = {"n": ctypes.c_int64, "f": ctypes.c_double}


class Function:
    """A function of the library. Its arrays are taken before ctypes, which hides what is raised, interrupts as well."""

    def __init__(self, function: Any, kinds: str) -> None:
        self.function, self.kinds = function, [ARRAYS.get(kind, _as_it_is) for kind in kinds]
        function.argtypes, function.restype = [NUMBERS.get(kind, ctypes.c_void_p) for kind in kinds], None

    def __call__(self, *given: Any) -> None:
        """Call it with arrays and numbers."""
        taken = [kind(own) for kind, own in zip(self.kinds, given, strict=True)]  # there as long as the call
        self.function(*[own.ctypes.data if isinstance(own, np.ndarray) else own for own in taken])


def _as_it_is(value: Any) -> Any:
    return value


@cache
def library() -> Any:
    """Return the library; ImportError where it is missing, of another machine or of another version of its source."""
    there = [name for name in NAMES if (FOLDER / name).exists()]
    if not there:
        raise _unusable("is missing")
    try:
        found = ctypes.CDLL(str(FOLDER / there[0]))
        found.suffice_digest.restype = ctypes.c_uint32
        if found.suffice_digest() != digest():
            raise _unusable("was made of another version of its source")
        return SimpleNamespace(**{name: Function(getattr(found, name), kinds) for name, kinds in FUNCTIONS.items()})
    except (OSError, AttributeError) as error:
        raise _unusable(f"cannot be loaded: {error}") from error


def _unusable(problem: str) -> ImportError:
    return ImportError(
        f"suffice's compiled library {problem} ({FOLDER}). Next: pip install --force-reinstall suffice, or, in a "
        "checkout, python hatch_build.py"
    )


def digest() -> int:
    """Return what the library has of the sources that it was compiled of, here of those beside this file."""
    return zlib.crc32(b"".join(own.read_bytes() for own in sorted(FOLDER.glob("*.[ch]"))))


def below(codes: Codes, k: int) -> Codes:
    """Return class numbers (n,); ValueError if some are not below k."""
    if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < k:
        raise ValueError(f"class numbers from {codes.min()} to {codes.max()} of {k} classes")
    return codes


def of_rows(n: int, *arrays: NDArray[Any] | None) -> None:
    """Raise ValueError unless all arrays that there are have n rows."""
    if any(own is not None and len(own) != n for own in arrays):
        raise ValueError(f"{n} rows, and others of {[len(own) for own in arrays if own is not None]}")
