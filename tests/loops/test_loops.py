"""Compiled loops and NumPy answer the same, bit for bit; what does not fit together is refused before it is read."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from forests import small_table
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal

from suffice.automatic.columns import FrozenColumns
from suffice.automatic.knots import Splines
from suffice.automatic.leaves import LeafWeights
from suffice.automatic.members.dependence import count_pairs
from suffice.automatic.members.splines import SplineRatios
from suffice.automatic.mixed_rows import MixedRows
from suffice.forest import FrozenForest, LeafArrays, Trees, TreeScores
from suffice.loops import columns as of_columns, growing as of_growing, library as of_library, trees as of_trees
from suffice.loops.columns import Knots
from suffice.loops.library import FUNCTIONS, library
from suffice.stats.counts import CodedColumns

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(ROOT.joinpath("src/suffice/loops").glob("*.[ch]"))
needs_library = pytest.mark.skipif(library() is None, reason="no compiled loops here: they need a C compiler")


@pytest.fixture
def without(monkeypatch):
    """A call answered by NumPy alone."""

    def answer(call):
        with monkeypatch.context() as patch:
            for module in (of_trees, of_columns, of_growing):
                patch.setattr(module, "library", lambda: None)
            return call()

    return answer


def test_where_there_is_a_compiler_there_are_loops():
    """Otherwise every test below would be left out in silence."""
    if any(map(shutil.which, ("cc", "gcc", "clang"))) and os.environ.get(of_library.SWITCH) != "0":
        made = [name for name in of_library.NAMES if (of_library.FOLDER / name).exists()]
        assert library() is not None or not made, f"{made} is of another version of its source: python hatch_build.py"


# ── trees ────────────────────────────────────────────────────────────────────────────────────────────────────


def grown(holes, seed=0, n=700):
    """Frozen trees, and other rows as these read them."""
    rng = np.random.default_rng(seed)
    numbers, categories, y = small_table(rng, n, holes=holes)
    frozen = FrozenForest.freeze(numbers, categories, y, 2, np.ones(n))
    return frozen, frozen.read(numbers, categories).forest, y


def copy_of(trees: Trees) -> Trees:
    """The same trees without what was made of them."""
    return Trees(trees.column, trees.threshold, trees.left, trees.right, trees.missing_right, trees.roots, trees.share)


@needs_library
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
    expected = np.stack([trees.steps_of(cells, t) for t in range(len(trees))])
    assert_array_equal(trees.packed.leaves_of(cells, 0, len(trees)), expected)
    assert_array_equal(trees.packed.leaves_of(cells, 2, 5), expected[2:5])
    assert_array_equal(trees.all_leaves(cells), expected.T)
    assert_array_equal(trees.leaves_of(cells[::-1], 3), expected[3][::-1])


@needs_library
@pytest.mark.parametrize("one_class", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_sums_of_values_are_the_same_to_the_last_bit(without, one_class, k):
    frozen, reading, _ = grown(holes=0.1)
    rng = np.random.default_rng(1)
    leaves = len(frozen.labels.leaf_nodes)
    values = rng.normal(size=(leaves, k))
    if one_class:
        values[frozen.labels.leaf_tree % 3 != 0, 1:] = 0.0
        values[frozen.labels.leaf_tree % 3 == 1] = np.roll(values[frozen.labels.leaf_tree % 3 == 1], 1, axis=1)
    of = [TreeScores(copy_of(frozen.labels), values, np.zeros(k), False, np.ones(leaves)) for _ in range(2)]
    expected = without(lambda: of[1].scores(reading.cells))
    assert of[1].trees.packed is None
    assert of[0].trees.packed is not None
    assert_array_equal(of[0].scores(reading.cells), expected)
    assert np.ptp(expected) > 1.0


@needs_library
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("categories", [False, True])
def test_statistics_of_leaves_are_the_same_to_the_last_bit(without, weighted, holes, categories):
    rng = np.random.default_rng(2)
    numbers, coded, y = small_table(rng, 900, holes=holes)
    coded = coded if categories else CodedColumns((), ())
    weight = rng.exponential(size=900) if weighted else None
    frozen = [FrozenForest.freeze(numbers, coded, y, 2, np.ones(900)) for _ in range(2)]
    readings = [own.read(numbers, coded) for own in frozen]
    assert frozen[0] == frozen[1]

    def learned(which):
        own, reading = frozen[which], readings[which]
        sums = LeafArrays.summarize(reading.forest, own.density, y, 2, weight)
        return [
            sums.weight,
            sums.seen,
            sums.first,
            sums.second,
            *sums.levels,
            LeafWeights.count(0, reading, y, 2, weight),
        ]

    expected = without(lambda: learned(1))
    for found, own in zip(learned(0), expected, strict=True):
        assert_array_equal(found, own)
    heavy = np.ones(900) if weight is None else weight
    every = np.bincount(y, weights=heavy) * len(frozen[0].labels)
    np.testing.assert_allclose(expected[-1].sum(axis=1), every, rtol=1e-12)  # each row in one leaf of every tree


@needs_library
def test_trees_that_cannot_be_packed_are_not():
    """Nodes that lead back, to another tree, to a column or a cell that eight bytes cannot name."""
    column, threshold = np.array([0, -1, -1]), np.array([1, 0, 0])
    left, right, away = np.array([1, -1, -1]), np.array([2, -1, -1]), np.zeros(3, dtype=bool)

    def packed(**changes):
        own = {"column": column, "threshold": threshold, "left": left, "right": right, "missing_right": away} | changes
        return Trees(**own, roots=np.array([0]), share=0.0).packed

    assert packed() is not None
    assert packed(left=np.array([0, -1, -1])) is None
    assert packed(right=np.array([3, -1, -1])) is None
    assert packed(column=np.array([2**15, -1, -1])) is None
    assert packed(threshold=np.array([2**16, 0, 0])) is None
    assert packed(threshold=np.array([-2, 0, 0])) is None
    assert packed(threshold=np.array([-1, 0, 0]), missing_right=np.array([True, False, False])) is None


@needs_library
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
        with pytest.raises(ValueError, match=r"leaves, added up|class numbers"):
            packed.add_sums(cells, y, np.ones((len(cells), 2)), wrong)
    values, alone = np.zeros((packed.leaves, 2)), np.zeros(packed.leaves)
    only = np.zeros(len(frozen.labels), dtype=np.int32)
    for wrong in (np.zeros((len(cells), 3)), np.zeros((2, len(cells))).T, np.zeros((3, 2))):
        with pytest.raises(ValueError, match=r"rows|added up"):
            packed.add_values(cells, only, alone, values, wrong)
    for few, many in ((alone[1:], values), (alone, values[1:]), (alone, np.zeros((2, packed.leaves)).T)):
        with pytest.raises(ValueError, match="added up"):
            packed.add_values(cells, only, few, many, np.zeros((len(cells), 2)))
    with pytest.raises(ValueError, match="in 2 columns"):
        Knots.of([np.zeros(1), np.ones(3)]).cells(np.zeros((4, 3)), np.zeros((4, 3), dtype=np.int16))
    knots = Knots.of([np.zeros(1), np.ones(3)])
    with pytest.raises(ValueError, match="2 columns"):
        of_columns.normal_scores(np.zeros((4, 1)), knots, np.zeros(4), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="level 3 of 3"):
        of_columns.count_pairs(np.array([[0, 3]]), 3, np.zeros(1, dtype=np.int64), 1, None)
    with pytest.raises(ValueError, match="levels of 1 rows"):
        of_columns.count_pairs(np.array([[0, 3]]), 4, np.zeros(2, dtype=np.int64), 1, None)
    with pytest.raises(ValueError, match="4 numbers of 3 rows"):
        of_columns.count_splines(np.zeros(4), np.arange(3.0), np.zeros(3, dtype=np.int64), None, 1)
    for knots in (np.arange(2.0), np.zeros(1)):
        with pytest.raises(ValueError, match="values at"):
            of_columns.between_knots(np.zeros(4), knots, np.zeros((2, 3 if len(knots) > 1 else 1)))
    x, codes = np.zeros(4), np.zeros(4, dtype=np.int64)
    for wrong_spline in (
        (x[:3], np.arange(3.0), np.ones((1, 3)), codes, x),
        (x, np.arange(2.0), np.ones((1, 3)), codes, x),
        (x, np.arange(3.0), np.ones((1, 3)), codes, x[:3]),
        (x, np.arange(0.0), np.ones((1, 0)), codes, x),
    ):
        with pytest.raises(ValueError, match="numbers of"):
            of_columns.spline_ratios(*wrong_spline, (1.0,))
    with pytest.raises(ValueError, match="class numbers from 1"):
        of_columns.spline_ratios(x, np.arange(3.0), np.ones((1, 3)), codes + 1, x, (1.0,))


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────

NUMBERS = st.lists(
    st.one_of(st.floats(-5, 5, width=16), st.just(np.nan), st.floats(allow_nan=False, allow_infinity=False, width=32)),
    min_size=3,
    max_size=40,
)


@needs_library
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
    codes = np.arange(len(rows)) % 3
    weight = np.linspace(0.1, 2.0, len(rows))

    def answers():
        found = [frozen.normal_scores(rows), cells.reading(rows, ()).cells]
        found += [frozen.binned(bins, MixedRows(rows, ())) for bins in frozen.cuts]
        for splines in frozen.splines.values():
            found += [splines.count(rows, codes, 3, own) for own in (None, weight)]
        return found

    with pytest.MonkeyPatch.context() as patch:
        for module in (of_trees, of_columns, of_growing):
            patch.setattr(module, "library", lambda: None)
        expected = answers()
    for found, own in zip(answers(), expected, strict=True):
        assert_array_equal(found, own)


@pytest.mark.parametrize("loops", [False, pytest.param(True, marks=needs_library)])
def test_splines_share_each_number_between_its_knots(without, loops):
    """By hand: 0, 1 and 3 are knots; ½ is half way from 0 to 1, 2.5 three quarters of the way from 1 to 3."""
    splines = Splines((np.array([0.0, 1.0, 3.0]),))
    rows = np.array([[0.5], [2.5], [-7.0], [9.0], [np.nan], [1.0]])
    codes = np.array([0, 0, 1, 1, 1, 1])

    def count():
        return splines.count(rows, codes, 2, np.array([1.0, 4.0, 1.0, 1.0, 1.0, 1.0]))

    assert_array_equal(count() if loops else without(count), [[0.5, 1.5, 3.0], [1.0, 1.0, 1.0]])


@needs_library
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
def test_splines_of_rows_left_out_are_the_same_to_the_last_bit(without, k, order, weighted):
    """Cells missing, on knots and beyond them; a column of one knot; a row that is all of its knots."""
    rng = np.random.default_rng(k)
    rows = np.asarray(rng.normal(size=(301, 4)).round(1), order=order)
    rows[rng.uniform(size=rows.shape) < 0.1] = np.nan
    rows[0] = 50.0
    knots = np.linspace(-2, 2, 5), np.array([0.0, 0.3]), np.array([1.0]), np.array([-1.0, 0.0, 60.0])
    splines, codes = Splines(knots), rng.integers(k, size=301)
    weight = rng.exponential(size=301) if weighted else np.ones(301)
    model = SplineRatios(splines, splines.count(rows, codes, k, weight))

    def answer():
        left_out = [np.stack(found) for found in model.left_out(rows, codes, weight, (1.0, 4.0, 16.0))]
        return [*left_out, *model.columns(rows), *model.columns(rows, [2, 0])]

    expected = without(answer)
    found = answer()
    assert len(found) == len(expected) == 10
    for own, other in zip(found, expected, strict=True):
        assert_array_equal(own, other)
        assert np.isfinite(own).all()


@pytest.mark.parametrize("loops", [False, pytest.param(True, marks=needs_library)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("levels", [2, 3, 40])
def test_pairs_are_those_of_single_rows(without, loops, weighted, levels):
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

    def count():
        return count_pairs(rows, 4 * levels, codes, 3, weight if weighted else None)

    assert_array_equal(count() if loops else without(count), expected)


# ── a model ──────────────────────────────────────────────────────────────────────────────────────────────────

MODEL = """
import hashlib, json, sys, numpy as np, suffice
from suffice.loops.library import library
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 4)); X[rng.uniform(size=X.shape) < 0.03] = np.nan
y = (np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) > 0).astype(int) + (np.nan_to_num(X[:, 2]) > 1)
model = suffice.GenerativeClassifier(keep_rows=1250).fit(X[:1500], y[:1500]).partial_fit(X[1500:], y[1500:])
answers = [model.predict_proba(X[:500]), np.array([model.loss_]), suffice.GenerativeForest().fit(X, y).predict_proba(X)]
print(json.dumps([library() is not None, hashlib.sha256(b"".join(a.tobytes() for a in answers)).hexdigest()]))
"""


@needs_library
def test_models_are_the_same_with_and_without():
    """A model whose statistics took the place of its rows, and a forest: every posterior, every bit."""
    found = {}
    for switch in ("1", "0"):
        done = subprocess.run(
            [sys.executable, "-c", MODEL],
            env=os.environ | {of_library.SWITCH: switch, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=True,
        )
        there, digest = json.loads(done.stdout)
        found[there] = digest
    assert set(found) == {True, False}
    assert found[True] == found[False]


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


@needs_library
def test_a_library_of_another_source_is_left_alone(folder, monkeypatch):
    made = next(ROOT.joinpath("src/suffice/loops").glob("_loops.*"))
    assert of_library.library() is None
    shutil.copy(made, folder / made.name)
    of_library.library.cache_clear()
    assert of_library.library() is not None
    with (folder / "loops.h").open("a") as source:
        source.write("/* changed */\n")
    of_library.library.cache_clear()
    assert of_library.library() is None
    (folder / made.name).unlink()  # what is loaded must not be written over
    (folder / made.name).write_bytes(b"no library")
    of_library.library.cache_clear()
    assert of_library.library() is None


@needs_library
def test_the_switch(folder, monkeypatch):
    made = next(ROOT.joinpath("src/suffice/loops").glob("_loops.*"))
    shutil.copy(made, folder / made.name)
    monkeypatch.setenv(of_library.SWITCH, "0")
    assert of_library.library() is None


def test_every_function_of_the_source_is_declared_with_as_many_arguments():
    source = "".join(own.read_text(encoding="utf-8") for own in SOURCES)
    heads = [part.split(")")[0].split("(") for part in source.split("PUBLIC void ")[1:]]
    kinds = {name: "".join("p" if "*" in own else "n" for own in taken.split(",")) for name, taken in heads}
    assert kinds == FUNCTIONS
