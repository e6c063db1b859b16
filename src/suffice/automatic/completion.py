"""Missing cells of the Gaussian members: maximum likelihood under one shared covariance, then one E step by class."""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import Array, np
from ..densities import Full, Gaussian
from ..em.tied import complete_shared
from ..stats import GaussianStats, PatternStats

STEPS = 10
RIDGE = 1e-8  # of the mean variance, added where no class is known and columns may lie along each other


def complete_tied(stats: PatternStats) -> GaussianStats:
    """Return statistics by class of rows whose missing cells are expected from the others of their row.

    Means and the shared covariance they are expected under are those of ten steps of EM, which say as much for
    classification as its limit.
    """
    return complete_each([stats])[0]


def complete_each(tables: Sequence[PatternStats]) -> list[GaussianStats]:
    """Return the same of several tables of the same columns, in little more time than of one."""
    if not any(stats.incomplete for stats in tables):
        return [stats.complete.dense() for stats in tables]
    return complete_shared(tables, STEPS)


def fill_blindly(rows: Array, stats: GaussianStats) -> Array:
    """Return rows with missing cells regressed on the others under one Gaussian for all classes: no label is used."""
    if not np.isnan(rows).any():
        return rows
    share = stats.weight / stats.weight.sum()
    center = share @ stats.mean
    apart = stats.mean - center
    sigma = stats.scatter.values.sum(axis=0) / stats.weight.sum() + (apart * share[:, None]).T @ apart
    sigma[np.diag_indices(len(sigma))] += RIDGE * max(float(np.trace(sigma)) / len(sigma), 1e-290)
    law = Gaussian(center[None], Full.factor(sigma[None]), tuple(range(len(sigma))))
    return law.condition(rows, np.ones((len(rows), 1)))
