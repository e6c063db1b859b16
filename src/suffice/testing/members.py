"""The laws that every member of the automatic classifier keeps, as a check for people who add one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .._arrays import Array, Codes, np
from ..automatic.choose import best_of
from ..automatic.columns import FrozenColumns, Reading
from ..automatic.judge import Judge
from ..automatic.member import Known, Member
from ..automatic.member_family import MemberFamily
from ..automatic.mixed_rows import MISSING
from ..automatic.part import Part
from ..automatic.sample import Sample
from ..automatic.stack import centred, without_each
from ..automatic.table_rows import TableRows
from ..forest import FrozenForest
from ..schema import Kind
from ..stats import CategoricalStats
from ..table import factorize, read_table

HEAVY = 2.5  # the weight of every other row


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
    Laws: statistics are those of the rows in whatever order they come and are merged, a row of weight 2 is the row
    twice, weights that are all alike say nothing once they are scaled to 1, and a file gives the statistics back; there
    are candidates, whose scores are one for every row and class; a member whose setting files may hold is by that the
    one that was chosen, bit for bit; a row without any cell speaks for no class; taking nothing away leaves the scores
    as they are; a learned row without itself scores under its class as it would had it not been learned (to
    `Member.left_out_error`, and of rows with missing cells only if `Member.left_out_fills`); and what `explain` says
    adds up to the scores, a missing cell saying nothing. A category that misses in three rows or more is a level of its
    own to Gaussians, so that what is said of missing cells is checked only where none is.
    """
    rng = np.random.default_rng(seed)
    case = _Case.of(member, X, y, tolerance)
    for law in (_merges, _weights, _saves, _scores, _nothing_known, _nothing_removed, _refits, _chosen_again, _reasons):
        try:
            law(case, rng)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__.strip('_')}: {error}") from error


@dataclass(frozen=True)
class _Case:
    """A member, and rows (n,) of `k` classes in columns that all of them freeze; every other row weighs more."""

    member: type[Member]
    rows: TableRows
    reading: Reading
    codes: Codes
    weight: Array
    k: int
    tolerance: float

    @classmethod
    def of(cls, member: type[Member], X: object, y: Sequence[object], tolerance: float) -> _Case:
        table = read_table(X)
        numeric = [p for p, column in enumerate(table.schema.columns) if column.kind is Kind.NUMERIC]
        others = [p for p in range(len(table.schema.columns)) if p not in numeric]
        rows = MemberFamily(len(numeric)).encode(table, [*numeric, *others])
        levels, codes = factorize(np.asarray(y), "y")
        weight = np.where(np.arange(len(codes)) % 2, 1.0, HEAVY)
        ones = np.ones(len(codes))
        trees = FrozenForest.freeze(rows.numbers, rows.coded, codes, len(levels), ones, density=False)
        columns = FrozenColumns.freeze(rows.numbers, rows.coded, ones, trees)
        return cls(member, rows, columns.read(rows.numbers, rows.coded), codes, weight, len(levels), tolerance)

    @property
    def says_missing(self) -> bool:
        """Whether the Gaussian block has an indicator of cells that are missing."""
        return any(MISSING in own for own in self.reading.columns.indicators)

    def known(self, index: Codes, weight: Array) -> Known:
        """Return what members are made of, of some of the rows with these weights."""
        columns, codes, parts = self.reading.columns, self.codes[index], {}
        if self.member.statistic is not None:
            kind = self.member.statistic
            parts[kind.name] = kind.summarize(self.reading[index], codes, self.k, weight)
        counts = CategoricalStats.summarize(self.rows[index].coded, codes, self.k, weight).counts
        total = np.bincount(codes, weights=weight, minlength=self.k).astype(np.float64)
        return Known(columns, parts, tuple(counts), total)

    def sample(self, index: Codes | None = None) -> Sample:
        """Return the rows, or some of them, each leaving with all of its weight."""
        some = np.arange(len(self.codes)) if index is None else index
        weight = self.weight[some]
        return Sample(self.reading[some], self.codes[some], weight, weight, weight, weight)

    def chosen(self, index: Codes | None = None) -> tuple[list[tuple[Member, Array]], Sample]:
        """Return the members chosen on some of the rows with their left-out scores, and these rows."""
        some = np.arange(len(self.codes)) if index is None else index
        known, sample = self.known(some, self.weight[some]), self.sample(some)
        judge = Judge(
            sample.codes, without_each(known.weight, sample.codes, sample.removed), sample.weight, sample.single
        )
        found = [(own.member, own.left_out_scores) for own in best_of(self.member, known, sample, judge)]
        assert found, "there are no candidates for these columns"
        return found, sample

    def same(self, found: Array, expected: Array, what: str, tolerance: float | None = None) -> None:
        """Assert that scores agree."""
        gap = np.abs(found - expected).max(initial=0.0)
        most = self.tolerance if tolerance is None else tolerance
        assert gap <= most, f"{what}: log densities differ by {gap:.3g} nats"


def _same_parts(actual: Part, expected: Part, tolerance: float, whole: Part | None = None) -> None:
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


def _merges(case: _Case, rng: np.random.Generator) -> None:
    kind = case.member.statistic
    if kind is None:
        return
    order = rng.permutation(len(case.codes))
    every = np.arange(len(case.codes))
    a, b, c, whole = (
        kind.summarize(case.reading[own], case.codes[own], case.k, case.weight[own])
        for own in (*np.array_split(order, 3), every)
    )
    for merged in (a.merge(b).merge(c), c.merge(b.merge(a)), b.merge(a).merge(c)):
        _same_parts(merged, whole, case.tolerance, whole)
    _same_parts(whole.subtract(c), a.merge(b), 10.0 * case.tolerance, whole)


def _weights(case: _Case, rng: np.random.Generator) -> None:
    kind = case.member.statistic
    if kind is None:
        return
    copies = rng.integers(1, 4, len(case.codes))
    again = np.repeat(np.arange(len(case.codes)), copies)
    heavy = kind.summarize(case.reading, case.codes, case.k, copies.astype(np.float64))
    _same_parts(heavy, kind.summarize(case.reading[again], case.codes[again], case.k, None), case.tolerance)
    alike = kind.summarize(case.reading, case.codes, case.k, np.full(len(case.codes), 4.0))
    plain = kind.summarize(case.reading, case.codes, case.k, None)
    _same_parts(alike.scale(0.25), plain, case.tolerance)


def _saves(case: _Case, rng: np.random.Generator) -> None:
    kind = case.member.statistic
    if kind is None:
        return
    whole = kind.summarize(case.reading, case.codes, case.k, case.weight)
    again = kind.from_arrays(*whole.arrays(), case.reading.columns, case.k)
    _same_parts(again, whole, 0.0)


def _scores(case: _Case, rng: np.random.Generator) -> None:
    found, sample = case.chosen()
    for member, left_out in found:
        kind = member.name.partition(", ")[0]
        assert kind in member.kinds, f"{member.name!r} is none of {member.kinds}"
        for scores in (left_out, member.scores(sample.rows), member.left_out(sample)):
            assert scores.shape == (len(sample), case.k), f"scores have the shape {scores.shape}"
            assert np.isfinite(scores).all(), "a score is not finite"
        if member.width:
            case.same(sum(member.columns(sample.rows), np.zeros(1)), member.scores(sample.rows), "columns added up")


def _chosen_again(case: _Case, rng: np.random.Generator) -> None:
    if not case.member.settings:
        return
    found, sample = case.chosen()
    known = case.known(np.arange(len(case.codes)), case.weight)
    for member, left_out in found:
        kind, _, detail = member.name.partition(", ")
        settings = case.member.settings
        assert set(member.setting) == set(settings), f"the setting {member.setting} is none of {set(settings)}"
        assert member.allows(member.setting), f"{member.setting} is not allowed"
        again = member.chosen(kind, detail, member.setting, known, sample, member.kept())
        case.same(again.left_out(), left_out, "rows left out, the member as it was chosen", 0.0)
        case.same(again.member.scores(sample.rows), member.scores(sample.rows), "the member as it was chosen", 0.0)


def _nothing_known(case: _Case, rng: np.random.Generator) -> None:
    if case.says_missing or case.member.missing_tells:
        return
    found, sample = case.chosen()
    rows = sample.rows
    empty = Reading(
        np.full_like(rows.numbers, np.nan), tuple(np.full_like(own, -1) for own in rows.levels), rows.columns
    )
    for member, _ in found:
        for scores in (member.scores(empty), member.left_out(replace(sample, rows=empty))):
            case.same(centred(scores), np.zeros(scores.shape), "a row without any cell")


def _nothing_removed(case: _Case, rng: np.random.Generator) -> None:
    if not np.isfinite(case.member.left_out_error):  # other parts of the member may answer than of new rows
        return
    found, sample = case.chosen()
    for member, _ in found:
        left_out = member.left_out(replace(sample, removed=np.zeros(len(sample))))
        most = max(case.tolerance, min(member.left_out_error, 1e-4))
        case.same(left_out, member.scores(sample.rows), "rows of which nothing is taken away", most)


def _refits(case: _Case, rng: np.random.Generator) -> None:
    if not np.isfinite(case.member.left_out_error):
        return
    kept = np.arange(len(case.codes))
    if not case.member.left_out_fills:
        kept = np.flatnonzero(case.reading.known.all(axis=1))
    found, sample = case.chosen(kept)
    left_out = [member.left_out(sample) for member, _ in found]
    most = max(case.tolerance, case.member.left_out_error)
    for i in rng.permutation(len(kept))[:12]:
        others = np.delete(kept, i)
        rest = case.known(others, case.weight[others])
        for (member, _), scores in zip(found, left_out, strict=True):
            kind, _, detail = member.name.partition(", ")
            again = member.bind(kind, detail, member.setting, rest)
            own = int(sample.codes[i])
            expected = again.scores(sample.rows[i : i + 1])[:, own]
            case.same(scores[i, own], expected, f"{member.name} without row {i} and a refit to the others", most)


def _reasons(case: _Case, rng: np.random.Generator) -> None:
    found, sample = case.chosen()
    rows = sample.rows[:8]
    for member, _ in found:
        score, variance = member.explain(rows, 8, True)
        assert score.shape == variance.shape == (*rows.known.shape, case.k)
        rest = score.sum(axis=1) - centred(member.scores(rows))
        if member.missing_tells:  # of a row without any cell it says something, too, which no column adds
            rest = rest - rest[:1] if rows.known.all() else np.zeros_like(rest)
        case.same(rest, np.zeros_like(rest), "contributions added up", 10.0 * case.tolerance)
        assert case.says_missing or not score[~rows.known].any(), "a missing cell contributes something"
