"""What knowing a cell tells: against enumeration, fine grids and draws, and laws that any model keeps."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kinds import kinds

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.densities.density import as_density
from suffice.errors import DataError, SettingError
from suffice.estimate.priors import NormalInverseWishart
from suffice.questions.information_gain import information

RNG = np.random.default_rng


def entropy(p: np.ndarray) -> np.ndarray:
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0), axis=-1)


def rows_of(k: int = 3, d: int = 4, n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = RNG(seed)
    y = rng.integers(0, k, n)
    mixing = rng.normal(size=(k, d, d))
    return np.einsum("nd,nde->ne", rng.normal(size=(n, d)), mixing[y]) + rng.normal(size=(k, d))[y], y


def with_holes(X: np.ndarray, n: int = 12, seed: int = 1) -> np.ndarray:
    rows = X[:n].copy()
    rows[RNG(seed).random(rows.shape) < 0.5] = np.nan
    rows[0] = np.nan
    return rows


def mixed_table(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = RNG(seed)
    y = rng.integers(0, 2, n)
    table = pd.DataFrame({"size": rng.normal(y, 1.0), "weight": rng.normal(size=n)})
    table["weight"] += table["size"]
    table["colour"] = np.where(rng.random(n) < 0.3 + 0.4 * y, "red", "blue")
    return table.mask(rng.random(table.shape) < 0.1), np.where(y, "yes", "no")


# --- independent answers ---------------------------------------------------------------------------------------------


def test_categories_equal_the_enumerated_joint() -> None:
    """The joint of class and cells of naive Bayes written out, of two columns with three levels and one of two."""
    rng = RNG(0)
    y = rng.integers(0, 3, 60)
    X = np.column_stack([(rng.random(60) * 3 + y).astype(int) % 3, rng.integers(0, 3, 60), (rng.random(60) < y / 3)])
    X = X.astype(str).astype(object)
    model = NaiveBayes(families="categorical").fit(X, y)
    levels = [sorted(set(column)) for column in X.T]
    cells = np.array(list(itertools.product(*levels)), dtype=object)
    joint = np.exp(model.predict_joint_log_proba(cells))  # of all 18 rows that there can be
    assert joint.sum() == pytest.approx(1.0)
    for known in ({}, {0: "1"}, {0: "0", 2: levels[2][1]}):
        row = np.full((1, 3), None, dtype=object)
        for j, level in known.items():
            row[0, j] = level
        here = np.all([cells[:, j] == level for j, level in known.items()] or [np.ones(len(cells), bool)], axis=0)
        gain = model.information_gain(row)[0]
        for j in set(range(3)) - set(known):
            table = np.array([joint[here & (cells[:, j] == level)].sum(axis=0) for level in levels[j]])
            table /= table.sum()
            expected = entropy(table.sum(axis=0)) - table.sum(axis=1) @ entropy(table / table.sum(axis=1)[:, None])
            assert gain[j] == pytest.approx(expected, abs=1e-10)


def by_grid(model: Any, row: np.ndarray, j: int, grid: np.ndarray, width: np.ndarray | float) -> float:
    """H(y | known) − ∫ p(x | known) H(y | known, x) dx over a grid, of answers that know no quadrature of ours."""
    rows = np.repeat(row[None], len(grid), axis=0)
    rows[:, j] = grid
    share = np.exp(model.score_samples(rows) - model.score_samples(row[None])) * width
    assert share.sum() == pytest.approx(1.0, abs=2e-3)
    before = share @ model.predict_proba(rows)
    return float(entropy(before / before.sum()) - share @ entropy(model.predict_proba(rows)) / share.sum())


NUMBERS = kinds("full, shared, diagonal, spherical shared, mixture, gaussian, laplace, prior") | {
    "Student t": lambda: NaiveBayes(families="gaussian", prior=NormalInverseWishart()),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_equal_a_fine_grid(name: str) -> None:
    X, y = rows_of(n=40 if name == "prior" else 240)  # of many rows a t is a Gaussian
    model = NUMBERS[name]().fit(X, y)
    rows = with_holes(X, n=3)
    gain = model.information_gain(rows)
    grid = np.linspace(-60.0, 60.0, 20_001)
    for i, j in np.argwhere(np.isnan(rows)):
        assert gain[i, j] == pytest.approx(by_grid(model, rows[i], j, grid, grid[1] - grid[0]), abs=1e-4)


def test_many_classes_and_a_narrow_one_inside_a_wide_one() -> None:
    """Nodes that follow one class alone miss the other: here one is a thousandth as wide, in the other's flank."""
    X, y = rows_of(k=40, d=2, n=800)
    model, grid = GaussianDiscriminant().fit(X, y), np.linspace(-15.0, 15.0, 20_001)
    expected = by_grid(model, np.full(2, np.nan), 0, grid, grid[1] - grid[0])
    assert model.information_gain(np.full((1, 2), np.nan))[0, 0] == pytest.approx(expected, abs=1e-3)
    rng = RNG(0)
    X = np.concatenate([rng.normal(size=(500, 1)), 1.7 + 0.001 * rng.normal(size=(500, 1))])
    model = GaussianDiscriminant().fit(X, np.repeat([0, 1], 500))
    grid = np.concatenate(
        [np.linspace(-9, 1.68, 40_000), np.linspace(1.69, 1.71, 40_001), np.linspace(1.72, 9, 30_000)]
    )
    width = np.gradient(grid)
    expected = by_grid(model, np.array([np.nan]), 0, grid, width)
    assert model.information_gain([[np.nan]])[0, 0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("rates", [(0.3, 4.0), (900.0, 1000.0), (0.2, 1e5, 1.02e5)])
def test_counts_equal_their_sum(rates: tuple[float, ...]) -> None:
    y = np.repeat(np.arange(len(rates)), 200)
    X = RNG(0).poisson(np.array(rates)[y])[:, None].astype(float)
    model = NaiveBayes(families="poisson").fit(X, y)
    grid = np.arange(0.0, 1.1 * max(rates) + 60.0)
    expected = by_grid(model, np.array([np.nan]), 0, grid, 1.0)
    assert model.information_gain([[np.nan]])[0, 0] == pytest.approx(expected, abs=1e-4)


def by_draws(model: Any, row: pd.DataFrame, column: str, cells: pd.Series) -> float:
    """The gain with the cell drawn given the row: for pools the mutual information as the docstring defines it."""
    several = pd.concat([row] * len(cells), ignore_index=True).assign(**{column: cells})
    after, before = model.predict_proba(several), model.predict_proba(row)[0]
    share = after / after.sum(axis=0)  # p(value | class)
    whole = share @ before
    return float((before * share * np.log(np.maximum(share, 1e-300) / whole[:, None])).sum())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GenerativeClassifier, GenerativeForest])
def test_pools_and_forests_agree_with_draws(kind: Any) -> None:
    X, y = mixed_table(400)
    model = kind().fit(X, y)
    row = pd.DataFrame({"size": [0.4], "weight": [np.nan], "colour": [None]})
    for given in (row, row.assign(size=np.nan)):
        several = pd.concat([given] * 300, ignore_index=True)
        gain, filled = model.information_gain(given)[0], model.impute(several, draws=1, random_state=0)[0]
        for j, column in enumerate(X.columns):
            if given[column].isna()[0]:
                assert gain[j] == pytest.approx(by_draws(model, given, column, filled[column]), abs=0.026)


class _OnlyDrawn:
    """A density that can be drawn from and evaluated, as someone else may write it."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def log_density(self, rows: Any) -> np.ndarray:
        return self.given.log_density(rows)

    def sample(self, rows: Any, codes: np.ndarray, rng: Any) -> Any:
        return self.given.sample(rows, codes, rng)


def test_densities_of_others_are_drawn_from() -> None:
    X, y = rows_of()
    model = GaussianDiscriminant().fit(X, y)
    rows = with_holes(X, n=6)
    posterior, exact = model.predict_proba(rows), model.information_gain(rows)
    other = as_density(_OnlyDrawn(model.model_.density.blocks[0]))
    assert other.has_outcomes
    found = np.zeros(rows.shape)
    for own in other.outcomes(rows):
        found[own.rows, own.column] = information(posterior[own.rows], own.share)
    assert np.abs(found - exact).max() < 0.1
    assert np.abs(found - exact)[np.isnan(rows)].mean() < 0.025


# --- laws ------------------------------------------------------------------------------------------------------------

ANY = kinds("full, naive bayes, mixture, forest, automatic")


@pytest.fixture(scope="module", params=ANY)
def learned(request: pytest.FixtureRequest) -> tuple[str, Any]:
    """A kind of model, and one of it that has learned `rows_of()`."""
    return request.param, ANY[request.param]().fit(*rows_of())


def test_between_nothing_and_the_entropy_of_the_class(learned: tuple[str, Any]) -> None:
    model, rows = learned[1], with_holes(rows_of()[0])
    gain = model.information_gain(rows)
    assert gain.shape == rows.shape
    assert (gain[~np.isnan(rows)] == 0).all()
    assert (gain >= 0).all()
    assert (gain <= entropy(model.predict_proba(rows))[:, None] + 1e-9).all()
    assert gain[0].max() > 0.01


@pytest.mark.parametrize("name", ANY)
def test_what_has_nothing_to_do_with_the_class_tells_nothing(name: str) -> None:
    X, y = rows_of(k=2, d=2, n=1000)
    X = np.column_stack([X, RNG(5).normal(size=1000), np.full(1000, 7.0)])
    gain = ANY[name]().fit(X, y).information_gain(np.full((1, 4), np.nan))[0]
    assert gain[2] < 0.01 < gain[:2].max()
    assert gain[3] == 0.0


@pytest.mark.parametrize("name", ANY)
def test_a_single_class_leaves_nothing_to_tell(name: str) -> None:
    X, _ = rows_of()
    model = ANY[name]().fit(X, np.zeros(len(X), dtype=int))
    assert (model.information_gain(with_holes(X)) == 0).all()


@pytest.mark.parametrize("name", ["naive bayes", "forest", "automatic"])
def test_mixed_tables(name: str) -> None:
    X, y = mixed_table()
    model = ANY[name]().fit(X, y)
    empty = pd.DataFrame({"size": [np.nan] * 3, "weight": [np.nan] * 3, "colour": [None] * 3})
    empty.loc[1, "colour"] = "never met"
    empty.loc[2, "size"] = 40.0
    gain = model.information_gain(empty[["colour", "weight", "size"]])  # columns are found by name
    assert (gain[0] > 0.01).all()
    assert gain[1, 2] == 0.0
    assert gain[2, 0] == 0.0
    assert np.isfinite(gain).all()
    np.testing.assert_allclose(model.information_gain(empty.iloc[:1])[0], gain[0], atol=1e-12)


def test_fewer_rows_than_columns() -> None:
    rng = RNG(0)
    X, y = rng.normal(size=(12, 30)), np.repeat([0, 1], 6)
    for model in (GaussianDiscriminant(), GaussianDiscriminant(shared=True), GenerativeClassifier()):
        gain = model.fit(X, y).information_gain(np.full((2, 30), np.nan))
        assert np.isfinite(gain).all()
        assert (gain >= 0).all()


def test_zero_probabilities() -> None:
    X = [["a", "x"], ["a", "y"], ["b", "x"], ["c", "y"]]
    model = NaiveBayes(smoothing=0.0).fit(X, [0, 0, 1, 1])
    gain = model.information_gain([[None, None], ["zzz", None]])
    assert gain[0].tolist() == pytest.approx([np.log(2.0), 0.0], abs=1e-12)
    assert np.isfinite(gain).all()


# --- costs, and what is refused --------------------------------------------------------------------------------------


def test_costs_divide() -> None:
    X, y = mixed_table()
    model = NaiveBayes().fit(X, y)
    empty = pd.DataFrame({"size": [np.nan], "weight": [np.nan], "colour": [None]})
    gain = model.information_gain(empty)
    np.testing.assert_allclose(model.information_gain(empty, costs={"colour": 4.0}), gain / [1.0, 1.0, 4.0])
    np.testing.assert_allclose(model.information_gain(empty, costs=[2, 5, 4]), gain / [2.0, 5.0, 4.0])


@pytest.mark.parametrize("costs", [[1.0], [1, 2, 0], [1, 2, np.nan], {"size": -1.0}, {"colour": "much"}, "cheap"])
def test_costs_that_are_none(costs: object) -> None:
    X, y = mixed_table()
    with pytest.raises(SettingError, match=r"costs must be one positive number .* Next:"):
        NaiveBayes().fit(X, y).information_gain(X[:2], costs=costs)


def test_shares_of_a_total_are_refused_by_name() -> None:
    X = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0], [5.0, 1.0]])
    model = NaiveBayes(families="multinomial").fit(X, [0, 0, 1, 1])
    assert (model.information_gain(X) == 0).all()
    with pytest.raises((DataError, ValueError), match="Next:"):
        model.information_gain([[np.nan, 2.0]])


def test_an_answer_does_not_depend_on_the_rows_beside_it() -> None:
    """Columns of a few whole numbers, of many, and with a truth value, which are asked of the pool by their values."""
    rng = RNG(0)
    y = rng.integers(0, 3, 400)
    X = np.column_stack([rng.random(400) < 0.2 + 0.3 * y, rng.poisson(1 + y), rng.normal(y), rng.poisson(30 + 5 * y)])
    model = GenerativeClassifier().fit(X, y)
    rows = with_holes(X.astype(float), n=10)
    alone = np.concatenate([model.information_gain(row[None]) for row in rows])
    np.testing.assert_allclose(model.information_gain(rows), alone, atol=1e-9)
