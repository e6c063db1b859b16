"""The families a block of columns can have. A new family is one file in this folder and one line in `FAMILIES`.

A family is a frozen, comparable object (a dataclass) that says how its columns are encoded, summarised and estimated.

must provide
    name        what users write in `families={...}`
    encode      (table, positions) → the block's rows, NaN or −1 where missing; refuse cells it has no density for
    recode      (rows, statistics) → the same rows in the vocabulary of the fitted statistics
    zero        (k, columns) → the statistic of no rows
    summarize   (rows, codes, k, weight) → a statistic of `suffice.stats`, which merges
    estimate    (statistic, settings) → (a density of `suffice.densities`, notes of every repair)
may provide
    joint()             the family of a tuple of columns modelled as one block
    takes_missing       False if a missing cell is refused (the default is True: it contributes nothing)
    takes_sparse        True if `encode` accepts SciPy sparse matrices
    support             "reals", "counts", "truths", "levels" or "shares": lets `check_family` add up the density
    leave_one_out       (recoded rows, statistic, codes, weight, settings) → log density (n, k) of each row under every
                        class, the row's own weight taken out of the statistic first: exactly what a refit would give.
                        DataError for a row that cannot be in the statistic. Without it `leave_one_out` refits
    leave_one_out_limit the same as (order, log coefficient) for vanishing smoothing, where probabilities can be zero
gets for free
    fit, partial_fit and merge in any order, row weights, new classes in any batch; every answer of `NaiveBayes`,
    beside columns of any other family; model files, if it is in `FAMILIES`, its fields are plain values and its
    statistic is in `suffice.store.STATISTICS`; the laws of `suffice.testing.check_family`

Everything subjective (smoothing, floors) enters at `estimate`: statistics hold facts only.
"""

from __future__ import annotations

from .family import Block, Family, Settings
from .bernoulli import BernoulliFamily
from .categorical import CategoricalFamily
from .gaussian import GaussianFamily
from .laplace import LaplaceFamily
from .multinomial import MultinomialFamily
from .poisson import PoissonFamily
from .student_t import StudentTFamily

FAMILIES: dict[str, Family] = {
    "gaussian": GaussianFamily(),
    "laplace": LaplaceFamily(),
    "student_t": StudentTFamily(),
    "poisson": PoissonFamily(),
    "bernoulli": BernoulliFamily(),
    "categorical": CategoricalFamily(),
    "multinomial": MultinomialFamily(),
}

__all__ = [
    "FAMILIES",
    "BernoulliFamily",
    "Block",
    "CategoricalFamily",
    "Family",
    "GaussianFamily",
    "LaplaceFamily",
    "MultinomialFamily",
    "PoissonFamily",
    "Settings",
    "StudentTFamily",
]
