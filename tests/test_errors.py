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


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (errors.SettingError.choice("divisor", "n", ["mle", "unbiased"]), ["divisor='n'", "'mle', 'unbiased'"]),
        (
            errors.SchemaError.columns_differ(["a"], ["b", "c"], "Model"),
            ["lacks 'a'", "Model does not know 'b', 'c'", "Next"],
        ),
        (errors.SchemaError.columns_differ([], ["b"], "Model"), ["Model does not know 'b'", "Next"]),
        (errors.SchemaError.kind_differs("a", "numeric", "string"), ["'a'", "numeric", "string", "Next"]),
        (errors.SchemaError.temporal("t", "Date"), ["'t'", "Date", "Next"]),
        (errors.SchemaError.unsupported("x", "List"), ["'x'", "List", "Next"]),
        (errors.SchemaError.mixed_objects("x", {"str", "int"}), ["'x'", "int, str", "Next"]),
        (errors.SchemaError.needs_numbers(["x"], "Model"), ["column 'x' holds", "Next: drop it"]),
        (errors.SchemaError.needs_numbers(["x", "y"], "Model"), ["columns 'x', 'y' hold", "Next: drop them"]),
        (errors.DataError.infinite(["x"]), ["infinity in column 'x'", "Next"]),
        (errors.DataError.infinite(list(range(20))), ["columns 0, 1", "and 12 more"]),
        (errors.DataError.unseen_labels(["a"]), ["'a'", "Next"]),
        (
            errors.SingularCovarianceError.for_class("a", ["x", "y"], 1, 2),
            ["Class 'a'", "rank 1 of 2", "'x', 'y'", "Next"],
        ),
        (errors.SingularCovarianceError.for_class(None, ["x"], 1, 2), ["all classes", "rank 1 of 2", "Next"]),
        (errors.ExportError.forest(30, 2000, 3), ["30 trees", "2,000 leaves", "3 classes", "Next"]),
        (errors.ExportError.too_many_leaves(60, 2000, 6000, 5000), ["6,000 values of 2,000 leaves", "5,000", "Next"]),
        (errors.ModelFileError.unreadable("m.suffice", "it is empty"), ["m.suffice", "it is empty", "Next"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_messages_say_what_was_got_and_what_to_do_next(error, parts):
    for part in parts:
        assert part in str(error)


def test_lists_of_names_are_cut_short():
    assert errors.quoted(["a", 1]) == "'a', 1"
    assert errors.quoted(list("abc"), limit=2) == "'a', 'b' and 1 more"
