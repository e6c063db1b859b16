"""axe-core finds nothing to complain of, at two widths, light and dark."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianDiscriminant
from suffice.report import render_page


@pytest.fixture(scope="module")
def pages(html):
    rng = np.random.default_rng(0)
    many = np.arange(360) % 12
    numbers = pd.DataFrame(rng.normal(size=(360, 30)) + many[:, None]).add_prefix("x")
    return {"penguins": html, "twelve classes": render_page(GaussianDiscriminant(shared=True).fit(numbers, many))}


@pytest.mark.parametrize(
    ("which", "width", "scheme"),
    [
        *(("penguins", width, scheme) for width in (1280, 360) for scheme in ("light", "dark")),
        ("twelve classes", 1280, "light"),
        ("twelve classes", 360, "dark"),
    ],
)
def test_axe_has_no_complaint(visit, pages, which, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(pages[which], width, color_scheme=scheme, bypass_csp=True)
    page.wait_for_timeout(600)
    found = axe.Axe().run(page)
    told = [
        (own["id"], own["help"], [node["target"] for node in own["nodes"][:3]]) for own in found.response["violations"]
    ]
    assert told == []
