"""Statistics by class, and the batches of rows that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeVar

from .._arrays import Array, Codes, Flags, np, places_of
from ..errors import MergeError, NotLearnedError, quoted
from ..schema import Level, sort_levels
from ._downdate import DUST, FAINT, subtract_weights
from .counts import CodedColumns
from .reservoir import ALL, Reservoir
from .rows import Keys, take_blocks, without_lost
from .scatter import gather, spread
from .statistic import Statistic, as_statistic


class Batch(NamedTuple):
    """Rows as encoded, one part per block; class numbers (n,), −1 without a label; weights, None for ones.

    `group` (n,) are hashes of the groups that rows are of, 0 of none.
    """

    classes: tuple[Level, ...]
    codes: Codes
    rows: Sequence[Any]
    weight: Array | None
    group: Keys | None = None

    @property
    def is_labelled(self) -> bool:
        """Whether every row has a label."""
        return not len(self.codes) or int(self.codes.min()) >= 0

    @property
    def heaviest(self) -> float:
        """The largest weight of a row."""
        return 1.0 if self.weight is None else float(self.weight.max(initial=0.0))

    @property
    def class_weight(self) -> Array:
        """The weight of each class (k,)."""
        return np.bincount(self.codes, weights=self.weight, minlength=len(self.classes)).astype(np.float64)

    def take(self, index: Codes) -> Batch:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        group = None if self.group is None else self.group[index]
        return Batch(self.classes, self.codes[index], take_blocks(self.rows, index), weight, group)

    def split(self) -> tuple[Batch, Batch]:
        """Return the rows with a label and those without."""
        return self.take(np.flatnonzero(self.codes >= 0)), self.take(np.flatnonzero(self.codes < 0))

    def without_empty_rows(self, declared: Callable[[], Sequence[Sequence[bool]]]) -> Batch:
        """Return the rows of positive weight, their classes, and their levels.

        `declared` says of each category of a block of categories whether its levels were stated beside the rows.
        """
        if self.weight is None or self.weight.all():
            return self
        kept = self.take(np.flatnonzero(self.weight)).of_present_classes()
        trios = zip(self.rows, kept.rows, declared(), strict=True)
        rows = [without_lost(a, b, own) if isinstance(b, CodedColumns) else b for a, b, own in trios]
        return kept._replace(rows=rows)

    def of_present_classes(self) -> Batch:
        """Return the same rows with the classes that occur."""
        present, place = np.unique(self.codes[self.codes >= 0], return_inverse=True)
        codes = self.codes.copy()
        codes[codes >= 0] = place
        return self._replace(classes=tuple(self.classes[int(c)] for c in present), codes=codes)


class Joined(NamedTuple):
    """Statistics of all rows, the EM steps by which those without a label joined, and the objective by step, in nats.

    `finished`: EM converged.
    """

    statistics: ByClass
    steps: int
    finished: bool
    trace: tuple[float, ...] = ()


S = TypeVar("S", bound=Statistic)


def _check_covered(stats: Statistic, weight: Array, touched: Flags) -> None:
    """Raise NotLearnedError where a column has more observed weight left than the rows of its class."""
    observed = stats.column_weight()
    over = (observed > weight[:, None] * (1.0 + DUST)) & touched[:, None]
    if over.any():
        code = int(np.argwhere(over)[0][0])
        raise NotLearnedError("they miss cells that were not missing", code, np.flatnonzero(over[code]).tolist())


@dataclass(frozen=True, slots=True)
class ByClass:
    """Everything a generative model needs to know of the rows it has seen.

    `classes` are the labels in a fixed order, `weight` (k,) the row weights of each, `rows` the number of rows read,
    `blocks` one statistic per block of columns, all with the classes on the leading axis. `sample` holds some of the
    rows themselves, for what needs rows. `heaviest` is the largest weight of a single row, so that a weight W is that
    of at least W / heaviest rows; None where it is not known. `unlabelled` holds rows without a label, of one class
    without a name, where a model takes them as rows; nothing else here counts them.
    """

    classes: tuple[Level, ...]
    weight: Array
    blocks: tuple[Statistic, ...]
    rows: int = 0
    sample: Reservoir | None = None
    heaviest: float | None = None
    unlabelled: Reservoir | None = None

    def __repr__(self) -> str:
        """Return one line: rows, classes and kinds of statistics; the numbers are in its attributes."""
        kinds = ", ".join(type(block).__name__ for block in self.blocks)
        return f"ByClass({self.rows:,} rows of {len(self.classes)} classes: {quoted(self.classes)}; blocks: {kinds})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(map(as_statistic, self.blocks)))

    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both; a class may be new to either. MergeError if the blocks differ."""
        if len(self.blocks) != len(other.blocks):
            raise MergeError(
                f"One side has {len(self.blocks)} blocks of columns and the other {len(other.blocks)}. "
                "Next: fit both with the same columns and families."
            )
        if len({isinstance(label, str) for label in (*self.classes, *other.classes)}) > 1:
            raise MergeError(
                f"The labels are {quoted(self.classes)} on one side and {quoted(other.classes)} on the other: text and "
                "numbers. Next: fit both with labels of one kind."
            )
        classes = self.classes if self.classes == other.classes else sort_levels([*self.classes, *other.classes])
        a, b = self.with_classes(classes), other.with_classes(classes)
        blocks = tuple(x.merge(y) for x, y in zip(a.blocks, b.blocks, strict=True))
        sample = None if a.sample is None or b.sample is None else a.sample.merge(b.sample)
        known = a.heaviest is not None and b.heaviest is not None
        heaviest = max(a.heaviest, b.heaviest) if known else None  # type: ignore[type-var]
        unlabelled = a.unlabelled or b.unlabelled
        if a.unlabelled is not None and b.unlabelled is not None:
            unlabelled = a.unlabelled.merge(b.unlabelled)
        return type(self)(classes, a.weight + b.weight, blocks, a.rows + b.rows, sample, heaviest, unlabelled)

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows left without those of `other`; a class left without a row is gone.

        The sample of `other` must hold all its rows. NotLearnedError names the class whose rows cannot have been among
        these.
        """
        strange = [label for label in other.classes if label not in self.classes]
        if strange:
            raise NotLearnedError("there is no such class").placed(strange[0], 0)
        b = other.with_classes(self.classes)
        blocks: list[Statistic] = []
        try:
            weight = subtract_weights(self.weight, b.weight, "weight")
            for own, part in zip(self.blocks, b.blocks, strict=True):
                left = own.subtract(part)
                _check_covered(left, weight, b.weight > 0)
                blocks.append(left)
            sample = None if self.sample is None or b.sample is None else self.sample.subtract(b.sample)
            unlabelled = self._unlabelled_without(b)
        except NotLearnedError as error:
            raise error.placed(None if error.code is None else self.classes[error.code], len(blocks)) from None
        rows = max(self.rows - b.rows, 0)
        rest = type(self)(self.classes, weight, tuple(blocks), rows, sample, self.heaviest, unlabelled)
        gone = {label for label, w, own in zip(self.classes, weight, b.weight, strict=True) if w == 0 < own}
        return rest.regroup({label: None if label in gone else label for label in self.classes}) if gone else rest

    def _unlabelled_without(self, other: Self) -> Reservoir | None:
        """Return the rows without a label that are left without those of another, or refuse."""
        if other.unlabelled is None:
            return self.unlabelled
        if self.unlabelled is None:
            raise NotLearnedError("no row without a label was learned")
        try:
            left = self.unlabelled.subtract(other.unlabelled)
        except NotLearnedError:
            raise NotLearnedError("one of those without a label is not among the rows learned") from None
        return left if len(left.codes) else None

    def scale(self, factor: float) -> Self:
        """Return the statistics of the same rows with their weights multiplied by a factor above 0.

        A class that is left with less weight than `FAINT` stays as one without rows, while another has more.
        """
        own = self._without(self.weight * factor < FAINT)
        blocks = tuple(block.scale(factor) for block in own.blocks)
        sample = None if own.sample is None else own.sample.scale(factor)
        heaviest = None if own.heaviest is None else own.heaviest * factor
        unlabelled = None if own.unlabelled is None else own.unlabelled.scale(factor)
        weight = own.weight * factor
        return replace(own, weight=weight, blocks=blocks, sample=sample, heaviest=heaviest, unlabelled=unlabelled)

    def _without(self, gone: Flags) -> Self:
        """Return the statistics with the rows of some classes (k,) taken out; as they are where that cannot be."""
        if not (gone & (self.weight > 0)).any() or gone.all():
            return self
        try:
            names = {label: None if out else label for label, out in zip(self.classes, gone, strict=True)}
            return replace(self.regroup(names).with_classes(self.classes), rows=self.rows)
        except MergeError:  # what a class adds to a shared scatter is not kept: next to nothing
            return self

    def regroup(self, names: Mapping[Level, Level | None]) -> Self:
        """Return the statistics with each class under its new name, and left out where that is None.

        Classes of one name become one class. `rows` is then the share of the remaining weight, rounded.
        """
        classes = sort_levels([name for name in names.values() if name is not None])
        index = places_of((names[label] for label in self.classes), classes)
        weight = gather(self.weight, index, len(classes))
        blocks = tuple(block.regroup(index, len(classes)) for block in self.blocks)
        rows = round(self.rows * float(weight.sum()) / self.total) if self.total > 0 else 0
        sample = None if self.sample is None else self.sample.regroup(index, classes)
        return type(self)(classes, weight, blocks, rows, sample, self.heaviest, self.unlabelled)

    def with_classes(self, classes: Sequence[Level]) -> Self:
        """Return the same statistics over a longer list of classes, which must hold all of the present ones."""
        if tuple(classes) == self.classes:
            return self
        index = places_of(self.classes, classes).tolist()
        blocks = tuple(block.place(index, len(classes)) for block in self.blocks)
        sample = None if self.sample is None else self.sample.place(index, len(classes))
        weight = spread(self.weight, index, len(classes))
        return replace(self, classes=tuple(classes), weight=weight, blocks=blocks, sample=sample)

    def block(self, number: int, kind: type[S]) -> S:
        """Return the statistic of a block, which is known to be of this kind."""
        stats = self.blocks[number]
        assert isinstance(stats, kind)
        return stats

    @property
    def max_row_weight(self) -> float | None:
        """The largest weight of a single row, or of the rows kept where these are all there are; None if not known."""
        if self.heaviest is not None or self.sample is None or (self.sample.limit != ALL).any():
            return self.heaviest
        return float(self.sample.row_weight().max(initial=0.0)) or None

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(np.sum(self.weight))
