"""Leave-one-out by what it means: estimate again without the row, for families that have no closed form."""

from __future__ import annotations

from typing import Any

from .._arrays import Array, Codes, np
from ..errors import SettingError, quoted
from ..estimate import Family, Settings
from ..stats.rows import take_rows

SLACK = 1e-9  # relative difference of weights that rounding explains


def refit_leave_one_out(
    family: Family, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
) -> Array:
    """Return the log density of each row under every class of an estimate from all other rows, (n, k) in nats.

    `rows` are those `stats` were made from, all of them: SettingError if the weights of their cells do not add up to
    those of the statistics. Rows that are alike in cells, class and weight share a refit.
    """
    k = len(stats.column_weight())
    whole = family.summarize(rows, codes, k, weight).column_weight()
    if not np.allclose(whole, stats.column_weight(), rtol=SLACK, atol=0.0):
        raise SettingError(
            f"Columns {quoted(settings.columns)} of the family {family.name!r} have no closed form for leave-one-out, "
            "and refits need every row the model has learned. Next: pass all of them, with the labels and weights "
            "given to fit; or use cross-validation."
        )
    w = np.ones(len(codes)) if weight is None else weight
    score = np.empty((len(codes), k))
    for alike in alike_rows(rows, codes, w):
        others = np.delete(np.arange(len(codes)), alike[0])
        rest = family.summarize(take_rows(rows, others), codes[others], k, w[others])
        density = family.estimate(rest, settings)[0]
        score[alike] = density.log_density(family.recode(take_rows(rows, alike[:1]), rest))
    return score


def alike_rows(rows: Any, codes: Codes, weight: Array) -> list[Codes]:
    """Return the numbers of the rows, those that are equal in cells, class and weight together."""
    if not isinstance(rows, np.ndarray):
        return list(np.arange(len(codes))[:, None])
    table = np.column_stack([np.nan_to_num(rows, nan=np.inf), codes, weight])
    _, group = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    return list(np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1]))
