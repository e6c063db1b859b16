"""The order of levels must not tell trees the labels of the rows that they are judged by."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import entropy

from suffice import GenerativeClassifier
from suffice.forest import ForestColumns
from suffice.forest.columns import TOLD
from suffice.stats.counts import CodedColumns


def frozen(codes_of_levels, y, k=2):
    levels = tuple(f"v{j}" for j in range(int(max(map(max, codes_of_levels))) + 1))
    coded = CodedColumns((levels,) * len(codes_of_levels), tuple(codes_of_levels))
    return ForestColumns.freeze(np.zeros((len(y), 0)), coded, y, k, np.ones(len(y)))


def test_few_levels_stand_in_the_order_of_their_shares():
    """By hand: the share of class 1 is .9, .1, .5 and .7 in the four levels."""
    column = np.repeat(np.arange(4), 400)
    y = np.concatenate([(np.arange(400) < 400 * share).astype(int) for share in (0.9, 0.1, 0.5, 0.7)])
    place = frozen([column], y).order[0]
    assert_array_equal(place if place[0] > place[1] else 3 - place, [3, 0, 1, 2])
    assert_array_equal(frozen([column], 1 - y).order[0], place)  # whatever the classes are called


@pytest.mark.parametrize(("columns", "rare"), [(1, 0.5), (3, 0.5), (1, 0.05)])
def test_of_many_levels_the_labels_order_no_more_than_rows_are_enough_for(columns, rare):
    """Other labels of the same rows change so many of the commonest levels alone, fewer of a rare class."""
    rng, n, size = np.random.default_rng(columns), 2000, 300
    column = rng.choice(size, size=n, p=np.arange(1, size + 1) / (size * (size + 1) / 2))
    labels = np.arange(n) < n * rare
    orders = [frozen([column] * columns, rng.permutation(labels).astype(int)).order[0] for _ in range(30)]
    most = int(1 + 2 * TOLD * entropy([rare, 1 - rare], base=2) * n / columns)
    moved = np.flatnonzero(np.any([own != orders[0] for own in orders], axis=0))
    held = np.bincount(column, minlength=size)
    assert 0.5 * most < len(moved) <= most
    assert held[moved].min() >= np.delete(held, moved).max()
    rest = np.setdiff1d(np.arange(size), moved)
    assert (np.diff(held[rest[np.argsort(orders[0][rest])]]) <= 0).all()  # the rarest last
    assert_array_equal(np.sort(orders[0]), np.arange(size))


def table(rng, n, levels):
    """A number, and two columns of names that say nothing."""
    names = {f"name {j}": [f"v{v}" for v in rng.integers(levels, size=n)] for j in range(2)}
    return pd.DataFrame({"number": rng.normal(size=n), **names})


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "signal"), [(30, True), (600, False)])
def test_names_that_say_nothing_do_not_make_the_reported_loss_too_small(levels, signal):
    """With orders of all levels by their shares, 600 levels of noise were said to lose .16 nats, and lost 1.0."""
    rng = np.random.default_rng(levels)
    X = table(rng, 6000, levels)
    y = np.where(signal * X["number"] + rng.normal(size=len(X)) > 0, "yes", "no")
    model = GenerativeClassifier().fit(X[:1500], y[:1500])
    own = np.searchsorted(model.classes_, y[1500:])
    fresh = -model.predict_log_proba(X[1500:])[np.arange(len(own)), own]
    error = fresh.std() / np.sqrt(len(fresh))
    assert model.loss_ > fresh.mean() - 0.02 - 3 * error
    assert fresh.mean() < (0.51 if signal else np.log(2)) + 0.02  # a probit alone loses .50


@pytest.mark.slow
def test_names_that_say_nothing_do_not_tell_a_rare_class():
    """With orders of all 200 levels by their shares, a class of 1 % was said to lose .026 nats, and lost .062."""
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(6000) < 60)
    assert GenerativeClassifier().fit(table(rng, 6000, 200), y).loss_ > 0.97 * entropy([0.01, 0.99])
