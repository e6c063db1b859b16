"""The helpers around NumPy: log space, triangles, groups of rows, threads."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax as scipy_log_softmax
from threadpoolctl import threadpool_info

from suffice import _arrays
from suffice._arrays import (
    log_softmax,
    parallel_map,
    pattern_groups,
    row_chunks,
    rows_within,
    single_blas_thread,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3), min_size=1, max_size=5))
def test_log_softmax(scores):
    scores = np.array(scores)
    found = log_softmax(scores)
    assert_allclose(found, scipy_log_softmax(scores, axis=1), rtol=1e-12, atol=1e-12)
    assert_allclose(np.exp(found).sum(axis=1), 1, rtol=1e-12)


def test_log_softmax_with_impossible_classes():
    inf = np.inf
    assert_allclose(log_softmax(np.array([[0.0, -inf], [-inf, -1e5]])), [[0, -inf], [-inf, 0]])
    assert_allclose(log_softmax(np.array([[-1e6, 0.0]])), [[-1e6, 0]])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), d=st.sampled_from([1, 3, 8, 9, 17]))
def test_groups_of_rows_with_the_same_observed_cells(seed, n, d):
    observed = np.random.default_rng(seed).random((n, d)) < 0.6
    groups = list(pattern_groups(observed))
    for columns, index in groups:
        expected = np.zeros(d, dtype=bool)
        expected[columns] = True
        assert (observed[index] == expected).all()
    assert_array_equal(np.sort(np.concatenate([index for _, index in groups])), np.arange(n))
    assert len({tuple(columns) for columns, _ in groups}) == len(groups)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_parallel_results_come_in_order(threads, monkeypatch):
    monkeypatch.setattr(_arrays, "workers", lambda: threads)
    seen = set()

    def square(x):
        seen.add(threading.get_ident())
        return x * x

    assert list(parallel_map(square, range(100))) == [x * x for x in range(100)]
    assert len(seen) <= threads


def test_a_thread_that_helps_may_ask_for_help(monkeypatch):
    """More questions within questions than there are threads: each is answered by who asks, if by nobody else."""
    monkeypatch.setattr(_arrays, "workers", lambda: 2)

    def total(depth):
        return 1 if depth == 0 else sum(parallel_map(total, [depth - 1] * 3))

    assert list(parallel_map(total, [4] * 5)) == [3**4] * 5


def test_an_interrupt_ends_the_work(monkeypatch):
    monkeypatch.setattr(_arrays, "workers", lambda: 2)
    begun = []

    def interrupted(x):
        begun.append(x)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(parallel_map(interrupted, range(1000)))
    assert len(begun) <= 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_has_threads_of_its_own():
    code = """if True:
        import os, sys
        from suffice import _arrays
        _arrays.workers = lambda: 3
        expected = [x * x for x in range(40)]
        assert list(_arrays.parallel_map(lambda x: x * x, range(40))) == expected
        child = os.fork()
        if not child:
            os._exit(0 if list(_arrays.parallel_map(lambda x: x * x, range(40))) == expected else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_an_error_in_a_worker_is_raised_here(monkeypatch):
    monkeypatch.setattr(_arrays, "workers", lambda: 3)

    def fail(x):
        raise ZeroDivisionError(f"item {x}")

    with pytest.raises(ZeroDivisionError, match="item 0"):
        list(parallel_map(fail, range(5)))


def blas_threads():
    return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_limit_on_blas_threads_is_lifted_by_the_last_one_out():
    before = blas_threads()
    with single_blas_thread():
        with single_blas_thread():
            assert set(blas_threads().values()) <= {1}
        assert set(blas_threads().values()) <= {1}
    assert blas_threads() == before
    with pytest.raises(KeyError), single_blas_thread():
        raise KeyError
    assert blas_threads() == before


def test_overlapping_limits_of_two_threads():
    """The first in is the first out: what it restores must wait for the other."""
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with single_blas_thread():
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=hold)
    with single_blas_thread():
        other.start()
        assert inside.wait(10)
    assert set(blas_threads().values()) <= {1}
    leave.set()
    other.join()
    assert blas_threads() == before


@settings(deadline=None)  # some thousand chunks beside other work
@given(cells=st.integers(0, 1 << 30), budget=st.integers(1, 1 << 30), least=st.integers(1, 300), n=st.integers(0, 5000))
def test_chunks_of_rows_keep_to_their_budget(cells, budget, least, n):
    size = rows_within(8 * cells, budget, least=least)
    assert size == least or 8 * cells * size <= budget
    assert 8 * cells * (size + 1) > budget or not cells
    assert np.concatenate([np.arange(n)[part] for part in row_chunks(n, size)] or [[]]).tolist() == list(range(n))


def test_a_thread_that_is_slow_to_begin_the_last_item_is_waited_for():
    """It took a number, and another thread took the result out before it had been fetched: both waited for ever."""

    class Slow(dict):
        def __getitem__(self, number):
            if threading.current_thread() is helper:
                time.sleep(0.2)
            return super().__getitem__(number)

    job = _arrays._Job(lambda x: x + 1, [1])
    job.results = Slow(job.results)
    helper = threading.Thread(target=job.all, daemon=True)
    helper.start()
    while not job._next:  # the helper has the item, and not yet where its result goes
        time.sleep(0.001)
    got = []
    asking = threading.Thread(target=lambda: got.append(job.result(0)), daemon=True)
    asking.start()
    asking.join(10.0)
    assert got == [2]
