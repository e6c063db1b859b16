"""Members bound to their columns: log densities of mixed rows, new ones and ones to be left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from .._arrays import Array, Codes, np, row_chunks
from ..densities import MultivariateT
from ..leave_one_out.wishart import LeftOut, WishartMember
from .columns import SCORES, FrozenColumns, MixedRows
from .members.dependence import DependenceMember
from .members.levels import LevelMember
from .members.splines import HatMember
from .members.subclasses import SubclassDensity

CHUNK_CELLS = 1 << 21


@dataclass(frozen=True)
class Sample:
    """Rows to judge on: class numbers, the weight each is removed with, and the weight it stands for, all (n,).

    A row may stand for several equal ones: `removed` and `single` are those of one, `held` is the weight that all of
    them have in the statistics.
    """

    rows: MixedRows
    codes: Codes
    removed: Array
    weight: Array
    single: Array
    held: Array

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> Sample:
        weights = self.removed[index], self.weight[index], self.single[index], self.held[index]
        return Sample(self.rows[index], self.codes[index], *weights)

    def contents(self) -> list[tuple[bytes, ...]]:
        """Return the contents of the rows with their classes, by which learned ones are found again."""
        numbers = np.ascontiguousarray(np.nan_to_num(self.rows.numbers, nan=np.inf) + 0.0)
        whole = np.column_stack([*self.rows.levels, self.codes]).astype(np.int64)
        return [(cells.tobytes(), levels.tobytes()) for cells, levels in zip(numbers, whole, strict=True)]


class Scorer(Protocol):
    """What a member can be asked."""

    def scores(self, rows: MixedRows) -> Array:
        """Return log densities (n, k) of new rows, up to a number per row."""
        ...

    def left_out(self, sample: Sample) -> Array:
        """Return the same of learned rows, each left out."""
        ...


@dataclass(frozen=True)
class GaussianScorer:
    """One setting (a, γ) of the normal-inverse-Wishart member of one version of the Gaussian block."""

    columns: FrozenColumns
    version: str
    member: WishartMember
    strength: float
    sphere: float
    density: MultivariateT

    @classmethod
    def of(cls, columns: FrozenColumns, version: str, member: WishartMember, strength: float, sphere: float) -> Any:
        """Return the member at one setting."""
        return cls(columns, version, member, strength, sphere, member.density(strength, sphere))

    def cells(self, rows: MixedRows) -> Array:
        """Return the rows as the density reads them."""
        return self.columns.gaussian(self.version, rows)

    def scores(self, rows: MixedRows) -> Array:
        """Return log densities (n, k) of new rows."""
        return self.density.log_density(self.cells(rows))

    def left_out(self, sample: Sample) -> Array:
        """Return class-balanced log densities, missing cells integrated out."""
        cells = self.cells(sample.rows)
        return marginals(self.member, cells, sample.codes, sample.removed, sample.weight, self.strength, self.sphere)


def marginals(
    member: WishartMember, cells: Array, codes: Codes, removed: Array, weight: Array, strength: float, sphere: float
) -> Array:
    """Return log densities (n, k) of the cells (n, p) that are not missing, without the weight `removed` (n,)."""
    out = np.zeros((len(cells), len(member.stats.weight)))
    k, width = out.shape[1], cells.shape[1]
    count = (~np.isnan(cells)).sum(axis=1)
    for o in np.unique(count[count > 0]):
        index = np.flatnonzero(count == o)
        for part in row_chunks(len(index), max(1, CHUNK_CELLS // (k * o * o)) if o < width else len(index)):
            rows = index[part]
            seen = np.nonzero(~np.isnan(cells[rows]))[1].reshape(len(rows), o)
            own = np.take_along_axis(cells[rows], seen, axis=1)
            left = LeftOut(own, codes[rows], removed[rows], weight[rows])
            if o == width:
                ((_, _, out[rows]),) = member.path(left, (strength,), (sphere,))
            else:
                out[rows] = member.marginal_left_out(left, seen, strength, sphere)
    return out


@dataclass(frozen=True)
class HatScorer:
    """Hat functions of the numbers."""

    model: HatMember

    def scores(self, rows: MixedRows) -> Array:
        """Return log densities (n, k) of new rows."""
        return self.model.scores(rows.numbers)

    def left_out_columns(self, sample: Sample) -> Iterator[Array]:
        """Yield what each column adds, (n, k) each."""
        strength = (self.model.strength,)
        for part in self.model.left_out(sample.rows.numbers, sample.codes, sample.removed, strength):
            yield part[0]

    def left_out(self, sample: Sample) -> Array:
        """Return log densities (n, k) of learned rows, each left out."""
        return _sum(self.left_out_columns(sample))


@dataclass(frozen=True)
class LevelScorer:
    """Levels of the categories."""

    model: LevelMember

    def scores(self, rows: MixedRows) -> Array:
        """Return log densities (n, k) of new rows."""
        return self.model.scores(rows.levels)

    def left_out_columns(self, sample: Sample) -> Iterator[Array]:
        """Yield what each column adds, (n, k) each."""
        strength = (self.model.strength,)
        for part in self.model.left_out(sample.rows.levels, sample.codes, sample.removed, strength):
            yield part[0]

    def left_out(self, sample: Sample) -> Array:
        """Return log densities (n, k) of learned rows, each left out."""
        return _sum(self.left_out_columns(sample))


@dataclass(frozen=True)
class PairScorer:
    """One-dependence on one number of bins."""

    columns: FrozenColumns
    bins: int
    model: DependenceMember

    def scores(self, rows: MixedRows) -> Array:
        """Return log densities (n, k) of new rows."""
        return self.model.scores(self.columns.binned(self.bins, rows))

    def left_out(self, sample: Sample) -> Array:
        """Return log densities (n, k) of learned rows, each left out."""
        levels = self.columns.binned(self.bins, sample.rows)
        return self.model.left_out(levels, sample.codes, sample.removed, self.model.strength)


@dataclass(frozen=True)
class PartScorer:
    """Gaussians of the parts of each class, in normal scores."""

    columns: FrozenColumns
    used: Codes
    density: SubclassDensity

    def cells(self, rows: MixedRows) -> Array:
        """Return the rows as the density reads them."""
        return self.columns.gaussian(SCORES, rows)[:, self.used]

    def scores(self, rows: MixedRows) -> Array:
        """Return log densities (n, k) of new rows."""
        return self.density.log_density(self.cells(rows))

    def left_out(self, sample: Sample) -> Array:
        """Return log densities of rows the parts were not made of, as only those of the sample are."""
        return self.scores(sample.rows)


def _sum(parts: Iterator[Array]) -> Array:
    """Return the sum of arrays of which one at a time is there."""
    total = next(parts).copy()
    for part in parts:
        total += part
    return total
