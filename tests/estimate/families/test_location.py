"""Laplace and Student t estimates: weighted medians, SciPy's maximum likelihood, and what is mended."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from suffice import NaiveBayes, load
from suffice.errors import DataError
from suffice.estimate.families import LaplaceFamily, StudentTFamily


def fit(family, X, y, weight=None):
    """Return the density of one block and the notes as text."""
    model = NaiveBayes(family).fit(X, y, sample_weight=weight)
    return model.model_.density.blocks[0], [str(note) for note in model.notes_]


# --- Laplace ---


def test_laplace_is_median_and_mean_deviation(rng):
    X = rng.laplace(size=(101, 3)) * [1.0, 1e-6, 1e6] + [0.0, 1.0, -1e8]
    y = np.arange(101) % 2  # 51 and 50 rows: an odd and an even median
    X[rng.random(X.shape) < 0.2] = np.nan
    density, notes = fit("laplace", X, y)
    assert not notes
    for c in range(2):
        median = np.nanmedian(X[y == c], axis=0)
        assert_allclose(density.location[c], median, rtol=1e-14)
        assert_allclose(density.scale[c], np.nanmean(np.abs(X[y == c] - median), axis=0), rtol=1e-9)


def test_laplace_equals_scipy_with_weights(rng):
    x, weight = rng.normal(size=60).round(1), rng.integers(1, 5, 60)
    density, _ = fit("laplace", x[:, None], np.zeros(60, int), weight)
    location, scale = stats.laplace.fit(np.repeat(x, weight))
    assert_allclose([density.location[0, 0], density.scale[0, 0]], [location, scale], rtol=1e-12)


def test_fractional_weights_split_in_halves():
    """0.1 + 0.2 against 0.3: the halves are equal although their floats are not."""
    density, _ = fit("laplace", np.array([[1.0], [2.0], [4.0]]), [0, 0, 0], [0.1, 0.2, 0.3])
    assert density.location[0, 0] == 3.0


def test_rounded_values_stay_within_the_stated_error(rng):
    X = rng.laplace(size=(5000, 2))
    y = np.arange(5000) % 2
    exact, nothing = fit(LaplaceFamily(), X, y)
    rough, notes = fit(LaplaceFamily(distinct=100), X, y)
    assert not nothing
    assert len(notes) == 4
    assert all("rounded the values" in note and "more than 100 distinct values" in note for note in notes)
    amount = [note.amount for note in NaiveBayes(LaplaceFamily(distinct=100)).fit(X, y).notes_]
    assert np.abs(rough.location - exact.location).max() <= max(amount)
    assert np.abs(rough.scale - exact.scale).max() <= 2 * max(amount)
    assert max(amount) < 0.2


def test_batches_and_files_of_rounded_values(rng, tmp_path):
    X, y = rng.laplace(size=(3000, 2)), np.arange(3000) % 3
    family = LaplaceFamily(distinct=50)
    whole = NaiveBayes(family).fit(X, y)
    parts = NaiveBayes(family)
    for part in np.array_split(rng.permutation(3000), 7):
        parts.partial_fit(X[part], y[part])
    assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-10)
    parts.save(tmp_path / "model.suffice")
    back = load(tmp_path / "model.suffice")
    assert back.families == family
    assert_allclose(back.predict_joint_log_proba(X), parts.predict_joint_log_proba(X), rtol=0)


# --- Student t ---


def negative_log_likelihood(x, df):
    return lambda p: -stats.t.logpdf(x, df, p[0], np.exp(p[1])).sum()


@pytest.mark.parametrize("df", [1.0, 2.5, 4.0, 30.0])
def test_student_t_maximises_the_likelihood(rng, df):
    x = np.sort(stats.t.rvs(df, 5.0, 3.0, size=200, random_state=rng))
    density, notes = fit(StudentTFamily(df=df), x[:, None], np.zeros(200, int))
    found = np.array([density.location[0, 0], np.log(density.scale[0, 0])])
    target = negative_log_likelihood(x, df)
    best = optimize.minimize(target, found + 0.1, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert target(found) <= best.fun + 1e-9
    assert_allclose(found, best.x, atol=1e-5)
    z = (x - density.location[0, 0]) / density.scale[0, 0]
    pull = (df + 1) / (df + z**2)  # the likelihood equations themselves
    assert_allclose([(pull * z).mean(), (pull * z**2).mean()], [0.0, 1.0], atol=1e-8)
    assert not notes


def test_estimated_degrees_of_freedom_equal_scipy(rng):
    X = np.column_stack([stats.t.rvs(df, 5.0, 3.0, size=400, random_state=rng) for df in (1.5, 4.0, 12.0)])
    density, _ = fit(StudentTFamily(df=None), X, np.zeros(400, int))
    for j in range(3):
        df, location, scale = stats.t.fit(X[:, j])
        ours = stats.t.logpdf(X[:, j], density.df[0, j], density.location[0, j], density.scale[0, j]).sum()
        assert ours >= stats.t.logpdf(X[:, j], df, location, scale).sum() - 1e-8
        assert_allclose(
            [density.df[0, j], density.location[0, j], density.scale[0, j]], [df, location, scale], rtol=1e-2
        )


def test_estimated_degrees_of_freedom_stay_in_range(rng):
    normal, wild = rng.normal(size=2000), stats.cauchy.rvs(size=2000, random_state=rng) ** 3
    density, _ = fit(StudentTFamily(df=None), np.column_stack([np.clip(normal, -1.5, 1.5), wild]), np.zeros(2000, int))
    assert_allclose(density.df, [[100.0, 1.0]], rtol=1e-6)


def test_student_t_with_many_degrees_is_gaussian(rng):
    X, y = rng.normal(size=(300, 2)), np.arange(300) % 2
    a = NaiveBayes(StudentTFamily(df=1e7)).fit(X, y).predict_log_proba(X)
    assert_allclose(a, NaiveBayes("gaussian").fit(X, y).predict_log_proba(X), atol=1e-5)


@pytest.mark.parametrize("family", ["laplace", "student_t", StudentTFamily(df=None)], ids=str)
def test_weights_are_copies_and_units_do_not_matter(rng, family):
    X, y, weight = rng.standard_t(3, (90, 2)), np.arange(90) % 3, rng.integers(1, 4, 90)
    expected = NaiveBayes(family).fit(X, y, sample_weight=weight).predict_log_proba(X)
    repeated = NaiveBayes(family).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(repeated.predict_log_proba(X), expected, atol=1e-7)
    units = np.array([1e-9, 1e7])
    other = NaiveBayes(family).fit(X * units + [0.0, 3e7], y, sample_weight=weight)
    assert_allclose(other.predict_log_proba(X * units + [0.0, 3e7]), expected, atol=1e-6)


# --- what is mended ---


@pytest.mark.parametrize("family", ["laplace", "student_t", StudentTFamily(df=None)], ids=str)
def test_columns_without_spread(family):
    """One value in a class, no value, a class that never varies, a column that never varies: all fit, with notes."""
    X = np.array(
        [
            [1.0, 5.0, 1.0, 3.0],
            [2.0, 5.0, 2.0, 3.0],
            [4.0, 5.0, 4.0, 3.0],
            [2.0, 1.0, np.nan, 3.0],
            [3.0, 2.0, np.nan, 3.0],
            [7.0, 4.0, 9.0, 3.0],
        ]
    )
    y = ["a", "a", "a", "b", "b", "c"]
    density, notes = fit(family, X, y)
    assert density.used == (0, 1, 2)
    assert (density.scale[:, :3] > 0).all()
    text = "\n".join(notes)
    assert "left out 3: the column never varies" in text
    assert "took the median of all classes for 2 in class 'b'" in text
    assert "took the spread of all classes for 0, 1, 2 in class 'c'" in text
    assert "raised the scale for 1 in class 'a'" in text
    model = NaiveBayes(family).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_value_that_most_rows_share(rng):
    """With df/(df + 1) of the rows on one value the likelihood has no maximum: the scale stops at its least, noted."""
    x = np.concatenate([np.full(90, 2.0), rng.normal(size=10)])
    density, notes = fit("student_t", x[:, None], np.zeros(100, int))
    assert density.location[0, 0] == 2.0
    assert 0 < density.scale[0, 0] < 1e-4
    assert "raised the scale" in notes[0]
    assert "the likelihood has no maximum" in notes[0]


def test_numbers_that_overflow_are_refused():
    with pytest.raises(DataError, match="beyond 1e150"):
        NaiveBayes("laplace").fit([[1.0], [1e301]], [0, 1])
