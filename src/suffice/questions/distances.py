"""How far out a row is from each class: how much less dense it is than the class at its centre.

For a Gaussian that is half the squared Mahalanobis distance. Rows that miss the same cells are measured together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._arrays import (
    Array,
    Codes,
    is_sparse,
    log_softmax,
    np,
    pattern_groups,
)
from ..densities import Rows
from ..densities.product import missing_cells, take_rows
from ..joint import JointModel
from .outlier_laws import Flags

NEGLIGIBLE = -30.0  # log posterior of a class whose p-value does not count
CHUNK_ROWS = 1 << 14


def measure(model: JointModel, rows: Rows) -> tuple[Array, Array]:
    """Return distances log p(centre | k) − log p(x | k) and log posteriors, (n, k) each, in the cells that rows have.

    A row that every class makes impossible is infinitely far from all.
    """
    return measured(model.density.log_density(rows), model.log_prior, peaks(model, rows))


def measured(density: Array, log_prior: Array, center: Array | float = 0.0) -> tuple[Array, Array]:
    """Return what `measure` does, of log densities (n, k), which become the distances, and those at centres."""
    posterior = density + log_prior
    impossible = np.isneginf(posterior).all(axis=1)
    posterior[impossible] = log_prior
    np.subtract(center, density, out=density)
    return density, log_softmax(posterior, out=posterior)


def peaks(model: JointModel, rows: Rows) -> Array:
    """Return the log density of each class at its centre in the cells that rows have, (n, k), of blocks with a centre.

    Without it, an estimate of the spread that is too small would make every row look likelier. It is (1, k) zeros where
    no block has one.
    """
    total = np.zeros((1, len(model.log_prior)))
    for block, part in zip(model.density.blocks, rows, strict=True):
        center = block.center()
        if center is not None:
            groups = list(pattern_groups(~np.isnan(part)))
            ways = np.full((len(groups), *center.shape), np.nan)
            for way, (seen, _) in zip(ways, groups, strict=True):
                way[:, seen] = center[:, seen]
            found = block.log_density(ways.reshape(-1, center.shape[1])).reshape(len(groups), len(center), -1)
            own = np.empty((len(part), len(center)))
            for peak, (_, index) in zip(np.diagonal(found, axis1=1, axis2=2), groups, strict=True):
                own[index] = peak
            total = total + own
    return total


def _width(part: Any) -> int:
    return len(part) if isinstance(part, tuple) else int(part.shape[1])


def observed_cells(rows: Rows) -> Flags:
    """Return which cells of rows are observed (n, d)."""
    masks = [(part, missing_cells(part)) for part in rows]
    return np.concatenate([np.ones(p.shape, dtype=bool) if mask is None else ~mask for p, mask in masks], axis=1)


def patterns(rows: Rows) -> Iterator[tuple[Flags, Codes]]:
    """Yield (observed columns (d,), row numbers) for each pattern of observed cells."""
    if all(is_sparse(part) for part in rows):
        yield np.ones(sum(_width(part) for part in rows), dtype=bool), np.arange(rows[0].shape[0])
        return
    seen = observed_cells(rows)
    if seen.all():
        yield seen[0], np.arange(len(seen))
        return
    for columns, index in pattern_groups(seen):
        yield np.isin(np.arange(seen.shape[1]), columns), index


def take(rows: Rows, index: Codes) -> list[object]:
    """Return some rows, as a model reads them."""
    return [take_rows(part, index) for part in rows]


def hide(rows: Rows, observed: Flags) -> list[object]:
    """Return the rows without the cells that are not observed, (d,) or (n, d); of sparse counts none can be missing."""
    if observed.all():
        return list(rows)
    hidden: list[object] = []
    start = 0
    for part in rows:
        own = observed[..., start : start + _width(part)]
        start += _width(part)
        if isinstance(part, tuple):
            hidden.append(tuple(np.where(kept, codes, -1) for codes, kept in zip(part, own.T, strict=True)))
        else:
            hidden.append(part if is_sparse(part) else np.where(own, part, np.nan))
    return hidden
