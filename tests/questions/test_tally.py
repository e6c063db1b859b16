"""Sums of judged rows merge, and rankings stay what they are when they are rounded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp
from sklearn.metrics import roc_auc_score

from suffice.questions.tally import Ranking, Tally, log_odds


def rows(seed: int, n: int = 300, k: int = 4):
    rng = np.random.default_rng(seed)
    log_p = log_softmax(3 * rng.standard_normal((n, k)), axis=1)
    return log_p, rng.integers(0, k, n), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_parts_merge_to_the_whole_in_any_order(seed) -> None:
    log_p, codes, weight = rows(seed)
    whole = Tally.of(log_p, codes, weight, log_p.argmax(axis=1), None)
    order = np.random.default_rng(seed).permutation(300)
    parts = [Tally.of(log_p[i], codes[i], weight[i], log_p[i].argmax(axis=1), None) for i in np.array_split(order, 7)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    for name in ("confusion", "loss", "loss_squares", "brier", "expected", "calibration"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-12, atol=1e-12)
    for one, two in zip(merged.rankings, whole.rankings, strict=True):
        np.testing.assert_array_equal(one.odds, two.odds)
        np.testing.assert_array_equal(one.own, two.own)
        np.testing.assert_array_equal(one.others, two.others)


def test_rounded_rankings_do_not_depend_on_the_order_of_parts() -> None:
    log_p, codes, weight = rows(1)
    parts = [Ranking.of(log_odds(log_p[i])[:, 0], codes[i] == 0, weight[i]) for i in np.array_split(np.arange(300), 5)]
    one, two = parts[0], parts[4]
    for part in parts[1:]:
        one = one.merge(part, 100)
    for part in parts[3::-1]:
        two = two.merge(part, 100)
    assert not one.exact
    for name in ("odds", "own", "others"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("seed", range(10))
def test_the_doubt_bounds_what_rounding_does_to_the_area(seed) -> None:
    rng = np.random.default_rng(seed)
    odds, truth = rng.normal(0, 0.02, 500), rng.random(500) < 0.4
    ranking = Ranking.of(odds, truth, np.ones(500)).rounded()
    area = roc_auc_score(truth, odds)
    m = len(ranking.odds)
    rounded = roc_auc_score(
        np.repeat([1, 0], m), np.tile(ranking.odds, 2), sample_weight=np.concatenate([ranking.own, ranking.others])
    )
    assert m < 500
    assert abs(area - rounded) <= ranking.doubt + 1e-12
    assert ranking.doubt < 0.1


def test_log_odds_have_digits_where_probabilities_have_none() -> None:
    log_p = log_softmax(np.array([[0.0, -200.0, -300.0], [-50.0, 0.0, -51.0], [0.0, 0.0, 0.0]]), axis=1)
    others = [[[j for j in range(3) if j != c] for c in range(3)]] * 3
    wanted = [[log_p[i, c] - logsumexp(log_p[i, own]) for c, own in enumerate(others[i])] for i in range(3)]
    np.testing.assert_allclose(log_odds(log_p), wanted, rtol=1e-12)
    two = log_softmax(np.array([[400.0, 0.0], [0.0, 900.0]]), axis=1)
    np.testing.assert_allclose(log_odds(two), [[400.0, -400.0], [-900.0, 900.0]])
