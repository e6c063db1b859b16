"""Gaussian discriminant analysis in all its special cases: QDA, LDA, diagonal, isotropic; mixtures of Gaussians."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MethodType
from typing import Any, ClassVar

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if

from .._arrays import Array, Codes, np
from .._arrays_api import is_device_array, project
from ..densities import STRUCTURES, Mixture
from ..errors import MergeError, SchemaError, SettingError, either, setting
from ..estimate import RDA, Block, NormalInverseWishart, Settings, Shrinkage
from ..estimate.families import GaussianFamily
from ..estimate.mixture import MixtureFamily
from ..estimate.mixture_starts import BIC
from ..fitted import Fitted
from ..learning.fit import Components, MixtureFitted
from ..questions.linear import covariances, gaussian_of, linear, middle, prior_of
from ..schema import Schema
from ..stats import MixtureStats
from ._state import (
    COMPONENTS,
    COUNT,
    COVARIANCE,
    DIVISOR,
    MISSING,
    PRIOR,
    SHRINKAGE,
    SHRINKAGE_OR_LOO,
    TOLERANCE,
    Constraints,
    OneOf,
)
from .base import GenerativeEstimator


def _is_shared(estimator: GaussianDiscriminant) -> bool:
    if not estimator._fitted_shared:
        raise AttributeError(
            "Discriminant coordinates and linear coefficients exist when all classes share one covariance. "
            f"Next: fit with {either('shared=True', '--model shared')}."
        )
    return True


def _check_loo(estimator: GaussianDiscriminant) -> None:
    if not estimator._by_loo:
        return
    if estimator.covariance != "full":
        raise SettingError(
            f"{setting('shrinkage', 'loo')} chooses how far correlations shrink, and "
            f"{setting('covariance', estimator.covariance)} has none. Next: use {setting('covariance', 'full')}, or "
            f"{either('leave shrinkage=None', 'leave out --shrinkage')}."
        )
    if not estimator.keep_rows:
        raise SettingError(
            f"{setting('shrinkage', 'loo')} judges by rows that are kept, and {setting('keep_rows', 0)} keeps none. "
            f"Next: leave {setting('keep_rows', 2000)}, or give "
            f"{either('the amounts: shrinkage=RDA(...)', 'an amount')}."
        )


def _check_one_estimate(estimator: GaussianDiscriminant) -> None:
    if estimator.prior is not None and estimator.shrinkage is not None:
        raise SettingError(
            f"{setting('shrinkage', estimator.shrinkage)} and {setting('prior', estimator.prior)} both say how to "
            "estimate the covariances. Next: give one of them."
        )


def _check_one_pooling(estimator: GaussianDiscriminant) -> None:
    if estimator.shared and estimator._settings().shrinkage.pooling > 0:
        raise SettingError(
            f"{either('shared=True', '--model shared')} and {setting('shrinkage', estimator.shrinkage)} both pool the "
            "covariances. Next: "
            f"{either('leave shared=False; RDA(shared=1.0) is the fully shared case', 'choose another --model')}."
        )


def _refuse_labels(schema: Schema, estimator: GenerativeEstimator) -> None:
    labels = [column.name for column in schema.columns if column.kind.is_label]
    if labels:
        raise SchemaError.needs_numbers(labels, type(estimator).__name__)


class GaussianDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GenerativeEstimator):
    """Classify by one Gaussian per class: p(x, y = k) = π_k N(x; μ_k, Σ_k).

    Parameters
    ----------
    covariance : {"full", "diagonal", "spherical"}
        Structure of Σ. Full with separate classes is quadratic discriminant analysis; diagonal is Gaussian naive
        Bayes; spherical is the isotropic case, whose boundary between two classes of equal prior bisects the means.
    shared : bool
        One Σ for all classes: linear discriminant analysis, with `coef_`, `intercept_` and `transform`.
    shrinkage : None, float from 0 to 1, "ledoit-wolf", "oas", "loo" or RDA
        Σ_s = (1 − s) Σ + s diag(Σ), which scales every correlation by 1 − s and does not depend on units. None: the
        least that makes Σ usable (usually 0), recorded in `notes_`. 0.0: none, and SingularCovarianceError if singular.
        "ledoit-wolf" and "oas" estimate s on the correlation scale: the amounts scikit-learn finds on standardised
        columns, per class or, when shared, about the class means; "ledoit-wolf" from the kept rows, exactly while these
        are all. `suffice.RDA` also draws the class covariances
        towards the shared one. "loo" finds its amounts by leave-one-out over the kept rows (covariance="full" only),
        anew whenever the model has learned or forgotten rows; `leave_one_out` then holds them fixed.
    priors : None, "uniform", array (k,) in the order of `classes_`, dict by label, or Dirichlet
        Class priors; None takes the classes' shares of the weight, `suffice.Dirichlet(α)` adds α to the weight of
        each. Priors never change a covariance.
    class_weight : None, "balanced" or dict by label
        Class priors in scikit-learn's words, in place of `priors`: each class's share times its weight, 1 where a label
        has none; "balanced" makes them equal. Nothing else is weighted: what is learned of each class stays as it is.
    divisor : {"mle", "unbiased"}
        Divide scatters by n_k (shared: n), the maximum-likelihood estimate, or by n_k − 1 (shared: n − K).
    prior : None or NormalInverseWishart
        A conjugate prior on the mean and covariance of each class. Rows are then scored by the posterior predictive, a
        Student t, and classes of few rows, or none, have a density; see `suffice.NormalInverseWishart`. It takes the
        place of `shrinkage`, and `divisor` plays no part.
    missing : {"em", "error"}
        Missing cells (NaN, null): maximum likelihood given the observed cells, by EM, taking them to be missing at
        random; or a DataError.
    keep_rows : int, a size such as "256MiB", of 8 bytes a cell, or "all"
        How many rows the statistics hold as they came, chosen by a hash of their contents, beside the sums of all rows:
        what is left out and scored one at a time needs rows. 0 keeps none, so that a model file shows no single row.

    Attributes
    ----------
    classes_ : array (k,)
        Class labels, in the order of every result's columns.
    priors_ : array (k,)
        Class priors π.
    means_ : array (k, d)
        Class means μ.
    covariances_ : array (k, d, d), or (d, d) when shared
        Covariances Σ. A column that never varies has zeros.
    coef_ : array (k, d), or (1, d) for two classes
        Only when shared, without a prior: posterior = softmax(X @ coef_.T + intercept_), for two classes the sigmoid.
    intercept_ : array (k,), or (1,) for two classes
        As `coef_`.
    shrinkage_ : RDA
        Only when shrinkage="loo": the amounts it chose.
    prior_ : NormalInverseWishart
        Only under a prior: with the strength that was given, or that leave-one-out chose.
    n_features_in_ : int
        The number of columns; `feature_names_in_`, an array (d,), has their names where they have any.
    n_iter_ : int
        EM steps by which rows without a label joined, where there were such rows.
    statistics_ : ByClass
        The sufficient statistics, from which everything else is estimated.
    model_ : JointModel
        The joint model p(x, y).
    notes_ : list of Note
        What was repaired, by how much and why.

    See Also
    --------
    NaiveBayes : Columns of all kinds, independent given the class.
    MixtureDiscriminant : Several Gaussians per class.
    GenerativeClassifier : No settings.

    References
    ----------
    Hastie, Tibshirani & Friedman, The Elements of Statistical Learning (2nd ed.), section 4.3. Friedman (1989),
    doi:10.1080/01621459.1989.10478752, for shrinkage.

    Examples
    --------
    >>> from suffice import GaussianDiscriminant
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"]
    >>> GaussianDiscriminant(shared=True).fit(X, y).predict([[0.2], [float("nan")]]).tolist()
    ['low', 'high']
    """

    _constraints: ClassVar[Constraints] = {
        **GenerativeEstimator._constraints,
        "covariance": COVARIANCE,
        "divisor": DIVISOR,
        "missing": MISSING,
        "shrinkage": SHRINKAGE_OR_LOO,
        "prior": PRIOR,
    }
    _rules = (_check_loo, _check_one_estimate, _check_one_pooling)

    def __init__(
        self,
        covariance: str = "full",
        *,
        shared: bool = False,
        shrinkage: str | float | RDA | None = None,
        priors: object = None,
        class_weight: object = None,
        divisor: str = "mle",
        missing: str = "em",
        prior: NormalInverseWishart | None = None,
        keep_rows: int | str = 2000,
    ) -> None:
        self.covariance = covariance
        self.shared = shared
        self.shrinkage = shrinkage
        self.priors = priors
        self.class_weight = class_weight
        self.divisor = divisor
        self.missing = missing
        self.prior = prior
        self.keep_rows = keep_rows

    @property
    def _by_loo(self) -> bool:
        return isinstance(self.shrinkage, str) and self.shrinkage == "loo"

    def _settings(self, schema: Schema | None = None) -> Settings:
        return replace(
            super()._settings(schema),
            divisor=self.divisor,
            shrinkage=Shrinkage(RDA() if self._by_loo else self.shrinkage),
            prior=self.prior,
            by_loo=self._by_loo,
            missing=self.missing,
        )

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        _refuse_labels(schema, self)
        family = GaussianFamily(structure=STRUCTURES[self.covariance], shared=bool(self.shared))
        return (Block(family, tuple(range(len(schema)))),)

    @property
    def _fitted_shared(self) -> bool:
        """Whether the covariance is shared: as fitted, or as set where nothing is fitted yet."""
        family = None if self._learned is None else self._learned.blocks[0].family
        return family.shared if isinstance(family, GaussianFamily) else bool(self.shared)

    # --- parameters --------------------------------------------------------------------------------------------------

    @property
    def shrinkage_(self) -> RDA:
        """The amounts chosen by leave-one-out; AttributeError unless fitted with shrinkage="loo"."""
        learned = self._learned
        chosen = None if learned is None else learned.choices.shrinkage
        if chosen is None:
            raise AttributeError('shrinkage_ exists once a model is fitted with shrinkage="loo".')
        return chosen

    @property
    def prior_(self) -> NormalInverseWishart:
        """The prior as used, its strength chosen by leave-one-out if it was left open; AttributeError without one."""
        return prior_of(self._learned)

    @property
    def means_(self) -> Array:
        """Class means (k, d); under a prior, their posterior means."""
        return gaussian_of(self._fitted).means

    @property
    def covariances_(self) -> Array:
        """Class covariances (k, d, d), or the shared one (d, d), as used: after any shrinkage.

        Under a prior these are posterior means, E[Σ_k] = A_k / (ν_k − 2), infinite where ν_k is 2 or less.
        """
        return covariances(self._fitted, self._fitted_shared)

    def _linear(self) -> tuple[Array, Array]:
        """Return w (k, d) and b (k,) of the linear scores; AttributeError where there are none."""
        _is_shared(self)
        fitted = self._fitted
        return linear(fitted, self._origin_of(fitted))

    def _origin_of(self, fitted: Fitted) -> Array:
        """Return where linear scores are zero (d,), but for the prior."""
        return middle(fitted)

    @property
    def coef_(self) -> Array:
        """Linear coefficients (k, d), or (1, d) for two classes, where they are Σ⁻¹(μ₁ − μ₀)."""
        coefficients, _ = self._linear()
        return coefficients[1:] - coefficients[:1] if len(coefficients) == 2 else coefficients

    @property
    def intercept_(self) -> Array:
        """Linear intercepts (k,), or (1,) for two classes."""
        _, intercepts = self._linear()
        return intercepts[1:] - intercepts[:1] if len(intercepts) == 2 else intercepts

    # --- discriminant coordinates ------------------------------------------------------------------------------------

    def transform(self, X: object) -> Any:
        """Return discriminant coordinates (n, min(k − 1, d)).

        x ↦ (x − x̄) Σ^(−1/2) V, x̄ the prior-weighted mean of the class means.
        Within classes the coordinates are uncorrelated
        with variance 1; the axes are ordered by the variance between classes (Fisher's criterion). Each axis points
        to the side of the class mean farthest from the centre. A row with a missing cell gets NaN.
        """
        fitted = self._fitted
        gaussian, prior = gaussian_of(fitted), np.exp(fitted.joint.log_prior)
        used = list(gaussian.used)
        center = (prior @ gaussian.means)[used]
        white = gaussian.covariance.whiten(gaussian.means[:, used] - center)
        _, _, axes = np.linalg.svd(np.sqrt(prior)[:, None] * white, full_matrices=False)
        axes = axes[: self._n_features_out]
        reach = white @ axes.T
        side = np.sign(reach[np.abs(reach).argmax(axis=0), np.arange(len(axes))])
        (rows,) = fitted.rows(X, resident=True)
        if is_device_array(rows):
            factor = gaussian.covariance.whiten(np.eye(len(used))) @ (axes * side[:, None]).T
            return project(rows, used, center, factor)
        return gaussian.covariance.whiten(rows[:, used] - center) @ (axes * side[:, None]).T

    @property
    def _n_features_out(self) -> int:
        return min(len(self.statistics_.classes) - 1, len(gaussian_of(self._fitted).used))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.array_api_support = self.covariance == "full"
        if not self._fitted_shared:
            tags.transformer_tags = None
        return tags


for _name in ("transform", "fit_transform", "get_feature_names_out", "set_output"):
    setattr(GaussianDiscriminant, _name, available_if(_is_shared)(getattr(GaussianDiscriminant, _name)))


# ── Mixture discriminant analysis: several Gaussians per class ────────────────────────────────────────────────────────


class _NotMergeableError(MergeError, AttributeError):
    """A MergeError for tools that ask whether there is a `partial_fit`, to which this says no."""


class _IfMergeable:
    """A method that exists only where every class is one component, and says why where it does not."""

    def __init__(self, method: Callable[..., Any], what: str) -> None:
        self.method = method
        self.what = what
        self.__doc__ = method.__doc__

    def __get__(self, instance: MixtureDiscriminant | None, owner: type) -> Callable[..., Any]:
        if instance is None:
            return self.method
        if not Components(instance.n_components).are_single:
            raise _NotMergeableError(str(MergeError.mixture(self.what)))
        return MethodType(self.method, instance)


def _check_shrinkage(estimator: MixtureDiscriminant) -> None:
    chosen = estimator._settings().shrinkage
    if chosen.rule == "ledoit-wolf":
        raise SettingError(
            "shrinkage='ledoit-wolf' needs to know which rows a covariance is made of, and a mixture shares rows "
            "among components. Next: use shrinkage='oas' or a number."
        )
    if chosen.pooling and estimator.shared:
        raise SettingError(
            f"{setting('shared', estimator.shared)} and {setting('shrinkage', estimator.shrinkage)} both pool the "
            f"covariances. Next: leave {setting('shared', False)}."
        )


PRIOR_ROWS = 0.5  # for each column and two more, the prior degrees of freedom of Fraley & Raftery


class MixtureDiscriminant(GenerativeEstimator):
    """Classify by a mixture of Gaussians per class: p(x, y = k) = π_k Σ_m w_km N(x; μ_km, Σ_km), fitted by EM.

    Parameters
    ----------
    n_components : int, "bic", or dict {label: int or "bic"}
        Components per class. "bic" takes the number, up to `max_components`, with the least Bayesian information
        criterion, class by class. One component everywhere is `GaussianDiscriminant`, exactly.
    covariance : {"full", "diagonal", "spherical"}
        Structure of each Σ.
    shared : {False, "class", True}
        A Σ for every component, one for the components of each class, or one for all (Hastie & Tibshirani's MDA).
    shrinkage, priors, class_weight, divisor, missing
        As for `GaussianDiscriminant`, but for shrinkage="ledoit-wolf", which mixtures do not have. Missing cells join
        the EM: each is as unknown as the row's component.
    max_components : int
        Where "bic" stops looking.
    n_init : int
        Short climbs for each class and number of components, of which the most likely goes to the end. Each is the
        most likely of about four starts after ten steps: k-means, and seeded centres (k-means++) in standard units and
        with the class's correlations taken out, whence parts that lie across each other are found as well.
    max_iter, tol
        EM stops after `max_iter` steps, or when one gains less than `tol` nats per row.
    random_state : None, int or RandomState
        Seed of the starts. The same seed gives the same model, whatever the order of rows and the names of classes.
    keep_rows : int, a size such as "256MiB", of 8 bytes a cell, or "all"
        How many rows the statistics hold as they came, chosen by a hash of their contents, beside the sums of all rows:
        what is left out and scored one at a time needs rows. 0 keeps none, so that a model file shows no single row.

    Attributes
    ----------
    classes_ : array (k,)
        Class labels, in the order of every result's columns.
    priors_ : array (k,)
        Class priors π.
    n_components_ : array (k,)
        Components of each class.
    weights_ : list of arrays (m,)
        Weights of the components of each class, from heaviest to lightest.
    means_ : list of arrays (m, d)
        Their means.
    covariances_ : list of arrays (m, d, d); of (d, d) when shared="class"; one array (d, d) when shared=True
        Their covariances.
    n_iter_ : int
        Most EM steps of any class.
    n_features_in_ : int
        The number of columns; `feature_names_in_`, an array (d,), has their names where they have any.
    statistics_ : ByClass
        The sufficient statistics, from which everything else is estimated.
    model_ : JointModel
        The joint model p(x, y).
    notes_ : list of Note
        What was repaired, by how much and why.

    See Also
    --------
    GaussianDiscriminant : One Gaussian per class.
    GenerativeClassifier : No settings.

    Notes
    -----
    A component that collapses (fewer rows than its covariance needs, or no spread in some direction) is left out and
    noted, unless another start avoids it. `partial_fit`, `merge` and `forget` are a MergeError unless `n_components=1`:
    which component a row belongs to depends on all rows. Fit on all of them instead. `drop_class`, `rename_classes` and
    `decay` work; classes renamed to one keep the components of both.

    References
    ----------
    Hastie & Tibshirani (1996), doi:10.1111/j.2517-6161.1996.tb02073.x. Fraley & Raftery (2002),
    doi:10.1198/016214502760047131, for BIC.

    Examples
    --------
    >>> from suffice import MixtureDiscriminant
    >>> X, y = [[0.0], [0.2], [0.1], [9.0], [9.3], [9.1], [4.0], [5.0], [6.0]], ["ends"] * 6 + ["middle"] * 3
    >>> model = MixtureDiscriminant({"ends": 2, "middle": 1}, random_state=0).fit(X, y)
    >>> model.predict([[0.4], [4.5], [8.8]]).tolist()
    ['ends', 'middle', 'ends']
    """

    _kind = MixtureFitted
    _constraints: ClassVar[Constraints] = {
        **GenerativeEstimator._constraints,
        "covariance": COVARIANCE,
        "shared": OneOf((False, "class", True)),
        "divisor": DIVISOR,
        "missing": MISSING,
        **dict.fromkeys(("max_components", "n_init", "max_iter"), COUNT),
        "tol": TOLERANCE,
        "n_components": COMPONENTS,
        "shrinkage": SHRINKAGE,
    }
    _rules = (_check_shrinkage,)

    def __init__(
        self,
        n_components: object = BIC,
        *,
        covariance: str = "full",
        shared: bool | str = False,
        shrinkage: str | float | RDA | None = None,
        priors: object = None,
        class_weight: object = None,
        divisor: str = "mle",
        missing: str = "em",
        max_components: int = 5,
        n_init: int = 3,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: object = None,
        keep_rows: int | str = 2000,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.shared = shared
        self.shrinkage = shrinkage
        self.priors = priors
        self.class_weight = class_weight
        self.divisor = divisor
        self.missing = missing
        self.max_components = max_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.keep_rows = keep_rows

    def _settings(self, schema: Schema | None = None) -> Settings:
        rule = Shrinkage(self.shrinkage)
        return replace(super()._settings(schema), divisor=self.divisor, shrinkage=rule, missing=self.missing)

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        _refuse_labels(schema, self)
        inner = GaussianFamily(structure=STRUCTURES[self.covariance], shared=self.shared is True)
        wanted = self.n_components.values() if isinstance(self.n_components, Mapping) else [self.n_components]
        chosen = BIC in list(wanted) and not self.shared and self.shrinkage is None
        prior = PRIOR_ROWS * (len(schema) + 2.0) if chosen else 0.0
        family = MixtureFamily(inner=inner, within=self.shared == "class", prior=prior)
        return (Block(family, tuple(range(len(schema)))),)

    def _particulars(self) -> dict[str, object]:
        counts = (int(self.max_components), int(self.n_init), int(self.max_iter))
        return {"components": Components(self.n_components, self.random_state, *counts, float(self.tol))}

    partial_fit = _IfMergeable(GenerativeEstimator.partial_fit, "take in more rows")
    forget = _IfMergeable(GenerativeEstimator.forget, "forget rows")

    # --- parameters --------------------------------------------------------------------------------------------------

    @property
    def _mixture(self) -> Mixture:
        density = self.model_.density.blocks[0]
        assert isinstance(density, Mixture)
        return density

    def _by_class(self, values: Array) -> list[Array]:
        """Split an array over components by class, components from heaviest to lightest."""
        mixture = self._mixture
        order = np.lexsort((-mixture.log_weight, mixture.owner))
        bounds = np.searchsorted(mixture.owner, np.arange(1, mixture.k))
        return list(np.split(values[order], bounds))

    @property
    def n_components_(self) -> Codes:
        """The number of components of each class (k,)."""
        return np.bincount(self._mixture.owner)

    @property
    def weights_(self) -> list[Array]:
        """The weights of the components, one array (m,) per class, each summing to one."""
        return self._by_class(np.exp(self._mixture.log_weight))

    @property
    def means_(self) -> list[Array]:
        """The means of the components, one array (m, d) per class."""
        return self._by_class(self._mixture.components.means)

    @property
    def covariances_(self) -> list[Array] | Array:
        """The covariances as used: a list of (m, d, d), of (d, d) for shared="class", or (d, d) for shared=True."""
        found = self._mixture.components.covariances()
        family = self._fitted.blocks[0].family
        assert isinstance(family, MixtureFamily)
        if family.inner.shared:
            return np.asarray(found[0])
        each = self._by_class(found)
        return [np.asarray(own[0]) for own in each] if family.within else each

    @property
    def n_iter_(self) -> int:
        """The most EM steps that any class took."""
        return int(self._known("n_iter_").statistics.block(0, MixtureStats).steps.max())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags
