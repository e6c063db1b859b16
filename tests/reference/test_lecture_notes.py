"""The worked Gaussian examples of the five lecture notes behind this library, and where a note is wrong.

Expected numbers are exact fractions, closed forms, or NumPy evaluations of the notes' formulas made apart
from this library. scikit-learn's iris equals R's cell by cell; the copy in the UCI archive differs from both
in rows 34 and 37 (0-based), so `test_iris_is_the_table_of_the_notes` pins the table first.
"""

import json
from math import exp, log, pi, sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from suffice import GaussianDiscriminant, NaiveBayes
from suffice._arrays import log_softmax
from suffice.errors import SingularCovarianceError

IRIS = load_iris()
X = IRIS.data[:, :2]
y = IRIS.target
LABELS = json.loads((Path(__file__).parent / "golden" / "lecture_iris.json").read_text())["labels"]

MEANS = np.array([[2503, 1714], [2968, 1385], [3294, 1487]]) / 500
# Maximum-likelihood covariances, exact: [xx, xy, yy] in units of 1/250000.
ENTRIES = np.array([[30441, 24308, 35204], [65276, 20870, 24125], [99064, 22972, 25481]])
COVARIANCES = ENTRIES[:, [[0, 1], [1, 2]]] / 250000


def labels(name):
    return np.array([int(digit) for digit in "".join(LABELS[name])])


def joint_log_likelihood(model, X, y):
    scores = model.predict_joint_log_proba(X)
    return scores[np.arange(len(y)), np.searchsorted(model.classes_, y)].sum()


def confusion(truth, predicted):
    return np.array([[np.sum((truth == i) & (predicted == j)) for j in range(3)] for i in range(3)])


def points_with(means, half_widths):
    """Return (X, y): 2d points per class with exactly these means and maximum-likelihood variances w²/d."""
    d = len(means[0])
    steps = half_widths * np.vstack([np.eye(d), -np.eye(d)])
    return np.vstack([np.asarray(mean) + steps for mean in means]), np.repeat(np.arange(len(means)), 2 * d)


# --- Two columns of iris (Kuleshov, lecture 7, both versions) ---


def test_iris_is_the_table_of_the_notes():
    assert_array_equal(IRIS.data[[34, 37]], [[4.9, 3.1, 1.5, 0.2], [4.9, 3.6, 1.4, 0.1]])


def test_iris_parameters_by_maximum_likelihood():
    """The notes derive the divisor n_k, and their code calls np.cov, which divides by n_k - 1."""
    model = GaussianDiscriminant().fit(X, y)
    assert_allclose(model.priors_, [1 / 3] * 3, rtol=1e-12)
    assert_allclose(model.means_, MEANS, rtol=1e-12)
    assert_allclose(model.covariances_, COVARIANCES, rtol=1e-12)
    by_code = np.array([np.cov(X[y == k].T) for k in range(3)])
    assert np.abs(model.covariances_ / by_code - 1).min() > 0.019


def test_iris_parameters_with_the_unbiased_divisor():
    model = GaussianDiscriminant(divisor="unbiased").fit(X, y)
    assert_allclose(model.covariances_, COVARIANCES * 50 / 49, rtol=1e-12)


@pytest.mark.parametrize(("divisor", "factor"), [("mle", 1), ("unbiased", 150 / 147)])
def test_iris_shared_covariance(divisor, factor):
    model = GaussianDiscriminant(shared=True, divisor=divisor).fit(X, y)
    expected = factor * np.array([[0.259708, 0.0908666666666666667], [0.0908666666666666667, 0.11308]])
    assert_allclose(np.broadcast_to(model.covariances_, (3, 2, 2)), np.stack([expected] * 3), rtol=1e-12)


def test_iris_labels_of_gda():
    model = GaussianDiscriminant().fit(X, y)
    assert_array_equal(model.predict(X), labels("full"))
    assert_array_equal(confusion(y, model.predict(X)), [[49, 1, 0], [0, 37, 13], [0, 16, 34]])
    unbiased = GaussianDiscriminant(divisor="unbiased").fit(X, y)
    assert_array_equal(unbiased.predict(X), labels("full_unbiased"))


def test_iris_labels_printed_by_the_note_are_not_those_of_gda():
    """The code multiplies by |2 pi Sigma|^(1/2), which should divide, and writes -1/2 exp(q) for exp(-q/2).

    Run literally it gives all 150 labels that the note prints; four of them are not GDA's.
    """
    scores = np.empty((150, 3))
    for k in range(3):
        centred, cov = X - X[y == k].mean(axis=0), np.cov(X[y == k].T)
        q = np.einsum("ij,jl,il->i", centred, np.linalg.inv(cov), centred)
        scores[:, k] = np.sqrt((2 * pi) ** 2 * np.linalg.det(cov)) * -0.5 * np.exp(q) / 3
    printed = labels("printed_in_the_note")
    assert_array_equal(scores.argmax(axis=1), printed)
    ours = GaussianDiscriminant(divisor="unbiased").fit(X, y).predict(X)
    assert_array_equal(np.flatnonzero(ours != printed), [72, 85, 103, 146])


def test_iris_posteriors_of_gda():
    first = [
        [0.9995762280961061, 0.00014234480044535895, 0.0002814271034485483],
        [0.9658335050052129, 0.022411684648552005, 0.011754810346235014],
        [0.9990870040841405, 0.0003905269268593141, 0.0005224689890003104],
        [0.9985338452852733, 0.0006893523857610039, 0.0007768023289657712],
        [0.9999264993559183, 1.6783216832397962e-05, 5.671742724931988e-05],
    ]
    virginica = [
        [7.51981414972489e-08, 0.4658024357693861, 0.5341974890324724],
        [3.771026994217826e-08, 0.7455952999101156, 0.2544046623796145],
        [2.7839243176856276e-23, 0.11158550942691596, 0.888414490573084],
        [4.564918538971522e-12, 0.5325695906083497, 0.46743040938708524],
        [1.1753769429354074e-13, 0.4199077451832243, 0.5800922548166582],
    ]
    model = GaussianDiscriminant().fit(X, y)
    assert_allclose(model.predict_proba(X[:5]), first, rtol=1e-11, atol=0)
    assert_allclose(model.predict_proba(X[100:105]), virginica, rtol=1e-11, atol=0)
    assert_allclose(joint_log_likelihood(model, X, y), -282.570646135162, rtol=1e-12)
    assert_allclose(model.score_samples(X).sum(), -225.46718890189237, rtol=1e-12)


def test_iris_lda_is_not_gda():
    """The note's "LDA" cell computes np.cov per class again; a shared covariance changes ten labels."""
    model = GaussianDiscriminant(shared=True).fit(X, y)
    assert_array_equal(model.predict(X), labels("shared"))
    assert_array_equal(confusion(y, model.predict(X)), [[49, 1, 0], [0, 36, 14], [0, 15, 35]])
    assert np.sum(model.predict(X) != labels("full")) == 10
    assert_allclose(joint_log_likelihood(model, X, y), -301.126429617639, rtol=1e-12)


def test_iris_lda_posteriors_and_logistic_twin():
    first = [
        [0.9995523336618652, 0.0004305366195964411, 1.7129718538125e-05],
        [0.9622012671747525, 0.03679213852132376, 0.0010065943039239073],
        [0.9992767523807191, 0.0007123596929876574, 1.08879262931973e-05],
        [0.9988938428850579, 0.0010929082746843938, 1.3248840257565164e-05],
        [0.9999394425935259, 5.880855144106264e-05, 1.7488550330035676e-06],
    ]
    beta = np.array(
        [
            [12.059456708081544, 20.624313469452222],
            [19.873129008664435, 8.526662634825128],
            [22.48746669051338, 8.229915635438198],
        ]
    )
    gamma = np.array([-66.63350571563733, -71.89148693561697, -87.41021211711579])
    model = GaussianDiscriminant(shared=True).fit(X, y)
    assert_allclose(model.predict_proba(X[:5]), first, rtol=1e-11)
    # Softmax fixes coefficients only up to what all classes share.
    assert_allclose(model.coef_ - model.coef_[0], beta - beta[0], rtol=1e-11)
    assert_allclose(model.intercept_ - model.intercept_[0], gamma - gamma[0], rtol=1e-11)
    assert_allclose(log_softmax(X @ model.coef_.T + model.intercept_), model.predict_log_proba(X), atol=1e-11)


@pytest.mark.parametrize("make", [lambda: GaussianDiscriminant("diagonal"), lambda: NaiveBayes("gaussian")])
def test_iris_gaussian_naive_bayes(make):
    model = make().fit(X, y)
    assert_array_equal(model.predict(X), labels("diagonal"))
    assert np.mean(model.predict(X) == y) == 0.78
    assert_allclose(joint_log_likelihood(model, X, y), -316.56732458940166, rtol=1e-12)


def test_iris_isotropic_shared_is_the_nearest_mean():
    model = GaussianDiscriminant("spherical", shared=True).fit(X, y)
    assert_array_equal(model.predict(X), labels("spherical_shared"))
    nearest = ((X[:, None] - MEANS) ** 2).sum(axis=2).argmin(axis=1)
    assert_array_equal(model.predict(X), nearest)
    # log p(x, k) at the class mean is log(1/3) - log(2 pi sigma²).
    at_mean = model.predict_joint_log_proba(MEANS).diagonal()
    assert_allclose(at_mean, log(1 / 3) - log(2 * pi * 0.186394), rtol=1e-12)


# --- A guessed model and a mixture on a line (Kuleshov, web text) ---


def test_points_scored_under_the_guessed_model():
    """phi = 1/3, means (5, 3.5), (6, 2.5), (6.5, 3), covariance 0.05 I; the ten points the note prints."""
    points = np.array(
        [
            [6.05480188, 2.57822945], [5.31460491, 3.3924932], [6.06002739, 2.49449373],
            [6.70405162, 3.36279592], [5.87442218, 2.6286033], [6.61493341, 3.0305957],
            [4.70751809, 3.58818661], [5.10663152, 3.95995748], [4.78309822, 3.23922458],
            [5.59456967, 3.68846231],
        ]
    )  # fmt: skip
    model = GaussianDiscriminant().fit(*points_with([[5, 3.5], [6, 2.5], [6.5, 3]], sqrt(0.1)))
    assert_allclose(model.covariances_, np.stack([0.05 * np.eye(2)] * 3), atol=1e-14)
    first = [3.211223752350372e-09, 0.975148861484464, 0.0248511353043123]
    last = [0.9998753920599814, 6.94160587789187e-06, 0.00011766633414053201]
    assert_allclose(model.predict_proba(points)[[0, -1]], [first, last], rtol=1e-9)
    assert_array_equal(model.predict(points), [1, 0, 1, 2, 1, 2, 0, 0, 0, 0])
    log_marginal = [
        -0.006822869318979623, -1.0460866234393353, 0.03446260218326185, -1.6733132467463985,
        -0.25692181519047197, -0.08064399048077628, -0.8739825401278492, -2.17006872617289,
        -1.091259094999937, -3.8309438135636835,
    ]  # fmt: skip
    assert_allclose(model.score_samples(points), log_marginal, atol=1e-9)


def two_bumps():
    """Return a model of 0.6 N(1, 0.5²) + 0.4 N(-1, 0.5²): ten points with exactly those statistics."""
    line = np.array([0.5] * 3 + [1.5] * 3 + [-0.5] * 2 + [-1.5] * 2)[:, None]
    return GaussianDiscriminant().fit(line, ["right"] * 6 + ["left"] * 4)


def test_mixture_on_a_line():
    at = np.array([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3])[:, None]
    log_density = [
        -9.142082084462256, -3.142081915716134, -1.141579017136646, -1.6149792487702477, -2.2257913526447273,
        -1.224480496403306, -0.7363933596628718, -2.7366169013872708, -8.73661697638555,
    ]  # fmt: skip
    right = [
        5.662701816097984e-11, 1.6880273358452094e-07, 0.0005029408650573602, 0.02673884966106299, 0.6,
        0.9879368700291202, 0.9997764082525151, 0.9999999249765558, 0.9999999999748324,
    ]  # fmt: skip
    model = two_bumps()
    assert_allclose(model.score_samples(at), log_density, rtol=1e-12)
    assert_allclose(model.predict_proba(at)[:, list(model.classes_).index("right")], right, rtol=1e-12)


def test_a_density_integrates_to_one():
    """The lecture's N() divides by sqrt(2 pi sigma), not sqrt(2 pi) sigma: it integrates to sqrt(0.5)."""
    grid = np.linspace(-9, 9, 3601)
    density = np.exp(two_bumps().score_samples(grid[:, None]))
    assert_allclose(np.trapezoid(density, grid), 1, rtol=1e-12)
    assert_allclose(np.trapezoid(density * grid, grid), 1 / 5, rtol=1e-12)
    assert_allclose(np.trapezoid(density * (grid - 1 / 5) ** 2, grid), 121 / 100, rtol=1e-12)


# --- Softmax and sigmoid (Kanade; Kuleshov) ---


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([1, 2, 3], [0.09003057317038046, 0.24472847105479764, 0.6652409557748218]),
        ([10, 20, 30], [2.061060046209062e-09, 4.539786860886666e-05, 0.999954600070331]),
        ([1001, 1002, 1003], [0.09003057317038046, 0.24472847105479764, 0.6652409557748218]),
        ([-1e5, -99999, -99998], [0.09003057317038046, 0.24472847105479764, 0.6652409557748218]),
    ],
)
def test_softmax(scores, expected):
    """The note truncates 4.54e-5 to 4e-5; to one digit it is 5e-5."""
    assert_allclose(np.exp(log_softmax(np.array([scores], dtype=float)))[0], expected, rtol=1e-12)


@pytest.mark.parametrize("t", [-40, -2, 0, 2, 40])
def test_sigmoid_is_the_posterior_of_two_classes_with_one_covariance(t):
    model = GaussianDiscriminant(shared=True).fit([[-2.0], [0.0], [0.0], [2.0]], [0, 0, 1, 1])  # log odds 2x
    assert_allclose(model.predict_proba([[t / 2]])[0], [1 / (1 + exp(t)), 1 / (1 + exp(-t))], rtol=1e-12)
    assert_allclose(model.decision_function([[t / 2]]), [t], rtol=1e-12, atol=1e-12)


# --- Eight points and five people (Lee) ---

EIGHT = np.array([[2, 2], [3, 3], [4, 2], [3, 1], [6, 6], [8, 5], [10, 6], [8, 7]], dtype=float)
HALVES = np.repeat([0, 1], 4)
QUERIES = np.array([[5, 4], [4, 4], [5, 3], [6, 4], [3, 2], [8, 6], [0, 10], [5.5, 4]])


def test_eight_points_gda():
    """The slide's covariances are right and divide by n_k; np.cov would print 2/3 and 8/3."""
    model = GaussianDiscriminant().fit(EIGHT, HALVES)
    assert_allclose(model.means_, [[3, 2], [8, 6]], rtol=1e-12)
    assert_allclose(model.covariances_, [[[0.5, 0], [0, 0.5]], [[2, 0], [0, 0.5]]], rtol=1e-12, atol=1e-15)
    joint = [
        [-9.837877066409346, -8.78102424696929], [-6.837877066409345, -10.53102424696929],
        [-6.837877066409345, -13.78102424696929], [-14.837877066409346, -7.531024246969291],
        [-1.8378770664093453, -24.781024246969288], [-42.83787706640935, -2.5310242469692907],
        [-74.83787706640935, -34.531024246969295], [-12.087877066409346, -8.09352424696929],
    ]  # fmt: skip
    assert_allclose(model.predict_joint_log_proba(QUERIES), joint, rtol=1e-10)
    # -(x1 - 8)²/4 - (x2 - 6)² + (x1 - 3)² + (x2 - 2)² - log 2, the parabola of the slide
    x1, x2 = QUERIES.T
    parabola = 0.75 * x1**2 - 2 * x1 + 8 * x2 - 39 - log(2)
    assert_allclose(model.decision_function(QUERIES), parabola, rtol=1e-10)
    assert_allclose(joint_log_likelihood(model, EIGHT, HALVES), -25.475605253514544, rtol=1e-10)


def test_eight_points_shared_covariance_gives_a_line():
    model = GaussianDiscriminant(shared=True).fit(EIGHT, HALVES)
    assert_allclose(model.decision_function(QUERIES), QUERIES @ [4, 8] - 54, rtol=1e-10, atol=1e-10)
    assert_allclose(np.ravel(model.coef_), [4, 8], rtol=1e-10)
    assert_allclose(np.ravel(model.intercept_), [-54], rtol=1e-10)
    assert_allclose(joint_log_likelihood(model, EIGHT, HALVES), -26.368179458771383, rtol=1e-10)


PEOPLE = np.array([[65, 185], [52, 125], [56, 140], [62, 240], [57, 130]], dtype=float)
GENDER = np.array([1, 0, 1, 0, 1])


def test_five_people_parameters():
    model = GaussianDiscriminant(shared=True).fit(PEOPLE, GENDER)
    assert_allclose(model.priors_, [2 / 5, 3 / 5], rtol=1e-12)
    assert_allclose(model.means_, [[57, 182.5], [178 / 3, 455 / 3]], rtol=1e-12)
    own = np.array([[[25, 287.5], [287.5, 3306.25]], [[146 / 9, 835 / 9], [835 / 9, 5150 / 9]]])
    shared = (2 * own[0] + 3 * own[1]) / 5
    assert_allclose(np.broadcast_to(model.covariances_, (2, 2, 2)), np.stack([shared] * 2), rtol=1e-12)


def test_five_people_leave_one_class_without_a_covariance():
    """Two rows span a line, rank 1. Unrepaired: an error naming the class; by default: a repair on record."""
    with pytest.raises(SingularCovarianceError, match=r"(?s)0.*rank 1 of 2"):
        GaussianDiscriminant(shrinkage=0.0).fit(PEOPLE, GENDER)
    model = GaussianDiscriminant().fit(PEOPLE, GENDER)
    assert model.notes_
    posterior = model.predict_proba(PEOPLE)
    assert np.isfinite(posterior).all()
    assert_allclose(posterior.sum(axis=1), 1, rtol=1e-12)
    assert_allclose(model.covariances_[1] * 9, [[146, 835], [835, 5150]], rtol=1e-12)


# --- Free parameters (Kanade, Nyantakyi, Lee), d = 6 columns and K = 2 classes ---


@pytest.mark.parametrize(
    ("covariance", "shared", "expected"),
    [("full", False, 55), ("full", True, 34), ("diagonal", False, 25), ("spherical", True, 14)],
)
def test_parameter_counts(covariance, shared, expected):
    """(K - 1) priors, K d means, and as many different non-zero covariances as the structure leaves free."""
    rows = np.random.default_rng(0).normal(size=(40, 6)) * np.arange(1, 7)
    model = GaussianDiscriminant(covariance, shared=shared).fit(rows, np.arange(40) % 2)
    entries = np.ravel(model.covariances_)
    free = len(np.unique(np.round(entries[entries != 0], 12)))
    assert (model.priors_.size - 1) + model.means_.size + free == expected
