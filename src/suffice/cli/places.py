"""Files at the wrong place of a command line: a table where a model is expected, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import join

from .._files import format_of

MODEL_DATA = (  # whose first word is a model and whose second, where there is one, a table
    *("predict", "score", "explain", "outliers", "next", "drift", "impute", "update", "forget", "report"),
)
MODEL_ONLY = ("show", "columns", "sample", "release", "export", "drop-class", "rename-class")
DATA_ONLY = ("fit", "compare", "labels")


def misplaced(argv: Sequence[str]) -> str | None:
    """Return what to say where files stand in each other's places, None where they do not; asked after a failure."""
    command, files = (argv[0] if argv else ""), [word for word in argv[1:] if is_file(word)]
    if not files or not argv[1:] or argv[1] != files[0]:
        return None  # options before the files: what stands where is not plain
    models = [is_model(word) for word in files]
    if command in MODEL_DATA and len(files) > 1 and argv[2] == files[1] and models[:2] == [False, True]:
        right = join(["suffice", command, files[1], files[0], *argv[3:]])
        return f"{command} takes the model first and then the table, and {files[0]!r} is no model. Next: {right}"
    if command in (*MODEL_DATA, *MODEL_ONLY) and not models[0] and format_of(Path(files[0])) is not None:
        return (
            f"{files[0]!r} is a table, and {command} takes a model first. Next: give a file that `suffice fit` wrote."
        )
    wanted = 0 if command in DATA_ONLY else 1
    is_data = command in DATA_ONLY or (command in MODEL_DATA and command != "drift" and argv[2:3] == files[1:2])
    if is_data and len(files) > wanted and models[wanted]:
        return f"{files[wanted]!r} is a model, and {command} takes a table there. Next: give the file with the rows."
    return None


def is_file(word: str) -> bool:
    """Return whether a word of the command line names a file that there is."""
    try:
        return not word.startswith("-") and Path(word).is_file()
    except OSError:  # a name that cannot be one
        return False


def is_model(word: str) -> bool:
    """Return whether a file begins as models do."""
    from ..files.model_file import holds_model

    try:
        return holds_model(word)
    except OSError:
        return False
