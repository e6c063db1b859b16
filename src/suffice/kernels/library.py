"""Load the compiled library, which must match the source beside it."""

from __future__ import annotations

import ctypes
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from .._arrays import Array, Codes, NDArray, np

FOLDER = Path(__file__).parent
NAMES = ("_kernels.so", "_kernels.dll")

# What each function takes: "p" an array, "n" a whole number, "f" any number.
FUNCTIONS = {
    "suffice_leaves": "pppnnpnnp",
    "suffice_add_values": "pppnpnnpppnp",
    "suffice_count_leaves": "pppnpnnppnp",
    "suffice_sum_leaves": "pppnpnnppnnp",
    "suffice_left_out_shares": "pppnnpnppppnpp",
    "suffice_cells": "pnnnnppnp",
    "suffice_normal_scores": "pnnnnppppnp",
    "suffice_count_splines": "pnnnnppppnp",
    "suffice_count_pairs": "pnnpppnp",
    "suffice_shares_in_orders": "ppppnnnnpp",
    "suffice_between_knots": "pnnpnpnp",
    "suffice_spline_ratios": "pnnnnpppppnpppnpp",
    "suffice_blend": "ppnnnn",
    "suffice_mean_over_parents": "pnnppnnpp",
    "suffice_invert": "pnnpp",
    "suffice_fill": "pppppnppppnppppnpppppp",
    "suffice_take_out": "ppppnnppp",
    "suffice_shapley": "pppnpnnpppnpnnppp",
    "suffice_add_in_orders": "pnpnpnnnppnnnpppppnpppp",
    "suffice_student": "ppnnppppp",
    "suffice_tempered": "ppppppnnf",
    "suffice_standardize": "pppnnnnp",
    "suffice_observed": "ppppnnnppnppppp",
    "suffice_grow": "pnnnpnnnnppppppppppp",
    "suffice_boost": "pnnppppnnpfnppnnnnnpppppppppppppppp",
}
KINDS = {"p": ctypes.c_void_p, "n": ctypes.c_int64, "f": ctypes.c_double}


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
        for function, kinds in FUNCTIONS.items():
            own = getattr(found, function)
            own.argtypes, own.restype = [KINDS[kind] for kind in kinds], None
    except (OSError, AttributeError) as error:
        raise _unusable(f"cannot be loaded: {error}") from error
    return found


def _unusable(problem: str) -> ImportError:
    return ImportError(
        f"suffice's compiled library {problem} ({FOLDER}). Next: pip install --force-reinstall suffice, or, in a "
        "checkout, python hatch_build.py"
    )


def digest() -> int:
    """Return what the library has of the sources that it was compiled of, here of those beside this file."""
    return zlib.crc32(b"".join(own.read_bytes() for own in sorted(FOLDER.glob("*.[ch]"))))


def address(array: NDArray[Any]) -> int:
    """Return where an array begins."""
    return int(array.__array_interface__["data"][0])


def below(codes: Codes, k: int) -> Codes:
    """Return class numbers (n,) as the library reads them; ValueError if some are not below k."""
    found = np.ascontiguousarray(codes, dtype=np.int64)
    if len(found) and not 0 <= int(found.min()) <= int(found.max()) < k:
        raise ValueError(f"class numbers from {found.min()} to {found.max()} of {k} classes")
    return found


def weights(weight: Array | None, n: int) -> tuple[Array | None, int | None]:
    """Return weights (n,) as the library reads them, and where they begin; None for rows of weight 1."""
    if weight is None:
        return None, None
    if len(weight) != n:
        raise ValueError(f"{n} rows, and weights of {len(weight)}")
    found = np.ascontiguousarray(weight, dtype=np.float64)
    return found, address(found)
