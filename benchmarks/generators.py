"""What the generation benchmark draws rows from: a generator learns a table and returns how its rows are drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from arfpy import arf
from copulas.multivariate import GaussianMultivariate
from copulas.univariate import UniformUnivariate
from holes import with_holes, without_holes

import suffice

LABEL = "(class)"
SEED = 0
REAL = "rows learned"

Draw = Callable[[int], pd.DataFrame]
Generator = Callable[[pd.DataFrame], Draw]  # a table with its LABEL column → how rows like these are drawn


# --- ours ------------------------------------------------------------------------------------------------------------


def estimator(name: str) -> Generator:
    """Return how rows are drawn from one of our estimators."""

    def learn(table: pd.DataFrame) -> Draw:
        model = getattr(suffice, name)().fit(table.drop(columns=LABEL), table[LABEL].astype(str).to_numpy())

        def draw(n: int) -> pd.DataFrame:
            X, y = model.sample(n, random_state=SEED, missing=bool(table.isna().any(axis=None)))
            found = pd.DataFrame(X, columns=table.columns.drop(LABEL)).assign(**{LABEL: y})
            # whole numbers are drawn as integers, and compared as the numbers they are
            return found.astype({name: "float64" for name in table if table[name].dtype == "float64"})

        return draw

    return learn


def rows_learned(table: pd.DataFrame) -> Draw:
    """Draw from the rows learned themselves: what no generator can beat but by chance, and copies all."""
    return lambda n: table.sample(n, random_state=SEED)


# --- others' ---------------------------------------------------------------------------------------------------------


def adversarial_forest(table: pd.DataFrame) -> Draw:
    """Watson et al., Adversarial random forests (AISTATS 2023), with the defaults of arfpy."""
    np.random.seed(SEED)  # noqa: NPY002 - arfpy draws from the global generator
    model = arf.arf(x=without_holes(table), verbose=False, random_state=SEED)
    model.forde()
    return lambda n: with_holes(model.forge(n), table)


def gaussian_copula(table: pd.DataFrame) -> Draw:
    """Margins chosen by the copulas package, and normal scores with one correlation matrix.

    A level of a category is an interval of [0, 1] as long as its share, in which its cells lie at random.
    """
    whole = without_holes(table)
    rng = np.random.default_rng(SEED)
    shares = {name: whole[name].value_counts(normalize=True) for name in whole if whole[name].dtype == "category"}
    coded = whole.copy()
    for name, share in shares.items():
        level = share.index.get_indexer(whole[name])
        coded[name] = np.append(0.0, np.cumsum(share)[:-1])[level] + share.to_numpy()[level] * rng.random(len(whole))
    model = GaussianMultivariate(distribution=dict.fromkeys(shares, UniformUnivariate), random_state=SEED)
    model.fit(coded)

    def draw(n: int) -> pd.DataFrame:
        drawn = model.sample(n)
        for name, share in shares.items():
            level = np.searchsorted(np.cumsum(share)[:-1], drawn[name], side="right")
            drawn[name] = share.index.to_numpy(dtype=object)[level]
        return with_holes(drawn, table)

    return draw


OURS = ("GenerativeClassifier", "GenerativeForest", "GaussianDiscriminant")
GENERATORS: dict[str, Generator] = {
    REAL: rows_learned,
    **{name: estimator(name) for name in OURS if hasattr(suffice, name)},
    "adversarial forest": adversarial_forest,
    "Gaussian copula": gaussian_copula,
}
ABSENT = tuple(name for name in OURS if not hasattr(suffice, name))
