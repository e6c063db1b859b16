"""`suffice report` writes a page, or prints its facts."""

from __future__ import annotations

import json


def test_report_writes_a_page(cli, model, tmp_path):
    done = cli("report", model, "-o", tmp_path / "page.html")
    assert (done.status, done.out) == (0, "")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>species, from " in text
    assert "bill_length_mm" in text


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
