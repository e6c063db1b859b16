"""Draw docs/gallery.png, the picture of the README: python docs/gallery.py."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot as plt
import pandas as pd
from PIL import Image

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.datasets import penguins_path
from suffice.plots import (
    CalibrationCurveDisplay,
    ClassDensitiesDisplay,
    ClassEllipsesDisplay,
    DecisionRegionsDisplay,
    DiscriminantPlaneDisplay,
)

penguins = pd.read_csv(penguins_path())
species = penguins.pop("species")
numbers = penguins[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
bayes = NaiveBayes().fit(penguins, species)
qda = GaussianDiscriminant().fit(numbers, species)
lda = GaussianDiscriminant(shared=True).fit(numbers, species)
mass = NaiveBayes().fit(numbers[["body_mass_g"]], species)

figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained")
pair = ["bill_length_mm", "bill_depth_mm"]
DecisionRegionsDisplay.from_estimator(qda, columns=pair, ax=axes[0, 0], legend=False)
ClassEllipsesDisplay.from_estimator(qda, columns=pair, ax=axes[0, 1], legend=False, fill=True)
DecisionRegionsDisplay.from_estimator(bayes, columns=["bill_length_mm", "island"], ax=axes[0, 2])
ClassDensitiesDisplay.from_estimator(bayes, columns="flipper_length_mm", ax=axes[1, 0], legend=False)
DiscriminantPlaneDisplay.from_estimator(lda, ax=axes[1, 1], legend=False)
CalibrationCurveDisplay.from_estimator(mass, ax=axes[1, 2])
path = Path(__file__).with_name("gallery.png")
figure.savefig(path, dpi=100)
Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)  # a third of the size
