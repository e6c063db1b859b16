"""Terms in SQL: over independent readings and codes one expression per class; sums of exponentials and trees in stages.

Where a database reads a constant array once for all rows, each tree has a column that goes down it, a stage for each
depth, whose arrays hold what the nodes of that depth ask for, or one CASE for all of a small tree; then the leaf's
values are looked up. Elsewhere each class and tree is one CASE that ends in the value of the row's leaf: far more for a
database to plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..._arrays import Array, Codes, gammaln, np
from ..program import Counts, LocationScale, Mixture, Pairs, PiecewiseLinear, Program, Table, TreeSums
from .cells import Cells
from .language import Language, case, line, number, piecewise, total, where_known
from .normal import Normals

STIRLING = 20  # from this count on the series for log x! is exact to rounding
LEAST = "-1.0e300"  # less than any log density
MOST_VALUES = {True: 300_000, False: 50_000}  # in leaves, with arrays and without: some 15 s of DuckDB's planning
SHORT = 16  # leaves that one CASE leads to: planned in a third of the time of arrays, those of 31 in twice that time
AT_ONCE = 100  # trees that have columns: PostgreSQL allows a query 1,664
TINY = number(1e-300)  # of a sum whose logarithm is taken
TOGETHER = 8  # trees added in a row: what an optimizer does with a long sum grows as its square


def table(term: Table, c: int, cells: Cells) -> str:
    """Return the log probability of a code in class c."""
    return _by_code(cells.code(term.code), term.log_p[c])


def table_order(term: Table, c: int, cells: Cells) -> str:
    """Return how many zero probabilities the code has in class c: 0 or 1."""
    return "0.0e0" if term.order is None else _by_code(cells.code(term.code), term.order[c])


def _by_code(code: str, values: Array) -> str:
    return case([(i, number(value)) for i, value in enumerate(values)], "0.0e0", code)


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


def log_factorials(term: Counts, cells: Cells) -> str:
    """Return Σ log x_j! of whole counts: a table of small ones, Stirling's series for the others."""
    language = cells.stages.language
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
        table = case(small, "0.0e0", x)
        parts.append(f"CASE WHEN {x} IS NULL THEN 0.0e0 WHEN {x} >= {number(STIRLING)} THEN {series} ELSE {table} END")
    return total(parts)


def location_scale(term: LocationScale, c: int, cells: Cells) -> str:
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
            kernel = f"{number(0.5 * (df + 1.0))} * {cells.stages.language.ln(f'1.0e0 + {z} * {z} / {number(df)}')}"
        parts.append(where_known(x, f"{number(term.constant[c, j])} - {kernel}"))
    return total(parts)


def hats(term: PiecewiseLinear, c: int, cells: Cells) -> str:
    """Return a piecewise linear function of one reading in class c."""
    x, knots, values = cells.reading(term.reading), term.knots, term.values[c]
    if len(knots) == 1:
        return where_known(x, number(values[0]))
    slopes = np.diff(values) / np.diff(knots)
    inner = [line(x, *each) for each in zip(knots[:-1], values[:-1], slopes, strict=True)]
    return where_known(x, piecewise(x, knots, [number(values[0]), *inner, number(values[-1])]))


def mixture(term: Mixture, classes: Sequence[int], cells: Cells, exact: bool) -> dict[int, str]:
    """Add the log densities of some classes that are mixtures, and return their columns."""
    stages = cells.stages
    components = [i for i, owner in enumerate(term.owner) if owner in set(classes)]
    parts = Normals(term.parts, cells, exact).densities(components)
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


def pairs(term: Pairs, classes: Sequence[int], cells: Cells) -> dict[int, str]:
    """Add the log densities of averaged one-dependence estimators, and return their columns."""
    stages, language = cells.stages, cells.stages.language
    scores = {c: [stages.name() for _ in term.codes] for c in classes}
    stages.add({scores[c][u]: _parent(term, c, u, cells) for c in classes for u in range(len(term.codes))})
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


def _parent(term: Pairs, c: int, u: int, cells: Cells) -> str:
    """Return the score of class c with column u as the parent of all others, NULL where it is missing."""
    branches = []
    for a in range(term.sizes[u]):
        row = term.starts[u] + a
        parts = [number(term.alone[c, row])]
        for v, (i, size, start) in enumerate(zip(term.codes, term.sizes, term.starts, strict=True)):
            if v != u and size:
                values = [(b, number(term.given[c, row, start + b])) for b in range(size)]
                parts.append(case(values, "0.0e0", cells.code(i)))
        branches.append((a, total(parts)))
    return cells.stages.language.double(case(branches, "NULL", cells.code(term.codes[u])))


# --- trees ---


def tree_size(program: Program) -> tuple[int, int, int]:
    """Return the number of trees, leaves, and values in leaves (one for each class) of a program."""
    terms = [term for term in program.terms if isinstance(term, TreeSums)]
    sizes = [(len(term.roots), len(term.values), term.values.size) for term in terms]
    trees, leaves, values = (sum(own) for own in zip(*sizes, strict=True)) if sizes else (0, 0, 0)
    return trees, leaves, values


def tree_sums(term: TreeSums, classes: Sequence[int], cells: Cells) -> dict[int, str]:
    """Add the sums over leaves of some classes, and return their columns."""
    stages, language = cells.stages, cells.stages.language
    if language.has_arrays:
        sums = _looked_up(term, classes, cells)
    else:
        cases, sums = _Cases(term, cells), {c: stages.name() for c in classes}
        stages.add({name: cases.sum(c) for c, name in sums.items()})
    found = {c: stages.name() for c in classes}
    new = {}
    for c, name in sums.items():
        linked = language.ln(language.greatest([name, TINY])) if term.logs else name
        new[found[c]] = f"{linked} + {number(term.base[c])}"
    stages.add(new, drop=sums.values())
    return found


# --- with arrays -----------------------------------------------------------------------------------------------------


def _looked_up(term: TreeSums, classes: Sequence[int], cells: Cells) -> dict[int, str]:
    """Add the sums of some classes, and return their columns."""
    stages, language, walk, cases = cells.stages, cells.stages.language, _Walk.of(term), _Cases(term, cells)
    leaves, row = [str(place) for place in walk.place[term.column < 0].tolist()], stages.name()
    stages.add({row: language.array([cells.code(i) for i in term.codes] or ["0"])})
    sums: dict[int, str] = {}
    for start in range(0, max(len(term.roots), 1), AT_ONCE):
        trees = range(start, min(start + AT_ONCE, len(term.roots)))
        places = {t: stages.name() for t in trees}
        stages.add({name: walk.start(t, cases, leaves) for t, name in places.items()})
        for depth in range(walk.depths):
            stages.add({name: text for t, name in places.items() if (text := walk.step(t, depth, name, row, language))})
        new = {c: stages.name() for c in classes}
        texts = {}
        for c, name in new.items():
            each = [language.entry(walk.values(t)[:, c], f"-{place}") for t, place in places.items()]
            texts[name] = total([*([sums[c]] if sums else []), *each])
        stages.add(texts, drop=[*places.values(), *sums.values()])
        sums = new
    stages.add({}, drop=[row])
    return sums


@dataclass(frozen=True)
class _Walk:
    """The way down all trees. A node's `place` (m,) counts from 1 among those of its tree and depth, `nodes`; that of a
    leaf is −1, −2, … among those of its tree, in which `first` (t + 1,) are numbers of leaves.
    """

    term: TreeSums
    place: Codes
    nodes: dict[tuple[int, int], Codes]
    first: Codes
    depths: int

    @classmethod
    def of(cls, term: TreeSums) -> _Walk:
        size, leaf = len(term.column), term.column < 0
        tree = np.searchsorted(term.roots, np.arange(size), side="right") - 1
        first = np.searchsorted(tree[leaf], np.arange(len(term.roots) + 1))
        depth = np.zeros(size, dtype=np.int64)
        for node in np.flatnonzero(~leaf).tolist():
            depth[[term.left[node], term.right[node]]] = depth[node] + 1
        depths = int(depth.max(initial=0))
        place = first[tree] - np.cumsum(leaf)
        nodes: dict[tuple[int, int], Codes] = {}
        inner = np.flatnonzero(~leaf)
        order = inner[np.lexsort((inner, depth[inner], tree[inner]))]
        ends = np.flatnonzero(np.diff(tree[order] * (depths + 1) + depth[order])) + 1
        for own in np.split(order, ends) if len(order) else ():
            nodes[int(tree[own[0]]), int(depth[own[0]])] = own
            place[own] = np.arange(1, len(own) + 1)
        return cls(term, place, nodes, first, depths)

    def is_short(self, t: int) -> bool:
        """Return whether one CASE takes a tree's rows to their leaves."""
        return bool(self.first[t + 1] - self.first[t] <= SHORT)

    def values(self, t: int) -> Array:
        """Return the values of a tree's leaves (L, k)."""
        return self.term.values[self.first[t] : self.first[t + 1]]

    def start(self, t: int, cases: _Cases, leaves: Sequence[str]) -> str:
        """Return the place that a tree begins with: that of its root, of a small one that of the row's leaf."""
        root = int(self.term.roots[t])
        return cases.tree(root, leaves) if self.is_short(t) else str(self.place[root])

    def step(self, t: int, depth: int, name: str, row: str, language: Language) -> str:
        """Return where a tree's column goes from the nodes of a depth; nothing where there are none."""
        own = None if self.is_short(t) else self.nodes.get((t, depth))
        if own is None:
            return ""
        term = self.term
        cell = f"{row}[{language.entry(term.column[own] + 1, name)}]"
        below = f"{cell} <= {language.entry(term.threshold[own], name)}"
        if term.missing_right[own].any():
            below += f" AND {cell} >= {language.entry(np.where(term.missing_right[own], 0, -1), name)}"
        ways = [language.entry(self.place[side[own]], name) for side in (term.left, term.right)]
        return case([(f"{name} < 0", name), (below, ways[0])], ways[1])


# --- without ---------------------------------------------------------------------------------------------------------


class _Cases:
    """The trees of a term as text. The child of fewer leaves stands inside the CASE of the other, so that CASEs are
    nested no deeper than a number of leaves can be halved: parsers limit the depth of an expression.
    """

    def __init__(self, term: TreeSums, cells: Cells) -> None:
        self._term, self._double = term, cells.stages.language.double
        self._codes = [cells.code(i) for i in term.codes]
        self._leaf = np.cumsum(term.column < 0) - 1
        self._leaves = _leaves_below(term)

    def sum(self, c: int) -> str:
        """Return the sum over all trees in class c."""
        told = [number(value) for value in self._term.values[:, c]]
        parts = [self.tree(int(root), told, self._double) for root in self._term.roots]
        while len(parts) > TOGETHER:
            parts = [total(parts[i : i + TOGETHER]) for i in range(0, len(parts), TOGETHER)]
        return total(parts)

    def tree(self, node: int, told: Sequence[str], last: Callable[[str], str] = str) -> str:
        """Return what is told of the leaf, by number, that a row below a node is in.

        What stands last goes through `last`: one double makes all of a CASE doubles.
        """
        term, branches = self._term, []
        while term.column[node] >= 0:
            left, right = int(term.left[node]), int(term.right[node])
            aside = left if self._leaves[left] <= self._leaves[right] else right
            branches.append((self._condition(node, aside == left), self.tree(aside, told)))
            node = left + right - aside
        return case(branches, last(told[self._leaf[node]]))

    def _condition(self, node: int, left: bool) -> str:
        """Return what holds of rows that go to the left of a node, or to the right."""
        code, threshold = self._codes[self._term.column[node]], self._term.threshold[node]
        if self._term.missing_right[node]:
            return f"{code} {'' if left else 'NOT '}BETWEEN 0 AND {threshold}"
        return f"{code} {'<=' if left else '>'} {threshold}"


def _leaves_below(term: TreeSums) -> Codes:
    """Return how many leaves each node has below it (m,), itself if it is one."""
    count = (term.column < 0).astype(np.int64)
    for node in np.flatnonzero(term.column >= 0)[::-1].tolist():
        count[node] = count[term.left[node]] + count[term.right[node]]
    return count
