"""Answer for every row of a table of any size, in parts, into a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._arrays import Array, np
from .._dialect import Remark
from .._files import format_of
from ..conformal import Limits
from ..errors import SourceError, either, setting
from ..fitted import Fitted
from ..joint import decide
from ..learning.parts import open_table, remark_spaces
from ..table import add_missing
from ..vocabulary import UnseenLevel, sentences, united
from .decide import adapt_priors, check_costs, log_posterior
from .proba_interval import check_interval, probability_interval
from .sets import in_sets, set_limits

if TYPE_CHECKING:
    from ..engines import Progress, Source, Watcher
    from ..engines.arrow import Table


def predict_table(
    fitted: Fitted,
    source: object,
    output: str | os.PathLike[str],
    *,
    priors: object,
    costs: object,
    reject: float | None,
    keep: Sequence[str],
    alpha: float | None,
    by_class: bool,
    interval: float | None,
    progress: Callable[[Progress], None] | None,
    sheet: str | None = None,
    missing_columns: str = "error",
) -> int:
    """Write the answers for every row of a table to a file; return their number."""
    from ..engines import answer, write_tables

    opened, names = _opened(fitted, source, sheet, missing_columns)
    opened.check_columns(list(keep), "to keep")
    kept = {
        name: opened.written(name) if opened.csv is None or _as_text(output, name, names) else name for name in keep
    }
    if isinstance(priors, str) and priors == "adapt":
        priors = adapt_to_source(fitted, opened, names, progress)
    asked: dict[str, Any] = {"costs": costs, "reject": reject, "alpha": alpha, "by_class": by_class}
    kernel = answers_of(fitted, names, priors=priors, interval=interval, keep=kept, **asked)
    read = list(dict.fromkeys([*names, *kept.values()]))
    width = len(answer_names(fitted, alpha is not None, interval is not None))
    rows = write_tables(Path(output), answer(opened, read, kernel, width=width, progress=progress))
    remark_spaces(opened, may_keep=False)
    for told in sentences(united(kernel.unseen)):
        warnings.warn(f"{told}.", Remark, stacklevel=3)
    return rows


def adapt_to_table(fitted: Fitted, source: object, progress: Watcher | None, missing_columns: str = "error") -> Array:
    """Return the class priors (k,) under which the rows of a table are most likely."""
    return adapt_to_source(fitted, *_opened(fitted, source, None, missing_columns), progress)


def _opened(fitted: Fitted, given: object, sheet: str | None, missing_columns: str) -> tuple[Source, list[str]]:
    """Return a source of rows to be answered for, and the model's columns in it."""
    opened, schema = open_table(given, fitted.schema, fitted.dialect, sheet=sheet), fitted.schema
    names = [str(name) for name in schema.names] if schema.named else list(opened.schema.names)
    if missing_columns == "missing":
        there = set(opened.schema.names)
        names = [name for name in names if name in there]
    opened.check_columns(names, f"which the model needs (or {setting('missing_columns', 'missing')})")
    return opened, names


def adapt_to_source(fitted: Fitted, source: Source, names: Sequence[str], progress: Watcher | None) -> Array:
    """Return the class priors (k,) under which the rows of a source, read by these columns, are most likely."""
    from ..engines import answer

    if source.once:
        raise SourceError.read_once(either('predict_table with priors="adapt"', "--priors adapt"), "twice")
    kernel = partial(_equal_posteriors, fitted, tuple(names))
    parts = list(answer(source, names, kernel, width=len(fitted.labels), progress=progress))
    if not parts:
        raise SourceError.no_rows(source.name)
    return adapt_priors(fitted, np.concatenate(parts))


def _as_text(output: str | os.PathLike[str], name: str, used: Sequence[str]) -> bool:
    """Return whether a column is kept cell by cell as it was written: in a CSV, and wherever the model has no use."""
    return name not in used or format_of(Path(output)) == "CSV"


def _equal_posteriors(fitted: Fitted, columns: Sequence[str], table: Table) -> Array:
    """Return log posteriors (n, k) of the rows of a pyarrow table under equal priors."""
    return log_posterior(fitted, add_missing(table.select(list(columns)), fitted.schema), "uniform")


def answer_names(fitted: Fitted, sets: bool, intervals: bool) -> list[str]:
    """Return the names of the columns of answers, in their order."""
    labels = fitted.labels.tolist()
    inside = [f"in_{label}" for label in labels] if sets else []
    ends = [f"{end}_{label}" for label in labels for end in ("low", "high")] if intervals else []
    return ["label", *(f"p_{label}" for label in labels), "log_density", *inside, *ends]


def answers_of(
    fitted: Fitted,
    columns: Sequence[str],
    *,
    priors: object,
    costs: object,
    reject: float | None,
    alpha: float | None,
    by_class: bool,
    interval: float | None,
    keep: Mapping[str, str] | None = None,
) -> Answers:
    """Return what answers for rows with these columns; SettingError and DataError as each question has them."""
    if interval is not None:
        check_interval(fitted, interval)
    limits = None if alpha is None else set_limits(fitted, alpha, by_class)
    matrix = None if costs is None else check_costs(costs, fitted.statistics.classes)
    return Answers(fitted, priors, reject, keep or {}, tuple(columns), limits, matrix, interval=interval)


@dataclass(frozen=True)
class Answers:
    """The kernel of a prediction: from a batch of a table to a table of answers."""

    fitted: Fitted
    priors: object
    reject: float | None
    keep: Mapping[str, str]  # names of columns to copy, and of what is copied
    columns: tuple[str, ...]
    limits: Sequence[Limits] | None = None  # of sets
    costs: Array | None = None
    unseen: list[UnseenLevel] = field(default_factory=list)  # the levels never seen, told of each part
    interval: float | None = None  # the level of intervals of probabilities

    def __call__(self, table: Table) -> Table:
        """Answer for the rows of a pyarrow table."""
        from ..engines import answers_table

        whole = add_missing(table.select(list(self.columns)), self.fitted.schema)
        rows, unseen = self.fitted.rows_and_unseen(whole)
        self.unseen.extend(unseen)
        posterior, density = self.fitted.posterior_and_density(rows, self.priors)
        choice = decide(posterior, self.costs, self.reject)
        columns = [*np.exp(posterior).T, density]
        if self.limits is not None:
            own = posterior if self.priors is None else self.fitted.log_posterior(rows)
            columns += [*in_sets(self.fitted, rows, own, self.limits).T]
        if self.interval is not None:
            asked = self.fitted if self.priors is None else self.fitted.with_priors(self.priors)
            ends = probability_interval(asked, rows, self.interval)
            columns += [end for of_class in ends.transpose(1, 2, 0) for end in of_class]
        kept = table.select(list(self.keep.values())).rename_columns(list(self.keep)) if self.keep else None
        names = answer_names(self.fitted, self.limits is not None, self.interval is not None)
        return answers_table(names, self.fitted.labels.tolist(), choice, columns, kept)
