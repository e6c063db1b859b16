"""Steps of numbers, against greatest common divisors of the whole numbers that they were made of."""

from __future__ import annotations

import math

import numpy as np
import pytest

from suffice.questions.recorded import find_lattice

UNITS = [1.0, 25.0, 1e6, 0.5, 0.1, 0.01, 0.05, 0.25, 1e-5, 2.54, 1 / 3, 1e-200, 1e200]


def whole_numbers(rng):
    spread = int(10 ** rng.uniform(0.5, 5.0))
    return np.unique(rng.integers(-spread, spread, rng.integers(3, 200)))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("phase", [0.0, 0.4])
def test_is_the_greatest_common_divisor(rng, unit, phase) -> None:
    for _ in range(50):
        k = whole_numbers(rng)
        if len(k) < 2:
            continue
        expected = math.gcd(*np.diff(k).tolist())
        found = find_lattice((k + phase) * unit)
        assert found is not None
        assert found.step == pytest.approx(expected * unit, rel=1e-9)
        steps = ((k + phase) * unit - found.phase) / found.step
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)


@pytest.mark.parametrize("decimals", range(5))
def test_of_written_decimals_is_written(rng, decimals) -> None:
    values = np.unique(np.round(rng.normal(40.0, 5.0, 2000), decimals))
    for cells in (values, values.astype(np.float32).astype(np.float64)):
        if decimals == 4 and cells is not values:
            continue  # no more digits than single precision has
        found = find_lattice(np.unique(cells))
        assert (found.step, found.phase, found.decimals) == (float(f"1e-{decimals}"), 0.0, decimals)


def test_money_has_cents_however_large(rng) -> None:
    assert find_lattice(np.unique(np.round(rng.lognormal(8.0, 2.0, 20_000), 2))).step == 0.01
    assert find_lattice(np.array([1e8 + 1.0, 1e8 + 2.0, 1e8 + 4.0]))[:2] == (1.0, 0.0)


def test_measurements_have_none(rng) -> None:
    for values in (rng.normal(size=3000), rng.random(10), rng.lognormal(0, 3, 300), np.log(np.arange(1, 100))):
        assert find_lattice(np.sort(values)) is None
    assert sum(find_lattice(np.sort(rng.normal(size=3))) is not None for _ in range(1000)) == 0
    assert find_lattice(np.array([3.0])) is None


def test_ends_of_floating_point() -> None:
    most = np.finfo(np.float64).max
    assert find_lattice(np.array([-most, most])) is None
    assert find_lattice(np.array([0.0, 5e-324, 1e-323])).step == 5e-324
