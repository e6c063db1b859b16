"""Many threads asking one model, one process saving while another loads, and processes killed while they write.

`SUFFICE_KILLS=200` kills that many writers of each kind instead of a few.
"""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pytest
from kinds import kinds
from sklearn.datasets import load_iris

from suffice import MixtureDiscriminant

KILLS = int(os.environ.get("SUFFICE_KILLS", "0")) or 6


MODELS = kinds("full, shared loo, diagonal shared, naive bayes, mixture, automatic")
EACH = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@pytest.fixture
def often_switched():
    """Threads take turns a thousand times as often as usual, so that they meet everywhere."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 1000)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.slow
@pytest.mark.usefixtures("often_switched")
@EACH
def test_threads_that_ask_different_questions_at_once_get_the_answers_of_one(make):
    """Nothing is derived yet when eight threads begin, each with another question, which all need."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::3].copy(), y[::3]
    X[::11, 2] = np.nan
    fitted = make().fit(X, y)
    some = slice(0, None, 9)
    questions = {
        "predict": lambda model: model.predict(X[some]),
        "explain": lambda model: model.explain(X[some]),
        "outlier_pvalues": lambda model: model.outlier_pvalues(X[some]),
    }
    if not isinstance(fitted, MixtureDiscriminant):
        questions["leave_one_out"] = lambda model: model.leave_one_out(X[some], y[some])
    fresh = replace(fitted._learned)
    alone = {}
    for name, ask in questions.items():
        fitted._learned = replace(fresh)
        alone[name] = ask(fitted)
    for turn in range(2):
        fitted._learned = replace(fresh)
        assert not set(vars(fitted._learned)) - {field.name for field in fields(fresh)}
        begin, order = threading.Barrier(8), [*questions, *questions, *questions][turn:][:8]

        def ask_at_once(name, begin=begin):
            begin.wait(30)
            return questions[name](fitted)

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask_at_once, order))
        for name, answer in zip(order, answers, strict=True):
            np.testing.assert_array_equal(answer, alone[name], err_msg=name)


WRITER = """
import os, random, signal, sys, time
import suffice
import numpy as np
from suffice import GaussianDiscriminant, NaiveBayes, load

path, kind, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = np.random.default_rng(0)
X, y = rng.normal(size=(400, 30)), np.arange(400) % 3
models = [GaussianDiscriminant().fit(X, y), GaussianDiscriminant().fit(X + 1.0, y)]
models[0].save(path)

def save_for_ever():
    while True:
        for model in models:
            model.save(path)

def update_for_ever():
    from suffice.cli.app import run
    with open(path + ".log", "ab", buffering=0) as log:
        while True:
            if run(["update", path, path + ".csv", "--target", "y", "--quiet"]) == 0:
                log.write(b".")

def predict_for_ever():
    from suffice.cli.app import run
    while True:
        for number in (0, 1):
            run(["predict", f"{path}.{number}", path + ".parquet", "-o", path, "--quiet"])

if kind == "predict":
    import pyarrow as pa
    import pyarrow.parquet as pq
    names = [f"c{j}" for j in range(30)]
    table = pa.table(dict(zip(names, X.T)))
    pq.write_table(table, path + ".parquet", row_group_size=50)
    models = [GaussianDiscriminant().fit(table, y), GaussianDiscriminant(shared=True).fit(table, y)]
    for number, model in enumerate(models):
        model.save(f"{path}.{number}")
    models[0].predict_table(path + ".parquet", path)
    import suffice.cli.app

if kind == "update":
    import pyarrow as pa
    names = [f"c{j}" for j in range(30)]
    GaussianDiscriminant().fit(pa.table(dict(zip(names, X.T))), y).save(path)
    with open(path + ".csv", "w") as file:
        print(*names, "y", sep=",", file=file)
        for row, label in zip(X, y):
            print(*row, label, sep=",", file=file)
    import suffice.cli.app
pick = random.Random(kind)

def stamp():
    found = os.stat(path)  # a new file may get the number of one that is gone
    return found.st_ino, found.st_mtime_ns


saved = unreported = 0
open(path + ".log", "w").close()
for number in range(kills):
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        {"save": save_for_ever, "update": update_for_ever, "predict": predict_for_ever}[kind]()
    before = stamp()
    deadline = time.monotonic() + 30
    while stamp() == before and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(pick.random() * 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    saved += stamp() != before
    if kind == "predict":
        answers = pq.read_table(path)["log_density"].to_numpy()
        assert any(np.allclose(answers, model.score_samples(table), rtol=1e-9) for model in models)
        continue
    model = load(path)  # whole, whatever happened
    if kind == "save":
        assert any(np.array_equal(model.means_, other.means_) for other in models)
    else:
        assert model.statistics_.rows % 400 == 0, model.statistics_.rows
        more = model.statistics_.rows // 400 - 1 - os.path.getsize(path + ".log")
        assert unreported <= more <= unreported + 1, (unreported, more)  # what was reported is there
        unreported = more
litter = lambda: [name for name in os.listdir(os.path.dirname(path)) if name.endswith((".tmp", ".lock"))]
assert all(name.startswith("." + os.path.basename(path) + ".") for name in litter()), litter()
if kind == "save":
    models[0].save(path)
elif kind == "update":
    run = suffice.cli.app.run
    assert run(["update", path, path + ".csv", "--target", "y", "--quiet"]) == 0
else:
    models[0].predict_table(path + ".parquet", path)
assert not litter(), litter()
print("survived", kills, "saved", saved)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", ["save", "update", "predict"])
def test_a_killed_writer_leaves_a_whole_file(kind, tmp_path):
    """kill -9 at random moments of `save`, `suffice update` and `suffice predict`: the file is the old or the new one.

    What was reported as written is in it. What else may stay behind is the unfinished file, `.NAME.*.tmp` beside it,
    and an empty lock, until the next run.
    """
    path = tmp_path / ("answers.parquet" if kind == "predict" else "model.suffice")
    done = subprocess.run(
        [sys.executable, "-c", WRITER, path, kind, str(KILLS)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["survived", str(KILLS), "saved", str(KILLS)]
