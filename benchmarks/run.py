"""Measure suffice against its peers and limits, in one process, and write benchmarks/RESULTS.md.

Ours and the peer's call alternate; the shortest times of both are compared, which is what other load on the machine
disturbs least. What counts is the ratio within one run.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from cases import GROUPS, Case
from threadpoolctl import threadpool_info

RESULTS = Path(__file__).parent / "RESULTS.md"


def seconds(call: Callable[[], Any]) -> float:
    """Return how long one call takes."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def measure(case: Case, repeats: int) -> tuple[float, float]:
    """Return the shortest seconds of ours and of the peer, the calls alternating after a first one of ours."""
    case.ours()
    ours, peer = [], []
    for turn in range(repeats):
        ours.append(seconds(case.ours))
        if turn == 0 or not case.slow_peer:
            peer.append(seconds(case.peer))
    return min(ours), min(peer)


def line(case: Case, ours: float, peer: float) -> str:
    """Return one row of the table."""
    if case.most is not None:
        ratio, limit, met = ours / peer, f"≤ {case.most:g}×", ours / peer <= case.most
        shown = f"{ratio:.2f}×"
    else:
        assert case.least is not None
        ratio, limit, met = peer / ours, f"≥ {case.least:g}× faster", peer / ours >= case.least
        shown = f"{ratio:.1f}× faster"
    short = case.row == 3 and peer < 1.0  # the limit is for sizes where the peer takes over a second
    verdict = "met" if met else "(peer under 1 s)" if short else "**missed**"
    return f"| {case.row} | {case.what} | {case.peer_name} | {peer:.3f} | {ours:.3f} | {shown} | {limit} | {verdict} |"


def machine() -> str:
    """Return the machine and the libraries in words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    blas = next((pool for pool in threadpool_info() if pool["user_api"] == "blas"), {})
    libraries = ", ".join(f"{name} {version(name)}" for name in ("suffice", "numpy", "scipy", "scikit-learn"))
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB of memory, "
        f"{libraries}, {blas.get('internal_api', 'BLAS')} {blas.get('version', '')} with "
        f"{blas.get('num_threads', '?')} threads for the peers; ours uses one BLAS thread in each of as many workers."
    )


def main() -> None:
    """Run the cases asked for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="calls of each side (default 5)")
    parser.add_argument("--rows", type=int, nargs="*", help="only these rows of the budget table")
    parser.add_argument("--stdout", action="store_true", help="print the table and leave RESULTS.md alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for group in GROUPS:
        for cases in group():
            for case in cases:
                if arguments.rows and case.row not in arguments.rows:
                    continue
                lines.append((case.row, line(case, *measure(case, arguments.repeats))))
                print(lines[-1][1], file=sys.stderr, flush=True)
    lines.sort(key=lambda pair: pair[0])
    text = TEMPLATE.format(
        command=" ".join(["python", "benchmarks/run.py", *sys.argv[1:]]),
        machine=machine(),
        table="\n".join(row for _, row in lines),
    )
    if arguments.stdout or arguments.rows:
        print(text)
    else:
        RESULTS.write_text(text, encoding="utf-8")


TEMPLATE = """# Benchmarks

Made by `{command}` (`make bench`), everything in one process on the same data: calls of ours and of the peer
alternate, and the shortest of each are compared (a scikit-learn peer at large sizes is called once). Fitting includes
reading and checking the table and factoring the covariances, predicting includes reading and checking. Rows are in no
order of classes.

Machine: {machine}

| row | what | peer | peer, s | ours, s | ratio | limit | |
|---|---|---|---|---|---|---|---|
{table}
"""


if __name__ == "__main__":
    main()
