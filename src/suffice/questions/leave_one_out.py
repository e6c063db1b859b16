"""What the model says of each row it has learned, had it not seen that row."""

from __future__ import annotations

from .._arrays import Array, Codes, np
from ..densities import Rows
from ..errors import DataError, quoted
from ..fitted import Fitted
from ..stats.rows import take_rows
from ..stats.units import group_keys, group_numbers as numbered
from ..table.labels import read_groups, read_labels, read_weights


def leave_one_out(fitted: Fitted, X: object, y: object, sample_weight: object, groups: object = None) -> Array:
    """Return leave-one-out log posteriors (n, k); rows of weight 0 were not learned, and are judged as new ones."""
    fitted.check_leaving()
    rows, n = fitted.encoded(X)
    weight = read_weights(sample_weight, n)
    codes = known_codes(fitted, y, n, weight)
    group = group_numbers(fitted, rows, codes, groups)
    weight = with_copies(fitted, rows, codes, weight)
    if weight is None or weight.all():
        return _left_out(fitted, rows, codes, weight, group)
    learned, absent = np.flatnonzero(weight), np.flatnonzero(weight == 0)
    some = _left_out(fitted, taken(rows, learned), codes[learned], weight[learned], _some(group, learned))
    found = np.empty((n, some.shape[1]))
    found[learned], found[absent] = some, fitted.log_posterior(fitted.recoded(taken(rows, absent)))
    return found


def known_codes(fitted: Fitted, y: object, rows: int, weight: Array | None = None, missing: str = "error") -> Codes:
    """Return the class number of each label, DataError for one the model does not know in a row of any weight.

    A label that is `missing` is an error, too, or −1 for "any".
    """
    labels, codes = read_labels(y, rows, fitted.who, missing=missing)
    known = {label: c for c, label in enumerate(fitted.statistics.classes)}
    there = set(codes.tolist() if weight is None else codes[weight > 0].tolist())
    unknown = [label for c, label in enumerate(labels) if label not in known and c in there]
    if unknown:
        raise DataError(
            f"y holds {quoted(unknown)}, which this model does not know; its classes are {quoted(list(known))}. "
            "Next: pass rows the model has learned, with their labels."
        )
    return np.array([*(known.get(label, -1) for label in labels), -1], dtype=np.int64)[codes]


def _left_out(fitted: Fitted, rows: Rows, codes: Codes, weight: Array | None, group: Codes | None) -> Array:
    if group is None:
        return fitted.left_out(rows, codes, weight)
    return fitted.left_out_groups(rows, codes, weight, group)


def _some(group: Codes | None, index: Codes) -> Codes | None:
    return None if group is None else group[index]


def group_numbers(fitted: Fitted, rows: Rows, codes: Codes, groups: object) -> Codes | None:
    """Return the number (n,) of the group of each learned row, as given, or as it was learned; None without groups."""
    if groups is not None:
        keys = group_keys(read_groups(groups, len(codes)), fitted.schema.names)
        assert keys is not None
    elif fitted.statistics.sample is None or fitted.statistics.sample.group is None:
        return None
    else:
        sample = fitted.statistics.sample
        place = sample.locate(rows[: len(sample.rows)], codes, fitted.statistics.classes)
        units = sample.units.group
        assert units is not None
        keys = np.where(place >= 0, units[place], np.uint64(0))
    return numbered(keys)


def with_copies(fitted: Fitted, rows: Rows, codes: Codes, weight: Array | None) -> Array | None:
    """Return the weight (n,) that leaves with each row: its own, or that of all of its copies; see `stats.copies`."""
    if not fitted.copies_leave_together:
        return weight
    sample = fitted.reservoir
    place = sample.locate(rows[: len(sample.rows)], codes, fitted.statistics.classes)
    own = np.ones(len(codes)) if weight is None else weight
    return np.where((place >= 0) & (own > 0), sample.weight[place], own)


def taken(rows: Rows, index: Codes) -> Rows:
    """Return some of the rows, by block."""
    return [take_rows(part, index) for part in rows]
