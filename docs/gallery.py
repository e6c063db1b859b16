"""Draw docs/gallery/*.svg, what the pictures of suffice.plots look like: python docs/gallery.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from small_svg import save

from suffice import GaussianDiscriminant, MixtureDiscriminant, NaiveBayes
from suffice.datasets import penguins_path
from suffice.plots import (
    CalibrationCurveDisplay,
    ClassDensitiesDisplay,
    ClassEllipsesDisplay,
    DecisionRegionsDisplay,
    DiscriminantPlaneDisplay,
    EffectDisplay,
    ForwardValidationDisplay,
    ImportanceDisplay,
    LearningCurveDisplay,
    MixtureComponentsDisplay,
    OutlierPValuesDisplay,
    WaterfallDisplay,
)

PAIR = ["bill_length_mm", "bill_depth_mm"]
NUMBERS = [*PAIR, "flipper_length_mm", "body_mass_g"]


def pictures() -> dict[str, Callable[[Any], Any]]:
    """Return by name what draws a picture of every kind on axes that are given."""
    penguins = pd.read_csv(penguins_path())
    species = penguins.pop("species")
    numbers, island = penguins[NUMBERS], penguins["island"]
    bayes, qda = NaiveBayes().fit(penguins, species), GaussianDiscriminant().fit(numbers, species)
    lda = GaussianDiscriminant(shared=True)
    curve = LearningCurveDisplay.from_estimator(lda, numbers, island).curves
    lda.fit(numbers, species)
    rng = np.random.default_rng(0)
    year, rows = np.repeat(np.arange(2015, 2026), 100), rng.normal(size=(1100, 2))
    angle = 0.2 * (year - 2015)
    turned = rows[:, 0] * np.cos(angle) + rows[:, 1] * np.sin(angle) + 0.3 * rng.normal(size=1100) > 0
    forward = GaussianDiscriminant().validate_forward(rows, turned, time=year, windows=())
    mass = NaiveBayes().fit(numbers[["body_mass_g"]], species)
    mixture = MixtureDiscriminant(shared="class", random_state=0).fit(numbers, island)
    parts = {"columns": ["flipper_length_mm", "bill_length_mm"], "points": False}
    return {
        "regions": lambda ax: DecisionRegionsDisplay.from_estimator(qda, columns=PAIR, ax=ax),
        "bands": lambda ax: DecisionRegionsDisplay.from_estimator(bayes, columns=["bill_length_mm", "island"], ax=ax),
        "ellipses": lambda ax: ClassEllipsesDisplay.from_estimator(qda, columns=PAIR, fill=True, ax=ax),
        "densities": lambda ax: ClassDensitiesDisplay.from_estimator(bayes, columns="flipper_length_mm", ax=ax),
        "plane": lambda ax: DiscriminantPlaneDisplay.from_estimator(lda, ax=ax),
        "components": lambda ax: MixtureComponentsDisplay.from_estimator(mixture, ax=ax, **parts),
        "waterfall": lambda ax: WaterfallDisplay.from_estimator(bayes, penguins, row=200, ax=ax),
        "effects": lambda ax: EffectDisplay.from_estimator(bayes, columns="flipper_length_mm", ax=ax),
        "worth": lambda ax: ImportanceDisplay.from_estimator(bayes, ax=ax),
        "calibration": lambda ax: CalibrationCurveDisplay.from_estimator(mass, ax=ax),
        "learning-curve": lambda ax: LearningCurveDisplay.from_curves(curve, ax=ax),
        "forward": lambda ax: ForwardValidationDisplay.from_validation(forward, ax=ax),
        "outliers": lambda ax: OutlierPValuesDisplay.from_estimator(qda, ax=ax),
    }


def main() -> None:
    """Draw each picture into a file of its own, all of one size."""
    folder = Path(__file__).with_name("gallery")
    folder.mkdir(exist_ok=True)
    for name, draw in pictures().items():
        figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        draw(ax)
        save(figure, folder / f"{name}.svg")
        plt.close("all")


if __name__ == "__main__":
    main()
