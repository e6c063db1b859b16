"""What has moved between the rows a model has learned and new ones: column by column, in class shares, and at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._arrays import Array, Codes, gammaincc, log_softmax, logsumexp, np, places_of
from ..densities import Rows
from ..errors import DataError, SchemaError, SettingError, align, cut, either, one_line
from ..fitted import Fitted
from ..schema import Kind, Level, Name, sort_levels
from ..stats.rows import Keys, compact, fingerprints, mixed, take_blocks
from ..table.dates import about
from .decide import adapt_priors
from .drift_columns import (
    Pair,
    Posteriors,
    beside_shares,
    category_effect,
    compare_pairs,
    learned_side,
    mean_and_deviation,
    number_effect,
    overall,
    pair_scores,
    table_side,
    within_classes,
)
from .frames import frame_of, plain
from .held_out import hold_out
from .two_samples import combine, compare_counts, holm, p_of_scores, rank_scores

# ── The answer to the question what has moved: a value that prints as a table ─────────────────────────────────────────

SD, VARIATION = "sd", "total variation"
MOST_LINES = 30


@dataclass(frozen=True)
class ClassShares:
    """The share of every class among the rows learned, `before` (k,), and the new ones, `after` (k,).

    `p_value` is that of no change; `labelled` whether labels told, or the shares after are estimated from the rows.
    """

    classes: tuple[Level, ...]
    before: Array
    after: Array
    p_value: float
    labelled: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return plain(vars(self))


class ColumnDrift(NamedTuple):
    """What has moved in one column; see `Drift`."""

    name: Name
    kind: str
    effect: float
    spread: float
    before: float
    after: float
    level: Level | None
    missing: tuple[float, float]
    p_value: float
    within_p_value: float
    by_class_p_value: Array | None

    @property
    def either(self) -> float:
        """One p-value of the column, whatever the classes and, by labels, within these.

        Posteriors go by all columns, so that without labels what is left in one may be another's doing.
        """
        if self.by_class_p_value is None:
            return self.p_value
        return combine([self.p_value, self.within_p_value])


@dataclass(frozen=True)
class Drift:
    """What has moved between the rows a model has learned and new ones; see `drift` of the estimators.

    By column, (d,): `kind` says what `effect` is, "sd" for the difference of means in standard deviations of the rows
    learned, "total variation" for half the sum of all changes of shares of categories, missing cells among them.
    `spread` is the ratio of standard deviations (NaN for categories), `level` the category whose share changed most
    (None for numbers), `before` and `after` its shares or the means (of `dates` in seconds since 1970); `missing`
    (d, 2) the shares of missing cells.

    `p_value` is that of no change of the column, whatever the classes; `within_p_value` that of no change within the
    classes, which other class shares alone cannot explain; NaN where it cannot be told. Without labels it is small in
    all columns that posteriors take for signs of the class when one of them has moved. `adjusted_p_value` is of the
    first, with labels of both together, by Holm's method: with no change anywhere one is at most α with probability α.
    `by_class_p_value` (d, k), in the order of `class_shares.classes`, is that within each class; None without labels.

    `pairs_p_value` is that all columns go together, two by two, as they did, and `pair` the two that speak most against
    it; `density_p_value` compares how likely the model finds the rows. `joint_p_value` is that of no change at all.
    NaN is what cannot be told. `rows` are the weights of both sides.
    """

    columns: tuple[Name, ...]
    kind: tuple[str, ...]
    effect: Array
    spread: Array
    level: tuple[Level | None, ...]
    before: Array
    after: Array
    missing: Array
    p_value: Array
    adjusted_p_value: Array
    within_p_value: Array
    by_class_p_value: Array | None
    class_shares: ClassShares
    pairs_p_value: float
    pair: tuple[Name, Name] | None
    density_p_value: float
    joint_p_value: float
    rows: tuple[float, float]
    compared: str
    container: str = "numpy"
    dates: tuple[Name, ...] = ()

    @classmethod
    def of_columns(cls, columns: Sequence[ColumnDrift], **rest: Any) -> Drift:
        """Return the answer made of its columns and of all else."""
        name, kind, effect, spread, before, after, level, gone, p_value, within, by_class = zip(*columns, strict=True)
        names = ("effect", "spread", "before", "after", "missing", "within_p_value")
        parts = zip(names, (effect, spread, before, after, gone, within), strict=True)
        numbers: dict[str, Any] = {own: np.array(values, dtype=np.float64) for own, values in parts}
        return cls(
            columns=name,
            kind=kind,
            level=level,
            **numbers,
            p_value=np.nan_to_num(np.array(p_value), nan=1.0),  # all cells are the same
            adjusted_p_value=np.nan_to_num(holm(np.array([own.either for own in columns])), nan=1.0),
            by_class_p_value=None if by_class[0] is None else np.stack(by_class),
            **rest,
        )

    def _table(self) -> dict[str, Array]:
        """Return the numbers of the columns (d,) by name."""
        missing = dict(zip(("missing_before", "missing_after"), self.missing.T, strict=True))
        effect = {name: getattr(self, name) for name in ("effect", "spread", "before", "after")}
        tests = {name: getattr(self, name) for name in ("p_value", "adjusted_p_value", "within_p_value")}
        return effect | missing | tests

    def moved(self, level: float = 0.05) -> list[Name]:
        """Return the columns whose adjusted p-value is at most this, the smallest first."""
        order = np.lexsort((self.p_value, self.adjusted_p_value))
        return [self.columns[j] for j in order if self.adjusted_p_value[j] <= level]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values, for JSON: numbers that are none are None."""
        by_class = self.by_class_p_value
        columns = [
            {
                "column": name,
                "kind": self.kind[j],
                "level": self.level[j],
                **{own: self._told(j, own, float(values[j])) for own, values in self._table().items()},
                "by_class_p_value": None if by_class is None else by_class[j],
            }
            for j, name in enumerate(self.columns)
        ]
        return plain(
            {
                "rows_before": self.rows[0],
                "rows_after": self.rows[1],
                "joint_p_value": self.joint_p_value,
                "density_p_value": self.density_p_value,
                "pairs_p_value": self.pairs_p_value,
                "pair": self.pair,
                "class_shares": self.class_shares.to_dict(),
                "columns": columns,
                "compared": self.compared,
            }
        )

    def _told(self, j: int, name: str, value: float) -> float | str:
        """Return a number of a column; means of dates as text."""
        dated = name in ("before", "after") and self.columns[j] in self.dates and np.isfinite(value)
        return about(value, 60.0) if dated else value

    def to_frame(self) -> Any:
        """Return the columns as a data frame, of the library that the model was fitted with where it was one.

        Without such a library it is an array of objects.
        """
        level = np.array([None if own is None else str(own) for own in self.level], dtype=object)
        texts = {"column": [str(name) for name in self.columns], "kind": list(self.kind), "level": level}
        return frame_of(texts | self._table(), self.container)

    def __str__(self) -> str:
        order = np.lexsort((self.p_value, self.adjusted_p_value))[:MOST_LINES]
        head = ("column", "effect", "spread", "before", "after", "missing", "p", "p within classes", "adjusted")
        left = len(self.columns) - len(order)
        rest = [f"and {left} more columns"] if left else []
        return "\n".join([*self._about(), "", *align([head, *(self._line(int(j)) for j in order)]), *rest])

    __repr__ = __str__

    def _about(self) -> list[str]:
        shares = self.class_shares
        size = np.argsort(-np.abs(shares.after - shares.before), kind="stable")[:3]
        told = ", ".join(f"{one_line(shares.classes[c])} {shares.before[c]:.1%} → {shares.after[c]:.1%}" for c in size)
        how = "by their labels" if shares.labelled else "as estimated without labels"
        pairs = []
        if self.pair is not None:
            first, second = map(one_line, self.pair)
            p = _p(self.pairs_p_value)
            pairs.append(f"how columns go together, two by two: p-value {p}, least {first} with {second}")
        return [
            f"{self.rows[1]:,.0f} new rows beside {self.rows[0]:,.0f} learned: joint p-value {_p(self.joint_p_value)}",
            f"class shares, {how}: {told}; p-value {_p(shares.p_value)}",
            *pairs,
            f"compared: {self.compared}",
        ]

    def _line(self, j: int) -> tuple[str, ...]:
        if self.kind[j] == SD:
            forms = "{:+.2f} sd", "×{:.2f}", "{:.4g}", "{:.4g}"
            values = self.effect[j], self.spread[j], self.before[j], self.after[j]
            pairs = zip(forms, values, strict=True)
            cells = ["" if np.isnan(value) else form.format(value) for form, value in pairs]
            if self.columns[j] in self.dates:
                cells[2:] = ["" if np.isnan(mean) else about(mean, 3_600.0) for mean in values[2:]]
        else:
            level = "missing" if self.level[j] is None else cut(one_line(self.level[j]))
            cells = [f"{self.effect[j]:.1%}", "", f"{level} {self.before[j]:.1%}", f"{self.after[j]:.1%}"]
        gone = f"{self.missing[j, 0]:.1%} → {self.missing[j, 1]:.1%}" if np.nansum(self.missing[j]) > 0 else ""
        p = _p(self.p_value[j]), _p(self.within_p_value[j]), _p(self.adjusted_p_value[j])
        return (one_line(self.columns[j]), *cells, gone, *p)


def _p(value: float) -> str:
    return "–" if value != value else "1" if value > 0.9995 else f"{value:.2g}" if value >= 1e-300 else "<1e-300"


# ── Both sides read and compared: columns, class shares, pairs of columns, densities ──────────────────────────────────


def drift(fitted: Fitted, given: object, y: object, sample_weight: object) -> Drift:
    """Return what has moved between the rows of a model and those of a table, or of another model."""
    pair = _pair(fitted, given, y, sample_weight)
    judged = judge_sides(fitted, pair)
    told = None if pair.new.classes else _posteriors(fitted, pair, judged)
    shares = _known_shares(pair) if told is None else _estimated_shares(fitted, pair, told)
    columns, scores = list[ColumnDrift](), list[Array | None]()
    for j in range(len(fitted.schema)):
        found, own = _column(fitted, pair, j, told, shares)
        columns.append(found)
        scores.append(own)
    pairs, most = compare_pairs(pair, scores)
    density = compare_densities(fitted, pair, judged)
    names = fitted.schema.names
    moved = combine([own.either for own in columns])
    inside = shares.p_value if shares.labelled else combine([own.within_p_value for own in columns])
    joint = combine([moved, inside, pairs, density])
    return Drift.of_columns(
        columns,
        class_shares=shares,
        pairs_p_value=pairs,
        pair=None if most is None else (names[most[0]], names[most[1]]),
        density_p_value=density,
        joint_p_value=1.0 if np.isnan(joint) else joint,
        rows=(pair.old.total, pair.new.total),
        compared=_compared(pair),
        container=fitted.schema.container,
        dates=tuple(column.name for column in fitted.schema.columns if column.kind is Kind.DATE),
    )


def _column(
    fitted: Fitted, pair: Pair, j: int, told: Posteriors | None, shares: ClassShares
) -> tuple[ColumnDrift, Array | None]:
    """Return what has moved in one column, and its scores in the rows of both sides."""
    name = fitted.schema.names[j]
    old, new = pair.old.column(j, name), pair.new.column(pair.order[j], name)
    if old.is_number != new.is_number:
        raise SchemaError.kind_differs(name, *("numeric" if own.is_number else "string" for own in (old, new)))
    kind, size = (SD, number_effect(old, new)) if old.is_number else (VARIATION, category_effect(old, new))
    if told is None:
        by_class, inside = within_classes(pair, old, new)
    else:
        by_class, inside = None, beside_shares(pair, old, new, told, shares.after)
    gone = old.missing_share, new.missing_share
    found = ColumnDrift(name, kind, *size, gone, overall(pair, old, new), inside, by_class)
    return found, pair_scores(pair, old, new)


def _pair(fitted: Fitted, given: object, y: object, sample_weight: object) -> Pair:
    old = learned_side(fitted)
    if isinstance(given, Fitted):
        if y is not None or sample_weight is not None:
            raise SettingError(
                f"{either('y and sample_weight', 'Labels and weights')} go with a table of rows; another model knows "
                "its own labels and weights. Next: leave them out."
            )
        order: Sequence[int] = fitted.schema.align(given.schema, fitted.who, asked=False)
        new = learned_side(given)
    else:
        new = table_side(fitted, given, y, sample_weight)
        order = range(len(fitted.schema))
    if len({isinstance(label, str) for label in (*old.classes, *new.classes)}) > 1:
        raise DataError(
            "The classes of the two models are text on one side and numbers on the other. Next: fit both with labels "
            "of one kind."
        )
    return Pair(old, new, order, sort_levels([*old.classes, *new.classes]))


def _compared(pair: Pair) -> str:
    """Return in words what was compared with what."""
    if pair.old.rows is None or pair.new.rows is None:
        return "means and counts by statistics, as no rows are kept"
    kept, count = len(pair.old.codes), float(pair.old.count.sum())
    some = f"numbers by ranks among {kept:,} different rows kept"
    return f"{some} of {pair.old.total:,.0f}" if count < pair.old.total * (1 - 1e-6) else some


def _known_shares(pair: Pair) -> ClassShares:
    a, b = (pair.of(side, side.class_weight) for side in (pair.old, pair.new))
    p = compare_counts(a, b)
    before, after = (own / max(float(own.sum()), 1e-300) for own in (a, b))
    return ClassShares(pair.classes, before, after, 1.0 if np.isnan(p) else p, True)


def _posteriors(fitted: Fitted, pair: Pair, judged: JudgedSides | None) -> Posteriors:
    """Return posteriors of both sides: where rows are judged by models of the others, by these."""
    assert pair.new.rows is not None
    rows = fitted.recoded(pair.new.rows)
    uniform = fitted.log_posterior(rows, "uniform")
    if judged is not None:
        return Posteriors(_normalized(judged.old), _normalized(judged.new), uniform)
    new = np.exp(fitted.log_posterior(rows, leading=True))
    old = None if pair.old.rows is None else fitted.log_posterior(fitted.recoded(pair.old.rows), leading=True)
    return Posteriors(np.zeros((0, new.shape[1])) if old is None else np.exp(old), new, uniform)


def _estimated_shares(fitted: Fitted, pair: Pair, found: Posteriors) -> ClassShares:
    weight = fitted.statistics.weight
    before = weight / weight.sum()
    likelihood = np.repeat(found.uniform, _copies(pair.new.count), axis=0)
    after = adapt_priors(fitted, likelihood)
    if not len(found.old):
        p = _likelihood_ratio(likelihood, before, after, pair)
    else:
        scores = np.concatenate([found.old, found.new])
        later = np.arange(len(scores)) >= len(found.old)
        p, apart = p_of_scores(scores, np.concatenate([pair.old.count, pair.new.count]), later)
        p = 1.0 if apart is None else p
    return ClassShares(pair.old.classes, before, after, p, False)


def _likelihood_ratio(likelihood: Array, before: Array, after: Array, pair: Pair) -> float:
    """Return Wilks' p-value of the old shares, as right as the model; both sides' shares are estimates."""
    with np.errstate(divide="ignore"):
        first, second = (logsumexp(likelihood + np.log(shares), axis=1) for shares in (before, after))
    gain = float((second - first).sum())
    free = int((before > 0).sum()) - 1
    known = pair.old.total / (pair.old.total + pair.new.total)
    return float(gammaincc(0.5 * free, max(gain, 0.0) * known)) if free else 1.0


def _copies(count: Array) -> Codes:
    """Return how often each row stands (n,), 1 for each where weights are no whole numbers."""
    whole = np.rint(count)
    few = (np.abs(whole - count) < 1e-9).all() and whole.sum() <= 4 * len(count) + 1000
    return whole.astype(np.int64) if few else (count > 0).astype(np.int64)


FEWEST = 10  # rows kept, below which no models of the others are made


class JudgedSides(NamedTuple):
    """log p(x, k) of the rows kept (m, k) and of the new ones (n, k), numbers in standard deviations; and their folds.

    The rows kept are parted into folds, and the new ones dealt out to these; the rows of a fold, old and new, are
    judged by one model of all other rows, which has seen neither.
    """

    old: Array
    new: Array
    old_fold: Codes
    new_fold: Codes


def judge_sides(fitted: Fitted, pair: Pair) -> JudgedSides | None:
    """Return what models of the folds say of the rows of both sides; None where too few are kept."""
    kept, new = pair.old.rows, pair.new.rows
    if kept is None or new is None or len(pair.old.codes) < FEWEST or not _read_alike(pair):
        return None
    asked, held = fitted.joint_value, fitted.memoize(hold_out, whatever_priors=True)
    old_fold = np.zeros(len(pair.old.codes), dtype=np.int64)
    for number, fold in enumerate(held.folds):
        old_fold[fold.index] = number
    units = _in_deviations(fitted, pair)
    density = [logsumexp(held.log_density + asked.joint.log_prior, axis=1), asked.log_density(asked.recoded(new))]
    density = [own + unit for own, unit in zip(density, units, strict=True)]
    keys = [_keys(rows, len(fitted.reservoir.rows)) for rows in (kept, new)]
    labels = [pair.codes(side) for side in (pair.old, pair.new)]
    same = [mixed(own + c.astype(np.uint64)) for own, c in zip(keys, labels, strict=True)]
    if (labels[1] < 0).any():  # without labels the likeliest class: where classes are small, the row left out is missed
        labels = [pair.old.codes, asked.log_posterior(asked.recoded(new), leading=True).argmax(axis=1)]
        same = keys
    groups = [same, keys, [c.astype(np.uint64) for c in labels], [np.zeros_like(own) for own in keys]]
    new_fold = _dealt(groups, density, keys, pair.old.count, old_fold)
    k = len(fitted.statistics.classes)
    found = JudgedSides(np.full((len(old_fold), k), -np.inf), np.full((len(new_fold), k), -np.inf), old_fold, new_fold)
    for number, fold in enumerate(held.folds):
        mine = np.flatnonzero(new_fold == number)
        for rows, index, out, unit in ((kept, fold.index, found.old, units[0]), (new, mine, found.new, units[1])):
            if len(index):
                log_joint = fold.model.log_joint(fold.read(take_blocks(rows, index))) + unit[index, None]
                out[np.ix_(index, fold.classes)] = np.nan_to_num(log_joint, nan=-np.inf, posinf=1e300, neginf=-np.inf)
    return found


def _in_deviations(fitted: Fitted, pair: Pair) -> list[Array]:
    """Return what makes the log densities of the rows of both sides those of numbers in standard deviations.

    Without it the units of a column would tell which rows are likelier, those that miss it or the others.
    """
    found = [np.zeros(len(side.codes)) for side in (pair.old, pair.new)]
    for j, name in enumerate(fitted.schema.names):
        sides = pair.old.column(j, name), pair.new.column(pair.order[j], name)
        unit = mean_and_deviation(sides[0])[1] if sides[0].is_number else 1.0
        for total, own in zip(found, sides, strict=True):
            total += 0.0 if own.values is None or not unit > 0 else np.where(np.isnan(own.values), 0.0, np.log(unit))
    return found


def _dealt(groupings: list[list[Keys]], density: list[Array], keys: list[Keys], count: Array, fold: Codes) -> Codes:
    """Return the fold of each new row (n,), where kept rows count for `count` (m,) and are in folds `fold` (m,).

    All else is of the rows kept and of the new ones. A new row goes where kept rows of its group are, by the first of
    the groupings in which there are some: with the same contents, so that a row that was learned meets no model of
    itself, or of its class, as often as these, from near to far out.
    """
    out = np.full(len(keys[1]), -1, dtype=np.int64)
    for groups in groupings:
        left = np.flatnonzero(out < 0)
        left = left[np.lexsort((keys[1][left], density[1][left], groups[1][left]))]
        order = np.lexsort((keys[0], fold, density[0], groups[0]))
        sought, start, size = np.unique(groups[1][left], return_index=True, return_counts=True)
        first = np.searchsorted(groups[0][order], sought, side="left")
        last = np.searchsorted(groups[0][order], sought, side="right")
        for s, n, low, high in zip(start, size, first, last, strict=True):
            if high > low:
                place = np.cumsum(count[order[low:high]])
                # the end of a row's share is in it, however it is rounded
                at = np.searchsorted(place, (np.arange(n) + 0.5) / n * place[-1] * (1.0 - 1e-9))
                out[left[s : s + n]] = fold[order[low:high][at]]
    return out


def _keys(rows: Rows, blocks: int) -> Keys:
    """Return a number for each row (n,) that depends on its contents alone."""
    parts = [fingerprints(compact(part)) for part in rows[:blocks]]
    return np.asarray(sum((mixed(part + np.uint64(i)) for i, part in enumerate(parts)), np.zeros_like(parts[0])))


def _normalized(log_joint: Array) -> Array:
    """Return p(class | x) (n, k) of log joint densities; where every class makes a row impossible, all are alike."""
    impossible = log_joint.max(axis=1, keepdims=True) == -np.inf
    return np.exp(log_softmax(np.where(impossible, 0.0, log_joint)))


def compare_densities(fitted: Fitted, pair: Pair, judged: JudgedSides | None) -> float:
    """Return the p-value that new rows are as likely as old ones, by log p(x), or log p(x, y) where all have labels.

    Rows are ranked within their fold. NaN where no rows are judged.
    """
    if judged is None:
        return float("nan")
    codes = pair.codes(pair.new)
    if (codes >= 0).all():
        own = places_of(pair.classes, fitted.statistics.classes)[codes]
        picked = judged.new[np.arange(len(own)), own]
        values = judged.old[np.arange(len(judged.old)), pair.old.codes], np.where(own < 0, -np.inf, picked)
    else:
        values = logsumexp(judged.old, axis=1), logsumexp(judged.new, axis=1)
    value, fold = np.concatenate(values), np.concatenate([judged.old_fold, judged.new_fold])
    value = np.round(np.clip(value, -1e200, 1e200), 9)  # equal rows are tied; beyond, rounding overflows
    count = np.concatenate([pair.old.count, pair.new.count])
    scores = np.empty((len(value), 2))
    for number in range(int(fold.max()) + 1):
        mine = np.flatnonzero(fold == number)
        scores[mine] = rank_scores(value[mine], count[mine])
    return p_of_scores(scores, count, np.arange(len(value)) >= len(judged.old))[0]


def _read_alike(pair: Pair) -> bool:
    """Return whether rows of both sides are encoded by the same blocks of columns."""
    old, new = pair.old.blocks, pair.new.blocks
    if list(pair.order) != list(range(len(pair.order))):
        return False
    return len(old) == len(new) and all(
        a.positions == b.positions and type(a.family) is type(b.family) for a, b in zip(old, new, strict=True)
    )
