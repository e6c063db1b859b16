"""A mergeable sample of rows by hash.

What needs rows (leave-one-out scores, quantiles of them) asks this sample. A row is in it by a hash of its own cells
and class, not by its place: the rows with the smallest hashes stay (bottom-k sampling, Cohen & Kaplan 2007,
doi:10.1145/1281100.1281133). Parts merged in any order therefore hold the very rows that the whole table would, rows
forgotten can be found again, and equal rows are one entry with a count. A table of up to `bound` distinct rows is held
complete. A few rows of every class stay even where the class is rare, and weights are corrected for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

from .._arrays import (
    IN_CACHE,
    IN_MEMORY,
    Array,
    Codes,
    cumcount,
    distinct,
    is_sparse,
    np,
    parallel_each,
    row_chunks,
    rows_within,
)
from ..errors import NotLearnedError
from ..schema import Level
from ._downdate import DUST, faded
from .counts import CodedColumns
from .rows import (
    Keys,
    Units,
    compact,
    fingerprints,
    level_keys,
    mixed,
    priorities,
    rows_from_arrays,
    rows_to_arrays,
    some_of,
    take_blocks,
    take_rows,
    taken,
)
from .statistic import Fields, Plain, amounts, codes as codes_below

DENSE_ROWS = 64  # sparse rows made dense at a time
BOUND = 2000
RESERVED = 500  # shared out among the classes: so many rows stay even if all others have smaller hashes
ALL = np.iinfo(np.uint64).max
SAME_WEIGHT = 1e-9  # relative difference of weights, of all rows and of those kept, that rounding explains
NAMELESS = ("",)  # the class of rows without a label, where these are kept


@dataclass(frozen=True, slots=True)
class Reservoir:
    """Distinct rows and how often each was seen.

    `rows` has one part per block of columns (m rows), `codes` (m,) are class numbers, `copies` (m,) how many rows had
    this content, `weight` (m,) their weight in all. `priority` and `identity` (m,) are hashes of the content; every row
    of class c with a priority of at most `limit[c]` that was ever seen is here. `group` (m,) are hashes of the groups
    that rows are of, 0 of none, or None where no row is of any: equal rows of two groups are two.
    """

    rows: tuple[Any, ...]
    codes: Codes
    copies: Array
    weight: Array
    priority: Keys
    identity: Keys
    limit: Keys
    bound: int = BOUND
    group: Keys | None = None

    @classmethod
    def summarize(
        cls,
        rows: Sequence[object],
        codes: Codes,
        classes: Sequence[Level],
        weight: Array | None = None,
        bound: int = BOUND,
        group: Keys | None = None,
    ) -> Self:
        """Return the sample of a batch: encoded `rows` by block, class numbers `codes` (n,), row weights and groups."""
        salts = level_keys(classes)[:-1]
        priority = _hashed(rows, codes, salts)
        limit = _limits(priority, codes, np.full(len(classes), ALL, dtype=np.uint64), bound)
        kept = np.flatnonzero(priority <= limit[codes])
        kept = kept[np.argsort(priority[kept], kind="stable")]  # as `_united` has them: rows are copied once
        priority = priority[kept]
        own = tuple(_copied(block, kept) for block in rows)
        group = None if group is None or not group.any() else group[kept]
        identity = _identity(own, salts[codes[kept]], group)
        ones = np.ones(len(kept))
        own_weight = ones if weight is None else weight[kept].astype(np.float64)
        found = cls(own, codes[kept].astype(np.int64), ones, own_weight, priority, identity, limit, bound, group)
        return found._united()._bounded()

    def merge(self, other: Self) -> Self:
        """Return the sample of the rows of both: the same as of one table with all of them."""
        found = self._joined(other)._united()._bounded()
        return replace(
            found, rows=tuple(some_of(x, y, found.rows[0]) for x, y in zip(self.rows, other.rows, strict=True))
        )

    def _joined(self, other: Self) -> Self:
        """Return the rows of both that stay by either's limits, by their numbers instead of themselves."""
        names = ("codes", "copies", "weight", "priority", "identity")
        both = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        group = None if self.group is None and other.group is None else np.concatenate([self._groups, other._groups])
        limit, numbers = np.minimum(self.limit, other.limit), np.arange(len(both["codes"]))
        found = type(self)((numbers,), **both, limit=limit, bound=min(self.bound, other.bound), group=group)
        return found._within(limit)

    def subtract(self, other: Self) -> Self:
        """Return the sample without the rows of `other`, which holds all of its own.

        Rows that are not in the sample leave no trace, unless it holds all rows of their class: then they were never
        learned, and neither were those that weigh more than it says: NotLearnedError.
        """
        # Few of many; NumPy 1.26 would make a table of hashes, which overflows.
        asked = np.flatnonzero(np.isin(self.identity, other.identity, kind="sort"))
        place = dict(zip(self.identity[asked].tolist(), asked.tolist(), strict=True))
        copies, weight = self.copies.copy(), self.weight.copy()
        for key, c, count, amount in zip(other.identity, other.codes, other.copies, other.weight, strict=True):
            i = place.get(int(key))
            if i is not None:
                copies[i] -= count
                weight[i] -= amount
            if self.limit[c] == ALL and (i is None or weight[i] < -DUST * self.weight[i]):
                raise NotLearnedError("one of them is not among the rows learned, or not that often", int(c))
        left = np.flatnonzero(weight > DUST * self.weight)
        return replace(self, copies=np.maximum(copies, 1.0), weight=weight).part(left)

    def scale(self, factor: float) -> Self:
        """Return the sample with all weights multiplied by `factor`."""
        scaled = replace(self, weight=faded(self.weight, factor))
        return scaled if scaled.weight.all() else scaled.part(np.flatnonzero(scaled.weight))

    def place(self, index: Sequence[int], k: int) -> Self:
        """Return the same sample with class i moved to number index[i] of k."""
        moved = np.asarray(index, dtype=np.int64)
        limit = np.full(k, ALL, dtype=np.uint64)
        np.minimum.at(limit, moved, self.limit)
        return replace(self, codes=moved[self.codes], limit=limit)._bounded()

    def regroup(self, index: Codes, classes: Sequence[Level]) -> Self:
        """Return the sample with class i made part of class index[i] of those listed, or left out (−1).

        Rows are found by a hash of their class and cells, so those of a class with another label get another hash.
        What is held of a class stays a sample of its rows; where that is all of them, it is the sample they would have
        had under the new label.
        """
        limit = np.full(len(classes), ALL, dtype=np.uint64)
        np.minimum.at(limit, index[index >= 0], self.limit[index >= 0])
        left = self.part(np.flatnonzero(index[self.codes] >= 0))
        return replace(left, codes=index[left.codes], limit=limit).with_rows(left.rows, classes)

    def with_rows(self, rows: Sequence[Any], classes: Sequence[Level]) -> Self:
        """Return the sample with its rows read otherwise, or of classes of other names; see `regroup`."""
        salts = level_keys(classes)[:-1][self.codes]
        priority = np.where(self.limit[self.codes] == ALL, _priority(rows, salts), self.priority)
        identity = _identity(tuple(rows), salts, self.group)
        found = replace(self, rows=tuple(rows), priority=priority, identity=identity)
        return found._within(self.limit)._united()._bounded()

    @property
    def is_whole(self) -> bool:
        """Whether all rows that were ever seen are here, but those forgotten."""
        return bool((self.limit == ALL).all())

    @property
    def rows_per_weight(self) -> float:
        """How many rows a weight of 1 speaks for; see the function of that name."""
        return rows_per_weight(self.weight, self.copies)

    def row_weight(self) -> Array:
        """Return the weight of one copy of each row (m,)."""
        return self.weight / self.copies

    def leaving_weight(self) -> Array:
        """Return the weight (m,) that leaves with each row: of one copy, or in a group of all of them."""
        return self.row_weight() if self.group is None else np.where(self.group == 0, self.row_weight(), self.weight)

    def represented(self, class_weight: Array) -> Array:
        """Return the weight (m,) that each row stands for, so that every class adds up to its weight in all rows."""
        held = np.bincount(self.codes, weights=self.weight, minlength=len(class_weight))
        return np.asarray(self.weight * (class_weight / np.where(held > 0, held, 1.0))[self.codes])

    @property
    def _groups(self) -> Keys:
        return np.zeros(len(self.codes), dtype=np.uint64) if self.group is None else self.group

    @property
    def units(self) -> Units:
        """What leaves together: rows of one group, and what counts as one row."""
        group = None if self.group is None else np.where(self.group == 0, self.identity, self.group)
        return Units(self.copies, group)

    def locate(
        self, rows: Sequence[object], codes: Codes, classes: Sequence[Level], group: Keys | None = None
    ) -> Codes:
        """Return the numbers (n,) of encoded rows of the classes `codes` (n,) among those kept, −1 for others.

        Rows are found by their contents and the hashes of their `group` (n,). Without these, equal rows of several
        groups are as many of each, in order, as have been seen, and further ones of the last.
        """
        salts = level_keys(classes)[:-1]
        compacted = tuple(compact(part) for part in rows)
        if group is not None and self.group is not None:
            return _matched(_identity(compacted, salts[codes], group), self.identity, self.copies)
        known = self.identity if self.group is None else _identity(self.rows, salts[self.codes])
        return _matched(_identity(compacted, salts[codes]), known, self.copies)

    def contents(self, classes: Sequence[Level]) -> Codes:
        """Return a number (m,) that equal rows share, of whatever groups they are."""
        keys = self.identity if self.group is None else _identity(self.rows, level_keys(classes)[:-1][self.codes])
        return np.unique(keys, return_inverse=True)[1].reshape(-1)

    def part(self, index: Codes) -> Self:
        """Return some of the rows, by their numbers."""
        left = taken(self, index, "codes", "copies", "weight", "priority", "identity", "group")
        return replace(left, rows=tuple(_some(part, index) for part in self.rows))

    def _within(self, limit: Keys) -> Self:
        """Return the rows with priorities up to the limits (k,) of their classes."""
        within = self.priority <= limit[self.codes]
        return replace(self if within.all() else self.part(np.flatnonzero(within)), limit=limit)

    def bounded(self, bound: int) -> Self:
        """Return the sample that keeps at most so many rows."""
        return self if bound >= self.bound else replace(self, bound=bound)._bounded()

    def _bounded(self) -> Self:
        return self._within(_limits(self.priority, self.codes, self.limit, self.bound))

    def _united(self) -> Self:
        """Return each distinct row once, in the order of priority."""
        order = np.argsort(self.priority, kind="stable")  # of two sorted samples in one pass
        if (np.diff(self.priority[order]) == 0).any():
            order = np.lexsort((self.identity, self.priority))
        if len(distinct(self.identity)) == len(order):
            return self if (order[:-1] < order[1:]).all() else self.part(order)
        _, first, group = np.unique(self.identity[order], return_index=True, return_inverse=True)
        copies: Array = np.bincount(group, weights=self.copies[order], minlength=len(first)).astype(np.float64)
        weight: Array = np.bincount(group, weights=self.weight[order], minlength=len(first)).astype(np.float64)
        back = np.argsort(first)
        one = self.part(order[first[back]])
        return replace(one, copies=copies[back], weight=weight[back])

    def is_of(self, classes: Sequence[Level]) -> bool:
        """Say whether the hashes are those of these rows in these classes, so that a file holds what was kept.

        Rows that came dense to others that are sparse are kept as those are, under the hashes they came with. What
        decided which rows of a class stay is theirs only where all of them have: new names do not draw them again.
        """
        salts = level_keys(classes)[:-1][self.codes]
        odd = self._with_other_hashes(np.arange(len(self.codes)), self.rows, salts)
        if len(odd) and any(is_sparse(part) for part in self.rows):
            for some in row_chunks(len(odd), DENSE_ROWS):
                own = take_blocks(self.rows, odd[some])
                dense = [part.toarray() if is_sparse(part) else part for part in own]
                if len(self._with_other_hashes(odd[some], dense, salts[odd[some]])):
                    return False
            return True
        return not len(odd)

    def _with_other_hashes(self, index: Codes, rows: Sequence[object], salts: Keys) -> Codes:
        """Return the numbers of those among these rows whose hashes are not theirs."""
        same = self.identity[index] == _identity(rows, salts, None if self.group is None else self.group[index])
        same &= (self.priority[index] == _priority(rows, salts)) | (self.limit[self.codes[index]] != ALL)
        return np.asarray(index[~same])

    @staticmethod
    def hashes(rows: Sequence[Any], codes: Codes, classes: Sequence[Level], group: Keys | None) -> dict[str, Keys]:
        """Return by the names of the fields the hashes of rows of these classes, none of which has another name now."""
        salts = level_keys(classes)[:-1][codes]
        return {"priority": _priority(rows, salts), "identity": _identity(rows, salts, group)}

    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields as named arrays and plain values."""
        own = {"codes": self.codes, "copies": self.copies, "weight": self.weight}
        hashes = {"priority": self.priority, "identity": self.identity, "limit": self.limit}
        hashes |= {} if self.group is None else {"group": self.group}
        cells, levels = rows_to_arrays(self.rows)
        return own | hashes | cells, {"bound": self.bound, "blocks": len(self.rows), "levels": levels}

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain, classes: Sequence[Level] = ()) -> Self:
        """Return the sample written by `arrays`; ValueError if the parts do not fit together.

        Hashes that are not there are those of the rows and their classes.
        """
        m, k, bound = len(fields["codes"]), len(fields["limit"]), plain["bound"]
        if type(bound) is not int or not 0 <= bound < 2**31 or type(plain["blocks"]) is not int:
            raise ValueError("bound of the sample of rows")
        rows = rows_from_arrays(fields, plain["levels"], plain["blocks"], m)
        codes, copies, weight = codes_below(fields["codes"], k, m), amounts(fields["copies"], m), fields["weight"]
        group: Keys | None = fields.get("group")
        if "identity" not in fields:
            fields = fields | cls.hashes(rows, codes, classes, group)
        priority, identity, limit = (fields[name] for name in ("priority", "identity", "limit"))
        if any(v.dtype != np.uint64 for v in (priority, identity, limit, *([] if group is None else [group]))):
            raise ValueError("types of the sample of rows")
        if (
            (group is not None and group.shape != (m,))
            or priority.shape != (m,)
            or identity.shape != (m,)
            or limit.shape != (k,)
        ):
            raise ValueError("shapes of the sample of rows")
        if (copies < 1).any() or (amounts(weight, m) <= 0).any() or (priority > limit[codes]).any():
            raise ValueError("contents of the sample of rows")
        return cls(rows, codes, copies, weight, priority, identity, fields["limit"], bound, group)


def rows_per_weight(weight: Array, copies: Array) -> float:
    """Return n / Σ w for the effective number of rows n = (Σ w)² / Σ w²: 1 without weights, 1 / c if all are c.

    Each of the weights (m,) is that of as many rows as `copies` (m,) says. Kish (1965), Survey Sampling, section 11.7.
    """
    total, squares = float(weight.sum()), float((weight * (weight / copies)).sum())
    return total / squares if squares > 0 else 1.0


def _copied(block: Any, index: Codes) -> Any:
    """Return some of the rows of an encoded block, compact, in one copy."""
    some = take_rows(block, index)
    if not (isinstance(some, np.ndarray) and some.dtype == np.float64):
        return compact(some)
    some += 0.0  # no −0
    return some


def _some(part: Any, index: Codes) -> Any:
    """Return some of the rows of a compact block, compact."""
    some = take_rows(part, index)
    return some if isinstance(some, np.ndarray) else compact(some)


def _priority(rows: Sequence[object], salts: Keys) -> Keys:
    """Return the numbers (n,) that decide which rows stay, from those of their classes."""
    total = salts
    for number, block in enumerate(rows):
        total = total + priorities(block, 3 + number)
    return mixed(total)


def _hashed(rows: Sequence[object], codes: Codes, salts: Keys) -> Keys:
    """Return the priorities of all rows (n,)."""
    n, cells = len(codes), sum(map(_cells, rows))
    size = rows_within(8 * cells // max(n, 1), IN_CACHE if any(map(is_sparse, rows)) else IN_MEMORY, least=64)
    out = np.empty(n, dtype=np.uint64)

    def fill(part: slice) -> None:
        out[part] = _priority(take_blocks(rows, part), salts[codes[part]])

    parallel_each(fill, row_chunks(n, size), cost=3.0 * cells)
    return out


def _reserved(k: int) -> int:
    """Return how many rows of each of k classes stay, if it has them."""
    return max(2, min(25, RESERVED // max(k, 1)))


def _identity(rows: Sequence[object], salts: Keys, group: Keys | None = None) -> Keys:
    """Return the numbers (n,) by which rows are found again, from those of their classes, and of groups."""
    identity = salts
    for number, block in enumerate(rows):
        identity = mixed(identity + fingerprints(block) + np.uint64(number))
    return identity if group is None else np.where(group == 0, identity, mixed(identity ^ group))


def _matched(keys: Keys, known: Keys, copies: Array) -> Codes:
    """Return the number (n,) of the known row with each key, −1 for none; of several the first that has copies left."""
    order = np.argsort(known, kind="stable")
    first, last = (np.searchsorted(known[order], keys, side=side) for side in ("left", "right"))
    ends = np.cumsum(np.rint(copies[order]))
    at = np.minimum(np.searchsorted(ends, np.append(0.0, ends)[first] + cumcount(keys), side="right"), last - 1)
    return np.append(order, -1)[np.where(first < last, at, -1)]


def _cells(part: Any) -> int:
    """Return how many cells the rows of a block hold."""
    if isinstance(part, CodedColumns):
        return part.rows * len(part.codes)
    return int(part.nnz if is_sparse(part) else math.prod(part.shape))


def _limits(priority: Keys, codes: Codes, limit: Keys, bound: int) -> Keys:
    """Return the priority (k,) up to which the rows of each class stay; equal rows count once."""
    if len(priority) <= bound:
        return limit
    overall = smallest_key(priority, bound)
    if overall == ALL:
        return limit
    result: Keys = np.minimum(limit, overall)
    kept = np.flatnonzero(priority <= overall)
    first = np.unique(priority[kept], return_index=True)[1]
    held: Codes = np.bincount(codes[kept[first]], minlength=len(limit))
    reserved = _reserved(len(limit)) if bound else 0
    scarce = held < reserved
    result[scarce] = limit[scarce]
    rare = np.flatnonzero(scarce[codes])
    order = rare[np.lexsort((priority[rare], codes[rare]))]
    present, starts = np.unique(codes[order], return_index=True)
    for c, (start, stop) in zip(present, pairwise([*starts, len(order)]), strict=True):
        own = priority[order[start:stop]]
        result[c] = min(limit[c], max(overall, smallest_key(own, reserved)))
    return result


def smallest_key(keys: Keys, count: int) -> np.uint64 | int:
    """Return the `count`-th smallest of the distinct keys, or the largest number there is if they are fewer."""
    if count == 0:
        return np.uint64(0)
    near = keys
    if len(keys) > 4 * count:  # repeated keys are seldom many
        near = keys[keys <= np.partition(keys, 2 * count)[2 * count]]
    found = distinct(near)
    if len(found) < count and len(near) < len(keys):
        found = distinct(keys)
    return found[count - 1] if len(found) >= count else ALL
