"""The rows kept when a model is released, and what they tell that sums do not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._arrays import Array, Codes, NDArray, is_sparse, np
from .least import MinCount


@dataclass(frozen=True)
class Kept:
    """Encoded rows of a block that are at hand: class numbers, how many rows had each content, their weight, all (m,).

    `whole` says that there are no others.
    """

    rows: object
    codes: Codes
    copies: Array
    weight: Array
    whole: bool

    def hiding(self, cells: NDArray[np.bool_]) -> Kept:
        """Return the rows without some of their cells (m, d)."""
        if not cells.any():
            return self
        return replace(self, rows=np.where(cells, np.nan, np.asarray(self.rows)))

    def counting(self, share: Array) -> Kept:
        """Return the rows with this share of their weight (m,); those of share 0 without any cell."""
        none = share <= 0
        found = self.hiding(np.broadcast_to(none[:, None], np.asarray(self.rows).shape))
        return replace(found, weight=np.where(none, self.weight, self.weight * share))

    def less_than(self, other: Kept) -> NDArray[np.bool_]:
        """Return which cells (m, d) count less than in the same rows before."""
        gone = np.isnan(np.asarray(self.rows)) & ~np.isnan(np.asarray(other.rows))
        return np.asarray(gone | (self.weight < other.weight)[:, None])

    def missing_of(self, other: Kept, k: int) -> Array:
        """Return how much less the rows of each class (k,) weigh than before; without a cell they weigh nothing."""
        none = np.isnan(np.asarray(self.rows)).all(axis=1) & ~np.isnan(np.asarray(other.rows)).all(axis=1)
        lost = np.where(none, other.weight, other.weight - self.weight)
        return np.bincount(self.codes, weights=lost, minlength=k).astype(np.float64)

    def shared_out(self, share: Array) -> Kept:
        """Return the rows of dense cells once for each component (m, parts) they count in; these are the classes."""
        assert isinstance(self.rows, np.ndarray)
        row, part = np.nonzero(share > 1e-9)
        counted = share[row, part]
        return Kept(self.rows[row], part, self.copies[row] * counted, self.weight[row] * counted, self.whole)

    def varied(self, k: int) -> Array | None:
        """Return how many of them (k, d) differ from the commonest value of their class; None for other cells."""
        if is_sparse(self.rows) or not isinstance(self.rows, np.ndarray):
            return None
        found = np.zeros((k, self.rows.shape[1]))
        for c in range(k):
            own = np.flatnonzero(self.codes == c)
            for j, column in enumerate(self.rows[own].T):
                seen = ~np.isnan(column)
                _, place = np.unique(column[seen], return_inverse=True)
                held = np.bincount(place, weights=self.copies[own][seen])
                found[c, j] = held.sum() - held.max(initial=0.0)
        return found

    def few_pairs(self, k: int, pooled: bool, least: MinCount) -> NDArray[np.bool_] | None:
        """Return which columns of two values each (k or 1, d, d) too few rows show together in one of four ways."""
        if is_sparse(self.rows) or not isinstance(self.rows, np.ndarray):
            return None
        d = self.rows.shape[1]
        found = np.zeros((1 if pooled else k, d, d), dtype=bool)
        two = [j for j in range(d) if len(np.unique(self.rows[~np.isnan(self.rows[:, j]), j])) == 2]
        if len(two) < 2:
            return found
        seen = ~np.isnan(self.rows[:, two])
        high = (self.rows[:, two] == np.nanmax(self.rows[:, two], axis=0)) & seen
        rows = MinCount(least.rows)
        for g in range(len(found)):
            heavy = np.where((self.codes == g) | pooled, self.copies, 0.0)[:, None]
            for a in (high, seen & ~high):
                for b in (high, seen & ~high):
                    found[np.ix_([g], two, two)] |= rows.few((heavy * a).T @ b.astype(np.float64))
        return found

    def filled(self, k: int) -> Array | None:
        """Return how many of them (k, d) have a cell that is neither 0 nor missing; None for other cells."""
        if is_sparse(self.rows):
            there = self.rows.copy()
            there.data = (there.data != 0).astype(np.float64)
        elif isinstance(self.rows, np.ndarray):
            there = (np.nan_to_num(self.rows) != 0).astype(np.float64)
        else:
            return None
        return np.stack([np.asarray(self.copies[own] @ there[own]) for own in (self.codes == c for c in range(k))])
