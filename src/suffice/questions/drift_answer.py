"""The answer to the question what has moved: a value that prints as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._arrays import Array, np
from ..errors import align, one_line
from ..schema import Kind, Level, Name
from ..table import NewColumn, make_table
from ..table.dates import about
from .two_samples import combine, holm

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
        shares = {"classes": list(self.classes), "before": self.before.tolist(), "after": self.after.tolist()}
        return shares | {"p_value": _number(self.p_value), "labelled": self.labelled}


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
        return combine(np.array([self.p_value, self.within_p_value]))


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
                "by_class_p_value": None if by_class is None else [_number(p) for p in by_class[j]],
            }
            for j, name in enumerate(self.columns)
        ]
        return {
            "rows_before": self.rows[0],
            "rows_after": self.rows[1],
            "joint_p_value": _number(self.joint_p_value),
            "density_p_value": _number(self.density_p_value),
            "pairs_p_value": _number(self.pairs_p_value),
            "pair": None if self.pair is None else list(self.pair),
            "class_shares": self.class_shares.to_dict(),
            "columns": columns,
            "compared": self.compared,
        }

    def _told(self, j: int, name: str, value: float) -> float | str | None:
        """Return a number of a column, None for none; means of dates as text."""
        dated = name in ("before", "after") and self.columns[j] in self.dates and np.isfinite(value)
        return about(value, 60.0) if dated else _number(value)

    def to_frame(self) -> Any:
        """Return the columns as a data frame, of the library that the model was fitted with where it was one.

        Without such a library it is an array of objects.
        """
        level = [None if own is None else str(own) for own in self.level]
        texts = {"column": [str(name) for name in self.columns], "kind": list(self.kind), "level": level}
        found = [NewColumn(name, Kind.STRING, np.array(cells, dtype=object)) for name, cells in texts.items()]
        found += [NewColumn(name, Kind.NUMERIC, np.asarray(values)) for name, values in self._table().items()]
        return make_table(self.container if self.container not in ("numpy", "sparse") else "pandas", True, found)

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
            level = "missing" if self.level[j] is None else one_line(self.level[j])
            cells = [f"{self.effect[j]:.1%}", "", f"{level} {self.before[j]:.1%}", f"{self.after[j]:.1%}"]
        gone = f"{self.missing[j, 0]:.1%} → {self.missing[j, 1]:.1%}" if np.nansum(self.missing[j]) > 0 else ""
        p = _p(self.p_value[j]), _p(self.within_p_value[j]), _p(self.adjusted_p_value[j])
        return (one_line(self.columns[j]), *cells, gone, *p)


def _p(value: float) -> str:
    return "–" if value != value else "1" if value > 0.9995 else f"{value:.2g}" if value >= 1e-300 else "<1e-300"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
