"""Leave-one-out against what it means: a new estimator fitted to all other rows, for every family and mixed tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from refits import refits
from scipy.sparse import csr_array, issparse

from suffice import GaussianDiscriminant, MixtureDiscriminant, NaiveBayes
from suffice.datasets import penguins_path
from suffice.errors import DataError, SettingError
from suffice.estimate.families import LaplaceFamily
from suffice.stats import ValueStats


class LaplaceByRefits(LaplaceFamily):
    """Laplace columns without a closed form."""

    def leave_one_out_limit(self, *_):
        return None


EXACT = 1e-10  # nats; sums of some hundred terms, taken in another order


def alike(make, X, y, weight):
    """Which rows leave together: where equal rows are copies (`stats.dependent_rows`), those of the same contents."""
    if not make().fit(X, y, sample_weight=weight)._fitted.copies_leave_together:
        return None
    table = pd.DataFrame(X.toarray() if issparse(X) else X).astype(object).assign(y=y)
    return table.map(repr).agg(" ".join, axis=1).to_numpy()


def check(make, X, y, weight=None, tolerance=EXACT):
    found = make().fit(X, y, sample_weight=weight).leave_one_out(X, y, sample_weight=weight)
    expected = refits(make, X, y, weight, alike(make, X, y, weight))
    assert (np.isfinite(found) == np.isfinite(expected)).all()
    finite = np.isfinite(expected)
    gap = np.abs(found[finite] - expected[finite]) / (1.0 + np.abs(expected[finite]))
    assert gap.max(initial=0.0) <= tolerance


def cells(rng, family, n, d):
    """Cells that a family reads, coarse enough that values repeat."""
    if family == "categorical":
        return rng.choice(list("abcdef"), (n, d)).astype(object)
    if family == "bernoulli":
        return (rng.random((n, d)) < 0.3).astype(object)
    if family in ("poisson", "multinomial"):
        return rng.poisson(0.8, (n, d)).astype(float).astype(object)
    scale = 10.0 ** rng.integers(-3, 4)
    return (np.round(rng.standard_cauchy((n, d)), 1) * scale + rng.choice([0.0, 100.0 * scale])).astype(object)


@pytest.mark.parametrize("family", ["categorical", "bernoulli", "poisson", "multinomial", "laplace"])
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 14),
    d=st.integers(1, 3),
    k=st.integers(2, 4),
    smoothing=st.sampled_from([0, 0.5, 1]),
    weights=st.sampled_from(["none", "whole", "real"]),
    holes=st.sampled_from([0.0, 0.25]),
)
def test_families_equal_refits(family, seed, n, d, k, smoothing, weights, holes) -> None:
    """Classes and levels of a single row, duplicates and missing cells all occur in tables this small."""
    rng = np.random.default_rng(seed)
    X = cells(rng, family, n, d)
    if holes and family != "multinomial":
        X[rng.random(X.shape) < holes] = None
        X[:2] = cells(rng, family, 2, d)  # so that no column loses its last cell
    y = np.concatenate([[0, 1], rng.integers(0, k, n - 2)])
    weight = {"none": None, "whole": rng.integers(1, 4, n).astype(float), "real": rng.uniform(0.1, 3.0, n)}[weights]
    # Cauchy cells are up to a million deviations apart, whose sums of differences lose as many digits
    tolerance = 10.0 * EXACT if family == "laplace" else EXACT
    check(lambda: NaiveBayes(family, smoothing=smoothing), X, y, weight, tolerance)


def test_a_value_that_no_row_of_a_class_has_is_impossible_whatever_they_weigh(rng) -> None:
    """Sums of weights that are rounded in two orders differ by a few digits of their last."""
    for _ in range(50):
        X, y = np.ones((9, 2)), np.repeat([0, 1], [5, 4])
        X[5:, 0] = 0.0
        model = NaiveBayes("bernoulli", smoothing=0).fit(X, y, sample_weight=rng.uniform(0.1, 3.0, 9))
        assert (model.predict_proba([[0.0, 1.0]]) == [0.0, 1.0]).all()
        assert np.isneginf(model.predict_log_proba([[0.0, 1.0]])[0, 0])


@pytest.mark.parametrize("smoothing", [0, 1])
@pytest.mark.parametrize("family", ["multinomial", "bernoulli", "poisson"])
def test_sparse_counts_equal_refits_and_dense_ones(rng, family, smoothing) -> None:
    X, y = rng.poisson(0.3, (24, 20)), np.arange(24) % 3
    X = np.minimum(X, 1) if family == "bernoulli" else X
    weight = rng.choice([0.5, 1.0, 2.0], 24)

    def make():
        return NaiveBayes(family, smoothing=smoothing)

    check(make, csr_array(X), y, weight)
    sparse = make().fit(csr_array(X), y).leave_one_out(csr_array(X), y)
    np.testing.assert_allclose(sparse, make().fit(X, y).leave_one_out(X, y), rtol=0, atol=EXACT)


def test_sparse_counts_are_never_made_dense(rng) -> None:
    """20,000 × 100,000 cells would take 16 GB."""
    n, d = 20_000, 100_000
    columns = rng.integers(0, d, (n, 5))
    X = csr_array((np.ones(5 * n), columns.ravel(), np.arange(0, 5 * n + 1, 5)), shape=(n, d))
    X.sum_duplicates()
    y = np.arange(n) % 2
    for family in ("multinomial", "poisson"):
        posterior = NaiveBayes(family).fit(X, y).leave_one_out(X, y)
        assert np.allclose(np.exp(posterior).sum(axis=1), 1)


@pytest.fixture(scope="module")
def penguins():
    """A twelfth of the penguins: mixed columns with missing cells."""
    table = pd.read_csv(penguins_path()).iloc[::12].reset_index(drop=True)
    return table, table.pop("species").to_numpy()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"smoothing": 0.0, "divisor": "unbiased", "priors": "uniform"},
        {
            "families": {
                "year": "categorical",
                ("bill_length_mm", "bill_depth_mm"): "gaussian",
                "body_mass_g": "laplace",
            }
        },
        {"families": {"flipper_length_mm": LaplaceByRefits(), "year": "poisson"}, "priors": [0.2, 0.3, 0.5]},
    ],
    ids=["auto", "unsmoothed", "blocks", "refits"],
)
def test_mixed_tables_equal_refits(penguins, settings) -> None:
    X, y = penguins
    if ("bill_length_mm", "bill_depth_mm") in settings.get("families", {}):
        X, y = X.dropna(subset=["bill_length_mm"]), y[X["bill_length_mm"].notna()]
        X = X.reset_index(drop=True)
    check(lambda: NaiveBayes(**settings), X, y)


def test_class_whose_only_row_is_left_out(rng) -> None:
    """The model of the other rows does not know the class, whatever priors were given."""
    X, y = rng.normal(size=(12, 2)).round(1), np.array([0] * 6 + [1] * 5 + [2])
    for priors in (None, "uniform", [0.5, 0.3, 0.2]):
        for family in ("gaussian", "laplace"):
            posterior = NaiveBayes(family, priors=priors).fit(X, y).leave_one_out(X, y)
            assert posterior[-1, 2] == -np.inf
            assert np.isclose(np.exp(posterior[-1]).sum(), 1)
            assert np.isfinite(posterior[:-1]).all()
    with pytest.raises(DataError, match="priors of all other"):
        NaiveBayes(priors=[0.0, 0.0, 1.0]).fit(X, y).leave_one_out(X, y)


def test_laplace_values_beyond_the_bound_are_taken_out_as_they_were_counted(rng) -> None:
    X, y = rng.normal(size=(400, 1)), np.arange(400) % 2
    rounded = NaiveBayes(LaplaceFamily(distinct=64)).fit(X, y).leave_one_out(X, y)
    exact = NaiveBayes("laplace").fit(X, y).leave_one_out(X, y)
    assert 0 < np.abs(rounded - exact).max() < 0.1  # widths of 1/16 or so on columns of scale 1


# --- what is refused -------------------------------------------------------------------------------------------------


def test_labels_the_model_does_not_know() -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    model = GaussianDiscriminant().fit(X, y)
    with pytest.raises(DataError, match=r"'c'.*classes are 'a', 'b'"):
        model.leave_one_out(X, ["a", "a", "b", "c"])
    with pytest.raises(DataError, match="no label in 1 of 4 rows"):
        model.leave_one_out(X, ["a", "a", "b", None])
    with pytest.raises(DataError, match="one label per row"):
        model.leave_one_out(X, ["a"])
    with pytest.raises(ValueError, match="features"):
        model.leave_one_out([[0.0, 1.0]], ["a"])


@pytest.mark.parametrize(
    ("family", "learned", "foreign", "why"),
    [
        ("categorical", [["u"], ["v"], ["u"], ["v"]], ["w"], "its category occurs too seldom"),
        ("bernoulli", [[1], [0], [0], [0]], [1], "more than the whole class"),
        ("poisson", [[1], [0], [4], [3]], [8], "more than the whole class"),
        ("multinomial", [[1, 2], [0, 1], [4, 4], [3, 3]], [0, 9], "more than the whole class"),
        ("laplace", [[1.0], [0.0], [4.0], [3.0]], [3.5], "its value occurs too seldom"),
    ],
)
def test_rows_that_cannot_have_been_learned(family, learned, foreign, why) -> None:
    y = ["a", "a", "b", "b"]
    model = NaiveBayes(family).fit(np.array(learned, dtype=object), y)
    with pytest.raises(DataError, match=f"Row 1 of class 'b'.*{why}.*column [01]"):
        model.leave_one_out(np.array([learned[0], foreign], dtype=object), ["a", "b"])
    with pytest.raises(DataError, match=r"Row 0 of class 'a'.*its weight is 5, and that of the whole class 2"):
        model.leave_one_out(np.array(learned, dtype=object), y, sample_weight=[5, 1, 1, 1])


def test_refits_by_subtraction_and_without(rng, monkeypatch) -> None:
    """Statistics that subtract take any of the rows they were made from; others need all of them."""
    X, y = rng.normal(size=(12, 2)).round(2), np.arange(12) % 2
    model = NaiveBayes(LaplaceByRefits()).fit(X, y)
    whole = model.leave_one_out(X, y)
    np.testing.assert_allclose(model.leave_one_out(X[:5], y[:5]), whole[:5], rtol=0, atol=1e-12)
    with pytest.raises(DataError, match="Row 0 of class 0 cannot be among the rows"):
        model.leave_one_out([[0.123, 0.0]], [0])
    monkeypatch.delattr(ValueStats, "subtract")
    np.testing.assert_allclose(model.leave_one_out(X, y), whole, rtol=0, atol=1e-9)
    with pytest.raises(SettingError, match="'laplace' have no closed form"):
        model.leave_one_out(X[:5], y[:5])


def test_mixtures_of_several_components(rng) -> None:
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(SettingError, match="cross_val_predict"):
        MixtureDiscriminant(2, n_init=1, random_state=0).fit(X, y).leave_one_out(X, y)


def test_rows_without_a_label_that_joined(rng, read_back) -> None:
    X, y = rng.normal(size=(20, 2)), np.array([0.0, 1.0] * 9 + [np.nan] * 2)
    model = GaussianDiscriminant().fit(X, y)
    for joined in (model, read_back(model), GaussianDiscriminant().fit(-X[:18], y[:18]).merge(model)):
        with pytest.raises(DataError, match="without a label have joined"):
            joined.leave_one_out(X[:18], y[:18])
    model.fit(X[:18], y[:18]).leave_one_out(X[:18], y[:18])


def test_single_row() -> None:
    with pytest.raises(DataError, match="at least two rows"):
        NaiveBayes().fit([[1.0]], ["a"]).leave_one_out([[1.0]], ["a"])
