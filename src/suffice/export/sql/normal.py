"""Multivariate Gaussians and Student t's in SQL, exact for any pattern of missing cells.

Columns are eliminated one after the other, as in a Cholesky factorisation: with C the covariance (scaled to ones on the
diagonal) and z the standardised row of what is left, a known column j adds z_j² / C_jj to the squared distance and
log C_jj to the log determinant, and leaves

    z_i − C_ij z_j / C_jj      and      C_il − C_ij C_lj / C_jj,

the rest given that column. A missing column is passed over by 1 / C_jj := 0, which is what integrating it out means.
One stage per column; its length grows with the square of the columns left, d³ / 6 in all for each covariance, whatever
the number of patterns. Where no cell can be missing, or rows with missing cells shall have no answer, rows are whitened
by the factor of the whole covariance instead, which is d² / 2 long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..._arrays import np
from ...densities import Full
from ..program import Dense, Factors, Independent, Mixture, Normal, Program, Projected
from .cells import Cells
from .language import Stages, case, number, total, where_known

WIDTH = 700  # columns that stages of several covariances may have: PostgreSQL ends at 1600, SQLite at 2000
LARGE_DF = 1e3  # from here on log(1 + q / df) is taken so that no digits are lost


@dataclass(frozen=True)
class Normals:
    """The components of one term: columns `h` of log determinants, `q` of squared distances, `o` of known cells."""

    term: Normal
    cells: Cells
    exact: bool  # whether rows with missing cells have an answer

    @property
    def stages(self) -> Stages:
        """The stages of the query."""
        return self.cells.stages

    def densities(self, components: Sequence[int]) -> dict[int, str]:
        """Add the log densities of some components and return their columns."""
        q = {c: self.stages.name() for c in components}
        spread = self.term.spread
        if isinstance(spread, Independent):
            h = self._independent(q, spread)
        elif self.exact and readings_that_miss(self.cells.program, self.term):
            h = self._eliminated(q, dense(spread))
        else:
            h = self._whitened(q, dense(spread))
        return self._finished(q, h)

    def _x(self, j: int) -> str:
        return self.cells.reading(self.term.readings[j])

    def _whole(self, j: int) -> str:
        """Return a reading that is never NULL: rows for which that matters get no answer in the end."""
        x, can_miss = self._x(j), readings_that_miss(self.cells.program, self.term)
        return f"COALESCE({x}, 0.0e0)" if can_miss else x

    def _groups(self, components: Sequence[int], g: int) -> list[tuple[list[int], list[int]]]:
        """Return (covariances, components) to be worked on at once, so that stages are not too wide."""
        if g == 1:
            return [([0], list(components))]
        d = len(self.term.readings)
        size = max(1, WIDTH // (d * (d + 1) // 2 + d + 3))
        parts = [list(components[i : i + size]) for i in range(0, len(components), size)]
        return [(part, part) for part in parts]

    def _independent(self, q: dict[int, str], spread: Independent) -> dict[int, str]:
        """Add distances and log determinants where the covariance is diagonal."""
        g, new = len(spread.variance), {}
        h = {i: self.stages.name() for i in (range(g) if g == 1 else q)}
        for c, name in q.items():
            variance = spread.variance[0 if g == 1 else c] * self.term.inflation[c]
            new[name] = total([self._square(c, j, 1.0 / np.sqrt(v)) for j, v in enumerate(variance)])
        for i, name in h.items():
            logs = np.log(spread.variance[i])
            new[name] = total([where_known(self._x(j), number(log)) for j, log in enumerate(logs)])
        self.stages.add(new)
        return {c: h[0] if g == 1 else h[c] for c in q}

    def _square(self, c: int, j: int, scale: float) -> str:
        x, m = self._x(j), number(self.term.location[c, j])
        return where_known(x, f"({x} - {m}) * {number(scale)} * (({x} - {m}) * {number(scale)})")

    def _eliminated(self, q: dict[int, str], spread: Dense) -> dict[int, str]:
        """Add distances and log determinants by elimination, a few covariances at a time."""
        g, h = len(spread.covariance), dict[int, str]()
        for covariances, components in self._groups(list(q), g):
            h |= _Elimination(self, spread, covariances, components, q, g == 1).run()
        return h

    def _whitened(self, q: dict[int, str], spread: Dense) -> dict[int, str]:
        """Add distances of complete rows by the whole covariance's factor; those of other rows mean nothing."""
        g, h = len(spread.covariance), dict[int, str]()
        for covariances, components in self._groups(list(q), g):
            names = {c: [self.stages.name() for _ in self.term.readings] for c in components}
            own = names if g > 1 else {0: [self.stages.name() for _ in self.term.readings]}
            white = {i: spread.whitener[i] for i in covariances}
            centre = self.term.location[components].mean(axis=0)
            new = {}
            for i in covariances:
                m = self.term.location[i] if g > 1 else centre
                for row, name in zip(white[i], own[i], strict=True):
                    pairs = [(j, w) for j, w in enumerate(row) if w]
                    new[name] = total([f"{number(w)} * ({self._whole(j)} - {number(m[j])})" for j, w in pairs])
            self.stages.add(new)
            squares = {}
            for c in components:
                parts = own[c if g > 1 else 0]
                if g == 1:
                    target = white[0] @ (self.term.location[c] - centre)
                    parts = [f"({name} - {number(t)})" for name, t in zip(parts, target, strict=True)]
                squares[q[c]] = f"{total([f'{z} * {z}' for z in parts])} / {number(self.term.inflation[c])}"
                h[c] = number(spread.log_det[0 if g == 1 else c])
            self.stages.add(squares, drop=[name for each in own.values() for name in each])
        return h

    def _finished(self, q: dict[int, str], h: dict[int, str]) -> dict[int, str]:
        known = self.stages.name()
        d = len(self.term.readings)
        count = [f"CASE WHEN {self._x(j)} IS NULL THEN 0 ELSE 1 END" for j in range(d)]
        whole = not self.exact and not isinstance(self.term.spread, Independent)
        self.stages.add({known: str(d) if whole else total(count)})
        out = {c: self.stages.name() for c in q}
        new = {out[c]: f"{self._constant(c, known)} - 0.5e0 * {h[c]} - {self._decay(c, q[c], known)}" for c in q}
        gone = [known, *q.values(), *(name for name in h.values() if name in self.stages.columns)]
        self.stages.add(new, drop=gone)
        return out

    def _constant(self, c: int, known: str) -> str:
        values = self.term.constant[c]
        if np.isinf(self.term.df[c]):
            return f"{number(values[1])} * {known}"
        return case([(o, number(value)) for o, value in enumerate(values) if o], "0.0e0", known)

    def _decay(self, c: int, q: str, known: str) -> str:
        df = float(self.term.df[c])
        if np.isinf(df):
            return f"0.5e0 * {q}"
        ratio, ln = f"{q} / {number(df)}", self.stages.language.ln
        log = ln(f"1.0e0 + {ratio}")
        if df > LARGE_DF:  # log(1 + x) = log(u) x / (u − 1) with u = 1 + x as rounded (Kahan)
            u = f"(1.0e0 + {ratio})"
            log = f"CASE WHEN {u} = 1.0e0 THEN {ratio} ELSE {ln(u)} * ({ratio}) / ({u} - 1.0e0) END"
        return f"0.5e0 * ({number(df)} + {known}) * {log}"


class _Elimination:
    """Covariances `covariances` and components that are measured by them, all columns of one set of stages."""

    def __init__(
        self,
        normals: Normals,
        spread: Dense,
        covariances: Sequence[int],
        components: Sequence[int],
        q: dict[int, str],
        shared: bool,
    ) -> None:
        self.normals, self.stages, self.q = normals, normals.stages, q
        self.covariances, self.components, self.shared = covariances, components, shared
        d = len(normals.term.readings)
        self.d, name = d, self.stages.name
        self.scale = {g: np.sqrt(np.diagonal(spread.covariance[g])) for g in covariances}
        correlation = {g: spread.covariance[g] / self.scale[g][:, None] / self.scale[g] for g in covariances}
        self.c = {g: {(i, j): number(correlation[g][i, j]) for i in range(d) for j in range(i)} for g in covariances}
        self.z = {c: [name() for _ in range(d)] for c in components}
        self.v = {g: name() for g in covariances}  # 1 / pivot of the column at hand, 0 where it is missing
        self.h = {g: name() for g in covariances}

    def run(self) -> dict[int, str]:
        """Add the stages and return the column of the log determinant of each component."""
        self._begin()
        for j in range(self.d):
            self._eliminate(j)
        self.stages.add({}, drop=self.v.values())
        return {c: self.h[0 if self.shared else c] for c in self.components}

    def _begin(self) -> None:
        new, term = {}, self.normals.term
        for c in self.components:
            scale = self.scale[0 if self.shared else c] * np.sqrt(term.inflation[c])
            for j, name in enumerate(self.z[c]):
                x = self.normals._x(j)
                new[name] = where_known(x, f"({x} - {number(term.location[c, j])}) / {number(scale[j])}")
            new[self.q[c]] = self.stages.language.double("0.0e0")
        for g in self.covariances:
            new[self.v[g]] = self.stages.language.double(where_known(self.normals._x(0), "1.0e0"))
            new[self.h[g]] = where_known(self.normals._x(0), number(2.0 * np.log(self.scale[g][0])))
        self.stages.add(new)

    def _eliminate(self, j: int) -> None:
        """Add the stage in which column j, if it is known, is taken out of all that follow."""
        new, gone = {}, [self.z[c][j] for c in self.components]
        for c in self.components:
            g = 0 if self.shared else c
            z = self.z[c][j]
            new[self.q[c]] = f"{self.q[c]} + {z} * {z} * {self.v[g]}"
            for i in range(j + 1, self.d):
                new[self.z[c][i]] = f"{self.z[c][i]} - {self.c[g][i, j]} * {self.v[g]} * {z}"
        for g in self.covariances:
            made, dropped = self._matrix(g, j)
            new |= made
            gone += dropped
        self.stages.add(new, drop=gone)

    def _matrix(self, g: int, j: int) -> tuple[dict[str, str], list[str]]:
        """Return what is left of covariance g after column j, with the next pivot, and the columns it replaces."""
        c, v, new = self.c[g], self.v[g], dict[str, str]()
        left = {}
        for i in range(j + 2, self.d):
            for k in range(j + 1, i + 1):
                name = self.stages.name()
                before = c.get((i, k), "1.0e0")
                new[name] = f"{before} - {c[i, j]} * {v} * {c[k, j]}"
                left[i, k] = name
        gone = [name for name in c.values() if name in self.stages.columns]
        if j + 1 < self.d:
            pivot = f"({c.get((j + 1, j + 1), '1.0e0')} - {c[j + 1, j]} * {v} * {c[j + 1, j]})"
            x, scale = self.normals._x(j + 1), number(2.0 * np.log(self.scale[g][j + 1]))
            new[v] = where_known(x, f"1.0e0 / {pivot}")
            new[self.h[g]] = f"{self.h[g]} + {where_known(x, f'{self.stages.language.ln(pivot)} + {scale}')}"
        self.c[g] = left
        return new, gone


def readings_that_miss(program: Program, term: Normal) -> list[int]:
    """Return the readings of a full covariance that can be missing."""
    if isinstance(term.spread, Independent):
        return []
    return [i for i in term.readings if not isinstance(program.readings[i], Projected)]


def dense(spread: Dense | Factors | Independent) -> Dense:
    """Return covariances as matrices with their factors."""
    if isinstance(spread, Dense):
        return spread
    assert isinstance(spread, Factors)
    covariance = np.stack(
        [
            (f @ f.T + s * np.eye(len(f))) * sd[:, None] * sd
            for f, s, sd in zip(spread.loadings, spread.floor, spread.scale, strict=True)
        ]
    )
    full = Full.factor(covariance)
    return Dense(covariance, np.moveaxis(full.whitener, 0, 1), full.log_det)


def entries(program: Program, exact: bool) -> int:
    """Return how many numbers a query of the program has to compute for its covariances."""
    found = 0
    for term in program.terms:
        own = term.parts if isinstance(term, Mixture) else term
        if isinstance(own, Normal) and not isinstance(own.spread, Independent):
            d = len(own.readings)
            g = len(own.spread.covariance if isinstance(own.spread, Dense) else own.spread.floor)
            misses = exact and bool(readings_that_miss(program, own))
            matrix = d * (d + 1) * (d + 2) // 6 if misses else d * (d + 1) // 2
            found += g * matrix + len(own.location) * d * (d + 1) // 2 * misses
    return found
