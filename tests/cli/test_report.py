"""`suffice report` writes a page, or prints its facts."""

from __future__ import annotations

import json


def test_report_writes_a_page(cli, model, tmp_path):
    done = cli("report", model, "-o", tmp_path / "page.html")
    assert (done.status, done.out) == (0, "")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>species, from " in text
    assert "bill_length_mm" in text


def test_report_prints_facts(cli, model, tmp_path):
    done = cli("report", model, "--json").ok()
    facts = json.loads(done.out)
    assert facts["rows"] == 344
    assert [entry["label"] for entry in facts["classes"]] == ["Adelie", "Chinstrap", "Gentoo"]
    assert not list(tmp_path.glob("*.html"))


def test_report_does_not_replace_its_model(cli, model):
    before = model.read_bytes()
    assert cli("report", model, "-o", model).status == 2
    assert model.read_bytes() == before


def test_report_of_the_automatic_classifier(cli, tmp_path, rng):
    from suffice import GenerativeClassifier

    X = rng.normal(size=(60, 2))
    GenerativeClassifier().fit(X, ["a", "b"] * 30).save(tmp_path / "model.suffice")
    done = cli("report", tmp_path / "model.suffice", "--json").ok()
    assert json.loads(done.out)["members"]


def test_report_of_a_table(cli, model, tmp_path):
    from suffice.datasets import penguins_path

    done = cli("report", model, penguins_path(), "-o", tmp_path / "page.html")
    assert (done.status, done.out) == (0, "")
    assert "True classes are in column 'species'" in done.err
    assert "What it says of penguins.csv" in (tmp_path / "page.html").read_text(encoding="utf-8")
    done = cli("report", model, penguins_path(), "--json", "--target", "species")
    answers = json.loads(done.out)["answers"]
    assert answers["rows"] == answers["labelled"] == 344
    assert sum(own["predicted"] for own in answers["classes"]) == 344
    assert "'kind'" in cli("report", model, penguins_path(), "--target", "kind").complaint
