"""What cells say for one class against others: contributions of rows, and effects of values, as every picture has them.

Both are differences of contributions as `explain` gives them, so that they add up, with the priors, to log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Array, Codes, np
from ..errors import DataError, SettingError, quoted
from ..fitted import Fitted
from ..schema import Level
from ._cells import take
from ._style import brief
from ._view import Axis, Rows, View

MOST_ROWS = 200  # explained for a picture of many rows
LEAST_ROWS = 40
MOST_NUMBERS = 12_000  # rows × columns × classes: the automatic classifier takes a second or so for as many


@dataclass(frozen=True, slots=True)
class Sides:
    """The number of the class that is spoken for, and that of the one it is held against; None: all, on average."""

    label: int
    against: int | None

    def of(self, scores: Array) -> Array:
        """Return how much scores (…, k), each less its mean over classes, speak for one side; 0 where none speaks."""
        own = scores[..., self.label]
        if self.against is None:
            return own
        other = scores[..., self.against]
        with np.errstate(invalid="ignore"):
            return np.where(own == other, 0.0, own - other)  # also where both are ruled out

    def words(self, classes: list[Level]) -> str:
        """Return who is held against whom."""
        return f"{brief(classes[self.label])} against {self.other(classes)}"

    def other(self, classes: list[Level]) -> str:
        """Return against whom."""
        return "all on average" if self.against is None else brief(classes[self.against])


def choose_sides(view: View, label: Level | None, against: Level | None) -> Sides:
    """Return both sides: by default the second of two classes against the first, or the commonest against all.

    SettingError where a class is not known, or is held against itself; DataError where there is only one.
    """
    if len(view.classes) < 2:
        raise DataError("The model has one class, so nothing speaks for it against another. Next: fit two or more.")
    two = len(view.classes) == 2
    if label is None and against is not None and two:
        own = 1 - class_number(view, against, "against")
    elif label is None:
        own = 1 if two else int(np.argmax(view.estimator.priors_))
    else:
        own = class_number(view, label, "label")
    other = (1 - own if two else None) if against is None else class_number(view, against, "against")
    if own == other:
        raise SettingError(f"{against!r} cannot be held against itself. Next: give two different classes.")
    return Sides(own, other)


def class_number(view: View, label: Level, setting: str) -> int:
    """Return the number of a class; SettingError if there is none of that name."""
    known = [
        c for c, own in enumerate(view.classes) if own == label and isinstance(own, bool) == isinstance(label, bool)
    ]
    if not known:
        raise SettingError(f"{setting}={label!r} is not a class. Next: use one of {quoted(view.classes)}.")
    return known[0]


def centred(log_p: Array) -> Array:
    """Return logarithms (…, k) less their mean over the classes that are possible at all."""
    possible = np.isfinite(log_p)
    count = np.maximum(possible.sum(-1, keepdims=True), 1)
    return np.asarray(log_p - (np.where(possible, log_p, 0.0) / count).sum(axis=-1, keepdims=True))


# --- values ---------------------------------------------------------------------------------------------------------


def effect(view: View, axis: Axis) -> Array:
    """Return what the cells of an axis say for each class by themselves (m, k), in nats, less their mean over classes.

    That is log p(cell | class), all other columns integrated out; a class that a cell rules out has −∞. Of a pool it is
    its joint model that says so.
    """
    return centred(view.log_density([axis]))


# --- rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """Rows, and how much each of their cells speaks for each class: `contributions` (n, d, k) in nats."""

    rows: Rows
    contributions: Array


def explained(view: View, X: object = None) -> Explained:
    """Return some rows of a table, or of those that the model keeps, and what their cells say.

    Up to 200 rows at even steps, fewer of many columns or classes, the same ones every time. DataError where there is
    no row.
    """
    if X is not None:
        return _explained(view, X, np.arange(view.aligned(X)[0].rows))
    known = view.fitted.memoize(_nothing_explained)
    if not known:
        table, _, sample = view.kept()
        every = np.repeat(np.arange(len(sample.codes)), np.maximum(np.round(sample.copies), 1).astype(np.intp))
        known.append(_explained(view, table, every))
    return known[0]


def _explained(view: View, X: Any, index: Codes) -> Explained:
    """Return what is said of the rows of a table that have these numbers, rows that occur again explained once."""
    if not len(index):
        raise DataError("There is no row to draw. Next: give at least one.")
    most = int(np.clip(MOST_NUMBERS // (len(view.schema) * len(view.classes)), LEAST_ROWS, MOST_ROWS))
    if len(index) > most:
        index = index[np.unique(np.linspace(0, len(index) - 1, most).astype(np.intp))]
    distinct, place = np.unique(index, return_inverse=True)
    rows = view.rows(take(X, index))
    assert rows is not None
    return Explained(rows, np.asarray(view.estimator.explain(take(X, distinct)))[place])


def _nothing_explained(fitted: Fitted) -> list[Explained]:
    """Return where a value keeps what the cells of its rows say."""
    return []
