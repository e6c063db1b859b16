"""Sums over leaves: what columns add to them are Shapley values, rows are scored by trees that have not seen them."""

from dataclasses import replace

import numpy as np
import pytest
from forests import small_table
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from suffice.automatic.columns import FrozenColumns
from suffice.automatic.judge import HoldoutScorer
from suffice.automatic.member import TrainingStats
from suffice.automatic.members import boosted
from suffice.automatic.members.boosted import BoostedMember
from suffice.automatic.members.forest import ForestMember, LeafWeights
from suffice.automatic.sample import Sample
from suffice.automatic.stack import centred, without_each
from suffice.forest import FrozenForest
from suffice.stats.counts import CodedColumns

NO_CATEGORIES = CodedColumns((), ())


def judged(numbers, categories, y, k, weight=None):
    """Return what members are made of, the rows they are judged on, and the judge."""
    weight = np.ones(len(y)) if weight is None else weight
    forest = FrozenForest.freeze(numbers, categories, y, k, np.ones(len(y)), density=False)
    columns = FrozenColumns.freeze(numbers, categories, np.ones(len(y)), forest)
    reading = columns.read(numbers, categories)
    parts = {LeafWeights.name: LeafWeights.summarize(reading, y, k, weight)}
    total = np.bincount(y, weights=weight, minlength=k).astype(float)
    sample = Sample(reading, y, weight, weight, weight, weight)
    return (
        TrainingStats(columns, parts, (), total, np.zeros((k, 0))),
        sample,
        HoldoutScorer(y, without_each(total, y, weight), weight, weight),
    )


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(3)
    numbers, categories, y = small_table(rng, 300, holes=0.1)
    return judged(np.column_stack([numbers, rng.normal(size=300) + y]), categories, y, 2)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return judged(X, NO_CATEGORIES, y, 3)


def members(case):
    """Return a member of each kind, of 60 trees and of some hundred boosted ones."""
    forest = list(ForestMember.candidates(*case))[1].members[0]
    return {"forest": forest, "boosted": next(BoostedMember.candidates(*case)).members[0]}


@pytest.mark.parametrize("table", ["mixed", "iris"])
def test_boosted_scores_of_a_row_come_from_trees_that_have_not_seen_its_label(table, request):
    """Labels within one fold are dealt anew: the trees that score its rows stay, and so do the scores of one round."""
    known, sample, judge = request.getfixturevalue(table)
    candidate = next(BoostedMember.candidates(known, sample, judge))
    rounds = candidate.members[0].rounds
    rows = boosted._Rows.of(sample, np.arange(known.k), known.k)
    fold = boosted._Growing(rows, 2, boosted._of_few(rows)).done(rounds)
    out = np.flatnonzero(rows.place == 2)
    cells = sample.rows.forest.cells[out]
    shares = (known.weight + 0.5) / (known.weight + 0.5).sum()
    own = rows.grown(fold.boosting, rounds).scores(cells)
    assert_allclose(centred(candidate.scores[out] + np.log(shares)), centred(own), atol=1e-12)
    flipped = rows.codes.copy()
    flipped[out] = (flipped[out] + 1) % known.k
    again = boosted._Growing(rows._replace(codes=flipped), 2, boosted._of_few(rows)).done(rounds)
    for number in range(1, rounds + 1, 7):
        one, two = (rows.grown(each.boosting, number).scores(cells) for each in (fold, again))
        assert_array_equal(one, two, err_msg=f"round {number}")
    assert (np.array(again.losses) > fold.losses).all()  # wrong labels lose more


def test_boosted_trees_of_many_rows_that_are_of_no_use_are_left_out(request, monkeypatch):
    """Beside a member that knows all labels, but not beside one that knows nothing."""
    monkeypatch.setattr(boosted, "FEW_ROWS", 0)
    known, sample, judge = request.getfixturevalue("mixed")
    sure = 50.0 * (sample.codes[:, None] == np.arange(2))
    assert list(BoostedMember.candidates(known, sample, replace(judge, best=sure))) == []
    assert len(list(BoostedMember.candidates(known, sample, replace(judge, best=np.zeros((300, 2)))))) == 1


@pytest.mark.parametrize("table", ["mixed", "iris"])
def test_a_forest_judges_rows_by_trees_that_have_not_seen_them(table, request):
    """The mean over these trees of the leaf's shares without the row; its own label has no part in it."""
    known, sample, judge = request.getfixturevalue(table)
    member = list(ForestMember.candidates(known, sample, judge))[2].members[0]
    trees, reading, t = member.frozen.labels, sample.rows.forest, member.strength
    leaves = np.stack([trees.leaves_of(reading.cells, tree) for tree in range(len(trees))], axis=1)
    bags = np.stack([trees.in_bag(reading, tree) for tree in range(len(trees))], axis=1)
    pi = (known.weight + 0.5) / (known.weight + 0.5).sum()
    found = member.left_out(sample)
    for i in range(0, len(sample), 37):
        shares = []
        for tree in np.flatnonzero(~bags[i]):
            others = (leaves[:, tree] == leaves[i, tree]) & (np.arange(len(sample)) != i)
            counts = np.bincount(sample.codes[others], minlength=known.k)
            shares.append((counts + t * pi) / (counts.sum() + t))
        assert_allclose(found[i], np.log(np.mean(shares, axis=0) / pi), atol=1e-9)
