"""Estimators that read all columns together: a pool of members chosen by exact leave-one-out, and a forest.

The trees of the forest have leaves that hold densities, so that it answers what any joint density does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from ..automatic.forest_fitted import ForestFamily, ForestFitted
from ..automatic.held import MemberFamily
from ..automatic.limits import rows_judged, rows_kept
from ..automatic.pooled import PooledFitted
from ..automatic.train import LEAST_ROWS
from ..densities import Diagonal
from ..errors import SettingError, either, setting
from ..estimate import FAMILIES, Block, Settings
from ..estimate.families import GaussianFamily
from ..joint import JointModel
from ..schema import Kind, Name, Schema
from ._state import MEMBERS, ROWS_OR_NONE, SECONDS, TEXTS, Constraints, rows_wanted
from .base import GenerativeEstimator


def _check_kept_rows(estimator: AllColumns) -> None:
    if not isinstance(estimator.keep_rows, str | None) and estimator.keep_rows < LEAST_ROWS:
        raise SettingError(
            f"{setting('keep_rows', estimator.keep_rows)}: the model is judged by the rows that are kept, and fewer "
            f"than {LEAST_ROWS} say too little. Next: {either('leave keep_rows=None', 'leave out --keep-rows')}."
        )


class AllColumns(GenerativeEstimator):
    """An estimator with a block of all columns beside those of numbers and of categories."""

    keep_rows: int | str | None  # type: ignore[assignment]
    _constraints: ClassVar[Constraints] = {"keep_rows": ROWS_OR_NONE}
    _rules = (_check_kept_rows,)
    _family: ClassVar[type[MemberFamily]] = MemberFamily
    _keeps_every: ClassVar[bool] = False  # where they fit and users do not say

    def _settings(self, schema: Schema | None = None) -> Settings:
        """Return what estimates are told: how many rows are kept, where users do not say as many as fit."""
        wanted = rows_wanted(self.keep_rows, schema)
        if wanted is not None:
            return Settings(keep_rows=max(wanted, LEAST_ROWS), leaves_tiny=True)
        columns = 1 if schema is None else len(schema)
        texts = schema is not None and any(own.kind is Kind.TEXT for own in schema.columns)
        kept = rows_kept(columns) if self._keeps_every and not texts else rows_judged(columns)
        return Settings(keep_rows=kept, leaves_tiny=True)

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        """Return the blocks of the numbers and of the categories, and one of all columns."""
        as_number = [column.kind.is_measured or column.kind is Kind.EMPTY for column in schema.columns]
        numeric = tuple(p for p, own in enumerate(as_number) if own)
        texts = tuple(p for p, column in enumerate(schema.columns) if column.kind is Kind.TEXT)
        labels = tuple(p for p, own in enumerate(as_number) if not own and p not in texts)
        blocks = [Block(GaussianFamily(structure=Diagonal), numeric)] if numeric else []
        blocks += [Block(FAMILIES["categorical"], labels)] if labels else []
        blocks += [Block(FAMILIES["text"], texts)] if texts else []
        return (*blocks, Block(self._family(len(numeric), len(texts)), (*numeric, *labels, *texts)))


class GenerativeClassifier(AllColumns):
    """Classify any table with no settings: several generative models, pooled for probabilities that can be trusted.

    Members are Gaussians under a normal-inverse-Wishart prior (on the columns as they are and as normal scores, from
    one covariance per class to a shared one), Gaussians of independent columns, naive Bayes with piecewise linear
    densities for numbers and with Dirichlet priors for categories, averaged one-dependence estimators, from 800 rows on
    Gaussians on parts of each class, and from 60 rows on a forest whose leaves count the classes of all rows, and
    boosted trees. Every setting is judged on the rows kept, each left out: exactly in densities, by the trees that have
    not seen it in the forest, by folds in parts and boosted trees. A log-linear stack with non-negative weights pools
    the members; nothing is held back from the densities. Missing cells are exact in densities: Gaussians integrate them
    out and fill them by EM at fit, in the others they contribute nothing. Trees may tell by a cell that it is missing.

    Boosted trees are no density but a rule for p(class | row), made of the rows kept alone. As these merge and are
    forgotten exactly, so is what a fixed rule makes of them. The joint density of all answers is
    p(x, y) = p_pool(y | x) p(x), with p(x) of `joint_`.

    Parameters
    ----------
    priors : None, "uniform", array (k,) in the order of `classes_`, or dict by label
        Class priors; None takes the classes' shares of the weight (with half a row added to each).
    class_weight : None, "balanced" or dict by label
        Class priors in scikit-learn's words, in place of `priors`: each class's share times its weight, 1 where a label
        has none; "balanced" makes them equal. Nothing else is weighted: what is learned of each class stays as it is.
    keep_rows : None, int, at least 50, a size such as "1GiB", or "all"
        How many rows are kept, or how much memory they may take, at 8 bytes a cell ("256MiB", "1.5GiB"; KiB, MiB or
        GiB). None keeps as many as fit into 256 MiB, and of tables with texts 2,000 to 20,000. Trees
        are boosted on all of them (at most a million, or 2e7 cells times classes), members are judged by 20,000 at most
        (10,000 from 50,000 rows on). Up to so many distinct rows, the model is the same whether they came at once, in
        batches, from merged models, or are what is left after others were forgotten. Beyond, knots, bins, vocabularies
        and the forest's trees stay as the rows kept at that time set them.
    members : {"all", "generative"}
        "generative" leaves out the boosted trees and, of texts, the weighted words: all that is not made of densities.
    text : "auto" or a list of columns
        The columns of texts, whose words are read one by one. "auto" takes those of text whose values are many (50
        different ones, and half of the cells) and have four words or more on average; `fit_table` takes none by itself.
        An empty list takes none.
    time_limit : None or float
        Seconds in which members are chosen, at `fit` and whenever they are chosen anew after an edit; None for no
        limit. Members that are expected to take the fewest seconds come first; those that the time does not suffice for
        are left out, boosted trees are cut short, and `notes_` says which. One member is there in any case. What every
        model needs is not counted: reading the rows and summing them up (8 s of one core for a million rows of 20
        columns), and the joint model. Which members are there depends on the clock, so that two fits to the same rows
        can differ, as can a merged model and one fit to all rows; where the time suffices for all members they are the
        same.

    Attributes
    ----------
    members_ : list of dict
        One per member: name, setting, loss and temperature (of its leave-one-out posteriors), and weight in the stack.
    loss_ : float
        Mean leave-one-out log-loss of the pooled posteriors on the rows kept, in nats. Of few rows (up to 4,000 rows
        times classes) each is judged by the settings and weights that four fifths of the rows choose without it.
    loss_error_ : float
        Its standard error, two of which on either side hold the loss on new rows in 19 cases of 20. It knows that the
        rows have chosen the model.
    joint_ : JointModel
        The joint model whose p(x) goes with the pool, and by which `impute` and `sample` complete rows of a class:
        a Gaussian block for the numbers, shrunk as much as the leave-one-out log density asks for, times smoothed
        categories; or a forest, as in `GenerativeForest`, where rows left out are likelier under it. `notes_` says
        which.
    classes_ : array (k,)
        Class labels, in the order of every result's columns.
    priors_ : array (k,)
        Class priors π.
    n_features_in_ : int
        The number of columns; `feature_names_in_`, an array (d,), has their names where they have any.
    n_iter_ : int
        Never there: rows without a label are kept as rows, and no count of steps goes with them.
    statistics_ : ByClass
        The sufficient statistics, from which everything else is estimated.
    model_ : JointModel
        `joint_`.
    notes_ : list of Note
        What was repaired, by how much and why.

    See Also
    --------
    GaussianDiscriminant : One Gaussian per class.
    NaiveBayes : Columns of all kinds, independent given the class.
    MixtureDiscriminant : Several Gaussians per class.
    GenerativeForest : A mixture of boxes, the leaves of trees, with densities inside.

    Notes
    -----
    Verbs are as `GaussianDiscriminant` says, but for these:

    fit
        The members are chosen here; after an edit, when next asked for. Rows without a label (None, NaN) are kept as
        rows, 2,000 at most. EM over them makes Gaussian members of their own, which labelled rows judge in folds that
        EM has not seen; these are left out where left-out loss is higher with them by more than a standard error, and
        `notes_` says so. p(x) of `joint_`, unless it is a forest, counts them by the pool's posterior. `partial_fit`,
        `merge`, `forget` and `fit_table` take such rows alike. DataError if no row has a label.
    merge
        The result equals one fit on the rows of both while these are no more than `keep_rows`, and where the columns of
        one were frozen and the other's rows are few, or the other is a saved copy that went on learning. Two models
        that each froze their columns have different knots and bins: then the joint model and the sample of rows are
        exact all the same, and the members learn the other's rows from its sample, weighted to stand for all. `notes_`
        says so. Released models merge if one was released `like` the other, and MergeError tells of others.
    leave_one_out
        The log densities of members are exact, with the statistics less the row, classes of other rows less an average
        row of theirs; a forest is asked for the trees that have not seen the row, Gaussians of parts and boosted trees
        have the scores of five folds. The pool's weights are those of all rows; `loss_` takes each row out of them as
        well.
    explain
        The pool adds up its members, and Shapley values are linear: those of piecewise linear densities, of categories
        and of trees are exact, those of Gaussians and of one-dependence estimators are exact for few columns and
        otherwise the mean over `orders`, whose standard errors `return_error` gives. What the pool itself adds is
        shared out in proportion. A missing cell contributes exactly 0.

    References
    ----------
    Wolpert, Stacked generalization (1992), doi:10.1016/S0893-6080(05)80023-1. Webb, Boughton & Wang, Not so naive Bayes
    (2005), doi:10.1007/s10994-005-4258-6, for one-dependence estimators. Breiman, Random forests (2001),
    doi:10.1023/A:1010933404324. Nigam, McCallum, Thrun & Mitchell, Text classification from labeled and unlabeled
    documents (2000), doi:10.1023/A:1007692713085. Friedman, Greedy function approximation (2001),
    doi:10.1214/aos/1013203451.

    Examples
    --------
    >>> from suffice import GenerativeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GenerativeClassifier().fit(X, y)
    >>> bool((model.predict(X) == y).mean() > 0.95)
    True
    """

    _kind = PooledFitted
    _keeps_every = True

    _constraints: ClassVar[Constraints] = {
        **AllColumns._constraints,
        "members": MEMBERS,
        "text": TEXTS,
        "time_limit": SECONDS,
    }

    def __init__(
        self,
        *,
        priors: object = None,
        class_weight: object = None,
        keep_rows: int | str | None = None,
        members: str = "all",
        text: str | Sequence[Name] = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.priors = priors
        self.class_weight = class_weight
        self.keep_rows = keep_rows
        self.members = members
        self.text = text
        self.time_limit = time_limit

    @property
    def _text(self) -> str | Sequence[Name]:
        return self.text

    def _settings(self, schema: Schema | None = None) -> Settings:
        return replace(super()._settings(schema), members=self.members, time_limit=self.time_limit)

    # --- the members, and the joint model beside them -----------------------------------------------------------------

    @property
    def _pooled(self) -> PooledFitted:
        fitted = self._fitted
        assert isinstance(fitted, PooledFitted)
        return fitted

    @property
    def joint_(self) -> JointModel:
        """The joint model whose p(x) goes with the pool, by which `impute` and `sample` complete rows of a class."""
        return self.model_

    @property
    def members_(self) -> list[dict[str, Any]]:
        """Each member: its name, setting, leave-one-out loss in nats, temperature, weight in the stack, and share.

        The share, from 0 to 1, says how much of the pooled answer a member decides: its weight over its temperature (1
        at most), as a share of the sum of these over all members. Members that add nothing to the others have 0.
        """
        pool = self._pooled.pool
        parts = zip(pool.members, pool.stack.weight, pool.shares, strict=False)
        return [
            {
                "name": member.title,
                "setting": dict(member.setting),
                "loss": member.loss,
                "temperature": member.temperature,
                "weight": float(weight),
                "share": float(share),
            }
            for member, weight, share in parts
        ]

    @property
    def loss_(self) -> float:
        """The mean leave-one-out log-loss, in nats, of the pooled posteriors on the rows kept, as they came.

        DataError where fewer than 50 of them are left, and the others were forgotten.
        """
        return self._pooled.loss

    @property
    def loss_error_(self) -> float:
        """The standard error of `loss_` in nats, not a number where a file of an earlier version does not hold it.

        It is √(e² (1 + c) + (r / n)²), with e that of n independent rows: these have chosen the model, and c is the
        share of what they say that may be chance; see `quality`. r is what one more row would lose if it were wrong,
        −log(1 − p) on average, and 2 at least: where few rows of n are wrong, new ones may be twice as often.
        """
        return self._pooled.loss_error


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
    class_weight : None, "balanced" or dict by label
        Class priors in scikit-learn's words, in place of `priors`: each class's share times its weight, 1 where a label
        has none; "balanced" makes them equal. Nothing else is weighted: what is learned of each class stays as it is.
    keep_rows : None, int, at least 50, a size such as "1GiB", or "all"
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

    Notes
    -----
    Verbs are as `GaussianDiscriminant` says, but for these:

    fit
        Every row needs a label.
    merge
        The result equals one fit on the rows of both while these are no more than the rows kept, and where the trees of
        one were frozen and the other's rows are few, or the other is a saved copy that went on learning. Of two models
        that each froze their trees, the second's rows are learned from its sample, weighted to stand for all; `notes_`
        says so.
    leave_one_out
        Each row is taken out of the sums of every leaf and class, exactly, and the structure of the trees is held
        fixed, which has seen the row: a refit would grow others, and these answers flatter a little. Sets of classes
        and p-values are not made of them, but of trees that have not seen the row.
    explain
        Shapley values of the marginal densities are exact for few columns and otherwise the mean over `orders` of the
        columns, whose standard errors `return_error` gives. Marginals take many leaves, so explain tens of rows at a
        time rather than thousands.

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

    def __init__(
        self, *, priors: object = None, class_weight: object = None, keep_rows: int | str | None = None
    ) -> None:
        self.priors = priors
        self.class_weight = class_weight
        self.keep_rows = keep_rows
