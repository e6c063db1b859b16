"""Ensemble weights for rows with few known cells.

The stack's weights hold where as many cells are known as usual: members repeat each other, and columns that depend on
each other speak more than once, which weights below 1 make up for. Of few cells each is worth more, and other members
are right: what a covariance of all columns says of one is not what a model of that column says. So the weights are
found a second time, for rows left out some of whose cells are hidden, and go from one to the other by the number of
cells that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._arrays import Array, Codes, np, single_blas_thread
from ..stats.rows import mixed
from .columns import BinnedRows
from .folds import content, deal, ranks_of
from .judge import HoldoutScorer
from .judged import JudgedMember
from .mixed_rows import Hidden
from .sample import Sample, SomeRows
from .stack import centred, refitted

MASKS = 12  # sets of columns that are hidden
MOST_ROWS = 500  # that are judged with each
MOST_SCORES = 20_000  # rows × classes of them
LEAST_ROWS = 60
UNUSUAL = 0.02  # of the rows judged on, less is known than usual
PENALTY = 10.0


@dataclass(frozen=True)
class FewKnown:
    """From `usual` known cells on, members have the stack's own weights; `weight` (2, m) are those of fewer.

    The first are those of rows with √usual cells known, the second those with one. Between, each weight is linear in
    the log of their number; the class biases of the stack fade from the first to none.
    """

    usual: int
    weight: Array

    def shares(self, known: Codes) -> Array:
        """Return how much (n, 3) the stack's own weights and the two others do where so many cells (n,) are known."""
        depth = 2.0 * (1.0 - np.log(np.clip(known, 1, self.usual)) / np.log(self.usual))  # 0: as usual, 2: one cell
        return np.asarray(np.maximum(1.0 - np.abs(depth[:, None] - np.arange(3.0)), 0.0))

    def weights(self, own: Array, known: Codes) -> Array:
        """Return the weights (n, m) of rows with so many known cells (n,); `own` (m,) are the stack's."""
        return np.asarray(self.shares(known) @ np.vstack([own, self.weight]))


def usually_known(sample: Sample) -> int:
    """Return the number of cells that is known of all rows but a few: up to 2 % of their weight have fewer."""
    known = sample.rows.known.sum(axis=1)
    order = np.argsort(known, kind="stable")
    reached = np.cumsum(sample.weight[order]) > UNUSUAL * sample.weight.sum()
    return int(known[order[int(np.argmax(reached))]]) if len(known) else 0


def weigh_few_known(
    members: Sequence[JudgedMember],
    weight: Array,
    bias: Array,
    columns: Callable[[Sample], Array],
    sample: Sample,
    offset: Array,
) -> FewKnown | None:
    """Return the weights of members where few cells are known; None where one cell is as much as is known usually.

    `weight` (m,) and `bias` (k,) are the stack's, `columns` says what single columns with weights of their own add
    (n, k), `offset` (n, k) are the log class priors without each row of the sample. The weights minimise the log-loss
    of rows left out with all but some columns missing, and a penalty that draws them to the stack's.
    """
    usual = usually_known(sample)
    if usual < 2:
        return None
    rows = SomeRows(sample, _judges(sample, len(bias)))
    own, before, scores, known = rows.sample, list[Array](), list[Array](), list[Codes]()
    with single_blas_thread():  # many small products
        for hidden in _masks(own.rows):
            shown = own.hiding(hidden)
            parts = [member.left_out_without(rows, Hidden(hidden, as_missing=True)) for member in members]
            before.append(offset[rows.index] + columns(shown))
            scores.append(centred(np.stack(parts)))
            known.append(shown.rows.known.sum(axis=1))
        every, count = np.concatenate(scores, axis=1), np.concatenate(known)
        told = (count > 0) & (count < usual)
        if not told.any():
            return None
        share = FewKnown(usual, np.zeros((2, len(members)))).shares(count[told])
        every = every[:, told]
        base = np.concatenate(before)[told] + share[:, :1] * (bias + np.tensordot(weight, every, axes=1))
        heavy = np.tile(own.weight * (len(own) / own.weight.sum() / MASKS), MASKS)[told]
        judge = HoldoutScorer(np.tile(own.codes, MASKS)[told], base, heavy, heavy)
        both = np.concatenate([share[:, 1, None] * every, share[:, 2, None] * every])
        found = refitted(both, judge, PENALTY, np.tile(weight, 2))
    return FewKnown(usual, found.reshape(2, -1))


def _judges(sample: Sample, k: int) -> Codes:
    """Return the numbers of the rows that judge: all, or every so many of a class, as their contents decide."""
    most = min(MOST_ROWS, max(LEAST_ROWS, MOST_SCORES // k))
    step = -(-len(sample) // most)
    return np.flatnonzero(deal(sample.rows, sample.codes, step) == 0)


def _masks(rows: BinnedRows) -> list[Codes]:
    """Return sets of columns to hide, by their numbers among all, so that from one to all but one column are left.

    How many are left goes evenly by its log; which they are is dealt by the columns' contents, so that neither their
    order and units matter, nor the order of the rows.
    """
    of_row = content(rows)
    columns = [*rows.numbers.T, *rows.levels]
    keys = np.array([mixed(ranks_of(own) + of_row).sum() for own in columns], dtype=np.uint64)
    d, masks = len(columns), list[Codes]()
    for i in range(MASKS):
        left = int(np.clip(round(d ** ((i + 0.5) / MASKS)), 1, d - 1))
        order = np.argsort(mixed(keys + np.uint64(i)), kind="stable")
        masks.append(np.sort(order[left:]))
    return masks
