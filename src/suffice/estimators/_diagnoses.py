"""Estimator methods that only a joint density can answer: importance, label errors, drift."""

from __future__ import annotations

from typing import Any

from .._arrays import Array
from ..questions import assess, drift, frames, importance, information_gain, suspect_labels
from ..questions.assessment import Assessment
from ..questions.drift_answer import Drift
from ..questions.importance import Importance
from ..questions.quality import Quality, quality
from ..schema import Name
from ._answers import Answers
from ._state import State


class Diagnoses(Answers):
    """Judgements of columns, of labels and of new rows."""

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

    def information_gain(self, X: object, *, costs: object = None, as_frame: bool | str = False) -> Any:
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
        fitted = self._fitted
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
        chosen, at the settings they have, on up to 4000 rows; their weights are found again without each column.

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

    def smallest_columns(self, within: float = 0.01) -> list[Name]:
        """Return the names of few columns that lose at most `within` nats more than all, in the order chosen.

        The loss is that of `importance`, with all other columns unknown. Columns are added one by one, each the one
        that then loses least; one is taken out where fewer do better than any so few did before, and at the end as
        long as the loss stays within. So none of those returned could be left out, but other sets as small may serve
        as well. Where there are many columns, a step looks at those 24 that gained most before. Without a column
        needed, the list is empty: the shares of the classes lose no more, or not more by a standard error.

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
        self, X: object, y: object, sample_weight: object = None, groups: object = None, *, fdr: float | None = None
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
        Rows are left out exactly where `leave_one_out` does so. A forest judges a row by the trees whose bag it was not
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
        return suspect_labels.suspect_labels(self._fitted, X, y, sample_weight, fdr, groups)

    # --- what has moved -----------------------------------------------------------------------------------------------

    def drift(self, X: object, y: object = None, *, sample_weight: object = None) -> Drift:
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
        given = X._fitted if isinstance(X, State) else X
        return drift.drift(self._fitted, given, y, sample_weight)

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
        return assess.assess(self._fitted, X, y, sample_weight, groups, priors, costs)
