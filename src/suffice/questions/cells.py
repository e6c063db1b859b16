"""Values of cells, and which cells a model can fill."""

from __future__ import annotations

from collections.abc import Sequence

from .._arrays import is_whole, np
from ..densities import Rows
from ..densities.product import missing_cells
from ..errors import DataError, SettingError, quoted
from ..fitted import Fitted
from ..joint import JointModel
from ..schema import Kind, Level
from ..table.types import Cells


def read_count(value: object, name: str) -> int:
    """Return a whole number of at least 1; SettingError otherwise."""
    if not is_whole(value, 1):
        raise SettingError(f"{name}={value!r} must be a whole number of at least 1. Next: give one.")
    return int(value)


def check_fillable(
    fitted: Fitted, rows: Rows, model: JointModel, verb: str, empty: Sequence[int], *, new: bool = False
) -> None:
    """Raise DataError naming columns with holes that no density could fill, those without a value (`empty`) among them.

    In `new` rows categories may stay missing of which no level is known: a released model has let go of rare ones.
    """
    names = fitted.schema.names
    for block, part, density in zip(fitted.blocks, rows, model.density.blocks, strict=True):
        mask = missing_cells(part)
        if mask is None or not mask.any():
            continue
        holes = np.asarray(mask.any(axis=0))
        if not (density.can_condition if verb == "condition" else density.can_sample):
            own = [names[p] for p, hole in zip(block.positions, holes, strict=True) if hole]
            raise DataError(
                f"The family {block.family.name!r} of {quoted(own)} does not fill missing cells. "
                "Next: leave these columns complete, or give them another family."
            )
        never = [p for p, hole in zip(block.positions, holes, strict=True) if hole and p in empty]
        if never and not (new and isinstance(part, tuple)):
            own = [names[p] for p in never]
            raise DataError(
                f"No row learned so far has a value in {quoted(own)}, so nothing is known of what belongs there. "
                "Next: add rows that have one (partial_fit), or leave the column out."
            )


def values_of(cells: Cells, kind: Kind, levels: Sequence[Level] | None) -> Cells:
    """Return the values of cells: truth values in a column of those, levels for codes (None for −1), or numbers."""
    if levels is None:
        return cells > 0.5 if kind is Kind.BOOLEAN else np.asarray(cells, dtype=np.float64)
    found = [levels[int(code)] if code >= 0 else None for code in cells]
    if None not in found and not kind.is_label and not any(isinstance(level, str) for level in levels):
        return np.array(found, dtype=bool if kind is Kind.BOOLEAN else None)
    values = np.empty(len(found), dtype=object)
    values[:] = found
    return values
