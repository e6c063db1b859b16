"""Models that have learned some of the same rows: merging them counts these twice, which is said or refused."""

import warnings

import numpy as np
import pytest
from kinds import kinds

from suffice import GaussianDiscriminant, NaiveBayes, load
from suffice.errors import MergeError, RepeatedRowsWarning

MODELS = kinds("full, naive bayes, automatic, forest")


@pytest.fixture
def rows(rng):
    y = rng.integers(0, 3, 300)
    return rng.normal(size=(300, 4)) + y[:, None], np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shared", [0, 1, 70])
def test_rows_of_both_are_counted(rows, name, shared) -> None:
    X, y = rows
    one, two = (MODELS[name]() for _ in range(2))
    one.fit(X[:150], y[:150])
    two.fit(X[150 - shared :], y[150 - shared :])
    before = one.predict_proba(X)
    if not shared:
        one.merge(two, distinct=True)
        assert one.statistics_.rows == 300
        return
    with pytest.raises(MergeError, match=f"^{shared} of the {150 + shared} rows kept of the other model"):
        one.merge(two, distinct=True)
    np.testing.assert_array_equal(one.predict_proba(X), before)  # an edit that is refused changes nothing
    with pytest.warns(RepeatedRowsWarning, match=f"^{shared} of the {150 + shared} rows kept") as told:
        one.merge(two)
    assert name in ("automatic", "forest") or told[0].filename == __file__
    assert one.statistics_.rows == 300 + shared


def test_of_many_rows_those_kept_tell(rng) -> None:
    """Both models keep the rows of the smallest hashes, so that a third of the rows kept of one is in the other too."""
    X, y = rng.normal(size=(9000, 3)), rng.integers(0, 2, 9000)
    one, two = (GaussianDiscriminant(keep_rows=500).fit(X[s], y[s]) for s in (slice(None, 6000), slice(4000, None)))
    with pytest.warns(RepeatedRowsWarning) as told:
        one.merge(two)
    shared, kept = (int(word) for word in str(told[0].message).split() if word.isdigit())
    assert abs(shared / kept - 2000 / 5000) < 4 * np.sqrt(0.4 * 0.6 / kept)  # each is one of both with that probability


def test_equal_rows_of_few_values_are_no_rows_of_both(rng) -> None:
    X, y = rng.integers(0, 3, (400, 3)), rng.integers(0, 2, 400)
    X = X.astype(str).astype(object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NaiveBayes().fit(X[:200], y[:200]).merge(NaiveBayes().fit(X[200:], y[200:]), distinct=True)
        GaussianDiscriminant(keep_rows=0).fit(X[:9].astype(float), y[:9]).merge(
            GaussianDiscriminant(keep_rows=0).fit(X[:9].astype(float), y[:9])
        )


def test_at_the_command_line(cli, rows, tmp_path) -> None:
    X, y = rows
    paths = []
    for name, own in {"a": slice(None, 150), "b": slice(140, None)}.items():
        lines = [",".join([*map(str, row), label]) for row, label in zip(X[own].tolist(), y[own], strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["p,q,r,s,y", *lines, ""]))
        paths.append(tmp_path / f"{name}.suffice")
        cli("fit", tmp_path / f"{name}.csv", "--target", "y", "--model", "full", "-o", paths[-1]).ok()
    done = cli("merge", *paths, "-o", tmp_path / "both", "--distinct")
    assert (done.status, "10 of the 160 rows kept" in done.err, "b.suffice" in done.err) == (1, True, True)
    assert not (tmp_path / "both").exists()
    done = cli("merge", *paths, "-o", tmp_path / "both")
    assert (done.status, f"Note: {str(paths[1])!r}: 10 of the 160 rows kept of the other" in done.err) == (0, True)
    assert load(tmp_path / "both").statistics_.rows == 310
