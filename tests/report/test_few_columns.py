"""A program of some columns answers as the model does where all others are unknown."""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import evaluate
from fitted_models import CASES, case

from suffice.export.lower import lower
from suffice.export.program import Projected
from suffice.report.few_columns import of_columns


@pytest.mark.parametrize("name", [name for name in CASES if name != "naive: words"])
def test_answers_are_those_of_rows_in_which_the_others_are_unknown(name):
    model, rows = case(name)
    program = lower(model._fitted)
    assert not any(isinstance(reading, Projected) for reading in program.readings)
    width = rows.shape[1]
    for kept in ([width - 1, 0][:width], list(range(0, width, 2)), list(range(width))[::-1]):
        few = of_columns(program, kept)
        assert [column.name for column in few.columns] == [rows.columns[j] for j in kept]
        hidden = rows.copy()
        for j in set(range(width)) - set(kept):
            hidden[rows.columns[j]] = np.nan if rows.dtypes.iloc[j].kind == "f" else None
        hidden = hidden.astype(rows.dtypes)
        posterior, density = evaluate(few, rows.iloc[:, kept])
        scale = 1e-7 if "more columns" in name else 1e-10
        np.testing.assert_allclose(np.exp(posterior), model.predict_proba(hidden), atol=scale, rtol=0)
        if density is not None:
            np.testing.assert_allclose(density, model.score_samples(hidden), rtol=scale, atol=scale)


def test_it_is_smaller():
    model, _ = case("naive: all families")
    program = lower(model._fitted)
    few = of_columns(program, [0])
    assert len(few.terms) < len(program.terms)
    assert len(few.readings) < len(program.readings)
