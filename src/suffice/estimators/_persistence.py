"""Turn the settings and blocks of an estimator into the plain values of a model file, and back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from .._arrays import np
from ..automatic.member_family import MemberFamily
from ..densities import STRUCTURES
from ..errors import SettingError
from ..estimate import FAMILIES, RDA, Block, Dirichlet, Family, NormalInverseWishart
from ..estimate.families import GaussianFamily
from ..estimate.mixture import MixtureFamily
from ..schema import Schema
from ..stats import ByClass
from ..store import describe_model, write_model

SETTINGS: dict[str, Any] = {"rda": RDA, "dirichlet": Dirichlet, "normal-inverse-wishart": NormalInverseWishart}


def save_fitted(
    path: str | os.PathLike[str],
    estimator: Any,
    schema: Schema,
    blocks: Sequence[Block],
    statistics: ByClass,
    check: Callable[[Path], None] | None = None,
) -> None:
    """Write a fitted estimator to a model file; `check` may refuse the complete file before it goes to its place."""
    write_model(path, state_of(estimator, blocks), schema, statistics, check)


def describe(estimator: Any, schema: Schema, blocks: Sequence[Block], statistics: ByClass) -> str:
    """Return the text of a fitted estimator's `model.json`: equal for equal models, whose arrays it has digests of."""
    return json.dumps(describe_model(state_of(estimator, blocks), schema, statistics)[0], sort_keys=True)


def state_of(estimator: Any, blocks: Sequence[Block]) -> dict[str, Any]:
    """Return what a model file says of an estimator beside its schema and statistics."""
    return {
        "estimator": type(estimator).__name__,
        "settings": {name: plain(value) for name, value in estimator.get_params(deep=False).items()},
        "blocks": [{"family": plain(block.family), "positions": list(block.positions)} for block in blocks],
        "object_labels": bool(getattr(estimator, "_object_labels", False)),
        "holds_unlabelled": bool(estimator._holds_unlabelled),
        "released": None if estimator._released is None else estimator._released.plain(),
        "chosen": {name: plain(value) for name, value in estimator._chosen_settings().items()},
        "dialect": None if estimator._dialect is None else estimator._dialect.plain(),
    }


def plain(value: Any) -> Any:
    """Return a setting as JSON values; dicts, tuples, arrays and families carry a tag."""
    if isinstance(value, GaussianFamily | MemberFamily | MixtureFamily):
        return _plain_family(value)
    if isinstance(value, np.random.RandomState):
        return None  # a generator has no value to write down; the fitted model does not need it
    for tag, kind in SETTINGS.items():
        if type(value) is kind:
            return {tag: [plain(getattr(value, f.name)) for f in fields(value)]}
    if isinstance(value, np.ndarray | list):
        return {"list": [plain(item) for item in np.asarray(value).tolist()]}
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return {"number": "inf"} if value == np.inf else value  # JSON has no word for it
    known: Any = FAMILIES.get(str(getattr(value, "name", None)))
    if known is not None and type(known) is type(value):
        changed = {
            f.name: getattr(value, f.name) for f in fields(value) if getattr(value, f.name) != getattr(known, f.name)
        }
        return {"family": known.name} | ({"with": plain(changed)} if changed else {})
    raise SettingError(f"{value!r} cannot be written to a model file. Next: use a family that suffice ships.")


def _plain_family(family: GaussianFamily | MemberFamily | MixtureFamily) -> dict[str, Any]:
    if isinstance(family, MemberFamily):
        return {"members": family.numbers}
    if isinstance(family, MixtureFamily):
        return {"mixture": [plain(family.inner), family.within, family.prior]}
    structure = next(name for name, kind in STRUCTURES.items() if kind is family.structure)
    return {"gaussian": [structure, family.shared, family.fourth]}


def unplain(plain: Any) -> Any:
    """Return the setting that `plain` wrote."""
    if not isinstance(plain, dict):
        return plain
    if "family" in plain:
        return _family(plain["family"], plain.get("with"))
    ((tag, content),) = plain.items()
    if tag == "gaussian":
        return GaussianFamily(structure=STRUCTURES[content[0]], shared=bool(content[1]), fourth=bool(content[2]))
    if tag == "members":
        return MemberFamily(int(content))
    if tag == "mixture":
        prior = float(content[2]) if len(content) > 2 else 0.0  # which the first files did not hold
        return MixtureFamily(inner=unplain(content[0]), within=bool(content[1]), prior=prior)
    if tag in SETTINGS:
        return SETTINGS[tag](*(unplain(item) for item in content))
    if tag == "number":
        return float(content)
    if tag == "list":
        return [unplain(item) for item in content]
    if tag == "tuple":
        return tuple(unplain(item) for item in content)
    if tag == "dict":
        return {unplain(key): unplain(item) for key, item in content}
    raise ValueError(f"unknown tag {tag!r}")


def _family(name: str, changed: Any) -> Family:
    """Return a family that suffice ships, with the fields that differ from its defaults."""
    known: Any = FAMILIES[name]
    if changed is None:
        return known  # type: ignore[no-any-return]
    own = unplain(changed)
    plain_fields = {f.name for f in fields(known)} - {"name", "structure"}
    if not isinstance(own, dict) or not set(own) <= plain_fields:
        raise ValueError(f"fields of the family {name!r}")
    return replace(known, **own)  # type: ignore[no-any-return]
