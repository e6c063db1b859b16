"""What to look at in a table before its answers are trusted, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from ..._arrays import Array, Codes, by_key, cross_sums, gammaincc, np
from ...errors import either
from ...plots._style import are_whole
from ...schema import Kind
from ...stats.dependent_rows import ALL_DIFFER, FEWEST_ROWS, Cells, name_rows, name_subjects
from ...table import are_sentences
from ...vocabulary import alike as groups_alike, are_measured
from .columns import are_dates, brief, is_text, number, share, value_text
from .table import ProfiledColumn, ProfiledTable, row_keys

NAMED = 6  # columns of one alert
NEARLY_ALL = 0.95  # of the cells that are missing
FEW_ROWS = 10  # of a class
IMBALANCE = 0.9  # share of the commonest class
MANY_LEVELS = 50
ROWS_PER_LEVEL = 5.0
LEAK = 0.97  # recall, averaged over classes, of one column by itself
LEAST_APART = 0.1  # between the shares of missing cells of two classes
CHANCE = 0.01  # of tables where nothing that is missing goes with the class
ROOM = 2.0  # powers of ten by which there must be more possible rows than rows, for equal ones to mean something
SIGNS = frozenset({-1, -9, -99, -999, -9999, -99999, 9, 99, 999, 9999, 99999, 999999})
AS_NUMBERS = 0.9
JUDGED_ROWS = 4000  # by which a column by itself is judged
FEWEST = 5  # of a class that is judged
MOST_ROWS = 20_000  # by which columns that name subjects are told, the first: rows of one stand together


class AlertKind(StrEnum):
    """What sort of thing an alert tells; programs go by it."""

    LEAK = "leak"
    FEW_ROWS = "few rows"
    IMBALANCE = "imbalance"
    CONTRADICTION = "contradiction"
    REPEATED = "repeated rows"
    EMPTY = "empty"
    CONSTANT = "constant"
    MISSING = "nearly all missing"
    MISSING_BY_CLASS = "missing by class"
    IDENTIFIER = "identifier"
    SUBJECTS = "subjects"
    IN_TIME = "in time"
    MANY_LEVELS = "many levels"
    ALIKE = "levels alike"
    DATES = "dates"
    NUMBERS_AS_TEXT = "numbers as text"
    PLACEHOLDER = "placeholder"
    COPY = "copy"
    FOLLOWS = "follows"


Alert = dict[str, Any]
SPOILING = (AlertKind.LEAK, AlertKind.IN_TIME, AlertKind.DATES, AlertKind.NUMBERS_AS_TEXT, AlertKind.PLACEHOLDER)


def collect_alerts(
    table: ProfiledTable, rows: dict[str, Any] | None, same: dict[str, list[dict[str, Any]]]
) -> list[Alert]:
    """Return what to look at, what weighs most first: `kind`, `text`, and `columns` by their numbers in the table."""
    found = [*_of_classes(table), *alerts_of_columns(table), *_of_pairs(table, same), *_of_subjects(table)]
    if rows is not None and _is_telling(table.without(is_identifier)):
        found += _of_rows(table, rows)
    order = list(AlertKind)
    return sorted(found, key=lambda alert: order.index(alert["kind"]))


def _alert(kind: AlertKind, text: str, columns: Sequence[int] = ()) -> Alert:
    return {"kind": kind.value, "text": text, "columns": list(columns)}


def _of_classes(table: ProfiledTable) -> Iterator[Alert]:
    weight = table.class_weight[: table.k]
    rows = np.rint(table.class_rows())
    some = [c for c in range(table.k) if weight[c] > 0 and rows[c] < FEW_ROWS]
    if some:
        names = _listed([f"{brief(table.classes[c], 30)} ({number(float(rows[c]))})" for c in some])
        few = f"{len(some):,} {'class has' if len(some) == 1 else 'classes have'} fewer than {FEW_ROWS} rows: {names}."
        cut = " If they measure or count, cut them into ranges." if are_measured(table.classes, rows.sum()) else ""
        yield _alert(AlertKind.FEW_ROWS, f"{few} What is said of so few is uncertain.{cut}")
    alike = groups_alike(table.classes)
    if alike:
        names = _listed([" and ".join(_quoted(label) for label in own) for own in alike])
        yield _alert(AlertKind.ALIKE, f"Classes that differ only by case or spaces: {names}. Are they the same?")
    total = float(weight.sum())
    if table.k > 1 and total > 0 and weight.max() >= IMBALANCE * total:
        c = int(weight.argmax())
        most = f"{share(weight[c] / total)} of the rows are {brief(table.classes[c], 30)!r}"
        why = "always naming that class is right as often, so judge by recall and by log-loss."
        yield _alert(AlertKind.IMBALANCE, f"{most}: {why}")
    missing = float(table.class_weight[table.k])
    if missing > 0 and total > 0:
        yield _alert(
            AlertKind.MISSING, f"Rows without a label: {number(missing)} ({share(missing / (missing + total))})."
        )


def _of_rows(table: ProfiledTable, rows: dict[str, Any]) -> Iterator[Alert]:
    but = f", but for {_listed([*map(brief, rows['but'])])}" if rows["but"] else ""
    among, same = "" if table.is_whole else " of those kept", ", class included" if table.k else ""
    if rows["contradicting"]:
        text = f"{rows['contradicting']:,} rows{among} equal another one in all columns{but}, and have another class"
        yield _alert(AlertKind.CONTRADICTION, f"{text}: no model can name both right.")
    if rows["repeated"]:
        repeat = f"row{among} repeats" if rows["repeated"] == 1 else f"rows{among} repeat"
        text = f"{rows['repeated']:,} {repeat} another one{same}{but} (one occurs {rows['most']:,} times)."
        yield _alert(AlertKind.REPEATED, f"{text} Copied rows make a model surer than it should be.")


def _is_telling(table: ProfiledTable) -> bool:
    """Return whether equal rows mean something: a few columns of a few levels each must bring many."""
    sizes = [max(len(np.unique(own.known)), 1) for own in table.columns if own.has_cells]
    return float(np.log10(np.array(sizes, dtype=np.float64)).sum() - np.log10(max(table.rows, 1))) >= ROOM


def alerts_of_columns(table: ProfiledTable) -> Iterator[Alert]:
    """Return alerts of single columns, one for all columns of which the same is to be said."""
    columns = enumerate(table.columns)
    found = by_key((kind, (j, detail)) for j, column in columns for kind, detail in _of_column(column, table))
    for kind, own in found.items():
        names = [f"{brief(table.columns[j].name)}{f' ({detail})' if detail else ''}" for j, detail in own]
        yield _alert(kind, WORDS[kind].format(_listed(names)), [j for j, _ in own])


WORDS = {
    AlertKind.LEAK: "By itself it names the class nearly always: {}. Is that known before the class is? If not, leave "
    "it out.",
    AlertKind.EMPTY: "No cell has a value: {}.",
    AlertKind.CONSTANT: "All cells are equal, which tells nothing: {}.",
    AlertKind.MISSING: "Nearly all cells are missing: {}.",
    AlertKind.MISSING_BY_CLASS: "Whether the cell is missing goes with the class: {}. Will it be so for new rows?",
    AlertKind.IDENTIFIER: "Each row has its own value, as an identifier or a name has: {}. That says nothing of new "
    "rows; leave it out.",
    AlertKind.IN_TIME: "Rows that follow each other in time are alike in class: {}. Judged row by row, models look "
    "better than they will be in the next period: judge them by period (`suffice compare --time COLUMN`, or "
    "`validate_forward`).",
    AlertKind.MANY_LEVELS: "Many levels with few rows each: {}.",
    AlertKind.ALIKE: "Levels that differ only by case or spaces: {}.",
    AlertKind.DATES: "Dates that are read as categories: {}. Written as 2026-04-03, or as dates of a data frame, they "
    "would tell more.",
    AlertKind.NUMBERS_AS_TEXT: "Numbers that are read as categories: {}.",
    AlertKind.PLACEHOLDER: "A number far from all others that may stand for a missing cell: {}. If it does, declare it "
    "as the file has it (`--missing-text=-999`), or leave it empty.",
}


def _of_subjects(table: ProfiledTable) -> Iterator[Alert]:
    """Return an alert of the columns that seem to name what rows belong to."""
    seen = [j for j, column in enumerate(table.columns) if column.has_cells]
    columns = [table.columns[j] for j in seen]
    if not seen:
        return
    rows = np.sort(np.unique(row_keys(table, columns), return_index=True)[1])[:MOST_ROWS]
    cells = []
    for column in columns:
        own = column.cells[rows]
        if column.facts.levels is None:
            cells.append(Cells(own, False))
        else:
            cells.append(Cells.of_levels(np.nan_to_num(own, nan=-1.0).astype(np.int64), column.levels))
    found = name_subjects(cells, [i for i, own in enumerate(columns) if own.kind is not Kind.BOOLEAN])
    if found:
        names = _listed([brief(columns[i].name) for i in found])
        text = f"Rows of one value are as alike as those of one subject: {names}. If a column names what rows belong "
        text += f"to, say so by {either('groups=', '--groups COLUMN')}: judged row by row, models look better than "
        text += "they are."
        yield _alert(AlertKind.SUBJECTS, text, [seen[i] for i in found])


def _of_column(column: ProfiledColumn, table: ProfiledTable) -> Iterator[tuple[AlertKind, str]]:
    """Return what is to be said of a column, each with a detail."""
    missing = column.missing_share
    if column.kind is Kind.EMPTY or missing == 1.0:
        yield AlertKind.EMPTY, ""
        return
    if missing is not None and missing >= NEARLY_ALL:
        yield AlertKind.MISSING, share(missing)
    only = _only_value(column)
    if only is not None:
        yield AlertKind.CONSTANT, only
        return
    yield from _missing_by_class(column, table)
    identifier = is_identifier(column)
    if identifier:
        yield AlertKind.IDENTIFIER, ""
    elif (recall := recall_alone(column, table) or 0.0) >= LEAK:
        yield AlertKind.LEAK, f"{share(recall)} by class"
    yield from _of_levels(column, identifier)
    if column.kind is Kind.DATE and column.has_cells:
        yield from _in_time(column, table)
    if column.facts.is_number and column.has_cells:
        yield from _placeholder(column, table)


def _only_value(column: ProfiledColumn) -> str | None:
    """Return the one value that all cells have, None where there are several or it is not known."""
    weight, moments = column.level_weight, column.facts.moments
    if weight is not None:
        used = np.flatnonzero(weight > 0)
        return brief(column.levels[int(used[0])], 30) if len(used) == 1 else None
    if moments is not None and moments.weight.any():
        pooled = moments.pooled()
        mean = float(pooled.mean[0, 0])
        varies = pooled.scatter[0, 0] > 1e-18 * pooled.weight[0, 0] * max(mean * mean, 1e-300)
        return None if varies else value_text(column, mean, 0.0)
    seen = column.known
    return value_text(column, float(seen[0]), 0.0) if len(seen) and (seen == seen[0]).all() else None


def _missing_by_class(column: ProfiledColumn, table: ProfiledTable) -> Iterator[tuple[AlertKind, str]]:
    facts, k = column.facts, table.k
    total = (facts.seen + facts.missing)[:k]
    judged = np.flatnonzero(total >= FEW_ROWS) if not np.isnan(total).any() else np.zeros(0, dtype=np.int64)
    own = facts.missing[judged] / total[judged]
    if len(judged) < 2 or not own.max() > 0.0 or not own.min() < 1.0:
        return
    low, high = int(own.argmin()), int(own.argmax())
    rows = table.class_rows()[judged]
    alike = float(rows @ own / rows.sum())
    chi_square = float(rows @ (own - alike) ** 2) / (alike * (1.0 - alike))
    by_chance = float(gammaincc(0.5 * (len(judged) - 1), 0.5 * chi_square))  # Pearson's
    if own[high] - own[low] >= LEAST_APART and by_chance < CHANCE / len(table.columns):
        most, least = (brief(table.classes[int(judged[i])], 30) for i in (high, low))
        yield AlertKind.MISSING_BY_CLASS, f"{share(own[high])} of {most!r}, {share(own[low])} of {least!r}"


def _in_time(column: ProfiledColumn, table: ProfiledTable) -> Iterator[tuple[AlertKind, str]]:
    """Say so where rows next to each other in time are of one class much more often than rows at large.

    Rows of one moment are in an order of their own, as that in the file may be by class.
    """
    told = np.flatnonzero(column.present & (table.codes < table.k))
    turn = np.random.default_rng(0).permutation(len(told))
    codes = table.codes[told[np.lexsort((turn, column.cells[told]))]]
    if len(codes) < FEWEST_ROWS:
        return
    alike, shares = float((codes[1:] == codes[:-1]).mean()), np.bincount(codes) / len(codes)
    by_chance = float(shares @ shares)
    if alike - by_chance > LEAST_APART + 3.0 / np.sqrt(len(codes)):
        yield AlertKind.IN_TIME, f"{share(alike)} of neighbours, {share(by_chance)} by chance"


def is_identifier(column: ProfiledColumn) -> bool:
    """Return whether every row has a value of its own, where that is no matter of course: in text and whole numbers."""
    weight = column.level_weight
    if weight is not None:
        total = float(weight.sum())
        own_value = total >= FEWEST_ROWS and int((weight > 0).sum()) >= ALL_DIFFER * total
        return own_value and column.kind.is_label and not are_dates(column.levels) and not are_sentences(column.levels)
    if column.kind is Kind.DATE:
        return False
    seen = column.known
    if name_rows(Cells(seen, False)):
        return True
    if len(seen) < FEWEST_ROWS or not are_whole(seen) or len(np.unique(seen)) < len(seen):
        return False
    size = np.abs(seen)  # long whole numbers that are all as long, as those of accounts are
    return bool(size.min() >= 1e7 and np.floor(np.log10(size.min())) == np.floor(np.log10(size.max())))


def _of_levels(column: ProfiledColumn, identifier: bool) -> Iterator[tuple[AlertKind, str]]:
    weight = column.level_weight
    if weight is None or not column.kind.is_label or is_text(column):
        return
    used = [str(column.levels[i]) for i in np.flatnonzero(weight > 0).tolist()]
    if are_dates(used):
        yield AlertKind.DATES, f"as {brief(used[0], 30)}"
        return
    alike = groups_alike(used)
    if alike:
        yield AlertKind.ALIKE, " and ".join(_quoted(level) for level in alike[0])
    odd = [level for level in used if not _is_number(level)]
    if len(used) > 2 and len(used) - len(odd) >= AS_NUMBERS * len(used):
        yield AlertKind.NUMBERS_AS_TEXT, f"but for {_listed([repr(brief(level, 20)) for level in odd])}" if odd else ""
    elif not identifier and len(used) > MANY_LEVELS and weight.sum() < ROWS_PER_LEVEL * len(used):
        yield AlertKind.MANY_LEVELS, f"{len(used):,} levels"


def _quoted(level: object) -> str:
    return f"'{brief(level, 30)}'"


def _is_number(text: str) -> bool:
    try:
        float(text.strip().lstrip("$€£").rstrip("%€$ ").replace(",", ""))
    except ValueError:
        return False
    return True


def _placeholder(column: ProfiledColumn, table: ProfiledTable) -> Iterator[tuple[AlertKind, str]]:
    """Return a number such as −999 or 99 that is the least or most, occurs often, and lies far from all others.

    Far is further than the middle nine tenths of these reach: among many ages of students one may be 73.
    """
    values = column.known
    seen = np.unique(values)
    for end, next_one in ((seen[0], seen[1]), (seen[-1], seen[-2])) if len(seen) >= 4 else ():
        times = float(table.copies[column.cells == end].sum())
        low, high = np.quantile(values[values != end], (0.05, 0.95)).tolist()
        if float(end) in SIGNS and times >= 3 and abs(end - next_one) > max(high - low, 1.0):
            yield AlertKind.PLACEHOLDER, f"{number(float(end))} in {number(times)} rows"


def _of_pairs(table: ProfiledTable, same: dict[str, list[dict[str, Any]]]) -> Iterator[Alert]:
    def names(own: dict[str, Any]) -> list[str]:
        return [brief(table.columns[j].name) for j in own["columns"]]

    for own in same["copies"][:NAMED]:
        how = "the same, level for level"
        if own["lines"]:
            first, second, *_ = names(own)
            how = f"the same in other units or spellings ({second} = {_line(own['lines'][0], first)})"
        yield _alert(AlertKind.COPY, f"{_listed(names(own))} say {how}. One of them is enough.", own["columns"])
    for kind, those, told, more in (
        (AlertKind.COPY, "near", "{} and {} are nearly the same (correlation {:.3f}).", "are nearly the same"),
        (AlertKind.FOLLOWS, "follows", "{1} follows from {0}: each level of {0} has one of {1}.", "follow so"),
    ):
        for own in same[those][:NAMED]:
            yield _alert(kind, told.format(*names(own), own.get("correlation")), own["columns"])
        if len(same[those]) > NAMED:
            yield _alert(kind, f"More pairs of columns {more}: {len(same[those]) - NAMED:,}.")


def _line(line: dict[str, float], name: str) -> str:
    slope, intercept = line["slope"], line["intercept"]
    size = abs(slope) + abs(intercept)
    tail = "" if abs(intercept) <= 1e-9 * size else f" {'+' if intercept > 0 else '−'} {number(abs(intercept))}"
    return f"{number(slope)} × {name}{tail}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


# --- one column by itself ---------------------------------------------------------------------------------------------


def recall_alone(column: ProfiledColumn, table: ProfiledTable) -> float | None:
    """Return how probably a row's class is named right by the rows with the nearest cell, averaged over classes.

    Each row is judged by the others: by the classes of those with an equal cell, or where there are none by those with
    the next lower and the next higher value of a number, the nearer one; missing cells are equal. It is 1 where the
    column gives the class away, and about 1 / k where it tells nothing. None where fewer than two classes have five of
    the rows there are.
    """
    if not column.has_cells:
        return None
    index = table.some(JUDGED_ROWS)
    index = index[table.codes[index] < table.k]
    codes, copies = table.codes[index], table.copies[index]
    size = np.bincount(codes, weights=copies, minlength=table.k)
    judged = np.flatnonzero(size >= FEWEST)
    if len(judged) < 2:
        return None
    cells = column.cells[index]
    right = _named(cells, codes, copies, table.k, column.facts.is_number)
    recall = np.bincount(codes, weights=copies * right, minlength=table.k)[judged] / size[judged]
    return float(recall.mean())


def _named(cells: Array, codes: Codes, copies: Array, k: int, ordered: bool) -> Array:
    """Return how probable its own class is for each row (n,), by the shares of classes among rows like it."""
    values, place = np.unique(np.where(np.isnan(cells), np.inf, cells), return_inverse=True)
    counts = cross_sums(place, codes, (len(values), k), copies)
    total = counts.sum(axis=1)
    others = total[place] - 1.0  # one copy of the row itself is out
    prior = (np.bincount(codes, weights=copies, minlength=k)[codes] - 1.0) / max(float(copies.sum()) - 1.0, 1.0)
    equal = (counts[place, codes] - 1.0) / np.maximum(others, 1.0)
    alone = others <= 0
    if not ordered or not alone.any():
        return np.where(alone, prior, equal)
    near = _nearest(values)[place]
    beside = np.where(near >= 0, counts[near, codes] / np.maximum(total[near], 1.0), prior)
    return np.where(alone, beside, equal)


def _nearest(values: Array) -> Codes:
    """Return for each of these ascending numbers the number of the nearest other one that is finite; −1 for none."""
    n = int(np.isfinite(values).sum())
    found = np.full(len(values), -1, dtype=np.int64)
    gap = np.diff(values[:n])
    left, right = np.append(np.inf, gap), np.append(gap, np.inf)
    found[:n] = np.arange(n) + np.where(left <= right, -1, 1)
    return found
