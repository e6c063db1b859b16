"""The pooled posterior: a log-linear stack of members and single columns, mixed with the class prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from .._arrays import (
    Array,
    Codes,
    bounded_map,
    log_of,
    log_softmax,
    np,
    places_of,
    row_chunks,
    rows_within,
    single_blas_thread,
    sparse,
)
from .._derived import derived
from ..attribution.explain import Words
from ..export import program
from ..export.lower import Lowering
from ..notes import Note
from .columns import BinnedRows, FrozenColumns
from .member import Inputs, Member
from .sample import Sample
from .stack import PSEUDO, Stack, centred, priors_without, summed
from .table_rows import TableRows
from .weighing import FewKnown, JudgedMember, usually_known, weigh_few_known

ROUNDING = 1e-12  # nats: contributions that add up to no more are none
MOST_STEPS = 1500  # columns × orders looked at, where each is one evaluation of all rows
TOGETHER = 1 << 21  # bytes of a table answered at a time: all that members read of its rows is held, and stays near


@dataclass(frozen=True)
class StackedEnsemble:
    """The pooled posterior: members and column scores, weighted; `floor` is the share of the class prior mixed in.

    `columns` are those with a weight of their own: what their member calls its columns, and which it is.
    `left_out_posterior` (n, k) are the log posteriors of the sample, each row left out: out of the stack's weights too,
    and of few rows out of the choice of settings. `loss` is their mean log-loss, `loss_error` its standard error (None
    where a file does not say it), and `offset` (n, k) the log class priors that they were made with.
    """

    frozen: FrozenColumns
    class_weight: Array
    members: tuple[JudgedMember, ...]
    columns: tuple[tuple[str, int], ...]
    stack: Stack
    floor: float
    left_out_posterior: Array = field(repr=False)
    offset: Array = field(repr=False)
    loss: float
    sample: Sample | None = field(repr=False)
    loss_error: float | None = None
    notes: tuple[Note, ...] = ()
    few_chosen: FewKnown | None = None  # where `few_known` was found before

    @property
    def log_prior(self) -> Array:
        """The class shares with half a row added to each, log (k,)."""
        weight = self.class_weight
        return np.asarray(np.log((weight + PSEUDO) / (weight.sum() + PSEUDO * len(weight))))

    @derived
    def few_known(self) -> FewKnown | None:
        """The weights of members for rows of which less is known than usual; None where the stack's own serve all."""
        if self.sample is None or self.few_chosen is not None:
            return self.few_chosen

        def columns(sample: Sample) -> Array:
            return summed(np.zeros((len(sample), len(self.class_weight))), alone, self.left_out_columns(sample))

        own, alone = np.split(self.stack.weight, [len(self.members)])
        return weigh_few_known(self.members, own, self.stack.bias, columns, self.sample, self.offset)

    @derived
    def usual(self) -> int:
        """The least number of known cells at which members have the stack's own weights."""
        if self.sample is None:
            return 0 if self.few_chosen is None else self.few_chosen.usual
        return usually_known(self.sample)

    @property
    def shares(self) -> Array:
        """How much of the pooled answer each member decides (m,), from 0 to 1; all 0 where no member has a weight.

        Its weight over its `heat`, as a share of the sum of these, so that members far too sure do not look light.
        """
        counts = self.stack.weight[: len(self.members)] / [member.heat for member in self.members]
        return np.asarray(counts / counts.sum() if counts.sum() > 0 else counts)

    def log_posterior(self, rows: BinnedRows, log_prior: Array | None = None) -> Array:
        """Return log p(class | row), (n, k) in nats; `log_prior` (k,) replaces the classes' shares.

        A row without any known cell has the classes' shares themselves.
        """
        width = rows.numbers.shape[1] + len(rows.levels)
        parts = list(row_chunks(len(rows), rows_within(8 * width, TOGETHER)))
        out = np.empty((len(rows), len(self.class_weight)))
        with single_blas_thread():  # once: each loop within would set and lift the limit
            for part in parts[:1]:  # by itself: what all rows have in common is made with it, once
                out[part] = self._log_posterior(rows[part], log_prior)
            answered = bounded_map(lambda part: self._log_posterior(rows[part], log_prior), parts[1:])
            for part, found in zip(parts[1:], answered, strict=True):
                out[part] = found
        return out

    def _log_posterior(self, rows: BinnedRows, log_prior: Array | None) -> Array:
        prior = self.log_prior if log_prior is None else log_prior
        known = rows.known.sum(axis=1)
        few = known < self.usual
        scores = np.empty((len(rows), len(prior)))
        for own in (few, ~few):
            if own.any():
                whole = bool(own.all())
                scores[own] = self._scores(rows if whole else rows[own], known[own], prior)
        found = mix_with_prior(log_softmax(scores), prior, self.floor)
        shares = self.class_weight / self.class_weight.sum()
        found[known == 0] = log_of(shares) if log_prior is None else log_prior
        return found

    def _scores(self, rows: BinnedRows, known: Codes, prior: Array) -> Array:
        """Return the scores (n, k) of rows that all know less than usual, or none of them."""
        return self.summed(known, prior, lambda own: own.member.scores(rows), self.single_columns(rows))

    def summed(
        self, known: Codes, prior: Array, scores: Callable[[JudgedMember], Array], columns: Sequence[Array]
    ) -> Array:
        """Return prior + bias + Σ_m weight_m F_m, (n, k), of rows of which so many cells (n,) are `known`.

        `scores` gives F of each member that has a weight, `columns` are those of columns with weights of their own.
        """
        weights, biased = self.weights_of(known)
        members = zip(self.members, weights, strict=False)
        parts = (scores(own) if np.any(weight) else None for own, weight in members)
        return summed(prior + biased * self.stack.bias, weights, chain(parts, columns))

    def weights_of(self, known: Codes) -> tuple[Sequence[Array], Array]:
        """Return the weight of each member and single column, each for all rows or by row (n, 1), and of the biases.

        `known` (n,) is how many cells of the rows are known.
        """
        few = self.few_known if (known < self.usual).any() else None
        if few is None:
            return list(self.stack.weight), np.ones((len(known), 1))
        own, alone = np.split(self.stack.weight, [len(self.members)])
        return [*few.weights(own, known).T[:, :, None], *alone], few.shares(known)[:, :1]

    def leave_out(self, sample: Sample, log_prior: Array | None = None) -> Array:
        """Return log posteriors (n, k) of learned rows, each by what is known without it.

        Of rows that the model was judged on these are `left_out_posterior`; the others had no part in the choice or the
        stack, and leave every member. `log_prior` (n, k) replaces the classes' shares without each row.
        """
        place = places_of(sample.contents(), () if self.sample is None else self.sample.contents())
        own, other = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
        out = np.zeros((len(place), len(self.class_weight)))
        out[own] = self.left_out_posterior[place[own]]
        if log_prior is not None:
            out[own] = exchange_priors(out[own], self.offset[place[own]], log_prior[own], self.floor)
        if len(other):
            out[other] = self._leave_out(sample[other], None if log_prior is None else log_prior[other])
        return out

    def _leave_out(self, sample: Sample, log_prior: Array | None) -> Array:
        offset = priors_without(self.class_weight, sample)
        offset = offset if log_prior is None else log_prior
        known, columns = sample.rows.known.sum(axis=1), self.left_out_columns(sample)
        scores = self.summed(known, offset, lambda own: own.member.left_out(sample), columns)
        return mix_with_prior(log_softmax(scores), offset, self.floor)

    def left_out_columns(self, sample: Sample) -> list[Array]:
        """Return the left-out scores (n, k) of each column with a weight of its own."""
        found = list[Array]()
        for member, wanted in self._additive():
            found += [part for j, part in enumerate(member.held_out_columns(sample)) if j in wanted]
        return found

    def single_columns(self, rows: BinnedRows) -> list[Array]:
        """Return the scores (n, k) of each column with a weight of its own."""
        return list(chain.from_iterable(member.columns(rows, wanted) for member, wanted in self._additive()))

    def single_places(self, rows: BinnedRows) -> list[int]:
        """Return the number among all columns, numbers first, of each column with a weight of its own."""
        return [member.place_of(j, rows) for member, wanted in self._additive() for j in wanted]

    def _additive(self) -> list[tuple[Member, list[int]]]:
        """Return the members whose columns have weights of their own, in the order of `columns`, and which have."""
        by_kind = {own.member.column_kind: own.member for own in self.members if own.member.width}
        return [(member, [j for own, j in self.columns if own == kind]) for kind, member in by_kind.items()]

    def words(self, rows: TableRows) -> list[Words]:
        """Return what the words of each column of texts add, each member's times its weight."""
        read = self.frozen.read(rows.numbers, rows.coded)
        return [self._words(read, j) for j in range(self.frozen.texts)]

    def _words(self, rows: BinnedRows, column: int) -> Words:
        read, parts = rows.terms(column), []
        weights, _ = self.weights_of(rows.known.sum(axis=1))
        for own, weight in zip(self.members, weights, strict=False):
            if own.member.reads_texts and np.any(weight):
                times, nats = own.member.of_units(read, column)
                of_rows = sparse.vstack([times, sparse.csr_array((1, times.shape[1]))], format="csr")[read.number]
                each = np.broadcast_to(np.asarray(weight).reshape(-1), len(rows))
                parts.append((sparse.csr_array(sparse.diags_array(each) @ of_rows), nats))
        return Words(len(rows), read.terms.unit_names, parts)

    def lower(self, job: Lowering, positions: Sequence[int], log_prior: Array | None = None) -> program.Stack:
        """Enter the members' terms into a program, each with its weight in the pool, and return the pool.

        `positions` are those of the table's columns, numbers first; `log_prior` (k,) replaces the classes' shares.
        """
        inputs = Inputs(job, self.frozen, positions)
        alone = self.stack.weight[len(self.members) :]
        by_column: dict[str, dict[int, float]] = {}
        for (kind, j), weight in zip(self.columns, alone, strict=True):
            by_column.setdefault(kind, {})[j] = float(weight)
        few = self.few_known
        by_known = np.ones((1, 1)) if few is None else few.shares(np.arange(few.usual + 1))
        bias = np.zeros((by_known.shape[1], len(self.class_weight)))
        bias[0] = self.stack.bias
        terms: list[tuple[int, Array]] = []
        for i, own in enumerate(self.members):
            columns = by_column.get(own.member.column_kind, {})
            weights = np.append(self.stack.weight[i], () if few is None else few.weight[:, i])
            if weights.any() or columns:
                terms += [(job.add(term), w) for term, w in own.member.lower(inputs, weights, columns)]
        prior = self.log_prior if log_prior is None else log_prior
        shares = self.class_weight / self.class_weight.sum() if log_prior is None else np.exp(log_prior)
        return program.Stack(
            terms=tuple(number for number, _ in terms),
            weight=np.array([weight for _, weight in terms]).reshape(len(terms), len(bias)).T,
            bias=bias,
            by_known=by_known,
            offset=prior,
            floor=float(self.floor),
            prior=np.exp(prior),
            shares=np.asarray(shares),
            known_readings=tuple(inputs.numbers),
            known_codes=tuple(inputs.codes),
        )


def mix_with_prior(log_posterior: Array, log_prior: Array, floor: float) -> Array:
    """Return log((1 − e) P + e π)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(log_posterior + np.log1p(-floor), np.log(floor) + log_prior))


def exchange_priors(log_posterior: Array, made_with: Array, log_prior: Array, floor: float) -> Array:
    """Return log posteriors (n, k) under other log class priors (n, k) than they were made with; both have the floor.

    With P the posteriors without it, those under other priors are in proportion to P_k π'_k / π_k.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.minimum(np.exp(np.log(floor) + made_with - log_posterior), 1.0)  # of each that is the floor
        bare = log_posterior + np.log1p(-share)
    return mix_with_prior(log_softmax(bare - made_with + log_prior), log_prior, floor)


def contributions(
    automatic: StackedEnsemble,
    rows: BinnedRows,
    log_posterior: Array,
    log_prior: Array,
    orders: int | None = None,
    errors: bool = False,
) -> tuple[Array, Array | None]:
    """Return contributions (n, d, k) in nats, numbers first, and their standard errors if asked for.

    Shapley values are linear in what is explained, and the pool adds up its members: each member's contributions times
    its weight. They are exact for the members that add up columns; for the others they are Shapley values of their
    marginal densities, exact for few columns and else sampled. What the pool adds itself (intercepts, the floor, half
    a row of prior for each class) is shared out in proportion to the sizes of a row's contributions, alike among its
    cells where none has any, so that they add up with `log_prior` (k,) to the odds of `log_posterior` (n, k).
    """
    d = len(automatic.frozen.scores) + len(automatic.frozen.vocabulary)
    n, k = len(rows), len(log_prior)
    orders = orders or max(8, min(64, MOST_STEPS // max(d, 1)))
    total, variance = np.zeros((n, d, k)), np.zeros((n, d, k))
    told = rows.known.copy()  # cells that may contribute; of all columns but a few, the known ones
    weights, _ = automatic.weights_of(rows.known.sum(axis=1))
    for member, weight in zip(automatic.members, weights, strict=False):
        if np.any(weight):
            score, spread = member.member.explain(rows, orders, errors)
            told[:, list(member.member.places)] = True
            total += weight[..., None] * score
            variance += weight[..., None] ** 2 * spread
    single = zip(automatic.single_places(rows), automatic.single_columns(rows), strict=True)
    for (place, part), weight in zip(single, weights[len(automatic.members) :], strict=True):
        total[:, place] += weight * centred(part)
    total[~told] = 0.0
    goal = centred(log_posterior) - (log_prior - log_prior.mean())
    rest = goal - total.sum(axis=1)
    size = np.abs(total).sum(axis=2)
    whole = size.sum(axis=1, keepdims=True)
    alike = told / np.maximum(told.sum(axis=1, keepdims=True), 1)
    some = whole > ROUNDING
    share = np.where(some, size / np.where(some, whole, 1.0), alike)
    total += share[:, :, None] * rest[:, None, :]
    return total, np.sqrt(variance) if errors else None
