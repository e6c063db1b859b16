"""Which words of a text speak for a class, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._arrays import Array, np, sparse
from ..densities import Rows
from ..densities.texts import TextDensity


class Words(NamedTuple):
    """What words of a column of texts add in so many `rows`: of each part, how often (n, u), and nats a time (u, k)."""

    rows: int
    names: Sequence[str]
    parts: Sequence[tuple[sparse.csr_array, Array]]

    def of_row(self, i: int) -> dict[str, Array]:
        """Return what the words of a row add, (k,) each less its mean over classes, those that tell most first."""
        found: dict[str, Array] = {}
        for counts, nats in self.parts:
            row = counts[[i]]
            for number, times in zip(row.indices.tolist(), row.data.tolist(), strict=True):
                told = times * (nats[number] - nats[number].mean())
                found[self.names[number]] = found.get(self.names[number], 0.0) + told
        return dict(sorted(found.items(), key=lambda own: (-float(np.ptp(own[1])), own[0])))


def of_densities(blocks: Sequence[object], rows: Rows, positions: Sequence[Sequence[int]]) -> list[tuple[int, Words]]:
    """Return the columns of texts, by position, and what the words in rows add to the log densities of blocks."""
    found = []
    for density, part, places in zip(blocks, rows, positions, strict=True):
        for j, position in enumerate(places if isinstance(density, TextDensity) else ()):
            names, counts, nats = density.words_in(part, j)  # type: ignore[attr-defined]
            found.append((position, Words(counts.shape[0], names, [(counts, nats)])))
    return found
