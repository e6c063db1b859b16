"""What takes long is made once, by whoever asks first, and what it was made of is let go; so are the rows of a fit."""

import gc
import pickle
import threading
import time
import weakref

import numpy as np
import pytest

from suffice import GenerativeClassifier
from suffice._derived import Lazy


def test_a_value_is_made_once_while_others_wait():
    made, found = [], []

    def make():
        made.append(threading.get_ident())
        time.sleep(0.05)
        return object()

    later = Lazy(make)
    asking = [threading.Thread(target=lambda: found.append(later())) for _ in range(5)]
    for own in asking:
        own.start()
    for own in asking:
        own.join(10)
    assert len(made) == 1
    assert len(found) == 5
    assert len({id(own) for own in found}) == 1


def test_what_fails_is_tried_again_and_what_was_made_lets_go():
    rows, tries = np.zeros(3), []
    gone = weakref.ref(rows)

    def make(rows=rows):
        tries.append(len(rows))
        if len(tries) == 1:
            raise MemoryError
        return 7

    later = Lazy(make)
    del rows, make
    with pytest.raises(MemoryError):
        later()
    assert gone() is not None
    assert [later(), later()] == [7, 7]
    assert len(tries) == 2
    gc.collect()
    assert gone() is None


def rows_of(n=3000, d=4):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, d)) + y[:, None], y


def test_a_fitted_model_holds_no_row_of_the_table():
    X, y = rows_of()
    model = GenerativeClassifier(keep_rows=2000).fit(X, y)
    gone, expected = weakref.ref(X), model.predict_proba(X[:50])
    asked = X[:50].copy()
    del X
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(asked), expected)
