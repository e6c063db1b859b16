"""The door to arrays of other libraries (PyTorch, CuPy, any of the array API standard) on whatever device they live.

The rest of the library asks here which namespace an array belongs to, and for the few steps the standard has no name
for: fetching to the CPU, sending there, bits of numbers. What it does with a namespace keeps to operations that NumPy,
PyTorch, CuPy and array-api-strict all have: no einsum, no bincount, no triangular solve, no indexing by integer arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeGuard

from ._arrays import Array, NDArray, np, row_chunks
from .errors import pip_install

BLOCK_CELLS = 1 << 23  # 64 MiB of float64 for each temporary: long products, and little of a device's memory
LIBRARIES = ("torch", "cupy")  # their arrays do not say themselves that they follow the standard


class DeviceArray(Protocol):
    """What an array of another library is asked itself; everything else is asked of its `namespace`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its lengths."""

    @property
    def dtype(self) -> object:
        """The type of its numbers, in its own library."""

    @property
    def device(self) -> object:
        """Where it lives, in the words of its library."""

    def __getitem__(self, key: object, /) -> DeviceArray: ...
    def __setitem__(self, key: object, value: object, /) -> None: ...
    def __add__(self, other: DeviceArray, /) -> DeviceArray: ...
    def __sub__(self, other: DeviceArray, /) -> DeviceArray: ...
    def __mul__(self, other: DeviceArray, /) -> DeviceArray: ...
    def __rmul__(self, other: float, /) -> DeviceArray: ...


class DeviceCache(dict[Any, Any]):
    """What was sent to a device, by place; copies and pickles of it are empty."""

    def __reduce__(self) -> tuple[type[DeviceCache], tuple[()]]:
        return DeviceCache, ()


def is_device_array(value: object) -> TypeGuard[DeviceArray]:
    """Return whether `value` is an array of another library than NumPy."""
    kind = type(value)
    if issubclass(kind, np.ndarray | np.generic | list | tuple | str | float | int):
        return False
    if kind.__module__.partition(".")[0] in LIBRARIES:
        return hasattr(value, "dtype") and hasattr(value, "ndim")
    return hasattr(kind, "__array_namespace__")


def namespace(array: object) -> Any:
    """Return the functions for an array, under the names of the array API standard."""
    if isinstance(array, np.ndarray):
        return np
    return _compat().array_namespace(array)


def _compat() -> Any:
    try:
        import array_api_compat
    except ModuleNotFoundError as error:
        raise ImportError(
            f"Arrays of other libraries need array-api-compat, which is not installed. Next: {pip_install('array')}"
        ) from error
    return array_api_compat


def place(array: object) -> tuple[str, str, str]:
    """Return what identifies the library, the device and the type of results for an array."""
    return namespace(array).__name__, str(_compat().device(array)), str(wide_float(array))


def is_on_cpu(array: object) -> bool:
    """Return whether the CPU can read an array where it lies."""
    return "cpu" in str(_compat().device(array)).lower()


def plain(array: Any) -> Any:
    """Return an array without a record of how it was computed (PyTorch: detached)."""
    return array.detach() if hasattr(array, "detach") else array


def fetch(array: Any) -> NDArray[Any]:
    """Return an array as NumPy's, on the CPU; bfloat16, which NumPy lacks, becomes float32."""
    if not is_device_array(array):
        return np.asarray(array)
    xp, array = namespace(array), plain(array)
    if str(array.dtype).endswith("bfloat16"):
        array = xp.astype(array, xp.float32)
    cpu = xp.Device("CPU_DEVICE") if hasattr(xp, "Device") else "cpu"
    return np.asarray(_compat().to_device(array, cpu))


def put(values: NDArray[Any], other: object) -> Any:
    """Return NumPy values as an array of the library and on the device of another; numbers as wide as it has them."""
    xp = namespace(other)
    if xp is np:
        return values
    if values.dtype.kind == "f" and not has_float64(other):
        values = values.astype(np.float32)
    return xp.asarray(np.array(values, order="C"), device=_compat().device(other), copy=True)


def like(values: Array, other: object) -> Any:
    """Return values that can be added to `other`: the same, or sent to where that lives."""
    return put(values, other) if is_device_array(other) else values


def has_float64(array: object) -> bool:
    """Return whether the device of an array computes in float64 (Apple's do not)."""
    xp = namespace(array)
    if not hasattr(xp, "__array_namespace_info__"):
        return True
    found = xp.__array_namespace_info__().dtypes(device=_compat().device(array), kind="real floating")
    return "float64" in found


def wide_float(array: object) -> Any:
    """Return the type of real numbers to compute in: float64 where the device has it, else float32."""
    xp = namespace(array)
    return xp.float64 if has_float64(array) else xp.float32


def take(array: Any, index: Any) -> Any:
    """Return some rows of an array, or of each of several: a slice, row numbers as a NumPy array, or flags."""
    if isinstance(array, tuple):
        return tuple(take(own, index) for own in array)
    if not is_device_array(array):
        return array[index]
    if isinstance(index, slice):
        return array[index, ...]
    if index.dtype == np.bool_:
        index = np.flatnonzero(index)
    return namespace(array).take(array, put(index.astype(np.int64), array), axis=0)


def blocks(array: DeviceArray, most: int | None = None) -> Iterator[slice]:
    """Yield slices over the rows of an array, of at most `BLOCK_CELLS` cells and `most` rows."""
    n, d = array.shape
    size = max(1, BLOCK_CELLS // max(d, 1))
    yield from row_chunks(n, size if most is None else min(size, most))


def project(rows: DeviceArray, columns: list[int], center: Array, factor: Array) -> DeviceArray:
    """Return (x − center) F (n, q) of some columns of rows (n, d), where they live; F is (columns, q)."""
    xp = namespace(rows)
    origin, matrix, index = put(center, rows), put(factor, rows), put(np.array(columns, dtype=np.int64), rows)
    every = len(columns) == rows.shape[1]

    def answer(block: DeviceArray) -> DeviceArray:
        cells = block if every else xp.take(block, index, axis=1)
        found: DeviceArray = xp.matmul(cells - origin, matrix)
        return found

    return answer_by_chunks(rows, factor.shape[1], answer)


def answer_by_chunks(
    rows: DeviceArray, width: int, answer: Callable[[DeviceArray], DeviceArray], inner: int = 0
) -> DeviceArray:
    """Return answers (n, width), or (n,) for width 0, to blocks of rows (n, d), where the rows live, in wide numbers.

    `inner` is how many numbers are held for a row on the way.
    """
    xp, kind = namespace(rows), wide_float(rows)
    n, d = rows.shape
    shape = (n, width) if width else (n,)
    out: DeviceArray = xp.empty(shape, dtype=kind, device=_compat().device(rows))
    for part in row_chunks(n, max(1, BLOCK_CELLS // max(d, width, inner, 1))):
        out[part, ...] = answer(xp.astype(plain(rows[part, ...]), kind))
    return out


def device_log_softmax(scores: Any, otherwise: DeviceArray) -> Array:
    """Return scores − log Σ exp(scores) per row (n, k), in nats, in their place; `otherwise` (k,) for rows of −∞."""
    xp = namespace(scores)
    for part in blocks(scores):
        block = scores[part, ...]
        with np.errstate(divide="ignore", invalid="ignore"):  # for libraries that are NumPy within
            block = block - xp.max(block, axis=1, keepdims=True)
            block = block - xp.log(xp.sum(xp.exp(block), axis=1, keepdims=True))
        scores[part, ...] = xp.where(xp.isnan(block), otherwise, block)
    answered: Array = scores
    return answered


def device_logsumexp(scores: DeviceArray) -> Array:
    """Return log Σ exp(scores) per row (n,), in nats."""
    xp = namespace(scores)
    top = xp.max(scores, axis=1, keepdims=True)
    total: Array = xp.log(xp.sum(xp.exp(scores - top), axis=1)) + top[:, 0]
    return total


def row_bits(rows: DeviceArray, scale: float, factors: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
    """Return Σ_j factors_j · (the 64 bits of scale · x_ij) modulo 2⁶⁴ per row (n,), as NumPy's numbers.

    None where the device or the library cannot read a float64 as an integer.
    """
    xp = namespace(rows)
    if not has_float64(rows) or not hasattr(rows, "view") or not hasattr(xp, "int64"):
        return None
    weights = put(factors.view(np.int64), rows)
    totals = np.empty(rows.shape[0], dtype=np.uint64)
    for part in blocks(rows):
        cells = xp.astype(plain(rows[part, ...]), xp.float64) * scale + 0.0
        cells = xp.where(xp.isnan(cells), float("nan"), cells)  # one pattern of bits for all that are missing
        sums = xp.sum(cells.view(xp.int64) * weights, axis=1, dtype=xp.int64)
        totals[part] = fetch(sums).view(np.uint64)
    return totals
