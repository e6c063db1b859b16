"""Conformal sets of classes.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from ._arrays import Array, Codes, Flags, log_of, np

LEAST = 50  # rows by which a number of known cells has a threshold of its own
ROUNDING = 1e-9  # of a threshold: a class at it is in the set
MANY = 64  # columns, of which numbers of known cells lie four times as far apart, and not twice
MOST_MEANS = 200  # of scores at one number of known cells
SLACK = 1e-12  # relative, of sums of weights: rounding takes no row away


def threshold(score: Array, weight: Array, alpha: float, means: bool = False) -> float:
    """Return the score (nats) that 1 − α of new rows are not expected to exceed, ∞ if there are too few rows to say.

    `score` (n,) are those of rows for their own class, each by a model that has not seen it; row i stands for
    `weight[i]` rows. It is the smallest score s with Σ weight of scores up to s ≥ (1 − α)(W + 1), W the sum of all
    weights: the new row may score anything, and counts as one beyond all others (Vovk, Gammerman & Shafer 2005). If
    they are `means`, each of so many rows, it is linear between them and ∞ beyond.
    """
    order = np.argsort(score, kind="stable")
    below = np.cumsum(weight[order])
    wanted = (1.0 - alpha) * ((float(below[-1]) if len(below) else 0.0) + 1.0) * (1.0 - SLACK)
    if means and len(below):
        return float(np.interp(wanted, below - 0.5 * weight[order], score[order], right=np.inf))
    place = int(np.searchsorted(below, wanted))
    return float(score[order[place]]) if place < len(order) else float(np.inf)


def levels(columns: int) -> Codes:
    """Return the numbers of known cells, from 1 to all, at which thresholds are found: dense at both ends."""
    near = 1 << np.arange(0, max(columns - 1, 1).bit_length(), 1 if columns <= MANY else 2)
    found: Codes = np.unique(np.concatenate([near, columns - near, [columns]]))
    return found[(found > 0) & (found <= columns)]


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds by number of known cells: `known` (l,) numbers from 0 on and `score` (l,) nats, linear between."""

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
    hidden: Flags

    @classmethod
    def together(cls, parts: Sequence[Self]) -> Self:
        """Return those of several sets of rows."""
        return cls(*(np.concatenate([getattr(part, own.name) for part in parts]) for own in fields(cls)))

    def of_class(self, c: int) -> Self:
        """Return those of one class, whose rows stand for themselves."""
        own = self.codes == c
        found = type(self)(*(getattr(self, field.name)[own] for field in fields(self)))
        found.stands[:] = 1.0
        return found

    def near(self, columns: int) -> Iterator[tuple[int, bool, Codes, Array]]:
        """Yield numbers of known cells, hidden or not, which scores belong there, and how much of each.

        A row between two of the numbers is shared out among both, more to the nearer.
        """
        numbers = levels(columns)
        for place, number in enumerate(numbers.tolist()):
            share = np.interp(self.known, numbers, np.arange(len(numbers)) == place) * (self.known > 0)
            for hidden in (False, True):
                own = np.flatnonzero((self.hidden == hidden) & (share > 0))
                yield number, hidden, own, share[own]

    def rows(self, k: int) -> Array:
        """Return how many rows of each class these stand for (k,)."""
        counted = np.where(self.hidden, 0.0, self.weight * self.stands)
        return np.asarray(np.bincount(self.codes, counted, k), dtype=np.float64)

    def limits(self, columns: int, log_prior: Array, alpha: float, by_class: bool) -> list[Limits]:
        """Return the thresholds of all classes together, or one for each if `by_class`.

        Where nothing is known the posterior is the class prior, `log_prior` (k,).
        """
        k = len(log_prior)
        parts = [self.of_class(c) for c in range(k)] if by_class else [self]
        return [limits_of(own, own.rows(k), columns, log_prior, alpha) for own in parts]


def limits_of(scores: Scores, rows: Array, columns: int, log_prior: Array, alpha: float, means: bool = False) -> Limits:
    """Return the thresholds that scores say, of so many rows (k,) of each class, or `means` of scores.

    A number of known cells that few rows have has none of its own, and takes that of the next smaller number, which is
    larger as a rule. They are endless where even few known cells leave too few rows to say.
    """
    found = {0: threshold(-log_prior, rows, alpha)}
    least = min(LEAST, 0.5 * float(rows.sum()))
    for number, _, own, share in scores.near(columns):
        weight = scores.weight[own] * scores.stands[own] * share
        if weight.sum() < least:
            continue
        score = threshold(scores.score[own], weight, alpha, means)
        if np.isfinite(score):
            found[number] = max(score, found.get(number, -np.inf))
        elif len(found) == 1:
            found[0] = np.inf
    return Limits(np.array(list(found), dtype=np.float64), np.array(list(found.values())))


@dataclass(frozen=True, slots=True)
class MeanScores:
    """What a released model knows of scores: `means` of them over rows enough, by class, or where one has too few of
    all together (`codes` −1).

    They are of `classes`, of which there are `rows` (k,), under the class `priors` (k,), by so many `columns`.
    """

    classes: tuple[Any, ...]
    rows: Array
    priors: Array
    columns: int
    means: Scores

    @classmethod
    def of(cls, scores: Scores, classes: Sequence[Any], priors: Array, columns: int, least: float) -> Self:
        """Return the means of scores, each over rows that weigh `least` or more."""
        k, found = len(classes), list[tuple[int, float, int, float, float, bool]]()
        for number, hidden, own, share in scores.near(columns):
            kept, codes = scores.weight[own] * share, scores.codes[own]
            whole = float(kept.sum())
            held = np.bincount(codes, weights=kept, minlength=k)
            if whole < least:
                continue
            apart = not ((held > 0) & (held < least)).any()
            size = max(least, whole / MOST_MEANS)
            for c in np.flatnonzero(held).tolist() if apart else (-1,):
                some = np.flatnonzero((codes == c) | (c < 0))
                score, stands = scores.score[own[some]], scores.stands[own[some]]
                found += [
                    (number, mean, c, weight, times, hidden)
                    for mean, weight, times in _means(score, kept[some], stands, size, least)
                ]
        kinds = (np.int64, np.float64, np.int64, np.float64, np.float64, np.bool_)
        fields_of = zip(*found, strict=True) if found else [()] * len(kinds)
        means = Scores(*(np.array(own, dtype=kind) for own, kind in zip(fields_of, kinds, strict=True)))
        return cls(tuple(classes), scores.rows(k), priors, columns, means)

    def limits(self, alpha: float, by_class: bool) -> list[Limits]:
        """Return the thresholds, as `Scores.limits` does."""
        parts = [(self.means, self.rows)]
        if by_class:
            each = range(len(self.rows))
            parts = [(self.means.of_class(c), self.rows * (np.array(each) == c)) for c in each]
        return [limits_of(part, rows, self.columns, log_of(self.priors), alpha, means=True) for part, rows in parts]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        means = {own.name: getattr(self.means, own.name).tolist() for own in fields(Scores)}
        told = {"rows": self.rows.tolist(), "priors": self.priors.tolist(), "columns": self.columns}
        return {"classes": list(self.classes), **told, "means": means}

    @classmethod
    def of_plain(cls, plain: Any) -> Self:
        """Return what `plain` wrote; ValueError if it cannot be that."""
        classes, columns, told = tuple(plain["classes"]), plain["columns"], plain["means"]
        rows, priors = (np.array(plain[name], dtype=np.float64) for name in ("rows", "priors"))
        kinds = {"known": np.int64, "codes": np.int64, "hidden": np.bool_}
        means = Scores(*(np.array(told[own.name], dtype=kinds.get(own.name, np.float64)) for own in fields(Scores)))
        if type(columns) is not int or not rows.shape == priors.shape == (len(classes),):
            raise ValueError("scores of other classes")
        if len({getattr(means, own.name).shape for own in fields(Scores)}) > 1 or means.codes.ndim != 1:
            raise ValueError("scores of other rows")
        numbers = np.concatenate([rows, priors, means.score, means.weight, means.stands])
        if not np.isfinite(numbers).all() or (numbers < 0).any():
            raise ValueError("scores that are none")
        if not ((means.known >= 1) & (means.known <= columns)).all():
            raise ValueError("scores of other columns")
        if not ((means.codes >= -1) & (means.codes < len(classes))).all():
            raise ValueError("scores of other classes")
        return cls(classes, rows, priors, columns, means)


def _means(score: Array, weight: Array, stands: Array, size: float, least: float) -> Iterator[tuple[float, ...]]:
    """Yield means of scores that follow each other, the weight of each, about `size`, and how much that stands for."""
    order = np.argsort(score, kind="stable")
    starts, held, left = [0], 0.0, float(weight.sum())
    for place, own in enumerate(weight[order].tolist(), start=1):
        held, left = held + own, left - own
        if held >= size and left >= least:
            starts.append(place)
            held = 0.0
    kept = np.add.reduceat(weight[order], starts)
    told = np.add.reduceat((weight * stands)[order], starts)
    total = np.add.reduceat((weight * stands * score)[order], starts)
    yield from zip((total / told).tolist(), kept.tolist(), (told / kept).tolist(), strict=True)


def class_sets(log_posterior: Array, limit: float | Array, allow_empty: bool = True) -> Flags:
    """Return which classes score at most `limit`, (n, k), and unless `allow_empty` the most probable one as well."""
    inside = np.asarray(-log_posterior <= limit * (1.0 + ROUNDING))
    if not allow_empty:
        inside[np.arange(len(inside)), log_posterior.argmax(axis=1)] = True
    return inside
