"""What a model chooses by leave-one-out: amounts of shrinkage (`shrinkage="loo"`), the strength of a prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._arrays import np
from ..densities import Full
from ..errors import SettingError
from ..estimate import RDA, Block, NormalInverseWishart, Note, Settings, Shrinkage
from ..estimate.families import GaussianFamily
from ..joint import JointModel
from ..leave_one_out import Judges, choice_note, choose_rda
from ..leave_one_out.strength import Judged, choose_strength, strength_note, unjudged_note
from ..schema import Schema
from ..stats import ByClass, PooledScatter
from ._queries import GenerativeEstimator
from ._states import Derived, question


class ShrinkageByLeaveOneOut(GenerativeEstimator):
    """What an estimator with the setting `shrinkage` does about "loo"."""

    shrinkage: Any
    covariance: str
    shared: bool
    _choice: Any = Derived()  # the rows judged by, and the amounts found

    @property
    def _by_loo(self) -> bool:
        return isinstance(self.shrinkage, str) and self.shrinkage == "loo"

    def _check_loo(self) -> None:
        if self.covariance != "full":
            raise SettingError(
                f'shrinkage="loo" chooses how far correlations shrink, and covariance={self.covariance!r} has none. '
                'Next: use covariance="full", or leave shrinkage=None.'
            )
        if not self.keep_rows:
            raise SettingError(
                'shrinkage="loo" judges by rows that are kept, and keep_rows=0 keeps none. '
                "Next: leave keep_rows=2000, or give the amounts: shrinkage=RDA(...)."
            )

    @property
    @question
    def shrinkage_(self) -> RDA:
        """The amounts chosen by leave-one-out; AttributeError unless fitted with shrinkage="loo"."""
        if not self._by_loo or "statistics_" not in vars(self):
            raise AttributeError('shrinkage_ exists once a model is fitted with shrinkage="loo".')
        return self._choose(self.statistics_)

    def _choose(self, statistics: ByClass) -> RDA:
        """Return the amounts for given statistics, or the last ones chosen if these hold no rows (steps of EM)."""
        sample, known = statistics.sample, self._choice
        if known is not None and (sample is None or known[0] is sample):
            return known[1]  # type: ignore[no-any-return]
        if sample is None:
            raise SettingError(
                'shrinkage="loo" judges by rows that are kept, and these statistics hold none: they come from a model '
                "with keep_rows=0. Next: fit again, or give the amounts: shrinkage=RDA(...)."
            )
        judges = Judges(sample.rows[0], sample.codes, sample.row_weight(), sample.represented(statistics.weight))
        stats = statistics.blocks[0]
        family = GaussianFamily(structure=Full, shared=stats.complete.form is PooledScatter)
        chosen = choose_rda(judges, stats, family, self._settings())
        self._choice = (sample, chosen)
        return chosen

    def _settings_for(self, statistics: ByClass) -> Settings:
        settings = super()._settings_for(statistics)
        return replace(settings, shrinkage=Shrinkage(self._choose(statistics))) if self._by_loo else settings

    def _estimate(
        self, statistics: ByClass, plan: Sequence[Block], schema: Schema, **told: Any
    ) -> tuple[JointModel, list[Note]]:
        model, notes = super()._estimate(statistics, plan, schema, **told)
        return model, [*([choice_note(self._choose(statistics))] if self._by_loo else []), *notes]

    def _chosen_settings(self) -> dict[str, Any]:
        return {"shrinkage": self.shrinkage_} if self._by_loo else super()._chosen_settings()

    def _restore_chosen(self, chosen: Mapping[str, Any]) -> None:
        if not self._by_loo:
            super()._restore_chosen(chosen)
            return
        if set(chosen) != {"shrinkage"}:
            raise ValueError("chosen settings")
        if not isinstance(chosen["shrinkage"], RDA) or self.statistics_.sample is None:
            raise ValueError("amounts chosen by leave-one-out")
        self._choice = (self.statistics_.sample, chosen["shrinkage"])


class PriorByLeaveOneOut(GenerativeEstimator):
    """What an estimator with the setting `prior` does about one whose strength is "loo"."""

    prior: Any
    _chosen_prior: Any = Derived()  # the rows judged by, the prior found, and whether it was chosen by them

    @property
    def _by_strength(self) -> bool:
        return self.prior is not None and self.prior.is_open

    @property
    @question
    def prior_(self) -> NormalInverseWishart:
        """The prior as used, its strength chosen by leave-one-out if it was left open; AttributeError without one."""
        if self.prior is None or "statistics_" not in vars(self):
            raise AttributeError("prior_ exists once a model is fitted with prior=NormalInverseWishart(...).")
        return self._choose_prior(self.statistics_)[0] if self._by_strength else self.prior

    def _choose_prior(
        self, statistics: ByClass, plan: Sequence[Block] | None = None
    ) -> tuple[NormalInverseWishart, bool]:
        """Return the prior for given statistics, and whether it was chosen; without rows (steps of EM) the last one."""
        sample, known = statistics.sample, self._chosen_prior
        if known is not None and (sample is None or known[0] is sample):
            return known[1], known[2]
        found = None if sample is None else self._judge_prior(statistics, self._blocks if plan is None else plan)
        known = (sample, self.prior.settled() if found is None else found, found is not None)
        self._chosen_prior = known
        return known[1], known[2]

    def _judge_prior(self, statistics: ByClass, plan: Sequence[Block]) -> NormalInverseWishart | None:
        sample, pairs = statistics.sample, zip(plan, statistics.blocks, strict=True)
        assert sample is not None
        blocks = [
            Judged(np.asarray(rows, dtype=np.float64), stats, block.family)
            for rows, (block, stats) in zip(sample.rows, pairs, strict=True)
            if isinstance(block.family, GaussianFamily)
        ]
        known = sample.represented(statistics.weight)
        return choose_strength(self.prior, blocks, sample.codes, sample.row_weight(), known, self._settings())

    def _settings_for(self, statistics: ByClass) -> Settings:
        settings = super()._settings_for(statistics)
        return replace(settings, prior=self._choose_prior(statistics)[0]) if self._by_strength else settings

    def _estimate(
        self, statistics: ByClass, plan: Sequence[Block], schema: Schema, **told: Any
    ) -> tuple[JointModel, list[Note]]:
        if not self._by_strength:
            return super()._estimate(statistics, plan, schema, **told)
        prior, chosen = self._choose_prior(statistics, plan)
        model, notes = super()._estimate(statistics, plan, schema, **told)
        return model, [strength_note(prior) if chosen else unjudged_note(prior), *notes]

    def _chosen_settings(self) -> dict[str, Any]:
        if not self._by_strength:
            return super()._chosen_settings()
        prior, chosen = self._choose_prior(self.statistics_)
        return {"prior": prior} if chosen else {}

    def _restore_chosen(self, chosen: Mapping[str, Any]) -> None:
        if not self._by_strength or not chosen:
            super()._restore_chosen(chosen)
            return
        if set(chosen) != {"prior"} or not isinstance(chosen["prior"], NormalInverseWishart):
            raise ValueError("prior chosen by leave-one-out")
        self._chosen_prior = (self.statistics_.sample, chosen["prior"], True)
