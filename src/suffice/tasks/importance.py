"""What each column is worth: losses of left-out rows with and without it, and the fewest columns that serve as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._arrays import Array, Codes, NDArray, np
from ..schema import Name

LARGEST = 1e6  # nats that a row may lose: as much as none in which its class has probability zero
SAME = 1e-9  # nats between losses that rounding explains
CHANCE = 4.0  # twice the log-likelihood that the best of many settings wins by chance: the largest of some χ²₁
BY_COLUMN = 1.0  # nats that a worthless column wins or loses in all rows together: √2 times the spread of ½ χ²₁
TRIED = 24  # columns looked at in a step where there are more, those that gained most when last looked at


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows of known class: `codes` (n,), the `weight` each stands for, how many rows it stands for, and k classes.

    `group` (n,) are numbers of groups of rows, None where each row is drawn by itself.
    """

    codes: Codes
    weight: Array
    copies: Array
    k: int
    group: Codes | None = None

    def losses(self, log_posterior: Array) -> Array:
        """Return −log p(own class | row), (n,) in nats."""
        return np.minimum(-log_posterior[np.arange(len(self.codes)), self.codes], LARGEST)

    def mean(self, values: Array) -> Array:
        """Return the weighted mean of numbers by row (…, n)."""
        return np.asarray(values @ self.weight / self.weight.sum())

    def error(self, values: Array) -> Array:
        """Return its standard error: a row of c copies counts for c rows that are drawn each by itself.

        √(n / (n − 1) Σ_i (w_i / W)² (x_i − x̄)² / c_i) with n = Σ c; not a number where n is 1. Of g groups, which are
        drawn whole, √(g / (g − 1) Σ_g (Σ_i (w_i / W) (x_i − x̄))²) (Liang & Zeger 1986, doi:10.1093/biomet/73.1.13).
        """
        share, rows = self.weight / self.weight.sum(), float(self.copies.sum())
        if self.group is not None:
            apart, count = share * (values - self.mean(values)[..., None]), int(self.group.max(initial=0)) + 1
            sums = apart @ (self.group[:, None] == np.arange(count))
            return np.asarray(np.sqrt(count / (count - 1.0) * (sums**2).sum(axis=-1)))
        apart = (values - self.mean(values)[..., None]) ** 2
        correction = rows / (rows - 1.0) if rows > 1.0 else np.nan
        return np.asarray(np.sqrt(correction * (apart @ (share**2 / self.copies))))

    def by_class(self, values: Array) -> Array:
        """Return the mean within each class (k, …), not a number where no row is of it."""
        found = np.full((self.k, *values.shape[:-1]), np.nan)
        for c in np.unique(self.codes):
            own = self.codes == c
            found[c] = values[..., own] @ self.weight[own] / self.weight[own].sum()
        return found


def error_of_choice(error: Array | float, gain: Array | float, rows: float, nats: float = 0.5 * CHANCE) -> Array:
    """Return standard errors of mean losses by rows left out of a model that they made, from the `error` of others.

    √(error² (1 + c) + (nats / rows)²). Rows are judged by each other's labels: what two of them say is counted twice
    as far as it is chance, which is the share c = min(1, 4 / χ²) of the `gain`, χ² = 2 · rows · gain. And by chance
    the best of many settings wins some `nats` in all rows together.
    """
    won = 2.0 * rows * np.maximum(gain, 0.0)
    return np.hypot(error * np.sqrt(1.0 + CHANCE / np.maximum(won, CHANCE)), nats / rows)


def costs(
    judged: Judged,
    whole: Array,
    without: Callable[[int], Array],
    missing: NDArray[np.bool_],
) -> tuple[Array, Array, Array]:
    """Return mean costs (d,), their standard errors (d,) and means by class (k, d).

    `whole` (n, k) are log posteriors by all columns, `without` those by all but one; a cell that is `missing` (n, d)
    costs nothing.
    """
    base = judged.losses(whole)
    cost = np.zeros((missing.shape[1], len(base)))
    for j, empty in enumerate(missing.T):
        if not empty.all():
            cost[j] = np.where(empty, 0.0, judged.losses(without(j)) - base)
    mean, error, rows = judged.mean(cost), judged.error(cost), float(judged.copies.sum())
    costless = (cost == 0.0).all(axis=1)  # as of a column without a cell
    return mean, np.where(costless, error, error_of_choice(error, np.abs(mean), rows, BY_COLUMN)), judged.by_class(cost)


def is_better(judged: Judged, less: Array, more: Array) -> bool:
    """Return whether losses (n,) are less than others of the same rows, by more than a standard error of a choice."""
    gain = judged.mean(more - less)
    return bool(gain > error_of_choice(judged.error(more - less), gain, float(judged.copies.sum())))


def fewest(names: Sequence[Name], loss: Callable[[tuple[int, ...]], float], within: float) -> list[int]:
    """Return the numbers of few columns whose loss is within so many nats of that of all, in the order chosen.

    Forward, the column is added that loses least; after each, one is taken out while fewer columns than that lose less
    than any so many did before (floating search: Pudil, Novovičová & Kittler 1994, doi:10.1016/0167-8655(94)90127-9);
    at the end, columns are taken out as long as the loss stays within. Equal losses go by name.
    """
    search = _Search(names, loss)
    goal = search.loss(range(len(names))) + within + SAME
    chosen: list[int] = []
    best = {0: search.loss(chosen)}
    while best[len(chosen)] > goal and len(chosen) < len(names):
        chosen = [*chosen, search.next_of(chosen)]
        size = len(chosen)
        best[size] = min(search.loss(chosen), best.get(size, np.inf))
        if search.loss(chosen) <= goal:
            break
        while len(chosen) > 2:
            fewer = search.without_one(chosen, keep=chosen[-1])
            if search.loss(fewer) >= best[len(fewer)] - SAME:
                break
            chosen = fewer
            best[len(chosen)] = search.loss(chosen)
    while chosen:
        fewer = search.without_one(chosen)
        if search.loss(fewer) > goal:
            break
        chosen = fewer
    return chosen


class _Search:
    """Losses of sets of columns, each looked at once."""

    def __init__(self, names: Sequence[Name], loss: Callable[[tuple[int, ...]], float]) -> None:
        self.by_name = sorted(range(len(names)), key=lambda j: str(names[j]))
        self._ask, self._known = loss, dict[frozenset[int], float]()
        self._gain = dict.fromkeys(self.by_name, np.inf)  # of each column, when last looked at

    def loss(self, columns: Sequence[int] | range) -> float:
        """Return the mean loss in nats by these columns."""
        own = frozenset(columns)
        if own not in self._known:
            self._known[own] = self._ask(tuple(sorted(own)))
        return self._known[own]

    def next_of(self, chosen: Sequence[int]) -> int:
        """Return the column that loses least beside those chosen."""
        left = [j for j in self.by_name if j not in chosen]
        if chosen:  # at first all are looked at
            left = sorted(left, key=lambda j: -self._gain[j])[:TRIED]
        before = self.loss(chosen)
        for j in left:
            self._gain[j] = before - self.loss([*chosen, j])
        return self._most([j for j in self.by_name if j in left], lambda j: self._gain[j])

    def without_one(self, chosen: Sequence[int], keep: int = -1) -> list[int]:
        """Return the columns without the one that is missed least, other than one to keep."""
        out = [j for j in self.by_name if j in chosen and j != keep]
        gone = self._most(out, lambda j: -self.loss([i for i in chosen if i != j]))
        return [j for j in chosen if j != gone]

    @staticmethod
    def _most(columns: Sequence[int], value: Callable[[int], float]) -> int:
        """Return the first column whose value is the largest to within rounding."""
        values = [value(j) for j in columns]
        return next(j for j, own in zip(columns, values, strict=True) if own >= max(values) - SAME)
