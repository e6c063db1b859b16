"""Starts of mixture EM by k-means, and the number of components by BIC."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from .._arrays import Array, Codes, np
from ..densities import Diagonal, Full, Mixture
from ..errors import DataError, setting
from ..stats import MixtureStats
from ..stats.rows import content, fingerprints
from ..stats.scatter import gather
from .mixture import MixtureEstimate
from .mixture_em import Job, MixtureClimb, Rows, climb_mixture, expect, log_shares, owners, share_by_class

# ── k-means with k-means++ starts ─────────────────────────────────────────────────────────────────────────────────────
#
# Starts are drawn as by Arthur & Vassilvitskii (2007), each with a chance in proportion to its squared distance from
# those before; then rows and means move in turn (Lloyd 1982, doi:10.1109/TIT.1982.1056489) until no row does. SciPy's
# kmeans2 takes no weights, warns of parts left empty, and to silence that changes the filters of the process, which
# threads share; scikit-learn's KMeans moves the mean of an empty part elsewhere, and cannot stop after so few steps.


def k_means(rows: Array, parts: int, rounds: int, seed: int) -> Codes:
    """Return the part (n,) of each row (n, p), after so many rounds at most; some parts may be left without rows."""
    rows = rows - rows.mean(axis=0)  # products tell distances best about the middle
    weight, rng = np.ones(len(rows)), np.random.RandomState(seed)
    first = int(rng.randint(0, len(rows), dtype=np.int64))
    turned = np.ascontiguousarray(rows.T)
    means = far_apart(rows, weight, parts, rng, first)
    return lloyd(rows, weight, means, rounds - 1, lambda means: _nearest_about(turned, means))


def far_apart(
    rows: Array, weight: Array, parts: int, rng: np.random.RandomState | np.random.Generator, first: int | None = None
) -> Array:
    """Return rows (parts, p), each drawn in proportion to weight × squared distance from those before.

    The `first` is drawn by weight, unless it is given.
    """
    squares, chosen = np.ones(len(rows)), []
    for part in range(parts):
        number = first if part == 0 and first is not None else _draw_number(weight * squares, rng)
        chosen.append(number)
        apart = ((rows - rows[number]) ** 2).sum(axis=1)
        squares = apart if part == 0 else np.minimum(squares, apart)
    return rows[chosen]


def _draw_number(chance: Array, rng: np.random.RandomState | np.random.Generator) -> int:
    """Return a number drawn in proportion to chances (n,); the last where none has any."""
    reached = np.cumsum(chance)
    return min(int(np.searchsorted(reached, rng.random() * reached[-1], side="right")), len(chance) - 1)


def lloyd(
    rows: Array, weight: Array, means: Array, steps: int, nearest: Callable[[Array], Codes] | None = None
) -> Codes:
    """Return the nearest mean (n,) of each row, after means (parts, p) moved so many times at most."""
    nearest = nearest or (lambda means: _nearest(rows, means))
    part = nearest(means)
    for _ in range(steps):
        own = (part == np.arange(len(means))[:, None]) * weight
        held = own.sum(axis=1)[:, None]
        means = np.where(held > 0.0, own @ rows / np.where(held > 0.0, held, 1.0), means)
        before, part = part, nearest(means)
        if (part == before).all():
            break
    return part


def _nearest(rows: Array, means: Array) -> Codes:
    """Return which of the means (parts, p) is nearest to each row; of equal ones the first."""
    found: Codes = np.stack([((rows - mean) ** 2).sum(axis=1) for mean in means]).argmin(axis=0)
    return found


def _nearest_about(turned: Array, means: Array) -> Codes:
    """Return the same of rows about their middle, given as columns (p, n): faster, and equal distances less exactly."""
    far = means @ turned
    far *= -2.0
    far += (means**2).sum(axis=1)[:, None]
    least, found = far[0], np.zeros(far.shape[1], dtype=np.int64)
    for number, own in enumerate(far[1:], start=1):
        found[own < least] = number
        least = np.minimum(least, own)
    return found


# ── Starts of mixture EM, and the number of components by BIC ─────────────────────────────────────────────────────────


BIC = "bic"
WORSE = 2  # candidates in a row that raise the BIC before the search for more components ends
CELLS = 5  # observed cells a free parameter needs: with fewer the BIC, an approximation for many rows, takes too many
TRIES = 4  # starts for each of `n_init`, which take a first look each; the most likely `n_init` of them go on
FIRST = 10  # EM steps of a first look
SHORT = 20  # EM steps of those that go on; the most likely one then goes to the end (Biernacki, Celeux & Govaert 2003)
RANK = 1e-9  # least variance of a direction, relative to the largest
# Where the centres of a start are looked for, and Lloyd's steps from there. The optimum of k-means is one start; many
# steps would lead all of them there. Whitened rows have parts that lie along each other apart.
KMEANS, LOOSE = (False, 10), ((True, 1), (False, 1), (True, 0))


@dataclass(frozen=True, slots=True)
class Search:
    """How components are looked for: `wanted` by class, a number or "bic"; `seed` is that of each."""

    wanted: Sequence[int | str]
    seed: int
    max_components: int = 5
    n_init: int = 3
    max_iter: int = 500
    tol: float = 1e-5


def fit_mixtures(
    values: Array, codes: Codes, k: int, weight: Array | None, model: MixtureEstimate, search: Search
) -> MixtureStats:
    """Return the statistics of mixtures fitted to labelled rows (n, d), class by class.

    Covariances shared by all classes are fitted jointly, from where the classes arrive on their own. With one component
    in every class these are the statistics of the rows, as for one Gaussian per class.
    """
    if all(wanted == 1 for wanted in search.wanted):
        return model.family.summarize(values, codes, k, weight)
    own, rows = model.apart(), Rows.of(values, codes, weight)
    found = [_fit_class(_in_order(rows, np.flatnonzero(codes == c)), c, own, search) for c in range(k)]

    if all(climbed.stats.is_single for climbed in found):
        stats = model.family.summarize(values, codes, k, weight)
    elif model.family.inner.shared or model.pools or _unseen(values, codes, k, model):
        stats = _fit_together(rows, found, model, search)
    else:
        stats = reduce(MixtureStats.beside, (climbed.stats for climbed in found))
    asked = np.concatenate([climbed.stats.asked for climbed in found])
    return replace(stats, asked=np.maximum(asked, stats.counts))


def join_rows(
    values: Array,
    codes: Codes,
    weight: Array | None,
    stats: MixtureStats,
    model: MixtureEstimate,
    search: Search,
    log_prior: Array | None,
) -> MixtureStats:
    """Return the statistics of mixtures fitted to all rows, those without a label (code −1) joining by EM.

    `stats` are those of the labelled rows; `log_prior` (k,) the class priors, None for the classes' shares.
    """
    rows = Rows.of(values, codes, weight)
    job = Job.start(rows, stats.k, model, log_prior=log_prior, max_iter=search.max_iter, tol=search.tol)
    mixture = job.model.estimate(stats)
    _, share = expect(rows, mixture, log_shares(stats) if log_prior is None else log_prior)
    reached = climb_mixture(rows, stats.owner, share, job, mixture.components).stats
    return replace(reached, asked=np.maximum(stats.asked, reached.counts))


def _in_order(rows: Rows, members: Codes) -> Rows:
    """Return rows of one class in an order by contents: starts do not depend on that of the table and its columns."""
    values = rows.values[members]
    _, first, place = np.unique(fingerprints(values), return_index=True, return_inverse=True)
    order = np.argsort(content([values[first]], len(first))[place], kind="stable")  # copies say what weights say
    return Rows.of(values[order], np.zeros(len(order), dtype=np.int64), rows.weight[members][order])


def _fit_class(rows: Rows, c: int, model: MixtureEstimate, search: Search) -> MixtureClimb:
    """Return the best mixture of one class, of the wanted number of components or of the least BIC.

    `rows` are its rows, numbered 0, equal ones side by side.
    """
    job = Job.start(rows, 1, model, max_iter=search.max_iter, tol=search.tol)
    rng = np.random.default_rng(search.seed)
    wanted, kinds = search.wanted[c], _distinct(rows.values)
    if isinstance(wanted, str):
        cells = float((rows.weight @ ~np.isnan(rows.values)).sum())
        most = min(search.max_components, kinds)
        numbers = (m for m in range(2, most + 1) if CELLS * _parameters(m, job) <= cells)
        several = (_best_start(rows, m, job, rng, search.n_init) for m in numbers)
        best = _least_bic(itertools.chain([_alone(rows, job)], several), job)
        return replace(best, stats=replace(best.stats, asked=best.stats.counts))
    if wanted > kinds:
        raise DataError(
            f"Class {job.model.label(c)!r} has {kinds} different rows and is to have "
            f"{wanted} components. Next: ask for at most as many, or leave "
            f"{setting('n_components', 'bic')}."
        )
    return _alone(rows, job) if wanted == 1 else _best_start(rows, int(wanted), job, rng, search.n_init)


def _least_bic(candidates: Iterable[MixtureClimb], job: Job) -> MixtureClimb:
    """Return the candidate of the least BIC: of one component, of two, and so on, until `WORSE` in a row are worse."""
    found = iter(candidates)
    best = next(found)
    least, worse = _bic(best, job), 0
    for candidate in found:
        score = _bic(candidate, job)
        worse = 0 if score < least else worse + 1
        if score < least:
            best, least = candidate, score
        if worse == WORSE:
            break
    return best


def _bic(climbed: MixtureClimb, job: Job) -> float:
    """Return −2 log likelihood + p log n, p the number of free parameters and n the weight of the rows."""
    p = _parameters(len(climbed.stats.owner), job)
    likelihood = climbed.likelihood - job.model.family.log_prior(climbed.stats, climbed.mixture)
    return -2.0 * likelihood + p * float(np.log(job.total or 1.0))  # a class without rows has one candidate


def _parameters(m: int, job: Job) -> int:
    """Return the number of free parameters of m components: weights, means and covariances."""
    d = len(job.reference.used)
    structure = job.model.family.inner.structure
    each = d * (d + 1) // 2 if structure is Full else d if structure is Diagonal else 1
    return m - 1 + m * d + each * (m if job.separate else 1)


def _alone(rows: Rows, job: Job) -> MixtureClimb:
    """Return the class as one component, in closed form."""
    stats = job.model.family.summarize(rows.values, rows.codes, 1, rows.weight)
    mixture = Mixture(job.reference, np.zeros(1, dtype=np.int64), np.zeros(1))
    return MixtureClimb(stats, mixture, (expect(rows, mixture, np.zeros(1))[0],))


def _best_start(rows: Rows, m: int, job: Job, rng: np.random.Generator, n_init: int) -> MixtureClimb:
    """Return the most likely of several short climbs, those that kept the most components first, gone to the end.

    Where components collapse on the way there, the next one goes on.
    """
    ended = list[MixtureClimb]()
    for short in sorted(_short_climbs(rows, m, job, rng, n_init), key=_rank, reverse=True):
        ended.append(_go_on(rows, short, job, SHORT, job.max_iter))
        if len(ended[-1].stats.owner) == m:
            break
    best = _most_likely(ended)
    best = _alone(rows, job) if best.stats.is_single else best
    return replace(best, stats=replace(best.stats, asked=np.full(1, m)))


def _short_climbs(rows: Rows, m: int, job: Job, rng: np.random.Generator, n_init: int) -> list[MixtureClimb]:
    """Return climbs of at most SHORT steps: the `n_init` most likely after FIRST steps, of TRIES times as many.

    Where these lose components, as those that lead to a spike of a few rows do after a likely beginning, the others
    follow until one keeps all.
    """
    owner, first = np.zeros(m, dtype=np.int64), min(FIRST, job.max_iter)
    brief = replace(job, max_iter=first)
    looks = [climb_mixture(rows, owner, share, brief) for share in _starts(rows, m, rng, TRIES * n_init)]
    climbs = list[MixtureClimb]()
    for look in sorted(looks, key=_rank, reverse=True):
        if len(climbs) >= n_init and len(_most_likely(climbs).stats.owner) == m:
            break
        climbs.append(_go_on(rows, look, job, first, min(SHORT, job.max_iter)))
    return climbs


def _most_likely(climbs: Sequence[MixtureClimb]) -> MixtureClimb:
    """Return the most likely of the climbs that kept the most components."""
    return max(climbs, key=_rank)


def _rank(climbed: MixtureClimb) -> tuple[int, float]:
    return len(climbed.stats.owner), climbed.likelihood


def _go_on(rows: Rows, climbed: MixtureClimb, job: Job, done: int, most: int) -> MixtureClimb:
    """Return a climb stopped after `done` steps gone on to at most `most` steps, if the likelihood still rose."""
    if climbed.stats.is_single or not climbed.stats.unfinished.any() or most <= done:
        return climbed
    _, share = expect(rows, climbed.mixture, np.zeros(1))
    rest = replace(job, max_iter=most - done)
    further = climb_mixture(rows, climbed.stats.owner, share, rest, climbed.mixture.components)
    return replace(further, stats=replace(further.stats, steps=further.stats.steps + done))


def _starts(rows: Rows, m: int, rng: np.random.Generator, number: int) -> Iterator[Array]:
    """Yield responsibilities (n, m) of 0 and 1 of rows nearest to seeded centres, missing cells at the column's mean.

    The first is k-means in standard units. The others take at most one of Lloyd's steps, in standard units or with
    all correlations taken out, whence parts that k-means cannot tell apart are begun with as well.
    """
    z = _standard(rows)
    white = _whitened(z, rows.weight)
    for i in range(number):
        whitened, steps = KMEANS if i == 0 else LOOSE[(i - 1) % len(LOOSE)]
        space = white if whitened else z
        part = lloyd(space, rows.weight, far_apart(space, rows.weight, m, rng), steps)
        yield np.asarray(part[:, None] == np.arange(m), dtype=np.float64)


def _standard(rows: Rows) -> Array:
    """Return the rows in standard units, missing cells at the mean of their column."""
    present = ~np.isnan(rows.values)
    seen = np.where((rows.weight @ present) > 0, rows.weight @ present, 1.0)
    z = rows.values - rows.weight @ np.where(present, rows.values, 0.0) / seen
    z[~present] = 0.0
    deviation = np.sqrt(rows.weight @ z**2 / seen)
    z /= np.where(deviation > 0, deviation, 1.0)
    return np.asarray(z)


def _whitened(z: Array, weight: Array) -> Array:
    """Return centred rows in coordinates (n, r) that are not correlated and vary alike, r the rank."""
    if z.shape[1] > z.shape[0]:
        return z
    values, vectors = np.linalg.eigh((z * weight[:, None]).T @ z / weight.sum())
    kept = values > RANK * max(float(values[-1]), 0.0)
    return np.asarray(z @ (vectors[:, kept] / np.sqrt(values[kept])))


def _distinct(values: Array) -> int:
    """Return the number of different rows, of rows of which equal ones stand side by side; missing cells are alike."""
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    return 1 + int((~same.all(axis=1)).sum())


def _unseen(values: Array, codes: Codes, k: int, model: MixtureEstimate) -> bool:
    """Return whether a class lacks the values of a column, so that it must borrow from the others."""
    if model.family.inner.structure is not Full:
        return False
    return bool((gather((~np.isnan(values)).astype(np.int64), codes, k) <= 1).any())


def _fit_together(rows: Rows, found: Sequence[MixtureClimb], model: MixtureEstimate, search: Search) -> MixtureStats:
    """Return the mixtures of all classes fitted jointly, from where each class arrived on its own."""
    owner = owners(found)
    share = share_by_class(rows, owner, [climbed.mixture for climbed in found])
    job = Job.start(rows, len(found), model, max_iter=search.max_iter, tol=search.tol)
    return climb_mixture(rows, owner, share, job, job.fillers(owner, rows)).stats
