"""Mergeable sums of scoring rules and ranks of posteriors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Self

from .._arrays import Array, Codes, Flags, NDArray, cross_sums, logsumexp, np, stdtrit
from ..losses import LEAST_PROBABILITY
from ..schema import Level

BINS = 15  # of the confidence, for the calibration error
FINE = 8  # steps of each, from which bins with enough rows are put together
MOST_SCORES = 1 << 21  # different log-odds kept, of all classes together: 48 MiB
NORMAL = 1.959964  # the 97.5 % point of the normal distribution
STEPS = 256  # of a unit of log-odds, beyond that: odds are then known to 0.4 %


def wilson(share: Array, n: Array, z: float = NORMAL) -> tuple[Array, Array]:
    """Return the ends of Wilson's 95 % interval of a share of n (Wilson 1927, doi:10.1080/01621459.1927.10502953)."""
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.clip(center - half, 0.0, 1.0), np.clip(center + half, 0.0, 1.0)


def log_odds(log_posterior: Array) -> Array:
    """Return log p_c − log Σ of the other classes' p (n, k), where 1 − p_c would have no digits left, too."""
    n, k = log_posterior.shape
    with np.errstate(divide="ignore"):
        found = log_posterior - np.log1p(-np.exp(np.minimum(log_posterior, 0.0)))
    if k > 1 and n:
        every, best = np.arange(n), log_posterior.argmax(axis=1)
        others = log_posterior.copy()
        others[every, best] = -np.inf
        found[every, best] = log_posterior[every, best] - logsumexp(others, axis=1)
    return np.clip(found, -1e300, 1e300)


@dataclass(frozen=True)
class Ranking:
    """The log-odds of one class that rows were given, and the weight of its own rows and of the others at each.

    `odds` (m,) rise, without repeats; `own` and `others` (m,) are weights. Where these are not `exact`, log-odds are
    rounded down to 256ths, so that what is at least one of those listed is still known exactly.
    """

    odds: Array
    own: Array
    others: Array
    exact: bool = True

    @classmethod
    def of(cls, odds: Array, is_own: Flags, weight: Array) -> Self:
        """Return the ranking of rows by their log-odds (n,)."""
        return cls._grouped(odds, weight * is_own, weight * ~is_own, True)

    @classmethod
    def _grouped(cls, odds: Array, own: Array, others: Array, exact: bool) -> Self:
        distinct, place = np.unique(odds, return_inverse=True)
        one, two = (np.bincount(place, part, len(distinct)).astype(np.float64) for part in (own, others))
        return cls(distinct, one, two, exact)

    def merge(self, other: Self, most: int) -> Self:
        """Return the ranking of the rows of both, rounded once there are more than `most` different log-odds."""
        one, two = (self, other) if self.exact == other.exact else (self.rounded(), other.rounded())
        odds = np.concatenate([one.odds, two.odds])
        own, others = np.concatenate([one.own, two.own]), np.concatenate([one.others, two.others])
        found = type(self)._grouped(odds, own, others, one.exact)
        return found if len(found.odds) <= most else found.rounded()

    def rounded(self) -> Self:
        """Return the ranking with log-odds rounded down to whole steps, up to 40 and from −750 on."""
        if not self.exact:
            return self
        low = np.floor(np.clip(self.odds, -750.0, 40.0) * STEPS) / STEPS
        return type(self)._grouped(low, self.own, self.others, False)

    @property
    def probability(self) -> Array:
        """The probabilities (m,)."""
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(-self.odds)))

    @property
    def doubt(self) -> float:
        """By how much the area under the ROC curve may differ from that of exact probabilities."""
        both = float(self.own.sum()) * float(self.others.sum())
        return 0.0 if self.exact or both <= 0 else 0.5 * float((self.own * self.others).sum()) / both


@dataclass(frozen=True)
class GroupSums:
    """Hashes (g,) of the groups that rows are of, 0 for a row of none, and their sums (g,) of weights w.

    `right` is Σ w over the rows answered rightly, `loss` Σ w L.
    """

    key: NDArray[np.uint64]
    weight: Array
    right: Array
    loss: Array

    @classmethod
    def of(cls, key: NDArray[np.uint64], weight: Array, right: Array, loss: Array) -> Self:
        """Return the sums of sums; a row of no group stays by itself."""
        number = np.unique(np.where(key == 0, 2 * np.arange(len(key), dtype=np.uint64), key), return_inverse=True)[1]
        number, size = number.reshape(-1), int(number.max(initial=-1)) + 1
        known = np.zeros(size, dtype=np.uint64)
        known[number] = key
        sums = [np.bincount(number, part, size).astype(np.float64) for part in (weight, right, loss)]
        return cls(known, *sums)

    def merge(self, other: Self) -> Self:
        """Return the sums of the rows of both."""
        names = [own.name for own in fields(self)]
        return type(self).of(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))

    def error(self, values: Array) -> float:
        """Return the standard error of Σ `values` (g,) / Σ w, groups drawn whole; not a number where there is one.

        √(g / (g − 1) Σ_g (v_g − x̄ w_g)²) / W (Liang & Zeger 1986, doi:10.1093/biomet/73.1.13).
        """
        total, count = float(self.weight.sum()), len(self.key)
        apart = values - values.sum() / total * self.weight
        return float(np.sqrt(count / (count - 1.0) * (apart**2).sum()) / total) if count > 1 else float("nan")

    @property
    def rows_told(self) -> float:
        """As how many rows, each drawn by itself, these tell of the share that is right: at most their weight.

        Where all are right, or none, as many as there are groups.
        """
        total = float(self.weight.sum())
        share = float(self.right.sum()) / total
        if not 0.0 < share < 1.0:
            return min(float(len(self.key)), total)
        error = self.error(self.right)
        return min(share * (1.0 - share) / error**2, total) if error > 0.0 else total

    @property
    def quantile(self) -> float:
        """The 97.5 % point of Student's t with as many degrees of freedom as groups, less one."""
        return float(stdtrit(len(self.key) - 1.0, 0.975))


@dataclass(frozen=True)
class Tally:
    """What is added up of judged rows, k classes and weights w: k means k copies of a row.

    `confusion` (k, k) has the true class in rows. `loss` is Σ w L with L = −log p(true class), `loss_squares` Σ w L²,
    `brier` Σ w Σ_c (p_c − [y = c])², `expected` what the answers cost by the posteriors themselves; `calibration`
    (3, 120) the weight, the confidence and what was right by steps of the confidence; `impossible` the rows whose class
    was given less than `LEAST_PROBABILITY`. `recognised` is the weight of rows that the model keeps as learned.
    `unlabelled` rows had no label, those of `unknown` labels one of no class of the model: neither is in the sums.
    `groups` has the sums of groups of rows, None where each is drawn by itself.
    """

    rows: int
    confusion: Array
    loss: float
    loss_squares: float
    brier: float
    expected: float
    calibration: Array
    impossible: int
    rankings: tuple[Ranking, ...]
    recognised: float = 0.0
    unlabelled: int = 0
    unknown: Counter[Level] = field(default_factory=Counter)
    groups: GroupSums | None = None

    @classmethod
    def of(
        cls,
        log_posterior: Array,
        codes: Codes,
        weight: Array,
        choice: Codes,
        costs: Array | None,
        group: NDArray[np.uint64] | None = None,
    ) -> Self:
        """Return the sums of rows of known classes (n,), answered by the class numbers `choice` (n,).

        `group` (n,) are hashes of the groups they are of, 0 of none.
        `costs` (k, k) are those of answers in columns for true classes in rows; without them a wrong answer costs 1.
        """
        n, k = log_posterior.shape
        p, every = np.exp(log_posterior), np.arange(n)
        own = p[every, codes]
        lost = -np.log(np.clip(own, LEAST_PROBABILITY, 1.0))
        confusion = cross_sums(codes, choice, (k, k), weight)
        confidence = p.max(axis=1)
        right = p.argmax(axis=1) == codes
        expected = 1.0 - p[every, choice] if costs is None else np.einsum("nk,kn->n", p, costs[:, choice])
        place = np.minimum((confidence * BINS * FINE).astype(np.int64), BINS * FINE - 1)
        sums = [np.bincount(place, part, BINS * FINE) for part in (weight, weight * confidence, weight * right)]
        return cls(
            n,
            confusion,
            float((weight * lost).sum()),
            float((weight * lost**2).sum()),
            float((weight * ((p**2).sum(axis=1) - 2.0 * own + 1.0)).sum()),
            float((weight * expected).sum()),
            np.stack(sums).astype(np.float64),
            int((own < LEAST_PROBABILITY).sum()),
            tuple(Ranking.of(odds, codes == c, weight) for c, odds in enumerate(log_odds(log_posterior).T)),
            groups=None if group is None else GroupSums.of(group, weight, weight * (choice == codes), weight * lost),
        )

    def merge(self, other: Self) -> Self:
        """Return the sums of the rows of both."""
        most = max(1, MOST_SCORES // max(len(self.rankings), 1))
        added = [own.name for own in fields(self) if own.name not in ("rankings", "groups")]
        return type(self)(
            **{name: getattr(self, name) + getattr(other, name) for name in added},
            rankings=tuple(a.merge(b, most) for a, b in zip(self.rankings, other.rankings, strict=True)),
            groups=self.groups if other.groups is None or self.groups is None else self.groups.merge(other.groups),
        )
