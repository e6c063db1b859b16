"""From a file as people have it to an answer: what the commands say and do, beside the table that is meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from awkward import LEARNED, TABLES, Awkward
from sklearn.metrics import accuracy_score

from suffice.__main__ import main

Made = tuple[Awkward, Path, str]


@pytest.fixture(scope="module", params=TABLES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A table, the model that `suffice fit` makes of it, and what it says meanwhile."""
    folder = tmp_path_factory.mktemp(request.param)
    own = TABLES[request.param](folder)
    model, said = folder / "model.suffice", folder / "said"
    with pytest.MonkeyPatch.context() as patch, said.open("w", encoding="utf-8") as file:
        patch.setattr("sys.stderr", file)
        status = main(["fit", str(own.learn), "--target", own.target, *own.options, "-o", str(model)])
    words = said.read_text(encoding="utf-8")
    assert status == 0, words
    return own, model, words


def predicted(model: Path, data: Path, options: tuple[str, ...]) -> pd.DataFrame:
    answers = model.with_name(f"answers-{data.name}.csv")
    sheet = options[:2] if options[:1] == ("--sheet",) else ()
    assert main(["predict", str(model), str(data), *sheet, "-o", str(answers)]) == 0
    return pd.read_csv(answers, dtype={"label": str}, keep_default_na=False, sep=None, engine="python")


def test_the_fit_says_what_it_did_in_words_of_the_table(made: Made) -> None:
    own, _, said = made
    for text in own.says:
        assert text in said
    assert "Traceback" not in said
    assert all(word not in said for word in ("dtype", "DataFrame", "ndarray", "None"))


def test_rows_are_answered_as_those_that_are_meant(made: Made, tmp_path: Path) -> None:
    """Those that were learned and new ones get the probabilities of the clean table, written as Parquet."""
    own, model, _ = made
    probabilities = [f"p_{name}" for name in own.classes]
    for path, meant in ((own.learn, own.meant[:LEARNED]), (own.new, own.meant[LEARNED:])):
        meant.to_parquet(tmp_path / "meant.parquet")
        found, expected = predicted(model, path, own.options), predicted(model, tmp_path / "meant.parquet", ())
        assert len(found) == len(meant)
        assert list(found) == list(expected) == ["label", *probabilities, "log_density"]
        np.testing.assert_allclose(found[probabilities], expected[probabilities], atol=1e-9)


def test_the_answers_are_better_than_naming_the_commonest_class(made: Made) -> None:
    own, model, _ = made
    truth = own.meant[own.target][LEARNED:].astype(str)
    right = accuracy_score(truth, predicted(model, own.new, own.options)["label"])
    assert right >= truth.value_counts(normalize=True).max()


@pytest.mark.parametrize("command", ["score", "show", "explain", "outliers", "impute", "next", "drift"])
def test_every_question_is_answered(made: Made, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    own, model, _ = made
    words = [command, str(model)]
    if command != "show":
        words.append(str(own.new))
        words += own.options[:2] if own.options[:1] == ("--sheet",) else ()
    if command in ("score", "drift"):
        words += ["--target", own.target]
    assert main(words) in ((0, 3) if command == "drift" else (0,))
    done = capsys.readouterr()
    assert done.out.strip()
    assert "Traceback" not in done.err
