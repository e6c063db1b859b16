"""Mixture discriminant analysis: several Gaussians per class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn.utils import check_random_state

from .._arrays import Array, Codes, np
from ..densities import STRUCTURES, Mixture
from ..errors import DataError, MergeError, SchemaError, SettingError, quoted
from ..estimate import Block, Settings, Shrinkage, class_log_prior
from ..estimate.families import GaussianFamily
from ..estimate.mixture import MixtureFamily
from ..estimate.mixture_passes import apart, fit_by_passes, join_by_passes
from ..estimate.mixture_starts import BIC, Search, fit_mixtures, join_rows
from ..schema import Level, Schema
from ..stats import ByClass, MixtureStats
from ._passes import Passes, class_samples
from ._queries import GenerativeEstimator
from ._states import edit, question
from ._summary import Learned
from ._unlabelled import Batch, Joined

SHARED = (False, "class", True)


class _NotMergeableError(MergeError, AttributeError):
    """A MergeError that makes `hasattr(model, "partial_fit")` false, which is how tools ask."""


class _IfMergeable:
    """A method that exists only where every class is one component, and says why where it does not."""

    def __init__(self, method: Callable[..., Any], what: str) -> None:
        self.method = method
        self.what = what
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.method
        if not instance._mergeable:
            raise _NotMergeableError(str(MergeError.mixture(self.what)))
        return self.method.__get__(instance, owner)


HELD_OUT_STEPS, HELD_OUT_TOLERANCE = 100, 1e-3  # of EM, where any model serves that has not seen a row
PRIOR_ROWS = 0.5  # for each column and two more, the prior degrees of freedom of Fraley & Raftery


class MixtureDiscriminant(GenerativeEstimator):
    """Classify by a mixture of Gaussians per class: p(x, y = k) = π_k Σ_m w_km N(x; μ_km, Σ_km), fitted by EM.

    Parameters
    ----------
    n_components : int, "bic", or dict {label: int or "bic"}
        Components per class. "bic" takes the number, up to `max_components`, with the least Bayesian information
        criterion, class by class. One component everywhere is `GaussianDiscriminant`, exactly.
    covariance : {"full", "diagonal", "spherical"}
        Structure of each Σ.
    shared : {False, "class", True}
        A Σ for every component, one for the components of each class, or one for all (Hastie & Tibshirani's MDA).
    shrinkage, priors, divisor, missing
        As for `GaussianDiscriminant`, but for shrinkage="ledoit-wolf", which mixtures do not have. Missing cells join
        the EM: each is as unknown as the row's component.
    max_components : int
        Where "bic" stops looking.
    n_init : int
        Short climbs for each class and number of components, of which the most likely goes to the end. Each is the
        most likely of about four starts after ten steps: k-means, and seeded centres (k-means++) in standard units and
        with the class's correlations taken out, whence parts that lie across each other are found as well.
    max_iter, tol
        EM stops after `max_iter` steps, or when one gains less than `tol` nats per row.
    random_state : None, int or RandomState
        Seed of the starts. The same seed gives the same model, whatever the order of the rows.
    keep_rows : int
        How many rows the statistics hold as they came, chosen by a hash of their contents, beside the sums of all rows:
        what is left out and scored one at a time needs rows. 0 keeps none, so that a model file shows no single row.

    Attributes
    ----------
    classes_ : array (k,)
        Class labels, in the order of every result's columns.
    priors_ : array (k,)
        Class priors π.
    n_components_ : array (k,)
        Components of each class.
    weights_ : list of arrays (m,)
        Weights of the components of each class, from heaviest to lightest.
    means_ : list of arrays (m, d)
        Their means.
    covariances_ : list of arrays (m, d, d); of (d, d) when shared="class"; one array (d, d) when shared=True
        Their covariances.
    n_iter_ : int
        Most EM steps of any class.
    statistics_ : ByClass
        The sufficient statistics, from which everything else is estimated.
    model_ : JointModel
        The joint model p(x, y).
    notes_ : list of Note
        What was repaired, by how much and why.

    See Also
    --------
    GaussianDiscriminant : One Gaussian per class.
    GenerativeClassifier : No settings.

    Notes
    -----
    A component that collapses (fewer rows than its covariance needs, or no spread in some direction) is left out and
    noted, unless another start avoids it. `partial_fit`, `merge` and `forget` are a MergeError unless `n_components=1`:
    which component a row belongs to depends on all rows. Fit on all of them instead. `drop_class`, `rename_classes` and
    `decay` work; classes renamed to one keep the components of both.

    References
    ----------
    Hastie & Tibshirani (1996), doi:10.1111/j.2517-6161.1996.tb02073.x. Fraley & Raftery (2002),
    doi:10.1198/016214502760047131, for BIC.

    Examples
    --------
    >>> from suffice import MixtureDiscriminant
    >>> X, y = [[0.0], [0.2], [0.1], [9.0], [9.3], [9.1], [4.0], [5.0], [6.0]], ["ends"] * 6 + ["middle"] * 3
    >>> model = MixtureDiscriminant({"ends": 2, "middle": 1}, random_state=0).fit(X, y)
    >>> model.predict([[0.4], [4.5], [8.8]]).tolist()
    ['ends', 'middle', 'ends']
    """

    def __init__(
        self,
        n_components: Any = BIC,
        *,
        covariance: str = "full",
        shared: bool | str = False,
        shrinkage: Any = None,
        priors: Any = None,
        divisor: str = "mle",
        missing: str = "em",
        max_components: int = 5,
        n_init: int = 3,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
        keep_rows: int = 2000,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.shared = shared
        self.shrinkage = shrinkage
        self.priors = priors
        self.divisor = divisor
        self.missing = missing
        self.max_components = max_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.keep_rows = keep_rows

    def _validate_settings(self) -> None:
        super()._validate_settings()
        choices: dict[str, Sequence[Any]] = {
            "covariance": list(STRUCTURES),
            "shared": SHARED,
            "divisor": ("mle", "unbiased"),
            "missing": ("em", "error"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise SettingError.choice(name, getattr(self, name), allowed)
        for name in ("max_components", "n_init", "max_iter"):
            if not _is_count(getattr(self, name)):
                raise SettingError(
                    f"{name}={getattr(self, name)!r} must be a whole number of at least 1. Next: correct it."
                )
        tol: object = self.tol
        if not isinstance(tol, int | float | np.number) or not 0.0 <= float(tol) < np.inf:
            raise SettingError(f"tol={self.tol!r} must be a number of at least 0. Next: 1e-5 is the default.")
        wanted = self.n_components.values() if isinstance(self.n_components, Mapping) else [self.n_components]
        for number in wanted:
            if not _is_count(number) and number != BIC:
                raise SettingError(
                    f"n_components={self.n_components!r} must be a whole number of at least 1, 'bic', or one of these "
                    "for every class in a dict by label. Next: 'bic' chooses class by class."
                )
        setting = self._settings().shrinkage
        if setting.rule == "ledoit-wolf":
            raise SettingError(
                "shrinkage='ledoit-wolf' needs to know which rows a covariance is made of, and a mixture shares rows "
                "among components. Next: use shrinkage='oas' or a number."
            )
        if setting.pooling and self.shared:
            raise SettingError(
                f"shared={self.shared!r} and shrinkage={self.shrinkage!r} both pool the covariances. "
                "Next: leave shared=False."
            )

    def _settings(self) -> Settings:
        return Settings(divisor=self.divisor, shrinkage=Shrinkage(self.shrinkage))

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        labels = [column.name for column in schema.columns if column.kind.is_label]
        if labels:
            raise SchemaError.needs_numbers(labels, type(self).__name__)
        inner = GaussianFamily(structure=STRUCTURES[self.covariance], shared=self.shared is True)
        wanted = self.n_components.values() if isinstance(self.n_components, Mapping) else [self.n_components]
        chosen = BIC in list(wanted) and not self.shared and self.shrinkage is None
        prior = PRIOR_ROWS * (len(schema) + 2.0) if chosen else 0.0
        family = MixtureFamily(inner=inner, within=self.shared == "class", prior=prior)
        return (Block(family, tuple(range(len(schema)))),)

    def _check_missing(self, rows: Sequence[Any], plan: Sequence[Block]) -> None:
        empty = np.flatnonzero(np.isnan(rows[0]).any(axis=0)).tolist() if self.missing == "error" else []
        if empty:
            raise DataError(
                f"Input X contains NaN: cells are missing in the columns numbered {quoted(empty)}, "
                'and missing="error" forbids that. Next: fill them in, or use missing="em".'
            )

    # --- learning ----------------------------------------------------------------------------------------------------

    def _summarize_block(
        self, block: Block, rows: Any, codes: Codes, classes: Sequence[Level], weight: Array | None
    ) -> MixtureStats:
        assert isinstance(block.family, MixtureFamily)
        settings = replace(self._settings(), classes=tuple(classes), columns=tuple(range(rows.shape[1])))
        search = self._search(classes)
        return fit_mixtures(rows, codes, len(classes), weight, block.family, settings, search)

    def _search(self, classes: Sequence[Level]) -> Search:
        """Return how to look for components, for these classes."""
        wanted = self.n_components
        if isinstance(wanted, Mapping):
            unnamed = [label for label in classes if label not in wanted]
            if unnamed:
                raise SettingError(f"n_components says nothing of {quoted(unnamed)}. Next: name every class.")
            each = [wanted[label] for label in classes]
        else:
            each = [wanted] * len(classes)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=len(classes)).tolist()
        counts = (int(self.max_components), int(self.n_init), int(self.max_iter))
        return Search([n if n == BIC else int(n) for n in each], seeds, *counts, float(self.tol))

    def _join_unlabelled(self, labelled: ByClass, batch: Batch, plan: Sequence[Block], schema: Schema) -> Joined:
        stats, family = labelled.block(0, MixtureStats), plan[0].family
        assert isinstance(family, MixtureFamily)
        if stats.is_single:
            joined = super()._join_unlabelled(labelled, batch, plan, schema)
            counted = replace(joined.statistics.block(0, MixtureStats), steps=np.full(stats.k, joined.steps))
            return joined._replace(statistics=replace(joined.statistics, blocks=(counted,)))
        classes = labelled.classes
        settings = replace(self._settings(), classes=classes, columns=schema.names)
        priors = self._class_priors(self.priors, classes)
        log_prior = None if priors is None else class_log_prior(labelled.weight, priors)
        found = join_rows(
            batch.rows[0], batch.codes, batch.weight, stats, family, settings, self._search(classes), log_prior
        )
        weight = np.bincount(found.owner, weights=found.weight, minlength=found.k).astype(np.float64)
        statistics = ByClass(classes, weight, (found,), len(batch.codes), heaviest=batch.heaviest)
        return Joined(statistics, int(found.steps.max()), not found.unfinished.any())

    def _set_steps(self, joined: Joined | None) -> None:
        """The statistics count the steps."""

    def _held_out_copy(self) -> Any:
        """Return a copy with as many components as were found, from one start with a fixed seed, nearly climbed."""
        twin = super()._held_out_copy()
        found = dict(zip(self.statistics_.classes, self.n_components_.tolist(), strict=True))
        twin.n_components, twin.n_init, twin.random_state = (1 if self._mergeable else found), 1, 0
        twin.max_iter, twin.tol = min(self.max_iter, HELD_OUT_STEPS), max(self.tol, HELD_OUT_TOLERANCE)
        return twin

    @property
    def _mergeable(self) -> bool:
        wanted = self.n_components.values() if isinstance(self.n_components, Mapping) else [self.n_components]
        return all(number == 1 for number in wanted)

    # --- tables in parts ---------------------------------------------------------------------------------------------

    @property
    def _is_climbing(self) -> bool:
        return not self._mergeable

    def _first_plan(self, plan: Sequence[Block]) -> tuple[Block, ...]:
        if not self._is_climbing:
            return tuple(plan)
        return tuple(replace(block, family=apart(block.family)) for block in plan)  # type: ignore[arg-type]

    def _climb(self, statistics: ByClass, learned: Learned, passes: Passes) -> tuple[ByClass, Joined | None]:
        classes, single = statistics.classes, statistics.block(0, MixtureStats)
        family = passes.plan[0].family
        assert isinstance(family, MixtureFamily)
        settings = replace(self._settings(), classes=classes, columns=tuple(passes.summary.schema.names))
        run, search = passes.mixtures(classes), self._search(classes)
        stats = single
        if learned.samples is not None:
            stats = fit_by_passes(run, single, class_samples(learned.samples, classes), family, settings, search)
        weight = learned.unlabelled_weight
        if not weight:
            return replace(statistics, blocks=(stats,)), None
        if stats.is_single:
            both, joined = super()._climb(statistics, learned, passes)
            assert joined is not None
            counted = replace(both.block(0, MixtureStats), steps=np.full(stats.k, joined.steps))
            return replace(both, blocks=(counted,)), joined
        priors = self._class_priors(self.priors, classes)
        own_prior = None if priors is None else class_log_prior(statistics.weight, priors)
        total = statistics.total + weight
        found = join_by_passes(run, single, stats, total, family, settings, search, own_prior)
        by_class = np.bincount(found.owner, weights=found.weight, minlength=found.k).astype(np.float64)
        rows = statistics.rows + learned.unlabelled
        heaviest = statistics.heaviest if passes.summary.weight is None else None
        both = replace(statistics, weight=by_class, blocks=(found,), rows=rows, heaviest=heaviest)
        joined = Joined(both, int(found.steps.max()), True)
        return joined.statistics, joined._replace(finished=not found.unfinished.any())

    partial_fit = _IfMergeable(GenerativeEstimator.partial_fit, "take in more rows")
    forget = _IfMergeable(GenerativeEstimator.forget, "forget rows")

    @edit
    def merge(self, other: Self) -> Self:
        """Add everything another model has learned; MergeError unless both have `n_components=1`."""
        if not all(getattr(model, "_mergeable", True) for model in (self, other)):
            raise MergeError.mixture()
        return super().merge(other)

    # --- parameters --------------------------------------------------------------------------------------------------

    @property
    def _mixture(self) -> Mixture:
        density = self.model_.density.blocks[0]
        assert isinstance(density, Mixture)
        return density

    def _by_class(self, values: Array) -> list[Array]:
        """Split an array over components by class, components from heaviest to lightest."""
        mixture = self._mixture
        order = np.lexsort((-mixture.log_weight, mixture.owner))
        bounds = np.searchsorted(mixture.owner, np.arange(1, mixture.k))
        return list(np.split(values[order], bounds))

    @property
    @question
    def n_components_(self) -> Codes:
        """The number of components of each class (k,)."""
        return np.bincount(self._mixture.owner)

    @property
    @question
    def weights_(self) -> list[Array]:
        """The weights of the components, one array (m,) per class, each summing to one."""
        return self._by_class(np.exp(self._mixture.log_weight))

    @property
    @question
    def means_(self) -> list[Array]:
        """The means of the components, one array (m, d) per class."""
        return self._by_class(self._mixture.components.means)

    @property
    @question
    def covariances_(self) -> Any:
        """The covariances as used: a list of (m, d, d), of (d, d) for shared="class", or (d, d) for shared=True."""
        gaussian = self._mixture.components
        inner, d = gaussian.covariance.dense(), gaussian.means.shape[1]
        outer = np.zeros((len(inner), d, d))
        outer[np.ix_(range(len(inner)), gaussian.used, gaussian.used)] = inner
        family = self._blocks[0].family
        assert isinstance(family, MixtureFamily)
        if family.inner.shared:
            return outer[0]
        each = self._by_class(outer)
        return [own[0] for own in each] if family.within else each

    @property
    @question
    def n_iter_(self) -> int:  # type: ignore[override]
        """The most EM steps that any class took."""
        if "statistics_" not in vars(self):
            raise AttributeError("n_iter_")
        return int(self.statistics_.block(0, MixtureStats).steps.max())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


def _is_count(number: Any) -> bool:
    if isinstance(number, bool | np.bool_) or not isinstance(number, int | np.integer):
        return False
    return int(number) >= 1
