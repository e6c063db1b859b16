"""Amounts of shrinkage that a model chooses by leave-one-out: `shrinkage="loo"`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..densities import Full
from ..errors import SettingError
from ..estimate import RDA, Block, Note, Settings, Shrinkage
from ..estimate.families import GaussianFamily
from ..joint import JointModel
from ..schema import Schema
from ..selection import Judges, choice_note, choose_rda
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
        judges = Judges(sample.rows[0], sample.codes, sample.weight, sample.represented(statistics.weight))
        stats = statistics.blocks[0]
        family = GaussianFamily(structure=Full, shared=stats.complete.form is PooledScatter)
        chosen = choose_rda(judges, stats, family, self._settings())
        self._choice = (sample, chosen)
        return chosen

    def _settings_for(self, statistics: ByClass) -> Settings:
        settings = self._settings()
        return replace(settings, shrinkage=Shrinkage(self._choose(statistics))) if self._by_loo else settings

    def _estimate(
        self, statistics: ByClass, plan: Sequence[Block], schema: Schema, **told: Any
    ) -> tuple[JointModel, list[Note]]:
        model, notes = super()._estimate(statistics, plan, schema, **told)
        return model, [*([choice_note(self._choose(statistics))] if self._by_loo else []), *notes]

    def _chosen_settings(self) -> dict[str, Any]:
        return {"shrinkage": self.shrinkage_} if self._by_loo else {}

    def _restore_chosen(self, chosen: Mapping[str, Any]) -> None:
        if set(chosen) != ({"shrinkage"} if self._by_loo else set()):
            raise ValueError("chosen settings")
        if self._by_loo:
            if not isinstance(chosen["shrinkage"], RDA) or self.statistics_.sample is None:
                raise ValueError("amounts chosen by leave-one-out")
            self._choice = (self.statistics_.sample, chosen["shrinkage"])
