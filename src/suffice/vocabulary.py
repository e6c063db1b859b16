"""What is to be said of a table: levels and classes that differ by case or spaces, levels never seen, rows that repeat.

All of it is read off statistics, so that it does not matter in what way or by what engine rows were learned.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ._arrays import Codes, by_key, np
from ._dialect import skeleton
from .densities import Rows
from .errors import UnseenLevelWarning, either, quoted, spaced
from .notes import Kind as NoteKind, Note
from .schema import WRITTEN, Kind, Level, Name, Schema
from .stats import ByClass, Reservoir
from .stats.counts import CodedColumns, TextColumns
from .stats.dependent_rows import Cells, name_rows, name_subjects

MOST_NAMED = 3  # levels of a column that a sentence names
MOST_KNOWN = 6

Weights = Mapping[Level, float]  # what each level of a column, or each class, weighs


class UnseenLevel(NamedTuple):
    """A category of a table that a model has never seen.

    `rows` is how many rows of the table have it in this `column`, `known` the levels that the model knows there, `like`
    those of them that differ from it by case, spaces or type (1 and "1") only.
    """

    column: Name
    level: Level
    rows: int
    known: tuple[Level, ...]
    like: tuple[Level, ...]


def levels_of(rows: Rows, blocks: Sequence[Sequence[int]]) -> dict[int, tuple[Sequence[Level], Codes]]:
    """Return the levels and the codes (n,) of columns as they are encoded, by position.

    `blocks` are the positions of the columns of each part of the rows.
    """
    found: dict[int, tuple[Sequence[Level], Codes]] = {}
    for positions, part in zip(blocks, rows, strict=False):
        coded = getattr(part, "coded", part)  # of rows of numbers and levels
        if isinstance(coded, CodedColumns) and not isinstance(coded, TextColumns):
            own = positions[len(positions) - len(coded.levels) :]
            found |= dict(zip(own, zip(coded.levels, coded.codes, strict=True), strict=True))
    return found


def unseen_in(
    held: Mapping[int, tuple[Sequence[Level], Codes]], schema: Schema, known: Mapping[int, Weights]
) -> list[UnseenLevel]:
    """Return the levels held that are not among those known, both by position: by column, the commonest first."""
    found = []
    for position, (levels, codes) in sorted(held.items()):
        if position in known and not all(level in known[position] for level in levels):
            often = np.bincount(codes[codes >= 0], minlength=len(levels)).tolist()
            there = {level: count for level, count in zip(levels, often, strict=True) if count}
            found += _unseen(schema.names[position], there, known[position])
    return found


def _unseen(column: Name, held: Mapping[Level, int], known: Weights) -> list[UnseenLevel]:
    strange = [level for level in held if level not in known]
    bare = _by_skeleton(known if strange else ())
    return [
        UnseenLevel(column, level, held[level], tuple(known), tuple(bare.get(skeleton(str(level)), ())))
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
    """Warn of levels that differ from known ones by case, spaces or type only."""
    for told in sentences([own for own in found if own.like]) if found else ():
        warnings.warn(told, UnseenLevelWarning, stacklevel=3)


def sentences(found: Sequence[UnseenLevel]) -> list[str]:
    """Return a sentence for each column, with counts: what a person needs to know to mend a table."""
    return [_sentence(column, own) for column, own in by_key((own.column, own) for own in found).items()]


def _sentence(column: Name, found: Sequence[UnseenLevel]) -> str:
    named = sorted(found, key=lambda own: not own.like)[:MOST_NAMED]
    rows = sum(own.rows for own in found)
    levels = ", ".join(f"{own.level!r}" + (f" ({_rows(own.rows)})" if len(found) > 1 else "") for own in named)
    if len(found) > len(named):
        levels += f" and {len(found) - len(named):,} more"
    likes = [own for own in named if own.like]
    how = {own.level: "case or spaces" if type(own.level) is type(own.like[0]) else "type" for own in likes}
    alike = "".join(f"; {own.level!r} differs from {quoted(own.like)} by {how[own.level]} only" for own in likes)
    return (
        f"{_rows(rows)}: {column} {levels}, never seen by the model, known {quoted(found[0].known, MOST_KNOWN)}{alike}"
    )


def _rows(rows: float) -> str:
    return f"{rows:,.6g} row{'' if rows == 1 else 's'}"


def alike(levels: Iterable[Level]) -> list[list[Level]]:
    """Return the groups of levels that differ by case or spaces only, in the order in which they come."""
    texts = [level for level in levels if isinstance(level, str)]
    return [group for group in _by_skeleton(texts).values() if len(group) > 1]


def are_measured(classes: Sequence[Level], rows: float) -> bool:
    """Return whether 20 classes or more, of fewer than five rows on average, are whole numbers, as counts are."""
    return (
        len(classes) >= 20
        and rows < 5.0 * len(classes)
        and all(str(label).removeprefix("-").isdecimal() for label in classes)
    )


def _by_skeleton(levels: Iterable[Level]) -> dict[str, list[Level]]:
    """Return levels by what they have in common as text, case and spaces aside."""
    return by_key((skeleton(str(level)), level) for level in levels)


def _groups(weights: Weights, counted: bool) -> str:
    """Return the groups of a column in words, the heaviest first; "" where there are none."""
    groups = sorted(alike(weights), key=lambda group: -sum(weights[level] for level in group))
    unit = _rows if counted else "weight {:,.6g}".format
    groups, rest = groups[:MOST_NAMED], len(groups) - MOST_NAMED
    told = [" and ".join(f"'{spaced(level)}' ({unit(weights[level])})" for level in group) for group in groups]
    return ", ".join(told) + (f" and {rest:,} more" if rest > 0 else "")


def table_notes(
    schema: Schema,
    blocks: Sequence[Sequence[int]],
    known: Mapping[int, Weights],
    statistics: ByClass,
    *,
    copies: bool,
    subjects: bool,
) -> Iterator[Note]:
    """Yield what is to be said of texts read as dates, levels alike and, where rows are kept, `copies` and `subjects`.

    `blocks` are the positions of the columns of each part of the rows, `known` the levels by position.
    """
    dates = tuple(column.name for column in schema.columns if column.form == WRITTEN)
    if dates:
        why = "every text there is a date, such as 2026-04-03"
        yield Note("read text as dates", why, columns=dates, kind=NoteKind.DATED)
    yield from _alike_notes(schema, known, statistics)
    if are_measured(statistics.classes, statistics.rows):
        what = f"took each number for a class of its own: {len(statistics.classes):,} in {statistics.rows:,} rows"
        yield Note(what, "if they measure or count something, cut them into ranges first", kind=NoteKind.UNCERTAIN)
    if statistics.sample is not None and copies:
        kept, distinct = round(float(statistics.sample.copies.sum())), len(statistics.sample.codes)
        what = f"held out copies of a row together, {kept - distinct:,} of {kept:,} rows"
        why = "they are equal in every cell and in class, far more often than columns of few values explain"
        yield Note(what, why, kind=NoteKind.COPIED)
    group = None if statistics.sample is None else statistics.sample.group
    if group is not None and group.any() and (group == group[0]).all():
        why = "all rows are of one group: what the model says of itself holds for further rows of that group alone"
        yield Note("held out rows one by one", why, kind=NoteKind.UNCERTAIN)
    if statistics.sample is not None and subjects:
        yield from _column_notes(schema, blocks, statistics.sample)


def _alike_notes(schema: Schema, known: Mapping[int, Weights], statistics: ByClass) -> Iterator[Note]:
    """Yield a note for the classes, and one for each column, of which some differ by case or spaces only."""
    classes = dict(zip(statistics.classes, statistics.weight.tolist(), strict=True))
    counted = statistics.total == statistics.rows
    why = "they differ by case or spaces only; if they are one, "
    told = _groups(classes, counted)
    if told:
        what = f"took as different classes {told}"
        yield Note(what, why + "rename-class (rename_classes) makes them one", kind=NoteKind.ALIKE)
    for position, levels in sorted(known.items()):
        told = _groups(levels, counted)
        if told:
            what, columns = f"took as different levels {told}", (schema.names[position],)
            yield Note(what, why + "write them alike in the table", None, columns, kind=NoteKind.ALIKE)


def _column_notes(schema: Schema, blocks: Sequence[Sequence[int]], sample: Reservoir) -> Iterator[Note]:
    """Yield notes of columns that seem to name rows, or what rows kept belong to where no groups were given."""
    cells = dict[int, Cells]()
    for positions, part in zip(blocks, sample.rows, strict=False):
        if isinstance(part, TextColumns):
            continue  # of texts nearly every one is another, and names nothing
        if isinstance(part, CodedColumns):
            own = [Cells.of_levels(*told) for told in zip(part.codes, part.levels, strict=True)]
        elif isinstance(part, np.ndarray):
            own = [Cells(column, False) for column in part.T]
        else:
            continue  # counts of words
        cells |= zip(positions, own, strict=True)
    places = sorted(cells)
    dates = {p for p in places if schema.columns[p].kind is Kind.DATE}  # of which each row may well have its own
    names = tuple(schema.names[p] for p in places if p not in dates and name_rows(cells[p]))
    if names:
        why = "as of an identifier, that says nothing of new rows; if it is one, leave it out"
        yield Note("learned a value for each row", why, columns=names, kind=NoteKind.IDENTIFIER)
    may = [i for i, p in enumerate(places) if schema.columns[p].kind is not Kind.BOOLEAN]
    found = [] if sample.group is not None else name_subjects([cells[p] for p in places], may)
    if not found:
        return
    names = tuple(schema.names[places[i]] for i in found)
    why = "rows of one value are as alike as those of one subject; if a column names what rows belong to, fit with "
    why += either("groups=", "--groups COLUMN")
    why += ", so that they leave together, and nothing is learned from its values"
    yield Note("held out rows one by one", why, columns=names, kind=NoteKind.SUBJECTS)
