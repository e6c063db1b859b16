"""Measure fitting and predicting of embeddings: many classes, one shared covariance, on the CPU or on an accelerator.

    python benchmarks/embeddings.py                                       # writes its section of benchmarks/RESULTS.md
    SCIPY_ARRAY_API=1 python benchmarks/embeddings.py --library torch --device cuda --rows 1000000 --columns 1024
    SCIPY_ARRAY_API=1 python benchmarks/embeddings.py --library cupy --rows 1000000 --columns 1024

Products that the same rows need at least are timed in turn with ours, by the same library on the same device; the
shortest times are compared. With another library than NumPy the table is printed, with the name of the device.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from suffice import GaussianDiscriminant
from suffice._arrays import workers

RESULTS = Path(__file__).parent / "RESULTS.md"
START, END = "<!-- embeddings -->", "<!-- end of embeddings -->"
SHARED, WOLF = {"shared": True}, {"shared": True, "shrinkage": "ledoit-wolf"}


class Place:
    """A library and a device: making arrays there, waiting for them, and their memory."""

    def __init__(self, library: str, device: str | None) -> None:
        self.library, self.device = library, device
        self.xp = importlib.import_module(library)
        self.cuda = library == "torch" and str(device).startswith("cuda")

    def array(self, values: Any) -> Any:
        """Return NumPy values there."""
        return self.xp.asarray(values, device=self.device) if self.device else self.xp.asarray(values)

    def wait(self) -> None:
        """Return when everything asked of the device is done."""
        if self.cuda:
            self.xp.cuda.synchronize()
        elif self.library == "cupy":
            self.xp.cuda.get_current_stream().synchronize()

    def wide(self, values: Any) -> Any:
        """Return an array in float64."""
        return values.to(self.xp.float64) if self.library == "torch" else values.astype(self.xp.float64)

    def seconds(self, call: Callable[[], Any]) -> float:
        """Return how long a call takes: processor time of all threads, or by the clock on an accelerator."""
        self.wait()
        begun = self.clock()
        call()
        self.wait()
        return self.clock() - begun

    @property
    def clock(self) -> Callable[[], float]:
        """What tells the time; other work on the machine disturbs processor time less."""
        return time.perf_counter if self.cuda or self.library == "cupy" else time.process_time

    def peak(self, call: Callable[[], Any]) -> float:
        """Return how much memory a call holds at most beyond its input, in MiB; NaN where nobody counts."""
        if self.library == "numpy":
            tracemalloc.start()
            call()
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return float(most / 2**20)
        if not self.cuda:
            return float("nan")
        before = self.xp.cuda.memory_allocated()
        self.xp.cuda.reset_peak_memory_stats()
        call()
        return float((self.xp.cuda.max_memory_allocated() - before) / 2**20)

    @property
    def name(self) -> str:
        """The device in words."""
        if self.cuda:
            return str(self.xp.cuda.get_device_name(self.device))
        if self.library == "cupy":
            return str(self.xp.cuda.runtime.getDeviceProperties(0)["name"].decode())
        return f"{platform.machine()} processor, {workers()} threads"


def embeddings(n: int, d: int, k: int, dtype: str) -> tuple[Any, Any]:
    """Return rows about class means in random order, and labels; made in parts, so that large tables fit."""
    rng = np.random.default_rng(n + d + k)
    mixing = np.eye(d) + 0.5 * np.eye(d, k=1)
    means, y = rng.standard_normal((k, d)), rng.integers(0, k, n)
    X = np.empty((n, d), dtype=dtype)
    for start in range(0, n, 50_000):
        own = y[start : start + 50_000]
        X[start : start + 50_000] = rng.standard_normal((len(own), d)) @ mixing + means[own]
    return X, y


Case = tuple[str, Callable[[], Any], str, Callable[[], Any]]


def cases(X: Any, y: Any, there: Any, place: Place) -> Iterator[Case]:
    """Yield what is measured: a name and a call of ours, a name and a call of the products it needs."""
    d, k = X.shape[1], int(y.max()) + 1
    wide = place.wide(there)

    def product() -> Any:
        return wide.T @ wide

    for name, settings in (
        ("fit, full", SHARED),
        ('fit, full, "oas"', {**SHARED, "shrinkage": "oas"}),
        ('fit, full, "ledoit-wolf"', WOLF),
        ("fit, diagonal", {**SHARED, "covariance": "diagonal"}),
        ("fit, spherical", {**SHARED, "covariance": "spherical"}),
    ):
        yield name, lambda settings=settings: GaussianDiscriminant(**settings).fit(there, y), "X.T @ X", product
    model = GaussianDiscriminant(**SHARED).fit(there, y)
    rng = np.random.default_rng(0)
    whitener, means = place.array(rng.standard_normal((d, d))), place.array(rng.standard_normal((d, k)))

    def products() -> None:
        for start in range(0, len(X), 10_000):
            (wide[start : start + 10_000] @ whitener) @ means

    yield "predict_proba", lambda: model.predict_proba(there), "(X @ W) @ M", products
    yield "predict", lambda: model.predict(there), "(X @ W) @ M", products


def stream(model: Any, rows: Any, labels: Any) -> None:
    """Let a model learn rows in batches."""
    for start in range(0, len(labels), 5000):
        model.partial_fit(rows[start : start + 5000], labels[start : start + 5000])


def streams(X: Any, y: Any, there: Any, place: Place) -> list[str]:
    """Return, in words, how long streaming takes and how far its answers are from those of one fit."""
    lines = []
    some = X[:2000]
    for rule in ("oas", "ledoit-wolf"):
        settings = {**SHARED, "shrinkage": rule}
        whole, parts = GaussianDiscriminant(**settings).fit(there, y), GaussianDiscriminant(**settings)
        taken = place.seconds(functools.partial(stream, parts, there, y))
        apart = np.abs(parts.predict_log_proba(some) - whole.predict_log_proba(some)).max()
        lines.append(
            f'`partial_fit` of rows in random order, 5,000 at a time, "{rule}": {taken:.1f} s, log posteriors '
            f"within {apart:.1e} nats of those of one `fit`."
        )
    return lines


def table(X: Any, y: Any, place: Place, repeats: int, peer: bool) -> tuple[str, list[str]]:
    """Measure and return a Markdown table and further lines."""
    there = place.array(X)
    lines = ["| what | products | products, s | ours, s | ratio | ours, extra memory |", "|---|---|---|---|---|---|"]
    for name, ours, needs, theirs in cases(X, y, there, place):
        ours()
        mine, limit = zip(*((place.seconds(ours), place.seconds(theirs)) for _ in range(repeats)), strict=True)
        memory = place.peak(ours)
        held = f"{memory:,.0f} MiB" if np.isfinite(memory) else ""
        lines.append(
            f"| {name} | {needs} | {min(limit):.3f} | {min(mine):.3f} | {min(mine) / min(limit):.2f}× | {held} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    more = streams(X, y, there, place)
    if peer:
        taken = place.seconds(lambda: LinearDiscriminantAnalysis("svd").fit(X, y))
        more.append(f"scikit-learn's LDA(svd) takes {taken:.1f} s to fit (once, on the CPU, in the rows' own type).")
    return "\n".join(lines), more


def main() -> None:
    """Measure and write the section, or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=("numpy", "torch", "cupy"), default="numpy")
    parser.add_argument("--device", help="of the library, such as cuda or cuda:1")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32", help="of the rows")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true", help="leave scikit-learn out, which takes long")
    parser.add_argument("--stdout", action="store_true", help="print, and leave RESULTS.md alone")
    told = parser.parse_args()
    place = Place(told.library, told.device)
    if told.library != "numpy":
        sklearn.set_config(array_api_dispatch=True)
    X, y = embeddings(told.rows, told.columns, told.classes, told.dtype)
    found, more = table(X, y, place, told.repeats, not told.no_peer)
    text = TEMPLATE.format(
        command=" ".join(["python", "benchmarks/embeddings.py", *sys.argv[1:]]),
        size=f"{told.rows:,} rows × {told.columns:,} columns, {told.classes:,} classes",
        dtype=told.dtype,
        library=f"{told.library} {getattr(place.xp, '__version__', '')}",
        machine=f"{place.name}; {os.cpu_count()} cores",
        repeats=told.repeats,
        clock="processor time of all threads" if place.clock is time.process_time else "by the clock",
        table=found,
        more="\n".join(f"- {line}" for line in more),
    )
    if told.stdout or told.library != "numpy":
        print(text)
        return
    kept = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    before, _, rest = kept.partition(START)
    after = rest.partition(END)[2]
    RESULTS.write_text(f"{before.rstrip()}\n\n{START}\n{text}{END}\n{after.lstrip()}", encoding="utf-8")


TEMPLATE = """## Embeddings

Made by `{command}`:
{size}, one covariance for all classes, {dtype} rows of {library} in random order. Times are the shortest of {repeats}
({clock}), ours in turn with the products in float64 that the same rows need; ours takes in reading,
checking, centring, factoring and keeping a sample of rows. Machine: {machine}.

{table}

{more}
"""


if __name__ == "__main__":
    main()
