"""Read rows off a model file, as someone would who has nothing but the file: every array, every text, every difference.

Nothing here asks the library: a model file is a zip of JSON and .npy members. Each attack returns what it found.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
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
