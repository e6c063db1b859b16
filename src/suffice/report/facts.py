"""What there is to say of a fitted model, as plain values that JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._arrays import Array, np
from ..errors import SufficeError
from ..notes import details, to_know
from ..plots._cells import percent
from ..plots._model import Model, members
from ..plots._style import color
from ..plots._view import Axis, Rows, View
from ..questions.quality import Quality, quality
from .form_fields import in_steps, recorded_columns
from .worth import by_worth

MOST_COLUMNS = 40
ON_CARDS = 6  # columns on the card of a class, those that tell most
MIDDLE = 0.68
MOST_PAIRS = 6  # of classes taken for one another
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
        "settings": _settings(view.estimator),
        "rows": int(statistics.rows),
        "kept_rows": 0 if statistics.sample is None else int(statistics.sample.copies.sum()),
        "quality": _quality(view),
        "classes": _classes(view),
        "columns": _columns(view, rows, positions),
        "telling": [positions.index(p) for p in by_worth(view) if p in positions][:ON_CARDS],
        "columns_left_out": len(view.schema) - len(positions),
        "notes": to_know(view.fitted.notes),
        "details": details(view.fitted.notes),
        "members": _members(view.estimator),
    }


def _settings(model: Model) -> dict[str, str]:
    """Return the settings that are not the default, as a person would write them."""
    default = type(model)().get_params(deep=False)
    return {
        name: repr(value) for name, value in model.get_params(deep=False).items() if repr(value) != repr(default[name])
    }


def _quality(view: View) -> dict[str, Any]:
    try:
        return plain_quality(quality(view.fitted))
    except SufficeError as error:
        return {"why_not": str(error)}


def plain_quality(found: Quality) -> dict[str, Any]:
    """Return a quality as plain values, with its figures as they are `shown` and `how` rows were judged."""
    return found.to_dict() | {
        "shown": dict(found.figures()),
        "how": found.how,
        "confused": confused(found),
        "weakest": _weakest(found),
    }


def confused(found: Quality) -> list[dict[str, Any]]:
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


def _weakest(found: Quality) -> dict[str, Any] | None:
    """Return the class of which the least share is found; None where no row has a class."""
    if np.isnan(found.recall).all():
        return None
    c = int(np.nanargmin(found.recall))
    return {"label": str(found.classes[c]), "recall": float(found.recall[c])}


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
        column, axis = view.schema.columns[position], _widened(view.axis(position, rows), fine)
        p = np.exp(view.log_density([axis]))
        missing = None if rows is None else float(np.isnan(view.cells(rows, position)).mean())
        entry: dict[str, object] = {"name": str(column.name), "kind": column.kind.value, "missing": missing}
        if axis.levels is None:
            ends = _middle(axis.at, p)
            own = told.get(position, {})
            cells = [f"{in_steps(low, own)} to {in_steps(high, own)}" for low, high in ends]
        else:
            best = p.argmax(axis=0)
            cells = [f"{axis.levels[i]} ({percent(p[i, c])})" for c, i in enumerate(best)]
        found.append(entry | {"says": "middle 68 %" if axis.levels is None else "most probable", "cells": cells})
    return found


def _widened(axis: Axis, cells: int) -> Axis:
    """Return an axis of numbers three times as long, beyond which next to nothing of a class lies."""
    if axis.levels is not None or axis.whole:
        return axis
    length = axis.high - axis.low
    edges = np.linspace(axis.low - length, axis.high + length, cells)
    at = (edges[1:] + edges[:-1]) / 2
    return replace(axis, values=at, at=at, low=axis.low - length, high=axis.high + length)


def _middle(at: Array, p: Array) -> list[tuple[float, float]]:
    """Return the ends of the middle 68 % of each class."""
    ends = []
    for own in p.T:
        below = np.cumsum(own) / own.sum() if own.sum() > 0 else np.linspace(0, 1, len(own))
        places = np.searchsorted(below, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2])
        low, high = at[np.minimum(places, len(at) - 1)]
        ends.append((float(low), float(high)))
    return ends


def _amount(value: float) -> str:
    return "∞" if value == np.inf else f"{value:.4g}"


def _members(model: Model) -> list[dict[str, object]]:
    """Return the members of an automatic classifier, heaviest first; none of other models."""
    return [
        {
            "name": str(member["name"]),
            "setting": ", ".join(f"{key} = {_amount(value)}" for key, value in member["setting"].items())
            if all(isinstance(value, int | float) for value in member["setting"].values())
            else str(member["setting"]),
            "loss": float(member["loss"]),
            "weight": float(member["weight"]),
            "share": float(member["share"]),
        }
        for member in sorted(members(model), key=lambda member: -member["share"])
    ]
