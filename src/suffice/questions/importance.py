"""What leaving each column unknown costs the rows kept, each judged without itself; and which columns suffice."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._arrays import Array, Codes, distinct, is_number, np
from .._derived import has_made
from ..errors import SettingError, setting
from ..fitted import Fitted
from ..losses import error_of_choice
from ..schema import Level, Name
from .frames import frame_of
from .held_out import ColumnJudge

SAME, DIGITS = 1e-9, 9  # nats between losses that rounding explains, and how many digits that leaves
BY_COLUMN = 1.0  # nats that a worthless column wins or loses in all rows together: √2 times the spread of ½ χ²₁
SEARCHED = 1000  # rows by which columns are searched for, before all are asked whether these suffice
TRIED = 12  # columns looked at in a step where there are more, those that gained most when last looked at
AT_ONCE = 8  # from so many columns on, an eighth as many are added at once, of many a tenth of the steps


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
        return frame_of(self.to_dict() | {"column": np.array(self.columns, dtype=object)[self.order]})

    def __str__(self) -> str:
        rows = f"{self.rows:,} rows" if self.groups is None else f"{self.rows:,} rows in {self.groups:,} groups"
        head = f"What each column is worth, in nats of a leave-one-out loss of {self.loss:.4f} ({rows})"
        names = [str(name) for name in self.columns]
        width = max(map(len, [*names, "column"]))
        lines = [head, f"{'column':{width}}  {'mean':>9}  {'error':>8}"]
        lines += [
            f"{names[j]:{width}}  {self.mean[j]:+z9.4f}  {self.standard_error[j]:8.4f}" for j in self.order.tolist()
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
    judged, by = judge.judged, judge.by
    whole = judged.losses(by.without(None))
    cost = np.zeros((judge.missing.shape[1], len(whole)))
    for j, empty in enumerate(judge.missing.T):
        if not empty.all():
            cost[j] = np.where(empty, 0.0, judged.losses(by.without(j)) - whole)  # a missing cell costs nothing
    mean, error, rows = judged.mean(cost), judged.error(cost), float(judged.copies.sum())
    costless = (cost == 0.0).all(axis=1)  # as of a column without a cell
    return Importance(
        columns=fitted.schema.names,
        mean=mean,
        standard_error=np.where(costless, error, error_of_choice(error, np.abs(mean), rows, BY_COLUMN)),
        by_class=judged.by_class(cost),
        classes=tuple(fitted.statistics.classes),
        loss=float(judged.mean(whole)),
        rows=round(rows),
        judged_by=by.how,
        groups=None if judged.group is None else len(distinct(judged.group)),
    )


def smallest_columns(fitted: Fitted, within: object) -> list[Name]:
    """Return the names of few columns whose leave-one-out loss is within so many nats of that of all.

    None, where these are not better than the shares of the classes by a standard error. Their gain is multiplied by the
    share of the gain of all columns that is left at settings which other rows chose.
    """
    if not is_number(within) or not 0.0 <= float(within) < np.inf:
        raise SettingError(
            f"{setting('within', within)} must be a number of nats from 0 on, by how much more the columns may lose "
            "than all do. Next: 0.01."
        )
    judge, names = ColumnJudge.of(fitted), fitted.schema.names
    judged, lost = judge.judged, judge.lost
    judges = [judge] if len(judged.codes) <= SEARCHED else [ColumnJudge.of(fitted, SEARCHED), judge]
    few = fewest(names, float(within), [own.loss for own in judges])
    shares = lost(())
    gained = shares - lost(few)
    if judge.by.by_others is not None:
        said = judged.mean(shares - lost(range(len(names))))
        kept = judged.mean(shares - judged.losses(judge.by.by_others))
        gained = gained * np.clip(kept / np.maximum(said, SAME), 0.0, 1.0)
    gain = judged.mean(gained)
    better = gain > error_of_choice(judged.error(gained), gain, float(judged.copies.sum()))
    return [names[j] for j in few] if better else []


def fewest(names: Sequence[Name], within: float, losses: Sequence[Callable[[Sequence[int]], float]]) -> list[int]:
    """Return the numbers of few columns whose loss is within so many nats of that of all, in the order chosen.

    Forward, the column is added that loses least, or of many an eighth as many; after one, one is taken out while fewer
    columns than that lose less than any so many did before (floating search: Pudil, Novovičová & Kittler 1994,
    doi:10.1016/0167-8655(94)90127-9), up to as many as suffice of those missed most among all, as columns are that tell
    something only together. At the end, columns are taken out as long as the loss stays within. Equal losses go by
    name. Of several `losses`, each goes on from the columns that suffice by the one before.
    """
    search, chosen, goal = _Search(names), list[int](), np.inf
    for loss in losses:
        search.turn_to(loss)
        goal = search.loss(range(len(names))) + within + SAME
        best = {len(chosen): search.loss(chosen)}
        enough = search.missed_most(goal) if best[len(chosen)] > goal else chosen
        while best[len(chosen)] > goal and len(chosen) < len(enough):
            new = search.next_of(chosen, 1 + len(chosen) // AT_ONCE)
            chosen = [*chosen, *new]
            size = len(chosen)
            best[size] = min(search.loss(chosen), best.get(size, np.inf))
            if search.loss(chosen) <= goal:
                break
            while len(chosen) > 2 and len(chosen) - 1 in best:
                fewer = search.without_one(chosen, keep=new)
                if search.loss(fewer) >= best[len(fewer)] - SAME:
                    break
                chosen = fewer
                best[len(chosen)] = search.loss(chosen)
        chosen = chosen if search.loss(chosen) <= goal else enough
    needed = set[int]()  # columns missed too much among more than those chosen are missed so among these
    while len(needed) < len(chosen):
        fewer = search.without_one(chosen, keep=needed)
        if search.loss(fewer) > goal:
            fewer = search.without_one(chosen, keep=needed, tried=len(chosen))
        if search.loss(fewer) > goal:
            break
        needed |= search.needed(chosen, goal)
        chosen = fewer
    return chosen


class _Search:
    """Losses of sets of columns, each looked at once."""

    def __init__(self, names: Sequence[Name]) -> None:
        self.by_name = sorted(range(len(names)), key=lambda j: str(names[j]))
        self._gain = dict.fromkeys(self.by_name, np.inf)  # of each column, when last looked at
        self._missed = dict.fromkeys(self.by_name, -np.inf)

    def turn_to(self, loss: Callable[[Sequence[int]], float]) -> None:
        """Go by this loss from now on."""
        self._ask, self._known = loss, dict[frozenset[int], float]()

    def loss(self, columns: Sequence[int] | range) -> float:
        """Return the mean loss in nats by these columns."""
        own = frozenset(columns)
        if own not in self._known:
            self._known[own] = self._ask(sorted(own))
        return self._known[own]

    def missed_most(self, goal: float) -> list[int]:
        """Return as many of the columns that all others miss most as the loss reaches the goal by."""
        every = range(len(self.by_name))
        if np.isneginf(max(self._missed.values(), default=-np.inf)):
            for j in every:
                self._missed[j] = self.loss([i for i in every if i != j]) - self.loss(every)
        order = sorted(self.by_name, key=lambda j: -self._missed[j])
        size = 1
        while self.loss(order[:size]) > goal:
            size = min(2 * size, len(order))
        return order[
            : size // 2 + bisect_left(range(size // 2, size), True, key=lambda m: self.loss(order[:m]) <= goal)
        ]

    def next_of(self, chosen: Sequence[int], count: int) -> list[int]:
        """Return the columns, so many, that each lose least beside those chosen."""
        left = [j for j in self.by_name if j not in chosen]
        if chosen:  # at first all are looked at
            left = sorted(left, key=lambda j: -self._gain[j])[:TRIED]
        before = self.loss(chosen)
        for j in left:
            self._gain[j] = before - self.loss([*chosen, j])
        return sorted((j for j in self.by_name if j in left), key=lambda j: -round(self._gain[j], DIGITS))[:count]

    def needed(self, chosen: Sequence[int], goal: float) -> set[int]:
        """Return the columns without which, of those looked at, the others are beyond the goal."""
        return {j for j in chosen if self._known.get(frozenset(chosen) - {j}, goal) > goal}

    def without_one(self, chosen: Sequence[int], keep: Collection[int] = (), tried: int = TRIED // 2) -> list[int]:
        """Return the columns without the one that is missed least, of so many and none to keep."""
        out = sorted((j for j in chosen if j not in keep), key=lambda j: self._missed[j])[:tried]
        for j in out:
            self._missed[j] = self.loss([i for i in chosen if i != j]) - self.loss(chosen)
        gone = min((j for j in self.by_name if j in out), key=lambda j: round(self._missed[j], DIGITS))
        return [j for j in chosen if j != gone]
