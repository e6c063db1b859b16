"""What trees need is made when it is asked for: the same as at once, made once, and its rows are let go."""

import gc
import pickle
import threading
import time
import weakref

import numpy as np
import pytest

from suffice import GenerativeClassifier
from suffice._derived import Lazy, PartlyLazy
from suffice.automatic import statistics as of_statistics
from suffice.automatic.statistics import MemberRows, MemberStats
from suffice.automatic.table_rows import TableRows
from suffice.stats.counts import CodedColumns


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


def test_only_what_is_asked_for_is_made():
    made = []
    two, one = Lazy(lambda: made.append(2) or {"b": 2, "c": 3}), Lazy(lambda: made.append(1) or {"d": 4})
    both = PartlyLazy({"a": 1}, {"b": two, "c": two, "d": one}, ["b", "a", "d", "c"])
    assert (len(both), list(both), both["a"], made) == (4, ["b", "a", "d", "c"], 1, [])
    assert (both["c"], made) == (3, [2])
    assert (dict(both), made) == ({"b": 2, "a": 1, "d": 4, "c": 3}, [2, 1])
    with pytest.raises(KeyError):
        both["e"]


def rows_of(n=3000, d=4):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, d)) + y[:, None], y


@pytest.mark.parametrize("many", [100, 10**6])
def test_statistics_made_later_are_those_made_at_once(monkeypatch, many):
    monkeypatch.setattr(of_statistics, "MANY", many)
    X, y = rows_of()
    held = MemberRows.summarize(TableRows(X, CodedColumns((), ())), y, 3, None)
    now, later = held.distinct(2000), held.distinct(2000, late=True)
    assert isinstance(now, MemberStats)
    assert isinstance(later, MemberStats)
    later.settle()
    assert later.columns == now.columns
    fields, others = now.arrays()[0], later.arrays()[0]
    assert list(fields) == list(others)
    for name, values in fields.items():
        np.testing.assert_array_equal(others[name], values)


def test_a_fitted_model_has_nothing_left_to_make_and_holds_no_row_of_the_table():
    X, y = rows_of()
    model = GenerativeClassifier(keep_rows=2000).fit(X, y)
    gone, expected = weakref.ref(X), model.predict_proba(X[:50])
    asked = X[:50].copy()
    del X
    gc.collect()
    assert gone() is None
    assert isinstance(model._fitted.frozen_statistics.learned, PartlyLazy)
    assert all(own._make is None for own in model._fitted.frozen_statistics.learned._later.values())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(asked), expected)
