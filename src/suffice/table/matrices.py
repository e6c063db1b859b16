"""SciPy sparse matrices: cells that are not stored are zeros.

Families of counts read them as they are. All others read every cell, and get these columns dense, if memory allows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from .._arrays import Array, Codes, np, sparse
from .._memory import check_bytes
from ..errors import DataError
from ..schema import Kind, Level, unnamed_schema
from .categories import both_truths, factorize
from .cells import LARGEST
from .writing import Holes


class ContainerError(DataError, TypeError):
    """A container of the wrong type; scikit-learn expects a TypeError here."""


class SparseTable:
    """A sparse matrix (n, d), kept in rows (CSR)."""

    def __init__(self, X: sparse.csr_array) -> None:
        if X.ndim != 2:
            raise DataError(f"Expected 2D array, got {X.ndim}D sparse array instead. Next: pass rows and columns.")
        if X.dtype.kind not in "biuf":
            raise DataError(f"The sparse matrix holds values of type {X.dtype}. Next: convert them to numbers.")
        rows = X.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy() if rows is X else rows
            rows.sum_duplicates()
        if rows.dtype.kind == "f" and not np.isfinite(np.einsum("i,i->", rows.data, rows.data)):
            _refuse_odd(rows)
        self._rows = rows
        self.rows = int(rows.shape[0])
        kind = Kind.BOOLEAN if rows.dtype.kind == "b" else Kind.NUMERIC
        self.schema = unnamed_schema(int(rows.shape[1]), kind, "sparse")

    @cached_property
    def _columns(self) -> sparse.csr_array:
        """The matrix (d, n) of columns as rows."""
        return self._rows.T.tocsr()

    def sparse(self, positions: Sequence[int]) -> sparse.csr_array:
        """Return these columns as a sparse array (n, d) of numbers."""
        every = tuple(positions) == tuple(range(len(self.schema)))
        rows = self._rows if every else self._rows[:, list(positions)]
        if rows.dtype != np.bool_:
            return rows
        counted = sparse.csr_array((rows.data.view(np.int8), rows.indices, rows.indptr), shape=rows.shape)
        counted.has_canonical_format = True
        return counted

    def numeric(self, positions: Sequence[int]) -> Array:
        """Return these columns as float64 (n, d); DataError where that would take too much memory."""
        _check_dense(self.rows, len(positions))
        return self.sparse(positions).astype(np.float64, copy=False).toarray()

    def categories(self, position: int) -> tuple[tuple[Level, ...], Codes]:
        """Return the sorted levels of a column, 0 where a cell is not stored, and a code per row (n,)."""
        column = self._columns[[position]].toarray()[0]
        levels, codes = factorize(column, position)
        return both_truths(levels, codes) if column.dtype.kind == "b" else (levels, codes)

    def fill(self, holes: Holes) -> object:
        """Return a copy: a sparse matrix has no holes."""
        return self._rows.copy()


def _check_dense(n: int, d: int) -> None:
    """Raise DataError, before anything is allocated, where n rows of d numbers are too much."""
    check_bytes(
        8 * n * d,
        f"This sparse matrix as numbers of {n:,} rows and {d:,} columns, every cell of which this model reads,",
        "use NaiveBayes with the family 'multinomial', 'bernoulli' or 'poisson' for all columns, which stays sparse; "
        "pass fewer rows at a time (partial_fit, predict_proba); or have fewer levels (min_frequency of OneHotEncoder)",
    )


def _refuse_odd(rows: sparse.csr_array) -> None:
    """Raise DataError naming a column with NaN, infinity, or numbers as large as dense tables refuse."""
    finite = np.isfinite(rows.data)
    if not finite.all():
        column = int(rows.indices[int(np.argmin(finite))])
        raise DataError(
            f"Input X contains NaN or infinity in column {column} of a sparse matrix, where cells that are not "
            "stored are zeros. Next: correct those cells."
        )
    large = np.abs(rows.data) > np.float64(LARGEST)
    if large.any():
        raise DataError.overflowing([int(rows.indices[int(np.argmax(large))])])
