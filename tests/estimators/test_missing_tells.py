"""Cells that are missing for a reason: read where that goes with the class, and shifted when they are filled."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.__main__ import main
from suffice.errors import SettingError

NAME = "missing cells"
DENSITIES = partial(GenerativeClassifier, members="generative")


def drawn(seed, n, at=(0.1, 0.5)):
    """Return a table whose column "income" is missing at these rates by class, "size" and "kind" at random."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame({"size": rng.normal(size=n) + y, "income": rng.normal(size=n), "kind": rng.choice(["a", "b"], n)})
    return X.mask(rng.random(X.shape) < np.column_stack([np.full(n, 0.2), np.array(at)[y], np.full(n, 0.2)])), y


def names_of(model):
    return {member["name"] for member in model.members_ if member["weight"]}


@pytest.fixture(scope="module")
def model():
    return DENSITIES().fit(*drawn(0, 300))


def test_a_missing_cell_is_as_good_as_a_column_that_says_missing(model):
    (X, y), (fresh, truth) = drawn(0, 300), drawn(1, 4000)
    told, new = (table.assign(told=np.where(table["income"].isna(), "yes", "no")) for table in (X, fresh))
    beside = DENSITIES().fit(told, y)
    assert NAME in names_of(model)
    assert NAME not in names_of(DENSITIES().fit(*drawn(0, 300, (0.3, 0.3))))
    lost = log_loss(truth, model.predict_proba(fresh))
    assert lost < log_loss(truth, beside.predict_proba(new)) + 0.01
    assert lost < log_loss(truth, model.predict_proba(fresh.assign(income=0.0))) - 0.03
    assert any("missing cell counts as a sign of the class for 'income'" in str(note) for note in model.notes_)
    assert abs(model.loss_ - lost) < 3 * model.loss_error_


@pytest.mark.slow
def test_cells_missing_at_random_are_seldom_read():
    """One table in a hundred by Bonferroni's inequality, three columns each: of 30, three or more at .003 by chance."""
    read = [NAME in {own["name"] for own in DENSITIES().fit(*drawn(s, 150, (0.3, 0.3))).members_} for s in range(30)]
    assert sum(read) <= 2


def test_it_merges_forgets_and_is_saved(model, read_back):
    X, y = drawn(0, 300)
    fresh = drawn(2, 50)[0]
    expected = model.predict_proba(fresh)
    halves = [DENSITIES().partial_fit(X[part], y[part]) for part in (slice(0, 140), slice(140, None))]
    more, others = drawn(3, 40)
    edited = DENSITIES().partial_fit(pd.concat([X, more]), np.concatenate([y, others])).forget(more, others)
    for found in (halves[0].merge(halves[1]), edited, read_back(model)):
        np.testing.assert_allclose(found.predict_proba(fresh), expected, rtol=0, atol=1e-10)
    assert NAME not in names_of(model.release(least=5))


def test_reasons_name_the_column(model):
    X = drawn(2, 40)[0]
    gone, found = X["income"].isna().to_numpy(), model.explain(X)  # (rows, columns, classes)
    assert (found[gone, 1, 1] > 0).all()
    log_posterior = model.predict_log_proba(X)
    odds = log_posterior[:, 1] - log_posterior[:, 0] - np.diff(np.log(model.priors_))
    np.testing.assert_allclose(found[:, :, 1].sum(axis=1) - found[:, :, 0].sum(axis=1), odds, rtol=0, atol=1e-9)


def test_exports_answer_the_same(model):
    X = drawn(6, 30)[0]
    assert "CASE" in model.to_sql(check=X)
    assert len(model.to_onnx(check=X).SerializeToString())


def test_a_shift_is_added_to_the_filled_cells_of_its_column():
    X, y = drawn(4, 80)
    for estimator in (NaiveBayes(), GaussianDiscriminant(shared=True), GenerativeClassifier()):
        table = X if not isinstance(estimator, GaussianDiscriminant) else X[["size", "income"]]
        fitted, gone = estimator.fit(table, y), table["income"].isna()
        for settings in ({}, {"as_recorded": False}, {"draws": 2, "random_state": 0}):
            plain, moved = (fitted.impute(table, **settings, shift=own) for own in (None, {"income": 1.25}))
            for one, other in zip(
                *([own] if isinstance(own, pd.DataFrame) else own for own in (plain, moved)), strict=True
            ):
                np.testing.assert_allclose(other["income"] - one["income"], 1.25 * gone, rtol=0, atol=1e-12)
                pd.testing.assert_frame_equal(one.drop(columns="income"), other.drop(columns="income"))


@pytest.mark.parametrize(
    ("shift", "said"),
    [
        ({"kind": 1.0}, "'kind', no column of numbers"),
        ({"age": 1.0}, "'age'"),
        ({"size": np.inf}, "by inf"),
        ({"size": 10**400}, "by 1000"),
        ([("size", 1.0)], "numbers by column"),
    ],
)
def test_what_cannot_be_shifted_is_refused_by_name(shift, said):
    X, y = drawn(4, 80)
    with pytest.raises(SettingError, match=said):
        NaiveBayes().fit(X, y).impute(X, shift=shift)


def test_the_command_line_shifts_and_tells(tmp_path, capsys):
    X, y = drawn(5, 200)
    X.assign(y=np.array(["no", "yes"])[y]).to_csv(tmp_path / "t.csv", index=False)
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "y", "-o", str(tmp_path / "m.suffice")]) == 0
    assert "sign of the class for 'income'" in "".join(capsys.readouterr())
    assert main(["look", str(tmp_path / "t.csv"), "--target", "y"]) == 0
    assert "missing goes with the class: income" in " ".join(capsys.readouterr().out.split())
    tables = []
    for options in ([], ["--shift", "income=-2"]):
        out = tmp_path / f"{len(options)}.csv"
        assert (
            main(
                [
                    "impute",
                    str(tmp_path / "m.suffice"),
                    str(tmp_path / "t.csv"),
                    "--unrounded",
                    "-o",
                    str(out),
                    *options,
                ]
            )
            == 0
        )
        tables.append(pd.read_csv(out))
    np.testing.assert_allclose(tables[1]["income"] - tables[0]["income"], -2.0 * X["income"].isna(), atol=1e-6)
    for wrong, said in (
        ("income", "no equals sign"),
        ("incme=1", "did you mean 'income'"),
        ("income=x", "is no number"),
    ):
        assert main(["impute", str(tmp_path / "m.suffice"), str(tmp_path / "t.csv"), "--shift", wrong]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
