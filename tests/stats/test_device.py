"""Sums made on another device are those of the CPU, and near the truth in float32."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice import _arrays_api as door
from suffice.stats import (
    FullScatter,
    GaussianStats,
    LowRankScatter,
    PooledScatter,
    Reservoir,
)

FORMS = [FullScatter, PooledScatter]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks, and classes cut by their ends, from few rows."""
    monkeypatch.setattr(door, "BLOCK_CELLS", 150)


def _table(rng, n=160, d=5, k=6):
    codes = rng.integers(0, k - 1, n)  # the last class has no row
    return rng.normal(size=(n, d)) * np.arange(1, d + 1) + codes[:, None], codes, k, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_statistics(library, rng, form, ordered, weighted):
    X, codes, k, w = _table(rng)
    codes = np.sort(codes) if ordered else codes
    weight = w if weighted else None
    here = GaussianStats.summarize(X, codes, k, weight, form)
    there = GaussianStats.summarize(library.array(X), codes, k, weight, form)
    assert_array_equal(there.weight, here.weight)
    assert_allclose(there.mean, here.mean, rtol=1e-13, atol=1e-13)
    assert_allclose(there.scatter.values, here.scatter.values, rtol=1e-12, atol=1e-10)
    assert there.mean.dtype == there.scatter.values.dtype == np.float64


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("narrow", [False, True])
def test_float32_rows_far_from_zero(library, rng, form, narrow):
    """At mean 1e4 raw float32 moments lose everything; centred ones are as good as the rows (24 bits) allow.

    float64 arithmetic gives the CPU's digits; without it sums over blocks are exact to about 1e-6 of the scatter.
    """
    X, codes, k, w = _table(rng)
    X = (X + 1e4).astype(np.float32)
    here = GaussianStats.summarize(X, codes, k, w, form)
    rows = library.array(X, narrow=narrow)
    there = GaussianStats.summarize(rows, codes, k, w, form)
    wide = door.has_float64(rows)
    size = np.abs(here.scatter.values).max()
    assert_allclose(there.scatter.values, here.scatter.values, atol=(1e-12 if wide else 2e-6) * size)
    assert_allclose(there.mean, here.mean, rtol=1e-14 if wide else 1e-9)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_summed_in_double(library, rng, kind):
    if not hasattr(library.xp, kind):
        pytest.skip(f"{library.name} has no {kind}")
    X, codes, k, w = _table(rng, n=3000)
    rows = library.array(X + 100).to(getattr(library.xp, kind))
    here = GaussianStats.summarize(rows.to(library.xp.float64).numpy(), codes, k, w, FullScatter)
    there = GaussianStats.summarize(rows, codes, k, w, FullScatter)
    assert_allclose(there.scatter.values, here.scatter.values, rtol=1e-11, atol=1e-8)
    assert_allclose(there.mean, here.mean, rtol=1e-14)


def test_wide_batches_come_as_rows(library, rng):
    X, codes, k, w = _table(rng, n=30, d=140)
    there = GaussianStats.summarize(library.array(X), codes, k, w, PooledScatter)
    assert isinstance(there.scatter, LowRankScatter)
    assert_array_equal(there.scatter.values, GaussianStats.summarize(X, codes, k, w, PooledScatter).scatter.values)


def test_the_same_rows_are_kept(library, rng):
    X, codes, k, w = _table(rng, n=900)
    classes = tuple(range(k))
    here = Reservoir.summarize([X], codes, classes, w, 50)
    there = Reservoir.summarize([library.array(X)], codes, classes, w, 50)
    assert_array_equal(there.identity, here.identity)
    assert_array_equal(there.rows[0], here.rows[0])
    joined = Reservoir.summarize([library.array(X[:400])], codes[:400], classes, w[:400], 50).merge(
        Reservoir.summarize([X[400:]], codes[400:], classes, w[400:], 50)
    )
    assert_array_equal(joined.identity, here.identity)
