"""Models that EM fits to a table in parts: those of `fit` on the whole table, which memory has to hold."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes, _arrays
from suffice.engines import files
from suffice.errors import DataError, SettingError, SourceError
from suffice.stats import CompletedStats, patterns

NAMES = ["a", "b", "c"]


@pytest.fixture
def table(rng):
    """Three classes of two clusters, cells missing, a column of text with a word that one late row shows."""
    n = 450
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) @ (np.eye(3) + 0.3) + 2.0 * y[:, None]
    X += rng.integers(0, 2, n)[:, None] * [6.0, -5.0, 0.0]
    X[rng.random(X.shape) < 0.1] = np.nan
    word = np.array(["red", "green"])[rng.integers(0, 2, n)].astype(object)
    word[-1] = "late"
    columns = {name: pa.array(column, from_pandas=True) for name, column in zip(NAMES, X.T, strict=True)}
    return pa.table(columns | {"word": pa.array(word), "kind": pa.array(np.array(["ash", "elm", "oak"])[y])})


@pytest.fixture
def half(table, rng):
    """The same table with most labels missing, those of the first row groups all; the late word has none either."""
    gone = rng.random(len(table)) < 0.5
    gone[:150] = gone[-1] = True
    return table.set_column(4, "kind", pa.array(np.asarray(table["kind"]), mask=gone))


def written(table, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=75)
    return tmp_path / "t.parquet"


@pytest.fixture
def passes(monkeypatch):
    """Returns how often each row of the first file was read."""
    read = []
    plain = files.FilePart.tables

    def counted(self, columns, rows):
        for part in plain(self, columns, rows):
            read.append(part.num_rows)
            yield part

    monkeypatch.setattr(files.FilePart, "tables", counted)
    return lambda: sum(read) / 450


def assert_same(one, other, rows):
    """The same bits: all rows are learned from together, as by `fit`."""
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.statistics_.rows == other.statistics_.rows
    assert [str(note) for note in one.notes_] == [str(note) for note in other.notes_]
    np.testing.assert_array_equal(one.predict_log_proba(rows), other.predict_log_proba(rows))
    np.testing.assert_array_equal(one.score_samples(rows), other.score_samples(rows))
    for name, values in one.statistics_.sample.arrays()[0].items():
        np.testing.assert_array_equal(values, other.statistics_.sample.arrays()[0][name])


def stream(table):
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=77))


# --- mixtures --------------------------------------------------------------------------------------------------------

MIXTURES = {
    "two": {"n_components": 2},
    "bic": {"n_components": "bic", "max_components": 2},
    "shared": {"n_components": 2, "shared": True},
    "by class": {"n_components": {"ash": 1, "elm": 2, "oak": 3}, "shared": "class", "covariance": "diagonal"},
}


@pytest.mark.parametrize("told", MIXTURES.values(), ids=MIXTURES)
def test_mixtures_are_those_of_fit_and_read_the_rows_once(told, table, tmp_path, passes):
    one, other = (MixtureDiscriminant(n_init=1, random_state=0, **told) for _ in range(2))
    one.fit_table(written(table, tmp_path), "kind", columns=NAMES)
    other.fit(table.select(NAMES), table["kind"])
    assert_same(one, other, table.select(NAMES))
    assert one.n_iter_ == other.n_iter_
    assert passes() == 1.0


def test_many_sources_give_one_mixture(table, tmp_path):
    own = table.select([*NAMES, "kind"]).slice(0, 150)
    path = written(own, tmp_path)
    expected = MixtureDiscriminant(2, n_init=1, random_state=3).fit_table(path, "kind")
    for source in (own, pl.scan_parquet(path), own.to_batches(max_chunksize=77), stream(own)):
        found = MixtureDiscriminant(2, n_init=1, random_state=3).fit_table(source, "kind")
        assert_same(found, expected, own.select(NAMES))


def test_labels_that_are_a_dictionary_in_some_files_only(table, tmp_path):
    half = len(table) // 2
    coded = table["kind"].slice(half).dictionary_encode()
    pq.write_table(table.slice(0, half), tmp_path / "0.parquet")
    pq.write_table(table.slice(half).set_column(4, "kind", coded), tmp_path / "1.parquet")
    found = MixtureDiscriminant(2, n_init=1, random_state=0).fit_table(tmp_path, "kind", columns=NAMES)
    expected = MixtureDiscriminant(2, n_init=1, random_state=0).fit(table.select(NAMES), table["kind"])
    assert_same(found, expected, table.select(NAMES))


def test_weights_and_rows_that_are_left_out(half, tmp_path):
    weighted = half.append_column("copies", pa.array(np.arange(450) % 3))
    path = written(weighted, tmp_path)
    found = MixtureDiscriminant(2, n_init=1, random_state=0)
    found.fit_table(path, "kind", columns=NAMES, weight="copies", unlabelled="skip")
    known = weighted.filter(weighted["kind"].is_valid())
    expected = MixtureDiscriminant(2, n_init=1, random_state=0).fit(
        known.select(NAMES), known["kind"], known["copies"].to_numpy()
    )
    rows = known.select(NAMES)
    np.testing.assert_array_equal(found.predict_log_proba(rows), expected.predict_log_proba(rows))
    assert "left out" in str(found.notes_[0])


def test_what_mixtures_refuse(table, tmp_path):
    path = written(table, tmp_path)
    with pytest.raises(SettingError, match="n_components says nothing of 'oak'"):
        MixtureDiscriminant({"ash": 1, "elm": 2}).fit_table(path, "kind", columns=NAMES)
    with pytest.raises(SourceError, match="holds no row"):
        MixtureDiscriminant(2).fit_table(table.slice(0, 0), "kind", columns=NAMES)
    nameless = table.set_column(4, "kind", pa.nulls(450, pa.string()))
    with pytest.raises(DataError, match=r"No row of .* has a label in 'kind'"):
        MixtureDiscriminant(2).fit_table(nameless, "kind", columns=NAMES)


# --- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False], ids=["the file says how many", "nobody knows"])
def test_more_rows_than_memory_holds_are_refused_with_their_size(known, table, tmp_path, monkeypatch, passes):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # more threads read ahead
    monkeypatch.setattr(_arrays, "SMALL_MEMORY", 0)
    monkeypatch.setattr(_arrays, "memory", lambda: 4 * 6000)  # of which rows may take 6,000 bytes, of about 12,500
    model = MixtureDiscriminant(2)
    source = written(table, tmp_path) if known else stream(table.select([*NAMES, "kind"]))
    many = "450" if known else r"The first \d+"
    with pytest.raises(DataError, match=many + r" rows, which EM needs in memory together, would take .*Next: give"):
        model.fit_table(source, "kind", columns=NAMES)
    assert not hasattr(model, "classes_")
    assert passes() < 0.5
    GaussianDiscriminant().fit_table(written(table, tmp_path), "kind", columns=NAMES)  # whose statistics merge


# --- cells missing in many patterns -----------------------------------------------------------------------------------

JOINT = {
    "full": (GaussianDiscriminant, NAMES),
    "shared": (lambda: GaussianDiscriminant(shared=True), NAMES),
    "block of naive Bayes": (lambda: NaiveBayes({("a", "b", "c"): "gaussian"}), [*NAMES, "word"]),
    "mixture": (lambda: MixtureDiscriminant(2, n_init=1, random_state=0), NAMES),
}


@pytest.mark.parametrize(("make", "columns"), JOINT.values(), ids=JOINT)
def test_many_patterns_are_filled_as_by_fit(make, columns, table, tmp_path, monkeypatch, passes):
    monkeypatch.setattr(patterns, "MAX_CELLS", 8)
    one = make().fit_table(written(table, tmp_path), "kind", columns=columns)
    if not isinstance(one, MixtureDiscriminant):
        assert isinstance(one.statistics_.blocks[0], CompletedStats)
        assert passes() <= 2  # a first one that fails
    assert_same(one, make().fit(table.select(columns), table["kind"]), table.select(columns))


def test_patterns_in_what_can_be_read_once(table, monkeypatch):
    monkeypatch.setattr(patterns, "MAX_CELLS", 20)
    with pytest.raises(SourceError, match=r"EM for cells that miss in so many patterns reads the rows twice.*Parquet"):
        GaussianDiscriminant().fit_table(stream(table.select([*NAMES, "kind"])), "kind")


# --- rows without a label ---------------------------------------------------------------------------------------------

JOINING = {
    "full": (GaussianDiscriminant, NAMES),
    "shared": (lambda: GaussianDiscriminant(shared=True, priors="uniform"), NAMES),
    "naive Bayes": (NaiveBayes, [*NAMES, "word"]),
    "block": (lambda: NaiveBayes({("a", "b"): "gaussian"}), [*NAMES, "word"]),
    "one component": (lambda: MixtureDiscriminant(1), NAMES),
    "mixture": (lambda: MixtureDiscriminant(2, n_init=1, random_state=0), NAMES),
}


@pytest.mark.parametrize(("make", "columns"), JOINING.values(), ids=JOINING)
def test_rows_without_a_label_join(make, columns, half, tmp_path, passes):
    one = make().fit_table(written(half, tmp_path), "kind", columns=columns)
    other = make().fit(half.select(columns), half["kind"])
    assert_same(one, other, half.select(columns))
    assert one.n_iter_ == other.n_iter_
    assert passes() <= 2
    assert "joined" in str(one.notes_[0])


def test_rows_without_a_label_where_they_cannot_join(half, tmp_path):
    path = written(half, tmp_path)
    with pytest.raises(DataError, match=r"row group 0: 'kind' has no label in 75 of 75 rows.*skip"):
        GenerativeClassifier().fit_table(path, "kind", columns=NAMES, unlabelled="error")
    with pytest.raises(DataError, match="row group 0: 'kind' has no label"):
        NaiveBayes().fit_table(path, "kind", columns=NAMES, unlabelled="error")
    with pytest.raises(SourceError, match="EM over rows without a label reads the rows twice"):
        NaiveBayes().fit_table(stream(half), "kind")
    skipped = NaiveBayes().fit_table(path, "kind", columns=NAMES, unlabelled="skip")
    known = half.filter(half["kind"].is_valid())
    assert_same_rows = NaiveBayes().fit(known.select(NAMES), known["kind"])
    np.testing.assert_allclose(skipped.means_, assert_same_rows.means_, rtol=1e-12)
