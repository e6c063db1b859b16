"""The kept choice in a model file: it saves time, and answers do not depend on it.

`choice.json` names the `model.json` that it is of by its digest, and so the settings and every array of statistics; it
lists the digests of its own arrays, `choice_NAME.npy`, and `choice.sha256` holds that of `choice.json`. Where anything
of this is missing or does not fit, there is no choice, and the rows are asked again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..stats.statistic import Fields
from .archive import Archive
from .npy import READABLE, as_npy, read_npy

DOCUMENT, SUM, PREFIX = "choice.json", "choice.sha256", "choice_"
FORMAT = 1
MOST_JSON = 64 << 20
SMALL: Mapping[str, tuple[int, ...]] = MappingProxyType({**READABLE, "u": (1, 8)})

Written = tuple[Fields, Any]  # arrays, and values of JSON


def belongs_to_choice(name: str) -> bool:
    """Whether a part of this name would be part of a choice."""
    return name in (DOCUMENT, SUM) or (name.startswith(PREFIX) and name.endswith(".npy"))


def choice_parts(choice: Written, model: bytes) -> dict[str, bytes]:
    """Return the parts of an archive by name; `model` is the text of `model.json`."""
    fields, plain = choice
    arrays = {name: as_npy(values) for name, values in fields.items()}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in arrays.items()}
    document = {"format": FORMAT, "of": hashlib.sha256(model).hexdigest(), "choice": plain, "sha256": digests}
    text = json.dumps(document, allow_nan=False).encode()
    sums = {DOCUMENT: text, SUM: hashlib.sha256(text).hexdigest().encode()}
    return sums | {f"{PREFIX}{name}.npy": data for name, data in arrays.items()}


def read_choice(archive: Archive) -> Written | None:
    """Return the choice in an archive whose model is read already; None where there is none that can be its own."""
    if DOCUMENT not in archive.names:
        return None
    with contextlib.suppress(Exception):  # whatever is wrong with it, the rows know better
        return _read(archive)
    return None


def _read(archive: Archive) -> Written | None:
    text = archive.read(DOCUMENT)
    if len(text) > MOST_JSON or archive.read(SUM) != hashlib.sha256(text).hexdigest().encode():
        return None
    document = json.loads(text)
    if document["format"] != FORMAT or document["of"] != hashlib.sha256(archive.read("model.json")).hexdigest():
        return None
    fields: Fields = {}
    for name, digest in document["sha256"].items():
        data = archive.read(f"{PREFIX}{name}.npy")
        if hashlib.sha256(data).hexdigest() != digest:
            return None
        fields[name] = read_npy(data, SMALL)
    return fields, document["choice"]
