"""The five naive Bayes classifiers with the parameters and attributes of scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, cast

from .._arrays import Array, log_of, np
from .._derived import derived
from ..densities import Diagonal, Gaussian, Product
from ..densities.counts import CountDensity, Linear
from ..errors import SettingError
from ..estimate import Block, Family, Settings, Shrinkage
from ..estimate.families import BernoulliFamily, CategoricalFamily
from ..estimate.priors import smoothing_of
from ..estimators import NaiveBayes
from ..estimators._state import rows_wanted
from ..notes import Kind, Note
from ..schema import Name, Schema
from ..stats import GaussianStats, SumStats
from ._common import DropIn, DropInFitted, attribute

HARDLY = 1e-6  # of a variance, by which the law of distances still holds to about six digits


class _NaiveBayes(DropIn, NaiveBayes):
    class_count_ = attribute("the weight of each class (k,)", lambda model: model.statistics_.weight.copy())


@dataclass(frozen=True, eq=False)
class GaussianFitted(DropInFitted):
    """Gaussian columns whose variances are raised by `var_smoothing` × the largest variance of a column."""

    var_smoothing: float = 0.0

    def _estimate(self) -> tuple[Product, tuple[Note, ...]]:
        product, notes = super()._estimate()
        gaussian, stats = cast(Gaussian, product.blocks[0]), self.statistics.block(0, GaussianStats)
        whole = stats.regroup(np.zeros(len(self.statistics.classes), dtype=np.int64), 1)
        overall = whole.scatter.values / np.where(whole.weight > 0, whole.weight, 1.0)
        epsilon = self.var_smoothing * float(overall.max())
        if epsilon == 0:
            return product, notes
        seen = stats.weight > 0
        variance = np.where(seen, stats.scatter.values / np.where(seen, stats.weight, 1.0), overall) + epsilon
        every = tuple(range(len(self.schema)))
        hardly = gaussian.used == every and epsilon <= HARDLY * float(variance.min())
        divisor = gaussian.divisor if hardly else None
        smooth = Gaussian(gaussian.means, Diagonal(variance), every, divisor=divisor)
        why = "var_smoothing × the largest variance of a column"
        note = Note("raised every variance", why, amount=epsilon, kind=Kind.SMOOTHED)
        return Product((smooth,)), (note,)


class GaussianNB(_NaiveBayes):
    """`sklearn.naive_bayes.GaussianNB`; `epsilon_` is that of all rows learned, not of the last batch.

    >>> from suffice.drop_in import GaussianNB
    >>> GaussianNB().fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"]).theta_.tolist()
    [[4.5], [0.5]]
    """

    families = "gaussian"
    _closed_form = property(lambda self: not self.var_smoothing)  # without a row, epsilon_ is another

    def __init__(self, *, priors: object = None, var_smoothing: float = 1e-9) -> None:
        self._store(locals())

    _kind = GaussianFitted

    def _particulars(self) -> dict[str, object]:
        return {"strict": True, "var_smoothing": self.var_smoothing}

    theta_ = attribute("class means (k, d)", lambda model: model.means_)
    var_ = attribute("class variances (k, d)", lambda model: model.model_.density.blocks[0].covariance.variance)
    class_prior_ = attribute("class priors (k,)", lambda model: model.priors_)
    epsilon_ = attribute(
        "what every variance is raised by", lambda m: sum(n.amount for n in m.notes_ if n.kind is Kind.SMOOTHED)
    )


class _DiscreteNB(_NaiveBayes):
    _rules = (lambda estimator: estimator._check_alpha(),)
    priors = property(lambda self: "uniform" if self.class_prior is None and not self.fit_prior else self.class_prior)
    class_log_prior_ = attribute("log class priors (k,)", lambda model: model.model_.log_prior)
    feature_count_ = attribute("sums by class (k, d)", lambda model: model.statistics_.blocks[0].total)
    feature_log_prob_ = attribute("log probabilities (k, d)", lambda model: log_of(model.model_.density.blocks[0].p))

    def _check_alpha(self) -> Array:
        """Return `alpha` as an array () or (d,), raised to 1e-10 with a warning unless `force_alpha`."""
        alpha: Array = np.asarray(self.alpha, dtype=np.float64)
        if not ((alpha >= 0) & (alpha < np.inf)).all():
            raise SettingError("All values in alpha must be greater than 0. Next: 1 is Laplace's rule.")
        if (alpha < 1e-10).any() and not self.force_alpha:
            text = "alpha too small will result in numeric errors, setting alpha = 1.0e-10."
            warnings.warn(f"{text} Use `force_alpha=True` to keep alpha unchanged.", UserWarning, stacklevel=2)
            alpha = np.maximum(alpha, 1e-10)
        return alpha

    def _smoothing(self, schema: Schema) -> float | dict[Name, float]:
        with warnings.catch_warnings():  # whoever set it has been warned
            warnings.simplefilter("ignore", UserWarning)
            alpha = self._check_alpha()
        return dict(zip(schema.names, alpha.tolist(), strict=True)) if alpha.ndim else float(alpha)

    def _settings(self, schema: Schema | None = None) -> Settings:
        smoothing = 1.0 if schema is None else self._smoothing(schema)
        kept = rows_wanted(self.keep_rows, schema) or 0
        return Settings(shrinkage=Shrinkage(None), smoothing=smoothing, keep_rows=kept)

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        if np.shape(self.alpha) not in ((), (len(schema),)):
            text = f"When alpha is an array, it should contains `n_features`. Got {np.size(self.alpha)} elements"
            raise SettingError(f"{text} instead of {len(schema)}.")
        return tuple(replace(block, family=self._family(block.family, len(schema))) for block in super()._plan(schema))

    def _family(self, family: Family, columns: int) -> Family:
        return family

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self.families == "categorical"
        tags.input_tags.positive_only = self.families != "bernoulli"
        tags.classifier_tags.poor_score = True
        return tags


class MultinomialNB(_DiscreteNB):
    """`sklearn.naive_bayes.MultinomialNB`.

    >>> from suffice.drop_in import MultinomialNB
    >>> MultinomialNB().fit([[2, 0], [0, 3]], ["sport", "law"]).predict([[0, 1]]).tolist()
    ['law']
    """

    families = "multinomial"

    # fmt: off
    def __init__(
        self, *, alpha: object = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: object = None,
    ) -> None:
        self._store(locals())
    # fmt: on


class BernoulliNB(_DiscreteNB):
    """`sklearn.naive_bayes.BernoulliNB`.

    >>> from suffice.drop_in import BernoulliNB
    >>> BernoulliNB().fit([[1, 0], [0, 2]], [0, 1]).predict([[0, 5], [3, None]]).tolist()
    [1, 0]
    """

    families = "bernoulli"

    # fmt: off
    def __init__(
        self, *, alpha: object = 1.0, force_alpha: bool = True, binarize: float | None = 0.0, fit_prior: bool = True,
        class_prior: object = None,
    ) -> None:
        self._store(locals())
    # fmt: on

    def _family(self, family: Family, columns: int) -> Family:
        if self.binarize is not None and not 0.0 <= self.binarize < np.inf:
            raise SettingError(f"binarize={self.binarize!r} must be at least 0, or None. Next: 0.0 is usual.")
        return BernoulliFamily(threshold=None if self.binarize is None else float(self.binarize))


class CategoricalNB(_DiscreteNB):
    """`sklearn.naive_bayes.CategoricalNB`; a code beyond those known is one more category, and text is taken.

    >>> from suffice.drop_in import CategoricalNB
    >>> CategoricalNB().fit([[0, 2], [1, 0]], ["a", "b"]).predict([[1, 7], [0, None]]).tolist()
    ['b', 'a']
    """

    families = "categorical"

    # fmt: off
    def __init__(
        self, *, alpha: float = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: object = None,
        min_categories: object = None,
    ) -> None:
        self._store(locals())
    # fmt: on

    def _family(self, family: Family, columns: int) -> Family:
        least = np.asarray(0 if self.min_categories is None else self.min_categories)
        if least.dtype.kind not in "iu":
            raise SettingError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.shape not in ((), (columns,)):
            raise SettingError(f"'min_categories' should have shape ({columns},). Got {least.shape} instead.")
        return CategoricalFamily(counted=True, least=tuple(least.tolist()) if least.ndim else int(least))

    feature_count_ = attribute("sums by class: see category_count_", lambda model: None, lambda model: False)
    category_count_ = attribute("weights, d of (k, levels)", lambda model: list(model.statistics_.blocks[0].counts))
    n_categories_ = attribute("levels (d,)", lambda model: np.array([c.shape[1] for c in model.category_count_]))
    feature_log_prob_ = attribute(
        "log probabilities, d of (k, levels)", lambda model: [p[:, :-1] for p in model.model_.density.blocks[0].log_p]
    )


@dataclass(frozen=True, slots=True)
class _Weights(CountDensity):
    """Σ_j x_j w_kj: scores that rank classes and are no density."""

    weights: Array

    def _linear(self) -> Linear:
        return Linear(np.ascontiguousarray(self.weights.T))


@dataclass(frozen=True, eq=False)
class ComplementFitted(DropInFitted):
    """Weights of the counts of all other classes."""

    norm: bool = False

    def _estimate(self) -> tuple[Product, tuple[Note, ...]]:
        _, notes = super()._estimate()
        alpha, names = self.settings.smoothing, self.schema.names
        counts = self.statistics.block(0, SumStats).total
        others = counts.sum(axis=0) - counts + [smoothing_of(alpha, name).strength for name in names]
        weights = -log_of(others / others.sum(axis=1, keepdims=True))
        weights = weights / weights.sum(axis=1, keepdims=True) if self.norm else weights
        return Product((_Weights(weights),)), notes

    @derived
    def log_prior(self) -> Array:
        """Zeros (k,): where there are several classes those of the fit play no part."""
        own = self.log_class_prior
        return own if len(own) == 1 else np.zeros_like(own)

    @property
    def log_class_prior(self) -> Array:
        """Log class priors (k,)."""
        return self.log_prior_of(self.priors)


class ComplementNB(_DiscreteNB):
    """`sklearn.naive_bayes.ComplementNB`: its weights are no density, so that what asks for one is not there.

    >>> from suffice.drop_in import ComplementNB
    >>> ComplementNB().fit([[2, 0], [0, 3]], ["sport", "law"]).predict([[0, 1]]).tolist()
    ['law']
    """

    families = "multinomial"

    # fmt: off
    def __init__(
        self, *, alpha: object = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: object = None,
        norm: bool = False,
    ) -> None:
        self._store(locals())
    # fmt: on

    _kind = ComplementFitted

    def _particulars(self) -> dict[str, object]:
        return {"norm": self.norm}

    class_log_prior_ = attribute("log class priors (k,)", lambda model: model._fitted.log_class_prior)
    priors_ = attribute("class priors (k,)", lambda model: np.exp(model._fitted.log_class_prior))
    feature_all_ = attribute("sums (d,)", lambda model: model.feature_count_.sum(axis=0))
    feature_log_prob_ = attribute("weights (k, d)", lambda model: model.model_.density.blocks[0].weights)


_DENSITY = (
    "adapt_priors",
    "explain",
    "impute",
    "leave_one_out",
    "outlier_pvalues",
    "predict_proba_interval",
    "predict_set",
    "sample",
    "score_samples",
)
for _name in _DENSITY:
    setattr(ComplementNB, _name, attribute("a density; use MultinomialNB", lambda model: None, lambda model: False))
