"""The scikit-learn faces: the only place that joins the reading of tables to an estimate."""

from ..files.saving import load, register
from .all_columns import GenerativeClassifier, GenerativeForest
from .discriminant import GaussianDiscriminant, MixtureDiscriminant
from .naive_bayes import NaiveBayes

register(GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant, NaiveBayes)

__all__ = [
    "GaussianDiscriminant",
    "GenerativeClassifier",
    "GenerativeForest",
    "MixtureDiscriminant",
    "NaiveBayes",
    "load",
    "register",
]
