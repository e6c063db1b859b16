"""EM by passes over rows against EM on statistics of patterns: one maximum, found in two ways.

Tolerance: both end at the fixed point of the same step to rounding, which slow directions of the likelihood magnify.
"""

from functools import reduce

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from numpy.testing import assert_allclose

from suffice import GaussianDiscriminant
from suffice.em import cells as em
from suffice.em.accelerated_em import watch
from suffice.em.step import Moments, expect, row_parts
from suffice.errors import MergeError
from suffice.stats import CompletedStats, FullScatter, PatternStats, PooledScatter, patterns

CLOSE = 1e-8
SHARED = pytest.mark.parametrize("shared", [False, True])


@pytest.fixture
def table(rng):
    codes = np.repeat([0, 1, 2], [60, 50, 40])
    X = rng.normal(size=(150, 4)) @ (rng.normal(size=(4, 4)) + np.eye(4)) + codes[:, None] * 1.5
    return np.where(rng.random(X.shape) < 0.25, np.nan, X), codes


@pytest.fixture
def bounded(monkeypatch):
    monkeypatch.setattr(patterns, "MAX_CELLS", 10)


@SHARED
@pytest.mark.parametrize("weighted", [False, True])
def test_passes_find_what_statistics_find(table, rng, shared, weighted, monkeypatch):
    X, codes = table
    weight = rng.integers(1, 4, size=len(X)).astype(float) if weighted else None
    whole = GaussianDiscriminant(shared=shared).fit(X, codes, weight)
    monkeypatch.setattr(patterns, "MAX_CELLS", 10)
    monkeypatch.setattr(em, "rows_within", lambda *_, least: least)
    passes = GaussianDiscriminant(shared=shared).fit(X, codes, weight)
    assert isinstance(passes.statistics_.blocks[0], CompletedStats)
    assert_allclose(passes.means_, whole.means_, atol=CLOSE)
    assert_allclose(passes.covariances_, whole.covariances_, atol=CLOSE)
    assert_allclose(passes.predict_log_proba(X), whole.predict_log_proba(X), atol=CLOSE)
    assert "passes over the rows" in str(passes.notes_[0])
    assert not any("passes" in str(note) for note in whole.notes_)


@SHARED
def test_sums_add_over_batches(table, rng, shared):
    """One pass over all rows equals the sum of passes over parts, in any split."""
    X, codes = table
    _, units = em.problem_of_rows(X, codes, 3, None, FullScatter)
    rows = (X - units.center) / units.scale

    def sums(own):
        parts = row_parts(rows[own], np.arange(len(own)), codes[own], np.ones(len(own)), shared)
        return expect(parts, np.bincount(codes[own], minlength=3).astype(float), units.start(shared))[0]

    total = reduce(Moments.merge, map(sums, np.array_split(rng.permutation(len(X)), 7)))
    whole = sums(np.arange(len(X)))
    for name in Moments.__dataclass_fields__:
        assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    missing=st.floats(0.0, 0.6),
    form=st.sampled_from([FullScatter, PooledScatter]),
    by_rows=st.booleans(),
    d=st.integers(1, 4),
)
@example(seed=77, missing=0.5, form=PooledScatter, by_rows=False, d=4)  # a thousand steps, close to singular
def test_the_likelihood_never_falls(seed, missing, form, by_rows, d):
    """Step by step, as who watches is told, over patterns, weights and structures, singular ones among them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=40)
    X = rng.normal(size=(40, d)) @ rng.normal(size=(d, d)) + codes[:, None]
    X = np.where(rng.random(X.shape) < missing, np.nan, X)
    weight = rng.integers(1, 4, size=40).astype(float)
    seen: list[tuple[int, float]] = []
    with watch(lambda *step: seen.append(step)):
        if by_rows:
            singular = em.complete_rows(X, codes, 2, weight, form).secured.any()
        else:
            notes = []
            em.complete(PatternStats.summarize(X, codes, 2, weight, form), notes.append)
            singular = any("usable" in note.what for note in notes)
    reached = np.array([likelihood for _, likelihood in seen])
    # squared distances, on average one for each cell, in directions with an eigenvalue down to 5e-7
    rounding = 0.5 * weight.sum() * d * np.finfo(np.float64).eps / 5e-7
    falls = np.flatnonzero(np.diff(reached) < -1e-12 * np.abs(reached[1:]) - rounding)
    # a class that comes near singular begins anew, and from there climbs the likelihood times that of its prior
    assert len(falls) <= (0 if not singular else 1 if form is PooledScatter else 2)
    assert [step for step, _ in seen] == list(range(1, len(seen) + 1))


@SHARED
def test_such_a_model_saves_and_refuses_more_rows(table, shared, bounded, read_back):
    X, codes = table
    model = GaussianDiscriminant(shared=shared).fit(X, codes)
    before = model.predict_proba(X)
    assert_allclose(read_back(model).predict_proba(X), before, rtol=0, atol=0)
    complete = np.nan_to_num(X)
    for more in (X, complete):
        with pytest.raises(MergeError, match="call fit on all rows together"):
            model.partial_fit(more, codes)
    other = GaussianDiscriminant(shared=shared).fit(complete, codes)
    for a, b in ((model, other), (other, model)):
        with pytest.raises(MergeError, match="call fit on all rows together"):
            a.merge(b)
    np.testing.assert_array_equal(model.predict_proba(X), before)
