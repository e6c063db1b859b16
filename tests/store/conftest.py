"""The parts of a model file, to be changed and packed again."""

import io

import numpy as np
import pytest
from model_file import File, npy


class StoredFile(File):
    """The parts of a file of a model, without what its rows chose."""

    def __init__(self, path):
        super().__init__(path.read_bytes())
        self.path, self.choice = path, None

    def array(self, name):
        return np.load(io.BytesIO(self.members[name]))

    def put(self, name, values):
        self.members[name] = npy(values)

    def pack(self, **options):
        self.path.write_bytes(self.packed(**options))


def pack_model(model, path):
    model.save(path)
    return StoredFile(path)


@pytest.fixture(scope="session")
def packed():
    """Saves a model and returns the parts of its file."""
    return pack_model


@pytest.fixture(scope="session")
def opened():
    """Returns the parts of a file."""
    return StoredFile
