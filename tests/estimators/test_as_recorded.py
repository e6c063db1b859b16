"""Drawn and filled numbers look like those of the table, for every estimator; the density is not touched."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from kinds import kinds
from scipy import stats

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.stats.reservoir import BOUND

LEVEL = 1e-3  # of every goodness-of-fit test below; seeds are fixed
MODELS = kinds("full, shared, naive bayes, laplace, mixture, automatic") | {
    "families": lambda: NaiveBayes({("years", "income"): "gaussian", "length": "laplace", "children": "poisson"}),
}
STEPS = {"years": 1.0, "income": 25.0, "length": 0.1, "children": 1.0, "share": 0.01, "percent": 0.5, "debt": 1.0}
ENDS = {
    "years": (18.0, np.inf),
    "income": (0.0, np.inf),
    "length": (-np.inf, np.inf),
    "children": (0.0, np.inf),
    "share": (0.0, 1.0),
    "percent": (0.0, 100.0),
    "debt": (-np.inf, 0.0),
    "rating": (1.0, 5.0),
    "free": (-np.inf, np.inf),
}


def make_table(n=400, seed=0):
    """Return columns recorded in every way, and labels; all widely spread about the ends of their ranges."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    table = {
        "years": np.where(rng.random(n) < 0.2, 18.0, np.rint(rng.uniform(19, 80, n))),
        "income": 25.0 * np.rint(rng.exponential(40.0 + 40.0 * y, n)),
        "length": np.round(rng.normal(y, 2.0, n), 1),
        "children": rng.poisson(1.0 + y, n).astype(float),
        "share": np.round(rng.beta(4.0, 1.0, n), 2),
        "percent": np.append(100.0, np.round(2.0 * rng.beta(3.0, 1.0, n - 1) * 99) / 2.0),
        "debt": -np.rint(rng.exponential(3000.0, n)),
        "rating": rng.integers(1, 6, n).astype(float),
        "free": rng.normal(y, 1.0, n),
    }
    return pd.DataFrame(table), np.where(y == 1, "yes", "no")


@pytest.fixture(scope="module")
def fitted():
    X, y = make_table()
    return {name: make().fit(X, y) for name, make in MODELS.items()}


def holes(X, rng):
    return X.astype(float).mask(rng.random(X.shape) < 0.4)


def assert_recorded(drawn) -> None:
    for name, step in {**STEPS, "rating": 1.0}.items():
        cells = drawn[name].to_numpy(dtype=float)
        decimals = 2 if step < 1.0 else 0
        np.testing.assert_array_equal(cells, np.round(np.rint(cells / step) * step, decimals), err_msg=name)
    for name, (low, high) in ENDS.items():
        assert low <= drawn[name].min(), name
        assert drawn[name].max() <= high, name


@pytest.mark.parametrize("name", MODELS)
def test_numbers_are_those_that_the_table_could_hold(fitted, name) -> None:
    model, (X, y) = fitted[name], make_table(seed=1)
    drawn, labels = model.sample(1000, random_state=0)
    assert_recorded(drawn)
    whole = {own for own in X if own not in ("length", "share", "percent", "free")}
    assert {own for own in drawn if drawn[own].dtype.kind == "i"} == whole
    assert len(np.unique(drawn["free"])) == 1000
    again, own = model.sample(1000, random_state=0)
    pd.testing.assert_frame_equal(drawn, again)
    assert (labels == own).all()
    given, _ = model.sample(100, label="yes", given={"years": 30.5, "income": -10.0}, random_state=0)
    assert (given["years"] == 30.5).all()
    assert (given["income"] == -10.0).all()
    assert_recorded(given.assign(years=30, income=0))
    holed, y = holes(X, np.random.default_rng(2))[:120], y[:120]
    for table in (model.impute(holed), *model.impute(holed, y, draws=2, random_state=0)):
        assert_recorded(table)
        assert (table[holed.notna()].fillna(0.0) == holed.fillna(0.0)).to_numpy().all()


@pytest.mark.parametrize("name", MODELS)
def test_a_filled_mean_is_the_nearest_recorded_value(fitted, name) -> None:
    model, (X, _) = fitted[name], make_table(seed=1)
    holed = holes(X, np.random.default_rng(2))[:120]
    moved, plain = model.impute(holed), model.impute(holed, as_recorded=False)
    assert (np.abs(plain["years"] - plain["years"].round()) > 1e-9).any()
    for own in X:
        step = {**STEPS, "rating": 1.0}.get(own)
        expected = plain[own] if step is None else np.rint(plain[own] / step) * step
        np.testing.assert_allclose(moved[own], np.clip(expected, *ENDS[own]), rtol=1e-12, atol=1e-12, err_msg=own)


@pytest.mark.parametrize("name", [own for own in MODELS if own != "automatic"])
def test_without_rows_or_the_keyword_answers_are_those_of_the_density(fitted, name) -> None:
    X, y = make_table()
    holed = holes(X, np.random.default_rng(2))[:120]
    bare = MODELS[name]().set_params(keep_rows=0).fit(X, y)
    for model, more in ((bare, {}), (fitted[name], {"as_recorded": False})):
        np.testing.assert_array_equal(model.impute(holed, **more), bare.impute(holed, as_recorded=False))
        for mine, theirs in zip(
            model.impute(holed, draws=2, random_state=1, **more),
            bare.impute(holed, draws=2, random_state=1, as_recorded=False),
            strict=True,
        ):
            np.testing.assert_array_equal(mine, theirs)
        drawn = model.sample(50, random_state=1, **more)[0].to_numpy(dtype=float)
        np.testing.assert_array_equal(drawn, bare.sample(50, random_state=1, as_recorded=False)[0])
        if name != "families":  # whose Poisson counts are whole anyway
            assert (drawn != np.rint(drawn)).all()


def test_a_released_model_says_nothing_of_rows(fitted) -> None:
    for name in ("naive bayes", "automatic"):
        released = fitted[name].release(least=5)
        drawn = released.sample(300, random_state=0)[0]["income"]
        assert (drawn != np.rint(drawn)).any()


# --- what is found of a column ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n"), [("full", BOUND + 500), ("naive bayes", 400), ("families", BOUND + 500), ("automatic", 240)]
)
def test_parts_merge_to_the_whole(name, n) -> None:
    X, y = make_table(n)
    whole = MODELS[name]().fit(X, y)
    first, second = (MODELS[name]().partial_fit(X[part], y[part]) for part in (np.s_[::3], np.arange(n) % 3 > 0))
    merged = first.merge(second)
    assert_recorded(merged.sample(500, random_state=0)[0])
    holed = holes(X[:100], np.random.default_rng(2))
    steps = pd.Series({own: STEPS.get(own, 1.0) for own in X})
    far = (merged.impute(holed) - whole.impute(holed)).abs() / steps
    assert (far > 1e-9).to_numpy().mean() < 0.01  # a mean halfway between two steps may go either way


def test_follows_what_is_learned_and_forgotten() -> None:
    X, y = make_table()
    model = NaiveBayes().fit(X, y)
    odd = X[:1].assign(years=30.5, income=-5.0)
    model.partial_fit(odd, y[:1])
    drawn = model.sample(1000, random_state=0)[0]
    assert set(np.unique(drawn["years"] % 1.0)) <= {0.0, 0.5}
    rare = stats.binom.ppf(1 - LEVEL, 1000, 1 / (len(X) + 1))  # one row's steps are not those of the others
    assert (drawn["years"] % 1.0 != 0.0).sum() <= rare
    assert (drawn["income"] % 25.0 != 0.0).sum() <= rare
    model.forget(odd, y[:1])
    assert_recorded(model.sample(1000, random_state=0)[0])


@pytest.mark.parametrize(("name", "unit"), [("full", 1000.0), ("naive bayes", 1 / 3), ("laplace", 2.0**-40)])
def test_units_multiply_the_draws(name, unit) -> None:
    """All but shares and percentages, which are told by their unit."""
    X, y = make_table()
    X = X.drop(columns=["share", "percent"])
    one, other = (MODELS[name]().fit(table, y) for table in (X, X * unit))
    drawn, scaled = (model.sample(500, random_state=0)[0] for model in (one, other))
    far = (scaled / unit - drawn).abs() / drawn.std()
    assert (far < 1e-6).to_numpy().mean() > 0.998  # a draw halfway between two steps may go either way
    holed = holes(X, np.random.default_rng(2))
    far = (other.impute(holed * unit) / unit - one.impute(holed)).abs() / drawn.std()
    assert (far < 1e-6).to_numpy().mean() > 0.998


@pytest.mark.parametrize(("times", "piled"), [(4, False), (5, True), (6, True)])
def test_a_pile_is_five_rows_and_five_percent(rng, times, piled) -> None:
    x = np.append(np.full(times, -1.0), rng.random(95) * 4.0 - 0.99)
    drawn = GaussianDiscriminant().fit(x[:, None], ["all"] * len(x)).sample(2000, random_state=0)[0]
    assert (drawn.min() == -1.0) == piled
    weighted = np.append(-1.0, x[times:])
    model = GaussianDiscriminant().fit(weighted[:, None], ["all"] * 96, np.append(times, np.ones(95)))
    assert (model.sample(2000, random_state=0)[0] == -1.0).sum() < 10  # one row, whatever it weighs


# --- the law of draws -------------------------------------------------------------------------------------------------


def test_draws_beyond_a_range_are_drawn_again(rng) -> None:
    """The density within the range: a truncated normal, of a column alone and given another."""
    n = 3000
    x = rng.normal(size=n)
    table = np.column_stack([x, np.abs(0.5 * x + rng.normal(size=n))])
    for model in (NaiveBayes(), GaussianDiscriminant()):
        model.fit(table, ["all"] * n)
        (mean,), cov = model.means_, model.covariances_[0]
        sd = np.sqrt(cov[1, 1])
        drawn = model.sample(2000, random_state=0)[0][:, 1]
        if isinstance(model, NaiveBayes):
            assert stats.kstest(drawn, stats.truncnorm(-mean[1] / sd, np.inf, mean[1], sd).cdf).pvalue > LEVEL
        slope = cov[0, 1] / cov[0, 0]
        center, sd = mean[1] + slope * (-1.5 - mean[0]), np.sqrt(cov[1, 1] - slope * cov[0, 1])
        law = stats.truncnorm(-center / sd, np.inf, center, sd)
        given = model.sample(2000, given={0: -1.5}, random_state=0)[0][:, 1]
        filled = np.ravel([own[:, 1] for own in model.impute([[-1.5, np.nan]], draws=200, random_state=1)])
        for own in (given, filled):
            assert own.min() >= 0.0
            assert stats.kstest(own, law.cdf).pvalue > LEVEL


def test_a_pile_takes_what_lies_beyond(rng) -> None:
    """As a censored measurement does: the end as often as a draw of the density lies there or beyond."""
    x = np.maximum(rng.normal(0.5, 1.0, 2000), 0.0)
    model = GaussianDiscriminant().fit(x[:, None], ["all"] * len(x))
    drawn = model.sample(5000, random_state=0)[0]
    expected = stats.norm.cdf(0.0, model.means_[0, 0], np.sqrt(model.covariances_[0, 0, 0]))
    assert stats.binomtest(int((drawn == 0.0).sum()), 5000, expected).pvalue > LEVEL
    plain = model.sample(5000, random_state=0, as_recorded=False)[0]
    np.testing.assert_array_equal(drawn, np.maximum(plain, 0.0))


def test_whole_numbers_are_drawn_as_often_as_the_density_says(rng) -> None:
    """A whole number stands for all that is rounded to it."""
    x = np.rint(rng.normal(50.0, 2.0, 2000))
    model = GaussianDiscriminant().fit(x[:, None], ["all"] * len(x))
    drawn = model.sample(5000, random_state=0)[0][:, 0]
    values = np.arange(45.0, 56.0)
    sd = np.sqrt(model.covariances_[0, 0, 0])
    cuts = stats.norm.cdf(np.concatenate([[-np.inf], values[1:] - 0.5, [np.inf]]), model.means_[0, 0], sd)
    counts = np.bincount(np.clip(drawn, 45, 55).astype(int) - 45, minlength=11)
    assert stats.chisquare(counts, 5000 * np.diff(cuts)).pvalue > LEVEL


def test_numbers_are_in_usual_steps_as_often_as_recorded(rng) -> None:
    """Nine of ten values were rounded to whole numbers; zeros are a pile, and others are not rounded: 4 errors."""
    x, y = rng.normal(30.0, 8.0, size=900), np.repeat(["a", "b", "c"], 300)
    rounded = np.where(rng.random(900) < 0.9, np.rint(x), x)
    piled = np.where(rng.random(900) < 0.5, 0.0, np.exp(x / 10.0))
    table = pd.DataFrame({"rounded": rounded, "piled": piled, "plain": x + rng.normal(size=900)})
    model = GenerativeClassifier().fit(table, y)
    drawn, _ = model.sample(4000, random_state=3)
    for name in table:
        share, found = ((own[name] % 1 == 0).mean() for own in (table, drawn))
        assert abs(found - share) < 4 * np.sqrt(share * (1 - share) * (1 / 900 + 1 / 4000)) + 1e-3, name
    filled = model.impute(pd.DataFrame({"rounded": np.nan, "piled": 0.0, "plain": np.linspace(20, 40, 50)}))
    assert (np.asarray(filled)[:, 0] % 1 != 0).all()  # an expected value is no draw


def test_draws_lie_beyond_what_was_learned_no_oftener_than_held_out_rows() -> None:
    """Of skewed columns a Gaussian has up to a tenth below the least value; of Gaussian ones, no more than new rows."""
    rng = np.random.default_rng(5)
    X = np.column_stack([np.exp(0.7 * rng.normal(size=(400, 3))) + 5.0, rng.normal(size=(400, 3))])
    drawn, held = GaussianDiscriminant().fit(X, np.arange(400) % 2).sample(4000, random_state=0)[0], 2 / 401
    beyond = ((drawn < X.min(axis=0)) | (drawn > X.max(axis=0))).mean(axis=0)
    plain = GaussianDiscriminant().fit(X, np.arange(400) % 2).sample(4000, random_state=0, as_recorded=False)[0]
    assert ((plain < X.min(axis=0)).mean(axis=0)[:3] > 10 * held).all()
    assert beyond[:3].mean() <= held
    assert beyond.mean() <= held
    assert beyond[3:].max() > 0.0  # where the density fits, its tails are left
    assert stats.ks_2samp(drawn[:, 3], plain[:, 3]).pvalue > LEVEL


# --- kinds of numbers ----------------------------------------------------------------------------------------


def test_numbers_of_single_precision(rng) -> None:
    X = np.round(rng.normal(40.0, 5.0, (300, 2)), 1).astype(np.float32)
    drawn = GaussianDiscriminant().fit(X, ["all"] * 300).sample(100, random_state=0)[0]
    np.testing.assert_array_equal(drawn, np.round(drawn, 1))
