"""`suffice demo`: the whole job on the penguins table, said so that a newcomer can follow.

Everything is done by the commands that are shown; their files stay in a folder.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from cyclopts import Parameter

from ..datasets import penguins_path
from ..errors import DataError, SourceError
from .app import run
from .output import COMMON, WIDTH, Common, print_json

NEW_PENGUINS = """\
island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year
Dream,48.1,18.6,193,3650,female,2008
Dream,42.5,,,,female,2009
,,15.1,,,,
,,,,,,
Biscoe,47.2,14.8,2170,5150,male,2008
"""
MORE_PENGUINS = """\
species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year
Chinstrap,Dream,48.1,18.6,193,3650,female,2008
Gentoo,Biscoe,47.2,14.8,217,5150,male,2008
Adelie,Torgersen,38.9,18.4,,3700,,2009
"""


class Files(NamedTuple):
    """What the demonstration leaves in its folder."""

    table: Path
    model: Path
    new: Path
    more: Path


class DemoError(DataError):
    """A command of the demonstration failed, and has said why."""


def demo(
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"), metavar="FOLDER")] = Path("demo"),
    common: Common = COMMON,
) -> None:
    """Do the whole job on a table of 344 penguins: compare models, fit one, and ask it about new penguins.

    The table comes with suffice, so nothing is downloaded, and nothing is opened. The commands that are run are shown;
    their files stay in a folder, where the examples of every command's help can then be tried.

    Parameters
    ----------
    output
        Folder for the files; made if there is none.

    Examples
    --------
    $ suffice demo -o penguins
    """
    files = _prepare(output)
    heard = io.StringIO()
    silent = common.quiet or common.json
    with contextlib.redirect_stdout(heard) if silent else contextlib.nullcontext():
        try:
            _tour(files)
        except DemoError:
            if silent:
                print(heard.getvalue(), file=sys.stderr)
            raise
    if common.json:
        print_json({"folder": str(output), "files": [str(path) for path in files]})


def main() -> int:
    """Run the demonstration as a command; return the exit status."""
    return run(["demo"])


def _prepare(folder: Path) -> Files:
    """Write the tables into the folder."""
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError:
        raise SourceError.unwritable(folder, "there is a file of this name") from None
    except FileNotFoundError:
        raise SourceError.unwritable(folder, f"there is no folder {str(folder.parent)!r}") from None
    names = ("penguins.csv", "penguins.suffice", "new-penguins.csv", "more.csv")
    files = Files(*(folder / name for name in names))
    shutil.copyfile(penguins_path(), files.table)
    files.new.write_text(NEW_PENGUINS, encoding="utf-8")
    files.more.write_text(MORE_PENGUINS, encoding="utf-8")
    return files


def _tour(files: Files) -> None:
    """Compare, fit and ask, telling what is done and what came out."""
    print("Which species is this penguin?\n")
    print(f"{files.table} has 344 penguins: species, island, four measurements, sex and year.")
    print("Eleven rows have empty cells. They are used as they are: nothing is filled in or thrown away.\n")
    print("1. Which kind of model suits? Each one is judged on penguins it has not seen.")
    _command("compare", files.table, "--target", "species")
    print("2. Fit the automatic classifier, several models pooled, on all rows, and save it.")
    _command("fit", files.table, "--target", "species", "-o", files.model)
    print(f"3. Ask it about five new penguins, known in part ({files.new}). Numbers are rounded here.")
    _command("predict", files.model, files.new)
    print("4. Why? Of the fourth nothing is known: it gets the species that is most common in the table.")
    _command("explain", files.model, files.new, "--top", "2")
    print("5. Are any of them unlike those in the table? The fifth is: a flipper of 2 metres is a typing error.")
    _command("outliers", files.model, files.new, "--below", "0.01")
    print("6. Look into the model, or try your own table.")
    for words in (("show", files.model), ("--help",)):
        print(f"   $ {_shown(words)}")


def _command(*words: str | Path) -> None:
    """Print a command line, run it, and print what it says, long numbers rounded; DemoError if it fails."""
    print(f"   $ {_shown(words)}\n")
    said = io.BytesIO()
    heard = io.TextIOWrapper(said, encoding="utf-8", write_through=True)  # tables are written as bytes
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        status = run([str(word) for word in words])
    text = re.sub(r"-?\d+\.\d{6,}(e-\d+)?", lambda number: f"{float(number[0]):.4g}", said.getvalue().decode())
    for line in text.splitlines():
        long = line.startswith(("Note", "Judged", "P-values")) and len(line) > WIDTH
        for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ") if long else [line]:
            print(f"   {part}".rstrip())
    print()
    if status:
        raise DemoError(f"a step of the demonstration failed: {_shown(words)}. Next: see what it says above.")


def _shown(words: Sequence[str | Path]) -> str:
    """Return a command line as it can be typed here: by its path where `suffice` is not on the search path."""
    name = "suffice"
    if shutil.which(name) is None:
        beside = Path(sys.executable).with_name(name)
        here = Path.cwd()
        name = str(beside.relative_to(here)) if beside.is_relative_to(here) else str(beside)
    return shlex.join([name, *map(str, words)])


if __name__ == "__main__":
    sys.exit(main())
