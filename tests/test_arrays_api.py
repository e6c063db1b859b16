"""The door to arrays of other libraries: there and back, places, chunks, bits."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp

from suffice import _arrays_api as door
from suffice.stats.rows import SPREAD, priorities


def test_there_and_back(library, rng):
    X = rng.normal(size=(5, 3))
    there = library.array(X)
    assert door.is_device_array(there)
    assert_array_equal(door.fetch(there), X)
    assert_array_equal(door.fetch(door.put(X * 2, there)), X * 2)
    assert_array_equal(door.fetch(door.take(there, np.array([3, 0]))), X[[3, 0]])
    assert_array_equal(door.fetch(door.take(there, slice(1, 3))), X[1:3])
    assert_array_equal(door.fetch(door.take(there, X[:, 0] > 0)), X[X[:, 0] > 0])


@pytest.mark.parametrize("value", [np.zeros(2), [1.0], "text", None, 3.0, np.float64(1), (1, 2)])
def test_what_is_not_elsewhere(value):
    assert not door.is_device_array(value)


def test_what_is_sent_is_a_copy(library):
    """A model's own parameters must not change with what a device does to its copy."""
    values = np.ones(3)
    there = door.put(values, library.array(np.zeros(2)))
    there[0] = 7.0
    assert values[0] == 1.0


def test_a_device_without_float64_gets_float32(library):
    there = library.array(np.zeros((2, 2)), narrow=True)
    if door.has_float64(there):
        pytest.skip(f"{library.name} on the CPU computes in float64")
    sent = door.put(np.array([0.1, 1e-3]), there)
    assert sent.dtype == door.wide_float(there) == library.xp.float32
    assert door.place(there) != door.place(library.array(np.zeros((2, 2))))


def test_softmax_and_sums(library, rng, monkeypatch):
    monkeypatch.setattr(door, "BLOCK_CELLS", 8)
    scores = rng.normal(size=(9, 3)) * 300
    assert_allclose(door.fetch(door.device_logsumexp(library.array(scores))), logsumexp(scores, axis=1), rtol=1e-14)
    found = door.device_log_softmax(library.array(scores), library.array(np.zeros(3)))
    assert_allclose(door.fetch(found), log_softmax(scores, axis=1), rtol=1e-14, atol=1e-13)


def test_rows_without_any_density_get_the_prior(library):
    scores = library.array(np.array([[-np.inf, -np.inf], [0.0, -np.inf]]))
    prior = np.log([0.3, 0.7])
    found = door.device_log_softmax(scores, library.array(prior))
    assert_allclose(door.fetch(found), [prior, [0.0, -np.inf]])


def test_hashes_of_rows_are_those_of_the_cpu(library, rng):
    """Rows are kept by the bits of their cells: parts from a device and from the CPU keep the same ones."""
    X = rng.normal(size=(40, 6)) * 10.0 ** rng.integers(-200, 100, (40, 6))
    X[3, 2], X[4, 1], X[5, 5] = np.nan, -0.0, 0.0
    assert_array_equal(priorities(library.array(X), 3), priorities(X, 3))
    narrow = rng.normal(size=(9, 6)).astype(np.float32)
    assert_array_equal(priorities(library.array(narrow), 3), priorities(narrow, 3))
    found = door.row_bits(library.array(X), SPREAD, np.ones(6, dtype=np.uint64))
    assert (found is None) == (library.name == "array_api_strict")


def test_caches_do_not_travel():
    cache = door.DeviceCache(a=1)
    assert not pickle.loads(pickle.dumps(cache))
    assert not copy.deepcopy(cache)


def test_without_array_api_compat(library, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"array-api-compat, which is not installed.*pip install.*\[array\]"):
        door.namespace(library.array(np.zeros(2)))
