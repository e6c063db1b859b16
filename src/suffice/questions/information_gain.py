"""What knowing each missing cell of a row is expected to tell of its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._arrays import IN_MEMORY, Array, Codes, Flags, ndtr, np, row_chunks, rows_within, xlogy
from ..densities.density import Outcomes, missing_cells
from ..errors import DataError, SettingError, quoted
from ..fitted import Fitted
from ..schema import Level, Schema
from ..stats.rows import take_blocks
from .recorded import ByBlock, recorded

MOST_LEVELS = 64  # of a category that a pool is asked about: the most probable ones
TOGETHER = 1 << 15  # rows that a pool is asked about at once, or a few more
LEAST_ROWS = 256  # whose missing cells are asked about together

Parts = Sequence[Any]  # rows, one part for each block


def information_gain(fitted: Fitted, X: object, costs: object) -> Array:
    """Return by row and column of the model the expected gain (n, d) in nats, divided by the costs of the columns."""
    price = read_costs(costs, fitted.schema)
    table, order = fitted.aligned(X)
    out = np.zeros((table.rows, len(fitted.schema)))
    asked = fitted.joint_value
    encoded = asked.encode(table, order)
    rows = asked.recoded(encoded)
    read = rows if asked is fitted else fitted.recoded(fitted.encode(table, order))
    _check_laws(asked, rows)
    masks = [mask for mask in map(missing_cells, rows) if mask is not None and mask.any()]
    if not masks or len(fitted.statistics.classes) == 1:
        return out
    holed = np.flatnonzero(np.any([mask.any(axis=1) for mask in masks], axis=0))
    first, place = _distinct(take_blocks(rows, holed))
    missing = int(sum(mask.sum(axis=1) for mask in masks).max())
    shared = 8 * len(fitted.statistics.classes) * missing**2  # bytes that each Gaussian of a pool makes of a row
    parts = [holed[first[part]] for part in row_chunks(len(first), rows_within(shared, IN_MEMORY, least=LEAST_ROWS))]
    gain = [_gains(fitted, asked, *(take_blocks(own, some) for own in (rows, read))) for some in parts]
    out[holed] = np.concatenate(gain)[place] / price
    return out


def _gains(fitted: Fitted, asked: Fitted, rows: Parts, read: Parts) -> Array:
    """Return the gains (n, d) of rows, as the joint model reads them and as the model that gives posteriors does."""
    posterior = np.exp(fitted.log_posterior(read))
    posterior /= posterior.sum(axis=1, keepdims=True)
    out = np.zeros((len(posterior), len(fitted.schema)))
    if fitted.pool is None:
        for b, found in _outcomes(asked, rows):
            share = information(posterior[found.rows], found.share)
            out[found.rows, asked.blocks[b].positions[found.column]] = share
        return out
    for batch in _batches(_fills(asked, rows, posterior)):
        for filled, after in zip(batch, _ask(fitted, read, batch), strict=True):
            share = shares_by_posteriors(filled.weight, after)
            out[filled.rows, filled.position] = information(posterior[filled.rows], share)
    return out


def _outcomes(asked: Fitted, rows: Parts) -> Iterator[tuple[int, Outcomes]]:
    """Yield the number of a block, and what some missing cells of one of its columns may hold."""
    for b, density in enumerate(asked.joint.density.blocks):
        missing = missing_cells(rows[b])
        if missing is not None and missing.any():
            yield from ((b, found) for found in density.outcomes(rows[b]))


class _Filled(NamedTuple):
    """Values (h, m) put into missing cells of a column in some rows, and their weights: numbers, or codes of levels."""

    rows: Codes
    position: int
    levels: Sequence[Level] | None
    value: Array
    weight: Array


def _fills(asked: Fitted, rows: Parts, posterior: Array) -> Iterator[_Filled]:
    """Yield what a pool, whose posteriors are given, is asked about for rows as the joint model reads them."""
    kept = recorded(asked)
    for b, found in _outcomes(asked, rows):
        levels, own = asked.joint.density.blocks[b].column_levels(found.column), posterior[found.rows]
        some = _few_numbers(found, own, kept, b) if levels is None else _few_levels(found, own)
        yield _Filled(found.rows, asked.blocks[b].positions[found.column], levels, *some)


def _batches(fills: Iterator[_Filled]) -> Iterator[list[_Filled]]:
    """Yield what is asked at once: numbers of several columns, as a call costs much; categories one by one."""
    waiting: list[_Filled] = []
    for filled in fills:
        if filled.levels is not None:
            yield [filled]
            continue
        waiting.append(filled)
        if sum(own.value.size for own in waiting) >= TOGETHER:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _ask(fitted: Fitted, read: Parts, batch: list[_Filled]) -> list[Array]:
    """Return p(class | row with the value) (h, m, k) of every part of a batch."""
    order, block = {p: j for j, p in enumerate(fitted.blocks[-1].positions)}, read[-1]
    again = np.concatenate([np.repeat(own.rows, own.value.shape[1]) for own in batch])
    column = np.repeat([order[own.position] for own in batch], [own.value.size for own in batch])
    value = np.concatenate([own.value.reshape(-1) for own in batch])
    part = block[again].with_cells(column, value, batch[0].levels)  # all columns, as the members read them
    found = np.exp(fitted.log_posterior([part]))
    parts = np.split(found, np.cumsum([own.value.size for own in batch])[:-1])
    return [own.reshape(*filled.value.shape, -1) for own, filled in zip(parts, batch, strict=True)]


def _few_numbers(found: Outcomes, posterior: Array, kept: ByBlock | None, b: int) -> tuple[Array, Array]:
    """Return a few values (h, VALUES) that stand for all a number may hold, as the table records it, and weights."""
    block, weight = None if kept is None else kept[b], _weights(found, posterior)
    own = None if block is None else block.column(found.column)

    def nearest(value: Array) -> Array:
        return value if own is None else own.nearest(value.reshape(-1, 1)).reshape(value.shape)

    value, share = representatives(found.value, weight)
    value = nearest(value)
    if found.value.shape[1] <= VALUES or (own is not None and not np.isnan(own.step[0])):
        every = np.broadcast_to(nearest(found.value), weight.shape)
        few, listed, its_share = distinct_values(every, weight)
        value[few], share[few] = listed, its_share
    return value, share


def _few_levels(found: Outcomes, posterior: Array) -> tuple[Array, Array]:
    """Return the codes (h, m) of the most probable levels, and their weights."""
    weight = _weights(found, posterior)
    value = np.broadcast_to(found.value, weight.shape)
    if weight.shape[1] > MOST_LEVELS:
        most = np.sort(np.argpartition(-weight, MOST_LEVELS, axis=1)[:, :MOST_LEVELS], axis=1)
        value, weight = np.take_along_axis(value, most, axis=1), np.take_along_axis(weight, most, axis=1)
    return value, weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)


def _weights(found: Outcomes, posterior: Array) -> Array:
    """Return p(value | known) (h, m): what the joint model expects in each class, by the posterior of the pool."""
    if len(found.share) == 1:
        return np.asarray(posterior @ found.share[0].T)
    return np.asarray(np.einsum("hk,hmk->hm", posterior, found.share))


def _distinct(rows: Parts) -> tuple[Codes, Codes]:
    """Return the numbers of rows that differ, and for each row its place among them."""
    found = [np.column_stack(part) if isinstance(part, tuple) else part for part in rows]
    dense = [part for part in found if isinstance(part, np.ndarray)]
    if len(dense) < len(rows):
        every = np.arange(len(dense[0]))
        return every, every
    table = np.ascontiguousarray(np.column_stack([part.astype(np.float64) for part in dense]))
    whole = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).reshape(-1)
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    return first, place.reshape(-1)


def _check_laws(asked: Fitted, rows: Parts) -> None:
    """Raise DataError naming columns of which a single missing cell has no law."""
    names = asked.schema.names
    for block, part, density in zip(asked.blocks, rows, asked.joint.density.blocks, strict=True):
        mask = missing_cells(part)
        if mask is not None and mask.any() and not density.has_outcomes:
            own = [names[p] for p, hole in zip(block.positions, np.asarray(mask.any(axis=0)), strict=True) if hole]
            raise DataError(
                f"The family {block.family.name!r} of {quoted(own)} has no law of a single cell, so nothing says what "
                "knowing it would tell. Next: leave these columns complete, or give them another family."
            )


def outcomes_of_nothing(fitted: Fitted) -> Iterator[tuple[int, Outcomes]]:
    """Yield what each column, by its position, may hold in a row without a known cell."""
    asked = fitted.joint_value
    for block, density in zip(asked.blocks, asked.joint.density.blocks, strict=True):
        coded, d = density.column_levels(0) is not None and len(asked.blocks) > 1, len(block.positions)
        empty: Any = (np.full(1, -1),) * d if coded else np.full((1, d), np.nan)
        for found in density.outcomes(empty) if density.has_outcomes else ():
            yield block.positions[found.column], found


def read_costs(costs: object, schema: Schema) -> Array:
    """Return the cost of each column (d,), 1 where none is given; SettingError for what cannot be one."""
    d = len(schema)
    if costs is None:
        return np.ones(d)
    if isinstance(costs, Mapping):
        unknown = [name for name in costs if name not in schema.names]
        if unknown:
            raise SettingError(
                f"costs names {quoted(unknown)}, which the model has no column of; its columns are "
                f"{quoted(schema.names)}. Next: correct the names."
            )
        given: Any = [costs.get(name, 1.0) for name in schema.names]
    else:
        given = costs
    try:
        price = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        price = np.zeros(0)
    if price.shape != (d,) or not _positive(price).all():
        wrong = [name for name, good in zip(schema.names, _positive(price), strict=False) if not good]
        which = f"; not so: {quoted(wrong)}" if price.shape == (d,) and wrong else ""
        raise SettingError(
            f"costs must be one positive number for each of {d} columns, or a mapping from column names to such "
            f"numbers{which}. Next: give every column what measuring it costs, in any unit."
        )
    return price


def _positive(price: Array) -> Flags:
    return np.asarray((price > 0) & np.isfinite(price))


ROUNDING = 1e-13  # nats, below which differences of sums are nothing
VALUES = 7  # of a number that stand for all
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(VALUES)
HERMITE_BELOW, HERMITE_WEIGHT = ndtr(_NODES), _WEIGHTS / _WEIGHTS.sum()


def information(posterior: Array, share: Array) -> Array:
    """Return I(y; x_j | known) in nats (h,), of posteriors p(y | known) (h, k) and shares p(x_j | y, known) (h, m, k).

    I = Σ_x Σ_y p(y) p(x | y) log(p(x | y) / Σ_y' p(y') p(x | y')), which is the entropy of the class less what is
    expected of it once x_j is known, and so neither negative nor above H(y | known). Shares may be the same in all rows
    (1, m, k). Source: Cover & Thomas, Elements of Information Theory (2nd ed. 2006), equation 2.28 and section 2.5.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if len(share) == 1:  # Σ_y p(y) Σ_x p(x | y) log p(x | y), less Σ_x p(x) log p(x)
            own = np.where(share[0] > 0, share[0] * np.log(share[0]), 0.0).sum(axis=0)
            whole = posterior @ share[0].T
            found = posterior @ own - np.where(whole > 0, whole * np.log(whole), 0.0).sum(axis=1)
        else:
            joint = share * posterior[:, None]
            whole = joint.sum(axis=2, keepdims=True)
            found = np.where(joint > 0, joint * np.log(share / whole), 0.0).sum(axis=(1, 2))
    return np.asarray(np.clip(np.where(found < ROUNDING, 0.0, found), 0.0, entropy(posterior)))


def entropy(posterior: Array) -> Array:
    """Return H = −Σ_y p log p in nats (h,) of probabilities (h, k)."""
    return np.asarray(-xlogy(posterior, posterior).sum(axis=1))


def shares_by_posteriors(weight: Array, posterior: Array) -> Array:
    """Return shares (h, m, k) of values by class in proportion to weight × p(y | known, value), 1 in sum in each class.

    `weight` (h, m) says how probable each value is, `posterior` (h, m, k) which class it then is.
    """
    share = weight[:, :, None] * posterior
    total = share.sum(axis=1, keepdims=True)
    return np.where(total > 0, share / np.where(total > 0, total, 1.0), weight[:, :, None])


def representatives(value: Array, weight: Array) -> tuple[Array, Array]:
    """Return a few values (h, m) of a number that stand for all it may hold, and their weights.

    `value` (h, ·) ascends, and `weight` (h, ·) sums to 1. The nodes of Gauss-Hermite quadrature are carried over from a
    standard normal number by the distribution function, F⁻¹(Φ(z)): what is polynomial in z is integrated exactly.
    """
    below = np.cumsum(weight, axis=1)
    below -= 0.5 * weight
    value = np.broadcast_to(value, weight.shape)
    after = np.stack([(below < wanted).sum(axis=1) for wanted in HERMITE_BELOW], axis=1)
    after = np.clip(after, min(1, weight.shape[1] - 1), weight.shape[1] - 1)
    before = np.maximum(after - 1, 0)
    low, high = np.take_along_axis(below, before, axis=1), np.take_along_axis(below, after, axis=1)
    part = np.clip((HERMITE_BELOW - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    found = (1.0 - part) * np.take_along_axis(value, before, axis=1) + part * np.take_along_axis(value, after, axis=1)
    return found, np.tile(HERMITE_WEIGHT, (len(found), 1))


def distinct_values(value: Array, weight: Array) -> tuple[Flags, Array, Array]:
    """Return which rows have at most `VALUES` different values (h,), and of these the values and their weights.

    `value` (h, m) ascends. Where there are fewer the last one fills up, with weight 0.
    """
    place = np.cumsum(np.diff(value, axis=1, prepend=value[:, :1]) > 0, axis=1)
    few = place[:, -1] < VALUES
    at = [place[few] == i for i in range(VALUES)]
    share = np.stack([np.where(own, weight[few], 0.0).sum(axis=1) for own in at], axis=1)
    first = np.stack([np.where(own.any(axis=1), own.argmax(axis=1), -1) for own in at], axis=1)
    return few, np.take_along_axis(value[few], first % value.shape[1], axis=1), share
