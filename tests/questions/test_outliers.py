"""Outlier p-values: closed forms at small n, uniformity by Kolmogorov-Smirnov, and what must not change them."""

import numpy as np
import pytest
from scipy.stats import beta, f, kstest, t

from suffice import GaussianDiscriminant, NaiveBayes, NormalInverseWishart
from suffice.errors import DataError, SettingError
from suffice.questions.outlier_laws import PredictiveLaw, exact_law, measure

LEVEL = 1e-3  # seeds are fixed; at this level a true law fails once in a thousand


def gaussian_table(rng, n, d, k, kind, distance):
    """Rows of k Gaussian classes of n each and a function that draws new ones of given classes."""
    means = distance * rng.normal(size=(k, d))
    if kind == "diagonal":
        factors = [np.diag(np.exp(0.5 * rng.normal(size=d))) for _ in range(k)]
    elif kind == "shared":
        factors = [np.eye(d) + 0.5 * rng.normal(size=(d, d))] * k
    else:
        factors = [np.eye(d) + 0.5 * rng.normal(size=(d, d)) for _ in range(k)]

    def draw(codes):
        return np.stack([means[c] + factors[c] @ rng.normal(size=d) for c in codes])

    y = np.repeat(np.arange(k), n)
    return draw(y), y, draw


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
def test_one_column_is_the_t_test_of_a_new_value(divisor, rng):
    x = rng.normal(3.0, 2.0, size=12)
    new = np.array([-5.0, 0.0, 3.0, 9.0, 40.0])
    model = GaussianDiscriminant(divisor=divisor).fit(x[:, None], ["only"] * 12)
    statistic = (new - x.mean()) / (x.std(ddof=1) * np.sqrt(1 + 1 / 12))
    np.testing.assert_allclose(model.outlier_pvalues(new[:, None]), 2 * t.sf(np.abs(statistic), 11), rtol=1e-9)


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
def test_one_class_is_hotellings_t2_for_new_rows_and_the_beta_law_for_its_own(divisor, rng):
    n, d = 15, 4
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    new = rng.normal(size=(6, d)) * 3
    model = GaussianDiscriminant(divisor=divisor).fit(X, np.zeros(n, dtype=int))
    inverse = np.linalg.inv(np.cov(X.T))

    def squares(rows):
        return np.einsum("ni,ij,nj->n", rows - X.mean(axis=0), inverse, rows - X.mean(axis=0))

    expected = f.sf(squares(new) * n * (n - d) / ((n * n - 1) * d), d, n - d)
    np.testing.assert_allclose(model.outlier_pvalues(new), expected, rtol=1e-8)
    own = beta.sf(squares(X) * n / (n - 1) ** 2, d / 2, (n - d - 1) / 2)
    np.testing.assert_allclose(model.outlier_pvalues(X, np.zeros(n, dtype=int)), own, rtol=1e-8)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("covariance", ["full", "spherical"])
def test_the_law_of_a_training_row_is_that_of_a_new_row_for_the_model_without_it(covariance, shared, rng):
    X, y, _ = gaussian_table(rng, 8, 3, 2, "shared", 1.0)
    make = lambda: GaussianDiscriminant(covariance, shared=shared)  # noqa: E731
    own = make().fit(X, y).outlier_pvalues(X, y)
    for i in (0, 5, 11):
        rest = make().fit(np.delete(X, i, axis=0), np.delete(y, i))
        distance = measure(rest.model_, [X[[i]]])[0]
        new = exact_law(rest._fitted).new_row(distance, np.ones(3, dtype=bool))[0, y[i]]
        assert own[i] == pytest.approx(new, rel=1e-8)


def test_missing_cells_are_those_of_the_marginal_model(rng):
    X, y, draw = gaussian_table(rng, 20, 4, 1, "full", 0.0)
    new = draw(np.zeros(5, dtype=int))
    kept = [0, 2]
    holed = new.copy()
    holed[:, [1, 3]] = np.nan
    whole = GaussianDiscriminant().fit(X, y).outlier_pvalues(holed)
    np.testing.assert_allclose(whole, GaussianDiscriminant().fit(X[:, kept], y).outlier_pvalues(new[:, kept]))
    assert GaussianDiscriminant().fit(X, y).outlier_pvalues(np.full((1, 4), np.nan)).tolist() == [1.0]


@pytest.mark.parametrize(
    ("kind", "n", "d", "k", "distance"),
    [("full", 10, 4, 1, 0.0), ("shared", 10, 4, 3, 1.0), ("diagonal", 10, 2, 2, 1.0), ("full", 30, 3, 3, 5.0)],
)
def test_uniform_on_rows_of_the_model(kind, n, d, k, distance):
    """Over classes by rows held out; where none are kept by the law within each, and the largest is never too small."""
    found = {"held out": [], "within": [], "largest": []}
    for repeat in range(40):
        rng = np.random.default_rng([repeat, n, d, k])
        X, y, draw = gaussian_table(rng, n, d, k, kind, distance)
        settings = {"covariance": "diagonal" if kind == "diagonal" else "full", "shared": kind == "shared"}
        codes = rng.integers(k, size=2)
        new, without_rows = draw(codes), GaussianDiscriminant(**settings, keep_rows=0).fit(X, y)
        found["held out"].append(GaussianDiscriminant(**settings).fit(X, y).outlier_pvalues(new))
        found["within"].append(without_rows.outlier_pvalues(new, by_class=True)[[0, 1], codes])
        found["largest"].append(without_rows.outlier_pvalues(new))
    for way, own in found.items():
        beyond = (
            "greater" if way == "largest" and distance < 5.0 else "two-sided"
        )  # where classes lie apart it is exact
        assert kstest(np.concatenate(own), "uniform", alternative=beyond).pvalue > LEVEL
    for level in (0.05, 0.2, 0.5):
        share = (np.concatenate(found["within"]) < level).mean()
        assert abs(share - level) < 2.0 * np.sqrt(level * (1 - level) / 80)


def test_mixed_tables_and_shrunken_models_find_what_is_far(rng):
    X = np.empty((90, 3), dtype=object)
    code = np.arange(90) % 3
    X[:, 0] = rng.normal(size=90) + 4 * code
    X[:, 1] = np.array(["red", "green", "blue"])[code]
    X[:, 2] = rng.poisson(3 + code)
    model = NaiveBayes({2: "poisson"}).fit(X, code)
    p = model.outlier_pvalues(
        [[0.0, "red", 3], [0.0, "red", 30], [50.0, "red", 3], [None, None, 60], [0.0, "black", 3]]
    )
    assert p[0] > 0.2
    assert (p[1:4] < 1e-3).all()
    assert p[4] < p[0]
    assert (model.outlier_pvalues(X) > 0.0).all()
    assert 0.02 <= (model.outlier_pvalues(X, code) < 0.1).mean() <= 0.2
    shrunk = GaussianDiscriminant(shrinkage="oas").fit(X[:, [0, 2]].astype(float), code)
    p = shrunk.outlier_pvalues([[4.0, 4.0], [4.0, 40.0], [4.0, 400.0]])
    assert p[0] > 0.1 > 1e-3 > p[1] > p[2]  # tails go on, so that what is farther is less likely


def test_labels_the_model_does_not_know_are_refused(blobs):
    X, y = blobs
    model = GaussianDiscriminant().fit(X, y)
    with pytest.raises(DataError, match="'yew'"):
        model.outlier_pvalues(X, ["yew"] * len(y))


@pytest.mark.parametrize("prior", [NormalInverseWishart(), NormalInverseWishart(strength=np.inf)])
def test_under_a_prior_distances_follow_the_law_of_its_student_t(prior, rng):
    X = rng.normal(size=(9, 3)) @ rng.normal(size=(3, 3))
    model = GaussianDiscriminant(prior=prior).fit(X, np.zeros(9, dtype=int))
    density = model.model_.density.blocks[0]
    new = rng.normal(size=(5, 3)) * 4
    new[4, 1] = np.nan
    law = PredictiveLaw(density.df, np.ones(3, dtype=bool))
    found = [law.new_row(measure(model.model_, [row[None]])[0], ~np.isnan(row))[0, 0] for row in new]
    for row, p in zip(new, found, strict=True):
        seen = np.flatnonzero(~np.isnan(row))
        apart = (row - density.location[0])[seen]
        shape = density.scale.dense()[0][np.ix_(seen, seen)] * density.inflation[0]
        q = apart @ np.linalg.solve(shape, apart)
        assert p == pytest.approx(f.sf(q / len(seen), len(seen), density.df[0]), rel=1e-8)


def test_sums_over_independent_columns_have_the_share_of_simulated_tables(rng):
    n, d = 10, 3
    train, rows = rng.normal(size=(20_000, n, d)), rng.normal(size=(20_000, d))
    squares = ((rows - train.mean(axis=1)) ** 2 / train.var(axis=1)).sum(axis=1)
    model = GaussianDiscriminant("diagonal").fit(train[0], np.zeros(n, dtype=int))
    law = exact_law(model._fitted)
    places = np.quantile(squares, [0.1, 0.5, 0.9, 0.95, 0.99, 0.999])
    found = law.new_row(0.5 * places[:, None], np.ones(d, dtype=bool))[:, 0]
    np.testing.assert_allclose(found, [0.9, 0.5, 0.1, 0.05, 0.01, 0.001], rtol=0.1, atol=0.0008)  # 2 × 20,000 draws
    far = law.new_row(np.geomspace(1.0, 1e8, 60)[:, None], np.ones(d, dtype=bool))[:, 0]
    assert (np.diff(far) <= 0).all()
    one = 0.5 * 1e8 / law.divisor[0, 0] / (1 + 1 / n)  # far out, one column does it
    assert far[-1] == pytest.approx(d * 2 * t.sf(np.sqrt(4 * one * (n - 1)), n - 1), rel=0.05)


def test_a_column_without_cells_in_a_class_is_no_division_by_zero():
    """Nor a warning of NumPy's, which is an error here; 1 of the p-values is the largest, at a class's centre."""
    X = [[1.0, 5.0, np.nan], [2.0, 5.5, np.nan], [1.5, 6.0, np.nan], [9.0, 1.0, 3.0], [8.0, 2.5, 3.0], [8.5, 2.0, 3.0]]
    found = GaussianDiscriminant("diagonal").fit(X, ["a"] * 3 + ["b"] * 3).outlier_pvalues([[1.5, 5.5, None], *X])
    assert ((found > 0) & (found <= 1)).all()
    assert found[0] == found.max()


def test_within_each_class_p_values_of_new_rows_are_uniform_however_wide_or_rare_it_is(rng) -> None:
    """Over all classes rows of a wide rare class look odd too often; by class a share p has one up to p."""
    shares, spread = np.array([0.8, 0.12, 0.08]), np.array([1.0, 1.0, 3.0])

    def rows(n):
        y = rng.choice(3, n, p=shares)
        return np.array([0.0, 2.0, 1.0])[y][:, None] + spread[y][:, None] * rng.normal(size=(n, 3)), y

    alike, apart, draws = [], [], 8
    for _ in range(draws):
        model, (new, truth) = GaussianDiscriminant().fit(*rows(700)), rows(3000)
        overall, found = model.outlier_pvalues(new), model.outlier_pvalues(new, by_class=True)
        alike.append((overall[truth == 2] < 0.05).mean())
        apart.append([(found[truth == c, c] < 0.05).mean() for c in range(3)])
    error = np.sqrt(0.05 * 0.95 * (1 / (700 * shares) + 1 / (3000 * shares)) / draws)
    assert np.mean(alike) > 0.075
    assert (np.abs(np.mean(apart, axis=0) - 0.05) < 1 / (700 * shares) + 4 * error).all()


def test_by_class_without_rows_is_the_law_of_each_class(rng) -> None:
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b"], 30)
    new = np.vstack([rng.normal(size=(20, 2)) * 2, [[0.5, np.nan]], [[np.nan, np.nan]]])
    both = GaussianDiscriminant(keep_rows=0).fit(X, y).outlier_pvalues(new, by_class=True)
    for c, label in enumerate("ab"):
        one = GaussianDiscriminant(keep_rows=0).fit(X[y == label], y[y == label])
        np.testing.assert_allclose(both[:, c], one.outlier_pvalues(new), rtol=1e-9)
    assert (both[-1] == 1.0).all()


def test_by_class_with_labels_is_refused(rng) -> None:
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    with pytest.raises(SettingError, match="within their own class already"):
        GaussianDiscriminant().fit(X, y).outlier_pvalues(X, y, by_class=True)
