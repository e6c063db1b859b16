"""Columns asked for cell by cell as a file has them."""

from __future__ import annotations

AS_WRITTEN = "\0"  # in front of the name of a column that is asked for so; no name in a CSV holds it


def as_written(name: str) -> str:
    """Return the name by which a file gives a column as it stands: of a CSV its text, else texts with their spaces."""
    return AS_WRITTEN + name
