"""What the automatic classifier says of itself on few rows: `loss_` and its error against fresh rows, on ten settings.

Each setting draws tables of known distribution. Over many draws the mean of `loss_` less the loss on fresh rows is the
cost of choosing that it does not know of, and the share of draws whose fresh loss is within 1.96 `loss_error_` is what
that error is worth.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

from suffice import GenerativeClassifier

START, END = "<!-- said -->", "<!-- end of said -->"
FRESH = 20_000
DRAWS, FEW_DRAWS = 60, 12  # tables of each setting, and of the short form
FEW_ERRORS = 3.0  # standard errors that the short form allows, where chance should not fail it
NEAR = 0.01  # nats by which the mean may be off, beside its standard error
COVERED = 0.9  # of the fresh losses, by intervals of 95 %
Table = tuple[Any, np.ndarray]


def logit(rng: np.random.Generator, n: int) -> Table:
    """Five normal columns, three of which make the odds."""
    X = rng.normal(size=(n, 5))
    return X, (rng.random(n) < 1 / (1 + np.exp(-X[:, :3] @ [1.5, -1.0, 0.5]))).astype(np.int64)


def heavy_tails(rng: np.random.Generator, n: int) -> Table:
    """Four columns of t(1.5), two of which are shifted by class."""
    y = rng.integers(0, 2, n)
    return rng.standard_t(1.5, size=(n, 4)) + y[:, None] * [2.0, 1.0, 0.0, 0.0], y


def noise(rng: np.random.Generator, n: int) -> Table:
    """Five columns that say nothing."""
    return rng.normal(size=(n, 5)), rng.integers(0, 2, n)


def rare(rng: np.random.Generator, n: int) -> Table:
    """A class of 1 %."""
    y = (rng.random(n) < 0.01).astype(np.int64)
    return rng.normal(size=(n, 4)) + y[:, None] * [2.0, 1.0, 0.0, 0.0], y


def mixed(rng: np.random.Generator, n: int) -> Table:
    """Three classes, numbers and categories, 15 % of the cells missing."""
    y = rng.integers(0, 3, n)
    told = np.where(rng.random(n) < 0.5, y, rng.integers(0, 4, n))
    frame = pd.DataFrame(
        {
            "normal": rng.normal(size=n) + y,
            "skewed": np.exp(rng.normal(size=n) + 0.5 * (y == 1)),
            "noise": rng.normal(size=n),
            "level": np.array(list("abcd"), dtype=object)[told],
            "any": np.array(list("uvw"), dtype=object)[rng.integers(0, 3, n)],
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.15), y


def three(rng: np.random.Generator, n: int) -> Table:
    """Three Gaussian classes of one covariance, two columns of four shifted."""
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 4))
    X[:, 3] += 0.7 * X[:, 0]
    return X + np.array([[0.0, 0, 0, 0], [1.5, 0, 0, 0], [0, 1.5, 0, 0]])[y], y


def discrete(rng: np.random.Generator, n: int) -> Table:
    """Six columns of two to four levels, three of which go with the class."""
    y = (rng.random(n) < 0.35).astype(np.int64)
    columns = {}
    for j, share in enumerate((0.6, 0.45, 0.3, 0.0, 0.0, 0.0)):
        k = 2 + j % 3
        level = np.where(rng.random(n) < share, y % k, rng.integers(0, k, n))
        columns[f"c{j}"] = np.array(list("abcd"), dtype=object)[level]
    return pd.DataFrame(columns), y


SETTINGS: dict[str, tuple[Callable[[np.random.Generator, int], Table], int]] = {
    "logit, n = 40": (logit, 40),
    "logit, n = 100": (logit, 100),
    "logit, n = 300": (logit, 300),
    "t(1.5) columns, n = 60": (heavy_tails, 60),
    "noise, n = 100": (noise, 100),
    "noise, n = 300": (noise, 300),
    "a class of 1 %, n = 1,000": (rare, 1000),
    "mixed columns with holes, n = 150": (mixed, 150),
    "three Gaussian classes, n = 60": (three, 60),
    "discrete columns, n = 200": (discrete, 200),
}


def said(name: str, number: int) -> dict[str, float]:
    """Return what one fit says of itself, and what fresh rows lose by it."""
    make, n = SETTINGS[name]
    rng = np.random.default_rng([number, list(SETTINGS).index(name)])
    X, y = make(rng, n)
    while (np.bincount(y, minlength=2) < 2).any():  # of every class at least two rows
        X, y = make(rng, n)
    fresh, truth = make(rng, FRESH)
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GenerativeClassifier().fit(X, y)
        told = {"said": model.loss_, "error": model.loss_error_}
        log_posterior = model.predict_log_proba(fresh)
    lost = -np.maximum(log_posterior[np.arange(FRESH), truth], np.log(1e-12))
    return {**told, "fresh": float(lost.mean()), "seconds": time.process_time() - begun}


def try_all(draws: int, processes: int) -> dict[str, list[dict[str, float]]]:
    """Return what so many fits of each setting say."""
    jobs = [(name, number) for name in SETTINGS for number in range(draws)]
    with ProcessPoolExecutor(processes) as pool:
        found = list(pool.map(said, *zip(*jobs, strict=True)))
    return {name: found[i * draws : (i + 1) * draws] for i, name in enumerate(SETTINGS)}


def measured(fits: list[dict[str, float]]) -> tuple[float, float, float]:
    """Return the mean of said − fresh, its standard error, and the share of fresh losses in the 95 % intervals."""
    gap = np.array([own["said"] - own["fresh"] for own in fits])
    error = np.array([own["error"] for own in fits])
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap))), float((np.abs(gap) <= 1.96 * error).mean())


def broken(fits: dict[str, list[dict[str, float]]], errors: float = 1.0) -> list[str]:
    """Return the settings where the mean is off by more than `NEAR` and so many errors, or intervals cover too little.

    That is, less than `COVERED` by more than so many errors of such a share.
    """
    found = []
    for name, own in fits.items():
        mean, error, covered = measured(own)
        few = errors * np.sqrt(COVERED * (1.0 - COVERED) / len(own))
        if abs(mean) > NEAR + errors * error or covered < COVERED - few:
            found.append(f"{name}: said − fresh {mean:+.4f} ± {error:.4f}, intervals cover {covered:.2f}")
    return found


def section(fits: dict[str, list[dict[str, float]]]) -> str:
    """Return the section for RESULTS.md."""
    draws = len(next(iter(fits.values())))
    lines = []
    for name, own in fits.items():
        mean, error, covered = measured(own)
        fresh, width = (np.mean([fit[what] for fit in own]) for what in ("fresh", "error"))
        lines.append(f"| {name} | {fresh:.3f} | {mean:+.3f} ± {error:.3f} | {width:.3f} | {covered:.0%} |")
    table = "\n".join(lines)
    return f"""## What it says of itself on few rows

Made by `make honest` (`benchmarks/honest.py --said`): `loss_` of `GenerativeClassifier` less its loss on {FRESH:,}
fresh rows, mean over {draws} tables of each setting ± standard error, and how many of the fresh losses `loss_` ±
1.96 `loss_error_` holds.

| setting | fresh loss | said − fresh | `loss_error_` | covered |
|---|---|---|---|---|
{table}

{len(broken(fits))} of {len(fits)} settings are off by more than {NEAR} and a standard error, or cover less than
{COVERED:.0%}."""
