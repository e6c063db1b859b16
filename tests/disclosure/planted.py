"""Tables with a row that breaks a rule which all others of its class keep, and what a released file tells of it.

`python tests/disclosure/planted.py 200` attacks so many tables and says what was found: of the row that was planted, of
a row like it that is in no table, and of the planted one in the model that was not released.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from attacks import Loot, laws, told_of

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes

MODELS = ("own", "shared", "block", "automatic")
FEW = ([0.4, 0.3, 0.25, 0.05], [0.4, 0.3, 0.3])  # of the numbers of rows: EM of many takes long
TAILS = {"normal": lambda r, s: r.normal(size=s), "lognormal": lambda r, s: r.lognormal(size=s),
         "t(2)": lambda r, s: r.standard_t(2.0, size=s)}  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A table of two classes, its planted row of class 0, one like it that is elsewhere, the rule, and units."""

    table: pd.DataFrame
    y: np.ndarray
    row: np.ndarray
    elsewhere: np.ndarray
    rule: np.ndarray
    size: np.ndarray
    kind: str
    described: str


def draw(seed: int, kind: str) -> Planted:
    """Return a table of 3 to 20 columns and 100 to 2,000 rows (automatic: to 300), with a rule of 2 to 6 columns."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([100, 150, 300] if kind == "automatic" else [100, 200, 400, 2000], p=FEW[kind == "automatic"]))
    d = int(rng.integers(3, 9 if n == 100 else 21))
    m = int(rng.integers(2, min(6, d) + 1))
    tail, digits, holes = rng.choice(list(TAILS)), rng.choice([np.nan, 1, 2]), float(rng.choice([0.0, 0.0, 0.1, 0.2]))
    deviation = float(rng.choice([0.005, 0.1, 1.0, 5.0]))
    y = np.arange(n + 1) % 2
    y[n] = 0
    X = TAILS[tail](rng, (n + 1, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)))
    X = 20.0 + 5.0 * X + y[:, None]
    times = rng.choice([1.0, 1.0, 2.0, -1.0], size=m - 1)
    X[:, m - 1] = X[:, : m - 1] @ times
    X = X if np.isnan(digits) else X.round(int(digits))
    X[:, m - 1] = X[:, : m - 1] @ times if rng.random() < 0.5 else X[:, m - 1]  # else rounded apart
    size = X[y == 0].std(axis=0)
    X[[0, n], m - 1] += deviation * size[m - 1] * rng.choice([-1.0, 1.0])
    rule = np.zeros(d)
    rule[: m - 1], rule[m - 1] = times, -1.0
    cells, elsewhere = X[:n].copy(), X[n]
    gone = rng.random(cells.shape) < holes
    gone[0] = False
    table = pd.DataFrame(np.where(gone, np.nan, cells), columns=[f"x{j}" for j in range(d)])
    if kind in ("block", "automatic"):
        table["ward"] = np.array(["n", "s", "w"])[rng.integers(0, 3, n)]
    said = f"n={n} d={d} rule={m} {tail} digits={digits} holes={holes} deviation={deviation}"
    return Planted(table, y[:n], X[0], elsewhere, rule, size, kind, said)


def fitted(own: Planted):
    d = len(own.row)
    make = {
        "own": lambda: GaussianDiscriminant(),
        "shared": lambda: GaussianDiscriminant(shared=True),
        "block": lambda: NaiveBayes({tuple(f"x{j}" for j in range(d)): "gaussian"}),
        "automatic": lambda: GenerativeClassifier(),
    }
    return make[own.kind]().fit(own.table, own.y)


def attacked(own: Planted, model) -> list[tuple[float, float, float]]:
    """Return for every law of the file what the direction of least variance tells of the planted row, what the best of
    all directions tells, and what the best tells of the row that is elsewhere.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.suffice"
        model.save(path)
        loot = Loot.of(path)
    rows, found = np.stack([own.row, own.elsewhere]), []
    for law in laws(loot):
        picked, best = told_of(law, 0, rows, own.size, own.rule[None])
        found.append((float(picked[0]), float(best[0]), float(best[1])))
    return found


def main(count: int, first: int = 0) -> None:
    warnings.simplefilter("ignore")
    out = defaultdict(list)
    for seed in range(first, first + count):
        kind = MODELS[(0, 1, 2, 0, 1, 2, 0, 2, 1, 3)[seed % 10]]
        own = draw(seed, kind)
        model = fitted(own)
        if kind != "automatic":  # whose rows are in its file
            for numbers in attacked(own, model):
                out[kind, "as it was"].append(numbers)
        for least in (5,) if seed % 4 else (5, min(50, int(min(np.bincount(own.y))))):
            for numbers in attacked(own, model.release(least=least)):
                out[kind, f"least={least}"].append(numbers)
                if numbers[0] < 0.8 or numbers[1] < 0.5 * min(numbers[2], 1.0):
                    print(seed, kind, least, own.described, np.round(numbers, 3), flush=True)
    for (kind, what), numbers in sorted(out.items()):
        a = np.array(numbers)
        print(f"{kind:9s} {what:9s} {len(a)} laws; picked: median {np.median(a[:, 0]):.3f} worst {a[:, 0].min():.3f}; "
              f"best of all: median {np.median(a[:, 1]):.3f} worst {a[:, 1].min():.3f}; elsewhere: median "
              f"{np.median(a[:, 2]):.3f} worst {a[:, 2].min():.3f}")  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(int, sys.argv[2:]))
