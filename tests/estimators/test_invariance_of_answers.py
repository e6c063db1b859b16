"""The same rows told in another form have the same answers: every verb, every kind of model, every form.

Rows, columns and classes in another order and units, copies in place of weights, parts in place of the whole, a file.
"""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kinds import kinds
from numpy.testing import assert_allclose

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes, NormalInverseWishart
from suffice.errors import SettingError
from suffice.questions import held_out, learning_curve

NUMBERS = ["width", "height", "depth", "tilt"]
MODELS = kinds("full, shared unbiased, diagonal, half shared, loo, mixture, naive bayes, forest, automatic") | {
    "prior": lambda: GaussianDiscriminant(prior=NormalInverseWishart(strength=8.0)),
    "chosen prior": lambda: GaussianDiscriminant(prior=NormalInverseWishart(strength="loo")),
    "laplace": lambda: NaiveBayes(dict.fromkeys(NUMBERS, "laplace")),
}
TAKES_WORDS = ("naive bayes", "laplace", "forest", "automatic")

ROWS = 46
RNG = np.random.default_rng(7)
CLASSES = ("ash", "birch", "cedar")
CODES = np.arange(ROWS) % 3
TABLE = pd.DataFrame(RNG.normal(size=(ROWS, 4)), columns=NUMBERS)
TABLE["width"] += 1.5 * (CODES == 1)
TABLE["height"] += 0.7 * TABLE["width"] + 2.0 * (CODES == 2)
TABLE["word"] = np.array(["p", "q", "r"])[(CODES + (RNG.random(ROWS) < 0.4)) % 3]
NEW = TABLE.assign(**(TABLE[NUMBERS] + 0.3 * RNG.normal(size=(ROWS, 4))))
HOLED = NEW.mask(RNG.random(TABLE.shape) < np.linspace(0.0, 0.9, ROWS)[:, None])
COPIES = 1 + np.arange(ROWS) // 3 % 2
UNIT = pd.Series([1024.0, 0.125, 8.0, 1.0], NUMBERS)
ORIGIN = pd.Series([64.0, -3.0, 0.0, 100.0], NUMBERS)


@dataclasses.dataclass
class Form:
    """A model that learned the table told in one form: the order of rows, columns and classes, and units."""

    columns: list[str]
    rows: np.ndarray = dataclasses.field(default_factory=lambda: np.arange(ROWS))
    classes: tuple[str, ...] = CLASSES
    units: bool = False
    model: Any = None

    @property
    def weight(self) -> np.ndarray:
        return COPIES[self.rows]

    def tell(self, table: pd.DataFrame) -> pd.DataFrame:
        if self.units:
            table = table.assign(**(table[NUMBERS] * UNIT + ORIGIN))
        return table[self.columns].iloc[self.rows]

    @property
    def learned(self) -> tuple[pd.DataFrame, np.ndarray]:
        return self.tell(TABLE), np.array(self.classes)[CODES[self.rows]]

    @property
    def new(self) -> pd.DataFrame:
        return self.tell(NEW)

    @property
    def holed(self) -> pd.DataFrame:
        return self.tell(HOLED)

    def density(self) -> np.ndarray:
        log_unit = np.log(UNIT.to_numpy()) if self.units else np.zeros(4)
        return self.model.score_samples(self.holed) + (HOLED[NUMBERS].notna().to_numpy() @ log_unit)[self.rows]

    def filled(self) -> np.ndarray:
        found = self.model.impute(self.holed, as_recorded=False)
        if self.units:
            found = found.assign(**((found[NUMBERS] - ORIGIN) / UNIT))
        if "word" in found:
            found = found.assign(word=found["word"].map(dict(zip("pqr", range(3), strict=True))))
        return found.to_numpy(float)

    def drift(self) -> list[np.ndarray]:
        found = self.model.drift(self.new, self.learned[1])
        rest = [np.full(len(self.columns), one) for one in (found.class_shares.p_value, found.pairs_p_value)]
        return [found.p_value, found.effect, found.within_p_value, *found.missing.T, *rest]

    def answer(self, name: str) -> np.ndarray:
        """Return an answer over rows (r), columns (j) and classes (c) in the order in which they were first told."""
        axes, ask = ASKED[name]
        orders = {
            "r": np.argsort(self.rows),
            "j": np.argsort([list(TABLE).index(name) for name in self.columns]),
            "c": [sorted(self.classes).index(name) for name in self.classes],
        }
        found = np.asarray(ask(self), dtype=float)
        for axis, letter in enumerate(axes):
            found = found if letter == "_" else np.take(found, orders[letter], axis)
        return found


ASKED: dict[str, tuple[str, Callable[[Form], Any]]] = {
    "posterior": ("rc", lambda form: form.model.predict_proba(form.holed)),
    "density": ("r", Form.density),
    "outliers": ("r", lambda form: form.model.outlier_pvalues(form.new)),
    "outliers learned": ("r", lambda form: form.model.outlier_pvalues(*form.learned)),
    "sets": ("rc", lambda form: form.model.predict_set(form.new)),
    "filled": ("rj", Form.filled),
    "reasons": ("rjc", lambda form: form.model.explain(form.holed)),
    "gain": ("rj", lambda form: form.model.information_gain(form.holed)),
    "left out": ("rc", lambda form: form.model.leave_one_out(*form.learned, sample_weight=form.weight)),
    "suspects": ("r", lambda form: form.model.suspect_labels(*form.learned, sample_weight=form.weight)),
    "importance": ("j", lambda form: form.model.importance().mean),
    "priors": ("c", lambda form: form.model.adapt_priors(form.holed)),
    "drift": ("_j", Form.drift),
    "loss": ("", lambda form: form.model.quality().log_loss),
    "curve": ("", lambda form: form.model.learning_curve(*form.learned, form.weight, draws=1).losses),
}


def told(kind: str, form: str) -> Form:
    """Return a kind of model that learned the table in one form."""
    found = Form([*NUMBERS, "word"] if kind in TAKES_WORDS else NUMBERS)
    if form == "retold":
        found.rows, found.units = np.random.default_rng(0).permutation(ROWS), True
        found.columns, found.classes = found.columns[::-1], ("z", "m", "b")
    (X, y), weight = found.learned, found.weight
    model, again = MODELS[kind](), np.repeat(np.arange(ROWS), COPIES)
    if form == "copies":
        found.model = model.fit(X.iloc[again], y[again])
    elif form == "parts":
        model.partial_fit(X[1::2], y[1::2], sample_weight=weight[1::2])
        other = MODELS[kind]().partial_fit(X[:6:2], y[:6:2], sample_weight=weight[:6:2])
        found.model = model.merge(other.partial_fit(X[6::2], y[6::2], sample_weight=weight[6::2]))
    else:
        found.model = model.fit(X, y, weight)
    return found


def answers(form: Form) -> dict[str, np.ndarray]:
    """Return the answers of a form; those that a kind of model refuses are missing."""
    found = {}
    for name in ASKED:
        with contextlib.suppress(SettingError):  # no rows left out of a mixture
            found[name] = form.answer(name)
    return found


@pytest.mark.parametrize("kind", MODELS)
def test_every_answer_is_that_of_the_same_rows_told_otherwise(kind, read_back, monkeypatch):
    fewer = {held_out: {"MOST": 3, "FEWEST": 3}, learning_curve: {"FEWEST": ROWS, "FOLDS": 3, "ONE_IN": (4, 1)}}
    for module, name, least in ((module, *own) for module, each in fewer.items() for own in each.items()):
        monkeypatch.setattr(module, name, least)  # models of each fold are what takes the time
    plain = told(kind, "plain")
    first = answers(plain)
    assert len(first) >= len(ASKED) - 2
    for form in ("retold", "copies", "parts"):
        if (form, kind) == ("parts", "mixture"):  # those of several components do not merge
            continue
        found = answers(told(kind, form))
        assert list(found) == list(first)
        for name, answer in found.items():
            assert_allclose(answer, first[name], atol=1e-7, rtol=1e-7, err_msg=f"{name}, {form}")
    again = dataclasses.replace(plain, model=read_back(plain.model))
    assert repr(again.model) == repr(plain.model)
    for name, answer in first.items():
        # not bit for bit: sums of products may go by where arrays lie in memory
        assert_allclose(again.answer(name), answer, rtol=1e-12, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("kind", ["full", "shared unbiased", "mixture", "naive bayes", "forest"])
def test_where_learned_rows_miss_cells_neither_units_nor_names_of_classes_matter(kind):
    found = []
    for unit, origin, names in ((1.0, 0.0, CLASSES), (UNIT, ORIGIN, ("z", "m", "b"))):
        model = MODELS[kind]().fit(X := HOLED[NUMBERS] * unit + origin, y := np.array(names)[CODES])
        some = y if kind == "forest" else np.where(np.arange(ROWS) % 5, y, None)
        moved = [own.drift(X[:20]).joint_p_value for own in (model, MODELS[kind]().fit(X, some))]
        found.append([model.outlier_pvalues(X), model.outlier_pvalues(X, y), *moved])
        found[-1].append(model.predict_set(X, 0.2)[:, np.argsort(np.argsort(names))])
    for first, retold in zip(*found, strict=True):
        assert_allclose(retold, first, rtol=1e-7)  # sets exactly; sums of numbers in other units round otherwise


def test_names_of_groups_and_the_order_of_columns_deal_no_group_elsewhere():
    group = np.arange(ROWS) // 3
    first = GaussianDiscriminant(shared=True).fit(TABLE[NUMBERS], CODES, groups=group)
    found = GaussianDiscriminant(shared=True).fit(TABLE[NUMBERS[::-1]], CODES, groups=100 - group)
    assert_allclose(found.importance().mean[::-1], first.importance().mean, rtol=1e-6)


def test_equal_rows_of_several_groups_grow_the_trees_of_one_row_with_their_weight():
    y, turn = RNG.integers(0, 2, 400), RNG.uniform(0, 2 * np.pi, 400)
    X = np.column_stack([np.round(3 * np.cos(turn) + y), np.round(3 * np.sin(turn))])
    one, two = GenerativeClassifier().fit(X, y), GenerativeClassifier().fit(X, y, groups=np.arange(400) // 2)
    assert any("a forest" in note.what for note in one.notes_)
    assert_allclose(two.score_samples(X), one.score_samples(X), rtol=1e-9)
