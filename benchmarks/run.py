"""Measure suffice against its peers and limits, in one process, and write benchmarks/RESULTS.md.

Ours and the peer's call alternate; the shortest times of both are compared, which is what other load on the machine
disturbs least, and the medians are shown beside. What counts is the ratio within one run.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import tracemalloc
import warnings
from importlib.metadata import version
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))

from cases import GROUPS, Call, Case
from threadpoolctl import threadpool_info

from suffice._arrays import workers

RESULTS = Path(__file__).parent / "RESULTS.md"
ACCURACY = "<!-- accuracy -->"  # what benchmarks/accuracy.py writes from here on is kept
TITLES = ("row", "what", "peer", "peer, s", "ours, s", "ratio", "of medians", "limit", "", "ours, extra memory")


def seconds(call: Call) -> float:
    """Return how long one call takes."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def measure(case: Case, repeats: int) -> tuple[list[float], list[float]]:
    """Return the times of ours and of the peer in turn, after a first call of ours to warm up."""
    case.ours()
    ours, peer = [], []
    for turn in range(repeats):
        ours.append(seconds(case.ours))
        if turn == 0 or not case.slow_peer:
            peer.append(seconds(case.peer))
    return ours, peer


def peak_memory(call: Call) -> float:
    """Return how much memory a call holds at most, in MiB: all arrays, its result among them, but not its input."""
    tracemalloc.start()
    kept = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return peak / 2**20


def line(case: Case, ours: list[float], peer: list[float], memory: float) -> str:
    """Return one row of the table."""
    ratio = min(ours) / min(peer)
    verdict = "met" if ratio <= case.limit else "**missed**"
    if case.only_over_a_second and min(peer) < 1.0:
        verdict = "no limit: the peer takes under 1 s"
    limit = f"{'at least' if case.limit < 1 else 'at most'} {compared(case.limit)}"
    medians = compared(median(ours) / median(peer))
    cells = [spread(peer), spread(ours), compared(ratio), medians, limit, verdict, f"{memory:,.0f} MiB"]
    return f"| {case.row} | {case.what} | {case.peer_name} | {' | '.join(cells)} |"


def spread(times: list[float]) -> str:
    """Return the shortest and the longest time."""
    return f"{min(times):.3f} (once)" if len(times) == 1 else f"{min(times):.3f} to {max(times):.3f}"


def compared(ratio: float) -> str:
    """Return a ratio of times in words."""
    return f"{1 / ratio:.3g}× faster" if ratio < 1 else f"{ratio:.3g}×"


def machine() -> str:
    """Return the machine and the libraries in words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = " and ".join(sorted({f"{pool['internal_api']} {pool['version']}" for pool in pools}))
    threads = max((pool["num_threads"] for pool in pools), default=1)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("suffice", "numpy", "scipy", "scikit-learn"))
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB of memory; Python "
        f"{platform.python_version()}, {libraries}, {blas}. The peers, X.T @ X among them, have the BLAS's default of "
        f"{threads} threads; ours runs one BLAS thread in each of {workers()} workers."
    )


def table(rows: list[int] | None, repeats: int, quick: bool) -> str:
    """Measure the cases and return a Markdown table, telling each row as it is known."""
    lines = []
    for group, covered in GROUPS.items():
        if rows and not covered & set(rows):
            continue
        for cases in group(quick):
            for case in cases:
                if rows and case.row not in rows:
                    continue
                lines.append((case.row, line(case, *measure(case, repeats), peak_memory(case.ours))))
                print(lines[-1][1], file=sys.stderr, flush=True)
    lines.sort(key=lambda pair: pair[0])
    head = f"| {' | '.join(TITLES)} |\n{'|---' * len(TITLES)}|"
    return "\n".join([head, *(text for _, text in lines)])


def main() -> None:
    """Run the cases asked for and write or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="calls of each side (default 5)")
    parser.add_argument("--rows", type=int, nargs="+", help="only these rows of the budget table, printed")
    parser.add_argument("--quick", action="store_true", help="small tables, printed: do the cases run?")
    parser.add_argument("--stdout", action="store_true", help="print the table and leave RESULTS.md alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    text = TEMPLATE.format(
        command=" ".join(["python", "benchmarks/run.py", *sys.argv[1:]]),
        repeats=arguments.repeats,
        remark=" Small tables: the limits are not for these." if arguments.quick else "",
        machine=machine(),
        table=table(arguments.rows, arguments.repeats, arguments.quick),
    )
    if arguments.stdout or arguments.rows or arguments.quick:
        print(text)
    else:
        kept = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
        _, mark, section = kept.partition(ACCURACY)
        RESULTS.write_text(f"{text}\n{mark}{section}" if mark else text, encoding="utf-8")


TEMPLATE = """# Benchmarks

Made by `{command}` (`make bench`), everything in one process on the same data. Calls of ours and of
the peer alternate, {repeats} of each (a scikit-learn peer that takes long is called once). Times are the shortest to
the longest, the ratio that of the shortest, which other load disturbs least, with that of the medians beside it.
Fitting takes in reading and checking the table and factoring the covariances, predicting reading and checking. Rows
are in no order of classes. Extra memory is the most that arrays took at any one time during a call, result included,
input not.{remark}

Machine: {machine}

{table}
"""


if __name__ == "__main__":
    main()
