"""Try whether what a model says of itself holds on fresh rows: losses, sets of classes and outlier p-values.

Tables of pure noise and tables with signal, of known distribution, so that fresh rows are as many as one likes. Each
model is asked for its reported loss (`loss_` of the automatic classifier, the mean leave-one-out log-loss of others)
and tried on fresh rows: loss, coverage of `predict_set`, shares of small `outlier_pvalues`. Every fit goes to a file as
soon as it is known, one JSON object a line, so that a trial that was stopped goes on where it stopped; the section in
benchmarks/RESULTS.md is made from that file. Seeds depend on the setting alone.

A weight k means k copies of a row, so fresh rows are weighted as the rows learned were: under balanced weights the
classes weigh the same.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import honest_said
import numpy as np
from honest_report import ALPHAS, FAR, FRESH, LEVELS, SHARES, Setting, brief, exceptions, report, write

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.errors import SufficeError

FITS = Path(__file__).parent / "honest.jsonl"
KNOWN = Path(__file__).parent / "honest_known.txt"  # what the short form may break, a setting a line
ROWS, COLUMNS, HOLES = (40, 100, 300, 1000), (5, 30, 100, 600), (0.0, 0.1, 0.3)
WEIGHTS, PRIORS = ("1", "5", "balanced"), ("shares", "uniform")
REPEATS = {40: 6, 100: 4, 300: 2, 1000: 1}  # tables of each size: small ones differ more
LEFT_OUT = 100  # rows left out by refits, where cells are missing
SIGNAL, TOLD = 2.0, 5  # Mahalanobis distance of the class means, spread over so many columns
SECONDS, FAR_SECONDS = 40, 20  # of processor that a fit with its losses and sets may take, and p-values


class Model(NamedTuple):
    """How a model is made, and for which tables it makes sense: at least `per_column` rows a column."""

    make: Any
    per_column: float
    most_columns: int = 1000


MODELS: dict[str, Model] = {
    "automatic": Model(GenerativeClassifier, 0),
    "full": Model(GaussianDiscriminant, 20, 30),
    "shared": Model(lambda **given: GaussianDiscriminant(shared=True, **given), 10, 100),
    "shared, shrunk": Model(lambda **given: GaussianDiscriminant(shared=True, shrinkage="oas", **given), 1, 100),
    "naive Bayes": Model(NaiveBayes, 10),
    "mixture": Model(lambda **given: MixtureDiscriminant(n_components=2, random_state=0, **given), 20, 5),
}

# What `make honest SHORT=1` looks at: a corner of every trouble.
SHORT_MODELS = ("automatic", "full", "shared", "naive Bayes")
SHORT = [
    (kind, n, d, holes, weights, priors, 1)
    for kind, n, d, holes, weights, priors in (
        ("noise", 300, 5, 0.0, "1", "shares"),
        ("signal", 300, 5, 0.0, "1", "shares"),
        ("signal", 300, 5, 0.1, "1", "shares"),
        ("noise", 300, 5, 0.0, "5", "shares"),
        ("signal", 300, 5, 0.0, "balanced", "shares"),
        ("signal", 300, 5, 0.0, "1", "uniform"),
        ("noise", 100, 30, 0.0, "1", "shares"),
        ("noise", 100, 30, 0.1, "1", "shares"),
        ("noise", 100, 150, 0.0, "1", "shares"),
    )
]


def settings(every: bool, models: list[str]) -> Iterator[tuple[Setting, int]]:
    """Yield settings with the number of tables to try: weights and priors one at a time, or `every` combination."""
    for kind in ("noise", "signal"):
        for n in ROWS:
            for d in COLUMNS:
                for holes in HOLES:
                    for weights in WEIGHTS:
                        for priors in PRIORS:
                            plain = (holes > 0) + (weights != "1") + (priors != "shares")
                            if plain <= 1 or every:
                                for model in models:
                                    yield Setting(kind, n, d, holes, weights, priors, model), REPEATS[n]


def short() -> Iterator[tuple[Setting, int]]:
    """Yield the settings of the short form."""
    for kind, n, d, holes, weights, priors, repeats in SHORT:
        for model in SHORT_MODELS:
            yield Setting(kind, n, d, holes, weights, priors, model), repeats


def makes_sense(setting: Setting) -> bool:
    """Return whether a model of this kind is one that somebody would fit to such a table."""
    model = MODELS[setting.model]
    return setting.n >= model.per_column * setting.d and setting.d <= model.most_columns


# --- one fit ---------------------------------------------------------------------------------------------------------


def draw(setting: Setting, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, d) and classes (n,): Gaussian columns, the first of which tell the classes apart, or none do.

    Columns are correlated by 0.3, but for naive Bayes, whose p-values are for columns that are not.
    """
    rho = 0.0 if setting.model == "naive Bayes" else 0.3
    y = (rng.random(n) >= SHARES[0]).astype(np.int64)
    y[:4] = 0, 0, 1, 1  # of every class at least two rows
    common = rng.standard_normal((n, 1))
    X = np.sqrt(1 - rho) * rng.standard_normal((n, setting.d)) + np.sqrt(rho) * common
    if setting.kind == "signal":
        told = min(TOLD, setting.d)
        step = np.resize([1.0, -1.0], told)  # across the common direction, and a little along it
        covariance = (1 - rho) * np.eye(told) + rho
        X[:, :told] += y[:, None] * step * SIGNAL / np.sqrt(step @ np.linalg.solve(covariance, step))
    if setting.holes:
        X[rng.random(X.shape) < setting.holes] = np.nan
        X[np.isnan(X).all(axis=1), 0] = 0.0
    return X, y


def row_weights(kind: str, y: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """Return the weights of rows of classes y where rows of classes `learned` were learned."""
    if kind == "balanced":
        return np.asarray(len(learned) / (2 * np.bincount(learned, minlength=2)))[y]
    return np.full(len(y), float(kind))


class TookTooLong(Exception):
    """A fit that is given up."""


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Give up after so many seconds of the processor: how busy the machine is changes nothing."""

    def stop(*_: Any) -> None:
        raise TookTooLong

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def log_loss(log_posterior: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the weighted mean log-loss, and its standard error."""
    lost = -np.maximum(log_posterior[np.arange(len(y)), y], np.log(1e-12))
    share = weight / weight.sum()
    mean = float(share @ lost)
    return mean, float(np.sqrt(share**2 @ (lost - mean) ** 2))


def trial(setting: Setting, table: int) -> dict[str, Any]:
    """Fit one model to one table and ask it; what it cannot answer is told as its error."""
    numbers = (setting.kind == "signal", setting.n, setting.d, int(100 * setting.holes), table)
    rng = np.random.default_rng([int(number) for number in numbers])
    X, y = draw(setting, setting.n, rng)
    fresh, truth = draw(setting, FRESH, rng)
    fresh, truth = fresh[4:], truth[4:]
    weight = row_weights(setting.weights, y, y)
    heavy = row_weights(setting.weights, truth, y)
    told = {} if setting.priors == "shares" else {"priors": "uniform"}
    line: dict[str, Any] = {**setting._asdict(), "table": table}
    begun = time.process_time()
    what = f"the fit, losses and sets took more than {SECONDS} s"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with limit(SECONDS):
                model = MODELS[setting.model].make(**told).fit(X, y, sample_weight=weight)
                line["test"], line["test_error"] = log_loss(model.predict_log_proba(fresh), truth, heavy)
                line |= chances(setting, y, weight, truth, heavy)
                line |= answers(model, setting, X, y, weight)
                line |= sets(model, fresh, truth, heavy)
            what = f"p-values of {FAR} rows took more than {FAR_SECONDS} s"
            with limit(FAR_SECONDS):
                line |= far_rows(model, fresh, heavy)
    except TookTooLong:
        line["failed"] = what
    except SufficeError as problem:
        line["failed"] = str(problem)[:150]
    return {**line, "seconds": round(time.process_time() - begun, 2)}


def chances(
    setting: Setting, y: np.ndarray, weight: np.ndarray, truth: np.ndarray, heavy: np.ndarray
) -> dict[str, Any]:
    """Return the log-loss of the class shares, or of the given priors, on the rows learned and on the fresh ones."""
    share = np.bincount(y, weights=weight) / weight.sum()
    lost = -np.log(share if setting.priors == "shares" else np.full(2, 0.5))
    return {
        "chance": float(np.bincount(truth, weights=heavy) @ lost / heavy.sum()),
        "learned_chance": float(share @ lost),
    }


def answers(model: Any, setting: Setting, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
    """Return the loss that the model reports of itself."""
    if isinstance(model, GenerativeClassifier):
        left_out = -model._fitted.pool.left_out_posterior  # only for the standard error of its mean
        return {"reported": model.loss_, "reported_error": float(left_out.min(axis=1).std() / np.sqrt(len(y)))}
    if isinstance(model, MixtureDiscriminant):
        return {}  # says of itself that it has no leave-one-out
    few = slice(0, LEFT_OUT if setting.holes else len(y))  # by refits where cells are missing
    reported, error = log_loss(model.leave_one_out(X[few], y[few], weight[few]), y[few], weight[few])
    return {"reported": reported, "reported_error": error}


def sets(model: Any, fresh: np.ndarray, truth: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
    """Return the coverage of sets of classes at each level, and whether every fresh row has the same set."""
    line: dict[str, Any] = {}
    for alpha in () if isinstance(model, MixtureDiscriminant) else ALPHAS:
        found = model.predict_set(fresh, alpha)
        line[f"cover{1 - alpha:.2f}"] = float(np.average(found[np.arange(len(truth)), truth], weights=weight))
        line[f"alike{1 - alpha:.2f}"] = bool((found == found[0]).all())
    return line


def far_rows(model: Any, fresh: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
    """Return the shares of fresh rows with small p-values."""
    p = model.outlier_pvalues(fresh[:FAR])
    return {f"p{level}": float(np.average(p <= level, weights=weight[:FAR])) for level in LEVELS}


# --- all of them -----------------------------------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def run(jobs: list[tuple[Setting, int]], path: Path | None, processes: int) -> list[dict[str, Any]]:
    """Measure what the file does not hold yet, and return all lines of these jobs."""
    wanted = {(setting, table) for setting, repeats in jobs for table in range(repeats) if makes_sense(setting)}
    known = [] if path is None else lines(path)
    found = [line for line in known if (Setting.of(line), line["table"]) in wanted]
    todo = sorted(wanted - {(Setting.of(line), line["table"]) for line in found}, key=lambda job: (job[1], job[0]))
    with ProcessPoolExecutor(processes) as pool:
        waiting = [pool.submit(trial, setting, table) for setting, table in todo]
        for done, future in enumerate(as_completed(waiting), start=1):
            line = future.result()
            found.append(line)
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
            print(f"\r{done} of {len(todo)} fits", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def compare(failures: list[str]) -> bool:
    """Print what breaks a criterion beside what is known to, and return whether nothing new does."""
    known = set(KNOWN.read_text(encoding="utf-8").splitlines()) if KNOWN.exists() else set()
    now = {brief(line): line for line in failures}
    new = [now[name] for name in now if name not in known]
    for text, found in (("known", [now[name] for name in now if name in known]), ("new", new)):
        print("\n".join([f"{len(found)} {text}", *found]))
    print(
        "\n".join(
            [f"{len(known - set(now))} known and now met: take them out of {KNOWN.name}", *sorted(known - set(now))]
        )
    )
    return not new


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--short",
        action="store_true",
        help="a corner of every trouble in a minute; exit 1 if one that is not known fails",
    )
    parser.add_argument("--every", action="store_true", help="every combination, of weights and priors too")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), help="only these")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=FITS, help="the file of fits")
    parser.add_argument("--said", action="store_true", help="only what it says of itself on few rows: some minutes")
    parser.add_argument("--only-report", action="store_true", help="measure nothing, write the section again")
    options = parser.parse_args()
    if options.short:
        fits = honest_said.try_all(honest_said.FEW_DRAWS, options.processes)
        off = honest_said.broken(fits, honest_said.FEW_ERRORS)
        print("\n".join(off))
        sys.exit(not compare(exceptions(run(list(short()), None, options.processes))) or bool(off))
    if not options.only_report:
        fits = honest_said.try_all(honest_said.DRAWS, options.processes)
        write(honest_said.section(fits), honest_said.START, honest_said.END)
    if options.said:
        return
    jobs = list(settings(options.every, options.models))
    found = lines(options.out) if options.only_report else run(jobs, options.out, options.processes)
    write(report(found))


if __name__ == "__main__":
    main()
