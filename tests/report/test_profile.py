"""What the page says of the table itself equals what pandas finds in it, and nothing of rows is in a released one."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.report import collect_profile, profile_table
from suffice.report.profile.alerts import recall_alone
from suffice.report.profile.columns import HEIGHTS, bins_of, number
from suffice.report.profile.table import correlations, learned_table


@pytest.fixture
def messy(rng):
    """A table with something of everything, 600 rows in three classes."""
    n = 600
    y = pd.Series(rng.choice(["no", "yes", "perhaps"], n, p=[0.5, 0.3, 0.2]))
    X = pd.DataFrame(
        {
            "width": rng.normal(10, 3, n).round(2),
            "count": rng.poisson(3, n),
            "town": rng.choice(["Aix", "Bonn", "Cork", "Delft"], n),
            "open": rng.random(n) < 0.4,
            "wage": np.round(rng.lognormal(8, 0.7, n)),
        }
    )
    X.loc[rng.random(n) < 0.2, ["width", "wage"]] = np.nan
    X.loc[rng.random(n) < 0.1, "town"] = None
    X.loc[rng.random(n) < 0.05, "count"] = np.nan
    return X, y


def by_name(profile):
    return {column["name"]: column for column in profile["columns"]}


def kinds(profile):
    return [alert["kind"] for alert in profile["alerts"]]


def counts(picture):
    """Return the bars of a picture as numbers, by entry of the legend."""
    table = [[HEIGHTS.index(digit) for digit in row] for row in picture["bars"]]
    return np.array(table) * np.array(picture["most"])[:, None] / (len(HEIGHTS) - 1)


# --- columns ---------------------------------------------------------------------------------------------------------


def both(X, y):
    """Return the profile of a model's table and that of the table itself, which are to say the same."""
    return collect_profile(NaiveBayes().fit(X, y)), profile_table(X, y)


def test_columns_are_those_of_pandas(messy):
    X, y = messy
    for profile in both(X, y):
        columns = by_name(profile)
        assert list(columns) == list(X.columns)
        for name, column in columns.items():
            assert column["missing"] == pytest.approx(X[name].isna().mean(), abs=1e-12)
            assert (column["distinct"], column["distinct_exact"]) == (X[name].nunique(), True)
        assert [own["kind"] for own in columns.values()] == [
            "number",
            "whole number",
            "category",
            "yes or no",
            "whole number",
        ]
        assert columns["count"]["says"] == f"0 to {X['count'].max():.0f}, median {X['count'].median():g}"
        town = X["town"].value_counts().index[0]
        assert columns["town"]["says"].startswith(f"{town} {100 * (X['town'] == town).mean():.0f} %")
        classes = [own["label"] for own in profile["classes"]]
        assert classes == sorted(set(y))
        for c, label in enumerate(classes):
            own = X[y == label]
            for name in ("width", "wage"):
                assert float(columns[name]["by_class"][c]["says"].replace(",", "")) == pytest.approx(
                    own[name].mean(), rel=1e-3
                )
                assert columns[name]["by_class"][c]["missing"] == pytest.approx(own[name].isna().mean(), abs=1e-12)


def test_bars_are_counts(messy):
    """To half a step of the digits that bars are written in, and no row is lost but those said to lie beyond."""
    X, y = messy
    for profile in both(X, y):
        columns, classes = by_name(profile), [own["label"] for own in profile["classes"]]
        for name in ("width", "count", "wage"):
            picture = columns[name]["picture"]
            edges = np.linspace(picture["low"], picture["high"], len(picture["bars"][0]) + 1)
            inside = X[name].between(picture["low"], picture["high"])
            assert picture["beyond"] == X[name].notna().sum() - inside.sum()
            assert picture["beyond"] <= 0.011 * len(X)
            for label, found in zip(classes, counts(picture), strict=True):
                expected = np.histogram(X[name][inside & (y == label)], edges)[0]
                half = expected.max() / (2 * (len(HEIGHTS) - 1))
                assert (
                    np.abs(found - expected) <= np.maximum(half, (found > 0) & (expected < 1)) + 0.01 * expected
                ).all()
        for name, levels in (("town", columns["town"]["picture"]["levels"]), ("open", ["False", "True"])):
            picture = columns[name]["picture"]
            assert picture["levels"] == levels
            table = pd.crosstab(y, X[name].astype(object).map(str, na_action="ignore")).loc[classes, levels].to_numpy()
            np.testing.assert_allclose(counts(picture), table, atol=table.max() / 61)
            shares = X[name].astype(object).map(str, na_action="ignore").value_counts().loc[levels] / len(X)
            np.testing.assert_allclose(picture["shares"], shares, rtol=5e-3)


@pytest.mark.parametrize("span", [1, 2, 19, 20, 21, 37, 59, 60, 101, 365, 1000])
def test_bars_of_whole_numbers_hold_as_many_numbers_each(span):
    """Else a flat column would look like a comb."""
    values = np.arange(span + 1, dtype=float)
    bins = bins_of(values, np.ones(len(values)))
    held = np.bincount(bins.place(values), minlength=bins.number)
    assert len(set(held[:-1].tolist())) <= 1
    assert 0 < held[-1] <= held[0]
    assert bins.number <= 20
    assert held.sum() == len(values)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-0.0, "0"), (2007, "2007"), (12345, "12,345"), (0.5, "0.5"), (3.14159, "3.142"), (12345.67, "12,346"),
     (-2.5e-7, "-2.5e-07"), (1e13, "1e+13"), (0.001234567, "0.001235"), (99.99999, "100")],
)  # fmt: skip
def test_numbers_as_people_write_them(value, text):
    assert number(value) == text


def test_ordered_levels_keep_their_order(rng):
    risk = pd.Categorical(
        rng.choice(["Low", "Medium", "High"], 90, p=[0.2, 0.3, 0.5]), ["Low", "Medium", "High"], ordered=True
    )
    for profile in both(pd.DataFrame({"risk": risk}), rng.choice(["no", "yes"], 90)):
        column = profile["columns"][0]
        assert (column["kind"], column["picture"]["levels"]) == ("ordered", ["Low", "Medium", "High"])
        expected = pd.Series(risk).value_counts(normalize=True)[["Low", "Medium", "High"]]
        np.testing.assert_allclose(column["picture"]["shares"], expected, rtol=5e-3)


def test_many_classes_are_drawn_together(rng):
    y = np.concatenate([np.repeat([f"class {c}" for c in range(14)], np.arange(20, 160, 10)), ["rare"] * 3])
    X = pd.DataFrame({"x": rng.normal(size=len(y))})
    profile = collect_profile(NaiveBayes().fit(X, y))
    labels = [own["label"] for own in profile["classes"]]
    assert labels == [*sorted([f"class {c}" for c in range(6, 14)]), "7 other classes"]
    assert profile["classes"][-1]["color"] is None
    assert profile["classes"][-1]["weight"] == sum(range(20, 80, 10)) + 3
    assert counts(profile["columns"][0]["picture"])[-1].sum() == pytest.approx(sum(range(20, 80, 10)) + 3, rel=0.1)


# --- what is missing together, and what is there twice ---------------------------------------------------------------


def test_missing_together(messy):
    X, y = messy
    for profile in both(X, y):
        holes = profile["holes"]
        assert holes["complete"] == pytest.approx(X.notna().all(axis=1).mean())
        names = [profile["columns"][j]["name"] for j in holes["columns"]]
        expected = X.isna().apply(lambda row: tuple(X.columns[row]), axis=1).value_counts()
        expected = expected[[bool(key) for key in expected.index]]
        found = {
            tuple(name for name, gone in zip(names, own["missing"], strict=True) if gone): own
            for own in holes["patterns"]
        }
        assert set(found) <= set(expected.index)
        assert len(found) + holes["rest"] == len(expected)
        assert [own["rows"] for own in holes["patterns"]] == expected[: len(found)].tolist()
        for missing, own in found.items():
            assert own["rows"] == expected[missing]
            assert own["share"] == pytest.approx(expected[missing] / len(X))
            rows = X.isna().apply(lambda row, key=missing: tuple(X.columns[row]) == key, axis=1)
            share = y[rows].value_counts(normalize=True).reindex(sorted(set(y)), fill_value=0.0)
            np.testing.assert_allclose(own["by_class"], share, atol=1e-4)
    assert profile_table(X.dropna(), y[X.notna().all(axis=1)])["holes"] is None


def test_equal_rows_are_those_of_pandas(rng):
    X = pd.DataFrame(
        {"a": rng.integers(0, 4, 300), "b": rng.choice(["x", "y", None], 300), "c": rng.integers(0, 5, 300) / 2}
    )
    X.loc[::7, "c"] = np.nan
    y = pd.Series(rng.choice(["no", "yes"], 300))
    whole = X.assign(label=y)
    classes = whole.groupby(list(X.columns), dropna=False)["label"].transform("nunique")
    for profile in both(X, y):
        assert profile["repeated"] == {
            "rows": 300,
            "repeated": whole.duplicated().sum(),
            "most": whole.groupby(list(whole.columns), dropna=False).size().max(),
            "contradicting": (classes > 1).sum(),
            "sets": (whole.groupby(list(X.columns), dropna=False)["label"].nunique() > 1).sum(),
            "but": [],
        }
        assert kinds(profile) == []  # of so few values in so few columns nothing else can be
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    X.loc[200:] = X.loc[:99].to_numpy()
    numbered = X.assign(case=rng.permutation(300) + 10_000, code=[f"K-{i}" for i in range(300)])
    assert profile_table(numbered, y)["repeated"]["but"] == ["case", "code"]
    for profile in (*both(X, y), profile_table(numbered, y)):
        same = (y[200:].to_numpy() == y[:100].to_numpy()).sum()
        assert profile["repeated"]["repeated"] == same
        assert profile["repeated"]["contradicting"] == 2 * (100 - same)
        assert [kind for kind in kinds(profile) if kind != "identifier"] == ["contradiction", "repeated rows"]


def test_equal_columns(rng):
    n = 400
    cm = rng.normal(170, 10, n).round(1)
    town = rng.choice(["Aix", "Bonn", "Cork", "Nice"], n)
    X = pd.DataFrame({"cm": cm, "noise": rng.normal(size=n), "town": town})
    X["inch"] = X["cm"] / 2.54
    X["minus"] = 3 - 2 * X["cm"]
    X["near"] = X["cm"] + rng.normal(size=n) * 0.3
    X["code"] = X["town"].map({"Aix": 7, "Bonn": 3, "Cork": 11, "Nice": 1})
    X["country"] = X["town"].map({"Aix": "FR", "Bonn": "DE", "Cork": "IE", "Nice": "FR"})
    X.loc[:50, "inch"] = np.nan
    for profile in both(X, rng.choice(["no", "yes"], n)):
        names = list(X.columns)
        same = {kind: [[names[j] for j in own["columns"]] for own in found] for kind, found in profile["same"].items()}
        assert same == {
            "copies": [["cm", "inch", "minus"], ["town", "code"]],
            "near": [["cm", "near"]],
            "follows": [["town", "country"]],
        }
        assert profile["same"]["near"][0]["correlation"] == pytest.approx(X["cm"].corr(X["near"]), abs=1e-9)
        lines = profile["same"]["copies"][0]["lines"]
        assert lines[0]["slope"] == pytest.approx(1 / 2.54)
        assert lines[1] == pytest.approx({"slope": -2, "intercept": 3})


def test_correlations_are_those_of_pandas(rng):
    X = pd.DataFrame(
        rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)) * [1, 1e6, 1e-6, 1, 1, 1] + [0, 1e9, 0, 1e3, 0, 5]
    )
    X = X.mask(rng.random(X.shape) < 0.3)
    np.testing.assert_allclose(correlations(X.to_numpy()), X.corr(), atol=1e-9)


# --- what to look at -------------------------------------------------------------------------------------------------


def test_nothing_stands_out_among_penguins(penguins):
    X, y = penguins
    profile = collect_profile(GenerativeClassifier().fit(X, y))
    assert profile["alerts"] == []
    assert "Nothing stands out" in render_section(profile)


def test_each_alert(rng):
    n = 500
    y = np.where(rng.random(n) < 0.95, "good", "bad")
    y[:3] = "rare"
    X = pd.DataFrame(
        {
            "fine": rng.normal(size=n),
            "whole": rng.integers(0, 200, n),
            "same": 7.0,
            "hollow": np.where(np.arange(n) < 10, rng.normal(size=n), np.nan),
            "id": rng.permutation(n) + 1000,
            "account": rng.choice(10**6, n, replace=False) + 10**9,
            "key": [f"k{i}" for i in rng.permutation(n)],
            "many": rng.choice([f"m{i}" for i in range(150)], n),
            "alike": rng.choice(["Yes", "yes ", "no"], n),
            "day": pd.date_range("2020-01-01", periods=n).strftime("%d %b %Y"),
            "text": rng.choice(["1", "2", "3", "10", "11", "12", "13", "14", "15", "unknown"], n),
            "age": np.where(rng.random(n) < 0.1, 999, rng.integers(18, 80, n)),
            "leak": np.select([y == "good", y == "bad"], [rng.normal(0, 1, n), rng.normal(50, 1, n)], -50.0),
            "after": np.where(y == "good", None, rng.choice(["a", "b"], n)),
        }
    )
    expected = {
        "few rows": [],
        "imbalance": [],
        "constant": ["same"],
        "nearly all missing": ["hollow"],
        "missing by class": ["after"],
        "identifier": ["id", "account", "key"],
        "many levels": ["many"],
        "levels alike": ["alike"],
        "dates": ["day"],
        "numbers as text": ["text"],
        "placeholder": ["age"],
    }
    for profile in both(X, y):
        found = {a["kind"]: [X.columns[j] for j in a["columns"]] for a in profile["alerts"]}
        leaks = found.pop("leak")
        assert set(leaks) <= {"leak", "after"}
        assert "leak" in leaks
        if "after" in found["nearly all missing"]:  # nearly all cells are, as nearly all rows are good
            found["nearly all missing"].remove("after")
        assert found == expected
        texts = " ".join(alert["text"] for alert in profile["alerts"])
        assert "'Yes' and 'yes␣'" in texts
        assert "rare (3)" in texts
        assert f"999 in {(X['age'] == 999).sum()} rows" in texts
        for column in profile["columns"]:
            own = [i for i, alert in enumerate(profile["alerts"]) if column["place"] in alert["columns"]]
            assert column["alerts"] == own


def test_recall_alone_is_that_of_each_row_judged_by_the_others(rng):
    n = 120
    y = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    x = np.round(rng.normal(size=n) + (y == "b") * 2, 1)
    x[rng.random(n) < 0.1] = np.nan
    model = GaussianDiscriminant().fit(pd.DataFrame({"x": x}), y)
    table = learned_table(model._fitted, [0])
    right = np.zeros(n)
    prior = pd.Series(y).value_counts()
    for i in range(n):
        others = np.arange(n) != i
        like = others & (np.isnan(x) if np.isnan(x[i]) else x == x[i])
        if not like.any() and not np.isnan(x[i]):
            values = np.unique(x[others & ~np.isnan(x)])
            near = values[np.argmin(np.round(np.abs(values - x[i]), 9))]  # the lower one of a tie
            like = others & (x == near)
        right[i] = (y[like] == y[i]).mean() if like.any() else (prior[y[i]] - 1) / (n - 1)
    expected = pd.Series(right).groupby(y).mean().mean()
    assert recall_alone(table.columns[0], table) == pytest.approx(expected, abs=0.01)  # ties may go either way


# --- what is known of which rows -------------------------------------------------------------------------------------


def test_order_of_rows_does_not_matter(messy, rng):
    X, y = messy
    order = rng.permutation(len(X))
    one, two = collect_profile(NaiveBayes().fit(X, y)), collect_profile(NaiveBayes().fit(X.iloc[order], y.iloc[order]))
    for column in [*one["columns"], *two["columns"]]:
        column["importance"] = round(column["importance"], 9)  # sums in another order
    for part in ("columns", "alerts", "repeated", "same", "holes", "sample"):
        assert json.dumps(one[part]) == json.dumps(two[part]), part


def test_units_change_no_alert(messy):
    X, y = messy
    X = X.assign(metres=X["width"] * 1.5 - 3)
    y = y.where(y != "perhaps", "no")
    one = profile_table(X, y)
    two = profile_table(X.assign(width=X["width"] * 1e6, metres=X["metres"] * 1e-6), y)
    assert kinds(one) == kinds(two)
    bars = [by_name(profile)["width"]["picture"]["bars"] for profile in (one, two)]
    assert bars[0] == bars[1]


def test_weight_two_is_a_row_twice(messy):
    X, y = messy
    weighted = collect_profile(NaiveBayes().fit(X, y, sample_weight=np.full(len(X), 2.0)))
    twice = collect_profile(NaiveBayes().fit(pd.concat([X, X]), pd.concat([y, y])))
    for one, two in zip(weighted["columns"], twice["columns"], strict=True):
        assert one["missing"] == pytest.approx(two["missing"], abs=1e-12)
        assert (one["picture"]["bars"], one["distinct"]) == (two["picture"]["bars"], two["distinct"])
    assert twice["repeated"]["repeated"] == weighted["repeated"]["repeated"] + len(X)
    weight = np.random.default_rng(0).lognormal(size=len(X))
    table = learned_table(NaiveBayes().fit(X, y, sample_weight=weight)._fitted, [0])
    assert [table.class_weight.sum(), table.weight.sum()] == pytest.approx([weight.sum()] * 2)


def test_a_sample_says_that_it_is_one(rng):
    n = 5000
    X = pd.DataFrame({"x": rng.normal(size=n).round(3), "t": rng.choice(["a", "b", "c"], n)})
    X.loc[rng.random(n) < 0.1, "x"] = np.nan
    y = rng.choice(["no", "yes"], n)
    profile = collect_profile(NaiveBayes(keep_rows=300).fit(X, y))
    x, t = profile["columns"]
    assert not profile["is_whole"]
    assert profile["of"] == f"the {profile['held']:,} rows that the model keeps of 5,000"
    assert x["missing"] == pytest.approx(X["x"].isna().mean())  # of all rows
    assert not x["distinct_exact"]
    assert x["distinct"] <= 300
    assert (t["distinct"], t["distinct_exact"]) == (3, True)
    assert counts(t["picture"]).sum() == pytest.approx(n, rel=0.02)
    assert counts(x["picture"]).sum() == pytest.approx(X["x"].notna().sum(), rel=0.02)
    rows = {(number(a), b) for a, b in zip(X["x"], X["t"], strict=True) if a == a}
    assert all(tuple(row) in rows for row in profile["sample"]["rows"] if row[0] is not None)


def render_section(profile):
    """Return the section of the page as HTML."""
    from suffice.report.page import _template

    environment = _template().environment
    return environment.get_template("sections/table.html").render(told=profile)


def test_nothing_of_rows_is_in_a_released_model(messy):
    X, y = messy
    X = X.assign(secret=[f"who {i}" for i in range(len(X))])
    released = NaiveBayes().fit(X, y).release()
    for data in ((), (X, y)):
        profile = collect_profile(released, *data)
        html = render_section(profile)
        assert profile["sample"] is profile["holes"] is profile["repeated"] is None
        assert "who " not in html
        assert "released and holds no rows" in html
        width = by_name(profile)["width"]
        assert "range" not in width["says"]
        assert width["distinct"] is None
        ends = (number(X["width"].min()), number(X["width"].max()))
        assert not any(f">{end}<" in html for end in ends)


def test_without_rows_the_table_given_is_looked_at(messy):
    X, y = messy
    model = NaiveBayes(keep_rows=0).fit(X, y)
    alone = collect_profile(model)
    assert alone["sample"] is None
    assert alone["why_none"] == "the model keeps no rows"
    assert by_name(alone)["town"]["missing"] == pytest.approx(X["town"].isna().mean())
    mean, sd = X["width"].mean(), X["width"].std(ddof=0)
    assert by_name(alone)["width"]["says"] == f"about {number(float(f'{mean:.4g}'))} ± {number(float(f'{sd:.3g}'))}"
    assert by_name(alone)["width"]["modelled"]
    beside = collect_profile(model, X.iloc[:, ::-1], y, name="more.csv")
    assert beside["of"] == "the 600 rows of more.csv, as the model keeps none"
    assert by_name(beside)["wage"]["distinct"] == X["wage"].nunique()
    assert len(beside["sample"]["rows"]) == 8
    unlabelled = collect_profile(model, X, name="more.csv")
    assert unlabelled["classes"][-1]["label"] == "without a label"


# --- awkward tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0]], ["a"]),
        ([[1.0, "x"], [None, None]], ["a", "b"]),
        ([[np.nan, 1.0]] * 3, ["a", "a", "b"]),
        ([["", " "], ["a", "b"]], [1, 2]),
        ([[1e140, -1e140], [1e-140, 1e149]], [True, False]),
    ],
)
def test_tiny_tables(X, y):
    profile = profile_table(X, y)
    assert profile["rows"] == len(X)
    assert "</ul>" in render_section(profile)
    json.dumps(profile)


def test_many_columns_and_classes_stay_small(rng):
    n, d, k = 300, 500, 30
    X = rng.normal(size=(n, d))
    X[:, 0] = rng.integers(0, 9, n)
    y = [f"class {c}" for c in rng.integers(0, k, n)]
    profile = collect_profile(NaiveBayes().fit(X, y))
    assert len(render_section(profile)) < 600_000
    table = pd.DataFrame({f"c{j}": rng.normal(size=1500) for j in range(29)})
    table["remark"] = [f"remark number {i}" for i in rng.integers(0, 1200, 1500)]
    assert len(render_section(collect_profile(NaiveBayes().fit(table, y * 5)))) < 100_000
