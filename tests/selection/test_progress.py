"""What a long fit tells of its stages, and that it tells nobody who does not listen."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import GenerativeClassifier
from suffice.progress import listen, tell, verbose


def test_every_member_that_is_judged_is_told(blobs) -> None:
    told = list[str]()
    with listen(told.append):
        model = GenerativeClassifier().fit(*blobs)
    names = {own["name"] for own in model.members_}
    assert len(told) == len(set(told))
    assert told[-1] == "weighing the members"
    assert sum(f"judging {name}" in told for name in names) >= len(names) // 2  # of those of a kind, the first is told
    before = list(told)
    again = GenerativeClassifier().fit(*blobs)
    assert told == before
    np.testing.assert_array_equal(again.predict_proba(blobs[0]), model.predict_proba(blobs[0]))


def test_blocks_end_and_nest(capsys) -> None:
    outer = list[str]()
    with listen(outer.append):
        with verbose():
            tell("within")
        tell("after")
    tell("beyond")
    assert outer == ["after"]
    assert capsys.readouterr().err.endswith("s  within\n")


def test_an_interrupt_by_the_listener_leaves_the_model_as_it_was(blobs) -> None:
    model = GenerativeClassifier()

    def stop(stage: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), listen(stop):
        model.fit(*blobs)
    assert not hasattr(model, "classes_")
    tell("nobody listens")
