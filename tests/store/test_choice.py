"""What rows chose is kept in a model file, so that loading it chooses nothing, and nothing depends on it."""

import functools
import io
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fuzz_models import places
from hypothesis import given, settings, strategies as st
from model_file import File, npy
from numpy.testing import assert_array_equal

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant, load
from suffice.automatic import choice, pooled, train
from suffice.estimate import mixture_starts as starts
from suffice.files import model_file


def numbers(n=300, d=4, k=3, seed=1):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(k, d))[y], y


def holed():
    X, y = numbers(240)
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    return X, y


def mixed():
    X, y = numbers(240, 3)
    rng = np.random.default_rng(3)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["colour"] = np.where(rng.random(240) < 0.3, "größe", np.array(["red", "blue", "=1+1"])[y])
    table["on"] = rng.random(240) < 0.2 + 0.3 * y
    table.loc[::9, "colour"] = None
    return table, np.array(["ash", "birch", "größe"])[y]


def many_classes():
    return numbers(600, 5, 24, 5)


def grown():
    """Enough rows for trees, boosted ones among them, which alone see where two signs agree; one class is rare."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(1500, 4))
    X[rng.random(X.shape) < 0.02] = np.nan
    y = (np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) > 0) + 2 * (np.nan_to_num(X[:, 2]) > 0.5)
    y[:3] = 4
    return X, y


def skewed():
    """Amounts of which half are 0: rows are likelier under a forest."""
    rng = np.random.default_rng(9)
    y = np.arange(300) % 2
    return np.exp(2.0 * rng.normal(size=(300, 4)) + y[:, None]) * (rng.random((300, 4)) < 0.5), y


def apart():
    """Columns without correlations, of other variances in each class."""
    rng = np.random.default_rng(10)
    y = np.arange(120) % 3
    return rng.normal(size=(120, 15)) * rng.choice([0.3, 1.0, 3.0], (3, 15))[y], y


def half_labelled():
    X, y = numbers(200, 3, 2, 7)
    return X, np.where(np.arange(200) % 5, None, y.astype(object))


def fit(make, **options):
    X, y = make()
    weight = np.random.default_rng(8).integers(1, 4, len(y)) / 2.0 if options.pop("weighted", False) else None
    return GenerativeClassifier(**options).fit(X, y, weight), X, y


TABLES = {
    "numbers": (numbers, {}),
    "missing cells": (holed, {}),
    "mixed": (mixed, {}),
    "many classes": (many_classes, {}),
    "a forest": (skewed, {}),
    "independent": (apart, {}),
    "trees": (grown, {}),
    "weights of trees": (grown, {"weighted": True}),
    "rows without a label": (half_labelled, {}),
    "frozen columns": (lambda: numbers(400), {"keep_rows": 150}),
    "generative": (grown, {"members": "generative"}),
    "directions": (lambda: numbers(40, 420, 2), {}),
}


@functools.cache
def fitted(name):
    """The model of a table, and its rows, made once: no test edits it."""
    make, options = TABLES[name]
    return fit(make, **options)


def no_choosing(monkeypatch):
    """Whatever chooses raises from now on."""

    def refuse(*args, **kwargs):
        raise AssertionError("chosen anew")

    monkeypatch.setattr(train, "choose", refuse)
    monkeypatch.setattr(pooled, "gain_of_forest", refuse)
    monkeypatch.setattr("suffice.automatic.weighing.refitted", refuse)


@pytest.fixture
def choices(monkeypatch):
    """A list that grows by one with every choice."""
    made, choose = [], train.choose

    def counted(*args, **kwargs):
        made.append(1)
        return choose(*args, **kwargs)

    monkeypatch.setattr(train, "choose", counted)
    return made


def rows(X, some):
    return X.iloc[some] if isinstance(X, pd.DataFrame) else X[some]


def few_cells(X):
    """A few rows with the first column alone."""
    some = rows(X, slice(0, 6)).copy()
    if isinstance(some, pd.DataFrame):
        return some.assign(**{name: None for name in some.columns[1:] if some[name].dtype == object})
    some[:, 1:] = np.nan
    return some


def answers(model, X, y):
    """What a model says of everything that rests on its choice."""
    some = rows(X, slice(0, 12))
    judged = [i for i in range(len(y)) if y[i] is not None][:12]
    found = {
        "predict_log_proba": model.predict_log_proba(X),
        "few cells": model.predict_log_proba(few_cells(X)),
        "score_samples": model.score_samples(X),
        "explain": model.explain(some, orders=8),
        "predict_set": model.predict_set(some),
        "outlier_pvalues": model.outlier_pvalues(rows(X, slice(0, 3))),
        "leave_one_out": model.leave_one_out(rows(X, judged), [y[i] for i in judged]),
        "loss": model.loss_,
        "sample": np.asarray(model.sample(5, random_state=0)[1]),
        "kept rows": model._fitted.left_out_rows,
    }
    pool = model._fitted.pool
    told = {
        "members": model.members_,
        "notes": [(note.kind, str(note)) for note in model.notes_],
        "quality": str(model.quality()),
        "few": None if pool.few_known is None else pool.few_known.weight.tolist(),
    }
    return found, told


def same(actual, expected):
    (found, told), (wanted, said) = actual, expected
    assert told == said
    for name, values in wanted.items():
        assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_loaded_model_chooses_nothing_and_answers_to_the_bit(name, tmp_path, monkeypatch):
    model, X, y = fitted(name)
    model.save(tmp_path / "m.suffice")
    expected = answers(model, X, y)
    no_choosing(monkeypatch)
    same(answers(load(tmp_path / "m.suffice"), X, y), expected)


@pytest.mark.slow
def test_every_kind_of_member_is_among_those():
    names = {name: {own["name"] for own in fitted(name)[0].members_} for name in TABLES}
    assert any("independent" in name for name in names["independent"])
    assert any("joint model: a forest" in str(note) for note in fitted("a forest")[0].notes_)
    assert names["trees"] >= {"forest", "boosted trees", "mixture per class, normal scores"}
    assert any("unlabelled" in name for name in names["rows without a label"])


# --- where there is no choice, rows are asked ---


@pytest.fixture(scope="module")
def learned():
    X, y = mixed()
    return GenerativeClassifier().fit(X, y), X, y


@pytest.fixture
def saved(learned, tmp_path):
    """A model with trees, where it is saved, and its table; an edit replaces its value, which other tests share."""
    own, X, y = learned
    model = GenerativeClassifier()
    vars(model).update(vars(own))
    model.save(tmp_path / "m.suffice")
    return model, tmp_path / "m.suffice", X, y


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [
        lambda m, X, y: m.partial_fit(X[:30], y[:30]),
        lambda m, X, y: m.forget(X[:30], y[:30]),
        lambda m, X, y: m.merge(GenerativeClassifier().fit(X[:60], y[:60])),
        lambda m, X, y: m.rename_classes({"ash": "oak"}),
        lambda m, X, y: m.drop_class("ash"),
        lambda m, X, y: m.set_params(members="generative").partial_fit(X[:2], y[:2]),
    ],
    ids=["partial_fit", "forget", "merge", "rename_classes", "drop_class", "set_params"],
)
def test_an_edit_chooses_anew_when_it_is_asked(saved, edit, choices, tmp_path):
    model, path, X, y = saved
    loaded = load(path)
    edit(loaded, X, y)
    edit(model, X, y)
    before = len(choices)
    loaded.save(tmp_path / "edited.suffice")
    assert len(choices) == before
    assert not choice_of(tmp_path / "edited.suffice")  # of which nothing was asked yet
    expected = model.predict_log_proba(X)
    assert_array_equal(loaded.predict_log_proba(X), expected)
    assert_array_equal(load(tmp_path / "edited.suffice").predict_log_proba(X), expected)
    assert len(choices) == before + 3
    loaded.save(tmp_path / "edited.suffice")
    assert_array_equal(load(tmp_path / "edited.suffice").predict_log_proba(X), expected)
    assert len(choices) == before + 3


def test_the_command_line_asks_before_it_saves(tmp_path, choices):
    """So that the next command chooses nothing."""
    run = pytest.importorskip("suffice.cli.app", reason="the extra cli is not installed").run
    X, y = mixed()
    table, model = tmp_path / "t.csv", tmp_path / "m.suffice"
    X.assign(y=y).to_csv(table, index=False)
    assert run(["fit", str(table), "--target", "y", "-o", str(model), "--quiet"]) == 0
    assert run(["update", str(model), str(table), "--target", "y", "--quiet"]) == 0
    assert len(choices) == 2
    assert choice_of(model)
    assert run(["predict", str(model), str(table), "-o", str(tmp_path / "p.csv"), "--quiet"]) == 0
    assert len(choices) == 2


def test_a_loaded_model_that_is_saved_keeps_its_choice(saved, choices, tmp_path):
    _, path, X, _ = saved
    load(path).save(tmp_path / "unasked.suffice")
    asked = load(path)
    asked.predict(X)
    asked.save(tmp_path / "asked.suffice")
    assert not choices
    assert path.read_bytes() == (tmp_path / "unasked.suffice").read_bytes() == (tmp_path / "asked.suffice").read_bytes()


def test_other_priors_need_no_other_choice(saved, choices):
    model, path, X, _ = saved
    loaded = load(path)
    for asked in (model, loaded):
        asked.set_params(priors=[0.6, 0.3, 0.1])
    assert_array_equal(loaded.predict_log_proba(X), model.predict_log_proba(X))
    assert not choices


def test_a_released_file_holds_no_choice_by_rows(saved, tmp_path):
    model, _, X, _ = saved
    released = model.release(least=5)
    released.save(tmp_path / "r.suffice")
    assert not choice_of(tmp_path / "r.suffice")
    assert_array_equal(load(tmp_path / "r.suffice").predict_proba(X), released.predict_proba(X))


def test_other_models_have_none(blobs, tmp_path, monkeypatch):
    """Mixtures keep their components: EM is not run again."""
    X, y = blobs
    models = [GaussianDiscriminant(), MixtureDiscriminant(n_components=2, random_state=0), GenerativeForest()]
    for number, model in enumerate(models):
        model.fit(X, y).save(tmp_path / f"{number}.suffice")
        assert not choice_of(tmp_path / f"{number}.suffice")
    monkeypatch.setattr(starts, "fit_mixtures", None)
    assert_array_equal(load(tmp_path / "1.suffice").predict_proba(X), models[1].predict_proba(X))


# --- damaged, foreign and older choices ---


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def choice_of(path):
    return {name for name in parts_of(path) if name.startswith("choice")}


def pack(path, parts):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def chooses_anew(path, model, X, choices):
    """Loading says nothing, the rows are asked, and the answers are the same."""
    before = len(choices)
    assert_array_equal(load(path).predict_log_proba(X), model.predict_log_proba(X))
    assert len(choices) == before + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "how"),
    [("choice.json", how) for how in ("missing", "empty", "flipped", "longer")]
    + [(part, "flipped") for part in ("choice.sha256", "choice_left_out.npy", "choice_trial.npy")]
    + [("choice_left_out.npy", "missing")],
)
def test_a_damaged_choice_is_none(saved, choices, part, how):
    model, path, X, _ = saved
    parts = parts_of(path)
    data = bytearray(parts.pop(part))
    data[len(data) // 2] ^= 4
    if how != "missing":
        parts[part] = {"empty": b"", "flipped": bytes(data), "longer": parts_of(path)[part] + b"\0"}[how]
    pack(path, parts)
    chooses_anew(path, model, X, choices)


def test_a_choice_takes_no_more_than_a_model_may(monkeypatch):
    """All of its arrays together, of which each packed one is eight times its codes."""
    parts = model_file._choice_parts(({f"x{i}": np.zeros(10**6) for i in range(3)}, {}), b"{}") | {"model.json": b"{}"}
    monkeypatch.setattr(model_file, "budget", lambda: 20_000_000)
    with pytest.raises(ValueError, match="would take 8,000,000 bytes"):
        model_file._read_choice(SimpleNamespace(names=parts.keys(), read=parts.__getitem__))


@pytest.mark.slow
def test_the_choice_of_another_model(saved, choices, tmp_path):
    model, path, X, y = saved
    GenerativeClassifier().fit(X[:-1], y[:-1]).save(tmp_path / "other.suffice")
    del choices[:]
    theirs = parts_of(tmp_path / "other.suffice")
    own = {name: data for name, data in parts_of(path).items() if not name.startswith("choice")}
    foreign = {name: data for name, data in theirs.items() if name.startswith("choice")}
    pack(path, own | foreign)
    chooses_anew(path, model, X, choices)
    path.write_bytes(File(path.read_bytes()).packed())  # who lies about it is found out by the answers
    chooses_anew(path, model, X, choices)


def set_in(document, path, value):
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value


def test_a_choice_by_other_rules(saved, choices, monkeypatch):
    model, path, X, _ = saved
    monkeypatch.setattr(choice, "RULES", choice.RULES + 1)
    chooses_anew(path, model, X, choices)


@pytest.fixture(scope="module")
def with_trees(tmp_path_factory):
    """A folder, a file with trees, its first rows and the answers to them."""
    folder, (model, X, _) = tmp_path_factory.mktemp("trees"), fitted("trees")
    model.save(folder / "trees.suffice")
    return folder, (folder / "trees.suffice").read_bytes(), X[:9], model.predict_log_proba(X[:9])


WILD = [0, 1, -1, 2, 255, 1 << 31, 1e300, -1e300, 1e-300, 0.5, None, "", "x", [], {}, True]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whatever_the_parts_of_a_choice_hold(data, with_trees):
    """With sums that fit: rows are asked, or the model answers, as a forged one may that agrees where it is tried."""
    folder, saved, X, expected = with_trees
    file = File(saved)
    arrays = sorted(name for name in file.chosen if "trial" not in name)
    if data.draw(st.booleans()):
        path = data.draw(st.sampled_from([p for p in places(file.choice["choice"]) if p]))
        set_in(file.choice["choice"], path, data.draw(st.sampled_from(WILD)))
    else:
        name = data.draw(st.sampled_from(arrays))
        values = np.load(io.BytesIO(file.chosen[name])).copy()
        kind = data.draw(st.sampled_from(["cell", "shape", "short", "type", "order"]))
        if kind == "cell" and values.size:
            wild = data.draw(st.sampled_from([w for w in WILD if isinstance(w, int | float)]))
            with np.errstate(all="ignore"):
                values.reshape(-1)[data.draw(st.integers(0, values.size - 1))] = np.asarray(wild).astype(values.dtype)
        with np.errstate(all="ignore"):
            ways = {"shape": values[None], "short": values[:-1], "type": values.astype("f4"), "order": values[::-1]}
        values = ways.get(kind, values)
        file.chosen[name] = npy(values)
    (folder / "wild.suffice").write_bytes(file.packed())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "choose", chosen_nothing)
        try:
            found = load(folder / "wild.suffice").predict_log_proba(X)
        except NothingChosenError:
            return
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, atol=1e-9)
    assert found.shape == expected.shape


class NothingChosenError(RuntimeError):
    """Rows are asked: what a choice would take long to find is not of interest."""


def chosen_nothing(*args, **kwargs):
    raise NothingChosenError


def test_the_choice_is_small(with_trees):
    """Left-out posteriors take a row and class eight bytes, trees some ten for most nodes."""
    parts = File(with_trees[1]).chosen
    size = {name: len(data) for name, data in parts.items()}
    leaves = sum(len(np.load(io.BytesIO(parts[name]))) for name in parts if name.endswith("_added"))
    trees = sum(own for name, own in size.items() if "member" in name)
    assert size["left_out"] < 8 * 1500 * 5 + 200
    assert trees < 20 * leaves + 200 * len(size)


def test_trees_without_folds_are_made_anew_and_the_same(tmp_path):
    """The file holds the trees of all rows alone; what asks those of folds answers to the bit as before."""
    model = fitted("trees")[0]
    model.save(tmp_path / "m.suffice")
    trees = [name.split("_")[2] for name in parts_of(tmp_path / "m.suffice") if name.endswith("_threshold.npy")]
    assert trees == ["0"]
    found, expected = load(tmp_path / "m.suffice").importance(), model.importance()
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.standard_error, expected.standard_error)
