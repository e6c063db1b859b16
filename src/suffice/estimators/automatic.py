"""The automatic classifier: no settings, members chosen and pooled by exact leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, Codes, np
from ..automatic.columns import FrozenColumns
from ..automatic.joint import joint_note
from ..automatic.member_family import MemberFamily
from ..automatic.pool import Automatic, exchange_priors
from ..automatic.reasons import contributions
from ..automatic.sample import Sample
from ..automatic.statistics import MemberRows, MemberStats
from ..densities import Diagonal, Product
from ..errors import DataError, SettingError
from ..estimate import FAMILIES, Block, Dirichlet, Note, Settings, class_log_prior
from ..estimate.families import GaussianFamily
from ..joint import JointModel
from ..schema import Kind, Schema
from ..stats import ByClass, Reservoir
from ..stats.reservoir import rows_per_weight
from ._frozen import (
    LEAST_ROWS,
    FrozenChoice,
    check_judges,
    check_memory,
    choose_by_rows,
    few_to_judge,
    joint_by_rows,
    level_counts,
    rows_of_sample,
)
from ._labels import read_weights
from ._queries import GenerativeEstimator
from ._reasons import _check_orders
from ._states import Derived, edit, question, snapshot
from ._unlabelled import Batch, recoded
from ._validation import judged_by_weight


class _Joint(GenerativeEstimator):
    """The joint model of an automatic classifier, asked as any other estimator is."""

    def __init__(self, *, priors: Any = None, keep_rows: int = 2000) -> None:
        self.priors = priors
        self.keep_rows = keep_rows

    def _settings(self) -> Settings:
        return Settings()


class GenerativeClassifier(FrozenChoice):
    """Classify any table with no settings: several generative models, pooled for probabilities that can be trusted.

    Members are Gaussians under a normal-inverse-Wishart prior (on the columns as they are and as normal scores, from
    one covariance per class to a shared one), naive Bayes with hat functions for numbers and with Dirichlet priors for
    categories, averaged one-dependence estimators and, from 800 rows on, Gaussians on parts of each class. Every
    setting is judged by exact leave-one-out on at most `keep_rows` rows, and a log-linear stack with non-negative
    weights pools the members; nothing is held back from the densities. Missing cells are exact in every member:
    Gaussians integrate them out and fill them by EM at fit, in the others they contribute nothing.

    Parameters
    ----------
    priors : None, "uniform", array (k,) in the order of `classes_`, or dict by label
        Class priors; None takes the classes' shares of the weight (with half a row added to each).
    keep_rows : int, at least 50
        How many rows are kept to judge on. Up to so many distinct rows, the model is the same whether they came at
        once, in batches, from merged models, or are what is left after others were forgotten. Beyond, knots, bins and
        vocabularies stay as the rows kept at that time set them.

    Attributes
    ----------
    members_ : list of dict
        One per member: name, setting, loss and temperature (of its leave-one-out posteriors), and weight in the stack.
    loss_ : float
        Mean leave-one-out log-loss of the pooled posteriors on the rows kept, in nats.
    joint_ : JointModel
        The single joint model that `impute`, `sample`, `score_samples` and `outlier_pvalues` ask: a Gaussian block
        for the numbers, shrunk as much as the leave-one-out log density asks for, times smoothed categories.
    classes_ : array (k,)
        Class labels, in the order of every result's columns.
    priors_ : array (k,)
        Class priors π.
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

    References
    ----------
    Wolpert, Stacked generalization (1992), doi:10.1016/S0893-6080(05)80023-1. Webb, Boughton & Wang, Not so naive Bayes
    (2005), doi:10.1007/s10994-005-4258-6, for one-dependence estimators.

    Examples
    --------
    >>> from suffice import GenerativeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GenerativeClassifier().fit(X, y)
    >>> bool((model.predict(X) == y).mean() > 0.95)
    True
    """

    _settled: Any = Derived()  # the members' rows or statistics as they came, and as they are kept
    _condensed: Any = Derived()  # rows that are kept, and their statistics
    _chosen: Any = Derived()  # an Automatic
    _joint_blocks: Any = Derived()  # the blocks of the joint model, with their statistics
    _twin: Any = Derived()  # the joint model, and the estimator that answers from it

    def __init__(self, *, priors: Any = None, keep_rows: int = 2000) -> None:
        self.priors = priors
        self.keep_rows = keep_rows

    def _validate_settings(self) -> None:
        super()._validate_settings()
        if self.keep_rows < LEAST_ROWS:
            raise SettingError(
                f"keep_rows={self.keep_rows}: the members are judged by the rows that are kept, and fewer than "
                f"{LEAST_ROWS} say too little. Next: leave keep_rows=2000."
            )

    def _settings(self) -> Settings:
        return Settings()

    # --- learning ----------------------------------------------------------------------------------------------------

    @edit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows `X` and labels `y`, forgetting any earlier fit; see `GaussianDiscriminant.fit`.

        Every row needs a label. The members are chosen here; after an edit, when next asked for.
        """
        super().fit(X, y, sample_weight)
        _ = self._automatic
        return self

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        """Return the blocks of the joint model, the numbers together and the categories, and that of the members."""
        empty = [column.name for column in schema.columns if column.kind is Kind.EMPTY]
        if empty:
            raise DataError(f"Column {empty[0]!r} has no value in any row, so its kind is unknown. Next: drop it.")
        numeric = tuple(p for p, column in enumerate(schema.columns) if column.kind is Kind.NUMERIC)
        labels = tuple(p for p, column in enumerate(schema.columns) if column.kind is not Kind.NUMERIC)
        blocks = [Block(GaussianFamily(structure=Diagonal), numeric)] if numeric else []
        blocks += [Block(FAMILIES["categorical"], labels)] if labels else []
        return (*blocks, Block(MemberFamily(len(numeric)), (*numeric, *labels)))

    def _sample(self, batch: Batch, keep_rows: int | None = None) -> Reservoir | None:
        return super()._sample(batch._replace(rows=batch.rows[:-1]), keep_rows)

    def _remember(self, schema: Schema, plan: Sequence[Block], statistics: ByClass, y: Any) -> None:
        check_memory(statistics.blocks[-1], statistics)
        settled = self._settle(statistics.blocks[-1])
        statistics = replace(statistics, blocks=(*statistics.blocks[:-1], settled))
        self._settled = (settled, settled)
        self._chosen = None
        super()._remember(schema, plan, statistics, y)

    def _settle(self, block: MemberRows | MemberStats) -> MemberRows | MemberStats:
        """Return the rows or statistics of the members as they are kept, made once."""
        known = self._settled
        if known is None or known[0] is not block:
            known = self._settled = (block, block.settled(int(self.keep_rows)))
        return known[1]  # type: ignore[no-any-return]

    def _pieces(self, statistics: ByClass) -> MemberStats:
        """Return the members' statistics; those of rows held as they are, in columns that these rows freeze."""
        settled = self._settle(statistics.blocks[-1])
        check_memory(settled, statistics)
        if isinstance(settled, MemberStats):
            return settled
        known: tuple[MemberRows, MemberStats] | None = self._condensed
        if known is None or known[0] is not settled:
            unit = rows_per_weight(settled.weight, settled.copies)
            columns = FrozenColumns.freeze(settled.rows.numbers, settled.rows.coded, settled.weight * unit)
            known = self._condensed = (settled, settled.condensed(columns))
        return known[1]

    def _join_unlabelled(self, *_: Any) -> Any:
        raise DataError(
            "Rows without a label cannot join a GenerativeClassifier: its members are judged by rows of known class. "
            "Next: leave them out, or use GaussianDiscriminant, NaiveBayes or MixtureDiscriminant."
        )

    @edit
    def merge(self, other: Self) -> Self:
        """Add everything another fitted model has learned.

        The result equals one fit on the rows of both while these are no more than `keep_rows`, and where the columns of
        one were frozen and the other's rows are few, or the other is a saved copy that went on learning. Two models
        that each froze their columns have different knots and bins: then the joint model and the sample of rows are
        exact all the same, and the members learn the other's rows from its sample, weighted to stand for all. `notes_`
        says so. Released models merge if one was released `like` the other, and MergeError tells of others.
        """
        check_is_fitted(self, "statistics_")
        check_is_fitted(other, "statistics_")
        other = snapshot(other)
        self._check_alike(other)
        mine, theirs = (model.statistics_.blocks[-1] for model in (self, other))
        if not isinstance(mine, MemberStats) or not isinstance(theirs, MemberStats) or mine.columns == theirs.columns:
            return self._merge_frozen(other, super().merge)
        stand_in = copy(other)
        stand_in.statistics_ = replace(
            other.statistics_, blocks=(*other.statistics_.blocks[:-1], rows_of_sample(other.statistics_))
        )
        super().merge(stand_in)
        return self

    # --- the choice --------------------------------------------------------------------------------------------------

    @property
    def _automatic(self) -> Automatic:
        """The members and their stack, chosen when first asked for."""
        check_is_fitted(self, "statistics_")
        found: Automatic | None = self._chosen
        if found is None:
            statistics, pieces = self.statistics_, self._pieces(self.statistics_)
            if self._holds_no_rows:
                counts = level_counts(statistics, pieces.columns)
                found = self._frozen.automatic(pieces, counts, statistics.weight, statistics.classes)
            else:
                found = choose_by_rows(statistics, pieces)
            self._chosen = found
        return found

    def _estimate(
        self, statistics: ByClass, plan: Sequence[Block], schema: Schema, **told: Any
    ) -> tuple[JointModel, list[Note]]:
        densities, notes, blocks = [], list[Note](), list[tuple[Block, Any]]()
        for block, stats in zip(plan[:-1], statistics.blocks, strict=False):
            family = block.family
            found = None
            if isinstance(family, GaussianFamily):
                pieces = self._pieces(statistics)
                frozen = statistics.sample is None
                found = self._frozen.joint_model(pieces) if frozen else joint_by_rows(statistics, pieces)
            if found is not None:
                family, stats = found
                notes.append(joint_note(found[0]))
            columns = tuple(schema.names[p] for p in block.positions)
            settings = replace(self._settings(), classes=statistics.classes, columns=columns, **told)
            density, repairs = family.estimate(stats, settings)
            densities.append(density)
            blocks.append((Block(family, block.positions), stats))
            notes += repairs
        self._joint_blocks = blocks
        return JointModel(statistics.classes, self._log_prior(statistics), Product(tuple(densities))), notes

    def _posterior_of(self, rows: Sequence[Any]) -> Array:
        automatic = self._automatic
        return automatic.log_posterior(automatic.frozen.read(rows[-1].numbers, rows[-1].coded))

    def _log_posterior(self, X: Any, priors: Any) -> Array:
        rows = self._encode(X)[0][-1:]
        if priors is None:
            return self._judge_as_new(rows)
        log_prior = class_log_prior(self.statistics_.weight, self._class_priors(priors, self.statistics_.classes))
        return self._automatic.log_posterior(self._automatic.frozen.read(rows[0].numbers, rows[0].coded), log_prior)

    # --- what the joint model answers ---------------------------------------------------------------------------------

    @property
    @question
    def joint_(self) -> JointModel:
        """The joint model that `impute`, `sample`, `score_samples` and `outlier_pvalues` ask."""
        return self.model_

    @property
    def _joint(self) -> _Joint:
        model, statistics = self.model_, self.statistics_
        known: tuple[JointModel, _Joint] | None = self._twin
        if known is None or known[0] is not model:
            twin = _Joint(priors=self.priors, keep_rows=self.keep_rows)
            blocks, stats = zip(*self._joint_blocks, strict=True)
            twin._remember(self._schema, blocks, replace(statistics, blocks=tuple(stats)), None)
            twin._model, twin._object_labels = model, getattr(self, "_object_labels", False)
            self._twin = known = (model, twin)
        return known[1]

    @question
    def impute(self, X: Any, y: Any = None, *, draws: int | None = None, random_state: Any = None) -> Any:
        """Return the table with its missing cells filled by `joint_`; see `GaussianDiscriminant.impute`."""
        return self._joint.impute(X, y, draws=draws, random_state=random_state)

    @question
    def sample(self, n: int, *, label: Any = None, given: Any = None, random_state: Any = None) -> tuple[Any, Any]:
        """Return new rows drawn from `joint_`, and their labels; see `GaussianDiscriminant.sample`."""
        return self._joint.sample(n, label=label, given=given, random_state=random_state)

    def _draw_rows(self, *told: Any, **named: Any) -> tuple[Any, Any]:
        return self._joint._draw_rows(*told, **named)

    @question
    def score_samples(self, X: Any) -> Array:
        """Return log p(x), (n,) in nats, of the observed cells of each row under `joint_`."""
        return self._joint.score_samples(X)

    @question
    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log π_k + log p(x | k) under `joint_`, (n, k) in nats; posteriors are those of the stack instead."""
        return self._joint.predict_joint_log_proba(X)

    @property
    def _density_owner(self) -> Any:
        return self._joint

    def _kept_rows(self, sample: Reservoir) -> list[Any]:
        return [*sample.rows, rows_of_sample(self.statistics_).rows]

    def _model_of(self, statistics: ByClass) -> tuple[JointModel, Any]:
        model, _ = self._estimate(statistics, self._blocks, self._schema)
        return model, partial(recoded, tuple(self._joint_blocks))

    # --- the members --------------------------------------------------------------------------------------------------

    @question
    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Return leave-one-out log posteriors log p(class | x), (n, k) in nats, of rows this model has learned.

        Every member's log densities are exact, with the statistics less the row, classes of other rows less an average
        row of theirs; Gaussians of parts have those of five folds. The pool's weights are those of all rows; `loss_`
        takes each row out of them as well. Parameters and errors as for `GaussianDiscriminant.leave_one_out`.
        """
        if self._holds_no_rows:
            raise DataError.released("leave rows out", "ask the model it was made from")
        table, n = self._encode(X)
        weight = read_weights(sample_weight, n)
        codes = self._known_codes(y, n, weight)
        return judged_by_weight([table[-1]], codes, weight, self._leave_out, self._judge_as_new)

    def _leave_out(self, rows: list[Any], codes: Codes, weight: Array | None) -> Array:
        """Return leave-one-out log posteriors (n, k) of encoded rows that were learned."""
        removed = np.ones(len(codes)) if weight is None else weight
        if (removed > self.statistics_.weight[codes] * (1.0 + 1e-9)).any():
            raise DataError("A row weighs more than its class. Next: give rows and weights as they were learned.")
        read = self._automatic.frozen.read(rows[0].numbers, rows[0].coded)
        sample, log_prior = self.statistics_.sample, self._priors_without(codes, removed)
        own = removed * (self._frozen.unit if sample is None else sample.rows_per_weight)
        return self._automatic.leave_out(Sample(read, codes, own, own, own, own), log_prior)

    def _judge_as_new(self, rows: list[Any]) -> Array:
        """Return log posteriors (n, k) of encoded rows."""
        read = self._automatic.frozen.read(rows[0].numbers, rows[0].coded)
        return self._automatic.log_posterior(read, None if self.priors is None else self._log_prior(self.statistics_))

    def _left_out_posterior(self, model: JointModel) -> Array:
        if self._holds_no_rows:
            raise DataError.without_rows("This model keeps no rows to judge itself by", released=True)
        check_judges(self.statistics_)
        automatic, sample = self._automatic, self.statistics_.sample
        assert sample is not None
        log_prior = self._priors_without(sample.codes, sample.row_weight())
        if log_prior is None:
            return automatic.held_out
        return exchange_priors(automatic.held_out, automatic.offset, log_prior, automatic.floor)

    def _priors_without(self, codes: Codes, removed: Array) -> Array | None:
        """Return the log class priors that were given (n, k), those that count rows without each row; None for none."""
        if self.priors is None:
            return None
        statistics = self.statistics_
        log_prior = np.tile(self._log_prior(statistics), (len(codes), 1))
        if isinstance(self.priors, Dirichlet):
            rest = np.tile(statistics.weight + self.priors.strength, (len(codes), 1))
            rest[np.arange(len(codes)), codes] -= removed
            with np.errstate(divide="ignore"):
                log_prior = np.log(np.maximum(rest, 0.0) / rest.sum(axis=1, keepdims=True))
        return log_prior

    @question
    def explain(self, X: Any, *, orders: int | None = None, return_error: bool = False) -> Any:
        """Return how much each column speaks for each class, (n, d, k) in nats of log-odds.

        Contributions add up, with the class priors, to the log posterior odds, as for `GaussianDiscriminant.explain`.
        The pool adds up its members, and Shapley values are linear: those of hat functions and of categories are exact,
        those of Gaussians and of one-dependence estimators are exact for few columns and otherwise the mean over
        `orders`, whose standard errors `return_error` gives. What the pool itself adds is shared out in proportion. A
        missing cell contributes exactly 0.
        """
        _check_orders(orders)
        automatic = self._automatic
        table = self._encode(X)[0][-1]
        rows = automatic.frozen.read(table.numbers, table.coded)
        log_prior = np.log(self.priors_)
        goal = automatic.log_posterior(rows, None if self.priors is None else log_prior)
        found, error = contributions(automatic, rows, goal, log_prior, orders, return_error)
        place = np.argsort(self._blocks[-1].positions)
        found = found[:, place]
        return (found, np.asarray(error)[:, place]) if return_error else found

    @property
    @question
    def members_(self) -> list[dict[str, Any]]:
        """Each member: its name, setting, leave-one-out loss in nats, temperature, and weight in the stack."""
        automatic = self._automatic
        pairs = zip(automatic.members, automatic.stack.weight, strict=False)
        return [
            {
                "name": member.name,
                "setting": dict(member.setting),
                "loss": member.loss,
                "temperature": member.temperature,
                "weight": float(weight),
            }
            for member, weight in pairs
        ]

    @property
    @question
    def loss_(self) -> float:
        """The mean leave-one-out log-loss, in nats, of the pooled posteriors on the rows kept, as they came.

        DataError where fewer than 50 of them are left, and the others were forgotten.
        """
        check_judges(self.statistics_)
        sample = self.statistics_.sample
        if self.priors is None or sample is None:
            return self._automatic.loss
        lost = -self._left_out_posterior(self.model_)[np.arange(len(sample.codes)), sample.codes]
        weight = sample.represented(self.statistics_.weight)
        return float(weight @ lost) / float(weight.sum())

    @property
    @question
    def notes_(self) -> list[Note]:
        """What was shrunk, floored or left out, by how much and why; each prints as one sentence."""
        return [*super().notes_, *self._automatic.notes, *filter(None, [few_to_judge(self.statistics_)])]
