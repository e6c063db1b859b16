"""What there is to say of a fitted model, and what it says of rows, as plain values that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from .._arrays import Array, Codes, np
from ..errors import SufficeError
from ..fitted import Fitted
from ..losses import LabelledRows
from ..notes import details, to_know
from ..plots._style import color
from ..plots._view import Rows, View, cells_as_text, in_words, label_codes, percent, take
from ..questions.explain import odds_between
from ..questions.frames import records
from ..questions.quality import Quality, judge_answers, quality
from ..questions.recorded import recorded
from ..questions.tally import NORMAL
from ..schema import column_name
from ..table import label_values

MOST_COLUMNS = 40
ON_CARDS = 6  # columns on the card of a class, those that tell most
MIDDLE = 0.68  # share of a class that the ends of a column hold
MOST_PAIRS = 6  # of classes taken for one another
MOST_JUDGED = 100  # columns, of which each is left out in turn; of more the page has what they tell by themselves
MOST_WORTH = 60  # columns whose worth is told
MOST_ROWS_OF_FOLDS = 1000  # kept, above which models of folds are not asked for each column
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
    shown = view.informative(MOST_COLUMNS, rows)
    positions = [*shown, *view.texts]
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
        "telling": [shown.index(p) for p in by_worth(view) if p in shown][:ON_CARDS],
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
    shown = [f"{weight:,.6g}" if counted else None for weight in weights]
    known = {"label": [*map(str, view.classes)], "weight": weights, "rows": shown}
    return records(known | {"prior": view.estimator.priors_.tolist(), "color": [*map(color, range(len(weights)))]})


def _columns(view: View, rows: Rows | None, positions: Sequence[int]) -> list[dict[str, object]]:
    """Return one entry per column: its kind, how much is missing, and what each class expects of it."""
    found, told = [], recorded_columns(view.fitted)
    fine = COARSE if view.by_forest else FINE
    for position in positions:
        column, missing = view.schema.columns[position], None if rows is None else _missing(view, rows, position)
        entry: dict[str, object] = {"name": str(column.name), "kind": column.kind.value, "missing": missing}
        if position in view.texts:
            found.append(entry | {"says": "words", "cells": ["see the telling words"] * len(view.classes)})
            continue
        axis = view.axis(position, rows)
        if axis.levels is None and not axis.whole:  # three times as long: next to nothing of a class lies beyond
            length = axis.high - axis.low
            axis = axis.between(axis.low - length, axis.high + length, fine - 1)
        p = np.exp(view.log_density([axis]))
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


def _missing(view: View, rows: Rows, position: int) -> float:
    """Return the share of rows without this cell; of texts it is a flag behind their counts that tells."""
    if position in view.texts:
        return float((rows.cells(view.place[position][0], -1) == 0.0).mean())
    return float(np.isnan(view.cells(rows, position)).mean())


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


def collect_worth(view: View) -> dict[str, Any] | None:
    """Return what columns are worth, most first: `columns`, `by` and how many are `left_out`; None of a single column.

    By "cost": what leaving a column unknown costs in nats of log-loss, with `low` and `high` its 95 % interval; or by
    "alone", where that would take long: how much a cell by itself gains in log p(class) on average, never below 0.
    """
    if len(view.schema) < 2 or len(view.classes) < 2:
        return None
    found, columns = costs(view), list[dict[str, Any]]()
    alone = view.told(view.by_themselves, view.rows()) if found is None else {}
    for p in (view.ranked(view.by_themselves, view.rows()) if found is None else found.order.tolist())[:MOST_WORTH]:
        own = {"name": column_name(view.schema.columns[p].name), "value": max(alone.get(p, 0.0), 0.0)}
        if found is not None:
            value, error = float(found.mean[p]), NORMAL * float(np.nan_to_num(found.standard_error[p]))
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


# ── Of the rows of a table: answers, how good they are, unusual rows, and labels that look wrong ──────────────────────


MOST_ROWS = 5000  # whose p-values are asked for; more are taken at even steps
MOST_UNUSUAL = 10
FEW = 0.01  # p-value up to which rows are counted
MOST_SUSPECTS = 10
LEAST = 0.1  # probability that a label is wrong, from which on it is shown
REASONS = 3  # cells of a row
MOST_ODDS = 1e6  # that a cell is said to multiply by


class Answered(NamedTuple):
    """A table as a model answers it: log posteriors (n, k), class numbers (n,) of its labels `y`, −1 where they are
    missing or of no class, how many are of no class, and the level of the intervals of probabilities, None for none.
    """

    view: View
    X: object
    y: object
    log_p: Array
    codes: Codes
    other_labels: int
    interval: float | None = None

    @classmethod
    def of(cls, estimator: object, X: object, y: object = None, interval: float | None = None) -> Self:
        """Return what a fitted model answers of the rows of a table; DataError and SchemaError as `predict_proba`."""
        view = View(estimator)
        log_p = np.asarray(view.estimator.predict_log_proba(X))
        _, codes = label_codes(y, len(log_p), view.classes)
        other = codes >= len(view.classes)
        return cls(view, X, y, log_p, np.where(other, -1, codes), int(other.sum()), interval)


def collect_answers(estimator: object, X: object, y: object = None, *, interval: float | None = None) -> dict[str, Any]:
    """Return what a fitted model says of the rows of a table, as plain values.

    `classes` has, by class, how many rows are given it (`predicted`), the sum of its probabilities (`expected`) and,
    with labels `y`, how many are of it (`actual`). `quality` judges rows of known class as the model's `quality()`
    does those it kept: accuracy, log_loss in nats, the baseline of these rows' own shares of the classes, the confusion
    table, true classes in rows, and so on; None without labels.
    `outliers` are the p-values of at most 5,000 rows at even steps, `unusual` the ten least of them, and `moved` what
    `drift` says of these rows, columns that have moved most surely first; None where it cannot be told. With the level
    of an `interval`, `sure` tells of the rows whose p-values were asked for how wide the intervals around the
    probabilities of their answers are in the middle, and of how many another class may be more probable; and `unusual`
    rows have the ends `low` and `high`.

    DataError and SchemaError as for `predict_proba`, SettingError where a model has no intervals.

    Examples
    --------
    >>> from suffice import GaussianDiscriminant
    >>> from suffice.report import collect_answers
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> answers = collect_answers(GaussianDiscriminant().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> answers["rows"], [own["predicted"] for own in answers["classes"]], answers["quality"]["confusion"][1]
    (75, [25, 26, 24], [0, 24, 1])
    """
    return tell_answers(Answered.of(estimator, X, y, interval))


def tell_answers(answered: Answered) -> dict[str, Any]:
    """Return what `collect_answers` does, of rows that were answered."""
    view, X, y, log_p, codes, others, level = answered
    n, k = log_p.shape
    known = np.flatnonzero(codes >= 0)
    judged = LabelledRows.each(codes[known], k)
    predicted, actual = (np.bincount(own, minlength=k) for own in (log_p.argmax(axis=1), codes[known]))
    counts = {"label": np.array([*map(str, view.classes)], dtype=object), "predicted": predicted}
    counts |= {"expected": np.exp(log_p).sum(axis=0), "actual": actual}
    chosen = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))
    pvalues = np.asarray(view.estimator.outlier_pvalues(take(X, chosen))) if n else np.zeros(0)
    ends = None if level is None else np.asarray(view.estimator.predict_proba_interval(take(X, chosen), level))
    return {
        "rows": n,
        "classes": records({name: own.tolist() for name, own in counts.items()}),
        "labelled": len(known),
        "other_labels": others,
        "quality": plain_quality(judge_answers(view.classes, log_p[known], judged)) if len(known) else None,
        "judged": len(chosen),
        "few": int((pvalues <= FEW).sum()),
        "outliers": pvalues.tolist(),
        "unusual": _unusual(answered, chosen, pvalues, ends),
        "moved": _moved(view, X, y, chosen),
        "sure": None if ends is None else {"level": level} | _sure(log_p[chosen], ends),
    }


def _sure(log_p: Array, ends: Array) -> dict[str, Any]:
    """Return how wide intervals (n, k, 2) of the answers are in the middle, and how many answers may be others."""
    best, rows = log_p.argmax(axis=1), np.arange(len(log_p))
    low, high = ends[rows, best].T
    others = ends[:, :, 1].copy()
    others[rows, best] = 0.0
    width = float(np.median(high - low)) if len(rows) else 0.0
    return {"width": width, "unsure": int((others.max(axis=1, initial=0.0) > low).sum())}


def _moved(view: View, X: object, y: object, chosen: Codes) -> dict[str, Any] | None:
    """Return what has moved between the rows learned and these, plainly; labels that do not fit are left out."""
    if not len(chosen):
        return None
    rows = take(X, chosen)
    for labels in (None,) if y is None else (label_values(y)[chosen], None):
        try:
            found: dict[str, Any] = view.estimator.drift(rows, labels).to_dict()
        except SufficeError:
            continue
        found["columns"].sort(key=lambda own: (own["adjusted_p_value"], own["p_value"]))
        return found
    return None


def _unusual(answered: Answered, chosen: Codes, pvalues: Array, ends: Array | None) -> list[dict[str, object]]:
    """Return the rows with the smallest p-values: number (from 1), p-value, answer, and the cells that tell most."""
    view, X, _, log_p, codes, *_ = answered
    order = np.argsort(pvalues, kind="stable")[:MOST_UNUSUAL]
    cells = cells_as_text(view, take(X, chosen[order]), view.informative(5, view.rows()))
    found = []
    for place, own in zip(order, cells, strict=True):
        i = int(chosen[place])
        best = int(log_p[i].argmax())
        between = {} if ends is None else dict(zip(("low", "high"), ends[place, best].tolist(), strict=True))
        found.append(
            {
                "row": i + 1,
                "pvalue": float(pvalues[place]),
                "answer": str(view.classes[best]),
                "probability": float(np.exp(log_p[i, best])),
                "actual": None if codes[i] < 0 else str(view.classes[codes[i]]),
                "cells": own,
            }
            | between
        )
    return found


# --- labels that look wrong ---


def collect_suspects(view: View) -> dict[str, Any]:
    """Return how many labels of the rows kept are wrong by their probabilities, and the ten that are so most probably.

    `rows` were judged, each by the model of all others, `expected` of them are wrong; `worst` are those of at least
    0.1, each with the label given, the other class of the highest posterior, `probability`, and `reasons`: up to three
    cells with by how much they multiply the odds of the other class. Where rows cannot be judged, {"why_not": reason}.
    """
    try:
        X, y, sample = view.kept()
        wrong = view.estimator.suspect_labels(X, y, sample.row_weight())
    except SufficeError as error:
        return {"why_not": str(error)}
    worst = np.argsort(-wrong, kind="stable")[:MOST_SUSPECTS]
    worst = worst[wrong[worst] >= LEAST]
    found: list[dict[str, Any]] = []
    if len(worst):
        rows, given = take(X, worst), sample.codes[worst]
        posterior = view.estimator.leave_one_out(rows, y[worst], sample.row_weight()[worst])
        posterior[np.arange(len(worst)), given] = -np.inf
        other = posterior.argmax(axis=1)
        for i, a, b, reasons in zip(worst, given, other, _reasons(view, rows, given, other), strict=True):
            own = {"given": str(view.classes[a]), "other": str(view.classes[b])}
            found.append(own | {"probability": float(wrong[i]), "reasons": reasons})
    return {"rows": int(sample.copies.sum()), "expected": float(wrong @ sample.copies), "worst": found}


def _reasons(view: View, X: object, given: Codes, other: Codes) -> list[list[dict[str, object]]]:
    """Return for each row the cells that speak most for another class than the one given, the strongest first."""
    against = odds_between(np.asarray(view.estimator.explain(X)), other, given)
    cells = cells_as_text(view, X, range(len(view.schema)))
    found = []
    for own, speaks in zip(cells, against, strict=True):
        order = np.argsort(-speaks, kind="stable")[:REASONS]
        times = np.exp(np.minimum(speaks, np.log(MOST_ODDS)))
        found.append(
            [{"column": own[j][0], "cell": own[j][1], "odds": float(times[j])} for j in order if speaks[j] > 0]
        )
    return found
