"""Would more rows help: log-loss on rows held out by the number of rows learned from, and what more would bring.

Rows are dealt into folds by class and contents, copies of a row into one. For each fold, models learn from ever larger
parts of all other rows, each part within the next, and all are judged on the same rows, the fold's. So sizes differ by
what was learned alone. The curve

    loss(m) = a + b m^−c,    a, b ≥ 0,    0.25 ≤ c ≤ 1.5

goes through the mean loss of the largest part, and falls to it as the other means do (Cortes, Jackel, Solla, Vapnik &
Denker 1994, Learning curves, NeurIPS 6); c is 1 where a model with a fixed number of parameters is right. Uncertainty
is that of curves drawn about the means: these from a multivariate t of J − 1 degrees of freedom, J the folds of all
draws, c by how well each fits. With C the covariance over sizes of the J losses, that of their means is taken for
C / K: K folds are independent but for the rows that their models share, and other draws repeat them. No estimate of it
is without bias (Bengio & Grandvalet 2004, JMLR 5); on simulated tables intervals of 90 % held the truth in 87 to 100 of
100 cases, those of gains in 96 to 100. Where the curve does not fit, C grows by the mean square of its residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from .._arrays import Array, Codes, cumcount, is_whole, np
from ..errors import DataError, SettingError, setting, shown
from ..fitted import NOTHING, Fitted
from ..losses import row_losses
from ..schema import Level
from ..stats.by_class import Batch
from ..stats.dependent_rows import are_copies
from ..stats.rows import Keys, class_order, compact, content, deal_groups, group_numbers, mixed
from ..table import Table
from .sample import read_share


def curve_of(
    begun: Fitted, table: Table, y: object, sample_weight: object, draws: int, seed: int, groups: object = None
) -> LearningCurve:
    """Return the learning curve of models with the settings of a value, which may have learned something or nothing."""
    for name, value, least in (("draws", draws, 1), ("random_state", seed, 0)):
        if not is_whole(value, least):
            raise SettingError(
                f"{setting(name, value)} must be a whole number, {least} or more. Next: {setting(name, least + 1)}."
            )
    begun = replace(begun, statistics=NOTHING, chosen=None)
    known = begun.batch(table, begun.align(table), y, sample_weight, "em", groups).split()[0]
    judge = partial(_judged, begun, known)
    group = copies(begun, known) if known.group is None else group_numbers(known.group)
    weighed = [] if known.weight is None or not np.ptp(known.weight) else [known.weight[:, None]]
    keys = content([*(compact(part) for part in known.rows if not hasattr(part, "coded")), *weighed], len(known.codes))
    return learning_curve(known.codes, known.classes, known.weight, judge, keys, draws=draws, seed=seed, groups=group)


def copies(begun: Fitted, batch: Batch) -> Codes | None:
    """Return the number (n,) of the distinct row that each is, where rows are copied; None where they are not."""
    sample = begun.sample_of(batch, len(batch.codes))
    if sample is None or not are_copies(sample) or len(sample.codes) < FOLDS:
        return None
    return sample.locate(batch.rows[: len(sample.rows)], batch.codes, batch.classes)


def _judged(begun: Fitted, batch: Batch, learn: Codes, rest: Codes) -> Array:
    """Return log posteriors (n, k) of the rows `rest` by a model of the rows `learn`."""
    found = begun.with_statistics(begun.summarize(batch.take(learn)))
    return found.log_posterior(found.recoded(batch.take(rest).rows))


FOLDS, DRAWS = 5, 2
ONE_IN = (8, 4, 2, 1)  # of the rows of the other folds one in so many, and all
FEWEST_OF_CLASS = 2  # in each part
FEWEST = 80  # rows in all
POWERS = np.linspace(0.25, 1.5, 26)
MISFIT = 0.2  # of a fall in loss, by which it may differ from the formula: most is lost where rows are fewest
CURVES = 2000
TELLING = 0.01  # nats: what is less hardly matters to anyone
Judge = Callable[[Codes, Codes], Array]


class Projection(NamedTuple):
    """A loss, or a gain, in nats, with the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Mean log-loss in nats by the number of rows learned from.

    `rows` (s,) are those of each part, as many as the folds had on average; `losses` (j, s) the mean log-loss of each
    fold of each draw; `total` all rows there are, and `chance` the loss of the classes' shares, their entropy. `folds`
    of a draw are K in the formulas of the module.
    """

    rows: Array
    losses: Array
    total: int
    chance: float
    folds: int = FOLDS
    seed: int = 0

    @property
    def loss(self) -> Array:
        """The mean loss at each number of rows (s,)."""
        return np.asarray(self.losses.mean(axis=0))

    @property
    def error(self) -> Array:
        """The standard error of each mean (s,)."""
        return np.sqrt(np.diagonal(self._covariance))

    @property
    def _covariance(self) -> Array:
        return np.atleast_2d(np.cov(self.losses, rowvar=False)) / self.folds

    @cached_property
    def _curves(self) -> tuple[Array, Array, Array]:
        """Drawn curves: a, b and c, each (curves,), rows counted in those of the largest part."""
        rng, j, size = np.random.default_rng(self.seed), len(self.losses), self.rows / self.rows[-1]
        covariance = self._covariance
        covariance = covariance + (1e-6 * np.trace(covariance) / len(size) + 1e-18) * np.eye(len(size))
        apart = np.diagonal(covariance) + covariance[-1, -1] - 2.0 * covariance[-1]
        error = np.sqrt(apart[:-1] + (MISFIT * (self.loss[:-1] - self.loss[-1])) ** 2)
        squares = min(float(_fit(self.loss[None], size, power, error)[1][0]) for power in POWERS)
        spread = np.sqrt((j - 1) / rng.chisquare(j - 1, CURVES) * max(1.0, squares / (len(size) - 3)))
        noise = rng.normal(size=(CURVES, len(size))) @ np.linalg.cholesky(covariance).T
        drawn = np.maximum(self.loss + noise * spread[:, None], 0.0)
        fits = [_fit(drawn, size, power, error) for power in POWERS]
        squares_of = np.stack([lost for _, lost in fits], axis=1)
        weight = np.exp(-0.5 * (squares_of - squares_of.min(axis=1, keepdims=True)))
        weight = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
        chosen = np.minimum((rng.random(CURVES)[:, None] > weight).sum(axis=1), len(POWERS) - 1)
        b = np.stack([fall for fall, _ in fits], axis=1)[np.arange(CURVES), chosen]
        return drawn[:, -1] - b, b, POWERS[chosen]

    def _at(self, rows: float) -> Array:
        a, b, c = self._curves
        return np.asarray(a + b * (rows / self.rows[-1]) ** -c)

    def project(self, rows: float, level: float = 0.9) -> Projection:
        """Return the expected log-loss of models of so many rows, the median of drawn curves, with its interval."""
        return _quantiles(self._at(_positive("rows", rows)), level)

    def gain(self, times: float = 2.0, level: float = 0.9) -> Projection:
        """Return how much less the loss would be of so many times the rows there are; 0 at least."""
        return _quantiles(self._at(self.total) - self._at(_positive("times", times) * self.total), level)

    @property
    def helps(self) -> bool | None:
        """Whether twice the rows would bring .01 nats or more; None where the interval holds both."""
        found = self.gain()
        return True if found.low >= TELLING else False if found.high < TELLING else None

    def __str__(self) -> str:
        found = self.gain()
        about = f"about {found.value:.3f} nats ({found.low:.3f} to {found.high:.3f})"
        if self.helps is False:
            return f"Twice the rows would hardly help: they would bring {about}."
        if self.helps:
            return f"More rows would help: twice as many would bring {about}."
        return f"Whether more rows would help is not clear: twice as many would bring {about}."

    __repr__ = __str__


def _fit(losses: Array, size: Array, power: float, error: Array) -> tuple[Array, Array]:
    """Return b (r,) of curves through the last of the losses (r, s), by least squares of the others, and those squares.

    What the others lose more than the last is b (m^−c − 1), with standard errors (s − 1,); 0 ≤ b ≤ the last loss.
    """
    design = (size[:-1] ** -power - 1.0) / error
    goal = (losses[:, :-1] - losses[:, -1:]) / error
    fall = np.clip(goal @ design / (design @ design), 0.0, losses[:, -1])
    return fall, ((goal - fall[:, None] * design) ** 2).sum(axis=1)


def _quantiles(values: Array, level: float) -> Projection:
    read_share(level, "level", "0.9, say")
    return Projection(*map(float, np.quantile(values, [0.5, (1.0 - level) / 2.0, (1.0 + level) / 2.0])))


def _positive(name: str, value: float) -> float:
    if not 0.0 < value < np.inf:
        raise SettingError(
            f"{setting(name, value)} must be above 0. Next: 2, say, for twice the rows, or a number of rows."
        )
    return float(value)


def learning_curve(
    codes: Codes,
    classes: Sequence[Level],
    weight: Array | None,
    judge: Judge,
    keys: Keys,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    groups: Codes | None = None,
) -> LearningCurve:
    """Return the curve of a model; `judge(learn, rest)` fits it to some rows and returns log posteriors of others.

    `codes` (n,) are class numbers, `weight` (n,) how much rows count in the losses. DataError where rows or those of a
    class are too few. The `keys` (n,) deal the rows; those of one of the `groups`, by numbers (n,), are in one fold.
    """
    check_rows(codes, classes)
    different = FOLDS if groups is None else int(groups.max()) + 1
    if different < FOLDS:
        raise DataError(
            f"A learning curve deals whole groups into {FOLDS} folds, and the rows are of {different} in all. Next: "
            "gather rows of more groups."
        )
    weight = np.ones(len(codes)) if weight is None else weight
    losses, sizes = list[list[float]](), list[list[int]]()
    for draw in range(draws):
        salt = np.random.default_rng([seed, draw]).integers(2**64 - 1, dtype=np.uint64)
        place = dealt(codes, mixed(keys ^ salt), groups)
        for fold in range(FOLDS):
            rest, others = np.flatnonzero(place[0] == fold), np.flatnonzero(place[0] != fold)
            parts = nested(codes, others, place[1])
            lost = [row_losses(judge(part, rest), codes[rest]) for part in parts]
            losses.append([float(np.average(own, weights=weight[rest])) for own in lost])
            sizes.append([len(part) for part in parts])
    share = np.bincount(codes, weights=weight, minlength=len(classes)) / weight.sum()
    chance = -float(share[share > 0] @ np.log(share[share > 0]))
    return LearningCurve(np.mean(sizes, axis=0), np.array(losses), len(codes), chance, FOLDS, seed)


def check_rows(codes: Codes, classes: Sequence[Level]) -> None:
    """Raise DataError where rows, or those of a class, are too few for a curve."""
    if len(codes) < FEWEST:
        raise DataError(
            f"There are {len(codes)} rows with a label, and a learning curve, which learns from a tenth of them, needs "
            f"{FEWEST} at least. Next: gather more; with so few more always help, unless nothing can be learned."
        )
    held = np.bincount(codes, minlength=len(classes))
    rare = int(np.argmin(held))
    if held[rare] < FOLDS:
        raise DataError(
            f"Class {shown(classes[rare])} has {held[rare]} rows, and a learning curve deals every class into {FOLDS} "
            "folds. Next: drop its rows, join it to another class, or gather more."
        )


def dealt(codes: Codes, keys: Keys, groups: Codes | None = None) -> tuple[Codes, Array]:
    """Return the fold (n,) of each row, and its rank (n,) in [0, 1) among those of its class, as keys (n,) decide.

    Rows of a group are in one fold, and follow each other.
    """
    if groups is not None:
        of_group = np.bincount(groups, weights=(mixed(keys) >> np.uint64(40)).astype(np.float64))
        order = np.lexsort((keys, of_group[groups]))
        return deal_groups(groups, codes, keys, FOLDS), np.argsort(order) / len(order)
    place = np.argsort(class_order(keys, codes))
    first = np.array([place[codes == c].min() for c in range(int(codes.max()) + 1)])
    return place % FOLDS, (place - first[codes]) / np.bincount(codes)[codes]


def nested(codes: Codes, rows: Codes, rank: Array) -> list[Codes]:
    """Return ever more of some rows, the shares one in `ONE_IN`, by class; at least two of each class are in all."""
    order = rows[np.lexsort((rank[rows], codes[rows]))]
    held = np.bincount(codes[order])
    wanted = [np.maximum(np.round(held / part), FEWEST_OF_CLASS) for part in ONE_IN]
    return [np.sort(order[cumcount(codes[order]) < np.repeat(most, held)]) for most in wanted]
