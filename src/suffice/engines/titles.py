"""Where the names of columns stand in a table for people: below title lines, if there are any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

ROWS = 64  # that are looked at
NUMBER_LIKE = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*")


def header_place(rows: Sequence[Sequence[str]]) -> int:
    """Return the place of the row of column names among the first rows of a table; empty cells are empty text.

    Lines above it are blank, or have a cell in no more than half of the columns, such as a title and a date; they end
    earlier than the table, or leave at least two columns without a name, so that no table could begin with them. What
    then follows has to look like names: different texts, none of them a number, and below a number or above a blank
    line, as a column of sentences would lack. Else the first row is taken.
    """
    rows = [_without_end(row) for row in rows[:ROWS]]
    widths = Counter(len(row) for row in rows if any(row))
    width = max(widths, key=lambda w: (widths[w], w), default=0)
    place = next((i for i, row in enumerate(rows) if not _is_title(row, width)), 0)
    above, below = rows[:place], rows[place + 1 :]
    if not any(map(any, above)):
        return place
    blank = not all(map(any, above))
    numbers = any(NUMBER_LIKE.fullmatch(cell) for row in below for cell in row)
    return place if width > 1 and _are_names(rows[place], width) and below and (blank or numbers) else 0


def _without_end(row: Sequence[str]) -> list[str]:
    """Return the cells of a row up to the last that is not empty, without blanks around them."""
    cells = [cell.strip() for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _is_title(row: Sequence[str], width: int) -> bool:
    filled = sum(map(bool, row))
    return not filled or (len(row) < width and filled <= max(width // 2, 1))


def _are_names(row: Sequence[str], width: int) -> bool:
    filled = [cell for cell in row if cell]
    known = len(set(filled)) == len(filled) >= width - 1
    return known and not any(NUMBER_LIKE.fullmatch(cell) for cell in filled)
