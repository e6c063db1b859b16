"""How posteriors are scored in the accuracy benchmark."""

from __future__ import annotations

import numpy as np

CLIP = 1e-15  # of a posterior, before it is scored: no more than keeps its logarithm finite
BINS = 15  # of the calibration error
OURS = "suffice"


def scores(posterior: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the mean log-loss in nats, the share of wrong labels and the calibration error of (n, k) posteriors.

    The calibration error is Σ over bins of the largest posterior: share of rows × |share right − mean posterior|.
    """
    p = np.clip(posterior, CLIP, 1.0)
    p = p / p.sum(axis=1, keepdims=True)
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    cell = np.minimum((top * BINS).astype(int), BINS - 1)
    gap = np.bincount(cell, right - top, BINS)
    loss = -float(np.mean(np.log(p[np.arange(len(y)), y])))
    return {"loss": loss, "error": float(1.0 - right.mean()), "calibration": float(np.abs(gap).sum() / len(y))}
