"""Numbers within ranges: how probable that is by class, and draws of them, where a class has a closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._arrays import Array, Codes, ndtr, ndtri, np, stdtr, stdtrit


class Within(NamedTuple):
    """What is known of rows (m, d) whose missing numbers are to lie within ranges.

    `log_mass` (m, k) is log p(numbers of `columns` within their ranges | known cells, class) in nats; of ranges of
    other columns nothing is said. `draw(index, codes, rng)` returns rows of these numbers (n,) and classes (n,) with
    the cells of `columns`, and others perhaps, drawn given that they lie there.
    """

    log_mass: Array
    columns: tuple[int, ...]
    draw: Callable[[Codes, Codes, np.random.RandomState], Any]


def bells_within(
    rows: Array, low: Array, high: Array, center: Array, scale: Array, df: Array, *, independent: bool
) -> Within | None:
    """Return what is known of rows whose missing cells are Student t's by class, given the known ones.

    `center`, `scale` and `df` broadcast to (m, d, k), ∞ degrees of freedom are a Gaussian, and a `scale` of NaN is no
    law. Unless columns are `independent`, it is of the one that is least probable to lie within its range.
    """
    scale = np.broadcast_to(scale, (*rows.shape, scale.shape[-1]))
    asked = np.flatnonzero((np.isfinite(low) | np.isfinite(high)) & np.isfinite(scale).all(axis=(0, 2)))
    if not len(asked):
        return None
    center, df = (np.broadcast_to(own, scale.shape)[:, asked] for own in (center, df))
    scale, low, high = scale[:, asked], low[asked], high[asked]
    begin, end = ((own[:, None] - center) / scale for own in (low, high))
    sign = np.where(begin > 0, -1.0, 1.0)  # the upper tail is looked at from below, where its digits are
    below = _below(np.where(sign > 0, begin, -end), df)
    mass = _below(np.where(sign > 0, end, -begin), df) - below
    some = np.arange(len(asked)) if independent else mass.mean(axis=(0, 2)).argmin(keepdims=True)

    def draw(index: Codes, codes: Codes, rng: np.random.RandomState) -> Array:
        out, at = rows[index], (index[:, None], some, codes[:, None])
        share = below[at] + rng.random_sample((len(index), len(some))) * mass[at]
        z = sign[at] * np.where(np.isinf(df[at]), ndtri(share), stdtrit(df[at], share))
        out[:, asked[some]] = np.clip(center[at] + scale[at] * z, low[some], high[some])
        return out

    with np.errstate(divide="ignore"):
        log_mass = np.log(mass[:, some]).sum(axis=1)
    return Within(log_mass, tuple(asked[some].tolist()), draw)


def _below(z: Array, df: Array) -> Array:
    """Return the distribution function of Student t's."""
    endless = np.isinf(df)
    return np.where(endless, ndtr(z), stdtr(np.where(endless, 1.0, df), z))
