"""Compiled kernels answer what NumPy does, bit for bit; what does not fit together is refused before it is read."""

import shutil
from pathlib import Path

import in_numpy
import numpy as np
import pytest
from forests import small_table
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from suffice.automatic.columns import FrozenColumns, end_slopes
from suffice.automatic.knots import Splines
from suffice.automatic.members.forest import LeafWeights
from suffice.automatic.members.splines import SplineRatios
from suffice.automatic.table_rows import MixedRows
from suffice.forest import FrozenForest, LeafArrays, Trees, TreeScores
from suffice.forest.estimate import scores_of
from suffice.forest.trees import drawn
from suffice.kernels import columns as of_columns, library as of_library
from suffice.kernels.columns import Knots, count_pairs, spline_ratios
from suffice.kernels.library import FUNCTIONS
from suffice.stats.counts import CodedColumns

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(ROOT.joinpath("src/suffice/kernels").glob("*.[ch]"))


# ── trees ────────────────────────────────────────────────────────────────────────────────────────────────────


def grown(holes, seed=0, n=700):
    """Frozen trees, and other rows as these read them."""
    rng = np.random.default_rng(seed)
    numbers, categories, y = small_table(rng, n, holes=holes)
    frozen = FrozenForest.freeze(numbers, categories, y, 2, np.ones(n))
    return frozen, frozen.read(numbers, categories).forest, y


@pytest.mark.parametrize("kind", ["density", "labels"])
@pytest.mark.parametrize("missing_right", [False, True, None])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 511, 513, 700])
def test_leaves_are_those_of_single_steps(kind, missing_right, n):
    """Missing cells go left, right, or either way; rows are fewer than a loop takes at a time, or more."""
    frozen, reading, _ = grown(holes=0.2)
    trees, cells = getattr(frozen, kind), reading.cells[:n]
    away = np.arange(len(trees.column)) % 2 == 0 if missing_right is None else np.full(len(trees.column), missing_right)
    inner = trees.column >= 0
    trees = Trees(trees.column, np.maximum(trees.threshold, 0), trees.left, trees.right, away & inner, trees.roots, 0.0)
    assert trees.packed is not None
    expected = np.stack([in_numpy.leaves_by_steps(trees, cells, t) for t in range(len(trees))])
    assert_array_equal(trees.packed.leaves_of(cells, 0, len(trees)), expected)
    assert_array_equal(trees.packed.leaves_of(cells, 2, 5), expected[2:5])
    assert_array_equal(trees.leaves_of(cells[::-1], 3), expected[3][::-1])


def test_shares_without_a_row_are_those_of_counts_without_it():
    """By counting all other rows anew; a tree that is not free for a row has no part, and other cells end elsewhere."""
    frozen, reading, y = grown(holes=0.2, n=60)
    trees, heavy, pi = frozen.labels, 1.0 + np.arange(60) % 3, np.array([0.3, 0.7])
    own, cells = trees.packed.leaves_of(reading.cells, 0, len(trees)), reading.cells.copy()
    cells[:, 1] = -1
    shown, free = trees.packed.leaves_of(cells, 0, len(trees)), np.random.default_rng(1).random(own.shape) < 0.5
    counts = trees.packed.count(reading.cells, y, 2, heavy).T
    asked = own, shown, free, counts, y, heavy, pi, np.array([0.5, 4.0])
    found = trees.packed.left_out_shares(*asked)
    for i in range(0, 60, 9):
        rest = trees.packed.count(np.delete(reading.cells, i, axis=0), np.delete(y, i), 2, np.delete(heavy, i)).T
        shares = [(rest + t * pi) / (rest.sum(axis=1, keepdims=True) + t) for t in (0.5, 4.0)]
        assert_allclose(found[:, i], [part[shown[free[:, i], i]].sum(axis=0) for part in shares], rtol=1e-12)
    with pytest.raises(ValueError, match="that are none"):
        trees.packed.left_out_shares(own, shown + 10**6, *asked[2:])


@pytest.mark.parametrize("one_class", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_sums_of_values_are_the_same_to_the_last_bit(one_class, k):
    """Added tree by tree, of many rows and of few."""
    frozen, reading, _ = grown(holes=0.1)
    rng = np.random.default_rng(1)
    leaves = len(frozen.labels.leaf_nodes)
    values = rng.normal(size=(leaves, k))
    if one_class:
        values[frozen.labels.leaf_tree % 3 != 0, 1:] = 0.0
        values[frozen.labels.leaf_tree % 3 == 1] = np.roll(values[frozen.labels.leaf_tree % 3 == 1], 1, axis=1)
    found = TreeScores(frozen.labels, values, np.zeros(k), False, np.ones(leaves))
    expected = np.zeros((len(reading), k))
    for t in range(len(frozen.labels)):
        expected += values[in_numpy.leaves_by_steps(frozen.labels, reading.cells, t)]
    assert_array_equal(found.scores(reading.cells), expected)
    assert_array_equal(found.scores(reading.cells[:9]), expected[:9])
    assert np.ptp(expected) > 1.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("categories", [False, True])
def test_statistics_of_leaves_are_sums_over_their_rows(weighted, holes, categories):
    rng = np.random.default_rng(2)
    numbers, coded, y = small_table(rng, 900, holes=holes)
    coded = coded if categories else CodedColumns((), ())
    weight = rng.exponential(size=900) if weighted else None
    frozen = FrozenForest.freeze(numbers, coded, y, 2, np.ones(900))
    reading = frozen.read(numbers, coded)
    heavy = np.ones(900) if weight is None else weight
    found = LeafWeights.count(0, reading, y, 2, weight)
    expected = np.zeros_like(found)
    for t in range(len(frozen.labels)):
        leaf = in_numpy.leaves_by_steps(frozen.labels, reading.forest.cells, t)
        np.add.at(expected, (y, leaf), heavy)
    assert_array_equal(found, expected)
    assert_allclose(found.sum(axis=1), np.bincount(y, weights=heavy) * len(frozen.labels), rtol=1e-12)
    sums = LeafArrays.summarize(reading.forest, frozen.density, y, 2, weight)
    scores, seen = scores_of(reading.forest), ~np.isnan(numbers)
    weights, first, known = np.zeros_like(sums.weight), np.zeros_like(sums.first), np.zeros(sums.seen.shape)
    for t in range(len(frozen.density)):
        leaf = in_numpy.leaves_by_steps(frozen.density, drawn(reading.forest, t), t)
        np.add.at(weights, (y, leaf), heavy)
        np.add.at(first, (y, leaf), heavy[:, None] * np.nan_to_num(scores))
        np.add.at(known, (y, leaf), heavy[:, None] * seen)
    for own, other in ((sums.weight, weights), (sums.first, first), (sums.seen, known)):
        assert_allclose(own, other, rtol=1e-12, atol=1e-12)


def test_trees_that_cannot_be_packed_are_refused():
    """Nodes that lead back, to another tree, or to a cell that eight bytes cannot name."""
    column, threshold = np.array([0, -1, -1]), np.array([1, 0, 0])
    left, right, away = np.array([1, -1, -1]), np.array([2, -1, -1]), np.zeros(3, dtype=bool)

    def packed(**changes):
        own = {"column": column, "threshold": threshold, "left": left, "right": right, "missing_right": away} | changes
        return Trees(**own, roots=np.array([0]), share=0.0).packed

    assert packed() is not None
    wrong = [{"threshold": np.array([own, 0, 0])} for own in (2**17, 2**16, -2)]
    wrong += [{"left": np.array([0, -1, -1])}, {"right": np.array([3, -1, -1])}]
    wrong += [{"threshold": np.array([-1, 0, 0]), "missing_right": np.array([True, False, False])}]
    for changes in wrong:
        with pytest.raises(ValueError, match=r"trees|no row"):
            packed(**changes)


def test_columns_beyond_those_that_eight_bytes_can_name():
    """Named by their place among those asked."""
    column, threshold = np.array([40_000, -1, 70_000, -1, -1]), np.array([1, 0, 0, 0, 0])
    left, right = np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])
    trees = Trees(column, threshold, left, right, np.zeros(5, dtype=bool), np.array([0]), 0.0)
    cells = np.zeros((3, 70_001), dtype=np.int16)
    cells[1:, 40_000], cells[2, 70_000] = 2, 1
    assert_array_equal(trees.leaves_of(cells, 0), [0, 1, 2])


def test_arrays_are_read_however_they_lie():
    """Of other types, with strides, and back to front."""
    frozen, reading, y = grown(holes=0.1)
    packed, weight = frozen.labels.packed, np.arange(700.0)
    cells, wide = np.asfortranarray(reading.cells.astype(np.int64)), np.repeat(weight.astype(np.float32), 2)[::-1]
    expected = packed.count(reading.cells, y, 2, weight)
    assert_array_equal(packed.count(cells, y.astype(np.int8), 2, wide[::-1][::2]), expected)


def test_what_does_not_fit_together_is_refused():
    frozen, reading, y = grown(holes=0.0)
    packed, cells = frozen.labels.packed, reading.cells
    with pytest.raises(ValueError, match="1 columns, where trees ask"):
        packed.leaves_of(cells[:, :1], 0, 1)
    with pytest.raises(ValueError, match="class numbers from 0 to 1 of 1 classes"):
        packed.count(cells, y, 1, None)
    with pytest.raises(ValueError, match="class numbers from -1"):
        packed.count(cells, y - 1, 2, None)
    with pytest.raises(ValueError, match="700 rows"):
        packed.count(cells, y[:-1], 2, None)
    with pytest.raises(ValueError, match="700 rows"):
        packed.count(cells, y, 2, np.ones(3))
    with pytest.raises(ValueError, match="700 rows"):
        packed.add_sums(cells, y, np.ones((3, 2)), np.zeros((2, packed.leaves, 2)))
    for wrong in (np.zeros((2, packed.leaves, 3)), np.zeros((2, packed.leaves + 1, 2)), np.zeros((2, 2, 3)).T):
        with pytest.raises(ValueError, match=r"leaves, added up|class numbers|no contiguous float64"):
            packed.add_sums(cells, y, np.ones((len(cells), 2)), wrong)
    values, alone = np.zeros((packed.leaves, 2)), np.zeros(packed.leaves)
    only = np.zeros(len(frozen.labels), dtype=np.int32)
    for wrong in (np.zeros((len(cells), 3)), np.zeros((2, len(cells))).T, np.zeros((3, 2))):
        with pytest.raises(ValueError, match=r"rows|added up|no contiguous float64"):
            packed.add_values(cells, only, alone, values, wrong)
    for few, many in ((alone[1:], values), (alone, values[1:])):
        with pytest.raises(ValueError, match="added up"):
            packed.add_values(cells, only, few, many, np.zeros((len(cells), 2)))
    x, codes, knots = np.zeros((4, 2)), np.zeros(4, dtype=np.int64), Knots.of([np.arange(3.0), np.zeros(1)])
    with pytest.raises(ValueError, match="in 2 columns"):
        knots.cells(np.zeros((4, 3)), np.zeros((4, 3), dtype=np.int16))
    with pytest.raises(ValueError, match="2 columns"):
        of_columns.normal_scores(np.zeros((4, 1)), knots, np.zeros(4), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="level 3 of 3"):
        of_columns.count_pairs(np.array([[0, 3]]), 3, np.zeros(1, dtype=np.int64), 1, None)
    with pytest.raises(ValueError, match="levels of 1 rows"):
        of_columns.count_pairs(np.array([[0, 3]]), 4, np.zeros(2, dtype=np.int64), 1, None)
    with pytest.raises(ValueError, match="4 numbers of 3 rows"):
        of_columns.count_splines(x, knots, codes[:3], None, 1)
    for few in (np.arange(2.0), np.zeros(1)):
        with pytest.raises(ValueError, match="values at"):
            of_columns.between_knots(np.zeros(4), few, np.zeros((2, 3 if len(few) > 1 else 1)))
    for wrong, own in ((x[:, :1], knots), (x[0], knots), (x, Knots.of([np.arange(3.0), np.zeros(0)]))):
        with pytest.raises(ValueError, match="with knots of 2 columns"):
            of_columns.count_splines(wrong, own, codes, None, 1)
    for wrong_spline in (
        (x[:3], knots, np.ones((1, 4)), codes, x[:, 0]),
        (x, knots, np.ones((1, 3)), codes, x[:, 0]),
        (x, knots, np.ones((1, 4)), codes, x[:3, 0]),
        (x, knots, np.ones((1, 4)), codes + 1, x[:, 0]),
    ):
        with pytest.raises(ValueError, match=r"numbers of|class numbers from 1"):
            of_columns.spline_ratios(*wrong_spline, (1.0,))


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────

NUMBERS = st.lists(
    st.one_of(st.floats(-5, 5, width=16), st.just(np.nan), st.floats(allow_nan=False, allow_infinity=False, width=32)),
    min_size=3,
    max_size=40,
)


@given(NUMBERS, NUMBERS, st.sampled_from(["C", "F", "stepped"]))
@settings(max_examples=150, deadline=None)
def test_cells_scores_and_splines_are_the_same_to_the_last_bit(learned, asked, order):
    """Rows learned at, between and beyond knots, in memory row by row, column by column, and with gaps."""
    numbers = np.column_stack([learned, np.roll(learned, 1)])
    rows = np.column_stack([asked + learned, (asked + learned)[::-1]])
    rows = np.asfortranarray(rows) if order == "F" else np.repeat(rows, 2, axis=0)[::2] if order == "stepped" else rows
    none = CodedColumns((), ())
    frozen = FrozenColumns.freeze(numbers, none, np.ones(len(numbers)))
    cells = FrozenForest.freeze(
        numbers, none, np.arange(len(numbers)) % 2, 2, np.ones(len(numbers)), density=False, labels=False
    ).cells
    codes, weight = np.arange(len(rows)) % 3, np.linspace(0.1, 2.0, len(rows))

    assert_array_equal(frozen.normal_scores(rows), in_numpy.normal_scores(rows, frozen.scores, end_slopes))
    read = cells.reading(rows, ()).cells
    for j, own in enumerate(cells.numbers):
        assert_array_equal(read[:, j], in_numpy.cells_of(rows[:, j], own.cuts))
    for bins, cuts in frozen.cuts.items():
        binned, starts = frozen.binned(bins, MixedRows(rows, ())), frozen.bin_starts(bins)
        for j, own in enumerate(cuts):
            place = in_numpy.cells_of(rows[:, j], own)
            assert_array_equal(binned[:, j], np.where(place < 0, -1, place + starts[j]))
    for splines in frozen.splines.values():
        for own in (None, weight):
            assert_array_equal(splines.count(rows, codes, 3, own), in_numpy.count_splines(splines, rows, codes, 3, own))


def test_columns_side_by_side_are_as_each_alone(rng):
    """In blocks of some columns, which have from one knot on."""
    x, codes, full = rng.normal(size=(400, 120)), np.arange(400) % 2, np.ones(400)
    splines = Splines(tuple(np.unique(np.quantile(own, np.linspace(0, 1, 1 + j % 4))) for j, own in enumerate(x.T)))
    found = SplineRatios(splines, splines.count(x, codes, 2, None)).left_out(x, codes, full, (1.0, 4.0))
    for own, j in zip(found, range(120), strict=True):
        one, y = Splines(splines.knots[j : j + 1]), x[:, [j]]
        assert_array_equal(own, spline_ratios(y, one.packed, one.count(y, codes, 2, None), codes, full, (1.0, 4.0))[0])


def test_splines_share_each_number_between_its_knots():
    """By hand: 0, 1 and 3 are knots; ½ is half way from 0 to 1, 2.5 three quarters of the way from 1 to 3."""
    splines = Splines((np.array([0.0, 1.0, 3.0]),))
    rows, codes = np.array([[0.5], [2.5], [-7.0], [9.0], [np.nan], [1.0]]), np.array([0, 0, 1, 1, 1, 1])
    found = splines.count(rows, codes, 2, np.array([1.0, 4.0, 1.0, 1.0, 1.0, 1.0]))
    assert_array_equal(found, [[0.5, 1.5, 3.0], [1.0, 1.0, 1.0]])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("levels", [2, 3, 40])
def test_pairs_are_those_of_single_rows(weighted, levels):
    """Counted row by row here; some cells missing, a class without rows."""
    rng = np.random.default_rng(levels)
    rows = rng.integers(levels, size=(300, 4)) + levels * np.arange(4)
    rows[rng.uniform(size=rows.shape) < 0.1] = -1
    codes, weight = rng.integers(2, size=300), rng.exponential(size=300)
    expected = np.zeros((3, 4 * levels, 4 * levels))
    for row, code, heavy in zip(rows.tolist(), codes.tolist(), weight if weighted else np.ones(300), strict=True):
        for u in row:
            for v in row:
                if u >= 0 and v >= 0:
                    expected[code, u, v] += heavy
    assert_array_equal(count_pairs(rows, 4 * levels, codes, 3, weight if weighted else None), expected)


# ── the library ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A place of its own for the library, and nothing remembered of the other."""
    monkeypatch.setattr(of_library, "FOLDER", tmp_path)
    for own in SOURCES:
        (tmp_path / own.name).write_bytes(own.read_bytes())
    of_library.library.cache_clear()
    yield tmp_path
    of_library.library.cache_clear()


def test_a_library_that_cannot_be_used_is_refused(folder):
    """None there, no library at all, and one of another version of its source."""
    made = next(ROOT.joinpath("src/suffice/kernels").glob("_kernels.*"))
    with pytest.raises(ImportError, match=r"is missing .*Next: pip install"):
        of_library.library()
    (folder / made.name).write_bytes(b"no library")
    with pytest.raises(ImportError, match="cannot be loaded"):
        of_library.library()
    (folder / made.name).unlink()
    shutil.copy(made, folder / made.name)
    of_library.library()
    with (folder / "kernels.h").open("a") as source:
        source.write("/* changed */\n")
    of_library.library.cache_clear()
    with pytest.raises(ImportError, match="another version of its source"):
        of_library.library()


def test_every_function_of_the_source_is_declared_as_it_is():
    """Numbers, and arrays by what they hold and whether it is written; any of other types, and `x` with its strides."""
    letters = {"double": "d", "int64_t": "l", "int32_t": "i", "int16_t": "s", "uint8_t": "b", "uint64_t": "u"}

    def kind(own):
        *qualifiers, named = own.replace("restrict", "").split()
        if not named.startswith("*"):
            return "f" if "double" in qualifiers else "n"
        letter = "p" if named == "*x" else letters.get(qualifiers[-1], "p")
        return letter if "const" in qualifiers or letter == "p" else letter.upper()

    source = "".join(own.read_text(encoding="utf-8") for own in SOURCES)
    heads = [part.split(")")[0].split("(") for part in source.split("PUBLIC void ")[1:]]
    told = {name: "".join(kind(own.replace("*restrict ", "*")) for own in taken.split(",")) for name, taken in heads}
    assert told == FUNCTIONS
