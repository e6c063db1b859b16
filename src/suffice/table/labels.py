"""Read labels, row weights and tables, refusing what cannot be used before anything is learned."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
from sklearn.utils import column_or_1d

from .._arrays import Array, Codes, NDArray, np
from .._arrays_api import fetch, is_device_array
from ..errors import DataError, SchemaError, either, quoted
from ..schema import Level, sort_levels
from .cells import Cells, factorize, fill_masked, holds_value, integers_of, objects_of
from .dates import factorize_dates, moment, read_seconds

WITHOUT_LABEL = {
    "error": ". Next: drop those rows, or fill in their labels",
    "em": ". Next: give some labels",
    "forget": ", and such rows cannot be forgotten: how they count in each class depends on all rows. Next: drop them "
    "here, or fit again without them",
}


def read_labels(y: object, rows: int, who: str, *, missing: str = "error") -> tuple[tuple[Level, ...], Codes]:
    """Return the sorted class labels in `y` and a class number per row (n,), −1 where the label is missing.

    DataError if any label is missing ("error"; "forget" for rows to be forgotten), or, with missing="em", if all are;
    with missing="any" no label need be there.
    """
    if y is None:
        missing_y = either(f"{who} requires y to be passed, but the target y is None", "There are no labels")
        raise DataError(f"{missing_y}. Next: give one label per row.")
    values = _one_each(fetch(y) if is_device_array(y) else label_values(y), rows, "label")
    if values.dtype.kind in "mM":
        raise SchemaError.temporal("y", values.dtype)
    levels, codes = factorize(values, "y")
    absent = np.flatnonzero(codes < 0)
    if len(absent) and missing != "any" and (missing != "em" or not levels):
        raise DataError(
            f"{either('y has', 'There is')} no label in {len(absent)} of {rows} rows (the first is row {absent[0]})"
            f"{WITHOUT_LABEL[missing]}"
            f"{either('; fit, given all rows at once, can use them as they are', '') if missing == 'error' else ''}."
        )
    odd = values[(codes >= 0) & (values != np.floor(values))] if values.dtype.kind == "f" else values[:0]
    if len(odd):  # measurements, refused in the words of scikit-learn
        raise DataError(
            f"{either('Unknown label type: continuous. y holds', 'The labels hold')} {odd[0]}, and labels given as "
            "floats are whole numbers. Next: "
            f"{either('cut y into classes, or give them as text', 'cut them into classes, or give --labels text')}."
        )
    check_label_kinds((), levels)
    return levels, codes


def label_values(y: Any, dates: bool = False) -> Cells:
    """Return labels (a list, array, or pandas, polars or pyarrow series) as a one-dimensional array; `dates` may be."""
    if isinstance(y, np.ndarray):
        return fill_masked(y)
    try:
        series = nw.from_native(y, series_only=True)
    except TypeError:
        return _labels_array(y)
    if series.dtype.is_temporal() and not dates:
        raise SchemaError.temporal("y", series.dtype)
    if series.dtype.is_integer() and not series.is_null().any():
        return integers_of(series)
    if series.dtype.is_float():
        return np.asarray(series.to_numpy())
    return objects_of(series)


def _labels_array(y: Any) -> Cells:
    if hasattr(y, "__array__") or not isinstance(y, Iterable) or isinstance(y, dict | set | frozenset):
        return np.asarray(y)
    items = list(y)
    values = np.asarray(items) if all(np.ndim(item) == 0 for item in items) else None
    if values is None:
        return np.array(items, dtype=object if len(set(map(np.shape, items))) > 1 else None)
    if values.dtype.kind in "fiub" and items:
        return values
    if values.dtype.kind in "US" and all(isinstance(item, str) for item in items):
        return values
    return np.fromiter(items, dtype=object, count=len(items))


def _one_each(values: Cells, rows: int, what: str) -> Cells:
    if values.shape[1:] == (1,):
        values = column_or_1d(values, warn=True)
    if values.ndim != 1:
        told = f"{what.capitalize()}s should be a 1d array, and have shape {values.shape}"
    elif len(values) != rows:  # in the words of scikit-learn
        told = f"There are {rows} rows and {len(values)} {what}s: inconsistent numbers of samples"
    else:
        return values
    raise DataError(f"{told}. Next: give one {what} per row.")


def label_name(y: object) -> str | None:
    """Return what labels are called, None where they have no name that can be written down."""
    name = getattr(y, "name", None)
    return name.encode("utf-8", "replace").decode() if isinstance(name, str) and name.strip() else None


def label_array(labels: Sequence[Level], objects: bool) -> NDArray[np.generic]:
    """Return labels as an array (k,) of their kind; of objects if told, as they came."""
    if objects:
        return np.array(labels, dtype=object)
    found: NDArray[np.generic] = np.array(labels)
    if found.dtype.kind in "fO" and all(type(label) is int for label in labels):
        # NumPy makes floats, or objects, of integers that no signed type holds
        fits = min(labels) >= 0 and max(labels) < 2**64  # type: ignore[operator]
        return np.array(labels, dtype=np.uint64 if fits else object)
    return found


def check_label_kinds(known: Sequence[Level], labels: Sequence[Level]) -> None:
    """Raise DataError if labels are text in one place and numbers in another."""
    if len({isinstance(level, str) for level in (*known, *labels)}) > 1:
        both = quoted(sort_levels([*known, *labels]))
        who = either("y mixes", "The labels mix")
        raise DataError(f"{who} text and numbers: {both}. Next: make every label text, or every one a number.")


LEAST_WEIGHT = 1e-50  # of a row that counts at all
MOST_WEIGHT = 1e50  # of all rows together: products of four such weights and of squares of cells stay finite


def _weight_of(row: int) -> str:
    return either(f"sample_weight[{row}]", f"The weight of row {row + 1}")


def read_weights(weight: object, rows: int) -> Array | None:
    """Return row weights (n,) in float64, or None for ones; k means k copies of the row.

    DataError, with the number, unless each is 0 or at least `LEAST_WEIGHT`, and all together are at most `MOST_WEIGHT`.
    """
    if weight is None:
        return None
    given = fill_masked(np.asanyarray(fetch(weight) if is_device_array(weight) else weight))
    try:
        if given.dtype.kind in "cmM":  # which NumPy would turn into numbers
            raise TypeError
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        who = either("sample_weight", "The weights")
        raise DataError(f"{who} must be numbers: they count copies of a row. Next: give one per row.") from None
    if values.ndim == 0:
        values = np.full(rows, float(values))
    if values.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar, got {values.ndim}D. Next: give one per row.")
    if len(values) != rows:
        raise DataError(
            either(
                f"sample_weight has shape ({len(values)},), expected ({rows},). ",
                f"There are {rows} rows and {len(values)} weights. ",
            )
            + "Next: give one weight per row."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        bad = int(np.flatnonzero(~np.isfinite(values) | (values < 0))[0])
        raise DataError(
            f"{_weight_of(bad)} is {values[bad]}; weights count copies of a row, so they are finite and at least 0. "
            "Next: correct them."
        )
    if not values.any():
        raise DataError(
            f"Every {either('sample_weight', 'weight')} is zero, so there are no rows to learn from. Next: give a "
            "positive weight."
        )
    odd = np.flatnonzero(((values < LEAST_WEIGHT) & (values > 0)) | (values > MOST_WEIGHT))
    if len(odd):
        value = float(values[odd[0]])
        size, limit = ("small", f"at least {LEAST_WEIGHT:g}") if value < 1 else ("large", f"at most {MOST_WEIGHT:g}")
        raise DataError(
            f"{_weight_of(int(odd[0]))} is {value!r}, which is too {size} to compute with: a weight is 0 or {limit}. "
            "Next: multiply all weights by one number; only their proportions matter to most answers."
        )
    check_total(values)
    return values


def read_groups(groups: object, rows: int) -> tuple[Sequence[Level], Codes] | None:
    """Return the different groups, and the number of that of each row (n,), −1 where it is missing; None for none."""
    if groups is None:
        return None
    values = _one_each(label_values(groups, dates=True), rows, "group")
    first = None if values.dtype.kind != "O" else next(filter(holds_value, values.tolist()), None)
    if values.dtype.kind == "M" or isinstance(first, dt.date):
        return factorize_dates(read_seconds(values, "groups"))
    return factorize(values, "groups")


def read_times(time: object, rows: int) -> NDArray[Any]:
    """Return when rows were seen (n,): numbers, moments in microseconds (of UTC where zones are given) or text.

    Text is read as numbers or ISO dates where it all is, and else sorted as it stands. DataError where a time is
    missing, times are of several kinds, or text looks like dates that do not sort as text.
    """
    given: Any = time
    listed = next((getattr(given, name) for name in ("to_pylist", "to_list") if hasattr(given, name)), None)
    cells: list[Any] = list(given) if listed is None else listed()
    if len(cells) != rows:
        raise DataError(f"There are {rows} rows and {len(cells)} times. Next: give one time per row.")
    missing = [row for row, cell in enumerate(cells) if not holds_value(cell)]
    if missing:
        first = missing[0] if either("Python", "") else missing[0] + 1
        have = "has" if len(missing) == 1 else "have"
        raise DataError(
            f"{len(missing)} of {rows} rows {have} no time (the first is row {first}). "
            "Next: leave these rows out, or fill in their times."
        )
    if all(isinstance(cell, str) for cell in cells):
        return _times_of_text(cells)
    dates = all(isinstance(cell, dt.date) for cell in cells)
    found = np.array([moment(cell) for cell in cells], dtype="datetime64[us]") if dates else np.array(cells)
    if found.ndim != 1 or found.dtype.kind not in "biufM":
        raise DataError(
            f"Times must be numbers, dates, or text that can be sorted, all of one kind, and one is {cells[0]!r}. "
            "Next: give a column of one kind."
        )
    return found


def _times_of_text(texts: list[str]) -> NDArray[Any]:
    try:
        return np.array(texts, dtype=np.float64)
    except ValueError:
        pass
    try:
        return np.array([moment(dt.datetime.fromisoformat(text)) for text in texts], dtype="datetime64[us]")
    except ValueError:
        odd = next((text for text in texts if re.match(r"\d+[-./ ]\w+[-./ ]\d+", text)), None)
    if odd is not None:
        raise DataError(
            f"Times such as {odd!r} are dates that do not sort as text. Next: give dates such as 2026-04-03"
            f"{either(', or use pandas.to_datetime', ', or say what comes first by --dates')}."
        )
    return np.array(texts)


def check_total(weights: Array) -> None:
    """Raise DataError where weights add up to more than can be computed with."""
    with np.errstate(over="ignore"):
        total = float(np.sum(weights))
    if not total <= MOST_WEIGHT:
        raise DataError(
            f"The weights of all rows add up to {total:g}, which is too large to compute with: they may be "
            f"{MOST_WEIGHT:g} in all. Next: multiply all weights by one number; only their proportions matter to most "
            "answers."
        )
