"""fit is partial_fit in any batches is merge of parts; weights are copies; a failure changes nothing."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.errors import DataError, MergeError

GAUSSIANS = [
    {"covariance": covariance, "shared": shared, "divisor": divisor}
    for covariance in ("full", "diagonal", "spherical")
    for shared, divisor in ((False, "mle"), (True, "unbiased"))
]
COLOURS = np.array(["red", "green", "blue", None], dtype=object)
# posteriors of statistics that are equal up to rounding
SAME = 1e-10
# the same after EM, whose fixed point is found to rounding, which slow directions of the likelihood magnify
EM = 1e-9


def gaussian(setting, **more):
    return GaussianDiscriminant(**setting, **more)


def name(setting):
    return f"{setting['covariance']}{' shared' if setting['shared'] else ''} {setting['divisor']}"


@pytest.fixture
def mixed(blobs, rng):
    """Numbers, text and truth values with missing cells: an object array."""
    X, y = blobs
    table = np.empty((len(y), 5), dtype=object)
    table[:, :2] = np.where(rng.random((len(y), 2)) < 0.1, None, X[:, :2])
    table[:, 2] = COLOURS[(rng.integers(0, 4, len(y)) + (y == "ash")) % 4]
    table[:, 3] = [f"town {v}" for v in rng.integers(0, 12, len(y))]  # most batches lack some towns
    table[:, 4] = rng.random(len(y)) < np.where(y == "cedar", 0.9, 0.3)
    table[::9, 4] = None
    return table, y


def batches(kind, y, rng):
    """Return row numbers in batches of the asked kind."""
    n = len(y)
    if kind == "rows":
        return [np.array([i]) for i in rng.permutation(n)]
    if kind == "last class last":
        return [np.flatnonzero(y == label) for label in sorted(set(y), reverse=True)]
    if kind == "first class first seen in the last row":
        lone = np.flatnonzero(y == min(y))
        return [*np.array_split(np.flatnonzero(y != min(y)), 3), lone[:-1], lone[-1:]]
    return np.array_split(rng.permutation(n), 7)


KINDS = ["rows", "last class last", "first class first seen in the last row", "random"]


def assert_same_answers(a, b, X, tolerance=SAME):
    assert_array_equal(a.classes_, b.classes_)
    assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=0, atol=tolerance)
    assert_allclose(a.score_samples(X), b.score_samples(X), rtol=tolerance, atol=100 * tolerance)


def streamed(model, X, y, parts):
    for part in parts:
        model.partial_fit(X[part], y[part])
    return model


def merged(make, X, y, parts):
    models = [make().fit(X[part], y[part]) for part in parts]
    first = models[0]
    for other in models[1:]:
        first.merge(other)
    return first


@pytest.mark.parametrize("setting", GAUSSIANS, ids=name)
@pytest.mark.parametrize("kind", KINDS)
def test_gaussian_in_any_batches(blobs, rng, setting, kind):
    X, y = blobs
    parts = batches(kind, y, rng)
    whole = gaussian(setting).fit(X, y)
    assert_same_answers(streamed(gaussian(setting), X, y, parts), whole, X)
    assert_same_answers(merged(lambda: gaussian(setting), X, y, parts), whole, X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options", [{}, {"smoothing": 0.0}, {"families": {(0, 1): "gaussian", 4: "categorical"}}], ids=str
)
def test_naive_bayes_in_any_batches(mixed, rng, kind, options):
    X, y = mixed
    parts = batches(kind, y, rng)
    if kind == "rows":  # a first row must show every column, so that its kind is known
        full = next(i for i in range(len(y)) if not any(cell is None for cell in X[i]))
        parts = [np.array([full]), *[part for part in parts if part[0] != full]]
    whole = NaiveBayes(**options).fit(X, y)
    tolerance = EM if "families" in options else SAME
    assert_same_answers(streamed(NaiveBayes(**options), X, y, parts), whole, X, tolerance)
    if all((X[part] != None).any(axis=0).all() for part in parts):  # noqa: E711  `fit` needs a value in every column
        assert_same_answers(merged(lambda: NaiveBayes(**options), X, y, parts), whole, X, tolerance)


def test_wide_tables_in_any_batches(rng):
    """40 rows of 200 columns; merging adds rows between the parts, which turn some into a matrix along the way."""
    X, y = rng.normal(size=(40, 200)), np.arange(40) % 3
    for shared in (False, True):
        whole = GaussianDiscriminant(shared=shared).fit(X, y)
        for parts in ([np.array([i]) for i in range(40)], np.array_split(rng.permutation(40), 4)):
            found = streamed(GaussianDiscriminant(shared=shared), X, y, parts)
            Z = rng.normal(size=(10, 200))
            assert_allclose(found.predict_proba(Z), whole.predict_proba(Z), atol=SAME)
            # directions no row has are divided by 1e-6, which magnifies rounding a million times
            assert_allclose(found.score_samples(Z), whole.score_samples(Z), rtol=1e-8)


def test_classes_may_be_listed_beforehand(blobs):
    X, y = blobs
    model = GaussianDiscriminant().partial_fit(X[:30], y[:30], classes=["ash", "birch", "cedar", "yew"])
    assert model.classes_.tolist() == ["ash", "birch", "cedar", "yew"]
    model.partial_fit(X[30:], y[30:])
    expected = GaussianDiscriminant().fit(X, y).predict_proba(X)
    assert_allclose(model.predict_proba(X)[:, :3], expected, atol=SAME)
    assert not model.predict_proba(X)[:, 3].any()
    assert_array_equal(model.predict_log_proba(X)[:, 3], np.full(len(X), -np.inf))
    with pytest.raises(DataError, match="'cedar'"):
        GaussianDiscriminant().partial_fit(X, y, classes=["ash", "birch"])


@pytest.mark.filterwarnings("ignore::suffice.errors.RepeatedRowsWarning")
def test_merging_leaves_the_other_model_alone(blobs):
    X, y = blobs
    a, b = GaussianDiscriminant().fit(X[:40], y[:40]), GaussianDiscriminant().fit(X[40:], y[40:])
    before = b.predict_proba(X)
    assert a.merge(b) is a
    assert_array_equal(b.predict_proba(X), before)
    doubled = GaussianDiscriminant().fit(X, y)
    assert_same_answers(doubled.merge(doubled), GaussianDiscriminant().fit(X, y), X)


def test_columns_of_a_later_batch_in_another_order(blobs):
    X, y = blobs
    table = pd.DataFrame(X, columns=list("abcd"))
    model = GaussianDiscriminant().partial_fit(table[:40], y[:40]).partial_fit(table[40:][list("cadb")], y[40:])
    assert_same_answers(model, GaussianDiscriminant().fit(table, y), table[list("dcba")])
    assert model.feature_names_in_.tolist() == list("abcd")


# --- failures change nothing ---


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: NaiveBayes().fit(X, y), "cannot take in a NaiveBayes"),
        (lambda X, y: GaussianDiscriminant().fit(X[:, :3], y), "lacks 3"),
        (lambda X, y: GaussianDiscriminant().fit(np.c_[X, X[:, 0]], y), "does not know 4"),
        (lambda X, y: GaussianDiscriminant(shared=True).fit(X, y), "differently"),
        (lambda X, y: GaussianDiscriminant("diagonal").fit(X, y), "differently"),
        (lambda X, y: GaussianDiscriminant().fit(X, np.arange(len(y)) % 2), "mix|text and numbers"),
    ],
    ids=["type", "fewer", "more", "shared", "structure", "labels"],
)
def test_a_failed_merge_changes_neither(blobs, change, message):
    X, y = blobs
    model, other = GaussianDiscriminant().fit(X, y), change(X, y)
    before = model.predict_log_proba(X), other.statistics_
    with pytest.raises(MergeError, match=message):
        model.merge(other)
    assert_array_equal(model.predict_log_proba(X), before[0])
    assert other.statistics_ is before[1]


def test_merging_other_columns_names_them(blobs):
    X, y = blobs
    first = GaussianDiscriminant().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(MergeError, match=r"lacks 'd'.*does not know 'e'"):
        first.merge(GaussianDiscriminant().fit(pd.DataFrame(X, columns=list("abce")), y))
    with pytest.raises(MergeError, match="different orders"):
        first.merge(GaussianDiscriminant().fit(pd.DataFrame(X, columns=list("dabc")), y))
