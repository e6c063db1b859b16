"""Encodings of the columns (normal scores, bins, knots, indicators), frozen once from a sample without labels.

Numbers go in as they are and as normal scores (Φ⁻¹ of the mid-rank, linear between at most 200 knots), cut into
quantile bins and on quantile knots for splines; categories by level and one-hot. With all of this fixed, the
statistics of every member merge. A `BinnedRows` is a batch of rows read this way, once for all members.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Self

from .._arrays import Array, Codes, Flags, np, parallel_map
from .._derived import once
from ..forest import ForestReading, FrozenForest, levels_within
from ..kernels.columns import Knots, normal_scores
from ..leave_one_out.by_columns import showing
from ..schema import Level
from ..stats.counts import CodedColumns, TextColumns
from ..stats.rows import take_rows
from ..stats.statistic import (
    Fields,
    Plain,
    WrittenAlike,
    codes as codes_below,
    floats,
    in_range,
    levels as levels_of,
    places,
    scatters,
    under,
)
from ..stats.texts import KINDS, TextReading
from ..table.dates import DATE_PARTS, calendar_cells, recurring
from .completion import Guess
from .knots import BINS, INTERVALS, NumberKnots, Projection, Splines, leading
from .table_rows import MISSING, DateParts, Hidden, Index, MixedRows, texts_of, without_texts

MOST_COLUMNS = 400  # of a Gaussian block that is modelled column by column
MOST_PATTERNS = 300  # of missing numbers, for EM with the classes to be made of
MOST_COMPLETED = 3e7  # rows × columns² of such EM, which is done once for each fold as well
LEAST_ROWS = 3.0  # of a level with an indicator of its own
LARGE = 1e150  # of a scale: squares of numbers beyond overflow
FLAT = 1e-12  # standard deviation, relative to the mean, of a column that does not vary
RAW, SCORES = "raw", "scores"
END_KNOTS = 5  # between which the slope of normal scores beyond the last knot is measured
LEAST_STEP = 1.0 / LARGE  # that it is measured over, so that it times a number does not overflow


@dataclass(frozen=True)
class BinnedRows(MixedRows):
    """A batch of rows as frozen columns read it; what several members ask for is made once, when first asked for."""

    columns: FrozenColumns
    texts: TextColumns | None = None

    def __getitem__(self, index: Index) -> BinnedRows:
        levels = tuple(column[index] for column in self.levels)
        texts = None if self.texts is None else take_rows(self.texts, index)
        return BinnedRows(self.numbers[index], levels, self.columns, texts)

    @property
    def shown(self) -> tuple[Codes, ...]:
        """Where each category has a level, and each text is there: −1 where not, (n,) each."""
        return self.levels if self.texts is None else (*self.levels[: -len(self.texts.codes)], *self.texts.codes)

    def terms(self, column: int) -> TextReading:
        """Return a column of texts by its terms."""
        assert self.texts is not None
        texts = self.texts.levels[column], self.texts.codes[column]
        return once(self, ("terms", column), lambda: TextReading.of(*texts, KINDS))

    def gaussian(self, version: str) -> Array:
        """Return the cells (n, p) of a version of the Gaussian block; see `FrozenColumns.gaussian`."""
        return once(self, ("gaussian", version), lambda: self.columns.gaussian(version, self))

    def _projected(self, version: str) -> Array:
        """Return the numbers (n, p) that the leading directions read, in their units."""
        return once(self, ("projected", version), lambda: self.columns.projected(version, self))

    def binned(self, bins: int) -> Codes:
        """Return level numbers (n, columns) of all columns, numbers cut into bins; see `FrozenColumns.binned`."""
        return once(self, ("binned", bins), lambda: self.columns.binned(bins, self))

    def hiding(self, columns: Codes) -> BinnedRows:
        """Return the rows with the cells in some columns missing, by their numbers among all, numbers first."""
        numbers, levels = self.numbers.copy(), list(self.levels)
        width = numbers.shape[1]
        numbers[:, columns[columns < width]] = np.nan
        for j in (columns[columns >= width] - width).tolist():
            levels[j] = np.full_like(levels[j], MISSING)
        texts = self.texts
        if texts is not None:
            shown = np.setdiff1d(np.arange(len(texts.codes)), columns - width - (len(levels) - len(texts.codes)))
            texts = showing(texts, shown.tolist())
        return BinnedRows(numbers, tuple(levels), self.columns, texts)

    def gaussian_without(self, version: str, hidden: Hidden) -> Array:
        """Return a copy of those cells in which some columns are hidden.

        Of very many columns, which are seen in directions, those of which nothing is known are at their means.
        """
        columns = self.columns
        if hidden.as_missing:
            return self.hiding(hidden.columns).gaussian(version)
        if version in columns.basis:
            few = 2 * len(hidden.columns) <= columns.d
            shown = hidden.columns if few else np.setdiff1d(np.arange(columns.d), hidden.columns)
            found = columns.projections[version].coordinates(self._projected(version), self.levels, shown)
            return self.gaussian(version) - found if few else found
        gone = np.isin(columns.owners[columns.used[version]], hidden.columns)
        return np.where(gone, np.nan, self.gaussian(version))

    @cached_property
    def forest(self) -> ForestReading:
        """The rows as trees read them."""
        assert self.columns.forest is not None
        return self.columns.forest.cells.reading(self.numbers, self.levels)

    @cached_property
    def dated(self) -> ForestReading:
        """The rows as trees read them that may ask parts of dates as well, after all columns."""
        dates, own = self.columns.dates, self.forest
        if not dates:
            return own
        parts = [calendar_cells(self.numbers[:, j])[:, i] for j, i in dates]
        return ForestReading(own.numbers, np.column_stack([own.cells, *parts]), own.columns)

    @cached_property
    def known(self) -> Flags:
        """Which cells say something (n, columns): those neither missing nor of an unknown level."""
        pairs = zip(self.levels, self.columns.vocabulary, strict=True)
        levels = [(own >= 0) & (own < len(words)) for own, words in pairs]
        if self.texts is not None:
            levels[-len(self.texts.codes) :] = [own >= 0 for own in self.texts.codes]
        return np.column_stack([~np.isnan(self.numbers), *levels])


def varying(mean: Array, variance: Array) -> Codes:
    """Return which columns vary, by their means and variances over all rows (p,)."""
    return np.flatnonzero((variance > (FLAT * mean) ** 2) & (variance > 1e-300))


@dataclass(frozen=True, eq=False)
class FrozenColumns(WrittenAlike):
    """What the columns look like: everything but the rows' classes, which only trees have seen.

    `scores[j]` are the knots and their normal scores of number j, `splines` knots by number of intervals, `cuts` the
    bins' bounds by number of bins, `vocabulary` the levels of each category, `indicators` those with an indicator, and
    `center`, `scale` and `used` by version of the Gaussian block ("raw" and "scores"), `basis` (columns, r) the leading
    principal directions of those with very many columns, `guess` how cells that are missing in very many patterns are
    filled before statistics are made, `dates` columns and parts of them that trees may ask as well. `forest` are cells
    and trees, None for few rows. The last `texts` categories are texts, which have no levels.
    """

    scores: tuple[tuple[Array, Array], ...]
    splines: dict[int, Splines]
    cuts: dict[int, tuple[Array, ...]]
    vocabulary: tuple[tuple[Level, ...], ...]
    indicators: tuple[tuple[int, ...], ...]
    center: dict[str, Array] = field(default_factory=dict)
    scale: dict[str, Array] = field(default_factory=dict)
    used: dict[str, Codes] = field(default_factory=dict)
    basis: dict[str, Array] = field(default_factory=dict)
    guess: dict[str, Guess] = field(default_factory=dict)
    forest: FrozenForest | None = None
    texts: int = 0
    dates: DateParts = ()

    @classmethod
    def freeze(
        cls,
        numbers: Array,
        coded: CodedColumns,
        weight: Array,
        forest: FrozenForest | None = None,
        *,
        only_raw: bool = False,
        texts: int = 0,
        dates: DateParts = (),
    ) -> Self:
        """Return what a sample of rows (n,) of these weights says; `coded` holds the categories with their levels.

        `only_raw`: nothing but the columns as they are, neither normal scores nor knots nor cuts of numbers.
        """
        d = numbers.shape[1]
        if only_raw:
            found = [NumberKnots.of(np.zeros(0), np.zeros(0))] * d
        else:
            found = list(parallel_map(partial(_knots, weight=weight), numbers.T, cost=100.0 * numbers.size))
        labels = len(coded.codes) - texts
        again = {j: recurring(numbers[:, j]) for j in {j for j, _ in dates}}
        shares = [_level_weight(column, len(known), weight) for known, column in zip(*coded, strict=True)]
        frozen = cls(
            tuple(own.scores for own in found),
            {m: Splines(tuple(own.splines[m] for own in found)) for m in INTERVALS},
            {b: tuple(own.cuts[b] for own in found) for b in BINS},
            tuple(tuple(known) for known in coded.levels),
            (*map(partial(_indicated, weight=weight), shares[:labels], coded.codes[:labels]), *((),) * texts),
            forest=forest,
            texts=texts,
            dates=tuple((j, i) for j, i in dates if again[j][i]),
        )
        rows = MixedRows(numbers, tuple(coded.codes))
        holed = np.isnan(numbers)
        patterns = len(np.unique(holed[holed.any(axis=1)], axis=0))  # but of no missing cell
        of_levels = map(partial(_indicator_moments, weight=weight), frozen.indicators, shares, coded.codes)
        levels = np.concatenate([np.zeros((2, 0)), *of_levels], axis=1)
        for kind in (RAW, SCORES) if d and not only_raw else (RAW,):
            of_numbers = _moments(numbers if kind == RAW else frozen.normal_scores(numbers), weight)
            mean, variance = np.concatenate([of_numbers, levels], axis=1)
            frozen.set_units(kind, mean, variance)
            width = len(frozen.used[kind])
            if width > MOST_COLUMNS:
                frozen.basis[kind] = leading(partial(frozen.cells, kind, rows), len(rows), width)
            elif patterns >= MOST_PATTERNS or (patterns and len(numbers) * width**2 > MOST_COMPLETED):
                frozen.guess[kind] = Guess.of(frozen.cells(kind, rows), weight)
        return frozen

    def set_units(self, kind: str, mean: Array, variance: Array) -> None:
        """Set centre, scale and use of the columns of a version by their means and variances over all rows (p,)."""
        self.used[kind] = varying(mean, variance)
        self.center[kind], self.scale[kind] = mean, np.sqrt(np.maximum(variance, 1e-300))

    def arrays(self) -> tuple[Fields, Plain]:
        """Return the fields as named arrays and plain values."""
        fields: Fields = {}
        for j, (knots, z) in enumerate(self.scores):
            fields |= {f"knots{j}": knots, f"scores{j}": z}
            fields |= {f"hats{m}_{j}": own.knots[j] for m, own in self.splines.items()}
            fields |= {f"cuts{b}_{j}": own[j] for b, own in self.cuts.items()}
        for kind in self.used:
            fields |= {f"center_{kind}": self.center[kind], f"scale_{kind}": self.scale[kind]}
            fields[f"used_{kind}"] = self.used[kind].astype(np.int64)
        fields |= {f"basis_{kind}": basis for kind, basis in self.basis.items()}
        for kind, guess in self.guess.items():
            fields |= {f"guess_{kind}": guess.center, f"spread_{kind}": guess.covariance}
        plain: Plain = {
            "numbers": len(self.scores),
            "vocabulary": [list(known) for known in self.vocabulary],
            "indicators": [list(own) for own in self.indicators],
            "kinds": list(self.used),
            "bases": list(self.basis),
            "guesses": list(self.guess),
        }
        if self.texts:
            plain["texts"] = self.texts
        if self.dates:
            plain["dates"] = [list(own) for own in self.dates]
        if self.forest is not None:
            trees, plain["forest"] = self.forest.arrays()
            fields |= {f"forest_{name}": values for name, values in trees.items()}
        return fields, plain

    @classmethod
    def from_arrays(cls, fields: Fields, plain: Plain) -> FrozenColumns:
        """Return the columns written by `arrays`; ValueError if the parts do not fit together."""
        d, kinds = int(plain["numbers"]), [str(kind) for kind in plain["kinds"]]
        indicators = tuple(tuple(int(i) for i in own) for own in plain["indicators"])
        found = cls(
            tuple((fields[f"knots{j}"], fields[f"scores{j}"]) for j in range(d)),
            {m: Splines(tuple(fields[f"hats{m}_{j}"] for j in range(d))) for m in INTERVALS},
            {b: tuple(fields[f"cuts{b}_{j}"] for j in range(d)) for b in BINS},
            tuple(map(levels_of, plain["vocabulary"])),
            indicators,
            {kind: fields[f"center_{kind}"] for kind in kinds},
            {kind: fields[f"scale_{kind}"] for kind in kinds},
            {kind: fields[f"used_{kind}"] for kind in kinds},
            {str(kind): fields[f"basis_{kind}"] for kind in plain["bases"]},
            {str(kind): Guess(fields[f"guess_{kind}"], fields[f"spread_{kind}"]) for kind in plain["guesses"]},
            FrozenForest.from_arrays(under("forest_", fields), plain["forest"]) if "forest" in plain else None,
            len(codes_below(np.arange(plain.get("texts", 0)), len(plain["vocabulary"]) + 1, None)),
            _dates_of(plain, d),
        )
        found._check()
        return found

    def _check(self) -> None:
        """Raise ValueError unless the parts, read from a file, fit together."""
        if self.forest is not None:
            cells = self.forest.cells
            if len(cells.numbers) != self.numbers or cells.vocabulary != self.vocabulary:
                raise ValueError("cells of other columns")
        p = len(self.scores) + sum(len(own) for own in self.indicators)
        for knots, z in self.scores:
            _ascending(knots, 1)
            _ascending(floats(z, len(knots)), 1, flat=True)  # released counts may leave nothing between two knots
        for knots in (own for splines in self.splines.values() for own in splines.knots):
            _ascending(knots, 1)
        for bounds in (own for cuts in self.cuts.values() for own in cuts):
            _ascending(bounds, 0)
        for kind, used in self.used.items():
            in_range(floats(self.center[kind], p), np.ones(p))
            scale = floats(self.scale[kind], p)
            if not 0 < scale.min(initial=1.0) <= scale.max(initial=1.0) < LARGE:
                raise ValueError("scales of frozen columns")
            if (np.diff(codes_below(used, p, None)) <= 0).any() or kind not in (RAW, SCORES):
                raise ValueError("frozen columns")
        for kind, basis in self.basis.items():
            in_range(floats(basis, len(self.used[kind]), None), np.ones(len(basis)))
        for kind, guess in self.guess.items():
            size = len(self.used[kind])
            scatters(guess.covariance, floats(guess.center, size), np.ones(size), size, size)
        for own, known in zip(self.indicators, self.vocabulary, strict=True):
            places([i - MISSING for i in own], len(known) - MISSING)

    @property
    def numbers(self) -> int:
        """How many of the columns are numbers."""
        return len(self.scores)

    @property
    def d(self) -> int:
        """How many columns there are."""
        return len(self.scores) + len(self.vocabulary)

    @property
    def owners_dated(self) -> Codes:
        """The column behind each that trees may ask: itself, or the date of a part."""
        return np.array([*range(self.d), *(j for j, _ in self.dates)], dtype=np.int64)

    @property
    def dated_sizes(self) -> tuple[int, ...]:
        """How many cells each column has that trees may ask, those of parts of dates last."""
        assert self.forest is not None
        return (*self.forest.cells.sizes, *([*DATE_PARTS.values()][i] for _, i in self.dates))

    @property
    def kinds(self) -> list[str]:
        """The versions of the Gaussian block that have columns."""
        return [kind for kind, used in self.used.items() if len(used)]

    def read(self, numbers: Array, coded: CodedColumns) -> BinnedRows:
        """Return rows as these columns read them, categories in the frozen vocabulary."""
        levels = levels_within(without_texts(coded, self.texts), self.vocabulary)
        return BinnedRows(np.asarray(numbers, dtype=np.float64), levels, self, texts_of(coded, self.texts))

    def gaussian(self, kind: str, rows: MixedRows) -> Array:
        """Return the Gaussian block (n, p) in units of total variance 1, NaN where a cell is missing.

        Of very many columns it has the coordinates in the leading directions, with missing cells at their means.
        """
        if kind not in self.basis:
            return self.cells(kind, rows)
        return self.projections[kind].coordinates(self.projected(kind, rows), rows.levels, np.arange(self.d))

    def projected(self, kind: str, rows: MixedRows) -> Array:
        """Return the numbers (n, p) that the leading directions read, in their units."""
        numbers = rows.numbers if kind == RAW else self.normal_scores(rows.numbers)
        return self.projections[kind].cells(numbers)

    @cached_property
    def projections(self) -> dict[str, Projection]:
        """What each cell adds to coordinates in the leading directions, by version of the Gaussian block."""
        sizes = [len(known) for known in self.vocabulary]
        return {
            kind: Projection.of(
                basis, self.used[kind], self.center[kind], self.scale[kind], self.numbers, self.indicators, sizes
            )
            for kind, basis in self.basis.items()
        }

    def cells(self, kind: str, rows: MixedRows, part: slice = slice(None)) -> Array:
        """Return the columns of the Gaussian block (n, columns) in units of total variance 1, of all rows or a part."""
        used = self.used[kind]
        block = self._block(kind, rows[part])
        if len(used) < block.shape[1]:
            return np.asarray((block[:, used] - self.center[kind][used]) / self.scale[kind][used])
        return np.asarray((block - self.center[kind]) / self.scale[kind])

    def width(self, kind: str) -> int:
        """Return the number of columns of the Gaussian block."""
        return int(self.basis[kind].shape[1]) if kind in self.basis else len(self.used[kind])

    def _block(self, kind: str, rows: MixedRows) -> Array:
        parts = [rows.numbers if kind == RAW else self.normal_scores(rows.numbers)]
        for levels, indicated in zip(rows.levels, self.indicators, strict=True):
            hot = (levels[:, None] == np.asarray(indicated, dtype=np.int64)).astype(np.float64)
            if MISSING not in indicated:
                hot[levels < 0] = np.nan
            parts.append(hot)
        return np.concatenate(parts, axis=1)

    def normal_scores(self, numbers: Array) -> Array:
        """Return the numbers as normal scores; beyond the end knots linear, by at most 1."""
        return normal_scores(numbers, *self._score_knots)

    @cached_property
    def _score_knots(self) -> tuple[Knots, Array, Array]:
        """The knots of all numbers, the normal scores at them, and the slopes (d, 2) beyond the end ones."""
        slopes = np.array([end_slopes(*own) for own in self.scores]).reshape(-1, 2)
        return Knots.of([x for x, _ in self.scores]), np.concatenate([*(z for _, z in self.scores), []]), slopes

    @cached_property
    def _bin_cuts(self) -> dict[int, Knots]:
        """The cuts of all numbers, by the number of bins."""
        return {bins: Knots.of(own) for bins, own in self.cuts.items()}

    @property
    def owners(self) -> Codes:
        """The column behind each column of the Gaussian block: numbers first, then those of the indicators."""
        numbers = len(self.scores)
        of_levels = [np.full(len(own), numbers + j, dtype=np.int64) for j, own in enumerate(self.indicators)]
        return np.concatenate([np.arange(numbers), *of_levels])

    def bin_starts(self, bins: int) -> tuple[int, ...]:
        """Return where the levels of each column begin when numbers are cut into bins, and how many there are."""
        sizes = [len(cuts) + 1 for cuts in self.cuts[bins]] + [max(len(known), 1) for known in self.vocabulary]
        return tuple(int(start) for start in np.concatenate([[0], np.cumsum(sizes)]))

    def binned(self, bins: int, rows: MixedRows) -> Codes:
        """Return level numbers (n, columns) counted through all columns, −1 where missing or unknown."""
        starts = self.bin_starts(bins)
        out = np.empty((len(rows), len(starts) - 1), dtype=np.int64)
        d = len(self.cuts[bins])
        cells = np.empty((len(rows), d), dtype=np.int16)
        self._bin_cuts[bins].cells(rows.numbers, cells)
        out[:, :d] = np.where(cells < 0, -1, cells + np.array(starts[:d], dtype=np.int64))
        for j, (levels, known) in enumerate(zip(rows.levels, self.vocabulary, strict=True), start=d):
            out[:, j] = np.where((levels < 0) | (levels >= len(known)), -1, levels + starts[j])
        return out


def _dates_of(plain: Plain, numbers: int) -> DateParts:
    """Return the parts of dates of a file, which older ones do not hold."""
    found = tuple((int(j), int(i)) for j, i in plain.get("dates", ()))
    if not all(0 <= j < numbers and 0 <= i < len(DATE_PARTS) for j, i in found):
        raise ValueError("dates of frozen columns")
    return found


def end_slopes(knots: Array, z: Array) -> tuple[float, float]:
    """Return the slopes with which normal scores go on below the first knot and above the last, 0 if there is one."""
    k = min(END_KNOTS, len(knots) - 1)
    if not k:
        return 0.0, 0.0
    steps = np.maximum([knots[k] - knots[0], knots[-1] - knots[-1 - k]], LEAST_STEP)
    return float((z[k] - z[0]) / steps[0]), float((z[-1] - z[-1 - k]) / steps[1])


def _ascending(values: Array, least: int, flat: bool = False) -> None:
    """Raise ValueError unless there are so many numbers at least, each above the one before, or not below it."""
    in_range(floats(values, None), np.ones(len(values)))
    steps = np.diff(values)
    if len(values) < least or (steps < 0).any() or (not flat and (steps == 0).any()):
        raise ValueError("knots of frozen columns")


def _knots(x: Array, weight: Array) -> NumberKnots:
    """Return the knots of a number (n,), by the cells that are not missing."""
    seen = np.flatnonzero(~np.isnan(x))
    return NumberKnots.of(x[seen], weight[seen])


def _level_weight(codes: Codes, size: int, weight: Array) -> Array:
    seen = codes >= 0
    return np.bincount(codes[seen], weights=weight[seen], minlength=size).astype(np.float64)


def _indicated(held: Array, codes: Codes, weight: Array) -> tuple[int, ...]:
    """Return the levels with an indicator: those that are not rare, but for the commonest; missing is one of them."""
    held = np.round(held, 9)  # sums of weights in another order of rows round otherwise
    order = np.argsort(-held, kind="stable")[1:]
    missing = [MISSING] if np.round(weight[codes < 0].sum(), 9) >= LEAST_ROWS else []
    return (*missing, *sorted(int(i) for i in order if held[i] >= LEAST_ROWS))


def _indicator_moments(indicated: tuple[int, ...], held: Array, codes: Codes, weight: Array) -> tuple[Array, Array]:
    """Return the mean and variance (p,) of the indicators of a category, whose levels weigh so much."""
    missing = float(weight[codes < 0].sum())
    total = max(float(held.sum()) + (missing if MISSING in indicated else 0.0), 1e-300)
    mean = np.array([missing if i == MISSING else held[i] for i in indicated]) / total
    return mean, mean * (1.0 - mean)


def _moments(block: Array, weight: Array) -> tuple[Array, Array]:
    """Return the mean and variance (p,) of the observed cells of each column."""
    seen: Flags = ~np.isnan(block)
    total = np.maximum(weight @ seen, 1e-300)
    mean = (weight @ np.where(seen, block, 0.0)) / total
    return mean, (weight @ np.where(seen, block - mean, 0.0) ** 2) / total
