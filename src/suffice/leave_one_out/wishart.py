"""Gaussian classes under a normal-inverse-Wishart prior, with exact leave-one-out over a whole grid of its settings.

The prior covariance is B = (1 − γ) W / ν + γ τ I with W the pooled scatter, ν = N − K and τ = tr W / (ν p), in units
in which every column has total variance 1 (no label is used for them). With strength a, A_k = a B + S_k, and a new row
has a Student t density in each class: from a = 1 (nearly quadratic) to a = ∞ (linear), and from γ = 0 (full) to 1
(equal variances). Keehn (1965), doi:10.1109/TIT.1965.1053763; Friedman (1989), doi:10.1080/01621459.1989.10478752.

Removing row i (weight w, class c, d = x − m_c) changes W and S_c by −h d dᵀ, h = w n_c / (n_c − w): rank one, so
every determinant and quadratic form follows from those of all rows, and the pencil (B, S_k) is diagonalised once for
all a, and once for each of the weights w that rows have, as ν loses w. τ and the units stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .._arrays import Array, Codes, Flags, cholesky, eigh, gammaln, invert_triangular, np
from ..densities import Full, MultivariateT
from ..kernels.left_out import Leaving
from ..stats import GaussianStats
from ..stats.subsets import of_columns

# ── Leave-one-out of a B + S_c for all strengths a at once, by a generalized eigendecomposition ───────────────────────
#
# For one γ: S_c is diagonalised in coordinates in which B is the identity, and a row leaves by formulas of rank one.


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
    """Rows left out, each under its own class alone, at all strengths a and at any γ; of new rows nothing is removed.

    A is s B + S_c with s = a, and where a = ∞ (`tied`, (a,)) it is s B with s = ν: `scale` s (·, a) is one for all rows
    or by row, as is ν, the `freedom`. `constant` and `df` (n, a) depend on no γ.
    """

    removal: Removal
    tied: Flags
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


def whitened(base: Array) -> tuple[Array, float]:
    """Return what makes B (p, p) the identity, the inverse of its Cholesky factor, and log |B|."""
    lower = cholesky(base, lower=True)
    return invert_triangular(lower), 2.0 * float(np.log(np.diagonal(lower)).sum())


@dataclass(frozen=True, slots=True)
class Pencil:
    """Rows left out and classes at one γ, in coordinates in which the shared B (p, p) is the identity, by a `turn`.

    ν, the `freedom`, has lost the weight of a row; `log_det` is log |B|; `rows` and `own` (n, p) are the rows and these
    about the means of their own classes, `means` (k, p) those of all.
    """

    stats: GaussianStats
    left: LeftOut
    removal: Removal
    sphere: float
    freedom: float
    turn: Array
    log_det: float
    rows: Array
    means: Array
    own: Array

    @classmethod
    def of(
        cls, stats: GaussianStats, base: Array, sphere: float, freedom: float, left: LeftOut, removal: Removal
    ) -> Pencil:
        """Return that of a `base` B with ν = `freedom`."""
        turn, log_det = whitened(base)
        rows, means = left.rows @ turn.T, stats.mean @ turn.T
        own = rows - means[left.codes]
        return cls(stats, left, removal, sphere, freedom, turn, log_det, rows, means, own)

    @property
    def lighter(self) -> Array:
        """By what the shared matrix is lighter without each row (n,)."""
        return np.asarray((1.0 - self.sphere) / self.freedom * self.removal.h)

    def tied(self, c: int) -> Array:
        """Return F of class c for a = ∞ (n,)."""
        own, lighter, shift = self.own, self.lighter, self.rows - self.means[c]
        p, mine = own.shape[1], np.flatnonzero(self.left.codes == c)
        stretch = _but(1.0, mine, self.removal.stretch)
        weight = _but(max(self.stats.weight[c], 0.5), mine, self.removal.rest)
        squares = np.einsum("ij,ij->i", shift, shift) * stretch**2
        cross = np.einsum("ij,ij->i", shift, own) * stretch
        left_over = np.maximum(1.0 - lighter * np.einsum("ij,ij->i", own, own), LEAST)
        squares = (squares + lighter * cross**2 / left_over) / self.freedom
        whole_det = self.log_det + p * np.log(self.freedom) + np.log(left_over)
        return log_student(squares, whole_det, weight, self.freedom + 1.0, p)

    def finite(self, c: int, strengths: Array, balanced: bool) -> Array:
        """Return F (a, n) of class c for all finite strengths at once."""
        scatter = self.turn @ self.stats.scatter.values[c] @ self.turn.T
        one = len(strengths) == 1  # takes a Cholesky factor, in a tenth of the time of directions for all strengths
        if one:
            scatter[np.diag_indices(len(scatter))] += strengths
            vectors, whole = whitened(scatter)
            vectors, values, inner = vectors.T, np.zeros((len(scatter), 1)), np.ones((len(scatter), 1))
            log_det = np.array([self.log_det + whole])
        else:
            values, vectors = eigh(scatter)
            values = np.maximum(values, 0.0)[:, None]
            inner = 1.0 / (strengths + values)  # (p, a)
            log_det = self.log_det + np.log(strengths + values).sum(axis=0)
        shift, own = _times(self.rows - self.means[c], vectors), _times(self.own, vectors)
        far = shift * shift
        squares, cross, length = _times(far, inner), _times(shift * own, inner), _times(own * own, inner)
        mine, n, removed = np.flatnonzero(self.left.codes == c), self.stats.weight[c], self.left.removed
        leaving, average, none, pulled = np.zeros(len(far)), np.zeros((2, len(inner[0]))), np.zeros(len(inner[0])), None
        if balanced and len(mine):
            leaving = (n > removed) * removed
            leaving[mine] = 0.0
            average, none = self._average(mine, n, length[mine])
            pulled = squares - strengths * _lengths(_times(shift, vectors.T)) if one else _times(far, inner**2 * values)
        weight = np.maximum(n - leaving, 0.5)
        weight[mine] = self.removal.rest[mine]
        stretch, h = _but(1.0, mine, self.removal.stretch), _but(0.0, mine, self.removal.h)
        rows = Leaving.of(stretch, self.lighter, h, leaving, leaving / (n or 1.0), weight)
        rows.take_out(squares, cross, length, pulled, np.stack([strengths, *average]), LEAST)
        np.log(length, out=length)
        np.log1p(squares, out=squares)
        p, (kinds, place) = len(inner), _kinds(rows.weight)
        df = strengths + kinds[:, None] + 1.0
        terms = np.stack([_log_student_constant(kinds[:, None], df, p), 0.5 * (df + p)])
        rows.log_densities(squares, length, place, terms, np.stack([log_det, none]))
        return np.asarray(squares.T)

    def _average(self, mine: Codes, n: float, length: Array) -> tuple[Array, Array]:
        """Return what an average row of a class takes of squares (2, a) and of the log determinant (a,).

        As much as the row left out weighs is taken from the rows of this class, `mine`, in proportion to their weights;
        `length` (m, a) are their squared lengths.
        """
        share = self.left.weight[mine] / self.left.weight[mine].sum()
        removed, stretch = self.left.removed[mine], self.removal.stretch[mine]
        kept = np.maximum(1.0 - self.removal.h[mine][:, None] * length, LEAST)
        each = share / np.maximum(removed, 1e-300)
        away = (stretch * removed / (n or 1.0)) ** 2
        return np.stack([(share * stretch) @ (1.0 / kept), (each * away) @ length]), each @ np.log(kept)


def _times(rows: Array, matrix: Array) -> Array:
    """Return rows (n, p) @ matrix (p, a); of one column without the BLAS, whose call would take longer."""
    return rows * matrix if len(matrix) == 1 else rows @ matrix


def _lengths(rows: Array) -> Array:
    """Return the squared lengths (n, 1) of rows."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows)[:, None])


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


# ── Gaussian classes, their scores over the whole grid of strengths and spheres ───────────────────────────────────────


STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, np.inf)  # a: from nearly quadratic to linear
SPHERES = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0)  # γ: from full to equal variances
JITTER = 1e-10  # added to the diagonal of B, in which columns have variance 1
MOST_WEIGHTS = 8  # of rows, for which the pencil is diagonalised anew


@dataclass(frozen=True, slots=True)
class WishartClasses:
    """Class weights (k,), means (k, p) and scatters (k, p, p); `tau`, frozen, is the variance of the sphere."""

    stats: GaussianStats
    tau: float = field(default=0.0)

    def __post_init__(self) -> None:
        if not self.tau:
            p = self.within.shape[0]
            object.__setattr__(self, "tau", max(float(np.trace(self.within)) / self.freedom / max(p, 1), 1e-8))

    @property
    def within(self) -> Array:
        """The pooled scatter W (p, p)."""
        return np.asarray(self.stats.scatter.values.sum(axis=0))

    @property
    def freedom(self) -> float:
        """ν = N − K."""
        return max(float(self.stats.weight.sum()) - len(self.stats.weight), 2.0)

    def restricted(self, columns: Codes) -> WishartClasses:
        """Return the member of some of the columns, in the same units and with the same sphere."""
        if len(columns) == self.stats.mean.shape[1]:
            return self
        return WishartClasses(of_columns(self.stats, columns.tolist()), self.tau)

    def density(self, strength: float, sphere: float) -> MultivariateT:
        """Return the predictive densities of new rows, one Student t per class."""
        weight = np.maximum(self.stats.weight, 0.5)
        p = self.stats.mean.shape[1]
        base = self._base(self.within, sphere, self.freedom)
        if np.isinf(strength):
            df = np.full(len(weight), self.freedom + 1.0)
            scale = Full.factor(base[None] * (self.freedom / df[0]))
        else:
            df = strength + weight + 1.0
            scale = Full.factor((strength * base + self.stats.scatter.values) / df[:, None, None])
        return MultivariateT(self.stats.mean, scale, tuple(range(p)), df, 1.0 + 1.0 / weight)

    def posterior_mean(self, strength: float, sphere: float) -> Array:
        """Return (a B + S_k) / (a + n_k), (k, p, p), or B, (1, p, p), for a = ∞: covariances to use as if known."""
        base = self._base(self.within, sphere, self.freedom)[None]
        if np.isinf(strength):
            return base
        return np.asarray((strength * base + self.stats.scatter.values) / (strength + self.stats.weight)[:, None, None])

    def path(
        self,
        left: LeftOut,
        strengths: tuple[float, ...] = STRENGTHS,
        spheres: tuple[float, ...] = SPHERES,
        balanced: bool = True,
        rough: bool = False,
    ) -> Iterator[tuple[float, float, Array]]:
        """Yield (γ, a, F): F (n, k) log densities of each row under every class, made without the row.

        With more than eight different weights, ν loses that of the nearest rows; if `rough`, that of all on average,
        which compares settings as well and takes one pencil for each. `balanced` takes an average own row from the
        other classes too: else the class of the row, smaller by one row than at prediction, is told apart by that alone
        where p is near n_k.
        """
        finite = np.array([a for a in strengths if np.isfinite(a)])
        endless = any(np.isinf(a) for a in strengths)
        removal = Removal.of(self.stats.weight, left)
        groups = [(slice(None), removal.usual)] if rough else list(_by_weight(left.removed))
        for sphere in spheres:
            scores, tied = self._at(removal, left, sphere, groups[0][1], finite, endless, balanced)
            for rows, lost in groups[1:]:
                some, last = self._at(removal, left, sphere, lost, finite, endless, balanced)
                scores[:, rows], tied[rows] = some[:, rows], last[rows]
            for a, found in zip(finite, scores, strict=True):
                yield sphere, float(a), found
            if endless:
                yield sphere, np.inf, tied

    def own_path(self, left: LeftOut) -> Iterator[tuple[float, float, Array]]:
        """Yield (γ, a, f): f (n,) under the own class of each row, as rough and unbalanced `path` has it."""
        removal = Removal.of(self.stats.weight, left)
        freedom = np.maximum([self.freedom - removal.usual], 1.0)
        every = OwnClass.of(STRENGTHS, removal, freedom, left.rows.shape[1])
        pencils = [whitened(self._base(self.within, sphere, float(freedom[0]))) for sphere in SPHERES]
        turns, log_det = np.stack([turn for turn, _ in pencils]), np.array([[own] for _, own in pencils])
        scores = np.empty((len(SPHERES), len(left.rows), len(STRENGTHS)))
        for c in np.unique(left.codes).tolist():
            rows = np.flatnonzero(left.codes == c)
            values, vectors = np.linalg.eigh(turns @ self.stats.scatter.values[c] @ turns.transpose(0, 2, 1))
            along = ((left.rows[rows] - self.stats.mean[c]) @ (turns.transpose(0, 2, 1) @ vectors)) ** 2
            values = np.maximum(values, 0.0)[:, None]
            scores[:, rows] = every.take(rows).scores(np.array(SPHERES), along, values, log_det)
        for sphere, found in zip(SPHERES, scores, strict=True):
            for a, own in zip(STRENGTHS, found.T, strict=True):
                yield sphere, float(a), own

    def own_left_out(self, left: LeftOut, seen: Codes) -> Iterator[tuple[float, float, Array]]:
        """Yield (γ, a, f): f (n,) log densities, under the own class, of cells (n, o) in the columns `seen` (n, o).

        Each row is left out, as in `path` unbalanced; its pencil (B, S_c) in its columns is diagonalised for all a.
        """
        removal, o = Removal.of(self.stats.weight, left), seen.shape[1]
        freedom = np.maximum(self.freedom - left.removed, 1.0)
        every, square = OwnClass.of(STRENGTHS, removal, freedom, o), (seen[:, :, None], seen[:, None, :])
        scatter = self.stats.scatter.values[(left.codes[:, None, None], *square)]
        own = left.rows - self.stats.mean[left.codes[:, None], seen]
        for sphere in SPHERES:
            lower = np.linalg.cholesky(self.bases(square, sphere, freedom))
            log_det = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
            half = np.linalg.solve(lower, scatter)
            values, vectors = np.linalg.eigh(np.linalg.solve(lower, half.transpose(0, 2, 1)))
            turned = np.linalg.solve(lower, own[:, :, None]).transpose(0, 2, 1) @ vectors
            scores = every.scores(sphere, turned[:, 0] ** 2, np.maximum(values, 0.0), log_det)
            for a, found in zip(STRENGTHS, scores.T, strict=True):
                yield sphere, a, found

    def new_rows_path(
        self, rows: Array, strengths: tuple[float, ...], spheres: tuple[float, ...]
    ) -> Iterator[tuple[float, float, Array]]:
        """Yield (γ, a, F): F (n, k) log densities of new rows, as `density(a, γ).log_density` gives them."""
        (n, p), weight, (no, one) = rows.shape, np.maximum(self.stats.weight, 0.5), (np.zeros(1), np.ones(1))
        freedom = np.array([self.freedom])
        classes = [OwnClass.of(strengths, Removal(no, own, one, 0.0), freedom, p) for own in weight[:, None]]
        for sphere in spheres:
            turn, log_det = whitened(self._base(self.within, sphere, self.freedom))
            values, vectors = np.linalg.eigh(turn @ self.stats.scatter.values @ turn.T)
            values, scores = np.maximum(values, 0.0)[:, None], np.empty((len(strengths), n, len(weight)))
            for c, own in enumerate(classes):
                along = ((rows - self.stats.mean[c]) @ (turn.T @ vectors[c])) ** 2
                scores[:, :, c] = own.scores(sphere, along, values[c], np.array([log_det])).T
            yield from zip([sphere] * len(strengths), strengths, scores, strict=True)

    def _base(self, within: Array, sphere: float, freedom: float) -> Array:
        base = (1.0 - sphere) / freedom * within
        base[np.diag_indices(len(base))] += sphere * self.tau + JITTER
        return np.asarray(base)

    def bases(self, square: tuple[Codes, Codes], sphere: float, freedom: Array) -> Array:
        """Return the blocks of B (n, o, o) of some columns, for each row with its own ν (n,)."""
        base = ((1.0 - sphere) / freedom)[:, None, None] * self.within[square]
        index = np.arange(base.shape[1])
        base[:, index, index] += sphere * self.tau + JITTER
        return np.asarray(base)

    def _at(
        self, removal: Removal, left: LeftOut, sphere: float, lost: float, finite: Array, endless: bool, balanced: bool
    ) -> tuple[Array, Array]:
        """Return F for the finite strengths (a, n, k) and for a = ∞ (n, k), at one γ, as if ν lost as much for all."""
        n, k, freedom = len(left.rows), len(self.stats.weight), max(self.freedom - lost, 1.0)
        scores, tied = np.empty((len(finite), n, k)), np.full((n, k), np.nan)
        every = Pencil.of(self.stats, self._base(self.within, sphere, freedom), sphere, freedom, left, removal)
        for c in range(k):
            if len(finite):
                scores[:, :, c] = every.finite(c, finite, balanced)
            if endless:
                tied[:, c] = every.tied(c)
        return scores, tied


def _by_weight(removed: Array) -> Iterator[tuple[Flags, float]]:
    """Yield rows that lose about as much weight, as a mask (n,), and how much: exactly, unless weights are many."""
    amounts = np.unique(removed)
    for near in np.array_split(amounts, min(len(amounts), MOST_WEIGHTS)):
        yield (removed >= near[0]) & (removed <= near[-1]), float(near[0] if len(near) == 1 else near.mean())
