"""Which labels are wrong: simulations in which Bayes' answer is known, laws, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from kinds import kinds
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from sklearn.datasets import load_iris

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant, NaiveBayes
from suffice.errors import DataError, SettingError

MODELS = kinds("full, shared, naive bayes, single components, forest, automatic")
ALL = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
FEW = pytest.mark.parametrize("make", [MODELS["shared"], MODELS["automatic"]], ids=["shared", "auto"])


def simulate(n: int, channel: np.ndarray, distance: float, seed: int):
    """Return rows, true classes, given labels and Bayes' p(wrong) of Gaussians (I, equal shares) on a circle."""
    rng = np.random.default_rng(seed)
    k = len(channel)
    angle = 2.0 * np.pi * np.arange(k) / k
    means = distance / (2.0 * np.sin(np.pi / k)) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    true = rng.integers(0, k, n)
    X = means[true] + rng.standard_normal((n, 2))
    p = np.exp(log_softmax(-0.5 * ((X[:, None] - means) ** 2).sum(axis=2), axis=1))
    label = (rng.random(n)[:, None] > np.cumsum(channel, axis=0)[:, true].T).sum(axis=1)
    both = channel[label] * p
    return X, true, label, 1.0 - both[np.arange(n), label] / both.sum(axis=1)


def uniform(k: int, rate: float) -> np.ndarray:
    return rate / (k - 1) + (1.0 - rate - rate / (k - 1)) * np.eye(k)


CHANNELS = {  # the channel, by how much the mean probability may differ from Bayes', and the sum from that of flips
    "two, 10 %": (uniform(2, 0.1), 0.015, (0.85, 1.15)),
    "two, 20 %": (uniform(2, 0.2), 0.02, (0.85, 1.15)),
    "three, 5 %": (uniform(3, 0.05), 0.015, (0.85, 1.15)),
    "three, 20 %": (uniform(3, 0.2), 0.02, (0.85, 1.15)),
    # a class that takes in rows of another is no Gaussian any more, and part of them is taken for its own
    "two, one way": (np.array([[1.0, 0.2], [0.0, 0.8]]), 0.03, (0.7, 1.1)),
    "three, one into the next": (np.array([[0.8, 0.0, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]]), 0.045, (0.4, 1.1)),
}


@pytest.mark.parametrize(("channel", "off", "ratio"), CHANNELS.values(), ids=CHANNELS)
@pytest.mark.parametrize("make", kinds("full, shared, naive bayes").values(), ids=["full", "shared", "nb"])
def test_probabilities_are_those_of_bayes_where_the_model_is_right(make, channel, off, ratio) -> None:
    """Mean over three tables of 1,500 rows. What differs is what a model of rows with wrong labels gets wrong."""
    differences, sums, flips = [], [], []
    for seed in range(3):
        X, true, label, expected = simulate(1500, channel, 3.5, seed)
        p = make().fit(X, label).suspect_labels(X, label)
        assert ((p >= 0) & (p <= 1)).all()
        differences.append(np.abs(p - expected).mean())
        sums.append(p.sum())
        flips.append((true != label).sum())
    assert np.mean(differences) < off
    assert ratio[0] < np.mean(sums) / np.mean(flips) < ratio[1]


@pytest.mark.parametrize("distance", [2.0, 3.5])
@pytest.mark.parametrize("make", kinds("full, shared, naive bayes, automatic").values())
def test_overlap_alone_makes_no_suspects(make, distance) -> None:
    """No label is wrong; one row in six lies nearer to the other class at a distance of 2. Under 1 % in all."""
    X, _, label, _ = simulate(1000, np.eye(2), distance, 5)
    p = make().fit(X, label).suspect_labels(X, label)
    assert p.sum() < 10
    assert (p > 0.5).sum() <= 2


@pytest.mark.parametrize("make", [MODELS["shared"], MODELS["full"]], ids=["shared", "full"])
def test_the_rate_of_false_discoveries_is_held(make) -> None:
    """Twenty tables of 500 rows: the share of right labels among those flagged, within four standard errors."""
    flagged = false = 0
    for seed in range(20):
        X, true, label, _ = simulate(500, uniform(3, 0.1), 3.5, 50 + seed)
        chosen = make().fit(X, label).suspect_labels(X, label, fdr=0.1) > 0
        flagged += chosen.sum()
        false += (true[chosen] == label[chosen]).sum()
    assert flagged > 400
    assert false <= 0.1 * flagged + 4.0 * np.sqrt(0.1 * flagged)


@ALL
def test_wrong_labels_of_real_rows_are_found(make) -> None:
    X, y = load_iris(return_X_y=True)
    label = y.copy()
    label[[3, 20, 77, 101, 140]] = [1, 2, 0, 0, 1]
    p = make().fit(X, label).suspect_labels(X, label)
    assert p.shape == (150,)
    assert set(np.argsort(-p)[:3].tolist()) <= {3, 20, 77, 101, 140}
    assert 1.0 < p.sum() < 15.0


@pytest.mark.parametrize("make", [NaiveBayes, GenerativeForest, GenerativeClassifier])
def test_tables_with_categories_and_holes(make, penguins) -> None:
    X, label = penguins[0], penguins[1].to_numpy(dtype=object, copy=True)
    slips = np.array([5, 60, 130, 170, 200, 260, 300, 330])
    label[slips] = np.where(label[slips] == "Adelie", "Gentoo", "Adelie")
    p = make().fit(X, label).suspect_labels(X, label)
    assert p[slips].mean() > 0.6
    assert np.delete(p, slips).mean() < 0.02


@FEW
def test_a_row_gets_the_same_answer_alone_as_among_all(make) -> None:
    X, _, label, _ = simulate(200, uniform(2, 0.1), 3.5, 10)
    for weight in (np.arange(200) % 3 + 1.0, np.ones(200)):
        model = make().fit(X, label, weight)
        whole, some = (model.suspect_labels(X[own], label[own], weight[own]) for own in (slice(200), slice(50, 53)))
        assert_allclose(some, whole[50:53], atol=1e-9)
    assert_allclose(make().fit(X, label, 5 * weight).suspect_labels(X, label, 5 * weight), whole, atol=1e-6)


@FEW
def test_a_row_of_weight_zero_is_judged_as_a_new_one_and_says_nothing_of_the_channel(make) -> None:
    X, _, label, _ = simulate(300, uniform(2, 0.1), 3.5, 13)
    order = np.argsort(-np.abs(X[:, 0]))  # rows whose class is clear come first
    X, label, weight = X[order], label[order], np.ones(300)
    weight[:5] = 0.0
    model = make().fit(X, label, weight)
    p = model.suspect_labels(X, label, weight)
    assert_allclose(p[5:], model.suspect_labels(X[5:], label[5:]), atol=1e-9)
    other = label.copy()
    other[:5] = 1 - label[:5]
    turned = model.suspect_labels(X, other, weight)
    assert_allclose(turned[5:], p[5:], atol=1e-12)
    assert_array_equal(p[:5] < 0.5, turned[:5] > 0.5)


@ALL
def test_missing_labels_are_not_wrong(make) -> None:
    X, _, label, _ = simulate(150, uniform(2, 0.1), 3.5, 14)
    model = make().fit(X, label)
    some = label.astype(object)
    some[[0, 7]] = None
    p = model.suspect_labels(X, some)
    assert p[0] == p[7] == 0.0
    assert_allclose(np.delete(p, [0, 7]), np.delete(model.suspect_labels(X, label), [0, 7]), atol=1e-9)
    assert_array_equal(model.suspect_labels(X[:2], [None, np.nan]), [0.0, 0.0])


@ALL
def test_one_class_has_no_wrong_labels(make) -> None:
    X = np.random.default_rng(0).standard_normal((60, 2))
    assert_array_equal(make().fit(X, ["a"] * 60).suspect_labels(X, ["a"] * 60), np.zeros(60))


def test_a_class_of_one_row_is_not_judged() -> None:
    X, _, label, _ = simulate(100, uniform(2, 0.05), 3.5, 15)
    label[4] = 7
    for make in (lambda: GaussianDiscriminant(shared=True), NaiveBayes, GenerativeClassifier):
        p = make().fit(X, label).suspect_labels(X, label)
        assert p[4] == 0.0
        assert np.isfinite(p).all()


@FEW
def test_noise_instead_of_signal_makes_few_suspects(make) -> None:
    """Labels that no column tells of are doubtful, each of them, and none is a suspect beyond another."""
    rng = np.random.default_rng(3)
    X, label = rng.standard_normal((400, 5)), rng.integers(0, 3, 400)
    assert (make().fit(X, label).suspect_labels(X, label, fdr=0.1) > 0).sum() <= 4


def test_rows_beyond_those_kept_do_not_remember_their_labels() -> None:
    """300 of 3,000 rows are kept. A label that a tree or density has seen would look right: the others find as many."""
    X, true, label, _ = simulate(3000, uniform(3, 0.1), 4.0, 17)
    wrong = true != label
    for make in (GenerativeClassifier, GenerativeForest):
        model = make(keep_rows=300).fit(X, label)
        p = model.suspect_labels(X, label)
        sample = model._fitted.reservoir
        encoded, _ = model._fitted.encoded(X)
        kept = sample.locate(encoded[: len(sample.rows)], label, model._fitted.statistics.classes) >= 0
        assert 250 < kept.sum() < 400
        found = [p[own].sum() / wrong[own].sum() for own in (kept, ~kept)]
        assert found[1] == pytest.approx(found[0], abs=0.25), make.__name__


def test_what_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    model = GaussianDiscriminant().fit(X, y)
    for fdr in (0, 1.0, -0.1, "few", True, float("nan")):
        with pytest.raises(SettingError, match="between 0 and 1"):
            model.suspect_labels(X, y, fdr=fdr)
    with pytest.raises(DataError, match="does not know"):
        model.suspect_labels(X[:1], [9])
    with pytest.raises(DataError, match="one label per row"):
        model.suspect_labels(X, y[:3])
    with pytest.raises(DataError, match="at least"):
        model.suspect_labels(X[:0], y[:0])
    with pytest.raises(SettingError, match="mixture of several components"):
        MixtureDiscriminant(n_components=2, random_state=0).fit(X, y).suspect_labels(X, y)
    with pytest.raises(DataError, match="released"):
        model.release().suspect_labels(X, y)


def test_a_model_that_keeps_no_rows_judges_those_that_are_given() -> None:
    X, _, label, _ = simulate(200, uniform(2, 0.1), 3.5, 18)
    expected = GaussianDiscriminant().fit(X, label).suspect_labels(X, label)
    assert_allclose(GaussianDiscriminant(keep_rows=0).fit(X, label).suspect_labels(X, label), expected)
