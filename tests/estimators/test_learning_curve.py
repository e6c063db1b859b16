"""Would more rows help: the curve, its projections, and that these hold the truth as often as they say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import log_loss

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant, NaiveBayes
from suffice.errors import DataError, SettingError
from suffice.questions import learning_curve as curves
from suffice.questions.learning_curve import FOLDS, ONE_IN, LearningCurve
from suffice.stats.rows import content, mixed

APART = 2.0  # standard deviations between two classes


def two_classes(seed: int, n: int, d: int = 4, apart: float = APART) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([5, seed])
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) + apart * np.outer(y, np.arange(d) == 0)
    return X, np.array(["low", "high"])[y]


def bayes_loss() -> float:
    """−E log p(class | x) of two equally common normals that far apart, by quadrature."""
    return quad(lambda x: norm.pdf(x) * np.logaddexp(0.0, APART * x - APART**2 / 2), -12, 12)[0]  # both lose the same


# --- projections ------------------------------------------------------------------------------------------------------


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Of 24 tables of 160 rows, at twice the rows; 90 % intervals, 17 of 24 being 3 standard deviations below."""
    model, (new, y) = GaussianDiscriminant(shared=True), two_classes(0, 10_000)
    truth = np.mean([log_loss(y, model.fit(*two_classes(1000 + i, 320)).predict_proba(new)) for i in range(60)])
    now = np.mean([log_loss(y, model.fit(*two_classes(2000 + i, 160)).predict_proba(new)) for i in range(60)])
    held = gained = 0
    for seed in range(24):
        curve = model.learning_curve(*two_classes(seed, 160), random_state=seed)
        there, more = curve.project(320), curve.gain()
        held += there.low <= truth <= there.high
        gained += more.low <= now - truth <= more.high
    assert min(held, gained) >= 17


def test_projections_of_ever_more_rows_approach_the_bayes_loss():
    curve = GaussianDiscriminant(shared=True).learning_curve(*two_classes(1, 2000, apart=APART))
    found = curve.project(1e7)
    assert found.low <= bayes_loss() <= found.high
    assert found.high - found.low < 0.1
    losses = [curve.project(rows).value for rows in (2000, 4000, 8000, 1e7)]
    assert all(a >= b for a, b in pairwise(losses))


def test_noise_gains_nothing():
    X, y = two_classes(2, 3000, apart=0.0)
    curve = GaussianDiscriminant(shared=True).learning_curve(X, y)
    assert (curve.helps, "hardly help" in str(curve)) == (False, True)
    assert_allclose(curve.project(6000).value, np.log(2), atol=0.01)


def test_nothing_is_learned_of_noise_where_rows_are_copied():
    curve = GenerativeForest().learning_curve(*(np.tile(own.T, 3).T for own in two_classes(2, 60, apart=0.0)), draws=1)
    assert curve.loss[-1] > curve.chance - 0.05


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_a_curve_without_noise_is_found_again(power):
    rows = np.array([100.0, 200, 400, 800])
    losses = 0.3 + 2.0 * rows**-power
    curve = LearningCurve(
        rows, np.tile(losses, (10, 1)) + np.outer(np.linspace(-1, 1, 10), np.ones(4)) * 1e-7, 1000, 1.0
    )
    for more in (1000, 2000, 8000):
        truth, found = 0.3 + 2.0 * more**-power, curve.project(more)
        assert found.low - 1e-5 <= truth <= found.high + 1e-5
        assert_allclose(found.value, truth, atol=0.01)


def test_losses_that_fit_no_curve_are_told_to_be_uncertain():
    rows, rng = np.array([10.0, 20, 40, 80]), np.random.default_rng(0)
    smooth = np.array([1.0, 0.7, 0.55, 0.475]) + 0.01 * rng.normal(size=(10, 4))
    odd = smooth + np.array([0.0, 3.0, 0.0, 0.0])
    wide = [LearningCurve(rows, losses, 100, 1.0).gain() for losses in (smooth, odd)]
    assert wide[1].high - wide[1].low > wide[0].high - wide[0].low


# --- the curve --------------------------------------------------------------------------------------------------------


def test_it_is_what_models_of_the_same_rows_lose():
    """The losses of one draw, by fitting to the rows it says by hand."""
    X, y = two_classes(4, 150)
    X[::7, 1] = np.nan
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    curve = GaussianDiscriminant().learning_curve(X, y, weight, draws=1, random_state=3)
    codes = np.searchsorted(["high", "low"], y)
    salt = np.random.default_rng([3, 0]).integers(2**64 - 1, dtype=np.uint64)
    fold, rank = curves.dealt(codes, mixed(content([X, weight[:, None]], 150) ^ salt))
    for number in range(FOLDS):
        rest, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        for s, part in enumerate(curves.nested(codes, others, rank)):
            model = GaussianDiscriminant().fit(X[part], y[part], weight[part])
            own = np.maximum(model.predict_log_proba(X[rest])[np.arange(len(rest)), codes[rest]], np.log(1e-15))
            assert_allclose(curve.losses[number, s], -np.average(own, weights=weight[rest]), rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [GaussianDiscriminant(), NaiveBayes(), MixtureDiscriminant(2, random_state=0), GenerativeForest()],
    ids=lambda model: type(model).__name__,
)
def test_every_kind_of_model_has_one_in_any_order_of_rows(model):
    X, y = two_classes(5, 90)
    X, weight = np.round(X), 1.0 + np.arange(90) % 4  # equal rows of other weights are other rows
    both = ((X[::step], y[::step], weight[::step]) for step in (1, -1))
    curve, again = (model.learning_curve(*own, draws=1, random_state=1) for own in both)
    assert_allclose(curve.losses, again.losses, rtol=1e-6)
    assert curve.losses.shape == (FOLDS, len(ONE_IN))
    assert np.isfinite(curve.losses).all()
    assert not hasattr(model, "classes_")
    assert_allclose(curve.chance, np.log(2), atol=0.05)


def test_the_automatic_classifier_and_mixed_columns(monkeypatch):
    monkeypatch.setattr(curves, "FOLDS", 2)
    X, y = two_classes(6, 100)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(word=np.where(y == "low", "blue", None))
    labels = np.where(np.arange(100) < 95, y, None)  # the others are left out
    curve = GenerativeClassifier(priors={"low": 0.5, "high": 0.5}).learning_curve(frame, labels, draws=1)
    assert curve.total == 95
    assert curve.loss[-1] < 0.3


# --- what is refused --------------------------------------------------------------------------------------------------


def test_too_little_is_refused_by_name():
    X, y = two_classes(9, 100)
    model = GaussianDiscriminant()
    with pytest.raises(DataError, match="There are 60 rows with a label"):
        model.learning_curve(X[:60], y[:60])
    with pytest.raises(DataError, match="Class 'odd' has 3 rows"):
        model.learning_curve(X, np.append(y[3:], ["odd"] * 3))
    for given in ({"draws": 0}, {"draws": 1.5}, {"random_state": -1}):
        with pytest.raises(SettingError, match="must be a whole number"):
            model.learning_curve(X, y, **given)
    curve = model.learning_curve(X, y, draws=1)
    with pytest.raises(SettingError, match="level"):
        curve.project(100, level=1.0)
    for times in (0, -1.0, np.inf):
        with pytest.raises(SettingError, match="times"):
            curve.gain(times)
    one = GaussianDiscriminant().learning_curve(X, np.full(100, "all"))
    assert_allclose(one.loss, 0.0, atol=1e-12)
    assert one.helps is False
