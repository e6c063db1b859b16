"""Which column pushed towards which class: log posterior odds as a sum over columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .._arrays import Array, Codes, NDArray, np, pattern_groups, row_chunks, rows_within
from ..densities import Density, Diagonal, Full, Gaussian, LowRank, Mixture, MultivariateT, Rows, Spherical, as_density
from ..densities.mixture import sum_within
from ..densities.student import log_t_constant, t_decay
from ..joint import JointModel
from .gaussian_terms import independent_terms, ordered_terms, quadratic_terms
from .shapley import EXACT, EXACT_GAME, ORDERS, OrderMean, sample_orders, subset_game

QUADRATIC = 48  # columns up to which sampled orders are added up to quadratic forms (d³ numbers) rather than by row
FEW_ORDERS = 64  # orders sampled beyond that, where each is one pass over the rows


class Explanation(NamedTuple):
    """What each column of a block adds, centred over classes (k, n, d) in nats, and how far it may be off.

    `order` (k, n, d) counts cells to which a class gives probability zero, None if there are none. `variance` (k, n, d)
    is the squared standard error of sampled values, None if exact or not asked for.
    """

    score: Array
    order: Array | None = None
    variance: Array | None = None


def contributions(
    model: JointModel,
    rows: Rows,
    positions: Sequence[Sequence[int]],
    *,
    orders: int | None = None,
    errors: bool = False,
) -> tuple[Array, Array | None]:
    """Return contributions (n, d, k) in nats and, if asked for, their standard errors (n, d, k).

    Contribution c_jk is the Shapley value of column j in the game v(S) = log p(x_S | k), less its mean over classes, so

        Σ_j (c_jk − c_jl) + log π_k − log π_l = log p(y = k | x) − log p(y = l | x)    for all classes k, l.

    `positions[b]` are the places of block b's columns among all d. Blocks are independent given the class, so a
    column's value is that within its block. A class that gives a cell probability zero has −∞ there, unless every
    class gives the row probability zero: then those that Bayes' rule answers in the limit of vanishing smoothing
    (`classify.log_posterior`) have the limit of their log-odds.
    """
    found = [explain_block(block, part, orders, errors) for block, part in zip(model.density.blocks, rows, strict=True)]
    for part, own in zip(_impossible(found), found, strict=True):
        if part is not None:
            own.score[part] = -np.inf
    d = sum(len(columns) for columns in positions)
    score = _assemble([own.score for own in found], positions, d)
    if not errors:
        return score, None
    variance = [np.zeros_like(own.score) if own.variance is None else own.variance for own in found]
    return score, np.sqrt(_assemble(variance, positions, d))


def _assemble(parts: Sequence[Array], positions: Sequence[Sequence[int]], d: int) -> Array:
    """Return the columns of all blocks in their places, (n, d, k)."""
    if len(parts) == 1 and list(positions[0]) == list(range(d)):
        return np.moveaxis(parts[0], 0, 2)
    out = np.empty((*parts[0].shape[:2], d))
    for part, columns in zip(parts, positions, strict=True):
        out[:, :, list(columns)] = part
    return np.moveaxis(out, 0, 2)


def _impossible(found: Sequence[Explanation]) -> Iterator[NDArray[np.bool_] | None]:
    """Yield by block where a class is ruled out (k, n, d), or None: it has more zeros than some other class."""
    counts = [own.order.sum(axis=2) for own in found if own.order is not None]
    if not counts:
        yield from (None for _ in found)
        return
    total = np.sum(counts, axis=0)
    ruled_out = total > total.min(axis=0)
    for own in found:
        yield None if own.order is None else (own.order > 0) & ruled_out[:, :, None]


def explain_block(density: object, rows: Any, orders: int | None, errors: bool) -> Explanation:
    """Return what each column of one block adds to the log density of each class."""
    density = as_density(density)
    if isinstance(density, Mixture) and len(density.owner) == density.k:
        density = density.components  # one component per class: the Gaussian itself
    terms = density.limit_terms(rows)
    if terms is not None:
        order, score = terms
        return Explanation(_centred(score), order if order is not None and order.any() else None)
    if isinstance(density, Gaussian):
        if isinstance(density.covariance, Diagonal | Spherical):
            return Explanation(independent_terms(density, density.covariance, rows))
        return _joint(density, rows, orders, errors)
    return _game(density, rows, orders, errors)


def _centred(score: Array) -> Array:
    """Return scores (k, …) less their mean over classes, in place."""
    flat = score.reshape(len(score), -1)
    for part in row_chunks(flat.shape[1], rows_within(8 * len(flat))):
        flat[:, part] -= flat[:, part].mean(axis=0)
    return score


def _joint(density: Gaussian, rows: Array, orders: int | None, errors: bool) -> Explanation:
    """Return the contributions of correlated columns, rows that miss the same cells together."""
    k, (n, d) = len(density.means), rows.shape
    if len(density.used) == d and not np.isnan(rows).any():
        score, error = _complete(density, rows.astype(np.float64, copy=False), orders, errors)
        return Explanation(score, None, error)
    score = np.zeros((k, n, d))
    variance = np.zeros(score.shape) if errors else None
    used = list(density.used)
    for index, kept in _patterns(rows[:, used]):
        if not kept:
            continue
        columns = [used[j] for j in kept]
        part = Gaussian(
            density.means[:, columns],
            density.covariance if len(kept) == len(used) else density.covariance.marginal(kept),
            tuple(range(len(kept))),
        )
        cells = rows[index][:, columns].astype(np.float64, copy=False)
        own, error = _complete(part, cells, orders, errors)
        _put(score, own, index, columns)
        if variance is not None and error is not None:
            _put(variance, error, index, columns)
    return Explanation(score, None, variance)


def _patterns(rows: Array) -> Iterator[tuple[Codes | slice, list[int]]]:
    """Yield (row numbers, observed columns) for each pattern of observed cells."""
    observed = ~np.isnan(rows)
    if observed.all():
        yield slice(None), list(range(rows.shape[1]))
        return
    for columns, index in pattern_groups(observed):
        yield index, columns.tolist()


def _put(out: Array, own: Array, index: Codes | slice, columns: Sequence[int]) -> None:
    if isinstance(index, slice) and len(columns) == out.shape[2]:
        out[...] = own
    else:
        rows = np.arange(out.shape[1])[index]
        out[:, rows[:, None], list(columns)] = own


def _complete(density: Gaussian, rows: Array, orders: int | None, errors: bool) -> tuple[Array, Array | None]:
    """Return centred contributions (k, n, d) of rows without missing cells, and the variance of sampled ones."""
    d = rows.shape[1]
    exact = d <= EXACT
    thin = isinstance(density.covariance, LowRank)
    if not thin and (exact or (d <= QUADRATIC and not errors)):
        return quadratic_terms(density, rows, orders or ORDERS), None
    if exact:
        dense = Full.factor(density.covariance.dense())
        return quadratic_terms(Gaussian(density.means, dense, density.used), rows, 1), None
    default = ORDERS if d <= QUADRATIC and not thin else FEW_ORDERS
    mean = OrderMean((len(density.means), *rows.shape), errors)
    for order in sample_orders(d, orders or default):
        mean.add(ordered_terms(density, rows, order))
    return mean.result()


def _game(density: Density, rows: Any, orders: int | None, errors: bool) -> Explanation:
    """Return the contributions under a density known only by its marginals: a cell not looked at is a missing one."""
    table = np.stack(rows, axis=1) if isinstance(rows, tuple) else rows
    if table.shape[1] == 1:
        return Explanation(_centred(density.log_density(rows).T[:, :, None].copy()))
    missing = table == -1 if isinstance(rows, tuple) else np.isnan(table)
    if table.shape[1] > EXACT_GAME and isinstance(density, Mixture | MultivariateT):
        return _mean_of_orders(table.shape[1], lambda order: _chain_terms(density, table, order), orders, errors)
    found = [_played(value, missing[part], orders, errors) for part, value in density.marginals(rows)]
    variance = None
    if found and found[0].variance is not None:
        variance = np.concatenate([np.asarray(own.variance) for own in found], axis=1)
    return Explanation(np.concatenate([own.score for own in found], axis=1), None, variance)


def _played(
    value: Callable[[Codes], Array], missing: NDArray[np.bool_], orders: int | None, errors: bool
) -> Explanation:
    """Return the contributions of rows (n, d) in a game known by its values."""
    d = missing.shape[1]
    if d > EXACT_GAME:
        return _mean_of_orders(d, lambda order: _steps(value, order), orders, errors)
    score = np.ascontiguousarray(subset_game(value, d))
    score[:, missing] = 0.0  # exactly, not to rounding
    return Explanation(_centred(score))


def _mean_of_orders(d: int, terms: Callable[[Codes], Array], orders: int | None, errors: bool) -> Explanation:
    """Return the mean over sampled orders of what each column adds (k, n, d)."""
    mean: OrderMean | None = None
    for order in sample_orders(d, orders or FEW_ORDERS):
        added = terms(order)
        mean = mean or OrderMean(added.shape, errors)
        mean.add(added)
    assert mean is not None
    return Explanation(mean.result()[0], None, mean.result()[1])


def _steps(value: Callable[[Codes], Array], order: Codes) -> Array:
    """Return v(columns up to j) − v(columns before j) in one order, (k, n, d)."""
    prefixes = [value(order[: t + 1]).T for t in range(len(order))]
    steps = np.diff(np.stack([np.zeros_like(prefixes[0]), *prefixes], axis=2), axis=2)
    out = np.empty(steps.shape)
    out[:, :, order] = steps
    return out


def _chain_terms(density: Mixture | MultivariateT, rows: Array, order: Codes) -> Array:
    """Return log p(x_j | the columns before j), (k, n, d), of densities made of squared distances, in one pass."""
    if isinstance(density, Mixture):
        inner, k = density.components, density.k
    else:
        inner = Gaussian(density.location, density.scale, density.used)
        k = len(inner.means)
    out = np.zeros((k, *rows.shape))
    used = list(inner.used)
    position = {c: i for i, c in enumerate(used)}
    path = [position[c] for c in order.tolist() if c in position]
    for index, kept in _patterns(rows[:, used]):
        seen = [j for j in path if j in set(kept)]
        if not seen:
            continue
        columns = [used[j] for j in seen]
        part = Gaussian(inner.means[:, columns], inner.covariance.marginal(seen), tuple(range(len(seen))))
        cells = rows[index][:, columns]
        prefix = (
            _mixture_prefix(density, part, cells)
            if isinstance(density, Mixture)
            else _student_prefix(density, part, cells)
        )
        _put(out, np.diff(prefix, axis=2, prepend=0.0), index, columns)
    return out


def _mixture_prefix(density: Mixture, part: Gaussian, cells: Array) -> Array:
    """Return log p(the first j columns | k), (k, n, d)."""
    order = np.arange(cells.shape[1])
    joint = ordered_terms(part, cells, order).cumsum(axis=2)
    scores = joint.reshape(len(joint), -1).T + density.log_weight
    return sum_within(scores, density.owner).T.reshape(density.k, *cells.shape)


def _student_prefix(density: MultivariateT, part: Gaussian, cells: Array) -> Array:
    """Return log p(the first j columns | k), (k, n, d)."""
    order = np.arange(cells.shape[1])
    center = np.einsum("kkd->kd", ordered_terms(part, part.means, order))  # what does not depend on the row
    squares = -2.0 * (ordered_terms(part, cells, order) - center[:, None]).cumsum(axis=2)
    prefix = center.cumsum(axis=1)[:, None] - 0.5 * np.log(density.inflation)[:, None, None] * (order + 1)
    prefix = np.repeat(prefix, len(cells), axis=1)
    for j in range(len(order)):
        inside = np.maximum(squares[:, :, j].T, 0.0) / density.inflation
        found = np.asarray(log_t_constant(density.df, j + 1) - t_decay(inside, density.df, j + 1))
        prefix[:, :, j] += found.T
    return prefix
