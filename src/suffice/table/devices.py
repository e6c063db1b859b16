"""Arrays of other libraries (PyTorch, CuPy): which stay where they live, and their columns read there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn import get_config

from .._arrays import Array, Codes, np
from .._arrays_api import (
    DeviceArray,
    blocks,
    fetch,
    is_device_array,
    is_on_cpu,
    namespace,
    plain,
    put,
    wide_float,
)
from ..errors import DataError
from ..schema import Kind, Level, Name, unnamed_schema
from .arrays import ArrayTable, check_plane
from .cells import LARGEST, Cells
from .frames import as_rows
from .writing import Holes


def dispatches() -> bool:
    """Return whether arrays of other libraries are to be worked on where they live."""
    return bool(get_config().get("array_api_dispatch", False))


def take_in(X: object, resident: bool) -> object:
    """Return X as it is to be read: as it is, of rows of named cells as a table, or on the CPU as NumPy's.

    An array of another library stays where it lives if `resident` and scikit-learn's `array_api_dispatch` is on. If
    that is off, DataError for one that the CPU cannot read.
    """
    if not is_device_array(X):
        return as_rows(X)
    if dispatches():
        return X if resident else fetch(X)
    if not is_on_cpu(X):
        raise DataError.elsewhere(type(X).__name__, str(X.device))
    return fetch(X)


class DeviceTable:
    """A 2-D array of real numbers (n, d) of another library."""

    def __init__(self, X: Any) -> None:
        xp = namespace(X)
        check_plane(X.ndim, xp.isdtype(X.dtype, "complex floating"))
        self._values = plain(X)
        self.rows = int(X.shape[0])
        kind = Kind.BOOLEAN if xp.isdtype(X.dtype, "bool") else Kind.NUMERIC
        self.schema = unnamed_schema(int(X.shape[1]), kind, "numpy")

    def resident(self, positions: Sequence[int]) -> Any:
        """Return these columns (n, d) where they live; DataError names columns with missing cells or infinity."""
        xp, values = namespace(self._values), self._values
        if list(positions) != list(range(len(self.schema))):
            values = xp.take(values, put(np.array(positions, dtype=np.int64), values), axis=1)
        if not xp.isdtype(values.dtype, "real floating"):
            values = xp.astype(values, wide_float(values))
        self._check(values, [self.schema.names[p] for p in positions])
        return values

    @staticmethod
    def _check(values: DeviceArray, names: Sequence[Name]) -> None:
        xp = namespace(values)
        for part in blocks(values):
            cells = xp.astype(values[part, ...], wide_float(values))
            with np.errstate(over="ignore", invalid="ignore"):  # for libraries that are NumPy within
                if bool(xp.isfinite(xp.sum(cells * cells))):  # one cheap pass settles the common case
                    continue
            empty = np.flatnonzero(fetch(xp.any(xp.isnan(cells), axis=0)))
            if len(empty):
                raise DataError.holes_elsewhere([names[int(j)] for j in empty])
            largest = fetch(xp.max(xp.abs(cells), axis=0))
            infinite = np.flatnonzero(np.isinf(largest))
            if len(infinite):
                raise DataError.infinite([names[int(j)] for j in infinite])
            beyond = np.flatnonzero(largest > LARGEST)
            if len(beyond):
                raise DataError.overflowing([names[int(j)] for j in beyond])

    def numeric(self, positions: Sequence[int]) -> Array:
        """Return these columns on the CPU, for families that know no device."""
        return self._here().numeric(positions)

    def categories(self, position: int) -> tuple[Sequence[Level], Codes]:
        """Return the levels of a column and their codes, on the CPU."""
        return self._here().categories(position)

    def fill(self, holes: Holes) -> Cells:
        """Return a NumPy array with these cells filled."""
        return self._here().fill(holes)

    def _here(self) -> ArrayTable:
        return ArrayTable(fetch(self._values))
