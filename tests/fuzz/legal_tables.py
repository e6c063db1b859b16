"""Tables that anybody might have, drawn at random: nothing in them is wrong, and much is hard for floats.

Columns repeat, sum up or nearly equal others, lie far from zero, have heavy tails, tiny or huge units, many levels, and
cells missing in whole patterns; rows repeat, weights differ, and some classes have a single row. A seed draws the same
table everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

SMALL = (9, 9, 15, 25, 40, 60)  # rows
SIZES = (*SMALL, 100, 150, 300, 600, 1_500)
LARGE = (3_000, 6_000, 12_000, 20_000)
LEVELS = (2, 3, 5, 12, 40, 200, 3_000, 60_000)
TINY = 3  # rows at most of classes that have few
OF_OTHERS = ("equal", "sum", "near copy", "ratio")  # columns that are made of others
NUMBERS = (
    "normal", "normal", "normal", "offset 1e6", "offset 1e12", "whole", "whole", "lognormal", "cauchy", "spike",
    "stamp", "scale", "subnormal", "constant by class", "constant", "mostly zero", *OF_OTHERS,
)  # fmt: skip
OTHERS = ("text", "text", "names", "date", "truth")


@dataclass(frozen=True)
class Table:
    """A table with labels, and weights or None; `about` says how it was drawn."""

    X: pd.DataFrame
    y: Any
    weight: Any
    about: str

    def rows(self, index: Any) -> Table:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return Table(self.X.iloc[index].reset_index(drop=True), self.y[index], weight, self.about)

    @property
    def numbers(self) -> list[str]:
        """The columns that are numbers or truth values."""
        return [name for name in self.X if self.X[name].dtype.kind in "bif"]


def draw(seed: int, sizes: tuple[int, ...] = SIZES, widest: int = 30, large: float = 0.0) -> Table:
    """Return the table of a seed, of about so many rows, or for the share `large` of seeds thousands."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice(LARGE if rng.random() < large else sizes))
    width = int(rng.integers(1, 1 + (widest if rng.random() < 0.3 else min(widest, 8))))
    codes = classes(rng, n)
    columns, about = {}, []
    for j in range(width):
        kind = str(rng.choice(NUMBERS if rng.random() < 0.7 else OTHERS))
        columns[f"c{j}"], kind = column(rng, kind, codes, columns)
        about.append(kind)
    X = pd.DataFrame(columns)
    if rng.random() < 0.3:
        index = np.r_[rng.integers(0, n, n // 2), np.unique(codes, return_index=True)[1]]  # no class is lost
        X, codes = X.iloc[index].reset_index(drop=True), codes[index]
        about.append("copies")
    weight = weights(rng, len(X))
    if rng.random() < 0.6:
        X, how = holes(rng, X, codes, weight)
        about.append(how)
    y = codes if rng.random() < 0.3 else np.array([f"class {c}" for c in range(codes.max() + 1)], dtype=object)[codes]
    return Table(X, y, weight, f"seed {seed}, {len(X)} rows, {len(np.unique(codes))} classes: {', '.join(about)}")


def classes(rng: np.random.Generator, n: int) -> Any:
    """Return class numbers (n,), of which some have only one to three rows."""
    k = int(rng.choice([2, 2, 2, 3, 3, 5, 12]))
    shares = rng.dirichlet(np.full(k, 2.0))
    codes = rng.choice(k, n, p=shares)
    for c in range(1, k):
        if rng.random() < 0.25:
            codes[np.flatnonzero(codes == c)[int(rng.integers(1, TINY + 1)) :]] = 0
    codes[: min(k, n)] = np.arange(min(k, n))
    return codes


def weights(rng: np.random.Generator, n: int) -> Any:
    """Return weights (n,) of some kind, the first above 0, or None."""
    kind = rng.choice(["none", "none", "none", "spread", "whole", "with zeros", "equal"])
    if kind == "none":
        return None
    if kind == "spread":
        return np.exp(rng.normal(0.0, 2.0, n))
    if kind == "equal":
        return np.full(n, float(rng.choice([0.1, 3.0])))
    return rng.integers(1 if kind == "whole" else 0, 5, n).astype(float) + (np.arange(n) == 0)


def column(rng: np.random.Generator, kind: str, codes: Any, others: dict[str, Any]) -> tuple[Any, str]:
    """Return the cells (n,) of one column of a kind, and the kind, which is another where there are no others yet."""
    n, k = len(codes), int(codes.max()) + 1
    shift = (rng.normal(size=k) * rng.choice([0.0, 0.5, 2.0]))[codes]
    plain = rng.normal(size=n) + shift
    known = [name for name, cells in others.items() if cells.dtype.kind in "if"]
    if kind in OF_OTHERS:
        return of_others(rng, kind, [others[name] for name in known], plain)
    if kind in OTHERS:
        return text(rng, kind, codes), kind
    made = {
        "offset 1e6": lambda: 1e6 + plain,
        "offset 1e12": lambda: 1e12 + np.round(plain * 10.0 ** rng.integers(0, 3), 3),
        "whole": lambda: np.floor(3.0 * plain).astype(rng.choice(["int64", "float64"])),
        "lognormal": lambda: np.exp(float(rng.choice([1.0, 3.0])) * plain),
        "cauchy": lambda: rng.standard_cauchy(n) + shift,
        "spike": lambda: plain + 10.0 ** rng.integers(3, 13) * (np.arange(n) == rng.integers(n)),
        "stamp": lambda: (1.7e9 + np.cumsum(rng.exponential(30.0, n))).round() * float(rng.choice([1.0, 1e9])),
        "scale": lambda: plain * 10.0 ** float(rng.integers(-100, 101)),
        "subnormal": lambda: np.floor(20.0 * plain) * 5e-324,
        "constant by class": lambda: rng.normal(size=k)[codes],
        "constant": lambda: np.full(n, float(rng.choice([0.0, 3.0, 1e12]))),
        "mostly zero": lambda: np.where(rng.random(n) < 0.1, plain, 0.0),
    }
    return made.get(kind, lambda: plain)(), kind


def of_others(rng: np.random.Generator, kind: str, known: list[Any], plain: Any) -> tuple[Any, str]:
    """Return a column that is made of others, or a plain one where there are none."""
    if not known:
        return plain, "normal"
    some = [np.asarray(known[int(j)], dtype=np.float64) for j in rng.permutation(len(known))[:3]]
    if kind == "equal":
        return some[0].copy(), kind
    with np.errstate(all="ignore"):
        if kind == "sum":
            return np.sum(some, axis=0), kind
        if kind == "ratio":
            found = some[0] / some[-1]
            return np.where(np.isfinite(found) & (np.abs(found) < 1e120), found, 0.0), kind
        size = np.abs(some[0]).max()
        return some[0] + plain * size * float(rng.choice([1e-15, 1e-12, 1e-9, 1e-6])), kind


def text(rng: np.random.Generator, kind: str, codes: Any) -> Any:
    """Return cells (n,) that are no numbers."""
    n = len(codes)
    if kind == "truth":
        return rng.random(n) < 0.3 + 0.4 * (codes == 0)
    if kind == "names":  # each once
        return np.array([f"id-{i:06d}" for i in rng.permutation(n)], dtype=object)
    if kind == "date":
        day = np.datetime64("2021-01-01") + rng.integers(0, int(rng.choice([7, 400, 20_000])), n)
        return np.array([str(own) for own in day], dtype=object)
    levels = int(rng.choice(LEVELS))
    codes = (rng.zipf(1.3, n) + codes * int(rng.integers(0, 2))) if rng.random() < 0.3 else rng.integers(0, levels, n)
    return np.array([f"level {c}" for c in codes % levels], dtype=object)


def holes(rng: np.random.Generator, X: pd.DataFrame, codes: Any, weight: Any) -> tuple[pd.DataFrame, str]:
    """Return the table with cells missing, and how; columns keep one in a row that counts, but for some empty ones."""
    n, d = X.shape
    how = str(rng.choice(["patterns", "patterns", "cells", "by class", "rows", "nearly all", "empty"]))
    gone = np.zeros((n, d), dtype=bool)
    if how == "cells":
        gone = rng.random((n, d)) < rng.choice([0.02, 0.2])
    elif how == "nearly all":
        gone[:, rng.random(d) < 0.3] = True
        gone[rng.random((n, d)) < 0.05] = False
    elif how == "rows":
        gone[rng.random(n) < 0.1] = True
    else:
        for _ in range(int(rng.integers(1, 5))):
            own = rng.random(n) < 0.3 if how == "patterns" else codes == rng.choice(codes)
            gone[np.ix_(own, rng.random(d) < 0.4)] = True
    counted = np.arange(n) if weight is None else np.flatnonzero(weight)
    gone[rng.choice(counted, d), np.arange(d)] = False
    if how == "empty":  # but for one column
        gone[:, (rng.random(d) < 0.3) & (np.arange(d) != rng.integers(d))] = True
    changed = X.astype({name: float for name in X if X[name].dtype.kind in "bi"})
    return changed.mask(gone), f"holes: {how}"
