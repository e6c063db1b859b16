"""Edit what a model has learned, as one edits a database: add, merge, forget and decay rows; drop and rename classes.

Every edit makes new statistics and puts them in the place of the old ones at the end, so that an error or an interrupt
changes nothing, and edits of one model by several threads come one after the other (see `_states`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from .._arrays import np
from ..errors import DataError, MergeError, NotLearnedError, SchemaError, SettingError, quoted
from ..estimate import Block, class_log_prior
from ..schema import Kind, Level, Schema, check_text, sort_levels
from ..stats import ByClass
from ..stats._fading import FAINT
from ..table import Table, read_table
from ._labels import check_filled, check_label_kinds, read_labels
from ._released import Release
from ._residence import take_in
from ._states import edit, snapshot
from ._unlabelled import Batch


class Edits:
    """The verbs that change what an estimator has learned; all return the estimator."""

    priors: Any
    statistics_: ByClass
    _schema: Schema
    _holds_unlabelled: bool
    _released: Release | None
    _dialect: Any
    _blocks: tuple[Block, ...]
    _takes_devices: Any  # a property of `GenerativeEstimator`
    _validate_settings: Callable[[], None]
    _align: Callable[[Table], Sequence[int]]
    _plan: Callable[[Schema], tuple[Block, ...]]
    _read: Callable[..., Batch]
    _summarize: Callable[..., ByClass]
    _remember: Callable[[Schema, Sequence[Block], ByClass, Any], None]
    _class_priors: Callable[[Any, Sequence[Level]], Any]

    @edit
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, decay: float | None = None
    ) -> Self:
        """Add rows to those already learned; after any batches the model equals one fit on all rows.

        The first batch fixes the columns. A class or category may appear in any batch. `classes`, optional, lists
        labels that may come. `decay` λ, above 0 and at most 1, first multiplies the weight of every row learned so far
        by λ, for streams that drift; see `decay`. If anything is wrong with the batch, an error is raised and nothing
        has changed.
        """
        self._validate_settings()
        factor = 1.0 if decay is None else _check_decay(decay)
        table = read_table(take_in(X, self._takes_devices))
        check_filled(table, type(self).__name__)
        first = not hasattr(self, "statistics_")
        schema = table.schema if first else self._schema
        order = range(len(schema)) if first else self._align(table)
        plan = self._plan(schema) if first else self._blocks
        batch = self._summarize(self._read(table, order, plan, y, sample_weight), plan)
        if classes is not None:
            known = read_labels(classes, len(classes), type(self).__name__)[0]
            unknown = [label for label in batch.classes if label not in known]
            if unknown:
                raise DataError.unseen_labels(unknown)
            batch = batch.with_classes(sort_levels([*batch.classes, *known]))
        if not first:
            check_label_kinds(self.statistics_.classes, batch.classes)
            learned = self.statistics_ if factor == 1.0 else self._decayed(factor)
            batch = learned.merge(batch)
        released = None if self._released is None else self._released.with_rows()
        self._remember(schema.settle(table.schema, order), plan, batch, y)
        self._released = released
        return self

    @edit
    def merge(self, other: Self) -> Self:
        """Add everything another fitted model has learned; the result equals one fit on the rows of both.

        MergeError, leaving both models as they were, if the columns, kinds or families of the two differ.
        """
        check_is_fitted(self, "statistics_")
        check_is_fitted(other, "statistics_")
        other = snapshot(other)
        if type(other) is not type(self):
            raise MergeError(f"A {type(self).__name__} cannot take in a {type(other).__name__}. Next: fit both alike.")
        _check_same_columns(self._schema, other._schema)
        for mine, theirs in zip(self._blocks, other._blocks, strict=False):
            if mine != theirs:
                columns = [self._schema.names[p] for p in sorted({*mine.positions, *theirs.positions})]
                raise MergeError(
                    f"The two models treat {quoted(columns)} differently. Next: fit both with equal settings."
                )
        released = Release.of_both(self._released, other._released)
        self._relearn(self.statistics_.merge(other.statistics_))
        self._released = released
        self._holds_unlabelled |= other._holds_unlabelled
        self._dialect = self._dialect or other._dialect
        return self

    @edit
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows that were learned; the model equals a fit on the others.

        Give the rows as they were learned, with their labels and weights (after a decay: with what is left of their
        weights). A class without a row left leaves the model, and so does a category that no row shows any more.
        A column whose sum of squares falls by a factor f keeps 16 − log10 f digits.

        NotLearnedError, a DataError that names the class, if the rows cannot have been among those learned: a weight
        or count would fall below 0, a value, category or pattern of missing cells was never there, what is left of a
        scatter would not be positive semi-definite (to 1e-10 on the correlation scale), or a row is not among those
        kept of a class that is kept whole (see `keep_rows`). Of larger classes only sums are known: rows that were
        never learned but leave possible sums cannot be told from others. Rows without a label are refused: EM has
        spread them over the classes in a way that depends on all rows; where such rows have joined a model, they go on
        counting in each class as they did.
        After any error nothing has changed.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X, y = [[0.0], [1.0], [90.0], [4.0], [6.0]], ["low", "low", "low", "high", "high"]
        >>> GaussianDiscriminant().fit(X, y).forget([[90.0]], ["low"]).means_.tolist()
        [[5.0], [0.5]]
        """
        check_is_fitted(self, "statistics_")
        if self._released is not None:
            raise DataError.released("forget rows", "merge the released models that shall stay anew")
        table = read_table(take_in(X, False))
        check_filled(table, type(self).__name__)
        plan = self._blocks
        rows = self._read(table, self._align(table), plan, y, sample_weight, missing="forget")
        batch = self._summarize(rows, plan, 0 if self.statistics_.sample is None else len(rows.codes))
        try:
            statistics = self.statistics_.subtract(batch)
            self._check_possible(statistics)
        except NotLearnedError as error:
            names = [self._schema.names[plan[error.block].positions[j]] for j in error.columns]
            raise error.named(names) from None
        self._relearn(statistics, "These are all the rows that the model has learned")
        return self

    @edit
    def drop_class(self, label: Any) -> Self:
        """Remove a class with all its rows; the model equals a fit without them.

        DataError, and nothing has changed, if there is no such class or no other. MergeError where a shared covariance
        was summed over too many classes to keep what each adds: more than 2²⁰ / d² of them.
        """
        check_is_fitted(self, "statistics_")
        found = self._known_class(label)
        names = {own: None if own == found else own for own in self.statistics_.classes}
        self._relearn(self.statistics_.regroup(names), f"Class {found!r} is the only one")
        return self

    @edit
    def rename_classes(self, names: Mapping[Any, Any]) -> Self:
        """Give classes other labels, {old: new}, all at once; classes given one label become one class.

        Their rows are then those of one class: the model equals a fit with the labels replaced (a mixture instead keeps
        the components of both). A label may be that of a class that is there already. Classes stay in sorted order.

        DataError, and nothing has changed, for an unknown class, a missing label, or text beside numbers; SchemaError
        for text that is not Unicode.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> model = NaiveBayes().fit([[1.0], [2.0], [7.0]], ["a", "b", "c"])
        >>> model.rename_classes({"a": "low", "b": "low", "c": "high"}).classes_.tolist()
        ['high', 'low']
        """
        check_is_fitted(self, "statistics_")
        if not isinstance(names, Mapping):
            raise SettingError(f"names={names!r} is no dict. Next: give {{old label: new label}}.")
        given = {self._known_class(old): _plain_label(new) for old, new in names.items()}
        renamed: dict[Level, Level | None] = {own: given.get(own, own) for own in self.statistics_.classes}
        labels = [label for label in renamed.values() if label is not None]
        check_label_kinds((), labels)
        check_text(labels, "y")
        self._relearn(self.statistics_.regroup(renamed))
        return self

    @edit
    def decay(self, factor: float) -> Self:
        """Multiply the weight of every row learned so far by `factor` λ, above 0 and at most 1.

        Weights become λ w, scatters λ S and counts λ n; means and covariances by maximum likelihood stay, and rows to
        come count for more. With a decay before each batch a row learned t batches ago weighs λᵗ: half after
        ln 2 / −ln λ batches (λ = 0.99: 69), and all rows together at most as much as 1 / (1 − λ) batches. The number
        of rows read, `statistics_.rows`, stays what it was.

        Smoothing, unbiased divisors and priors see the decayed weights. A class that is left with a weight below
        1e-100 (for λ = 0.5 after some 330 batches without a row of it) stays as a class without rows, and a row or
        category of another class fades below 1e-200. SettingError for any other factor, DataError where all rows
        together would weigh less than 1e-100.
        """
        check_is_fitted(self, "statistics_")
        self._relearn(self._decayed(_check_decay(factor)))
        return self

    def _decayed(self, factor: float) -> ByClass:
        """Return the statistics with their weights multiplied; DataError where that leaves next to nothing."""
        statistics = self.statistics_
        if statistics.total * factor < FAINT:
            raise DataError(
                f"decay={factor!r} would leave all rows learned so far a weight of {statistics.total * factor:g} "
                f"together, and less than {FAINT:g} is as good as none. Next: let new rows come, or fit another model."
            )
        return statistics.scale(factor)

    def _known_class(self, label: Any) -> Level:
        """Return the class of this label; DataError if there is none."""
        for own in self.statistics_.classes:
            if isinstance(own, str) == isinstance(label, str) and own == label:
                return own
        raise DataError(
            f"There is no class {label!r}; the classes are {quoted(self.statistics_.classes)}. Next: name one of these."
        )

    def _check_possible(self, statistics: ByClass) -> None:
        """Raise NotLearnedError where a family knows that no rows have such statistics."""
        for number, (block, stats) in enumerate(zip(self._blocks, statistics.blocks, strict=True)):
            check = getattr(block.family, "check_possible", None)
            try:
                if check is not None:
                    check(stats)
            except NotLearnedError as error:
                label = None if error.code is None else statistics.classes[error.code]
                raise error.placed(label, number) from None

    def _relearn(self, statistics: ByClass, otherwise: str = "No row would be left") -> None:
        """Put other statistics in the place of those learned, or refuse where there is nothing left."""
        if not statistics.weight.any():
            raise DataError(f"{otherwise}, so nothing would be left of it. Next: fit another model instead.")
        if statistics.classes != self.statistics_.classes:
            class_log_prior(statistics.weight, self._class_priors(self.priors, statistics.classes))
        released = self._released
        self._remember(self._schema, self._blocks, statistics, None)
        self._released = released


def _check_decay(factor: Any) -> float:
    number = isinstance(factor, int | float | np.integer | np.floating) and not isinstance(factor, bool)
    if not number or not 0.0 < float(factor) <= 1.0:
        raise SettingError(f"decay={factor!r} must be a number above 0 and at most 1. Next: 0.99, say; 1 is no decay.")
    return float(factor)


def _plain_label(label: Any) -> Level:
    """Return a label as a plain value; DataError for what cannot be one."""
    plain = label.item() if isinstance(label, np.generic) else label
    if type(plain) not in (str, int, bool):
        raise DataError(f"{label!r} cannot be the label of a class. Next: give text, an integer or a truth value.")
    return plain  # type: ignore[no-any-return]


def _check_same_columns(mine: Schema, theirs: Schema) -> None:
    if mine.names == theirs.names and mine.named == theirs.named:
        for a, b in zip(mine.columns, theirs.columns, strict=True):
            if Kind.EMPTY not in (a.kind, b.kind) and a.kind.is_number != b.kind.is_number:
                raise MergeError(str(SchemaError.kind_differs(a.name, a.kind.value, b.kind.value)))
        return
    own, other = set(mine.names), set(theirs.names)
    missing = [name for name in mine.names if name not in other]
    extra = [name for name in theirs.names if name not in own]
    if missing or extra:
        raise MergeError(str(SchemaError.columns_differ(missing, extra, "the first model")))
    raise MergeError(
        "The two models have the same columns in different orders. Next: fit both on equally ordered tables."
    )
