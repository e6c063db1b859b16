"""What a database answered beside what the model answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.automatic.forest_fitted import ForestJoint

TOLERANCE = 1e-9  # promised for posteriors; log densities relative to their size


class Difference(NamedTuple):
    """The largest differences of posteriors and of log densities (0 without any), and the number of other labels."""

    posterior: float
    density: float
    labels: int


def difference(model: Any, rows: Any, answers: Any) -> Difference:
    """Return how far the last columns of `answers` (label, posteriors, any log density) are from the model's answers.

    Databases write truth values and floats in ways of their own, so labels go by their text; an impossible row has no
    log density. Labels are compared where no other posterior is as large.
    """
    k, dense = len(model.classes_), has_density(model)
    found = answers.iloc[:, -k - 1 - dense :]
    posterior = model.predict_proba(rows)
    apart = np.abs(found.iloc[:, 1 : k + 1].to_numpy(dtype=float) - posterior).max()
    off = _density_off(model.score_samples(rows), found.iloc[:, -1].to_numpy(dtype=float)) if dense else 0.0
    top = np.sort(posterior, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-12
    other = _texts(found.iloc[:, 0]) != _texts(model.predict(rows))
    return Difference(float(apart), off, int((other & clear).sum()))


def has_density(model: Any) -> bool:
    """Return whether exports of a model have log p(x): its joint density is no forest's."""
    return not isinstance(model._fitted.joint_value, ForestJoint)


def _density_off(density: Any, found: Any) -> float:
    impossible = np.isneginf(density)
    assert (np.isnan(found) == impossible).all()
    return float((np.abs(found - density)[~impossible] / (1.0 + np.abs(density[~impossible]))).max(initial=0.0))


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
