"""What the benchmarks keep and how they call: results in a file as soon as known, and calls with a limit of time."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import warnings
from collections.abc import Callable, Collection
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

RUNS = Path(__file__).parent / "runs"  # git ignores this folder
RESULTS = Path(__file__).parent / "RESULTS.md"
README = Path(__file__).parents[1] / "README.md"
PAGE = Path(__file__).parents[1] / "docs" / "results.md"

Line = dict[str, Any]


class Kept:
    """Results in a file, one JSON object a line; `labels` name the fields that tell one measurement from another."""

    def __init__(self, path: Path, labels: tuple[str, ...]) -> None:
        self.path = path
        self.labels = labels
        self.lines: list[Line] = []
        if path.exists():
            self.lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self._known = {self._key(line) for line in self.lines}

    def __contains__(self, label: Line) -> bool:
        return self._key(label) in self._known

    def add(self, line: Line) -> None:
        """Write the line at once, so that a run that is stopped goes on after it, and print it."""
        text = json.dumps(line)
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
        self.lines.append(line)
        self._known.add(self._key(line))
        print(text, flush=True)

    def forget(self, **asked: Collection[Any]) -> None:
        """Leave out the lines of which every field named has one of the values given, to measure them again."""
        self.lines = [line for line in self.lines if not all(line[name] in asked[name] for name in asked)]
        self._known = {self._key(line) for line in self.lines}
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")

    def _key(self, line: Line) -> tuple[Any, ...]:
        return tuple(line.get(name) for name in self.labels)


# --- a call with a limit ---------------------------------------------------------------------------------------------


def within(seconds: float, function: Callable[..., Line], *given: Any) -> Line:
    """Return what the function returns, called in a process of its own, or `{"failed": why}`: failures are results."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_call, args=(there, function, given))
    child.start()
    there.close()
    try:
        if here.poll(seconds):
            return dict(here.recv())
        return {"failed": f"not done after {seconds:,.0f} s"}
    except EOFError:
        child.join()
        return {"failed": f"its process ended with status {child.exitcode}"}
    finally:
        child.kill()
        child.join()


def _call(there: Connection, function: Callable[..., Line], given: tuple[Any, ...]) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            there.send(function(*given))
    except Exception as problem:  # noqa: BLE001 - whatever stops one of the compared is part of the result
        there.send({"failed": " ".join(f"{type(problem).__name__}: {problem}".split())[:200]})


# --- where results are shown -----------------------------------------------------------------------------------------


def place(path: Path, name: str, section: str) -> None:
    """Replace what stands between the marks of this name in a Markdown file, or add it at the end."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    path.write_text(
        f"{before.rstrip()}\n\n{start}\n{section}\n{end}\n\n{after.lstrip()}".rstrip() + "\n", encoding="utf-8"
    )


def machine(*packages: str) -> str:
    """Return the machine and the versions that are installed."""
    told = []
    for package in packages:
        try:
            told.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            told.append(f"{package} (not installed here)")
    return f"{os.cpu_count()} cores ({platform.machine()}), {', '.join(told)}"
