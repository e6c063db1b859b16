"""Engines: read a table in parts, summarise each by one kernel, merge the states in a fixed order.

The kernel (a pyarrow table → a state that merges) comes from outside: an engine knows no distribution.
"""

from __future__ import annotations

from .._dialect import Remark as Remark
from .arrow import as_written as as_written
from .csv_inference import of_spaces as of_spaces
from .csv_table import CsvTable as CsvTable, Reading as Reading
from .csv_text import remark as remark
from .files import answers_table as answers_table, write_csv as write_csv, write_tables as write_tables
from .local import (
    Fold as Fold,
    Kernel as Kernel,
    LabelledRows as LabelledRows,
    Progress as Progress,
    State as State,
    Watcher as Watcher,
    answer as answer,
    learn as learn,
    weight_values as weight_values,
)
from .sources import Source as Source, engine_of as engine_of, open_source as open_source
