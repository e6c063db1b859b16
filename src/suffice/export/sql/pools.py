"""Terms that are a log-sum-exp: mixtures of Gaussians, and one-dependence estimators. Each needs stages of its own."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import Mixture, Pairs
from .cells import Cells
from .language import number, switch, total
from .normal import Normals
from .stages import Stages

LEAST = "-1.0e300"  # less than any log density


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
