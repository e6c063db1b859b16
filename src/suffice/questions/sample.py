"""Draw new rows from the joint density."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from sklearn.utils import check_random_state

from .._arrays import Codes, Flags, is_number, is_whole, np
from ..densities import Rows
from ..densities.counts import TextDensity, draw_codes
from ..densities.density import missing_cells
from ..errors import DataError, SettingError, either, quoted, setting
from ..fitted import Fitted
from ..joint import JointModel
from ..schema import Kind, Level, Name
from ..stats.rows import take_rows
from ..table import NewColumn, make_sparse, make_table
from ..table.cells import Cells
from ..table.writing import FRAMES, without_cells
from .given import SCALARS, draw_given, read_given, recorded_of_new, stack
from .recorded import ByBlock

CANDIDATES = 8  # rows drawn for each that is kept, where they are chosen by their weights
EXACT = 2.0**53  # below it floats hold every integer


def draw_rows(
    fitted: Fitted,
    n: int,
    label: object,
    given: Mapping[Name, object] | None,
    random_state: object,
    container: str | None = None,
    as_recorded: bool = True,
    missing: bool = False,
) -> tuple[Any, Any]:
    """Return rows in a table of this kind, by default the one the model was fitted on, and labels.

    `as_recorded` draws numbers that the table could hold, see `recorded`; `missing` takes away the cells that a kept
    row of the class misses, one for each row by chance. Where posteriors are not those of the joint model, rows are
    drawn from its p(x) and labels from the posterior of each row.
    """
    number, rng = read_count(n, "n"), check_random_state(random_state)
    known = None if label is None else _class_number(fitted, label)
    asked = fitted.joint_value
    given = {} if given is None else dict(given)
    told, wanted = read_given(asked, given), container or fitted.schema.container
    check_fillable(asked, told.rows, asked.joint, "sample", fitted.empty_columns, new=True)
    kept = recorded_of_new(asked) if as_recorded else None
    if asked is not fitted and known is not None:
        parts = [draw_given(asked, CANDIDATES // 2 * number, told, own, kept, rng) for own in (None, known)]
        candidates = [stack(pair) for pair in zip(*(part.rows for part in parts), strict=True)]
        share = parts[1].log_mass - parts[0].log_mass
        blocks = _heaviest(fitted, candidates, _table(asked, candidates, wanted, kept), number, known, share, rng)
        X, codes = _table(asked, blocks, wanted, kept), np.full(number, known)
    else:
        blocks, codes, _ = draw_given(asked, number, told, known, kept, rng)
        X = _table(asked, blocks, wanted, kept)
        if asked is not fitted:
            codes = draw_codes(np.exp(fitted.log_posterior(fitted.rows(X))), rng)
    if missing:
        gone = _holes_of_kept(asked, codes, rng)
        gone[:, asked.schema.positions(list(given))] = False
        X = without_cells(X, gone)
    return X, fitted.labels[codes]


def _holes_of_kept(fitted: Fitted, codes: Codes, rng: np.random.RandomState) -> Flags:
    """Return which cells (n, d) are missing in rows of these classes (n,): in each those that a kept row misses."""
    if fitted.statistics.sample is None:
        what = "This model keeps no rows that show which cells are missing"
        raise DataError.without_rows(what, fitted.past.released is not None)
    sample = fitted.reservoir
    holes = np.zeros((len(sample.codes), len(fitted.schema)), dtype=np.bool_)
    for block, rows in zip(fitted.blocks, fitted.recoded(fitted.sampled_rows()), strict=True):
        found = missing_cells(rows)
        holes[:, list(block.positions)] = False if found is None else found
    own = sample.codes == np.arange(len(fitted.labels))[:, None]
    share = np.where(own | ~own.any(axis=1, keepdims=True), sample.weight, 0.0)  # of all where the class has none
    return np.asarray(holes[draw_codes(share, rng, codes)])


def _heaviest(
    fitted: Fitted, blocks: Rows, X: object, n: int, known: int, log_share: float, rng: np.random.RandomState
) -> Rows:
    """Return rows of p(x | k) ∝ p(k | x) p(x), where p(k | x) is not that of the joint model p(x).

    Of candidates `X`, half from p(x) and half from the joint model's p(x | k), some are kept by their weights
    p(k | x) p(x) / q(x), each at most once (sampling-importance resampling, Rubin 1988). `log_share` is the joint
    model's log p(k) among all such rows, those with the given cells.
    """
    asked = fitted.joint_value
    wanted = np.exp(fitted.log_posterior(fitted.rows(X))[:, known])
    ratio = np.exp(asked.log_posterior(asked.rows(X))[:, known] - log_share)
    with np.errstate(divide="ignore"):
        order = np.argsort(-(np.log(wanted) - np.log1p(ratio) + rng.gumbel(size=len(wanted))), kind="stable")
    return [take_rows(block, order[:n]) for block in blocks]


def _table(asked: Fitted, blocks: Rows, container: str, kept: ByBlock | None) -> Any:
    """Return a table of new rows."""
    if container == "sparse" and not any(isinstance(rows, tuple) for rows in blocks):
        out = np.empty((len(blocks[0]), len(asked.schema)))
        for block, rows in zip(asked.blocks, blocks, strict=True):
            out[:, list(block.positions)] = rows
        return make_sparse(out)
    # an array has one type for all of its numbers
    whole = _whole_columns(asked, kept) if container in FRAMES else set()
    table = make_table(container, asked.schema.named, _columns(asked, blocks, asked.joint, whole))
    return make_sparse(np.asarray(table)) if container == "sparse" else table


def _class_number(fitted: Fitted, label: object) -> int:
    classes = fitted.statistics.classes
    same = [i for i, own in enumerate(classes) if isinstance(label, SCALARS) and own == label]
    if not same:
        raise SettingError(
            f"{setting('label', label)} is not a class of this model. Next: use one of {quoted(classes)}."
        )
    return same[0]


def _whole_columns(fitted: Fitted, kept: ByBlock | None) -> set[int]:
    """Return the positions of columns in which only whole numbers were recorded."""
    blocks = zip(fitted.blocks, kept or (), strict=False)
    return {block.positions[j] for block, own in blocks if own is not None for j in np.flatnonzero(own.whole)}


def _columns(fitted: Fitted, blocks: Rows, model: JointModel, whole: Container[int]) -> list[NewColumn]:
    """Return the columns of new rows, in the order of the model's, whole numbers as integers."""
    columns: list[NewColumn | None] = [None] * len(fitted.schema)
    for block, rows, density in zip(fitted.blocks, blocks, model.density.blocks, strict=True):
        counts = block.family.support in ("counts", "shares", "truths")
        for j, position in enumerate(block.positions):
            column = fitted.schema.columns[position]
            levels = density.column_levels(j)
            values = values_of(rows[j] if isinstance(rows, tuple) else rows[:, j], column.kind, levels)
            if values.dtype.kind == "f":
                integers = (values == np.rint(values)).all() and (np.abs(values) < EXACT).all()
                values = values.astype(np.int64) if counts or (position in whole and integers) else values
            told = None if levels is None else column.in_order(levels)
            told = None if column.kind is Kind.DATE else told
            columns[position] = NewColumn(column.name, column.kind, values, told, bool(column.order), column.form)
    return [column for column in columns if column is not None]


def read_count(value: object, name: str) -> int:
    """Return a whole number of at least 1; SettingError otherwise."""
    if not is_whole(value, 1):
        raise SettingError(f"{setting(name, value)} must be a whole number of at least 1. Next: give one.")
    return int(value)


def read_share(value: object, name: str, hint: str) -> float:
    """Return a number above 0 and below 1; SettingError otherwise."""
    if not is_number(value) or not 0.0 < float(value) < 1.0:
        raise SettingError(f"{setting(name, value)} must lie between 0 and 1. Next: {hint}.")
    return float(value)


def check_fillable(
    fitted: Fitted, rows: Rows, model: JointModel, verb: str, empty: Sequence[int], *, new: bool = False
) -> None:
    """Raise DataError naming columns with holes that no density could fill, those without a value (`empty`) among them.

    In `new` rows texts are always to be drawn, and categories may stay missing of which no level is known: a released
    model has let go of rare ones.
    """
    names = fitted.schema.names
    for block, part, density in zip(fitted.blocks, rows, model.density.blocks, strict=True):
        mask = density.missing_cells(part) | new if isinstance(density, TextDensity) else missing_cells(part)
        if mask is None or not mask.any():
            continue
        holes = np.asarray(mask.any(axis=0))
        if not (density.can_condition if verb == "condition" else density.can_sample):
            own = [names[p] for p, hole in zip(block.positions, holes, strict=True) if hole]
            raise DataError(
                f"The family {block.family.name!r} of {quoted(own)} does not {'draw' if new else 'fill'} cells. "
                f"Next: leave these columns {'out' if new else 'complete'}, or give them another family."
            )
        never = [p for p, hole in zip(block.positions, holes, strict=True) if hole and p in empty]
        if never and not (new and isinstance(part, tuple)):
            own = [names[p] for p in never]
            raise DataError(
                f"No row learned so far has a value in {quoted(own)}, so nothing is known of what belongs there. "
                f"Next: add rows that have one ({either('partial_fit', 'suffice update')}), or leave the column out."
            )


def values_of(cells: Cells, kind: Kind, levels: Sequence[Level] | None) -> Cells:
    """Return the values of cells: truth values in a column of those, levels for codes (None for −1), or numbers."""
    if levels is None:
        return cells > 0.5 if kind is Kind.BOOLEAN else np.asarray(cells, dtype=np.float64)
    found = [levels[int(code)] if code >= 0 else None for code in cells]
    if None not in found and not kind.is_label and not any(isinstance(level, str) for level in levels):
        return np.array(found, dtype=bool if kind is Kind.BOOLEAN else None)
    return np.fromiter(found, dtype=object)
