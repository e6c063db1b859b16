"""Sets of classes, of all cells, of few and by class: coverage of fresh rows, and what is refused."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, NaiveBayes
from suffice.conformal import threshold
from suffice.errors import DataError, SettingError
from suffice.questions.held_out import missing_in

D, FRESH = 6, 1500
MEANS = np.random.default_rng(1).normal(size=(3, D)) * 0.8
SHARES = np.array([0.45, 0.33, 0.22])


def draw(rng, n, shares=SHARES, holes=0.0):
    y = rng.choice(3, n, p=shares)
    X = MEANS[y] + rng.normal(size=(n, D))
    X[rng.random(X.shape) < holes] = np.nan
    return X, y


def showing(rng, X, known):
    """Leave so many cells of each row, whichever."""
    out = X.copy()
    out[rng.random(X.shape).argsort(axis=1) >= known] = np.nan
    return out


def covered(model, X, y, alpha=0.1, **told):
    return model.predict_set(X, alpha, **told)[np.arange(len(y)), y]


def too_few(n, alpha=0.1, draws=1):
    """The share below which the mean coverage of rows that n scores are a sample of is not by chance: four errors."""
    return 1 - alpha - 4 * np.sqrt(alpha * (1 - alpha) * (1 / n + 1 / FRESH) / draws)


@pytest.mark.parametrize(
    ("make", "n", "draws", "holes"),
    [
        (lambda: GaussianDiscriminant(shared=True, covariance="diagonal"), 300, 6, 0.2),
        (lambda: GaussianDiscriminant(), 300, 2, 0.0),
        (lambda: NaiveBayes(), 300, 6, 0.0),
        (lambda: NaiveBayes(), 300, 6, 0.2),
        (lambda: GenerativeForest(), 240, 1, 0.0),
        (lambda: GenerativeClassifier(), 300, 1, 0.2),
    ],
    ids=["shared", "full", "naive Bayes", "naive Bayes, holes", "forest", "automatic"],
)
def test_sets_cover_whatever_number_of_cells_is_known(rng, make, n, draws, holes):
    found = {known: [] for known in range(0, D + 1, 2)}
    for _ in range(draws):
        model = make().fit(*draw(rng, n, holes=holes))
        X, y = draw(rng, FRESH if draws > 1 else 300)
        for known, share in found.items():
            share.append(covered(model, showing(rng, X, known), y).mean())
    rows = n * (1 - holes) ** D if holes else n  # at all cells there are no others to say
    for known, share in found.items():
        few = min(n, max(rows, 50.0)) if known >= D - 2 else n
        assert np.mean(share) > too_few(few, draws=draws), (known, share)


def test_what_is_said_of_complete_rows_of_a_complete_table_is_as_it_was(rng):
    X, y = draw(rng, 200)
    for model in (NaiveBayes().fit(X, y), GaussianDiscriminant().fit(X, y)):
        left_out = model.leave_one_out(X, y)
        for alpha in (0.05, 0.1, 0.3):
            limit = threshold(-left_out[np.arange(200), y], np.ones(200), alpha)
            np.testing.assert_array_equal(model.predict_set(X, alpha), -model.predict_log_proba(X) <= limit)


def test_a_row_of_which_nothing_is_known_gets_the_classes_that_make_up_what_was_asked_for(rng):
    y = np.repeat([0, 1, 2], [120, 60, 20])  # 60, 30 and 10 %
    model = NaiveBayes().fit(MEANS[y] + rng.normal(size=(200, D)), y)
    nothing = np.full((1, D), np.nan)
    for alpha, expected in ((0.45, [1, 0, 0]), (0.35, [1, 1, 0]), (0.12, [1, 1, 0]), (0.09, [1, 1, 1])):
        assert model.predict_set(nothing, alpha)[0].tolist() == [bool(own) for own in expected]
        assert model.predict_set(nothing, alpha, by_class=True).all(), "each class covers its own rows"


def test_by_class_each_class_is_covered_and_a_rare_one_at_no_cost_to_the_others(rng):
    shares = np.array([0.84, 0.10, 0.06])
    alike, apart, draws = [], [], 8
    for _ in range(draws):
        model = NaiveBayes().fit(*draw(rng, 900, shares))
        X, y = draw(rng, 3000, shares)
        for found, told in ((alike, False), (apart, True)):
            own = [covered(model, showing(rng, X, known), y, by_class=told) for known in (2, D)]
            found.append([[hit[y == c].mean() for c in range(3)] for hit in own])
    rows = 900 * shares
    error = np.sqrt(0.09 * (1 / rows + 1 / (3000 * shares)) / draws)
    assert (np.mean(alike, axis=0)[:, 2] < 0.8).all(), "all classes together leave the rare one out"
    assert (np.mean(apart, axis=0) > 0.9 - 4 * error).all()
    assert (np.mean(apart, axis=0) < 0.9 + 1.5 / (rows + 1) + 4 * error + 0.02).all(), "no more than has to be"


def test_a_class_of_too_few_rows_is_in_every_set_and_that_is_said(rng):
    y = np.repeat(["common", "rare"], [60, 7])
    X = rng.normal(size=(67, 3)) + 3.0 * (y == "rare")[:, None]
    model = GaussianDiscriminant(shared=True).fit(X, y)
    with pytest.warns(UserWarning, match=r"Class 'rare': too few rows .* at least 9 different rows"):
        found = model.predict_set(X, by_class=True)
    assert found[:, 1].all()
    assert 0.8 < found[:60, 0].mean() < 1.0
    assert not model.predict_set(X, alpha=0.2, by_class=True)[:60, 1].any()  # 4 rows are enough for that


def test_counts_of_one_total_cannot_be_missing_and_have_sets_all_the_same(rng):
    X, y = rng.poisson(3 + 2 * np.eye(3, 5)[rng.integers(0, 3, 200)]), rng.integers(0, 3, 200)
    assert NaiveBayes("multinomial").fit(X, y).predict_set(X).shape == (200, 3)


def test_a_cell_of_a_level_never_seen_counts_as_unknown(rng):
    y = rng.integers(0, 2, 300)
    X = np.array([["abc"[own] for own in (y + rng.integers(0, 2, 300)) % 3], ["pq"[own] for own in y]], dtype=object).T
    model = NaiveBayes().fit(X, y)
    rows = model._fitted.rows(np.array([["never", "p"], [None, "p"], ["a", None], ["a", "q"]], dtype=object))
    assert (~missing_in(model._fitted, rows, 4)).sum(axis=1).tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize("make", [lambda: NaiveBayes(), lambda: GenerativeClassifier()], ids=["nb", "automatic"])
def test_a_released_model_covers_and_its_file_says_the_same(rng, read_back, make):
    draws, n = (6, 300) if make().__class__ is NaiveBayes else (1, 250)
    found, sizes, before = {known: [] for known in (0, 1, 3, D)}, [], []
    for _ in range(draws):
        model = make().fit(*draw(rng, n))
        released = model.release()
        again = read_back(released)
        X, y = draw(rng, FRESH)
        for known, share in found.items():
            rows = showing(rng, X, known)
            share.append(covered(again, rows, y).mean())
            np.testing.assert_array_equal(again.predict_set(rows), released.predict_set(rows))
        sizes.append(again.predict_set(X).sum(axis=1).mean())
        before.append(model.predict_set(X).sum(axis=1).mean())
    for known, share in found.items():
        assert np.mean(share) > too_few(n, draws=draws), (known, share)
    assert np.mean(sizes) < 1.12 * np.mean(before), "scores of models of four fifths of the rows"


def test_no_mean_of_a_released_model_is_of_fewer_rows_than_allowed(rng):
    X, y = draw(rng, 300, np.array([0.9, 0.08, 0.02]), holes=0.2)
    y[:6] = 2
    for least in (5, 6):
        sets = NaiveBayes().fit(X, y).release(least=least).released_.sets
        assert (sets.means.weight >= least - 1e-9).all()
        assert (sets.rows >= least).all()
        assert (sets.means.codes == -1).any(), "where the rare class has too few rows, all are told of together"
        for number in np.unique(sets.means.known):
            for hidden in (False, True):
                own = (sets.means.known == number) & (sets.means.hidden == hidden)
                assert len(set((sets.means.codes[own] < 0).tolist())) <= 1, "or the others would tell of the rare one"


def test_a_released_model_whose_priors_are_others_has_no_sets(rng):
    released = NaiveBayes().fit(*draw(rng, 200)).release()
    assert released.predict_set(MEANS).shape == (3, 3)
    released.set_params(priors=[0.2, 0.2, 0.6])
    with pytest.raises(Exception, match="their priors"):
        released.predict_set(MEANS)


def test_sets_cover_and_grow_with_confidence(rng):
    X, y = load_wine(return_X_y=True)
    X = X[:, :3]
    hits, sizes = [], []
    for _ in range(10):
        order = rng.permutation(len(y))
        model = GaussianDiscriminant().fit(X[order[:120]], y[order[:120]])
        new = order[120:]
        found = [model.predict_set(X[new], alpha) for alpha in (0.05, 0.2)]
        assert (found[0] | ~found[1]).all()
        hits.append([part[np.arange(len(new)), y[new]].mean() for part in found])
        sizes.append([part.sum(axis=1).mean() for part in found])
    shares = np.mean(hits, axis=0)
    assert abs(shares[0] - 0.95) < 3 * np.sqrt(0.05 * 0.95 / 580)
    assert abs(shares[1] - 0.80) < 3 * np.sqrt(0.20 * 0.80 / 580)
    assert np.mean(sizes, axis=0)[0] > np.mean(sizes, axis=0)[1]


def test_a_model_that_learns_more_is_judged_anew():
    X, y = load_iris(return_X_y=True)
    model = GaussianDiscriminant(shared=True).fit(X[::2], y[::2])
    model.predict_set(X)
    model.partial_fit(X[1::2], y[1::2])
    assert (model.predict_set(X, 0.02) == GaussianDiscriminant(shared=True).fit(X, y).predict_set(X, 0.02)).all()


def test_what_cannot_work_is_refused(blobs):
    X, y = blobs
    with pytest.raises(SettingError, match="alpha"):
        GaussianDiscriminant().fit(X, y).predict_set(X, 1.0)
    with pytest.raises(DataError, match="keep_rows=2000"):
        GaussianDiscriminant(keep_rows=0).fit(X, y).predict_set(X)
