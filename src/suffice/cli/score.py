"""`suffice score`: how good a model is at the rows of a table whose classes are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, visible
from ..schema import Level, Schema
from .answers import by_text, model_labels, open_model
from .deciding import Costs, Priors, answer_costs, given_priors, remark_priors
from .files import check_readable
from .output import COMMON, Common, noting_warnings, page_width, print_json, progress, rows_progress
from .parameters import ColumnName, DataPath, Groups, MoreMissing, SavedModel, Sheet, Weight
from .parts import comes_in_parts, is_many
from .problems import ColumnProblem, UsageProblem, did_you_mean
from .training import check_named, check_not_read, group_values, read_batch, weight_values

if TYPE_CHECKING:
    from .._arrays import Array
    from ..engines.arrow import Column
    from ..estimators.base import GenerativeEstimator
    from ..questions.assessment import Assessment
    from .deciding import Told

TOO_LIKE = 0.02  # the share of rows that were learned from which on the figures are not taken as they are


def score(
    model: SavedModel,
    data: DataPath,
    /,
    *,
    target: ColumnName | None = None,
    weight: Weight = None,
    groups: Groups = None,
    priors: Priors = (),
    costs: Costs = (),
    positive: ColumnName | None = None,
    missing_text: MoreMissing = (),
    sheet: Sheet = None,
    common: Common = COMMON,
) -> None:
    """Say how good a model is at rows it has not learned, whose classes are known.

    Accuracy with its 95 % interval, log-loss, calibration, recall and precision of each class, areas under the ROC and
    the precision-recall curve, who is taken for whom, and what flagging rows from a probability on would find: beside
    each what needs no model, naming the commonest class or the class shares. Rows without a label, or of classes that
    the model does not know, are counted and not judged. Rows that look as if they were learned are pointed out. With
    --groups the interval of the accuracy and the standard error of the log-loss are those of groups drawn whole.

    Parameters
    ----------
    data
        Table with the columns the model was fitted on, and the classes: text (.csv, .tsv, .txt), Excel (.xlsx), JSON
        lines (.jsonl), Parquet or Arrow; - for standard input; or many files, by a pattern in quotes or their folder.
        All but a single file of text are read in parts, so that memory does not grow with the rows; areas under curves
        of more than two million numbers are then those of log-odds in steps of 1/256.
    target
        Column of class labels; the one that the model was fitted to if not given.
    positive
        Class to be flagged, for the table of thresholds. Of two classes the rarer one if not given.

    Examples
    --------
    $ suffice score penguins.suffice more.csv --target species
    $ suffice score penguins.suffice more.csv --target species --positive Gentoo
    """
    estimator, schema = open_model(model)
    label = None if positive is None else _class(positive, estimator)
    matrix = answer_costs(costs, estimator)
    adapt = priors == ("adapt",)
    told: Told = None if adapt else given_priors(priors, estimator)
    target = target or _target(estimator)
    asked = _Asked(estimator, schema, data, target, weight, groups, told, matrix, adapt, sheet)
    with noting_warnings(common):
        found = asked.in_parts(common, missing_text) if asked.comes_in_parts else asked.whole(common, missing_text)
    if common.json:
        print_json({"model": str(model), "data": str(data), "target": target, **found.to_dict(label)})
    else:
        print(visible(found.report(label, page_width())))
    if found.learned is not None and found.learned >= TOO_LIKE:
        common.remark(_too_good(found.learned, data))


def _too_good(share: float, data: Path) -> str:
    """Return what to do where rows that were learned are judged."""
    about = "All" if share > 0.995 else f"About {share:.0%}" if share >= 0.1 else f"About {share:.1%}"
    return (
        f"Note: {about} of these rows are rows that the model has learned, so these figures are better than those of "
        f"new rows will be. Next: judge it by other rows; or use `suffice compare`, which judges models fitted to "
        f"{data.name} by rows left out, or `suffice report`, which shows this model's own left-out figures."
    )


def _target(estimator: GenerativeEstimator) -> str:
    """Return the name of the column that a model was fitted to."""
    target = estimator._fitted.past.target
    if not target:
        raise UsageProblem("The model does not know what its labels were called. Name their column by --target.")
    return str(target)


def _class(word: str, estimator: GenerativeEstimator) -> Level:
    known = by_text(estimator)
    if word not in known:
        near = did_you_mean(word, list(known), "the classes are")
        raise DataError(f"The model has no class {word!r}; {near} Next: name a class as `suffice show` does.")
    return known[word]


@dataclass
class _Asked:
    """A model, and the table it is judged by."""

    estimator: GenerativeEstimator
    schema: Schema
    data: Path
    target: str
    weight: str | None
    groups: str | None
    priors: Told
    costs: Array | None
    adapt: bool
    sheet: str | None

    @property
    def comes_in_parts(self) -> bool:
        return self.schema.named and comes_in_parts(self.data)

    def whole(self, common: Common, missing: tuple[str, ...]) -> Assessment:
        """Return how good the model is at a table that memory holds."""
        quiet = replace(common, quiet=True)  # the answer itself says which rows have no label
        batch = read_batch(
            self.data, self.estimator, self.schema, self.target, self.weight, quiet, missing, self.sheet, self.groups
        )
        with progress(common, f"Judging by {self.data.name}"):
            if self.adapt:
                self._adapted(self.estimator.adapt_priors(batch.columns), common)
            found = self.estimator.assess(
                batch.columns, batch.labels, batch.weight, batch.groups, priors=self.priors, costs=self.costs
            )
        return replace(found, unlabelled=found.unlabelled + batch.unlabelled)

    def in_parts(self, common: Common, missing: tuple[str, ...]) -> Assessment:
        """Return how good the model is at a table that is read in parts."""
        from ..engines import Reading, open_source
        from ..questions.answer_table import adapt_to_table
        from ..questions.assess import JudgedParts, assess_table

        if not is_many(self.data):
            check_readable(self.data)
        fitted, also = self.estimator._fitted, tuple(own for own in (self.weight, self.groups) if own is not None)
        reading = Reading.of(self.schema, fitted.past.dialect, also, self.target, "text", missing, self.sheet)
        source = open_source(self.data, reading)
        names = list(source.schema.names)
        check_named(names, self.target, (), self.weight, self.data, self.groups)
        check_not_read(self.target, self.schema, self.groups)
        columns = [str(name) for name in self.schema.names]
        absent = [name for name in columns if name not in names]
        if absent:
            raise ColumnProblem.absent(absent, names, self.data, "which the model needs")
        if self.adapt:
            with rows_progress(common, "Estimating class priors") as watch:
                self._adapted(adapt_to_table(fitted, source, watch), common)
        read = self.target, self.weight, self.groups, self._labels, self._weights, group_values
        judge = JudgedParts(fitted, tuple(columns), *read, self.priors, self.costs)
        with rows_progress(common, "Judging") as watch:
            return assess_table(fitted, source, judge, watch)

    def _adapted(self, priors: Array, common: Common) -> None:
        self.priors = priors
        remark_priors(self.estimator, priors, self.data, common)

    def _labels(self, column: Column) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        from ..engines.arrow import is_text

        labels = model_labels(self.estimator, column, self.target)
        if is_text(labels.type):
            labels = pc.if_else(pc.equal(labels, ""), pa.scalar(None, labels.type), labels)
        return labels

    def _weights(self, column: Column) -> Array:
        assert self.weight is not None
        return weight_values(column, self.weight)
