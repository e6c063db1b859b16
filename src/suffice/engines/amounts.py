"""Parse amounts of money, percentages, and negative numbers in parentheses."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .arrow import Column

PERCENT = "%"
# ISO 4217 codes and signs of letters; other signs are those that Unicode calls currency.
CODES = (
    "EUR|USD|GBP|CHF|JPY|CNY|INR|BRL|CAD|AUD|NZD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|TRY|RUB|UAH|MXN|ARS|CLP|COP|ZAR|"
    r"NGN|KES|EGP|SGD|HKD|TWD|KRW|THB|VND|IDR|MYR|PHP|ILS|AED|SAR|kr\.?|Kč|zł|Ft|lei|лв\.?|руб\.?|Rs\.?|Fr\.|"
    r"(?:US|CA|AU|NZ|HK|R|C|A|S)\$"
)
SAME = {"EUR": "€", "USD": "$", "US$": "$", "GBP": "£", "INR": "₹", "CA$": "C$", "CAD": "C$", "AU$": "A$", "AUD": "A$"}
_BLANK = "[\\x{20}\\x{a0}\\x{202f}\\x{2009}]*"
_UNIT = rf"(?:{CODES}|\p{{Sc}}|%)"
AMOUNT = (
    rf"^(?P<open>\()?{_BLANK}(?P<first>[+-])?{_BLANK}(?P<front>{_UNIT})?{_BLANK}(?P<second>[+-])?(?P<inner>\()?{_BLANK}"
    rf"(?P<body>[\d.,][\d.,'\x{{2019}}\x{{20}}\x{{a0}}\x{{202f}}\x{{2009}}]*?){_BLANK}(?P<back>{_UNIT})?{_BLANK}"
    r"(?P<close>\))?$"
)


class Amounts(NamedTuple):
    """Cells without what stands around their numbers.

    `bare` are texts, those that are no amounts as they were; `unit` a currency or %, "" where there is none; `negated`
    whether parentheses stood for a minus sign.
    """

    bare: Column
    unit: Column
    negated: Column


def strip_units(cells: Column) -> Amounts:
    """Return text cells without currencies, percent signs and parentheses; they are trimmed, minus signs are plain."""
    found = pc.extract_regex(cells, pattern=AMOUNT)
    part = {
        name: pc.struct_field(found, name) for name in ("open", "first", "front", "second", "inner", "back", "close")
    }
    has = {name: pc.not_equal(own, "") for name, own in part.items()}
    opened = pc.xor(has["open"], has["inner"])
    signed = pc.or_(has["first"], has["second"])
    right = pc.and_(pc.equal(opened, has["close"]), pc.invert(pc.and_(has["open"], has["inner"])))
    for one, other in (("first", "second"), ("front", "back")):
        right = pc.and_(right, pc.invert(pc.and_(has[one], has[other])))
    right = pc.and_(right, pc.invert(pc.and_(signed, opened)))
    right = pc.fill_null(pc.and_(right, pc.or_(pc.or_(has["front"], has["back"]), opened)), False)
    minus = pc.or_(pc.or_(pc.equal(part["first"], "-"), pc.equal(part["second"], "-")), opened)
    sign = pc.if_else(minus, pa.scalar("-"), pa.scalar(""))
    bare = pc.if_else(right, pc.binary_join_element_wise(sign, pc.struct_field(found, "body"), ""), cells)
    unit = pc.if_else(right, pc.binary_join_element_wise(part["front"], part["back"], ""), pa.scalar(""))
    for other, name in SAME.items():
        unit = pc.if_else(pc.equal(unit, other), pa.scalar(name), unit)
    return Amounts(bare, pc.fill_null(unit, ""), pc.fill_null(pc.and_(right, opened), False))


def common_unit(units: set[str]) -> str | None:
    """Return the unit of numbers that come with these ("" for numbers alone); None if they are of several.

    Amounts may lack their currency; a number beside percentages could be one or not.
    """
    named = units - {""}
    if len(named) > 1 or (PERCENT in named and "" in units):
        return None
    return next(iter(named), "")
