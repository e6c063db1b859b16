"""What only a joint density can answer: what to measure, which columns suffice, which labels are wrong, what moved."""

from __future__ import annotations

from .._arrays import Array
from ..questions import suspect_labels
from ._answers import Answers


class Diagnoses(Answers):
    """Judgements of columns, of labels and of new rows."""

    # --- what to measure next -----------------------------------------------------------------------------------------

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
