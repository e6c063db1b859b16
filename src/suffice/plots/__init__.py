"""Plots of models, in scikit-learn's Display convention: `SomeDisplay.from_estimator(model, …)` draws, and holds
what was drawn, with the Matplotlib axes as `ax_` and the figure as `figure_`.

A class has the same colour, marker and line in every plot: those of its place in `classes_`. Columns that are not drawn
are integrated out. Matplotlib is needed to draw, and loaded then: `pip install 'suffice[plot]'`.
"""

from .densities import ClassDensitiesDisplay
from .gaussians import ClassEllipsesDisplay, DiscriminantPlaneDisplay, MixtureComponentsDisplay
from .judging import (
    CalibrationCurveDisplay,
    ForwardValidationDisplay,
    ImportanceDisplay,
    LearningCurveDisplay,
    OutlierPValuesDisplay,
)
from .reasons import EffectDisplay, WaterfallDisplay
from .regions import DecisionRegionsDisplay, ModelComparisonDisplay

__all__ = [
    "CalibrationCurveDisplay",
    "ClassDensitiesDisplay",
    "ClassEllipsesDisplay",
    "DecisionRegionsDisplay",
    "DiscriminantPlaneDisplay",
    "EffectDisplay",
    "ForwardValidationDisplay",
    "ImportanceDisplay",
    "LearningCurveDisplay",
    "MixtureComponentsDisplay",
    "ModelComparisonDisplay",
    "OutlierPValuesDisplay",
    "WaterfallDisplay",
]
