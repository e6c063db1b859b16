"""`suffice look`, `labels` and `cells`: what is in a table, and which of its labels and cells are probably wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import align, count, cut, quoted
from .answers import deliver
from .files import check_output, read_file, without_blanks
from .models import ModelName, make_estimator, remark_left_out, usable_columns
from .output import COMMON, Common, Facts, TargetProblem, UsageProblem, page_width, progress
from .parameters import (
    AS_IT_IS,
    Answers,
    ColumnName,
    DataPath,
    KeepSpaces,
    LeftOut,
    Missing,
    Sheet,
    TableOptions,
    Target,
    Weight,
)
from .rows import cell_as_text
from .training import Training, check_named, identifiers, read_training, telling_rows_apart, training_reading

if TYPE_CHECKING:
    from .._arrays import Array, Codes
    from ..engines.arrow import Column, Table
    from ..estimators.base import GenerativeEstimator
    from ..questions.suspect_cells import SuspectCells
    from ..questions.suspect_labels import JudgedLabels


MOST_CLASSES = 12  # named with their rows
MOST_COLUMNS = 60  # that have a line of their own
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
    """Describe a table before any model is fitted to it: its columns, and what to look at first.

    Of each column its kind, missing cells, distinct values, and range or most common levels. Then what may spoil a
    model: columns that give the class away by themselves, that are constant, nearly empty, copies of each other or
    names of rows; levels that differ only by case or spaces; dates and numbers kept as text; a number that may stand
    for a missing cell; cells missing in one class only; rows alike in time; rows that repeat or contradict each other;
    classes of few rows. Nothing is changed or written. `suffice report` shows the same of what a model has learned,
    with pictures.

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
        told = TableOptions(drop, missing_text=missing_text, keep_spaces=keep_spaces, sheet=sheet)
        X, y = read_columns(data, target, told)
        from ..report.profile import profile_table

        found = profile_table(X, y, data.name)
    text = "\n".join(_told(found, target, page_width()))
    common.answer({"data": str(data), "target": target, **found}, text)


def read_columns(data: Path, target: str | None, told: TableOptions) -> tuple[Table, Column | None]:
    """Return the columns of a table, and its labels if their column is named."""
    read = read_file(data, training_reading(target, told))
    table = read.columns
    check_named(table.column_names, target, told.drop, None, data)
    if target is None:
        return table.drop_columns(list(set(told.drop))), None
    TargetProblem.check(target, read.csv)
    return table.drop_columns(list({target, *told.drop})), without_blanks(table.column(target))


def _told(found: Facts, target: str | None, width: int) -> list[str]:
    """Return the lines that a person reads."""
    columns = found["columns"]
    every = len(columns) + found["columns_left_out"]
    lines = _wrapped(f"{found['of'][0].upper()}{found['of'][1:]}, {count(every, 'column')}.", width)
    if target is not None:
        lines += _wrapped(f"{target}: {_classes(found['classes'])}", width)
    if columns:
        lines += ["", *align(_column_rows(columns[:MOST_COLUMNS]), left=(0, 1, 4), width=width)]
    if every > MOST_COLUMNS:
        lines.append(f"… and {count(every - MOST_COLUMNS, 'more column')}; --json has up to {len(columns):,}")
    if found["holes"]:
        lines += ["", "Missing together:", *_holes(found, width)]
    lines += ["", "What to look at:"]
    for alert in found["alerts"]:
        lines += _wrapped(f"- {alert['text']}", width, "  ")
    return lines if found["alerts"] else [*lines[:-1], "Nothing stands out."]


def _column_rows(columns: Sequence[Facts]) -> list[list[str]]:
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


# ── `suffice labels`: which labels of a table are probably wrong ──────────────────────────────────────────────────────


def labels(
    data: DataPath,
    /,
    *,
    target: Target,
    output: Answers = None,
    fdr: Annotated[float, Parameter(metavar="NUMBER", validator=Between(gt=0, lt=1))] = 0.1,
    model: ModelName = "auto",
    top: Annotated[int, Parameter(metavar="NUMBER", validator=Between(gte=1))] = 3,
    weight: Weight = None,
    table: TableOptions = AS_IT_IS,
    common: Common = COMMON,
) -> None:
    """List the labels of a table that are probably wrong.

    A model is fitted to the table, and each label judged by what the model says of the row had it not learned it. One
    row out per suspect, the worst first: its row number in DATA, from 1, the label given, how probable it is that this
    is wrong (p_wrong), the likeliest other label, and the cells that speak most for that one against the one given,
    each with the logarithm of the odds it adds (in nats). Rows between classes that overlap are no suspects. Rows
    without a label are left out.

    Parameters
    ----------
    data
        Table with one row per case: text (.csv, .tsv, .txt), Excel (.xlsx), JSON lines (.jsonl), Parquet or
        Arrow; - for standard input.
    fdr
        The share of the suspects whose label is expected to be right after all: less of it, fewer suspects.
    model
        What judges; see `suffice fit`. A mixture cannot leave rows out.
    top
        How many cells are named.

    Examples
    --------
    $ suffice labels penguins.csv --target species --fdr 0.1 -o suspects.csv
    """
    from .._arrays import np
    from ..questions.suspect_labels import flag_labels, judge_labels

    _refuse_mixture(model)
    check_output(output, [(data, "table")])
    with progress(common, f"Judging the labels of {data.name}"):
        training = read_training(data, target, table, weight, common)
        used, left_out = usable_columns(model, training.columns)
        columns = training.columns.select(used)
        estimator = make_estimator(model).fit(columns, training.labels, training.weight, training.groups)
        judged = judge_labels(estimator._fitted, columns, training.labels, training.weight, training.groups)
        wrong = judged.wrong
        flagged = np.flatnonzero(flag_labels(wrong, fdr))
        flagged = flagged[np.argsort(-wrong[flagged], kind="stable")]
        answer = _label_suspects(estimator, columns, training, judged, flagged, top)
    remark_left_out(model, left_out, common)
    expected = float(wrong.sum())
    about = f"about {expected:,.0f}" if expected >= 1 else "less than one"
    every = count(len(wrong), "label")
    common.remark(f"Wrong by their probabilities: {about} of {every}; {_suspects(len(flagged), fdr)}.")
    facts = {"judged": len(wrong), "expected_wrong": expected, "fdr": fdr, "classes": estimator.classes_.tolist()}
    deliver(answer, output, common, facts, "suspects")


def _suspects(number: int, fdr: float) -> str:
    return f"{count(number, 'suspect')} (some {100 * fdr:g} % of suspects may be right)" if number else "no suspects"


def _refuse_mixture(model: ModelName) -> None:
    if model == "mixture":
        raise UsageProblem("--model mixture leaves no row out: EM would run again for each. Next: --model auto.")


def _label_suspects(
    estimator: GenerativeEstimator, columns: Table, training: Training, judged: JudgedLabels, flagged: Codes, top: int
) -> Table:
    """Return a row per suspect: number, given label, p(wrong), likeliest other label, and what speaks against it."""
    import pyarrow as pa

    from ..questions.explain import odds_between

    given, other, because = training.labels.take(flagged), judged.likeliest_other()[flagged], list[str]()
    classes = estimator.classes_.tolist()
    if len(flagged):
        rows = columns.take(flagged)
        against = odds_between(estimator.explain(rows), other, judged.codes[flagged])
        because = [
            _because(cells, columns.column_names, row, top)
            for cells, row in zip(rows.to_pylist(), against, strict=True)
        ]
    return pa.table(
        {
            "row": pa.array(training.numbers[flagged], pa.int64()),
            "given": given,
            "p_wrong": pa.array(judged.wrong[flagged], pa.float64()),
            "likeliest_other": pa.array([classes[c] for c in other], given.type),
            "because": pa.array(because, pa.string()),
        }
    )


def _because(cells: dict[str, object], names: list[str], against: Array, top: int) -> str:
    """Return the cells that speak most for the other label, each with the nats that it adds."""
    order = sorted(range(len(names)), key=lambda j: -against[j])[:top]
    told = [j for j in order if against[j] > 0]
    return ", ".join(f"{names[j]}={cut(cell_as_text(cells[names[j]]))} {against[j]:+.2f}" for j in told)


# ── `suffice cells`: which cells of a table are probably wrong ────────────────────────────────────────────────────────


def cells(
    data: DataPath,
    /,
    *,
    target: ColumnName | None = None,
    output: Answers = None,
    fdr: Annotated[float, Parameter(metavar="NUMBER", validator=Between(gt=0, lt=1))] = 0.1,
    model: ModelName = "auto",
    table: TableOptions = AS_IT_IS,
    common: Common = COMMON,
) -> None:
    """List the cells of a table that are probably wrong, and the slip that may explain each.

    Each cell is judged by the other cells of its row, as other rows have them together. One row out per suspect, the
    worst first: its row number in DATA, from 1, its column, its value, what the others lead to expect, the slip that
    may have made it (decimal point, sign, unit, digits, swapped with another column) and the value meant then, its
    p-value, also adjusted for the number of cells, and the cells of the row that speak against it. Rows without a label
    are left out.

    Parameters
    ----------
    data
        Table with one row per case: text (.csv, .tsv, .txt), Excel (.xlsx), JSON lines (.jsonl), Parquet or
        Arrow; - for standard input.
    target
        Column of class labels, within whose classes cells are judged. Without it all rows are of one class.
    fdr
        The share of the suspects that is expected to be right after all: less of it, fewer suspects.
    model
        What judges; see `suffice fit`. A mixture cannot leave rows out.

    Examples
    --------
    $ suffice cells penguins.csv --target species -o suspects.csv
    """
    _refuse_mixture(model)
    check_output(output, [(data, "table")])
    with progress(common, f"Judging the cells of {data.name}"):
        training = (
            _unlabelled(data, table, common) if target is None else read_training(data, target, table, None, common)
        )
        used, left_out = usable_columns(model, training.columns)
        columns = training.columns.select(used)
        estimator = make_estimator(model).fit(columns, training.labels, None, training.groups)
        found = estimator.suspect_cells(columns, training.labels if target else None, training.groups, fdr=fdr)
    remark_left_out(model, left_out, common)
    judged = int((found.p_value >= 0).sum())
    common.remark(f"Judged {count(judged, 'cell')}: {_suspects(len(found.cells), fdr)}.")
    deliver(_cell_suspects(found, columns, training), output, common, {"judged": judged, "fdr": fdr}, "suspects")


def _unlabelled(data: Path, table: TableOptions, common: Common) -> Training:
    """Return the rows of a file as those of one class, without the columns that name them."""
    import pyarrow as pa

    from .._arrays import np

    if table.groups is not None or table.labels is not None:
        raise UsageProblem(
            "--groups and --labels need --target. Next: name the column of class labels, or leave them out."
        )
    columns, _ = read_columns(data, None, table)
    names = [name for name in identifiers(telling_rows_apart(columns), None) if name not in table.keep]
    if names and len(names) < columns.num_columns:
        columns = columns.drop_columns(names)
        common.remark(f"Left out: {quoted(names)}, of which each row has its own value.")
    n = columns.num_rows
    return Training(columns, pa.array(["row"] * n), None, 0, np.arange(1, n + 1))


def _cell_suspects(found: SuspectCells, columns: Table, training: Training) -> Table:
    """Return a row per suspect."""
    import pyarrow as pa

    said = found.to_dict()
    rows = {i: columns.slice(i, 1).to_pylist()[0] for i in set(said["row"])}
    because = [
        ", ".join(f"{name}={cut(cell_as_text(rows[cell.row][name]))}" for name in cell.because) for cell in found.cells
    ]
    answer: Table = pa.table(
        {
            "row": pa.array(training.numbers[said["row"]] if said["row"] else [], pa.int64()),
            "column": pa.array(said["column"], pa.string()),
            **{
                name: pa.array([None if own is None else cell_as_text(own) for own in said[name]], pa.string())
                for name in ("value", "expected", "slip", "meant")
            },
            "p_value": pa.array(said["p_value"], pa.float64()),
            "adjusted": pa.array(said["adjusted"], pa.float64()),
            "because": pa.array(because, pa.string()),
        }
    )
    return answer
