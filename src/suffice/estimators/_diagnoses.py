"""What only a joint density can answer: what to measure, which columns suffice, which labels are wrong, what moved."""

from __future__ import annotations

from ..questions import drift
from ..questions.drift_answer import Drift
from ._answers import Answers
from ._state import State


class Diagnoses(Answers):
    """Judgements of columns, of labels and of new rows."""

    # --- what to measure next -----------------------------------------------------------------------------------------

    # --- which columns suffice ----------------------------------------------------------------------------------------

    # --- which labels are wrong ---------------------------------------------------------------------------------------

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
        >>> answer.moved(), [round(float(e), 1) for e in answer.effect]
        ([1], [-0.1, 1.4])
        """
        given = X._fitted if isinstance(X, State) else X
        return drift.drift(self._fitted, given, y, sample_weight)
