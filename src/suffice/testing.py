"""Checks for people who add a family of columns, a member of the automatic classifier, or an estimator.

Each raises AssertionError naming the law that is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from ._arrays import Array, Codes, NDArray, logsumexp, np
from .automatic.choose import best_of
from .automatic.columns import BinnedRows, FrozenColumns
from .automatic.held import MemberFamily
from .automatic.judge import HoldoutScorer
from .automatic.member import Member, Part, TrainingStats
from .automatic.sample import Sample
from .automatic.stack import centred, without_each
from .automatic.statistics import weight_seen
from .automatic.table_rows import MISSING, TableRows, without_texts
from .densities import Density, as_density
from .errors import DataError
from .estimate import Family, Settings
from .estimate.families import as_family, lacking
from .forest import FrozenForest
from .schema import Kind
from .stats import CategoricalStats, Statistic, as_statistic
from .stats.rows import take_rows
from .table import factorize, read_table, text_columns

__all__ = ["check_family", "check_member", "check_model"]

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


# ── The laws of a family: statistics add up, densities integrate to one, and agree with leave-one-out ─────────────────


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

    @property
    def settings(self) -> Settings:
        """What estimates are told."""
        return Settings(smoothing=self.smoothing, classes=tuple(range(self.k)), columns=self.columns)

    def only(self, columns: Sequence[int]) -> FamilyCase:
        """Return the case of some of the columns."""
        return replace(self, X=self.X[:, list(columns)])

    def rows(self, X: object = None) -> Any:
        """Return encoded rows of the table, or of another with the same columns."""
        return self.family.encode(read_table(self.X if X is None else X), list(self.columns))

    def summary(self, index: Codes | None = None, weight: Array | None = None) -> Statistic:
        """Return the statistic of all rows, or of some."""
        some = np.arange(len(self.codes)) if index is None else index
        rows = take_rows(self.rows(), some)
        return as_statistic(self.family.summarize(rows, self.codes[some], self.k, weight))

    def estimate(self, stats: Statistic) -> Density:
        """Return the density of a statistic."""
        return as_density(self.family.estimate(stats, self.settings)[0])

    def scores(self, stats: Statistic, rows: Any = None) -> Array:
        """Return log densities (n, k) estimated from a statistic, of these rows or those of the table."""
        rows = self.rows() if rows is None else rows
        return np.asarray(self.estimate(stats).log_density(self.family.recode(rows, stats)))

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
        rest = case.only(others)
        smaller = marginal.log_density(case.family.recode(rest.rows(), rest.summary()))
        case.same(case.scores(stats, case.rows(X=holed)), smaller, "a missing cell and the marginal without its column")


def _adds_up(case: FamilyCase, rng: Random) -> None:
    support = case.family.support
    if support is None:
        return
    part = case if support == "shares" else case.only([0])
    cells = [cell for cell in case.X[:, 0].tolist() if cell is not None and cell == cell]
    X, size = _points(support, cells, len(part.columns))
    scores = part.scores(part.summary(), part.rows(X))
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
    recoded = case.family.recode(case.rows(), stats)
    closed = case.family.leave_one_out_limit(recoded, stats, case.codes, None, case.settings)
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


# ── The laws of a joint model: whatever is asked of it, the answers belong to one density of rows and classes ─────────


def check_model(model: object, X: object, y: object, *, tolerance: float = 1e-8, seed: int = 0) -> None:
    """Check that a fitted estimator keeps the laws of a joint model; AssertionError names the law that fails.

    Parameters
    ----------
    model : fitted estimator
        It is not changed.
    X, y : array or list of rows (n, d), labels (n,)
        The rows and labels it was fitted to, unweighted; cells may be missing.
    tolerance : float
        Largest difference allowed between log densities, relative to 1 + their size.

    Notes
    -----
    Laws: posteriors add up to one and are the joint density divided by its sum over classes (those of a
    `GenerativeClassifier` are a pool's, and only add up); a row without any cell gets the class priors and density 1;
    what `explain` says adds up to the log odds, missing cells saying nothing; answers do not depend on which rows are
    asked about together; where the model can be added to, it depends neither on the order of the rows nor on whether
    parts were fitted and merged; and a model fitted to many rows drawn from it is close to it.

    Examples
    --------
    >>> from suffice import GaussianDiscriminant
    >>> from suffice.testing import check_model
    >>> X, y = [[0.0, 1.0], [1.0, 0.5], [0.5, 2.0], [4.0, 2.0], [5.0, 5.0], [4.5, 3.0]], list("aaabbb")
    >>> check_model(GaussianDiscriminant(shared=True).fit(X, y), X, y)
    """
    laws = (_bayes, _nothing_known, _reasons, _one_by_one, _learns_in_any_order, _draws)
    check_laws(laws, ModelCase.of(model, X, y, tolerance), seed)


@dataclass(frozen=True, slots=True)
class ModelCase:
    """A fitted model and its rows."""

    model: Any
    X: NDArray[Any]
    y: NDArray[Any]
    tolerance: float

    @classmethod
    def of(cls, model: object, X: object, y: object, tolerance: float) -> ModelCase:
        """Return the case of a table."""
        table = np.asarray(X)
        return cls(model, table if table.dtype.kind in "fiub" else np.asarray(X, object), np.asarray(y), tolerance)

    def hide(self, hidden: Codes) -> NDArray[Any] | None:
        """Return the table without the cells of some columns, or None where the model takes no missing cells."""
        takes_missing = all(block.family.takes_missing for block in self.model._fitted.blocks)
        if not takes_missing or not self.model.__sklearn_tags__().input_tags.allow_nan:
            return None
        holed = self.X.astype(np.float64 if self.X.dtype.kind in "fiub" else object)
        holed[:, hidden] = np.nan if holed.dtype.kind == "f" else None
        return holed

    def same(self, actual: Array, expected: Array, what: str) -> None:
        """Assert that log densities agree."""
        assert_close(actual, expected, self.tolerance, what)


def _bayes(case: ModelCase, rng: Random) -> None:
    joint, posterior = case.model.predict_joint_log_proba(case.X), case.model.predict_log_proba(case.X)
    assert not np.isnan(joint).any(), "a log density is NaN"
    assert np.abs(np.exp(posterior).sum(axis=1) - 1.0).max() <= 1e-12, "posteriors do not add up to one"
    total = np.asarray(logsumexp(joint, axis=1))
    case.same(case.model.score_samples(case.X), total, "the density of a row and the sum of its joint densities")
    if case.model._fitted.pool is None:  # a pool's posteriors are those of several models
        possible = np.isfinite(total)
        case.same(posterior[possible], (joint - total[:, None])[possible], "posteriors and joint densities")


def _nothing_known(case: ModelCase, rng: Random) -> None:
    empty = case.hide(np.arange(case.X.shape[1]))
    if empty is not None:
        case.same(case.model.predict_proba(empty), np.tile(case.model.priors_, (len(case.y), 1)), "rows without a cell")
        assert np.abs(case.model.score_samples(empty)).max() <= case.tolerance, "a row without a cell has a density"


def _reasons(case: ModelCase, rng: Random) -> None:
    hidden = rng.permutation(case.X.shape[1])[: case.X.shape[1] // 2]
    for table in (case.X, case.hide(hidden)):
        if table is None:
            continue
        found, posterior = case.model.explain(table), case.model.predict_log_proba(table)
        total = found.sum(axis=1) + np.log(case.model.priors_)
        possible = np.isfinite(total).all(axis=1) & np.isfinite(posterior).all(axis=1)
        odds = (posterior - posterior[:, :1])[possible]
        case.same((total - total[:, :1])[possible], odds, "contributions and log posterior odds")
        assert table is case.X or not found[:, hidden].any(), "a missing cell contributes something"


def _one_by_one(case: ModelCase, rng: Random) -> None:
    expected, order = case.model.predict_joint_log_proba(case.X), rng.permutation(len(case.y))
    case.same(case.model.predict_joint_log_proba(case.X[order]), expected[order], "rows in another order")
    for i in order[:3]:
        case.same(case.model.predict_joint_log_proba(case.X[[i]]), expected[[i]], "a row by itself")


def _learns_in_any_order(case: ModelCase, rng: Random) -> None:
    expected, order = case.model.predict_joint_log_proba(case.X), rng.permutation(len(case.y))
    if not hasattr(case.model, "partial_fit"):  # a mixture is found by EM, whose steps follow rounding
        return
    again = clone(case.model).fit(case.X[order], case.y[order])
    case.same(again.predict_joint_log_proba(case.X), expected, "rows learned in another order")
    a, b = (clone(case.model).fit(case.X[part], case.y[part]) for part in np.array_split(order, 2))
    case.same(a.merge(b).predict_joint_log_proba(case.X), expected, "halves merged")


def _draws(case: ModelCase, rng: Random) -> None:
    """A refit loses about (parameters / 2) / rows nats per row, for d²/2 parameters and 400 d rows d / 1,600."""
    d, classes = case.X.shape[1], case.model.classes_.tolist()
    state = np.random.RandomState(int(rng.integers(1 << 30)))
    try:
        case.model.sample(1, random_state=state)
    except DataError:  # a family that cannot draw
        return
    parts = [case.model.sample(400 * d, label=c, random_state=state, as_recorded=False) for c in classes]
    again = clone(case.model)
    if "shrinkage" in again.get_params():
        again.set_params(shrinkage=None)  # what was shrunk would be shrunk once more
    again.fit(np.concatenate([rows for rows, _ in parts]), np.concatenate([labels for _, labels in parts]))
    for c, label in enumerate(classes):
        fresh, _ = case.model.sample(200 * d, label=label, random_state=state, as_recorded=False)
        mine = case.model.predict_joint_log_proba(fresh)[:, c] - np.log(case.model.priors_[c])
        lost = float((mine - again.predict_joint_log_proba(fresh)[:, c] + np.log(again.priors_[c])).mean())
        assert abs(lost) < 0.1 + d / 100, f"a refit to drawn rows of class {label!r} is {lost:.3g} nats a row off"


# ── The laws that every member of the automatic classifier keeps ──────────────────────────────────────────────────────


HEAVY = 2.5  # the weight of every other row
MEMBER_ROWS = 12


def check_member(
    member: type[Member], X: object, y: Sequence[object], *, tolerance: float = 1e-9, seed: int = 0
) -> None:
    """Check that a member of the automatic classifier keeps its contract; AssertionError names the law that fails.

    Parameters
    ----------
    member : subclass of `suffice.automatic.member.Member`
        It need not be in `suffice.automatic.members.MEMBERS`.
    X, y : table (n, d) and labels (n,)
        Columns for which the member has candidates; cells may be missing. At least ten rows of each class.
    tolerance : float
        Largest difference allowed between log densities, and between statistics relative to their largest entry.

    Notes
    -----
    Laws: statistics are those of the rows in whatever order they come and are merged; there are candidates, whose
    scores are one for every row and class; a learned row without itself scores under its class as it would had it not
    been learned (to `Member.left_out_error`, and of rows with missing cells only if `Member.left_out_fills`); and what
    `explain` says adds up to the scores, a missing cell saying nothing (but where its being missing is a level).
    """
    check_laws((_merges, _scores, _refits, _contributions), MemberCase.of(member, X, y, tolerance), seed)


@dataclass(frozen=True)
class MemberCase:
    """A member, and rows (n,) of `k` classes in columns that all of them freeze; every other row weighs more."""

    member: type[Member]
    rows: TableRows
    reading: BinnedRows
    codes: Codes
    weight: Array
    k: int
    tolerance: float

    @classmethod
    def of(cls, member: type[Member], X: object, y: Sequence[object], tolerance: float) -> MemberCase:
        """Return the case of a table."""
        table = read_table(X)
        numeric = [p for p, column in enumerate(table.schema.columns) if column.kind is Kind.NUMERIC]
        texts = table.schema.positions(text_columns(table))
        others = [p for p in range(len(table.schema.columns)) if p not in (*numeric, *texts)]
        rows = MemberFamily(len(numeric), len(texts)).encode(table, [*numeric, *others, *texts])
        levels, codes = factorize(np.asarray(y), "y")
        weight, ones = np.where(np.arange(len(codes)) % 2, 1.0, HEAVY), np.ones(len(codes))
        coded = without_texts(rows.coded, rows.texts)
        trees = FrozenForest.freeze(rows.numbers, coded, codes, len(levels), ones, density=False)
        columns = FrozenColumns.freeze(rows.numbers, coded, ones, trees, texts=rows.texts)
        return cls(member, rows, columns.read(rows.numbers, rows.coded), codes, weight, len(levels), tolerance)

    @property
    def says_missing(self) -> bool:
        """Whether the Gaussian block has an indicator of cells that are missing."""
        return any(MISSING in own for own in self.reading.columns.indicators)

    def part(self, index: Codes) -> Part:
        """Return the member's statistic of some rows."""
        assert self.member.statistic is not None
        return self.member.statistic.summarize(self.reading[index], self.codes[index], self.k, self.weight[index])

    def known(self, index: Codes) -> TrainingStats:
        """Return what members are made of, of some of the rows."""
        codes, weight = self.codes[index], self.weight[index]
        parts = {} if self.member.statistic is None else {self.member.statistic.name: self.part(index)}
        coded = without_texts(self.rows[index].coded, self.rows.texts)
        counts = CategoricalStats.summarize(coded, codes, self.k, weight).counts
        total = np.bincount(codes, weights=weight, minlength=self.k).astype(np.float64)
        seen = weight_seen(self.reading[index], codes, self.k, weight)
        return TrainingStats(self.reading.columns, parts, tuple(counts), total, seen)

    def chosen(self, index: Codes | None = None) -> tuple[list[tuple[Member, Array]], Sample]:
        """Return the members chosen on some of the rows with their left-out scores, and these rows."""
        some = np.arange(len(self.codes)) if index is None else index
        weight, known = self.weight[some], self.known(some)
        sample = Sample(self.reading[some], self.codes[some], weight, weight, weight, weight)
        left = without_each(known.weight, sample.codes, sample.removed)
        judge = HoldoutScorer(sample.codes, left, sample.weight, sample.single)
        found = [(own.member, own.left_out_scores) for own in best_of(self.member, known, sample, judge)]
        assert found, "there are no candidates for these columns"
        return found, sample

    def same(self, found: Array, expected: Array, what: str, tolerance: float | None = None) -> None:
        """Assert that scores agree."""
        assert_close(found, expected, self.tolerance if tolerance is None else tolerance, what)


def _merges(case: MemberCase, rng: Random) -> None:
    if case.member.statistic is None:
        return
    order = rng.permutation(len(case.codes))
    a, b, c, whole = (case.part(own) for own in (*np.array_split(order, 3), np.arange(len(order))))
    for merged in (a.merge(b).merge(c), c.merge(b.merge(a)), b.merge(a).merge(c)):
        same_parts(merged, whole, case.tolerance, whole)
    same_parts(whole.subtract(c), a.merge(b), 10.0 * case.tolerance, whole)


def same_parts(actual: Part, expected: Part, tolerance: float, whole: Part | None = None) -> None:
    """Assert that two statistics of members agree, arrays within `tolerance` of their largest entry.

    It is that of all arrays of the kind in the `whole` where this is given: a row alone has no scatter but rounding.
    """
    (found, plain), (wanted, others) = actual.arrays(), expected.arrays()
    assert plain == others, f"{plain} differs from {others}"
    entries = [] if whole is None else list(whole.arrays()[0].items())
    kinds = {name: [own for other, own in entries if other.split("_")[-1] == name.split("_")[-1]] for name in found}
    assert set(found) == set(wanted), f"{set(found)} differs from {set(wanted)}"
    for name, values in found.items():
        largest = max(np.abs(own).max(initial=0.0) for own in (wanted[name], *kinds[name]))
        gap = np.abs(values - wanted[name]).max(initial=0.0) / (largest or 1.0)
        assert gap <= tolerance, f"{name} differs by {gap:.3g} of its largest entry"


def _scores(case: MemberCase, rng: Random) -> None:
    found, sample = case.chosen()
    for member, left_out in found:
        kind = member.name.partition(", ")[0]
        assert kind in member.kinds, f"{member.name!r} is none of {member.kinds}"
        for scores in (left_out, member.scores(sample.rows), member.left_out(sample)):
            assert scores.shape == (len(sample), case.k), f"scores have the shape {scores.shape}"
            assert np.isfinite(scores).all(), "a score is not finite"
        if member.width:
            case.same(sum(member.columns(sample.rows), np.zeros(1)), member.scores(sample.rows), "columns added up")


def _refits(case: MemberCase, rng: Random) -> None:
    if not np.isfinite(case.member.left_out_error):
        return
    complete = case.reading.known.all(axis=1) | case.member.left_out_fills
    kept = np.flatnonzero(complete)
    found, sample = case.chosen(kept)
    left_out = [member.left_out(sample) for member, _ in found]
    most = max(case.tolerance, case.member.left_out_error)
    for i in rng.permutation(len(kept))[:MEMBER_ROWS]:
        rest, own = case.known(np.delete(kept, i)), int(sample.codes[i])
        for (member, _), scores in zip(found, left_out, strict=True):
            kind, _, detail = member.name.partition(", ")
            expected = member.bind(kind, detail, member.setting, rest).scores(sample.rows[i : i + 1])[:, own]
            case.same(scores[[i], own], expected, f"{member.name} without row {i} and a refit to the others", most)


def _contributions(case: MemberCase, rng: Random) -> None:
    found, sample = case.chosen()
    rows = sample.rows[:8]
    for member, _ in found:
        score, variance = member.explain(rows, 8, True)
        assert score.shape == variance.shape == (*rows.known.shape, case.k)
        rest = score.sum(axis=1) - centred(member.scores(rows))
        if member.missing_tells:  # of a row without any cell it says something, too, which no column adds
            rest = rest - rest[:1] if rows.known.all() else np.zeros_like(rest)
        case.same(rest, np.zeros_like(rest), "contributions added up", 10.0 * case.tolerance)
        assert case.says_missing or member.places or not score[~rows.known].any(), (
            "a missing cell contributes something"
        )
