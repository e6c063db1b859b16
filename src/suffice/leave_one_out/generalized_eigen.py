"""Leave-one-out of a B + S_c for all strengths a at once, by a generalized eigendecomposition.

What `wishart` says of a row and its weight is worked out here for one γ: S_c is diagonalised in these coordinates, and
a row leaves by formulas of rank one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._arrays import Array, Codes, NDArray, cholesky, eigh, gammaln, invert_triangular, np
from ..kernels.left_out import Leaving
from ..stats import GaussianStats

LEAST = 1e-9  # of 1 − β dᵀ M⁻¹ d: the determinant may not vanish


def log_student(squares: Array, log_det: Array, weight: Array | float, df: Array | float, p: int) -> Array:
    """Return the log predictive density where A is a scatter-like matrix: squares = rᵀ A⁻¹ r, log_det = log |A|.

    log Γ((ν + p) / 2) − log Γ(ν / 2) − (p / 2) log π − ½ log |A| − (p / 2) log(1 + 1 / n) − ((ν + p) / 2) log(1 +
    squares · n / (n + 1)) with ν = df and n = `weight`, the rows behind the mean.
    """
    spread = 0.5 * log_det + 0.5 * (df + p) * np.log1p(squares * weight / (weight + 1.0))
    return np.asarray(_log_student_constant(weight, df, p) - spread)


def _log_student_constant(weight: Array | float, df: Array | float, p: int) -> Array:
    """Return the terms of `log_student` that ask for neither the matrix nor the row."""
    return np.asarray(gammaln((df + p) / 2) - gammaln(df / 2) - 0.5 * p * (np.log(np.pi) + np.log1p(1.0 / weight)))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows (n, p) of known class `codes` (n,), each to be scored without its weight `removed` (n,)."""

    rows: Array
    codes: Codes
    removed: Array
    weight: Array  # what each stands for among the rows of its class

    def take(self, index: Codes) -> LeftOut:
        """Return some of the rows."""
        return LeftOut(self.rows[index], self.codes[index], self.removed[index], self.weight[index])


@dataclass(frozen=True, slots=True)
class Removal:
    """What taking each row away does: h = w n_c / (n_c − w), rows left n_c − w, and n_c / (n_c − w), by row (n,)."""

    h: Array
    rest: Array
    stretch: Array
    usual: float  # the weight of a row, on average

    @classmethod
    def of(cls, class_weight: Array, left: LeftOut) -> Removal:
        """Return that of rows of classes of these weights (k,)."""
        weight = class_weight[left.codes]
        rest = weight - left.removed
        some = rest > 1e-9 * weight
        stretch = np.where(some, weight / np.where(some, rest, 1.0), 1.0)
        usual = float(np.average(left.removed, weights=left.weight)) if len(left.removed) else 1.0
        return cls(np.where(some, left.removed * stretch, 1.0), np.maximum(rest, 0.5), stretch, usual)

    def take(self, index: Codes) -> Removal:
        """Return the same of some of the rows."""
        return Removal(self.h[index], self.rest[index], self.stretch[index], self.usual)


@dataclass(frozen=True, slots=True)
class OwnClass:
    """Rows left out, each under its own class alone, at all strengths a and at any γ.

    A is s B + S_c with s = a, and where a = ∞ (`tied`, (a,)) it is s B with s = ν: `scale` s (·, a) is one for all rows
    or by row, as is ν, the `freedom`. `constant` and `df` (n, a) depend on no γ.
    """

    removal: Removal
    tied: NDArray[np.bool_]
    freedom: Array
    scale: Array
    df: Array
    constant: Array
    p: int

    @classmethod
    def of(cls, strengths: tuple[float, ...], removal: Removal, freedom: Array, p: int) -> OwnClass:
        """Return that of rows of `p` cells, where ν is `freedom` (1,) or (n,)."""
        tied = np.isinf(strengths)
        scale = np.where(tied, freedom[:, None], strengths)
        rest = removal.rest[:, None]
        df = scale + np.where(tied, 0.0, rest) + 1.0
        return cls(removal, tied, freedom, scale, df, _log_student_constant(rest, df, p), p)

    def take(self, index: Codes) -> OwnClass:
        """Return the same of some of the rows, which have one ν."""
        return replace(self, removal=self.removal.take(index), df=self.df[index], constant=self.constant[index])

    def scores(self, sphere: Array | float, along: Array, values: Array, log_det: Array) -> Array:
        """Return log densities (…, n, a): `values` (…, ·, p) are those of S_c where B is the identity.

        `along` (…, n, p) are the squares of the rows about the mean of their class in the directions of these values,
        and `log_det` (…, ·) is log |B|; each of `sphere`, γ, may have matrices of its own.
        """
        levels = self.scale[:, None] + np.where(self.tied, 0.0, values[..., None])  # (…, ·, p, a)
        inner, shared = 1.0 / levels, levels.shape[-3] == 1
        length = along @ inner[..., 0, :, :] if shared else np.einsum("...np,...npa->...na", along, inner)
        removal, h = self.removal, self.removal.h[:, None]
        lighter = (1.0 - np.asarray(sphere))[..., None, None] / self.freedom[:, None]
        beta = lighter * h * self.scale + np.where(self.tied, 0.0, h)
        kept = np.maximum(1.0 - beta * length, LEAST)
        squares = removal.stretch[:, None] ** 2 * length / kept
        part = removal.rest / (removal.rest + 1.0)
        log_dets = log_det[..., None] + np.log(levels).sum(axis=-2) + np.log(kept)
        spread = 0.5 * log_dets + 0.5 * (self.df + self.p) * np.log1p(squares * part[:, None])
        return np.asarray(self.constant - spread)


@dataclass(frozen=True, slots=True)
class Pencil:
    """The shared matrix ν B at one γ as a `turn` (p, p) that makes it the identity; ν has lost the weight of a row."""

    stats: GaussianStats
    sphere: float
    freedom: float
    turn: Array
    log_det: float

    @classmethod
    def of(cls, stats: GaussianStats, base: Array, sphere: float, freedom: float) -> Pencil:
        """Return that of a `base` B (p, p) with ν = `freedom`."""
        lower = cholesky(base, lower=True)
        log_det = 2.0 * float(np.log(np.diagonal(lower)).sum())
        return cls(stats, sphere, freedom, invert_triangular(lower), log_det)

    def reads(self, left: LeftOut, removal: Removal) -> _Turned:
        """Return the rows in these coordinates."""
        rows, means = left.rows @ self.turn.T, self.stats.mean @ self.turn.T
        return _Turned(self, left, removal, rows, means, rows - means[left.codes])


@dataclass(frozen=True, slots=True)
class _Turned:
    """Rows left out and class means in the coordinates of a pencil; `own` (n, p) are the rows about their own mean."""

    pencil: Pencil
    left: LeftOut
    removal: Removal
    rows: Array
    means: Array
    own: Array

    def scores_of(self, c: int, finite: Array, endless: bool, balanced: bool) -> tuple[Array, Array]:
        """Return F of class c for the finite strengths (a, n), and for a = ∞ (n,), NaN where it is not asked for."""
        pencil, removal, own = self.pencil, self.removal, self.own
        (n, p), mine, shift = own.shape, np.flatnonzero(self.left.codes == c), self.rows - self.means[c]
        lighter = (1.0 - pencil.sphere) / pencil.freedom * removal.h
        scores, tied = np.empty((len(finite), n)), np.full(n, np.nan)
        if endless:
            stretch = _but(1.0, mine, removal.stretch)
            weight = _but(max(pencil.stats.weight[c], 0.5), mine, removal.rest)
            squares = np.einsum("ij,ij->i", shift, shift) * stretch**2
            cross = np.einsum("ij,ij->i", shift, own) * stretch
            left_over = np.maximum(1.0 - lighter * np.einsum("ij,ij->i", own, own), LEAST)
            squares = (squares + lighter * cross**2 / left_over) / pencil.freedom
            whole_det = pencil.log_det + p * np.log(pencil.freedom) + np.log(left_over)
            tied = log_student(squares, whole_det, weight, pencil.freedom + 1.0, p)
        if len(finite):
            one = _OneClass(pencil.stats, c, finite, mine, lighter, pencil.log_det, balanced)
            scores = one.scores(pencil.turn, shift, own, removal, self.left)
        return scores, tied


@dataclass(frozen=True, slots=True)
class _OneClass:
    """One class c at one γ, for all finite strengths a at once; `mine` are the numbers of the rows of this class."""

    stats: GaussianStats
    c: int
    finite: Array
    mine: Codes
    lighter: Array
    log_det: float
    balanced: bool

    def scores(self, turn: Array, shift: Array, own: Array, removal: Removal, left: LeftOut) -> Array:
        """Return F (a, n) of this class."""
        values, vectors = eigh(turn @ self.stats.scatter.values[self.c] @ turn.T)
        values = np.maximum(values, 0.0)[:, None]
        shift, own = _times(shift, vectors), _times(own, vectors)
        inner = 1.0 / (self.finite + values)  # (p, a)
        far = shift * shift
        squares, cross, length = _times(far, inner), _times(shift * own, inner), _times(own * own, inner)
        log_det = self.log_det + np.log(self.finite + values).sum(axis=0)
        leaving, average, none, pulled = np.zeros(len(far)), np.zeros((2, len(inner[0]))), np.zeros(len(inner[0])), None
        if self.balanced and len(self.mine):
            leaving = (self.stats.weight[self.c] > left.removed) * left.removed
            leaving[self.mine] = 0.0
            average, none = self._average(removal, left, length[self.mine])
            pulled = _times(far, inner**2 * values)
        rows = self._leaving(removal, leaving)
        rows.take_out(squares, cross, length, pulled, np.stack([self.finite, *average]), LEAST)
        np.log(length, out=length)
        np.log1p(squares, out=squares)
        p, (kinds, place) = len(values), _kinds(rows.weight)
        df = self.finite + kinds[:, None] + 1.0
        terms = np.stack([_log_student_constant(kinds[:, None], df, p), 0.5 * (df + p)])
        rows.log_densities(squares, length, place, terms, np.stack([log_det, none]))
        return squares.T

    def _average(self, removal: Removal, left: LeftOut, length: Array) -> tuple[Array, Array]:
        """Return what an average row of this class takes of squares (2, a) and of the log determinant (a,).

        As much as the row left out weighs is taken from the rows j of this class in proportion to their weights;
        `length` (m, a) are their squared lengths.
        """
        mine, n = self.mine, self.stats.weight[self.c]
        share = left.weight[mine] / left.weight[mine].sum()
        removed, stretch = left.removed[mine], removal.stretch[mine]
        kept = np.maximum(1.0 - removal.h[mine][:, None] * length, LEAST)
        each = share / np.maximum(removed, 1e-300)
        away = (stretch * removed / (n or 1.0)) ** 2
        return np.stack([(share * stretch) @ (1.0 / kept), (each * away) @ length]), each @ np.log(kept)

    def _leaving(self, removal: Removal, leaving: Array) -> Leaving:
        """Return what leaves with each row, of which so much (n,) of an average row of this class."""
        n, mine = self.stats.weight[self.c], self.mine
        weight = np.maximum(n - leaving, 0.5)
        weight[mine] = removal.rest[mine]
        stretch, h = _but(1.0, mine, removal.stretch), _but(0.0, mine, removal.h)
        return Leaving.of(stretch, self.lighter, h, leaving, leaving / (n or 1.0), weight)


def _times(rows: Array, matrix: Array) -> Array:
    """Return rows (n, p) @ matrix (p, a); of one column without the BLAS, whose call would take longer."""
    return rows * matrix if len(matrix) == 1 else rows @ matrix


def _but(value: float, index: Codes, others: Array) -> Array:
    """Return the value for all rows (n,) but those of these numbers, which keep that of `others` (n,)."""
    out = np.full(len(others), value)
    out[index] = others[index]
    return out


def _kinds(weight: Array) -> tuple[Array, Codes]:
    """Return the different weights among these (n,), and which each is: often there are two."""
    rest = weight[weight != weight[:1]]
    if len(rest) and (rest == rest[0]).all():
        return np.array([weight[0], rest[0]]), (weight != weight[0]).astype(np.int64)
    kinds, place = np.unique(weight, return_inverse=True)
    return kinds, place.reshape(-1)
