"""Settings chosen by leave-one-out: `shrinkage="loo"`, and the strength of a prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from .._arrays import np
from ..densities import Full
from ..errors import SettingError, either, setting
from ..estimate import RDA, Block, NormalInverseWishart, Settings, Shrinkage
from ..estimate.families import GaussianFamily
from ..notes import Note
from ..stats import ByClass, PooledScatter
from ..stats.dependent_rows import as_judged
from ..stats.statistic import Plain
from .by_groups import Moments
from .rda import Judges, choice_note, choose_rda
from .strength import Judged, choose_strength, strength_note, unjudged_note


@dataclass(frozen=True, slots=True)
class Choices:
    """Settings found from the rows kept: None where they were given. `judged`: rows could tell of the prior."""

    shrinkage: RDA | None = None
    prior: NormalInverseWishart | None = None
    judged: bool = False

    def applied(self, settings: Settings) -> Settings:
        """Return the settings with what was chosen in the place of what was left open."""
        if self.shrinkage is not None:
            settings = replace(settings, shrinkage=Shrinkage(self.shrinkage))
        return settings if self.prior is None else replace(settings, prior=self.prior)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was chosen, and by what."""
        notes = [] if self.shrinkage is None else [choice_note(self.shrinkage)]
        if self.prior is not None:
            notes.append(strength_note(self.prior) if self.judged else unjudged_note(self.prior))
        return tuple(notes)

    def saved(self) -> Plain:
        """Return by name what a model file has to hold: what was chosen by rows."""
        found: Plain = {} if self.shrinkage is None else {"shrinkage": self.shrinkage}
        return found | ({"prior": self.prior} if self.judged else {})

    @classmethod
    def of_saved(cls, given: Mapping[str, Any], settings: Settings, statistics: ByClass) -> Choices | None:
        """Return what `saved` returned, None where nothing was chosen; ValueError if it cannot be that."""
        may = ({"shrinkage"} if settings.by_loo else set()) | ({"prior"} if is_open(settings) else set())
        shrinkage, prior = given.get("shrinkage"), given.get("prior")
        if not set(given) <= may or (settings.by_loo and shrinkage is None):
            raise ValueError(f"chosen settings {sorted(given)}")
        if shrinkage is not None and (not isinstance(shrinkage, RDA) or statistics.sample is None):
            raise ValueError("amounts chosen by leave-one-out")
        if prior is not None and not isinstance(prior, NormalInverseWishart):
            raise ValueError("prior chosen by leave-one-out")
        return cls(shrinkage, prior, prior is not None) if given else None


def is_open(settings: Settings) -> bool:
    """Return whether the strength of the prior is to be chosen."""
    return settings.prior is not None and settings.prior.is_open


def choose(settings: Settings, statistics: ByClass, blocks: Sequence[Block]) -> Choices:
    """Return what leave-one-out over the rows kept chooses for statistics; SettingError where none are kept."""
    shrinkage = _shrinkage(statistics, settings) if settings.by_loo else None
    if not is_open(settings):
        return Choices(shrinkage)
    assert settings.prior is not None
    found = _prior(statistics, blocks, settings, settings.prior)
    return Choices(shrinkage, settings.prior.settled() if found is None else found, found is not None)


def _shrinkage(statistics: ByClass, settings: Settings) -> RDA:
    sample = statistics.sample
    if sample is None:
        raise SettingError(
            f"{setting('shrinkage', 'loo')} judges by rows that are kept, and these statistics hold none: they come "
            f"from a model with {setting('keep_rows', 0)}. Next: fit again, or give "
            f"{either('the amounts: shrinkage=RDA(...)', 'an amount')}."
        )
    sample = as_judged(sample)
    counts_for = sample.represented(statistics.weight)
    judges = Judges(sample.rows[0], sample.codes, sample.leaving_weight(), counts_for, sample.units.groups)
    stats: Any = statistics.blocks[0]
    family = GaussianFamily(structure=Full, shared=stats.complete.form is PooledScatter)
    return choose_rda(judges, stats, family, settings)


def _prior(
    statistics: ByClass, blocks: Sequence[Block], settings: Settings, prior: NormalInverseWishart
) -> NormalInverseWishart | None:
    sample = statistics.sample
    if sample is None:
        return None
    judged = [
        Judged(np.asarray(rows, dtype=np.float64), cast(Moments, stats), block.family)
        for rows, block, stats in zip(sample.rows, blocks, statistics.blocks, strict=True)
        if isinstance(block.family, GaussianFamily)
    ]
    sample = as_judged(sample)
    counts_for = sample.represented(statistics.weight)
    return choose_strength(
        prior, judged, sample.codes, sample.leaving_weight(), counts_for, settings, sample.units.groups
    )
