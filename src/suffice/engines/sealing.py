"""Signed pickles between the processes of one job.

Unpickling runs what the bytes say. A cluster keeps bytes in memory and on disks between its machines, so each job signs
its own with a key that travels with the work itself, which the cluster runs anyway: whoever knows the key could have
changed the work. HMAC: RFC 2104.
"""

from __future__ import annotations

import hmac
import pickle
import secrets
from typing import Any

from ..errors import SourceError

DIGEST, LENGTH = "sha256", 32


def new_key() -> bytes:
    """Return a key for one job."""
    return secrets.token_bytes(LENGTH)


def sealed(value: object, key: bytes) -> bytes:
    """Return an object as bytes, signed."""
    data = pickle.dumps(value)
    return hmac.digest(key, data, DIGEST) + data


def unsealed(data: bytes, key: bytes) -> Any:
    """Return the object in bytes that `sealed` made with this key; SourceError for any others, before they are read."""
    signature, content = data[:LENGTH], data[LENGTH:]
    if not hmac.compare_digest(signature, hmac.digest(key, content, DIGEST)):
        raise SourceError(
            "What came back from the cluster is not what this job wrote there. Next: run it again; if that happens "
            "twice, the cluster's disks or another user change what it keeps."
        )
    return pickle.loads(content)  # noqa: S301 - signed by this job
