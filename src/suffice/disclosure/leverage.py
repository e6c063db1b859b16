"""Rows of high leverage: those that hold the variance of a direction alone.

Where a linear rule of columns (total = a + b) holds for all rows of a class but one, the scatter S gives that row away:
with u the direction of the rule and d = uᵀz what the centred row z deviates by, S u = d z. In general a row has the
share s = (uᵀz)² / uᵀSu of the variance along u, and S u / d tells its cells with a mean squared error of (1 − s) / s
times their variance: no better than the class mean does up to s = 1/2. The largest share that a row has along any
direction is its leverage zᵀS⁻¹z (Hoaglin & Welsch 1978, doi:10.1080/00031305.1978.10479237). A row that has more than
half, and rows, fewer than may be told of, that together have nearly all, count for less until they have no more, as in
estimators of bounded influence; where nothing of them can be left they are left out. Then the others are looked at
again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._arrays import Array, Codes, Flags, ndtri, np

MOST_SHARE = 0.5  # of the variance of a direction; at 0.9 a planted row was told with .045 of its error, at 0.5 .385
FILLED_SHARE = 0.3  # the same where cells were missing: by EM rows without a cell of a rule take part in its variance
REST = 0.1  # of what Gaussian rows leave to others than the largest: less is left where few rows break a rule
MOST_LEFT_OUT = 0.25  # of the rows: beyond, correlations go. Of the tables in docs/results.md none but glass comes near
GOAL = 0.95  # of what is allowed, so that few rounds do
LITTLE = 0.01  # of a row: beyond, it is left out
STARTS, STEPS = 64, 8  # of the search for directions: doubled, it finds no more in tables with planted rules
ROUNDING = 16.0 * np.finfo(np.float64).eps  # of the largest value of a column: variance below is none


@dataclass(frozen=True)
class Crowd:
    """Rows whose scatter is one: cells (m, d) without holes, class numbers, copies and weights in all (m,).

    `weak` (k, d) marks what counts as constant in a class; `rest` (d, d) is what the scatter has beside these rows, of
    the weight `beside`: that of rows not at hand. What missing cells leave open is no part of it: EM expects of a rule
    that one row breaks as much of every row that misses a cell of it, and would hide that row. `filled` says whether
    cells of these rows were missing.
    """

    cells: Array
    codes: Codes
    copies: Array
    weight: Array
    weak: Flags
    rest: Array | None = None
    beside: float = 0.0
    filled: bool = False

    def some(self, index: Codes) -> Crowd:
        """Return some of the rows; what is beside them stays."""
        own = self.cells[index], self.codes[index], self.copies[index], self.weight[index]
        return replace(self, cells=own[0], codes=own[1], copies=own[2], weight=own[3])

    @property
    def total(self) -> float:
        """The weight of all rows of the scatter."""
        return float(self.weight.sum()) + self.beside

    @property
    def centred(self) -> Array:
        """The rows less the means of their classes, times the roots of their weights (m, d)."""
        out = np.empty_like(self.cells)
        for c in np.unique(self.codes):
            own = np.flatnonzero(self.codes == c)
            w = self.weight[own]
            out[own] = np.where(self.weak[c], 0.0, self.cells[own] - (w @ self.cells[own]) / w.sum())
        out *= np.sqrt(self.weight)[:, None]
        return out

    @property
    def scatter(self) -> Array:
        """The scatter of these rows alone (d, d), of columns that are not weak."""
        rows = self.centred
        return np.asarray(rows.T @ rows)

    def shares(self) -> Array:
        """Return U (m, r): along a unit vector v, which stands for a direction, the rows have the shares (U v)².

        Directions in which nothing but rounding is left are no directions.
        """
        rows = self.centred
        size = np.abs(self.cells).max(axis=0, initial=0.0)
        noise = ROUNDING * size * np.sqrt(self.total)
        if self.rest is not None:
            rows = np.concatenate([rows, _root(self.rest)])
        length = np.sqrt(np.einsum("ij,ij->j", rows, rows))
        used = length > noise
        if not used.any():
            return np.zeros((len(self.cells), 0))
        left, values, directions = np.linalg.svd(rows[:, used] / length[used], full_matrices=False)
        lost = np.sqrt(directions**2 @ (noise[used] / length[used]) ** 2)
        kept = values > np.maximum(lost, len(rows) * np.finfo(np.float64).eps * values[0])
        return np.asarray(left[: len(self.cells), kept])


def lonely(crowd: Crowd, least: int) -> tuple[Array, bool]:
    """Return how much each row (m,) may count in the scatter, so that no direction is held by fewer than `least` rows.

    The second is False where too few rows would be left for a scatter of so many columns.
    """
    counted = np.ones(len(crowd.codes))
    while True:
        left = np.flatnonzero(counted)
        own = crowd.some(left)
        own = replace(own, weight=own.weight * counted[left])
        n = float((own.copies * counted[left]).sum())
        repeated = float(own.copies.sum()) - len(np.unique(own.codes))
        few = min(n, repeated + 1) < crowd.cells.shape[1] + least
        if few or n < (1.0 - MOST_LEFT_OUT) * crowd.copies.sum():
            return counted, False
        less = _less(own, least)
        if (less >= 1.0).all():
            return counted, True
        counted[left] *= less
        counted[counted < LITTLE] = 0.0


def _less(crowd: Crowd, least: int) -> Array:
    """Return by what to multiply the weights (m,) of rows that hold a direction alone, or with fewer than `least`."""
    shares, less = crowd.shares(), np.ones(len(crowd.codes))
    r = shares.shape[1]
    if not r:
        return less
    leverage = np.minimum(np.einsum("ij,ij->i", shares, shares), 1.0)
    by_chance = np.minimum(r * crowd.weight / crowd.total, 1.0 - 1e-9)  # what a row has in r directions without a rule
    most = FILLED_SHARE if crowd.filled else MOST_SHARE
    alone = (1.0 - (1.0 - leverage) / (1.0 - by_chance) > most) & (crowd.copies < least)
    if alone.any() or least < 3:
        less[alone] = _towards(leverage[alone], 1.0 - (1.0 - most) * (1.0 - by_chance[alone]))
        return less
    start = np.argsort(-leverage, kind="stable")[:STARTS]
    along = np.concatenate([shares[start].T / np.sqrt(np.maximum(leverage[start], 1e-300)), np.eye(r)], axis=1)
    for _ in range(STEPS):  # towards directions whose variance the fewest rows hold: of largest fourth power
        turned = shares @ along
        along = shares.T @ (turned * turned * turned)  # a power of 3 takes ten times as long
        along /= np.maximum(np.linalg.norm(along, axis=0), 1e-300)
    return _less_together((shares @ along) ** 2, crowd, least)


def _towards(share: Array, most: Array) -> Array:
    """Return by what to multiply the weight of what has a share of a variance to give it somewhat less than `most`."""
    goal = most * GOAL
    return np.asarray(np.minimum((1.0 - share) / np.maximum(share, 1e-300) * goal / (1.0 - goal), GOAL))


def _less_together(held: Array, crowd: Crowd, least: int) -> Array:
    """Return the same of rows, fewer than `least` in all, with nearly all the variance `held` (m, s) of a direction."""
    rows = crowd.copies.sum() * crowd.total / crowd.weight.sum()
    found, together, most = _few_hold(held, np.broadcast_to(crowd.copies[:, None], held.shape), rows, least)
    return np.asarray(np.where(found, _towards(together, most), 1.0).min(axis=1))


def _few_hold(held: Array, copies: Array, rows: Array, least: int) -> tuple[Flags, Array, Array]:
    """Return which of the rows (m, s), fewer than `least` in all, have nearly all the variance `held` (m, s).

    `copies` (m, s) are how many rows each is, of so many `rows` in all. With it come the variance the fewest have
    together (s,), and the most they may have.
    """
    order = np.argsort(-held, axis=0, kind="stable")
    few = np.zeros(held.shape, dtype=bool)
    np.put_along_axis(few, order, np.cumsum(np.take_along_axis(copies, order, axis=0), axis=0) < least, axis=0)
    together, most = np.where(few, held, 0.0).sum(axis=0), 1.0 - REST * _others((least - 1) / rows)
    return few & (together > most) & (held > 0.1 / least), together, most


def _others(share: Array) -> Array:
    """Return how much of their variance Gaussian rows leave to all but this share, those farthest from the mean."""
    share = np.clip(share, 1e-300, 1.0)
    q = -ndtri(0.5 * share)
    return np.asarray(1.0 - share - 2.0 * q * np.exp(-0.5 * q**2) / np.sqrt(2.0 * np.pi))


def lonely_cells(crowd: Crowd, least: int) -> Flags:
    """Return which cells (m, d) hold the variance of their column in their class alone, or too few of them together."""
    found = np.zeros(crowd.cells.shape, dtype=bool)
    for c in np.unique(crowd.codes):
        index = np.flatnonzero(crowd.codes == c)
        own = crowd.some(index)
        found[index] = _lonely_cells(own.cells, own.copies[:, None], own.weight[:, None], least) & ~crowd.weak[c]
    return found


def _lonely_cells(rows: Array, copies: Array, weight: Array, least: int) -> Flags:
    """Return the same of the rows of one class; the columns are looked at side by side, each by itself."""
    out = np.isnan(rows)
    noise = ROUNDING * np.abs(np.where(out, 0.0, rows)).max(axis=0, initial=0.0)
    while True:
        w, cells, count = (np.where(out, 0.0, values) for values in (weight, rows, copies))
        total = np.maximum(w.sum(axis=0), 1e-300)
        squares = w * (cells - (w * cells).sum(axis=0) / total) ** 2
        whole = squares.sum(axis=0)
        varies = whole > noise**2 * total
        held = np.where(varies, squares / np.where(whole > 0, whole, 1.0), 0.0)
        by_chance = np.minimum(w / total, 1.0 - 1e-9)
        alone = (1.0 - (1.0 - held) / (1.0 - by_chance) > MOST_SHARE) & (copies < least)
        few = _few_hold(held, count, np.maximum(count.sum(axis=0), 1.0), least)[0] & varies
        found = (alone | few) & ~out
        found &= count.sum(axis=0) - np.where(found, copies, 0.0).sum(axis=0) >= least
        if not found.any():
            return np.asarray(out & ~np.isnan(rows))
        out = out | found


def _root(scatter: Array) -> Array:
    """Return rows R with RᵀR the scatter, but for what rounding makes negative."""
    size = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
    scale = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(scatter / scale[:, None] / scale)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scale)


def of_rows_at_hand(scatter: Array, own: Array, rows: float) -> Array:
    """Return a scatter (d, d) of more rows than are at hand, without variance that these `rows` rows do not show.

    Relative to `own`, their scatter scaled to the weight of all, a direction in which rows out of sight have more than
    half of the variance has more than twice as much, beside what chance does to as many directions as columns.
    """
    d = len(own)
    size = np.sqrt(np.diagonal(own))
    used = np.flatnonzero(size > 0)
    out = np.zeros_like(scatter)
    if not len(used):
        return out
    at = np.ix_(used, used)
    unit = size[used][:, None] * size[used]
    values, vectors = np.linalg.eigh(own[at] / unit + 1e-9 * np.eye(len(used)))
    root, back = vectors * np.sqrt(np.maximum(values, 1e-12)), vectors / np.sqrt(np.maximum(values, 1e-12))
    times, along = np.linalg.eigh(back.T @ (scatter[at] / unit) @ back)
    most = 1.0 / (MOST_SHARE * (1.0 - np.sqrt(min(d / rows, 0.5))) ** 2)
    if (times <= most).all() and len(used) == d:
        return scatter
    seen = root @ along
    out[at] = unit * ((seen * np.where(times > most, 1.0, times)) @ seen.T)
    return out
