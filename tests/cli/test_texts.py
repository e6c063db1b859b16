"""Columns of texts on the command line: named or found, looked at, and explained word by word."""

import csv

import numpy as np
import pandas as pd
import pytest

from suffice import load
from suffice.schema import Kind

HAM = "are you home yet ? call me when u get there ok lar see you at the gym"
SAID = {"ham": HAM, "spam": "win a prize now ! call 08 txt"}


@pytest.fixture
def messages(tmp_path):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(120) < 0.4, "spam", "ham")
    lines = [" ".join(rng.choice(SAID[c].split(" "), 6)) + f" {i}" for i, c in enumerate(y)]
    path = tmp_path / "messages.csv"
    pd.DataFrame({"label": y, "text": lines, "city": [f"Bo {i}" for i in range(120)]}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("model", ["auto", "nb"])
def test_texts_are_found_or_named(cli, messages, tmp_path, model):
    out = tmp_path / "m.suffice"
    done = cli("fit", messages, "--target", "label", "--model", model, "--drop", "city", "-o", out).ok()
    assert "only names the rows" not in done.err
    found = load(out)
    assert found._fitted.schema.columns[0].kind is Kind.TEXT
    cli("fit", messages, "--target", "label", "--model", model, "--text", "city", "--force", "-o", out).ok()
    wrong = cli("fit", messages, "--target", "label", "--model", model, "--text", "town", "--force", "-o", out)
    assert wrong.status != 0
    assert "'town'" in wrong.err
    other = cli("fit", messages, "--target", "label", "--model", "forest", "--text", "text", "--force", "-o", out)
    assert "--text is for --model auto and --model nb" in other.err


def test_look_says_what_is_read_word_by_word(cli, messages):
    done = cli("look", messages, "--target", "label")
    (line,) = [line for line in done.out.splitlines() if line.startswith("text ")]
    assert "word by word" in line
    (city,) = [line for line in done.out.splitlines() if line.startswith("city ")]
    assert "word by word" not in city


def test_explain_names_the_words_behind_a_text(cli, messages, tmp_path):
    out, ask = tmp_path / "m.suffice", tmp_path / "ask.csv"
    cli("fit", messages, "--target", "label", "--drop", "city", "-o", out).ok()
    with ask.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text"], [asked := "win a prize unheard " * 4]])
    done = cli("explain", out, ask, "--top", 2)
    odds = load(out).explain(pd.DataFrame({"text": [asked]}), words=True)[0]["text"]
    ham, spam = load(out).classes_.tolist().index("ham"), load(out).classes_.tolist().index("spam")
    ranked = sorted(odds, key=lambda word: -abs(odds[word][spam] - odds[word][ham]))[:2]
    assert all(f"{word} {odds[word][spam] - odds[word][ham]:+.2f}" in done.out for word in ranked)
    assert "text=win a prize" in done.out.replace(asked.strip(), "")  # the middle of long texts is left out
