"""The models that commands can fit, by the names of `--model`."""

from __future__ import annotations

from typing import Any, Literal

from .problems import ColumnProblem
from .training import Training

ModelName = Literal["nb", "full", "shared", "diagonal", "spherical"]

GAUSSIANS: dict[str, dict[str, Any]] = {
    "full": {"covariance": "full"},
    "shared": {"covariance": "full", "shared": True},
    "diagonal": {"covariance": "diagonal"},
    "spherical": {"covariance": "spherical"},
}

TITLES = {
    "full": "Gaussians, a covariance each (QDA)",
    "shared": "Gaussians, one covariance (LDA)",
    "diagonal": "Gaussians, independent columns",
    "spherical": "Gaussians, one variance",
    "nb": "naive Bayes, numbers and categories",
}


def make_estimator(name: str, **settings: Any) -> Any:
    """Return an unfitted estimator; settings that are None keep the estimator's own default."""
    from .. import GaussianDiscriminant, NaiveBayes

    given = {key: value for key, value in settings.items() if value is not None}
    return NaiveBayes(**given) if name == "nb" else GaussianDiscriminant(**GAUSSIANS[name], **given)


def usable_columns(name: str, training: Training) -> tuple[list[str], list[str]]:
    """Return the columns a model can use and those it leaves out; SchemaError if it can use none."""
    names = list(training.columns.column_names)
    if name == "nb":
        return names, []
    used = training.numeric
    if not used:
        raise ColumnProblem.no_numbers(name, names)
    return used, [column for column in names if column not in used]
