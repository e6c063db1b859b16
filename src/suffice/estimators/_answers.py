"""Estimator methods that answer questions: each one line over a function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._arrays import Array, Flags, np
from .._arrays_api import fetch
from ..errors import SufficeError
from ..questions import (
    assess,
    decide,
    drift,
    explain,
    exports,
    frames,
    importance,
    impute,
    information_gain,
    leave_one_out,
    outliers,
    proba_interval,
    sample,
    sets,
    suspect_labels,
)
from ..questions.assessment import Assessment
from ..questions.columns import ColumnFacts, column_facts
from ..questions.drift import Drift
from ..questions.forward import ForwardValidation, validate_forward
from ..questions.importance import Importance
from ..questions.learning_curve import DRAWS, LearningCurve, curve_of
from ..questions.quality import Quality, quality
from ..questions.suspect_cells import SuspectCells, suspect_cells
from ..report import Summary, summarize, summarize_at_hand, write_page
from ..schema import Name
from ..table.labels import label_array, read_labels, read_weights
from ..vocabulary import UnseenLevel
from ._state import State


class Answers(State):
    """What a fitted model can be asked."""

    # --- classify ----------------------------------------------------------------------------------------------------

    def predict(
        self,
        X: object,
        *,
        priors: object = None,
        costs: object = None,
        reject: float | None = None,
        missing_columns: str = "error",
    ) -> Any:
        """Return the most probable class of each row (n,), or the one of least expected cost, or None for no answer.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
        priors : array (k,), dict by label or "uniform", optional
            Replaces the class priors.
        costs : array (k, k), optional
            `costs[i][j]` is the cost of answering class j when the truth is class i, in the order of `classes_` (or of
            the names of rows and columns of a data frame of pandas, where these are the classes);
            without it a wrong answer costs 1 and a right one 0.
        reject : float, optional
            The cost of giving no answer. Where the best answer is expected to cost more, there is none: the row gets
            None, the label that `fit` takes for missing, in an array of dtype object. Without `costs` this is Chow's
            rule, which of all rules that reject as many rows errs least: reject where 1 − max p(class | x) > reject,
            for 0 < reject < 1; from 1 − 1/k on it rejects nothing.
        missing_columns : {"error", "missing"}
            What to do where `X`, whose columns have names, lacks some that were learned: refuse it (SchemaError), or
            take all their cells for missing, which a warning says once. All verbs that take a table have this keyword.

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
        fitted, X = self._asked(X, missing_columns)
        return decide.predict(fitted, X, priors, costs, reject)

    def predict_proba(
        self, X: object, *, priors: object = None, as_frame: bool | str = False, missing_columns: str = "error"
    ) -> Any:
        """Return p(class | x) by Bayes' rule, (n, k); missing cells of a row are integrated out exactly.

        Of large tables, a probability below 1e-17 may be an upper bound of it, never 0 unless it is 0, which changes no
        other by more than rounding; its logarithm is that of `predict_log_proba`.

        A single row may be a dictionary of cells by column, or a row of pandas (`X.iloc[0]`), in this verb and all
        others that take a table; several may be a list of dictionaries.

        With `as_frame` it is a data frame with a column for each class, as for `explain`.
        """
        frames.check_frame(as_frame)
        fitted, X = self._asked(X, missing_columns)
        found = decide.posterior(fitted, X, priors)
        return frames.by_class(fitted, X, fetch(found), as_frame) if as_frame else found

    def predict_proba_interval(
        self, X: object, level: float = 0.9, *, priors: object = None, missing_columns: str = "error"
    ) -> Array:
        """Return the ends of an interval around each p(class | x), (n, k, 2), that tell how sure it is.

        Parameters θ are drawn from their posterior given the rows learned, the same 399 or more draws for every call,
        and the ends are the ((1 ± level) / 2)-quantiles of p(class | x, θ), one class at a time. The probability that
        `predict_proba` tells is never outside. Where the model is true, intervals hold the probability that the true
        parameters give in a share `level` of rows; they say nothing of what the model gets wrong, which
        `predict_set` does. Their width falls as 1 / √n.

        Of `GenerativeClassifier` they are p ± t √(s² + τ²) on the scale of log-odds, joined with the Venn-Abers pair of
        the rows left out: s is how far models without each eighth of the rows kept differ from it, t has 7 degrees of
        freedom, and τ² is the upper limit of a variance that residuals of rows near each other have in common. These
        models are learned when first asked for.

        Parameters
        ----------
        X : table (n, d)
        level : float, above 0 and at most .999
        priors : optional
            Class priors in place of those learned, as for `predict`, known for sure; those learned are drawn too.

        Raises
        ------
        SettingError
            The posterior of the parameters has no closed form: forests, mixtures, Laplace and text columns, covariances
            that are shrunk or of too few rows, models that rows without a label have joined.
        DataError
            An automatic classifier keeps no rows: it was released, say.

        Notes
        -----
        Posteriors are those of the priors given (`prior`, a `Dirichlet` as `smoothing`). Without, they are under ½ a
        level, as a plain number smooths and is no belief, and under 1 / |Σ|: aᵀ Σ⁻¹ a / aᵀ S⁻¹ a is then a χ² of n − d
        degrees of freedom, as it is over rows given Σ. So they are where the rows chose the strength of a `prior`, as
        far as classes have rows enough. `sample_weight` counts as so many rows. Venn-Abers pairs: Vovk & Petej (2014),
        arXiv 1211.0025; the variance in common: le Cessie & van Houwelingen (1991), Biometrics 47.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X, y = [[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]], ["low"] * 3 + ["high"] * 3
        >>> model = GaussianDiscriminant(shared=True).fit(X, y)
        >>> model.predict_proba([[3.5]]).round(2).tolist()
        [[0.95, 0.05]]
        >>> model.predict_proba_interval([[3.5]])[0, 0].round(1).tolist()
        [0.2, 1.0]
        """
        fitted, X = self._asked(X, missing_columns)
        asked = fitted if priors is None else fitted.with_priors(priors)
        return proba_interval.probability_interval(asked, asked.rows(X), level)

    def predict_log_proba(self, X: object, *, priors: object = None, missing_columns: str = "error") -> Array:
        """Return log p(class | x), (n, k) in nats, never rounded up to the log of a smallest float."""
        fitted, X = self._asked(X, missing_columns)
        return decide.log_posterior(fitted, X, priors)

    def predict_joint_log_proba(self, X: object, *, missing_columns: str = "error") -> Array:
        """Return log p(x, y = k), (n, k) in nats: the number every other answer is made from."""
        fitted, X = self._asked(X, missing_columns)
        return fitted.log_joint(fitted.rows(X, resident=True))

    def decision_function(self, X: object, *, missing_columns: str = "error") -> Array:
        """Return the log posterior odds of the second class (n,) for two classes, else log posteriors (n, k).

        The sigmoid (more classes: the softmax) of these is the posterior.
        """
        fitted, X = self._asked(X, missing_columns)
        return decide.log_odds(fitted, X)

    def score_samples(self, X: object, *, missing_columns: str = "error") -> Array:
        """Return log p(x) = log Σ_k π_k p(x | k), (n,) in nats, of the observed cells of each row."""
        fitted, X = self._asked(X, missing_columns)
        asked = fitted.joint_value
        return asked.log_density(asked.rows(X, resident=True))

    def adapt_priors(self, X: object, *, missing_columns: str = "error") -> Array:
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
        fitted, X = self._asked(X, missing_columns)
        return decide.adapt_priors(fitted, fetch(decide.log_posterior(fitted, X, "uniform")))

    def predict_set(
        self,
        X: object,
        alpha: float = 0.1,
        *,
        by_class: bool = False,
        allow_empty: bool = True,
        missing_columns: str = "error",
    ) -> Flags:
        """Return for each row the classes it may well be of, (n, k): the true one among them for 1 − α of new rows.

        A class is in the set where −log p(class | x) is at most the (1 − α)-quantile of these numbers for the training
        rows and their own classes, each by the exact leave-one-out posterior; by models of folds for mixtures, and
        where refits without each row would take more than some seconds (cells missing in many ways). That needs no rows
        set aside, and what the model gets wrong makes sets larger, not wrong. With fewer than 1 / α − 1 rows every
        class is in every set.

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
        fitted, X = self._asked(X, missing_columns)
        return sets.predict_set(fitted, fitted.rows(X), alpha, by_class, allow_empty)

    def leave_one_out(self, X: object, y: object, sample_weight: object = None, groups: object = None) -> Array:
        """Return the exact leave-one-out log posteriors log p(class | x), (n, k) in nats, without refits.

        Row i is judged by the model that all rows but row i would give: statistics lose a row as they gained it. How
        far this holds of members and of trees is said in the notes of `GenerativeClassifier` and `GenerativeForest`.

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
        self,
        X: object,
        *,
        orders: int | None = None,
        return_error: bool = False,
        as_frame: bool | str = False,
        words: bool = False,
        missing_columns: str = "error",
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
        adds up all the same, as every single order does. `GenerativeClassifier` adds up its members, see its notes.

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
        words : bool
            Return instead what the words of columns of texts add, a list with a dict {column: {word: array (k,)}} for
            each row, the words that tell classes apart most first; see docs/texts.md. SettingError with `as_frame`,
            `return_error` or `orders`.

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
        fitted, X = self._asked(X, missing_columns)
        if words:
            return explain.words(fitted, X, alone=not (as_frame or return_error) and orders is None)
        found = explain.explain(fitted, X, orders, return_error)
        if not as_frame:
            return found
        parts = found if isinstance(found, tuple) else (found,)
        made = tuple(frames.by_column_and_class(fitted, X, part, as_frame) for part in parts)
        return made if return_error else made[0]

    def outlier_pvalues(
        self, X: object, y: object = None, *, by_class: bool = False, missing_columns: str = "error"
    ) -> Array:
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
        classes the largest of the p-values within them, which is exact where they lie apart and never too small.

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
            judged by leave-one-out log densities (see `leave_one_out` for the models that have none); where all rows
            are kept, one that is not among them, such as one of weight 0, ranks as a new row of its class.

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
        fitted, X = self._asked(X, missing_columns)
        return outliers.outlier_pvalues(fitted, X, y, by_class)

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
        shift: Mapping[Name, float] | None = None,
        missing_columns: str = "error",
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
            Multiple imputation: that many tables, each with cells drawn instead of averaged: parameters from their
            posterior, a class from p(k | x_o), and then all missing cells of the row from p(x_m | x_o, k) together. One
            table is drawn with the parameters as they were fitted.
        random_state : None, int or RandomState
            Seed of the draws.
        as_recorded : bool, default True
            Fill in numbers in the steps and within the range of their column, as `sample` does; False leaves them as
            the density has them, such as 3.7 children.
        shift : mapping of column name to number, optional
            What is added to every filled cell of a column of numbers, in its unit: how much higher cells that are
            missing are assumed to be than those of rows alike (δ-adjustment).
        missing_columns : {"error", "missing"}
            As for `predict`; a column that was not there comes back filled, behind the others.

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
        SettingError
            A `shift` of what is no column of numbers, or by no finite number.

        Notes
        -----
        Little & Rubin, Statistical Analysis with Missing Data (3rd ed.), section 4.3 and chapter 10. The parameters of
        each table are drawn given the observed cells that were learned: Gaussians by data augmentation, without a prior
        under Jeffreys'; counts and categories from their Gamma and Dirichlet posteriors; the leaves of a forest by a
        Bayesian bootstrap of the rows kept. Mixtures, Laplace and Student t columns, shrunk covariances and classes of
        no more rows than columns have no such draws: theirs are the fitted parameters.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X, y = [[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [7.0, 2.9], [8.0, 2.1], [9.0, 1.0]], ["up"] * 3 + ["down"] * 3
        >>> model = GaussianDiscriminant().fit(X, y)
        >>> model.impute([[1.5, float("nan")], [8.5, float("nan")]]).round(3).tolist()
        [[1.5, 1.533], [8.5, 1.525]]
        """
        fitted, X = self._asked(X, missing_columns)
        return impute.impute(fitted, X, y, draws, random_state, as_recorded, shift)

    def sample(
        self,
        n: int,
        *,
        label: object = None,
        given: Mapping[Name, object] | None = None,
        random_state: object = None,
        as_recorded: bool = True,
        missing: bool = False,
    ) -> tuple[Any, Any]:
        """Return `n` new rows drawn from the joint density, and their labels (n,).

        Parameters
        ----------
        n : int, at least 1
        label : a class label, optional
            Draw rows of this class; otherwise classes come by their prior, or by p(k | given).
        given : dict {column: value, set or (low, high)}, optional
            A value is held fixed; of a set one value is drawn; a number lies within [low, high], None for an open end.
            The class is drawn from its posterior given all of these, p(k | given) ∝ π_k P(given | k), the other cells
            given these and the class. See the notes for what is exact.
        random_state : None, int or RandomState
            Seed of the draws, as in scikit-learn.
        as_recorded : bool, default True
            Draw numbers in the steps of the rows kept (whole numbers, tenths, multiples of 25) and within the range
            that they keep to: one side of zero, shares and percentages, ends where 5 % of them pile up, and the least
            or largest learned where the density has far more beyond than held-out rows would. False leaves them as the
            density has them, as models that keep no rows do.
        missing : bool, default False
            Leave cells empty as often, and together, as the rows kept of the class do; given cells never are.

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
            An unknown label, an unknown column, a value that the column cannot have, sets of more than 1,000 choices in
            all, or ranges in which the model has no rows, or so few that they are not found by trying.

        Notes
        -----
        Values, sets and the ranges of a forest are drawn exactly; so are ranges of Gaussian and Student t columns, as
        truncated ones, each column where they are independent in a class, one of them where they correlate. Ranges of
        other columns are tried: rows are drawn until they lie there, up to 100 for each that is asked for and 100,000
        at least, which a warning tells with its acceptance rate. A set of numbers counts by their densities.

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
        >>> rows, labels = model.sample(100, given={1: (6.5, None)}, random_state=0)
        >>> bool((rows[:, 1] >= 6.5).all()), set(labels.tolist())
        (True, {'cold'})
        """
        return sample.draw_rows(self._fitted, n, label, given, random_state, as_recorded=as_recorded, missing=missing)

    # --- how good it is ----------------------------------------------------------------------------------------------

    def quality(self) -> Quality:
        """Return how good the model is on rows it had not seen: the one value that every command and page shows.

        The rows that the model keeps (`keep_rows`) are judged by what it says of each without that row: by exact
        leave-one-out where there is a closed form, with the members' weights of a `GenerativeClassifier` found without
        the row as well, and a `GenerativeForest` asked for the trees that were not grown on it. Mixtures of several
        components, models that rows without a label have joined, and covariances that would need thousands of refits
        are judged by cross-validation, in the folds that `outlier_pvalues` has, of five to ten models of other rows.

        Returns
        -------
        Quality
            `accuracy`, `log_loss` in nats, both with a standard error; `commonest_accuracy`, that of always naming the
            commonest class, and `baseline`, the log-loss of the classes' shares; by how much the model is better than
            these (`lead`, `gain`), with the standard errors of the paired differences; `recall` by class,
            `calibration_error`, `confusion`, `rows`, and `judged_by`. `str` of it is one sentence, `to_dict()` plain
            values. Where rows kept are a sample, each stands for its share of its class.

        Raises
        ------
        DataError
            The model keeps no rows, was released, or knows a single class; it says which.

        Notes
        -----
        Leave-one-out errors of rows are nearly independent, so that the standard error of a mean of them is close to
        that of independent rows; it does not count what another sample would have made of the model itself (Bengio &
        Grandvalet 2004, No unbiased estimator of the variance of k-fold cross-validation).

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from sklearn.datasets import load_iris
        >>> quality = GaussianDiscriminant(shared=True).fit(*load_iris(return_X_y=True)).quality()
        >>> quality.right, quality.rows, round(quality.log_loss, 4), quality.judged_by
        (147, 150, 0.0545, 'leave-one-out')
        >>> print(quality.how)
        By leave-one-out over 150 rows: each is judged by the model of all others.
        """
        return quality(self._fitted)

    # --- what to measure next -----------------------------------------------------------------------------------------

    def information_gain(
        self, X: object, *, costs: object = None, as_frame: bool | str = False, missing_columns: str = "error"
    ) -> Any:
        """Return what knowing each missing cell is expected to tell of the class, (n, d) in nats.

        A row's largest entry is the column to ask next. It is the entropy of the class less what is expected of it once
        the cell is known, their mutual information given the known cells x_o of the row:

            I(y; x_j | x_o) = H(y | x_o) − Σ_v p(x_j = v | x_o) H(y | x_o, x_j = v).

        So no entry is negative or above H(y | x_o); known cells have exactly 0, as have columns that never vary.
        Divided by ln 2 it counts bits.

        Levels and counts are added up one by one, which is exact. Numbers are integrated by a quadrature whose nodes
        follow every class (or component) of the row: within 1e-4 nats of the integral for up to ten classes, in the
        tests. Of densities that can only be drawn from, 128 draws of each class stand for all values, always the same
        ones: a relative standard error of about 1 / √(128 k).

        `GenerativeClassifier` has its posteriors from a pool of members and p(x) from a joint model beside it. There a
        value v has the weight w_v = Σ_y p(y | x_o) p(v | y, x_o), p(y | ·) the pool's and the other the joint model's:
        seven Gauss-Hermite nodes of a number, moved to such as the table could hold, and up to 64 levels. What each
        value says is the pool's p(y | x_o, v), and the gain the mutual information under
        p(y | x_o) · w_v p(y | x_o, v) / Σ_u w_u p(y | x_o, u), which keeps the class before the cell is known at the
        pool's p(y | x_o). Where pool and joint model agree, that is the formula above.

        Parameters
        ----------
        X : table (n, d)
        costs : mapping from column names to positive numbers, or array-like (d,), optional
            What measuring each column costs; gains are divided by it. Columns that are not named cost 1.
        as_frame : bool, "pandas", "polars" or "pyarrow"
            Return a data frame with the columns of the model. True: of the library that X came in, else pandas, or
            another library that is there.

        Returns
        -------
        array (n, d)
            The columns are those of the model, in the order of `fit`.

        Raises
        ------
        SettingError
            A cost is not positive, or names no column.
        DataError
            A missing cell belongs to counts that share out a total (`"multinomial"`), which has no law by itself.

        Notes
        -----
        Lindley (1956), On a measure of the information provided by an experiment, doi:10.1214/aoms/1177728069; Cover &
        Thomas (2006), Elements of Information Theory, section 2.5.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> X = [["wet", "noon"], ["wet", "dusk"], ["dry", "noon"], ["dry", "dusk"]]
        >>> model = NaiveBayes().fit(X, ["rain", "rain", "sun", "sun"])
        >>> model.information_gain([[None, None], ["wet", None]]).round(3).tolist()
        [[0.131, 0.0], [0.0, 0.0]]
        """
        frames.check_frame(as_frame)
        fitted, X = self._asked(X, missing_columns)
        found = information_gain.information_gain(fitted, X, costs)
        return frames.by_column(fitted, X, found, as_frame) if as_frame else found

    # --- which columns suffice ----------------------------------------------------------------------------------------

    def importance(self) -> Importance:
        """Return what leaving each column unknown costs, in nats of leave-one-out log-loss, as a table.

        For a column j, over the rows i that the model keeps, w_i the weight each stands for:

        mean_j = Σ_i w_i [log p₋ᵢ(y_i | x_i) − log p₋ᵢ(y_i | x_i without x_ij)] / Σ_i w_i

        p₋ᵢ is the model of all rows but i. A joint density without a column is its marginal, so that nothing is fitted
        again, and no table is needed: full covariances go by the statistics of the other columns, columns that are
        independent within a class leave out their term. Above 0 the column is missed; below 0 the model does better
        without it, as where it has too few rows for all its columns. Two columns that say the same are worth next to
        nothing each, as the other stays. A cell that is missing in a row costs nothing there.

        Exact for `GaussianDiscriminant` and `NaiveBayes`. `MixtureDiscriminant` and `GenerativeForest` are judged by
        models of folds of their rows (up to 500), and so are joint covariances that would need very many refits, for
        missing cells or for more columns than rows. Members of a `GenerativeClassifier` are judged as when they were
        chosen, at the settings they have, on up to 2,000 rows; their weights are found again without each column.

        Returns
        -------
        Importance
            `columns` (d,), `mean` (d,) and its `standard_error` (d,) in nats, `by_class` (k, d), `classes` (k,), the
            `loss` with all columns, the number of `rows` judged, and `judged_by`. It prints as a ranked table; `order`
            (d,) ranks columns, and `to_dict()` and `to_frame()` give the table. The standard error is that of the
            paired differences, a row learned c times counting for c rows.

        Raises
        ------
        DataError
            Where the model keeps no rows, was released, or has learned a single row.
        SettingError
            For columns of the family "multinomial", of which none can be unknown while the others are not.

        Notes
        -----
        Covert, Lundberg & Lee (2020), Understanding global feature contributions with additive importance measures,
        section 3: the predictive power that a column adds to all others.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(GaussianDiscriminant(shared=True).fit(X, y).importance())
        What each column is worth, in nats of a leave-one-out loss of 0.0545 (150 rows)
        column                  mean     error
        petal length (cm)    +0.0602    0.0435
        petal width (cm)     +0.0435    0.0244
        sepal width (cm)     +0.0113    0.0138
        sepal length (cm)    +0.0042    0.0200
        """
        return importance.importance(self._fitted)

    @property
    def feature_importances_(self) -> Array:
        """What `importance` says that each column is worth (d,), in nats, 0 where the model does better without it.

        It is found when first asked for. scikit-learn's RFE and SelectFromModel choose columns by it, but by `coef_`
        where a model has that. AttributeError where `importance` has no answer.
        """
        try:
            return np.maximum(importance.importance(self._fitted).mean, 0.0)
        except SufficeError as error:
            raise AttributeError(f"feature_importances_: {error}") from error

    def __dir__(self) -> list[str]:
        """Return the names there are, but the one that takes long: scikit-learn's display asks each for its value."""
        return [name for name in object.__dir__(self) if name != "feature_importances_" and hasattr(self, name)]

    def smallest_columns(self, within: float = 0.01) -> list[Name]:
        """Return the names of few columns that lose at most `within` nats more than all, in the order chosen.

        The loss is that of `importance`, with all other columns unknown. Columns are added one by one, each the one
        that then loses least; one is taken out where fewer do better than any so few did before, and at the end as
        long as the loss stays within. So none of those returned could be left out, but other sets as small may serve
        as well. Where there are many columns, a step looks at those 12 that gained most before, and from 8 columns on
        adds an eighth as many at once, without taking out any before the end. Of many rows, 1,000 are searched by, and
        up to 2,000 then say whether the columns suffice. Without a column needed, the list is empty: the shares of the
        classes lose no more, or not more by a standard error.

        Parameters
        ----------
        within : float
            Nats of mean leave-one-out log-loss, from 0 on.

        Raises
        ------
        DataError, SettingError
            As for `importance`, and where `within` is no such number.

        Notes
        -----
        The loss of the columns chosen is the least of many, and so a little too small: how good they are, rows that
        had no part in the choice can tell. Pudil, Novovičová & Kittler (1994), Floating search methods in feature
        selection, doi:10.1016/0167-8655(94)90127-9.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> GaussianDiscriminant(shared=True).fit(X, y).smallest_columns(within=0.04)
        ['petal length (cm)', 'petal width (cm)']
        """
        return importance.smallest_columns(self._fitted, within)

    # --- which labels are wrong ---------------------------------------------------------------------------------------

    def suspect_labels(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        groups: object = None,
        *,
        fdr: float | None = None,
        missing_columns: str = "error",
    ) -> Array:
        """Return how probable it is that the given label of each learned row is wrong, (n,).

        The label of a row is taken to have passed a channel Q[j, l] = p(given j | true l), the same for all rows of a
        class. With p(l | x) the posterior of a model that has not seen the row,

            p(wrong | x, given j) = 1 − Q[j, j] p(j | x) / Σ_l Q[j, l] p(l | x).

        Q is estimated by EM, together with a temperature of the leave-one-out posteriors p̂ and a bias of each class,
        p(l | x) ∝ exp(t log p̂(l | x) + b_l), as a model that has learned wrong labels doubts too much. So the sum of
        the answers estimates how many labels are wrong. Rows between classes that overlap are doubtful by p(l | x)
        alone and no suspects; classes that are nowhere certain leave open what is overlap and what is noise.

        Parameters
        ----------
        X : table (n, d)
            Rows this model has learned, all of them or some. The channel is estimated from these, or, if they are
            fewer, from the rows the model keeps.
        y : array-like (n,)
            Their labels. One that is missing (None, NaN) is not wrong: 0.
        sample_weight : array-like (n,), optional
            Their weights as given to `fit`, with the conventions of `leave_one_out`: all copies of a row leave
            together, and a row of weight 0 was not learned: it is judged by the model as it is.
        groups : array-like (n,), optional
            Which rows leave together, as given to `fit`; without them rows that are kept leave with the groups they
            were learned with.
        fdr : float between 0 and 1, optional
            Flag rows at this false discovery rate: the largest set of the likeliest whose mean of 1 − p(wrong) is at
            most `fdr`. The answers of all other rows become 0, so that `p > 0` are the rows flagged.

        Returns
        -------
        array (n,)
            Probabilities; 0 where no other row is of the class, and for a model of one class. Class priors are those
            of the rows learned, whatever `priors` says.

        Raises
        ------
        DataError, SettingError
            As for `leave_one_out`; `fdr` is not between 0 and 1.

        Notes
        -----
        Rows are left out exactly where `leave_one_out` does so without refits that take longer than some seconds; else
        rows that are kept are judged by models of folds. A forest judges a row by the trees whose bag it was not
        in, the automatic classifier also by boosted trees of other folds. Northcutt, Jiang & Chuang (2021),
        doi:10.1613/jair.1.12125, count confident rows instead, which takes rows between classes for wrong ones;
        Dawid & Skene (1979), doi:10.2307/2346806, is the EM.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X = [[0.1 * i] for i in range(20)] + [[5.0 + 0.1 * i] for i in range(20)]
        >>> y = ["low"] * 20 + ["high"] * 20
        >>> y[3] = "high"  # a slip of the pen
        >>> p = GaussianDiscriminant(shared=True).fit(X, y).suspect_labels(X, y)
        >>> int(p.argmax()), bool(p[3] > 0.9), round(float(p.sum()))
        (3, True, 1)
        """
        fitted, X = self._asked(X, missing_columns)
        return suspect_labels.suspect_labels(fitted, X, y, sample_weight, fdr, groups)

    # --- which cells are wrong ----------------------------------------------------------------------------------------

    def suspect_cells(
        self, X: object, y: object = None, groups: object = None, *, fdr: float = 0.1, missing_columns: str = "error"
    ) -> SuspectCells:
        """Return the cells of a table that are probably wrong, given the other cells of their rows and the class.

        Each row is judged by a model of this kind, with these settings, of the rows of four other fifths of the table,
        learned without the numbers that a first pass suspects, as normal scores. With x the known cells of a row,
        and x₋ⱼ those without cell j, the log odds that it is wrong are

            log p(error xⱼ) − log p(x | y) + log p(x₋ⱼ | y) + log(.02 / .98)   in nats,

        where an error is half a value of another row and half any value. The most suspect cell of a row is left out,
        and the others are judged again without it, as long as one has odds above 1: two that contradict each other are
        not both suspects. The p-value of a cell is the share of right cells of its column at least as suspect, by an
        exponential tail of the root of the log odds, its scale from the body of the column; and no less than that of a
        normal number as suspect of which the other cells say nothing.

        Parameters
        ----------
        X : table (n, d)
            At least 20 rows, best those that the model has learned. New rows are judged beside these.
        y : array-like (n,), optional
            Their labels; one may be missing (None, NaN). Without them all rows are of one class.
        groups : array-like (n,), optional
            Which rows belong together: those of a group judge none of it.
        fdr : float between 0 and 1
            The share of the cells named that may be right after all, at most, by Benjamini & Yekutieli over all cells.

        Returns
        -------
        SuspectCells
            `cells`, the worst first, each with `row`, `column`, `value`, `expected`, `slip` ("decimal point", "sign",
            "unit", "digits", "swapped with …", or ""), `meant`, `p_value`, `adjusted`, `because`; `p_value` and
            `adjusted` of all cells (n, d), NaN of those that are missing or not judged, which are texts, numbers of
            two values, and columns that share out a total; `to_dict()`, `to_frame()`.

        Raises
        ------
        DataError, SettingError
            Fewer than 20 rows or no column to judge; labels the model does not know; a model that leaves no rows out
            (released, of several components, or that rows without a label have joined); `fdr` not between 0 and 1.

        Notes
        -----
        A table has odd cells of its own, which are no mistakes; they are named as well. Benjamini & Yekutieli (2001),
        doi:10.1214/aos/1013699998; the rest is Bayes' rule.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> X[60, 0] = 52.0  # was 5.2... a point was lost
        >>> worst = GaussianDiscriminant().fit(X, y).suspect_cells(X, y).cells[0]
        >>> worst.row, worst.column, worst.slip, worst.meant
        (60, 0, 'decimal point', 5.2)
        """
        fitted, X = self._asked(X, missing_columns)
        return suspect_cells(fitted, X, y, groups, fdr)

    # --- what has moved -----------------------------------------------------------------------------------------------

    def drift(
        self, X: object, y: object = None, *, sample_weight: object = None, missing_columns: str = "error"
    ) -> Drift:
        """Return what has moved between the rows this model has learned and those of a table, or of another model.

        The answer prints as a table, and has `to_dict()`, `to_frame()` and `moved(level)`. By column it holds an
        `effect` (in standard deviations of the rows learned, or for categories the total variation), a `p_value` of no
        change, a `within_p_value`, which is small only where something has changed that other shares of the classes
        cannot explain, and one adjusted for the number of columns by Holm's method (`adjusted_p_value`), of both where
        there are labels.
        `class_shares` compares these, and `joint_p_value` tells whether anything has changed at all.

        Parameters
        ----------
        X : table (n, d), or a fitted model
            New rows, which may miss cells and hold categories never seen; or another model of the same columns, of
            which everything is compared that both hold: rows that are kept, and statistics where they keep none.
        y : labels (n,), optional
            Classes of the rows; some may be missing, or of classes the model does not know. With labels, class shares
            are counted and columns compared class by class (`by_class_p_value`). Without, the shares are those of
            `adapt_priors`, and the tests ask what is left when other shares have explained what they can.
        sample_weight : array (n,), optional
            Copies of each new row: weight 2 is the row twice, so that p-values are those of so many rows. The same
            holds for weights that were learned.

        Raises
        ------
        SchemaError
            The columns are not those of the model.
        DataError
            The table is empty, or a column is known by statistics of a family of one's own alone.
        SettingError
            Labels or weights beside another model.

        Notes
        -----
        Numbers: with t = 2u − 1, u the midrank of a cell among those of both sides, the mean scores t (place) and
        (3t² − 1) / 2 (spread) of the new rows are compared with those of the rows kept, by the quadratic form in their
        covariance over all ways to deal the rows out, and its beta law: no tails, ties or units of a column matter, and
        so neither does what the model believes. Categories, and missing cells: Pearson's chi-square of the exact
        counts of all rows learned. Tables and samples too small for these laws are dealt out 2,000 times. Where no rows
        are kept (`keep_rows=0`, released models), means are compared by Welch's test, which sees no change of spread.
        Two released models of classes of under some 40 rows differ by what their releases have rounded and floored:
        `joint_p_value` was at most .05 for 18 % of unchanged pairs of 300 and 150 rows with a class of a tenth, for
        3 % of pairs of 600 and 400. Groups are not heeded: rows of one subject count as so many rows.

        Within classes: what all classes agree on (Mantel & Haenszel 1959) and each class alone, joined by Cauchy
        combination (Liu & Xie 2020, doi:10.1080/01621459.2018.1554485). Without labels, scores are freed of the part
        that follows the model's posteriors, so that their mean is the same in every class.

        Joint: a Cauchy combination of the columns, of class shares by labels or of what they leave over, of all pairs
        of columns (the covariance of their ranks, and of whether cells are of a level), and of the rank of log p(x), or
        log p(x, y), among rows held out, each judged by a model of the others, as `outlier_pvalues` does; rows that
        were learned, and kept, are never judged by a model that has learned them.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X = [[i % 7, (i * i) % 11] for i in range(80)]
        >>> model = GaussianDiscriminant().fit(X, [i % 2 for i in range(80)])
        >>> answer = model.drift([[i % 7, (i * i) % 11 + 5] for i in range(40)])
        >>> answer.moved(), round(float(answer.effect[1]), 1)
        ([1], 1.8)
        """
        if isinstance(X, State):
            return drift.drift(self._fitted, X._fitted, y, sample_weight)
        fitted, X = self._asked(X, missing_columns)
        return drift.drift(fitted, X, y, sample_weight)

    # --- how good it is at other rows ---------------------------------------------------------------------------------

    def assess(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        groups: object = None,
        *,
        priors: object = None,
        costs: object = None,
        missing_columns: str = "error",
    ) -> Assessment:
        """Return how good this model is at rows of known class that it has not learned.

        The answer prints as a report and has `to_dict()`, `to_frame("classes")` (or "calibration", "thresholds",
        "confusion") and `thresholds(positive)`. With w the weights of the rows, W their sum, p_i the posteriors of row
        i and y_i its class:

        - `accuracy`: the share of rows answered rightly, `accuracy_interval` Wilson's 95 % interval of it;
          `balanced_accuracy`: the mean of `recall`; `expected_accuracy` is what the posteriors themselves expect.
        - `log_loss`: −Σ w_i log p_i(y_i) / W in nats, p at least 1e-15, and its standard error `log_loss_error`;
          `brier_score`: Σ w_i Σ_c (p_i(c) − [y_i = c])² / W, half of it for two classes, as scikit-learn has it.
        - `calibration_error`: the mean gap between the largest posterior and the share right, in 15 equal bins of the
          posterior; `calibration` has bins with at least 20 rows each.
        - By class `recall`, `precision`, `f1`, and, one class against all others, `roc_auc`, `pr_auc` (the average
          precision) and `lift`: how many times as many of a class are among the tenth of rows where it is most
          probable as among all. `mean_roc_auc` and `mean_pr_auc` are means of classes.
        - What needs no model: `commonest_accuracy`, always naming the commonest of these classes, and
          `shares_log_loss`, giving every row the model's class priors.
        - With `costs`: `realised_cost` and `expected_cost` of each row, and `constant_cost` of the best single answer.

        Rows without a label (`unlabelled`) and of classes that the model does not know (`unknown`) are counted, not
        judged. `learned` is the share of rows that look as if the model had learned them: then all this is too good,
        and `leave_one_out` is what to ask. It is None where chance explains what is recognised.

        Parameters
        ----------
        X, y : rows (n, d) and their labels (n,)
        sample_weight : array-like (n,), optional
            k means k copies of a row, so that intervals are those of so many rows.
        groups : array-like (n,), optional
            Which rows belong together, such as the visits of a patient: `log_loss_error` and `accuracy_interval` are
            then those of groups drawn whole, and intervals of `calibration` are as much wider as that of the accuracy.
        priors, costs
            As for `predict`. With costs the answer judged is that of least expected cost.

        Raises
        ------
        DataError
            No row has a label that the model knows.
        SchemaError, SettingError
            As for `predict`.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> found = GaussianDiscriminant(shared=True).fit(X[::2], y[::2]).assess(X[1::2], y[1::2])
        >>> round(found.accuracy, 3), found.recall.round(2).tolist(), found.learned
        (0.96, [1.0, 0.96, 0.92], None)
        """
        fitted, X = self._asked(X, missing_columns)
        return assess.assess(fitted, X, y, sample_weight, groups, priors, costs)

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the share of rows answered rightly, by their weights.

        Parameters
        ----------
        X : any table (n, d)
        y : array-like (n,)
            Labels in any form that `fit` takes; one of a class the model does not know is answered wrongly.
        sample_weight : array-like (n,), optional

        Raises
        ------
        DataError
            A label is missing, labels or weights are not as many as rows, or no row has a weight.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> GaussianDiscriminant(shared=True).fit(X, y).score(X, y)
        0.98
        """
        answers = fetch(self.predict(X))
        levels, codes = read_labels(y, len(answers), self._fitted.who)
        right = label_array(levels, objects=True)[codes] == answers
        return float(np.average(right, weights=read_weights(sample_weight, len(answers))))

    # --- would more rows help ----------------------------------------------------------------------------------------

    def learning_curve(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        groups: object = None,
        *,
        draws: int = DRAWS,
        random_state: int = 0,
    ) -> LearningCurve:
        """Return how log-loss on unseen rows falls with the rows learned from, and what more rows would bring.

        Models with the settings of this one, which stays as it is and need not be fitted, learn from an eighth, a
        quarter, half and all of four fifths of the rows, each part within the next and by class; all are judged on the
        fifth that is left, and each fifth is left in turn, `draws` times. Through the mean losses goes
        loss(m) = a + b m^−c, with a, b ≥ 0 and c from 0.25 to 1.5. `str` of what is returned says in words whether more
        rows would help; `rows`, `loss` and `error` are the curve, in nats with standard errors; `project(rows)` and
        `gain(times=2)` go beyond it, with intervals of 90 % of curves drawn under Nadeau & Bengio's (2003) covariance.

        Parameters
        ----------
        X, y : rows (n, d) and their labels (n,); rows without one are left out
        sample_weight : array-like (n,), optional
        groups : array-like (n,), optional
            Which rows belong together: whole groups are in one fifth. Without them copies of a row are, where there are
            more equal rows than chance explains.
        draws : int
            How often the rows are dealt into fifths; 20 models are fitted in each.
        random_state : int
            Fixes which row goes where.

        Returns
        -------
        LearningCurve

        Raises
        ------
        DataError
            Fewer than 80 rows, or a class of fewer than 5.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from sklearn.datasets import load_wine
        >>> curve = GaussianDiscriminant(shared=True).learning_curve(*load_wine(return_X_y=True))
        >>> bool(curve.loss[0] > curve.loss[-1])
        True
        >>> round(float(curve.rows[-1]))
        142
        """
        self._validate_settings()
        table = self._table(X)
        return curve_of(self._begin_of(table), table, y, sample_weight, draws, random_state, groups)

    # --- what comes next ---------------------------------------------------------------------------------------------

    def validate_forward(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        groups: object = None,
        *,
        time: object,
        periods: int | None = None,
        windows: Sequence[int] | None = None,
        level: float = 0.9,
        learned: bool = False,
    ) -> ForwardValidation:
        """Return how good models are at the period that follows those they have learned, period by period.

        Models with the settings of this one, which stays as it is and need not be fitted, learn from the periods
        1 … t − 1 and are judged by period t, for every t. The statistics of each period are made once and merged, so
        that each model equals a fit to the rows before. Beside the loss of the next period stand what the model said of
        itself by rows left out, how often its answers are right and how often it said so, and how many of its sets of
        classes hold the true one; and what models of the last m periods alone lose, which says how soon to forget.

        Parameters
        ----------
        X, y : rows (n, d) and their labels (n,); rows without one are left out
        sample_weight : array-like (n,), optional
        groups : array-like (n,), optional
            Which rows belong together. Rows of a group that was learned from before are not judged: figures are those
            of new groups, as what the model then says of itself is. Standard errors are of groups drawn whole.
        time : array-like (n,)
            When each row was seen: numbers, dates, or text that sorts, such as 2026-04 or 2026-04-03. Rows of one time
            are in one period.
        periods : int, optional
            Into how many periods of about as many rows each the times are cut. If not given: each different time is a
            period of its own, or 10 where there are more than 12.
        windows : sequence of int, optional
            How many of the last periods models learn from, beside all: 1, 2, 4, 8 … if not given; () for none.
        level : float
            The probability with which sets of classes are to hold the true one.
        learned : bool
            Whether what this model has learned is the period before all others: then every period is judged, by this
            model and what it becomes by learning the periods before.

        Returns
        -------
        ForwardValidation

        Raises
        ------
        DataError
            There is one period only, a time is missing, times are of several kinds, or no row can be judged.
        SettingError
            For settings that cannot be.

        Examples
        --------
        A boundary turns from year to year: what the years before say is true no longer.

        >>> import numpy as np
        >>> from suffice import GaussianDiscriminant
        >>> rng = np.random.default_rng(0)
        >>> year, X = np.repeat(np.arange(2020, 2026), 200), rng.normal(size=(1200, 2))
        >>> angle = 0.5 * (year - 2020)
        >>> y = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.3 * rng.normal(size=1200) > 0
        >>> found = GaussianDiscriminant().validate_forward(X, y, time=year)
        >>> found.best_window, bool(found.mean("log_loss") > found.mean("said"))
        (1, True)
        """
        self._validate_settings()
        table = self._table(X)
        fitted = self._settled(self._current(), table.schema) if learned else self._begin_of(table)
        given = fitted, table, y, time, sample_weight, groups
        return validate_forward(*given, periods=periods, windows=windows, level=level, learned=learned)

    # --- its columns --------------------------------------------------------------------------------------------------

    @property
    def columns_(self) -> list[ColumnFacts]:
        """What is known of each column (d,): kind, whole numbers, steps and bounds, levels and their order."""
        return column_facts(self._fitted)

    def unseen_levels(self, X: object, *, missing_columns: str = "error") -> list[UnseenLevel]:
        """Return the categories of a table that the model has never seen, by column, the commonest first.

        Such a category is a level of its own, to which smoothing gives a little of every class. Questions warn
        (`UnseenLevelWarning`) of one that differs from a known one by case, spaces or type (1 and "1") only; the
        command line names all.

        Parameters
        ----------
        X : table (n, d)
            Rows as for `predict`.

        Returns
        -------
        list of UnseenLevel
            Named tuples (column, level, rows, known, like): how many rows of X have it, the levels that the model knows
            in the column, and those of them that differ from it by case, spaces or type only.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> model = NaiveBayes().fit([["Yes"], ["No"], ["Yes"], ["No"]], ["left", "stayed", "left", "stayed"])
        >>> model.unseen_levels([["yes"], ["No"], ["yes"]])
        [UnseenLevel(column=0, level='yes', rows=2, known=('No', 'Yes'), like=('Yes',))]
        """
        fitted, X = self._asked(X, missing_columns)
        return fitted.unseen(fitted.encoded(X)[0])

    # --- in a notebook ------------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Return what the model has learned, in a few lines: classes, how good it is, columns, members and notes.

        Printed it is text, and a notebook shows it as tables. Quality is that of `quality`, and what columns are worth
        that of `importance`, where that needs no models of folds; both are computed here if they were not yet. A
        notebook that shows the model itself has the same below scikit-learn's diagram, as far as it is known at once.

        Returns
        -------
        Summary
            `classes`, `quality`, `importance`, `members`, `notes`, and `details`, the number of notes that ask for
            nothing.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(GaussianDiscriminant(shared=True).fit(X, y).summary())
        GaussianDiscriminant: learned from 150 rows, 4 columns, 3 classes
        <BLANKLINE>
        Judged on rows it had not seen: 98.0 % right (147 of 150, ± 1.3 %), log-loss
        0.054 nats; always naming the commonest class, 0, would be right for 33.3 %.
        <BLANKLINE>
        class  share
        0       33 %
        1       33 %
        2       33 %
        <BLANKLINE>
        column is worth       nats  ± error
        petal length (cm)  +0.0602   0.0435
        petal width (cm)   +0.0435   0.0244
        sepal width (cm)   +0.0113   0.0138
        sepal length (cm)  +0.0042   0.0200
        """
        return summarize(self._fitted, type(self).__name__)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """HTML for notebooks: scikit-learn's diagram, and below it what was learned; AttributeError as scikit-learn's.

        A pipeline draws its own diagram, in which this is not asked.
        """
        diagram: Callable[[], str] = super()._repr_html_
        return lambda: diagram() + self._learned_html()

    def _repr_mimebundle_(self, **told: object) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**told)
        if "text/html" in bundle:
            bundle["text/html"] += self._learned_html()
        return bundle

    def _learned_html(self) -> str:
        """Return what was learned as HTML; nothing where nothing was, or settings changed since forbid an estimate."""
        if self._learned is None:
            return ""
        try:
            return summarize_at_hand(self._fitted, type(self).__name__)._repr_html_()
        except SufficeError:
            return ""

    # --- elsewhere: a page, a database, a runtime ---------------------------------------------------------------------

    def to_html(
        self,
        path: str | os.PathLike[str],
        X: object = None,
        y: object = None,
        *,
        name: str = "the table",
        interval: float | None = None,
    ) -> None:
        """Write one self-contained page about the model: how good it is, its classes, columns, pictures and repairs.

        The page answers questions: cells typed into its form are scored in the browser, from the model's parameters,
        as `predict_proba`, `impute` and `explain` score them. It is forbidden to load or send anything, is made for
        light and dark, and can be printed. Quality and pictures come from the rows that the statistics keep
        (`keep_rows`), quality by leave-one-out.

        Parameters
        ----------
        path : file to write
        X : table (n, d), optional
            The page also says what the model makes of these rows: answers by class, and the most unusual rows, whose
            cells are then on the page.
        y : labels (n,), optional
            Labels of these rows, which the model has not learned from; they may be missing.
        name : str
            What the table is called on the page.
        interval : float, optional
            With X: a level, such as 0.9. The page then says for how many rows another class may be more probable than
            the answer, by `predict_proba_interval`, and gives the intervals of the most unusual rows.

        Raises
        ------
        SettingError
            If intervals are asked for without X, or of a model that has none.
        ImportError
            If Matplotlib or Jinja2 is not installed; it says what to install.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianDiscriminant
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> page = Path(tempfile.mkdtemp()) / "iris.html"
        >>> GaussianDiscriminant().fit(X, y).to_html(page)
        >>> "<h1>target</h1>" in page.read_text(encoding="utf-8")
        True
        """
        write_page(self._still(), path, X, y, name=name, interval=interval)

    def to_sql(
        self,
        dialect: str = "duckdb",
        table: str | Sequence[str] = "rows",
        *,
        keep: Sequence[str] = (),
        missing: str = "exact",
        check: object = None,
    ) -> str:
        """Return the model as one SELECT that scores the rows of a table where they are.

        One row out per row of the table: the columns `keep`, the model's columns, `label`, a column `p_CLASS` with the
        posterior of each class in the order of `classes_`, and `log_density` in nats, NULL where the density is zero.
        A name that the table has already becomes `predicted_…`. Missing cells are NULL, NaN and numbers beyond 1e150
        (which Python refuses), and are integrated out exactly as in Python; a category never seen is scored as in
        Python too. Where a database reads text as another type than was learned, the query takes the one level that can
        be meant, or fails and names the column. `priors` are those that the model was fitted with. An automatic
        classifier whose joint density is a forest's has no `log_density`, as that has no short form; a
        `GenerativeForest` is refused.

        Parameters
        ----------
        dialect : str
            Any that sqlglot writes. The tests run DuckDB, SQLite (3.35 or newer) and PostgreSQL; others are written by
            the same rules and not run.
        table : str, or (schema, name), or (catalog, schema, name)
            The table to read. Columns of a model fitted without names are read as x0, x1, ….
        keep : list of str
            Further columns of the table to pass on, such as a key.
        missing : {"exact", "null"}
            "exact" scores a row whatever cells it misses. Full covariances then take d³ / 6 expressions per covariance,
            in d stages; up to 60 000 numbers in all (30 columns and 10 classes, say) are written. "null" takes d² / 2
            and gives NULL to rows that miss a cell of a full covariance.
        check : None, False, True or a table
            Rows that the query is tried on in DuckDB, in whose dialect the same program is then written: posteriors and
            log densities (relative to their size) must agree within 1e-9 and what rounding leaves where columns add up
            to others, else ExportError. None draws 200 rows from the model, many with cells missing, if DuckDB is
            installed; True insists on it; False leaves it out.

        Raises
        ------
        SettingError for an unknown dialect; ExportError for a density of a family that does not come with suffice, a
        query too large, or a failed check; ImportError without sqlglot: `pip install 'suffice[sql]'`.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> model = GaussianDiscriminant().fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"])
        >>> query = model.to_sql("duckdb", table="measured")
        >>> import duckdb
        >>> found = duckdb.sql("CREATE TABLE measured AS SELECT 0.2 AS x0")
        >>> duckdb.sql(f"SELECT label, round(p_low, 6) FROM ({query})").fetchall()
        [('low', 1.0)]
        """
        return exports.write_sql(self._fitted, dialect, table, keep, missing, check)

    def to_onnx(
        self, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64", check: object = None
    ) -> Any:
        """Return the model as an `onnx.ModelProto`, and write it to `path` if given.

        Inputs have the names of the columns, each a tensor (n, 1): numbers and truth values are floats, and so are
        categories that are no text; a missing cell is NaN. Categories of text are strings; a missing cell is "", or
        where that is a level the word that the file's metadata `columns` gives. A model of an array without names has
        one input `X` (n, d). A column that has no name, or that of an output, is `column_3`, by its position.

        Outputs are `label` (n,), text, 64-bit integers, truth values or floats as `classes_`; `probabilities` (n, k),
        the posteriors in the order of `classes_`; and `log_density` (n,), log p(x) of the known cells in nats. Cells
        are integrated out exactly whatever a row misses, and categories never seen are scored as in Python. `priors`
        are those that the model was fitted with. The automatic classifier runs whole: all members and their stack; if
        its joint density is a forest's there is no `log_density`, as that has no short form. A `GenerativeForest` is
        refused.

        Parameters
        ----------
        path : path, optional
            File to write. It appears under its name when it is complete: on any error an old one stays as it was.
        dtype : {"float64", "float32"}
            Floats of inputs, outputs and arithmetic; what is left of a row with missing cells is computed in float64.
        check : None, False, True or a table
            Rows that the file is tried on with onnxruntime: posteriors, and log densities relative to their size, must
            agree within 1e-9 (float32: 1e-4) and what rounding leaves where columns add up to others, else ExportError.
            None draws 200 rows from the model, many with cells missing, if onnxruntime is installed; True insists on
            it; False leaves it out.

        Raises
        ------
        SettingError for another dtype; ExportError for a density of a family that does not come with suffice, for
        labels or levels that ONNX cannot hold, and for a failed check; ImportError without onnx:
        `pip install 'suffice[onnx]'`.

        Notes
        -----
        Opset 21 and `ai.onnx.ml` 4, IR version 10: onnxruntime 1.20 or newer. Memory grows with rows × classes only;
        what is larger is made in chunks. A full covariance of d columns takes about 8 d nodes.

        Examples
        --------
        >>> import onnxruntime
        >>> from suffice import GaussianDiscriminant
        >>> model = GaussianDiscriminant().fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"])
        >>> session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
        >>> label, probabilities, log_density = session.run(None, {"X": [[0.2], [float("nan")]]})
        >>> label.tolist(), probabilities[1].tolist()
        (['low', 'high'], [0.5, 0.5])
        """
        return exports.write_onnx(self._fitted, path, dtype, check)
