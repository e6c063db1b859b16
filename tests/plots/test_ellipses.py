"""Ellipses are those of the covariance; contours hold the share they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from suffice import GaussianDiscriminant, MixtureDiscriminant, NaiveBayes, NormalInverseWishart
from suffice.errors import SettingError
from suffice.plots import ClassEllipsesDisplay, MixtureComponentsDisplay
from suffice.plots.gaussians import holding, radius


@pytest.mark.parametrize("level", [0.1, 0.5, 0.68, 0.95, 0.999])
def test_radius_is_the_quantile(level):
    np.testing.assert_allclose(radius(level, np.inf) ** 2, stats.chi2(2).ppf(level), rtol=1e-12)
    for df in (1.0, 3.5, 40.0):  # q / 2 of a bivariate t has an F law
        np.testing.assert_allclose(radius(level, df) ** 2, 2 * stats.f(2, df).ppf(level), rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"shared": True}, {"covariance": "diagonal"}, {"covariance": "spherical"}])
def test_axes_are_the_eigen_decomposition(settings, blobs):
    X, y = blobs
    model = GaussianDiscriminant(**settings).fit(X, y)
    display = ClassEllipsesDisplay.from_estimator(model, X, y, columns=[2, 0])
    covariances = np.broadcast_to(model.covariances_, (3, 4, 4))[:, [2, 0]][:, :, [2, 0]]
    for c, (inner, outer) in enumerate(display.ellipses_):
        np.testing.assert_allclose(inner.center, model.means_[c, [2, 0]], rtol=1e-12)
        for patch, level in ((inner, 0.68), (outer, 0.95)):
            turn = np.radians(patch.angle)
            axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
            r2 = stats.chi2(2).ppf(level)
            rebuilt = axes @ np.diag([patch.width**2 / 4 / r2, patch.height**2 / 4 / r2]) @ axes.T
            np.testing.assert_allclose(rebuilt, covariances[c], rtol=1e-9, atol=1e-12)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("column 2", "column 0")


def test_predictive_student_t(blobs, rng):
    """Under a prior the ellipse holds its share of what the model draws."""
    X, y = blobs
    model = GaussianDiscriminant(prior=NormalInverseWishart()).fit(X, y)
    display = ClassEllipsesDisplay.from_estimator(model, columns=[0, 1])
    rows, _ = model.sample(20_000, label="cedar", random_state=1)
    inner, outer = display.ellipses_[2]
    for patch, level in ((inner, 0.68), (outer, 0.95)):
        turn = np.radians(patch.angle)
        away = (rows[:, :2] - patch.center) @ np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        inside = ((away / [patch.width / 2, patch.height / 2]) ** 2).sum(axis=1) < 1
        assert abs(inside.mean() - level) < 4 * np.sqrt(level * (1 - level) / 20_000)


def test_contours_of_other_densities(blobs):
    X, y = blobs
    display = ClassEllipsesDisplay.from_estimator(NaiveBayes("laplace").fit(X, y), columns=[0, 1])
    assert display.shapes is None
    assert display.ellipses_ == []
    assert len(display.contours_) == 3


def test_heights_hold_their_share():
    x = np.linspace(-6, 6, 601)
    density = stats.norm.pdf(x)[:, None] * stats.norm.pdf(x)
    for level, height in zip((0.95, 0.68), holding(density, [0.68, 0.95]), strict=True):
        # the density at the edge of an ellipse that holds 1 − α is α / 2π; the grid adds a cell's mass
        np.testing.assert_allclose(height, (1 - level) / (2 * np.pi), rtol=2e-3)


def test_one_column_is_intervals(blobs):
    X, y = blobs
    model = GaussianDiscriminant().fit(X[:, :1], y)
    display = ClassEllipsesDisplay.from_estimator(model, grid=2000)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["ash", "birch", "cedar"]
    sd = np.sqrt(model.covariances_[:, 0, 0])
    wide = [line for line in display.contours_ if line.get_linewidth() == 6.0]
    lengths = [np.ptp(line.get_xdata()) for line in wide]
    np.testing.assert_allclose(lengths, 2 * stats.norm.ppf(0.84) * sd, rtol=0.02)  # a cell of the grid, about 0.4 %


def test_mixture_components(rng):
    X = np.concatenate([rng.normal(size=(40, 3)) + shift for shift in (0, 8, 16, 24)])
    y = np.repeat(["a", "a", "b", "b"], 40)
    model = MixtureDiscriminant(2, random_state=0).fit(X, y)
    display = MixtureComponentsDisplay.from_estimator(model, X, y, columns=[0, 2])
    assert len(display.ellipses_) == 4
    assert sorted(np.concatenate(model.weights_)) == sorted(display.weights)
    assert {text.get_text() for text in display.texts_} == {"50 %"}
    centers = np.concatenate(model.means_)[:, [0, 2]]
    np.testing.assert_allclose(np.sort(display.centers, axis=0), np.sort(centers, axis=0), rtol=1e-12)
    line = MixtureComponentsDisplay.from_estimator(model, X, y, columns=1)
    total = np.sum([curve.get_ydata() for curve in line.ellipses_[:2]], axis=0)
    rows = np.full((len(total), 3), np.nan)
    rows[:, 1] = line.axes[0].at
    density = np.exp(model.predict_joint_log_proba(rows) - np.log(model.priors_))
    np.testing.assert_allclose(total, density[:, 0], rtol=1e-9, atol=1e-12)
    with pytest.raises(SettingError, match="no components"):
        MixtureComponentsDisplay.from_estimator(GaussianDiscriminant().fit(X, y))
