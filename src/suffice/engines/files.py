"""Tables in files of any size: Parquet by row group, Arrow files, CSV as a stream; one file, many, or a folder.

Every file's footer is read before any row, so that a file whose columns differ is named at once.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from .._files import COMPRESSED, FORMATS, MISSING_TOKENS, format_of
from ..errors import SourceError
from .parts import UNREADABLE, FilePart, arrow_batches, arrow_schema, claims_too_much

BLOCK = 1 << 24  # bytes of a CSV read at a time
# What a column of a CSV becomes when a cell does not fit its type: the order in which Arrow itself tries types.
WIDER: dict[Any, Any] = {
    pa.null(): pa.int64(),
    pa.int64(): pa.float64(),
    pa.float64(): pa.string(),
    pa.bool_(): pa.string(),
}


@dataclass(frozen=True)
class Files:
    """The files of one table: Parquet and Arrow files as parts, CSV files by name."""

    name: str
    schema: Any
    rows: int | None
    parts: tuple[FilePart, ...]
    csv: tuple[Path, ...]
    stamps: tuple[str, ...]


def file_kind(path: Path) -> str:
    """Return what the ending of a name promises: "CSV", "Parquet" or "Arrow"; SourceError if it promises nothing."""
    kind = format_of(path)
    if kind is None:
        raise SourceError.unknown_format(path, [known for known in FORMATS if known != ".pq"])
    return kind


def find_files(source: Any) -> tuple[list[Path], Path | None]:
    """Return the files that a name, a pattern, a folder or a list of these means, sorted, and the folder if it is one.

    Names that begin with a dot or an underscore are no data: they are the marks that engines leave.
    """
    if isinstance(source, list | tuple):
        return [file for item in source for file in find_files(item)[0]], None
    path = Path(source)
    if path.is_dir():
        below = sorted(file for file in path.rglob("*") if file.is_file() and not _is_mark(file, path))
        known = [file for file in below if format_of(file)]
        if not known:
            raise SourceError(
                f"{str(path)!r} is a folder that holds no Parquet, Arrow or CSV file. Next: check the name."
            )
        return known, path
    if path.exists():
        return [path], None
    found = sorted(Path(name) for name in glob.glob(str(source), recursive=True))  # noqa: PTH207 - it may be absolute
    if not found:
        raise SourceError.absent(source)
    return [file for item in found for file in find_files(item)[0]], None


def _is_mark(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def open_files(source: Any) -> Files:
    """Return the files of a table, checked against each other."""
    paths, folder = find_files(source)
    name = str(source) if isinstance(source, str | Path) else f"{paths[0]} and the others"
    kinds = {file_kind(path) for path in paths}
    if len(kinds) > 1:
        several = ", ".join(sorted(kinds))
        raise SourceError(f"{name!r} means files of several formats, {several}. Next: name those of one format.")
    for path in paths:
        _check_readable(path)
    stamps = tuple(f"{path.resolve()} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in paths)
    kind = kinds.pop()
    if kind == "CSV":
        return Files(repr(name), None, None, (), tuple(paths), stamps)
    schema, rows, parts = _open_parts(paths, kind, folder)
    return Files(repr(name), schema, rows, parts, (), stamps)


def _check_readable(path: Path) -> None:
    if not os.access(path, os.R_OK):
        raise SourceError.unreadable(repr(str(path)), "there is no permission to read it")
    if path.stat().st_size == 0:
        raise SourceError(f"{str(path)!r} is empty. Next: remove it, or write it again.")


def _open_parts(paths: Sequence[Path], kind: str, folder: Path | None) -> tuple[Any, int, tuple[FilePart, ...]]:
    """Return the schema, the number of rows and the parts of Parquet or Arrow files."""
    with ThreadPoolExecutor(8) as pool:
        footers = list(pool.map(_parquet_footer if kind == "Parquet" else _arrow_footer, paths))
    schema = _common_schema(footers)
    places = [_given(path, folder) for path in paths]
    for name in dict.fromkeys(name for place in places for name in place):
        values = [place.get(name) for place in places]
        whole = all(value is not None and re.fullmatch(r"-?\d{1,18}", value) for value in values)
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.int64() if whole else pa.string()))
    parts: list[FilePart] = []
    for footer, place in zip(footers, places, strict=True):
        kinds = {name: schema.field(name).type for name in place}
        cells = tuple((name, int(v) if v is not None and kinds[name] == pa.int64() else v) for name, v in place.items())
        groups = [number for number, rows in enumerate(footer.groups) if rows]
        parts += [FilePart(footer.path, None if kind == "Arrow" else group, schema, cells) for group in groups]
    return schema, sum(sum(footer.groups) for footer in footers), tuple(parts)


@dataclass(frozen=True)
class _Footer:
    """What a file says of itself: its schema, and the rows of each row group (of an Arrow file: of all)."""

    path: str
    schema: Any
    groups: tuple[int, ...]


def _parquet_footer(path: Path) -> _Footer:
    try:
        with pq.ParquetFile(path) as file:
            meta = file.metadata
            groups = tuple(int(meta.row_group(number).num_rows) for number in range(meta.num_row_groups))
            return _Footer(str(path), _readable_names(file.schema_arrow), groups)
    except UNREADABLE as error:
        raise SourceError.unreadable(repr(str(path)), error) from error


def _arrow_footer(path: Path) -> _Footer:
    try:
        with pa.OSFile(str(path)) as file:
            schema = arrow_schema(file)
            file.seek(0)
            rows = sum(batch.num_rows for batch in arrow_batches(file, ()))
            if claims_too_much(rows, len(schema), path.stat().st_size):
                raise pa.ArrowInvalid(f"it claims {rows:,} rows, more than its size allows")
            return _Footer(str(path), _readable_names(schema), (rows,))
    except UNREADABLE as error:
        raise SourceError.unreadable(repr(str(path)), error) from error


def _readable_names(schema: Any) -> Any:
    """Return a schema without metadata; UnicodeDecodeError where a name is no text."""
    return pa.schema([pa.field(field.name, field.type) for field in schema])


def _given(path: Path, folder: Path | None) -> dict[str, str | None]:
    """Return the cells that the names of a file's folders give, `column=value` as Hive writes them."""
    if folder is None:
        return {}
    pairs = (part.partition("=") for part in path.relative_to(folder).parts[:-1])
    return {
        unquote(name): None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)
        for name, mark, value in pairs
        if mark
    }


def _common_schema(footers: Sequence[_Footer]) -> Any:
    """Return the schema of all files; SourceError names a file that lacks a column or has it in another kind."""
    filled = [footer for footer in footers if any(footer.groups)] or list(footers[:1])
    first = filled[0]
    wanted = dict.fromkeys(first.schema.names)
    for footer in filled:
        own = dict.fromkeys(footer.schema.names)
        missing = [name for name in wanted if name not in own]
        if missing:
            raise SourceError.columns_missing(repr(footer.path), missing, list(own), "as the other files have")
        extra = [name for name in own if name not in wanted]
        if extra:
            raise SourceError.columns_missing(repr(first.path), extra, first.schema.names, f"as {footer.path!r} has")
    fields = []
    for name in wanted:
        kind = pa.null()
        for footer in filled:
            if footer.schema.names.count(name) == 1:
                kind = _joined(kind, footer.schema.field(name).type, footer.path, name)
        fields += [pa.field(name, kind)] * first.schema.names.count(name)
    return pa.schema(fields)


def _joined(one: Any, other: Any, path: str, name: str) -> Any:
    """Return the type that holds the cells of both."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other)]
    try:
        fields = [pa.schema([pa.field(name, kind)]) for kind in plain]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except pa.ArrowException as error:
        raise SourceError.kind_differs(repr(path), name, one, other) from error


# --- CSV -------------------------------------------------------------------------------------------------------------


@dataclass
class Meter:
    """How much of some files is read: the bytes of those done, and the one being read."""

    size: int
    done: int = 0
    file: Any = None

    def share(self) -> float:
        """Return the share of the bytes that is read, which is some blocks ahead of the rows."""
        here = 0 if self.file is None or self.file.closed else int(self.file.tell())
        return min((self.done + here) / max(self.size, 1), 1.0)


def open_csv(
    paths: Sequence[Path], text: Sequence[str] = ()
) -> tuple[Any, Callable[[Sequence[str]], Iterator[Any]], Meter]:
    """Return the schema of CSV files, what reads columns of them, and how far that is.

    `text` names columns that are text whatever they look like. A file of more than one block is read once more before:
    Arrow settles a type by the first block, and a later cell may not fit it.
    """
    schemas = [_first_types(path) for path in paths]
    names = schemas[0].names
    types = dict(zip(names, schemas[0].types, strict=True))
    for path, schema in zip(paths, schemas, strict=True):
        if sorted(schema.names) != sorted(names):
            missing = [name for name in names if name not in schema.names]
            extra = [name for name in schema.names if name not in names]
            role = "as the other files have" if missing else f"as {str(path)!r} has"
            where, known = (path, schema.names) if missing else (paths[0], names)
            raise SourceError.columns_missing(repr(str(where)), missing or extra, known, role)
        types = {name: _wider(types[name], schema.field(name).type) for name in names}
    types |= {name: pa.string() for name in text if name in types}
    for path in paths:
        types = _settle(path, types, len(paths) > 1)

    meter = Meter(sum(path.stat().st_size for path in paths))

    def read(columns: Sequence[str]) -> Iterator[Any]:
        meter.done = 0
        for path in paths:
            with pa.OSFile(str(path)) as meter.file:
                for batch in _csv_reader(path, types, columns, meter.file):
                    yield batch.select(list(columns))
            meter.done += path.stat().st_size

    return pa.schema([pa.field(name, types[name]) for name in names]), read, meter


def _csv_reader(
    path: Path, types: dict[str, Any] | None, columns: Sequence[str] | None = None, file: Any = None
) -> Any:
    options = arrow_csv.ConvertOptions(
        null_values=list(MISSING_TOKENS), strings_can_be_null=True, column_types=types, include_columns=columns
    )
    try:
        if file is not None and path.suffix.lower() in COMPRESSED:
            file = pa.CompressedInputStream(file, pa.Codec.detect(str(path)).name)
        return arrow_csv.open_csv(
            path if file is None else file,
            read_options=arrow_csv.ReadOptions(block_size=BLOCK),
            # Without newlines_in_values a quoted line break at the edge of a block would tear a row in two.
            parse_options=arrow_csv.ParseOptions(delimiter=csv_separator(path), newlines_in_values=True),
            convert_options=options,
        )
    except (pa.ArrowException, OSError) as error:
        raise SourceError.unreadable(repr(str(path)), error) from error


def csv_separator(path: Path) -> str:
    """Return the separator of a CSV: tab for .tsv, else what the line of column names uses."""
    if ".tsv" in (path.suffix.lower(), path.with_suffix("").suffix.lower()):
        return "\t"
    with pa.input_stream(str(path)) as file:
        names = file.read(1 << 16).split(b"\n")[0].decode("utf-8", "replace")
    return next((mark for mark in ",;\t|" if mark in names), ",")


def _first_types(path: Path) -> Any:
    schema = _csv_reader(path, None).schema
    return pa.schema([pa.field(field.name, field.type) for field in schema])


def _wider(one: Any, other: Any) -> Any:
    if one == other or other == pa.null():
        return one
    if one == pa.null():
        return other
    return pa.float64() if {one, other} == {pa.int64(), pa.float64()} else pa.string()


def _settle(path: Path, types: dict[str, Any], others: bool) -> dict[str, Any]:
    """Return types that every cell of a file fits."""
    small = path.stat().st_size < BLOCK and path.suffix.lower() not in COMPRESSED
    if small and not others:
        return types
    types = {name: WIDER[kind] if kind == pa.null() else kind for name, kind in types.items()}
    while True:
        try:
            for _ in _csv_reader(path, types):
                pass
        except (pa.ArrowInvalid, SourceError) as error:
            column = re.search(r"In CSV column #(\d+):(?: Row #\d+:)? CSV conversion error", str(error))
            if column is None:
                raise SourceError.unreadable(repr(str(path)), error) from error
            name = _csv_reader(path, dict.fromkeys(types, pa.string())).schema.names[int(column[1])]
            types = {**types, name: WIDER.get(types[name], pa.string())}
        else:
            return types
