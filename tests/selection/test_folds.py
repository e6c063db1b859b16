"""What members learn without a fold, and tables of which some members cannot be estimated."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice import GenerativeClassifier
from suffice.automatic.folds import without_each
from suffice.automatic.members import MEMBERS
from suffice.automatic.members.levels import LevelMember
from suffice.automatic.members.splines import SplineMember
from suffice.errors import DataError, NotLearnedError
from suffice.notes import Kind
from suffice.stats import FullScatter, PatternStats

ROUNDING = 1e-12  # of a sum of a few hundred squares, relative to their own
OF_MEANS = 1e-4  # the same about means that are far from zero: those of columns beside a cell of 1e10
K = 60  # classes


def hard(rng, n=900):
    """Columns that sum up others, of heavy tails, missing in patterns, and one cell beside which all are near."""
    x = rng.normal(size=n)
    spiked = np.where(np.arange(n) == 7, 1e10, rng.normal(size=n))
    X = np.column_stack([x, x + spiked, spiked, 1e6 + rng.normal(size=n), rng.standard_cauchy(n)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for pattern in ([0, 2], [3], [1, 4]):
        X[np.ix_(rng.random(n) < 0.2, pattern)] = np.nan
    return X, rng.integers(0, K, n), np.exp(rng.normal(0.0, 2.0, n))


def summary(X, codes, weight, rows):
    return PatternStats.summarize(X[rows], codes[rows], K, weight[rows], FullScatter)


def assert_same(found, expected, far=False):
    assert list(found.incomplete) == list(expected.incomplete)
    pairs = zip(found.parts(), expected.parts(), strict=True)
    for own, other in pairs:
        assert_allclose(own.weight, other.weight, rtol=ROUNDING)
        assert_allclose(own.mean, other.mean, rtol=ROUNDING)
        size = np.sqrt(np.einsum("kdd->kd", other.scatter.values))
        scale = np.maximum(size[:, :, None] * size[:, None], 1e-300)
        assert_allclose(
            own.scatter.values / scale, other.scatter.values / scale, atol=OF_MEANS if far else ROUNDING * 100
        )


def test_a_fold_is_left_by_the_merge_of_the_others(rng):
    """Against the statistics of the other rows, on a table that cannot lose its rows by subtraction."""
    X, codes, weight = hard(rng)
    fold = np.arange(len(X)) % 5
    whole, parts = summary(X, codes, weight, fold >= 0), [summary(X, codes, weight, fold == v) for v in range(5)]
    with pytest.raises(NotLearnedError):
        _ = [whole.subtract(part) for part in parts]
    for v, found in enumerate(without_each(whole, parts)):
        assert_same(found, summary(X, codes, weight, fold != v), far=True)


def test_rows_that_are_not_kept_stay_where_that_costs_no_digits(rng):
    """Of a class only some rows are kept: its statistics lose those of the fold, unless these rule its squares."""
    X = rng.normal(size=(600, 2)) + 5.0
    X[:300:2, 0] = np.nan
    codes, weight, kept = np.arange(600) % 3, np.ones(600), np.arange(600) % 2 < 1
    kept |= codes < 2
    fold = np.arange(600) // 3 % 5
    spiked = np.flatnonzero((codes == 2) & kept & (fold == 4) & (np.arange(600) >= 300))[0]
    X[spiked, 1] = 1e9
    parts = [summary(X, codes, weight, kept & (fold == v)) for v in range(5)]
    found = without_each(summary(X, codes, weight, fold >= 0), parts)
    for v in range(4):
        assert_same(found[v], summary(X, codes, weight, ~(kept & (fold == v))))
    others = summary(X, codes, weight, kept & (fold != 4))  # what rules the squares is in this fold
    assert_allclose(found[4].complete.weight[2], others.complete.weight[2], rtol=ROUNDING)
    assert_allclose(found[4].complete.scatter.values[2], others.complete.scatter.values[2], rtol=1e-9)


@pytest.fixture
def mixed(rng):
    y = np.arange(90) % 3
    X = pd.DataFrame({"a": rng.normal(size=90) + y, "b": rng.normal(size=90), "c": list("xyz" * 30)})
    X.loc[::7, "c"] = "x"
    return X, y


def failing(*_):
    raise np.linalg.LinAlgError("no decomposition of a")


def test_a_member_that_cannot_be_estimated_is_left_out_with_a_note(mixed, monkeypatch):
    """The others answer as if there were no such member."""
    X, y = mixed
    monkeypatch.setattr(SplineMember, "candidates", failing)
    model = GenerativeClassifier().fit(X, y)
    (note,) = [note for note in model.notes_ if "out of the members" in note.what]
    assert note.kind is Kind.LEFT_OUT
    assert "linear splines" in note.what
    assert "no decomposition of a" in note.why
    monkeypatch.setattr("suffice.automatic.choose.MEMBERS", tuple(own for own in MEMBERS if own is not SplineMember))
    assert_array_equal(model.predict_proba(X), GenerativeClassifier().fit(X, y).predict_proba(X))


def test_a_member_of_densities_that_are_no_numbers_is_left_out(mixed, monkeypatch):
    X, y = mixed
    monkeypatch.setattr(SplineMember, "candidates", poisoned(SplineMember.candidates))
    model = GenerativeClassifier().fit(X, y)
    assert not any("splines" in own for own in model.members_)
    assert any("no numbers" in note.why for note in model.notes_)
    assert np.isfinite(model.predict_proba(X)).all()


def poisoned(candidates):
    def found(known, sample, judge):
        for own in candidates(known, sample, judge):
            yield own._replace(scores=np.full_like(own.scores, np.nan))

    return found


def test_where_no_member_can_be_estimated_the_fit_says_why(mixed, monkeypatch):
    X, y = mixed
    monkeypatch.setattr("suffice.automatic.choose.MEMBERS", (SplineMember, LevelMember))
    for kind in (SplineMember, LevelMember):
        monkeypatch.setattr(kind, "candidates", failing)
    with pytest.raises(DataError, match=r"no member left.*\(no decomposition of a\)\. Next: "):
        GenerativeClassifier().fit(X, y)
