"""scikit-learn's own tests of these classes, from the installed package, with our classes in the place of theirs.

The modules are executed from their source with the names replaced where they import them; nothing else changes.
Which tests are expected to fail, and why, is in conftest.py.
"""

import importlib.util
import re
from pathlib import Path

import pytest
import sklearn
import sklearn.discriminant_analysis
import sklearn.naive_bayes
from sklearn.utils.fixes import parse_version

from suffice import drop_in

if parse_version(sklearn.__version__) < parse_version("1.9.1"):
    pytest.skip("the numbers are those of scikit-learn 1.9.1", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("default")
HOMES = (sklearn.discriminant_analysis, sklearn.naive_bayes)
OURS = [(home, name) for home in HOMES for name in home.__all__]


def borrowed(name):
    """Return the tests of one of their modules, which see our classes under the names they import."""
    path = Path(sklearn.__file__).parent / "tests" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"borrowed_{name}", path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for home, own in OURS:
            patch.setattr(home, own, getattr(drop_in, own))
        spec.loader.exec_module(module)
    return {own: _collectable(value) for own, value in vars(module).items() if own.startswith("test_")}


def _collectable(test):
    """Replace generators of parameters by lists, which this version of pytest insists on."""
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize" and not isinstance(mark.args[1], list | tuple):
            test.pytestmark = [
                pytest.mark.parametrize(mark.args[0], list(mark.args[1])).mark if own is mark else own
                for own in test.pytestmark
            ]
    return test


THEIRS = {**borrowed("test_discriminant_analysis"), **borrowed("test_naive_bayes")}
globals().update(THEIRS)


def test_every_class_of_theirs_has_a_twin():
    assert sorted(name for _, name in OURS) == sorted(name for name in drop_in.__all__ if name != "load")
    assert sklearn.naive_bayes.GaussianNB is not drop_in.GaussianNB


def test_every_difference_is_a_test_of_theirs_and_told_in_the_documents(differences):
    text = (Path(__file__).parents[2] / "docs" / "drop-in.md").read_text(encoding="utf-8")
    for name in differences:
        function = re.sub(r"\[.*", "", name)
        assert function in THEIRS
        assert f"`{function}`" in text
