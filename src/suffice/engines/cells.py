"""Infer the type of CSV columns, and convert their cells.

Every cell is read as text. `ColumnSniffer` looks at all cells of a column before one is converted, batch by batch, and
keeps a few facts only, so that a file of any size is read alike; `convert` then turns a batch into values. Numbers may
be amounts of money, percentages, or negative in parentheses; dates become days in `calendar`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import pyarrow as pa
import pyarrow.compute as pc

from .._dialect import MARKS
from .._files import MISSING_TOKENS
from .arrow import Column, DataType, how_many, is_number
from .calendar import FIRST, NOTATIONS, Facts, moments

FEWEST_NUMBERS = 10  # different ones, in a column whose single other text then means a missing cell
MOST_ODD = 20  # different texts of a column remembered while it may still hold truth values
BOTH = {"0", "1"}
TRUTHS = {"true": True, "1": True, "false": False, "0": False}

# Blanks and apostrophes between thousands: ASCII, no-break, narrow no-break and thin space; ' and ’.
SPACES, APOSTROPHES = "\\x{20}\\x{a0}\\x{202f}\\x{2009}", "'\\x{2019}"
MINUS = "\u2212"


def _pattern(decimal: str, thousands: str) -> str:
    """Return what a number looks like: no group of three after a leading 0, and no exponent after groups."""
    plain = rf"(?:\d+{decimal}?\d*|{decimal}\d+)(?:[eE][+-]?\d+)?"
    groups = "|".join(rf"(?:[{mark}]\d{{3}})+" for mark in (thousands, SPACES, APOSTROPHES))
    return rf"^[+-]?(?:{plain}|[1-9]\d{{0,2}}(?:{groups})(?:{decimal}\d*)?|(?i:inf|infinity|nan))$"


NUMBER = {".": _pattern(r"\.", ","), ",": _pattern(",", r"\.")}
THOUSAND_POINT = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"  # 9.100, which is a number of either notation
NOTHING: DataType = pa.null()
TEXT: DataType = pa.string()
TRUTH: DataType = pa.bool_()
WHOLE: DataType = pa.int64()
REAL: DataType = pa.float64()
DAY: DataType = pa.date32()
ORDER = r"^(?:1[3-9]|[23]\d)[/-]|[/-](?:1[3-9]|[23]\d)[/-]"  # dates that say whether the day comes first
PERCENT = "%"
# ISO 4217 codes and signs of letters; other signs are those that Unicode calls currency.
CODES = (
    "EUR|USD|GBP|CHF|JPY|CNY|INR|BRL|CAD|AUD|NZD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|TRY|RUB|UAH|MXN|ARS|CLP|COP|ZAR|"
    r"NGN|KES|EGP|SGD|HKD|TWD|KRW|THB|VND|IDR|MYR|PHP|ILS|AED|SAR|kr\.?|Kč|zł|Ft|lei|лв\.?|руб\.?|Rs\.?|Fr\.|"
    r"(?:US|CA|AU|NZ|HK|R|C|A|S)\$"
)
SAME = {"EUR": "€", "USD": "$", "US$": "$", "GBP": "£", "INR": "₹", "CA$": "C$", "CAD": "C$", "AU$": "A$", "AUD": "A$"}
_GAP = f"[{SPACES}]*"
_UNIT = rf"(?:{CODES}|\p{{Sc}}|%)"
AMOUNT = (
    rf"^(?P<open>\()?{_GAP}(?P<first>[+-])?{_GAP}(?P<front>{_UNIT})?{_GAP}(?P<second>[+-])?(?P<inner>\()?{_GAP}"
    rf"(?P<body>[\d.,][\d.,{SPACES}{APOSTROPHES}]*?){_GAP}(?P<back>{_UNIT})?{_GAP}"
    r"(?P<close>\))?$"
)


def strip_units(cells: Column) -> tuple[Column, Column, Column]:
    """Return text cells without what stands around their numbers; they are trimmed, minus signs are plain.

    Those that are no amounts are as they were. With them come their units, a currency or %, "" where there is none, and
    whether parentheses stood for a minus sign.
    """
    found = pc.extract_regex(cells, pattern=AMOUNT)
    names = ("open", "first", "front", "second", "inner", "back", "close")
    part = {name: pc.struct_field(found, name) for name in names}
    has = {name: pc.not_equal(own, "") for name, own in part.items()}
    opened, signed = pc.xor(has["open"], has["inner"]), pc.or_(has["first"], has["second"])
    some = pc.or_(pc.or_(has["front"], has["back"]), opened)
    right = pc.and_(pc.equal(opened, has["close"]), some)
    for one, other in (("open", "inner"), ("first", "second"), ("front", "back")):
        right = pc.and_not(right, pc.and_(has[one], has[other]))
    right = pc.fill_null(pc.and_not(right, pc.and_(signed, opened)), False)
    minus = pc.or_(pc.or_(pc.equal(part["first"], "-"), pc.equal(part["second"], "-")), opened)
    sign = pc.if_else(minus, pa.scalar("-"), pa.scalar(""))
    bare = pc.if_else(right, pc.binary_join_element_wise(sign, pc.struct_field(found, "body"), ""), cells)
    unit = pc.if_else(right, pc.binary_join_element_wise(part["front"], part["back"], ""), pa.scalar(""))
    for other, name in SAME.items():
        unit = pc.if_else(pc.equal(unit, other), pa.scalar(name), unit)
    return bare, pc.fill_null(unit, ""), pc.fill_null(pc.and_(right, opened), False)


@dataclass(slots=True)
class ColumnSniffer:
    """What is known of the cells of a column so far.

    `point` and `comma`: some number can be read with that decimal mark alone. `dots` and `commas`: a number such as
    9.100 or 9,100 that both can read. `pointed`, `commaed`, `grouped`: numbers hold points, commas, or blanks and
    apostrophes; `fraction` is one that is not whole. `numbers` are different numbers as written, at most some more than
    FEWEST_NUMBERS; `units` an example of numbers of each currency, in percent, or alone (""); `negated` one of a
    number in parentheses; `odd` the texts that are no numbers with how often they come, `settled` that these are too
    many to be anything but text. `dates`: no cell was seen that is no date, `notations` those which all dates fit, with
    what they then tell.
    """

    cells: int = 0
    whole: bool = True
    point: str = ""
    comma: str = ""
    dots: str = ""
    commas: str = ""
    pointed: bool = False
    commaed: bool = False
    grouped: bool = False
    fraction: str = ""
    dates: bool = True
    notations: dict[str, Facts] = field(default_factory=dict)
    settled: bool = False
    negated: str = ""
    units: dict[str, str] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)
    odd: dict[str, int] = field(default_factory=dict)

    def add(self, cells: Column, blank: Column) -> Column | None:
        """Look at a batch of cells (an array of text); `blank` are the texts that mean a missing one.

        Returns the cells as numbers, null where missing, if they are such as programs write; else None.
        """
        if self.settled or not len(cells):
            return None
        values = _where(cells, pc.not_equal(pc.binary_length(cells), 0))
        numbers = self._plain(values, False)
        if numbers is None:
            values = without(values, blank)
            numbers = self._plain(values, True)
            if numbers is None:
                self._look(values.drop_null(), blank)
        return None if numbers is None else _known(numbers)

    def _plain(self, values: Column, present: bool) -> Column | None:
        """Take in cells that are numbers as programs write them, the common case; None if some cell is not.

        `present` says that none of them means a missing cell, as NaN does.
        """
        count = len(values) - values.null_count
        if not count:
            return pa.nulls(len(values), WHOLE)
        numbers = _cast(values, WHOLE) if self.whole else None
        if numbers is None:
            numbers = _cast(values, REAL)
            if numbers is None or not (present or not pc.any(pc.is_nan(numbers)).as_py()):
                return None
            self.whole = False
            self._find_points(values)
            self.fraction = self.fraction or _first(values.filter(pc.not_equal(pc.floor(numbers), numbers)))
        self.cells, self.dates = self.cells + count, False
        if "" not in self.units:
            self.units[""] = _first(values.drop_null())
        self._count(values)
        return numbers

    def _find_points(self, values: Column) -> None:
        """Find a cell whose point can be a decimal mark only, and one whose point may be either."""
        for part in (values.slice(0, FIRST), values):
            if self.point:
                return
            pointed = part.filter(pc.match_substring(part, "."))
            if len(pointed):
                self.pointed = True
                either = pc.match_substring_regex(pointed, THOUSAND_POINT)
                self.dots = self.dots or _first(pointed.filter(either))
                self.point = _first(pointed.filter(pc.invert(either)))

    def _look(self, values: Column, blank: Column) -> None:
        """Take in cells of any kind, each different one once."""
        distinct = values.unique()
        tidy = _tidy(distinct)
        point, comma = (pc.match_substring_regex(tidy, NUMBER[mark]) for mark in (".", ","))
        number = pc.or_(point, comma)
        if not pc.all(number).as_py():
            tidy, unit, negated = strip_units(tidy)
            point, comma = (pc.match_substring_regex(tidy, NUMBER[mark]) for mark in (".", ","))
            number = pc.or_(point, comma)
            self._find_units(distinct.filter(number), unit.filter(number), negated.filter(number))
        elif len(distinct):
            self.units.setdefault("", _first(distinct))
        odd = distinct.filter(pc.invert(pc.or_(number, pc.is_in(tidy, value_set=blank))))
        found = distinct.filter(number)
        self.cells += len(values) if len(found) or len(odd) else 0
        self.whole = self.whole and not len(found) and not len(odd)
        self.dates = self.dates and not len(found)
        if len(odd):
            self._odd(values, odd)
        if len(found) and not self.settled:
            bare = tidy.filter(number)
            self._find_marks(bare, point.filter(number), comma.filter(number))
            self._count(found)

    def _find_units(self, found: Column, unit: Column, negated: Column) -> None:
        """Find an example of each unit, and of a number in parentheses."""
        for name in unit.unique().to_pylist():
            self.units.setdefault(name, _first(found.filter(pc.equal(unit, name))))
        self.negated = self.negated or _first(found.filter(negated))

    def _find_marks(self, found: Column, point: Column, comma: Column) -> None:
        """Find numbers that say which decimal mark they have; `point`, `comma` are which of them could have which."""
        self.point = self.point or _first(found.filter(pc.and_not(point, comma)))
        self.comma = self.comma or _first(found.filter(pc.and_not(comma, point)))
        either = found.filter(pc.and_(point, comma))
        self.dots = self.dots or _first(either.filter(pc.match_substring(either, ".")))
        self.commas = self.commas or _first(either.filter(pc.match_substring(either, ",")))
        self.grouped |= bool(pc.any(pc.match_substring_regex(found, f"[{SPACES}{APOSTROPHES}]")).as_py())
        self.pointed |= bool(pc.any(pc.match_substring(found, ".")).as_py())
        self.commaed |= bool(pc.any(pc.match_substring(found, ",")).as_py())
        for mark in MARKS:
            numbers = _numbers(found, mark, REAL)
            odd = pc.fill_null(pc.not_equal(pc.floor(numbers), numbers), False)
            self.fraction = self.fraction or _first(found.filter(odd))

    def _odd(self, values: Column, odd: Column) -> None:
        """Take in texts that are no numbers; `odd` are the different ones."""
        if self.dates:
            self._date(odd)
            if self.dates:
                return
        texts = odd.slice(0, MOST_ODD).to_pylist()
        words = {text for text in (*self.odd, *texts) if text.strip().lower() not in TRUTHS}
        self.settled = len(words) > 1 or len(self.odd) + len(odd) > MOST_ODD
        if not self.settled:
            for text in texts:
                self.odd[text] = self.odd.get(text, 0) + how_many(pc.equal(values, text))

    def _date(self, cells: Column) -> None:
        """Take in texts that are dates in some notation, if all before them were."""
        found: dict[str, Facts] = {}
        for notation in self.notations or NOTATIONS:
            stamps = moments(cells, notation)
            if stamps is not None:
                facts = Facts.of(stamps)
                found[notation] = facts.merge(self.notations[notation]) if self.notations else facts
        self.dates, self.notations = bool(found), found
        if found:
            telling = cells.filter(pc.match_substring_regex(cells, ORDER)) if len(found) == 1 else cells
            if not self.odd or (len(telling) and not re.search(ORDER, next(iter(self.odd)))):
                self.odd = {(telling if len(telling) else cells)[0].as_py(): 1}

    def _count(self, values: Column) -> None:
        if len(self.numbers) <= FEWEST_NUMBERS:
            for part in (values.slice(0, FIRST), values):
                if len(self.numbers) <= FEWEST_NUMBERS:
                    self.numbers.update(part.unique().drop_null().slice(0, 2 * FEWEST_NUMBERS).to_pylist())

    def merge(self, other: ColumnSniffer) -> ColumnSniffer:
        """Return what is known of the cells of both."""
        one, two = self, other
        # Of texts and truths, what either has seen.
        total = ColumnSniffer(**{own.name: getattr(one, own.name) or getattr(two, own.name) for own in fields(self)})
        total.cells, total.whole = one.cells + two.cells, one.whole and two.whole
        total.numbers, total.units = one.numbers | two.numbers, {**two.units, **one.units}
        total.odd = {text: one.odd.get(text, 0) + two.odd.get(text, 0) for text in {**one.odd, **two.odd}}
        total.dates = (one.dates or not one.cells) and (two.dates or not two.cells)
        total.notations = {**one.notations, **two.notations}
        if one.has_dates and two.has_dates:
            both = [own for own in one.notations if own in two.notations]
            total.notations = {own: one.notations[own].merge(two.notations[own]) for own in both}
            total.odd = dict(list(total.odd.items())[:1])
            total.settled |= not both
        elif one.has_dates or two.has_dates:
            total.settled |= bool(one.cells and two.cells)
        return total

    @property
    def has_dates(self) -> bool:
        """Whether every cell is a date or a time."""
        return self.cells > 0 and self.dates and bool(self.odd) and not self.numbers and not self.settled

    @property
    def unit(self) -> str | None:
        """The unit of the numbers, "" without one; None if they are of several.

        Amounts may lack their currency; a number beside percentages could be one or not.
        """
        named = self.units.keys() - {""}
        if len(named) > 1 or (PERCENT in named and "" in self.units):
            return None
        return next(iter(named), "")

    def kind(self, known: bool, missing: str | None, mixed: bool) -> DataType:
        """Return the type of the column.

        `known` says that it is known to hold numbers, `missing` which text stood for a missing one where that was
        learned, `mixed` that its numbers cannot all be of one notation.
        """
        if not self.cells:
            return NOTHING
        if self.settled:
            return TEXT
        if self.has_dates:
            return DAY
        words = [text for text in self.odd if text.strip().lower() not in TRUTHS]
        if self.odd and not words and self.numbers <= BOTH:
            return TRUTH
        if mixed or len(self.odd) > 1 or self.unit is None:
            return TEXT
        if self.odd and not self._stands_for_missing(next(iter(self.odd)), known, missing):
            return TEXT
        return WHOLE if self.whole else REAL

    def _stands_for_missing(self, text: str, known: bool, missing: str | None) -> bool:
        if text == missing:
            return True
        if any(map(str.isdigit, text)):
            return False
        if known:  # words alone are no numbers
            return bool(self.numbers) or not text.isalpha()
        return bool(self.numbers) and (self.pointed or self.commaed or len(self.numbers) > FEWEST_NUMBERS)


class UnexpectedCellError(ValueError):
    """A cell that no pass over the file has seen before: the file is another by now."""


def convert(cells: Column, kind: DataType, mark: str, blank: Column, odd: str | None = None) -> Column:
    """Return text cells as values of a type; `mark` is the decimal mark, `odd` the one text that means no number.

    UnexpectedCellError for any other that does not fit the type, which `ColumnSniffer` found from all cells.
    """
    cells = _where(cells, pc.not_equal(pc.binary_length(cells), 0))
    plain = is_number(kind) and mark != ","
    found = _cast(cells, kind) if plain else None
    if found is not None:
        return _known(found)
    cells = without(cells, blank)
    if pa.types.is_string(kind):
        return cells
    found = _cast(cells, kind) if plain else None
    if found is not None:
        return _known(found)
    tidy = _tidy(cells)
    if is_number(kind):
        found = _numbers(tidy, mark or ".", kind)
    elif pa.types.is_boolean(kind):
        words = pc.utf8_lower(tidy)
        known = pc.is_in(words, value_set=pa.array(list(TRUTHS)))
        found = pc.if_else(known, pc.is_in(words, value_set=pa.array(["true", "1"])), pa.scalar(None, TRUTH))
    else:
        found = pa.nulls(len(cells))
    unlike = pc.and_(pc.is_valid(cells), pc.is_null(found))
    lost = cells.filter(pc.and_not(unlike, pc.is_in(tidy, value_set=blank)))
    others = [text for text in lost.unique().to_pylist() if text != odd]
    if others:
        raise UnexpectedCellError(others[0])
    return _known(found)


def _known(values: Column) -> Column:
    """Return values with null for NaN, so that a missing number is one thing however its file wrote it."""
    if not pa.types.is_floating(values.type) or not pc.any(pc.is_nan(values)).as_py():
        return values
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)


def without(cells: Column, blank: Column) -> Column:
    """Return text cells with null for the texts that mean a missing one."""
    return _where(cells, pc.invert(pc.is_in(cells, value_set=blank)))


def _where(cells: Column, valid: Column) -> Column:
    """Return text cells with null where `valid` is not true; the text itself is not copied if it can be shared."""
    if cells.null_count or cells.offset or valid.offset or valid.null_count:
        return pc.if_else(pc.fill_null(valid, False), cells, pa.scalar(None, cells.type))
    return pa.Array.from_buffers(cells.type, len(cells), [valid.buffers()[1], *cells.buffers()[1:]])


def blanks(declared: Sequence[str] = ()) -> Column:
    """Return the texts that mean a missing cell: the usual ones and those declared."""
    return pa.array(list(dict.fromkeys([*MISSING_TOKENS, *declared])), TEXT)


def _first(cells: Column) -> str:
    return str(cells[0].as_py()) if len(cells) else ""


def _cast(cells: Column, kind: DataType) -> Column | None:
    """Return cells as numbers, None if one of them is none; Arrow would take 0x10 for an integer."""
    try:
        if len(cells) > FIRST:
            cells.slice(0, FIRST).cast(kind)  # a failure takes ten times as long as a success, and comes early
        found = cells.cast(kind)
    except pa.ArrowInvalid:
        return None
    if pa.types.is_integer(kind) and pc.any(pc.match_substring(cells, "x", ignore_case=True)).as_py():
        return None
    return found


def _tidy(cells: Column) -> Column:
    return pc.replace_substring(pc.utf8_trim_whitespace(cells), MINUS, "-")


def _numbers(cells: Column, mark: str, kind: DataType) -> Column:
    """Return tidy cells as numbers written with this decimal mark, missing where they are none."""
    fits = pc.fill_null(pc.match_substring_regex(cells, NUMBER[mark]), False)
    percent = None
    if not pc.all(pc.or_(fits, pc.is_null(cells))).as_py():
        cells, unit, _ = strip_units(cells)
        fits = pc.fill_null(pc.match_substring_regex(cells, NUMBER[mark]), False)
        percent = pc.equal(unit, PERCENT)
    cells = pc.if_else(fits, cells, pa.scalar(None, cells.type))
    cells = pc.replace_substring_regex(cells, f"[{SPACES}{APOSTROPHES}{'.' if mark == ',' else ','}]", "")
    cells = pc.replace_substring(cells, ",", ".")  # a mark left is the decimal mark
    if percent is not None:  # a power of ten, so that 35.7% is the float that 0.357 is
        cells = pc.if_else(percent, pc.binary_join_element_wise(cells, "e-2", ""), cells)
    return cells.cast(REAL).cast(kind)
