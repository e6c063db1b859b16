"""Fit a table in Parquet files against NumPy's load-then-compute: time, processor time, peak memory, in own processes.

python benchmarks/scale.py --rows 2000000 20000000 --columns 20 --folder scale-tables --save

NumPy is measured on the first number of rows alone: it holds all of them, several times. `--save` puts the table into
RESULTS.md. The files stay in the folder (3.2 GB for 20 million rows of 20 columns). `--engines automatic` fits the
automatic classifier, on this machine's threads, instead of one Gaussian per class.
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

CLASSES = 3
RESULTS = Path(__file__).parent / "RESULTS.md"
START, END = "<!-- scale -->", "<!-- end of scale -->"
TEMPLATE = """## Tables of any size

Made by `benchmarks/scale.py`: one Gaussian per class from Parquet files ({classes} classes, {columns} columns of
float64, row groups of 62,500 rows), each run in a process of its own, one BLAS thread; the least of {repeats} runs of
the first number of rows, of one run of the others. NumPy loads the table and merges centred moments of chunks. {cores}
cores, shared with other work (load {load:.0f}): processor time and memory tell more than seconds. In brackets the ratio
to NumPy.

| rows | by | seconds | processor seconds | peak memory, MiB |
|---|---|---|---|---|
{lines}
"""


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
    """Fit one Gaussian per class, or the automatic classifier."""
    from suffice import GaussianDiscriminant, GenerativeClassifier

    if engine == "automatic":
        GenerativeClassifier().fit_table(folder, "y", engine="local")
    else:
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
        from suffice import GaussianDiscriminant, GenerativeClassifier  # noqa: F401
    begun, used = time.perf_counter(), time.process_time()
    by_numpy(folder) if what == "numpy" else by_suffice(folder, what)
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(kind).ru_maxrss for kind in who) / 1024
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak}))


def compare(folder: Path, rows: int, columns: int, ways: tuple[str, ...], repeats: int) -> list[str]:
    """Write the table if it is not there, and return the lines of a table of results."""
    place = folder / f"{rows}x{columns}"
    if not place.exists():
        write(place, rows, columns)
    best: dict[str, dict[str, float]] = {}
    for _ in range(repeats):
        for what in ways:
            found = measured(what, place)
            best[what] = {name: min(value, best.get(what, found)[name]) for name, value in found.items()}
    base, lines = best.get("numpy"), []
    for what, found in best.items():
        cells = (
            f"{value:,.{digits}f}" + ("" if base is None or what == "numpy" else f" ({value / base[name]:.2f})")
            for (name, value), digits in zip(found.items(), (2, 2, 0), strict=True)
        )
        lines.append(f"| {rows:,} | {what} | {' | '.join(cells)} |")
    return lines


def save(section: str) -> None:
    """Replace the section in RESULTS.md, or add it at the end."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    RESULTS.write_text(f"{before.rstrip()}\n\n{START}\n{section}{END}\n{after.lstrip()}", encoding="utf-8")


def main() -> None:
    """Measure all numbers of rows, and print or save what is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000_000])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engines", nargs="+", default=["local"])
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--run")
    told = parser.parse_args()
    if told.run:
        run(told.run, told.folder)
        return
    lines = compare(told.folder, told.rows[0], told.columns, ("numpy", *told.engines), told.repeats)
    for rows in told.rows[1:]:
        lines += compare(told.folder, rows, told.columns, tuple(told.engines), 1)
    facts = {"classes": CLASSES, "columns": told.columns, "repeats": told.repeats, "lines": "\n".join(lines)}
    section = TEMPLATE.format(**facts, cores=os.cpu_count(), load=os.getloadavg()[0])
    save(section) if told.save else print(section)


if __name__ == "__main__":
    main()
