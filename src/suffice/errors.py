"""The error tree: every refusal says what, what was got, why, and what to do next.

All errors are `ValueError`s, so code written for scikit-learn catches them. Text that needs care is built
by a named constructor here, never at the place that raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from ._wording import LONGEST, LONGEST_VALUE, brief, quoted, shown, visible


class SufficeError(ValueError):
    """Root of every error this library raises on purpose; a message of more than 1,000 characters is shortened."""

    def __init__(self, message: object = "") -> None:
        super().__init__(brief(visible(message)))


class SettingError(SufficeError):
    """A constructor or method argument has a value that cannot work."""

    @classmethod
    def choice(cls, name: str, got: object, allowed: Iterable[object]) -> SettingError:
        """Refuse a value outside a fixed list."""
        options = ", ".join(shown(option) for option in allowed)
        return cls(f"{name}={shown(got)} is not one of {options}.")


class SchemaError(SufficeError):
    """The columns of a table are not those the model knows, or have a kind it cannot use."""

    @classmethod
    def columns_differ(cls, missing: Sequence[object], extra: Sequence[object], who: str) -> SchemaError:
        """Refuse a table that lacks columns of the model, or has columns unknown to it."""
        parts = []
        if missing:
            parts.append(f"it lacks {quoted(missing)}")
        if extra:
            parts.append(f"{who} does not know {quoted(extra)}")
        return cls(
            f"The columns of this table differ from those of the fitted model: {'; '.join(parts)}. "
            "Next: rename, add or drop columns so that the names agree (their order does not matter)."
        )

    @classmethod
    def kind_differs(cls, column: object, expected: str, got: str) -> SchemaError:
        """Refuse a column whose kind is not the one seen at fit."""
        return cls(
            f"Column {shown(column)} was {expected} when the model was fitted and is {got} now. "
            f"Next: convert it to {expected}, or fit a new model."
        )

    @classmethod
    def temporal(cls, column: object, dtype: object) -> SchemaError:
        """Refuse dates and times, which carry no unit a density could use."""
        return cls(
            f"Column {shown(column)} holds dates or times ({dtype}), which have no density of their own. "
            "Next: turn it into numbers that matter (days since an event, month, hour) or drop it."
        )

    @classmethod
    def unsupported(cls, column: object, dtype: object) -> SchemaError:
        """Refuse a column type that is neither number, truth value nor category."""
        return cls(
            f"Column {shown(column)} has type {dtype}, which is neither numeric, boolean, categorical nor string. "
            "Next: convert it to one of those or drop it."
        )

    @classmethod
    def not_unicode(cls, column: object | None, text: str) -> SchemaError:
        """Refuse text with half a surrogate pair, as bytes of another encoding are read; None: a column's name."""
        what = "A column has the name" if column is None else f"Column {shown(column)} has the text"
        return cls(
            f"{what} {shown(text)}, which is not valid Unicode. Next: read the table with the encoding it was written "
            "in."
        )

    @classmethod
    def mixed_objects(cls, column: object, types: Iterable[str]) -> SchemaError:
        """Refuse an object column that mixes Python types."""
        return cls(
            f"Column {shown(column)} mixes values of the types {', '.join(sorted(types))}; every argument must be "
            "a string, or every one a number, or every one a truth value. Next: convert the column to one type."
        )

    @classmethod
    def needs_numbers(cls, columns: Sequence[object], who: str) -> SchemaError:
        """Refuse text in a model of numbers."""
        one = len(columns) == 1
        return cls(
            f"{who} models numbers, and {'column' if one else 'columns'} {quoted(columns)} "
            f"{'holds' if one else 'hold'} categories. Next: drop {'it' if one else 'them'}, or use NaiveBayes, "
            "which takes numbers and categories side by side."
        )


class DataError(SufficeError):
    """The cells, labels or weights of a table cannot be used."""

    @classmethod
    def infinite(cls, columns: Sequence[object]) -> DataError:
        """Refuse infinities by column."""
        return cls(
            f"Input X contains infinity in {'column' if len(columns) == 1 else 'columns'} {quoted(columns)}. "
            "Next: correct those cells, or make them missing (NaN), which every model here accepts."
        )

    @classmethod
    def in_column(cls, column: object, value: object, rule: str) -> Self:
        """Refuse a value that the family of its column gives no probability."""
        return cls(
            f"Column {shown(column)} has the value {value}; {rule}. Next: correct it, or give it another family."
        )

    @classmethod
    def released(cls, what: str, instead: str) -> DataError:
        """Refuse what takes the exact sums that a released model has given up."""
        return cls(
            f"This model was released: its sums were rounded and completed so that no row can be read off them, and it "
            f"cannot {what}. Next: {instead}."
        )

    @classmethod
    def overflowing(cls, columns: Sequence[object]) -> DataError:
        """Refuse numbers whose squares overflow."""
        return cls(
            f"The numbers in {quoted(columns)} are beyond 1e150, so that their squares overflow. "
            "Next: express them in larger units."
        )

    @classmethod
    def too_large(cls, what: str, needed: int, most: int, advice: str) -> DataError:
        """Refuse what would not fit into memory, before it is allocated."""
        return cls(
            f"{what} would take {needed / 2**30:,.2f} GiB, above the limit of {most / 2**30:,.2f} GiB (a quarter of "
            f"the memory there is, as the work needs more). Next: {advice}."
        )

    @classmethod
    def elsewhere(cls, kind: str, device: str) -> DataError:
        """Refuse an array on a device that may not be computed on."""
        return cls(
            f"X is a {kind} on the device {device}, which the CPU cannot read. Next: set SCIPY_ARRAY_API=1 in the "
            "environment and call sklearn.set_config(array_api_dispatch=True) to compute there, or move X to the CPU."
        )

    @classmethod
    def vanishing(cls, columns: Sequence[object]) -> DataError:
        """Refuse columns whose numbers are so small that their squares are 0 in floating point."""
        return cls(
            f"The numbers in {quoted(columns)} are below 1e-150, so that their squares vanish. "
            "Next: express them in smaller units."
        )

    @classmethod
    def vanishing_fourth(cls, columns: Sequence[object]) -> DataError:
        """Refuse columns whose numbers are so small that their fourth powers are 0 in floating point."""
        return cls(
            f"The numbers in {quoted(columns)} vary by less than 1e-72, so that their fourth powers, which Ledoit-Wolf "
            'shrinkage is computed from, vanish. Next: express them in smaller units, or use shrinkage="oas".'
        )

    @classmethod
    def not_learned(cls, row: int, label: object, why: str) -> DataError:
        """Refuse a row that is to be taken out of statistics it cannot be part of."""
        return cls(
            f"Row {row} of class {shown(label)} cannot be among the rows this model has learned: {why}. "
            "Next: pass rows, labels and sample_weight as they were given to fit or partial_fit."
        )

    @classmethod
    def unseen_labels(cls, labels: Sequence[object]) -> DataError:
        """Refuse labels outside the list the caller gave."""
        return cls(
            f"The target label(s) {quoted(labels)} in y do not exist in the initial classes, the list `classes`. "
            "Next: add to `classes` or correct the labels."
        )


class NegativeError(DataError):
    """A count or a code is below 0."""

    def named(self, who: str) -> NegativeError:
        """Say also whose fit or prediction it was, first and in the words of scikit-learn."""
        return type(self)(f"Negative values in data passed to {who} (input X). {self}")


class SourceError(DataError):
    """A table in files, or from an engine, cannot be read or written; the message names the file."""

    @classmethod
    def absent(cls, path: object) -> SourceError:
        """Say that nothing has this name or matches this pattern."""
        return cls(f"There is no file {str(path)!r}. Next: check the name and the folder.")

    @classmethod
    def unreadable(cls, where: object, why: object) -> SourceError:
        """Say which file, and which part of it, cannot be read."""
        return cls(f"{where} cannot be read: {_sentence(why)}. Next: write it again, or leave it out.")

    @classmethod
    def unwritable(cls, path: object, why: object) -> SourceError:
        """Say why a result cannot be written; an old file of that name is as it was."""
        return cls(f"{str(path)!r} cannot be written: {_sentence(why)}. Next: choose another place or name.")

    @classmethod
    def unknown_format(cls, path: object, formats: Sequence[str]) -> SourceError:
        """Refuse a file whose name does not say what it holds."""
        return cls(f"{str(path)!r} has no ending that says what it holds. Next: use one of {', '.join(formats)}.")

    @classmethod
    def no_rows(cls, what: object) -> SourceError:
        """Refuse a source without a row."""
        return cls(f"{what} holds no row. Next: check the name, the pattern or the query.")

    @classmethod
    def columns_missing(
        cls, where: object, missing: Sequence[object], known: Sequence[object], role: str
    ) -> SourceError:
        """Name columns that are not there, what they were wanted for, and those that are."""
        one = "column" if len(missing) == 1 else "columns"
        return cls(
            f"{where} has no {one} {quoted(missing)} {role}; it has {quoted(known)}. "
            "Next: correct the spelling, or rename the column in the table."
        )

    @classmethod
    def kind_differs(cls, where: object, column: object, expected: object, got: object) -> SourceError:
        """Refuse a file in which a column has another type than in the others."""
        return cls(
            f"{where}: column {shown(column)} is {got}, and {expected} in the other files. "
            "Next: write the files with one schema."
        )

    @classmethod
    def read_once(cls, who: str, passes: str) -> SourceError:
        """Refuse a stream where the rows are needed more than once."""
        return cls(
            f"{who} reads the rows {passes}, and a stream can be read once. Next: write the stream to a Parquet file "
            "and give its name."
        )


def _sentence(why: object) -> str:
    """Return a reason on one line, without the full stop that ends the sentence around it."""
    return " ".join(str(why).split()).rstrip(".")


class NotLearnedError(DataError):
    """Rows to be forgotten cannot have been among those a model has learned; nothing has changed.

    `code` is the number of the class, `block` and `columns` say where: positions of columns within a block.
    """

    def __init__(
        self,
        why: str,
        code: int | None = None,
        columns: Sequence[int] = (),
        block: int = 0,
        label: object = None,
        names: Sequence[object] = (),
    ) -> None:
        self.why, self.code, self.columns, self.block, self.label = why, code, tuple(columns), block, label
        who = "" if label is None else f" of class {shown(label)}"
        where = f" in {'column' if len(names) == 1 else 'columns'} {quoted(names)}" if names else ""
        super().__init__(
            f"These rows{who} cannot be forgotten, because they were never learned: {why}{where}. Nothing has changed. "
            "Next: give rows that were learned, with the labels and weights they had then."
        )

    def placed(self, label: object, block: int) -> NotLearnedError:
        """Return the same refusal, naming the class."""
        return type(self)(self.why, self.code, self.columns, block, label)

    def named(self, names: Sequence[object]) -> NotLearnedError:
        """Return the same refusal, naming the columns."""
        return type(self)(self.why, self.code, self.columns, self.block, self.label, names)


class SingularCovarianceError(SufficeError):
    """A covariance has no inverse and the caller asked for no shrinkage."""

    @classmethod
    def for_class(
        cls, label: object | None, columns: Sequence[object], rank: int, need: int
    ) -> SingularCovarianceError:
        """Name the class (None: the shared covariance), the columns involved and the rank found."""
        who = "The covariance of all classes" if label is None else f"Class {shown(label)}: the covariance"
        return cls(
            f"{who} has rank {rank} of {need} and shrinkage=0.0 forbids repair; the columns involved are "
            f"{quoted(columns)}. Next: drop one of them, give a small shrinkage such as shrinkage=1e-3, or leave "
            "shrinkage=None for the smallest that works."
        )

    @classmethod
    def while_filling(cls, label: object | None) -> SingularCovarianceError:
        """Name the class (None: all) whose covariance becomes singular while missing cells are filled in."""
        who = "The covariance of all classes" if label is None else f"Class {shown(label)}: the covariance"
        return cls(
            f"{who} becomes singular while missing cells are filled in, or EM does not settle, and shrinkage=0.0 "
            "forbids repair. Next: leave shrinkage=None, which gives it a prior worth one row, drop columns that "
            'others determine or that are mostly missing, or use covariance="diagonal".'
        )

    @classmethod
    def vague_prior(
        cls, label: object | None, columns: Sequence[object], rank: int, need: int
    ) -> SingularCovarianceError:
        """Name the class (None: all) whose rows leave a covariance singular that a vague prior adds nothing to."""
        who = "The covariance of all classes" if label is None else f"Class {shown(label)}: the covariance"
        return cls(
            f"{who} has rank {rank} of {need} and the prior adds nothing to it; the columns involved are "
            f"{quoted(columns)}. Next: drop one of them, or give the prior a strength above 0, such as "
            "NormalInverseWishart(strength=1.0)."
        )

    @classmethod
    def too_few_rows(cls, label: object | None, rows: float, columns: int) -> SingularCovarianceError:
        """Name the class (None: all) that has too few rows for Jeffreys' prior to leave a density."""
        who = "All classes together have" if label is None else f"Class {shown(label)} has"
        return cls(
            f"{who} {rows:g} rows, too few for a covariance of {columns} columns under Jeffreys' prior. "
            "Next: give the prior a strength, such as NormalInverseWishart(strength=1.0), or fit with shared=True."
        )


class MergeError(SufficeError):
    """Two sets of statistics or two models do not describe the same columns."""

    @classmethod
    def mixture(cls, what: str = "take in more rows") -> MergeError:
        """Refuse to add or remove rows of mixtures, whose responsibilities depend on all rows at once."""
        return cls(
            f"A mixture of several components cannot {what} exactly: which row belongs to which component "
            "depends on all of them. Next: call fit on all rows together, or use n_components=1 (or "
            "GaussianDiscriminant), whose models merge and forget."
        )

    @classmethod
    def not_editable(cls, kind: str, verb: str) -> MergeError:
        """Refuse an edit that the statistics of a family do not support."""
        return cls(
            f"The statistics {kind} have no {verb!r}, so this model cannot be edited in this way. Next: fit again on "
            "the rows in question, or give the statistics that method (see `suffice.stats`)."
        )

    @classmethod
    def pooled(cls, k: int) -> MergeError:
        """Refuse to take a class out of a sum of scatters whose parts were not kept."""
        return cls(
            f"The shared covariance was summed over {k} classes whose own parts were not kept (they would not fit in "
            "memory, or the model was released), so that no class can leave it exactly. "
            "Next: fit again without the class, or drop it before the release."
        )

    @classmethod
    def moments_added_up(cls, k: int) -> MergeError:
        """Refuse to move the mean of a class whose fourth moments were added to those of all others."""
        return cls(
            f'shrinkage="ledoit-wolf" of a covariance shared by {k} classes: moments of each class would not fit in '
            "memory, so that only the classes that came last can take in more rows exactly, and none can lose any. "
            "Next: give the rows of a class one after another (sorted by class), or all rows to fit; or use "
            'shrinkage="oas", which has no such limit.'
        )

    @classmethod
    def completed(cls) -> MergeError:
        """Refuse to add rows to statistics whose missing cells were filled in by passes over all rows."""
        return cls(
            "The rows miss cells in too many different patterns to keep statistics of each, so that their cells were "
            "filled in by passes over all of them, and more rows cannot be added exactly. Next: call fit on all rows "
            'together, or use covariance="diagonal" or NaiveBayes, whose models merge whatever is missing.'
        )


class ExportError(SufficeError):
    """A fitted model cannot be written in another language, or what was written does not answer as the model does."""

    @classmethod
    def density(cls, kind: str, columns: Sequence[object]) -> ExportError:
        """Refuse a density that exports have no form for, such as one of a family that users wrote."""
        where = f" of the columns {quoted(columns)}" if columns else ""
        return cls(
            f"The density {kind}{where} is not one that can be exported. Next: give those columns one of the families "
            "that come with suffice, or score in Python with suffice predict."
        )

    @classmethod
    def too_large(cls, size: int, most: int, exact: bool) -> ExportError:
        """Refuse a query with more covariances than databases can plan."""
        step = 'pass missing="null", which scores complete rows only and is far shorter, or ' if exact else ""
        return cls(
            f"The query would work out {size} numbers of covariances for each row, and databases cope with about "
            f'{most}. Next: {step}fit with fewer columns, shared=True or covariance="diagonal".'
        )


class ModelFileError(SufficeError):
    """A model file is damaged, foreign, too new, or not safe to read."""

    @classmethod
    def unreadable(cls, path: object, why: str) -> ModelFileError:
        """Say which file and what is wrong with it."""
        return cls(f"{path} is not a usable suffice model file: {why}. Next: save the model again, or restore a copy.")

    @classmethod
    def unsaved(cls, path: object, why: str) -> ModelFileError:
        """Say why a model was not written, and that nothing was."""
        return cls(
            f"{path} was not written, and an old file is as it was: read back, it would not be this model ({why}). "
            "Next: check what it learned last; tell of a class of your own by suffice.estimators.register."
        )

    @classmethod
    def no_model(cls, path: object) -> ModelFileError:
        """Refuse to put a model in the place of something else."""
        why = "a model in its place would destroy it. Next: choose another name, or remove that file first."
        return cls(f"{path} holds something other than a model, and {why}")


class ModelChangedError(ModelFileError):
    """A model file is not the one any more from which the model to be saved was loaded."""

    @classmethod
    def since_loaded(cls, path: object) -> ModelChangedError:
        """Say that the file has changed, and how nothing gets lost."""
        return cls(
            f"{path} has changed since this model was loaded from it: saving would undo what another process or thread "
            "has written, so nothing was written. Next: load it again and repeat the edit, or save this model under "
            "another name."
        )


__all__ = [
    "LONGEST",
    "LONGEST_VALUE",
    "DataError",
    "ExportError",
    "MergeError",
    "ModelChangedError",
    "ModelFileError",
    "NegativeError",
    "NotLearnedError",
    "SchemaError",
    "SettingError",
    "SingularCovarianceError",
    "SourceError",
    "SufficeError",
    "brief",
    "quoted",
    "shown",
    "visible",
]
