"""The import table, read from the source: what each unit may import, of ours and of others.

Then what holds of single files: no circle among them, no import inside a function without a reason, few bases.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

PACKAGE = "suffice"
SOURCE = Path(__file__).resolve().parents[1] / "src" / PACKAGE

# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────
# A unit is a module or sub-package directly under the package. Beside each stands what it may import of ours; modules
# inside one unit may import each other. Rows count upwards, and imports point down, or to the left within a row. A set
# ROW_n holds all units up to row n.

ROW_0 = {"errors", "_arrays", "_arrays_api", "_derived", "_dialect", "_files", "_foreign"}
ROW_0 |= {"progress", "kernels"}
ROW_1 = ROW_0 | {"schema", "notes", "stats", "table"}
ROW_5 = ROW_1 | {"densities", "em", "estimate", "joint", "attribution", "losses", "conformal"}
ROW_5 |= {"released", "leave_one_out", "forest"}
ROW_7 = ROW_5 | {"vocabulary", "fitted", "disclosure", "export", "automatic", "files", "engines"}
ROW_9 = ROW_7 | {"learning", "questions", "plots", "report", "datasets"}
ROW_10 = ROW_9 | {"estimators"}

MAY_IMPORT: dict[str, set[str]] = {
    # row 0
    "errors": set(),
    "_arrays": {"errors"},
    "_derived": set(),
    "_dialect": set(),
    "_foreign": set(),
    "progress": set(),
    "_files": {"errors", "progress"},
    "kernels": {"errors", "_arrays"},
    "_arrays_api": {"errors", "_arrays"},
    # row 1
    "schema": ROW_0,
    "notes": {"schema"} | ROW_0,
    "stats": {"schema"} | ROW_0,
    "table": {"schema"} | ROW_0,
    # row 2: a density has not seen data, so never `stats`
    "densities": {"schema"} | ROW_0,
    # row 3: statistics with missing cells or unknown components, completed
    "em": {"stats", "densities", "schema", "notes"} | ROW_0,
    "estimate": ROW_1 | {"densities", "em"},  # families say how their columns are read
    # row 4
    "joint": {"densities", "schema"} | ROW_0,
    "forest": {"densities"} | ROW_1,  # frozen trees, the sums of their leaves, and what these give
    # row 5: what a joint model answers and values of it know without a question being asked, and rows taken out of it
    "attribution": {"joint", "densities", "schema"} | ROW_0,
    "losses": ROW_0,
    "conformal": ROW_0,
    "released": {"notes", "conformal"} | ROW_0,
    "leave_one_out": ROW_5 - {"released", "leave_one_out"},
    # row 6: what was learned, as one value
    "vocabulary": ROW_5,
    "fitted": ROW_5 | {"vocabulary"},
    # what leaves the house: statistics of which none is of few rows
    "disclosure": ROW_5,
    # row 7: an engine knows no distribution
    "engines": {"stats", "schema", "table"} | ROW_0,
    "export": {"fitted", "densities", "joint", "forest", "schema", "table"} | ROW_0,  # of densities, not of rows
    "automatic": ROW_5 | {"fitted", "disclosure", "export"},
    "files": ROW_5 | {"fitted", "automatic"},
    # row 8: verbs as functions of what was learned
    "learning": ROW_7,
    "questions": (ROW_7 - {"automatic", "files"}) | {"learning"},  # no kind of model by name
    "plots": ROW_5 | {"fitted", "questions"},
    # example tables: they sit beside everything and know only how to read a table
    "datasets": {"schema", "table"} | ROW_0,
    # the page is made of pictures and of what any fitted model answers; it knows no estimator by name
    "report": ROW_5 | {"vocabulary", "fitted", "plots", "export", "questions"},
    # row 9
    "estimators": ROW_9,
    # scikit-learn's names for what the estimators do
    "drop_in": ROW_10,
    # row 10
    "testing": ROW_10,
    "__init__": ROW_10 | {"testing", "drop_in"},
    "cli": ROW_10 | {"__init__", "drop_in"},
    "__main__": ROW_10 | {"cli", "__init__"},
}

# Packages that only the named files may import (a name ending in "/" is a folder).
OWNERS: dict[str, set[str]] = {
    # the door to arrays
    "numpy": {"_arrays.py"},
    "scipy": {"_arrays.py"},
    "threadpoolctl": {"_arrays.py"},
    "filelock": {"_files.py"},
    "torch": set(),  # met as any other library of the array API standard
    "cupy": set(),
    "array_api_compat": {"_arrays_api.py"},
    "array_api_extra": set(),
    "array_api_strict": set(),
    # the door to data frames
    "narwhals": {"table/"},
    # the estimator contract: base classes, checks, warnings, and what it calls a random state
    "sklearn": {
        *("estimators/_state.py", "estimators/base.py", "estimators/discriminant.py", "learning/fit.py"),
        *("questions/", "table/labels.py"),
        "table/__init__.py",
        *("testing.py", "cli/compare.py", "cli/models.py", "plots/regions.py"),
    },
    # optional packages
    "pyarrow": {"cli/", "engines/"},
    "cyclopts": {"cli/"},
    "rich": {"cli/"},
    "matplotlib": {"plots/"},
    "jinja2": {"report/"},
    "dask": set(),  # the users' own collections, as are relations of DuckDB
    "distributed": {"engines/dask.py"},
    "pyspark": {"engines/spark.py"},
    "duckdb": {"export/sql/query.py"},
    "sqlglot": {"export/sql/"},
    "onnx": {"export/onnx/"},
    "onnxruntime": {"export/onnx/file.py"},
    "python_calamine": {"engines/workbooks.py"},
    # data frames come to us, and `table` meets them all the same way
    "pandas": set(),
    "polars": set(),
}

# Packages that need not be there: they, and files of ours that import them, may be imported inside functions.
OPTIONAL = {
    *("array_api_compat", "array_api_extra", "cupy", "torch", "cyclopts", "rich", "dask", "distributed", "pyspark"),
    *("duckdb", "jinja2", "matplotlib", "onnx", "onnxruntime", "pandas", "polars", "pyarrow", "sqlglot"),
    "python_calamine",
}

# What else is imported inside functions, and why: a file or folder of ours, and the packages that this keeps from being
# loaded before they are needed, whether they are imported themselves or by a file of ours that is.
LATE: dict[str, tuple[set[str], str]] = {
    "cli/": ({"numpy", "scipy", "sklearn", "narwhals"}, "`suffice --help` answers before NumPy would be loaded"),
    "_files.py": ({"filelock"}, "it takes longer to import than all else that a command needs before it runs"),
    "_arrays.py": ({"resource"}, "Windows has none"),
    "plots/regions.py": ({"sklearn"}, "only models that are compared are put after a scaler"),
    "questions/assess.py": ({"sklearn"}, "its metrics take long to import, and few rows are judged"),
}

MOST_BASES = 3  # of ours, of one class
MOST_FILE_LINES = 450  # without docstrings; the guide is 400
MOST_FUNCTION_LINES = 60  # without the docstring; the guide is 40
# Whoever adds takes away, or raises these in the same commit with the reason. They go down with what is removed.
MOST_CODE_LINES = {"src": 41_411, "tests": 31_167}
MOST_FILES = 262


# ── reading imports ──────────────────────────────────────────────────────────────────────────────────────────


Place = Literal["file", "function", "types"]  # when it is imported: with the file, by a call, or by a type checker


class Import(NamedTuple):
    name: str  # dotted and absolute
    line: int
    place: Place = "file"


@functools.cache
def parsed(text: str) -> ast.Module:
    """The tree of a file, which many tests look at."""
    return ast.parse(text)


@functools.cache
def nodes_of(text: str) -> list[ast.AST]:
    """All nodes of the tree of a file."""
    return list(ast.walk(parsed(text)))


def module_name(relative: str) -> str:
    """The dotted name of the module or package in a file, whose path is relative to the package."""
    parts = (PACKAGE, *Path(relative).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(relative: str) -> str:
    """The dotted name of the package that relative imports of a file count from."""
    return ".".join((PACKAGE, *Path(relative).parts[:-1]))


@functools.cache
def imports_in(text: str, package: str, modules: frozenset[str]) -> tuple[Import, ...]:
    """Every import in a file."""
    return tuple(imports(parsed(text), package, modules))


def imports(tree: ast.AST, package: str, modules: frozenset[str], place: Place = "file") -> Iterator[Import]:
    """Every import in a tree at any depth, whose relative names count from `package`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, place)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            for alias in node.names:
                # `from . import x` and `from suffice import x` mean the module x where there is one.
                inner = f"{base}.{alias.name}"
                yield Import(inner if inner in modules else base, node.lineno, place)
        elif isinstance(node, ast.Call) and node.args and _called(node.func) in {"import_module", "__import__"}:
            target = node.args[0]
            if isinstance(target, ast.Constant) and isinstance(target.value, str):
                name = target.value
                yield Import(package + name if name.startswith(".") else name, node.lineno, place)
        if isinstance(node, ast.If) and _asks_for_types(node.test):
            for child in node.body:
                yield from imports(ast.Module([child], []), package, modules, "types")
            for child in node.orelse:
                yield from imports(ast.Module([child], []), package, modules, place)
            continue
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(node, package, modules, "function" if inside else place)


def _asks_for_types(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if node.level == 0:
        return node.module or ""
    parents = package.split(".")
    kept = parents[: len(parents) - node.level + 1]
    return ".".join([*kept, node.module] if node.module else kept)


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def unit_of(module: str) -> str:
    """The unit that a dotted module of ours belongs to; the package itself is `__init__`."""
    return [*module.split("."), "__init__"][1]


def faults(relative: str, text: str, modules: frozenset[str]) -> list[str]:
    """What is wrong with the imports of one file, whose path is relative to the package."""
    unit = Path(relative).with_suffix("").parts[0]
    if unit not in MAY_IMPORT:
        return [f"{relative}: the unit {unit!r} has no row in the import table"]
    found = []
    for name, line, _ in imports_in(text, package_of(relative), modules):
        top = name.split(".")[0]
        if top == PACKAGE:
            other = unit_of(name)
            if other != unit and other not in MAY_IMPORT[unit]:
                found.append(f"{relative}:{line}: {unit!r} may not import {other!r}")
        elif top in OWNERS:
            if not any(relative == own or (own.endswith("/") and relative.startswith(own)) for own in OWNERS[top]):
                allowed = ", ".join(sorted(OWNERS[top])) or "no file of ours"
                found.append(f"{relative}:{line}: {top!r} is for {allowed}")
        elif top not in sys.stdlib_module_names:
            found.append(f"{relative}:{line}: {top!r} is not a declared dependency with an owner")
    return found


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────
# A source is a dictionary from the path of a file, relative to the package, to its text.


def imports_of(source: Mapping[str, str]) -> dict[str, tuple[Import, ...]]:
    """The imports of each file, by the name of its module."""
    modules = frozenset(map(module_name, source))
    return {module_name(path): imports_in(text, package_of(path), modules) for path, text in source.items()}


def runs(name: str, importer: str, modules: set[str]) -> set[str]:
    """The modules of ours that an import runs: the one that is named, and packages around it but not the importer."""
    parents = name.split(".")
    around = {".".join(parents[:end]) for end in range(2, len(parents))}
    return {name, *(package for package in around if not f"{importer}.".startswith(f"{package}."))} & modules


def circles(source: Mapping[str, str]) -> list[set[str]]:
    """Sets of modules each of which imports all others of its set, at last: anywhere in it, and for types too."""
    found = imports_of(source)
    modules = set(found)
    graph = {own: {other for item in items for other in runs(item.name, own, modules)} for own, items in found.items()}
    below = {own: _reached(own, graph) for own in graph}
    sets = {frozenset(other for other in below[own] if own in below[other]) for own in below if own in below[own]}
    return sorted(map(set, sets), key=min)


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    """All that can be reached from a node by at least one step."""
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph.get(ahead.pop(), set()) - seen
        seen |= new
        ahead += new
    return seen


def hidden_imports(source: Mapping[str, str]) -> set[str]:
    """What is imported inside functions and neither optional nor late for a reason, as `file: what`."""
    found = imports_of(source)
    modules = set(found)
    loads = {  # what is loaded with each file, of ours and of others
        own: {
            part
            for item in items
            if item.place == "file"
            for part in (*runs(item.name, own, modules), item.name.split(".")[0])
        }
        for own, items in found.items()
    }
    faults = set()
    for path in source:
        late = {name for place, (names, _) in LATE.items() if path == place or path.startswith(place) for name in names}
        for item in found[module_name(path)]:
            if item.place != "function":
                continue
            with_it = {item.name.split(".")[0], *runs(item.name, module_name(path), modules)}
            if not with_it.union(*(_reached(name, loads) for name in with_it)) & (OPTIONAL | late):
                faults.add(f"{path}: {item.name}")
    return faults


def bases_of_ours(source: Mapping[str, str]) -> dict[str, int]:
    """How many classes of ours each class is made of, as `file: class`."""
    modules = set(map(module_name, source))
    counts = {}
    for path, text in source.items():
        nodes = nodes_of(text)
        ours = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and _absolute(node, package_of(path)).split(".")[0] == PACKAGE:
                ours |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                ours |= {(alias.asname or alias.name).split(".")[0] for alias in node.names if alias.name in modules}
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                counts[f"{path}: {node.name}"] = sum(_first_name(base) in ours for base in node.bases)
    return counts


def _first_name(base: ast.expr) -> str:
    """The name that an expression such as `a.B[C]` begins with."""
    while isinstance(base, ast.Attribute | ast.Subscript | ast.Call):
        base = base.func if isinstance(base, ast.Call) else base.value
    return base.id if isinstance(base, ast.Name) else ""


FILES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


@functools.cache
def own_source() -> dict[str, str]:
    return {relative: (SOURCE / relative).read_text(encoding="utf-8") for relative in FILES}


# ── the source obeys ─────────────────────────────────────────────────────────────────────────────────────────


def test_imports_point_down() -> None:
    assert [fault for relative, text in own_source().items() for fault in faults(relative, text, MODULES)] == []


def test_table_has_no_cycles() -> None:
    seen: set[str] = set()
    while ready := {unit for unit, below in MAY_IMPORT.items() if unit not in seen and below <= seen}:
        seen |= ready
    assert seen == set(MAY_IMPORT)


def test_imports_point_down_the_map() -> None:
    """The list in ARCHITECTURE.md names every unit, and each imports units of its own line or below."""
    place = _lines_of_the_map()
    assert set(place) | {"__init__", "__main__"} == set(MAY_IMPORT)
    upward = set()
    for path, items in _imports_by_file().items():
        own = Path(path).with_suffix("").parts[0]
        for item in items:
            other = unit_of(item.name)
            if item.name.startswith(f"{PACKAGE}.") and own in place and place[other] < place[own]:
                upward.add(f"{own} imports {other}")
    assert upward == set()


def _lines_of_the_map() -> dict[str, int]:
    """Return at which line of the list each unit stands: first in it, or named as a file that is a unit."""
    text = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    listed = text.split(f"src/{PACKAGE}/\n")[1].split("\ntests/")[0]
    place: dict[str, int] = {}
    for number, line in enumerate(listed.splitlines()):
        units = {own for own in MAY_IMPORT if line.startswith((f"  {own}/", f"  {own}.py"))}
        units |= {own for own in MAY_IMPORT if f" {own}.py" in line and (SOURCE / f"{own}.py").exists()}
        if line.startswith("  _*.py"):
            units = {own for own in MAY_IMPORT if own.startswith("_") and f" {own}.py" not in listed}
        place |= dict.fromkeys(units - {"__init__", "__main__", *place}, number)
    return place


def test_every_unit_has_a_row() -> None:
    assert set(MAY_IMPORT) == {Path(relative).with_suffix("").parts[0] for relative in FILES}


def test_no_files_import_each_other() -> None:
    assert circles(own_source()) == []


def test_imports_stand_at_the_top_of_files() -> None:
    assert hidden_imports(own_source()) == set()


def test_classes_have_few_bases_of_ours() -> None:
    assert {name for name, bases in bases_of_ours(own_source()).items() if bases > MOST_BASES} == set()


def test_optional_packages_have_owners() -> None:
    assert set(OWNERS) >= OPTIONAL


def test_nothing_depends_on_the_words_of_a_note() -> None:
    """They are neither compared nor asked; that no answer changes without them is tested in test_notes.py."""
    asked = [
        f"{relative}:{node.lineno}"
        for relative, text in own_source().items()
        for node in nodes_of(text)
        if isinstance(node, ast.Compare | ast.Attribute)
        for part in ([node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.value])
        if isinstance(part, ast.Attribute) and part.attr in {"what", "why"}
    ]
    assert asked == []


def test_owners_own() -> None:
    """Who need not import a package may not."""
    found = {(item.name.split(".")[0], path) for path, items in _imports_by_file().items() for item in items}
    idle = {
        f"{place}: {package}"
        for package, places in OWNERS.items()
        for place in places
        if not any(name == package and path.startswith(place) for name, path in found)
    }
    assert idle == set()


def test_late_imports_are_there() -> None:
    """A reason to import late is given only where something is."""
    files = _imports_by_file()
    for place, (names, _) in LATE.items():
        late = [item for path in files if path.startswith(place) for item in files[path] if item.place == "function"]
        assert late, place
        assert place.endswith("/") or names <= {item.name.split(".")[0] for item in late}, place


@functools.cache
def _imports_by_file() -> dict[str, tuple[Import, ...]]:
    found = imports_of(own_source())
    return {path: found[module_name(path)] for path in FILES}


def test_files_and_functions_fit_on_a_screen() -> None:
    for relative, text in own_source().items():
        nodes = nodes_of(text)
        lines = len(text.splitlines()) - sum(map(_docstring_lines, nodes))
        assert lines <= MOST_FILE_LINES, f"{relative} has {lines} lines"
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert _body_lines(node) <= MOST_FUNCTION_LINES, f"{relative}:{node.lineno}: {node.name} is too long"


@pytest.mark.parametrize("place", MOST_CODE_LINES)
def test_the_code_does_not_grow(place: str) -> None:
    files = sorted((SOURCE.parents[1] / place).rglob("*.py"))
    lines = sum(_code_lines(path.read_text(encoding="utf-8")) for path in files)
    assert lines <= MOST_CODE_LINES[place], f"{lines} lines of code in {place}"
    assert place != "src" or len(files) <= MOST_FILES, f"{len(files)} files"


def _code_lines(text: str) -> int:
    """Return how many lines hold code: neither imports nor texts that stand by themselves."""
    aside: set[int] = set()
    ahead: list[ast.AST] = [ast.parse(text)]
    while ahead:
        node = ahead.pop()
        ahead += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.ExceptHandler)]
        alone = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if alone or isinstance(node, ast.Import | ast.ImportFrom):
            aside.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for i, line in lines if i not in aside and line.strip() and not line.strip().startswith("#"))


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1 - _docstring_lines(node)


def _docstring_lines(node: ast.AST) -> int:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    if ast.get_docstring(node, clean=False) is None:
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


# ── the checker sees what it should ──────────────────────────────────────────────────────────────────────────

MODULES = frozenset(map(module_name, FILES))

BAD = {
    "upward, hidden in a function": (
        "stats/gaussian.py",
        "def f():\n    def g():\n        from suffice.joint import J",
    ),
    "question asks which model it is": ("questions/decide.py", "from ..automatic.pooled import PooledFitted"),
    "relative, one level up": ("stats/gaussian.py", "from ..estimate import likelihood"),
    "from the package, a module": ("stats/gaussian.py", "from suffice import joint"),
    "only for types": ("joint.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .stats import S"),
    "dynamic": ("stats/gaussian.py", "import importlib\nimportlib.import_module('suffice.joint')"),
    "numpy past the door": ("stats/gaussian.py", "def f():\n    import numpy.linalg"),
    "scikit-learn in another command": ("cli/fit.py", "import sklearn"),
    "undeclared dependency": ("cli/fit.py", "import requests"),
    "unit without a row": ("helpers.py", "x = 1"),
}

GOOD = {
    "down": ("estimate/likelihood.py", "from suffice.stats import S\nfrom ..densities import D"),
    "inside the unit": (
        "stats/by_class.py",
        "from .gaussian import G\nfrom . import gaussian\nimport suffice.stats.gaussian",
    ),
    "command line": (
        "cli/compare.py",
        "import pyarrow.csv\nfrom sklearn.model_selection import KFold\nfrom suffice import load",
    ),
    "the door": ("_arrays.py", "import numpy as np\nfrom scipy.linalg import blas\nimport threadpoolctl"),
    "standard library": ("schema.py", "import json\nfrom collections.abc import Iterator"),
}


def test_the_checker_flags_what_is_bad_alone() -> None:
    assert {why: len(faults(*case, MODULES)) for why, case in BAD.items()} == dict.fromkeys(BAD, 1)
    assert {why: faults(*case, MODULES) for why, case in GOOD.items()} == {why: [] for why in GOOD}


# ── and of files ─────────────────────────────────────────────────────────────────────────────────────────────


CIRCLES = {
    "by a function": {"a.py": "from . import b", "b.py": "def f():\n    from .a import A"},
    "for types": {
        "a.py": "from .b import B",
        "b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import A",
    },
    "three files": {"a.py": "from .b import B", "b.py": "from .c import C", "c.py": "from .a import A"},
    "a name from the own package": {"p/__init__.py": "from .x import X as X", "p/x.py": "from . import X"},
    "dynamic": {"a.py": "from importlib import import_module\nimport_module('.b')", "b.py": "from .a import A"},
}

STRAIGHT = {
    "one way": {"a.py": "from .b import B", "b.py": ""},
    "a module of the own package": {"p/__init__.py": "from .x import X", "p/x.py": "from . import y", "p/y.py": ""},
    "not of ours": {"a.py": "import b", "b.py": "import a"},
}


def test_circles_are_found_told_apart_and_not_invented() -> None:
    assert {why: len(circles(source)) for why, source in CIRCLES.items()} == dict.fromkeys(CIRCLES, 1)
    assert {why: circles(source) for why, source in STRAIGHT.items()} == {why: [] for why in STRAIGHT}
    source = {
        "a.py": "from .b import B",
        "b.py": "from .a import A",
        "c.py": "from .d import D",
        "d.py": "import suffice.c",
    }
    source["e.py"] = "from .a import A\nfrom .c import C"
    assert circles(source) == [{"suffice.a", "suffice.b"}, {"suffice.c", "suffice.d"}]


HIDDEN = {
    "standard library": {"a.py": "def f():\n    import math"},
    "ours, which imports an optional one by a call": {
        "a.py": "def f():\n    from .b import B",
        "b.py": "def g():\n    import duckdb",
    },
    "NumPy, not in a command": {
        "stats/a.py": "def f():\n    from .._arrays import np",
        "_arrays.py": "import numpy as np",
    },
    "what loads nothing, in a command": {"cli/a.py": "def f():\n    from ..schema import Kind", "schema.py": ""},
}

LATE_ENOUGH = {
    "optional": {"a.py": "def f():\n    import pyarrow.compute as pc"},
    "NumPy, in a command": {"cli/a.py": "def f():\n    from .._arrays import np", "_arrays.py": "import numpy as np"},
    "at the top": {"a.py": "import math\nif math:\n    import json\ntry:\n    import re\nfinally:\n    pass"},
}


def test_hidden_imports_are_found_and_late_ones_allowed() -> None:
    assert {why: len(hidden_imports(source)) for why, source in HIDDEN.items()} == dict.fromkeys(HIDDEN, 1)
    assert {why: hidden_imports(source) for why, source in LATE_ENOUGH.items()} == {why: set() for why in LATE_ENOUGH}


def test_bases_are_counted() -> None:
    source = {
        "a.py": "from sklearn.base import B\nfrom .b import C as D, P\nimport suffice.b\n"
        "class A:\n    pass\nclass E(A, B, D, P[int], suffice.b.F, object):\n    pass",
        "b.py": "class C: pass\nclass F(C): pass",
    }
    assert bases_of_ours(source) == {"a.py: A": 0, "a.py: E": 4, "b.py: C": 0, "b.py: F": 1}
