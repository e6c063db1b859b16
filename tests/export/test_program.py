"""A program evaluated by itself gives what the model it was made from gives."""

from __future__ import annotations

import numpy as np
import pytest
from compare import has_density
from evaluate import evaluate
from fitted_models import CASES, case

from suffice.export.lower import lower


@pytest.mark.parametrize("name", CASES)
def test_program_equals_model(name: str) -> None:
    model, rows = case(name)
    program = lower(model._fitted)
    posterior, density = evaluate(program, rows)
    # rounding of sums of d terms as large as the log densities, and of covariances repaired to condition 1e6
    scale = 1e-9 if "more columns" in name else 1e-11
    expected = model.predict_proba(rows)
    np.testing.assert_allclose(np.exp(posterior), expected, atol=scale, rtol=0)
    assert (density is not None) == has_density(model)
    if density is not None:
        np.testing.assert_allclose(density, model.score_samples(rows), rtol=scale, atol=scale)
    some = model.predict_log_proba(rows) > -600
    np.testing.assert_allclose(posterior[some], model.predict_log_proba(rows)[some], rtol=scale * 10, atol=scale * 10)
