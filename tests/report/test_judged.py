"""What the page says of a table is what the estimator answers, counted."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss

from suffice import GaussianDiscriminant
from suffice.errors import SettingError
from suffice.report import collect_answers, render_page


@pytest.fixture
def halves(blobs):
    X, y = blobs
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return table[::2], y[::2], table[1::2].reset_index(drop=True), y[1::2]


def test_answers_are_counted(halves):
    X, y, new, truth = halves
    model = GaussianDiscriminant(shared=True).fit(X, y)
    answers = collect_answers(model, new, truth)
    p, predicted = model.predict_proba(new), model.predict(new)
    for c, own in enumerate(answers["classes"]):
        assert own["predicted"] == (predicted == model.classes_[c]).sum()
        assert own["actual"] == (truth == model.classes_[c]).sum()
        assert own["expected"] == pytest.approx(p[:, c].sum())
    quality = answers["quality"]
    assert quality["accuracy"] == pytest.approx(accuracy_score(truth, predicted))
    assert quality["log_loss"] == pytest.approx(log_loss(truth, p, labels=model.classes_))
    np.testing.assert_array_equal(quality["confusion"], confusion_matrix(truth, predicted, labels=model.classes_))
    pvalues = model.outlier_pvalues(new)
    np.testing.assert_allclose(answers["outliers"], pvalues)
    assert [own["row"] - 1 for own in answers["unusual"]] == np.argsort(pvalues, kind="stable")[:10].tolist()
    first = answers["unusual"][0]
    assert dict(first["cells"])["x0"] == f"{new['x0'][first['row'] - 1]:.4g}"


def test_unsure_answers_are_those_another_class_may_beat(halves):
    """Row by row, by what `predict_proba_interval` gives."""
    X, y, new, truth = halves
    model = GaussianDiscriminant(shared=True).fit(X[::4], y[::4])
    found, ends = collect_answers(model, new, truth, interval=0.9), model.predict_proba_interval(new, 0.9)
    best = model.predict_proba(new).argmax(axis=1)
    beaten = [any(own[c, 1] > own[b, 0] for c in range(len(own)) if c != b) for b, own in zip(best, ends, strict=True)]
    assert 0 < sum(beaten) < len(new)
    widths = [float(np.ptp(own[b])) for b, own in zip(best, ends, strict=True)]
    assert found["sure"] == {"level": 0.9, "width": np.median(widths), "unsure": sum(beaten)}
    first = found["unusual"][0]
    assert [first["low"], first["high"]] == ends[first["row"] - 1, best[first["row"] - 1]].tolist()
    assert first["low"] <= first["probability"] <= first["high"]
    assert "unsure answers" in render_page(model, new, truth, interval=0.9)
    with pytest.raises(SettingError, match="no rows are given"):
        render_page(model, interval=0.9)
    with pytest.raises(SettingError, match="level=2"):
        render_page(model, new, interval=2)


def test_what_has_moved_is_what_drift_says(halves):
    X, y, new, truth = halves
    model = GaussianDiscriminant(shared=True).fit(X, y)
    shifted = new.assign(x1=new["x1"] + 2 * new["x1"].std())
    moved = collect_answers(model, shifted, truth)["moved"]
    found = model.drift(shifted, truth)
    assert moved["joint_p_value"] == found.joint_p_value
    assert moved["columns"][0]["column"] == "x1"
    assert {own["column"]: own["effect"] for own in moved["columns"]} == dict(
        zip(found.columns, found.effect, strict=True)
    )


def test_columns_that_have_not_moved_have_no_sign(halves):
    X, y, _, _ = halves
    model = GaussianDiscriminant(shared=True).fit(X, y)
    page = render_page(model, X.assign(x1=X["x1"] - 3.0 * X["x1"].std()))
    assert "What has moved" in page
    assert re.search(r"−3\.0\d sd", page)
    assert "<td>0.00 sd</td>" in page
    assert not re.search(r"-\d+\.\d+ sd|[+−]0\.00 sd", page)


def test_labels_may_be_missing_or_of_no_class(halves):
    X, y, new, truth = halves
    model = GaussianDiscriminant().fit(X, y)
    labels = truth.astype(object)
    labels[:5], labels[5:8] = None, "never seen"
    answers = collect_answers(model, new, labels)
    assert answers["other_labels"] == 3
    assert answers["labelled"] == answers["quality"]["rows"] == len(new) - 8
    assert answers["quality"]["accuracy"] == pytest.approx(accuracy_score(truth[8:], model.predict(new)[8:]))
    nothing = collect_answers(model, new)
    assert nothing["quality"] is None
    assert nothing["labelled"] == 0
    page = render_page(model, new, labels, name="new.csv")
    assert "What it says of new.csv" in page
    assert "3 labels are of no class" in page
