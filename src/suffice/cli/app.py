"""All commands, and the program they are commands of."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from cyclopts import App

from . import running

# The file and function of each, and what it is for: the first line of its help, so that a list need not read them all.
COMMANDS = {
    "look": (
        "look:look",
        "Say what is in a table before any model is fitted to it: its columns, and what to look at first.",
    ),
    "fit": ("fit:fit", "Learn a model from a table and save it to a file."),
    "predict": ("predict:predict", "Label the rows of a table, with the probability of each class."),
    "score": ("score:score", "Say how good a model is at rows it has not learned, whose classes are known."),
    "explain": (
        "explain:explain",
        "Say of each row which columns speak for its class against the next most probable one.",
    ),
    "outliers": ("outliers:outliers", "Say of each row how likely a row of the model is at least as far out."),
    "next": (
        "next:next_",
        "Say of each row which missing cells to ask for next: those expected to tell most of its class.",
    ),
    "labels": ("labels:labels", "Say which labels of a table are probably wrong."),
    "columns": ("columns:columns", "Say what each column is worth, and which few columns serve as well as all."),
    "drift": (
        "drift:drift",
        "Say what has moved between the rows a model has learned and those of a table, or of another model.",
    ),
    "impute": ("impute:impute", "Fill the missing cells of a table, from what is observed in each row."),
    "sample": (
        "sample:sample",
        "Draw new rows from a model: their class in a column `label`, then the columns the model was fitted on.",
    ),
    "show": (
        "show:show",
        "Say what a model is: its classes, how good it is, and what it learned of each column.",
    ),
    "report": (
        "report:report",
        "Write a web page about a model: how good it is, its classes and columns, pictures, and what was repaired.",
    ),
    "export": (
        "export:export",
        "Write a model in a language that scores rows without Python: a SQL query, or an ONNX file.",
    ),
    "compare": ("compare:compare", "Compare models on a table, each judged on rows it has not seen."),
    "update": ("edit:update", "Add the rows of a table to what a model has learned."),
    "forget": ("edit:forget", "Remove the rows of a table from what a model has learned."),
    "merge": ("edit:merge", "Make one model of several: the model of all their rows."),
    "drop-class": ("edit:drop_class", "Remove classes, with all their rows, from a model."),
    "rename-class": (
        "edit:rename_class",
        "Give classes of a model other labels; classes given one label become one class.",
    ),
    "release": (
        "release:release",
        "Make a model file for others: no row is in it, and no number that sums over few rows.",
    ),
    "demo": (
        "demo:demo",
        "Do the whole job on a table of 344 penguins: compare models, fit one, and ask it about new penguins.",
    ),
    "completion": (
        "completion:completion",
        "Print a script that teaches a shell to complete commands, options, their values and file names.",
    ),
}


def command(name: str) -> running.Command:
    """Return the function behind a command, its file read now."""
    file, _, function = COMMANDS[name][0].partition(":")
    found: running.Command = getattr(import_module(f".{file}", __package__), function)
    return found


def build(read: Sequence[str] = tuple(COMMANDS)) -> App:
    """Return the tree of all commands; of those not to `read` the names and first lines alone."""
    app = running.program()
    for name, (place, summary) in COMMANDS.items():
        if name in read:
            running.add(app, name, command(name))
        else:
            app.command(f"{__package__}.{place}", name=name, help=summary)
    return app


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    return running.run(lambda: build(argv[:1]), argv, list(COMMANDS))
