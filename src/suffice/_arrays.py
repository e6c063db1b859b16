"""The only door to NumPy, SciPy and the BLAS: every other module imports `np` and these helpers from here.

How rows are cut, threads and memory limits too.
"""

from __future__ import annotations

import collections
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Generic, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, eigh, lapack, solve_triangular
from scipy.optimize import minimize, nnls
from scipy.special import betainc, gammaincc, gammaln, log_ndtr, logsumexp, ndtr, ndtri, stdtr, stdtrit, xlogy
from scipy.stats import false_discovery_control, hypergeom, rankdata
from threadpoolctl import ThreadpoolController

from .errors import DataError

__all__ = [  # of other libraries
    "NDArray",
    "betainc",
    "cholesky",
    "eigh",
    "false_discovery_control",
    "gammaincc",
    "gammaln",
    "hypergeom",
    "log_ndtr",
    "logsumexp",
    "minimize",
    "ndtr",
    "ndtri",
    "nnls",
    "np",
    "rankdata",
    "solve_triangular",
    "sparse",
    "stdtr",
    "stdtrit",
    "xlogy",
]

Array = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]
IN_CACHE = 1 << 21  # bytes that a core's own cache holds: what is made of some rows is used again before it leaves
IN_MEMORY = 1 << 24  # bytes of matrices made for each of some rows: so many that a call costs little beside its work
K = TypeVar("K")
T = TypeVar("T")
R = TypeVar("R")
V = TypeVar("V", bound=np.generic)


def is_sparse(value: object) -> TypeGuard[sparse.csr_array]:
    """Return whether `value` is a SciPy sparse matrix or array."""
    return bool(sparse.issparse(value))


def is_number(value: object) -> TypeGuard[float]:
    """Return whether `value` is a number of Python or NumPy in the range of floats; a truth value is none."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < 2**1023
    return isinstance(value, float | np.integer | np.floating)


def is_whole(value: object, least: int) -> TypeGuard[int]:
    """Return whether `value` is a whole number of Python or NumPy, and at least this."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def log_of(values: Array) -> Array:
    """Return natural logarithms, −∞ of 0, of which NumPy would warn."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def log_softmax(scores: Array, out: Array | None = None) -> Array:
    """Return scores − log Σ exp(scores) per row, (n, k) in nats, without overflow or saturation; in `out` if given.

    A row of −∞ alone has no answer and becomes NaN. Rows are worked on as columns of a block in cache: reducing along
    a short last axis is what would take the time.
    """
    result = np.empty_like(scores, dtype=np.float64) if out is None else out

    def fill(part: slice) -> None:
        block = np.array(scores[part].T, dtype=np.float64, order="C")
        with np.errstate(divide="ignore", invalid="ignore"):
            block -= block.max(axis=0)
            block -= np.log(np.exp(block).sum(axis=0))
        result[part] = block.T

    size = rows_within(16 * scores.shape[1])  # the block and its exponentials
    parallel_each(fill, row_chunks(len(scores), size), cost=40.0 * scores.size)
    return result


def lower_factor(matrix: Array, *, overwrite: bool = False) -> Array:
    """Return the lower Cholesky factor (d, d), in place of the matrix if it may be overwritten.

    LinAlgError unless the matrix is positive definite. LAPACK reads by columns what is stored by rows, for a symmetric
    matrix the same: asked for the upper factor, it needs no transposed copies, which cost more than factoring.
    """
    factor = matrix if overwrite and matrix.flags.c_contiguous else matrix.copy()
    upper, info = lapack.dpotrf(factor.T, lower=0, overwrite_a=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return np.asarray(upper.T)


def invert_triangular(lower: Array, out: Array | None = None) -> Array:
    """Return the inverse of a lower triangular matrix (d, d), in `out` if given; LinAlgError if it is singular.

    It is made by halves: products run beside those of other threads, which SciPy's LAPACK calls do not.
    """
    inverse = np.empty(lower.shape) if out is None else out
    d = len(lower)
    if d <= 64:
        upper, info = lapack.dtrtri(lower.T, lower=0) if d else (lower, 0)
        if info != 0:
            raise np.linalg.LinAlgError("triangular matrix is singular")
        inverse[...] = upper.T
        return inverse
    h = d // 16 * 8
    invert_triangular(lower[:h, :h], inverse[:h, :h])
    invert_triangular(lower[h:, h:], inverse[h:, h:])
    np.matmul(inverse[h:, h:], lower[h:, :h] @ inverse[:h, :h], out=inverse[h:, :h])
    np.negative(inverse[h:, :h], out=inverse[h:, :h])
    inverse[:h, h:] = 0.0
    return inverse


def row_chunks(n: int, size: int) -> Iterator[slice]:
    """Yield slices that cover `n` rows, at most `size` rows each."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def rows_within(bytes_per_row: int, budget: int = IN_CACHE, *, least: int = 1) -> int:
    """Return how many rows to work on at a time, at least `least`: those of which `budget` bytes are made.

    `bytes_per_row` counts every array that the work makes of a row, those that it makes on its way too.
    """
    return max(least, budget // max(bytes_per_row, 1))


def by_key(pairs: Iterable[tuple[K, R]]) -> dict[K, list[R]]:
    """Return the values of each key in their order, keys in that of their first."""
    found: dict[K, list[R]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def places_of(wanted: Iterable[Hashable], known: Iterable[Hashable]) -> Codes:
    """Return at which place among those known each of the wanted values stands, −1 for one that is not there."""
    place = {value: i for i, value in enumerate(known)}
    return np.array([place.get(value, -1) for value in wanted], dtype=np.int64)


def cross_sums(rows: Codes, columns: Codes, shape: tuple[int, int], weight: Array | None = None) -> Array:
    """Return the weights (n,), ones without them, summed into a table by row and column; −1 is the last column."""
    place = rows.astype(np.int64) * shape[1] + columns % shape[1]
    return np.bincount(place, weights=weight, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def cumcount(values: NDArray[V]) -> Codes:
    """Return how many equal values come before each one."""
    order = np.argsort(values, kind="stable")
    ordered, out = values[order], np.empty(len(values), dtype=np.int64)
    out[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return out


def distinct(values: NDArray[V]) -> NDArray[V]:
    """Return the distinct values, sorted, none of them NaN.

    NumPy's `unique` hashes whole numbers since 2.3, which takes up to forty times as long as sorting them.
    """
    found = np.sort(values, axis=None)
    return np.asarray(found[np.append(True, found[1:] != found[:-1])[: len(found)]])


def pattern_order(observed: Flags) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows (n,) of a mask (n, d) ordered so that equal ones are together, and where these begin."""
    if not observed.shape[1]:
        return np.arange(len(observed)), np.zeros(min(len(observed), 1), dtype=np.int64)
    packed = np.packbits(observed, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    order = np.argsort(keys, kind="stable")
    ahead = keys[order]
    return order.astype(np.int64), np.flatnonzero(np.append(True, ahead[1:] != ahead[:-1])[: len(keys)])


def pattern_groups(observed: Flags, least: int = 0) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield (observed columns, row numbers) for each pattern of at least so many rows in a mask (n, d)."""
    order, starts = pattern_order(observed)
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        if stop - start >= least:
            yield np.flatnonzero(observed[order[start]]), order[start:stop]


class _User:
    """One use of the limit, which counts as long as the call that made it lives."""


PATIENCE = 5.0  # seconds that a thread waits for another to set or lift the limit, which takes milliseconds


class _BlasLimit:
    """A process-wide, re-entrant limit of one BLAS thread; the last user out restores what was there.

    Oversubscribed BLAS threads are the largest slowdown we know of, and the limit is global to the process:
    two threads that each set and restored it could leave it on for good, hence the users. They are held by weak
    references, and an old limit is lifted before a new one is set, so that an interrupt at any line leaves nothing that
    the next use does not put right: a plain count would stay too high, and all of the process on one thread.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a generator that is closed within may come here again
        self._users: weakref.WeakSet[_User] = weakref.WeakSet()
        self._controller: ThreadpoolController | None = None
        self._limiter: Any = None

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        me = _User()
        try:
            lock = self._locked()
            try:
                if not len(self._users):
                    self._lift()
                    if self._controller is None:
                        self._controller = ThreadpoolController()
                    self._take_control()
                    self._limiter = self._controller.limit(limits=1, user_api="blas")
                self._users.add(me)
            finally:
                lock.release()
            yield
        finally:
            lock = self._locked()
            try:
                self._users.discard(me)
                if not len(self._users):
                    self._lift()
            finally:
                lock.release()

    def _locked(self) -> threading.RLock:
        """Return the lock, held. One that an interrupt has left held for good by another thread is given up."""
        lock = self._lock
        if not lock.acquire(timeout=PATIENCE):
            lock = self._lock = threading.RLock()
            lock.acquire()
        return lock

    def _lift(self) -> None:
        """Restore what was there before the limit, if there is one."""
        if self._limiter is not None:
            self._take_control()
            self._limiter.restore_original_limits()
            self._limiter = None
            self._take_control()

    def _take_control(self) -> None:
        """Let this thread set the limit: threadpoolctl obeys the first thread that ever set one, and no other."""
        for library in self._controller.lib_controllers if self._controller else ():
            release = getattr(library, "clear_controlling_thread", None)
            if release is not None:
                release(force=True)


single_blas_thread = _BlasLimit()


def workers() -> int:
    """Return how many threads this process may use: its CPU affinity, or OMP_NUM_THREADS if that is lower."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(asked))) if asked.isdigit() else max(1, cores)


class _Helpers:
    """Threads that wait for work, made once: the system takes milliseconds to move a new one to a core of its own."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin without threads: a forked process has none of its parent's."""
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._size = 0

    def call(self, function: Callable[[], object], times: int) -> list[Future[object]]:
        """Let so many threads call `function`, each as soon as it is free; none while the interpreter shuts down."""
        with self._lock:
            if self._pool is None or self._size < times:
                self._pool, self._size = ThreadPoolExecutor(times, "suffice"), times  # the old one ends when it is idle
            pool = self._pool
        with contextlib.suppress(RuntimeError):
            return [pool.submit(function) for _ in range(times)]
        return []


_helpers = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.forget)


class _Job(Generic[T, R]):
    """Items that several threads take one after the other, and their results, none held once it is handed on."""

    def __init__(self, function: Callable[[T], R], items: Sequence[T]) -> None:
        self.function, self.items = function, items
        self.results: dict[int, Future[R]] = {number: Future() for number in range(len(items))}
        self.ended = False
        self._lock, self._next = threading.Lock(), 0

    def one(self) -> bool:
        """Work on the next item, if there is one."""
        with self._lock:
            number = self._next
            self._next += 1
            if self.ended or number >= len(self.items):
                return False
            result = self.results[number]  # before another thread learns that none is left, and takes it out
        try:
            result.set_result(self.function(self.items[number]))
        except BaseException as error:
            result.set_exception(error)
            if not isinstance(error, Exception):  # an interrupt waits for nobody's turn
                raise
        return True

    def all(self) -> None:
        """Work on items until none is left."""
        while self.one():
            pass

    def result(self, number: int) -> R:
        """Return one result, which another thread may be at: then others are worked on meanwhile."""
        while not self.results[number].done() and self.one():
            pass
        return self.results.pop(number).result()  # another thread has begun: no two wait for each other


def parallel_map(function: Callable[[T], R], items: Iterable[T], *, cost: float = np.inf) -> Iterator[R]:
    """Yield function(item) in the order of the items, on as many threads as there are cores, this one among them.

    `cost` is the rough number of floating-point operations in all; small jobs stay on this thread.
    BLAS runs one thread in each worker. Results come in order, so a fold over them is reproducible.
    """
    items = list(items)
    threads = 1 if _inside.worker or cost < 2e7 or len(items) < 2 else min(workers(), len(items))
    with single_blas_thread():
        if threads == 1:
            yield from map(function, items)
            return
        job = _Job(function, items)
        helping = _helpers.call(job.all, threads - 1)
        try:
            for number in range(len(items)):
                yield job.result(number)
        finally:
            job.ended = True
            wait([own for own in helping if not own.cancel()])


def parallel_each(function: Callable[[T], object], items: Iterable[T], *, cost: float = np.inf) -> None:
    """Call `function` on each item, for what it does: see `parallel_map`."""
    for _ in parallel_map(function, items, cost=cost):
        pass


class _Inside(threading.local):
    """Whether this thread is a worker already: its own loops then stay on it."""

    worker = False


_inside = _Inside()


def _work(function: Callable[[T], R], item: T) -> R:
    _inside.worker = True
    return function(item)


def bounded_map(function: Callable[[T], R], items: Iterable[T], *, ahead: int = 1) -> Generator[R, None, None]:
    """Yield function(item) in the order of the items, on as many threads as there are cores.

    Items are drawn from their iterator as they are needed, at most `ahead` more than there are threads, so that memory
    does not grow with their number. When the loop over the results ends early, what has not begun never does.
    """
    threads = 1 if _inside.worker else workers()
    with single_blas_thread():
        if threads == 1:
            yield from map(function, items)
            return
        waiting: collections.deque[Future[R]] = collections.deque()
        pool = ThreadPoolExecutor(threads)
        try:
            for item in items:
                waiting.append(pool.submit(_work, function, item))
                if len(waiting) >= threads + ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


# ── Memory limits: an allocation is refused by name before it is made ─────────────────────────────────────────────────


# Statistics, covariances, their factors and what lies between: about four times the statistics at once.
MEMORY_SHARE = 4
SMALL_MEMORY = 1 << 24  # bytes that are never refused, nor asked the machine about
UNKNOWN_MEMORY = 1 << 34  # bytes, where the machine does not say: 16 GiB
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def memory() -> int:
    """Return the bytes this process may come to hold: of the machine, its container and the process's own limit."""
    limits = [UNKNOWN_MEMORY]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with contextlib.suppress(OSError, ValueError):
        limits.append(int(CONTAINER_LIMIT.read_text(encoding="ascii")))  # "max" where there is no limit
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits += [soft] if soft != resource.RLIM_INFINITY else []
    return min(limits)


def budget() -> int:
    """Return the bytes that what is kept of the rows may take: a quarter of `memory`."""
    return memory() // MEMORY_SHARE


def check_bytes(needed: int, what: str, advice: str) -> None:
    """Raise DataError, before anything is allocated, if `what` would take more than `budget` bytes."""
    if needed > SMALL_MEMORY and needed > (most := budget()):
        raise DataError(
            f"{what} would take {needed / 2**30:,.2f} GiB, above the limit of {most / 2**30:,.2f} GiB (a quarter of "
            f"the memory there is, as the work needs more). Next: {advice}."
        )
