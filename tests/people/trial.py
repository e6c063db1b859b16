"""Write what every command says of the twelve awkward tables, as a table in Markdown.

    python tests/people/trial.py FOLDER

FOLDER receives the files, the models and the pages, so that they can be looked at.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from awkward import TABLES, Awkward

SAID = 160  # characters of what a command says that are shown


def commands(own: Awkward) -> dict[str, list[str]]:
    """Return the words of every command, by its name."""
    learn, new, model = own.learn.name, own.new.name, "model.suffice"
    sheet = list(own.options[:2]) if own.options[:1] == ("--sheet",) else []
    target = ["--target", own.target]
    reading = list(own.options) if "--auto-drop" not in own.options else []
    compare = [word for word in reading if word not in ("--ordered", "risk=Low,Medium,High")]  # fit alone takes it
    return {
        "look": ["look", learn, *target, *sheet],
        "compare": ["compare", learn, *target, *compare],
        "fit": ["fit", learn, *target, *own.options, "-o", model],
        "show": ["show", model],
        "predict": ["predict", model, new, *sheet, "-o", "answers.csv"],
        "score": ["score", model, new, *target, *sheet],
        "explain": ["explain", model, new, *sheet],
        "next": ["next", model, new, *sheet],
        "outliers": ["outliers", model, new, *sheet],
        "impute": ["impute", model, new, *sheet, "-o", "filled.csv"],
        "labels": ["labels", learn, *target, *compare],
        "drift": ["drift", model, new, *target, *sheet],
        "columns": ["columns", model],
        "sample": ["sample", model, "--rows", "5"],
        "report": ["report", model, new, *sheet, "-o", "page.html"],
        "sql": ["export", model, "--to", "sql", "--dialect", "sqlite", "--table", "t", "-o", "query.sql"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    asked = parser.parse_args()
    print("| table | command | exit | s | said |\n|---|---|---|---|---|")
    for name in asked.tables:
        folder = asked.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        own = TABLES[name](folder)
        for command, words in commands(own).items():
            begin = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "suffice", *words], cwd=folder, capture_output=True, text=True, check=False
            )
            spent = time.perf_counter() - begin
            (folder / f"{command}.out").write_text(done.stdout, encoding="utf-8")
            (folder / f"{command}.err").write_text(done.stderr, encoding="utf-8")
            text = (done.stderr or done.stdout).strip().replace("\n", " / ").replace("|", "\\|")
            print(f"| {name} | {command} | {done.returncode} | {spent:.1f} | {text[:SAID]} |", flush=True)


if __name__ == "__main__":
    main()
