"""The inputs of members as readings and codes of an export program."""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import np
from ..densities import MultivariateT
from ..export.lower import Lowering, normal
from ..export.program import Bin, Indicator, Interpolated, Normal, Projected, Scaled, TreeSums
from ..forest import ForestColumns, TreeScores
from .columns import RAW, FrozenColumns, end_slopes
from .table_rows import MISSING


class Inputs:
    """Frozen columns in a program under construction; each reading is entered once, when first asked for.

    `numbers` and `codes` are those of the cells themselves. `positions` are the table's columns, numbers first.
    """

    def __init__(self, job: Lowering, columns: FrozenColumns, positions: Sequence[int]) -> None:
        self._job, self.columns = job, columns
        d = len(columns.scores)
        self.numbers = [job.number(p) for p in positions[:d]]
        self._categories = positions[d:]
        self.codes = [job.level(p, known) for p, known in zip(self._categories, columns.vocabulary, strict=True)]
        self._cells: dict[str, tuple[int, ...]] = {}

    def normal(self, density: MultivariateT, readings: Sequence[int]) -> Normal:
        """Return the term of a density over some readings."""
        return normal(density, tuple(readings[j] for j in density.used))

    def gaussian(self, version: str) -> tuple[int, ...]:
        """Return the readings of a version of the Gaussian block; see `FrozenColumns.gaussian`."""
        cells = self.cells(version)
        if version not in self.columns.basis:
            return cells
        directions = enumerate(np.ascontiguousarray(self.columns.basis[version].T))
        return tuple(self._job.reading(Projected(cells, own), ("along", version, i)) for i, own in directions)

    def cells(self, version: str) -> tuple[int, ...]:
        """Return the readings of the used columns of the Gaussian block, in units of total variance 1."""
        if version not in self._cells:
            raw = list(self.numbers if version == RAW else self._scores()) + self._indicators()
            centre, scale = self.columns.center[version], self.columns.scale[version]
            self._cells[version] = tuple(
                self._job.reading(Scaled(raw[j], float(centre[j]), float(scale[j])), ("scaled", version, int(j)))
                for j in self.columns.used[version]
            )
        return self._cells[version]

    def bins(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the codes of all columns, numbers cut into so many bins, and how many levels each has."""
        codes, sizes = [], []
        for j, cuts in enumerate(self.columns.cuts[number]):
            codes.append(self._job.code(Bin(self.numbers[j], cuts), ("bin", number, j)))
            sizes.append(len(cuts) + 1)
        sizes += [len(known) for known in self.columns.vocabulary]
        return (*codes, *self.codes), tuple(sizes)

    def trees(self, scores: TreeScores, columns: ForestColumns) -> TreeSums:
        """Return the term of sums over leaves, of trees over these columns; it reads those that some tree looks at."""
        trees = scores.trees
        inner = trees.column >= 0
        used, place = np.unique(trees.column[inner], return_inverse=True)
        column = trees.column.copy()
        column[inner] = place
        codes = tuple(self._cell(columns, j) for j in used.tolist())
        ways = trees.threshold, trees.left, trees.right, trees.missing_right, trees.roots
        return TreeSums(codes, column, *ways, scores.values, scores.base, scores.logs, scores.cover)

    def _cell(self, columns: ForestColumns, j: int) -> int:
        """Return the code that is the cell of a column: of a category, its level's place in the order of the cells."""
        d = len(columns.numbers)
        if j < d:
            cuts = columns.numbers[j].cuts
            return self._job.code(Bin(self.numbers[j], cuts), ("cell", j, cuts.tobytes()))
        known = columns.vocabulary[j - d]
        ordered = [known[level] for level in np.argsort(columns.order[j - d]).tolist()]
        return self._job.level(self._categories[j - d], ordered)

    def _scores(self) -> list[int]:
        found = []
        for j, (knots, z) in enumerate(self.columns.scores):
            curve = Interpolated(self.numbers[j], knots, z, *end_slopes(knots, z))
            found.append(self._job.reading(curve, ("score", j)))
        return found

    def _indicators(self) -> list[int]:
        found = []
        for j, (code, indicated) in enumerate(zip(self.codes, self.columns.indicators, strict=True)):
            keeps = MISSING not in indicated
            each = [(Indicator(code, int(level), keeps), ("indicator", j, int(level))) for level in indicated]
            found += [self._job.reading(reading, key) for reading, key in each]
        return found
