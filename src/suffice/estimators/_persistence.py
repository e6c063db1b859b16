"""Turn an estimator into the plain values of a model file, and back."""

from __future__ import annotations

import os
from typing import Any

from .._arrays import np
from ..errors import ModelFileError, SettingError, SufficeError
from ..estimate import FAMILIES, Family
from ..estimate.families import GaussianFamily
from ..store import read_model, write_model
from ._queries import Block, GenerativeEstimator
from .discriminant import STRUCTURES, GaussianDiscriminant
from .naive_bayes import NaiveBayes

ESTIMATORS: dict[str, type[GenerativeEstimator]] = {t.__name__: t for t in (GaussianDiscriminant, NaiveBayes)}


def save_estimator(estimator: GenerativeEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a model file."""
    settings = estimator.get_params(deep=False)
    state = {
        "estimator": type(estimator).__name__,
        "settings": {name: _plain(value) for name, value in settings.items()},
        "blocks": [{"family": _plain(b.family), "positions": list(b.positions)} for b in estimator._blocks],
        "object_labels": bool(getattr(estimator, "_object_labels", False)),
    }
    write_model(path, state, estimator._schema, estimator.statistics_)


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
    document, schema, statistics = read_model(path)
    try:
        kind = ESTIMATORS[document["estimator"]]
        settings = {name: _value(value) for name, value in document["settings"].items()}
        blocks = tuple(
            Block(_value(block["family"]), tuple(int(p) for p in block["positions"])) for block in document["blocks"]
        )
        _check_blocks(blocks, statistics.blocks, len(schema))
        estimator = kind(**settings)
        estimator._validate_settings()
        estimator._object_labels = bool(document["object_labels"])
        estimator._remember(schema, blocks, statistics, None)
        _ = estimator.model_
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, np.linalg.LinAlgError) as error:
        why = str(error) if isinstance(error, SufficeError) else repr(error)
        raise ModelFileError.unreadable(path, f"its contents do not fit together ({why})") from error
    return estimator


def _check_blocks(blocks: tuple[Block, ...], statistics: tuple[Any, ...], columns: int) -> None:
    positions = sorted(p for block in blocks for p in block.positions)
    if positions != list(range(columns)) or len(blocks) != len(statistics):
        raise ValueError("blocks do not cover the columns")
    for block, stats in zip(blocks, statistics, strict=True):
        if type(stats) is not type(block.family.zero(1, 1)) or stats.column_weight().shape[1] != len(block.positions):
            raise ValueError("a block and its statistics differ")


def _plain(value: Any) -> Any:
    """Return a setting as JSON values; dicts, tuples, arrays and families carry a tag."""
    if isinstance(value, GaussianFamily):
        structure = next(name for name, kind in STRUCTURES.items() if kind is value.structure)
        return {"gaussian": [structure, value.shared]}
    if isinstance(value, np.ndarray | list):
        return {"list": [_plain(item) for item in np.asarray(value).tolist()]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_plain(key), _plain(item)] for key, item in value.items()]}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    known = str(getattr(value, "name", None))
    if FAMILIES.get(known) == value:
        return {"family": known}
    raise SettingError(f"{value!r} cannot be written to a model file. Next: use a family that suffice ships.")


def _value(plain: Any) -> Any:
    """Return the setting that `_plain` wrote."""
    if not isinstance(plain, dict):
        return plain
    ((tag, content),) = plain.items()
    if tag == "gaussian":
        return GaussianFamily(structure=STRUCTURES[content[0]], shared=bool(content[1]))
    if tag == "family":
        family: Family = FAMILIES[content]
        return family
    if tag == "list":
        return [_value(item) for item in content]
    if tag == "tuple":
        return tuple(_value(item) for item in content)
    if tag == "dict":
        return {_value(key): _value(item) for key, item in content}
    raise ValueError(f"unknown tag {tag!r}")
