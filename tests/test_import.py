"""Importing and fitting need the core packages alone."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

OPTIONAL = ["pyarrow", "cyclopts", "rich", "matplotlib", "jinja2", "dask", "distributed", "pyspark", "duckdb", "sqlglot", "onnx", "pandas", "polars", "torch", "cupy", "array_api_compat", "array_api_extra", "array_api_strict"]

FIT = """
import numpy as np
rng = np.random.default_rng(0)
rows = rng.normal(size=(60, 3))
rows[0, 1] = np.nan
labels = np.repeat(["a", "b"], 30)
for model in (suffice.GaussianDiscriminant(), suffice.NaiveBayes()):
    posterior = model.fit(rows, labels).predict_proba(rows)
    assert posterior.shape == (60, 2), posterior.shape
    assert np.allclose(posterior.sum(axis=1), 1)
"""

REPORT = f"""
import sys
loaded = sorted(name for name in {OPTIONAL!r} if name in sys.modules)
assert not loaded, f"loaded: {{loaded}}"
"""

# A finder that answers for the optional packages first, and always with "not installed".
HIDE = f"""
import sys
from importlib.abc import MetaPathFinder

class Hide(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hide())
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_import_loads_no_optional_package() -> None:
    done = python("import suffice\n" + REPORT)
    assert done.returncode == 0, done.stderr


def test_fit_loads_no_optional_package() -> None:
    done = python("import suffice\n" + FIT + REPORT)
    assert done.returncode == 0, done.stderr


def test_fit_works_where_no_optional_package_is_installed() -> None:
    done = python(HIDE + "import suffice\n" + FIT)
    assert done.returncode == 0, done.stderr


def test_every_public_name_exists() -> None:
    done = python("import suffice\nfor name in suffice.__all__: getattr(suffice, name)\n" + REPORT)
    assert done.returncode == 0, done.stderr


def test_command_without_its_extra_says_how_to_get_it() -> None:
    done = python(HIDE + "sys.argv = ['suffice', '--help']\nfrom suffice.__main__ import main\nsys.exit(main())")
    assert done.returncode not in (0, None)
    assert "suffice[cli]" in done.stderr
    assert "Traceback" not in done.stderr
