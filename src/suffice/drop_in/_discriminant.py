"""Linear and quadratic discriminant analysis with the parameters and attributes of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from .._arrays import Array, log_softmax, np
from .._derived import derived
from ..densities import Full, Gaussian, Product, Rows
from ..errors import DataError, SettingError
from ..estimate import RDA, Settings, Shrinkage
from ..estimators import GaussianDiscriminant
from ..estimators._state import ROWS, Constraints, OneOf, rows_wanted
from ..fitted import Fitted
from ..joint import JointModel
from ..notes import Note
from ..questions.linear import gaussian_of, is_shared, linear_scores
from ..schema import Schema
from ..stats import ByClass, CompletedStats, FullScatter, GaussianStats, PatternStats
from ..stats.by_class import Batch
from ._common import DropIn, DropInFitted, attribute


@dataclass(frozen=True, eq=False)
class DiscriminantFitted(DropInFitted):
    """LDA or QDA: `covariance_estimator` is an object of the user's, or None."""

    covariance_estimator: Any = None

    def summarize(self, batch: Batch, keep_rows: int | None = None) -> ByClass:
        """Return the statistics of rows, their scatters those of the user's object where there is one."""
        statistics = super().summarize(batch, keep_rows)
        if self.covariance_estimator is None:
            return statistics
        rows = batch.rows[0]
        if batch.weight is not None or np.isnan(rows).any():
            raise DataError("covariance_estimator takes neither weights nor holes. Next: use shrinkage='auto'.")
        scatter = np.empty((len(batch.classes), *rows.shape[1:] * 2))
        for c, weight in enumerate(statistics.weight):
            self.covariance_estimator.fit(rows[batch.codes == c])
            try:
                found = self.covariance_estimator.covariance_
            except AttributeError:
                name = type(self.covariance_estimator).__name__
                raise SettingError(
                    f"{name} does not have a covariance_ attribute. Next: see sklearn.covariance."
                ) from None
            scatter[c] = weight * found
        stats = cast(PatternStats, statistics.blocks[0])
        gaussian = GaussianStats(statistics.weight, stats.complete.mean, FullScatter(scatter))
        return replace(statistics, blocks=(PatternStats(gaussian, {}),))

    def _estimate(self) -> tuple[Product, tuple[Note, ...]]:
        stats = self.statistics.blocks[0]
        if isinstance(self.settings.shrinkage.setting, RDA) and isinstance(stats, PatternStats | CompletedStats):
            # a table wider than long: matrices, as there
            dense = replace(self.statistics, blocks=(replace(stats, complete=stats.complete.dense()),))
            return super(DiscriminantFitted, replace(self, statistics=dense))._estimate()
        return super()._estimate()

    @derived
    def joint(self) -> JointModel:
        """The joint model p(x, y), its covariances as scikit-learn makes them."""
        model = super().joint
        gaussian = cast(Gaussian, model.density.blocks[0])
        changed = self._changed(gaussian, np.exp(model.log_prior)) if gaussian.used else None
        if changed is None:
            return model
        return replace(model, density=Product((replace(gaussian, covariance=Full.factor(changed), divisor=None),)))

    def _changed(self, gaussian: Gaussian, priors: Array) -> Array | None:
        """Return covariances (g, d, d) that are not as estimated; None where they are."""
        return None


@dataclass(frozen=True, eq=False)
class LinearFitted(DiscriminantFitted):
    """LDA: the class covariances are weighed by priors given before `fit`, as theirs are, but for solver "svd"."""

    n_components: int | None = None

    takes_devices = False

    def _estimate(self) -> tuple[Product, tuple[Note, ...]]:
        k = len(self.statistics.classes)
        most = min(k - 1, len(self.schema))
        if self.statistics.rows == k:
            raise DataError("The number of samples must be more than the number of classes, not 1 sample for each.")
        if self.n_components is not None and self.n_components > most:
            raise SettingError(f"n_components cannot be larger than min(n_features, n_classes - 1), here {most}.")
        return super()._estimate()

    def _changed(self, gaussian: Gaussian, priors: Array) -> Array | None:
        if is_shared(self):
            return None
        return np.asarray(np.einsum("k,kij->ij", priors, gaussian.covariance.dense())[None])

    @property
    def mean(self) -> Array:
        """The overall mean (d,)."""
        return np.asarray(np.exp(self.joint.log_prior) @ gaussian_of(self).means)

    def log_posterior(self, rows: Rows, priors: object = None, leading: bool = False) -> Array:
        """Return log posteriors (n, k) from linear scores, as they do there."""
        if priors is not None:
            return super().log_posterior(rows, priors, leading)
        return log_softmax(linear_scores(self, rows[0], self.mean))

    def posterior_and_density(self, rows: Rows, priors: object = None) -> tuple[Array, Array]:
        """Return log posteriors (n, k) and log p(x) (n,)."""
        return self.log_posterior(rows, priors), self.log_density(rows)


@dataclass(frozen=True, eq=False)
class QuadraticFitted(DiscriminantFitted):
    """QDA: `reg_param` draws the covariances towards the identity."""

    reg_param: float = 0.0

    def _changed(self, gaussian: Gaussian, priors: Array) -> Array | None:
        if not self.reg_param:
            return None
        covariances = gaussian.covariance.dense()
        return (1.0 - self.reg_param) * covariances + self.reg_param * np.eye(covariances.shape[1])


def _check(estimator: _Discriminant) -> None:
    """Raise what scikit-learn raises for settings that do not go together."""
    if estimator.solver == "svd" and estimator.shrinkage is not None:
        raise NotImplementedError("shrinkage not supported with 'svd' solver. Next: use solver='eigen'.")
    if estimator.solver == "svd" and estimator.covariance_estimator is not None:
        raise SettingError(estimator._unsupported)
    if estimator.covariance_estimator is not None and estimator.shrinkage:
        which = "covariance_estimator and shrinkage parameters are not None."
        raise SettingError(f"{which} Only one of the two can be set. Next: leave out one.")
    if isinstance(estimator.shrinkage, str) and estimator.shrinkage != "auto":
        raise SettingError.choice("shrinkage", estimator.shrinkage, (None, "auto", "a number from 0 to 1"))
    estimator._settings()  # which a number out of range cannot make


class _Discriminant(DropIn, GaussianDiscriminant):
    """LDA and QDA: scikit-learn's shrinkage, and covariances estimated by an object of the user's."""

    _closed_form = property(lambda self: self.covariance_estimator is None and not self._is_changed)

    _rules: ClassVar[Any] = (_check,)

    def _settings(self, schema: Schema | None = None) -> Settings:
        own: Any = self.shrinkage
        rule = "ledoit-wolf" if own == "auto" else RDA(amount=own, target="identity") if own else None
        wanted = "all" if own == "auto" and not self.keep_rows else self.keep_rows  # as scikit-learn has it
        return Settings(shrinkage=Shrinkage(rule), keep_rows=rows_wanted(wanted, schema) or 0)

    def _particulars(self) -> dict[str, object]:
        return {"covariance_estimator": self.covariance_estimator}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.shrinkage != "auto" and self.covariance_estimator is None
        return tags


class LinearDiscriminantAnalysis(_Discriminant):
    """`sklearn.discriminant_analysis.LinearDiscriminantAnalysis`; a singular covariance is mended, see `notes_`.

    >>> from suffice.drop_in import LinearDiscriminantAnalysis
    >>> model = LinearDiscriminantAnalysis().fit([[0.0, 1.0], [1.0, 0.0], [4.0, 5.0], [5.0, 4.5]], [0, 0, 1, 1])
    >>> model.predict([[0.5, float("nan")], [4.0, 4.0]]).tolist()
    [0, 1]
    """

    _constraints: ClassVar[Constraints] = {"solver": OneOf(("svd", "lsqr", "eigen")), "keep_rows": ROWS}
    _fitted_shared = True
    _unsupported = "covariance estimator is not supported with svd solver. Try another solver"

    # fmt: off
    def __init__(
        self, solver: str = "svd", shrinkage: str | float | None = None, priors: object = None,
        n_components: int | None = None, store_covariance: bool = False, tol: float = 1e-4,
        covariance_estimator: object = None,
    ) -> None:
        self._store(locals())
    # fmt: on

    _kind = LinearFitted
    _is_changed = property(lambda self: not self.shared if self._learned is None else not is_shared(self._learned))

    def _particulars(self) -> dict[str, object]:
        return super()._particulars() | {"n_components": self.n_components}

    shared = property(
        lambda self: (
            self.solver == "svd"
            or (self.priors is None and self.shrinkage != "auto" and self.covariance_estimator is None)
        )
    )

    covariance_ = attribute(
        "the covariance of all classes (d, d)",
        lambda model: model.covariances_,
        lambda model: bool(model.store_covariance) or model.solver != "svd",
    )

    def _origin_of(self, fitted: Fitted) -> Array:
        assert isinstance(fitted, LinearFitted)
        return np.asarray(fitted.mean * (self.solver == "svd"))

    xbar_ = attribute("the overall mean (d,)", lambda model: model._fitted.mean, lambda model: model.solver == "svd")
    _has_axes = staticmethod(lambda model: model.solver != "lsqr")
    scalings_ = attribute("the discriminant axes (d, m)", lambda model: model._axes()[0], _has_axes)
    explained_variance_ratio_ = attribute(
        "shares of the variance between classes (m,)",
        lambda model: model._axes()[1][: model._n_features_out],
        _has_axes,
    )
    _n_features_out = property(lambda self: self.n_components or min(len(self.classes_) - 1, self.n_features_in_))

    def _axes(self) -> tuple[Array, Array]:
        """Return axes (d, m) along which the classes have variance 1, and shares of the variance between classes."""
        fitted = self._fitted
        gaussian, prior = gaussian_of(fitted), np.exp(fitted.joint.log_prior)
        used, covariance = list(gaussian.used), gaussian.covariance
        if self.solver == "svd":
            shift = np.sqrt(prior)[:, None] * (gaussian.means - prior @ gaussian.means)[:, used]
            u, s, _ = np.linalg.svd(covariance.whiten(shift), full_matrices=False)
            kept, squares = s > self.tol * s.max(initial=0.0), s**2
            inner = covariance.solve(shift).T @ (u[:, kept] / s[kept])
        else:
            classes = fitted.statistics.classes
            one = fitted.statistics.regroup(dict.fromkeys(classes, classes[0]))
            assert isinstance(fitted, LinearFitted)
            whole = replace(fitted, statistics=one, priors=None, n_components=None)
            total = gaussian_of(whole).covariance.dense()[0]
            white = covariance.whiten(np.eye(len(used)))
            squares, axes = np.linalg.eigh(white.T @ (total - covariance.dense()[0]) @ white)
            squares, inner = squares[::-1], white @ axes[:, ::-1]
        outer = np.zeros((gaussian.means.shape[1], inner.shape[1]))
        outer[used] = inner
        return outer, squares / squares.sum()

    def transform(self, X: object) -> Any:
        """Return discriminant coordinates (n, n_components): centred by solver "svd", not by "eigen", as there."""
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        fitted = self._fitted
        return (fitted.rows(X)[0] - self._origin_of(fitted)) @ self.scalings_[:, : self._n_features_out]

    def decision_function(self, X: object, *, missing_columns: str = "error") -> Array:
        """Return X @ coef_.T + intercept_ (n, k), or (n,) for two classes, with missing cells integrated out."""
        fitted, X = self._asked(X, missing_columns)
        assert isinstance(fitted, LinearFitted)
        origin = fitted.mean if len(fitted.labels) == 2 else self._origin_of(fitted)
        scores = linear_scores(fitted, fitted.rows(X)[0], origin)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores


class QuadraticDiscriminantAnalysis(_Discriminant):
    """`sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis`; singular covariances are mended, see `notes_`.

    >>> from suffice.drop_in import QuadraticDiscriminantAnalysis
    >>> QuadraticDiscriminantAnalysis().fit([[0.0], [1.0], [4.0], [7.0]], [0, 0, 1, 1]).predict([[2.0]]).tolist()
    [1]
    """

    _constraints: ClassVar[Constraints] = {"solver": OneOf(("svd", "eigen")), "keep_rows": ROWS}
    shared = False
    _unsupported = "covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead."

    # fmt: off
    def __init__(
        self, *, solver: str = "svd", shrinkage: str | float | None = None, priors: object = None,
        reg_param: float = 0.0, store_covariance: bool = False, tol: float = 1e-4, covariance_estimator: object = None,
    ) -> None:
        self._store(locals())
    # fmt: on

    _is_changed = property(lambda self: self.solver == "svd" and self.reg_param > 0)

    _kind = QuadraticFitted

    def _particulars(self) -> dict[str, object]:
        return super()._particulars() | {"reg_param": self.reg_param if self.solver == "svd" else 0.0}

    covariance_ = attribute(
        "class covariances, k of (d, d)", lambda m: list(m.covariances_), lambda m: bool(m.store_covariance)
    )
    scalings_ = attribute(
        "principal variances, k of (d,)", lambda m: [np.linalg.eigvalsh(c)[::-1] for c in m.covariances_]
    )
    rotations_ = attribute(
        "principal axes, k of (d, d)", lambda m: [np.linalg.eigh(c)[1][:, ::-1] for c in m.covariances_]
    )

    def decision_function(self, X: object, *, missing_columns: str = "error") -> Array:
        """Return log p(x, k) + ½ d log 2π (n, k), d the observed cells; for two classes their log odds (n,)."""
        fitted, X = self._asked(X, missing_columns)
        rows = fitted.rows(X)
        scores = fitted.joint.log_joint(rows)
        if scores.shape[1] == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        observed = (~np.isnan(rows[0][:, list(gaussian_of(fitted).used)])).sum(axis=1, keepdims=True)
        return np.asarray(scores + 0.5 * np.log(2.0 * np.pi) * observed)
