"""Generative classification: a model is an estimate from statistics, statistics merge, and every answer is read off
the same joint density.

Importing this package loads neither NumPy nor scikit-learn; its names do when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimate import RDA as RDA, Dirichlet as Dirichlet, NormalInverseWishart as NormalInverseWishart
    from .estimators import (
        GaussianDiscriminant as GaussianDiscriminant,
        GenerativeClassifier as GenerativeClassifier,
        GenerativeForest as GenerativeForest,
        MixtureDiscriminant as MixtureDiscriminant,
        NaiveBayes as NaiveBayes,
        load as load,
    )

__version__ = "0.2.0"

_ESTIMATORS = ("GaussianDiscriminant", "GenerativeClassifier", "GenerativeForest", "MixtureDiscriminant", "NaiveBayes")
_SETTINGS = ("RDA", "Dirichlet", "NormalInverseWishart")
_MODULES = ("drop_in", "errors", "plots", "testing")
_HOMES = {**dict.fromkeys(_ESTIMATORS, ".estimators"), **dict.fromkeys(_SETTINGS, ".estimate")}
_HOMES["load"] = ".drop_in"  # the last to say which classes a file may hold

__all__ = [
    "RDA",
    "Dirichlet",
    "GaussianDiscriminant",
    "GenerativeClassifier",
    "GenerativeForest",
    "MixtureDiscriminant",
    "NaiveBayes",
    "NormalInverseWishart",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", *_MODULES])
