"""Choose members by exact leave-one-out, stack them, and mix a little of the prior into posteriors.

Rows of a sample are scored without themselves under every setting of every member; each member keeps the setting that
loses least after its own temperature; a log-linear stack pools the members, with weights for single columns; a little
of the class prior is mixed in. Nothing is held back: the densities themselves use the statistics of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from typing import NamedTuple

from .._arrays import Array, log_softmax, np, parallel_map, single_blas_thread, workers
from ..errors import DataError, SufficeError, count, either, quoted
from ..notes import Kind, Note
from ..progress import EXPECTED, is_listened_to, tell
from .folds import dealt
from .judge import HOPELESS, HoldoutScorer
from .limits import Clock, pace
from .member import Again, Begun, Candidate, Member, TrainingStats, title
from .members import MEMBERS, UNLABELLED_MEMBERS
from .pool import StackedEnsemble, mix_with_prior
from .sample import Sample, Unlabelled
from .stack import Stack, centred, prior_shares, priors_without
from .statistics import MemberStats
from .weighing import LEAST_POWER, JudgedMember, judge_in_folds, most_telling, power_of_rows, telling

MEMBER_PENALTY = 100.0
TEMPERED_PENALTY = 30.0  # the least where a weight of 1 is that of the member after its temperature
COLUMN_PENALTIES: tuple[float, ...] = (3.0, 30.0, 300.0, 1e6)
BIAS_PENALTY = 1.0
FLOOR = 0.1  # rows' worth of class prior mixed into posteriors
DOUBTFUL = 0.1
WORK = 200.0  # operations for each judged row, class and column, roughly: few are not worth a thread
BETTER = 1e-9  # nats by which a setting must lose less than one tried before
FAULTS = SufficeError, np.linalg.LinAlgError, FloatingPointError  # of a member that cannot be estimated
MOST_EQUAL = 1.1  # times as many rows as distinct ones: a fold would take all that are equal, of which one is left out
POOLING = 0.36  # seconds for a million judged cells times classes, in which members are weighed
LONG = 10.0  # seconds, from which on it is told beforehand what is expected
TREES_SHARE = 1 / 3  # of a limit, kept for boosted trees: of 6 tables these alone lost least on 4
MOST_IN_FOLDS = 4000  # rows × classes that are judged in folds: of more, what choosing costs is below .002 nats


def choose(
    sample: Sample,
    stats: MemberStats,
    categories: Sequence[Array],
    weight: Array,
    parts: bool = True,
    wanted: str = "all",
    unlabelled: Unlabelled | None = None,
    time_limit: float | None = None,
) -> StackedEnsemble:
    """Return the automatic classifier for statistics of all rows, judged on a sample of them.

    `categories` (k, levels) are counts of all rows in the vocabulary of the frozen columns, `weight` (k,) the class
    weights. Without `parts`, there are no members that are made of the rows of the sample; with
    "generative" `wanted` instead of "all", none that are no densities. Rows without a label, if there are any, are
    learned by members of their own, which stay if the pool loses less with them. With a `time_limit` in seconds, the
    members are judged that are expected to be done by then.
    """
    kinds = [kind for kind in MEMBERS if (parts or not kind.needs_rows) and (wanted == "all" or kind.generative)]
    with single_blas_thread():  # many small products, slower on several threads
        known = replace(stats.known(categories, weight), unlabelled=unlabelled if parts else None)
        known = replace(known, clock=Clock.of(time_limit))
        found = _choose(sample, known, kinds)
    return replace(found, notes=(*found.notes, *stats.notes))


def _choose(sample: Sample, known: TrainingStats, kinds: Sequence[type[Member]]) -> StackedEnsemble:
    weight = known.weight
    offset = priors_without(weight, sample)
    apart = float((sample.held / sample.removed).sum()) > MOST_EQUAL * len(sample)
    in_folds = offset.size <= MOST_IN_FOLDS and not apart
    place = dealt(sample) if in_folds or sample.folds is not None else None
    judge = HoldoutScorer(sample.codes, offset, sample.weight, sample.single, place=place)
    limited, late = known.clock.end < np.inf, list[type[Member]]()
    costs = _costs(kinds, known, sample) if limited or is_listened_to() else {}
    _tell_expected(costs, known.clock)
    if limited:
        found, faults, late = _judged_in_time(kinds, known, sample, judge, costs)
    else:
        found, faults = _judged(kinds, known, sample, judge)
    members = better_rivals(found)
    if not members and faults:
        why = "; ".join(dict.fromkeys(fault.reason for fault in faults))
        raise DataError(
            f"{either('A GenerativeClassifier', 'An automatic classifier')} has no member left for these rows: {why}. "
            "Next: leave out the columns that this names, or those whose numbers are extreme; or fit "
            f"{either('NaiveBayes or GenerativeForest', '--model nb or --model forest')}."
        )
    labelled = _pooled(members, known, sample, judge, kinds)
    left_out = *(fault.note for fault in faults), *_dropped(judge.hopeless), *_late(late, known.clock)
    labelled = replace(labelled, notes=(*labelled.notes, *left_out))
    if known.unlabelled is None:
        return labelled
    if sample.folds is not None:
        what = f"left {count(round(known.unlabelled.rows_read), 'row')} without a label out of the members"
        note = Note(what, "the others are judged by folds of whole groups", kind=Kind.LEFT_OUT)
        return replace(labelled, notes=(*labelled.notes, note))
    joined, more = list[JudgedMember](), dict[type[Member], Fault]()
    for kind in UNLABELLED_MEMBERS:
        joined += _estimable(kind, partial(best_of, kind, known, sample, judge), more)
    if not joined:
        spared = chain.from_iterable(kind.spared(known) for kind in UNLABELLED_MEMBERS)
        return replace(labelled, notes=(*labelled.notes, *(fault.note for fault in more.values()), *spared))
    every = _pooled([*members, *joined], known, sample, judge, kinds)
    return with_or_without(labelled, every, judge, known.unlabelled.rows_read)


def _judged(
    kinds: Sequence[type[Member]], known: TrainingStats, sample: Sample, judge: HoldoutScorer
) -> tuple[list[JudgedMember], list[Fault]]:
    """Return the members of all kinds in their order, and which of them these rows do not let be estimated.

    Those that ask for the best of the members before them are begun beside the others, and judged when these are; those
    that take long here before them, as what the others lose may tell at a look that they are hopeless. Those that ask
    trees are a thread's work: long calls of compiled kernels, beside which the short ones of others go on.
    """
    context, faults = copy_context(), dict[type[Member], Fault]()

    def judged(kinds: Sequence[type[Member]]) -> list[tuple[type[Member], list[JudgedMember] | Begun]]:
        return [(kind, context.copy().run(_judged_or_begun, kind, known, sample, judge, faults)) for kind in kinds]

    trees = [kind for kind in kinds if kind.asks_trees]
    others = sorted([kind for kind in kinds if not kind.asks_trees], key=lambda kind: not kind.needs_rows)
    cost = WORK * judge.offset.size * known.columns.d
    done = dict(chain.from_iterable(parallel_map(judged, [trees, *([kind] for kind in others)], cost=cost)))
    for kind in kinds:
        part = done[kind]
        if not isinstance(part, list) and not kind.asks_best:
            beside = chain.from_iterable(own for own in done.values() if isinstance(own, list))
            begun = partial(_best_of_begun, kind, part, sample, _with_best(judge, beside), judge)
            done[kind] = _estimable(kind, begun, faults)
    found = list[JudgedMember]()
    for kind in kinds:
        part = done[kind]
        if not isinstance(part, list):
            begun = partial(_best_of_begun, kind, part, sample, _with_best(judge, found), judge)
            part = _estimable(kind, begun, faults)
        found += part
    return found, [faults[kind] for kind in kinds if kind in faults]


def _costs(kinds: Sequence[type[Member]], known: TrainingStats, sample: Sample) -> dict[type[Member] | None, float]:
    """Return about how many seconds it takes, here and now, to judge the members of each kind, and to weigh all."""
    now = pace()
    weighing = POOLING * (len(sample) + 1000) * known.columns.d * known.k / 1e6
    return {None: now * weighing, **{kind: now * kind.expected(known, sample) for kind in kinds}}


def _tell_expected(costs: Mapping[type[Member] | None, float], clock: Clock) -> None:
    """Tell who listens how long choosing members is expected to take, where it is long: trees are one thread's work."""
    trees = sum(own for kind, own in costs.items() if kind is not None and kind.asks_best)
    expected = min(max(sum(costs.values()) / min(workers(), 2), trees), clock.left)
    if expected > LONG:
        tell(f"{EXPECTED} about {expected:.0f} s")


def _judged_in_time(
    kinds: Sequence[type[Member]],
    known: TrainingStats,
    sample: Sample,
    judge: HoldoutScorer,
    costs: Mapping[type[Member] | None, float],
) -> tuple[list[JudgedMember], list[Fault], list[type[Member]]]:
    """Return the members judged while there is time, faults, and the kinds for which there was none.

    Those that are expected to take the fewest seconds come first; trees may use what is left.
    """
    found, faults, late = dict[type[Member], list[JudgedMember]](), dict[type[Member], Fault](), list[type[Member]]()
    known = replace(known, clock=known.clock.less(costs[None]))
    spared = min(sum(costs[kind] for kind in kinds if kind.asks_best), TREES_SHARE * known.clock.left)
    after = {kind: kind.asks_best or kind.takes_long(known, len(sample)) for kind in kinds}
    for kind in sorted(kinds, key=lambda kind: (kind.asks_best, after[kind], costs[kind])):
        need = 0.0 if kind.asks_best or not costs[kind] else spared + costs[kind]
        if any(found.values()) and known.clock.left < need:
            late.append(kind)
            continue
        inner = _with_best(judge, chain.from_iterable(found.values())) if after[kind] else judge
        found[kind] = _estimable(kind, partial(best_of, kind, known, sample, judge, inner), faults)
    members = [own for kind in kinds for own in found.get(kind, ())]
    return members, [faults[kind] for kind in kinds if kind in faults], late


def _late(late: Sequence[type[Member]], clock: Clock) -> Iterator[Note]:
    """Yield notes on members that a time limit left out or cut short, if there are any."""
    if late:
        what = f"left {quoted([title(kind.kinds[0]) for kind in late])} out of the members"
        yield Note(what, "they would take longer than time_limit; with more time they are judged", kind=Kind.LEFT_OUT)
    for name in clock.cut:
        yield Note(f"stopped {name} early", "time_limit was over", kind=Kind.STOPPED_EARLY)


def _with_best(judge: HoldoutScorer, members: Iterable[JudgedMember]) -> HoldoutScorer:
    """Return the judge with the scores of the best of these members, after its temperature, if there is any."""
    best = min(members, key=lambda own: own.loss, default=None)
    return replace(judge, best=None if best is None else best.temperature * best.left_out_scores)


def _judged_or_begun(
    kind: type[Member], known: TrainingStats, sample: Sample, judge: HoldoutScorer, faults: dict[type[Member], Fault]
) -> list[JudgedMember] | Begun:
    if not (kind.asks_best or kind.takes_long(known, len(sample))):
        return _estimable(kind, partial(best_of, kind, known, sample, judge), faults)
    try:
        return kind.begin(known, sample)
    except FAULTS as error:
        faults[kind] = Fault.of(kind, error)
        return []


def _estimable(
    kind: type[Member], judged: Callable[[], Iterator[JudgedMember]], faults: dict[type[Member], Fault]
) -> list[JudgedMember]:
    """Return the members of a kind that can be estimated; where some cannot, `faults` gets a note."""
    found = list[JudgedMember]()
    try:
        for own in judged():
            found.append(own)
    except FAULTS as error:
        faults[kind] = Fault.of(kind, error, some=bool(found))
    return found


def _dropped(hopeless: Sequence[str]) -> Iterator[Note]:
    """Yield a note on members that a look at some rows showed to be hopeless, if there are any."""
    if hopeless:
        why = f"in a look at some rows they lost more than the best of the others by over {HOPELESS:g} standard errors"
        yield Note(f"members {quoted([title(own) for own in hopeless])} are left out unjudged", why, kind=Kind.SPARED)


class Fault(NamedTuple):
    """Members that these rows do not let be estimated, all or `some` of a kind, and why."""

    kind: type[Member]
    reason: str
    some: bool = False

    @classmethod
    def of(cls, kind: type[Member], error: Exception, some: bool = False) -> Fault:
        """Return what an error says."""
        said = str(error).partition(" Next:")[0].rstrip(".")
        return cls(kind, f"they cannot be estimated from these rows ({said})", some)

    @property
    def note(self) -> Note:
        """What is to be said of it."""
        kinds = quoted([title(kind) for kind in self.kind.kinds])
        what = f"left {'some of ' if self.some else ''}{kinds} out of the members"
        return Note(what, self.reason, kind=Kind.LEFT_OUT)


def with_or_without(
    labelled: StackedEnsemble, every: StackedEnsemble, judge: HoldoutScorer, rows: float
) -> StackedEnsemble:
    """Return the pool with members that so many rows without a label have joined, or the one without.

    The latter where labelled rows left out lose less under it by more than a standard error. Such rows give the members
    their weights already, which holds back those that err; what few labels tell beyond that is mostly chance.
    """
    own = np.arange(len(judge.codes)), judge.codes
    apart = every.left_out_posterior[own] - labelled.left_out_posterior[own]
    gain, error = judge.mean(apart)
    chance = ", which may be chance" if abs(gain) <= error else ""
    why = f"labelled rows left out lose {abs(gain):.4f} ± {error:.4f} nats {'more' if gain < 0 else 'less'} with them"
    what = f"{rows:,.0f} row{'' if rows == 1 else 's'} without a label"
    if gain >= -error:
        return replace(every, notes=(*every.notes, Note(f"joined {what}", why + chance, kind=Kind.JOINED)))
    return replace(labelled, notes=(*labelled.notes, Note(f"left {what} out of the members", why, kind=Kind.LEFT_OUT)))


def _pooled(
    members: Sequence[JudgedMember],
    known: TrainingStats,
    sample: Sample,
    judge: HoldoutScorer,
    kinds: Sequence[type[Member]],
) -> StackedEnsemble:
    """Return the pool of these members, with the single columns that have a weight of their own in it."""
    tell("weighing the members")
    weight = known.weight
    additive = [own.member for own in members if own.member.width]
    columns = most_telling(list(chain.from_iterable(telling(own, sample, judge) for own in additive)), judge)
    scores, penalties, left_out = [part for *_, part in columns], COLUMN_PENALTIES, None
    power = power_of_rows(sample, judge)
    pool = partial(pool_members, power=power)
    few = [(penalty,) for penalty in penalties[1:]] if power == LEAST_POWER else [penalties]
    if len(few) > 1 or judge.place is not None:
        penalties, left_out = judge_in_folds(additive, members, sample, judge, few, pool)
    stack = pool(members, scores, judge, penalties)
    used = stack.weight[len(members) :] != 0.0
    columns = [own for own, there in zip(columns, used, strict=True) if there]
    floor = FLOOR / (float(weight.sum()) + FLOOR)
    posterior = mix_with_prior(log_softmax(stack.left_out if left_out is None else left_out), judge.offset, floor)
    naive = stack.scores([own.left_out_scores for own in members] + scores, judge.offset)
    stack = replace(stack, weight=np.append(stack.weight[: len(members)], stack.weight[len(members) :][used]))
    lost = -posterior[np.arange(len(posterior)), judge.codes]
    return StackedEnsemble(
        frozen=known.columns,
        class_weight=weight,
        members=tuple(members),
        columns=tuple((kind, j) for kind, j, _ in columns),
        stack=stack,
        floor=floor,
        left_out_posterior=posterior,
        offset=judge.offset,
        loss=float(judge.weight @ lost) / float(judge.weight.sum()),
        loss_error=judge.error_of_choice(lost, None if sample.units is None else sample.units.groups),
        sample=sample[:],  # without what members have read of it
        notes=(
            *_uncertain(judge.loss(naive - judge.offset), lost, judge, floor),
            *chain.from_iterable(kind.spared(known) for kind in kinds),
        ),
    )


def best_of(
    kind: type[Member], known: TrainingStats, sample: Sample, judge: HoldoutScorer, inner: HoldoutScorer | None = None
) -> Iterator[JudgedMember]:
    """Yield the members of a kind, each with the setting that loses least after its temperature.

    The candidates ask another judge, who knows the best of others, where one is given as `inner`.
    """
    return _best_of_begun(kind, kind.begin(known, sample), sample, inner or judge, judge)


def _best_of_begun(
    kind: type[Member], begun: Begun, sample: Sample, inner: HoldoutScorer, judge: HoldoutScorer
) -> Iterator[JudgedMember]:
    """Yield the same of candidates that were begun; of rows of groups they are judged by folds of whole groups."""
    candidates: Iterator[Candidate] = begun(inner)
    if sample.folds is not None and not kind.folds_rows:
        candidates = sample.folds.judged(candidates, sample, judge)
    return _best_of(candidates, judge)


def _best_of(candidates: Iterable[Candidate], judge: HoldoutScorer) -> Iterator[JudgedMember]:
    """Yield the best of each name. Candidates of the same first member's name are tried together, then let go.

    FloatingPointError, at last, where all those of a name have densities that are no numbers.
    """
    unusable = []
    for name, group in groupby(candidates, key=lambda own: own.members[0].name):
        best: dict[str, tuple[float, float, Member, Candidate]] = {}
        apart = ByOthers(judge)
        for candidate in group:
            if not best:
                tell(f"judging {candidate.members[0].title}")
            few, some = candidate.judge.thinned()
            loss, temperature = few.temperature(candidate.scores[some])
            if np.isnan(loss):
                continue
            apart.add(candidate, temperature)
            for member in candidate.members:
                if member.name not in best or loss < best[member.name][0] - BETTER:
                    best[member.name] = loss, temperature, member, candidate
        scored: dict[int, tuple[float, float, Array, Again | None]] = {}  # two names may have the same
        for loss, temperature, member, candidate in best.values():
            if id(candidate) not in scored:
                scores = candidate.scores if candidate.final is None else candidate.final()
                if candidate.final is not None or len(candidate.judge.thinned()[0].codes) < len(scores):
                    loss, temperature = judge.temperature(scores)
                scored[id(candidate)] = loss, temperature, scores, candidate.again
            if np.isnan(scored[id(candidate)][0]):
                unusable.append(member.name)
                continue
            yield JudgedMember(member, *scored[id(candidate)], by_others=apart.scores(member.name))
        unusable += [] if best else [name]
    if unusable:
        raise FloatingPointError(f"densities of {quoted(unusable)} are no numbers")


class ByOthers:
    """The settings that the rows outside each fold choose, of candidates that are tried one after another.

    A candidate is compared at the temperature that is best for all rows.
    """

    def __init__(self, judge: HoldoutScorer) -> None:
        self.judge = judge
        self.tried = dict[str, list[tuple[Candidate, Array]]]()  # by name, with what each row loses by it (n,)
        self._made = dict[int, Array]()

    def add(self, candidate: Candidate, temperature: float) -> None:
        """Keep a candidate, where all rows judge it and these are dealt into folds."""
        if self.judge.place is None or len(candidate.scores) != len(self.judge.place):
            return
        losses = self.judge.losses(temperature * candidate.scores)
        for member in candidate.members:
            self.tried.setdefault(member.name, []).append((candidate, losses))

    def scores(self, name: str) -> tuple[Array, ...]:
        """Return for each fold the scores (n, k) at the setting that the other rows choose; none for many rows."""
        place, tried = self.judge.place, self.tried.get(name, [])
        if place is None or len(tried) < 2:
            return ()
        losses = np.stack([own for _, own in tried])
        found = list[Array]()
        for fold in range(int(place.max(initial=0)) + 1):
            weight = np.where(place == fold, 0.0, self.judge.weight)
            total = losses @ (weight / max(float(weight.sum()), 1e-300))
            candidate = tried[int(np.argmax(total <= total.min() + BETTER))][0]
            if id(candidate) not in self._made:
                self._made[id(candidate)] = candidate.scores if candidate.final is None else candidate.final()
            found.append(self._made[id(candidate)])
        return tuple(found)


def better_rivals(members: Iterable[JudgedMember]) -> list[JudgedMember]:
    """Return members in their order, of those that are rivals the one that loses less, in the place of the first."""
    best: dict[str, JudgedMember] = {}
    for own in members:
        place = own.member.rival or own.name
        if place not in best or own.loss < best[place].loss - BETTER:
            best[place] = own
    return list(best.values())


def _uncertain(naive: float, lost: Array, judge: HoldoutScorer, floor: float) -> tuple[Note, ...]:
    """Return a note where the mean of the losses (n,) may well be off by more than a tenth.

    That is where its standard error is as large, or where leaving rows out of the pool's weights moves it as much. The
    error is that of the rows and one more that is lost as far as the `floor` lets it: of n rows that are all right, the
    next may be wrong for one in n.
    """
    mean, error = judge.mean(lost)
    own = judge.offset[np.arange(len(lost)), judge.codes]
    worst = -float(np.log(floor)) - judge.mean(own)[0]
    error = float(np.hypot(error, worst / (float(judge.weight.sum()) + 1.0)))
    notes = []
    if abs(mean - naive) > DOUBTFUL * max(naive, 1e-12):
        notes.append(f"{naive:.4f} nats where rows keep their part in the members' weights")
    if error > DOUBTFUL * mean:
        notes.append(f"standard error {error:.4f} nats, with one more wrong answer")
    what = f"the leave-one-out loss of {mean:.4f} nats is uncertain by more than a tenth"
    return (Note(what, ", ".join(notes), kind=Kind.IMPRECISE),) if notes else ()


def _shares(members: Sequence[JudgedMember], losses: Array, judge: HoldoutScorer) -> Array:
    """Return how far members (m,) are trusted before weights are fitted, by their losses (m, n).

    Those that read values share 1. What is missing is no rival of values: p(known cells and which these are | class) is
    a product, so such a member starts at 1, less the shares of trees, which read both.
    """
    apart = np.array([bool(own.member.places) for own in members])
    trees = np.array([own.member.missing_tells for own in members])
    share = np.ones(len(members))
    if not apart.all():
        share[~apart] = prior_shares(losses[~apart], judge)
    share[apart] -= share[trees].sum()
    return share


def pool_members(
    members: Sequence[JudgedMember],
    columns: Sequence[Array],
    judge: HoldoutScorer,
    penalties: Sequence[float],
    power: float,
) -> Stack:
    """Return the stack whose penalty on column weights has the most evidence, rows counted to a `power` of likelihood.

    Member weights start from `prior_shares`, times their temperatures as far as these are not chance, and stay near
    them, unless the rows say much else; near is meant in units of the tempered member, for one that is far too sure
    would move freely otherwise. Where columns are many beside the rows no weight is negative: where a column says
    nothing, what it says of a row left out is the opposite of that row's label, which a negative weight would read.
    """
    m, c = len(members), len(columns)
    scores = centred(np.stack([*(member.left_out_scores for member in members), *columns]))
    losses = np.stack([judge.losses(member.temperature * member.left_out_scores) for member in members])
    heat = np.array([member.heat for member in members])
    told = [judge.beyond_chance(member.loss) for member in members]
    start = np.concatenate([_shares(members, losses, judge) * heat * told, np.zeros(c)])
    positive = np.array([True] * m + [power == LEAST_POWER] * c)
    near = np.maximum(MEMBER_PENALTY / np.maximum(heat, 1.0) ** 2, TEMPERED_PENALTY / heat**2)
    each = power * np.array([[*near, *[own] * c] for own in (penalties if c else penalties[:1])])
    return Stack.fit(scores, judge.tempered(power), each, start, positive, power * BIAS_PENALTY)
