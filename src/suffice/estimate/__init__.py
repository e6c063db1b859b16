"""Statistics (+ settings) → density. Everything subjective enters here: divisors, smoothing, priors, shrinkage."""

from ..notes import Note
from .families import FAMILIES, Block, Family, Settings
from .priors import Dirichlet, NormalInverseWishart
from .shares import class_log_prior, estimate_categorical
from .shrinkage import RDA, Shrinkage

__all__ = [
    "FAMILIES",
    "RDA",
    "Block",
    "Dirichlet",
    "Family",
    "NormalInverseWishart",
    "Note",
    "Settings",
    "Shrinkage",
    "class_log_prior",
    "estimate_categorical",
]
