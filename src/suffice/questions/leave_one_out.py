"""What the model says of each row it has learned, had it not seen that row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._arrays import Array, Codes, np
from ..densities import Rows
from ..errors import DataError, either, quoted
from ..fitted import Fitted
from ..schema import Level
from ..stats import Reservoir
from ..stats.rows import group_keys, group_numbers, take_blocks
from ..table.labels import read_groups, read_labels, read_weights

Alone = Callable[[Rows, Codes, Array | None], Array]  # log posteriors (n, k) of rows that leave each by itself


def leave_one_out(fitted: Fitted, X: object, y: object, sample_weight: object, groups: object = None) -> Array:
    """Return leave-one-out log posteriors (n, k); rows of weight 0 were not learned, and are judged as new ones."""
    fitted.check_leaving()
    rows, n = fitted.encoded(X)
    weight = read_weights(sample_weight, n)
    codes = known_codes(fitted, y, n, weight)
    return leaves_with(fitted, rows, codes, weight, groups).left_out(fitted, rows, codes, fitted.left_out)


def known_codes(fitted: Fitted, y: object, rows: int, weight: Array | None = None, missing: str = "error") -> Codes:
    """Return the class number of each label, DataError for one the model does not know in a row of any weight.

    A label that is `missing` is an error, too, or −1 for "any".
    """
    labels, codes = read_labels(y, rows, fitted.who, missing=missing)
    known = {label: c for c, label in enumerate(fitted.statistics.classes)}
    there = set(codes.tolist() if weight is None else codes[weight > 0].tolist())
    unknown = [label for c, label in enumerate(labels) if label not in known and c in there]
    if unknown:
        raise DataError(
            f"{either('y holds', 'The labels hold')} {quoted(unknown)}, which this model does not know; its classes "
            f"are {quoted(list(known))}. Next: pass rows the model has learned, with their labels."
        )
    return np.array([*(known.get(label, -1) for label in labels), -1], dtype=np.int64)[codes]


def check_one_kind(known: Sequence[Level], labels: Sequence[Level]) -> None:
    """Raise DataError where labels are text and the model's classes are numbers, or the other way round."""
    if labels and len({isinstance(label, str) for label in (*known, *labels)}) > 1:
        raise DataError(
            f"The labels are {quoted(labels[:3])} and the model's classes {quoted(known[:3])}: text and numbers. "
            "Next: give labels of the kind that the model was fitted with."
        )


@dataclass(frozen=True, eq=False)
class Leaves:
    """What leaves with each of n rows: the `weight`, None for 1, and its `group`, a number, None without groups.

    `place` (n,) are numbers among the rows kept, −1 for rows that are not, None where nobody asks. Rows that share a
    number of `alike` (n,) are equal and have one answer, as nothing says which of their groups each is of.
    """

    weight: Array | None
    group: Codes | None = None
    place: Codes | None = None
    alike: Codes | None = None

    def __getitem__(self, index: Codes) -> Leaves:
        weight = None if self.weight is None else self.weight[index]
        rest = (None if own is None else own[index] for own in (self.group, self.place, self.alike))
        return Leaves(weight, *rest)

    def left_out(self, fitted: Fitted, rows: Rows, codes: Codes, alone: Alone) -> Array:
        """Return log posteriors (n, k) of rows: of those learned without their groups, or as `alone` leaves them.

        Rows of weight 0 were not learned, and are judged as new ones.
        """
        if self.weight is not None and not self.weight.all():
            learned, absent = np.flatnonzero(self.weight), np.flatnonzero(self.weight == 0)
            found = np.empty((len(codes), len(fitted.statistics.classes)))
            found[absent] = fitted.log_posterior(fitted.recoded(take_blocks(rows, absent)))
            if len(learned):
                found[learned] = self[learned].left_out(fitted, take_blocks(rows, learned), codes[learned], alone)
            return found
        if self.group is None:
            return alone(rows, codes, self.weight)
        found = fitted.left_out_groups(rows, codes, self.weight, self.group, self.place)
        return found if self.alike is None else _mean(found, self.alike)


def leaves_with(fitted: Fitted, rows: Rows, codes: Codes, weight: Array | None, groups: object) -> Leaves:
    """Return what leaves with each of some encoded rows: its group, as given or as learned, or its copies.

    DataError where rows are of groups that are not given, and equal rows of which cannot be told apart.
    """
    sample, together = fitted.judges, fitted.copies_leave_together
    keys = None if groups is None else group_keys(read_groups(groups, len(codes)), fitted.schema.names)
    if sample is None or (keys is None and sample.group is None and not together):
        return Leaves(weight, None if keys is None else group_numbers(keys))
    own = np.ones(len(codes)) if weight is None else weight
    learned = np.flatnonzero((codes >= 0) & (own > 0))
    some = take_blocks(rows[: len(sample.rows)], learned)
    place = np.full(len(codes), -1, dtype=np.int64)
    told, alike = None if keys is None else keys[learned], None
    place[learned] = sample.locate(some, codes[learned], fitted.statistics.classes, told)
    kept = place >= 0
    if keys is None and sample.group is not None:
        alike = _alike(fitted, sample, place, own)
        keys = np.where(kept, sample.group[place], np.uint64(0))
    if together:  # copies in a group leave with it
        alone = kept if keys is None else kept & (keys == 0)
        weight = np.where(alone, sample.weight[place], own)
    return Leaves(weight, None if keys is None else group_numbers(keys), place, alike)


def _mean(log_posterior: Array, alike: Codes) -> Array:
    """Return the logs of mean posteriors (n, k) of rows that are alike (n,)."""
    _, alike, count = np.unique(alike, return_inverse=True, return_counts=True)
    total = np.full((len(count), log_posterior.shape[1]), -np.inf)
    np.logaddexp.at(total, alike, log_posterior)
    return np.asarray((total - np.log(count)[:, None])[alike])


def _alike(fitted: Fitted, sample: Reservoir, place: Codes, weight: Array) -> Codes:
    """Return a number (n,) that equal rows share; DataError where it matters which of them is of which group.

    It does not where all of them are there and weigh the same.
    """
    number = sample.contents(fitted.statistics.classes)
    several = np.bincount(number) > 1
    given = np.flatnonzero((place >= 0) & several[number[place]])
    own = number[place[given]]
    absent = np.bincount(own, minlength=len(several)) != np.rint(np.bincount(number, weights=sample.copies))
    last = np.zeros(len(several))
    last[own] = weight[given]
    unknown = given[absent[own] | (weight[given] != last[own])]
    if len(unknown):
        raise DataError(
            f"Some rows, such as row {unknown[0]}, equal learned rows of several groups, and nothing says of which of "
            "these they are. Next: say it by groups=, as given to fit; or give all rows that were learned."
        )
    return np.where(place < 0, len(number) + np.arange(len(place)), number[place])
