"""Members judged side by side: what comes of it does not depend on the number of threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from suffice import GenerativeClassifier
from suffice.automatic import choose


def interactions(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Return a table that boosted trees read best, so that these are kept and all their folds grown."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 5))
    return X, (X[:, 0] * X[:, 1] * X[:, 2] > 0).astype(int)


@pytest.mark.slow
def test_the_bits_do_not_depend_on_threads(monkeypatch) -> None:
    X, y = interactions()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = GenerativeClassifier().fit(X, y)
    monkeypatch.delenv("OMP_NUM_THREADS")
    for work in (0.0, np.inf):
        monkeypatch.setattr(choose, "WORK", work)
        beside = GenerativeClassifier().fit(X, y)
        assert beside.members_ == alone.members_
        assert "boosted trees" in [own["name"] for own in beside.members_]
        np.testing.assert_array_equal(beside.predict_proba(X), alone.predict_proba(X))


def test_an_error_of_one_member_is_that_of_the_fit(monkeypatch) -> None:
    X, y = interactions()
    monkeypatch.setattr(choose, "WORK", np.inf)
    threads = set[int]()

    def fails(*_: object) -> None:
        threads.add(threading.get_ident())
        raise MemoryError("of the test")

    monkeypatch.setattr("suffice.automatic.members.SubclassMember.candidates", fails)
    model = GenerativeClassifier()
    with pytest.raises(MemoryError, match="of the test"):
        model.fit(X, y)
    assert len(threads) == 1
    assert not hasattr(model, "statistics_")
