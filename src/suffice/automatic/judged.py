"""A member with its held-out scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from .._arrays import Array
from .member import Again, Member
from .mixed_rows import Hidden
from .sample import SomeRows


@dataclass(frozen=True)
class JudgedMember:
    """A member with what it loses: the mean log-loss of its posteriors, after scaling by its `temperature`.

    Both are exact leave-one-out, by its log densities (n, k) of the sample, each row left out: `left_out`, or what
    makes them when first asked for. `by_others` are, for each fold, the same under the setting that the rows outside it
    would have chosen; none where these were not asked.
    """

    member: Member
    loss: float
    temperature: float
    left_out: Array | Callable[[], Array] = field(repr=False)
    again: Again | None = field(default=None, repr=False)
    by_others: tuple[Array, ...] = field(default=(), repr=False)

    @cached_property
    def left_out_scores(self) -> Array:
        """Its log densities (n, k) of the sample, each row left out."""
        return self.left_out() if callable(self.left_out) else self.left_out

    def for_fold(self, fold: int) -> Array:
        """Return its log densities (n, k), each row left out, by a choice in which the rows of a fold had no part."""
        return self.by_others[fold] if self.by_others else self.left_out_scores

    def left_out_without(self, rows: SomeRows, hidden: Hidden) -> Array:
        """Return left-out scores (n, k) of rows of which some columns are hidden."""
        if self.again is not None:
            return self.again(rows, hidden)
        return self.member.left_out_without(rows.sample, hidden)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.member.name

    @property
    def setting(self) -> dict[str, float]:
        """What was chosen."""
        return self.member.setting
