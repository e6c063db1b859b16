"""The laws that a family keeps with its statistic and its density."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._arrays import Array, Codes, NDArray, np
from ..densities import Density, as_density
from ..errors import DataError
from ..estimate import Family, Settings
from ..estimate.families import as_family, lacking
from ..stats import Statistic, as_statistic
from ..stats.rows import take_rows
from ..table import factorize, read_table

Random = np.random.Generator


def check_laws(laws: Sequence[Callable[[Any, Random], None]], case: object, seed: int) -> None:
    """Check laws in turn; AssertionError begins with the name of the one that fails."""
    rng = np.random.default_rng(seed)
    for law in laws:
        try:
            law(case, rng)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__.strip('_')}: {error}") from error


def assert_close(actual: Array, expected: Array, tolerance: float, what: str) -> None:
    """Assert that log densities agree, relative to 1 + their size; infinite ones are equal."""
    finite = np.isfinite(expected)
    assert (actual[~finite] == expected[~finite]).all(), what
    gap = np.abs(actual[finite] - expected[finite]) / (1.0 + np.abs(expected[finite]))
    assert gap.max(initial=0.0) <= tolerance, f"{what}: log densities differ by {gap.max():.3g}"


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
    Laws: the density is that of the rows whatever their order, of halves merged, and of what is left when a half is
    subtracted; weight k is k copies; no log density is NaN; a missing cell contributes nothing (or is refused, where
    `takes_missing` is False); where the family states its `support`, the density of one column adds up to 1; closed
    forms of leave-one-out equal refits; the written statistic gives the same density back.

    Examples
    --------
    >>> from suffice.estimate.families import PoissonFamily
    >>> from suffice.testing import check_family
    >>> check_family(
    ...     PoissonFamily(), [[3, 0], [1, 1], [4, 0], [1, 2], [5, 9], [9, 7], [2, 8], [6, 9]], list("aaaabbbb")
    ... )
    """
    absent = lacking(family)
    assert not absent, f"contract: the family lacks {', '.join(absent)}"
    laws = (_rows_and_halves, _copies, _missing_cells, _adds_up, _leaves_out, _comes_back)
    check_laws(laws, FamilyCase.of(family, X, y, smoothing, tolerance), seed)


@dataclass(frozen=True, slots=True)
class FamilyCase:
    """A family and the table (n, d) it is checked on."""

    family: Family
    X: NDArray[np.object_]
    codes: Codes
    k: int
    smoothing: float
    tolerance: float

    @classmethod
    def of(cls, family: object, X: object, y: object, smoothing: float, tolerance: float) -> FamilyCase:
        """Return the case of a table."""
        levels, codes = factorize(np.asarray(y), "y")
        return cls(as_family(family), np.asarray(X, dtype=object), codes, len(levels), smoothing, tolerance)

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns."""
        return tuple(range(self.X.shape[1]))

    def rows(self, columns: Sequence[int] | None = None, X: object = None) -> Any:
        """Return encoded rows of the table, or of another with the same columns."""
        kept = self.columns if columns is None else columns
        return self.family.encode(read_table(self.X if X is None else X), list(kept))

    def summary(
        self, index: Codes | None = None, weight: Array | None = None, columns: Sequence[int] | None = None
    ) -> Statistic:
        """Return the statistic of all rows, or of some."""
        some = np.arange(len(self.codes)) if index is None else index
        rows = take_rows(self.rows(columns), some)
        return as_statistic(self.family.summarize(rows, self.codes[some], self.k, weight))

    def settings(self, columns: Sequence[int] | None = None) -> Settings:
        """Return what estimates are told."""
        names = self.columns if columns is None else tuple(columns)
        return Settings(smoothing=self.smoothing, classes=tuple(range(self.k)), columns=names)

    def estimate(self, stats: Statistic, columns: Sequence[int] | None = None) -> Density:
        """Return the density of a statistic."""
        return as_density(self.family.estimate(stats, self.settings(columns))[0])

    def scores(self, stats: Statistic, rows: Any = None, columns: Sequence[int] | None = None) -> Array:
        """Return log densities (n, k) estimated from a statistic, of these rows or those of the table."""
        rows = self.rows(columns) if rows is None else rows
        return np.asarray(self.estimate(stats, columns).log_density(self.family.recode(rows, stats)))

    def same(self, actual: Array, expected: Array, what: str) -> None:
        """Assert that log densities agree."""
        assert_close(actual, expected, self.tolerance, what)


def _rows_and_halves(case: FamilyCase, rng: Random) -> None:
    n, whole = len(case.codes), case.summary()
    expected = case.scores(whole)
    assert expected.shape == (n, case.k), f"log_density gives the shape {expected.shape} for {n} rows"
    assert not np.isnan(expected).any(), "a log density is NaN"
    order = rng.permutation(n)
    case.same(case.scores(case.summary(order)), expected, "rows in another order")
    a, b = case.summary(order[: n // 2]), case.summary(order[n // 2 :])
    case.same(case.scores(a.merge(b)), expected, "halves merged")
    if "subtract" in whole.edits and not whole.is_rounded:
        case.same(case.scores(whole.subtract(a).merge(a)), expected, "a half subtracted and added again")


def _copies(case: FamilyCase, rng: Random) -> None:
    copies = rng.integers(1, 4, len(case.codes))
    repeated = case.summary(np.repeat(np.arange(len(copies)), copies))
    case.same(case.scores(case.summary(weight=copies.astype(np.float64))), case.scores(repeated), "weights and copies")


def _missing_cells(case: FamilyCase, rng: Random) -> None:
    holed = case.X.copy()
    holed[:, 0] = None
    if not case.family.takes_missing:
        try:
            case.rows(X=holed)
        except DataError:
            return
        raise AssertionError("the family says it takes no missing cells, and encodes them")
    stats, others = case.summary(), case.columns[1:]
    nothing = case.scores(stats, case.rows(X=np.full_like(case.X, None)))
    assert np.abs(nothing).max() <= case.tolerance, "a row without a cell has a log density other than 0"
    marginal = case.estimate(stats).marginal(list(others)) if others else None
    if marginal is not None:
        smaller = marginal.log_density(case.family.recode(case.rows(others), case.summary(columns=others)))
        case.same(case.scores(stats, case.rows(X=holed)), smaller, "a missing cell and the marginal without its column")


def _adds_up(case: FamilyCase, rng: Random) -> None:
    support = case.family.support
    if support is None:
        return
    columns = case.columns if support == "shares" else (0,)
    cells = [cell for cell in case.X[:, 0].tolist() if cell is not None and cell == cell]
    X, size = _points(support, cells, len(columns))
    scores = case.scores(case.summary(columns=columns), case.rows(columns, X), columns)
    total = (np.exp(scores) * size[:, None]).sum(axis=0)
    assert np.abs(total - 1.0).max() <= NEAR_ONE, f"the density of the first column adds up to {total}"


def _points(support: str, cells: list[object], d: int) -> tuple[NDArray[np.generic], Array]:
    """Return cells (n, d) that cover a support and the length each stands for (n,)."""
    if support == "reals":
        low, middle, high = np.quantile(np.asarray(cells, dtype=np.float64), [0.25, 0.5, 0.75])
        unit = (high - low) or 1.0
        u = (np.arange(GRID) + 0.5) * (2.0 / GRID) - 1.0  # x = middle + unit · u / (1 − u²) reaches both ends
        return (middle + unit * u / (1.0 - u**2))[:, None], unit * (1.0 + u**2) / (1.0 - u**2) ** 2 * (2.0 / GRID)
    points: dict[str, Callable[[], NDArray[np.generic]]] = {
        "shares": lambda: np.eye(d),
        "levels": lambda: np.array(sorted(set(cells), key=str), dtype=object)[:, None],
        "truths": lambda: np.array([[0.0], [1.0]]),
        "counts": lambda: np.arange(10.0 * np.asarray(cells, dtype=np.float64).max() + 200.0)[:, None],
    }
    assert support in points, f"support={support!r} is not known"
    found = points[support]()
    return found, np.ones(len(found))


def _leaves_out(case: FamilyCase, rng: Random) -> None:
    stats = case.summary()
    closed = case.family.leave_one_out_limit(
        case.family.recode(case.rows(), stats), stats, case.codes, None, case.settings()
    )
    if closed is None or stats.is_rounded or "subtract" not in stats.edits:
        return
    found = np.where(closed[0] > 0, -np.inf, closed[1])
    several = np.flatnonzero(np.bincount(case.codes)[case.codes] > 1)
    for i in rng.permutation(several)[:ROWS_LEFT_OUT]:
        row = np.array([i])
        expected = case.scores(stats.subtract(case.summary(row)), take_rows(case.rows(), row))
        case.same(found[row], expected, "leave-one-out and an estimate without the row")


def _comes_back(case: FamilyCase, rng: Random) -> None:
    stats = case.summary()
    case.same(case.scores(stats.read_back(*stats.arrays())), case.scores(stats), "the statistic written and read")
