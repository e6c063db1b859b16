"""What only a joint density can answer: what to measure, which columns suffice, which labels are wrong, what moved."""

from __future__ import annotations

from .._arrays import Array
from ..questions import information_gain
from ._answers import Answers


class Diagnoses(Answers):
    """Judgements of columns, of labels and of new rows."""

    # --- what to measure next -----------------------------------------------------------------------------------------

    def information_gain(self, X: object, *, costs: object = None) -> Array:
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
        twelve equally probable values of a number, moved to such as the table could hold, and up to 64 levels. What
        each value says is the pool's p(y | x_o, v), and the gain the mutual information under
        p(y | x_o) · w_v p(y | x_o, v) / Σ_u w_u p(y | x_o, u), which keeps the class before the cell is known at the
        pool's p(y | x_o). Where pool and joint model agree, that is the formula above.

        Parameters
        ----------
        X : table (n, d)
        costs : mapping from column names to positive numbers, or array-like (d,), optional
            What measuring each column costs; gains are divided by it. Columns that are not named cost 1.

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
        return information_gain.information_gain(self._fitted, X, costs)

    # --- which columns suffice ----------------------------------------------------------------------------------------

    # --- which labels are wrong ---------------------------------------------------------------------------------------

    # --- what has moved -----------------------------------------------------------------------------------------------
