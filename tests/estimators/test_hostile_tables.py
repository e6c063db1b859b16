"""Any table: a right answer or an error in words.

A right answer: posteriors that sum to 1, filled cells, contributions without NaN; the same from the saved model and
under other names, and after `partial_fit`.

`SUFFICE_TABLES=2000` tries that many odd tables.
"""

import datetime as dt
import decimal
import fractions
import os
import re
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from kinds import kinds
from scipy import sparse

from suffice import GaussianDiscriminant, MixtureDiscriminant, NaiveBayes, load
from suffice.errors import SufficeError
from suffice.table import read_table

TRIES = int(os.environ.get("SUFFICE_TABLES", "0"))
LONGEST = 1500  # characters of a message, whatever was given

NUMBERS = kinds("full, shared, diagonal, spherical shared, prior, ledoit-wolf, loo, mixture") | {
    "unrepaired": lambda: GaussianDiscriminant(shrinkage=0.0),
    "bic": lambda: MixtureDiscriminant(n_init=1, random_state=0),
}
MIXED = kinds("naive bayes, automatic, forest") | {"laplace": lambda: NaiveBayes({0: "laplace"})}
COUNTS = kinds("multinomial, poisson, bernoulli")
ALL = NUMBERS | MIXED | COUNTS


WILD = [
    *[0.0, -0.0, 1.0, 1e16, 1e-9, float("inf"), float("-inf")],
    *[1e149, 1e150, -1e150, 1.1e150, 1e-150],  # where squares leave the range of floats
    *[1e308, -1e308, 5e-324, 1e-308],
]
HALF = "\ud800"  # of a surrogate pair
NAMES = [
    "",
    " ",
    "x\ny",
    "\0",
    HALF,
    "=1+1",
    "'; DROP TABLE t; --",
    "None",
    "a" * 3000,
    "é",
    "名前",
    "@x",
    "<script>alert(1)</script>",
    '"',
    "0",
]
LABELS = [
    ["a", "b"],
    ["a", "b", "c"],
    ["", "b"],
    [True, False],
    [0, 1],
    [-(2**62), 2**62],
    [2**64, 1],
    [0.0, 1.0],
    [0.5, 1.0],
    ["0", "1"],
    ["é", "🦉"],
    ["é", HALF],
    ["a"],
    [0, "0"],
    [0, False],
    ["=1+1", "<b>"],
    ["x\ny", "x"],
    [None, "a"],
    [None],
    [float("nan"), 1.0, 2.0],
    [1e300, -1e300],
    [b"a", b"b"],
    [("a",), ("b",)],
    [pd.NaT, "a", "b"],
    [dt.date(2020, 1, 1), "a"],
    ["a" * 3000, "b"],
]


@dataclass
class Case:
    """A table in some container, the same cells as a plain array (None: there is no plain one), and labels."""

    table: object
    plain: object
    y: object
    what: str

    def __repr__(self):
        return self.what

    def _repr_pretty_(self, printer, cycle):
        printer.text(self.what)  # as Hypothesis prints; pandas cannot print every cell it holds


ODD_CELLS = [
    *[None, float("nan"), pd.NA, pd.NaT, Ellipsis],
    *[1, 2.5, True, 10**400, -(2**70), 2**63, float("inf"), 1e308, 1j],
    *["a", "1", "nan", HALF, b"x"],
    *[(), (1, 2), [1], {"a": 1}, object, len],
    *[dt.date(2020, 1, 1), dt.timedelta(1), np.datetime64("2020-01-01"), pd.Interval(0, 1), pd.Period("2020")],
    *[decimal.Decimal(text) for text in ("1.5", "NaN", "sNaN", "Infinity", "1e999")],
    fractions.Fraction(1, 3),
    *[np.float32(1), np.int8(3), np.longdouble(1.5), np.str_("s"), np.bool_(True), np.void(b"ab")],
    *[np.array([1, 2]), np.array(3.0)],
]


UNFIT = (
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    pa.ArrowException,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


SPARSE = [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_array, sparse.dok_array, sparse.dia_array]


def things(n):
    """What is no table, or barely one, of n rows."""
    words = [["a", "b"]] * n
    return [
        *[None, 1, "table", "x" * 9000, b"", object(), len, np.array(3.0)],
        *[{}, {"x": [1] * n}, {"x": np.arange(5000.0)}, [{"a": 1}] * n],
        *[set(), iter([]), range(3), [[]], [[[1]]], [1, [2]], [None]],
        np.zeros((2, 2, 2)),
        *[np.zeros((n, 2), dtype) for dtype in (complex, "M8[s]", np.float16, np.longdouble, "U0")],
        *[np.array(words, "S"), np.array(words, np.dtypes.StringDType())],
    ]


@st.composite
def odd_tables(draw):
    """A table that mixes anything: it has no plain twin, and may be refused, but only in words."""
    n = draw(st.sampled_from([1, 2, 4, 8]))
    y = [draw(st.sampled_from("ab")) if draw(st.booleans()) else "ab"[i % 2] for i in range(n)]
    pool = draw(st.lists(st.sampled_from(ODD_CELLS), min_size=1, max_size=3))
    form = draw(
        st.sampled_from(["objects", "lists", "pandas", "polars", "arrow", "structured", "sparse", "typed", "thing"])
    )
    cells = [[draw(st.sampled_from(pool)) for _ in range(2)] for _ in range(n)]
    if form == "thing":
        table = draw(st.sampled_from(things(n)))
    elif form == "sparse":
        number = st.sampled_from([0, 0, 1, 2, -1, 0.5, np.nan, np.inf, 1e200, 5e-324])
        values = np.array([[draw(number) for _ in range(3)] for _ in range(n)])
        with np.errstate(all="ignore"):
            values = values.astype(draw(st.sampled_from(["f8", "f4", "i8", "?", "u1", "c16"])))
        table = draw(st.sampled_from(SPARSE))(values)
    elif form == "structured":
        table = np.zeros(n, dtype=[("a", "f8"), ("b", "i4")])
    elif form == "typed":
        table = _typed(draw, n)
    else:
        table = np.empty((n, 2), dtype=object)
        for i, row in enumerate(cells):
            for j, cell in enumerate(row):
                table[i, j] = cell
        if form == "lists":
            table = cells
        elif form == "pandas":
            table = pd.DataFrame(table, dtype=object if any(cell is HALF for cell in pool) else None)
        elif form in ("polars", "arrow"):
            try:
                tame = [[1.5 if _endless(cell) else cell for cell in row] for row in cells]
                columns = {"p": [row[0] for row in tame], "q": [row[1] for row in tame]}
                table = pl.DataFrame(columns, strict=False) if form == "polars" else pa.table(columns)
            except UNFIT:
                table = cells
    shown = f"{table!r:.500}" if form in ("thing", "typed", "sparse") else ""
    what = f"{form} {type(table).__name__} {getattr(table, 'dtype', '')!s}\n{cells}\n{shown}\n{y!r}"
    return Case(table, None, y, what)


def _endless(cell):
    return isinstance(cell, decimal.Decimal) and not cell.is_finite()


def _typed(draw, n):
    """Columns of types beyond numbers, text and truth values, in pandas, polars or pyarrow."""
    day, text = dt.datetime(2020, 1, 1), ["a", "b"] * n
    decimals, pairs = ([decimal.Decimal("1.5"), None] * n)[:n], np.arange(2.0 * n).reshape(n, 2)
    kinds = {
        "time": lambda: pd.DataFrame({"t": pd.to_datetime([day] * n), "x": range(n)}),
        "zone": lambda: pd.DataFrame({"t": pd.to_datetime([day] * n).tz_localize("UTC")}),
        "period": lambda: pd.DataFrame({"t": pd.period_range("2020", periods=n)}),
        "interval": lambda: pd.DataFrame({"t": pd.cut(np.arange(float(n)), n + 1)}),
        "sparse column": lambda: pd.DataFrame({"t": pd.arrays.SparseArray([0.0, 1.0] * n)[:n]}),
        "complex": lambda: pd.DataFrame({"t": np.full(n, 1j)}),
        "dates as categories": lambda: pd.DataFrame({"t": pd.Categorical([day] * n)}),
        "bytes": lambda: pa.table({"t": pa.array([b"a"] * n)}),
        "decimal": lambda: pa.table({"t": pa.array(decimals, pa.decimal128(10, 2))}),
        "decimal256": lambda: pa.table({"t": pa.array([decimal.Decimal("1.5")] * n, pa.decimal256(50, 2))}),
        "lists": lambda: pa.table({"t": pa.array([[1.0], None] * n)[:n]}),
        "lists of lists": lambda: pa.table({"t": pa.array([[["a"]]] * n)}),
        "struct": lambda: pa.table({"t": pa.array([{"a": 1}] * n)}),
        "map": lambda: pa.table({"t": pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int8()))}),
        "half": lambda: pa.table({"t": pa.array(np.arange(n, dtype=np.float16))}),
        "view": lambda: pa.table({"t": pa.array(text[:n], pa.string_view())}),
        "union": lambda: pa.table({"t": pa.UnionArray.from_sparse(pa.array([0] * n, pa.int8()), [pa.array([1] * n)])}),
        "null": lambda: pa.table({"t": pa.nulls(n), "x": pa.array([float(i) for i in range(n)])}),
        "dictionary of numbers": lambda: pa.table({"t": pa.array([1, 2, None] * n).dictionary_encode()[:n]}),
        "duration": lambda: pa.table({"t": pa.array([1] * n, pa.duration("s"))}),
        "runs": lambda: pa.table({"t": pa.RunEndEncodedArray.from_arrays(pa.array([n], pa.int32()), pa.array([1.0]))}),
        "polars decimal": lambda: pl.DataFrame({"t": pl.Series(decimals, dtype=pl.Decimal(10, 2))}),
        "polars list": lambda: pl.DataFrame({"t": [[1.0]] * n}),
        "polars array": lambda: pl.DataFrame({"t": pl.Series([[1.0, 2.0]] * n, dtype=pl.Array(pl.Float64, 2))}),
        "polars struct": lambda: pl.DataFrame({"t": [{"a": 1}] * n}),
        "polars enum": lambda: pl.DataFrame({"t": pl.Series(text[:n], dtype=pl.Enum(["a", "b", "c"]))}),
        "polars binary": lambda: pl.DataFrame({"t": [b"a"] * n}),
        "polars object": lambda: pl.DataFrame({"t": pl.Series([object()] * n, dtype=pl.Object)}),
        "polars big": lambda: pl.DataFrame({"t": pl.Series([2**100] * n, dtype=pl.Int128)}),
        "polars duration": lambda: pl.DataFrame({"t": [dt.timedelta(1)] * n}),
        "polars null": lambda: pl.DataFrame({"t": [None] * n}),
        "lazy": lambda: pl.LazyFrame({"t": [1.0] * n}),
        "series": lambda: pl.Series([1.0] * n),
        "chunked": lambda: pa.chunked_array([[1.0] * n]),
        "batch": lambda: pa.record_batch({"t": [1.0] * n}),
        "no columns": lambda: pd.DataFrame(index=range(n)),
        "two headers": lambda: pd.DataFrame(pairs, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
        "name NaN": lambda: pd.DataFrame(pairs, columns=[np.nan, None]),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]()


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


@pytest.mark.parametrize("name", ["full", "naive bayes", "mixture", "automatic", *COUNTS])
def test_cells_of_any_type(name, path):
    @profile(25)
    @given(odd_tables())
    def run(case):
        judge(case, name, path)

    run()


ROWS = np.random.default_rng(0).uniform(-1.0, 1.0, size=(8, 2))


@pytest.mark.parametrize("name", ALL)
def test_wild_numbers(name, path):
    for wild in WILD[1::2] if name in ("loo", "mixture", "automatic", "forest") else WILD:
        for X in (np.where(ROWS > 0.7, wild, ROWS), *([ROWS * wild] if name in ("full", "naive bayes") else [])):
            judge(Case(X, None, list("abab" * 2), f"{wild}"), name, path)


@pytest.mark.parametrize("name", ["full", "naive bayes"])
def test_names_and_labels_of_any_kind(name, path):
    for pool in LABELS:
        judge(Case(ROWS, None, [pool[i % len(pool)] for i in range(8)], f"{pool}"), name, path)
    for own in NAMES:
        table = pd.DataFrame(ROWS, columns=pd.Index([own, "other"], dtype=object))
        judge(Case(table, ROWS, list("abab" * 2), repr(own)), name, path)
