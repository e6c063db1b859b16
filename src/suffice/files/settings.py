"""Settings and blocks as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from .._arrays import np
from ..automatic.forest_fitted import ForestFamily, ForestRows, ForestStats
from ..automatic.held import MemberFamily
from ..automatic.statistics import MemberRows, MemberStats
from ..densities import STRUCTURES
from ..errors import SettingError
from ..estimate import FAMILIES, RDA, Dirichlet, Family, NormalInverseWishart
from ..estimate.families import GaussianFamily
from ..estimate.mixture import MixtureFamily
from ..fitted import Fitted
from ..stats import Statistic
from .model_file import describe_model

PIECES: dict[str, type[Statistic]] = {
    kind.__name__: kind for kind in (MemberRows, MemberStats, ForestRows, ForestStats)
}
MEMBER_FAMILIES: dict[str, type[MemberFamily]] = {kind.name: kind for kind in (MemberFamily, ForestFamily)}
LATER = {
    "members": "all",
    "text": "auto",
    "class_weight": None,
    "time_limit": None,
}  # settings that files of format 2 may lack: what they then are, which is not written
SETTINGS: dict[str, Any] = {"rda": RDA, "dirichlet": Dirichlet, "normal-inverse-wishart": NormalInverseWishart}


def state_of(fitted: Fitted, params: Mapping[str, object]) -> dict[str, object]:
    """Return what a model file says of a model beside its schema and statistics; `params` are its estimator's."""
    past = fitted.past
    return {
        "estimator": fitted.who,
        "settings": {name: own for name, value in params.items() if (own := plain(value)) != LATER.get(name, ...)},
        "blocks": [{"family": plain(block.family), "positions": list(block.positions)} for block in fitted.blocks],
        "object_labels": past.object_labels,
        "holds_unlabelled": past.joined,
        "released": None if past.released is None else past.released.plain(),
        "chosen": {name: plain(value) for name, value in fitted.saved_choices().items()},
        "dialect": None if past.dialect is None else past.dialect.plain(),
        **{name: own for name, own in (("target", past.target), ("source", past.source)) if own is not None},
    }


def describe(fitted: Fitted, params: Mapping[str, object]) -> str:
    """Return the text of a model's `model.json`: equal for equal models, whose arrays it has digests of."""
    document = describe_model(state_of(fitted, params), fitted.schema, fitted.statistics)[0]
    return json.dumps(document, sort_keys=True)


def plain(value: object) -> object:
    """Return a setting as JSON values; dicts, tuples, arrays and families carry a tag."""
    if isinstance(value, GaussianFamily | MemberFamily | MixtureFamily):
        return _plain_family(value)
    if isinstance(value, np.random.RandomState):
        return None  # a generator has no value to write down; the fitted model does not need it
    for tag, kind in SETTINGS.items():
        if type(value) is kind:
            return {tag: [plain(own) for own in _fields(value).values()]}
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
    known = FAMILIES.get(value.name) if isinstance(value, Family) else None
    if known is not None and type(known) is type(value):
        usual = _fields(known)
        changed = {name: own for name, own in _fields(value).items() if own != usual[name]}
        return {"family": known.name} | ({"with": plain(changed)} if changed else {})
    raise SettingError(f"{value!r} cannot be written to a model file. Next: use a family that suffice ships.")


def _fields(value: Any) -> dict[str, object]:
    """Return the fields of a dataclass by name."""
    return {own.name: getattr(value, own.name) for own in fields(value)}


def _plain_family(family: GaussianFamily | MemberFamily | MixtureFamily) -> dict[str, object]:
    if isinstance(family, MemberFamily):
        return {family.name: [family.numbers, family.texts] if family.texts else family.numbers}
    if isinstance(family, MixtureFamily):
        return {"mixture": [plain(family.inner), family.within, family.prior]}
    structure = next(name for name, kind in STRUCTURES.items() if kind is family.structure)
    return {"gaussian": [structure, family.shared, False]}  # no fourth moments, which files of 0.2 may hold


def unplain(plain: Any) -> Any:
    """Return the setting that `plain` wrote."""
    if not isinstance(plain, dict):
        return plain
    if "family" in plain:
        return _family(plain["family"], plain.get("with"))
    ((tag, content),) = plain.items()
    if tag == "gaussian":
        return GaussianFamily(structure=STRUCTURES[content[0]], shared=bool(content[1]))
    if tag in MEMBER_FAMILIES:
        return MEMBER_FAMILIES[tag](*map(int, content if isinstance(content, list) else [content]))
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


def _family(name: str, changed: object) -> Family:
    """Return a family that suffice ships, with the fields that differ from its defaults."""
    known: Any = FAMILIES[name]
    if changed is None:
        return known  # type: ignore[no-any-return]
    own = unplain(changed)
    plain_fields = {f.name for f in fields(known)} - {"name", "structure"}
    if not isinstance(own, dict) or not set(own) <= plain_fields:
        raise ValueError(f"fields of the family {name!r}")
    return replace(known, **own)  # type: ignore[no-any-return]
