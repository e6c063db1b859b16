"""The section of the honesty trial for RESULTS.md: what was promised, how often it was kept, and every exception."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

RESULTS = Path(__file__).parent / "RESULTS.md"
START, END = "<!-- honest -->", "<!-- end of honest -->"
SHARES = (0.7, 0.3)  # of the classes
ALPHAS = (0.2, 0.1, 0.05)
LEVELS = (0.01, 0.05)
BELOW, ABOVE, GAP, OFF, LEAST = 0.02, 0.05, 0.05, 0.03, 100  # what the criteria allow; sets from so many rows on
BETWEEN = (0.03, 0.07)  # P(p ≤ .05)
ERRORS = 3.0  # Monte Carlo errors beyond a bound, from which on it counts as broken

FRESH, FAR = 2000, 300  # fresh rows for losses and sets; for p-values
NAMES = (
    *("reported − chance", "test − chance", "reported − test"),
    *(f"coverage at {1 - alpha:.2f}" for alpha in ALPHAS),
    "P(p ≤ .05)",
)

TEMPLATE = """## Honesty

Made by `make honest` (`benchmarks/honest.py`): what models say of themselves against fresh rows, on tables of known
distribution: two classes, {shares} of the rows, Gaussian columns; pure noise, or signal in {told} columns (class
means a Mahalanobis distance of 2 apart). n ∈ {{40, 100, 300, 1,000}} rows × d ∈ {{5, 30, 100, 600}} columns, where a
model makes sense for such a table, crossed with one departure at a time: cells missing at random (10 %, 30 %),
weights (all 5; balanced), priors (uniform). {fits:,} fits, {cpu:.1f} hours of one core. Suffice {version}, {machine}.

| criterion | Monte Carlo error, median (largest) |
|---|---|
{criteria}

"Chance" is the log-loss of the class shares (or of the given priors). A criterion counts as broken where its bound is
passed by more than {errors:g} Monte Carlo errors: of the rows learned, of the fresh rows and of the tables. Cells are
settings that keep it / settings tried, and in brackets the worst value.

{summary}

{count} of {tried} settings break a criterion. Rows are settings, cells the values that break one (± Monte Carlo error):

{listed}"""


class Setting(NamedTuple):
    """One cell of the trial."""

    kind: str
    n: int
    d: int
    holes: float
    weights: str
    priors: str
    model: str

    @classmethod
    def of(cls, line: dict[str, Any]) -> Setting:
        """Return the setting of a line of the file."""
        return cls(*(line[name] for name in cls._fields))

    def departure(self) -> str:
        """Return what differs from complete rows of weight 1 and priors as the shares."""
        parts = [f"{self.holes:.0%} missing"] if self.holes else []
        parts += [] if self.weights == "1" else [f"weights {self.weights}"]
        parts += [] if self.priors == "shares" else ["uniform priors"]
        return ", ".join(parts) or "plain"


class Check(NamedTuple):
    """A criterion of one setting: its value, Monte Carlo error, bounds, and how far beyond them it is."""

    name: str
    value: float
    error: float
    low: float
    high: float

    @property
    def beyond(self) -> float:
        """How far the value is outside its bounds."""
        return max(self.low - self.value, self.value - self.high, 0.0)

    @property
    def broken(self) -> bool:
        """Whether that is more than chance would do."""
        return self.beyond > ERRORS * self.error


def checks(setting: Setting, found: list[dict[str, Any]]) -> Iterator[Check]:
    """Yield the criteria of one setting, of all its tables together."""

    def check(name: str, values: str, less: str, own: Any, low: float, high: float) -> Iterator[Check]:
        """Yield one criterion, of the tables that have an answer."""
        some = [line for line in found if values in line and (not less or less in line)]
        if some:
            gaps = np.array([line[values] - (line[less] if less else 0.0) for line in some])
            spread = gaps.std(ddof=1) if len(some) > 3 else 0.0
            each = np.sqrt(np.mean([own(line) ** 2 for line in some]))
            yield Check(name, float(gaps.mean()), float(max(spread, each) / np.sqrt(len(some))), low, high)

    def share(p: float, fresh: int) -> Any:
        """Return the error of a share of fresh rows that a model of n rows promises to be p."""
        return lambda line: np.sqrt(p * (1 - p) * (1 / setting.n + 1 / fresh))

    if setting.kind == "noise":
        yield from check(NAMES[0], "reported", "learned_chance", lambda line: line["reported_error"], -BELOW, np.inf)
        yield from check(NAMES[1], "test", "chance", lambda line: line["test_error"], -np.inf, ABOVE)
    else:
        both = lambda line: np.hypot(line["reported_error"], line["test_error"])  # noqa: E731
        yield from check(NAMES[2], "reported", "test", both, -GAP, np.inf)
    for alpha in ALPHAS if setting.n >= LEAST else ():
        p, name, alike = 1 - alpha, f"cover{1 - alpha:.2f}", f"alike{1 - alpha:.2f}"
        # whoever knows nothing of a row says the same of all: the sets that hold enough then hold all classes
        found = [line | {name: min(line[name], p)} if line.get(alike) else line for line in found]
        yield from check(f"coverage at {p:.2f}", name, "", share(p, FRESH), p - OFF, p + OFF)
    yield from check(NAMES[-1], "p0.05", "", share(0.05, FAR), *BETWEEN)


def by_setting(found: list[dict[str, Any]]) -> dict[Setting, list[dict[str, Any]]]:
    """Return the lines of each setting, in order; a failed fit stands for itself."""
    groups: dict[Setting, list[dict[str, Any]]] = {}
    for line in sorted(found, key=lambda line: (*Setting.of(line), line["table"])):
        groups.setdefault(Setting.of(line), []).append(line)
    return groups


def judged(found: list[dict[str, Any]]) -> dict[Setting, tuple[list[Check], list[str]]]:
    """Return each setting's criteria, and what could not be answered."""
    out = {}
    for setting, own in by_setting(found).items():
        failed = sorted({line["failed"] for line in own if "failed" in line})
        out[setting] = (list(checks(setting, own)), failed)
    return out


def title(setting: Setting) -> str:
    return f"{setting.model} | {setting.kind} | {setting.n:,} × {setting.d} | {setting.departure()}"


def broken(result: tuple[list[Check], list[str]]) -> list[str]:
    own = [f"{check.name} {check.value:.3f} ± {check.error:.3f}" for check in result[0] if check.broken]
    return own + [f"not answered: {why}" for why in result[1]]


def exceptions(found: list[dict[str, Any]]) -> list[str]:
    """Return a line for every setting that breaks a criterion."""
    told = {setting: broken(result) for setting, result in judged(found).items()}
    return [f"{title(setting)} | {'; '.join(why)}" for setting, why in told.items() if why]


def brief(line: str) -> str:
    """Return which setting a line of `exceptions` is about, without its numbers."""
    return line.rpartition(" | ")[0]


PROMISES = (
    f"noise: reported loss at least chance − {BELOW}",
    f"noise: loss on fresh rows at most chance + {ABOVE}",
    f"signal: reported loss at least that on fresh rows − {GAP}",
    *(
        f"coverage at {1 - alpha:.2f} within {OFF} (n ≥ {LEAST}), or more where all rows have one set"
        for alpha in ALPHAS
    ),
    f"P(p ≤ .05) of fresh rows between {BETWEEN[0]} and {BETWEEN[1]}",
)


def report(found: list[dict[str, Any]]) -> str:
    """Return the section for RESULTS.md."""
    results = judged(found)
    every = [check for own, _ in results.values() for check in own]
    criteria = []
    for name, promise in zip(NAMES, PROMISES, strict=True):
        errors = [check.error for check in every if check.name == name] or [np.nan]
        criteria.append(f"| {promise} | {np.median(errors):.3f} ({max(errors):.3f}) |")
    failures = exceptions(found)
    return TEMPLATE.format(
        shares=" and ".join(f"{share:.0%}" for share in SHARES),
        told=5,
        fits=len(found),
        cpu=sum(line["seconds"] for line in found) / 3600,
        version=version("suffice"),
        machine=f"{os.cpu_count()} cores ({platform.machine()})",
        criteria="\n".join(criteria),
        errors=ERRORS,
        summary="\n".join(summary(results)),
        count=len(failures),
        tried=len(results),
        listed="\n".join(
            [
                "| model | table | n × d | departure | broken |",
                "|---|---|---|---|---|",
                *(f"| {own} |" for own in failures),
            ]
        ),
    )


def summary(results: dict[Setting, tuple[list[Check], list[str]]]) -> Iterator[str]:
    """Yield the rows of the table by model and departure."""
    yield f"| model | departure | {' | '.join(NAMES)} |"
    yield "|---|---|" + "---|" * len(NAMES)
    groups: dict[tuple[str, str], list[Check]] = {}
    for setting, (own, _) in results.items():
        groups.setdefault((setting.model, setting.departure()), []).extend(own)
    models = list(dict.fromkeys(model for model, _ in groups))
    for model, departure in sorted(groups, key=lambda group: (models.index(group[0]), group[1] != "plain", group[1])):
        cells = []
        for name in NAMES:
            own = [check for check in groups[model, departure] if check.name == name]
            worst = max(own, key=lambda check: check.beyond, default=None)
            kept = sum(not check.broken for check in own)
            cells.append(
                "" if worst is None else f"{kept} / {len(own)}" + (f" ({worst.value:.3f})" if worst.beyond else "")
            )
        yield f"| {model} | {departure} | {' | '.join(cells)} |"


def write(section: str, start: str = START, end: str = END) -> None:
    """Replace the section between two marks in RESULTS.md, or add it."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    RESULTS.write_text(f"{before.rstrip()}\n\n{start}\n{section}\n{end}\n{after.lstrip()}", encoding="utf-8")
