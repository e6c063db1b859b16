"""Settings, weights and counts that cannot work are refused in words that say what to do, and change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from suffice import RDA, GaussianDiscriminant, MixtureDiscriminant, NaiveBayes
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


@pytest.mark.parametrize("family", ["multinomial", "poisson", "bernoulli"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_negative_counts(family, form) -> None:
    model = NaiveBayes(family).fit(form(np.eye(6, 2)), Y)
    before = model.predict_proba(form(np.eye(6, 2)))
    for ask in (model.predict, lambda rows: model.partial_fit(rows, Y), lambda rows: model.leave_one_out(rows, Y)):
        with pytest.raises(DataError, match=r"Column 1 has the value -1; .*at least 0. Next"):
            ask(form(-X))
    np.testing.assert_array_equal(model.predict_proba(form(np.eye(6, 2))), before)


@pytest.mark.parametrize("shrinkage", [-0.1, 1.5, np.nan, True, [0.1]])
@pytest.mark.parametrize("make", [GaussianDiscriminant, MixtureDiscriminant])
def test_shrinkage(make, shrinkage) -> None:
    with pytest.raises(SettingError, match=r"shrinkage=.* is no number from 0 to 1\. Next"):
        make(shrinkage=shrinkage).fit(X, Y)


def test_amounts_of_pooling() -> None:
    with pytest.raises(SettingError, match=r"RDA\(shared=1\.2\) is no number from 0 to 1\. Next"):
        RDA(shared=1.2)
    with pytest.raises(SettingError, match=r"RDA\(amount=-1\) is no number from 0 to 1\. Next"):
        RDA(amount=-1)
