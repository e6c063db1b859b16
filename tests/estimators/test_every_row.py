"""GenerativeClassifier keeps every row up to 256 MiB, and boosted trees learn from all of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest
from suffice.automatic import limits


def chessboard(n, seed):
    """Squares of a board of 6 × 6 have turns, one label in twenty is wrong: no fewer nats than .1985 can be lost."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, ((np.floor(6 * X[:, 0]) + np.floor(6 * X[:, 1])) % 2).astype(int) ^ (rng.random(n) < 0.05)


@pytest.fixture(scope="module", autouse=True)
def fewer_judges():
    """Limits of rows that judge at a fifth of what they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MOST_JUDGED", 4000)
        patch.setattr(limits, "MANY_ROWS", 10_000)
        patch.setattr(limits, "JUDGES_OF_MANY", 2000)
        yield


@pytest.fixture(scope="module")
def new():
    return chessboard(5000, 1)


@pytest.fixture(scope="module")
def whole():
    return GenerativeClassifier().fit(*chessboard(6000, 0))


def lost(model, new):
    X, y = new
    return -model.predict_log_proba(X)[np.arange(len(y)), y]


def test_more_rows_than_judge_are_kept_and_learned_from(whole, new):
    """By paired losses of 5,000 new rows; four standard errors are 1 in 30,000 by chance."""
    few = GenerativeClassifier(keep_rows=2000).fit(*chessboard(6000, 0))
    assert len(whole.statistics_.sample.codes) == 6000
    gain = lost(few, new) - lost(whole, new)
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))
    assert abs(whole.loss_ - lost(whole, new).mean()) < 4 * np.hypot(whole.loss_error_, lost(whole, new).std() / 70)


def test_halves_are_the_whole_and_forgotten_rows_were_never_learned(whole, new):
    X, y = chessboard(6000, 0)
    first, second = (GenerativeClassifier().partial_fit(X[i::2], y[i::2]) for i in (0, 1))
    more, other = chessboard(300, 2)
    merged = second.merge(first).partial_fit(more, other).forget(more, other)
    assert_allclose(merged.predict_proba(new[0]), whole.predict_proba(new[0]), rtol=0, atol=1e-10)
    assert_allclose(merged.score_samples(new[0]), whole.score_samples(new[0]), rtol=1e-9)


def test_of_very_many_rows_some_judge_and_a_file_answers_the_same(new, read_back):
    """From `MANY_ROWS` on the rows that judge are held out of the trees once."""
    X, y = chessboard(10_500, 3)
    model = GenerativeClassifier().fit(X, y)
    assert_allclose(model.loss_, lost(model, new).mean(), atol=0.03)
    assert_array_equal(read_back(model).predict_proba(new[0]), model.predict_proba(new[0]))


@pytest.mark.parametrize("make", [GaussianDiscriminant, GenerativeClassifier, GenerativeForest])
def test_sizes_are_of_cells_of_8_bytes(make, read_back):
    """Of 3 columns 12 KiB are 512 rows, and a forest or pool keeps 50 at least."""
    X, y = chessboard(700, 4)
    for size, rows in (("12KiB", 512), ("0.012 MiB", 524), ("1GiB", 700), ("all", 700)):
        model = make(keep_rows=size).partial_fit(X, y)
        assert len(model.statistics_.sample.codes) == rows, size
    assert read_back(model).keep_rows == "all"
