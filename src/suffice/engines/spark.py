"""The Spark engine: executors read row groups with pyarrow, or summarise the batches of a DataFrame, in `mapInArrow`.

States travel as bytes between processes that Spark started, one for every eight row groups or one for a partition, and
are merged here. Spark runs a task that fails again, and the result is the same.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from .._arrays import single_blas_thread
from ..errors import DataError, SchemaError, SettingError, SourceError, SufficeError
from ..stats.patterns import TooManyPatternsError
from .arrow import Rows
from .local import FAN_IN, Clock, Fold, Kernel, State, Watcher, learn_part, merge_all
from .sealing import new_key, sealed, unsealed
from .sources import Source, regular, rows_at_a_time

Task = Callable[[Iterable[Rows]], Iterator[Rows]]  # that Spark runs on batches
ANSWER = "number long, state binary"
REFUSALS: dict[str, type[SufficeError]] = {
    kind.__name__: kind for kind in (SourceError, SchemaError, SettingError, TooManyPatternsError)
}


def learn(
    source: Source, columns: Sequence[str], kernel: Kernel, *, engine: object = "spark", progress: Watcher | None = None
) -> Any:
    """Return the state of all rows of a source; `engine` is a Spark session, or "spark" for the one there is."""
    rows, key = rows_at_a_time(len(columns)), new_key()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of PySpark, about versions of pandas
        if source.native is not None:
            states = source.native.select(*map(_quoted, columns)).mapInArrow(_on_batches(kernel, rows, key), ANSWER)
        elif source.files:
            states = _groups(_session(engine), source, key).mapInArrow(_on_parts(kernel, columns, rows, key), ANSWER)
        else:
            raise source.not_for_clusters()
        try:
            found = sorted(states.toArrow().to_pylist(), key=lambda row: row["number"])
        except PythonException as error:
            refusals = re.findall(r"suffice\.[\w.]*?(\w+Error): (.*)", str(error))
            if not refusals:
                raise
            name, message = refusals[-1]
            raise REFUSALS.get(name, DataError)(message) from error
    fold, clock = Fold(), Clock(progress, source)
    for row in found:
        state = unsealed(row["state"], key)
        fold.push(state)
        clock.advance(0 if state is None else state.rows)
    return fold.result()


def _session(engine: object) -> Any:
    if not isinstance(engine, str):
        return engine
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.getOrCreate()


def _groups(session: Any, source: Source, key: bytes) -> DataFrame:
    """Return a DataFrame with the parts of a source, eight to a row and a row to a task."""
    parts = source.files
    groups = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
    table = pa.table({"number": list(range(len(groups))), "parts": [sealed(group, key) for group in groups]})
    return session.createDataFrame(table).repartitionByRange(len(groups), "number")


# What Spark is given is sent by value with all it names, so that the work itself stands in functions of this module.


def _on_parts(kernel: Kernel, columns: Sequence[str], rows: int, key: bytes) -> Task:
    def run(batches: Iterable[Rows]) -> Iterator[Rows]:
        for batch in batches:
            for row in batch.to_pylist():
                yield _learn_group(row, kernel, columns, rows, key)

    return run


def _learn_group(row: dict[str, Any], kernel: Kernel, columns: Sequence[str], rows: int, key: bytes) -> Rows:
    parts = unsealed(row["parts"], key)
    with single_blas_thread():
        return _answer(row["number"], merge_all(learn_part(part, kernel, columns, rows) for part in parts), key)


def _on_batches(kernel: Kernel, rows: int, key: bytes) -> Task:
    def run(batches: Iterable[Rows]) -> Iterator[Rows]:
        yield _learn_batches(batches, kernel, rows, key)

    return run


def _learn_batches(batches: Iterable[Rows], kernel: Kernel, rows: int, key: bytes) -> Rows:
    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    with single_blas_thread():
        return _answer(number, merge_all(kernel(table) for table in regular(batches, rows)), key)


def _answer(number: int, state: State | None, key: bytes) -> Rows:
    kinds = pa.schema([("number", pa.int64()), ("state", pa.binary())])
    return pa.RecordBatch.from_pydict({"number": [number], "state": [sealed(state, key)]}, schema=kinds)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
