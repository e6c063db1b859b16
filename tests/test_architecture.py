"""The import table, read from the source: what each unit may import, of ours and of others."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = "suffice"
SOURCE = Path(__file__).resolve().parents[1] / "src" / PACKAGE

# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────
# A unit is a module or sub-package directly under the package. Each row lists what its units may import of ours;
# modules inside one unit may import each other. Rows count upwards, and imports point down.

ROW_0 = {"errors", "_arrays", "_arrays_api", "_archive", "_dialect", "_files", "_locks", "_memory"}
ROW_6 = ROW_0 | {"stats", "schema", "table", "densities", "estimate", "joint", "tasks", "leave_one_out", "automatic"}
ROW_7 = ROW_6 | {"engines", "store", "export", "plots"}
ROW_8 = ROW_7 | {"datasets", "report", "disclosure", "estimators"}
LEAVES = {"stats", "schema", "table", "densities", "joint"} | ROW_0

MAY_IMPORT: dict[str, set[str]] = {
    # row 0
    "errors": set(),
    "_arrays": {"errors"},
    "_archive": set(),
    "_dialect": set(),
    "_locks": set(),
    "_files": {"_locks"},
    "_memory": {"errors"},
    "_arrays_api": {"errors", "_arrays"},
    # row 1
    "schema": ROW_0,
    "stats": {"schema"} | ROW_0,
    "table": {"schema"} | ROW_0,
    # row 2: a density has not seen data, so never `stats`
    "densities": {"schema"} | ROW_0,
    # row 3
    "estimate": {"stats", "densities", "schema", "table"} | ROW_0,  # families say how their columns are read
    # row 4
    "joint": {"densities", "schema"} | ROW_0,
    # row 5
    "tasks": {"joint", "densities", "schema"} | ROW_0,
    # row 6
    "leave_one_out": ROW_6 - {"leave_one_out", "automatic"},
    "automatic": ROW_6 - {"automatic"} | {"export"},
    # what leaves the house: statistics of which none is of few rows
    "disclosure": ROW_6,
    # row 7: an engine knows no distribution
    "engines": {"stats", "schema", "table"} | ROW_0,
    "store": LEAVES,
    "export": LEAVES | {"estimate"},  # what a fitted model consists of, as plain data
    "plots": LEAVES,
    # example tables: they sit beside everything and know only how to read a table
    "datasets": {"schema", "table"} | ROW_0,
    # the page is made of pictures and of what any fitted model answers; it knows no estimator by name
    "report": LEAVES | {"plots", "export"},
    # row 8
    "estimators": ROW_7 | {"report", "disclosure"},
    # scikit-learn's names for what the estimators do
    "drop_in": ROW_8,
    # row 9
    "testing": ROW_8,
    "__init__": ROW_8 | {"testing", "drop_in"},
    "cli": ROW_8 | {"__init__"},
    "__main__": ROW_8 | {"cli", "__init__"},
}

# Packages that only the named files may import (a name ending in "/" is a folder).
OWNERS: dict[str, set[str]] = {
    # the door to arrays
    "numpy": {"_arrays.py"},
    "scipy": {"_arrays.py"},
    "threadpoolctl": {"_arrays.py"},
    "filelock": {"_locks.py"},
    "torch": set(),  # met as any other library of the array API standard
    "cupy": set(),
    "array_api_compat": {"_arrays_api.py"},
    "array_api_extra": {"_arrays_api.py"},
    "array_api_strict": set(),
    # the door to data frames
    "narwhals": {"table/"},
    # the estimator contract
    "sklearn": {"estimators/", "testing/", "cli/compare.py", "cli/peers.py", "store.py"},
    # optional packages
    "pyarrow": {"cli/", "engines/"},
    "cyclopts": {"cli/"},
    "rich": {"cli/"},
    "matplotlib": {"plots/"},
    "jinja2": {"report/"},
    "dask": {"engines/dask.py"},
    "distributed": {"engines/dask.py"},
    "pyspark": {"engines/spark.py"},
    "duckdb": {"engines/duckdb.py", "export/sql/parity.py"},
    "sqlglot": {"export/sql/"},
    "onnx": {"export/onnx.py", "export/onnx_graph.py", "export/onnx_readings.py"},
    "onnxruntime": {"export/onnx_check.py"},
    # data frames come to us, and `table` meets them all the same way
    "pandas": set(),
    "polars": set(),
}

MOST_FILE_LINES = 450  # the guide is 400
MOST_FUNCTION_LINES = 60  # without the docstring; the guide is 40


# ── reading imports ──────────────────────────────────────────────────────────────────────────────────────────


class Import(NamedTuple):
    name: str  # dotted and absolute
    line: int


def own_modules() -> set[str]:
    """Dotted names of every module and package of ours."""
    names = set()
    for path in SOURCE.rglob("*.py"):
        parts = (PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts)
        names.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def imports(tree: ast.AST, package: str, modules: set[str]) -> Iterator[Import]:
    """Every import in a tree at any depth, whose relative names count from `package`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            for alias in node.names:
                # `from . import x` and `from suffice import x` mean the module x where there is one.
                inner = f"{base}.{alias.name}"
                yield Import(inner if inner in modules else base, node.lineno)
        elif isinstance(node, ast.Call) and node.args and _called(node.func) in {"import_module", "__import__"}:
            target = node.args[0]
            if isinstance(target, ast.Constant) and isinstance(target.value, str):
                name = target.value
                yield Import(package + name if name.startswith(".") else name, node.lineno)


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


def faults(relative: str, text: str, modules: set[str]) -> list[str]:
    """What is wrong with the imports of one file, whose path is relative to the package."""
    parts = Path(relative).with_suffix("").parts
    package = ".".join((PACKAGE, *parts[:-1]))
    unit = parts[0]
    if unit not in MAY_IMPORT:
        return [f"{relative}: the unit {unit!r} has no row in the import table"]
    found = []
    for name, line in imports(ast.parse(text), package, modules):
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


FILES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


# ── the source obeys ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("relative", FILES)
def test_imports_point_down(relative: str) -> None:
    assert faults(relative, (SOURCE / relative).read_text(encoding="utf-8"), own_modules()) == []


def test_table_has_no_cycles() -> None:
    seen: set[str] = set()
    while ready := {unit for unit, below in MAY_IMPORT.items() if unit not in seen and below <= seen}:
        seen |= ready
    assert seen == set(MAY_IMPORT)


@pytest.mark.parametrize("relative", FILES)
def test_files_and_functions_fit_on_a_screen(relative: str) -> None:
    text = (SOURCE / relative).read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines <= MOST_FILE_LINES, f"{relative} has {lines} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert _body_lines(node) <= MOST_FUNCTION_LINES, f"{relative}:{node.lineno}: {node.name} is too long"


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    end = node.end_lineno or node.lineno
    documented = ast.get_docstring(node, clean=False) is not None
    return end - node.lineno + 1 - ((first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0)


# ── the checker sees what it should ──────────────────────────────────────────────────────────────────────────

MODULES = {
    PACKAGE,
    *(f"{PACKAGE}.{unit}" for unit in MAY_IMPORT),
    f"{PACKAGE}.stats.gaussian",
    f"{PACKAGE}.tasks.classify",
}

BAD = {
    "upward, hidden in a function": (
        "stats/gaussian.py",
        "def f():\n    def g():\n        from suffice.joint import J",
    ),
    "density looks at data": ("densities/gaussian.py", "from suffice.stats import GaussianStats"),
    "engine knows a distribution": ("engines/memory.py", "import suffice.densities.gaussian"),
    "relative, one level up": ("stats/gaussian.py", "from ..estimate import likelihood"),
    "relative, module itself": ("stats/gaussian.py", "from .. import joint"),
    "from the package, a module": ("stats/gaussian.py", "from suffice import joint"),
    "from the package, a name": ("estimators/discriminant.py", "from suffice import load"),
    "row 8 imports row 9": ("estimators/discriminant.py", "import suffice.cli"),
    "only for types": (
        "joint.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .stats import S",
    ),
    "in a try": ("schema.py", "try:\n    from . import table\nexcept ImportError:\n    pass"),
    "dynamic": ("stats/gaussian.py", "import importlib\nimportlib.import_module('suffice.joint')"),
    "dynamic, optional": ("stats/gaussian.py", "x = __import__('pyarrow.parquet')"),
    "numpy past the door": ("stats/gaussian.py", "def f():\n    import numpy.linalg"),
    "scipy past the door": ("densities/gaussian.py", "from scipy.linalg import cholesky"),
    "thread pools past the door": ("engines/memory.py", "from threadpoolctl import threadpool_limits"),
    "optional outside its file": ("engines/dask.py", "import pyspark"),
    "data frame library": ("table/frames.py", "import pandas as pd"),
    "scikit-learn in the core": ("tasks/classify.py", "from sklearn.base import BaseEstimator"),
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
    "row 0": ("densities/gaussian.py", "from suffice._arrays import np\nfrom suffice.errors import E"),
    "from the package, a module below": ("tasks/classify.py", "from suffice import joint"),
    "command line": (
        "cli/compare.py",
        "import pyarrow.csv\nfrom sklearn.model_selection import KFold\nfrom suffice import load",
    ),
    "the door": ("_arrays.py", "import numpy as np\nfrom scipy.linalg import blas\nimport threadpoolctl"),
    "an engine's own file": ("engines/dask.py", "def f():\n    from distributed import Client"),
    "standard library": ("schema.py", "import json\nfrom collections.abc import Iterator"),
}


@pytest.mark.parametrize(("relative", "text"), BAD.values(), ids=BAD.keys())
def test_checker_flags(relative: str, text: str) -> None:
    assert len(faults(relative, text, MODULES)) == 1


@pytest.mark.parametrize(("relative", "text"), GOOD.values(), ids=GOOD.keys())
def test_checker_allows(relative: str, text: str) -> None:
    assert faults(relative, text, MODULES) == []


def test_checker_catches_an_edit_of_real_source() -> None:
    """A line added to a file that passes makes it fail, and the fault names the line."""
    text = (SOURCE / "joint.py").read_text(encoding="utf-8")
    edited = text + "\n\ndef _hidden():\n    from suffice.estimators import discriminant\n"
    before, after = (faults("joint.py", version, own_modules()) for version in (text, edited))
    assert before == []
    assert after == [f"joint.py:{len(edited.splitlines())}: 'joint' may not import 'estimators'"]
