"""The parameters of a model as the page's explorer reads them: a `Program` as JSON, and what a form needs beside it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

from .._arrays import Array, Codes, NDArray, is_sparse, np
from ..errors import SufficeError
from ..export.lower import lower
from ..export.program import Code, Counts, Dense, Number, Pairs, Program, Projected, TreeSums
from ..fitted import Fitted
from ..plots._view import View
from ..questions.information_gain import HERMITE_BELOW, HERMITE_WEIGHT, outcomes_of_nothing
from ..questions.sets import set_limits
from ..schema import Kind, Level
from ..table import read_table, recode
from .facts import by_worth, recorded_columns

MOST_COLUMNS = 100  # of a form that a person may fill in
FEW = 20  # columns asked of a model with more
MOST_CLASSES = 100
MOST_LETTERS = 4_000_000  # of parameters
SET_ALPHA = 0.1  # of rows, whose sets of classes may lack their class: the page says 90 %
DRAWN_ROWS, DRAWN_CELLS = 500, 10_000  # rows of the model that a row is compared with
SCRIPTS = (
    *("numbers.js", "terms.js", "trees.js", "answers.js", "reasons.js", "gain.js", "typed.js", "waterfall.js"),
    "form.js",
)
ALWAYS = ("table.js",)  # what pages without a form have as well
TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|NaN|Infinity|(?<!-0)\.0(?![\d.eE])')  # texts, and what is put otherwise
MARKUP = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def collect_explorer(estimator: object) -> dict[str, Any]:
    """Return what the explorer needs of a fitted model as plain values, or {"why_not": reason}.

    `program` holds the parameters, `fields` how each column is asked for, those that tell most first, and `left_out`
    how many columns are not asked: of more than 100, the twenty that tell most are, and the others are unknown in every
    row. The rows in `drawn` are drawn from the model: none is one that it was fitted on. Where the program has no joint
    density, `beside` is one of Gaussians and categories by which rows are compared instead; None where there is none
    either.
    """
    view = View(estimator)
    columns, classes = len(view.schema), len(view.classes)
    if classes > MOST_CLASSES:
        return {"why_not": f"the model has {classes} classes, and {MOST_CLASSES} are shown at most"}
    try:
        program = lower(view.fitted)
    except SufficeError as error:
        return {"why_not": str(error).removesuffix(".")}
    if any(isinstance(reading, Projected) for reading in program.readings):
        return {"why_not": "the model sees its columns through principal directions"}
    asked = by_worth(view)[: columns if columns <= MOST_COLUMNS else FEW]
    plain = _program(program)
    size = len(_dumped(plain))
    if size <= 2 * MOST_LETTERS:  # beyond, it is too much even where all numbers are as short as 1.0
        plain |= _beside_parameters(view, program, asked)
        size = len(write_json(plain))
    if size > MOST_LETTERS:
        return {"why_not": f"its parameters would take {size / 1e6:.1f} MB, above {MOST_LETTERS / 1e6:.0f} MB"}
    return {"program": plain, "fields": fields_of(view, program, asked), "left_out": columns - len(asked)}


def fields_of(view: View, program: Program, positions: Sequence[int]) -> list[dict[str, object]]:
    """Return the fields of these columns, in this order; `cell` is the place of the column in a row.

    Of a number: `step` and `decimals` in which it was recorded and the bounds `low` and `high` that its values keep to,
    each None where rows do not show one, and `seen`, the least and largest of the rows kept. `count` says that what is
    not a count of 0 or more cannot be taken at all, `date` that numbers are seconds, typed and shown as dates.
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
            ends = {name: value if np.isfinite(value) else None for name, value in told.get(position, {}).items()}
            dated = view.schema.columns[position].kind is Kind.DATE
            own |= {"count": position in counts, "step": None, "low": None, "high": None, "decimals": -1, "date": dated}
            own |= ends
            seen = np.zeros(0) if rows is None else view.cells(rows, position)
            seen = seen[np.isfinite(seen)]
            own["seen"] = [float(seen.min()), float(seen.max())] if len(seen) else None
        found.append(own)
    return found


def _beside_parameters(view: View, program: Program, asked: Sequence[int]) -> dict[str, object]:
    """Return what the page compares rows with, in which these columns are known, and what it says beside posteriors."""
    beside = _beside(view) if program.joint is None else None
    drawn = [] if program.joint is None and beside is None else _draw(view.estimator, program, asked)
    plain: dict[str, object] = {"drawn": [[_short(cell) for cell in row] for row in drawn], "beside": None}
    plain |= {"sets": _sets(view.fitted), "ahead": _ahead(view.fitted, program)}
    if beside is not None:
        pairs = zip(program.columns, beside.columns, strict=True)
        maps = [_places(mine.levels, theirs.levels) if mine.kind == "category" else None for mine, theirs in pairs]
        plain["beside"] = _program(beside) | {"levels": maps}
    return plain


def _sets(fitted: Fitted) -> dict[str, Array] | None:
    """Return the thresholds of sets of classes by number of known cells; None where nobody knows."""
    try:
        (limits,) = set_limits(fitted, SET_ALPHA, by_class=False)
    except SufficeError:
        return None
    return None if limits.is_endless else {"known": limits.known, "score": limits.score}


def _beside(view: View) -> Program | None:
    """Return the program of Gaussians and categories beside a forest; None where there is none."""
    beside: Fitted | None = getattr(view.fitted, "gaussians_beside", None)
    try:
        return None if beside is None else lower(beside)
    except SufficeError:
        return None


@cache
def script(with_form: bool = True) -> str:
    """Return the script of the page, whose one name is `suffice`; of a page without a form there is less of it."""
    folder = files(__package__) / "script"
    parts = [(folder / name).read_text(encoding="utf-8") for name in (SCRIPTS if with_form else ()) + ALWAYS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"


def _program(program: Program) -> dict[str, object]:
    """Return the parameters, each class of the program as a mapping with its name as `kind`.

    Tables of pairs are given as the counts that they are made of: a few digits in place of seventeen; trees as bytes.
    """
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
        own = {"kind": type(term).__name__} | _plain_fields(term)
        if isinstance(term, Pairs):
            del own["alone"], own["given"]
            own["counts"] = _lower_rows(term.counts)
        if isinstance(term, TreeSums):
            own = {"kind": "TreeSums"} | _packed_trees(term)
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
        "constants": program.constants,
    }


def _plain(value: object) -> object:
    """Return a part of a program as a mapping; a dense covariance as the rows of its lower triangle."""
    if isinstance(value, Dense):
        return {"kind": "Dense", "lower": _lower_rows(value.covariance)}
    if is_dataclass(value):
        return {"kind": type(value).__name__} | _plain_fields(value)
    return value


def _plain_fields(value: Any) -> dict[str, object]:
    return {own.name: _plain(getattr(value, own.name)) for own in fields(value)}


def _lower_rows(matrices: Array) -> list[list[Array]]:
    """Return the rows of the lower triangle of each matrix (g, d, d)."""
    return [[row[: j + 1] for j, row in enumerate(matrix)] for matrix in matrices]


def _packed_trees(term: TreeSums) -> dict[str, object]:
    """Return trees with their nodes as one writes them down, a node, all of its left, all of its right, in base64."""
    order: list[int] = []
    for root in term.roots.tolist():
        ahead = [root]
        while ahead:
            node = ahead.pop()
            order.append(node)
            if term.column[node] >= 0:
                ahead += [int(term.right[node]), int(term.left[node])]
    column = term.column[order]
    leaves = (np.cumsum(term.column < 0) - 1)[order][column < 0]
    return {
        "codes": term.codes,
        "column": _packed(column.astype("<i2")),
        "threshold": _packed(term.threshold[order].astype("<i2")),
        "missing_right": _packed(term.missing_right[order].astype("u1")),
        "values": _packed(term.values[leaves].astype("<f8")),
        "cover": _packed(term.cover[leaves].astype("<f8")),
        "base": term.base,
        "logs": term.logs,
    }


def _packed(numbers: NDArray[np.generic]) -> str:
    return b64encode(numbers.tobytes()).decode()


def _places(levels: Sequence[Level], known: Sequence[Level]) -> list[int]:
    """Return the number that each level of a column has among those of a code, and that of any other."""
    place = {(isinstance(level, bool), level): i for i, level in enumerate(known)}
    return [*(place.get((isinstance(level, bool), level), len(known)) for level in levels), len(known)]


def page_cells(program: Program, X: object) -> list[list[float | None]]:
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


def _draw(model: Any, program: Program, asked: Sequence[int]) -> list[list[float | None]]:
    """Return rows drawn from the joint density, always the same ones, to compare densities with.

    Cells of columns that are not asked are unknown.
    """
    rows = max(50, min(DRAWN_ROWS, DRAWN_CELLS // max(len(asked), 1)))
    try:
        X, _ = model.sample(rows, random_state=0, as_recorded=False)
    except (SufficeError, ValueError):
        return []
    known = set(asked)
    cells = page_cells(program, X.toarray() if is_sparse(X) else X)
    return [[cell if j in known else None for j, cell in enumerate(row)] for row in cells]


def _ahead(fitted: Fitted, program: Program) -> dict[str, object] | None:
    """Return what the page needs to say what an unknown cell would tell a pool; None where there is none.

    `hermite` are the nodes that stand for a number, `recorded` how the numbers of each column were recorded, and
    `by_class` what each holds in each class, where the program has no joint density.
    """
    if program.stack is None:
        return None
    kept: list[object] = [None] * len(program.columns)
    for position, own in recorded_columns(fitted).items():
        kept[position] = {name: None if value != value else value for name, value in own.items()}
    by_class: list[object] = [None] * len(program.columns)
    if program.joint is None:
        for position, found in outcomes_of_nothing(fitted):
            levels = program.columns[position].kind == "category"
            share = [[_short(cell) for cell in row] for row in found.share[0].T]
            by_class[position] = {"value": found.value[0], "share": share, "levels": levels}
    hermite = {"below": HERMITE_BELOW, "weight": HERMITE_WEIGHT}
    return {"hermite": hermite, "recorded": kept, "by_class": by_class}


def _short(cell: float | None) -> float | None:
    return None if cell is None else float(f"{cell:.7g}")


def write_json(value: object) -> str:
    """Return JSON that may stand inside a script element: no markup, and numbers to the last bit.

    JSON has no infinity; 1e999 is read as one by every browser. Whole floats are written without a point, but for the
    zero that has a sign. ValueError for NaN, which JSON has not either.
    """
    return TOKENS.sub(_as_browsers_read, _dumped(value)).translate(MARKUP)


def _dumped(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), default=lambda own: getattr(own, "tolist", partial(dict, own))())


def _as_browsers_read(token: re.Match[str]) -> str:
    text = token[0]
    if text == "NaN":
        raise ValueError("JSON has no NaN")
    return text if text[0] == '"' else {"Infinity": "1e999", ".0": ""}[text]
