"""Generative forests: frozen trees, and the density that leaf statistics give."""

from .boosting import Boosting as Boosting, MeanBoosting as MeanBoosting, TreeSettings as TreeSettings
from .columns import ForestColumns as ForestColumns, ForestReading as ForestReading, levels_within as levels_within
from .density import ForestDensity as ForestDensity
from .estimate import Forest as Forest, LeafArrays as LeafArrays
from .frozen import (
    FrozenForest as FrozenForest,
    FrozenReading as FrozenReading,
    canonical_columns as canonical_columns,
    grow_density_trees as grow_density_trees,
    grow_label_trees as grow_label_trees,
)
from .trees import Trees as Trees, TreeScores as TreeScores
