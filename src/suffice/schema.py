"""What a model knows about the columns of a table: their names, kinds and categories.

A schema is fixed at the first fit and checked before any cell of a later table is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache

from .errors import SchemaError, either, quoted, shown

DAYS, WRITTEN = "days", "written"  # forms of dates
Name = str | int
Level = str | int | float | bool


class Kind(Enum):
    """The kinds of column a model can read."""

    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    CATEGORICAL = "categorical"
    STRING = "string"
    TEXT = "text"  # of several words, which are read one by one
    DATE = "date"  # read as seconds since 1970-01-01
    EMPTY = "empty"  # no cell has a value, so any kind fits

    @property
    def is_number(self) -> bool:
        """Whether cells can be read as numbers."""
        return not self.is_label

    @property
    def is_label(self) -> bool:
        """Whether cells are text labels."""
        return self in (Kind.CATEGORICAL, Kind.STRING, Kind.TEXT)

    @property
    def is_measured(self) -> bool:
        """Whether cells are any real numbers: numbers, or dates as seconds."""
        return self in (Kind.NUMERIC, Kind.DATE)

    def reads(self, other: Kind) -> bool:
        """Return whether a column of this kind can be read of one of the other: dates also of text."""
        if Kind.EMPTY in (self, other) or Kind.DATE not in (self, other):
            return Kind.EMPTY in (self, other) or self.is_number == other.is_number
        return self is Kind.DATE and other in (Kind.DATE, Kind.STRING)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name (a position if the table has no names) and kind, and its levels in `order` if they have one.

    Levels that are met later than the order was told stand behind it. `form` says how a table holds its dates: as days
    (`DAYS`), as text (`WRITTEN`), as moments in the time zone that it names, or, "", as moments without one.
    """

    name: Name
    kind: Kind
    order: tuple[Level, ...] = field(default=(), compare=False)
    form: str = field(default="", compare=False)

    def in_order(self, levels: Iterable[Level]) -> tuple[Level, ...]:
        """Return levels, those of the order first and in it, whether they are among the given or not."""
        told = set(self.order)
        return (*self.order, *(level for level in levels if level not in told))


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns a model was fitted on, in order, and the kind of table they came in (see `table.CONTAINERS`)."""

    columns: tuple[Column, ...]
    named: bool
    container: str = field(default="numpy", compare=False)
    names: tuple[Name, ...] = field(init=False, repr=False, compare=False)  # of the columns in order
    text: frozenset[int] = field(init=False, repr=False, compare=False)  # positions of columns of text labels

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(column.name for column in self.columns))
        text = frozenset(i for i, column in enumerate(self.columns) if column.kind.is_label)
        object.__setattr__(self, "text", text)
        check_text([name for name in self.names if isinstance(name, str)], None)

    def __len__(self) -> int:
        return len(self.columns)

    def positions(self, names: Sequence[Name]) -> tuple[int, ...]:
        """Return where these columns (names, or positions) stand; SchemaError names those that do not exist."""
        index = {name: i for i, name in enumerate(self.names)}
        unknown = [n for n in names if n not in index and not (isinstance(n, int) and 0 <= n < len(self))]
        if unknown:
            raise SchemaError(
                f"There is no column {shown(unknown[0])}; the table has {quoted(self.names)}. Next: correct the name."
            )
        return tuple(index[n] if n in index else int(n) for n in names)

    def align(self, other: Schema, who: str, asked: bool = True) -> tuple[int, ...]:
        """Return, for each column of this schema, its position in `other`.

        Named columns are matched by name in any order, unnamed ones by position. SchemaError names what is
        missing, unknown, or of another kind.
        """
        if self.named and other.named:
            theirs, own = {name: i for i, name in enumerate(other.names)}, set(self.names)
            missing = [name for name in self.names if name not in theirs]
            extra = [name for name in other.names if name not in own]
            if missing or extra:
                raise SchemaError.columns_differ(missing, extra, who, asked)
            order = tuple(theirs[name] for name in self.names)
        else:
            if len(self) != len(other):
                raise SchemaError(
                    either(
                        f"X has {len(other)} features, but {who} is expecting {len(self)} features as input.",
                        f"The table has {len(other)} columns, and the model was fitted on {len(self)}.",
                    )
                )
            order = tuple(range(len(self)))
        for mine, position in zip(self.columns, order, strict=True):
            kind = other.columns[position].kind
            if not mine.kind.reads(kind):
                raise SchemaError.kind_differs(mine.name, mine.kind.value, kind.value)
        return order

    def settle(self, other: Schema, order: Sequence[int]) -> Schema:
        """Return this schema with the kinds of columns that were empty so far taken from `other`."""
        if self is other:
            return self
        theirs = [other.columns[position] for position in order]
        pairs = enumerate(zip(self.columns, theirs, strict=True))
        return self._changed({p: replace(own, name=mine.name) for p, (mine, own) in pairs if mine.kind is Kind.EMPTY})

    def _changed(self, columns: Mapping[int, Column]) -> Schema:
        """Return this schema with other columns at some positions; itself where there are none."""
        every = tuple(columns.get(p, own) for p, own in enumerate(self.columns))
        return replace(self, columns=every) if columns else self

    def completed(self, other: Schema) -> Schema:
        """Return this schema with the kinds that were empty so far as `other` has them; itself where it has none."""
        if not any(column.kind is Kind.EMPTY for column in self.columns):
            return self
        known = {name: p for p, name in enumerate(other.names)} if self.named and other.named else None
        places = range(len(self)) if known is None else [known.get(name, -1) for name in self.names]
        if len(self) != len(other) or -1 in places:
            return self  # and whoever aligns them says what is wrong
        told = self.settle(other, places)
        return self if [own.kind for own in told.columns] == [own.kind for own in self.columns] else told

    def with_texts(self, names: Sequence[Name]) -> Schema:
        """Return this schema, some columns of text taken for texts; SchemaError for columns that hold none."""
        told = {position: self.columns[position] for position in self.positions(names)}
        for column in told.values():
            if not column.kind.is_label and column.kind is not Kind.EMPTY:
                raise SchemaError.no_text(column.name, column.kind.value)
        return self._changed({p: replace(own, kind=Kind.TEXT) for p, own in told.items()})

    def with_dates(self, names: Sequence[Name]) -> Schema:
        """Return this schema, some columns of text taken for dates."""
        told = self.positions(names)
        return self._changed({p: replace(self.columns[p], kind=Kind.DATE, form=WRITTEN) for p in told})

    def with_orders(self, orders: Mapping[Name, Sequence[Level]] | Mapping[str, Sequence[str]]) -> Schema:
        """Return this schema, the levels of some columns in an order, from the lowest; SchemaError where there is none.

        A column of numbers or truth values has one already, and no level stands in two places.
        """
        told: dict[int, Column] = {}
        for name, levels in orders.items():
            position = self.positions([name])[0]
            column = self.columns[position]
            if not column.kind.is_label and column.kind is not Kind.EMPTY:
                raise SchemaError(
                    f"Column {column.name!r} holds {column.kind.value} values, which are in order already. Next: leave "
                    "it out of those that are ordered."
                )
            if len(set(levels)) < len(levels) or len(levels) < 2:
                raise SchemaError(
                    f"The order of {column.name!r} is {quoted(levels)}. Next: name two levels or more, each once, from "
                    "the lowest."
                )
            told[position] = replace(column, order=tuple(levels))
        return self._changed(told)


def column_name(name: object) -> str:
    """Return what a column is called where people read it: its name, or where it stands."""
    return name if isinstance(name, str) else f"column {name}"


def repeated_names(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, sorted as text."""
    return sorted((name for name, times in Counter(names).items() if times > 1), key=str)


def check_listed(name: Name, strange: Sequence[Level], order: Sequence[Level]) -> None:
    """Raise SchemaError for levels of a column that its order does not list."""
    if strange:
        raise SchemaError(
            f"Column {name!r} holds {quoted(strange)}, which its order {quoted(order)} does not list. Next: list every "
            "category, or write them alike in the table."
        )


def sort_levels(levels: Sequence[Level]) -> tuple[Level, ...]:
    """Return distinct levels in a fixed order, numbers before text, so that merging commutes exactly."""
    return tuple(sorted(set(levels), key=lambda level: (isinstance(level, str), level)))


def check_text(levels: Sequence[Level], column: Name | None) -> None:
    """Raise SchemaError if a text is not Unicode, which no file, query or page could hold.

    `column` is None if the texts are names of columns.
    """
    for level in levels:
        if isinstance(level, str) and not level.isascii():
            try:
                level.encode()
            except UnicodeEncodeError:
                what = "A column has the name" if column is None else f"Column {shown(column)} has the text"
                raise SchemaError(
                    f"{what} {shown(level)}, which is not valid Unicode. Next: read the table with the encoding it was "
                    "written in."
                ) from None


@lru_cache(maxsize=16)
def unnamed_schema(d: int, kind: Kind, container: str) -> Schema:
    """Return the schema of `d` columns of one kind without names; one object for all, since d may be large."""
    return Schema(tuple(Column(j, kind) for j in range(d)), named=False, container=container)
