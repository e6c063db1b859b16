"""Parameters → log densities, conditionals and draws by class. No data, no fitting.

`density.Density` says what a class-conditional density is asked, and what it may leave as it is.
"""

from .counts import Bernoulli, Multinomial, Poisson
from .covariance import Covariance, Diagonal, Full, Spherical
from .density import Density, Limit, as_density
from .discrete import Categorical
from .gaussian import Gaussian
from .location_scale import Laplace, StudentT
from .low_rank import LowRank
from .mixture import Mixture
from .product import Product, Rows
from .student import MultivariateT

STRUCTURES: dict[str, type[Covariance]] = {"full": Full, "diagonal": Diagonal, "spherical": Spherical}

__all__ = [
    "STRUCTURES",
    "Bernoulli",
    "Categorical",
    "Covariance",
    "Density",
    "Diagonal",
    "Full",
    "Gaussian",
    "Laplace",
    "Limit",
    "LowRank",
    "Mixture",
    "Multinomial",
    "MultivariateT",
    "Poisson",
    "Product",
    "Rows",
    "Spherical",
    "StudentT",
    "as_density",
]
