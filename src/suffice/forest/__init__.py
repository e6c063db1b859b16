"""Generative forests: frozen trees, and the density that leaf statistics give."""

from .boosting import Boosting, MeanBoosting, TreeSettings
from .columns import ForestColumns, ForestReading, levels_within
from .density import ForestDensity
from .estimate import Forest, LeafArrays
from .frozen import FrozenForest, FrozenReading, canonical_columns, grow_density_trees, grow_label_trees
from .trees import Trees, TreeScores

__all__ = [
    "Boosting",
    "Forest",
    "ForestColumns",
    "ForestDensity",
    "ForestReading",
    "FrozenForest",
    "FrozenReading",
    "LeafArrays",
    "MeanBoosting",
    "TreeScores",
    "TreeSettings",
    "Trees",
    "canonical_columns",
    "grow_density_trees",
    "grow_label_trees",
    "levels_within",
]
