"""Naive Bayes on categories with a Dirichlet prior centred on the levels' shares in all classes.

p(l | k) = (n_kl + t π_l) / (n_k + t) with π_l = (n_l + ½) / (N + L / 2), L counting one spare level for what was never
seen; n counts the observed cells of the column. Missing cells contribute nothing. Leaving a row out lowers the counts
of its own cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..._arrays import Array, Codes, np

STRENGTHS = (0.5, 2.0, 8.0, 32.0)


@dataclass(frozen=True, slots=True)
class LevelMember:
    """Counts (k, levels) of each column, and the strength t."""

    counts: tuple[Array, ...]
    strength: float = 2.0

    def table(self, j: int) -> Array:
        """Return log p(level | k) of column j, (k, levels + 1), the last for a level never seen."""
        counts = self.counts[j]
        known = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
        share = (known.sum(axis=0) + 0.5) / (known.sum() + 0.5 * known.shape[1])
        table = (known + self.strength * share) / (known.sum(axis=1, keepdims=True) + self.strength)
        return np.asarray(np.log(table))

    def columns(self, codes: Sequence[Codes], wanted: Sequence[int] | None = None) -> Iterator[Array]:
        """Yield log p(level | k), (n, k), of each column for new rows, or of those `wanted`.

        Level numbers (n,) are −1 where a cell is missing, and L − 1 where its level was never seen.
        """
        for j in range(len(codes)) if wanted is None else wanted:
            yield np.where(codes[j][:, None] < 0, 0.0, self.table(j).T[codes[j]])

    def scores(self, codes: Sequence[Codes]) -> Array:
        """Return Σ_j log p(level_j | k), (n, k)."""
        total = np.zeros((len(codes[0]), len(self.counts[0])))
        for part in self.columns(codes):
            total += part
        return total

    def left_out(
        self, codes: Sequence[Codes], labels: Codes, removed: Array, strengths: Sequence[float]
    ) -> Iterator[list[Array]]:
        """Yield, by column, log p(level | k) (n, k) at each strength, without the weight `removed` of each row."""
        own = np.zeros((len(labels), len(self.counts[0])))
        own[np.arange(len(labels)), labels] = removed
        for counts, column in zip(self.counts, codes, strict=True):
            seen = column >= 0
            known = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
            less = removed * seen
            levels = np.maximum(known.T[column] - own * seen[:, None], 0.0)
            whole = np.maximum(known.sum(axis=1) - own * seen[:, None], 0.0)
            share = np.maximum(known.sum(axis=0)[column] - less, 0.0) + 0.5
            share = (share / (np.maximum(known.sum() - less, 0.0) + 0.5 * known.shape[1]))[:, None]
            yield [np.where(seen[:, None], np.log((levels + t * share) / (whole + t)), 0.0) for t in strengths]
