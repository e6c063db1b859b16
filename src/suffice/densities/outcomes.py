"""The distribution of a missing cell by class, given the known cells of its row.

Levels and small counts are all there are. The values of a number are the nodes of a quadrature: between points at fixed
distances from the centre of every class, in units of its scale, three nodes each (Gauss-Legendre), so that narrow
classes among wide ones have as many nodes as they need. Shares are divided by their sum in every class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from .._arrays import IN_MEMORY, Array, Codes, NDArray, gammaln, np, row_chunks, rows_within

NEAR = np.arange(-7.0, 7.5)  # scales from the centre, for tails like a Gaussian's
_AHEAD = np.array([0.4, 0.8, 1.3, 2.0, 3.0, 4.0, 5.5, 8.0, 12.0, 20.0, 35.0, 100.0, 300.0, 1e3, 1e4])
FAR = np.concatenate([-_AHEAD[::-1], [0.0], _AHEAD])  # for a Laplace, with its kink, and for a Student t
MOST_POINTS = 200  # between which there are nodes; of many classes every so many is left out
NODES = np.array([-np.sqrt(0.6), 0.0, np.sqrt(0.6)])
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0
MOST_COUNTS = 4096  # counts below it are listed one by one; beyond a Poisson is as smooth as a number
DRAWS = 128  # of every class, where a density can be drawn from and no more

Kernel = Callable[[Array, slice], Array]  # squared distances in scales (h, m, c) of some rows → log densities


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
    classes: Classes | None = None,
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


class Classes(NamedTuple):
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
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.where(value[:, None] > 0, value[:, None] * np.log(rate), 0.0)
    share = np.exp(power - rate - gammaln(value + 1.0)[:, None]) * width[:, None]
    return listed_outcomes(rows, column, value, share / share.sum(axis=0))


class Drawn(Protocol):
    """What is asked of a density that says no more of single cells."""

    def log_density(self, rows: Any) -> Array:
        """Return log p(x | k), (n, k)."""

    def sample(self, rows: Any, codes: Codes, rng: np.random.RandomState) -> Any:
        """Return the rows with missing cells drawn, in classes (n,)."""


def drawn_outcomes(density: Drawn, rows: Any, seed: int = 0) -> Iterator[Outcomes]:
    """Yield outcomes drawn from the density: as many values from every class, always the same ones.

    A value counts in a class by p(value, known cells | k) over its mean over the classes that values were drawn from,
    so that what is read off 128 k draws has a relative standard error of about 1 / √(128 k).
    """
    table, coded = (np.stack(rows, axis=1), True) if isinstance(rows, tuple) else (np.asarray(rows), False)
    missing = table < 0 if coded else np.isnan(table)
    k = np.asarray(density.log_density(rows)).shape[1]
    rng, d = np.random.RandomState(seed), table.shape[1]
    for part in row_chunks(len(table), rows_within(32 * DRAWS * k * (d + k), IN_MEMORY)):
        some = np.flatnonzero(missing[part].any(axis=1)) + part.start
        if not len(some):
            continue
        again = np.repeat(table[some], DRAWS * k, axis=0)
        codes = np.tile(np.arange(k), DRAWS * len(some))
        drawn = density.sample(_part(again, coded), codes, rng)
        drawn = np.stack(drawn, axis=1) if isinstance(drawn, tuple) else np.asarray(drawn)
        for j in np.flatnonzero(missing[some].any(axis=0)).tolist():
            own = np.flatnonzero(np.repeat(missing[some, j], DRAWS * k))
            filled = again[own].copy()
            filled[:, j] = drawn[own, j]
            rows_of = some[missing[some, j]]
            score = np.asarray(density.log_density(_part(filled, coded))).reshape(len(rows_of), -1, k)
            known = np.asarray(density.log_density(_part(table[rows_of], coded)))[:, None]
            yield Outcomes(rows_of, j, *_weighed(filled[:, j].reshape(len(rows_of), -1), score - known))


def _part(table: NDArray[Any], coded: bool) -> Any:
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
