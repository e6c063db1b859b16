"""`suffice labels`: which labels of a table are probably wrong, and what speaks against them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import quoted
from .answers import deliver
from .explain import cell_as_text
from .files import check_output
from .models import ModelName, make_estimator, usable_columns
from .output import COMMON, Common, Facts, progress
from .parameters import (
    Answers,
    AutoDrop,
    DataPath,
    DateOrder,
    Groups,
    KeepSpaces,
    Labels,
    LeftOut,
    Missing,
    Sheet,
    Target,
    Weight,
)
from .problems import UsageProblem, count
from .training import Training, read_training

if TYPE_CHECKING:
    from .._arrays import Array, Codes
    from ..engines.arrow import Table
    from ..estimators.base import GenerativeEstimator


def labels(
    data: DataPath,
    /,
    *,
    target: Target,
    output: Answers = None,
    fdr: Annotated[float, Parameter(metavar="NUMBER", validator=Between(gt=0, lt=1))] = 0.1,
    model: ModelName = "auto",
    top: Annotated[int, Parameter(metavar="NUMBER", validator=Between(gte=1))] = 3,
    drop: LeftOut = (),
    weight: Weight = None,
    groups: Groups = None,
    labels: Labels = None,
    missing_text: Missing = (),
    keep_spaces: KeepSpaces = False,
    sheet: Sheet = None,
    dates: DateOrder = None,
    auto_drop: AutoDrop = False,
    common: Common = COMMON,
) -> None:
    """Say which labels of a table are probably wrong.

    A model is fitted to the table, and each label judged by what the model says of the row had it not learned it. One
    row out per suspect, the worst first: its row number in DATA, from 1, the label given, how probable it is that this
    is wrong (p_wrong), the likeliest other label, and the cells that speak most for that one against the one given,
    each with the logarithm of the odds it adds (in nats). Rows between classes that overlap are no suspects. Rows
    without a label are left out.

    Parameters
    ----------
    data
        Table with one row per case: text (.csv, .tsv, .txt), Excel (.xlsx), JSON lines (.jsonl), Parquet or
        Arrow; - for standard input.
    fdr
        The share of the suspects whose label is expected to be right after all: less of it, fewer suspects.
    model
        What judges; see `suffice fit`. A mixture cannot leave rows out.
    top
        How many cells are named.
    missing_text
        Text of a CSV that means a missing cell, such as NA; may be repeated. An empty cell always does; in the target
        nothing else, elsewhere also NA, NaN, null, ? and the like.

    Examples
    --------
    $ suffice labels penguins.csv --target species --fdr 0.1 -o suspects.csv
    """
    if model == "mixture":
        raise UsageProblem("--model mixture leaves no row out: EM would run again for each. Next: --model auto.")
    check_output(output, [(data, "table")])
    with progress(common, f"Judging the labels of {data.name}"):
        how: Facts = {"drop": drop, "labels": labels, "missing": missing_text, "keep_spaces": keep_spaces}
        how |= {"weight": weight, "groups": groups, "sheet": sheet, "dates": dates, "auto_drop": auto_drop}
        training = read_training(data, target, common=common, **how)
        used, left_out = usable_columns(model, training)
        columns = training.columns.select(used)
        estimator = make_estimator(model).fit(columns, training.labels, training.weight, training.groups)
        wrong, flagged, other = _judge(estimator, columns, training, fdr)
        answer = _suspects(estimator, columns, training, (wrong, flagged, other), top)
    if left_out:
        common.remark(f"--model {model} uses numeric and boolean columns, so it leaves out {quoted(left_out)}.")
    expected = float(wrong.sum())
    common.remark(
        f"About {expected:.3g} of {count(len(wrong), 'label')} are wrong by their probabilities; "
        f"{count(len(flagged), 'suspect')}, of which about {100 * fdr:g} % are right after all."
    )
    facts = {"judged": len(wrong), "expected_wrong": expected, "fdr": fdr, "classes": estimator.classes_.tolist()}
    deliver(answer, output, common, facts, "suspects")


def _judge(
    estimator: GenerativeEstimator, columns: Table, training: Training, fdr: float
) -> tuple[Array, Codes, Codes]:
    """Return p(wrong) of every label, the rows flagged, worst first, and the likeliest other class of each row."""
    from .._arrays import np
    from ..questions.suspect_labels import flag_labels, judge_labels

    judged = judge_labels(estimator._fitted, columns, training.labels, training.weight, training.groups)
    wrong = judged.wrong
    flagged = np.flatnonzero(flag_labels(wrong, fdr))
    return wrong, flagged[np.argsort(-wrong[flagged], kind="stable")], judged.likeliest_other()


def _suspects(
    estimator: GenerativeEstimator,
    columns: Table,
    training: Training,
    found: tuple[Array, Codes, Codes],
    top: int,
) -> Table:
    """Return a row per suspect: number, given label, p(wrong), likeliest other label, and what speaks against it."""
    import pyarrow as pa

    from .._arrays import np

    wrong, flagged, other = found
    classes = estimator.classes_.tolist()
    given = training.labels.take(flagged)
    place = np.array([classes.index(label) for label in given.to_pylist()], dtype=np.int64)
    because = list[str]()
    if len(flagged):
        rows = columns.take(flagged)
        odds, every = estimator.explain(rows), np.arange(len(flagged))
        with np.errstate(invalid="ignore"):
            against = np.nan_to_num(odds[every, :, other[flagged]] - odds[every, :, place], posinf=np.inf)
        because = [
            _because(cells, columns.column_names, row, top)
            for cells, row in zip(rows.to_pylist(), against, strict=True)
        ]
    assert training.numbers is not None
    answer: Table = pa.table(
        {
            "row": pa.array(training.numbers[flagged], pa.int64()),
            "given": given,
            "p_wrong": pa.array(wrong[flagged], pa.float64()),
            "likeliest_other": pa.array([classes[c] for c in other[flagged]], given.type),
            "because": pa.array(because, pa.string()),
        }
    )
    return answer


def _because(cells: dict[str, object], names: list[str], against: Array, top: int) -> str:
    """Return the cells that speak most for the other label, each with the nats that it adds."""
    order = sorted(range(len(names)), key=lambda j: -against[j])[:top]
    told = [j for j in order if against[j] > 0]
    return ", ".join(f"{names[j]}={cell_as_text(cells[names[j]])} {against[j]:+.2f}" for j in told)
