"""All laws that our estimators keep: those of `suffice.testing.check_model` and more.

Marginal × conditional = joint is checked cell by cell: added up over all values that one cell of a row may have.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from suffice._arrays import Array, NDArray
from suffice.densities.density import take_columns
from suffice.errors import DataError, SettingError
from suffice.schema import Kind, Level
from suffice.testing import ModelCase, Random, check_laws, check_model

ROWS = 2  # rows looked at for each column
MOST_COLUMNS = 8
POINTS = 4001
REACH = 18.0  # sinh of it, in scales, is how far out numbers are added up: 3e7
DRAWS = 400
NEAR = 1e-4  # of a sum in place of an integral, heavy tails and kinks included


def check_shipped_model(model: object, X: object, y: object, *, tolerance: float = 1e-8) -> None:
    """Check all laws: missing cells leave the marginal density, filled ones its means, sets are nested, too."""
    check_model(model, X, y, tolerance=tolerance)
    case = ModelCase.of(model, X, y, tolerance)
    check_laws((_marginals, _conditionals, _observed_cells_stay, _sets), case, 0)


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


class Cell(NamedTuple):
    """All values (m,) that one cell of a row may have, and the log width (m,) of the step that each stands for."""

    values: NDArray[Any]
    log_width: Array
    is_number: bool


def _conditionals(case: ModelCase, rng: Random) -> None:
    """Check the density of every column given the others, for a few rows, within a class and over all classes."""
    if case.model._fitted.pool is not None:
        return  # classes count by the pool's posterior, which the joint model's densities do not add up to
    d = case.X.shape[1]
    for j in sorted(rng.permutation(d)[:MOST_COLUMNS].tolist()):
        holed = case.hide(np.array([j]))
        if holed is None:
            return
        try:
            filled = case.model.impute(holed, as_recorded=False)
        except DataError:  # a family that cannot fill
            return
        for i in rng.permutation(len(case.y))[:ROWS].tolist():
            cell = _cell(case, filled, i, j)
            if cell is not None:
                _check_cell(case, holed[[i]], i, j, cell, int(rng.integers(1 << 30)))


def _cell(case: ModelCase, filled: Sequence[Sequence[Level]], i: int, j: int) -> Cell | None:
    """Return the values of a cell, or None where they cannot be listed."""
    model = case.model
    block = next(block for block in model._fitted.blocks if j in block.positions)
    support = block.family.support
    if model._fitted.schema.columns[j].kind is Kind.NUMERIC and support not in ("counts", "truths"):
        seen = np.array([x for x in case.X[:, j] if x is not None and x == x], dtype=np.float64)
        scale, steps = float(seen.std()), np.linspace(-REACH, REACH, POINTS)
        if scale == 0.0:
            return None
        values = float(filled[i][j]) + 0.1 * scale * np.sinh(steps)
        return Cell(values, np.log(0.1 * scale * np.cosh(steps) * (steps[1] - steps[0])), True)
    if support == "counts":
        most = max(float(x) for x in case.X[:, j] if x is not None and x == x)
        return Cell(np.arange(10.0 * most + 50.0), np.zeros(int(10.0 * most + 50.0)), True)
    if support == "truths":
        return Cell(np.array([0.0, 1.0]), np.zeros(2), False)
    if support != "levels":
        return None  # truth values as numbers of a Gaussian
    density = dict(zip(model._fitted.blocks, model.model_.density.blocks, strict=False))[block]
    levels = density.column_levels(block.positions.index(j))
    return Cell(np.array(levels, dtype=object), np.zeros(len(levels)), False)


def _check_cell(case: ModelCase, row: NDArray[Any], i: int, j: int, cell: Cell, seed: int) -> None:
    """Check one cell: its conditional density adds up to one, has the mean that `impute` gives, and draws follow it."""
    model, near = case.model, max(NEAR, case.tolerance)
    tried = np.repeat(row, len(cell.values), axis=0)
    for place, value in enumerate(cell.values):
        tried[place, j] = value
    joint = model.predict_joint_log_proba(tried)
    if (joint == joint[:1]).all():
        return  # a column without a density
    joint = joint + cell.log_width[:, None]
    c = model.classes_.tolist().index(case.y[i])
    for own, marginal, y in (
        (joint[:, c], model.predict_joint_log_proba(row)[0, c], case.y[[i]]),
        (np.asarray(logsumexp(joint, axis=1)), model.score_samples(row)[0], None),
    ):
        total = float(logsumexp(own))
        assert abs(total - marginal) <= near * (1.0 + abs(marginal)), (
            f"column {j}: the joint density adds up to {total:.6g} over its values, and is {marginal:.6g} without it"
        )
        p = np.exp(own - total)
        best = model.impute(row, y, as_recorded=False)[0][j]
        again = np.repeat(row, DRAWS, axis=0)
        labels = None if y is None else np.repeat(y, DRAWS)
        drawn = model.impute(again, labels, draws=1, random_state=seed, as_recorded=False)[0]
        _check_answers(cell, p, best, [r[j] for r in drawn], near, j)


def _check_answers(cell: Cell, p: Array, best: Any, drawn: Sequence[Any], near: float, j: int) -> None:
    if not cell.is_number:
        share = dict(zip(np.asarray(cell.values, dtype=object).tolist(), p.tolist(), strict=True))
        assert share[best] >= p.max() * (1.0 - near), f"column {j}: {best!r} is not the most probable value"
        for value, expected in share.items():
            error = 4.5 * np.sqrt(expected * (1.0 - expected) / DRAWS) + 0.5 / DRAWS
            found = sum(draw == value for draw in drawn) / DRAWS
            assert abs(found - expected) <= error, f"column {j}: {found:.3f} of draws are {value!r}, not {expected:.3f}"
        return
    mean = float(p @ cell.values)
    spread = float(np.sqrt(p @ (cell.values - mean) ** 2))
    if p[0] * abs(cell.values[0]) < 1e-6 * spread > p[-1] * abs(cell.values[-1]):  # else there is no mean
        gap = abs(float(best) - mean)
        assert gap <= 10.0 * near * spread, f"column {j}: the mean is {mean:.6g}, and {float(best):.6g} was imputed"
    below = np.cumsum(p) - 0.5 * p  # uniform for draws, but for the steps
    rank = np.interp(np.array(drawn, dtype=np.float64), cell.values, below)
    error = 4.5 * np.sqrt(float(p @ (below - 0.5) ** 2) / DRAWS)
    assert abs(rank.mean() - 0.5) <= error, f"column {j}: draws lie at the quantile {rank.mean():.3f} on average"
    assert abs((2.0 * rank - 1.0).__pow__(2).mean() - float(p @ (2.0 * below - 1.0) ** 2)) <= 4.5 * 0.3 / np.sqrt(
        DRAWS
    ), f"column {j}: draws are spread out too much or too little"
