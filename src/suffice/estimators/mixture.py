"""Mixture discriminant analysis: several Gaussians per class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MethodType
from typing import Any, ClassVar

from .._arrays import Array, Codes, np
from ..densities import STRUCTURES, Mixture
from ..em.starts import BIC
from ..errors import MergeError, SchemaError, SettingError, setting
from ..estimate import RDA, Block, Settings, Shrinkage
from ..estimate.families import GaussianFamily
from ..estimate.mixture import MixtureFamily
from ..learning.mixture import Components, MixtureFitted
from ..schema import Schema
from ..stats import MixtureStats
from ._state import COMPONENTS, COUNT, COVARIANCE, DIVISOR, MISSING, SHRINKAGE, TOLERANCE, Constraints, OneOf
from .base import GenerativeEstimator


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
        Seed of the starts. The same seed gives the same model, whatever the order of the rows.
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
        labels = [column.name for column in schema.columns if column.kind.is_label]
        if labels:
            raise SchemaError.needs_numbers(labels, type(self).__name__)
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
        gaussian = self._mixture.components
        inner, d = gaussian.covariance.dense(), gaussian.means.shape[1]
        outer = np.zeros((len(inner), d, d))
        outer[np.ix_(range(len(inner)), gaussian.used, gaussian.used)] = inner
        family = self._fitted.blocks[0].family
        assert isinstance(family, MixtureFamily)
        if family.inner.shared:
            return np.asarray(outer[0])
        each = self._by_class(outer)
        return [np.asarray(own[0]) for own in each] if family.within else each

    @property
    def n_iter_(self) -> int:
        """The most EM steps that any class took."""
        return int(self._known("n_iter_").statistics.block(0, MixtureStats).steps.max())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags
