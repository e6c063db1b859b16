"""Missing cells of the Gaussian members: maximum likelihood under one shared covariance, then one E step by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._arrays import Array, Codes, np
from ..densities import Full, Gaussian
from ..em.cells import complete_rows_shared, complete_shared
from ..em.filling import fill
from ..em.step import expected_cells
from ..stats import FullScatter, GaussianStats, PatternStats

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


def complete_rows(rows: Array, weight: Array, codes: Codes | None = None, k: int = 1) -> GaussianStats:
    """Return the same of rows (n, p), of one class without `codes`: their patterns may be as many as they are."""
    codes = np.zeros(len(rows), dtype=np.int64) if codes is None else codes
    if not np.isnan(rows).any():
        return GaussianStats.summarize(rows, codes, k, weight).dense()
    return complete_rows_shared(rows, codes, k, weight, STEPS)


def fill_blindly(rows: Array, stats: GaussianStats) -> Array:
    """Return rows with missing cells regressed on the others under one Gaussian for all classes: no label is used."""
    if not np.isnan(rows).any():
        return rows
    share = stats.weight / stats.weight.sum()
    center = share @ stats.mean
    apart = stats.mean - center
    sigma = stats.scatter.values.sum(axis=0) / stats.weight.sum() + (apart * share[:, None]).T @ apart
    sigma[np.diag_indices(len(sigma))] += RIDGE * max(float(np.trace(sigma)) / len(sigma), 1e-290)
    return expected_cells(rows, center, sigma)


@dataclass(frozen=True)
class Guess:
    """One Gaussian for the rows of all classes, which says what their missing cells may hold: no label is used."""

    center: Array
    covariance: Array

    @classmethod
    def of(cls, cells: Array, weight: Array) -> Guess:
        """Return the one that EM finds for rows (n, p) of these weights."""
        done = complete_rows(cells, weight)
        covariance = done.scatter.values[0] / done.weight[0]
        covariance[np.diag_indices(len(covariance))] += 1e-8
        return cls(done.mean[0], covariance)

    def completed(self, cells: Array, codes: Codes, k: int, weight: Array) -> GaussianStats:
        """Return statistics of rows (n, p) at what their missing cells are expected to hold; see `em.filling`."""
        law = Gaussian(np.tile(self.center, (k, 1)), Full.factor(self.covariance[None]), tuple(range(len(self.center))))
        return fill(cells, codes, k, weight, law, FullScatter).dense()
