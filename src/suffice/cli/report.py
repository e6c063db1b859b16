"""`suffice report`: a model as one web page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .files import check_readable, check_writable
from .output import Common, print_json, progress


def report(
    model: Annotated[Path, Parameter(metavar="MODEL")],
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="PAGE")] = None,
    common: Common = Common(),  # noqa: B008 - frozen, so it can be shared
) -> None:
    """Write a web page about a model: how good it is, its classes and columns, pictures, and what was repaired.

    Quality is judged by leave-one-out on the rows that the model file keeps. The page is one file that loads nothing,
    has no script, and can be printed or sent by mail.

    Parameters
    ----------
    model
        File that `suffice fit` wrote.
    output
        File to write; the model's name with the ending .html if not given. With --json and without this option, the
        facts are printed and no page is written.

    Examples
    --------
    $ suffice report penguins.suffice -o penguins.html
    """
    from .. import load

    facts_only = common.json and output is None
    target = model.with_suffix(".html") if output is None else output
    if not facts_only:
        check_writable(target, [(model, "model")])
    check_readable(model)
    estimator = load(model)
    if common.json:
        from ..report import collect_facts

        print_json(collect_facts(estimator))
    if not facts_only:
        with progress(common, f"Drawing {model.name}"):
            estimator.to_html(target)
        common.remark(f"Wrote {target}.")
