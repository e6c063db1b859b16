"""Settings, weights and counts that cannot work are refused in words that say what to do, and change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import GaussianDiscriminant, MixtureDiscriminant, NaiveBayes
from suffice.errors import DataError, SettingError

X, Y = np.arange(12.0).reshape(6, 2), list("aaabbb")
ALL = [GaussianDiscriminant, NaiveBayes, lambda: NaiveBayes("laplace"), lambda: MixtureDiscriminant(1)]


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1, 1, -2, 1, 1, 1], r"sample_weight\[2\] is -2.*Next"),
        ([1, np.nan, 1, 1, 1, 1], r"sample_weight\[1\] is nan.*Next"),
        ([0] * 6, r"Every sample_weight is zero.*Next"),
        ([1] * 5, r"shape \(5,\), expected \(6,\)\. Next"),
        (np.ma.masked_equal([1, 1, 1, 9, 1, 1], 9), r"sample_weight\[3\] is nan.*Next"),
        (["many"] * 6, "sample_weight must be numbers.*Next"),
        (np.full(6, np.datetime64("2026-04-03")), "sample_weight must be numbers.*Next"),
    ],
)
def test_weights(make, weight, words) -> None:
    model = make().fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(DataError, match=words):
        model.partial_fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(DataError, match=words):
        model.leave_one_out(X, Y, sample_weight=weight)


@pytest.mark.parametrize(
    ("components", "error", "words"),
    [
        (4, DataError, "Class 'a' has 3 different rows and is to have 4 components. Next"),
        ({"a": 1, "b": 5}, DataError, "Class 'b' has 3 different rows and is to have 5 components. Next"),
        (0, SettingError, "n_components=0 must be a whole number of at least 1.*Next"),
        (1.5, SettingError, "n_components=1.5 must be a whole number.*Next"),
        ("aic", SettingError, "n_components='aic' must be .*Next"),
    ],
)
def test_components(components, error, words) -> None:
    with pytest.raises(error, match=words):
        MixtureDiscriminant(components).fit(X, Y)
