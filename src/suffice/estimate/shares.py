"""Smoothed probabilities from counts: class priors and categorical levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._arrays import Array, np
from ..densities import Categorical
from ..errors import SettingError, quoted
from ..schema import Level, Name
from ..stats import CategoricalStats
from .priors import Dirichlet, check_smoothing, smoothing_of

PRIORS = (None, "uniform", "one number per class", "a Dirichlet")


def class_log_prior(weight: Array, priors: object) -> Array:
    """Return log π (k,) in nats: class shares of the weight (None), equal ("uniform"), or the given numbers.

    A Dirichlet of strength α makes them (n_k + α) / (N + α K); classes have no pooled shares to be spread by.
    """
    if priors is None:
        shares = weight / weight.sum()
    elif isinstance(priors, Dirichlet):
        if priors.base != "uniform":
            raise SettingError(f'priors={priors!r}: classes are the shares. Next: base="uniform", or None.')
        shares = (weight + priors.strength) / (weight.sum() + priors.strength * len(weight))
    elif isinstance(priors, str):
        if priors != "uniform":
            raise SettingError.choice("priors", priors, PRIORS)
        shares = np.full(len(weight), 1.0 / len(weight))
    else:
        shares = check_priors(priors, len(weight))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares))


def check_priors(priors: object, k: int) -> Array:
    """Return class priors as an array (k,); SettingError if they are not k probabilities that sum to one."""
    try:
        shares = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        raise SettingError.choice("priors", priors, PRIORS) from None
    if shares.shape != (k,):
        raise SettingError(f"priors has {shares.size} numbers and there are {k} classes. Next: give one per class.")
    if not np.isfinite(shares).all() or (shares < 0).any() or abs(shares.sum() - 1.0) > 1e-6:
        raise SettingError(
            f"priors={shares.tolist()} are not probabilities: they must be at least 0 and sum to 1, and sum to "
            f"{shares.sum():.6g}. Next: divide them by their sum."
        )
    return np.asarray(shares / shares.sum())


def ordered_priors(priors: object, classes: Sequence[Level]) -> object:
    """Return class priors given by label as one number per class in order, others as they are."""
    if not isinstance(priors, Mapping):
        return priors
    if set(priors) != set(classes):
        raise SettingError(f"priors names {quoted(list(priors))}; the classes are {quoted(classes)}. Next: name each.")
    return np.array([priors[label] for label in classes], dtype=np.float64)


def frozen_priors(priors: object) -> object:
    """Return class priors, as users state them, as a value that does not change with their array or dict."""
    if priors is None or isinstance(priors, str | Dirichlet):
        return priors
    try:
        if isinstance(priors, Mapping):
            return tuple(sorted(((repr(label), float(share)) for label, share in priors.items())))
        return tuple(np.asarray(priors, dtype=np.float64).ravel().tolist())
    except (TypeError, ValueError):  # said when they are used
        return repr(priors)


def estimate_categorical(stats: CategoricalStats, smoothing: object, columns: Sequence[Name] = ()) -> Categorical:
    """Return p(level | class) = (count + α) / (n + α L), n the weight of the class's observed cells of the column.

    L is the number of known levels. A category never seen is scored as if its level had been declared with count 0:
    α / (n + α (L + 1)), on top of the known levels, which sum to one by themselves. α = 0 is maximum likelihood; its
    zeros are −∞, with the limit for α → 0 kept beside them (1/L for a class with no observed cell). A pooled
    `Dirichlet` has the total t in place of α L, spread over the levels and one spare as in all classes together.
    `smoothing` may be a dict by the names of the `columns`.
    """
    check_smoothing(smoothing)
    log_p, limits, pseudo = [], [], []
    for j, counts in enumerate(stats.counts):
        rule = smoothing_of(smoothing, columns[j] if columns else None)
        own, limit, added = _smooth_pooled(counts, rule) if rule.base == "pooled" else _smooth(counts, rule)
        with np.errstate(divide="ignore"):
            log_p.append(np.log(own))
        limits.append(np.log(limit))
        pseudo.append(added)
    return Categorical(stats.levels, tuple(log_p), tuple(limits), tuple(pseudo))


def _smooth(counts: Array, rule: Dirichlet) -> tuple[Array, Array, Array]:
    """Return p (k, levels + 1), with 0 replaced by the coefficient of α as α → 0, and pseudo-counts (levels + 1,)."""
    levels, seen = counts.shape[1], counts.sum(axis=1, keepdims=True)
    known, limit = level_shares(counts, seen, rule.strength, levels)
    spare, spare_limit = level_shares(np.zeros_like(seen), seen, rule.strength, levels + 1)
    pseudo = np.append(np.full(levels, rule.strength), 0.0)
    return np.concatenate([known, spare], axis=1), np.concatenate([limit, spare_limit], axis=1), pseudo


def _smooth_pooled(counts: Array, rule: Dirichlet) -> tuple[Array, Array, Array]:
    """Return the same of a prior spread as the levels of all classes, with half a count for each and for a spare."""
    own = np.append(counts, np.zeros((len(counts), 1)), axis=1)
    share = (own.sum(axis=0) + 0.5) / (own.sum() + 0.5 * own.shape[1])
    seen = own.sum(axis=1, keepdims=True)
    informed = seen + rule.strength > 0
    p = np.where(informed, own + rule.strength * share, share) / np.where(informed, seen + rule.strength, 1.0)
    return p, np.where(p > 0, p, share / np.where(seen > 0, seen, 1.0)), rule.strength * share


def level_shares(count: Array, seen: Array, alpha: float, levels: int) -> tuple[Array, Array]:
    """Return (count + α) / (n + α L), and the same with each 0 replaced by the coefficient of α as α → 0."""
    informed = seen + alpha > 0
    p = np.where(informed, count + alpha, 1.0) / np.where(informed, seen + alpha * levels, levels)
    return p, np.where(p > 0, p, 1.0 / np.where(seen > 0, seen, levels + 1.0))
