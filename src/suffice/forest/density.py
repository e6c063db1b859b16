"""The density of a forest: for each class a mixture of boxes, over all leaves of all trees.

    p(x | k) = 1/T Σ_trees Σ_leaves p(leaf | k) Π_j p(x_j | leaf, k)

Within a leaf a number is a Gaussian in normal scores, cut to the leaf's box, and a category has shares of the levels
in it (Correia, Peharz & de Campos 2020, NeurIPS). A complete row is in one leaf of each tree; one with missing cells is
in all that its known cells allow, which is the exact marginal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .._arrays import (
    IN_MEMORY,
    Array,
    Codes,
    log_of,
    logsumexp,
    ndtr,
    np,
    parallel_each,
    parallel_map,
    row_chunks,
    rows_within,
    sparse,
)
from ..densities import Density
from ..densities.density import Outcomes, Within
from ..kernels.trees import sums_in_ways
from ..schema import Level
from ..stats.scatter import gather
from .columns import Cells, ForestColumns, ForestReading
from .marginals import (
    LEAST_SHARE,
    NEAR,
    PAIRS,
    log_base,
    log_cell_marginals,
    log_marginals,
    log_mass,
    log_number,
    log_share,
    log_within,
    pairs_of,
)
from .trees import Trees

TOGETHER = 4096  # rows and leaves whose cells are looked up before the next ones
LEAVES = 512  # looked at together, where columns are few
GROUPS = 32  # of the cells of a number, where it is asked what it may hold


@dataclass(frozen=True, eq=False)
class LeafTables:
    """What is known of each leaf: `log_share` (L, k), log p(leaf | class) with 1/T in it; of numbers in normal scores
    the `mean` (L, k, numbers) and `spread` (L, numbers); and the shares of the `levels` (L, k, cells) of each category,
    0 outside its box and for levels never seen.
    """

    log_share: Array
    mean: Array
    spread: Array
    levels: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class ForestDensity(Density):
    """p(x | k) of rows (n, d): numbers first, then level numbers of categories as floats, NaN where missing."""

    columns: ForestColumns
    trees: Trees
    tables: LeafTables

    @property
    def k(self) -> int:
        """The number of classes."""
        return int(self.tables.log_share.shape[1])

    def column_levels(self, j: int) -> Sequence[Level] | None:
        numbers = len(self.columns.numbers)
        return None if j < numbers else self.columns.vocabulary[j - numbers]

    def log_density(self, rows: Array) -> Array:
        return self.log_density_of(self.columns.of_values(rows))

    def log_density_of(self, reading: ForestReading) -> Array:
        """Return log p(x | k), (n, k) in nats, of rows as the trees read them."""
        if not reading.open.any():
            return log_marginals(self.trees, reading, self.k, self._log_joint)
        found = self._log_of_few(reading)
        if found is None:  # rows with missing cells are in many leaves, and often alike
            _, first, place = np.unique(reading.cells, axis=0, return_index=True, return_inverse=True)
            found = log_cell_marginals(self.trees, reading[first], self.k, self._log_joint)[place.reshape(-1)]
        return np.asarray(found + log_base(reading).sum(axis=1)[:, None])

    def _log_of_few(self, reading: ForestReading) -> Array | None:
        """Return log p(cells | k), (n, k), where all rows show the same one or two columns, as those of a grid do.

        Every leaf is then a product of two shares, and a grid of all their cells a product of two matrices. None where
        rows show others, or where the cells of two columns make too large a grid.
        """
        known = np.flatnonzero((~reading.open).any(axis=0))
        if len(known) not in (1, 2) or reading.open[:, known].any():
            return None
        cells, place = zip(*(np.unique(reading.cells[:, j], return_inverse=True) for j in known.tolist()), strict=True)
        sizes = [len(own) for own in cells]
        if 8 * self.k * int(np.prod(sizes)) > IN_MEMORY // 4:  # of each part of the leaves, several at a time
            return None

        def within(part: slice) -> Array:
            shares = [self._shares_at(j, part, own) for j, own in zip(known.tolist(), cells, strict=True)]
            shares[0] *= np.exp(self.tables.log_share[part].T)[:, :, None]
            return shares[0].sum(axis=1) if len(shares) == 1 else shares[0].transpose(0, 2, 1) @ shares[1]

        leaves, each = len(self.tables.log_share), self.k * sum(sizes)
        together = min(LEAVES, rows_within(32 * each, IN_MEMORY))
        parts = parallel_map(within, row_chunks(leaves, together), cost=40.0 * leaves * each)
        total = sum(parts, np.zeros((self.k, *sizes)))
        return log_of(total)[:, *(own.reshape(-1) for own in place)].T

    def _shares_at(self, j: int, leaves: slice, cells: Cells) -> Array:
        """Return the share of some cells (m,) of a column within leaves (k, q, m), as `_log_cell` has it; 0 outside."""
        low, high = (own[leaves, j][:, None] for own in self._boxes)
        numbers = len(self.columns.numbers)
        if j >= numbers:
            share = np.maximum(self.tables.levels[j - numbers][leaves][:, :, cells], LEAST_SHARE)
        else:
            ends, place = np.unique(np.concatenate([cells, cells + 1]), return_inverse=True)
            edges = self.columns.numbers[j].edges
            mean, spread = self.tables.mean[leaves, :, j, None], self.tables.spread[leaves, None, j, None]
            below = ndtr((edges[ends] - mean) / spread)
            share = np.maximum(below[:, :, place[len(cells) :]] - below[:, :, place[: len(cells)]], LEAST_SHARE)
            box = ndtr((edges[np.stack([low, np.maximum(low, high) + 1], axis=2)] - mean) / spread)
            share = np.minimum(share / np.maximum(np.diff(box, axis=2), LEAST_SHARE), 1.0)
        share *= ((cells >= low) & (cells <= high))[:, None]
        return share.transpose(1, 0, 2)

    def _log_joint(self, reading: ForestReading, leaf: Codes) -> Array:
        """Return log p(leaf, x | k), (n, k), of rows in one leaf each, within the cells of their numbers."""
        tables, known = self.tables, np.flatnonzero((~reading.open).any(axis=0))
        if len(known) < self.columns.d:  # what no row shows adds nothing: of one known cell of many, all but one
            within = np.zeros((len(leaf), self.k))
            self._add_cells(within, reading, known, leaf)
            return tables.log_share[leaf] + within
        within, (low, high) = np.empty((len(leaf), self.k)), self._boxes
        few = "_log_mass" not in vars(self) and len(leaf) < len(tables.log_share) // 2
        every = np.zeros(0) if few else self._log_mass

        def fill(part: slice) -> None:
            own = leaf[part]
            mean, spread = tables.mean[own], tables.spread[own]
            mass = log_mass(self.columns, low[own], high[own], mean, spread) if few else every[own]
            within[part] = log_within(reading[part], mean, spread, mass, ())

        parallel_each(fill, row_chunks(len(leaf), NEAR), cost=80.0 * within.size * self.columns.d)
        self._add_cells(within, reading, np.arange(len(self.columns.numbers), self.columns.d), leaf)
        return tables.log_share[leaf] + within

    def _add_cells(self, within: Array, reading: ForestReading, columns: Codes, leaf: Codes) -> None:
        """Add to `within` (q, k) log p(cell_j | leaf, k) of some columns, of rows in one leaf each."""
        numbers, few = columns < len(self.columns.numbers), len(leaf) < len(self.tables.log_share)
        logs = () if numbers.all() or (few and "_log_levels" not in vars(self)) else self._log_levels
        if numbers.any():
            _ = self._log_mass  # made here, and not by every thread

        def add(part: slice) -> None:
            rows, own, total = reading[part], leaf[part], within[part]
            for j in columns.tolist():
                total += self._log_cell(rows, j, own, logs)

        parallel_each(add, row_chunks(len(leaf), TOGETHER), cost=4.0 * within.size * len(columns))

    def _log_cell(self, reading: ForestReading, j: int, leaf: Codes, logs: Sequence[Array] = ()) -> Array:
        """Return log p(cell_j | leaf, k), (q, k), of rows in one leaf each; `logs` are any `_log_levels`."""
        numbers = len(self.columns.numbers)
        if j >= numbers and len(logs):
            return np.asarray(logs[j - numbers][leaf, reading.cells[:, j]])
        if j >= numbers:
            return log_share(reading, j, self.tables.levels[j - numbers][leaf, :, reading.cells[:, j]])
        mean, spread, mass = self.tables.mean[leaf, :, j], self.tables.spread[leaf, j], self._log_mass[leaf, :, j]
        return log_number(reading, j, mean, spread, mass)

    @cached_property
    def _boxes(self) -> tuple[Cells, Cells]:
        low, high = self.trees.boxes(self.columns.sizes)
        return low[self.trees.leaf_nodes], high[self.trees.leaf_nodes]

    @cached_property
    def _log_mass(self) -> Array:
        """How much of each leaf's Gaussians lies in its box, log (L, k, numbers)."""
        return log_mass(self.columns, *self._boxes, self.tables.mean, self.tables.spread)

    @cached_property
    def _log_levels(self) -> tuple[Array, ...]:
        """The logarithms of the shares of levels (L, cells, k), for who asks for more cells than there are leaves.

        The last, that of levels never seen, is 0: there, and where a cell is missing, nothing is said.
        """
        found = []
        for shares in self.tables.levels:
            logs = np.ascontiguousarray(np.log(np.maximum(shares, LEAST_SHARE)).transpose(0, 2, 1))
            logs[:, -1] = 0.0
            found.append(logs)
        return tuple(found)

    def marginals(self, rows: Array) -> Iterator[tuple[slice, Callable[[Codes], Array]]]:
        """Yield parts of the rows with their log marginals, added up from terms by leaf that are made once."""
        leaves, k = self.tables.log_share.shape
        for part in row_chunks(len(rows), max(1, IN_MEMORY // (8 * leaves * k * max(self.columns.d, 1)))):
            reading = self.columns.of_values(rows[part])
            terms, base = self._terms(reading), log_base(reading)

            def value(columns: Codes, terms: Array = terms, base: Array = base) -> Array:
                score = self.tables.log_share + terms[:, columns].sum(axis=1)
                return np.asarray(logsumexp(score, axis=1) + base[:, columns].sum(axis=1)[:, None])

            yield part, value

    def in_ways(self, rows: Array, known: Array) -> Array:
        """Return log densities (m, n, k) of complete rows in several sets of columns, by terms of leaves made once."""
        reading, log_share, (low, high) = self.columns.of_values(rows), self.tables.log_share, self._boxes
        base, out = log_base(reading), np.empty((len(known), len(rows), self.k))
        ways, _ = known > 0.0, self._log_mass

        @lru_cache(max(8 * IN_MEMORY // max(log_share.nbytes, 1), 1))  # many rows are in one cell
        def of_cell(j: int, cell: int) -> Array:
            one = ForestReading(reading.numbers[:1], np.full((1, self.columns.d), cell, np.int16), self.columns)
            return self._log_cell(one, j, np.arange(len(log_share)))

        def fill(i: int) -> None:
            cells = reading.cells[i]
            outside = ((cells < low) | (cells > high)) & ~reading.open[i]
            leaves = np.flatnonzero((ways @ outside.T.astype(np.float32) == 0.0).any(axis=0))
            terms = np.stack([of_cell(j, cell)[leaves] for j, cell in enumerate(cells.tolist())], axis=1)
            found = sums_in_ways(terms, log_share[leaves], outside[leaves], ways)
            out[:, i] = found + (known @ base[i])[:, None]

        parallel_each(fill, range(len(rows)), cost=30.0 * log_share.size * len(rows) * len(known))
        return out

    @property
    def has_ways(self) -> bool:
        return 8 * self.columns.d * self.tables.log_share.size <= 8 * IN_MEMORY  # the terms of a row

    def _terms(self, reading: ForestReading) -> Array:
        """Return log p(cell_j | leaf, k), (n, d, L, k), −∞ outside a leaf's box and 0 where the cell is open."""
        low, high = self._boxes
        n, leaves = len(reading), np.arange(len(low))
        out = np.empty((n, self.columns.d, *self.tables.log_share.shape))
        for i in range(n):
            one = reading[np.full(len(leaves), i)]
            for j in range(self.columns.d):
                out[i, j] = self._log_cell(one, j, leaves)
                outside = (one.cells[:, j] < low[:, j]) | (one.cells[:, j] > high[:, j])
                out[i, j, outside] = -np.inf
            out[i, reading.open[i]] = 0.0
        return out

    # --- completing rows ---------------------------------------------------------------------------------------------

    def condition(self, rows: Array, posterior: Array) -> Array:
        out, reading = rows.astype(np.float64), self.columns.of_values(rows)
        missing = np.isnan(out)
        for own, leaf, row, share in self._shares(reading, np.flatnonzero(missing.any(axis=1))):
            weight = share * posterior[own][row]
            for j in np.flatnonzero(missing[own].any(axis=0)).tolist():
                here = np.flatnonzero(missing[own, j])
                out[own[here], j] = self._expected(j, leaf, row, weight, len(own))[here]
        return out

    def _expected(self, j: int, leaf: Codes, row: Codes, weight: Array, n: int) -> Array:
        """Return the mean, or the number of the most probable level (n,), of pairs of rows and leaves by `weight`."""
        numbers = len(self.columns.numbers)
        if j < numbers:
            found = np.zeros(n)
            for c in range(self.k):  # of rows whose class is known one alone has weight
                own = np.flatnonzero(weight[:, c])
                used, place = np.unique(leaf[own], return_inverse=True)
                mean = self._cell_shares(j, used, [c])[:, 0] @ self.columns.numbers[j].mean
                found += np.bincount(row[own], weights=weight[own, c] * mean[place], minlength=n)
            return found
        used, place = np.unique(leaf, return_inverse=True)
        shares = self._cell_shares(j, used)
        total = gather(np.einsum("qk,qkc->qc", weight, shares[place]), row, n)
        total[:, -1] = -1.0  # never seen
        return self.columns.decoded(np.argmax(total, axis=1), j - numbers)

    def _cell_shares(self, j: int, leaves: Codes, classes: Sequence[int] | None = None) -> Array:
        """Return the share of each cell of a column within some leaves (q, k, cells), of some or all classes."""
        numbers, some = len(self.columns.numbers), range(self.k) if classes is None else classes
        if j >= numbers:
            return self.tables.levels[j - numbers][leaves[:, None], some]
        edges = self.columns.numbers[j].edges
        mean, spread = self.tables.mean[leaves[:, None], some, j], self.tables.spread[leaves, j]
        below = ndtr((edges - mean[:, :, None]) / spread[:, None, None])
        share = np.maximum(np.diff(below, axis=2), LEAST_SHARE)
        cell = np.arange(share.shape[2])
        low, high = (own[leaves, j][:, None] for own in self._boxes)
        share *= ((cell >= low) & (cell <= high))[:, None]
        return np.asarray(share / share.sum(axis=2, keepdims=True))

    def outcomes(self, rows: Array) -> Iterator[Outcomes]:
        """Yield what each missing cell may hold: levels, and the cells of a number, together where they are many."""
        leaves, k = self.tables.log_share.shape
        missing = np.isnan(rows)
        some = np.flatnonzero(missing.any(axis=1))
        for part in row_chunks(len(some), rows_within(16 * k * leaves, 8 * IN_MEMORY)):
            index = some[part]
            shares = self._leaf_shares(self.columns.of_values(rows[index]))
            for j in np.flatnonzero(missing[index].any(axis=0)).tolist():
                here = np.flatnonzero(missing[index, j])
                value, by_leaf = self._grouped_cells(j)
                found = np.stack([own[here] @ by_leaf[:, c] for c, own in enumerate(shares)], axis=2)
                if len(value):
                    yield Outcomes(index[here], j, value[None], found / found.sum(axis=1, keepdims=True))

    def _leaf_shares(self, reading: ForestReading) -> list[sparse.csr_array]:
        """Return p(leaf | known cells, k) of all rows and leaves (n, L), for each class."""
        found = [(own[row], leaf, share) for own, leaf, row, share in self._shares(reading, np.arange(len(reading)))]
        row, leaf, share = (np.concatenate(parts) for parts in zip(*found, strict=True))
        size = len(reading), len(self.tables.log_share)
        return [sparse.csr_array((share[:, c], (row, leaf)), shape=size) for c in range(self.k)]

    def _grouped_cells(self, j: int) -> tuple[Array, Array]:
        """Return values (m,) of a column's cells, and the shares of all leaves there (L, k, m).

        Neighbouring cells of a number count together where they are more than `GROUPS`: about as many rows each.
        """
        leaves, cells = np.arange(len(self.tables.log_share)), self.columns.sizes[j]
        if j >= len(self.columns.numbers):
            codes = self.columns.decoded(np.arange(cells - 1), j - len(self.columns.numbers))  # but one never seen
            return codes, self._cell_shares(j, leaves)[:, :, :-1]
        own = self.columns.numbers[j]
        if cells <= GROUPS:
            return own.mean, self._cell_shares(j, leaves)
        group = np.minimum((np.cumsum(own.share) - 0.5 * own.share) * GROUPS, GROUPS - 1).astype(np.int64)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        low, high = (own.edges[ends][:, None] for ends in (self._boxes[0][:, j], self._boxes[1][:, j] + 1))
        edges = np.clip(np.append(own.edges[first], np.inf), low, high)[:, None]
        mean, spread = self.tables.mean[:, :, j, None], self.tables.spread[:, j, None, None]
        share = np.diff(ndtr((edges - mean) / spread), axis=2) + LEAST_SHARE * (np.diff(edges, axis=2) > 0)
        value = np.add.reduceat(own.mean * own.share, first) / np.add.reduceat(own.share, first)
        return value, share / share.sum(axis=2, keepdims=True)

    def moments(self, j: int) -> tuple[Array, Array]:
        """Return the mean and the standard deviation of a number by class (k,), in the column's units."""
        cells, share = self.columns.numbers[j], self._share_of_cells(j)
        mean = share @ cells.mean
        inside = (cells.high - cells.low) ** 2 / 12.0  # of even values
        return mean, np.sqrt((share * ((cells.mean - mean[:, None]) ** 2 + inside)).sum(axis=1))

    def level_shares(self, j: int) -> Array:
        """Return the share of each level of a category by class (k, levels + 1), the last of levels never seen."""
        share, category = self._share_of_cells(j), j - len(self.columns.numbers)
        held = self.columns.levels_in(category)
        held[-1] += 1.0  # the last of them is shared with levels never seen
        return np.asarray((share / held)[:, np.append(self.columns.order[category], len(held) - 1)])

    def _share_of_cells(self, j: int) -> Array:
        """Return the share of each cell of a column by class (k, cells), whatever the others hold."""
        log_share, cells = self.tables.log_share, self.columns.sizes[j]
        total = np.zeros((self.k, cells))
        for part in row_chunks(len(log_share), rows_within(24 * self.k * cells, IN_MEMORY)):
            leaves = np.arange(len(log_share))[part]
            total += np.einsum("lk,lkc->kc", np.exp(log_share[leaves]), self._cell_shares(j, leaves))
        return np.asarray(total / total.sum(axis=1, keepdims=True))

    def sample(self, rows: Array, codes: Codes, rng: np.random.RandomState) -> Array:
        out = rows.astype(np.float64)
        missing = np.isnan(out)
        new = np.flatnonzero(missing.all(axis=1))
        leaf = np.zeros(len(out), dtype=np.int64)
        for k in np.unique(codes[new]).tolist():
            own = new[codes[new] == k]
            leaf[own] = _draw_places(np.exp(self.tables.log_share[:, k]), len(own), rng)
        some = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
        for own, leaves, row, share in self._shares(self.columns.of_values(out), some):
            leaf[own] = leaves[_draw_pairs(row, share[np.arange(len(row)), codes[own][row]], len(own), rng)]
        return self._filled(out, leaf, codes, rng)

    def within(self, rows: Array, low: Array, high: Array) -> Within:
        """Return what is known of numbers within ranges: leaves count by how much of them lies there."""
        reading, leaves = self.columns.of_values(rows), np.arange(len(self.tables.log_share))
        columns = np.flatnonzero(np.isfinite(low) | np.isfinite(high)).tolist()
        inside = np.ones(self.tables.log_share.shape)
        for j in columns:
            inside *= self._cell_shares(j, leaves) @ self.columns.numbers[j].inside(low[j], high[j])
        mass = np.zeros((len(rows), self.k))
        for own, leaf, row, share in self._shares(reading, np.arange(len(rows))):
            np.add.at(mass, own[row], share * inside[leaf])

        def draw(index: Codes, codes: Codes, rng: np.random.RandomState) -> Array:
            out, leaf = rows[index].astype(np.float64), np.zeros(len(index), dtype=np.int64)
            for i, c in np.unique(np.stack([index, codes], axis=1), axis=0).tolist():
                here = np.flatnonzero((index == i) & (codes == c))
                _, found, _, share = next(self._shares(reading, np.array([i])))
                leaf[here] = found[_draw_places(share[:, c] * inside[found, c], len(here), rng)]
            return self._filled(out, leaf, codes, rng, low, high)

        return Within(log_of(mass), tuple(columns), draw)

    def _filled(
        self,
        out: Array,
        leaf: Codes,
        codes: Codes,
        rng: np.random.RandomState,
        low: Array | None = None,
        high: Array | None = None,
    ) -> Array:
        """Return the rows (n, d) with missing cells drawn of these leaves and classes, between `low` and `high`."""
        for j in np.flatnonzero(np.isnan(out).any(axis=0)).tolist():
            here = np.flatnonzero(np.isnan(out[:, j]))
            bounds = -np.inf if low is None else low[j], np.inf if high is None else high[j]
            for part in row_chunks(len(here), rows_within(24 * self.columns.sizes[j], IN_MEMORY)):
                own = here[part]
                out[own, j] = self._draw(j, leaf[own], codes[own], rng, *bounds)
        return out

    def _draw(self, j: int, leaf: Codes, codes: Codes, rng: np.random.RandomState, low: float, high: float) -> Array:
        """Return new cells (n,) of a column, of these leaves and classes; a number lies between `low` and `high`."""
        used, place = np.unique(leaf, return_inverse=True)
        share = self._cell_shares(j, used)[place, codes]
        numbers = len(self.columns.numbers)
        if j < numbers:
            share = share * self.columns.numbers[j].inside(low, high)
        cumulative = np.cumsum(share, axis=1)
        draws = rng.uniform(size=(len(leaf), 1)) * cumulative[:, -1:]
        cell = np.minimum((cumulative <= draws).sum(axis=1), share.shape[1] - 1)
        if j >= numbers:
            return self.columns.decoded(cell, j - numbers)
        own = self.columns.numbers[j]
        begin, end = (np.clip(ends[cell], low, high) for ends in (own.low, own.high))
        return np.asarray(begin + rng.uniform(size=len(cell)) * (end - begin))

    def _shares(self, reading: ForestReading, rows: Codes) -> Iterator[tuple[Codes, Codes, Codes, Array]]:
        """Yield rows, with all leaves they may be in: leaf and place among the rows (q,), and p(leaf | x, k) (q, k)."""
        for part in row_chunks(len(rows), max(1, PAIRS // max(len(self.trees.leaf_nodes), 1))):
            own = reading[rows[part]]
            row, leaf = pairs_of(self.trees, own, np.arange(len(self.trees)))
            score = self._log_joint(own[row], leaf)
            most = np.full((len(own), self.k), -np.inf)
            np.maximum.at(most, row, score)
            share = np.exp(score - most[row])
            yield rows[part], leaf, row, share / gather(share, row, len(own))[row]


def _draw_places(share: Array, n: int, rng: np.random.RandomState) -> Codes:
    """Return n numbers drawn in proportion to their shares (q,)."""
    cumulative = np.cumsum(share)
    draws = rng.uniform(size=n) * cumulative[-1]
    return np.asarray(np.minimum(np.searchsorted(cumulative, draws, side="right"), len(cumulative) - 1))


def _draw_pairs(row: Codes, share: Array, n: int, rng: np.random.RandomState) -> Codes:
    """Return for each of n rows the number of one of its pairs, drawn by their shares (q,)."""
    order = np.argsort(row, kind="stable")
    cumulative = np.cumsum(share[order])
    last = np.cumsum(np.bincount(row, minlength=n)) - 1
    begin = np.concatenate([[0.0], cumulative[last[:-1]]])
    draws = begin + rng.uniform(size=n) * (cumulative[last] - begin)
    first = np.concatenate([[0], last[:-1] + 1])
    return np.asarray(order[np.clip(np.searchsorted(cumulative, draws, side="right"), first, last)])
