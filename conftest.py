"""Runs the Python examples of the Markdown documents, each document in an empty folder of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

collect_ignore_glob = ["docs/*.py"]  # Sphinx settings, and scripts that draw pictures

os.environ["MPLBACKEND"] = "Agg"  # plots are drawn, and shown to nobody


def _close() -> None:
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    _close()


def _enter(namespace: dict[str, Any]) -> None:
    folder = tempfile.TemporaryDirectory(prefix="suffice-docs-", ignore_cleanup_errors=True)
    namespace["_folder"], namespace["_home"] = folder, os.getcwd()  # noqa: PTH109
    os.chdir(folder.name)


def _leave(namespace: dict[str, Any]) -> None:
    _close()
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "ARCHITECTURE.md", "docs/*.md", "docs/**/*.md"],
    setup=_enter,
    teardown=_leave,
).pytest()
