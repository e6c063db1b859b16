"""Learn from a table in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from .._arrays import np
from ..errors import DataError, quoted
from ..estimate import Block
from ..fitted import Fitted
from ..schema import Name, Schema
from ..stats import ByClass
from ..stats.batch import Batch
from ..table import Table
from ..table.labels import label_name
from .unlabelled import join_unlabelled, joined_notes

F = TypeVar("F", bound=Fitted)


def fit(begun: F, table: Table, y: object, sample_weight: object, groups: object = None) -> F:
    """Return what is learned from all rows of a table; `begun` has its schema and blocks, and no statistics."""
    batch = begun.batch(table, range(len(table.schema)), y, sample_weight, "em", groups)
    objects = isinstance(y, np.ndarray) and y.dtype == object
    return learn(begun.with_past(object_labels=objects, target=label_name(y)), batch)


def learn(begun: F, batch: Batch) -> F:
    """Return what is learned from encoded rows; those without a label join by EM, or are kept where a model does so."""
    absent = int((batch.codes < 0).sum())
    labelled = batch if not absent or begun.keeps_unlabelled else batch.split()[0]
    statistics = begun.summarize(labelled)
    check_observed(statistics, begun.blocks, begun.schema)
    fitted = begun.with_statistics(statistics, late=True)
    if absent and begun.keeps_unlabelled:
        fitted = fitted.with_past(unlabelled=absent)
    elif absent:
        joined = fitted.join(batch) or fitted.with_steps(join_unlabelled(fitted, batch))
        statistics = replace(joined.statistics, sample=statistics.sample)
        fitted = fitted.with_statistics(statistics, chosen=fitted.choices).with_past(
            joined=True, steps=joined.steps, unlabelled=absent, notes=tuple(joined_notes(joined, absent))
        )
    fitted.estimate_now()  # what cannot be estimated is said here
    return fitted


def check_observed(statistics: ByClass, plan: Sequence[Block], schema: Schema) -> None:
    """Raise DataError naming columns without any value."""
    found: list[Name] = []
    names = schema.names
    for block, stats in zip(plan, statistics.blocks, strict=True):
        observed = stats.column_weight().sum(axis=0)
        found += [names[block.positions[int(j)]] for j in np.flatnonzero(observed == 0)]
    empty = list(dict.fromkeys(found))  # a column may be in several blocks
    if empty:
        raise DataError(
            f"{'Column' if len(empty) == 1 else 'Columns'} {quoted(empty)} {'has' if len(empty) == 1 else 'have'} no "
            f"value in any of the {statistics.rows} rows. Next: drop {'it' if len(empty) == 1 else 'them'}."
        )
