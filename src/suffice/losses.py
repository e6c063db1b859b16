"""Log-losses of labelled rows: means, standard errors, and what choosing by them adds to these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ._arrays import Array, Codes, np

LEAST_PROBABILITY = 1e-15  # of a class, in means of losses
LARGEST = 1e6  # nats that a row may lose: as much as none in which its class has probability zero
CHANCE = 4.0  # twice the log-likelihood that the best of many settings wins by chance: the largest of some χ²₁


def row_losses(log_posterior: Array, codes: Codes) -> Array:
    """Return −log p(own class | row), (n,) in nats, p at least 1e-15."""
    return -np.maximum(log_posterior[np.arange(len(codes)), codes], np.log(LEAST_PROBABILITY))


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of known class: `codes` (n,), the `weight` each stands for, how many rows it stands for, and k classes.

    `group` (n,) are numbers of groups of rows, None where each row is drawn by itself.
    """

    codes: Codes
    weight: Array
    copies: Array
    k: int
    group: Codes | None = None

    @classmethod
    def each(cls, codes: Codes, k: int) -> Self:
        """Return rows that count once each."""
        return cls(codes, np.ones(len(codes)), np.ones(len(codes)), k)

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

    def one_more(self, lost: Array) -> float:
        """Return what one more wrong row would lose, in nats, of rows with losses (n,), and CHANCE / 2 at least.

        It is −log(1 − p) on average over rows, p = exp(−loss) being what their own class is given. CHANCE / 2 is what
        the best of many settings wins by chance in all rows together.
        """
        return max(0.5 * CHANCE, float(self.mean(-np.log(np.maximum(-np.expm1(-lost), LEAST_PROBABILITY)))))

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
    the best of many settings wins some `nats` in all rows together, or one more row is wrong (`one_more`).
    """
    won = 2.0 * rows * np.maximum(gain, 0.0)
    return np.hypot(error * np.sqrt(1.0 + CHANCE / np.maximum(won, CHANCE)), nats / rows)
