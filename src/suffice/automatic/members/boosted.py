"""Boosted trees on the rows kept.

Five times, trees are boosted on four fifths of the rows, and score the rows they have not seen; the member has as many
rounds as these lose least by, boosted on all rows (Friedman 2001, doi:10.1214/aos/1013203451). The rows kept are a
statistic, which merges and forgets, so what a rule makes of them does, too; p(class | x) is theirs, and p(x) remains
that of the joint model.

Where rows are many, `Sample.every` has more than those that judge, and trees learn from all of them. From 50,000 rows
on, without groups, those that judge are held out once: they decide the rounds, and trees grown without them score them.
Where they are more than a twentieth, trees of as many rounds are boosted on all rows. A look decides on the leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import ClassVar, NamedTuple, Self

from ..._arrays import Array, Codes, Flags, log_softmax, np, parallel_map, workers
from ...forest import Boosting, FrozenForest, MeanBoosting, TreeScores, TreeSettings, canonical_columns
from ...forest.boosting import read_trees, written_trees
from ...notes import Kind, Note
from ...progress import tell
from ...stats.rows import numbered
from ...stats.statistic import Fields, grouped
from ..columns import FrozenColumns
from ..folds import by_fold, dealt
from ..judge import HoldoutScorer
from ..limits import MANY_ROWS, Clock, rows_boosted
from ..member import Begun, Candidate, Chosen, Setting, TrainingStats
from ..sample import Sample, SomeRows
from ..table_rows import Hidden
from .forest import DatedTrees

NAME = "boosted trees"
FOLDS = 5
ROUNDS = (80, 160, 240)  # after which it is looked at whether more are worth it
FEW_ROWS = 1200  # that are kept, below which trees are boosted slowly, without a look
_DRAWN = TreeSettings(rows=5, l2=3.0, row_share=0.8, column_share=0.7, drawn=True)
_SOUGHT = TreeSettings(l2=1.0, row_share=0.8, column_share=0.6)
SETTINGS = (replace(_DRAWN, rate=0.13), replace(_SOUGHT, rate=0.1, rows=10))
OF_FEW = (replace(_DRAWN, leaves=16, rate=0.085), replace(_SOUGHT, leaves=24, rate=0.068, rows=5))
FEW_ROUNDS, STEP, IDLE = 240, 20, 0.3  # most rounds, between two looks, and the share that must have brought nothing
FEW_TREES, FEW_CELLS = 37_500, 1.5e9  # trees, and cells that they add up: beyond, rounds are fewer, at a higher rate
MOST_RATE = 0.1
LOOK, LOOK_SETTINGS = 20, (TreeSettings(rate=0.2),)  # rounds of a higher rate that are looked at before those
LOOK_ROWS = 8000  # that such trees are boosted on, at most
OF_MANY = (
    TreeSettings(),
    TreeSettings(leaves=127, rate=0.05),
    TreeSettings(leaves=511, rate=0.05),
)  # looked at in turn
MOST_LOOKED, WORSE = 300_000, 0.005  # rows they are looked at on, and the share of the loss by which the next are worse
LONG_LOOK = 200  # rounds of such a look, at most
MOST_ROUNDS, WAIT = 1000, 20  # of many rows, and rounds that must have brought nothing
MUCH_OUT = 0.05  # of the rows: where more are held out, trees are boosted on all rows again
HOPE = 0.25  # of what is asked of trees: where a look promises less, no more are boosted
GAIN = 0.002  # of the best member's loss: trees that will not take away as much beside it are left out
MOST_GAIN = 0.01  # that is asked of much work
MUCH_WORK = 1e8  # cells added up, from which on more is asked of trees
MOST_WORK = 8e9  # cells added up: beyond, these trees are left out, on every machine alike
MOST_ROWS = 20_000.0
BETWEEN = 5  # rounds between two looks at the clock
PATIENCE = 0.2  # of the rounds that must have brought nothing; other folds take as many more than the first
LEAST_LOSS = 1e-6  # nats, of which nothing is to be gained
SECONDS_OF_MANY = 5.5  # of `Member.seconds`, on 4 tables of 50,000 to 200,000 rows
SECONDS_OF_FEW = 8.0  # of fewer than FEW_ROWS, on 9 tables of 60 to 1,150 rows, where it took .1 to 2.3 times as much
LOOKING = 0.25  # of the time left, at most, for looks at the leaves of trees of many rows


@dataclass(frozen=True)
class BoostedMember(DatedTrees):
    """The sum of boosted trees, less the log share of each class."""

    kinds: ClassVar[tuple[str, ...]] = (NAME,)
    needs_rows: ClassVar[bool] = True
    generative: ClassVar[bool] = False
    left_out_error: ClassVar[float] = np.inf  # folds, not single rows, are left out
    missing_tells: ClassVar[bool] = True
    asks_trees: ClassVar[bool] = True
    asks_best: ClassVar[bool] = True
    folds_rows: ClassVar[bool] = True
    seconds: ClassVar[float] = 2.0
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"rounds": int}

    frozen: FrozenForest
    asked: FrozenColumns
    trees: TreeScores
    rounds: int
    grown: TreeScores  # the same trees for the classes that are present often enough
    folds: Folds
    name: str = NAME

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield the trees boosted by folds; none where the rows are too few for a forest, or that is too much work."""
        return cls.begin(known, sample)(judge)

    @classmethod
    def begin(cls, known: TrainingStats, sample: Sample) -> Begun:
        """Return what yields them to a judge, trees of the first fold looked at already."""
        frozen = known.columns.forest
        if frozen is None or _work(known) > MOST_WORK:
            return lambda judge: iter(())
        if frozen.cells.rows < FEW_ROWS:
            return lambda judge: cls._of_few(known, sample, judge)
        first = _First.of(sample, known)
        return lambda judge: iter(()) if first is None else cls._candidates(known, sample, first, judge)

    @classmethod
    def expected(cls, known: TrainingStats, sample: Sample) -> float:
        rows = min(float(known.weight.sum()), rows_boosted(known.columns.d, known.k))
        seconds = SECONDS_OF_MANY if rows >= MANY_ROWS else cls.seconds if rows >= FEW_ROWS else SECONDS_OF_FEW
        return seconds * rows * known.columns.d * known.k / 1e6

    @classmethod
    def _candidates(
        cls, known: TrainingStats, sample: Sample, first: _First, judge: HoldoutScorer
    ) -> Iterator[Candidate]:
        asked = GAIN if sample.beside else min(MOST_GAIN, GAIN * max(1.0, _work(known) / MUCH_WORK))
        boosted = _boosted(first, judge, asked)
        if boosted is None:
            return
        own = cls._of(known, sample, *boosted)
        yield Candidate((own,), own.folds.left_out(sample), judge, again=own.folds.scores)

    @classmethod
    def _of_few(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        present = _present(sample, known.k)
        if len(present) < 2 or _few_rounds(sample, len(present)) < STEP:
            return
        rows = _Rows.of(sample, present, known.k, known.clock)
        folds, best = _folds_of_few(rows)
        every = _Growing(rows, None, _of_few(rows)).done(round(FOLDS / (FOLDS - 1) * best))  # of as many more rows
        whole = rows.grown(every.boosting, every.boosting.rounds)
        own = cls._of(known, sample, whole, [rows.grown(fold.boosting, best) for fold in folds], best)
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
        among = sample.every[1]
        place, count = _places(sample)
        unseen = tuple(None if own is None else own[among] for own in _unseen(sample.every[0], place, count))
        folds = Folds(tuple(without), place[among], unseen, present, rare, of_rare, base, not sample.beside)
        return cls(known.columns.forest, known.columns, replace(grown, values=values, base=base), rounds, grown, folds)

    @classmethod
    def chosen(
        cls, kind: str, detail: str, setting: Setting, known: TrainingStats, sample: Sample, kept: Fields
    ) -> Chosen:
        frozen, p = known.columns.forest, len(_present(sample, known.k))
        if frozen is None or p < 2:
            raise ValueError("trees of a model without any")
        parts = grouped(kept, "")
        every = [read_trees(parts[str(number)], p, known.columns.dated_sizes) for number in range(len(parts))]
        rounds, apart = int(setting["rounds"]), every[1:] or every
        if len(apart) != (_places(sample)[1] if sample.beside else 1):
            raise ValueError("trees of other folds")
        own = cls._of(known, sample, every[0], apart if sample.beside else (), rounds)

        @cache
        def folds() -> Folds:
            if sample.beside:
                return own.folds
            rows, few = _Rows.of(sample, _present(sample, known.k), known.k), frozen.cells.rows < FEW_ROWS
            grown = _folds_of_few(rows, rounds)[0] if few else _without_each(rows, [*range(FOLDS)], SETTINGS, rounds)
            return cls._of(known, sample, every[0], [rows.grown(fold.boosting, rounds) for fold in grown], rounds).folds

        return Chosen(own, lambda: folds().left_out(sample), lambda rows, hidden: folds().scores(rows, hidden))

    def kept(self) -> Fields:
        """Return the trees of all rows; then those of folds, but where rows make these anew."""
        sizes, found = self.asked.dated_sizes, Fields()
        without = () if self.folds.anew or self.folds.trees == (self.grown,) else self.folds.trees
        for number, own in enumerate((self.grown, *without)):
            written = written_trees(own, sizes, cover=not number)
            found |= {f"{number}_{name}": values for name, values in written.items()}
        return found

    @classmethod
    def allows(cls, setting: Setting) -> bool:
        """Whether there is a round, and no more than are tried."""
        return 1 <= setting["rounds"] <= MOST_ROUNDS

    @classmethod
    def spared(cls, known: TrainingStats) -> tuple[Note, ...]:
        if known.columns.forest is None or _work(known) <= MOST_WORK:
            return ()
        what = "boosted trees are left out"
        why = f"{known.columns.d:,} columns and {known.k:,} classes would take too long"
        return (Note(what, why, kind=Kind.SPARED),)

    def left_out(self, sample: Sample) -> Array:
        """Return scores of rows the trees were not grown on, as only those that are kept are."""
        return self.scores(sample.rows)


def _unseen(every: Sample, place: Codes, folds: int) -> Unseen:
    """Return which levels of rows are as if they had never been seen without each of so many folds, and with all."""
    return tuple(every.unseen_among(place != v) for v in range(folds + 1))


def _places(sample: Sample) -> tuple[Codes, int]:
    """Return the fold (n,) of every row trees learn from, −1 for one that is in none, and how many folds there are."""
    every, among = sample.every
    if every.place is not None or len(every) < MANY_ROWS:
        return dealt(every, FOLDS), FOLDS
    place = np.full(len(every), -1)
    place[among] = 0
    return place, 1


def _work(known: TrainingStats) -> float:
    """Return how many cells are added up for the first rounds of all folds, of at most as many rows as are kept."""
    cells = min(float(known.weight.sum()), MOST_ROWS) * known.columns.d
    return cells * (1 if known.k == 2 else known.k) * ROUNDS[0] * FOLDS


def _few_rounds(every: Sample, k: int) -> int:
    """Return how many rounds there may be of trees of few rows, which tell k classes apart."""
    trees = len(OF_FEW) * (FOLDS + 1) * (1 if k == 2 else k)
    return int(min(FEW_ROUNDS, FEW_TREES / trees, FEW_CELLS / (trees * max(every.rows.dated.cells.size, 1))))


def _of_few(rows: _Rows) -> tuple[TreeSettings, ...]:
    """Return the settings under which trees of few rows are boosted: fewer rounds at a higher rate."""
    faster = FEW_ROUNDS / _few_rounds(rows.sample, rows.k)
    return tuple(replace(own, rate=min(MOST_RATE, faster * own.rate)) for own in OF_FEW)


def _folds_of_few(rows: _Rows, rounds: int | None = None) -> tuple[list[_Growing], int]:
    """Return trees of few rows boosted without each fold, and after how many rounds the folds lose least.

    They are boosted for so many `rounds`, or until more bring nothing.
    """
    settings, most = _of_few(rows), _few_rounds(rows.sample, rows.k)
    folds, done, best = [_Growing(rows, fold, settings) for fold in range(FOLDS)], 0, 0
    clock = rows.clock.part(1.0 - 1.0 / FOLDS)  # the rest is for trees of all rows
    while done < (rounds or most) and (rounds or best >= (1.0 - IDLE) * done):
        if done and clock.stops(NAME):
            break
        done = rounds or min(done + STEP, most)
        folds = list(parallel_map(partial(_Growing.done, rounds=done), folds))
        best = int(np.argmin(np.sum([fold.losses for fold in folds], axis=0))) + 1
    return folds, best


def _without_each(rows: _Rows, folds: list[int | None], of: Sequence[TreeSettings], rounds: int) -> list[_Growing]:
    """Return trees of so many rounds without each fold, or of all rows."""
    return list(parallel_map(lambda fold: _Growing(rows, fold, of).done(rounds), folds))


def _present(sample: Sample, k: int) -> Codes:
    """Return the numbers of the classes that have as many rows as there are folds."""
    return np.flatnonzero(np.bincount(sample.every[0].codes, minlength=k) >= FOLDS)


Unseen = tuple[Flags | None, ...]


class _Rows(NamedTuple):
    """Rows of a sample as boosting takes them.

    `columns` are its columns in an order that only contents decide, `codes` numbers among the classes `present` often
    enough, −1 for others, `place` the folds, `order` the rows of these classes as contents order them, and `unseen` the
    levels that are as if they had never been seen without each fold. `number` (n,) is that among the rows that judge,
    −1 for others.
    """

    sample: Sample
    number: Codes
    folds: int
    columns: Codes
    codes: Codes
    weight: Array
    place: Codes
    order: Codes
    present: Codes
    unseen: Unseen
    clock: Clock

    @property
    def k(self) -> int:
        """How many classes are present."""
        return len(self.present)

    @property
    def anew(self) -> bool:
        """Whether trees are boosted on all rows again, where those that judge are held out once."""
        return bool((self.place == 0).mean() > MUCH_OUT)

    @classmethod
    def of(cls, sample: Sample, present: Codes, k: int, clock: Clock | None = None) -> _Rows:
        """Return all rows that trees learn from, of whose classes (k) some are `present` often enough."""
        (every, among), (place, folds) = sample.every, _places(sample)
        reading, number = every.rows.dated, numbered(among, len(every))
        codes, columns = numbered(present, k)[every.codes], canonical_columns(reading)
        order = np.lexsort((every.codes, reading.contents))
        order, unseen = order[codes[order] >= 0], _unseen(every, place, folds)
        return cls(every, number, folds, columns, codes, every.weight, place, order, present, unseen, clock or Clock())

    def boosting(self, fold: int | None, inside: Codes, along: Codes, settings: Sequence[TreeSettings]) -> Boosting:
        """Return trees that are boosted on some of the rows without a fold, and score these and others: their mean."""
        cells = self.sample.cells(None, self.unseen[self.folds if fold is None else fold], dated=True)[:, self.columns]
        keys = self.sample.rows.dated.contents
        of = partial(Boosting, cells, self.codes, self.weight, self.k, inside, along, keys=keys)
        return MeanBoosting([of(settings=own) for own in settings])

    def grown(self, boosting: Boosting, rounds: int) -> TreeScores:
        """Return the trees of some rounds, which ask the columns of the table."""
        found = boosting.grown(rounds)
        column = np.where(found.trees.column < 0, -1, self.columns[found.trees.column])
        return replace(found, trees=replace(found.trees, column=column))


@dataclass(frozen=True)
class _First:
    """The rows as boosting takes them, and a look at trees of the first fold: few rounds of a high rate.

    Trees are boosted by these `settings`, of many rows by those of the best of several looks.
    """

    rows: _Rows
    look: _Growing
    settings: Sequence[TreeSettings] = SETTINGS

    @classmethod
    def of(cls, sample: Sample, known: TrainingStats) -> _First | None:
        """Return those of a sample; None where fewer than two of the classes have as many rows as there are folds."""
        present = _present(sample, known.k)
        if len(present) < 2:
            return None
        rows = _Rows.of(sample, present, known.k, known.clock)
        if sample.beside:
            return cls(rows, *_looked(rows))
        look = _Growing(rows, 0, LOOK_SETTINGS, LOOK_ROWS)
        look.grow(LOOK)
        return cls(rows, look)

    def fold(self, judge: HoldoutScorer, asked: float) -> _Growing | None:
        """Return the first fold's trees; None where they gain less than is `asked`, or a look promises far less.

        A look at trees that are worth it told of more than a third of what they gained, on 41 tables.
        """
        if self.look.gain(judge) < HOPE * asked:
            return None
        fold = _Growing(self.rows, 0, self.settings)
        return fold if fold.grow_on(judge, asked) else None


def _looked(rows: _Rows) -> tuple[_Growing, Sequence[TreeSettings]]:
    """Return the best look at trees of more and more leaves, until they are worse, and the settings it is of."""
    best, chosen, fast, clock = None, OF_MANY[:1], LOOK_SETTINGS[0].rate, rows.clock.part(LOOKING)
    for settings in OF_MANY:
        tell(f"looking at trees of {settings.leaves} leaves")
        look, left = _Growing(rows, 0, [replace(settings, rate=fast)], MOST_LOOKED), rows.clock.left
        look.grow_well(clock, LONG_LOOK)
        least = fast * (left - rows.clock.left) / max(rows.clock.left, 1e-3)  # rate that the time left suffices for
        if best is not None and min(look.losses) > (1.0 + WORSE) * min(best.losses):
            break
        if best is None or min(look.losses) < min(best.losses):
            best, chosen = look, (replace(settings, rate=min(max(settings.rate, least), fast)),)
        if clock.stops(NAME):
            break
    assert best is not None
    return best, chosen


def _boosted(first: _First, judge: HoldoutScorer, asked: float) -> tuple[TreeScores, list[TreeScores], int] | None:
    """Return trees grown on all rows, those grown without each fold, and after how many rounds.

    None where the trees of the first fold gain less than is `asked` beside the best member before, which the `judge`
    knows.
    """
    rows = first.rows
    fold = first.fold(judge, asked)
    if fold is None:
        return None
    if rows.folds == 1:
        best = int(np.argmin(fold.losses)) + 1
        without = whole = rows.grown(fold.boosting, best)
        if rows.anew:
            whole = rows.grown(_Growing(rows, None, first.settings).done(best).boosting, best)
        return whole, [without], best
    rounds = max(1, round((1.0 + PATIENCE) * (int(np.argmin(fold.losses)) + 1)))
    *others, every = _without_each(rows, [*range(1, FOLDS), None], first.settings, rounds)
    folds = [fold, *others]
    most = min(len(own.losses) for own in folds)
    best = int(np.argmin(np.sum([own.losses[:most] for own in folds], axis=0))) + 1
    return rows.grown(every.boosting, best), [rows.grown(own.boosting, best) for own in folds], best


@dataclass(frozen=True)
class Folds:
    """Trees grown without each fold, for the classes that are `present` often enough; `place` (n,) is the fold of rows.

    Other classes, the `rare`, have scores `of_rare`; `base` (k,) is less the log share of each class. Where all rows
    judge they are made `anew` from these when a file is read.
    """

    trees: tuple[TreeScores, ...]
    place: Codes
    unseen: Unseen
    present: Codes
    rare: Codes
    of_rare: Array
    base: Array
    anew: bool

    def left_out(self, sample: Sample) -> Array:
        """Return scores (n, k) of the rows, each by the trees that were grown without its fold."""
        return self.scores(SomeRows(sample, np.arange(len(sample))), None)

    def scores(self, rows: SomeRows, hidden: Hidden | None) -> Array:
        """Return scores (n, k) of some rows, some columns hidden."""
        place, columns = self.place[rows.index], rows.sample.rows.forest.columns
        cells, numbers = rows.sample.cells(hidden, None, dated=True), len(columns.numbers)

        def of_fold(fold: int, own: Codes) -> Array:
            unseen = self.unseen[fold]
            if unseen is not None:
                unseen = unseen[rows.index[own]] & (cells[own, numbers : columns.d] >= 0)  # what is hidden stays so
            return self.trees[fold].scores(columns.with_unseen(cells[own], unseen))

        out = np.empty((len(place), len(self.base)))
        out[:, self.rare] = self.of_rare
        out[:, self.present] = by_fold(place, len(self.present), of_fold)
        return out + self.base


class _Growing:
    """Trees boosted on all rows, or all folds but one, so far, and what the rows of that fold lose after each round.

    They are boosted by each of these `settings`, on so many rows at `most`.
    """

    def __init__(
        self, rows: _Rows, fold: int | None, settings: Sequence[TreeSettings] = SETTINGS, most: float = np.inf
    ) -> None:
        self.rows, self.losses = rows, list[float]()
        rest = rows.order if fold is None else rows.order[rows.place[rows.order] != fold]
        out = np.flatnonzero(rows.place == (rows.folds if fold is None else fold))
        self._judges = out[rows.codes[out] >= 0]
        self.boosting = rows.boosting(fold, rest[:: max(1, int(np.ceil(len(rest) / most)))], self._judges, settings)
        self._least = np.zeros((len(self._judges), rows.k))  # the scores after the round that loses least

    def grow(self, rounds: int) -> None:
        """Boost up to so many rounds."""
        if rounds <= self.boosting.rounds:
            return
        own, weight = self.rows.codes[self._judges], self.rows.weight[self._judges]
        scores = self.boosting.grow(rounds - self.boosting.rounds)
        each = -log_softmax(scores.reshape(-1, self.rows.k)).reshape(scores.shape)[:, np.arange(len(own)), own]
        losses = (each @ weight / max(float(weight.sum()), 1e-300)).tolist()
        if min(losses) < min(self.losses, default=np.inf):
            self._least = scores[int(np.argmin(losses))]
        self.losses += losses

    def grow_on(self, judge: HoldoutScorer, asked: float) -> bool:
        """Boost until more rounds bring nothing.

        Return whether they take away as much as is `asked` of what the best member of a `judge` of all rows loses.
        """
        if len(self.rows.number) > len(judge.codes):
            self.grow_well(self.rows.clock.part(0.5 if self.rows.anew else 1.0))
            return self.gain(judge) >= asked
        later = (1.0 + PATIENCE) * (FOLDS - 1 + FOLDS / (FOLDS - 1)) / workers()  # times as long, for all other trees
        clock = self.rows.clock.part(1.0 / (1.0 + later))
        for rounds in ROUNDS:
            while self.boosting.rounds < rounds and not (self.losses and clock.stops(NAME)):
                self.grow(min(rounds, self.boosting.rounds + BETWEEN))
            tell(f"boosting trees, {self.boosting.rounds} rounds")
            if self.gain(judge) < asked:
                return False
            if clock.left <= 0.0 or int(np.argmin(self.losses)) + 1 < (1.0 - PATIENCE) * rounds:
                break
        return True

    def grow_well(self, clock: Clock, most: int = MOST_ROUNDS) -> None:
        """Boost until many rounds have brought nothing, or the clock stops it, `most` at most."""
        while self.boosting.rounds < most:
            self.grow(self.boosting.rounds + 1)
            best = int(np.argmin(self.losses)) + 1
            if most == MOST_ROUNDS and self.boosting.rounds % ROUNDS[0] == 0:
                tell(f"boosting trees, {self.boosting.rounds} rounds")
            if self.boosting.rounds - best > max(WAIT, PATIENCE * best) or clock.stops(NAME):
                break

    def gain(self, judge: HoldoutScorer) -> float:
        """Return which share of what the best member of a `judge` of all rows loses the best round takes away."""
        number = self.rows.number[self._judges]
        return _gain(judge[number[number >= 0]], self.rows, self._least[number >= 0])

    def done(self, rounds: int) -> Self:
        """Return these trees, after so many rounds at least."""
        self.grow(rounds)
        return self


def _gain(judge: HoldoutScorer, rows: _Rows, scores: Array) -> float:
    """Return which share of what the best member loses goes away as its scores give way to other log posteriors (n, k).

    Their weights sum to 1 and are the best that do. The `judge` is of the same rows; where there is no member before,
    all goes away.
    """
    if judge.best is None:
        return 1.0
    prior, best = judge.offset[:, rows.present], judge.best[:, rows.present]
    beside = replace(judge, codes=np.searchsorted(rows.present, judge.codes), offset=prior + best)
    alone = beside.loss(np.zeros_like(prior))
    return (alone - beside.temperature(scores - prior - best)[0]) / max(alone, LEAST_LOSS)
