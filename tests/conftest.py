"""What several test files need: seeded numbers and a few small tables."""

import importlib
import os

import numpy as np
import pandas as pd
import pytest
import sklearn

from suffice import load, table
from suffice.datasets import penguins_path


@pytest.fixture(autouse=True, scope="session")
def no_page_width():
    """No width of a page, which runners of tests or a shell may hand on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture
def rng():
    """A generator that starts alike in every test, whatever the order of the tests."""
    return np.random.default_rng(20240607)


@pytest.fixture
def blobs(rng):
    """Three overlapping correlated classes of unequal size in four columns: (X, y), y text."""
    sizes, d = (40, 25, 15), 4
    mixing = rng.normal(size=(3, d, d)) / 2 + np.eye(d)
    X = np.concatenate(
        [rng.normal(size=(n, d)) @ m + c * 0.8 for c, (n, m) in enumerate(zip(sizes, mixing, strict=True))]
    )
    y = np.repeat(["ash", "birch", "cedar"], sizes)
    order = rng.permutation(len(y))
    return X[order], y[order]


@pytest.fixture
def holed(blobs, rng):
    """The same table with a fifth of its cells missing, one row without any cell, and every class and column seen."""
    X, y = blobs
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    X[7] = np.nan
    return X, y


@pytest.fixture(scope="session")
def penguins():
    """The penguins, and their species."""
    found = pd.read_csv(penguins_path())
    return found.drop(columns="species"), found["species"]


@pytest.fixture(scope="session")
def read_back(tmp_path_factory):
    """What the file that a model is saved to holds."""

    def back(model):
        model.save(path := tmp_path_factory.mktemp("model") / "m.suffice")
        return load(path)

    return back


class Library:
    """A library of arrays other than NumPy."""

    def __init__(self, name):
        self.name = name
        if name == "torch" and not os.environ.get("SUFFICE_ARRAYS"):
            pytest.importorskip("torch", reason="make arrays installs PyTorch")
        if name == "array_api_strict":
            pytest.importorskip(name, reason="make oldest has no arrays of other libraries")
        self.xp = importlib.import_module(name)

    def array(self, values, narrow=False):
        """Return NumPy values as an array of this library; `narrow` is a device without float64."""
        values = np.array(values)
        if narrow and self.name == "array_api_strict":
            values = values.astype(np.float32) if values.dtype.kind == "f" else values
            return self.xp.asarray(values, device=self.xp.Device("no_float64"))
        return self.xp.asarray(values)

    def is_mine(self, value):
        """Whether a value is an array of this library."""
        return isinstance(value, self.xp.Tensor if self.name == "torch" else type(self.xp.asarray(0)))


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request):
    """Each library of arrays; PyTorch where it is installed, as `make arrays` does."""
    return Library(request.param)


@pytest.fixture
def dispatch(monkeypatch):
    """Arrays of other libraries stay where they live, as under scikit-learn's `array_api_dispatch`.

    Which scikit-learn allows only where SCIPY_ARRAY_API=1 was set before SciPy was imported, as `make arrays` does.
    """
    if os.environ.get("SCIPY_ARRAY_API") == "1":
        with sklearn.config_context(array_api_dispatch=True):
            yield
    else:
        monkeypatch.setattr(table, "dispatches", lambda: True)
        yield
