"""Numbers and dates as people write them are read as what they mean, by every way in, and later files alike."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
import warnings
import zipfile
from decimal import Decimal

import openpyxl
import pyarrow as pa
import pytest
from csv_ways import ways_agree
from hypothesis import HealthCheck, given, settings, strategies as st

from suffice import NaiveBayes, load
from suffice.cli.files import read_file
from suffice.engines import Reading, Remark, open_source
from suffice.engines.calendar import Facts, as_dates, days, moments, part
from suffice.errors import SourceError

LOOSE = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def column(path, name="v", **known):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        return read_file(path, Reading(**known)).columns[name]


def of_model(path):
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
    return {key: document[key] for key in ("classes", "schema", "sha256", "rows")}


# --- amounts ---------------------------------------------------------------------------------------------------------

ALONE = {
    "$1,234": 1234.0,
    "-$5.50": -5.5,
    "$-5.50": -5.5,
    "($1,234.50)": -1234.5,
    "$(3)": -3.0,
    "(12)": -12.0,
    "US$ 7": 7.0,
    "12.5 USD": 12.5,
    "\u22123 $": -3.0,
}


def test_amounts_are_numbers(write) -> None:
    cells = column(write("t.csv", "v;w\n" + "".join(f"{text};x\n" for text in ALONE)))
    assert cells.to_pylist() == list(ALONE.values())


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1.234,50 €", "7 €", "-0,5 EUR"], [1234.5, 7.0, -0.5]),
        (["1 234", "5"], [1234.0, 5.0]),
        (["CHF 1'200.05", "CHF 3"], [1200.05, 3.0]),
        (["35%", "12.5 %", "-1%"], [0.35, 0.125, -0.01]),
        (["35,7%", "100%"], [0.357, 1.0]),
        (["kr 5", "kr 12", "-"], None),  # neither marks nor many numbers say that the - is no word
        (["$5", "$12.5", "-"], [5.0, 12.5, None]),
        (["$5", "€5"], None),  # two currencies
        (["35%", "0.35"], None),  # a share, or less than a percent
        (["$5", "5"], [5.0, 5.0]),
        (["5%", "$5"], None),
        (["12 kg", "5 kg"], None),
        (["(12", "5)"], None),
        (["(-12)", "5"], None),
        (["$", "€"], None),
        (["$5 €", "7"], None),
        (["$1,23", "$5.5"], None),  # two decimal marks
    ],
)
def test_one_convention_per_column(write, cells, numbers) -> None:
    path = write("t.csv", "v;w\n" + "".join(f"{cell};x\n" for cell in cells))
    assert column(path).to_pylist() == (cells if numbers is None else numbers)


@LOOSE
@given(
    st.lists(st.decimals("-999999999", "999999999", places=2), min_size=2, max_size=20),
    st.sampled_from(["{}", "${}", "{} €", "CHF {}", "{}\u00a0kr", "({})", "{}%"]),
    st.sampled_from([".", ","]),
)
def test_every_amount_is_the_number_it_was_made_of(tmp_path_factory, values, dress, decimal) -> None:
    """Each number is dressed in every convention, and comes out as the float nearest to it."""
    folder = tmp_path_factory.mktemp("amounts")

    def text(value):
        plain = f"{abs(value):,}" if decimal == "." else f"{abs(value):,}".translate(str.maketrans(",.", ".,"))
        if dress == "({})":
            return f"({plain})" if value < 0 else plain
        return ("-" if value < 0 else "") + dress.format(plain)

    values = [Decimal("0.25"), *values]
    path = folder / "t.csv"
    path.write_text("v;w\n" + "".join(f"{text(value)};x\n" for value in values))
    expected = [float(value / 100 if dress == "{}%" else value) for value in values]
    assert column(path).to_pylist() == expected


def test_what_was_read_as_what_is_said(write) -> None:
    rows = '"$1,234.50",35%,(12),5 €\n$7,5%,15,$5\n'
    with pytest.warns(Remark) as told:
        read_file(write("t.csv", "price,rate,gain,mixed\n" + rows))
    said = "\n".join(str(one.message) for one in told)
    assert "'price' was read as amounts in $: '$1,234.50' as 1234.5" in said
    assert "'rate' was read as percentages, as shares: '35%' as 0.35" in said
    assert "'gain' was read as numbers: '(12)' as -12" in said
    assert "'mixed' holds '5 €', '$5', numbers of several units, and is read as text" in said


SALES = [(1234.5 + 13 * i, Decimal(i % 40) / 100, (i * 37) % 45 - 22, "ab"[i % 2]) for i in range(60)]
SHAPES = {
    "plain": (",", lambda x: f"{x:.2f}", str, str),
    "us": (",", lambda x: f'"${x:,.2f}"', lambda p: f"{p * 100:f}%", lambda g: f"({-g})" if g < 0 else str(g)),
    "de": (
        ";",
        lambda x: f"{x:,.2f} $".translate(str.maketrans(",.", ".,")),
        lambda p: f"{p * 100:f} %".replace(".", ","),
        lambda g: str(g).replace("-", "\u2212"),
    ),
}


@pytest.fixture
def sales(tmp_path):
    """One table of sales in three ways to write it, a workbook and JSON lines that know its numbers."""
    for name, (mark, price, rate, gain) in SHAPES.items():
        rows = [mark.join([price(x), rate(p), gain(g), y]) for x, p, g, y in SALES]
        (tmp_path / f"{name}.csv").write_text("\n".join([mark.join(["price", "rate", "gain", "y"]), *rows, ""]))
    book = openpyxl.Workbook()
    book.active.append(["price", "rate", "gain", "y"])
    for x, p, g, y in SALES:
        book.active.append([round(x, 2), float(p), g, y])
    book.save(tmp_path / "typed.xlsx")
    lines = [{"price": round(x, 2), "rate": float(p), "gain": g, "y": y} for x, p, g, y in SALES]
    (tmp_path / "typed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


@pytest.mark.parametrize("engine", [(), ("--engine", "local")])
def test_one_model_however_numbers_are_written(cli, sales, engine) -> None:
    found = {}
    for path in (*(sales / f"{name}.csv" for name in SHAPES), sales / "typed.xlsx", sales / "typed.jsonl"):
        cli("fit", path, "--target", "y", "--model", "full", "-o", sales / "m.suffice", *engine).ok()
        found[path.name] = of_model(sales / "m.suffice")
        if path.name == "us.csv":
            kept = (sales / "m.suffice").read_bytes()
    assert all(own == found["plain.csv"] for own in found.values())
    (sales / "us.suffice").write_bytes(kept)
    answers = {
        path.name: cli("predict", sales / "us.suffice", path).out
        for path in (*(sales / f"{name}.csv" for name in SHAPES), sales / "typed.xlsx", sales / "typed.jsonl")
    }
    assert len(set(answers.values())) == 1


def test_another_unit_is_refused(cli, refused, sales, write) -> None:
    model = sales / "m.suffice"
    cli("fit", sales / "us.csv", "--target", "y", "--model", "full", "-o", model).ok()
    for cells, words in (
        ("€5;35%;1", "amounts in $"),
        ("$5;35;1", "35 has no percent sign"),
        ("$5;35%;7%", "numbers without a unit"),
        ("$5;$5;7", "percentages"),
    ):
        refused("predict", model, write("new.csv", f"price;rate;gain\n{cells}\n"), saying=words)
        with pytest.raises(SourceError):
            load(model).predict_table(sales / "new.csv", sales / "o.csv")
    for cells in ("$5;35%;1", "5;0.35;1", "5 USD;35 %;1", "5;;1"):
        cli("predict", model, write("new.csv", f"price;rate;gain\n{cells}\n")).ok()


def test_filled_percentages_are_written_as_such(cli, sales, write) -> None:
    model = sales / "m.suffice"
    cli("fit", sales / "us.csv", "--target", "y", "--model", "full", "-o", model).ok()
    rows = list(
        csv.reader(io.StringIO(cli("impute", model, write("n.csv", "price;rate;gain\n$5;12,5%;1\n$7;;2\n")).out))
    )
    assert rows[1] == ["$5", "12,5%", "1"]
    assert rows[2][1].endswith("%")
    assert abs(float(rows[2][1][:-1].replace(",", ".")) - 20) < 20  # between 0% and 39%


def test_old_readings_stay(write) -> None:
    """What was text to a model stays text, and labels are what is written."""
    path = write("t.csv", "v,w\n$5,1\n$7,2\n")
    assert column(path, text=("v",)).to_pylist() == ["$5", "$7"]
    assert column(path, target="v", labels="text").to_pylist() == ["$5", "$7"]
    assert column(path, as_is=lambda name: name == "v").to_pylist() == ["$5", "$7"]


# --- dates -----------------------------------------------------------------------------------------------------------

EPOCH = dt.date(1970, 1, 1)
WRITTEN = {
    "iso": "%Y-%m-%d",
    "slashes": "%Y/%m/%d",
    "german": "%d.%m.%Y",
    "british": "%d/%m/%Y",
    "american": "%m/%d/%Y",
    "short": "%d.%m.%y",
    "named": "%d %b %Y",
    "long": "%B %d, %Y",
    "excel": "%d-%b-%y",
}


@settings(LOOSE, max_examples=20)  # each is read in eight notations
@given(st.lists(st.dates(dt.date(1969, 1, 1), dt.date(2068, 12, 31)), min_size=1, max_size=20))
def test_dates_are_read_in_every_notation(tmp_path_factory, dates) -> None:
    folder = tmp_path_factory.mktemp("dates")
    dates = [dt.date(2024, 5, 31), *dates]  # which says what comes first
    for form in WRITTEN.values():
        path = folder / "t.csv"
        path.write_text("v;w\n" + "".join(f"{date.strftime(form)};x\n" for date in dates))
        assert column(path).to_pylist() == dates, form


@LOOSE
@given(st.lists(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)), min_size=1, max_size=20))
def test_moments_have_a_fraction_and_parts_of_the_calendar(moments_) -> None:
    moments_ = [one.replace(microsecond=0) for one in moments_]
    texts = pa.array([one.isoformat(" ") for one in moments_])
    found = days(moments(texts, "iso"))
    for own, one in zip(found.to_pylist(), moments_, strict=True):
        assert abs(own - (one - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)) < 1e-9
    assert part(found, "month").to_pylist() == [one.month for one in moments_]
    assert part(found, "weekday").to_pylist() == [one.isoweekday() for one in moments_]
    hours = [one.hour + one.minute / 60 + one.second / 3600 for one in moments_]
    assert part(found, "hour").to_pylist() == pytest.approx(hours, abs=1e-5)
    assert as_dates(found, "iso", "").to_pylist() == [f"{one:%Y-%m-%d}" for one in moments_]


@pytest.mark.parametrize(
    ("notation", "text", "iso"),
    [
        ("iso", "2024-02-29T13:05:09Z", "2024-02-29 13:05:09"),
        ("iso", "13:05", "1970-01-01 13:05:00"),
        ("mdy", "2/29/2024 1:05 PM", "2024-02-29 13:05:00"),
        ("mdy", "2/29/24 12:00 am", "2024-02-29 00:00:00"),
        ("dmy", "31.12.1999 23:59:59", "1999-12-31 23:59:59"),
        ("dmy", "1/2/69", "1969-02-01 00:00:00"),
        ("dmy", "1/2/68", "2068-02-01 00:00:00"),
        ("named", "Mon, 3 Sept. 2018", "2018-09-03 00:00:00"),
        ("named", "May 3rd, 2018 9:30 a.m.", "2018-05-03 09:30:00"),
    ],
)
def test_single_dates(notation, text, iso) -> None:
    found = moments(pa.array([text, None]), notation)
    assert [str(one) for one in found.to_pylist()] == [iso, "None"]


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29",
        "31.04.2024",
        "13/13/2024",
        "00/01/2024",
        "2024-1",
        "1.2.10",
        "3/4",
        "13:61",
        "13:05 PM",
        "may",
        "0:30 AM",
    ],
)
def test_what_is_no_date(text) -> None:
    assert all(moments(pa.array([text]), notation) is None for notation in ("iso", "dmy", "mdy", "named"))


def test_parts_are_those_that_come_again() -> None:
    def parts(*texts):
        return Facts.of(moments(pa.array(texts), "iso")).parts

    assert parts("2024-01-01", "2024-07-04") == ["weekday"]  # one year: a month is the days in larger steps
    assert parts("2023-01-02", "2024-01-01", "2024-02-05") == ["month"]  # Mondays alone
    assert parts("2024-01-01", "2024-01-05") == []
    assert parts("2023-01-02 10:00", "2024-01-01 11:00") == ["hour"]
    assert parts("2023-05-02", "2024-07-01") == ["weekday"]


@pytest.mark.parametrize("order", [None, "dmy", "mdy"])
def test_what_could_be_either_is_not_guessed(write, order) -> None:
    path = write("t.csv", "v;w\n03/04/2026;1\n5/6/2026;2\n")
    with pytest.warns(Remark) as told:
        found = read_file(path, Reading(dates=order)).columns["v"].to_pylist()
    expected = {
        None: ["03/04/2026", "5/6/2026"],
        "dmy": [dt.date(2026, 4, 3), dt.date(2026, 6, 5)],
        "mdy": [dt.date(2026, 3, 4), dt.date(2026, 5, 6)],
    }
    assert found == expected[order]
    assert ("--dates day-first" in str(told[0].message)) is (order is None)


@pytest.mark.parametrize("cells", [["13/1/2024", "1/13/2024"], ["2024-01-01", "soon"], ["1.1.2024", "2024-02-30"]])
def test_a_column_of_two_notations_stays_text(write, cells) -> None:
    path = write("t.csv", "v;w\n" + "".join(f"{cell};x\n" for cell in cells))
    assert column(path).to_pylist() == cells


def visits(form, n=120, order=1):
    rows = []
    for i in range(n):
        day = dt.date(2021, 1, 1) + dt.timedelta(days=(i * 61) % 1200)
        rows.append(f"{1000 + i};{day.strftime(form)};{i % 7};{'ab'[day.month > 6]}")
    return "\n".join(["id;seen;x;y", *rows[::order], ""])


@pytest.mark.slow
@pytest.mark.parametrize("engine", [(), ("--engine", "local")])
def test_one_model_in_every_notation_and_the_same_answers(cli, write, tmp_path, monkeypatch, engine) -> None:
    found, answers = {}, {}
    for name, form in WRITTEN.items():
        path, model = write(f"{name}.csv", visits(form)), tmp_path / f"{name}.suffice"
        done = cli("fit", path, "--target", "y", "--drop", "id", "--model", "nb", "-o", model, *engine).ok()
        assert "'seen' was read as dates" in done.err
        found[name] = of_model(model)
    (tmp_path / "zip").mkdir()
    write("zip/z.csv.gz", gzip.compress(visits(WRITTEN["british"]).encode()))
    cli("fit", tmp_path / "zip", "--target", "y", "--drop", "id", "--model", "nb", "-o", tmp_path / "z").ok()
    found["folder"] = of_model(tmp_path / "z")
    assert all(own == found["iso"] for own in found.values())
    assert [own["name"] for own in found["iso"]["schema"]["columns"]] == ["seen", "seen_month", "seen_weekday", "x"]
    for learned in ("iso", "british"):
        for name in WRITTEN:
            path = tmp_path / f"{name}.csv"
            answers[learned, name] = cli("predict", tmp_path / f"{learned}.suffice", path).out
            monkeypatch.setattr("suffice.cli.models.LARGE", 1)
            cli("predict", tmp_path / f"{learned}.suffice", path, "-o", tmp_path / "o.csv").ok()
            monkeypatch.undo()
            rows = list(csv.reader(io.StringIO((tmp_path / "o.csv").read_text())))
            assert rows == list(csv.reader(io.StringIO(answers[learned, name])))
    assert len(set(answers.values())) == 1


def test_later_dates_are_read_in_the_order_learned(cli, write, tmp_path) -> None:
    models = {}
    for name in ("british", "american", "iso"):
        models[name] = tmp_path / f"{name}.suffice"
        told = ("--target", "y", "--drop", "id", "--model", "nb", "-o", models[name])
        cli("fit", write("t.csv", visits(WRITTEN[name])), *told).ok()
    british, american = (
        write(f"{n}.csv", f"seen;x\n{cell};1\n") for n, cell in (("b", "03/04/2022"), ("a", "04/03/2022"))
    )
    iso = write("i.csv", "seen;x\n2022-04-03;1\n")
    expected = cli("predict", models["iso"], iso).out
    assert (
        cli("predict", models["british"], british).out == cli("predict", models["american"], american).out == expected
    )
    done = cli("predict", models["iso"], british)
    assert "'03/04/2022' has the day or the month first" in done.complaint
    decided = write("d.csv", "seen;x\n03/04/2022;1\n31/12/2022;1\n")
    done = cli("predict", models["american"], decided)
    assert done.out.splitlines()[1] == expected.splitlines()[1]
    assert "have the day first, unlike those learned" in done.err
    assert cli("predict", models["british"], iso).out == expected  # as `suffice sample` writes them
    numbers = cli("predict", models["british"], write("n.csv", f"seen;x\n{(dt.date(2022, 4, 3) - EPOCH).days};1\n"))
    assert (numbers.status, "'seen' was date" in numbers.complaint) == (1, True)
    cli("predict", models["british"], write("e.csv", "seen;x\n;1\n")).ok()


def test_dates_where_numbers_were_learned_are_refused(cli, write, tmp_path) -> None:
    rows = "".join(f"{i};{'ab'[i % 2]}\n" for i in range(30))
    model = tmp_path / "m.suffice"
    cli("fit", write("t.csv", "x;y\n" + rows), "--target", "y", "--model", "nb", "-o", model).ok()
    done = cli("predict", model, write("n.csv", "x\n2024-01-01\n"))
    assert "holds dates, such as '2024-01-01', and the model learned numbers there" in done.complaint


def test_dates_are_kept_and_filled_as_they_were_written(cli, write, tmp_path) -> None:
    path, model = write("t.csv", visits(WRITTEN["british"])), tmp_path / "m.suffice"
    cli("fit", path, "--target", "y", "--drop", "id", "--model", "nb", "-o", model).ok()
    new = write("n.csv", "seen;x\n31/12/2022;1\n;2\n")
    rows = list(csv.reader(io.StringIO(cli("predict", model, new, "--keep").out)))
    assert rows[0][:2] == ["seen", "x"]
    assert "seen_month" not in rows[0]
    assert [row[0] for row in rows[1:]] == ["31/12/2022", ""]
    drawn = list(csv.DictReader(io.StringIO(cli("sample", model, "-n", 20).out)))
    assert all(int(row["seen_month"]) == dt.date.fromisoformat(row["seen"]).month for row in drawn)
    header, one, two = csv.reader(io.StringIO(cli("impute", model, new).out))
    assert (header, one) == (["seen", "x"], ["31/12/2022", "1"])
    assert 2021 <= dt.datetime.strptime(two[0], "%d/%m/%Y").year <= 2024


def test_hours_drawn_are_those_of_the_moment_given(cli, write, tmp_path) -> None:
    rows = "".join(f"2024-01-{1 + i % 28:02} {i % 24:02}:00,{'ab'[i % 2]}\n" for i in range(90))
    cli("fit", write("t.csv", "seen,y\n" + rows), "--target", "y", "--model", "nb", "-o", tmp_path / "m").ok()
    drawn = cli("sample", tmp_path / "m", "-n", 2, "--given", "seen=2024-03-05 10:30:00").out
    assert [row["seen_hour"] for row in csv.DictReader(io.StringIO(drawn))] == ["10.5", "10.5"]


def test_update_and_forget_read_dates_alike(cli, write, tmp_path) -> None:
    model = tmp_path / "m.suffice"
    whole = write("t.csv", visits(WRITTEN["british"]))
    cli("fit", whole, "--target", "y", "--drop", "id", "--model", "nb", "-o", model).ok()
    before = load(model).statistics_.weight.tolist()
    more = write("more.csv", visits(WRITTEN["american"], order=-1))
    cli("update", model, more, "--target", "y").ok()
    assert load(model).statistics_.weight.tolist() == [2 * one for one in before]
    cli("forget", model, more, "--target", "y").ok()
    assert load(model).statistics_.weight.tolist() == before


def test_fit_table_reads_dates(write, tmp_path) -> None:
    path = write("t.csv", visits(f"{WRITTEN['german']} 00:00 +02:00"))
    with pytest.warns(Remark, match="was read as dates, day first, ignoring time zones, with 'seen_month'"):
        model = NaiveBayes().fit_table(path, "y", columns=["seen", "seen_month", "x"])
    assert model.feature_names_in_.tolist() == ["seen", "seen_month", "x"]
    assert model.predict_table(write("u.csv", visits(WRITTEN["named"])), tmp_path / "o.csv") == 120


AWKWARD = [
    b"v,y\n$5,a\n7%,b\n",
    b"v,y\n(5),a\n(7),b\n",
    b"v,y\n2024-01-01,a\n,b\n",
    b"v,y\n01/02/2024,a\nNA,b\n",
    b'x,y\n13/02/2024 5:00 PM,a\n"1,5",b\n',
    b"x,y\n$,a\n$1,b\n",
]


@pytest.mark.parametrize("data", AWKWARD)
def test_every_way_reads_them_alike(tmp_path, data) -> None:
    ways_agree(data, tmp_path)


# --- --auto-drop -----------------------------------------------------------------------------------------------------


def test_auto_drop_leaves_out_what_names_rows(cli, write, tmp_path) -> None:
    rows = [
        f"{5000 + (i * 17) % 100};{(i * 7919) % 100_003 * 31};Name {i};{dt.date(2020, 1, 1) + dt.timedelta(9 * i)};"
        f"{(i * 7919) % 100_003};{i % 5};{'uvw'[i % 3]};{'ab'[i % 2]}"
        for i in range(100)
    ]
    path = write("t.csv", "\n".join(["n;customerID;name;seen;income;visits;kind;y", *rows, ""]))
    model = tmp_path / "m.suffice"
    done = cli("fit", path, "--target", "y", "--auto-drop", "--model", "nb", "-o", model).ok()
    assert load(model).feature_names_in_.tolist() == ["income", "visits", "kind"]  # all different, and a measurement
    line = next(line for line in done.err.splitlines() if line.startswith("Left out: "))
    assert line == (
        "Left out: 'seen' (dates), 'n' (whole numbers, all different), 'customerID' (whole numbers, all different), "
        "'name' (all different)."
    )
    cli("compare", path, "--target", "y", "--auto-drop", "--by", "folds", "--folds", "2").ok()
    cli("predict", model, path).ok()


def test_files_of_two_notations_are_said(tmp_path) -> None:
    for name, form in (("a", "german"), ("b", "iso")):
        (tmp_path / f"{name}.csv").write_text(visits(WRITTEN[form]))
    with pytest.warns(Remark, match="different notations of the dates in 'seen'"):
        assert open_source(tmp_path).schema.field("seen").type == pa.string()
