"""Parse dates, and derive calendar columns.

Notations: "iso" (2026-04-03, 2026/4/3, also with a time of day, or a time alone), "dmy" (3.4.2026, 03/04/26), "mdy"
(4/3/2026) and "named" (3 Apr 2026, April 3, 2026). Years of two digits are those from 1969 to 2068, as in POSIX.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ..table.dates import DATE_PARTS
from .arrow import Column

ISO, DAY_FIRST, MONTH_FIRST, NAMED = "iso", "dmy", "mdy", "named"
NOTATIONS = (ISO, DAY_FIRST, MONTH_FIRST, NAMED)
DAY = 86_400_000_000  # microseconds
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = r"(?P<name>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
_NAME += r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))\.?"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d{1,9})?))? ?(?P<half>(?i:[ap]\.?m\.?))?"
_TIME = rf"(?:(?:T|,? +){_CLOCK}(?:Z|[+-]\d{{2}}:?\d{{2}})?)?"
_YEAR, _LONG, _NUMBER = r"(?P<year>\d{4}|\d{2})", r"(?P<year>\d{4})", r"\d{1,2}"
PATTERNS = {
    ISO: (rf"{_LONG}[-/.](?P<month>{_NUMBER})[-/.](?P<day>{_NUMBER}){_TIME}", _CLOCK),
    DAY_FIRST: (
        rf"(?P<day>{_NUMBER})[/-](?P<month>{_NUMBER})[/-]{_YEAR}{_TIME}",
        rf"(?P<day>{_NUMBER})\.(?P<month>{_NUMBER})\.{_LONG}{_TIME}",
        rf"(?P<day>\d{{2}})\.(?P<month>\d{{2}})\.(?P<year>\d{{2}}){_TIME}",
    ),
    MONTH_FIRST: (rf"(?P<month>{_NUMBER})[/-](?P<day>{_NUMBER})[/-]{_YEAR}{_TIME}",),
    NAMED: (
        rf"(?:[A-Za-z]{{3,9}},? )?(?P<day>{_NUMBER})(?:st|nd|rd|th)?\.?[ -]{_NAME}[ -]{_YEAR}{_TIME}",
        rf"(?:[A-Za-z]{{3,9}},? )?{_NAME} (?P<day>{_NUMBER})(?:st|nd|rd|th)?,? {_LONG}{_TIME}",
    ),
}
AS_PROGRAMS_WRITE = r"^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?)?$"  # which Arrow parses, and fast
FIRST = 256  # cells looked at before all of them


def moments(cells: Column, notation: str) -> Column | None:
    """Return text cells as timestamps in microseconds, null where null; None if some cell is no date of this notation.

    A time of day alone is one of 1970-01-01; time zones are left out.
    """
    if len(cells) > FIRST and moments(cells.slice(0, FIRST), notation) is None:
        return None
    cells = pc.utf8_trim_whitespace(cells)
    if notation == ISO and pc.all(pc.match_substring_regex(cells, AS_PROGRAMS_WRITE)).as_py():
        try:
            return cells.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            return None
    coded = cells.dictionary_encode()
    stamps = []
    for text in coded.dictionary.to_pylist():
        stamp = _moment(text, notation)
        if stamp is None:
            return None
        stamps.append(stamp)
    return pa.array(stamps, pa.timestamp("us")).take(coded.indices)


def _moment(text: str, notation: str) -> dt.datetime | None:
    """Return the moment that a text names; None if it is none, or no day of the calendar."""
    found = next(filter(None, (re.fullmatch(pattern, text, re.ASCII) for pattern in PATTERNS[notation])), None)
    if found is None:
        return None
    part = {"year": None, "month": None, "day": None, "name": None} | found.groupdict()
    year = part["year"] or "1970"
    if len(year) == 2:
        year = f"{20 if year < '69' else 19}{year}"
    month = MONTHS.index(part["name"][:3].lower()) + 1 if part["name"] else int(part["month"] or 1)
    hour, half = int(part["hour"] or 0), (part["half"] or "")[:1].lower()
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + 12 * (half == "p") if half else hour
    second, _, fraction = (part["second"] or "0").partition(".")
    clock = hour, int(part["minute"] or 0), int(second), int(fraction[:6].ljust(6, "0"))
    try:
        return dt.datetime(int(year), month, int(part["day"] or 1), *clock)
    except ValueError:
        return None


@dataclass(frozen=True)
class Facts:
    """What is known of the dates of a column: first and last day, years with months, weekdays (0 Monday), hours."""

    first: int
    last: int
    months: frozenset[tuple[int, int]]
    weekdays: frozenset[int]
    hours: frozenset[int]
    timed: bool  # whether some moment is not the beginning of a day

    @classmethod
    def of(cls, stamps: Column) -> Facts:
        """Return what is known of timestamps, none of them null."""
        days = pc.floor(pc.divide(stamps.cast(pa.int64()).cast(pa.float64()), float(DAY)))
        pairs = set(zip(pc.year(stamps).to_pylist(), pc.month(stamps).to_pylist(), strict=True))
        weekdays, hours = (set(part(stamps).unique().to_pylist()) for part in (pc.day_of_week, pc.hour))
        first, last = (int(end(days).as_py()) for end in (pc.min, pc.max))
        timed = bool(pc.any(pc.not_equal(pc.multiply(days.cast(pa.int64()), DAY), stamps.cast(pa.int64()))).as_py())
        return cls(first, last, frozenset(pairs), frozenset(weekdays), frozenset(hours), timed)

    def merge(self, other: Facts) -> Facts:
        """Return what is known of both."""
        return Facts(
            min(self.first, other.first),
            max(self.last, other.last),
            self.months | other.months,
            self.weekdays | other.weekdays,
            self.hours | other.hours,
            self.timed or other.timed,
        )

    @property
    def times_alone(self) -> bool:
        """Whether they are times of day without a date."""
        return self.timed and self.first == self.last == 0

    @property
    def parts(self) -> list[str]:
        """What the calendar tells beside the number of days: what comes again, and has more than one value.

        A month if some month is seen in two years, a weekday if two weeks are spanned, an hour if two days are. A year
        never comes again: it would only be the number of days once more, in larger steps.
        """
        months = [month for _, month in self.months]
        told = {
            "month": 1 < len(set(months)) < len(months),
            "weekday": len(self.weekdays) > 1 and self.last - self.first >= 14,
            "hour": len(self.hours) > 1 and self.last > self.first,
        }
        return [name for name, tells in told.items() if tells]


def added(name: str) -> dict[str, str]:
    """Return the parts that may stand beside a column of dates by the names of their columns."""
    return {f"{name}_{part}": part for part in DATE_PARTS}


def days(stamps: Column) -> Column:
    """Return dates as days since 1970-01-01, numbers of these as they are."""
    if not pa.types.is_temporal(stamps.type):
        return stamps
    return pc.divide(stamps.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64()), float(DAY))


def part(days: Column, name: str) -> Column:
    """Return a part of days: the month from 1 to 12, the weekday from 1, Monday, to 7, or the hour with a fraction."""
    stamps = pc.round(pc.multiply(days.cast(pa.float64()), float(DAY))).cast(pa.int64()).cast(pa.timestamp("us"))
    if name == "hour":
        start = pc.floor_temporal(stamps, unit="day").cast(pa.int64())
        since = pc.subtract(stamps.cast(pa.int64()), start)
        return pc.divide(since.cast(pa.float64()), DAY / 24)
    return pc.month(stamps) if name == "month" else pc.day_of_week(stamps, count_from_zero=False)


def as_dates(days: Column, notation: str, like: str, timed: bool = False) -> Column:
    """Return days as text in a notation, with the mark between its parts that another date has, and the time of day."""
    mark = next((mark for mark in "./-" if mark in like), "-")
    form = {DAY_FIRST: f"%d{mark}%m{mark}%Y", MONTH_FIRST: f"%m{mark}%d{mark}%Y"}.get(notation, "%Y-%m-%d")
    seconds = pc.round(pc.multiply(days.cast(pa.float64()), 86_400.0)).cast(pa.int64()).cast(pa.timestamp("s"))
    whole = f"{form} %H:%M:%S" if timed else form
    return pc.strftime(seconds, format="%H:%M:%S" if re.match(r"\s*\d{1,2}:", like) else whole)
