"""Fit a table in Parquet files against NumPy's load-then-compute: time, processor time, peak memory, in own processes.

python benchmarks/scale.py --rows 2000000 --columns 20 --folder scale-tables
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

CLASSES, FILES = 3, 16


def write(folder: Path, rows: int, columns: int) -> None:
    """Write the table: 16 files of two row groups for each two million rows."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    own = 125_000
    for number in range(max(rows // own, 1)):
        rng = np.random.default_rng(number)
        y = rng.integers(0, CLASSES, own)
        cells = rng.normal(size=(own, columns)) + y[:, None]
        table = pa.table({f"x{j}": cells[:, j] for j in range(columns)} | {"y": y})
        pq.write_table(table, folder / f"{number:05}.parquet", row_group_size=own // 2, use_dictionary=False)


def by_numpy(folder: Path) -> None:
    """Load all rows, then merge centred moments of chunks, which is faster than NumPy on whole columns."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(folder)
    y, d = table["y"].to_numpy(), table.num_columns - 1
    cells = np.empty((len(y), d))
    for j in range(d):
        cells[:, j] = table.column(j).to_numpy()
    del table
    weight, mean, scatter = np.zeros(CLASSES), np.zeros((CLASSES, d)), np.zeros((CLASSES, d, d))
    for start in range(0, len(y), 20_000):
        part, codes = cells[start : start + 20_000], y[start : start + 20_000]
        for c in range(CLASSES):
            own = part[codes == c]
            m, center = len(own), own.mean(axis=0)
            own = own - center
            step, total = center - mean[c], weight[c] + m
            scatter[c] += own.T @ own + np.outer(step, step) * weight[c] * m / total
            mean[c] += step * m / total
            weight[c] = total


def by_suffice(folder: Path, engine: str) -> None:
    """Fit one Gaussian per class."""
    from suffice import GaussianDiscriminant

    GaussianDiscriminant().fit_table(folder, "y", engine=engine)


def measured(what: str, folder: Path) -> dict[str, float]:
    """Run one way in a process of its own."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--run", what, "--folder", str(folder)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(what: str, folder: Path) -> None:
    """Do the work and print what it took; peak memory is that of the process tree's largest process."""
    if what == "numpy":
        import pyarrow.parquet  # noqa: F401 - what is imported is not timed
    else:
        from suffice import GaussianDiscriminant  # noqa: F401
    begun, used = time.perf_counter(), time.process_time()
    by_numpy(folder) if what == "numpy" else by_suffice(folder, what)
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(kind).ru_maxrss for kind in who) / 1024
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak}))


def main() -> None:
    """Write the table if it is not there, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--run")
    told = parser.parse_args()
    if told.run:
        run(told.run, told.folder)
        return
    folder = told.folder / f"{told.rows}x{told.columns}"
    if not folder.exists():
        write(folder, told.rows, told.columns)
    best: dict[str, dict[str, float]] = {}
    for _ in range(told.repeats):
        for what in ("numpy", "local"):
            found = measured(what, folder)
            best[what] = {name: min(value, best.get(what, found)[name]) for name, value in found.items()}
    print(f"{told.rows} rows x {told.columns} columns, best of {told.repeats}; in brackets the ratio to numpy")
    for what, found in best.items():
        shares = ", ".join(f"{name} {v:.2f} ({v / best['numpy'][name]:.2f})" for name, v in found.items())
        print(f"{what:8} {shares}  [s, s, MiB]")


if __name__ == "__main__":
    main()
