"""All laws that our members keep: those of `suffice.testing.check_member` and more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from suffice import testing
from suffice.automatic.judge import HoldoutScorer
from suffice.automatic.member import Member
from suffice.automatic.members.gaussian import GaussianPart
from suffice.automatic.members.missing import MissingMember
from suffice.automatic.members.splines import SplineCounts
from suffice.automatic.members.texts import TextCounts
from suffice.automatic.stack import centred
from suffice.testing import MemberCase, Random, check_laws, same_parts


def check_shipped_member(member: type[Member], X: object, y: Sequence[object]) -> None:
    """Check all laws: weights, files, rows without a cell and rows of which nothing is taken away, too."""
    first = (testing._merges, _weights, _saves, testing._scores, _nothing_known, _nothing_removed)
    laws = (*first, testing._refits, _chosen_again, _unknown_statistic, testing._contributions)
    check_laws(laws, MemberCase.of(member, X, y, 1e-9), 0)


def _weights(case: MemberCase, rng: Random) -> None:
    kind = case.member.statistic
    if kind is None:
        return
    copies = rng.integers(1, 4, len(case.codes))
    again = np.repeat(np.arange(len(case.codes)), copies)
    heavy = kind.summarize(case.reading, case.codes, case.k, copies.astype(np.float64))
    same_parts(heavy, kind.summarize(case.reading[again], case.codes[again], case.k, None), case.tolerance)
    alike = kind.summarize(case.reading, case.codes, case.k, np.full(len(case.codes), 4.0))
    plain = kind.summarize(case.reading, case.codes, case.k, None)
    same_parts(alike.each(lambda own: own.scale(0.25)), plain, case.tolerance)


def _saves(case: MemberCase, rng: Random) -> None:
    kind = case.member.statistic
    if kind is None:
        return
    whole = case.part(np.arange(len(case.codes)))
    again = kind.from_arrays(*whole.arrays(), case.reading.columns, case.k)
    same_parts(again, whole, 0.0)


def _chosen_again(case: MemberCase, rng: Random) -> None:
    if not case.member.settings:
        return
    found, sample = case.chosen()
    known = case.known(np.arange(len(case.codes)))
    for member, left_out in found:
        kind, _, detail = member.name.partition(", ")
        settings = case.member.settings
        assert set(member.setting) == set(settings), f"the setting {member.setting} is none of {set(settings)}"
        assert member.allows(member.setting), f"{member.setting} is not allowed"
        again = member.chosen(kind, detail, member.setting, known, sample, member.kept())
        case.same(again.left_out(), left_out, "rows left out, the member as it was chosen", 0.0)
        case.same(again.member.scores(sample.rows), member.scores(sample.rows), "the member as it was chosen", 0.0)


def _unknown_statistic(case: MemberCase, rng: Random) -> None:
    """Check that nothing is chosen where a file or a released model has no statistic of this kind."""
    kind = case.member.statistic
    if kind in (None, GaussianPart, SplineCounts, TextCounts):  # which every model of such columns has
        return
    known, (_, sample) = case.known(np.arange(len(case.codes))), case.chosen()
    judge = HoldoutScorer(sample.codes, np.zeros((len(sample), case.k)), sample.weight, sample.single)
    lacking = replace(known, learned={kind.name: kind({})})
    try:
        found = list(case.member.candidates(lacking, sample, judge))
    except (KeyError, IndexError) as error:
        raise AssertionError("candidates asks for entries that its statistic has not; yield none there") from error
    assert not found, "a member of a statistic that has no entries"


def _nothing_known(case: MemberCase, rng: Random) -> None:
    if case.says_missing or case.member.missing_tells or case.member is MissingMember:
        return
    found, sample = case.chosen()
    rows = sample.rows
    empty = rows.hiding(np.arange(rows.columns.d))
    for member, _ in found:
        for scores in (member.scores(empty), member.left_out(replace(sample, rows=empty))):
            case.same(centred(scores), np.zeros(scores.shape), "a row without any cell")


def _nothing_removed(case: MemberCase, rng: Random) -> None:
    if not np.isfinite(case.member.left_out_error):  # other parts of the member may answer than of new rows
        return
    found, sample = case.chosen()
    for member, _ in found:
        left_out = member.left_out(replace(sample, removed=np.zeros(len(sample))))
        most = max(case.tolerance, min(member.left_out_error, 1e-4))
        case.same(left_out, member.scores(sample.rows), "rows of which nothing is taken away", most)
