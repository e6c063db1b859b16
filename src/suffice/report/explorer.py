"""The parameters of a model as the page's explorer reads them: a `Program` as JSON, and what a form needs beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from .._arrays import Array, Codes, np
from ..densities import Bernoulli, Multinomial, Poisson
from ..densities import Mixture as MixtureDensity
from ..errors import SufficeError
from ..export.lower import lower
from ..export.program import Code, Counts, Dense, Number, Pairs, Program, Projected
from ..schema import Level
from ..table import read_table, recode

MOST_COLUMNS = 100  # of a form that a person may fill in
MOST_CLASSES = 100
MOST_LETTERS = 2_000_000  # of parameters
DRAWN_ROWS, DRAWN_CELLS = 500, 10_000  # rows of the model that a row is compared with
SCRIPTS = ("numbers.js", "terms.js", "answers.js", "reasons.js", "form.js")
MARKUP = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def collect_explorer(estimator: Any) -> dict[str, Any]:
    """Return what the explorer needs of a fitted model as plain values, or {"why_not": reason}.

    `program` holds the parameters, `fields` how each column is asked for. The rows in `drawn` are drawn from the
    model: none is one that it was fitted on.
    """
    if len(estimator._schema) > MOST_COLUMNS:
        return {
            "why_not": f"the model has {len(estimator._schema)} columns, more than a form of {MOST_COLUMNS} can ask"
        }
    if len(estimator.classes_) > MOST_CLASSES:
        return {"why_not": f"the model has {len(estimator.classes_)} classes, and {MOST_CLASSES} are shown at most"}
    try:
        program = lower(estimator)
    except SufficeError as error:
        return {"why_not": str(error)}
    if any(isinstance(reading, Projected) for reading in program.readings):
        return {"why_not": "the model sees its columns through principal directions"}
    drawn = _draw(estimator, program)
    plain = _program(estimator, program) | {"drawn": [[_short(cell) for cell in row] for row in drawn]}
    size = len(write_json(plain))
    if size > MOST_LETTERS:
        return {"why_not": f"its parameters would take {size / 1e6:.1f} MB, above {MOST_LETTERS / 1e6:.0f} MB"}
    return {"program": plain, "fields": _fields(program, plain)}


@cache
def script() -> str:
    """Return the script of the page, whose one name is `suffice`."""
    folder = files(__package__) / "script"
    parts = [(folder / name).read_text(encoding="utf-8") for name in SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"


# --- the program ------------------------------------------------------------------------------------------------------


def _program(estimator: Any, program: Program) -> dict[str, Any]:
    """Return the parameters, each class of the program as a mapping with its name as `kind`."""
    pairs = iter(_counted_pairs(estimator))
    laws = (law for law in map(_law, estimator.model_.density.blocks) if law)
    codes = []
    for code in program.codes:
        own = {"kind": type(code).__name__} | _plain_fields(code)
        if isinstance(code, Code):
            levels = program.columns[code.column].levels
            own |= {"map": _places(levels, code.levels), "size": len(code.levels)}
            del own["levels"]
        codes.append(own)
    terms = []
    for term in program.terms:
        own = _plain(term)
        if isinstance(term, Counts):
            own["law"] = next(laws)
        if isinstance(term, Pairs):
            del own["alone"], own["given"]
            own |= next(pairs)
        terms.append(own)
    return {
        "classes": [str(label) for label in program.classes],
        "columns": [str(column.name) for column in program.columns],
        "codes": codes,
        "readings": [_plain(reading) for reading in program.readings],
        "terms": terms,
        "log_prior": program.log_prior,
        "joint": program.joint,
        "stack": None if program.stack is None else _plain_fields(program.stack),
        "constants": _constants(estimator),
    }


def _plain(value: Any) -> Any:
    """Return a part of a program as a mapping; a dense covariance as the rows of its lower triangle."""
    if isinstance(value, Dense):
        return {"kind": "Dense", "lower": [[row[: j + 1] for j, row in enumerate(m)] for m in value.covariance]}
    if is_dataclass(value):
        return {"kind": type(value).__name__} | _plain_fields(value)
    return value


def _plain_fields(value: Any) -> dict[str, Any]:
    return {own.name: _plain(getattr(value, own.name)) for own in fields(value)}


def _places(levels: Sequence[Level], known: Sequence[Level]) -> list[int]:
    """Return the number that each level of a column has among those of a code, and that of any other."""
    place = {(isinstance(level, bool), level): i for i, level in enumerate(known)}
    return [*(place.get((isinstance(level, bool), level), len(known)) for level in levels), len(known)]


def _law(block: Any) -> str | None:
    kinds = ((Poisson, "poisson"), (Bernoulli, "bernoulli"), (Multinomial, "multinomial"))
    return next((name for kind, name in kinds if isinstance(block, kind)), None)


def _counted_pairs(estimator: Any) -> Iterator[dict[str, Any]]:
    """Yield the counts that one-dependence members make their tables of: a few digits in place of seventeen."""
    automatic = getattr(estimator, "_automatic", None)
    for member in () if automatic is None else automatic.members:
        model: Any = getattr(member.member, "model", None)
        if hasattr(model, "pairs"):
            lower_rows = [[row[: u + 1] for u, row in enumerate(own)] for own in model.pairs]
            yield {"counts": lower_rows, "strength": model.strength}


def _constants(estimator: Any) -> dict[str, Any]:
    """Return, by position, the value in each class of the columns that never varied."""
    blocks = getattr(estimator, "_joint_blocks", None)
    blocks = estimator._blocks if blocks is None else [block for block, _ in blocks]
    found = {}
    for block, density in zip(blocks, estimator.model_.density.blocks, strict=True):
        known: Any = density.components if isinstance(density, MixtureDensity) else density
        if hasattr(known, "used"):
            center = known.means if hasattr(known, "means") else known.location
            rows = np.searchsorted(density.owner, range(density.k)) if known is not density else slice(None)
            for j in set(range(len(block.positions))) - set(known.used):
                found[str(block.positions[j])] = center[rows, j]
    return found


# --- rows and columns -------------------------------------------------------------------------------------------------


def page_cells(program: Program, X: Any) -> list[list[float | None]]:
    """Return the cells of a table as the page holds them: numbers, numbers of levels (the last: not known), or None."""
    table = read_table(X)
    columns: list[Array] = []
    for position, column in enumerate(program.columns):
        if column.kind == "category":
            levels, codes = table.categories(position)
            known: Codes = recode(levels, codes, column.levels)
            columns.append(np.where(known < 0, np.nan, known.astype(np.float64)))
        else:
            columns.append(table.numeric([position])[:, 0].astype(np.float64))
    return [[None if cell != cell else float(cell) for cell in row] for row in zip(*columns, strict=True)]


def _draw(estimator: Any, program: Program) -> list[list[float | None]]:
    """Return rows drawn from the joint density, always the same ones."""
    rows = max(50, min(DRAWN_ROWS, DRAWN_CELLS // max(len(program.columns), 1)))
    try:
        X, _ = estimator.sample(rows, random_state=0)
    except (SufficeError, ValueError):
        return []
    return page_cells(program, X.toarray() if hasattr(X, "toarray") else X)


def _short(cell: float | None) -> float | None:
    return None if cell is None else float(f"{cell:.7g}")


def _fields(program: Program, plain: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return how each column is asked for: a number, or one of its levels."""
    counts: dict[int, str] = {}
    for term, own in zip(program.terms, plain["terms"], strict=True):
        for number in term.readings if isinstance(term, Counts) else ():
            reading = program.readings[number]
            if isinstance(reading, Number):
                counts[reading.column] = own["law"]
    found: list[dict[str, Any]] = []
    for position, column in enumerate(program.columns):
        name = str(column.name) if program.named else f"column {column.name}"
        if column.kind == "category":
            found.append({"name": name, "levels": [str(level) for level in column.levels], "open": True})
        elif column.kind == "truth" or counts.get(position) == "bernoulli":
            truths = ["false", "true"] if column.kind == "truth" else ["0", "1"]
            found.append({"name": name, "levels": truths, "open": False})
        else:
            found.append({"name": name, "levels": None, "count": position in counts})
    return found


# --- JSON -------------------------------------------------------------------------------------------------------------


def write_json(value: Any) -> str:
    """Return JSON that may stand inside a script element: no markup, and numbers to the last bit.

    JSON has no infinity; 1e999 is read as one by every browser.
    """
    return "".join(_pieces(value))


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        for i, (key, own) in enumerate(value.items()):
            yield f"{',' if i else '{'}{_text(str(key))}:"
            yield from _pieces(own)
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        yield "["
        for i, own in enumerate(value):
            yield "," if i else ""
            yield from _pieces(own)
        yield "]"
    else:
        yield _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | np.bool_):
        return "null" if value is None else str(bool(value)).lower()
    if isinstance(value, float | np.floating):
        value = float(value)
        if np.isinf(value):
            return "1e999" if value > 0 else "-1e999"
        whole = value == int(value) and abs(value) < 1e15 and (value != 0 or not np.signbit(value))
        return str(int(value)) if whole else repr(value)
    return str(int(value))


def _text(value: str) -> str:
    return json.dumps(value).translate(MARKUP)
