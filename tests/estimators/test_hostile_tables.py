"""Any table: a right answer or an error in words.

A right answer: posteriors that sum to 1, filled cells, contributions without NaN; the same for the same cells in
another container, after `partial_fit`, and from the saved model.

`SUFFICE_TABLES=2000` tries that many tables of each kind.
"""

import importlib.util
import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from suffice import (
    GaussianDiscriminant,
    GenerativeClassifier,
    GenerativeForest,
    MixtureDiscriminant,
    NaiveBayes,
    NormalInverseWishart,
    load,
)
from suffice.errors import SufficeError
from suffice.table import read_table

spec = importlib.util.spec_from_file_location("hostile_tables", Path(__file__).with_name("hostile_tables.py"))
made = importlib.util.module_from_spec(spec)
sys.modules["hostile_tables"] = made
spec.loader.exec_module(made)

TRIES = int(os.environ.get("SUFFICE_TABLES", "0"))
LONGEST = 1500  # characters of a message, whatever was given

NUMBERS = {
    "full": lambda: GaussianDiscriminant(),
    "shared": lambda: GaussianDiscriminant(shared=True),
    "diagonal": lambda: GaussianDiscriminant("diagonal"),
    "spherical": lambda: GaussianDiscriminant("spherical", shared=True),
    "wishart": lambda: GaussianDiscriminant(prior=NormalInverseWishart()),
    "ledoit-wolf": lambda: GaussianDiscriminant(shrinkage="ledoit-wolf"),
    "loo": lambda: GaussianDiscriminant(shrinkage="loo"),
    "unrepaired": lambda: GaussianDiscriminant(shrinkage=0.0),
    "mixture": lambda: MixtureDiscriminant(n_components=2, random_state=0),
    "bic": lambda: MixtureDiscriminant(random_state=0),
}
MIXED = {
    "naive bayes": lambda: NaiveBayes(),
    "laplace": lambda: NaiveBayes({0: "laplace"}),
    "automatic": lambda: GenerativeClassifier(),
    "forest": lambda: GenerativeForest(),
}
COUNTS = {
    "multinomial": lambda: NaiveBayes("multinomial"),
    "poisson": lambda: NaiveBayes("poisson"),
    "bernoulli": lambda: NaiveBayes("bernoulli"),
}
ALL = NUMBERS | MIXED | COUNTS


def check_message(error):
    """An error of ours is short; TypeError and ValueError of scikit-learn's checks may pass."""
    text = str(error)
    assert len(text) < LONGEST, f"{len(text)} characters: {text[:200]}"
    assert isinstance(error, SufficeError) or "sklearn" in _last_file(error), repr(error)[:500]


def _last_file(error):
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename


def answers(model, X):
    """What a fitted model says of the rows it was fitted on."""
    found = {
        "posterior": model.predict_proba(X),
        "log posterior": model.predict_log_proba(X),
        "density": model.score_samples(X),
    }
    posterior = found["posterior"]
    assert np.isfinite(posterior).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, atol=1e-9)
    assert not np.isnan(found["log posterior"]).any()
    assert not np.isnan(found["density"]).any()
    return found


def ask_more(model, X, y, path):
    """The verbs that need no twin to be judged; SufficeError is an answer."""
    for verb in (check_filled, check_reasons, check_saved, check_batches):
        try:
            verb(model, X, y, path)
        except (SufficeError, TypeError, ValueError) as error:
            if isinstance(error, np.linalg.LinAlgError):
                raise
            check_message(error)


def check_filled(model, X, y, path):
    filled = read_table(model.impute(X))
    seen = [j for j, column in enumerate(read_table(X).schema.columns) if column.kind.is_number]
    for j in seen:
        block = filled.numeric([j])
        assert not np.isnan(block).any() or np.isnan(block).all()  # a column never seen cannot be filled


def check_reasons(model, X, y, path):
    assert np.isfinite(np.asarray(model.explain(X), dtype=float)).all()


def check_saved(model, X, y, path):
    model.save(path)
    np.testing.assert_array_equal(load(path).predict_log_proba(X), model.predict_log_proba(X))


def check_batches(model, X, y, path):
    labels = np.asarray(model.classes_)
    model.partial_fit(X, [labels[i % len(labels)] for i in range(read_table(X).rows)])
    answers(model, X)


def judge(case, name, path):
    """Fit, ask and compare with the plain twin; any exception that is not one in words gets through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("error", DeprecationWarning)
        try:
            model = ALL[name]().fit(case.table, case.y)
            found = answers(model, case.table)
        except (SufficeError, TypeError, ValueError) as error:
            if isinstance(error, np.linalg.LinAlgError):
                raise
            check_message(error)
            found = error
        if case.plain is not None:
            compare_with_plain(case, name, found)
        if isinstance(found, dict):
            ask_more(model, case.table, case.y, path)


def compare_with_plain(case, name, found):
    try:
        twin = answers(ALL[name]().fit(case.plain, case.y), case.plain)
    except (SufficeError, TypeError, ValueError) as error:
        twin = error
    if isinstance(twin, Exception):
        assert isinstance(found, Exception), f"plain: {twin!r:.300}"
        return
    if isinstance(found, Exception):
        names = "several columns named|[Ff]eature names|the name .* not valid Unicode"
        assert re.search(names, str(found)), f"only plain works: {found!r:.300}"
        return
    for key, values in twin.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-8, atol=1e-8, err_msg=key)


def profile(tries):
    return settings(
        max_examples=TRIES or tries,
        deadline=None,
        derandomize=not TRIES,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile") / "model.suffice"


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_in_any_container(name, path):
    @profile(10)
    @given(made.cases(numbers=True))
    def run(case):
        judge(case, name, path)

    run()


@pytest.mark.parametrize("name", [*MIXED, "full", "mixture", "poisson", "multinomial"])
def test_any_kinds_of_columns_in_any_container(name, path):
    @profile(4 if name == "automatic" else 15)
    @given(made.cases())
    def run(case):
        judge(case, name, path)

    run()


@pytest.mark.parametrize("name", ["full", "naive bayes", "mixture", "automatic", *COUNTS])
def test_cells_of_any_type(name, path):
    @profile(25)
    @given(made.odd_tables())
    def run(case):
        judge(case, name, path)

    run()
