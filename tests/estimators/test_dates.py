"""Dates are read as seconds since 1970-01-01, whatever holds them, and come back as they were held."""

import datetime as dt
import re
import warnings
from functools import partial
from zoneinfo import ZoneInfo

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal

from suffice import GaussianDiscriminant, GenerativeClassifier, GenerativeForest, MixtureDiscriminant, NaiveBayes
from suffice.__main__ import main
from suffice.errors import ExportError, MergeError, SchemaError, SettingError
from suffice.plots import DecisionRegionsDisplay, WaterfallDisplay
from suffice.table import read_table

N = 160
RNG = np.random.default_rng(7)
Y = np.arange(N) % 2
DAYS = np.datetime64("2024-01-01") + (RNG.normal(0, 60, N) + 90 * Y).astype(int).astype("timedelta64[D]")
MOMENTS = DAYS.astype("datetime64[us]") + RNG.integers(0, 86_400, N).astype("timedelta64[s]")
SECONDS = np.array([own.replace(tzinfo=dt.UTC).timestamp() for own in MOMENTS.tolist()])  # by Python's calendar
X = RNG.normal(size=N) + Y
ZONE = ZoneInfo("America/New_York")
LOCAL = [own.replace(tzinfo=dt.UTC).astimezone(ZONE) for own in MOMENTS.tolist()]
MIXTURE = partial(MixtureDiscriminant, 2, n_init=1, random_state=0)
KINDS = [GaussianDiscriminant, NaiveBayes, GenerativeClassifier, GenerativeForest, MIXTURE]


def held(what, moments=MOMENTS):
    """Return a table of dates and X, as many a program holds it."""
    return {
        "numpy": lambda: np.array([*zip(moments.tolist(), X, strict=True)], dtype=object),
        "rows": lambda: [list(own) for own in zip(moments.tolist(), X, strict=True)],
        "pandas": lambda: pd.DataFrame({"t": moments.astype("datetime64[ns]"), "x": X}),
        "pandas zone": lambda: pd.DataFrame({"t": pd.Series(LOCAL), "x": X}),
        "pandas text": lambda: pd.DataFrame({"t": [str(own) for own in moments.tolist()], "x": X}),
        "pandas objects": lambda: pd.DataFrame({"t": np.array(moments.tolist(), dtype=object), "x": X}),
        "polars": lambda: pl.DataFrame({"t": moments, "x": X}),
        "polars zone": lambda: pl.DataFrame({"t": pl.Series(LOCAL), "x": X}),
        "polars text": lambda: pl.DataFrame({"t": [own.isoformat() + "Z" for own in moments.tolist()], "x": X}),
        "arrow": lambda: pa.table({"t": pa.array(moments, pa.timestamp("s")), "x": X}),
        "arrow zone": lambda: pa.table({"t": pa.array(moments, pa.timestamp("ms", "Asia/Tokyo")), "x": X}),
    }[what]()


HELD = ["numpy", "rows", "pandas", "pandas zone", "pandas text", "pandas objects"]
HELD += ["polars", "polars zone", "polars text", "arrow", "arrow zone"]


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_seconds(kind):
    trees = kind is GenerativeClassifier  # which ask parts of dates as well
    made = partial(kind, members="generative") if trees else kind
    seconds = pd.DataFrame({"t": SECONDS, "x": X})
    expected = made().fit(seconds, Y).predict_proba(seconds)
    model = made().fit(held("pandas"), Y)
    assert_array_equal(model.predict_proba(held("pandas")), expected)
    if kind is not MIXTURE:  # which learn batches and can be taken apart
        halves = [made().partial_fit(held("pandas")[part], Y[part]) for part in (slice(80), slice(80, None))]
        sums = [made().fit(seconds[part], Y[part]) for part in (slice(80), slice(80, None))]
        assert_array_equal(
            halves[0].merge(halves[1]).predict_proba(held("pandas")), sums[0].merge(sums[1]).predict_proba(seconds)
        )


@pytest.mark.parametrize("what", HELD)
def test_every_table_says_the_same(what):
    table = held(what)
    assert_array_equal(read_table(table).numeric([0, 1]), np.column_stack([SECONDS, X]))
    model = NaiveBayes().fit(table, Y)
    expected = NaiveBayes().fit(held("pandas"), Y)
    assert_array_equal(model.predict_proba(table), expected.predict_proba(held("pandas")))


@pytest.mark.parametrize("hold", ["table", "batch", "pandas", "periods"])
def test_days_in_milliseconds_and_periods_are_days(hold):
    plain = pa.table({"t": pa.array([None, *DAYS.tolist()[1:]]), "x": X})
    table = plain.set_column(0, "t", plain["t"].cast(pa.date64()))
    ways = {"batch": lambda: table.to_batches()[0], "pandas": lambda: table.to_pandas(types_mapper=pd.ArrowDtype)}
    ways["periods"] = lambda: plain.to_pandas().astype({"t": "period[D]"})
    given = ways.get(hold, lambda: table)()
    model, expected = (GaussianDiscriminant().fit(own, Y) for own in (given, plain))
    assert_array_equal(model.predict_proba(given), expected.predict_proba(plain))
    assert_array_equal(*(read_table(own.impute(one)).numeric([0]) for own, one in ((model, given), (expected, plain))))


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
@pytest.mark.parametrize("first", ["1969-12-30", "2026-11-25"])
def test_the_unit_does_not_matter(unit, first):
    days = np.datetime64(first) + np.arange(4)
    array = days.astype(f"datetime64[{unit}]")[:, None]
    expected = [(own - dt.date(1970, 1, 1)).days * 86_400.0 for own in days.tolist()]
    assert_array_equal(read_table(array).numeric([0])[:, 0], expected)
    model = GaussianDiscriminant(shrinkage=0.1).fit(np.repeat(array, 10, axis=0), np.arange(40) % 2)
    drawn = model.sample(5, random_state=0)[0]
    assert drawn.dtype.kind == "M"
    assert ((drawn >= array.min()) & (drawn <= array.max())).all()


@pytest.mark.parametrize("what", HELD)
def test_drawn_and_filled_dates_are_held_as_those_learned(what, read_back):
    table = held(what)
    model = GaussianDiscriminant().fit(table, Y)
    drawn = [own.sample(50, random_state=0)[0] for own in (model, read_back(model))]
    cells = [_cells(own) for own in (table, *drawn)]
    assert cells[1] == cells[2]
    assert {type(own) for own in cells[1]} == {type(own) for own in cells[0]}
    zones = [{str(getattr(own, "tzinfo", None)) for own in each} for each in cells[:2]]  # pandas 2 draws those of pytz
    assert zones[0] == zones[1]
    seconds = read_table(drawn[0]).numeric([0])[:, 0]
    assert ((seconds >= SECONDS.min()) & (seconds <= SECONDS.max())).all()
    assert_array_equal(seconds, np.rint(seconds))  # all that were learned are whole seconds

    filled = model.impute(_with_hole(table, 3))
    best = GaussianDiscriminant().fit(np.column_stack([SECONDS, X]), Y).impute([[np.nan, X[3]]])[0, 0]
    assert abs(read_table(filled).numeric([0])[3, 0] - best) <= 0.5  # a whole second
    assert type(_cells(filled)[3]) is type(_cells(table)[0])


def _cells(table):
    if isinstance(table, pd.DataFrame):
        return table["t"].tolist()
    if isinstance(table, pl.DataFrame):
        return table["t"].to_list()
    return table["t"].to_pylist() if isinstance(table, pa.Table) else [row[0] for row in table]


def _with_hole(table, row):
    if isinstance(table, pd.DataFrame):
        return table.assign(t=table["t"].where(np.arange(N) != row))
    if isinstance(table, pl.DataFrame):
        return table.with_columns(pl.when(pl.int_range(pl.len()) != row).then("t").alias("t"))
    cells = _cells(table)
    cells[row] = None
    if isinstance(table, pa.Table):
        return table.set_column(0, "t", pa.array(cells, table["t"].type))
    rows = [[own, x] for own, x in zip(cells, X, strict=True)]
    return np.array(rows, dtype=object) if isinstance(table, np.ndarray) else rows


def test_time_zones_are_those_of_the_calendar():
    """Moments on both sides of a change of clocks, by Python's own zones."""
    local = [dt.datetime(2025, 11, 2, 1, 30, fold=fold, tzinfo=ZONE) for fold in (0, 1)]
    for table in (pd.DataFrame({"t": pd.Series(local)}), pl.DataFrame({"t": pl.Series(local)}), [[t] for t in local]):
        assert_array_equal(read_table(table).numeric([0])[:, 0], [own.timestamp() for own in local])


def test_text_is_dates_where_every_cell_is_one():
    texts = pd.DataFrame({"t": [*DAYS.astype(str)[:-1], "no date"], "x": X})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert NaiveBayes().fit(texts, Y).probabilities_.keys() == {"t"}
    dates = texts[:-1]
    model = NaiveBayes().fit(dates, Y[:-1])
    assert [(note.kind, note.columns) for note in model.notes_ if note.kind == "dated"] == [("dated", ("t",))]
    assert_array_equal(model.predict(pd.DataFrame({"t": DAYS[:-1].astype("M8[s]"), "x": X[:-1]})), model.predict(dates))
    with pytest.raises(SchemaError, match=r"'t' holds dates, and 'no date' is none"):
        model.predict(texts)
    for number in (pd.DataFrame({"t": SECONDS, "x": X}), pl.DataFrame({"t": [1], "x": [1.0]})):
        with pytest.raises(SchemaError, match=r"was date .* is numeric now"):
            model.predict(number)
    assert NaiveBayes({"t": "categorical"}).fit(dates, Y[:-1]).probabilities_.keys() == {"t"}
    with pytest.raises(MergeError, match=r"'t' was date"):
        model.merge(NaiveBayes({"t": "categorical"}).fit(dates, Y[:-1]))


def test_given_dates_are_dates():
    model = GaussianDiscriminant().fit(held("polars"), Y)
    days = "2024-03-05", dt.date(2024, 3, 5), np.datetime64("2024-03-05T00:00")
    answers = [model.sample(3, given={"t": day}, random_state=0)[0] for day in days]
    assert [own.equals(answers[0]) for own in answers] == [True] * 3
    assert answers[0]["t"].to_list() == [dt.datetime(2024, 3, 5)] * 3


def test_dates_are_given_in_ranges():
    model = NaiveBayes().fit(held("pandas"), Y)
    drawn = model.sample(50, given={"t": ("2024-03-05", dt.date(2024, 3, 9))}, random_state=0)[0]["t"]
    assert drawn.between("2024-03-05", "2024-03-09").all()
    with pytest.raises(SettingError, match=r"no range of dates"):
        model.sample(1, given={"t": ("soon", None)})
    with pytest.raises(SettingError, match=r"'soon', no date"):
        model.sample(1, given={"t": "soon"})


SECONDS_IN_WORDS = re.compile(r"\b1,?[67]\d\d,?\d{3},?\d{3}\b|e\+09")  # of the years 2020 to 2027


@pytest.mark.parametrize("kind", [NaiveBayes, GenerativeClassifier])
def test_what_is_shown_has_dates_and_no_seconds(kind, tmp_path):
    table = held("pandas")
    model = kind().fit(table, Y)
    first, last = (str(end) for end in (table["t"].min().date(), table["t"].max().date()))
    facts = model.columns_[0]
    assert (facts.kind, str(facts)) == ("date", f"{first} to {last}")
    moved = str(model.drift(table[100:], Y[100:]))
    assert str(table["t"].mean().floor("min"))[:16] in moved
    model.to_html(tmp_path / "page.html", table, Y)
    page = re.sub(r"(?s)<script.*?</script>|<path.*?>", "", (tmp_path / "page.html").read_text())
    assert f"{first} to {last}, median" in page
    for text in (moved, page, str(model.summary()), str(model.columns_)):
        assert SECONDS_IN_WORDS.search(text) is None
    for export in (model.to_sql, model.to_onnx):
        with pytest.raises(ExportError, match="dates"):
            export()


def test_axes_and_reasons_of_plots_are_dates():
    model = GaussianDiscriminant().fit(held("pandas"), Y)
    with mpl.rc_context({"backend": "agg"}):
        axis = DecisionRegionsDisplay.from_estimator(model, columns=["t", "x"]).ax_.xaxis
        seconds, labels = axis.get_ticklocs(), [own.get_text() for own in axis.get_ticklabels()]
        assert labels == [str(dt.date(1970, 1, 1) + dt.timedelta(days=own / 86_400)) for own in seconds]
        texts = WaterfallDisplay.from_estimator(model, held("pandas")[:1]).ax_.get_yticklabels()
        assert any(MOMENTS[0].item().strftime("t = %Y-%m-%d") in own.get_text() for own in texts)
    plt.close("all")


def test_the_command_line_reads_shows_and_writes_dates(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = held("pandas").assign(y=Y, day=DAYS.tolist()).astype({"t": "datetime64[us]"})
    table.loc[3, ["t", "day"]] = None
    table.to_parquet("rows.parquet")
    written = table.assign(
        day=[own and own.strftime("%d.%m.%Y") for own in table["day"]], t=table["t"].dt.strftime("%Y-%m-%d %H:%M:%S")
    )
    written.to_csv("rows.csv", index=False)
    for source, form in (("rows.parquet", "%Y-%m-%d"), ("rows.csv", "%d.%m.%Y")):
        assert main(["fit", source, "--target", "y", "--model", "nb", "-o", "m"]) == 0
        assert main(["impute", "m", source, "-o", "filled.csv"]) == 0
        line = pd.read_csv("filled.csv").iloc[3]
        moment = dt.datetime.fromisoformat(line["t"])
        filled = [moment, dt.datetime.strptime(line["day"], form)]
        assert all(DAYS.min().item() <= own.date() <= DAYS.max().item() for own in filled)
        capsys.readouterr()
        for told in (
            ["look", source, "--target", "y"],
            ["show", "m"],
            ["drift", "m", source],
            ["explain", "m", source],
        ):
            assert main(told) == 0
            said = capsys.readouterr().out
            assert str(DAYS.min())[:3] in said
            assert SECONDS_IN_WORDS.search(said) is None
        assert main(["sample", "m", "-n", "5", "--given", "day=2024-03-05..2024-03-09", "-o", "drawn.csv"]) == 0
        assert pd.to_datetime(pd.read_csv("drawn.csv")["day"]).between("2024-03-05", "2024-03-09").all()


def of_part(part, n, rng):
    """Return a table of moments of three years and a number, classes that a part of the moments decides, and it."""
    moments = pd.Series(pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 3 * 365 * 86_400, n), unit="s"))
    x, own = rng.normal(size=n), getattr(moments.dt, "day_of_week" if part == "weekday" else part)
    on = {"weekday": own >= 5, "hour": (own >= 8) & (own < 18), "month": own.isin([6, 7, 8])}[part]
    positive = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * x - np.where(on, 1.5, -1.5)))
    return pd.DataFrame({"t": moments, "x": x}), positive.astype(int), own


def lost(model, table, y):
    """Return the mean log-loss on rows."""
    return -np.log(model.predict_proba(table)[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("part", ["weekday", "hour", "month"])
def test_parts_that_come_again_tell_as_much_as_columns_of_them(part):
    rng = np.random.default_rng(3)
    (table, y, own), (fresh, asked, other) = of_part(part, 1000, rng), of_part(part, 3000, rng)
    with_column = GenerativeClassifier().fit(table.assign(part=own), y)
    model = GenerativeClassifier().fit(table, y)
    assert lost(model, fresh, asked) < lost(with_column, fresh.assign(part=other), asked) + 0.02


def test_a_model_of_parts_of_dates_keeps_the_laws(read_back):
    rng = np.random.default_rng(4)
    table, y, _ = of_part("weekday", 1400, rng)
    whole, fresh = GenerativeClassifier(keep_rows=2000).fit(table, y), of_part("weekday", 50, rng)[0]
    answers = whole.predict_proba(fresh)
    assert_array_equal(read_back(whole).predict_proba(fresh), answers)
    parts = slice(700), slice(700, None)
    halves = [GenerativeClassifier(keep_rows=2000).partial_fit(table[own], y[own]) for own in parts]
    assert_allclose(halves[0].merge(halves[1]).predict_proba(fresh), answers, atol=1e-10)
    reasons = whole.explain(fresh)
    log_odds = np.diff(whole.predict_log_proba(fresh))[:, 0] - np.diff(np.log(whole.priors_))[0]
    assert_allclose(np.diff(reasons.sum(axis=1))[:, 0], log_odds, atol=1e-6)
    assert np.abs(reasons[:, 0]).mean() > 0.1
    assert not whole.explain(fresh.assign(t=pd.NaT))[:, 0].any()
    found = whole.importance()
    assert found.mean[found.columns.index("t")] > 0.05
