"""Independent blocks of columns: the joint density of naive Bayes and of every mixed table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .._arrays import Array, Codes, np


class Density(Protocol):
    """A class-conditional density over one block of columns."""

    def log_density(self, rows: Any) -> Array:
        """Return (n, k) in nats."""
        ...


@dataclass(frozen=True, slots=True)
class Product:
    """p(x | class) = Π over blocks of p(x_block | class)."""

    blocks: tuple[Density, ...]

    def log_density(self, rows: Sequence[Any]) -> Array:
        """Return the sum of the blocks' log densities, (n, k) in nats; `rows` has one entry per block."""
        total = self.blocks[0].log_density(rows[0])
        for block, part in zip(self.blocks[1:], rows[1:], strict=True):
            total += block.log_density(part)
        return total

    def limit(self, rows: Sequence[Any], chosen: Codes) -> tuple[Array, Array]:
        """Return (order, log coefficient) of the chosen rows, see `Categorical.limit`; most blocks have order 0."""
        order: Array | float = 0.0
        score: Array | float = 0.0
        for block, part in zip(self.blocks, rows, strict=True):
            own = [column[chosen] for column in part] if isinstance(part, tuple) else part[chosen]
            if hasattr(block, "limit"):
                extra, coefficient = block.limit(own)
                order, score = order + extra, score + coefficient
            else:
                score = score + block.log_density(own)
        return np.asarray(order), np.asarray(score)
