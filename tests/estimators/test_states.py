"""Edits happen wholly or not at all, and questions see one state: several threads on one model, and interrupts.

`SUFFICE_INTERRUPTS=1000` interrupts so many times in all, instead of a few per edit.
"""

import contextlib
import copy
import dis
import inspect
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from kinds import kinds
from sklearn.base import clone
from sklearn.datasets import load_iris

import suffice
from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes, _arrays, drop_in
from suffice._arrays import _BlasLimit, single_blas_thread
from suffice.files.saving import describe

INTERRUPTS = int(os.environ.get("SUFFICE_INTERRUPTS", "0"))
X, Y = load_iris(return_X_y=True)
Y = np.array(["setosa", "versicolor", "virginica"])[Y]
RNG = np.random.default_rng(3)
MORE = X[::5] + RNG.normal(scale=0.05, size=X[::5].shape), Y[::5]
MAKERS = kinds("full, loo, single components, automatic, forest") | {
    "naive bayes": lambda: NaiveBayes({0: "laplace", (1, 2): "gaussian"}),
}


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Locks that interrupts have left held are given up sooner."""
    monkeypatch.setattr(_arrays, "PATIENCE", 0.5)


def text(model):
    """Return all that the model would save."""
    return describe(model._fitted, model.get_params(deep=False))


# --- several threads -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::suffice.errors.RepeatedRowsWarning")
def test_adding_forgetting_and_merging_at_once_lose_nothing():
    """What threads add, forget and merge commutes, so that whatever the order the result is one fit on what is left."""
    model, other = GaussianDiscriminant().fit(X, Y), GaussianDiscriminant().fit(*MORE)
    jobs = [lambda i=i: model.partial_fit(X[i : i + 1] + 1.0, ["new"]) for i in range(16)]
    jobs += [lambda i=i: model.forget(X[i : i + 1], Y[i : i + 1]) for i in range(0, 140, 10)]
    jobs += [lambda: model.merge(other)] * 3
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(job) for job in jobs]:
            assert done.result() is model
    kept = np.setdiff1d(np.arange(150), np.arange(0, 140, 10))
    rows = np.vstack([X[kept], X[:16] + 1.0, *[MORE[0]] * 3])
    whole = GaussianDiscriminant().fit(rows, np.concatenate([Y[kept], ["new"] * 16, *[MORE[1]] * 3]))
    np.testing.assert_allclose(model.statistics_.weight, whole.statistics_.weight, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-6, atol=1e-6)


QUESTIONS = {
    "predict_proba": lambda m: m.predict_proba(X[:7]),
    "predict": lambda m: m.predict(X[:7]),
    "score_samples": lambda m: m.score_samples(X[:7]),
    "explain": lambda m: m.explain(X[:3]),
    "outlier_pvalues": lambda m: m.outlier_pvalues(X[:3]),
    "leave_one_out": lambda m: m.leave_one_out(X[:5], Y[:5]),
    "sample": lambda m: m.sample(3, random_state=1)[0],
    "predict_set": lambda m: m.predict_set(X[:5]),
    "impute": lambda m: m.impute(np.where(np.arange(4) == 1, np.nan, X[:3])),
    "means_": lambda m: m.means_,
    "covariances_": lambda m: m.covariances_,
    "classes_": lambda m: m.classes_,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["full", "naive bayes", "automatic"])
def test_every_answer_meanwhile_is_that_of_one_state(name):
    """A class comes and goes under eight threads that ask: each answer is one of the model with it or without it."""
    asked = {key: ask for key, ask in QUESTIONS.items() if hasattr(GenerativeClassifier, key) or name != "automatic"}
    if name != "full":
        del asked["outlier_pvalues"]  # models of folds: seconds for each state
    without = MAKERS[name]().fit(X[:100], Y[:100])
    model = copy.deepcopy(without)
    right = {}
    for key, ask in asked.items():
        answers = [ask(copy.deepcopy(without).partial_fit(X[100:], Y[100:])), ask(without)]
        assert not np.array_equal(*answers) or key in ("predict", "impute")
        right[key] = answers
    ended, wrong = threading.Event(), []

    def question(keys):
        while not ended.is_set():
            for key in keys:
                answer = asked[key](model)
                if not any(a.shape == answer.shape and _close(a, answer) for a in right[key]):
                    wrong.append((key, answer))

    keys = list(asked)
    with ThreadPoolExecutor(8) as pool:
        askers = [pool.submit(question, keys[i:] + keys[:i]) for i in range(8)]
        for _ in range(2 if name == "automatic" else 12):
            model.partial_fit(X[100:], Y[100:])
            model.drop_class("virginica")
        ended.set()
        for asker in askers:
            asker.result()
    assert not wrong, wrong[:3]


def _close(a, b):
    if a.dtype.kind in "fb":
        return np.allclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True)  # what a class leaves behind is rounding
    return np.array_equal(a, b)


READS = {"_fitted", "_learned", "_known", "_learn", "_edit", "_still", "statistics_", "classes_", "priors_", "model_"}


def test_copies_pickles_and_clones_have_locks_and_caches_of_their_own():
    model = GaussianDiscriminant().fit(X, Y)
    before = text(model)
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        twin.partial_fit(*MORE)
        assert twin.predict_proba(X[:2]).shape == (2, 3)
        assert text(model) == before
    assert "statistics_" not in vars(clone(model))
    assert model.set_params(priors="uniform") is model


def test_every_public_verb_reads_what_was_learned_once():
    """A verb or attribute that reads the state piece by piece could see half of two states."""
    kinds = [GaussianDiscriminant, NaiveBayes, MixtureDiscriminant, GenerativeClassifier]
    kinds += [getattr(drop_in, name) for name in drop_in.__all__]
    free = {"save", "set_params", "get_params", "get_metadata_routing", "score", "shared", "priors"}
    for kind in kinds:
        for name, member in inspect.getmembers_static(kind):
            source = member.fget if isinstance(member, property) else getattr(member, "method", member)
            if name.startswith("_") or name in free or not inspect.isfunction(source):
                continue
            if source.__module__.startswith("suffice.") and not name.startswith("set_"):
                steps = list(dis.get_instructions(source))
                reads = [b.argval for a, b in pairwise(steps) if a.argval == "self" and b.argval in READS]
                assert len(reads) <= 1 or source.__qualname__.startswith("attribute."), (kind, name, reads)


# --- interrupts ------------------------------------------------------------------------------------------------------


OURS = str(Path(suffice.__file__).parent)


class Interrupter:
    """Raise KeyboardInterrupt at the `number`-th line or call of our code, or count these."""

    def __init__(self, number=None):
        self.number, self.seen = number, 0

    def __enter__(self):
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def _trace(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        self.seen += 1
        if self.seen == self.number:
            sys.settrace(None)
            raise KeyboardInterrupt
        return self._trace


EDITS = {
    "fit": lambda m, other: m.fit(*MORE),
    "partial_fit": lambda m, other: m.partial_fit(*MORE, decay=0.9),
    "merge": lambda m, other: m.merge(other),
    "forget": lambda m, other: m.forget(X[::10], Y[::10]),
    "drop_class": lambda m, other: m.drop_class("setosa"),
    "rename_classes": lambda m, other: m.rename_classes({"setosa": "virginica", "virginica": "rest"}),
    "decay": lambda m, other: m.decay(0.5),
}


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "loo"])  # whose choice takes long to trace
def test_an_interrupt_leaves_the_model_as_it_was(name):
    """KeyboardInterrupt at random lines of every edit: what would be saved is as before; the edit then still works.

    Only where it comes after the last step, in the few lines by which the edit returns, is the edit done, and wholly.
    """
    model, other = MAKERS[name]().fit(X[::2], Y[::2]), MAKERS[name]().fit(*MORE)
    before, answers = text(model), model.predict_log_proba(X[:9])
    pick, late, times = np.random.default_rng(7), 0, 0
    for verb, edit in EDITS.items():
        twin, _ = copy.deepcopy(model), edit(copy.deepcopy(model), other)  # what is made once is made before
        with single_blas_thread(), Interrupter() as counter:
            edit(twin, other)
        after = text(twin)
        for _ in range(max(2, INTERRUPTS // (len(EDITS) * len(MAKERS)) + 1) if INTERRUPTS else 2):
            subject = copy.deepcopy(model)
            number = int(pick.integers(1, counter.seen + 1))  # in one limit of threads: to set one takes lines as well
            with single_blas_thread(), contextlib.suppress(KeyboardInterrupt), Interrupter(number):
                edit(subject, other)
            times += 1  # a fit takes some lines more or less each time: an interrupt beyond its end is a late one
            left = text(subject)
            assert left in (before, after), verb
            late += left == after != before
        if left == before:
            np.testing.assert_array_equal(subject.predict_log_proba(X[:9]), answers)
            edit(subject, other)
        assert text(subject) == after, verb
    print(f"{times} interrupts, {late} after the edit was done")
    assert late <= 1 + times // 50


class Threads:
    """What threadpoolctl does, for a library of eight threads."""

    lib_controllers = ()

    def __init__(self):
        self.now = 8

    def limit(self, limits, user_api):
        before, self.now = self.now, limits

        def restore():
            self.now = before

        return SimpleNamespace(restore_original_limits=restore)


def test_an_interrupt_does_not_leave_the_process_on_one_thread(monkeypatch):
    """At every line of setting and lifting the limit; the next use, at the latest, puts things right."""

    def use(limit, seen):
        with limit():
            seen.append(limit._controller.now)
            with limit():
                pass

    def fresh():
        limit = _BlasLimit()
        limit._controller = Threads()
        return limit

    monkeypatch.setattr(_arrays, "PATIENCE", 0.05)
    limit = fresh()
    with Interrupter() as counter:
        use(limit, [])
    assert counter.seen > 20
    for number in range(1, counter.seen + 1):
        limit = fresh()
        with contextlib.suppress(KeyboardInterrupt), Interrupter(number):
            use(limit, [])
        seen = []
        use(limit, seen)
        assert (seen, limit._controller.now) == ([1], 8), number
        elsewhere = []
        other = threading.Thread(target=use, args=(limit, elsewhere), daemon=True)
        other.start()
        other.join(30)
        assert (elsewhere, limit._controller.now) == ([1], 8), number  # no lock is left held


def test_an_interrupted_question_leaves_answers_whole():
    """The estimate that an interrupted question began is made again, with its notes."""
    X1 = np.column_stack([X, X[:, 0]])  # collinear: there is a note
    fresh = GaussianDiscriminant().fit(X1, Y)
    wanted, notes = fresh.predict_log_proba(X1[:5]), [str(note) for note in fresh.notes_]
    assert notes
    saved = pickle.dumps(GaussianDiscriminant().partial_fit(X1, Y))
    with Interrupter() as counter:
        pickle.loads(saved).predict_log_proba(X1[:5])
    for number in np.random.default_rng(1).integers(1, counter.seen + 1, size=12):
        model = pickle.loads(saved)
        with pytest.raises(KeyboardInterrupt), Interrupter(int(number)):
            model.predict_log_proba(X1[:5])
        np.testing.assert_array_equal(model.predict_log_proba(X1[:5]), wanted)
        assert [str(note) for note in model.notes_] == notes
