"""The automatic classifier without rows: it was released, and keeps the choice that was made where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self, cast

from .._arrays import Array, np
from ..automatic.choose import choose
from ..automatic.columns import FrozenColumns
from ..automatic.costs import check_columns, check_costs
from ..automatic.frozen import Choice
from ..automatic.joint import ShrunkGaussianFamily, choose_joint
from ..automatic.member_family import MemberFamily
from ..automatic.pool import Automatic
from ..automatic.sample import Sample
from ..automatic.statistics import MemberRows, MemberStats, TableRows
from ..disclosure import Given, Least
from ..disclosure.members import check_width, diagonal_of, released_levels, released_members
from ..errors import DataError, MergeError
from ..estimate import Note
from ..estimate.families import GaussianFamily
from ..stats import ByClass, CategoricalStats, PatternStats
from ..stats.counts import CodedColumns
from ._queries import GenerativeEstimator
from ._unlabelled import Batch

LEAST_ROWS = 50  # of which fewer do not judge
SAMPLED = "learned the members from the rows kept, not from all"


class FrozenChoice(GenerativeEstimator):
    """What an automatic classifier does that holds no rows."""

    _frozen_choice: Choice | None = None

    @property
    def _holds_no_rows(self) -> bool:
        """Whether there are no rows to choose by, so that an earlier choice stands."""
        return "statistics_" in vars(self) and self.statistics_.sample is None

    @property
    def _frozen(self) -> Choice:
        if self._frozen_choice is None:
            raise DataError(
                "This GenerativeClassifier holds no rows to choose its members by, and no choice. Next: fit it again."
            )
        return self._frozen_choice

    def _chosen_settings(self) -> dict[str, Any]:
        return {"choice": self._frozen.plain()} if self._holds_no_rows else {}

    def _restore_chosen(self, chosen: Mapping[str, Any]) -> None:
        if set(chosen) != ({"choice"} if self._holds_no_rows else set()):
            raise ValueError("the choice of members")
        if self._holds_no_rows:
            self._frozen_choice = Choice.of_plain(chosen["choice"])
            _ = cast(Any, self)._automatic  # whose members must bind to the statistics

    def _check_alike(self, other: Any) -> None:
        """Raise MergeError for two models of which one holds no rows, and whose columns were frozen apart."""
        mine, theirs = (model.statistics_.blocks[-1] for model in (self, other))
        apart = isinstance(mine, MemberStats) and isinstance(theirs, MemberStats) and mine.columns != theirs.columns
        if apart and (self._holds_no_rows or other._holds_no_rows):
            raise MergeError(
                "These two models read columns on different knots, and at least one holds no rows to read them again. "
                "Next: release the second like the first: second.release(like=first), or "
                "`suffice release SECOND --like FIRST -o FILE`."
            )

    def _merge_frozen(self, other: Any, merge: Callable[[Any], Self]) -> Self:
        choice = self._frozen_choice if self._holds_no_rows else None
        if choice is None and other._holds_no_rows:
            choice = other._frozen_choice
        before, self._frozen_choice = self._frozen_choice, choice
        try:
            return merge(other)
        except BaseException:
            self._frozen_choice = before
            raise

    # --- letting go --------------------------------------------------------------------------------------------------

    def _settings_to_pass_on(self) -> dict[str, Any]:
        return {}

    def _rows_of_members(self) -> int:
        block = self.statistics_.blocks[-1]
        return int(block.copies.sum()) if isinstance(block, MemberRows) else 0

    def _kept_batch(self) -> Batch:
        batch, rows = super()._kept_batch(), rows_of_sample(self.statistics_)
        return batch._replace(rows=[*batch.rows, rows.rows])

    def _let_go(self, limit: Least, like: Any) -> tuple[Self, list[Note]]:
        """Return the released model and what was given up; see `disclosure.members`."""
        statistics, given, members = self.statistics_, Given(), self._blocks[-1]
        if self._holds_no_rows:
            raise DataError(
                "An automatic classifier is released from rows, and this one holds none. Next: release the model that "
                "was fitted to them."
            )
        block = statistics.blocks[-1]
        rows = block if isinstance(block, MemberRows) else rows_of_sample(statistics)
        least = Least(limit.rows, float((rows.weight / rows.copies).max()))
        check_width(rows)
        if not isinstance(block, MemberRows):
            given.up(SAMPLED)
        weight, k = statistics.weight, len(statistics.classes)
        levels = released_levels(rows.rows.coded, rows.codes, k, rows.weight, weight, least, given)
        places = self._blocks[-1].positions
        assert isinstance(members.family, MemberFamily)
        shift = members.family.numbers  # numbers come first in the block of the members, and levels after them
        for what in list(given.columns):
            given.columns[what] = {j + shift for j in given.columns[what]}
        columns = None if like is None else like.statistics_.blocks[-1].columns
        stats, exact = released_members(rows, levels, weight, least, given, columns)
        if like is None:
            automatic = choose_by_rows(statistics, exact, parts=False)
            joint = joint_by_rows(statistics, exact) if shift else None
            assert statistics.sample is not None
            unit = statistics.sample.rows_per_weight
            choice = Choice.of(automatic, statistics.classes, None if joint is None else joint[0], unit)
        else:
            choice = like._frozen_choice
        blocks = tuple(
            diagonal_of(stats, shift, weight) if isinstance(own.family, GaussianFamily) else levels
            for own in self._blocks[:-1]
        )
        twin = self._copy_with(
            self._blocks, replace(statistics, blocks=(*blocks, stats), sample=None, heaviest=least.told)
        )
        twin._frozen_choice = choice
        assert len(places) == len(self._schema)
        return twin, self._given_up(given, members, limit)


def rows_of_sample(statistics: ByClass) -> MemberRows:
    """Return the rows that are kept, each with the weight it stands for."""
    sample = statistics.sample
    assert sample is not None
    numbers, coded = np.zeros((len(sample.codes), 0)), CodedColumns((), ())
    for part in sample.rows:
        if isinstance(part, CodedColumns):
            coded = part
        else:
            numbers = part
    weight = sample.represented(statistics.weight)
    return MemberRows(TableRows(numbers, coded), sample.codes, sample.copies, weight, len(statistics.classes))


def choose_by_rows(statistics: ByClass, pieces: MemberStats, parts: bool = True) -> Automatic:
    """Return the automatic classifier of these statistics, judged on the rows that are kept."""
    rows, sample = rows_of_sample(statistics), statistics.sample
    assert sample is not None
    unit = sample.rows_per_weight  # weights say what rows count beside each other, not how many there are
    pieces = pieces if unit == 1.0 else pieces.scale(unit)
    held, weight = sample.weight * unit, rows.weight * (unit * sample.weight.sum() / statistics.total)
    read = pieces.columns.read(rows.rows.numbers, rows.rows.coded)
    judged = Sample(read, rows.codes, held / sample.copies, weight, weight / sample.copies, held)
    counts = [unit * own for own in level_counts(statistics, pieces.columns)]
    return choose(judged, pieces, counts, unit * statistics.weight, parts)


def joint_by_rows(statistics: ByClass, pieces: MemberStats) -> tuple[ShrunkGaussianFamily, PatternStats] | None:
    """Return the joint model's family and statistics, judged on the rows that are kept, one copy of each left out."""
    sample = statistics.sample
    assert sample is not None
    unit = sample.rows_per_weight
    pieces = pieces if unit == 1.0 else pieces.scale(unit)
    return choose_joint(pieces, rows_of_sample(statistics), unit * sample.row_weight())


def level_counts(statistics: ByClass, columns: FrozenColumns) -> list[Array]:
    """Return the counts (k, levels) of each column of categories in the frozen vocabulary."""
    counts = []
    for stats in statistics.blocks:
        if isinstance(stats, CategoricalStats):
            for known, levels, table in zip(columns.vocabulary, stats.levels, stats.counts, strict=True):
                position = {level: i for i, level in enumerate(levels)}
                own = np.zeros((len(table), len(known)))
                here = [i for i, level in enumerate(known) if level in position]
                own[:, here] = table[:, [position[known[i]] for i in here]]
                counts.append(own)
    return counts


def few_to_judge(statistics: ByClass) -> Note | None:
    """Return a note where most of the rows kept were forgotten, and of the others too few are kept to judge by."""
    if statistics.sample is None:
        return None
    kept = round(float(statistics.sample.copies.sum()))
    if kept >= LEAST_ROWS or kept >= 0.9 * statistics.rows:
        return None
    what = f"judged members by the {kept} rows that are still kept of the {statistics.rows} learned"
    return Note(what, "the others kept were forgotten; a fit on the rows that are left judges by all of them")


def check_judges(statistics: ByClass) -> None:
    """Raise DataError where too few rows are left to judge by."""
    few = few_to_judge(statistics)
    if few is not None:
        raise DataError(
            f"This model has {few.what}, and would say too small an error of itself: {few.why}. Next: fit again to "
            "the rows that are left, for its loss and sets of classes; it predicts as before."
        )


def check_memory(block: MemberRows | MemberStats, statistics: ByClass) -> None:
    """Raise DataError, before it is paid for, if the members or the choice between them do not fit into memory."""
    n, k = 0 if statistics.sample is None else len(statistics.sample.codes), len(statistics.classes)
    if isinstance(block, MemberStats):
        check_columns(block.columns, k, n)
    else:  # what the columns come to is known when these rows freeze them
        check_costs(n, block.rows.numbers.shape[1], k, [len(known) for known in block.rows.coded.levels], width=0)
