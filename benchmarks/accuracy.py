"""Measure the automatic classifier's probabilities against other classifiers' on public tables.

Two parts. `small`: repeated stratified cross-validation on at most 1,000 rows of each table, the same folds for all.
`large`: tables of at least 4,000 rows, of which up to 20,000 are taken, split once into rows to learn and rows to test;
`curves` adds fits of fewer rows for some of them. Each measurement goes to a file in benchmarks/runs as soon as it is
known, so a run that was stopped goes on where it stopped, and runs of different classifiers can go beside each other.
Every run makes the summaries from that file, and `report` does nothing else.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import numpy as np
from accuracy_curves import CURVES, TRACED, draw_curves
from accuracy_report import page, report, short
from measures import CLIP, scores
from peers import MODELS
from runs import PAGE, README, RESULTS, RUNS, Kept, Line, place, within
from sklearn.base import clone
from splits import MOST, fewer, folds, whole
from tables import LARGE, TABLES, Table

from suffice import GenerativeClassifier

LABELS = ("part", "table", "rows", "folds", "repeat", "fold", "learned", "clip", "model")


def measure(model_name: str, table: Table, train: np.ndarray, test: np.ndarray) -> Line:
    """Return scores on the rows to test and seconds to fit (any choice of settings included) and to predict."""
    X, y = table.X.iloc[train].reset_index(drop=True), table.y[train]
    rows = table.X.iloc[test].reset_index(drop=True)
    begun = time.perf_counter()
    model = clone(MODELS[model_name]()).fit(X, y)
    fitted = time.perf_counter()
    known = np.asarray(model.predict_proba(rows))
    predicted = time.perf_counter()
    p = np.zeros((len(test), int(table.y.max()) + 1))
    p[:, model.classes_] = known
    extra = {"held_out": model.loss_} if isinstance(model, GenerativeClassifier) else {}
    return {**scores(p, table.y[test]), "seconds": fitted - begun, "predict_seconds": predicted - fitted, **extra}


def run(options: argparse.Namespace, kept: Kept) -> None:
    """Measure what is asked for and not known yet."""
    parts: dict[str, Any] = {
        "small": (TABLES, MODELS, partial(folds, repeats=options.repeats, parts=options.folds, rows=options.rows)),
        "large": (LARGE, MODELS, lambda table: [whole(table)]),
        "curves": ({name: LARGE[name] for name in CURVES}, TRACED, fewer),
    }
    for part in options.part:
        tables, models, splits = parts.get(part, ({}, (), None))
        for name in tables:
            if options.tables and name not in options.tables:
                continue
            table = tables[name]()
            for label, train, test in splits(table):
                for model in models:
                    told = {**label, "table": name, "learned": len(train), "clip": CLIP, "model": model}
                    if (not options.models or model in options.models) and told not in kept:
                        kept.add({**told, **within(options.seconds, measure, model, table, train, test)})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    every = ("small", "large", "curves")
    parser.add_argument("--part", nargs="+", choices=(*every, "report"), default=every, help="which to measure")
    parser.add_argument("--repeats", type=int, default=1, help="of the cross-validation")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1000, help="at most so many rows of each table are cross-validated")
    parser.add_argument("--seconds", type=float, default=3600, help="that one fit with its predictions may take")
    parser.add_argument("--tables", nargs="+", choices={**TABLES, **LARGE}, metavar="TABLE", help="only these")
    parser.add_argument("--models", nargs="+", choices=MODELS, metavar="MODEL", help="only these")
    parser.add_argument("--again", nargs="+", choices=MODELS, default=(), metavar="MODEL", help="measure these anew")
    parser.add_argument("--remark", default="", help="what else to know of this run, for the summary")
    parser.add_argument("--readme", action="store_true", help="write docs/results.md and README too")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    kept = Kept(RUNS / "accuracy.jsonl", LABELS)
    if options.again:
        kept.forget(model=options.again, part=options.part, table=options.tables or {**TABLES, **LARGE})
    run(options, kept)
    asked = {(CLIP, options.rows, options.folds), (CLIP, MOST, 1)}
    lines = [line for line in kept.lines if (line["clip"], line["rows"], line["folds"]) in asked]
    picture = draw_curves(lines)
    place(RESULTS, "accuracy", report(lines, picture, options.remark))
    print(page(lines, picture), short(lines), sep="\n\n")
    if options.readme:
        place(PAGE, "accuracy", page(lines, picture))
        place(README, "accuracy", short(lines))


if __name__ == "__main__":
    main()
