"""Parquet and Arrow files with changed bytes, read by every way in, in a process of their own.

An offset that points beyond its buffer ends the process that believes it, without any exception. So the command runs in
a child, which is started again when it dies; that it died is the finding. A table is read, or refused in one line.
"""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 60
LONGEST = 60.0  # seconds of computing for one file


def table() -> Any:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "a": rng.normal(size=ROWS),
            "i": rng.integers(0, 50, ROWS),
            "s": [None if i % 7 == 0 else "xyz"[i % 3] * (1 + i % 4) for i in range(ROWS)],
            "b": [bool(i % 2) for i in range(ROWS)],
            "d": pa.array(["pq"[i % 2] for i in range(ROWS)]).dictionary_encode(),
            "y": ["u" if i % 3 else "v" for i in range(ROWS)],
        }
    )


def _parquet(**options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table(), buffer, **options)
    return buffer.getvalue()


def _arrow(make: Any, **options: Any) -> bytes:
    buffer, rows = io.BytesIO(), table()
    with make(buffer, rows.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(rows)
    return buffer.getvalue()


def files() -> dict[str, bytes]:
    """A table in every encoding that the two formats are met in."""
    encodings = {"i": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "a": "BYTE_STREAM_SPLIT"}
    return {
        "plain.parquet": _parquet(use_dictionary=False, compression="none"),
        "dictionary.parquet": _parquet(compression="none"),
        "snappy.parquet": _parquet(),
        "zstd.parquet": _parquet(compression="zstd"),
        "pages2.parquet": _parquet(data_page_version="2.0", compression="none"),
        "delta.parquet": _parquet(use_dictionary=False, column_encoding=encodings, compression="none"),
        "groups.parquet": _parquet(row_group_size=20, compression="gzip"),
        "sums.parquet": _parquet(write_page_checksum=True, compression="none"),
        "file.arrow": _arrow(pa.ipc.new_file),
        "zstd.arrow": _arrow(pa.ipc.new_file, compression="zstd"),
        "lz4.feather": _arrow(pa.ipc.new_file, compression="lz4"),
        "stream.arrow": _arrow(pa.ipc.new_stream),
    }


def changed(data: bytes, pick: random.Random) -> bytes:
    """Return a file with a few bytes changed, more often than not where it describes itself."""
    out = bytearray(data)
    for _ in range(pick.choice([1, 1, 1, 2, 5])):
        at = pick.randrange(len(out))
        if pick.random() < 0.3:
            at = len(out) - 1 - pick.randrange(min(len(out), 1500))
        out[at] = pick.choice([0, 1, 0x7F, 0x80, 0xFF, pick.randrange(256), out[at] ^ (1 << pick.randrange(8))])
    if pick.random() < 0.05:
        del out[pick.randrange(len(out)) :]
    return bytes(out)


class ArrowFiles:
    """Tries one changed file at a time in a child process."""

    ending = ".bin"

    def __init__(self, folder: Path) -> None:
        self.folder, self.files, self.input, self.child = folder, files(), b"", None
        model, whole = folder / "model.suffice", folder / "whole.parquet"
        whole.write_bytes(self.files["snappy.parquet"])
        self.ways = [
            ["fit", "DATA", "--target", "y", "--model", "nb", "-o", folder / "out.suffice"],
            ["fit", "DATA", "--target", "y", "--model", "nb", "--engine", "local", "-o", folder / "out.suffice"],
            ["predict", model, "DATA", "-o", folder / "out.csv"],
            ["impute", model, "DATA", "-o", folder / "out.arrow"],
            ["update", model, "DATA", "--target", "y", "-o", folder / "out.suffice"],
        ]
        words = [str(word).replace("DATA", str(whole)) for word in self.ways[0]]
        words[-1] = str(model)
        said = self._ask(words)
        assert said == "read", f"the table itself cannot be learned: {said}"

    def try_one(self, pick: random.Random) -> str:
        """Change a file and give it to a command; an AssertionError says what was not as it should be."""
        name = pick.choice(sorted(self.files))
        self.input = changed(self.files[name], pick)
        self.ending = "." + name
        path = self.folder / f"data{Path(name).suffix}"
        path.write_bytes(self.input)
        way = pick.choice(self.ways)
        said = self._ask([str(path) if word == "DATA" else str(word) for word in way])
        assert said in ("read", "refused"), f"{name}, {way[0]}: {said}"
        return f"{Path(name).suffix}: {said}"

    def _ask(self, words: list[str]) -> str:
        if self.child is None:
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            command = [sys.executable, __file__, "child"]
            self.child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
            )
        self.child.stdin.write(("\t".join(words) + "\n").encode())
        self.child.stdin.flush()
        answer = self.child.stdout.readline().decode().strip()
        if not answer:
            child, self.child = self.child, None
            child.stdin.close()
            child.stdout.close()
            status = child.wait()
            return f"the process ended with status {status}"
        return answer

    def close(self) -> None:
        """End the child."""
        if self.child is not None:
            self.child.stdin.close()
            self.child.stdout.close()
            self.child.wait()


def _serve() -> None:
    """Run command lines from stdin, and say on stdout what became of each."""
    import contextlib
    import resource
    import signal

    from suffice.__main__ import main

    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, LONGEST)  # whose signal ends the process
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([*line.rstrip("\n").split("\t"), "--quiet"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        said = [line for line in err.getvalue().splitlines() if line.strip()]
        if status == 0:
            answer = "read"
        elif (
            status == 1 and len(said) == 1 and said[0].startswith("suffice: ") and "an unexpected error" not in said[0]
        ):
            answer = "refused"
        else:
            answer = f"status {status}: {' '.join(said)[:300]}"
        print(answer, flush=True)


if __name__ == "__main__":
    _serve()
