"""Fixtures of the command-line tests: tables in every format, and the command run in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from suffice.__main__ import main
from suffice.datasets import penguins_path

FORMATS = ("csv", "tsv", "parquet", "arrow", "feather", "ipc")


class Done(NamedTuple):
    status: int
    out: str
    err: str

    def ok(self) -> Done:
        """This, if the command ended well."""
        assert self.status == 0, self.err
        return self

    @property
    def complaint(self) -> str:
        """The single line on stderr of a command that failed; stdout must be empty."""
        assert self.out == ""
        assert "Traceback" not in self.err
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("suffice: ")
        return lines[0]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def run(*words: object) -> Done:
        capsys.readouterr()
        status = main([str(word) for word in words])
        return Done(status, *capsys.readouterr())

    return run


@pytest.fixture
def refused(cli: Callable[..., Done]) -> Callable[..., None]:
    """Run a command that ends with a status other than 0 and one line on stderr, which holds some words."""

    def run(*words: object, saying: str | Sequence[str], status: int = 1) -> None:
        done = cli(*words)
        assert done.status == status, done
        for word in [saying] if isinstance(saying, str) else saying:
            assert word in done.complaint

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Write text, bytes or a table to a file of this name."""

    def to_file(name: str, content: Any) -> Path:
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif isinstance(content, bytes):
            path.write_bytes(content)
        elif path.suffix == ".parquet":
            pq.write_table(content, path)
        elif path.suffix in (".csv", ".tsv"):
            mark = "\t" if path.suffix == ".tsv" else ","
            arrow_csv.write_csv(content, path, arrow_csv.WriteOptions(delimiter=mark))
        else:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, content.schema) as writer:
                writer.write_table(content)
        return path

    return to_file


@pytest.fixture
def penguins() -> pa.Table:
    return arrow_csv.read_csv(penguins_path(), convert_options=arrow_csv.ConvertOptions(strings_can_be_null=True))


@pytest.fixture(params=FORMATS)
def penguins_file(request: pytest.FixtureRequest, write: Callable[[str, Any], Path], penguins: pa.Table) -> Path:
    """The penguins in each format; text columns are dictionaries where the format has them."""
    if request.param not in ("csv", "tsv"):
        for name in ("species", "island", "sex"):
            place = penguins.schema.get_field_index(name)
            penguins = penguins.set_column(place, name, penguins[name].dictionary_encode())
    return write(f"penguins.{request.param}", penguins)


@pytest.fixture(scope="session")
def fitted_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A model of the penguins of any kind, fitted once for all tests."""
    folder = tmp_path_factory.mktemp("fitted")

    @cache
    def of_kind(kind: str) -> Path:
        path = folder / f"{kind}.suffice"
        told = ["--target", "species", "--model", kind, "-o", str(path), "--quiet"]
        assert main(["fit", str(penguins_path()), *told]) == 0
        return path

    return of_kind


@pytest.fixture
def model(fitted_once: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of the naive Bayes model, to be read and edited."""
    return Path(shutil.copy(fitted_once("nb"), tmp_path / "penguins.suffice"))


@pytest.fixture
def learned_half(cli, tmp_path):
    def learned(penguins, *words):
        first, second, model = (tmp_path / name for name in ("first.csv", "second.csv", "first.suffice"))
        penguins[:170].to_csv(first, index=False)
        penguins[170:].to_csv(second, index=False)
        cli("fit", first, "--target", "species", "--model", "nb", *words, "-o", model).ok()
        return model, second

    return learned
