"""Tests that start clusters: `make engines` installs what they need and sets SUFFICE_CLUSTERS, else they may skip."""

import os

import pytest


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
