"""Load a saved estimator."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, Self

from .._arrays import np
from .._dialect import Dialect
from ..automatic.held import MemberFamily
from ..automatic.statistics import MemberRows, MemberStats
from ..errors import ModelFileError, SufficeError
from ..estimate import Block
from ..fitted import Fitted
from ..released import Provenance, Release
from ..schema import Schema
from ..stats import ByClass, CompletedStats, GaussianStats, PatternStats, Statistic
from ..stats.counts import CodedColumns
from ..stats.statistic import AuxArrays, Plain
from .model_file import Written, check_whole, fingerprint, read_model
from .settings import PIECES, describe, state_of, unplain


class Estimator(Protocol):
    """What a file asks of the class of an estimator."""

    def __init__(self, **settings: Any) -> None: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings."""
        ...

    def _restored(
        self,
        schema: Schema,
        blocks: tuple[Block, ...],
        statistics: ByClass,
        past: Provenance,
        chosen: Mapping[str, object],
        by_rows: AuxArrays | None,
    ) -> Self:
        """Return the estimator with what it had learned."""
        ...

    @property
    def _fitted(self) -> Fitted: ...


ESTIMATORS: dict[str, type[Estimator]] = {}


def register(*kinds: type[Any]) -> None:
    """Let `load` bring back models of these classes, which are made of the statistics and families of this library."""
    ESTIMATORS.update({kind.__name__: kind for kind in kinds})


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator saved in a model file, ready to predict, update and merge.

    ModelFileError if the file is damaged, foreign or too new; nothing in the file is ever executed. OSError if there
    is no such file.

    Examples
    --------
    >>> import tempfile, os
    >>> from suffice import NaiveBayes, load
    >>> path = os.path.join(tempfile.mkdtemp(), "colours.suffice")
    >>> NaiveBayes().fit([["red"], ["blue"]], ["warm", "cold"]).save(path)
    >>> load(path).predict([["blue"]]).tolist()
    ['cold']
    """
    found = fingerprint(path)  # before it is read: a file that changes in between is refused when it is saved again
    document, schema, statistics, choice = read_model(path, PIECES)
    origin = None if found is None else (os.path.realpath(path), found)
    try:
        kind = ESTIMATORS[document["estimator"]]
        settings = {name: unplain(value) for name, value in document["settings"].items()}
        blocks = tuple(
            Block(unplain(block["family"]), tuple(int(p) for p in block["positions"])) for block in document["blocks"]
        )
        _check_blocks(blocks, statistics.blocks, len(schema))
        _check_sample(blocks, statistics)
        chosen = {name: unplain(value) for name, value in document.get("chosen", {}).items()}
        past, by_rows = _past(document, origin), _by_rows(choice)
        estimator = kind(**settings)._restored(schema, blocks, statistics, past, chosen, by_rows)
        fitted = estimator._fitted
        check_whole(document, state_of(fitted, estimator.get_params(deep=False)), schema, fitted.statistics)
        with np.errstate(over="raise", invalid="raise"):  # what statistics of rows never do
            _ = fitted.joint
    except Exception as error:
        why = str(error) if isinstance(error, SufficeError) else repr(error)
        raise ModelFileError.unreadable(path, f"its contents do not fit together ({why})") from error
    return estimator


def _by_rows(written: Written | None) -> AuxArrays | None:
    """Return what rows chose, None where it cannot be understood."""
    if written is not None:
        with contextlib.suppress(Exception):  # whatever is wrong with it, the rows know better
            return written[0], unplain(written[1])
    return None


def read_back(path: Path) -> str:
    """Return the text of the model in a file, as `settings.describe` does of one in memory."""
    estimator = load(path)
    return describe(estimator._fitted, estimator.get_params(deep=False))


def _past(document: Plain, origin: tuple[str, str] | None) -> Provenance:
    """Return what a file tells beside what was learned, of which older files do not say all."""
    dialect, released = document.get("dialect"), document.get("released")
    return Provenance(
        object_labels=bool(document["object_labels"]),
        joined=bool(document.get("holds_unlabelled", False)),
        dialect=None if dialect is None else Dialect.of(dialect),
        released=None if released is None else Release.of_plain(released),
        origin=origin,
        target=_name(document, "target"),
        source=_name(document, "source"),
    )


def _name(document: Plain, key: str) -> str | None:
    name = document.get(key)
    if not isinstance(name, str | None):
        raise ValueError(f"{key!r} is no name")
    return name


def _check_blocks(blocks: tuple[Block, ...], statistics: tuple[Statistic, ...], columns: int) -> None:
    positions = sorted(p for b in blocks if not isinstance(b.family, MemberFamily) for p in b.positions)
    if positions != list(range(columns)) or len(blocks) != len(statistics):
        raise ValueError("blocks do not cover the columns")
    for block, stats in zip(blocks, statistics, strict=True):
        empty = block.family.zero(1, 1)
        kept = type(empty)
        known = type(stats) is kept or (kept is PatternStats and isinstance(stats, CompletedStats))
        known |= issubclass(kept, MemberRows) and type(stats) is kept.statistics()
        if isinstance(stats, PatternStats | CompletedStats | GaussianStats):
            known &= isinstance(empty, PatternStats | GaussianStats) and stats.complete.form is empty.complete.form
        if not known or stats.column_weight().shape[1] != len(block.positions):
            raise ValueError("a block and its statistics differ")
        if isinstance(stats, MemberRows | MemberStats) and isinstance(block.family, MemberFamily):
            _check_members(block.family.numbers, block.positions, stats, columns)


def _check_members(count: int, positions: tuple[int, ...], stats: MemberRows | MemberStats, columns: int) -> None:
    if sorted(positions) != list(range(columns)):
        raise ValueError("the members do not cover the columns")
    numbers = stats.columns.numbers if isinstance(stats, MemberStats) else stats.rows.numbers.shape[1]
    if count != numbers:
        raise ValueError("the members have other numbers")


def _check_sample(blocks: tuple[Block, ...], statistics: ByClass) -> None:
    for kept in (statistics.sample, statistics.unlabelled):
        if kept is None:
            continue
        if any(isinstance(stats, MemberStats) and stats.lacks_pairs for stats in statistics.blocks):
            raise ValueError("members that only a model without rows has")
        wanted = [len(block.positions) for block in blocks if not isinstance(block.family, MemberFamily)]
        if [len(part.codes) if isinstance(part, CodedColumns) else part.shape[1] for part in kept.rows] != wanted:
            raise ValueError("the sample of rows has other columns")
