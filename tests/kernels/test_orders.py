"""What columns add in orders of them: what does not fit together is refused unread (answers: questions/test_chains)."""

import numpy as np
import pytest

from suffice.kernels.columns import shares_in_orders
from suffice.kernels.observed import Laws


def test_what_does_not_fit_together_is_refused():
    laws = Laws(np.zeros((3, 5)), np.ones(3), np.ones(3), np.zeros(3), np.array([0, 1, 3]), np.zeros((1, 4)))
    right = np.zeros((2, 3, 7, 4)), np.zeros((2, 1, 4, 4)), np.tile(np.arange(4), (2, 1)), np.zeros((7, 4), dtype=bool)
    sums = np.zeros((7, 2, 4))
    for place, wrong in ((0, right[0][:, :2]), (1, right[1][:, :, :3]), (2, right[2] + 1), (3, right[3][:6])):
        white, matrix, orders, missing = (*right[:place], wrong, *right[place + 1 :])
        with pytest.raises(ValueError, match="of 2 classes"):
            laws.add(white, matrix, False, orders, missing, sums)
    with pytest.raises(ValueError, match="in orders"):
        shares_in_orders(np.ones((2, 7, 4, 4)), np.ones((2, 7, 4)), right[3], right[2] + 1)
