"""What every estimator shares: reading tables, keeping statistics, and the questions put to the joint model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, Codes, np
from .._arrays_api import fetch, is_device_array, namespace
from .._dialect import Dialect
from ..densities import Product
from ..errors import DataError, NegativeError, SettingError, quoted
from ..estimate import Block, Dirichlet, Note, Settings, class_log_prior
from ..joint import JointModel
from ..schema import Level, Schema
from ..stats import ByClass, Reservoir
from ..table import Table, read_table
from ..tasks import classify
from ._decisions import Decisions
from ._edits import Edits
from ._export import Export
from ._generation import Generation
from ._labels import check_filled, check_total, read_labels, read_weights
from ._observed import check_observed
from ._page import Page
from ._reasons import Reasons
from ._released import Release
from ._releasing import Releasing
from ._residence import take_in
from ._saving import save_checked
from ._states import Derived, States, begin_anew, edit, question, snapshot
from ._tables import Tables
from ._unlabelled import Batch, Joined, join_unlabelled, joined_notes, recoded
from ._validation import LeaveOneOut


class GenerativeEstimator(
    Edits, Releasing, Decisions, Generation, Reasons, Tables, LeaveOneOut, Page, Export, ClassifierMixin, States
):
    """Base of all estimators: statistics in, joint model out, every answer read off the model.

    A subclass gives `_plan(schema)` (its blocks) and `_settings()` (what its estimates are told).
    """

    priors: Any
    keep_rows: int
    statistics_: ByClass
    _schema: Schema
    _blocks: tuple[Block, ...]
    _model: Any = Derived()  # a JointModel
    _notes: Any = Derived()  # what its estimate noted, a list of Note
    _told: Any = Derived()  # the setting `priors` that the model is under, and that model
    _holds_unlabelled: bool = False  # whether rows without a label have joined by EM
    _loaded_from: tuple[str, str] | None = None  # the file that it was loaded from, and the fingerprint of that
    _released: Release | None = None  # what a model gave up that holds no row
    _dialect: Dialect | None = None  # how the CSV file it was fitted on was written

    # --- learning ----------------------------------------------------------------------------------------------------

    @edit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows `X` and labels `y`, forgetting any earlier fit.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
            Null and NaN cells are missing. Infinity is a DataError that names the column. PyTorch and CuPy arrays are
            worked on where they live under `sklearn.set_config(array_api_dispatch=True)`, see docs/embeddings.md.
        y : array-like (n,)
            Class labels: text, integers or truth values. Rows whose label is missing (None, NaN, pandas.NA) join by EM:
            each counts in every class by its posterior, until the likelihood of all rows no longer rises.
        sample_weight : array-like (n,), optional
            k means k copies of the row; rows of weight 0 are as if absent. Others weigh at least 1e-50, and all rows
            that a model learns at most 1e50; DataError names the one that does not.

        Returns
        -------
        self
        """
        self._validate_settings()
        begin_anew(self)
        table = read_table(take_in(X, self._takes_devices))
        check_filled(table, type(self).__name__)
        plan = self._plan(table.schema)
        batch = self._read(table, range(len(table.schema)), plan, y, sample_weight, missing="em")
        statistics = self._summarize(batch.split()[0] if not batch.is_labelled else batch, plan)
        check_observed(statistics, plan, table.schema)
        joined = None if batch.is_labelled else self._join_unlabelled(statistics, batch, plan, table.schema)
        statistics = statistics if joined is None else replace(joined.statistics, sample=statistics.sample)
        model, notes = self._estimate(statistics, plan, table.schema)
        self._remember(table.schema, plan, statistics, y)
        self._notes = [*joined_notes(joined, int((batch.codes < 0).sum())), *notes]
        self._model, self._told = model, (_as_told(self.priors), model)
        self._holds_unlabelled = joined is not None
        self._dialect = None
        self._set_steps(joined)
        self._loaded_from = None
        return self

    def _read(
        self,
        table: Table,
        order: Sequence[int],
        plan: Sequence[Block],
        y: Any,
        sample_weight: Any,
        missing: str = "error",
    ) -> Batch:
        """Return the rows of positive weight as encoded, with their labels.

        `missing` labels: "error", "em", or "any" where none need be there.
        """
        classes, codes = read_labels(y, table.rows, type(self).__name__, missing=missing)
        weight = read_weights(sample_weight, table.rows)
        rows = _encode(table, order, plan, type(self).__name__)
        self._check_missing(rows, plan)
        if len(codes) and codes.min() < 0:  # EM for labels runs on the CPU
            rows = [fetch(part) if is_device_array(part) else part for part in rows]
        batch = Batch(classes, codes, rows, weight).without_empty_rows()
        if not batch.classes and missing != "any":
            raise DataError("Every row with a label has weight 0. Next: give some of them a positive weight.")
        return batch

    def _summarize(self, batch: Batch, plan: Sequence[Block], keep_rows: int | None = None) -> ByClass:
        """Return the statistics of labelled rows; `keep_rows`, if given, takes the place of the setting."""
        classes, codes, weight = batch.classes, batch.codes, batch.weight
        totals = np.bincount(codes, weights=weight, minlength=len(classes)).astype(np.float64)
        blocks = tuple(
            self._summarize_block(block, part, codes, classes, weight)
            for block, part in zip(plan, batch.rows, strict=True)
        )
        return ByClass(classes, totals, blocks, len(codes), self._sample(batch, keep_rows), batch.heaviest)

    def _sample(self, batch: Batch, keep_rows: int | None = None) -> Reservoir | None:
        """Return the rows of a batch that are kept as they are."""
        bound = int(self.keep_rows if keep_rows is None else keep_rows)
        if not bound:
            return None
        return Reservoir.summarize(batch.rows, batch.codes, batch.classes, batch.weight, bound)

    def _join_unlabelled(self, labelled: ByClass, batch: Batch, plan: Sequence[Block], schema: Schema) -> Joined:
        """Return the statistics of all rows of a batch, some without a label, from those of the labelled ones."""

        def estimate(statistics: ByClass) -> tuple[JointModel, list[Note]]:
            return self._estimate(statistics, plan, schema, divisor="mle")

        return join_unlabelled(labelled, batch, plan, estimate)

    def _set_steps(self, joined: Joined | None) -> None:
        """Keep the number of EM steps as `n_iter_`, which only rows without a label give rise to."""
        if joined is not None:
            self.n_iter_ = joined.steps
        elif "n_iter_" in vars(self):
            del self.n_iter_

    def _summarize_block(
        self, block: Block, rows: Any, codes: Codes, classes: Sequence[Level], weight: Array | None
    ) -> Any:
        """Return the statistics of a block of columns by class."""
        return block.family.summarize(rows, codes, len(classes), weight)

    def _remember(self, schema: Schema, plan: Sequence[Block], statistics: ByClass, y: Any) -> None:
        """Store what was learned; the model itself is estimated when first asked for."""
        check_total(statistics.weight)
        self._schema, self._blocks, self.statistics_ = schema, tuple(plan), statistics
        self._model, self._notes, self._told, self._released = None, [], None, None
        self.n_features_in_ = len(schema)
        if y is not None:
            self._object_labels = isinstance(y, np.ndarray) and y.dtype == object
        if schema.named:
            self.feature_names_in_ = np.asarray(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _estimate(
        self, statistics: ByClass, plan: Sequence[Block], schema: Schema, **told: Any
    ) -> tuple[JointModel, list[Note]]:
        densities, notes, names = [], [], schema.names
        for block, stats in zip(plan, statistics.blocks, strict=True):
            columns = tuple(names[p] for p in block.positions)
            settings = replace(self._settings_for(statistics), classes=statistics.classes, columns=columns, **told)
            density, repairs = block.family.estimate(stats, settings)
            densities.append(density)
            notes += repairs
        return JointModel(statistics.classes, self._log_prior(statistics), Product(tuple(densities))), notes

    def _log_prior(self, statistics: ByClass) -> Array:
        """Return log π (k,) under the setting `priors` as it is now."""
        return class_log_prior(statistics.weight, self._class_priors(self.priors, statistics.classes))

    @staticmethod
    def _class_priors(priors: Any, classes: Sequence[Level]) -> Any:
        """Return priors given by label as one number per class in order."""
        if not isinstance(priors, Mapping):
            return priors
        if set(priors) != set(classes):
            raise SettingError(
                f"priors names {quoted(list(priors))}; the classes are {quoted(classes)}. Next: name each."
            )
        return np.array([priors[label] for label in classes], dtype=np.float64)

    # --- what was learned --------------------------------------------------------------------------------------------

    @property
    @question
    def model_(self) -> JointModel:
        """The joint model p(x, y), made from `statistics_` when first asked for, under `priors` as they are set now."""
        check_is_fitted(self, "statistics_")
        told, found, known = _as_told(self.priors), self._model, self._told
        if known is not None and known[1] is found and known[0] == told:
            return found  # type: ignore[no-any-return]
        if found is None:
            found, self._notes = self._estimate(self.statistics_, self._blocks, self._schema)
        elif known is not None:
            found = self._under_priors(found)
        self._told = told, found
        self._model = found  # at last, so that whoever finds it finds the rest
        return found  # type: ignore[no-any-return]

    def _under_priors(self, model: JointModel) -> JointModel:
        """Return a model under the setting `priors`, which has changed since it was made."""
        return replace(model, log_prior=self._log_prior(self.statistics_))

    @property
    @question
    def notes_(self) -> list[Note]:
        """What was shrunk, floored or left out, by how much and why; each prints as one sentence."""
        _ = self.model_
        return [*([] if self._released is None else self._released.notes), *self._notes]

    @property
    @question
    def classes_(self) -> Any:
        """The class labels in the order of every result's columns (k,)."""
        if "statistics_" not in vars(self):
            raise AttributeError("classes_")
        labels = self.statistics_.classes
        if getattr(self, "_object_labels", False):
            return np.array(labels, dtype=object)
        found = np.array(labels)
        if found.dtype.kind in "fO" and all(type(label) is int for label in labels):
            # NumPy makes floats, or objects, of integers that no signed type holds
            fits = min(labels) >= 0 and max(labels) < 2**64  # type: ignore[operator]
            return np.array(labels, dtype=np.uint64 if fits else object)
        return found

    @property
    @question
    def priors_(self) -> Array:
        """The class priors π (k,)."""
        return np.exp(self.model_.log_prior)

    # --- classify ----------------------------------------------------------------------------------------------------

    @question
    def predict_proba(self, X: Any, *, priors: Any = None) -> Array:
        """Return p(class | x) by Bayes' rule, (n, k); missing cells of a row are integrated out exactly."""
        posterior = self._log_posterior(X, priors)
        if is_device_array(posterior):
            return namespace(posterior).exp(posterior)  # type: ignore[no-any-return]
        return np.exp(posterior, out=posterior)

    @question
    def predict_log_proba(self, X: Any, *, priors: Any = None) -> Array:
        """Return log p(class | x), (n, k) in nats, never rounded up to the log of a smallest float."""
        return self._log_posterior(X, priors)

    @question
    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log π_k + log p(x | k), (n, k) in nats: the number every other answer is made from."""
        return self.model_.log_joint(self._rows(X, resident=True))

    @question
    def decision_function(self, X: Any) -> Array:
        """Return the log posterior odds of the second class (n,) for two classes, else log posteriors (n, k).

        The sigmoid (more classes: the softmax) of these is the posterior.
        """
        scores = self._log_posterior(X, None)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @question
    def score_samples(self, X: Any) -> Array:
        """Return log p(x) = log Σ_k π_k p(x | k), (n,) in nats, of the observed cells of each row."""
        return classify.marginal_log_density(self.model_, self._rows(X, resident=True))

    def _log_posterior(self, X: Any, priors: Any) -> Array:
        model = self.model_
        log_prior = None
        if priors is not None:
            log_prior = class_log_prior(self.statistics_.weight, self._class_priors(priors, model.classes))
        return classify.log_posterior(model, self._rows(X, resident=True), log_prior)

    def _posterior_of(self, rows: Sequence[Any]) -> Array:
        """Return log posteriors (n, k) of rows as encoded, one part per block."""
        triples = zip(self._blocks, rows, self.statistics_.blocks, strict=True)
        known = tuple(block.family.recode(part, stats) for block, part, stats in triples)
        return classify.log_posterior(self.model_, known, None)

    def _rows(self, X: Any, resident: bool = False) -> tuple[Any, ...]:
        """Encode a table in the model's own columns, categories and blocks; if `resident`, on the device it is on."""
        check_is_fitted(self, "statistics_")
        return self._recode(*self._aligned(X, resident))

    def _aligned(self, X: Any, resident: bool = False) -> tuple[Table, Sequence[int]]:
        """Read a table; column p of the model stands at the p-th of the positions returned with it."""
        check_is_fitted(self, "statistics_")
        table = read_table(take_in(X, resident and self._takes_devices))
        check_filled(table, type(self).__name__)
        return table, self._align(table)

    def _recode(self, table: Table, order: Sequence[int]) -> tuple[Any, ...]:
        """Return the rows of a table by block, in the model's own categories."""
        rows = _encode(table, order, self._blocks, type(self).__name__)
        self._check_missing(rows, self._blocks)
        return recoded(zip(self._blocks, self.statistics_.blocks, strict=True), rows)

    def _encode(self, X: Any) -> tuple[list[Any], int]:
        """Return the rows of each block of a table with the model's columns, and their number."""
        table, order = self._aligned(X)
        rows = _encode(table, order, self._blocks, type(self).__name__)
        self._check_missing(rows, self._blocks)
        return rows, table.rows

    def _align(self, table: Table) -> Sequence[int]:
        if table.schema is self._schema:
            return range(len(self._schema))
        order = self._schema.align(table.schema, type(self).__name__)
        if self._schema.named != table.schema.named:
            known, got = ("with", "does not have valid") if self._schema.named else ("without", "has")
            message = f"X {got} feature names, but {type(self).__name__} was fitted {known} feature names"
            warnings.warn(f"{message}; columns go by position.", UserWarning, stacklevel=2)
        return order

    # --- for subclasses and files ------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model with its statistics to one file; see `suffice.load`.

        What was written is loaded and compared, and then appears under its name: on any error an old file stays as it
        was. A model that `load` brought back replaces its own file only while that is as it was loaded, or as this
        model last saved it: what others have written meanwhile is never undone. Remove a file first to have it replaced
        all the same. Threads and processes that save to one name do so one after the other.

        Raises
        ------
        ModelChangedError
            The model was loaded from this file, and others have written it since. Load it again, and repeat the edit.
        ModelFileError
            The file holds something other than a model, or what was written would not give the same model again.
        OSError
            The file or its folder cannot be written: it is read-only, belongs to another user, or has other names (hard
            links). TimeoutError where others have been writing it for ten minutes.
        """
        self._save(path)

    def _save(self, path: str | os.PathLike[str], over_anything: bool = False) -> None:
        """Write the model; over a file that holds none only if `over_anything`."""
        check_is_fitted(self, "statistics_")
        saved = save_checked(path, snapshot(self), over_anything)
        if self._loaded_from is not None and self._loaded_from[0] == saved[0]:
            self._loaded_from = saved

    @property
    def _takes_devices(self) -> bool:
        """Whether rows may stay on another device: all columns are Gaussian."""
        return bool(self.__sklearn_tags__().array_api_support)

    def _plan(self, schema: Schema) -> tuple[Block, ...]:
        raise NotImplementedError

    def _settings(self) -> Settings:
        raise NotImplementedError

    def _settings_for(self, statistics: ByClass) -> Settings:
        """Return the settings of an estimate from given statistics, which may be what some of them are found by."""
        return self._settings()

    def _chosen_settings(self) -> dict[str, Any]:
        """Return by name what was found from the statistics instead of given, for the model file."""
        return {}

    def _restore_chosen(self, chosen: Mapping[str, Any]) -> None:
        """Take over what `_chosen_settings` returned; ValueError if it cannot be that."""
        if chosen:
            raise ValueError(f"settings {sorted(chosen)} of a {type(self).__name__}")

    def _validate_settings(self) -> None:
        """Raise SettingError for constructor arguments that cannot work."""
        rows: Any = self.keep_rows
        if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0:
            raise SettingError(
                f"keep_rows={rows!r} must be a whole number, at least 0. Next: 2000 is usual, 0 is none."
            )

    def _check_missing(self, rows: Sequence[Any], plan: Sequence[Block]) -> None:
        """Raise DataError where the estimator was told not to accept missing cells."""

    def __sklearn_is_fitted__(self) -> bool:
        return "statistics_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _as_told(priors: Any) -> Any:
    """Return a setting of priors as a value that does not change with the caller's array or dict."""
    if isinstance(priors, Mapping):
        return tuple(sorted(((repr(label), float(share)) for label, share in priors.items())))
    if priors is None or isinstance(priors, str | Dirichlet):
        return priors
    try:
        return tuple(np.asarray(priors, dtype=np.float64).ravel().tolist())
    except (TypeError, ValueError):  # said when it is used
        return repr(priors)


def _encode(table: Table, order: Sequence[int], plan: Sequence[Block], who: str) -> list[Any]:
    """Return the rows of each block; column p of the model stands at order[p] of the table."""
    try:
        if isinstance(order, range):  # the columns stand where they did: there may be very many
            return [block.family.encode(table, block.positions) for block in plan]
        return [block.family.encode(table, [order[p] for p in block.positions]) for block in plan]
    except NegativeError as error:
        raise error.named(who) from None
