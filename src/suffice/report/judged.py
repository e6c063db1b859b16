"""What a model says of a table: answers by class, how good they are if labels are known, and which rows are unusual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from .._arrays import Array, Codes, np
from ..errors import SufficeError
from ..plots._cells import cells_as_text, take
from ..plots._view import View
from ..questions.quality import judge_answers
from ..schema import Level
from ..table import factorize, label_values
from .facts import plain_quality

MOST_ROWS = 5000  # whose p-values are asked for; more are taken at even steps
MOST_UNUSUAL = 10
FEW = 0.01


class Answered(NamedTuple):
    """A table as a model answers it: log posteriors (n, k), class numbers (n,) of its labels `y`, −1 where they are
    missing or of no class, and how many are of no class.
    """

    view: View
    X: object
    y: object
    log_p: Array
    codes: Codes
    other_labels: int

    @classmethod
    def of(cls, estimator: object, X: object, y: object = None) -> Self:
        """Return what a fitted model answers of the rows of a table; DataError and SchemaError as `predict_proba`."""
        view = View(estimator)
        log_p = np.asarray(view.estimator.predict_log_proba(X))
        return cls(view, X, y, log_p, *_codes(view, y, len(log_p)))


def collect_answers(estimator: object, X: object, y: object = None) -> dict[str, Any]:
    """Return what a fitted model says of the rows of a table, as plain values.

    `classes` has, by class, how many rows are given it (`predicted`), the sum of its probabilities (`expected`) and,
    with labels `y`, how many are of it (`actual`). `quality` judges rows of known class as the model's `quality()`
    does those it kept: accuracy, log_loss in nats, the baseline of these rows' own shares of the classes, the confusion
    table, true classes in rows, and so on; None without labels.
    `outliers` are the p-values of at most 5,000 rows at even steps, `unusual` the ten least of them, and `moved` what
    `drift` says of these rows, columns that have moved most surely first; None where it cannot be told.

    DataError and SchemaError as for `predict_proba`.

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
    return tell_answers(Answered.of(estimator, X, y))


def tell_answers(answered: Answered) -> dict[str, Any]:
    """Return what `collect_answers` does, of rows that were answered."""
    view, X, y, log_p, codes, others = answered
    n, k = log_p.shape
    answer = log_p.argmax(axis=1)
    actual = np.bincount(codes[codes >= 0], minlength=k)
    counts = zip(np.bincount(answer, minlength=k), np.exp(log_p).sum(axis=0), actual, strict=True)
    chosen = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp))
    pvalues = np.asarray(view.estimator.outlier_pvalues(take(X, chosen))) if n else np.zeros(0)
    return {
        "rows": n,
        "classes": [
            {"label": str(label), "predicted": int(given), "expected": float(expected), "actual": int(own)}
            for label, (given, expected, own) in zip(view.classes, counts, strict=True)
        ],
        "labelled": int((codes >= 0).sum()),
        "other_labels": others,
        "quality": _quality(log_p, codes, view.classes),
        "judged": len(chosen),
        "few": int((pvalues <= FEW).sum()),
        "outliers": pvalues.tolist(),
        "unusual": _unusual(view, X, chosen, pvalues, log_p, codes),
        "moved": _moved(view, X, y, chosen),
    }


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


def _codes(view: View, y: object, n: int) -> tuple[Codes, int]:
    """Return class numbers (n,), −1 where the label is missing or of no class, and how many are of no class."""
    if y is None:
        return np.full(n, -1), 0
    levels, codes = factorize(label_values(y), "y")
    known = {(isinstance(label, bool), label): c for c, label in enumerate(view.classes)}
    number = np.array([*(known.get((isinstance(level, bool), level), -2) for level in levels), -1])
    found = number[codes]
    return np.maximum(found, -1), int((found == -2).sum())


def _quality(log_p: Array, codes: Codes, classes: Sequence[Level]) -> dict[str, Any] | None:
    rows = np.flatnonzero(codes >= 0)
    return plain_quality(judge_answers(classes, log_p[rows], codes[rows])) if len(rows) else None


def _unusual(
    view: View, X: object, chosen: Codes, pvalues: Array, log_p: Array, codes: Codes
) -> list[dict[str, object]]:
    """Return the rows with the smallest p-values: number (from 1), p-value, answer, and the cells that tell most."""
    order = np.argsort(pvalues, kind="stable")[:MOST_UNUSUAL]
    shown = view.informative(5, view.rows())
    cells = cells_as_text(view, take(X, chosen[order]), shown)
    found = []
    for place, own in zip(order, cells, strict=True):
        i = int(chosen[place])
        best = int(log_p[i].argmax())
        found.append(
            {
                "row": i + 1,
                "pvalue": float(pvalues[place]),
                "answer": str(view.classes[best]),
                "probability": float(np.exp(log_p[i, best])),
                "actual": None if codes[i] < 0 else str(view.classes[codes[i]]),
                "cells": own,
            }
        )
    return found
