"""Legal tables through every estimator: each fits, its posteriors are probabilities, and every verb answers.

A verb may refuse by an error of `suffice.errors`, a fit may not; a warning is an error. Each case asks a few verbs.
"""

from __future__ import annotations

import io
import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from legal_tables import SMALL, Table, draw

from suffice import (
    RDA,
    GaussianDiscriminant,
    GenerativeClassifier,
    GenerativeForest,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
    load,
)
from suffice.errors import RepeatedRowsWarning, SufficeError

RARE = {"to_html": 0.1, "to_sql": 0.2}
VERBS_EACH = 5  # of each model and table
LEAST = 1e-150  # of numbers whose squares do not vanish
FEW = 4  # rows asked where an answer takes long
AUTOMATIC = "automatic"
MODELS = {
    AUTOMATIC: GenerativeClassifier,
    "generative": lambda: GenerativeClassifier(members="generative"),
    "forest": GenerativeForest,
    "naive": NaiveBayes,
    "laplace": lambda: NaiveBayes("laplace"),
    "full": GaussianDiscriminant,
    "shared": lambda: GaussianDiscriminant(shared=True),
    "diagonal": lambda: GaussianDiscriminant("diagonal"),
    "sphere": lambda: GaussianDiscriminant("spherical", shared=True),
    "oas": lambda: GaussianDiscriminant(shrinkage="oas"),
    "rda": lambda: GaussianDiscriminant(shrinkage=RDA()),
    "prior": lambda: GaussianDiscriminant(prior=NormalInverseWishart()),
    "mixture": lambda: MixtureDiscriminant(random_state=0),
}
MIXED = (AUTOMATIC, "generative", "forest", "naive")  # take text beside numbers


def posteriors(model: Any, X: Any) -> Any:
    """Return the posteriors of rows, which are probabilities."""
    found = np.asarray(model.predict_proba(X))
    assert found.shape == (len(X), len(model.classes_)), "posteriors of other classes"
    assert np.isfinite(found).all(), "posteriors that are no numbers"
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-9)
    return found


def numbers_in(found: Any, low: float = -np.inf, high: float = np.inf) -> None:
    """Check that an answer has numbers in a range alone."""
    values = np.asarray(found, dtype=np.float64)
    assert not np.isnan(values).any(), "an answer that is no number"
    assert ((values >= low - 1e-9) & (values <= high + 1e-9)).all(), f"an answer beyond {low} to {high}"


def readable(name: str, table: Table) -> Table:
    """Return the table with the columns that a model reads: Gaussians refuse text, and numbers whose squares vanish."""
    if name in (AUTOMATIC, "generative", "forest"):
        return table
    tiny = [column for column in table.numbers if 0.0 < np.abs(table.X[column].astype(float)).max() < LEAST]
    kept = [column for column in (table.X if name in MIXED else table.numbers) if column not in tiny]
    if not table.X[kept].notna().any(axis=None):
        kept = []
    return Table(table.X[kept], table.y, table.weight, table.about)


def copied(model: Any) -> Any:
    """Return a model to edit."""
    return pickle.loads(pickle.dumps(model))


def some(table: Table, count: int = 8) -> Table:
    """Return a few rows of different places."""
    return table.rows(np.unique(np.linspace(0, len(table.X) - 1, count).astype(int)))


def holed(table: Table) -> pd.DataFrame:
    """Return a few rows with cells missing."""
    X = some(table, FEW).X
    X = X.astype({name: float for name in X if X[name].dtype.kind in "bi"})
    return X.mask((np.arange(len(X))[:, None] + np.arange(X.shape[1])) % 3 == 0)


def filled(model: Any, table: Table) -> None:
    for labels in ((), (some(table, FEW).y,)):
        found = pd.DataFrame(model.impute(holed(table), *labels))
        assert not found.isna().any().any(), "a cell that is left missing"


def drawn(model: Any, table: Table) -> None:
    X, y = model.sample(5, random_state=0)
    assert len(X) == len(y) == 5
    assert set(np.asarray(y).tolist()) <= set(model.classes_.tolist())
    posteriors(model, X)


def same_when_loaded(model: Any, table: Table, folder: Path) -> None:
    path = folder / "model.suffice"
    path.unlink(missing_ok=True)
    model.save(path)
    again = load(path)
    np.testing.assert_array_equal(again.predict_proba(table.X), model.predict_proba(table.X))
    assert [str(note) for note in again.notes_] == [str(note) for note in model.notes_]


def joined(model: Any, table: Table) -> None:
    """Halves merge, and one of them can be forgotten again."""
    half = np.arange(len(table.X)) % 2
    one, two = (table.rows(np.flatnonzero(half == side)) for side in (0, 1))
    parts = [type(model)(**model.get_params()).fit(own.X, own.y, own.weight) for own in (one, two)]
    posteriors(parts[0].merge(parts[1]), some(table).X)
    parts[0].forget(two.X, two.y, two.weight)
    posteriors(parts[0], some(table).X)


def updated(model: Any, table: Table) -> None:
    own = some(table)
    new = copied(model).partial_fit(own.X, own.y, sample_weight=own.weight)
    posteriors(new, own.X)
    posteriors(new.forget(own.X, own.y, own.weight), own.X)


def forgotten(model: Any, table: Table) -> None:
    own = some(table)
    posteriors(copied(model).forget(own.X, own.y, own.weight), own.X)


def renamed(model: Any, table: Table) -> None:
    first, last = model.classes_.tolist()[0], model.classes_.tolist()[-1]
    posteriors(copied(model).rename_classes({first: last}), some(table).X)


def released(model: Any, table: Table) -> None:
    found = model.release()
    posteriors(found, some(table).X)
    _ = [str(note) for note in found.notes_], str(found.released_)


def paged(model: Any, table: Table, folder: Path) -> None:
    own = some(table)
    model.to_html(folder / "page.html", own.X, own.y)
    assert "<h1>" in (folder / "page.html").read_text(encoding="utf-8")


def by_file(model: Any, table: Table, folder: Path) -> None:
    path = folder / "rows.parquet"
    table.X.assign(label=table.y).to_parquet(path)
    found = type(model)(**model.get_params()).fit_table(path, "label")
    assert found.predict_table(path, folder / "answers.parquet") == len(table.X)


def drifted(model: Any, table: Table) -> None:
    own = table.rows(np.flatnonzero(np.arange(len(table.X)) % 2))
    found = model.drift(own.X, own.y, sample_weight=own.weight)
    numbers_in(found.joint_p_value, 0.0, 1.0)
    _ = str(found)


def reasons(model: Any, table: Table) -> None:
    found = model.explain(holed(table), orders=2)
    assert np.asarray(found).shape[0] == len(holed(table))
    numbers_in(found)


def curved(model: Any, table: Table) -> None:
    _ = str(model.learning_curve(table.X, table.y, table.weight, draws=1))


def judged_forward(model: Any, table: Table) -> None:
    found = model.validate_forward(table.X, table.y, table.weight, time=np.arange(len(table.y)), periods=3)
    numbers_in(found.accuracy, 0.0, 1.0)
    _ = str(found)


def grouped(model: Any, table: Table) -> None:
    """Rows are of groups of three, which leave together."""
    groups = np.arange(len(table.y)) // 3
    found = type(model)(**model.get_params()).fit(table.X, table.y, table.weight, groups=groups)
    posteriors(found, some(table).X)
    _ = str(found.quality()), found.leave_one_out(table.X, table.y, table.weight, groups=groups)


def unknown(model: Any, table: Table) -> None:
    """A row of which nothing is known is answered by the shares of the classes, as any other such row is."""
    X = holed(table)
    X = X.mask(X.notna())
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape))
    numbers_in(model.explain(X))
    numbers_in(model.outlier_pvalues(X), 0.0, 1.0)


def narrowed(model: Any, table: Table) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        numbers_in(model.predict_proba(some(table).X.iloc[:, 1:], missing_columns="missing"), 0.0, 1.0)


def left_out(model: Any, table: Table) -> None:
    numbers_in(np.exp(model.leave_one_out(table.X, table.y, table.weight)), 0.0, 1.0)


VERBS = {
    "predict": lambda m, t, f: numbers_in(~np.isin(m.predict(t.X), m.classes_), 0.0, 0.0),
    "score_samples": lambda m, t, f: numbers_in(m.score_samples(holed(t))),
    "predict_set": lambda m, t, f: numbers_in(m.predict_set(some(t).X), 0.0, 1.0),
    "adapt_priors": lambda m, t, f: numbers_in(m.adapt_priors(some(t).X), 0.0, 1.0),
    "outlier_pvalues": lambda m, t, f: numbers_in(m.outlier_pvalues(holed(t)), 0.0, 1.0),
    "outlier_pvalues of learned rows": lambda m, t, f: numbers_in(m.outlier_pvalues(t.X, t.y), 0.0, 1.0),
    "sample": lambda m, t, f: drawn(m, t),
    "impute": lambda m, t, f: filled(m, t),
    "explain": lambda m, t, f: reasons(m, t),
    "leave_one_out": lambda m, t, f: left_out(m, t),
    "information_gain": lambda m, t, f: numbers_in(m.information_gain(holed(t)), 0.0),
    "importance": lambda m, t, f: str(m.importance()),
    "smallest_columns": lambda m, t, f: m.smallest_columns(),
    "quality": lambda m, t, f: str(m.quality()),
    "summary": lambda m, t, f: str(m.summary()),
    "assess": lambda m, t, f: str(m.assess(t.X, t.y, t.weight)),
    "suspect_labels": lambda m, t, f: numbers_in(m.suspect_labels(t.X, t.y, t.weight), 0.0, 1.0),
    "learning_curve": lambda m, t, f: curved(m, some(t, 40)),
    "validate_forward": lambda m, t, f: judged_forward(m, some(t, 40)),
    "drift": lambda m, t, f: drifted(m, t),
    "partial_fit": lambda m, t, f: updated(m, t),
    "forget": lambda m, t, f: forgotten(m, t),
    "merge": lambda m, t, f: joined(m, t),
    "drop_class": lambda m, t, f: posteriors(copied(m).drop_class(m.classes_.tolist()[0]), some(t).X),
    "rename_classes": lambda m, t, f: renamed(m, t),
    "decay": lambda m, t, f: posteriors(copied(m).decay(0.5), some(t).X),
    "release": lambda m, t, f: released(m, t),
    "save": same_when_loaded,
    "fit_table": by_file,
    "to_sql": lambda m, t, f: m.to_sql(),
    "to_onnx": lambda m, t, f: m.to_onnx(),
    "to_html": paged,
    "notes_": lambda m, t, f: [str(note) for note in m.notes_],
    "predict_proba_interval": lambda m, t, f: numbers_in(m.predict_proba_interval(some(t).X), 0.0, 1.0),
    "suspect_cells": lambda m, t, f: (str(m.suspect_cells(t.X)), str(m.suspect_cells(t.X, t.y))),
    "impute(draws=)": lambda m, t, f: m.impute(holed(t), draws=2, random_state=0),
    "groups=": lambda m, t, f: grouped(m, t),
    "nothing known": lambda m, t, f: unknown(m, t),
    "a column missing": lambda m, t, f: narrowed(m, t),
}


class LegalTables:
    """Tries one table at a time: by all models, with a few verbs each.

    In `brief` a small one by two models, a verb each; the automatic one, whose fits take longest, is fitted to every
    third table and asked three.
    """

    ending = ".parquet"

    def __init__(self, folder: Path, brief: bool = False) -> None:
        self.folder, self.brief, self.input = folder, brief, b""
        self.asked: set[tuple[str, str]] = set()

    def try_one(self, pick: random.Random) -> str:
        """Draw a table and ask for everything; any exception that leaves here is a finding."""
        seed = pick.randrange(2**31)
        table = draw(seed, SMALL, widest=8) if self.brief else draw(seed, large=0.02)
        buffer = io.BytesIO()
        table.X.assign(label=table.y, weight=np.nan if table.weight is None else table.weight).to_parquet(buffer)
        self.input = buffer.getvalue()
        verbs = {name: self._verbs(name, pick) for name in (self._few(pick) if self.brief else MODELS)}
        return "some questions refused" if any(self.ask(table, verbs)) else "all answered"

    def ask(self, table: Table, verbs: dict[str, list[str]]) -> list[int]:
        """Fit models by name and ask each; return how many questions each refused."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", RepeatedRowsWarning)
            return [self._ask(name, table, own) for name, own in verbs.items()]

    def _few(self, pick: random.Random) -> list[str]:
        first, *others = MODELS
        return [first if pick.random() < 1.0 / 3.0 else pick.choice(others), pick.choice(others)]

    def _verbs(self, name: str, pick: random.Random) -> list[str]:
        """Draw the verbs that a model is asked, those that take long less often than others."""
        order = sorted(VERBS, key=lambda verb: pick.random() ** (1.0 / RARE.get(verb, 1.0)))
        return order[-VERBS_EACH if not self.brief else -3 if name == AUTOMATIC else -1 :]

    def _ask(self, name: str, table: Table, verbs: list[str]) -> int:
        """Fit a model and ask it; return how many questions were refused."""
        table = readable(name, table)
        if not table.X.shape[1]:
            return 0
        refused, verb = 0, "fit"
        try:
            model = MODELS[name]().fit(table.X, table.y, table.weight)
            verb = "predict_proba"
            posteriors(model, table.X)
            for verb in verbs:
                self.asked.add((name, verb))
                try:
                    VERBS[verb](model, table, self.folder)
                except SufficeError:
                    refused += 1
        except Exception as error:
            raise AssertionError(f"{name}, {verb}: {error!r}; {table.about}") from error
        return refused
