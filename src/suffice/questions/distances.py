"""How far out a row is from each class: how much less dense it is than the class at its centre.

For a Gaussian that is half the squared Mahalanobis distance. Rows that miss the same cells are measured together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._arrays import (
    Array,
    Codes,
    is_sparse,
    log_softmax,
    np,
    pattern_groups,
)
from ..densities import Density, Gaussian, Product, Rows
from ..densities.product import missing_cells, take_rows
from ..joint import JointModel
from .outlier_laws import Flags

NEGLIGIBLE = -30.0  # log posterior of a class whose p-value does not count
CHUNK_ROWS = 1 << 14


def measure(model: JointModel, rows: Rows) -> tuple[Array, Array]:
    """Return distances log p(centre | k) − log p(x | k) and log posteriors, (n, k) each; rows miss the same cells.

    A row that every class makes impossible is infinitely far from all.
    """
    observed = observed_cells(take(rows, np.array([0])))[0]
    blocks, parts = _seen(model, rows, observed)
    density = Product(tuple(blocks)).log_density(parts)
    return measured(density, model.log_prior, _centers(blocks, rows, observed))


def measured(density: Array, log_prior: Array, center: Array | float = 0.0) -> tuple[Array, Array]:
    """Return what `measure` does, of log densities (n, k), which become the distances, and those at centres (k,)."""
    posterior = density + log_prior
    impossible = np.isneginf(posterior).all(axis=1)
    posterior[impossible] = log_prior
    np.subtract(center, density, out=density)
    return density, log_softmax(posterior, out=posterior)


def peaks(model: JointModel, rows: Rows, observed: Flags) -> Array:
    """Return the log density of each class at its centre (k,), in the observed columns, of blocks that have a centre.

    Without it, an estimate of the spread that is too small would make every row look likelier.
    """
    return _centers(_seen(model, rows, observed)[0], rows, observed)


def _seen(model: JointModel, rows: Rows, observed: Flags) -> tuple[list[Density], list[object]]:
    """Return blocks and rows, of Gaussian blocks the marginal density and the cells of the observed columns."""
    blocks, parts = list(model.density.blocks), list(rows)
    for i, (block, own) in enumerate(zip(model.density.blocks, _split(rows, observed), strict=True)):
        if isinstance(block, Gaussian) and not own.all():
            kept = np.flatnonzero(own).tolist()
            blocks[i], parts[i] = block.marginal(kept), parts[i][:, kept]
    return blocks, parts


def _centers(blocks: Sequence[Density], rows: Rows, observed: Flags) -> Array:
    total: Array | float = 0.0
    for block, own in zip(blocks, _split(rows, observed), strict=True):
        center = block.center()
        if center is not None:
            whole = center.shape[1] == len(own)  # else it is that of a marginal density already
            total = total + np.diagonal(block.log_density(np.where(own, center, np.nan) if whole else center))
    return np.asarray(total)


def _split(rows: Rows, observed: Flags) -> list[Flags]:
    """Return the flags of each block's columns."""
    return np.split(observed, np.cumsum([_width(part) for part in rows])[:-1])


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
    """Return the rows without the cells of columns that are not observed (d,); of sparse counts none can be missing."""
    if observed.all():
        return list(rows)
    hidden: list[object] = []
    start = 0
    for part in rows:
        own = observed[start : start + _width(part)]
        start += _width(part)
        if isinstance(part, tuple):
            hidden.append(
                tuple(codes if kept else np.full_like(codes, -1) for codes, kept in zip(part, own, strict=True))
            )
        else:
            hidden.append(part if is_sparse(part) else np.where(own, part, np.nan))
    return hidden
