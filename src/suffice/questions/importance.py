"""What leaving each column unknown costs the rows kept, each judged without itself; and which columns suffice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .._arrays import Array, Codes, is_number, np
from .._derived import has_made
from ..errors import SettingError
from ..fitted import Fitted
from ..schema import Kind, Level, Name
from ..table.writing import NewColumn, make_table
from ..tasks import importance as tasks
from .judge_columns import ColumnJudge


@dataclass(frozen=True, eq=False)
class Importance:
    """What leaving each column unknown costs, in nats of leave-one-out log-loss.

    Attributes
    ----------
    columns : tuple
        Names (d,), in the order of the model's columns.
    mean : array (d,)
        The mean cost over the rows; below 0 where the model does better without the column.
    standard_error : array (d,)
        That of the mean, from the differences of the same rows. They have made the model that they judge, so that it
        is √(e² (1 + c) + (1 / n)²): e that of n independent rows, c = min(1, 2 / (n |mean|)) how much may be chance.
    by_class : array (k, d)
        The mean cost over the rows of each class, in the order of `classes`; not a number where no row is judged.
    classes : tuple
        Labels (k,).
    loss : float
        The mean loss with all columns, in nats.
    rows : int
        How many rows were judged.
    judged_by : str
        How a row is left out, and what stays as all columns have made it.
    groups : int or None
        Of how many groups the rows are, where they were learned with `groups=`: whole groups leave, and the standard
        error is that of groups drawn whole. None without.
    """

    columns: tuple[Name, ...]
    mean: Array
    standard_error: Array
    by_class: Array = field(repr=False)
    classes: tuple[Level, ...]
    loss: float
    rows: int
    judged_by: str
    groups: int | None = None

    @property
    def order(self) -> Codes:
        """The numbers (d,) of the columns, the dearest first; equal ones in order of their names."""
        by_name = np.argsort(np.argsort([str(name) for name in self.columns], kind="stable"), kind="stable")
        return np.lexsort((by_name, -self.mean))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a table as lists by name, the dearest column first: column, mean, standard_error, one per class."""
        order = self.order
        return {
            "column": [self.columns[j] for j in order.tolist()],
            "mean": self.mean[order].tolist(),
            "standard_error": self.standard_error[order].tolist(),
            **{f"mean[{label}]": own[order].tolist() for label, own in zip(self.classes, self.by_class, strict=True)},
        }

    def to_frame(self) -> Any:
        """Return the same table as a data frame: of pandas, or of another library that is there; else as an array."""
        columns = []
        for name, values in self.to_dict().items():
            kind = Kind.CATEGORICAL if name == "column" else Kind.NUMERIC
            columns.append(NewColumn(name, kind, np.array(values, dtype=object if name == "column" else np.float64)))
        return make_table("pandas", True, columns)

    def __str__(self) -> str:
        rows = f"{self.rows:,} rows" if self.groups is None else f"{self.rows:,} rows in {self.groups:,} groups"
        head = f"What each column is worth, in nats of a leave-one-out loss of {self.loss:.4f} ({rows})"
        names = [str(name) for name in self.columns]
        width = max(map(len, [*names, "column"]))
        lines = [head, f"{'column':{width}}  {'mean':>9}  {'error':>8}"]
        lines += [
            f"{names[j]:{width}}  {self.mean[j]:+9.4f}  {self.standard_error[j]:8.4f}" for j in self.order.tolist()
        ]
        return "\n".join(lines)

    __repr__ = __str__


def importance(fitted: Fitted) -> Importance:
    """Return what each column is worth, made once for what was learned."""
    return fitted.memoize(_importance)


def is_known(fitted: Fitted) -> bool:
    """Return whether that was asked before."""
    return has_made(fitted, _importance)


def _importance(fitted: Fitted) -> Importance:
    judge = ColumnJudge.of(fitted)
    by, names = judge.by, fitted.schema.names
    whole = by.without(None)
    mean, error, by_class = tasks.costs(judge.judged, whole, by.without, judge.missing)
    loss, rows = float(judge.judged.mean(judge.judged.losses(whole))), round(float(judge.judged.copies.sum()))
    group = judge.judged.group
    groups = None if group is None else len(np.unique(group))
    return Importance(names, mean, error, by_class, tuple(fitted.statistics.classes), loss, rows, by.how, groups)


def smallest_columns(fitted: Fitted, within: object) -> list[Name]:
    """Return the names of few columns whose leave-one-out loss is within so many nats of that of all.

    None, where these are not better than the shares of the classes by a standard error.
    """
    if not is_number(within) or not 0.0 <= float(within) < np.inf:
        raise SettingError(
            f"within={within!r} must be a number of nats from 0 on, by how much more the columns may lose than all do. "
            "Next: 0.01."
        )
    judge = ColumnJudge.of(fitted)

    def lost(columns: Sequence[int]) -> Array:
        return judge.judged.losses(judge.by.log_posterior(sorted(columns)))

    names = fitted.schema.names
    few = tasks.fewest(names, lambda columns: float(judge.judged.mean(lost(columns))), float(within))
    if few and not tasks.is_better(judge.judged, lost(few), lost(())):
        return []
    return [names[j] for j in few]
