"""Remarks on how a CSV file was read where it had to be guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from shlex import quote

import pyarrow as pa

from .._dialect import Dialect
from ..errors import quoted
from .amounts import PERCENT
from .cells import ColumnSniffer, convert
from .csv_marks import Marks
from .csv_text import Form, remark
from .spaces import Spaces

WORDS = {".": "decimal points", ",": "decimal commas"}


def of_numbers(
    paths: Sequence[Path],
    forms: Sequence[Form],
    seen: Sequence[dict[str, ColumnSniffer]],
    marks: Marks,
    numbers: Iterable[str],
    learned: Dialect,
) -> None:
    """Say which commas, blanks and apostrophes within numbers were read as what, and which numbers are in doubt."""
    found: dict[str, dict[str, list[Path]]] = {}
    counted = set(numbers)
    names = [name for name in forms[0].names if name in counted]
    for path, file, own in zip(paths, seen, marks.found, strict=True):
        for name in names:
            cells = file[name]
            if name in marks.unsure:
                continue
            mark = own[name]
            if cells.commaed:
                role = "decimal points" if mark == "," else "thousands separators"
                _note(found, f"commas in {{}} were read as {role}", name, path)
            elif cells.pointed and mark == ",":
                _note(found, "points in {} were read as thousands separators", name, path)
            if cells.grouped:
                _note(found, "blanks or apostrophes in {} were read as thousands separators", name, path)
            before = learned.mark(name)
            if before and (cells.point or cells.comma) and mark != before:
                what = f"{{}} {{have}} {WORDS[mark]}, and the table that the model learned from {WORDS[before]}"
                _note(found, what, name, path)
    for what, where in found.items():
        files = list(dict.fromkeys(path for own in where.values() for path in own))
        have = "has" if len(where) == 1 else "have"
        remark(f"{_files(files)}: {what.replace('{have}', have).format(quoted(list(where)))}.")
    _of_doubts(paths, marks, names)


def _of_doubts(paths: Sequence[Path], marks: Marks, names: Sequence[str]) -> None:
    """Say which numbers could be others, by what mark they were read, and how to write them."""
    for name in names:
        if name not in marks.unsure or name in marks.mixed:
            continue
        cell, mark = marks.unsure[name], marks.found[0][name]
        inner = "," if "," in cell else "."
        thousands, decimals = cell.replace(inner, ""), cell.replace(",", ".")
        got, other = (decimals, thousands) if inner == mark else (thousands, decimals)
        sign = "commas" if inner == "," else "points"
        role = "decimal points" if inner == mark else "thousands separators"
        remark(
            f"{_files(paths)}: {sign} in {name!r} were read as {role}: {cell!r} is {got}, not {other}, and no number "
            "says otherwise. If that is wrong, write them without marks between thousands."
        )


def of_units(
    paths: Sequence[Path],
    total: dict[str, ColumnSniffer],
    numbers: Iterable[str],
    mark: Callable[[str], str],
    learned: Dialect | None,
) -> None:
    """Say which amounts, percentages and parentheses were read as what, and which columns hold several units."""
    for name, seen in total.items():
        if seen.settled or seen.has_dates or len(seen.odd) > 1 or (seen.unit == "" and not seen.negated):
            continue
        if seen.unit is None:
            some = list(seen.units.values())[:3]
            remark(f"{_files(paths)}: {name!r} holds {quoted(some)}, numbers of several units, and is read as text.")
            continue
        if name not in numbers or (learned is not None and learned.units.get(name, "") == seen.unit):
            continue
        cell = seen.units[seen.unit] if seen.unit else seen.negated
        cells = pa.array(list(dict.fromkeys([cell, seen.negated or cell])), pa.string())
        read = convert(cells, pa.float64(), mark(name), pa.array([], pa.string())).to_pylist()
        told = " and ".join(f"{text!r} as {value:.15g}" for text, value in zip(cells.to_pylist(), read, strict=True))
        what = {"": "numbers", PERCENT: "percentages, as shares"}.get(seen.unit, f"amounts in {seen.unit}")
        remark(f"{_files(paths)}: {name!r} was read as {what}: {told}.")


def of_spaces(paths: Sequence[Path], spaces: Spaces, may_keep: bool) -> None:
    """Say where spaces around texts were taken away, and, if they may be kept, how."""
    if str(spaces):
        remark(f"{_files(paths)}: {spaces}.{' To keep them: --keep-spaces' if may_keep else ''}")


def of_missing(paths: Sequence[Path], seen: Sequence[dict[str, ColumnSniffer]], odd: dict[str, str]) -> None:
    """Say which text among numbers was read as a missing cell."""
    for name, text in odd.items():
        files = [(path, file[name].odd[text]) for path, file in zip(paths, seen, strict=True) if text in file[name].odd]
        times = sum(count for _, count in files)
        where = _files([path for path, _ in files])
        cells = f"{times:,} cell{'' if times == 1 else 's'}"
        remark(f"{where}: {text!r} ({cells}) in column {name!r}, which holds numbers, was read as missing.")


def of_labels(paths: Sequence[Path], target: str, found: Counter[str]) -> None:
    """Say which classes look like a missing label."""
    if not found:
        return
    rows = ", ".join(f"{text!r} ({times:,} row{'' if times == 1 else 's'})" for text, times in sorted(found.items()))
    flags = " ".join(f"--missing-text {quote(text)}" for text in sorted(found))
    remark(
        f"{_files(paths)}: {rows} in {target!r} {'is' if len(found) == 1 else 'are'} read as classes like any other. "
        f"If no label is meant: {flags}"
    )


def _note(found: dict[str, dict[str, list[Path]]], what: str, name: str, path: Path) -> None:
    found.setdefault(what, {}).setdefault(name, []).append(path)


def _files(paths: Sequence[Path]) -> str:
    others = len(paths) - 1
    return paths[0].name if not others else f"{paths[0].name} and {others:,} other file{'' if others == 1 else 's'}"
