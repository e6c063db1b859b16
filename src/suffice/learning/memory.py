"""Learn from a table in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from .._arrays import np
from ..errors import DataError
from ..fitted import Fitted
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
    check_observed(statistics)
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


def check_observed(statistics: ByClass) -> None:
    """Raise DataError where no column has a value in any row."""
    if not any(stats.column_weight().any() for stats in statistics.blocks):
        raise DataError(
            f"No column has a value in any of the {statistics.rows} rows. Next: give rows with values, or leave these "
            "to partial_fit, which only counts them by class."
        )
