"""A program as one SELECT: cells → readings → terms → scores → largest → posteriors, label and log density."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from ..._arrays import Array, by_key, np
from ...errors import ExportError, either, pip_install, quoted, setting
from ...schema import Level
from ...table import Table as Rows
from ..lower import compare, report_it, rounding
from ..program import (
    Column,
    Counts,
    LocationScale,
    Mixture,
    Normal,
    Pairs,
    PiecewiseLinear,
    Program,
    Stack,
    Table,
    Term,
    TreeSums,
)
from .cells import Cells
from .language import CONTROL, MINDS_CASE, Language, Stages, case, number, total
from .normal import Normals, entries, readings_that_miss
from .terms import (
    MOST_VALUES,
    counts,
    counts_order,
    hats,
    location_scale,
    log_factorials,
    mixture,
    pairs,
    table,
    table_order,
    tree_size,
    tree_sums,
    written_pairs,
)

MOST_ENTRIES = 60_000  # numbers of covariances per row: about five megabytes of SQL
MOST_PAIRS = 500_000  # values of two levels and a class: 399,360 took DuckDB 106 s and 6.7 GB, 28 million are no query
SIMPLE: dict[type, Callable[[Any, int, Cells], str]] = {  # terms that are one expression for each class
    Table: table,
    Counts: counts,
    LocationScale: location_scale,
    PiecewiseLinear: hats,
}
STAGED = Normal | Mixture | Pairs | TreeSums  # terms with stages of their own
LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)  # DuckDB and SQLite keep É and é apart
LONGEST_NAME = 60  # bytes: PostgreSQL cuts names at 63

TOLERANCE = 1e-9  # between the answers of a query and of its model
TABLE = "rows"

_Use = tuple[int, str, str]


def write_query(
    program: Program, dialect: str, source: Sequence[str], keep: Sequence[str] = (), exact: bool = True
) -> str:
    """Return the query of a program over the table named `source` (with its schema in front, if any).

    With `exact`, rows with missing cells are scored as the model does; without, rows that miss a cell of a full
    covariance get NULL, and the text is much shorter.
    """
    size = entries(program, exact)
    if size > MOST_ENTRIES:
        null = either('pass missing="null"', "give --missing null")
        step = f"{null}, which scores complete rows only and is far shorter, or " if exact else ""
        raise ExportError(
            f"The query would work out {size} numbers of covariances for each row, and databases cope with about "
            f"{MOST_ENTRIES}. Next: {step}fit with fewer columns, {either('shared=True', '--model shared')} or "
            f"{setting('covariance', 'diagonal')}."
        )
    language = Language(dialect)
    (trees, leaves, values), most = tree_size(program), MOST_VALUES[language.has_arrays]
    if values > most:
        raise ExportError(
            f"The query would hold the {values:,} values of {leaves:,} leaves in {trees:,} trees, and databases cope "
            f"with about {most:,}. Next: export to ONNX, which has no such limit, or score with `suffice predict`."
        )
    looked_up = sum(written_pairs(term) for term in program.terms if isinstance(term, Pairs))
    if looked_up > MOST_PAIRS:
        raise ExportError(
            f"The query would hold {looked_up:,} values of two levels of different columns, and databases cope with "
            f"about {MOST_PAIRS:,}. Next: leave out columns of names or ids and fit again, or export to ONNX."
        )
    return _Query(program, language, source, keep, exact).text()


def column_names(program: Program) -> list[str]:
    """Return the names of the model's columns in the table: x0, x1, … if it was fitted without names."""
    return [column.name if isinstance(column.name, str) else f"x{column.name}" for column in program.columns]


def answer_names(program: Program, taken: Iterable[str]) -> list[str]:
    """Return the names of label, posteriors and any log density, none of them taken, whatever case a database minds."""
    used, names = {name.casefold() for name in taken}, []
    density = [] if program.joint is None else ["log_density"]
    for i, wanted in enumerate(["label", *(f"p_{label}" for label in program.classes), *density]):
        name = wanted
        if len(name.encode()) > LONGEST_NAME or CONTROL.search(name):
            name = f"p_{i}"
        while name.casefold() in used:
            name = f"predicted_{name}" if len(name.encode()) < LONGEST_NAME - 10 else f"p_{len(used)}"
        used.add(name.casefold())
        names.append(name)
    return names


class _Query:
    """The query of one program under construction."""

    def __init__(
        self, program: Program, language: Language, source: Sequence[str], keep: Sequence[str], exact: bool
    ) -> None:
        self.program, self.language, self.exact = program, language, exact
        own = column_names(program)
        clash = sorted(set(keep) & set(own))
        if clash:
            raise ExportError(f"{setting('keep')} names {quoted(clash)}, which is kept anyway. Next: leave it out.")
        self.names = [*keep, *own]
        if language.dialect not in MINDS_CASE:
            _check_case(self.names, language.dialect)
        self.stages = Stages(language, source)
        kept = {f"u{i}": language.identifier(name) for i, name in enumerate(self.names)}
        self.stages.add(kept)
        self.cells = Cells(program, self.stages, list(kept)[len(keep) :])
        self.alive: dict[str, list[int]] = {}
        if program.joint is not None:
            self.alive["j"] = np.flatnonzero(np.isfinite(program.log_prior)).tolist()
        if program.stack is not None:
            self.alive["e"] = np.flatnonzero(np.isfinite(program.stack.offset)).tolist()
        self.zeros = program.has_zeros

    def text(self) -> str:
        self._start()
        self._terms()
        answers = self._answers()
        names = answer_names(self.program, self.names)
        kept = [(f"u{i}", name) for i, name in enumerate(self.names)]
        return self.stages.finish([*kept, *zip(answers, names, strict=True)])

    def _start(self) -> None:
        double, new = self.language.double, {}
        for c in self.alive.get("j", ()):
            new[f"j{c}"] = double(number(self.program.log_prior[c]))
            if self.zeros:
                new[f"o{c}"] = double("0.0e0")
        stack = self.program.stack
        if stack is not None:
            new |= {f"e{c}": double(number(stack.offset[c] + stack.bias[0, c])) for c in self.alive["e"]}
            new["known"] = self._known(stack)
        gaps = [f"{self.cells.reading(i)} IS NULL" for i in self._gaps()]
        if gaps:
            new["gap"] = f"CASE WHEN {' OR '.join(gaps)} THEN 1 ELSE 0 END"
        self.stages.add(new)
        if stack is not None and len(stack.weight) > 1:
            self._by_known(stack)

    def _known(self, stack: Stack) -> str:
        """Return how many cells are known, or, where their number makes no difference, whether any is."""
        known = [f"{self.cells.reading(i)} IS NOT NULL" for i in stack.known_readings]
        for i in stack.known_codes:
            levels = len(self.program.codes[i].levels)  # type: ignore[union-attr]
            known.append(f"{self.cells.code(i)} BETWEEN 0 AND {levels - 1}")
        if len(stack.weight) == 1:
            return f"CASE WHEN {' OR '.join(known)} THEN 1 ELSE 0 END"
        return total([f"CASE WHEN {one} THEN 1 ELSE 0 END" for one in known])

    def _by_known(self, stack: Stack) -> None:
        """Add how much each of the weights counts, `h0` and so on, and the scores begin with those offsets."""
        double, *rows, last = self.language.double, *stack.by_known
        cases = [" ".join(f"WHEN {n} THEN {number(row[w])}" for n, row in enumerate(rows)) for w in range(len(last))]
        self.stages.add(
            {f"h{w}": double(f"CASE known {own} ELSE {number(last[w])} END") for w, own in enumerate(cases)}
        )
        begin = {c: _blend(stack.bias[:, c]) or number(1.0) for c in self.alive["e"]}
        self.stages.add({f"e{c}": f"{number(stack.offset[c])} + {own}" for c, own in begin.items()})

    def _gaps(self) -> list[int]:
        """Return the readings without which a row shall have no answer."""
        if self.exact:
            return []
        terms = [term.parts if isinstance(term, Mixture) else term for term in self.program.terms]
        full = [readings_that_miss(self.program, term) for term in terms if isinstance(term, Normal)]
        return sorted({i for own in full for i in own})

    def _uses(self) -> list[_Use]:
        """Return (term, score it adds to, its weight) in the order in which the query works them out."""
        uses = [(i, "j", "") for i in self.program.joint or ()]
        stack = self.program.stack
        if stack is not None:
            uses += [(i, "e", _blend(w)) for i, w in zip(stack.terms, stack.weight.T, strict=True)]
        return sorted(uses, key=lambda use: isinstance(self.program.terms[use[0]], STAGED))

    def _terms(self) -> None:
        """Add every term to the scores, and forget readings and codes that nothing needs any more."""
        uses = self._uses()
        simple = [use for use in uses if not isinstance(self.program.terms[use[0]], STAGED)]
        rest = uses[len(simple) :]
        self._add_simple(simple, self._needed(rest))
        for n, (i, score, weight) in enumerate(rest):
            found = self._complex(self.program.terms[i], self.alive[score])
            new = {f"{score}{c}": f"{score}{c} + {_times(weight, found[c])}" for c in self.alive[score]}
            self.stages.add(new, drop=[*found.values(), *self._spare(self._needed(rest[n + 1 :]))])

    def _needed(self, uses: Sequence[_Use]) -> set[str]:
        return {name for i, *_ in uses for name in _inputs(self.program.terms[i], self.cells)}

    def _spare(self, needed: set[str]) -> list[str]:
        return [name for name in self.stages.columns if name[0] in "rk" and name != "known" and name not in needed]

    def _add_simple(self, uses: Sequence[_Use], needed: set[str]) -> None:
        new: dict[str, str] = {}
        for score, alive in self.alive.items():
            own = [(self.program.terms[i], weight) for i, target, weight in uses if target == score]
            for c in alive:
                parts = [_times(weight, SIMPLE[type(term)](term, c, self.cells)) for term, weight in own]
                new[f"{score}{c}"] = f"{score}{c} + {total(parts)}"
                if self.zeros and score == "j":
                    new[f"o{c}"] = f"o{c} + {total([text for term, _ in own if (text := self._order(term, c))])}"
        common = [
            log_factorials(term, self.cells)
            for term in (self.program.terms[i] for i, score, _ in uses if score == "j")
            if isinstance(term, Counts) and term.log_factorial
        ]
        if common:
            name = self.stages.name()
            self.stages.add({name: total(common)})
            new |= {f"j{c}": f"{new[f'j{c}']} - {name}" for c in self.alive["j"]}
        self.stages.add(new, drop=self._spare(needed))

    def _order(self, term: Term, c: int) -> str:
        if isinstance(term, Table) and term.order is not None:
            return table_order(term, c, self.cells)
        return counts_order(term, c, self.cells) if isinstance(term, Counts) else ""

    def _complex(self, term: Term, classes: Sequence[int]) -> dict[int, str]:
        if isinstance(term, Normal):
            return Normals(term, self.cells, self.exact).densities(classes)
        if isinstance(term, Mixture):
            return mixture(term, classes, self.cells, self.exact)
        if isinstance(term, TreeSums):
            return tree_sums(term, classes, self.cells)
        assert isinstance(term, Pairs)
        return pairs(term, classes, self.cells)

    def _answers(self) -> list[str]:
        """Return label, posteriors and any log density as expressions over the last stage."""
        self.stages.add({}, drop=self._spare(set()))
        joint = self.alive.get("j", [])
        log_density = [] if self.program.joint is None else [self._log_density(joint)]
        stack, posterior = self.program.stack, dict[int, str]()
        if stack is None:
            posterior = self._normalized({c: f"w{c}" if self.zeros else f"j{c}" for c in joint})
        else:
            pooled = self._normalized({c: f"e{c}" for c in self.alive["e"]})
            new = {}
            for c in range(len(self.program.classes)):
                least = number(stack.floor * stack.prior[c])
                share = f"{number(1.0 - stack.floor)} * {pooled.get(c, '0.0e0')} + {least}"
                posterior[c] = f"p{c}"
                new[f"p{c}"] = f"CASE WHEN known > 0 THEN {share} ELSE {number(stack.shares[c])} END"
            self.stages.add(new)
        double = self.language.double
        each = [posterior.get(c, double("0.0e0")) for c in range(len(self.program.classes))]
        answers = [self._label(posterior), *each, *log_density]
        return [f"CASE WHEN gap = 1 THEN NULL ELSE {text} END" for text in answers] if self._gaps() else answers

    def _log_density(self, joint: Sequence[int]) -> str:
        """Add the logarithm of the sum of the joint densities: NULL where it is that of zero."""
        scores = {c: f"j{c}" for c in joint}
        if self.zeros:  # scores w of the classes of least order, the others far below
            self.stages.add({"least": self.language.least([f"o{c}" for c in joint])})
            self.stages.add(
                {f"w{c}": f"CASE WHEN o{c} = least THEN j{c} ELSE NULL END" for c in joint},
                drop=[*scores.values(), *(f"o{c}" for c in joint)],
            )
            scores = {c: f"w{c}" for c in joint}
        self.stages.add({"peak": self._peak(scores.values())})
        sums = total([self._exp(name, "peak") for name in scores.values()])
        density = f"peak + {self.language.ln(sums)}"
        density = f"CASE WHEN least > 0.5e0 THEN NULL ELSE {density} END" if self.zeros else density
        gone = ["peak", *(["least"] if self.zeros else []), *(scores.values() if self.program.stack else [])]
        self.stages.add({"density": density}, drop=gone)
        return "density"

    def _peak(self, names: Iterable[str]) -> str:
        return self.language.greatest([f"COALESCE({name}, -1.0e300)" if self.zeros else name for name in names])

    def _exp(self, name: str, peak: str) -> str:
        text = self.language.exp(f"{name} - {peak}")
        return f"CASE WHEN {name} IS NULL THEN 0.0e0 ELSE {text} END" if self.zeros else text

    def _normalized(self, scores: dict[int, str]) -> dict[int, str]:
        """Add the softmax of scores and return its columns."""
        self.stages.add({"m": self._peak(scores.values())})
        exps = {f"x{c}": self._exp(name, "m") for c, name in scores.items()}
        self.stages.add(exps, drop=["m", *scores.values()])
        self.stages.add({"whole": total(list(exps))})
        out = {c: f"p{c}" for c in scores}
        self.stages.add({out[c]: f"x{c} / whole" for c in scores}, drop=["whole", *exps])
        return out

    def _label(self, posterior: dict[int, str]) -> str:
        """Return the first class of largest posterior."""
        classes, order = self.program.classes, sorted(posterior)
        alike = len({type(label) for label in classes}) == 1
        literals = {c: self.language.level(classes[c] if alike else str(classes[c])) for c in order}
        branches = []
        for c, _ in pairwise(order):
            others = [posterior[b] for b in order if b > c]
            branches.append((" AND ".join(f"{posterior[c]} >= {other}" for other in others), literals[c]))
        return case(branches, literals[order[-1]])


def _check_case(names: Sequence[str], dialect: str) -> None:
    """Raise ExportError for names that a database takes for one column: it minds no case of ASCII letters at least."""
    folded = by_key((name.translate(LOWER), name) for name in names)
    alike = [name for same in folded.values() if len(same) > 1 for name in same]
    if alike:
        raise ExportError(
            f"The columns {quoted(alike)} differ by case only, and are one column to {dialect}. Next: rename them and "
            'fit again, or write the query for a database that minds it (dialect="postgres").'
        )


def _blend(weights: Array) -> str:
    """Return the weight by how much is known of a row; "" for 1."""
    if (weights == weights[0]).all():
        return "" if weights[0] == 1.0 else number(weights[0])
    return f"({' + '.join(f'{number(own)} * h{w}' for w, own in enumerate(weights) if own)})"


def _times(weight: str, text: str) -> str:
    return f"{weight} * {text}" if weight else text


def _inputs(term: Term, cells: Cells) -> Iterator[str]:
    if isinstance(term, Mixture):
        term = term.parts
    if isinstance(term, Table | Pairs | TreeSums):
        yield from (cells.code(i) for i in ([term.code] if isinstance(term, Table) else term.codes))
    else:
        yield from (cells.reading(i) for i in ([term.reading] if isinstance(term, PiecewiseLinear) else term.readings))


# --- the query beside its model ---


def check(
    program: Program,
    table: Rows,
    order: Sequence[int],
    expected: tuple[Sequence[Level], Array, Array],
    exact: bool = True,
) -> tuple[float, float]:
    """Return the largest differences of posteriors and of relative log densities between the query and the model.

    The program's column p stands at `order[p]` of the table; `expected` are the model's labels (n,), posteriors (n, k)
    and log densities (n,). ExportError where posteriors, or log densities relative to their size, differ by more than
    1e-9 and than `rounding`, or where a label is another one though no two posteriors are as near.
    """
    labels, posteriors, densities = expected
    label, posterior, density = _run(program, table, order, exact)
    scored = np.array([exact or value is not None for value in label], dtype=bool)  # else some rows have no answer
    density = None if density is None else np.where(np.isnan(density), -np.inf, density)[scored]  # log 0 is NULL
    other = np.array([a != b for a, b in zip(label, labels, strict=True)], dtype=bool)
    known, advice = (posteriors[scored], densities[scored]), report_it("returns the query")
    return compare("query", posterior[scored], density, other[scored], known, TOLERANCE, advice, rounding(program))


def _run(program: Program, table: Rows, order: Sequence[int], exact: bool) -> tuple[list[Level], Array, Array | None]:
    """Return labels, posteriors and any log densities of the query in DuckDB, NaN where they are NULL.

    Columns go by number there, since names that differ by case are one to DuckDB, and any cell may be missing.
    """
    try:
        import duckdb
    except ImportError as error:
        raise ExportError(
            f"Checking the query needs DuckDB, which is not installed. Next: {pip_install('sql')}, or leave "
            f"{either('the check out (check=False)', 'out --check')}."
        ) from error
    columns = tuple(replace(own, name=j, blank_is_level=False) for j, own in enumerate(program.columns))
    program = replace(program, columns=columns)
    language, names, k = Language("duckdb"), column_names(program), len(program.classes)
    cells = [_cells(column, table, p) for column, p in zip(program.columns, order, strict=True)]
    with duckdb.connect(":memory:", config={"enable_external_access": "false"}) as connection:
        declared = ", ".join(
            f"{language.write(language.identifier(name))} {kind}" for name, (kind, _) in zip(names, cells, strict=True)
        )
        connection.execute("PRAGMA disable_optimizer")  # which takes longer than so few rows
        connection.execute(f"CREATE TABLE {TABLE} ({declared})")
        marks = ", ".join("?" for _ in names)
        filled = list(zip(*(values for _, values in cells), strict=True))
        connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", filled)  # noqa: S608 - our own names
        answers = connection.execute(write_query(program, "duckdb", [TABLE], exact=exact)).fetchall()
    d = len(names)
    dense = program.joint is not None
    numbers = np.array([row[d + 1 :] for row in answers], dtype=np.float64).reshape(len(answers), k + dense)
    return [row[d] for row in answers], numbers[:, :k], numbers[:, k] if dense else None


def _cells(column: Column, table: Rows, position: int) -> tuple[str, list[Level | None]]:
    """Return the type of a column in the database and its cells, None where missing."""
    if column.kind != "category":
        kind = "BOOLEAN" if column.kind == "truth" else "DOUBLE"
        values = table.numeric([position])[:, 0]
        return kind, [None if np.isnan(value) else float(value) for value in values]
    levels, codes = table.categories(position)
    known = [*levels, None]
    kinds = {type(level) for level in (*levels, *column.levels)}
    kind = "BOOLEAN" if kinds == {bool} else "VARCHAR" if str in kinds or not kinds else "DOUBLE"
    if kind == "DOUBLE" and float not in kinds:
        kind = "HUGEINT"
    return kind, [known[code] for code in codes]
