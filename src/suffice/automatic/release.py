"""The automatic classifier without rows: histograms on round grids, Gaussians and levels.

Knots of the model itself are cells, and pairs of levels count single rows. What is released instead is made anew from
the rows at hand: the knots of a number lie on a grid whose step is a fixed share of the column's own spread; splines
and normal scores are read off a histogram between them, in which no class has a count of too few rows; Gaussians are
of numbers only, since an indicator of a level that one row has repeats that row in its products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .._arrays import Array, Codes, cross_sums, ndtri, np
from ..densities import Full
from ..disclosure import Given, Kept, MinCount, Terms, release_gaussian
from ..errors import DataError, either
from ..estimate.families import GaussianFamily
from ..stats import CategoricalStats, DiagonalScatter, FullScatter, GaussianStats, PatternStats
from ..stats.pooling import overall
from .columns import FLAT, MOST_COLUMNS, RAW, SCORES, FrozenColumns
from .completion import complete_tied
from .knots import BINS, INTERVALS, NOTHING, Splines
from .members.gaussian import GaussianPart
from .members.splines import SplineCounts
from .statistics import MemberRows, MemberStats

MEMBERS_LESS = "left out pairs of columns, parts of classes and covariances of categories"
KNOTS = "read numbers on a round grid, by histograms"
FINENESS = 8.0  # steps of the grid in the range of the middle half of the rows, at least


def check_width(rows: MemberRows) -> None:
    """Raise DataError for so many numbers that members see directions instead."""
    if rows.rows.numbers.shape[1] > MOST_COLUMNS:
        raise DataError(
            f"An automatic classifier of {rows.rows.numbers.shape[1]} numeric columns cannot be released (the most are "
            f"{MOST_COLUMNS}). Next: release a "
            f"{either('GaussianDiscriminant or NaiveBayes', 'model of --model full or nb')} of them."
        )


def round_columns(rows: MemberRows, levels: CategoricalStats, least: MinCount) -> FrozenColumns:
    """Return columns whose knots are no cells: with scores and units still to be made; see `released_members`."""
    d, numbers = rows.rows.numbers.shape[1], rows.rows.numbers
    edges = [_edges(numbers[:, j], rows.weight, least) for j in range(d)]
    splines = {m: Splines(tuple(_thinned(own, m) for own in edges)) for m in INTERVALS}
    none = tuple(np.zeros(0) for _ in range(d))
    return FrozenColumns(
        tuple((own, np.zeros(len(own))) for own in edges),
        splines,
        dict.fromkeys(BINS, none),
        levels.levels,
        tuple(() for _ in levels.levels),
    )


def _edges(x: Array, weight: Array, least: MinCount) -> Array:
    """Return at most 17 knots at quantiles, moved to the middles of a grid of round steps; at least one."""
    seen = ~np.isnan(x)
    x, w = x[seen], weight[seen]
    total = float(w.sum())
    if total < 2 * least.size:
        return np.zeros(1)
    end = min(least.size / total, 0.5)  # beyond the outermost knots there are enough rows
    shares = np.linspace(0.0, 1.0, max(INTERVALS) + 1)
    wanted = np.quantile(x, np.clip(shares, end, 1.0 - end), weights=w, method="inverted_cdf")
    low, high = np.quantile(x, [0.25, 0.75], weights=w, method="inverted_cdf")
    mean = float(w @ x) / total
    spread = float(high - low) or float(np.sqrt(w @ (x - mean) ** 2 / total))
    if not spread > max(FLAT * abs(mean), NOTHING):
        return np.zeros(1)
    step = 2.0 ** np.floor(np.log2(spread / FINENESS))
    return np.asarray(np.unique((np.floor(wanted / step) + 0.5) * step))


def _thinned(edges: Array, intervals: int) -> Array:
    """Return some of the edges, for about so many intervals."""
    if len(edges) <= intervals + 1:
        return edges
    return edges[np.unique(np.rint(np.linspace(0, len(edges) - 1, intervals + 1)).astype(np.int64))]


def released_members(
    rows: MemberRows, levels: CategoricalStats, weight: Array, least: MinCount, given: Given, like: FrozenColumns | None
) -> tuple[MemberStats, MemberStats]:
    """Return the members' statistics as they may be passed on, and exact ones in the same columns, to choose by.

    `weight` (k,) are the class weights, `levels` the counts of categories as released; `like` are the columns of
    another released model, to be used instead of columns of one's own.
    """
    columns = round_columns(rows, levels, least) if like is None else like
    d, k = len(columns.scores), rows.k
    place = [_bins(rows.rows.numbers[:, j], columns.scores[j][0]) for j in range(d)]
    tables = [_histogram(own, len(columns.scores[j][0]), rows, weight, least) for j, own in enumerate(place)]
    if like is None:
        scores = tuple((columns.scores[j][0], _normal_scores(table)) for j, table in enumerate(tables))
        columns = replace(columns, scores=scores)
    given.up(MEMBERS_LESS)
    if d:
        given.up(KNOTS, range(d))
    gaussian, exact = {}, {}
    for kind in (RAW, SCORES) if d else ():
        cells = rows.rows.numbers if kind == RAW else columns.normal_scores(rows.rows.numbers)
        stats = _gaussian(cells, rows, weight, least, given)  # of two values each, scores pair as numbers do
        if like is None:
            columns.set_units(kind, *overall(stats))  # as released, so that they tell nothing more
        used = columns.used[kind]
        if len(used):
            scaled = stats.in_units(used, columns.center[kind][used], columns.scale[kind][used])
            gaussian[kind] = PatternStats(scaled, {})
    read = columns.read(rows.rows.numbers, rows.rows.coded)
    for kind in gaussian:
        exact[kind] = PatternStats.summarize(columns.gaussian(kind, read), rows.codes, k, rows.weight, FullScatter)
    sums = {m: _counted(columns.splines[m], columns, tables, k) for m in INTERVALS} if d else {}
    own = {m: columns.splines[m].count(read.numbers, rows.codes, k, rows.weight) for m in INTERVALS} if d else {}
    seen = [table.sum(axis=1) for table in tables] + [table.sum(axis=1) for table in levels.counts]
    held = np.stack(seen, axis=1) if seen else np.zeros((k, 0))
    given_on = MemberStats.of(columns, held, GaussianPart(gaussian), SplineCounts.of(sums))
    return given_on, MemberStats.of(columns, held, GaussianPart(exact), SplineCounts.of(own))


def _bins(x: Array, edges: Array) -> Codes:
    """Return between which knots a number lies: 0 below the first, −1 where it is missing."""
    found = np.searchsorted(edges, x, side="right")
    return np.where(np.isnan(x), -1, found).astype(np.int64)


def _histogram(bins: Codes, edges: int, rows: MemberRows, weight: Array, least: MinCount) -> Array:
    """Return counts (k, edges + 1) of which each is none or enough rows, or spread evenly over neighbours that are."""
    seen = bins >= 0
    table = cross_sums(rows.codes[seen], bins[seen], (rows.k, edges + 1), rows.weight[seen])
    out = np.stack([_smoothed(own, float(whole), least) for own, whole in zip(table, weight, strict=True)])
    lost = np.flatnonzero(~out.any(axis=1) & table.any(axis=1))
    rest = out.sum(axis=0)
    if len(lost) and rest.any():
        out[lost] = weight[lost, None] * rest / rest.sum()
    return out


def _smoothed(cells: Array, whole: float, least: MinCount) -> Array:
    """Return the histogram of one class: runs of small counts are added up and shared out evenly.

    A run of too few rows altogether is rounded, and what that adds or takes comes from the largest count. A class with
    too few rows in all has none. Where too few rows miss the cell, they are counted like the others.
    """
    size, total = least.size, float(cells.sum())
    if total < size * (1.0 - 1e-9):
        return np.zeros_like(cells)
    small, out, debt = least.few(cells), np.where(least.few(cells), 0.0, cells), 0.0
    run: list[int] = []
    for i in range(len(cells) + 1):
        if i < len(cells) and (small[i] or not cells[i] > 0):
            run += [i] if small[i] else []
            if not run or float(cells[run].sum()) < size:
                continue
        elif not run:
            continue
        held = float(cells[run].sum())
        shown = held if held >= size * (1.0 - 1e-9) else float(least.rounded(np.array([held]))[0])
        span = np.arange(run[0], run[-1] + 1)
        out[span] += shown / len(span)
        debt += shown - held
        run = []
    largest = int(np.argmax(out))
    if debt and out[largest] - debt < size:
        shown_at = np.flatnonzero(cells > 0)
        out = np.zeros_like(cells)
        out[shown_at[0] : shown_at[-1] + 1] = total / (shown_at[-1] - shown_at[0] + 1)
    else:
        out[largest] -= debt
    if bool(least.few(np.array([whole - total]))[0]):
        out *= whole / total
    return out


def _normal_scores(table: Array) -> Array:
    """Return the normal scores of the knots (edges,) from the counts between them."""
    counts = table.sum(axis=0)
    total = float(counts.sum())
    if not total:
        return np.zeros(len(counts) - 1)
    return np.asarray(ndtri(np.clip(np.cumsum(counts)[:-1], 0.5, total - 0.5) / total))


def _counted(splines: Splines, columns: FrozenColumns, tables: Sequence[Array], k: int) -> Array:
    """Return sums of splines (k, B) over the rows of histograms, each taken to lie in the middle of its bin."""
    parts = []
    for j, table in enumerate(tables):
        edges = columns.scores[j][0]
        middles = np.concatenate([edges[:1], 0.5 * (edges[1:] + edges[:-1]), edges[-1:]])
        codes = np.repeat(np.arange(k), len(middles))
        parts.append(Splines(splines.knots[j : j + 1]).count(np.tile(middles, k)[:, None], codes, k, table.ravel()))
    return np.concatenate(parts, axis=1)


def _gaussian(cells: Array, rows: MemberRows, weight: Array, least: MinCount, given: Given) -> GaussianStats:
    """Return means and scatters by class (k, d, d) of numbers or their scores, missing ones filled as members do."""
    kept, family = Kept(cells, rows.codes, rows.copies, rows.weight, True), GaussianFamily(structure=Full)
    stats = family.summarize(cells, rows.codes, rows.k, rows.weight)
    return release_gaussian(family, stats, Terms(weight, kept, least, given), complete_tied).complete


def diagonal_of(stats: MemberStats, d: int, weight: Array) -> GaussianStats:
    """Return mean and squares of each number (k, d) from the Gaussian member, in the columns' own units."""
    columns, k = stats.columns, len(weight)
    mean, squares = np.tile(columns.center[RAW][:d], (k, 1)), np.zeros((k, d))
    if RAW in stats.gaussian:
        used, own = columns.used[RAW], stats.gaussian[RAW].complete
        scale = columns.scale[RAW][used]
        mean[:, used] += own.mean * scale
        squares[:, used] = np.diagonal(own.scatter.values, axis1=1, axis2=2) * scale**2
    seen = np.repeat(weight[:, None], d, axis=1)
    return GaussianStats(seen, mean, DiagonalScatter(squares), DiagonalScatter)
