"""New rows by block: classes by prior or posterior, cells given their class."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from suffice.densities import Diagonal, Gaussian, Poisson, Product
from suffice.joint import JointModel
from suffice.questions.given import Given, draw_given

PRIOR = np.array([0.2, 0.8])
RATE = np.array([[1.0], [6.0]])


@pytest.fixture
def model() -> JointModel:
    gaussian = Gaussian(np.array([[0.0], [3.0]]), Diagonal(np.array([[1.0], [4.0]])), (0,))
    return JointModel(("a", "b"), np.log(PRIOR), Product((gaussian, Poisson(RATE, RATE))))


NOTHING = (np.array([[np.nan]]), np.array([[np.nan]]))


def gather(model, n, rows, known=None, ranges=None):
    fitted = SimpleNamespace(joint=model, schema=(0, 1), blocks=[SimpleNamespace(positions=(p,)) for p in (0, 1)])
    found = draw_given(fitted, n, Given(rows, ranges or {}), known, None, np.random.RandomState(2))
    return found.rows[0][:, 0], found.rows[1][:, 0], found.codes


@pytest.mark.parametrize("chunk", [1, 1 << 21])
def test_rows_by_prior(model, monkeypatch, chunk) -> None:
    monkeypatch.setattr("suffice.questions.given.IN_MEMORY", 8 * chunk)
    x, counts, codes = gather(model, 4000, NOTHING)
    assert stats.chisquare(np.bincount(codes), 4000 * PRIOR).pvalue > 1e-3
    for c, (center, sd) in enumerate([(0.0, 1.0), (3.0, 2.0)]):
        assert stats.kstest(x[codes == c], "norm", args=(center, sd)).pvalue > 1e-3
        own = counts[codes == c]
        assert abs(own.mean() - RATE[c, 0]) < 4 * np.sqrt(RATE[c, 0] / len(own))  # four standard errors


def test_given_cells_move_the_class(model) -> None:
    given = (np.array([[np.nan]]), np.array([[3.0]]))
    x, counts, codes = gather(model, 4000, given)
    assert set(counts) == {3.0}
    joint = PRIOR * stats.poisson(RATE[:, 0]).pmf(3)
    assert stats.chisquare(np.bincount(codes), 4000 * joint / joint.sum()).pvalue > 1e-3
    assert stats.kstest(x[codes == 1], "norm", args=(3.0, 2.0)).pvalue > 1e-3


@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (-np.inf, -2.5), (7.0, np.inf)])
def test_a_range_moves_the_class_by_its_masses(model, low, high) -> None:
    """π_k (Φ(b_k) − Φ(a_k)), and a truncated Gaussian within the class, far out in a tail as well."""
    x, _, codes = gather(model, 4000, NOTHING, ranges={0: (low, high)})
    laws = [stats.norm(0.0, 1.0), stats.norm(3.0, 2.0)]
    mass = PRIOR * [law.cdf(high) - law.cdf(low) if low < 3 else law.sf(low) for law in laws]
    seen, share = np.bincount(codes, minlength=2), mass / mass.sum()
    assert stats.binomtest(int(seen[0]), 4000, share[0]).pvalue > 1e-3
    for c, (center, sd) in enumerate([(0.0, 1.0), (3.0, 2.0)]):
        law = stats.truncnorm((low - center) / sd, (high - center) / sd, center, sd)
        assert not (codes == c).sum() or stats.kstest(x[codes == c], law.cdf).pvalue > 1e-3


def test_values_of_a_set_come_by_their_densities(model) -> None:
    rows = np.full((2, 1), np.nan), np.array([[1.0], [3.0]])
    _, counts, codes = gather(model, 4000, rows)
    joint = PRIOR * stats.poisson(RATE[:, 0]).pmf([[1], [3]])
    seen = np.array([[((counts == v) & (codes == c)).sum() for c in (0, 1)] for v in (1, 3)])
    assert stats.chisquare(seen.ravel(), 4000 * (joint / joint.sum()).ravel()).pvalue > 1e-3
