"""The laws of a joint model: whatever is asked of it, the answers belong to one density of rows and classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from .._arrays import Array, Codes, NDArray, logsumexp, np
from ..errors import DataError
from .families import Random, assert_close, check_laws


def check_model(model: object, X: object, y: object, *, tolerance: float = 1e-8, seed: int = 0) -> None:
    """Check that a fitted estimator keeps the laws of a joint model; AssertionError names the law that fails.

    Parameters
    ----------
    model : fitted estimator
        It is not changed.
    X, y : array or list of rows (n, d), labels (n,)
        The rows and labels it was fitted to, unweighted; cells may be missing.
    tolerance : float
        Largest difference allowed between log densities, relative to 1 + their size.

    Notes
    -----
    Laws: posteriors add up to one and are the joint density divided by its sum over classes (those of a
    `GenerativeClassifier` are a pool's, and only add up); a row without any cell gets the class priors and density 1;
    what `explain` says adds up to the log odds, missing cells saying nothing; answers do not depend on which rows are
    asked about together; where the model can be added to, it depends neither on the order of the rows nor on whether
    parts were fitted and merged; and a model fitted to many rows drawn from it is close to it.

    Examples
    --------
    >>> from suffice import GaussianDiscriminant
    >>> from suffice.testing import check_model
    >>> X, y = [[0.0, 1.0], [1.0, 0.5], [0.5, 2.0], [4.0, 2.0], [5.0, 5.0], [4.5, 3.0]], list("aaabbb")
    >>> check_model(GaussianDiscriminant(shared=True).fit(X, y), X, y)
    """
    laws = (_bayes, _nothing_known, _reasons, _one_by_one, _learns_in_any_order, _draws)
    check_laws(laws, ModelCase.of(model, X, y, tolerance), seed)


@dataclass(frozen=True, slots=True)
class ModelCase:
    """A fitted model and its rows."""

    model: Any
    X: NDArray[Any]
    y: NDArray[Any]
    tolerance: float

    @classmethod
    def of(cls, model: object, X: object, y: object, tolerance: float) -> ModelCase:
        """Return the case of a table."""
        table = np.asarray(X)
        return cls(model, table if table.dtype.kind in "fiub" else np.asarray(X, object), np.asarray(y), tolerance)

    def hide(self, hidden: Codes) -> NDArray[Any] | None:
        """Return the table without the cells of some columns, or None where the model takes no missing cells."""
        takes_missing = all(block.family.takes_missing for block in self.model._fitted.blocks)
        if not takes_missing or not self.model.__sklearn_tags__().input_tags.allow_nan:
            return None
        holed = self.X.astype(np.float64 if self.X.dtype.kind in "fiub" else object)
        holed[:, hidden] = np.nan if holed.dtype.kind == "f" else None
        return holed

    def same(self, actual: Array, expected: Array, what: str) -> None:
        """Assert that log densities agree."""
        assert_close(actual, expected, self.tolerance, what)


def _bayes(case: ModelCase, rng: Random) -> None:
    joint, posterior = case.model.predict_joint_log_proba(case.X), case.model.predict_log_proba(case.X)
    assert not np.isnan(joint).any(), "a log density is NaN"
    assert np.abs(np.exp(posterior).sum(axis=1) - 1.0).max() <= 1e-12, "posteriors do not add up to one"
    total = np.asarray(logsumexp(joint, axis=1))
    case.same(case.model.score_samples(case.X), total, "the density of a row and the sum of its joint densities")
    if case.model._fitted.pool is None:  # a pool's posteriors are those of several models
        possible = np.isfinite(total)
        case.same(posterior[possible], (joint - total[:, None])[possible], "posteriors and joint densities")


def _nothing_known(case: ModelCase, rng: Random) -> None:
    empty = case.hide(np.arange(case.X.shape[1]))
    if empty is not None:
        case.same(case.model.predict_proba(empty), np.tile(case.model.priors_, (len(case.y), 1)), "rows without a cell")
        assert np.abs(case.model.score_samples(empty)).max() <= case.tolerance, "a row without a cell has a density"


def _reasons(case: ModelCase, rng: Random) -> None:
    hidden = rng.permutation(case.X.shape[1])[: case.X.shape[1] // 2]
    for table in (case.X, case.hide(hidden)):
        if table is None:
            continue
        found, posterior = case.model.explain(table), case.model.predict_log_proba(table)
        total = found.sum(axis=1) + np.log(case.model.priors_)
        possible = np.isfinite(total).all(axis=1) & np.isfinite(posterior).all(axis=1)
        odds = (posterior - posterior[:, :1])[possible]
        case.same((total - total[:, :1])[possible], odds, "contributions and log posterior odds")
        assert table is case.X or not found[:, hidden].any(), "a missing cell contributes something"


def _one_by_one(case: ModelCase, rng: Random) -> None:
    expected, order = case.model.predict_joint_log_proba(case.X), rng.permutation(len(case.y))
    case.same(case.model.predict_joint_log_proba(case.X[order]), expected[order], "rows in another order")
    for i in order[:3]:
        case.same(case.model.predict_joint_log_proba(case.X[[i]]), expected[[i]], "a row by itself")


def _learns_in_any_order(case: ModelCase, rng: Random) -> None:
    expected, order = case.model.predict_joint_log_proba(case.X), rng.permutation(len(case.y))
    if not hasattr(case.model, "partial_fit"):  # a mixture is found by EM, whose steps follow rounding
        return
    again = clone(case.model).fit(case.X[order], case.y[order])
    case.same(again.predict_joint_log_proba(case.X), expected, "rows learned in another order")
    a, b = (clone(case.model).fit(case.X[part], case.y[part]) for part in np.array_split(order, 2))
    case.same(a.merge(b).predict_joint_log_proba(case.X), expected, "halves merged")


def _draws(case: ModelCase, rng: Random) -> None:
    """A refit loses about (parameters / 2) / rows nats per row, for d²/2 parameters and 400 d rows d / 1,600."""
    d, classes = case.X.shape[1], case.model.classes_.tolist()
    state = np.random.RandomState(int(rng.integers(1 << 30)))
    try:
        case.model.sample(1, random_state=state)
    except DataError:  # a family that cannot draw
        return
    parts = [case.model.sample(400 * d, label=c, random_state=state, as_recorded=False) for c in classes]
    again = clone(case.model)
    if "shrinkage" in again.get_params():
        again.set_params(shrinkage=None)  # what was shrunk would be shrunk once more
    again.fit(np.concatenate([rows for rows, _ in parts]), np.concatenate([labels for _, labels in parts]))
    for c, label in enumerate(classes):
        fresh, _ = case.model.sample(200 * d, label=label, random_state=state, as_recorded=False)
        mine = case.model.predict_joint_log_proba(fresh)[:, c] - np.log(case.model.priors_[c])
        lost = float((mine - again.predict_joint_log_proba(fresh)[:, c] + np.log(again.priors_[c])).mean())
        assert abs(lost) < 0.1 + d / 100, f"a refit to drawn rows of class {label!r} is {lost:.3g} nats a row off"
