"""A program of some of its columns: all others are unknown in every row, so that it is smaller and answers the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from .._arrays import Array, Codes, np
from ..export.program import (
    Bin,
    Code,
    CodeReading,
    Counts,
    Dense,
    Factors,
    Hats,
    Independent,
    Indicator,
    LocationScale,
    Mixture,
    Normal,
    Number,
    Pairs,
    Program,
    Projected,
    Reading,
    Scaled,
    Stack,
    Table,
    Term,
    TreeSums,
)

MISSING = -1  # the code of a missing cell
Places = Mapping[int, int]


def of_columns(program: Program, columns: Sequence[int]) -> Program:
    """Return the program that asks these columns alone, in this order, and takes all others as missing.

    Exact: every term integrates a missing cell out by leaving it out, trees go the way of missing cells, and Gaussians
    of the pool are conditioned on what they read off a missing cell. Columns that go through `Projected` readings
    cannot be left out so.
    """
    assert not any(isinstance(reading, Projected) for reading in program.readings)
    job = _Few(program, {old: new for new, old in enumerate(columns)})
    terms, place = list[Term](), dict[int, int]()
    for number, term in enumerate(program.terms):
        made = job.term(term, number)
        if made is not None:
            place[number] = len(terms)
            terms.append(made)
    return replace(
        program,
        columns=tuple(program.columns[own] for own in columns),
        codes=tuple(job.codes),
        readings=tuple(job.readings),
        terms=tuple(terms),
        joint=None if program.joint is None else tuple(place[own] for own in program.joint if own in place),
        stack=None if program.stack is None else job.stack(program.stack, place),
        constants={job.columns[own]: value for own, value in program.constants.items() if own in job.columns},
    )


class _Few:
    """Renumbers what is left, in the order in which it was."""

    def __init__(self, program: Program, columns: Places) -> None:
        self.program, self.columns = program, columns
        self.added = dict[int, Array]()  # by number of a term what it says of every row (k,), in nats
        self.reading_of, self.code_of = _needed(program, columns)
        readings = [(old, program.readings[old]) for old in self.reading_of]
        self.readings = [self._reading(own) for _, own in readings]
        self.codes = [self._code(program.codes[old]) for old in self.code_of]

    def _reading(self, own: Reading) -> Reading:
        if isinstance(own, Number):
            return replace(own, column=self.columns[own.column])
        if isinstance(own, Indicator):
            return replace(own, code=self.code_of[own.code])
        return cast("Reading", replace(cast("Any", own), reading=self.reading_of[cast("Any", own).reading]))

    def _code(self, own: CodeReading) -> CodeReading:
        if isinstance(own, Code):
            return replace(own, column=self.columns[own.column])
        return replace(own, reading=self.reading_of[own.reading])

    def term(self, term: Term, number: int) -> Term | None:
        """Return what is left of a term; None where nothing is."""
        if isinstance(term, Normal):
            found, self.added[number] = self._normal(term)
            return found
        if isinstance(term, Mixture):
            return self._mixture(term, number)
        if isinstance(term, LocationScale | Counts):
            kept, readings = self._kept(term.readings, self.reading_of)
            return None if not kept else replace(term, readings=readings, **_sliced(term, kept))
        if isinstance(term, Table):
            return replace(term, code=self.code_of[term.code]) if term.code in self.code_of else None
        if isinstance(term, Hats):
            return replace(term, reading=self.reading_of[term.reading]) if term.reading in self.reading_of else None
        return self._pairs(term) if isinstance(term, Pairs) else self._trees(term)

    @staticmethod
    def _kept(own: Sequence[int], place: Places) -> tuple[list[int], tuple[int, ...]]:
        kept = [j for j, old in enumerate(own) if old in place]
        return kept, tuple(place[own[j]] for j in kept)

    def _normal(self, term: Normal) -> tuple[Normal | None, Array]:
        """Return the density of the readings that are left, given those that a missing cell fixes, and theirs (m,)."""
        kept, readings = self._kept(term.readings, self.reading_of)
        told = [(j, self._of_nothing(i)) for j, i in enumerate(term.readings) if i not in self.reading_of]
        fixed, values = [j for j, own in told if own is not None], [own for _, own in told if own is not None]
        if fixed:
            term, added = _given(term, kept, fixed, np.array(values))
            kept = list(range(len(kept)))
        else:
            added = np.zeros(len(term.location))
        if not kept:
            return None, added
        spread: Dense | Independent | Factors = term.spread
        if isinstance(spread, Dense):
            spread = _dense(spread.covariance[:, kept][:, :, kept])
        elif isinstance(spread, Independent):
            spread = Independent(spread.variance[:, kept])
        else:
            spread = Factors(spread.scale[:, kept], tuple(own[kept] for own in spread.loadings), spread.floor)
        constant = term.constant[:, : len(kept) + 1]
        own = replace(term, readings=readings, location=term.location[:, kept], spread=spread, constant=constant)
        return own, added

    def _mixture(self, term: Mixture, number: int) -> Mixture | None:
        parts, added = self._normal(term.parts)
        weight, owner = term.log_weight + added, np.array(term.owner)
        total = np.array([np.logaddexp.reduce(weight[owner == c]) for c in range(owner.max() + 1)])
        self.added[number] = total
        return None if parts is None else replace(term, parts=parts, log_weight=weight - total[owner])

    def _of_nothing(self, i: int) -> float | None:
        """Return what a reading is where its cell is missing; None where it is missing too."""
        own = self.program.readings[i]
        if isinstance(own, Indicator):
            return None if own.keeps_missing else float(own.level == MISSING)
        if isinstance(own, Scaled):
            below = self._of_nothing(own.reading)
            return None if below is None else (below - own.centre) / own.scale
        return None

    def _pairs(self, term: Pairs) -> Pairs | None:
        kept, codes = self._kept(term.codes, self.code_of)
        if not kept:
            return None
        levels = [level for j in kept for level in range(term.starts[j], term.starts[j] + term.sizes[j])]
        sizes = tuple(term.sizes[j] for j in kept)
        starts = tuple(np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int).tolist())
        square = np.ix_(range(len(term.counts)), levels, levels)
        alone, given, counts = term.alone[:, levels], term.given[square], term.counts[square]
        return replace(term, codes=codes, sizes=sizes, starts=starts, alone=alone, given=given, counts=counts)

    def _trees(self, term: TreeSums) -> TreeSums | None:
        kept, codes = self._kept(term.codes, self.code_of)
        place = {old: new for new, old in enumerate(kept)}
        leaf = np.cumsum(term.column < 0) - 1
        nodes, roots = list[list[int]](), list[int]()
        for root in term.roots.tolist():
            roots.append(len(nodes))
            _grow(term, place, root, nodes, leaf)
        table = np.array(nodes, dtype=np.int64)
        leaves = table[table[:, 0] < 0, 5]
        return replace(
            term,
            codes=codes,
            column=table[:, 0],
            threshold=table[:, 1],
            left=table[:, 2],
            right=table[:, 3],
            missing_right=table[:, 4].astype(bool),
            roots=np.array(roots),
            values=term.values[leaves],
            cover=term.cover[leaves],
        )

    def stack(self, stack: Stack, place: Places) -> Stack:
        """Return the pool of the terms that are left; a term that no column of which is asked adds 0."""
        kept = [t for t, own in enumerate(stack.terms) if own in place]
        bias = stack.bias.copy()
        for t, own in enumerate(stack.terms):
            if own in self.added:
                bias += np.outer(stack.weight[:, t], self.added[own] - self.added[own].mean())
        return replace(
            stack,
            bias=bias,
            terms=tuple(place[stack.terms[t]] for t in kept),
            weight=stack.weight[:, kept],
            known_readings=tuple(self.reading_of[own] for own in stack.known_readings if own in self.reading_of),
            known_codes=tuple(self.code_of[own] for own in stack.known_codes if own in self.code_of),
        )


def _dense(covariance: Array) -> Dense:
    factor = np.linalg.cholesky(covariance)
    log_det = 2.0 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    return Dense(covariance, np.linalg.inv(factor), log_det)


def _given(term: Normal, kept: list[int], fixed: list[int], values: Array) -> tuple[Normal, Array]:
    """Return the density of the readings `kept` given that those `fixed` have these values, and log p(values) (m,).

    A Student t stays one: with f values of squared distance q, of ν + f degrees of freedom, its scale inflated by
    (ν + q) / (ν + f).
    """
    spread, f = term.spread, len(fixed)
    if isinstance(spread, Independent):
        whole = np.stack([np.diag(own) for own in spread.variance])
    elif isinstance(spread, Dense):
        whole = spread.covariance
    else:
        whole = np.stack(
            [
                (own @ own.T + floor * np.eye(len(own))) * np.outer(scale, scale)
                for scale, own, floor in zip(spread.scale, spread.loadings, spread.floor, strict=True)
            ]
        )
    g, m, df = len(whole), len(term.location), term.df
    inner = whole[:, fixed][:, :, fixed]
    link = np.linalg.solve(inner, whole[:, fixed][:, :, kept])  # (g, f, kept)
    left = whole[:, kept][:, :, kept] - np.swapaxes(whole[:, fixed][:, :, kept], 1, 2) @ link
    away = values - term.location[:, fixed]
    group = np.zeros(m, dtype=int) if g == 1 else np.arange(m)
    q = np.einsum("mi,mij,mj->m", away, np.linalg.inv(inner)[group], away) / term.inflation
    location = term.location[:, kept] + np.einsum("mi,mij->mj", away, link[group])
    log_det = np.linalg.slogdet(inner)[1][group]
    o = f + np.arange(len(kept) + 1)
    tail = np.where(np.isinf(df), np.inf, df)
    with np.errstate(invalid="ignore"):
        decay = np.where(
            np.isinf(tail)[:, None], 0.5 * q[:, None], 0.5 * (df[:, None] + o) * np.log1p(q / tail)[:, None]
        )
        inflation = np.where(np.isinf(tail), term.inflation, term.inflation * (df + q) / (df + f))
    constant = term.constant[:, f : f + len(kept) + 1] - 0.5 * log_det[:, None] - decay
    added = constant[:, 0].copy()
    own = Normal(tuple(kept), location, _dense(left), df + f, inflation, constant - added[:, None])
    return own, added


def _grow(term: TreeSums, place: Places, root: int, nodes: list[list[int]], leaf: Codes) -> None:
    """Add a tree to `nodes` (column, threshold, left, right, missing_right, leaf), its nodes after their parents."""
    ahead = [(root, -1, 2)]
    while ahead:
        node, parent, side = ahead.pop()
        while term.column[node] >= 0 and int(term.column[node]) not in place:
            node = int((term.right if term.missing_right[node] else term.left)[node])
        own = len(nodes)
        if parent >= 0:
            nodes[parent][side] = own
        column = int(term.column[node])
        if column < 0:
            nodes.append([-1, 0, -1, -1, 0, int(leaf[node])])
            continue
        nodes.append([place[column], int(term.threshold[node]), -1, -1, int(term.missing_right[node]), -1])
        ahead += [(int(term.right[node]), own, 3), (int(term.left[node]), own, 2)]


def _sliced(term: LocationScale | Counts, kept: list[int]) -> dict[str, Any]:
    """Return the arrays (k, d) of a term of independent readings, of those that are left."""
    if isinstance(term, LocationScale):
        names: Iterable[str] = ("location", "scale", "df", "constant")
    else:
        names = ("per_count", "per_cell", "order_per_count", "order_per_cell")
    return {name: getattr(term, name)[:, kept] for name in names if getattr(term, name) is not None}


def _needed(program: Program, columns: Places) -> tuple[dict[int, int], dict[int, int]]:
    """Return where readings and codes that read one of these columns stand among those that are left."""
    reads_reading, reads_code = dict[int, int](), dict[int, int]()

    def reading_column(i: int) -> int:
        if i not in reads_reading:
            own = cast("Any", program.readings[i])
            if isinstance(own, Number):
                reads_reading[i] = own.column
            else:
                reads_reading[i] = code_column(own.code) if isinstance(own, Indicator) else reading_column(own.reading)
        return reads_reading[i]

    def code_column(i: int) -> int:
        if i not in reads_code:
            own = program.codes[i]
            reads_code[i] = reading_column(own.reading) if isinstance(own, Bin) else own.column
        return reads_code[i]

    readings = [i for i in range(len(program.readings)) if reading_column(i) in columns]
    codes = [i for i in range(len(program.codes)) if code_column(i) in columns]
    return {old: new for new, old in enumerate(readings)}, {old: new for new, old in enumerate(codes)}
