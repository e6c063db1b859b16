"""The words of one SQL dialect, through sqlglot, and a query as a chain of stages, each reading the one before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches

from ..._arrays import Array, Codes, np
from ...errors import ExportError, SettingError, pip_install, setting
from ...schema import Level

try:
    import sqlglot
    from sqlglot import exp
except ImportError as error:
    raise ImportError(f"SQL needs sqlglot, which is not installed. Next: {pip_install('sql')}") from error

Function = Callable[..., exp.Expression]  # a class of sqlglot
FENCED = {"postgres", "sqlite"}  # where a stage is substituted into the next one unless it is said to be materialized
ARRAYS = {"duckdb": ("[", "]"), "postgres": ("{", "}")}  # around a constant array, where it is read once for all rows
MINDS_CASE = {"clickhouse", "oracle", "postgres", "snowflake"}  # where "A" and "a" are two columns
TRIMS = {"duckdb", "postgres", "sqlite"}  # where other characters than blanks can be trimmed, and it was tried
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and line ends
WITHIN = 16  # stages one in the other, where planning takes the square of their number: 240 take 7 s, all apart 18
CHAIN = 40  # additions in a row: parsers limit the depth of an expression


class Language:
    """Text in one dialect. Names and values of users become quoted identifiers and literals, here and nowhere else."""

    def __init__(self, dialect: str) -> None:
        known = sorted(name for name in sqlglot.Dialect.classes if name)
        if dialect not in known:
            close = get_close_matches(str(dialect), known, n=3, cutoff=0.5) or ["duckdb", "postgres", "sqlite"]
            raise SettingError(
                f"{setting('dialect', dialect)} is not a SQL dialect that sqlglot writes. Next: did you mean "
                f"{' or '.join(map(repr, close))}? All are {', '.join(known)}."
            )
        self.dialect = dialect
        self.has_arrays = dialect in ARRAYS
        self._casts: dict[str, str] = {}

    def write(self, expression: exp.Expression) -> str:
        """Return an expression as text."""
        return str(expression.sql(dialect=self.dialect))

    def identifier(self, name: str) -> exp.Identifier:
        """Return a quoted name; ExportError for one that SQL cannot have, or that a terminal would obey."""
        if not name or CONTROL.search(name):
            raise ExportError(
                f"SQL has no plain way to write the name {name!r}. Next: give the column, or the table, another."
            )
        return exp.to_identifier(name, quoted=True)

    def text(self, value: str) -> str:
        """Return a string literal; control characters, which a terminal would obey, are written by their numbers."""
        if "\0" in value:
            raise ExportError(f"SQL has no way to write the text {value!r}. Next: rename the category, and fit again.")
        parts = [self._part(part) for part in re.split(f"({CONTROL.pattern})", value) if part]
        if len(parts) < 2 and not CONTROL.search(value):
            return self.write(exp.Literal.string(value))
        return f"({self.write(exp.Concat(expressions=parts, safe=False, coalesce=False))})"

    def _part(self, text: str) -> exp.Expression:
        if CONTROL.fullmatch(text):
            return exp.Chr(expressions=[exp.Literal.number(ord(text))])
        return exp.Literal.string(text)

    def level(self, value: Level) -> str:
        """Return a class label as a literal of its type."""
        if isinstance(value, bool):
            return self.write(exp.true() if value else exp.false())
        if isinstance(value, str):
            return self.text(value)
        return repr(int(value)) if isinstance(value, int) else number(value)

    def double(self, text: str) -> str:
        """Return a number cast to double precision."""
        return self._cast(text, "double")

    def double_or_null(self, text: str) -> str:
        """Return a value of any type cast to double precision, NULL where that cannot be."""
        return self.write(exp.TryCast(this=raw(text), to=exp.DataType.build("double")))

    def whole(self, text: str) -> str:
        """Return a truth value or number cast to an integer."""
        return self._cast(text, "int")

    def characters(self, text: str) -> str:
        """Return a value cast to text."""
        return self._cast(text, "text")

    def trimmed(self, text: str) -> str:
        """Return text without the spaces around it."""
        characters = exp.Literal.string(" \t\xa0") if self.dialect in TRIMS else None
        return self.write(exp.Trim(this=raw(text), expression=characters))

    def array(self, parts: Sequence[str]) -> str:
        """Return an array of expressions."""
        return self.write(exp.Array(expressions=[raw(part) for part in parts]))

    def entry(self, values: Array | Codes, index: str) -> str:
        """Return the entry of a constant array (n,) at an index that counts from 1."""
        first, last = ARRAYS[self.dialect]
        text = f"'{first}{','.join(map(repr, values.tolist()))}{last}'"
        return f"({self._cast(text, 'double[]' if values.dtype.kind == 'f' else 'int[]')})[{index}]"

    def _cast(self, text: str, kind: str) -> str:
        if kind not in self._casts:  # trees have some ten thousand, and a type is parsed for each expression
            self._casts[kind] = self.write(exp.cast(raw("\0"), kind))
        return self._casts[kind].replace("\0", text)

    def ln(self, text: str) -> str:
        """Return the natural logarithm."""
        return self.write(exp.Ln(this=raw(text)))

    def exp(self, text: str) -> str:
        """Return the exponential function, of at least −700 so that no database stops at what is as good as 0."""
        return self.write(exp.Exp(this=raw(self.greatest([text, number(-700.0)]))))

    def greatest(self, parts: Sequence[str]) -> str:
        """Return the greatest of expressions that are not NULL."""
        return self._extreme(exp.Greatest, parts)

    def least(self, parts: Sequence[str]) -> str:
        """Return the least of expressions that are not NULL."""
        return self._extreme(exp.Least, parts)

    def _extreme(self, kind: Function, parts: Sequence[str]) -> str:
        if len(parts) == 1:
            return parts[0]
        if len(parts) > CHAIN:  # SQLite takes at most 127 arguments
            parts = [self._extreme(kind, parts[i : i + CHAIN]) for i in range(0, len(parts), CHAIN)]
        rest = [raw(part) for part in parts[1:]]
        return self.write(kind(this=raw(parts[0]), expressions=rest, ignore_nulls=True))


def raw(text: str) -> exp.Expression:
    """Return text that this package wrote as an expression."""
    return exp.Var(this=text)


def number(value: float) -> str:
    """Return a double precision literal that reads back as the same float; in parentheses if negative."""
    value = float(value)
    if not np.isfinite(value):
        raise ExportError(
            f"A parameter of this model is {value}, which SQL has no literal for. Next: fit with smoothing above 0."
        )
    text = repr(abs(value)) if "e" in repr(value) else f"{abs(value)!r}e0"
    return f"(-{text})" if value < 0 else text


def total(parts: Sequence[str]) -> str:
    """Return a sum, in parentheses, no deeper than parsers allow."""
    if not parts:
        return number(0.0)
    while len(parts) > CHAIN:
        parts = [total(parts[i : i + CHAIN]) for i in range(0, len(parts), CHAIN)]
    return f"({' + '.join(parts)})"


def case(branches: Sequence[tuple[object, str]], otherwise: str, subject: str = "") -> str:
    """Return CASE WHEN … THEN … ELSE … END, of conditions, or of what a subject may be."""
    whens = [f"WHEN {when} THEN {then}" for when, then in branches]
    start = ["CASE", subject] if subject else ["CASE"]
    return " ".join([*start, *whens, f"ELSE {otherwise} END"]) if branches else otherwise


def where_known(column: str, text: str, otherwise: str = "0.0e0") -> str:
    """Return an expression where a cell is known, and otherwise 0."""
    return f"CASE WHEN {column} IS NULL THEN {otherwise} ELSE {text} END"


def piecewise(x: str, cuts: Sequence[float] | Array, pieces: Sequence[str]) -> str:
    """Return pieces[i] for the number i of ascending cuts that are at most x, found by halving."""
    if not len(cuts):
        return pieces[0]
    middle = len(cuts) // 2
    below = piecewise(x, cuts[:middle], pieces[: middle + 1])
    above = piecewise(x, cuts[middle + 1 :], pieces[middle + 1 :])
    return f"CASE WHEN {x} < {number(cuts[middle])} THEN {below} ELSE {above} END"


def line(x: str, knot: float, value: float, slope: float) -> str:
    """Return the line of a slope through a value at a knot."""
    return f"({number(value)} + {number(slope)} * ({x} - {number(knot)}))"


class Stages:
    """Stages under construction: `columns` are those that the last one has, under short names of our own."""

    def __init__(self, language: Language, table: Sequence[str]) -> None:
        self.language = language
        self.columns: dict[str, None] = {}
        self._stages: list[exp.Select] = []
        names = [language.identifier(part) for part in table]
        self._table: exp.Expression = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(names), strict=False)))
        self._fresh = 0

    def name(self) -> str:
        """Return a column name that is not in use."""
        self._fresh += 1
        return f"t{self._fresh}"

    def add(self, new: Mapping[str, str | exp.Expression], drop: Iterable[str] = ()) -> None:
        """Add a stage with new columns (or new values of old ones), that does not pass on some of the old ones."""
        gone = set(drop)
        kept = [name for name in self.columns if name not in new and name not in gone]
        select = [raw(name) for name in kept] + [
            exp.Alias(this=raw(value) if isinstance(value, str) else value, alias=exp.to_identifier(name))
            for name, value in new.items()
        ]
        if new:
            self._stages.append(exp.Select(expressions=select))
        self.columns = dict.fromkeys([*kept, *new])

    def finish(self, answers: Sequence[tuple[str, str]]) -> str:
        """Return the query that selects expressions under names of users, pairs (expression, name).

        Stages stand apart, as people read them, but where many would take DuckDB long to plan.
        """
        expressions = [exp.Alias(this=raw(text), alias=self.language.identifier(name)) for text, name in answers]
        query, last = exp.Select(expressions=expressions), self._table
        nested = self.language.dialect == "duckdb" and len(self._stages) > 2 * WITHIN
        for i, stage in enumerate(self._stages, start=1):
            own, name = stage.from_(last, copy=False), exp.to_identifier(f"s{i}")
            if nested and i % WITHIN:
                last = own.subquery(name, copy=False)
            else:
                query = query.with_(name, as_=own, materialized=self.language.dialect in FENCED or None, copy=False)
                last = exp.Table(this=name)
        return self.language.write(query.from_(last, copy=False))
