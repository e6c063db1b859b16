"""Why a class, and is the row like anything seen: questions whose answers are about the model as much as the row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any, cast

from .._arrays import Array, Codes, NDArray, np
from .._arrays_api import fetch
from ..errors import DataError, SettingError
from ..joint import JointModel
from ..leave_one_out import leave_one_out
from ..leave_one_out.model import log_densities
from ..stats import ByClass, Reservoir
from ..stats.rows import take_rows
from ..tasks import conformal, outliers
from ..tasks.explain import contributions
from ..tasks.held_out import HeldOut, own_rank_pvalues, rank_pvalues
from ..tasks.outlier_laws import HotellingLaw
from ._held_out import hold_out
from ._simulated import exact_law, make_replicates
from ._states import Derived, question
from ._unlabelled import recoded
from ._validation import what_was_learned


class Reasons:
    """`explain`, `outlier_pvalues` and `predict_set`, for every estimator."""

    _folds: Any = Derived()  # the statistics, and rows held out with the models of the others
    _simulated: Any = Derived()  # the model, and rows and models simulated from it
    _left_out: Any = Derived()  # the model, and leave-one-out log posteriors of the rows kept

    @question
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
        _check_orders(orders)
        owner = cast(Any, self)
        model = owner.model_
        positions = [block.positions for block in owner._blocks]
        found, error = contributions(model, owner._rows(X), positions, orders=orders, errors=return_error)
        return (found, cast(Array, error)) if return_error else found

    @question
    def outlier_pvalues(self, X: Any, y: Any = None) -> Array:
        """Return how likely a row of the model is at least as far out as each row, (n,): uniform for rows of the model.

        Within a class, distance is how much less dense the row is than the class at its centre. For one class of
        Gaussians with an unrepaired covariance p-values are exact at any number of rows (F: Hotelling's T²; sums of
        squared t variables for independent columns).

        Everywhere else they are ranks (cross-conformal prediction): the rows kept are parted into five to ten folds,
        each is judged by a model of all rows but its fold, and so is the new row; the p-value is the share of them that
        are at least as far out, the new row counted in, (1 + Σ w_i [as far out]) / (1 + n). That holds whatever the
        model gets wrong, for new rows that come as the learned ones did. Over classes, the distance from each becomes
        the share of its held-out rows beyond, and these are averaged by their posterior. Ties count as farther out, so
        p-values are never too small; models of very few rows make them a little too large. Below 1 / (1 + n) no rank
        says anything: there they go on with an exponential tail, which keeps the order of far rows.
        `outlier_reference_` says what was compared.

        A row that misses cells is compared in those it has; held-out rows that miss some of these have them drawn as
        their model expects. A row without any cell has p-value 1. Models without rows (`keep_rows=0`) have p-values
        where classes are unrepaired Gaussians: their law, and for several classes the ranks among rows simulated from
        the model.

        Parameters
        ----------
        X : table (n, d)
            Rows that the model has not learned from.
        y : labels (n,), optional
            The rows are training rows of these classes: the p-value is that within the class, with the row's own part
            in the estimates taken out: for Gaussians as above by the Beta law of Mahalanobis distances, else by its
            rank among the rows held out of its class, the row itself among them. Rows beyond those kept are judged by
            leave-one-out log densities (see `leave_one_out` for the models that have none).

        Raises
        ------
        DataError
            The model keeps no rows and has no law, or has learned a single row; a label is not known.

        Notes
        -----
        Anderson, An Introduction to Multivariate Statistical Analysis (3rd ed., 2003), theorem 5.2.2; Gnanadesikan &
        Kettenring (1972), doi:10.2307/2528963.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> model = GaussianDiscriminant().fit([[0.0], [1.0], [2.0], [3.0]], ["a"] * 4)
        >>> model.outlier_pvalues([[1.5], [6.0], [60.0]]).round(4).tolist()  # t with 3 degrees of freedom
        [1.0, 0.0526, 0.0]
        """
        owner = cast(Any, self)._density_owner
        model, law, rows = owner.model_, exact_law(owner, owner.model_), owner._rows(X)
        if y is None:
            if law is not None and (len(model.classes) == 1 or owner.statistics_.sample is None):
                return outliers.pvalues(model, rows, self._replicates(owner, model), law)
            return rank_pvalues(self._held_out(), cast(Any, self)._encode(X)[0], rows, model.log_prior)
        codes = cast(Any, self)._known_codes(y, outliers.count_rows(rows))
        if isinstance(law, HotellingLaw):
            return outliers.own_pvalues(model, rows, codes, law)
        encoded, sample, held = cast(Any, self)._encode(X)[0], owner.statistics_.sample, self._held_out()
        place = sample.locate(encoded[: len(sample.rows)], codes, model.classes)
        return own_rank_pvalues(held, rows, codes, place, partial(_apart, owner, model, rows, encoded, codes))

    @property
    @question
    def outlier_reference_(self) -> str:
        """What the p-values of new rows come from: an exact law, or the rows held out and how small p-values can be."""
        owner = cast(Any, self)._density_owner
        law = exact_law(owner, owner.model_)
        if law is not None and len(owner.model_.classes) == 1:
            return f"the exact law of distances from a class of {owner.statistics_.total:g} rows ({law.name})"
        if law is not None and owner.statistics_.sample is None:
            return f"{law.name} within classes, and over classes the ranks among rows simulated from the model"
        held = self._held_out()
        return (
            f"the rank among {len(held.codes)} rows held out, each judged by one of {len(held.folds)} models of the "
            f"others; p-values below {1.0 / (1.0 + held.size):.2g} are extrapolated"
        )

    @question
    def predict_set(self, X: Any, alpha: float = 0.1, *, allow_empty: bool = True) -> NDArray[np.bool_]:
        """Return for each row the classes it may well be of, (n, k): the true one among them for 1 − α of new rows.

        A class is in the set where −log p(class | x) is at most the (1 − α)-quantile of these numbers for the training
        rows and their own classes, each by the exact leave-one-out posterior. That needs no rows set aside, and what
        the model gets wrong makes sets larger, not wrong. With fewer than 1 / α − 1 rows every class is in every set.

        A model that is right more often than 1 − α needs no second class in any set, and has some to spare: then the
        sets of the rows it is least sure of are empty, or coverage would be above 1 − α. Give a smaller α, or
        `allow_empty=False`.

        Parameters
        ----------
        X : table (n, d)
        alpha : float, above 0 and below 1
            Share of rows whose set may lack their class. Over all classes: rare ones may be missed more often.
        allow_empty : bool
            If False, the most probable class is in every set, and coverage may be higher than 1 − α.

        Raises
        ------
        DataError, SettingError
            As for `leave_one_out`: for a mixture of several components, or where rows without a label have joined.

        Notes
        -----
        The quantile is that of the rows that the statistics keep a sample of (at most about 2,000): it adds to the
        coverage a standard error of √(α (1 − α) / 2000), 0.007 at α = 0.1. Sadinle, Lei & Wasserman (2019),
        doi:10.1080/01621459.2017.1395341. Coverage is 1 − α where leaving one row out hardly moves the model, and for
        any model at least 1 − 2 α if scores of each row's own model were used (Barber et al. 2021,
        doi:10.1214/20-AOS1965, the jackknife+), which these are not.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X = [[float(i)] for i in range(20)]
        >>> model = GaussianDiscriminant(shared=True).fit(X, ["low"] * 9 + ["high"] + ["low"] + ["high"] * 9)
        >>> model.classes_.tolist(), model.predict_set([[2.0], [9.5], [17.0]]).tolist()
        (['high', 'low'], [[False, True], [True, True], [True, False]])
        """
        told: object = alpha
        if not isinstance(told, int | float | np.number) or not 0.0 < float(told) < 1.0:
            raise SettingError(f"alpha={alpha!r} must lie between 0 and 1. Next: 0.1 gives sets that hold 90 %.")
        owner = cast(Any, self)
        sample = owner.statistics_.sample
        limit = conformal.threshold(
            self._left_out_posterior(owner.model_),
            sample.codes,
            sample.represented(owner.statistics_.weight) * sample.rows_per_weight,
            float(told),
        )
        return conformal.class_sets(fetch(owner._log_posterior(X, None)), limit, allow_empty)

    def _left_out_posterior(self, model: JointModel) -> Array:
        """Return leave-one-out log posteriors of the rows that the statistics keep, made once for a model."""
        known = self._left_out
        if known is None or known[0] is not model:
            sample = cast(Any, self).statistics_.sample
            if sample is None:
                released = cast(Any, self)._released is not None
                raise DataError.without_rows("This model keeps no rows to judge itself by", released)
            found = leave_one_out(what_was_learned(self), sample.rows, sample.codes, sample.row_weight())
            self._left_out = known = (model, found)
        return known[1]  # type: ignore[no-any-return]

    @property
    def _density_owner(self) -> Any:
        """The estimator whose blocks are those of `model_`."""
        return self

    def _kept_rows(self, sample: Reservoir) -> list[Any]:
        """Return the rows of a sample, one part for each block."""
        return list(sample.rows)

    def _held_out_copy(self) -> Any:
        """Return a copy that learns from some of the rows, with the seeds and settings of the whole model."""
        twin = copy(self)
        twin.__dict__["priors"] = None  # the model of a fold may lack a class; priors come from the whole model
        return twin

    def _model_of(self, statistics: ByClass) -> tuple[JointModel, Callable[[Sequence[Any]], tuple[Any, ...]]]:
        """Return the joint model of other statistics, and how it reads encoded rows."""
        owner = cast(Any, self)
        model, _ = owner._estimate(statistics, owner._blocks, owner._schema)
        return model, partial(recoded, tuple(zip(owner._blocks, statistics.blocks, strict=True)))

    def _held_out(self) -> HeldOut:
        """Return rows held out and the models of the others, made once for what was learned."""
        statistics = cast(Any, self).statistics_
        known = self._folds
        if known is None or known[0] is not statistics:
            self._folds = known = (statistics, hold_out(self))
        return known[1]  # type: ignore[no-any-return]

    def _replicates(self, owner: Any, model: JointModel) -> list[outliers.Replicate]:
        """Return simulated rows and models, made once for a model; none for one class, whose law says it all."""
        if len(model.classes) == 1:
            return []
        known = self._simulated
        if known is None or known[0] is not model:
            self._simulated = known = (model, make_replicates(owner, model))
        return known[1]  # type: ignore[no-any-return]


def _apart(owner: Any, model: JointModel, rows: Any, encoded: Any, codes: Codes, index: Codes, observed: Any) -> Array:
    """Return how far out some rows (m,) are of which the model knows sums alone, each left out of these."""
    parts = [take_rows(part, index) for part in encoded[: len(owner._blocks)]]
    left_out = log_densities(what_was_learned(owner), parts, codes[index], None)
    own = np.arange(len(index)), codes[index]
    score = np.where(left_out.order[own] > 0, -np.inf, left_out.score[own])
    return np.asarray(outliers.peaks(model, outliers.take(rows, index), observed)[codes[index]] - score)


def _check_orders(orders: object) -> None:
    whole = isinstance(orders, int | np.integer) and not isinstance(orders, bool)
    if orders is not None and not (whole and int(cast(int, orders)) >= 2):
        raise SettingError(f"orders={orders!r} must be a whole number of at least 2. Next: leave it out.")
