"""Try inputs with changes at random for some minutes: `make fuzz MINUTES=10`, or `python tests/fuzz/fuzz.py --help`.

`make tables` tries legal tables instead, with which nothing may go wrong.

Each case has a seed of its own, made of the run's seed, the target and the number of the case, so that one case can be
tried again alone. An input that led to an exception which is not ours, or to the end of a process, is saved with the
traceback beside it, and the exit status is 1. An input worth keeping goes to tests/fuzz/corpus, which `make test`
tries.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

FOUND = Path(__file__).with_name("found")
TOLD = 1000  # cases between two lines that say how far it is
TARGETS = ("models", "csv", "arrow", "tables")
BRIEF = "tables in brief"


def make_target(name: str, folder: Path) -> Any:
    """Return what tries inputs of a kind; modules are imported only when they are needed."""
    if name == "models":
        from fuzz_models import ModelFiles

        return ModelFiles(folder)
    if name == "csv":
        from fuzz_csv import CsvFiles

        return CsvFiles(folder)
    if name in ("tables", BRIEF):
        from fuzz_tables import LegalTables

        return LegalTables(folder, brief=name == BRIEF)
    from fuzz_arrow import ArrowFiles

    return ArrowFiles(folder)


def run(
    name: str,
    *,
    seed: int = 0,
    seconds: float | None = None,
    count: int | None = None,
    first: int = 0,
    keep: Path = FOUND,
) -> tuple[collections.Counter[str], list[str]]:
    """Return how often each outcome was, and the findings; stops after so many seconds or cases."""
    outcomes: collections.Counter[str] = collections.Counter()
    findings: list[str] = []
    end = None if seconds is None else time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target = make_target(name, Path(folder))
        number = first
        while (end is None or time.monotonic() < end) and (count is None or number < first + count):
            try:
                outcomes[target.try_one(random.Random(f"{seed} {name} {number}"))] += 1
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
                kind = f"{type(error).__name__}: {str(error)[:200]}"
                findings.append(f"{name}, seed {seed}, case {number}: {kind}")
                outcomes["FOUND"] += 1
                keep.mkdir(exist_ok=True)
                place = keep / f"{name}-{seed}-{number}{target.ending}"
                place.write_bytes(target.input)
                place.with_suffix(".txt").write_text(traceback.format_exc(), encoding="utf-8")
            number += 1
            if (number - first) % TOLD == 0:
                print(f"{name}: {number - first:,} cases, {len(findings)} findings", file=sys.stderr, flush=True)
        if hasattr(target, "close"):
            target.close()
    return outcomes, findings


def main() -> int:
    """Run the targets one after the other and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all but the last if none is given")
    parser.add_argument("--minutes", type=float, help="for all targets together")
    parser.add_argument("--count", type=int, help="cases of each target")
    parser.add_argument("--first", type=int, default=0, help="number of the first case, to try one again")
    parser.add_argument("--seed", type=int, help="drawn and printed if not given")
    parser.add_argument("--keep", type=Path, default=FOUND, help="folder for inputs that were found")
    given = parser.parse_args()
    targets = given.targets or list(TARGETS[:-1])  # a table takes seconds
    if set(targets) - set(TARGETS):
        parser.error(f"the targets are {', '.join(TARGETS)}")
    if given.minutes is None and given.count is None:
        given.minutes = 2.0
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    seconds = None if given.minutes is None else given.minutes * 60.0 / len(targets)
    failed = False
    for name in targets:
        outcomes, findings = run(
            name, seed=seed, seconds=seconds, count=given.count, first=given.first, keep=given.keep
        )
        print(f"{name}: {sum(outcomes.values()):,} cases, seed {seed}")
        for outcome, times in sorted(outcomes.items()):
            print(f"  {times:>9,}  {outcome}")
        for finding in findings[:20]:
            print(f"  {finding}")
        failed |= bool(findings)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
