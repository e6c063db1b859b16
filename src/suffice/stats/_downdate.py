"""Subtracting rows from statistics: what is left, and how to tell that rows were never there.

The weights and scatters of some rows are subtracted from those of all rows. What that leaves is exact but for rounding
of the size of what was subtracted. Where nothing but rounding is left it is made exactly zero; where less than nothing
is left, the rows cannot have been part of the whole.
"""

from __future__ import annotations

from .._arrays import Array, Codes, Flags, lower_factor, np
from ..errors import NotLearnedError
from .scatter import DiagonalScatter, FullScatter, LowRankScatter, PooledScatter, Scatter, gather

DUST = 1e-12  # of the whole: what is left of a weight, count or sum of squares and no more than this is rounding
SLACK = 1e-10  # of the whole, on the correlation scale: how far below zero a remaining scatter may be
MEAN_ROUNDING = 64.0 * np.finfo(np.float64).eps  # error of a difference between means, relative to the means
CLOSE = 1e-9  # rows are one row where their values agree to this, relative to the largest of the column
FIRST_COLUMNS = 16  # compared before the others are

# Without an end, weights that decay become subnormal, lose their digits and are divided by. A class ends long before a
# row: while it counts, it has rows that do.
FAINT = 1e-100  # a class with less weight than this has no rows any more
GONE = 1e-200  # a row, value, level or column of a class with less weight than this is not there any more


def remainder(whole: Array | float, part: Array | float, dust: float = DUST) -> Array:
    """Return whole − part, exactly 0 where no more than `dust` of the whole is left: that much is rounding."""
    left = np.subtract(whole, part)
    return np.where(left > dust * np.abs(whole), left, 0.0)


def subtract_weights(whole: Array, part: Array, what: str) -> Array:
    """Return whole − part, classes on the leading axis, exactly 0 where only rounding is left.

    NotLearnedError names the first class that would be left with less than nothing of `what`.
    """
    left = whole - part
    short = left < -DUST * whole
    if short.any():
        code = int(np.argwhere(short)[0][0])
        columns = np.flatnonzero(short[code]).tolist() if short.ndim == 2 else ()
        had, asked = (float(side[code].flat[np.argmax(np.atleast_1d(short[code]))]) for side in (whole, part))
        raise NotLearnedError(f"they have a {what} of {asked:g} where {had:g} was learned", code, columns)
    return remainder(whole, part)


def downdate(
    whole: Scatter, part: Scatter, weights: tuple[Array, Array, Array], means: tuple[Array, Array]
) -> tuple[Array, Scatter]:
    """Return mean (k, d) and scatter of the rows left, from those of the whole and of the part.

    `weights` are those of the whole, the part and what is left, `means` those of the whole and the part. The inverse
    of the merge: with δ from the whole's mean to the part's and r = w_part / w_left, the mean moves by −r δ and the
    scatter is S − S_part − w r δδᵀ. NotLearnedError where that is less than nothing, or a class without a row keeps
    some.
    """
    total, own, left = (w if w.ndim == 2 else w[:, None] for w in weights)  # (k, d) or (k, 1)
    kept = left > 0
    ratio = np.where(kept, own / np.where(kept, left, 1.0), 0.0)
    shift = np.where(own > 0, means[1] - means[0], 0.0)
    mean = np.where(kept, means[0] - ratio * shift, 0.0)
    amount = np.where(kept, total * ratio, np.where(own > 0, total, 0.0))
    size = np.maximum(np.abs(means[0]), np.abs(means[1]))
    noise = np.where(own > 0, np.maximum(total, amount) * (MEAN_ROUNDING * size) ** 2, 0.0)
    touched = np.flatnonzero((own > 0).any(axis=1))
    if isinstance(whole, DiagonalScatter):
        squares = whole.values - part.values - amount * shift**2
        _refuse_negative(squares, whole.values, noise, touched)
        dust = squares <= DUST * whole.values + _rounding(whole.values, noise)
        return mean, DiagonalScatter(np.where(kept & ~dust, squares, 0.0))
    emptied = (own > 0) & ~kept
    if isinstance(whole, PooledScatter) and isinstance(part, PooledScatter):
        return mean, _downdate_pooled(whole, part, amount, shift, noise, touched, emptied[:, 0])
    values = _subtract_each(whole.values, part.values, amount, shift, noise, touched)
    values[emptied[:, 0]] = 0.0
    return mean, FullScatter(values)


def level_constants(mean: Array, squares: Array, kept: Flags, means: tuple[Array, Array]) -> Array:
    """Return means (k, d) in which columns that no longer vary have one value in all classes.

    `squares` are what is left of the sums of squares, (k, d) or (1, d), `kept` (k, d) or (k, 1) says which classes have
    rows, and `means` are those of the whole and of the part, which set the size of rounding.
    """
    low = np.where(kept, mean, np.inf).min(axis=0)
    high = np.where(kept, mean, -np.inf).max(axis=0)
    size = np.maximum(np.abs(means[0]), np.abs(means[1])).max(axis=0)
    constant = (squares == 0).all(axis=0) & (high > low) & (high - low <= MEAN_ROUNDING * size)
    return np.where(constant & kept, low, mean)


def _subtract_each(whole: Array, part: Array, amount: Array, shift: Array, noise: Array, touched: Codes) -> Array:
    """Return what is left of each class's matrix (k, d, d)."""
    values = whole.copy()
    for c in touched.tolist():
        values[c] -= part[c] + np.outer(amount[c] * shift[c], shift[c])
        values[c] = _usable(values[c], np.diagonal(whole[c]), noise[c], c)
    return values


def _downdate_pooled(
    whole: PooledScatter, part: PooledScatter, amount: Array, shift: Array, noise: Array, touched: Codes, emptied: Flags
) -> PooledScatter:
    if whole.by_class is not None and part.by_class is not None:
        own = _subtract_each(whole.by_class, part.by_class, amount, shift, noise, touched)
        own[emptied] = 0.0
        return PooledScatter.of(own)
    values = whole.values - part.values - (amount * shift).T @ shift
    return PooledScatter(_usable(values, np.diagonal(whole.values), noise.sum(axis=0), None))


def _rounding(whole: Array, noise: Array) -> Array:
    """Return how large the rounding of a sum of squares may be that comes from uncertain means."""
    return 2.0 * np.sqrt(whole) * np.sqrt(noise) + noise  # a product of both may leave the range of floats


def _refuse_negative(left: Array, whole: Array, noise: Array, touched: Codes) -> None:
    short = left < -(SLACK * whole + _rounding(whole, noise))
    for c in touched.tolist():
        if short[c].any():
            raise NotLearnedError("what is left would vary less than not at all", c, np.flatnonzero(short[c]).tolist())


def _usable(left: Array, whole: Array, noise: Array, code: int | None) -> Array:
    """Return a scatter (d, d) without the rounding of columns that no longer vary; refuse one that is no scatter.

    `whole` (d,) are the sums of squares that it was subtracted from: they set the scale on which it is judged.
    """
    squares = np.diagonal(left)
    extra = _rounding(whole, noise)
    short = squares < -(SLACK * whole + extra)
    if short.any():
        raise NotLearnedError("what is left would vary less than not at all", code, np.flatnonzero(short).tolist())
    flat = squares <= DUST * whole + extra
    scale = np.where(flat, 1.0, np.sqrt(np.where(whole > 0, whole, 1.0)))
    correlation = np.where(np.add.outer(flat, flat), 0.0, left / np.outer(scale, scale))
    relative = np.where(flat, 0.0, extra / np.where(whole > 0, whole, 1.0))
    correlation.flat[:: len(left) + 1] += np.where(flat, 1.0, SLACK + len(left) * relative)
    try:
        lower_factor(correlation, overwrite=True)
    except np.linalg.LinAlgError:
        raise NotLearnedError("what is left would vary less than not at all in some direction", code) from None
    return np.where(np.add.outer(flat, flat), 0.0, left)


def subtract_rows(
    whole: LowRankScatter, part: Scatter, weight: Array, mean: Array, part_mean: Array
) -> tuple[Array, Array, LowRankScatter]:
    """Return weight (k,), mean (k, d) and the rows left; NotLearnedError if a row of `part` is not among the whole."""
    if not isinstance(part, LowRankScatter):
        raise NotLearnedError("there are more of them than were learned")
    k = len(weight)
    rows = whole.values / whole.root_weight[:, None] + mean[whole.owner]
    sought = part.values / part.root_weight[:, None] + part_mean[part.owner]
    left = whole.root_weight**2
    tolerance = CLOSE * np.abs(rows).max(axis=0, initial=0.0)
    own = np.bincount(part.owner, weights=part.root_weight**2, minlength=k).astype(np.float64)
    total = subtract_weights(weight, own, "weight")
    for row, code, amount in zip(sought, part.owner.tolist(), part.root_weight**2, strict=True):
        _take(left, whole.root_weight**2, _equal_rows(rows, whole.owner, row, code, tolerance), amount, code)
    kept = np.flatnonzero(left)
    owner, root = whole.owner[kept], np.sqrt(left[kept])
    about = (rows - mean[whole.owner])[kept]
    step = gather(left[kept][:, None] * about, owner, len(mean)) / np.where(total > 0, total, 1.0)[:, None]
    moved = LowRankScatter(root[:, None] * (about - step[owner]), owner, root)
    return total, np.where(total[:, None] > 0, mean + step, 0.0), moved


def _equal_rows(rows: Array, owner: Codes, row: Array, code: int, tolerance: Array) -> Codes:
    """Return the numbers of the rows of a class that hold these values."""
    first = slice(0, FIRST_COLUMNS)
    alike = np.flatnonzero((owner == code) & (np.abs(rows[:, first] - row[first]) <= tolerance[first]).all(axis=1))
    return alike[(np.abs(rows[alike] - row) <= tolerance).all(axis=1)]


def _take(left: Array, before: Array, alike: Codes, amount: float, code: int) -> None:
    """Subtract a weight from that of rows that are equal, in place."""
    there = float(left[alike].sum())
    if there < amount * (1.0 - DUST):
        raise NotLearnedError("one of them is not among the rows learned, or not that often", code)
    for i in alike.tolist():
        taken = min(float(left[i]), amount)
        amount -= taken
        left[i] -= taken
        if left[i] <= DUST * before[i]:
            left[i] = 0.0


def faded(weights: Array, factor: float) -> Array:
    """Return weights multiplied by a factor, exactly 0 where that leaves less than `GONE`."""
    left = weights * factor
    return np.where(left < GONE, 0.0, left)
