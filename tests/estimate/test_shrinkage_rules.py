"""Ledoit-Wolf, OAS and regularised discriminant analysis against scikit-learn and against their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf, oas
from sklearn.datasets import load_wine

from suffice import RDA, GaussianDiscriminant
from suffice.errors import DataError, SettingError

X, Y = load_wine(return_X_y=True)
RNG = np.random.default_rng(7)
WIDE, WIDE_Y = RNG.normal(size=(60, 150)), np.arange(60) % 3
RULES = {"ledoit-wolf": ledoit_wolf, "oas": oas}


def standardised(rule: Any, rows: np.ndarray) -> np.ndarray:
    """scikit-learn's shrunk covariance of standardised rows, in the rows' own units."""
    sd = rows.std(axis=0)
    correlation, _ = rule((rows - rows.mean(axis=0)) / sd)
    return correlation * np.outer(sd, sd)


def about_class_means(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    centred = rows.astype(float).copy()
    for c in np.unique(labels):
        centred[labels == c] -= rows[labels == c].mean(axis=0)
    return centred


def scatters(rows: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    centred = about_class_means(rows, labels)
    return [centred[labels == c].T @ centred[labels == c] for c in np.unique(labels)]


def in_parts(model: GaussianDiscriminant, rows: np.ndarray, labels: np.ndarray) -> GaussianDiscriminant:
    for start in range(0, len(rows), 23):
        model.partial_fit(rows[start : start + 23], labels[start : start + 23])
    return model


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("rows", "labels"), [(X, Y), (WIDE, WIDE_Y)], ids=["long", "wide"])
def test_rules_equal_scikit_learn_on_standardised_rows(name: str, rows: np.ndarray, labels: np.ndarray) -> None:
    separate = in_parts(GaussianDiscriminant(shrinkage=name), rows, labels).covariances_
    shared = in_parts(GaussianDiscriminant(shrinkage=name, shared=True), rows, labels).covariances_
    for c in np.unique(labels):
        np.testing.assert_allclose(separate[c], standardised(RULES[name], rows[labels == c]), rtol=1e-10, atol=1e-13)
    expected = standardised(RULES[name], about_class_means(rows, labels))
    np.testing.assert_allclose(shared, expected, rtol=1e-10, atol=1e-13)


def test_beyond_the_rows_kept_the_amount_is_that_of_a_sample_and_noted() -> None:
    rows, labels = RNG.standard_t(9, (4000, 5)), np.arange(4000) % 2
    rows[:, 1] += 0.2 * rows[:, 0]
    whole = GaussianDiscriminant(shrinkage="ledoit-wolf", keep_rows=4000).fit(rows, labels)
    model = in_parts(GaussianDiscriminant(shrinkage="ledoit-wolf", keep_rows=1000), rows[:460], labels[:460])
    assert not any("rows kept" in str(note) for note in model.notes_)
    model.partial_fit(rows[460:], labels[460:])
    assert all("from the 1,000 rows kept" in str(note) for note in model.notes_)
    for exact, near in zip(whole.notes_, model.notes_, strict=True):
        assert exact.amount != near.amount
        assert near.amount == pytest.approx(exact.amount, rel=0.2)  # 500 rows of a class: by 1/√500 of |z|⁴, some 5 %


def test_without_rows_kept_ledoit_wolf_is_refused() -> None:
    with pytest.raises(SettingError, match=r"computed from rows that are kept.*keep_rows=2000.*oas"):
        GaussianDiscriminant(shrinkage="ledoit-wolf", keep_rows=0).fit(X, Y)


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize(("pooling", "shared"), [(1.0, True), (0.0, False)], ids=["lda", "qda"])
def test_rda_ends_at_lda_and_qda(divisor: str, covariance: str, pooling: float, shared: bool) -> None:
    rda = GaussianDiscriminant(covariance, shrinkage=RDA(pooling), divisor=divisor).fit(X, Y)
    end = GaussianDiscriminant(covariance, shared=shared, divisor=divisor).fit(X, Y)
    # the pooled scatter is summed in another order: rounding only
    np.testing.assert_allclose(rda.predict_log_proba(X), end.predict_log_proba(X), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("target", ["diagonal", "identity"])
@pytest.mark.parametrize("unbiased", [False, True])
def test_rda_formula(target: str, unbiased: bool) -> None:
    share, amount = 0.4, 0.3
    divisor = "unbiased" if unbiased else "mle"
    model = GaussianDiscriminant(shrinkage=RDA(share, amount, target), divisor=divisor).fit(X, Y)
    counts, sums = np.bincount(Y) - unbiased, scatters(X, Y)
    for c in range(3):
        mixed = (1 - share) * sums[c] + share * sum(sums)
        mixed = mixed / ((1 - share) * counts[c] + share * counts.sum())
        goal = np.diag(np.diag(mixed)) if target == "diagonal" else np.trace(mixed) / 13 * np.eye(13)
        np.testing.assert_allclose(model.covariances_[c], (1 - amount) * mixed + amount * goal, rtol=1e-10)


def test_ledoit_wolf_needs_complete_rows_and_says_what_does_not() -> None:
    holes = X.copy()
    holes[0, 0] = np.nan
    with pytest.raises(DataError, match="oas"):
        GaussianDiscriminant(shrinkage="ledoit-wolf").fit(holes, Y)
    model = GaussianDiscriminant(shrinkage="ledoit-wolf").fit(X, Y)
    with pytest.raises(DataError, match="oas"):
        model.partial_fit(holes, Y)
    assert model.statistics_.rows == len(X)
    GaussianDiscriminant(shrinkage="oas").fit(holes, Y)


@pytest.mark.parametrize("bad", ["lasso", -0.1, 1.1, True, [0.1]])
def test_settings_out_of_range(bad: Any) -> None:
    with pytest.raises(SettingError):
        GaussianDiscriminant(shrinkage=bad).fit(X, Y)
    if not isinstance(bad, str):
        with pytest.raises(SettingError):
            RDA(bad)
        with pytest.raises(SettingError):
            RDA(0.0, bad)
    with pytest.raises(SettingError, match="shared"):
        GaussianDiscriminant(shared=True, shrinkage=RDA(0.5)).fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("rule", ["ledoit-wolf", "oas"])
def test_without_a_column_rows_are_judged_by_a_fit_to_the_others(rule, shared):
    """The amount is that of the columns that are known; sets of rows with missing cells ask for it too."""
    X, y = load_wine(return_X_y=True)
    X, own = X[:, :5], (np.arange(len(y)), y)

    def loss(rows):
        model = GaussianDiscriminant(shared=shared, shrinkage=rule).fit(rows, y)
        return -model.leave_one_out(rows, y)[own].mean()

    model = GaussianDiscriminant(shared=shared, shrinkage=rule).fit(X, y)
    worth = [loss(np.delete(X, j, axis=1)) - loss(X) for j in range(5)]
    np.testing.assert_allclose(model.importance().mean, worth, atol=1e-10)
    known = model.predict_set(np.where(np.arange(5) < 2, X[:5], np.nan)).sum(axis=1)
    assert (known >= model.predict_set(X[:5]).sum(axis=1)).all()
