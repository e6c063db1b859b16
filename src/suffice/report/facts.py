"""What there is to say of a fitted model, as plain values that JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._arrays import Array, Codes, np
from ..errors import SufficeError
from ..plots._model import Model, members
from ..plots._style import color
from ..plots._view import Axis, Rows, View

MOST_COLUMNS = 40
ON_CARDS = 6  # columns on the card of a class, those that tell most
MIDDLE = 0.68


def collect_facts(estimator: object) -> dict[str, Any]:
    """Return what there is to say of a fitted model: model, size, settings, quality, classes, columns, notes, members.

    Quality is judged by leave-one-out on the rows that the model keeps: `accuracy`, `log_loss` in nats and the
    `baseline` that the class priors alone give. Where that cannot be had, `quality` is {"why_not": reason}.

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
    return {
        "model": type(estimator).__name__,
        "settings": _settings(view.estimator),
        "rows": int(statistics.rows),
        "kept_rows": 0 if statistics.sample is None else int(statistics.sample.copies.sum()),
        "quality": _quality(view),
        "classes": _classes(view),
        "columns": _columns(view, rows, positions),
        "telling": [positions.index(p) for p in view.informative(ON_CARDS, rows) if p in positions],
        "columns_left_out": len(view.schema) - len(positions),
        "notes": [str(note) for note in view.estimator.notes_],
        "members": _members(view.estimator),
    }


def _settings(model: Model) -> dict[str, str]:
    """Return the settings that are not the default, as a person would write them."""
    default = type(model)().get_params(deep=False)
    return {
        name: repr(value) for name, value in model.get_params(deep=False).items() if repr(value) != repr(default[name])
    }


def _quality(view: View) -> dict[str, object]:
    try:
        X, y, sample = view.kept()
        log_p = view.estimator.leave_one_out(X, y, sample_weight=sample.row_weight())
    except SufficeError as error:
        return {"why_not": str(error)}
    copies = np.asarray(sample.copies, dtype=np.float64)
    share = np.bincount(sample.codes, copies, len(view.classes)) / copies.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        baseline = -float(np.where(share > 0, share * np.log(share), 0.0).sum())
    return quality(log_p, sample.codes, copies, baseline)


def quality(log_p: Array, codes: Codes, copies: Array, baseline: float) -> dict[str, object]:
    """Return how good log posteriors (n, k) of rows of known class are, each of which stands for so many `copies`."""
    own, answer = np.maximum(log_p[np.arange(len(codes)), codes], -1e6), log_p.argmax(axis=1)
    table = np.zeros((log_p.shape[1], log_p.shape[1]))
    np.add.at(table, (codes, answer), copies)
    return {
        "accuracy": float(((answer == codes) * copies).sum() / copies.sum()),
        "log_loss": -float((own * copies).sum() / copies.sum()),
        "baseline": baseline,
        "rows": int(copies.sum()),
        "confusion": table.astype(int).tolist(),
    }


def _classes(view: View) -> list[dict[str, object]]:
    weights = view.fitted.statistics.weight.tolist()
    return [
        {"label": str(label), "weight": weight, "prior": float(prior), "color": color(c)}
        for c, (label, weight, prior) in enumerate(zip(view.classes, weights, view.estimator.priors_, strict=True))
    ]


def _columns(view: View, rows: Rows | None, positions: Sequence[int]) -> list[dict[str, object]]:
    """Return one entry per column: its kind, how much is missing, and what each class expects of it."""
    found = []
    for position in positions:
        column, axis = view.schema.columns[position], _widened(view.axis(position, rows))
        p = np.exp(view.log_density([axis]))
        missing = None if rows is None else float(np.isnan(view.cells(rows, position)).mean())
        entry: dict[str, object] = {"name": str(column.name), "kind": column.kind.value, "missing": missing}
        if axis.levels is None:
            ends = _middle(axis.at, p)
            cells = [f"{in_words(low)} to {in_words(high)}" for low, high in ends]
        else:
            best = p.argmax(axis=0)
            cells = [f"{axis.levels[i]} ({percent(p[i, c])})" for c, i in enumerate(best)]
        found.append(entry | {"says": "middle 68 %" if axis.levels is None else "most probable", "cells": cells})
    return found


def _widened(axis: Axis) -> Axis:
    """Return an axis of numbers three times as long, beyond which next to nothing of a class lies."""
    if axis.levels is not None or axis.whole:
        return axis
    length = axis.high - axis.low
    edges = np.linspace(axis.low - length, axis.high + length, 1201)
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


def _members(model: Model) -> list[dict[str, object]]:
    """Return the members of an automatic classifier, heaviest first; none of other models."""
    return [
        {
            "name": str(member["name"]),
            "setting": ", ".join(f"{key} = {value:.4g}" for key, value in member["setting"].items())
            if all(isinstance(value, int | float) for value in member["setting"].values())
            else str(member["setting"]),
            "loss": float(member["loss"]),
            "weight": float(member["weight"]),
        }
        for member in sorted(members(model), key=lambda member: -member["weight"])
    ]


def in_words(value: float) -> str:
    """Return a number with four digits, as a person would write it."""
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"


def percent(p: float) -> str:
    """Return a probability in percent, never rounded to certainty."""
    if 0 < p < 0.001:
        return "< 0.1 %"
    if 0.999 < p < 1:
        return "> 99.9 %"
    return f"{100 * p:.{0 if 0.01 <= p <= 0.99 or p in (0.0, 1.0) else 1}f} %"
