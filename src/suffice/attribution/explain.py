"""Which column pushed towards which class: log posterior odds as a sum over columns, and over words of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from .._arrays import Array, Codes, Flags, np, pattern_groups, row_chunks, rows_within, single_blas_thread, sparse
from ..densities import Density, Diagonal, Full, Gaussian, LowRank, Mixture, Rows, as_density
from ..densities.counts import TextDensity
from ..joint import JointModel
from .shapley import (
    EXACT,
    EXACT_GAME,
    ORDERS,
    Chain,
    independent_terms,
    quadratic_terms,
    sample_orders,
    subset_game,
    subset_shares,
    subsets,
)

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
    (`joint.log_posterior`) have the limit of their log-odds.
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


def _impossible(found: Sequence[Explanation]) -> Iterator[Flags | None]:
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
        if isinstance(density.covariance, Diagonal):
            return Explanation(independent_terms(density, density.covariance, rows))
        return _of_gaussian(density, rows, orders, errors)
    return _game(density, rows, orders, errors)


def _centred(score: Array) -> Array:
    """Return scores (k, …) less their mean over classes, in place."""
    flat = score.reshape(len(score), -1)
    for part in row_chunks(flat.shape[1], rows_within(8 * len(flat))):
        flat[:, part] -= flat[:, part].mean(axis=0)
    return score


def _of_gaussian(density: Gaussian, rows: Array, orders: int | None, errors: bool) -> Explanation:
    """Return the contributions of correlated columns, rows that miss the same cells together."""
    whole = len(density.used)
    if whole == rows.shape[1] and not np.isnan(rows).any():
        return _complete(density, rows.astype(np.float64, copy=False), orders, errors)

    def answer(kept: list[int], cells: Array) -> Explanation:
        covariance = density.covariance if len(kept) == whole else density.covariance.marginal(kept)
        means = density.means[:, [density.used[j] for j in kept]]
        return _complete(Gaussian(means, covariance, tuple(range(len(kept)))), cells, orders, errors)

    return _by_pattern(len(density.means), density.used, rows, answer, errors)


def _complete(density: Gaussian, rows: Array, orders: int | None, errors: bool) -> Explanation:
    """Return centred contributions (k, n, d) of rows without missing cells, and the variance of sampled ones."""
    d = rows.shape[1]
    thin = isinstance(density.covariance, LowRank)
    if d <= EXACT or (d <= QUADRATIC and not thin and not errors):
        return Explanation(quadratic_terms(density, rows, orders or ORDERS))
    default = ORDERS if d <= QUADRATIC and not thin else FEW_ORDERS
    return _mean(*Chain.normal(density).in_orders(rows, sample_orders(d, orders or default), errors))


def _game(density: Density, rows: Any, orders: int | None, errors: bool) -> Explanation:
    """Return the contributions under a density known only by its marginals: a cell not looked at is a missing one."""
    table = np.stack(rows, axis=1) if isinstance(rows, tuple) else rows
    if table.shape[1] == 1:
        return Explanation(_centred(density.log_density(rows).T[:, :, None].copy()))
    missing = table == -1 if isinstance(rows, tuple) else np.isnan(table)
    d, chain = table.shape[1], Chain.of(density)
    if d <= EXACT_GAME and chain is not None and isinstance(chain.gaussian.covariance, Full):
        return _by_pattern(chain.k, chain.gaussian.used, table, partial(_by_subsets, chain), errors=False)
    if d > EXACT_GAME:
        every = sample_orders(d, orders or FEW_ORDERS)
        if chain is not None:
            return _mean(*chain.in_orders(table, every, errors))
        prefixes = density.prefixes(rows, every)
        if prefixes is not None:
            return _mean_of_orders(prefixes, every, errors)
    found = [_played(value, missing[part], orders, errors) for part, value in density.marginals(rows)]
    return _joined(found)


def _joined(found: Sequence[Explanation]) -> Explanation:
    """Return the contributions of the rows of several parts."""
    spread = [own.variance for own in found if own.variance is not None]
    score = np.concatenate([own.score for own in found], axis=1)
    return Explanation(score, None, np.concatenate(spread, axis=1) if spread else None)


def _played(value: Callable[[Codes], Array], missing: Flags, orders: int | None, errors: bool) -> Explanation:
    """Return the contributions of rows (n, d) in a game known by its values."""
    d = missing.shape[1]
    with single_blas_thread():  # once, not for each of many small evaluations
        if d > EXACT_GAME:
            every = sample_orders(d, orders or FEW_ORDERS)
            prefixes = (np.stack([value(order[: t + 1]).T for t in range(d)], axis=2) for order in every)
            return _mean_of_orders(prefixes, every, errors)
        score = np.ascontiguousarray(subset_game(value, d))
    score[:, missing] = 0.0  # exactly, not to rounding
    return Explanation(_centred(score))


def _mean_of_orders(prefixes: Iterable[Array], orders: Codes, errors: bool) -> Explanation:
    """Return the mean over orders of what each column adds to those before it, centred, and its variance if asked.

    `prefixes` are the log densities (k, n, d) of the first columns in each. Orders come in pairs, each the reverse of
    the other, whose errors tend to cancel: the error is that of pair means.
    """
    total, squares = np.zeros(()), np.zeros(()) if errors else None
    added = map(_added, prefixes, orders)
    for pair in map(np.add, added, added):
        total = total + pair
        if squares is not None:
            squares = squares + (0.5 * pair) ** 2
    return _mean(total, squares, len(orders))


def _added(prefixes: Array, order: Codes) -> Array:
    """Return what each column adds (k, n, d) in an order, less its mean over classes."""
    out = np.empty_like(prefixes)
    out[..., order] = np.diff(prefixes, axis=2, prepend=0.0)
    out -= out.mean(axis=0)
    return out


def _mean(total: Array, squares: Array | None, orders: int) -> Explanation:
    """Return the mean of sums over orders, and its variance if there are those of squares of means of pairs."""
    mean, pairs = total / orders, orders // 2
    spread = None if squares is None else np.maximum(squares / pairs - mean**2, 0.0) / max(pairs - 1, 1)
    return Explanation(mean, None, spread)


def _by_pattern(
    k: int, used: Sequence[int], rows: Array, answer: Callable[[list[int], Array], Explanation], errors: bool
) -> Explanation:
    """Return the contributions under densities of the used columns, rows that miss the same cells together.

    `answer` gives those of complete rows by some of the used columns, whose places among these it gets.
    """
    score = np.zeros((k, *rows.shape))
    variance = np.zeros(score.shape) if errors else None
    for seen, index in pattern_groups(~np.isnan(rows[:, list(used)])) if len(rows) else ():
        if not len(seen):
            continue
        place = index[:, None], np.array(used)[seen]
        found = answer(seen.tolist(), rows[place].astype(np.float64, copy=False))
        score[:, *place] = found.score
        if variance is not None and found.variance is not None:
            variance[:, *place] = found.variance
    return Explanation(score, None, variance)


def _by_subsets(chain: Chain, kept: list[int], cells: Array) -> Explanation:
    """Return the Shapley values of complete rows by some of the columns, all subsets of these added up."""
    chosen = subsets(len(kept))
    terms = chain.marginal(kept).subsets(cells, chosen)
    return Explanation(_centred(np.ascontiguousarray(np.tensordot(terms, subset_shares(chosen), (0, 0)))))


# ── Which words of a text speak for a class, and how much ─────────────────────────────────────────────────────────────


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


def words_added(blocks: Sequence[object], rows: Rows, positions: Sequence[Sequence[int]]) -> list[tuple[int, Words]]:
    """Return the columns of texts, by position, and what the words in rows add to the log densities of blocks."""
    found = []
    for density, part, places in zip(blocks, rows, positions, strict=True):
        for j, position in enumerate(places if isinstance(density, TextDensity) else ()):
            names, counts, nats = density.words_in(part, j)  # type: ignore[attr-defined]
            found.append((position, Words(counts.shape[0], names, [(counts, nats)])))
    return found
