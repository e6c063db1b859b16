"""Independent categorical columns, each with its own probabilities by class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from .._arrays import Array, Codes, NDArray, joint_code, np, parallel_each, row_chunks
from ..schema import Level
from .density import Density, Limit
from .outcomes import Outcomes, listed_outcomes

TABLE_CELLS = 1 << 16  # log-probability tables of several columns are added up beforehand while they stay this small
CHUNK_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Categorical(Density):
    """p(level | class) of each column.

    `levels[j]` names the levels of column j; `log_p[j]` is (k, levels + 1) in nats, the last entry being a category
    never seen. `limit_log_p` holds the same numbers with each zero probability (−∞) replaced by the logarithm of its
    coefficient c in p ≈ c·α as the smoothing α goes to 0; see `limit`. `pseudo[j]` (levels + 1,) are the pseudo-counts
    that smoothed each class.
    """

    levels: tuple[tuple[Level, ...], ...]
    log_p: tuple[Array, ...]
    limit_log_p: tuple[Array, ...]
    pseudo: tuple[Array, ...] = ()
    _tables: dict[str, list[tuple[list[int], list[int], Array]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def k(self) -> int:
        return len(self.log_p[0])

    def log_density(self, columns: Sequence[Codes]) -> Array:
        """Return Σ_j log p(x_j | class), (n, k) in nats; code −1 is missing and contributes 0."""
        n = len(columns[0])
        out = np.empty((n, self.k))
        groups = self._grouped_tables()

        def fill(part: slice) -> None:
            total = out[part]
            term = np.empty(total.shape)
            for first, (group, sizes, table) in enumerate(groups):
                code = joint_code([columns[j][part] for j in group], sizes)
                if first == 0:
                    np.take(table, code, axis=0, out=total, mode="clip")
                else:
                    total += np.take(table, code, axis=0, out=term, mode="clip")

        parallel_each(fill, row_chunks(n, CHUNK_ROWS), cost=10.0 * n * len(columns))
        return out

    def column_levels(self, j: int) -> tuple[Level, ...]:
        return self.levels[j]

    def _grouped_tables(self) -> list[tuple[list[int], list[int], Array]]:
        """Return (columns, sizes, table): one table (cells, k) per run of columns, indexed by their joint code."""
        if "sum" not in self._tables:
            groups: list[tuple[list[int], list[int], Array]] = []
            for j, log_p in enumerate(self.log_p):
                own = np.concatenate([log_p.T, np.zeros((1, self.k))])  # the last row is a missing cell
                if groups and groups[-1][2].size * len(own) <= TABLE_CELLS:
                    columns, sizes, table = groups[-1]
                    joint = (table[:, None, :] + own[None]).reshape(-1, self.k)
                    groups[-1] = ([*columns, j], [*sizes, len(own)], joint)
                else:
                    groups.append(([j], [len(own)], own))
            self._tables["sum"] = groups
        return self._tables["sum"]

    def marginal(self, columns: Sequence[int]) -> Categorical:
        levels, log_p, limit = (tuple(own[j] for j in columns) for own in (self.levels, self.log_p, self.limit_log_p))
        return Categorical(levels, log_p, limit)  # type: ignore[arg-type]

    def log_prior(self) -> float:
        """Return Σ α log p(level | class), up to a constant the log Dirichlet(α + 1) density of which p is the mode."""
        pairs = zip(self.log_p, self.pseudo, strict=True)
        return sum(float((log_p[:, added > 0] @ added[added > 0]).sum()) for log_p, added in pairs)

    def condition(self, columns: Sequence[Codes], posterior: Array) -> tuple[Codes, ...]:
        """Return the columns with each missing cell (−1) at its most probable level; ties go to the first level.

        p(level | row) = Σ_k p_k p(level | k), with `posterior` p (n, k). A column without levels keeps its holes.
        """

        def best(j: int, row: Codes) -> Codes:
            return np.asarray((posterior[row] @ np.exp(self.log_p[j][:, :-1])).argmax(axis=1))

        return self._filled(columns, best)

    def sample(self, columns: Sequence[Codes], codes: Codes, rng: np.random.RandomState) -> tuple[Codes, ...]:
        """Return the columns with each missing cell (−1) drawn from the probabilities of the row's class (n,)."""
        return self._filled(columns, lambda j, row: draw_codes(np.exp(self.log_p[j][:, :-1]), rng, codes[row]))

    def outcomes(self, columns: Sequence[Codes]) -> Iterator[Outcomes]:
        """Yield what each missing cell (−1) may hold: every level that the model knows."""
        for j, column in enumerate(columns):
            own = np.flatnonzero(column < 0)
            if len(own) and self.levels[j]:
                share = np.exp(self.log_p[j][:, :-1]).T
                yield listed_outcomes(own, j, np.arange(len(share)), share)

    def _filled(self, columns: Sequence[Codes], value: Callable[[int, Codes], Codes]) -> tuple[Codes, ...]:
        filled = []
        for j, column in enumerate(columns):
            row = np.flatnonzero(column < 0)
            if len(row) and self.levels[j]:
                column = column.astype(np.int64)
                column[row] = value(j, row)
            filled.append(column)
        return tuple(filled)

    def limit(self, columns: Sequence[Codes]) -> Limit:
        """Return (order, log coefficient), each (n, k): the density is coefficient · α^order as smoothing α → 0.

        Where every class gives a row probability zero, Bayes' rule reads 0 / 0; its limit for vanishing smoothing is
        defined, and is what a slightly smoothed model answers.
        """
        order = np.zeros((len(columns[0]), self.k))
        score = np.zeros_like(order)
        for code, log_p, limit in zip(columns, self.log_p, self.limit_log_p, strict=True):
            missing = np.zeros((1, self.k))
            order += np.concatenate([np.isneginf(log_p).T.astype(float), missing])[code]
            score += np.concatenate([limit.T, missing])[code]
        return order, score

    def limit_terms(self, columns: Sequence[Codes]) -> Limit:
        """Return (order, log coefficient) of every column by itself, (k, n, d) each; see `limit`."""
        order = np.zeros((self.k, len(columns[0]), len(columns)))
        score = np.zeros(order.shape)
        missing = np.zeros((self.k, 1))
        for j, (code, log_p, limit) in enumerate(zip(columns, self.log_p, self.limit_log_p, strict=True)):
            score[:, :, j] = np.concatenate([limit, missing], axis=1)[:, code]
            zero = np.isneginf(log_p)
            if zero.any():
                order[:, :, j] = np.concatenate([zero.astype(np.float64), missing], axis=1)[:, code]
        return order, score


def draw_codes(probabilities: Array, rng: np.random.RandomState, choice: Codes | None = None) -> Codes:
    """Return one number per row of `probabilities` (n, m), drawn in their proportion; `choice` (h,) picks rows.

    A probability of zero is never drawn.
    """
    below = np.cumsum(probabilities, axis=1)
    below = below if choice is None else below[choice]
    total = below[:, -1]
    point = np.minimum(rng.random_sample(len(below)) * total, np.nextafter(total, 0.0))  # rounding must not reach it
    return np.asarray(np.minimum((below <= point[:, None]).sum(axis=1), below.shape[1] - 1))


def fill_missing(rows: Array, value: Callable[[Codes, Codes], NDArray[np.generic]]) -> Array:
    """Return a copy of rows (n, d) whose missing cells (NaN) are value(row numbers, column numbers)."""
    out = np.array(rows, dtype=np.float64)
    row, column = np.nonzero(np.isnan(out))
    if len(row):
        out[row, column] = value(row, column)
    return out
