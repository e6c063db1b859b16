"""`suffice fit`: learn a model from a table and save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import count
from ..notes import to_know
from .edit import held
from .files import check_model_output, save_model
from .models import (
    TITLES,
    ModelName,
    declared,
    is_large,
    is_many,
    learn_in_parts,
    make_estimator,
    read_families,
    remark_left_out,
    usable_columns,
)
from .output import (
    COMMON,
    Common,
    Facts,
    UsageProblem,
    judge_anew,
    print_json,
    progress_of_em,
    quality_facts,
    quality_sentence,
)
from .parameters import AS_IT_IS, DataPath, Force, NewModel, Ordered, TableOptions, Target, Texts, Weight
from .training import in_order, read_orders, read_training

if TYPE_CHECKING:
    from ..estimators.base import GenerativeEstimator


GAUSSIAN = ("full", "shared", "diagonal", "spherical", "mixture")
FOR_MODELS = {  # which models an option is for, and what is said to the others
    "--smoothing": (("nb",), "the categories of --model nb, not for {model}"),
    "--family": (("nb",), "--model nb, not {model}"),
    "--components": (("mixture",), "--model mixture, not {model}"),
    "--divisor": ((*GAUSSIAN, "nb"), "the other models; --model {model} divides by neither n nor n - 1"),
    "--text": (("auto", "nb"), "--model auto and --model nb, not {model}"),
    "--members": (("auto",), "--model auto, not {model}"),
    "--time-limit": (("auto",), "--model auto, not {model}"),
    "--shrinkage": (GAUSSIAN, f"the Gaussian models: {', '.join(GAUSSIAN)}"),
}


def fit(
    data: DataPath,
    /,
    *,
    target: Target,
    output: NewModel,
    model: ModelName = "auto",
    family: Annotated[tuple[str, ...], Parameter(metavar="[COLUMN=]FAMILY", show_default=False)] = (),
    components: Annotated[int | Literal["bic"] | None, Parameter(metavar="NUMBER|bic")] = None,
    table: TableOptions = AS_IT_IS,
    weight: Weight = None,
    ordered: Ordered = (),
    text: Texts = (),
    priors: Literal["empirical", "uniform"] = "empirical",
    divisor: Literal["mle", "unbiased"] | None = None,
    smoothing: Annotated[float | None, Parameter(metavar="NUMBER", validator=Between(gte=0))] = None,
    shrinkage: Annotated[float | None, Parameter(metavar="NUMBER", validator=Between(gte=0, lte=1))] = None,
    keep_rows: Annotated[int | str | None, Parameter(metavar="NUMBER|SIZE|all")] = None,
    members: Literal["all", "generative"] | None = None,
    time_limit: Annotated[float | None, Parameter(metavar="SECONDS", validator=Between(gt=0))] = None,
    engine: Literal["auto", "local", "dask", "spark"] = "auto",
    scheduler: Annotated[str | None, Parameter(metavar="ADDRESS")] = None,
    force: Force = False,
    common: Common = COMMON,
) -> None:
    """Learn a model from a table and save it to a file.

    Cells may be missing. Rows without a label are left out, and the command says how many. It names columns that may
    spoil the model: that give the class away, are text that should be numbers or dates, hold a number that may stand
    for a missing cell, or whose order in time makes rows alike. `suffice look` says more of a table.

    Parameters
    ----------
    data
        Table with one row per case: text (.csv, .tsv, .txt), Excel (.xlsx), JSON lines (.jsonl), Parquet or
        Arrow; - for standard input; or many files of one format, by a pattern in quotes, 'data/*.parquet', or by their
        folder. These, and files beyond 256 MiB, are read in parts, so that memory does not grow with the rows.
    output
        File to write the model to, by custom with the ending .suffice.
    model
        `auto`: several models on all columns, each judged on rows it has not seen and pooled for probabilities to
        trust. `forest`: trees on all columns with densities in their leaves, to draw rows, to fill cells and to find
        odd rows. `nb`: naive Bayes, each column by itself, numbers and categories. The others are one Gaussian per
        class over the numeric and boolean columns: `full` with its own covariance, `shared` with one covariance for all
        classes, `diagonal` with independent columns, `spherical` with one variance for all columns; `mixture` is
        several Gaussians per class, each with its own covariance.
    family
        For nb: the distribution of a column, `--family visits=poisson`, or of all numeric and boolean columns,
        `--family laplace`; may be repeated. Families: gaussian, laplace, poisson, bernoulli, categorical, multinomial,
        text, text_bernoulli.
        If not given: gaussian for numbers, bernoulli for truth values, categorical for text.
    components
        For mixture: Gaussians per class, or `bic` for the number with the least Bayesian information criterion, class
        by class; bic if not given.
    priors
        Class priors: the classes' shares of the rows, or all equal.
    divisor
        Not for auto and forest: divide sums of squares by n (`mle`, maximum likelihood) or by n - 1; mle if not given.
    smoothing
        For nb: added to the count of every category; 1 if not given.
    shrinkage
        For the Gaussian models: from 0 to 1, pulls correlations towards 0; the least that works if not given.
    keep_rows
        How many rows the model file holds as they are, for answers that need rows: a number, 0 for none, a size such
        as 1GiB (8 bytes a cell), or `all`; 2,000 if not given. For auto and forest at least 50, as it judges its
        models by them or grows its trees on them. If not given, auto keeps 256MiB of rows, forest 2,000 to 20,000.
    members
        For auto: `all`, or `generative`, which leaves out the trees boosted on the rows kept, a rule and no density;
        all if not given.
    time_limit
        For auto: seconds in which its models are chosen, those first that take the fewest; a note says which are left
        out. Reading the rows is not counted. Two runs can differ. No limit if not given.
    engine
        What reads a table in parts: this machine's threads (`local`), or a Dask or Spark cluster. If one is given,
        any table is read in parts.
    scheduler
        For --engine dask: address of the cluster, such as tcp://10.0.0.1:8786; one on this machine if not given.

    Examples
    --------
    $ suffice fit penguins.csv --target species -o penguins.suffice
    $ suffice fit penguins.csv --target species --model shared -o lda.suffice
    """
    given: Facts = {"--smoothing": smoothing, "--components": components, "--divisor": divisor, "--members": members}
    given |= {"--shrinkage": shrinkage, "--family": family or None, "--text": text or None, "--time-limit": time_limit}
    _check_options(model, given, scheduler, engine)
    check_model_output(output, force, [(data, "table")])
    options: Facts = {
        "smoothing": smoothing,
        "shrinkage": shrinkage,
        "divisor": divisor,
        "n_components": components,
        "keep_rows": keep_rows,
        "members": members,
        "time_limit": time_limit,
        "text": text or None if model == "auto" else None,
        "priors": "uniform" if priors == "uniform" else None,
    }
    orders, wanted = read_orders(ordered), (*family, *(f"{name}=text" for name in text if model == "nb"))
    if is_many(data) or is_large(data) or engine != "auto":
        source, columns = declared(data, target, table, weight, common)
        used, left_out = usable_columns(model, columns)
        estimator = make_estimator(model, families=read_families(wanted, columns, data), **options)
        known: Facts = {"weight": weight, "groups": table.groups, "columns": used, "ordered": orders or None}
        learn_in_parts(estimator, source, data, target, common, engine=scheduler or engine, **known)
        rows = estimator.statistics_.rows, estimator._fitted.past.unlabelled
    else:
        with progress_of_em(common, f"Learning from {data.name}"):
            named = (*orders, *text, *(own.rpartition("=")[0] for own in family if "=" in own))
            training = in_order(read_training(data, target, table, weight, common, keep=named), orders)
            used, left_out = usable_columns(model, training.columns)
            estimator = make_estimator(model, families=read_families(wanted, training.columns, data), **options)
            estimator.fit(training.columns.select(used), training.labels, training.weight, training.groups)
            estimator._edit_past(dialect=training.dialect)
        rows = training.columns.num_rows, training.unlabelled
    estimator._edit_past(target=target, source=data.name)
    save_model(estimator, output, force)
    _say_learned(estimator, model, output, left_out, rows, common)


def _say_learned(
    estimator: GenerativeEstimator, model: str, output: Path, left_out: list[str], rows: tuple[int, int], common: Common
) -> None:
    """Print what was learned from `rows`, so many with a label and without, as remarks or as JSON."""
    from ..report.profile import warn_of_columns

    classes, names = estimator.classes_.tolist(), estimator.feature_names_in_.tolist()
    warned = [] if common.quiet and not common.json else warn_of_columns(estimator)
    if common.json:
        print_json(
            {
                "output": str(output),
                "model": model,
                "classes": classes,
                "columns": names,
                **held(estimator),
                "columns_left_out": left_out,
                "rows": rows[0],
                "rows_without_label": rows[1],
                "notes": [str(note) for note in estimator.notes_],
                "alerts": warned,
                "quality": quality_facts(judge_anew(estimator, common)),
            }
        )
    remark_left_out(model, left_out, common)
    for note in to_know(estimator.notes_):
        common.remark(f"Note: {note}.")
    for text in warned:
        common.remark(f"Note: {text}")
    learned = ", ".join((count(len(classes), "class"), count(len(names), "column"), count(rows[0], "row")))
    common.remark(f"Wrote {output}: {TITLES[model]}; {learned}.")
    common.remark(f"It {estimator.rows_held_}.{_for_none(model, estimator.keep_rows)}")
    if not common.quiet:  # nobody would read it
        common.remark(quality_sentence(judge_anew(estimator, common)))


def _check_options(model: str, given: Facts, scheduler: str | None, engine: str) -> None:
    if scheduler is not None and engine != "dask":
        raise UsageProblem("--scheduler is for --engine dask.")
    for option, (models, why) in FOR_MODELS.items():
        if given[option] is not None and model not in models:
            raise UsageProblem(f"{option} is for {why.format(model=model)}.")


def _for_none(model: str, keep_rows: int | str | None) -> str:
    """Return how to get a file without rows; a forest's leaves tell of single rows in any case."""
    if model == "forest":
        return ""
    none = "" if model == "auto" or not keep_rows else "--keep-rows 0; "
    return f" For none: {none}`suffice release` makes a file to pass on."
