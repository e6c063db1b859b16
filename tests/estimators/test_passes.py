"""Models that need several passes over a table in parts: equal to `fit` on the whole, and the passes are counted."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes
from suffice.engines import files
from suffice.errors import DataError, SettingError, SourceError
from suffice.stats import CompletedStats, class_samples, patterns

NAMES = ["a", "b", "c"]
EM = 1e-9  # EM carries the rounding of sums over parts along its steps


@pytest.fixture
def table(rng):
    """Three classes of two clusters, cells missing, a column of text with a word that one late row shows."""
    n = 900
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
    gone[:300] = gone[-1] = True
    return table.set_column(4, "kind", pa.array(np.asarray(table["kind"]), mask=gone))


@pytest.fixture
def clusters(rng):
    """Three classes of two clusters each, far apart, no cell missing."""
    n = 900
    y, side = rng.integers(0, 3, n), rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3)) + 20.0 * y[:, None] + side[:, None] * [9.0, -9.0, 0.0]
    columns = {name: pa.array(column) for name, column in zip(NAMES, X.T, strict=True)}
    return pa.table(columns | {"kind": pa.array(np.array(["ash", "elm", "oak"])[y])})


@pytest.fixture
def few(monkeypatch):
    """Samples of at most sixty rows of a class."""
    monkeypatch.setattr(class_samples, "MOST", 60)


def written(table, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=150)
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
    return lambda: sum(read) / 900


def pair(make, table, path, columns, **told):
    """The model by passes, and the model of all rows in memory."""
    return make().fit_table(path, "kind", columns=columns, **told), make().fit(table.select(columns), table["kind"])


def assert_same(one, other, rows, atol=EM):
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.statistics_.rows == other.statistics_.rows
    assert [str(note) for note in one.notes_] == [str(note) for note in other.notes_]
    np.testing.assert_allclose(one.predict_log_proba(rows), other.predict_log_proba(rows), atol=atol)
    np.testing.assert_allclose(one.score_samples(rows), other.score_samples(rows), atol=atol)


def bits(model):
    return [np.asarray(v).tobytes() for s in model.statistics_.blocks for _, v in sorted(s.arrays()[0].items())]


# --- mixtures --------------------------------------------------------------------------------------------------------

MIXTURES = {
    "two": {"n_components": 2},
    "bic": {"n_components": "bic", "max_components": 2},
    "shared": {"n_components": 2, "shared": True},
    "by class": {"n_components": {"ash": 1, "elm": 2, "oak": 3}, "shared": "class", "covariance": "diagonal"},
}


@pytest.mark.parametrize("told", MIXTURES.values(), ids=MIXTURES)
def test_a_sample_that_holds_every_row_gives_the_mixture_of_fit(told, table, tmp_path, passes):
    one, other = pair(lambda: MixtureDiscriminant(random_state=0, **told), table, written(table, tmp_path), NAMES)
    assert_same(one, other, table.select(NAMES))
    assert one.n_iter_ == other.n_iter_
    assert (passes() > 1.0) is (one.shared is True)


@pytest.mark.parametrize("shared", [False, "class", True])
def test_mixtures_from_a_small_sample_are_those_of_fit(shared, clusters, tmp_path, few, passes):
    """The clusters are far apart, so that every start arrives at one maximum; 1e-4 is how near `tol` stops to it."""

    def make():
        return MixtureDiscriminant(2, shared=shared, random_state=0, tol=1e-8, keep_rows=100)

    path = written(clusters, tmp_path)
    one, other = pair(make, clusters, path, NAMES)
    rows = clusters.select(NAMES)
    np.testing.assert_allclose(one.score_samples(rows), other.score_samples(rows), atol=1e-4)
    for name, values in one.statistics_.sample.arrays()[0].items():
        np.testing.assert_array_equal(values, other.statistics_.sample.arrays()[0][name])
    assert passes() < 40
    assert bits(make().fit_table(path, "kind", columns=NAMES)) == bits(one)


def test_bic_finds_the_clusters_in_one_set_of_passes(clusters, tmp_path, few, passes):
    path = written(clusters, tmp_path)
    model = MixtureDiscriminant(max_components=3, max_iter=9).fit_table(path, "kind", columns=NAMES)
    assert passes() <= 11.0  # statistics; where the climbs begin; and nine steps of all of them side by side
    assert model.n_components_.tolist() == [2, 2, 2]


def test_many_sources_give_one_mixture(clusters, tmp_path, few):
    path = written(clusters, tmp_path)
    own = clusters

    def make():
        return MixtureDiscriminant(2, random_state=3)

    expected = make().fit_table(path, "kind", columns=NAMES)
    for source in (own, pl.scan_parquet(path), own.to_batches(max_chunksize=77)):
        found = make().fit_table(source, "kind", columns=NAMES)
        np.testing.assert_allclose(
            found.score_samples(own.select(NAMES)), expected.score_samples(own.select(NAMES)), atol=EM
        )
    stream = pa.RecordBatchReader.from_batches(own.schema, own.to_batches())
    with pytest.raises(SourceError, match=r"MixtureDiscriminant reads the rows once for every EM step.*Parquet file"):
        make().fit_table(stream, "kind")


def test_what_mixtures_refuse(table, tmp_path):
    path = written(table, tmp_path)
    with pytest.raises(SettingError, match="n_components says nothing of 'oak'"):
        MixtureDiscriminant({"ash": 1, "elm": 2}).fit_table(path, "kind", columns=NAMES)
    with pytest.raises(SettingError, match="checkpoint is for models that read the rows once or twice"):
        MixtureDiscriminant(2).fit_table(path, "kind", columns=NAMES, checkpoint=tmp_path / "c")


# --- cells missing in many patterns -----------------------------------------------------------------------------------

JOINT = {
    "full": (GaussianDiscriminant, NAMES),
    "shared": (lambda: GaussianDiscriminant(shared=True), NAMES),
    "block of naive Bayes": (lambda: NaiveBayes({("a", "b", "c"): "gaussian"}), [*NAMES, "word"]),
    "mixture": (lambda: MixtureDiscriminant(2, random_state=0), NAMES),
}


@pytest.mark.parametrize(("make", "columns"), JOINT.values(), ids=JOINT)
def test_many_patterns_are_filled_by_passes(make, columns, table, tmp_path, monkeypatch, passes):
    monkeypatch.setattr(patterns, "MAX_CELLS", 8)
    one, other = pair(make, table, written(table, tmp_path), columns)
    inner = one.statistics_.blocks[0]
    if not isinstance(one, MixtureDiscriminant):
        assert isinstance(inner, CompletedStats)
        assert passes() <= 2 + inner.steps  # a first one that fails, what is observed, and one for every step
    assert_same(one, other, table.select(columns), atol=1e-8)


def test_patterns_in_what_can_be_read_once(table, monkeypatch):
    monkeypatch.setattr(patterns, "MAX_CELLS", 20)
    own = table.select([*NAMES, "kind"])
    stream = pa.RecordBatchReader.from_batches(own.schema, own.to_batches(max_chunksize=100))
    with pytest.raises(SourceError, match=r"EM for cells that miss in so many patterns.*Parquet file"):
        GaussianDiscriminant().fit_table(stream, "kind")


# --- rows without a label ---------------------------------------------------------------------------------------------

JOINING = {
    "full": (GaussianDiscriminant, NAMES),
    "shared": (lambda: GaussianDiscriminant(shared=True, priors="uniform"), NAMES),
    "naive Bayes": (NaiveBayes, [*NAMES, "word"]),
    "block": (lambda: NaiveBayes({("a", "b"): "gaussian"}), [*NAMES, "word"]),
    "one component": (lambda: MixtureDiscriminant(1), NAMES),
    "mixture": (lambda: MixtureDiscriminant(2, random_state=0), NAMES),
}


@pytest.mark.parametrize(("make", "columns"), JOINING.values(), ids=JOINING)
def test_rows_without_a_label_join(make, columns, half, tmp_path, passes):
    one, other = pair(make, half, written(half, tmp_path), columns)
    assert_same(one, other, half.select(columns))
    assert one.n_iter_ == other.n_iter_
    assert passes() <= 2 + one.n_iter_
    assert "joined" in str(one.notes_[0])


def test_rows_without_a_label_where_they_cannot_join(half, tmp_path):
    path = written(half, tmp_path)
    with pytest.raises(DataError, match=r"row group 0: 'kind' has no label in 150 of 150 rows.*skip"):
        GenerativeClassifier().fit_table(path, "kind", columns=NAMES, unlabelled="error")
    with pytest.raises(DataError, match="row group 0: 'kind' has no label"):
        NaiveBayes().fit_table(path, "kind", columns=NAMES, unlabelled="error")
    stream = pa.RecordBatchReader.from_batches(half.schema, half.to_batches())
    with pytest.raises(SourceError, match="EM over rows without a label reads the rows once for every EM step"):
        NaiveBayes().fit_table(stream, "kind")
    skipped = NaiveBayes().fit_table(path, "kind", columns=NAMES, unlabelled="skip")
    known = half.filter(half["kind"].is_valid())
    assert_same_rows = NaiveBayes().fit(known.select(NAMES), known["kind"])
    np.testing.assert_allclose(skipped.means_, assert_same_rows.means_, rtol=1e-12)
