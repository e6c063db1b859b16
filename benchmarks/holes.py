"""Tables without missing cells, for generators that know none, and back.

A column of numbers with holes is two: the numbers, with holes filled by known values of the column drawn at random,
and a category that says which were holes; what is drawn gets its holes back by it. A missing category is a level of
its own.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

MISSING, SEED = "(missing)", 0


def without_holes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with columns named by number, and a category `…?` for each column of numbers with holes."""
    rng = np.random.default_rng(SEED)
    columns: dict[str, pd.Series] = {}
    for j, name in enumerate(table):
        column, holes = table[name], table[name].isna()
        if column.dtype != "float64":
            columns[f"c{j}"] = column.astype(object).where(~holes, MISSING).astype(str).astype("category")
        elif holes.any():
            filled = column.to_numpy(copy=True)
            filled[holes] = rng.choice(column[~holes], int(holes.sum()))
            columns[f"c{j}"] = pd.Series(filled, index=table.index)
            columns[f"c{j}?"] = holes.map({True: MISSING, False: "known"}).astype("category")
        else:
            columns[f"c{j}"] = column
    return pd.DataFrame(columns)


def with_holes(drawn: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return drawn rows of such a table as rows of the table itself."""
    columns = {}
    for j, name in enumerate(table):
        column = drawn[f"c{j}"].astype("float64" if table[name].dtype == "float64" else object)
        holes = drawn[f"c{j}?"] == MISSING if f"c{j}?" in drawn else column == MISSING
        columns[name] = column.mask(holes)
    return pd.DataFrame(columns)
