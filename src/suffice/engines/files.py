"""Tables in files of any size: Parquet by row group, Arrow files, CSV by name; one file, many, or a folder.

Every file's footer is read before any row, so that a file whose columns differ is named at once.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from .._files import ADDRESS, FORMATS, OF_TEXT, WRITTEN, format_of
from ..errors import SourceError
from .arrow import DataType, Schema
from .csv_text import check_regular
from .parts import UNREADABLE, FilePart, arrow_batches, arrow_schema, claims_too_much
from .spaces import Spaces


@dataclass(frozen=True)
class Files:
    """The files of one table: Parquet and Arrow files as parts, CSV files by name."""

    name: str
    schema: Schema  # of CSV files empty: they are read first
    rows: int | None
    parts: tuple[FilePart, ...]
    csv: tuple[Path, ...]  # and others whose cells are read as text


def file_kind(path: Path) -> str:
    """Return what the ending of a name promises, as `format_of`; SourceError if it promises nothing."""
    kind = format_of(path)
    if kind is None:
        raise SourceError.unknown_format(path, list(FORMATS))
    return kind


def written_kind(path: Path) -> str:
    """Return the format in which a result is to be written, by the ending of its name; SourceError for others."""
    kind = file_kind(path)
    if kind not in WRITTEN:
        raise SourceError.unwritable(path, f"results are written as CSV, Parquet or Arrow, not as {kind}")
    return kind


Given = str | Path | Sequence[str | Path]  # names, patterns, folders


def find_files(source: Given) -> tuple[list[Path], Path | None]:
    """Return the files that a name, a pattern, a folder or a list of these means, sorted, and the folder if it is one.

    Names that begin with a dot or an underscore are no data: they are the marks that engines leave.
    """
    if not isinstance(source, str | Path):
        return [file for item in source for file in find_files(item)[0]], None
    path = Path(source)
    if ADDRESS.match(str(source)):
        raise SourceError.address(source)
    if path.is_dir():
        below = sorted(file for file in path.rglob("*") if file.is_file() and not _is_mark(file, path))
        known = [file for file in below if format_of(file)]
        known = [file for file in known if ".txt" not in file.suffixes] or known  # notes beside tables
        if not known:
            raise SourceError(f"{str(path)!r} is a folder that holds no file of a table. Next: check the name.")
        return known, path
    if path.exists():
        return [path], None
    found = sorted(Path(name) for name in glob.glob(str(source), recursive=True))  # noqa: PTH207 - it may be absolute
    if not found:
        raise SourceError.absent(source)
    return [file for item in found for file in find_files(item)[0]], None


def _is_mark(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def open_files(source: Given) -> Files:
    """Return the files of a table, checked against each other."""
    paths, folder = find_files(source)
    name = str(source) if isinstance(source, str | Path) else f"{paths[0]} and the others"
    kinds = {file_kind(path) for path in paths}
    if len(kinds) > 1:
        several = ", ".join(sorted(kinds))
        raise SourceError(f"{name!r} means files of several formats, {several}. Next: name those of one format.")
    for path in paths:
        _check_readable(path)
    kind = kinds.pop()
    if kind in OF_TEXT:
        return Files(repr(name), pa.schema([]), None, (), tuple(paths))
    schema, rows, parts = _open_parts(paths, kind, folder)
    return Files(repr(name), schema, rows, parts, ())


def without_spaces(found: Files) -> tuple[Files, Spaces]:
    """Return Parquet or Arrow files whose names and texts are given without the spaces around them, and their count."""
    spaces = Spaces()
    stored = tuple(found.schema.names)
    names = spaces.trim_names(stored)
    short = dict(zip(stored, names, strict=True))
    schema = pa.schema([pa.field(short[field.name], field.type) for field in found.schema])
    parts = tuple(
        replace(
            part,
            schema=schema,
            given=tuple((short[name], cell) for name, cell in part.given),
            spaces=spaces,
            stored=() if names == stored else stored,
        )
        for part in found.parts
    )
    return replace(found, schema=schema, parts=parts), spaces


def _check_readable(path: Path) -> None:
    check_regular(path)
    if not os.access(path, os.R_OK):
        raise SourceError.unreadable(repr(str(path)), "there is no permission to read it")
    if path.stat().st_size == 0:
        raise SourceError(f"{str(path)!r} is empty. Next: remove it, or write it again.")


def _open_parts(paths: Sequence[Path], kind: str, folder: Path | None) -> tuple[Schema, int, tuple[FilePart, ...]]:
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
    schema: Schema
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


def _readable_names(schema: Schema) -> Schema:
    """Return a schema without metadata; UnicodeDecodeError where a name is no text."""
    plain: Schema = pa.schema([pa.field(field.name, field.type) for field in schema])
    return plain


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


def _common_schema(footers: Sequence[_Footer]) -> Schema:
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
        kind: DataType = pa.null()
        for footer in filled:
            if footer.schema.names.count(name) == 1:
                kind = _joined(kind, footer.schema.field(name).type, footer.path, name)
        fields += [pa.field(name, kind)] * first.schema.names.count(name)
    schema: Schema = pa.schema(fields)
    return schema


def _joined(one: DataType, other: DataType, path: str, name: str) -> DataType:
    """Return the type that holds the cells of both."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other)]
    try:
        fields = [pa.schema([pa.field(name, kind)]) for kind in plain]
        both: DataType = pa.unify_schemas(fields, promote_options="permissive").field(0).type
        return both
    except pa.ArrowException as error:
        raise SourceError.kind_differs(repr(path), name, one, other) from error
