"""What `-o` may be: a place for a file, a device, a FIFO; never the end of something else."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from suffice import load
from suffice.cli.app import run

ROWS = "".join(f"{i % 7}.5,{i % 5}.25,{'pq'[i % 2]}\n" for i in range(40))
posix = pytest.mark.skipif(os.name != "posix", reason="devices, links and modes of POSIX")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("a,b,y\n" + ROWS)
    assert run(["fit", "d.csv", "--target", "y", "--model", "nb", "-o", "m.suffice", "--quiet"]) == 0
    return tmp_path


FIT = ["fit", "d.csv", "--target", "y", "--model", "nb", "--quiet"]
EDITS = {
    "fit": FIT,
    "update": ["update", "m.suffice", "d.csv", "--target", "y"],
    "forget": ["forget", "m.suffice", "few.csv", "--target", "y"],
    "merge": ["merge", "m.suffice", "m.suffice", "--again"],
    "drop-class": ["drop-class", "m.suffice", "p"],
    "rename-class": ["rename-class", "m.suffice", "p=r"],
    "release": ["release", "m.suffice"],
}


@pytest.mark.parametrize("verb", EDITS)
def test_a_model_destroys_nothing_else_without_force(folder, capsys, verb):
    (folder / "few.csv").write_text("a,b,y\n" + ROWS[: ROWS.index("\n") + 1])
    (folder / "notes.txt").write_text("my only copy")
    (folder / "table.csv").write_text("a,b\n1,2\n")
    assert run([*EDITS[verb], "-o", "notes.txt"]) == 1
    assert "holds something other than a model" in capsys.readouterr().err
    assert run([*EDITS[verb], "-o", "table.csv"]) == 2
    assert "the ending of a table" in capsys.readouterr().err
    assert run([*EDITS[verb], "-o", "new.parquet"]) == 2
    assert (folder / "notes.txt").read_text() == "my only copy"
    assert (folder / "table.csv").read_text() == "a,b\n1,2\n"
    assert not (folder / "new.parquet").exists()
    assert run([*EDITS[verb], "-o", "notes.txt", "--force"]) == 0
    assert load(folder / "notes.txt").statistics_.rows > 0
    assert run([*EDITS[verb], "-o", "new.parquet", "--force"]) == 0


def test_force_does_not_replace_the_table_that_is_read(folder):
    assert run([*FIT, "-o", "d.csv", "--force"]) == 1
    assert (folder / "d.csv").read_text() == "a,b,y\n" + ROWS


OUTPUTS = {
    "csv": ["predict", "m.suffice", "d.csv", "-o", "out.csv"],
    "parquet": ["predict", "m.suffice", "d.csv", "-o", "out.parquet"],
    "sql": ["export", "m.suffice", "--to", "sql", "-o", "out.sql"],
    "model": ["update", "m.suffice", "d.csv", "--target", "y", "-o", "out.suffice"],
}


@posix
@pytest.mark.parametrize("kind", OUTPUTS)
def test_read_only_files_and_hard_links_are_refused_by_every_command(folder, capsys, kind):
    command = OUTPUTS[kind]
    out = folder / command[-1]
    assert run(command) == 0
    held = out.read_bytes()
    out.chmod(0o440)
    assert run(command) == 1
    assert "read-only" in capsys.readouterr().err
    out.chmod(0o620)
    assert run(command) == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o620
    (folder / "other").hardlink_to(out)
    assert run(command) == 1
    assert "hard links" in capsys.readouterr().err
    assert out.read_bytes() == (folder / "other").read_bytes() == held
    assert out.samefile(folder / "other")


@posix
@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_fifo_receives_what_a_file_would_hold(folder, kind):
    command, found = OUTPUTS[kind], []
    assert run(command) == 0
    fifo = folder / f"fifo{command[-1][3:]}"
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: found.append(fifo.read_bytes()))
    reader.start()
    assert run([*command[:-1], str(fifo)]) == 0
    reader.join(60)
    assert found == [(folder / command[-1]).read_bytes()]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


@posix
def test_a_device_is_written_into(folder):
    before = Path(os.devnull).stat()
    assert run([*FIT, "-o", os.devnull]) == 0
    after = Path(os.devnull).stat()
    assert (after.st_rdev, after.st_ino) == (before.st_rdev, before.st_ino)
    code = "import sys; from suffice.cli.app import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, *FIT, "-o", "/dev/stdout"], capture_output=True, check=True)
    (folder / "piped.suffice").write_bytes(done.stdout)
    assert load(folder / "piped.suffice").statistics_.rows == 40
