"""Engines: read a table in parts, summarise each by one kernel, merge the states in a fixed order.

The kernel (a pyarrow table → a state that merges) comes from outside: an engine knows no distribution.
"""

from __future__ import annotations

from .._dialect import Remark
from .csv_table import CsvTable, Reading, as_written
from .fold import Fold, Kernel, State, learn_part
from .local import Progress, Watcher, answer, learn
from .opening import engine_of, open_source
from .rows import LabelledRows
from .sources import Source
from .writing import answers_table, write_tables, written_whole

__all__ = [
    "CsvTable",
    "Fold",
    "Kernel",
    "LabelledRows",
    "Progress",
    "Reading",
    "Remark",
    "Source",
    "State",
    "Watcher",
    "answer",
    "answers_table",
    "as_written",
    "engine_of",
    "learn",
    "learn_part",
    "open_source",
    "write_tables",
    "written_whole",
]
