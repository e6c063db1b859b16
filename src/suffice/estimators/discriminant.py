"""Gaussian discriminant analysis in all its special cases: QDA, LDA, diagonal, isotropic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if

from .._arrays import Array, np
from .._arrays_api import is_device_array, missing_columns, project
from ..densities import STRUCTURES, Gaussian, MultivariateT, StudentT
from ..errors import DataError, SchemaError, SettingError, quoted
from ..estimate import RDA, Block, Settings, Shrinkage
from ..estimate.bayes import matrices, plug_in
from ..estimate.families import GaussianFamily
from ..estimate.priors import check_prior
from ..schema import Schema
from ._chosen import PriorByLeaveOneOut, ShrinkageByLeaveOneOut
from ._queries import GenerativeEstimator
from ._states import question


def _is_shared(estimator: Any) -> bool:
    if not estimator._fitted_shared:
        raise AttributeError(
            "Discriminant coordinates and linear coefficients exist when all classes share one covariance. "
            "Next: fit with shared=True."
        )
    return True


class GaussianDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ShrinkageByLeaveOneOut, PriorByLeaveOneOut, GenerativeEstimator
):
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
        columns, per class or, when shared, about the class means. `suffice.RDA` also draws the class covariances
        towards the shared one. "loo" finds its amounts by leave-one-out over the kept rows (covariance="full" only),
        anew whenever the model has learned or forgotten rows; `leave_one_out` then holds them fixed.
    priors : None, "uniform", array (k,) in the order of `classes_`, dict by label, or Dirichlet
        Class priors; None takes the classes' shares of the weight, `suffice.Dirichlet(α)` adds α to the weight of
        each. Priors never change a covariance.
    divisor : {"mle", "unbiased"}
        Divide scatters by n_k (shared: n), the maximum-likelihood estimate, or by n_k − 1 (shared: n − K).
    prior : None or NormalInverseWishart
        A conjugate prior on the mean and covariance of each class. Rows are then scored by the posterior predictive, a
        Student t, and classes of few rows, or none, have a density; see `suffice.NormalInverseWishart`. It takes the
        place of `shrinkage`, and `divisor` plays no part.
    missing : {"em", "error"}
        Missing cells (NaN, null): maximum likelihood given the observed cells, by EM, taking them to be missing at
        random; or a DataError.
    keep_rows : int
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

    def __init__(
        self,
        covariance: str = "full",
        *,
        shared: bool = False,
        shrinkage: Any = None,
        priors: Any = None,
        divisor: str = "mle",
        missing: str = "em",
        prior: Any = None,
        keep_rows: int = 2000,
    ) -> None:
        self.covariance = covariance
        self.shared = shared
        self.shrinkage = shrinkage
        self.priors = priors
        self.divisor = divisor
        self.missing = missing
        self.prior = prior
        self.keep_rows = keep_rows

    def _validate_settings(self) -> None:
        super()._validate_settings()
        if self.covariance not in list(STRUCTURES):
            raise SettingError.choice("covariance", self.covariance, STRUCTURES)
        if self.divisor not in ("mle", "unbiased"):
            raise SettingError.choice("divisor", self.divisor, ("mle", "unbiased"))
        if self.missing not in ("em", "error"):
            raise SettingError.choice("missing", self.missing, ("em", "error"))
        if self._by_loo:
            self._check_loo()
        setting = self._settings().shrinkage
        check_prior(self.prior)
        if self.prior is not None and self.shrinkage is not None:
            raise SettingError(
                f"shrinkage={self.shrinkage!r} and prior={self.prior!r} both say how to estimate the covariances. "
                "Next: give one of them."
            )
        if self.shared and setting.pooling > 0:
            raise SettingError(
                f"shared=True and shrinkage={self.shrinkage!r} both pool the covariances. Next: leave shared=False; "
                "RDA(shared=1.0) is the fully shared case."
            )

    def _settings(self) -> Settings:
        rule = Shrinkage(RDA() if self._by_loo else self.shrinkage)
        return Settings(divisor=self.divisor, shrinkage=rule, prior=self.prior)

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        labels = [column.name for column in schema.columns if column.kind.is_label]
        if labels:
            raise SchemaError.needs_numbers(labels, type(self).__name__)
        fourth = self.covariance == "full" and self._settings().shrinkage.rule == "ledoit-wolf"
        family = GaussianFamily(structure=STRUCTURES[self.covariance], shared=bool(self.shared), fourth=fourth)
        return (Block(family, tuple(range(len(schema)))),)

    def _check_missing(self, rows: Sequence[Any], plan: Sequence[Block]) -> None:
        if self.missing != "error":
            return
        empty = np.flatnonzero(missing_columns(rows[0]))
        if len(empty):
            names = [self._column_name(int(j)) for j in empty]
            raise DataError(
                f'Input X contains NaN: cells are missing in {quoted(names)}, and missing="error" forbids that. '
                'Next: fill them in, or use missing="em".'
            )

    @property
    def _fitted_shared(self) -> bool:
        """Whether the covariance is shared: as fitted, or as set where nothing is fitted yet."""
        family = self._blocks[0].family if "_blocks" in vars(self) else None
        return family.shared if isinstance(family, GaussianFamily) else bool(self.shared)

    def _column_name(self, position: int) -> Any:
        return self._schema.names[position] if hasattr(self, "_schema") else position

    # --- parameters --------------------------------------------------------------------------------------------------

    @property
    def _gaussian(self) -> Gaussian:
        """The class densities; under a prior, those of the posterior means of μ and Σ."""
        density = self.model_.density.blocks[0]
        if isinstance(density, Gaussian):
            return density
        assert isinstance(density, MultivariateT | StudentT)
        return plug_in(density, self.statistics_.blocks[0].column_weight(), self.prior)

    @property
    @question
    def means_(self) -> Array:
        """Class means (k, d); under a prior, their posterior means."""
        return self._gaussian.means

    @property
    @question
    def covariances_(self) -> Array:
        """Class covariances (k, d, d), or the shared one (d, d), as used: after any shrinkage.

        Under a prior these are posterior means, E[Σ_k] = A_k / (ν_k − 2), infinite where ν_k is 2 or less.
        """
        gaussian = self._gaussian
        k, d = gaussian.means.shape
        inner = matrices(gaussian.covariance)
        outer = np.zeros((1 if self._fitted_shared else k, d, d))
        outer[np.ix_(range(len(outer)), gaussian.used, gaussian.used)] = inner[: len(outer)]
        return outer[0] if self._fitted_shared else outer

    def _origin(self) -> Array:
        """Return where linear scores are zero (d,), but for the prior: the mean of the class means."""
        return np.asarray(self._gaussian.means.mean(axis=0))

    def _linear(self, origin: Array | None = None) -> tuple[Array, Array]:
        """Return w (k, d) and b (k,) of log p(x, k) − log N(x; origin, Σ) = x·w_k + b_k.

        Their softmax is the posterior. About a point amid the classes the scores are small, and lose no digits.
        """
        _is_shared(self)
        if self.prior is not None:
            raise AttributeError(
                "Under a prior the densities are Student t, whose log odds are not linear in x, so that there is no "
                "coef_ or intercept_. Next: fit with prior=None for linear discriminant analysis."
            )
        gaussian, start = self._gaussian, self._origin() if origin is None else origin
        used = list(gaussian.used)
        shift, coefficients = (gaussian.means - start)[:, used], np.zeros_like(gaussian.means)
        inner = coefficients[:, used] = gaussian.covariance.solve(shift)
        return coefficients, self.model_.log_prior - np.einsum("kd,kd->k", inner, start[used] + shift / 2.0)

    def _linear_scores(self, X: Any, origin: Array) -> Array:
        """Return x·w_k + b_k (n, k) about a point; a row's missing cells are integrated out of both densities."""
        rows, (coefficients, intercepts) = self._rows(X)[0], self._linear(origin)
        scores = np.asarray(rows @ coefficients.T)
        scores += intercepts
        holes = np.flatnonzero(np.isnan(scores).any(axis=1))
        if len(holes):
            common = replace(self._gaussian, means=origin[None]).log_density(rows[holes])
            scores[holes] = self.model_.log_joint((rows[holes],)) - common
        return scores

    @property
    @question
    def coef_(self) -> Array:
        """Linear coefficients (k, d), or (1, d) for two classes, where they are Σ⁻¹(μ₁ − μ₀)."""
        coefficients, _ = self._linear()
        return coefficients[1:] - coefficients[:1] if len(coefficients) == 2 else coefficients

    @property
    @question
    def intercept_(self) -> Array:
        """Linear intercepts (k,), or (1,) for two classes."""
        _, intercepts = self._linear()
        return intercepts[1:] - intercepts[:1] if len(intercepts) == 2 else intercepts

    # --- discriminant coordinates ------------------------------------------------------------------------------------

    @question
    def transform(self, X: Any) -> Any:
        """Return discriminant coordinates (n, min(k − 1, d)).

        x ↦ (x − x̄) Σ^(−1/2) V, x̄ the prior-weighted mean of the class means.
        Within classes the coordinates are uncorrelated
        with variance 1; the axes are ordered by the variance between classes (Fisher's criterion). Each axis points
        to the side of the class mean farthest from the centre. A row with a missing cell gets NaN.
        """
        gaussian, prior = self._gaussian, self.priors_
        used = list(gaussian.used)
        center = (prior @ gaussian.means)[used]
        white = gaussian.covariance.whiten(gaussian.means[:, used] - center)
        _, _, axes = np.linalg.svd(np.sqrt(prior)[:, None] * white, full_matrices=False)
        axes = axes[: self._n_features_out]
        reach = white @ axes.T
        side = np.sign(reach[np.abs(reach).argmax(axis=0), np.arange(len(axes))])
        (rows,) = self._rows(X, resident=True)
        if is_device_array(rows):
            factor = gaussian.covariance.whiten(np.eye(len(used))) @ (axes * side[:, None]).T
            return project(rows, used, center, factor)
        return gaussian.covariance.whiten(rows[:, used] - center) @ (axes * side[:, None]).T

    @property
    def _n_features_out(self) -> int:
        return min(len(self.statistics_.classes) - 1, len(self._gaussian.used))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.array_api_support = True
        if not self._fitted_shared:
            tags.transformer_tags = None
        return tags


for _name in ("transform", "fit_transform", "get_feature_names_out", "set_output"):
    setattr(GaussianDiscriminant, _name, available_if(_is_shared)(getattr(GaussianDiscriminant, _name)))
