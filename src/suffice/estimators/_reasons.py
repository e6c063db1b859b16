"""Why a class, and is the row like anything seen: questions whose answers are about the model as much as the row."""

from __future__ import annotations

from typing import Any, cast

from .._arrays import Array, np
from ..errors import SettingError
from ..tasks.explain import contributions


class ReasonsMixin:
    """`explain`, for every estimator."""

    def explain(self, X: Any, *, orders: int | None = None, return_error: bool = False) -> Any:
        """Return how much each column speaks for each class, (n, d, k) in nats of log-odds.

        Contributions add up, with the class priors, to the log posterior odds of every pair of classes:

            Σ_j (c[i, j, k] − c[i, j, l]) + log π_k − log π_l = log p(y = k | x_i) − log p(y = l | x_i).

        Column j adds log p(x_j | k) if columns are independent given the class, which makes c[:, j, k] − c[:, j, l] the
        log likelihood ratio of naive Bayes. Where columns depend on each other, it adds log p(x_j | the columns before
        it, k), by the chain rule, averaged over all orders of the columns: the Shapley value of the game
        v(S) = log p(x_S | k), whose marginal densities the model knows. Each is given less its mean over classes, so
        that positive numbers speak for a class against the others on average; differences do not depend on that. A
        missing cell contributes exactly 0, and so does a column without a density.

        Exact for independent columns of any number, correlated Gaussian columns up to 12, and other joint blocks up to
        8. Beyond that the mean over all orders is estimated from `orders` of them (the same ones in every call, each
        with its reverse; default 512, or 64 for more than 48 columns, for mixtures and for more columns than rows). It
        adds up all the same, as every single order does.

        Parameters
        ----------
        X : table (n, d)
        orders : int, optional
            How many orders of the columns to average over, where there are too many for all of them. At least 2.
        return_error : bool
            Return (contributions, standard errors), both (n, d, k). The errors are 0 where values are exact.

        Notes
        -----
        A class that gives a cell probability zero (no smoothing) has −∞ there. Shapley (1953), A value for n-person
        games; Štrumbelj & Kononenko (2014), doi:10.1007/s10115-013-0679-x.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> X = [["red", 1.0], ["red", 2.0], ["blue", 7.0], ["blue", 8.0]]
        >>> model = NaiveBayes().fit(X, ["a", "a", "b", "b"])
        >>> odds = model.explain([["red", None]])
        >>> odds.shape
        (1, 2, 2)
        >>> [round(float(c), 3) for c in odds[0, :, 0] - odds[0, :, 1]]  # log (3/4 : 1/4), and nothing
        [1.099, 0.0]
        """
        if orders is not None and (isinstance(orders, bool) or not isinstance(orders, int | np.integer) or orders < 2):
            raise SettingError(f"orders={orders!r} must be a whole number of at least 2. Next: leave it out.")
        owner = cast(Any, self)
        model = owner.model_
        positions = [block.positions for block in owner._blocks]
        found, error = contributions(model, owner._rows(X), positions, orders=orders, errors=return_error)
        return (found, cast(Array, error)) if return_error else found
