"""Parameters → log densities, conditionals and draws by class. No data, no fitting.

The contract of a class-conditional density (frozen; `k` classes):

must provide
    log_density(rows)        (n, k) in nats; a missing cell is integrated out, so it contributes nothing
may provide
    terms(rows)              (k, n, d): what each of independent columns adds to the log density
    limit_terms(rows)        the same as order and coefficient, for densities that can be zero
    limit(rows)              order and coefficient of a density that is zero, see `discrete.Categorical`
    marginal(columns)        the density of some of the columns
    condition(rows, posterior)
                             the rows with each missing cell replaced by its mean, or its most probable category, given
                             the observed cells of the row; classes count by `posterior` (n, k), which may be that of
                             a few rows only: callers pass rows in chunks. Observed cells come back as they are.
    sample(rows, codes, rng) the rows with each missing cell drawn from p(missing | observed, class), the class of each
                             row given (n,); rows without any observed cell are new rows. `rng` is a RandomState.
    log_prior()              log of the prior on the parameters that smoothing stands for, up to a constant, in nats:
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
