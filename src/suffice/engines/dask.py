"""The Dask engine: a task for each row group, states merged eight at a time on the workers.

Dask runs the tasks of a worker that dies again on another, and the result is the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from distributed import Client, Future, LocalCluster, as_completed

from .._arrays import single_blas_thread
from .local import FAN_IN, Clock, Kernel, State, Watcher, learn_part, merge_all
from .sources import HeldPart, Part, Source, rows_at_a_time


def learn(
    source: Source, columns: Sequence[str], kernel: Kernel, *, engine: object = "dask", progress: Watcher | None = None
) -> Any:
    """Return the state of all rows of a source, as the local engine would; `engine` is a client or an address."""
    rows = rows_at_a_time(len(columns))
    clock = Clock(progress, source)
    with _client(engine) as client:
        shared = client.submit(_itself, kernel, pure=False)  # made again where scattered data would be lost
        if source.native is not None:
            partitions = source.native[list(columns)].to_delayed()
            states = [
                client.submit(_learn_frame, client.compute(part), number, shared, columns, rows, pure=False)
                for number, part in enumerate(partitions)
            ]
        elif source.files:
            states = [client.submit(_learn, part, shared, columns, rows, pure=False) for part in source.files]
        else:
            raise source.not_for_clusters()
        groups = _merged(client, states)
        level = groups
        while len(level) > 1:
            level = _merged(client, level)
        watched = as_completed(groups)
        del groups, states  # what nobody holds, a worker drops once it is merged
        for future in watched:
            if future.status == "finished":
                clock.advance(client.submit(_rows, future, pure=False).result())
        return level[0].result() if level else None


def _merged(client: Client, states: Sequence[Future]) -> list[Future]:
    groups = (states[start : start + FAN_IN] for start in range(0, len(states), FAN_IN))
    return [client.submit(merge_all, list(group), pure=False) for group in groups]


def _itself(kernel: Kernel) -> Kernel:
    return kernel


def _learn(part: Part, kernel: Kernel, columns: Sequence[str], rows: int) -> State | None:
    with single_blas_thread():
        return learn_part(part, kernel, columns, rows)


def _learn_frame(frame: Any, number: int, kernel: Kernel, columns: Sequence[str], rows: int) -> State | None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return _learn(HeldPart(table, f"Partition {number}"), kernel, columns, rows)


def _rows(state: State | None) -> int:
    return 0 if state is None else state.rows


@contextlib.contextmanager
def _client(engine: object) -> Iterator[Client]:
    """Give the client of a cluster: the caller's, that at an address, or of one started on this machine."""
    if isinstance(engine, Client):
        yield engine
    elif engine == "dask":
        with LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            yield client
    else:
        with Client(engine) as client:
            yield client
