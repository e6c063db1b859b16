"""What columns add to the log density of Gaussians: alone, averaged over all orders, and in one order."""

from __future__ import annotations

from .._arrays import Array, Codes, np, parallel_each, row_chunks, rows_within
from ..densities import Diagonal, Full, Gaussian, LowRank, Spherical
from ..densities.gaussian import LOG_2PI
from .shapley import quadratics


def independent_terms(density: Gaussian, covariance: Diagonal | Spherical, rows: Array) -> Array:
    """Return the centred log density (k, n, d) of each column of Gaussians without correlations."""
    used = list(density.used)
    means = density.means
    k, d = means.shape
    variance = np.ones((k, d))
    variance[:, used] = covariance.diagonal().variance
    constant = -0.5 * np.log(variance)
    factor = np.zeros((k, d))
    factor[:, used] = -0.5 / variance[:, used]
    constant -= constant.mean(axis=0)
    out = np.empty((k, len(rows), d))

    def fill(part: slice) -> None:
        block = rows[part].astype(np.float64, copy=False)
        mean = np.zeros(block.shape)
        for c in range(k):
            own = out[c, part]
            np.subtract(block, means[c], out=own)
            own *= own
            own *= factor[c]
            mean += own
        mean /= k
        for c in range(k):
            own = out[c, part]
            own -= mean
            own += constant[c]
        missing = np.isnan(mean)
        if missing.any():
            out[:, part][:, missing] = 0.0

    parallel_each(fill, row_chunks(len(rows), rows_within(32 * d, least=64)), cost=10.0 * out.size)
    return out


def quadratic_terms(density: Gaussian, rows: Array, orders: int) -> Array:
    """Return the centred contributions (k, n, d) of complete rows as quadratic forms, exact or of so many orders."""
    covariance, means = density.covariance, density.means
    matrices = covariance.dense()
    deviation = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    forms = [quadratics(m / np.outer(s, s), orders) for m, s in zip(matrices, deviation, strict=True)]
    if covariance.g == 1:
        return _linear(rows, means, deviation[0], forms[0].matrix)
    out = np.empty((len(means), *rows.shape))
    d = rows.shape[1]
    tables = [_by_pair(form.matrix) for form in forms]

    def fill(part: slice) -> None:
        pairs = np.empty((d * (d + 1) // 2, part.stop - part.start))
        for c, form in enumerate(forms):
            z = np.ascontiguousarray(((rows[part] - means[c]) / deviation[c]).T)
            start = 0
            for a in range(d):
                np.multiply(z[a], z[a:], out=pairs[start : start + d - a])
                start += d - a
            own = (tables[c] @ pairs).T
            own += form.log_scale + 2.0 * np.log(deviation[c])
            np.multiply(own, -0.5, out=out[c, part])
        out[:, part] -= out[:, part].mean(axis=0)

    size = rows_within(16 * d * d, least=64)
    parallel_each(fill, row_chunks(len(rows), size), cost=2.0 * out.size * d * d)
    return out


def _by_pair(matrix: Array) -> Array:
    """Return quadratic forms Q_j (d, d, d) as coefficients (d, pairs) of z_a z_b for a ≤ b, by a and then b."""
    doubled = 2.0 * matrix
    np.einsum("jaa->ja", doubled)[...] *= 0.5
    a, b = np.triu_indices(matrix.shape[1])
    return np.ascontiguousarray(doubled[:, a, b])


def _linear(rows: Array, means: Array, deviation: Array, matrix: Array) -> Array:
    """Return the contributions under one covariance, where what is quadratic in the row is the same for all classes."""
    center = means.mean(axis=0)
    shift = (means - center) / deviation
    slope = np.einsum("jab,kb->kaj", matrix, shift)  # zᵀ Q_j m_k, Q_j symmetric
    height = -0.5 * np.einsum("kaj,ka->kj", slope, shift)
    slope -= slope.mean(axis=0)
    height -= height.mean(axis=0)
    slope /= deviation[:, None]
    out = np.empty((len(means), *rows.shape))

    def fill(part: slice) -> None:
        block = rows[part] - center
        for c in range(len(means)):
            np.matmul(block, slope[c], out=out[c, part])
            out[c, part] += height[c]

    size = rows_within(32 * rows.shape[1], least=64)
    parallel_each(fill, row_chunks(len(rows), size), cost=2.0 * out.size * rows.shape[1])
    return out


def ordered_terms(density: Gaussian, rows: Array, order: Codes) -> Array:
    """Return log p(x_j | the columns before j in this order), (k, n, d), of Gaussians over complete rows."""
    covariance, means = density.covariance, density.means
    out = np.empty((len(means), *rows.shape))
    if isinstance(covariance, Diagonal | Spherical):
        variance = covariance.diagonal().variance
        out[...] = (rows - means[:, None]) ** 2 / variance[:, None] + np.log(variance)[:, None]
    elif isinstance(covariance, LowRank):
        for c in range(len(means)):
            i = min(c, covariance.g - 1)
            out[c] = _thin_terms(covariance, i, rows - means[c], order)
    else:
        in_order = covariance.marginal(order.tolist())
        assert isinstance(in_order, Full)
        sorted_factors = in_order.whitener  # W of the columns in this order
        for c in range(len(means)):
            whiten = sorted_factors[:, min(c, covariance.g - 1)]
            z = (rows[:, order] - means[c, order]) @ whiten.T
            out[c][:, order] = z * z - 2.0 * np.log(np.diagonal(whiten))
    out += LOG_2PI
    out *= -0.5
    return out


def _thin_terms(covariance: LowRank, i: int, rows: Array, order: Codes) -> Array:
    """Return (x_j − E)² / V + log V (n, d), E and V given the columns before j, for a few directions and a floor.

    The directions are latent numbers f ~ N(0, I), z_j = b_jᵀ f + noise: each column seen updates the mean and
    covariance of f, so that no d × d matrix is made.
    """
    floor, scale = covariance.floor[i], covariance.scale[i]
    loading = covariance.basis[i] * np.sqrt(np.maximum(covariance.values[i] - floor, 0.0))
    z = rows / scale
    mean, spread = np.zeros((len(rows), loading.shape[1])), np.eye(loading.shape[1])
    out = np.empty(rows.shape)
    for j in order:
        gain = spread @ loading[j]
        variance = float(loading[j] @ gain + floor)
        residual = z[:, j] - mean @ loading[j]
        out[:, j] = residual**2 / variance + np.log(variance)
        mean += np.outer(residual, gain / variance)
        spread -= np.outer(gain, gain / variance)
    out += 2.0 * np.log(scale)
    return out
