"""Parameters that several commands have, as cyclopts reads them, with their help where that is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number as Between

ColumnName = Annotated[str, Parameter(metavar="COLUMN")]
ColumnNames = Annotated[tuple[ColumnName, ...], Parameter(show_default=False)]
DataPath = Annotated[Path, Parameter(metavar="DATA")]
Missing = Annotated[tuple[str, ...], Parameter(metavar="TEXT", show_default=False)]
ModelPath = Annotated[Path, Parameter(metavar="MODEL")]
NewModel = Annotated[Path, Parameter(name=("--output", "-o"), metavar="MODEL")]
Out = Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="OUT")]
Seed = Annotated[
    int, Parameter(name=("--seed", "--random-state"), metavar="NUMBER", validator=Between(gte=0, lt=2**32))
]
Switch = Annotated[bool, Parameter(show_default=False)]

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
MoreMissing = Annotated[
    Missing,
    Parameter(
        help="Text of a CSV that means a missing cell, such as NA, beside those declared to `suffice fit`; may be "
        "repeated."
    ),
]
Rows = Annotated[
    DataPath,
    Parameter(help="Table with the columns the model was fitted on: .csv, .tsv, .parquet, .arrow, .feather or .ipc."),
]
SavedModel = Annotated[ModelPath, Parameter(help="File that `suffice fit` wrote.")]
Target = Annotated[ColumnName, Parameter(help="Column of class labels.")]
Weight = Annotated[ColumnName | None, Parameter(help="Column of row weights: k means k copies of the row.")]
