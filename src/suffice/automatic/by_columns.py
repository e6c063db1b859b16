"""The pool's held-out answers with some columns unknown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import ClassVar

from .._arrays import Array, Codes, log_softmax, np, parallel_map, single_blas_thread
from .choose import COLUMN_PENALTIES, pool_members
from .judge import HoldoutScorer
from .member import Member
from .pool import StackedEnsemble, exchange_priors, mix_with_prior
from .sample import Sample, SomeRows
from .stack import centred
from .table_rows import Hidden
from .weighing import JudgedMember, judge_in_folds, power_of_rows

MANY = 2000  # rows; of fewer, calls are so short that threads would wait for each other


class _ByColumns(ABC):
    """Rows of the sample that an automatic classifier was judged on, by the columns that are known of them."""

    def __init__(
        self, automatic: StackedEnsemble, index: Codes, positions: Sequence[int], log_prior: Array | None
    ) -> None:
        assert automatic.sample is not None
        self.automatic, self.positions, self.log_prior = automatic, np.asarray(positions), log_prior
        self.rows, self.offset = SomeRows(automatic.sample, index), automatic.offset[index]

    def without(self, column: int | None) -> Array:
        """Return log posteriors (n, k) by all columns but one, or by all."""
        return self._log_posterior(np.flatnonzero(self.positions == column))

    def log_posterior(self, known: Sequence[int]) -> Array:
        """Return log posteriors (n, k) by the known columns, by their positions in the table."""
        return self._log_posterior(np.flatnonzero(~np.isin(self.positions, list(known))))

    def _log_posterior(self, hidden: Codes) -> Array:
        with single_blas_thread():  # many small products
            scores = self._pooled(hidden)
        return self._under_priors(mix_with_prior(log_softmax(scores), self.offset, self.automatic.floor))

    def _under_priors(self, found: Array) -> Array:
        floor = self.automatic.floor
        return found if self.log_prior is None else exchange_priors(found, self.offset, self.log_prior, floor)

    @abstractmethod
    def _pooled(self, hidden: Codes) -> Array:
        """Return the scores (n, k) of the pool, class priors included, without some columns."""


class PoolByColumns(_ByColumns):
    """Rows of the sample that an automatic classifier was judged on, by the columns that are known of them.

    Every member of any weight is asked for what it says with cells unknown, each row left out as it was when the member
    was chosen, at the settings chosen with all columns. The weights of members are then found anew for just these
    columns, each row out of them, too; those that single columns have beside their member stay as they are.
    """

    how: ClassVar[str] = "leave-one-out, the members weighed anew for each set of columns"

    def __init__(
        self, automatic: StackedEnsemble, index: Codes, weight: Array, positions: Sequence[int], log_prior: Array | None
    ) -> None:
        super().__init__(automatic, index, positions, log_prior)
        sample, scale = self.rows.sample, weight * (len(index) / weight.sum())
        self.judge = HoldoutScorer(sample.codes, self.offset, scale, scale * sample.single / sample.weight)
        self.power = power_of_rows(sample, self.judge)
        alone = automatic.stack.weight[len(automatic.members) :]
        parts = zip(automatic.single_places(sample.rows), automatic.left_out_columns(sample), alone, strict=True)
        self.single = [(place, own * centred(part)) for place, part, own in parts]
        weights = zip(automatic.members, automatic.stack.weight, strict=False)
        self.weighed = [own for own, weight in weights if weight] or list(automatic.members)
        self._sums: dict[str, _Sums] = {}
        self._took: dict[str, float] = {}  # seconds, by which members are begun: no answer depends on it

    @property
    def by_others(self) -> Array:
        """The log posteriors (n, k) by all columns at settings and weights that other rows chose, of few rows."""
        return self._under_priors(self.automatic.left_out_posterior[self.rows.index])

    def _pooled(self, hidden: Codes) -> Array:
        offset = self.offset.copy()
        if len(hidden) == len(self.positions):
            return offset
        for place, part in self.single:
            if place not in hidden:
                offset += part
        judge = replace(self.judge, offset=offset)

        def judged(own: JudgedMember) -> JudgedMember:
            begun = perf_counter()
            scores = self._scores(own, hidden)
            loss, temperature = judge.temperature(scores)
            self._took[own.name] = perf_counter() - begun
            return replace(own, left_out=scores, loss=loss, temperature=temperature, by_others=())

        longest_first = sorted(self.weighed, key=lambda own: -self._took.get(own.name, 0.0))
        together = parallel_map(judged, longest_first, cost=np.inf if len(offset) >= MANY else 0.0)
        by_name = {own.name: own for own in together}
        ordered, pool = [by_name[own.name] for own in self.weighed], partial(pool_members, power=self.power)
        if self.rows.sample.folds is not None:
            return judge_in_folds([], ordered, self.rows.sample, judge, [COLUMN_PENALTIES[:1]], pool)[1]
        return pool(ordered, [], judge, COLUMN_PENALTIES).left_out

    def _scores(self, own: JudgedMember, hidden: Codes) -> Array:
        if not (len(hidden) and own.member.reads(hidden)):
            return own.left_out_scores[self.rows.index]
        if own.again is not None or not own.member.adds_up:
            return own.left_out_without(self.rows, Hidden(hidden))
        if own.name not in self._sums:
            self._sums[own.name] = _Sums.of(own.member, self.rows.sample)
        return self._sums[own.name].without(hidden)


class PoolShown(_ByColumns):
    """Rows of the sample that an automatic classifier was judged on, some of whose cells it is shown, as new rows are.

    Every member is asked for what it says where the other cells are missing, each row left out; its weight is that of
    rows of which so much is known.
    """

    how: ClassVar[str] = "leave-one-out, at the weights of rows with as many known cells"
    by_others: ClassVar[None] = None

    def _pooled(self, hidden: Codes) -> Array:
        shown, as_missing = self.rows.sample.hiding(hidden), Hidden(hidden, as_missing=True)
        known, columns = shown.rows.known.sum(axis=1), self.automatic.left_out_columns(shown)
        scores = self.automatic.summed
        return scores(known, self.offset, lambda own: own.left_out_without(self.rows, as_missing), columns)


@dataclass(frozen=True)
class _Sums:
    """What the columns of a member say that adds them up, each (n, k), by their numbers among all, and their sum."""

    by_column: dict[int, Array]
    total: Array

    @classmethod
    def of(cls, member: Member, sample: Sample) -> _Sums:
        """Return those of rows, each left out."""
        parts: dict[int, Array] = {}
        for j, part in enumerate(member.left_out_columns(sample)):
            place = member.place_of(j, sample.rows)
            parts[place] = parts[place] + part if place in parts else part
        return cls(parts, np.sum(list(parts.values()), axis=0))

    def without(self, hidden: Codes) -> Array:
        """Return the sum of all columns but some."""
        if len(hidden) <= len(self.by_column) // 2:
            return np.asarray(self.total - sum(self.by_column.get(j, 0.0) for j in hidden.tolist()))
        out = np.zeros_like(self.total)
        for j in sorted(self.by_column.keys() - set(hidden.tolist())):
            out += self.by_column[j]
        return out
