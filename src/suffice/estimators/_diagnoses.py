"""What only a joint density can answer: what to measure, which columns suffice, which labels are wrong, what moved."""

from __future__ import annotations

from ..questions import importance
from ..questions.importance import Importance
from ..schema import Name
from ._answers import Answers


class Diagnoses(Answers):
    """Judgements of columns, of labels and of new rows."""

    # --- what to measure next -----------------------------------------------------------------------------------------

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
        petal length (cm)    +0.0602    0.0389
        petal width (cm)     +0.0435    0.0206
        sepal width (cm)     +0.0113    0.0086
        sepal length (cm)    +0.0042    0.0133
        """
        return importance.importance(self._fitted)

    def smallest_columns(self, within: float = 0.01) -> list[Name]:
        """Return the names of few columns that lose at most `within` nats more than all, in the order chosen.

        The loss is that of `importance`, with all other columns unknown. Columns are added one by one, each the one
        that then loses least; one is taken out where fewer do better than any so few did before, and at the end as
        long as the loss stays within. So none of those returned could be left out, but other sets as small may serve
        as well. Where there are many columns, a step looks at those 24 that gained most before. Without a column
        needed, the list is empty: the shares of the classes lose no more.

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
        >>> GaussianDiscriminant(shared=True).fit(X, y).smallest_columns(within=0.02)
        ['petal length (cm)', 'petal width (cm)']
        """
        return importance.smallest_columns(self._fitted, within)

    # --- which labels are wrong ---------------------------------------------------------------------------------------

    # --- what has moved -----------------------------------------------------------------------------------------------
