"""Refuse columns that no row has a value of."""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import np
from ..errors import DataError, quoted
from ..estimate import Block
from ..schema import Name, Schema
from ..stats import ByClass


def check_observed(statistics: ByClass, plan: Sequence[Block], schema: Schema) -> None:
    """Raise DataError naming columns without any value."""
    empty: list[Name] = []
    names = schema.names
    for block, stats in zip(plan, statistics.blocks, strict=True):
        observed = stats.column_weight().sum(axis=0)
        empty += [names[block.positions[int(j)]] for j in np.flatnonzero(observed == 0)]
    if empty:
        raise DataError(
            f"{'Column' if len(empty) == 1 else 'Columns'} {quoted(empty)} {'has' if len(empty) == 1 else 'have'} no "
            f"value in any of the {statistics.rows} rows. Next: drop {'it' if len(empty) == 1 else 'them'}."
        )
