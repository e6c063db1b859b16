"""Parameters that several commands have, as cyclopts reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

ColumnName = Annotated[str, Parameter(metavar="COLUMN")]
ColumnNames = Annotated[tuple[ColumnName, ...], Parameter(show_default=False)]
DataPath = Annotated[Path, Parameter(metavar="DATA")]
ModelPath = Annotated[Path, Parameter(metavar="MODEL")]
NewModel = Annotated[Path, Parameter(name=("--output", "-o"), metavar="MODEL")]
Out = Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="OUT")]
Seed = Annotated[
    int, Parameter(name=("--seed", "--random-state"), metavar="NUMBER", validator=Between(gte=0, lt=2**32))
]
Missing = Annotated[tuple[str, ...], Parameter(metavar="TEXT", show_default=False)]
Switch = Annotated[bool, Parameter(show_default=False)]
