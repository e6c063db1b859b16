"""Generative classification: a model is an estimate from statistics, statistics merge, and every answer is read off
the same joint density.

Importing this package loads neither NumPy nor scikit-learn; its names do when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimate import RDA as RDA
    from .estimate import Dirichlet as Dirichlet
    from .estimate import NormalInverseWishart as NormalInverseWishart
    from .estimators import GaussianDiscriminant as GaussianDiscriminant
    from .estimators import GenerativeClassifier as GenerativeClassifier
    from .estimators import MixtureDiscriminant as MixtureDiscriminant
    from .estimators import NaiveBayes as NaiveBayes
    from .estimators import load as load

__version__ = "0.1.0"

_ESTIMATORS = ("GaussianDiscriminant", "GenerativeClassifier", "MixtureDiscriminant", "NaiveBayes", "load")
_SETTINGS = ("RDA", "Dirichlet", "NormalInverseWishart")
_HOMES = {**dict.fromkeys(_ESTIMATORS, ".estimators"), **dict.fromkeys(_SETTINGS, ".estimate")}

__all__ = [
    "RDA",
    "Dirichlet",
    "GaussianDiscriminant",
    "GenerativeClassifier",
    "MixtureDiscriminant",
    "NaiveBayes",
    "NormalInverseWishart",
    "load",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    if name in ("errors", "plots", "testing"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "errors", "plots", "testing"])
