"""Dates as numbers: seconds since 1970-01-01, of UTC where a time zone is told, NaN where missing; and as dates again.

A moment without a time zone counts as one of UTC. Seconds in floating point tell microseconds apart until 2106.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

from .._arrays import Array, Codes, NDArray, np
from ..errors import SchemaError, either, shown
from ..schema import DAYS, Kind, Name
from .cells import Cells, Looked, as_float, holds_value, object_kind

MAY_DATE = frozenset({Kind.DATE, Kind.STRING})
ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
UNITS = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
DATE_PARTS = {"month": 12, "weekday": 7, "hour": 24}  # of a date that come again, and how many values each has
GLANCE = 64  # cells that are looked at before all of them
EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0  # seconds of the years 1 and 9999, which Python's dates reach


def are_dates(table: Looked, position: int) -> bool:
    """Return whether every cell of a column of text is an ISO date."""
    seen = [cell for cell in table.some(position, GLANCE).tolist() if holds_value(cell)]
    if not seen or not all(isinstance(cell, str) and ISO.fullmatch(cell.strip()) for cell in seen):
        return False
    try:
        return not np.isnan(table.numeric([position])).all()
    except SchemaError:
        return False


def read_seconds(cells: Cells, name: Name) -> Array:
    """Return a column (n,) of dates, of text that holds ISO dates, or of numbers as float64, NaN where missing."""
    if cells.dtype.kind == "M":
        found = cells.astype("datetime64[us]").astype(np.int64) / 1e6
        found[np.isnat(cells)] = np.nan
        return np.asarray(found)
    kind = object_kind(cells, name) if cells.dtype.kind == "O" else None
    if kind is Kind.STRING or cells.dtype.kind in "US":
        return _of_text(cells, name)
    if kind is not Kind.DATE:
        return as_float(cells, [name])
    moments = [moment(cell) if holds_value(cell) else None for cell in cells.tolist()]
    return read_seconds(np.array(moments, dtype="datetime64[us]"), name)


def _of_text(cells: Cells, name: Name) -> Array:
    texts = cells.tolist()
    found: dict[object, float] = {}
    for text in dict.fromkeys(cell for cell in texts if isinstance(cell, str)):
        try:
            if ISO.fullmatch(text.strip()) is None:
                raise ValueError(text)
            named = np.datetime64(moment(dt.datetime.fromisoformat(text.strip())), "us")
            found[text] = float(named.astype(np.int64)) / 1e6
        except ValueError:
            if not found:
                raise SchemaError.needs_numbers([name], "This block of columns") from None
            raise SchemaError(
                f"Column {shown(name)} holds dates, and {shown(text)} is none. Next: write all dates as 2026-04-03 or "
                f"2026-04-03 14:05{either(', or leave the cell missing (None)', ', or leave the cell empty')}."
            ) from None
    return np.array([found.get(cell, np.nan) if isinstance(cell, str) else np.nan for cell in texts])


def moment(date: Any) -> Any:
    """Return a date without its time zone, as of UTC."""
    zoned = isinstance(date, dt.datetime) and date.tzinfo is not None
    return date.astimezone(dt.UTC).replace(tzinfo=None) if zoned else date


def form_of(cells: Cells) -> str:
    """Return how an array (n,) holds its dates, see `schema.Column`."""
    if cells.dtype.kind == "M":
        return DAYS if np.datetime_data(cells.dtype)[0] in "YMWD" else ""
    first = next(cell for cell in cells.tolist() if holds_value(cell))
    return "" if isinstance(first, dt.datetime | np.datetime64) else DAYS


def as_moments(seconds: Array) -> NDArray[np.datetime64]:
    """Return dates of the years 1 to 9999, the nearest to these numbers (n,), to the microsecond."""
    known = ~np.isnan(seconds)
    whole = np.rint(np.where(known, np.clip(seconds, EARLIEST, LATEST), 0.0) * 1e6).astype(np.int64)
    return np.where(known, whole.astype("datetime64[us]"), np.datetime64("NaT", "us"))


def calendar_cells(seconds: Array) -> NDArray[np.int16]:
    """Return month, weekday (0 Monday) and hour (n, 3) of dates (n,), each from 0 on and of UTC, −1 where missing."""
    known, told = ~np.isnan(seconds), np.floor(np.clip(np.nan_to_num(seconds), EARLIEST, LATEST))
    months = told.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    parts = np.column_stack([months % 12, (told // 86_400.0 + 3) % 7, told % 86_400.0 // 3_600.0])
    return np.where(known[:, None], parts, -1).astype(np.int16)


def recurring(seconds: Array) -> list[bool]:
    """Return which parts of dates (n,), in the order of `DATE_PARTS`, come again and have more than one value.

    A month does if one is seen in two years, a weekday if two weeks are spanned, an hour if two days are.
    """
    known = seconds[~np.isnan(seconds)]
    if not len(known):
        return [False] * len(DATE_PARTS)
    cells, days = calendar_cells(known), np.unique(known // 86_400.0)
    again = len(np.unique(as_moments(known).astype("datetime64[M]"))) > len(np.unique(cells[:, 0]))
    far = [again, days[-1] - days[0] >= 14.0, len(days) > 1]
    return [bool(own and len(np.unique(cell)) > 1) for own, cell in zip(far, cells.T, strict=True)]


def as_text(seconds: float) -> str:
    """Return a date as ISO 8601 has it: a day, where it is the beginning of one, or with the time of day."""
    found = as_moments(np.array([seconds]))[0].item()
    return str(found).removesuffix(":00").removesuffix(" 00:00") if found.microsecond == 0 else str(found)


def about(seconds: float, spread: float) -> str:
    """Return a date as text, no finer than a spread of dates asks for: as a day, a minute or a second."""
    unit = 86_400.0 if spread >= 86_400.0 else 60.0 if spread >= 3_600.0 else 1.0 if spread >= 1.0 else 1e-6
    return as_text(float(np.floor(seconds / unit) * unit))


def length_in_words(seconds: float) -> str:
    """Return a length of time in the largest unit of which it has two, such as "60 days"."""
    unit, name = next((own for own in UNITS if seconds >= 2.0 * own[0]), UNITS[-1])
    size = seconds / unit
    return f"{size:,.0f} {name}" if size >= 10.0 else f"{size:.2g} {name}"


def date_ticks(low: float, high: float, count: int) -> list[float]:
    """Return about so many dates between two, as far apart as whole days, hours, minutes or seconds."""
    wide = (high - low) / count
    unit = next((own for own, _ in UNITS if wide >= own), 1.0)
    step = float(np.ceil(wide / unit)) * unit
    return [*map(float, np.arange(np.ceil(low / step) * step, high, step))]


def as_texts(moments: NDArray[np.datetime64]) -> Cells:
    """Return dates (n,) as text, None where missing."""
    seconds = read_seconds(moments, "")
    return np.array([None if np.isnan(own) else as_text(own) for own in seconds.tolist()], dtype=object)


def dates_like(cells: Sequence[object], moments: NDArray[np.datetime64]) -> list[Any]:
    """Return dates (n,) as the objects that stand in a column: text, days, or moments."""
    first = next((cell for cell in cells if holds_value(cell)), None)
    if isinstance(first, str):
        return list(as_texts(moments).tolist())
    whole = isinstance(first, dt.date) and not isinstance(first, dt.datetime)
    found = list((moments.astype("datetime64[D]") if whole else moments).tolist())
    zone = getattr(first, "tzinfo", None)
    return found if zone is None else [own and own.replace(tzinfo=dt.UTC).astimezone(zone) for own in found]


def factorize_dates(seconds: Array) -> tuple[tuple[str, ...], Codes]:
    """Return the dates of a column (n,) as text, ascending, and the code of each cell, −1 where missing."""
    codes = np.full(len(seconds), -1, dtype=np.int32)
    known = ~np.isnan(seconds)
    found, codes[known] = np.unique(seconds[known], return_inverse=True)
    return tuple(map(as_text, found.tolist())), codes
