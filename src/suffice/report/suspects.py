"""Which labels of the rows kept look wrong, and what speaks against them, as plain values."""

from __future__ import annotations

from typing import Any

from .._arrays import Array, Codes, np
from ..errors import SufficeError
from ..plots._cells import cells_as_text, take
from ..plots._view import View

MOST = 10
LEAST = 0.1  # probability that a label is wrong, from which on it is shown
REASONS = 3  # cells of a row
MOST_ODDS = 1e6


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
    worst = np.argsort(-wrong, kind="stable")[:MOST]
    worst = worst[wrong[worst] >= LEAST]
    given, other, reasons = sample.codes[worst], np.zeros(0, dtype=np.int64), []
    if len(worst):
        rows = take(X, worst)
        posterior = view.estimator.leave_one_out(rows, y[worst], sample.row_weight()[worst])
        posterior[np.arange(len(worst)), given] = -np.inf
        other = posterior.argmax(axis=1)
        reasons = _reasons(view, rows, given, other)
    return {
        "rows": int(sample.copies.sum()),
        "expected": float(wrong @ sample.copies),
        "worst": [
            {
                "given": str(view.classes[label]),
                "other": str(view.classes[likelier]),
                "probability": float(wrong[i]),
                "reasons": own,
            }
            for i, label, likelier, own in zip(worst, given, other, reasons, strict=True)
        ],
    }


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
