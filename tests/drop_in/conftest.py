"""scikit-learn's own test modules, loaded from the installed package with our classes in the place of its own."""

from __future__ import annotations

import pytest


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture
def global_dtype():
    import numpy as np

    return np.float64
