"""`suffice report` writes a page, or prints its facts."""

from __future__ import annotations

import json

from suffice.datasets import penguins_path


def test_report_of_a_table(cli, model, tmp_path):
    done = cli("report", model, penguins_path(), "-o", tmp_path / "page.html")
    assert (done.status, done.out) == (0, "")
    assert "True classes are in column 'species'" in done.err
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(word in text for word in ("<title>species, from ", "bill_length_mm", "What it says of penguins.csv"))
    done = cli("report", model, penguins_path(), "--json", "--target", "species")
    answers = json.loads(done.out)["answers"]
    assert answers["rows"] == answers["labelled"] == 344
    assert sum(own["predicted"] for own in answers["classes"]) == 344
    assert "'kind'" in cli("report", model, penguins_path(), "--target", "kind").complaint
