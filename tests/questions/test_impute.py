"""Cells to fill, by block: from a joint model of two independent blocks with known parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from suffice.densities import Categorical, Full, Gaussian, Product
from suffice.joint import JointModel, log_posterior
from suffice.questions.impute import fill_best, fill_drawn
from suffice.stats.rows import take_blocks

PRIOR = np.array([0.25, 0.75])
MEANS = np.array([[0.0, 1.0], [2.0, -1.0]])
SIGMA = np.array([[1.0, 0.6], [0.6, 1.0]])
P = np.array([[0.9, 0.1], [0.3, 0.7]])


@pytest.fixture
def model() -> JointModel:
    log_p = np.log(np.column_stack([P, [0.05, 0.05]]))
    gaussian = Gaussian(MEANS, Full.factor(SIGMA[None]), (0, 1))
    return JointModel((0, 1), np.log(PRIOR), Product((gaussian, Categorical((("u", "v"),), (log_p,), (log_p,)))))


ROWS = (np.array([[0.5, np.nan], [1.0, 2.0], [np.nan, np.nan], [3.0, np.nan]]), (np.array([1, -1, -1, 0]),))


def posteriors() -> np.ndarray:
    """p(k | observed cells) by SciPy's densities."""
    likelihood = np.ones((4, 2))
    for k in range(2):
        likelihood[0, k] = stats.norm(MEANS[k, 0], 1).pdf(0.5) * P[k, 1]
        likelihood[1, k] = stats.multivariate_normal(MEANS[k], SIGMA).pdf([1.0, 2.0])
        likelihood[3, k] = stats.norm(MEANS[k, 0], 1).pdf(3.0) * P[k, 0]
    joint = likelihood * PRIOR
    return joint / joint.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_blocks_inform_each_other_through_the_class(model, monkeypatch, chunk) -> None:
    monkeypatch.setattr("suffice.questions.impute.IN_MEMORY", 16 * chunk)
    weight = np.exp(log_posterior(model, ROWS))
    np.testing.assert_allclose(weight, posteriors(), rtol=1e-12)
    numbers, levels = fill_best(model, ROWS, weight, None)
    assert numbers.row.tolist() == [0, 2, 2, 3]
    assert numbers.column.tolist() == [1, 0, 1, 1]
    by_class = [
        MEANS[:, 1] + 0.6 * (0.5 - MEANS[:, 0]),
        MEANS[:, 0],
        MEANS[:, 1],
        MEANS[:, 1] + 0.6 * (3.0 - MEANS[:, 0]),
    ]
    expected = [weight[i] @ own for i, own in zip([0, 2, 2, 3], by_class, strict=True)]
    np.testing.assert_allclose(numbers.value, expected, rtol=1e-12)
    assert levels.row.tolist() == [1, 2]
    assert levels.value.tolist() == (weight[[1, 2]] @ P).argmax(axis=1).tolist()


def test_known_classes_are_certain(model) -> None:
    known = posteriors()
    known[:3] = np.eye(2)[[1, 1, 0]]
    numbers, levels = fill_best(model, ROWS, known, None)
    np.testing.assert_allclose(numbers.value[:3], [-1.0 + 0.6 * (0.5 - 2.0), 0.0, 1.0], rtol=1e-12)
    assert levels.value.tolist() == [1, 0]


def test_draws_are_of_the_class_and_its_conditional(model) -> None:
    rows = take_blocks(ROWS, np.tile(np.arange(4), 3000))
    weight = posteriors()
    found = fill_drawn(model, rows, np.random.RandomState(0), np.tile(weight, (3000, 1)), None)
    numbers, levels = (cells.value.reshape(3000, -1) for cells in found)
    assert numbers.shape == (3000, 4)
    assert levels.shape == (3000, 2)
    center = MEANS[:, 1] + 0.6 * (0.5 - MEANS[:, 0])

    def cdf(x: np.ndarray) -> np.ndarray:
        return np.asarray(stats.norm(center, 0.8).cdf(np.asarray(x)[..., None]) @ weight[0])

    assert stats.kstest(numbers[:, 0], cdf).pvalue > 1e-3
    share = weight[1] @ P[:, 1]
    assert stats.binomtest(int(levels[:, 0].sum()), 3000, share).pvalue > 1e-3
