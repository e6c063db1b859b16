"""Statistics (+ settings) → density. Everything subjective enters here: divisors, smoothing, priors, shrinkage."""

from ..notes import Note as Note
from .families import FAMILIES as FAMILIES, Block as Block, Family as Family, Settings as Settings
from .priors import (
    RDA as RDA,
    Dirichlet as Dirichlet,
    NormalInverseWishart as NormalInverseWishart,
    Shrinkage as Shrinkage,
    WholeRows as WholeRows,
    class_log_prior as class_log_prior,
    estimate_categorical as estimate_categorical,
)
