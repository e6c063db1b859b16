"""Which cells of a table are wrong: Bayes' rule over the cells of a row, and p-values from the body of each column.

With x the known cells of a row and x₋ⱼ the same without cell j, that cell is worth suspicion by

    Tⱼ = log p(error xⱼ) − log p(xⱼ | x₋ⱼ),    log p(xⱼ | x₋ⱼ) = log p(x) − log p(x₋ⱼ),

where an error is half a value of another row (the marginal density) and half anything (a Cauchy law, or any level). The
most suspect cell of a row is left out and the others are judged anew without it, as long as one is likelier wrong than
right: blame falls on the cell without which the row becomes ordinary, and not on those that it contradicts. Among the
cells left one at most is taken to be wrong, so that what speaks against one speaks for the others.

Each row is judged by a model of other rows, learned without the numbers that a first pass suspects. Numbers are normal
scores there: tails and slips of the pen are no reason for a Gaussian to be wide. What remains of √T in a column has an
exponential tail, whose scale is that of the body of the column, where few cells are wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .._arrays import Array, Codes, Flags, log_ndtr, logsumexp, ndtri, np
from ..densities import Product, Rows
from ..errors import DataError
from ..fitted import Fitted
from ..stats.by_class import Batch
from ..stats.counts import CodedColumns, TextColumns
from ..stats.rows import content, deal, deal_groups, group_keys, group_numbers, take_blocks
from ..table.labels import read_groups
from .leave_one_out import known_codes
from .outlier_laws import hide

FOLDS = 5
LEAST_ROWS = 20
PASSES = 2  # ten tables: average precision .65 after one, .67 after two and three
FAR = 8.0  # deviations from the median, beyond which the first pass does not learn from a cell
ODDS = float(np.log(0.02 / 0.98))  # of an error before a cell is seen
MOST = 0.5  # of the cells of a row that may be wrong
BODY = 0.7, 0.93  # shares of a column between which its tail is measured; beyond, one cell in twenty may be wrong
FLOOR = 0.2  # share of all cells that are no suspects at all, from where T counts
SURE = 1e-12  # by how much, at least, a probability is below 1
IMPOSSIBLE = -1e5  # nats, of a row where the density is zero
MOST_SCORE = 30.0  # normal score of a number however far out
AWAY = np.linspace(1.0, 60.0, 600)  # normal scores; how suspect each is where no other cell tells of it, and its log p
ALONE = np.logaddexp(0.0, 0.5 * AWAY**2 - np.log1p(AWAY**2) - 0.5 * np.log(np.pi / 2.0)) - np.log(2.0)
LOG_TAIL = np.log(2.0) + log_ndtr(-AWAY)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a table (n, d): numbers, or codes of `levels`, NaN where missing, by position; which are judged."""

    values: Array
    levels: dict[int, Sequence[Any]]
    judged: Flags
    reals: Flags

    @classmethod
    def of(cls, fitted: Fitted, rows: Rows, n: int) -> _Cells:
        """Return the cells of encoded rows; texts, sparse columns and those that share out a total are not judged."""
        d = len(fitted.schema)
        found = cls(np.full((n, d), np.nan), {}, np.zeros(d, dtype=np.bool_), np.zeros(d, dtype=np.bool_))
        for block, part in zip(fitted.blocks, rows, strict=True):
            if block.family.takes_missing:
                found._read(part, block.positions, block.family.support == "reals")
        return found

    def _read(self, part: Any, positions: Sequence[int], reals: bool) -> None:
        if hasattr(part, "coded"):  # numbers and categories together
            width = part.numbers.shape[1]
            self._read(part.numbers, positions[:width], True)
            texts = np.arange(len(positions) - width) >= len(part.coded.codes) - part.texts
            self._read(part.coded, positions[width:], False)
            self.judged[np.array(positions[width:], dtype=np.intp)[texts]] = False
        elif isinstance(part, CodedColumns):
            self.judged[list(positions)] = not isinstance(part, TextColumns)
            for p, levels, codes in zip(positions, part.levels, part.codes, strict=True):
                self.values[:, p], self.levels[p] = np.where(codes < 0, np.nan, codes), levels
        elif isinstance(part, np.ndarray):
            own = list(positions)
            self.values[:, own], self.judged[own], self.reals[own] = part, True, reals

    def known(self) -> Flags:
        """Return which cells are there and judged (n, d)."""
        return ~np.isnan(self.values) & self.judged

    @cached_property
    def suspects(self) -> Flags:
        """Which columns (d,) may be wrong: a number that is one of two, such as 0 or 1, is no slip, however rare."""
        pairs = zip(self.reals, self.values.T, strict=True)
        return np.array([not real or len(np.unique(x[~np.isnan(x)])) > 2 for real, x in pairs])

    def part_with(self, part: Any, positions: Sequence[int], values: Array, known: Flags) -> Any:
        """Return a block of encoded rows with numbers at other values (n, d), and without the cells not known."""
        if hasattr(part, "coded"):  # numbers and categories together
            width = part.numbers.shape[1]
            numbers = self.part_with(part.numbers, positions[:width], values, known)
            return replace(part, numbers=numbers, coded=self.part_with(part.coded, positions[width:], values, known))
        if isinstance(part, CodedColumns):
            pairs = zip(part.codes, positions, strict=True)
            codes = tuple(np.where(known[:, p] | ~self.judged[p], own, -1) for own, p in pairs)
            return part._replace(codes=codes)
        if not isinstance(part, np.ndarray) or not self.judged[list(positions)].all():
            return part
        return np.where(known[:, list(positions)], values[:, list(positions)], np.nan)


class _Scale:
    """Normal scores of a column of numbers; beyond its ends by a line, as the outer tenth goes on."""

    def __init__(self, values: Array) -> None:
        self.x, held = np.unique(values, return_counts=True)
        self.z = ndtri((np.cumsum(held) - 0.5 * held) / len(values))

    def score(self, x: Array) -> Array:
        """Return the normal scores of numbers (n,), NaN where missing."""
        out, step = np.interp(x, self.x, self.z), max(1, len(self.x) // 10)
        if len(self.x) > 2:
            low, high = slice(0, step + 1, step), slice(-1 - step, None, step)
            with np.errstate(over="ignore"):  # so far out the score is MOST_SCORE
                out += np.maximum((x - self.x[-1]) / np.diff(self.x[high]), 0.0) * np.diff(self.z[high])
                out += np.minimum((x - self.x[0]) / np.diff(self.x[low]), 0.0) * np.diff(self.z[low])
        return np.where(np.isnan(x), np.nan, np.clip(out, -MOST_SCORE, MOST_SCORE))

    def value(self, z: float) -> float:
        """Return the number with this normal score."""
        return float(np.interp(z, self.z, self.x))


@dataclass(frozen=True, eq=False)
class _Fold:
    """A model of other rows: its density of the columns that are judged, at these positions by block, and its rows."""

    density: Product
    log_prior: Array
    own: Codes  # class number of each row, −1 for one that is not known
    rows: list[Any]
    positions: tuple[tuple[int, ...], ...]
    index: Codes

    def hidden(self, index: Codes, known: Flags, at: tuple[Codes, Array] | None = None) -> list[Any]:
        """Return rows of these numbers without the cells not known; numbers `at` positions (m,) have other values."""
        parts = take_blocks(self.rows, index)
        for cells, positions in zip(parts, self.positions, strict=True):
            if at is not None and not isinstance(cells, tuple):
                moved = at[0][:, None] == np.array(positions)
                cells[moved] = at[1][moved.any(axis=1)]
        return hide(parts, known[:, [p for own in self.positions for p in own]])

    def by_class(self, index: Codes, known: Flags, at: tuple[Codes, Array] | None = None) -> Array:
        """Return log p(known cells, class), (m, k); of a class that is known, log p(known cells | class) alone."""
        found = self.density.log_density(self.hidden(index, known, at)) + self.log_prior
        own, told = self.own[index], self.own[index] >= 0
        found[told] = np.where(np.arange(found.shape[1]) == own[told, None], found[told] - self.log_prior, -np.inf)
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class Judge:
    """Models of folds, and the rows that they have not seen: numbers as normal scores, if real, see `_Scale`."""

    cells: _Cells
    scores: Array
    scales: dict[int, _Scale]
    folds: list[_Fold]
    place: Codes  # of each row in its fold

    @classmethod
    def of(cls, fitted: Fitted, rows: Rows, cells: _Cells, codes: Codes, fold: Codes, learn: Flags) -> Judge:
        """Return models of encoded rows of some classes, each learned from the cells to `learn` of other folds."""
        scores, scales = cells.values.copy(), dict[int, _Scale]()
        for p in np.flatnonzero(cells.reals & learn.any(axis=0)).tolist():
            scales[p] = _Scale(cells.values[learn[:, p], p])
            scores[:, p] = scales[p].score(cells.values[:, p])

        def edited(known: Flags) -> Rows:
            pairs = zip(fitted.blocks, rows, strict=True)
            return [cells.part_with(part, block.positions, scores, known) for block, part in pairs]

        def batch_of(index: Codes) -> Batch:
            present, own = np.unique(codes[index], return_inverse=True)
            rows = take_blocks(learned, index)
            return Batch(tuple(present.tolist()), own.astype(np.int64), rows, np.ones(len(index)))

        learned, judged, told = edited(learn), edited(cells.known()), np.flatnonzero(codes >= 0)
        learner = fitted.with_statistics(fitted.summarize(batch_of(told), len(told))).for_fold()
        folds, place = list[_Fold](), np.zeros(len(codes), dtype=np.int64)
        for number in range(int(fold.max()) + 1):
            index, others = np.flatnonzero(fold == number), told[fold[told] != number]
            batch = batch_of(others)
            model = replace(learner, statistics=learner.summarize(batch, len(others))).joint_value
            present = np.array(batch.classes)
            read, joint = model.recoded(take_blocks(judged, index)), model.joint
            kept = [b for b, block in enumerate(model.blocks) if cells.judged[list(block.positions)].all()]
            density = Product(tuple(joint.density.blocks[b] for b in kept))
            positions = tuple(tuple(model.blocks[b].positions) for b in kept)
            own = np.searchsorted(present, codes[index]).clip(0, len(present) - 1)
            own = np.where(present[own] == codes[index], own, -1)
            folds.append(_Fold(density, joint.log_prior, own, [read[b] for b in kept], positions, index))
            place[index] = np.arange(len(index))
        return cls(cells, scores, scales, folds, place)

    def log_density(self, index: Codes, known: Flags, at: tuple[Codes, Array] | None = None) -> Array:
        """Return log p(known cells) (m,) of rows of these numbers, given the class where it is known."""
        out = np.empty(len(index))
        for fold, own in self._parts(index):
            there = None if at is None else (at[0][own], at[1][own])
            out[own] = logsumexp(fold.by_class(self.place[index[own]], known[own], there), axis=1)
        return np.maximum(out, IMPOSSIBLE)

    def _parts(self, index: Codes) -> list[tuple[_Fold, Codes]]:
        parts = [(fold, np.flatnonzero(np.isin(index, fold.index))) for fold in self.folds]
        return [(fold, own) for fold, own in parts if len(own)]

    def expected(self, index: Codes, known: Flags, p: int) -> Array:
        """Return the mean score (m,), or code of the likeliest level, of a cell of these rows, which is not known."""
        out = np.empty(len(index))
        for fold, own in self._parts(index):
            rows = fold.hidden(self.place[index[own]], known[own])
            found = fold.by_class(self.place[index[own]], known[own])
            share = np.exp(found - logsumexp(found, axis=1)[:, None])
            for part, positions in zip(fold.density.condition(rows, share), fold.positions, strict=True):
                if p in positions:
                    j: Any = positions.index(p)
                    out[own] = part[j] if isinstance(part, tuple) else np.asarray(part)[:, j]
        return out

    @cached_property
    def log_error(self) -> Array:
        """Log density of errors (n, d): half the column's own law over all classes, half any level or a Cauchy law."""
        n, d = self.scores.shape
        out = np.zeros((n, d))
        for p in np.flatnonzero(self.cells.judged).tolist():
            x, known = self.scores[:, p], np.zeros((n, d), dtype=np.bool_)
            known[:, p] = ~np.isnan(x)
            seen = x[known[:, p]]
            middle, scale = 0.0, 1.0
            if p not in self.scales:
                middle, scale = float(np.median(seen)) if len(seen) else 0.0, _spread(seen)
            any_number = -np.log(np.pi * scale * (1.0 + ((np.nan_to_num(x) - middle) / scale) ** 2))
            few = p in self.cells.levels or len(np.unique(seen)) < 3
            anything = np.full(n, -np.log(max(len(np.unique(seen)), 2))) if few else any_number
            for fold in self.folds:
                own = fold.density.log_density(fold.hidden(self.place[fold.index], known[fold.index]))
                out[fold.index, p] = logsumexp(own + fold.log_prior, axis=1)
            out[:, p] = np.logaddexp(out[:, p], anything) - np.log(2.0)
        return out

    def suspicion(self, index: Codes, known: Flags) -> Array:
        """Return T (m, d) of each cell of some rows given those that are known; −∞ of one that is missing."""
        base, there = self.log_density(index, known), self.cells.known()[index] & self.cells.suspects
        out = np.full(known.shape, -np.inf)
        for p in np.flatnonzero(there.any(axis=0)).tolist():
            own = np.flatnonzero(there[:, p])
            turned = known[own]
            turned[:, p] = ~turned[:, p]
            change = base[own] - self.log_density(index[own], turned)
            out[own, p] = self.log_error[index[own], p] - np.where(known[own, p], change, -change)
        return out

    def search(self) -> tuple[Array, Flags]:
        """Return the log odds (n, d) that cells are wrong, and which (n, d) are known and no likelier wrong than right.

        One cell at a time, the most suspect of each row.
        """
        known, active = self.cells.known(), np.arange(len(self.scores))
        found = self.suspicion(active, known) + ODDS
        for _ in range(int(np.ceil(MOST * self.cells.judged.sum()))):
            left = np.where(known[active], found[active], -np.inf)
            top = left.argmax(axis=1)
            going = left[np.arange(len(active)), top] > 0
            active, top = active[going], top[going]
            if not len(active):
                break
            known[active, top] = False
            found[active] = self.suspicion(active, known[active]) + ODDS
        one = np.where(known, found, -np.inf)
        share = one - np.logaddexp(0.0, logsumexp(one, axis=1))[:, None]
        odds = np.where(known, share - np.log1p(-np.exp(np.minimum(share, -SURE))), found)
        return odds, known & (odds <= 0)


def _spread(x: Array) -> float:
    """Return the standard deviation of a Gaussian with the quartiles of these numbers, theirs where it is 0, or 1."""
    if not len(x):
        return 1.0
    low, high = np.quantile(x, [0.25, 0.75])
    return float((high - low) / 1.349 or x.std() or 1.0)


def _is_near(x: Array, known: Array) -> Flags:
    """Return which numbers (n,) are no farther from the median than `FAR` deviations by the decile of their side."""
    low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
    least = _spread(known)
    sides = np.where(x < middle, max((middle - low) / 1.2816, least), max((high - middle) / 1.2816, least))
    return np.asarray(np.abs(x - middle) < FAR * sides)


def judge_cells(fitted: Fitted, X: object, y: object, groups: object = None) -> tuple[Judge, Array, Flags]:
    """Return what judges the cells of a table, the log odds (n, d) that they are wrong, and which stand."""
    fitted = fitted.with_priors(None)
    fitted.check_leaving()
    table, order = fitted.aligned(X)
    rows, n = fitted.encode(table, order), table.rows
    cells = _Cells.of(fitted, rows, n)
    codes = np.zeros(n, dtype=np.int64) if y is None else known_codes(fitted, y, n, missing="any")
    keys = group_keys(read_groups(groups, n), fitted.schema.names)
    group = None if keys is None else group_numbers(keys)
    label, contents = codes - codes.min(initial=0), content([cells.values], n)
    fold = deal(contents, label, FOLDS) if group is None else deal_groups(group, label, contents, FOLDS)
    learned = int((codes >= 0).sum())
    if learned < LEAST_ROWS or not fold.any() or not cells.judged.any():
        what = "rows" if y is None else "rows with a label"
        raise DataError(
            f"{learned} {what}, in {int(fold.max(initial=-1)) + 1} folds, with {int(cells.judged.sum())} columns to "
            f"judge are too few: cells are judged by rows of other folds, of at least {LEAST_ROWS} in all. Next: give "
            "more rows, those that a model has learned among them."
        )
    known = cells.known()
    learn = known.copy()
    for p in np.flatnonzero(cells.reals & cells.suspects).tolist():
        learn[:, p] &= _is_near(cells.values[:, p], cells.values[known[:, p], p])
    judge = Judge.of(fitted, rows, cells, codes, fold, learn | (known & ~learn.any(axis=0)))
    odds, stands = judge.search()
    for _ in range(PASSES - 1):  # each learns from the cells that stand after the one before
        judge = Judge.of(fitted, rows, cells, codes, fold, stands | (known & ~(cells.reals & stands.any(axis=0))))
        odds, stands = judge.search()
    return judge, odds, stands


def cell_pvalues(odds: Array) -> Array:
    """Return the p-values (n, d) of cells with such log odds to be wrong, NaN where these are −∞.

    R = √max(0, odds − q), with q the fifth of all from below. In a column, p is the share of cells at least as
    suspect up to the 70 % quantile of R, and beyond it .3 exp(−(R − R₇₀) / s): s is the mean excess by which the cells
    up to the 93 % quantile, those beyond censored there, go over R₇₀, in the column or all columns, what is larger.

    No p is below P(|Z| > z) of the normal score z that is as suspect, above one of z = 1 as odds are above q, where no
    other cell tells of it: there the body of T is too flat to tell how its tail goes on.
    """
    known = np.isfinite(odds) | np.isposinf(odds)
    out = np.full(odds.shape, np.nan)
    if not known.any():
        return out
    above = np.maximum(odds - np.quantile(odds[known], FLOOR), 0.0)
    excess = np.sqrt(above)
    common = _tail(excess[known])[1]
    for p in np.flatnonzero(known.any(axis=0)).tolist():
        own = excess[known[:, p], p]
        start, scale, share = _tail(own)
        beyond = 1.0 - np.searchsorted(np.sort(own), own, side="left") / (len(own) + 1.0)
        tail = share * np.exp(-np.maximum(own - start, 0.0) / max(scale, common, 1e-9))
        out[known[:, p], p] = np.where(own > start, tail, beyond)
    return np.asarray(np.maximum(out, np.exp(np.interp(above, ALONE - ALONE[0], LOG_TAIL))))


def _tail(excess: Array) -> tuple[float, float, float]:
    """Return where the tail of a column begins, its scale, and the share of cells beyond."""
    ranked, n = np.sort(excess), len(excess)
    start, end = (float(ranked[min(int(share * n), n - 1)]) for share in BODY)
    over = ranked[ranked > start]
    inside = over[over < end]
    total = float((inside - start).sum()) + (len(over) - len(inside)) * (end - start)
    return start, total / max(len(inside), 1), len(over) / n
