"""The pooled posterior of the automatic classifier as terms of a program and a stack of them."""

from __future__ import annotations

from typing import Any

from .._arrays import np
from ..automatic.choose import Automatic
from ..automatic.columns import MISSING, RAW, FrozenColumns
from ..automatic.members.levels import LevelMember
from ..automatic.members.splines import HatMember
from ..automatic.scorers import GaussianScorer, HatScorer, LevelScorer, PairScorer, PartScorer
from ..densities import MultivariateT
from ..errors import ExportError
from ..estimate import class_log_prior
from .program import Bin, Hats, Indicator, Interpolated, Mixture, Pairs, Projected, Scaled, Stack, Table
from .terms import Lowering, normal


def lower_stack(job: Lowering, model: Any) -> Stack:
    """Enter the members' terms, each with its weight in the pool, and return the pool.

    Columns that have a weight of their own beside that of their member get the sum of both: centring is linear.
    """
    automatic: Automatic = model._automatic
    members = _Members(job, automatic.frozen, model._blocks[-1])
    alone = automatic.stack.weight[len(automatic.members) :]
    own = {pair: float(weight) for pair, weight in zip(automatic.columns, alone, strict=True)}
    terms: list[tuple[int, float]] = []
    for member, weight in zip(automatic.members, automatic.stack.weight, strict=False):
        terms += members.member(member.scorer, float(weight), own)
    terms = [(number, weight) for number, weight in terms if weight]
    prior, shares = automatic.log_prior, automatic.class_weight / automatic.class_weight.sum()
    if model.priors is not None:
        classes = model.statistics_.classes
        prior = class_log_prior(model.statistics_.weight, model._class_priors(model.priors, classes))
        shares = np.exp(prior)
    return Stack(
        terms=tuple(number for number, _ in terms),
        weight=np.array([weight for _, weight in terms]),
        offset=prior + automatic.stack.bias,
        floor=float(automatic.floor),
        prior=np.exp(prior),
        shares=np.asarray(shares),
        known_readings=tuple(members.numbers),
        known_codes=tuple(members.codes),
    )


class _Members:
    """Members read through the frozen columns."""

    def __init__(self, job: Lowering, frozen: FrozenColumns, block: Any) -> None:
        self.job, self.frozen = job, frozen
        d = block.family.numbers
        self.numbers = [job.number(p) for p in block.positions[:d]]
        labels = block.positions[d:]
        self.codes = [job.level(p, known) for p, known in zip(labels, frozen.vocabulary, strict=True)]
        self._cells: dict[str, tuple[int, ...]] = {}

    def member(self, scorer: Any, weight: float, own: dict[tuple[str, int], float]) -> list[tuple[int, float]]:
        """Return (term, weight) of all that a member consists of."""
        if isinstance(scorer, HatScorer):
            weights = [weight + own.get(("hat", j), 0.0) for j in range(len(self.numbers))]
            return [(self.hat(scorer.model, j), w) for j, w in enumerate(weights) if w]
        if isinstance(scorer, LevelScorer):
            weights = [weight + own.get(("cat", j), 0.0) for j in range(len(self.codes))]
            return [(self.level(scorer.model, j), w) for j, w in enumerate(weights) if w]
        return [(self._whole(scorer), weight)] if weight else []

    def _whole(self, scorer: Any) -> int:
        if isinstance(scorer, GaussianScorer):
            return self.job.add(self._normal(scorer.density, self.block(scorer.version)))
        if isinstance(scorer, PartScorer):
            cells = self.cells("scores")
            parts = self._normal(scorer.density.parts, tuple(cells[int(j)] for j in scorer.used))
            owner = tuple(int(c) for c in scorer.density.owner)
            return self.job.add(Mixture(parts, owner, np.asarray(scorer.density.log_share)))
        if isinstance(scorer, PairScorer):
            return self._pairs(scorer)
        raise ExportError.density(type(scorer).__name__, ())

    @staticmethod
    def _normal(density: MultivariateT, readings: tuple[int, ...]) -> Any:
        return normal(density, tuple(readings[j] for j in density.used))

    # --- readings ----------------------------------------------------------------------------------------------------

    def block(self, kind: str) -> tuple[int, ...]:
        """Return the readings of the Gaussian block, in leading directions if columns are very many."""
        cells = self.cells(kind)
        if kind not in self.frozen.basis:
            return cells
        basis = self.frozen.basis[kind]
        pairs = enumerate(np.ascontiguousarray(basis.T))
        return tuple(self.job.reading(Projected(cells, own), ("along", kind, i)) for i, own in pairs)

    def cells(self, kind: str) -> tuple[int, ...]:
        """Return the readings of the used columns of the Gaussian block, in units of total variance 1."""
        if kind not in self._cells:
            raw = list(self.numbers if kind == RAW else self._scores()) + self._indicators()
            centre, scale = self.frozen.center[kind], self.frozen.scale[kind]
            self._cells[kind] = tuple(
                self.job.reading(Scaled(raw[j], float(centre[j]), float(scale[j])), ("scaled", kind, int(j)))
                for j in self.frozen.used[kind]
            )
        return self._cells[kind]

    def _scores(self) -> list[int]:
        found = []
        for j, (knots, z) in enumerate(self.frozen.scores):
            low = high = 0.0
            if len(knots) > 1:
                k = min(5, len(knots) - 1)
                low = float((z[k] - z[0]) / (knots[k] - knots[0]))
                high = float((z[-1] - z[-1 - k]) / (knots[-1] - knots[-1 - k]))
            found.append(self.job.reading(Interpolated(self.numbers[j], knots, z, low, high), ("score", j)))
        return found

    def _indicators(self) -> list[int]:
        found = []
        for j, (code, indicated) in enumerate(zip(self.codes, self.frozen.indicators, strict=True)):
            keeps = MISSING not in indicated
            each = [(Indicator(code, int(level), keeps), ("indicator", j, int(level))) for level in indicated]
            found += [self.job.reading(reading, key) for reading, key in each]
        return found

    # --- members of single columns -----------------------------------------------------------------------------------

    def hat(self, model: HatMember, j: int) -> int:
        """Return the term of hat functions of one number."""
        return self.job.add(Hats(self.numbers[j], model.hats.knots[j], model.table(j)))

    def level(self, model: LevelMember, j: int) -> int:
        """Return the term of the levels of one category."""
        return self.job.add(Table(self.codes[j], model.table(j)))

    def _pairs(self, scorer: PairScorer) -> int:
        codes, sizes = [], []
        for j, cuts in enumerate(self.frozen.cuts[scorer.bins]):
            codes.append(self.job.code(Bin(self.numbers[j], cuts), ("bin", scorer.bins, j)))
            sizes.append(len(cuts) + 1)
        codes += self.codes
        sizes += [len(known) for known in self.frozen.vocabulary]
        tables = scorer.model.tables or scorer.model.ready().tables
        return self.job.add(
            Pairs(
                tuple(codes),
                tuple(sizes),
                tuple(scorer.model.starts[:-1]),
                np.stack([alone for alone, _ in tables]),
                np.stack([np.asarray(given, dtype=np.float64) for _, given in tables]),
            )
        )
