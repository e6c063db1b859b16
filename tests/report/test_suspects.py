"""Labels that look wrong, on the page: what the library says of the rows kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.plots._view import View
from suffice.report import render_page
from suffice.report.facts import collect_suspects


@pytest.fixture(scope="module")
def slipped(penguins) -> tuple[pd.DataFrame, pd.Series]:
    """Return half of the penguins with four wrong labels."""
    table, label = penguins[0], penguins[1].copy()
    label[[9, 169, 199, 299]] = ["Gentoo", "Adelie", "Chinstrap", "Gentoo"]
    return table[1::2].reset_index(drop=True), label[1::2].reset_index(drop=True)


@pytest.mark.parametrize("make", [GenerativeClassifier, NaiveBayes])
def test_the_worst_are_those_of_the_library_with_what_speaks_against_them(slipped, make) -> None:
    X, y = slipped
    model = make().fit(X, y)
    p = model.suspect_labels(X, y)
    found = collect_suspects(View(model))
    assert found["rows"] == 172
    assert found["expected"] == pytest.approx(p.sum(), rel=1e-6)
    shown = np.sort(p[p >= 0.1])[::-1][:10]
    np.testing.assert_allclose([own["probability"] for own in found["worst"]], shown, rtol=1e-6)
    for own in found["worst"]:
        assert own["given"] != own["other"]
        odds = [reason["odds"] for reason in own["reasons"]]
        assert odds == sorted(odds, reverse=True)
        assert all(value > 1.0 for value in odds)
        assert len(odds) <= 3


def test_odds_of_independent_columns_are_their_likelihood_ratios(slipped) -> None:
    X, y = slipped
    islands = X[["island"]]
    model = NaiveBayes(smoothing=1.0).fit(islands, y)
    for own in collect_suspects(View(model))["worst"]:
        (reason,) = own["reasons"]
        share = {
            label: ((X["island"] == reason["cell"]) & (y == label)).sum() + 1.0
            for label in (own["given"], own["other"])
        }
        total = {label: (y == label).sum() + 3.0 for label in share}
        ratio = (share[own["other"]] / total[own["other"]]) / (share[own["given"]] / total[own["given"]])
        assert reason["odds"] == pytest.approx(ratio)


def test_the_page_says_so_and_escapes_what_people_wrote(slipped) -> None:
    X, y = slipped
    y = y.replace("Gentoo", "<b>Gentoo</b>")
    page = render_page(NaiveBayes().fit(X, y))
    assert "Which labels look wrong" in page
    assert "<b>Gentoo</b>" not in page
    assert "odds times" in page


def test_a_table_without_suspects_and_models_that_cannot_tell(blobs) -> None:
    clear = np.r_[np.arange(20.0), 100.0 + np.arange(20.0)][:, None]
    model = GaussianDiscriminant(shared=True).fit(clear, ["low"] * 20 + ["high"] * 20)
    assert collect_suspects(View(model))["worst"] == []
    assert "No label is wrong with a probability of a tenth or more" in render_page(model)
    X, y = blobs
    for other in (MixtureDiscriminant(2, n_init=1, random_state=0), GaussianDiscriminant(keep_rows=0)):
        assert "why_not" in collect_suspects(View(other.fit(X, y)))
