"""Facts and pictures into one self-contained page."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from io import StringIO
from typing import Any, Protocol

from .._arrays import np
from .._files import whole_file
from ..errors import SufficeError
from ..plots import (
    CalibrationCurveDisplay,
    ClassDensitiesDisplay,
    ClassEllipsesDisplay,
    DecisionRegionsDisplay,
    DiscriminantPlaneDisplay,
    ImportanceDisplay,
    MixtureComponentsDisplay,
    OutlierPValuesDisplay,
)
from ..plots._model import check_model, learned
from ..plots._style import pyplot
from ..plots._view import View
from .explorer import collect_explorer, script, write_json
from .facts import collect_facts, percent
from .judged import collect_answers
from .suspects import collect_suspects

MOST_ROWS_JUDGED = 1000  # above which outlier p-values, which take models of folds, are left out
OUTLIERS = "Outlier p-values of the rows: flat if they are rows of the model."
CALIBRATION = "How often the answer is right against how probable the model says it is, for the rows with a label."


class Display(Protocol):
    """A picture that has been drawn."""

    figure_: object


PICTURES: tuple[tuple[str, str, Callable[[object], Display]], ...] = (
    (
        "Which class where",
        "The answer over the two columns that tell most, all other cells missing; white where the model is not sure.",
        DecisionRegionsDisplay.from_estimator,
    ),
    (
        "Column by column",
        "What each class expects of each column. Of many columns, the twelve that tell most about the class.",
        ClassDensitiesDisplay.from_estimator,
    ),
    (
        "Where the rows of each class lie",
        "Regions that hold 68 % and 95 % of each class.",
        ClassEllipsesDisplay.from_estimator,
    ),
    (
        "The discriminant plane",
        "The two directions in which the classes differ most.",
        DiscriminantPlaneDisplay.from_estimator,
    ),
    (
        "The components",
        "The Gaussians each class is made of, with their shares of it.",
        MixtureComponentsDisplay.from_estimator,
    ),
    (
        "What each column is worth",
        "What leaving a column unknown costs, in nats of log-loss; below 0 the model does better without it.",
        ImportanceDisplay.from_estimator,
    ),
    (
        "Do probabilities come true",
        "How often the answer is right against how probable the model says it is, by leave-one-out.",
        CalibrationCurveDisplay.from_estimator,
    ),
    (
        "Are rows like those learned",
        "Outlier p-values of the rows, each judged without itself: flat if the model fits.",
        OutlierPValuesDisplay.from_estimator,
    ),
)


def write_page(
    estimator: object, path: str | os.PathLike[str], X: object = None, y: object = None, *, name: str = "the table"
) -> None:
    """Write the page of a fitted model to a file, complete or not at all; see `render_page`."""
    text = render_page(estimator, X, y, name=name)
    with whole_file(path) as file:
        file.write(text.encode())


def render_page(estimator: object, X: object = None, y: object = None, *, name: str = "the table") -> str:
    """Return the page of a fitted model as HTML: self-contained, its one script named by its hash, loading nothing.

    With a table `X` and, where known, labels `y`, it also has what the model says of these rows; `name` is what the
    table is called. ImportError says what to install where Jinja2 or Matplotlib is missing.
    """
    template = _template()  # or what to install, before any work
    facts, explorer = collect_facts(estimator), collect_explorer(estimator)
    answers = None if X is None else collect_answers(estimator, X, y) | {"name": name}
    told = explorer if "why_not" in explorer else explorer | {"colors": [own["color"] for own in facts["classes"]]}
    return str(
        template.render(
            facts=facts,
            explorer=explorer,
            answers=answers,
            suspects=collect_suspects(View(estimator)),
            judged=[] if answers is None else draw_answers(estimator, X, y, answers),
            pictures=draw(estimator),
            parameters=write_json(told),
            script=script(),
            script_hash=b64encode(sha256(script().encode()).digest()).decode(),
        )
    )


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError as error:
        raise ImportError("A page needs Jinja2, which is not installed. Next: pip install 'suffice[report]'") from error
    environment = Environment(loader=PackageLoader("suffice.report", "."), autoescape=True, trim_blocks=True)
    environment.filters["percent"] = percent
    return environment.get_template("page.html")


def draw_answers(estimator: object, X: object, y: object, answers: dict[str, Any]) -> list[dict[str, str]]:
    """Return the pictures of what a model says of a table."""
    found = []
    if answers["outliers"]:
        figure = OutlierPValuesDisplay(np.array(answers["outliers"]), 20).plot().figure_
        found.append(_picture("Are these rows like those learned", OUTLIERS, figure, "table0"))
    if answers["quality"] and not answers["other_labels"]:
        figure = CalibrationCurveDisplay.from_estimator(estimator, X, y).figure_
        found.append(_picture("Do probabilities come true here", CALIBRATION, figure, "table1"))
    return found


def _picture(title: str, text: str, figure: object, salt: str) -> dict[str, str]:
    svg = as_svg(figure, salt)
    pyplot().close(figure)
    return {"title": title, "text": text, "svg": svg}


def draw(estimator: object) -> list[dict[str, str]]:
    """Return the pictures that this model has, each with a title, what it shows, and SVG."""
    sample = learned(check_model(estimator)).statistics.sample
    found = []
    for number, (title, text, display) in enumerate(PICTURES):
        few = sample is not None and len(sample.codes) <= MOST_ROWS_JUDGED
        if not few and _takes_folds(display, estimator):
            continue
        try:
            figure = display(estimator).figure_
        except SufficeError:  # a picture of another kind of model
            continue
        found.append(_picture(title, text, figure, f"picture{number}"))
    return found


def _takes_folds(display: object, estimator: object) -> bool:
    """Return whether a picture may take models of folds of the rows."""
    if display == ImportanceDisplay.from_estimator:
        return not learned(check_model(estimator)).tells_columns
    return display == OutlierPValuesDisplay.from_estimator


def as_svg(figure: Any, salt: str) -> str:
    """Return a figure as an SVG element whose identifiers no other one on the page has."""
    out = StringIO()
    with pyplot().rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", metadata=nothing)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{salt}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{salt}-\1)", text)
    return re.sub(r'href="#([^"]+)"', rf'href="#{salt}-\1"', text)
