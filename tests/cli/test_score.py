"""`suffice score` says what scikit-learn's metrics say of the predicted table."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, t as student_t
from sklearn import metrics

from suffice import NaiveBayes, load
from suffice.datasets import penguins_path
from suffice.questions import tally


@pytest.fixture
def halves(learned_half):
    """A model of one half of the penguins with few columns, which is often wrong, and the other half in a file."""
    penguins = pd.read_csv(penguins_path()).sample(frac=1, random_state=0)
    penguins = penguins[["species", "bill_length_mm", "sex", "year"]]
    penguins["copies"] = 1 + np.arange(len(penguins)) % 3
    return learned_half(penguins, "--drop", "copies")


def scored(cli, model, data, *words):
    return json.loads(cli("score", model, data, "--target", "species", "--json", *words).ok().out)


def predicted(cli, model, data, *words):
    done = cli("predict", model, data, "--json", *words).ok()
    table = pd.DataFrame(json.loads(done.out)["predictions"])
    return table, table.filter(regex="^p_").rename(columns=lambda name: name[2:])


@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_those_of_the_predicted_table(cli, halves, weighted) -> None:
    model, data = halves
    table = pd.read_csv(data)
    answers, p = predicted(cli, model, data)
    truth, weight = table["species"], table["copies"] if weighted else None
    found = scored(cli, model, data, *(["--weight", "copies"] if weighted else []))
    told = {"sample_weight": weight}
    labels = list(p.columns)
    assert found["rows"] == len(table)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, answers["label"], **told))
    right = round(found["accuracy"] * found["weight"])
    ends = binomtest(right, int(found["weight"])).proportion_ci(method="wilson")
    assert found["accuracy_interval"] == pytest.approx(list(ends), abs=1e-6)
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(truth, answers["label"], **told))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, p, labels=labels, **told))
    assert found["brier_score"] == pytest.approx(metrics.brier_score_loss(truth, p, labels=labels, **told))
    assert found["confusion"] == metrics.confusion_matrix(truth, answers["label"], labels=labels, **told).tolist()
    by_class = metrics.precision_recall_fscore_support(truth, answers["label"], labels=labels, **told)
    for c, own in enumerate(found["classes"]):
        figures = [own[name] for name in ("precision", "recall", "f1", "rows")]
        assert figures == pytest.approx([part[c] for part in by_class])
        is_own = truth == own["label"]
        assert own["roc_auc"] == pytest.approx(metrics.roc_auc_score(is_own, p[own["label"]], **told))
        assert own["pr_auc"] == pytest.approx(metrics.average_precision_score(is_own, p[own["label"]], **told))
    assert found["roc_auc"] == pytest.approx(
        np.mean([metrics.roc_auc_score(truth == label, p[label], **told) for label in labels])
    )
    shares = pd.read_csv(model.with_name("first.csv"))["species"].value_counts(normalize=True)
    repeated = np.tile(shares[labels].to_numpy(), (len(truth), 1))
    assert found["class_shares_log_loss"] == pytest.approx(metrics.log_loss(truth, repeated, labels=labels, **told))
    most = pd.Series(1 if weight is None else weight, index=table.index).groupby(truth).sum()
    assert found["always_commonest"] == most.idxmax()
    assert found["always_commonest_accuracy"] == pytest.approx(most.max() / most.sum())


def test_calibration_is_that_of_bins_counted_by_hand(cli, halves) -> None:
    model, data = halves
    truth = pd.read_csv(data)["species"].to_numpy()
    answers, p = predicted(cli, model, data)
    found = scored(cli, model, data)
    sure, right = p.max(axis=1).to_numpy(), answers["label"].to_numpy() == truth
    gaps = [
        abs((sure[own] - right[own]).sum())
        for low in np.arange(15) / 15
        if (own := (sure >= low) & (sure < low + 1 / 15)).any()
    ]
    assert found["calibration_error"] == pytest.approx(sum(gaps) / len(truth), abs=1e-9)
    assert sum(own["rows"] for own in found["calibration"]) == len(truth)
    for own in found["calibration"]:
        inside = (sure >= own["from"] - 1e-12) & (sure < own["to"] + (1e-12 if own["to"] == 1 else 0))
        assert own["rows"] == inside.sum() >= 17
        assert own["probability"] == pytest.approx(sure[inside].mean())
        assert own["right"] == pytest.approx(right[inside].mean())


def test_thresholds_do_what_they_say_as_they_are_printed(cli, halves) -> None:
    model, data = halves
    truth = pd.read_csv(data)["species"] == "Chinstrap"
    _, p = predicted(cli, model, data)
    printed = cli("score", model, data, "--target", "species", "--positive", "Chinstrap").out
    table = scored(cli, model, data, "--positive", "Chinstrap")["thresholds"]
    assert len(table) > 5
    for own in table:
        flagged = p["Chinstrap"] >= own["threshold"]
        assert own["flagged"] == pytest.approx(flagged.mean())
        assert own["recall"] == pytest.approx(metrics.recall_score(truth, flagged))
        assert own["precision"] == pytest.approx(metrics.precision_score(truth, flagged))
        assert own["lift"] == pytest.approx(own["precision"] / truth.mean())
        assert f"{own['threshold']:g}" in printed
    reached = [own["recall"] for own in table]
    assert reached == sorted(reached)
    assert reached[-1] == 1.0
    for goal in (0.3, 0.5, 0.9):  # found by a threshold that is not needlessly low
        best = min(own["flagged"] for own in table if own["recall"] >= goal)
        ranked = np.sort(p["Chinstrap"][truth])[::-1]
        needed = (p["Chinstrap"] >= ranked[int(np.ceil(goal * truth.sum())) - 1]).mean()
        assert needed <= best <= needed + 0.1


def test_costs_are_counted_and_answers_are_those_of_predict(cli, halves) -> None:
    model, data = halves
    truth = pd.read_csv(data)["species"].to_numpy()
    words = ("--costs", "Chinstrap:Adelie=30", "--costs", "Adelie:Gentoo=2.5")
    answers, p = predicted(cli, model, data, *words)
    found = scored(cli, model, data, *words)
    price = {("Chinstrap", "Adelie"): 30.0, ("Adelie", "Gentoo"): 2.5}

    def cost(true, answer):
        return 0.0 if true == answer else price.get((true, answer), 1.0)

    assert found["realised_cost"] == pytest.approx(np.mean(list(map(cost, truth, answers["label"]))))
    expected = [
        min(sum(q * cost(true, own) for true, q in row.items()) for own in p.columns) for _, row in p.iterrows()
    ]
    assert found["expected_cost"] == pytest.approx(np.mean(expected))
    always = {own: np.mean([cost(true, own) for true in truth]) for own in p.columns}
    assert found["always_cheapest"] == min(always, key=always.get)
    assert found["always_cheapest_cost"] == pytest.approx(min(always.values()))
    plain, _ = predicted(cli, model, data)
    assert (plain["label"] != answers["label"]).any()


def test_the_target_is_that_of_the_fit_if_none_is_named(cli, halves) -> None:
    model, data = halves
    done = cli("score", model, data, "--json")
    assert json.loads(done.out) == scored(cli, model, data)


def test_priors_are_those_of_predict(cli, halves) -> None:
    model, data = halves
    truth = pd.read_csv(data)["species"]
    for words in (["--priors", "uniform"], ["--priors", "adapt"]):
        _, p = predicted(cli, model, data, *words)
        found = scored(cli, model, data, *words)
        assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, p, labels=list(p.columns)), rel=1e-6)


@pytest.mark.parametrize("words", [[], ["--weight", "copies"], ["--priors", "adapt"], ["--positive", "Adelie"]])
def test_tables_in_parts_say_the_same(cli, halves, tmp_path, words) -> None:
    model, data = halves
    whole = scored(cli, model, data, *words)
    folder = tmp_path / "parts"
    folder.mkdir()
    table = pd.read_csv(data)
    for number, start in enumerate(range(0, len(table), 50)):
        table[start : start + 50].to_csv(folder / f"{number}.csv", index=False)
    table.to_parquet(tmp_path / "all.parquet")
    for source in (folder, tmp_path / "all.parquet", str(folder / "*.csv")):
        parts = scored(cli, model, source, *words)
        assert parts["confusion"] == whole["confusion"]
        for name in ("log_loss", "brier_score", "roc_auc", "pr_auc", "calibration_error", "class_shares_log_loss"):
            assert parts[name] == pytest.approx(whole[name], rel=1e-6), name
        for name in ("calibration", "thresholds"):
            one, two = (pd.DataFrame(own[name] or []).astype(float) for own in (parts, whole))
            pd.testing.assert_frame_equal(one, two, rtol=1e-9)


def test_very_many_scores_are_ranked_in_steps(cli, halves, tmp_path, monkeypatch) -> None:
    model, data = halves
    whole = scored(cli, model, data)
    assert whole["roc_auc_error"] == 0
    pd.read_csv(data).to_parquet(tmp_path / "all.parquet", row_group_size=40)
    monkeypatch.setattr(tally, "MOST_SCORES", 30)
    steps = scored(cli, model, tmp_path / "all.parquet", "--positive", "Adelie")
    assert steps["roc_auc_error"] > 0
    for one, two in zip(whole["classes"], steps["classes"], strict=True):
        assert one["roc_auc"] == pytest.approx(two["roc_auc"], abs=steps["roc_auc_error"] + 1e-12)
    _, p = predicted(cli, model, data)
    for own in steps["thresholds"]:  # steps of log-odds lie below what they stand for
        if own["threshold"] != 0.5:
            assert own["flagged"] == pytest.approx((p["Adelie"] >= own["threshold"] - 1e-12).mean())


def test_rows_that_cannot_be_judged_are_counted_and_named(cli, halves, tmp_path) -> None:
    model, data = halves
    table = pd.read_csv(data)
    rest = table[10:]
    table.loc[:3, "species"] = None
    table.loc[4:9, "species"] = "Emperor"
    some, only = tmp_path / "some.csv", tmp_path / "rest.csv"
    table.to_csv(some, index=False)
    rest.to_csv(only, index=False)
    found, wanted = scored(cli, model, some), scored(cli, model, only)
    assert found["rows_without_label"] == 4
    assert found["unknown_classes"] == [{"label": "Emperor", "rows": 6}]
    for name in ("rows", "accuracy", "log_loss", "confusion"):
        assert found[name] == wanted[name]
    text = cli("score", model, some, "--target", "species").out
    assert "4 rows without a label" in text
    assert "6 rows of 'Emperor'" in text
    table.to_parquet(tmp_path / "some.parquet")
    parts = scored(cli, model, tmp_path / "some.parquet")
    assert parts["unknown_classes"] == found["unknown_classes"]
    assert parts["rows_without_label"] == 4
    table["species"] = "Emperor"
    table.to_csv(some, index=False)
    complaint = cli("score", model, some, "--target", "species").complaint
    assert "'Emperor'" in complaint
    assert "'Gentoo'" in complaint


def test_rows_that_were_learned_are_pointed_out(cli, halves) -> None:
    model, data = halves
    learned = cli("score", model, model.with_name("first.csv"), "--target", "species")
    assert "All of these rows are rows that the model has learned" in learned.err
    assert "suffice compare" in learned.err
    new = cli("score", model, data, "--target", "species")
    assert "learned" not in new.err


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        (["--target", "spceies"], 1, "'species'"),
        (["--target", "species", "--positive", "Gento"], 1, "'Gentoo'"),
        (["--target", "species", "--costs", "Gento:Adelie=3"], 2, "'Gentoo'"),
        (["--target", "species", "--costs", "Gentoo=3"], 2, "TRUE:ANSWER=NUMBER"),
        (["--target", "species", "--costs", "Gentoo:Adelie=many"], 2, "TRUE:ANSWER=NUMBER"),
        (["--target", "species", "--weight", "copy"], 1, "'copies'"),
        (["--target", "species", "--priors", "some"], 2, "--priors"),
        (["--target", "sex"], 2, "--target 'sex'"),
    ],
)
def test_what_cannot_be_scored(cli, halves, words, status, wanted) -> None:
    model, data = halves
    done = cli("score", model, data, *words)
    assert done.status == status
    assert wanted in done.complaint


def test_columns_go_by_position_where_a_model_knows_no_names(cli, halves, tmp_path) -> None:
    data, words, found = tmp_path / "few.csv", ("--weight", "copies", "--priors", "adapt"), []
    table = pd.read_csv(halves[1])[["bill_length_mm", "species", "year", "copies"]]
    table.to_csv(data, index=False)
    for X in (table[["bill_length_mm", "year"]], table[["bill_length_mm", "year"]].to_numpy()):
        NaiveBayes().fit(X, table["species"]).save(tmp_path / "m.suffice")
        found.append(scored(cli, tmp_path / "m.suffice", data, *words))
    assert found[0] == found[1]
    table.assign(copies=0).to_csv(data, index=False)
    done = cli("score", tmp_path / "m.suffice", data, "--target", "species", "--weight", "copies")
    assert done.status == 1
    assert "weight above 0" in done.complaint


def test_groups_are_drawn_whole(cli, rng, tmp_path) -> None:
    """Against the cluster-robust errors of an intercept, group by group, from text and in parts."""
    size = rng.integers(1, 12, 60)
    group = np.repeat(np.arange(60), size)
    own, n = group % 2, len(group)
    x = own + rng.normal(size=60)[group] + 0.2 * rng.normal(size=n)
    table = pd.DataFrame({"x": x, "kind": np.where(own, "a", "b"), "who": [f"p{g}" for g in group], "w": 1 + group % 3})
    table.loc[:4, "who"] = None  # rows of no group, each by itself
    model, text, parts = tmp_path / "m.suffice", tmp_path / "t.csv", tmp_path / "t.parquet"
    table.to_csv(text, index=False)
    table.to_parquet(parts, row_group_size=40)
    half = tmp_path / "half.csv"
    table[group < 30].to_csv(half, index=False)
    cli("fit", half, "--target", "kind", "--model", "nb", "--groups", "who", "--drop", "w", "-o", model).ok()
    told = [
        json.loads(cli("score", model, data, "--target", "kind", "--groups", "who", "--weight", "w", "--json").out)
        for data in (text, parts)
    ]
    for name in ("log_loss_error", "accuracy_interval", "groups", "rows"):
        assert told[0][name] == pytest.approx(told[1][name])
    fitted = load(model)
    p, w = fitted.predict_proba(table[["x"]]), table["w"].to_numpy(dtype=float)
    loss = -np.log(p[np.arange(n), (table["kind"] == "b").astype(int)])
    number = table["who"].fillna(pd.Series(np.arange(n).astype(str))).factorize()[0]
    count = number.max() + 1
    right = fitted.predict(table[["x"]]) == table["kind"]
    for values, error in ((loss, "log_loss_error"), (right, None)):
        mean = np.average(values, weights=w)
        sums = np.array([(w * (values - mean))[number == g].sum() for g in range(count)])
        expected = np.sqrt(count / (count - 1) * (sums**2).sum()) / w.sum()
        if error:
            assert told[0][error] == pytest.approx(expected)
            continue
        rows, z = mean * (1 - mean) / expected**2, student_t.ppf(0.975, count - 1)
        middle, half_width = (mean + z**2 / (2 * rows)), z * np.sqrt(mean * (1 - mean) / rows + z**2 / (4 * rows**2))
        ends = [(middle - half_width) / (1 + z**2 / rows), (middle + half_width) / (1 + z**2 / rows)]
        assert told[0]["accuracy_interval"] == pytest.approx(ends)
        alone = json.loads(cli("score", model, text, "--target", "kind", "--weight", "w", "--json").out)[
            "accuracy_interval"
        ]
        assert np.ptp(ends) > 1.5 * np.ptp(alone)
    assert told[0]["groups"] == count
    assert told[0]["accuracy"] == pytest.approx(np.average(right, weights=w))


@pytest.mark.parametrize("command", ["fit", "score", "update", "compare"])
@pytest.mark.parametrize("ways", [("--groups", "species"), ("--groups", "year", "--weight", "year")])
def test_one_column_for_two_things_is_refused(cli, halves, command, ways, tmp_path) -> None:
    """Classes as groups would leave every class without a row to learn from; nothing is written."""
    if command == "compare":
        ways = ("--groups", "species")  # it takes no weights
    model, rest = halves
    before = model.read_bytes()
    given = [model, rest] if command in ("score", "update") else [rest]
    given += ["-o", tmp_path / "new.suffice"] if command == "fit" else []
    done = cli(command, *given, "--target", "species", *ways)
    assert done.status != 0
    assert f"are both {ways[1]!r}. Name a column of its own for each." in " ".join(done.err.split())
    assert model.read_bytes() == before
    assert not (tmp_path / "new.suffice").exists()


def test_intervals_hold_for_groups() -> None:
    """Rows for independent ones, the accuracy was in 47 % of intervals that should hold it in 95."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(500):
        own, size = rng.beta(0.8, 0.2, 40), rng.integers(1, 30, 40)
        group = np.repeat(np.arange(40), size)
        right = (rng.random(len(group)) < own[group]).astype(float)
        keys = (2 * group + 1).astype(np.uint64)
        first = rng.random(len(group)) < 0.5
        sums = tally.GroupSums.of(keys[first], np.ones(first.sum()), right[first], right[first])
        sums = sums.merge(tally.GroupSums.of(keys[~first], np.ones((~first).sum()), right[~first], right[~first]))
        low, high = tally.wilson(right.mean(), sums.rows_told, sums.quantile)
        held += low <= 0.8 <= high
    assert held >= 0.92 * 500
