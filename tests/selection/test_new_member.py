"""A member takes one class and one line of the registry: it is then chosen, pooled, explained, saved and exported."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from member_laws import check_shipped_member
from numpy.testing import assert_allclose

from suffice import GenerativeClassifier
from suffice.automatic import choose, members, statistics
from suffice.automatic.columns import BINS
from suffice.automatic.member import Additive, Candidate, Counts, totals
from suffice.automatic.members.levels import LevelShares
from suffice.export.lower import lower
from suffice.export.program import Table

BIN = BINS[0]


@dataclass(frozen=True)
class BinCounts(Counts):
    name = "binned"

    @classmethod
    def shapes(cls, columns, k):
        return {BIN: (k, len(columns.scores) * (BIN + 1))}

    @classmethod
    def count(cls, entry, reading, codes, k, weight):
        counts = np.zeros(cls.shapes(reading.columns, k)[entry])
        weight = np.ones(len(codes)) if weight is None else weight
        for j, cells in enumerate(bins(reading)):
            seen = cells >= 0
            np.add.at(counts, (codes[seen], j * (BIN + 1) + cells[seen]), weight[seen])
        return counts


def bins(reading) -> list[np.ndarray]:
    starts, numbers = np.array(reading.columns.bin_starts(BIN)), reading.numbers.shape[1]
    levels = reading.binned(BIN)[:, :numbers]
    return list(np.where(levels < 0, -1, levels - starts[:numbers]).T)


@dataclass(frozen=True)
class BinMember(Additive):
    """Naive Bayes on numbers cut into three bins."""

    kinds = ("bins",)
    statistic = BinCounts
    settings: ClassVar[dict[str, type]] = {"strength": float}
    column_kind = "bin"

    model: LevelShares
    name: str = "bins"

    @classmethod
    def made(cls, known, strength):
        counts = known.part(BinCounts).counts[BIN]
        return cls(LevelShares(tuple(np.split(counts, counts.shape[1] // (BIN + 1), axis=1)), strength))

    @classmethod
    def candidates(cls, known, sample, judge) -> Iterator[Candidate]:
        if sample.rows.numbers.shape[1] and known.part(BinCounts).entries:  # older files and released models have none
            model = cls.made(known, 1.0).model
            columns = model.left_out(bins(sample.rows), sample.codes, sample.removed, (1.0, 4.0))
            for t, scores in zip((1.0, 4.0), totals(columns, 2, judge), strict=True):
                yield Candidate((cls.made(known, t),), scores, judge)

    @classmethod
    def bind(cls, kind, detail, setting, known):
        return cls.made(known, setting["strength"])

    @property
    def setting(self):
        return {"strength": self.model.strength}

    @property
    def width(self):
        return len(self.model.counts)

    def columns(self, reading, wanted=None):
        return self.model.columns(bins(reading), wanted)

    def left_out_columns(self, sample):
        rows = self.model.left_out(bins(sample.rows), sample.codes, sample.removed, (self.model.strength,))
        return (part for (part,) in rows)

    def lower_column(self, inputs, column):
        return Table(inputs.bins(BIN)[0][column], self.model.table(column))


def table(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) + rng.normal(size=(3, 3))[y]
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def test_it_keeps_the_laws() -> None:
    check_shipped_member(BinMember, *table(120))


@pytest.mark.slow
@pytest.mark.parametrize("keep_rows", [100, 2000])
def test_it_is_chosen_pooled_explained_saved_and_exported(keep_rows, monkeypatch, read_back) -> None:
    for module in (choose, members):
        monkeypatch.setattr(module, "MEMBERS", (*members.MEMBERS[:1], BinMember))
    for module in (members, statistics):
        monkeypatch.setattr(module, "PARTS", (members.MEMBERS[0].statistic, BinCounts))
    X, y = table()
    model = GenerativeClassifier(keep_rows=keep_rows).fit(X[:200], y[:200])
    found = {own["name"]: own for own in model.members_}
    assert found.keys() > {"bins"}
    assert found["bins"]["setting"]["strength"] in (1.0, 4.0)
    model.partial_fit(X[200:], y[200:]).forget(X[:20], y[:20])
    log_p = model.predict_log_proba(X[:50])
    reasons = model.explain(X[:50]).sum(axis=1) + np.log(model.priors_)
    assert_allclose(reasons - reasons[:, :1], log_p - log_p[:, :1], atol=1e-9)
    assert_allclose(read_back(model).predict_log_proba(X[:50]), log_p, rtol=0, atol=1e-12)
    program = lower(model._fitted)
    pooled = [program.terms[i] for i in program.stack.terms]
    assert sum(isinstance(term, Table) for term in pooled) == 3
