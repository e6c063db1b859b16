"""What rows chose, as plain values: members, their settings, the weights of the stack, the joint model's amounts.

It binds to whatever statistics a model has by now, where there are no rows to choose by (`Choice`). Where there are,
statistics and rows say it all, and what a file keeps of the choice (`KeptChoice`) saves time and nothing else: members
are bound to the statistics as they are, at the settings found; what that would take long is kept as well, and what rows
left out say of the pool, which nothing but the choice itself could make again. A choice that does not answer a few of
the rows as it did where it was made is not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from .._arrays import Array, Codes, logsumexp, np, single_blas_thread
from ..notes import Note
from ..schema import Level
from ..stats import ByClass, PatternStats, Reservoir
from ..stats.statistic import Fields, Plain, Stored, floats, grouped
from .choose import FLOOR
from .columns import RAW
from .joint import ShrunkGaussianFamily, joint_statistics
from .member import Member, TrainingStats
from .members import member_called
from .members.gaussian import GaussianPart
from .pool import StackedEnsemble
from .sample import Sample
from .stack import Stack, priors_without
from .statistics import MemberStats
from .train import judging
from .weighing import FewKnown, JudgedMember

MOST = 1e100  # of a weight, a loss or a temperature: their products with scores stay numbers
RULES = 5  # of choosing; other rules, or the same with other outcomes, have another number
TRIED = 8  # rows whose answers are compared
SAME = 1e-6  # of a probability
MEMBER, LEFT_OUT, TRIAL = "member", "left_out", "trial"


class ChosenMember(NamedTuple):
    """A member's name and setting, and the loss and temperature it had where it was chosen."""

    name: str
    setting: dict[str, float]
    loss: float
    temperature: float

    @classmethod
    def of_plain(cls, plain: Plain, by_rows: bool = False) -> ChosenMember:
        """Return what was read from a file; ValueError unless it is a member, and its setting in its ranges.

        Members that need rows are of a choice `by_rows` alone.
        """
        name, setting = str(plain["name"]), plain["setting"]
        member = _kind_of(name)[0]
        kinds = member.settings
        if not kinds or set(setting) != set(kinds) or (member.needs_rows and not by_rows):
            raise ValueError("the choice of members")
        found = {what: kinds[what](value) for what, value in setting.items()}
        if not member.allows(found):
            raise ValueError("the choice of members")
        return cls(name, found, float(plain["loss"]), float(plain["temperature"]))

    def bound(self, known: TrainingStats) -> JudgedMember:
        """Return the member made of these statistics; no rows judge it."""
        member, kind, detail = _kind_of(self.name)
        none = np.zeros((0, known.k))
        return JudgedMember(member.bind(kind, detail, self.setting, known), self.loss, self.temperature, none)

    def judged(self, known: TrainingStats, sample: Sample, kept: Fields) -> JudgedMember:
        """Return the member made of these statistics, judged by the rows that chose it."""
        member, kind, detail = _kind_of(self.name)
        found = member.chosen(kind, detail, self.setting, known, sample, kept)
        return JudgedMember(found.member, self.loss, self.temperature, found.left_out, found.again)


def _kind_of(name: str) -> tuple[type[Member], str, str]:
    """Return the class of a member of this name, its kind, and what follows that in the name."""
    kind, _, detail = name.partition(", ")
    return member_called(kind), kind, detail


@dataclass(frozen=True)
class Choice:
    """What was chosen: `members`, single `columns`, and the stack.

    `weight` (members + columns,) are the stack's, `bias` by class label; `joint` (strength, sphere) those of the joint
    model of the numbers, None without one. `loss` is the mean leave-one-out log-loss where it was chosen, `loss_error`
    its standard error, `unit` how many rows a weight of 1 counts as, and `few_known` the weights of rows of which less
    is known than usual.
    """

    members: tuple[ChosenMember, ...]
    columns: tuple[tuple[str, int], ...]
    weight: tuple[float, ...]
    bias: dict[Level, float]
    joint: tuple[float, float] | None
    loss: float
    unit: float = 1.0
    few_known: FewKnown | None = None
    loss_error: float | None = None  # of files written before it was known

    @classmethod
    def of(
        cls, automatic: StackedEnsemble, classes: Sequence[Level], joint: ShrunkGaussianFamily | None, unit: float
    ) -> Choice:
        """Return the choice behind an automatic classifier; its members must be of the kinds that sums serve."""
        members = tuple(
            ChosenMember(own.name, dict(own.setting), float(own.loss), float(own.temperature))
            for own in automatic.members
        )
        bias = {label: float(b) for label, b in zip(classes, automatic.stack.bias, strict=True)}
        amounts = None if joint is None else (float(joint.strength), float(joint.sphere))
        weight = tuple(float(w) for w in automatic.stack.weight)
        few, loss, error = automatic.few_known, float(automatic.loss), automatic.loss_error
        return cls(members, automatic.columns, weight, bias, amounts, loss, unit, few, error)

    def automatic(
        self, stats: MemberStats, categories: Sequence[Array], weight: Array, classes: Sequence[Level]
    ) -> StackedEnsemble:
        """Return the automatic classifier of these statistics under this choice; a class it never met has no bias."""
        stats, weight = stats.scale(self.unit), weight * self.unit
        categories = [counts * self.unit for counts in categories]
        known = stats.known(categories, weight)
        none = np.zeros((0, len(classes)))
        found = self.pooled([own.bound(known) for own in self.members], known, classes, none, none)
        return replace(found, notes=stats.notes)

    def pooled(
        self,
        members: Sequence[JudgedMember],
        known: TrainingStats,
        classes: Sequence[Level],
        left_out: Array,
        offset: Array,
        sample: Sample | None = None,
    ) -> StackedEnsemble:
        """Return the pool of these members, made of what is `known`; see `StackedEnsemble` for the rows that judge."""
        self._check_columns([own.member for own in members])
        bias = np.array([self.bias.get(label, 0.0) for label in classes])
        return StackedEnsemble(
            frozen=known.columns,
            class_weight=known.weight,
            members=tuple(members),
            columns=self.columns,
            stack=Stack(np.array(self.weight), bias, 0.0, np.zeros((0, len(classes)))),
            floor=FLOOR / (float(known.weight.sum()) + FLOOR),
            left_out_posterior=left_out,
            offset=offset,
            loss=self.loss,
            loss_error=self.loss_error,
            sample=sample,
            few_chosen=self.few_known,
        )

    def _check_columns(self, members: Sequence[Member]) -> None:
        """Raise ValueError for columns with weights of their own that are none; they come in the members' order."""
        sizes = {member.column_kind: member.width for member in members if member.width}
        order, kinds = list(sizes), [kind for kind, _ in self.columns]
        if kinds != sorted(kinds, key=order.index) or not all(0 <= j < sizes[kind] for kind, j in self.columns):
            raise ValueError("columns with a weight of their own")

    def joint_model(self, stats: MemberStats) -> tuple[ShrunkGaussianFamily, PatternStats] | None:
        """Return the family of the joint model of the numbers, and its statistics; None without one."""
        if self.joint is None or RAW not in stats.gaussian:
            return None
        used = stats.columns.used[RAW]
        return ShrunkGaussianFamily(*self.joint), joint_statistics(
            stats.columns, stats.part(GaussianPart).completed(RAW), used
        )

    def plain(self) -> Plain:
        """Return it as plain values."""
        few = self.few_known
        later: Plain = {} if few is None else {"few_known": {"usual": few.usual, "weight": few.weight.tolist()}}
        if self.loss_error is not None and np.isfinite(self.loss_error):
            later = {**later, "loss_error": self.loss_error}
        return {
            "members": tuple(own._asdict() for own in self.members),
            "columns": self.columns,
            "weight": self.weight,
            "bias": dict(self.bias),
            "joint": self.joint,
            "loss": self.loss,
            "unit": self.unit,
            **later,
        }

    @classmethod
    def of_plain(cls, plain: Plain, by_rows: bool = False) -> Choice:
        """Return what `plain` wrote of a choice, `by_rows` that are there or not; ValueError if it cannot be that."""
        members = tuple(ChosenMember.of_plain(own, by_rows) for own in plain["members"])
        columns = tuple((str(kind), int(j)) for kind, j in plain["columns"])
        weight = tuple(float(w) for w in plain["weight"])
        bias = {label: float(b) for label, b in plain["bias"].items()}
        joint = None if plain["joint"] is None else (float(plain["joint"][0]), float(plain["joint"][1]))
        found = [*weight, *bias.values(), float(plain["loss"]), *(x for own in members for x in own[2:])]
        right = len(weight) == len(members) + len(columns) and len(set(columns)) == len(columns)
        if not right or not (np.abs(found) < MOST).all() or any(own.temperature < 0.0 for own in members):
            raise ValueError("the choice of members")
        if joint is not None and not ((0.0 < joint[0] < MOST or joint[0] == np.inf) and 0.0 <= joint[1] <= 1.0):
            raise ValueError("the joint model of the numbers")
        unit = float(plain["unit"])
        if not 0.0 < unit < np.inf:
            raise ValueError("the unit of weights")
        few = _few_known(plain["few_known"], len(members)) if "few_known" in plain else None
        error = float(plain["loss_error"]) if "loss_error" in plain else None
        if error is not None and not 0.0 <= error < MOST:
            raise ValueError("the standard error of the loss")
        return cls(members, columns, weight, bias, joint, float(plain["loss"]), unit, few, error)


def _few_known(plain: Plain, members: int) -> FewKnown:
    """Return what was read from a file; ValueError unless these can be weights of so many members."""
    usual, weight = int(plain["usual"]), np.array(plain["weight"], dtype=np.float64)
    if usual < 2 or weight.shape != (2, members) or not ((weight >= 0.0) & (weight < MOST)).all():
        raise ValueError("weights of rows of which little is known")
    return FewKnown(usual, weight)


@dataclass(frozen=True)
class KeptChoice:
    """A choice by rows: `gain` is that of a forest as the joint model, None where none could be.

    `notes` are the pool's; `left_out` (n, k) the log posteriors of the rows kept, each left out; `members` what each of
    them keeps; `trial` (m, k) the probabilities of a few rows, as they are and with every other column missing.
    """

    choice: Choice
    gain: float | None
    notes: tuple[Note, ...]
    left_out: Array
    members: tuple[Fields, ...]
    trial: Array

    @classmethod
    def of(
        cls, automatic: StackedEnsemble, statistics: ByClass, joint: ShrunkGaussianFamily | None, gain: float | None
    ) -> Self:
        """Return the choice behind an automatic classifier that rows judge."""
        return cls(
            Choice.of(automatic, statistics.classes, joint, 1.0),
            gain,
            automatic.notes,
            automatic.left_out_posterior,
            tuple(own.member.kept() for own in automatic.members),
            _tried(automatic),
        )

    def automatic(self, statistics: ByClass, pieces: MemberStats, every: Reservoir | None) -> StackedEnsemble:
        """Return the automatic classifier of these statistics; ValueError where it is not the one that was kept."""
        sample, pieces, categories, weight, unlabelled = judging(statistics, pieces, every)
        known = replace(pieces.known(categories, weight), unlabelled=unlabelled)
        if self.left_out.shape != (len(sample), known.k):
            raise ValueError("posteriors of other rows")
        offset = priors_without(weight, sample)
        with single_blas_thread():  # as when it was chosen: no bit differs
            members = [
                own.judged(known, sample, kept) for own, kept in zip(self.choice.members, self.members, strict=True)
            ]
            found = self.choice.pooled(members, known, statistics.classes, self.left_out, offset, sample)
        trial = _tried(found)
        if trial.shape != self.trial.shape or not (np.abs(trial - self.trial) <= SAME).all():
            raise ValueError("members that answer otherwise")
        return replace(found, notes=self.notes)

    def arrays(self) -> tuple[Fields, Plain]:
        """Return it as named arrays and plain values."""
        fields: Fields = {LEFT_OUT: self.left_out, TRIAL: self.trial}
        for number, own in enumerate(self.members):
            fields |= {f"{MEMBER}{number}_{name}": values for name, values in own.items()}
        notes = [note.plain() for note in self.notes]
        return fields, {"rules": RULES, "choice": self.choice.plain(), "gain": self.gain, "notes": notes}

    @classmethod
    def from_arrays(cls, fields: Mapping[str, Stored], plain: Plain) -> Self:
        """Return what `arrays` wrote; ValueError if it cannot be that, or is by other rules."""
        if plain["rules"] != RULES:
            raise ValueError("other rules")
        choice, gain = Choice.of_plain(plain["choice"], by_rows=True), plain["gain"]
        if gain is not None and (type(gain) is not float or not np.isfinite(gain)):
            raise ValueError("the joint model")
        left_out = floats(fields[LEFT_OUT], None, None)
        if left_out.max(initial=0.0) > SAME or (np.abs(logsumexp(left_out, axis=1)) > SAME).any():
            raise ValueError("log posteriors of which none is")
        parts = grouped(fields, MEMBER)
        members = tuple(parts.get(str(number), {}) for number in range(len(choice.members)))
        notes = tuple(map(Note.of_plain, plain["notes"]))
        return cls(choice, gain, notes, left_out, members, floats(fields[TRIAL], None, None))


def _tried(automatic: StackedEnsemble) -> Array:
    """Return the probabilities (m, k) of a few of the rows that judge, all cells known and then every other column."""
    assert automatic.sample is not None
    sample = automatic.sample
    some = sample.rows[np.arange(len(sample))[:: max(1, len(sample) // TRIED)][:TRIED]]
    hidden: Codes = np.arange(automatic.frozen.d)[1::2]
    both = [automatic.log_posterior(rows) for rows in (some, some.hiding(hidden))]
    return np.asarray(np.exp(np.concatenate(both)))
