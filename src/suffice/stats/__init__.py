"""Mergeable facts about data, by class: no parameters, no priors, no engines.

`statistic.Statistic` says what a statistic is asked. One gets for free: growing class lists (`ByClass`), streaming,
merging, saving, and the laws in `suffice.testing.check_statistics`.
"""

from .by_class import ByClass
from .class_samples import ClassSamples
from .completed import CompletedStats
from .counts import CategoricalStats
from .fourth import FourthMomentStats
from .gaussian import GaussianStats
from .mixture import MixtureStats
from .moments import SumStats
from .patterns import PatternStats
from .reservoir import Reservoir
from .scatter import DiagonalScatter, FullScatter, PooledScatter, ThinScatter
from .statistic import Statistic, as_statistic
from .values import ValueStats

__all__ = [
    "ByClass",
    "CategoricalStats",
    "ClassSamples",
    "CompletedStats",
    "DiagonalScatter",
    "FourthMomentStats",
    "FullScatter",
    "GaussianStats",
    "MixtureStats",
    "PatternStats",
    "PooledScatter",
    "Reservoir",
    "Statistic",
    "SumStats",
    "ThinScatter",
    "ValueStats",
    "as_statistic",
]
