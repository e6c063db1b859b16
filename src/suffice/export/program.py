"""A fitted model as plain data: everything needed to score a row, and nothing else. Exports are written from it.

A `Program` is a list of *columns* (what a row has), *codes* and *readings* (what is read off a row), *terms* (what
these add to the log density of each class) and the rule that combines them. `lower.lower(model)` makes it of any
estimator; the tests run it in NumPy. Letters in shapes: `k` classes, `m` components, `d` the readings of one term, `g`
covariances (one per component, or one for all), `L` levels.

Columns
    `Column(name, kind, levels)`: "number" (float64, NaN missing), "truth" (a truth value read as the number 0 or 1)
    or "category" (text, whole numbers, numbers or truth values; `levels` are Python values of these types).

Codes: one whole number per row, −1 where the cell is missing
    `Code(column, levels)`       number of the level, L where it is none of the levels
    `Bin(reading, cuts)`         how many cuts are at most the number (`searchsorted`, side="right")

Readings: one number per row, NaN where missing (only `Indicator` and `Projected` ever turn missing into a number)
    `Number(column)`             the cell; a truth value is 0 or 1
    `Scaled(reading, centre, scale)`            (x − centre) / scale
    `Interpolated(reading, knots, values, low, high)`  linear between knots (the value if there is one knot); beyond the
                                 ends linear with the slopes `low` and `high`, by at most 1 (see the class)
    `Indicator(code, level, keeps_missing)`     1 where the code is `level`, else 0; where the cell is missing NaN if
                                 `keeps_missing`, and otherwise compared like any other (level −1 is "missing")
    `Projected(readings, weight)`               Σ weight_j x_j, a missing x_j counting 0

Terms: (n, k) log densities in nats, a missing reading or code integrated out (it adds nothing where readings are
independent)
    `Normal`          multivariate Gaussian (df = ∞) or Student t over d readings, (n, m) with m = k when it is a term
    `Mixture`         log Σ over the components of a class of weight × Normal
    `LocationScale`   independent Laplace or Student t readings
    `Table`           log probabilities by code
    `Counts`          densities linear in counts: Poisson, Bernoulli, multinomial
    `PiecewiseLinear`            piecewise linear in one reading
    `Pairs`           averaged one-dependence estimators over codes
    `TreeSums`        sums over the leaves that a row ends in, one of each tree; a missing code goes a way of its own

Zero probabilities (smoothing 0): `Table` and `Counts` give (order, log coefficient): the density is
coefficient · α^order as smoothing α → 0. All other terms have order 0. The log density of a class is its coefficient
where the order is 0, and −∞ elsewhere; posteriors are those of the classes of least order (so the usual ones where any
class has order 0): see `Program`.

Combination
    score_k = log_prior_k + Σ over `joint` of terms; log p(x) = log Σ_k exp(score_k) over classes of order 0;
    without a stack the posterior is softmax(score) over the classes of least order.
    `Stack`: η_k = offset_k + Σ_w by_known_w (bias_w,k + Σ_t weight_w,t (F_t,k − mean over classes of F_t)), the row of
    `by_known` being that of the number of cells known; posterior = (1 − floor) softmax(η)_k + floor · π_k; a row in
    which no known cell says anything has the posterior `shares`. Its terms have no zeros.
    Beside a stack the joint density may have no terms at all (a forest's has none): there is no log p(x) then.
The label is the first class of largest posterior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .._arrays import Array, Codes, Flags
from ..schema import Level, Name

# --- columns, codes and readings -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: its name (a position if the table had no names) and "number", "truth" or "category".

    `levels` are all that the model knows of a category, typed; empty for numbers and truth values. `blank_is_level`:
    the empty text is one of them, and no cell of the rows learned was missing.
    """

    name: Name
    kind: str
    levels: tuple[Level, ...] = ()
    blank_is_level: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """The number of a category's level: −1 missing, len(levels) where the cell is none of the levels.

    Of a column in which no row learned has a value, `empty`, every cell counts as missing.
    """

    column: int
    levels: tuple[Level, ...]
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Bin:
    """How many of the ascending `cuts` are at most the reading: 0 to len(cuts); −1 missing."""

    reading: int
    cuts: Array


@dataclass(frozen=True, slots=True)
class Number:
    """The number in a column; missing everywhere in an `empty` one, in which no row learned has a value."""

    column: int
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Scaled:
    """(x − centre) / scale of another reading."""

    reading: int
    centre: float
    scale: float


@dataclass(frozen=True, slots=True)
class Interpolated:
    """Linear between ascending `knots` (B,) with `values` (B,); values[0] everywhere if there is one knot.

    Below the first knot max(values[0] + low (x − knots[0]), values[0] − 1), above the last
    min(values[−1] + high (x − knots[−1]), values[−1] + 1).
    """

    reading: int
    knots: Array
    values: Array
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Indicator:
    """1.0 where the code is `level`, else 0.0; NaN where it is −1 if `keeps_missing`."""

    code: int
    level: int
    keeps_missing: bool


@dataclass(frozen=True, slots=True)
class Projected:
    """Σ weight_j x_j over other readings, a missing one counting 0; never missing itself."""

    readings: tuple[int, ...]
    weight: Array


CodeReading = Code | Bin
Reading = Number | Scaled | Interpolated | Indicator | Projected

# --- terms -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dense:
    """Covariances (g, d, d), with lower triangular `whitener` W (g, d, d), W Σ Wᵀ = I, and `log_det` (g,) of Σ."""

    covariance: Array
    whitener: Array
    log_det: Array


@dataclass(frozen=True, slots=True)
class Independent:
    """Diagonal covariances: `variance` (g, d)."""

    variance: Array


@dataclass(frozen=True, slots=True)
class Factors:
    """Σ = diag(scale) (F Fᵀ + floor · I) diag(scale): `scale` (g, d), loadings F (d, r) of each, `floor` (g,).

    For more columns than rows; d × d matrices need not be made: with z the scaled observed cells, F_o their rows of F
    and y = (F_oᵀ F_o + floor I)⁻¹ F_oᵀ z, the distance is |z − F_o y|² / floor + |y|².
    """

    scale: Array
    loadings: tuple[Array, ...]
    floor: Array


@dataclass(frozen=True, slots=True)
class Normal:
    """Multivariate Gaussians or Student t's over `readings` (d): `location` (m, d), df (m,) (∞: Gaussian).

    With o observed readings, q = (x − location)ᵀ Σ_oo⁻¹ (x − location) / inflation (m,) over these,

        log density = constant[:, o] − ½ log |Σ_oo| − ((df + o) / 2) log(1 + q / df),     q / 2 where df = ∞,

    and 0 for o = 0. `constant` (m, d + 1) holds everything else, the factor of inflation in the determinant included.
    """

    readings: tuple[int, ...]
    location: Array
    spread: Dense | Independent | Factors
    df: Array
    inflation: Array
    constant: Array


@dataclass(frozen=True, slots=True)
class Mixture:
    """log Σ exp(log_weight + parts) over the components of each class: `owner` (m,) ascending class numbers."""

    parts: Normal
    owner: tuple[int, ...]
    log_weight: Array


@dataclass(frozen=True, slots=True)
class LocationScale:
    """Independent readings (d): Σ_j constant_kj + kernel(|x_j − location_kj| / scale_kj) over the observed ones.

    `shape` "laplace" has the kernel −z; "student" −((df + 1) / 2) log(1 + z² / df), and −z² / 2 where df = ∞.
    All arrays are (k, d), `constant` with −log scale in it; `df` is ∞ for Laplace.
    """

    readings: tuple[int, ...]
    shape: str
    location: Array
    scale: Array
    df: Array
    constant: Array


@dataclass(frozen=True, slots=True)
class Table:
    """log_p[:, code], `log_p` (k, L + 1), the last entry for a category never seen; missing adds 0.

    `order` (k, L + 1) is 1 where the probability is zero and `log_p` the log coefficient of its approach; None where
    no probability is zero.
    """

    code: int
    log_p: Array
    order: Array | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Σ_j x_j per_count_kj + per_cell_kj − [log_factorial] log x_j! over the observed readings; arrays are (k, d).

    The order is Σ_j x_j order_per_count_kj + order_per_cell_kj over the same; None where there is no zero probability.
    `law` is "poisson", which has `log_factorial`, "bernoulli" or "multinomial".
    """

    law: str
    readings: tuple[int, ...]
    per_count: Array
    per_cell: Array
    log_factorial: bool = False
    order_per_count: Array | None = None
    order_per_cell: Array | None = None


@dataclass(frozen=True, slots=True)
class PiecewiseLinear:
    """Linear in one reading between ascending `knots` (B,), constant beyond: `values` (k, B); missing adds 0."""

    reading: int
    knots: Array
    values: Array


@dataclass(frozen=True, slots=True)
class Pairs:
    """log of the mean over observed parents u of exp(alone_k[u] + Σ_v given_k[u, v]), v the other observed columns.

    `sizes[j]` levels of code j start at `starts[j]` of the L in `alone` (k, L) and `given` (k, L, L), parents first; a
    code outside 0 … sizes[j] − 1 is missing. `given` is 0 between levels of one column. Without any observed column 0.

    Both are made of `counts` (k, L, L), the weight of rows that have two levels, smoothed by `strength`: fewer digits.
    """

    codes: tuple[int, ...]
    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    alone: Array
    given: Array
    counts: Array
    strength: float


@dataclass(frozen=True, slots=True)
class TreeSums:
    """link(Σ over trees of values[leaf of the row]) + base: `values` (L, k), `base` (k,), `cover` (L,) of the leaves.

    A node (m) asks for `column`, a place in `codes` (−1 at leaves): a row goes `left` where that code is at most
    `threshold`, else `right`; where it is −1 to the right if `missing_right` says so, else to the left. Nodes come
    after their parents, tree by tree; `roots` (t,) begin the trees, and leaves are numbered in the order of nodes. With
    `logs` the link is log(max(·, 1e-300)), else there is none. `cover` is the weight of the rows in each leaf: no score
    needs it, but what each column adds to one does.
    """

    codes: tuple[int, ...]
    column: Codes
    threshold: Codes
    left: Codes
    right: Codes
    missing_right: Flags
    roots: Codes
    values: Array
    base: Array
    logs: bool
    cover: Array


Term = Normal | Mixture | LocationScale | Table | Counts | PiecewiseLinear | Pairs | TreeSums

# --- the whole -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stack:
    """A log-linear pool of `terms` (numbers in the program), with `weight` (w, terms) and `bias` (w, k) in nats.

    `offset` (k,) are the log class priors. Which of the w weights and biases count, `by_known` (counts, w) says by the
    number of cells that are known: those of `known_readings` that are not missing, and of `known_codes` that are a
    known level. Its last row stands for all larger numbers; w is 1 where that makes no difference. `floor` is the share
    of `prior` (k,) mixed into posteriors. `shares` (k,) are the posterior of a row of which none of these is known.
    """

    terms: tuple[int, ...]
    weight: Array
    bias: Array
    by_known: Array
    offset: Array
    floor: float
    prior: Array
    shares: Array
    known_readings: tuple[int, ...]
    known_codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """How rows are scored: see the head of this file. `log_prior` (k,) in nats is −∞ for a class of prior 0.

    `joint` are the numbers of the terms of the joint density p(x, class), which `log_density` is read off, and without
    a `stack` the posterior too; None where there is a stack and no terms express the density, so that the program
    answers without it. A class whose score is −∞ (prior 0) counts as of infinite order; where all do, the posterior
    is the prior. `constants` has the values (k,) of columns that no term reads, as they never varied in a
    class. `named` says whether columns go by name or by position; `estimator` is the name of the class, for messages.
    `blank` are texts that mean a missing cell in a file such as the model learned from, where it did from one, and
    `trimmed` says that spaces around texts were taken away there.
    """

    estimator: str
    classes: tuple[Level, ...]
    columns: tuple[Column, ...]
    named: bool
    codes: tuple[CodeReading, ...]
    readings: tuple[Reading, ...]
    terms: tuple[Term, ...]
    log_prior: Array
    joint: tuple[int, ...] | None
    stack: Stack | None = None
    constants: Mapping[int, Array] = field(default_factory=dict)
    blank: tuple[str, ...] = ()
    trimmed: bool = False

    @property
    def has_zeros(self) -> bool:
        """Whether some probability is zero, so that orders matter."""
        return any(
            (isinstance(term, Table) and term.order is not None)
            or (isinstance(term, Counts) and (term.order_per_count is not None or term.order_per_cell is not None))
            for term in self.terms
        )
