"""What bounds the work of a choice: members dropped at a look, folds in the place of closed forms, gaps filled once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss, roc_auc_score

from suffice import GaussianDiscriminant, GenerativeClassifier
from suffice.automatic import columns as frozen_columns
from suffice.automatic.folds import FoldedGaussians
from suffice.automatic.members import gaussian
from suffice.leave_one_out.by_columns import marginals
from suffice.leave_one_out.model import Refits
from suffice.leave_one_out.wishart import LeftOut

OFTEN = 1.0  # of work: with this bound every table takes long


def rings(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes in alternating squares, of which means and covariances say nothing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(n, 4))
    return X, (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2


def apart(n: int, holes: float = 0.0, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return three Gaussian classes whose columns depend on each other, with some cells missing."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(3, d))[y] + rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + rng.normal(size=(n, d))
    X[rng.random(X.shape) < holes] = np.nan
    return X, y


def names(model: GenerativeClassifier) -> list[str]:
    return [own["name"] for own in model.members_]


def test_a_hopeless_member_is_dropped_at_a_look_and_the_answer_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judged in full, Gaussians of these classes have no weight: what is dropped would have changed nothing."""
    X, y = rings(1500)
    full = GenerativeClassifier().fit(X, y)
    monkeypatch.setattr(gaussian, "MOST_COMPARED", OFTEN)
    few = GenerativeClassifier().fit(X, y)
    dropped = [own for own in full.members_ if own["name"] not in names(few)]
    assert {"Gaussian", "Gaussian, normal scores"} <= {own["name"] for own in dropped}
    assert all(own["weight"] == 0.0 for own in dropped)
    assert_allclose(few.predict_proba(X), full.predict_proba(X), rtol=0, atol=1e-6)
    (note,) = {str(note) for note in few.notes_} - {str(note) for note in full.notes_}
    assert all(repr(own["name"]) in note for own in dropped)
    assert not any(repr(name) in note for name in names(few))


def test_a_member_that_is_not_hopeless_is_judged_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so few rows none is left aside, so that the same choice is made to the bit."""
    X, y = apart(400)
    full = GenerativeClassifier().fit(X, y)
    monkeypatch.setattr(gaussian, "MOST_COMPARED", OFTEN)
    few = GenerativeClassifier().fit(X, y)
    assert names(few) == names(full)
    assert_array_equal(few.predict_proba(X), full.predict_proba(X))


def test_sets_and_suspect_labels_go_by_folds_where_refits_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a column that others sum to, EM comes near a singular covariance, and each refit takes hundreds of steps."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 1600)
    X = rng.normal(size=(1600, 4)) + 2.5 * y[:, None] * [1.0, -1.0, 0.0, 0.0]
    X = np.column_stack([X, X[:, 0] + X[:, 2]])
    X[rng.random(X.shape) < 0.1] = np.nan
    flipped = rng.random(300) < 0.08
    given, new = np.where(flipped, 1 - y[:300], y[:300]), slice(300, None)

    def refit(*_: object) -> None:
        raise AssertionError("a refit without a row")

    monkeypatch.setattr(Refits, "limit", refit)
    wrong = GaussianDiscriminant().fit(X[:300], given).suspect_labels(X[:300], given)
    assert roc_auc_score(flipped, wrong) > 0.95  # the classes overlap by 4 %
    model = GaussianDiscriminant().fit(X[:300], y[:300])
    sets = model.predict_set(X[new], alpha=0.1)
    assert 0.86 < sets[np.arange(1300), y[new]].mean() < 0.97  # thresholds of 300 rows: ± .017; the larger one of two


def test_rows_of_folds_are_scored_as_by_factors_of_their_own() -> None:
    """The densities of new rows against the marginal of each row, of which nothing is removed."""
    X, y = apart(300, 0.1)
    model = GenerativeClassifier().fit(X, y)
    pool = model._fitted.pool
    own = next(member for member in pool.members if member.name == "gaussian, raw")
    folds: FoldedGaussians = own.again.func.__self__.folds(pool.sample)
    for strength, sphere in ((3.0, 0.01), (np.inf, 0.1)):
        found = folds.scores(strength, sphere)
        for v, (member, cells) in enumerate(zip(folds.members, folds.cells, strict=True)):
            rows = len(cells)
            left = LeftOut(cells, np.zeros(rows, dtype=np.int64), np.zeros(rows), np.ones(rows))
            expected = marginals(member, left, strength, sphere)
            assert_allclose(found[folds.place == v], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "bound", "holes"),
    [(gaussian, "MOST_FACTORED", 0.3), (frozen_columns, "MOST_COMPLETED", 0.03)],
    ids=["folds for closed forms", "gaps filled without labels"],
)
def test_bounded_work_tells_as_much(monkeypatch: pytest.MonkeyPatch, where: object, bound: str, holes: float) -> None:
    """New rows lose as much under what is chosen by less work, but for a fiftieth: some standard errors of a choice."""
    X, y = apart(3000, holes, 12)
    X, y, new, label = X[:800], y[:800], X[800:], y[800:]
    full = GenerativeClassifier().fit(X, y)
    monkeypatch.setattr(where, bound, OFTEN)
    few, full = GenerativeClassifier().fit(X, y).predict_proba(new), full.predict_proba(new)
    assert np.abs(few - full).max() > 0.0  # it was another way
    assert_allclose(log_loss(label, few), log_loss(label, full), rtol=0.02)
