"""The laws our statistics keep, as checks that anyone who adds a statistic or a family can run.

Each check raises AssertionError naming the law that is broken. States are made by `summarize` and `merge` only, so
what is tested is what can be reached.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._arrays import Array, Codes, np
from ..errors import DataError, NotLearnedError, SettingError
from ..estimate import Settings
from ..table import factorize, read_table


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows to check laws on: `rows` in whatever form the statistic reads, class numbers, and how to take a part."""

    rows: Any
    codes: Codes
    k: int
    take: Callable[[Any, Codes], Any] = lambda rows, index: rows[index]

    def __len__(self) -> int:
        return len(self.codes)


def check_statistics(
    statistic: Any,
    rows: Any,
    codes: Codes,
    k: int,
    *,
    take: Callable[[Any, Codes], Any] = lambda rows, index: rows[index],
    tolerance: float = 1e-10,
    seed: int = 0,
) -> None:
    """Check that a statistic keeps the laws of merging on these rows; AssertionError names the law that fails.

    Parameters
    ----------
    statistic : object with `zero()` and `summarize(rows, codes, k, weight)`
        A statistic type of `suffice.stats`, with everything but the rows settled; `zero()` takes no arguments.
    rows, codes, k
        At least four rows, their class numbers (n,) below k.
    take : callable
        Returns the rows with the given numbers; the default suits arrays.
    tolerance : float
        Largest difference allowed, relative to the largest entry of each array.

    Notes
    -----
    Laws: merging with nothing changes nothing; order and grouping of merges do not matter; parts (halves, single rows,
    an empty part) merge to the whole; weight 2 is the row twice; classes can be renumbered, put together and left
    out (`regroup`); what was merged can be subtracted again, all of it leaves exactly nothing, and more than all is a
    NotLearnedError (`subtract`); multiplied statistics are those of multiplied weights (`scale`); the arrays written
    to a file give the statistic back. The laws of methods that a statistic does not have are passed over.
    """
    sample = Sample(rows, np.asarray(codes), k, take)
    rng = np.random.default_rng(seed)
    for law in (_identity, _commutes, _associates, _parts, _weights, _places, _saves, _subtracts, _scales, _regroups):
        try:
            law(statistic, sample, rng, tolerance)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__.strip('_')}: {error}") from error


def assert_same_statistics(actual: Any, expected: Any, tolerance: float = 1e-10) -> None:
    """Assert that two statistics agree: equal plain fields, arrays within `tolerance` of their largest entry.

    Rows kept as they are (a thin scatter) are compared by the matrices they stand for.
    """
    actual, expected = _comparable(actual), _comparable(expected)
    arrays, plain = actual.arrays()
    others, other_plain = expected.arrays()
    assert plain == other_plain, f"{plain} differs from {other_plain}"
    assert set(arrays) == set(others), f"{set(arrays)} differs from {set(others)}"
    for name, values in arrays.items():
        assert values.shape == others[name].shape, f"{name}: shape {values.shape} is not {others[name].shape}"
        scale = np.abs(others[name]).max(initial=0.0) or 1.0
        gap = np.abs(values - others[name]).max(initial=0.0) / scale
        assert gap <= tolerance, f"{name} differs by {gap:.3g} of its largest entry"


def _comparable(stats: Any) -> Any:
    return stats.dense() if hasattr(stats, "dense") else stats


def _summary(statistic: Any, sample: Sample, index: Codes | None = None, weight: Array | None = None) -> Any:
    if index is None:
        return statistic.summarize(sample.rows, sample.codes, sample.k, weight)
    return statistic.summarize(sample.take(sample.rows, index), sample.codes[index], sample.k, weight)


def _identity(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    whole, nothing = _summary(statistic, sample), statistic.zero()
    assert_same_statistics(whole.merge(nothing), whole, 0.0)
    assert_same_statistics(nothing.merge(whole), whole, 0.0)


def _split(sample: Sample, rng: Any, parts: int) -> list[Codes]:
    return [np.sort(index) for index in np.array_split(rng.permutation(len(sample)), parts)]


def _commutes(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    a, b = (_summary(statistic, sample, index) for index in _split(sample, rng, 2))
    assert_same_statistics(a.merge(b), b.merge(a), tolerance)


def _associates(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    a, b, c = (_summary(statistic, sample, index) for index in _split(sample, rng, 3))
    assert_same_statistics(a.merge(b).merge(c), a.merge(b.merge(c)), tolerance)


def _parts(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    whole = _summary(statistic, sample)
    empty = np.zeros(0, dtype=np.int64)
    for parts in (_split(sample, rng, 2), [*_split(sample, rng, 7), empty], list(np.arange(len(sample))[:, None])):
        merged = statistic.zero()
        for index in parts:
            merged = merged.merge(_summary(statistic, sample, index))
        assert_same_statistics(merged, whole, tolerance)


def _weights(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    copies = rng.integers(0, 3, len(sample))
    copies[0] = 2
    kept = np.flatnonzero(copies)
    weighted = _summary(statistic, sample, kept, copies[kept].astype(np.float64))
    repeated = _summary(statistic, sample, np.repeat(np.arange(len(sample)), copies))
    assert_same_statistics(weighted, repeated, tolerance)


def _places(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    order = rng.permutation(sample.k + 2)[: sample.k]
    moved = statistic.summarize(sample.rows, order[sample.codes], sample.k + 2, None)
    assert_same_statistics(_summary(statistic, sample).place(order.tolist(), sample.k + 2), moved, tolerance)


def _saves(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    whole = _summary(statistic, sample)
    assert_same_statistics(type(whole).from_arrays(*whole.arrays()), whole, 0.0)


def _subtracts(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    whole, nothing = _summary(statistic, sample), statistic.zero()
    if not hasattr(whole, "subtract"):
        return
    assert_same_statistics(whole.subtract(whole), nothing, 0.0)
    assert_same_statistics(whole.subtract(nothing), whole, 0.0)
    for index in (*_split(sample, rng, 2), np.arange(1)):
        rest = np.setdiff1d(np.arange(len(sample)), index)
        part, left = _summary(statistic, sample, index), _summary(statistic, sample, rest)
        if not getattr(whole, "is_rounded", False):
            assert_same_statistics(whole.subtract(part), left, 10.0 * tolerance)
        assert_same_statistics(whole.subtract(part).merge(part), whole, tolerance)
        try:
            left.subtract(whole)
        except NotLearnedError:
            continue
        assert_same_statistics(part, nothing, 0.0)  # else more was subtracted than there is


def _scales(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    everything = np.arange(len(sample))
    if not hasattr(_summary(statistic, sample), "scale"):
        return
    lighter = _summary(statistic, sample, everything, np.full(len(sample), 0.25))
    assert_same_statistics(_summary(statistic, sample).scale(0.25), lighter, tolerance)


def _regroups(statistic: Any, sample: Sample, rng: Any, tolerance: float) -> None:
    target = rng.integers(-1, 2, sample.k)
    target[sample.codes[0]] = 0
    kept = np.flatnonzero(target[sample.codes] >= 0)
    if not hasattr(_summary(statistic, sample), "regroup"):
        return
    again = statistic.summarize(sample.take(sample.rows, kept), target[sample.codes[kept]], 2, None)
    assert_same_statistics(_summary(statistic, sample).regroup(target, 2), again, tolerance)


# --- families --------------------------------------------------------------------------------------------------------

GRID = 400_000  # points at which a density of a number is added up
NEAR_ONE = 1e-5


def check_family(
    family: Any, X: Any, y: Any, *, smoothing: float = 1.0, tolerance: float = 1e-8, seed: int = 0
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
    where `takes_missing` is False); where the family states its `support`, the density of one column adds up to 1; the
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
    for law in (_contract, _statistics, _rows_and_halves, _copies, _missing_cells, _adds_up, _comes_back):
        try:
            law(case, rng)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__.strip('_')}: {error}") from error


@dataclass(frozen=True, slots=True)
class _FamilyCase:
    """A family and the table it is checked on."""

    family: Any
    X: Any
    labels: Any
    codes: Codes
    k: int
    smoothing: float
    tolerance: float

    @classmethod
    def make(cls, family: Any, X: Any, y: Any, smoothing: float, tolerance: float) -> _FamilyCase:
        labels = np.asarray(y)
        levels, codes = factorize(labels, "y")
        return cls(family, np.asarray(X, dtype=object), labels, codes, len(levels), smoothing, tolerance)

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(range(self.X.shape[1]))

    def rows(self, columns: Sequence[int] | None = None, X: Any = None) -> Any:
        """Return encoded rows of the table, or of another with the same columns."""
        kept = self.columns if columns is None else columns
        return self.family.encode(read_table(self.X if X is None else X), list(kept))

    def summary(self, index: Codes, weight: Array | None = None, columns: Sequence[int] | None = None) -> Any:
        return self.family.summarize(_take(self.rows(columns), index), self.codes[index], self.k, weight)

    def estimate(self, stats: Any, columns: Sequence[int] | None = None) -> Any:
        names = self.columns if columns is None else tuple(columns)
        settings = Settings(smoothing=self.smoothing, classes=tuple(range(self.k)), columns=names)
        return self.family.estimate(stats, settings)[0]

    def scores(self, stats: Any, rows: Any = None, columns: Sequence[int] | None = None) -> Array:
        """Return log densities (n, k) estimated from a statistic, of these rows or those of the table."""
        rows = self.rows(columns) if rows is None else rows
        density = self.estimate(stats, columns)
        return np.asarray(density.log_density(self.family.recode(rows, stats)))

    def same(self, actual: Array, expected: Array, what: str) -> None:
        finite = np.isfinite(expected)
        assert (actual[~finite] == expected[~finite]).all(), what
        gap = np.abs(actual[finite] - expected[finite]) / (1.0 + np.abs(expected[finite]))
        assert gap.max(initial=0.0) <= self.tolerance, f"{what}: log densities differ by {gap.max():.3g}"


def _take(rows: Any, index: Codes) -> Any:
    if isinstance(rows, tuple):  # CodedColumns
        return type(rows)(rows.levels, tuple(codes[index] for codes in rows.codes))  # type: ignore[attr-defined, call-arg]
    return rows[index]


def _contract(case: _FamilyCase, rng: Any) -> None:
    verbs = ("encode", "recode", "zero", "summarize", "estimate")
    lacking = [verb for verb in verbs if not callable(getattr(case.family, verb, None))]
    assert not lacking, f"the family lacks {', '.join(lacking)}"
    assert isinstance(case.family.name, str), "the family has no name"
    assert hash(case.family) == hash(case.family), "a family is hashable"


class _Settled:
    """The statistic of a family with everything but the rows settled, as `check_statistics` asks."""

    def __init__(self, case: _FamilyCase) -> None:
        self._case = case

    def zero(self) -> Any:
        return self._case.family.zero(self._case.k, len(self._case.columns))

    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> Any:
        return self._case.family.summarize(rows, codes, k, weight)


def _statistics(case: _FamilyCase, rng: Any) -> None:
    check_statistics(_Settled(case), case.rows(), case.codes, case.k, take=_take, seed=int(rng.integers(1 << 30)))


def _rows_and_halves(case: _FamilyCase, rng: Any) -> None:
    n = len(case.codes)
    expected = case.scores(case.summary(np.arange(n)))
    assert expected.shape == (n, case.k), f"log_density gives the shape {expected.shape} for {n} rows"
    assert not np.isnan(expected).any(), "a log density is NaN"
    order = rng.permutation(n)
    case.same(case.scores(case.summary(order)), expected, "rows in another order")
    halves = case.summary(order[: n // 2]).merge(case.summary(order[n // 2 :]))
    case.same(case.scores(halves), expected, "halves merged")


def _copies(case: _FamilyCase, rng: Any) -> None:
    copies = rng.integers(1, 4, len(case.codes))
    weighted = case.summary(np.arange(len(copies)), copies.astype(np.float64))
    repeated = case.summary(np.repeat(np.arange(len(copies)), copies))
    case.same(case.scores(weighted), case.scores(repeated), "weights and copies")


def _missing_cells(case: _FamilyCase, rng: Any) -> None:
    holed = case.X.copy()
    holed[:, 0] = None
    if not getattr(case.family, "takes_missing", True):
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
    if hasattr(density, "marginal") and others:
        smaller = density.marginal(list(others)).log_density(case.rows(others))
        case.same(case.scores(stats, case.rows(X=holed)), smaller, "a missing cell and the marginal without its column")


def _adds_up(case: _FamilyCase, rng: Any) -> None:
    support = getattr(case.family, "support", None)
    if support is None:
        return
    columns = case.columns if support == "shares" else (0,)
    stats = case.summary(np.arange(len(case.codes)), columns=columns)
    cells = [cell for cell in case.X[:, 0].tolist() if cell is not None and cell == cell]
    X, size = _points(support, cells, len(columns))
    scores = case.scores(stats, case.rows(columns, X), columns)
    total = (np.exp(scores) * size[:, None]).sum(axis=0)
    assert np.abs(total - 1.0).max() <= NEAR_ONE, f"the density of the first column adds up to {total}"


def _points(support: str, cells: list[Any], d: int) -> tuple[Any, Array]:
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


def _comes_back(case: _FamilyCase, rng: Any) -> None:
    stats = case.summary(np.arange(len(case.codes)))
    again = type(stats).from_arrays(*stats.arrays())
    case.same(case.scores(again), case.scores(stats), "the statistic written and read")
    from ..estimators import NaiveBayes, load

    model = NaiveBayes(case.family, smoothing=case.smoothing).fit(case.X, case.labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.suffice"
        try:
            model.save(path)
        except SettingError:  # a family of someone else's
            return
        back = load(path)
    assert back._fitted.blocks == model._fitted.blocks, "the family in the model file is another"
    case.same(back.predict_joint_log_proba(case.X), model.predict_joint_log_proba(case.X), "the model file")
