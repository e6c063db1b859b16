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
)
from suffice.errors import spaced
from suffice.estimate import Note
from suffice.notes import Kind, details, to_know
from suffice.report.profile.columns import brief


def test_a_note_needs_no_kind():
    note = Note("raised the variance", "no variation", "a", ("x", "y"), 0.25)
    assert note == Note("raised the variance", "no variation", label="a", columns=("x", "y"), amount=0.25)
    assert note.kind is Kind.OTHER
    assert str(note) == "raised the variance for 'x', 'y' in class 'a' by 0.25: no variation"
    assert str(Note(note.what, note.why, kind=Kind.FLOORED)) == "raised the variance: no variation"
    with pytest.raises(TypeError):
        Note("what", "why", None, (), None, Kind.FLOORED)


def test_notes_of_one_sort_are_one_sentence_that_leaves_nothing_out():
    raised = [Note("raised the variance", "no variation", c, (c * 2, c * 3), 1e-9, kind=Kind.FLOORED) for c in "abc"]
    ranks = [
        Note("shrunk the correlations", f"rank {r} of 9", f"s{r}", amount=r / 10, kind=Kind.SHRUNK) for r in (3, 5)
    ]
    levels = [
        Note(f"took as different levels 'a{i}' and 'A{i}'", "case", None, (i,), kind=Kind.ALIKE) for i in range(9)
    ]
    classes = [Note("took as different classes 'x' and 'X'", "case", kind=Kind.ALIKE)]
    twice = [Note("stopped EM early", "100 steps", label, kind=Kind.STOPPED_EARLY) for label in "ab"]
    detail = [Note("rounded the values", "many", columns=(c,), kind=Kind.ROUNDED) for c in "ab"]
    every = [*raised, *ranks, *levels, *classes, *twice, *detail]
    each = "(`notes_` has each)"
    assert to_know(every) == [
        f"{raised[0]}; and 2 more of the kind for 'bb', 'bbb', 'cc', 'ccc' in classes 'b', 'c' {each}",
        f"shrunk the correlations in class 's5' by 0.5: rank 5 of 9; and 1 more of the kind in class 's3' {each}",
        f"{levels[0]}; and 8 more of the kind for 1, 2, 3, 4, 5, 6, 7, 8 {each}",
        str(classes[0]),
        "stopped EM early in classes 'a', 'b': 100 steps",
    ]
    assert to_know(every, each=True) == [str(note) for note in every if note not in detail]
    assert details(every) == [f"{detail[0]}; and 1 more of the kind for 'b' {each}"]


def test_levels_that_differ_by_spaces_look_different():
    levels = ["x y", "x  y", " x y", "x y ", "x\xa0y", "x\u2009y"]
    assert len({spaced(level) for level in levels}) == len({brief(level) for level in levels}) == len(levels)
    assert not any("  " in spaced(level) or spaced(level) != spaced(level).strip() for level in levels)
    model = NaiveBayes().fit(np.array(levels * 9, dtype=object)[:, None], np.arange(54) % 2)
    told = to_know(model.notes_)[0]
    assert all(f"'{spaced(level)}' (9 rows)" in told for level in levels)


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
        GaussianDiscriminant(prior=NormalInverseWishart()),
        NaiveBayes("laplace"),
        MixtureDiscriminant(2, n_init=1, random_state=0),
        GenerativeClassifier(),
    ],
    ids=["full", "prior", "laplace", "mixture", "automatic"],
)
def test_no_answer_depends_on_the_words_of_a_note(model, blobs, monkeypatch, read_back):
    X, y = blobs[0][:, :2], blobs[1]
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
    np.testing.assert_array_equal(read_back(mute).predict_proba(X), fitted.predict_proba(X))
