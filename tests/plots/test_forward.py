"""What is drawn of the periods to come is what was measured."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from suffice import GaussianDiscriminant
from suffice.plots import ForwardValidationDisplay


def test_lines_are_the_figures_of_each_period():
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(400, 2)), np.arange(400)
    y = X[:, 0] + rng.normal(size=400) > 0
    display = ForwardValidationDisplay.from_estimator(GaussianDiscriminant(), X, y, time=time, periods=20, windows=())
    found = display.validation
    for name, line in display.lines_.items():
        assert_array_equal(line.get_ydata(), getattr(found, name))
    assert len(display.lines_) == 6
    names = [text.get_text() for text in display.shares_ax_.get_xticklabels()]
    assert len(names) <= 8
    assert names[0] == found.until[0]
    alone = ForwardValidationDisplay.from_validation(found, ax=display.figure_.add_subplot())
    assert list(alone.lines_) == ["log_loss", "said", "unchanged"]
    assert alone.shares_ax_ is None
