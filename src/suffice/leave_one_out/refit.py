"""Leave-one-out by what it means: estimate again without the row, for families that have no closed form."""

from __future__ import annotations

from typing import Any

from .._arrays import Array, Codes, np
from ..densities import as_density
from ..errors import DataError, NotLearnedError, SettingError, quoted
from ..estimate import Family, Settings
from ..stats.rows import take_rows

SLACK = 1e-9  # relative difference of weights that rounding explains


def refit_limit(
    family: Family, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
) -> tuple[Array, Array]:
    """Return (order, log coefficient) of each row under every class of an estimate from all other rows, (n, k) each.

    Orders are 0, and coefficients log densities in nats, but where a density gives a row probability zero, see
    `densities.Categorical.limit`.

    Statistics that can `subtract` lose the row, so `rows` may be some of those they were made from. Others are summed
    up again, which takes all of these rows: SettingError if the weights of their cells do not add up to those of the
    statistics. DataError for a row that was not learned. Rows alike in cells, class and weight share a refit.
    """
    k = len(stats.column_weight())
    if "subtract" not in stats.edits:
        _check_complete(family, rows, stats, codes, weight, settings)
    w = np.ones(len(codes)) if weight is None else weight
    order, score = np.zeros((len(codes), k)), np.empty((len(codes), k))
    for alike in alike_rows(rows, codes, w):
        first = alike[:1]
        if "subtract" in stats.edits:
            one = family.summarize(take_rows(rows, first), codes[first], k, w[first])
            try:
                rest = stats.subtract(one)
            except NotLearnedError as error:
                i = int(first[0])
                raise DataError.not_learned(i, settings.classes[int(codes[i])], error.why) from error
        else:
            others = np.delete(np.arange(len(codes)), first)
            rest = family.summarize(take_rows(rows, others), codes[others], k, w[others])
        density = as_density(family.estimate(rest, settings)[0])
        row = family.recode(take_rows(rows, first), rest)
        order[alike], score[alike] = density.limit(row)
    return order, score


def _check_complete(
    family: Family, rows: Any, stats: Any, codes: Codes, weight: Array | None, settings: Settings
) -> None:
    """Raise SettingError unless the statistics are those of these rows and no others."""
    whole = family.summarize(rows, codes, len(stats.column_weight()), weight).column_weight()
    if not np.allclose(whole, stats.column_weight(), rtol=SLACK, atol=0.0):
        raise SettingError(
            f"Columns {quoted(settings.columns)} of the family {family.name!r} have no closed form for leave-one-out, "
            "and refits need every row the model has learned. Next: pass all of them, with the labels and weights "
            "given to fit; or use cross-validation."
        )


def alike_rows(rows: Any, codes: Codes, weight: Array) -> list[Codes]:
    """Return the numbers of the rows, those that are equal in cells, class and weight together."""
    if not isinstance(rows, np.ndarray):
        return list(np.arange(len(codes))[:, None])
    table = np.column_stack([np.nan_to_num(rows, nan=np.inf), codes, weight])
    _, group = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    return list(np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1]))
