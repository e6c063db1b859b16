"""Members with their held-out scores, and what weights they are given: columns by themselves, rows of few known cells.

The columns that say most of some rows say more of these than of new ones (Hastie, Tibshirani & Friedman, The Elements
of Statistical Learning, section 7.10.2). So the rows are dealt into five folds; for each, counts lose its rows, columns
are chosen and weighted on the others, and the fold is scored by what comes of that. The penalty on column weights that
loses least then holds for all rows together. Few rows are judged so whatever the columns: there settings are chosen by
the others, too.

The stack's weights hold where as many cells are known as usual: members repeat each other, and columns that depend on
each other speak more than once, which weights below 1 make up for. Of few cells each is worth more, and other members
are right: what a covariance of all columns says of one is not what a model of that column says. So the weights are
found a second time, for rows left out some of whose cells are hidden, and go from one to the other by the number of
cells that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest

from .._arrays import Array, Codes, distinct, np, single_blas_thread
from .._derived import derived
from ..stats.rows import column_keys, deal, mixed
from .columns import BinnedRows
from .folds import content, dealt
from .judge import HoldoutScorer
from .limits import most_weighted
from .member import Again, Member
from .sample import Sample, SomeRows
from .stack import Stack, centred, refitted
from .table_rows import Hidden

ROWS_PER_COLUMN = 10  # for each column: of fewer, columns are judged in folds
LEAST_POWER = 0.5
LEAST_TEMPERATURE = 1e-6  # that weights are told and started from
HOTTEST_TREES = 2.0  # of 1, 1.5, 2 and 4, the mean log-loss of 109 public tables is least at 2, and no less at 4
MASKS = 12  # sets of columns that are hidden
MOST_ROWS = 500  # that are judged with each
MOST_SCORES = 20_000  # rows × classes of them
FEWEST_JUDGES = 60
UNUSUAL = 0.02  # of the rows judged on, less is known than usual
PENALTY = 10.0
Column = tuple[str, int, Array]  # what its member calls columns, which it is, and scores (n, k)


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

    @derived
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
    def heat(self) -> float:
        """The temperature from which its weight starts, and by which it is told: at most 1, of trees `HOTTEST_TREES`.

        What more would win may be chance. But trees that score a row left out are fewer than those that score a new
        one, or are made of fewer rows, and less sure.
        """
        return float(np.clip(self.temperature, LEAST_TEMPERATURE, HOTTEST_TREES if self.member.asks_trees else 1.0))

    @property
    def title(self) -> str:
        """Its name as people read it."""
        return self.member.title

    @property
    def setting(self) -> dict[str, float]:
        """What was chosen."""
        return self.member.setting


# --- single columns with weights of their own -------------------------------------------------------------------------

Pool = Callable[[Sequence[JudgedMember], Sequence[Array], HoldoutScorer, Sequence[float]], Stack]


def power_of_rows(sample: Sample, judge: HoldoutScorer) -> float:
    """Return to which power of their likelihood rows count in the stack: max(½, n / (n + 10 d)).

    The left-out score of a row is made with the labels of the others, and theirs with its own, so that what two rows
    say together is said twice: under all of the likelihood, columns of noise get weights that new rows do not bear out.
    That matters the more, the more columns there are for the rows. At ½ there are fewer than ten rows for each, and
    choosing and weighting columns is judged in folds.
    """
    count = sample.rows.numbers.shape[1] + len(sample.rows.levels)
    rows = float(judge.weight.sum())
    if sample.folds is not None and sample.units is not None:  # rows of a group say much the same
        rows = float(len(distinct(sample.units.number)))
    return max(LEAST_POWER, float(rows / (rows + ROWS_PER_COLUMN * count)))


def judge_in_folds(
    additive: Sequence[Member],
    members: Sequence[JudgedMember],
    sample: Sample,
    judge: HoldoutScorer,
    penalties: Sequence[tuple[float, ...]],
    pool: Pool,
) -> tuple[tuple[float, ...], Array]:
    """Return the penalties that lose least, and scores (n, k) of each row by a stack of others, offsets included.

    `additive` are the members of single columns, if there are any; `pool` fits a stack to members, columns, a judge and
    penalties of which the most evident is taken. Members have the settings that the other rows choose: what the best of
    many settings loses on the rows that chose it is too little (Tibshirani & Tibshirani 2009, doi:10.1214/08-AOAS224).
    """
    place = dealt(sample)
    scores = np.empty((len(penalties), *judge.offset.shape))
    for v in range(int(place.max(initial=0)) + 1):
        own, rest = np.flatnonzero(place == v), np.flatnonzero(place != v)
        scores[:, own] = judge.offset[own]
        if not len(rest):
            continue
        inner = judge[rest]
        old, new = _columns_without(additive, sample[own], sample[rest], inner)
        theirs = [_judged_by(inner, member, v, rest) for member in members]
        mine = [member.for_fold(v)[own] for member in members] + new
        for i, each in enumerate(penalties):
            scores[i, own] = pool(theirs, old, inner, each).scores(mine, judge.offset[own])
    losses = [judge.loss(part - judge.offset) for part in scores]
    best = int(np.argmin(losses))
    return penalties[best], scores[best]


def _judged_by(judge: HoldoutScorer, member: JudgedMember, fold: int, rows: Codes) -> JudgedMember:
    """Return a member with its loss and temperature on the rows outside a fold."""
    scores = member.for_fold(fold)[rows]
    loss, temperature = judge.temperature(scores)
    return replace(member, left_out=scores, loss=loss, temperature=temperature, by_others=())


def _columns_without(
    additive: Sequence[Member], out: Sample, rest: Sample, judge: HoldoutScorer
) -> tuple[list[Array], list[Array]]:
    """Return scores of the columns that tell most of the rows `rest`, each left out, and the same of rows `out`.

    Both are by counts that have none of the rows `out`.
    """
    if rest.folds is not None:
        chosen = most_telling([column for member in additive for column in telling(member, rest, judge)], judge)
        every = {(own.column_kind, j): part for own in additive for j, part in enumerate(own.held_out_columns(out))}
        return [part for *_, part in chosen], [every[own, j] for own, j, _ in chosen]
    fewer = [member.without(out) for member in additive]
    chosen = most_telling([column for member in fewer for column in telling(member, rest, judge)], judge)
    new = list[Array]()
    for member in fewer:
        new += member.columns(out.rows, [j for own, j, _ in chosen if own == member.column_kind])
    return [part for *_, part in chosen], new


def most_telling(columns: list[Column], judge: HoldoutScorer) -> list[Column]:
    """Return the columns whose scores by themselves lose least, in their order, if there are very many."""
    most = most_weighted(*judge.offset.shape)
    if len(columns) <= most:
        return columns
    losses = [judge.loss(part) for *_, part in columns]
    return [columns[int(i)] for i in np.sort(np.argsort(losses, kind="stable")[:most])]


def telling(member: Member, sample: Sample, judge: HoldoutScorer) -> Iterator[Column]:
    """Yield a member's columns, or of very many those that lose least, without holding the scores of all at once."""
    most, columns, at = most_weighted(*judge.offset.shape), enumerate(member.held_out_columns(sample)), judge.log_loss
    best = sorted(nsmallest(most, columns, key=lambda own: at(own[1])[0])) if member.width > most else columns
    yield from ((member.column_kind, j, part) for j, part in best)


# --- rows of few known cells ------------------------------------------------------------------------------------------


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
        few = (count > 0) & (count < usual)
        if not few.any():
            return None
        share = FewKnown(usual, np.zeros((2, len(members)))).shares(count[few])
        every = every[:, few]
        base = np.concatenate(before)[few] + share[:, :1] * (bias + np.tensordot(weight, every, axes=1))
        row_weight = np.tile(own.weight * (len(own) / own.weight.sum() / MASKS), MASKS)[few]
        judge = HoldoutScorer(np.tile(own.codes, MASKS)[few], base, row_weight, row_weight)
        both = np.concatenate([share[:, 1, None] * every, share[:, 2, None] * every])
        found = refitted(both, judge, PENALTY, np.tile(weight, 2))
    return FewKnown(usual, found.reshape(2, -1))


def _judges(sample: Sample, k: int) -> Codes:
    """Return the numbers of the rows that judge: all, or every so many of a class, as their contents decide."""
    most = min(MOST_ROWS, max(FEWEST_JUDGES, MOST_SCORES // k))
    step = -(-len(sample) // most)
    return np.flatnonzero(deal(content(sample.rows), sample.codes, step) == 0)


def _masks(rows: BinnedRows) -> list[Codes]:
    """Return sets of columns to hide, by their numbers among all, so that from one to all but one column are left.

    How many are left goes evenly by its log; which they are is dealt by the columns' contents, so that neither their
    order and units matter, nor the order of the rows.
    """
    of_row = content(rows)
    keys = np.concatenate([column_keys(part, of_row) for part in (rows.numbers, rows.levels)])
    d, masks = len(keys), list[Codes]()
    for i in range(MASKS):
        left = int(np.clip(round(d ** ((i + 0.5) / MASKS)), 1, d - 1))
        order = np.argsort(mixed(keys + np.uint64(i)), kind="stable")
        masks.append(np.sort(order[left:]))
    return masks
