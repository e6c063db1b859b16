"""Is a row like anything seen: p-values by the law of Gaussian classes, uniform for rows drawn from the model.

Within a class, the p-value of a row is the chance that a new row of the class is at least as far out, where distance is
how much less dense a row is than the class at its centre; for a Gaussian, half the squared Mahalanobis distance. Across
classes, p-values are averaged by the posterior. Where classes overlap the average is no p-value itself (a row between
two classes has two that are not small), so it is compared with its own distribution for rows drawn from the model.
Where classes have no law, or rows are kept, `held_out` ranks the row among these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._arrays import (
    Array,
    Codes,
    is_sparse,
    log_softmax,
    np,
    parallel_each,
    pattern_groups,
    row_chunks,
    single_blas_thread,
)
from ..densities import Density, Gaussian, Product, Rows
from ..densities.product import missing_cells, take_rows
from ..joint import JointModel
from .outlier_laws import TAIL, Flags, HotellingLaw, Law

NEGLIGIBLE = -30.0  # log posterior of a class whose p-value does not count
CHUNK_ROWS = 1 << 14
POINTS, REACH = 3000, 9.0  # roots of distances at which the law is tabulated; squared distances up to 162


class Replicate(NamedTuple):
    """A model as estimated from simulated training rows, and new rows of known classes (n,) to try it on."""

    model: JointModel
    rows: Rows
    codes: Codes


@dataclass(frozen=True, slots=True)
class Null:
    """What rows of the model look like in some of the columns: within classes by their law, over all as simulated."""

    law: Law
    observed: Flags
    table: Array  # (points, k) p-values by the law, by root of distance; none for one class
    combined: Array  # (m,) ascending posterior means of p-values
    below: Array  # (m + 1,) share of rows below each, by class prior

    @classmethod
    def make(cls, replicates: Sequence[Replicate], law: Law, observed: Flags) -> Null:
        """Summarise simulated rows from which the cells not observed (d,) are taken away; none for one class."""
        empty = np.zeros(0)
        if not replicates:
            return cls(law, observed, empty, empty, empty)
        k = len(replicates[0].model.log_prior)
        found = [measure(r.model, hide(r.rows, observed)) for r in replicates]
        codes = np.concatenate([r.codes for r in replicates])
        null = cls(law, observed, _tabulate(law, observed, k), empty, empty)
        combined = null.average(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
        order = np.argsort(combined)
        prior = np.exp(replicates[0].model.log_prior)
        weight = (prior / np.maximum(np.bincount(codes, minlength=k), 1))[codes][order]
        below = np.concatenate([[0.0], np.cumsum(weight)])
        return cls(law, observed, null.table, combined[order], below / below[-1])

    def _look_up(self, distance: Array) -> Array:
        """Return the p-values (n, k) that the law gives these distances, to 4e-4 of each; the rest is coarser."""
        place = np.sqrt(np.maximum(distance, 0.0))
        place *= POINTS / REACH
        index = np.minimum(place, POINTS - 1).astype(np.intp)
        place -= index
        columns = np.arange(distance.shape[1])
        low = self.table[index, columns]
        index += 1
        p = low + place * (self.table[index, columns] - low)
        far = np.flatnonzero((place > 1.0).any(axis=1))
        if len(far):
            p[far] = self.law.new_row(distance[far], self.observed)
        return np.asarray(p)

    def average(self, distance: Array, posterior: Array) -> Array:
        """Return Σ_k p(k | x) p_k(x), (n,), of distances and log posteriors (n, k)."""
        if not (self.observed & self.law.used).any():
            return np.ones(len(distance))
        p = self.law.new_row(distance, self.observed) if not len(self.table) else self._look_up(distance)
        return np.asarray((np.exp(posterior) * p).sum(axis=1))

    def pvalues(self, distance: Array, posterior: Array) -> Array:
        """Return p-values (n,) over all classes."""
        combined = self.average(distance, posterior)
        if not len(self.combined):
            return combined
        m = len(self.combined)
        share = (1.0 + m * self.below[np.searchsorted(self.combined, combined, side="right")]) / (1.0 + m)
        low = int(np.searchsorted(self.below, TAIL)) - 1
        start = self.combined[max(low, 0)]
        tail = combined < start  # a p-value is continuous in the row where theirs are
        share[tail] = combined[tail] * ((1.0 + m * self.below[max(low, 0) + 1]) / (1.0 + m) / max(start, 1e-300))
        return np.asarray(np.minimum(share, 1.0))


def _tabulate(law: Law, observed: Flags, k: int) -> Array:
    if not (observed & law.used).any():
        return np.zeros(0)
    root = np.linspace(0.0, REACH, POINTS + 1)
    return law.new_row(np.repeat(root[:, None] ** 2, k, axis=1), observed)


def pvalues(model: JointModel, rows: Rows, replicates: Sequence[Replicate], law: Law) -> Array:
    """Return the p-value of each row (n,): the share of rows of the model that are at least as far out.

    `law` is exact within a class; `replicates` stand for the model where there are several.
    """
    groups = list(patterns(rows))
    out = np.ones(sum(len(index) for _, index in groups))
    for observed, index in groups:
        if not observed.any():
            continue
        with single_blas_thread():  # once, not for each of the small products
            null = Null.make(replicates, law, observed)

        def answer(own: Codes, null: Null = null) -> None:
            out[own] = null.pvalues(*measure(model, take(rows, own)))

        parallel_each(answer, [index[part] for part in row_chunks(len(index), CHUNK_ROWS)])
    return out


def class_pvalues(model: JointModel, rows: Rows, law: Law) -> Array:
    """Return how likely a row of each class is at least as far out from it as each row, (n, k)."""
    groups = list(patterns(rows))
    out = np.ones((sum(len(index) for _, index in groups), len(model.log_prior)))
    for observed, index in groups:
        if (observed & law.used).any():
            out[index] = law.new_row(measure(model, take(rows, index))[0], observed)
    return out


def own_pvalues(model: JointModel, rows: Rows, codes: Codes, law: HotellingLaw) -> Array:
    """Return the p-value (n,) of each row within its class, for rows that the model has learned from, which leave."""
    out = np.ones(len(codes))
    for observed, index in patterns(rows):
        own = codes[index]
        if (observed & law.used).any():
            distance = measure(model, take(rows, index))[0]
            out[index] = law.own_row(distance[np.arange(len(own)), own], own, observed)
    return out


def measure(model: JointModel, rows: Rows) -> tuple[Array, Array]:
    """Return distances log p(centre | k) − log p(x | k) and log posteriors, (n, k) each; rows miss the same cells.

    A row that every class makes impossible is infinitely far from all.
    """
    observed = missing_free(rows)
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


def _observed(part: Any) -> Flags:
    missing = missing_cells(part)
    return np.ones(part.shape, dtype=bool) if missing is None else ~missing


def observed_cells(rows: Rows) -> Flags:
    """Return which cells of rows are observed (n, d)."""
    return np.concatenate([_observed(part) for part in rows], axis=1)


def missing_free(rows: Rows) -> Flags:
    """Return which columns of the first row are observed (d,)."""
    return np.concatenate([_observed(take([part], np.array([0]))[0])[0] for part in rows])


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
    """Return the rows without the cells of columns that are not observed (d,)."""
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
            hidden.append(np.where(own, part, np.nan))
    return hidden
