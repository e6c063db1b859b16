"""Parameters → log densities by class. No data, no fitting.

The contract of a class-conditional density (frozen; `k` classes):

must provide
    log_density(rows)        (n, k) in nats; a missing cell is integrated out, so it contributes nothing
may provide
    limit(rows)              order and coefficient of a density that is zero, see `discrete.Categorical`
    marginal(columns)        the density of some of the columns
    log_prior(smoothing)     log of the prior on the parameters that smoothing stands for, up to a constant, in nats:
                             EM with missing labels climbs the likelihood times this
"""

from .covariance import Covariance, Diagonal, Full, LowRank, Spherical
from .discrete import Categorical
from .gaussian import Gaussian
from .mixture import Mixture
from .product import Product

STRUCTURES: dict[str, type[Covariance]] = {"full": Full, "diagonal": Diagonal, "spherical": Spherical}

__all__ = [
    "STRUCTURES",
    "Categorical",
    "Covariance",
    "Diagonal",
    "Full",
    "Gaussian",
    "LowRank",
    "Mixture",
    "Product",
    "Spherical",
]
