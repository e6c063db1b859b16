"""Parameters → log densities, conditionals and draws by class. No data, no fitting.

`density.Density` says what a class-conditional density is asked, and what it may leave as it is.
"""

from .counts import Bernoulli as Bernoulli, Categorical as Categorical, Multinomial as Multinomial, Poisson as Poisson
from .covariance import Covariance as Covariance, Diagonal as Diagonal, Full as Full, Spherical as Spherical
from .density import (
    Density as Density,
    Draw as Draw,
    Limit as Limit,
    Product as Product,
    Rows as Rows,
    as_density as as_density,
)
from .gaussian import Gaussian as Gaussian
from .low_rank import LowRank as LowRank
from .mixture import Mixture as Mixture
from .student import Laplace as Laplace, MultivariateT as MultivariateT, StudentT as StudentT

STRUCTURES: dict[str, type[Covariance]] = {"full": Full, "diagonal": Diagonal, "spherical": Spherical}
