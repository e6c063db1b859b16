"""Value counts: exact up to a bound, rounded to a grid beyond it, and merging exactly in both."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from statistic_laws import assert_same_statistics, check_statistics

from suffice.stats import SumStats, ValueStats


class Settled:
    def __init__(self, kind, k, d, *more):
        self.kind, self.k, self.d, self.more = kind, k, d, more

    def zero(self):
        return self.kind.zero(self.k, self.d, *self.more)

    def summarize(self, rows, codes, k, weight):
        return self.kind.summarize(rows, codes, k, weight, *self.more)


def table(rng, n, d, k, holes):
    X = rng.standard_t(2, (n, d)) * 10.0 ** rng.integers(-3, 4, d)
    X[:, 0] = np.round(X[:, 0])
    return np.where(rng.random((n, d)) < holes, np.nan, X), rng.integers(0, k, n)


@pytest.mark.parametrize("limit", [16, 17, 40, 10_000])
@pytest.mark.parametrize(("n", "d", "k", "holes"), [(90, 3, 1, 0.0), (120, 2, 3, 0.3), (300, 1, 2, 0.05)])
def test_laws(rng, limit, n, d, k, holes):
    """Rounded values keep the laws as tightly as exact ones."""
    X, codes = table(rng, n, d, k, holes)
    statistic = Settled(ValueStats, k, d, limit)
    check_statistics(statistic, X, codes, k)
    assert np.diff(statistic.summarize(X, codes, k, None).bounds).max() <= limit


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_laws_of_sums(rng, holes):
    X, codes = table(rng, 200, 4, 3, holes)
    check_statistics(Settled(SumStats, 3, 4), np.abs(X), codes, 3)


def test_counts_of_values():
    X = np.array([[1.0, np.nan], [0.0, 5.0], [1.0, 5.0], [-0.0, 2.0], [7.0, np.nan]])
    stats = ValueStats.summarize(X, np.array([0, 0, 0, 0, 1]), 2, np.array([1.0, 2.0, 0.5, 1.0, 3.0]))
    assert_array_equal(stats.values, [0.0, 1.0, 2.0, 5.0, 7.0])
    assert_array_equal(stats.weights, [3.0, 1.5, 1.0, 2.5, 3.0])
    assert_array_equal(stats.bounds, [0, 2, 4, 5, 5])
    assert_array_equal(stats.column_weight(), [[4.5, 3.5], [3.0, 0.0]])
    assert not stats.width.any()


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e8, 1e290])
@pytest.mark.parametrize("offset", [0.0, 1.0, -1e3])
def test_rounded_values_are_within_half_a_width(rng, scale, offset):
    """The stated error: each middle is within h/2 of its value, and h at most 2 r / limit plus rounding of values."""
    x = np.sort(rng.random(5000) + offset) * scale
    stats = ValueStats.summarize(x[:, None], None, 1, None, 1000)
    h = stats.width[0, 0]
    assert h > 0
    assert len(stats.values) <= 1000
    assert h <= 2.0 * (x[-1] - x[0]) / 998
    middles = np.repeat(stats.middles(), stats.weights.astype(int))
    assert np.abs(middles - x).max() <= 0.5 * h
    finer = np.floor(x / (0.5 * h))
    assert len(np.unique(finer)) > 1000  # the least width that serves


def test_an_outlier_does_not_coarsen_the_rest(rng):
    x = np.append(rng.random(5000), 1e300)
    stats = ValueStats.summarize(x[:, None], None, 1, None, 1000)
    assert stats.width[0, 0] <= 2.0 / 998
    assert stats.values[-1] == 1e300


@pytest.mark.parametrize(
    "spoil",
    [
        lambda f, p: f.update(values=f["values"][::-1].copy()),
        lambda f, p: f.update(weights=-f["weights"]),
        lambda f, p: f.update(bounds=f["bounds"][:-1]),
        lambda f, p: f.update(bounds=f["bounds"] + 1),
        lambda f, p: f.update(width=f["width"] + 3.0),
        lambda f, p: p.update(limit=1.5),
        lambda f, p: p.update(limit=2),
    ],
)
def test_spoilt_fields_are_refused(rng, spoil):
    X, codes = table(rng, 40, 2, 2, 0.1)
    fields, plain = ValueStats.summarize(X, codes, 2).arrays()
    spoil(fields, plain)
    with pytest.raises(ValueError, match=r"value counts|amounts|an array of|numbers beyond"):
        ValueStats.from_arrays(fields, plain)


def test_sums_of_sparse_rows_equal_those_of_dense_ones(rng):
    from scipy import sparse

    X = rng.poisson(0.2, (500, 30)).astype(float)
    codes, weight = rng.integers(0, 4, 500), rng.random(500)
    for w in (None, weight):
        dense = SumStats.summarize(X, codes, 4, w)
        for kind in (sparse.csr_matrix, sparse.csr_array):
            assert_same_statistics(SumStats.summarize(kind(X), codes, 4, w), dense, 1e-13)
    ones = np.ones(500)
    assert_allclose(dense.total[2], (X * weight[:, None])[codes == 2].sum(axis=0))
    assert_allclose(SumStats.summarize(X).weight[0], ones.sum())
    with pytest.raises(ValueError, match=r"amounts below 0|sums of counts"):
        SumStats.from_arrays({"weight": dense.weight, "total": -dense.total}, {})
