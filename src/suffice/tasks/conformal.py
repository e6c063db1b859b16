"""Sets of classes that hold the true one with a chosen probability, whatever the model gets wrong.

How strange a class is for a row is scored by −log p(class | row). If the scores of rows whose class is known are like
those of new rows, then all classes that score no more than the (1 − α)-quantile of these are a set that holds the true
class with probability 1 − α (least ambiguous sets: Sadinle, Lei & Wasserman 2019, doi:10.1080/01621459.2017.1395341).

Scores are larger where less is known of a row, so a row is compared with rows of as many known cells: those learned
that have so many, and others some of whose cells are hidden. Where both say something, the larger threshold counts:
which cells were missing among the rows learned may not be by chance, and which new ones miss may not be as it was then.
By class, the quantile is that of the rows of the class alone (Mondrian: Vovk, Gammerman & Shafer 2005, section 4.5).

The rows known are the training rows, each scored by the model of all others. That leaves no row aside: for n rows the
model has n − 1 to learn from and the quantile n scores, where a split gives half to each. The price is a proof: the
quantile of leave-one-out scores covers 1 − α where leaving out one more row hardly moves the scores, as for models of
few parameters, but not in the worst case (Barber, Candès, Ramdas & Tibshirani 2021, doi:10.1214/20-AOS1965).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

from .._arrays import Array, Codes, NDArray, np

LEAST = 50  # rows by which a number of known cells has a threshold of its own
ROUNDING = 1e-9  # nats: a class at the threshold is in the set
SLACK = 1e-12  # relative, of sums of weights: rounding takes no row away


def threshold(log_posterior: Array, codes: Codes, weight: Array, alpha: float) -> float:
    """Return the score (nats) that 1 − α of new rows are not expected to exceed, ∞ if there are too few rows to say.

    `log_posterior` (n, k) are those of rows of the classes `codes` (n,), each by a model that has not seen it; row i
    stands for `weight[i]` rows. It is the smallest score s with Σ weight of scores up to s ≥ (1 − α)(W + 1), W the sum
    of all weights: the new row may score anything, and counts as one beyond all others (Vovk, Gammerman & Shafer 2005).
    """
    return quantile(-log_posterior[np.arange(len(codes)), codes], weight, alpha)


def quantile(score: Array, weight: Array, alpha: float) -> float:
    """Return the same of scores (n,)."""
    order = np.argsort(score, kind="stable")
    below = np.cumsum(weight[order])
    total = float(below[-1]) if len(below) else 0.0
    place = int(np.searchsorted(below, (1.0 - alpha) * (total + 1.0) * (1.0 - SLACK)))
    return float(score[order[place]]) if place < len(order) else float(np.inf)


def levels(columns: int) -> Codes:
    """Return the numbers of known cells, from 1 to all, at which thresholds are found: dense at both ends."""
    near = 1 << np.arange(max(columns - 1, 1).bit_length())
    found = np.unique(np.concatenate([near, columns - near, [columns]]))
    return found[(found > 0) & (found <= columns)]


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds by number of known cells: `known` (l,) numbers and `score` (l,) nats, linear between."""

    known: Array
    score: Array

    def at(self, known: Codes) -> Array:
        """Return the threshold (n,) of rows with so many known cells."""
        return np.full(len(known), np.inf) if self.is_endless else np.interp(known, self.known, self.score)

    @property
    def is_endless(self) -> bool:
        """Whether there are too few rows to say."""
        return not np.isfinite(self.score[0])


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores (p,) in nats of rows for their own class, each by a model that has not seen it.

    `known` (p,) is how many of their cells that model was told, and `hidden` (p,) whether there were more; `codes` (p,)
    are class numbers. Each counts for `weight` (p,) rows, and stands for `stands` (p,) times as many of its class.
    """

    known: Codes
    score: Array
    codes: Codes
    weight: Array
    stands: Array
    hidden: NDArray[np.bool_]

    @classmethod
    def together(cls, parts: Sequence[Self]) -> Self:
        """Return those of several sets of rows."""
        return cls(*(np.concatenate([getattr(part, own.name) for part in parts]) for own in fields(cls)))

    def limits(self, columns: int, log_prior: Array, alpha: float, by_class: bool) -> list[Limits]:
        """Return the thresholds of all classes together, or one for each if `by_class`.

        Where nothing is known the posterior is the class prior, `log_prior` (k,).
        """
        own = range(len(log_prior)) if by_class else [None]
        return [self._limits(columns, log_prior, alpha, c) for c in own]

    def _limits(self, columns: int, log_prior: Array, alpha: float, c: int | None) -> Limits:
        mine = np.ones(len(self.codes), dtype=bool) if c is None else self.codes == c
        weight = self.weight * self.stands if c is None else self.weight
        whole = mine & ~self.hidden
        known, found = [0.0], [quantile(-log_prior[self.codes[whole]], weight[whole], alpha)]
        least = min(LEAST, 0.5 * float(self.weight[whole].sum()))
        numbers = levels(columns)
        for place, level in enumerate(numbers.tolist()):
            near = np.interp(self.known, numbers, np.arange(len(numbers)) == place)  # rows between count for both
            both = []
            for some in (whole, mine & self.hidden):
                own = np.flatnonzero(some & (near > 0) & (self.known > 0))
                if float(self.weight[own] @ near[own]) >= least:
                    both.append(quantile(self.score[own], weight[own] * near[own], alpha))
            both = [score for score in both if np.isfinite(score)]
            if both:
                known.append(level)
                found.append(max(both))
        return Limits(np.array(known), np.array(found))


def class_sets(log_posterior: Array, limit: float | Array, allow_empty: bool = True) -> NDArray[np.bool_]:
    """Return which classes score at most `limit`, (n, k), and unless `allow_empty` the most probable one as well."""
    inside = np.asarray(-log_posterior <= limit + ROUNDING)
    if not allow_empty:
        inside[np.arange(len(inside)), log_posterior.argmax(axis=1)] = True
    return inside
