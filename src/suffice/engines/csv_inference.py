"""Infer decimal marks and dates of a CSV from all of its cells, and remark what had to be guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import by_key
from .._dialect import Dialect
from ..errors import count, quoted
from .arrow import Column, DataType, Spaces
from .calendar import DAY_FIRST, MONTH_FIRST, added, as_dates, days, moments, part
from .cells import PERCENT, REAL, TEXT, WHOLE, ColumnSniffer, UnexpectedCellError, convert, without
from .csv_text import CsvProblem, Form, remark

Sniffed = dict[str, ColumnSniffer]  # what is known of each column
ORDERS = {DAY_FIRST: "day first", MONTH_FIRST: "month first"}
INDEX = re.compile(r"__index_level_\d+__")
WORDS = {".": "points", ",": "commas"}
NONE = "None"  # what Python writes for a missing cell, and people for what is not there


class Marks(NamedTuple):
    """Which decimal mark the numbers of each column have, in each file.

    `found` holds a mark by column for each file, `of_table` that of all numbers that decide, "" if they differ;
    `to_learn` the marks of columns that have any; `mixed` the columns whose numbers contradict each other; `unsure`
    those, with an example, for which nothing spoke.
    """

    found: list[dict[str, str]]
    of_table: str
    to_learn: dict[str, str]
    mixed: set[str]
    unsure: dict[str, str]


def decimal_marks(
    paths: Sequence[Path],
    forms: Sequence[Form],
    seen: Sequence[Sniffed],
    total: Sniffed,
    target: str | None,
    learned: Dialect,
) -> Marks:
    """Return the decimal marks: 9.100 is nine or nine thousand.

    A number that can be read with one mark only decides for its column in its file. Where there is none, the mark that
    the model has learned does, then that of the same column in other files, of other columns of the file, and of all.
    """
    # A target is never counted with, and text columns of odd numbers say nothing.
    used = {name: own for name, own in total.items() if not own.settled and len(own.odd) < 2 and name != target}
    of_table = _common(_certain(own) for own in used.values())
    found: list[dict[str, str]] = []
    mixed = {name for name in total for file in seen if file[name].point and file[name].comma}
    unsure: dict[str, str] = {}
    for path, form, file in zip(paths, forms, seen, strict=True):
        of_file, marks = _common(_certain(file[name]) for name in used), dict[str, str]()
        for name, all_cells in total.items():
            own, before = file[name], learned.mark(name)
            example = own.dots or own.commas
            marks[name] = _certain(own) or before or _certain(all_cells) or of_file or of_table
            if _certain(own) or not example:
                marks[name] = marks[name] or "."
            elif before and of_file and before != of_file:
                raise CsvProblem(
                    f"{str(path)!r}, column {name!r}: {example!r} is one number with decimal {WORDS[before]}, as in "
                    f"the table the model learned from, and another with decimal {WORDS[of_file]}, as in other columns "
                    "here. Next: write its numbers as in that table, without marks between thousands."
                )
            elif not marks[name]:
                mixed |= {name} if own.dots and own.commas else set()
                unsure[name] = example
                marks[name] = "." if own.dots or form.separator == "," else ","
        found.append(marks)
    marked = {name for name, own in total.items() if own.point or own.comma or own.dots or own.commas}
    return Marks(found, of_table, {name: found[0][name] for name in total if name in marked}, mixed, unsure)


def _certain(seen: ColumnSniffer) -> str:
    """Return the mark that the numbers of a column must have, "" if it may be either or cannot be one."""
    return "" if bool(seen.point) == bool(seen.comma) else "." if seen.point else ","


def _common(marks: Iterable[str]) -> str:
    different = {mark for mark in marks if mark}
    return different.pop() if len(different) == 1 else ""


class Dates:
    """The columns of dates of some files; of models that learned numbers there, these are days since 1970-01-01.

    `notations` are those of these columns, `kinds` their types; `parts` gives, for each column that the calendar adds,
    its name as the column it comes from and what it is of that: the month, the weekday or the hour.
    """

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        seen: Sequence[Sniffed],
        total: Sniffed,
        numbers: Sequence[str],
        learned: Dialect | None,
        order: str | None,
    ) -> None:
        before = {} if learned is None else learned.dates
        self.notations: dict[str, str] = {}
        self.kinds: dict[str, DataType] = {}
        self.parts: dict[str, tuple[str, str]] = {}
        for name, own in total.items():
            if own.has_dates:
                if name in numbers and name not in before:
                    raise CsvProblem(
                        f"{str(path)!r}, column {name!r} holds dates, such as {next(iter(own.odd))!r}, and the model "
                        "learned numbers there. Next: write the numbers, or fit again to a table with the dates."
                    )
                notation = _notation(path, name, own, before.get(name, ""), order)
                self.notations |= {} if notation is None else {name: notation}
                facts = None if notation is None else own.notations[notation]
                as_numbers = name in numbers if learned is not None else facts is not None and facts.times_alone
                of_days, of_moments = (WHOLE, REAL) if as_numbers else (pa.date32(), pa.timestamp("us"))
                self.kinds[name] = TEXT if facts is None else of_moments if facts.timed else of_days
        for name in [name for name in names if name in self.notations or name in before]:
            tells = [] if learned is not None else total[name].notations[self.notations[name]].parts
            for own_name, piece in added(name).items():
                if own_name not in names and (piece in tells or (learned is not None and own_name in numbers)):
                    self.parts[own_name] = (name, piece)
        if learned is None:
            self._remark(path, total)
        for name in seen[0] if len(seen) > 1 else ():
            if name not in self.kinds and all(file[name].has_dates for file in seen):
                remark(
                    f"{path.name} and the other files have different notations of the dates in {name!r}, which are "
                    "read as texts. Next: write them alike, such as 2026-04-03."
                )

    def _remark(self, path: Path, total: Sniffed) -> None:
        for name, notation in self.notations.items():
            read = moments(pa.array([cell := next(iter(total[name].odd))]), notation)
            value = None if read is None else read[0].as_py()  # a date of this notation, as it was seen
            order = f", {ORDERS[notation]}" if notation in ORDERS else ""
            order += ", ignoring time zones" if re.search(r":\d\d(?:\.\d+)? ?(?:Z|[+-]\d\d:?\d\d)$", cell) else ""
            beside = [own for own, (base, _) in self.parts.items() if base == name]
            adds = f", with {quoted(beside)} beside it" if beside else ""
            told = f"dates{order}{adds}: {cell!r} is {value:%Y-%m-%d}" if value else "dates"
            if self.kinds[name] == REAL:
                told = f"times of day, as shares of it: {cell!r} is {days(read)[0].as_py():.6g}"
            remark(f"{path.name}: {name!r} was read as {told}. To leave them out: --drop {quote(name)}")

    def read(self, cells: Column, name: str, blank: Column) -> Column:
        """Return the cells of a column of dates; UnexpectedCellError for a cell that is none."""
        cells = without(cells, pa.concat_arrays([blank, pa.array([""])]))
        stamps = moments(cells, self.notations[name])
        if stamps is None:
            raise UnexpectedCellError(cells.drop_null()[0].as_py())
        kind = self.kinds[name]
        return stamps.cast(kind) if pa.types.is_temporal(kind) else days(stamps).cast(kind)

    def part(self, values: Column, name: str) -> Column:
        """Return a column that the calendar adds, of the column of dates it comes from."""
        if pa.types.is_null(values.type):
            return pa.nulls(len(values), self.kind(name))
        return part(days(values), self.parts[name][1]).cast(self.kind(name))

    def kind(self, name: str) -> DataType:
        """Return the type of a column that the calendar adds."""
        return REAL if self.parts[name][1] == "hour" else WHOLE

    def written(self, values: Column, name: str, observed: Column) -> Column:
        """Return dates in the notation of their column, of which `observed` are cells."""
        like = pc.drop_null(observed.filter(pc.not_equal(observed, "")))
        timed = self.kinds[name] in (REAL, pa.timestamp("us"))
        return as_dates(days(values), self.notations[name], like[0].as_py() if len(like) else "", timed)


def _notation(path: Path, name: str, seen: ColumnSniffer, before: str, order: str | None) -> str | None:
    """Return the notation of a column of dates: None if they could be read in two ways and nothing decides.

    `before` is the notation that a model learned, `order` the one that users declared.
    """
    cell, known = next(iter(seen.odd)), list(seen.notations)
    preferred = before if before in ORDERS else order
    notation = known[0] if len(known) == 1 else preferred if preferred in known else None
    if notation is None and before:
        raise CsvProblem(
            f"{str(path)!r}, column {name!r}: {cell!r} has the day or the month first, and neither another date here "
            "nor those that the model learned from say which. Next: write dates as 2026-04-03."
        )
    if notation is None:
        remark(
            f"{path.name}: dates in {name!r}, such as {cell!r}, have the day or the month first, and none says which: "
            f"they are read as texts. Next: --dates day-first, --dates month-first, or --drop {quote(name)}"
        )
    elif before in ORDERS and notation in ORDERS and notation != before:
        remark(f"{path.name}: dates in {name!r} have the {ORDERS[notation]}, unlike those learned: {cell!r}.")
    return notation


def of_numbers(
    paths: Sequence[Path], seen: Sequence[Sniffed], marks: Marks, numbers: Collection[str], learned: Dialect
) -> None:
    """Say which commas, blanks and apostrophes within numbers were read as what, and which numbers are in doubt."""
    found: dict[str, dict[str, list[Path]]] = {}
    for path, file, own in zip(paths, seen, marks.found, strict=True):
        for name in (name for name in numbers if name not in marks.unsure):
            cells, mark, before = file[name], own[name], learned.mark(name)
            told = []
            if cells.commaed:
                told.append(f"commas in {{}} were read as {_role(',', mark)}")
            elif cells.pointed and mark == ",":
                told.append("points in {} were read as thousands separators")
            if cells.grouped:
                told.append("blanks or apostrophes in {} were read as thousands separators")
            if before and (cells.point or cells.comma) and mark != before:
                was = f"the table that the model learned from decimal {WORDS[before]}"
                told.append(f"{{}} {{have}} decimal {WORDS[mark]}, and {was}")
            for what in told:
                found.setdefault(what, {}).setdefault(name, []).append(path)
    for what, where in found.items():
        files = list(dict.fromkeys(path for own in where.values() for path in own))
        have = "has" if len(where) == 1 else "have"
        remark(f"{_files(files)}: {what.replace('{have}', have).format(quoted(list(where)))}.")
    for name in numbers:
        if name in marks.unsure and name not in marks.mixed:
            cell, mark = marks.unsure[name], marks.found[0][name]
            inner = "," if "," in cell else "."
            thousands, decimals = cell.replace(inner, ""), cell.replace(",", ".")
            got, other = (decimals, thousands) if inner == mark else (thousands, decimals)
            remark(
                f"{_files(paths)}: {WORDS[inner]} in {name!r} were read as {_role(inner, mark)}: {cell!r} is {got}, "
                f"not {other}, and no number says otherwise. If that is wrong, write them without marks between "
                "thousands."
            )


def _role(sign: str, mark: str) -> str:
    return "decimal points" if sign == mark else "thousands separators"


def of_units(
    paths: Sequence[Path], total: Sniffed, numbers: Collection[str], mark: Callable[[str], str], learned: Dialect | None
) -> None:
    """Say which amounts, percentages and parentheses were read as what, and which columns hold several units."""
    for name, seen in total.items():
        if seen.settled or seen.has_dates or len(seen.odd) > 1 or (seen.unit == "" and not seen.negated):
            continue
        if seen.unit is None:
            some = list(seen.units.values())[:3]
            remark(f"{_files(paths)}: {name!r} holds {quoted(some)}, numbers of several units, and is read as text.")
            continue
        if name not in numbers or (learned is not None and learned.units.get(name, "") == seen.unit):
            continue
        cell = seen.units[seen.unit] if seen.unit else seen.negated
        cells = pa.array(list(dict.fromkeys([cell, seen.negated or cell])), pa.string())
        read = convert(cells, pa.float64(), mark(name), pa.array([], pa.string())).to_pylist()
        told = " and ".join(f"{text!r} as {value:.15g}" for text, value in zip(cells.to_pylist(), read, strict=True))
        what = {"": "numbers", PERCENT: "percentages, as shares"}.get(seen.unit, f"amounts in {seen.unit}")
        remark(f"{_files(paths)}: {name!r} was read as {what}: {told}.")


def of_spaces(paths: Sequence[Path], spaces: Spaces, may_keep: bool) -> None:
    """Say where spaces around texts were taken away, and, if they may be kept, how."""
    if str(spaces):
        remark(f"{_files(paths)}: {spaces}.{' To keep them: --keep-spaces' if may_keep else ''}")


def of_index(name: str, names: Sequence[str], wanted: Collection[str]) -> list[str]:
    """Return the columns that pandas made of an index without a name, but those `wanted`, and say so."""
    found = [own for own in names if INDEX.fullmatch(own) and own not in wanted]
    if found:
        remark(f"{name}: {quoted(found)}, the row index that pandas stores beside a table, was left out.")
    return found


def of_missing(paths: Sequence[Path], seen: Sequence[Sniffed], odd: dict[str, str]) -> None:
    """Say which text among numbers was read as a missing cell, in one line for all columns that have it."""
    for text, names in by_key((text, name) for name, text in odd.items()).items():
        found = [(path, file[name].odd.get(text, 0)) for path, file in zip(paths, seen, strict=True) for name in names]
        times = sum(own for _, own in found)
        where, cells = _files(list(dict.fromkeys(path for path, own in found if own))), count(times, "cell")
        which = f"column {names[0]!r}, which holds" if len(names) == 1 else f"columns {quoted(names)}, which hold"
        remark(f"{where}: {text!r} ({cells}) in {which} numbers, was read as missing.")


def of_none(paths: Sequence[Path], found: dict[str, int]) -> None:
    """Say where a word among texts was read as a missing cell that may well be a value of its own."""
    told = ", ".join(f"{name!r} ({count(times, 'cell')})" for name, times in found.items() if times)
    if told:
        remark(f"{_files(paths)}: {NONE!r} was read as missing in {told}. If it is a value there, write another word.")


def of_labels(paths: Sequence[Path], target: str, found: Counter[str]) -> None:
    """Say which classes look like a missing label."""
    if found:
        rows = [f"{text!r} ({count(times, 'row')})" for text, times in sorted(found.items())]
        flags = " ".join(f"--missing-text {quote(text)}" for text in sorted(found))
        remark(
            f"{_files(paths)}: {', '.join(rows)} in {target!r} {'is' if len(found) == 1 else 'are'} read as classes "
            f"like any other. If no label is meant: {flags}"
        )


def _files(paths: Sequence[Path]) -> str:
    return paths[0].name + (f" and {count(len(paths) - 1, 'other file')}" if len(paths) > 1 else "")
