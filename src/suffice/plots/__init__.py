"""Plots of models, in scikit-learn's Display convention: `SomeDisplay.from_estimator(model, …)` draws, and holds
what was drawn, with the Matplotlib axes as `ax_` and the figure as `figure_`.

A class has the same colour, marker and line in every plot: those of its place in `classes_`. Columns that are not drawn
are integrated out. Matplotlib is needed to draw, and loaded then: `pip install 'suffice[plot]'`.
"""

from .calibration import CalibrationCurveDisplay
from .columns import ClassDensitiesDisplay
from .comparison import ModelComparisonDisplay
from .components import MixtureComponentsDisplay
from .discriminant import DiscriminantPlaneDisplay
from .effects import EffectDisplay
from .ellipses import ClassEllipsesDisplay
from .importance import ImportanceDisplay
from .learning_curve import LearningCurveDisplay
from .outliers import OutlierPValuesDisplay
from .regions import DecisionRegionsDisplay
from .waterfall import WaterfallDisplay

__all__ = [
    "CalibrationCurveDisplay",
    "ClassDensitiesDisplay",
    "ClassEllipsesDisplay",
    "DecisionRegionsDisplay",
    "DiscriminantPlaneDisplay",
    "EffectDisplay",
    "ImportanceDisplay",
    "LearningCurveDisplay",
    "MixtureComponentsDisplay",
    "ModelComparisonDisplay",
    "OutlierPValuesDisplay",
    "WaterfallDisplay",
]
