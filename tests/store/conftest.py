"""The parts of a model file, to be changed and packed again."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest


class File:
    """The parts of a model file, to be changed and packed again with new digests."""

    def __init__(self, path):
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.document = json.loads(archive.read("model.json"))
            parts = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            self.members = {name: archive.read(f"{name}.npy") for name in parts if not name.startswith("choice_")}

    def array(self, name):
        return np.load(io.BytesIO(self.members[name]))

    def put(self, name, values):
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(values), allow_pickle=False)
        self.members[name] = buffer.getvalue()

    def pack(self, digests=True, compression=zipfile.ZIP_STORED, text=None, sealed=True, deflated=()):
        if digests:
            self.document["sha256"] = {name: hashlib.sha256(data).hexdigest() for name, data in self.members.items()}
        text = json.dumps(self.document) if text is None else text
        text = text.encode() if isinstance(text, str) else text
        with zipfile.ZipFile(self.path, "w", compression) as archive:
            archive.writestr("model.json", text)
            if self.document.get("version") != 1:
                archive.writestr("model.sha256", hashlib.sha256(text).hexdigest() if sealed else "0" * 64)
            for name, data in self.members.items():
                archive.writestr(f"{name}.npy", data, zipfile.ZIP_DEFLATED if name in deflated else None)


def pack_model(model, path):
    model.save(path)
    return File(path)


@pytest.fixture(scope="session")
def packed():
    """Saves a model and returns the parts of its file."""
    return pack_model


@pytest.fixture(scope="session")
def opened():
    """Returns the parts of a file."""
    return File
