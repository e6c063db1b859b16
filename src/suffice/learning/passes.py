"""Estimates by several passes over a table in parts: EM for mixtures, for many patterns of missing cells, for labels.

Every pass does some work on each batch, and its sums merge as statistics do: the same engines, the same tree of merges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .._arrays import Array, np
from ..em.cell_passes import ObservedStats, Observing, complete_by_sweeps, sweep
from ..em.cells import Units
from ..em.mixture import Rows
from ..em.mixture_passes import Pass, Sample, Sums, sweep as sweep_mixtures
from ..em.step import Moments, Point
from ..errors import SourceError
from ..estimate import Block
from ..estimate.families import GaussianFamily
from ..joint import JointModel
from ..schema import Level
from ..stats import ByClass, ClassSamples, MixtureStats, Statistic
from ..stats.batch import Batch, Joined
from .kernels import Learned, Summary
from .opening import Run
from .unlabelled import Estimate, expect_rows, fill, join, log_prior, summarize_by, with_filled

if TYPE_CHECKING:
    from ..engines import Source, Watcher
    from ..engines.arrow import Table


@dataclass(frozen=True)
class Swept:
    """What a pass finds in some rows: values that merge, None where there is nothing to find."""

    rows: int
    values: tuple[Any, ...]

    def merge(self, other: Swept) -> Swept:
        """Return what it finds in both."""
        pairs = zip(self.values, other.values, strict=True)
        values = tuple(b if a is None else a if b is None else a.merge(b) for a, b in pairs)
        return Swept(self.rows + other.rows, values)


class Work(Protocol):
    """What a pass does with a batch."""

    def __call__(self, batch: Batch) -> Sequence[object]:
        """Return values that merge."""
        ...


@dataclass(frozen=True)
class Sweeping:
    """The kernel of one pass; `classes` are those of the first."""

    summary: Summary
    classes: tuple[Level, ...]
    work: Work
    values: int

    def __call__(self, table: Table) -> Swept:
        """Do the work on a pyarrow table."""
        batch, _ = self.summary.read(table)
        if batch is None:
            return Swept(table.num_rows, (None,) * self.values)
        place = {label: number for number, label in enumerate(self.classes)}
        numbers = np.array([*(place[label] for label in batch.classes), -1], dtype=np.int64)
        placed = Batch(self.classes, numbers[batch.codes], batch.rows, batch.weight)
        return Swept(table.num_rows, tuple(self.work(placed)))


@dataclass
class Passes:
    """Passes over all rows of a source: `run(source, read, kernel, progress=…)` makes one.

    `plan` are the blocks of the model; those of `summary` may keep more in the first pass.
    """

    summary: Summary
    plan: Sequence[Block]
    source: Source
    read: Sequence[str]
    run: Run
    progress: Watcher | None = None

    def check(self, who: str) -> None:
        """Raise SourceError where the rows can be read only once."""
        if self.source.once:
            raise SourceError.read_once(who, "once for every EM step")

    def sweep(self, classes: Sequence[Level], work: Work, values: int) -> tuple[Any, ...]:
        """Return the values of one pass."""
        kernel = Sweeping(self.summary, tuple(classes), work, values)
        swept: Swept = self.run(self.source, self.read, kernel, progress=self.progress)
        return swept.values

    # --- many patterns of missing cells ------------------------------------------------------------------------------

    def observe(self) -> Learned | None:
        """Return what is learned without keeping patterns: what EM by passes begins with."""
        self.check("EM for cells that miss in so many patterns")
        found: Learned | None = self.run(
            self.source, self.read, self.summary.observing(Observing), progress=self.progress
        )
        return found

    def complete(self, statistics: ByClass) -> ByClass:
        """Return statistics with the missing cells filled that `observe` has counted."""
        blocks = list(statistics.blocks)
        for number, (block, stats) in enumerate(zip(self.summary.plan, statistics.blocks, strict=True)):
            if isinstance(stats, ObservedStats):
                inner = block.family.component()
                assert isinstance(inner, GaussianFamily)

                def run(units: Units, point: Point, number: int = number) -> Moments:
                    found: tuple[Moments] = self.sweep(statistics.classes, Completing(number, units, point), 1)
                    return found[0]

                done = complete_by_sweeps(run, stats, inner.form)
                blocks[number] = MixtureStats.single(done, statistics.weight) if inner is not block.family else done
        return replace(statistics, blocks=tuple(blocks))

    # --- mixtures ----------------------------------------------------------------------------------------------------

    def mixtures(self, classes: Sequence[Level]) -> Callable[[Sequence[Pass]], Sequence[Sums]]:
        """Return what makes one pass for all that climbs."""

        def run(asked: Sequence[Pass]) -> Sequence[Sums]:
            return self.sweep(classes, Climbing(tuple(asked)), len(asked))

        return run

    # --- rows without a label ----------------------------------------------------------------------------------------

    def join(self, labelled: ByClass, weight: float, holed: Sequence[bool], estimate: Estimate) -> Joined:
        """Return the statistics of all rows, those without a label, of this weight, joining by EM."""
        plan, known = tuple(self.plan), replace(labelled, sample=None)

        def expect(model: JointModel, held: Sequence[Array | None]) -> _Expected:
            work = Expecting(model, known, plan, tuple(held))
            likelihood, joined, filled = self.sweep(labelled.classes, work, 3)
            return _Expected(likelihood, joined, filled, labelled, plan, held, model)

        return join(labelled, weight, plan, holed, estimate, expect)


def class_samples(samples: ClassSamples, classes: Sequence[Level]) -> list[Sample]:
    """Return the rows of each class at which a mixture's climbs begin, in lexicographic order."""
    found = []
    for label in classes:
        values, weight, complete = samples.rows(label)
        order = np.lexsort(values.T[::-1])
        found.append(Sample(Rows.of(values[order], np.zeros(len(order), dtype=np.int64), weight[order]), complete))
    return found


@dataclass(frozen=True)
class Completing:
    """One EM step for the missing cells of a block; see `em.cell_passes.sweep`."""

    block: int
    units: Units
    point: Point

    def __call__(self, batch: Batch) -> Sequence[object]:
        """Return the moments of the labelled rows."""
        known = batch if batch.is_labelled else batch.split()[0]
        return (sweep(known.rows[self.block], known.codes, known.weight, self.units, self.point),)


@dataclass(frozen=True)
class Climbing:
    """One EM step of every mixture that climbs."""

    asked: tuple[Pass, ...]

    def __call__(self, batch: Batch) -> Sequence[object]:
        """Return the sums of each."""
        return sweep_mixtures(batch.rows[0], batch.codes, batch.weight, self.asked)


@dataclass(frozen=True)
class Likelihood:
    """A log likelihood, in nats."""

    value: float

    def merge(self, other: Likelihood) -> Likelihood:
        """Return that of the rows of both."""
        return Likelihood(self.value + other.value)


@dataclass(frozen=True)
class Filled:
    """Statistics by block of all rows, missing cells at what a model expects, and their weight by class (k,)."""

    parts: tuple[Statistic, ...]
    weight: Array

    def merge(self, other: Filled) -> Filled:
        """Return those of the rows of both."""
        parts = tuple(a.merge(b) for a, b in zip(self.parts, other.parts, strict=True))
        return Filled(parts, self.weight + other.weight)


@dataclass(frozen=True)
class Expecting:
    """One EM step for rows without a label."""

    model: JointModel
    labelled: ByClass
    plan: tuple[Block, ...]
    held: tuple[Array | None, ...]

    def __call__(self, batch: Batch) -> Sequence[object]:
        """Return the likelihood, the statistics of the rows without a label, and those of all with cells filled."""
        known, unknown = batch.split()
        weight = np.ones(len(unknown.codes)) if unknown.weight is None else unknown.weight
        likelihood, posterior = expect_rows(self.model, self.labelled, known, unknown, weight, self.plan)
        joined = summarize_by(unknown, weight, posterior, self.plan)
        filled = None
        if any(squares is not None for squares in self.held):
            parts = fill(known, unknown, weight, posterior, self.plan, self.held, self.model)
            filled = Filled(tuple(parts), posterior.T @ weight)
        return Likelihood(likelihood), joined, filled


class _Expected(NamedTuple):
    """An E step by a pass."""

    likelihood: Likelihood
    unlabelled: ByClass
    all_filled: Filled
    labelled: ByClass
    plan: Sequence[Block]
    held: Sequence[Array | None]
    model: JointModel

    @property
    def objective(self) -> float:
        return self.likelihood.value + log_prior(self.model)

    def joined(self) -> ByClass:
        return self.labelled.merge(replace(self.unlabelled, sample=None))

    def filled(self) -> ByClass:
        weight = self.labelled.weight + self.all_filled.weight
        return with_filled(self.labelled, self.all_filled.parts, weight, self.held, self.plan)
