"""An automatic classifier whose joint density is a forest's answers elsewhere too, without log p(x)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import onnx
import pytest
from databases import run_duckdb
from evaluate import evaluate
from fitted_models import case, steps

from suffice import GenerativeClassifier, GenerativeForest
from suffice.automatic.forest_fitted import ForestJoint
from suffice.errors import ExportError
from suffice.export.lower import lower
from suffice.export.program import TreeSums


@pytest.mark.parametrize("name", ["automatic: joint forest", "automatic: joint forest, priors", "automatic: trees"])
def test_the_joint_density_is_a_forest(name: str) -> None:
    model, _ = case(name)
    assert isinstance(model._fitted.joint_value, ForestJoint)
    assert lower(model._fitted).joint is None


def test_rows_enough_for_trees_have_some_in_the_pool() -> None:
    model, _ = case("automatic: trees")
    assert {"forest", "boosted trees"} <= {member["name"] for member in model.members_ if member["weight"]}
    links = {term.logs for term in lower(model._fitted).terms if isinstance(term, TreeSums)}
    assert links == {False, True}


def test_what_is_handed_out_has_no_log_density() -> None:
    """The query and the file, each tried before it is handed out, have labels and posteriors."""
    model, rows = case("automatic: joint forest")
    answers = run_duckdb(model.to_sql(check=rows), rows.iloc[:0])
    assert list(answers.columns[len(rows.columns) :]) == ["label", "p_high", "p_low", "p_mid"]
    file = model.to_onnx(check=rows)
    assert [output.name for output in file.graph.output] == ["label", "probabilities"]
    assert "no log_density" in file.doc_string
    onnx.checker.check_model(file, full_check=True)


@pytest.mark.parametrize("verb", ["to_sql", "to_onnx"])
def test_the_check_still_finds_a_difference(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(fitted: Any) -> Any:
        program = lower(fitted)
        assert program.stack is not None
        return dataclasses.replace(
            program, stack=dataclasses.replace(program.stack, offset=program.stack.offset + np.array([2e-8, 0, 0]))
        )

    monkeypatch.setattr("suffice.questions.exports.lower", wrong)
    model, _ = case("automatic: joint forest")
    with pytest.raises(ExportError, match="does not answer as the model does"):
        getattr(model, verb)()


def test_fresh_rows_have_the_posteriors_of_the_model() -> None:
    model = GenerativeClassifier().fit(*steps())
    rows = steps(999)[0].iloc[600:]
    posterior, density = evaluate(lower(model._fitted), rows)
    assert density is None
    np.testing.assert_allclose(np.exp(posterior), model.predict_proba(rows), atol=1e-11, rtol=0)


def test_a_forest_by_itself_is_refused() -> None:
    """Its posteriors are those of its density."""
    model = GenerativeForest().fit(*steps(200))
    for verb in (model.to_sql, model.to_onnx):
        with pytest.raises(ExportError, match=r"The density of a forest.*Next: .*GenerativeClassifier"):
            verb()
