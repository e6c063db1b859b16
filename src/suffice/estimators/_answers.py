"""Estimator methods that answer questions: each one line over a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._arrays import Array, NDArray, np
from .._arrays_api import fetch
from ..questions import decide, explain, frames, impute, leave_one_out, outliers, sample, sets
from ..schema import Name
from ._columns import Columns


class Answers(Columns):
    """What a fitted model can be asked."""

    # --- classify ----------------------------------------------------------------------------------------------------

    def predict(self, X: object, *, priors: object = None, costs: object = None, reject: float | None = None) -> Any:
        """Return the most probable class of each row (n,), or the one of least expected cost, or None for no answer.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
        priors : array (k,), dict by label or "uniform", optional
            Replaces the class priors.
        costs : array (k, k), optional
            `costs[i][j]` is the cost of answering class j when the truth is class i, in the order of `classes_`;
            without it a wrong answer costs 1 and a right one 0.
        reject : float, optional
            The cost of giving no answer. Where the best answer is expected to cost more, there is none: the row gets
            None, the label that `fit` takes for missing, in an array of dtype object. Without `costs` this is Chow's
            rule, which of all rules that reject as many rows errs least: reject where 1 − max p(class | x) > reject,
            for 0 < reject < 1; from 1 − 1/k on it rejects nothing.

        Notes
        -----
        Chow (1970), doi:10.1109/TIT.1970.1054406.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> model = GaussianDiscriminant(shared=True).fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"])
        >>> model.predict([[0.2], [2.4], [4.7]], reject=0.1).tolist()
        ['low', None, 'high']
        """
        return decide.predict(self._fitted, X, priors, costs, reject)

    def predict_proba(self, X: object, *, priors: object = None, as_frame: bool | str = False) -> Any:
        """Return p(class | x) by Bayes' rule, (n, k); missing cells of a row are integrated out exactly.

        Of large tables, a probability below 1e-17 may be an upper bound of it, never 0 unless it is 0, which changes no
        other by more than rounding; its logarithm is that of `predict_log_proba`.

        With `as_frame` it is a data frame with a column for each class, as for `explain`.
        """
        frames.check_frame(as_frame)
        fitted = self._fitted
        found = decide.posterior(fitted, X, priors)
        return frames.by_class(fitted, X, fetch(found), as_frame) if as_frame else found

    def predict_log_proba(self, X: object, *, priors: object = None) -> Array:
        """Return log p(class | x), (n, k) in nats, never rounded up to the log of a smallest float."""
        return decide.log_posterior(self._fitted, X, priors)

    def predict_joint_log_proba(self, X: object) -> Array:
        """Return log p(x, y = k), (n, k) in nats: the number every other answer is made from."""
        fitted = self._fitted
        return fitted.log_joint(fitted.rows(X, resident=True))

    def decision_function(self, X: object) -> Array:
        """Return the log posterior odds of the second class (n,) for two classes, else log posteriors (n, k).

        The sigmoid (more classes: the softmax) of these is the posterior.
        """
        return decide.log_odds(self._fitted, X)

    def score_samples(self, X: object) -> Array:
        """Return log p(x) = log Σ_k π_k p(x | k), (n,) in nats, of the observed cells of each row."""
        fitted = self._fitted.joint_value
        return fitted.log_density(fitted.rows(X, resident=True))

    def adapt_priors(self, X: object) -> Array:
        """Return the class priors (k,) under which rows without labels are most likely, in the order of `classes_`.

        For label shift: the classes come in other proportions than in training, and rows of a class are what they
        were. Hand the result to `predict` or `predict_proba` as `priors`, or to the estimator with
        `set_params(priors=…)`, which every answer heeds from then on, without another fit; this call changes nothing.
        Cells may be missing. A class without a row keeps the prior 0.

        The likelihood Σ log Σ_k π_k p(x | k) has one maximum, found by EM to within 1e-10 nats per row (Saerens,
        Latinne & Decaestecker 2002, doi:10.1162/089976602753284446). Where classes overlap much the maximum is flat,
        and the result as uncertain.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> model = GaussianDiscriminant(shared=True).fit([[0.0], [1.0], [8.0], [9.0]], ["low", "low", "high", "high"])
        >>> priors = model.adapt_priors([[0.3], [8.1], [8.8], [8.5]])
        >>> priors.round(3).tolist(), model.predict_proba([[4.4]], priors=priors).round(2).tolist()
        ([0.75, 0.25], [[0.11, 0.89]])
        """
        fitted = self._fitted
        return decide.adapt_priors(fitted, fetch(decide.log_posterior(fitted, X, "uniform")))

    def predict_set(
        self, X: object, alpha: float = 0.1, *, by_class: bool = False, allow_empty: bool = True
    ) -> NDArray[np.bool_]:
        """Return for each row the classes it may well be of, (n, k): the true one among them for 1 − α of new rows.

        A class is in the set where −log p(class | x) is at most the (1 − α)-quantile of these numbers for the training
        rows and their own classes, each by the exact leave-one-out posterior (mixtures: by models of folds). That needs
        no rows set aside, and what the model gets wrong makes sets larger, not wrong. With fewer than 1 / α − 1 rows
        every class is in every set.

        A row is compared with training rows of as many known cells: those that have so many, and others some of whose
        cells are hidden, each column as often as any other; the larger threshold of both counts. So coverage is 1 − α
        for any number of known cells, over rows that miss cells by chance or as the training rows did. Where nothing is
        known, the set has the classes of the largest shares until these are 1 − α.

        A model that is right more often than 1 − α needs no second class in any set, and has some to spare: then the
        sets of the rows it is least sure of are empty, or coverage would be above 1 − α. Give a smaller α, or
        `allow_empty=False`.

        Parameters
        ----------
        X : table (n, d)
        alpha : float, above 0 and below 1
            Share of rows whose set may lack their class, over all classes: rare ones may be missed more often.
        by_class : bool, default False
            Let α be the share of the rows of each class: a class is compared with its own training rows alone. One of
            fewer than 1 / α − 1 rows is in every set, with a warning.
        allow_empty : bool
            If False, the most probable class is in every set, and coverage may be higher than 1 − α.

        Raises
        ------
        DataError, SettingError
            The model keeps no rows; a released one if none were kept when it was released, or if it has changed since.

        Notes
        -----
        The quantile is that of the rows that the statistics keep a sample of (at most about 2,000): it adds to the
        coverage a standard error of √(α (1 − α) / 2000), 0.007 at α = 0.1. A released model knows means of scores, each
        of so many rows as it may tell of, and thresholds are linear between these. Sadinle, Lei & Wasserman (2019),
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
        fitted = self._fitted
        return sets.predict_set(fitted, fitted.rows(X), alpha, by_class, allow_empty)

    def leave_one_out(self, X: object, y: object, sample_weight: object = None, groups: object = None) -> Array:
        """Return the exact leave-one-out log posteriors log p(class | x), (n, k) in nats, without refits.

        Row i is judged by the model that all rows but row i would give: statistics lose a row as they gained it.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
            Rows this model has learned, all of them or some, by `fit`, `partial_fit` or `merge`.
        y : array-like (n,)
            Their labels.
        sample_weight : array-like (n,), optional
            Their weights as given to `fit`; all of a row's weight is left out, so k copies of a row leave together. A
            row of weight 0 was not learned: it is judged by the model as it is, whatever its label.

        Returns
        -------
        array (n, k)
            The columns are `classes_`. A class whose only row is left out has −∞ in that row: the model of the other
            rows would not know it. Class priors that were given stay, those from the data lose the row.

        Raises
        ------
        DataError
            A label is missing or not known, or a row cannot have been learned: it weighs more than its class, or its
            category, count or value does not occur there. (Not every such row can be told.) Nor can rows be left out of
            a model that rows without a label have joined: EM would have to be run again.
        SettingError
            A mixture of several components, whose EM would have to be run again: use scikit-learn's
            `cross_val_predict`.

        Notes
        -----
        Closed forms: categorical, Bernoulli, multinomial, Poisson (counts less the row's own), Laplace (medians
        without a value from running sums), Gaussian (rank-one downdates of the scatter; Fukunaga & Hummels 1989,
        doi:10.1109/34.31448).

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X, y = [[0.0], [1.0], [2.5], [4.0], [5.0]], ["low", "low", "low", "high", "high"]
        >>> model = GaussianDiscriminant(shared=True).fit(X, y)
        >>> model.classes_[model.leave_one_out(X, y).argmax(axis=1)].tolist()
        ['low', 'low', 'high', 'high', 'high']
        >>> model.predict(X).tolist()
        ['low', 'low', 'low', 'high', 'high']
        """
        return leave_one_out.leave_one_out(self._fitted, X, y, sample_weight, groups)

    # --- why, and what else ------------------------------------------------------------------------------------------

    def explain(
        self, X: object, *, orders: int | None = None, return_error: bool = False, as_frame: bool | str = False
    ) -> Any:
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
        as_frame : bool, "pandas", "polars" or "pyarrow"
            Return data frames of n · d rows: `row` (its number, from 0, or its index in pandas), `column`, and a column
            for each class. True: of the library that X came in, else pandas, or another library that is there.

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
        frames.check_frame(as_frame)
        fitted = self._fitted
        found = explain.explain(fitted, X, orders, return_error)
        if not as_frame:
            return found
        parts = found if isinstance(found, tuple) else (found,)
        made = tuple(frames.by_column_and_class(fitted, X, part, as_frame) for part in parts)
        return made if return_error else made[0]

    def outlier_pvalues(self, X: object, y: object = None, *, by_class: bool = False) -> Array:
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

        A row that misses cells is compared in those it has, with the held-out rows that have them, too, if these are
        50; else with all, each as far out as it is in its own cells. A row without any cell has p-value 1. Models
        without rows (`keep_rows=0`) have p-values where classes are unrepaired Gaussians: their law, and for several
        classes the ranks among rows simulated from the model.

        Parameters
        ----------
        X : table (n, d)
            Rows that the model has not learned from.
        by_class : bool, default False
            Return the p-values of new rows within each class (n, k): how likely a row of it is at least as far out from
            it, by the law or by its held-out rows alone. Of new rows of a class a share p has a p-value up to p for it,
            however wide or rare it is; over all classes, rows of a wide rare class look odd more often. A row whose
            largest p-value is small is like no class.
        y : labels (n,), optional
            The rows are training rows of these classes: the p-value is that within the class, with the row's own part
            in the estimates taken out: for Gaussians as above by the Beta law of Mahalanobis distances, else by its
            rank among the rows held out of its class, the row itself among them. Where rows miss cells, each ranks by
            the share of the rows of other folds that are farther out in the cells it has. Rows beyond those kept are
            judged by leave-one-out log densities (see `leave_one_out` for the models that have none).

        Raises
        ------
        DataError
            The model keeps no rows and has no law, or has learned a single row; a label is not known.
        SettingError
            Both `y` and `by_class` are given.

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
        return outliers.outlier_pvalues(self._fitted, X, y, by_class)

    @property
    def outlier_reference_(self) -> str:
        """What the p-values of new rows come from: an exact law, or the rows held out and how small p-values can be."""
        return outliers.outlier_reference(self._fitted)

    def impute(
        self,
        X: object,
        y: object = None,
        *,
        draws: int | None = None,
        random_state: object = None,
        as_recorded: bool = True,
    ) -> Any:
        """Return the table with its missing cells filled, from what is observed in each row.

        A number becomes its conditional mean, Σ_k p(k | x_o) E[x_m | x_o, k]: within one Gaussian class that is least
        squares on the observed columns. It is moved to the nearest value that the column could hold. A category or
        truth value becomes the most probable one; ties go to the first level. Observed cells stay, bit for bit.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
            Null and NaN cells are to be filled.
        y : array-like (n,), optional
            Labels, where known: those rows are filled from their class alone. Labels may be missing (None, NaN).
        draws : int, optional
            Multiple imputation: that many tables, each with cells drawn instead of averaged, a class from p(k | x_o)
            and then all missing cells of the row from p(x_m | x_o, k) together.
        random_state : None, int or RandomState
            Seed of the draws.
        as_recorded : bool, default True
            Fill in numbers in the steps and within the range of their column, as `sample` does; False leaves them as
            the density has them, such as 3.7 children.

        Returns
        -------
        table of the kind that came in, or a list of `draws` of them
            A list of rows gives an array. Column order, names, index and types are kept, with these exceptions: a
            column of integers or decimals becomes floats where a filled cell is no such integer; categories that a
            pandas or Enum column lacks are added to it; a column without any value whose type cannot hold what
            belongs there gets one that can.

        Raises
        ------
        DataError
            A label that the model does not know, or a column that cannot be filled; multinomial columns refuse
            missing counts.

        Notes
        -----
        Little & Rubin, Statistical Analysis with Missing Data (3rd ed.), section 4.3 and chapter 10. The draws are
        from the fitted model: they do not reflect the uncertainty of its parameters.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X, y = [[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [7.0, 2.9], [8.0, 2.1], [9.0, 1.0]], ["up"] * 3 + ["down"] * 3
        >>> model = GaussianDiscriminant().fit(X, y)
        >>> model.impute([[1.5, float("nan")], [8.5, float("nan")]]).round(3).tolist()
        [[1.5, 1.533], [8.5, 1.525]]
        """
        return impute.impute(self._fitted, X, y, draws, random_state, as_recorded)

    def sample(
        self,
        n: int,
        *,
        label: object = None,
        given: Mapping[Name, object] | None = None,
        random_state: object = None,
        as_recorded: bool = True,
    ) -> tuple[Any, Any]:
        """Return `n` new rows drawn from the joint density, and their labels (n,).

        Parameters
        ----------
        n : int, at least 1
        label : a class label, optional
            Draw rows of this class; otherwise classes come by their prior, or by p(k | given).
        given : dict {column: value}, optional
            Cells held fixed: the class is drawn from its posterior given these, the other cells given these and the
            class.
        random_state : None, int or RandomState
            Seed of the draws, as in scikit-learn.
        as_recorded : bool, default True
            Draw numbers in the steps of the rows kept (whole numbers, tenths, multiples of 25) and within the range
            that they keep to: one side of zero, shares and percentages, ends where 5 % of them pile up. False leaves
            them as the density has them, as models that keep no rows do.

        Returns
        -------
        X : table of the kind that the model was fitted on
            With its column names, categories as such, whole numbers as integers. A loaded model remembers the kind;
            where that library is not installed, another one's data frame, or an array.
        y : array (n,)
            Labels, as `predict` returns them.

        Raises
        ------
        SettingError
            An unknown label, an unknown column, or a value that the column cannot have.

        Notes
        -----
        A multinomial row's total is no part of its density: it is drawn as a Poisson number about the class's mean
        total.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> X, y = [["red", 1.0], ["red", 2.0], ["blue", 7.0], ["blue", 8.0]], ["warm", "warm", "cold", "cold"]
        >>> model = NaiveBayes(smoothing=0.0).fit(X, y)
        >>> rows, labels = model.sample(3, given={0: "red"}, random_state=0)
        >>> rows[:, 0].tolist(), labels.tolist()
        (['red', 'red', 'red'], ['warm', 'warm', 'warm'])
        """
        return sample.draw_rows(self._fitted, n, label, given, random_state, as_recorded=as_recorded)
