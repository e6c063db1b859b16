"""What only a joint density can answer: what to measure, which columns suffice, which labels are wrong, what moved."""

from __future__ import annotations

from ..questions.learning_curve import curve_of
from ..tasks.learning_curve import DRAWS, LearningCurve
from ._answers import Answers


class Diagnoses(Answers):
    """Judgements of columns, of labels and of new rows."""

    # --- what to measure next -----------------------------------------------------------------------------------------

    # --- which columns suffice ----------------------------------------------------------------------------------------

    # --- which labels are wrong ---------------------------------------------------------------------------------------

    # --- what has moved -----------------------------------------------------------------------------------------------

    # --- would more rows help -----------------------------------------------------------------------------------------

    def learning_curve(
        self, X: object, y: object, sample_weight: object = None, *, draws: int = DRAWS, random_state: int = 0
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
        return curve_of(self._begin(table.schema), table, y, sample_weight, draws, random_state)
