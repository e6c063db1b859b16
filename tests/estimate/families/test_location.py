"""Laplace estimates: weighted medians, SciPy's maximum likelihood, and what is mended."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from suffice import NaiveBayes
from suffice.errors import DataError
from suffice.estimate.families import LaplaceFamily


def fit(family, X, y, weight=None):
    """Return the density of one block and the notes as text."""
    model = NaiveBayes(family).fit(X, y, sample_weight=weight)
    return model.model_.density.blocks[0], [str(note) for note in model.notes_]


def test_laplace_is_median_and_mean_deviation(rng):
    X = rng.laplace(size=(101, 3)) * [1.0, 1e-6, 1e6] + [0.0, 1.0, -1e8]
    y = np.arange(101) % 2  # 51 and 50 rows: an odd and an even median
    X[rng.random(X.shape) < 0.2] = np.nan
    density, notes = fit("laplace", X, y)
    assert not notes
    for c in range(2):
        median = np.nanmedian(X[y == c], axis=0)
        assert_allclose(density.location[c], median, rtol=1e-14)
        assert_allclose(density.scale[c], np.nanmean(np.abs(X[y == c] - median), axis=0), rtol=1e-9)


def test_laplace_equals_scipy_with_weights(rng):
    x, weight = rng.normal(size=60).round(1), rng.integers(1, 5, 60)
    density, _ = fit("laplace", x[:, None], np.zeros(60, int), weight)
    location, scale = stats.laplace.fit(np.repeat(x, weight))
    assert_allclose([density.location[0, 0], density.scale[0, 0]], [location, scale], rtol=1e-12)


def test_fractional_weights_split_in_halves():
    """0.1 + 0.2 against 0.3: the halves are equal although their floats are not."""
    density, _ = fit("laplace", np.array([[1.0], [2.0], [4.0]]), [0, 0, 0], [0.1, 0.2, 0.3])
    assert density.location[0, 0] == 3.0


def test_rounded_values_stay_within_the_stated_error(rng):
    X = rng.laplace(size=(5000, 2))
    y = np.arange(5000) % 2
    exact, nothing = fit(LaplaceFamily(), X, y)
    rough, notes = fit(LaplaceFamily(distinct=100), X, y)
    assert not nothing
    assert len(notes) == 4
    assert all("rounded the values" in note and "more than 100 distinct values" in note for note in notes)
    amount = [note.amount for note in NaiveBayes(LaplaceFamily(distinct=100)).fit(X, y).notes_]
    assert np.abs(rough.location - exact.location).max() <= max(amount)
    assert np.abs(rough.scale - exact.scale).max() <= 2 * max(amount)
    assert max(amount) < 0.2


# --- what is mended ---


def test_columns_without_spread():
    """One value in a class, no value, a class that never varies, a column that never varies: all fit, with notes."""
    X = np.array(
        [
            [1.0, 5.0, 1.0, 3.0],
            [2.0, 5.0, 2.0, 3.0],
            [4.0, 5.0, 4.0, 3.0],
            [2.0, 1.0, np.nan, 3.0],
            [3.0, 2.0, np.nan, 3.0],
            [7.0, 4.0, 9.0, 3.0],
        ]
    )
    y = ["a", "a", "a", "b", "b", "c"]
    density, notes = fit("laplace", X, y)
    assert density.used == (0, 1, 2)
    assert (density.scale[:, :3] > 0).all()
    text = "\n".join(notes)
    assert "left out 3: the column never varies" in text
    assert "took the median of all classes for 2 in class 'b'" in text
    assert "took the spread of all classes for 0, 1, 2 in class 'c'" in text
    assert "raised the scale for 1 in class 'a'" in text
    model = NaiveBayes("laplace").fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_numbers_that_overflow_are_refused():
    with pytest.raises(DataError, match="beyond 1e150"):
        NaiveBayes("laplace").fit([[1.0], [1e301]], [0, 1])
