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
from dataclasses import dataclass, field

from .._arrays import (
    IN_MEMORY,
    Array,
    Codes,
    NDArray,
    cholesky,
    eigh,
    gammaln,
    invert_triangular,
    np,
    row_chunks,
    rows_within,
)
from ..densities import Full, MultivariateT
from ..stats import FullScatter, GaussianStats

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, np.inf)
SPHERES = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0)
JITTER = 1e-10
MOST_WEIGHTS = 8  # of rows, for which the pencil is diagonalised anew
LEAST = 1e-9  # of 1 − β dᵀ M⁻¹ d: the determinant may not vanish


def log_student(squares: Array, log_det: Array, weight: Array | float, df: Array | float, p: int) -> Array:
    """Return the log predictive density where A is a scatter-like matrix: squares = rᵀ A⁻¹ r, log_det = log |A|.

    log Γ((ν + p) / 2) − log Γ(ν / 2) − (p / 2) log π − ½ log |A| − (p / 2) log(1 + 1 / n) − ((ν + p) / 2) log(1 +
    squares · n / (n + 1)) with ν = df and n = `weight`, the rows behind the mean.
    """
    constant = gammaln((df + p) / 2) - gammaln(df / 2) - 0.5 * p * (np.log(np.pi) + np.log1p(1.0 / weight))
    return np.asarray(constant - 0.5 * log_det - 0.5 * (df + p) * np.log1p(squares * weight / (weight + 1.0)))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows (n, p) of known class `codes` (n,), each to be scored without its weight `removed` (n,)."""

    rows: Array
    codes: Codes
    removed: Array
    weight: Array  # what each stands for among the rows of its class


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
        scatter = FullScatter(self.stats.scatter.values[:, columns][:, :, columns])
        stats = GaussianStats(self.stats.weight, self.stats.mean[:, columns], scatter, FullScatter)
        return WishartClasses(stats, self.tau)

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
        endless, shape = any(np.isinf(a) for a in strengths), (len(left.rows), len(self.stats.weight))
        removal = _Removal.of(self, left)
        groups = [(slice(None), removal.usual)] if rough else list(_by_weight(left.removed))
        for sphere in spheres:
            scores, tied = np.empty((len(finite), *shape)), np.empty(shape)
            for rows, lost in groups:
                some, last = self._at(removal, left, sphere, lost, finite, endless, balanced)
                scores[:, rows], tied[rows] = some[:, rows], last[rows]
            for a, found in zip(finite, scores, strict=True):
                yield sphere, float(a), found
            if endless:
                yield sphere, np.inf, tied

    def marginals(self, left: LeftOut, strength: float, sphere: float) -> Array:
        """Return log densities (n, k) of the cells that are not missing (NaN), each row left out, balanced."""
        cells = left.rows
        out = np.zeros((len(cells), len(self.stats.weight)))
        k, width = out.shape[1], cells.shape[1]
        count = (~np.isnan(cells)).sum(axis=1)
        for o in np.unique(count[count > 0]):
            index = np.flatnonzero(count == o)
            for part in row_chunks(len(index), rows_within(8 * k * o * o, IN_MEMORY) if o < width else len(index)):
                rows = index[part]
                seen = np.nonzero(~np.isnan(cells[rows]))[1].reshape(len(rows), o)
                own = np.take_along_axis(cells[rows], seen, axis=1)
                some = LeftOut(own, left.codes[rows], left.removed[rows], left.weight[rows])
                if o == width:
                    ((_, _, out[rows]),) = self.path(some, (strength,), (sphere,))
                else:
                    out[rows] = self.marginal_left_out(some, seen, strength, sphere)
        return out

    def marginal_left_out(self, left: LeftOut, seen: Codes, strength: float, sphere: float) -> Array:
        """Return log densities (n, k) of cells (n, o) in the columns `seen` (n, o), each row left out, balanced.

        The formulas are those of `path`, on the blocks of the matrices that belong to the columns a row has; what an
        average row of another class would take away is known from traces, as Σ_j d_jᵀ M⁻¹ d_j = tr(M⁻¹ S).
        """
        removal, o = _Removal.of(self, left), seen.shape[1]
        freedom, endless = np.maximum(self.freedom - left.removed, 1.0), bool(np.isinf(strength))
        square = seen[:, :, None], seen[:, None, :]
        base = self._bases(square, sphere, freedom)[:, None]
        scatter = np.moveaxis(self.stats.scatter.values[(slice(None), *square)], 0, 1)  # (n, k, o, o)
        matrix = base * freedom[:, None, None, None] if endless else strength * base + scatter
        inverse, log_det = np.linalg.inv(matrix), np.linalg.slogdet(matrix)[1]
        means = np.moveaxis(self.stats.mean[:, seen], 0, 1)  # (n, k, o)
        rows = np.arange(len(seen))
        shift, own = left.rows[:, None] - means, left.rows - means[rows, left.codes]
        half, turned = np.matmul(inverse, own[:, None, :, None])[..., 0], np.matmul(inverse, shift[..., None])[..., 0]
        length, cross = np.einsum("nko,no->nk", half, own), np.einsum("nko,nko->nk", half, shift)
        mine = np.zeros(means.shape[:2], dtype=bool)
        mine[rows, left.codes] = True
        lighter = ((1.0 - sphere) * (1.0 if endless else strength / freedom) * removal.h)[:, None]
        beta = lighter if endless else lighter + np.where(mine, removal.h[:, None], 0.0)
        left_over = np.maximum(1.0 - beta * length, LEAST)
        stretch = np.where(mine, removal.stretch[:, None], 1.0)
        squares = np.einsum("nko,nko->nk", turned, shift) * stretch**2 + beta * (cross * stretch) ** 2 / left_over
        log_dets = log_det + np.log(left_over)
        weight = np.where(mine, removal.rest[:, None], np.maximum(self.stats.weight, 0.5))
        n, lost = self.stats.weight, removal.usual
        if not endless:
            others = ~mine & (n > lost)
            fewer = np.where(n > lost, n - lost, 1.0)
            times = (left.removed / lost if lost > 0 else np.zeros(len(rows)))[:, None]
            usual = np.einsum("nkij,nkij->nk", inverse, scatter) / np.maximum(n, 1e-300)
            kept = np.maximum(1.0 - lost * n / fewer * usual, LEAST)
            pulled = np.einsum("nki,nkij,nkj->nk", turned, scatter, turned)
            squares = squares + others * times * (lost / fewer / kept * pulled + usual * (lost / fewer) ** 2)
            log_dets = log_dets + others * times * np.log(kept)
            weight = np.maximum(weight - others * left.removed[:, None], 0.5)
        df = freedom[:, None] + 1.0 if endless else strength + weight + 1.0
        return log_student(squares, log_dets, weight, df, o)

    def own_left_out(self, left: LeftOut, seen: Codes) -> Iterator[tuple[float, float, Array]]:
        """Yield (γ, a, f): f (n,) log densities, under the own class, of cells (n, o) in the columns `seen` (n, o).

        Each row is left out, as in `path` unbalanced; its pencil (B, S_c) in its columns is diagonalised for all a.
        """
        removal, o = _Removal.of(self, left), seen.shape[1]
        freedom = np.maximum(self.freedom - left.removed, 1.0)
        finite = np.array([a for a in STRENGTHS if np.isfinite(a)])
        square = seen[:, :, None], seen[:, None, :]
        scatter = self.stats.scatter.values[(left.codes[:, None, None], *square)]
        own = left.rows - self.stats.mean[left.codes[:, None], seen]
        for sphere in SPHERES:
            lower = np.linalg.cholesky(self._bases(square, sphere, freedom))
            log_det = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
            half = np.linalg.solve(lower, scatter)
            values, vectors = np.linalg.eigh(np.linalg.solve(lower, half.transpose(0, 2, 1)))
            turned = np.linalg.solve(lower, own[:, :, None]).transpose(0, 2, 1) @ vectors
            along, values = turned[:, 0] ** 2, np.maximum(values, 0.0)
            lighter = (1.0 - sphere) / freedom * removal.h
            for a in finite.tolist():
                length = (along / (a + values)).sum(axis=1)
                kept = np.maximum(1.0 - (a * lighter + removal.h) * length, LEAST)
                det = log_det + np.log(a + values).sum(axis=1) + np.log(kept)
                squares = removal.stretch**2 * length / kept
                yield sphere, a, log_student(squares, det, removal.rest, a + removal.rest + 1.0, o)
            length = along.sum(axis=1)
            kept = np.maximum(1.0 - lighter * length, LEAST)
            squares = removal.stretch**2 * length / kept / freedom
            det = log_det + o * np.log(freedom) + np.log(kept)
            yield sphere, np.inf, log_student(squares, det, removal.rest, freedom + 1.0, o)

    def new_rows_path(
        self, rows: Array, strengths: tuple[float, ...], spheres: tuple[float, ...]
    ) -> Iterator[tuple[float, float, Array]]:
        """Yield (γ, a, F): F (n, k) log densities of new rows, as `density(a, γ).log_density` gives them."""
        p, k = self.stats.mean.shape[1], len(self.stats.weight)
        finite = np.array([a for a in strengths if np.isfinite(a)])
        weight = np.maximum(self.stats.weight, 0.5)
        for sphere in spheres:
            lower = cholesky(self._base(self.within, sphere, self.freedom), lower=True)
            log_det, turn = 2.0 * float(np.log(np.diagonal(lower)).sum()), invert_triangular(lower)
            turned, means = rows @ turn.T, self.stats.mean @ turn.T
            scores, tied = np.empty((len(finite), len(rows), k)), np.empty((len(rows), k))
            values, vectors = np.linalg.eigh(turn @ self.stats.scatter.values @ turn.T)
            values = np.maximum(values, 0.0)
            for c in range(k):
                shift = turned - means[c]
                squares = np.einsum("ij,ij->i", shift, shift) / self.freedom
                tied[:, c] = log_student(squares, log_det + p * np.log(self.freedom), weight[c], self.freedom + 1.0, p)
                shift = shift @ vectors[c]
                levels = finite + values[c][:, None]
                found = log_student(
                    (shift * shift) @ (1.0 / levels),
                    log_det + np.log(levels).sum(axis=0),
                    weight[c],
                    finite + weight[c] + 1.0,
                    p,
                )
                scores[:, :, c] = found.T
            for a, own in zip(finite, scores, strict=True):
                yield sphere, float(a), own
            if any(np.isinf(a) for a in strengths):
                yield sphere, np.inf, tied

    def _base(self, within: Array, sphere: float, freedom: float) -> Array:
        base = (1.0 - sphere) / freedom * within
        base[np.diag_indices(len(base))] += sphere * self.tau + JITTER
        return np.asarray(base)

    def _bases(self, square: tuple[Codes, Codes], sphere: float, freedom: Array) -> Array:
        """Return the blocks of B (n, o, o) of some columns, for each row with its own ν (n,)."""
        base = ((1.0 - sphere) / freedom)[:, None, None] * self.within[square]
        index = np.arange(base.shape[1])
        base[:, index, index] += sphere * self.tau + JITTER
        return np.asarray(base)

    def _at(
        self, removal: _Removal, left: LeftOut, sphere: float, lost: float, finite: Array, endless: bool, balanced: bool
    ) -> tuple[Array, Array]:
        """Return F for the finite strengths (a, n, k) and for a = ∞ (n, k), at one γ, as if ν lost as much for all."""
        n, p, k = len(left.rows), self.stats.mean.shape[1], len(self.stats.weight)
        freedom = max(self.freedom - lost, 1.0)
        lower = cholesky(self._base(self.within, sphere, freedom), lower=True)
        log_det = 2.0 * float(np.log(np.diagonal(lower)).sum())
        turn = invert_triangular(lower)
        rows, means = left.rows @ turn.T, self.stats.mean @ turn.T
        own = rows - means[left.codes]
        lighter = (1.0 - sphere) / freedom * removal.h
        scores, tied = np.empty((len(finite), n, k)), np.empty((n, k))
        length = np.einsum("ij,ij->i", own, own)
        for c in range(k):
            mine = left.codes == c
            shift = rows - means[c]
            stretch = np.where(mine, removal.stretch, 1.0)
            weight = np.where(mine, removal.rest, np.maximum(self.stats.weight[c], 0.5))
            if endless:
                squares = np.einsum("ij,ij->i", shift, shift) * stretch**2
                cross = np.einsum("ij,ij->i", shift, own) * stretch
                left_over = np.maximum(1.0 - lighter * length, LEAST)
                squares = (squares + lighter * cross**2 / left_over) / freedom
                whole_det = log_det + p * np.log(freedom) + np.log(left_over)
                tied[:, c] = log_student(squares, whole_det, weight, freedom + 1.0, p)
            if len(finite):
                one = _OneClass(self, c, finite, mine, stretch, weight, lighter, log_det, balanced)
                scores[:, :, c] = one.scores(turn, shift, own, removal, left)
        return scores, tied


def _by_weight(removed: Array) -> Iterator[tuple[NDArray[np.bool_], float]]:
    """Yield rows that lose about as much weight, as a mask (n,), and how much: exactly, unless weights are many."""
    amounts = np.unique(removed)
    for near in np.array_split(amounts, min(len(amounts), MOST_WEIGHTS)):
        yield (removed >= near[0]) & (removed <= near[-1]), float(near[0] if len(near) == 1 else near.mean())


@dataclass(frozen=True, slots=True)
class _Removal:
    """What taking each row away does: h = w n_c / (n_c − w), rows left n_c − w, and n_c / (n_c − w), by row (n,)."""

    h: Array
    rest: Array
    stretch: Array
    usual: float  # the weight of a row, on average

    @classmethod
    def of(cls, member: WishartClasses, left: LeftOut) -> _Removal:
        weight = member.stats.weight[left.codes]
        rest = weight - left.removed
        some = rest > 1e-9 * weight
        stretch = np.where(some, weight / np.where(some, rest, 1.0), 1.0)
        usual = float(np.average(left.removed, weights=left.weight)) if len(left.removed) else 1.0
        return cls(np.where(some, left.removed * stretch, 1.0), np.maximum(rest, 0.5), stretch, usual)


@dataclass(frozen=True, slots=True)
class _OneClass:
    """One class c at one γ, for all finite strengths a at once."""

    member: WishartClasses
    c: int
    finite: Array
    mine: NDArray[np.bool_]
    stretch: Array
    weight: Array
    lighter: Array
    log_det: float
    balanced: bool

    def scores(self, turn: Array, shift: Array, own: Array, removal: _Removal, left: LeftOut) -> Array:
        """Return F (a, n) of this class."""
        finite, mine = self.finite, self.mine
        values, vectors = eigh(turn @ self.member.stats.scatter.values[self.c] @ turn.T)
        values = np.maximum(values, 0.0)
        shift, own = shift @ vectors, own @ vectors
        inner = 1.0 / (finite + values[:, None])  # (p, a)
        squares = (shift * shift) @ inner
        cross, length = (shift * own) @ inner, (own * own) @ inner
        log_det = self.log_det + np.log(finite + values[:, None]).sum(axis=0)
        beta = finite * self.lighter[:, None] + np.where(mine, removal.h, 0.0)[:, None]
        left_over = np.maximum(1.0 - beta * length, LEAST)
        squares = squares * self.stretch[:, None] ** 2 + beta * (cross * self.stretch[:, None]) ** 2 / left_over
        log_dets = log_det + np.log(left_over)
        weight = np.broadcast_to(self.weight[:, None], squares.shape)
        n = self.member.stats.weight[self.c]
        if self.balanced and mine.any():
            # as much as the row itself weighs, taken from the rows j of this class in proportion to their weights
            others = (~mine & (n > left.removed))[:, None]
            share = left.weight[mine] / left.weight[mine].sum()
            removed, lost = left.removed[mine], left.removed[:, None]
            kept = np.maximum(1.0 - removal.h[mine][:, None] * length[mine], LEAST)
            fewer = np.where(others, n - lost, n)
            each = share / np.maximum(removed, 1e-300)
            squares = squares + others * lost / (n or 1.0) * (
                (share * removal.stretch[mine]) @ (1.0 / kept) * ((shift * shift) @ (inner**2 * values[:, None]))
            )
            away = (removal.stretch[mine] * removed / (n or 1.0)) ** 2
            squares = squares + others * lost * ((each * away) @ length[mine])
            log_dets = log_dets + others * lost * (each @ np.log(kept))
            weight = np.where(others, np.maximum(fewer, 0.5), weight)
        return log_student(squares, log_dets, weight, finite + weight + 1.0, len(values)).T
