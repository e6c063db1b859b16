"""The automatic classifier's choice: members by exact leave-one-out, a stack of them, and a floor under posteriors.

Rows of a sample are scored without themselves under every setting of every member; each member keeps the setting that
loses least after its own temperature; a log-linear stack pools the members, with weights for single columns; a little
of the class prior is mixed in. Nothing is held back: the densities themselves use the statistics of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .._arrays import Array, log_softmax, np, single_blas_thread
from ..estimate.notes import Note
from ..leave_one_out.wishart import LeftOut, WishartMember
from .columns import INTERVALS, SCORES, FrozenColumns, MixedRows
from .completion import complete_tied, fill_blindly
from .costs import PAIR_BYTES, step_of_rows
from .folds import FoldedGaussians
from .members.dependence import STRENGTHS as DEPENDENCE_STRENGTHS
from .members.dependence import DependenceMember
from .members.levels import STRENGTHS as LEVEL_STRENGTHS
from .members.levels import LevelMember
from .members.splines import STRENGTHS as HAT_STRENGTHS
from .members.splines import HatMember
from .members.subclasses import LEAST_ROWS, Split, choose_split
from .scorers import GaussianScorer, HatScorer, LevelScorer, PairScorer, PartScorer, Sample, Scorer
from .screening import LEAST_POWER, judge_in_folds, most_telling, power_of_rows, telling
from .stack import Judge, Stack, centred, prior_shares, without_each
from .statistics import MemberStats, possible_bins

MEMBER_PENALTY = 100.0
TEMPERED_PENALTY = 30.0  # the least where a weight of 1 is that of the member after its temperature
COLUMN_PENALTIES: tuple[float, ...] = (3.0, 30.0, 300.0, 1e6)
BIAS_PENALTY = 1.0
LEAST_TEMPERATURE = 1e-6
FLOOR = 0.1  # rows' worth of class prior mixed into posteriors
DOUBTFUL = 0.1
PSEUDO = 0.5  # pseudo-count of each class
MOST_NUMBERS = 200  # of columns whose classes are split into parts
ENOUGH = 100  # complete rows to choose Gaussian settings on


@dataclass(frozen=True)
class Member:
    """One member: `held_out` (n, k) log densities of the sample, `scorer` what it is asked.

    `loss` is the mean log-loss of its posteriors on the sample after scaling by its `temperature`, both exact
    leave-one-out; `setting` says what was chosen.
    """

    name: str
    setting: dict[str, Any]
    loss: float
    temperature: float
    held_out: Array
    scorer: Scorer


@dataclass(frozen=True)
class Automatic:
    """The pooled posterior: members and column scores, weighted; `floor` is the share of the class prior mixed in.

    `columns` are those with a weight of their own, ("hat" or "cat", position). `held_out` (n, k) are the log posteriors
    of the sample, each row left out, of the stack's weights too, and `loss` their mean log-loss; `offset` (n, k) the
    log class priors that they were made with.
    """

    frozen: FrozenColumns
    class_weight: Array
    members: tuple[Member, ...]
    columns: tuple[tuple[str, int], ...]
    stack: Stack
    floor: float
    held_out: Array = field(repr=False)
    offset: Array = field(repr=False)
    loss: float
    sample: Sample | None = field(repr=False)
    notes: tuple[Note, ...] = ()

    @property
    def log_prior(self) -> Array:
        """The class shares with half a row added to each, log (k,)."""
        weight = self.class_weight
        return np.asarray(np.log((weight + PSEUDO) / (weight.sum() + PSEUDO * len(weight))))

    def log_posterior(self, rows: MixedRows, log_prior: Array | None = None) -> Array:
        """Return log p(class | row), (n, k) in nats; `log_prior` (k,) replaces the classes' shares.

        A row without any known cell has the classes' shares themselves.
        """
        prior = self.log_prior if log_prior is None else log_prior
        parts = [member.scorer.scores(rows) for member in self.members] + self.single_columns(rows)
        offset = np.broadcast_to(prior, (len(rows), len(prior)))
        found = raise_floor(log_softmax(self.stack.scores(parts, offset)), prior, self.floor)
        with np.errstate(divide="ignore"):
            shares = np.log(self.class_weight / self.class_weight.sum()) if log_prior is None else log_prior
        found[~self.frozen.known(rows).any(axis=1)] = shares
        return found

    def leave_out(self, sample: Sample, log_prior: Array | None = None) -> Array:
        """Return log posteriors (n, k) of learned rows, each by what is known without it.

        Of rows that the model was judged on these are `held_out`; the others had no part in the choice or the stack,
        and leave every member. `log_prior` (n, k) replaces the classes' shares without each row.
        """
        known = {} if self.sample is None else {key: i for i, key in enumerate(self.sample.contents())}
        place = np.array([known.get(key, -1) for key in sample.contents()], dtype=np.int64)
        own, other = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
        out = np.zeros((len(place), len(self.class_weight)))
        out[own] = self.held_out[place[own]]
        if log_prior is not None:
            out[own] = exchange_priors(out[own], self.offset[place[own]], log_prior[own], self.floor)
        if len(other):
            out[other] = self._leave_out(sample[other], None if log_prior is None else log_prior[other])
        return out

    def _leave_out(self, sample: Sample, log_prior: Array | None) -> Array:
        offset = without_each(self.class_weight, sample.codes, sample.removed, PSEUDO)
        offset = offset if log_prior is None else log_prior
        parts = [member.scorer.left_out(sample) for member in self.members]
        for kind, scorer in self._additive().items():  # hats, then categories: the order of `columns`
            wanted = {j for own, j in self.columns if own == kind}
            parts += [part for j, part in enumerate(scorer.left_out_columns(sample)) if j in wanted]
        return raise_floor(log_softmax(self.stack.scores(parts, offset)), offset, self.floor)

    def single_columns(self, rows: MixedRows) -> list[Array]:
        """Return the scores (n, k) of each column with a weight of its own."""
        found: list[Array] = []
        for kind, scorer in self._additive().items():  # hats, then categories: the order of `columns`
            wanted = [j for own, j in self.columns if own == kind]
            cells: Any = rows.numbers if kind == "hat" else rows.levels
            found += scorer.model.columns(cells, wanted)
        return found

    def _additive(self) -> dict[str, Any]:
        scorers = [member.scorer for member in self.members]
        kinds = (("hat", HatScorer), ("cat", LevelScorer))
        return {kind: own for kind, t in kinds for own in scorers if isinstance(own, t)}


def raise_floor(log_posterior: Array, log_prior: Array, floor: float) -> Array:
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
    return raise_floor(log_softmax(bare - made_with + log_prior), log_prior, floor)


def choose(
    sample: Sample, stats: MemberStats, categories: Sequence[Array], weight: Array, parts: bool = True
) -> Automatic:
    """Return the automatic classifier for statistics of all rows, judged on a sample of them.

    `categories` (k, levels) are counts of all rows in the vocabulary of the frozen columns, `weight` (k,) the class
    weights. Without `parts`, no class is split into them: their statistics are of the rows of the sample.
    """
    with single_blas_thread():  # many small products, slower on several threads
        return _choose(sample, stats, categories, weight, parts)


def _choose(
    sample: Sample, stats: MemberStats, categories: Sequence[Array], weight: Array, with_parts: bool
) -> Automatic:
    offset = without_each(weight, sample.codes, sample.removed, PSEUDO)
    judge = Judge(sample.codes, offset, sample.weight, sample.single)
    members = list(_gaussian_members(sample, stats, judge))
    hats, levels = _hat_member(sample, stats, judge), _level_member(sample, categories, judge)
    candidates: list[tuple[str, int, Array]] = []
    for found in (hats, levels):
        if found is not None:
            members.append(found[0])
            candidates += found[1]
    pairs = _dependence_member(sample, stats, judge)
    if pairs is not None:
        members.append(pairs)
    parts = _subclass_member(members, sample, stats, judge, float(weight.sum())) if with_parts else None
    if parts is not None:
        members.append(parts)
    columns = most_telling(candidates, judge)
    scores, penalties, left_out = [part for *_, part in columns], COLUMN_PENALTIES, None
    power = power_of_rows(sample, judge)
    pool = partial(_pool, power=power)
    if power == LEAST_POWER:
        additive = [None if found is None else found[0].scorer for found in (hats, levels)]
        penalties, left_out = judge_in_folds(additive, members, sample, judge, COLUMN_PENALTIES[1:], pool)
    stack = pool(members, scores, judge, penalties)
    floor = FLOOR / (float(weight.sum()) + FLOOR)
    held_out = raise_floor(log_softmax(stack.left_out if left_out is None else left_out), judge.offset, floor)
    naive = stack.scores([m.held_out for m in members] + scores, judge.offset)
    own = np.arange(len(held_out)), judge.codes
    notes = _uncertain(judge.loss(naive - judge.offset), -held_out[own], judge, floor) + _spared(stats, len(weight))
    return Automatic(
        stats.columns,
        weight,
        tuple(members),
        tuple((kind, j) for kind, j, _ in columns),
        stack,
        floor,
        held_out,
        judge.offset,
        -float(judge.weight @ held_out[own]) / float(judge.weight.sum()),
        sample,
        notes,
    )


def _uncertain(naive: float, lost: Array, judge: Judge, floor: float) -> tuple[Note, ...]:
    """Return a note where the mean of the losses (n,) may well be off by more than a tenth.

    That is where its standard error is as large, or where leaving rows out of the pool's weights moves it as much. The
    error is that of the rows and one more that is lost as far as the `floor` lets it: of n rows that are all right, the
    next may be wrong for one in n.
    """
    share = judge.weight / judge.weight.sum()
    mean = float(share @ lost)
    error = float(np.sqrt((share**2 * judge.single / np.maximum(judge.weight, 1e-300)) @ (lost - mean) ** 2))
    own = judge.offset[np.arange(len(lost)), judge.codes]
    worst = -float(np.log(floor)) - float(share @ own)
    error = float(np.hypot(error, worst / (float(judge.weight.sum()) + 1.0)))
    notes = []
    if abs(mean - naive) > DOUBTFUL * max(naive, 1e-12):
        notes.append(f"{naive:.4f} nats if members keep their weights")
    if error > DOUBTFUL * mean:
        notes.append(f"standard error {error:.4f} nats, one more row that is wrong counted")
    what = f"the leave-one-out loss of {mean:.4f} nats is uncertain by more than a tenth"
    return (Note(what, ", ".join(notes)),) if notes else ()


def _spared(stats: MemberStats, k: int) -> tuple[Note, ...]:
    """Return a note on the counts of pairs that were left out because they would have taken too much."""
    left_out = [bins for bins in possible_bins(stats.columns) if bins not in stats.pairs]
    if not left_out:
        return ()
    size = stats.columns.bin_starts(left_out[0])[-1]
    what = f"one-dependence in {', '.join(map(str, left_out))} bins is left out"
    why = f"counts of pairs of {size:,} levels in {k:,} classes would take more than {PAIR_BYTES >> 20} MiB"
    return (Note(what, why),)


def _pool(
    members: Sequence[Member], columns: Sequence[Array], judge: Judge, penalties: Sequence[float], power: float
) -> Stack:
    """Return the stack whose penalty on column weights has the most evidence, rows counted to a `power` of likelihood.

    Member weights start from `prior_shares`, times their temperatures as far as these are not chance, and stay near
    them, unless the rows say much else; near is meant in units of the tempered member, for one that is far too sure
    would move freely otherwise. Where columns are many beside the rows no weight is negative: where a column says
    nothing, what it says of a row left out is the opposite of that row's label, which a negative weight would read.
    """
    m, c = len(members), len(columns)
    scores = centred(np.stack([*(member.held_out for member in members), *columns]))
    losses = np.stack([judge.losses(member.temperature * member.held_out) for member in members])
    heat = np.clip([member.temperature for member in members], LEAST_TEMPERATURE, 1.0)
    start = prior_shares(losses, judge) * heat * [judge.beyond_chance(member.loss) for member in members]
    start = np.concatenate([start, np.zeros(c)])
    positive = np.array([True] * m + [power == LEAST_POWER] * c)
    near = np.maximum(MEMBER_PENALTY, TEMPERED_PENALTY / heat**2)
    each = power * np.array([[*near, *[own] * c] for own in (penalties if c else penalties[:1])])
    return Stack.fit(scores, judge.tempered(power), each, start, positive, power * BIAS_PENALTY)


def _best(
    candidates: Iterator[tuple[dict[str, Any], Array]], judge: Judge
) -> tuple[float, float, dict[str, Any], Array]:
    """Return loss, temperature, setting and scores of the candidate that loses least after its temperature."""
    found: tuple[float, float, dict[str, Any], Array] | None = None
    for setting, scores in candidates:
        loss, temperature = judge.temperature(scores)
        if found is None or loss < found[0] - 1e-9:
            found = loss, temperature, setting, scores
    assert found is not None
    return found


# --- Gaussian members ----------------------------------------------------------------------------------------------


def _gaussian_members(sample: Sample, stats: MemberStats, judge: Judge) -> Iterator[Member]:
    columns = stats.columns
    for kind in columns.kinds:
        member = WishartMember(complete_tied(stats.gaussian[kind]))
        rows = columns.gaussian(kind, sample.rows)
        folds = None
        if stats.gaussian[kind].incomplete or kind in columns.basis:
            folds = FoldedGaussians.of(stats.gaussian[kind], rows, sample)
            settings = _best_settings(folds.path(), judge)
        else:
            settings = _settings_on_path(member, rows, sample, judge)
        known: dict[tuple[float, float], tuple[Array, float, float]] = {}  # both may be the same
        for name, (strength, sphere) in settings.items():
            scorer = GaussianScorer.of(columns, kind, member, strength, sphere)
            if (strength, sphere) not in known:
                scores = scorer.left_out(sample) if folds is None else folds.scores(strength, sphere)
                known[strength, sphere] = (scores, *judge.temperature(scores))
            held_out, loss, temperature = known[strength, sphere]
            yield Member(
                f"{name}, {kind}", {"strength": strength, "sphere": sphere}, loss, temperature, held_out, scorer
            )


def _settings_on_path(
    member: WishartMember, rows: Array, sample: Sample, judge: Judge
) -> dict[str, tuple[float, float]]:
    """Return (a, γ) of the best member of the path and of the best with a = ∞, by class-balanced leave-one-out."""
    whole = np.flatnonzero(~np.isnan(rows).any(axis=1))
    some = whole if len(whole) >= max(ENOUGH, len(rows) // 2) else np.arange(len(rows))
    filled = fill_blindly(rows, member.stats)[some]
    left = LeftOut(filled, sample.codes[some], sample.removed[some], sample.weight[some])
    inner = Judge(judge.codes[some], judge.offset[some], judge.weight[some], judge.single[some])
    return _best_settings(member.path(left), inner)


def _best_settings(path: Iterator[tuple[float, float, Array]], judge: Judge) -> dict[str, tuple[float, float]]:
    """Return (a, γ) of the scores on a path that lose least after their temperature, and of those with a = ∞."""
    best: dict[str, tuple[float, float, float]] = {}
    for sphere, strength, scores in path:
        loss, _ = judge.temperature(scores)
        for name in ("gaussian", "tied gaussian") if np.isinf(strength) else ("gaussian",):
            if name not in best or loss < best[name][0] - 1e-9:
                best[name] = loss, strength, sphere
    return {name: (strength, sphere) for name, (_, strength, sphere) in best.items()}


# --- the other members -----------------------------------------------------------------------------------------------


def _hat_member(sample: Sample, stats: MemberStats, judge: Judge) -> tuple[Member, list[tuple[str, int, Array]]] | None:
    numbers = sample.rows.numbers
    if not numbers.shape[1]:
        return None

    few = slice(None, None, step_of_rows(len(sample), judge.offset.shape[1], numbers.shape[1]))
    some, inner = sample[few], Judge(judge.codes[few], judge.offset[few], judge.weight[few], judge.single[few])

    def candidates() -> Iterator[tuple[dict[str, Any], Array]]:
        for m in INTERVALS:
            totals = [np.zeros(inner.offset.shape) for _ in HAT_STRENGTHS]
            model = HatMember(stats.columns.hats[m], stats.hats[m])
            for column in model.left_out(some.rows.numbers, some.codes, some.removed, HAT_STRENGTHS):
                for total, part in zip(totals, column, strict=True):
                    total += part
            for t, total in zip(HAT_STRENGTHS, totals, strict=True):
                yield {"intervals": m, "strength": t}, total

    loss, temperature, setting, held_out = _best(candidates(), inner)
    m, t = setting["intervals"], setting["strength"]
    scorer = HatScorer(HatMember(stats.columns.hats[m], stats.hats[m], t))
    if len(held_out) < len(sample):
        held_out = scorer.left_out(sample)
        loss, temperature = judge.temperature(held_out)
    member = Member("hats", setting, loss, temperature, held_out, scorer)
    return member, telling("hat", scorer.left_out_columns(sample), numbers.shape[1], judge)


def _level_member(
    sample: Sample, categories: Sequence[Array], judge: Judge
) -> tuple[Member, list[tuple[str, int, Array]]] | None:
    if not categories:
        return None
    model = LevelMember(tuple(categories))
    totals = [np.zeros(judge.offset.shape) for _ in LEVEL_STRENGTHS]
    for column in model.left_out(sample.rows.levels, sample.codes, sample.removed, LEVEL_STRENGTHS):
        for total, part in zip(totals, column, strict=True):
            total += part
    candidates = (({"strength": t}, total) for t, total in zip(LEVEL_STRENGTHS, totals, strict=True))
    loss, temperature, setting, held_out = _best(candidates, judge)
    scorer = LevelScorer(LevelMember(tuple(categories), setting["strength"]))
    member = Member("categories", setting, loss, temperature, held_out, scorer)
    return member, telling("cat", scorer.left_out_columns(sample), len(categories), judge)


def _dependence_member(sample: Sample, stats: MemberStats, judge: Judge) -> Member | None:
    if not stats.pairs:
        return None
    starts = {bins: stats.columns.bin_starts(bins) for bins in stats.pairs}

    def candidates() -> Iterator[tuple[dict[str, Any], Array]]:
        for bins, pairs in stats.pairs.items():
            model, levels = DependenceMember(pairs, starts[bins]), stats.columns.binned(bins, sample.rows)
            for t in DEPENDENCE_STRENGTHS:
                yield {"bins": bins, "strength": t}, model.left_out(levels, sample.codes, sample.removed, t)

    loss, temperature, setting, held_out = _best(candidates(), judge)
    bins = setting["bins"]
    model = DependenceMember(stats.pairs[bins], starts[bins], setting["strength"]).ready()
    scorer = PairScorer(stats.columns, bins, model)
    return Member("one-dependence", setting, loss, temperature, held_out, scorer)


def _subclass_member(
    gaussian: Sequence[Member], sample: Sample, stats: MemberStats, judge: Judge, total: float
) -> Member | None:
    """Return the member that splits classes into parts, of the rows of the sample; None for few rows or numbers.

    Missing cells are filled by what the `gaussian` member of all rows expects.
    """
    columns = stats.columns
    numbers = np.flatnonzero(columns.used.get(SCORES, np.zeros(0, dtype=np.int64)) < len(columns.scores))
    if total < LEAST_ROWS or len(numbers) < 2 or len(numbers) > MOST_NUMBERS or SCORES in columns.basis:
        return None
    cells = columns.gaussian(SCORES, sample.rows)[:, numbers]
    k = judge.offset.shape[1]
    filled = cells
    if np.isnan(cells).any():
        scorers = (member.scorer for member in gaussian)
        whole = next(own.member for own in scorers if isinstance(own, GaussianScorer) and own.version == SCORES)
        filled = fill_blindly(cells, whole.restricted(numbers).stats)
    parts, strength, sphere, held_out = choose_split(
        filled, sample.codes, sample.weight, k, lambda scores: judge.temperature(scores)[0]
    )
    density = Split.of(filled, sample.codes, sample.weight, k, parts).density(strength, sphere)
    loss, temperature = judge.temperature(held_out)
    setting = {"parts": parts, "strength": strength, "sphere": sphere}
    scorer = PartScorer(columns, numbers, density)
    return Member("gaussians of parts, scores", setting, loss, temperature, held_out, scorer)
