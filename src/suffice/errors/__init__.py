"""The error tree: every refusal says what, what was got, why, and what to do next.

All errors are `ValueError`s, so code written for scikit-learn catches them. What several places say is built by a
named constructor here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePath
from typing import Self

from .wording import (
    LONGEST as LONGEST,
    UNSEEN as UNSEEN,
    FrontEnd as FrontEnd,
    a_model as a_model,
    align as align,
    brief as brief,
    closest as closest,
    count as count,
    cut as cut,
    did_you_mean as did_you_mean,
    either as either,
    one_line as one_line,
    pip_install as pip_install,
    quoted as quoted,
    sentence as sentence,
    setting as setting,
    shown as shown,
    spaced as spaced,
    visible as visible,
    worded_for as worded_for,
)

MOST_FILES = 10_000  # of a folder, looked through for a name nearly like the one given
_PANDAS = "save it as .csv or .xlsx there, or in Python: pandas.{}(…).to_csv('table.csv', index=False)"
# By their endings: what they hold, and how to go on.
CONVERTED = {
    ".json": ("JSON", "write one object a line into a .jsonl, for example by jq -c '.[]' table.json > table.jsonl"),
    **dict.fromkeys((".zip", ".7z", ".tar", ".tgz"), ("an archive", "unpack it, and give the table in it")),
    ".sav": ("a table of SPSS", _PANDAS.format("read_spss")),
    ".dta": ("a table of Stata", _PANDAS.format("read_stata")),
    ".sas7bdat": ("a table of SAS", _PANDAS.format("read_sas")),
    ".xpt": ("a table of SAS", _PANDAS.format("read_sas")),
    ".rds": ("an object of R", "in R: write.csv(readRDS('table.rds'), 'table.csv', row.names = FALSE)"),
    ".rdata": ("objects of R", "in R: load it, and write.csv(table, 'table.csv', row.names = FALSE)"),
    ".numbers": ("a sheet of Numbers", "there: File, Export To, CSV or Excel"),
    ".html": ("a web page", _PANDAS.format("read_html")),
    ".xml": ("XML", _PANDAS.format("read_xml")),
    **dict.fromkeys(
        (".pdf", ".doc", ".docx"), ("a document", "copy its table into a sheet, and save that as .csv or .xlsx")
    ),
    ".db": (
        "a database",
        "write the result of a query as .csv, or in Python: fit_table((duckdb.connect(…), 'SELECT …'), …)",
    ),
    ".h5": ("HDF5", _PANDAS.format("read_hdf")),
    ".pkl": ("Python objects", "in Python: fit(table, labels), or table.to_csv('table.csv', index=False)"),
    ".npy": ("an array of NumPy", "in Python: fit(numpy.load(…), labels)"),
    ".npz": ("arrays of NumPy", "in Python: fit(numpy.load(…)[…], labels)"),
    ".arff": ("a table of Weka", "there: save it as .csv"),
    ".avro": ("Avro", "in Python: polars.read_avro(…).write_csv('table.csv')"),
    ".orc": ("ORC", "in Python: pyarrow.orc.read_table(…), and fit_table(table, …)"),
}
CONVERTED |= {".sqlite": CONVERTED[".db"], ".sqlite3": CONVERTED[".db"], ".duckdb": CONVERTED[".db"]}
CONVERTED |= {".htm": CONVERTED[".html"], ".hdf5": CONVERTED[".h5"], ".pickle": CONVERTED[".pkl"]}


class SufficeError(ValueError):
    """Root of every error this library raises on purpose; a message of more than 1,000 characters is shortened."""

    def __init__(self, message: object = "") -> None:
        super().__init__(brief(visible(message)))


class SettingError(SufficeError):
    """A constructor or method argument has a value that cannot work."""

    @classmethod
    def choice(cls, name: str, got: object, allowed: Iterable[object]) -> SettingError:
        options = ", ".join(shown(option) for option in allowed)
        return cls(f"{setting(name, got)} is not one of {options}.")


class SchemaError(SufficeError):
    """The columns of a table are not those the model knows, or have a kind it cannot use."""

    @classmethod
    def columns_differ(
        cls, missing: Sequence[object], extra: Sequence[object], who: str, asked: bool = False
    ) -> SchemaError:
        parts = []
        if missing:
            parts.append(f"it lacks {quoted(missing)}")
        if extra:
            parts.append(f"{either(who, 'the model')} does not know {quoted(extra)}")
        option = f"; or ask with {setting('missing_columns', 'missing')}, which takes those it lacks as missing"
        return cls(
            f"The columns of this table differ from those of the fitted model: {'; '.join(parts)}. Next: rename, add "
            "or drop columns so that the names agree (their order does not matter)"
            f"{option if missing and asked else ''}."
        )

    @classmethod
    def kind_differs(cls, column: object, expected: str, got: str) -> SchemaError:
        return cls(
            f"Column {shown(column)} was {expected} when the model was fitted and is {got} now. "
            f"Next: convert it to {expected}, or fit a new model."
        )

    @classmethod
    def temporal(cls, column: object, dtype: object) -> SchemaError:
        return cls(
            f"Column {shown(column)} holds dates or times ({dtype}) that are not read: dates and date-times are read, "
            "but not as labels or categories, and neither times of day nor durations are. Next: turn it into numbers "
            "that matter (days since an event, month, hour) or drop it."
        )

    @classmethod
    def no_text(cls, column: object, kind: str) -> SchemaError:
        return cls(
            f"Column {column!r} holds {kind} values, and a column of texts holds text. Next: leave it out of the "
            "columns of texts."
        )

    @classmethod
    def unsupported(cls, column: object, dtype: object) -> SchemaError:
        return cls(
            f"Column {shown(column)} has type {dtype}, which is neither numeric, boolean, categorical nor string. "
            "Next: convert it to one of those, such as text (`astype(str)`), or drop it."
        )

    @classmethod
    def needs_numbers(cls, columns: Sequence[object], who: str) -> SchemaError:
        one = len(columns) == 1
        return cls(
            f"{either(who, 'This model')} models numbers, and {'column' if one else 'columns'} {quoted(columns)} "
            f"{'holds' if one else 'hold'} categories. Next: drop {'it' if one else 'them'}, or use "
            f"{either('NaiveBayes', '--model nb')}, which takes numbers and categories side by side."
        )


class DataError(SufficeError):
    """The cells, labels or weights of a table cannot be used."""

    @classmethod
    def infinite(cls, columns: Sequence[object]) -> DataError:
        return cls(
            f"There is infinity in {'column' if len(columns) == 1 else 'columns'} {quoted(columns)}. Next: correct "
            f"those cells, or make them missing{either(' (NaN)', '')}, which every model here accepts."
        )

    @classmethod
    def in_column(cls, column: object, value: object, rule: str) -> Self:
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
    def without_rows(
        cls, what: str = "This model keeps no rows to judge itself by", released: bool = False, otherwise: str = ""
    ) -> DataError:
        """Refuse what takes rows of a model that keeps none; a released one is of a model that may."""
        step = "ask the model it was made from" if released else f"fit it again with {setting('keep_rows', 2000)}"
        return cls(f"{what}. Next: {step}{otherwise}.")

    @classmethod
    def overflowing(cls, columns: Sequence[object]) -> DataError:
        return cls(
            f"The numbers in {quoted(columns)} are beyond 1e150, so that their squares overflow. "
            "Next: express them in larger units."
        )

    @classmethod
    def not_whole(cls) -> DataError:
        return cls(
            f"Ledoit-Wolf shrinkage is computed from complete rows, and cells{either(' (NaN)', '')} are missing. Next: "
            f"use {setting('shrinkage', 'oas')}, which takes them, or drop the incomplete rows."
        )

    @classmethod
    def not_learned(cls, row: int, label: object, why: str) -> DataError:
        """Refuse a row that is to be taken out of statistics it cannot be part of."""
        return cls(
            f"Row {row} of class {shown(label)} cannot be among the rows this model has learned: {why}. "
            f"Next: pass rows, labels and {either('sample_weight', 'weights')} as they were given to "
            f"{either('fit or partial_fit', '`suffice fit` or `suffice update`')}."
        )


class NegativeError(DataError):
    """A count or a code is below 0."""

    def named(self, who: str) -> NegativeError:
        """Say also whose fit or prediction it was, first and in the words of scikit-learn."""
        return type(self)(f"{either(f'Negative values in data passed to {who} (input X). ', '')}{self}")


class SourceError(DataError):
    """A table in files, or from an engine, cannot be read or written; the message names the file."""

    @classmethod
    def absent(cls, path: object) -> Self:
        """Say that there is no such file, and which file of that folder is called nearly the same."""
        wanted, told = Path(str(path)), f"There is no file {str(path)!r}"
        if not wanted.parent.is_dir():
            return cls(f"{told}, nor the folder {str(wanted.parent)!r}. Next: check the name.")
        names = list[str]()
        with suppress(OSError):  # there may be no permission to list the folder
            names = [own.name for own in islice(wanted.parent.iterdir(), MOST_FILES) if own.is_file()]
        near = closest(wanted.name, [name for name in names if not name.startswith(".")])  # as locks do, for one
        if not near or any(mark in wanted.name for mark in "*?["):
            return cls(f"{told}. Next: check the name and the folder.")
        return cls(f"{told}. Next: check the name; did you mean {str(wanted.with_name(near[0]))!r}?")

    @classmethod
    def folder(cls, path: object) -> Self:
        return cls(f"{str(path)!r} is a folder, not a file. Next: name one file in it.")

    @classmethod
    def unreadable(cls, where: object, why: object) -> Self:
        return cls(f"{where} cannot be read: {sentence(why)}. Next: write it again, or leave it out.")

    @classmethod
    def unwritable(cls, path: object, why: object) -> Self:
        return cls(f"{str(path)!r} cannot be written: {sentence(why)}. Next: choose another place or name.")

    @classmethod
    def unknown_format(cls, path: object, formats: Sequence[str]) -> Self:
        ending = PurePath(str(path)).suffix.lower()
        if ending in CONVERTED:
            return cls(f"{str(path)!r} holds {CONVERTED[ending][0]}, which is not read. Next: {CONVERTED[ending][1]}.")
        return cls(
            f"{str(path)!r} has no ending that says what it holds. Next: name it after what it holds: "
            f"{', '.join(formats)} (text also with .gz, .bz2 or .zst behind)."
        )

    @classmethod
    def address(cls, address: object) -> Self:
        text = re.sub(r"^(\w+):/+", r"\1://", str(address))
        how = f"curl -LO {text!r}" if text.startswith(("http", "ftp")) else "the tool of that store"
        return cls(f"{text!r} is an address, and tables are read from files. Next: download it first, with {how}.")

    @classmethod
    def no_rows(cls, what: object) -> Self:
        return cls(f"{what} holds no row. Next: check the name, the pattern or the query.")

    @classmethod
    def columns_missing(cls, where: object, missing: Sequence[object], known: Sequence[object], role: str) -> Self:
        """Name missing columns, what they were wanted for, and the closest names there are."""
        some = dict.fromkeys(near for name in missing for near in closest(str(name), map(str, known)))
        one = len(some) == 1
        there = f"the closest {'is' if one else 'are'} {quoted(list(some))}" if some else f"it has {quoted(known)}"
        return cls(
            f"{where} has no {'column' if len(missing) == 1 else 'columns'} {quoted(missing)} {role}; {there}. "
            "Next: correct the spelling, or rename the column in the table."
        )

    @classmethod
    def read_once(cls, who: str, passes: str) -> Self:
        return cls(
            f"{who} reads the rows {passes}, and a stream can be read once. Next: write the stream to a Parquet file "
            "and give its name."
        )

    @classmethod
    def repeated(cls, path: object, names: Sequence[str]) -> Self:
        return cls(f"{str(path)!r} has several columns named {quoted(names)}. Next: rename all but one of them.")

    @classmethod
    def pipe(cls, path: object) -> Self:
        return cls(
            f"{str(path)!r} is a pipe or a device, not a file, and files are read more than once. Next: write it to a "
            "file first, and name that."
        )

    @classmethod
    def not_as_named(cls, path: object, what: str, why: object) -> Self:
        return cls(
            f"{str(path)!r} cannot be read as {what}: {sentence(why)}. Next: check that the file is complete and that "
            "its name ends in what it holds."
        )


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
            "Next: give rows that were learned, with the labels, weights and groups they had then."
        )

    def placed(self, label: object, block: int) -> NotLearnedError:
        """Return the same refusal, naming the class."""
        return type(self)(self.why, self.code, self.columns, block, label)

    def named(self, names: Sequence[object]) -> NotLearnedError:
        """Return the same refusal, naming the columns."""
        return type(self)(self.why, self.code, self.columns, self.block, self.label, names)


class RepeatedRowsWarning(UserWarning):
    """Two models that are merged have learned some of the same rows, which then count twice."""


class UnseenLevelWarning(UserWarning):
    """A table has a category that a model has never seen, though a known one is like it: see `UnseenLevel`."""


# ── Errors about what a model is estimated from, merged with, and saved to ────────────────────────────────────────────


def _covariance(label: object | None) -> str:
    return "The covariance of all classes" if label is None else f"Class {shown(label)}: the covariance"


class SingularCovarianceError(SufficeError):
    """A covariance has no inverse and the caller asked for no shrinkage."""

    @classmethod
    def for_class(
        cls, label: object | None, columns: Sequence[object], rank: int, need: int
    ) -> SingularCovarianceError:
        """Name the class (None: the shared covariance), the columns involved and the rank found."""
        return cls(
            f"{_covariance(label)} has rank {rank} of {need} and {setting('shrinkage', 0.0)} forbids repair; the "
            f"columns involved are {quoted(columns)}. Next: drop one of them, give a small shrinkage such as "
            f"{either('shrinkage=1e-3, or leave shrinkage=None', '--shrinkage 0.001, or leave out --shrinkage')} "
            "for the smallest that works."
        )

    @classmethod
    def while_filling(cls, label: object | None) -> SingularCovarianceError:
        """Name the class (None: all) whose covariance becomes singular while missing cells are filled in."""
        return cls(
            f"{_covariance(label)} becomes singular while missing cells are filled in, or EM does not settle, and "
            f"{setting('shrinkage', 0.0)} forbids repair. Next: "
            f"{either('leave shrinkage=None', 'leave out --shrinkage')}, which gives it a prior worth one row, drop "
            "columns that others determine or that are mostly missing, or use "
            f"{setting('covariance', 'diagonal')}."
        )

    @classmethod
    def vague_prior(
        cls, label: object | None, columns: Sequence[object], rank: int, need: int
    ) -> SingularCovarianceError:
        """Name the class (None: all) whose rows leave a covariance singular that a vague prior adds nothing to."""
        return cls(
            f"{_covariance(label)} has rank {rank} of {need} and the prior adds nothing to it; the columns involved "
            f"are {quoted(columns)}. Next: drop one of them, or give the prior a strength above 0, "
            f"{either('such as NormalInverseWishart(strength=1.0)', 'by a fit in Python')}."
        )

    @classmethod
    def too_few_rows(cls, label: object | None, rows: float, columns: int) -> SingularCovarianceError:
        """Name the class (None: all) that has too few rows for Jeffreys' prior to leave a density."""
        who = "All classes together have" if label is None else f"Class {shown(label)} has"
        return cls(
            f"{who} {rows:g} rows, too few for a covariance of {columns} columns under Jeffreys' prior. "
            "Next: give the prior a strength, "
            f"{either('such as NormalInverseWishart(strength=1.0)', 'by a fit in Python')}, or fit with "
            f"{either('shared=True', '--model shared')}."
        )


class MergeError(SufficeError):
    """Two sets of statistics or two models do not describe the same columns."""

    @classmethod
    def mixture(cls, what: str = "take in more rows") -> MergeError:
        return cls(
            f"A mixture of several components cannot {what} exactly: which row belongs to which component "
            f"depends on all of them. Next: {either('call fit', 'run `suffice fit`')} on all rows together, or use "
            f"{either('n_components=1 (or GaussianDiscriminant)', '--components 1 (or --model full)')}, whose models "
            "merge and forget."
        )

    @classmethod
    def not_editable(cls, kind: str, verb: str) -> MergeError:
        return cls(
            f"The statistics {kind} have no {verb!r}, so this model cannot be edited in this way. Next: fit again on "
            f"the rows in question{either(', or give the statistics that method (see `suffice.stats`)', '')}."
        )

    @classmethod
    def pooled(cls, k: int) -> MergeError:
        return cls(
            f"The shared covariance was summed over {k} classes whose own parts were not kept (they would not fit in "
            "memory, or the model was released), so that no class can leave it exactly. "
            "Next: fit again without the class, or drop it before the release."
        )

    @classmethod
    def completed(cls) -> MergeError:
        return cls(
            "The rows miss cells in too many different patterns to keep statistics of each, so that their cells were "
            "filled in by passes over all of them, and more rows cannot be added exactly. Next: "
            f"{either('call fit', 'run `suffice fit`')} on all rows together, or use "
            f"{setting('covariance', 'diagonal')} or {either('NaiveBayes', '--model nb')}, whose models merge whatever "
            "is missing."
        )


class ExportError(SufficeError):
    """A fitted model cannot be written in another language, or what was written does not answer as the model does."""

    @classmethod
    def density(cls, kind: str, columns: Sequence[object]) -> ExportError:
        where = f" of the columns {quoted(columns)}" if columns else ""
        if kind == "TextDensity":
            what = "holds texts" if len(columns) == 1 else "hold texts"
            return cls(
                f"{quoted(columns)} {what}, whose words neither SQL nor ONNX takes apart as the model does. Next: "
                f"score with `{either('predict_proba', 'suffice predict')}`, or export a model without texts."
            )
        return cls(
            f"The density {kind}{where} is not one that can be exported. Next: give those columns one of the families "
            f"that come with suffice, or score with `{either('predict_proba', 'suffice predict')}`."
        )

    @classmethod
    def dates(cls, columns: Sequence[object]) -> ExportError:
        return cls(
            f"{quoted(columns)} {'holds' if len(columns) == 1 else 'hold'} dates, which neither SQL nor ONNX reads as "
            f"the model does. Next: score with `{either('predict_proba', 'suffice predict')}`, or export a model of "
            "numbers, such as days since an event."
        )


class ModelFileError(SufficeError):
    """A model file is damaged, foreign, too new, or not safe to read."""

    @classmethod
    def unreadable(cls, path: object, why: str) -> ModelFileError:
        return cls(f"{path} is not a usable suffice model file: {why}. Next: save the model again, or restore a copy.")

    @classmethod
    def gone(cls, path: object, what: str, instead: str) -> ModelFileError:
        """Say that a file holds what this version has no more."""
        return cls(
            f"{path} is a model with {what}, which this version of suffice no longer has. "
            f"Next: load it with suffice 0.2, or {instead}."
        )

    @classmethod
    def unsaved(cls, path: object, why: str) -> ModelFileError:
        return cls(
            f"{path} was not written, and an old file is as it was: read back, it would not be this model ({why}). "
            "Next: check what it learned "
            f"last{either('; tell of a class of your own by suffice.estimators.register', '')}."
        )


class ModelChangedError(ModelFileError):
    """A model file is not the one any more from which the model to be saved was loaded."""
