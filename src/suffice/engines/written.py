"""Columns asked for cell by cell as a file has them."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import SourceError

AS_WRITTEN = "\0"  # in front of the name of a column that is asked for so; no name begins with it: `check_names`


def as_written(name: str) -> str:
    """Return the name by which a file gives a column as it stands: of a CSV its text, else texts with their spaces."""
    return AS_WRITTEN + name


def check_names(where: str, names: Iterable[str]) -> None:
    """Raise SourceError where a column's own name would read as one that asks for another as it is written."""
    for name in names:
        if name.startswith(AS_WRITTEN):
            raise SourceError.begins_with_nul(where, name)
