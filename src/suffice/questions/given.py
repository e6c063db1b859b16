"""Rows drawn where some of their cells are given: values, sets of values, or ranges of numbers."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from .._arrays import IN_MEMORY, Array, Codes, logsumexp, np, rows_within
from .._dialect import Remark
from ..densities import Density, Rows
from ..densities.counts import draw_codes
from ..densities.density import Within
from ..errors import SchemaError, SettingError, either, quoted, setting
from ..estimate import Block
from ..fitted import Fitted
from ..joint import log_posterior
from ..schema import Column, Kind, Name, Schema
from ..stats import Statistic
from ..stats.rows import take_blocks, take_rows
from ..table import Table, read_table
from ..table.cells import holds_value
from ..table.dates import as_text, read_seconds
from .recorded import ByBlock, Recorded, draw_cells, recorded

SCALARS = (str, bool, int, float, dt.date, np.generic)
LOOKED_AT = 4000  # rows drawn for how many lie beyond those learned
MOST_CHOICES = 1000  # of one value from each set
TRIES, LEAST_TRIES = 100, 100_000  # rows drawn for each that is asked for, and at least, until they lie within ranges

Ends = tuple[float, float]


class Given(NamedTuple):
    """What is given of new rows.

    `rows` are the given cells by block, one row for each choice from the sets, all other cells missing; `ranges` are
    the ends that numbers lie within, by position of their column.
    """

    rows: Rows
    ranges: Mapping[int, Ends]


def recorded_of_new(fitted: Fitted) -> ByBlock | None:
    """Return how the numbers of new rows are recorded: as others, and kept within those learned.

    That is where the density has more beyond than rows held out would have. The levels of a forest, which stand behind
    its numbers, have no ends.
    """
    return fitted.memoize(_of_new)


def _of_new(fitted: Fitted) -> ByBlock | None:
    found = recorded(fitted)
    if found is None:
        return None
    drawn = draw_given(fitted, LOOKED_AT, read_given(fitted, {}), None, None, np.random.RandomState(0)).rows
    blocks = zip(found, drawn, fitted.joint.density.blocks, strict=True)
    ended = [own and (own if law.column_levels(len(own.low) - 1) else own.kept_in(rows)) for own, rows, law in blocks]
    return [own and own.as_usual(rows) for own, rows in zip(ended, drawn, strict=True)]


class Drawn(NamedTuple):
    """New rows by block, their class numbers (n,), and log p(what was given), with the class where that was."""

    rows: Rows
    codes: Codes
    log_mass: float


class _Plan(NamedTuple):
    """How rows of a block are begun: what is known in closed form, and the columns that must be tried, with ranges."""

    rows: Any
    within: Within | None
    tried: Mapping[int, Ends]
    recorded: Recorded | None

    def begin(self, index: Codes, codes: Codes, rng: np.random.RandomState) -> Any:
        return take_rows(self.rows, index) if self.within is None else self.within.draw(index, codes, rng)

    def finish(self, drawn: Any, index: Codes) -> Any:
        """Return the rows, numbers that were drawn in closed form as they are recorded."""
        if self.within is None or self.recorded is None:
            return drawn
        return np.where(np.isnan(self.rows[index]), self.recorded.nearest(drawn), drawn)

    def accepts(self, drawn: Any) -> Any:
        """Say which rows lie within the ranges that were tried."""
        ends = self.tried.items()
        return np.all([(drawn[:, j] >= low) & (drawn[:, j] <= high) for j, (low, high) in ends], axis=0)


def draw_given(
    fitted: Fitted, n: int, given: Given, known: int | None, kept: ByBlock | None, rng: np.random.RandomState
) -> Drawn:
    """Return `n` new rows of a joint model, their class drawn from p(k | given), or `known`.

    The class and one of the rows of values are drawn together, by π_k p(values | k) P(numbers within ranges | values,
    k) where the latter has a closed form; then the numbers within ranges, then all other cells. Ranges without a closed
    form are tried: rows are drawn until they lie within, which is told with its acceptance rate.
    """
    plans = _plans(fitted, given, kept)
    share, total = _shares(fitted, given, plans, known)
    chunks: list[tuple[Rows, Codes]] = []
    have, tried, few = 0, 0, rows_within(8 * len(fitted.schema), IN_MEMORY, least=64)
    trying, most = any(plan.tried for plan in plans), max(TRIES * n, LEAST_TRIES)
    while have < n and tried < most:
        wanted = min(int((n - have) * (tried + 1) / (have + 1)) + 16, most - tried) if trying else n - have
        rows, codes = _draw(fitted, plans, share, min(wanted, few), kept, rng)
        tried += len(codes)
        if trying:
            lies = [plan.accepts(block) for plan, block in zip(plans, rows, strict=True) if plan.tried]
            own = np.flatnonzero(np.all(lies, axis=0))
            rows, codes = take_blocks(rows, own), codes[own]
        have += len(codes)
        chunks.append((rows, codes))
    if trying:
        _tell(fitted, given, n, have, tried)
    blocks = [take_rows(stack(block), np.arange(n)) for block in zip(*(rows for rows, _ in chunks), strict=True)]
    return Drawn(blocks, np.concatenate([codes for _, codes in chunks])[:n], total + float(np.log(have / tried)))


def _shares(fitted: Fitted, given: Given, plans: Sequence[_Plan], known: int | None) -> tuple[Array, float]:
    """Return how probable each row of given values and class is (m, k), and the log of their sum before it was 1."""
    score = np.array(fitted.joint.log_joint(given.rows))
    for plan in plans:
        score += 0.0 if plan.within is None else plan.within.log_mass
    if not np.isfinite(score).any():  # a category that no class has, say
        if given.ranges or len(score) > 1:
            raise SettingError(
                f"No row of this model can lie within {_said(fitted, given.ranges)}: its probability is zero in every "
                "class. Next: widen the ranges, or give other values."
            )
        score = log_posterior(fitted.joint, given.rows)
    if known is not None:
        score = np.where(np.arange(score.shape[1]) == known, score, -np.inf)
    total = float(logsumexp(score))
    if np.isfinite(total):
        return np.exp(score - total), total
    assert known is not None
    if given.ranges:
        raise SettingError(
            f"No row of class {fitted.labels[known]!r} can lie within {_said(fitted, given.ranges)}. "
            "Next: widen the ranges."
        )
    share = np.zeros(score.shape)
    share[:, known] = 1.0 / len(share)
    return share, 0.0


def _draw(
    fitted: Fitted, plans: Sequence[_Plan], share: Array, n: int, kept: ByBlock | None, rng: np.random.RandomState
) -> tuple[Rows, Codes]:
    """Return rows by block and their classes, before ranges are tried."""
    flat = share.reshape(1, -1)
    one = np.count_nonzero(flat) == 1
    pick = np.full(n, flat.argmax()) if one else draw_codes(flat, rng, np.zeros(n, dtype=np.intp))
    index, codes = np.divmod(pick, share.shape[1])
    rows = draw_cells(fitted.joint, [plan.begin(index, codes, rng) for plan in plans], codes, rng, kept)
    return [plan.finish(block, index) for plan, block in zip(plans, rows, strict=True)], codes


def _plans(fitted: Fitted, given: Given, kept: ByBlock | None) -> list[_Plan]:
    plans = []
    blocks = zip(fitted.blocks, given.rows, fitted.joint.density.blocks, kept or [None] * len(given.rows), strict=True)
    for block, rows, density, numbers in blocks:
        asked = {j: given.ranges[p] for j, p in enumerate(block.positions) if p in given.ranges}
        ends = np.array([[-np.inf], [np.inf]]).repeat(len(block.positions), axis=1)
        for j, own in asked.items():
            span = own if numbers is None else numbers.span(j, *own)
            if span is None:
                raise SettingError(
                    f"{_said(fitted, {block.positions[j]: own})}: the column holds no value there as it is recorded. "
                    f"Next: widen the range, or draw with {either('as_recorded=False', '--unrounded')}."
                )
            ends[:, j] = span
        within = density.within(rows, *ends) if asked else None
        closed = () if within is None else within.columns
        plans.append(_Plan(rows, within, {j: own for j, own in asked.items() if j not in closed}, numbers))
    return plans


def _tell(fitted: Fitted, given: Given, n: int, have: int, tried: int) -> None:
    """Say how many of the rows drawn lay within the ranges; SettingError where they are too few."""
    told = f"Of {tried:,} rows drawn, {have:,} ({have / tried:.2g}) lay within {_said(fitted, given.ranges)}"
    if have < n:
        raise SettingError(
            f"{told}, too few for {setting('n', n)}. Next: widen the ranges, give fewer of them, or ask for fewer rows."
        )
    warnings.warn(f"{told}; the others were left out.", Remark, stacklevel=5)


def _said(fitted: Fitted, ranges: Mapping[int, Ends]) -> str:
    """Return the ranges in words."""
    said = []
    for position, (low, high) in ranges.items():
        words = as_text if fitted.schema.columns[position].kind is Kind.DATE else "{:g}".format
        ends = f"{f' from {words(low)}' if low > -np.inf else ''}{f' to {words(high)}' if high < np.inf else ''}"
        said.append(f"{fitted.schema.names[position]!r}{ends}")
    return " and ".join(said) or "the given cells"


def stack(parts: Sequence[Any]) -> Any:
    """Return a block of all chunks of rows."""
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
    return np.concatenate(parts)


def read_given(fitted: Fitted, given: Mapping[Name, object]) -> Given:
    """Return what is given of new rows: cells, sets of which one is drawn, and ranges of numbers."""
    schema = fitted.schema
    positions = schema.positions(list(given))
    if len(set(positions)) < len(positions):
        raise SettingError(f"{setting('given', dict(given))} names a column twice. Next: name each once.")
    by_position = dict(zip(positions, given.values(), strict=True))
    ranges = {p: _ends(fitted, p, own) for p, own in by_position.items() if isinstance(own, tuple)}
    sets = {p: _choices(schema.columns[p], own) for p, own in by_position.items() if p not in ranges}
    chosen = list(product(*sets.values())) if np.prod([len(own) for own in sets.values()]) <= MOST_CHOICES else []
    if not chosen:
        raise SettingError(
            f"The sets given for {quoted([schema.names[p] for p, own in sets.items() if len(own) > 1])} have more than "
            f"{MOST_CHOICES:,} choices of one value each. Next: give fewer values."
        )
    cells = np.full((len(chosen), len(schema)), None, dtype=object)
    for i, values in enumerate(chosen):
        cells[i, list(sets)] = values
    return Given(_read_rows(fitted, cells, set(sets)), ranges)


def _choices(column: Column, value: object) -> list[Any]:
    """Return the values of a set in an order that hashes have no part in, or the one value."""
    name = column.name
    several = sorted(value, key=repr) if isinstance(value, set | frozenset) else [value]
    for own in several:
        if not isinstance(own, SCALARS) or not holds_value(own):
            raise SettingError(
                f"given {name!r} is {own!r}, no value of a cell. Next: give one, a set of them, a range of numbers, "
                "or leave it out."
            )
        if column.kind is Kind.DATE and isinstance(_seconds(own), str):
            raise SettingError(
                f"given {name!r} is {own!r}, no date. Next: write one as 2026-04-03 or 2026-04-03 14:05."
            )
    if not several:
        raise SettingError(f"given {name!r} is an empty set. Next: give one value at least, or leave it out.")
    return several


def _ends(fitted: Fitted, position: int, value: tuple[object, ...]) -> Ends:
    """Return the ends of a range, infinite for None."""
    column = fitted.schema.columns[position]
    if column.kind.is_label or column.kind is Kind.BOOLEAN:
        raise SettingError(
            f"given {column.name!r} is the range {value!r}, and the column holds {column.kind.value} values. "
            "Next: give a set of values."
        )
    told, dated = value, column.kind is Kind.DATE
    value = tuple(map(_seconds, value)) if dated else value
    ends = [float(own) for own in value if isinstance(own, int | float | np.number)]
    good = len(value) == 2 and len(ends) == sum(own is not None for own in value) > 0
    low, high = (-np.inf if value[0] is None else ends[0], np.inf if value[1] is None else ends[-1]) if good else (1, 0)
    if not low <= high:
        raise SettingError(
            f"given {column.name!r} is {told!r}, no range of {'dates' if dated else 'numbers'}. Next: give "
            f"{either('(low, high), None for an open end', 'LOW..HIGH, the lower one first')}."
        )
    return low, high


def _seconds(value: object) -> object:
    """Return a date, or its text, as seconds, None as it is, and of anything else a text."""
    if not isinstance(value, str | dt.date | np.datetime64):
        return None if value is None else "no date"
    try:
        return float(read_seconds(np.array([value], dtype=object), "")[0])
    except SchemaError:
        return "no date"


def _read_rows(fitted: Fitted, cells: Any, told: set[int]) -> Rows:
    """Return rows by block: the given cells, all others missing."""
    schema, table = fitted.schema, read_table(cells)
    kinds = [column.kind for column in table.schema.columns]
    for own, kind in zip(schema.columns, kinds, strict=True):
        if not own.kind.reads(kind):
            raise SettingError(
                f"given {own.name!r} is {cells[0, schema.names.index(own.name)]!r}, and the column holds "
                f"{own.kind.value} values. Next: give one of those."
            )
    # errors of the families name columns as the model does
    table.schema = Schema(tuple(map(Column, schema.names, kinds)), schema.named)
    blocks = zip(fitted.blocks, fitted.statistics.blocks, fitted.joint.density.blocks, strict=True)
    return tuple(_given_block(fitted, block, stats, density, table, told) for block, stats, density in blocks)


def _given_block(fitted: Fitted, block: Block, stats: Statistic, density: Density, table: Table, told: set[int]) -> Any:
    own = [p for p in block.positions if p in told]
    names = fitted.schema.names
    if not block.family.takes_missing and len(own) < len(block.positions):
        if own:
            raise SettingError(
                f"given {names[own[0]]!r} is one of the columns that share out a total (family "
                f"{block.family.name!r}), and some of the others are not given. Next: give all or none of them."
            )
        return np.full((table.rows, len(block.positions)), np.nan)
    row = block.family.recode(block.family.encode(table, block.positions), stats)
    for j, position in enumerate(block.positions):
        levels = density.column_levels(j)
        if position in told and levels is not None:
            codes = row[j] if isinstance(row, tuple) else row[:, j]
            if (codes >= len(levels)).any():
                raise SettingError(
                    f"given {names[position]!r} is a category never seen. Next: use one of {quoted(levels)}."
                )
    return row
