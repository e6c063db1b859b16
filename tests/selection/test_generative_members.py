"""`members="generative"`: the automatic classifier without the trees boosted on the rows kept."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice import GenerativeClassifier
from suffice.automatic.members import MEMBERS
from suffice.automatic.members.texts import TextRule
from suffice.errors import SettingError

BOOSTED = "boosted trees"


def steps(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes told apart by a checkerboard, 5 % of the labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    y = (np.floor(3.0 * X).sum(axis=1) % 2).astype(int)
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


def names(model: GenerativeClassifier) -> set[str]:
    return {member["name"] for member in model.members_}


@pytest.fixture(scope="module")
def table():
    return steps(600, 0)


@pytest.fixture(scope="module")
def whole(table):
    return GenerativeClassifier().fit(*table)


@pytest.fixture(scope="module")
def generative(table):
    return GenerativeClassifier(members="generative").fit(*table)


def test_only_boosted_trees_and_weighed_words_are_no_densities() -> None:
    assert [kind.kinds for kind in MEMBERS if not kind.generative] == [TextRule.kinds, (BOOSTED,)]


def test_all_members_but_the_boosted_trees_are_there(whole, generative) -> None:
    """The others are judged by the same rows, so that what each of them loses is the same."""
    assert names(whole) - names(generative) == {BOOSTED}
    assert "forest" in names(generative)
    known = {member["name"]: member["loss"] for member in whole.members_}
    for member in generative.members_:
        assert member["loss"] == pytest.approx(known[member["name"]], rel=1e-12)


def test_it_predicts_fresh_rows_in_its_own_way(whole, generative) -> None:
    """Probabilities are others than those of all members, and better than those of no table by far."""
    X, y = steps(2000, 1)
    found, others = generative.predict_proba(X), whole.predict_proba(X)
    assert np.abs(found - others).max() > 1e-3
    assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert -np.log(found[np.arange(len(y)), y]).mean() < 0.5 * np.log(2.0)


def test_a_setting_given_later_holds_from_the_next_edit_on_and_in_files(table, generative, read_back) -> None:
    X, y = table
    model = GenerativeClassifier().fit(X, y).set_params(members="generative")
    assert_array_equal(read_back(model).predict_proba(X), generative.predict_proba(X))
    model.partial_fit(X[:1], y[:1]).forget(X[:1], y[:1])
    assert names(model) == names(generative)


@pytest.mark.parametrize("wrong", ["boosted", "", None, True])
def test_other_words_are_refused(wrong, table) -> None:
    with pytest.raises(SettingError, match="members="):
        GenerativeClassifier(members=wrong).fit(*table)
