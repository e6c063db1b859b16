"""Tables nobody expects, drawn by Hypothesis: the same cells plainly and in some container; tables of odd objects."""

import datetime as dt
import decimal
import fractions
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from scipy import sparse

WILD = [
    *[0.0, -0.0, 1.0, 1e16, 1e-9, float("inf"), float("-inf")],
    *[1e149, 1e150, -1e150, 1.1e150, 1e-150],  # where squares leave the range of floats
    *[1e308, -1e308, 5e-324, 1e-308],
]
HALF = "\ud800"  # of a surrogate pair
ODD_TEXTS = ["", " ", "x\ny", "\0", HALF, "=1+1", "'; DROP TABLE t; --", "None", "a" * 3000]
TEXTS = [*ODD_TEXTS, "a", "b", "ä", "é\u0301", "🦉", "0", "1", "nan", "NA", "<b>", "True"]
NAMES = [*ODD_TEXTS, "a", "b", "é", "名前", "@x", "<script>alert(1)</script>", '"', "0", "label"]
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


@st.composite
def columns(draw, n, numbers):
    """One column: its kind and its cells as Python values, None where missing."""
    kind = "number" if numbers else draw(st.sampled_from(["number", "number", "integer", "text", "text", "truth"]))
    mode = draw(st.sampled_from(["plain"] * 5 + ["wild", "constant", "missing", "tiny", "huge"]))
    ordinary = st.integers(-40, 40).map(lambda i: i / 8)
    integers = [0, 1, 2, -1, 2**53 + 1, 2**63 - 1, -(2**63)]
    cell = {
        "number": st.sampled_from(WILD) | ordinary if mode == "wild" else ordinary,
        "integer": st.sampled_from(integers) if mode == "wild" else st.integers(-3, 3),
        "text": st.sampled_from(TEXTS) if mode == "wild" else st.sampled_from("abc"),
        "truth": st.booleans(),
    }[kind]
    if mode == "constant":
        cells = [draw(cell)] * n
    elif mode == "missing":
        cells = [None] * n
    else:
        cells = draw(st.lists(cell, min_size=n, max_size=n))
    if kind == "number" and mode in ("tiny", "huge"):
        unit = draw(st.sampled_from([1e-300, 1e-160, 1e-148, 1e-40] if mode == "tiny" else [1e20, 1e100, 1e148, 1e155]))
        cells = [cell * unit for cell in cells]
    if draw(st.sampled_from([False, False, True])):
        holes = draw(st.lists(st.booleans(), min_size=n, max_size=n))
        cells = [None if hole else cell for cell, hole in zip(cells, holes, strict=True)]
    return kind, cells


def _objects(cells):
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    return values


MISSING = {"nan": float("nan"), "none": None, "na": pd.NA, "nat": pd.NaT}


@st.composite
def pandas_column(draw, kind, cells):
    """A pandas series, and the cells that it holds after its type has rounded them."""
    if kind == "number":
        dtype = draw(
            st.sampled_from(["float64", "float64", "float32", "Float64", "object", "decimal", "double[pyarrow]"])
        )
        if dtype == "float32":
            with np.errstate(all="ignore"):
                cells = [None if cell is None else float(np.float32(cell)) for cell in cells]
        if dtype == "decimal" and all(cell is None or np.isfinite(cell) for cell in cells):
            return pd.Series([None if cell is None else decimal.Decimal(cell) for cell in cells], dtype=object), cells
        if dtype in ("object", "decimal"):
            hole = MISSING[draw(st.sampled_from(sorted(MISSING)))]
            return pd.Series(_objects([hole if cell is None else cell for cell in cells]), dtype=object), cells
        return pd.Series(cells, dtype=dtype), cells
    dtypes = {
        "integer": ["Int64", "object", "int64[pyarrow]"],
        "text": ["object", "string", "category", "string[pyarrow]", "large_string[pyarrow]"],
        "truth": ["boolean", "object", "bool[pyarrow]"],
    }[kind]
    if HALF in cells:
        dtypes = ["object"]
    if dtypes[0] == "Int64" and None not in cells:
        dtypes = [*dtypes, "int64"]
    dtype = draw(st.sampled_from(dtypes))
    if dtype.endswith("[pyarrow]") and "string" in dtype:
        dtype = pd.ArrowDtype(pa.large_string() if "large" in dtype else pa.string())
    return pd.Series(cells, dtype=dtype), cells


def polars_column(draw, kind, cells):
    dtype = {
        "number": [pl.Float64, pl.Float64, pl.Float32],
        "integer": [pl.Int64],
        "text": [pl.String, pl.Categorical],
        "truth": [pl.Boolean],
    }[kind]
    dtype = draw(st.sampled_from([*dtype, pl.Null] if all(cell is None for cell in cells) else dtype))
    if dtype == pl.Float32:
        with np.errstate(all="ignore"):
            cells = [None if cell is None else float(np.float32(cell)) for cell in cells]
    return pl.Series("", cells, dtype=dtype), cells


def arrow_column(draw, kind, cells):
    if kind == "number":
        dtype = draw(st.sampled_from([pa.float64(), pa.float64(), pa.float32()]))
        if dtype == pa.float32():
            with np.errstate(all="ignore"):
                cells = [None if cell is None else float(np.float32(cell)) for cell in cells]
    else:
        texts = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
        dtype = draw(st.sampled_from({"integer": [pa.int64()], "truth": [pa.bool_()], "text": texts}[kind]))
    if all(cell is None for cell in cells) and draw(st.booleans()):
        dtype = pa.null()
    values = pa.array(cells, dtype)
    half = len(cells) // 2
    return (pa.chunked_array([values[:half], values[half:]]) if draw(st.booleans()) else values), cells


def labels(draw, n):
    pool = draw(st.sampled_from([LABELS[0], LABELS[1], *LABELS]))
    if draw(st.booleans()):
        cells = [pool[i % len(pool)] for i in range(n)]
    else:
        cells = [draw(st.sampled_from(pool)) for _ in range(n)]
    form = draw(st.sampled_from(["list", "list", "object", "array", "pandas"]))
    if form == "object":
        return _objects(cells)
    if form == "pandas":
        return pd.Series(_objects(cells), dtype=object)
    if form == "array":
        try:
            return np.array(cells)
        except (ValueError, TypeError, OverflowError):
            return cells
    return cells


@st.composite
def cases(draw, numbers=False):
    """A table of cells that a plain array can hold, in some container, with odd names and labels."""
    n, d = draw(st.sampled_from([0, 1, 2, 3, 6, 9, 14, 14])), draw(st.sampled_from([0, 1, 1, 2, 2, 3, 4]))
    made = [draw(columns(n, numbers)) for _ in range(d)]
    container = draw(st.sampled_from(["numpy", "lists", "pandas", "pandas", "polars", "arrow", "masked"]))
    names = draw(
        st.lists(st.sampled_from(NAMES), min_size=d, max_size=d, unique=draw(st.sampled_from([True] * 9 + [False])))
    )
    clean = HALF not in names and all(HALF not in cells for _, cells in made)
    if container in ("polars", "arrow") and not clean:
        container = "pandas"
    kinds, cells = [kind for kind, _ in made], [values for _, values in made]
    if container in ("numpy", "lists", "masked"):
        plain = plainly(kinds, cells, n)
        table = plain if container != "lists" else [list(row) for row in zip(*cells, strict=True)] or plain
        if container == "lists" and "text" not in kinds:
            plain = np.asarray(table)  # numbers and truth values together are numbers, as NumPy reads them
        if container == "masked" and plain.dtype.kind == "f":
            table = np.ma.masked_invalid(np.where(np.isinf(plain), 1.0, plain))
            plain = np.where(np.isinf(plain), 1.0, plain)
    else:
        pairs = []
        for kind, values in made:
            if container == "pandas":
                pairs.append(draw(pandas_column(kind, values)))
            else:
                pairs.append((polars_column if container == "polars" else arrow_column)(draw, kind, values))
        series, cells = [s for s, _ in pairs], [c for _, c in pairs]
        plain = plainly(kinds, cells, n)
        if container == "pandas":
            table = pd.DataFrame(dict(enumerate(series)), index=range(n))
            odd = {
                "text": pd.Index(names, dtype=object),
                "integers": pd.Index(range(5, 5 + d)),
                "tuples": pd.Index([("a", j) for j in range(d)]),
                "mixed": pd.Index([*names[: d // 2], *range(d - d // 2)], dtype=object),
            }
            table.columns = odd[draw(st.sampled_from(["text", *odd]))]
        elif container == "polars":
            if len(set(names)) < d:
                names = [f"c{j}" for j in range(d)]
            table = pl.DataFrame([s.alias(name) for s, name in zip(series, names, strict=True)])
        else:
            table = pa.table(series, names=names)
    y = labels(draw, n)
    shown = str(getattr(table, "dtypes", getattr(table, "schema", type(table))))
    return Case(table, plain, y, f"{container} {shown}\n{cells}\n{y!r}")


def plainly(kinds, cells, n):
    """The cells as float64 where all are numbers, else as Python objects."""
    if all(kind == "number" for kind in kinds):
        values = np.array([[np.nan if cell is None else cell for cell in column] for column in cells], dtype=np.float64)
        return values.reshape(len(cells), n).T.copy()
    plain = np.empty((n, len(cells)), dtype=object)
    for j, column in enumerate(cells):
        plain[:, j] = column
    return plain


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
SPARSE = [
    sparse.csr_matrix,
    sparse.csc_array,
    sparse.coo_array,
    sparse.lil_array,
    sparse.dok_array,
    sparse.dia_array,
]


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
