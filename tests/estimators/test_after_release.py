"""What becomes of a released model: rows that join it, merges, answers that need what it gave up, and new fits."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.errors import DataError

X, Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(5)
HOLED = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
NEW = X[::7] + RNG.normal(scale=0.1, size=X[::7].shape), Y[::7]


def _updated():
    return GaussianDiscriminant(shared=True).fit(HOLED, Y).release().partial_fit(*NEW)


def _merged():
    return GaussianDiscriminant(shared=True).fit(*NEW).merge(GaussianDiscriminant(shared=True).fit(HOLED, Y).release())


def _merged_into():
    return GaussianDiscriminant(shared=True).fit(HOLED, Y).release().merge(GaussianDiscriminant(shared=True).fit(*NEW))


@pytest.mark.parametrize("make", [_updated, _merged, _merged_into])
def test_rows_that_join_do_not_bring_back_what_was_given_up(make, read_back) -> None:
    """Cells filled at the release stay filled: forgetting one of those rows would not give the model of the others."""
    model = make()
    for own in (model, read_back(model)):
        assert own.rows_held_.least is None, "sums of single rows have joined"
        assert not hasattr(own, "released_")
        assert any("filled missing cells by EM" in note.what for note in own.notes_)
        with pytest.raises(DataError, match="was released"):
            own.forget(HOLED[:1], Y[:1])
        with pytest.raises(DataError, match="was released"):
            own.leave_one_out(HOLED[:1], Y[:1])
        again = own.release()
        assert again.rows_held_.least == 5
        assert any("filled missing cells by EM" in note.what for note in again.notes_)


def test_a_fit_to_other_rows_makes_a_model_of_its_own() -> None:
    model = GaussianDiscriminant(shared=True).fit(HOLED, Y).release().set_params(keep_rows=2000).fit(X, Y)
    assert not model.notes_
    assert len(model.forget(X[:1], Y[:1]).leave_one_out(X[1:], Y[1:])) == 149


def test_filled_cells_have_no_law_and_whole_rows_keep_theirs() -> None:
    """Hotelling's T² counts rows that were observed; of whole rows a release keeps every sum of the covariance."""
    whole = GaussianDiscriminant().fit(X[:50], Y[:50])
    np.testing.assert_allclose(whole.release().outlier_pvalues(X[50:60]), whole.outlier_pvalues(X[50:60]), rtol=1e-9)
    with pytest.raises(DataError, match="ask the model it was made from"):
        GaussianDiscriminant().fit(HOLED[:50], Y[:50]).release().outlier_pvalues(X[50:60])


def test_who_is_given_a_released_model_is_not_told_to_fit_it_again() -> None:
    for model in (NaiveBayes("laplace"), GenerativeClassifier()):
        released = model.fit(X, Y).release()
        with pytest.raises(DataError, match="ask the model it was made from"):
            released.outlier_pvalues(X[:3])
    with pytest.raises(DataError, match="ask the model it was made from"):
        NaiveBayes(keep_rows=0).fit(X, Y).release().predict_set(X[:3])
