"""Commands that edit a model, and decisions of predict: each equals a fit on the rows in question."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from suffice import GaussianDiscriminant, NaiveBayes, load
from suffice.datasets import penguins_path

MODELS = ["nb", "full"]


def fitted(cli, write, table, name="nb", file="m.suffice", *more):
    """Fit a model to a table by command and return its file."""
    data = write(f"{file}.parquet", table)
    path = data.parent / file
    cli("fit", data, "--target", "species", "-o", path, "--model", name, *more).ok()
    return path


def assert_same_files(mine, theirs, table, tolerance=1e-12):
    a, b = load(mine), load(theirs)
    columns = table.select(a.feature_names_in_.tolist())
    assert a.classes_.tolist() == b.classes_.tolist()
    np.testing.assert_allclose(a.predict_proba(columns), b.predict_proba(columns), atol=tolerance)
    np.testing.assert_allclose(a.score_samples(columns), b.score_samples(columns), rtol=max(tolerance, 1e-11))
    assert a.statistics_.rows == b.statistics_.rows


def shuffled(table):
    return table.take(np.random.default_rng(5).permutation(table.num_rows))


def parse(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("name", MODELS)
def test_sites_that_share_models_and_no_rows(cli, write, tmp_path, penguins, name) -> None:
    """Three sites fit, only the model files travel: the merged model is that of all rows."""
    table = shuffled(penguins)
    sites = [fitted(cli, write, table.slice(i * 120, 120), name, f"site{i}.suffice") for i in range(3)]
    whole = fitted(cli, write, table, name, "whole.suffice")
    merged = tmp_path / "merged.suffice"
    done = cli("merge", *sites, "-o", merged, "--json").ok()
    assert json.loads(done.out)["rows"] == 344
    assert_same_files(merged, whole, table)
    cli("merge", sites[0], sites[1], "-o", sites[0]).ok()  # into one of them, then one more
    cli("merge", sites[0], sites[2], "-o", sites[0]).ok()
    assert_same_files(sites[0], whole, table)


@pytest.mark.parametrize("name", MODELS)
def test_update_and_forget(cli, write, penguins, name) -> None:
    table = shuffled(penguins)
    first, more = table.slice(0, 200), write("more.csv", table.slice(200))
    model = fitted(cli, write, first, name)
    done = cli("update", model, more, "--target", "species")
    assert (done.status, done.out) == (0, "")
    assert "learned 144 more rows; it knows 3 classes from 344 rows" in done.err
    other = model.with_name("other.suffice")
    done = cli("forget", model, more, "-o", other)  # whose labels stand in the column that the model was fitted to
    assert "forgot 144 rows; it knows 3 classes from 200 rows" in done.err
    assert_same_files(other, fitted(cli, write, first, name, "first.suffice"), table, 1e-10)
    assert_same_files(model, fitted(cli, write, table, name, "all.suffice"), table)  # which nothing was forgotten of


def test_a_batch_of_one_class_with_codes_for_categories(cli, write) -> None:
    """Codes that look like numbers in the batch are the text they were at first; so are labels."""
    first = pa.table({"code": ["1", "2", "x", "2"], "n": [1.0, 2.0, 3.0, 5.0], "species": ["7", "a", "7", "a"]})
    more = pa.table({"code": ["1", "2"], "n": [1.5, None], "species": ["7", "7"]})
    model = fitted(cli, write, first)
    cli("update", model, write("more.csv", more), "--target", "species").ok()
    assert_same_files(model, fitted(cli, write, pa.concat_tables([first, more]), "nb", "all.suffice"), first)


def test_weights_and_decay(cli, write, penguins) -> None:
    table = shuffled(penguins).append_column("times", pa.array(np.arange(344) % 4 + 1))
    first, more = table.slice(0, 200), table.slice(200)
    model = fitted(cli, write, first, "nb", "m.suffice", "--weight", "times")
    words = ("--target", "species", "--weight", "times")
    cli("update", model, write("more.parquet", more), *words, "--decay", "0.5").ok()
    decayed = first.set_column(table.num_columns - 1, "times", pc.multiply(first["times"].cast(pa.float64()), 0.5))
    more = more.set_column(table.num_columns - 1, "times", more["times"].cast(pa.float64()))
    whole = fitted(cli, write, pa.concat_tables([decayed, more]), "nb", "all.suffice", "--weight", "times")
    assert_same_files(model, whole, table)


def test_drop_and_rename(cli, write, penguins) -> None:
    model = fitted(cli, write, penguins)
    without = model.with_name("without.suffice")
    cli("drop-class", model, "Gentoo", "-o", without).ok()
    kept = penguins.filter(pc.not_equal(penguins["species"], "Gentoo"))
    assert_same_files(without, fitted(cli, write, kept, "nb", "kept.suffice"), penguins, 1e-10)
    done = cli("rename-class", model, "Gentoo=Adelie", "Chinstrap=chin strap", "--json").ok()
    assert json.loads(done.out)["classes"] == ["Adelie", "chin strap"]
    names = {"Gentoo": "Adelie", "Chinstrap": "chin strap"}
    labels = pa.array([names.get(label, label) for label in penguins["species"].to_pylist()])
    renamed = penguins.set_column(penguins.schema.get_field_index("species"), "species", labels)
    assert_same_files(model, fitted(cli, write, renamed, "nb", "renamed.suffice"), penguins, 1e-10)


REFUSED = {
    "an unknown class": (["drop-class", "MODEL", "Emperor"], 1, "no class 'Emperor'"),
    "every class": (["drop-class", "MODEL", "Adelie", "Chinstrap", "Gentoo"], 1, "is the last one"),
    "no class": (["drop-class", "MODEL"], 2, "at least one class"),
    "no pair": (["rename-class", "MODEL", "Adelie"], 2, "'Adelie' is no pair OLD=NEW"),
    "two new names": (["rename-class", "MODEL", "Adelie=a", "Adelie=b"], 2, "'Adelie' is given two labels"),
    "a seed of nothing": (["impute", "MODEL", "DATA", "--seed", "1"], 2, "--seed is of --draws"),
    "a target of nothing": (["report", "MODEL", "--target", "species"], 2, "are of DATA"),
    "both": (["compare", "DATA", "--target", "species", "--keep", "sex", "--drop", "sex"], 2, "both name 'sex'"),
    "one model": (["merge", "MODEL", "-o", "MODEL"], 2, "at least two"),
    "another kind of model": (["merge", "MODEL", "OTHER", "-o", "MODEL"], 1, "does not merge with"),
    "no model": (["merge", "MODEL", "DATA", "-o", "MODEL"], 1, "is a table, and a model belongs there"),
    "rows twice": (["forget", "MODEL", "TWICE", "--target", "species"], 1, "class 'Adelie' cannot be forgotten"),
    "no such column": (["update", "MODEL", "DATA", "--target", "kind"], 1, "no column 'kind' for --target"),
    "a column is missing": (["update", "MODEL", "NARROW", "--target", "species"], 1, "'sex' which the model needs"),
    "no target": (["update", "UNNAMED", "DATA"], 2, "does not know what its labels were called"),
    "no growth": (["update", "MODEL", "DATA", "--target", "species", "--decay", "1.5"], 2, "decay"),
    "the table as output": (["update", "MODEL", "DATA", "--target", "species", "-o", "DATA"], 1, "is the table itself"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_error_leaves_the_file_as_it_was(cli, write, penguins, case) -> None:
    words, status, message = REFUSED[case]
    model = fitted(cli, write, penguins)
    files = {
        "MODEL": model,
        "OTHER": fitted(cli, write, penguins, "full", "full.suffice") if "OTHER" in words else None,
        "DATA": write("data.csv", penguins),
        "TWICE": write("twice.csv", pa.concat_tables([penguins, penguins])),
        "NARROW": write("narrow.csv", penguins.drop_columns(["sex"])),
    }
    NaiveBayes().fit(np.eye(2), [0, 1]).save(files.setdefault("UNNAMED", model.with_name("unnamed.suffice")))
    before = model.read_bytes()
    done = cli(*(files.get(word, word) for word in words))
    assert done.status == status
    assert message in done.complaint
    assert model.read_bytes() == before
    assert not [path for path in model.parent.iterdir() if path.suffix == ".tmp"]


def test_a_model_that_cannot_be_estimated_is_not_written(cli, refused, write) -> None:
    """With --shrinkage 0 a covariance of two rows is refused, and a file that could not be read must not appear."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 2))
    table = pa.table({"u": x[:, 0], "v": x[:, 1], "species": ["a"] * 4 + ["b"] * 4})
    model = fitted(cli, write, table, "full", "m.suffice", "--shrinkage", "0")
    before = model.read_bytes()
    refused(
        "forget", model, write("two.parquet", table.slice(0, 2)), "--target", "species", saying=["'a'", "rank 1 of 2"]
    )
    assert model.read_bytes() == before


# --- decisions of predict ----------------------------------------------------------------------------------------


def test_priors_and_reject(cli, model, penguins) -> None:
    estimator = load(model)
    columns = penguins.select(estimator.feature_names_in_.tolist())
    given = ["--priors", "Adelie=0.7", "--priors", "Chinstrap=0.2", "--priors", "Gentoo=0.1"]
    by_label = {"Adelie": 0.7, "Chinstrap": 0.2, "Gentoo": 0.1}
    adapted = estimator.adapt_priors(columns)
    for words, priors in ((["--priors", "uniform"], "uniform"), (given, by_label), (["--priors", "adapt"], adapted)):
        done = cli("predict", model, penguins_path(), *words, "--reject", "0.01").ok()
        rows = parse(done.out)
        p = np.array([[float(row[f"p_{label}"]) for label in estimator.classes_] for row in rows])
        np.testing.assert_allclose(p, estimator.predict_proba(columns, priors=priors), atol=1e-12)
        expected = estimator.predict(columns, priors=priors, reject=0.01).tolist()
        assert [row["label"] or None for row in rows] == expected
        assert None in expected
    assert "Class priors estimated from penguins.csv: Adelie 0.4" in done.err


def test_groups_are_no_column_and_leave_together(cli, write, tmp_path) -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(16), 4)
    rows = 1.5 * rng.normal(size=(16, 3))[who] + 0.3 * rng.normal(size=(64, 3)) + (who % 2)[:, None]
    table = pa.table({**{f"x{j}": rows[:, j] for j in range(3)}, "who": [f"p{i}" for i in who], "sick": who % 2})
    data, to = write("t.csv", table), tmp_path / "m.suffice"
    cli("fit", data, "--target", "sick", "--groups", "who", "--model", "nb", "-o", to).ok()
    model = load(to)
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    assert len(np.unique(model.statistics_.sample.group)) == 16
    few = write("few.csv", table.slice(0, 8))
    cli("forget", to, few, "--target", "sick", "--groups", "who").ok()
    assert len(np.unique(load(to).statistics_.sample.group)) == 14
    assert cli("forget", to, write("other.csv", table.slice(8, 4)), "--target", "sick").status == 1  # of another group
    cli("update", to, few, "--target", "sick", "--groups", "who").ok()
    np.testing.assert_allclose(load(to).quality().log_loss, model.quality().log_loss, rtol=1e-9)
    few_fits = ("--target", "sick", "--groups", "who", "--by", "loo", "--folds", "2", "--json")
    turned = write("turned.csv", table.select([4, 2, 1, 0]).append_column("who", [[f"z{7 * i % 16}" for i in who]]))
    told, again = (json.loads(cli("compare", own, *few_fits).out)["models"] for own in (data, turned))
    assert [own["log_loss"] for own in again] == pytest.approx([own["log_loss"] for own in told], rel=1e-9)
    (shared,) = (own for own in told if own["model"] == "shared")
    one = GaussianDiscriminant(shared=True).fit(rows, who % 2, groups=who)
    assert shared["log_loss"] == pytest.approx(one.quality().log_loss, rel=1e-9)
    for command in (("fit", data, "-o", tmp_path / "n.suffice"), ("labels", data), ("compare", data)):
        assert "'nobody' for --groups" in cli(*command, "--target", "sick", "--groups", "nobody").complaint
    parts = tmp_path / "parts.suffice"
    cli("fit", data, "--target", "sick", "--groups", "who", "--model", "nb", "-o", parts, "--engine", "local").ok()
    np.testing.assert_allclose(load(parts).quality().log_loss, model.quality().log_loss, rtol=1e-9)
    assert load(parts).feature_names_in_.tolist() == ["x0", "x1", "x2"]
