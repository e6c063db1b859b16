"""Suspect cells, against definitions, laws, and errors planted in tables that are right."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy.stats import cauchy, false_discovery_control, multivariate_normal, norm
from sklearn.metrics import average_precision_score

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant
from suffice.errors import DataError, SettingError
from suffice.questions.cell_odds import cell_pvalues, judge_cells

RNG = np.random.default_rng


def right(n: int, seed: int, kind: str = "gaussian"):
    """Return rows (n, 5) of two classes, some columns of which say much of others, all above 0, and labels."""
    rng = RNG(seed)
    y = rng.integers(0, 2, n)
    mix = 0.6 * rng.normal(size=(5, 5)) + np.eye(5)
    drawn = rng.standard_t(4, size=(n, 5)) if kind == "heavy" else rng.normal(size=(n, 5))
    X = 20.0 + 1.5 * rng.normal(size=(2, 5))[y] + drawn @ mix
    return np.round(np.exp(X / 8.0) if kind == "skewed" else X, 2), y


def planted(X: np.ndarray, rate: float, seed: int):
    """Return rows some cells of which are wrong, and which: a point moved, a sign lost, inches, another row's cell."""
    rng = RNG(1000 + seed)
    wrong = X.copy()
    for i, j in np.argwhere(rng.random(X.shape) < rate):
        values = X[i, j] * 10, X[i, j] / 10, -X[i, j], X[i, j] * 2.54, X[rng.integers(len(X)), j]
        wrong[i, j] = values[rng.integers(len(values))]
    return wrong, wrong != X


def robust_z(X: np.ndarray) -> np.ndarray:
    far = np.abs(X - np.median(X, axis=0))
    return far / np.median(far, axis=0)


def test_log_densities_are_those_of_the_gaussians_of_other_folds() -> None:
    X, y = right(60, 0)
    X[3, 1] = np.nan
    model = GaussianDiscriminant().fit(X, y)
    judge, _, _ = judge_cells(model._fitted, X, y)
    index = np.array([0, 3, 17])
    known = ~np.isnan(X[index])
    known[2, 4] = False
    found = judge.log_density(index, known)
    for i, some, value in zip(index, known, found, strict=True):
        fold = next(own for own in judge.folds if i in own.index)
        density = fold.density.blocks[0]
        mean, covariance = density.means[y[i]], density.covariance.dense()[y[i]]
        law = multivariate_normal(mean[some], covariance[np.ix_(some, some)])
        assert_allclose(value, law.logpdf(judge.scores[i, some]), rtol=1e-9)


def test_blame_falls_on_the_cell_that_contradicts_the_others() -> None:
    """Four columns say the same, up to noise: a wrong cell makes each of the others unlikely, too."""
    rng = RNG(1)
    X = rng.normal(size=(200, 1)) + 0.1 * rng.normal(size=(200, 4))
    X[7, 2] += 1.5  # within the range of its column
    found = GaussianDiscriminant().fit(X, np.zeros(200)).suspect_cells(X)
    assert [(cell.row, cell.column) for cell in found.cells[:1]] == [(7, 2)]
    assert len(found.cells) <= 2
    assert abs(found.cells[0].expected - X[7, [0, 1, 3]].mean()) < 0.3
    assert set(found.cells[0].because) <= {0, 1, 3}


def test_pvalues_are_those_of_an_exponential_root() -> None:
    """Of odds that are the squares of exponential numbers p is exp(−R), with a tenth of all planted far beyond."""
    rng = RNG(2)
    root = rng.exponential(size=(4000, 2))
    odds = root**2
    odds[:160] = 400.0
    odds[500, 1] = -np.inf
    p = cell_pvalues(odds)
    assert np.isnan(p[500, 1])
    assert np.isfinite(np.delete(p.ravel(), 1001)).all()
    rows = np.flatnonzero((root[:, 0] > 3.0) & (np.arange(4000) >= 160))
    assert_allclose(np.log(p[rows, 0]), -root[rows, 0], rtol=0.25)
    assert p[:160].min(axis=1).max() < 1e-6
    order = np.argsort(odds[:, 0])
    assert (np.diff(p[order, 0]) <= 0).all()
    two = np.repeat([0.0, 100.0], 50)[:, None]  # a tail of no length
    assert_allclose(np.unique(cell_pvalues(two)), [1.0 - 50 / 101, 1.0])


def test_columns_that_say_nothing_of_each_other_hold_no_suspects() -> None:
    """Of 36,000 independent normal cells and a flag of 1 % some hundreds were named; P(p < .001) was .025.

    The tenth of p-values from below is cautious, .14: the tail begins at .3. Where odds were low it was .32.
    """
    rng = RNG(7)
    X = np.column_stack([rng.normal(size=(6000, 6)), rng.random(6000) < 0.01])
    X[7, 6] = np.nan  # no third value
    found = GaussianDiscriminant().fit(X, np.zeros(6000)).suspect_cells(X)
    assert not found.cells
    assert np.isnan(found.p_value[:, 6]).all()  # one of two numbers is no slip
    assert np.mean(found.p_value[:, :6] < 0.001) < 0.0015
    odds = np.log(0.5 + 0.5 * cauchy.pdf(z := rng.normal(size=(3000, 8))) / norm.pdf(z)) + np.log(0.02 / 0.98)
    for many in (0.0, 2.5):  # by which log odds are lower where hundreds of cells in a row may be the wrong one
        assert np.mean((p := cell_pvalues(odds - many)) < 0.001) < 0.0015
        assert np.quantile(p, 0.1) < 0.15


def test_adjusted_pvalues_are_those_of_benjamini_and_yekutieli() -> None:
    X, y = right(100, 10)
    X[4, 2] *= 10
    found = GaussianDiscriminant().fit(X, y).suspect_cells(X, y, fdr=0.05)
    assert_allclose(found.adjusted.ravel(), false_discovery_control(found.p_value.ravel(), method="by"))
    assert len(found.cells) == (found.adjusted <= 0.05).sum()
    assert (found.cells[0].row, found.cells[0].column, found.cells[0].slip) == (4, 2, "decimal point")


@pytest.mark.parametrize("model", [GaussianDiscriminant(), GenerativeClassifier()], ids=["gaussian", "automatic"])
def test_planted_errors_are_found_and_named(model) -> None:
    X, y = right(400, 4)
    wrong, where = planted(X, 0.03, 4)
    found = model.fit(wrong, y).suspect_cells(wrong, y)
    ours = average_precision_score(where.ravel(), -np.log(np.maximum(found.p_value, 1e-300)).ravel())
    assert ours > average_precision_score(where.ravel(), robust_z(wrong).ravel()) + 0.02
    true = [where[cell.row, cell.column] for cell in found.cells]
    assert np.mean(true) > 0.85
    told = [cell for cell in found.cells if where[cell.row, cell.column] and cell.slip in ("decimal point", "sign")]
    meant = [abs(cell.meant - X[cell.row, cell.column]) < 1e-6 for cell in told]
    assert len(told) >= 8
    assert np.mean(meant) > 0.9


def test_columns_that_were_swapped_and_digits_that_were_turned() -> None:
    rng = RNG(5)
    X = np.round(np.array([40.0, 90.0, 162.0]) + rng.normal(size=(150, 1)) * [2, 4, 8] + rng.normal(size=(150, 3)), 1)
    X[9, 0], X[9, 1] = X[9, 1], X[9, 0]
    X[20], meant = [41.0, 92.0, 615.2], 165.2
    found = GaussianDiscriminant().fit(X, np.zeros(150)).suspect_cells(X)
    told = {(cell.row, cell.column): (cell.slip, cell.meant) for cell in found.cells}
    assert told[9, 0] == ("swapped with 1", X[9, 1])
    assert told[9, 1] == ("swapped with 0", X[9, 0])
    assert told[20, 2] == ("digits", meant)


def test_a_category_that_cannot_be() -> None:
    rng = RNG(6)
    city = rng.integers(0, 3, 300)
    table = {"city": np.array(["Oslo", "Rome", "Cairo"])[city], "mean": 5.0 + 10.0 * city + rng.normal(size=300)}
    table["summer"] = table["mean"] + 10.0 + rng.normal(size=300)
    table["city"][11] = "Oslo" if city[11] else "Cairo"
    truth = ["Oslo", "Rome", "Cairo"][city[11]]
    X = pa.table({name: pa.array(list(own)) for name, own in table.items()})
    found = GenerativeClassifier().fit(X, np.zeros(300)).suspect_cells(X)
    cell = found.cells[0]
    assert (cell.row, cell.column, cell.expected, cell.slip) == (11, "city", truth, "")
    assert found.to_frame().shape == (len(found.cells), 9)
    assert list(found.to_dict()) == list(cell._fields)


def test_rows_in_any_order_and_units_say_the_same() -> None:
    X, y = right(120, 7)
    wrong, _ = planted(X, 0.03, 7)
    model, order = GaussianDiscriminant().fit(wrong, y), RNG(7).permutation(120)
    whole = model.suspect_cells(wrong, y)
    again = model.suspect_cells(wrong[order], y[order])
    assert_allclose(again.p_value, whole.p_value[order], rtol=1e-6)
    forest = [GenerativeForest().fit(unit * wrong, y).suspect_cells(unit * wrong) for unit in (1.0, 2.0**-1050)]
    assert_allclose(forest[1].p_value, forest[0].p_value, rtol=1e-3)  # subnormal numbers keep some 26 digits of 53


def test_missing_cells_labels_and_groups() -> None:
    X, y = right(150, 8)
    X[RNG(8).random(X.shape) < 0.1] = np.nan
    X[30, 1] = 300.0
    model, labels = GaussianDiscriminant().fit(X, y), y.astype(object)
    labels[::4] = None
    for found in (
        model.suspect_cells(X, labels),
        model.suspect_cells(X),
        model.suspect_cells(X, y, np.arange(150) // 5),
    ):
        assert (np.isnan(found.p_value) == np.isnan(X)).all()
        assert (found.cells[0].row, found.cells[0].column) == (30, 1)


def test_what_is_refused() -> None:
    X, y = right(100, 9)
    model = GaussianDiscriminant().fit(X, y)
    with pytest.raises(SettingError, match="fdr=2"):
        model.suspect_cells(X, y, fdr=2)
    with pytest.raises(DataError, match="too few"):
        model.suspect_cells(X[:10], y[:10])
    with pytest.raises(DataError, match="too few"):
        model.suspect_cells(X, y, np.zeros(100))
    with pytest.raises(DataError, match="released"):
        model.release().suspect_cells(X, y)
    with pytest.raises(SettingError, match="mixture"):
        MixtureDiscriminant(n_components=2).fit(X, y).suspect_cells(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "heavy", "skewed"])
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.05])
def test_false_discoveries_are_as_stated(kind, rate) -> None:
    """Ten tables: the mean share of right cells among those named, which is at most .1 + .05; none where none is wrong.

    Tails with four degrees of freedom have cells of their own that no other row is like: one or two a table.
    """
    false, named = [], []
    for seed in range(10):
        X, y = right(300, seed, kind)
        wrong, where = planted(X, rate, seed) if rate else (X, np.zeros(X.shape, dtype=bool))
        cells = GaussianDiscriminant().fit(wrong, y).suspect_cells(wrong, y, fdr=0.1).cells
        of_right = sum(not where[cell.row, cell.column] for cell in cells)
        false.append(of_right / max(len(cells), 1))
        named.append(of_right)
    if rate:
        assert np.mean(false) < 0.15
    assert np.mean(named) < (3.0 if kind == "heavy" else 1.0)
