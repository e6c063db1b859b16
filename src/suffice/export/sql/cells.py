"""What is read off a row, in SQL: cells of whatever type as text or numbers, codes of categories, readings.

A database that reads a file decides what its columns hold: yes and no become truth values, 1.50 becomes 1.5. So a query
asks for the type. Where a value can mean one level alone it is that level; elsewhere the query fails, and names the
column: a level that nobody meant would be a wrong answer without a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from ..._arrays import np
from ...errors import quoted, shown
from ...schema import Level
from ..program import Bin, Code, Indicator, Interpolated, Number, Program, Projected, Scaled
from .language import Language, Stages, case, line, number, piecewise, total, where_known

T = TypeVar("T")
LARGEST = number(1e150)  # beyond it, Python refuses a cell: its square overflows
EXACT = 2**53  # from here on whole numbers are not all doubles
WORDS = {True: {"true", "t", "yes", "y", "on", "1"}, False: {"false", "f", "no", "n", "off", "0"}}  # of truth values
# What some reader takes for a number though Python does not: 0x10, 1_000, 1,5, nan
DOUBTFUL = re.compile(r"[+-]?(0[xob][0-9a-f]+|[\d.,_'\s]*\d[\d.,_'\s]*|nan|inf|infinity)", re.IGNORECASE)
ISO = re.compile(r"(\d{4}-\d\d-\d\d)?([T ]?\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")

TEXT, TRUTH, NUMBER, DATE, STAMP, TIME = "text", "truth", "number", "date", "stamp", "time"


@dataclass(frozen=True, slots=True)
class Types:
    """How a dialect tells the type of a value: an expression for its name, and which names are of which kind.

    A name that ends in % stands for all that begin so. Other types are of the kind `rest`, or refused.
    `failing` is an expression that fails with a message, `moment` one for a date or time as text.
    """

    name: str
    kinds: Mapping[str, Sequence[str]]
    failing: str
    rest: str = ""
    moment: str = "CAST({} AS TEXT)"

    def asked(self, kinds: Sequence[str], source: str) -> str:
        """Return whether a value is of one of some kinds."""
        name, names = self.name.format(source), [own for kind in kinds for own in self.kinds[kind]]
        exact = ", ".join(f"'{own}'" for own in names if not own.endswith("%"))
        parts = [f"{name} IN ({exact})"] if exact else []
        return " OR ".join([*parts, *(f"{name} LIKE '{own}'" for own in names if own.endswith("%"))])


TYPES = {
    "duckdb": Types(
        "TYPEOF({})",
        {
            TEXT: ("VARCHAR", "UUID", "JSON", "ENUM%"),
            TRUTH: ("BOOLEAN",),
            NUMBER: (
                *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER"),
                *("UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL%", "BIGNUM"),
            ),
            DATE: ("DATE",),
            STAMP: ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
            TIME: ("TIME", "TIME_NS"),
        },
        "ERROR({})",
    ),
    "postgres": Types(
        "CAST(PG_TYPEOF({}) AS TEXT)",
        {
            TRUTH: ("boolean",),
            NUMBER: ("smallint", "integer", "bigint", "real", "double precision", "numeric"),
            DATE: ("date",),
            STAMP: ("timestamp without time zone",),
            TIME: ("time without time zone",),
            "": ("timestamp with time zone", "time with time zone", "interval", "bytea"),
        },
        "CAST(CAST({} AS INT) AS TEXT)",  # it has no function that fails: the message is no number
        rest=TEXT,
        moment="REPLACE(TO_JSONB({}) #>> '{{}}', 'T', ' ')",  # ISO 8601 under any DateStyle
    ),
    "sqlite": Types(
        "TYPEOF({})",
        {TEXT: ("text", "blob"), NUMBER: ("integer", "real")},
        "JSON_EXTRACT('{{}}', {})",  # it has no function that fails: the message is no path
    ),
}


class Sources:
    """The cells of a program's columns as expressions over the columns of the table."""

    def __init__(self, program: Program, language: Language) -> None:
        self._program, self._language = program, language
        self._types = TYPES.get(language.dialect)

    def text(self, j: int, source: str) -> str:
        """Return a cell of a column of text: the level that it means, another text, or NULL."""
        levels, written = [str(level) for level in self._program.columns[j].levels], self._language.characters(source)
        if not levels:
            return written
        text, truths = self._language.trimmed(written) if self._program.trimmed else written, _truths(levels)
        blank = [word for word in self._program.blank if word not in levels]
        cell = self._but_blank(text, blank, text)
        if self._types is None:  # truth values are read as their words, if no level is called so
            named = truths and not {"true", "false"} & set(levels)
            return self._named(f"LOWER({text})", truths, cell) if named and truths else cell
        found = {TEXT: cell, NUMBER: self._number(levels, written)}
        if truths:
            found[TRUTH] = self._named(written, truths, written)
        for kind in (DATE, STAMP, TIME):
            moments, moment = _moments(levels, kind), self._types.moment.format(source)
            if moments:
                found[kind] = self._named(moment, moments, moment)
        return self._by_kind(j, source, found, f"text, such as {quoted(levels[:2])}")

    def number(self, j: int, source: str) -> str:
        """Return a cell of a column of numbers or truth values as a double, or NULL."""
        column, language, types = self._program.columns[j], self._language, self._types
        truth = column.kind == "truth" or any(isinstance(level, bool) for level in column.levels)
        if types is None:
            return language.double(language.whole(source) if truth else source)
        text, learned = language.trimmed(language.characters(source)), "truth values" if truth else "numbers"
        double = language.double(text)
        if types is TYPES["sqlite"]:  # where a text that is no number would be read as 0, or as far as it is one
            double = case([(f"{text} <= {language.double('9e999')}", double)], self._refused(j, source, learned))
        if truth:
            double = f"CASE LOWER({text}) WHEN 'true' THEN 1.0e0 WHEN 'false' THEN 0.0e0 ELSE {double} END"
        read = self._but_blank(text, ["", *self._program.blank], double)
        if types is TYPES["postgres"]:  # it compiles all branches for the type that a column has
            as_text = f"{types.name.format(source)} IN ('text', 'character varying', 'character')"
            return read if truth else f"CASE WHEN {as_text} THEN {read} ELSE {language.double(source)} END"
        plain = language.double(source) if types is TYPES["sqlite"] else language.double_or_null(source)
        return self._by_kind(j, source, {TEXT: read, NUMBER: plain, TRUTH: plain}, learned)

    def _by_kind(self, j: int, source: str, found: Mapping[str, str | None], learned: str) -> str:
        """Return the expression of the kind of a value; what has none is refused."""
        assert self._types is not None
        rest = self._types.rest
        own = [kind for kind in self._types.kinds if found.get(kind) and kind != rest]
        branches = [(f"{source} IS NULL", self._blank(j, source))]
        branches += [(self._types.asked([kind], source), str(found[kind])) for kind in own]
        refused = self._refused(j, source, learned)
        if not rest:
            return case(branches, refused)
        others = [kind for kind in self._types.kinds if kind not in own]
        return case([*branches, (self._types.asked(others, source), refused)], str(found[rest]))

    def _blank(self, j: int, source: str) -> str:
        """Return what NULL is: no answer where it may well be the blank that was learned as a level."""
        column = self._program.columns[j]
        if not column.blank_is_level:
            return "NULL"
        return self._fails(
            f"Column {shown(column.name)} has a NULL, and the model learned '' there and no missing cell. Next: "
            "COALESCE it to '' if blanks were read as NULL, or learn from rows with missing cells. It is of type ",
            source,
        )

    def _refused(self, j: int, source: str, learned: str) -> str:
        name = self._program.columns[j].name
        return self._fails(f"Column {shown(name)} was learned as {learned}. Next: read or cast it so, not as ", source)

    def _fails(self, message: str, source: str) -> str:
        """Return an expression that fails with a message, which ends in the type of the value."""
        assert self._types is not None
        return self._types.failing.format(f"{self._language.text(message)} || {self._types.name.format(source)}")

    def _but_blank(self, text: str, blank: Sequence[str], otherwise: str) -> str:
        words = ", ".join(self._language.text(word) for word in dict.fromkeys(blank))
        return f"CASE WHEN {text} IN ({words}) THEN NULL ELSE {otherwise} END" if words else otherwise

    def _named(self, cell: str, levels: Mapping[str, str], otherwise: str) -> str:
        """Return the level of a text, by what the database writes for it."""
        if all(text == level for text, level in levels.items()):
            return cell
        text = self._language.text
        return case([(f"{cell} = {text(own)}", text(level)) for own, level in levels.items()], otherwise)

    def _number(self, levels: Sequence[str], text: str) -> str | None:
        """Return the level of a number, None where it could be none or two."""
        double = self._language.double(text)
        branches = [
            (f"{text} = '{own}'" if isinstance(own, int) and abs(own) >= EXACT else f"{double} = {number(own)}", level)
            for own, level in (_numbers(levels) or {}).items()
        ]
        return case([(when, self._language.text(level)) for when, level in branches], text) if branches else None


def _alone(pairs: Sequence[tuple[T, str]]) -> dict[T, str] | None:
    """Return pairs by what stands first, None if two have the same there."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else None


def _truths(levels: Sequence[str]) -> dict[str, str] | None:
    """Return the levels that mean true and false, if one alone means each and there is any."""
    meant = [(truth, level) for level in levels for truth, words in WORDS.items() if level.strip().casefold() in words]
    found = _alone(meant)
    return None if found is None else {str(truth).lower(): level for truth, level in found.items()}


def _numbers(levels: Sequence[str]) -> dict[int | float, str] | None:
    """Return the levels by the number that each means, if no two mean the same, and none may or may not be a number."""
    pairs: list[tuple[int | float, str]] = []
    for level in levels:
        value = _number(level)
        if value is not None:
            pairs.append((value, level))
        elif DOUBTFUL.fullmatch(level.strip()):
            return None
    return _alone(pairs)


def _number(text: str) -> int | float | None:
    """Return the number that a text is in every language, None if it is none."""
    try:
        value = Decimal("x" if "_" in text else text.strip())
    except InvalidOperation:
        return None
    if not value.is_finite() or abs(value) > Decimal("1e300"):
        return None
    return int(value) if value == value.to_integral_value() else float(value)


def _moments(levels: Sequence[str], kind: str) -> dict[str, str] | None:
    """Return the levels by how a database writes the date or time that each is; None where one might be another.

    Levels without a digit are no dates. 1/5/2020 may be May or January, so such levels have no reading.
    """
    pairs: list[tuple[str, str]] = []
    for level in levels:
        if any(sign.isdigit() for sign in level):
            text = level.strip()
            if not text or not ISO.fullmatch(text):
                return None
            try:
                pairs.append((_moment(text, kind), level))
            except ValueError:
                return None
    return _alone(pairs)


def _moment(text: str, kind: str) -> str:
    """Return how a database writes a date, a time or both; ValueError if the text is none."""
    if kind == TIME:
        return time.fromisoformat(text).isoformat().rstrip("0") if "." in text else time.fromisoformat(text).isoformat()
    if kind == DATE:
        return date.fromisoformat(text).isoformat()
    stamp = datetime.fromisoformat(text).isoformat(" ")
    return stamp.rstrip("0").rstrip(".") if "." in stamp else stamp


class Cells:
    """The columns `r…` of readings and `k…` of codes, made in as few stages as they need."""

    def __init__(self, program: Program, stages: Stages, sources: Sequence[str]) -> None:
        self.program, self.stages, self.sources = program, stages, sources
        self._first()
        self._second()
        self._third()

    def reading(self, i: int) -> str:
        """Return the column of a reading."""
        return f"r{i}"

    def code(self, i: int) -> str:
        """Return the column of a code."""
        return f"k{i}"

    def _first(self) -> None:
        """Add the cells as clean numbers or as text: a NaN or infinite cell is missing."""
        sources, cells, clean = Sources(self.program, self.stages.language), dict[str, str](), dict[str, str]()
        for j, (column, source) in enumerate(zip(self.program.columns, self.sources, strict=True)):
            name = f"c{j}"
            if column.kind == "category" and _as_text(column.levels):
                cells[name] = sources.text(j, source)
            else:
                cells[name] = sources.number(j, source)
                clean[name] = f"CASE WHEN {name} BETWEEN -{LARGEST} AND {LARGEST} THEN {name} END"
        self.stages.add(cells)
        if clean:
            self.stages.add(clean)

    def _second(self) -> None:
        """Add numbers and codes of categories, and forget the cells."""
        new = {}
        for i, reading in enumerate(self.program.readings):
            if isinstance(reading, Number):
                cell = f"c{reading.column}"
                new[f"r{i}"] = f"CASE WHEN {cell} IS NULL THEN {cell} END" if reading.empty else cell
        for i, code in enumerate(self.program.codes):
            if isinstance(code, Code):
                new[f"k{i}"] = self._level(code)
        self.stages.add(new, [f"c{j}" for j in range(len(self.program.columns))])

    def _level(self, code: Code) -> str:
        cell, text = f"c{code.column}", _as_text(self.program.columns[code.column].levels)
        branches = [(f"{cell} IS NULL", "-1")]
        for i, level in enumerate(code.levels):
            literal = self.stages.language.text(str(level)) if text else number(float(level))
            branches.append((f"{cell} = {literal}", str(i)))
        return case(branches, "-1" if code.empty else str(len(code.levels)))

    def _third(self) -> None:
        """Add what is made of numbers and codes, layer by layer."""
        new: dict[str, str] = {}
        for i, code in enumerate(self.program.codes):
            if isinstance(code, Bin):
                x = self.reading(code.reading)
                counts = [str(b) for b in range(len(code.cuts) + 1)]
                new[f"k{i}"] = where_known(x, piecewise(x, code.cuts, counts), "-1")
        for kinds in ((Interpolated, Indicator), (Scaled,), (Projected,)):
            for i, reading in enumerate(self.program.readings):
                if isinstance(reading, kinds):
                    new[f"r{i}"] = self._made(reading)
            if new:
                self.stages.add(new)
            new = {}

    def _made(self, reading: object) -> str:
        if isinstance(reading, Indicator):
            k = self.code(reading.code)
            missing = f"WHEN {k} < 0 THEN NULL " if reading.keeps_missing else ""
            text = f"CASE {missing}WHEN {k} = {reading.level} THEN 1.0e0 ELSE 0.0e0 END"
            return self.stages.language.double(text)
        if isinstance(reading, Scaled):
            return f"({self.reading(reading.reading)} - {number(reading.centre)}) / {number(reading.scale)}"
        if isinstance(reading, Projected):
            pairs = zip(reading.readings, reading.weight, strict=True)
            return total([f"COALESCE({self.reading(i)}, 0.0e0) * {number(w)}" for i, w in pairs])
        assert isinstance(reading, Interpolated)
        return self._interpolated(reading)

    def _interpolated(self, own: Interpolated) -> str:
        x, knots, values = self.reading(own.reading), own.knots, own.values
        if len(knots) == 1:
            return where_known(x, self.stages.language.double(number(values[0])), "NULL")
        slopes = np.diff(values) / np.diff(knots)
        language = self.stages.language
        below = [line(x, knots[0], values[0], own.low), number(values[0] - 1.0)]
        above = [line(x, knots[-1], values[-1], own.high), number(values[-1] + 1.0)]
        inner = [line(x, *each) for each in zip(knots[:-1], values[:-1], slopes, strict=True)]
        pieces = [language.greatest(below), *inner, language.least(above)]
        return where_known(x, piecewise(x, knots, pieces), "NULL")


def _as_text(levels: Sequence[Level]) -> bool:
    """Return whether cells are compared as text: text, and whole numbers that are not exact as doubles."""
    return not levels or any(
        isinstance(level, str) or (isinstance(level, int) and abs(level) >= EXACT) for level in levels
    )
