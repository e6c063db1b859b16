"""Columns that tell rows apart and not classes: ids, names and dates, left out in one go by --auto-drop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .._dialect import Dialect

if TYPE_CHECKING:
    from ..engines.arrow import Column, Table

FEW_ROWS = 20  # of which too much is different by chance
ALMOST_ALL = 0.5  # a text column with more distinct values than this share of its cells names rows
DENSE = 1.5  # whole numbers that are all different among so few times as many are no measurement
DATE = r"^\s*\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})\b"
ID = re.compile(
    r"(?i)(?:^|[^a-z])(?:id|ids|no|nr|num|number|key|index|uuid|guid|code)(?:$|[^a-z])|[a-z](?:ID|Id|No|Nr)$"
)


def automatic_drops(columns: Table, dialect: Dialect | None) -> dict[str, str]:
    """Return the columns to leave out, and why; without words for what the calendar adds to a column of dates."""
    from ..engines.calendar import added

    found: dict[str, str] = {}
    for name in () if dialect is None else dialect.dates:
        found |= {name: "dates"} | dict.fromkeys(added(name), "")
    found = {name: why for name, why in found.items() if name in columns.column_names}
    others = {name: _why(name, columns.column(name)) for name in columns.column_names if name not in found}
    return found | {name: why for name, why in others.items() if why}


def _why(name: str, cells: Column) -> str:
    """Return what a column holds if that only tells rows apart, else ""."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..engines.arrow import decoded, is_text

    cells = decoded(cells).drop_null()
    count = len(cells)
    if not count:
        return ""
    text = is_text(cells.type)
    if pa.types.is_temporal(cells.type) or (text and pc.all(pc.match_substring_regex(cells, DATE)).as_py()):
        return "dates"
    if count <= FEW_ROWS:
        return ""
    distinct = len(cells.unique())
    if text and distinct > ALMOST_ALL * count:
        return "all different" if distinct == count else f"{distinct:,} different texts in {count:,} cells"
    if pa.types.is_integer(cells.type) and distinct == count:
        span = pc.max(cells).as_py() - pc.min(cells).as_py() + 1
        return "whole numbers, all different" if span <= DENSE * count or ID.search(name) else ""
    return ""
