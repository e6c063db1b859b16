"""Infer date columns and their notation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import pyarrow as pa
import pyarrow.compute as pc

from .._dialect import Dialect
from ..errors import quoted
from .arrow import Column, DataType
from .calendar import DAY_FIRST, ISO, MONTH_FIRST, added, as_dates, days, moments, part
from .cells import REAL, TEXT, WHOLE, ColumnSniffer, UnexpectedCellError, without
from .csv_problems import CsvProblem
from .csv_text import remark

ORDERS = {DAY_FIRST: "day first", MONTH_FIRST: "month first"}


class Dates:
    """The columns of dates of some files, which are read as days since 1970-01-01.

    `notations` are those of these columns; `parts` gives, for each column that the calendar adds, its name as the
    column it comes from and what it is of that: the month, the weekday or the hour.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        names: Sequence[str],
        total: dict[str, ColumnSniffer],
        numbers: Sequence[str],
        learned: Dialect | None,
        order: str | None,
    ) -> None:
        self._path, self._learned, self._order = paths[0], learned, order
        self._known = set(numbers)
        self.notations: dict[str, str] = {}
        self.kinds: dict[str, DataType] = {}
        self.parts: dict[str, tuple[str, str]] = {}
        dated = [name for name, own in total.items() if own.has_dates]
        for name in dated:
            self.kinds[name] = self._settle(name, total[name])
        before = {} if learned is None else learned.dates
        for name in [name for name in names if name in self.notations or name in before]:
            tells = [] if learned is not None else total[name].facts(self.notations[name]).parts
            for own, piece in added(name).items():
                if own not in names and (piece in tells or (learned is not None and own in self._known)):
                    self.parts[own] = (name, piece)
        if learned is None:
            self._tell(total)

    def tell_of_files(self, seen: Sequence[dict[str, ColumnSniffer]]) -> None:
        """Say which columns hold dates in every file, and not in one notation."""
        for name in seen[0] if len(seen) > 1 else ():
            if name not in self.kinds and all(file[name].has_dates for file in seen):
                remark(
                    f"{self._path.name} and the other files have different notations of the dates in {name!r}, which "
                    "are read as texts. Next: write them alike, such as 2026-04-03."
                )

    def _settle(self, name: str, seen: ColumnSniffer) -> DataType:
        """Return the type of a column of dates: text if they could be read in two ways and nothing decides."""
        before = "" if self._learned is None else self._learned.dates.get(name, "")
        cell = next(iter(seen.odd))
        if name in self._known and not before:
            raise CsvProblem.dates_now(self._path, name, cell)
        notation = seen.notation(before if before in ORDERS else self._order or "")
        if notation is None and before:
            raise CsvProblem.two_dates(self._path, name, cell)
        if notation is None:
            remark(
                f"{self._path.name}: dates in {name!r}, such as {cell!r}, have the day or the month first, and none "
                f"says which: they are read as texts. Next: --dates day-first, --dates month-first, or "
                f"--drop {quote(name)}"
            )
            return TEXT
        if before in ORDERS and notation in ORDERS and notation != before:
            remark(f"{self._path.name}: dates in {name!r} have the {ORDERS[notation]}, unlike those learned: {cell!r}.")
        self.notations[name] = notation
        return REAL if seen.facts(notation).timed else WHOLE

    def _tell(self, total: dict[str, ColumnSniffer]) -> None:
        for name, notation in self.notations.items():
            cell = next(iter(total[name].odd))
            stamps = moments(pa.array([cell]), notation)
            assert stamps is not None
            value = days(stamps)
            order = f", {ORDERS[notation]}" if notation in ORDERS else ""
            beside = [own for own, (base, _) in self.parts.items() if base == name]
            adds = f", with {quoted(beside)} beside it" if beside else ""
            told = f"{cell!r} is {as_dates(value, ISO, '')[0].as_py()}, {value[0].as_py():.6g}"
            remark(
                f"{self._path.name}: dates in {name!r} were read as days since 1970-01-01{order}{adds}: {told}. "
                f"To leave them out: --drop {quote(name)}"
            )

    def read(self, cells: Column, name: str, blank: Column) -> Column:
        """Return the cells of a column of dates as days; UnexpectedCellError for a cell that is none."""
        cells = without(cells, pa.concat_arrays([blank, pa.array([""])]))
        stamps = moments(cells, self.notations[name])
        if stamps is None:
            raise UnexpectedCellError(cells.drop_null()[0].as_py())
        return days(stamps).cast(self.kinds[name])

    def part(self, values: Column, name: str) -> Column:
        """Return a column that the calendar adds, of the days of the column it comes from."""
        if pa.types.is_null(values.type):
            nothing: Column = pa.nulls(len(values), self.kind(name))
            return nothing
        found: Column = part(values, self.parts[name][1])
        return found.cast(self.kind(name))

    def kind(self, name: str) -> DataType:
        """Return the type of a column that the calendar adds."""
        return REAL if self.parts[name][1] == "hour" else WHOLE

    def written(self, values: Column, name: str, observed: Column) -> Column:
        """Return days as dates in the notation of their column, of which `observed` are cells."""
        like = pc.drop_null(observed.filter(pc.not_equal(observed, "")))
        return as_dates(values, self.notations[name], like[0].as_py() if len(like) else "")
