"""Calibration, outliers, the discriminant plane and the comparison, each against another computation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.linear_model import LogisticRegression

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.errors import DataError, SettingError
from suffice.plots import (
    CalibrationCurveDisplay,
    DiscriminantPlaneDisplay,
    ImportanceDisplay,
    LearningCurveDisplay,
    ModelComparisonDisplay,
    OutlierPValuesDisplay,
)
from suffice.questions.tally import wilson


def recomputed(p, hit, bins):
    """Return mean probability, share and count of equal-width bins that hold a row, bin by bin."""
    rows = []
    for i in range(bins):
        low, high = i / bins, (i + 1) / bins
        own = (p >= low) & ((p < high) | (i == bins - 1))
        if own.any():
            rows.append((p[own].mean(), hit[own].mean(), own.sum()))
    return np.array(rows).T


def test_bins_of_leave_one_out(blobs):
    X, y = blobs
    model = GaussianDiscriminant(shared=True).fit(X, y)
    p = np.exp(model.leave_one_out(X, y))
    hit = model.classes_[p.argmax(axis=1)] == y
    wanted = recomputed(p.max(axis=1), hit, 15)
    for display in (
        CalibrationCurveDisplay.from_estimator(model, least=0),
        CalibrationCurveDisplay.from_estimator(model, X, y, leave_one_out=True, least=0),
    ):
        np.testing.assert_allclose(np.array(display.bins), wanted, rtol=1e-9)
        np.testing.assert_allclose(display.line_.get_xydata().T, wanted[:2], rtol=1e-9)
        gap = np.abs(wanted[0] - wanted[1])
        np.testing.assert_allclose(display.error, (gap * wanted[2]).sum() / len(y), rtol=1e-9)
        assert display.source == "leave-one-out"
        assert f"{display.error:.3f}" in display.ax_.get_legend().get_texts()[1].get_text()
        assert display.ax_.get_ylabel() == "share that is right"
        assert display.counts_ax_.get_xlabel() == "probability of the most probable class"


def test_bins_of_predictions_of_one_class(blobs):
    X, y = blobs
    model = NaiveBayes().fit(X[::2], y[::2])
    display = CalibrationCurveDisplay.from_estimator(model, X[1::2], y[1::2], label="birch", n_bins=6, least=0)
    p = model.predict_proba(X[1::2])[:, 1]
    np.testing.assert_allclose(np.array(display.bins), recomputed(p, y[1::2] == "birch", 6), rtol=1e-12)
    assert display.source == "predictions"


@pytest.mark.parametrize("least", [1, 5, 20, 1000])
def test_bins_that_hold_few_rows_are_merged(blobs, least):
    X, y = blobs
    model = NaiveBayes().fit(X, y)
    fine = CalibrationCurveDisplay.from_estimator(model, least=0)
    display = CalibrationCurveDisplay.from_estimator(model, least=least)
    p, share, weight = display.bins
    assert (weight >= least).all() or len(weight) == 1
    np.testing.assert_allclose(weight.sum(), len(y))
    np.testing.assert_allclose(weight @ p, fine.bins.weight @ fine.bins.probability)
    np.testing.assert_allclose(weight @ share, fine.bins.weight @ fine.bins.share)
    assert display.error == fine.error
    assert (display.edges[:-1] <= p).all()
    assert (p <= display.edges[1:]).all()
    held = np.exp(model.leave_one_out(X, y)).max(axis=1)
    np.testing.assert_array_equal(np.histogram(held, display.edges)[0], weight)


def test_wilson_interval():
    low, high = wilson(np.array([0.0, 0.3, 1.0]), np.array([10.0, 50.0, 7.0]))
    for k, n, a, b in zip([0, 15, 7], [10, 50, 7], low, high, strict=True):
        wanted = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
        np.testing.assert_allclose([a, b], [wanted.low, wanted.high], atol=1e-6)


def test_outlier_histogram(blobs):
    X, y = blobs
    model = GaussianDiscriminant().fit(X, y)
    display = OutlierPValuesDisplay.from_estimator(model, X, y, n_bins=10)
    pvalues = model.outlier_pvalues(X, y)
    wanted = [((pvalues >= i / 10) & ((pvalues < (i + 1) / 10) | (i == 9))).sum() for i in range(10)]
    assert [int(bar.get_height()) for bar in display.bars_] == wanted
    assert set(display.line_.get_ydata()) == {len(y) / 10}
    kept = OutlierPValuesDisplay.from_estimator(model)
    np.testing.assert_allclose(np.sort(kept.pvalues), np.sort(pvalues), rtol=1e-9)
    assert display.ax_.get_xlabel() == "outlier p-value"


def test_plane_holds_the_coordinates(blobs):
    X, y = blobs
    model = GaussianDiscriminant(shared=True).fit(X, y)
    display = DiscriminantPlaneDisplay.from_estimator(model, X, y)
    np.testing.assert_allclose(display.coordinates, model.transform(X))
    np.testing.assert_allclose(display.means, model.transform(model.means_))
    np.testing.assert_allclose(display.shares.sum(), 1.0)
    assert len(display.circles_) == 6
    radii = {round(patch.width / 2, 9) for patch in display.circles_}
    assert radii == {round(float(np.sqrt(stats.chi2(2).ppf(level))), 9) for level in (0.68, 0.95)}
    assert display.ax_.get_ylabel().startswith("discriminant 2 (")
    # with three classes, regions in the plane are those of the model: a row's region is its prediction
    x, up = (np.linspace(low, high, 201) for low, high in (display.ax_.get_xlim(), display.ax_.get_ylim()))
    shades = np.asarray(display.surface_.get_array())
    for z, row in zip(model.transform(X), X, strict=True):
        i, j = np.searchsorted(up, z[1]) - 1, np.searchsorted(x, z[0]) - 1
        if 0 <= i < 200 and 0 <= j < 200 and np.ptp(model.predict_proba(row[None])) > 0.6:
            from suffice.plots._style import COLORS, rgb

            own = rgb(COLORS[int(model.predict_proba(row[None]).argmax())])
            np.testing.assert_allclose(shades[i, j, :3], own)


def test_plane_of_two_classes_is_a_line(blobs):
    X, y = blobs
    own = y != "cedar"
    model = GaussianDiscriminant(shared=True).fit(X[own], y[own])
    display = DiscriminantPlaneDisplay.from_estimator(model)
    assert display.coordinates.shape == (own.sum(), 1)
    # at the border both classes are as probable
    at = display.boundaries_[0].get_xdata()[0]
    score = np.log(model.priors_) - 0.5 * (at - display.means[:, 0]) ** 2
    np.testing.assert_allclose(score[0], score[1], rtol=1e-9)
    with pytest.raises(SettingError, match="shared=True"):
        DiscriminantPlaneDisplay.from_estimator(GaussianDiscriminant().fit(X, y))


def test_comparison_fits_the_four_models(blobs):
    X, y = blobs
    display = ModelComparisonDisplay.from_estimator(
        GaussianDiscriminant(), X, y, columns=[1, 3], peer=LogisticRegression(C=0.5), grid=6
    )
    titles = [axes.get_title() for axes in display.axes_]
    assert titles == ["full covariances", "shared covariance", "diagonal covariances", "LogisticRegression"]
    x, up = display.axes
    at = np.stack([part.ravel() for part in np.meshgrid(x.at, up.at)], axis=1)
    cells = X[:, [1, 3]]
    wanted = {
        "full covariances": GaussianDiscriminant(),
        "shared covariance": GaussianDiscriminant(shared=True),
        "diagonal covariances": GaussianDiscriminant("diagonal"),
    }
    for title, model in wanted.items():
        p = model.fit(cells, y).predict_proba(at)
        np.testing.assert_allclose(display.posteriors[title].reshape(-1, 3), p, rtol=1e-9, atol=1e-300)
    center, scale = cells.mean(axis=0), cells.std(axis=0)
    peer = LogisticRegression(C=0.5).fit((cells - center) / scale, y)
    p = peer.predict_proba((at - center) / scale)
    np.testing.assert_allclose(display.posteriors["LogisticRegression"].reshape(-1, 3), p, rtol=1e-9)
    assert [axes.get_xlabel() for axes in display.axes_[2:]] == ["column 1", "column 1"]


def test_comparison_of_fitted_models(holed):
    X, y = holed
    models = {"one": NaiveBayes().fit(X[:, :2], y), "other": GaussianDiscriminant().fit(X[:, :2], y)}
    display = ModelComparisonDisplay.from_estimators(models, X, y)
    assert list(display.posteriors) == ["one", "other"]
    few = {**models, "fewer": NaiveBayes().fit(X[y != "ash", :2], y[y != "ash"])}
    with pytest.raises(SettingError, match="'fewer' knows the classes"):
        ModelComparisonDisplay.from_estimators(few, X, y)
    with pytest.raises(SettingError, match="two different numeric columns"):
        ModelComparisonDisplay.from_estimators(models, X, y, columns=[0])
    with pytest.raises(SettingError, match="give a GaussianDiscriminant"):
        ModelComparisonDisplay.from_estimator(NaiveBayes(), X, y)


def test_worth_of_columns(blobs):
    X, y = blobs
    model = NaiveBayes().fit(X, y)
    found = model.importance()
    display = ImportanceDisplay.from_estimator(model)
    assert display.shown.tolist() == found.order.tolist()
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == sorted(found.mean.tolist(), reverse=True)
    heights = [bar.get_y() for bar in display.bars_]
    assert heights == sorted(heights, reverse=True)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [str(found.columns[j]) if isinstance(found.columns[j], str) else f"column {j}" for j in found.order]
    one = ImportanceDisplay.from_estimator(model, most=1, ax=display.ax_.figure.add_subplot())
    assert one.shown.tolist() == [found.order[0]]
    assert "worth less" in one.ax_.get_title(loc="left")
    with pytest.raises(DataError, match="keeps no rows"):
        ImportanceDisplay.from_estimator(NaiveBayes(keep_rows=0).fit(X, y))


def test_learning_curves_are_drawn_as_measured():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), np.arange(120) % 2
    X[:, 0] += y
    display = LearningCurveDisplay.from_estimator(GaussianDiscriminant(), X, y, draws=1)
    curve = display.curves["GaussianDiscriminant"]
    ahead, projected = display.lines_[0].get_data()
    assert_allclose(projected, [curve.project(rows).value for rows in ahead])
    assert_allclose(ahead[[0, -1]], [curve.rows[-1], 480])
    both = LearningCurveDisplay.from_curves({"one": curve, "two": curve}, times=2)
    assert [line.get_label() for line in both.lines_] == ["one", "two"]
    with pytest.raises(SettingError, match="no curve"):
        LearningCurveDisplay.from_curves({})
    with pytest.raises(SettingError, match="times"):
        LearningCurveDisplay.from_curves({"one": curve}, times=1)
