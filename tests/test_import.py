"""Importing and fitting need the core packages alone."""

from __future__ import annotations

import os
import subprocess
import sys

import suffice

OPTIONAL = [
    *["pyarrow", "cyclopts", "rich", "matplotlib", "jinja2", "dask", "distributed", "pyspark", "duckdb"],
    *["sqlglot", "onnx", "python_calamine", "pandas", "polars", "torch", "cupy"],
    *["array_api_compat", "array_api_extra", "array_api_strict"],
]

FIT = """
import numpy as np
import suffice
rng = np.random.default_rng(0)
rows = rng.normal(size=(60, 3))
rows[0, 1] = np.nan
labels = np.repeat(["a", "b"], 30)
for model in (suffice.GaussianDiscriminant(), suffice.NaiveBayes()):
    posterior = model.fit(rows, labels).predict_proba(rows)
    assert posterior.shape == (60, 2), posterior.shape
    assert np.allclose(posterior.sum(axis=1), 1)
"""

# scikit-learn itself looks for pandas when it is imported, and pandas for pyarrow: those are not our doing.
DEPENDENCIES = "import numpy, scipy.special, sklearn.base, narwhals, threadpoolctl\n"


# A finder that answers for the optional packages first, and always with "not installed".
HIDE = f"""
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hide())
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def loaded_after(code: str) -> set[str]:
    done = python(f"{code}\nimport sys\nprint(*[name for name in {OPTIONAL!r} if name in sys.modules])")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_loads_no_optional_package() -> None:
    assert loaded_after("import suffice") == set()


def test_folders_load_no_optional_package_beyond_what_scikit_learn_loads() -> None:
    """Estimators know how pictures, pages, SQL and ONNX are made; the packages for it wait until they are asked for."""
    units = ["drop_in", "estimators", "export", "plots", "questions", "report", "testing"]
    everything = "".join(f"import suffice.{unit}\n" for unit in units)
    assert loaded_after(everything) <= loaded_after(DEPENDENCIES)


def test_fit_works_where_no_optional_package_is_installed() -> None:
    done = python(HIDE + FIT)
    assert done.returncode == 0, done.stderr


def test_every_public_name_exists() -> None:
    assert [name for name in suffice.__all__ if getattr(suffice, name, None) is None] == []


def test_command_without_its_extra_says_how_to_get_it() -> None:
    done = python(HIDE + "sys.argv = ['suffice', '--help']\nfrom suffice.__main__ import main\nsys.exit(main())")
    assert done.returncode not in (0, None)
    assert "[cli]" in done.stderr
    assert "Traceback" not in done.stderr
