"""`suffice explain`, `outliers` and `next`: why a row gets its class, how odd it is, and which cell to ask for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import DataError, SourceError, count, cut, visible
from ..schema import Name, Schema
from .answers import deliver, free_name, load_model, named_number, read_rows
from .files import check_output, read_table
from .output import COMMON, Common, Facts, UsageProblem, progress
from .parameters import Answers, IntervalLevel, MissingColumns, Out, Rows, SavedModel, Sheet, Switch

if TYPE_CHECKING:
    from .._arrays import Array
    from ..engines.arrow import Table
    from ..estimators.base import GenerativeEstimator


def explain(
    model: SavedModel,
    data: Rows,
    /,
    *,
    output: Out = None,
    top: Annotated[int, Parameter(metavar="NUMBER", validator=Between(gte=1))] = 3,
    interval: IntervalLevel = None,
    sheet: Sheet = None,
    missing_columns: MissingColumns = "error",
    common: Common = COMMON,
) -> None:
    """Explain each row: which columns speak for its class against the next most probable one.

    A line per row: its number in DATA, from 1, its class, how many to one the odds against the next class are, and the
    columns that move these odds most, each with the logarithm it adds (in nats; 2.3 makes the odds ten times better).
    The logarithms of all columns and of the class priors add up to that of the odds. Of a text the words that move them
    most stand behind it, in brackets.

    With --json or --output: the numbers of all columns, `prior` for the class priors and `log_odds` their sum; with
    --interval, also the `probability` of the class, and `low` and `high` around it.

    Parameters
    ----------
    output
        File to write, in the format of its ending; lines of text on stdout if not given.
    top
        How many columns a line of text names.
    interval
        Say how sure the probability of the class is, by an interval of this level (see `suffice predict --interval`).

    Examples
    --------
    $ suffice explain penguins.suffice new-penguins.csv --top 2
    """
    from ..estimate.families import text_positions

    check_output(output, [(data, "table"), (model, "model")])
    estimator = load_model(model)
    names = [str(name) for name in estimator._fitted.schema.names]
    _, rows = read_rows(estimator, data, sheet, missing_columns)
    with progress(common, f"Explaining {data.name}"):
        answer = _answer(estimator, rows, names, interval)
    if output is not None or common.json:
        deliver(answer, output, common, {"classes": estimator.classes_.tolist()}, "explanations")
        return
    texts = text_positions(estimator._fitted.blocks)
    words = estimator.explain(rows, words=True) if texts else [{}] * rows.num_rows
    place = {label: i for i, label in enumerate(estimator.classes_.tolist())}
    for row, cells, said in zip(answer.to_pylist(), rows.to_pylist(), words, strict=True):
        sides = place[row["class"]], place[row["against"]]
        told = {str(name): _words(own, *sides, top) for name, own in said.items()}
        print(visible(_line(row, names, cells, top, told)).replace("\n", "\\n"))


def _answer(estimator: GenerativeEstimator, rows: Table, names: list[str], interval: float | None) -> Table:
    """Return per row its number, its class, how sure that is, the next one, and the log-odds between them by column."""
    import pyarrow as pa

    from .._arrays import np
    from ..questions.explain import odds_between

    posterior, odds = estimator.predict_log_proba(rows), estimator.explain(rows)
    labels, place = estimator.classes_.tolist(), np.arange(len(posterior))
    order = np.argsort(-posterior, axis=1, kind="stable")
    first, second = order[:, 0], order[:, min(1, len(labels) - 1)]
    prior = np.log(estimator.priors_)
    difference = odds_between(odds, first, second)
    taken = {
        "row": place + 1,
        "class": [labels[c] for c in first],
        "against": [labels[c] for c in second],
        "log_odds": posterior[place, first] - posterior[place, second],
        "prior": prior[first] - prior[second],
    }
    if interval is not None:
        ends = estimator.predict_proba_interval(rows, interval)[place, first].T
        taken |= dict(zip(("probability", "low", "high"), (np.exp(posterior[place, first]), *ends), strict=True))
    columns = {name: difference[:, j] for j, name in enumerate(names)}
    return pa.table(taken | {f"by_{name}": values for name, values in columns.items()})


def _words(words: Mapping[str, Array], first: int, second: int, top: int) -> str:
    """Return the words of a text that move the odds of two classes most, with what each adds."""
    odds = {word: float(own[first] - own[second]) for word, own in words.items()}
    ranked = sorted(odds, key=lambda word: -abs(odds[word]))[:top]
    return f" ({', '.join(f'{word} {odds[word]:+.2f}' for word in ranked)})" if ranked else ""


def _line(row: Facts, names: list[str], cells: Facts, top: int, words: Mapping[str, str]) -> str:
    ranked = sorted(names, key=lambda name: -abs(row[f"by_{name}"]))[:top]
    odds = math.exp(min(row["log_odds"], 700.0))
    size = f"{odds:,.1f}" if odds < 1000 else f"{float(f'{odds:.2g}'):,.0f}" if odds < 1e7 else f"{odds:.1e}"
    said = [
        f"{name}={cut(cell_as_text(value))} {row[f'by_{name}']:+.2f}{words.get(name, '')}"
        for name, value in zip(ranked, map(cells.get, ranked), strict=True)
    ]
    sure = "" if "low" not in row else f" ({row['probability']:.3f}, {row['low']:.3f} to {row['high']:.3f})"
    return f"{row['row']}: {row['class']}{sure}, {size} to 1 against {row['against']}: {', '.join(said)}"


def cell_as_text(value: object) -> str:
    """Return a cell as it is shown beside what it adds."""
    return "missing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


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
    missing_columns: MissingColumns = "error",
    common: Common = COMMON,
) -> None:
    """Tell how unusual each row is: how likely a row of the model is at least as far out.

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
    estimator = load_model(model)
    read, rows = read_rows(estimator, data, sheet, missing_columns)
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
    missing_columns: MissingColumns = "error",
    common: Common = COMMON,
) -> None:
    """Tell which missing cells of each row to ask for next: those expected to tell most about its class.

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
    estimator = load_model(model)
    schema = estimator._fitted.schema
    _, rows = read_rows(estimator, data, sheet, missing_columns)
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
    from ..engines.arrow import missing

    empty = np.column_stack([missing(column).to_numpy() for column in rows.columns])
    order = np.argsort(np.where(empty, -gain, np.inf), axis=1, kind="stable")
    every = np.arange(len(gain))
    for place in range(top):
        best = order[:, place]
        known = ~empty[every, best]
        asked = [None if own else names[j] for own, j in zip(known, best, strict=True)]
        answers = answers.append_column(f"ask_{place + 1}", pa.array(asked, pa.string()))
        answers = answers.append_column(f"gain_{place + 1}", pa.array(gain[every, best], mask=known))
    return answers


def read_costs(words: Sequence[str], schema: Schema) -> dict[Name, float]:
    """Return the costs that the command line states by column name."""
    known = {str(name): name for name in schema.names}
    given: dict[str, float] = {}
    for word in words:
        told = named_number(word)
        given |= _costs_of_file(Path(word), word) if told is None else dict([told])
    return {known.get(name, name): cost for name, cost in given.items()}


def _costs_of_file(path: Path, word: str) -> dict[str, float]:
    if not path.suffix:
        raise UsageProblem(f"--costs {word!r} is neither COLUMN=NUMBER nor a table of costs.")
    table = read_table(path)
    absent = [name for name in (COLUMN, COST) if name not in table.column_names]
    if absent:
        raise SourceError.columns_missing(repr(str(path)), absent, table.column_names, "which a table of costs has")
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
