"""`suffice show`: say in plain words what is in a model file."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..errors import DataError, SufficeError, align, count, spaced
from ..notes import count_details, details, to_know
from ..schema import Kind, Schema
from .answers import load_model
from .edit import held
from .output import COMMON, Common, Facts, broken, page_width, progress, quality_facts, quality_of, quality_sentence
from .parameters import SavedModel

if TYPE_CHECKING:
    from .._arrays import Array
    from ..densities import Covariance, Density, Gaussian, Mixture
    from ..estimators.base import GenerativeEstimator
    from ..schema import Level
    from ..stats import ByClass


VALUES = ("whole", "step", "decimals", "low", "high", "ordered")  # what is told of the values of a column
MOST_LEVELS = 6  # categories shown per column
MOST_COLUMNS = 40
MOST_CLASSES = 12
MOST_WORTH = 5
MOST_JUDGED = 100  # columns, of which each is left out in turn


def show(
    model: SavedModel, /, *, details: Annotated[bool, Parameter(show_default=False)] = False, common: Common = COMMON
) -> None:
    """Describe a model: its classes, how good it is, and what it learned of each column.

    How good it is stands in the sentence that `suffice fit` ends with: each of the rows that the model keeps is judged
    by what the model says without that row.

    Parameters
    ----------
    details
        Show also what there is nothing to do about: the temperature, weight and settings of each model of the pool, and
        what was chosen or completed on the way; and notes of one kind each by itself.

    Examples
    --------
    $ suffice show penguins.suffice

    $ suffice show penguins.suffice --details
    """
    with progress(common, f"Reading {model.name}"):
        summary = summarize(model)
    common.answer(summary, "\n".join(render(summary, page_width(), details)))


def summarize(path: Path) -> Facts:
    """Return what there is to say of a model file as plain values."""
    from ..files.model_file import read_model
    from ..files.saving import PIECES
    from ..questions.frames import records

    estimator = load_model(path)
    document, schema, statistics, _ = read_model(path, PIECES)
    weights = statistics.weight.tolist()
    return {
        "model": type(estimator).__name__,
        "settings": document["settings"],
        "meaning": _meaning(type(estimator).__name__, document["settings"]),
        "written_by": document["written_by"],
        "rows": statistics.rows,
        **held(estimator),
        "released": None if estimator.rows_held_.least is None else estimator.released_.plain(),
        "holds": f"It {estimator.rows_held_}.",
        "weighted": sum(weights) != statistics.rows,
        "classes": records({"label": statistics.classes, "weight": weights, "prior": estimator.priors_.tolist()}),
        "columns": _columns(estimator, document, schema, statistics),
        **_members(estimator),
        "quality": quality_facts(quality_of(estimator)),
        "worth": _worth(estimator),
        "notes": [str(note) for note in estimator.notes_],
        "to_know": to_know(estimator.notes_),
        "to_know_each": to_know(estimator.notes_, each=True),
        "details": details(estimator.notes_),
    }


def _members(estimator: GenerativeEstimator) -> Facts:
    """Return the members of an automatic classifier, the heaviest first, and the loss of all together."""
    from ..estimators import GenerativeClassifier

    if not isinstance(estimator, GenerativeClassifier):
        return {}
    try:
        loss = estimator.loss_
    except DataError:  # too few rows are left to judge by, as a note says
        loss = None
    return {"loss": loss, "members": sorted(estimator.members_, key=lambda member: -member["share"])}


def _worth(estimator: GenerativeEstimator) -> list[Facts]:
    """Return what each column is worth, the dearest first; none where that takes long, or rows that are not kept."""
    from ..questions.frames import records

    try:
        quick = len(estimator.columns_) <= MOST_JUDGED and estimator._fitted.tells_columns
        found = estimator.importance().to_dict() if quick else {}
    except SufficeError:
        return []
    return records({name: found.get(name, ()) for name in ("column", "mean", "standard_error")})


def _meaning(kind: str, settings: Facts) -> str:
    if kind == "GenerativeClassifier":
        return "Several models pooled. Columns are described by the joint model, which fills cells and draws rows."
    if kind == "GenerativeForest":
        return "A mixture of boxes, the leaves of trees: within each, columns are independent given the class."
    if kind == "NaiveBayes":
        return "Naive Bayes: within a class, columns (or blocks of columns) are independent of each other."
    mixture = kind == "MixtureDiscriminant"
    structure = {
        "full": "columns vary together",
        "diagonal": "columns are independent",
        "spherical": "columns are independent and equally spread",
    }[settings["covariance"]]
    spread = "all classes share one spread" if settings["shared"] else "each class has its own spread"
    if mixture:
        each = {False: "each component", "class": "each class", True: "no class or component"}[settings["shared"]]
        return f"A mixture of Gaussians per class: within a component {structure}, and {each} has a spread of its own."
    return f"One Gaussian per class: {structure}, and {spread}."


def _columns(estimator: GenerativeEstimator, document: Facts, schema: Schema, statistics: ByClass) -> list[Facts]:
    """Return one entry per column in the model's order."""
    from ..estimators import GenerativeClassifier, GenerativeForest
    from ..forest import ForestDensity
    from ..table.dates import about

    known = estimator.columns_
    blocks, densities = document["blocks"], estimator.model_.density.blocks
    described = blocks[-1:] if isinstance(densities[0], ForestDensity) else blocks  # a forest is of all columns
    place: dict[int, tuple[str, Density, int]] = {}
    for block, density in zip(described, densities, strict=False):
        family = block["family"].get("family", "mixture" if block["family"].get("mixture") else "gaussian")
        family = "forest" if isinstance(density, ForestDensity) else family
        place |= {position: (family, density, j) for j, position in enumerate(block["positions"])}
    entries: dict[int, Facts] = {}
    # Where columns are read together there is one block more, of all of them, which has no weight by column.
    together = isinstance(estimator, GenerativeClassifier | GenerativeForest)
    for block, stats in zip(blocks[: -1 if together else None], statistics.blocks, strict=False):
        observed = stats.column_weight().sum(axis=0) / statistics.total
        for position, weight in zip(block["positions"], observed.tolist(), strict=True):
            column, (family, density, j) = schema.columns[position], place[position]
            entry = {"name": column.name, "kind": column.kind.value, "missing": max(0.0, 1.0 - weight)}
            told = known[position].to_dict()
            values = {"values": str(known[position]), **{name: told[name] for name in VALUES}}
            parameters = _parameters(density, j)
            if column.order and "levels" in parameters:
                rank = {level: i for i, level in enumerate(column.order)}
                parameters["levels"].sort(key=lambda own: rank.get(own["level"], len(rank)))
            if column.kind is Kind.DATE and "mean" in parameters:
                parameters["mean"] = [about(mean, 3_600.0) for mean in parameters["mean"]]
            entries[position] = entry | {"family": family} | values | parameters
    return [entries[position] for position in sorted(entries)]


def _parameters(density: Density, j: int) -> Facts:
    """Return what a class says of column j, in the terms of its family."""
    from .._arrays import np
    from ..densities import Bernoulli, Categorical, Gaussian, Mixture
    from ..forest import ForestDensity

    if isinstance(density, ForestDensity):
        levels = density.column_levels(j)
        if levels is not None:
            return _levels(density.level_shares(j), levels)
        mean, deviation = density.moments(j)
        return {"mean": mean.tolist(), "sd": deviation.tolist()}
    if isinstance(density, Gaussian):
        return _gaussian(density, j)
    if isinstance(density, Mixture):
        return _mixture(density, j)
    if isinstance(density, Categorical):
        return _levels(np.exp(density.log_p[j]), density.levels[j])
    if isinstance(density, Bernoulli):
        p, q = density.p[:, j].tolist(), density.q[:, j].tolist()
        both = [{"level": True, "probability": p}, {"level": False, "probability": q}]
        return {"levels": both if sum(p) > sum(q) else both[::-1], "never_seen": [0.0] * len(p)}
    return {"parameters": {name: values.tolist() for name, values in density.parameters(j).items()}}


def _gaussian(density: Gaussian, j: int) -> Facts:
    """Return means (k,) and standard deviations (k,) of a column; no deviation where it never varies."""
    k = len(density.means)
    deviation = None
    if j in density.used:
        spread = _deviations(density.covariance)[:, density.used.index(j)].tolist()
        deviation = spread if len(spread) == k else spread * k
    return {"mean": density.means[:, j].tolist(), "sd": deviation}


def _mixture(density: Mixture, j: int) -> Facts:
    """Return means (k,) and standard deviations (k,) of a column over the components of each class."""
    from .._arrays import np

    parts, weight = _gaussian(density.components, j), np.exp(density.log_weight)
    owner, center = density.owner, np.asarray(parts["mean"])
    mean = np.bincount(owner, weights=weight * center)
    if parts["sd"] is None:
        return {"mean": mean.tolist(), "sd": None}
    variance = np.bincount(owner, weights=weight * (np.asarray(parts["sd"]) ** 2 + (center - mean[owner]) ** 2))
    return {"mean": mean.tolist(), "sd": np.sqrt(variance).tolist()}


def _deviations(covariance: Covariance) -> Array:
    """Return standard deviations (g, d); no d × d matrix is built, since a model may have thousands of columns."""
    from .._arrays import np
    from ..densities import Diagonal, Full, LowRank

    if isinstance(covariance, LowRank):
        return covariance.scale
    assert isinstance(covariance, Full | Diagonal)
    return np.sqrt(covariance.variance)


def _levels(p: Array, levels: Sequence[Level]) -> Facts:
    """Return shares (k, levels + 1), the last of levels never seen, by level, the commonest first."""
    from .._arrays import np

    order = np.argsort(-p[:, :-1].mean(axis=0), kind="stable")
    found = [{"level": levels[i], "probability": p[:, i].tolist()} for i in order]
    return {"levels": found, "never_seen": p[:, -1].tolist()}


def render(summary: Facts, width: int, whole: bool = False) -> list[str]:
    """Return the summary as lines of text; the whole of it has details."""
    classes, columns = summary["classes"], summary["columns"]
    size = f"{count(len(classes), 'class')}, {count(len(columns), 'column')}"
    lines = [
        *textwrap.wrap(summary["meaning"], width),
        *textwrap.wrap(f"Learned from {count(summary['rows'], 'row')}: {size}. {summary['holds']}", width),
        "",
        *textwrap.wrap(_how_good(summary["quality"]), width),
        "",
    ]
    amount = "weight" if summary["weighted"] else "rows"
    rows = [["class", amount, "prior"]]
    rows += [[spaced(c["label"]), f"{c['weight']:,.6g}", f"{c['prior']:.3f}"] for c in classes[:MOST_CLASSES]]
    lines += [*align(rows, width=width), *_more(len(classes) - MOST_CLASSES, "classes"), ""]
    if "members" in summary:
        lines += [*_member_table(summary, width, whole), ""]
    lines += _column_table(classes[:MOST_CLASSES], columns[:MOST_COLUMNS], width)
    lines += [*_more(len(columns) - MOST_COLUMNS, "columns"), ""]
    many = f"`suffice columns` says what each of {len(columns):,} columns is worth, which takes long."
    worth = _most_worth(summary["worth"]) if summary["worth"] else many if len(columns) > MOST_JUDGED else ""
    lines += [*textwrap.wrap(worth, width), ""] if worth else []
    lines += textwrap.wrap("Numbers: mean ± standard deviation. Categories: probability within the class.", width)
    notes = [f"Note: {note}." for note in summary["to_know_each" if whole else "to_know"]]
    rest = summary["details"]
    notes += [f"Detail: {note}." for note in rest] if whole else []
    if rest and not whole:
        notes.append(f"{count_details(len(rest))}: `suffice show --details`.")
    notes = notes or ["Nothing had to be repaired or left out."]
    lines += [line for note in notes for line in broken(note, width)]
    return lines


def _most_worth(worth: list[Facts]) -> str:
    """Return a sentence with the columns that are worth most."""
    told = ", ".join(f"{own['column']} {own['mean']:+z.4f}" for own in worth[:MOST_WORTH])
    more = f" and {len(worth) - MOST_WORTH:,} more" if len(worth) > MOST_WORTH else ""
    return f"Columns are worth, in nats of log-loss: {told}{more}. `suffice columns` says which few suffice."


def _how_good(quality: Facts) -> str:
    why = quality.get("why_not")
    return quality["sentence"] if why is None else quality_sentence(why)


SHARES = (
    "Share: how much of the pooled answer a model decides, its probabilities first made as sure as they may be; one "
    "with 0 % adds nothing to the others. Log-loss: of each by leave-one-out, in nats, at settings that lose least; "
    "that of all counts what choosing costs."
)


def _member_table(summary: Facts, width: int, whole: bool) -> list[str]:
    """Return a row per member: its share of the pool and its loss; on the whole, weight, temperature and settings."""
    from ..questions.quality import in_nats, in_whole_percent

    rows = [["model", "share", "log-loss", *(["weight", "temperature", "settings chosen"] if whole else [])]]
    for member in summary["members"]:
        row = [member["name"], in_whole_percent(member["share"]), in_nats(member["loss"])]
        if whole:
            settings = ", ".join(f"{name} {value:g}" for name, value in member["setting"].items())
            row += [f"{member['weight']:.3f}", f"{member['temperature']:.3f}", settings]
        rows.append(row)
    loss = "not known" if summary["loss"] is None else in_nats(summary["loss"])
    rows.append(["all, pooled", "", loss, *([""] * 3 if whole else [])])
    return [*align(rows, left=(0, 5), width=width), *textwrap.wrap(SHARES, width)]


def _more(rest: int, what: str) -> list[str]:
    return [f"… and {rest} more {what}; --json lists all"] if rest > 0 else []


def _column_table(classes: list[Facts], columns: list[Facts], width: int) -> list[str]:
    """Return what each class holds of each column; classes for which the page is too narrow stand below the others."""
    rows = [["column", "family", "values", "missing", *(spaced(c["label"]) for c in classes)]]
    blank = [""] * len(classes)
    for column in columns:
        missing = f"{column['missing']:.1%}" if column["missing"] else "none"
        head = [str(column["name"]), column["family"], column["values"], missing]
        if "mean" in column:
            deviations = column["sd"] or [None] * len(column["mean"])
            rows.append([*head, *map(plus_minus, column["mean"][: len(classes)], deviations)])
            continue
        rows.append([*head, *blank])
        for name, values in column.get("parameters", {}).items():
            rows.append([f"  {name}", "", "", "", *(f"{value:.4g}" for value in values[: len(classes)])])
        levels = column.get("levels", [])
        rows += [
            [f"  {spaced(own['level'])}", "", "", "", *map(percent, own["probability"][: len(classes)])]
            for own in levels[:MOST_LEVELS]
        ]
        if len(levels) > MOST_LEVELS:
            rows.append([f"  … {len(levels) - MOST_LEVELS} more", "", "", "", *blank])
    return align(rows, left=(0, 1, 2), width=width)


def plus_minus(mean: float | str, deviation: float | None) -> str:
    """Return a mean and its standard deviation with two figures of the deviation: 38.8 ± 2.7; a date in its words."""
    if isinstance(mean, str):
        from ..table.dates import length_in_words

        return f"always {mean}" if deviation is None else f"{mean.partition(' ')[0]} ± {length_in_words(deviation)}"
    if deviation is None or deviation == 0:
        return f"always {mean:.6g}" if deviation is None else f"{mean:.6g} ± 0"
    digits = int(f"{deviation:e}".partition("e")[2])  # the power of ten of the deviation
    if digits > 5 or digits < -4:
        return f"{mean:.4g} ± {deviation:.2g}"
    places = max(0, 1 - digits)
    return f"{mean:z.{places}f} ± {deviation:.{places}f}"


def percent(p: float) -> str:
    """Return a probability in percent, never rounded to certainty."""
    if 0 < p < 0.001:
        return "<0.1%"
    return ">99.9%" if 0.999 < p < 1 else f"{p:.1%}"
