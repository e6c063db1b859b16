"""Learn mixtures of several components by EM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from sklearn.utils import check_random_state

from .._arrays import Array, np
from ..em.starts import BIC, Search, fit_mixtures, join_rows
from ..errors import MergeError, SettingError, either, quoted, setting
from ..estimate import Block, Settings, class_log_prior
from ..fitted import NOTHING, Fitted
from ..schema import Level
from ..stats import ByClass, MixtureStats, Statistic
from ..stats.by_class import Batch, Joined

HELD_OUT_STEPS, HELD_OUT_TOLERANCE = 100, 1e-3  # of EM, where any model serves that has not seen a row


@dataclass(frozen=True, slots=True)
class Components:
    """How components are looked for: a number, "bic", or one of these by label; see `MixtureDiscriminant`."""

    wanted: object
    random_state: object = None
    most: int = 5
    starts: int = 3
    steps: int = 500
    tolerance: float = 1e-5

    @property
    def are_single(self) -> bool:
        """Whether every class is one component."""
        each = self.wanted.values() if isinstance(self.wanted, Mapping) else [self.wanted]
        return all(number == 1 for number in each)

    def search(self, classes: Sequence[Level]) -> Search:
        """Return how to look for components, for these classes."""
        wanted = self.wanted
        if isinstance(wanted, Mapping):
            unnamed = [label for label in classes if label not in wanted]
            if unnamed:
                raise SettingError(
                    f"{setting('n_components')} says nothing of {quoted(unnamed)}. Next: name every class."
                )
            each = [wanted[label] for label in classes]
        else:
            each = [wanted] * len(classes)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=len(classes)).tolist()
        numbers = [n if n == BIC else int(n) for n in each]
        return Search(numbers, seeds, self.most, self.starts, self.steps, self.tolerance)


@dataclass(frozen=True, eq=False)
class MixtureFitted(Fitted):
    """What was learned as mixtures; with one component in every class it is edited and asked as any other value."""

    components: Components = Components(1)

    def _block_settings(self, classes: Sequence[Level]) -> Settings:
        return replace(self.settings, classes=tuple(classes), columns=self.schema.names)

    @property
    def _family(self) -> Any:
        """The `estimate.mixture.MixtureFamily` of the one block."""
        return self.blocks[0].family

    @property
    def _stats(self) -> MixtureStats:
        return self.statistics.block(0, MixtureStats)

    def summarize_block(self, block: Block, rows: Array, batch: Batch) -> MixtureStats:
        """Return the statistics of the components, found by EM."""
        search, told = self.components.search(batch.classes), self._block_settings(batch.classes)
        return fit_mixtures(rows, batch.codes, len(batch.classes), batch.weight, self._family.under(told), search)

    def _log_prior_given(self) -> Array | None:
        """Return log π (k,), None where classes have their shares of the weight."""
        priors = self.class_priors(self.priors)
        return None if priors is None else class_log_prior(self.statistics.weight, priors)

    def join(self, batch: Batch) -> Joined | None:
        """Return the statistics of all rows, those without a label in every component by their posterior."""
        stats, classes = self._stats, self.statistics.classes
        if stats.is_single:
            return None
        search, told = self.components.search(classes), self._block_settings(classes)
        prior = self._log_prior_given()
        found = join_rows(batch.rows[0], batch.codes, batch.weight, stats, self._family.under(told), search, prior)
        statistics = ByClass(classes, _weight(found), (found,), len(batch.codes), heaviest=batch.heaviest)
        return Joined(statistics, int(found.steps.max()), not found.unfinished.any())

    def with_steps(self, joined: Joined) -> Joined:
        """Return what joined, with its steps in the statistics."""
        stats = joined.statistics.block(0, MixtureStats)
        counted = replace(stats, steps=np.full(stats.k, joined.steps))
        return joined._replace(statistics=replace(joined.statistics, blocks=(counted,)))

    def for_fold(self) -> Self:
        """Return the value with as many components as were found, from one start with a fixed seed, nearly climbed."""
        wanted: object = 1
        if not self.components.are_single:
            number = np.bincount(self._stats.owner, minlength=len(self.statistics.classes))
            wanted = dict(zip(self.statistics.classes, number.tolist(), strict=True))
        own = self.components
        steps, tolerance = min(own.steps, HELD_OUT_STEPS), max(own.tolerance, HELD_OUT_TOLERANCE)
        few = replace(own, wanted=wanted, starts=1, random_state=0, steps=steps, tolerance=tolerance)
        return replace(self, statistics=NOTHING, priors=None, chosen=None, components=few)

    def before_merge(self, other: Self) -> tuple[Self, Self]:
        """Return both; MergeError unless every class of both is one component."""
        if not (self.components.are_single and other.components.are_single):
            raise MergeError.mixture()
        return self, other

    @property
    def by_folds(self) -> bool:
        """Whether no formula takes a row out: of several components in a class none does."""
        return super().by_folds or not self.components.are_single

    def _leaving(self) -> tuple[tuple[Block, ...], tuple[Statistic, ...]]:
        if not self.components.are_single:
            raise SettingError(
                "A mixture of several components has no closed form for leave-one-out: EM would run again for "
                "every row. Next: "
                + either(
                    "use sklearn.model_selection.cross_val_predict(model, X, y, method='predict_log_proba'), or "
                    "n_components=1.",
                    "judge it by `suffice compare`, or fit with --components 1.",
                )
            )
        block = Block(self._family.inner, self.blocks[0].positions)
        return (block,), (self._stats.inner,)

    @property
    def needs_all_rows(self) -> bool:  # type: ignore[override]
        """Whether a class may have several components, which EM finds."""
        return not self.components.are_single


def _weight(stats: MixtureStats) -> Array:
    """Return the weight of each class (k,)."""
    return np.bincount(stats.owner, weights=stats.weight, minlength=stats.k).astype(np.float64)
