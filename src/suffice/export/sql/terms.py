"""Terms in SQL: over independent readings and codes one expression per class; mixtures of Gaussians and one-dependence
estimators, which are a log-sum-exp, with stages of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..._arrays import Array, gammaln, np
from ..program import Counts, LocationScale, Mixture, Pairs, PiecewiseLinear, Table
from .cells import Cells
from .language import Language, number, piecewise, switch, total, where_known
from .normal import Normals
from .stages import Stages

STIRLING = 20  # from this count on the series for log x! is exact to rounding
LEAST = "-1.0e300"  # less than any log density


def table(term: Table, c: int, cells: Cells) -> str:
    """Return the log probability of a code in class c."""
    return _by_code(cells.code(term.code), term.log_p[c], cells)


def table_order(term: Table, c: int, cells: Cells) -> str:
    """Return how many zero probabilities the code has in class c: 0 or 1."""
    return "0.0e0" if term.order is None else _by_code(cells.code(term.code), term.order[c], cells)


def _by_code(code: str, values: Array, cells: Cells) -> str:
    return switch(code, [(i, number(value)) for i, value in enumerate(values)], "0.0e0")


def counts(term: Counts, c: int, cells: Cells) -> str:
    """Return what counts add in class c, but for log x!."""
    return _linear(term.readings, term.per_count[c], term.per_cell[c], cells)


def counts_order(term: Counts, c: int, cells: Cells) -> str:
    """Return how many times a row has what class c gives probability zero."""
    zero = np.zeros(len(term.readings))
    per_count = zero if term.order_per_count is None else term.order_per_count[c]
    per_cell = zero if term.order_per_cell is None else term.order_per_cell[c]
    return _linear(term.readings, per_count, per_cell, cells)


def _linear(readings: Sequence[int], per_count: Array, per_cell: Array, cells: Cells) -> str:
    parts = []
    for i, slope, level in zip(readings, per_count, per_cell, strict=True):
        if slope or level:
            x = cells.reading(i)
            parts.append(where_known(x, f"{number(slope)} * {x} + {number(level)}"))
    return total(parts)


def log_factorials(term: Counts, cells: Cells, language: Language) -> str:
    """Return Σ log x_j! of whole counts: a table of small ones, Stirling's series for the others."""
    small = [(x, number(gammaln(x + 1.0))) for x in range(2, STIRLING)]
    parts = []
    for i in term.readings:
        x = cells.reading(i)
        z = f"({x} + 1.0e0)"
        series = (
            f"({x} + 0.5e0) * {language.ln(z)} - {z} + {number(0.5 * np.log(2.0 * np.pi))} + 1.0e0 / (12.0e0 * {z})"
            f" - 1.0e0 / (360.0e0 * {z} * {z} * {z}) + 1.0e0 / (1260.0e0 * {z} * {z} * {z} * {z} * {z})"
            f" - 1.0e0 / (1680.0e0 * {z} * {z} * {z} * {z} * {z} * {z} * {z})"
        )
        table = switch(x, small, "0.0e0")
        parts.append(f"CASE WHEN {x} IS NULL THEN 0.0e0 WHEN {x} >= {number(STIRLING)} THEN {series} ELSE {table} END")
    return total(parts)


def location_scale(term: LocationScale, c: int, cells: Cells, language: Language) -> str:
    """Return the log density of independent Laplace or Student t readings in class c."""
    parts = []
    for j, i in enumerate(term.readings):
        x, df = cells.reading(i), float(term.df[c, j])
        z = f"(({x} - {number(term.location[c, j])}) / {number(term.scale[c, j])})"
        if term.shape == "laplace":
            kernel = f"ABS{z}"
        elif np.isinf(df):
            kernel = f"0.5e0 * {z} * {z}"
        else:
            kernel = f"{number(0.5 * (df + 1.0))} * {language.ln(f'1.0e0 + {z} * {z} / {number(df)}')}"
        parts.append(where_known(x, f"{number(term.constant[c, j])} - {kernel}"))
    return total(parts)


def hats(term: PiecewiseLinear, c: int, cells: Cells) -> str:
    """Return a piecewise linear function of one reading in class c."""
    x, knots, values = cells.reading(term.reading), term.knots, term.values[c]
    if len(knots) == 1:
        return where_known(x, number(values[0]))
    slopes = np.diff(values) / np.diff(knots)
    inner = [
        f"({number(value)} + {number(slope)} * ({x} - {number(knot)}))"
        for knot, value, slope in zip(knots[:-1], values[:-1], slopes, strict=True)
    ]
    return where_known(x, piecewise(x, knots, [number(values[0]), *inner, number(values[-1])]))


def mixture(term: Mixture, classes: Sequence[int], cells: Cells, stages: Stages, exact: bool) -> dict[int, str]:
    """Add the log densities of some classes that are mixtures, and return their columns."""
    components = [i for i, owner in enumerate(term.owner) if owner in set(classes)]
    parts = Normals(term.parts, cells, stages, exact).densities(components)
    weighted = {i: f"({name} + {number(term.log_weight[i])})" for i, name in parts.items()}
    own = {c: [i for i in components if term.owner[i] == c] for c in classes}
    peaks, found = {c: stages.name() for c in classes}, {c: stages.name() for c in classes}
    stages.add({peaks[c]: stages.language.greatest([weighted[i] for i in own[c]]) for c in classes})
    new = {}
    for c in classes:
        sums = total([stages.language.exp(f"{weighted[i]} - {peaks[c]}") for i in own[c]])
        new[found[c]] = f"{peaks[c]} + {stages.language.ln(sums)}"
    stages.add(new, drop=[*peaks.values(), *parts.values()])
    return found


def written_pairs(term: Pairs) -> int:
    """Return how many values of two levels of different columns, and a class, the query looks up."""
    sizes = np.array(term.sizes)
    return len(term.alone) * int(sizes.sum() ** 2 - (sizes**2).sum())


def pairs(term: Pairs, classes: Sequence[int], cells: Cells, stages: Stages) -> dict[int, str]:
    """Add the log densities of averaged one-dependence estimators, and return their columns."""
    language, scores = stages.language, {c: [stages.name() for _ in term.codes] for c in classes}
    stages.add({scores[c][u]: _parent(term, c, u, cells, stages) for c in classes for u in range(len(term.codes))})
    known, peaks = stages.name(), {c: stages.name() for c in classes}
    present = [
        f"CASE WHEN {cells.code(i)} BETWEEN 0 AND {size - 1} THEN 1 ELSE 0 END"
        for i, size in zip(term.codes, term.sizes, strict=True)
    ]
    best = {peaks[c]: language.greatest([f"COALESCE({name}, {LEAST})" for name in scores[c]]) for c in classes}
    stages.add({known: total(present), **best})
    new, found = {}, {c: stages.name() for c in classes}
    for c in classes:
        exps = [
            f"CASE WHEN {name} IS NULL THEN 0.0e0 ELSE {language.exp(f'{name} - {peaks[c]}')} END" for name in scores[c]
        ]
        mean = f"{peaks[c]} + {language.ln(f'{total(exps)} / {known}')}"
        new[found[c]] = f"CASE WHEN {known} = 0 THEN 0.0e0 ELSE {mean} END"
    stages.add(new, drop=[known, *peaks.values(), *(name for own in scores.values() for name in own)])
    return found


def _parent(term: Pairs, c: int, u: int, cells: Cells, stages: Stages) -> str:
    """Return the score of class c with column u as the parent of all others, NULL where it is missing."""
    branches = []
    for a in range(term.sizes[u]):
        row = term.starts[u] + a
        parts = [number(term.alone[c, row])]
        for v, (i, size, start) in enumerate(zip(term.codes, term.sizes, term.starts, strict=True)):
            if v != u and size:
                values = [(b, number(term.given[c, row, start + b])) for b in range(size)]
                parts.append(switch(cells.code(i), values, "0.0e0"))
        branches.append((a, total(parts)))
    return stages.language.double(switch(cells.code(term.codes[u]), branches, "NULL"))
