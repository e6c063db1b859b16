"""The laws that every member of the automatic classifier keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._arrays import Array, Codes, np
from ..automatic.choose import best_of
from ..automatic.columns import BinnedRows, FrozenColumns
from ..automatic.held import MemberFamily
from ..automatic.judge import HoldoutScorer
from ..automatic.member import Member, Part, TrainingStats
from ..automatic.sample import Sample
from ..automatic.stack import centred, without_each
from ..automatic.statistics import weight_seen
from ..automatic.table_rows import MISSING, TableRows, without_texts
from ..forest import FrozenForest
from ..schema import Kind
from ..stats import CategoricalStats
from ..table import factorize, read_table, text_columns
from .families import Random, assert_close, check_laws

HEAVY = 2.5  # the weight of every other row
ROWS_LEFT_OUT = 12


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
    for i in rng.permutation(len(kept))[:ROWS_LEFT_OUT]:
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
