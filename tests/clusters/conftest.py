"""Tests that start clusters: `make engines` installs what they need and sets SUFFICE_CLUSTERS, else they may skip."""

import os
import sys
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)  # workers import by name what stands here, and so do the tests


@pytest.fixture
def needs():
    """Return a function that skips the test where a package is missing; under `make engines` it fails."""

    def check(*packages):
        for package in packages:
            if os.environ.get("SUFFICE_CLUSTERS"):
                __import__(package)
            else:
                pytest.importorskip(package)

    return check


@pytest.fixture(scope="session")
def worker_path():
    """Let the processes of clusters import what stands beside the tests."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = HERE if before is None else HERE + os.pathsep + before
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before
