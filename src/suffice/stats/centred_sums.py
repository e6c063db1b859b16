"""Weights, means and centred sums of products by class, of rows in memory or on another device.

Rows are visited class by class. A segment is a piece of a class that fits in cache, and is long enough to be multiplied
at full speed: it is gathered, its mean taken and subtracted there. Segments are joined by the merge formula. How rows
are cut depends on the shape of the data alone, and sums are taken in the order of the rows, so results do not depend on
the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .._arrays import Array, Codes, np, parallel_map
from .._arrays_api import DeviceArray, blocks, fetch, has_float64, namespace, plain, put, take, wide_float
from .scatter import gather

T = TypeVar("T")

SEGMENT_CELLS = 1 << 16  # half a MiB of float64: a segment is read three times and should stay in second-level cache
BUFFER_CELLS = 1 << 21  # but in segments of 16 MiB at most, rows are 4 for each column: fewer waste time on the result
TASK_CELLS = 1 << 20  # rows handed to one thread at a time, unless that is too few to be worth a (d, d) result
MOST_CLASSES = 64  # in a block of rows on another device, or so
TASK_PRODUCTS = 1 << 22  # from which on classes with results of their own are worth handing to several threads

Run = tuple[int, int, int]  # class, first row, row after the last, in class order


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a batch in class order."""

    values: Array  # (n, d) of float32 or float64
    order: Codes | None  # (n,) row numbers in class order; None: already in order
    weight: Array | None  # (n,)

    @property
    def d(self) -> int:
        return int(self.values.shape[1])

    def read(self, start: int, stop: int, out: Array) -> None:
        """Write rows start to stop of the class order to `out` as float64."""
        if self.order is None:
            out[...] = self.values[start:stop]
        elif self.values.flags.c_contiguous and self.values.dtype == out.dtype:
            np.take(self.values, self.order[start:stop], axis=0, out=out, mode="clip")  # "raise" would copy twice
        else:  # `take` would copy all of a table that is not contiguous, each time
            out[...] = self.values[self.order[start:stop]]

    def weights(self, start: int, stop: int) -> Array | None:
        """Return the weights of these rows, or None for ones."""
        if self.weight is None:
            return None
        return self.weight[start:stop] if self.order is None else self.weight[self.order[start:stop]]


def summarize_segments(
    values: Array, codes: Codes, k: int, weight: Array | None, form: str
) -> tuple[Array, Array, Array]:
    """Return weight, mean (k, d) and the scatter in the asked form ("full", "pooled" or "diagonal")."""
    rows, counts = _Rows(values, in_class_order(codes, k), weight), np.bincount(codes, minlength=k)
    if form == "diagonal":
        return _diagonal(rows, counts)
    return _gram(rows, counts, pooled=form == "pooled")


def in_class_order(codes: Codes, k: int) -> Codes | None:
    """Return the row numbers in class order (n,), or None where the rows are in that order."""
    if k == 1 or bool((codes[1:] >= codes[:-1]).all()):
        return None
    narrow = codes.astype(np.uint8 if k <= 256 else np.uint16 if k <= 65536 else np.int64)  # narrow keys sort by radix
    return np.argsort(narrow, kind="stable")


def _tasks(counts: Codes, segment: int, size: int, together: int) -> list[list[Run]]:
    """Cut the rows into segments, and these into tasks: of several whole classes, or of a piece of one that is larger.

    Segments, tasks and tasks of several classes are at most so many rows, `segment`, `size` and `together`.
    """
    tasks: list[list[Run]] = []
    room = 0
    stops = np.cumsum(counts).tolist()
    for c in np.flatnonzero(counts).tolist():
        count, stop = int(counts[c]), stops[c]
        cut = [[(c, a, b) for a, b in _pieces(*part, segment)] for part in _pieces(stop - count, stop, size)]
        if count <= room:
            tasks[-1] += cut[0]
        else:
            tasks += cut
            room = together
        room -= count
    return tasks


def _pieces(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    for a in range(start, stop, size):
        yield a, min(a + size, stop)


def _run(work: Callable[[list[Run]], T], rows: _Rows, tasks: list[list[Run]], multiplied: bool) -> Iterator[T]:
    cost = float(len(rows.values)) * rows.d * (rows.d if multiplied else 8)
    return parallel_map(work, tasks, cost=cost)


def _center(block: Array, weight: Array | None) -> tuple[Array, float]:
    """Subtract the weighted mean from a block in place and scale by √weight; return the mean and the weight."""
    ones = np.ones(len(block)) if weight is None else weight
    total = float(len(block)) if weight is None else float(weight.sum())
    mean = ones @ block / total
    block -= mean
    if weight is not None:
        block *= np.sqrt(weight)[:, None]
    return mean, total


def _gram(rows: _Rows, counts: Codes, pooled: bool) -> tuple[Array, Array, Array]:
    """Return weight, mean, and the scatter by class (k, d, d), or pooled (d, d)."""
    k, d = len(counts), rows.d
    segment = max(SEGMENT_CELLS // d, min(4 * d, BUFFER_CELLS // d), 1)
    size = max(TASK_CELLS // d, 4 * d)
    tasks = _tasks(counts, segment, size, size if pooled else min(size, TASK_PRODUCTS // d**2))
    scatter = np.zeros((d, d) if pooled else (k, d, d))

    def work(task: list[Run]) -> tuple[Array, Array, Array | None]:
        whole = not pooled and sum(b - a for _, a, b in task) >= counts[task[0][0]]
        part = None if whole else np.empty((d, d))
        return *_gram_task(rows, task, segment, scatter if part is None else part), part

    means, weights = [], []
    for task, (mean, total, part) in zip(tasks, _run(work, rows, tasks, multiplied=True), strict=True):
        means.append(mean)
        weights.append(total)
        if part is not None:
            target = scatter if pooled else scatter[task[0][0]]
            target += part
    owners = np.array([c for task in tasks for c, _, _ in task], dtype=np.int64)
    return _about_class_means(owners, weights, means, scatter, k)


def _about_class_means(
    owners: Codes, weights: Sequence[Array], means: Sequence[Array], scatter: Array, k: int
) -> tuple[Array, Array, Array]:
    """Return class weights, class means, and the scatter about these of one about the means of parts, in its place."""
    total, mean, apart = join(owners, np.concatenate(weights), np.concatenate(means), k)
    split = np.bincount(owners, minlength=k) > 1  # the only piece of a class lies about the mean of the class
    if scatter.ndim == 2 and split.any():
        scatter += apart.T @ apart
    for c in () if scatter.ndim == 2 else np.flatnonzero(split):
        between = apart[owners == c]
        scatter[c] += between.T @ between
    return total, mean, scatter


def _gram_task(rows: _Rows, task: list[Run], segment: int, scatter: Array) -> tuple[Array, Array]:
    """Return means and weights of segments; put their scatters about these into that of all (d, d), or by class."""
    buffer, product = np.empty((segment, rows.d)), np.empty((rows.d, rows.d))
    means, totals = np.empty((len(task), rows.d)), np.empty(len(task))
    for s, (c, a, b) in enumerate(task):
        block, target = buffer[: b - a], scatter if scatter.ndim == 2 else scatter[c]
        rows.read(a, b, block)
        means[s], totals[s] = _center(block, rows.weights(a, b))
        # NumPy multiplies a matrix by its own transpose with half the work, and lets other threads run meanwhile,
        # which SciPy's wrappers of the same routine do not.
        if s == 0 or (target is not scatter and task[s - 1][0] != c):
            np.matmul(block.T, block, out=target)
        else:
            target += np.matmul(block.T, block, out=product)
    return means, totals


def _diagonal(rows: _Rows, counts: Codes) -> tuple[Array, Array, Array]:
    """Return weight, mean and sums of squares about the mean, each (k, d), over the observed cells."""
    size, together = max(SEGMENT_CELLS // rows.d, 1), max(TASK_CELLS // rows.d, 1)
    tasks = _tasks(counts, size, together, together)
    results = list(_run(lambda task: _square_task(rows, task, size), rows, tasks, multiplied=False))
    means, weights, squares = (np.concatenate(parts) for parts in zip(*results, strict=True))
    owners = np.array([c for task in tasks for c, _, _ in task], dtype=np.int64)
    total, mean, apart = join(owners, weights, means, len(counts))
    return total, mean, gather(squares + apart**2, owners, len(counts))


def _square_task(rows: _Rows, task: list[Run], size: int) -> tuple[Array, Array, Array]:
    """Return segment means, weights of the observed cells and sums of squares, each (segments, d)."""
    buffer = np.empty((size, rows.d))
    shape = (len(task), rows.d)
    means, totals, squares = np.empty(shape), np.empty(shape), np.empty(shape)
    for s, (_, a, b) in enumerate(task):
        block, weight = buffer[: b - a], rows.weights(a, b)
        rows.read(a, b, block)
        means[s], totals[s] = _center(block, weight)
        if not np.isfinite(means[s]).all():
            rows.read(a, b, block)
            means[s], totals[s] = _center_observed(block, weight)
        block *= block
        squares[s] = np.ones(len(block)) @ block
    return means, totals, squares


def _center_observed(block: Array, weight: Array | None) -> tuple[Array, Array]:
    """Like `_center` with missing cells: each column has its own weight; missing cells become zero."""
    weight = np.ones(len(block)) if weight is None else weight
    observed = ~np.isnan(block)
    total = weight @ observed
    block[~observed] = 0.0
    mean = weight @ block / np.where(total > 0, total, 1.0)
    block -= mean
    block *= np.sqrt(weight)[:, None]
    block[~observed] = 0.0
    return mean, total


def _of_heaviest(owners: Codes, weights: Array, means: Array, k: int) -> Array:
    """Return by class and column (k, d) the mean of its first heaviest part, which has observed cells if any has.

    `weights` is (s, 1) or (s, d).
    """
    found, heaviest = np.zeros((k, means.shape[1])), np.zeros((k, weights.shape[1]))
    np.maximum.at(heaviest, owners, weights)
    best = (weights == heaviest[owners]) & (weights > 0)
    part, column = np.nonzero(np.broadcast_to(best, means.shape)[::-1])  # the first is the last to be written
    part = len(owners) - 1 - part
    found[owners[part], column] = means[part, column]
    return found


def join(owners: Codes, weights: Array, means: Array, k: int) -> tuple[Array, Array, Array]:
    """Return class weights, class means (k, d), and rows √w (part mean − class mean) by part (s, d).

    `owners` (s,) are the classes of the parts, `weights` theirs, (s,) or by column (s, d), `means` (s, d).
    """
    per_cell = weights if weights.ndim == 2 else weights[:, None]
    total = gather(per_cell, owners, k)
    reference = _of_heaviest(owners, per_cell, means, k)
    shift = gather(per_cell * np.where(per_cell > 0, means - reference[owners], 0.0), owners, k)
    mean = reference + shift / np.where(total > 0, total, 1.0)
    apart = np.sqrt(per_cell) * np.where(per_cell > 0, means - mean[owners], 0.0)
    return (total if weights.ndim == 2 else total[:, 0]), mean, apart


def summarize_on_device(
    values: DeviceArray, codes: Codes, k: int, weight: Array | None, pooled: bool
) -> tuple[Array, Array, Array]:
    """Return weight, mean and scatter of complete rows on another device: by class (k, d, d), or pooled (d, d).

    Rows are visited in class order, a block at a time, so that a block holds few classes: their sums are products with
    a matrix of indicators. Only these and products of columns leave the device. Numbers are float64 where it has them;
    where it does not, blocks are centred twice and their products added up here.
    """
    order, kind, (n, d) = in_class_order(codes, k), wide_float(values), values.shape
    xp: Any = namespace(values)
    scatter = np.zeros((d, d)) if pooled else np.zeros((k, d, d))
    owners, weights, means = [], [], []
    for part in blocks(values, max(2 * d, MOST_CLASSES * n // k)):
        index: slice | Codes = part if order is None else order[part]
        present, local = np.unique(codes[index], return_inverse=True)
        own = None if weight is None else weight[index]
        total = np.bincount(local, weights=own, minlength=len(present)).astype(np.float64)
        mean, rows = _center_on_device(xp.astype(plain(take(values, index)), kind), local, total, own)
        if pooled:
            scatter += fetch(xp.matmul(xp.matrix_transpose(rows), rows))
        else:
            bounds = np.searchsorted(local, np.arange(len(present) + 1)).tolist()
            for c, start, stop in zip(present.tolist(), bounds[:-1], bounds[1:], strict=True):
                mine = rows[start:stop, ...]
                scatter[c] += fetch(xp.matmul(xp.matrix_transpose(mine), mine))
        owners.append(present.astype(np.int64))
        weights.append(total)
        means.append(mean)
    return _about_class_means(np.concatenate(owners), weights, means, scatter, k)


def _center_on_device(rows: Any, local: Codes, total: Array, weight: Array | None) -> tuple[Array, Any]:
    """Return class means (m, d), and the rows about them times √weight, which stay where they are.

    `local` (r,) are the classes of the rows, `total` (m,) their weights. Sums are taken about the mean of all rows, so
    that an offset costs no digits; in float32 means are then corrected by the mean of what is left.
    """
    xp: Any = namespace(rows)
    place = put(local, rows)
    by_class = xp.astype(place[:, None] == put(np.arange(len(total)), rows)[None, :], rows.dtype)
    by_class = by_class if weight is None else by_class * put(weight, rows)[:, None]
    share = put((1.0 / np.where(total > 0, total, 1.0))[:, None], rows)
    center = xp.mean(rows, axis=0)
    mean, rows = fetch(center).astype(np.float64), rows - center
    for _ in range(1 if has_float64(rows) else 2):
        step = xp.matmul(xp.matrix_transpose(by_class), rows) * share
        rows = rows - xp.take(step, place, axis=0)
        mean = mean + fetch(step).astype(np.float64)
    return mean, rows if weight is None else rows * put(np.sqrt(weight), rows)[:, None]
