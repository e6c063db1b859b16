"""Every member keeps the laws of members, and the check of them names what a wrong member breaks."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from member_laws import check_shipped_member

from suffice.automatic.knots import BINS
from suffice.automatic.member import Member
from suffice.automatic.members import MEMBERS
from suffice.automatic.members.dependence import AodeMember, PairCounts
from suffice.automatic.members.gaussian import GaussianMember
from suffice.automatic.members.levels import LevelMember
from suffice.automatic.members.missing import MissingMember
from suffice.automatic.members.splines import SplineCounts, SplineMember
from suffice.automatic.members.texts import OfTexts

SAID = "call me now or never . win a prize ! see you there at ten"


def table(n: int = 120, holes: float = 0.1, unknown: float = 0.1) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) + rng.normal(size=(3, 3))[y]
    X[rng.random(X.shape) < holes] = np.nan
    words = np.array(["blue", "green", "red"], dtype=object)[(y + rng.integers(0, 2, n)) % 3]
    words[rng.random(n) < unknown] = None
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.exp(X[:, 2]), "word": words}), y


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.__name__)
def test_members_keep_their_laws(member: type[Member], missing: float) -> None:
    X, y = table(900 if member.needs_rows and not issubclass(member, OfTexts) else 120, missing, missing)
    if member is MissingMember:
        X["a"] = X["a"].mask((y == 0) & (np.arange(len(y)) % 4 > 0))
    if issubclass(member, OfTexts):
        rng = np.random.default_rng(1)
        parts = np.array(SAID.split(" "))
        lines = [f"{' '.join(rng.choice(parts[3 * c :], 7))} {i}" for i, c in enumerate(y)]
        X["message"] = [None if rng.random() < missing else line for line in lines]
    check_shipped_member(member, X, y)


@dataclass(frozen=True)
class Halved(SplineCounts):
    """Counts that are averaged when they are merged."""

    def merge(self, other: SplineCounts) -> SplineCounts:
        added = super().merge(other)
        return self.of({m: own / 2.0 for m, own in added.counts.items()})


class MergedWrong(SplineMember):
    statistic = Halved


class InSample(SplineMember):
    """Learned rows are scored as if they were new."""

    def left_out_columns(self, sample):
        return self.columns(sample.rows)


class TakesOne(LevelMember):
    """Rows lose a weight of 1, whatever they weigh."""

    def left_out_columns(self, sample):
        return super().left_out_columns(replace(sample, removed=np.ones(len(sample))))


class TellsMissing(SplineMember):
    """A missing cell speaks for the first class."""

    def columns(self, reading, wanted=None):
        chosen = range(self.width) if wanted is None else wanted
        for j, part in zip(chosen, super().columns(reading, chosen), strict=True):
            yield part + np.eye(part.shape[1])[0] * np.isnan(reading.numbers[:, [j]])


class AsksAlways(AodeMember):
    """Pairs are taken to be there, which older files and released models do not have."""

    @classmethod
    def candidates(cls, known, sample, judge):
        return super().candidates(known, sample, judge) if known.part(PairCounts).counts[BINS[0]].size else ()


class SaysHalf(GaussianMember):
    def explain(self, reading, orders, errors):
        score, variance = super().explain(reading, orders, errors)
        return 0.5 * score, variance


WRONG: dict[str, tuple[str, type[Member]]] = {
    "merges": (r"^merges: ", MergedWrong),
    "scores of its own rows": (r"^refits: .* without row", InSample),
    "one copy for all": (r"^nothing_removed: ", TakesOne),
    "missing cells": (r"^nothing_known: ", TellsMissing),
    "no statistic": (r"^unknown_statistic: .* yield none there", AsksAlways),
    "reasons": (r"^contributions: ", SaysHalf),
}


@pytest.mark.parametrize("broken", WRONG)
def test_a_wrong_member_is_told_what_it_breaks(broken: str) -> None:
    message, member = WRONG[broken]
    with pytest.raises(AssertionError, match=message):
        check_shipped_member(member, *table(unknown=0.0))
