"""The value that an estimator holds: it never changes, edits make another, and what is derived stays beside it."""

import copy
import functools
import pickle
import sys
import threading
from dataclasses import fields, replace

import numpy as np
import pytest
from kinds import kinds

from suffice import GaussianDiscriminant, drop_in
from suffice._derived import shared

RNG = np.random.default_rng(11)
LABELS = np.repeat(["ash", "birch", "cedar"], [40, 25, 15])
ROWS = RNG.normal(size=(80, 3)) + 1.5 * np.repeat(np.arange(3), [40, 25, 15])[:, None]
PRIORS = np.array([0.2, 0.3, 0.5])
KINDS = kinds("full, shared loo, naive bayes, mixture, automatic") | {
    "drop-in": lambda: drop_in.LinearDiscriminantAnalysis(),
}
MERGING = [name for name in KINDS if name != "mixture"]


@functools.cache
def learned(name):
    """A fitted estimator of this kind, whose value all tests share."""
    return KINDS[name]().fit(ROWS, LABELS)


@pytest.fixture(params=KINDS)
def model(request):
    """An estimator of each kind that holds such a value."""
    own = KINDS[request.param]()
    vars(own).update(vars(learned(request.param)))
    return own


def derived_of(value):
    """Return the names of what a value holds beside its fields."""
    return set(vars(value)) - {field.name for field in fields(value)}


def of_sort(value, sort):
    """Return the names of what values of this class derive."""
    kind = type(value)
    return {name for name in dir(kind) if type(getattr(kind, name)) is sort}


# --- it does not change ----------------------------------------------------------------------------------------------


def test_questions_leave_the_value_as_it_is(model):
    value = model._learned
    before = {field.name: getattr(value, field.name) for field in fields(value)}
    model.predict_proba(ROWS)
    model.score_samples(ROWS)
    model.explain(ROWS[:2])
    model.sample(3, random_state=0)
    assert model._learned is value
    assert all(getattr(value, name) is kept for name, kept in before.items())


# --- under other priors ----------------------------------------------------------------------------------------------


def test_other_priors_share_what_priors_do_not_change(model):
    value = model._learned
    other = value.with_priors(PRIORS)
    assert type(other) is type(value)
    assert value.with_priors(PRIORS.copy()) is other
    assert other.with_priors(list(PRIORS)) is other
    assert value.with_priors(value.priors) is value
    for name in of_sort(value, shared):
        assert getattr(other, name) is getattr(value, name), name
    assert other.joint is not value.joint
    assert other.joint.density is value.joint.density
    np.testing.assert_allclose(np.exp(other.joint.log_prior), PRIORS)
    np.testing.assert_allclose(np.exp(value.joint.log_prior), [0.5, 0.3125, 0.1875])
    assert not np.allclose(other.log_posterior(other.rows(ROWS)), value.log_posterior(value.rows(ROWS)))


def test_answers_are_those_of_the_priors_that_the_estimator_holds(model):
    """Also where the caller changes the array in place: the setting is read when a question is asked."""
    told = PRIORS.copy()
    model.set_params(priors=told)
    value = model._fitted
    first, answers = value.joint, model.predict_proba(ROWS)
    np.testing.assert_allclose(answers, model.predict_proba(ROWS, priors=PRIORS), rtol=1e-12)
    told[:] = told[::-1].copy()
    assert model.priors is told
    np.testing.assert_allclose(model.priors_, PRIORS[::-1])
    np.testing.assert_allclose(model.predict_proba(ROWS), model.predict_proba(ROWS, priors=PRIORS[::-1]), rtol=1e-12)
    assert value.joint is first  # a value keeps the priors that it was made with
    np.testing.assert_array_equal(value.priors, PRIORS)
    told[:] = PRIORS
    np.testing.assert_array_equal(model.predict_proba(ROWS), answers)


# --- what is derived -------------------------------------------------------------------------------------------------


def ask(model):
    """Ask for what is costly to make."""
    model.predict_proba(ROWS)
    model.score_samples(ROWS)
    _ = model.notes_
    return model


def test_pickles_have_nothing_derived(model):
    ask(model)
    value = model._learned
    assert derived_of(value)
    for twin in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert derived_of(twin) == set()
    again = pickle.loads(pickle.dumps(model))
    assert derived_of(again._learned) == set()
    np.testing.assert_array_equal(again.predict_proba(ROWS), model.predict_proba(ROWS))


def test_other_statistics_forget_what_was_derived(model):
    value = ask(model)._learned
    other = value.with_statistics(value.statistics)
    assert derived_of(other) == set()
    assert other.chosen is None
    assert other.past.notes == ()
    assert other.estimated is not value.estimated


def test_the_past_can_be_told_while_another_thread_asks():
    learned = GaussianDiscriminant().fit(ROWS, LABELS)._learned
    usual, failed = sys.getswitchinterval(), []
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            value, begin = replace(learned), threading.Barrier(2)

            def tell(value=value, begin=begin):
                begin.wait(30)
                try:
                    for _ in range(30):
                        value.with_past(steps=1)
                except RuntimeError as error:
                    failed.append(error)

            teller = threading.Thread(target=tell)
            teller.start()
            begin.wait(30)
            assert value.joint is value.joint
            assert len(value.labels) == 3
            teller.join(30)
    finally:
        sys.setswitchinterval(usual)
    assert failed == []


# --- estimators that hold it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MERGING)
def test_edits_of_a_copy_do_not_reach_the_other(name):
    model = learned(name)
    value, before = model._learned, model.predict_proba(ROWS)
    for edit in (
        lambda twin: twin.partial_fit(ROWS[:20] + 1.0, LABELS[:20]),
        lambda twin: twin.merge(model),
        lambda twin: twin.drop_class("cedar"),
        lambda twin: twin.decay(0.5),
        lambda twin: twin.fit(-ROWS, LABELS),
    ):
        twin = copy.copy(model)
        assert edit(twin) is twin
        assert twin._learned is not value
        assert model._learned is value
    np.testing.assert_array_equal(model.predict_proba(ROWS), before)
