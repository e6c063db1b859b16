"""Infer the decimal mark: 9.100 is nine or nine thousand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from .._dialect import Dialect
from .cells import ColumnSniffer
from .csv_problems import CsvProblem
from .csv_text import Form


class Marks:
    """Which decimal mark the numbers of each column have, in each file.

    A number that can be read with one mark only decides for its column in its file. Where there is none, the mark that
    the model has learned does, then that of the same column in other files, of other columns of the file, and of all.
    `found` holds a mark by column for each file, `of_table` that of all numbers that decide, "" if they differ;
    `to_learn` the marks of columns that have any; `mixed` the columns whose numbers contradict each other; `unsure`
    those, with an example, for which nothing spoke.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        forms: Sequence[Form],
        seen: Sequence[dict[str, ColumnSniffer]],
        total: dict[str, ColumnSniffer],
        target: str | None,
        learned: Dialect,
    ) -> None:
        self._learned = learned
        # A target is never counted with, and text columns of odd numbers say nothing.
        used = {name: own for name, own in total.items() if not own.settled and len(own.odd) < 2 and name != target}
        of_files = [_common(_own(file[name]) for name in used) for file in seen]
        self.of_table = _common(_own(own) for own in used.values())
        self.mixed = {name for name in total for file in seen if file[name].point and file[name].comma}
        self.found: list[dict[str, str]] = []
        self.unsure: dict[str, str] = {}
        for path, form, file, of_file in zip(paths, forms, seen, of_files, strict=True):
            own = {name: self._choose(path, form, name, file[name], total[name], of_file) for name in total}
            self.found.append(own)
        marked = {name for name, own in total.items() if own.point or own.comma or own.dots or own.commas}
        self.to_learn = {name: self.found[0][name] for name in total if name in marked}

    def _choose(self, path: Path, form: Form, name: str, own: ColumnSniffer, total: ColumnSniffer, of_file: str) -> str:
        certain = _own(own)
        if certain:
            return certain
        example = own.dots or own.commas
        learned = self._learned.mark(name)
        if example and learned and of_file and learned != of_file:
            raise CsvProblem.two_readings(path, name, example, learned, of_file)
        known = learned or _own(total) or of_file or self.of_table
        if known or not example:
            return known or "."
        if own.dots and own.commas:
            self.mixed.add(name)
        self.unsure[name] = example
        return "." if own.dots or form.separator == "," else ","


def _own(seen: ColumnSniffer) -> str:
    """Return the mark that the numbers of a column must have, "" if it may be either or cannot be one."""
    return "" if bool(seen.point) == bool(seen.comma) else "." if seen.point else ","


def _common(marks: Iterable[str]) -> str:
    different = {mark for mark in marks if mark}
    return different.pop() if len(different) == 1 else ""
