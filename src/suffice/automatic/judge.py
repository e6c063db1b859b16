"""Held-out scores judged: log-loss, and the temperature at which it is least."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._arrays import Array, Codes, log_softmax, np
from ..kernels.left_out import Tempered
from ..losses import CHANCE, LabelledRows, error_of_choice
from ..stats.rows import taken
from .limits import ENOUGH_ROWS
from .table_rows import Index

TEMPERATURE_STEPS = 12
HOPELESS = 10.0  # standard errors


@dataclass(frozen=True, slots=True)
class HoldoutScorer:
    """Rows of known class: `codes` (n,), `offset` (n, k) log priors without the row, `weight` (n,) row weights.

    `single` (n,) is the weight that leaves when one row is left out, less than `weight` where several are equal, and
    `best` (n, k) the scores of the best of the members judged before, after its temperature, if there was any. `place`
    (n,) is the fold of each row, for which the others choose once more; None where rows are so many that it would not
    matter. Members that are dropped as hopeless leave their names in `hopeless`, for a note.
    """

    codes: Codes
    offset: Array
    weight: Array
    single: Array
    best: Array | None = None
    place: Codes | None = None
    hopeless: list[str] = field(default_factory=list)

    def __getitem__(self, rows: Index) -> HoldoutScorer:
        return taken(self, rows, "codes", "offset", "weight", "single", "best", "place")

    def thinned(self) -> tuple[HoldoutScorer, slice]:
        """Return the judge of every so many rows, which tell settings apart, and which rows they are."""
        some = slice(None, None, max(1, len(self.codes) // ENOUGH_ROWS))
        return self[some], some

    def mean(self, values: Array) -> tuple[float, float]:
        """Return the mean of values (n,) by the weights of the rows, and its standard error: equal rows are as many."""
        share = self.weight / self.weight.sum()
        mean = float(share @ values)
        spread = (share**2 * self.single / np.maximum(self.weight, 1e-300)) @ (values - mean) ** 2
        return mean, float(np.sqrt(spread))

    def error_of_choice(self, lost: Array, group: Codes | None) -> float:
        """Return the standard error of the mean of losses (n,) by a pool that these rows, of groups or not, chose."""
        judged = LabelledRows(
            self.codes, self.weight, self.weight / np.maximum(self.single, 1e-300), self.offset.shape[1], group
        )
        share = np.bincount(self.codes, self.weight, judged.k) / self.weight.sum()
        gain = float(judged.mean(-np.log(share[self.codes]) - lost))
        rows = float(judged.copies.sum())
        error = judged.error(lost) if rows > 1.0 else np.inf
        return float(error_of_choice(error, gain, rows, judged.one_more(lost)))

    @property
    def log_loss(self) -> Tempered:
        """What returns the mean log-loss of scores at a temperature, and its derivatives, for many of them."""
        return Tempered(self.offset, self.codes, self.weight)

    def loss(self, scores: Array) -> float:
        """Return the mean log-loss, in nats, of softmax(offset + scores)."""
        return self.log_loss(scores)[0]

    def tempered(self, power: float) -> HoldoutScorer:
        """Return a judge to whom each row says less: its likelihood is raised to a power."""
        return HoldoutScorer(self.codes, self.offset, power * self.weight, power * self.single)

    def beyond_chance(self, loss: float) -> float:
        """Return the share of a temperature found to lose `loss` that is not chance: max(0, 1 − 4 / χ²).

        χ² = 2 Σ w (loss of the offsets alone − loss). A coefficient is drawn to 0 as by the positive part of James &
        Stein (1961); the best of many settings wins more by chance than one would.
        """
        won = 2.0 * float(self.weight.sum()) * (self.loss(np.zeros_like(self.offset)) - loss)
        return max(0.0, 1.0 - CHANCE / won) if won > CHANCE else 0.0

    def losses(self, scores: Array) -> Array:
        """Return the log-loss (n,) of each row under softmax(offset + scores)."""
        return -log_softmax(self.offset + scores)[np.arange(len(self.codes)), self.codes]

    def is_hopeless(self, scores: Array) -> bool:
        """Whether scores (n, k) at their temperature lose more than the best before by many standard errors.

        A member that far behind would begin with a weight of exp(−25) in the stack, see `stack.prior_shares`.
        """
        if self.best is None:
            return False
        _, temperature = self.temperature(scores)
        mean, error = self.mean(self.losses(temperature * scores) - self.losses(self.best))
        return mean > HOPELESS * error

    def temperature(self, scores: Array) -> tuple[float, float]:
        """Return the least mean log-loss of softmax(offset + t · scores) over t ≥ 0, and t, by Newton's method."""
        at, t = self.log_loss, 1.0
        loss, slope, curvature = at(scores, t)
        for _ in range(TEMPERATURE_STEPS):
            step = max(-t, min(slope / max(curvature, 1e-12), 4.0 * t)) if t > 1e-6 else 0.0
            new = min(max(t - step, 0.02 * t), 5.0 * t)
            there = at(scores, new)
            while there[0] > loss + 1e-12 and abs(new - t) > 1e-4 * t:
                new = 0.5 * (new + t)
                there = at(scores, new)
            done = abs(new - t) < 1e-3 * t
            t, (loss, slope, curvature) = new, there
            if done:
                break
        return loss, t
