"""The way to an answer, step by step: lines that add up, for the classes chosen, in a real browser."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from suffice import GenerativeClassifier, NaiveBayes
from suffice.plots import WaterfallDisplay
from suffice.report import render_page

pytestmark = pytest.mark.usefixtures("without_pictures")


def _number(text):
    return float(text.replace("−", "-"))


def _fill(page, row):
    for name, cell in row.items():
        field = page.get_by_label(name, exact=True)
        if cell is None or cell != cell:
            continue
        if field.evaluate("e => e.tagName") == "SELECT":
            field.select_option(str(cell))
        else:
            field.fill(str(cell))
    page.wait_for_timeout(500)


@pytest.mark.parametrize(("estimator", "error"), [(NaiveBayes(), 0.006), (GenerativeClassifier(), 0.3)])
def test_the_steps_are_those_of_the_display(visit, penguins, estimator, error):
    """Steps averaged over sampled orders, of which Python and the page take others, may differ; their sum may not."""
    X, y = penguins
    model = estimator.fit(X, y)
    page = visit(render_page(model))
    _fill(page, X.iloc[200])
    display = WaterfallDisplay.from_estimator(model, X, row=200)
    names = page.locator("#fall-steps th").all_inner_texts()
    shown = [_number(text) for text in page.locator("#fall-steps .amount").all_inner_texts()]
    assert names[0] == "before looking"
    assert names[-1] == "all together"
    assert len(names) == 2 + sum(cell == cell for cell in X.iloc[200])
    np.testing.assert_allclose([shown[0], shown[-1]], [display.start, display.end], atol=0.006)
    by_name = {name.split(" = ")[0]: nats for name, nats in zip(names[1:-1], shown[1:-1], strict=True)}
    for step in display.steps:
        if step.column is not None:
            np.testing.assert_allclose(by_name[step.column], step.nats, atol=error)
    np.testing.assert_allclose(shown[0] + sum(shown[1:-1]), shown[-1], atol=0.006 * len(shown))
    assert page.locator("#fall-of").inner_text() == f"log-odds of {display.label} against {display.against}"


def test_bars_stand_end_to_end_and_the_classes_can_be_chosen(visit, penguins):
    X, y = penguins
    page = visit(render_page(NaiveBayes().fit(X, y)), 390)
    _fill(page, X.iloc[0])
    boxes = [bar.bounding_box() for bar in page.locator("#fall-steps .bar").all()]
    shown = [_number(text) for text in page.locator("#fall-steps .amount").all_inner_texts()]
    at = boxes[0]["x"] + (boxes[0]["width"] if shown[0] > 0 else 0)
    for box, nats in zip(boxes[1:-1], shown[1:-1], strict=True):
        begin, end = (box["x"], box["x"] + box["width"]) if nats >= 0 else (box["x"] + box["width"], box["x"])
        assert abs(begin - at) < 2
        at = end
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#fall-for").select_option(label="Gentoo")
    page.locator("#fall-against").select_option(label="Adelie")
    page.wait_for_timeout(300)
    assert page.locator("#fall-of").inner_text() == "log-odds of Gentoo against Adelie"
    assert _number(page.locator("#fall-steps .amount").last.inner_text()) < 0
    assert page.locator("#fall-odds").inner_text().startswith("Adelie is ")
    page.locator("#fall-against").select_option(label="Gentoo")  # against itself: against the next
    page.wait_for_timeout(300)
    assert "Gentoo against Gentoo" not in page.locator("#fall-of").inner_text()


def test_a_class_that_is_ruled_out_is_said_so(visit):
    X = pd.DataFrame({"hue": ["red", "red", "blue", "blue"], "size": [1.0, 2.0, 1.5, 2.5]})
    page = visit(render_page(NaiveBayes(smoothing=0).fit(X, ["a", "a", "b", "b"])))
    _fill(page, {"hue": "red", "size": 1.2})
    assert "rules out b" in page.locator("#fall-steps .amount").all_inner_texts()
    assert page.locator("#fall-odds").inner_text() == "b is ruled out."


def test_one_swarm_is_open_at_a_time(visit, penguins):
    X, y = penguins
    page = visit(render_page(NaiveBayes().fit(X, y)))
    swarms = page.locator("details.swarm")
    assert swarms.count() == 3
    swarms.nth(1).locator("summary").click()
    assert [swarm.evaluate("e => e.open") for swarm in swarms.all()] == [False, True, False]
    dots = swarms.nth(1).locator(".strip svg").first.bounding_box()
    assert dots["width"] > 600
    assert dots["height"] < 60
