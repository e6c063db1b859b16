"""Independent blocks of columns: the joint density of naive Bayes and of every mixed table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._arrays import Array, Codes, NDArray, is_sparse, np, sparse
from .._arrays_api import is_device_array, take
from .density import Density, Limit, as_density

Part = Array | sparse.csr_array | tuple[Codes, ...]  # rows of a block: numbers, counts, or codes by column
Rows = Sequence[Any]  # of a table: one entry per block of columns, in the form that its family recodes


@dataclass(frozen=True, slots=True)
class Product:
    """p(x | class) = Π over blocks of p(x_block | class)."""

    blocks: tuple[Density, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(map(as_density, self.blocks)))

    def log_density(self, rows: Rows) -> Array:
        """Return the sum of the blocks' log densities, (n, k) in nats; `rows` has one entry per block.

        Rows on another device get their answer there.
        """
        total: Array = _log_density(self.blocks[0], rows[0])
        for block, part in zip(self.blocks[1:], rows[1:], strict=True):
            total += _log_density(block, part)
        return total

    def leading_log_density(self, rows: Rows, offset: Array) -> Array:
        """Return the same, or more for classes that cannot matter to posteriors, see `Density.leading_log_density`.

        One block, the widest of those that can, is asked for the classes that lead it after all others; `offset` (k,).
        """
        able = [i for i, block in enumerate(self.blocks) if block.has_leading and not is_device_array(rows[i])]
        if not able:
            return self.log_density(rows)
        last = max(able, key=lambda i: rows[i].shape[1])
        others = (pair for i, pair in enumerate(zip(self.blocks, rows, strict=True)) if i != last)
        rest = sum((_log_density(block, part) for block, part in others), start=np.zeros(1))
        total = self.blocks[last].leading_log_density(rows[last], offset + rest)
        total += rest
        return total

    def condition(self, rows: Rows, posterior: Array) -> tuple[object, ...]:
        """Return the rows with each missing cell at its best guess, classes weighted by `posterior` (n, k).

        Blocks are independent within a class, so each is completed by itself.
        """
        parts = zip(self.blocks, rows, strict=True)
        return tuple(block.condition(part, posterior) if has_holes(part) else part for block, part in parts)

    def sample(self, rows: Rows, codes: Codes, rng: np.random.RandomState) -> tuple[object, ...]:
        """Return the rows with each missing cell drawn given the row and its class (n,)."""
        parts = zip(self.blocks, rows, strict=True)
        return tuple(block.sample(part, codes, rng) if has_holes(part) else part for block, part in parts)

    def limit(self, rows: Rows, chosen: Codes) -> Limit:
        """Return (order, log coefficient) of the chosen rows, see `Categorical.limit`; most blocks have order 0."""
        order: Array | float = 0.0
        score: Array | float = 0.0
        for block, part in zip(self.blocks, rows, strict=True):
            extra, coefficient = block.limit(take_rows(part, chosen))
            order, score = order + extra, score + coefficient
        return np.asarray(order), np.asarray(score)


def _log_density(block: Density, part: Any) -> Any:
    return block.log_density_there(part) if is_device_array(part) else block.log_density(part)


def take_rows(part: Part, index: Codes) -> Part:
    """Return some rows of a block: numbers (n, d), a sparse matrix, or one array of codes per column."""
    if isinstance(part, tuple):
        return tuple(column[index] for column in part)
    return take(part, index) if is_device_array(part) else part[index]


def take_columns(part: Part, columns: Sequence[int]) -> Part:
    """Return some columns of a block."""
    return tuple(part[j] for j in columns) if isinstance(part, tuple) else part[:, list(columns)]


def missing_cells(part: Any) -> NDArray[np.bool_] | None:
    """Return which cells of a block are missing (n, d), or None where nothing can be (a sparse matrix)."""
    if isinstance(part, tuple):
        return np.column_stack([column < 0 for column in part])
    return None if is_sparse(part) else np.isnan(part)


def has_holes(part: object) -> bool:
    """Return whether any cell of a block is missing."""
    missing = missing_cells(part)
    return missing is not None and bool(missing.any())
