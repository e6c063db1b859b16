"""Missing cells of the Gaussian members: maximum likelihood under one shared covariance, then one E step by class."""

from __future__ import annotations

from ..._arrays import Array, np, pattern_groups
from ...estimate.em import complete
from ...stats import FullScatter, GaussianStats, PatternStats

STEPS = 25


def complete_tied(stats: PatternStats) -> GaussianStats:
    """Return statistics by class of rows whose missing cells are expected from the others of their row.

    Means and the shared covariance are those of at most 25 steps of EM, which say as much for classification as its
    limit; the expected scatters of each class come from them, conditional covariances of the missing cells included.
    """
    if not stats.incomplete:
        return stats.complete.dense()
    incomplete = {pattern: (present, part.dense().pooled()) for pattern, (present, part) in stats.incomplete.items()}
    tied = complete(PatternStats(stats.complete.dense().pooled(), incomplete), most_steps=STEPS)
    sigma = tied.scatter.values / max(float(tied.weight.sum()), 1e-300)
    sigma[np.diag_indices(len(sigma))] += 1e-10 * max(float(np.trace(sigma)) / len(sigma), 1e-300)
    total, d = stats.complete.dense(), stats.d
    for pattern, (present, observed) in stats.incomplete.items():
        part = observed.dense()
        seen = np.asarray(pattern)
        hidden = np.setdiff1d(np.arange(d), seen)
        slope = np.linalg.solve(sigma[np.ix_(seen, seen)], sigma[np.ix_(seen, hidden)]).T
        mean = np.empty((len(present), d))
        mean[:, seen] = part.mean
        mean[:, hidden] = tied.mean[np.ix_(present, hidden)] + (part.mean - tied.mean[np.ix_(present, seen)]) @ slope.T
        lift = np.zeros((d, len(seen)))
        lift[seen, np.arange(len(seen))] = 1.0
        lift[hidden] = slope
        scatter = lift @ part.scatter.values @ lift.T
        rest = sigma[np.ix_(hidden, hidden)] - slope @ sigma[np.ix_(seen, hidden)]
        scatter[np.ix_(np.arange(len(present)), hidden, hidden)] += part.weight[:, None, None] * rest
        own = GaussianStats(part.weight, mean, FullScatter(scatter), FullScatter)
        total = total.merge(own.place(present.tolist(), stats.k))
    return total


def fill_blindly(rows: Array, stats: GaussianStats) -> Array:
    """Return rows with missing cells regressed on the others under one Gaussian for all classes: no label is used."""
    if not np.isnan(rows).any():
        return rows
    share = stats.weight / stats.weight.sum()
    center = share @ stats.mean
    apart = stats.mean - center
    sigma = stats.scatter.values.sum(axis=0) / stats.weight.sum() + (apart * share[:, None]).T @ apart
    sigma[np.diag_indices(len(sigma))] += 1e-8 * max(float(np.trace(sigma)) / len(sigma), 1e-300)
    out = rows.copy()
    for seen, index in pattern_groups(~np.isnan(rows)):
        hidden = np.setdiff1d(np.arange(rows.shape[1]), seen)
        if len(hidden):
            slope = np.linalg.solve(sigma[np.ix_(seen, seen)], sigma[np.ix_(seen, hidden)])
            out[np.ix_(index, hidden)] = center[hidden] + (rows[np.ix_(index, seen)] - center[seen]) @ slope
    return out
