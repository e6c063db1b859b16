"""Statistics of the members: what they say of how they came about, after edits and in a file."""

import numpy as np
import pytest

from suffice.automatic.columns import RAW, SCORES, FrozenColumns
from suffice.automatic.statistics import MemberRows, MemberStats
from suffice.automatic.table_rows import Hidden, TableRows
from suffice.errors import MergeError
from suffice.stats.counts import CodedColumns


def rows(rng: np.random.Generator, n: int) -> MemberRows:
    coded = CodedColumns((("u", "v"),), (rng.integers(0, 2, n),))
    return MemberRows.summarize(TableRows(rng.normal(size=(n, 2)), coded), rng.integers(0, 2, n), 2, None)


def frozen(own: MemberRows) -> MemberStats:
    return own.frozen(FrozenColumns.freeze(own.rows.numbers, own.rows.coded, own.weight))


def test_what_was_learned_from_a_sample_is_said_wherever_it_goes(rng) -> None:
    one, two = rows(rng, 60), rows(rng, 40)
    whole = frozen(one)
    with pytest.raises(MergeError, match="frozen apart"):
        whole.merge(frozen(two))
    assert whole.merge(two).notes == ()
    merged = whole.merge(two.as_sample())
    assert "rows of weight 40 from a sample" in str(merged.notes[0])
    np.testing.assert_array_equal(merged.seen, whole.merge(two).seen)
    again = MemberStats.from_arrays(*merged.arrays())
    for stats in (again, merged.place([1, 0], 3), merged.regroup(np.array([0, 0]), 1), merged.merge(one)):
        assert stats.notes == merged.notes
    assert "weight 20 from a sample" in str(merged.scale(0.5).notes[0])
    assert merged.subtract(one).notes == merged.notes
    fields, plain = merged.arrays()
    with pytest.raises(ValueError, match="sample"):
        MemberStats.from_arrays(fields, plain | {"sampled": -1.0})
    assert "sampled" not in whole.arrays()[1]


@pytest.mark.parametrize("kind", [RAW, SCORES])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_coordinates_of_very_many_levels_are_products_with_their_indicators(rng, kind, missing) -> None:
    """Levels rare and common, missing and never seen: what is looked up, beside all indicators times the directions."""
    n, words = 900, tuple(f"level {i}" for i in range(450))
    numbers, codes = rng.normal(size=(n, 3)), tuple(rng.integers(0, 450, n) for _ in range(2))
    numbers[rng.random(numbers.shape) < missing] = np.nan
    codes[1][rng.random(n) < missing] = -1
    columns = FrozenColumns.freeze(numbers, CodedColumns((words, words), codes), rng.choice([1.0, 2.0], n))
    new = CodedColumns(((*words, "new"), words), (rng.integers(-1, 451, 60), rng.integers(-1, 450, 60)))
    reading = columns.read(np.vstack([numbers[:59], np.full(3, np.nan)]), new)
    cells = np.nan_to_num(columns.cells(kind, reading))
    assert cells.shape[1] > 400
    np.testing.assert_allclose(reading.gaussian(kind), cells @ columns.basis[kind], atol=1e-11)
    hidden = Hidden(np.array([1, 4]))
    cells[:, np.isin(columns.owners[columns.used[kind]], hidden.columns)] = 0.0
    np.testing.assert_allclose(reading.gaussian_without(kind, hidden), cells @ columns.basis[kind], atol=1e-11)
