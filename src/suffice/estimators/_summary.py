"""What is made of the parts of a table: from a batch to statistics, to samples of rows, and to answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .._arrays import Array, np
from ..errors import DataError
from ..estimate import Block
from ..schema import Schema
from ..stats import ByClass, ClassSamples
from ..table import read_table
from ..tasks import classify
from ._two_passes import summarize_frozen
from ._unlabelled import Batch, is_holed


@dataclass(frozen=True)
class Learned:
    """What is learned from some rows: their statistics (None without a row to learn from), and how many had no label.

    `unlabelled_weight` is the weight of those without a label that are to join, `holed` marks the blocks with cells
    that a joint density has to fill, `samples` are rows of each class, where they are asked for.
    """

    statistics: ByClass | None
    rows: int
    unlabelled: int
    unlabelled_weight: float = 0.0
    holed: tuple[bool, ...] = ()
    samples: ClassSamples | None = None

    def merge(self, other: Learned) -> Learned:
        """Return what is learned from both."""
        if self.statistics is None or other.statistics is None:
            filled = other if self.statistics is None else self
            statistics, holed, samples = filled.statistics, filled.holed, filled.samples
        else:
            statistics = self.statistics.merge(other.statistics)
            holed = tuple(a or b for a, b in zip(self.holed, other.holed, strict=True))
            samples = self.samples and other.samples and self.samples.merge(other.samples)
        return Learned(
            statistics,
            self.rows + other.rows,
            self.unlabelled + other.unlabelled,
            self.unlabelled_weight + other.unlabelled_weight,
            holed,
            samples,
        )


@dataclass(frozen=True)
class Summary:
    """The kernel of a fit: from a batch of a table to what is learned from it. It can be sent to another process."""

    estimator: Any  # with the settings alone
    schema: Schema
    plan: tuple[Block, ...]
    target: str
    weight: str | None
    unlabelled: str
    columns: Any = None  # as frozen by a first pass
    samples: bool = False  # whether rows of each class are asked for

    def __call__(self, table: Any, rows_only: bool = False) -> Learned:
        """Summarise a pyarrow table; `rows_only` does without the statistics that a first pass does not need."""
        batch, absent = self.read(table)
        if batch is None:
            return Learned(None, table.num_rows, absent)
        if rows_only:
            k = len(batch.classes)
            part = self.plan[-1].family.summarize(batch.rows[-1], batch.codes, k, batch.weight)
            return Learned(
                ByClass(batch.classes, np.zeros(k), (part,), heaviest=batch.heaviest), table.num_rows, absent
            )
        known, weight = batch, 0.0
        if not batch.is_labelled:
            known, unknown = batch.split()
            weight = float(len(unknown.codes) if unknown.weight is None else unknown.weight.sum())
        statistics = self._count(known)
        if self.columns is not None:
            statistics = summarize_frozen(statistics, self.columns)
        holed = tuple(is_holed(block, part) for block, part in zip(self.plan, batch.rows, strict=True))
        samples = None
        if self.samples:
            samples = ClassSamples.summarize(known.rows, known.codes, known.classes, known.weight, len(self.schema))
        return Learned(statistics, table.num_rows, absent, weight, holed, samples)

    def read(self, table: Any) -> tuple[Batch | None, int]:
        """Return the rows of a pyarrow table, None if there are none, and how many have no label.

        These are refused, left out, or numbered −1.
        """
        from ..engines import LabelledRows

        names = [str(name) for name in self.schema.names]
        rows = LabelledRows.of(table, names, self.target, self.weight, self.unlabelled == "em")
        if rows.unlabelled and self.unlabelled == "error":
            raise DataError(
                f"{self.target!r} has no label in {rows.unlabelled} of {table.num_rows} rows. Next: leave them out "
                'with unlabelled="skip", or let them join with unlabelled="em" where the model can learn from them.'
            )
        if not len(rows.labels):
            return None, rows.unlabelled
        columns = read_table(rows.columns)
        order = self.schema.align(columns.schema, type(self.estimator).__name__)
        batch = self.estimator._read(columns, order, self.plan, rows.labels, rows.weight, missing="any")
        return batch, rows.unlabelled

    def _count(self, batch: Batch) -> ByClass:
        """Return the statistics of labelled rows, by which every estimator begins."""
        k = len(batch.classes)
        totals = np.bincount(batch.codes, weights=batch.weight, minlength=k).astype(np.float64)
        pairs = zip(self.plan, batch.rows, strict=True)
        counts = [(getattr(block.family, "count", block.family.summarize), part) for block, part in pairs]
        blocks = tuple(count(part, batch.codes, k, batch.weight) for count, part in counts)
        return ByClass(batch.classes, totals, blocks, len(batch.codes), self.estimator._sample(batch), batch.heaviest)

    def observing(self, wrap: Any) -> Summary:
        """Return the kernel with the families of blocks whose cells a joint density fills wrapped."""
        return replace(self, plan=tuple(replace(b, family=wrap(b.family)) if _joint(b) else b for b in self.plan))


def _joint(block: Block) -> bool:
    inner = getattr(block.family, "inner", block.family)
    return bool(getattr(inner, "fills", False))


@dataclass(frozen=True)
class Posteriors:
    """The kernel of a first pass over rows to be answered for: their posteriors under equal priors."""

    estimator: Any
    columns: tuple[str, ...]

    def __call__(self, table: Any) -> Array:
        """Return log posteriors (n, k) of the rows of a pyarrow table."""
        found: Array = self.estimator.predict_log_proba(table.select(list(self.columns)), priors="uniform")
        return found


@dataclass(frozen=True)
class Answers:
    """The kernel of a prediction: from a batch of a table to a table of answers."""

    estimator: Any
    priors: Any
    reject: float | None
    keep: dict[str, str]  # names of columns to copy, and of what is copied
    columns: tuple[str, ...]
    alpha: float | None = None

    def __call__(self, table: Any) -> Any:
        """Answer for the rows of a pyarrow table."""
        from ..engines import answers_table

        rows = table.select(list(self.columns))
        log_posterior = self.estimator.predict_log_proba(rows, priors=self.priors)
        choice = classify.decide(log_posterior, None, self.reject)
        labels = self.estimator.classes_.tolist()
        columns = [(f"p_{label}", p) for label, p in zip(labels, np.exp(log_posterior).T, strict=True)]
        columns.append(("log_density", self.estimator.score_samples(rows)))
        if self.alpha is not None:
            inside = self.estimator.predict_set(rows, self.alpha).T
            columns += [(f"in_{label}", own) for label, own in zip(labels, inside, strict=True)]
        kept = table.select(list(self.keep.values())).rename_columns(list(self.keep)) if self.keep else None
        return answers_table(labels, choice, columns, kept)
