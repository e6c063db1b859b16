"""Saving loses nothing: files read back first, writers that take turns, and what is in the place of a new file.

`SUFFICE_UPDATES=240` makes eight processes update one model file so many times in all, instead of a few.
"""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from kinds import kinds

from suffice import GaussianDiscriminant, NaiveBayes, _files, load
from suffice._files import locked, tell_of_waiting, whole_file
from suffice.errors import DataError, ModelChangedError, ModelFileError
from suffice.files import saving
from suffice.stats import GaussianStats

UPDATES = int(os.environ.get("SUFFICE_UPDATES", "0")) or 8
PROCESSES = 8 if UPDATES > 8 else 4
posix = pytest.mark.skipif(os.name != "posix", reason="devices, links and signals of POSIX")
RNG = np.random.default_rng(2)
X, Y = RNG.normal(size=(60, 3)), np.arange(60) % 3


@pytest.fixture
def path(tmp_path):
    GaussianDiscriminant().fit(X, Y).save(tmp_path / "m.suffice")
    return tmp_path / "m.suffice"


def files(folder):
    return sorted(entry.name for entry in Path(folder).iterdir())


# --- what was written is read back -----------------------------------------------------------------------------------


def test_a_file_that_would_not_load_replaces_nothing(path, monkeypatch):
    before = path.read_bytes()
    model = load(path).partial_fit(X[:6], Y[:6])
    arrays = GaussianStats.arrays
    for spoil in (lambda own: -np.abs(own), lambda own: own * np.nan, lambda own: own[:-1]):

        def spoiled(stats, spoil=spoil):
            fields, plain = arrays(stats)
            return fields | {"weight": spoil(fields["weight"])}, plain

        monkeypatch.setattr(GaussianStats, "arrays", spoiled)
        with pytest.raises(ModelFileError, match="was not written, and an old file is as it was"):
            model.save(path)
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert files(path.parent) == ["m.suffice"]
    model.save(path)
    assert load(path).statistics_.rows == 66


def test_a_file_that_loads_as_another_model_replaces_nothing(path, monkeypatch):
    before = path.read_bytes()
    unplain = saving.plain
    monkeypatch.setattr(saving, "plain", lambda value: "uniform" if value == "mine" else unplain(value))
    model = load(path)
    monkeypatch.setattr("suffice.files.saving.unplain", lambda v: "unbiased" if v == "mle" else v)
    with pytest.raises(ModelFileError):
        model.save(path)
    assert path.read_bytes() == before


def test_a_class_that_load_does_not_know_is_refused(tmp_path):
    class Mine(GaussianDiscriminant):
        pass

    with pytest.raises(ModelFileError, match="register"):
        Mine().fit(X, Y).save(tmp_path / "mine.suffice")
    assert files(tmp_path) == []


# --- two writers -----------------------------------------------------------------------------------------------------

WRITER = """
import sys
from suffice.cli.app import run
path, data, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
done = sum(run(["update", path, data, "--target", "y", "--quiet"]) == 0 for _ in range(times))
print(done)
"""


@pytest.mark.slow
def test_processes_that_update_one_model_lose_nothing(tmp_path):
    """Every process adds rows of its own class; each update that ends well is in the file at the end."""
    columns = {"a": X[:, 0], "b": X[:, 1], "y": np.array(["p", "q", "r"])[Y]}
    path = tmp_path / "m.suffice"
    NaiveBayes().fit(pa.table({name: columns[name] for name in "ab"}), columns["y"]).save(path)
    children = []
    for number in range(PROCESSES):
        data = tmp_path / f"{number}.csv"
        data.write_text("a,b,y\n" + "".join(f"{i}.5,{number}.25,w{number}\n" for i in range(3)))
        command = [sys.executable, "-c", WRITER, path, data, str(UPDATES // PROCESSES)]
        children.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    told = [child.communicate(timeout=1200) for child in children]
    done = [int(out) for out, _ in told]
    assert done == [UPDATES // PROCESSES] * PROCESSES, told
    model = load(path)
    weight = dict(zip(model.classes_.tolist(), model.statistics_.weight.tolist(), strict=True))
    assert {f"w{n}": weight[f"w{n}"] for n in range(PROCESSES)} == {f"w{n}": 3.0 * done[n] for n in range(PROCESSES)}
    assert model.statistics_.rows == 60 + 3 * UPDATES
    assert files(tmp_path) == sorted([*(f"{n}.csv" for n in range(PROCESSES)), "m.suffice"])


def test_a_model_replaces_only_the_file_it_came_from(path):
    first, second = load(path), load(path)
    first.partial_fit(X[:3], Y[:3]).save(path)
    held = path.read_bytes()
    with pytest.raises(ModelChangedError, match="has changed since this model was loaded"):
        second.partial_fit(X[3:6], Y[3:6]).save(path)
    assert path.read_bytes() == held
    second.save(path.with_name("other.suffice"))
    first.partial_fit(X[6:9], Y[6:9]).save(path)  # what it saved itself is known to it
    assert load(path).statistics_.rows == 66
    path.unlink()
    second.save(path)  # whoever removes a file means it
    assert load(path).statistics_.rows == 63
    fresh = GaussianDiscriminant().fit(X[:30], Y[:30])
    fresh.save(path)  # a new fit was never loaded
    second.fit(X[:12], Y[:12]).save(path)
    assert load(path).statistics_.rows == 12


HOLDER = """
import sys, time
from pathlib import Path
from suffice._files import whole_file
with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("held", flush=True)
    time.sleep(600)
"""


@contextlib.contextmanager
def held_by_another(path):
    """Run the block while another process is writing a file; it is killed then, if not before."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "held\n"
            yield
        finally:
            child.kill()


def test_a_killed_writer_holds_nobody_up_and_is_swept(path):
    with held_by_another(path):
        assert len(files(path.parent)) == 3  # the model, its lock, and what is unfinished
    others = [".m.suffice.new-abc.tmp", ".m.suffice.new-12345678.tmp.bak", ".n.suffice.new-12345678.tmp"]
    for name in others:
        (path.parent / name).touch()  # not ours
    started = time.monotonic()
    load(path).partial_fit(X[:3], Y[:3]).save(path)
    assert time.monotonic() - started < _files.WAIT / 10
    assert files(path.parent) == sorted(["m.suffice", *others])


def test_who_waits_is_told_and_gives_up_by_name(path, monkeypatch):
    monkeypatch.setattr(_files, "PATIENCE", 0.1)
    monkeypatch.setattr(_files, "WAIT", 0.5)
    told = []
    with held_by_another(path):
        with tell_of_waiting(told.append), pytest.raises(TimeoutError, match="another process or thread"):
            load(path).partial_fit(X[:3], Y[:3]).save(path)
        assert told == [path]
        assert load(path).statistics_.rows == 60  # reading waits for nobody


def test_a_thread_may_lock_again_what_it_has_locked(path):
    order = []

    def other():
        with locked(path):
            order.append("other")

    with locked(path):
        with locked(path):
            pass
        assert files(path.parent) == [".m.suffice.lock", "m.suffice"]
        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]
    assert files(path.parent) == ["m.suffice"]


def test_a_file_system_without_locks_is_written_all_the_same(path, monkeypatch):
    import fcntl

    def unknown(*told):
        raise OSError(38, "Function not implemented")

    (path.parent / ".m.suffice.new-12345678.tmp").touch()
    monkeypatch.setattr(fcntl, "flock", unknown)
    load(path).partial_fit(X[:3], Y[:3]).save(path)
    monkeypatch.undo()
    assert load(path).statistics_.rows == 63
    assert ".m.suffice.new-12345678.tmp" in files(path.parent)  # it may be somebody's who lives


# --- what is in the place of a new file ------------------------------------------------------------------------------


@posix
def test_a_read_only_file_is_not_replaced(path):
    path.chmod(0o444)
    before = path.read_bytes()
    with pytest.raises(PermissionError, match="read-only"):
        load(path).save(path)
    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o444


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_mode_and_a_new_one_has_that_of_the_umask(path, mode):
    path.chmod(mode)
    load(path).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    old = os.umask(0o077)
    try:
        load(path).save(path.with_name("new.suffice"))
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.with_name("new.suffice").stat().st_mode) == 0o600


@posix
def test_a_file_keeps_its_owner(path):
    if os.geteuid() != 0:
        pytest.skip("only root may give a file to others")
    os.chown(path, 1234, 2345)
    load(path).save(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


@posix
def test_a_file_of_another_user_is_not_taken_over(path, monkeypatch):
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1000)
    with pytest.raises(PermissionError, match="belongs to another user"):
        load(path).save(path)


@posix
def test_hard_links_are_refused_and_symbolic_ones_followed(path):
    model = load(path)
    link = path.with_name("link.suffice")
    link.symlink_to(path)
    load(link).partial_fit(X[:3], Y[:3]).save(link)
    assert link.is_symlink()
    assert load(path).statistics_.rows == 63
    other = path.with_name("other.suffice")
    other.hardlink_to(path)
    with pytest.raises(OSError, match="2 names"):
        model.save(other)
    assert other.samefile(path)
    with pytest.raises(OSError, match="2 names"), whole_file(link):
        pass


@posix
def test_a_fifo_and_a_device_are_written_into(path, tmp_path):
    fifo, found = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: found.append(fifo.read_bytes()))
    reader.start()
    model = load(path)
    model.save(fifo)
    reader.join(30)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    copy = tmp_path / "copy.suffice"
    copy.write_bytes(found[0])
    np.testing.assert_array_equal(load(copy).predict_proba(X), model.predict_proba(X))
    null = Path(os.devnull).stat()
    model.save(os.devnull)
    assert (Path(os.devnull).stat().st_rdev, Path(os.devnull).stat().st_ino) == (null.st_rdev, null.st_ino)
    with zipfile.ZipFile(copy) as archive:
        assert archive.testzip() is None


# --- weights without end ---------------------------------------------------------------------------------------------

ENDLESS = kinds("naive bayes, laplace, full, shared")


@pytest.mark.parametrize("name", ENDLESS)
def test_a_class_that_stays_away_fades_and_the_file_loads(name, read_back):
    """Its rows weigh 100⁻¹⁷⁰ = 1e-340 in the end: the class is then one without rows, as if it had never come."""
    model, alone = ENDLESS[name]().fit(X, Y), ENDLESS[name]().fit(X[Y < 2], Y[Y < 2])
    batch = X[:6] + 1.0, Y[:6] % 2
    for _ in range(170):
        model.partial_fit(*batch, decay=0.01)
        alone.partial_fit(*batch, decay=0.01)
    np.testing.assert_allclose(model.statistics_.weight, [4 / 0.99, 2 / 0.99, 0.0], rtol=1e-14)  # geometric series
    again = read_back(model)
    np.testing.assert_array_equal(again.predict_proba(X)[:, 2], 0.0)
    np.testing.assert_allclose(again.predict_proba(X)[:, :2], alone.predict_proba(X), rtol=1e-9, atol=1e-12)
    again.partial_fit(X[:3] + 2.0, [2, 2, 2])
    assert (again.predict(X[:3] + 2.0) == 2).all()


def test_a_decay_that_leaves_nothing_is_refused():
    model = GaussianDiscriminant().fit(X, Y)
    for _ in range(33):
        model.decay(0.001)
    with pytest.raises(DataError, match="as good as none"):  # 60 × 1e-102
        model.decay(0.001)
    assert model.statistics_.total >= 1e-100
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("verb", ["fit", "partial_fit", "forget"])
@pytest.mark.parametrize("value", [1e308, 1e155, 1e51, 1e-51, 1e-200, 5e-324])
def test_weights_too_small_or_too_large_are_refused_by_number(verb, value):
    model = NaiveBayes().fit(X, Y)
    before = model.predict_log_proba(X)
    weight = np.ones(60)
    weight[7] = value
    with pytest.raises(DataError, match=rf"sample_weight\[7\] is {value!r}.*too (small|large)".replace("+", r"\+")):
        getattr(model, verb)(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict_log_proba(X), before)


@pytest.mark.filterwarnings("ignore::suffice.errors.RepeatedRowsWarning")
def test_weights_that_add_up_to_too_much_are_refused():
    with pytest.raises(DataError, match="add up to 6e"):
        NaiveBayes().fit(X, Y, sample_weight=np.full(60, 1e50))
    model = NaiveBayes().fit(X, Y, sample_weight=np.full(60, 1e48))
    before = model.statistics_
    with pytest.raises(DataError, match="add up to"):
        model.partial_fit(X, Y, sample_weight=np.full(60, 1e48))
    with pytest.raises(DataError, match="add up to"):
        model.merge(NaiveBayes().fit(X, Y, sample_weight=np.full(60, 1e48)))
    assert model.statistics_ is before


@pytest.mark.parametrize("scale", [1e-50, 1e46])
@pytest.mark.parametrize("name", ENDLESS)
def test_weights_at_the_bounds_give_the_model_of_their_proportions(name, scale, read_back):
    """Without smoothing or priors only proportions count."""
    make = (lambda: NaiveBayes(smoothing=0.0)) if name == "naive bayes" else ENDLESS[name]
    plain, far = (make().fit(X, Y, sample_weight=np.arange(1.0, 61.0) * unit) for unit in (1.0, scale))
    assert np.isfinite(far.impute(np.full((1, X.shape[1]), np.nan), draws=2, random_state=0)).all()
    np.testing.assert_allclose(far.predict_log_proba(X), plain.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(read_back(far).predict_log_proba(X), far.predict_log_proba(X))


@pytest.mark.slow
@posix
def test_sigterm_removes_what_is_unfinished(tmp_path):
    pytest.importorskip("pyarrow")
    model, data = tmp_path / "m.suffice", tmp_path / "d.csv"
    rows = "".join(f"{i % 7}.5,{i % 5}.5,{'pq'[i % 2]}\n" for i in range(40))
    data.write_text("a,b,y\n" + rows)
    code = (
        "import sys, time, suffice._files as f; from suffice.cli.app import run; take = f._take_after\n"
        "def slow(*told): print('here', flush=True); time.sleep(60); take(*told)\n"
        "f._take_after = slow; sys.exit(run(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "fit", data, "--target", "y", "--model", "nb", "-o", model]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "here\n"
        assert len(files(tmp_path)) == 3
        child.send_signal(signal.SIGTERM)
        _, said = child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGTERM, said
    assert "ended; nothing was written" in said
    assert files(tmp_path) == ["d.csv"]


def test_on_windows_a_file_that_others_read_for_a_moment_is_waited_for(path, monkeypatch):
    """There it cannot be replaced meanwhile; after some refusals it is, and what refuses for good is told."""
    model, before = load(path).partial_fit(X[:6], Y[:6]), path.read_bytes()
    refusals, replace = [], Path.replace

    def refused(own, target):
        if len(refusals) < most:
            refusals.append(target)
            raise PermissionError(13, "used by another process", str(target))
        return replace(own, target)

    monkeypatch.setattr(Path, "replace", refused)
    monkeypatch.setattr("suffice._files.time.sleep", lambda seconds: None)
    most = 2
    with pytest.raises(PermissionError):  # elsewhere it is for good
        model.save(path)
    assert (path.read_bytes(), len(refusals)) == (before, 1)
    monkeypatch.setattr("suffice._files.WINDOWS", True)
    refusals.clear()
    model.save(path)
    assert len(refusals) == 2
    assert path.read_bytes() != before
    most, after = 99, path.read_bytes()
    with pytest.raises(PermissionError):
        model.partial_fit(X[:6], Y[:6]).save(path)
    assert path.read_bytes() == after
    assert files(path.parent) == [path.name]
