"""Priors and shrinkage as users state them: probabilities of levels and classes, rules for the amount of shrinkage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from .._arrays import Array, Codes, log_of, np
from ..densities import Categorical
from ..errors import SettingError, either, quoted, setting
from ..schema import Level, Name
from ..stats import CategoricalStats
from ..stats.reservoir import SAME_WEIGHT

TARGETS = ("total", "within")
BASES = ("uniform", "pooled")
NAMED = ("loo", "jeffreys")
POOLED = 0.9  # share of the pooled covariance with a strength that is given
SETTLED = 100.0, 0.99  # strength and share that suit most tables where nothing can be chosen
PRIORS = (None, "uniform", "one number per class", "a Dirichlet")


@dataclass(frozen=True, slots=True)
class NormalInverseWishart:
    """A prior on the mean and covariance of each class; rows are scored by their posterior predictive, a Student t.

    Σ_k ~ IW(a B, a + d + 1), whose mean is B, and μ_k | Σ_k ~ N(m, Σ_k / κ), or flat where κ = 0. With n_k rows of
    mean x̄_k and scatter S_k the posterior has κ_k = κ + n_k, m_k = (κ m + n_k x̄_k) / κ_k and the scale matrix
    A_k = a B + S_k + (κ n_k / κ_k) (x̄_k − m)(x̄_k − m)ᵀ, and a new row follows

        t_ν(m_k, A_k (1 + 1 / κ_k) / ν)  with  ν = a + n_k + 1 for a flat mean, ν = a + n_k + 2 for κ > 0.

    Small classes lean on B, large ones on their own rows, and the heavier tails say how little is known.

    Parameters
    ----------
    strength : float of at least 0, "loo" or "jeffreys"
        a, in rows: what the prior covariance B counts for. 0 adds nothing to S_k. inf makes all classes share B, which
        leaves ν = N − K + 1 and A = (N − K) B (with a `scale` given: Σ is known to be B, and ν = ∞). "loo": chosen by
        the leave-one-out log loss of the rows kept, see `prior_`; where none are kept, or too few, or the table is
        wider than long, it is 100 (and `pooled` 0.99).
        "jeffreys" is the density ∝ |Σ|^(−(d + 1) / 2): A_k = S_k and ν = n_k − d, or N − K − d + 1 when shared
        (Geisser 1964, doi:10.1111/j.2517-6161.1964.tb00540.x). It and 0 need more rows than columns in each class.
    pooled : float from 0 to 1, optional
        None: chosen along with the strength, or 0.9 if that is given.
        B = pooled · W / (N − K) + (1 − pooled) · T, W the scatter within all K classes of N rows together, T diagonal.
    mean_strength : float of at least 0
        κ, in rows: what the prior mean counts for. Above 0 a class without any row has a density: the prior predictive.
    target : {"total", "within"}
        T. "total": τ times the variances of all rows, τ the mean over columns of their share within classes.
        "within": the diagonal of W / (N − K). Neither depends on the columns' units.
    mean : array (d,), optional
        m, in the order of the columns; None is the mean of all rows.
    scale : array (d, d), or (d,) for a diagonal one, optional
        B itself, which the rows then have no part in; `pooled` and `target` do not matter.

    Raises
    ------
    SettingError
        A number is out of its range, or a matrix is not symmetric and positive definite.

    Notes
    -----
    Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.6. B is estimated from the same rows (empirical Bayes),
    unless `scale` is given. Diagonal covariances have one such prior per column (normal-inverse-gamma, d = 1), and
    spherical ones a single variance whose prior counts a rows of d cells.

    Examples
    --------
    >>> from suffice import GaussianDiscriminant, NormalInverseWishart
    >>> X, y = [[0.0], [1.0], [2.0], [9.0]], ["low", "low", "low", "high"]
    >>> model = GaussianDiscriminant(prior=NormalInverseWishart(strength=3.0)).fit(X, y)
    >>> model.predict([[1.5], [7.0]]).tolist()
    ['low', 'high']
    """

    strength: float | str = "loo"
    pooled: Any = None
    mean_strength: float = 0.0
    target: str = "total"
    mean: object = None
    scale: object = None

    def __post_init__(self) -> None:
        if isinstance(self.strength, str):
            if self.strength not in NAMED:
                raise SettingError.choice(_name("strength"), self.strength, ["a number of at least 0", *NAMED])
        else:
            _check_strength(_name("strength"), self.strength, endless=True)
        if self.pooled is None and not self.is_open:
            object.__setattr__(self, "pooled", POOLED)
        if self.pooled is not None and (not _is_number(self.pooled) or not 0.0 <= self.pooled <= 1.0):
            raise SettingError(
                f"{_name('pooled')}={self.pooled!r} is no number from 0 to 1. Next: leave it out, which is {POOLED} "
                "with a strength given, and chosen with it otherwise."
            )
        _check_strength(_name("mean_strength"), self.mean_strength)
        if self.target not in TARGETS:
            raise SettingError.choice(_name("target"), self.target, TARGETS)
        if self.mean is not None:
            object.__setattr__(self, "mean", _frozen(_numbers("mean", self.mean, (1,))))
            if self.mean_strength == 0:
                raise SettingError(
                    f"{_name('mean')}=...) has no effect with mean_strength=0. Next: say how many rows it counts for, "
                    "such as mean_strength=1."
                )
        if self.scale is not None:
            object.__setattr__(self, "scale", _frozen(_positive_definite(_numbers("scale", self.scale, (1, 2)))))
            if self.strength == "jeffreys":
                raise SettingError(
                    f'{_name("scale")}=...) has no part in strength="jeffreys". Next: give the strength as a number.'
                )

    @property
    def is_open(self) -> bool:
        """Whether the strength is left to leave-one-out."""
        return bool(self.strength == "loo")

    def settled(self) -> NormalInverseWishart:
        """Return the prior as it is where there is nothing to choose its strength by."""
        pooled = SETTLED[1] if self.pooled is None else self.pooled
        return replace(self, strength=SETTLED[0], pooled=pooled) if self.is_open else self

    @property
    def is_vague(self) -> bool:
        """Whether the prior adds nothing to a class's scatter, so that too few rows leave it singular."""
        return self.strength in ("jeffreys", 0)

    def check_columns(self, d: int) -> None:
        """Raise SettingError unless `mean` and `scale`, where given, have d columns."""
        for name in ("mean", "scale"):
            value = getattr(self, name)
            if value is not None and len(value) != d:
                raise SettingError(
                    f"{_name(name)}=...) has {len(value)} columns and the prior is asked about {d}. "
                    "Next: give one entry per Gaussian column, in the order of the table."
                )


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """A Dirichlet prior on the probabilities of levels (`smoothing=`) or of classes (`priors=`).

    As `priors=Dirichlet(α)` class k of K has the prior (n_k + α) / (N + α K); α = ½ is Jeffreys' rule.

    Parameters
    ----------
    strength : float of at least 0
        The weight of the prior: in pseudo-counts per level with base "uniform", in all with base "pooled".
    base : {"uniform", "pooled"}
        "uniform": p(l | k) = (n_kl + α) / (n_k + α L), α the strength and L the number of levels.
        "pooled": p(l | k) = (n_kl + t π_l) / (n_k + t), t the strength and π_l = (n_l + ½) / (N + ½ L) the share of
        level l in all classes together, L counting one spare level, which is what a category never seen gets.

    Examples
    --------
    >>> from suffice import Dirichlet, NaiveBayes
    >>> X, y = [["red"], ["red"], ["blue"], ["red"]], ["warm", "warm", "cold", "cold"]
    >>> model = NaiveBayes(smoothing=Dirichlet(2.0, base="pooled"), priors=Dirichlet(0.5)).fit(X, y)
    >>> model.probabilities_[0]["red"].round(4).tolist()
    [0.5682, 0.8182]
    """

    strength: float = 1.0
    base: str = "uniform"

    def __post_init__(self) -> None:
        _check_strength("Dirichlet(strength", self.strength)
        if self.base not in BASES:
            raise SettingError.choice("Dirichlet: base", self.base, BASES)


def check_prior(prior: object) -> None:
    """Raise SettingError unless `prior` is None or a NormalInverseWishart."""
    if prior is not None and not isinstance(prior, NormalInverseWishart):
        raise SettingError(f"prior={prior!r} is neither None nor a NormalInverseWishart. Next: import it from suffice.")


def smoothing_of(smoothing: object, column: object = None) -> Dirichlet:
    """Return the smoothing of a column as a Dirichlet: of a number α per level, a Dirichlet, or a dict by column.

    A dict names columns; those it leaves out are smoothed by 1. SettingError for anything else.
    """
    smoothing = smoothing.get(column, 1.0) if isinstance(smoothing, Mapping) else smoothing
    if isinstance(smoothing, Dirichlet):
        return smoothing
    if not _is_number(smoothing) or not 0.0 <= float(smoothing) < np.inf:
        raise SettingError(
            f"{setting('smoothing', smoothing)} must be a number of at least 0"
            f"{either(', a Dirichlet, or a dict of these by column', '')}. Next: 1.0 is Laplace's rule."
        )
    return Dirichlet(float(smoothing))


def plain_smoothing(smoothing: object) -> float | None:
    """Return the pseudo-count α that every level of every column gets, or None where they differ."""
    if isinstance(smoothing, Mapping):
        return None
    rule = smoothing_of(smoothing)
    return float(rule.strength) if rule.base == "uniform" else None


def check_smoothing(smoothing: object) -> None:
    """Raise SettingError unless `smoothing` is a finite number of at least 0, a Dirichlet, or a dict of these."""
    for value in smoothing.values() if isinstance(smoothing, Mapping) else [smoothing]:
        smoothing_of(value)


def pseudo_counts(smoothing: object, columns: Sequence[Name], pooled: Array) -> tuple[Array, Array]:
    """Return (strength, share), (d,) each, of columns that count one thing each; their product are pseudo-counts.

    `pooled` (d,) are the shares in all classes together; with the base "uniform" every share is 1.
    """
    if not isinstance(smoothing, Mapping):
        rule = smoothing_of(smoothing)
        return np.full(len(pooled), rule.strength), pooled if rule.base == "pooled" else np.ones(len(pooled))
    rules = [smoothing_of(smoothing, column) for column in columns]
    strength = np.array([rule.strength for rule in rules])
    return strength, np.where([rule.base == "pooled" for rule in rules], pooled, 1.0)


def posterior_counts(counts: Array, pseudo: Array) -> Array:
    """Return counts with their pseudo-counts, ½ each (Jeffreys' prior) where there are none."""
    return np.asarray(counts + np.where(pseudo > 0, pseudo, 0.5))


def reference_smoothing(smoothing: object, columns: Sequence[Name]) -> dict[Name, float | Dirichlet]:
    """Return the prior of each column: the Dirichlet that is given, and Jeffreys' ½ a level for plain numbers.

    A number smooths what is told, and is no belief: as a prior, 1 for each of twelve levels would count twelve rows.
    """
    given = smoothing if isinstance(smoothing, Mapping) else dict.fromkeys(columns, smoothing)
    return {column: own if isinstance(own := given.get(column), Dirichlet) else 0.5 for column in columns}


def draw_gamma(counts: Array, rng: np.random.RandomState) -> Array:
    """Return Gamma(counts, 1) draws above 0; their shares of a sum are Dirichlet."""
    return np.maximum(rng.standard_gamma(counts), np.finfo(np.float64).tiny)


def _name(argument: str) -> str:
    return f"NormalInverseWishart({argument}"


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _check_strength(name: str, value: object, *, endless: bool = False) -> None:
    if not _is_number(value) or not value >= 0.0 or (value == np.inf and not endless):
        raise SettingError(
            f"{name}={value!r} must be a number of at least 0{'' if endless else ', and finite'}. "
            "Next: it counts rows, so 1 is weak and 100 is strong."
        )


def _numbers(name: str, value: object, dimensions: tuple[int, ...]) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(())
    if array.ndim not in dimensions or not array.size or not np.isfinite(array).all():
        shape = "one finite number per column" + (", or a square matrix of them" if 2 in dimensions else "")
        raise SettingError(f"{_name(name)}={value!r} must be {shape}. Next: correct it.")
    return array


def _positive_definite(scale: Array) -> Array:
    square = np.diag(scale) if scale.ndim == 1 else scale
    if square.shape[0] != square.shape[1]:
        raise SettingError(f"{_name('scale')}=...) has the shape {square.shape}. Next: give a square matrix.")
    sd = np.sqrt(np.maximum(np.diagonal(square), 0.0))
    if (sd == 0).any():
        raise SettingError(f"{_name('scale')}=...) needs variances above 0. Next: correct its diagonal.")
    correlation = square / sd[:, None] / sd
    if np.abs(correlation - correlation.T).max() > 1e-8:
        raise SettingError(f"{_name('scale')}=...) is not symmetric. Next: give a covariance matrix.")
    if np.linalg.eigvalsh(correlation)[0] <= len(sd) * np.finfo(np.float64).eps:
        raise SettingError(
            f"{_name('scale')}=...) is not positive definite. Next: give one without exact collinearity."
        )
    return scale


def _frozen(array: Array) -> tuple[object, ...]:
    """Return an array as nested tuples, so that priors compare and hash."""
    return tuple(_frozen(part) for part in array) if array.ndim > 1 else tuple(array.tolist())


def class_log_prior(weight: Array, priors: object) -> Array:
    """Return log π (k,) in nats: class shares of the weight (None), equal ("uniform"), or the given numbers.

    A Dirichlet of strength α makes them (n_k + α) / (N + α K); classes have no pooled shares to be spread by.
    """
    if priors is None:
        shares = weight / weight.sum()
    elif isinstance(priors, Dirichlet):
        if priors.base != "uniform":
            raise SettingError(
                f"{setting('priors', priors)}: classes are the shares. Next: "
                + either('base="uniform", or None.', "a uniform base.")
            )
        shares = (weight + priors.strength) / (weight.sum() + priors.strength * len(weight))
    elif isinstance(priors, str):
        if priors != "uniform":
            raise SettingError.choice("priors", priors, PRIORS)
        shares = np.full(len(weight), 1.0 / len(weight))
    else:
        shares = check_priors(priors, len(weight))
    return log_of(shares)


def check_priors(priors: object, k: int) -> Array:
    """Return class priors as an array (k,); SettingError if they are not k probabilities that sum to one."""
    try:
        shares = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        raise SettingError.choice("priors", priors, PRIORS) from None
    if shares.shape != (k,):
        raise SettingError(
            f"{setting('priors')} has {shares.size} numbers and there are {k} classes. Next: give one per class."
        )
    if not np.isfinite(shares).all() or (shares < 0).any() or abs(shares.sum() - 1.0) > 1e-6:
        fit = np.isfinite(shares.sum()) and (shares >= 0).all() and shares.any()
        step = "divide them by their sum" if fit else "give every class one of at least 0"
        raise SettingError(
            f"{setting('priors', shares.tolist())} are not probabilities: they must be at least 0 and sum to 1, and "
            f"sum to {shares.sum():.6g}. Next: {step}."
        )
    return np.asarray(shares / shares.sum())


def weighted_priors(class_weight: object, classes: Sequence[Level], weight: Array) -> object:
    """Return class priors ∝ n_k · w_k for weights w by label, 1 where there is none; "balanced" is w_k ∝ 1 / n_k."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return "uniform"
    if not isinstance(class_weight, Mapping):
        raise SettingError.choice("class_weight", class_weight, (None, "balanced", "a dict by label"))
    strange = [label for label in class_weight if label not in set(classes)]
    if strange:
        raise SettingError(
            f"{setting('class_weight')} names {quoted(strange)}; the classes are {quoted(classes)}. Next: correct the "
            "labels."
        )
    try:
        own = np.array([class_weight.get(label, 1.0) for label in classes], dtype=np.float64)
    except (TypeError, ValueError):
        own = np.full(len(classes), np.nan)
    shares = own * weight
    if not (np.isfinite(shares) & (own >= 0)).all() or shares.sum() <= 0:
        raise SettingError(
            f"{setting('class_weight', class_weight)} must be finite numbers of at least 0, and some above 0. Next: "
            "give such a number for each label."
        )
    return shares / shares.sum()


def ordered_priors(priors: object, classes: Sequence[Level]) -> object:
    """Return class priors given by label as one number per class in order, others as they are."""
    if not isinstance(priors, Mapping):
        return priors
    if set(priors) != set(classes):
        raise SettingError(
            f"{setting('priors')} names {quoted(list(priors))}; the classes are {quoted(classes)}. Next: name each."
        )
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
        smooth = smooth_pooled if rule.base == "pooled" else _smooth
        own, limit, added = smooth(counts, rule.strength)
        log_p.append(log_of(own))
        limits.append(np.log(limit))
        pseudo.append(added)
    return Categorical(stats.levels, tuple(log_p), tuple(limits), tuple(pseudo))


def _smooth(counts: Array, strength: float) -> tuple[Array, Array, Array]:
    """Return p (k, levels + 1), with 0 replaced by the coefficient of α as α → 0, and pseudo-counts (levels + 1,)."""
    levels, seen = counts.shape[1], counts.sum(axis=1, keepdims=True)
    known, limit = smoothed_shares(counts, seen, strength, 1.0, levels)
    spare, spare_limit = smoothed_shares(np.zeros_like(seen), seen, strength, 1.0, levels + 1)
    pseudo = np.append(np.full(levels, strength), 0.0)
    return np.concatenate([known, spare], axis=1), np.concatenate([limit, spare_limit], axis=1), pseudo


def smooth_pooled(counts: Array, strength: float) -> tuple[Array, Array, Array]:
    """Return the same of a prior spread as the levels of all classes, with half a count for each and for a spare."""
    own = np.append(counts, np.zeros((len(counts), 1)), axis=1)
    share = pooled_shares(own)
    return *smoothed_shares(own, own.sum(axis=1, keepdims=True), strength, share, 1.0), strength * share


def pooled_shares(counts: Array) -> Array:
    """Return the shares (levels,) of counts (k, levels) in all classes together, with half a count for each."""
    return np.asarray((counts.sum(axis=0) + 0.5) / (counts.sum() + 0.5 * counts.shape[1]))


def smoothed_shares(
    count: Array, seen: Array, alpha: Array | float, own: Array | float, all_own: Array | float
) -> tuple[Array, Array]:
    """Return (count + α own) / (seen + α Σ own), and the same with each 0 replaced by the coefficient of α as α → 0.

    What was never seen has the share own / Σ own where α is 0.
    """
    informed = seen + alpha > 0
    p = np.where(informed, count + alpha * own, own) / np.where(informed, seen + alpha * all_own, all_own)
    least = np.finfo(np.float64).tiny  # so that the share of a total stays finite
    return p, np.where(p > 0, p, own / np.where(seen > 0, np.maximum(seen, least), 1.0))


# ── Shrinkage of covariances: settings, and rules for the amount (Ledoit-Wolf, OAS, RDA) ──────────────────────────────


@dataclass(frozen=True, slots=True)
class RDA:
    """Regularised discriminant analysis: covariances between one per class and one for all, then shrunk.

    Σ_k(λ) = ((1 − λ) S_k + λ S) / ((1 − λ) n_k + λ n), S_k class scatters, S their sum; then (1 − s) Σ_k(λ) + s T.
    `shared` is λ: 0 is quadratic, 1 linear discriminant analysis. `amount` is s (None: the least that makes the
    covariance usable) and `target` is T: "diagonal", diag Σ_k(λ), which does not depend on the columns' units, or
    "identity", the mean of its diagonal times I, as in Friedman (1989), doi:10.1080/01621459.1989.10478752.
    """

    shared: float = 0.0
    amount: float | None = None
    target: str = "diagonal"

    def __post_init__(self) -> None:
        _check_share("RDA(shared", self.shared)
        if self.amount is not None:
            _check_share("RDA(amount", self.amount)
        if self.target not in ("diagonal", "identity"):
            raise SettingError.choice("RDA: target", self.target, ("diagonal", "identity"))


RULES = ("ledoit-wolf", "oas")


def _check_share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= value <= 1.0:
        given = f"{name}={value!r})" if "(" in name else setting(name, value)
        raise SettingError(
            f"{given} is no number from 0 to 1. Next: give one, from 0 (none) to 1 (columns uncorrelated), "
            f"or {either('None', 'leave out --shrinkage')} for the least that works."
        )


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """How much to shrink.

    None is the least that makes the covariance usable, 0.0 forbids any, a number fixes it; "ledoit-wolf" and "oas"
    estimate it, on the correlation scale; an `RDA` also pools.
    """

    setting: str | float | RDA | None = None

    def __post_init__(self) -> None:
        if isinstance(self.setting, str):
            if self.setting not in RULES:
                raise SettingError.choice("shrinkage", self.setting, [None, "a number from 0 to 1", *RULES, "RDA(...)"])
        elif self.setting is not None and not isinstance(self.setting, RDA):
            _check_share("shrinkage", self.setting)

    @property
    def amount(self) -> float | None:
        """The fixed amount, or None where it is found from the data."""
        if isinstance(self.setting, str):
            return None
        return self.setting.amount if isinstance(self.setting, RDA) else self.setting

    @property
    def pooling(self) -> float:
        """How much of the pooled scatter each class takes."""
        return float(self.setting.shared) if isinstance(self.setting, RDA) else 0.0

    @property
    def spherical_target(self) -> bool:
        """Whether covariances are drawn to a multiple of the identity."""
        return isinstance(self.setting, RDA) and self.setting.target == "identity"

    @property
    def rule(self) -> str | None:
        """The name of the rule that finds the amount, if one does."""
        return self.setting if isinstance(self.setting, str) else None

    @property
    def forbidden(self) -> bool:
        """Whether a singular covariance is an error."""
        return not isinstance(self.setting, RDA) and self.amount == 0.0


@dataclass(frozen=True, slots=True)
class WholeRows:
    """Complete rows (m, d) that Ledoit-Wolf amounts are computed from, the class of each (m,) and its weight (m,)."""

    rows: Array
    codes: Codes
    weight: Array

    def in_columns(self, columns: Sequence[int]) -> WholeRows:
        """Return the same rows in some of their columns."""
        return WholeRows(self.rows[:, list(columns)], self.codes, self.weight)

    def _held(self, total: Array) -> Array:
        return np.bincount(self.codes, weights=self.weight, minlength=len(total)).astype(np.float64)

    def are_all(self, total: Array) -> bool:
        """Return whether there are no others, in classes of these weights (k,)."""
        return bool(np.allclose(self._held(total), total, rtol=SAME_WEIGHT, atol=0.0))

    def mean_norm(self, mean: Array, scale: Array, members: Sequence[int], total: Array) -> float:
        """Return the weighted mean of |(x − mean) / scale|⁴ over the rows of some classes, ∞ where none are here.

        `mean` is (k, d), `scale` (d,). Each class counts by its weight in all rows, `total` (k,).
        """
        held = self._held(total)
        own = np.isin(self.codes, members) & (self.weight > 0)
        codes = self.codes[own]
        if not len(codes):
            return np.inf
        z = (self.rows[own] - mean[codes]) / scale
        return float(np.average((z * z).sum(axis=1) ** 2, weights=self.weight[own] * (total / held)[codes]))

    def without(self, rows: Array, codes: Codes, weight: Array) -> WholeRows:
        """Return these rows without those of them that are equal to others (n, d) in cells and class."""
        left = self.weight.copy()
        for row, code, amount in zip(rows, codes, weight, strict=True):
            for i in np.flatnonzero((self.codes == code) & (self.rows == row).all(axis=1))[:1]:
                left[i] = max(left[i] - amount, 0.0) if amount < left[i] * (1.0 - SAME_WEIGHT) else 0.0
        return replace(self, weight=left)


def oas_amount(d: int, squares: float, weight: float) -> float:
    """Return the oracle approximating amount for a correlation matrix R (d, d) with Σ R² = `squares`.

    Chen, Wiesel, Eldar & Hero (2010), doi:10.1109/TSP.2010.2053029, in the form scikit-learn's `oas` has.
    """
    alpha = squares / d**2
    below = (weight + 1.0) * (alpha - 1.0 / d)
    return 1.0 if below == 0 else min((alpha + 1.0) / below, 1.0)


def ledoit_wolf_amount(d: int, squares: float, weight: float, norm: float) -> float:
    """Return the Ledoit-Wolf amount for a correlation matrix R with Σ R² = `squares` and mean |z|⁴ = `norm`.

    Ledoit & Wolf (2004), doi:10.1016/S0047-259X(03)00096-4, as scikit-learn's `ledoit_wolf` on standardised rows z.
    """
    apart = (squares - d) / d
    spread = min((norm - squares) / (d * weight), apart)
    return 0.0 if spread <= 0 or apart <= 0 else spread / apart
