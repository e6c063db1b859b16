"""Open a table of any kind and size, and find who reads it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._dialect import Dialect
from ..errors import DataError, SettingError
from ..schema import Schema

if TYPE_CHECKING:
    from ..engines import Source


ENGINES = ("auto", "local", "dask", "spark")


def open_table(source: object, schema: Schema | None = None, dialect: Dialect | None = None, **known: Any) -> Source:
    """Return a source in parts, its CSV files read for the columns of a schema, and by what is known of them."""
    with explained():
        from ..engines import Reading, open_source

        reading = Reading(**known) if schema is None else Reading.of(schema, dialect, **known)
        return open_source(source, reading)


def remark_spaces(source: Source, may_keep: bool) -> None:
    """Say where spaces around texts were taken away in the Parquet or Arrow files read; of a CSV its first pass did."""
    from ..engines.csv_remarks import of_spaces

    if source.spaces is not None:
        paths = list(dict.fromkeys(Path(part.path) for part in source.files))
        of_spaces(paths, source.spaces, may_keep)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Say how to install a package that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        extra = {"pyarrow": "parquet", "distributed": "dask", "dask": "dask", "pyspark": "spark", "pandas": "spark"}
        if package not in extra:
            raise
        message = f"This needs {package}, which is not installed. Next: pip install 'suffice[{extra[package]}]'."
        raise DataError(message) from error


def engine_for(engine: object, source: object) -> Callable[..., Any]:
    """Return what learns from a source.

    That is run(source, columns, kernel, progress=…): what the kernel makes of all rows, merged.
    """
    from ..engines import engine_of, learn

    if isinstance(engine, str) and "://" not in engine:
        check_choice("engine", engine, ENGINES)
    library = type(engine).__module__.split(".")[0]
    known = {"distributed": "dask", "pyspark": "spark", "builtins": "dask"}  # a client, a session, an address
    name = engine if isinstance(engine, str) and engine in ENGINES else known.get(library)
    if name == "auto":
        name = engine = engine_of(source)
    if name == "local":
        return learn
    if name == "dask":
        from ..engines.dask import learn as learn_by_dask

        return partial(learn_by_dask, engine=engine)
    if name == "spark":
        from ..engines.spark import learn as learn_by_spark

        return partial(learn_by_spark, engine=engine)
    raise SettingError.choice("engine", engine, ENGINES)


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise SettingError for a value that is none of those allowed."""
    if value not in allowed:
        raise SettingError.choice(name, value, allowed)
