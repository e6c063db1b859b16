"""What only a joint density can answer: what to measure, which columns suffice, which labels are wrong, what moved."""

from __future__ import annotations

from .._arrays import Array
from ..questions import information_gain, suspect_labels
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

    def suspect_labels(self, X: object, y: object, sample_weight: object = None, *, fdr: float | None = None) -> Array:
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
        return suspect_labels.suspect_labels(self._fitted, X, y, sample_weight, fdr)

    # --- what has moved -----------------------------------------------------------------------------------------------
