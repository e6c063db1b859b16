"""Notes: what they are made of, and that programs can go by their kind."""

import numpy as np
import pytest
from sklearn.base import clone

from suffice import (
    GaussianDiscriminant,
    GenerativeClassifier,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
    drop_in,
    load,
)
from suffice.estimate import Note
from suffice.notes import Kind


def test_a_note_needs_no_kind():
    note = Note("raised the variance", "no variation", "a", ("x", "y"), 0.25)
    assert note == Note("raised the variance", "no variation", label="a", columns=("x", "y"), amount=0.25)
    assert note.kind is Kind.OTHER
    assert str(note) == "raised the variance for 'x', 'y' in class 'a' by 0.25: no variation"
    assert str(Note(note.what, note.why, kind=Kind.FLOORED)) == "raised the variance: no variation"
    with pytest.raises(TypeError):
        Note("what", "why", None, (), None, Kind.FLOORED)


def kinds(model):
    return {note.kind for note in model.notes_}


def test_repairs_are_told_by_their_kind(rng):
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + y[:, None]
    assert kinds(GaussianDiscriminant().fit(X, y)) == set()
    assert kinds(GaussianDiscriminant().fit(X[:, [0, 1, 1]], y)) == {Kind.SHRUNK}
    assert kinds(GaussianDiscriminant(shrinkage="oas").fit(X, y)) == {Kind.SHRUNK}
    assert kinds(GaussianDiscriminant("diagonal").fit(np.where(y[:, None] == 0, 1.0, X), y)) == {Kind.FLOORED}
    assert kinds(GaussianDiscriminant("diagonal").fit(X * [1.0, 0.0, 1.0], y)) == {Kind.LEFT_OUT}
    lone = np.where((np.arange(60) > 1)[:, None] & (y == 0)[:, None], np.nan, X)
    assert kinds(GaussianDiscriminant("diagonal").fit(lone, y)) == {Kind.BORROWED}
    assert Kind.STOPPED_EARLY in kinds(MixtureDiscriminant(n_components=2, max_iter=1, random_state=0).fit(X, y))
    joined = GaussianDiscriminant().fit(X, np.where(np.arange(60) < 8, None, y))
    assert Kind.JOINED in kinds(joined)
    assert kinds(drop_in.GaussianNB().fit(X, y)) == {Kind.SMOOTHED}


@pytest.mark.parametrize(
    "model",
    [
        GaussianDiscriminant(),
        GaussianDiscriminant(shrinkage="loo"),
        GaussianDiscriminant(prior=NormalInverseWishart()),
        NaiveBayes("laplace"),
        MixtureDiscriminant("bic", max_components=2, n_init=1, random_state=0),
        GenerativeClassifier(),
    ],
    ids=["full", "loo", "prior", "laplace", "mixture", "automatic"],
)
def test_no_answer_depends_on_the_words_of_a_note(model, blobs, monkeypatch, tmp_path):
    X, y = blobs
    X = np.column_stack([X, X[:, 0], np.where(y == "ash", 1.0, X[:, 1])])  # repairs that notes tell
    X[::7, 0] = np.nan
    fitted = clone(model).fit(X, y)
    said = [str(note) for note in fitted.notes_]
    assert said

    def without_words(self, what, why, *told, init=Note.__init__, **named):
        init(self, "", "", *told, **named)

    monkeypatch.setattr(Note, "__init__", without_words)
    mute = clone(model).fit(X, y)
    assert len(mute.notes_) == len(said)
    assert not any(note.what or note.why for note in mute.notes_)
    assert [note.kind for note in mute.notes_] == [note.kind for note in fitted.notes_]
    np.testing.assert_array_equal(mute.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(mute.score_samples(X), fitted.score_samples(X))
    mute.save(tmp_path / "mute.suffice")
    np.testing.assert_array_equal(load(tmp_path / "mute.suffice").predict_proba(X), fitted.predict_proba(X))
