"""Run a `Program` in NumPy: slow and plain, the reference that every other language is held against."""

from __future__ import annotations

from typing import Any

from suffice._arrays import Array, Codes, gammaln, log_softmax, np, pattern_groups
from suffice.densities.mixture import sum_within
from suffice.export.program import (
    Bin,
    Code,
    Counts,
    Dense,
    Factors,
    Independent,
    Indicator,
    Interpolated,
    LocationScale,
    Mixture,
    Normal,
    Number,
    Pairs,
    PiecewiseLinear,
    Program,
    Projected,
    Reading,
    Scaled,
    Stack,
    Table,
    Term,
    TreeSums,
)
from suffice.table import Table as DataTable, read_table, recode


def evaluate(program: Program, rows: Any) -> tuple[Array, Array | None]:
    """Return (log posterior (n, k), log density (n,)), both in nats, of a table (array or data frame).

    A program without a joint density has None in place of the second.

    Columns go by name where the program and the table both have names, and by position otherwise.
    """
    return _Run(program, read_table(rows)).answers()


class _Run:
    """One program on one table; readings and codes are made once."""

    def __init__(self, program: Program, table: DataTable) -> None:
        self.program, self.table, self.k = program, table, len(program.classes)
        places = {name: i for i, name in enumerate(table.schema.names)}
        named = program.named and table.schema.named
        self.places = [places[column.name] if named else i for i, column in enumerate(program.columns)]
        self._readings: dict[int, Array] = {}
        self._codes: dict[int, Codes] = {}

    def answers(self) -> tuple[Array, Array | None]:
        program = self.program
        parts = [self.term(term) for term in program.terms]
        if program.joint is None:
            assert program.stack is not None
            return self.pooled(program.stack, [score for _, score in parts]), None
        order, score = np.zeros((self.table.rows, self.k)), np.tile(program.log_prior, (self.table.rows, 1))
        for number in program.joint:
            order, score = order + parts[number][0], score + parts[number][1]
        order = np.where(np.isneginf(score), np.inf, order)
        joint = np.where(order == 0, score, -np.inf)
        peak = joint.max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.where(np.isneginf(peak), -np.inf, peak + np.log(np.exp(joint - peak[:, None]).sum(axis=1)))
        if program.stack is not None:
            return self.pooled(program.stack, [score for _, score in parts]), density
        scores = np.where(order == order.min(axis=1, keepdims=True), score, -np.inf)
        nowhere = np.isneginf(scores.max(axis=1))
        scores[nowhere] = program.log_prior
        return log_softmax(scores), density

    def pooled(self, stack: Stack, parts: list[Array]) -> Array:
        known = [~np.isnan(self.reading(i)) for i in stack.known_readings]
        known += [(self.code(i) >= 0) & (self.code(i) < self.levels(i)) for i in stack.known_codes]
        count = np.sum(known, axis=0)
        share = stack.by_known[np.minimum(count, len(stack.by_known) - 1)]
        eta = stack.offset + share @ stack.bias
        for number, weight in zip(stack.terms, stack.weight.T, strict=True):
            eta += (share @ weight)[:, None] * (parts[number] - parts[number].mean(axis=1, keepdims=True))
        posterior = (1.0 - stack.floor) * np.exp(log_softmax(eta)) + stack.floor * stack.prior
        posterior[count == 0] = stack.shares
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(posterior))

    # --- what is read off a row --------------------------------------------------------------------------------------

    def levels(self, number: int) -> int:
        code = self.program.codes[number]
        return len(code.levels) if isinstance(code, Code) else len(code.cuts) + 1

    def code(self, number: int) -> Codes:
        if number not in self._codes:
            own = self.program.codes[number]
            if isinstance(own, Bin):
                x = self.reading(own.reading)
                self._codes[number] = np.where(np.isnan(x), -1, np.searchsorted(own.cuts, x, side="right"))
            else:
                levels, codes = self.table.categories(self.places[own.column])
                self._codes[number] = np.full(len(codes), -1) if own.empty else recode(levels, codes, own.levels)
        return self._codes[number]

    def reading(self, number: int) -> Array:
        if number not in self._readings:
            self._readings[number] = self._read(self.program.readings[number])
        return self._readings[number]

    def block(self, numbers: tuple[int, ...]) -> Array:
        return np.column_stack([self.reading(i) for i in numbers])

    def _read(self, own: Reading) -> Array:
        if isinstance(own, Number):
            cells = np.asarray(self.table.numeric([self.places[own.column]])[:, 0], dtype=np.float64)
            return np.full_like(cells, np.nan) if own.empty else cells
        if isinstance(own, Indicator):
            code = self.code(own.code)
            hot = (code == own.level).astype(np.float64)
            return np.where(code < 0, np.nan, hot) if own.keeps_missing else hot
        if isinstance(own, Projected):
            return np.asarray(np.nan_to_num(self.block(own.readings)) @ own.weight)
        x = self.reading(own.reading)
        if isinstance(own, Scaled):
            return np.asarray((x - own.centre) / own.scale)
        return _interpolate(own, x)

    # --- terms: (order, score) ---------------------------------------------------------------------------------------

    def term(self, term: Term) -> tuple[Array, Array]:
        zero = np.zeros((self.table.rows, self.k))
        if isinstance(term, Table):
            code = self.code(term.code)
            some = [np.concatenate([own, np.zeros((self.k, 1))], axis=1)[:, code].T for own in _orders(term)]
            return some[0], some[1]
        if isinstance(term, Counts):
            return self.counts(term)
        if isinstance(term, Normal):
            return zero, normal(term, self.block(term.readings))
        if isinstance(term, Mixture):
            parts = normal(term.parts, self.block(term.parts.readings)) + term.log_weight
            return zero, sum_within(parts, np.asarray(term.owner))
        if isinstance(term, LocationScale):
            return zero, self.location_scale(term)
        if isinstance(term, PiecewiseLinear):
            return zero, hats(term, self.reading(term.reading))
        if isinstance(term, TreeSums):
            return zero, self.trees(term)
        return zero, self.pairs(term)

    def counts(self, term: Counts) -> tuple[Array, Array]:
        x = self.block(term.readings)
        seen = (~np.isnan(x)).astype(np.float64)
        x = np.nan_to_num(x)
        score = x @ term.per_count.T + seen @ term.per_cell.T
        if term.log_factorial:
            score -= gammaln(x + 1.0).sum(axis=1)[:, None]
        order = np.zeros(score.shape)
        if term.order_per_count is not None:
            order += x @ term.order_per_count.T
        if term.order_per_cell is not None:
            order += seen @ term.order_per_cell.T
        return order, score

    def location_scale(self, term: LocationScale) -> Array:
        x = self.block(term.readings)
        out = np.empty((len(x), self.k))
        for c in range(self.k):
            z = np.abs(x - term.location[c]) / term.scale[c]
            if term.shape == "laplace":
                kernel = -z
            else:
                endless = np.isinf(term.df[c])
                df = np.where(endless, 1.0, term.df[c])
                kernel = np.where(endless, -0.5 * z**2, -0.5 * (df + 1.0) * np.log1p(z**2 / df))
            out[:, c] = np.nansum(kernel + term.constant[c], axis=1)
        return out

    def pairs(self, term: Pairs) -> Array:
        found = []
        for i, size, start in zip(term.codes, term.sizes, term.starts, strict=True):
            code = self.code(i)
            found.append(np.where((code >= 0) & (code < size), code + start, -1))
        levels = np.column_stack(found)
        out = np.zeros((len(levels), self.k))
        for i, row in enumerate(levels):
            seen = row[row >= 0]
            if len(seen):
                each = term.alone[:, seen] + term.given[:, seen[:, None], seen].sum(axis=2)
                peak = each.max(axis=1)
                out[i] = peak + np.log(np.exp(each - peak[:, None]).mean(axis=1))
        return out

    def trees(self, term: TreeSums) -> Array:
        """Walk one row after another down one tree after another."""
        cells = np.column_stack([self.code(i) for i in term.codes]) if term.codes else np.zeros((self.table.rows, 0))
        leaf = np.cumsum(term.column < 0) - 1
        total = np.zeros((len(cells), self.k))
        for row, out in zip(cells.tolist(), total, strict=True):
            for node in term.roots.tolist():
                while (column := int(term.column[node])) >= 0:
                    cell = row[column]
                    right = term.missing_right[node] if cell < 0 else cell > term.threshold[node]
                    node = int(term.right[node] if right else term.left[node])
                out += term.values[leaf[node]]
        return (np.log(np.maximum(total, 1e-300)) if term.logs else total) + term.base


def _orders(term: Table) -> tuple[Array, Array]:
    return (np.zeros(term.log_p.shape) if term.order is None else term.order), term.log_p


def _interpolate(own: Interpolated, x: Array) -> Array:
    knots, values = own.knots, own.values
    out = np.interp(x, knots, values)
    if len(knots) > 1:
        below, above = values[0] + own.low * (x - knots[0]), values[-1] + own.high * (x - knots[-1])
        out = np.where(x < knots[0], np.maximum(below, values[0] - 1.0), out)
        out = np.where(x > knots[-1], np.minimum(above, values[-1] + 1.0), out)
    return np.where(np.isnan(x), np.nan, out)


def hats(term: PiecewiseLinear, x: Array) -> Array:
    """Return the term (n, k) at the numbers x (n,)."""
    seen = ~np.isnan(x)
    inside = np.where(seen, x, term.knots[0])
    return np.column_stack([np.where(seen, np.interp(inside, term.knots, own), 0.0) for own in term.values])


def normal(term: Normal, x: Array) -> Array:
    """Return log densities (n, m) of rows x (n, d), missing cells integrated out pattern by pattern."""
    out = np.zeros((len(x), len(term.location)))
    for seen, index in pattern_groups(~np.isnan(x)):
        if not len(seen):
            continue
        for c in range(len(term.location)):
            shift = x[np.ix_(index, seen)] - term.location[c, seen]
            squares, log_det = _distance(term.spread, c, seen, shift)
            squares /= term.inflation[c]
            df, o = term.df[c], len(seen)
            decay = 0.5 * squares if np.isinf(df) else 0.5 * (df + o) * np.log1p(squares / df)
            out[index, c] = term.constant[c, o] - 0.5 * log_det - decay
    return out


def _distance(spread: Dense | Independent | Factors, c: int, seen: Codes, shift: Array) -> tuple[Array, float]:
    """Return squared distances (n,) and the log determinant of the observed block."""
    if isinstance(spread, Independent):
        variance = spread.variance[min(c, len(spread.variance) - 1), seen]
        return (shift**2 / variance).sum(axis=1), float(np.log(variance).sum())
    if isinstance(spread, Dense):
        sigma = spread.covariance[min(c, len(spread.covariance) - 1)][np.ix_(seen, seen)]
        scale = np.sqrt(np.diagonal(sigma))
        lower = np.linalg.cholesky(sigma / scale[:, None] / scale)
        z = np.linalg.solve(lower, (shift / scale).T)
        return (z**2).sum(axis=0), 2.0 * float(np.log(np.diagonal(lower)).sum() + np.log(scale).sum())
    g = min(c, len(spread.floor) - 1)
    scale, loadings, floor = spread.scale[g, seen], spread.loadings[g][seen], float(spread.floor[g])
    inner = loadings.T @ loadings + floor * np.eye(loadings.shape[1])
    z = shift / scale
    y = np.linalg.solve(inner, loadings.T @ z.T)
    left = z.T - loadings @ y
    log_det = np.linalg.slogdet(inner)[1] + (len(seen) - len(inner)) * np.log(floor) + 2.0 * np.log(scale).sum()
    return (left**2).sum(axis=0) / floor + (y**2).sum(axis=0), float(log_det)
