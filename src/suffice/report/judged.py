"""What a model says of rows, as plain values: answers, how good they are, unusual rows, and labels that look wrong."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from .._arrays import Array, Codes, np
from ..errors import SufficeError
from ..plots._view import View, cells_as_text, label_codes, take
from ..questions.quality import judge_answers
from ..table import label_values
from .facts import plain_quality

MOST_ROWS = 5000  # whose p-values are asked for; more are taken at even steps
MOST_UNUSUAL = 10
FEW = 0.01
MOST_SUSPECTS = 10
LEAST = 0.1  # probability that a label is wrong, from which on it is shown
REASONS = 3  # cells of a row
MOST_ODDS = 1e6


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
    predicted, actual = (np.bincount(own, minlength=k) for own in (log_p.argmax(axis=1), codes[known]))
    counts = zip(predicted, np.exp(log_p).sum(axis=0), actual, strict=True)
    chosen = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))
    pvalues = np.asarray(view.estimator.outlier_pvalues(take(X, chosen))) if n else np.zeros(0)
    ends = None if level is None else np.asarray(view.estimator.predict_proba_interval(take(X, chosen), level))
    return {
        "rows": n,
        "classes": [
            {"label": str(label), "predicted": int(given), "expected": float(expected), "actual": int(own)}
            for label, (given, expected, own) in zip(view.classes, counts, strict=True)
        ],
        "labelled": len(known),
        "other_labels": others,
        "quality": plain_quality(judge_answers(view.classes, log_p[known], codes[known])) if len(known) else None,
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
    odds, rows = view.estimator.explain(X), np.arange(len(given))
    with np.errstate(invalid="ignore"):
        against: Array = np.nan_to_num(odds[rows, :, other] - odds[rows, :, given])
    cells = cells_as_text(view, X, range(len(view.schema)))
    found = []
    for own, speaks in zip(cells, against, strict=True):
        order = np.argsort(-speaks, kind="stable")[:REASONS]
        times = np.exp(np.minimum(speaks, np.log(MOST_ODDS)))
        found.append(
            [{"column": own[j][0], "cell": own[j][1], "odds": float(times[j])} for j in order if speaks[j] > 0]
        )
    return found
