"""The laws of a joint model: whatever is asked of it, the answers belong to one density of rows and classes."""

from __future__ import annotations

from itertools import pairwise

from sklearn.base import clone

from .._arrays import logsumexp, np
from ..densities.product import take_columns
from ..errors import DataError, SettingError
from .case import ModelCase
from .conditionals import conditionals
from .laws import Random


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
    cells taken away leave the marginal density; the joint density of a row as a function of one of its cells integrates
    to the density of the others, `impute` gives the mean or mode of what that makes the cell's conditional density, and
    draws follow it; observed cells are left as they are; what `explain` says adds up to the log odds, missing cells
    saying nothing; sets of a smaller alpha hold those of a larger one; answers do not depend on which rows are asked
    about together; where the model can be added to, it depends neither on the order of the rows nor on whether parts
    were fitted and merged; and a model fitted to many rows drawn from it is close to it.

    Examples
    --------
    >>> from suffice import GaussianDiscriminant
    >>> from suffice.testing import check_model
    >>> X, y = [[0.0, 1.0], [1.0, 0.5], [0.5, 2.0], [4.0, 2.0], [5.0, 5.0], [4.5, 3.0]], list("aaabbb")
    >>> check_model(GaussianDiscriminant(shared=True).fit(X, y), X, y)
    """
    table = np.asarray(X)
    if table.dtype.kind not in "fiub":
        table = np.asarray(X, dtype=object)
    case = ModelCase(model, table, np.asarray(y), tolerance)
    rng = np.random.default_rng(seed)
    laws = (
        _bayes,
        _nothing_known,
        _marginals,
        conditionals,
        _observed_cells_stay,
        _reasons,
        _sets,
        _one_by_one,
        _learns_in_any_order,
        _draws,
    )
    for law in laws:
        try:
            law(case, rng)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__.strip('_')}: {error}") from error


def _bayes(case: ModelCase, rng: Random) -> None:
    joint, posterior = case.model.predict_joint_log_proba(case.X), case.model.predict_log_proba(case.X)
    assert not np.isnan(joint).any(), "a log density is NaN"
    assert np.abs(np.exp(posterior).sum(axis=1) - 1.0).max() <= 1e-12, "posteriors do not add up to one"
    total = np.asarray(logsumexp(joint, axis=1))
    case.same(case.model.score_samples(case.X), total, "the density of a row and the sum of its joint densities")
    if case.is_pooled:
        return
    possible = np.isfinite(total)
    case.same(posterior[possible], (joint - total[:, None])[possible], "posteriors and joint densities")


def _nothing_known(case: ModelCase, rng: Random) -> None:
    empty = case.hide(np.arange(case.X.shape[1]))
    if empty is not None:
        case.same(case.model.predict_proba(empty), np.tile(case.model.priors_, (len(case.y), 1)), "rows without a cell")
        assert np.abs(case.model.score_samples(empty)).max() <= case.tolerance, "a row without a cell has a density"


def _marginals(case: ModelCase, rng: Random) -> None:
    d = case.X.shape[1]
    hidden = np.sort(rng.permutation(d)[: (d + 1) // 2])
    holed, densities = case.hide(hidden), case.model.model_.density.blocks
    if holed is None:
        return
    asked = case.model._fitted.joint_value  # p(x) is its, whoever gives the posterior
    if len(asked.blocks) != len(densities):
        return
    total = np.tile(case.model.model_.log_prior, (len(case.y), 1))
    for block, density, part in zip(asked.blocks, densities, asked.rows(case.X), strict=True):
        kept = [j for j, place in enumerate(block.positions) if place not in set(hidden.tolist())]
        marginal = density.marginal(kept) if kept else None
        if kept and marginal is None:
            return  # a density whose marginal has no form of its own
        if marginal is not None:
            total += marginal.log_density(take_columns(part, kept))
    found = case.model.score_samples(holed)
    case.same(found, np.asarray(logsumexp(total, axis=1)), "missing cells and the marginal without their columns")


def _observed_cells_stay(case: ModelCase, rng: Random) -> None:
    hidden = rng.permutation(case.X.shape[1])[: case.X.shape[1] // 2]
    holed = case.hide(hidden)
    if holed is None:
        return
    before = np.array(holed, dtype=object)
    try:
        filled = (case.model.impute(holed), *case.model.impute(holed, case.y, draws=2, random_state=0))
    except DataError:  # a family that cannot fill
        return
    missing = np.array([[cell is None or cell != cell for cell in row] for row in before])
    for table in filled:
        after = np.array(table, dtype=object)
        assert (after[~missing] == before[~missing]).all(), "an observed cell was changed"
        assert all(cell is not None and cell == cell for cell in after[missing]), "a missing cell was left"


def _sets(case: ModelCase, rng: Random) -> None:
    try:
        found = [case.model.predict_set(case.X, alpha) for alpha in (0.02, 0.1, 0.3, 0.8)]
    except (DataError, SettingError):  # no leave-one-out
        return
    for larger, smaller in pairwise(found):
        assert (larger | ~smaller).all(), "a set of a larger alpha is not within that of a smaller one"


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
        if table is not case.X:
            assert (found[:, hidden] == 0.0).all(), "a missing cell contributes something"


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
