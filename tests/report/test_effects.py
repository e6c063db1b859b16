"""Effect curves and swarms on the page: what is drawn is what models say, in few letters, of any table."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from matplotlib.textpath import TextPath
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.plots import EffectDisplay
from suffice.plots._view import View
from suffice.report import render_page
from suffice.report.reasons import FOOT, LEFT, STRIP, WIDE, collect_effects, collect_swarms


def _points(path):
    return np.array(re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path), dtype=float)


def test_curves_are_those_of_the_display():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) * [1.0, 1000.0] + y[:, None] * [3.0, 500.0]
    view = View(NaiveBayes().fit(X, y))
    told = collect_effects(view)
    found = EffectDisplay.of(view, [0, 1], grid=60)
    low, high = found.limits()
    assert [panel["name"] for panel in told["panels"]] == ["column 0", "column 1"]  # the one that tells most is first
    for j, panel in enumerate(told["panels"]):
        svg = ET.fromstring(panel["svg"])
        curves = [path.get("d") for path in svg.iter("path") if path.get("class") == "curve"]
        assert len(curves) == 3
        axis = found.axes[j]
        for c, d in enumerate(curves):
            x, up = _points(d).T
            at = axis.low + (x - LEFT) / (WIDE - LEFT - 4) * (axis.high - axis.low)
            assert_allclose(at, axis.at, atol=0.06 / (WIDE - LEFT) * (axis.high - axis.low))
            assert_allclose(
                high - (up - 5) / (FOOT - 5) * (high - low), found.effects[j][:, c], atol=0.06 / FOOT * (high - low)
            )


@pytest.fixture(scope="module", params=[NaiveBayes, GenerativeClassifier])
def mixed(request):
    """A model of numbers, truth values and categories, some missing, and its rows, all of which it keeps."""
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 80)
    number = rng.normal(size=80) + 2.0 * (y == "b")
    table = pd.DataFrame({"number": number, "kind": rng.choice(["x", "y"], 80), "on": rng.random(80) < 0.5})
    table.loc[:9, "number"] = np.nan
    return request.param().fit(table, y), table


def _dots(line):
    """The places along the line of all dots, and of those of missing cells."""
    paths = [path for path in ET.fromstring(f"<svg>{line['strip']}</svg>").iter("path") if "dots" in path.get("class")]
    gone = [path for path in paths if "gone" in path.get("class")]
    return (np.concatenate([np.zeros(0), *(_points(path.get("d"))[:, 0] for path in some)]) for some in (paths, gone))


def test_dots_stand_at_the_contributions(mixed):
    model, rows = mixed
    (told,) = collect_swarms(View(model))
    contributions = model.explain(rows)
    nats = contributions[:, :, 1] - contributions[:, :, 0]
    order = np.argsort(-np.abs(nats).mean(axis=0))
    assert [line["name"] for line in told["lines"]] == [rows.columns[j] for j in order]
    ends = [min(nats.min(), 0.0), max(nats.max(), 0.0)]
    low, high = ends[0] - 0.06 * (ends[1] - ends[0]), ends[1] + 0.06 * (ends[1] - ends[0])
    for line, j in zip(told["lines"], order, strict=True):
        dots, gone = _dots(line)
        assert_allclose(np.sort(dots), np.sort(STRIP[0] * (nats[:, j] - low) / (high - low)), atol=1.0)
        missing = rows[rows.columns[j]].isna().sum()
        assert line["missing"] == len(gone) == missing
        assert_allclose(gone, STRIP[0] * (0.0 - low) / (high - low), atol=1.0)
    chips = {line["name"]: {chip["name"] for chip in line["chips"]} for line in told["lines"]}
    assert chips == {"number": set(), "kind": {"x", "y"}, "on": {"False", "True"}}


def test_rows_kept_are_explained_once_whatever_their_order(monkeypatch):
    rng = np.random.default_rng(0)
    X, y, turn = rng.normal(size=(90, 3)), np.arange(90) % 3, rng.permutation(90)
    X += y[:, None] * [0.0, 1.0, 2.0]
    one, other = NaiveBayes().fit(X, y), NaiveBayes().fit(X[turn], y[turn])
    told = collect_swarms(View(one))
    assert len(told) == 3
    for mine, theirs in zip(told, collect_swarms(View(other)), strict=True):
        assert [line["name"] for line in mine["lines"]] == [line["name"] for line in theirs["lines"]]
        for a, b in zip(mine["lines"], theirs["lines"], strict=True):
            assert_allclose(*(np.sort(next(_dots(line))) for line in (a, b)), atol=1.0)
    monkeypatch.setattr(type(one), "explain", lambda *told: pytest.fail("explained again"))
    assert collect_swarms(View(one)) == told


def test_few_of_many_rows_and_columns_are_drawn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 40)), np.arange(900) % 2
    (told,) = collect_swarms(View(NaiveBayes().fit(X, y)))
    assert told["rows"] == len(next(_dots(told["lines"][0]))) == 150  # 12,000 numbers of 40 columns and two classes
    assert (len(told["lines"]), told["left_out"]) == (10, 30)


def test_they_are_left_out_where_there_is_nothing_to_say():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert collect_effects(View(NaiveBayes().fit(X, ["a"] * 30))) is None
    assert collect_swarms(View(NaiveBayes().fit(X, ["a"] * 30))) is None
    y = np.arange(30) % 2
    assert collect_swarms(View(NaiveBayes(keep_rows=0).fit(X, y))) is None
    assert collect_swarms(View(GenerativeForest().fit(X, y))) is None
    assert collect_effects(View(GenerativeForest().fit(X, y))) is not None


def test_hostile_names_and_many_classes_stay_text():
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 30
    table = pd.DataFrame(
        {"<b>&amp;": rng.normal(size=120) + codes, "kind": rng.choice(["<script>", '"&', "z" * 60], 120)}
    )
    model = NaiveBayes().fit(table, [f"</svg>{c}" for c in codes])
    told = collect_effects(View(model))
    assert len(told["curves"]) == 8
    for panel in told["panels"]:
        ET.fromstring(panel["svg"])
    page = render_page(model)
    assert "<script>z" not in page
    assert "</svg>7" not in page
    assert "<b>&amp;" not in page


def test_levels_fit_in_front_of_their_lines(rng):
    """As wide as matplotlib draws them in DejaVu Sans, the widest font of the page, none is cut by the edge."""
    levels = ["RANCHO_CORDOVA", "EL_DORADO_HILLS", "Sacramento", "z" * 60, "W" * 20, "Baden-Württemberg", "a b"]
    table = pd.DataFrame({"x": rng.normal(size=210), "town": levels * 30})
    told = collect_effects(View(NaiveBayes().fit(table, rng.choice(["no", "yes"], 210))))
    (panel,) = (own for own in told["panels"] + told["more"] if "Sacramento" in own["svg"])
    texts = [own for own in ET.fromstring(panel["svg"]).iter("text") if own.get("text-anchor") == "end"]
    assert len(texts) == 7
    for own in texts:
        assert TextPath((0, 0), own.text, size=9.5).get_extents().width <= float(own.get("x"))


def test_thirty_columns_take_few_letters():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    view = View(GaussianDiscriminant(shared=True).fit(X, y))
    effects, swarms = collect_effects(view), collect_swarms(view)
    letters = sum(len(own["svg"]) for own in effects["panels"] + effects["more"])
    assert len(effects["panels"] + effects["more"]) == 30
    assert letters + sum(len(line["strip"]) for own in swarms for line in own["lines"]) < 150_000
