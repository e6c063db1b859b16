"""Choose the automatic classifier's members from the rows kept."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from .._arrays import Array, np
from ..densities import Rows
from ..errors import DataError
from ..notes import Kind, Note
from ..stats import ByClass, CategoricalStats, PatternStats
from ..stats.counts import CodedColumns
from ..stats.dependent_rows import as_judged
from ..stats.rows import deal_groups
from .choose import choose
from .columns import FrozenColumns
from .grouped import GroupFolds, within_vocabulary
from .joint import ShrunkGaussianFamily, choose_joint
from .pool import StackedEnsemble
from .sample import Sample, Unlabelled
from .statistics import MemberRows, MemberStats, check_columns, check_costs
from .table_rows import TableRows

LEAST_ROWS = 50  # of which fewer do not judge


def rows_of_sample(statistics: ByClass, held: type[MemberRows] = MemberRows) -> MemberRows:
    """Return the rows that are kept, each with the weight it stands for, as they are `held`."""
    sample = statistics.sample
    assert sample is not None
    weight = sample.represented(statistics.weight)
    return held(table_rows(sample.rows), sample.codes, sample.copies, weight, len(statistics.classes))


def table_rows(blocks: Rows) -> TableRows:
    """Return rows that are kept, numbers and categories together."""
    numbers, coded = None, CodedColumns((), ())
    for part in blocks:
        if isinstance(part, CodedColumns):
            coded = part
        else:
            numbers = part
    return TableRows(np.zeros((len(coded.codes[0]), 0)) if numbers is None else numbers, coded)


class Judging(NamedTuple):
    """What a choice is made of: rows that judge, statistics, counts of categories, class weights, unlabelled rows."""

    sample: Sample
    pieces: MemberStats
    categories: list[Array]
    weight: Array
    unlabelled: Unlabelled | None


def choose_by_rows(
    statistics: ByClass, pieces: MemberStats, parts: bool = True, wanted: str = "all"
) -> StackedEnsemble:
    """Return the automatic classifier of these statistics, judged on the rows that are kept."""
    sample, pieces, categories, weight, unlabelled = judging(statistics, pieces)
    return choose(sample, pieces, categories, weight, parts, wanted, unlabelled)


def judging(statistics: ByClass, pieces: MemberStats) -> Judging:
    """Return what a choice is made of, in units of rows: statistics, and the rows that are kept."""
    assert statistics.sample is not None
    rows, sample = rows_of_sample(statistics), as_judged(statistics.sample)
    unit = sample.rows_per_weight  # weights say what rows count beside each other, not how many there are
    pieces = pieces if unit == 1.0 else pieces.scale(unit)
    held, weight = sample.weight * unit, rows.weight * (unit * sample.weight.sum() / statistics.total)
    read = pieces.columns.read(rows.rows.numbers, rows.rows.coded)
    alone = held / sample.copies, weight, weight / sample.copies, held
    judged = Sample.of_kept(read, rows.codes, *alone, sample.units)
    groups = sample.units.groups
    if groups is not None:
        place = deal_groups(groups, rows.codes)
        judged = replace(judged, place=place, folds=GroupFolds(rows, sample.units, place, unit))
    counts = [unit * own for own in level_counts(statistics, pieces.columns)]
    beside = unlabelled_rows(statistics, pieces.columns, unit)
    return Judging(judged, pieces, counts, unit * statistics.weight, beside)


def unlabelled_rows(statistics: ByClass, columns: FrozenColumns, unit: float) -> Unlabelled | None:
    """Return the rows without a label as columns read them, a weight of 1 being `unit` rows; None for none."""
    kept = statistics.unlabelled
    if kept is None:
        return None
    rows = table_rows(kept.rows)
    return Unlabelled(columns.read(rows.numbers, rows.coded), unit * kept.weight, float(kept.copies.sum()))


def joint_by_rows(
    statistics: ByClass, pieces: MemberStats, setting: tuple[float, float] | None = None
) -> tuple[ShrunkGaussianFamily, PatternStats] | None:
    """Return the joint model's family and statistics, judged on the rows that are kept, one copy of each left out.

    With the `setting` (strength, sphere) that they chose before nothing is judged.
    """
    assert statistics.sample is not None
    sample = as_judged(statistics.sample)
    unit = sample.rows_per_weight
    pieces = pieces if unit == 1.0 else pieces.scale(unit)
    groups = sample.units.groups
    place = None if groups is None else deal_groups(groups, sample.codes)
    return choose_joint(pieces, rows_of_sample(statistics), unit * sample.row_weight(), setting, place)


def level_counts(statistics: ByClass, columns: FrozenColumns) -> list[Array]:
    """Return the counts (k, levels) of each column of categories in the frozen vocabulary."""
    for stats in statistics.blocks:
        if isinstance(stats, CategoricalStats):
            return within_vocabulary(stats, columns.vocabulary)
    return []


def few_to_judge(statistics: ByClass) -> Note | None:
    """Return a note where most of the rows kept were forgotten, and of the others too few are kept to judge by."""
    if statistics.sample is None:
        return None
    kept = round(float(statistics.sample.copies.sum()))
    if kept >= LEAST_ROWS or kept >= 0.9 * statistics.rows:
        return None
    what = f"judged members by the {kept} rows that are still kept of the {statistics.rows} learned"
    why = "the other rows kept to judge by were forgotten; fit anew on the rows that are left to judge by all of them"
    return Note(what, why, kind=Kind.UNCERTAIN)


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
