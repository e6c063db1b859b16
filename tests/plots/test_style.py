"""Colours can be told apart, also by the colour-blind, and belong to a place among the classes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from suffice import GaussianDiscriminant
from suffice.plots import ClassEllipsesDisplay, DecisionRegionsDisplay
from suffice.plots._style import COLORS, color, hatch, line, marker, rgb

# Okabe & Ito (2008), Color Universal Design
OKABE_ITO = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}

# Machado, Oliveira & Fernandes (2009), severity 1, on linear RGB
VISION = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def oklab(linear):
    """Return OKLab coordinates of linear RGB (Ottosson 2020)."""
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.cbrt(np.clip(linear, 0, 1) @ np.transpose(cones)) @ np.transpose(lab)


@pytest.mark.parametrize(("vision", "least"), [("all cones", 0.1), ("protanopia", 0.055), ("deuteranopia", 0.055)])
def test_colors_are_apart(vision, least):
    """A just noticeable difference is about 0.02; Okabe and Ito's own closest pair is 0.076 under deuteranopia."""
    s = np.array([rgb(own) for own in COLORS])
    linear = np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)
    lab = oklab(linear @ np.transpose(VISION[vision]))
    apart = np.linalg.norm(lab[:, None] - lab, axis=-1)[~np.eye(len(lab), dtype=bool)]
    assert apart.min() > least


def test_the_first_eight_are_those_of_okabe_and_ito():
    assert set(COLORS[:8]) == OKABE_ITO
    assert len({marker(c) for c in range(13)}) == 13
    assert {hatch(c) for c in range(8)} == {""}
    assert len({(color(c), marker(c), hatch(c), str(line(c))) for c in range(100)}) == 100


def test_a_class_has_one_color_everywhere(blobs):
    from matplotlib.colors import to_hex

    X, y = blobs
    model = GaussianDiscriminant().fit(X, y)
    ellipses = ClassEllipsesDisplay.from_estimator(model, X, y, columns=[0, 1])
    regions = DecisionRegionsDisplay.from_estimator(model, X, y, columns=[0, 1])
    for c in range(3):
        wanted = COLORS[c].lower()
        assert to_hex(ellipses.ellipses_[c][0].get_edgecolor()) == wanted
        assert to_hex(regions.points_[c].get_facecolor()[0]) == wanted
        for display in (ellipses, regions):
            assert to_hex(display.ax_.get_legend().legend_handles[c].get_color()) == wanted


def test_importing_plots_does_not_load_matplotlib_and_its_absence_is_explained():
    code = """
import sys
sys.modules["matplotlib"] = None
from suffice import GaussianDiscriminant
import suffice
model = GaussianDiscriminant().fit([[0.0], [1.0], [2.5]], ["a", "a", "a"])
try:
    suffice.plots.ClassEllipsesDisplay.from_estimator(model)
except ImportError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith('Plots need Matplotlib, which is not installed. Next: pip install "')
