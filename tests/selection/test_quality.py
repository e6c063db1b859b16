"""How good a model is, against rows deleted, models fitted to the others, and scikit-learn's scores."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from kinds import kinds
from refits import refits
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, recall_score

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.errors import DataError
from suffice.losses import LabelledRows
from suffice.questions.quality import in_percent, judge_answers

EXACT = 1e-9

CLOSED = kinds("shared, full, naive bayes, uniform")
KINDS = CLOSED | kinds("mixture, forest, automatic")


def telling(rng, n=90, k=3):
    """Rows of unequal classes that columns tell something of."""
    y = np.minimum(rng.integers(0, k + 1, n), k - 1)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * y
    X[:, 1] -= 0.8 * (y == 1)
    return pd.DataFrame(X, columns=list("abc")), np.array(["one", "two", "three"])[y]


def numbers(found):
    """The figures of a quality that are single numbers."""
    return {name: own for name, own in found.to_dict().items() if isinstance(own, int | float)}


def noise(rng, n, k=2):
    """Rows whose labels nothing tells."""
    return rng.normal(size=(n, 4)), rng.integers(0, k, n)


@pytest.mark.parametrize("kind", CLOSED)
def test_each_row_is_judged_by_a_fit_to_all_others(rng, kind) -> None:
    X, y = telling(rng, 48)
    found = CLOSED[kind]().fit(X, y).quality()
    p = np.exp(refits(CLOSED[kind], X, y))
    classes = np.array(found.classes)
    answer = classes[p.argmax(axis=1)]
    lost = -np.log(p[np.arange(len(y)), np.searchsorted(classes, y)])
    assert found.judged_by == "leave-one-out"
    assert found.accuracy == accuracy_score(y, answer)
    assert (found.right, found.rows, found.of_rows) == ((answer == y).sum(), len(y), len(y))
    assert found.log_loss == pytest.approx(log_loss(y, p, labels=classes), rel=EXACT)
    assert found.log_loss_error == pytest.approx(lost.std(ddof=1) / np.sqrt(len(y)), rel=1e-6)
    share = np.array([(y == label).mean() for label in classes])
    assert (found.commonest, found.commonest_accuracy) == (classes[share.argmax()], share.max())
    assert found.baseline == pytest.approx(-(share * np.log(share)).sum(), rel=EXACT)
    lead = (answer == y).astype(float) - (y == found.commonest)
    assert found.lead == pytest.approx(lead.mean(), abs=EXACT)
    one_more = 1.0 / (len(y) + 1)
    assert found.lead_error == pytest.approx(np.hypot(lead.std(ddof=1) / np.sqrt(len(y)), one_more), rel=1e-6)
    np.testing.assert_array_equal(found.confusion, confusion_matrix(y, answer, labels=classes))
    np.testing.assert_allclose(found.recall, recall_score(y, answer, labels=classes, average=None))


def test_rows_given_twice_and_weights_of_two_have_the_same_means(rng) -> None:
    X, y = telling(rng)
    log_p = np.log(rng.dirichlet(np.ones(3), len(y)))
    codes = np.unique(y, return_inverse=True)[1]
    one = judge_answers(range(3), log_p, LabelledRows(codes, np.full(len(y), 2.0), np.full(len(y), 2.0), 3))
    two = judge_answers(range(3), np.repeat(log_p, 2, axis=0), LabelledRows.each(np.repeat(codes, 2), 3))
    assert numbers(one) == pytest.approx(numbers(two))
    assert NaiveBayes().fit(X, y).quality().counted
    assert not NaiveBayes().fit(X, y, sample_weight=rng.random(len(y))).quality().counted


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_judged_on_rows_it_had_not_seen(rng, kind) -> None:
    """What it says of itself is what new rows of the same kind say, within errors of both."""
    X, y = telling(rng, 300)
    new, truth = telling(rng, 3000)
    model = KINDS[kind]().fit(X, y)
    found = model.quality()
    own = model.predict_proba(new)[np.arange(len(truth)), np.searchsorted(model.classes_, truth)]
    error = np.hypot(found.accuracy_error, 0.01)
    assert found.judged_by == ("cross-validation" if kind == "mixture" else "leave-one-out")
    assert abs(found.accuracy - (model.predict(new) == truth).mean()) < 4 * error
    assert abs(found.log_loss + np.log(own).mean()) < 4 * np.hypot(found.log_loss_error, 0.02)
    assert found.answers_better
    assert found.tells_more


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_not_claimed_to_be_told(kind) -> None:
    """Of 12 tables of noise each, at most two may look better by over two errors: three do for one in 300 grids."""
    claims = []
    for seed in range(3 if kind in ("mixture", "automatic") else 12):
        X, y = noise(np.random.default_rng(seed), 120, 2 + seed % 3)
        found = KINDS[kind]().fit(X, y).quality()
        claims.append(found.answers_better)
        assert not found.tells_more
        if not found.answers_better:
            assert "do not show that it does better" in str(found)
    assert sum(claims) <= 2


def test_a_rare_class_is_not_hidden_by_accuracy(rng) -> None:
    y = (np.arange(600) % 50 == 0).astype(int)
    X = rng.normal(size=(600, 2)) + 0.3 * y[:, None]
    found = NaiveBayes().fit(X, y).quality()
    assert found.accuracy > 0.95
    assert not found.answers_better
    assert f"Of the 12 rows of 1 it names {found.confusion[1, 1]} so." in str(found)
    assert "always naming the commonest class, 0, would be right for 98.0 %" in str(found)


def test_probabilities_that_are_far_too_sure_are_said_to_be(rng) -> None:
    """Each column five times over counts five times in naive Bayes."""
    X, y = telling(rng, 300)
    found = NaiveBayes().fit(pd.concat([X.add_suffix(str(i)) for i in range(15)], axis=1), y).quality()
    assert found.answers_better
    assert found.log_loss > found.baseline
    assert "far too sure" in str(found)


def test_a_sample_of_the_rows_stands_for_all(rng) -> None:
    X, y = telling(rng, 3000)
    some, every = (NaiveBayes(keep_rows=rows).fit(X, y).quality() for rows in (500, 3000))
    assert 500 <= some.rows < 510  # equal rows are kept as one
    assert (some.of_rows, every.rows) == (3000, 3000)
    assert f"({some.rows} of 3,000)" in str(some)
    assert some.commonest_accuracy == pytest.approx(every.commonest_accuracy)
    assert abs(some.accuracy - every.accuracy) < 4 * some.accuracy_error


def test_what_cannot_be_judged_says_why(rng) -> None:
    X, y = telling(rng)
    for model, why in (
        (NaiveBayes(keep_rows=0).fit(X, y), "keeps no rows"),
        (NaiveBayes().fit(X, y).release(), "was released"),
        (NaiveBayes().fit(X, np.full(len(y), "a")), "a single class"),
    ):
        with pytest.raises(DataError, match=why):
            model.quality()


def test_rows_without_a_label_that_joined_are_judged_by_folds(rng) -> None:
    X, y = telling(rng)
    some = y.astype(object)
    some[::3] = None
    found = GaussianDiscriminant().fit(X, some).quality()
    assert found.judged_by == "cross-validation"
    assert found.rows == (y == y).sum() - len(some[::3])


def test_plain_values_are_json(rng) -> None:
    X, y = telling(rng)
    for model in (NaiveBayes().fit(X, y), NaiveBayes().fit(X[:2], ["a", "b"])):
        found = model.quality()
        plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert plain["accuracy"] == found.accuracy
        assert plain["sentence"] == str(found)


def test_it_is_made_once_and_no_edit_leaves_it(rng) -> None:
    X, y = telling(rng)
    model = NaiveBayes().fit(X, y)
    first = model.quality()
    assert model.quality() is first
    assert model.partial_fit(X[:9], y[:9]).quality() is not first
    assert model.forget(X[:9], y[:9]).quality().log_loss == pytest.approx(first.log_loss)


def test_one_row_knows_no_error() -> None:
    found = judge_answers(["a", "b"], np.log([[0.7, 0.3]]), LabelledRows.each(np.array([0]), 2))
    assert found.accuracy_error == found.log_loss_error == np.inf
    assert found.to_dict()["accuracy_error"] is None
    assert "± unknown" in str(found)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.974, "97.4 %"), (0.9996, "99.96 %"), (0.0004, "0.04 %"), (np.nan, "unknown")],
)
def test_shares_are_never_rounded_to_certainty(share, text) -> None:
    assert in_percent(share) == text
