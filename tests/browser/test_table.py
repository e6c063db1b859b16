"""The list of columns on the page: found, sorted, drawn; by keyboard, on a phone, and whatever columns are called."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from suffice import GenerativeForest, NaiveBayes
from suffice.report import collect_profile, render_page

pytestmark = pytest.mark.usefixtures("without_pictures")
HOSTILE = ['<img src=x onerror="console.log(1)">', "</li></ul>", "'\"", "a|b c", "ΐ ﬁ İstanbul", " ", "x" * 300]


def wide(columns=80):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(200, columns)), columns=[f"c{j}" for j in range(columns)])
    y = rng.choice(["a", "b"], 200)
    X["c7"] += 2 * (y == "b")
    X["c9"] = 4.0
    X["c30"] = X["c29"] * 3
    for j in range(40, min(columns, 60)):
        X.loc[: j - 35, f"c{j}"] = np.nan
    return NaiveBayes().fit(X, y)


def shown(page):
    return page.eval_on_selector_all(
        "#table-list > li", "items => items.filter(i => !i.hidden).map(i => i.querySelector('.name').textContent)"
    )


def heights_of(page, name):
    """Return the heights of the bars of a column's small picture, in their order."""
    item = page.locator("#table-list > li").filter(has=page.locator(".name", has_text=name))
    return item.locator(".drawn rect").evaluate_all("bars => bars.map((bar) => Number(bar.getAttribute('height')))")


def test_found_by_name(visit, penguins):
    page = visit(render_page(NaiveBayes().fit(*penguins)))
    field = page.get_by_label("Find", exact=True)
    field.press_sequentially("BILL")
    assert set(shown(page)) == {"bill_length_mm", "bill_depth_mm"}
    assert page.locator("#table-count").inner_text() == "2 of 7 columns"
    field.fill("mm depth")  # both words, in any order
    assert shown(page) == ["bill_depth_mm"]
    field.fill("(no such")
    assert shown(page) == []
    assert page.locator("#table-count").inner_text() == "No column has such a name."
    field.fill("")
    assert len(shown(page)) == 7


def test_sorted(visit, penguins):
    model = NaiveBayes().fit(*penguins)
    page, columns = visit(render_page(model)), collect_profile(model)["columns"]
    by = page.get_by_label("Sort by")
    importance = [own["name"] for own in sorted(columns, key=lambda own: -own["importance"])]
    assert shown(page) == importance
    by.select_option("name")
    assert shown(page) == sorted(own["name"] for own in columns)
    by.select_option("place in the table")
    assert shown(page) == [own["name"] for own in columns]
    by.select_option("missing cells")
    assert shown(page)[0] == "sex"
    assert set(shown(page)[-2:]) == {"island", "year"}
    by.select_option("importance")
    assert shown(page) == importance


def test_names_with_numbers_are_sorted_as_people_count(visit):
    page = visit(render_page(wide()))
    page.get_by_label("Sort by").select_option("name")
    assert shown(page)[:11] == [f"c{j}" for j in range(11)]


def test_many_columns_come_in_two_steps(visit):
    page = visit(render_page(wide()))
    assert shown(page)[0] == "c7"
    assert len(shown(page)) == 25
    assert page.locator("#table-count").inner_text() == "25 of 80 columns are shown"
    page.get_by_role("button", name="Show all 80 columns").press("Enter")
    assert len(shown(page)) == 80
    assert page.locator("#table-all").is_hidden()


def test_what_an_alert_names_is_shown(visit):
    page = visit(render_page(wide()))
    page.get_by_role("button", name="in the list of columns: constant").click()
    assert shown(page) == ["c9"]
    page.get_by_role("button", name="in the list of columns: copy").click()
    assert set(shown(page)) == {"c29", "c30"}
    page.get_by_role("button", name="Show all columns again").click()
    assert len(shown(page)) == 25
    page.get_by_role("button", name="in the list of columns: constant").click()
    page.get_by_label("Find", exact=True).fill("c2")
    assert "c29" in shown(page)


def test_bars_are_as_high_as_rows_are_many(visit, penguins):
    """A bar of the page is a share of the highest stack: with the counts of pandas, to what the digits tell."""
    page = visit(render_page(NaiveBayes().fit(*penguins)))
    heights = heights_of(page, "island")
    counts = pd.crosstab(penguins[0]["island"], penguins[1]).loc[["Biscoe", "Dream", "Torgersen"]]
    highest = counts.sum(axis=1).max()
    expected = [60 * value / highest for _, row in counts.iterrows() for value in row if value]
    assert heights == pytest.approx(expected, abs=60 / 61)
    page.get_by_label("Bars", exact=True).select_option("share of each class")
    counts = counts / counts.sum()
    heights = heights_of(page, "island")
    expected = [59 * value / counts.to_numpy().max() for species in counts for value in counts[species]]
    assert heights == pytest.approx(expected, abs=1.5)


def test_more_opens_a_large_picture(visit, penguins):
    page = visit(render_page(NaiveBayes().fit(*penguins)))
    page.locator("summary", has_text="More about island").press("Enter")
    page.locator(".large svg:visible").first.wait_for()  # a browser tells later that something was opened
    assert page.locator(".large svg:visible").count() == 1
    assert page.locator("#table-list ol.levels:visible").first.inner_text().split("\n") == [
        "Biscoe 49 %",
        "Dream 36 %",
        "Torgersen 15 %",
    ]
    page.get_by_label("Bars", exact=True).select_option("share of each class")
    assert page.locator(".large svg:visible").count() == 1


@pytest.mark.parametrize("width", [360, 1280])
def test_hostile_names_are_text(visit, width):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(HOSTILE, 60) for name in HOSTILE})
    X.loc[::5, HOSTILE[0]] = None
    X["'; alert(1) //"] = rng.normal(size=60)
    y = rng.choice(HOSTILE[:3], 60)
    page = visit(render_page(NaiveBayes().fit(X, y)), width=width)
    assert sorted(shown(page)) == sorted(map(str, X.columns))
    assert page.locator("section[aria-labelledby=table] img").count() == 0
    assert page.evaluate("document.querySelector('section[aria-labelledby=table]').scrollWidth") <= width
    page.get_by_label("Find", exact=True).fill("<IMG")
    assert shown(page) == [HOSTILE[0]]
    page.get_by_label("Find", exact=True).fill("i\u0307st")
    assert shown(page) == [HOSTILE[4]]


def test_a_page_without_a_form_has_the_list(visit):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    html = render_page(GenerativeForest().fit(X, y.map({0: "malignant", 1: "benign"})))
    assert "<form" not in html
    page = visit(html)
    page.get_by_label("Find", exact=True).fill("worst area")
    assert shown(page) == ["worst area"]
    assert page.locator("#table-list svg:visible").count() == 1


def test_without_scripts_all_is_there(visit):
    page = visit(render_page(wide(60)), java_script_enabled=False)
    assert page.locator("#table-list > li:visible").count() == 60
    assert page.locator("#table-find").is_hidden()
    assert page.get_by_role("button", name="in the list of columns").count() == 0


def test_all_controls_have_names_and_order(visit, penguins):
    """The keyboard goes through the list from top to bottom, and each thing it stops at has a name."""
    page = visit(render_page(NaiveBayes().fit(*penguins)))
    page.get_by_label("Find", exact=True).focus()
    stops = ["Find"]
    for _ in range(5):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("(document.activeElement.labels?.[0] ?? document.activeElement).textContent"))
    assert stops[:3] == ["Find", "Sort by", "Bars"]
    assert all(own.startswith("More about ") for own in stops[3:])
    unnamed = page.eval_on_selector_all(
        "section[aria-labelledby=table] :is(button, input, select, summary, svg[role=img])",
        "all => all.filter(e => !(e.labels?.length || e.textContent.trim() || e.getAttribute('aria-label'))).length",
    )
    assert unnamed == 0
