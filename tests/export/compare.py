"""What a database answered beside what the model answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 1e-9  # promised for posteriors; log densities relative to their size


class Difference(NamedTuple):
    """The largest differences of posteriors and of log densities, and the number of other labels."""

    posterior: float
    density: float
    labels: int


def difference(model: Any, rows: Any, answers: Any) -> Difference:
    """Return how far the last columns of `answers` (label, posteriors, log density) are from the model's answers.

    Databases write truth values and floats in ways of their own, so labels go by their text; an impossible row has no
    log density. Labels are compared where no other posterior is as large.
    """
    k = len(model.classes_)
    found = answers.iloc[:, -k - 2 :]
    posterior, density = model.predict_proba(rows), model.score_samples(rows)
    apart = np.abs(found.iloc[:, 1:-1].to_numpy(dtype=float) - posterior).max()
    log = found.iloc[:, -1].to_numpy(dtype=float)
    impossible = np.isneginf(density)
    assert (np.isnan(log) == impossible).all()
    off = np.abs(log - density)[~impossible] / (1.0 + np.abs(density[~impossible]))
    top = np.sort(posterior, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-12
    other = _texts(found.iloc[:, 0]) != _texts(model.predict(rows))
    return Difference(float(apart), float(off.max(initial=0.0)), int((other & clear).sum()))


def check(model: Any, rows: Any, answers: Any) -> None:
    """Fail unless the answers agree with the model's, row by row, beside the rows' own columns."""
    assert len(answers) == len(rows)
    found = difference(model, rows, answers)
    assert found.posterior <= TOLERANCE, found
    assert found.density <= TOLERANCE, found
    assert found.labels == 0, found


def _texts(labels: Any) -> Any:
    plain = {"t": "True", "f": "False", "true": "True", "false": "False"}
    texts = [str(label) for label in labels]
    truths = {"True", "False", "t", "f", "1", "0"}
    if set(texts) <= truths:
        texts = [{"1": "True", "0": "False"}.get(text, plain.get(text, text)) for text in texts]
    return np.array(texts)
