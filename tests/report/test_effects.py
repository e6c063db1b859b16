"""Effect curves and swarms on the page: what is drawn is what the displays hold, in few letters, of any table."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer

from suffice import GaussianDiscriminant, GenerativeForest, NaiveBayes
from suffice.plots import BeeswarmDisplay, EffectDisplay
from suffice.plots._view import View
from suffice.report import render_page
from suffice.report.effects import FOOT, LEFT, STRIP, WIDE, collect_effects, collect_swarms

COLORS = ["#111111", "#222222", "#333333"] * 12


def _points(path):
    return np.array(re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path), dtype=float)


def test_curves_are_those_of_the_display():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) * [1.0, 1000.0] + y[:, None] * [3.0, 500.0]
    view = View(NaiveBayes().fit(X, y))
    told = collect_effects(view, COLORS)
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


def test_dots_stand_where_the_contributions_say():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"number": rng.normal(size=80), "kind": rng.choice(["x", "y"], 80)})
    table.loc[:9, "number"] = np.nan
    view = View(NaiveBayes().fit(table, np.where(rng.random(80) < 0.5, "a", "b")))
    (told,) = collect_swarms(view)
    found = BeeswarmDisplay.of(view)
    low, high = found.edges()
    for s, line in enumerate(told["lines"]):
        svg = ET.fromstring(f"<svg>{line['strip']}</svg>")
        dots = np.concatenate([_points(path.get("d")) for path in svg.iter("path") if "dots" in path.get("class")])
        wanted = np.round(STRIP[0] * (found.contributions[:, s] - low) / (high - low))
        assert_allclose(np.sort(dots[:, 0]), np.sort(wanted), atol=1.0)
        gone = [path for path in svg.iter("path") if "gone" in path.get("class")]
        assert (line["missing"], sum(len(_points(path.get("d"))) for path in gone)) == ((10, 10) if gone else (0, 0))
    by_name = {line["name"]: line for line in told["lines"]}
    assert {chip["name"] for chip in by_name["kind"]["chips"]} == {"x", "y"}
    assert by_name["number"]["missing"] == 10


def test_they_are_left_out_where_there_is_nothing_to_say():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert collect_effects(View(NaiveBayes().fit(X, ["a"] * 30)), COLORS) is None
    assert collect_swarms(View(NaiveBayes().fit(X, ["a"] * 30))) is None
    y = np.arange(30) % 2
    assert collect_swarms(View(NaiveBayes(keep_rows=0).fit(X, y))) is None
    assert collect_swarms(View(GenerativeForest().fit(X, y))) is None
    assert collect_effects(View(GenerativeForest().fit(X, y)), COLORS) is not None


def test_hostile_names_and_many_classes_stay_text():
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 30
    table = pd.DataFrame(
        {"<b>&amp;": rng.normal(size=120) + codes, "kind": rng.choice(["<script>", '"&', "z" * 60], 120)}
    )
    model = NaiveBayes().fit(table, [f"</svg>{c}" for c in codes])
    told = collect_effects(View(model), COLORS)
    assert len(told["curves"]) == 8
    for panel in told["panels"]:
        ET.fromstring(panel["svg"])
    page = render_page(model)
    assert "<script>z" not in page
    assert "</svg>7" not in page
    assert "<b>&amp;" not in page


def test_thirty_columns_take_few_letters():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    view = View(GaussianDiscriminant(shared=True).fit(X, y))
    effects, swarms = collect_effects(view, COLORS), collect_swarms(view)
    letters = sum(len(own["svg"]) for own in effects["panels"] + effects["more"])
    assert len(effects["panels"] + effects["more"]) == 30
    assert letters + sum(len(line["strip"]) for own in swarms for line in own["lines"]) < 150_000
