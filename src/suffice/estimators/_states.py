"""One state at a time: edits that happen wholly or not at all, and questions that see one state from end to end.

What an estimator has learned stands in its `__dict__`. An edit works on a draft, a copy of it, and puts the draft's
contents in the place of the old ones by one assignment: an error or an interrupt before that changes nothing. Edits of
one estimator wait for each other. A question is put to a copy too, so that edits meanwhile do not reach it. Copies are
shallow: statistics, schema and blocks never change, they are replaced.

What is derived from a state (its model, whitened factors, left-out posteriors) is kept in a dict of its own, which
copies of that state share and an edit begins anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, Self, TypeVar, cast

from sklearn.base import BaseEstimator

E = TypeVar("E")
Verb = TypeVar("Verb", bound=Callable[..., Any])
_ABSENT = object()


class Derived:
    """An attribute derived from the present state: None until it is made, and again after an edit."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        return self if estimator is None else vars(estimator).get("_derived", {}).get(self._name)

    def __set__(self, estimator: Any, value: Any) -> None:
        vars(estimator).setdefault("_derived", {})[self._name] = value


class _Turn:
    """A lock for the edits of one estimator, which one thread may take again; a copy or a pickle has its own."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # entered as it is: an interrupt within a method of ours could leave it held

    def __reduce__(self) -> tuple[type[_Turn], tuple[()]]:
        return _Turn, ()


def edit(verb: Verb) -> Verb:
    """Make a method an edit: it changes `self` wholly at its end, or not at all, and returns `self`."""

    @wraps(verb)
    def whole(self: Any, *args: Any, **named: Any) -> Any:
        with _turn(self).lock:
            begun = dict(vars(self))
            draft = _copy(self, begun | {"_derived": dict(begun.get("_derived", {}))})
            verb(draft, *args, **named)
            end, now = vars(draft), dict(vars(self))  # settings may have been set meanwhile
            now |= {name: value for name, value in end.items() if begun.get(name, _ABSENT) is not value}
            for name in begun.keys() - end.keys():
                del now[name]
            self.__dict__ = now
        return self

    return cast(Verb, whole)


def question(verb: Verb) -> Verb:
    """Make a method, or what a property calls, answer from the state it finds when it begins."""

    @wraps(verb)
    def consistent(self: Any, *args: Any, **named: Any) -> Any:
        return verb(snapshot(self), *args, **named)

    return cast(Verb, consistent)


def snapshot(estimator: E) -> E:
    """Return a copy that later edits do not reach; what is derived from this state is kept for both."""
    state = vars(estimator)
    if "statistics_" in state:
        state.setdefault("_derived", {})
    return _copy(estimator, dict(state))


def begin_anew(draft: Any) -> None:
    """Forget, in an edit that keeps nothing learned, what was derived from the state before."""
    vars(draft)["_derived"] = {}


def _turn(estimator: Any) -> _Turn:
    found: _Turn = vars(estimator).setdefault("_turn", _Turn())
    return found


def _copy(estimator: E, state: dict[str, Any]) -> E:
    copied = object.__new__(type(estimator))
    copied.__dict__ = state
    return copied


class States(BaseEstimator):
    """Settings, copies and pickles of an estimator whose state is replaced as a whole."""

    def set_params(self, **params: Any) -> Self:
        """Set settings by name and return the estimator; waits for an edit that is under way."""
        with _turn(self).lock if "_turn" in vars(self) else nullcontext():
            super().set_params(**params)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_turn", None)
        if "_derived" in state:
            state["_derived"] = dict(state["_derived"])  # other threads may add to it
        return state
