"""`suffice explain`: which columns speak for the class of each row, and how strongly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import visible
from .answers import deliver, model_columns, open_model, read_for
from .files import check_output
from .output import COMMON, Common, Facts, progress
from .parameters import Out, Rows, SavedModel, Sheet

if TYPE_CHECKING:
    from ..engines.arrow import Table
    from ..estimators.base import GenerativeEstimator


def explain(
    model: SavedModel,
    data: Rows,
    /,
    *,
    output: Out = None,
    top: Annotated[int, Parameter(metavar="NUMBER", validator=Between(gte=1))] = 3,
    sheet: Sheet = None,
    common: Common = COMMON,
) -> None:
    """Say of each row which columns speak for its class against the next most probable one.

    A line per row: its number in DATA, from 1, its class, how many to one the odds against the next class are, and the
    columns that move these odds most, each with the logarithm it adds (in nats; 2.3 makes the odds ten times better).
    The logarithms of all columns and of the class priors add up to that of the odds.

    With --json or --output: the numbers of all columns, `prior` for the class priors and `log_odds` their sum.

    Parameters
    ----------
    output
        File to write, in the format of its ending; lines of text on stdout if not given.
    top
        How many columns a line of text names.

    Examples
    --------
    $ suffice explain penguins.suffice new-penguins.csv --top 2
    """
    check_output(output, [(data, "table"), (model, "model")])
    estimator, schema = open_model(model)
    names = [str(name) for name in schema.names]
    table = read_for(estimator, schema, data, sheet=sheet).columns
    rows = model_columns(table, names, data) if schema.named else table
    with progress(common, f"Explaining {data.name}"):
        answer = _answer(estimator, rows, names)
    if output is not None or common.json:
        deliver(answer, output, common, {"classes": estimator.classes_.tolist()}, "explanations")
        return
    for row, cells in zip(answer.to_pylist(), rows.to_pylist(), strict=True):
        print(visible(_line(row, names, cells, top)).replace("\n", "\\n"))


def _answer(estimator: GenerativeEstimator, rows: Table, names: list[str]) -> Table:
    """Return per row its number, its class, the next one, and the log-odds between them by column."""
    import pyarrow as pa

    from .._arrays import np

    posterior, odds = estimator.predict_log_proba(rows), estimator.explain(rows)
    labels, place = estimator.classes_.tolist(), np.arange(len(posterior))
    order = np.argsort(-posterior, axis=1, kind="stable")
    first, second = order[:, 0], order[:, min(1, len(labels) - 1)]
    prior = np.log(estimator.priors_)
    with np.errstate(invalid="ignore"):
        difference = np.nan_to_num(odds[place, :, first] - odds[place, :, second], posinf=np.inf, neginf=-np.inf)
    taken = {
        "row": place + 1,
        "class": [labels[c] for c in first],
        "against": [labels[c] for c in second],
        "log_odds": posterior[place, first] - posterior[place, second],
        "prior": prior[first] - prior[second],
    }
    columns = {name: difference[:, j] for j, name in enumerate(names)}
    answer: Table = pa.table(taken | {f"by_{name}": values for name, values in columns.items()})
    return answer


def _line(row: Facts, names: list[str], cells: Facts, top: int) -> str:
    ranked = sorted(names, key=lambda name: -abs(row[f"by_{name}"]))[:top]
    odds = math.exp(min(row["log_odds"], 700.0))
    size = f"{odds:,.1f}" if odds < 1000 else f"{odds:.1e}"
    said = [
        f"{name}={cell_as_text(value)} {row[f'by_{name}']:+.2f}"
        for name, value in zip(ranked, map(cells.get, ranked), strict=True)
    ]
    return f"{row['row']}: {row['class']}, {size} to 1 against {row['against']}: {', '.join(said)}"


def cell_as_text(value: object) -> str:
    """Return a cell as it is shown beside what it adds."""
    return "missing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
