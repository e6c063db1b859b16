"""Encoded rows of one block of columns, whatever their form: take some, put two sets together, hash their contents.

A block's rows are an array (n, d) of numbers, NaN where missing; `CodedColumns`; or a SciPy sparse matrix (n, d).
`Units` says which rows leave together where rows are held out: copies of a row, rows of a group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Self, TypeVar

from .._arrays import (
    Array,
    Codes,
    Flags,
    NDArray,
    cross_sums,
    distinct,
    is_sparse,
    np,
    places_of,
    row_chunks,
    rows_within,
    sparse,
)
from .._arrays_api import fetch, is_device_array, row_bits, take
from ..schema import Level, Name, sort_levels
from .counts import CodedColumns, TextColumns
from .statistic import Fields, Plain, codes as codes_below, floats, in_range, levels as levels_of

Keys = NDArray[np.uint64]
V = TypeVar("V")

SPREAD = 1.618033988749895  # times a whole number, it sets bits in all of the mantissa

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: multiples of it are far apart, which `mixed` scatters
FOLDS = 5  # of whole groups
FEWEST = 2  # units that must show a level for trees to have a place for it: one alone says nothing of others


def take_rows(part: Any, index: Codes | slice | Flags) -> Any:
    """Return some rows of a block as it was encoded or recoded; `index` are numbers, a slice, or flags (n,)."""
    return part._replace(codes=take(part.codes, index)) if isinstance(part, CodedColumns) else take(part, index)


def take_blocks(rows: Sequence[Any], index: Codes | slice | Flags) -> list[Any]:
    """Return some rows, by block."""
    return [take_rows(part, index) for part in rows]


def taken(value: V, index: Codes | slice | Flags, *names: str) -> V:
    """Return a dataclass with some rows of these fields, of which one that is None stays so."""
    parts = {name: getattr(value, name) for name in names}
    return replace(value, **{name: None if part is None else part[index] for name, part in parts.items()})  # type: ignore[type-var]


def without_lost(before: CodedColumns, rows: CodedColumns, declared: Sequence[bool]) -> CodedColumns:
    """Return some rows of those before without the levels that only others had, but for columns with declared ones."""
    levels, codes = [], []
    for known, old, new, stated in zip(before.levels, before.codes, rows.codes, declared, strict=True):
        lost = np.setdiff1d(old[old >= 0], new)
        if len(lost) and not stated:
            kept = np.setdiff1d(np.arange(len(known)), lost)
            known, new = tuple(known[int(c)] for c in kept), np.where(new < 0, -1, np.searchsorted(kept, new))
        levels.append(known)
        codes.append(new)
    return rows._replace(levels=tuple(levels), codes=tuple(codes))


def concat_rows(first: Any, second: Any) -> Any:
    """Return the rows of both; categories get codes in the union of the two vocabularies."""
    if is_sparse(first):
        return sparse.vstack([first, second], format="csr")
    if not isinstance(first, CodedColumns):
        return np.concatenate([first, second])
    levels, codes = [], []
    for a, x, b, y in zip(first.levels, first.codes, second.levels, second.codes, strict=True):
        known = a if a == b else sort_levels([*a, *b])
        levels.append(known)
        codes.append(np.concatenate([_recoded(a, x, known), _recoded(b, y, known)]))
    return first._replace(levels=tuple(levels), codes=tuple(codes))


def some_of(first: Any, second: Any, index: Codes) -> Any:
    """Return some of the compact rows of both, compact, by their numbers among all, a column or block at a time."""
    if isinstance(first, CodedColumns):
        own = [compact(take_rows(concat_rows(x, y), index)) for x, y in zip(*map(_each, (first, second)), strict=True)]
        return first._replace(levels=tuple(x.levels[0] for x in own), codes=tuple(x.codes[0] for x in own))
    if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray):
        return compact(take_rows(concat_rows(first, second), index))
    found = np.empty((len(index), first.shape[1]))
    for part in row_chunks(len(index), rows_within(8 * first.shape[1])):
        late = index[part] >= len(first)
        found[part][~late] = first[index[part][~late]]
        found[part][late] = second[index[part][late] - len(first)]
    return found


def _each(part: CodedColumns) -> list[CodedColumns]:
    """Return the columns as blocks of their own."""
    return [part._replace(levels=(own,), codes=(codes,)) for own, codes in zip(part.levels, part.codes, strict=True)]


def compact(part: Any) -> Any:
    """Return rows in a form that depends on their contents alone: only levels that occur, float64 without −0.

    Rows on another device come to the CPU.
    """
    if is_sparse(part):
        return part
    if not isinstance(part, CodedColumns):
        return np.asarray(fetch(part) if is_device_array(part) else part, dtype=np.float64) + 0.0
    own = [occurring(known, column) for known, column in zip(part.levels, part.codes, strict=True)]
    return part._replace(levels=tuple(known for known, _ in own), codes=tuple(codes for _, codes in own))


def occurring(levels: Sequence[Level], codes: Codes) -> tuple[tuple[Level, ...], Codes]:
    """Return the levels that occur, and the codes (n,) among these, −1 where missing."""
    seen = np.bincount(codes[codes >= 0], minlength=len(levels)) > 0
    return tuple(compress(levels, seen)), np.append(np.cumsum(seen) - 1, -1)[codes]


def _recoded(known: Sequence[Level], codes: Codes, wanted: Sequence[Level]) -> Codes:
    return codes if known == wanted else np.append(places_of(known, wanted), -1)[codes]


def rows_to_arrays(rows: Sequence[Any]) -> tuple[Fields, Plain]:
    """Return the rows of several blocks as named arrays without NaN, and plain values: levels, numbers of columns."""
    fields: Fields = {}
    levels: Plain = {}
    for number, part in enumerate(rows):
        if isinstance(part, CodedColumns):
            mark = "t" if isinstance(part, TextColumns) else "c"
            fields[f"{mark}{number}"] = np.stack(part.codes, axis=1) if part.codes else np.zeros((0, 0))
            levels[str(number)] = [list(own) for own in part.levels]
        elif is_sparse(part):
            stored = {"data": part.data, "indices": part.indices, "indptr": part.indptr}
            fields |= {f"s{number}{name}": values for name, values in stored.items()}
            levels[str(number)] = part.shape[1]
        else:
            absent = np.isnan(part)
            fields |= {f"x{number}": np.where(absent, 0.0, part), f"n{number}": absent}
    return fields, levels


def rows_from_arrays(fields: Fields, levels: Plain, blocks: int, m: int) -> tuple[Any, ...]:
    """Return the m rows of each block that `rows_to_arrays` wrote; ValueError if they do not fit together."""
    return tuple(_rows_of_block(number, fields, levels, m) for number in range(blocks))


def _rows_of_block(number: int, fields: Fields, levels: Plain, m: int) -> Any:
    mark = "t" if f"t{number}" in fields else "c"
    if f"{mark}{number}" in fields:
        codes, known = fields[f"{mark}{number}"], tuple(map(levels_of, levels[str(number)]))
        if codes.shape != ((m, len(known)) if known else (0, 0)):
            raise ValueError("codes of the sample of rows")
        columns = zip(map(np.ascontiguousarray, codes.T), known, strict=True)
        checked = tuple(codes_below(column, len(own), m, least=-1) for column, own in columns)
        return TextColumns(known, checked) if mark == "t" else CodedColumns(known, checked)
    if f"s{number}data" in fields:
        data, indices, indptr = (fields[f"s{number}{name}"] for name in ("data", "indices", "indptr"))
        width = levels[str(number)]
        if type(width) is not int or not 0 < width < 1 << 62 or {indices.dtype.kind, indptr.dtype.kind} != {"i"}:
            raise ValueError("columns of the sample of rows")
        in_range(floats(data, None), np.ones(len(data)))
        part = sparse.csr_array((data, indices, indptr), shape=(m, width))
        part.check_format(full_check=True)
        return part
    values, absent = floats(fields[f"x{number}"], m, None), fields[f"n{number}"]
    in_range(values, np.ones(m))
    if absent.shape != values.shape or absent.dtype != np.bool_ or values[absent].any():
        raise ValueError("cells of the sample of rows")
    return np.where(absent, np.nan, values)


def priorities(part: Any, seed: int) -> Keys:
    """Return one number per row (n,) that depends on its cells and their columns: cheap, equal for few unequal rows."""
    d = len(part.codes) if isinstance(part, CodedColumns) else part.shape[1]
    factors = _factors(d, seed)
    if is_sparse(part):
        return _sparse_sums(part.tocsr(), factors)
    if isinstance(part, CodedColumns):
        total = np.zeros(part.rows, dtype=np.uint64)
        for levels, codes, factor in zip(part.levels, part.codes, factors, strict=True):
            total += np.take(level_keys(levels) * factor, codes, mode="wrap")  # −1 is the last
        return total
    if is_device_array(part):
        found = row_bits(part, SPREAD, factors)
        if found is not None:
            return found
        part = fetch(part)
    total = np.empty(len(part), dtype=np.uint64)
    step = rows_within(32 * d)
    cells = np.empty((min(step, len(part)), d))  # once for all: new memory is slow to touch
    for start in range(0, len(part), step):
        own = cells[: len(part) - start]
        np.multiply(part[start : start + step], np.float64(SPREAD), out=own)  # in float64 whatever the rows are
        own += 0.0  # no −0
        np.einsum("ij,j->i", own.view(np.uint64), factors, out=total[start : start + step])
    return total


def fingerprints(part: Any) -> Keys:
    """Return one number per row (n,), different for different rows but for a chance of about 2⁻⁶⁴ a pair."""
    if is_sparse(part) or isinstance(part, CodedColumns):
        return mixed(priorities(part, 1)) ^ mixed(priorities(part, 2))
    (n, d), factors, total = part.shape, _factors(part.shape[1], 1), np.empty(len(part), dtype=np.uint64)
    step = rows_within(32 * d)
    cells, room = np.empty((min(step, n), d)), np.empty((min(step, n), d), dtype=np.uint64)  # once for all
    for some in row_chunks(n, step):
        own = cells[: some.stop - some.start]
        np.add(part[some], 0.0, out=own)  # no −0
        np.copyto(own, np.inf, where=np.isnan(own))
        np.einsum("ij,j->i", _mix(own.view(np.uint64), room[: len(own)]), factors, out=total[some])
    return mixed(total)


def cell_ranks(cells: NDArray[Any]) -> Keys:
    """Return the rank (n, d) of each cell among the different ones of its column, from 1; missing numbers come last."""
    order = np.argsort(cells, axis=0)
    values = np.take_along_axis(cells, order, axis=0)
    new = np.ones(values.shape, dtype=np.uint64)
    new[1:] = (values[1:] != values[:-1]) & (values[:-1] == values[:-1])
    ranks = np.empty_like(new)
    np.put_along_axis(ranks, order, new.cumsum(axis=0, dtype=np.uint64), axis=0)
    return ranks


def ranks(part: Any) -> Iterator[Keys]:
    """Return for some columns of a block after the other the rank (n, some) of each cell, see `cell_ranks`."""
    if isinstance(part, tuple):
        codes = part.codes if isinstance(part, CodedColumns) else part
        return (cell_ranks(own[:, None]) for own in codes)
    return (cell_ranks(part[:, some]) for some in row_chunks(part.shape[1], rows_within(64 * len(part))))


def content(rows: Sequence[Any], n: int) -> Keys:
    """Return a number (n,) for each row that no increasing change of a column's units alters, nor their order.

    Sparse counts and texts count as they are, and so do the places of their columns. Columns are told apart by their
    ranks and, where rows seem equal by these, as they do if two columns change places, by what goes along with them.
    """
    found = _contents(rows, np.zeros(n, dtype=np.uint64))
    return found if len(distinct(found)) == n else _contents(rows, found)


def _contents(rows: Sequence[Any], of_row: Keys) -> Keys:
    """Return the same, columns told apart by their ranks and what goes along with them: numbers `of_row` (n,)."""
    total = np.zeros_like(of_row)
    for part in rows:
        if is_sparse(part) or isinstance(part, TextColumns):
            total += fingerprints(part)
            continue
        for own in ranks(part):
            total += mixed(mixed(own) ^ mixed(own + of_row[:, None]).sum(axis=0)).sum(axis=1)
    return total


def column_keys(part: Any, of_row: Keys) -> Keys:
    """Return a number for each column of a block that its ranks in rows of these keys (n,) decide, not its place."""
    none = np.zeros(0, dtype=np.uint64)
    return np.concatenate([none, *(mixed(own + of_row[:, None]).sum(axis=0) for own in ranks(part))])


def _factors(d: int, seed: int) -> Keys:
    """Return an odd number for each column (d,)."""
    return mixed(np.arange(1, d + 1, dtype=np.uint64) + np.uint64(seed * GOLDEN % 2**64)) | np.uint64(1)


def _sparse_sums(rows: sparse.csr_array, factors: Keys) -> Keys:
    """Sum over the stored entries that are not zero; the order in which they are stored does not matter."""
    cells = mixed(np.asarray(rows.data, dtype=np.float64).view(np.uint64)) * factors[rows.indices]
    cells[rows.data == 0] = 0
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(cells, dtype=np.uint64)])
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def level_keys(levels: Sequence[Level]) -> Keys:
    """Return one number per level, and a last one for a missing cell: equal levels have equal numbers anywhere."""
    if isinstance(levels, range):
        own = mixed(np.arange(levels.start, levels.stop, dtype=np.int64).view(np.uint64))
    else:
        own = np.array([_level_key(level) for level in levels], dtype=np.uint64)
    return np.append(own, np.uint64(GOLDEN))


def _level_key(level: Level) -> int:
    if not isinstance(level, str) and float(level).is_integer() and abs(level) < 2**63:
        return int(mixed(np.array([int(level)], dtype=np.int64).view(np.uint64))[0])
    return int.from_bytes(hashlib.blake2b(repr(level).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def mixed(keys: Keys) -> Keys:
    """Return a bijection of 64-bit numbers that spreads every bit over all (the finaliser of SplitMix64)."""
    keys = np.array(keys)
    return np.asarray(_mix(keys, np.empty_like(keys)))


def _mix(keys: Keys, room: Keys) -> Keys:
    """Return what `mixed` returns, in the place of the keys, with room for as many."""
    keys ^= np.right_shift(keys, np.uint64(30), out=room)
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    keys ^= np.right_shift(keys, np.uint64(27), out=room)
    keys *= np.uint64(0x94D049BB133111EB)
    keys ^= np.right_shift(keys, np.uint64(31), out=room)
    return keys


@dataclass(frozen=True, eq=False)
class Units:
    """Distinct rows (n,): as how many rows each counts, and the `group` it is of, None where rows are groups."""

    copies: Array
    group: Keys | None = None

    @classmethod
    def each(cls, n: int) -> Self:
        """Return n rows, each by itself."""
        return cls(np.ones(n))

    @property
    def number(self) -> Codes:
        """The number (n,) of the group of each row, or of the row itself."""
        if self.group is None:
            return np.arange(len(self.copies))
        return np.unique(self.group, return_inverse=True)[1].reshape(-1)

    def __getitem__(self, index: Codes | Flags | slice) -> Self:
        return type(self)(self.copies[index], None if self.group is None else self.group[index])

    @property
    def groups(self) -> Codes | None:
        """The number (n,) of the group of each row; None where every row is one by itself, or all are of one."""
        if self.group is None:
            return None
        different = int(self.number.max(initial=0)) + 1
        return self.number if 1 < different < len(self.copies) else None

    def showing(self, level: Codes, size: int, among: Codes | Flags | slice = slice(None)) -> Array:
        """Return how many units show each of so many levels (size,), of the rows `among`; −1 is a missing cell."""
        own, copies = level[among], self.copies[among]
        known = (own >= 0) & (own < size)
        if self.group is None:
            return np.bincount(own[known], weights=copies[known], minlength=size).astype(np.float64)
        pairs = np.unique(np.stack([own[known].astype(np.uint64), self.group[among][known]]), axis=1)
        return np.bincount(pairs[0].astype(np.int64), minlength=size).astype(np.float64)

    def unseen(
        self,
        levels: Sequence[Codes],
        sizes: Sequence[int],
        among: Flags | slice | None = None,
        of: Sequence[Codes] | None = None,
    ) -> Flags | None:
        """Return which cells (n, categories) are of levels that too few units show among some rows.

        Without `among`, of all rows but those that leave with the row itself. The cells are those of these rows, or
        `of` others that are among them. None where there is no such cell.
        """
        found, least = [], FEWEST + (among is None)
        for level, size, cells in zip(levels, sizes, levels if of is None else of, strict=True):
            few = self.showing(level, size, slice(None) if among is None else among) < least
            found.append(np.append(few, [False, False])[np.clip(cells, -1, size)])
        return np.stack(found, axis=1) if any(own.any() for own in found) else None


def class_order(own: Keys, codes: Codes) -> Codes:
    """Return the numbers (n,) of rows class by class, those of a class in the order of their keys (n,).

    Which class comes first, keys decide as well, not the names of the classes.
    """
    of_class = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.uint64)
    np.add.at(of_class, codes, mixed(own))
    return np.lexsort((own, codes, of_class[codes]))


def deal(own: Keys, codes: Codes, folds: int = FOLDS) -> Codes:
    """Return the fold (n,) of each row: rows of a class in turn, by `class_order`. One goes on where another ended."""
    return np.argsort(class_order(own, codes)) % folds


def numbered(chosen: Codes, count: int) -> Codes:
    """Return for each of `count` things its number among the `chosen` ones, −1 for the others."""
    index = np.full(count, -1, dtype=np.int64)
    index[chosen] = np.arange(len(chosen))
    return index


def deal_groups(group: Codes, codes: Codes, own: Keys, folds: int = FOLDS) -> Codes:
    """Return the fold (n,) of each row: whole groups, the largest first, each to where its classes are scarcest.

    Of groups as large the keys (n,) of their rows decide which comes first, not their names.
    """
    held = cross_sums(group, codes, (int(group.max(initial=0)) + 1, int(codes.max(initial=0)) + 1))
    keys = np.zeros(len(held), dtype=np.uint64)
    np.add.at(keys, group, mixed(own))
    total, place = np.zeros((min(folds, len(held)), held.shape[1])), np.empty(len(held), dtype=np.int64)
    share = held / held.sum(axis=0)
    for g in np.lexsort((keys, -held.sum(axis=1))):
        fullness = ((total + share[g]) ** 2).sum(axis=1) - (total**2).sum(axis=1)
        place[g] = np.lexsort((total.sum(axis=1).round(12), fullness.round(12)))[0]
        total[place[g]] += share[g]
    return np.asarray(place[group])


def group_keys(groups: tuple[Sequence[Level], Codes] | None, names: Sequence[Name]) -> Keys | None:
    """Return a hash (n,) of the group of each row, 0 for a row of none; None without groups.

    `groups` are the different ones and their numbers (n,), −1 for none. Hashes are salted by the `names` of the
    columns: they are the same in all parts of a table, and in no other table.
    """
    if groups is None:
        return None
    levels, codes = groups
    salt = level_keys([repr(tuple(names))])[0]
    keys = np.append(mixed(level_keys(levels)[:-1] ^ salt) | np.uint64(1), np.uint64(0))
    return np.asarray(keys[codes])


def group_numbers(keys: Keys) -> Codes | None:
    """Return the number (n,) of the group of each row by its hash, of a row of none its own; None if all are alone."""
    number = np.unique(np.where(keys == 0, np.arange(len(keys), dtype=np.uint64), keys), return_inverse=True)[1]
    return None if len(keys) and number.max() + 1 == len(keys) else number.reshape(-1)
