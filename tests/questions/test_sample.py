"""New rows by block: classes by prior or posterior, cells given their class."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from suffice.densities import Diagonal, Gaussian, Poisson, Product
from suffice.joint import JointModel
from suffice.questions.sample import sample

PRIOR = np.array([0.2, 0.8])
RATE = np.array([[1.0], [6.0]])


@pytest.fixture
def model() -> JointModel:
    gaussian = Gaussian(np.array([[0.0], [3.0]]), Diagonal(np.array([[1.0], [4.0]])), (0,))
    return JointModel(("a", "b"), np.log(PRIOR), Product((gaussian, Poisson(RATE, RATE))))


NOTHING = (np.array([[np.nan]]), np.array([[np.nan]]))


def gather(model, *asked, **more):
    blocks, codes = zip(*sample(model, *asked, np.random.RandomState(2), **more), strict=True)
    x, counts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return x[:, 0], counts[:, 0], np.concatenate(codes)


@pytest.mark.parametrize("chunk", [1, 1 << 21])
def test_rows_by_prior(model, monkeypatch, chunk) -> None:
    monkeypatch.setattr("suffice.questions.sample.IN_MEMORY", 8 * chunk)
    x, counts, codes = gather(model, 4000, NOTHING, 2)
    assert stats.chisquare(np.bincount(codes), 4000 * PRIOR).pvalue > 1e-3
    for c, (center, sd) in enumerate([(0.0, 1.0), (3.0, 2.0)]):
        assert stats.kstest(x[codes == c], "norm", args=(center, sd)).pvalue > 1e-3
        own = counts[codes == c]
        assert abs(own.mean() - RATE[c, 0]) < 4 * np.sqrt(RATE[c, 0] / len(own))  # four standard errors


def test_rows_of_one_class(model) -> None:
    _, _, codes = gather(model, 50, NOTHING, 2, known=1)
    assert set(codes) == {1}


def test_given_cells_move_the_class(model) -> None:
    given = (np.array([[np.nan]]), np.array([[3.0]]))
    x, counts, codes = gather(model, 4000, given, 2)
    assert set(counts) == {3.0}
    joint = PRIOR * stats.poisson(RATE[:, 0]).pmf(3)
    assert stats.chisquare(np.bincount(codes), 4000 * joint / joint.sum()).pvalue > 1e-3
    assert stats.kstest(x[codes == 1], "norm", args=(3.0, 2.0)).pvalue > 1e-3
