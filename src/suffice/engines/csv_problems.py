"""Errors about CSV files."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import SourceError, quoted, sentence


class CsvProblem(SourceError):
    """A CSV file cannot be read, or says two things at once."""

    @classmethod
    def damaged(cls, path: object, why: object) -> CsvProblem:
        return cls(
            f"{str(path)!r} is damaged or cut off, or not compressed as its name says: {sentence(why)}. Next: copy "
            "it again, or decompress it to see how far it is good."
        )

    @classmethod
    def ragged(cls, path: object, line: int, expected: int, got: int) -> CsvProblem:
        return cls(
            f"{str(path)!r}, line {line}: {got:,} cell{'' if got == 1 else 's'} where the line of column names has "
            f"{expected:,}. Next: correct that line; a cell that contains the separator must stand in double quotes."
        )

    @classmethod
    def open_quote(cls, path: object, line: int) -> CsvProblem:
        return cls(
            f"{str(path)!r}: a double quote opened on or after line {line} is never closed. Next: close it, or write "
            'a quote inside a cell as "".'
        )

    @classmethod
    def encoding(cls, path: object, where: str) -> CsvProblem:
        return cls(
            f"{str(path)!r} is not UTF-8 text ({where}). Next: save it as UTF-8, for example with "
            "iconv -f latin1 -t utf-8."
        )

    @classmethod
    def two_readings(cls, path: object, column: str, cell: str, learned: str, here: str) -> CsvProblem:
        names = {".": "points", ",": "commas"}
        return cls(
            f"{str(path)!r}, column {column!r}: {cell!r} is one number with decimal {names[learned]}, as in the table "
            f"the model learned from, and another with decimal {names[here]}, as in other columns here. Next: write "
            "its numbers as in that table, without marks between thousands."
        )

    @classmethod
    def other_kind(cls, path: object, ending: str) -> CsvProblem:
        return cls(
            f"{str(path)!r} is no file of the kind that its name says: by its first bytes its name should end in "
            f"{ending}. Next: rename it."
        )

    @classmethod
    def other_unit(cls, path: object, column: str, cells: Sequence[str], learned: str) -> CsvProblem:
        was = {"": "numbers without a unit", "%": "percentages"}.get(learned, f"amounts in {learned}")
        return cls(
            f"{str(path)!r}, column {column!r} holds {quoted(cells)}, and the table that the model learned from {was}. "
            "Next: write its numbers as in that table."
        )

    @classmethod
    def dates_now(cls, path: object, column: str, cell: str) -> CsvProblem:
        return cls(
            f"{str(path)!r}, column {column!r} holds dates, such as {cell!r}, and the model learned numbers there. "
            "Next: write the numbers, or fit again to a table with the dates."
        )

    @classmethod
    def two_dates(cls, path: object, column: str, cell: str) -> CsvProblem:
        return cls(
            f"{str(path)!r}, column {column!r}: {cell!r} has the day or the month first, and neither another date here "
            "nor those that the model learned from say which. Next: write dates as 2026-04-03."
        )

    @classmethod
    def no_share(cls, path: object, column: str, cell: str) -> CsvProblem:
        return cls(
            f"{str(path)!r}, column {column!r}: {cell} has no percent sign, and the table that the model learned from "
            f"percentages: it could be {cell}% or {cell} times the whole. Next: write the sign, or shares such as 0.35."
        )

    @classmethod
    def changed(cls, path: object, column: str, cell: str) -> CsvProblem:
        return cls(
            f"{str(path)!r}, column {column!r}: the cell {cell!r} was not there when the file was first read: it "
            "changes while it is read. Next: wait until it is written, and try again."
        )

    @classmethod
    def no_whole_number(cls, path: object, column: str, cell: str) -> CsvProblem:
        return cls(
            f"{str(path)!r}, column {column!r}: {cell!r} is no whole number, and labels were said to be numbers. Next: "
            "take labels as text, or correct the cell."
        )
