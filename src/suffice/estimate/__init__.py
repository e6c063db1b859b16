"""Statistics (+ settings) → density. Everything subjective enters here: divisors, smoothing, priors, shrinkage."""

from .families import FAMILIES, Block, Family, Settings
from .likelihood import class_log_prior, estimate_categorical
from .notes import Note
from .shrinkage import RDA, Shrinkage

__all__ = [
    "FAMILIES",
    "RDA",
    "Block",
    "Family",
    "Note",
    "Settings",
    "Shrinkage",
    "class_log_prior",
    "estimate_categorical",
]
