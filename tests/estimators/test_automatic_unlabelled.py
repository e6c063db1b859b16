"""Rows without a label in the automatic classifier: kept as rows, joined by EM, judged by labels it has not seen."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_t
from sklearn.metrics import log_loss

from suffice import GenerativeClassifier
from suffice.automatic.columns import FrozenColumns
from suffice.automatic.judge import HoldoutScorer
from suffice.automatic.member import TrainingStats
from suffice.automatic.members import joined
from suffice.automatic.sample import Sample, Unlabelled
from suffice.errors import DataError, NotLearnedError
from suffice.notes import Kind
from suffice.stats.counts import CodedColumns

SEEDS = range(3)


@pytest.fixture
def few_settings(monkeypatch):
    """Four settings to choose between instead of twelve, for laws that hold whichever is chosen."""
    monkeypatch.setattr(joined, "SPHERES", (0.1,))


def blobs(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three overlapping Gaussian classes of the same means for every seed."""
    rng = np.random.default_rng([7, seed])
    means = np.random.default_rng(3).normal(size=(3, 6)) * 1.2
    y = np.arange(n) % 3
    return rng.normal(size=(n, 6)) @ np.diag([1, 1, 2, 1, 0.5, 1]) + means[y], np.array(["ash", "elm", "oak"])[y]


def few_labels(y: np.ndarray, known: int) -> np.ndarray:
    return np.where(np.arange(len(y)) < known, y, None)


def mixed(n: int = 90, holes: float = 0.1) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X, y = blobs(0, n)
    X[rng.random(X.shape) < holes] = np.nan
    frame = pd.DataFrame(X, columns=list("abcdef"))
    words = np.where(rng.random(n) < 0.7, y, "none").astype(object)
    words[rng.random(n) < holes] = None
    return frame.assign(word=words), y


def note_of(model: GenerativeClassifier) -> list[Kind]:
    return [note.kind for note in model.notes_ if "without a label" in note.what]


# --- what they are for ------------------------------------------------------------------------------------------------


def test_they_help_where_classes_are_clusters():
    gains, densities = [], []
    for seed in SEEDS:
        X, y = blobs(seed, 200)
        new, truth = blobs(100 + seed, 1000)
        alone = GenerativeClassifier().fit(X[:15], y[:15])
        both = GenerativeClassifier().fit(X, few_labels(y, 15))
        gains.append(log_loss(truth, alone.predict_proba(new)) - log_loss(truth, both.predict_proba(new)))
        densities.append(both.score_samples(new).mean() - alone.score_samples(new).mean())
        assert note_of(both) in ([Kind.JOINED], [Kind.LEFT_OUT])
    assert np.mean(gains) > 0.01  # nats
    assert min(densities) > 0.3  # p(x) always learns from them


@pytest.mark.slow
def test_noise_is_no_worse_than_chance():
    apart = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(250, 5)), rng.integers(0, 2, 250)
        new, truth = rng.normal(size=(1000, 5)), rng.integers(0, 2, 1000)
        both = GenerativeClassifier().fit(X, np.where(np.arange(250) < 40, y.astype(object), None)).predict_proba(new)
        alone = GenerativeClassifier().fit(X[:40], y[:40]).predict_proba(new)
        apart.append(log_loss(truth, both) - log_loss(truth, alone))
    assert np.mean(apart) < 2 * np.std(apart) / np.sqrt(len(apart)) + 0.01


def test_with_all_labels_nothing_joins(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("EM ran")

    monkeypatch.setattr(joined.SemiSupervisedGaussian, "candidates", refuse)
    X, y = blobs(0, 60)
    model = GenerativeClassifier().fit(X, y)
    assert model.statistics_.unlabelled is None
    assert not note_of(model)


# --- judged by labels that EM has not seen ----------------------------------------------------------------------------


@pytest.fixture
def judged(monkeypatch):
    """A sample of 24 rows of two classes in known folds, 40 rows beside it, and what they are made of."""
    rng = np.random.default_rng(1)
    codes = np.arange(24) % 2
    X, U = rng.normal(size=(24, 2)) + 2.0 * codes[:, None], rng.normal(size=(40, 2)) + 2.0 * rng.integers(0, 2, (40, 1))
    none = CodedColumns((), ())
    columns = FrozenColumns.freeze(X, none, np.ones(24))
    monkeypatch.setattr(joined, "dealt", lambda sample: np.arange(24) // 2 % 4)
    beside = Unlabelled(columns.read(U, none), rng.uniform(0.5, 2.0, 40), 40)

    def scores(codes):
        ones = np.ones(24)
        sample = Sample(columns.read(X, none), codes, ones, ones, ones, ones)
        judge = HoldoutScorer(codes, np.zeros((24, 2)), ones, ones)
        known = TrainingStats(columns, {}, (), np.bincount(codes, minlength=2).astype(float), np.zeros((2, 0)), beside)
        found = []
        for setting in product(joined.STRENGTHS, joined.SPHERES, joined.SHARES):
            for name, own in zip(("STRENGTHS", "SPHERES", "SHARES"), setting, strict=True):
                monkeypatch.setattr(joined, name, (own,))
            found += [
                (own.members[0], own.scores) for own in joined.SemiSupervisedGaussian.candidates(known, sample, judge)
            ]
            monkeypatch.undo()
            monkeypatch.setattr(joined, "dealt", lambda sample: np.arange(24) // 2 % 4)
        return found

    return codes, np.arange(24) // 2 % 4, scores


def plain_em(cells, codes, unlabelled, weight, a, sphere, share):
    """EM of two classes under the prior of `leave_one_out.wishart`, written out; returns log densities of rows."""

    def densities(n, means, scatters):
        freedom = max(n.sum() - 2, 2.0)
        within = scatters[0] + scatters[1]
        base = (1 - sphere) / freedom * within + sphere * max(np.trace(within) / freedom / 2, 1e-8) * np.eye(2)
        laws = []
        for c in range(2):
            df = freedom + 1 if np.isinf(a) else a + n[c] + 1
            scale = base * freedom / df if np.isinf(a) else (a * base + scatters[c]) / df
            laws.append(multivariate_t(means[c], scale * (1 + 1 / n[c]), df))
        return lambda rows: np.stack([law.logpdf(rows) for law in laws], axis=1)

    def estimate(rows, r):
        n = r.sum(axis=0)
        means = (r.T @ rows) / n[:, None]
        scatters = [(r[:, c, None] * (rows - means[c])).T @ (rows - means[c]) for c in range(2)]
        return n, densities(n, means, scatters)

    own = np.eye(2)[codes]
    count = weight * (share or min(1.0, len(codes) / weight.sum()))
    n, found = estimate(cells, own)
    for _ in range(joined.STEPS):
        eta = found(unlabelled) + np.log(n)
        r = count[:, None] * np.exp(eta - logsumexp(eta, axis=1, keepdims=True))
        n, found = estimate(np.concatenate([cells, unlabelled]), np.concatenate([own, r]))
    return found


def test_they_are_those_of_em_without_the_fold(judged):
    """Whatever labels the rows of the fold have."""
    codes, place, scores = judged
    found = scores(codes)
    assert len(found) == 2 * 12
    for member, got in found:
        rows = member.rows
        for fold in range(4):
            some = place != fold
            density = plain_em(
                rows.cells[some], codes[some], rows.unlabelled, rows.count, member.strength, member.sphere, member.share
            )
            assert_allclose(got[~some], density(rows.cells[~some]), atol=1e-6)


def test_a_setting_as_good_as_the_best_that_says_least_is_chosen():
    """Where all are right about every row, the one whose densities differ least."""
    rng = np.random.default_rng(0)
    codes = np.arange(30) % 2
    X, U = rng.normal(size=(30, 2)) + 12.0 * codes[:, None], rng.normal(size=(50, 2))
    rows = joined.Rows(X, codes, np.ones(30), U, np.ones(50), 2)
    judge = HoldoutScorer(codes, np.zeros((30, 2)), np.ones(30), np.ones(30))
    (strength, sphere, share), _ = joined.choose_setting(rows, X, np.arange(30) // 2 % 5, judge)
    own = rows.climb(strength, sphere, share).density(strength, sphere).log_density(X)
    for other in product(joined.STRENGTHS, joined.SPHERES, joined.SHARES):
        found = rows.climb(*other).density(*other[:2]).log_density(X)
        assert np.ptp(own, axis=1).mean() <= 1.05 * np.ptp(found, axis=1).mean()


# --- edits ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_order_of_learning_gives_one_model(few_settings, read_back):
    frame, y = mixed()
    labels = few_labels(y, 40)
    whole = GenerativeClassifier().fit(frame, labels)
    expected, density = whole.predict_log_proba(frame), whole.score_samples(frame)
    known, rest = slice(0, 40), slice(40, None)
    added = GenerativeClassifier().partial_fit(frame[known], y[known]).partial_fit(frame[rest], labels[rest])
    halves = GenerativeClassifier().partial_fit(frame[:60], labels[:60])
    merged = halves.merge(GenerativeClassifier().partial_fit(frame[:10], y[:10]).partial_fit(frame[60:], labels[60:]))
    merged.forget(frame[:10], y[:10])
    table = GenerativeClassifier().fit_table(frame.assign(kind=labels), target="kind")
    for model in (added, merged, read_back(whole), table):
        assert_allclose(model.predict_log_proba(frame), expected, atol=1e-9)
        assert_allclose(model.score_samples(frame), density, atol=1e-9)
        assert note_of(model) == note_of(whole)


def test_forgotten_they_leave_no_trace(few_settings):
    frame, y = mixed()
    labels = few_labels(y, 40)
    model = GenerativeClassifier().partial_fit(frame, labels)
    with pytest.raises(NotLearnedError, match="without a label"):
        model.forget(frame[:1], [None])  # learned with its label
    model.forget(frame[40:60], labels[40:60])
    fewer = GenerativeClassifier().fit(frame.drop(range(40, 60)), np.delete(labels, range(40, 60)))
    assert_array_equal(model.predict_log_proba(frame), fewer.predict_log_proba(frame))
    model.forget(frame[60:], labels[60:])
    alone = GenerativeClassifier().fit(frame[:40], y[:40])
    assert_array_equal(model.predict_log_proba(frame), alone.predict_log_proba(frame))
    assert_array_equal(model.score_samples(frame), alone.score_samples(frame))


def test_edits_of_classes_leave_them(few_settings):
    X, y = blobs(0, 90)
    labels = few_labels(y, 45)
    model = GenerativeClassifier().partial_fit(X, labels).drop_class("elm").rename_classes({"oak": "yew"})
    kept = labels != "elm"
    names = np.where(labels == "oak", "yew", labels)
    again = GenerativeClassifier().fit(X[kept], names[kept])
    assert_allclose(model.predict_log_proba(X), again.predict_log_proba(X), atol=1e-9)


# --- laws -------------------------------------------------------------------------------------------------------------


def test_weight_2_is_the_row_twice(few_settings):
    X, y = blobs(1, 100)
    labels = few_labels(y, 30)
    twice = np.where((np.arange(100) >= 30) & (np.arange(100) % 2 == 0), 2.0, 1.0)  # those without a label
    weighted = GenerativeClassifier().fit(X, labels, sample_weight=twice)
    rows = np.repeat(np.arange(100), twice.astype(int))
    copied = GenerativeClassifier().fit(X[rows], labels[rows])
    assert note_of(weighted) == note_of(copied)
    assert_allclose(weighted.predict_log_proba(X), copied.predict_log_proba(X), atol=1e-9)
    assert_allclose(weighted.score_samples(X), copied.score_samples(X), atol=1e-9)


def test_no_more_than_2000_are_kept_the_same_ones_however_they_come(few_settings):
    X, y = blobs(3, 2400)
    labels = few_labels(y, 30)
    whole, parts = GenerativeClassifier().fit(X, labels), GenerativeClassifier()
    for start in range(0, 2400, 800):
        parts.partial_fit(X[start : start + 800], labels[start : start + 800])
    assert len(whole.statistics_.unlabelled.codes) == 2000
    assert_array_equal(parts.predict_log_proba(X[:50]), whole.predict_log_proba(X[:50]))


@pytest.mark.slow
def test_released_and_exported(tmp_path):
    frame, y = mixed(240, 0.0)
    model = GenerativeClassifier(members="generative").fit(frame, few_labels(y, 90))
    assert note_of(model) == [Kind.JOINED]
    assert model.to_sql("duckdb")  # which is tried against the model before it is handed out
    assert_allclose(model.explain(frame[:3]).sum(axis=1).shape, (3, 3))
    assert np.isfinite(model.leave_one_out(frame[:90], y[:90])).all()
    released = model.release()
    assert released.statistics_.unlabelled is None
    alone = GenerativeClassifier(members="generative").fit(frame[:90], y[:90]).release()
    assert_array_equal(released.predict_log_proba(frame), alone.predict_log_proba(frame))


# --- odd tables -------------------------------------------------------------------------------------------------------


def test_odd_rows_without_a_label(few_settings):
    frame, y = mixed(80)
    labels = few_labels(y, 30)
    frame.loc[40:50, "word"] = "never seen with a label"
    frame.loc[60] = np.nan
    frame["flat"] = np.where(np.arange(80) < 30, 1.0, np.arange(80))  # varies among them alone
    model = GenerativeClassifier().fit(frame, labels)
    assert np.isfinite(model.predict_log_proba(frame)).all()
    assert np.isfinite(model.score_samples(frame)).all()
    one = GenerativeClassifier().fit(frame[:31], labels[:31])
    assert np.isfinite(one.predict_log_proba(frame)).all()
    assert np.isfinite(one.sample(3, random_state=0)[0]["a"]).all()


@pytest.mark.parametrize("known", [2, 9])
def test_fewer_rows_than_columns(known, few_settings):
    X, y = blobs(0, 30)
    wide = np.concatenate([X, np.random.default_rng(0).normal(size=(30, 40))], axis=1)
    model = GenerativeClassifier().fit(wide, few_labels(y, known))
    assert np.isfinite(model.predict_log_proba(wide)).all()
    assert np.isfinite(model.score_samples(wide)).all()


def test_more_than_there_is_time_for_are_left_out(monkeypatch):
    X, y = blobs(0, 120)
    monkeypatch.setattr(joined, "MOST_WORK", 1.0)
    model = GenerativeClassifier().fit(X, few_labels(y, 30))
    assert note_of(model) == [Kind.LEFT_OUT]
    assert_array_equal(model.predict_proba(X), GenerativeClassifier().fit(X[:30], y[:30]).predict_proba(X))


def test_no_label_at_all_is_refused():
    X, y = blobs(0, 20)
    none = np.full(20, None)
    with pytest.raises(DataError, match="give some labels"):
        GenerativeClassifier().fit(X, none)
    with pytest.raises(DataError, match="give some labels"):
        GenerativeClassifier().partial_fit(X, none)
    table = pd.DataFrame(X, columns=list("abcdef")).assign(kind=few_labels(y, 12))
    with pytest.raises(DataError, match="no label in 8 of 20 rows"):
        GenerativeClassifier().fit_table(table, target="kind", unlabelled="error")
    skipped = GenerativeClassifier().fit_table(table, target="kind", unlabelled="skip")
    assert skipped.statistics_.unlabelled is None
