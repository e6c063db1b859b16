"""What there is to say of a fitted model, as plain values that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from .._arrays import Array, np
from ..errors import SufficeError
from ..fitted import Fitted
from ..notes import details, to_know
from ..plots._style import color
from ..plots._view import Rows, View, in_words, percent
from ..questions.quality import Quality, quality
from ..questions.recorded import recorded
from ..schema import column_name

MOST_COLUMNS = 40
ON_CARDS = 6  # columns on the card of a class, those that tell most
MIDDLE = 0.68
MOST_PAIRS = 6  # of classes taken for one another
MOST_JUDGED = 100  # columns, of which each is left out in turn; of more the page has what they tell by themselves
MOST_ROWS_OF_FOLDS = 1000  # kept, above which models of folds are not asked for each column
HALF = 1.959964  # standard errors on each side: 95 %
FINE, COARSE = 1201, 301  # cells of a range that ends are read off; coarse where a density takes long


def collect_facts(estimator: object) -> dict[str, Any]:
    """Return what there is to say of a fitted model: model, size, settings, quality, classes, columns, notes, members.

    `quality` has the values of the model's `quality()`, on rows that it had not seen: `accuracy`, `log_loss` in nats,
    the `baseline` that the shares of the classes alone give, and so on; `shown` are these as text.
    Where it cannot be had, `quality` is {"why_not": reason}.

    Examples
    --------
    >>> from suffice import GaussianDiscriminant
    >>> from suffice.report import collect_facts
    >>> from sklearn.datasets import load_iris
    >>> facts = collect_facts(GaussianDiscriminant(shared=True).fit(*load_iris(return_X_y=True)))
    >>> facts["model"], facts["rows"], facts["quality"]["accuracy"]
    ('GaussianDiscriminant', 150, 0.98)
    """
    view = View(estimator)
    rows = view.rows()
    statistics = view.fitted.statistics
    positions = view.informative(MOST_COLUMNS, rows)
    past = view.fitted.past
    return {
        "model": type(estimator).__name__,
        "target": past.target,
        "source": past.source,
        "settings": _settings(estimator),
        "rows": int(statistics.rows),
        "kept_rows": 0 if statistics.sample is None else int(statistics.sample.copies.sum()),
        "quality": _quality(view),
        "classes": _classes(view),
        "columns": _columns(view, rows, positions),
        "telling": [positions.index(p) for p in by_worth(view) if p in positions][:ON_CARDS],
        "columns_left_out": len(view.schema) - len(positions),
        "notes": to_know(view.fitted.notes),
        "details": details(view.fitted.notes),
        "members": _members(view),
    }


def _settings(model: Any) -> dict[str, str]:
    """Return the settings that are not the default, as a person would write them."""
    default, own = (each.get_params(deep=False) for each in (type(model)(), model))
    return {name: repr(value) for name, value in own.items() if repr(value) != repr(default[name])}


def _quality(view: View) -> dict[str, Any]:
    try:
        return plain_quality(quality(view.fitted))
    except SufficeError as error:
        return {"why_not": str(error)}


def plain_quality(found: Quality) -> dict[str, Any]:
    """Return a quality as plain values, with its figures as they are `shown` and `how` rows were judged.

    `weakest` is the class of which the least share is found; None where no row has a class.
    """
    weakest = None
    if not np.isnan(found.recall).all():
        c = int(np.nanargmin(found.recall))
        weakest = {"label": str(found.classes[c]), "recall": float(found.recall[c])}
    figures = {"shown": dict(found.figures()), "how": found.how}
    return found.to_dict() | figures | {"confused": _confused(found), "weakest": weakest}


def _confused(found: Quality) -> list[dict[str, Any]]:
    """Return the pairs of classes of which most rows are taken for one another, with how many and their share."""
    wrong = np.array(found.confusion)
    whole = wrong.sum(axis=1)
    np.fill_diagonal(wrong, 0)
    pairs = [(int(wrong[i, j]), i, j) for i, j in zip(*np.nonzero(wrong), strict=True)]
    pairs.sort(key=lambda own: (-own[0], own[1], own[2]))
    labels = [str(label) for label in found.classes]
    return [
        {"true": labels[i], "answered": labels[j], "rows": n, "of": int(whole[i]), "share": n / int(whole[i])}
        for n, i, j in pairs[:MOST_PAIRS]
    ]


def _classes(view: View) -> list[dict[str, object]]:
    weights = view.fitted.statistics.weight.tolist()
    counted = all(weight == round(weight) for weight in weights)
    return [
        {
            "label": str(label),
            "weight": weight,
            "rows": f"{weight:,.6g}" if counted else None,
            "prior": float(prior),
            "color": color(c),
        }
        for c, (label, weight, prior) in enumerate(zip(view.classes, weights, view.estimator.priors_, strict=True))
    ]


def _columns(view: View, rows: Rows | None, positions: Sequence[int]) -> list[dict[str, object]]:
    """Return one entry per column: its kind, how much is missing, and what each class expects of it."""
    found, told = [], recorded_columns(view.fitted)
    fine = COARSE if view.by_forest else FINE
    for position in positions:
        column, axis = view.schema.columns[position], view.axis(position, rows)
        if axis.levels is None and not axis.whole:  # three times as long: next to nothing of a class lies beyond
            length = axis.high - axis.low
            axis = axis.between(axis.low - length, axis.high + length, fine - 1)
        p = np.exp(view.log_density([axis]))
        missing = None if rows is None else float(np.isnan(view.cells(rows, position)).mean())
        entry: dict[str, object] = {"name": str(column.name), "kind": column.kind.value, "missing": missing}
        if axis.levels is None:
            ends = _middle(axis.at, p)
            own = told.get(position, {})
            says = axis.says if axis.dated else partial(in_steps, own=own)
            cells = [f"{says(low)} to {says(high)}" for low, high in ends]
        else:
            best = p.argmax(axis=0)
            cells = [f"{axis.levels[i]} ({percent(p[i, c])})" for c, i in enumerate(best)]
        found.append(entry | {"says": "middle 68 %" if axis.levels is None else "most probable", "cells": cells})
    return found


def _middle(at: Array, p: Array) -> list[tuple[float, float]]:
    """Return the ends of the middle 68 % of each class."""
    ends = []
    for own in p.T:
        below = np.cumsum(own) / own.sum() if own.sum() > 0 else np.linspace(0, 1, len(own))
        places = np.searchsorted(below, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2])
        low, high = at[np.minimum(places, len(at) - 1)]
        ends.append((float(low), float(high)))
    return ends


def _members(view: View) -> list[dict[str, Any]]:
    """Return the members of an automatic classifier, heaviest first; none of other models."""
    found: list[dict[str, Any]] = []
    for member in [] if view.fitted.pool is None else view.estimator.members_:
        setting = member["setting"]
        words = str(setting)
        if all(isinstance(value, int | float) for value in setting.values()):
            words = ", ".join(f"{key} = {'∞' if value == np.inf else f'{value:.4g}'}" for key, value in setting.items())
        numbers = {key: float(member[key]) for key in ("loss", "weight", "share")}
        found.append({"name": str(member["name"]), "setting": words} | numbers)
    return sorted(found, key=lambda member: -member["share"])


# --- how numbers were recorded ---


def recorded_columns(fitted: Fitted) -> dict[int, dict[str, float]]:
    """Return by position how the numbers of a column were recorded: step (NaN for none), phase, decimals, low, high."""
    asked = fitted.joint_value
    return {
        position: {name: getattr(own, name)[j].item() for name in ("step", "phase", "decimals", "low", "high")}
        for block, own in zip(asked.blocks, recorded(asked) or (), strict=False)
        if own is not None
        for j, position in enumerate(block.positions)
    }


def in_steps(value: float, own: Mapping[str, float]) -> str:
    """Return a number as its column records them: in whole steps and within bounds, with as many decimals."""
    step, decimals = own.get("step", np.nan), int(own.get("decimals", -1))
    if not np.isfinite(step) or decimals < 0 or abs(value) >= 1e15:
        return in_words(value)
    near = own["phase"] + round((value - own["phase"]) / step) * step
    near = min(max(near, own["low"]), own["high"]) + 0.0
    text = f"{near:.{decimals}f}"
    return text if len(text.lstrip("-")) <= 7 else in_words(near)


# --- what columns are worth ---


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
    alone = view.told(view.by_themselves, view.rows()) if found is None else {}
    for p in (view.ranked(view.by_themselves, view.rows()) if found is None else found.order.tolist())[:most]:
        own = {"name": column_name(view.schema.columns[p].name), "value": max(alone.get(p, 0.0), 0.0)}
        if found is not None:
            value, error = float(found.mean[p]), HALF * float(np.nan_to_num(found.standard_error[p]))
            own |= {"value": value, "low": value - error, "high": value + error}
        columns.append(own)
    if not columns:
        return None
    ends = [own[name] for own in columns for name in ("low", "value", "high") if name in own]
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
    sample = view.fitted.judges
    if len(view.schema) > MOST_JUDGED or sample is None:
        return None
    try:
        if not view.fitted.tells_columns and len(sample.codes) > MOST_ROWS_OF_FOLDS:
            return None
        return view.estimator.importance()
    except SufficeError:
        return None
