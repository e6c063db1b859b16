"""Compile the loops of `src/suffice/loops/*.c` into a shared library beside them, where there is a C compiler.

hatchling calls `CustomBuildHook` for wheels and editable installs; `python hatch_build.py` compiles alone. The library
is asked through ctypes and knows nothing of Python, so that one wheel serves all versions of it. Without a compiler the
package is pure Python: NumPy then does what the library would, to the last bit, in more time.

CC is the compiler and its options, `cc`, `gcc` or `clang` if not given; SUFFICE_LOOPS=0 compiles nothing, and
SUFFICE_LOOPS=1 fails where nothing can be compiled; SUFFICE_PLATFORM is the platform tag of the wheel.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "src" / "suffice" / "loops"
FLAGS = ["-std=c11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno"]


def library() -> Path:
    """Return where the library belongs."""
    return FOLDER / ("_loops.dll" if platform_tag().startswith("win") else "_loops.so")


def compiler() -> list[str] | None:
    """Return the command of a C compiler, None if there is none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    return next(([found] for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def compiled() -> Path | None:
    """Compile the library and return where it is; None where there is no compiler, or it fails."""
    for old in FOLDER.glob("_loops.*"):
        old.unlink()
    wanted, command = os.environ.get("SUFFICE_LOOPS", ""), compiler()
    if wanted == "0":
        return None
    problem = "there is no C compiler" if command is None else _compile(command, library())
    if problem is None:
        return library()
    if wanted == "1":
        raise SystemExit(f"suffice: its loops cannot be compiled: {problem}")
    print(f"suffice: goes without compiled loops, which are faster: {problem}", file=sys.stderr)
    return None


def _compile(command: list[str], target: Path) -> str | None:
    """Compile the library, and return what went wrong, if anything did."""
    sources = sorted(FOLDER.glob("*.[ch]"))
    digest = f"-DDIGEST={zlib.crc32(b''.join(own.read_bytes() for own in sources))}u"
    with tempfile.TemporaryDirectory() as folder:  # some compilers write more than they are asked for
        made = Path(folder) / target.name
        files = [str(own) for own in sources if own.suffix == ".c"]
        whole = [*command, *FLAGS, digest, *files, "-lm", "-o", str(made)]
        try:
            done = subprocess.run(whole, capture_output=True, text=True, check=False)
        except OSError as error:
            return str(error)
        if done.returncode:
            return done.stderr.strip()
        shutil.move(made, target)
    return None


def platform_tag() -> str:
    """Return the tag of the platform that the library was compiled for."""
    return os.environ.get("SUFFICE_PLATFORM") or sysconfig.get_platform().replace("-", "_").replace(".", "_")


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # compiled alone
    pass
else:

    class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg,misc]
        """Compiles the library before a wheel or an editable install is made."""

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Enter the library, if there is one, among the files of the wheel, whose tag then names the platform."""
            found = compiled()
            if found is not None:
                build_data["pure_python"] = False
                build_data["tag"] = f"py3-none-{platform_tag()}"
                build_data["artifacts"].append(f"src/suffice/loops/{found.name}")


if __name__ == "__main__":
    made = compiled()
    print(f"{made.relative_to(Path.cwd()) if made else 'nothing'} compiled")
