"""Maximum likelihood for mixtures by EM: which component a row belongs to, what its missing cells hold, and, where a
label is missing, its class are unknown together; one step never lowers the likelihood of what was observed.

Dempster, Laird & Rubin (1977), doi:10.1111/j.2517-6161.1977.tb01600.x; with missing cells Ghahramani & Jordan (1994),
Supervised learning from incomplete data via an EM approach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .._arrays import Array, Codes, Flags, log_of, np, single_blas_thread
from ..densities import Full, Gaussian, LowRank, Mixture
from ..densities.mixture import sum_within
from ..em.filling import fill_shared_out
from ..stats import MixtureStats, PatternStats
from .families import GaussianFamily
from .mixture import MixtureEstimate

LOST = 1e-12  # responsibilities of a row that add up to less are those of components that were dropped
COLLAPSED = 1e-6  # least variance of a component in any direction, relative to its class's


@dataclass(frozen=True, slots=True)
class Holes:
    """Which rows are complete, and which miss some cells; the others miss all."""

    complete: Codes
    some: Codes

    @classmethod
    def find(cls, values: Array) -> Holes:
        """Sort out the rows."""
        absent = np.isnan(values).sum(axis=1)
        return cls(np.flatnonzero(absent == 0), np.flatnonzero((absent > 0) & (absent < values.shape[1])))

    @property
    def any_filled(self) -> bool:
        """Whether any row misses some of its cells."""
        return len(self.some) > 0


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows (n, d) in memory with class numbers (n,), −1 where the label is missing, and weights (n,)."""

    values: Array
    codes: Codes
    weight: Array
    holes: Holes

    @classmethod
    def of(cls, values: Array, codes: Codes, weight: Array | None) -> Rows:
        """Return the rows, those with missing cells set apart."""
        weight = np.ones(len(values)) if weight is None else weight
        return cls(values, codes, weight, Holes.find(values))


@dataclass(frozen=True, slots=True)
class Job:
    """What stays fixed while EM runs: the model, and one Gaussian per class to compare with."""

    model: MixtureEstimate
    reference: Gaussian
    total: float  # weight of all rows
    log_prior: Array | None  # class priors (k,) in nats; None: the classes' shares of the weight
    max_iter: int
    tol: float

    @classmethod
    def start(
        cls, rows: Rows, k: int, model: MixtureEstimate, *, log_prior: Array | None = None, max_iter: int, tol: float
    ) -> Job:
        """Return a job whose estimates are maximum likelihood with the repairs that keep a covariance usable."""
        known = np.flatnonzero(rows.codes >= 0)
        stats = model.family.summarize(rows.values[known], rows.codes[known], k, rows.weight[known])
        total = float(rows.weight.sum())
        return cls(model, model.estimate(stats).components, total, log_prior, max_iter, tol)

    def fillers(self, owner: Codes, rows: Rows) -> Gaussian:
        """Return what fills missing cells before components are known: the Gaussian of each one's class."""
        return choose(self.reference, owner, rows)

    @property
    def separate(self) -> bool:
        """Whether every component has its own covariance, which can then collapse."""
        return not (self.model.family.within or self.model.family.inner.shared)

    @property
    def least_rows(self) -> float:
        """The weight below which a component is dropped."""
        if not self.separate:
            return 1.0
        alone = self.model.family.inner.structure is Full and not self.model.shrinks
        return len(self.reference.used) + 1.0 if alone else 2.0


@dataclass(frozen=True, slots=True)
class MixtureClimb:
    """Where EM arrived: statistics, their mixture, and log likelihoods (nats) by step since the last drop.

    Under a prior on the covariances its log density is part of them.
    """

    stats: MixtureStats
    mixture: Mixture
    trace: tuple[float, ...] = ()
    steps: int = 1

    @property
    def likelihood(self) -> float:
        """The log likelihood reached."""
        return self.trace[-1]


def expect(rows: Rows, mixture: Mixture, log_prior: Array) -> tuple[float, Array]:
    """Return the log likelihood of the rows and responsibilities (n, m); a labelled row stays within its class."""
    scores = mixture.components.log_density(rows.values) + mixture.log_weight
    known = rows.codes >= 0
    scores[~known] += log_prior[mixture.owner]
    scores[known[:, None] & (rows.codes[:, None] != mixture.owner)] = -np.inf
    total = sum_within(scores, np.zeros_like(mixture.owner))[:, 0]
    own = log_prior[rows.codes[known]]
    likelihood = rows.weight @ total + rows.weight[known] @ np.where(np.isfinite(own), own, 0.0)
    return float(likelihood), np.exp(scores - total[:, None])


def share_by_class(rows: Rows, owner: Codes, mixtures: Sequence[Mixture]) -> Array:
    """Return responsibilities (n, m) of labelled rows, each class by its own mixture."""
    share = np.zeros((len(rows.values), len(owner)))
    for c, mixture in enumerate(mixtures):
        members = np.flatnonzero(rows.codes == c)
        if len(members):
            own = Rows.of(rows.values[members], np.zeros(len(members), dtype=np.int64), rows.weight[members])
            share[np.ix_(members, np.flatnonzero(owner == c))] = expect(own, mixture, np.zeros(1))[1]
    return share


def climb_mixture(rows: Rows, owner: Codes, share: Array, job: Job, filler: Gaussian | None = None) -> MixtureClimb:
    """Run EM from responsibilities `share` (n, m) of the components with classes `owner` (m,).

    `filler` is the fit they come from, if any: a first estimate then needs no gentle start, in which the components of
    a class have one covariance, and missing cells are filled from it rather than from the class.
    A component that collapses (too little weight, or no spread in some direction) is dropped, and EM goes on without.
    Stops when a step gains less than `tol` nats per unit of weight, or where a repair would lower the likelihood.
    """
    k = len(job.reference.means)
    state = _State(rows, job, owner, share, job.fillers(owner, rows) if filler is None else filler)
    with single_blas_thread():
        if filler is None:
            state.maximize(replace(job, model=job.model.gentle()))
            state.expect()
        steps, finished = _run(state, job)
    counts = np.full(k, steps, dtype=np.int64), np.full(k, int(not finished), dtype=np.int64)
    asked = np.bincount(owner, minlength=k)
    stats = replace(state.stats, asked=asked, steps=counts[0], unfinished=counts[1])
    return MixtureClimb(stats, state.mixture, tuple(state.trace), steps)


@dataclass(slots=True)
class _State:
    """The present point of EM: `share` (n, m) are responsibilities, `gaussian` fills missing cells."""

    rows: Rows
    job: Job
    owner: Codes
    share: Array
    gaussian: Gaussian
    stats: MixtureStats = field(init=False)  # from the first M step on
    mixture: Mixture = field(init=False)
    trace: list[float] = field(default_factory=list)

    def expect(self) -> float:
        """Do the E step; return the log likelihood."""
        log_prior = log_shares(self.stats) if self.job.log_prior is None else self.job.log_prior
        self.gaussian = self.mixture.components
        likelihood, self.share = expect(self.rows, self.mixture, log_prior)
        return likelihood

    def maximize(self, job: Job) -> bool:
        """Estimate from the responsibilities, dropping collapsed components; return whether any was dropped."""
        dropped, k = False, len(job.reference.means)
        while True:
            self.stats = condense(self.rows, self.owner, self.share, self.gaussian, self.job.model.family.inner, k)
            self.mixture = job.model.estimate(self.stats)
            worst = _lightest(self, _collapsed(self, job))
            if not worst.any():
                return dropped
            dropped = True
            self.owner, self.share, self.gaussian = drop(self.rows, self.owner, self.share, self.gaussian, ~worst)


def _run(state: _State, job: Job) -> tuple[int, bool]:
    """Move the state to where the likelihood no longer rises; return the steps and whether it got there."""
    state.maximize(job)
    before = (state.stats, state.mixture)
    for step in range(1, job.max_iter + 1):
        likelihood = state.expect() + job.model.family.log_prior(state.stats, state.mixture)
        if state.trace and likelihood < state.trace[-1]:  # a repaired or shrunk estimate is not the maximum
            state.stats, state.mixture = before
            return step, True
        gain = likelihood - state.trace[-1] if state.trace else np.inf
        state.trace.append(likelihood)
        if gain <= job.tol * job.total:
            return step, True
        if step < job.max_iter:
            before = (state.stats, state.mixture)
            if state.maximize(job):
                state.trace.clear()
    return job.max_iter, False


def log_shares(stats: MixtureStats) -> Array:
    """Return the logarithms of the classes' shares of the weight (k,)."""
    return log_of(stats.class_weight / stats.class_weight.sum())


def owners(found: Sequence[MixtureClimb]) -> Codes:
    """Return the class of each component, of climbs each of which is one class."""
    return np.concatenate([np.full(len(climbed.stats.owner), c) for c, climbed in enumerate(found)])


def condense(
    rows: Rows, owner: Codes, share: Array, gaussian: Gaussian, family: GaussianFamily, k: int
) -> MixtureStats:
    """Return the statistics of the components: every row counts in each by its responsibility times its weight."""
    weighted = share * rows.weight[:, None]
    full = family.structure is Full
    plain = rows.holes.complete if full else np.arange(len(rows.values))
    row, component = np.nonzero(weighted[plain])
    part = weighted[plain][row, component]
    inner = family.summarize(rows.values[plain][row], component, len(owner), part)
    if full and rows.holes.any_filled:
        assert isinstance(inner, PatternStats)
        some = rows.holes.some
        filled = fill_shared_out(rows.values[some], weighted[some], gaussian, inner.complete.form)
        inner = PatternStats(inner.complete.merge(filled), {})
    ones = np.ones(k, dtype=np.int64)
    return MixtureStats(owner, weighted.sum(axis=0), inner, ones, ones, np.zeros(k, dtype=np.int64))


def choose(gaussian: Gaussian, index: Codes, rows: Rows) -> Gaussian:
    """Return the Gaussians with these numbers, to fill missing cells with; without any, nothing needs choosing."""
    covariance = gaussian.covariance
    if not rows.holes.any_filled:
        return gaussian
    chosen = covariance if covariance.g == 1 else Full.factor(covariance.dense()[index])
    return Gaussian(gaussian.means[index], chosen, gaussian.used)


def _collapsed(state: _State, job: Job) -> Flags:
    """Return which components have too little weight, or next to no variance in some direction of their class."""
    bad = np.asarray(state.stats.weight < job.least_rows)
    covariance = state.mixture.components.covariance
    if not job.separate or isinstance(covariance, LowRank) or isinstance(job.reference.covariance, LowRank):
        return bad
    if state.mixture.components.used != job.reference.used or not job.reference.used:
        return bad
    own, classes = covariance.dense(), job.reference.covariance.dense()
    for i, c in enumerate(state.owner.tolist()):
        lower = np.linalg.cholesky(classes[c])
        half = np.linalg.solve(lower, own[i])
        bad[i] |= bool(np.linalg.eigvalsh(np.linalg.solve(lower, half.T))[0] < COLLAPSED)
    return bad


def _lightest(state: _State, bad: Flags) -> Flags:
    """Return the lightest bad component of each class that has others."""
    chosen = np.zeros_like(bad)
    for c in np.flatnonzero(state.stats.counts > 1):
        own = np.flatnonzero((state.owner == c) & bad)
        if len(own):
            chosen[own[state.stats.weight[own].argmin()]] = True
    return chosen


def drop(rows: Rows, owner: Codes, share: Array, gaussian: Gaussian, kept: Flags) -> tuple[Codes, Array, Gaussian]:
    """Return classes, responsibilities and fillers of the components kept, which take over the rows of the others."""
    owner, share = owner[kept], share[:, kept]
    allowed = (rows.codes[:, None] == owner) | (rows.codes < 0)[:, None]
    total = share.sum(axis=1, keepdims=True)
    lost = total[:, 0] < LOST
    share = np.where(lost[:, None], allowed / allowed.sum(axis=1, keepdims=True), share / np.where(total > 0, total, 1))
    return owner, share, choose(gaussian, np.flatnonzero(kept), rows)
