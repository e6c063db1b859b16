"""Rows are answered block by block, on all cores: no answer depends on the others, on blocks or on threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice import GenerativeClassifier, _arrays
from suffice.automatic import pool


@pytest.fixture(scope="module")
def model_and_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    X[rng.uniform(size=X.shape) < 0.02] = np.nan
    X[::7, 1:] = np.nan  # of which little is known
    y = (np.nan_to_num(X[:, 0] * X[:, 1]) > 0) + 2 * (np.nan_to_num(X[:, 2]) > 0.5)
    return GenerativeClassifier().fit(X[:800], y[:800]), X[800:]


def test_blocks_make_no_difference(model_and_rows, monkeypatch):
    model, rows = model_and_rows
    whole = model.predict_proba(rows)
    for size, many in ((1, 100), (900, 3200)):  # rows in a block, and in all
        monkeypatch.setattr(pool, "TOGETHER", 8 * rows.shape[1] * size)
        assert_allclose(model.predict_proba(rows[:many]), whole[:many], rtol=0, atol=1e-12)
    assert_allclose(model.predict_proba(rows[-1:]), whole[-1:], rtol=0, atol=1e-12)


def test_threads_make_no_difference(model_and_rows, monkeypatch):
    model, rows = model_and_rows
    monkeypatch.setattr(pool, "TOGETHER", 8 * rows.shape[1] * 500)
    answers = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(_arrays, "workers", lambda threads=threads: threads)
        answers.append(model.predict_proba(rows))
    for other in answers[1:]:
        assert_array_equal(other, answers[0])
