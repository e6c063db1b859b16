"""The laws that a family keeps with its statistic and its density, as a check that anyone who adds one can run."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._arrays import Array, Codes, NDArray, is_sparse, np, sparse
from .._foreign import Foreign
from ..densities import Density, as_density
from ..densities.product import has_holes
from ..errors import DataError, SettingError
from ..estimate import Family, Settings
from ..estimate.families import as_family, lacking
from ..estimators import NaiveBayes, load
from ..stats import Statistic, as_statistic
from ..stats.rows import take_rows
from ..table import factorize, read_table
from .laws import Random, assert_same_statistics, check_statistics

Table = NDArray[np.object_]  # (n, d)
GRID = 400_000  # points at which a density of a number is added up
NEAR_ONE = 1e-5
ROWS_LEFT_OUT = 4


def check_family(
    family: object, X: object, y: object, *, smoothing: float = 1.0, tolerance: float = 1e-8, seed: int = 0
) -> None:
    """Check that a family of `NaiveBayes(families=...)` keeps its contract; AssertionError names the law that fails.

    Parameters
    ----------
    family : object
        See `suffice.estimate.families` for what it must provide.
    X, y : array or list of rows (n, d), labels (n,)
        At least eight rows that the family can read, every column with some variation; cells may be missing.
    smoothing : float
        What estimates are told.
    tolerance : float
        Largest difference allowed between log densities, relative to 1 + their size.

    Notes
    -----
    Laws: the statistic keeps the laws of `check_statistics`; the density is that of the rows whatever their order, and
    of halves merged; weight k is k copies; no log density is NaN; a missing cell contributes nothing (or is refused,
    where `takes_missing` is False); where the family states its `support`, the density of one column adds up to 1;
    what the family and its density say of themselves is what they do; closed forms of leave-one-out equal refits; the
    written statistic, and a model file for a family that suffice ships, give the same density back.

    Examples
    --------
    >>> from suffice.estimate.families import PoissonFamily
    >>> from suffice.testing import check_family
    >>> check_family(
    ...     PoissonFamily(), [[3, 0], [1, 1], [4, 0], [1, 2], [5, 9], [9, 7], [2, 8], [6, 9]], list("aaaabbbb")
    ... )
    """
    case = _FamilyCase.make(family, X, y, smoothing, tolerance)
    rng = np.random.default_rng(seed)
    for law in (
        _contract,
        _statistics,
        _rows_and_halves,
        _copies,
        _missing_cells,
        _adds_up,
        _says_what_it_does,
        _comes_back,
    ):
        try:
            law(case, rng)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__.strip('_')}: {error}") from error


@dataclass(frozen=True, slots=True)
class _FamilyCase:
    """A family and the table it is checked on."""

    given: object
    family: Family
    X: Table
    labels: NDArray[np.generic]
    codes: Codes
    k: int
    smoothing: float
    tolerance: float

    @classmethod
    def make(cls, family: object, X: object, y: object, smoothing: float, tolerance: float) -> _FamilyCase:
        labels = np.asarray(y)
        levels, codes = factorize(labels, "y")
        table = np.asarray(X, dtype=object)
        return cls(family, as_family(family), table, labels, codes, len(levels), smoothing, tolerance)

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(range(self.X.shape[1]))

    def rows(self, columns: Sequence[int] | None = None, X: object = None) -> Any:
        """Return encoded rows of the table, or of another with the same columns."""
        kept = self.columns if columns is None else columns
        return self.family.encode(read_table(self.X if X is None else X), list(kept))

    def summary(self, index: Codes, weight: Array | None = None, columns: Sequence[int] | None = None) -> Statistic:
        rows = take_rows(self.rows(columns), index)
        return as_statistic(self.family.summarize(rows, self.codes[index], self.k, weight))

    def settings(self, columns: Sequence[int] | None = None) -> Settings:
        names = self.columns if columns is None else tuple(columns)
        return Settings(smoothing=self.smoothing, classes=tuple(range(self.k)), columns=names)

    def estimate(self, stats: Statistic, columns: Sequence[int] | None = None) -> Density:
        return as_density(self.family.estimate(stats, self.settings(columns))[0])

    def scores(self, stats: Statistic, rows: Any = None, columns: Sequence[int] | None = None) -> Array:
        """Return log densities (n, k) estimated from a statistic, of these rows or those of the table."""
        rows = self.rows(columns) if rows is None else rows
        density = self.estimate(stats, columns)
        return np.asarray(density.log_density(self.family.recode(rows, stats)))

    def same(self, actual: Array, expected: Array, what: str) -> None:
        finite = np.isfinite(expected)
        assert (actual[~finite] == expected[~finite]).all(), what
        gap = np.abs(actual[finite] - expected[finite]) / (1.0 + np.abs(expected[finite]))
        assert gap.max(initial=0.0) <= self.tolerance, f"{what}: log densities differ by {gap.max():.3g}"


def _contract(case: _FamilyCase, rng: Random) -> None:
    absent = lacking(case.given)
    assert not absent, f"the family lacks {', '.join(absent)}"
    assert isinstance(case.family.name, str), "the family has no name"
    assert hash(case.family) == hash(case.family), "a family is hashable"


class _Settled:
    """The statistic of a family with everything but the rows settled, as `check_statistics` asks."""

    def __init__(self, case: _FamilyCase) -> None:
        self._case = case

    def zero(self) -> Statistic:
        return self._case.family.zero(self._case.k, len(self._case.columns))

    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> Statistic:
        return self._case.family.summarize(rows, codes, k, weight)


def _statistics(case: _FamilyCase, rng: Random) -> None:
    check_statistics(_Settled(case), case.rows(), case.codes, case.k, take=take_rows, seed=int(rng.integers(1 << 30)))


def _rows_and_halves(case: _FamilyCase, rng: Random) -> None:
    n = len(case.codes)
    expected = case.scores(case.summary(np.arange(n)))
    assert expected.shape == (n, case.k), f"log_density gives the shape {expected.shape} for {n} rows"
    assert not np.isnan(expected).any(), "a log density is NaN"
    order = rng.permutation(n)
    case.same(case.scores(case.summary(order)), expected, "rows in another order")
    halves = case.summary(order[: n // 2]).merge(case.summary(order[n // 2 :]))
    case.same(case.scores(halves), expected, "halves merged")


def _copies(case: _FamilyCase, rng: Random) -> None:
    copies = rng.integers(1, 4, len(case.codes))
    weighted = case.summary(np.arange(len(copies)), copies.astype(np.float64))
    repeated = case.summary(np.repeat(np.arange(len(copies)), copies))
    case.same(case.scores(weighted), case.scores(repeated), "weights and copies")


def _missing_cells(case: _FamilyCase, rng: Random) -> None:
    holed = case.X.copy()
    holed[:, 0] = None
    if not case.family.takes_missing:
        try:
            case.rows(X=holed)
        except DataError:
            return
        raise AssertionError("the family says it takes no missing cells, and encodes them")
    stats = case.summary(np.arange(len(case.codes)))
    nothing = case.scores(stats, case.rows(X=np.full_like(case.X, None)))
    assert np.abs(nothing).max() <= case.tolerance, "a row without a cell has a log density other than 0"
    density = case.estimate(stats)
    others = case.columns[1:]
    marginal = density.marginal(list(others)) if others else None
    if marginal is not None:
        own = case.summary(np.arange(len(case.codes)), columns=others)
        smaller = marginal.log_density(case.family.recode(case.rows(others), own))
        case.same(case.scores(stats, case.rows(X=holed)), smaller, "a missing cell and the marginal without its column")


def _adds_up(case: _FamilyCase, rng: Random) -> None:
    support = case.family.support
    if support is None:
        return
    columns = case.columns if support == "shares" else (0,)
    stats = case.summary(np.arange(len(case.codes)), columns=columns)
    cells = [cell for cell in case.X[:, 0].tolist() if cell is not None and cell == cell]
    X, size = _points(support, cells, len(columns))
    scores = case.scores(stats, case.rows(columns, X), columns)
    total = (np.exp(scores) * size[:, None]).sum(axis=0)
    assert np.abs(total - 1.0).max() <= NEAR_ONE, f"the density of the first column adds up to {total}"


def _points(support: str, cells: list[object], d: int) -> tuple[NDArray[np.generic], Array]:
    """Return cells (n, 1) that cover the support of a column and the length each stands for (n,)."""
    if support == "shares":
        return np.eye(d), np.ones(d)
    if support == "levels":
        levels = np.array(sorted(set(cells), key=str), dtype=object)[:, None]
        return levels, np.ones(len(levels))
    if support == "truths":
        return np.array([[0.0], [1.0]]), np.ones(2)
    numbers = np.asarray(cells, dtype=np.float64)
    if support == "counts":
        counts = np.arange(10.0 * numbers.max() + 200.0)[:, None]
        return counts, np.ones(len(counts))
    assert support == "reals", f"support={support!r} is not known"
    low, middle, high = np.quantile(numbers, [0.25, 0.5, 0.75])
    unit = (high - low) or 1.0
    u = (np.arange(GRID) + 0.5) * (2.0 / GRID) - 1.0  # x = middle + unit · u / (1 − u²) reaches both ends
    return (middle + unit * u / (1.0 - u**2))[:, None], unit * (1.0 + u**2) / (1.0 - u**2) ** 2 * (2.0 / GRID)


def _says_what_it_does(case: _FamilyCase, rng: Random) -> None:
    stats = case.summary(np.arange(len(case.codes)))
    density, rows = case.estimate(stats), case.family.recode(case.rows(), stats)
    _limits(case, density, rows)
    _tables(case, density, rows)
    _fills_cells(case, density, stats)
    _leaves_out(case, stats, rows, rng)
    counted = case.family.count(case.rows(), case.codes, case.k, None)
    assert_same_statistics(counted, stats, 0.0)
    if isinstance(case.family, Foreign) or case.family.support in (None, "levels") or _holed(case.X).any():
        return
    table = read_table(sparse.csr_array(case.X.astype(np.float64)))
    kept = is_sparse(case.family.encode(table, list(case.columns)))
    assert kept == case.family.takes_sparse, f"takes_sparse is {not kept}, and rows of a sparse matrix say otherwise"


def _limits(case: _FamilyCase, density: Density, rows: object) -> None:
    """Check `limit`, and `limit_terms` up to what is the same for every class."""
    scores = density.log_density(rows)
    order, score = density.limit(rows)
    case.same(np.where(order > 0, -np.inf, score), scores, "the limit and the log density")
    terms = density.limit_terms(rows)
    if terms is None:
        return
    orders, parts = terms
    total = (parts if orders is None else np.where(orders > 0, -np.inf, parts)).sum(axis=2).T
    possible = np.isfinite(total).all(axis=1) & np.isfinite(scores).all(axis=1)
    apart = (scores - scores[:, :1])[possible]
    case.same((total - total[:, :1])[possible], apart, "what columns add and the log density")


def _tables(case: _FamilyCase, density: Density, rows: object) -> None:
    """Check what a density tells of its columns."""
    assert np.isfinite(density.log_prior()), "the log prior is not a number"
    for j in case.columns:
        for name, values in density.parameters(j).items():
            assert np.shape(values) == (case.k,), f"{name} has the shape {np.shape(values)} for {case.k} classes"
        if not isinstance(density, Foreign):
            told = density.column_levels(j) is not None
            assert told == isinstance(rows, tuple), "codes have levels, and numbers have none"
    center = None if isinstance(density, Foreign) else density.center()
    if center is not None:
        complete = ~_holed(case.X).any(axis=1)
        best = np.diagonal(density.log_density(center))
        assert (density.log_density(rows)[complete] <= best + case.tolerance).all(), "a row is denser than the centre"


def _fills_cells(case: _FamilyCase, density: Density, stats: Statistic) -> None:
    """Check that `condition` and `sample` leave no cell missing and no other changed."""
    if not case.family.takes_missing:
        return
    holed = case.X.copy()
    holed[::2, 0] = None
    encoded = case.rows(X=holed)
    assert case.family.fills or not case.family.misses(encoded), "cells to be filled, by a family that does not"
    rows, n = case.family.recode(encoded, stats), len(case.codes)
    posterior, state = np.full((n, case.k), 1.0 / case.k), np.random.RandomState(0)
    before = np.stack(rows, axis=1) if isinstance(rows, tuple) else rows
    seen = ~_holed(holed)
    answers = [density.condition(rows, posterior)] if density.can_condition else []
    for filled in [*answers, *([density.sample(rows, case.codes, state)] if density.can_sample else [])]:
        assert not has_holes(filled), "a missing cell was left"
        after = np.stack(filled, axis=1) if isinstance(filled, tuple) else np.asarray(filled)
        assert (after[seen] == before[seen]).all(), "an observed cell was changed"


def _leaves_out(case: _FamilyCase, stats: Statistic, rows: object, rng: Random) -> None:
    """Check a closed form of leave-one-out against refits of a few rows."""
    settings = case.settings()
    closed = case.family.leave_one_out_limit(rows, stats, case.codes, None, settings)
    if closed is None or stats.is_rounded or "subtract" not in stats.edits:
        return
    found = np.where(closed[0] > 0, -np.inf, closed[1])
    several = np.flatnonzero(np.bincount(case.codes)[case.codes] > 1)
    for i in rng.permutation(several)[:ROWS_LEFT_OUT]:
        row = np.array([i])
        rest = stats.subtract(case.summary(row))
        expected = case.scores(rest, take_rows(case.rows(), row))
        case.same(found[row], expected, "leave-one-out and an estimate without the row")


def _holed(X: Table) -> NDArray[np.bool_]:
    """Return which cells are missing (n, d)."""
    return np.array([[cell is None or cell != cell for cell in row] for row in X])


def _comes_back(case: _FamilyCase, rng: Random) -> None:
    stats = case.summary(np.arange(len(case.codes)))
    case.same(case.scores(stats.read_back(*stats.arrays())), case.scores(stats), "the statistic written and read")
    model = NaiveBayes(case.given, smoothing=case.smoothing).fit(case.X, case.labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.suffice"
        try:
            model.save(path)
        except SettingError:  # a family of someone else's
            return
        back = load(path)
    assert back._fitted.blocks == model._fitted.blocks, "the family in the model file is another"
    case.same(back.predict_joint_log_proba(case.X), model.predict_joint_log_proba(case.X), "the model file")
