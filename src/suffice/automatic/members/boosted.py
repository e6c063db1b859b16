"""Trees boosted on the rows kept: sharp rules that densities smooth over.

Five times, trees are boosted on four fifths of the rows, until the rest of the rows loses no less by more of them
(Friedman 2001, doi:10.1214/aos/1013203451); the member is the mean of the five, and a row that is left out is scored
by the one that has not seen it. The rows kept are a statistic, which merges and forgets, so what a rule makes of them
does, too; p(class | x) is theirs, and p(x) remains that of the joint model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..._arrays import Array, Codes, NDArray, log_softmax, np, parallel_map, single_openmp_thread
from ...export.program import Term
from ...forest import FrozenForest, Trees, TreeScores
from ...notes import Kind, Note
from ..columns import Reading
from ..folds import deal
from ..inputs import Inputs
from ..member import Candidate, Known, Member
from ..sample import Sample
from ..stack import Judge, centred

FOLDS = 5
ROUNDS = (50, 100, 200, 300)  # after which it is looked at how many are best
MOST_WORK = 5e9  # cells added up: beyond, these trees are left out, on every machine alike
MOST_ROWS = 20_000.0
LAST = 2.0**15 - 1.0  # a cell beyond all: the split tells missing cells from others
PATIENCE = 0.2  # of the rounds that must have brought nothing
ROUNDING = 1e-6  # by which trees read out may differ from those grown, relative to the largest score


class Grown(NamedTuple):
    """Nodes of trees with their values, and how many trees there are."""

    trees: Trees
    values: Array
    cover: Array


@dataclass(frozen=True)
class BoostedMember(Member):
    """The mean of the folds' boosted trees, less the log share of each class."""

    kinds: ClassVar[tuple[str, ...]] = ("boosted trees",)
    needs_rows: ClassVar[bool] = True
    generative: ClassVar[bool] = False
    left_out_error: ClassVar[float] = np.inf  # folds, not single rows, are left out
    missing_tells: ClassVar[bool] = True

    frozen: FrozenForest
    trees: TreeScores
    rounds: int
    name: str = "boosted trees"

    @classmethod
    def candidates(cls, known: Known, sample: Sample, judge: Judge) -> Iterator[Candidate]:
        """Yield the trees boosted by folds; none where the rows are too few for a forest, or that is too much work."""
        frozen = known.columns.forest
        if frozen is None or _work(known) > MOST_WORK:
            return
        boosted = _by_folds(sample, known.k)
        if boosted is None:
            return
        base = -np.log((known.weight + 0.5) / (known.weight + 0.5).sum())
        scores, grown, rounds = boosted
        trees = TreeScores(grown.trees, grown.values, base, False, grown.cover)
        yield Candidate((cls(frozen, trees, rounds),), scores + base, judge)

    @classmethod
    def spared(cls, known: Known) -> tuple[Note, ...]:
        if known.columns.forest is None or _work(known) <= MOST_WORK:
            return ()
        what = "boosted trees are left out"
        why = f"{known.columns.d:,} columns and {known.k:,} classes would take too long"
        return (Note(what, why, kind=Kind.CHOSEN),)

    @property
    def setting(self) -> dict[str, float]:
        """The rounds of all folds together."""
        return {"rounds": self.rounds}

    def scores(self, reading: Reading) -> Array:
        return self.trees.scores(reading.forest.cells)

    def left_out(self, sample: Sample) -> Array:
        """Return scores of rows the trees were not grown on, as only those that are kept are."""
        return self.scores(sample.rows)

    def lower(self, inputs: Inputs, weight: float, by_column: Mapping[int, float]) -> Iterator[tuple[Term, float]]:
        if weight:
            yield inputs.trees(self.trees, self.frozen.cells), weight

    def explain(self, reading: Reading, orders: int | None, errors: bool) -> tuple[Array, Array]:
        """Return Shapley values of the sums over leaves."""
        found = centred(self.trees.contributions(reading.forest.cells))
        return found, np.zeros_like(found)


def _work(known: Known) -> float:
    """Return how many cells are added up for fifty rounds of all folds, of at most as many rows as are kept."""
    return (
        min(float(known.weight.sum()), MOST_ROWS)
        * known.columns.d
        * (1 if known.k == 2 else known.k)
        * ROUNDS[0]
        * FOLDS
    )


def _by_folds(sample: Sample, k: int) -> tuple[Array, Grown, int] | None:
    """Return scores (n, k) of the rows by trees grown on other folds, all folds' trees, and their rounds.

    Classes of fewer rows than folds have a score that no cell changes, the log of their share. None where fewer than
    two classes are left, or scikit-learn's trees cannot be read out.
    """
    reading = sample.rows.forest
    share = np.bincount(sample.codes, weights=sample.weight, minlength=k).astype(np.float64)
    present = np.flatnonzero(np.bincount(sample.codes, minlength=k) >= FOLDS)
    if len(present) < 2:
        return None
    cells = np.where(reading.cells < 0, np.nan, reading.cells).astype(np.float64)
    codes = np.full(k, -1, dtype=np.int64)
    codes[present] = np.arange(len(present))
    codes = codes[sample.codes]
    order = np.lexsort((sample.codes, reading.contents))
    order = order[codes[order] >= 0]
    place, weight = deal(sample.rows, sample.codes, FOLDS), sample.weight / sample.weight.mean()

    def fitted(fold: int) -> tuple[Codes, Grown, int, Array]:
        out = order[place[order] == fold]
        model, best, told = _boost(cells, codes, weight, order[place[order] != fold], out)
        return out, _read_out(model, best, len(present)), best, told

    scores, parts, rounds = np.zeros((len(sample), k)), [], 0
    for fold, (out, grown, best, told) in enumerate(parallel_map(fitted, range(FOLDS))):
        found = TreeScores(grown.trees, grown.values, np.zeros(len(present)), False, grown.cover)
        if np.abs(found.scores(reading.cells[out]) - told).max() > ROUNDING * max(float(np.abs(told).max()), 1.0):
            return None
        whole = grown._replace(values=_with_rare(grown, present, share))
        own = np.flatnonzero(place == fold)
        scores[own] = TreeScores(whole.trees, whole.values, np.zeros(k), False, whole.cover).scores(reading.cells[own])
        parts.append(whole)
        rounds += best
    return scores, _mean(parts), rounds


def _with_rare(grown: Grown, present: Codes, share: Array) -> Array:
    """Return the values of leaves (L, k) with the log shares of the classes that no tree was grown for."""
    out = np.zeros((len(grown.values), len(share)))
    out[:, present] = grown.values
    first = grown.trees.leaf_tree == 0
    rare = np.setdiff1d(np.arange(len(share)), present)
    if len(rare):
        level = grown.values[first].mean() - np.log(share[present]).mean()
        out[np.ix_(first, rare)] = np.log(np.maximum(share[rare], 1e-3)) + level
    return out


def _boost(cells: Array, codes: Codes, weight: Array, rest: Codes, out: Codes) -> tuple[Any, int, Array]:
    """Return trees boosted on `rest`, after how many rounds the rows `out` lose least, and their scores then."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to load, and not before trees are boosted

    k = int(codes.max()) + 1
    empty = np.isnan(cells[rest]).all(axis=0)
    if empty.any():  # scikit-learn cannot have them, and no tree would look at them
        cells = np.where(empty, 0.0, cells)
    model = HistGradientBoostingClassifier(early_stopping=False, warm_start=True, random_state=0)
    best, least, told = 0, np.inf, np.zeros((len(out), k))
    for rounds in ROUNDS:
        with single_openmp_thread():
            model.set_params(max_iter=rounds).fit(cells[rest], codes[rest], weight[rest])
        for number, found in enumerate(model.staged_decision_function(cells[out]), start=1):
            if number > best:
                scores = _wide(found, k)
                lost = -float(weight[out] @ log_softmax(scores)[np.arange(len(out)), codes[out]])
                if lost < least:
                    best, least, told = number, lost, scores
        if best < (1.0 - PATIENCE) * rounds:
            break
    return model, best, told


def _wide(scores: Array, k: int) -> Array:
    """Return scores (n, k) of one score (n,) for two classes."""
    return np.stack([-0.5 * scores.ravel(), 0.5 * scores.ravel()], axis=1) if k == 2 else np.asarray(scores)


def _read_out(model: Any, rounds: int, k: int) -> Grown:
    """Return the trees of some rounds as plain arrays, the score they begin with in the leaves of the first."""
    nodes, owners, roots, first = [], [], [], 0
    for grown in model._predictors[:rounds]:  # without a public name; `_by_folds` checks what is read
        for number, tree in enumerate(grown):
            nodes.append(tree.nodes)
            owners.append(np.full(len(tree.nodes), number))
            roots.append(first)
            first += len(tree.nodes)
    whole, owner = np.concatenate(nodes), np.concatenate(owners)
    begin = np.repeat(roots, [len(own) for own in nodes])
    leaf = whole["is_leaf"].astype(np.bool_)

    def inner(values: NDArray[Any]) -> Codes:
        return np.where(leaf, -1, values).astype(np.int64)

    trees = Trees(
        inner(whole["feature_idx"]),
        np.where(leaf, 0, np.floor(np.minimum(whole["num_threshold"], LAST))).astype(np.int64),
        inner(whole["left"].astype(np.int64) + begin),
        inner(whole["right"].astype(np.int64) + begin),
        (whole["missing_go_to_left"] == 0) & ~leaf,
        np.array(roots, dtype=np.int64),
        0.0,
    )
    values = np.zeros((int(leaf.sum()), k))
    if k == 2:
        values[:] = whole["value"][leaf][:, None] * [-0.5, 0.5]
    else:
        values[np.arange(len(values)), owner[leaf]] = whole["value"][leaf]
    values[trees.leaf_tree == 0] += _wide(np.asarray(model._baseline_prediction, dtype=np.float64), k)
    return Grown(trees, values, np.maximum(whole["count"][leaf].astype(np.float64), 1e-3))


def _mean(parts: list[Grown]) -> Grown:
    """Return the trees of all folds, whose scores add up to the mean of theirs."""
    steps = np.cumsum([0, *(len(own.trees.column) for own in parts)])
    own: dict[str, Any] = {"share": 0.0}  # no row is in a bag: folds are left out
    for name in ("column", "threshold", "left", "right", "missing_right", "roots"):
        moved = name in ("left", "right", "roots")
        found = [getattr(part.trees, name) for part in parts]
        if moved:
            found = [np.where(node < 0, -1, node + step) for node, step in zip(found, steps, strict=False)]
        own[name] = np.concatenate(found)
    values = np.concatenate([part.values for part in parts]) / len(parts)
    return Grown(Trees(**own), values, np.concatenate([part.cover for part in parts]))
