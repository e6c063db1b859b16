"""Sets of classes that hold the true one with a chosen probability, whatever the model gets wrong.

How strange a class is for a row is scored by −log p(class | row). If the scores of rows whose class is known are like
those of new rows, then all classes that score no more than the (1 − α)-quantile of these are a set that holds the true
class with probability 1 − α (least ambiguous sets: Sadinle, Lei & Wasserman 2019, doi:10.1080/01621459.2017.1395341).

The rows known are the training rows, each scored by the model of all others. That leaves no row aside: for n rows the
model has n − 1 to learn from and the quantile n scores, where a split gives half to each. The price is a proof: the
quantile of leave-one-out scores covers 1 − α where leaving out one more row hardly moves the scores, as for models of
few parameters, but not in the worst case (Barber, Candès, Ramdas & Tibshirani 2021, doi:10.1214/20-AOS1965).
"""

from __future__ import annotations

from .._arrays import Array, Codes, NDArray, np


def threshold(log_posterior: Array, codes: Codes, weight: Array, alpha: float) -> float:
    """Return the score (nats) that 1 − α of new rows are not expected to exceed, ∞ if there are too few rows to say.

    `log_posterior` (n, k) are those of rows of the classes `codes` (n,), each by a model that has not seen it; row i
    stands for `weight[i]` rows. It is the smallest score s with Σ weight of scores up to s ≥ (1 − α)(W + 1), W the sum
    of all weights: the new row may score anything, and counts as one beyond all others (Vovk, Gammerman & Shafer 2005).
    """
    score = -log_posterior[np.arange(len(codes)), codes]
    order = np.argsort(score, kind="stable")
    below = np.cumsum(weight[order])
    total = float(below[-1]) if len(below) else 0.0
    place = int(np.searchsorted(below, (1.0 - alpha) * (total + 1.0) * (1.0 - 1e-12)))  # rounding takes no row away
    return float(score[order[place]]) if place < len(order) else float(np.inf)


def class_sets(log_posterior: Array, limit: float, allow_empty: bool = True) -> NDArray[np.bool_]:
    """Return which classes score at most `limit`, (n, k), and unless `allow_empty` the most probable one as well."""
    inside = np.asarray(-log_posterior <= limit)
    if not allow_empty:
        inside[np.arange(len(inside)), log_posterior.argmax(axis=1)] = True
    return inside
