"""The page holds the facts, loads nothing, and escapes what people wrote."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from fitted_models import case, steps

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant, NaiveBayes
from suffice.report import collect_facts, render_page

EMPTY = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """Collects what the tests ask: tags, identifiers, addresses, text, and whether tags close in order."""

    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.links, self.text, self.open, self.faults = set(), [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href"):
                self.links.append(value)
            if name.startswith("on"):
                self.faults.append((tag, name))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.faults == []
    return reader


@pytest.fixture(scope="module")
def page():
    """That of a mixed table whose names are markup."""
    rng = np.random.default_rng(0)
    X = np.empty((60, 3), dtype=object)
    X[:, 0] = rng.normal(size=60)
    X[:, 1] = rng.choice(["<b>bold</b>", 'say "so" & go'], 60)
    X[:, 2] = rng.normal(size=60)
    X[5, 0] = None
    y = pd.Series(np.repeat(["<script>alert(1)</script>", "a & b", "plain"], 20), name="tree <kind>")
    model = NaiveBayes().fit(X, y)
    model._edit_past(source="trees.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1234567890")
        return render_page(model, X, y, name="a < b.csv")


def test_page_is_well_formed_and_loads_nothing(page):
    reader = read(page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert not set("<>&") & set(data)
    assert len(set(reader.ids)) == len(reader.ids)
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in reader.links)
    targets = {link[1:] for link in reader.links if link.startswith("#")}
    targets |= set(re.findall(r"url\(#([^)]+)\)", page))
    assert targets <= set(reader.ids)
    assert "@import" not in page
    assert not re.search(
        r"\b(eval|Function|innerHTML|insertAdjacentHTML|document\.write|fetch|XMLHttpRequest)\b", script
    )
    assert not re.search(r"https?://(?!www\.w3\.org/)", page)  # name spaces of SVG only
    assert "<script>alert(1)</script>" in "".join(reader.text)
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(svg)
    assert len(page) < 1_000_000


def test_facts_are_those_of_the_model(blobs):
    X, y = blobs
    model = GaussianDiscriminant(shared=True).fit(X, y)
    facts = collect_facts(model)
    p = np.exp(model.leave_one_out(X, y))
    truth = np.searchsorted(model.classes_, y)
    assert facts["quality"]["rows"] == facts["rows"] == len(y)
    np.testing.assert_allclose(facts["quality"]["accuracy"], (p.argmax(axis=1) == truth).mean())
    np.testing.assert_allclose(facts["quality"]["log_loss"], -np.log(p[np.arange(len(y)), truth]).mean())
    share = np.bincount(truth) / len(y)
    np.testing.assert_allclose(facts["quality"]["baseline"], -(share * np.log(share)).sum())
    table = np.zeros((3, 3), dtype=int)
    np.add.at(table, (truth, p.argmax(axis=1)), 1)
    assert facts["quality"]["confusion"] == table.tolist()
    assert facts["settings"] == {"shared": "True"}
    assert [entry["label"] for entry in facts["classes"]] == model.classes_.tolist()
    sd = np.sqrt(np.diagonal(model.covariances_))
    for j, column in enumerate(facts["columns"]):
        for c, cell in enumerate(column["cells"]):
            low, high = map(float, cell.split(" to "))
            # the middle 68 % is ± 0.994 standard deviations, told to a cell of the grid
            span = np.ptp(X[:, j])
            assert low == pytest.approx(model.means_[c, j] - 0.994 * sd[j], abs=0.01 * span)
            assert high == pytest.approx(model.means_[c, j] + 0.994 * sd[j], abs=0.01 * span)


def test_repairs_components_and_members_are_listed(blobs):
    X, y = blobs[0][:, :2], blobs[1]
    model = MixtureDiscriminant(2, n_init=1, random_state=0).fit(np.column_stack([X, X[:, 0]]), y)
    page = render_page(model)
    text = "".join(read(page).text)
    assert "<h1>MixtureDiscriminant</h1>" in page
    assert "The components" in page
    assert collect_facts(model)["quality"]["judged_by"] == "cross-validation"
    assert model.notes_
    for note in model.notes_:
        assert note.what in text
        assert note.why in text
    facts = collect_facts(GenerativeClassifier().fit(X, y))
    shares = [member["share"] for member in facts["members"]]
    assert len(shares) > 1
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)


def test_what_cannot_be_judged_says_why(blobs):
    facts = collect_facts(NaiveBayes(keep_rows=0).fit(*blobs))
    assert "keeps no rows" in facts["quality"]["why_not"]


def test_what_a_forest_cannot_is_said():
    """A forest by itself has no form; beside a pool the form goes without what is asked of the joint density."""
    X, y = steps(200)
    alone, beside = GenerativeForest().fit(X, y), case("automatic: joint forest")[0]
    page = render_page(alone)
    assert re.search(r"This page cannot answer questions: The density of a forest.*estimator\.</p>", page)
    assert "<form" not in page
    page = render_page(beside)
    assert "a simpler one, of Gaussians and categories, stands for it" in page
    assert '<form id="row"' in page
    for model in (alone, beside):
        town = next(own for own in collect_facts(model)["columns"] if own["name"] == "town")
        assert all(re.match(r"(Aix|Bonn|O'Hara|) \(", cell) for cell in town["cells"])


def test_the_title_is_what_the_model_was_told(page):
    assert "<h1>tree &lt;kind&gt;, from trees.csv</h1>" in page
    assert '<time datetime="2009-02-13">13 February 2009</time>' in page
    assert "<title>tree &lt;kind&gt;, from trees.csv</title>" in page


def test_pairs_taken_for_one_another_are_listed_by_rows(rng):
    y = np.repeat(["a", "b", "c"], [60, 30, 30])
    X = rng.normal(size=(120, 2)) + np.array([[0, 0], [0.5, 0], [6, 6]])[np.repeat([0, 1, 2], [60, 30, 30])]
    quality = collect_facts(GaussianDiscriminant().fit(X, y))["quality"]
    table = np.array(quality["confusion"])
    off = table - np.diag(np.diag(table))
    assert [own["rows"] for own in quality["confused"]] == sorted(off[off > 0].tolist(), reverse=True)
    for own in quality["confused"]:
        i, j = "abc".index(own["true"]), "abc".index(own["answered"])
        assert table[i, j] == own["rows"]
        assert own["share"] == own["rows"] / [60, 30, 30][i]
    recall = np.diag(table) / table.sum(axis=1)
    assert quality["weakest"] == {"label": "abc"[recall.argmin()], "recall": pytest.approx(recall.min())}


def test_whole_numbers_are_told_as_whole_numbers(rng):
    y = np.repeat(["a", "b"], 100)
    X = pd.DataFrame({"age": rng.integers(20, 60, 200) + 9 * (y == "b"), "dose": np.round(rng.normal(5, 1, 200), 1)})
    cells = {own["name"]: own["cells"] for own in collect_facts(GaussianDiscriminant().fit(X, y))["columns"]}
    assert all(re.fullmatch(r"\d+ to \d+", cell) for cell in cells["age"])
    assert all(re.fullmatch(r"\d\.\d to \d\.\d", cell) for cell in cells["dose"])


def test_pictures_take_the_colours_of_the_page(page):
    drawn = re.findall(r'<div class="picture".*?</svg>', page, re.DOTALL)
    assert drawn
    for svg in drawn:
        assert not re.search(r"#(000000|ffffff|333333|0072b2|d55e00)\b", svg, re.IGNORECASE)
    assert "var(--c0)" in page


def test_columns_that_share_out_a_total_have_a_page(rng):
    """None of them can be known by itself, drawn or left out."""
    X, y = rng.poisson(2, size=(40, 4)).astype(float), np.arange(40) % 2
    page = render_page(NaiveBayes("multinomial").fit(X, y))
    assert page.count('<input class="cell"') == 4
    assert "Column by column" not in page
