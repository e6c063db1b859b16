"""Pictures of the documents: small, whole, and the same each time they are drawn."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"


@pytest.fixture(scope="module")
def save():
    return runpy.run_path(str(DOCS / "small_svg.py"))["save"]


def _draw(save, path):
    rng = np.random.default_rng(0)
    figure, ax = plt.subplots()
    ax.scatter(*rng.normal(size=(2, 40)), c=rng.random(40), s=20)
    ax.scatter(*rng.normal(size=(2, 30)), marker="s")
    ax.imshow(rng.random((4, 4)), extent=(-2, 2, -2, 2), aspect="auto")
    ax.set_title("a $title$ & <b>", parse_math=False)
    save(figure, path)
    plt.close(figure)
    return path.read_bytes()


def test_a_picture_is_the_same_each_time(save, tmp_path):
    first = _draw(save, tmp_path / "one.svg")
    assert first == _draw(save, tmp_path / "two.svg")
    figure, ax = plt.subplots()
    ax.plot([1, 2])
    figure.savefig(tmp_path / "plain.svg")
    save(figure, tmp_path / "small.svg")
    assert (tmp_path / "small.svg").stat().st_size < 0.8 * (tmp_path / "plain.svg").stat().st_size
    assert b"metadata" not in first


def test_nothing_is_lost(save, tmp_path):
    """Every point is there in its place, and all that is referred to."""
    _draw(save, tmp_path / "one.svg")
    root = ET.parse(tmp_path / "one.svg").getroot()
    names = {own.get("id") for own in root.iter() if own.get("id")}
    uses = list(root.iter(f"{SVG}use"))
    assert {own.get(LINK)[1:] for own in uses} <= names
    clips = {own.get("clip-path")[5:-1] for own in root.iter() if own.get("clip-path")}
    assert clips <= names
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(2, 40)), rng.random(40), rng.normal(size=(2, 30))]
    for at in (points[0], points[2]):
        drawn = np.array([[float(own.get("x", "nan")), float(own.get("y", "nan"))] for own in uses]).T
        found = [np.abs(np.corrcoef(np.sort(drawn[0][some]), np.sort(at[0]))[0, 1]) for some in _groups(uses, at)]
        assert max(found) > 0.999999


def _groups(uses, at):
    """Return which uses are of one shape, where these are as many as there are points."""
    links = np.array([own.get(LINK) for own in uses])
    return [links == link for link in set(links) if (links == link).sum() == at.shape[1]]


@pytest.mark.parametrize("path", sorted(DOCS.glob("gallery/*.svg")) + sorted(DOCS.glob("*.svg")), ids=lambda p: p.name)
def test_pictures_of_the_documents_are_small(path):
    assert path.stat().st_size <= 100_000
    ET.parse(path)
    assert b"<text" not in path.read_bytes()  # letters are shapes
