"""`suffice compare`: the automatic classifier, models of the lecture notes, scikit-learn's; period by period too."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import SufficeError, align, one_line
from .comparison import (
    Result,
    all_notes,
    behind_the_best,
    curve_of,
    describe,
    render,
    render_curves,
    table_of,
    with_notes,
    with_titles,
)
from .files import check_output, write_table
from .models import (
    MORE_PEERS,
    PEER_TITLES,
    YARDSTICK,
    Fit,
    encode,
    fit_ours,
    fit_peer,
    make_estimator,
    timed_fit,
    usable_columns,
)
from .output import COMMON, Common, Facts, TargetProblem, UsageProblem, page_width, progress
from .parameters import AS_IT_IS, DataPath, Out, Periods, Seed, Switch, TableOptions, Target, Time
from .training import Training, group_numbers, read_training

if TYPE_CHECKING:
    from .._arrays import Codes
    from ..questions.forward import Answer, ForwardValidation


AUTOMATIC = "auto"
ORDER = (AUTOMATIC, "full", "shared", "diagonal", "spherical", "nb", YARDSTICK)

FOLDS = 5
DRAWS, FITS = 2, 20  # of a learning curve, and models in each draw


def compare(
    data: DataPath,
    /,
    *,
    target: Target,
    by: Literal["loo", "folds"] | None = None,
    folds: Annotated[int | None, Parameter(metavar="NUMBER", validator=Between(gte=2))] = None,
    seed: Seed = 0,
    peers: bool = False,
    curve: Switch = False,
    draws: Annotated[int | None, Parameter(metavar="NUMBER", validator=Between(gte=1))] = None,
    time: Time = None,
    periods: Periods = None,
    output: Annotated[
        Out, Parameter(help="With --curve: table to write all points to, in the format of its ending.")
    ] = None,
    table: TableOptions = AS_IT_IS,
    common: Common = COMMON,
) -> None:
    """Compare models on a table, each judged on rows it has not seen.

    The automatic classifier, several models pooled, which is what `suffice fit` learns if not told otherwise; Gaussian
    models with a full covariance per class, one shared covariance, independent columns, or one variance for all
    columns; naive Bayes on numbers and categories; and scikit-learn's logistic regression on standardised numbers and
    one-hot categories, missing numbers replaced by their mean and marked in a column of their own. The simple models
    are judged by exact leave-one-out, which takes no refits; where it would take too many (missing cells or repairs
    with full covariances), and for logistic regression, by stratified cross-validation. The automatic classifier has
    both: the leave-one-out loss that a fit reports, and the loss of cross-validation, which repeats every choice in
    each part. The table says which.

    Parameters
    ----------
    data
        Table with one row per case: text (.csv, .tsv, .txt), Excel (.xlsx), JSON lines (.jsonl), Parquet or
        Arrow; - for standard input.
    by
        `loo`: each row is judged by the model of all other rows, where that is quick. `folds`: every model is judged by
        cross-validation, on the same parts. If not given: `folds` where --folds is given, else `loo`.
    folds
        Number of parts the rows are dealt into; each part in turn is judged by models fitted on the others. 5 if not
        given.
    seed
        Number that fixes which row goes into which part.
    peers
        Add scikit-learn's random forest (300 trees, encoded as for logistic regression) and its histogram gradient
        boosting (missing cells and categories as they are), by cross-validation.
    curve
        Say instead whether more rows would help: the log-loss of each model that learned from a tenth, a fifth, two
        fifths and four fifths of the rows, on rows held out in five folds, and what is expected of twice and four times
        the rows there are.
    draws
        With --curve, how often the rows are dealt into folds; 20 models are fitted each time. 2 if not given.

    Examples
    --------
    $ suffice compare penguins.csv --target species

    $ suffice compare penguins.csv --target species --curve

    $ suffice compare penguins.csv --target species --time year
    """
    order = (*ORDER, *MORE_PEERS) if peers else ORDER
    if curve and (by is not None or folds is not None):
        raise UsageProblem("--curve always judges by five folds. Next: leave out --by and --folds, or --curve.")
    if not curve and (draws is not None or output is not None):
        raise UsageProblem("--draws and --output are for --curve. Next: add --curve, or leave them out.")
    if time is not None and (curve or by is not None or folds is not None):
        raise UsageProblem("--time judges by the next period. Next: leave out --by, --folds and --curve, or --time.")
    if periods is not None and time is None:
        raise UsageProblem("--periods cuts the times of --time. Next: add --time COLUMN, or leave --periods out.")
    check_output(output, [(data, "table")])
    by = by or ("loo" if folds is None else "folds")
    folds = FOLDS if folds is None else folds
    training = read_training(data, target, table, None, common, time)
    if time is not None:
        _show_forward(training, target, time, periods, order, common)
        return
    if curve:
        setup = {**describe(training, target, "folds", FOLDS, seed), "draws": draws or DRAWS}
        _show_curves(setup, training, order, output, common)
        return
    parts = split(training, target, folds, seed)
    with progress(common, "Comparing", len(order) * folds) as advance:
        results = [judge(name, training, parts, by, advance) for name in order]
    setup = {**describe(training, target, by, folds, seed), **behind_the_best(results, [rest for _, rest in parts])}
    document = {**setup, "models": [result.document() for result in results]}
    common.answer(document, "\n".join(render(setup, results, page_width())))


def _show_curves(setup: Facts, training: Training, order: Sequence[str], output: Path | None, common: Common) -> None:
    """Print the learning curves of models, and write their points to a file if one is given."""
    draws, seed = setup["draws"], setup["seed"]
    with progress(common, "Learning", len(order) * draws * FITS) as advance:
        curves = [curve_of(name, training, draws, seed, advance) for name in order]
    if output is not None:
        write_table(table_of(curves), output)
        common.remark(f"Wrote {output}.")
    document = {**setup, "curves": [own.curve_document() for own in curves]}
    common.answer(document, "\n".join(render_curves(setup, curves, page_width())))


def _show_forward(
    training: Training, target: str, time: str, periods: int | None, order: Sequence[str], common: Common
) -> None:
    """Print how good models are at the periods to come."""
    from ..questions.forward import cut_periods
    from ..table.labels import read_times

    period, spans = cut_periods(read_times(training.time, len(training.labels)), periods)
    with progress(common, "Comparing", len(order)) as advance:
        found = [_forward_of(name, training, period, spans, advance) for name in order]
    setup = {"target": target, "time": time, "rows": len(training.labels), "classes": training.classes}
    document = {**setup, "models": [own.forward_document() for own in found]}
    common.answer(document, "\n".join(_render_forward(setup, found, page_width())))


Fold = tuple["Codes", "Codes"]  # rows to learn from, rows to judge


def split(training: Training, target: str, folds: int, seed: int) -> list[Fold]:
    """Return (rows to learn from, rows to judge) of each fold, the classes spread evenly over the folds."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    from .._arrays import np
    from ..stats.rows import content, mixed

    counts = sorted((item["counts"], item["values"]) for item in training.labels.value_counts().to_pylist())
    most, label = counts[-1]
    if most < folds:
        raise TargetProblem(
            f"Column {target!r}: the largest class, {label!r}, has {most} rows, too few for {folds} folds. "
            "Next: give fewer --folds, or more rows."
        )
    labels, groups = training.labels.to_numpy(), group_numbers(training)
    if groups is not None:
        of_group = np.zeros(int(groups.max()) + 1, dtype=np.uint64)
        if len(of_group) < folds:
            raise TargetProblem(
                f"There are {len(of_group)} different rows or groups, too few for {folds} folds. Next: "
                "give fewer --folds, or rows of more groups."
            )
        np.add.at(of_group, groups, mixed(content([encode(training)[0]], len(labels))))
        groups = np.argsort(np.argsort(of_group))[groups]  # numbers that neither names nor the order of columns decide
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds: said in the setup, in our words
        return list(kind(folds, shuffle=True, random_state=seed).split(labels, labels, groups))


def judge(name: str, training: Training, parts: Sequence[Fold], by: str, advance: Callable[[int], None]) -> Result:
    """Return how good one model is, or a note saying why it cannot be fitted to this table."""
    result = Result(name)
    try:
        if name in PEER_TITLES:
            result.columns = list(training.columns.column_names)
            _run_folds(result, training, parts, fit_peer(name, training), advance)
            return result
        result.columns, result.left_out = usable_columns(name, training.columns)
        known = by == "loo" and _judge_itself(result, training)
        if not known or name == AUTOMATIC:  # which has chosen by what it says of itself: folds repeat every choice
            note = None if known else result.note  # said of all rows already
            fit = fit_ours(name, training, result.columns, training.groups, note)
            _run_folds(result, training, parts, fit, advance)
        else:
            advance(len(parts))
    except ValueError as error:  # ours, or scikit-learn on a fold with a single class
        result.own = result.crossed = None
        result.note(one_line(error))
    return result


def _judge_itself(result: Result, training: Training) -> bool:
    """Fill in what a model fitted to all rows says of itself, as `suffice fit` does; return whether it can."""
    from ..losses import row_losses
    from ..questions.quality import LEFT_OUT

    columns = training.columns.select(result.columns)
    given = result.name, columns, training.labels, training.groups
    estimator, seconds = timed_fit(*given)
    if seconds < 1.0:
        estimator, seconds = timed_fit(*given)  # the first fit may load libraries
    result.fit_seconds = seconds
    result.note(*estimator.notes_)
    try:
        found = estimator.quality()
    except SufficeError as error:
        result.note(f"judged by folds: {one_line(error)}")
        return False
    if found.judged_by == LEFT_OUT:
        result.own = found
        if result.name != AUTOMATIC and found.rows == len(training.labels):
            left_out = estimator.leave_one_out(columns, training.labels, groups=training.groups)
            result.lost = row_losses(left_out, training.codes)
    else:
        result.note("judged by folds of the rows it keeps: leaving out each row would estimate again for each")
        result.own, result.crossed = found, found
    return True


def _run_folds(
    result: Result, training: Training, parts: Sequence[Fold], fit: Fit, advance: Callable[[int], None]
) -> None:
    """Judge every row by the model of the parts that it is not in; a class not in its rows has posterior 0."""
    from .._arrays import np
    from ..losses import LabelledRows, row_losses
    from ..questions.quality import FOLDS as BY_FOLDS, judge_answers

    classes, seconds = training.classes, []
    log_posterior = np.empty((len(training.labels), len(classes)))
    for learn, rest in parts:
        model = fit(learn)
        seconds.append(model.seconds)
        log_posterior[rest] = model.log_posterior(rest, classes)
        advance(1)
    result.fit_seconds = median(seconds)  # the first fit may load libraries
    rows = LabelledRows.each(training.codes, len(classes))
    result.crossed = judge_answers(classes, log_posterior, rows, judged_by=BY_FOLDS)
    result.lost = row_losses(log_posterior, training.codes)


# ── `suffice compare --time`: models that learned from the periods before, each judged by the next, side by side ──────


def _forward_of(
    name: str, training: Training, period: Codes, spans: list[tuple[str, str]], advance: Callable[[int], None]
) -> Result:
    """Return how good a model is at each period but the first, or a note saying why that cannot be told.

    `period` (n,) are the numbers of the rows' periods, `spans` the first and the last time of each.
    """
    answer = Result(name)
    try:
        if name in PEER_TITLES:
            answer.forward = _forward_of_peer(fit_peer(name, training), training, period, spans)
        else:
            given = training.columns.select(answer.usable(training)), training.labels, None, training.groups
            found = make_estimator(name).validate_forward(*given, time=period, periods=len(spans))
            since, until = zip(*spans[1:], strict=True)
            answer.forward = replace(found, since=since, until=until)
    except ValueError as error:  # ours, or scikit-learn's of a single class
        answer.note(one_line(error))
    advance(1)
    return answer


def _forward_of_peer(fit: Fit, training: Training, period: Codes, spans: list[tuple[str, str]]) -> ForwardValidation:
    """Return the same of a model of scikit-learn, fitted anew to the rows of all periods before."""
    from .._arrays import np
    from ..questions.forward import Answer, TimedRows, judge_periods
    from ..stats.rows import group_keys
    from ..table.labels import read_groups

    def model(start: int, stop: int) -> Callable[[Codes, bool], Answer]:
        found = fit(np.flatnonzero((period >= start) & (period < stop)))
        own = found.classes.tolist()
        return lambda rows, fully: Answer(own, found.log_posterior(rows, own))

    keys = group_keys(read_groups(training.groups, len(period)), training.columns.column_names)
    rows = TimedRows(period, spans, training.classes, training.codes, None, keys)
    return judge_periods(model, rows, (), level=0.9)


def _render_forward(setup: Facts, models: Sequence[Result], width: int) -> list[str]:
    """Return two tables as lines of text of up to `width` characters: means over all periods, and losses of each."""
    from ..questions.forward import brief, span
    from ..questions.quality import in_nats, in_percent

    known = [(own, own.forward) for own in models if own.forward is not None]
    lines = [f"{setup['rows']:,} rows, {len(setup['classes'])} classes of {setup['target']!r}, by {setup['time']!r}."]
    if known:
        heads = ["model", "", "log-loss", "±", "said", "right", "confidence", "in sets", "best of last", "loses"]
        rows = [heads]
        for result, found in known:
            nats = [brief(own, in_nats) for own in (found.mean("log_loss"), found.mean_error, found.mean("said"))]
            shares = [brief(found.mean(name), in_percent) for name in ("accuracy", "confidence", "coverage")]
            least = found.window_loss[found.windows.index(found.best_window)]
            window = [f"{found.best_window}", in_nats(least)] if len(found.windows) > 1 else ["–", "–"]
            rows.append([result.name, result.title, *nats, *shares, *window])
        first = known[0][1]
        spans = zip(first.since, first.until, first.learned, first.rows, strict=True)
        by_period = [["period", "learned", "judged", *(result.name for result, _ in known)]]
        for t, (since, until, learned, judged) in enumerate(spans):
            losses = [brief(found.log_loss[t], in_nats) for _, found in known]
            by_period.append([span(since, until), f"{learned:,}", f"{judged:,}", *losses])
        legend = (
            "Each model learned from all periods before the one it is judged by: mean of -log p(true class) in nats, ± "
            "its standard error; what it said of itself on rows left out; the share of rows given their true class, "
            "and what it said that would be; the share whose class is in their set of 90 %; from how many of the last "
            "periods it is best learned, and what it then loses. Below, the log-loss of each period."
        )
        lines += ["", *with_titles(rows, width), "", *textwrap.wrap(legend, width), "", *align(by_period, width=width)]
    return with_notes(lines, all_notes(models), width)
