"""The pictures of the page: displays of `suffice.plots` as SVG that has the page's ink, light or dark."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from .._arrays import Array, np
from ..errors import SufficeError
from ..plots import (
    CalibrationCurveDisplay,
    ClassDensitiesDisplay,
    ClassEllipsesDisplay,
    DecisionRegionsDisplay,
    DiscriminantPlaneDisplay,
    MixtureComponentsDisplay,
    OutlierPValuesDisplay,
)
from ..plots._style import COLORS, INK, pyplot, rgb
from ..plots._view import MOST_PANELS, View
from ..plots.judging import JudgedRows
from .facts import Answered

MOST_ROWS_JUDGED = 1000  # above which outlier p-values, which take models of folds, are left out
OUTLIERS = "Outlier p-values of the rows: flat if they are rows of the model."
CALIBRATION = "How often the answer is right against how probable the model says it is, for the rows with a label."


LARGE = {"font.size": 12.5}  # so that words are read on a phone, too
MOST_IN_LEGEND = 8  # classes that colours alone tell apart


# What draws each picture, its title, and what it shows.
PICTURES: dict[str, tuple[Any, str, str]] = {
    "regions": (
        DecisionRegionsDisplay,
        "Which class where",
        (
            "The answer over two columns that tell most, all other cells missing; paler where the model is less sure. "
            "Beside a rare class: the class that is likelier than its share by most."
        ),
    ),
    "densities": (
        ClassDensitiesDisplay,
        "Column by column",
        "What each class expects of each column. Of many columns, the twelve that tell most about the class.",
    ),
    "ellipses": (
        ClassEllipsesDisplay,
        "Where the rows of each class lie",
        "Regions that hold 68 % and 95 % of each class.",
    ),
    "plane": (
        DiscriminantPlaneDisplay,
        "The discriminant plane",
        "The two directions in which the classes differ most.",
    ),
    "components": (
        MixtureComponentsDisplay,
        "The components",
        "The Gaussians each class is made of, with their shares of it.",
    ),
    "calibration": (
        CalibrationCurveDisplay,
        "Do probabilities come true",
        "How often the answer is right against how probable the model says it is, by leave-one-out.",
    ),
    "outliers": (
        OutlierPValuesDisplay,
        "Are rows like those learned",
        "Outlier p-values of the rows, each judged without itself: flat if the model fits.",
    ),
}


def draw(estimator: object) -> dict[str, dict[str, Any]]:
    """Return the pictures that this model has, by name, each with a title, what it shows, and SVG."""
    view = View(estimator)
    sample = view.fitted.judges
    left_out = {"ellipses"} if view.by_forest else set()  # whose contours follow the cuts of its trees, and take long
    if sample is None or len(sample.codes) > MOST_ROWS_JUDGED:
        left_out.add("outliers")
    found = dict[str, dict[str, Any]]()
    for name, (display, title, text) in PICTURES.items():
        if name in left_out:
            continue
        try:
            if name == "densities" and (panels := _panels(view)):
                found[name] = {"title": title, "text": text, "panels": panels}
                continue
            with pyplot().rc_context(LARGE):
                figure = display.from_estimator(estimator).figure_
        except SufficeError:  # a picture of another kind of model
            continue
        found[name] = picture(title, text, figure, name)
    return found


def _panels(view: View) -> list[str]:
    """Return what each class expects of each column, a drawing for each, so that they stand below each other on phones.

    Empty where a single drawing has to do: of more classes than have a pattern of their own.
    """
    if len(view.classes) > MOST_IN_LEGEND:
        return []
    found = []
    for position in view.informative(MOST_PANELS, view.rows()):
        with pyplot().rc_context(LARGE):
            _, ax = pyplot().subplots(figsize=(4.2, 2.9), layout="constrained")
            display = ClassDensitiesDisplay.from_estimator(view.estimator, columns=[position], ax=ax, legend=False)
        found.append(as_svg(display.figure_, f"density{position}"))
        pyplot().close(display.figure_)
    return found


def draw_answers(answered: Answered, answers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pictures of what a model says of a table."""
    found = []
    if answers["outliers"]:
        figure = OutlierPValuesDisplay(np.array(answers["outliers"]), 20).plot().figure_
        found.append(picture("Are these rows like those learned", OUTLIERS, figure, "table0"))
    if answers["quality"] and not answers["other_labels"]:
        judged = JudgedRows(np.exp(answered.log_p), answered.codes, np.ones(len(answered.codes)), "predictions")
        figure = CalibrationCurveDisplay.of(answered.view, judged).plot().figure_
        found.append(picture("Do probabilities come true here", CALIBRATION, figure, "table1"))
    return found


def picture(title: str, text: str, figure: object, name: str) -> dict[str, Any]:
    """Return a picture as the macro `figure` of sections/_macros.html shows it, and close the figure of Matplotlib.

    `name` has to differ from those of all other pictures of the page.
    """
    svg = as_svg(figure, name)
    pyplot().close(figure)
    return {"title": title, "text": text, "svg": svg}


def class_color(c: int) -> str:
    """Return the colour of class number `c` as the page has it: light or dark."""
    return f"var(--c{c % len(COLORS)})"


# Colours of the pictures as variables of the page, which has others for them in the dark: see style/base.css.
_INKS = {own.lower(): class_color(c) for c, own in enumerate(COLORS)} | {
    INK.lower(): "var(--ink)",
    "#000000": "var(--ink)",  # also of the seventh class, whose variable is the same
    "#ffffff": "var(--paper)",
}
_INKED = re.compile("|".join(_INKS), re.IGNORECASE)
_FONT = re.compile(r"font-family: [^;\"]*")
DARK_PAPER = "#161618"
LEAST_CONTRAST = 3.5


def class_colors() -> str:
    """Return a style sheet with the colours of the classes, lighter ones in the dark where they would not be seen."""
    light = "".join(f"--c{c}: {own};" for c, own in enumerate(COLORS))
    dark = "".join(f"--c{c}: {_lighter(own)};" for c, own in enumerate(COLORS))
    return f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"


def _lighter(code: str) -> str:
    """Return a colour mixed with as much white as it takes to be seen in the dark."""
    own, paper = rgb(code), _light(rgb(DARK_PAPER)) + 0.05
    shades = [own + white * (1.0 - own) for white in np.linspace(0.0, 1.0, 21)]
    seen = next(shade for shade in shades if (_light(shade) + 0.05) / paper >= LEAST_CONTRAST)
    return "#" + "".join(f"{round(255 * part):02x}" for part in seen)


def _light(rgb: Array) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def as_svg(figure: Any, salt: str) -> str:
    """Return a figure as an SVG element in the colours of the page, whose identifiers no other one on it has."""
    out = StringIO()
    figure.patch.set_alpha(0.0)
    for ax in figure.axes:
        ax.patch.set_alpha(0.0)
    with pyplot().rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", metadata=nothing)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = _FONT.sub("font-family: inherit", text)
    text = _INKED.sub(lambda found: _INKS[found[0].lower()], text)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{salt}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{salt}-\1)", text)
    return re.sub(r'href="#([^"]+)"', rf'href="#{salt}-\1"', text)
