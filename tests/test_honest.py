"""The honesty trial: its criteria find what they are made to find, and it goes on where it stopped."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def honest(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import honest

    yield honest
    for name in ("honest", "honest_report"):
        sys.modules.pop(name, None)


def line(honest, kind="noise", n=300, table=0, **values):
    setting = honest.Setting(kind, n, 5, 0.0, "1", "shares", "automatic")
    told = {"reported": 0.61, "reported_error": 0.004, "learned_chance": 0.61, "test": 0.62, "test_error": 0.005}
    told |= {"chance": 0.61, "cover0.80": 0.8, "cover0.90": 0.9, "cover0.95": 0.95, "p0.01": 0.01, "p0.05": 0.05}
    return {**setting._asdict(), "table": table, "seconds": 1.0, **told, **values}


@pytest.mark.parametrize(
    ("values", "broken"),
    [
        ({}, None),
        ({"reported": 0.5}, "reported − chance"),
        ({"reported": 0.58}, None),  # beyond the bound, by less than three errors of it
        ({"test": 0.8}, "test − chance"),
        ({"cover0.90": 0.7}, "coverage at 0.90"),
        ({"cover0.95": 1.0}, None),
        ({"cover0.80": 1.0}, "coverage at 0.80"),
        ({"cover0.80": 1.0, "alike0.80": True}, None),  # who knows nothing of rows can only name all classes
        ({"cover0.80": 0.6, "alike0.80": True}, "coverage at 0.80"),
        ({"p0.05": 0.3}, "P(p ≤ .05)"),
        ({"failed": "p-values took more than 40 s"}, "not answered: p-values took"),
        ({"kind": "signal", "reported": 0.3, "test": 0.5}, "reported − test"),
        ({"kind": "signal", "reported": 0.6, "test": 0.5}, None),  # too modest is not dishonest
    ],
)
def test_what_breaks_a_criterion_is_named(honest, values, broken):
    from honest_report import exceptions

    found = exceptions([line(honest, **values)])
    assert (found == []) if broken is None else broken in found[0]


def test_more_tables_show_smaller_faults(honest):
    from honest_report import exceptions

    one = {"reported": 0.57, "reported_error": 0.02}
    assert not exceptions([line(honest, n=40, **one)])
    many = [line(honest, n=40, table=t, **one) for t in range(16)]
    assert exceptions(many)


def test_fresh_rows_are_of_the_distribution_that_is_told(honest):
    rng = np.random.default_rng(0)
    noise, y = honest.draw(honest.Setting("noise", 0, 8, 0.1, "1", "shares", "full"), 40_000, rng)
    assert abs(y.mean() - 0.3) < 5 * np.sqrt(0.21 / 40_000)
    assert abs(np.isnan(noise).mean() - 0.1) < 5 * np.sqrt(0.09 / 320_000)
    assert np.abs(np.nanmean(noise[y == 1], 0) - np.nanmean(noise[y == 0], 0)).max() < 5 * np.sqrt(
        1 / 12_000 + 1 / 28_000
    )
    rows, y = honest.draw(honest.Setting("signal", 0, 8, 0.0, "1", "shares", "full"), 40_000, rng)
    gap = rows[y == 1].mean(axis=0) - rows[y == 0].mean(axis=0)
    within = np.cov((rows - np.where(y[:, None], gap, 0.0)).T)[:5, :5]
    assert abs(np.sqrt(gap[:5] @ np.linalg.solve(within, gap[:5])) - honest.SIGNAL) < 0.1


def test_a_trial_goes_on_where_it_stopped(honest, tmp_path):
    setting = honest.Setting("noise", 100, 5, 0.0, "1", "shares", "shared")
    path = tmp_path / "fits.jsonl"
    first = honest.run([(setting, 1)], path, 1)
    assert len(path.read_text().splitlines()) == 1
    again = honest.run([(setting, 2)], path, 1)
    assert len(path.read_text().splitlines()) == 2
    assert first[0] in again
    redone = {**honest.trial(setting, 0), "seconds": first[0]["seconds"]}
    assert json.loads(json.dumps(redone)) == json.loads(path.read_text().splitlines()[0])  # seeds fix all


def test_only_what_is_new_fails(honest, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(honest, "KNOWN", tmp_path / "known.txt")
    assert not honest.compare(["full | noise | 300 × 5 | plain | test − chance 0.200 ± 0.010"])
    honest.KNOWN.write_text("full | noise | 300 × 5 | plain\nfull | noise | 40 × 5 | plain\n", encoding="utf-8")
    assert honest.compare(["full | noise | 300 × 5 | plain | test − chance 0.300 ± 0.010"])
    assert "1 known and now met: take them out of known.txt\nfull | noise | 40 × 5 | plain" in capsys.readouterr().out
