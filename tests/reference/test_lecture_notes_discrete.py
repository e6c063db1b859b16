"""The worked naive Bayes examples of the lecture notes (Kanade; Lee), and where a note is wrong.

Expected numbers are exact fractions. p(level | class) is read through the public face alone: a row whose
other cells are missing has joint probability prior x p(level | class).
"""

from fractions import Fraction as F
from itertools import product
from math import log

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suffice import GaussianDiscriminant, NaiveBayes
from suffice.errors import SingularCovarianceError

YES_NO = ["No", "Yes"]
CHARACTERS = {
    "Gender": (["Female", "Male"], "Male Male Male Male Female Male"),
    "Mask": (YES_NO, "Yes Yes No No Yes No"),
    "Cape": (YES_NO, "Yes Yes No No No No"),
    "Tie": (YES_NO, "No No Yes Yes No No"),
    "Ears": (YES_NO, "Yes No No No Yes No"),
    "Smokes": (YES_NO, "No No No Yes No No"),
}
GOOD_BAD = ["Good"] * 3 + ["Bad"] * 3  # Batman, Robin, Alfred; Penguin, Catwoman, Joker
CUSTOMERS = {
    "Age": (["<=30", "31...40", ">40"], "0 0 1 2 2 2 1 0 0 2 0 1 1 2"),
    "Income": (["Low", "Medium", "High"], "2 2 2 1 0 0 0 1 0 1 1 1 2 1"),
    "Student": (["N", "Y"], "0 0 0 0 1 1 1 0 1 1 1 0 1 0"),
    "Credit": (["Fair", "Excellent"], "0 1 0 0 0 1 1 0 0 0 1 1 0 1"),
}
BUYS = ["No", "No", "Yes", "Yes", "Yes", "No", "Yes", "No", "Yes", "Yes", "Yes", "Yes", "Yes", "No"]
ZERO = {
    "Gender": (["Female", "Male"], "Male Male Male Male Female Male"),
    "Mask": (YES_NO, "No No No Yes Yes Yes"),
    "Cape": (YES_NO, "Yes No No No No No"),
}


def table(columns):
    """Return a data frame from {name: (levels, cells)}; cells are level names or level numbers."""
    frame = {}
    for name, (levels, cells) in columns.items():
        words = [levels[int(c)] if c.isdigit() and c not in levels else c for c in cells.split()]
        frame[name] = pd.Categorical(words, categories=levels)
    return pd.DataFrame(frame)


def query(columns, cells):
    """Return a one-row frame; a None cell is missing."""
    pairs = zip(columns.items(), cells, strict=True)
    return pd.DataFrame({name: pd.Categorical([cell], categories=levels) for (name, (levels, _)), cell in pairs})


def conditionals(model, columns, cells, label):
    """Return p(cell | label) of each column: its joint, other cells missing, over the class prior."""
    k = list(model.classes_).index(label)
    found = []
    for j, cell in enumerate(cells):
        alone = query(columns, [cell if i == j else None for i in range(len(cells))])
        found.append(np.exp(model.predict_joint_log_proba(alone)[0, k]) / model.priors_[k])
    return found


def fractions(text):
    return [float(F(part)) for part in text.split()]


def check(columns, labels, smoothing, cells, expected):
    """Check one query; `expected` is {label: (conditionals, joint, posterior)}."""
    model = NaiveBayes("categorical", smoothing=smoothing).fit(table(columns), labels)
    row = query(columns, cells)
    for label, (parts, joint, posterior) in expected.items():
        k = list(model.classes_).index(label)
        assert_allclose(conditionals(model, columns, cells, label), fractions(parts), rtol=1e-12)
        assert_allclose(np.exp(model.predict_joint_log_proba(row)[0, k]), float(F(joint)), rtol=1e-12)
        assert_allclose(model.predict_proba(row)[0, k], float(F(posterior)), rtol=1e-12)
    return model


# --- Superheroes (Lee) ---

SUPERMAN = ["Male", "Yes", "Yes", "No", "No", "No"]
BATMAN = ["Male", "Yes", "Yes", "No", "Yes", "No"]
WITHOUT = {"Good": ("1 2/3 2/3 2/3 2/3 1", "8/81", "1"), "Bad": ("2/3 1/3 0 2/3 2/3 2/3", "0", "0")}
ADD_ONE = {
    "Good": ("4/5 3/5 3/5 3/5 2/5 4/5", "432/15625", "8/9"),
    "Bad": ("3/5 2/5 1/5 3/5 2/5 3/5", "54/15625", "1/9"),
}


@pytest.mark.parametrize(("cells", "smoothing", "expected"), [(SUPERMAN, 0, WITHOUT), (BATMAN, 1, ADD_ONE)])
def test_good_or_bad(cells, smoothing, expected):
    model = check(CHARACTERS, GOOD_BAD, smoothing, cells, expected)
    assert model.predict(query(CHARACTERS, cells))[0] == "Good"


def test_good_or_bad_is_not_the_product_on_the_slide():
    """The slide takes p(Smokes = No | Good) = 2/3, but nobody in class Good smokes: it is 1."""
    model = NaiveBayes("categorical", smoothing=0).fit(table(CHARACTERS), GOOD_BAD)
    good = np.exp(model.predict_joint_log_proba(query(CHARACTERS, SUPERMAN))[0, 1])
    assert model.classes_[1] == "Good"
    assert abs(good - float(F(2, 3) ** 5 / 2)) > 0.03


# --- Who buys a laptop (Lee) ---


def test_buying_laptops():
    """The slide's 0.028 and 0.007 are joints; as posteriors they are 0.8045 and 0.1955."""
    cells = ["<=30", "Medium", "Y", "Fair"]
    yes, no = ("2/9 4/9 2/3 2/3", "16/567", "1000/1243"), ("3/5 2/5 1/5 2/5", "6/875", "243/1243")
    model = check(CUSTOMERS, BUYS, 0, cells, {"Yes": yes, "No": no})
    assert model.predict(query(CUSTOMERS, cells))[0] == "Yes"


# --- The zero-probability problem and its cure (Lee) ---

MASKED_CAPE = ["Male", "Yes", "Yes"]


def test_zero_probability_has_a_defined_answer():
    """The slide calls the two joints, both 0, posteriors. Bayes' rule gives 0/0; the limit is 1/3 and 2/3.

    As smoothing goes to 0 the joints shrink like (1/2)(1)(a/3)(1/3) for Good and (1/2)(2/3)(1)(a/3) for Bad.
    """
    model = NaiveBayes("categorical", smoothing=0).fit(table(ZERO), GOOD_BAD)
    row = query(ZERO, MASKED_CAPE)
    assert_array_equal(model.predict_joint_log_proba(row), [[-np.inf, -np.inf]])
    assert_array_equal(model.classes_, ["Bad", "Good"])
    assert_allclose(model.predict_proba(row), [[2 / 3, 1 / 3]], rtol=1e-12)
    assert_allclose(model.predict_log_proba(row), [[log(2 / 3), log(1 / 3)]], rtol=1e-12)
    assert model.predict(row)[0] == "Bad"


def test_zero_probability_smoothed():
    good = "3001/3002 1/3002 1001/3002", "3004001/54108072016", "1001/3002"
    bad = "2001/3002 3001/3002 1/3002", "6005001/54108072016", "2001/3002"
    check(ZERO, GOOD_BAD, 0.001, MASKED_CAPE, {"Good": good, "Bad": bad})


def test_zero_probability_is_the_limit_of_vanishing_smoothing():
    """Classes of 1, 2 and 4 rows; every query, so each class has from none to three of its levels unseen."""
    columns = {
        "a": (["x", "y", "z"], "x x y z z z x"),
        "b": (["x", "y", "z"], "y x x z z y z"),
        "c": (["x", "y"], "x y y x x x x"),
    }
    labels = ["one", "two", "two", "four", "four", "four", "four"]
    queries = [query(columns, cells) for cells in product("xyz", "xyz", "xy")]
    rows = pd.concat(queries, ignore_index=True)
    none, tiny = (NaiveBayes("categorical", smoothing=a).fit(table(columns), labels) for a in (0, 1e-9))
    everywhere = np.isneginf(none.predict_joint_log_proba(rows)).all(axis=1)
    assert 0 < everywhere.sum() < len(rows)
    assert_allclose(none.predict_proba(rows), tiny.predict_proba(rows), rtol=0, atol=1e-7)


def test_laplace_for_a_level_no_class_has():
    """1000 incomes: none low, 990 medium, 10 high; add one. The level "low" is declared, not observed."""
    income = {"income": (["low", "medium", "high"], " ".join(["medium"] * 990 + ["high"] * 10 + ["high"] * 3))}
    model = NaiveBayes("categorical", smoothing=1).fit(table(income), ["sample"] * 1000 + ["other"] * 3)
    found = [conditionals(model, income, [level], "sample")[0] for level in income["income"][0]]
    assert_allclose(found, fractions("1/1003 991/1003 11/1003"), rtol=1e-12)
    assert_allclose(conditionals(model, income, ["low"], "other"), fractions("1/6"), rtol=1e-12)


@pytest.mark.parametrize(
    ("strength", "expected"), [(0, "1 0"), (1, "5/6 1/6"), (10, "14/24 10/24"), (100, "104/204 100/204")]
)
def test_laplace_strengths(strength, expected):
    coin = {"coin": (["heads", "tails"], "heads heads heads heads tails heads")}
    model = NaiveBayes("categorical", smoothing=strength).fit(table(coin), ["fair"] * 4 + ["other"] * 2)
    found = [conditionals(model, coin, [side], "fair")[0] for side in coin["coin"][0]]
    assert_allclose(found, fractions(expected), rtol=1e-12)


# --- Rooms and images (Lee) ---


def test_bedroom_joint():
    """The joint shown sums to 0.83; its posteriors (0.980, 0.938) are not the next slide's 0.8 and 0.6."""
    image = {"image": (["bedroom", "dining"], "bedroom dining bedroom dining")}
    rooms = ["Bedroom", "Bedroom", "Dining room", "Dining room"]
    model = NaiveBayes("categorical", smoothing=0)
    model.fit(table(image), rooms, sample_weight=[0.5, 0.02, 0.01, 0.3])
    posterior = [model.predict_proba(query(image, [kind]))[0] for kind in image["image"][0]]
    assert_allclose(posterior, [[50 / 51, 1 / 51], [1 / 16, 15 / 16]], rtol=1e-12)
    joint = [np.exp(model.predict_joint_log_proba(query(image, [kind]))[0]) for kind in image["image"][0]]
    assert_allclose(joint, np.array([[0.5, 0.01], [0.02, 0.3]]) / 0.83, rtol=1e-12)


# --- Voters: Bernoulli, Gaussian and categorical columns side by side (Kanade) ---

STATES = ["CA", "IL", "NJ", "NY", "OK", "WA", "WV"]
FAMILIES = {"voted": "bernoulli", "income": "gaussian", "state": "categorical"}


def voters(rows):
    voted, income, state, choice = zip(*rows, strict=True)
    cells = pd.Categorical(state, categories=STATES)
    frame = pd.DataFrame(
        {"voted": np.array(voted, dtype=float), "income": np.array(income, dtype=float), "state": cells}
    )
    return frame, list(choice)


VOTERS = [
    (1, 50, "OK", "Clinton"), (0, 173, "CA", "Clinton"), (1, 80, "NJ", "Trump"), (1, 150, "WA", "Clinton"),
    (0, 25, "WV", "Johnson"), (1, 85, "IL", "Clinton"), (1, 1050, "NY", "Trump"), (0, 35, "CA", "Trump"),
]  # fmt: skip
WITHOUT_JOHNSON = [row for row in VOTERS if row[3] != "Johnson"]


def voter(voted=np.nan, income=np.nan, state=None):
    return pd.DataFrame({"voted": [voted], "income": [income], "state": pd.Categorical([state], categories=STATES)})


VOTER_PARAMETERS = {
    ("Clinton", 0): ("3/4", "1/4 1/4 0 0 1/4 1/4 0"),
    ("Clinton", 1): ("2/3", "2/11 2/11 1/11 1/11 2/11 2/11 1/11"),
    ("Trump", 0): ("2/3", "1/3 0 1/3 1/3 0 0 0"),
    ("Trump", 1): ("3/5", "1/5 1/10 1/5 1/5 1/10 1/10 1/10"),
    ("Johnson", 0): ("0", "0 0 0 0 0 0 1"),
    ("Johnson", 1): ("1/3", "1/8 1/8 1/8 1/8 1/8 1/8 1/4"),
}


@pytest.mark.parametrize(("label", "smoothing"), VOTER_PARAMETERS)
def test_voters_discrete_parameters(label, smoothing):
    model = NaiveBayes(FAMILIES, smoothing=smoothing).fit(*voters(VOTERS))
    assert_allclose(model.priors_, [1 / 2, 1 / 8, 3 / 8], rtol=1e-12)
    k = list(model.classes_).index(label)
    voted, by_state = VOTER_PARAMETERS[label, smoothing]
    rows = [voter(voted=1.0), voter(voted=0.0)] + [voter(state=state) for state in STATES]
    found = np.exp([model.predict_joint_log_proba(row)[0, k] for row in rows]) / model.priors_[k]
    expected = [float(F(voted)), float(1 - F(voted)), *fractions(by_state)]
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("label", "mean", "variance"), [("Clinton", F(229, 2), F(9713, 4)), ("Trump", F(1165, 3), F(1973150, 9))]
)
def test_voters_income(label, mean, variance):
    """log N(x; m, v) at the mean, and how much lower it is 300 off the mean, give v twice."""
    model = NaiveBayes(FAMILIES).fit(*voters(VOTERS))
    k = list(model.classes_).index(label)
    peak, off = (model.predict_joint_log_proba(voter(income=float(mean) + step))[0, k] for step in (0, 300))
    assert_allclose(peak, np.log(model.priors_[k]) - 0.5 * log(2 * np.pi * float(variance)), rtol=1e-12)
    assert_allclose(peak - off, 300**2 / 2 / float(variance), rtol=1e-10)


@pytest.mark.parametrize(
    ("row", "joint", "clinton"),
    [
        (voter(1.0, 100.0, "CA"), [-7.663054464847301, -10.358591590164252], 0.936762785727015),
        (voter(0.0, 40.0, "CA"), [-9.455758939755027, -10.851176278638835], 0.8014556822988527),
    ],
)
def test_voters_query_without_johnson(row, joint, clinton):
    """The joints carry the priors 4/8 and 3/8 of all eight rows; seven rows make them 4/7 and 3/7."""
    model = NaiveBayes(FAMILIES).fit(*voters(WITHOUT_JOHNSON))
    assert_allclose(model.predict_joint_log_proba(row)[0], np.array(joint) + log(8 / 7), rtol=1e-12)
    assert_allclose(model.predict_proba(row)[0], [clinton, 1 - clinton], rtol=1e-12)


def test_voters_with_johnson():
    """One row makes Johnson's income variance 0, a degenerate maximum-likelihood Gaussian: it is repaired."""
    frame, choice = voters(VOTERS)
    model = NaiveBayes(FAMILIES).fit(frame, choice)
    posterior = model.predict_proba(frame)
    assert np.isfinite(posterior).all()
    assert_allclose(posterior.sum(axis=1), 1, rtol=1e-12)
    assert any("Johnson" in str(note) and "income" in str(note) for note in model.notes_)
    # The repair is Johnson's own: the odds between the other two do not move.
    alone = NaiveBayes(FAMILIES).fit(*voters(WITHOUT_JOHNSON))
    row = voter(1.0, 100.0, "CA")
    three, two = model.predict_log_proba(row)[0], alone.predict_log_proba(row)[0]
    assert_allclose(three[0] - three[2], two[0] - two[1], rtol=1e-10)


def test_johnson_unrepaired_is_an_error_that_names_class_and_column():
    frame, choice = voters(VOTERS)
    with pytest.raises(SingularCovarianceError, match=r"Johnson.*income"):
        GaussianDiscriminant("diagonal", shrinkage=0.0).fit(frame[["income"]], choice)
