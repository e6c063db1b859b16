"""Thresholds of conformal sets: counting by hand, weights as copies, and coverage on exchangeable rows."""

import numpy as np
import pytest

from suffice.conformal import class_sets, threshold


@pytest.mark.parametrize(("alpha", "place"), [(0.5, 5), (0.2, 8), (0.1, 9), (0.09, None)])
def test_the_quantile_counts_the_new_row_as_one_more(alpha, place):
    score = np.arange(1, 10) / 10  # nine rows: s_(j) covers j of 10
    found = threshold(score, np.ones(9), alpha)
    assert found == pytest.approx(np.inf if place is None else score[place - 1])


def test_weights_are_copies(rng):
    score, weight = rng.random(30) + 0.01, rng.integers(1, 5, 30)
    for alpha in (0.05, 0.1, 0.3):
        weighted = threshold(score, weight.astype(float), alpha)
        again = np.repeat(np.arange(30), weight)
        copied = threshold(score[again], np.ones(len(again)), alpha)
        assert weighted == pytest.approx(copied)


def test_sets_are_empty_only_where_that_is_allowed_and_infinity_takes_all():
    log_posterior = np.log([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    assert not class_sets(log_posterior, 0.0).any()
    assert class_sets(log_posterior, 0.0, allow_empty=False).tolist() == [[True, False, False], [False, False, True]]
    assert class_sets(log_posterior, -np.log(0.25)).tolist() == [[True, True, False], [False, False, True]]
    assert class_sets(log_posterior, np.inf).all()


def test_a_class_of_posterior_zero_is_in_no_set_but_that_of_everything():
    with np.errstate(divide="ignore"):
        log_posterior = np.log([[1.0, 0.0]])
    assert class_sets(log_posterior, 50.0).tolist() == [[True, False]]
    assert class_sets(log_posterior, np.inf).tolist() == [[True, True]]


def test_coverage_is_what_was_asked_for_when_rows_are_exchangeable(rng):
    alpha, hits, n = 0.2, 0, 19
    for _ in range(2000):
        score = rng.exponential(size=n + 1)
        hits += score[-1] <= threshold(score[:-1], np.ones(n), alpha)
    assert abs(hits / 2000 - 0.8) < 4 * np.sqrt(0.16 / 2000)  # exactly 16 of 20 places, and four standard errors
