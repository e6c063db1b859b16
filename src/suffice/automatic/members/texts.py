"""Words of texts: multinomial and Bernoulli naive Bayes, and log-count ratios weighed by a ridge logistic rule.

The rule asks how much more often a class has each word, pair of words and run of letters than the others have, and
weighs these ratios on the rows kept (Wang & Manning 2012, aclanthology.org/P12-2018). Of a text it takes each term as
often as it is there over the root of the number of terms, so that long texts do not speak louder. What is linear in
terms asks units first and how they are spelled then (`stats.words.Terms`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

from ..._arrays import Array, Codes, Flags, log_softmax, minimize, np, sparse
from ..._derived import Lazy
from ...errors import ExportError
from ...estimate import Settings
from ...estimate.families import TextFamily
from ...export.program import Term
from ...stats import TextStats
from ...stats.statistic import Fields, floats, grouped
from ...stats.texts import KINDS, TEXTS, TIMES, TextReading, Vocabulary
from ..columns import BinnedRows, FrozenColumns
from ..folds import by_fold, dealt
from ..judge import HoldoutScorer
from ..member import Candidate, Chosen, Inputs, Member, Part, Setting, TrainingStats
from ..sample import Sample, SomeRows
from ..stack import centred
from ..table_rows import Hidden

STRENGTHS = (0.03, 0.1, 0.3, 1.0)
RIDGES = (0.3, 0.1, 0.03)
LEAST_TEXTS = 1.5  # that have a term, for the rule to ask it
STEPS = 50
EXACT_TO = 1e-5  # of the gradient, for each root of a row
STILL = 1e-7  # of the loss, by which a step must lower it
MOST_SLOPES = 1 << 22  # terms × classes


@dataclass(frozen=True)
class TextCounts(Part):
    """The terms of every column of texts: entry 2 j counts the words of column j, and 2 j + 1 all terms."""

    name: ClassVar[str] = "texts"
    left_out: ClassVar[bool] = True

    @classmethod
    def summarize(cls, reading: BinnedRows, codes: Codes, k: int, weight: Array | None) -> Self:
        found = {}
        for j in range(reading.columns.texts):
            for number, kinds in enumerate((("words",), KINDS)):
                found[2 * j + number] = TextStats.of_readings([reading.terms(j)], codes, k, weight, kinds)
        return cls(found)

    def arrays(self) -> tuple[dict[str, Array], Any]:
        fields, plain = dict[str, Array](), list[Any]()
        for entry, stats in self.entries.items():
            own, words = stats.arrays()
            fields |= {f"{self.name}{entry}_{name}": values for name, values in own.items()}
            plain.append([entry, words])
        return fields, plain

    @classmethod
    def from_arrays(cls, fields: Mapping[str, Array], plain: Any, columns: FrozenColumns, k: int) -> Self:
        groups = grouped(fields, cls.name)
        found = {int(entry): TextStats.from_arrays(groups[str(entry)], words) for entry, words in plain}
        right = list(found) == list(range(2 * columns.texts))
        if not right or any(len(own.seen) != k or len(own.words) != 1 for own in found.values()):
            raise ValueError("statistics of texts")
        return cls(found)


class OfTexts(Member):
    """A member that asks columns of texts, each by itself."""

    reads_texts: ClassVar[bool] = True

    def of_columns(self, reading: BinnedRows) -> list[Array]:
        """Return what each column of texts says (n, k), 0 where it is missing."""
        raise NotImplementedError

    def scores(self, reading: BinnedRows) -> Array:
        return np.asarray(np.sum(self.of_columns(reading), axis=0))

    def explain(self, reading: BinnedRows, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return what each column of texts says: exact."""
        parts = [centred(own) for own in self.of_columns(reading)]
        score = np.zeros((*reading.known.shape, parts[0].shape[1]))
        for j, own in enumerate(parts, start=score.shape[1] - len(parts)):
            score[:, j] = own
        return score, np.zeros_like(score)

    def lower(self, inputs: Inputs, weight: Array, by_column: Mapping[int, float]) -> Iterator[tuple[Term, Array]]:
        raise ExportError.density("TextDensity", inputs.texts)


@dataclass(frozen=True)
class TextBayes(OfTexts):
    """Naive Bayes on the words of texts: how often each is there, or which are."""

    kinds: ClassVar[tuple[str, ...]] = ("words", "words that occur")
    statistic: ClassVar[type[Part]] = TextCounts
    seconds: ClassVar[float] = 35.0
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"strength": float}

    stats: tuple[TextStats, ...]
    occurs: bool
    strength: float
    name: str

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield every strength of both; none without texts."""
        for kind in cls.kinds if known.columns.texts else ():
            for strength in STRENGTHS:
                own = cls.bind(kind, "", {"strength": strength}, known)
                yield Candidate((own,), own.left_out(sample), judge)

    @classmethod
    def bind(cls, kind: str, detail: str, setting: Setting, known: TrainingStats) -> TextBayes:
        entries = known.part(TextCounts).entries
        if not known.columns.texts:
            raise ValueError("words of a model without texts")
        stats = tuple(entries[2 * j] for j in range(known.columns.texts))
        return cls(stats, kind != cls.kinds[0], float(setting["strength"]), kind)

    @property
    def _family(self) -> TextFamily:
        return TextFamily(occurs=self.occurs)

    def _told(self, k: int) -> Settings:
        return Settings(smoothing=self.strength, classes=tuple(range(k)), columns=("a text",))

    def of_columns(self, reading: BinnedRows) -> list[Array]:
        told, found = self._told(len(self.stats[0].seen)), []
        for j, stats in enumerate(self.stats):
            density = self._family.estimate(stats, told)[0]
            found.append(density.log_density(self._rows(reading, j)))
        return found

    def of_units(self, read: TextReading, column: int) -> tuple[sparse.csr_array, Array]:
        density = self._family.estimate(self.stats[column], self._told(len(self.stats[column].seen)))[0]
        known = self.stats[column].vocabulary(0)
        asked = sparse.hstack([read.terms.among(known, ("words",)), sparse.csr_array((len(read.terms.names), 1))])
        times = read.terms.units.copy()
        times.data = np.minimum(times.data, 1.0) if self.occurs else times.data
        return times, np.asarray(read.terms.spelled @ (asked @ density.nats))

    def left_out(self, sample: Sample) -> Array:
        """Return the same of learned rows, whose words leave the counts, and the vocabulary where they are alone."""
        told, scores = self._told(len(self.stats[0].seen)), np.zeros((len(sample), len(self.stats[0].seen)))
        for j, stats in enumerate(self.stats):
            rows = self._rows(sample.rows, j)
            _, score = self._family.leave_one_out_limit(rows, stats, sample.codes, sample.removed, told)
            scores += score
        return scores

    def _rows(self, reading: BinnedRows, j: int) -> sparse.csr_array:
        return reading.terms(j).counted_in(self.stats[j].vocabulary(0), self.occurs, ("words",))


@dataclass(frozen=True)
class Rule:
    """A linear rule over the terms of texts: slopes (v, k) of each column, and a level (k,) of rows with a text."""

    words: tuple[Vocabulary, ...]
    slopes: tuple[Array, ...]
    level: Array

    def of_columns(self, reading: BinnedRows) -> list[Array]:
        """Return what each column says (n, k); columns share the level of a row."""
        read = [reading.terms(j) for j in range(len(self.words))]
        there = np.stack([own.there for own in read])
        level = there[:, :, None] / np.maximum(there.sum(axis=0), 1)[:, None] * self.level
        found = []
        for own, known, slopes, part in zip(read, self.words, self.slopes, level, strict=True):
            asked = own.terms.spelled @ (own.terms.among(known) @ slopes)
            said = scales(own)[:, None] * np.asarray(own.terms.units @ asked)
            found.append(np.where(own.there[:, None], np.concatenate([said, part[:1] * 0.0])[own.number], 0.0) + part)
        return found

    def of_units(self, read: TextReading, column: int) -> tuple[sparse.csr_array, Array]:
        """Return of texts (t,) how often each has a word or pair (t, u), scaled, and what one says (u, k)."""
        said = read.terms.spelled @ (read.terms.among(self.words[column]) @ self.slopes[column])
        return sparse.diags_array(scales(read)) @ read.terms.units, np.asarray(said)


def scales(read: TextReading) -> Array:
    """Return 1 over the root of how many terms each text has (t,)."""
    size = np.asarray(read.terms.units @ read.terms.spelled.sum(axis=1))
    return np.asarray(1.0 / np.sqrt(np.maximum(size, 1.0)))


@dataclass(frozen=True)
class TextRule(OfTexts):
    """Log-count ratios of terms, weighed by a ridge logistic rule on the rows kept, judged by folds of these."""

    kinds: ClassVar[tuple[str, ...]] = ("weighed words",)
    statistic: ClassVar[type[Part]] = TextCounts
    seconds: ClassVar[float] = 450.0
    settings: ClassVar[Mapping[str, type[int] | type[float]]] = {"ridge": float}
    needs_rows: ClassVar[bool] = True
    generative: ClassVar[bool] = False
    left_out_error: ClassVar[float] = np.inf  # folds, not single rows, are left out
    folds_rows: ClassVar[bool] = True

    ridge: float
    rule: Lazy[Rule] = field(repr=False)
    folds: Lazy[list[Rule]] = field(repr=False)
    place: Codes = field(repr=False)
    name: str = "weighed words"

    @classmethod
    def candidates(cls, known: TrainingStats, sample: Sample, judge: HoldoutScorer) -> Iterator[Candidate]:
        """Yield every ridge, judged by one fold and then by all; none without texts, or of too many terms."""
        if not known.columns.texts:
            return
        design = Design.of(known, sample)
        if design.size * known.k > MOST_SLOPES:
            return
        first = np.flatnonzero(design.place == 0)
        for ridge in RIDGES:
            rule = design.fit(0, ridge)
            own = cls._of(design, ridge, rule)
            scores = np.sum(rule.of_columns(sample.rows[first]), axis=0)
            yield Candidate((own,), scores, judge[first], partial(own.settled, sample), own.again)

    @classmethod
    def _of(cls, design: Design, ridge: float, first: Rule | None = None, every: Rule | None = None) -> Self:
        """Return the member of a ridge, with the rules that are known: without the `first` fold, and of `every` row."""

        def folds() -> list[Rule]:
            begun = 0 if first is None else 1
            rest = [design.fit(fold, ridge) for fold in range(begun, int(design.place.max(initial=0)) + 1)]
            return rest if first is None else [first, *rest]

        return cls(ridge, Lazy(lambda: design.fit(None, ridge) if every is None else every), Lazy(folds), design.place)

    @classmethod
    def chosen(
        cls, kind: str, detail: str, setting: Setting, known: TrainingStats, sample: Sample, kept: Fields
    ) -> Chosen:
        design = Design.of(known, sample)
        slopes = tuple(floats(kept[f"slopes{j}"], len(own), known.k) for j, own in enumerate(design.words))
        rule = Rule(design.words, slopes, floats(kept["level"], known.k))
        own = cls._of(design, float(setting["ridge"]), every=rule)
        return Chosen(own, partial(own.held_out, sample), own.again)

    def kept(self) -> Fields:
        """Return the rule of all rows; the words are those that the counts know."""
        rule = self.rule()
        return {f"slopes{j}": own for j, own in enumerate(rule.slopes)} | {"level": rule.level}

    @classmethod
    def allows(cls, setting: Setting) -> bool:
        return 0.0 < setting["ridge"] < np.inf

    def of_columns(self, reading: BinnedRows) -> list[Array]:
        return self.rule().of_columns(reading)

    def of_units(self, read: TextReading, column: int) -> tuple[sparse.csr_array, Array]:
        return self.rule().of_units(read, column)

    def left_out(self, sample: Sample) -> Array:
        """Return scores of rows the rule was not made of, as only those that are kept are."""
        return self.scores(sample.rows)

    def settled(self, sample: Sample) -> Array:
        """Return what `held_out` does, and leave nothing to be made."""
        self.rule()
        return self.held_out(sample)

    def held_out(self, sample: Sample) -> Array:
        """Return scores of the rows kept, each by the rule of the others' folds."""
        return self.again(SomeRows(sample, np.arange(len(sample))), None)

    def again(self, rows: SomeRows, hidden: Hidden | None) -> Array:
        """Return the same of some rows, some columns hidden."""
        place, reading = self.place[rows.index], rows.sample.rows
        if hidden is not None:
            reading = reading.hiding(hidden.columns)
        rules = self.folds()
        k = len(rules[0].level)
        return by_fold(place, k, lambda fold, own: np.sum(rules[fold].of_columns(reading[own]), axis=0))


@dataclass(frozen=True, eq=False)
class Design:
    """Rows of a sample as the rule reads them: `units` (n, u), scaled by `scales`, and how they are spelled (u, v).

    `counted` are the units as they are counted, `counts` (v, k) how often classes have each term, `ends` where the
    terms of each column begin, and `there` (n,) which rows have a text; others tell nothing of the rule's level.
    """

    words: tuple[Vocabulary, ...]
    ends: tuple[int, ...]
    units: sparse.csr_array
    counted: sparse.csr_array
    spelled: sparse.csr_array
    counts: Array
    codes: Codes
    weight: Array
    held: Array
    place: Codes
    there: Flags

    @classmethod
    def of(cls, known: TrainingStats, sample: Sample) -> Design:
        words, counts, units, counted, spelled = [], [], [], [], []
        there = np.zeros(len(sample), dtype=np.bool_)
        for j in range(known.columns.texts):
            stats = known.part(TextCounts).entries[2 * j + 1]
            told = stats.words[0]
            asked = np.flatnonzero(stats.counts[0][:, TEXTS].sum(axis=0) > LEAST_TEXTS)
            if told is None:
                asked = np.arange(len(stats.vocabulary(0)))
            own = Vocabulary(None if told is None else [told[int(i)] for i in asked])
            read = sample.rows.terms(j)
            there |= read.there
            none = sparse.csr_array((1, read.terms.units.shape[1]))
            own_units = sparse.vstack([read.terms.units, none], format="csr")[read.number]
            scale = np.append(scales(read), 0.0)[read.number]
            words.append(own)
            counts.append(stats.counts[0][:, TIMES][:, asked].T)
            counted.append(own_units)
            units.append(sparse.diags_array(scale) @ own_units)
            spelled.append(read.terms.spelled @ read.terms.among(own))
        ends = (0, *np.cumsum([len(own) for own in words]).tolist())
        scaled, each = (sparse.hstack(parts, format="csr") for parts in (units, counted))
        whole = sparse.block_diag(spelled, format="csr")
        weighed = sample.codes, sample.weight, sample.held, dealt(sample), there
        spelt, known_counts = sparse.csr_array(whole), np.concatenate(counts)
        return cls(tuple(words), ends, scaled, each, spelt, known_counts, *weighed)

    @property
    def size(self) -> int:
        """How many terms are asked."""
        return self.ends[-1]

    def ratios(self, fold: int | None) -> Array:
        """Return log-count ratios (v, k): of each class beside all others, without the rows of a fold."""
        counts = self.counts
        if fold is not None:
            out = np.flatnonzero(self.place == fold)
            by_class = sparse.csr_array(
                (self.held[out], (self.codes[out], out)), shape=(counts.shape[1], len(self.codes))
            )
            counts = np.maximum(counts - ((by_class @ self.counted) @ self.spelled).toarray().T, 0.0)
        more, less = counts + 1.0, counts.sum(axis=1, keepdims=True) - counts + 1.0
        return np.asarray(np.log(more / more.sum(axis=0)) - np.log(less / less.sum(axis=0)))

    def fit(self, fold: int | None, ridge: float) -> Rule:
        """Return the rule of all rows but those of a fold."""
        k, ratio = self.counts.shape[1], self.ratios(fold)
        rows = np.flatnonzero(self.there & (self.place != (-1 if fold is None else fold)))
        units, codes, weight = self.units[rows], self.codes[rows], self.weight[rows]
        back, spelt = units.T.tocsr(), self.spelled.T.tocsr()
        mean = np.bincount(codes, weights=weight, minlength=k) + 0.5
        share = np.log(mean / mean.sum())

        squares = (weight @ units.power(2)) @ self.spelled.power(2)
        curved = ridge + mean / mean.sum() * (1.0 - mean / mean.sum()) * ratio**2 * squares[:, None]
        step = 1.0 / np.sqrt(curved)  # about one over the root of the curvature: steps of all slopes are alike then

        def loss(point: Array) -> tuple[float, Array]:
            slopes, level = step * point[:-k].reshape(-1, k), point[-k:]
            log_p = log_softmax(units @ (self.spelled @ (ratio * slopes)) + level)
            lost = -float(weight @ log_p[np.arange(len(codes)), codes]) + 0.5 * ridge * float((slopes**2).sum())
            rest = np.exp(log_p)
            rest[np.arange(len(codes)), codes] -= 1.0
            rest *= weight[:, None]
            slope = step * (ratio * (spelt @ (back @ rest)) + ridge * slopes)
            return lost, np.append(slope.ravel(), rest.sum(axis=0))

        begin = np.append(np.zeros(self.size * k), share)
        exact = {"maxiter": STEPS, "gtol": EXACT_TO * len(rows) ** 0.5, "ftol": STILL}
        end = np.asarray(minimize(loss, begin, jac=True, method="L-BFGS-B", options=exact).x)  # type: ignore[call-overload]
        slopes = np.split(ratio * step * end[:-k].reshape(-1, k), self.ends[1:-1])
        return Rule(self.words, tuple(slopes), end[-k:] - share)
