"""The models that commands can fit, by the names of `--model`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .output import Facts
from .parts import Declared
from .problems import ColumnProblem, UsageProblem
from .training import Training

if TYPE_CHECKING:
    from ..estimators.base import GenerativeEstimator

ModelName = Literal["auto", "forest", "nb", "full", "shared", "diagonal", "spherical", "mixture"]

GAUSSIANS: dict[str, Facts] = {
    "full": {"covariance": "full"},
    "shared": {"covariance": "full", "shared": True},
    "diagonal": {"covariance": "diagonal"},
    "spherical": {"covariance": "spherical"},
}

TITLES = {
    "auto": "automatic: several models pooled",
    "forest": "generative forest: trees with densities in their leaves",
    "full": "Gaussians, a covariance each (QDA)",
    "shared": "Gaussians, one covariance (LDA)",
    "diagonal": "Gaussians, independent columns",
    "spherical": "Gaussians, one variance",
    "mixture": "mixtures of Gaussians",
    "nb": "naive Bayes, numbers and categories",
}


def make_estimator(name: str, **settings: Any) -> GenerativeEstimator:
    """Return an unfitted estimator; settings that are None keep the estimator's own default."""
    from ..estimators import (
        GaussianDiscriminant,
        GenerativeClassifier,
        GenerativeForest,
        MixtureDiscriminant,
        NaiveBayes,
    )

    given = {key: value for key, value in settings.items() if value is not None}
    if name == "auto":
        return GenerativeClassifier(**given)
    if name == "forest":
        return GenerativeForest(**given)
    if name == "mixture":
        return MixtureDiscriminant(**given, random_state=0)  # the same table gives the same model
    return NaiveBayes(**given) if name == "nb" else GaussianDiscriminant(**GAUSSIANS[name], **given)


def read_families(wanted: Sequence[str], training: Training | Declared, path: Path) -> dict[str, str] | None:
    """Return the family of each column that has one, from `NAME` (all numbers) and `COLUMN=NAME`; None if no column."""
    from ..estimate import FAMILIES

    columns = list(training.columns.column_names)
    every: dict[str, str] = {}
    single: dict[str, str] = {}
    for text in wanted:
        column, given, name = text.rpartition("=")
        if name not in FAMILIES:
            raise UsageProblem(f"--family {text!r}: {name!r} is not one of {', '.join(FAMILIES)}.")
        if given and column not in columns:
            raise ColumnProblem.absent([column], columns, path, "for --family")
        if (column in single) if given else every:
            raise UsageProblem(f"--family gives {repr(column) if given else 'all numbers'} two families.")
        if given:
            single[column] = name
        else:
            every = dict.fromkeys(columns if name == "categorical" else training.numeric, name)
    return {**every, **single} or None


def usable_columns(name: str, training: Training | Declared) -> tuple[list[str], list[str]]:
    """Return the columns a model can use and those it leaves out; SchemaError if it can use none."""
    names = list(training.columns.column_names)
    if name in ("auto", "forest", "nb"):
        return names, []
    used = training.numeric
    if not used:
        raise ColumnProblem.no_numbers(name, names)
    known = set(used)
    return used, [column for column in names if column not in known]
