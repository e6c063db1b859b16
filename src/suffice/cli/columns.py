"""`suffice columns`: what each column of a model is worth, and which few serve as well as all."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import align, visible
from .answers import open_model
from .output import COMMON, Common, print_json, progress
from .parameters import SavedModel
from .problems import count


def columns(
    model: SavedModel,
    /,
    *,
    within: Annotated[float, Parameter(metavar="NATS", validator=Between(gte=0))] = 0.01,
    common: Common = COMMON,
) -> None:
    """Say what each column is worth, and which few columns serve as well as all.

    A column is worth what the model loses, in nats of log-loss, where its cells are unknown: each of the rows that the
    model keeps is judged by the model of all others, with the column and without it. Below 0 the model does better
    without it. No table is needed, and nothing is fitted again. Of a model that was fitted with --groups whole groups
    leave, and standard errors are those of groups drawn whole.

    Parameters
    ----------
    within
        By how many nats the fewest columns may lose more than all.

    Examples
    --------
    $ suffice columns penguins.suffice --within 0.01
    """
    estimator, schema = open_model(model)
    with progress(common, f"Judging the columns of {model.name}"):
        found, few = estimator.importance(), estimator.smallest_columns(within)
    table = found.to_dict()
    if common.json:
        rows = zip(table["column"], table["mean"], table["standard_error"], found.order.tolist(), strict=True)
        print_json(
            {
                "loss": found.loss,
                "rows": found.rows,
                **({} if found.groups is None else {"groups": found.groups}),
                "judged_by": found.judged_by,
                "columns": [
                    {
                        "column": name,
                        "mean": mean,
                        "standard_error": error,
                        "by_class": [
                            {"label": label, "mean": own[j]}
                            for label, own in zip(found.classes, found.by_class.tolist(), strict=True)
                        ],
                    }
                    for name, mean, error, j in rows
                ],
                "within": within,
                "smallest_columns": few,
            }
        )
        return
    lines = [["column", "worth", "standard error"]]
    for name, mean, error in zip(table["column"], table["mean"], table["standard_error"], strict=True):
        lines.append([str(name), f"{mean:+.4f}", f"{error:.4f}"])
    print(visible("\n".join(align(lines))))
    print()
    named = ", ".join(visible(str(name)) for name in few) if few else "none: the shares of the classes alone"
    print(f"{len(few)} of {count(len(schema), 'column')} within {within:g} nats of all: {named}")
    groups = "" if found.groups is None else f" in {count(found.groups, 'group')}"
    common.remark(
        f"In nats of log-loss, which is {found.loss:.4f} with all columns, over {count(found.rows, 'row')} kept"
        f"{groups}, by {found.judged_by}."
    )
