"""`python -m suffice.cli.demo`: the whole job on the penguins table, said so that a newcomer can follow.

Everything is done by the commands that are shown; their files stay in the folder `demo`.
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
from typing import Any

from ..datasets import penguins_path
from .app import run
from .comparison import NOTE_WIDTH
from .show import percent

FOLDER = Path("demo")
TABLE, MODEL, NEW, ANSWERS = (
    FOLDER / f"{name}" for name in ("penguins.csv", "penguins.suffice", "new-penguins.csv", "answers.csv")
)

NEW_PENGUINS = """\
island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year
Dream,48.1,18.6,193,3650,female,2008
Dream,42.5,,,,female,2009
,,15.1,,,,
,,,,,,
Biscoe,47.2,14.8,2170,5150,male,2008
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


def main() -> int:
    """Compare, fit and predict on the penguins table; return the exit status."""
    FOLDER.mkdir(exist_ok=True)
    shutil.copyfile(penguins_path(), TABLE)
    NEW.write_text(NEW_PENGUINS, encoding="utf-8")
    print("Which species is this penguin?\n")
    print(f"{TABLE} has 344 penguins: species, island, four measurements, sex and year.")
    print("Eleven rows have empty cells. They are used as they are: nothing is filled in or thrown away.\n")
    print("1. Which kind of model suits? Each one is judged on penguins it has not seen.")
    status = _command("compare", TABLE, "--target", "species")
    print("2. Fit the automatic classifier, several models pooled, on all rows, and save it.")
    status = status or _command("fit", TABLE, "--target", "species", "-o", MODEL)
    print(f"3. Ask it about five new penguins, most of them known in part ({NEW}).")
    status = status or _command("predict", MODEL, NEW, "-o", ANSWERS)
    if status:
        return status
    print("   For each penguin, what is known, what is missing, and how probable each species is:\n")
    _explain_answers()
    print("4. Look into the model, or try your own table.")
    for words in (("show", MODEL), ("--help",)):
        print(f"   $ {_shown(words)}")
    return 0


def _command(*words: str | Path) -> int:
    """Print a command line, run it, and print what it says."""
    print(f"   $ {_shown(words)}\n")
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        status = run([str(word) for word in words])
    for line in heard.getvalue().splitlines():
        long = line.startswith("Note") and len(line) > NOTE_WIDTH
        for part in textwrap.wrap(line, NOTE_WIDTH, subsequent_indent="  ") if long else [line]:
            print(f"   {part}".rstrip())
    print()
    return status


def _shown(words: Sequence[str | Path]) -> str:
    """Return a command line as it can be typed here: by its path where `suffice` is not on the search path."""
    name = "suffice"
    if shutil.which(name) is None:
        beside = Path(sys.executable).with_name(name)
        here = Path.cwd()
        name = str(beside.relative_to(here)) if beside.is_relative_to(here) else str(beside)
    return shlex.join([name, *map(str, words)])


def _explain_answers() -> None:
    """Print the answers file row by row in words."""
    from .. import load
    from .files import read_table

    model = load(MODEL)
    rows, answers = read_table(NEW).to_pylist(), read_table(ANSWERS).to_pylist()
    complete = read_table(TABLE).select(model.feature_names_in_.tolist()).drop_null()
    seen = model.score_samples(complete)
    for number, (row, answer, comment) in enumerate(zip(rows, answers, COMMENTS, strict=True), start=1):
        known, missing = _describe(row)
        print(f"   {number}. {known}")
        if missing:
            print(f"      missing: {missing}")
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


def _describe(row: dict[str, Any]) -> tuple[str, str]:
    known = [WORDS[name].format(value) for name, value in row.items() if value is not None]
    missing = [name for name, value in row.items() if value is None]
    return ", ".join(known) or "a penguin nobody looked at", ", ".join(missing)


if __name__ == "__main__":
    sys.exit(main())
