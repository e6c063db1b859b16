"""Decision regions hold what `predict_proba` says of rows in which all other cells are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.errors import SchemaError, SettingError
from suffice.plots import DecisionRegionsDisplay
from suffice.plots._style import COLORS, rgb


@pytest.mark.parametrize(
    "estimator",
    [GaussianDiscriminant(), MixtureDiscriminant(2, n_init=1, random_state=0), NaiveBayes(), GenerativeClassifier()],
    ids=lambda e: type(e).__name__,
)
def test_grid_is_the_posterior_with_other_columns_missing(estimator, blobs):
    X, y = blobs
    model = estimator.fit(X, y)
    display = DecisionRegionsDisplay.from_estimator(model, X, y, columns=[3, 1], grid=7)
    x, up = display.axes
    assert (x.label, up.label) == ("column 3", "column 1")
    for i, b in enumerate(up.at):
        rows = np.full((7, 4), np.nan)
        rows[:, 3], rows[:, 1] = x.at, b
        np.testing.assert_allclose(display.posterior[i], model.predict_proba(rows), rtol=1e-10, atol=1e-300)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("column 3", "column 1")
    assert display.ax_.get_xlim() == (x.low, x.high)
    assert display.ax_.get_ylim() == (up.low, up.high)
    # cells of the image stand where they were asked: rows of the grid upwards
    assert tuple(display.surface_.get_extent()) == (x.low, x.high, up.low, up.high)
    assert display.surface_.origin == "lower"
    np.testing.assert_allclose(x.at[0] - x.low, x.step / 2)


def test_mixed_columns_and_missing_cells(mixed):
    X, y = mixed
    model = NaiveBayes({"visits": "poisson"}).fit(X, y)
    display = DecisionRegionsDisplay.from_estimator(model, X, y, columns=["visits", "where"], grid=5)
    across, up = display.axes
    levels = sorted(X["where"].dropna().unique())
    assert list(up.levels) == levels
    assert across.at.tolist() == list(range(int(across.at[-1]) + 1))
    wanted = pd.DataFrame({name: [np.nan] * len(across.at) for name in X}).astype({"where": object})
    wanted["visits"] = across.at
    for i, level in enumerate(levels):
        wanted["where"] = level
        np.testing.assert_allclose(display.posterior[i], model.predict_proba(wanted), rtol=1e-12)
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert texts[1:] == ["north", "south"]
    assert texts[0].endswith("…")
    drawn = sum(len(points.get_offsets()) for points in display.points_)
    assert drawn == X[["visits", "where"]].notna().all(axis=1).sum()


@pytest.mark.parametrize("columns", [["smoker", "length"], ["where", "smoker"], "smoker", "visits", "where", "length"])
def test_every_kind_of_column(mixed, columns):
    X, y = mixed
    display = DecisionRegionsDisplay.from_estimator(NaiveBayes({"visits": "poisson"}).fit(X, y), columns=columns)
    np.testing.assert_allclose(display.posterior.sum(axis=-1), 1.0, rtol=1e-12)
    assert display.ax_.get_xlabel() == (columns if isinstance(columns, str) else columns[0])
    display.figure_.canvas.draw()


def test_names_are_taken_literally(mixed):
    X, y = mixed
    display = DecisionRegionsDisplay.from_estimator(NaiveBayes().fit(X, y), columns=["cost ($) of $x$", "length"])
    assert display.ax_.get_xlabel() == "cost ($) of $x$"
    assert not display.ax_.xaxis.label.get_parse_math()
    display.figure_.canvas.draw()


def test_fifteen_classes_have_a_legend_of_all(many):
    X, y = many
    model = GaussianDiscriminant(shared=True).fit(X, y)
    display = DecisionRegionsDisplay.from_estimator(model, X, y)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == model.classes_.tolist()
    assert len(display.points_) == 15
    display.figure_.canvas.draw()
    box = display.ax_.get_legend().get_window_extent()
    assert display.figure_.bbox.x1 >= box.x1
    assert box.x0 >= display.ax_.get_window_extent().x1  # beside the data, not over it


def test_default_columns_are_those_that_tell_most(rng):
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 5))
    X[:, 3] += 4 * y
    X[:, 1] += 2 * y
    display = DecisionRegionsDisplay.from_estimator(NaiveBayes().fit(X, y))
    assert [axis.position for axis in display.axes] == [3, 1]


def test_priors_and_axes_are_passed_on(blobs):
    import matplotlib.pyplot as plt

    X, y = blobs
    model = GaussianDiscriminant().fit(X, y)
    _, ax = plt.subplots()
    display = DecisionRegionsDisplay.from_estimator(
        model, columns=[0, 1], priors=[0.0, 0.5, 0.5], grid=5, ax=ax, points=False, legend=False
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert (display.posterior[..., 0] == 0).all()
    assert display.points_ == []
    assert ax.get_legend() is None


@pytest.mark.parametrize("columns", [[0, 0], [0, 1, 2], []])
def test_refuses_other_than_one_or_two_columns(blobs, columns):
    with pytest.raises(SettingError, match="two different columns"):
        DecisionRegionsDisplay.from_estimator(GaussianDiscriminant().fit(*blobs), columns=columns)


def test_refusals_name_what_is_wrong(blobs):
    X, y = blobs
    with pytest.raises(SchemaError, match="no column 'tail'"):
        DecisionRegionsDisplay.from_estimator(GaussianDiscriminant().fit(X, y), columns=["tail"])
    with pytest.raises(SettingError, match="not a fitted model"):
        DecisionRegionsDisplay.from_estimator(GaussianDiscriminant())
    with pytest.raises(ValueError, match="'oak', which this model does not know"):
        DecisionRegionsDisplay.from_estimator(GaussianDiscriminant().fit(X, y), X, ["oak"] * len(y))
    with pytest.raises(ValueError, match="shares out a total"):
        DecisionRegionsDisplay.from_estimator(NaiveBayes("multinomial").fit(np.abs(X).round(), y), columns=[0, 1])


def test_a_rare_class_is_drawn_by_how_much_likelier_it_is(rng):
    """A class of 3 % that hardly ever wins is shown where it is many times likelier than its share."""
    n = 1000
    y = np.where(np.arange(n) < 0.03 * n, "rare", "usual")
    X = rng.normal(size=(n, 2)) + 1.2 * (y == "rare")[:, None]
    model = GaussianDiscriminant(shared=True).fit(X, y)
    display = DecisionRegionsDisplay.from_estimator(model, grid=40)
    np.testing.assert_allclose(display.share, [0.03, 0.97])
    lift = display.posterior[..., 0] / 0.03
    shades = np.asarray(display.surface_.get_array())
    own = lift > display.posterior[..., 1] / 0.97
    np.testing.assert_allclose(shades[own][:, 3], 0.65 * np.clip(np.log10(np.maximum(lift[own], 1)), 0, 1))
    np.testing.assert_allclose(shades[own][:, :3], np.broadcast_to(rgb(COLORS[0]), (own.sum(), 3)))
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["×1.5", "×3", "×10 or more"]
    assert DecisionRegionsDisplay.from_estimator(model, grid=10, by="probability").share is None
    with pytest.raises(SettingError, match="by='odds'"):
        DecisionRegionsDisplay.from_estimator(model, by="odds")


def test_columns_that_are_copies_are_not_drawn_against_each_other(blobs):
    X, y = blobs
    best = DecisionRegionsDisplay.from_estimator(NaiveBayes().fit(X, y)).axes[0].position
    copied = np.column_stack([X, 2.54 * X[:, best]])
    pair = {axis.position for axis in DecisionRegionsDisplay.from_estimator(NaiveBayes().fit(copied, y)).axes}
    assert len(pair & {best, 4}) == 1
