"""What would not fit into memory is refused by name before it is allocated, and what can be spared is left out."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from memory import memory_below

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes, _arrays, load
from suffice.automatic import limits
from suffice.automatic.members.dependence import PairCounts
from suffice.automatic.members.splines import SplineCounts
from suffice.automatic.statistics import member_costs
from suffice.errors import DataError, ModelFileError

MIB = 1 << 20


@pytest.fixture
def small(monkeypatch):
    """A machine of 96 MiB, of which statistics may take 24."""
    monkeypatch.setattr(_arrays, "memory", lambda: 96 * MIB)


def rows(rng, k, d, each=2):
    return rng.normal(size=(k * each, d)), np.repeat([f"c{c:04}" for c in range(k)], each)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_thousands_of_classes_are_refused_within_two_gibibytes():
    """Without the refusal this asks for 47 GiB; a process that may have 2 learns in time what to do instead."""
    script = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
import numpy as np
from suffice import GaussianDiscriminant, GenerativeClassifier
X, y = np.random.default_rng(0).normal(size=(12_000, 3)), np.arange(12_000) % 6_000
try:
    GenerativeClassifier().fit(X, y)
except ValueError as error:
    print(error)
GaussianDiscriminant(shared=True).fit(X, y).predict(X[:3])  # what the message advises
# ru_maxrss would count what the process that started this one held
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    message, peak = done.stdout.splitlines()
    assert message.startswith("Choosing between members on 12,000 rows and 6,000 classes would take ")
    assert "above the limit of 0.50 GiB" in message
    assert "Next: GaussianDiscriminant(shared=True) or NaiveBayes" in message
    assert int(peak) < 1024


def test_a_covariance_for_each_of_many_classes_is_refused(rng, small):
    X, y = rows(rng, 100, 190, each=4)  # 100 × 190² numbers: 27.5 MiB
    with pytest.raises(DataError, match=r"A covariance of 190 columns for each of 100 classes .*shared=True"):
        GaussianDiscriminant().fit(X, y)
    assert len(GaussianDiscriminant(shared=True).fit(X, y).classes_) == 100
    assert len(GaussianDiscriminant(covariance="diagonal").fit(X, y).classes_) == 100


def test_refused_edits_change_nothing(rng, small):
    X, y = rows(rng, 100, 190, each=4)
    one, two = GaussianDiscriminant().fit(X[:240], y[:240]), GaussianDiscriminant().fit(X[240:], y[240:])
    before = one.predict_log_proba(X[:5])
    for edit in (lambda: one.partial_fit(X[240:], y[240:]), lambda: one.merge(two)):
        with pytest.raises(DataError, match="for each of 100 classes"):
            edit()
        assert len(one.classes_) == 60
        np.testing.assert_array_equal(one.predict_log_proba(X[:5]), before)


def test_tables_in_parts_are_refused_alike(rng, small):
    X, y = rows(rng, 100, 190, each=4)
    table = pa.table({**{f"x{j}": column for j, column in enumerate(X.T)}, "y": y})
    with pytest.raises(DataError, match="A covariance of 190 columns for each of 100 classes"):
        GaussianDiscriminant().fit_table(table, "y")


def test_ids_as_categories_are_refused(small):
    ids, y = [[f"id{i}"] for i in range(4000)], [f"c{i % 1000}" for i in range(4000)]
    with pytest.raises(DataError, match=r"Counts of 4,00\d categories for each of 1,000 classes .*names or ids"):
        NaiveBayes().fit(ids, y)
    parts = NaiveBayes().fit(ids[:2000], y[:2000])
    with pytest.raises(DataError, match="categories for each of 1,000 classes"):
        parts.partial_fit(ids[2000:], y[2000:])
    assert parts.statistics_.rows == 2000


def test_a_saved_model_that_is_too_large_is_refused(rng, tmp_path, monkeypatch):
    X, y = rows(rng, 12, 2, each=10)
    GenerativeClassifier().fit(X, y).save(tmp_path / "m.suffice")
    assert len(load(tmp_path / "m.suffice").classes_) == 12
    monkeypatch.setattr(_arrays, "memory", lambda: 4 * MIB)
    monkeypatch.setattr(_arrays, "SMALL_MEMORY", 0)
    with pytest.raises(ModelFileError, match="Choosing between members on 120 rows and 12 classes would take"):
        load(tmp_path / "m.suffice")


@pytest.mark.parametrize(("d", "k"), [(3, 2), (8, 4), (1, 12)])
def test_costs_are_those_of_the_statistics(rng, d, k):
    """The bytes that are foretold are the bytes that the arrays take."""
    X = np.concatenate([rng.normal(size=(300, d)), rng.integers(0, 4, (300, 2))], axis=1).astype(object)
    X[:, d:] = [[f"a{a}", f"b{b}"] for a, b in X[:, d:]]
    y = np.arange(300) % k
    import pandas as pd

    frame = pd.DataFrame({f"x{j}": X[:, j].astype(float if j < d else str) for j in range(d + 2)})
    model = GenerativeClassifier().fit(frame, y)
    stats = model._fitted.frozen_statistics
    levels = [len(known) for known in stats.columns.vocabulary]
    foretold = member_costs(300, d, k, levels, d + sum(own - 1 for own in levels))
    assert foretold["gaussians"].bytes == sum(own.complete.scatter.values.nbytes for own in stats.gaussian.values())
    assert foretold["splines"].bytes == sum(counts.nbytes for counts in stats.part(SplineCounts).counts.values())


@pytest.mark.slow
@pytest.mark.parametrize(("k", "d", "each"), [(60, 3, 5), (110, 2, 3), (3, 12, 400)])
def test_the_choice_takes_no_more_than_is_foretold(rng, k, d, each):
    X, y = rows(rng, k, d, each=each)
    foretold = member_costs(len(X), d, k, [], d)
    GenerativeClassifier().fit(X[:80], y[:80])  # imports
    limit = foretold["choice"].bytes + 4 * sum(own.bytes for name, own in foretold.items() if name != "choice")
    with memory_below(limit, limit / 8):  # foretold as if all were there at once; most goes before the next is made
        GenerativeClassifier().fit(X, y)


def test_pairs_that_are_left_out_are_noted(rng, monkeypatch):
    """What is left out is said, and does not depend on how the rows came."""
    X, y = rng.normal(size=(400, 6)), np.arange(400) % 4
    whole = GenerativeClassifier().fit(X, y)
    assert not any("averaged one-dependence" in str(note) for note in whole.notes_)
    kept = {own["name"] for own in whole.members_}
    monkeypatch.setattr(limits, "PAIR_BYTES", 8 * 4 * 40**2)  # 6 columns: 18, 30 and 48 levels
    some = GenerativeClassifier().fit(X, y)
    assert any("one-dependence in 8 bins is left out" in str(note) for note in some.notes_)
    parts = GenerativeClassifier().partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    np.testing.assert_allclose(parts.predict_log_proba(X[:9]), some.predict_log_proba(X[:9]), atol=1e-10)
    monkeypatch.setattr(limits, "PAIR_BYTES", 0)
    none = GenerativeClassifier().fit(X, y)
    assert kept - {own["name"] for own in none.members_} == {"averaged one-dependence"}
    assert "in 3, 5, 8 bins" in " ".join(map(str, none.notes_))


def test_counts_of_pairs_go_when_classes_come(rng, monkeypatch):
    X, y = rng.normal(size=(900, 5)), np.arange(900) % 3
    monkeypatch.setattr(limits, "PAIR_BYTES", 8 * 3 * 40**2)  # 5 columns: 15, 25 and 40 levels
    model = GenerativeClassifier(keep_rows=200).fit(X, y)
    assert list(model._fitted.frozen_statistics.part(PairCounts).counts) == [3, 5, 8]
    model.partial_fit(X[:90] + 0.5, np.full(90, 3))
    assert list(model._fitted.frozen_statistics.part(PairCounts).counts) == [3, 5]
    assert model.predict_proba(X[:5]).shape == (5, 4)
    assert any("one-dependence in 8 bins is left out" in str(note) for note in model.notes_)
