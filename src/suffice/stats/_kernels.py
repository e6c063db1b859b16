"""The loops that read rows: cache-sized segments of one class each, centred, then multiplied.

Rows are visited class by class. A segment is a run of rows of one class that fits in cache; its mean is taken and
subtracted there, its scatter added up, and the segments are joined at the end by the merge formula. The split depends
on the shape of the data alone, so results do not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Array, Codes, add_gram, np, parallel_map, symmetric

CACHE_CELLS = 1 << 17  # 1 MiB of float64: a segment is read three times and should stay in the second-level cache
TASK_CELLS = 1 << 21  # rows handed to one thread at a time


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a batch in class order."""

    values: Array  # (n, d)
    order: Codes | None  # (n,) row numbers in class order; None: already in order
    weight: Array | None  # (n,)

    def block(self, start: int, stop: int, out: Array) -> Array:
        """Return rows start to stop of the class order as float64, in `out`."""
        block = out[: stop - start]
        source = self.values[start:stop] if self.order is None else self.values[self.order[start:stop]]
        block[...] = source
        return block

    def weights(self, start: int, stop: int) -> Array | None:
        """Return the weights of these rows, or None for ones."""
        if self.weight is None:
            return None
        return self.weight[start:stop] if self.order is None else self.weight[self.order[start:stop]]


Segment = tuple[int, int, int]  # class, first row, row after the last


def summarize_segments(
    values: Array, codes: Codes, k: int, weight: Array | None, form: str
) -> tuple[Array, Array, Any]:
    """Return weight, mean (k, d) and the scatter in the asked form ("full", "pooled", "diagonal" or "thin")."""
    rows, counts = _in_class_order(values, codes, k, weight)
    d = values.shape[1]
    segments = _segments(counts, max(1, CACHE_CELLS // max(d, 1)))
    tasks = _tasks(segments, max(1, TASK_CELLS // max(d, 1)), split_classes=form == "full")
    run = {"full": _gram_task, "pooled": _gram_task, "diagonal": _square_task, "thin": _row_task}[form]
    cost = float(len(values)) * d * (d if form != "diagonal" else 4)
    means, weights, parts = [], [], []
    owners = np.array([c for c, _, _ in segments], dtype=np.int64)
    scatter = _zero(form, k, d)
    for task, (mean, total, part) in zip(
        tasks, parallel_map(lambda task: run(rows, task), tasks, cost=cost), strict=True
    ):
        means.append(mean)
        weights.append(total)
        if form == "full":
            scatter[task[0][0]] += part
        elif form == "pooled":
            scatter += part
        else:
            parts.append(part)
    total, mean, apart = _join(owners, np.concatenate(weights), np.concatenate(means), k)
    return total, mean, _finish(form, scatter, parts, owners, apart, segments)


def _zero(form: str, k: int, d: int) -> Array:
    shapes = {"full": (k, d, d), "pooled": (d, d), "diagonal": (k, d), "thin": (0, d)}
    return np.zeros(shapes[form])


def _in_class_order(values: Array, codes: Codes, k: int, weight: Array | None) -> tuple[_Rows, Codes]:
    counts = np.bincount(codes, minlength=k)
    if k == 1 or bool((codes[1:] >= codes[:-1]).all()):
        return _Rows(values, None, weight), counts
    small = codes.astype(np.uint8 if k <= 256 else np.uint16 if k <= 65536 else np.int64)  # narrow keys sort by radix
    return _Rows(values, np.argsort(small, kind="stable"), weight), counts


def _segments(counts: Codes, size: int) -> list[Segment]:
    segments, start = [], 0
    for c, count in enumerate(counts.tolist()):
        stop = start + count
        segments += [(c, a, min(a + size, stop)) for a in range(start, stop, size)]
        start = stop
    return segments


def _tasks(segments: list[Segment], size: int, split_classes: bool) -> list[list[Segment]]:
    tasks: list[list[Segment]] = []
    for segment in segments:
        if tasks and segment[2] - tasks[-1][0][1] <= size and not (split_classes and segment[0] != tasks[-1][0][0]):
            tasks[-1].append(segment)
        else:
            tasks.append([segment])
    return tasks


def _batches(task: list[Segment], size: int) -> list[list[Segment]]:
    """Group segments so that each group fits the buffer: many small classes are multiplied at once."""
    return _tasks(task, size, split_classes=False)


def _buffer(rows: _Rows, task: list[Segment]) -> Array:
    d = rows.values.shape[1]
    return np.empty((min(task[-1][2] - task[0][1], max(1, CACHE_CELLS // max(d, 1))), d))


def _center(block: Array, weight: Array | None) -> tuple[Array, float]:
    """Subtract the weighted mean from a block in place and scale by √weight; return the mean and the weight."""
    if weight is None:
        mean = block.sum(axis=0) / len(block) if len(block) < 8 else np.ones(len(block)) @ block / len(block)
        block -= mean
        return mean, float(len(block))
    total = float(weight.sum())
    mean = weight @ block / total
    block -= mean
    block *= np.sqrt(weight)[:, None]
    return mean, total


def _gram_task(rows: _Rows, task: list[Segment]) -> tuple[Array, Array, Array]:
    """Return segment means, segment weights and the sum of the segments' scatters (d, d)."""
    buffer = _buffer(rows, task)
    d = buffer.shape[1]
    means, totals, gram = np.empty((len(task), d)), np.empty(len(task)), np.zeros((d, d), order="F")
    s = 0
    for batch in _batches(task, len(buffer)):
        first = batch[0][1]
        block = rows.block(first, batch[-1][2], buffer)
        weight = rows.weights(first, batch[-1][2])
        for _, a, b in batch:
            part = slice(a - first, b - first)
            means[s], totals[s] = _center(block[part], None if weight is None else weight[part])
            s += 1
        add_gram(gram, block)
    return means, totals, symmetric(gram)


def _row_task(rows: _Rows, task: list[Segment]) -> tuple[Array, Array, Array]:
    """Return segment means, segment weights and the centred rows themselves."""
    start, stop = task[0][1], task[-1][2]
    block = rows.block(start, stop, np.empty((stop - start, rows.values.shape[1])))
    weight = rows.weights(start, stop)
    means, totals = np.empty((len(task), block.shape[1])), np.empty(len(task))
    for s, (_, a, b) in enumerate(task):
        part = slice(a - start, b - start)
        means[s], totals[s] = _center(block[part], None if weight is None else weight[part])
    return means, totals, block


def _square_task(rows: _Rows, task: list[Segment]) -> tuple[Array, Array, Array]:
    """Return segment means, weights of the observed cells and sums of squares, each (segments, d)."""
    buffer = _buffer(rows, task)
    shape = (len(task), buffer.shape[1])
    means, totals, squares = np.empty(shape), np.empty(shape), np.empty(shape)
    for s, (_, a, b) in enumerate(task):
        block, weight = rows.block(a, b, buffer), rows.weights(a, b)
        means[s], totals[s] = _center(block, weight)
        if not np.isfinite(means[s]).all():
            means[s], totals[s] = _center_observed(rows.block(a, b, buffer), weight)
        squares[s] = np.einsum("ij,ij->j", block, block)
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


def _join(owners: Codes, weights: Array, means: Array, k: int) -> tuple[Array, Array, Array]:
    """Return class weights, class means (k, d), and rows √w (segment mean − class mean) by segment (s, d)."""
    per_cell = weights if weights.ndim == 2 else weights[:, None]
    total = np.zeros((k, per_cell.shape[1]))
    np.add.at(total, owners, per_cell)
    safe = np.where(total > 0, total, 1.0)
    reference = np.zeros((k, means.shape[1]))
    heaviest = np.zeros((k, per_cell.shape[1]))
    for s, c in enumerate(owners.tolist()):  # refer to a segment that has observed cells
        better = per_cell[s] > heaviest[c]
        reference[c] = np.where(better, means[s], reference[c])
        heaviest[c] = np.where(better, per_cell[s], heaviest[c])
    shift = np.zeros_like(reference)
    np.add.at(shift, owners, per_cell * np.where(per_cell > 0, means - reference[owners], 0.0))
    mean = reference + shift / safe
    apart = np.sqrt(per_cell) * np.where(per_cell > 0, means - mean[owners], 0.0)
    return (total if weights.ndim == 2 else total[:, 0]), mean, apart


def _finish(form: str, scatter: Array, parts: list[Array], owners: Codes, apart: Array, segments: list[Segment]) -> Any:
    """Add the scatter of the segment means about the class means."""
    if form == "pooled":
        return scatter + apart.T @ apart
    if form == "full":
        for c in np.unique(owners):
            between = apart[owners == c]
            if len(between) > 1:
                scatter[c] += between.T @ between
        return scatter
    if form == "diagonal":
        np.add.at(scatter, owners, np.concatenate(parts) + apart**2)
        return scatter
    lengths = [b - a for _, a, b in segments]
    several = np.flatnonzero(apart.any(axis=1))
    values = np.concatenate([*parts, apart[several]])
    return values, np.concatenate([np.repeat(owners, lengths), owners[several]])
