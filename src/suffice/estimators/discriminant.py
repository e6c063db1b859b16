"""Gaussian discriminant analysis in all its special cases: QDA, LDA, diagonal, isotropic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if

from .._arrays import Array, np
from .._arrays_api import is_device_array, project
from ..densities import STRUCTURES
from ..errors import SchemaError, SettingError, either, setting
from ..estimate import RDA, Block, NormalInverseWishart, Settings, Shrinkage
from ..estimate.families import GaussianFamily
from ..fitted import Fitted
from ..questions.linear import covariances, gaussian_of, linear, middle, prior_of
from ..schema import Schema
from ._state import COVARIANCE, DIVISOR, MISSING, PRIOR, SHRINKAGE_OR_LOO, Constraints
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
        labels = [column.name for column in schema.columns if column.kind.is_label]
        if labels:
            raise SchemaError.needs_numbers(labels, type(self).__name__)
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
