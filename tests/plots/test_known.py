"""Few known cells are asked of a model as a table of them would be, many at a time, once, and in bounded memory."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from memory import memory_below

from suffice import NaiveBayes
from suffice.plots import DecisionRegionsDisplay
from suffice.plots._view import MOST_LEVELS, View


def table_of(view, cells):
    """Return a table with these columns, {position: values}, in which all other cells are missing."""
    table = pd.DataFrame(np.nan, range(len(next(iter(cells.values())))), list(view.schema.names))
    return table.assign(**{view.schema.names[p]: pd.Series(own).infer_objects() for p, own in cells.items()})


def test_answers_are_those_of_tables(model):
    """Of numbers, text, truth values and counts, alone and two by two."""
    view = View(model)
    axes = [view.axis(position, view.rows(), 5) for position in range(len(view.schema))]
    for axis in axes:
        table = table_of(view, {axis.position: axis.values})
        np.testing.assert_allclose(view.posterior([axis]), model.predict_proba(table), atol=1e-12)
        density = view.model.density.log_density(view.asked.rows(table))
        np.testing.assert_allclose(view.log_density([axis]), density, atol=1e-12)
    for down, across in pairwise(axes):
        values = np.repeat(down.values, len(across.values)), np.tile(across.values, len(down.values))
        table = table_of(view, dict(zip((down.position, across.position), values, strict=True)))
        expected = model.predict_proba(table, priors="uniform").reshape(len(down.values), len(across.values), -1)
        np.testing.assert_allclose(view.posterior([down, across], "uniform"), expected, atol=1e-12)


def test_columns_are_ranked_by_what_their_cells_tell(model, mixed):
    """Against the mean of log p(class | cell) − log p(class), by a table for each column."""
    X, y = mixed
    told = {}
    for position, column in enumerate(X.columns):
        seen = X[column].notna().to_numpy()
        alone = X[seen].copy()
        alone[[other for other in X.columns if other != column]] = None
        codes = np.searchsorted(model.classes_, y[seen])
        log_p = model.predict_log_proba(alone.astype(X.dtypes.to_dict()))
        told[position] = (log_p[np.arange(len(codes)), codes] - np.log(model.priors_)[codes]).sum() / len(X)
    view = View(model)
    assert view.informative(3, view.rows()) == sorted(told, key=lambda p: -told[p])[:3]


@pytest.fixture
def towns(rng):
    """A column of 1,200 names, some of which are common."""
    y = np.arange(3000) % 3
    common = rng.random(3000) < 0.5
    town = np.where(common & (np.arange(3000) >= 1200), y * 400 + rng.integers(0, 5, 3000), np.arange(3000) % 1200)
    return pd.DataFrame({"town": [f"town {i}" for i in town], "x": rng.normal(size=3000) + 0.1 * y}), y


def test_a_plane_shows_the_most_probable_categories(towns, monkeypatch):
    X, y = towns
    model = NaiveBayes().fit(X, y)
    rows, value = [], type(View(model).fitted)
    posterior = value.log_posterior

    def counted(self, parts, priors=None):
        found = posterior(self, parts, priors)
        rows.append(len(found))
        return found

    monkeypatch.setattr(value, "log_posterior", counted)
    display = DecisionRegionsDisplay.from_estimator(model, X, y, columns=["town", "x"])
    assert sum(rows) == MOST_LEVELS * 100
    (axis,) = (own for own in display.axes if own.levels is not None)
    assert set(axis.levels) >= {f"town {400 * c + i}" for c in range(3) for i in range(5)}
    assert axis.label == "town: 30 of 1,200"
    assert len(display.codes) == X["town"].isin(axis.levels).sum()
    places = display.cells[display.axes.index(axis)]
    assert [axis.levels[int(place)] for place in places] == X["town"][X["town"].isin(axis.levels)].tolist()


def test_a_plane_of_two_columns_of_many_categories_takes_little_memory(towns):
    X, y = towns
    model = NaiveBayes().fit(X.assign(other=X["town"].sample(frac=1.0, random_state=0).to_numpy()), y)
    view = View(model)
    axes = [view.readable(view.axis(p, view.rows())) for p in (0, 2)]
    with memory_below(8 << 20):
        assert view.posterior(axes).shape == (MOST_LEVELS, MOST_LEVELS, 3)
