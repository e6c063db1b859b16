"""Answers do not depend on the units of a column, nor on the order of rows, columns or classes."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from suffice import GaussianDiscriminant

SETTINGS = {
    "full": {},
    "full shared": {"shared": True},
    "full unbiased": {"divisor": "unbiased"},
    "full shrunk": {"shrinkage": 0.2},
    "diagonal": {"covariance": "diagonal"},
    "diagonal shared": {"covariance": "diagonal", "shared": True},
}
EVERY = {
    **SETTINGS,
    "spherical": {"covariance": "spherical"},
    "spherical shared": {"covariance": "spherical", "shared": True},
}
GRID = pytest.mark.parametrize("setting", SETTINGS)
TABLES = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
# a change of units rounds every cell once; posteriors may move by that, magnified by the condition of a covariance
UNITS = 1e-8


def posteriors(X, y, setting, **more):
    return GaussianDiscriminant(**EVERY[setting], **more).fit(X, y).predict_proba(X)


@GRID
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("unit", [1e6, 1e-6])
def test_units_of_one_column(table, setting, unit):
    X, y = TABLES[table](return_X_y=True)
    before = posteriors(X, y, setting)
    for j in range(0, X.shape[1], 3):
        scaled = X.copy()
        scaled[:, j] *= unit
        assert_allclose(posteriors(scaled, y, setting), before, rtol=0, atol=UNITS)


@GRID
def test_units_with_collinear_and_constant_columns(blobs, setting):
    X, y = blobs
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(y), 2.5)])
    X[y == "ash", 2] = 1.0
    before = posteriors(X, y, setting)
    for unit in ([1e6, 1, 1, 1, 1, 1], [1, 1, 1e-6, 1, 1e6, 1], [1, 1e3, 1, 1, 1, 1e6]):
        assert_allclose(posteriors(X * unit, y, setting), before, rtol=0, atol=1e-5 if "full" in setting else UNITS)


@pytest.mark.parametrize("setting", EVERY)
@pytest.mark.parametrize("offset", [1e8, -1e4])
def test_an_offset(blobs, setting, offset):
    """The rows are rounded by the offset first, so that both sides see the same numbers: (X + a) − a against X + a."""
    X, y = blobs
    moved = X + offset
    rounded = moved - offset
    assert_allclose(posteriors(moved, y, setting), posteriors(rounded, y, setting), rtol=0, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    powers=st.lists(st.integers(-8, 8), min_size=3, max_size=3),
    setting=st.sampled_from(list(SETTINGS)),
    missing=st.sampled_from([0.0, 0.2]),
)
def test_any_units_that_are_powers_of_two_change_nothing_at_all(seed, powers, setting, missing):
    """Powers of two round nothing, so only the logarithm of a unit may move a digit, and EM where it ends.

    Classes of 15 rows with missing cells can come near a singular covariance, which EM mends at every step: 1e-7 there.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    X = np.where(rng.random(X.shape) < missing, np.nan, X)
    unit = 2.0 ** (3 * np.array(powers))
    found = GaussianDiscriminant(**SETTINGS[setting]).fit(X * unit, y).predict_proba(X * unit)
    expected = GaussianDiscriminant(**SETTINGS[setting]).fit(X, y).predict_proba(X)
    assert_allclose(found, expected, rtol=0, atol=1e-10 if missing == 0 else 1e-7)


def test_a_linear_map_of_all_columns_changes_no_posterior(blobs, rng):
    """For full covariances every invertible map is a change of units."""
    X, y = blobs
    turn = rng.normal(size=(4, 4)) + 2 * np.eye(4)
    for setting in ("full", "full shared", "full unbiased"):
        assert_allclose(posteriors(X @ turn, y, setting), posteriors(X, y, setting), rtol=0, atol=1e-9)
