"""Generative forests: trees whose leaves hold densities, so that a forest answers what any joint density does."""

from __future__ import annotations

from typing import Any, Self

from .._arrays import Array
from ..automatic.forest_fitted import ForestFamily, ForestFitted
from ._all_columns import AllColumns


class GenerativeForest(AllColumns):
    """Classify, draw and complete rows of any table by a mixture of boxes: the leaves of trees, with densities inside.

    p(x, y) = π_y · 1/T Σ_trees Σ_leaves p(leaf | y) Π_j p(x_j | leaf, y). Trees are grown on the rows kept, to tell the
    classes apart and real rows from rows whose cells were shuffled, so that leaves are where columns depend on each
    other. Their structure stays; the leaves hold sums over all rows by class, which merge and are forgotten. In a leaf
    a number is a Gaussian on the scale of normal scores within the leaf's box, a category has shares of its levels, and
    every node is shrunk towards its parent. A missing cell is integrated out exactly: the row is in all leaves that its
    other cells allow. Whole numbers, repeated values and ranges are kept in what is drawn.

    Parameters
    ----------
    priors : None, "uniform", array (k,) in the order of `classes_`, or dict by label
        Class priors; None takes the classes' shares of the weight.
    keep_rows : None or int, at least 50
        How many rows are kept: trees are grown on them, and p-values and sets of classes ranked among them. None keeps
        2,000 to 20,000, as many as fit into 32 MiB. Up to so many distinct rows, the model is the same whether they
        came at once, in batches or from merged models, or are what is left after others were forgotten. Beyond, the
        trees stay as the rows kept at that time grew them.

    Attributes
    ----------
    classes_ : array (k,)
        Class labels, in the order of every result's columns.
    priors_ : array (k,)
        Class priors π.
    n_features_in_ : int
        The number of columns; `feature_names_in_`, an array (d,), has their names where they have any.
    n_iter_ : int
        EM steps by which rows without a label joined, where there were such rows (here there never are).
    statistics_ : ByClass
        The sufficient statistics, from which everything else is estimated.
    model_ : JointModel
        The joint model p(x, y).
    notes_ : list of Note
        What was repaired, by how much and why.

    See Also
    --------
    GenerativeClassifier : A pool of several models, this one among them.
    MixtureDiscriminant : Several Gaussians per class.

    References
    ----------
    Correia, Peharz & de Campos, Joints in random forests (NeurIPS 2020). Watson, Blesch, Kapar & Wright, Adversarial
    random forests for density estimation and generative modeling (AISTATS 2023).

    Examples
    --------
    >>> from suffice import GenerativeForest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GenerativeForest().fit(X, y)
    >>> bool((model.predict(X) == y).mean() > 0.95)
    True
    """

    _kind = ForestFitted
    _family = ForestFamily

    def __init__(self, *, priors: object = None, keep_rows: int | None = None) -> None:
        self.priors = priors
        self.keep_rows = keep_rows

    # --- what is said here of verbs that all have --------------------------------------------------------------------

    def fit(self, X: object, y: object, sample_weight: object = None, groups: object = None) -> Self:
        """Fit the model to rows `X` and labels `y`, forgetting any earlier fit; see `GaussianDiscriminant.fit`.

        Every row needs a label.
        """
        return super().fit(X, y, sample_weight, groups)

    def merge(self, other: Self) -> Self:
        """Add everything another fitted model has learned.

        The result equals one fit on the rows of both while these are no more than the rows kept, and where the trees of
        one were frozen and the other's rows are few, or the other is a saved copy that went on learning. Of two models
        that each froze their trees, the second's rows are learned from its sample, weighted to stand for all; `notes_`
        says so.
        """
        return super().merge(other)

    def leave_one_out(self, X: object, y: object, sample_weight: object = None, groups: object = None) -> Array:
        """Return leave-one-out log posteriors log p(class | x), (n, k) in nats, of rows this model has learned.

        Each row is taken out of the sums of every leaf and class, exactly, and the structure of the trees is held
        fixed, which has seen the row: a refit would grow others, and these answers flatter a little. Sets of classes
        and p-values are not made of them, but of trees that have not seen the row. Parameters and errors as for
        `GaussianDiscriminant.leave_one_out`.
        """
        return super().leave_one_out(X, y, sample_weight, groups)

    def explain(
        self, X: object, *, orders: int | None = None, return_error: bool = False, as_frame: bool | str = False
    ) -> Any:
        """Return how much each column speaks for each class, (n, d, k) in nats of log-odds.

        Shapley values of the marginal densities, exact for few columns and otherwise the mean over `orders` of the
        columns, whose standard errors `return_error` gives; see `GaussianDiscriminant.explain`. Marginals take many
        leaves, so explain tens of rows at a time rather than thousands.
        """
        return super().explain(X, orders=orders, return_error=return_error, as_frame=as_frame)
