"""Maximum likelihood and its repairs against NumPy, for every structure, shared or not, and both divisors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice.densities import Diagonal, Full, LowRank, Spherical
from suffice.errors import SettingError, SingularCovarianceError
from suffice.estimate import RDA, Settings, Shrinkage, class_log_prior
from suffice.estimate.families import GaussianFamily

GRID = [
    (structure, shared, divisor)
    for structure in (Full, Diagonal, Spherical)
    for shared in (False, True)
    for divisor in ("mle", "unbiased")
]
CLASSES = ("ash", "birch", "cedar")


def fit(X, codes, structure=Full, shared=False, divisor="mle", shrinkage=None, weight=None, k=3):
    """Return (density, notes) of one Gaussian block."""
    family = GaussianFamily(structure=structure, shared=shared)
    columns = tuple(f"x{j}" for j in range(X.shape[1]))
    settings = Settings(divisor=divisor, shrinkage=Shrinkage(shrinkage), classes=CLASSES[:k], columns=columns)
    return family.estimate(family.summarize(X, codes, k, weight), settings)


@pytest.fixture
def table(rng):
    codes = np.repeat([0, 1, 2], [12, 30, 18])
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + codes[:, None]
    return X, codes


def by_numpy(X, codes, structure, shared, divisor):
    """Return covariances (g, d, d) from the definitions."""
    k, d = codes.max() + 1, X.shape[1]
    less = 1 if divisor == "unbiased" else 0
    groups = [X[codes == c] for c in range(k)]
    scatters = np.stack([(g - g.mean(axis=0)).T @ (g - g.mean(axis=0)) for g in groups])
    divisors = np.array([len(g) - less for g in groups], dtype=float)
    if shared:
        scatters, divisors = scatters.sum(axis=0)[None], np.array([len(X) - less * k], dtype=float)
    covariances = scatters / divisors[:, None, None]
    if structure is Full:
        return covariances
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    if structure is Spherical:
        variances = np.repeat(variances.mean(axis=1)[:, None], d, axis=1)
    return np.stack([np.diag(row) for row in variances])


@pytest.mark.parametrize(("structure", "shared", "divisor"), GRID)
def test_means_and_covariances(table, structure, shared, divisor):
    X, codes = table
    density, notes = fit(X, codes, structure, shared, divisor)
    assert isinstance(density.covariance, structure)
    assert_allclose(density.means, [X[codes == c].mean(axis=0) for c in range(3)], rtol=1e-12)
    assert_allclose(density.covariance.dense(), by_numpy(X, codes, structure, shared, divisor), rtol=1e-11, atol=1e-13)
    assert notes == []
    assert density.used == (0, 1, 2, 3)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
def test_diagonal_uses_each_columns_own_cells(table, rng, shared, divisor):
    X, codes = table
    X[rng.random(X.shape) < 0.3] = np.nan
    less = 1 if divisor == "unbiased" else 0
    density, _ = fit(X, codes, Diagonal, shared, divisor)
    for j in range(4):
        groups = [X[(codes == c) & ~np.isnan(X[:, j]), j] for c in range(3)]
        assert_allclose(density.means[:, j], [g.mean() for g in groups])
        squares, cells = np.array([g.var() * len(g) for g in groups]), np.array([len(g) for g in groups])
        expected = [squares.sum() / (cells.sum() - 3 * less)] if shared else squares / (cells - less)
        assert_allclose(density.covariance.variance[:, j], expected, rtol=1e-11)


# --- class priors ---


def test_class_priors():
    weight = np.array([1.0, 3.0])
    assert_allclose(np.exp(class_log_prior(weight, None)), [0.25, 0.75])
    assert_allclose(np.exp(class_log_prior(weight, "uniform")), [0.5, 0.5])
    assert_allclose(np.exp(class_log_prior(weight, [0.9, 0.1])), [0.9, 0.1])
    assert_array_equal(class_log_prior(weight, [1, 0]), [0.0, -np.inf])
    assert_array_equal(class_log_prior(np.array([2.0, 0.0]), None), [0.0, -np.inf])
    assert np.exp(class_log_prior(weight, [0.3, 0.7 + 5e-7])).sum() == pytest.approx(1, abs=1e-15)


# --- shrinkage asked for ---


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("amount", [1e-3, 0.3, 1.0])
def test_shrinkage_scales_correlations(table, shared, amount):
    """Σ_s = (1 − s) Σ + s diag(Σ): variances stay, correlations are scaled by 1 − s."""
    X, codes = table
    plain = by_numpy(X, codes, Full, shared, "mle")
    density, notes = fit(X, codes, shared=shared, shrinkage=amount)
    diagonal = np.stack([np.diag(np.diag(matrix)) for matrix in plain])
    assert_allclose(density.covariance.dense(), (1 - amount) * plain + amount * diagonal, rtol=1e-11, atol=1e-14)
    assert notes == []  # what was asked for is no repair


def test_shrinkage_of_a_table_wider_than_long(rng):
    X, codes = rng.normal(size=(20, 150)) * np.logspace(-2, 2, 150), np.arange(20) % 2
    for shared in (False, True):
        density, notes = fit(X, codes, shared=shared, shrinkage=0.25, k=2)
        assert isinstance(density.covariance, LowRank)
        plain = by_numpy(X, codes, Full, shared, "mle")
        expected = 0.75 * plain + 0.25 * np.stack([np.diag(np.diag(matrix)) for matrix in plain])
        sd = np.sqrt(np.einsum("gii->gi", plain))
        unit = sd[:, :, None] * sd[:, None, :]
        assert_allclose(density.covariance.dense() / unit, expected / unit, atol=1e-12)
        assert notes == []


# --- repairs by default ---


def correlations_of(covariance):
    dense = covariance.dense()
    sd = np.sqrt(np.einsum("gii->gi", dense))
    return dense / sd[:, :, None] / sd[:, None, :]


@pytest.mark.parametrize("shared", [False, True])
def test_collinear_columns_get_the_least_usable_shrinkage(table, shared):
    """The least eigenvalue on the correlation scale becomes 1e-6, whatever the units, and a note says so."""
    X, codes = table
    X = np.column_stack([X, X[:, 0] * 1e6 - 3, X[:, 1] * 1e-6])
    density, notes = fit(X, codes, shared=shared)
    smallest = np.linalg.eigvalsh(correlations_of(density.covariance))[:, 0]
    assert_allclose(smallest, 1e-6, rtol=1e-6)
    assert_allclose(
        np.sqrt(np.einsum("gii->gi", density.covariance.dense())),
        np.sqrt(np.einsum("gii->gi", by_numpy(X, codes, Full, shared, "mle"))),
        rtol=1e-9,
    )
    assert len(notes) == (1 if shared else 3)
    assert all(note.what == "shrunk the correlations" for note in notes)
    assert {note.label for note in notes} == ({None} if shared else set(CLASSES))
    assert set(notes[0].columns) == {"x0", "x1", "x4", "x5"}
    assert notes[0].amount == pytest.approx(1e-6, rel=1e-3)
    assert "rank 4 of 6" in str(notes[0])


@pytest.mark.parametrize("structure", [Full, Diagonal, Spherical])
@pytest.mark.parametrize("shared", [False, True])
def test_a_column_that_never_varies_is_left_out(table, structure, shared):
    X, codes = table
    X = np.column_stack([X, np.full(60, 0.1)])
    density, notes = fit(X, codes, structure, shared)
    assert density.used == (0, 1, 2, 3)
    assert [(note.what, note.columns) for note in notes] == [("left out", ("x4",))]
    assert_allclose(
        density.covariance.dense(), by_numpy(X[:, :4], codes, structure, shared, "mle"), rtol=1e-10, atol=1e-13
    )


@pytest.mark.parametrize("structure", [Full, Diagonal])
def test_a_column_constant_within_one_class_is_noted(table, structure):
    X, codes = table
    X[codes == 0, 2] = 5.0
    density, notes = fit(X, codes, structure)
    raised = [note for note in notes if note.what == "raised the variance"]
    assert [(note.label, note.columns) for note in raised] == [("ash", ("x2",))]
    pooled = by_numpy(X, codes, structure, True, "mle")[0, 2, 2]
    assert density.covariance.dense()[0, 2, 2] == pytest.approx(raised[0].amount * pooled, rel=1e-9)
    others = by_numpy(X, codes, structure, False, "mle")
    assert_allclose(density.covariance.dense()[1:], others[1:], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("structure", [Full, Diagonal, Spherical])
def test_a_class_of_one_row_takes_the_spread_of_all_classes(rng, structure):
    codes = np.repeat([0, 1, 2], [1, 30, 30])
    X = rng.normal(size=(61, 3)) @ rng.normal(size=(3, 3))
    density, notes = fit(X, codes, structure)
    assert_allclose(density.covariance.dense()[0], by_numpy(X, codes, structure, True, "mle")[0], rtol=1e-10)
    assert_allclose(density.means[0], X[0])
    assert {note.label for note in notes} == {"ash"}


# --- repairs forbidden ---


def test_no_shrinkage_names_class_columns_and_rank(table):
    X, codes = table
    X[codes == 1, 3] = 2 * X[codes == 1, 0]
    message = r"Class 'birch': the covariance has rank 3 of 4 .*columns involved are 'x0', 'x3'"
    with pytest.raises(SingularCovarianceError, match=message):
        fit(X, codes, shrinkage=0.0)
    fit(X, codes, shrinkage=0.0, shared=True)  # the shared one is regular
    X[:, 3] = X[:, 0] - X[:, 1]
    with pytest.raises(SingularCovarianceError, match=r"covariance of all classes has rank 3 of 4.*'x0', 'x1', 'x3'"):
        fit(X, codes, shrinkage=0.0, shared=True)


@pytest.mark.parametrize("structure", [Full, Diagonal])
def test_no_shrinkage_forbids_every_repair(table, structure):
    X, codes = table
    fit(X, codes, structure, shrinkage=0.0)
    flat = np.column_stack([X, np.ones(60)])
    with pytest.raises(SingularCovarianceError, match=r"rank 4 of 5.*'x4'"):
        fit(flat, codes, structure, shrinkage=0.0)
    X[codes == 2, 1] = 0.0
    with pytest.raises(SingularCovarianceError, match=r"Class 'cedar'.*'x1'"):
        fit(X, codes, structure, shrinkage=0.0)


@pytest.mark.parametrize("amount", [-0.1, 1.1, np.nan, np.inf, "lasso", [0.1]], ids=repr)
def test_amounts_that_are_no_shrinkage(amount):
    with pytest.raises(SettingError, match="shrinkage"):
        Shrinkage(amount)


@pytest.mark.parametrize(
    ("shrinkage", "change"),
    [
        (0.3, lambda X: X),
        ("oas", lambda X: X),
        (RDA(shared=0.5), lambda X: X),
        (RDA(amount=0.5, target="identity"), lambda X: X),
        (None, lambda X: X[:, [0, 1, 1]]),
        (None, lambda X: np.where((np.arange(50) < 20)[:, None] & (np.arange(3) == 1), 1.0, X)),
        (None, lambda X: np.where((np.arange(50) % 3 == 0)[:, None] & (np.arange(3) == 1), np.nan, X)),
    ],
    ids=["shrunk", "rule", "pooled", "sphere", "collinear", "flat", "filled"],
)
def test_a_repaired_estimate_has_no_divisor(rng, shrinkage, change):
    codes = np.repeat([0, 1], [20, 30])
    X = change(rng.normal(size=(50, 3)) + codes[:, None])
    family = GaussianFamily(structure=Full)
    told = Settings(shrinkage=Shrinkage(shrinkage), classes=(0, 1), columns=(0, 1, 2))
    density, _ = family.estimate(family.summarize(X, codes, 2, None), told)
    assert density.divisor is None
