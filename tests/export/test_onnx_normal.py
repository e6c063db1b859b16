"""Gaussians and Student t's in ONNX against SciPy on the observed cells of every row, whatever is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from scipy import stats
from scipy.special import gammaln

from suffice.export.onnx import normal as onnx_normal
from suffice.export.onnx.graph import FLOATS, Graph, Value
from suffice.export.onnx.normal import normal
from suffice.export.program import Dense, Normal

TOLERANCE = 1e-9  # SciPy's eigenvectors lose a few digits where columns differ in units


def run(term: Normal, rows: Any) -> Any:
    """Return the term's log densities (n, m) of rows (n, d)."""
    g = Graph("float64")
    g.reserve(["x", "y"])
    found = normal(g, term, Value(g, "x"))
    output = g.output("y", found, FLOATS["float64"], ["n", len(term.location)])
    x = helper.make_tensor_value_info("x", FLOATS["float64"], ["n", term.location.shape[1]])
    session = onnxruntime.InferenceSession(g.model([x], [output]).SerializeToString())
    return session.run(None, {"x": rows})[0]


def constants(m: int, d: int, df: Any, inflation: Any) -> Any:
    o = np.arange(d + 1)
    with np.errstate(invalid="ignore"):
        t = gammaln((df[:, None] + o) / 2) - gammaln(df / 2)[:, None] - o / 2 * np.log(df / 2)[:, None]
    t = np.where(np.isinf(df)[:, None], 0.0, t)
    return t - 0.5 * o * (np.log(2 * np.pi) + np.log(inflation)[:, None])


def expected(term: Normal, sigma: Any, rows: Any) -> Any:
    """Return the same by SciPy, one row and component at a time."""
    out = np.zeros((len(rows), len(term.location)))
    for i, row in enumerate(rows):
        seen = ~np.isnan(row)
        for c in range(len(term.location)):
            if seen.any():
                shape = sigma[min(c, len(sigma) - 1)][np.ix_(seen, seen)] * term.inflation[c]
                law = (
                    stats.multivariate_normal(term.location[c, seen], shape)
                    if np.isinf(term.df[c])
                    else stats.multivariate_t(term.location[c, seen], shape, df=term.df[c])
                )
                out[i, c] = law.logpdf(row[seen])
    return out


def covariances(rng: Any, g: int, d: int) -> Any:
    L = rng.normal(size=(g, d, 2 * d))
    unit = 10.0 ** rng.integers(-1, 2, size=d)  # SciPy works in these units, not on the correlation scale
    return L @ np.swapaxes(L, 1, 2) / d * unit[:, None] * unit


def dense(sigma: Any) -> Dense:
    whitener = np.stack([np.linalg.inv(np.linalg.cholesky(own)) for own in sigma])
    return Dense(sigma, whitener, np.linalg.slogdet(sigma)[1])


def rows_with_holes(rng: Any, n: int, term_location: Any, sigma: Any, share: float) -> Any:
    d = sigma.shape[1]
    x = rng.normal(size=(n, d)) * np.sqrt(np.diagonal(sigma[0])) * 2.0 + term_location[0]
    x[rng.random(x.shape) < share] = np.nan
    x[0] = np.nan
    return x


@pytest.mark.parametrize(("chunk", "wide"), [(1, 40), (1 << 19, 40), (1 << 19, 1)])
@pytest.mark.parametrize("df", ["gaussian", "both"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("d", [1, 5])
def test_any_pattern_of_missing_cells(
    d: int, shared: bool, df: str, chunk: int, wide: int, rng: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full covariances, one per component or one for all; in chunks of a single tile, all at once, in panels."""
    monkeypatch.setattr(onnx_normal, "CHUNK_CELLS", chunk)
    monkeypatch.setattr(onnx_normal, "WIDE", wide)
    monkeypatch.setattr(onnx_normal, "PANEL", 3)
    m = 3
    sigma = covariances(rng, 1 if shared else m, d)
    free = {"gaussian": np.full(m, np.inf), "both": np.array([5.0, np.inf, 400.0])}
    inflation = np.array([1.0, 1.5, 2.0]) if df != "gaussian" else np.ones(m)
    location = rng.normal(size=(m, d)) * np.sqrt(np.diagonal(sigma[0]))
    term = Normal(tuple(range(d)), location, dense(sigma), free[df], inflation, constants(m, d, free[df], inflation))
    rows = rows_with_holes(rng, 40, location, sigma, 0.4)
    np.testing.assert_allclose(run(term, rows), expected(term, sigma, rows), rtol=TOLERANCE, atol=TOLERANCE)
