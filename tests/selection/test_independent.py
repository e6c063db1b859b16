"""Gaussians of independent columns: their density, what is left out, and whether they are pooled where they should."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from suffice import GenerativeClassifier
from suffice.automatic.choose import better_rivals
from suffice.automatic.columns import RAW, FrozenColumns
from suffice.automatic.member import TrainingStats
from suffice.automatic.members.gaussian import GaussianMember, GaussianPart
from suffice.automatic.members.independent import SPHERE, IndependentMember, by_column
from suffice.automatic.weighing import JudgedMember
from suffice.stats import PatternStats
from suffice.stats.counts import CodedColumns

CORRELATED, INDEPENDENT = "gaussian, raw", "independent gaussian, raw"


def known_of(X, y):
    """Return what members are made of, and the rows as they read them."""
    columns = FrozenColumns.freeze(X, CodedColumns((), ()), np.ones(len(y)))
    rows = columns.read(X, CodedColumns((), ()))
    k = int(y.max()) + 1
    part = GaussianPart.summarize(rows, y, k, None)
    weight = np.bincount(y).astype(float)
    return TrainingStats(columns, {GaussianPart.name: part}, (), weight, np.zeros((k, 0))), rows


@pytest.mark.parametrize("strength", [1.0, 10.0, np.inf])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_the_density_is_a_product_of_students(rng, strength, holes):
    """By SciPy, from each column's known cells: t with a + n_k + 1 degrees of freedom about the mean of the class."""
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) * (1 + y[:, None]) + y[:, None]
    X[rng.random(X.shape) < holes] = np.nan
    known, rows = known_of(X, y)
    member = IndependentMember.bind("independent gaussian", RAW, {"strength": strength}, known)
    cells = rows.gaussian(RAW)
    squares = np.array([[np.nansum((c - np.nanmean(c)) ** 2) for c in cells[y == k].T] for k in range(3)])
    count = np.array([(~np.isnan(cells[y == k])).sum(axis=0) for k in range(3)])
    nu = count.sum(axis=0) - 3
    pooled = squares.sum(axis=0) / nu
    base = (1 - SPHERE) * pooled + SPHERE * pooled.mean()
    for k in range(3):
        df = nu + 1 if np.isinf(strength) else strength + count[k] + 1
        whole = nu * base if np.isinf(strength) else strength * base + squares[k]
        scale = np.sqrt(whole / df * (1 + 1 / count[k]))
        expected = np.nansum(stats.t.logpdf(cells, df, np.nanmean(cells[y == k], axis=0), scale), axis=1)
        assert_allclose(member.scores(rows)[:, k], expected, rtol=1e-7)


def test_columns_apart_are_those_of_their_known_cells(rng):
    """However the cells are missing: weights, means and sums of squares by NumPy; a class without any has none."""
    X, y = rng.normal(5.0, 2.0, size=(40, 3)), np.arange(40) % 2
    X[rng.random(X.shape) < 0.3] = np.nan
    X[y == 1, 2] = np.nan
    for j, own in enumerate(by_column(PatternStats.summarize(X, y, 2))):
        for k in range(2):
            cells = X[y == k, j]
            cells = cells[~np.isnan(cells)]
            assert own.stats.weight[k] == len(cells)
            assert_allclose(own.stats.mean[k, 0], cells.mean() if len(cells) else 0.0, rtol=1e-12)
            squares = ((cells - cells.mean()) ** 2).sum() if len(cells) else 0.0
            assert_allclose(own.stats.scatter.values[k, 0, 0], squares, rtol=1e-12, atol=1e-12)


def test_of_rivals_the_better_is_pooled(rng):
    """In the place of the first; where they lose alike, or another kind is worse, all stays as it was."""
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    known, _ = known_of(X, y)
    setting = {"strength": 1.0, "sphere": 0.1}
    first = GaussianMember.bind("gaussian", RAW, setting, known)
    tied = GaussianMember.bind("tied gaussian", RAW, {"strength": np.inf, "sphere": 0.1}, known)
    second = IndependentMember.bind("independent gaussian", RAW, {"strength": 1.0}, known)

    def pooled(*losses):
        found = zip((first, tied, second), losses, strict=True)
        return [
            own.name for own in better_rivals(JudgedMember(one, loss, 1.0, np.zeros((0, 2))) for one, loss in found)
        ]

    assert pooled(0.3, 0.9, 0.2) == [INDEPENDENT, "tied gaussian, raw"]
    assert pooled(0.3, 0.1, 0.4) == pooled(0.3, 0.1, 0.3) == [CORRELATED, "tied gaussian, raw"]


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["independent", "shared"])
def test_it_is_as_good_as_the_simple_model_that_is_true(truth):
    """Tables of 100 rows with 8 columns: nats lost beyond the true posterior, beside the textbook's model of the truth.

    The textbook's model is told what is true, the pool has to find out: half as much as that costs to learn, some .02,
    is allowed for it. Between tables the difference of the two losses spreads by .014, so that a mean of 8 is known to
    .005, twice which is allowed beside it. Without the member of independent columns the pool lost .026 more.
    """
    ours, theirs, names = [], [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        mean = rng.normal(size=(2, 8)) * 0.5
        if truth == "independent":
            factor = np.exp(0.5 * rng.normal(size=(2, 8)))[:, None] * np.eye(8)
        else:
            factor = np.linalg.cholesky(np.cov(rng.normal(size=(8, 24))))[None].repeat(2, axis=0)
        y = np.arange(1100) % 2
        X = mean[y] + (factor[y] @ rng.normal(size=(1100, 8, 1)))[..., 0]
        new, own = X[100:], y[100:]
        laws = [stats.multivariate_normal(mean[k], factor[k] @ factor[k].T) for k in range(2)]
        joint = np.stack([law.logpdf(new) for law in laws], axis=1)
        best = log_loss(own, np.exp(joint - np.logaddexp(*joint.T)[:, None]))
        model = GenerativeClassifier().fit(X[:100], y[:100])
        textbook = (GaussianNB() if truth == "independent" else LinearDiscriminantAnalysis()).fit(X[:100], y[:100])
        ours.append(log_loss(own, model.predict_proba(new)) - best)
        theirs.append(log_loss(own, textbook.predict_proba(new).clip(1e-12)) - best)
        names.append({member["name"] for member in model.members_})
    assert np.mean(ours) < np.mean(theirs) + 0.02
    found = sum("independent Gaussians" in own for own in names)
    assert found > 4 if truth == "independent" else found < 2
    assert all(("independent Gaussians" in own) != ("Gaussian" in own) for own in names)
