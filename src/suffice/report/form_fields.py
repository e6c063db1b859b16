"""How the form of the page asks for each column: a number in steps and within bounds, or one of its levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._arrays import np
from ..export.program import Counts, Number, Program
from ..fitted import Fitted
from ..plots._cells import in_words
from ..plots._view import View
from ..questions.recorded import recorded


def fields_of(view: View, program: Program, positions: Sequence[int]) -> list[dict[str, object]]:
    """Return the fields of these columns, in this order; `cell` is the place of the column in a row.

    Of a number: `step` and `decimals` in which it was recorded and the bounds `low` and `high` that its values keep to,
    each None where rows do not show one, and `seen`, the least and largest of the rows kept. `count` says that what is
    not a count of 0 or more cannot be taken at all.
    """
    counts: dict[int, str] = {}
    for term in program.terms:
        if isinstance(term, Counts):
            readings = [program.readings[number] for number in term.readings]
            counts |= {reading.column: term.law for reading in readings if isinstance(reading, Number)}
    told, rows = recorded_columns(view.fitted), view.rows()
    found: list[dict[str, object]] = []
    for position in positions:
        column = program.columns[position]
        name = str(column.name) if program.named else f"column {column.name}"
        own: dict[str, object] = {"name": name, "cell": position, "levels": None}
        if column.kind == "category":
            own |= {"levels": [str(level) for level in column.levels], "open": True}
        elif column.kind == "truth" or counts.get(position) == "bernoulli":
            own |= {"levels": ["false", "true"] if column.kind == "truth" else ["0", "1"], "open": False}
        else:
            ends = {name: _if_told(value) for name, value in told.get(position, {}).items()}
            own |= {"count": position in counts, "step": None, "low": None, "high": None, "decimals": -1}
            own |= ends
            seen = np.zeros(0) if rows is None else view.cells(rows, position)
            seen = seen[np.isfinite(seen)]
            own["seen"] = [float(seen.min()), float(seen.max())] if len(seen) else None
        found.append(own)
    return found


def _if_told(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def recorded_columns(fitted: Fitted) -> dict[int, dict[str, float]]:
    """Return by position how the numbers of a column were recorded: step (NaN for none), phase, decimals, low, high."""
    found, asked = dict[int, dict[str, float]](), fitted.joint_value
    for block, own in zip(asked.blocks, recorded(asked) or (), strict=False):
        if own is None:
            continue
        names = ("step", "phase", "decimals", "low", "high")
        for j, position in enumerate(block.positions):
            found[position] = {name: getattr(own, name)[j].item() for name in names}
    return found


def in_steps(value: float, own: Mapping[str, float]) -> str:
    """Return a number as its column records them: in whole steps and within bounds, with as many decimals."""
    step, decimals = own.get("step", np.nan), int(own.get("decimals", -1))
    if not np.isfinite(step) or decimals < 0 or abs(value) >= 1e15:
        return in_words(value)
    near = own["phase"] + round((value - own["phase"]) / step) * step
    near = min(max(near, own["low"]), own["high"]) + 0.0
    text = f"{near:.{decimals}f}"
    return text if len(text.lstrip("-")) <= 7 else in_words(near)
