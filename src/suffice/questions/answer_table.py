"""Answer for every row of a table of any size, in parts, into a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .._arrays import Array, np
from .._files import format_of
from ..errors import SourceError
from ..fitted import Fitted
from ..learning.opening import open_table
from ..tasks import classify
from ..tasks.conformal import class_sets
from .decide import adapt_priors, log_posterior
from .sets import threshold

if TYPE_CHECKING:
    from ..engines import Progress, Source, Watcher
    from ..engines.arrow import Table


def predict_table(
    fitted: Fitted,
    source: object,
    output: str | os.PathLike[str],
    *,
    priors: object,
    reject: float | None,
    keep: Sequence[str],
    alpha: float | None,
    progress: Callable[[Progress], None] | None,
) -> int:
    """Write the answers for every row of a table to a file; return their number."""
    from ..engines import answer, write_tables

    opened, names = _opened(fitted, source)
    opened.check_columns(list(keep), "to keep")
    kept = {name: opened.written(name) if _as_text(output, name, names) else name for name in keep}
    if isinstance(priors, str) and priors == "adapt":
        priors = _adapted(fitted, opened, names, progress)
    if alpha is not None:
        _ = fitted.left_out_rows  # once for all parts
    kernel = Answers(fitted, priors, reject, kept, tuple(names), alpha)
    read = list(dict.fromkeys([*names, *kept.values()]))
    width = len(fitted.labels) * (1 if alpha is None else 2) + 2
    return write_tables(Path(output), answer(opened, read, kernel, width=width, progress=progress))


def adapt_to_table(fitted: Fitted, source: object, progress: Watcher | None) -> Array:
    """Return the class priors (k,) under which the rows of a table are most likely."""
    return _adapted(fitted, *_opened(fitted, source), progress)


def _opened(fitted: Fitted, given: object) -> tuple[Source, list[str]]:
    """Return a source of rows to be answered for, and the model's columns in it."""
    opened, schema = open_table(given, fitted.schema, fitted.past.dialect), fitted.schema
    names = [str(name) for name in schema.names] if schema.named else list(opened.schema.names)
    opened.check_columns(names, "which the model needs")
    return opened, names


def _adapted(fitted: Fitted, source: Source, names: Sequence[str], progress: Watcher | None) -> Array:
    from ..engines import answer

    if source.once:
        raise SourceError.read_once('predict_table with priors="adapt"', "twice")
    kernel = Posteriors(fitted, tuple(names))
    parts = list(answer(source, names, kernel, width=len(fitted.labels), progress=progress))
    if not parts:
        raise SourceError.no_rows(source.name)
    return adapt_priors(fitted, np.concatenate(parts))


def _as_text(output: str | os.PathLike[str], name: str, used: Sequence[str]) -> bool:
    """Return whether a column is kept cell by cell as it was written: in a CSV, and wherever the model has no use."""
    return name not in used or format_of(Path(output)) == "CSV"


@dataclass(frozen=True)
class Posteriors:
    """The kernel of a first pass over rows to be answered for: their posteriors under equal priors."""

    fitted: Fitted
    columns: tuple[str, ...]

    def __call__(self, table: Table) -> Array:
        """Return log posteriors (n, k) of the rows of a pyarrow table."""
        return log_posterior(self.fitted, table.select(list(self.columns)), "uniform")


@dataclass(frozen=True)
class Answers:
    """The kernel of a prediction: from a batch of a table to a table of answers."""

    fitted: Fitted
    priors: object
    reject: float | None
    keep: dict[str, str]  # names of columns to copy, and of what is copied
    columns: tuple[str, ...]
    alpha: float | None = None

    def __call__(self, table: Table) -> Table:
        """Answer for the rows of a pyarrow table."""
        from ..engines import answers_table

        rows = self.fitted.rows(table.select(list(self.columns)))
        posterior, density = self.fitted.posterior_and_density(rows, self.priors)
        choice = classify.decide(posterior, None, self.reject)
        labels = self.fitted.labels.tolist()
        columns = [(f"p_{label}", p) for label, p in zip(labels, np.exp(posterior).T, strict=True)]
        columns.append(("log_density", density))
        if self.alpha is not None:
            own = posterior if self.priors is None else self.fitted.log_posterior(rows)
            inside = class_sets(own, threshold(self.fitted, self.alpha)).T
            columns += [(f"in_{label}", own) for label, own in zip(labels, inside, strict=True)]
        kept = table.select(list(self.keep.values())).rename_columns(list(self.keep)) if self.keep else None
        return answers_table(labels, choice, columns, kept)
