"""One joint density of the automatic classifier: p(x, y) = p(y | x) of the pool times p(x) of its joint model."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from suffice import GenerativeClassifier
from suffice.automatic.forest_fitted import ForestJoint

CLASSES = np.array(["ash", "birch", "cedar"])


def make_table(n=500, seed=0):
    """Return whole numbers and levels that hang together as no Gaussian does, two to a column, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    ring = rng.integers(0, 12, n)
    table = pd.DataFrame(
        {
            "east": np.round(3 * np.cos(ring * np.pi / 6)) + (y == 1),
            "north": np.round(3 * np.sin(ring * np.pi / 6)),
            "colour": np.array(["red", "green", "blue"])[np.where(rng.random(n) < 0.7, ring % 3, y)],
            "size": rng.poisson(2.0 + 2.0 * y).astype(float),
        }
    )
    return table, CLASSES[y]


def make_normal(n=500, seed=0):
    """Return independent numbers that are normal in each class, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return pd.DataFrame(rng.normal(size=(n, 3)) + y[:, None], columns=["a", "b", "c"]), CLASSES[y]


def make_repeated(n=600, seed=0):
    """Return rows of which at most 24 are distinct, and labels."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 12, n)
    y = np.where(rng.random(n) < 0.8, a % 3, rng.integers(0, 3, n))
    return pd.DataFrame({"a": a, "b": a * a % 13, "c": a * 5 % 12}, dtype=float), CLASSES[y]


MADE = {"forest": make_table, "gaussian": make_normal, "repeated": make_repeated}


@pytest.fixture(scope="module", params=MADE)
def fitted(request):
    """A model whose joint density is a forest, or Gaussians, with rows it has learned and fresh ones."""
    make = MADE[request.param]
    model = GenerativeClassifier().fit(*make())
    assert isinstance(model._fitted.joint_value, ForestJoint) is (request.param != "gaussian")
    return model, make(), make(3000, seed=5)


def test_of_many_rows_few_may_be_distinct(monkeypatch):
    """They are in groups of their own, or of a fold: the forest is then that of the distinct ones."""
    X, y = make_repeated()
    expected = GenerativeClassifier().fit(X, y).score_samples(X)
    monkeypatch.setattr("suffice.automatic.pooled.rows_judged", lambda *_: 100)
    model = GenerativeClassifier().fit(X, y, groups=np.arange(len(y)))
    assert_allclose(model.score_samples(X), expected, rtol=1e-9)
    assert np.isfinite(model.suspect_cells(X, y).p_value).all()


@pytest.fixture(scope="module")
def every(fitted):
    return fitted[0].sample(6000, random_state=2)[0]


def joint_note(model):
    return next(note for note in model.notes_ if note.what.startswith("joint model"))


def test_joint_density_is_the_posterior_times_the_density_of_rows(fitted):
    model, (X, _), (new, _) = fitted
    for rows in (X, new[:100], new[:100].mask(np.random.default_rng(0).random((100, new.shape[1])) < 0.3)):
        joint = model.predict_joint_log_proba(rows)
        expected = model.predict_log_proba(rows) + model.score_samples(rows)[:, None]
        assert_allclose(joint, expected, atol=1e-12)
        assert_allclose(logsumexp(joint, axis=1), model.score_samples(rows), atol=1e-9)


def test_labels_drawn_with_rows_follow_the_posterior(fitted):
    """Sums of what labels say beyond their posterior, over all rows and over those in each direction of it."""
    model, _, _ = fitted
    drawn, labels = model.sample(4000, random_state=0)
    posterior = model.predict_proba(drawn)
    own = labels[:, None] == model.classes_
    for c in range(3):
        for some in (posterior[:, c] > 0.5, posterior[:, c] <= 0.5, np.ones(4000, dtype=bool)):
            spread = np.sqrt((posterior[some, c] * (1 - posterior[some, c])).sum())
            assert abs((own - posterior)[some, c].sum()) <= 4.5 * spread


@pytest.mark.parametrize("label", CLASSES)
def test_rows_drawn_of_a_class_are_rows_of_all_by_their_posterior(fitted, every, label):
    """Means of columns and of their products, against draws of all classes weighted by the class's posterior."""
    model, _, _ = fitted
    n, c = 800, model.classes_.tolist().index(label)
    own, labels = model.sample(n, label=label, random_state=1)
    assert set(labels) == {label}
    weight = model.predict_proba(every)[:, c]
    numbers = own.columns[[own[name].dtype.kind in "if" for name in own]]
    for found in (lambda rows: rows[numbers].to_numpy(float), lambda rows: rows[numbers].to_numpy(float) ** 2):
        mine, other = found(own), found(every)
        mean = weight @ other / weight.sum()
        error = np.sqrt(mine.var(axis=0) / n + weight**2 @ (other - mean) ** 2 / weight.sum() ** 2)
        # each row is kept at most once of eight, which leaves a trace of the rows drawn from
        assert (np.abs(mine.mean(axis=0) - mean) <= 5 * error + 0.02 * mine.std(axis=0)).all()


def test_what_is_said_of_the_choice_holds_for_fresh_rows(fitted):
    """How much likelier rows are under a forest: no less than by folds, in which it has fewer rows, and little more.

    More rows help the forest more, which is the one that has more to learn; cells cut by the rows judged would say too
    much of it, and rows that leave with all their equals too little.
    """
    model, _, (new, _) = fitted
    value = model._fitted

    def mean(by_forest):
        asked = replace(value, by_forest=by_forest).joint_value
        rows = asked.recoded(value.encoded(new)[0][-1:] if by_forest else value.encoded(new)[0][:-1])
        return float(asked.log_density(rows).mean())

    gain, said = mean(True) - mean(False), float(joint_note(model).why.split("by ")[1].split(" nats")[0])
    said = said if "a forest of" in joint_note(model).what else -said
    assert said - 0.2 <= gain <= said + 0.2  # some two standard errors of 500 rows
    assert (gain > 0) is (said > 0)
