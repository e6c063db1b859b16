"""`suffice look`: what is in a table, before any model is fitted to it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import align, visible
from .files import read_file
from .output import COMMON, Common, Facts, page_width, print_json, progress
from .parameters import ColumnName, DataPath, KeepSpaces, LeftOut, Missing, Sheet
from .problems import TargetProblem, count
from .training import check_named

if TYPE_CHECKING:
    from ..engines.arrow import Column, Table

MOST_CLASSES = 12  # named with their rows
MOST_HOLES = 5  # sets of missing cells that are listed


def look(
    data: DataPath,
    /,
    *,
    target: ColumnName | None = None,
    drop: LeftOut = (),
    missing_text: Missing = (),
    keep_spaces: KeepSpaces = False,
    sheet: Sheet = None,
    common: Common = COMMON,
) -> None:
    """Say what is in a table before any model is fitted to it: its columns, and what to look at first.

    Of each column its kind, missing cells, distinct values, and range or most common levels. Then what may spoil a
    model: columns that give the class away by themselves, that are constant, nearly empty, copies of each other or
    names of rows; levels that differ only by case or spaces; dates and numbers kept as text; a number that may stand
    for a missing cell; cells missing in one class only; rows that repeat or contradict each other; classes of few rows.
    Nothing is changed or written. `suffice report` shows the same of what a model has learned, with pictures.

    Parameters
    ----------
    data
        Table with one row per case: text (.csv, .tsv, .txt), Excel (.xlsx), JSON lines (.jsonl), Parquet or Arrow; or
        `-` for standard input.
    target
        Column of class labels. Without it what goes by classes is left out.
    missing_text
        Text of a CSV that means a missing cell, such as NA; may be repeated. An empty cell always does; in the target
        nothing else, elsewhere also NA, NaN, null, ? and the like.

    Examples
    --------
    $ suffice look penguins.csv --target species
    """
    with progress(common, f"Looking at {data.name}"):
        X, y = _read(data, target, drop, missing_text, keep_spaces, sheet)
        from ..report.profile import profile_table

        found = profile_table(X, y, data.name)
    if common.json:
        print_json({"data": str(data), "target": target, **found})
    else:
        print(visible("\n".join(_told(found, target, page_width()))))


def _read(
    data: Path, target: str | None, drop: Sequence[str], missing: Sequence[str], keep_spaces: bool, sheet: str | None
) -> tuple[Table, Column | None]:
    """Return the columns of a table, and its labels if their column is named."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..engines import Reading

    left_out = frozenset(drop)
    texts: Facts = {"blank": tuple(missing), "trim": not keep_spaces, "sheet": sheet}
    read = read_file(data, Reading(target=target, as_is=lambda name: name in left_out, **texts))
    table, names = read.columns, read.columns.column_names
    check_named(names, names[0] if target is None else target, drop, None, data)
    if target is None:
        return table.drop_columns(list(set(drop))), None
    if read.csv is not None and read.csv.measured:
        raise TargetProblem.measured(target, read.csv.measured)
    labels = table.column(target)
    if pa.types.is_string(labels.type):
        labels = pc.if_else(pc.equal(labels, ""), pa.scalar(None, pa.string()), labels)
    return table.drop_columns(list({target, *drop})), labels


def _told(found: Facts, target: str | None, width: int) -> list[str]:
    """Return the lines that a person reads."""
    columns = found["columns"]
    lines = _wrapped(f"{found['of'][0].upper()}{found['of'][1:]}, {count(len(columns), 'column')}.", width)
    if target is not None:
        lines += _wrapped(f"{target}: {_classes(found['classes'])}", width)
    if columns:
        lines += ["", *align(_rows(columns), left=(0, 1, 4), width=width)]
    if found["columns_left_out"]:
        lines.append(f"… and {count(found['columns_left_out'], 'more column')}")
    if found["holes"]:
        lines += ["", "Missing together:", *_holes(found, width)]
    lines += ["", "What to look at:"]
    for alert in found["alerts"]:
        lines += _wrapped(f"- {alert['text']}", width, "  ")
    return lines if found["alerts"] else [*lines[:-1], "Nothing stands out."]


def _rows(columns: Sequence[Facts]) -> list[list[str]]:
    rows = [["column", "kind", "missing", "distinct", "holds"]]
    for own in columns:
        missing = "" if own["missing"] is None else _share(own["missing"])
        distinct = "" if own["distinct"] is None else f"{own['distinct']:,}{'' if own['distinct_exact'] else '+'}"
        rows.append([own["name"], own["kind"], missing, distinct, own["says"]])
    return rows


def _classes(classes: Sequence[Facts]) -> str:
    """Return the classes with how many rows each has."""
    order = sorted(classes, key=lambda own: (own["color"] is None, -own["weight"]))
    names = [f"{own['label']} {own['weight']:,.0f}" for own in order[:MOST_CLASSES]]
    return ", ".join(names)


def _holes(found: Facts, width: int) -> list[str]:
    """Return the commonest sets of missing cells, a line each."""
    holes, lines = found["holes"], []
    for own in holes["patterns"][:MOST_HOLES]:
        names = [found["columns"][j]["name"] for j, gone in zip(holes["columns"], own["missing"], strict=True) if gone]
        names += [count(own["others"], "other column")] if own["others"] else []
        lines += _wrapped(f"- {', '.join(names)}: {count(own['rows'], 'row')}", width, "  ")
    return lines


def _share(p: float) -> str:
    if not p:
        return "–"
    return "< 0.1 %" if p < 0.001 else f"{100 * p:.1f} %"


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Return a text in lines of at most so many characters."""
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
