"""The rows of a batch that a model can learn from: columns, labels, weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from .._arrays import Array
from ..errors import DataError
from .arrow import Column, Table, decoded, how_many, is_number, missing


@dataclass(frozen=True)
class LabelledRows:
    """Rows of a positive weight, of one batch, and how many had no label: these are left out unless they are kept.

    `columns` is a pyarrow table, `labels` a pyarrow array, `weight` (n,) or None for ones, `groups` an array or None.
    """

    columns: Table
    labels: Column
    weight: Array | None
    unlabelled: int
    groups: Column | None = None

    @classmethod
    def of(
        cls,
        table: Table,
        columns: Sequence[str],
        target: str,
        weight: str | None,
        keep: bool = False,
        groups: str | None = None,
    ) -> LabelledRows:
        """Take apart a batch; DataError for weights that are no weights."""
        labels = decoded(table.column(target))
        absent = how_many(missing(labels))
        weights = None if weight is None else _weights(table.column(weight), weight)
        belong = None if groups is None else decoded(table.column(groups))
        kept = None
        if absent and not keep:
            kept = pc.invert(missing(labels))
        if weights is not None and pc.min(weights).as_py() == 0:
            positive = pc.greater(weights, 0)
            kept = positive if kept is None else pc.and_(kept, positive)
        table = table.select(list(columns))
        if kept is not None:
            table, labels = table.filter(kept), labels.filter(kept)
            weights = None if weights is None else weights.filter(kept)
            belong = None if belong is None else belong.filter(kept)
            absent = how_many(missing(labels)) if keep else absent
        return cls(table, labels, None if weights is None else weights.to_numpy(), absent, belong)


def _weights(column: Column, name: str) -> Column:
    kind = column.type
    if not (is_number(kind) or pa.types.is_decimal(kind)):
        raise DataError(f"The weight column {name!r} has the type {kind}. Next: name a column of numbers.")
    values = column.cast(pa.float64())
    right = pc.fill_null(pc.and_(pc.is_finite(values), pc.greater_equal(values, 0)), False)
    bad = len(values) - how_many(right)
    if bad:
        raise DataError(
            f"The weight column {name!r}: {bad} of {len(values)} cells are missing, infinite or negative; weights "
            "count copies of a row. Next: correct them."
        )
    return values
