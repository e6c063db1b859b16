"""`suffice outliers`: how unlike anything seen each row of a table is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from .answers import deliver, free_name, open_model, read_rows
from .files import check_output
from .output import COMMON, Common, progress
from .parameters import Answers, Rows, SavedModel, Sheet, Switch
from .problems import count

if TYPE_CHECKING:
    from .._arrays import Array

SMALL, SURE, FEW = 0.05, 3.0, 5  # p-values that are counted; standard deviations, and rows, below which nothing is said


def outliers(
    model: SavedModel,
    data: Rows,
    /,
    *,
    output: Answers = None,
    below: Annotated[float | None, Parameter(metavar="NUMBER", validator=Between(gt=0, lte=1))] = None,
    by_class: Switch = False,
    keep: Switch = False,
    sheet: Sheet = None,
    common: Common = COMMON,
) -> None:
    """Say of each row how likely a row of the model is at least as far out.

    One row out per row in: its number in DATA, from 1, its p_value and its log_density (in nats). Of rows like those
    the model was fitted on, 5 % have a p-value below 0.05. Cells may be missing. What they are compared with is said
    on stderr: an exact law, or so many rows that models of the others have not seen.

    Parameters
    ----------
    below
        Only rows with p-values up to this; with --by-class, rows that are as far out from every class.
    by_class
        A column p_value_CLASS per class in the place of p_value: how likely a row of the class is at least as far out
        from it. So rows of a wide, rare class do not look odd more often than others.
    keep
        Copy the columns of DATA beside the answers.

    Examples
    --------
    $ suffice outliers penguins.suffice new-penguins.csv --below 0.01
    """
    import pyarrow as pa

    check_output(output, [(data, "table"), (model, "model")])
    estimator, schema = open_model(model)
    read, rows = read_rows(estimator, schema, data, sheet)
    table = read.kept(rows.column_names, output, common.json)
    with progress(common, f"Judging {data.name}"):
        p_values = estimator.outlier_pvalues(rows, by_class=by_class)
        names = [f"p_value_{label}" for label in estimator.classes_.tolist()] if by_class else ["p_value"]
        found = dict(zip(names, p_values.T if by_class else [p_values], strict=True))
        found["log_density"] = estimator.score_samples(rows)
    largest = p_values.max(axis=1) if by_class else p_values
    number = free_name("row", "outlier_", table.column_names if keep else [], common)
    answers = table.add_column(0, number, pa.array(range(1, table.num_rows + 1)))
    answers = answers if keep else answers.select([number])
    for name, values in found.items():
        answers = answers.append_column(free_name(name, "outlier_", answers.column_names, common), pa.array(values))
    common.remark(f"P-values: {estimator.outlier_reference_}.")
    few = largest <= (1.0 if below is None else below)
    told = 0.01 if below is None else below
    number_of = int((largest <= told).sum())
    every = " for every class" if by_class else ""
    written = ", which is what comes out" if below is not None and below < 1 else ""
    common.remark(f"{count(number_of, 'row')} of {table.num_rows:,} with a p-value up to {told:g}{every}{written}.")
    doubt = _doubt(largest, uniform=not by_class)
    if doubt:
        common.remark(doubt)
    deliver(answers.filter(pa.array(few)), output, common, {"judged": table.num_rows}, "outliers")


def _doubt(p_values: Array, uniform: bool = True) -> str | None:
    """Return what to say where more, or fewer, p-values are small than chance explains, None where that is not so.

    Those that are not `uniform` are the largest of several, so that few of them being small says nothing.

    Of n rows like those learned a share of 5 % is up to 0.05, give or take √(0.05 · 0.95 (1 / n + 1 / m)) for m rows to
    compare with; m is taken for n, so that the note errs on the side of silence.
    """
    n = len(p_values)
    if not n:
        return None
    small, spread = float((p_values <= SMALL).mean()), (SMALL * (1.0 - SMALL) * 2.0 / n) ** 0.5
    told = f"Note: {small:.2g} of the rows have a p-value up to {SMALL:g}, where {SMALL:g} of new rows would. "
    if small > SMALL + SURE * spread and small * n >= FEW:
        return told + (
            "So either many rows here are unlike what the model knows, or its densities do not fit such rows, and "
            "p-values rank rows rather than count them. `suffice drift` says which columns have moved."
        )
    if uniform and small < SMALL - SURE * spread:
        return told + "So few are as if the model had learned these very rows, and p-values are those of new ones."
    return None
