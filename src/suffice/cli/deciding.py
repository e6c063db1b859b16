"""How answers are decided, where the command line says: by other class priors, and by what wrong answers cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ..schema import Level
from .answers import by_text
from .output import Common
from .problems import UsageProblem, did_you_mean

if TYPE_CHECKING:
    from .._arrays import Array
    from ..estimators.base import GenerativeEstimator

    Told = Literal["uniform"] | dict[Level, float] | Array | None  # priors as the library takes them

Priors = Annotated[
    tuple[str, ...],
    Parameter(
        metavar="PRIOR",
        show_default=False,
        help="Class priors in place of those learned: `uniform`; `adapt`, estimated from the rows of DATA, where "
        "classes come in other proportions; or LABEL=NUMBER, once for each class.",
    ),
]
Costs = Annotated[
    tuple[str, ...],
    Parameter(
        metavar="TRUE:ANSWER=NUMBER",
        show_default=False,
        help="What an answer costs where another class is true, such as sick:healthy=20; may be repeated. Other wrong "
        "answers cost 1 and right ones nothing. The label is then that of least expected cost.",
    ),
]


def remark_priors(estimator: GenerativeEstimator, priors: Array, data: Path, common: Common) -> None:
    """Say which class priors were estimated from a table."""
    found = (f"{label} {prior:.4g}" for label, prior in zip(estimator.classes_.tolist(), priors, strict=True))
    common.remark(f"Class priors estimated from {data.name}: {', '.join(found)}.")


def given_priors(words: tuple[str, ...], estimator: GenerativeEstimator) -> Told:
    """Return the priors that the command line asks for, as the library takes them."""
    if not words:
        return None
    if words == ("uniform",):
        return "uniform"
    known = by_text(estimator)
    given = {}
    for word in words:
        label, mark, number = word.rpartition("=")
        try:
            given[known.get(label, label)] = float(number)
        except ValueError:
            mark = ""
        if not mark:
            raise UsageProblem(f"--priors {word!r} is neither uniform, adapt nor LABEL=NUMBER.")
    return given


def answer_costs(words: Sequence[str], estimator: GenerativeEstimator) -> Array | None:
    """Return what answers, in columns, cost for true classes, in rows (k, k), or None where nothing is said of it."""
    if not words:
        return None
    from .._arrays import np

    place = {name: c for c, name in enumerate(by_text(estimator))}
    costs = 1.0 - np.eye(len(place))
    for word in words:
        pair, mark, number = word.rpartition("=")
        try:
            cost = float(number)
        except ValueError:
            cost = np.nan
        if not mark or ":" not in pair or not np.isfinite(cost):
            raise UsageProblem(f"--costs {word!r} is not TRUE:ANSWER=NUMBER.")
        costs[_pair(pair, place, word)] = cost
    return costs


def _pair(pair: str, place: dict[str, int], word: str) -> tuple[int, int]:
    """Return the numbers of the two classes that TRUE:ANSWER names; a name may hold a colon itself."""
    parts = pair.split(":")
    ways = [(":".join(parts[:i]), ":".join(parts[i:])) for i in range(1, len(parts))]
    for true, answer in ways:
        if true in place and answer in place:
            return place[true], place[answer]
    true, answer = next((own for own in ways if own[0] in place), ways[0])
    unknown = answer if true in place else true
    near = did_you_mean(unknown, list(place), "the classes are")
    raise UsageProblem(f"--costs {word!r}: the model has no class {unknown!r}; {near}")
