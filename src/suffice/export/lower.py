"""A fitted model as a `Program`: its densities as terms over what is read off a row."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from .._arrays import Array, Flags, np
from .._files import MISSING_TOKENS
from ..densities import (
    Bernoulli,
    Categorical,
    Covariance,
    Density,
    Diagonal,
    Full,
    Gaussian,
    Laplace,
    LowRank,
    Mixture as MixtureDensity,
    Multinomial,
    MultivariateT,
    Poisson,
    Product,
    StudentT,
)
from ..densities.gaussian import LOG_2PI
from ..densities.student import log_t_constant
from ..errors import ExportError, either
from ..fitted import Fitted
from ..forest import ForestDensity
from ..schema import Kind, Level, Schema, sort_levels
from .program import (
    Code,
    CodeReading,
    Column,
    Counts,
    Dense,
    Factors,
    Independent,
    LocationScale,
    Mixture,
    Normal,
    Number,
    Program,
    Reading,
    Table,
    Term,
)

LAWS = {Poisson: "poisson", Bernoulli: "bernoulli", Multinomial: "multinomial"}
ROUNDING = 1e-9  # of sums of weights; one row in so many is none that a release of sums could tell

T = TypeVar("T")
LocationDensity = Gaussian | MultivariateT | Laplace | StudentT


def refuse_dates(fitted: Fitted) -> None:
    """Raise ExportError where a model has columns of dates, which a program reads as seconds since 1970-01-01."""
    dated = [column.name for column in fitted.schema.columns if column.kind is Kind.DATE]
    if dated:
        raise ExportError.dates(dated)


def lower(fitted: Fitted) -> Program:
    """Return the program of a fitted model; ExportError where its posteriors are of a density that none can express.

    Posteriors are those of `predict_proba` with the model's own priors, log p(x) that of `score_samples`: a model whose
    posteriors are those of a pool, and whose joint density is a forest's, has a program without log p(x).
    """
    joint, job = fitted.joint, Lowering(fitted.schema, fitted.empty_columns)
    pool, given = fitted.pool, None if fitted.priors is None else fitted.log_prior
    terms = None
    if pool is None or not any(isinstance(block, ForestDensity) for block in joint.density.blocks):
        terms = job.product(joint.density, [block.positions for block in fitted.joint_value.blocks])
    stack = None if pool is None else pool.lower(job, fitted.blocks[-1].positions, given)
    return Program(
        estimator=fitted.who,
        classes=tuple(joint.classes),
        columns=tuple(_with_blanks(fitted, job.columns())),
        named=fitted.schema.named,
        codes=tuple(job.codes),
        readings=tuple(job.readings),
        terms=tuple(job.terms),
        log_prior=np.asarray(joint.log_prior, dtype=np.float64),
        joint=terms,
        constants=job.constants,
        stack=stack,
        blank=() if fitted.past.dialect is None else (*MISSING_TOKENS, *fitted.past.dialect.blank),
        trimmed=fitted.past.dialect is not None and fitted.dialect.trimmed is True,
    )


def _with_blanks(fitted: Fitted, columns: tuple[Column, ...]) -> Iterator[Column]:
    """Yield the columns with whether the empty text is a level of theirs and no cell was missing."""
    for j, column in enumerate(columns):
        weights = fitted.known_levels.get(j, {})
        full = "" in column.levels and sum(weights.values()) >= fitted.statistics.total * (1.0 - ROUNDING)
        yield replace(column, blank_is_level=full)


class Lowering:
    """The lists of a program under construction; equal readings and codes are entered once.

    `empty` are the positions of the columns in which no row learned has a value.
    """

    def __init__(self, schema: Schema, empty: Collection[int] = ()) -> None:
        self.schema, self._empty = schema, empty
        self.codes: list[CodeReading] = []
        self.readings: list[Reading] = []
        self.terms: list[Term] = []
        self.constants: dict[int, Array] = {}
        self._known: dict[Hashable, int] = {}

    def add(self, term: Term) -> int:
        """Enter a term and return its number."""
        self.terms.append(term)
        return len(self.terms) - 1

    def number(self, column: int) -> int:
        """Return the number of the reading of a column."""
        return self.reading(Number(column, column in self._empty), ("number", column))

    def reading(self, reading: Reading, key: Hashable) -> int:
        """Enter a reading, once for each key, and return its number."""
        return self._once(self.readings, reading, key)

    def code(self, code: CodeReading, key: Hashable) -> int:
        """Enter a code, once for each key, and return its number."""
        return self._once(self.codes, code, key)

    def _once(self, entries: list[T], entry: T, key: Hashable) -> int:
        if key not in self._known:
            entries.append(entry)
            self._known[key] = len(entries) - 1
        return self._known[key]

    def level(self, column: int, levels: Sequence[Level]) -> int:
        """Return the number of the code of a column under a vocabulary."""
        known = tuple(levels)
        return self.code(Code(column, known, column in self._empty), ("level", column, known))

    def columns(self) -> tuple[Column, ...]:
        """Return the columns with how they are read and all levels known of them."""
        levels: dict[int, tuple[Level, ...]] = {}
        for code in self.codes:
            if isinstance(code, Code):
                levels[code.column] = sort_levels([*levels.get(code.column, ()), *code.levels])
        columns = []
        for j, column in enumerate(self.schema.columns):
            kind = "category" if j in levels else "truth" if column.kind is Kind.BOOLEAN else "number"
            columns.append(Column(column.name, kind, levels.get(j, ())))
        return tuple(columns)

    def product(self, density: Product, positions: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """Enter the terms of a joint density and return their numbers."""
        found: list[int] = []
        for block, own in zip(density.blocks, positions, strict=True):
            found += [self.add(term) for term in self._terms(block, own)]
        return tuple(found)

    def _terms(self, density: Density, positions: Sequence[int]) -> Iterator[Term]:
        if isinstance(density, Categorical):
            yield from self._tables(density, positions)
            return
        if isinstance(density, Multinomial | Bernoulli | Poisson):
            yield self._counts(density, positions)
            return
        if isinstance(density, ForestDensity):
            raise ExportError(
                f"The density of a forest, {len(density.trees):,} trees of {len(density.trees.leaf_nodes):,} leaves "
                f"for {density.k:,} classes, has no short form elsewhere: where a cell misses, a row is in many leaves "
                f"of each tree. Next: score with `{either('predict_proba', 'suffice predict')}`, "
                f"or export a {either('GenerativeClassifier or another estimator', 'model of another kind')}."
            )
        known = density.components if isinstance(density, MixtureDensity) else density
        if not isinstance(known, LocationDensity):
            raise ExportError.density(density.kind, [self.schema.names[p] for p in positions])
        self._constant(density, known, positions)
        readings = tuple(self.number(positions[j]) for j in known.used)
        if not readings:  # no column varies: no density, nothing to add
            return
        if isinstance(known, Laplace | StudentT):
            yield _location_scale(known, readings)
        elif isinstance(density, MixtureDensity) and len(density.owner) > density.k:
            owner = tuple(int(c) for c in density.owner)
            yield Mixture(normal(density.components, readings), owner, np.asarray(density.log_weight))
        else:
            yield normal(known, readings)

    def _constant(self, density: object, parts: LocationDensity, positions: Sequence[int]) -> None:
        """Enter the columns that never varied, whose place every component of a class shares."""
        centre = parts.means if isinstance(parts, Gaussian) else parts.location
        if isinstance(density, MixtureDensity):
            centre = centre[np.searchsorted(density.owner, range(density.k))]
        for j in sorted(set(range(len(positions))) - set(parts.used)):
            self.constants[positions[j]] = centre[:, j]

    def _tables(self, density: Categorical, positions: Sequence[int]) -> Iterator[Table]:
        for j, position in enumerate(positions):
            log_p, zero = density.log_p[j], np.isneginf(density.log_p[j])
            code = self.level(position, density.levels[j])
            if zero.any():
                yield Table(code, np.asarray(density.limit_log_p[j]), zero.astype(np.float64))
            else:
                yield Table(code, np.asarray(log_p))

    def _counts(self, density: Multinomial | Bernoulli | Poisson, positions: Sequence[int]) -> Counts:
        linear = density.linear
        return Counts(
            law=LAWS[type(density)],
            readings=tuple(self.number(p) for p in positions),
            per_count=np.ascontiguousarray(linear.per_count.T),
            per_cell=np.zeros(linear.per_count.T.shape) if linear.per_cell is None else np.asarray(linear.per_cell),
            log_factorial=isinstance(density, Poisson),
            order_per_count=None if linear.zero_per_count is None else np.ascontiguousarray(linear.zero_per_count.T),
            order_per_cell=linear.zero_per_cell,
        )


def normal(density: Gaussian | MultivariateT, readings: tuple[int, ...]) -> Normal:
    """Return the term of Gaussians or Student t's over the readings of their `used` columns."""
    used, d = list(density.used), len(density.used)
    if isinstance(density, Gaussian):
        m = len(density.means)
        location, covariance = density.means[:, used], density.covariance
        df, inflation = np.full(m, np.inf), np.ones(m)
    else:
        location, covariance = density.location[:, used], density.scale
        df, inflation = np.asarray(density.df, dtype=np.float64), np.asarray(density.inflation, dtype=np.float64)
    constant = np.zeros((len(location), d + 1))
    for o in range(1, d + 1):
        constant[:, o] = log_t_constant(df, o) - 0.5 * o * (LOG_2PI + np.log(inflation))
    return Normal(readings, location, _spread(covariance), df, inflation, constant)


def _spread(covariance: Covariance) -> Dense | Independent | Factors:
    if isinstance(covariance, Full):
        whitener = np.ascontiguousarray(np.moveaxis(covariance.whitener, 0, 1))
        return Dense(covariance.dense(), whitener, np.asarray(covariance.log_det))
    if isinstance(covariance, Diagonal):
        return Independent(np.asarray(covariance.variance))
    if isinstance(covariance, LowRank):
        parts = zip(covariance.basis, covariance.values, covariance.floor, strict=True)
        loadings = tuple(basis * np.sqrt(np.maximum(values - s, 0.0)) for basis, values, s in parts)
        return Factors(np.asarray(covariance.scale), loadings, np.asarray(covariance.floor))
    raise ExportError.density(type(covariance).__name__, ())


def _location_scale(density: Laplace | StudentT, readings: tuple[int, ...]) -> LocationScale:
    used = list(density.used)
    scale = density.scale[:, used]
    constant: Array = density._log_constant()[:, used] - np.log(scale)
    if isinstance(density, StudentT):
        return LocationScale(readings, "student", density.location[:, used], scale, density.df[:, used], constant)
    return LocationScale(readings, "laplace", density.location[:, used], scale, np.full(scale.shape, np.inf), constant)


def rounding(program: Program) -> float:
    """Return by how much two right ways to the same answer may differ: d ε κ (Higham 2002, Accuracy, section 10.1).

    κ is the condition number of the correlations of d columns, large where some add up to others; the largest counts.
    """
    worst = 1.0
    for term in program.terms:
        own = term.parts if isinstance(term, Mixture) else term
        if isinstance(own, Normal) and isinstance(own.spread, Dense):
            covariance = own.spread.covariance
            scale = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
            condition = np.linalg.cond(covariance / scale[:, :, None] / scale[:, None])
            worst = max(worst, covariance.shape[1] * float(condition.max(initial=0.0)))
    return float(np.finfo(np.float64).eps) * worst


def compare(
    what: str,
    posterior: Array,
    density: Array | None,
    other: Flags,
    expected: tuple[Array, Array],
    tolerance: float,
    advice: str,
    rounding: float = 0.0,
) -> tuple[float, float]:
    """Return the largest differences of posteriors (n, k), and of log densities (n,) relative to their size.

    `expected` are the model's posteriors and log densities, `other` (n,) says where labels differ: a label is wrong
    where no two posteriors are as near as the tolerance allows. An export without log densities has `density` None, and
    these differ by 0. ExportError, which says `what` was exported, where a label is wrong, or more than the tolerance
    and `rounding` is exceeded, which is relative to the size of log densities: posteriors are made of these.
    """
    posteriors, densities = expected
    each = np.abs(posterior - posteriors).max(axis=1, initial=0.0)
    apart, size = float(each.max(initial=0.0)), np.where(np.isfinite(densities), 1.0 + np.abs(densities), 0.0)
    density = densities if density is None else density
    with np.errstate(invalid="ignore"):
        error = np.where(density == densities, 0.0, np.abs(density - densities) / (1.0 + np.abs(densities)))
    off = float(error.max(initial=0.0))
    top = np.sort(posteriors, axis=1)[:, -2:]
    clear = top[:, -1] - top[:, 0] > 2.0 * tolerance if posteriors.shape[1] > 1 else np.zeros(len(top), dtype=bool)
    wrong = int((other & clear).sum())
    if not ((each <= tolerance + rounding * size).all() and off <= tolerance + rounding) or wrong:
        raise ExportError(
            f"The {what} does not answer as the model does: posteriors differ by up to {apart:.1e}, log densities by "
            f"{off:.1e} of their size, and {wrong} of {len(other)} labels; {tolerance:.0e} is allowed. Next: {advice}."
        )
    return apart, off


def report_it(unchecked: str) -> str:
    """Return what to do where an export is wrong."""
    return f"report this, with the model file{either(f'; check=False {unchecked} all the same', '')}"
