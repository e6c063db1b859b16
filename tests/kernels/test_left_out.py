"""Rows left out by compiled kernels and by NumPy: the same bits; what does not fit together is refused unread."""

import numpy as np
import pytest

from suffice.kernels.left_out import Leaving


def terms(n=4, a=2):
    return [np.ones((n, a)) for _ in range(3)]


def test_what_does_not_fit_together_is_refused():
    leaving, strengths, dets = Leaving.of(*np.ones((6, 4))), np.ones((3, 2)), np.zeros((2, 2))
    constants, place = np.zeros((2, 1, 2)), np.zeros(4, dtype=np.int64)
    for wrong in (terms(n=3), terms(a=3)):
        with pytest.raises(ValueError, match="4 rows and strengths"):
            leaving.take_out(*wrong, None, strengths, 1e-9)
    with pytest.raises(ValueError, match="4 rows and strengths"):
        leaving.take_out(*terms(), np.ones((3, 2)), strengths, 1e-9)
    with pytest.raises(ValueError, match="4 rows and strengths"):
        leaving.take_out(*terms(), None, strengths[:2], 1e-9)
    with pytest.raises(ValueError, match="not contiguous"):
        leaving.take_out(*terms()[:2], np.ones((2, 4)).T, None, strengths, 1e-9)
    for wrong in (place - 1, place + 1, place[:3]):
        with pytest.raises(ValueError, match="kinds other than 1"):
            leaving.log_densities(*terms()[:2], wrong, constants, dets)
    with pytest.raises(ValueError, match="terms"):
        leaving.log_densities(*terms()[:2], place, np.zeros((2, 1, 3)), dets)


def test_one_row_by_hand():
    """a = 2: β = 2 · ½ + 3 = 4, 1 − 4 · ⅛ = ½, and (5 · 2² + 4 · (1 · 2)² / ½ + ⅓ · (6 · 1) + 1 · 7) · 3 / 4 = 45¾."""
    one = Leaving.of(*(np.array([value]) for value in (2.0, 0.5, 3.0, 1.0, 1.0 / 3.0, 3.0)))
    squares, cross, length, pulled = (np.array([[value]]) for value in (5.0, 1.0, 0.125, 1.0))
    one.take_out(squares, cross, length, pulled, np.array([[2.0], [6.0], [7.0]]), 1e-9)
    np.testing.assert_allclose([squares[0, 0], length[0, 0]], [45.75, 0.5], rtol=1e-15)
    one.log_densities(squares, length, np.zeros(1, np.int64), np.array([[[10.0]], [[2.0]]]), np.array([[1.0], [4.0]]))
    np.testing.assert_allclose(squares, 10.0 - (0.5 * (1.0 + 0.5 + 4.0) + 2.0 * 45.75), rtol=1e-15)
