"""`suffice demo`: the whole job on the penguins table, said so that a newcomer can follow.

Everything is done by the commands that are shown; their files stay in a folder.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from cyclopts import Parameter

from ..datasets import penguins_path
from ..errors import DataError
from .answers import load_model
from .app import run
from .files import read_table
from .output import COMMON, WIDTH, Common, FileProblem, print_json
from .show import percent

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
TINY = 1e-9
COMMENTS = (
    "",
    "",
    "",
    "Nothing is known, so the answer is how common each species is in the table.",
    "Sure of itself, but look at log_density: {density}",
)
WORDS = {
    "island": "{}",
    "bill_length_mm": "bill {} mm long",
    "bill_depth_mm": "bill {} mm deep",
    "flipper_length_mm": "flipper {} mm",
    "body_mass_g": "{} g",
    "sex": "{}",
    "year": "{}",
}


class Files(NamedTuple):
    """What the demonstration leaves in its folder."""

    table: Path
    model: Path
    new: Path
    more: Path
    answers: Path


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
        raise FileProblem.unwritable(folder, "there is a file of this name") from None
    except FileNotFoundError:
        raise FileProblem.unwritable(folder, f"there is no folder {str(folder.parent)!r}") from None
    names = ("penguins.csv", "penguins.suffice", "new-penguins.csv", "more.csv", "answers.csv")
    files = Files(*(folder / name for name in names))
    shutil.copyfile(penguins_path(), files.table)
    files.new.write_text(NEW_PENGUINS, encoding="utf-8")
    files.more.write_text(MORE_PENGUINS, encoding="utf-8")
    return files


def _tour(files: Files) -> None:
    """Compare, fit and predict, telling what is done and what came out."""
    print("Which species is this penguin?\n")
    print(f"{files.table} has 344 penguins: species, island, four measurements, sex and year.")
    print("Eleven rows have empty cells. They are used as they are: nothing is filled in or thrown away.\n")
    print("1. Which kind of model suits? Each one is judged on penguins it has not seen.")
    _command("compare", files.table, "--target", "species")
    print("2. Fit the automatic classifier, several models pooled, on all rows, and save it.")
    _command("fit", files.table, "--target", "species", "-o", files.model)
    print(f"3. Ask it about five new penguins, most of them known in part ({files.new}).")
    _command("predict", files.model, files.new, "-o", files.answers)
    print("   For each penguin, what is known, what is missing, and how probable each species is:\n")
    _explain_answers(files)
    print("4. Look into the model, or try your own table.")
    for words in (("show", files.model), ("--help",)):
        print(f"   $ {_shown(words)}")


def _command(*words: str | Path) -> None:
    """Print a command line, run it, and print what it says; DemoError if it fails."""
    print(f"   $ {_shown(words)}\n")
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        status = run([str(word) for word in words])
    for line in heard.getvalue().splitlines():
        long = line.startswith(("Note", "Judged")) and len(line) > WIDTH
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


def _explain_answers(files: Files) -> None:
    """Print the answers file row by row in words."""
    model = load_model(files.model)
    rows, answers = read_table(files.new).to_pylist(), read_table(files.answers).to_pylist()
    complete = read_table(files.table).select(model.feature_names_in_.tolist()).drop_null()
    seen = model.score_samples(complete)
    for number, (row, answer, comment) in enumerate(zip(rows, answers, COMMENTS, strict=True), start=1):
        known = [WORDS[name].format(value) for name, value in row.items() if value is not None]
        missing = [name for name, value in row.items() if value is None]
        print(f"   {number}. {', '.join(known) or 'a penguin nobody looked at'}")
        if missing:
            print(f"      missing: {', '.join(missing)}")
        shares = sorted(((answer[f"p_{label}"], label) for label in model.classes_), reverse=True)
        # A posterior is never certain: 1.0 and 0.0 are roundings.
        print("      -> " + ", ".join(f"{name} {percent(min(max(p, TINY), 1 - TINY))}" for p, name in shares))
        if comment:
            density = (
                f"{answer['log_density']:,.0f}. The least likely complete penguin\n      in the table has "
                f"{seen.min():.0f}, so this is like none of them: a flipper of 2 metres is a typing error."
            )
            print(f"      {comment.format(density=density)}")
    print()


if __name__ == "__main__":
    sys.exit(main())
