"""Bring a saved estimator back."""

from __future__ import annotations

import os
from typing import Any

from .._arrays import np
from .._dialect import Dialect
from ..automatic.member_family import MemberFamily
from ..automatic.statistics import MemberRows, MemberStats
from ..errors import ModelFileError, SufficeError
from ..estimate import Block
from ..stats import ByClass, CompletedStats, GaussianStats, PatternStats
from ..stats.counts import CodedColumns
from ..store import check_whole, fingerprint, read_model
from ._persistence import state_of, unplain
from ._queries import GenerativeEstimator
from ._released import Release
from .automatic import GenerativeClassifier
from .discriminant import GaussianDiscriminant
from .mixture import MixtureDiscriminant
from .naive_bayes import NaiveBayes

ESTIMATORS: dict[str, type[GenerativeEstimator]] = {
    t.__name__: t for t in (GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant, NaiveBayes)
}


def register(*kinds: type[GenerativeEstimator]) -> None:
    """Let `load` bring back models of these classes, which are made of the statistics and families of this library."""
    ESTIMATORS.update({kind.__name__: kind for kind in kinds})


PIECES = {"MemberRows": MemberRows, "MemberStats": MemberStats}


def load(path: str | os.PathLike[str]) -> GenerativeEstimator:
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
    document, schema, statistics = read_model(path, PIECES)
    try:
        kind = ESTIMATORS[document["estimator"]]
        settings = {name: unplain(value) for name, value in document["settings"].items()}
        blocks = tuple(
            Block(unplain(block["family"]), tuple(int(p) for p in block["positions"])) for block in document["blocks"]
        )
        _check_blocks(blocks, statistics.blocks, len(schema))
        _check_sample(blocks, statistics)
        estimator = kind(**settings)
        estimator._validate_settings()
        estimator._object_labels = bool(document["object_labels"])
        estimator._holds_unlabelled = bool(document.get("holds_unlabelled", False))
        dialect = document.get("dialect")  # which the first files did not hold
        estimator._dialect = None if dialect is None else Dialect.of(dialect)
        estimator._remember(schema, blocks, statistics, None)
        if document.get("released") is not None:  # which older files do not say
            estimator._released = Release.of_plain(document["released"])
        estimator._restore_chosen({name: unplain(value) for name, value in document.get("chosen", {}).items()})
        check_whole(document, state_of(estimator, blocks), schema, statistics)
        with np.errstate(over="raise", invalid="raise"):  # what statistics of rows never do
            _ = estimator.model_
    except Exception as error:
        why = str(error) if isinstance(error, SufficeError) else repr(error)
        raise ModelFileError.unreadable(path, f"its contents do not fit together ({why})") from error
    estimator._loaded_from = None if found is None else (os.path.realpath(path), found)
    return estimator


def _check_blocks(blocks: tuple[Block, ...], statistics: tuple[Any, ...], columns: int) -> None:
    positions = sorted(p for b in blocks if not isinstance(b.family, MemberFamily) for p in b.positions)
    if positions != list(range(columns)) or len(blocks) != len(statistics):
        raise ValueError("blocks do not cover the columns")
    for block, stats in zip(blocks, statistics, strict=True):
        kept = type(block.family.zero(1, 1))
        known = type(stats) is kept or (kept is PatternStats and isinstance(stats, CompletedStats))
        known |= kept is MemberRows and isinstance(stats, MemberStats)
        if isinstance(stats, PatternStats | CompletedStats | GaussianStats):
            known &= _form(stats) is _form(block.family.zero(1, 1))
        if not known or stats.column_weight().shape[1] != len(block.positions):
            raise ValueError("a block and its statistics differ")
        if isinstance(block.family, MemberFamily):
            _check_members(block.family.numbers, block.positions, stats, columns)


def _check_members(count: int, positions: tuple[int, ...], stats: MemberRows | MemberStats, columns: int) -> None:
    if sorted(positions) != list(range(columns)):
        raise ValueError("the members do not cover the columns")
    numbers = len(stats.columns.scores) if isinstance(stats, MemberStats) else stats.rows.numbers.shape[1]
    if count != numbers:
        raise ValueError("the members have other numbers")


def _check_sample(blocks: tuple[Block, ...], statistics: ByClass) -> None:
    if statistics.sample is not None:
        if any(isinstance(stats, MemberStats) and stats.lacks_pairs for stats in statistics.blocks):
            raise ValueError("members that only a model without rows has")
        wanted = [len(block.positions) for block in blocks if not isinstance(block.family, MemberFamily)]
        rows = statistics.sample.rows
        if [len(part.codes) if isinstance(part, CodedColumns) else part.shape[1] for part in rows] != wanted:
            raise ValueError("the sample of rows has other columns")


def _form(stats: Any) -> Any:
    """Return which scatter the statistics of a Gaussian block are to become; None where they do not say."""
    return getattr(getattr(stats, "complete", stats), "form", None)
