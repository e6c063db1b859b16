"""Every family that ships keeps the contract, and the check of the contract finds a family that does not."""

from dataclasses import dataclass

import numpy as np
import pytest
from family_laws import check_shipped_family

from suffice import NaiveBayes
from suffice.densities import Full
from suffice.errors import SettingError
from suffice.estimate.families import (
    FAMILIES,
    CategoricalFamily,
    GaussianFamily,
    LaplaceFamily,
    PoissonFamily,
    TextFamily,
)
from suffice.estimate.families.counts import SumFamily

N = 60


VOCABULARY = "win win cash now call me later , ! 😀 it's a the free 2 u"
WORDS = np.array(VOCABULARY.split(" "))


def table(rng, support, holes):
    """Rows a family of this support can read, in three classes."""
    codes = rng.integers(0, 3, N)
    if support is None:
        X = np.array([[" ".join(rng.choice(WORDS[c:], 6)) for _ in range(2)] for c in 3 * codes], dtype=object)
        X[rng.random(X.shape) < 0.2 * holes] = None
        return X, np.array(["ash", "birch", "cedar"])[codes]
    if support == "reals":
        X = rng.normal(size=(N, 3)) * [1.0, 10.0, 0.1] + codes[:, None] + 5.0
    elif support == "truths":
        X = (rng.random((N, 3)) < 0.2 + 0.2 * codes[:, None]).astype(float)
    elif support == "levels":
        X = rng.choice(["red", "green", "blue"], (N, 3)).astype(object)
    else:
        X = rng.poisson(1.0 + codes[:, None] * [1.0, 3.0, 0.0], (N, 3)).astype(float)
    X = X.astype(object)
    if holes:
        X[rng.random(X.shape) < 0.2] = None
    return X, np.array(["ash", "birch", "cedar"])[codes]


SHIPPED = [
    *FAMILIES.values(),
    LaplaceFamily(distinct=16),
    TextFamily(kinds=("words", "pairs", "letters")),
    GaussianFamily(structure=Full, shared=True),
]


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("family", SHIPPED, ids=repr)
def test_families_keep_their_contract(rng, family, holes):
    if holes and not family.takes_missing:
        return
    joint = isinstance(family, GaussianFamily) and family.structure is Full
    X, y = table(rng, family.support, holes and not joint)  # where cells miss, EM stops within 1e-9 or so
    check_shipped_family(family, X, y)


@pytest.mark.parametrize("family", [f for f in FAMILIES.values() if isinstance(f, SumFamily)], ids=lambda f: f.name)
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_without_smoothing(rng, family, smoothing):
    check_shipped_family(family, *table(rng, family.support, False), smoothing=smoothing)


# --- families that break one law each ---


@dataclass(frozen=True)
class ForgetsWeights(PoissonFamily):
    name: str = "forgets weights"

    def summarize(self, rows, codes, k, weight):
        return super().summarize(rows, codes, k, None)


@dataclass(frozen=True)
class FillsWithZero(PoissonFamily):
    name: str = "fills with zero"

    def encode(self, table, positions):
        return np.nan_to_num(super().encode(table, positions))


@dataclass(frozen=True)
class Unnormalised(LaplaceFamily):
    name: str = "unnormalised"

    def estimate(self, stats, settings):
        density, notes = super().estimate(stats, settings)
        object.__setattr__(density, "scale", density.scale)
        return Doubled(density), notes


class Doubled:
    def __init__(self, density):
        self.density = density

    def log_density(self, rows):
        return self.density.log_density(rows) + np.log(2.0) * (~np.isnan(rows)).sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class NotANumber(PoissonFamily):
    name: str = "not a number"

    def estimate(self, stats, settings):
        density, notes = super().estimate(stats, settings)
        density.limit_rate[0, 0] = np.nan
        return density, notes


class DropsZeros(PoissonFamily):
    def encode(self, table, positions):
        rows = super().encode(table, positions)
        return rows if isinstance(rows, np.ndarray) else np.where(rows.toarray() > 0, rows.toarray(), np.nan)


class NoVerbs:
    name = "no verbs"

    def encode(self, table, positions):
        return table.numeric(positions)


BROKEN = {
    "copies: weights and copies": ForgetsWeights(),
    "missing_cells: a row without": FillsWithZero(),
    "adds_up": Unnormalised(),
    "rows_and_halves: a log density is NaN": NotANumber(),
    "reads_sparse: a sparse": DropsZeros(),
    "contract: the family lacks recode": NoVerbs(),
}


@pytest.mark.parametrize(("law", "family"), BROKEN.items(), ids=BROKEN.keys())
def test_a_broken_family_is_found(rng, law, family):
    X, y = table(rng, getattr(family, "support", "reals"), False)
    with pytest.raises(AssertionError, match=f"^{law}"):
        check_shipped_family(family, X, y)


# --- family objects ---


@pytest.mark.parametrize("distinct", [3, 1e4])
def test_settings_out_of_range_are_refused(distinct):
    with pytest.raises(SettingError, match=r"must be .* Next: "):
        LaplaceFamily(distinct=distinct)


def test_a_tuple_of_columns_needs_a_joint_family(rng):
    X = rng.poisson(2.0, (30, 4)).astype(float)
    with pytest.raises(SettingError, match="joined as 'gaussian' or 'multinomial' only"):
        NaiveBayes({(0, 1): "poisson"}).fit(X, np.arange(30) % 2)


def test_families_side_by_side_multiply(rng):
    """The joint density of a table is the product of those of its blocks; a tuple is a multinomial of its own."""
    X = rng.poisson(2.0, (80, 9)).astype(float)
    X[:, 6] = X[:, 6] > 1
    y = np.arange(80) % 3
    blocks = {"poisson": [0], "laplace": [1, 2], "multinomial": [3, 4, 5], "bernoulli": [6], "gaussian": [7]}
    families = {p: name for name, own in blocks.items() for p in own if name != "multinomial"}
    whole = NaiveBayes({**families, (3, 4, 5): "multinomial", 8: CategoricalFamily()}).fit(X, y)
    log_prior = np.log(whole.priors_)
    total = log_prior + sum(
        NaiveBayes(name).fit(X[:, own], y).predict_joint_log_proba(X[:, own]) - log_prior
        for name, own in {**blocks, "categorical": [8]}.items()
    )
    np.testing.assert_allclose(whole.predict_joint_log_proba(X), total, rtol=1e-12)
    assert set(whole.parameters_) == {0, 1, 2, 3, 4, 5, 6}
    assert set(whole.probabilities_) == {6, 8}
    assert np.isfinite(whole.means_[:, 7]).all()
    assert np.isnan(whole.means_[:, :7]).all()
