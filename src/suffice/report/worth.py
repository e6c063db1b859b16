"""What each column is worth to the model, as plain values, and the columns in that order."""

from __future__ import annotations

from typing import Any

from .._arrays import np
from ..errors import SufficeError
from ..plots._model import learned
from ..plots._view import View
from ..schema import column_name

MOST_JUDGED = 100  # columns, of which each is left out in turn; of more the page has what they tell by themselves
MOST_ROWS_OF_FOLDS = 1000  # kept, above which models of folds are not asked for each column
HALF = 1.959964  # standard errors on each side: 95 %


def by_worth(view: View) -> list[int]:
    """Return all columns, those first that are worth most; those that cannot be known by themselves last."""
    found = costs(view)
    if found is not None:
        return [int(p) for p in found.order]
    ranked = view.ranked(view.by_themselves, view.rows())
    return ranked + sorted(set(range(len(view.schema))) - set(ranked))


def collect_worth(view: View, most: int = 60) -> dict[str, Any] | None:
    """Return what columns are worth, most first: `columns`, `by` and how many are `left_out`; None of a single column.

    By "cost": what leaving a column unknown costs in nats of log-loss, with `low` and `high` its 95 % interval; or by
    "alone", where that would take long: how much a cell by itself gains in log p(class) on average, never below 0.
    """
    if len(view.schema) < 2 or len(view.classes) < 2:
        return None
    found, columns = costs(view), list[dict[str, Any]]()
    if found is None:
        alone = view.told(view.by_themselves, view.rows())
        order = view.ranked(view.by_themselves, view.rows())
        columns += [{"name": _name(view, p), "value": max(alone[p], 0.0)} for p in order[:most]]
    else:
        for p in found.order[:most].tolist():
            value, error = float(found.mean[p]), HALF * float(np.nan_to_num(found.standard_error[p]))
            columns.append({"name": _name(view, p), "value": value, "low": value - error, "high": value + error})
    if not columns:
        return None
    ends = [own.get(name, own["value"]) for own in columns for name in ("low", "value", "high")]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    return {
        "by": "alone" if found is None else "cost",
        "columns": columns,
        "left_out": len(view.schema) - len(columns),
        "low": low,
        "high": high if high > low else low + 1.0,
    }


def costs(view: View) -> Any:
    """Return the model's `importance()`, None where it cannot be had or takes long."""
    sample = view.fitted.statistics.sample
    if len(view.schema) > MOST_JUDGED or sample is None:
        return None
    try:
        if not learned(view.estimator).tells_columns and len(sample.codes) > MOST_ROWS_OF_FOLDS:
            return None
        return view.estimator.importance()
    except SufficeError:
        return None


def _name(view: View, position: int) -> str:
    return column_name(view.schema.columns[position].name)
