"""What can be wrong with a CSV file."""

from __future__ import annotations

from ..errors import SourceError, sentence


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
