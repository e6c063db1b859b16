"""The loops over rows: however rows are laid out and cut into pieces, the sums are those of the rows."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from statistic_laws import assert_same_statistics

from suffice.stats import DiagonalScatter, FullScatter, GaussianStats, PooledScatter, centred_sums, scatter

FORMS = [FullScatter, PooledScatter, DiagonalScatter]
FORM = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)


@pytest.fixture(autouse=True, params=[0, scatter.OWN_CELLS], ids=["sum alone", "class parts"])
def own_cells(request, monkeypatch):
    """A pooled scatter is made in one of two ways, with the parts of the classes kept or not."""
    monkeypatch.setattr(scatter, "OWN_CELLS", request.param)


def row_by_row(X, codes, k, weight, form):
    """Return the statistics from two plain passes: class means, then products of single rows."""
    X = np.asarray(X, dtype=np.float64)
    w = np.ones(len(X)) if weight is None else weight
    d = X.shape[1]
    total, mean, sums = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    for c in np.unique(codes):
        own = codes == c
        total[c] = w[own].sum()
        mean[c] = (w[own, None] * X[own]).sum(axis=0) / total[c]
        for row, one in zip(X[own] - mean[c], w[own], strict=True):
            sums[c] += one * np.outer(row, row)
    if form is DiagonalScatter:
        squares = np.diagonal(sums, axis1=1, axis2=2).copy()
        return GaussianStats(np.repeat(total[:, None], d, axis=1), mean, DiagonalScatter(squares), form)
    return GaussianStats(total, mean, PooledScatter.of(sums) if form is PooledScatter else form(sums), form)


def laid_out(rng, layout, dtype=np.float64):
    """Return rows, class numbers and the number of classes in an unusual layout."""
    X, k = rng.normal(size=(90, 6)).astype(dtype) + 3, 4
    codes = rng.integers(0, k, 90)
    if layout == "sorted by class":
        codes = np.sort(codes)
    elif layout == "column by column":
        X = np.asfortranarray(X)
    elif layout == "every second row":
        X = np.repeat(X, 2, axis=0)[::2]
    elif layout == "every second column":
        X = np.repeat(X, 2, axis=1)[:, ::2]
    elif layout == "backwards":
        X = X[::-1, ::-1]
    elif layout == "read only":
        X.flags.writeable = False
    elif layout == "first classes absent":
        codes, k = codes % 2 + 5, 9
    elif layout == "a class per row":
        codes, k = rng.permutation(90), 90
    elif layout == "more than 256 classes":
        codes, k = rng.integers(0, 400, 90), 400
    elif layout == "small class numbers":
        codes = codes.astype(np.uint8)
    elif layout == "one column":
        X = X[:, :1]
    return X, codes, k


LAYOUTS = [
    "plain",
    "sorted by class",
    "column by column",
    "every second row",
    "every second column",
    "backwards",
    "read only",
    "first classes absent",
    "a class per row",
    "more than 256 classes",
    "small class numbers",
    "one column",
]


@FORM
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_layouts(rng, form, layout, weighted, dtype):
    X, codes, k = laid_out(rng, layout, dtype)
    weight = rng.integers(1, 5, len(X)) / 2 if weighted else None
    kept = X.copy()
    found = GaussianStats.summarize(X, codes, k, weight, form)
    assert_same_statistics(found, row_by_row(X, codes, k, weight, form), 1e-12)
    assert (kept == X).all()


def test_more_classes_than_two_bytes_can_number(rng):
    codes = rng.integers(0, 70_000, 500)
    X = rng.normal(size=(500, 1))
    stats = GaussianStats.summarize(X, codes, 70_000, None, DiagonalScatter)
    assert_same_statistics(stats, row_by_row(X, codes, 70_000, None, DiagonalScatter), 1e-12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 120),
    d=st.integers(1, 6),
    k=st.integers(1, 5),
    cells=st.tuples(st.integers(1, 40), st.integers(1, 60), st.integers(1, 200)),
    form=st.sampled_from(FORMS),
    weighted=st.booleans(),
    missing=st.booleans(),
)
def test_any_cuts(seed, n, d, k, cells, form, weighted, missing):
    """Pieces of a few cells in place of megabytes: every way to cut, buffer and join is met in a small table."""
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(n, d)) * 3 + 100, rng.integers(0, k, n)
    weight = rng.integers(1, 9, n) / 4 if weighted else None
    if missing and form is DiagonalScatter:
        X = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    whole = GaussianStats.summarize(X, codes, k, weight, form)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("SEGMENT_CELLS", "BUFFER_CELLS", "TASK_CELLS"), cells, strict=True):
            patch.setattr(centred_sums, name, value)
        cut = GaussianStats.summarize(X, codes, k, weight, form)
    assert_same_statistics(cut, whole, 1e-11)
    if not (missing and form is DiagonalScatter):
        assert_same_statistics(cut, row_by_row(X, codes, k, weight, form), 1e-11)
