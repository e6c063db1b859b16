"""CSV files of odd cells and changed bytes through every way in; each gives an answer or one line of complaint.

Every file is read by `csv_ways.ways_agree`, which wants the same cells or the same complaint whatever the way in. Some
are given to the command line as well, by two ways: plain, by the local engine, compressed, or a
folder or pattern of two. What it says must be fit for a terminal, and the models of one file must be of the same rows,
classes and columns.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import random
import shutil
from pathlib import Path
from typing import Any

from csv_ways import GERMAN, ways_agree

from suffice import load
from suffice.__main__ import main
from suffice.engines import Reading

MARKS = [
    b"\xef\xbb\xbf", b"\xff\xfe", b'"', b'""', b"'", b"\\", b"#", b",", b";", b"\t", b"|", b"\r", b"\r\n", b"\n", b"\0",
    b"\x1a", b"\xff", b"\xc3", b"\xa0", b"\x85", b"\xf0\x9f\xa6\x89", b"\x1b[2J", b"=1+1", b"1e999", b"-inf", b"NA",
    b"1,5", b"1.234,5", b"\xe2\x88\x92" + b"5",
]  # fmt: skip
CELLS = [
    "0", "1", "-2.5", "1e300", "1e-320", "1e999", "inf", "0x10", "1_000", "007", "1,5", "1 000", "1'000", "$5", "50%",
    "9" * 40, "", "NaN", "NA", "NULL", "-", "+", "true", "False", "2020-01-01", "12:30", "a", "b", "é", "a" * 500, '"',
    '"a,b"', '"a\nb"', "=1+1", "\x1b[31mred", "\u202eright", "\u22125", "00001",
]  # fmt: skip
NAMES = ["x", "y", "", "a b", "é", '"x\nz"', "a" * 300, "0", "NA", "label", "=1+1", "\x1b]0;t\x07"]
LABELS = ["u", "v", "1", "01", "1.0", "NA", "None", "true", "5E1", "50", "\x1b[1mu", ""]
WAYS = ("plain", "local", "folder", "pattern", "gz", "bz2")
TWICE = ("folder", "pattern")  # which hold the file two times
READINGS = (Reading(target="target"), Reading(numbers=("c0",), text=("c1",), learned=GERMAN))
FITTED = 0.04  # how often the command line, which takes ten times as long, is asked as well


def grid(pick: random.Random) -> bytes:
    """Return lines of odd cells, most of them a table with two classes, some torn, some with changed bytes."""
    mark, d, n = pick.choice([",", ",", ",", ";", "\t", "|"]), pick.randrange(1, 4), pick.choice([3, 8, 20])
    odd = pick.choice([0.0, 0.1, 0.5])
    names = [pick.choice(NAMES) if pick.random() < odd else f"c{j}" for j in range(d)]
    lines = [mark.join([*names, "target"])]
    for i in range(n):
        cells = [pick.choice(CELLS) if pick.random() < odd else f"{pick.gauss(0, 1):.2f}" for _ in range(d)]
        label = pick.choice(LABELS) if pick.random() < odd else "uv"[i % 2]
        lines.append(mark.join([*cells, label]))
    if pick.random() < 0.1:
        lines[pick.randrange(len(lines))] += mark + "more"
    data = bytearray((pick.choice(["\n", "\n", "\r\n"]).join(lines) + "\n").encode("utf-8", "surrogatepass"))
    for _ in range(pick.choice([0, 0, 0, 1, 2])):
        at = pick.randrange(len(data))
        data[at:at] = pick.choice(MARKS)
    if pick.random() < 0.1:
        data = bytearray(bytes(data).decode("utf-8", "replace").encode(pick.choice(["utf-16", "cp1252"]), "replace"))
    return bytes(data)


class CsvFiles:
    """Tries one file at a time."""

    ending = ".csv"

    def __init__(self, folder: Path) -> None:
        self.folder, self.input = folder, b""

    def try_one(self, pick: random.Random) -> str:
        """Fit models to one file read in two ways; an AssertionError says what was not as it should be."""
        self.input = grid(pick)
        read = "read alike" if ways_agree(self.input, self.folder, READINGS) else "refused alike"
        return f"{read}, fits {self._fits(pick)}" if pick.random() < FITTED else read

    def _fits(self, pick: random.Random) -> str:
        said, models = {}, {}
        for way in pick.sample(WAYS, 2):
            said[way], models[way] = self._fit(way)
        for way, (status, out, err) in said.items():
            lines = [line for line in err.splitlines() if line.strip()]
            assert "Traceback" not in err, f"{way}: {err[-300:]}"
            assert "an unexpected error" not in err, f"{way}: {err[-300:]}"
            assert status == 0 or (status == 1 and out == "" and lines and lines[-1].startswith("suffice: ")), (
                f"{way}: status {status}, {err[-300:]}"
            )
            bad = [letter for letter in out + err if letter != "\n" and (letter < " " or "\x7f" <= letter < "\xa0")]
            assert not bad, f"{way}: control characters {bad} reach the terminal"
        once = [(said[way][0], models[way]) for way in said if way not in TWICE]
        assert all(own == once[0] for own in once), f"models differ: {dict(zip(said, once, strict=False))}"
        return " and ".join(sorted("read" if status == 0 else "refused" for status, _, _ in said.values()))

    def _fit(self, way: str) -> tuple[tuple[int, str, str], Any]:
        """Return the status, what is said on stdout and stderr when a model is fitted to the input, and what it is."""
        shutil.rmtree(self.folder / "in", ignore_errors=True)
        (self.folder / "in").mkdir()
        path = self.folder / "in" / "a.csv"
        path.write_bytes(self.input)
        model, more = self.folder / "model.suffice", []
        source = path
        if way == "local":
            more = ["--engine", "local"]
        elif way in ("folder", "pattern"):
            (self.folder / "in" / "b.csv").write_bytes(self.input)
            source = self.folder / "in" if way == "folder" else self.folder / "in" / "*.csv"
        elif way in ("gz", "bz2"):
            source = path.with_suffix(f".csv.{way}")
            source.write_bytes((gzip if way == "gz" else bz2).compress(self.input))
        words = ["fit", str(source), "--target", "target", "--model", "nb", "-o", str(model), *more]
        out, err, found = io.StringIO(), io.StringIO(), None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
            if status == 0:
                fitted = load(model)
                assert fitted.classes_.tolist(), "a model without classes"
                found = (
                    fitted.classes_.tolist(),
                    fitted.statistics_.rows,
                    repr(fitted._fitted.schema),
                    repr(fitted._fitted.past.dialect),
                )
                status = main(["show", str(model)])
        model.unlink(missing_ok=True)
        return (status, "", err.getvalue()), found
