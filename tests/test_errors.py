"""The error tree: what scikit-learn users catch, and messages with what, got and next."""

import inspect

import pytest

from suffice import errors

RAISED = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]
CLASSES = [kind for kind in RAISED if not issubclass(kind, Warning)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_is_a_value_error_of_ours(kind):
    assert issubclass(kind, errors.SufficeError)
    assert issubclass(kind, ValueError)
    assert kind.__doc__


def test_lists_of_names_are_cut_short():
    assert errors.quoted(["a", 1]) == "'a', 1"
    assert errors.quoted(list("abc"), limit=2) == "'a', 'b' and 1 more"
