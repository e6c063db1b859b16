"""Databases to run exported queries in: each loads a frame as the table `rows` and returns the answers as a frame."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd


def run_duckdb(sql: str, rows: Any, table: Sequence[str] = ("rows",)) -> Any:
    """Return what DuckDB answers."""
    with duckdb.connect() as connection:
        connection.register("given", rows)
        name = ".".join(_quoted(part) for part in table)
        for schema in table[:-1]:
            connection.execute(f"CREATE SCHEMA {_quoted(schema)}")
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        return connection.execute(sql).df()


def run_sqlite(sql: str, rows: Any) -> Any:
    """Return what SQLite answers."""
    with sqlite3.connect(":memory:") as connection:
        types = ", ".join(f"{_quoted(name)} {_type(rows[name], 'REAL', 'INTEGER')}" for name in rows.columns)
        connection.execute(f"CREATE TABLE rows ({types})")
        marks = ", ".join("?" for _ in rows.columns)
        connection.executemany(f"INSERT INTO rows VALUES ({marks})", _cells(rows))
        answer = connection.execute(sql)
        return pd.DataFrame(answer.fetchall(), columns=[column[0] for column in answer.description])


def sqlite_lacks() -> str:
    """Return why this SQLite cannot run the queries, or nothing."""
    with sqlite3.connect(":memory:") as connection:
        try:
            connection.execute("SELECT exp(1.0), ln(2.0)")
        except sqlite3.OperationalError:
            return "this SQLite was compiled without mathematical functions"
    return "" if sqlite3.sqlite_version_info >= (3, 35) else "this SQLite is older than 3.35, which materializes stages"


class Postgres:
    """A PostgreSQL server of our own in a temporary folder, without a network port, asked through psql."""

    def __init__(self) -> None:
        self.bin = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.home = Path(tempfile.mkdtemp(prefix="suffice-pg-"))
        # PostgreSQL refuses to run as root, so root asks the account of the package
        self.user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(self.home, "postgres")
        data = self.home / "data"
        self._call("initdb", "-D", str(data), "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-k {self.home} -c listen_addresses='' -c fsync=off -c jit=off"
        self._call("pg_ctl", "-D", str(data), "-o", options, "-l", str(self.home / "log"), "-w", "start")

    def _call(self, program: str, *told: str, text: str | None = None) -> str:
        command = [*self.user, str(self.bin / program), *told]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, encoding="utf-8", cwd=self.home, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr[-2000:]}")
        return done.stdout

    def run(self, sql: str, rows: Any, kinds: dict[str, str] | None = None) -> Any:
        """Return what PostgreSQL answers; `kinds` are types of columns that are not as the frame says."""
        found = {name: _type(rows[name], "DOUBLE PRECISION", "BOOLEAN") for name in rows.columns} | (kinds or {})
        types = ", ".join(f"{_quoted(name)} {kind}" for name, kind in found.items())
        lines = "".join(",".join(map(_csv, cells)) + "\n" for cells in _cells(rows))
        script = f"CREATE TEMPORARY TABLE rows ({types});\nCOPY rows FROM STDIN (FORMAT csv);\n{lines}\\.\n"
        script += f"COPY ({sql}) TO STDOUT (FORMAT csv, HEADER);\n"
        answer = self._call(
            "psql",
            "-h",
            str(self.home),
            "-U",
            "tester",
            "-d",
            "postgres",
            "-X",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-f",
            "-",
            text=script,
        )
        header, *found = csv.reader(io.StringIO(answer))
        label = len(rows.columns)  # whose text may be empty; numbers that are not there are
        cells = [[None if i > label and not cell else cell for i, cell in enumerate(line)] for line in found]
        return pd.DataFrame(cells, columns=header)

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        self._call("pg_ctl", "-D", str(self.home / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self.home, ignore_errors=True)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _type(column: Any, number: str, truth: str) -> str:
    if column.dtype == object or str(column.dtype) in ("str", "string"):
        return "TEXT"
    return truth if str(column.dtype) in ("bool", "boolean") else number


def _cells(rows: Any) -> list[list[Any]]:
    """Return the cells of a frame as Python values, None where missing."""
    return [[None if pd.isna(cell) else _plain(cell) for cell in row] for row in rows.itertuples(index=False)]


def _plain(cell: Any) -> Any:
    return cell.item() if hasattr(cell, "item") else cell


def _csv(cell: Any) -> str:
    return "" if cell is None else '"' + str(cell).replace('"', '""') + '"'
