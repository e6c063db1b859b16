"""scikit-learn pipelines over a table of mixed columns: one-hot columns as OneHotEncoder gives them, sparse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from kinds import kinds
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.datasets import penguins_path

TEXT = ["island", "sex"]
MODELS = kinds("automatic, forest, full, shared, diagonal, naive bayes, categorical, tied mixture")


@pytest.fixture(scope="module")
def penguins() -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(penguins_path()).dropna()[::3]
    return table.drop(columns=["species", "year"]), table["species"]


def encoder(sparse_output: bool):
    one_hot = OneHotEncoder(drop="first", sparse_output=sparse_output, handle_unknown="ignore")
    return make_column_transformer(
        (one_hot, TEXT), remainder="passthrough", sparse_threshold=1.0 if sparse_output else 0.0
    )


@pytest.mark.parametrize("name", MODELS)
def test_sparse_one_hot_columns_are_those_of_a_dense_table(penguins, name):
    table, species = penguins
    made, dense = (make_pipeline(encoder(kind), MODELS[name]()).fit(table, species) for kind in (True, False))
    assert sparse.issparse(made[0].transform(table))
    assert_array_equal(made.predict_log_proba(table[::5]), dense.predict_log_proba(table[::5]))


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_it_agrees_with_scikit_learn_on_the_dense_table(penguins, form):
    """Both divide by n; scikit-learn refuses the sparse one."""
    X = encoder(False).fit_transform(penguins[0])
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X, penguins[1])
    model = GaussianDiscriminant(shared=True).fit(form(X), penguins[1])
    assert_allclose(model.predict_proba(form(X)), peer.predict_proba(X), atol=1e-9)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        LinearDiscriminantAnalysis().fit(form(X), penguins[1])


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("tied mixture", "full")])
def test_every_verb_takes_the_sparse_table(penguins, name, read_back):
    rows = sparse.csr_array(encoder(True).fit_transform(penguins[0]))
    y = penguins[1].to_numpy()
    model = MODELS[name]().fit(rows, y)
    before = model.predict_proba(rows)
    for ask in (model.explain, model.outlier_pvalues, model.score_samples, model.information_gain, model.predict_set):
        some = rows[:4]
        assert_array_equal(ask(some), ask(some.toarray()), err_msg=ask.__name__)
    assert_array_equal(model.leave_one_out(rows, y), model.leave_one_out(rows.toarray(), y))
    model.partial_fit(rows[:5], y[:5]).forget(rows[:5], y[:5])
    assert_allclose(model.predict_proba(rows), before, atol=1e-9)
    again = read_back(model)
    drawn, labels = again.sample(20, random_state=0)
    assert sparse.issparse(drawn)
    assert drawn.shape == (20, rows.shape[1])
    assert set(labels) <= set(y)
    assert (again.impute(drawn) != drawn).nnz == 0  # a sparse matrix has no holes
    assert np.isin(drawn[:, :3].toarray(), (0, 1)).all()  # indicators are drawn as indicators


def test_drawn_numbers_keep_their_fractions(rng):
    rows = sparse.csr_array(rng.normal(size=(50, 2)))
    drawn = GaussianDiscriminant(keep_rows=0).fit(rows, np.arange(50) % 2).sample(30, random_state=0)[0]
    assert drawn.dtype == np.float64
    assert (drawn.toarray() != np.rint(drawn.toarray())).all()


def test_truth_values_stay_truth_values(rng):
    rows = sparse.csr_array(rng.random((80, 4)) < 0.3)
    for make in (GenerativeClassifier, NaiveBayes):
        model = make().fit(rows, np.arange(80) % 2)
        drawn = model.sample(10, random_state=0)[0]
        assert_array_equal(model.predict_proba(drawn), model.predict_proba(drawn.toarray()))
