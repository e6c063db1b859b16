"""The families a block of columns can have. A new family is one file in this folder and one line in `FAMILIES`.

A family is a frozen, comparable object (a dataclass) that says how its columns are encoded, summarised and estimated.
`family.Family` names every verb an estimator asks for, what it means, and what it is where a family leaves it out.
Those that ship inherit from it. A family handed in by a user may, or may be any object with a `name` and the verbs
`encode`, `recode`, `zero`, `summarize` and `estimate`: `as_family` adds the others.

A family gets for free: fit, partial_fit and merge in any order, row weights, new classes in any batch; every answer of
`NaiveBayes`, beside columns of any other family; model files, if it is in `FAMILIES`, its fields are plain values and
its statistic is in `suffice.files.model_file.STATISTICS`; the laws of `suffice.testing.check_family`.
"""

from __future__ import annotations

from .categorical import CategoricalFamily as CategoricalFamily
from .counts import (
    BernoulliFamily as BernoulliFamily,
    MultinomialFamily as MultinomialFamily,
    PoissonFamily as PoissonFamily,
)
from .family import Block as Block, Family as Family, Settings as Settings, as_family as as_family, lacking as lacking
from .gaussian import GaussianFamily as GaussianFamily
from .laplace import LaplaceFamily as LaplaceFamily
from .text import TextFamily as TextFamily, text_positions as text_positions

FAMILIES: dict[str, Family] = {
    "gaussian": GaussianFamily(),
    "laplace": LaplaceFamily(),
    "poisson": PoissonFamily(),
    "bernoulli": BernoulliFamily(),
    "categorical": CategoricalFamily(),
    "multinomial": MultinomialFamily(),
    "text": TextFamily(),
    "text_bernoulli": TextFamily("text_bernoulli", occurs=True),
}
