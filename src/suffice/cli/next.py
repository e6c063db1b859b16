"""`suffice next`: which of the missing cells of each row tell most of its class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import DataError
from ..schema import Name, Schema
from .answers import deliver, open_model, read_rows
from .files import check_output, read_table
from .output import COMMON, Common, progress
from .parameters import Answers, Rows, SavedModel, Sheet
from .problems import ColumnProblem, UsageProblem, count

if TYPE_CHECKING:
    from .._arrays import Array, NDArray, np
    from ..engines.arrow import Column, Table

COLUMN, COST = "column", "cost"  # of a file of costs


def next_(
    model: SavedModel,
    data: Rows,
    /,
    *,
    output: Answers = None,
    top: Annotated[int, Parameter(metavar="NUMBER", validator=Between(gte=1))] = 3,
    costs: Annotated[tuple[str, ...], Parameter(metavar="COLUMN=NUMBER|FILE", show_default=False)] = (),
    sheet: Sheet = None,
    common: Common = COMMON,
) -> None:
    """Say of each row which missing cells to ask for next: those expected to tell most of its class.

    One row out per row in: its number in DATA, from 1, its class as things stand, the entropy of that (in nats: 0 where
    the class is sure, 0.69 for an even choice of two), and the missing cells that tell most, best first: their columns
    ask_1, ask_2, … and how much of the entropy knowing each takes away on average, gain_1, gain_2, …. These are empty
    where fewer cells are missing.

    Parameters
    ----------
    top
        How many columns to name.
    costs
        What asking costs, by which gains are divided: COLUMN=NUMBER, once for each column (the others cost 1), or a
        table with the columns `column` and `cost`.

    Examples
    --------
    $ suffice next penguins.suffice new-penguins.csv --top 2
    $ suffice next penguins.suffice new-penguins.csv --costs sex=20
    """
    import pyarrow as pa

    from ..questions.information_gain import entropy

    check_output(output, [(data, "table"), (model, "model")])
    estimator, schema = open_model(model)
    _, rows = read_rows(estimator, schema, data, sheet)
    price = read_costs(costs, schema)
    with progress(common, f"Looking ahead in {data.name}"):
        gain = estimator.information_gain(rows, costs=price or None)
        posterior = estimator.predict_proba(rows)
    labels = estimator.classes_.tolist()
    answers = pa.table({"row": range(1, rows.num_rows + 1), "label": [labels[c] for c in posterior.argmax(axis=1)]})
    answers = answers.append_column("entropy", pa.array(entropy(posterior)))
    answers = _ranked(answers, gain, rows, [str(name) for name in schema.names], min(top, len(schema)))
    worth = int((gain.max(axis=1, initial=0.0) > 0).sum())
    common.remark(f"{count(worth, 'row')} with a missing cell that tells something.")
    deliver(answers, output, common, {"costs": price, "classes": labels}, "next")


next_.__name__ = "next"


def _ranked(answers: Table, gain: Array, rows: Table, names: Sequence[str], top: int) -> Table:
    """Return the table with the names and gains of the best missing cells of each row."""
    import pyarrow as pa

    from .._arrays import np

    empty = np.column_stack([_missing(column) for column in rows.columns])
    order = np.argsort(np.where(empty, -gain, np.inf), axis=1, kind="stable")
    every = np.arange(len(gain))
    for place in range(top):
        best = order[:, place]
        known = ~empty[every, best]
        asked = [None if own else names[j] for own, j in zip(known, best, strict=True)]
        answers = answers.append_column(f"ask_{place + 1}", pa.array(asked, pa.string()))
        answers = answers.append_column(f"gain_{place + 1}", pa.array(gain[every, best], mask=known))
    return answers


def _missing(column: Column) -> NDArray[np.bool_]:
    """Return which cells of a column are missing (n,), NaN among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: NDArray[np.bool_] = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)).to_numpy()
    return found


def read_costs(words: Sequence[str], schema: Schema) -> dict[Name, float]:
    """Return the costs that the command line states by column name."""
    known = {str(name): name for name in schema.names}
    given: dict[str, float] = {}
    for word in words:
        name, mark, number = word.rpartition("=")
        try:
            given[name] = float(number) if mark else 0.0
        except ValueError:
            mark = ""
        if not mark:
            given.pop(name, None)
            given |= _costs_of_file(Path(word), word)
    return {known.get(name, name): cost for name, cost in given.items()}


def _costs_of_file(path: Path, word: str) -> dict[str, float]:
    if not path.suffix:
        raise UsageProblem(f"--costs {word!r} is neither COLUMN=NUMBER nor a table of costs.")
    table = read_table(path)
    absent = [name for name in (COLUMN, COST) if name not in table.column_names]
    if absent:
        raise ColumnProblem.absent(absent, table.column_names, path, "which a table of costs has")
    pairs = zip(table.column(COLUMN).to_pylist(), table.column(COST).to_pylist(), strict=True)
    found: dict[str, float] = {}
    for name, cost in pairs:
        if name is None or not isinstance(cost, int | float):
            raise DataError(
                f"{str(path)!r} gives the column {name!r} the cost {cost!r}, which is no number. "
                "Next: write a column's name and a positive number in every line."
            )
        found[str(name)] = float(cost)
    return found
