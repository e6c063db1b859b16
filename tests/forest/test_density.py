"""The density of a forest is one: it adds up, its marginals are sums over cells, and draws and fillings follow it."""

import numpy as np
import pytest
from forests import coded, every_row, grown, small_table
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import chi2


@pytest.fixture(scope="module", params=[0.0, 0.2], ids=["complete", "holed"])
def density(request):
    return grown(*small_table(np.random.default_rng(5), holes=request.param))[0].density()


@pytest.fixture(scope="module")
def joint(density):
    """All rows with their log probability under each class: the density times the measure of a step."""
    rows, step = every_row()
    return rows, density.log_density(rows) + np.log(step)


def test_a_column_of_one_value_has_no_density_and_one_of_no_cell_says_nothing(rng):
    n = 120
    y = rng.integers(0, 2, n)
    numbers = np.column_stack([np.full(n, 3.0), np.full(n, np.nan)])
    categories = coded([rng.integers(0, 2, n), np.full(n, -1)], [("a", "b"), ()])
    density = grown(numbers, categories, y)[0].density()
    rows = np.array([[3.0, np.nan, c, np.nan] for c in range(3)])
    assert_allclose(np.exp(density.log_density(rows)).sum(axis=0), 1.0, atol=1e-9)


@pytest.mark.parametrize("hidden", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)], ids=str)
def test_marginals_are_sums_over_the_cells_that_are_missing(density, hidden):
    rows, step = every_row((4, 3))
    joint = density.log_density(rows) + (np.log(step) if 0 in hidden else 0.0)
    left = [j for j in range(3) if j not in hidden]
    # numbers that are kept are looked at where they were seen, and one beyond
    some = np.flatnonzero(np.isin(rows[:, 0].round(3), [0.012, 1.012, 2.988, 5.012])) if 0 in left else np.arange(1)
    known = rows[some].copy() if left else np.full((1, 3), np.nan)
    known = known[(known[:, 1:] < [3, 2]).all(axis=1)] if left else known
    for row in known[:12]:
        same = (rows[:, left] == row[left]).all(axis=1)
        holed = row.copy()
        holed[list(hidden)] = np.nan
        assert_allclose(density.log_density(holed[None])[0], logsumexp(joint[same], axis=0), atol=1e-6)


def test_marginals_made_at_once_are_those_of_rows_with_holes(density, rng):
    rows = every_row((4, 3))[0]
    rows = rows[rng.choice(len(rows), 15)]
    rows[:5, 0] = np.nan
    for part, value in density.marginals(rows):
        for columns in ([], [0], [1, 2], [0, 2], [0, 1, 2]):
            holed = rows[part].copy()
            holed[:, [j for j in range(3) if j not in columns]] = np.nan
            assert_allclose(value(np.array(columns, dtype=int)), density.log_density(holed), atol=1e-9)


def test_densities_in_many_ways_are_those_of_rows_with_holes(density, rng):
    rows = every_row((4, 3))[0]
    rows = rows[rng.choice(len(rows), 15)]
    ways = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=float)
    for way, found in zip(ways, density.in_ways(rows, ways), strict=True):
        assert_allclose(found, density.log_density(np.where(way > 0, rows, np.nan)), atol=1e-9)


def test_a_level_never_seen_says_nothing_of_the_class(density):
    rows = np.array([[x, 3.0, c] for x in (0.0, 2.0) for c in (0.0, 1.0)])
    holed = rows.copy()
    holed[:, 1] = np.nan
    apart = density.log_density(rows) - density.log_density(holed)
    assert_allclose(apart, apart[0, 0], atol=1e-9)
    assert apart[0, 0] < np.log(0.01)  # half a row among 240


def by_values(rows, probability, drawn):
    """Return how often each value of a number, with levels, was drawn, and the share it should have had."""
    keys = [tuple(row) for row in np.column_stack([rows[:, 0].round(), rows[:, 1:]]).astype(int)]
    found = {}
    for key, p in zip(keys, probability, strict=True):
        # numbers beyond are drawn as the end of those seen
        key = (min(max(key[0], 0), 4), *key[1:])
        found[key] = found.get(key, 0.0) + p
    counts = dict.fromkeys(found, 0)
    for row in drawn:
        counts[tuple(row.round().astype(int))] += 1
    return np.array([counts[key] for key in found]), np.array([found[key] for key in found])


def assert_drawn_from(counts, shares):
    """Chi-square, one in a million."""
    expected = shares / shares.sum() * counts.sum()
    rare = expected < 5
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], max(expected[rare].sum(), 1e-9))
    assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, len(counts) - 1)


@pytest.mark.parametrize("k", [0, 1])
def test_draws_follow_the_density(density, joint, k):
    n = 6000
    drawn = density.sample(np.full((n, 3), np.nan), np.full(n, k), np.random.RandomState(1))
    assert_drawn_from(*by_values(joint[0], np.exp(joint[1][:, k]), drawn))


@pytest.mark.parametrize("known", [{0: 1.0}, {1: 2.0}, {0: 2.0, 2: 1.0}], ids=str)
def test_conditional_draws_follow_the_density(density, joint, known):
    n, (rows, score) = 2000, joint
    given = np.full((n, 3), np.nan)
    given[:, list(known)] = list(known.values())
    drawn = density.sample(given, np.ones(n, dtype=int), np.random.RandomState(2))
    assert_allclose(drawn[:, list(known)], given[:, list(known)])
    same = np.all([rows[:, j].round() == value for j, value in known.items()], axis=0)
    assert_drawn_from(*by_values(rows[same], np.exp(score[same, 1]), drawn))


@pytest.mark.parametrize("hidden", [(0,), (1,), (0, 1), (0, 2), (0, 1, 2)], ids=str)
def test_fillings_are_means_and_modes_of_the_conditional_density(density, joint, hidden):
    """Over both classes, by their weights; what lies beyond the values seen counts as the outermost of them."""
    rows, score = joint
    weight = np.array([[0.3, 0.7]])
    given = np.array([[2.0, 1.0, 1.0]])
    given[:, list(hidden)] = np.nan
    same = np.all([(rows[:, j].round() == given[0, j]) | (j in hidden) for j in range(3)], axis=0)
    shares = np.exp(score[same] - logsumexp(score[same], axis=0)) @ weight[0]
    filled = density.condition(given, weight)[0]
    for j in range(3):
        if j not in hidden:
            assert filled[j] == given[0, j]
        elif j == 0:
            assert_allclose(filled[j], shares @ np.clip(rows[same, 0].round(), 0, 4), atol=1e-6)
        else:
            assert filled[j] == np.argmax(np.bincount(rows[same, j].astype(int), weights=shares))


@pytest.mark.parametrize("known", [(0,), (2,), (5,), (1, 4), (0, 5), (6, 5)], ids=str)
@pytest.mark.parametrize("memory", [1 << 24, 1 << 15, 1 << 8])
def test_rows_that_show_one_or_two_columns_are_answered_as_others_are(known, memory, rng, monkeypatch):
    """A row that shows a third column among them makes all be looked up pair by pair of a row and a leaf."""
    n, k = 300, 3
    y = rng.integers(0, k, n)
    numbers = np.column_stack([rng.normal(size=(n, 3)) * [1.0, 1e-9, 1e9] + y[:, None], rng.integers(0, 3, (n, 2))])
    codes = [(y + (rng.random(n) < 0.3)) % k, rng.integers(0, 5, n)]
    density = grown(numbers, coded(codes, [tuple("abc"), tuple("pqrst")]), y, k)[0].density()
    rows = np.full((60, 7), np.nan)
    for j in known:
        rows[:, j] = rng.integers(0, 6 - (j == 5) * 2, 60) if j > 4 else rng.choice([*numbers[:, j], -1e12, 1e12], 60)
    other = np.where(np.arange(7) < 3, 0.0, np.nan)
    expected = density.log_density(np.concatenate([rows, other[None]]))[:-1]
    monkeypatch.setattr("suffice.forest.density.IN_MEMORY", memory)
    monkeypatch.setattr("suffice.forest.density.LEAVES", 7)
    assert_allclose(density.log_density(rows), expected, rtol=0, atol=1e-11)
