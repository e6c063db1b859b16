"""Example tables that come with the package, as files to read with any library."""

from __future__ import annotations

from pathlib import Path


def penguins_path() -> Path:
    """Return the path of the Palmer penguins table: 344 rows of CSV, some cells missing; see `penguins.md` beside it.

    Examples
    --------
    >>> from suffice.datasets import penguins_path
    >>> penguins_path().read_text().splitlines()[0].split(",")[:3]
    ['species', 'island', 'bill_length_mm']
    """
    return Path(__file__).with_name("penguins.csv")
