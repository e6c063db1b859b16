"""Split the pinned requirements of PyTorch, from stdin, into requirements/arrays.txt, torch.txt and arrays-cuda.txt.

The first holds what every build needs, the second PyTorch, the third the libraries of NVIDIA's that the build of the
package index for Linux needs beside it. A build for the CPU has the same version and another hash, which is added.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements"
CUDA = re.compile(r"(cuda|nvidia)-|triton==")
# torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl, the build that `make arrays` is run with.
CPU_BUILDS = ("6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",)


def main() -> None:
    """Write the files."""
    pins = re.findall(r"^\S.*(?:\n +\S.*)*\n", sys.stdin.read(), re.MULTILINE)
    more = "".join(f" \\\n    --hash=sha256:{digest}" for digest in CPU_BUILDS)
    pins = [pin.rstrip("\n") + more + "\n" if pin.startswith("torch==") else pin for pin in pins]
    for name, wanted in (("arrays.txt", "other"), ("torch.txt", "torch"), ("arrays-cuda.txt", "cuda")):
        kept = [pin for pin in pins if kind(pin) == wanted]
        (REQUIREMENTS / name).write_text("".join(kept), encoding="utf-8")


def kind(pin: str) -> str:
    """Return which of the files a requirement goes to."""
    return "cuda" if CUDA.match(pin) else "torch" if pin.startswith("torch==") else "other"


if __name__ == "__main__":
    main()
