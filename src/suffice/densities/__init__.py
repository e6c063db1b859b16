"""Parameters → log densities by class. No data, no fitting.

The contract of a class-conditional density (frozen; `k` classes):

must provide
    log_density(rows)        (n, k) in nats; a missing cell is integrated out, so it contributes nothing
may provide
    limit(rows)              order and coefficient of a density that is zero, see `discrete.Categorical`
    marginal(columns)        the density of some of the columns
    log_prior(smoothing)     log of the prior on the parameters that smoothing stands for, up to a constant, in nats:
                             EM with missing labels climbs the likelihood times this
    parameters(j)            the parameters of column j by class, {name: (k,)}, for families of independent columns
"""

from .counts import Bernoulli, Multinomial, Poisson
from .covariance import Covariance, Diagonal, Full, LowRank, Spherical
from .discrete import Categorical
from .gaussian import Gaussian
from .location_scale import Laplace, StudentT
from .mixture import Mixture
from .product import Product
from .student import MultivariateT

STRUCTURES: dict[str, type[Covariance]] = {"full": Full, "diagonal": Diagonal, "spherical": Spherical}

__all__ = [
    "STRUCTURES",
    "Bernoulli",
    "Categorical",
    "Covariance",
    "Diagonal",
    "Full",
    "Gaussian",
    "Laplace",
    "LowRank",
    "Mixture",
    "Multinomial",
    "MultivariateT",
    "Poisson",
    "Product",
    "Spherical",
    "StudentT",
]
