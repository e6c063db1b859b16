"""Which rows stay on the device they live on: arrays of other libraries, where scikit-learn dispatches on them."""

from __future__ import annotations

from sklearn import get_config

from .._arrays_api import fetch, is_device_array, is_on_cpu
from ..errors import DataError


def dispatches() -> bool:
    """Return whether arrays of other libraries are to be worked on where they live."""
    return bool(get_config().get("array_api_dispatch", False))


def take_in(X: object, resident: bool) -> object:
    """Return X as it is to be read: as it is, or on the CPU as NumPy's.

    An array of another library stays where it lives if `resident` and scikit-learn's `array_api_dispatch` is on. If
    that is off, DataError for one that the CPU cannot read.
    """
    if not is_device_array(X):
        return X
    if dispatches():
        return X if resident else fetch(X)
    if not is_on_cpu(X):
        raise DataError.elsewhere(type(X).__name__, str(X.device))
    return fetch(X)
