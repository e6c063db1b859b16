"""From a table in a file to columns, labels and row weights."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .._dialect import Dialect
from ..errors import DataError, SchemaError, SourceError, quoted
from ..schema import Level, Schema, check_listed
from .answers import model_columns, read_for
from .files import FileTable, read_file, without_blanks
from .output import Common, TargetProblem, UsageProblem, drop_flags
from .parameters import TableOptions

if TYPE_CHECKING:
    from .._arrays import Array, Codes
    from ..engines import Reading
    from ..engines.arrow import Column, Table
    from ..estimators.base import GenerativeEstimator


@dataclass(frozen=True, slots=True)
class Training:
    """Rows to learn from.

    `columns` is the table of the other columns, `labels` one class label per row, `weight` one number per row or None,
    `groups` which rows belong together or None, `time` when they were seen or None, `unlabelled` how many rows were
    left out because they have no label, `dialect` how a CSV was written, `numbers` (n,) which rows of the file they
    are, from 1.
    """

    columns: Table
    labels: Column
    weight: Array | None
    unlabelled: int
    numbers: Codes
    groups: Column | None = None
    dialect: Dialect | None = None
    time: Column | None = None

    @property
    def classes(self) -> list[Level]:
        """The distinct labels in order."""
        return sorted(self.labels.unique().to_pylist())

    @property
    def codes(self) -> Codes:
        """The number (n,) of the class of each row."""
        from .._arrays import places_of

        return places_of(self.labels.to_pylist(), self.classes)


def read_training(
    path: Path,
    target: str,
    table: TableOptions,
    weight: str | None,
    common: Common,
    time: str | None = None,
    keep: Sequence[str] = (),
) -> Training:
    """Return the rows of a file that have a label, saying on stderr what was left out; `keep` is more to keep."""
    from ..engines.arrow import how_many, missing

    if both := set(table.keep) & set(table.drop):
        raise UsageProblem(f"--keep and --drop both name {quoted(sorted(both))}. Next: give it to one of them.")
    found = read_file(path, training_reading(target, table, time))
    groups = table.groups
    check_named(found.columns.column_names, target, (*table.drop, *table.keep), weight, path, groups, time)
    TargetProblem.check(target, found.csv)
    training = _labelled(found, target, weight, groups, time, table.dates)
    rows = training.columns
    if len(classes := training.labels.unique()) == 1:
        raise TargetProblem.one_class(target, classes[0].as_py(), rows.num_rows)
    beside = {name for name in (weight, groups, time) if name is not None}
    columns = rows.drop_columns(list({target, *table.drop, *beside}))
    empty = [name for name in columns.column_names if how_many(missing(columns.column(name))) == columns.num_rows]
    remark_empty(empty, columns.num_columns, common)
    columns = columns.drop_columns(empty)
    dialect = None if found.csv is None else found.csv.dialect
    told = telling_rows_apart(columns)
    dropped = (automatic_drops if table.auto_drop else identifiers)(told, dialect)
    dropped = {name: why for name, why in dropped.items() if name not in (*table.keep, *keep)}
    if dropped and (table.auto_drop or len(dropped) < columns.num_columns):
        columns = columns.drop_columns(list(dropped))
        reasons = ", ".join(f"{name!r} ({why})" for name, why in dropped.items() if why)
        keep_them = f" Such values tell nothing of other rows. To keep them: {drop_flags(list(dropped), '--keep')}"
        common.remark(f"Left out: {reasons}.{'' if table.auto_drop else keep_them}")
    _check_columns(columns, target)
    _remark_unlabelled(training, target, common)
    _remark_names(columns, told, common)
    return replace(training, columns=columns)


def _labelled(
    found: FileTable, target: str, weight: str | None, groups: str | None, time: str | None, order: str | None = None
) -> Training:
    """Return the rows of a table that have a label, with all its columns; `order` is that of dates, as declared."""
    rows, numbers = _labelled_rows(found.columns, target)
    unlabelled = found.columns.num_rows - rows.num_rows
    weights = None if weight is None else _weights(rows.column(weight), weight)
    belong = None if groups is None else group_values(rows.column(groups))
    times = None if time is None else time_values(found.written([time]).column(time).take(numbers - 1), order)
    return Training(rows, rows.column(target), weights, unlabelled, numbers, belong, found.source.dialect, times)


def read_orders(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the levels of columns from the lowest, as the command line states them."""
    found: dict[str, list[str]] = {}
    for word in words:
        name, mark, levels = word.partition("=")
        listed = [level.strip() for level in next(csv.reader([levels]), [])]
        if not mark or not name or not all(listed) or name in found:
            again = " a second time" if name in found else ""
            raise UsageProblem(f"--ordered {word!r} gives no order{again}. Example: --ordered risk=Low,Medium,High.")
        found[name] = listed
    return found


def in_order(training: Training, orders: Mapping[str, Sequence[str]]) -> Training:
    """Return rows to learn from, some columns with their levels in order; DataError for one that is not listed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..engines.arrow import decoded
    from ..table import read_table as read_columns

    table = training.columns
    if orders:
        read_columns(table).schema.with_orders({**orders})
    for name, levels in orders.items():
        texts = decoded(table.column(name))
        listed = pa.array(levels, texts.type)
        strange = texts.filter(pc.invert(pc.is_in(texts, value_set=listed))).drop_null().unique().to_pylist()
        check_listed(name, strange, levels)
        codes = pc.index_in(texts, value_set=listed)
        chunks = codes.chunks if isinstance(codes, pa.ChunkedArray) else [codes]
        coded = pa.chunked_array([pa.DictionaryArray.from_arrays(own, listed, ordered=True) for own in chunks])
        table = table.set_column(table.column_names.index(name), name, coded)
    return replace(training, columns=table)


def training_reading(target: str | None, table: TableOptions, time: str | None = None) -> Reading:
    """Return how a file to learn from is read."""
    from ..engines import Reading

    left_out = frozenset(table.drop) | {time}
    return Reading(
        target=target,
        labels=table.labels,
        as_is=lambda name: name in left_out,
        blank=table.missing_text,
        trim=not table.keep_spaces,
        sheet=table.sheet,
        dates=ORDERS.get(table.dates or ""),
    )


ORDERS = {"day-first": "dmy", "month-first": "mdy"}  # of dates, as the calendar calls them


def check_named(
    names: Sequence[str],
    target: str | None,
    drop: Sequence[str],
    weight: str | None,
    path: Path,
    groups: str | None = None,
    time: str | None = None,
) -> None:
    """Refuse names of columns that are not there, and one column for two things."""
    given = [(target, "--target"), (weight, "--weight"), (groups, "--groups"), (time, "--time")]
    for name, option in [given[0], *((name, "--drop or --keep") for name in drop), *given[1:]]:
        if name is not None and name not in names:
            raise SourceError.columns_missing(repr(str(path)), [name], names, f"for {option}")
    for (one, first), (other, second) in combinations(given, 2):
        if one is not None and one == other:
            raise UsageProblem(f"{first} and {second} are both {one!r}. Name a column of its own for each.")


def check_not_read(target: str, schema: Schema, groups: str | None = None) -> None:
    """Refuse a target, or a column of groups, that is among the columns which a model tells classes by."""
    if schema.named and groups in schema.names:
        raise UsageProblem(
            f"--groups {groups!r} is one of the columns that the model tells classes by. Fit a model by the same "
            "--groups, which does not learn from it."
        )
    if schema.named and target in schema.names:
        raise UsageProblem(
            f"--target {target!r} is one of the columns that the model tells classes by. Name the column that holds "
            "the classes themselves."
        )


def read_batch(
    path: Path,
    estimator: GenerativeEstimator,
    target: str,
    weight: str | None,
    common: Common,
    missing: Sequence[str] = (),
    sheet: str | None = None,
    groups: str | None = None,
    missing_columns: str = "error",
    time: str | None = None,
) -> Training:
    """Return the labelled rows of a file in the columns of a model; what the model has as text is read as text."""
    also = tuple(name for name in (weight, groups, time) if name is not None)
    told = tuple(missing), sheet, True, missing_columns
    found = read_for(estimator, path, also, target, *told)
    schema = estimator._fitted.schema
    check_named(found.columns.column_names, target, (), weight, path, groups, time)
    check_not_read(target, schema, groups)
    batch = _labelled(found, target, weight, groups, time)
    others = batch.columns.drop_columns([target, *(name for name in also if name != time or name not in schema.names)])
    batch = replace(batch, columns=model_columns(estimator, others, path))
    _remark_unlabelled(batch, target, common)
    return batch


def _labelled_rows(table: Table, target: str) -> tuple[Table, Codes]:
    """Return the rows with a label, whose column is made plain text, integers or truth values, and their numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from .._arrays import np
    from ..engines.arrow import decoded, missing

    labels = decoded(table.column(target))
    if pa.types.is_temporal(labels.type):
        raise TargetProblem.not_classes(target, f"dates or times ({labels.type})")
    if pa.types.is_nested(labels.type) or pa.types.is_binary(labels.type):
        raise TargetProblem.not_classes(target, f"values of type {labels.type}")
    present = pc.invert(missing(labels))
    rows, labels = table.filter(present), labels.filter(present)
    if not rows.num_rows:
        raise TargetProblem(
            f"Column {target!r} has no label in any of the {table.num_rows} rows. Next: choose another --target."
        )
    if pa.types.is_floating(labels.type) or pa.types.is_decimal(labels.type):
        labels = _whole_numbers(labels, target)
    rows = rows.set_column(rows.schema.get_field_index(target), target, labels)
    return rows, np.flatnonzero(present.to_numpy()) + 1


def _whole_numbers(labels: Column, target: str) -> Column:
    """Return labels that tools store as 1.0, 2.0 because some were missing as the integers they are."""
    import pyarrow as pa

    try:
        return labels.cast(pa.float64()).cast(pa.int64())
    except pa.ArrowInvalid:
        distinct = len(labels.unique())
        what = f"{distinct} different {'number' if distinct == 1 else 'numbers'}, such as {labels[0].as_py()}"
        raise TargetProblem.not_classes(target, what) from None


def group_values(column: Column) -> Column:
    """Return a column that says which rows belong together; dates and times as text."""
    import pyarrow as pa

    from ..engines.arrow import decoded

    values = decoded(column)
    return values.cast(pa.string()) if pa.types.is_temporal(values.type) else values


def group_numbers(training: Training) -> Codes | None:
    """Return the number (n,) of the group of each row, of a row without one its own.

    Without groups it is that of the distinct row where rows are copied, and None where they are not.
    """
    from ..estimators import GenerativeClassifier
    from ..questions.learning_curve import copies
    from ..stats.rows import group_keys, group_numbers as numbered
    from ..table import read_table
    from ..table.labels import read_groups

    keys = group_keys(read_groups(training.groups, training.columns.num_rows), training.columns.column_names)
    if keys is not None:
        return numbered(keys)
    model, table = GenerativeClassifier(), read_table(training.columns)
    begun = model._begin_of(table)
    return copies(begun, begun.batch(table, begun.align(table), training.labels, None))


def time_values(column: Column, order: str | None = None) -> Column:
    """Return when rows were seen, text as moments where all of it is dates of one notation; `order` as declared."""
    import pyarrow.compute as pc

    from ..engines.arrow import decoded, is_text
    from ..engines.calendar import NOTATIONS, moments

    values = decoded(column)
    if not is_text(values.type):
        return values
    values = without_blanks(pc.utf8_trim_whitespace(values.combine_chunks()))
    read = [moments(values, notation) for notation in ([ORDERS[order]] if order else NOTATIONS)]
    known = [own for own in read if own is not None]
    return known[0] if len(known) == 1 else values


def _weights(column: Column, name: str) -> Array:
    from ..engines import weight_values

    values: Array = weight_values(column, name).to_numpy()
    if not values.any():
        raise DataError(f"The weight column {name!r} holds nothing but 0. Next: give a positive weight.")
    return values


def _remark_unlabelled(training: Training, target: str, common: Common) -> None:
    if unlabelled := training.unlabelled:
        have, were = ("has", "was") if unlabelled == 1 else ("have", "were")
        every = len(training.labels) + unlabelled
        common.remark(f"{unlabelled} of {every} rows {have} no {target!r} and {were} left out.")


def _check_columns(columns: Table, target: str) -> None:
    """Refuse columns no model can use, all of them at once, with the options that leave them out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not columns.num_columns:
        raise nothing_left(target)
    fields = list(columns.schema)
    read = pa.types.is_date, pa.types.is_timestamp
    temporal = [
        own for own in fields if pa.types.is_temporal(own.type) and not any(is_one(own.type) for is_one in read)
    ]
    odd = [field for field in fields if pa.types.is_nested(field.type) or pa.types.is_binary(field.type)]
    for found, refusal in ((temporal, SchemaError.temporal), (odd, SchemaError.unsupported)):
        if found:
            told = refusal(found[0].name, found[0].type)
            raise SchemaError(f"{told} On the command line: {drop_flags([field.name for field in found])}")
    numbers = [field.name for field in fields if pa.types.is_floating(field.type)]
    infinite = [name for name in numbers if pc.any(pc.is_inf(columns.column(name))).as_py()]
    if infinite:
        raise DataError.infinite(infinite)


def nothing_left(target: str) -> SchemaError:
    """Return the refusal of a table without a column to learn from."""
    return SchemaError(f"There is no column left to learn {target!r} from. Next: leave fewer out.")


def remark_empty(empty: Sequence[str], columns: int, common: Common) -> None:
    """Say which of so many columns have no value, of which a model can learn nothing; refuse a table of such alone."""
    gone = f"{quoted(empty)} {'has' if len(empty) == 1 else 'have'} no value in any row"
    if empty and len(empty) == columns:
        raise SchemaError(f"{gone}, and there is no other column to learn from. Next: add columns with values.")
    if empty:
        common.remark(f"Note: {gone} and cannot be used.")


def _remark_names(columns: Table, told: Mapping[str, Telling], common: Common) -> None:
    """Warn of columns that look like the name or number of a row: they tell classes apart in these rows only."""
    import pyarrow as pa

    for field in columns.schema:
        why = told[field.name].what if pa.types.is_string(field.type) else ""
        if field.name == "":
            common.remark('The column without a name is used like any other. If it numbers the rows: --drop ""')
        elif why == DATES:
            common.remark(
                f"Column {field.name!r} holds dates, and each one is used as a text of its own. If they only date the "
                f"rows: {drop_flags([field.name])}"
            )
        elif why:
            common.remark(f"Column {field.name!r}: {why}. If it only names the rows: {drop_flags([field.name])}")


FEW_ROWS = 20  # of which too much is different by chance
ALMOST_ALL = 0.5  # a text column with more distinct values than this share of its cells names rows
DATE = r"^\s*\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})\b"
ID = re.compile(
    r"(?i)(?:^|[^a-z])(?:id|ids|no|nr|num|number|key|index|uuid|guid|code)(?:$|[^a-z])|[a-z](?:ID|Id|No|Nr)$"
)


DATES = "dates"


class Telling(NamedTuple):
    """What a column holds that only tells rows apart, "" for nothing, and whether nearly each row has its own value."""

    what: str
    each: bool


def telling_rows_apart(columns: Table) -> dict[str, Telling]:
    """Return of each column what it holds that only tells rows apart."""
    return {name: _telling(name, columns.column(name)) for name in columns.column_names}


def _telling(name: str, cells: Column) -> Telling:
    import pyarrow as pa
    import pyarrow.compute as pc

    from .._arrays import np
    from ..engines.arrow import decoded, is_number, is_text
    from ..stats.dependent_rows import ALL_DIFFER, Cells, name_rows
    from ..table import are_sentences

    known = decoded(cells).drop_null()
    count, text = len(known), is_text(known.type)
    dated = pa.types.is_temporal(known.type) or (text and pc.all(pc.match_substring_regex(known, DATE)).as_py())
    if count and dated:
        return Telling(DATES, False)
    if count <= FEW_ROWS or not (text or is_number(known.type)):
        return Telling("", False)
    values = known.unique()
    each = len(values) >= ALL_DIFFER * count
    if text:
        if len(values) <= ALMOST_ALL * count or are_sentences(values.to_pylist()):
            return Telling("", False)
        whole = len(values) == count
        return Telling("all different" if whole else f"{len(values):,} different texts in {count:,} cells", each)
    is_id = pa.types.is_integer(known.type) and len(values) == count and ID.search(name)
    each = each and bool(is_id or name_rows(Cells(known.to_numpy().astype(np.float64), False)))
    return Telling("whole numbers, all different" if each else "", each)


def automatic_drops(told: Mapping[str, Telling], dialect: Dialect | None) -> dict[str, str]:
    """Return the columns to leave out, and why; without words for what the calendar adds to a column of dates."""
    from ..engines.calendar import added

    found: dict[str, str] = {}
    for name in () if dialect is None else dialect.dates:
        found |= {name: DATES} | dict.fromkeys(added(name), "")
    found = {name: why for name, why in found.items() if name in told}
    return found | {name: own.what for name, own in told.items() if own.what and name not in found}


def identifiers(told: Mapping[str, Telling], dialect: Dialect | None) -> dict[str, str]:
    """Return the columns in which each row has its own value, as an identifier has, and why they count as such."""
    dates = () if dialect is None else dialect.dates  # days, which may all differ
    return {name: own.what for name, own in told.items() if own.each and name not in dates}
