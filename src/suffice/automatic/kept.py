"""The choice made from the rows, kept in the model file so that loading does not choose again.

Statistics and rows say it all: what is kept saves time and nothing else. Members are bound to the statistics as they
are, at the settings found; what that would take long is kept as well, and what rows left out say of the pool, which
nothing but the choice itself could make again. A choice that does not answer a few of the rows as it did where it was
made is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from .._arrays import Array, Codes, logsumexp, np, single_blas_thread
from ..notes import Note
from ..stats import ByClass
from ..stats._checks import Stored, floats, grouped
from ..stats.statistic import Fields, Plain
from .by_rows import judging
from .frozen import Choice
from .joint import ShrunkGaussianFamily
from .pool import PSEUDO, StackedEnsemble
from .stack import priors_without
from .statistics import MemberStats

RULES = 3  # of choosing; other rules, or the same with other outcomes, have another number
TRIED = 8  # rows whose answers are compared
SAME = 1e-6  # of a probability
MEMBER, LEFT_OUT, TRIAL = "member", "left_out", "trial"


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

    def automatic(self, statistics: ByClass, pieces: MemberStats) -> StackedEnsemble:
        """Return the automatic classifier of these statistics; ValueError where it is not the one that was kept."""
        sample, pieces, categories, weight, unlabelled = judging(statistics, pieces)
        known = replace(pieces.known(categories, weight), unlabelled=unlabelled)
        if self.left_out.shape != (len(sample), known.k):
            raise ValueError("posteriors of other rows")
        offset = priors_without(weight, sample, PSEUDO)
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
