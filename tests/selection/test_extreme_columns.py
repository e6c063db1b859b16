"""Columns at the ends of what floats and numbers of cells can hold."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal

from suffice import GaussianDiscriminant, GenerativeClassifier, NormalInverseWishart
from suffice._arrays import pattern_groups
from suffice.forest.columns import MOST_LEVELS, ForestColumns
from suffice.report.profile.columns import step_of
from suffice.stats.counts import CodedColumns


def test_the_rarest_of_very_many_levels_share_a_cell(rng):
    """Cells have numbers of 16 bits: 40,000 levels, each several times, once ended in an OverflowError."""
    levels = 40_000
    often = np.where(np.arange(levels) < 8_000, 2, 3)  # the first are rarer
    column = np.repeat(np.arange(levels), often)
    coded = CodedColumns((tuple(f"l{i}" for i in range(levels)),), (column,))
    codes, weight = rng.integers(0, 2, len(column)), np.ones(len(column))
    found = ForestColumns.freeze(np.zeros((len(column), 0)), coded, codes, 2, weight)
    reading = found.read(np.zeros((len(column), 0)), coded)
    last = reading.cells[:, 0] == MOST_LEVELS
    assert reading.cells.min() >= 0
    assert len(np.unique(column[last])) == levels - MOST_LEVELS
    assert (often[column[last]] == 2).all()
    assert_array_equal(reading.open[:, 0], last)
    assert_allclose(found.shares[0].sum(), 1.0)
    assert found.levels_in(0).sum() == levels
    own = np.flatnonzero(~last)
    assert_array_equal(found.decoded(reading.cells[own, 0], 0), column[own])
    again = ForestColumns.from_arrays(*found.arrays())
    assert_array_equal(again.read(np.zeros((len(column), 0)), coded).cells, reading.cells)


def test_subnormal_numbers_fit_and_change_no_answer(rng):
    """They are zero to knots and Gaussians; slopes between them overflowed."""
    x, y = rng.normal(size=60), np.arange(60) % 2
    X = pd.DataFrame({"x": x + y, "tiny": np.floor(20 * x) * 5e-324})
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = GenerativeClassifier().fit(X, y).predict_proba(X)
    assert np.isfinite(found).all()


def test_numbers_far_below_one_have_no_step():
    assert step_of(np.array([1e-97, 2e-97, 5e-97])) is None
    assert_allclose(step_of(np.array([0.1, 0.3, 0.7])), 0.2)


def test_rows_of_no_columns_are_one_pattern():
    """A Student t whose only column never varies asked for the patterns of none, which was a ValueError."""
    ((columns, rows),) = pattern_groups(np.zeros((3, 0), dtype=bool))
    assert len(columns) == 0
    assert_array_equal(rows, [0, 1, 2])
    X, y = np.array([[1.0], [1.0], [np.nan], [1.0]]), [0, 1, 0, 1]
    gain = GaussianDiscriminant(prior=NormalInverseWishart()).fit(X, y).information_gain(X)
    assert_array_equal(gain, np.zeros((4, 1)))


def test_a_column_that_one_row_alone_varies_can_lose_it():
    """Without that row its variance, and the share of it within classes, are 0 / 0."""
    X, y = np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 1.0], [2.0, 1.0], [3.0, 1.0], [2.5, 4.0]]), [0, 0, 0, 1, 1, 1]
    model = GaussianDiscriminant(prior=NormalInverseWishart()).fit(X, y)
    with np.errstate(invalid="raise", divide="raise"):
        found = np.exp(model.leave_one_out(X, y))
    assert_allclose(found.sum(axis=1), 1.0)
