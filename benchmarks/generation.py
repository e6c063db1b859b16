"""Measure rows drawn from fitted models beside real rows that these have not seen, on public tables.

Half of at most 6,000 rows of a table, drawn at random, is learned with its classes; as many rows as the other half has
are drawn and compared with it. Each result goes to a file in benchmarks/runs as soon as it is known, so a run that was
stopped goes on where it stopped; the section in benchmarks/RESULTS.md is made from that file.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
from drawn_rows import compared
from generation_report import page, report, short
from generators import ABSENT, GENERATORS, LABEL
from runs import PAGE, README, RESULTS, RUNS, Kept, Line, place, within
from sklearn.model_selection import train_test_split
from tables import LARGE, TABLES, Table

NAMES = (
    *("penguins", "TitanicSurvival", "credit_data", "mlc_churn", "flchain", "Default", "diamonds"),  # mixed
    *("phoneme", "magic"),  # numbers
)
SEED = 1


def halves(table: Table, rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows to learn and as many, or one more, to compare with, stratified, each with its LABEL."""
    draw = np.random.default_rng(SEED).permutation(len(table.y))[:rows]
    parts = train_test_split(draw, test_size=0.5, stratify=table.y[draw], random_state=SEED)
    labels = pd.Series(table.y.astype(str), index=table.X.index, dtype="category")
    learned, real = (table.X.assign(**{LABEL: labels}).iloc[part].reset_index(drop=True) for part in parts)
    return learned, real.iloc[: len(learned)]


def measure(model: str, learned: pd.DataFrame, real: pd.DataFrame) -> Line:
    """Return how the drawn rows compare, and the seconds to fit and to draw."""
    begun = time.perf_counter()
    draw = GENERATORS[model](learned)
    fitted = time.perf_counter()
    drawn = draw(len(real))
    done = time.perf_counter()
    return {**compared(drawn, real, learned), "seconds": fitted - begun, "draw_seconds": done - fitted}


def run(options: argparse.Namespace, kept: Kept) -> None:
    """Measure what is asked for and not known yet."""
    tables = {**TABLES, **LARGE}
    for name in options.tables:
        table = tables[name]()
        learned, real = halves(table, options.rows)
        label = {"table": name, "rows": options.rows, "learned": len(learned), "shape": table.shape()}
        for model in options.models:
            if {**label, "model": model} not in kept:
                told = within(options.seconds, measure, model, learned, real)
                kept.add({**label, "model": model, **told})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6000, help="at most so many of each table, half of them learned")
    parser.add_argument("--seconds", type=float, default=3600, help="that one model may take")
    parser.add_argument("--tables", nargs="+", choices={**TABLES, **LARGE}, default=NAMES, metavar="TABLE")
    parser.add_argument("--models", nargs="+", choices=GENERATORS, default=tuple(GENERATORS), metavar="MODEL")
    parser.add_argument("--again", nargs="+", choices=GENERATORS, default=(), metavar="MODEL", help="these anew")
    parser.add_argument("--remark", default="", help="what else to know of this run, for the summary")
    parser.add_argument("--readme", action="store_true", help="write docs/results.md and README too")
    options = parser.parse_args()
    kept = Kept(RUNS / "generation.jsonl", ("table", "rows", "model"))
    if options.again:
        kept.forget(model=options.again, table=options.tables)
    for name in ABSENT:
        print(f"suffice has no {name}: left out.")
    run(options, kept)
    lines = [line for line in kept.lines if line["rows"] == options.rows]
    place(RESULTS, "generation", report(lines, options.remark))
    print(page(lines), short(lines), sep="\n\n")
    if options.readme:
        place(PAGE, "generation", page(lines))
        place(README, "generation", short(lines))


if __name__ == "__main__":
    main()
