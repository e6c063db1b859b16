"""`impute` and `sample`: fill the holes of a table, and draw new rows, from the joint density."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array, Codes, NDArray, np
from ..densities.product import missing_cells
from ..errors import DataError, SettingError, quoted
from ..estimate import Block
from ..joint import JointModel
from ..schema import Column, Kind, Level, Name, Schema
from ..stats import ByClass
from ..table import Holes, NewColumn, Table, make_sparse, make_table, read_table, recode, stack_sparse
from ..table.cells import holds_value
from ..tasks.impute import Cells, draw, impute
from ..tasks.sample import sample
from ._labels import read_labels
from ._states import question

SCALARS = (str, bool, int, float, np.generic)


class Generation:
    """What every estimator can make from its joint density; mixed into `GenerativeEstimator`."""

    statistics_: ByClass
    classes_: Any
    _schema: Schema
    _blocks: tuple[Block, ...]

    if TYPE_CHECKING:  # from `GenerativeEstimator`

        @property
        def model_(self) -> JointModel: ...

        def _aligned(self, X: Any) -> tuple[Table, Sequence[int]]: ...

        def _recode(self, table: Table, order: Sequence[int]) -> tuple[Any, ...]: ...

    @question
    def impute(self, X: Any, y: Any = None, *, draws: int | None = None, random_state: Any = None) -> Any:
        """Return the table with its missing cells filled, from what is observed in each row.

        A number becomes its conditional mean, Σ_k p(k | x_o) E[x_m | x_o, k]: within one Gaussian class that is least
        squares on the observed columns. Expected counts need not be whole. A category or truth value becomes the most
        probable one; ties go to the first level. Observed cells come back as they are, bit for bit.

        Parameters
        ----------
        X : array (n, d), pandas, polars or pyarrow table
            Null and NaN cells are to be filled.
        y : array-like (n,), optional
            Labels, where known: those rows are filled from their class alone. Labels may be missing (None, NaN).
        draws : int, optional
            Multiple imputation: that many tables, each with cells drawn instead of averaged, a class from p(k | x_o)
            and then all missing cells of the row from p(x_m | x_o, k) together.
        random_state : None, int or RandomState
            Seed of the draws.

        Returns
        -------
        table of the kind that came in, or a list of `draws` of them
            A list of rows gives an array. Column order, names, index and types are kept, with these exceptions: a
            column of integers or decimals becomes floats where a filled cell is no such integer; categories that a
            pandas or Enum column lacks are added to it; a column without any value whose type cannot hold what
            belongs there gets one that can.

        Raises
        ------
        DataError
            A label that the model does not know, or a column that cannot be filled; multinomial columns refuse
            missing counts.

        Notes
        -----
        Little & Rubin, Statistical Analysis with Missing Data (3rd ed.), section 4.3 and chapter 10. The draws are
        from the fitted model: they do not reflect the uncertainty of its parameters.

        Examples
        --------
        >>> from suffice import GaussianDiscriminant
        >>> X, y = [[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [7.0, 2.9], [8.0, 2.1], [9.0, 1.0]], ["up"] * 3 + ["down"] * 3
        >>> model = GaussianDiscriminant().fit(X, y)
        >>> model.impute([[1.5, float("nan")], [8.5, float("nan")]]).round(3).tolist()
        [[1.5, 1.533], [8.5, 1.525]]
        """
        tables = None if draws is None else read_count(draws, "draws")
        check_is_fitted(self, "statistics_")
        table, order = self._aligned(X)
        known = self._known_classes(y, table.rows)
        rng = check_random_state(random_state)
        rows = self._recode(table, order)
        model = self.model_
        self._check_fillable(rows, model, "condition" if tables is None else "sample")
        if tables is None:
            found = impute(model, rows, known)
            return table.fill(self._holes(found, 0, table, order, model))
        drawn = draw(model, rows, tables, rng, known)
        return [table.fill(self._holes(drawn, i, table, order, model)) for i in range(tables)]

    @question
    def sample(
        self, n: int, *, label: Any = None, given: Mapping[Name, Any] | None = None, random_state: Any = None
    ) -> tuple[Any, Any]:
        """Return `n` new rows drawn from the joint density, and their labels (n,).

        Parameters
        ----------
        n : int, at least 1
        label : a class label, optional
            Draw rows of this class; otherwise classes come by their prior, or by p(k | given).
        given : dict {column: value}, optional
            Cells held fixed: the class is drawn from its posterior given these, the other cells given these and the
            class.
        random_state : None, int or RandomState
            Seed of the draws, as in scikit-learn.

        Returns
        -------
        X : table of the kind that the model was fitted on
            With its column names; categorical columns are categorical. A loaded model remembers the kind; where that
            library is not installed, another one's data frame, or an array. A model of a sparse matrix gives a sparse
            array.
        y : array (n,)
            Labels, as `predict` returns them.

        Raises
        ------
        SettingError
            An unknown label, an unknown column, or a value that the column cannot have.

        Notes
        -----
        A multinomial row's total is no part of its density: it is drawn as a Poisson number about the class's mean
        total.

        Examples
        --------
        >>> from suffice import NaiveBayes
        >>> X, y = [["red", 1.0], ["red", 2.0], ["blue", 7.0], ["blue", 8.0]], ["warm", "warm", "cold", "cold"]
        >>> model = NaiveBayes(smoothing=0.0).fit(X, y)
        >>> rows, labels = model.sample(3, given={0: "red"}, random_state=0)
        >>> rows[:, 0].tolist(), labels.tolist()
        (['red', 'red', 'red'], ['warm', 'warm', 'warm'])
        """
        return self._draw_rows(n, label, given, random_state)

    # --- impute ------------------------------------------------------------------------------------------------------

    def _known_classes(self, y: Any, rows: int) -> Codes | None:
        """Return class numbers (n,), −1 where the label is missing; DataError names labels the model does not know."""
        if y is None:
            return None
        labels, codes = read_labels(y, rows, type(self).__name__, missing="any")
        classes = self.statistics_.classes
        unknown = [label for label in labels if label not in classes]
        if unknown:
            raise DataError(
                f"y holds {quoted(unknown)}, unknown to this model; its classes are {quoted(classes)}. "
                "Next: correct the labels, or leave them missing (None) where they are not known."
            )
        return recode(labels, codes, classes)

    def _check_fillable(self, rows: Sequence[Any], model: JointModel, verb: str) -> None:
        """Raise DataError naming columns with holes that no density could fill."""
        names = self._schema.names
        parts = zip(self._blocks, rows, model.density.blocks, self.statistics_.blocks, strict=True)
        for block, part, density, stats in parts:
            mask = missing_cells(part)
            if mask is None or not mask.any():
                continue
            holes = np.asarray(mask.any(axis=0))
            if not (density.can_condition if verb == "condition" else density.can_sample):
                own = [names[p] for p, hole in zip(block.positions, holes, strict=True) if hole]
                raise DataError(
                    f"The family {block.family.name!r} of {quoted(own)} does not fill missing cells. "
                    "Next: leave these columns complete, or give them another family."
                )
            _refuse_unlearned(block, stats, names, holes)

    def _holes(
        self, found: Sequence[Cells], number: int, table: Table, order: Sequence[int], model: JointModel
    ) -> Holes:
        """Return one set of filled cells by column of the table, as values instead of codes."""
        holes: dict[int, tuple[Codes, Any]] = {}
        for block, cells, density in zip(self._blocks, found, model.density.blocks, strict=False):
            by_column = np.argsort(cells.column, kind="stable")
            filled, starts = np.unique(cells.column[by_column], return_index=True)
            for j, own in zip(filled.tolist(), np.split(by_column, starts[1:]), strict=False):
                position = block.positions[j]
                place = order[position]
                kind = table.schema.columns[place].kind
                kind = self._schema.columns[position].kind if kind is Kind.EMPTY else kind
                levels = density.levels[j] if hasattr(density, "levels") else None
                holes[place] = cells.row[own], _values(cells.value[number, own], kind, levels)
        return holes

    # --- sample ------------------------------------------------------------------------------------------------------

    def _draw_rows(
        self, n: int, label: Any, given: Mapping[Name, Any] | None, random_state: Any, container: str | None = None
    ) -> tuple[Any, Any]:
        """Return rows in a table of this kind, by default the one the model was fitted on, and labels."""
        number, model = read_count(n, "n"), self.model_
        known = None if label is None else self._class_number(label)
        rng = check_random_state(random_state)
        row = self._given_row(given or {})
        self._check_fillable(row, model, "sample")
        container = container or self._schema.container
        chunks = sample(model, number, row, len(self._schema), rng, known)
        parts, codes = [], []
        for rows, own in chunks:
            codes.append(own)
            parts.append([make_sparse(self._matrix(rows))] if container == "sparse" else rows)
        labels = self.classes_[np.concatenate(codes)]
        if container == "sparse":
            return stack_sparse([part[0] for part in parts]), labels
        blocks = [_stack(block) for block in zip(*parts, strict=True)]
        return make_table(container, self._schema.named, self._columns(blocks, model)), labels

    def _class_number(self, label: Any) -> int:
        classes = self.statistics_.classes
        same = [i for i, own in enumerate(classes) if isinstance(label, SCALARS) and own == label]
        if not same:
            raise SettingError(f"label={label!r} is not a class of this model. Next: use one of {quoted(classes)}.")
        return same[0]

    def _given_row(self, given: Mapping[Name, Any]) -> tuple[Any, ...]:
        """Return one row by block: the given cells, all others missing."""
        schema = self._schema
        positions = schema.positions(list(given))
        if len(set(positions)) < len(positions):
            raise SettingError(f"given={dict(given)!r} names a column twice. Next: name each once.")
        cells = np.full((1, len(schema)), None, dtype=object)
        for position, (name, value) in zip(positions, given.items(), strict=True):
            if not isinstance(value, SCALARS) or not holds_value(value):
                raise SettingError(f"given {name!r} is {value!r}, no value of a cell. Next: give one, or leave it out.")
            cells[0, position] = value
        table = read_table(cells)
        kinds = [column.kind for column in table.schema.columns]
        for own, kind in zip(schema.columns, kinds, strict=True):
            if Kind.EMPTY not in (own.kind, kind) and own.kind.is_number != kind.is_number:
                raise SettingError(
                    f"given {own.name!r} is {cells[0, schema.names.index(own.name)]!r}, and the column holds "
                    f"{own.kind.value} values. Next: give one of those."
                )
        # errors of the families name columns as the model does
        table.schema = Schema(tuple(map(Column, schema.names, kinds)), schema.named)
        told = set(positions)
        blocks = zip(self._blocks, self.statistics_.blocks, strict=True)
        return tuple(self._given_block(block, stats, table, told) for block, stats in blocks)

    def _given_block(self, block: Block, stats: Any, table: Table, told: set[int]) -> Any:
        own = [p for p in block.positions if p in told]
        names = self._schema.names
        if not getattr(block.family, "takes_missing", True) and len(own) < len(block.positions):
            if own:
                raise SettingError(
                    f"given {names[own[0]]!r} is one of the columns that share out a total (family "
                    f"{block.family.name!r}), and some of the others are not given. Next: give all or none of them."
                )
            return np.full((1, len(block.positions)), np.nan)
        row = block.family.recode(block.family.encode(table, block.positions), stats)
        if isinstance(row, tuple):
            for j, position in enumerate(block.positions):
                levels = stats.levels[j]
                if position in told and row[j][0] == len(levels):
                    raise SettingError(
                        f"given {names[position]!r} is a category never seen. Next: use one of {quoted(levels)}."
                    )
        return row

    def _columns(self, blocks: Sequence[Any], model: JointModel) -> list[NewColumn]:
        """Return the columns of new rows, in the order of the model's."""
        columns: list[NewColumn | None] = [None] * len(self._schema)
        for block, rows, density in zip(self._blocks, blocks, model.density.blocks, strict=True):
            whole = getattr(block.family, "support", None) in ("counts", "shares", "truths")
            for j, position in enumerate(block.positions):
                column = self._schema.columns[position]
                coded = isinstance(rows, tuple)
                levels = density.levels[j] if coded else None  # type: ignore[attr-defined]
                values = _values(rows[j] if coded else rows[:, j], column.kind, levels)
                if whole and values.dtype.kind == "f":
                    values = values.astype(np.int64)
                columns[position] = NewColumn(column.name, column.kind, values, levels)
        return [column for column in columns if column is not None]

    def _matrix(self, blocks: Sequence[Any]) -> Array:
        """Return new rows of numbers as one array (n, d)."""
        out = np.empty((len(blocks[0]), len(self._schema)))
        for block, rows in zip(self._blocks, blocks, strict=True):
            out[:, list(block.positions)] = rows
        return out


def read_count(value: Any, name: str) -> int:
    """Return a whole number of at least 1; SettingError otherwise."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or int(value) < 1:
        raise SettingError(f"{name}={value!r} must be a whole number of at least 1. Next: give one.")
    return int(value)


def _values(cells: Any, kind: Kind, levels: Sequence[Level] | None) -> Any:
    """Return the values of cells: truth values in a column of those, levels for codes (None for −1), or numbers."""
    if levels is None:
        return cells > 0.5 if kind is Kind.BOOLEAN else np.asarray(cells, dtype=np.float64)
    found = [levels[int(code)] if code >= 0 else None for code in cells]
    if None not in found and not kind.is_label and not any(isinstance(level, str) for level in levels):
        return np.array(found, dtype=bool if kind is Kind.BOOLEAN else None)
    values = np.empty(len(found), dtype=object)
    values[:] = found
    return values


def _stack(parts: Sequence[Any]) -> Any:
    """Return a block of all chunks of rows."""
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
    return np.concatenate(parts)


def _refuse_unlearned(block: Block, stats: Any, names: Sequence[Name], holes: NDArray[np.bool_]) -> None:
    """Raise DataError naming columns to fill of which no value was ever seen."""
    never = holes & (stats.column_weight().sum(axis=0) == 0)
    if never.any():
        own = [names[p] for p, flag in zip(block.positions, never, strict=True) if flag]
        raise DataError(
            f"No row learned so far has a value in {quoted(own)}, so nothing is known of what belongs there. "
            "Next: add rows that have one (partial_fit), or leave the column out."
        )
