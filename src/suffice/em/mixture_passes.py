"""Mixtures fitted by passes over rows that are elsewhere: every EM step asks for sums over all of them.

`sweep` does the E step of a batch and condenses it; its sums add over batches, whoever reads them. The steps are those
of `mixture.ascend`, which fits rows in memory too. All that is tried (every class, and under "bic" every number of
components) climbs side by side, so that one pass serves all of it, and there are as many passes as the longest climb
has steps. Climbs start from a sample of each class's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from .._arrays import Array, Codes, np, single_blas_thread
from ..densities import Gaussian, Mixture
from ..stats import CompletedStats, GaussianStats, MixtureStats, PatternStats, PooledScatter
from .mixture import (
    Answer,
    Ascent,
    Climb,
    Condense,
    Expect,
    Flags,
    Job,
    Rows,
    T,
    ascend,
    choose,
    condense,
    drop,
    expect,
    log_shares,
    owners,
    share_by_class,
)
from .mixture_model import ComponentStats, Mixing, MixtureFamily
from .starts import (
    BIC,
    Search,
    assemble,
    check_distinct,
    distinct,
    fit_class,
    least_bic,
    most_likely,
    possible,
    short_climbs,
    starts,
)

LABELLED, ALL = -1, -2  # rows of any class, and also those without a label


@dataclass(frozen=True, slots=True)
class Pass:
    """An E step and what it leaves: asked of the rows of class `of`, numbered 0, or of those `LABELLED`, or of `ALL`.

    `owner` (m,) are the components' classes of k. `mixtures` is one over all of them, or one for each class's rows.
    The components that each of `left` does not keep are dropped after the E step. Missing cells are filled by the
    Gaussian of the row's class in `fillers`, by the mixture if there are none.
    """

    of: int
    k: int
    family: Mixing
    owner: Codes
    mixtures: tuple[Mixture, ...]
    log_prior: Array
    left: tuple[Flags, ...] = ()
    fillers: Gaussian | None = None


@dataclass(frozen=True, slots=True)
class Sums:
    """The log likelihood of rows, and the statistics of the components under their responsibilities."""

    likelihood: float
    stats: MixtureStats

    def merge(self, other: Sums) -> Sums:
        """Return the sums over the rows of both, of one pass."""
        weight, inner = self.stats.weight + other.stats.weight, self.stats.inner.merge(other.stats.inner)
        return Sums(self.likelihood + other.likelihood, replace(self.stats, weight=weight, inner=inner))


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of one class in lexicographic order, and whether they are all it has."""

    rows: Rows
    complete: bool


Run = Callable[[Sequence[Pass]], Sequence[Sums]]
Conversation = Generator[Pass, Sums, Climb]


def sweep(values: Array, codes: Codes, weight: Array | None, work: Sequence[Pass]) -> list[Sums | None]:
    """Return what each pass finds in a batch of rows (n, d) with class numbers (n,), −1 without a label."""
    chosen: dict[int, Rows] = {}
    for of in {asked.of for asked in work}:
        own = np.flatnonzero(codes == of if of >= 0 else codes >= 0) if of != ALL else np.arange(len(codes))
        numbers = np.zeros(len(own), dtype=np.int64) if of >= 0 else codes[own]
        chosen[of] = Rows.of(values[own], numbers, None if weight is None else weight[own])
    return [_find(chosen[asked.of], asked) if len(chosen[asked.of].values) else None for asked in work]


def _find(rows: Rows, asked: Pass) -> Sums:
    owner, likelihood = asked.owner, 0.0
    if len(asked.mixtures) == 1:
        likelihood, share = expect(rows, asked.mixtures[0], asked.log_prior)
    else:
        share = share_by_class(rows, owner, asked.mixtures)
    filler = asked.mixtures[0].components if asked.fillers is None else choose(asked.fillers, owner, rows)
    for kept in asked.left:
        owner, share, filler = drop(rows, owner, share, filler, kept)
    return Sums(likelihood, condense(rows, owner, share, filler, asked.family, asked.k))


def _converse(ascent: Ascent, first: Pass) -> Conversation:
    """Answer what an ascent asks by passes; `first` gives the responsibilities it begins with."""
    asked: Pass = first
    found: Sums | None = None
    answer: Answer = None
    while True:
        try:
            wanted = ascent.send(answer)
        except StopIteration as end:
            reached: Climb = end.value
            return reached
        if isinstance(wanted, Expect):
            mixture = wanted.mixture
            asked = replace(
                asked, owner=mixture.owner, mixtures=(mixture,), log_prior=wanted.log_prior, left=(), fillers=None
            )
            found = yield asked
            answer = found.likelihood
        elif isinstance(wanted, Condense):
            found = (yield asked) if found is None else found
            answer = found.stats
        else:
            asked, found, answer = replace(asked, left=(*asked.left, wanted.kept)), None, None


def _side_by_side(conversations: Sequence[Conversation], run: Run) -> list[Climb]:
    """Return where all of them arrive, each pass answering every one that still asks."""
    reached: dict[int, Climb] = {}
    asked: dict[int, Pass] = {}
    answers: dict[int, Sums | None] = dict.fromkeys(range(len(conversations)))  # None: not begun
    while answers:
        for i, answer in answers.items():
            try:
                asked[i] = next(conversations[i]) if answer is None else conversations[i].send(answer)
            except StopIteration as end:
                reached[i] = end.value
                asked.pop(i, None)
        answers = dict(zip(asked, run(list(asked.values())), strict=True)) if asked else {}
    return [reached[i] for i in range(len(conversations))]


def fit_by_passes(
    run: Run, single: MixtureStats, samples: Sequence[Sample], family: MixtureFamily[T], settings: T, search: Search
) -> MixtureStats:
    """Return the statistics of mixtures fitted to labelled rows, as `starts.fit_mixtures` does in memory.

    `single` are the statistics of the rows as `family.apart()` counts them, `samples` the rows of each class that
    the starts are taken from. A class whose sample is complete is fitted to it, which takes no pass.
    """
    own = family.apart()
    tries = [_Tries.of(single, samples[c], c, own, settings, search) for c in range(single.k)]
    with single_blas_thread():
        climbs = iter(_side_by_side([climbing for each in tries for climbing in each.climbing], run))
        found = [each.best([next(climbs) for _ in each.climbing]) for each in tries]
        bound = family.inner.shared or family.under(settings).pools or bool((single.column_weight() <= 1).any())

        def jointly() -> MixtureStats:
            return _fit_together(run, single, found, family, settings, search)

        return assemble(found, lambda: together(single, family), jointly if bound else None)


def together(single: MixtureStats, family: Mixing) -> MixtureStats:
    """Return the statistics that `family.apart()` counted as the family itself would have."""
    return replace(single, inner=_pooled(single.inner)) if family.inner.form is PooledScatter else single


def _pooled(stats: ComponentStats) -> ComponentStats:
    if isinstance(stats, PatternStats):
        parts = {pattern: (present, _pool(part)) for pattern, (present, part) in stats.incomplete.items()}
        return PatternStats(_pool(stats.complete), parts)
    if isinstance(stats, CompletedStats):
        return replace(stats, complete=_pool(stats.complete))
    return _pool(stats)


def _pool(stats: GaussianStats) -> GaussianStats:
    dense = stats.dense()
    return replace(dense, scatter=PooledScatter.of(dense.scatter.values), form=PooledScatter)


def join_by_passes(
    run: Run,
    single: MixtureStats,
    stats: MixtureStats,
    total: float,
    family: MixtureFamily[T],
    settings: T,
    search: Search,
    log_prior: Array | None,
) -> MixtureStats:
    """Return what `starts.join_rows` does in memory: mixtures of all rows, those without a label joining by EM.

    `single` and `stats` are those of the labelled rows, `total` is the weight of all rows.
    """
    job = Job.of(together(single, family), total, family.under(settings), search.max_iter, search.tol)
    job = replace(job, log_prior=log_prior)
    mixture = job.model.estimate(stats)
    priors = log_shares(stats) if log_prior is None else log_prior
    first = Pass(ALL, stats.k, family, stats.owner, (mixture,), priors)
    with single_blas_thread():
        (climbed,) = _side_by_side([_converse(ascend(stats.owner, job), first)], run)
    return replace(climbed.stats, asked=np.maximum(stats.asked, climbed.stats.counts))


@dataclass(frozen=True, slots=True)
class _Tries:
    """What is tried for one class: `done` without a pass, or some numbers of components that climb."""

    alone: Climb  # as one component; its likelihood is not known
    job: Job
    wanted: int | str
    climbing: tuple[Conversation, ...] = ()
    done: Climb | None = None

    @classmethod
    def of(
        cls, single: MixtureStats, sample: Sample, c: int, family: MixtureFamily[T], settings: T, search: Search
    ) -> _Tries:
        index = np.where(np.arange(single.k) == c, 0, -1)
        stats, wanted = single.regroup(index, 1), search.wanted[c]
        job = Job.of(stats, float(single.weight[c]), family.under(settings), search.max_iter, search.tol)
        alone = Climb(stats, Mixture(job.reference, np.zeros(1, dtype=np.int64), np.zeros(1)), (0.0,))
        if sample.complete:
            done = fit_class(sample.rows, c, family, settings, search)
            return cls(alone, job, wanted, done=replace(done, stats=_exact(done.stats, stats)))
        if wanted == 1:
            return cls(alone, job, wanted, done=alone)
        rng = np.random.default_rng(search.seeds[c])
        kinds = distinct(sample.rows.values)
        if isinstance(wanted, str):
            cells = float(stats.column_weight().sum())
            numbers = [m for m in range(2, search.max_components + 1) if possible(m, job, cells, kinds)]
        else:
            check_distinct(kinds, wanted, job.model.label(c))
            numbers = [wanted]
        climbing = [_rise(_start(sample.rows, m, job, rng, search.n_init), job, c) for m in numbers]
        return cls(alone, job, wanted, (*([_look(alone, job, c)] if wanted == BIC else []), *climbing))

    def best(self, climbs: Sequence[Climb]) -> Climb:
        """Return the mixture of the class, from where the climbs arrived."""
        if self.done is not None:
            return self.done
        if isinstance(self.wanted, str):
            chosen = least_bic([climbs[0] if climbed.stats.is_single else climbed for climbed in climbs], self.job)
            return replace(chosen, stats=replace(chosen.stats, asked=chosen.stats.counts))
        best = self.alone if climbs[0].stats.is_single else climbs[0]
        return replace(best, stats=replace(best.stats, asked=np.full(1, self.wanted)))


def _exact(stats: MixtureStats, single: MixtureStats) -> MixtureStats:
    """Return the statistics of a class fitted to its sample; as one component, they are those of the rows."""
    return replace(single, asked=stats.asked) if stats.is_single else stats


def _start(rows: Rows, m: int, job: Job, rng: np.random.Generator, n_init: int) -> Mixture:
    """Return where to begin: the most likely of several short climbs on a sample.

    Where so few rows let a component collapse, it is the first start, with one covariance for all components.
    """
    here = replace(job, total=float(rows.weight.sum()))
    best = most_likely(short_climbs(rows, m, here, rng, n_init))
    if len(best.stats.owner) == m:
        return best.mixture
    owner, gentle = np.zeros(m, dtype=np.int64), job.model.gentle()
    stats = condense(rows, owner, next(starts(rows, m, rng, 1)), choose(job.reference, owner, rows), gentle.family, 1)
    return gentle.estimate(stats)


def _rise(start: Mixture, job: Job, c: int) -> Conversation:
    first = Pass(c, 1, job.family, start.owner, (start,), np.zeros(1))
    return _converse(ascend(start.owner, job), first)


def _look(alone: Climb, job: Job, c: int) -> Conversation:
    """Ask for the likelihood of a class as one component."""
    found = yield Pass(c, 1, job.family, alone.mixture.owner, (alone.mixture,), np.zeros(1))
    return replace(alone, trace=(found.likelihood,))


def _fit_together(
    run: Run, single: MixtureStats, found: Sequence[Climb], family: MixtureFamily[T], settings: T, search: Search
) -> MixtureStats:
    """Return the mixtures of all classes fitted jointly, from where each class arrived on its own."""
    owner = owners(found)
    job = Job.of(
        together(single, family), float(single.weight.sum()), family.under(settings), search.max_iter, search.tol
    )
    mixtures = tuple(climbed.mixture for climbed in found)
    first = Pass(LABELLED, single.k, family, owner, mixtures, np.zeros(single.k), fillers=job.reference)
    return _side_by_side([_converse(ascend(owner, job), first)], run)[0].stats
