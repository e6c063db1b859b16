"""Mergeable facts about data, by class: no parameters, no priors, no engines.

The contract of a statistic (a frozen value; `k` classes on the leading axis):

must provide
    zero(...)                 the statistics of no rows
    summarize(rows, codes, k, weight)   the statistics of a batch; `codes` (n,) are class numbers in [0, k)
    merge(other)              the statistics of both sets of rows; associative, commutative, zero is the identity
    place(index, k)           the same statistics with class i moved to number index[i] of k
    arrays() / from_arrays()  the fields as named arrays and plain values, for the model file
may provide, for models to be edited
    subtract(other)           the statistics of the rows left without others; NotLearnedError if they were not there
    scale(factor)             the same rows with their weights multiplied by a factor above 0
    regroup(index, k)         class i made part of class index[i] of k (several: their rows merge), or left out (-1)
gets for free
    growing class lists (`ByClass`), streaming, merging, saving, and the laws in `suffice.testing.check_statistics`

A statistic keeps weights, means and centred unnormalised scatters or counts: no divisor, no smoothing, no floor.
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
    "SumStats",
    "ThinScatter",
    "ValueStats",
]
