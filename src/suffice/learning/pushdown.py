"""Statistics from sums that a database makes where the rows are; None where the rows have to be read instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._arrays import Codes, np
from ..estimate import FAMILIES, Family
from ..estimate.families import GaussianFamily
from ..schema import Level, sort_levels
from ..stats import (
    ByClass,
    CategoricalStats,
    DiagonalScatter,
    FullScatter,
    GaussianStats,
    PatternStats,
    PooledScatter,
    Statistic,
    SumStats,
)
from ..table.labels import read_labels
from .kernels import Learned, Summary
from .opening import Run

if TYPE_CHECKING:
    from ..engines import Source, Watcher
    from ..engines.arrow import Table
    from ..engines.duckdb import ClassSums


Counts = Sequence[tuple[Level, Level | None, float]]  # of a column: class, level (None if missing), weight


@dataclass(frozen=True)
class Sampling:
    """The kernel of a pass that only keeps rows."""

    summary: Summary

    def __call__(self, table: Table) -> Learned:
        """Return the sample of a pyarrow table, in statistics without blocks."""
        batch, absent = self.summary.read(table)
        if batch is None:
            return Learned(None, table.num_rows, absent)
        weight = np.zeros(len(batch.classes))
        sample = self.summary.fitted.sample_of(batch)
        return Learned(ByClass(batch.classes, weight, (), 0, sample), table.num_rows, absent)


def push_down(
    summary: Summary, source: Source, read: Sequence[str], run: Run, progress: Watcher | None
) -> Learned | None:
    """Return what is learned from a DuckDB relation by sums inside the database.

    Where rows are kept, they are read once more for these. None where a column, a family or a cell is not of the kind
    that sums do for, or something is wrong that reading the rows will name.
    """
    from ..engines.duckdb import MOST_COLUMNS, class_counts, class_sums, kinds

    names, known = [str(name) for name in summary.schema.names], kinds(source)
    plan = summary.plan
    numbers = [p for block in plan if block.family != FAMILIES["categorical"] for p in block.positions]
    words = [p for block in plan if block.family == FAMILIES["categorical"] for p in block.positions]
    simple = all(_is_simple(block.family) for block in plan) and len(numbers) <= MOST_COLUMNS
    typed = all(known[names[p]] == "number" for p in numbers) and all(known[names[p]] == "word" for p in words)
    if not simple or not typed or summary.samples:
        return None
    cross = any(block.family.fills for block in plan)
    sums = class_sums(source, [names[p] for p in numbers], summary.target, summary.weight, cross)
    if sums is None or (sums.unlabelled and summary.unlabelled != "skip"):
        return None
    classes, codes = read_labels(sums.labels, len(sums.labels), summary.fitted.who)
    order = np.argsort(codes)
    at = {position: column for column, position in enumerate(numbers)}
    blocks: list[Statistic] = []
    for block in plan:
        if block.family == FAMILIES["categorical"]:
            own = [class_counts(source, names[p], summary.target, summary.weight) for p in block.positions]
            blocks.append(_counted(own, [sums.labels[i] for i in order]))
        else:
            stats = _summed(block.family, sums, order, np.array([at[p] for p in block.positions]))
            if stats is None:
                return None
            blocks.append(stats)
    heaviest = 1.0 if summary.weight is None else None  # of weights the database is asked for the sums alone
    statistics = ByClass(classes, sums.weight[order], tuple(blocks), sums.rows, heaviest=heaviest)
    if summary.fitted.settings.keep_rows:
        kept: Learned = run(source, read, Sampling(summary), progress=progress)
        assert kept.statistics is not None
        statistics = replace(statistics, sample=kept.statistics.sample)
    return Learned(statistics, sums.rows + sums.unlabelled, sums.unlabelled, holed=(False,) * len(plan))


def _is_simple(family: Family) -> bool:
    return isinstance(family, GaussianFamily) or family in (FAMILIES["categorical"], FAMILIES["bernoulli"])


def _summed(family: Family, sums: ClassSums, order: Codes, columns: Codes) -> Statistic | None:
    """Return the statistics of a block of columns of numbers; None where a Bernoulli column holds other numbers."""
    weight, cells = sums.weight[order], sums.cells[np.ix_(order, columns)]
    mean, squares = sums.mean[np.ix_(order, columns)], sums.squares[np.ix_(order, columns)]
    if not isinstance(family, GaussianFamily):
        spread = cells * mean * (1.0 - mean)  # what 0 and 1 alone would leave
        return SumStats(cells, cells * mean) if np.allclose(squares, spread, rtol=1e-9, atol=1e-9) else None
    if not family.fills:
        return GaussianStats(cells, mean, DiagonalScatter(squares), DiagonalScatter)
    assert sums.scatter is not None
    scatter = sums.scatter[np.ix_(order, columns, columns)]
    kept = PooledScatter.of(scatter) if family.form is PooledScatter else FullScatter(scatter)
    return PatternStats(GaussianStats(weight, mean, kept, family.form), {})


def _counted(columns: Sequence[Counts], labels: Sequence[Level]) -> CategoricalStats:
    """Return the counts of columns of words."""
    place = {label: i for i, label in enumerate(labels)}
    levels, counts, missing = [], [], np.zeros((len(labels), len(columns)))
    for j, found in enumerate(columns):
        own = tuple(sort_levels([level for level in {row[1] for row in found} if level is not None]))
        table = np.zeros((len(labels), len(own)))
        for label, level, weight in found:
            if level is None:
                missing[place[label], j] = weight
            else:
                table[place[label], own.index(level)] = weight
        levels.append(own)
        counts.append(table)
    return CategoricalStats(tuple(levels), tuple(counts), missing)
