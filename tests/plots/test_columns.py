"""Curves are the marginal densities by class, bars the probabilities of categories."""

from __future__ import annotations

import numpy as np
from scipy import stats

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.plots import ClassDensitiesDisplay


def test_curves_are_the_marginals(blobs):
    X, y = blobs
    model = GaussianDiscriminant().fit(X, y)
    display = ClassDensitiesDisplay.from_estimator(model, X, y, grid=40)
    assert [axes.get_xlabel() for axes in display.axes_] == [f"column {j}" for j in range(4)]
    assert [len(lines) for lines in display.lines_] == [3, 3, 3, 3]
    for j, lines in enumerate(display.lines_):
        for c, line in enumerate(lines):
            law = stats.norm(model.means_[c, j], np.sqrt(model.covariances_[c, j, j]))
            np.testing.assert_allclose(line.get_ydata(), law.pdf(line.get_xdata()), rtol=1e-9)


def test_bars_are_the_probabilities(mixed):
    X, y = mixed
    model = NaiveBayes({"visits": "poisson"}).fit(X, y)
    display = ClassDensitiesDisplay.from_estimator(model, X, y)
    assert [axes.get_xlabel() for axes in display.axes_] == list(X)
    where, smoker = (display.bars_[list(X).index(name)] for name in ("where", "smoker"))
    p = np.array(list(model.probabilities_["where"].values()))
    np.testing.assert_allclose([[bar.get_height() for bar in group] for group in where], p.T, rtol=1e-12)
    p = np.array(list(model.probabilities_["smoker"].values()))
    np.testing.assert_allclose([[bar.get_height() for bar in group] for group in smoker], p.T, rtol=1e-12)
    visits = display.lines_[list(X).index("visits")]
    (rate,) = model.parameters_["visits"].values()
    for c, line in enumerate(visits):
        np.testing.assert_allclose(line.get_ydata(), stats.poisson(rate[c]).pmf(line.get_xdata()), rtol=1e-9)


def test_many_levels_are_cut(rng):
    levels = [f"level {i:02d}" for i in range(40)]
    X = rng.choice(levels, (500, 1), p=np.arange(1, 41) / 820).astype(object)
    model = NaiveBayes().fit(X, rng.choice(["a", "b"], 500))
    display = ClassDensitiesDisplay.from_estimator(model)
    texts = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert len(texts) == 10
    assert texts[-1] == f"{len(model.probabilities_[0]) - 9} others"
    for c, group in enumerate(display.bars_[0]):
        seen = sum(p[c] for p in model.probabilities_[0].values())
        np.testing.assert_allclose(sum(bar.get_height() for bar in group), seen, rtol=1e-12)


def test_the_twelve_that_tell_most(rng):
    X, y = rng.normal(size=(100, 30)), np.repeat([0, 1], 50)
    X[:, 17] += 5 * y
    display = ClassDensitiesDisplay.from_estimator(GaussianDiscriminant(shared=True).fit(X, y))
    assert len(display.axes_) == 12
    assert display.ax_.get_xlabel() == "column 17"
    legend = display.figure_.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1"]


def test_a_class_beyond_the_bulk_has_no_histogram(rng):
    X, y = np.r_[rng.normal(size=998), 1e9, 1e9 + 1][:, None], np.arange(1000) // 998
    display = ClassDensitiesDisplay.from_estimator(GaussianDiscriminant(shared=True).fit(X, y), X, y)
    assert len(display.ax_.patches) == 24  # of the other class
