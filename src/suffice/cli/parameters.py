"""Parameters that several commands have, as cyclopts reads them, with their help where that is the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from .files import table_path

Switch = Annotated[bool, Parameter(show_default=False)]
KINDS = "text (.csv, .tsv, .txt), Excel (.xlsx), JSON lines (.jsonl), Parquet or Arrow; - for standard input"
ColumnName = Annotated[str, Parameter(metavar="COLUMN")]
ColumnNames = Annotated[tuple[ColumnName, ...], Parameter(show_default=False)]


DataPath = Annotated[Path, Parameter(metavar="DATA", converter=table_path, allow_leading_hyphen=True)]
DateOrder = Annotated[
    Literal["day-first", "month-first"] | None,
    Parameter(name="--dates", help="What comes first in dates such as 03/04/2026 that do not say it otherwise."),
]
AutoDrop = Annotated[
    Switch,
    Parameter(
        help="Leave out columns that tell rows apart and not classes: row numbers and other ids, names and texts that "
        "are nearly all different, dates. The command says which and why."
    ),
]
Kept = Annotated[
    ColumnNames,
    Parameter(
        name="--keep",
        help="Column to learn from although each row has its own value, as an identifier has; may be repeated. Others "
        "of that sort are left out, and the command says which.",
    ),
]
Sheet = Annotated[
    str | None,
    Parameter(
        name="--sheet",
        metavar="NAME|NUMBER",
        help="Sheet of a workbook; the first that holds such a table if not given.",
    ),
]
IntervalLevel = Annotated[float | None, Parameter(metavar="LEVEL", validator=Between(gt=0, lt=1))]
MissingColumns = Annotated[
    Literal["error", "missing"],
    Parameter(
        name="--missing-columns",
        help="What to do where the table lacks columns of the model: refuse it, or take all their cells as missing.",
    ),
]
Missing = Annotated[tuple[str, ...], Parameter(metavar="TEXT", show_default=False)]
ModelPath = Annotated[Path, Parameter(metavar="MODEL")]
NewModel = Annotated[Path, Parameter(name=("--output", "-o"), metavar="MODEL")]
Out = Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="OUT")]
Seed = Annotated[
    int, Parameter(name=("--seed", "--random-state"), metavar="NUMBER", validator=Between(gte=0, lt=2**32))
]

Answers = Annotated[Out, Parameter(help="File to write, in the format of its ending; CSV on stdout if not given.")]
Edited = Annotated[
    NewModel | None, Parameter(help="File to write the new model to; the old one is replaced if not given.")
]
Force = Annotated[Switch, Parameter(help="Replace a file even if it holds no model, or is named like a table.")]
Labels = Annotated[
    Literal["text", "numbers"] | None,
    Parameter(
        help="What labels of a CSV are: `text`, each different text a class, `001` and `1` too; or `numbers`, whole "
        "numbers. If not given: text, unless the column holds measurements or dates, which are refused."
    ),
]
LeftOut = Annotated[
    ColumnNames, Parameter(help="Column to leave out, such as a row number or a date; may be repeated.")
]
Texts = Annotated[
    ColumnNames,
    Parameter(
        help="Column of texts, whose words are read one by one; may be repeated. If not given: those of text whose "
        "values are many and of several words, but in tables that are read in parts."
    ),
]
KeepSpaces = Annotated[
    Switch,
    Parameter(
        help="Keep spaces around labels, categories and names of columns as part of them; if not given they are taken "
        "away, and the command says where."
    ),
]
Ordered = Annotated[
    tuple[str, ...],
    Parameter(
        metavar="COLUMN=LEVEL,…",
        show_default=False,
        help="Order of a column's categories, from the lowest: `--ordered risk=Low,Medium,High`; may be repeated. "
        "Ordered categories of Arrow and Parquet files are known without. Drawn rows and `suffice show` keep to it.",
    ),
]
Groups = Annotated[
    ColumnName | None,
    Parameter(
        help="Column that says which rows belong together, such as the number of a patient: they leave together "
        "wherever rows are held out. Models do not learn from it."
    ),
]
Time = Annotated[
    ColumnName | None,
    Parameter(
        help="Column that says when rows were seen (numbers, dates, or text that sorts): models learn from the periods "
        "before, and are judged by the next, one after another."
    ),
]
Periods = Annotated[
    int | None,
    Parameter(
        metavar="NUMBER",
        validator=Between(gte=2),
        help="With --time, into how many periods of about as many rows each the times are cut. If not given: each "
        "different time is one, or 10 where there are more than 12.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class TableOptions:
    """How a table that models learn from is read.

    Parameters
    ----------
    missing_text
        Text of a CSV that means a missing cell, such as NA; may be repeated. An empty cell always does; in the target
        nothing else, elsewhere also NA, NaN, null, ? and the like. A model that is saved remembers it.
    """

    drop: LeftOut = ()
    groups: Groups = None
    labels: Labels = None
    missing_text: Missing = ()
    keep_spaces: KeepSpaces = False
    sheet: Sheet = None
    dates: DateOrder = None
    auto_drop: AutoDrop = False
    keep: Kept = ()


AS_IT_IS = TableOptions()

MoreMissing = Annotated[
    Missing,
    Parameter(
        help="Text of a CSV that means a missing cell, such as NA, beside those declared to `suffice fit`; may be "
        "repeated."
    ),
]
Rows = Annotated[DataPath, Parameter(help=f"Table with the columns the model was fitted on: {KINDS}.")]
SavedModel = Annotated[ModelPath, Parameter(help="File that `suffice fit` wrote.")]
Target = Annotated[ColumnName, Parameter(help="Column of class labels.")]
LearnedTarget = Annotated[ColumnName | None, Parameter(help="Column of class labels; the model's own if not given.")]
Weight = Annotated[ColumnName | None, Parameter(help="Column of row weights: k means k copies of the row.")]
