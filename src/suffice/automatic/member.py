"""The protocol of a member: a density by class with leave-one-out, bound to statistics; its inputs in exports.

A member is one file of `members/` and one line of `members.MEMBERS`; nothing else asks which it is. It names the
statistics it needs (`statistic`), the settings to choose between (`candidates`), and what it says of new rows
(`scores`), of learned rows without themselves (`left_out`), to a program (`lower`) and of single columns (`explain`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from .._arrays import Array, Codes, np, sparse
from ..attribution.explain import Explanation
from ..densities import MultivariateT
from ..export.lower import Lowering, normal
from ..export.program import Bin, Indicator, Interpolated, Normal, Projected, Scaled, Term, TreeSums
from ..forest import ForestColumns, TreeScores
from ..notes import Note
from ..schema import Name
from ..stats import Statistic
from ..stats.counts import ClassWeights
from ..stats.statistic import Fields, amounts
from ..stats.texts import TextReading
from .columns import RAW, SCORES, BinnedRows, FrozenColumns, end_slopes
from .judge import HoldoutScorer
from .limits import Clock
from .sample import Sample, SomeRows, Unlabelled
from .stack import centred
from .table_rows import MISSING, Hidden


class Inputs:
    """Frozen columns in a program under construction; each reading is entered once, when first asked for.

    `numbers` and `codes` are those of the cells themselves. `positions` are the table's columns, numbers first.
    """

    def __init__(self, job: Lowering, columns: FrozenColumns, positions: Sequence[int]) -> None:
        self._job, self.columns = job, columns
        self.names = [job.schema.names[p] for p in positions]
        self.texts = self.names[len(positions) - columns.texts :]
        d = len(columns.scores)
        self.numbers = [job.number(p) for p in positions[:d]]
        self._categories = positions[d:]
        self.codes = [job.level(p, known) for p, known in zip(self._categories, columns.vocabulary, strict=True)]

    def normal(self, density: MultivariateT, readings: Sequence[int]) -> Normal:
        """Return the term of a density over some readings."""
        return normal(density, tuple(readings[j] for j in density.used))

    def gaussian(self, version: str) -> tuple[int, ...]:
        """Return the readings of a version of the Gaussian block; see `FrozenColumns.gaussian`."""
        cells = self.cells(version)
        if version not in self.columns.basis:
            return cells
        directions = enumerate(np.ascontiguousarray(self.columns.basis[version].T))
        return tuple(self._job.reading(Projected(cells, own), ("along", version, i)) for i, own in directions)

    def cells(self, version: str) -> tuple[int, ...]:
        """Return the readings of the used columns of the Gaussian block, in units of total variance 1."""
        raw = list(self.numbers if version == RAW else self._scores()) + self._indicators()
        centre, scale = self.columns.center[version], self.columns.scale[version]
        return tuple(
            self._job.reading(Scaled(raw[j], float(centre[j]), float(scale[j])), ("scaled", version, int(j)))
            for j in self.columns.used[version]
        )

    def bins(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the codes of all columns, numbers cut into so many bins, and how many levels each has."""
        codes, sizes = [], []
        for j, cuts in enumerate(self.columns.cuts[number]):
            codes.append(self._job.code(Bin(self.numbers[j], cuts), ("bin", number, j)))
            sizes.append(len(cuts) + 1)
        sizes += [len(known) for known in self.columns.vocabulary]
        return (*codes, *self.codes), tuple(sizes)

    def missing(self, place: int) -> int:
        """Return the reading that is 1 where the cell of a column, by its number among all, is missing, and else 0."""
        d = len(self.numbers)
        none = np.zeros(0)
        code = self._job.code(Bin(self.numbers[place], none), ("known", place)) if place < d else self.codes[place - d]
        return self._job.reading(Indicator(code, MISSING, False), ("missing", place))

    def trees(self, scores: TreeScores, columns: ForestColumns) -> TreeSums:
        """Return the term of sums over leaves, of trees over these columns; it reads those that some tree looks at."""
        trees = scores.trees
        inner = trees.column >= 0
        used, place = np.unique(trees.column[inner], return_inverse=True)
        column = trees.column.copy()
        column[inner] = place
        codes = tuple(self._cell(columns, j) for j in used.tolist())
        ways = trees.threshold, trees.left, trees.right, trees.missing_right, trees.roots
        return TreeSums(codes, column, *ways, scores.values, scores.base, scores.logs, scores.cover)

    def _cell(self, columns: ForestColumns, j: int) -> int:
        """Return the code that is the cell of a column: of a category, its level's place in the order of the cells."""
        d = len(columns.numbers)
        if j < d:
            cuts = columns.numbers[j].cuts
            return self._job.code(Bin(self.numbers[j], cuts), ("cell", j, cuts.tobytes()))
        known = columns.vocabulary[j - d]
        ordered = [known[level] for level in np.argsort(columns.order[j - d]).tolist()]
        return self._job.level(self._categories[j - d], ordered)

    def _scores(self) -> list[int]:
        found = []
        for j, (knots, z) in enumerate(self.columns.scores):
            curve = Interpolated(self.numbers[j], knots, z, *end_slopes(knots, z))
            found.append(self._job.reading(curve, ("score", j)))
        return found

    def _indicators(self) -> list[int]:
        found = []
        for j, (code, indicated) in enumerate(zip(self.codes, self.columns.indicators, strict=True)):
            keeps = MISSING not in indicated
            each = [(Indicator(code, int(level), keeps), ("indicator", j, int(level))) for level in indicated]
            found += [self._job.reading(reading, key) for reading, key in each]
        return found


@dataclass(frozen=True)
class Part(ABC):
    """Statistics by class in frozen columns, by the way in which rows are read for each: its entry."""

    name: ClassVar[str]  # in a model file
    left_out: ClassVar[bool] = False  # of a file, where there is nothing of it

    entries: Mapping[Any, Any]

    @classmethod
    @abstractmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        """Return the statistics of rows (n,) of `k` classes."""

    @abstractmethod
    def arrays(self) -> tuple[dict[str, Array], Any]:
        """Return the entries as named arrays, and a plain value."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        """Return what `arrays` wrote; ValueError if the parts do not fit together."""

    def kept_for(self, columns: FrozenColumns, k: int) -> Self:
        """Return the entries that are kept for `k` classes."""
        return self

    def merge(self, other: Self) -> Self:
        """Return the statistics of the rows of both, of the entries that both have."""
        return type(self)({i: own.merge(other.entries[i]) for i, own in self.entries.items() if i in other.entries})

    def subtract(self, other: Self) -> Self:
        """Return the statistics of the rows left without others; NotLearnedError if they cannot have been there."""
        return type(self)({i: own.subtract(other.entries[i]) for i, own in self.entries.items() if i in other.entries})

    def each(self, change: Callable[[Statistic], Statistic]) -> Self:
        """Return the statistics, every one changed."""
        return type(self)({i: change(own) for i, own in self.entries.items()})


@dataclass(frozen=True)
class Counts(Part):
    """Weights added up by class, (k, …), by how finely numbers are cut: an entry for each such whole number."""

    may_lack: ClassVar[bool] = False  # entries, which edits that add classes and releases drop

    @classmethod
    @abstractmethod
    def shapes(cls, columns: FrozenColumns, k: int) -> dict[int, tuple[int, ...]]:
        """Return the entries that are kept for `k` classes, and their shapes."""

    @classmethod
    @abstractmethod
    def count(cls, entry: int, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Array:
        """Return one entry of rows (n,)."""

    @classmethod
    def of(cls, counts: Mapping[int, Array]) -> Self:
        """Return these entries."""
        return cls({entry: ClassWeights(own) for entry, own in counts.items()})

    @property
    def counts(self) -> dict[int, Array]:
        """The entries as arrays."""
        return {entry: own.values for entry, own in self.entries.items()}

    @classmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        return cls.of({entry: cls.count(entry, reading, codes, k, weight) for entry in cls.shapes(reading.columns, k)})

    def kept_for(self, columns: FrozenColumns, k: int) -> Self:
        kept = self.shapes(columns, k)
        return type(self)({entry: own for entry, own in self.entries.items() if entry in kept})

    def arrays(self) -> tuple[dict[str, Array], list[int]]:
        return {f"{self.name}{entry}": own for entry, own in self.counts.items()}, list(self.entries)

    @classmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        """Return the counts; all that would be kept now, but what edits and releases may have dropped."""
        counts = {i: fields[f"{cls.name}{i}"] for i in plain}
        shapes = cls.shapes(columns, k)
        right = list(counts) == [i for i in shapes if i in counts or not cls.may_lack]
        if not right or any(own.shape != shapes[i] for i, own in counts.items()):
            raise ValueError("statistics of the members")
        return cls.of({i: amounts(own, *own.shape) for i, own in counts.items()})


Setting = Mapping[str, float]
P = TypeVar("P", bound=Part)

# Scores (n, k) of some rows of a sample of which some columns are hidden.
Again = Callable[[SomeRows, Hidden], Array]


@dataclass(frozen=True)
class TrainingStats:
    """What members are made of: statistics of all rows in frozen columns, counts of categories, and class weights (k,).

    `categories` (k, levels) are counts in the vocabulary of the frozen columns, `seen` (k, d) the weights of cells that
    are not missing, numbers first. `unlabelled` are rows without a label,
    None for none; nothing else counts them. The `clock` says how long members may take.
    """

    columns: FrozenColumns
    learned: Mapping[str, Part]
    categories: tuple[Array, ...]
    weight: Array
    seen: Array
    unlabelled: Unlabelled | None = None
    clock: Clock = field(default_factory=Clock)

    @property
    def k(self) -> int:
        """The number of classes."""
        return len(self.weight)

    def part(self, kind: type[P]) -> P:
        """Return the statistics of one kind."""
        found = self.learned[kind.name]
        assert isinstance(found, kind)
        return found


class Candidate(NamedTuple):
    """A setting to choose: `scores` (n, k) are left-out log densities of the rows of its `judge`.

    `members` are those it makes: several where it competes under several names, of which each keeps its best.
    `final` returns the scores of all rows of the sample once it is chosen; None where `scores` are these. `again` says
    how they are made once more with cells unknown, where they are those of folds; None where `left_out_without` does.
    """

    members: tuple[Member, ...]
    scores: Array
    judge: HoldoutScorer
    final: Callable[[], Array] | None = None
    again: Again | None = None


class Chosen(NamedTuple):
    """A member as it was chosen by rows: `left_out` makes their scores (n, k) anew, `again` is that of `Candidate`."""

    member: Member
    left_out: Callable[[], Array]
    again: Again | None = None


# What yields the candidates of a kind to a judge.
Begun = Callable[[HoldoutScorer], Iterator[Candidate]]


# Members as people read them; files keep the names of earlier versions.
TITLES = {
    "gaussian": "Gaussian",
    "tied gaussian": "Gaussian, shared covariance",
    "independent gaussian": "independent Gaussians",
    "joined gaussian": "Gaussian with unlabelled rows",
    "gaussians of parts": "mixture per class",
    "hats": "linear splines",
    "one-dependence": "averaged one-dependence",
    "words": "multinomial words",
    "words that occur": "Bernoulli words",
    "weighed words": "weighted words",
}


def title(name: str) -> str:
    """Return the name of a member, or of a kind of members, as people read it."""
    kind, _, version = name.partition(", ")
    return TITLES.get(kind, kind) + (", normal scores" if version == SCORES else "")


class Member(ABC):
    """A density by class at one setting. Scores are in nats, up to a number for each row."""

    kinds: ClassVar[tuple[str, ...]]  # what members of this class are called in files; see `title`
    statistic: ClassVar[type[Part] | None] = None
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {}  # those a file may hold
    needs_rows: ClassVar[bool] = False  # it is made of the rows of the sample, and has no place in a released model
    generative: ClassVar[bool] = True  # it is a density of the row by class, or made of the weights of classes in boxes
    left_out_error: ClassVar[float] = 0.0  # nats from the score a refit without the row gives under its class; ∞: any
    left_out_fills: ClassVar[bool] = True  # that holds of rows with missing cells, too
    missing_tells: ClassVar[bool] = False  # that a cell is missing may speak for a class
    asks_trees: ClassVar[bool] = False  # those of the frozen columns, which may be grown by then
    asks_best: ClassVar[bool] = False  # its candidates ask the judge for the best of the members before
    reads_texts: ClassVar[bool] = False  # it has `of_units`, what words and pairs of words say
    folds_rows: ClassVar[bool] = False  # its candidates are judged by folds, of whole groups where there are any
    column_kind: ClassVar[str] = ""  # what its single columns are called in files
    seconds: ClassVar[float] = 0.06  # for a million judged cells times classes; see `expected`
    widest: ClassVar[float] = np.inf  # columns: of more there is no such member

    name: str
    model: Any  # what scores, where that is a value of its own
    places: tuple[int, ...] = ()  # of columns, among all, of which it reads whether a cell is missing
    rival: str = ""  # a member that this one takes the place of where it loses less, and is left out beside otherwise

    def reads(self, columns: Codes) -> bool:
        """Whether any of these columns, by their numbers among all, may matter to it."""
        return True

    @property
    def title(self) -> str:
        """Its name as people read it."""
        return title(self.name)

    # --- choosing one ------------------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield the settings to choose between, each judged on rows left out; none where there is nothing to model."""

    @classmethod
    def begin(cls, known: TrainingStats, sample: Sample) -> Begun:
        """Return what yields the candidates to a judge, what does not need the judge made already."""
        return partial(cls.candidates, known, sample)

    @classmethod
    def takes_long(cls, known: TrainingStats, rows: int) -> bool:
        """Whether it is judged after the others, by a judge who knows the best of these, so that a look may do."""
        return False

    @classmethod
    def expected(cls, known: TrainingStats, sample: Sample) -> float:
        """Return about how many seconds it takes to be judged, at the pace 1: a rule found on 23 tables.

        What it took there was .2 to 13 times as much, all members together on 6 other tables .4 to 1 times: trees that
        a look tells to be worth nothing take less.
        """
        columns = known.columns.texts if cls.reads_texts else known.columns.d - known.columns.texts
        return cls.seconds * (len(sample) + 1000) * columns * known.k / 1e6 if columns <= cls.widest else 0.0

    @classmethod
    def bind(cls, kind: str, detail: str, setting: Setting, known: TrainingStats) -> Self:
        """Return the member of other statistics, by its kind, what follows that in its name, and its setting."""
        raise ValueError(f"{kind}: a member that needs rows")

    @classmethod
    def chosen(
        cls, kind: str, detail: str, setting: Setting, known: TrainingStats, sample: Sample, kept: Fields
    ) -> Chosen:
        """Return the member as these rows chose it, without choosing; `kept` is what that member `kept`."""
        own = cls.bind(kind, detail, setting, known)
        return Chosen(own, partial(own.left_out, sample))

    def kept(self) -> Fields:
        """Return what takes long to make anew of statistics, rows and setting."""
        return {}

    @classmethod
    def allows(cls, setting: Setting) -> bool:
        """Whether a setting of these names, read from a file, is in its ranges."""
        return 0.0 < setting["strength"] < np.inf

    @classmethod
    def spared(cls, known: TrainingStats) -> tuple[Note, ...]:
        """Return notes on what was left out because it would have taken too much."""
        return ()

    @property
    def setting(self) -> dict[str, float]:
        """What was chosen, by name: attributes of its own, or of its model."""
        return {name: getattr(self if hasattr(self, name) else self.model, name) for name in self.settings}

    def notes(self, names: Sequence[Name]) -> tuple[Note, ...]:
        """Return what is to be said of it where it has weight; `names` are those of all columns, numbers first."""
        return ()

    # --- answering ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def scores(self, reading: BinnedRows) -> Array:
        """Return log densities (n, k) of new rows."""

    @abstractmethod
    def left_out(self, sample: Sample) -> Array:
        """Return the same of learned rows, each without the weight `sample.removed` of it."""

    def left_out_without(self, sample: Sample, hidden: Hidden) -> Array:
        """Return the same where some columns are hidden."""
        return self.left_out(sample.hiding(hidden.columns))

    @abstractmethod
    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        """Yield its terms with their weights: its `weight` in the pool, and those of its single columns beside it.

        Weights are several (w,), by how much is known of a row; see `program.Stack`.
        """

    @abstractmethod
    def explain(self, reading: BinnedRows, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return what each column adds, centred over classes (n, d, k), numbers first, and its variance."""

    def of_units(self, read: TextReading, column: int) -> tuple[sparse.csr_array, Array]:
        """Return of texts (t,) how often each has a word or pair of words (t, u), and what one of these says (u, k)."""
        raise NotImplementedError

    # --- single columns, where the density adds them up ---------------------------------------------------------------

    @property
    def width(self) -> int:
        """How many columns may have a weight of their own beside that of the member."""
        return 0

    @property
    def adds_up(self) -> bool:
        """Whether `left_out` is the sum of `left_out_columns`, so that some columns can be taken out of it."""
        return self.width > 0

    def columns(self, reading: BinnedRows, wanted: Sequence[int] | None = None) -> Iterator[Array]:
        """Yield the scores (n, k) of each column, or of those `wanted`."""
        return iter(())

    def left_out_columns(self, sample: Sample) -> Iterator[Array]:
        """Yield the same of learned rows, each left out."""
        return iter(())

    def held_out_columns(self, sample: Sample) -> Iterator[Array]:
        """Yield the same, of rows of groups by the members made without whole ones."""
        return self.left_out_columns(sample) if sample.folds is None else sample.folds.columns(self, sample)

    def without(self, rows: Sample) -> Self:
        """Return the member of statistics without all of some rows."""
        return self

    def place_of(self, column: int, reading: BinnedRows) -> int:
        """Return the number among all columns, numbers first, of one of its own."""
        return column


class Additive(Member):
    """A member that adds up columns, so that each may have a weight of its own and contributes what it scores."""

    @abstractmethod
    def columns(self, reading: BinnedRows, wanted: Sequence[int] | None = None) -> Iterator[Array]:
        """Yield the scores (n, k) of each column, or of those `wanted`."""

    @abstractmethod
    def left_out_columns(self, sample: Sample) -> Iterator[Array]:
        """Yield the same of learned rows, each left out."""

    @abstractmethod
    def lower_column(self, inputs: Inputs, column: int) -> Term:
        """Return the term of one column."""

    def scores(self, reading: BinnedRows) -> Array:
        return total(self.columns(reading))

    def left_out(self, sample: Sample) -> Array:
        """Return log densities (n, k) of learned rows, each left out; one column at a time is there."""
        return total(self.left_out_columns(sample))

    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        """Yield the columns' terms: centring is linear, so those with a weight of their own get the sum of both."""
        for j in range(self.width):
            both = weight + by_column.get(j, 0.0)
            if both.any():
                yield self.lower_column(inputs, j), both

    def explain(self, reading: BinnedRows, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return the columns' scores: exact; those of a category's indicators together."""
        parts = [centred(part) for part in self.columns(reading)]
        score = np.zeros((*reading.known.shape, parts[0].shape[1]))
        for j, part in enumerate(parts):
            score[:, self.place_of(j, reading)] += part
        return score, np.zeros_like(score)


def total(parts: Iterator[Array]) -> Array:
    """Return the sum of arrays of which one at a time is there."""
    added = next(parts).copy()
    for part in parts:
        added += part
    return added


def totals(columns: Iterator[list[Array]], count: int, judge: HoldoutScorer) -> list[Array]:
    """Return, for each of so many settings, the sum (n, k) of what columns yield, of which one at a time is there."""
    sums = [np.zeros(judge.offset.shape) for _ in range(count)]
    for column in columns:
        for added, part in zip(sums, column, strict=True):
            added += part
    return sums


def gathered(found: Explanation, owner: Codes, reading: BinnedRows) -> tuple[Array, Array]:
    """Return an explanation by column behind: those of one `owner` together, a category's indicators for instance."""
    score = np.zeros((*reading.known.shape, len(found.score)))
    spread = np.zeros_like(score)
    for c, place in enumerate(owner):
        score[:, place] += found.score[:, :, c].T
        if found.variance is not None:
            spread[:, place] += found.variance[:, :, c].T
    return score, spread
