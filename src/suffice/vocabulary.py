"""Levels and classes of a model, and near misses that differ by case or spaces.

All of it is read off statistics, so that it does not matter in what way or by what engine rows were learned.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ._arrays import Codes, np
from ._derived import shared
from ._dialect import Dialect, skeleton, trimmed
from .densities import Rows
from .errors import UnseenLevelWarning, either, quoted
from .estimate import Block
from .notes import Kind as NoteKind, Note
from .released import Provenance
from .schema import Kind, Level, Name, Schema
from .stats import ByClass
from .stats.counts import CodedColumns

MOST_NAMED = 3  # levels of a column that a sentence names
MOST_KNOWN = 6

Weights = Mapping[Level, float]  # what each level of a column, or each class, weighs


class UnseenLevel(NamedTuple):
    """A category of a table that a model has never seen.

    `rows` is how many rows of the table have it in this `column`, `known` the levels that the model knows there, `like`
    those of them that differ from it by case or spaces only.
    """

    column: Name
    level: Level
    rows: int
    known: tuple[Level, ...]
    like: tuple[Level, ...]


class Vocabulary:
    """The part of what was learned (`Fitted`) that tells of levels and classes."""

    schema: Schema
    blocks: tuple[Block, ...]
    statistics: ByClass
    past: Provenance

    @shared
    def known_levels(self) -> dict[int, Weights]:
        """The levels that each column is known to have, with what they weigh, by the position of the column."""
        pairs = zip(self.blocks, self.statistics.blocks, strict=False)
        return {block.positions[j]: levels for block, stats in pairs for j, levels in stats.level_weights().items()}

    @shared
    def alike_notes(self) -> tuple[Note, ...]:
        """A note for the classes, and one for each column, of which some differ by case or spaces only."""
        classes = dict(zip(self.statistics.classes, self.statistics.weight.tolist(), strict=True))
        counted = self.statistics.total == self.statistics.rows
        why = "they differ by case or spaces only; if they are one, "
        found = []
        told = _groups(classes, counted)
        if told:
            what = f"took as different classes {told}"
            found.append(Note(what, why + "rename-class (rename_classes) makes them one", kind=NoteKind.ALIKE))
        for position, levels in sorted(self.known_levels.items()):
            told = _groups(levels, counted)
            if told:
                what, columns = f"took as different levels {told}", (self.schema.names[position],)
                found.append(Note(what, why + "write them alike in the table", None, columns, kind=NoteKind.ALIKE))
        return tuple(found)

    @shared
    def empty_columns(self) -> tuple[int, ...]:
        """The positions of the columns in which no row has a value."""
        found = set[int]()
        for block, stats in zip(self.blocks, self.statistics.blocks, strict=False):
            found |= {block.positions[j] for j in np.flatnonzero(~stats.column_weight().any(axis=0)).tolist()}
        return tuple(sorted(found))

    def told_of_empty(self, notes: Iterable[Note]) -> tuple[Note, ...]:
        """Return a note that names these columns, if there are any, and the notes that concern others."""
        names = tuple(self.schema.names[p] for p in self.empty_columns)
        if not names:
            return tuple(notes)
        verbs = either("partial_fit, merge", "suffice update, merge")
        why = f"no row has a value there so far, and rows that have one may join ({verbs})"
        others = (own for own in notes if not own.columns or not set(names).issuperset(own.columns))
        return (Note("left out", why, columns=names, kind=NoteKind.LEFT_OUT), *others)

    def declared(self, schema: Schema, order: Sequence[int]) -> list[list[bool]]:
        """Return by block which columns, at these places of a table, have levels whether rows have them or not."""
        stated = [schema.columns[p].kind in (Kind.CATEGORICAL, Kind.BOOLEAN) for p in order]
        return [[stated[p] or getattr(own.family, "counted", False) for p in own.positions] for own in self.blocks]

    def unseen(self, rows: Rows) -> list[UnseenLevel]:
        """Return the levels of encoded rows that were never seen, by column, the commonest of each column first."""
        found = []
        for position, (levels, codes) in sorted(self._levels_of(rows).items()):
            known = self.known_levels.get(position)
            if known is not None and not all(level in known for level in levels):
                held = np.bincount(codes[codes >= 0], minlength=len(levels)).tolist()
                there = {level: count for level, count in zip(levels, held, strict=True) if count}
                found += _unseen(self.schema.names[position], there, known)
        return found

    def _levels_of(self, rows: Rows) -> dict[int, tuple[Sequence[Level], Codes]]:
        """Return the levels and the codes (n,) of columns as they are encoded, by the position of the column."""
        found: dict[int, tuple[Sequence[Level], Codes]] = {}
        for block, part in zip(self.blocks, rows, strict=False):
            coded = getattr(part, "coded", part)  # of rows of numbers and levels
            if isinstance(coded, CodedColumns):
                positions = block.positions[len(block.positions) - len(coded.levels) :]
                found |= dict(zip(positions, zip(coded.levels, coded.codes, strict=True), strict=True))
        return found

    @property
    def dialect(self) -> Dialect:
        """How files of rows like those learned are written.

        Where nobody knows whether spaces around texts were taken away, they are if what was learned knows none.
        """
        own = self.past.dialect or Dialect()
        if own.trimmed is not None:
            return own
        known = (level for levels in self.known_levels.values() for level in levels)
        texts = (text for text in (*self.schema.names, *self.statistics.classes, *known) if isinstance(text, str))
        return replace(own, trimmed=all(trimmed(text) == text for text in texts))


def _unseen(column: Name, held: Mapping[Level, int], known: Weights) -> list[UnseenLevel]:
    strange = [level for level in held if level not in known]
    bare: dict[str, list[Level]] = {}
    for level in known if strange else ():
        if isinstance(level, str):
            bare.setdefault(skeleton(level), []).append(level)
    return [
        UnseenLevel(
            column,
            level,
            held[level],
            tuple(known),
            tuple(bare.get(skeleton(level), ())) if isinstance(level, str) else (),
        )
        for level in sorted(strange, key=lambda level: -held[level])
    ]


def united(found: Iterable[UnseenLevel]) -> list[UnseenLevel]:
    """Return what was found in the parts of a table as of all of it."""
    total: dict[tuple[Name, Level], UnseenLevel] = {}
    for own in found:
        sofar = total.get((own.column, own.level))
        total[own.column, own.level] = own if sofar is None else own._replace(rows=own.rows + sofar.rows)
    columns = list(dict.fromkeys(own.column for own in total.values()))
    return sorted(total.values(), key=lambda own: (columns.index(own.column), -own.rows))


def warn_of_likes(found: Sequence[UnseenLevel]) -> None:
    """Warn of levels that differ from known ones by case or spaces only."""
    for told in sentences([own for own in found if own.like]):
        warnings.warn(told, UnseenLevelWarning, stacklevel=3)


def sentences(found: Sequence[UnseenLevel]) -> list[str]:
    """Return a sentence for each column, with counts: what a person needs to know to mend a table."""
    by_column: dict[Name, list[UnseenLevel]] = {}
    for own in found:
        by_column.setdefault(own.column, []).append(own)
    return [_sentence(column, own) for column, own in by_column.items()]


def _sentence(column: Name, found: Sequence[UnseenLevel]) -> str:
    named = sorted(found, key=lambda own: not own.like)[:MOST_NAMED]
    rows = sum(own.rows for own in found)
    levels = ", ".join(f"{own.level!r}" + (f" ({_rows(own.rows)})" if len(found) > 1 else "") for own in named)
    if len(found) > len(named):
        levels += f" and {len(found) - len(named):,} more"
    likes = [own for own in named if own.like]
    alike = "".join(f"; {own.level!r} differs from {quoted(own.like)} by case or spaces only" for own in likes)
    return f"{_rows(rows)}: {column} {levels}, never seen by the model, known {_some(found[0].known)}{alike}"


def _some(levels: Sequence[Level]) -> str:
    more = len(levels) - MOST_KNOWN
    return quoted(levels[:MOST_KNOWN]) + (f" and {more:,} more" if more > 0 else "")


def _rows(rows: float) -> str:
    return f"{rows:,.6g} row{'' if rows == 1 else 's'}"


def alike(levels: Iterable[Level]) -> list[list[Level]]:
    """Return the groups of levels that differ by case or spaces only, in the order in which they come."""
    groups: dict[str, list[Level]] = {}
    for level in levels:
        if isinstance(level, str):
            groups.setdefault(skeleton(level), []).append(level)
    return [group for group in groups.values() if len(group) > 1]


def _groups(weights: Weights, counted: bool) -> str:
    """Return the groups of a column in words, the heaviest first; "" where there are none."""
    groups = sorted(alike(weights), key=lambda group: -sum(weights[level] for level in group))
    unit = _rows if counted else "weight {:,.6g}".format
    told = [" and ".join(f"{level!r} ({unit(weights[level])})" for level in group) for group in groups[:MOST_NAMED]]
    return ", ".join(told) + (f" and {len(groups) - MOST_NAMED:,} more" if len(groups) > MOST_NAMED else "")
