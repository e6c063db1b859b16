"""An edit that fails leaves every estimator as it was, bit for bit: the arrays it would save, and its answers."""

import zipfile

import numpy as np
import pytest
from kinds import kinds
from sklearn.exceptions import NotFittedError

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.errors import SufficeError

NAN = np.nan
ESTIMATORS = kinds(
    "full, shared, diagonal, spherical, prior, oas, loo, laplace, single components, mixture, automatic, forest"
) | {"joint block": lambda: NaiveBayes({(0, 1): "gaussian", 2: "laplace"})}
NEW = [[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]]
EDITS = {
    "add: an infinite cell": lambda m, other: m.partial_fit([[np.inf, 1.0, 2.0]], ["ash"]),
    "add: a column too few": lambda m, other: m.partial_fit([[1.0, 2.0]], ["ash"]),
    "add: text": lambda m, other: m.partial_fit([["x", 1.0, 2.0]], ["ash"]),
    "add: a number among labels": lambda m, other: m.partial_fit(NEW, [1, 2]),
    "add: no label": lambda m, other: m.partial_fit(NEW, ["ash", None]),
    "add: labels too few": lambda m, other: m.partial_fit(NEW, ["ash"]),
    "add: a negative weight": lambda m, other: m.partial_fit(NEW, ["ash", "birch"], sample_weight=[1.0, -1.0]),
    "add: no weight": lambda m, other: m.partial_fit(NEW, ["ash", "birch"], sample_weight=[0.0, 0.0]),
    "add: labels not among the classes": lambda m, other: m.partial_fit(NEW, ["ash", "oak"], classes=["ash"]),
    "add: no decay": lambda m, other: m.partial_fit(NEW, ["ash", "birch"], decay=0.0),
    "fit: no row": lambda m, other: m.fit(np.zeros((0, 3)), []),
    "fit: labels too few": lambda m, other: m.fit(NEW, ["ash"]),
    "merge: nothing": lambda m, other: m.merge(type(m)()),
    "merge: another kind": lambda m, other: m.merge(other),
    "merge: other columns": lambda m, other: m.merge(type(m)().fit(WIDE, LABELS)),
    "forget: a class never learned": lambda m, other: m.forget(NEW, ["oak", "oak"]),
    "forget: a row never learned": lambda m, other: m.forget([[99.0, 99.0, 99.0]], ["cedar"]),
    "forget: more weight than learned": lambda m, other: m.forget(NEW, ["ash", "ash"], sample_weight=[1e6, 1e6]),
    "forget: a pattern never seen": lambda m, other: m.forget([[NAN, NAN, 1.0]], ["ash"]),
    "forget: no label": lambda m, other: m.forget(NEW, ["ash", None]),
    "forget: everything": lambda m, other: m.forget(*TABLE),
    "drop: an unknown class": lambda m, other: m.drop_class("oak"),
    "drop: nothing": lambda m, other: m.drop_class(None),
    "rename: an unknown class": lambda m, other: m.rename_classes({"oak": "x"}),
    "rename: to a number": lambda m, other: m.rename_classes({"ash": 1}),
    "rename: to a missing label": lambda m, other: m.rename_classes({"ash": None}),
    "rename: to text that is not Unicode": lambda m, other: m.rename_classes({"ash": "half \ud83d"}),
    "decay: growth": lambda m, other: m.decay(2.0),
    "decay: not a number": lambda m, other: m.decay(NAN),
}
RNG = np.random.default_rng(5)
LABELS = np.repeat(["ash", "birch", "cedar"], 30)
TABLE = (RNG.normal(size=(90, 3)) + 2.0 * np.repeat(np.arange(3), 30)[:, None], LABELS)
WIDE = np.column_stack([TABLE[0], TABLE[0][:, :1] ** 2])


def contents(model, path):
    """Return the checksums of all that the model would save, and its answers."""
    model.save(path)
    with zipfile.ZipFile(path) as file:
        saved = {member.filename: member.CRC for member in file.infolist()}
    return saved, model.predict_log_proba(TABLE[0]).tobytes(), model.classes_.tolist(), model.get_params()


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request):
    other = GaussianDiscriminant() if request.param != "full" else NaiveBayes()
    return ESTIMATORS[request.param]().fit(*TABLE), other.fit(*TABLE)


def test_every_edit_that_fails_changes_nothing(fitted, tmp_path):
    model, other = fitted
    other = NaiveBayes().fit(*TABLE) if type(other) is type(model) else other
    before, kept = contents(model, tmp_path / "before"), dict(vars(model))
    for name, edit in EDITS.items():
        if name == "add: no label" and isinstance(model, GenerativeClassifier):
            continue  # it keeps such rows
        with pytest.raises((SufficeError, ValueError, TypeError, AttributeError, NotFittedError)) as error:
            edit(model, other)
        assert str(error.value), name
        assert model.statistics_ is kept["_learned"].statistics, name
        assert model._fitted.schema is kept["_learned"].schema, name
        assert model._fitted.blocks is kept["_learned"].blocks, name
    assert contents(model, tmp_path / "after") == before
    model.fit(*TABLE)
    assert contents(model, tmp_path / "again") == before
