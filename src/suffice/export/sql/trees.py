"""Sums over the leaves of trees in SQL.

Where a database reads a constant array once for all rows, each tree has a column that goes down it, a stage for each
depth, whose arrays hold what the nodes of that depth ask for; then the leaf's values are looked up. Elsewhere each
class and tree is one CASE that ends in the value of the row's leaf: far more for a database to plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..._arrays import Array, Codes, np
from ..program import Program, TreeSums
from .cells import Cells
from .language import Language, case, number, total
from .stages import Stages

MOST_VALUES = {True: 300_000, False: 50_000}  # in leaves, with arrays and without: some 15 s of DuckDB's planning
AT_ONCE = 100  # trees that have columns: PostgreSQL allows a query 1,664
LEAST = number(1e-300)  # of a sum whose logarithm is taken
TOGETHER = 8  # trees added in a row: what an optimizer does with a long sum grows as its square


def tree_size(program: Program) -> tuple[int, int, int]:
    """Return the number of trees, leaves, and values in leaves (one for each class) of a program."""
    terms = [term for term in program.terms if isinstance(term, TreeSums)]
    sizes = [(len(term.roots), len(term.values), term.values.size) for term in terms]
    trees, leaves, values = (sum(own) for own in zip(*sizes, strict=True)) if sizes else (0, 0, 0)
    return trees, leaves, values


def tree_sums(term: TreeSums, classes: Sequence[int], cells: Cells, stages: Stages) -> dict[int, str]:
    """Add the sums over leaves of some classes, and return their columns."""
    language = stages.language
    sums = (_looked_up if language.has_arrays else _by_cases)(term, classes, cells, stages)
    found = {c: stages.name() for c in classes}
    new = {}
    for c, name in sums.items():
        linked = language.ln(language.greatest([name, LEAST])) if term.logs else name
        new[found[c]] = f"{linked} + {number(term.base[c])}"
    stages.add(new, drop=sums.values())
    return found


# --- with arrays -----------------------------------------------------------------------------------------------------


def _looked_up(term: TreeSums, classes: Sequence[int], cells: Cells, stages: Stages) -> dict[int, str]:
    """Add the sums of some classes, and return their columns."""
    language, walk = stages.language, _Walk.of(term)
    row = stages.name()
    stages.add({row: language.array([cells.code(i) for i in term.codes] or ["0"])})
    sums: dict[int, str] = {}
    for start in range(0, max(len(term.roots), 1), AT_ONCE):
        trees = range(start, min(start + AT_ONCE, len(term.roots)))
        places = {t: stages.name() for t in trees}
        stages.add({name: str(walk.place[term.roots[t]]) for t, name in places.items()})
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

    def values(self, t: int) -> Array:
        """Return the values of a tree's leaves (L, k)."""
        return self.term.values[self.first[t] : self.first[t + 1]]

    def step(self, t: int, depth: int, name: str, row: str, language: Language) -> str:
        """Return where a tree's column goes from the nodes of a depth; nothing where there are none."""
        own = self.nodes.get((t, depth))
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


def _by_cases(term: TreeSums, classes: Sequence[int], cells: Cells, stages: Stages) -> dict[int, str]:
    """Add the sums of some classes, and return their columns."""
    cases, sums = _Cases(term, cells, stages), {c: stages.name() for c in classes}
    stages.add({name: cases.sum(c) for c, name in sums.items()})
    return sums


class _Cases:
    """The trees of a term as text. The child of fewer leaves stands inside the CASE of the other, so that CASEs are
    nested no deeper than a number of leaves can be halved: parsers limit the depth of an expression.
    """

    def __init__(self, term: TreeSums, cells: Cells, stages: Stages) -> None:
        self._term, self._double = term, stages.language.double
        self._codes = [cells.code(i) for i in term.codes]
        self._leaf = np.cumsum(term.column < 0) - 1
        self._leaves = _leaves_below(term)

    def sum(self, c: int) -> str:
        """Return the sum over all trees in class c."""
        parts = [self._tree(int(root), c, whole=True) for root in self._term.roots]
        while len(parts) > TOGETHER:
            parts = [total(parts[i : i + TOGETHER]) for i in range(0, len(parts), TOGETHER)]
        return total(parts)

    def _tree(self, node: int, c: int, whole: bool = False) -> str:
        term, branches = self._term, []
        while term.column[node] >= 0:
            left, right = int(term.left[node]), int(term.right[node])
            aside = left if self._leaves[left] <= self._leaves[right] else right
            branches.append((self._condition(node, aside == left), self._tree(aside, c)))
            node = left + right - aside
        value = number(term.values[self._leaf[node], c])
        return case(branches, self._double(value) if whole else value)  # one double makes all of a CASE doubles

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
