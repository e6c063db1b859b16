"""Poisson, Bernoulli and multinomial estimates: closed forms, scikit-learn on sparse text, refusals."""

import numpy as np
import pytest
from memory import memory_below
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from suffice import NaiveBayes
from suffice.errors import DataError, SchemaError, SettingError

FORMATS = [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array, sparse.csr_array, sparse.csc_array]


@pytest.fixture
def text(rng):
    """Word counts of 300 made texts in four classes, a vocabulary of 800 words, and some words in no text."""
    frequency = rng.dirichlet(np.full(800, 0.1), 4)
    y = rng.integers(0, 4, 300)
    X = np.stack(
        [rng.multinomial(length, frequency[c]) for c, length in zip(y, rng.integers(5, 120, 300), strict=True)]
    )
    return sparse.csr_matrix(X.astype(float)), np.array(["law", "sport", "war", "zoo"])[y]


# --- scikit-learn ---


@pytest.mark.parametrize("smoothing", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
@pytest.mark.parametrize(("name", "theirs"), [("multinomial", MultinomialNB), ("bernoulli", BernoulliNB)])
def test_posteriors_equal_scikit_learn(text, name, theirs, make, smoothing):
    X, y = text
    X = (X > 0).astype(float) if name == "bernoulli" else X
    weight = np.arange(200) % 3 + 0.5
    other = theirs(alpha=smoothing).fit(X[:200], y[:200], sample_weight=weight)
    model = NaiveBayes(name, smoothing=smoothing).fit(make(X[:200]), y[:200], sample_weight=weight)
    assert_allclose(model.predict_proba(make(X[200:])), other.predict_proba(X[200:]), rtol=1e-8, atol=1e-12)
    expected = other.predict_joint_log_proba(X[200:])
    assert_allclose(model.predict_joint_log_proba(X[200:]), expected, rtol=1e-10)
    assert_allclose(model.predict_joint_log_proba(X[200:].toarray()), expected, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, bool])
@pytest.mark.parametrize("name", ["multinomial", "bernoulli", "poisson"])
def test_kinds_of_numbers(text, name, dtype):
    X, y = text
    X = (X > 0).astype(dtype) if dtype is bool or name == "bernoulli" else X.astype(dtype)
    X.data = X.data.astype(dtype)
    model, dense = (NaiveBayes(name).fit(table, y) for table in (X, X.toarray().astype(float)))
    assert_allclose(model.predict_log_proba(X), dense.predict_log_proba(X.toarray()), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["multinomial", "bernoulli", "poisson"])
def test_sparse_tables_are_never_made_dense(rng, name):
    """20,000 texts over 50,000 words are 8 GB dense; memory stays below three times the sparse input."""
    X = sparse.random_array((20_000, 50_000), density=1e-3, rng=rng, format="csr")
    X.data[:] = 1.0
    y = np.arange(20_000) % 3
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    with memory_below(3 * size):
        NaiveBayes(name).fit(X, y).predict_proba(X)


# --- closed forms ---


def test_poisson_rates():
    """rate = (Σ x + α m) / (n + α) with m = (Σ x + ½) / n over all classes; an unseen class cell has m."""
    X = np.array([[3.0, np.nan, 0.0], [1.0, np.nan, 0.0], [8.0, 4.0, 0.0]])
    y = ["a", "a", "b"]
    for alpha in (0.0, 1.0, 2.5):
        model = NaiveBayes("poisson", smoothing=alpha).fit(X, y, sample_weight=[1.0, 1.0, 2.0])
        m = (20.0 + 0.5) / 4.0
        assert_allclose(model.parameters_[0]["rate"], [(4 + alpha * m) / (2 + alpha), (16 + alpha * m) / (2 + alpha)])
        m = (8.0 + 0.5) / 2.0
        assert_allclose(model.parameters_[1]["rate"], [m, (8 + alpha * m) / (2 + alpha)])
        assert_allclose(model.parameters_[2]["rate"], [alpha * 0.125 / (2 + alpha)] * 2)
    rates = [model.parameters_[j]["rate"] for j in range(3)]
    row = np.array([[2.0, 5.0, 1.0]])
    expected = [sum(stats.poisson.logpmf(x, r[c]) for x, r in zip(row[0], rates, strict=True)) for c in range(2)]
    assert_allclose(model.predict_joint_log_proba(row)[0], np.log(model.priors_) + expected)


def test_bernoulli_probabilities():
    X = np.array([[1.0, np.nan], [0.0, np.nan], [1.0, 1.0], [1.0, 0.0]])
    model = NaiveBayes("bernoulli", smoothing=0.5).fit(X, ["a", "a", "b", "b"])
    assert_allclose(model.probabilities_[0][True], [1.5 / 3.0, 2.5 / 3.0])
    assert_allclose(model.probabilities_[1][True], [0.5, 1.5 / 3.0])
    assert_allclose(model.probabilities_[1][False] + model.parameters_[1]["probability"], 1.0)


@pytest.mark.parametrize("name", ["multinomial", "poisson", "bernoulli"])
def test_without_smoothing_impossible_rows_have_a_limit(name):
    """Where every class gives a row probability zero, posteriors are those of vanishing smoothing."""
    X, y = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]), ["a", "b", "b"]
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    found = NaiveBayes(name, smoothing=0.0).fit(X, y).predict_proba(rows)
    assert_allclose(found, NaiveBayes(name, smoothing=1e-9).fit(X, y).predict_proba(rows), atol=1e-6)
    assert_allclose(NaiveBayes(name, smoothing=0.0).fit(X, y).predict_proba(sparse.csr_array(rows)), found, atol=1e-12)


# --- refusals ---


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("multinomial", -1.0, "Column 1 has the value -1; Negative values"),
        ("poisson", -2.0, "Column 1 has the value -2; Negative values"),
        ("poisson", 0.5, "Column 1 has the value 0.5; counts are whole numbers"),
        ("bernoulli", 2.0, "Column 1 has the value 2; a Bernoulli column holds"),
    ],
)
def test_what_is_no_count_is_refused_by_name(make, name, value, message):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, value]])
    with pytest.raises(DataError, match=message):
        NaiveBayes(name).fit(make(X), [0, 1, 1])
    model = NaiveBayes(name).fit(make(X[:2]), [0, 1])
    with pytest.raises(DataError, match=message):
        model.predict(make(X))


def test_fractions_are_amounts_for_a_multinomial():
    assert NaiveBayes("multinomial").fit([[0.5, 0.0], [0.0, 1.5]], [0, 1]).predict([[0.1, 0.0]]).tolist() == [0]


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_the_least_amount_a_float_holds(smoothing):
    """It says nothing beside the smoothing, and makes no share overflow."""
    model = NaiveBayes("multinomial", smoothing=smoothing).fit(np.array([[5e-324, 0.0], [0.0, 0.0]]), ["a", "b"])
    assert_allclose(model.predict_proba([[5e-324, 0.0], [0.0, 0.0]]), 0.5, rtol=1e-12)


def test_a_missing_count_is_refused_for_a_multinomial():
    with pytest.raises(DataError, match=r"Column 1 misses a count.*'poisson'"):
        NaiveBayes("multinomial").fit([[1.0, np.nan], [0.0, 1.0]], [0, 1])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_sparse_cells_must_be_finite(value):
    with pytest.raises(DataError, match="NaN or infinity in column 1"):
        NaiveBayes("multinomial").fit(sparse.csr_array([[1.0, value], [0.0, 1.0]]), [0, 1])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_numbers_that_overflow_are_refused(make):
    with pytest.raises(DataError, match="beyond 1e150"):
        NaiveBayes("multinomial").fit(make([[1.0, 1e200], [0.0, 1.0]]), [0, 1])


@pytest.mark.parametrize("families", ["auto", "gaussian", "laplace", "categorical", {0: "gaussian", 1: "poisson"}])
@pytest.mark.parametrize("form", FORMATS)
def test_sparse_tables_of_other_families_are_those_of_dense_ones(rng, families, form):
    X, y = rng.poisson(0.4, size=(60, 3)), np.arange(60) % 2
    made, dense = (NaiveBayes(families).fit(make(X), y) for make in (form, np.asarray))
    assert_array_equal(made.predict_log_proba(form(X)), dense.predict_log_proba(X))
    assert_array_equal(made.predict_log_proba(X), dense.predict_log_proba(form(X)))


def test_sparse_tables_that_memory_could_not_hold_are_refused_before_any_cell_is_read(monkeypatch):
    monkeypatch.setattr("suffice._arrays.memory", lambda: 2**27)  # a quarter of which are 32 MiB
    X = sparse.random_array((5_000, 1_000), density=0.001, rng=np.random.default_rng(0), format="csr")  # 38 MiB
    y = np.arange(5_000) % 2
    with pytest.raises(DataError, match=r"5,000 rows and 1,000 columns.*0\.04 GiB.*'multinomial'.*fewer rows"):
        NaiveBayes("gaussian").fit(X, y)
    model = NaiveBayes("gaussian", keep_rows=0)
    for part in (slice(0, 2_500), slice(2_500, 5_000)):  # as the message advises
        model.partial_fit(X[part], y[part])
    assert_allclose(model.means_[0], X[::2].mean(axis=0), rtol=1e-9)
    NaiveBayes("poisson").fit(X.sign(), y)


def test_text_and_odd_matrices_are_refused():
    with pytest.raises(SchemaError, match="The family 'poisson' is one of numbers"):
        NaiveBayes("poisson").fit([["a", "b"], ["b", "c"]], [0, 1])
    with pytest.raises(SchemaError, match="Bernoulli column holds true and false"):
        NaiveBayes("bernoulli").fit([["a"], ["b"]], [0, 1])
    with pytest.raises(DataError, match="type complex"):
        NaiveBayes("poisson").fit(sparse.csr_array(np.eye(2) * 1j), [0, 1])
    with pytest.raises(SettingError, match="smoothing=-1"):
        NaiveBayes("multinomial", smoothing=-1).fit(np.eye(2), [0, 1])
    with pytest.raises(AttributeError, match="parameters_"):
        _ = NaiveBayes("multinomial").fit(np.eye(2), [0, 1]).covariances_
