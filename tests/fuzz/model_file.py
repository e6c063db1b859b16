"""The parts of a model file, to be changed and packed again with sums that fit."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Collection
from typing import Any

import numpy as np


class File:
    """The parts of a model file, and of what its rows chose."""

    def __init__(self, data: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        arrays = {name.removesuffix(".npy"): own for name, own in parts.items() if name.endswith(".npy")}
        self.document = json.loads(parts["model.json"])
        self.members = {name: own for name, own in arrays.items() if not name.startswith("choice_")}
        self.choice = json.loads(parts["choice.json"]) if "choice.json" in parts else None
        self.chosen = {name.removeprefix("choice_"): own for name, own in arrays.items() if name not in self.members}

    def packed(
        self,
        *,
        digests: bool = True,
        compression: int = zipfile.ZIP_STORED,
        text: str | bytes | None = None,
        sealed: bool = True,
        deflated: Collection[str] = (),
    ) -> bytes:
        if digests and isinstance(self.document.get("sha256"), dict):
            self.document["sha256"] = {name: digest(data) for name, data in self.members.items()}
        text = json.dumps(self.document) if text is None else text
        text, buffer = text.encode() if isinstance(text, str) else text, io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            archive.writestr("model.json", text)
            if self.document.get("version") != 1:
                archive.writestr("model.sha256", digest(text) if sealed else "0" * 64)
            for name, data in self.members.items():
                archive.writestr(f"{name}.npy", data, zipfile.ZIP_DEFLATED if name in deflated else None)
            if self.choice is not None:
                self._pack_choice(archive, text)
        return buffer.getvalue()

    def _pack_choice(self, archive: zipfile.ZipFile, model: bytes) -> None:
        known = {"of": digest(model), "sha256": {name: digest(data) for name, data in self.chosen.items()}}
        text = json.dumps(self.choice | known if isinstance(self.choice, dict) else self.choice).encode()
        archive.writestr("choice.json", text)
        archive.writestr("choice.sha256", digest(text))
        for name, data in self.chosen.items():
            archive.writestr(f"choice_{name}.npy", data)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def npy(values: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(values), allow_pickle=False)
    return buffer.getvalue()
