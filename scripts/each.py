"""Try the targets of the Makefile one by one, each in a copy of the tracked files and an environment of its own.

`make each` tries all, `make each CHEAP=1` those of a few minutes, three at a time, `make each TARGETS="docs dist"`
these. A target that works only because another has installed something for it fails here. All are tried, whatever
fails; the exit status is 1 if one did, and its last lines are printed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHEAP = ("help", "clean", "demo", "check", "docs", "dist")
# What a target is given, so that it is tried and does not take hours.
SHORT = {
    "fuzz": ("MINUTES=1",),
    "tables": ("COUNT=5",),
    "honest": ("SHORT=1",),
    "accuracy": ("PART=small", "TABLES=iris", "MODELS=suffice"),
    "generation": ("TABLES=penguins",),
}
LEFT_OUT = {"each": "it is this one", "lock": "it needs uv, and asks for the newest versions there are"}
BUILT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "_build", "dist", ".hypothesis", ".*_cache")
LAST = 30  # lines of a target that failed


def targets(makefile: Path) -> list[str]:
    """Return the targets that `make help` lists."""
    return re.findall(r"^([a-z]+):.*## ", makefile.read_text(encoding="utf-8"), re.MULTILINE)


def copy(root: Path, place: Path) -> None:
    """Copy the files that git tracks, as they are now; where there is no git, all that is not built."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        shutil.copytree(root, place, ignore=BUILT)
        return
    command = ["git", "-c", f"safe.directory={root}", "ls-files", "-z", "--cached"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, listed):
        if (root / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, place / name)


def environment() -> dict[str, str]:
    """Return the environment without what an outer make or an active environment would add."""
    inherited = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "VIRTUAL_ENV", "PYTHONPATH", "CHEAP", "TARGETS"}
    return {name: value for name, value in os.environ.items() if name not in inherited}


def attempt(root: Path, target: str) -> tuple[int, float, str]:
    """Return the exit status of a target in a copy of its own, the seconds it took, and what it printed."""
    with tempfile.TemporaryDirectory(prefix=f"each-{target}-", ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "copy"
        copy(root, place)
        begun = time.monotonic()
        with (Path(folder) / "log").open("w+", encoding="utf-8", errors="replace") as log:
            command = ["make", target, *SHORT.get(target, ())]
            done = subprocess.run(
                command, cwd=place, env=environment(), stdout=log, stderr=subprocess.STDOUT, check=False
            )
            log.seek(0)
            return done.returncode, time.monotonic() - begun, log.read()


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Try what is asked for, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="only these")
    parser.add_argument("--cheap", action="store_true", help="only those of a few minutes")
    options = parser.parse_args(arguments)
    known = [name for name in targets(root / "Makefile") if name not in LEFT_OUT]
    asked = options.targets or [name for name in known if not options.cheap or name in CHEAP]
    if strange := [name for name in asked if name not in known]:
        told = "; ".join(f"{name}: {LEFT_OUT.get(name, 'the Makefile has none')}" for name in strange)
        print(f"These targets cannot be tried. {told}. Next: take some of {', '.join(known)}.", file=sys.stderr)
        return 2
    failed = []
    with ThreadPoolExecutor(3 if options.cheap else 1) as pool:  # these take one processor each, or wait for files
        for target, (status, seconds, printed) in zip(asked, pool.map(partial(attempt, root), asked), strict=True):
            print(f"{target:<12}{seconds / 60:6.1f} min  {'failed' if status else 'passed'}", flush=True)
            if status:
                failed.append(target)
                print("\n".join(f"    {line}" for line in printed.splitlines()[-LAST:]), flush=True)
    print(f"{len(asked)} tried, {len(failed)} failed{': ' * bool(failed)}{', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
