"""What the members of an automatic classifier, pooled anew, say of rows left out by some of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from .._arrays import Array, Codes, log_softmax, np, single_blas_thread
from .choose import COLUMN_PENALTIES, pool_members
from .pool import Automatic, exchange_priors, raise_floor
from .screening import power_of_rows
from .stack import Judge, centred


class PoolByColumns:
    """Rows of the sample that an automatic classifier was judged on, by the columns that are known of them.

    Every member is asked for what it says with cells unknown, each row left out as it was when the member was chosen,
    at the settings chosen with all columns. The weights of members are then found anew for just these columns, each row
    out of them, too; those that single columns have beside their member stay as they are.
    """

    fixed: ClassVar[str] = "leave-one-out, the members weighed anew for each set of columns"

    def __init__(
        self, automatic: Automatic, index: Codes, weight: Array, positions: Sequence[int], log_prior: Array | None
    ) -> None:
        assert automatic.sample is not None
        self.automatic, self.index, self.positions, self.log_prior = automatic, index, np.asarray(positions), log_prior
        self.whole = automatic.sample
        sample = self.sample = self.whole[index]
        scale = weight * (len(index) / weight.sum())
        single = scale * sample.single / sample.weight
        self.judge = Judge(sample.codes, automatic.offset[index], scale, single)
        self.power = power_of_rows(sample, self.judge)
        alone = automatic.stack.weight[len(automatic.members) :]
        parts = zip(automatic.single_places(sample.rows), automatic.left_out_columns(sample), alone, strict=True)
        self.single = [(place, own * centred(part)) for place, part, own in parts]

    def without(self, column: int) -> Array:
        """Return log posteriors (n, k) by all columns but one."""
        return self.log_posterior([p for p in self.positions.tolist() if p != column])

    def log_posterior(self, known: Sequence[int]) -> Array:
        """Return log posteriors (n, k) by the known columns, by their positions in the table."""
        hidden = np.flatnonzero(~np.isin(self.positions, list(known)))
        with single_blas_thread():  # many small products
            scores = self._pooled(hidden)
        offset, floor = self.judge.offset, self.automatic.floor
        found = raise_floor(log_softmax(scores), offset, floor)
        return found if self.log_prior is None else exchange_priors(found, offset, self.log_prior, floor)

    def _pooled(self, hidden: Codes) -> Array:
        """Return the scores (n, k) of the pool, class priors included, without some columns."""
        offset = self.judge.offset.copy()
        if len(hidden) == len(self.positions):
            return offset
        for place, part in self.single:
            if place not in hidden:
                offset += part
        judge, members = replace(self.judge, offset=offset), []
        for own in self.automatic.members:
            scores = own.left_out_scores[self.index]
            if len(hidden):
                scores = own.left_out_without(self.whole, self.index, hidden)
            loss, temperature = judge.temperature(scores)
            members.append(replace(own, left_out_scores=scores, loss=loss, temperature=temperature))
        return pool_members(members, [], judge, COLUMN_PENALTIES, self.power).left_out
