"""Boosted trees on the rows kept.

Five times, trees are boosted on four fifths of the rows, and score the rows they have not seen; the member has as many
rounds as these lose least by, boosted on all rows (Friedman 2001, doi:10.1214/aos/1013203451). The rows kept are a
statistic, which merges and forgets, so what a rule makes of them does, too; p(class | x) is theirs, and p(x) remains
that of the joint model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple, Self

from ..._arrays import Array, Codes, NDArray, log_softmax, np, parallel_map
from ...forest import Boosting, FrozenForest, Trees, TreeScores, canonical_columns
from ...forest.boosting import BEYOND
from ...notes import Kind, Note
from ...stats._checks import Stored, amounts, floats, grouped
from ...stats.statistic import Fields
from ..folds import dealt
from ..judge import HoldoutScorer
from ..member import Begun, Candidate, Chosen, Setting, TrainingStats
from ..sample import Sample, SomeRows
from ..table_rows import Hidden
from .forest import TreeMember

FOLDS = 5
RATE = 0.1  # of learning
ROUNDS = (50, 100, 200, 300)  # after which it is looked at whether more are worth it
LOOK, LOOK_RATE = 20, 0.2  # rounds of a higher rate that are looked at before those
LOOK_ROWS = 8000  # that such trees are boosted on, at most
HOPE = 0.25  # of what is asked of trees: where a look promises less, no more are boosted
GAIN = 0.002  # of the best member's loss: trees that will not take away as much beside it are left out
MOST_GAIN = 0.01  # that is asked of much work
MUCH_WORK = 6e7  # cells added up, from which on more is asked of trees
MOST_WORK = 5e9  # cells added up: beyond, these trees are left out, on every machine alike
MOST_ROWS = 20_000.0
PATIENCE = 0.2  # of the rounds that must have brought nothing; other folds take as many more than the first
LEAST_LOSS = 1e-6  # nats, of which nothing is to be gained
MOST = 1e100  # of a value: sums of values stay numbers
SMALL = 256  # whole numbers below which are written in a byte


@dataclass(frozen=True)
class BoostedMember(TreeMember):
    """The sum of boosted trees, less the log share of each class."""

    kinds: ClassVar[tuple[str, ...]] = ("boosted trees",)
    needs_rows: ClassVar[bool] = True
    generative: ClassVar[bool] = False
    left_out_error: ClassVar[float] = np.inf  # folds, not single rows, are left out
    asks_trees: ClassVar[bool] = True
    asks_best: ClassVar[bool] = True
    folds_rows: ClassVar[bool] = True
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"rounds": int}

    frozen: FrozenForest
    trees: TreeScores
    rounds: int
    grown: TreeScores  # the same trees for the classes that are present often enough
    folds: Folds
    name: str = "boosted trees"

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield the trees boosted by folds; none where the rows are too few for a forest, or that is too much work."""
        return cls.begin(known, sample)(judge)

    @classmethod
    def begin(cls, known: TrainingStats, sample: Sample) -> Begun:
        """Return what yields them to a judge, trees of the first fold looked at already."""
        if known.columns.forest is None or _work(known) > MOST_WORK:
            return lambda judge: iter(())
        first = _First.of(sample, known.k)
        return lambda judge: iter(()) if first is None else cls._candidates(known, sample, first, judge)

    @classmethod
    def _candidates(
        cls, known: TrainingStats, sample: Sample, first: _First, judge: HoldoutScorer
    ) -> Iterator[Candidate]:
        asked = min(MOST_GAIN, GAIN * max(1.0, _work(known) / MUCH_WORK))
        boosted = _boosted(first, judge, asked)
        if boosted is None:
            return
        own = cls._of(known, sample, *boosted)
        yield Candidate((own,), own.folds.left_out(sample), judge, again=own.folds.scores)

    @classmethod
    def _of(
        cls, known: TrainingStats, sample: Sample, grown: TreeScores, without: Sequence[TreeScores], rounds: int
    ) -> Self:
        """Return the member of trees grown on all rows, and of those grown without each fold.

        Classes of fewer rows than folds have a score that no cell changes, the log of their share.
        """
        assert known.columns.forest is not None
        k, present = known.k, _present(sample, known.k)
        base = -np.log((known.weight + 0.5) / (known.weight + 0.5).sum())
        values, begin = np.zeros((len(grown.values), k)), grown.trees.leaf_tree == 0
        values[:, present] = grown.values
        rare, of_rare = np.setdiff1d(np.arange(k), present), np.zeros(0)
        if len(rare):
            share = np.bincount(sample.codes, weights=sample.weight, minlength=k)
            level = grown.values[begin].mean() - np.log(share[present]).mean()
            values[np.ix_(begin, rare)] = of_rare = np.log(np.maximum(share[rare], 1e-3)) + level
        place = dealt(sample, FOLDS)
        folds = Folds(tuple(without), place, _unseen(sample, place), present, rare, of_rare, base)
        return cls(known.columns.forest, replace(grown, values=values, base=base), rounds, grown, folds)

    @classmethod
    def chosen(
        cls, kind: str, detail: str, setting: Setting, known: TrainingStats, sample: Sample, kept: Fields
    ) -> Chosen:
        frozen, p = known.columns.forest, len(_present(sample, known.k))
        if frozen is None or p < 2:
            raise ValueError("trees of a model without any")
        parts = grouped(kept, "")
        every = [read_trees(parts[str(number)], p, frozen.cells.sizes) for number in range(1 + FOLDS)]
        own = cls._of(known, sample, every[0], every[1:], int(setting["rounds"]))
        return Chosen(own, partial(own.folds.left_out, sample), own.folds.scores)

    def kept(self) -> Fields:
        """Return the trees: of all rows first, then without each fold."""
        sizes, found = self.frozen.cells.sizes, Fields()
        for number, own in enumerate((self.grown, *self.folds.trees)):
            written = written_trees(own, sizes, cover=not number)
            found |= {f"{number}_{name}": values for name, values in written.items()}
        return found

    @classmethod
    def allows(cls, setting: Setting) -> bool:
        """Whether there is a round, and no more than are tried."""
        return 1 <= setting["rounds"] <= ROUNDS[-1]

    @classmethod
    def spared(cls, known: TrainingStats) -> tuple[Note, ...]:
        if known.columns.forest is None or _work(known) <= MOST_WORK:
            return ()
        what = "boosted trees are left out"
        why = f"{known.columns.d:,} columns and {known.k:,} classes would take too long"
        return (Note(what, why, kind=Kind.SPARED),)

    @property
    def setting(self) -> dict[str, float]:
        """How often trees were added."""
        return {"rounds": self.rounds}

    def left_out(self, sample: Sample) -> Array:
        """Return scores of rows the trees were not grown on, as only those that are kept are."""
        return self.scores(sample.rows)


def _unseen(sample: Sample, place: Codes) -> Unseen:
    """Return which levels of rows are as if they had never been seen without each fold, and with all."""
    return tuple(sample.unseen_among(place != v) for v in range(FOLDS + 1))


def _work(known: TrainingStats) -> float:
    """Return how many cells are added up for fifty rounds of all folds, of at most as many rows as are kept."""
    return (
        min(float(known.weight.sum()), MOST_ROWS)
        * known.columns.d
        * (1 if known.k == 2 else known.k)
        * ROUNDS[0]
        * FOLDS
    )


def _present(sample: Sample, k: int) -> Codes:
    """Return the numbers of the classes that have as many rows as there are folds."""
    return np.flatnonzero(np.bincount(sample.codes, minlength=k) >= FOLDS)


Unseen = tuple[NDArray[np.bool_] | None, ...]


class _Rows(NamedTuple):
    """Rows of a sample as boosting takes them.

    `columns` are its columns in an order that only contents decide, `codes` numbers among the classes `present` often
    enough, −1 for others, `place` the folds, `order` the rows of these classes as contents order them, and `unseen` the
    levels that are as if they had never been seen without each fold.
    """

    sample: Sample
    columns: Codes
    codes: Codes
    weight: Array
    place: Codes
    order: Codes
    present: Codes
    unseen: Unseen

    @property
    def k(self) -> int:
        """How many classes are present."""
        return len(self.present)

    @classmethod
    def of(cls, sample: Sample, present: Codes, k: int) -> _Rows:
        """Return the rows of a sample, of whose classes (k) some are `present` often enough."""
        reading = sample.rows.forest
        number = np.full(k, -1, dtype=np.int64)
        number[present] = np.arange(len(present))
        codes, columns = number[sample.codes], canonical_columns(reading)
        order = np.lexsort((sample.codes, reading.contents))
        place, order = dealt(sample, FOLDS), order[codes[order] >= 0]
        unseen = _unseen(sample, place)
        return cls(sample, columns, codes, sample.weight, place, order, present, unseen)

    def boosting(self, fold: int | None, inside: Codes, along: Codes, rate: float) -> Boosting:
        """Return trees that are boosted on some of the rows without a fold, and score these and others."""
        cells = self.sample.cells(None, self.unseen[FOLDS if fold is None else fold])[:, self.columns]
        return Boosting(cells, self.codes, self.weight, self.k, inside, along, rate)

    def grown(self, boosting: Boosting, rounds: int) -> TreeScores:
        """Return the trees of some rounds, which ask the columns of the table."""
        found = boosting.grown(rounds)
        column = np.where(found.trees.column < 0, -1, self.columns[found.trees.column])
        return replace(found, trees=replace(found.trees, column=column))


@dataclass(frozen=True)
class _First:
    """The rows as boosting takes them, and a look at trees of the first fold: few rounds of a high rate."""

    rows: _Rows
    look: _Growing

    @classmethod
    def of(cls, sample: Sample, k: int) -> _First | None:
        """Return those of a sample; None where fewer than two of the classes have as many rows as there are folds."""
        present = _present(sample, k)
        if len(present) < 2:
            return None
        rows = _Rows.of(sample, present, k)
        look = _Growing(rows, 0, LOOK_RATE, LOOK_ROWS)
        look.grow(LOOK)
        return cls(rows, look)

    def fold(self, judge: HoldoutScorer, asked: float) -> _Growing | None:
        """Return the first fold's trees; None where they gain less than is `asked`, or a look promises far less.

        A look at trees that are worth it told of more than a third of what they gained, on 41 tables.
        """
        if self.look.gain(judge) < HOPE * asked:
            return None
        fold = _Growing(self.rows, 0)
        return fold if fold.grow_on(judge, asked) else None


def _boosted(first: _First, judge: HoldoutScorer, asked: float) -> tuple[TreeScores, list[TreeScores], int] | None:
    """Return trees grown on all rows, those grown without each fold, and after how many rounds.

    None where the trees of the first fold gain less than is `asked` beside the best member before, which the `judge`
    knows.
    """
    rows = first.rows
    fold = first.fold(judge, asked)
    if fold is None:
        return None
    rounds = max(1, round((1.0 + PATIENCE) * (int(np.argmin(fold.losses)) + 1)))
    *others, every = parallel_map(lambda left: _Growing(rows, left).done(rounds), [*range(1, FOLDS), None])
    folds = [fold, *others]
    most = min(len(own.losses) for own in folds)
    best = int(np.argmin(np.sum([own.losses[:most] for own in folds], axis=0))) + 1
    return rows.grown(every.boosting, best), [rows.grown(own.boosting, best) for own in folds], best


@dataclass(frozen=True)
class Folds:
    """Trees grown without each fold, for the classes that are `present` often enough; `place` (n,) is the fold of rows.

    All other classes, the `rare`, have scores `of_rare`; `base` (k,) is less the log share of each class.
    """

    trees: tuple[TreeScores, ...]
    place: Codes
    unseen: Unseen
    present: Codes
    rare: Codes
    of_rare: Array
    base: Array

    def left_out(self, sample: Sample) -> Array:
        """Return scores (n, k) of the rows, each by the trees that were grown without its fold."""
        return self.scores(SomeRows(sample, np.arange(len(sample))), None)

    def scores(self, rows: SomeRows, hidden: Hidden | None) -> Array:
        """Return scores (n, k) of some rows, some columns hidden."""
        place, columns = self.place[rows.index], rows.sample.rows.forest.columns
        cells = rows.sample.cells(hidden, None)
        out = np.empty((len(place), len(self.base)))
        out[:, self.rare] = self.of_rare
        for v, own in enumerate(self.trees):
            mine, unseen = np.flatnonzero(place == v), self.unseen[v]
            if unseen is not None:
                unseen = unseen[rows.index[mine]] & (cells[mine, -unseen.shape[1] :] >= 0)  # what is hidden stays so
            out[np.ix_(mine, self.present)] = own.scores(columns.with_unseen(cells[mine], unseen))
        return out + self.base


class _Growing:
    """Trees boosted on all rows, or all folds but one, so far, and what the rows of that fold lose after each round.

    They are boosted at a `rate` of learning, on so many rows at `most`.
    """

    def __init__(self, rows: _Rows, fold: int | None, rate: float = RATE, most: float = np.inf) -> None:
        self.rows, self.losses = rows, list[float]()
        rest = rows.order if fold is None else rows.order[rows.place[rows.order] != fold]
        self.out = np.flatnonzero(rows.place == (FOLDS if fold is None else fold))
        self._judges = self.out[rows.codes[self.out] >= 0]
        self.boosting = rows.boosting(fold, rest[:: max(1, int(np.ceil(len(rest) / most)))], self._judges, rate)
        self._least = np.zeros((len(self._judges), rows.k))  # the scores after the round that loses least

    def grow(self, rounds: int) -> None:
        """Boost up to so many rounds."""
        own, weight = self.rows.codes[self._judges], self.rows.weight[self._judges]
        while self.boosting.rounds < rounds:
            self.boosting.grow()
            scores = self.boosting.along
            each = -log_softmax(scores)[np.arange(len(own)), own]
            self.losses.append(float(weight @ each) / max(float(weight.sum()), 1e-300))
            self._least = scores if self.losses[-1] == min(self.losses) else self._least

    def grow_on(self, judge: HoldoutScorer, asked: float) -> bool:
        """Boost until more rounds bring nothing.

        Return whether they take away as much as is `asked` of what the best member of a `judge` of all rows loses.
        """
        for rounds in ROUNDS:
            self.grow(rounds)
            if self.gain(judge) < asked:
                return False
            if int(np.argmin(self.losses)) + 1 < (1.0 - PATIENCE) * rounds:
                break
        return True

    def gain(self, judge: HoldoutScorer) -> float:
        """Return which share of what the best member of a `judge` of all rows loses the best round takes away."""
        return _gain(judge[self._judges], self.rows, self._least)

    def done(self, rounds: int) -> Self:
        """Return these trees, after so many rounds at least."""
        self.grow(rounds)
        return self


def _gain(judge: HoldoutScorer, rows: _Rows, scores: Array) -> float:
    """Return which share of what the best member loses goes away by as much of other log posteriors (n, k) as is best.

    The `judge` is of the same rows; where there is no member before, all goes away.
    """
    if judge.best is None:
        return 1.0
    prior = judge.offset[:, rows.present]
    beside = replace(
        judge, codes=np.searchsorted(rows.present, judge.codes), offset=prior + judge.best[:, rows.present]
    )
    alone = beside.loss(np.zeros_like(prior))
    return (alone - beside.temperature(scores - prior)[0]) / max(alone, LEAST_LOSS)


def written_trees(scores: TreeScores, sizes: tuple[int, ...], *, cover: bool) -> Fields:
    """Return the trees of `forest.boosting`, of columns with so many cells, as arrays; ValueError for other trees.

    The children of a node follow each other, so that of inner nodes stand what they ask and how far the first is away.
    Of two classes a leaf adds to one what it takes from the other; of more each has a tree of its own in turn. Leaves
    of the first tree hold the scores that all begin with. The `cover` is for who explains by the trees.
    """
    trees, values, p = scores.trees, scores.values, scores.values.shape[1]
    inner, first = np.flatnonzero(trees.column >= 0), int((trees.leaf_tree == 0).sum())
    added = values[np.arange(first, len(values)), _owner(trees, p)[first:]]
    told: Fields = {"begin": values[:first], "added": added} | ({"cover": scores.cover} if cover else {})
    if not (
        np.array_equal(trees.right[inner], trees.left[inner] + 1)
        and np.array_equal(_values(trees, values[:first], added), values)
    ):
        raise ValueError("trees that were not boosted")
    last = np.asarray(sizes, dtype=np.int64)[trees.column[inner]] - 1
    return told | {
        "column": _small(trees.column + 1),
        "threshold": _small(np.minimum(trees.threshold[inner], last) + 1),
        "away": _small(trees.left[inner] - inner),
        "missing": np.packbits(trees.missing_right[inner]),
    }


def read_trees(fields: Mapping[str, Stored], p: int, sizes: tuple[int, ...]) -> TreeScores:
    """Return what was written of trees for `p` classes; ValueError if it cannot be that."""
    column = _whole(fields["column"]) - 1
    inner, m = np.flatnonzero(column >= 0), len(column)
    threshold, away = (_whole(fields[name], len(inner)) for name in ("threshold", "away"))
    if fields["missing"].dtype != np.uint8 or fields["missing"].shape != (-(-len(inner) // 8),):
        raise ValueError("where missing cells go")
    left, asked, gone = np.full(m, -1), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.bool_)
    left[inner], asked[inner] = inner + away, threshold - 1
    gone[inner] = np.unpackbits(fields["missing"], count=len(inner)).astype(np.bool_)
    right = np.where(left < 0, -1, left + 1)
    if right.max(initial=-1) >= m:
        raise ValueError("trees")
    above = np.ones(m, dtype=np.bool_)
    above[left[inner]] = above[right[inner]] = False
    roots = np.flatnonzero(above)
    parts = {"column": column, "threshold": asked, "left": left, "right": right, "roots": roots}
    trees = Trees.from_arrays({**parts, "missing_right": gone}, {"share": 0.0}, sizes)
    beyond = np.flatnonzero(np.append(sizes, 0)[column] - 1 == asked)
    asked[beyond[column[beyond] >= 0]] = BEYOND
    first, leaves = int((trees.leaf_tree == 0).sum()), m - len(inner)
    begin, added = floats(fields["begin"], first, p), floats(fields["added"], leaves - first)
    cover = amounts(fields["cover"], leaves) if "cover" in fields else np.ones(leaves)
    if not (len(roots) and (np.abs(begin) < MOST).all() and (np.abs(added) < MOST).all() and (cover > 0).all()):
        raise ValueError("what leaves add")
    trees = replace(trees, threshold=asked)
    return TreeScores(trees, _values(trees, begin, added), np.zeros(p), False, cover)


def _values(trees: Trees, begin: Array, added: Array) -> Array:
    """Return what leaves add to each class (L, p)."""
    first, p = begin.shape
    values = np.zeros((first + len(added), p))
    values[:first] = begin
    values[np.arange(first, len(values)), _owner(trees, p)[first:]] = added
    if p == 2:
        values[first:, 0] = -added
    return values


def _owner(trees: Trees, p: int) -> Codes:
    """Return the class (L,) that each leaf adds to."""
    return np.ones(len(trees.leaf_tree), dtype=np.int64) if p == 2 else trees.leaf_tree % p


def _small(values: Codes) -> Stored:
    """Return whole numbers from 0 on in as few bytes as they take."""
    return values.astype(np.uint8 if values.max(initial=0) < SMALL else np.int32)


def _whole(values: Stored, *shape: int) -> Codes:
    """Return whole numbers of a file, from 0 on."""
    right = values.dtype in (np.uint8, np.int32) and values.ndim == 1 and (not shape or values.shape == shape)
    if not right or values.min(initial=0) < 0:
        raise ValueError("whole numbers of trees")
    return values.astype(np.int64)
