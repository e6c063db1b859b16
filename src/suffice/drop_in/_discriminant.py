"""Linear and quadratic discriminant analysis with the parameters and attributes of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._arrays import Array, log_softmax, np
from ..densities import Full, Product
from ..errors import DataError, SettingError
from ..estimate import RDA, Block, Settings, Shrinkage
from ..estimators import GaussianDiscriminant
from ..estimators._states import question
from ..joint import JointModel
from ..schema import Schema
from ..stats import ByClass, CompletedStats, FullScatter, GaussianStats, PatternStats
from ._common import DropIn, Estimated, attribute


class _Discriminant(DropIn, GaussianDiscriminant):
    """LDA and QDA: scikit-learn's shrinkage, and covariances estimated by an object of the user's."""

    _closed_form = property(lambda self: self.covariance_estimator is None and not self._is_changed)

    def _validate_settings(self) -> None:
        if self.solver not in self._solvers:
            raise SettingError.choice("solver", self.solver, self._solvers)
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver. Next: use solver='eigen'.")
        if self.covariance_estimator is not None and self.solver == "svd":
            raise SettingError(self._unsupported)
        if self.covariance_estimator is not None and self.shrinkage:
            which = "covariance_estimator and shrinkage parameters are not None."
            raise SettingError(f"{which} Only one of the two can be set. Next: leave out one.")
        if isinstance(self.shrinkage, str) and self.shrinkage != "auto":
            raise SettingError.choice("shrinkage", self.shrinkage, (None, "auto", "a number from 0 to 1"))
        super()._validate_settings()

    def _settings(self) -> Settings:
        own = self.shrinkage
        rule = "ledoit-wolf" if own == "auto" else RDA(amount=own, target="identity") if own else None
        return Settings(shrinkage=Shrinkage(rule))

    def _summarize(self, batch: Any, plan: Sequence[Block], keep_rows: int | None = None) -> ByClass:
        statistics = super()._summarize(batch, plan, keep_rows)
        if self.covariance_estimator is None:
            return statistics
        rows = batch.rows[0]
        if batch.weight is not None or np.isnan(rows).any():
            raise DataError("covariance_estimator takes neither weights nor holes. Next: use shrinkage='auto'.")
        scatter = np.empty((len(batch.classes), *rows.shape[1:] * 2))
        for c, weight in enumerate(statistics.weight):
            self.covariance_estimator.fit(rows[batch.codes == c])
            if not hasattr(self.covariance_estimator, "covariance_"):
                name = type(self.covariance_estimator).__name__
                raise SettingError(f"{name} does not have a covariance_ attribute. Next: see sklearn.covariance.")
            scatter[c] = weight * self.covariance_estimator.covariance_
        stats = statistics.blocks[0]
        assert isinstance(stats, PatternStats | CompletedStats)
        gaussian = GaussianStats(statistics.weight, stats.complete.mean, FullScatter(scatter))
        return replace(statistics, blocks=(PatternStats(gaussian, {}),))

    def _estimate(self, statistics: ByClass, plan: Sequence[Block], schema: Schema, **told: Any) -> Estimated:
        stats: Any = statistics.blocks[0]
        if isinstance(self._settings().shrinkage.setting, RDA):  # a table wider than long: matrices, as there
            statistics = replace(statistics, blocks=(replace(stats, complete=stats.complete.dense()),))
        model, notes = super()._estimate(statistics, plan, schema, **told)
        gaussian: Any = model.density.blocks[0]
        if self._changes(plan) and gaussian.used:
            changed = self._changed(gaussian.covariance.dense(), np.exp(model.log_prior))
            model = replace(model, density=Product((replace(gaussian, covariance=Full.factor(changed)),)))
        return model, notes

    def _changes(self, plan: Sequence[Block]) -> bool:
        """Return whether covariances are not as estimated."""
        return bool(self._is_changed)

    def _under_priors(self, model: JointModel) -> JointModel:
        if not self._changes(self._blocks):
            return super()._under_priors(model)
        model, self._notes = self._estimate(self.statistics_, self._blocks, self._schema)
        return model

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

    _solvers, _fitted_shared = ("svd", "lsqr", "eigen"), True
    _unsupported = "covariance estimator is not supported with svd solver. Try another solver"

    # fmt: off
    def __init__(
        self, solver: str = "svd", shrinkage: Any = None, priors: Any = None, n_components: int | None = None,
        store_covariance: bool = False, tol: float = 1e-4, covariance_estimator: Any = None,
    ) -> None:
        self._store(locals())
    # fmt: on

    # The class covariances are weighed by priors given before `fit`, as theirs are, but for solver "svd".
    _is_changed = property(lambda self: self._changes(self._blocks) if hasattr(self, "_blocks") else not self.shared)

    def _changes(self, plan: Sequence[Block]) -> bool:
        return not plan[0].family.shared  # type: ignore[attr-defined]

    shared = property(
        lambda self: (
            self.solver == "svd"
            or (self.priors is None and self.shrinkage != "auto" and self.covariance_estimator is None)
        )
    )

    def _changed(self, covariances: Array, priors: Array) -> Array:
        return np.asarray(np.einsum("k,kij->ij", priors, covariances)[None])

    def _estimate(self, statistics: ByClass, plan: Sequence[Block], schema: Schema, **told: Any) -> Estimated:
        k, most = len(statistics.classes), min(len(statistics.classes) - 1, len(schema))
        if statistics.rows == k:
            raise DataError("The number of samples must be more than the number of classes, not 1 sample for each.")
        if self.n_components is not None and self.n_components > most:
            raise SettingError(f"n_components cannot be larger than min(n_features, n_classes - 1), here {most}.")
        return super()._estimate(statistics, plan, schema, **told)

    covariance_ = attribute(
        "the covariance of all classes (d, d)",
        lambda model: model.covariances_,
        lambda model: bool(model.store_covariance) or model.solver != "svd",
    )

    def _mean(self) -> Array:
        return np.asarray(self.priors_ @ self.means_)

    def _origin(self) -> Array:
        return np.asarray(self._mean() * (self.solver == "svd"))

    xbar_ = attribute("the overall mean (d,)", lambda model: model._mean(), lambda model: model.solver == "svd")
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
        gaussian, prior = self._gaussian, self.priors_
        used, covariance = list(gaussian.used), gaussian.covariance
        if self.solver == "svd":
            shift = np.sqrt(prior)[:, None] * (gaussian.means - prior @ gaussian.means)[:, used]
            u, s, _ = np.linalg.svd(covariance.whiten(shift), full_matrices=False)
            kept, squares = s > self.tol * s.max(initial=0.0), s**2
            inner = covariance.solve(shift).T @ (u[:, kept] / s[kept])
        else:
            one = self.statistics_.regroup(dict.fromkeys(self.statistics_.classes, self.statistics_.classes[0]))
            whole = LinearDiscriminantAnalysis("lsqr", self.shrinkage)
            total: Any = _Discriminant._estimate(whole, one, self._blocks, self._schema)[0].density.blocks[0]
            white = covariance.whiten(np.eye(len(used)))
            squares, axes = np.linalg.eigh(white.T @ (total.covariance.dense()[0] - covariance.dense()[0]) @ white)
            squares, inner = squares[::-1], white @ axes[:, ::-1]
        outer = np.zeros((gaussian.means.shape[1], inner.shape[1]))
        outer[used] = inner
        return outer, squares / squares.sum()

    @question
    def transform(self, X: Any) -> Any:
        """Return discriminant coordinates (n, n_components): centred by solver "svd", not by "eigen", as there."""
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        return (self._rows(X)[0] - self._origin()) @ self.scalings_[:, : self._n_features_out]

    def _log_posterior(self, X: Any, priors: Any) -> Array:
        if priors is not None:
            return super()._log_posterior(X, priors)
        return log_softmax(self._linear_scores(X, self._mean()))

    @question
    def decision_function(self, X: Any) -> Array:
        """Return X @ coef_.T + intercept_ (n, k), or (n,) for two classes, with missing cells integrated out."""
        scores = self._linear_scores(X, self._mean() if len(self.priors_) == 2 else self._origin())
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores


class QuadraticDiscriminantAnalysis(_Discriminant):
    """`sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis`; singular covariances are mended, see `notes_`.

    >>> from suffice.drop_in import QuadraticDiscriminantAnalysis
    >>> QuadraticDiscriminantAnalysis().fit([[0.0], [1.0], [4.0], [7.0]], [0, 0, 1, 1]).predict([[2.0]]).tolist()
    [1]
    """

    _solvers, shared = ("svd", "eigen"), False
    _unsupported = "covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead."

    # fmt: off
    def __init__(
        self, *, solver: str = "svd", shrinkage: Any = None, priors: Any = None, reg_param: float = 0.0,
        store_covariance: bool = False, tol: float = 1e-4, covariance_estimator: Any = None,
    ) -> None:
        self._store(locals())
    # fmt: on

    _is_changed = property(lambda self: self.solver == "svd" and self.reg_param > 0)

    def _changed(self, covariances: Array, priors: Array) -> Array:
        return (1.0 - self.reg_param) * covariances + self.reg_param * np.eye(covariances.shape[1])  # type: ignore[no-any-return]

    covariance_ = attribute(
        "class covariances, k of (d, d)", lambda m: list(m.covariances_), lambda m: bool(m.store_covariance)
    )
    scalings_ = attribute(
        "principal variances, k of (d,)", lambda m: [np.linalg.eigvalsh(c)[::-1] for c in m.covariances_]
    )
    rotations_ = attribute(
        "principal axes, k of (d, d)", lambda m: [np.linalg.eigh(c)[1][:, ::-1] for c in m.covariances_]
    )

    @question
    def decision_function(self, X: Any) -> Array:
        """Return log p(x, k) + ½ d log 2π (n, k), d the observed cells; for two classes their log odds (n,)."""
        rows = self._rows(X)
        scores = self.model_.log_joint(rows)
        if scores.shape[1] == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        observed = (~np.isnan(rows[0][:, list(self._gaussian.used)])).sum(axis=1, keepdims=True)
        return np.asarray(scores + 0.5 * np.log(2.0 * np.pi) * observed)
