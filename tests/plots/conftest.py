"""Small tables that plots must cope with, and models of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import GenerativeClassifier, NaiveBayes


@pytest.fixture(scope="session")
def mixed() -> tuple[pd.DataFrame, Any]:
    """120 rows of numbers, text, truth values and counts, a tenth of the cells missing, and three classes."""
    rng, n = np.random.default_rng(20240607), 120
    y = rng.choice(["a", "b", "c"], n)
    shift = pd.Series(y).map({"a": 0.0, "b": 1.0, "c": 3.0}).to_numpy()
    cells = {
        "length": rng.normal(size=n) + shift,
        "cost ($) of $x$": rng.normal(size=n) * 1e5 - shift,
        "where": rng.choice(["north", "south", "a place whose name is much too long for an axis"], n),
        "visits": rng.poisson(2 + shift).astype(float),
    }
    table = pd.DataFrame(cells).mask(rng.random((n, 4)) < 0.1)
    table["smoker"] = pd.array(rng.random(n) < 0.2 + 0.2 * shift / 3, dtype="boolean")
    table.loc[3, "smoker"] = pd.NA
    return table, y


@pytest.fixture(scope="session", params=["naive Bayes", "automatic"])
def model(request: pytest.FixtureRequest, mixed: tuple[pd.DataFrame, Any]) -> Any:
    """Two models of them."""
    made = NaiveBayes({"visits": "poisson"}) if request.param == "naive Bayes" else GenerativeClassifier()
    return made.fit(*mixed)


@pytest.fixture
def many(rng: Any) -> tuple[Any, Any]:
    """Fifteen classes of twelve rows in three columns."""
    centers = rng.normal(size=(15, 3)) * 6
    y = np.repeat([f"_class {i}" for i in range(15)], 12)
    return centers.repeat(12, axis=0) + rng.normal(size=(180, 3)), y
