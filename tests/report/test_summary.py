"""What a notebook shows of a model: what was learned, below scikit-learn's diagram, whatever names a table has."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.notes import to_know

HOSTILE = ["<script>alert(1)</script>", "a\"b'c&amp;", "naïve π", "x" * 300, "</div></table>", "new\nline", "bell\x07"]


class Reader(HTMLParser):
    """What a browser makes of HTML: elements opened and not closed, all of them, and the text."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.open.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader.seen, " ".join(reader.text)


@pytest.fixture
def table(rng):
    y = rng.choice(["calm", "wild", "odd"], 120, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(120, 3)) + (y == "wild")[:, None]
    return pd.DataFrame(X, columns=["height", "depth", "width"]), y


@pytest.mark.parametrize("make", [GaussianDiscriminant, NaiveBayes, GenerativeClassifier])
def test_text_and_html_say_what_the_model_says(table, make) -> None:
    X, y = table
    model = make().fit(X, y)
    summary, worth = model.summary(), model.importance()
    _, shown = read(summary._repr_html_())
    for said in (str(summary), shown):
        flat = " ".join(said.split())
        assert str(model.quality()) in flat
        assert "learned from 120 rows, 3 columns, 3 classes" in flat
        for label, weight in zip(model.classes_, model.statistics_.weight, strict=True):
            assert f"{label} {100 * weight / 120:.0f} %" in flat
        for j in worth.order:
            assert f"{worth.columns[j]} {worth.mean[j]:+.4f} {worth.standard_error[j]:.4f}" in flat
    assert [own[0] for own in summary.importance] == [worth.columns[j] for j in worth.order]
    if make is GenerativeClassifier:
        shares = {own["name"]: own["share"] for own in model.members_}
        assert {name: share for name, share, _ in summary.members} == shares
    assert list(summary.notes) == to_know(model.notes_)
    assert summary.details == sum(note.kind.is_detail for note in model.notes_)


def test_names_are_text_and_nothing_else(rng) -> None:
    y = rng.choice(['"><img src=x onerror=alert(2)>', "<b>bold</b>", "<!--"], 90)
    X = pd.DataFrame(rng.normal(size=(90, len(HOSTILE))), columns=HOSTILE)
    model = NaiveBayes().fit(X.assign(same=1.0), y)
    seen, text = read(model.summary()._repr_html_())
    assert seen <= {"div", "strong", "p", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert "<script>alert(1)</script>" in text
    assert "onerror=alert(2)" in text
    assert "\x07" not in str(model.summary())
    learned = model._repr_html_().partition('<div class="suffice-summary"')[2]
    assert "<script" not in learned
    assert "<img" not in learned


def test_the_diagram_of_scikit_learn_stays(table) -> None:
    X, y = table
    model = NaiveBayes()
    for state in ("new", "fitted"):
        bundle = model._repr_mimebundle_()
        assert bundle["text/plain"] == repr(model) == "NaiveBayes()"
        assert "sk-container" in bundle["text/html"]
        assert "sk-container" in model._repr_html_()
        assert ("suffice-summary" in bundle["text/html"]) == (state == "fitted")
        model.fit(X, y)
    with sklearn.config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")


def test_to_be_shown_changes_nothing(table) -> None:
    X, y = table
    model = GaussianDiscriminant(shared=True).fit(X, y)
    before = pickle.dumps(model)
    model._repr_html_()
    assert pickle.dumps(model) == before
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(before)._repr_html_().count("suffice-summary") == 1


def test_what_takes_long_is_left_to_a_verb(table, rng) -> None:
    X, y = table
    mixture = MixtureDiscriminant(2, n_init=1, random_state=0).fit(X, y)
    assert "quality() says how good it is" in mixture._repr_html_()
    mixture.quality()
    assert "Judged on rows it had not seen" in mixture._repr_html_()
    auto = GenerativeClassifier().fit(X, y)
    assert "importance() says" in auto._repr_html_()
    auto.importance()
    assert "column is worth" in auto._repr_html_()


def test_an_edit_is_not_estimated_to_be_shown(table) -> None:
    X, y = table
    model = GenerativeClassifier().partial_fit(X[:90], y[:90]).partial_fit(X[90:], y[90:])
    html = model._learned_html()
    assert "learned from 120 rows" in html
    assert "estimates it anew" in html
    model.predict(X)
    assert "Judged on rows it had not seen" in model._learned_html()


def test_a_model_without_rows_says_why(table) -> None:
    X, y = table
    for model in (NaiveBayes(keep_rows=0).fit(X, y), NaiveBayes().fit(X, y).release()):
        assert "it cannot say: This model" in str(model.summary())
        assert "it cannot say: This model" in model._repr_html_()


def test_many_classes_and_columns_are_cut(rng) -> None:
    y = rng.integers(0, 40, 800)
    model = NaiveBayes().fit(rng.normal(size=(800, 30)) + y[:, None], y)
    text = str(model.summary())
    assert "… 28 more" in text
    assert "… 24 more" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_reprs_are_short(table) -> None:
    X, y = table
    model = GaussianDiscriminant().fit(X, y)
    shown = (model.model_, model.statistics_, model.quality(), model.drift(X[:50]), model.learning_curve(X, y, draws=1))
    for value in (*shown, model.assess(X, y), *GenerativeClassifier().fit(X, y).notes_):
        assert len(repr(value)) < 2500, repr(value)
        assert "array(" not in repr(value)
    assert "'calm'" in repr(model.model_)
    assert np.isfinite(model.quality().accuracy)
