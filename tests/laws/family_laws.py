"""All laws that the families we ship keep: those of `suffice.testing.check_family` and more."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from statistic_laws import assert_same_statistics, check_statistics

from suffice import NaiveBayes, load
from suffice._arrays import Array, Codes, NDArray
from suffice._foreign import Foreign
from suffice.densities import Density
from suffice.densities.density import has_holes
from suffice.errors import SettingError
from suffice.stats import Statistic
from suffice.stats.rows import take_rows
from suffice.testing import FamilyCase, Random, check_family, check_laws


def check_shipped_family(family: object, X: object, y: object, *, smoothing: float = 1.0) -> None:
    """Check all laws: its statistic, what it says of itself, and its model file too."""
    check_family(family, X, y, smoothing=smoothing)
    case = FamilyCase.of(family, X, y, smoothing, 1e-8)
    check_laws((_statistics, _says_what_it_does, _reads_sparse), case, 0)
    _comes_back_from_a_file(family, case, y)


class _Settled:
    """The statistic of a family with everything but the rows settled, as `check_statistics` asks."""

    def __init__(self, case: FamilyCase) -> None:
        self._case = case

    def zero(self) -> Statistic:
        return self._case.family.zero(self._case.k, len(self._case.columns))

    def summarize(self, rows: Any, codes: Codes, k: int, weight: Array | None) -> Statistic:
        return self._case.family.summarize(rows, codes, k, weight)


def _statistics(case: FamilyCase, rng: Random) -> None:
    check_statistics(_Settled(case), case.rows(), case.codes, case.k, take=take_rows, seed=int(rng.integers(1 << 30)))


def _says_what_it_does(case: FamilyCase, rng: Random) -> None:
    stats = case.summary()
    density, rows = case.estimate(stats), case.family.recode(case.rows(), stats)
    _limits(case, density, rows)
    _tables(case, density, rows)
    _fills_cells(case, density, stats)
    counted = case.family.count(case.rows(), case.codes, case.k, None)
    assert_same_statistics(counted, stats, 0.0)


def _limits(case: FamilyCase, density: Density, rows: object) -> None:
    """Check `limit`, and `limit_terms` up to what is the same for every class."""
    scores = density.log_density(rows)
    order, score = density.limit(rows)
    case.same(np.where(order > 0, -np.inf, score), scores, "the limit and the log density")
    terms = density.limit_terms(rows)
    if terms is None:
        return
    orders, parts = terms
    total = (parts if orders is None else np.where(orders > 0, -np.inf, parts)).sum(axis=2).T
    possible = np.isfinite(total).all(axis=1) & np.isfinite(scores).all(axis=1)
    apart = (scores - scores[:, :1])[possible]
    case.same((total - total[:, :1])[possible], apart, "what columns add and the log density")


def _tables(case: FamilyCase, density: Density, rows: object) -> None:
    """Check what a density tells of its columns."""
    assert np.isfinite(density.log_prior()), "the log prior is not a number"
    for j in case.columns:
        for name, values in density.parameters(j).items():
            assert np.shape(values) == (case.k,), f"{name} has the shape {np.shape(values)} for {case.k} classes"
        if not isinstance(density, Foreign):
            told = density.column_levels(j) is not None
            assert told == isinstance(rows, tuple), "codes have levels, and numbers have none"
    center = None if isinstance(density, Foreign) else density.center()
    if center is not None:
        complete = ~_holed(case.X).any(axis=1)
        best = np.diagonal(density.log_density(center))
        assert (density.log_density(rows)[complete] <= best + case.tolerance).all(), "a row is denser than the centre"


def _fills_cells(case: FamilyCase, density: Density, stats: Statistic) -> None:
    """Check that `condition` and `sample` leave no cell missing and no other changed."""
    if not case.family.takes_missing:
        return
    holed = case.X.copy()
    holed[::2, 0] = None
    encoded = case.rows(X=holed)
    assert case.family.fills or not case.family.misses(encoded), "cells to be filled, by a family that does not"
    rows, n = case.family.recode(encoded, stats), len(case.codes)
    posterior, state = np.full((n, case.k), 1.0 / case.k), np.random.RandomState(0)
    before = np.stack(rows, axis=1) if isinstance(rows, tuple) else rows
    seen = ~_holed(holed)
    answers = [density.condition(rows, posterior)] if density.can_condition else []
    for filled in [*answers, *([density.sample(rows, case.codes, state)] if density.can_sample else [])]:
        assert not has_holes(filled), "a missing cell was left"
        after = np.stack(filled, axis=1) if isinstance(filled, tuple) else np.asarray(filled)
        assert (after[seen] == before[seen]).all(), "an observed cell was changed"


def _holed(X: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Return which cells are missing (n, d)."""
    return np.array([[cell is None or cell != cell for cell in row] for row in X])


def _reads_sparse(case: FamilyCase, rng: Random) -> None:
    """Check that the cells of a sparse matrix are those of a dense one."""
    if case.family.support not in ("counts", "truths") or _holed(case.X).any():
        return
    X, model = case.X.astype(np.float64), NaiveBayes(case.family, smoothing=case.smoothing)
    dense, found = (model.fit(rows, case.codes).predict_joint_log_proba(rows) for rows in (X, csr_array(X)))
    case.same(found, dense, "a sparse matrix and a dense one")


def _comes_back_from_a_file(family: object, case: FamilyCase, y: object) -> None:
    model = NaiveBayes(family, smoothing=case.smoothing).fit(case.X, y)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.suffice"
        try:
            model.save(path)
        except SettingError:  # a family of someone else's
            return
        back = load(path)
    assert back._fitted.blocks == model._fitted.blocks, "the family in the model file is another"
    case.same(back.predict_joint_log_proba(case.X), model.predict_joint_log_proba(case.X), "the model file")
