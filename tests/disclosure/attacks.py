"""Read rows off a model file, as someone would who has nothing but the file: every array, every text, every difference.

Nothing here asks the library: a model file is a zip of JSON and .npy members. Each attack returns what it found.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

CLOSE = 1e-11  # of a cell: sums of a few hundred rows are right to 1e-13, and 1e7 pairs of numbers meet by chance less


@dataclass(frozen=True)
class Loot:
    """The members of a file."""

    arrays: dict[str, np.ndarray]
    document: dict[str, Any]
    raw: bytes

    @classmethod
    def of(cls, path: Path) -> Loot:
        raw = path.read_bytes()
        arrays = {}
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for name in archive.namelist():
                if name.endswith(".npy"):
                    arrays[name[:-4]] = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            return cls(arrays, json.loads(archive.read("model.json")), raw)

    def numbers(self) -> np.ndarray:
        """Return every number in the file."""
        found = [a.ravel().astype(float) for a in self.arrays.values() if a.dtype.kind in "fiu"]
        return np.concatenate([*found, np.array(list(_numbers(self.document)), dtype=float)])


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, dict):
        for own in value.values():
            yield from _numbers(own)
    elif isinstance(value, list):
        for own in value:
            yield from _numbers(own)


def _met(cells: np.ndarray, numbers: np.ndarray) -> int:
    """Return how many of these cells are among the numbers."""
    cells = np.unique(cells[~np.isnan(cells)])
    numbers = np.concatenate([[-np.inf], np.unique(numbers[np.isfinite(numbers)]), [np.inf]])
    place = np.clip(np.searchsorted(numbers, cells), 1, len(numbers) - 1)
    gap = np.minimum(np.abs(numbers[place] - cells), np.abs(numbers[place - 1] - cells))
    return int((gap <= CLOSE * np.abs(cells)).sum())


def cells_in_sight(loot: Loot, cells: np.ndarray) -> int:
    """Look for cells (n, d) that are in the file as they are: rows kept, knots, values, means of one row."""
    return _met(cells, loot.numbers())


def cells_by_difference(loot: Loot, cells: np.ndarray) -> int:
    """Look for cells that are the difference of two sums: weight × mean of anything with these, or of totals."""
    found = 0
    sums = []
    for name, mean in loot.arrays.items():
        if name.endswith("mean") and mean.ndim == 2:
            weight = loot.arrays[name.removesuffix("mean") + "weight"]
            total = mean * (weight if weight.ndim == 2 else weight[:, None])
            sums.append(np.concatenate([total, total.sum(axis=0, keepdims=True)]))
        if name.endswith(("center_raw", "center_scores")):
            whole = float(loot.arrays["weight"].sum())
            sums.append(whole * mean[None])
    for one in sums:
        for other in sums:
            if one.shape[1] != other.shape[1]:
                continue
            for j in range(one.shape[1]):
                apart = (one[:, j][:, None] - other[:, j]).ravel()
                found += _met(cells, apart[np.abs(apart) > 1e-9])
    return found


def rows_of_flags(loot: Loot, cells: np.ndarray) -> int:
    """Solve for the row of a class that alone has a 1 (or a 0) in some column: its products repeat the row."""
    found = 0
    for name, scatter in loot.arrays.items():
        if not name.endswith("scatter") or scatter.ndim != 3:
            continue
        mean = loot.arrays[name.removesuffix("scatter") + "mean"]
        weight = loot.arrays[name.removesuffix("scatter") + "weight"]
        for c in range(len(mean)):
            for f in range(mean.shape[1]):
                ones = mean[c, f] * weight[c]
                for sign, count in ((1.0, ones), (-1.0, weight[c] - ones)):
                    if abs(count - 1.0) < 1e-6:
                        found += _met(cells, mean[c] + sign * scatter[c, f])
    return found


def rows_of_pairs(loot: Loot, cells: np.ndarray) -> int:
    """Solve for the two rows of a class of two: mean ± the root of half its squares, one sign per column."""
    found = 0
    for name, scatter in loot.arrays.items():
        mean, weight = (loot.arrays.get(name.removesuffix("scatter") + own) for own in ("mean", "weight"))
        if not name.endswith("scatter") or mean is None or weight is None or scatter.shape[0] != len(mean):
            continue
        for c in range(len(mean)):
            own = np.diagonal(scatter[c]) if scatter.ndim == 3 else scatter[c]
            half = np.sqrt(np.maximum(own, 0.0) / 2.0)
            two = np.isclose(weight[c] if weight.ndim == 2 else np.full(len(own), weight[c]), 2.0)
            found += _met(cells, np.concatenate([(mean[c] + half)[two], (mean[c] - half)[two], [0.0, 0.0]]))
    return found


def small_counts(loot: Loot, least: int) -> list[str]:
    """Look for counts of rows below `least` but above 0: as they are, or as what others leave of their class."""
    found = []
    weight = loot.arrays["weight"]
    for name, own in loot.arrays.items():
        last = name.split("_")[-1]
        counts = last in ("weight", "weights", "missing", "seen", "observed", "copies") or (
            last[1:].isdigit() and (last[0] == "c")
        )
        if not counts or own.dtype.kind not in "fi":
            continue
        if ((own > 1e-9) & (own < least - 1e-6)).any():
            found.append(name)
        rest = (
            weight[:, None] - own if own.ndim == 2 and len(own) == len(weight) and last in ("weight", "seen") else None
        )
        if rest is not None and ((rest > 1e-6) & (rest < least - 1e-6)).any():
            found.append(f"{name}: what is missing")
    for block, saved in enumerate(loot.document["statistics"]):
        for j, _ in enumerate(saved["plain"].get("levels", []) if saved["type"] == "CategoricalStats" else []):
            rest = weight - loot.arrays[f"block{block}_c{j}"].sum(axis=1)
            if ((rest > 1e-6) & (rest < least - 1e-6)).any():
                found.append(f"block{block}_c{j}: what is left")
    return found


def names_in_sight(loot: Loot, names: list[str]) -> int:
    """Look for texts that one row has."""
    return sum(name.encode() in loot.raw for name in names)


@dataclass(frozen=True)
class Law:
    """Means and scatters by class of some numeric columns; `cells` turns numbers of its own units into the table's."""

    columns: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    cells: Callable[[np.ndarray], np.ndarray]


def laws(loot: Loot) -> Iterator[Law]:
    """Return every joint Gaussian in a file, of columns as they are and of their normal scores."""
    for name, scatter in loot.arrays.items():
        stem = name.removesuffix("scatter")
        if (
            not re.fullmatch(r"block\d+_((raw|scores)_)?(complete_)?scatter", name)
            or scatter.shape[-1] != scatter.shape[-2 if scatter.ndim > 1 else -1]
        ):
            continue
        mean, block = loot.arrays[stem + "mean"], int(name.split("_")[0].removeprefix("block"))
        if scatter.ndim == 2 and (scatter.shape[0] != mean.shape[1] or np.abs(scatter - scatter.T).max() > 0):
            continue
        scatter = scatter if scatter.ndim == 3 else np.repeat(scatter[None], len(mean), axis=0)
        if not any(np.count_nonzero(own - np.diag(np.diagonal(own))) for own in scatter):
            continue  # variances alone
        kind = next((own for own in ("raw", "scores") if stem.endswith(f"{own}_")), None)
        if kind is None:
            columns = np.array(loot.document["blocks"][block]["positions"])
            yield Law(columns, mean, scatter, lambda x: x)
            continue
        used, center, scale = (loot.arrays[f"block{block}_columns_{own}_{kind}"] for own in ("used", "center", "scale"))
        center, scale = center[used], scale[used]
        mean, scatter = mean * scale + center, scatter * scale[:, None] * scale
        yield Law(used, mean, scatter, partial(_of_scores, loot, block, used) if kind == "scores" else lambda x: x)


def _of_scores(loot: Loot, block: int, used: np.ndarray, x: np.ndarray) -> np.ndarray:
    knots = [[loot.arrays[f"block{block}_columns_{own}{j}"] for own in ("scores", "knots")] for j in used]
    return np.stack([np.interp(x[:, i], *own) for i, own in enumerate(knots)], axis=1)


def directions(scatter: np.ndarray, others: Sequence[np.ndarray], most: int = 6) -> np.ndarray:
    """Return combinations of columns (s, d) along which one row may have all of the variance.

    Axes of the scatter, axes against those of other classes, and each column less what up to five others say of it.
    """
    size = np.sqrt(np.max([np.diagonal(own) for own in (scatter, *others)], axis=0).clip(1e-300))
    unit, d = scatter / size[:, None] / size, len(scatter)
    found = [*np.linalg.eigh(unit)[1].T]
    for other in others:
        for first, second in ((unit, other / size[:, None] / size), (other / size[:, None] / size, unit)):
            values, axes = np.linalg.eigh(second)  # of singular scatters too, by a floor under what does not vary
            back = (axes / np.sqrt(np.maximum(values, max(1e-7 * np.trace(second) / d, 1e-12)))).T
            found += [*(np.linalg.eigh(back @ first @ back.T)[1].T @ back)]
    for j in range(d):
        chosen: list[int] = []
        for _ in range(min(most, d) - 1):
            best = np.inf
            for i in set(range(d)) - {j, *chosen}:
                at = [*chosen, i]
                slope = np.linalg.lstsq(unit[np.ix_(at, at)], unit[at, j], rcond=1e-14)[0]
                left = unit[j, j] - unit[at, j] @ slope
                if left < best:
                    best, taken, own = left, at, slope
            chosen = taken
            v = np.zeros(d)
            v[j], v[chosen] = 1.0, -own
            found.append(v)
    return np.array(found) / size


def told_of(law: Law, c: int, rows: np.ndarray, size: np.ndarray, rules: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared error of guesses of rows (m, d) of a class by x = mean ± S v / √(vᵀ S v), in that of the mean.

    The first (m,) is that of the direction v whose variance is the smallest for its terms, the second the least of all,
    also along `rules` (s, d) that are known; both with the sign that is right. `size` (d,) are the columns' units.
    """
    scatter, mean = law.scatter[c], law.mean[c]
    others = [own for i, own in enumerate(law.scatter) if i != c and np.abs(own - scatter).max() > 0]
    known = [own[law.columns] for own in rules if not np.delete(own, law.columns).any()]
    along = np.concatenate([np.array(known).reshape(len(known), len(mean)), directions(scatter, others)])
    variance = np.einsum("si,ij,sj->s", along, scatter, along)
    terms = np.einsum("si,ij,sj->s", np.abs(along), np.abs(scatter), np.abs(along))
    seen = variance > 1e-12 * terms
    along, variance, terms = along[seen], variance[seen], terms[seen]
    step = along @ scatter / np.sqrt(variance)[:, None]
    guesses = np.stack([law.cells(mean + sign * step) for sign in (1.0, -1.0)])
    size, rows = size[law.columns], rows[:, law.columns]
    apart = (((law.cells(mean[None]) - rows) / size) ** 2).sum(axis=1)
    errors = (((guesses[..., None, :] - rows) / size) ** 2).sum(axis=-1).min(axis=0) / apart
    return errors[np.argmin(variance / terms)], errors.min(axis=0)
