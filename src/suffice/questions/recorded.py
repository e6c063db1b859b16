"""Steps and bounds of a table's numbers, from the rows kept."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from .._arrays import Array, NDArray, np
from ..estimate import Block
from ..fitted import Fitted
from ..stats.lattice import find_lattice
from ..tasks.recorded import ByBlock, Recorded

FEWEST = 10  # rows with a value, below which a column is taken for anything
PILE, PILED_ROWS = 0.05, 5  # so large a share of a column's rows, and so many, are a pile


class Range(NamedTuple):
    """The ends of what a column can hold, and whether values pile up there."""

    low: float
    high: float
    piled_low: bool
    piled_high: bool


def recorded(fitted: Fitted) -> ByBlock | None:
    """Return by block of the joint model how its numbers were recorded, None where no rows are kept.

    Rows that share out a total, levels and truth values are drawn as they are recorded. Merged models keep the rows of
    the whole table, and find what it shows.
    """
    return fitted.memoize(_of_rows_kept, whatever_priors=True)


def _of_rows_kept(fitted: Fitted) -> ByBlock | None:
    sample = fitted.statistics.sample
    if sample is None:
        return None
    weight = sample.represented(fitted.statistics.weight)
    blocks = zip(fitted.blocks, fitted.sampled_rows(), strict=True)
    found = [_of_block(block, rows, weight, sample.copies) for block, rows in blocks]
    return found if any(own is not None for own in found) else None


def _of_block(block: Block, rows: object, weight: Array, copies: Array) -> Recorded | None:
    if not isinstance(rows, np.ndarray) or block.family.support in ("shares", "truths"):
        return None
    columns = [_of_column(cells, weight, copies) for cells in rows.T]
    found = Recorded(*map(np.array, zip(*columns, strict=True)))
    found = replace(found, low=found.rounded(found.low), high=found.rounded(found.high))
    return found if found.says_something else None


def _of_column(cells: Array, weight: Array, copies: Array) -> tuple[float | int | bool, ...]:
    """Return the fields of `Recorded` for a column of the rows kept (m,)."""
    present = ~np.isnan(cells)
    step, phase, decimals = np.nan, 0.0, -1
    if copies[present].sum() < FEWEST:
        return step, phase, decimals, -np.inf, np.inf, False, False
    values, place = np.unique(cells[present], return_inverse=True)
    lattice = find_lattice(values)
    share = np.bincount(place, weights=weight[present]) / weight[present].sum()
    piled = (share >= PILE) & (np.bincount(place, weights=copies[present]) >= PILED_ROWS)
    ends = _range_of(values, piled)
    low, high = ends.low, ends.high
    if lattice is not None:
        step, phase, decimals = lattice
        # the outermost values in whole steps that are within
        near = 1e-6
        low = phase + np.ceil((low - phase) / step - near) * step
        high = phase + np.floor((high - phase) / step + near) * step
    return step, phase, decimals, low, high, ends.piled_low, ends.piled_high


def _range_of(values: Array, piled: NDArray[np.bool_]) -> Range:
    """Return the range that distinct, ascending values keep to.

    A pile at an end bounds it. Zero bounds a column whose values are all on one side of it, 1 one of shares, and 100
    one of percentages, which reaches it.
    """
    least, most = float(values[0]), float(values[-1])
    low, high = -np.inf, np.inf
    if least >= 0.0:
        low = 0.0
        high = 1.0 if most <= 1.0 else 100.0 if most == 100.0 else np.inf
    elif most <= 0.0:
        high = 0.0
    if piled[0]:
        low = least
    if piled[-1]:
        high = most
    return Range(low, high, bool(piled[0]), bool(piled[-1]))
