"""Tables that commands read in parts: folders, patterns, and files too large to be worth holding in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import check_readable, file_format
from .output import Common, rows_progress
from .problems import ColumnProblem, TargetProblem
from .training import Training

LARGE = 1 << 28  # bytes of a file that is then read in parts


def is_many(data: Path) -> bool:
    """Return whether a name means a folder or a pattern, not one file."""
    return data.is_dir() or (not data.exists() and any(mark in str(data) for mark in "*?["))


def is_large(data: Path) -> bool:
    """Return whether one file is so large that it is better read in parts."""
    return data.is_file() and data.stat().st_size > LARGE


def comes_in_parts(data: Path) -> bool:
    """Return whether a table to be answered for is read in parts: all but one CSV file, whose cells say its types."""
    return is_many(data) or (data.is_file() and file_format(data) != "CSV") or is_large(data)


@dataclass(frozen=True, slots=True)
class Declared(Training):
    """What the types of a table in parts say, before a row is read; `columns` has no row."""

    @property
    def numeric(self) -> list[str]:
        """The names of the columns that a Gaussian can learn from."""
        from ..table import read_schema

        return [str(column.name) for column in read_schema(self.columns).columns if column.kind.is_number]


def declared(data: Path, target: str, drop: Sequence[str], weight: str | None) -> Declared:
    """Return the columns of a table in parts that a model may learn from."""
    from ..engines import open_source

    if not is_many(data):
        check_readable(data)
    source = open_source(data)
    names = list(source.schema.names)
    for wanted, role in ((target, "for --target"), *((name, "for --drop") for name in drop)):
        if wanted not in names:
            raise ColumnProblem.absent([wanted], names, data, role)
    if weight is not None and weight not in names:
        raise ColumnProblem.absent([weight], names, data, "for --weight")
    used = [name for name in names if name not in {target, weight, *drop}]
    if not used:
        raise ColumnProblem.nothing_left(target)
    return Declared(source.declared(used), None, None, 0)


def learn(estimator: Any, data: Path, target: str, common: Common, **told: Any) -> tuple[int, int]:
    """Fit to a table in parts; return the number of rows learned and of those without a label."""
    with rows_progress(common, f"Learning from {data.name}") as watch:
        estimator.fit_table(data, target, unlabelled="skip", progress=watch, **told)
    labels, rows = estimator.classes_.tolist(), estimator.statistics_.rows
    if len(labels) == 1:
        raise TargetProblem.one_class(target, labels[0], rows)
    return rows, estimator._unlabelled_rows
