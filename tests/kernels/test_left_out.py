"""Rows left out by compiled kernels and by NumPy; what does not fit together is refused unread."""

import numpy as np
import pytest
from scipy.special import softmax

from suffice.kernels.left_out import Leaving, Tempered


def terms(n=4, a=2):
    return [np.ones((n, a)) for _ in range(3)]


def test_what_does_not_fit_together_is_refused():
    leaving, strengths, dets = Leaving.of(*np.ones((6, 4))), np.ones((3, 2)), np.zeros((2, 2))
    constants, place = np.zeros((2, 1, 2)), np.zeros(4, dtype=np.int64)
    shapes = (terms(n=3), None, strengths), (terms(a=3), None, strengths), (terms(), np.ones((3, 2)), strengths)
    for wrong, pulled, times in (*shapes, (terms(), None, strengths[:2])):
        with pytest.raises(ValueError, match="4 rows and strengths"):
            leaving.take_out(*wrong, pulled, times, 1e-9)
    with pytest.raises(ValueError, match="no contiguous float64"):
        leaving.take_out(*terms()[:2], np.ones((2, 4)).T, None, strengths, 1e-9)
    for wrong in (place - 1, place + 1, place[:3]):
        with pytest.raises(ValueError, match="kinds other than 1"):
            leaving.log_densities(*terms()[:2], wrong, constants, dets)


def test_one_row_by_hand():
    """a = 2: β = 2 · ½ + 3 = 4, 1 − 4 · ⅛ = ½, and (5 · 2² + 4 · (1 · 2)² / ½ + ⅓ · (6 · 1) + 1 · 7) · 3 / 4 = 45¾."""
    one = Leaving.of(*(np.array([value]) for value in (2.0, 0.5, 3.0, 1.0, 1.0 / 3.0, 3.0)))
    squares, cross, length, pulled = (np.array([[value]]) for value in (5.0, 1.0, 0.125, 1.0))
    one.take_out(squares, cross, length, pulled, np.array([[2.0], [6.0], [7.0]]), 1e-9)
    np.testing.assert_allclose([squares[0, 0], length[0, 0]], [45.75, 0.5], rtol=1e-15)
    one.log_densities(squares, length, np.zeros(1, np.int64), np.array([[[10.0]], [[2.0]]]), np.array([[1.0], [4.0]]))
    np.testing.assert_allclose(squares, 10.0 - (0.5 * (1.0 + 0.5 + 4.0) + 2.0 * 45.75), rtol=1e-15)


def test_a_loss_at_a_temperature_and_its_derivatives():
    """They are moments of the scores under the posterior; scores that lie far from 0 tell what their differences do."""
    rng = np.random.default_rng(0)
    offset, scores, codes, share = rng.normal(size=(9, 3)), rng.normal(size=(9, 3)), np.arange(9) % 3, np.arange(9) / 36
    posterior = softmax(offset + 0.7 * scores, axis=1)
    mean = (posterior * scores).sum(axis=1)
    spread = (posterior * (scores - mean[:, None]) ** 2).sum(axis=1)
    own = np.arange(9), codes
    moments = share @ -np.log(posterior[own]), share @ (mean - scores[own]), share @ spread
    np.testing.assert_allclose(Tempered(offset, codes, 2.0 * share)(scores + 1e5, 0.7), moments, rtol=1e-9)
