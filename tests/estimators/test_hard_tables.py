"""Tables on which other libraries fail or return nonsense: all fit by default, and every answer is finite."""

import numpy as np
import pytest
from memory import memory_below
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.errors import DataError, SingularCovarianceError

SETTINGS = [(covariance, shared) for covariance in ("full", "diagonal", "spherical") for shared in (False, True)]
GRID = pytest.mark.parametrize(("covariance", "shared"), SETTINGS)


def assert_answers(model, X):
    """Assert that every answer exists: finite log posteriors that are a distribution, and finite log densities."""
    log_posterior = model.predict_log_proba(X)
    assert np.isfinite(log_posterior).all()
    assert_allclose(np.exp(log_posterior).sum(axis=1), 1, rtol=1e-9)
    assert np.isfinite(model.score_samples(X)).all()
    assert_array_equal(model.predict(X), model.classes_[log_posterior.argmax(axis=1)])
    return log_posterior


HARD = {
    "duplicate": lambda X, y, rng: np.column_stack([X, X[:, 0]]),
    "collinear": lambda X, y, rng: np.column_stack([X, X[:, 0] - 3 * X[:, 1] + 1e6]),
    "one-hot": lambda X, y, rng: np.eye(4)[rng.integers(0, 4, len(y))],
    "constant": lambda X, y, rng: np.column_stack([X, np.full(len(y), 0.1)]),
    "constant huge": lambda X, y, rng: np.column_stack([X, np.full(len(y), 1e17 / 3)]),
    "all constant": lambda X, y, rng: np.full((len(y), 3), 7.0),
    "constant within a class": lambda X, y, rng: np.column_stack([X, np.where(y == "ash", 4.0, X[:, 0])]),
    "constant within every class": lambda X, y, rng: np.column_stack([X, (y == "ash") * 2.0]),
    "nearly constant": lambda X, y, rng: np.column_stack([X, 1 + 1e-7 * rng.normal(size=len(y))]),
    "nearly collinear": lambda X, y, rng: np.column_stack([X, X[:, 0] + 1e-9 * rng.normal(size=len(y))]),
    "mostly zero": lambda X, y, rng: np.column_stack([X, np.eye(1, len(y)).ravel()]),
    "outlier": lambda X, y, rng: np.concatenate([X[:-1], [[1e9, -1e9, 1e9, 0]]]),
    "truth values": lambda X, y, rng: X > 0,
    "small integers": lambda X, y, rng: np.round(X).astype(np.int8),
}


@GRID
@pytest.mark.parametrize("kind", HARD)
def test_columns_without_rank_or_spread(blobs, rng, covariance, shared, kind):
    X, y = blobs
    X = HARD[kind](X, y, rng)
    model = GaussianDiscriminant(covariance, shared=shared).fit(X, y)
    assert_answers(model, X)
    if kind in ("constant", "constant huge", "all constant"):
        assert "left out" in {note.what for note in model.notes_}
    if kind == "all constant":
        assert_allclose(model.predict_proba(X), np.tile(model.priors_, (len(y), 1)))
    if kind == "constant within every class":  # it tells ash from the others without doubt
        ash = model.predict_proba(X)[:, 0]
        assert ((ash > 0.5) == (y == "ash")).all() or covariance == "spherical"


@GRID
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0], [1], [1]], [0, 1, 1]),
        ([[0], [1]], ["a", "b"]),
        ([[0.0, 1.0], [0.0, 1.0]], ["a", "b"]),
        ([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]], ["a", "b", "c"]),
        ([[1.0, 2.0]], ["only"]),
        ([[1.0], [2.0], [4.0]], [1, 1, 1]),
        ([[0.0, np.nan], [1.0, 2.0], [np.nan, 3.0]], [0, 1, 1]),
    ],
    ids=["trivial", "one row each", "all alike", "three lone rows", "one row", "one class", "missing"],
)
def test_tiny_tables(covariance, shared, X, y):
    model = GaussianDiscriminant(covariance, shared=shared).fit(X, y)
    assert_answers(model, X)
    if len(X) == len(set(y)) > 1:  # every row a class of its own
        assert model.notes_
        if X[0] != X[1]:
            assert_array_equal(model.predict(X), y)


# --- wider than long ---


@pytest.mark.parametrize("shared", [False, True])
def test_60_rows_of_2000_columns_never_make_a_square_matrix(rng, shared):
    n, d = 60, 2000
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) + np.eye(3, d)[y] * 8
    Z = X[:12].copy()
    Z[3, :50] = np.nan
    with memory_below(d * d * 8 / 2):
        model = GaussianDiscriminant(shared=shared).fit(X, y)
        assert_answers(model, Z)
        if shared:
            assert model.coef_.shape == (3, d)
            assert model.transform(X).shape == (n, 2)
    assert all(note.what == "shrunk the correlations" for note in model.notes_)
    with pytest.raises(SingularCovarianceError, match=rf"of {d}"):
        GaussianDiscriminant(shared=shared, shrinkage=0.0).fit(X, y)


def test_wide_and_dense_paths_give_the_same_answers(rng):
    """130 columns in 100 rows, against the same rows twice at half weight, which are kept as a matrix."""
    X, y = rng.normal(size=(100, 130)) + np.arange(2).repeat(50)[:, None] * 0.3, np.arange(2).repeat(50)
    Z = rng.normal(size=(20, 130))
    for shared in (False, True):
        thin = GaussianDiscriminant(shared=shared, shrinkage=0.1).fit(X, y)
        dense = GaussianDiscriminant(shared=shared, shrinkage=0.1).fit(np.r_[X, X], np.r_[y, y], np.full(200, 0.5))
        assert type(thin.model_.density.blocks[0].covariance) is not type(dense.model_.density.blocks[0].covariance)
        assert_allclose(thin.predict_joint_log_proba(Z), dense.predict_joint_log_proba(Z), rtol=1e-10)
        Z[5, 3:20] = np.nan
        assert_allclose(thin.predict_joint_log_proba(Z), dense.predict_joint_log_proba(Z), rtol=1e-10)


# --- far away ---


def test_two_thousand_independent_columns_of_naive_bayes(rng):
    """A product of 2,000 densities underflows outside log space."""
    X, y = rng.normal(size=(50, 2000)), np.arange(50) % 2
    assert_answers(NaiveBayes().fit(X, y), X * 30)
    words = X > 0
    assert_answers(NaiveBayes().fit(words, y), words)


# --- missing cells ---


@GRID
def test_a_class_that_never_shows_a_column(blobs, covariance, shared):
    """The column is then no proof for or against that class: its density there is as wide as in the other classes."""
    X, y = blobs
    X[y == "ash", 1] = np.nan
    model = GaussianDiscriminant(covariance, shared=shared).fit(X, y)
    assert_answers(model, X)
    Z = X[y == "ash"].copy()
    without = model.predict_joint_log_proba(Z)[:, 0]
    Z[:, 1] = np.nanmean(X[:, 1])
    spread = np.nanstd(X[:, 1])
    # log p(x_1 | the other cells, ash): at most 10 of its standard deviations out, each at least spread / 100
    given = model.predict_joint_log_proba(Z)[:, 0] - without
    assert given.min() > -0.5 * 10**2 - np.log(spread * 2.6)
    assert given.max() < -np.log(spread / 100 * 2.5)
    if not shared and covariance != "spherical":
        assert any(note.label == "ash" for note in model.notes_)


def test_a_class_that_never_shows_a_column_in_naive_bayes(blobs):
    X, y = blobs
    table = X.astype(object)
    table[:, 3] = np.array(["u", "v"])[(X[:, 3] > 0).astype(int)]
    table[y == "cedar", 1] = table[y == "cedar", 3] = None
    model = NaiveBayes().fit(table, y)
    assert_answers(model, table)
    assert_allclose(model.probabilities_[3]["u"][2], 0.5)
    assert_answers(NaiveBayes(smoothing=0.0).fit(table, y), table[:5])


def test_missing_cells_are_refused_on_request(holed):
    X, y = holed
    with pytest.raises(DataError, match="NaN: cells are missing in 0, 1, 2, 3, and missing='error'"):
        GaussianDiscriminant(missing="error").fit(X, y)
    model = GaussianDiscriminant(missing="error").fit(np.nan_to_num(X), y)
    with pytest.raises(DataError, match="missing in 3"):
        model.predict([[0.0, 1.0, 2.0, np.nan]])


@pytest.mark.parametrize("huge", [1e155, 1e200, 1e300])
@GRID
def test_numbers_whose_squares_overflow(blobs, covariance, shared, huge):
    """Either an error of ours or a distribution: never NaN, never a bare warning of NumPy."""
    X, y = blobs
    model = GaussianDiscriminant(covariance, shared=shared).fit(X, y)
    for rows in (np.full((2, 4), huge), X[:2] * huge):
        try:
            posterior = model.predict_proba(rows)
        except DataError:
            continue
        assert_allclose(posterior.sum(axis=1), 1)
    for unit in (huge, 1 / huge):
        try:
            found = GaussianDiscriminant(covariance, shared=shared).fit(X * unit, y)
        except DataError:
            continue
        assert_allclose(found.predict_proba(X * unit), model.predict_proba(X), atol=1e-6)


# --- the ends of floating point ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("shrinkage", [None, 0.1, "oas", "loo", "ledoit-wolf"])
def test_posteriors_do_not_depend_on_the_unit(shrinkage, shared):
    """Down to 1e-70 and up to 1e70 (squares: 1e-140 and 1e140): the same posteriors, to rounding in the divisions."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    model = GaussianDiscriminant(shrinkage=shrinkage, shared=shared)
    wanted = clone(model).fit(X, y).predict_proba(X)
    for unit in [1e-140, 1e-70, 1e70, 1e140]:
        np.testing.assert_allclose(clone(model).fit(X * unit, y).predict_proba(X * unit), wanted, rtol=1e-8)


@pytest.mark.parametrize("shrinkage", [None, 0.0, 0.1, "oas", "loo", "ledoit-wolf"])
def test_squares_that_vanish_are_refused(shrinkage):
    tiny = np.array([[0.0, 0.0, 0.0, -1.25e-161, 0.0, 1.25e-161]]).T  # class means of exactly 0
    with pytest.raises(DataError, match="are below 1e-150, so that their squares vanish"):
        GaussianDiscriminant(shrinkage=shrinkage).fit(tiny, list("ababab"))


TINY = {
    "subnormal": lambda rng, n: rng.random(n) * 1e-310,
    "p-values": lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, 10.0 ** -rng.integers(0, 324, n)),
}


@pytest.mark.parametrize(
    ("make", "tiny"),
    [(GenerativeClassifier, "p-values"), (GenerativeForest, "subnormal"), (lambda: NaiveBayes("laplace"), "subnormal")],
)
def test_numbers_at_the_lower_end_of_floats(make, tiny, tmp_path, read_back):
    """What can be learned can be kept, released, drawn and exported, without a warning of NumPy."""
    rng, n = np.random.default_rng(0), 48
    X, y = np.c_[TINY[tiny](rng, n), rng.normal(size=n) + np.arange(n) % 2], np.arange(n) % 2
    model = make().fit(X, y)
    assert_allclose(read_back(model).predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-12)
    assert np.isfinite(model.predict_proba(X)).all()
    if not isinstance(model, GenerativeForest):
        model.to_html(tmp_path / "m.html")
        model.to_sql()
        model.to_onnx(tmp_path / "m.onnx")
    if isinstance(model, GenerativeClassifier):
        assert np.isfinite(model.release().predict_proba(X)).all()


def test_a_density_leaves_out_what_posteriors_can_read():
    """Of numbers below 1e-150 the automatic classifier has posteriors by their ranks, and says that p(x) lacks them."""
    rng, y = np.random.default_rng(1), np.arange(80) % 2
    X = (rng.normal(size=(80, 1)) + 6.0 * y[:, None]) * 1e-160
    tiny = GenerativeClassifier().fit(X, y)
    assert_array_equal(tiny.predict(X), y)
    assert (tiny.score_samples(X) == 0.0).all()
    assert any("below 1e-150" in str(note) for note in tiny.notes_)
