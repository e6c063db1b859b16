"""The sums of `_kernels` for rows on another device.

Rows are visited in class order, a block at a time, so that a block holds few classes: their sums are products with a
matrix of indicators, and centred rows make the scatter. Only sums (class × column) and products (column × column) leave
the device. Everything is computed in float64 where the device has it; where it does not, blocks are centred twice and
their products added up here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .._arrays import Array, Codes, np
from .._arrays_api import DeviceArray, blocks, fetch, has_float64, namespace, plain, put, take, wide_float
from ._kernels import in_class_order, join

MOST_CLASSES = 64  # in a block, or so


class _Block(NamedTuple):
    """A block of rows in class order, (r, d) on the device: their classes, how they are cut, and their weights."""

    rows: DeviceArray
    present: Codes  # (m,) class numbers
    local: Codes  # (r,) positions among these
    weight: Array | None  # (r,)

    def totals(self) -> Array:
        """Return the weight of each class present (m,)."""
        return np.bincount(self.local, weights=self.weight, minlength=len(self.present)).astype(np.float64)

    def indicators(self) -> DeviceArray:
        """Return the matrix (r, m) with the weight of a row in the column of its class."""
        xp = namespace(self.rows)
        own = put(self.local, self.rows)
        hot = xp.astype(own[:, None] == put(np.arange(len(self.present)), self.rows)[None, :], self.rows.dtype)
        return hot if self.weight is None else hot * put(self.weight, self.rows)[:, None]

    def by_row(self, values: DeviceArray) -> DeviceArray:
        """Return values by class (m, d) as values by row (r, d)."""
        return namespace(values).take(values, put(self.local, values), axis=0)

    def runs(self) -> Iterator[tuple[int, slice]]:
        """Yield each class present and where its rows are."""
        bounds = np.searchsorted(self.local, np.arange(len(self.present) + 1))
        for i, c in enumerate(self.present.tolist()):
            yield c, slice(int(bounds[i]), int(bounds[i + 1]))

    def rooted(self, centred: DeviceArray) -> DeviceArray:
        """Return centred rows times the roots of their weights."""
        return centred if self.weight is None else centred * put(np.sqrt(self.weight), centred)[:, None]


def _in_blocks(values: DeviceArray, codes: Codes, k: int, weight: Array | None) -> Iterator[_Block]:
    """Yield the rows in class order, in wide numbers."""
    order = in_class_order(codes, k)
    xp, kind = namespace(values), wide_float(values)
    n, d = values.shape
    few = max(2 * d, MOST_CLASSES * n // k)  # rows, so that sums by class cost little beside products of columns
    for part in blocks(values, few):
        index: slice | Codes = part if order is None else order[part]
        present, local = np.unique(codes[index], return_inverse=True)
        rows = xp.astype(plain(take(values, index)), kind)
        yield _Block(rows, present.astype(np.int64), local, None if weight is None else weight[index])


def _gram(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    xp = namespace(a)
    return xp.matmul(xp.matrix_transpose(a), b)


def summarize_on_device(
    values: DeviceArray, codes: Codes, k: int, weight: Array | None, form: str
) -> tuple[Array, Array, Array]:
    """Return weight, mean (k, d) and the scatter in the asked form ("full", "pooled" or "diagonal"), in NumPy."""
    if form == "diagonal":
        return _diagonal(values, codes, k, weight)
    d = int(values.shape[1])
    scatter = np.zeros((d, d)) if form == "pooled" else np.zeros((k, d, d))
    sums = _Sums(values, scatter if form == "pooled" else None)
    owners, weights, means = [], [], []
    for block in _in_blocks(values, codes, k, weight):
        mean, centred = _centred(block)
        rooted = block.rooted(centred)
        if form == "pooled":
            sums.add(_gram(rooted, rooted))
        else:
            for c, own in block.runs():
                scatter[c] += fetch(_gram(rooted[own, ...], rooted[own, ...]))
        owners.append(block.present)
        weights.append(block.totals())
        means.append(mean)
    sums.finish()
    owner = np.concatenate(owners)
    total, mean, apart = join(owner, np.concatenate(weights), np.concatenate(means), k)
    if form == "pooled":
        scatter += apart.T @ apart
    for c in () if form == "pooled" else np.flatnonzero(np.bincount(owner, minlength=k) > 1).tolist():
        between = apart[owner == c]
        scatter[c] += between.T @ between
    return total, mean, scatter


class _Sums:
    """Adds up matrices: on the device in float64, or here where it has none."""

    def __init__(self, values: DeviceArray, total: Array | None) -> None:
        self._there: DeviceArray | None = None
        self._wide, self._total = has_float64(values), total

    def add(self, part: DeviceArray) -> None:
        if not self._wide:
            self._take_in(part)
        else:
            self._there = part if self._there is None else self._there + part

    def finish(self) -> None:
        if self._there is not None:
            self._take_in(self._there)

    def _take_in(self, part: DeviceArray) -> None:
        assert self._total is not None
        self._total += fetch(part)


def _centred(block: _Block) -> tuple[Array, DeviceArray]:
    """Return the class means (m, d) in float64 and the rows about them, which stay on the device.

    Sums are taken about the mean of the block, so that an offset costs no digits; in float32 means are then corrected
    by the mean of what is left.
    """
    xp, total = namespace(block.rows), block.totals()
    center = xp.mean(block.rows, axis=0)
    indicators = block.indicators()
    share = put((1.0 / np.where(total > 0, total, 1.0))[:, None], block.rows)
    shifted = block.rows - center
    mean = fetch(center).astype(np.float64)
    repeats = 1 if has_float64(block.rows) else 2
    for _ in range(repeats):
        step = _gram(indicators, shifted) * share
        shifted = shifted - block.by_row(step)
        mean = mean + fetch(step).astype(np.float64)
    return mean, shifted


def _diagonal(values: DeviceArray, codes: Codes, k: int, weight: Array | None) -> tuple[Array, Array, Array]:
    """Return weight, mean and sums of squares about the mean, each (k, d), over the observed cells."""
    owners, weights, means, squares = [], [], [], []
    for block in _in_blocks(values, codes, k, weight):
        total, mean, square = _squares(block)
        owners.append(block.present)
        weights.append(total)
        means.append(mean)
        squares.append(square)
    owner = np.concatenate(owners)
    total, mean, apart = join(owner, np.concatenate(weights), np.concatenate(means), k)
    scatter = np.zeros_like(total)
    np.add.at(scatter, owner, np.concatenate(squares) + apart**2)
    return total, mean, scatter


def _squares(block: _Block) -> tuple[Array, Array, Array]:
    """Return weights, means and sums of squares (m, d) of the observed cells of each class."""
    xp, rows = namespace(block.rows), block.rows
    indicators = block.indicators()
    missing = xp.isnan(rows)
    if bool(xp.any(missing)):
        observed = xp.astype(~missing, rows.dtype)
        rows = xp.where(missing, 0.0, rows)
        seen = xp.sum(observed, axis=0)
        center = xp.sum(rows, axis=0) / xp.where(seen > 0, seen, 1.0)
        total = fetch(_gram(indicators, observed)).astype(np.float64)
        shifted = (rows - center) * observed
    else:
        observed = None
        center = xp.mean(rows, axis=0)
        total = np.repeat(block.totals()[:, None], rows.shape[1], axis=1)
        shifted = rows - center
    share = put(1.0 / np.where(total > 0, total, 1.0), rows)
    mean = fetch(center).astype(np.float64)
    for _ in range(1 if has_float64(rows) else 2):
        step = _gram(indicators, shifted) * share
        shifted = shifted - block.by_row(step)
        shifted = shifted if observed is None else shifted * observed
        mean = mean + fetch(step).astype(np.float64)
    return total, mean, fetch(_gram(indicators, shifted * shifted)).astype(np.float64)
