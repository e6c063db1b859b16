"""What a class-conditional density of one block of columns is asked, and the product of those of independent blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from .._arrays import (
    IN_MEMORY,
    Array,
    Codes,
    Flags,
    NDArray,
    gammaln,
    is_sparse,
    log_of,
    ndtr,
    ndtri,
    np,
    row_chunks,
    rows_within,
    sparse,
    stdtr,
    stdtrit,
    xlogy,
)
from .._arrays_api import DeviceArray, blocks, fetch, is_device_array, put, take
from .._foreign import Foreign
from ..schema import Level

# ── Numbers within ranges: how probable that is by class, and draws of them, where a class has a closed form ──────────


class Within(NamedTuple):
    """What is known of rows (m, d) whose missing numbers are to lie within ranges.

    `log_mass` (m, k) is log p(numbers of `columns` within their ranges | known cells, class) in nats; of ranges of
    other columns nothing is said. `draw(index, codes, rng)` returns rows of these numbers (n,) and classes (n,) with
    the cells of `columns`, and others perhaps, drawn given that they lie there.
    """

    log_mass: Array
    columns: tuple[int, ...]
    draw: Callable[[Codes, Codes, np.random.RandomState], Any]


def bells_within(
    rows: Array, low: Array, high: Array, center: Array, scale: Array, df: Array, *, independent: bool
) -> Within | None:
    """Return what is known of rows whose missing cells are Student t's by class, given the known ones.

    `center`, `scale` and `df` broadcast to (m, d, k), ∞ degrees of freedom are a Gaussian, and a `scale` of NaN is no
    law. Unless columns are `independent`, it is of the one that is least probable to lie within its range.
    """
    scale = np.broadcast_to(scale, (*rows.shape, scale.shape[-1]))
    asked = np.flatnonzero((np.isfinite(low) | np.isfinite(high)) & np.isfinite(scale).all(axis=(0, 2)))
    if not len(asked):
        return None
    center, df = (np.broadcast_to(own, scale.shape)[:, asked] for own in (center, df))
    scale, low, high = scale[:, asked], low[asked], high[asked]
    begin, end = ((own[:, None] - center) / scale for own in (low, high))
    sign = np.where(begin > 0, -1.0, 1.0)  # the upper tail is looked at from below, where its digits are
    below = _student_cdf(np.where(sign > 0, begin, -end), df)
    mass = _student_cdf(np.where(sign > 0, end, -begin), df) - below
    some = np.arange(len(asked)) if independent else mass.mean(axis=(0, 2)).argmin(keepdims=True)

    def draw(index: Codes, codes: Codes, rng: np.random.RandomState) -> Array:
        out, at = rows[index], (index[:, None], some, codes[:, None])
        share = below[at] + rng.random_sample((len(index), len(some))) * mass[at]
        z = sign[at] * np.where(np.isinf(df[at]), ndtri(share), stdtrit(df[at], share))
        out[:, asked[some]] = np.clip(center[at] + scale[at] * z, low[some], high[some])
        return out

    return Within(log_of(mass[:, some]).sum(axis=1), tuple(asked[some].tolist()), draw)


def _student_cdf(z: Array, df: Array) -> Array:
    """Return the distribution function of Student t's, of ∞ degrees of freedom the Gaussian one."""
    endless = np.isinf(df)
    return np.where(endless, ndtr(z), stdtr(np.where(endless, 1.0, df), z))


# ── What a missing cell may hold, by class; and what every density is asked ───────────────────────────────────────────


NEAR = np.arange(-7.0, 7.5)  # scales from the centre, for tails like a Gaussian's
_AHEAD = np.array([0.4, 0.8, 1.3, 2.0, 3.0, 4.0, 5.5, 8.0, 12.0, 20.0, 35.0, 100.0, 300.0, 1e3, 1e4])
FAR = np.concatenate([-_AHEAD[::-1], [0.0], _AHEAD])  # for a Laplace, with its kink, and for a Student t
MOST_POINTS = 200  # between which there are nodes; of many classes every so many is left out
NODES = np.array([-np.sqrt(0.6), 0.0, np.sqrt(0.6)])  # of Gauss and Legendre, in [−1, 1]
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0  # which sum to 1
MOST_COUNTS = 4096  # counts below it are listed one by one; beyond a Poisson is as smooth as a number
OUTCOME_DRAWS = 128  # of every class, where a density can be drawn from and no more

Kernel = Callable[[Array, slice], Array]  # squared distances in scales (h, m, c) of some rows → log densities
Limit = tuple[Array, Array]  # order and log coefficient: a density is coefficient · α^order as the smoothing α → 0


class Outcomes(NamedTuple):
    """Values of the missing cell of column `column` in the rows `rows` (h,), by class.

    `value` (h, m) ascends for numbers; codes of levels are given as floats. `share` (h, m, k) sums to 1 over the
    values in every class. Both have h = 1 where they are the same in all rows.
    """

    rows: Codes
    column: int
    value: Array
    share: Array


def number_outcomes(
    index: Codes,
    column: int,
    center: Array,
    scale: Array,
    ladder: Array,
    kernel: Kernel,
    classes: ClassComponents | None = None,
) -> Iterator[Outcomes]:
    """Yield what a number may hold in rows (h,) whose classes lie at `center` with `scale`, (h, c) each.

    `kernel` is the log density by the squared distance in scales, up to a constant of each class; with `classes` there
    are c components of k classes.
    """
    nodes = 3 * min(center.shape[1] * len(ladder), MOST_POINTS)
    for part in row_chunks(len(center), rows_within(32 * nodes * center.shape[1], IN_MEMORY)):
        value, width = _nodes(center[part], scale[part], ladder)
        log_share = kernel(((value[:, :, None] - center[part, None]) / scale[part, None]) ** 2, part)
        log_share -= log_share.max(axis=1, keepdims=True)
        share = np.exp(log_share) * width[:, :, None]
        share /= share.sum(axis=1, keepdims=True)
        if classes is not None:
            share = classes.summed(share, part)
        yield Outcomes(index[part] if len(center) == len(index) else index, column, value, share)


class ClassComponents(NamedTuple):
    """The components of classes: where each class begins among them, and p(component | class, row) (h, m)."""

    starts: Codes
    weight: Array

    def summed(self, share: Array, part: slice) -> Array:
        """Return the shares (h, values, k) of classes from those of components (h, values, m)."""
        return np.asarray(np.add.reduceat(share * self.weight[part, None], self.starts, axis=2))


def gaussian_kernel(squares: Array, rows: slice) -> Array:
    """Return log exp(−q / 2)."""
    return -0.5 * squares


def _nodes(center: Array, scale: Array, ladder: Array) -> tuple[Array, Array]:
    """Return ascending nodes (h, m) and their weights, for classes of these centres and scales (h, c)."""
    points = (center[:, :, None] + scale[:, :, None] * ladder).reshape(len(center), -1)
    points.sort(axis=1)
    if points.shape[1] > MOST_POINTS:
        points = points[:, np.linspace(0, points.shape[1] - 1, MOST_POINTS).round().astype(np.int64)]
    half = 0.5 * np.diff(points, axis=1)
    value = (points[:, :-1] + half)[:, :, None] + half[:, :, None] * NODES
    width = half[:, :, None] * WEIGHTS
    return value.reshape(len(center), -1), width.reshape(len(center), -1)


def listed_outcomes(rows: Codes, column: int, value: NDArray[np.generic], share: Array) -> Outcomes:
    """Return outcomes that are the same in all rows: values (m,) with shares (m, k)."""
    return Outcomes(rows, column, np.asarray(value, dtype=np.float64)[None], share[None])


def count_outcomes(rows: Codes, column: int, rate: Array) -> Outcomes:
    """Return the counts of Poisson laws of mean `rate` (k,): each by itself, nodes of a quadrature for large ones."""
    top = float((rate + 10.0 * np.sqrt(rate) + 20.0).max())
    value = np.arange(min(np.ceil(top), MOST_COUNTS) + 1.0)
    width = np.ones(len(value))
    if top > MOST_COUNTS:
        more, its_width = _nodes(rate[None], np.sqrt(rate[None]) + 1.0, NEAR)
        large = more[0] > MOST_COUNTS
        value, width = np.append(value, more[0][large]), np.append(width, 2.0 * its_width[0][large])
    share = np.exp(xlogy(value[:, None], rate) - rate - gammaln(value + 1.0)[:, None]) * width[:, None]
    return listed_outcomes(rows, column, value, share / share.sum(axis=0))


class Drawn(Protocol):
    """What is asked of a density that says no more of single cells."""

    def log_density(self, rows: Any) -> Array:
        """Return log p(x | k), (n, k)."""

    def sample(self, rows: Any, codes: Codes, rng: np.random.RandomState) -> Any:
        """Return the rows with missing cells drawn, in classes (n,)."""


def drawn_outcomes(density: Drawn, rows: Any) -> Iterator[Outcomes]:
    """Yield outcomes drawn from the density: as many values from every class, always the same ones.

    A value counts in a class by p(value, known cells | k) over its mean over the classes that values were drawn from,
    so that what is read off 128 k draws has a relative standard error of about 1 / √(128 k).
    """
    table, coded = (np.stack(rows, axis=1), True) if isinstance(rows, tuple) else (np.asarray(rows), False)
    missing = table < 0 if coded else np.isnan(table)
    k = np.asarray(density.log_density(rows)).shape[1]
    rng, d = np.random.RandomState(0), table.shape[1]
    for part in row_chunks(len(table), rows_within(32 * OUTCOME_DRAWS * k * (d + k), IN_MEMORY)):
        some = np.flatnonzero(missing[part].any(axis=1)) + part.start
        if not len(some):
            continue
        again = np.repeat(table[some], OUTCOME_DRAWS * k, axis=0)
        codes = np.tile(np.arange(k), OUTCOME_DRAWS * len(some))
        drawn = density.sample(_as_rows(again, coded), codes, rng)
        drawn = np.stack(drawn, axis=1) if isinstance(drawn, tuple) else np.asarray(drawn)
        for j in np.flatnonzero(missing[some].any(axis=0)).tolist():
            own = np.flatnonzero(np.repeat(missing[some, j], OUTCOME_DRAWS * k))
            filled = again[own].copy()
            filled[:, j] = drawn[own, j]
            rows_of = some[missing[some, j]]
            score = np.asarray(density.log_density(_as_rows(filled, coded))).reshape(len(rows_of), -1, k)
            known = np.asarray(density.log_density(_as_rows(table[rows_of], coded)))[:, None]
            yield Outcomes(rows_of, j, *_weighed(filled[:, j].reshape(len(rows_of), -1), score - known))


def _as_rows(table: NDArray[Any], coded: bool) -> Any:
    return tuple(table.T) if coded else table


def _weighed(value: Array, log_share: Array) -> tuple[Array, Array]:
    """Return drawn values (h, m) in order, and by class their importance (h, m, k)."""
    log_share = np.where(np.isnan(log_share), -np.inf, log_share)
    most = log_share.max(axis=2, keepdims=True)
    share = np.exp(log_share - np.where(np.isfinite(most), most, 0.0))
    share /= np.maximum(share.sum(axis=2, keepdims=True), 1e-300)
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    order = np.argsort(value, axis=1, kind="stable")
    return np.take_along_axis(value, order, axis=1).astype(np.float64), np.take_along_axis(
        share, order[:, :, None], axis=1
    )


class Density(ABC):
    """p(x | k) of k classes: `log_density` is owed; what may stay as it is here is said at each verb."""

    __slots__ = ()

    @abstractmethod
    def log_density(self, rows: Any) -> Array:
        """Return log p(x | k), (n, k) in nats; a missing cell is integrated out, so that it contributes nothing."""

    def leading_log_density(self, rows: Any, offset: Array) -> Array:
        """Return log p(x | k), (n, k), or more for classes that cannot matter to a row's posteriors.

        `offset` plus it is the log joint, with an offset (k,), or (n, k) by row. The classes for which more is returned
        share less than 1e-17 of a row's probability, all of them together, even so. By default there are none.
        """
        return self.log_density(rows)

    def log_density_there(self, rows: Any) -> DeviceArray:
        """Return the log densities of rows on another device, there; by default they are scored here and sent back."""
        found: DeviceArray = put(
            np.concatenate([self.log_density(fetch(rows[part, ...])) for part in blocks(rows)]), rows
        )
        return found

    def limit(self, rows: Any) -> Limit:
        """Return (order, log coefficient), (n, k) each, see `Categorical.limit`; order 0 where it is never zero."""
        score = self.log_density(rows)
        return np.zeros_like(score), score

    def terms(self, rows: Any) -> Array | None:
        """Return what each column adds to the log density, (k, n, d) in nats; None where they are not independent."""
        return None

    def limit_terms(self, rows: Any) -> tuple[Array | None, Array] | None:
        """Return the same as order, None where no density is zero, and log coefficient, (k, n, d) each; or None."""
        found = self.terms(rows)
        return None if found is None else (None, found)

    def marginal(self, columns: Sequence[int]) -> Density | None:
        """Return the density of some of the columns; None where it has no form of its own."""
        return None

    def marginals(self, rows: Any) -> Iterator[tuple[slice, Callable[[Codes], Array]]]:
        """Yield parts of the rows, each with a function from column numbers to their log density there alone (n, k)."""
        coded = isinstance(rows, tuple)
        table = np.stack(rows, axis=1) if coded else rows

        def value(columns: Codes) -> Array:
            part = np.full(table.shape, -1 if coded else np.nan)
            part[:, columns] = table[:, columns]
            return np.asarray(self.log_density(_as_rows(part, coded)))

        yield slice(0, len(table)), value

    def in_ways(self, rows: Any, known: Array) -> Array:
        """Return log densities (m, n, k) of complete rows in some columns alone, m times: 1 in `known` (m, d), else 0.

        Asked where `has_ways`: of a density for which many ways together take less than each by itself.
        """
        raise NotImplementedError

    def prefixes(self, rows: Any, orders: Codes) -> Iterator[Array] | None:
        """Yield log p(the first 1, 2, … columns | k), (k, n, d), for each of some orders of the columns (·, d).

        None where each is to be asked for by itself.
        """
        return None

    def center(self) -> Array | None:
        """Return where each class is densest (k, d), its mean or location; None where rows have no such place."""
        return None

    def condition(self, rows: Any, posterior: Array) -> object:
        """Return the rows with each missing cell at its mean, or its most probable category, given the observed ones.

        Classes count by `posterior` (n, k), which may be that of a few rows only: callers pass rows in chunks. Observed
        cells come back as they are.
        """
        raise NotImplementedError

    def sample(self, rows: Any, codes: Codes, rng: np.random.RandomState) -> object:
        """Return the rows with each missing cell drawn from p(missing | observed, class), for class numbers (n,).

        A row without any observed cell is a new one.
        """
        raise NotImplementedError

    def within(self, rows: Array, low: Array, high: Array) -> Within | None:
        """Return what is known of rows (m, d) whose missing numbers lie within [low, high], (d,) each; see `Within`.

        Ends without a limit are infinite. By default nothing is known (None), and rows are drawn until they lie there.
        """
        return None

    def outcomes(self, rows: Any) -> Iterator[Outcomes]:
        """Yield what each missing cell may hold by itself, with p(value | known cells of the block, class).

        A column that never varies may be left out. By default values are drawn.
        """
        return drawn_outcomes(self, rows)

    @property
    def has_leading(self) -> bool:
        """Whether `leading_log_density` measures fewer classes than `log_density`, of many rows at least."""
        return False

    @property
    def has_ways(self) -> bool:
        """Whether there is `in_ways`, and rows that miss cells in many ways are best asked together, too."""
        return False

    @property
    def has_outcomes(self) -> bool:
        """Whether single missing cells have a law."""
        return type(self).outcomes is not Density.outcomes or self.can_sample

    @property
    def can_condition(self) -> bool:
        """Whether there is a `condition`."""
        return type(self).condition is not Density.condition

    @property
    def can_sample(self) -> bool:
        """Whether there is a `sample`."""
        return type(self).sample is not Density.sample

    def log_prior(self) -> float:
        """Return the log of the prior on the parameters that smoothing stands for, up to a constant, in nats.

        EM with missing labels climbs the likelihood times this.
        """
        return 0.0

    def parameters(self, j: int) -> dict[str, Array]:
        """Return the parameters of column j by class, {name: (k,)}, where they are of one column; else none."""
        return {}

    def column_levels(self, j: int) -> Sequence[Level] | None:
        """Return the levels that the codes of column j number; None for numbers."""
        return None

    @property
    def kind(self) -> str:
        """What messages call it."""
        return type(self).__name__


Draw = Callable[[np.random.RandomState], Density]  # of parameters


class ForeignDensity(
    Foreign, Density, log_density=np.asarray, marginal=lambda found: None if found is None else as_density(found)
):
    """A density that does not inherit from `Density`, with what it lacks added."""

    __slots__ = ()

    def center(self) -> Array | None:
        found = self.offered("location")
        return None if found is None else np.asarray(found)

    @property
    def has_outcomes(self) -> bool:
        return self.offered("outcomes") is not None or self.can_sample

    @property
    def can_condition(self) -> bool:
        return self.offered("condition") is not None

    @property
    def can_sample(self) -> bool:
        return self.offered("sample") is not None

    def column_levels(self, j: int) -> Sequence[Level] | None:
        found = self.offered("levels")
        return None if found is None else found[j]

    @property
    def kind(self) -> str:
        return type(self.given).__name__


def as_density(given: object) -> Density:
    """Return a density with every verb, whoever wrote it; one that inherits from `Density` as it is."""
    return given if isinstance(given, Density) else ForeignDensity(given)  # type: ignore[abstract]


# ── Independent blocks of columns: the joint density of naive Bayes and of every mixed table ──────────────────────────


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
            extra, coefficient = block.limit(take(part, chosen))
            order, score = order + extra, score + coefficient
        return np.asarray(order), np.asarray(score)


def _log_density(block: Density, part: Any) -> Any:
    return block.log_density_there(part) if is_device_array(part) else block.log_density(part)


def take_columns(part: Part, columns: Sequence[int]) -> Part:
    """Return some columns of a block."""
    return tuple(part[j] for j in columns) if isinstance(part, tuple) else part[:, list(columns)]


def missing_cells(part: Any) -> Flags | None:
    """Return which cells of a block are missing (n, d), or None where nothing can be (a sparse matrix)."""
    if isinstance(part, tuple):
        return np.column_stack([column < 0 for column in part])
    return None if is_sparse(part) else np.isnan(part)


def has_holes(part: object) -> bool:
    """Return whether any cell of a block is missing."""
    missing = missing_cells(part)
    return missing is not None and bool(missing.any())
