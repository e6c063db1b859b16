"""Errors about files, columns and combinations of options, in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Self

from ..errors import DataError, SchemaError, SourceError, quoted

MOST_FILES = 10_000  # of a folder, looked through for a name nearly like the one given


class UsageProblem(Exception):
    """The options do not fit together; the command ends with status 2."""


class FileProblem(SourceError):
    """A table cannot be read or written."""

    @classmethod
    def absent(cls, path: object) -> Self:
        """Say that there is no such file, and which file of that folder is called nearly the same."""
        wanted = Path(str(path))
        if wanted.parent.is_dir():
            known = [
                file.name
                for file in islice(wanted.parent.iterdir(), MOST_FILES)
                if file.is_file() and not file.name.startswith(".")  # locks, for one
            ]
            near = closest(wanted.name, known)
            if near:
                found = str(wanted.with_name(near[0]))
                return cls(f"There is no file {str(path)!r}. Next: check the name; did you mean {found!r}?")
        elif wanted.parent.name:
            return cls(f"There is no file {str(path)!r}, nor the folder {str(wanted.parent)!r}. Next: check the name.")
        return super().absent(path)

    @classmethod
    def folder(cls, path: object) -> FileProblem:
        return cls(f"{str(path)!r} is a folder, not a file. Next: name one file in it.")

    @classmethod
    def empty(cls, path: object) -> FileProblem:
        return cls(f"{str(path)!r} is empty. Next: give a table with a line of column names and at least one row.")

    @classmethod
    def only_names(cls, path: object, columns: int) -> FileProblem:
        return cls(f"{str(path)!r} has {count(columns, 'column')} and no rows. Next: give at least one row.")

    @classmethod
    def no_model(cls, path: object) -> FileProblem:
        return cls(
            f"{str(path)!r} holds something other than a model, and would be lost. Next: choose another name, or add "
            "--force to replace it."
        )

    @classmethod
    def overwrites(cls, path: object, what: str) -> FileProblem:
        return cls(f"--output {str(path)!r} is the {what} itself, and would replace it. Next: choose another name.")


class ColumnProblem(SchemaError):
    """A column is not there, or cannot be what the command line was told it is."""

    @classmethod
    def absent(cls, names: Sequence[str], columns: Sequence[str], path: object, role: str) -> ColumnProblem:
        """Name missing columns, what they were wanted for, and the closest names there are."""
        some = list(dict.fromkeys(near for name in names for near in closest(name, columns)))
        known = (
            f"the closest {'is' if len(some) == 1 else 'are'} {quoted(some)}" if some else f"it has {quoted(columns)}"
        )
        one = len(names) == 1
        return cls(
            f"{str(path)!r} has no column{'' if one else 's'} {quoted(names)} {role}; {known}. "
            "Next: correct the spelling, or rename the column in the table."
        )

    @classmethod
    def needed(cls, names: Sequence[str], columns: Sequence[str], path: object) -> ColumnProblem:
        """Name columns of a model that a table lacks, and the option that does without them."""
        told = cls.absent(names, columns, path, "which the model needs")
        return cls(f"{told} Commands that answer for a table do without them by --missing-columns missing.")

    @classmethod
    def unusable(cls, message: object, names: Sequence[str]) -> ColumnProblem:
        """Add to a refusal of the library how to leave the columns out here."""
        return cls(f"{message} On the command line: {drop_flags(names)}")

    @classmethod
    def no_values(cls, names: Sequence[str]) -> ColumnProblem:
        one = len(names) == 1
        return cls(
            f"{'Column' if one else 'Columns'} {quoted(names)} {'has' if one else 'have'} no value in any "
            "row, and there is no other column to learn from. Next: add columns with values."
        )

    @classmethod
    def nothing_left(cls, target: str) -> ColumnProblem:
        return cls(f"There is no column left to learn {target!r} from. Next: leave fewer out.")

    @classmethod
    def no_numbers(cls, model: str, names: Sequence[str]) -> ColumnProblem:
        return cls(
            f"--model {model} learns from numeric and boolean columns, and {quoted(names)} "
            f"{'holds' if len(names) == 1 else 'hold'} text. "
            "Next: use --model nb, which takes both."
        )


class TargetProblem(DataError):
    """The target column does not name classes that could be told apart."""

    @classmethod
    def one_class(cls, target: str, label: object, rows: int) -> TargetProblem:
        return cls(
            f"Column {target!r} holds one class only, {label!r}, in all of the {count(rows, 'row')} with a label: "
            "there is nothing to tell apart. Next: choose another --target, or add rows of another class."
        )

    @classmethod
    def no_label(cls, target: str, rows: int) -> TargetProblem:
        return cls(f"Column {target!r} has no label in any of the {rows} rows. Next: choose another --target.")

    @classmethod
    def not_classes(cls, target: str, what: str) -> TargetProblem:
        return cls(
            f"Column {target!r} holds {what}, and a target holds classes: text, whole numbers, or true and false. "
            "Next: choose another --target, or turn it into classes first."
        )

    @classmethod
    def measured(cls, target: str, what: str) -> TargetProblem:
        return cls(
            f"Column {target!r} holds {what}, and a target holds classes. Next: choose another --target, turn it into "
            "classes first, or take every different text for a class with --labels text."
        )

    @classmethod
    def other_labels(cls, target: str, label: str, what: str, classes: Sequence[object]) -> TargetProblem:
        return cls(
            f"Column {target!r} holds {label!r}, and the classes of the model are {quoted(classes)}: a label is "
            f"{what}. Next: correct the label."
        )


class WeightProblem(DataError):
    """The weight column does not hold weights."""

    @classmethod
    def of(cls, column: str, what: str) -> WeightProblem:
        return cls(
            f"Column {column!r} cannot be the weight of the rows: {what}. Next: weights count copies of a row, so they "
            "are finite numbers of at least 0, not all 0."
        )


def closest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three names written nearly like this one, in small or large letters, the nearest first."""
    lower = {word.lower(): word for word in known}
    return [lower[near] for near in get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]


def did_you_mean(name: str, known: Sequence[str], what: str) -> str:
    """Return a clause that says what there is instead of a name: the nearest names, or all of them."""
    near = closest(name, known)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"{what} {quoted(known)}."


def drop_flags(names: Sequence[str], option: str = "--drop") -> str:
    """Return the options that leave these columns out, or another one for each, ready to paste."""
    return " ".join(f"{option} {quote(name)}" for name in names)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 1,000 rows, 2 classes."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
