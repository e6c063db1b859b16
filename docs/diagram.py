"""Draw docs/how-it-works*.svg, how the numbers of a table become answers: python docs/diagram.py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from small_svg import save

from suffice import GaussianDiscriminant
from suffice.datasets import penguins_path
from suffice.plots import ClassEllipsesDisplay
from suffice.plots._style import color, marker

PAIR = ["flipper_length_mm", "bill_length_mm"]
THEMES = {  # of the page that the picture stands on: its ink, and a softer one
    "": {"ink": "#1c1c1e", "soft": "#555555"},
    "-dark": {"ink": "#ececf0", "soft": "#b4b4be"},
}
STEPS = ["rows", "statistics", "joint density", "answers"]
VERBS = ["summarize", "estimate", "ask"]
ANSWERS = [
    ("which class?", "predict_proba"),
    ("what is in the empty cell?", "impute"),
    ("like anything seen?", "outlier_pvalues"),
    ("why?", "explain"),
    ("what else?", "sample"),
]


def write_statistics(axes: Any, model: GaussianDiscriminant) -> None:
    """List weight and mean of every class, and what can be done with such numbers."""
    axes.axis("off")
    style = {"transform": axes.transAxes, "fontsize": 9, "va": "top"}
    shares = model.priors_ * model.statistics_.rows
    for i, (name, weight, mean) in enumerate(zip(model.classes_, shares, model.means_, strict=True)):
        text = f"{name}\n  n = {weight:.0f}\n  mean = ({mean[0]:.0f}, {mean[1]:.0f})\n  scatter = (2 × 2)"
        axes.text(0.08, 1.0 - 0.3 * i, text, linespacing=1.15, **style)
    axes.text(0.08, 0.08, "parts merge: +\nrows leave: −", color=soft(), linespacing=1.15, **style)


def write_answers(axes: Any) -> None:
    """List the questions and the method that answers each."""
    axes.axis("off")
    for i, (question, verb) in enumerate(ANSWERS):
        place = 0.96 - 0.2 * i
        axes.text(0.05, place, question, transform=axes.transAxes, fontsize=10, va="top")
        axes.text(
            0.05, place - 0.075, verb, transform=axes.transAxes, fontsize=9, va="top", color=soft(), family="monospace"
        )


def draw(axes: Any, titles: Any) -> None:
    """Fill four panels, in the order of the way from rows to answers."""
    penguins = pd.read_csv(penguins_path()).dropna(subset=PAIR)
    X, y = penguins[PAIR], penguins["species"]
    model = GaussianDiscriminant().fit(X, y)
    for i, name in enumerate(model.classes_):
        axes[0].scatter(*X[y == name].to_numpy().T, s=10, color=color(i), marker=marker(i), alpha=0.7)
    ClassEllipsesDisplay.from_estimator(
        model, X, y, columns=PAIR, ax=axes[2], legend=False, fill=True, points=False, grid=32
    )
    for plane in (axes[0], axes[2]):
        plane.set(xlabel="flipper length, mm", ylabel="bill length, mm")
    write_statistics(axes[1], model)
    write_answers(axes[3])
    for place, title in zip(axes, titles, strict=True):
        place.set_title(title, fontsize=13, fontweight="bold", color=plt.rcParams["text.color"])


def soft() -> str:
    """Return the colour of what is said beside."""
    return str(plt.rcParams["axes.titlecolor"])


def wide(name: str) -> None:
    """Draw the way in one row."""
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.3), width_ratios=[1, 0.75, 1, 0.85])
    figure.subplots_adjust(left=0.045, right=0.995, bottom=0.16, top=0.86, wspace=0.36)
    draw(axes, STEPS)
    boxes = [place.get_position() for place in axes]
    for left, right, word in zip(boxes[:-1], boxes[1:], VERBS, strict=True):
        x = np.array([left.x0 + left.width / 2 + 0.065, right.x0 + right.width / 2 - 0.065])
        look = {"arrowprops": {"arrowstyle": "-|>", "color": soft(), "lw": 1.5}}
        arrow = plt.Annotation("", (x[1], 0.915), (x[0], 0.915), "figure fraction", "figure fraction", **look)
        figure.add_artist(arrow)
        figure.text(x.mean(), 0.935, word, ha="center", color=soft(), fontsize=10, style="italic")
    save(figure, Path(__file__).with_name(name))


def narrow(name: str) -> None:
    """Draw the way in two rows, for narrow screens."""
    figure, axes = plt.subplots(2, 2, figsize=(5.6, 6.2), width_ratios=[1, 0.8])
    figure.subplots_adjust(left=0.105, right=0.99, bottom=0.075, top=0.95, wspace=0.2, hspace=0.32)
    draw(axes.ravel(), [f"{i + 1}. {step}" for i, step in enumerate(STEPS)])
    save(figure, Path(__file__).with_name(name))


def main() -> None:
    """Draw both forms for light and for dark pages; neither has a background of its own."""
    for theme, colors in THEMES.items():
        ink = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"))
        settings: dict[str, Any] = {**dict.fromkeys(ink, colors["ink"]), "axes.titlecolor": colors["soft"]}
        settings |= {"savefig.transparent": True, "axes.facecolor": "white" if not theme else "#161618"}
        with plt.rc_context(settings):
            wide(f"how-it-works{theme}.svg")
            narrow(f"how-it-works-narrow{theme}.svg")
            plt.close("all")


if __name__ == "__main__":
    main()
