"""Leave-one-out with some columns unknown.

Every subset of columns is a marginal of the joint density. Columns that are independent given the class add up, so that
each is left out once for all subsets; columns that depend on each other, as those of a full covariance, go by the
statistics of the subset, which are part of those of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from .._arrays import IN_MEMORY, Array, Codes, is_sparse, np, row_chunks, rows_within
from .._derived import once
from ..densities import Diagonal, Rows
from ..densities.density import take_columns
from ..errors import SettingError, quoted
from ..estimate import Block, Settings
from ..estimate.families import GaussianFamily
from ..joint import normalize
from ..kernels.observed import inverses
from ..notes import Note
from ..stats import GaussianStats, LowRankScatter, PatternStats, Statistic
from ..stats.counts import CodedColumns
from ..stats.subsets import of_columns
from .model import Learned, Parts, block_log_densities, log_priors, refits_needed
from .wishart import LEAST, LeftOut, Removal, WishartClasses, log_student


class ByColumns(Protocol):
    """Learned rows, each to be judged by what a model knows without it and by some of its cells."""

    @property
    def how(self) -> str:
        """How rows are left out, in words."""

    @property
    def by_others(self) -> Array | None:
        """The log posteriors (n, k) by all columns at settings that other rows chose; None where rows choose none."""

    def log_posterior(self, known: Sequence[int]) -> Array:
        """Return log p(class | cells in the `known` columns), (n, k) in nats."""

    def without(self, column: int | None) -> Array:
        """Return the same for all columns but one; for all of them if None."""


MOST_REFITS = 4000.0  # milliseconds, about, of refits for all subsets that leave out one column


def by_columns(learned: Learned, rows: Rows, codes: Codes, weight: Array, notes: Sequence[Note]) -> ByColumns | None:
    """Return what leaves rows out of the densities of any columns; None where that would take too many refits.

    `notes` tell what estimates repaired, which refits repeat for each row.
    """
    stats, settings = learned.statistics.blocks, learned.settings
    for block, own, each in zip(learned.blocks, settings, stats, strict=True):
        if _together(block, own) and not isinstance(each, GaussianStats | PatternStats):
            return None
    columns = sum(len(block.positions) for block in learned.blocks)
    thin = sum(float(own.column_weight()[:, 0].sum()) for own in stats if _is_thin(own)) * len(codes) / 100.0
    refits = (thin + refits_needed(learned, notes, len(codes))) * (columns + 1)
    return None if refits > MOST_REFITS else LeftOutByColumns(learned, rows, codes, weight)


def hides(block: Block, rows: Any) -> bool:
    """Return whether a cell of encoded rows of a block may be unknown while others of its row are known.

    Counts of one total cannot be missing, and sparse cells are not.
    """
    return bool(block.family.takes_missing) and not is_sparse(rows)


def check_apart(blocks: Sequence[Block], names: Sequence[str | int], rows: Rows) -> None:
    """Raise SettingError where some columns of encoded rows cannot be unknown while others are known."""
    for block, part in zip(blocks, rows, strict=False):
        if not hides(block, part):
            raise SettingError(
                f"Columns {quoted([names[p] for p in block.positions])} of the family {block.family.name!r} are counts "
                "of one total, of which none can be unknown while the others are not. Next: use another family for "
                "them, or judge columns by fitting to fewer of them."
            )


@dataclass(eq=False)
class LeftOutByColumns:
    """Learned rows, encoded by block, with their class numbers and weights (n,), and the model that learned them."""

    learned: Learned
    rows: Rows
    codes: Codes
    weight: Array

    how: ClassVar[str] = "exact leave-one-out"
    by_others: ClassVar[None] = None

    def log_posterior(self, known: Sequence[int]) -> Array:
        """Return log p(class | cells in the `known` columns), (n, k), of each row under the model of all others."""
        return self._normalized(self._by(number, known) for number in range(len(self.learned.blocks)))

    def without(self, column: int | None) -> Array:
        """Return the same for all columns but one, whose part is taken from that of its block; for all if None."""
        return self._normalized(self._all_but(number, column) for number in range(len(self.learned.blocks)))

    def _normalized(self, parts: Iterable[Parts]) -> Array:
        prior = log_priors(self.learned, self.codes, self.weight)
        order, score = np.zeros_like(prior), np.zeros_like(prior)
        for part in parts:
            order, score = order + part.order, score + part.score
        total = np.where(order > 0, -np.inf, score) + prior
        return normalize(total, prior, lambda some: (order[some], score[some] + prior[some]))

    def _by(self, number: int, known: Sequence[int]) -> Parts:
        """Return what the known columns of a block say."""
        block, settings = self.learned.blocks[number], self.learned.settings[number]
        wanted = set(known)
        columns = [j for j, position in enumerate(block.positions) if position in wanted]
        if len(columns) == len(block.positions):
            return self._once(number)
        if not columns:
            return Parts(np.zeros(1), np.zeros(1))
        if _together(block, settings):
            return self._of(number, columns)
        terms = [self._once(number, j) for j in columns]
        return Parts(np.sum([own.order for own in terms], axis=0), np.sum([own.score for own in terms], axis=0))

    def _all_but(self, number: int, column: int | None) -> Parts:
        """Return what the columns of a block say, but for one that may be among them."""
        block, settings = self.learned.blocks[number], self.learned.settings[number]
        if column is None or column not in block.positions:
            return self._once(number)
        if len(block.positions) == 1 or _together(block, settings):
            return self._by(number, [p for p in block.positions if p != column])
        whole, own = self._once(number), self._once(number, block.positions.index(column))
        return Parts(whole.order - own.order, whole.score - own.score)

    def _once(self, number: int, *columns: int) -> Parts:
        """Return what a column of a block says, or all of them if none is named; made once."""
        asked = columns or range(len(self.learned.blocks[number].positions))
        return once(self, (number, *columns), lambda: self._of(number, asked))

    def _of(self, number: int, columns: Sequence[int]) -> Parts:
        """Return the left-out log densities of the cells in some columns of a block."""
        block, rows, stats = self.learned.blocks[number], self.rows[number], self.learned.statistics.blocks[number]
        settings = self.learned.settings[number]
        if len(columns) < len(block.positions):
            found = of_columns(stats, columns)
            if found is None:
                rows = showing(rows, columns)
            else:
                rows, stats = _taken(rows, columns), found
                kept = None if settings.kept is None else settings.kept.in_columns(columns)
                settings = replace(settings, columns=tuple(settings.columns[j] for j in columns), kept=kept)
                block = Block(block.family, tuple(block.positions[j] for j in columns))
        order, score = block_log_densities(block, settings, stats, rows, self.codes, self.weight)
        return Parts(np.zeros_like(score) if order is None else order, score)


def _together(block: Block, settings: Settings) -> bool:
    """Return whether what the columns of a block say does not add up column by column."""
    if not isinstance(block.family, GaussianFamily):
        return False
    drawn = bool(settings.shrinkage.amount or settings.shrinkage.rule) or settings.prior is not None
    return block.family.structure is not Diagonal or drawn


def _is_thin(stats: Statistic) -> bool:
    """Return whether these are of fewer rows than columns, each of which a refit leaves out."""
    return isinstance(stats, GaussianStats | PatternStats) and isinstance(stats.complete.scatter, LowRankScatter)


def _taken(rows: Any, columns: Sequence[int]) -> Any:
    """Return some columns of encoded rows."""
    if isinstance(rows, CodedColumns):
        return rows._replace(levels=tuple(rows.levels[j] for j in columns), codes=tuple(rows.codes[j] for j in columns))
    return take_columns(rows, columns)


def showing(rows: Any, columns: Sequence[int]) -> Any:
    """Return encoded rows whose cells are missing but in some columns."""
    if isinstance(rows, CodedColumns):
        codes = [own if j in columns else np.full_like(own, -1) for j, own in enumerate(rows.codes)]
        return rows._replace(codes=tuple(codes))
    if not isinstance(rows, np.ndarray):
        return rows.showing(columns)
    found = np.full(rows.shape, np.nan)
    found[:, list(columns)] = rows[:, list(columns)]
    return found


# ── Gaussian classes under a normal-inverse-Wishart prior, by the cells that each row has ─────────────────────────────


def marginals(classes: WishartClasses, left: LeftOut, strength: float, sphere: float) -> Array:
    """Return log densities (n, k) of the cells that are not missing (NaN), each row left out, balanced."""
    out, width = np.zeros((len(left.rows), len(classes.stats.weight))), left.rows.shape[1]
    whole = np.flatnonzero(~np.isnan(left.rows).any(axis=1))
    if len(whole) and width:
        ((_, _, out[whole]),) = classes.path(left.take(whole), (strength,), (sphere,))
    for rows, some, removal, seen in _by_size(classes, left, width - 1):
        out[rows] = marginal_left_out(classes, some, removal, seen, strength, sphere)[..., 0]
    return out


def marginals_but_one(classes: WishartClasses, left: LeftOut, strength: float, sphere: float) -> Array:
    """Return log densities (p, n, k) of the cells that are not missing but one, each row left out, balanced."""
    out = np.repeat(marginals(classes, left, strength, sphere)[None], left.rows.shape[1], axis=0)
    for rows, some, removal, seen in _by_size(classes, left, left.rows.shape[1]):
        found = marginal_left_out(classes, some, removal, seen, strength, sphere, but_one=True)
        out[seen, rows[:, None]] = found.transpose(0, 2, 1)
    return out


def _by_size(classes: WishartClasses, left: LeftOut, most: int) -> Iterator[tuple[Codes, LeftOut, Removal, Codes]]:
    """Yield rows with equally many cells, up to `most`: numbers, these cells, removals, and columns (n, o)."""
    known, removal = ~np.isnan(left.rows), Removal.of(classes.stats.weight, left)
    count = known.sum(axis=1)
    for o in np.unique(count[(count > 0) & (count <= most)]):
        index = np.flatnonzero(count == o)
        for part in row_chunks(len(index), rows_within(8 * len(classes.stats.weight) * o * o, IN_MEMORY)):
            rows = index[part]
            seen = np.nonzero(known[rows])[1].reshape(len(rows), o)
            some = replace(left.take(rows), rows=np.take_along_axis(left.rows[rows], seen, axis=1))
            yield rows, some, removal.take(rows), seen


def marginal_left_out(
    classes: WishartClasses,
    left: LeftOut,
    removal: Removal,
    seen: Codes,
    strength: float,
    sphere: float,
    but_one: bool = False,
) -> Array:
    """Return log densities (n, k, 1) of cells (n, o) in the columns `seen` (n, o), each row left out, balanced.

    With `but_one` (n, k, o), each of them of all these cells but one: where Λ = M⁻¹, that of the rows and columns
    that are left is Λ − Λ_·j Λ_j· / Λ_jj. The formulas are those of `path`, on the blocks of the matrices that
    belong to the columns a row has; what an average row of another class would take away is known from traces, as
    Σ_j d_jᵀ M⁻¹ d_j = tr(M⁻¹ S).
    """
    o = seen.shape[1]
    freedom, endless = np.maximum(classes.freedom - left.removed, 1.0), bool(np.isinf(strength))
    square = seen[:, :, None], seen[:, None, :]
    base = classes.bases(square, sphere, freedom)[:, None]
    scatter = np.moveaxis(classes.stats.scatter.values[(slice(None), *square)], 0, 1)  # (n, k, o, o)
    matrix = base * freedom[:, None, None, None] if endless else strength * base + scatter
    inverse, log_det = inverses(matrix)
    means = np.moveaxis(classes.stats.mean[:, seen], 0, 1)  # (n, k, o)
    shift, own = left.rows[:, None] - means, left.rows - means[np.arange(len(seen)), left.codes]
    half, turned = np.matmul(inverse, own[:, None, :, None])[..., 0], np.matmul(inverse, shift[..., None])[..., 0]
    length, cross = np.einsum("nko,no->nk", half, own)[..., None], np.einsum("nko,nko->nk", half, shift)[..., None]
    far, size = np.einsum("nko,nko->nk", turned, shift)[..., None], np.einsum("nkii->nki", inverse)
    if but_one:
        length, cross, far = length - half**2 / size, cross - half * turned / size, far - turned**2 / size
        log_det, o = log_det + np.log(size), o - 1
    mine = (np.arange(means.shape[1]) == left.codes[:, None])[..., None]
    apart = removal.h, removal.stretch, removal.rest, left.removed
    h, stretch, rest, removed = (part[:, None, None] for part in apart)
    lighter = (1.0 - sphere) * (1.0 if endless else strength / freedom[:, None, None]) * h
    beta = lighter if endless else lighter + np.where(mine, h, 0.0)
    left_over = np.maximum(1.0 - beta * length, LEAST)
    stretch = np.where(mine, stretch, 1.0)
    squares = far * stretch**2 + beta * (cross * stretch) ** 2 / left_over
    log_dets = log_det + np.log(left_over)
    n, lost = classes.stats.weight[:, None], removal.usual
    weight = np.where(mine, rest, np.maximum(n, 0.5))
    if not endless:
        others = ~mine & (n > lost)
        fewer = np.where(n > lost, n - lost, 1.0)
        times = removed / lost if lost > 0 else np.zeros(removed.shape)
        trace = np.einsum("nkij,nkij->nk", inverse, scatter)[..., None]
        pulled = (np.matmul(scatter, turned[..., None])[..., 0] * turned).sum(axis=2, keepdims=True)
        if but_one:
            both, ratio = np.matmul(inverse, scatter), turned / size
            own_trace = np.einsum("nkij,nkji->nki", both, inverse)
            pulled = pulled - 2.0 * ratio * np.matmul(both, turned[..., None])[..., 0] + ratio**2 * own_trace
            trace = trace - own_trace / size
        usual = trace / np.maximum(n, 1e-300)
        kept = np.maximum(1.0 - lost * n / fewer * usual, LEAST)
        squares = squares + others * times * (lost / fewer / kept * pulled + usual * (lost / fewer) ** 2)
        log_dets = log_dets + others * times * np.log(kept)
        weight = np.maximum(weight - others * removed, 0.5)
    df = freedom[:, None, None] + 1.0 if endless else strength + weight + 1.0
    return log_student(squares, log_dets, weight, df, o)
