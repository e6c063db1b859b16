"""Mergeable facts about data, by class: no parameters, no priors, no engines.

`statistic.Statistic` says what a statistic is asked. One gets for free: growing class lists (`ByClass`), streaming,
merging, saving, and the laws in `tests/laws/statistic_laws.py`.
"""

from .by_class import ByClass as ByClass
from .counts import CategoricalStats as CategoricalStats, SumStats as SumStats
from .gaussian import GaussianStats as GaussianStats
from .mixture import MixtureStats as MixtureStats
from .patterns import CompletedStats as CompletedStats, PatternStats as PatternStats
from .reservoir import Reservoir as Reservoir
from .scatter import (
    DiagonalScatter as DiagonalScatter,
    FullScatter as FullScatter,
    LowRankScatter as LowRankScatter,
    PooledScatter as PooledScatter,
)
from .statistic import Statistic as Statistic, as_statistic as as_statistic
from .texts import TextStats as TextStats
from .values import ValueStats as ValueStats
